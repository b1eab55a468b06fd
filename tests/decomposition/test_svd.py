"""The online SVD equals its transcription, and the SVD of the whole matrix if nothing is cut off.

A property tested for `paper` and `ours` holds for the transcription, too.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import seriatim
from seriatim import evaluate
from seriatim.errors import DataError, SeriatimError
from tests.decomposition.comparison import (
    WAYS,
    as_dicts,
    by_names,
    close,
    in_chunks,
    of_rank,
    orthonormal,
    real_matrix,
    same_directions,
    stream,
)
from tests.learners import learner
from tests.reference import decomposition as papers
from tests.test_contract import Unchanged

CASES = papers.OnlineSVD.CASES


def name_of(case):
    return "-".join(f"{k}={v}" for k, v in case.items())


class Paper:
    """The transcription: X ~ U diag(s) V'."""

    rows = 2000  # how long a long stream is

    def __init__(self, features, **parameters):
        self.model = papers.OnlineSVD(features, **parameters)
        self.revise, self.remove, self.add_columns = self.model.revise, self.model.remove, self.model.add_columns

    def learn_all(self, X):
        for x in X:
            self.model.learn(x)
        return self

    def read(self):
        model = self.model.settled()
        return model.U, model.s, model.V

    def rebuild(self, X):
        model = self.model.settled()
        return np.array([model.rebuild(x) for x in X])

    def losses(self, X):
        model = self.model.settled()
        return np.array([model.loss(x) for x in X])


class Ours:
    """A model of the library with the interface of `Paper`, without directions of value 0."""

    rows = 100_000

    def __init__(self, features, **parameters):
        self.model = learner("OnlineSVD")(**parameters)
        self.revise, self.remove, self.add_columns = self.model.revise, self.model.remove, self.model.add_columns

    def learn_all(self, X):
        self.model.partial_fit(X)
        return self

    def read(self):
        s = self.model.singular_values_
        kept = s > 0
        U = self.model.left_[:, kept] if self.model.keep_left else None
        return U, s[kept], self.model.components_[kept].T

    def rebuild(self, X):
        return self.model.reconstruct(X)

    def losses(self, X):
        return -self.model.score_samples(X)


both = pytest.mark.parametrize("make", [Paper, Ours], ids=["paper", "ours"])


def same(one, other, tolerance=1e-9):
    """s, and V up to signs; and U, with the signs of V."""
    (U, s, V), (U2, s2, V2) = one.read(), other.read()
    close(s, s2, 0, tolerance)
    same_directions(V, V2, tolerance)
    if U2 is not None:
        close((U * s) @ V.T, (U2 * s2) @ V2.T, s2.max(initial=0), tolerance)


def equals_svd(model, X, tolerance=1e-8, gap=1e-3):
    """The values, the space, each vector that is apart from the others, and the matrix itself where U is kept."""
    U, s, V = model.read()
    _, s2, Vt = np.linalg.svd(X, full_matrices=False)
    rank = int(np.sum(s2 > 1e-9 * s2[0]))
    close(s, s2[:rank], 0, tolerance)
    orthonormal(V, tolerance)
    close(V @ V.T, Vt[:rank].T @ Vt[:rank], 1.0, tolerance)
    apart = np.min(np.abs(s2[:rank, None] - s2[:rank] + np.diag(np.full(rank, np.inf))), axis=1) > gap * s2[0]
    same_directions(V[:, apart], Vt[:rank][apart].T, tolerance)
    if U is not None:
        close((U * s) @ V.T, X, 0, tolerance)
        orthonormal(U, tolerance)


# ---- equality with the transcription


def compare(case, X):
    model, paper = Ours(X.shape[1], **case), Paper(X.shape[1], **case)
    for t, x in enumerate(X):
        if t:
            close(model.losses(x[None, :]), paper.losses(x[None, :]), float(x @ x))
        model.learn_all(x[None, :])
        paper.learn_all(x[None, :])
    for feed in WAYS.values():
        whole = Ours(X.shape[1], **case)
        feed(X, whole.model)
        assert whole.model.t_ == len(X)
        same(whole, paper)
        close(whole.rebuild(X), paper.rebuild(X))
        close(whole.rebuild(csr_matrix(X)), paper.rebuild(X))
    same(model, paper)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_equals_its_paper(case):
    compare({**case, "keep_left": True}, stream(1))
    compare(case, stream(1))


@settings(max_examples=25)
@given(
    case=st.sampled_from(CASES),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(8, 30),
    d=st.integers(2, 9),
    left=st.booleans(),
)
def test_generated_streams(case, seed, n, d, left):
    compare({**case, "keep_left": left}, stream(seed, n, d))


def test_real_rows():
    for name in ("spam", "digits"):
        X = real_matrix(name)[:400]
        model, paper = Ours(X.shape[1], rank=7).learn_all(X), Paper(X.shape[1], rank=7).learn_all(X)
        same(model, paper)


# ---- the SVD of the whole matrix


def arriving_late(n):
    """One more direction after each sixth of the stream."""
    coordinates = np.random.default_rng(3).standard_normal((n, 5))
    for j in range(5):
        coordinates[: j * n // 6, j] = 0
    return coordinates @ of_rank(5, 5, 15, 3)


RANKS = {
    "plain": (5, lambda n: of_rank(5, n, 20, 1)),
    "plain, below the ceiling": (9, lambda n: of_rank(5, n, 20, 1)),
    "graded": (6, lambda n: of_rank(6, n, 12, 2, grading=1e-3)),
    "late": (5, arriving_late),
    "wide": (3, lambda n: of_rank(3, n // 5, 100, 4)),
}


@both
@pytest.mark.parametrize("name", RANKS)
def test_true_rank_at_most_the_ceiling(make, name):
    """After 10^5 updates a matrix within the rank has NumPy's SVD and orthogonal vectors."""
    rank, rows = RANKS[name]
    X = rows(make.rows)
    model = make(X.shape[1], rank=rank).learn_all(X)
    equals_svd(model, X)
    close(model.rebuild(X[::100]), X[::100], 0, 1e-8)


@both
@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_are_rows_where_nothing_is_cut(make, block):
    X = of_rank(4, 150, 10, 5)
    for more in ({}, {"forgetting": 0.95}, {"keep_left": True}):
        same(make(10, rank=6, block=block, **more).learn_all(X), make(10, rank=6, **more).learn_all(X))


@both
def test_fewer_rows_than_columns_and_more(make):
    for n, d in ((3, 30), (30, 3), (1, 5)):
        X = np.random.default_rng(n).standard_normal((n, d))
        equals_svd(make(d, rank=30, keep_left=True).learn_all(X), X)


@both
def test_in_any_units(make):
    X = stream(6)
    unit = make(8, rank=3).learn_all(X)
    for scale in (1e-40, 1e40):
        other = make(8, rank=3).learn_all(X * scale)
        close(other.read()[1] / scale, unit.read()[1])
        same_directions(other.read()[2], unit.read()[2])


@both
def test_a_direction_below_the_threshold_is_none(make):
    X = np.array([[3.0, 0, 0], [0, 2, 0], [1, 1, 1e-12], [0, 0, 0]])
    _, s, V = make(3, rank=3).learn_all(X).read()
    assert len(s) == 2
    close(V @ V.T, np.diag([1.0, 1, 0]))
    assert len(make(3, rank=3, threshold=1e-14).learn_all(X).read()[1]) == 3


@both
@pytest.mark.parametrize(("name", "scaled"), [("spam", True), ("spam", False), ("digits", False)])
def test_truncated_is_within_5_percent_of_the_best(make, name, scaled):
    """|X - X V V'| is near the best of this rank."""
    X = real_matrix(name, scaled)
    X = X[::4] if make is Paper else X
    s = np.linalg.svd(X, compute_uv=False)
    for rank in (1, 3, 10, 20):
        for block in (None, 50):
            V = make(X.shape[1], rank=rank, block=block).learn_all(X).read()[2]
            assert np.linalg.norm(X - X @ V @ V.T) <= 1.05 * np.linalg.norm(s[rank:])
            orthonormal(V)


# ---- forgetting


@both
@pytest.mark.parametrize("forgetting", [0.99, 0.5])
def test_forgetting_is_a_weight_by_age(make, forgetting):
    X = stream(7, n=40)
    aged = X * forgetting ** np.arange(len(X))[::-1, None]
    equals_svd(make(8, rank=8, forgetting=forgetting, keep_left=True).learn_all(X), aged)


@both
def test_a_long_stream_forgets(make):
    """With forgetting, after 10^5 rows the model fits the last rows only."""
    first, second = of_rank(3, make.rows, 10, 8), of_rank(2, 1500, 10, 9)
    model = make(10, rank=6, forgetting=0.95).learn_all(first)
    recent = first[-700:] * 0.95 ** np.arange(700)[::-1, None]
    close(model.read()[1], np.linalg.svd(recent, compute_uv=False)[:3], 0, 1e-8)
    model.learn_all(second)
    equals_svd(model, second[-700:] * 0.95 ** np.arange(700)[::-1, None])


# ---- missing entries


def with_gaps(X, first, seed, share=0.3):
    """Entries of the rows from `first` on are NaN; some rows have none at all."""
    rng = np.random.default_rng(seed)
    gaps = X.copy()
    gaps[first:][rng.random(gaps[first:].shape) < share] = np.nan
    gaps[first + 3] = np.nan
    return gaps


@both
def test_missing_entries_are_those_of_the_space(make):
    """Once the space is known, a row of it is known by some of its entries. A row without any is taken for 0."""
    X = of_rank(2, 80, 12, 10)
    gaps = with_gaps(X, 20, 11)
    X[np.isnan(gaps).all(axis=1)] = 0
    model = make(12, rank=5, missing=True).learn_all(gaps[:20])
    close(model.rebuild(gaps[20:]), X[20:], 0, 1e-8)
    assert np.abs(model.losses(gaps)).max() < 1e-12
    equals_svd(model.learn_all(gaps[20:]), X)


@both
def test_the_loss_of_a_row_with_gaps_is_that_of_its_entries(make):
    X = stream(12, n=100, d=10)
    model, gaps = make(10, rank=3, missing=True).learn_all(X[:50]), with_gaps(X[50:], 0, 13)
    there = np.isfinite(gaps)
    close(model.losses(gaps), np.sum(np.where(there, gaps - model.rebuild(gaps), 0) ** 2, axis=1), 1.0)
    V = model.read()[2]
    for x, o, loss in zip(gaps, there, model.losses(gaps), strict=True):
        best = np.linalg.lstsq(V[o], x[o], rcond=1e-10)[0] if o.any() else np.zeros(3)
        assert loss == pytest.approx(np.sum((x[o] - V[o] @ best) ** 2), abs=1e-9)


@both
def test_too_few_entries_take_the_shortest_way(make):
    """Among several solutions the imputation has the least |z|, in units of s."""
    X = np.diag([4.0, 1.0])
    rows = np.array([[np.nan, np.nan], [2.0, np.nan], [np.nan, 3.0]])
    model = make(2, rank=2, missing=True).learn_all(X)
    close(model.rebuild(rows), [[0, 0], [2, 0], [0, 3]])
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    model = make(2, rank=2, missing=True).learn_all(X @ turn)  # one entry, two directions: 4 z1 0.6 - z2 0.8 = 1
    z = np.array([2.4, -0.8]) / (2.4**2 + 0.8**2)
    close(model.rebuild(np.array([[1.0, np.nan]])), [[1.0, 4 * z[0] * 0.8 + z[1] * 0.6]])


@pytest.mark.parametrize("more", [{}, {"forgetting": 0.9}, {"block": 6}, {"keep_left": True}], ids=str)
def test_missing_entries_equal_the_paper(more):
    X = with_gaps(stream(14, n=70), 5, 15)
    case = {"rank": 3, "missing": True, **more}
    model, paper = Ours(8, **case), Paper(8, **case)
    for x in X:
        model.learn_all(x[None, :])
        paper.learn_all(x[None, :])
    same(model, paper)
    same(Ours(8, **case).learn_all(X), paper)
    close(model.rebuild(X), paper.rebuild(X))
    close(model.losses(X), paper.losses(X), 1.0)


def test_a_gap_is_refused_where_it_is_not_asked_for():
    model = Ours(8, rank=3).learn_all(stream(16)).model
    with Unchanged(model), pytest.raises(DataError):
        model.partial_fit(with_gaps(stream(17), 5, 18))
    with pytest.raises(DataError):
        model.transform(with_gaps(stream(17), 5, 18))
    infinite = Ours(8, rank=3, missing=True).learn_all(stream(16)).model
    with Unchanged(infinite), pytest.raises(DataError):
        infinite.partial_fit(np.full((1, 8), np.inf))


# ---- rows that change


@both
@pytest.mark.parametrize("more", [{}, {"forgetting": 0.97}, {"block": 7}], ids=str)
def test_revised_and_removed_rows(make, more):
    """If nothing is cut off, the result is the SVD of the matrix with the row replaced."""
    rng = np.random.default_rng(19)
    X = of_rank(3, 40, 9, 20)
    model = make(9, rank=8, keep_left=True, **more).learn_all(X)
    ages = more.get("forgetting", 1.0) ** np.arange(40)[::-1, None]
    for i in (0, 39, 17, 17):
        X[i] = rng.standard_normal(9)
        model.revise(i, X[i])
        equals_svd(model, X * ages)
    for i in (5, 17, 39, 39):
        X[i] = 0
        model.remove(i)
        equals_svd(model, X * ages)
        assert (model.read()[0][i] == 0).all()
    model.revise(5, rng.standard_normal(9))
    model.learn_all(X[:3])
    assert len(model.read()[0]) == 43


@both
def test_a_direction_leaves_with_its_last_row(make):
    X = np.vstack([of_rank(2, 20, 6, 21), np.eye(6)[2:3] * 5])
    model = make(6, rank=5, keep_left=True).learn_all(X)
    assert len(model.read()[1]) == 3
    model.remove(20)
    assert len(model.read()[1]) == 2
    for i in range(20):
        model.remove(i)
    assert len(model.read()[1]) <= 2
    assert np.abs(model.read()[1]).max(initial=0) < 1e-9


@both
def test_many_changes_keep_it_orthogonal(make):
    rng = np.random.default_rng(22)
    X = of_rank(4, 50, 8, 23)
    model, coordinates = make(8, rank=4, keep_left=True).learn_all(X), np.linalg.svd(X)[2][:4]
    for i in rng.integers(0, 50, 2000 if make is Ours else 200):
        X[i] = rng.standard_normal(4) @ coordinates
        model.revise(i, X[i])
    equals_svd(model, X)


def test_changes_equal_the_paper_where_they_are_cut():
    X, case = stream(24, n=50), {"rank": 3, "keep_left": True, "forgetting": 0.98}
    model, paper = Ours(8, **case).learn_all(X), Paper(8, **case).learn_all(X)
    for one in (model, paper):
        one.revise(7, X[9])
        one.remove(30)
        one.learn_all(X[:5])
        one.revise(51, -X[3])
    same(model, paper)


def test_what_rows_that_change_need():
    model = Ours(8, rank=3).learn_all(stream(25)).model
    with Unchanged(model), pytest.raises(SeriatimError):
        model.revise(3, np.zeros(8))
    with Unchanged(model), pytest.raises(SeriatimError):
        model.remove(3)
    with Unchanged(model), pytest.raises(SeriatimError):
        model.add_columns(np.zeros(60))
    assert not hasattr(model, "left_")
    kept = Ours(8, rank=3, keep_left=True).learn_all(stream(25)).model
    for i in (60, -1, 1.5, "first"):
        with Unchanged(kept), pytest.raises(SeriatimError):
            kept.remove(i)
        with Unchanged(kept), pytest.raises(SeriatimError):
            kept.revise(i, np.zeros(8))
    with Unchanged(kept), pytest.raises(DataError):
        kept.revise(3, np.full(8, np.nan))
    for C in (np.zeros(59), np.zeros((59, 60)), np.full(60, np.nan), np.full(60, "a"), np.zeros((60, 0))):
        with Unchanged(kept), pytest.raises(DataError):
            kept.add_columns(C)
    named = by_names(stream(25), learner("OnlineSVD")(rank=3, keep_left=True))
    with Unchanged(named), pytest.raises(DataError, match="names"):
        named.add_columns(np.zeros(60))


def test_a_revised_row_is_as_one_that_is_learned():
    """The new row may be sparse, and is scaled like all rows."""
    X = stream(25)
    for features in (None, {"normalize": "unit"}):
        one, other = (learner("OnlineSVD")(rank=8, keep_left=True, features=features).partial_fit(X) for _ in range(2))
        whole = np.vstack([X[:3], X[20:21], X[4:]])
        expected = learner("OnlineSVD")(rank=8, features=features).partial_fit(whole)
        close(one.revise(3, X[20]).singular_values_, expected.singular_values_)
        close(other.revise(3, csr_matrix(X[20:21])).singular_values_, expected.singular_values_)


# ---- columns


@both
@pytest.mark.parametrize("more", [{}, {"forgetting": 0.97}, {"block": 7}], ids=str)
def test_columns_one_at_a_time_and_in_blocks(make, more):
    """With rows and columns in turn the result is the SVD of the whole matrix, if nothing is cut off."""
    X = of_rank(6, 40, 12, 30)
    ages = more.get("forgetting", 1.0) ** np.arange(40)[::-1, None]
    model = make(5, rank=8, keep_left=True, **more).learn_all(X[:25, :5])
    for j in (5, 6):
        model.add_columns(X[:25, j : j + 1])
        equals_svd(model, X[:25, : j + 1] * ages[-25:])
    model.add_columns(X[:25, 7:])
    equals_svd(model, X[:25] * ages[-25:])
    equals_svd(model.learn_all(X[25:]), X * ages)


@both
def test_a_stream_of_columns(make):
    """From nothing but a row of zeros each, and cut: each column leaves the best of that rank to what there was."""
    X, table = stream(31, n=12, d=40), np.zeros((12, 1))
    model = make(1, rank=3, keep_left=True).learn_all(table)
    for j in range(0, 40, 2):
        model.add_columns(X[:, j : j + 2])
        left, s, right = np.linalg.svd(np.column_stack([table, X[:, j : j + 2]]), full_matrices=False)
        table = (left[:, :3] * s[:3]) @ right[:3]
        U, s, V = model.read()
        close((U * s) @ V.T, table, 1.0)
        orthonormal(U)
        orthonormal(V)


def test_columns_equal_the_paper_where_they_are_cut():
    X, case = stream(32, n=50, d=12), {"rank": 3, "keep_left": True, "forgetting": 0.98, "block": 8}
    model, paper = Ours(8, **case), Paper(8, **case)
    for one in (model, paper):
        one.learn_all(X[:30, :8])
        one.add_columns(X[:30, 8:])
        one.learn_all(X[30:])
        one.revise(7, X[9])
    same(model, paper)
    one = learner("OnlineSVD")(rank=3, keep_left=True).partial_fit(X[:30, :8]).add_columns(X[:30, 8])
    assert one.components_.shape == (3, 9)
    close(one.transform(X[:, :9]), X[:, :9] @ one.components_.T)


def test_columns_are_saved(tmp_path):
    X = stream(33, n=40, d=10)
    model = learner("OnlineSVD")(rank=4, keep_left=True).partial_fit(X[:20, :7]).add_columns(csr_matrix(X[:20, 7:]))
    model.save(tmp_path / "svd.safetensors")
    again = seriatim.load(tmp_path / "svd.safetensors").partial_fit(X[20:])
    assert (again.left_ == model.partial_fit(X[20:]).left_).all()


# ---- the face of a transformer


@pytest.mark.parametrize("case", [{}, {"block": 7}, {"forgetting": 0.9}], ids=str)
def test_transform(case):
    X = stream(26)
    model = learner("OnlineSVD")(rank=3, **case).partial_fit(X)
    V = model.components_.T
    assert V.shape == (8, 3)
    assert model.singular_values_.shape == (3,)
    assert (np.diff(model.singular_values_) <= 0).all()
    close(model.transform(X), X @ V)
    close(model.transform(csr_matrix(X)), X @ V)
    close(model.inverse_transform(model.transform(X)), X @ V @ V.T)
    close(model.reconstruct(X), X @ V @ V.T)
    close(model.score_samples(X), -np.sum((X - X @ V @ V.T) ** 2, axis=1))
    again = learner("OnlineSVD")(rank=3, **case)
    close(np.abs(again.fit_transform(X)), np.abs(X @ V))
    close(again.fit(X).singular_values_, model.singular_values_)  # fit forgets
    assert again.t_ == len(X)


def test_a_look_between_rows_copies_nothing():
    """A model without waiting rows makes no copy: it would be slow, and have other last bits."""
    X = of_rank(9, 300, 12, seed=28)
    model = seriatim.OnlineSVD(5).partial_fit(X[:100])
    assert model._seen() is model._learner
    one_by_one = np.vstack([model.transform(X[i : i + 1]) for i in range(len(X))])
    assert model._seen() is model._learner
    assert np.array_equal(model.transform(X), one_by_one)
    assert model._seen() is model._learner
    close(model.partial_fit(X[100:]).transform(X[:3]), X[:3] @ model.components_.T)


def test_rows_with_names():
    X = stream(27)
    whole = learner("OnlineSVD")(rank=3).partial_fit(X)
    named = by_names(X, learner("OnlineSVD")(rank=3))
    close(named.singular_values_, whole.singular_values_)
    for row, expected in zip(as_dicts(X), whole.transform(X), strict=True):
        close(np.abs(named.transform_one(row)), np.abs(expected), 1.0)
    assert named.transform_one({"new": 3.0}).tolist() == [0, 0, 0]


@pytest.mark.parametrize("case", [{}, {"block": 9}, {"keep_left": True}], ids=str)
def test_columns_that_come_later_were_zero(case):
    X = stream(28)
    X[:30, 5:] = 0
    whole = Ours(8, rank=4, **case).learn_all(X)
    parts = Ours(8, rank=4, **case).learn_all(csr_matrix(X[:30, :5])).learn_all(csr_matrix(X[30:]))
    same(parts, whole)


@pytest.mark.parametrize("case", [{}, {"block": 9}, {"forgetting": 0.9}], ids=str)
def test_progressive_loss_is_that_before_the_row(case):
    X = stream(29)
    paper, losses = papers.OnlineSVD(8, rank=3, **case), []
    for x in X:
        losses.append(paper.loss(x))  # not settled: a row is judged before its block
        paper.learn(x)
    run = evaluate.progressive(learner("OnlineSVD")(rank=3, **case), X)
    assert run.mean_loss == pytest.approx(np.mean(losses), rel=1e-9)


@pytest.mark.parametrize("case", [{}, {"block": 9}, {"keep_left": True, "missing": True}], ids=str)
def test_saved_in_the_middle(case, tmp_path):
    """Reading a model changes nothing, also between two blocks."""
    X = stream(30)
    model = learner("OnlineSVD")(rank=3, **case).partial_fit(X[:31])
    with Unchanged(model):
        model.transform(X), model.score_samples(X), model.components_, model.singular_values_
    model.save(tmp_path / "svd.safetensors")
    again = seriatim.load(tmp_path / "svd.safetensors").partial_fit(X[31:])
    model.partial_fit(X[31:])
    assert (again.components_ == model.components_).all()
    assert (again.singular_values_ == model.singular_values_).all()
    whole = in_chunks(X, 13, learner("OnlineSVD")(rank=3, **case))
    close(whole.singular_values_, model.singular_values_)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rank": 0},
        {"rank": 2.5},
        {"rank": 2, "forgetting": 0.0},
        {"rank": 2, "forgetting": 1.1},
        {"rank": 2, "block": 0},
        {"rank": 2, "threshold": -1.0},
    ],
)
def test_parameters(wrong):
    cls = learner("OnlineSVD")
    with pytest.raises(SeriatimError):
        cls(**wrong).partial_fit(np.eye(3))
