"""OMDL agrees with its transcription, whose step satisfies its constraint before projection; always a metric.

Where a property is tested of the `paper` and of `ours`, the first shows that the transcription has it. The paper's
C1, C2 and graph could not be had; what is here instead is in tests/reference/retrieval.py.
"""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import seriatim
from seriatim.errors import DataError
from tests.learners import learner
from tests.reference import retrieval as papers
from tests.retrieval.comparison import Ours, Paper, both, digits, three_kernels, triplets
from tests.test_contract import Unchanged

CASES = [{}, {"C1": 0.05, "C2": 20.0, "eta": 0.5}, {"rank": 6}, {"rank": 4, "seed": 7, "C1": 0.01}]


def some(seed=0, n=16):
    """Kernels of random points in three clusters, and triplets of them."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    X = rng.standard_normal((n, 4)) + np.eye(4)[labels]
    D = ((X[:, None] - X) ** 2).sum(axis=-1)
    return [X @ X.T, np.exp(-D / 2), (1 + X @ X.T) ** 2], triplets(labels, 60, seed)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equals_the_paper(case):
    learner("OMDL")
    Ks, told = some()
    ours, paper = Ours(Ks, **case), Paper(Ks, **case)
    for start in range(0, 40, 5):
        ours.learn(told[start : start + 5])
        paper.learn(told[start : start + 5])
        assert ours.weights == pytest.approx(paper.weights, rel=1e-9)
        for mine, theirs in zip(ours.W, paper.W, strict=True):
            assert mine == pytest.approx(theirs, rel=1e-7, abs=1e-7 * np.abs(theirs).max())
    for a, b in [(0, 1), (3, 9), (15, 2)]:
        assert ours.distance(a, b) == pytest.approx(paper.distance(a, b), rel=1e-7)
    assert list(ours.rank(4, range(16))) == list(paper.rank(4, range(16)))
    assert ours.model.t_ == 40


@both
@pytest.mark.parametrize("case", CASES, ids=str)
def test_positive_semi_definite_at_every_step(make, case):
    Ks, told = some(1)
    model = make(Ks, **case)
    for triplet in told[:30]:
        model.learn([triplet])
        for W in model.W:
            values = np.linalg.eigvalsh(W)
            assert values[0] >= -1e-9 * max(1, values[-1])
            assert np.abs(W - W.T).max() <= 1e-9 * max(1, values[-1])
        assert model.weights.sum() == pytest.approx(1, abs=1e-12)


@both
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_distance(make, case):
    Ks, told = some(2)
    model = make(Ks, **case)
    model.learn(told)
    for a in range(0, 16, 3):
        assert model.distance(a, a) == pytest.approx(0, abs=1e-12)
        for b in range(16):
            assert model.distance(a, b) >= -1e-12
            assert model.distance(a, b) == pytest.approx(model.distance(b, a))
        order = list(model.rank(a, range(16)))
        assert order[0] == a
        assert (np.diff([model.distance(a, b) for b in order]) >= -1e-12).all()


def test_the_step_satisfies_its_constraint():
    """Before projection: d(i, j) + 1 <= d(i, k) unless C2 limits the step; an equality if it did not hold before."""
    Ks, told = some(3)
    model = papers.OMDL(Ks, C2=1e12)
    for i, j, k in told:
        for p in range(3):
            W, K = model.step(p, i, j, k), model.columns[p]
            near, far = ((K[:, i] - K[:, a]) @ W @ (K[:, i] - K[:, a]) for a in (j, k))
            assert near + 1 <= far + 1e-6
            free = model.W[p] - model.C1 * model.G[p]
            if not np.allclose(W, free):
                assert near + 1 == pytest.approx(far, abs=1e-6)
        model.learn(i, j, k)


def test_the_step_of_one_kernel_satisfies_its_constraint():
    """In the library: if the step leaves the matrix positive, there is no projection, and the margin is 1."""
    Ks, told = some(3)
    near = seen = 0
    for K in Ks:
        model = Ours([K], C1=0.0, C2=1e12)
        for i, j, k in told:
            model.learn([(i, j, k)])
            margin = model.distance(i, k) - model.distance(i, j)
            seen += 1
            if np.linalg.eigvalsh(model.W[0])[0] > 1e-9:
                near += 1
                assert margin >= 1 - 1e-6
    assert near > seen / 10


def test_the_step_is_the_nearest():
    """min |W - W_t|^2 / 2 + C1 <W, G> + C2 loss, without the cone, has no better point nearby."""
    Ks, told = some(4)
    model, rng = papers.OMDL(Ks, C2=5.0, C1=0.01), np.random.default_rng(4)
    for i, j, k in told[:20]:
        for p in range(3):
            K, before, G = model.columns[p], model.W[p], model.G[p]
            near, far = K[:, i] - K[:, j], K[:, i] - K[:, k]

            def objective(W, before=before, G=G, near=near, far=far):
                loss = max(0, 1 + near @ W @ near - far @ W @ far)
                return ((W - before) ** 2).sum() / 2 + 0.01 * (W * G).sum() + 5.0 * loss

            at = model.step(p, i, j, k)
            for size in (1e-1, 1e-3):
                for _ in range(10):
                    D = rng.standard_normal(at.shape)
                    assert objective(at + size * (D + D.T)) >= objective(at) - 1e-9
        model.learn(i, j, k)


def test_the_laplacian_has_no_negative_eigenvalue():
    """The Laplacian of a kernel has the eigenvector D^1/2 1 with the eigenvalue 0."""
    for K in some(5)[0]:
        L = papers.laplacian(K)
        assert np.linalg.eigvalsh(L)[0] == pytest.approx(0, abs=1e-9)
        assert L @ np.sqrt(np.maximum(K, 0).sum(axis=1)) == pytest.approx(0, abs=1e-9)


@both
def test_the_scale_of_a_kernel_does_not_matter(make):
    Ks, told = some(6)
    one, other = make(Ks), make([1000 * Ks[0], Ks[1] / 50, Ks[2]])
    for model in (one, other):
        model.learn(told[:20])
    assert one.weights == pytest.approx(other.weights)
    assert one.distance(0, 5) == pytest.approx(other.distance(0, 5), rel=1e-6)


@both
def test_the_weight_goes_to_the_kernel_that_knows(make):
    """One kernel has the labels, the other one noise."""
    rng, labels = np.random.default_rng(7), np.arange(15) % 3
    noise = rng.standard_normal((15, 3))
    Ks = [noise @ noise.T + np.eye(15), np.eye(3)[labels] @ np.eye(3)[labels].T + 0.1 * np.eye(15)]
    model = make(Ks, C2=1e-9)
    told = triplets(labels, 40, 7)
    model.learn(told)
    assert model.weights[1] > 0.95
    wrong = sum(np.sum((Ks[0][i] - Ks[0][j]) ** 2) > np.sum((Ks[0][i] - Ks[0][k]) ** 2) for i, j, k in told)
    assert model.weights[1] == pytest.approx(1 / (1 + 0.8**wrong), abs=1e-3)


# ---- digits


def precision(D, labels, queries):
    """The mean average precision of these queries, each among all others, by a table of distances."""
    found = []
    for a in queries:
        others = np.arange(len(labels)) != a
        if (labels[others] == labels[a]).any():
            found.append(average_precision_score(labels[others] == labels[a], -D[a, others]))
    return np.mean(found)


def squared(K):
    return np.diag(K)[:, None] + np.diag(K) - 2 * K


@pytest.mark.slow
@both
@pytest.mark.parametrize("rank", [None, 45])
def test_better_than_the_best_kernel_and_than_their_sum(make, rank):
    """60 digits, triplets of 45 of them, the others are the queries; the mean over seeds, as a random P has luck."""
    gains = []
    for seed in range(4):
        X, labels = digits(seed)
        Ks = three_kernels(X)
        model = make(Ks, rank=rank)
        model.learn(triplets(labels[:45], 120, seed))
        D = np.array([[model.distance(a, b) for b in range(60)] for a in range(60)])
        best = max(precision(squared(K), labels, range(45, 60)) for K in (*Ks, sum(Ks)))
        gains.append(precision(D, labels, range(45, 60)) - best)
    assert np.mean(gains) > 0.02, gains


# ---- of rows, in chunks, from a file


def test_kernels_of_rows():
    """Rows give the same model as their kernel matrices; a list of tables is a list of modalities."""
    from seriatim.kernel.kernels import Gaussian, Linear

    X, labels = digits(1, 30)
    told = np.array(triplets(labels, 30, 1))
    near = X @ X.T
    Ks = [near, np.exp(-(2 - 2 * near) / (2 * 0.5**2))]
    paper = Paper(Ks)
    paper.learn(told)
    one = learner("OMDL")([Linear(), Gaussian(0.5)]).partial_fit(X, told)
    two = learner("OMDL")([Linear(), Gaussian(0.5)]).partial_fit([X, X], told)
    for model in (one, two):
        assert model.distance(3, 7) == pytest.approx(paper.distance(3, 7), rel=1e-6)
        assert model.kernel_weights_ == pytest.approx(paper.weights)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_chunks_and_files(case, tmp_path):
    Ks, told = some(8)
    told = np.array(told)
    whole = learner("OMDL")("precomputed", **case).partial_fit(Ks, told)
    model = learner("OMDL")("precomputed", **case).partial_fit(Ks, told[:17])
    model.save(tmp_path / "omdl")
    again = seriatim.load(tmp_path / "omdl").partial_fit(None, told[17:])
    assert (again.kernel_weights_ == whole.kernel_weights_).all()
    assert again.distance(1, 8) == whole.distance(1, 8)
    for mine, theirs in zip(again.W_, whole.W_, strict=True):
        assert (mine == theirs).all()


def test_refused():
    Ks, told = some(9)
    model = learner("OMDL")("precomputed").partial_fit(Ks, told[:5])
    for bad in ([[0, 1, 16]], [[0, -1, 1]], [[0, 1]], [[0.5, 1, 2]]):
        with Unchanged(model), pytest.raises(DataError):
            model.partial_fit(None, bad)
    with pytest.raises(DataError):
        learner("OMDL")("precomputed").partial_fit([Ks[0], Ks[1][:4, :4]], told[:5])
    with pytest.raises(DataError):
        learner("OMDL")("precomputed").partial_fit([np.where(Ks[0] > 0, np.nan, 1)], told[:5])
    with pytest.raises(DataError):
        model.distance(0, 99)
