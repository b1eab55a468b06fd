"""Models of triplets: files, errors, and the properties of distances."""

import copy
import pickle

import numpy as np
import pytest

import seriatim
from seriatim import data
from seriatim.errors import DataError, LimitError, ModelError, NotFittedError, ParameterError
from seriatim.kernel import ChiSquare, Gaussian, Linear
from seriatim.retrieval import average_precision, precision_at
from tests.learners import learner
from tests.test_contract import Unchanged, assert_same_state, same


def stream(n=40, m=60, seed=0):
    X, y = data.load("digits")
    X, y = X[:n].toarray(), y[:n]
    rng, triplets = np.random.default_rng(seed), []
    while len(triplets) < m:
        i, j, k = rng.integers(0, n, 3)
        if i != j and y[i] == y[j] != y[k]:
            triplets.append((i, j, k))
    return X, np.array(triplets)


def models():
    yield learner("OASIS")()
    yield learner("OMDL")([Linear(), Gaussian(20.0), ChiSquare(0.02)])
    yield learner("OMDL")([Linear(), Gaussian(20.0)], rank=7, seed=3)


@pytest.mark.parametrize("place", range(3))
def test_save_and_resume(place, tmp_path):
    model = [*models()][place]
    X, triplets = stream()
    whole = copy.deepcopy(model).partial_fit(X, triplets)
    model.save(tmp_path / "new")
    assert repr(seriatim.load(tmp_path / "new")) == repr(model)
    model.partial_fit(X, triplets[:20]).save(tmp_path / "model")
    for other in (seriatim.load(tmp_path / "model"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        for triplet in triplets[20:40]:
            other.partial_fit(X, triplet[None, :])
        assert_same_state(other.partial_fit(X, triplets[40:]), whole)
        assert other.t_ == 60
    assert_same_state(model.fit(X, triplets), whole)
    assert eval(repr(model), {**vars(seriatim.kernel), **seriatim.algorithms()}).get_params() == model.get_params()


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(
    "bad", [[[0, 1, 40]], [[0, -1, 2]], [[0, 1]], [[0.0, 1.0, 2.0]], [0, 1, 2], [["a", "b", "c"]]], ids=str
)
def test_bad_triplets(place, bad):
    X, triplets = stream()
    for model in ([*models()][place], [*models()][place].partial_fit(X, triplets[:5])):
        with Unchanged(model), pytest.raises(DataError):
            model.partial_fit(X, bad)


@pytest.mark.parametrize("name", ["OASIS", "OMDL"])
def test_triplets_of_a_generator(name):
    triplets, model = [(0, 1, 2), (3, 2, 1)], learner(name)
    given = {"kernels": [Linear()]} if name == "OMDL" else {}
    one, other = (model(**given).partial_fit(np.eye(4), some) for some in (triplets, (t for t in triplets)))
    assert one.t_ == other.t_ == 2
    assert np.array_equal(one.W_, other.W_)


def test_bad_rows_and_questions():
    X, triplets = stream()
    oasis, omdl, _ = models()
    for model in (oasis, omdl):
        for broken in (np.where(np.eye(40, 64) > 0, np.nan, X), X[0], X[:, :0]):
            with Unchanged(model), pytest.raises(DataError):
                model.partial_fit(broken, triplets)
        with pytest.raises(NotFittedError):
            model.W_  # noqa: B018
    with pytest.raises(NotFittedError):
        omdl.distance(0, 1)
    with pytest.raises(DataError, match="does not know the rows"):
        omdl.learn_one(0, 1, 2)
    oasis.partial_fit(X, triplets)
    for vectors in ((X[0], X[1], X[2, :5]), (X[0, :5],) * 3, (X[0], X[1], np.full(64, np.inf)), (X[0], X[1], "a")):
        with Unchanged(oasis), pytest.raises(DataError):
            oasis.learn_one(*vectors)
    with pytest.raises(DataError):
        oasis.similarity(X[0, :3], X[0, :3])
    omdl.partial_fit(X, triplets)
    for rows in (X[:30], X + 1):
        with Unchanged(omdl), pytest.raises(DataError, match="differs from the rows"):
            omdl.partial_fit(rows, triplets[:1])
    for rows in ((0, 40), (-1, 0), (0.5, 1), ("a", 1)):
        with pytest.raises(DataError):
            omdl.distance(*rows)


def test_bad_parameters():
    X, triplets = stream()
    cls = learner("OMDL")
    good = {"kernels": [Linear()]}
    for bad in (
        {"kernels": []}, {"kernels": [Gaussian]}, {"kernels": "linear"}, {"kernels": [Gaussian("median")]},
        {"C1": -1.0}, {"C2": 0.0}, {"eta": 1.0}, {"rank": 0}, {"rank": 2.0}, {"seed": -1},
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=next(iter(bad))):
            cls(**{**good, **bad}).partial_fit(X, triplets)
    for matrices in ([], [X], [np.eye(3), np.eye(4)], [np.triu(np.ones((4, 4)))], [-np.eye(4)], [np.eye(4) * np.nan]):
        with pytest.raises(DataError):
            cls("precomputed").partial_fit(matrices, [(0, 1, 2)])
    with pytest.raises(ParameterError, match="cannot be changed"):
        cls([Linear()]).partial_fit(X, triplets).set_params(rank=3)
    assert cls([Linear()]).partial_fit(X, triplets).set_params(C2=3.0).C2 == 3.0


def test_matrices_that_would_be_too_large():
    """Matrices that are too large are refused before they are made."""
    X = np.ones((20_000, 1))
    for model, rows in ((learner("OMDL")([Linear()]), X), (learner("OMDL")([Linear()], rank=10**7), X[:5])):
        with Unchanged(model), pytest.raises(LimitError, match="the limit is"):
            model.partial_fit(rows, [(0, 1, 2)])
    with pytest.raises(LimitError, match="20000 features"):
        learner("OASIS")().learn_one(X[:, 0], X[:, 0], X[:, 0])


def test_modalities_of_their_own():
    """A list has one array for each modality, or one kernel matrix."""
    X, triplets = stream()
    kernels = [Gaussian(10.0), Linear()]
    parts = [X[:, :32], X[:, 32:]]
    ours = learner("OMDL")(kernels).partial_fit(parts, triplets)
    matrices = [kernel(part, part) for kernel, part in zip(kernels, parts, strict=True)]
    theirs = learner("OMDL")("precomputed").partial_fit([7.0 * K for K in matrices], triplets)
    for a, b in zip(ours.W_, theirs.W_, strict=True):
        assert np.allclose(a, b, rtol=1e-6, atol=1e-9)
    with pytest.raises(DataError, match="3 modalities for 2"):
        learner("OMDL")(kernels).partial_fit([X, X, X], triplets)


def test_positive_at_every_step():
    X, triplets = stream(m=40)
    for C2 in (1.0, 1e3, 1e6):
        for rank in (None, 5):
            model = learner("OMDL")([Linear(), Gaussian(20.0)], C1=0.01, C2=C2, rank=rank).partial_fit(X)
            for triplet in triplets.tolist():
                model.learn_one(*triplet)
                for W in model.W_:
                    assert (W == W.T).all()
                    assert np.linalg.eigvalsh(W)[0] >= -1e-12 * np.abs(W).max()
            assert model.kernel_weights_.sum() == pytest.approx(1)
            assert (model.distances(3) >= 0).all()
            assert model.distance(3, 3) == 0


def test_broken_files(tmp_path):
    X, triplets = stream()
    model = learner("OMDL")([Linear(), Gaussian(20.0)], rank=5).partial_fit(X, triplets)
    state = model.__getstate__()
    for name, value in {
        "W": -state["state"]["W"],
        "G": np.zeros((3, 3)),
        "logs": np.zeros(3),
        "columns": np.zeros((9, 40)),
        "updates": 1000,
    }.items():
        with pytest.raises(ModelError):
            type(model).__new__(type(model)).__setstate__({**state, "state": {**state["state"], name: value}})
    again = type(model).__new__(type(model))
    again.__setstate__(state)
    assert same(again.__getstate__(), state)


def test_measures_of_odd_rankings():
    assert average_precision([], []) == 0.0
    assert average_precision([True, True], [1]) == 0.5
    assert precision_at(5, [True], [0]) == 0.2
    for bad in (([True], [1]), ([True, False], [0, 0]), ([2, 0], [0, 1]), ([[True]], [0]), ([True], [0.0])):
        with pytest.raises(DataError):
            average_precision(*bad)
    with pytest.raises(ParameterError):
        precision_at(0, [True], [0])
