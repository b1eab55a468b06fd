"""Online dictionaries equal their transcription, their codes solve the lasso, and they reach scikit-learn's objective.

A property tested for `paper` and `ours` holds for the transcription, too.
"""

import copy
import signal
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.linear_model import Lasso

import seriatim
from seriatim import evaluate
from seriatim.errors import DataError, LimitError, ModelError, SeriatimError
from tests.decomposition.comparison import WAYS, as_dicts, by_names, close, real_matrix
from tests.learners import learner
from tests.reference import decomposition as papers
from tests.reference.decomposition import lasso
from tests.test_contract import Unchanged, assert_same_state

CASES = papers.DictionaryLearning.CASES
EXACT = {"lars": {"coding": "lars"}, "cd": {"coding": "cd", "tolerance": 1e-13, "iterations": 100_000}}


class Paper:
    """The transcription, with `atoms` as rows."""

    def __init__(self, features, **parameters):
        self.model = papers.DictionaryLearning(features, **parameters)

    def learn_all(self, X):
        for x in X:
            self.model.learn(x)
        return self

    atoms = property(lambda self: self.model.settled().D.T)

    def codes(self, X):
        return self.model.settled().codes(X)

    def losses(self, X):
        codes = self.codes(X)
        return np.sum((X - codes @ self.atoms) ** 2, axis=1) / 2 + self.model.lam * np.abs(codes).sum(axis=1)


class Ours:
    """A model of the library with the interface of `Paper`."""

    def __init__(self, features, **parameters):
        self.model = learner("DictionaryLearning")(**parameters)

    def learn_all(self, X):
        self.model.partial_fit(X)
        return self

    atoms = property(lambda self: self.model.components_)

    def codes(self, X):
        return self.model.transform(X)

    def losses(self, X):
        return -self.model.score_samples(X)


both = pytest.mark.parametrize("make", [Paper, Ours], ids=["paper", "ours"])


def name_of(case):
    return "-".join(f"{k}={v}" for k, v in case.items())


def mixtures(seed, n=100, d=12, atoms=6, noise=0.05, share=0.35):
    """Rows that combine few atoms each."""
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((atoms, d))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    codes = rng.standard_normal((n, atoms)) * (rng.random((n, atoms)) < share)
    return codes @ D + noise * rng.standard_normal((n, d)), D


def patches(rows=1536):
    """The digits, centred and scaled to norm 1."""
    X = real_matrix("digits", scaled=False)[:rows]
    X = X - X.mean(axis=1, keepdims=True)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def objective(X, atoms, lam, codes=None):
    codes = lasso(X, atoms.T, lam, 1e-8) if codes is None else codes
    return np.mean(np.sum((X - codes @ atoms) ** 2, axis=1) / 2 + lam * np.abs(codes).sum(axis=1))


def first_atoms(X, features, **parameters):
    """The dictionary after the first batch."""
    model = papers.DictionaryLearning(features, **parameters)
    model.replace(X[: parameters["batch"]])
    return model.D.T.copy()


def peer(X, batch, **parameters):
    model = MiniBatchDictionaryLearning(batch_size=batch, transform_max_iter=10_000, random_state=0, **parameters)
    for begin in range(0, len(X), batch):
        model.partial_fit(X[begin : begin + batch])
    return model.components_


# ---- the transcription by itself


def kkt(X, atoms, lam, codes):
    """The largest violation of the optimality conditions, in units of lam."""
    slope = (X - codes @ atoms) @ atoms.T / lam
    return np.where(codes != 0, np.abs(slope - np.sign(codes)), np.maximum(np.abs(slope) - 1, 0)).max()


@pytest.mark.parametrize("lam", [0.02, 0.3])
def test_codes_are_scikit_learns_lasso(lam):
    X, D = mixtures(1, n=20, atoms=15)
    codes = lasso(X, D.T, lam)
    assert kkt(X, D, lam, codes) < 1e-9
    for x, code in zip(X, codes, strict=True):
        other = Lasso(alpha=lam / len(x), fit_intercept=False, tol=1e-12, max_iter=1_000_000).fit(D.T, x).coef_
        close(code, other, 1.0, 1e-6)
    assert 0 < np.mean(codes == 0) < 1


@pytest.mark.parametrize("algorithm", ["cd", "lars"])
def test_it_is_scikit_learns_from_the_same_start(algorithm):
    """To what their coding gives: beta, theta, the sweep over the atoms and their length."""
    X, case = mixtures(2)[0], {"n_atoms": 5, "lam": 0.1, "batch": 20}
    begin = first_atoms(X, 12, **case)
    other = peer(X, 20, n_components=5, alpha=0.1, dict_init=begin, fit_algorithm=algorithm)
    close(Paper(12, **case).learn_all(X).atoms, other, 1.0, 1e-5)


def test_many_batches_are_scikit_learns():
    """t beyond eta, where theta goes on in ones."""
    X, case = mixtures(3, n=60)[0], {"n_atoms": 3, "lam": 0.1, "batch": 4}
    begin = first_atoms(X, 12, **case)
    model = papers.DictionaryLearning(12, **case)
    for x in X:
        model.learn(x)
        assert not model.batches or not model.unused().any()
    close(model.D.T, peer(X, 4, n_components=3, alpha=0.1, dict_init=begin, fit_algorithm="cd"), 1.0, 1e-5)


def test_a_sweep_lowers_the_surrogate():
    """tr(D'D A) / 2 - tr(D'B), which each atom minimises in turn, with norm at most 1."""
    model = papers.DictionaryLearning(12, 6, lam=0.1, batch=10)
    for t, x in enumerate(mixtures(4)[0], 1):
        before = model.D.copy()
        model.learn(x)
        if t % 10 == 0 and t > 10:
            now, old = (np.sum((D.T @ D) * model.A) / 2 - np.sum(D * model.B) for D in (model.D, before))
            assert now <= old + 1e-12
            assert np.linalg.norm(model.D, axis=0).max() <= 1 + 1e-12


# ---- equality with the transcription


STREAM = mixtures(5)[0]
CHUNKS = [slice(begin, min(begin + 9, 93)) for begin in range(0, 93, 9)]


@cache
def followed(**case):
    """The transcription after the chunks of the stream; and of each the losses before it and the atoms after it."""
    paper, losses, atoms = Paper(12, **case), [], []
    for chunk in CHUNKS:
        losses.append(paper.losses(STREAM[chunk]))
        atoms.append(paper.learn_all(STREAM[chunk]).atoms)
    return losses, atoms, paper.codes(STREAM), paper.losses(STREAM)


@pytest.mark.parametrize("coding", EXACT)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_equals_its_paper(case, coding):
    """93 rows in batches of 10, 20 or 25, and of waiting rows what they would come to."""
    X, more = STREAM, EXACT[coding]
    model = Ours(12, **case, **more)
    before, after, codes, losses = followed(**case)
    for chunk, loss, atoms in zip(CHUNKS, before, after, strict=True):
        if chunk.start:
            close(model.losses(X[chunk]), loss)
        close(model.learn_all(X[chunk]).atoms, atoms, 1.0)
    for feed in WAYS.values():
        whole = learner("DictionaryLearning")(**case, **more)
        feed(X[:93], whole)
        assert whole.t_ == 93
        close(whole.components_, after[-1], 1.0)
        for rows in (X, csr_matrix(X)):
            close(whole.transform(rows), codes, 1.0)
            close(whole.score_samples(rows), -losses)
        close(whole.inverse_transform(codes), codes @ after[-1], 1.0)
        assert (whole.transform(X)[np.abs(codes) < 1e-12] == 0).all()


def test_nothing_is_ever_used():
    """With so large a lam all codes are 0, and each batch's rows are the next atoms: the draws, and their order."""
    X = mixtures(6)[0]
    X[12:17] = 0
    for case in ({"n_atoms": 4, "batch": 10}, {"n_atoms": 13, "batch": 5}):
        model, paper = Ours(12, **case, lam=50.0, seed=3), Paper(12, **case, lam=50.0, seed=3)
        for begin in range(0, 100, 5):
            model.learn_all(X[begin : begin + 5])
            paper.learn_all(X[begin : begin + 5])
            close(model.atoms, paper.atoms, 1.0)
        assert not model.codes(X).any()


@both
def test_rows_of_zeros(make):
    X = mixtures(7)[0]
    model = make(12, n_atoms=4, lam=0.1, batch=10).learn_all(np.zeros((15, 12)))
    assert not model.atoms.any()
    assert not model.codes(X).any()
    close(model.losses(X), np.sum(X**2, axis=1) / 2)
    model.learn_all(X)
    assert model.atoms.any(axis=1).all()


# ---- what it must show


@pytest.mark.parametrize("coding", ["cd", "lars"])
def test_objective_is_within_1_percent_of_scikit_learns(coding):
    """One pass over the digits; from the same start, and beside the start that scikit-learn makes itself."""
    X, case = patches(), {"n_atoms": 32, "lam": 0.15, "batch": 256}
    model = Ours(64, **case, coding=coding).learn_all(X)
    ours, begin = objective(X, model.atoms, 0.15), first_atoms(X, 64, **case)
    assert ours < 0.9 * objective(X, begin, 0.15)
    for start in (begin, None):
        theirs = peer(X, 256, n_components=32, alpha=0.15, fit_algorithm="cd", dict_init=start)
        assert ours <= 1.01 * objective(X, theirs, 0.15)


def test_objective_of_the_paper():
    """The transcription passes this test on part of the data."""
    X, case = patches(512), {"n_atoms": 16, "lam": 0.15, "batch": 128}
    ours = objective(X, Paper(64, **case).learn_all(X).atoms, 0.15)
    for start in (first_atoms(X, 64, **case), None):
        theirs = peer(X, 128, n_components=16, alpha=0.15, fit_algorithm="cd", dict_init=start)
        assert ours <= 1.01 * objective(X, theirs, 0.15)


@pytest.mark.parametrize("coding", ["cd", "lars"])
@pytest.mark.parametrize("lam", [0.02, 0.15, 0.5])
def test_codes_are_at_the_optimum(coding, lam):
    """With the default tolerance the objective is right to 1e-6, and the conditions hold to lam / 100."""
    X = patches(512)
    model = Ours(64, n_atoms=48, lam=lam, coding=coding).learn_all(X)
    codes, atoms = model.codes(X[:100]), model.atoms
    assert kkt(X[:100], atoms, lam, codes) < 1e-2
    least = objective(X[:100], atoms, lam, lasso(X[:100], atoms.T, lam, 1e-8))
    assert objective(X[:100], atoms, lam, codes) <= least * (1 + 1e-6)
    if coding == "lars":
        assert kkt(X[:100], atoms, lam, codes) < 1e-6


@both
def test_it_finds_the_atoms(make):
    """From rows of few atoms with little noise, the atoms are recovered up to signs."""
    X, D = mixtures(8, n=400, atoms=5, noise=0.01, share=0.15)
    atoms = make(12, n_atoms=6, lam=0.2, batch=40).learn_all(X).atoms
    assert np.abs(D @ atoms.T).max(axis=1).min() > 0.97


@both
def test_unused_atoms_are_replaced(make):
    """The first batch has one direction only; unused atoms are replaced by rows of the next batch."""
    X = mixtures(9)[0]
    first = np.outer(np.linspace(1, 2, 10), X[0])
    model = make(12, n_atoms=4, lam=0.1, batch=10).learn_all(first)
    assert np.linalg.matrix_rank(model.atoms, tol=1e-6) == 1
    model.learn_all(X[:30])
    assert np.linalg.matrix_rank(model.atoms, tol=1e-3) == 4
    assert (np.abs(model.codes(X)) > 1e-6).any(axis=0).all()


@both
def test_more_atoms_than_rows_in_a_batch(make):
    X = mixtures(10, n=48)[0]
    model = make(12, n_atoms=10, lam=0.05, batch=6).learn_all(X)
    close(np.linalg.norm(model.atoms, axis=1), np.ones(10), 1.0, 0.05)
    gram = np.abs(model.atoms @ model.atoms.T) - 2 * np.eye(10)
    assert gram.max() < 1 - 1e-6  # no atom is there twice


@both
def test_in_any_units(make):
    """Multiplying rows and lam by c leaves the atoms and multiplies the codes by c."""
    X, case = mixtures(11)[0], {"n_atoms": 5, "batch": 20, "seed": 1}
    unit = make(12, lam=0.1, **case).learn_all(X)
    for c in (1e-8, 2.0**20):
        other = make(12, lam=0.1 * c, **case).learn_all(X * c)
        close(other.atoms, unit.atoms, 1.0, 1e-6)
        close(other.codes(X * c) / c, unit.codes(X), 1.0, 1e-5)


@both
def test_default_lam(make):
    X = mixtures(12)[0]
    lam = 1.2 / np.sqrt(12)
    close(make(12, n_atoms=4, batch=20).learn_all(X).atoms, make(12, n_atoms=4, batch=20, lam=lam).learn_all(X).atoms)


# ---- the face of a transformer


def test_waiting_rows_are_read_and_go_on_waiting(tmp_path):
    X, case = mixtures(13)[0], {"n_atoms": 5, "lam": 0.1, "batch": 30, "coding": "lars", "seed": 2}
    model = learner("DictionaryLearning")(**case)
    for begin in range(0, 100, 10):
        model.partial_fit(X[begin : begin + 10])
        with Unchanged(model):
            model.transform(X), model.score_samples(X), model.components_
    whole = learner("DictionaryLearning")(**case).partial_fit(X)
    assert (model.components_ == whole.components_).all()
    half = learner("DictionaryLearning")(**case).partial_fit(X[:47])
    half.save(tmp_path / "atoms.safetensors")
    again = seriatim.load(tmp_path / "atoms.safetensors")
    assert (again.components_ == half.components_).all()
    assert (again.partial_fit(X[47:]).components_ == whole.components_).all()
    assert (learner("DictionaryLearning")(**case).partial_fit(X[:9]).fit(X).components_ == whole.components_).all()
    assert (learner("DictionaryLearning")(**case).fit_transform(X) == whole.transform(X)).all()


def test_names_and_later_columns():
    X = mixtures(14)[0]
    X[:45, 8:] = 0
    case = {"n_atoms": 5, "lam": 0.1, "batch": 20, **EXACT["lars"]}
    whole = learner("DictionaryLearning")(**case).partial_fit(X)
    parts = learner("DictionaryLearning")(**case).partial_fit(csr_matrix(X[:45, :8])).partial_fit(csr_matrix(X[45:]))
    close(parts.components_, whole.components_, 1.0)
    named = by_names(X, learner("DictionaryLearning")(**case))
    close([named.transform_one(row) for row in as_dicts(X)], whole.transform(X), 1.0)
    assert not named.transform_one({"new": 1.0}).any()


def test_progressive_loss_is_that_before_the_batch():
    X, case = mixtures(15)[0], {"n_atoms": 5, "lam": 0.1, "batch": 30}
    paper, losses = papers.DictionaryLearning(12, **case), []
    for x in X:
        losses.append(paper.loss(x))
        paper.learn(x)
    run = evaluate.progressive(learner("DictionaryLearning")(**case, coding="lars"), X)
    assert run.mean_loss == pytest.approx(np.mean(losses), rel=1e-9)


@pytest.mark.parametrize("wrong", [{"n_atoms": 0}, {"lam": -0.1}, {"batch": 0}, {"coding": "omp"}], ids=name_of)
def test_parameters(wrong):
    cls = learner("DictionaryLearning")
    with pytest.raises(SeriatimError):
        cls(**{"n_atoms": 2, **wrong}).partial_fit(np.eye(3))


def test_default_lam_is_that_of_the_features_with_values():
    """Not of those that a block happens to have room for."""
    X = mixtures(16)[0]
    wide = np.hstack([X[:, :7], np.zeros((100, 5)), X[:, 7:], np.zeros((100, 3))])
    case = {"n_atoms": 5, "batch": 20, "coding": "lars"}
    narrow = learner("DictionaryLearning")(**case).partial_fit(X).transform(X)
    for rows in (wide, csr_matrix(wide)):
        close(learner("DictionaryLearning")(**case).partial_fit(rows).transform(rows), narrow, 1.0)
    named = by_names(X, learner("DictionaryLearning")(**case))
    close([named.transform_one(row) for row in as_dicts(X)], narrow, 1.0)


# ---- codes on dictionaries that are hard


def with_atoms(D, **parameters):
    """A model with given atoms."""
    model = learner("DictionaryLearning")(len(D), batch=1, **parameters).partial_fit(np.ones((1, D.shape[1])))
    state = model.__getstate__()
    state["state"] |= {"D": D, "A": np.eye(len(D)), "B": np.zeros_like(D)}
    model.__setstate__(state)
    return model


HARD = {
    "more than features": lambda rng, n, d: rng.standard_normal((n, d)),
    "ties": lambda rng, n, d: np.round(1.5 * rng.standard_normal((n, d))),
    "copies": lambda rng, n, d: rng.standard_normal((n, d))[rng.integers(0, n // 3, n)] * rng.choice([-1, 1], (n, 1)),
    "nearly alike": lambda rng, n, d: 3 + np.abs(rng.standard_normal((n, d))),
    "of small rank": lambda rng, n, d: rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)),
    "of any length": lambda rng, n, d: rng.standard_normal((n, d)) * rng.choice([0, 1e-3, 1], (n, 1)),
}


@pytest.mark.parametrize("kind", HARD)
def test_codes_on_hard_dictionaries(kind):
    """LARS is exact; the objective of coordinate descent is within its tolerance."""
    rng = np.random.default_rng(17)
    for _ in range(30):
        n, d = rng.integers(3, 50), rng.integers(1, 25)
        D = HARD[kind](rng, n, d)
        D /= np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1)
        lam, X = 10 ** rng.uniform(-4, 0), np.round(2 * rng.standard_normal((6, d)))
        exact = with_atoms(D, lam=lam, coding="lars").transform(X)
        assert kkt(X, D, lam, exact) < 1e-6
        least = objective(X, D, lam, exact)
        quick = with_atoms(D, lam=lam)
        assert objective(X, D, lam, quick.transform(X)) <= (1 + 1e-4) * least + 1e-12
        assert -quick.score(X) == pytest.approx(objective(X, D, lam, quick.transform(X)), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("coding", ["cd", "lars"])
def test_atoms_that_are_next_to_nothing(coding):
    """An atom of norm below 1e-15 is ignored, whatever the norm of the row."""
    model = with_atoms(np.diag([1e-16, 1e-16, 1.0]), lam=0.1, coding=coding)
    assert not model.transform([[1e40, -1e40, 0]]).any()
    close(model.transform([[1e40, -1e40, 2.0]]), [[0, 0, 1.9]])


# ---- what is refused, and what is interrupted


def test_codes_that_are_none():
    model = learner("DictionaryLearning")(n_atoms=3, batch=20).partial_fit(mixtures(18)[0])
    for bad in (np.zeros((2, 4)), np.zeros(3), [[np.nan, 0, 0]], [["a", "b", "c"]]):
        with pytest.raises(DataError, match="coordinates"):
            model.inverse_transform(bad)


def test_atoms_for_which_there_is_no_room(monkeypatch):
    X = mixtures(19)[0]
    model = learner("DictionaryLearning")(n_atoms=3, batch=20).partial_fit(X)
    monkeypatch.setattr(seriatim.decomposition.dictionary, "MAX_BYTES", 1000)
    with Unchanged(model), pytest.raises(LimitError, match="3 atoms of 480 features"):
        model.partial_fit(np.hstack([X] * 40))
    model.partial_fit(X)


WRONG = {
    "an atom too few": {"D": np.zeros((3, 12))},
    "columns of one array": {"B": np.zeros((4, 11))},
    "long atoms": {"D": np.ones((4, 12))},
    "A": {"A": np.triu(np.ones((4, 4)))},
    "negative squares": {"A": -np.eye(4)},
    "sizes": {"B": np.full((4, 12), 1e200)},
    "rounds": {"t": 91},
    "draws": {"draws": -1},
    "known columns": {"known": 13},
    "waiting rows": {"waiting.start": np.arange(4)},
    "a column": {"waiting.index": np.full(120, 12, dtype=np.int32)},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
def test_states_that_are_none(wrong):
    model = learner("DictionaryLearning")(n_atoms=4, batch=20, lam=0.1).partial_fit(mixtures(20, n=90)[0])
    state = copy.deepcopy(model.__getstate__())
    assert wrong.keys() <= state["state"].keys()
    state["state"] |= wrong
    with pytest.raises(ModelError):
        copy.copy(model).__setstate__(state)


def test_an_interruption_comes_between_two_rows():
    X = np.tile(patches(), (10, 1))
    case = {"n_atoms": 100, "lam": 0.05, "batch": 50}

    def enough(*_):
        raise KeyboardInterrupt

    model = learner("DictionaryLearning")(**case).partial_fit(X[:60])
    before = signal.signal(signal.SIGALRM, enough)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[60:])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert 60 <= model.t_ < len(X)
    assert_same_state(model, learner("DictionaryLearning")(**case).partial_fit(X[: model.t_]))
