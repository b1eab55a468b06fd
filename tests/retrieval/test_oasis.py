"""OASIS agrees with its transcription, whose step is the smallest that reaches the margin; precision of rankings.

Where a property is tested of the `paper` and of `ours`, the first shows that the transcription has it.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

import seriatim
from seriatim.errors import DataError
from tests.learners import learner, never_better
from tests.reference import retrieval as papers
from tests.retrieval.comparison import digits, the_package, triplets
from tests.test_contract import Unchanged


def stream(seed, n=40, d=5):
    return np.random.default_rng(seed).standard_normal((n, 3, d))


@pytest.mark.parametrize("C", [0.1, 0.003, 10.0])
def test_equals_the_paper(C):
    model, paper = learner("OASIS")(C=C), papers.OASIS(5, C)
    candidates = stream(0)[:, 0]
    for query, relevant, irrelevant in stream(1):
        model.learn_one(query, relevant, irrelevant)
        paper.learn(query, relevant, irrelevant)
        assert pytest.approx(paper.W, rel=1e-9, abs=1e-9) == model.W_
        assert model.similarity(query, relevant) == pytest.approx(query @ paper.W @ relevant, rel=1e-9, abs=1e-9)
    for query in stream(2)[:5, 0]:
        assert list(model.rank(query, candidates)) == list(paper.rank(query, candidates))
    assert model.t_ == 40


@settings(max_examples=20)
@given(st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=6, max_size=6), min_size=1, max_size=12))
def test_equals_the_paper_on_any_triplets(rows):
    """Also without an update: a query of zeros, and equal answers."""
    model, paper = learner("OASIS")(), papers.OASIS(2)
    for row in np.array(rows).reshape(-1, 3, 2):
        model.learn_one(*row)
        paper.learn(*row)
    assert pytest.approx(paper.W, rel=1e-9, abs=1e-9) == model.W_


def matrices(name, C, rows):
    """W before and after each triplet."""
    if name == "paper":
        model = papers.OASIS(rows.shape[2], C)
        for row in rows:
            before = model.W
            model.learn(*row)
            yield before, row, model.W
    else:
        model, before = learner("OASIS")(C=C), np.eye(rows.shape[2])
        for row in rows:
            model.learn_one(*row)
            yield before, row, model.W_.copy()
            before = model.W_.copy()


@pytest.mark.parametrize("name", ["paper", "ours"])
@pytest.mark.parametrize("C", [0.02, 1e9])
def test_the_step_solves_its_problem(name, C):
    """The step minimises |W - W_t|^2 / 2 + C loss. With a large C, the margin is 1 after it."""
    rng = np.random.default_rng(3)
    for before, (query, relevant, irrelevant), after in matrices(name, C, stream(4, 15, 3)):

        def objective(W, before=before, query=query, difference=relevant - irrelevant):
            return ((W - before) ** 2).sum() / 2 + C * max(0, 1 - query @ W @ difference)

        if C < 1:
            never_better(objective, after, rng, tries=15)
        else:
            assert query @ after @ (relevant - irrelevant) >= 1 - 1e-9


def test_rows_chunks_and_files(tmp_path):
    X, labels = digits(0)
    told = np.array(triplets(labels, 60, 0))
    whole = learner("OASIS")().partial_fit(X, told)
    one = learner("OASIS")()
    for i, j, k in told[:20]:
        one.learn_one(X[i], X[j], X[k])
    one.save(tmp_path / "oasis")
    again = seriatim.load(tmp_path / "oasis").partial_fit(X, told[20:])
    assert (again.W_ == whole.W_).all()
    assert again.t_ == whole.t_ == 60


@pytest.mark.parametrize("name", ["paper", "ours"])
def test_learns_digits(name):
    """After 6,000 triplets of 900 centred digits, OASIS ranks 100 unseen digits better than the dot product."""
    X, labels = digits(1, 1000)
    X = X - X[:900].mean(axis=0)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    told = triplets(labels[:900], 6000, 1)
    if name == "paper":
        model = papers.OASIS(64)
        for i, j, k in told:
            model.learn(X[i], X[j], X[k])
        W = model.W
    else:
        W = learner("OASIS")().partial_fit(X, np.array(told)).W_

    def score(W):
        new, kinds = X[900:], labels[900:]
        table = new @ W @ new.T
        rows = [np.arange(100) != a for a in range(100)]
        return np.mean([average_precision_score(kinds[o] == kinds[a], table[a, o]) for a, o in enumerate(rows)])

    assert score(W) > score(np.eye(64)) + 0.04


def test_refused():
    model = learner("OASIS")()
    model.learn_one([1.0, 2.0], [1.0, 0.0], [0.0, 1.0])
    for bad in (
        ([1.0, 2.0, 3.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
        ([1.0, 2.0], [1.0], [0.0, 1.0]),
        ([1.0, np.nan], [1.0, 0.0], [0.0, 1.0]),
        ([1.0, np.inf], [1.0, 0.0], [0.0, 1.0]),
    ):
        with Unchanged(model), pytest.raises(DataError):
            model.learn_one(*bad)
    for bad in ([[0, 1, 2]], [[0, -1, 1]], [[0, 1]], [[0.5, 1, 0]]):
        with Unchanged(model), pytest.raises(DataError):
            model.partial_fit(np.eye(2), bad)


# ---- precision


def test_average_precision_equals_sklearn():
    package, rng = the_package(), np.random.default_rng(5)
    relevants, orders, expected = [], [], []
    for _ in range(100):
        n = int(rng.integers(1, 30))
        relevant, order = rng.random(n) < 0.3, rng.permutation(n)
        relevant[rng.integers(n)] = True
        points = np.empty(n)
        points[order] = -np.arange(n)
        expected.append(average_precision_score(relevant, points))
        assert package.average_precision(relevant, order) == pytest.approx(expected[-1], abs=1e-12)
        relevants.append(relevant)
        orders.append(order)
        for k in (1, 3, n):
            if k <= n:
                assert package.precision_at(k, relevant, order) == pytest.approx(relevant[order[:k]].mean())
    assert package.mean_average_precision(relevants, orders) == pytest.approx(np.mean(expected), abs=1e-12)


def test_measures_by_hand():
    package = the_package()
    assert package.average_precision([True, False, True, False], [0, 1, 2, 3]) == pytest.approx((1 + 2 / 3) / 2)
    assert package.average_precision([False, False, True], [0, 1, 2]) == pytest.approx(1 / 3)
    assert package.average_precision([False, False], [1, 0]) == 0.0
    assert package.precision_at(2, [True, False, True], [1, 0, 2]) == 0.5
