"""Compare kernel learners with their transcriptions."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse

from tests.learners import learner
from tests.linear.test_reference import as_dicts, close, in_chunks
from tests.reference import kernels

# Name of the transcription: the class of the library, and the parameters of both.
KERNELS = {
    "linear": ("Linear", {}),
    "polynomial": ("Polynomial", {"degree": 3, "c": 0.5}),
    "gaussian": ("Gaussian", {"sigma": 1.5}),
    "laplacian": ("Laplacian", {"sigma": 3.0}),
    "chi_square": ("ChiSquare", {"gamma": 0.7}),
    "cosine": ("Cosine", {}),
}


def kernel_class(name):
    """A class of seriatim.kernel. Skips the test if the build lacks it."""
    cls = getattr(pytest.importorskip("seriatim.kernel"), name, None)
    if cls is None:
        pytest.skip(f"seriatim.kernel has no {name}")
    return cls


def ours(name, **parameters):
    cls, usual = KERNELS[name]
    return kernel_class(cls)(**{**usual, **parameters})


def theirs(name, **parameters):
    return partial(getattr(kernels, name), **{**KERNELS[name][1], **parameters})


def suited(X, name):
    """Rows for this kernel. The chi-square kernel gets values that are not negative."""
    return np.abs(X) if name == "chi_square" else X


WAYS = {
    "dense, one call": lambda X, y, model: model.partial_fit(X, y),
    "dense, by 7": lambda X, y, model: in_chunks(X, y, 7, model),
    "sparse, one call": lambda X, y, model: model.partial_fit(csr_matrix(X), y),
    "sparse, by 1": lambda X, y, model: in_chunks(csr_matrix(X), y, 1, model),
}


def scores_of(model, X):
    """The scores in the shape of the transcription: one number, or one per class."""
    return model.predict(X) if model.task == "regression" else model.decision_function(X)


def dense(X):
    return X.toarray() if issparse(X) else np.asarray(X)


def coefficients(rows, values):
    """The sum of the coefficients of each distinct row, which does not depend on the order of the support vectors."""
    total = {}
    for row, column in zip(rows, np.atleast_2d(values).T, strict=True):
        key = (row + 0.0).tobytes()  # -0.0 becomes 0.0
        total[key] = total.get(key, 0) + column
    return total


def same_machine(model, X, weights, scale):
    """dual_coef_ on support_vectors_ is the transcription's w on the rows of X."""
    support = dense(model.support_vectors_)
    assert model.n_support_ == len(support) == np.shape(model.dual_coef_)[-1]
    support = np.column_stack([support, np.zeros((len(support), X.shape[1] - support.shape[1]))])
    mine, others = coefficients(support, model.dual_coef_), coefficients(X, weights)
    assert mine.keys() <= others.keys()
    nothing = np.zeros(len(np.atleast_2d(weights)))
    for row, value in others.items():
        close(mine.get(row, nothing), value, scale)


def numbers_of(X, y):
    """For each example, the index of the first example with the same values and label."""
    known = {}
    return [known.setdefault((x.tobytes(), label), i) for i, (x, label) in enumerate(zip(X + 0.0, y, strict=True))]


def reference_run(paper, K, y, numbers=None):
    """The transcription after the stream, and its scores before each example except the first."""
    scores = []
    for t, (i, label) in enumerate(zip(range(len(y)) if numbers is None else numbers, y, strict=True)):
        if t:
            scores.append(paper.score(K[:, i]))
        paper.learn(i, label)
    return paper, scores


def compare(paper, name, parameters, kernel, X, y, ways=WAYS, classes=None, linear_in_dual=True, same_rows=False):
    """Compare a learner with its transcription: scores before each update, and the coefficients and scores at the end.

    `kernel` is a pair, ours and theirs. `same_rows`: a row that returns is the same example to the transcription.
    """
    cls = learner(name)
    y = np.asarray(y)
    k_ours, k_theirs = kernel
    more = {} if classes is None else {"classes": classes}
    K = k_theirs(X, X)
    numbers = numbers_of(X, y.tolist()) if same_rows else None
    reference, expected = reference_run(paper(K, **parameters, **more), K, y.tolist(), numbers)
    scores = np.array([reference.score(K[:, i]) for i in range(len(X))])
    scale = max([np.abs(reference.w).max() * np.abs(K).max(), *(np.abs(s).max() for s in expected), 1e-300])

    model = cls(kernel=k_ours, **parameters, **more)
    for t in range(len(y)):  # row by row, dense and sparse in turn
        row = csr_matrix(X[t : t + 1]) if t % 2 else X[t : t + 1]
        if t:
            close(scores_of(model, row)[0], expected[t - 1], scale)
        model.partial_fit(row, y[t : t + 1])
    models = [model, *(feed(X, y, cls(kernel=k_ours, **parameters, **more)) for feed in ways.values())]
    for one in models:
        assert one.t_ == len(y)
        close(scores_of(one, X), scores, scale)
        close(scores_of(one, csr_matrix(X)), scores, scale)
        if linear_in_dual:
            same_machine(one, X, reference.weights(), np.abs(reference.w).max(initial=1e-300))
    return models[0], reference


def learn_dicts(model, X, y):
    for x, label in zip(as_dicts(X), y, strict=True):
        model.learn_one(x, label)
    return model
