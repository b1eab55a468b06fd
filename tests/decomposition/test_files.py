"""Models save and load their whole state; loading refuses states that no rows can produce."""

import numpy as np
import pytest

import seriatim
from seriatim import IncrementalPCA, OnlinePCA, OnlineSVD
from seriatim.errors import ModelError
from tests.test_contract import assert_same_state


def rows(kind, n=30, d=4):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    if kind == "ends":
        return np.sign(X) * 1e50
    if kind == "columns":
        return np.sign(X) * 10.0 ** np.linspace(-60, 50, d)
    if kind == "unknown":
        return np.where(rng.random((n, d)) < 0.3, np.nan, np.sign(X) * 10.0 ** np.linspace(-60, 50, d))
    return X / np.linalg.norm(X, axis=1).max()


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (IncrementalPCA(3), "ends"),  # rows less their mean are beyond the limit
        (IncrementalPCA(3, block=7), "ends"),
        (OnlineSVD(3, missing=True, block=7), "unknown"),  # some wait, and their gaps are no numbers
        (OnlineSVD(3, missing=True), "unknown"),  # rows filled from a column of 1e-60
        (OnlineSVD(3, threshold=0.0, keep_left=True), "columns"),
        (OnlinePCA(1, eta=1e5), "short"),  # weights whose logarithms are 1e5 apart
    ],
)
def test_saved_and_loaded(model, kind, tmp_path):
    X = rows(kind)
    for some in np.array_split(X, 5):
        model.partial_fit(some)
        model.save(tmp_path / "model")
        assert_same_state(seriatim.load(tmp_path / "model"), model)


def edited(model, name, value):
    """A model with one number or array of its state replaced."""
    state = model.__getstate__()
    old = state["state"][name]
    state["state"] = {**state["state"], name: value(old) if callable(value) else type(old)(value)}
    type(model).__new__(type(model)).__setstate__(state)


SUBSPACE = [
    ("steps", 0),
    ("steps", lambda n: n - 1),
    ("steps", 10**6),
    ("steps", 2**61),
    ("used", 0),
    ("used", 2**61),
    ("records", 3),
    ("t", 2),
    ("s", lambda s: s * 1e60),
    ("s", lambda s: 0 * s),
    ("s", lambda s: s[:-1]),
    ("T", lambda T: 1.001 * T),
    ("T", lambda T: T[:-1]),
    ("T", lambda T: T * 1e300),
    ("B", lambda B: B[:-1]),
    ("B", lambda B: B[:, :-1]),
    ("B", lambda B: B + 0.5),
    ("pending_value", lambda v: 2 * v),
    ("pending_value", lambda v: v * 1e60),
    ("pending_index", lambda i: i + 1),
    ("pending_start", lambda s: s[:-1]),
]
DENSITY = [
    ("t", 0),
    ("draws", 2**61),
    ("expected", -1.0),
    ("sampled", 1e300),
    ("rest", 0.0),
    ("weights", lambda w: w[::-1]),
    ("weights", lambda w: 0 * w),
    ("Q", lambda Q: Q[:, :-1]),
    ("Q", lambda Q: 2 * Q),
    ("Q", lambda Q: np.zeros((1, 0))),
]


@pytest.mark.parametrize(
    ("model", "edits"),
    [
        (OnlineSVD(2), SUBSPACE),
        (
            OnlineSVD(2, keep_left=True),
            [*SUBSPACE, ("R", lambda R: R[1:]), ("R", lambda R: R * 3), ("U", lambda U: U[1:])],
        ),
        (IncrementalPCA(2), [*SUBSPACE, ("mean", lambda m: m * 1e60), ("squares", lambda s: s - 1e3), ("columns", 9)]),
        (
            OnlineSVD(2, block=4),
            [("waiting_index", lambda i: i + 9), ("waiting_start", lambda s: s[::-1]), ("steps", 10**6)],
        ),
        (OnlinePCA(1, n_features=9), DENSITY),
    ],
)
def test_states_that_nothing_leads_to(model, edits):
    """`restore` checks everything that the code relies on, above all the sizes of its memory."""
    X = rows("short", n=27)
    model.partial_fit(X)
    for name, value in edits:
        with pytest.raises(ModelError):
            edited(model, name, value)
            pytest.fail(f"{model!r}: {name} was taken")


@pytest.mark.parametrize(
    "model",
    [
        OnlineSVD(4),
        OnlineSVD(4, block=20),
        IncrementalPCA(4),
        IncrementalPCA(4, block=20),
        OnlinePCA(3),
        seriatim.DictionaryLearning(9, batch=20),
    ],
)
def test_a_row_does_not_depend_on_how_many_are_asked_for(model):
    """A loaded model resumes bit for bit, even if users have looked at it."""
    X = rows("short", n=150, d=40)
    model.partial_fit(X[:70])
    one_by_one = np.vstack([model.transform(x[None]) for x in X])
    assert np.array_equal(one_by_one, model.transform(X))
    assert np.array_equal(one_by_one, np.vstack([model.transform(some) for some in np.array_split(X, 7)]))
