"""Online AUC maximisation equals its transcription, and its buffers are uniform samples of the past rows."""

import copy
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.stats import chisquare
from sklearn.metrics import roc_auc_score

from seriatim import Perceptron
from seriatim.errors import DataError
from tests.learners import joint, learner, real_stream
from tests.linear.test_reference import PAPERS, WAYS, compare, generic_streams, random_stream, some_ways
from tests.reference import auc
from tests.test_contract import Unchanged

PAPERS["OAM"] = auc.OAM
CASES = auc.OAM.CASES
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
updates = pytest.mark.parametrize("update", ["sequential", "gradient"])


# ---- equality with the transcription, where the buffers hold all there was


@cases
@pytest.mark.parametrize("names", [(-1, 1), (2, 3), ("a", "b")], ids=str)
def test_equals_its_paper(case, names):
    """Also where the first label turns out to be the negative class, and its buffer changes places."""
    learner("OAM")
    X, y = random_stream(1, (0, 1))
    for first in (0, 1):
        target = y.copy()
        target[:5] = first
        compare(("OAM", case), X, np.array(names)[target], dicts=first == 0)
    some = {"sparse, by 7": WAYS["sparse, by 7"]}
    compare(("OAM", case), X, np.array(names)[y], intercept=False, ways=some)


@settings(max_examples=60)
@given(case=st.sampled_from(CASES), stream=generic_streams(), intercept=st.booleans(), ways=some_ways)
def test_generated_streams(case, stream, intercept, ways):
    learner("OAM")
    compare(("OAM", case), stream[0], stream[1] % 2, intercept, ways=ways)


@updates
def test_spam(update):
    learner("OAM")
    X, y = real_stream("spam", 300)
    case = {"C": 0.05, "buffer_size": None, "update": update}
    compare(("OAM", case), X, y, ways={"sparse, by 7": WAYS["sparse, by 7"]}, rows=X[::10], dicts=False)


@updates
def test_unlimited_is_a_buffer_that_never_fills(update):
    cls = learner("OAM")
    X, y = random_stream(2, (0, 1))
    one, other = (joint(cls(buffer_size=size, update=update).partial_fit(X, y)) for size in (None, 60))
    assert (one == other).all()


# ---- the buffers


def tagged(seed, n, d=3, share=0.5):
    """Rows with one feature each, so that an update shows which rows a buffer holds."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    X = rng.standard_normal((n, d)) * 0.5
    X[y == 1, 0] += 0.5
    return np.column_stack([X, np.eye(n), np.zeros(n)]), y


def held(model, tags, label):
    """The rows in the buffer of a label, found by the step of a misranked row of the other label.

    It is c times the sum of y (x - z); the last feature, which no other row has, gives c times their number.
    """
    y, w = (-1 if label else 1), model.coef_[0]
    x = -y * 10 * w / max(w @ w, 1e-3)
    x[-1] = 1.0
    probe = copy.deepcopy(model).set_params(C=1e-6).partial_fit(x[None, :], [1 - label])
    moved = probe.coef_[0] - w
    mean = x - moved / moved[-1] if moved[-1] else 0 * x  # of the rows in the buffer
    return np.flatnonzero(mean[tags] > 1e-4).tolist()


@updates
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_equals_its_paper_whatever_the_buffers_draw(update, size, seed):
    """The places that the model has drawn are told to the transcription: then all weights are equal.

    A row replaces the one that it drives out, in its place.
    """
    cls, n = learner("OAM"), 50
    X, y = tagged(seed, n)
    tags = slice(3, 3 + n)
    model = cls(C=0.02, buffer_size=size, update=update, seed=seed, fit_intercept=False, classes=[0, 1])
    paper = auc.OAM(X.shape[1], C=0.02, buffer_size=size, update=update, classes=[0, 1])
    slots, counts, replaced = {0: [], 1: []}, {0: 0, 1: 0}, 0
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        model.partial_fit(x[None, :], [label])
        counts[label] += 1
        now = held(model, tags, label)
        place = None
        if len(slots[label]) < size:
            slots[label].append(t)
        elif t in now:
            (out,) = set(slots[label]) - set(now)
            place = slots[label].index(out)
            slots[label][place] = t
            replaced += 1
        paper.place = lambda n, place=place: place
        paper.learn(x, label)
        assert sorted(slots[label]) == now
        assert len(now) == min(size, counts[label])
        assert model.coef_[0] == pytest.approx(paper.w, abs=1e-9 * max(1e-9, np.abs(paper.w).max()))
    assert replaced


@pytest.mark.parametrize(("size", "n"), [(1, 6), (2, 5), (3, 6)])
def test_the_reservoir_is_uniform(size, n):
    """After n rows of a label every subset of the buffer's size is equally likely, over many seeds."""
    cls, runs = learner("OAM"), 1500
    X = np.column_stack([np.eye(n), np.zeros(n)])
    sets = {frozenset(chosen): 0 for chosen in combinations(range(n), size)}
    for seed in range(runs):
        model = cls(buffer_size=size, C=1e-3, update="gradient", seed=seed, fit_intercept=False, classes=[0, 1])
        model.partial_fit(X, [1] * n).partial_fit(np.zeros((1, n + 1)), [0])
        sets[frozenset(np.flatnonzero(model.coef_[0][:n]).tolist())] += 1
    assert chisquare(list(sets.values())).pvalue > 1e-4


def test_the_reservoir_of_a_long_stream():
    """Old and recent rows are equally likely to be stored."""
    cls, n, size = learner("OAM"), 200, 10
    X = np.column_stack([np.eye(n), np.zeros(n)])
    kept = np.zeros(n)
    for seed in range(300):
        model = cls(buffer_size=size, C=1e-3, update="gradient", seed=seed, fit_intercept=False, classes=[0, 1])
        model.partial_fit(X, [0] * n).partial_fit(np.zeros((1, n + 1)), [1])
        kept += model.coef_[0][:n] != 0
    assert kept.sum() == 300 * size
    assert chisquare(kept.reshape(10, 20).sum(axis=1)).pvalue > 1e-4


def test_a_buffer_is_filled_before_anything_is_replaced():
    """Lecture 001 has the replacement alone, which would throw dice for the first N rows and hold fewer than N."""
    cls = learner("OAM")
    X = np.column_stack([np.eye(6), np.zeros(6)])
    for seed in range(20):
        model = cls(buffer_size=5, seed=seed, fit_intercept=False, classes=[0, 1]).partial_fit(X[:5], [1] * 5)
        assert held(model, slice(0, 6), 1) == [0, 1, 2, 3, 4]


def test_the_opposite_buffer_is_the_one_that_is_kept():
    """Lecture 001, branch y = +1, has B_+ <- B_+ where B_- is meant: a positive leaves the negatives as they are."""
    cls = learner("OAM")
    X = np.column_stack([np.eye(12), np.zeros(12)])
    y = [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    model = cls(buffer_size=3, C=1e-3, update="gradient", seed=1, fit_intercept=False, classes=[0, 1])
    for x, label in zip(X, y, strict=True):
        model.partial_fit(x[None, :], [label])
        if label:
            assert held(model, slice(0, 12), 0) == [0, 1, 2]
            assert len(held(model, slice(0, 12), 1)) > 0


def test_a_row_is_not_held_against_its_own_class():
    cls = learner("OAM")
    model = cls(fit_intercept=False, classes=[0, 1]).partial_fit(np.eye(4), [1] * 4)
    assert (model.coef_ == 0).all()
    assert model.updates_ == 0


def test_seeds_repeat_and_differ():
    cls = learner("OAM")
    X, y = tagged(3, 120)
    runs = [joint(cls(buffer_size=3, seed=seed).partial_fit(X, y)) for seed in (0, 0, 1, 2, 3)]
    assert (runs[0] == runs[1]).all()
    assert any((run != runs[0]).any() for run in runs[2:])


# ---- the steps


@updates
def test_the_weight_grows_with_what_the_buffer_stands_for(update):
    """C_t = C max(1, N_opposite / cap): with one place for five negatives a positive counts five times as much."""
    cls = learner("OAM")
    z, x = np.array([0.0, 1.0]), np.array([100.0, 0.0])
    for size, factor in ((1, 5), (5, 1), (100, 1)):
        model = cls(C=1e-4, buffer_size=size, update=update, fit_intercept=False, classes=[0, 1])
        model.partial_fit([z] * 5, [0] * 5)
        w = np.zeros(2)
        for _ in range(min(size, 5)):
            v = x - z
            loss = max(0, 1 - w @ v)
            w = w + (min(factor * 1e-4 / 2, loss / (v @ v)) if update == "sequential" else factor * 1e-4 / 2) * v
        assert model.partial_fit([x], [1]).coef_[0] == pytest.approx(w, rel=1e-9)


def test_sequential_steps_solve_their_problems():
    """Each pair: argmin |u - w|^2 + C_t [1 - u.v]+. There is no 1/2 before the square, hence C_t / 2."""
    cls, rng = learner("OAM"), np.random.default_rng(4)
    for C in (0.02, 0.3, 50.0):
        x, z, w = rng.standard_normal(3), rng.standard_normal(3), None
        model = cls(C=C, fit_intercept=False, classes=[0, 1]).partial_fit([z, x], [0, 1])
        w, v = model.coef_[0], x - z

        def objective(u):
            return u @ u + C * max(0, 1 - u @ v)  # noqa: B023

        for size in (1.0, 1e-2, 1e-4):
            for direction in (v, -v, *rng.standard_normal((20, 3))):
                assert objective(w + size * direction) >= objective(w) - 1e-12


def test_gradients_are_all_at_the_same_weights():
    """The gradient update uses the same w for all pairs; the sequential update does not."""
    cls = learner("OAM")
    Z, x = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([2.0, 0.0])
    model = cls(C=2.0, update="gradient", fit_intercept=False, classes=[0, 1]).partial_fit(Z, [0, 0])
    model.partial_fit([x], [1])
    assert model.coef_[0] == pytest.approx(2 * (x - Z[0]))  # w.v is 0 for both; after one step it would be 5


@pytest.mark.parametrize("update", ["sequential", "gradient"])
def test_rows_that_are_equal(update):
    """A pair with |x - z| = 0 takes no step."""
    cls = learner("OAM")
    model = cls(update=update).partial_fit([[1.0, 2.0]] * 4, [0, 1, 0, 1])
    assert (joint(model) == 0).all()
    assert np.isfinite(model.decision_function([[1.0, 2.0]])).all()


@updates
def test_the_intercept_is_zero(update):
    """The intercept is in every row, so it cancels and does not change the order of the scores."""
    cls = learner("OAM")
    X, y = random_stream(5, (0, 1))
    model, without = (cls(update=update, fit_intercept=flag).partial_fit(X, y) for flag in (True, False))
    assert model.intercept_[0] == 0.0
    assert model.coef_ == pytest.approx(without.coef_, abs=1e-12)


@updates
def test_sparse_rows_in_the_buffers(update):
    cls = learner("OAM")
    rng = np.random.default_rng(6)
    X = rng.standard_normal((80, 60)) * (rng.random((80, 60)) < 0.1)
    y = rng.integers(0, 2, 80)
    dense = joint(cls(buffer_size=5, update=update).partial_fit(X, y))
    assert joint(cls(buffer_size=5, update=update).partial_fit(csr_matrix(X), y)) == pytest.approx(dense, abs=1e-12)


@updates
def test_auc_of_a_rare_class(update):
    """With 2% positives, OAM has a higher AUC; accuracy does not show it."""
    cls = learner("OAM")
    rng = np.random.default_rng(7)
    X = rng.standard_normal((6000, 10))
    X += 3.0  # no line through the origin separates; the order of the scores does not mind
    score = X[:, 0] - X[:, 1] + 1.5 * rng.standard_normal(6000)
    y = (score > np.quantile(score, 0.98)).astype(int)
    train, test = slice(0, 4000), slice(4000, 6000)
    model = cls(C=0.01, update=update).partial_fit(X[train], y[train])
    plain = Perceptron().partial_fit(X[train], y[train])
    ours, theirs = (roc_auc_score(y[test], m.decision_function(X[test])) for m in (model, plain))
    assert ours > 0.85
    assert ours > theirs


def test_two_labels():
    cls = learner("OAM")
    X, y = random_stream(8, (0, 1))
    model = cls().partial_fit(X, y)
    with Unchanged(model), pytest.raises(DataError):
        model.partial_fit(X, (y + 1) % 3)
