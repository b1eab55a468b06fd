"""Online and incremental PCA equal their transcriptions, keep their bound, and match scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn import decomposition as sklearn

import seriatim
from seriatim import evaluate
from seriatim.errors import DataError, SeriatimError
from tests.decomposition.comparison import (
    WAYS,
    as_dicts,
    by_names,
    close,
    orthonormal,
    real_matrix,
    same_directions,
    stream,
)
from tests.learners import learner
from tests.reference import decomposition as papers
from tests.reference.decomposition import capped, corners
from tests.test_contract import Unchanged

bound, tuned = papers.OnlinePCA.bound, papers.OnlinePCA.tuned


class Paper:
    """The transcription of online PCA."""

    def __init__(self, features, **parameters):
        self.model = papers.OnlinePCA(features, **parameters)
        self.learn = self.model.learn

    def learn_all(self, X):
        for x in X:
            self.model.learn(x)
        return self

    density = property(lambda self: self.model.density())
    components = property(lambda self: self.model.components())
    expected = property(lambda self: self.model.expected)
    sampled = property(lambda self: self.model.sampled)


class Ours:
    """A model of the library with the interface of the transcription."""

    def __init__(self, features, **parameters):
        self.model = learner("OnlinePCA")(n_features=features, **parameters)
        self.n, self.begun = features, False

    def learn(self, x):
        self.learn_all(x[None, :])

    def learn_all(self, X):
        self.model.partial_fit(X)
        self.begun = True
        return self

    density = property(lambda self: self.model.density_ if self.begun else np.eye(self.n) / self.n)
    components = property(lambda self: self.model.components_)
    expected = property(lambda self: self.model.expected_loss_)
    sampled = property(lambda self: self.model.loss_)


both = pytest.mark.parametrize("make", [Paper, Ours], ids=["paper", "ours"])


def name_of(case):
    return "-".join(f"{k}={v}" for k, v in case.items())


def in_ball(X):
    return X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))


def best(X, d):
    """The loss of the best subspace in hindsight that omits d directions."""
    return float(np.sum(np.linalg.eigvalsh(X.T @ X)[:d]))


# ---- the two algorithms on eigenvalues


def test_capping_example():
    """ALGORITHMS 12.2."""
    close(np.exp(capped(np.log([0.6, 0.25, 0.15]), 2)), [0.5, 0.3125, 0.1875])
    close(np.exp(capped(np.log([0.15, 0.6, 0.25]), 2)), [0.1875, 0.5, 0.3125])
    close(np.exp(capped(np.log([0.2, 0.3, 0.5]), 1)), [0.2, 0.3, 0.5])


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 9), spread=st.sampled_from([0.1, 1.0, 5.0, 30.0]), data=st.data()
)
def test_capping_and_corners(seed, n, spread, data):
    """Capping gives the nearest distribution, and the corners mix to it with their probabilities."""
    d, rng = data.draw(st.integers(1, n - 1)), np.random.default_rng(seed)
    w = spread * rng.standard_normal(n)
    w -= np.logaddexp.reduce(w)
    c = np.exp(capped(w, d))
    assert c.sum() == pytest.approx(1, abs=1e-12)
    assert c.max() <= 1 / d + 1e-12
    if np.exp(w).max() <= 1 / d:
        close(c, np.exp(w))
    distance = c @ (np.log(c) - w)
    for other in rng.dirichlet(np.full(n, 5.0), 200):  # other distributions, moved until they are within the cap
        other = other if other.max() <= 1 / d else 0.5 * other + 0.5 / n
        if other.max() <= 1 / d:
            assert other @ (np.log(other) - w) >= distance - 1e-9

    found = corners(c, d)
    assert len(found) <= n
    assert all(p > 0 and len(set(corner.tolist())) == d for p, corner in found)
    assert sum(p for p, _ in found) == pytest.approx(1, abs=1e-9)
    mixed = np.zeros(n)
    for p, corner in found:
        mixed[corner] += p / d
    close(mixed, c)


def test_the_expected_loss_is_that_of_the_corners():
    rng = np.random.default_rng(1)
    model = papers.OnlinePCA(7, 3, eta=0.8)
    for x in in_ball(rng.standard_normal((40, 7)) * np.linspace(0.1, 1, 7)):
        mean = sum(p * np.sum((model.E[:, c].T @ x) ** 2) for p, c in corners(np.exp(model.w), model.d))
        assert model.loss(x) == pytest.approx(mean, abs=1e-9)
        assert 0 <= mean <= 1
        model.learn(x)


@both
def test_along_the_axes_it_is_hedge(make):
    """Rows along axes leave W diagonal: weights that lose exp(-eta) for each row along them, and the cap."""
    rng = np.random.default_rng(2)
    model, w = make(6, n_components=2, eta=0.7), np.full(6, 1 / 6)
    for axis in rng.choice(6, 120, p=[0.4, 0.3, 0.1, 0.1, 0.06, 0.04]):
        model.learn(np.eye(6)[axis])
        w = w * np.exp(-0.7 * (np.arange(6) == axis))
        w /= w.sum()
        while w.max() > 0.25 + 1e-12:
            full = w >= 0.25 - 1e-12
            w = np.where(full, 0.25, w * (1 - 0.25 * full.sum()) / w[~full].sum())
        close(model.density, np.diag(w))
    assert np.abs(model.components[:, :2]).sum() == pytest.approx(2, abs=1e-6)


# ---- equality with the transcription


@pytest.mark.parametrize("case", papers.OnlinePCA.CASES, ids=name_of)
def test_equals_its_paper(case):
    X = in_ball(0.5 * stream(3, n=80))
    model, paper = Ours(8, **case), Paper(8, **case)
    for t, x in enumerate(X):
        if t:
            close(-model.model.score_samples(x[None, :]), [paper.model.loss(x)], 1.0)
        model.learn(x)
        paper.learn(x)
        close(model.density, paper.density)
        assert model.expected == pytest.approx(paper.expected, rel=1e-9)
    V = paper.components
    for feed in WAYS.values():
        whole = learner("OnlinePCA")(**case)
        feed(X, whole)
        close(whole.density_, paper.density)
        assert whole.expected_loss_ == pytest.approx(paper.expected, rel=1e-9)
        same_directions(whole.components_.T, V.T, 1e-8)
        close(whole.transform(X) @ whole.components_, X @ V.T @ V, 1.0, 1e-8)
        close(whole.inverse_transform(whole.transform(X)), X @ V.T @ V, 1.0, 1e-8)
        assert whole.t_ == len(X)


@both
def test_density(make):
    """Trace 1, eigenvalues from 0 to 1/d; the components have the smallest eigenvalues."""
    X = in_ball(0.4 * stream(4, n=120))
    model = make(8, n_components=3, eta=0.5).learn_all(X)
    values, vectors = np.linalg.eigh(model.density)
    assert values.sum() == pytest.approx(1, abs=1e-12)
    assert values.min() >= 0
    assert values.max() <= 1 / 5 + 1e-12
    same_directions(model.components.T, vectors[:, :3], 1e-7)
    orthonormal(model.components.T)


@both
def test_it_finds_the_subspace(make):
    rng = np.random.default_rng(5)
    basis = np.linalg.qr(rng.standard_normal((9, 9)))[0]
    X = in_ball(0.4 * rng.standard_normal((400, 9)) * ([1.0] * 3 + [0.1] * 6) @ basis.T)
    model = make(9, n_components=3, eta=1.0).learn_all(X)
    assert np.linalg.norm(X - X @ model.components.T @ model.components) ** 2 < 1.1 * best(X, 6)


@both
def test_a_long_stream_of_one_direction(make):
    """A weight underflows, and the model does not change otherwise."""
    x = np.array([0.6, 0.8, 0, 0, 0])
    model = make(5, n_components=2, eta=2.0).learn_all(np.tile(x, (1200, 1)))
    W = model.density
    assert np.isfinite(W).all()
    assert np.trace(W) == pytest.approx(1, abs=1e-9)
    assert x @ W @ x < 1e-12
    assert model.expected < bound(0, 5, 3, 2.0)
    y = np.array([0.8, -0.6, 0, 0, 0])  # what was spared until now becomes the other component
    model.learn_all(np.tile(y, (1200, 1)))
    assert np.isfinite(model.density).all()
    close(model.components.T @ model.components, np.diag([1.0, 1, 0, 0, 0]), 1.0, 1e-6)


@both
def test_sampled_loss(make):
    """The sampled loss is the expected one on average: T differences within [-1, 1] with mean 0."""
    T, gaps = 400, []
    X = in_ball(0.5 * stream(6, n=T))
    for seed in range(5):
        model = make(8, n_components=3, eta=0.05, seed=seed).learn_all(X)
        gaps.append(model.sampled - model.expected)
    assert len(set(gaps)) == 5
    assert abs(sum(gaps)) < np.sqrt(2 * 5 * T * np.log(2e6))  # Azuma: once in a million
    assert make(8, n_components=3, eta=0.05, seed=4).learn_all(X).sampled - model.expected == gaps[-1]


# ---- regret


def random_rows(model, rng, T, n):
    yield from in_ball(rng.standard_normal((T, n)) * rng.random(n))


def worst_direction(model, rng, T, n):
    """Each row is the heaviest direction of the model."""
    for _ in range(T):
        yield np.linalg.eigh(model.density)[1][:, -1]


def worst_axis(model, rng, T, n):
    """The worst of the n axes each time, while the best subspace stays good."""
    for _ in range(T):
        yield np.eye(n)[np.argmax(np.diag(model.density)[: n // 2 + 1])]


def switching(model, rng, T, n):
    """Half of the stream in one subspace, then half in another."""
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    for t in range(T):
        x = basis[:, :2] @ rng.standard_normal(2) if t < T // 2 else basis[:, 2:4] @ rng.standard_normal(2)
        yield x / np.linalg.norm(x)


@both
@pytest.mark.parametrize("rows", [random_rows, worst_direction, worst_axis, switching], ids=lambda rows: rows.__name__)
def test_regret_is_under_the_bound(make, rows):
    """The expected loss of any stream is within (eta L* + d ln(n/d)) / (1 - e^-eta), adversaries included."""
    n = 6
    for k, eta, T in ((1, 0.1, 150), (2, 0.5, 150), (5, 2.0, 60)):
        model, X = make(n, n_components=k, eta=eta), []
        for x in rows(model, np.random.default_rng(7), T, n):
            X.append(x)
            model.learn(x)
        assert model.expected <= bound(best(np.array(X), n - k), n, n - k, eta) + 1e-9


@both
def test_regret_with_the_tuned_rate(make):
    """With eta for a known L >= L* the regret is at most sqrt(2 L d ln(n/d)) + d ln(n/d)."""
    X = in_ball(0.6 * stream(8, n=300))
    n, d = 8, 5
    L = best(X, d)
    regret = make(n, n_components=n - d, eta=float(tuned(L, n, d))).learn_all(X).expected - L
    assert 0 < regret <= np.sqrt(2 * L * d * np.log(n / d)) + d * np.log(n / d)


def test_the_draw_of_the_next_round():
    """`drawn_components_` predicts the projection of the next round, and reading it changes nothing."""
    X = in_ball(stream(11, n=60))
    model = learner("OnlinePCA")(n_components=3, eta=1.0, seed=5)
    quiet = learner("OnlinePCA")(n_components=3, eta=1.0, seed=5).partial_fit(X)
    for t, x in enumerate(X):
        if t:
            P, before = model.drawn_components_, model.loss_
            assert P.shape == (3, 8)
            assert np.allclose(P @ P.T, np.eye(3))
        model.partial_fit(x[None])
        if t >= 8:  # all directions have been shown
            assert model.loss_ - before == pytest.approx(np.sum((x - P.T @ (P @ x)) ** 2), abs=1e-12)
    assert model.loss_ == quiet.loss_


# ---- what online PCA takes


def test_rows_must_be_within_the_ball():
    model = learner("OnlinePCA")(n_components=2, eta=0.1)
    X = stream(9)[:10] + 0.1
    model.partial_fit(X / np.linalg.norm(X, axis=1, keepdims=True))  # 1 up to rounding
    with Unchanged(model), pytest.raises(DataError, match=r'"normalize": "unit".*--normalize unit'):
        model.partial_fit(np.eye(8)[:1] * 1.001)
    with Unchanged(model), pytest.raises(DataError):
        model.partial_fit(np.ones((1, 9)) / 10)  # a ninth feature


def test_number_of_features():
    X = in_ball(stream(10))
    told = learner("OnlinePCA")(n_components=2, eta=0.3, n_features=8).partial_fit(csr_matrix(X[:, :5]))
    padded = learner("OnlinePCA")(n_components=2, eta=0.3).partial_fit(np.column_stack([X[:, :5], np.zeros((60, 3))]))
    close(told.density_, padded.density_)
    for k in (0, 8, 9):
        with pytest.raises(SeriatimError):
            learner("OnlinePCA")(n_components=k, eta=0.3, n_features=8).partial_fit(X)
    with pytest.raises(SeriatimError):
        learner("OnlinePCA")(n_components=2, eta=0.0).partial_fit(X)


def test_online_pca_goes_on(tmp_path):
    X = in_ball(stream(11))
    model = learner("OnlinePCA")(n_components=2, eta=0.3, seed=5).partial_fit(X[:31])
    with Unchanged(model):
        model.transform(X), model.score_samples(X), model.components_, model.density_
    model.save(tmp_path / "pca.safetensors")
    again = seriatim.load(tmp_path / "pca.safetensors").partial_fit(X[31:])
    model.partial_fit(X[31:])
    assert (again.density_ == model.density_).all()
    assert again.loss_ == model.loss_
    run = evaluate.progressive(learner("OnlinePCA")(n_components=2, eta=0.3), X)
    assert run.mean_loss == pytest.approx(model.expected_loss_ / len(X), rel=1e-9)


# ---- incremental PCA


class PaperIncremental:
    def __init__(self, features, **parameters):
        self.model = papers.IncrementalPCA(features, **parameters)

    def learn_all(self, X):
        for x in X:
            self.model.learn(x)
        return self

    def read(self):
        model = self.model
        return model.mean, model.variance(), model.ratio(), model.V.T


class OursIncremental:
    def __init__(self, features, **parameters):
        self.model = learner("IncrementalPCA")(**parameters)

    def learn_all(self, X):
        self.model.partial_fit(X)
        return self

    def read(self):
        model = self.model
        kept = model.explained_variance_ > 0
        return (
            model.mean_,
            model.explained_variance_[kept],
            model.explained_variance_ratio_[kept],
            model.components_[kept],
        )


incremental = pytest.mark.parametrize("make", [PaperIncremental, OursIncremental], ids=["paper", "ours"])


def same_pca(one, other, tolerance=1e-9):
    for mine, theirs in zip(one[:3], other[:3], strict=True):
        close(mine, theirs, 0, tolerance)
    same_directions(one[3].T, other[3].T, tolerance)
    orthonormal(one[3].T, tolerance)


def read_sklearn(model):
    return model.mean_, model.explained_variance_, model.explained_variance_ratio_, model.components_


@incremental
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e4])
def test_full_rank_is_pca_of_all_rows(make, offset):
    """The result is exact for any distance of the rows from 0."""
    X = stream(12, n=150) + offset
    same_pca(make(8, n_components=8).learn_all(X).read(), read_sklearn(sklearn.PCA(svd_solver="full").fit(X)), 1e-8)


@incremental
def test_full_rank_on_real_rows(make):
    X = real_matrix("digits", scaled=False)
    X = X[:300, X[:300].any(axis=0)]
    expected = sklearn.PCA(svd_solver="full").fit(X)
    mean, variance, ratio, V = make(X.shape[1], n_components=X.shape[1]).learn_all(X).read()
    k = len(variance)
    close(mean, expected.mean_, 0, 1e-8)
    close(variance, expected.explained_variance_[:k], 0, 1e-8)
    close(ratio, expected.explained_variance_ratio_[:k], 0, 1e-8)
    close((V.T * variance) @ V, np.cov(X.T), 0, 1e-8)
    assert expected.explained_variance_[k:].max(initial=0) < 1e-12 * variance[0]


@incremental
@pytest.mark.parametrize("k", [1, 3, 6])
def test_cut_it_is_scikit_learns_row_by_row(make, k):
    X = stream(13, n=120) + 1
    peer = sklearn.IncrementalPCA(k).partial_fit(X[:k] if k > 1 else X[:2])
    for x in X[max(k, 2) :]:
        peer.partial_fit(x[None, :])
    same_pca(make(8, n_components=k).learn_all(X).read(), read_sklearn(peer))


@pytest.mark.parametrize("k", [1, 3, 6])
def test_blocks_are_scikit_learns(k):
    X = stream(13, n=120) + 1
    peer = sklearn.IncrementalPCA(k, batch_size=24).fit(X)
    same_pca(OursIncremental(8, n_components=k, block=24).learn_all(X).read(), read_sklearn(peer))


@incremental
def test_cut_it_is_near_the_best(make):
    X = real_matrix("digits", scaled=False)[::3]
    c = X - X.mean(axis=0)
    for k in (2, 10):
        V = make(64, n_components=k).learn_all(X).read()[3]
        left = np.linalg.norm(np.linalg.svd(c, compute_uv=False)[k:])
        assert np.linalg.norm(c - c @ V.T @ V) <= 1.05 * left


@pytest.mark.parametrize("case", papers.IncrementalPCA.CASES, ids=name_of)
def test_incremental_equals_its_paper(case):
    X = stream(14) + 0.5 * (stream(14) != 0)
    model, paper = OursIncremental(8, **case), PaperIncremental(8, **case)
    for t, x in enumerate(X):
        if t:
            close(model.model.score_samples(x[None, :]), [-paper.model.loss(x)], float(x @ x))
        model.learn_all(x[None, :])
        paper.learn_all(x[None, :])
        if t > 1:
            same_pca(model.read(), paper.read())
    mean, _, _, V = paper.read()
    for feed in WAYS.values():
        whole = OursIncremental(8, **case)
        feed(X, whole.model)
        same_pca(whole.read(), paper.read())
        close(whole.model.inverse_transform(whole.model.transform(X)), mean + (X - mean) @ V.T @ V)
        close(whole.model.transform(X), (X - whole.model.mean_) @ whole.model.components_.T)
        assert whole.model.t_ == len(X)


def test_incremental_with_names_and_later_columns():
    X = stream(15)
    X[:30, 5:] = 0
    whole = learner("IncrementalPCA")(n_components=3).partial_fit(X)
    parts = (
        learner("IncrementalPCA")(n_components=3).partial_fit(csr_matrix(X[:30, :5])).partial_fit(csr_matrix(X[30:]))
    )
    same_pca(read_sklearn(parts), read_sklearn(whole))
    named = by_names(X, learner("IncrementalPCA")(n_components=3))
    close(named.explained_variance_, whole.explained_variance_)
    close(np.abs([named.transform_one(row) for row in as_dicts(X)]), np.abs(whole.transform(X)))


def test_incremental_goes_on(tmp_path):
    X = stream(16)
    model = learner("IncrementalPCA")(n_components=3).partial_fit(X[:31])
    model.save(tmp_path / "pca.safetensors")
    again = seriatim.load(tmp_path / "pca.safetensors").partial_fit(X[31:])
    model.partial_fit(X[31:])
    assert (again.components_ == model.components_).all()
    paper, losses = papers.IncrementalPCA(8, 3), []
    for x in X:
        losses.append(paper.loss(x))
        paper.learn(x)
    run = evaluate.progressive(learner("IncrementalPCA")(n_components=3), X)
    assert run.mean_loss == pytest.approx(np.mean(losses), rel=1e-9)
    fitted = learner("IncrementalPCA")(n_components=3).partial_fit(X[:9]).fit(X)
    same_pca(read_sklearn(fitted), read_sklearn(model))
