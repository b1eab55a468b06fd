"""Kernels equal their formulas on dense and sparse rows, near and far, and are kernels: symmetric, no eigenvalue < 0.

A perceptron that has learned one positive row z is the function k(z, .), so a kernel is looked at through it, as a user
does. Where k(z, z) = 0 it has learned nothing, and k(z, .) = 0.
"""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from seriatim.errors import ParameterError
from tests.kernel.comparison import KERNELS, compare, kernel_class, ours, suited, theirs
from tests.learners import learner, real_stream
from tests.linear.test_reference import random_stream
from tests.reference import kernel as papers
from tests.reference import kernels

every = pytest.mark.parametrize("name", KERNELS)
FORMS = {"dense": np.asarray, "sparse": csr_matrix}
OTHERS = [
    ("polynomial", {"degree": 1, "c": 0.0}),
    ("polynomial", {"degree": 2, "c": 3.0}),
    ("polynomial", {"degree": 5, "c": 1.0}),
    ("gaussian", {"sigma": 0.1}),
    ("gaussian", {"sigma": 30.0}),
    ("laplacian", {"sigma": 0.2}),
    ("chi_square", {"gamma": 5.0}),
]


def matrix(kernel, X, Z, learned=np.asarray, asked=np.asarray):
    """k(x, z) over the rows of X and Z."""
    cls = learner("KernelPerceptron")
    machines = [cls(kernel=kernel).partial_fit(learned(z[None, :]), [1]) for z in Z]
    return np.column_stack([machine.decision_function(asked(X)) for machine in machines])


def rows(seed, n=12, d=7):
    """Rows with some zeros, a row of zeros, a repeated row, and a row with a single value."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    X[3], X[5] = 0, X[4]
    X[6, 1:] = 0
    return X


def near(got, expected, relative=1e-12):
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= relative * np.abs(expected).max(initial=1e-300)


# ---- the formulas


@every
@pytest.mark.parametrize("learned", FORMS)
@pytest.mark.parametrize("asked", FORMS)
def test_formula(name, learned, asked):
    X, Z = suited(rows(1), name), suited(rows(2), name)
    Z[:2] = X[:2]
    got = matrix(ours(name), X, Z, FORMS[learned], FORMS[asked])
    near(got, theirs(name)(X, Z))


@pytest.mark.parametrize(("name", "parameters"), OTHERS, ids=str)
def test_parameters(name, parameters):
    X, Z = suited(rows(3), name), suited(rows(4), name)
    near(matrix(ours(name, **parameters), X, Z, asked=csr_matrix), theirs(name, **parameters)(X, Z), 1e-11)


@every
def test_many_rows_at_once(name):
    """A model with hundreds of support vectors equals the sum of formulas, for dense and sparse columns."""
    cls = learner("KernelPerceptron")
    rng = np.random.default_rng(5)
    X = suited(rng.standard_normal((300, 37)) * (rng.random((300, 37)) < 0.4), name)
    y = rng.choice([-1, 1], 300)
    expected = None
    for form in FORMS.values():
        model = cls(kernel=ours(name)).partial_fit(form(X), y)
        support = model.support_vectors_
        support = support.toarray() if hasattr(support, "toarray") else np.asarray(support)
        assert len(support) == model.n_support_ > 60
        assert {x.tobytes() for x in support + 0.0} <= {x.tobytes() for x in X + 0.0}
        f = theirs(name)(X, support) @ np.ravel(model.dual_coef_)
        near(model.decision_function(form(X)), f, 1e-10)
        expected = f if expected is None else expected
        near(f, expected, 1e-10)


@every
def test_wider_rows(name):
    """A row with new columns: support vectors are 0 there."""
    cls = learner("KernelPerceptron")
    X = suited(rows(6), name)
    padded = np.append(X[0, :4], np.zeros(3))
    model = cls(kernel=ours(name)).partial_fit(X[:1, :4], [1])
    expected = theirs(name)(padded[None, :], X)[0]
    near(model.decision_function(X), expected)
    near(model.decision_function(csr_matrix(X)), expected)
    model.partial_fit(padded[None, :], [1])  # the same row again is not a mistake; the model now has seven columns
    assert model.n_support_ == 1
    near(model.decision_function(X), expected)


@every
def test_named_features(name):
    """A feature that is missing in a dict is 0, whether the model has its column or not."""
    cls = learner("KernelPerceptron")
    model = cls(kernel=ours(name)).learn_one({"a": 1.0, "b": 2.0}, 1)
    X = np.array([[1.0, 2.0, 0.0], [0.0, 2.0, 0.5]])
    expected = theirs(name)(X[:1], X)[0]
    assert model.score_one({"a": 1.0, "b": 2.0}) == pytest.approx(expected[0], rel=1e-12)
    assert model.score_one({"b": 2.0, "c": 0.5}) == pytest.approx(expected[1], rel=1e-12)


# ---- extremes


@every
@pytest.mark.parametrize("form", FORMS)
def test_zero_rows(name, form):
    zero, X = np.zeros((1, 7)), suited(rows(7), name)
    near(matrix(ours(name), X, zero, FORMS[form], FORMS[form]), theirs(name)(X, zero))
    near(matrix(ours(name), zero, X, FORMS[form], FORMS[form]), theirs(name)(zero, X))


@every
@pytest.mark.parametrize("size", [1e-70, 1e-8, 1e8, 1e49])
@pytest.mark.parametrize("form", FORMS)
def test_tiny_and_huge_values(name, size, form):
    """Nothing becomes NaN or infinite, and k(x, x) is exact in spite of cancellation."""
    if name == "polynomial":
        size = min(size, 1e30)  # its cube must be finite
    X = suited(rows(8), name) * size
    got = matrix(ours(name), X, X, FORMS[form], FORMS[form])
    expected = theirs(name)(X, X)
    assert np.isfinite(got).all()
    near(got, expected, 1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_far_from_the_origin(form):
    """|x|^2 + |z|^2 - 2 x.z loses digits far from the origin. The kernels stay accurate and within [0, 1]."""
    X = rows(9) + 1e3
    got = matrix(ours("gaussian"), X, X, FORMS[form], FORMS[form])
    assert np.abs(got - theirs("gaussian")(X, X)).max() < 1e-7
    assert got.min() >= 0
    assert got.max() <= 1
    assert np.diag(got) == pytest.approx(np.ones(len(X)), abs=1e-12)


@every
def test_symmetric_and_positive_semidefinite(name):
    X = suited(np.vstack([rows(10), real_stream("spam")[0][::30, :7]]), name)
    K = matrix(ours(name), X, X)
    assert np.abs(K - K.T).max() <= 1e-13 * np.abs(K).max()
    assert np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-12 * np.trace(K)


# ---- construction


def test_median_heuristic():
    """The width is the median distance of the first block's rows."""
    X, y = random_stream(11, (-1, 1), n=30, density=1.0)
    sigma = kernels.median_distance(X)
    pair = kernel_class("Gaussian")(sigma="median"), theirs("gaussian", sigma=sigma)
    cls = learner("KernelPerceptron")
    model = cls(kernel=pair[0]).partial_fit(X, y)
    K = pair[1](X, X)
    paper = papers.KernelPerceptron(K)
    for i, label in enumerate(y.tolist()):
        paper.learn(i, label)
    assert model.decision_function(X) == pytest.approx(K @ paper.w, abs=1e-9)
    more = X + 3.0  # the width must not change
    model.partial_fit(more, y)
    K = pair[1](np.vstack([X, more]), np.vstack([X, more]))
    paper = papers.KernelPerceptron(K)
    for i, label in enumerate([*y.tolist(), *y.tolist()]):
        paper.learn(i, label)
    assert model.decision_function(more) == pytest.approx((K @ paper.w)[30:], abs=1e-9)


def test_a_callable():
    """A function of two arrays gets dense arrays of equal length."""
    X, y = random_stream(12, (0, 1, 2))

    def k(x, z):
        assert isinstance(x, np.ndarray)
        assert x.ndim == z.ndim == 1
        assert len(x) == len(z)
        return float(np.minimum(np.abs(x), np.abs(z)).sum())

    def intersection(A, B):
        return np.minimum(np.abs(A)[:, None, :], np.abs(B)[None, :, :]).sum(axis=2)

    compare(papers.KernelPerceptron, "KernelPerceptron", {}, (k, intersection), X, y, classes=[0, 1, 2])


@pytest.mark.parametrize(
    ("by_name", "name", "parameters"),
    [
        ({}, "gaussian", {"sigma": 1.0}),
        ({"kernel": "linear"}, "linear", {}),
        ({"kernel": "gaussian", "sigma": 2.0}, "gaussian", {"sigma": 2.0}),
        ({"kernel": "polynomial", "degree": 2, "c": 0.25}, "polynomial", {"degree": 2, "c": 0.25}),
        ({"kernel": "laplacian", "sigma": 2.0}, "laplacian", {"sigma": 2.0}),
        ({"kernel": "cosine"}, "cosine", {}),
    ],
    ids=str,
)
def test_by_name(by_name, name, parameters):
    cls = learner("KernelPerceptron")
    X, y = random_stream(13, (-1, 1))
    named, made = cls(**by_name).partial_fit(X, y), cls(kernel=ours(name, **parameters)).partial_fit(X, y)
    assert named.decision_function(X).tobytes() == made.decision_function(X).tobytes()


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("Gaussian", {"sigma": 0.0}),
        ("Gaussian", {"sigma": -1.0}),
        ("Gaussian", {"sigma": "mean"}),
        ("Laplacian", {"sigma": 0.0}),
        ("Polynomial", {"degree": 0}),
        ("Polynomial", {"c": -1.0}),
        ("ChiSquare", {"gamma": 0.0}),
        ("Gaussian", {"sigma": float("nan")}),
    ],
    ids=str,
)
def test_parameters_out_of_range(name, bad):
    """Bad parameters raise on construction or before the first example."""
    cls = kernel_class(name)
    machine = learner("KernelPerceptron")
    with pytest.raises(ParameterError):
        machine(kernel=cls(**bad)).partial_fit([[1.0, 2.0]], [1])


@pytest.mark.parametrize("bad", ["gausian", 3, None], ids=str)
def test_no_kernel(bad):
    machine = learner("KernelPerceptron")
    with pytest.raises(ParameterError):
        machine(kernel=bad).partial_fit([[1.0, 2.0]], [1])


@pytest.mark.parametrize("form", FORMS)
def test_chi_square_of_what_is_negative(form):
    """With negative values chi-square is the kernel of the positive and the negative parts, so it stays a kernel."""
    X = rows(14)
    parts = np.hstack([np.maximum(X, 0), np.maximum(-X, 0)])
    near(matrix(ours("chi_square"), X, X, FORMS[form], FORMS[form]), theirs("chi_square")(parts, parts))
