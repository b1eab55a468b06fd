"""Learners by name, and checks for the tests of several families."""

import numpy as np
import pytest

import seriatim
from seriatim import data


def learner(name):
    """The class of a learner; the test is skipped where the build has none of this name."""
    cls = getattr(seriatim, name, None)
    if cls is None:
        pytest.skip(f"seriatim has no {name}")
    return cls


def of_rows():
    """The algorithms that learn rows of features, by name. Others keep the promises of the tests of their family."""
    return {name: cls for name, cls in seriatim.algorithms().items() if hasattr(cls, "learn_rows")}


def joint(model):
    """All weights: a row per class, the intercept last."""
    return np.column_stack([np.atleast_2d(model.coef_), np.reshape(model.intercept_, -1)])


def by_rows(model, X, y):
    """(weights before, row with its constant, label, weights after) of each example but the first."""
    model.partial_fit(X[:1], y[:1])
    before = joint(model)
    for x, label in zip(X[1:], y[1:], strict=True):
        after = joint(model.partial_fit(x[None, :], [label]))
        yield before, np.append(x, float(model.fit_intercept)), label, after
        before = after


def difference(W, row, label, seen=None):
    """The direction of the update: y x if binary. Multiclass labels are 0, 1, ...; only seen classes compete."""
    if len(W) == 1:
        return row[None, :] * (1 if label > 0 else -1)
    delta, scores = np.zeros_like(W), W @ row
    rivals = [k for k in range(len(W)) if k != label and (seen is None or k in seen)]
    if rivals:
        delta[label] += row
        delta[max(rivals, key=lambda k: scores[k])] -= row
    return delta


def never_better(objective, at, rng, tries=40):
    """No step in any direction, short or long, lowers a convex objective; nor does one along an axis or to 0."""
    least = objective(at) - 1e-10 * max(1, abs(objective(at)))
    assert objective(0 * at) >= least
    for size in (1.0, 1e-2, 1e-4):
        for _ in range(tries):
            direction = rng.standard_normal(at.shape) * (rng.random(at.shape) < rng.choice([0.3, 1.0]))
            assert objective(at + size * direction) >= least


def has_no_signed_zero(weights):
    return not np.signbit(weights[weights == 0]).any()


def real_stream(name, rows=600):
    """A real data set, scaled by column maxima, with few enough rows for a naive transcription."""
    X, y = data.load(name)
    X, y = X[:: len(y) // rows].toarray(), y[:: len(y) // rows]
    return X / np.maximum(np.abs(X).max(axis=0), 1e-12), y
