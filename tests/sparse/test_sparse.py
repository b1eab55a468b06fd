"""Sparse learners: each equals its transcription, minimises the objective of its paper, and has exact zeros."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import erfcx
from scipy.stats import norm

import seriatim
from seriatim import OGD
from seriatim.errors import DataError, LimitError, ModelError, ParameterError
from tests.cases import looped
from tests.learners import by_rows, difference, has_no_signed_zero, joint, learner, never_better, real_stream
from tests.linear.test_reference import (
    PAPERS,
    WAYS,
    compare,
    generic_streams,
    name_of,
    random_stream,
    some_ways,
    transcription,
)
from tests.reference import sparse
from tests.reference.linear import BY_MARGIN, SCHEDULES
from tests.reference.sparse import soft
from tests.test_contract import Unchanged, all_finite, assert_same_state, same

NAMES = ("TruncatedGradient", "FOBOS", "RDA", "AdaFOBOS", "AdaRDA", "FTRL")
PAPERS.update({name: getattr(sparse, name) for name in (*NAMES, "BayesianSparse")})
SPECS = [(name, case) for name in NAMES for case in PAPERS[name].CASES]
BAYESIAN = [("BayesianSparse", case) for case in sparse.BayesianSparse.CASES]
# Parameters that leave most weights of a short stream at zero, but not all.
SPARSE = [
    ("TruncatedGradient", {"gravity": 0.2, "eta": 0.02}),
    ("TruncatedGradient", {"gravity": 0.5, "theta": 0.5, "eta": 0.2, "period": 3, "schedule": "sqrt"}),
    ("TruncatedGradient", {"theta": 0.1, "rounding": True, "loss": "hinge"}),
    ("FOBOS", {"lam": 0.1, "eta": 0.5}),
    ("FOBOS", {"lam": 0.1, "eta": 0.2, "schedule": "constant", "loss": "logistic"}),
    ("RDA", {"lam": 0.1}),
    ("RDA", {"lam": 0.05, "rho": 0.2, "gamma": 2.0, "loss": "logistic"}),
    ("AdaFOBOS", {"lam": 0.2, "eta": 0.5}),
    ("AdaRDA", {"lam": 0.1}),
    ("FTRL", {"alpha": 0.5, "l1": 4.0}),
]
labels_2_4 = pytest.mark.parametrize("labels", [2, 4])
sparse_ones = pytest.mark.parametrize("spec", SPARSE, ids=name_of)


def every(test):
    """Test (spec) of every classifier with all its settings."""
    by_name = pytest.mark.parametrize("cls", NAMES)
    return by_name(looped("spec", lambda cls: [spec for spec in SPECS if spec[0] == cls])(test))


def declared(labels):
    """Declare more than two labels, so that no binary model becomes multiclass."""
    return list(labels) if len(labels) > 2 else None


def planted(seed, n=600, d=30, relevant=4, labels=2, density=1.0):
    """Many features, few of them relevant. The labels 0, 1, ... all appear early."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    truth = np.zeros((d, labels))
    truth[:relevant] = 2 * rng.standard_normal((min(relevant, d), labels))
    y = np.argmax(X @ truth + 0.3 * rng.standard_normal((n, labels)), axis=1)
    y[:labels] = range(labels)
    return X, y


# ---- equality with the transcription


@every
@looped("labels", [(-1, 1), (0, 1, 2, 3)])
def test_equals_its_paper(spec, labels):
    learner(spec[0])
    compare(spec, *random_stream(1, labels), classes=declared(labels))
    some = {"dense, by 7": WAYS["dense, by 7"]}
    compare(spec, *random_stream(2, labels), intercept=False, classes=declared(labels), ways=some)


@every
def test_a_declared_label_that_never_comes(spec):
    learner(spec[0])
    X, y = random_stream(3, (1, 3, 5, 7))
    compare(spec, X, y, classes=[1, 3, 5, 7, 9], ways={"sparse, by 7": WAYS["sparse, by 7"]})


@every
@looped("order", [(1, 2, 3, 4), (4, 3, 2, 1), (2, 4, 1, 3)])
def test_labels_that_arrive_one_after_another(spec, order):
    """w becomes -w/2 and +w/2. Sums of gradients change so that they give these weights."""
    learner(spec[0])
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, 4))
    y = np.array([order[rng.integers(0, 1 + t // 20)] for t in range(80)])
    compare(spec, X, y, ways={"dense, one call": WAYS["dense, one call"], "dense, by 1": WAYS["dense, by 1"]})


@pytest.mark.parametrize("name", NAMES)
def test_the_third_label_leaves_the_difference_of_the_scores(name):
    """The weights become -w/2, 0 and +w/2. The row with the third label is 0, so it changes nothing else."""
    cls = learner(name)
    strength = {"lam": 0.05} if "lam" in cls.parameters else {"gravity": 0.0} if "gravity" in cls.parameters else {}
    X, y = random_stream(6, (0, 2))
    model = cls(**strength, fit_intercept=False).partial_fit(X, y)
    w = model.coef_[0].copy()
    paper = PAPERS[name](6, **strength)
    for x, label in zip(X, y.tolist(), strict=True):
        paper.learn(np.append(x, 0.0), label)
    model.partial_fit(np.zeros((1, 5)), [1])
    paper.learn(np.zeros(6), 1)
    assert model.coef_ == pytest.approx(paper.weights()[:, :-1], abs=1e-12)
    assert (model.coef_[1] == 0).all()
    assert model.coef_[2] == pytest.approx(-model.coef_[0], abs=1e-15)
    assert ((model.coef_[2] == 0) >= (w == 0)).all()
    assert np.abs(model.coef_[2] - model.coef_[0] - w).max() <= 0.1 * np.abs(w).max()  # a round has shrunk it


@settings(max_examples=150)
@given(spec=st.sampled_from(SPECS), stream=generic_streams(), intercept=st.booleans(), ways=some_ways)
def test_generated_streams(spec, stream, intercept, ways):
    learner(spec[0])
    X, y = stream
    compare(spec, X, y, intercept, classes=declared(sorted(set(y.tolist()))), ways=ways)


REAL = [
    ("TruncatedGradient", {"loss": "logistic", "gravity": 0.02}),
    ("TruncatedGradient", {"eta": 0.01, "gravity": 0.1, "period": 10, "theta": 0.3}),
    ("FOBOS", {"lam": 0.01}),
    ("FOBOS", {"penalty": "l2", "lam": 0.01}),
    ("FOBOS", {"penalty": "linf", "lam": 0.01}),
    ("RDA", {"lam": 0.005, "gamma": 5.0, "rho": 0.005}),
    ("AdaFOBOS", {"lam": 0.01}),
    ("AdaRDA", {"lam": 0.01}),
    ("FTRL", {}),
]


@pytest.mark.parametrize("spec", REAL, ids=name_of)
@pytest.mark.parametrize("name", ["spam", "digits"])
def test_real_streams(spec, name):
    learner(spec[0])
    X, y = real_stream(name)
    ways = {way: WAYS[way] for way in ("dense, one call", "sparse, by 7")}
    compare(spec, X, y, classes=sorted(set(y.tolist())), ways=ways, rows=X[::25])


@pytest.mark.parametrize("name", NAMES)
@labels_2_4
def test_a_sample_weight_multiplies_the_gradient(name, labels):
    cls = learner(name)
    if not cls().build().weighted:
        pytest.skip(f"{name} does not define importance")
    X, y = planted(7, n=150, d=6, labels=labels)
    g = np.random.default_rng(7).choice([0.25, 1.0, 3.0], len(y))
    paper = PAPERS[name](7, classes=range(labels))
    slope = paper.slope
    for x, label, weight in zip(X, y.tolist(), g, strict=True):
        paper.slope = lambda m, epsilon, weight=weight: weight * slope(m, epsilon)
        paper.learn(np.append(x, 1.0), label)
    model = cls(classes=list(range(labels))).partial_fit(X, y, sample_weight=g)
    assert joint(model) == pytest.approx(np.atleast_2d(paper.weights()), abs=1e-9 * np.abs(paper.w).max())


# ---- the steps are the minimisers that the papers define


def gradient_of(model, W, row, label, seen=None):
    delta = difference(W, row, label, seen)
    return BY_MARGIN[model.loss](np.sum(W * delta), 0.1) * delta


PENALTIES = {
    "l1": lambda V: np.abs(V).sum(),
    "l2": np.linalg.norm,
    "l2_squared": lambda V: np.sum(V * V) / 2,
    "linf": lambda V: np.abs(V).max(),
}


@labels_2_4
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_fobos_minimises_its_step(penalty, schedule, labels):
    """w = argmin |v - (w - eta g)|^2 / 2 + eta lam r(v), eta the same in both."""
    cls, rng = learner("FOBOS"), np.random.default_rng(0)
    X, y = planted(0, n=60, d=5, labels=labels)
    lam, moved = 0.3, 0
    model = cls(penalty=penalty, lam=lam, eta=0.4, schedule=schedule, classes=list(range(labels)))
    seen = {0}
    for t, (W, row, label, new) in enumerate(by_rows(model, X, y), 2):
        eta = 0.4 * SCHEDULES[schedule](t)
        goal = W - eta * gradient_of(model, W, row, label, seen)
        never_better(lambda V: np.sum((V - goal) ** 2) / 2 + eta * lam * PENALTIES[penalty](V), new, rng, 10)  # noqa: B023
        moved += (new != W).any()
        seen.add(label)
    assert moved


@labels_2_4
@pytest.mark.parametrize("rho", [0.0, 0.1])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_rda_minimises_its_objective(loss, rho, labels):
    """w = argmin <gbar, v> + lam |v|_1 + (gamma / sqrt(t)) (|v|^2 / 2 + rho |v|_1)."""
    cls, rng = learner("RDA"), np.random.default_rng(1)
    X, y = planted(1, n=60, d=5, labels=labels)
    lam, gamma = 0.05, 1.5
    model = cls(loss=loss, lam=lam, gamma=gamma, rho=rho, classes=list(range(labels)))
    zero = np.zeros((1 if labels == 2 else labels, 6))
    total, seen = gradient_of(model, zero, np.append(X[0], 1.0), y[0], set()), {0}
    zeros = 0
    for t, (W, row, label, new) in enumerate(by_rows(model, X, y), 2):
        total = total + gradient_of(model, W, row, label, seen)
        mean, strength = total / t, gamma / np.sqrt(t)

        def objective(V):
            size = np.abs(V).sum()
            return np.sum(mean * V) + lam * size + strength * (np.sum(V * V) / 2 + rho * size)  # noqa: B023

        never_better(objective, new, rng, 10)
        zeros += (new == 0).sum()
        seen.add(label)
    assert zeros


@labels_2_4
@pytest.mark.parametrize("name", ["AdaFOBOS", "AdaRDA", "FTRL"])
def test_adaptive_steps_minimise_their_objectives(name, labels):
    """AdaFOBOS: <g, v> + lam |v|_1 + |v - w|_H^2 / (2 eta). AdaRDA: <G, v> + lam t |v|_1 + |v|_H^2 / (2 eta).

    FTRL: <G, v> + sum_s sigma_s |v - w_s|^2 / 2 + l1 |v|_1 + l2 |v|^2 / 2, and beta / alpha as more of l2.
    """
    cls, rng = learner(name), np.random.default_rng(2)
    X, y = planted(2, n=60, d=5, labels=labels)
    lam, eta, delta, alpha, beta, l1, l2 = 0.1, 0.5, 0.3, 0.4, 0.7, 0.8, 0.2
    given = {"alpha": alpha, "beta": beta, "l1": l1, "l2": l2} if name == "FTRL" else {
        "lam": lam, "eta": eta, "delta": delta, "loss": "logistic"}  # fmt: skip
    model = cls(**given, classes=list(range(labels)))
    W = np.zeros((1 if labels == 2 else labels, 6))
    G, squares, centres, seen = np.zeros_like(W), np.zeros_like(W), [], set()
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True), 1):
        g = gradient_of(model, W, np.append(x, 1.0), label, seen)
        before = W
        centres.append((before, (np.sqrt(squares + g**2) - np.sqrt(squares)) / alpha))
        G, squares = G + g, squares + g**2
        H = delta + np.sqrt(squares)
        W = joint(model.partial_fit(x[None, :], [label]))
        seen.add(label)
        objective = {
            "AdaFOBOS": lambda V: np.sum(g * V) + lam * np.abs(V).sum() + np.sum(H * (V - before) ** 2) / (2 * eta),  # noqa: B023
            "AdaRDA": lambda V: np.sum(G * V) + lam * t * np.abs(V).sum() + np.sum(H * V * V) / (2 * eta),  # noqa: B023
            "FTRL": lambda V: (
                np.sum(G * V)  # noqa: B023
                + sum(np.sum(sigma * (V - w) ** 2) for w, sigma in centres) / 2
                + l1 * np.abs(V).sum()
                + (l2 + beta / alpha) * np.sum(V * V) / 2
            ),
        }[name]
        never_better(objective, W, rng, 5)


def numerically(objective, start):
    """The minimiser found by a method without derivatives, restarted where it stops."""
    best = start
    for _ in range(4):
        for method in ("Powell", "Nelder-Mead"):
            found = minimize(objective, best, method=method, options={"xatol": 1e-10, "fatol": 1e-14, "xtol": 1e-10})
            best = found.x if found.fun < objective(best) else best
    return best


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_closed_forms_are_the_numerical_minimisers(penalty, seed):
    """Check the transcription."""
    rng = np.random.default_rng(seed)
    goal, strength = rng.standard_normal(3), rng.uniform(0.05, 2)

    def objective(v):
        return np.sum((v - goal) ** 2) / 2 + strength * PENALTIES[penalty](v)

    closed = sparse.PROX[penalty](goal, strength)
    found = numerically(objective, closed + 0.3 * rng.standard_normal(3))
    assert objective(closed) <= objective(found) + 1e-12
    assert found == pytest.approx(closed, abs=2e-4)
    never_better(objective, closed, rng)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["RDA", "AdaRDA", "FTRL"])
def test_the_transcribed_duals_are_numerical_minimisers(name, seed):
    rng = np.random.default_rng(seed)
    X, y = planted(seed, n=25, d=2)
    paper = PAPERS[name](3, **({"l1": 0.7, "l2": 0.1, "alpha": 0.5} if name == "FTRL" else {"lam": 0.1}))
    G, centres, squares = np.zeros(3), [], np.zeros(3)
    for x, label in zip(X, y.tolist(), strict=True):
        row, w = np.append(x, 1.0), paper.w
        g = paper.slope((2 * label - 1) * (w @ row), 0) * (2 * label - 1) * row
        centres.append((w, (np.sqrt(squares + g**2) - np.sqrt(squares)) / 0.5))
        G, squares = G + g, squares + g**2
        paper.learn(row, label)
    t = len(X)

    def objective(v):
        if name == "RDA":
            return G @ v / t + 0.1 * np.abs(v).sum() + v @ v / 2 / np.sqrt(t)
        if name == "AdaRDA":
            return G @ v + 0.1 * t * np.abs(v).sum() + (1 + np.sqrt(squares)) @ (v * v) / 2
        near = sum(sigma @ (v - w) ** 2 for w, sigma in centres) / 2
        return G @ v + near + 0.7 * np.abs(v).sum() + (0.1 + 1 / 0.5) * v @ v / 2

    found = numerically(objective, paper.w + 0.2 * rng.standard_normal(3))
    assert objective(paper.w) <= objective(found) + 1e-11
    assert found == pytest.approx(paper.w, abs=1e-4)


# ---- zeros


@sparse_ones
@labels_2_4
def test_zeros_are_exact(spec, labels):
    """Weights are 0.0, never -0.0, where the transcription has a zero, and no weight is nearly zero."""
    cls = learner(spec[0])
    X, y = planted(3, labels=labels, density=0.3)
    paper = PAPERS[spec[0]](31, **spec[1], classes=range(labels))
    for x, label in zip(X, y.tolist(), strict=True):
        paper.learn(np.append(x, 1.0), label)
    expected = np.atleast_2d(paper.weights())
    assert 0 < np.mean(expected == 0) < 1
    for rows in (X, csr_matrix(X)):
        W = joint(cls(**spec[1], classes=list(range(labels))).partial_fit(rows, y))
        assert ((W == 0) == (expected == 0)).all()
        assert has_no_signed_zero(W)
        assert np.abs(W - expected).max() <= 1e-9 * np.abs(expected).max()


@sparse_ones
@labels_2_4
def test_one_call_and_row_by_row_are_equally_sparse(spec, labels):
    """scikit-learn restarts its L1 penalty in each call, so its partial_fit row by row gives other zeros."""
    cls = learner(spec[0])
    X, y = planted(4, labels=labels)
    one = joint(cls(**spec[1], classes=list(range(labels))).partial_fit(X, y))
    for size in (1, 7, 100):
        model = cls(**spec[1], classes=list(range(labels)))
        for begin in range(0, len(y), size):
            model.partial_fit(X[begin : begin + size], y[begin : begin + size])
        assert (joint(model) == one).all()
    if hasattr(model, "n_nonzero_"):
        assert model.n_nonzero_ == np.count_nonzero(model.coef_) or model.n_nonzero_ == np.count_nonzero(one)
    if hasattr(model, "sparsity_"):
        assert model.sparsity_ in (pytest.approx(np.mean(model.coef_ == 0)), pytest.approx(np.mean(one == 0)))


ABSENT = [
    *SPARSE,
    ("TruncatedGradient", {"gravity": 0.001, "schedule": "inverse", "eta": 1.0, "period": 7}),
    ("TruncatedGradient", {"gravity": 0.01, "theta": 0.05, "schedule": "sqrt", "eta": 0.3}),
    ("FOBOS", {"lam": 1e-3, "schedule": "inverse"}),
    ("FOBOS", {"lam": 1e-4, "schedule": "sqrt"}),
    ("FOBOS", {"lam": 1e-4, "schedule": "sqrt", "penalty": "l2"}),
    ("FOBOS", {"lam": 1e-3, "schedule": "sqrt", "penalty": "l2_squared"}),
    ("FOBOS", {"lam": 1e-3, "schedule": "inverse", "penalty": "linf"}),
    ("AdaFOBOS", {"lam": 1e-4}),
    ("AdaRDA", {"lam": 1e-4}),
    ("RDA", {"lam": 1e-4, "rho": 0.01}),
    ("FTRL", {"l1": 0.1}),
]


def absent_stream(labels, n=4000, d=8, seed=8):
    """Features 0 to 2 appear in the first and the last rows, feature 3 only in the first rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[10 : n - 10, :3] = 0
    X[10:, 3] = 0
    y = np.argmax(X @ rng.standard_normal((d, labels)) + rng.standard_normal((n, labels)), axis=1)
    y[:labels] = range(labels)
    return X, y


@pytest.mark.parametrize("spec", ABSENT, ids=name_of)
@labels_2_4
def test_features_that_are_absent_for_thousands_of_rounds(spec, labels):
    """A lazy update equals the eager updates of all rounds of absence."""
    cls = learner(spec[0])
    X, y = absent_stream(labels)
    paper = PAPERS[spec[0]](9, **spec[1], classes=range(labels))
    places, found = (12, 500, 3990, 4000), {}
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True), 1):
        paper.learn(np.append(x, 1.0), label)
        if t in places:
            found[t] = np.atleast_2d(paper.weights())
    for kind in (np.asarray, csr_matrix):
        model, begin = cls(**spec[1], classes=list(range(labels))), 0
        for end in places:
            model.partial_fit(kind(X[begin:end]), y[begin:end])
            begin = end
            assert joint(model) == pytest.approx(found[end], abs=1e-9 * np.abs(found[end]).max())
            assert ((joint(model) == 0) == (found[end] == 0)).all()


def test_lazy_shrinkage_is_by_the_sum_of_the_rates():
    """SOL multiplies the rounds of absence by the current rate, which is exact only for constant rates."""
    cls = learner("FOBOS")
    X = np.zeros((1000, 2))
    X[0], X[1:, 1] = [2.0, 0.0], 1e-12
    model = cls(lam=0.01, eta=1.0, fit_intercept=False, classes=[0, 1]).partial_fit(X, [1] * 1000)
    etas = 1 / np.sqrt(np.arange(1, 1001))
    exact, sol = max(0, 2 - 0.01 * etas.sum()), 2 - 0.01 * etas[0] - 0.01 * 999 * etas[-1]
    assert model.coef_[0, 0] == pytest.approx(exact, rel=1e-12)
    assert abs(exact - sol) > 0.2


@pytest.mark.parametrize("rate", [0.01, 1e-7])
def test_small_weights_are_not_zeros(rate):
    """Small weights stay. SOL sets weights below 1e-6 to 0 at the end."""
    cls = learner("FOBOS")
    model = cls(lam=0.0, eta=rate, schedule="constant", fit_intercept=False).partial_fit([[1.0], [1e-3]], [1, 1])
    assert model.coef_[0, 0] == pytest.approx(rate * 1.001)


def test_ftrl_returns_weights_to_zero():
    """River lacks the case w = 0 where |z| <= l1, so its weights never return to zero."""
    cls = learner("FTRL")
    model = cls(alpha=1.0, l1=1.0, fit_intercept=False, classes=[0, 1])
    back, went = False, False
    for t in range(40):
        model.partial_fit([[1.0]], [1 if t < 6 else 0])
        went = went or model.coef_[0, 0] > 0
        back = back or (went and model.coef_[0, 0] == 0.0)
    assert went
    assert back

    rng = np.random.default_rng(9)
    X = rng.standard_normal((3000, 20))
    y = np.where(X[:, 0] + 0.1 * rng.standard_normal(3000) > 0, 1, 0)
    early = np.zeros(20, dtype=bool)
    model = cls(alpha=0.5, l1=8.0, classes=[0, 1])
    for begin in range(0, 3000, 50):
        model.partial_fit(X[begin : begin + 50], y[begin : begin + 50])
        early |= model.coef_[0] != 0
    assert model.coef_[0, 0] > 0
    assert np.count_nonzero(model.coef_) < early.sum()


@pytest.mark.parametrize(("name", "strength"), [("FOBOS", "lam"), ("RDA", "lam"), ("AdaRDA", "lam"), ("FTRL", "l1")])
def test_more_penalty_more_zeros(name, strength):
    cls = learner(name)
    X, y = planted(10)
    counts = [np.count_nonzero(cls(**{strength: size}).partial_fit(X, y).coef_) for size in (0.0, 0.05, 1.0, 1e3)]
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1]) == (30, 0)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("RDA", {"lam": 0.1, "loss": "logistic"}),
        ("AdaRDA", {"lam": 0.1, "loss": "logistic"}),
        ("FTRL", {"alpha": 0.5, "l1": 30.0}),
    ],
)
def test_the_planted_support_is_found(name, parameters):
    """The weights 2, -2, 2, -2 and 26 zeros are recovered with their signs from logistic labels."""
    cls, rng = learner(name), np.random.default_rng(11)
    X = rng.standard_normal((4000, 30))
    chance = 1 / (1 + np.exp(-2 * X[:, :4] @ [1, -1, 1, -1]))
    w = cls(**parameters).partial_fit(X, (rng.random(4000) < chance).astype(int)).coef_[0]
    assert np.sign(w[:4]).tolist() == [1, -1, 1, -1]
    assert np.count_nonzero(w[4:]) <= 2


# ---- truncated gradient


def test_truncated_gradient_is_that_of_the_lecture():
    """Algorithm 1 of lectures 000 and 001: shrink by g eta, predict, w += 2 eta (y - yhat) x.

    Our squared loss is half of theirs: their eta is half of ours, and with it the gravity.
    """
    cls, eta, g = learner("TruncatedGradient"), 0.03, 0.4
    X, y = planted(12, n=300, d=6)
    w = np.zeros(6)
    for x, label in zip(X, y, strict=True):
        for j in range(6):
            if w[j] > 0:
                w[j] = max(w[j] - g * eta, 0)
            elif w[j] < 0:
                w[j] = min(w[j] + g * eta, 0)
        w = w + 2 * eta * ((2 * label - 1) - w @ x) * x
    shrunk = soft(w, g * eta)
    model = cls(eta=2 * eta, gravity=g / 2, fit_intercept=False).partial_fit(X, y)
    assert model.coef_[0] == pytest.approx(shrunk, abs=1e-12)


def test_weights_shrink_by_the_gravity():
    """Weights shrink by K eta_t g; lecture 000 omits this argument of T_1(v, theta)."""
    cls = learner("TruncatedGradient")
    first = {"loss": "hinge", "eta": 0.5, "fit_intercept": False, "classes": [0, 1]}
    for schedule, period, left in (
        ("constant", 1, 0.5 - 8 * 0.5 * 0.01),
        ("constant", 4, 0.5 - 2 * 4 * 0.5 * 0.01),
        ("sqrt", 1, 0.5 - 0.5 * 0.01 * (1 / np.sqrt(np.arange(2, 10))).sum()),
        ("inverse", 4, 0.5 - 4 * 0.5 * 0.01 * (1 / 4 + 1 / 8)),
    ):
        model = cls(gravity=0.01, period=period, schedule=schedule, **first)
        model.partial_fit([[1.0, 0.0]] + [[0.0, 0.0]] * 7, [1] * 8)  # round 9 comes next: it shrinks, then predicts
        assert model.coef_[0, 0] == pytest.approx(left, abs=1e-15)


def test_weights_above_theta_stay():
    cls = learner("TruncatedGradient")
    given = {"loss": "hinge", "eta": 1.0, "gravity": 0.1, "fit_intercept": False, "classes": [0, 1]}
    rows, y = [[0.25, 0.5, 0.75, -0.5, -0.75]] + [[0.0] * 5] * 3, [1] * 4
    model = cls(theta=0.5, **given).partial_fit(rows, y)  # four shrinkages, including that of the next round
    assert model.coef_[0] == pytest.approx([0, 0.1, 0.75, -0.1, -0.75], abs=1e-15)
    assert model.coef_[0, 0] == 0.0
    rounded = cls(theta=0.5, rounding=True, **given).partial_fit(rows, y)
    assert rounded.coef_[0].tolist() == [0.0, 0.0, 0.75, 0.0, -0.75]
    assert cls(theta=0.5, rounding=True, period=5, **given).partial_fit(rows[:3], y[:3]).coef_[0].tolist() == rows[0]


def test_rounding_needs_a_threshold():
    cls = learner("TruncatedGradient")
    with pytest.raises(ParameterError, match="theta"):
        cls(rounding=True).partial_fit([[1.0]], [1])


@labels_2_4
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_no_gravity_is_gradient_descent(loss, labels):
    cls = learner("TruncatedGradient")
    X, y = planted(13, d=6, labels=labels)
    given = {"loss": loss, "eta": 0.05, "schedule": "sqrt", "classes": list(range(labels))}
    plain = joint(OGD(**given).partial_fit(X, y))
    assert joint(cls(gravity=0.0, **given).partial_fit(X, y)) == pytest.approx(plain, abs=1e-12)


# ---- FOBOS, dual averaging, FTRL


@labels_2_4
@pytest.mark.parametrize("penalty", PENALTIES)
def test_fobos_without_a_penalty_is_gradient_descent(penalty, labels):
    cls = learner("FOBOS")
    X, y = planted(14, d=6, labels=labels)
    given = {"eta": 0.3, "classes": list(range(labels))}
    plain = joint(OGD(**given).partial_fit(X, y))
    assert joint(cls(penalty=penalty, lam=0.0, **given).partial_fit(X, y)) == pytest.approx(plain, abs=1e-12)


@labels_2_4
def test_adaptive_fobos_without_a_penalty_is_adagrad(labels):
    cls = learner("AdaFOBOS")
    X, y = planted(15, d=6, labels=labels)
    given = {"eta": 0.3, "classes": list(range(labels))}
    plain = joint(OGD(schedule="adagrad", **given).partial_fit(X, y))
    assert joint(cls(lam=0.0, delta=1e-13, **given).partial_fit(X, y)) == pytest.approx(plain, abs=1e-9)


def test_dual_averaging_averages_gradients():
    """gbar is the mean of gradients; lecture 000 prints a mean of losses, which is a number, not a vector."""
    cls = learner("RDA")
    X, y = planted(16, n=50, d=4)
    w, gradients = np.zeros(4), []
    model = cls(lam=0.02, gamma=0.5, fit_intercept=False, classes=[0, 1])
    for t, (x, label) in enumerate(zip(X, 2 * y - 1, strict=True), 1):
        gradients.append(-label * x * (label * (w @ x) < 1))
        mean = np.mean(gradients, axis=0)
        w = np.where(np.abs(mean) <= 0.02, 0, -(np.sqrt(t) / 0.5) * (mean - 0.02 * np.sign(mean)))
        model.partial_fit(x[None, :], [int(label > 0)])
        assert model.coef_[0] == pytest.approx(w, abs=1e-12)


def test_dual_averaging_counts_passive_rounds():
    """gbar is the mean over all rounds, so passive rounds shrink a weight to zero; t counts them too."""
    cls = learner("RDA")
    model = cls(lam=0.01, fit_intercept=False, classes=[0, 1]).partial_fit([[2.0, 0.0]], [1])
    for t in range(2, 300):
        model.partial_fit([[0.0, 0.0]], [1])
        assert model.coef_[0, 0] == pytest.approx(np.sqrt(t) * max(0, 2 / t - 0.01), abs=1e-12)
    assert model.coef_[0, 0] == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_regret_of_dual_averaging(seed):
    """Xiao, corollary 2: at most (gamma D^2 + G^2 / gamma) sqrt(T) over any w with |w|^2 / 2 <= D^2."""
    cls, lam, T = learner("RDA"), 0.01, 1000
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (T, 5))
    truth = np.array([1.0, -1.0, 0, 0, 0])
    y = np.where(X @ truth + 0.3 * rng.standard_normal(T) > 0, 1, -1)
    G, D2 = np.linalg.norm(X, axis=1).max(), 4.0
    gamma = G / np.sqrt(D2)
    model, w, suffered = cls(lam=lam, gamma=gamma, fit_intercept=False, classes=[-1, 1]), np.zeros(5), 0.0
    for x, label in zip(X, y, strict=True):
        suffered += max(0, 1 - label * (w @ x)) + lam * np.abs(w).sum()
        w = model.partial_fit(x[None, :], [label]).coef_[0].copy()
    for scale in (0.5, 1.0, 2.0):
        other = scale * truth
        theirs = np.maximum(0, 1 - y * (X @ other)).sum() + T * lam * np.abs(other).sum()
        assert suffered - theirs <= (gamma * D2 + G * G / gamma) * np.sqrt(T)


def test_ftrl_is_the_algorithm_of_the_paper():
    """Algorithm 1, coordinate by coordinate: w from z and n where x has a value, then z and n there."""
    cls = learner("FTRL")
    alpha, beta, l1, l2 = 0.4, 0.8, 0.6, 0.3
    X, y = planted(24, n=200, d=8, density=0.5)
    z, n, w = np.zeros(8), np.zeros(8), np.zeros(8)
    model = cls(alpha=alpha, beta=beta, l1=l1, l2=l2, fit_intercept=False, classes=[0, 1])
    for x, label in zip(X, y.tolist(), strict=True):
        present = np.flatnonzero(x)
        for i in present:
            sign = 1 if z[i] >= 0 else -1
            w[i] = 0 if abs(z[i]) <= l1 else -(z[i] - sign * l1) / ((beta + np.sqrt(n[i])) / alpha + l2)
        p = 1 / (1 + np.exp(-sum(w[i] * x[i] for i in present)))
        for i in present:
            g = (p - label) * x[i]
            sigma = (np.sqrt(n[i] + g * g) - np.sqrt(n[i])) / alpha
            z[i] += g - sigma * w[i]
            n[i] += g * g
        model.partial_fit(x[None, :], [label])
    expected = np.where(np.abs(z) <= l1, 0, -(z - np.sign(z) * l1) / ((beta + np.sqrt(n)) / alpha + l2))
    assert model.coef_[0] == pytest.approx(expected, abs=1e-12)


# ---- Bayesian sparse


@pytest.mark.parametrize("spec", BAYESIAN, ids=name_of)
def test_bayesian_equals_its_paper(spec):
    learner(spec[0])
    for intercept in (True, False):
        compare(spec, *random_stream(17, (-1, 1)), intercept=intercept, dicts=False)


@settings(max_examples=40)
@given(spec=st.sampled_from(BAYESIAN), stream=generic_streams(), intercept=st.booleans(), ways=some_ways)
def test_bayesian_on_generated_streams(spec, stream, intercept, ways):
    learner(spec[0])
    X, y = stream[0], stream[1] % 2
    # Where the logit is confident and wrong it has no curvature, and w becomes very large. When it returns, rounding
    # errors remain.
    with np.errstate(all="ignore"):
        assume(transcription(spec, X, y, intercept).farthest < 30)
    compare(spec, X, y, intercept, ways=ways, dicts=False)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_bayesian_on_spam(link):
    learner("BayesianSparse")
    X, y = real_stream("spam", 200)
    case = {"link": link, "gamma": 0.5, "sweeps": 3}
    compare(("BayesianSparse", case), X, y, ways={"sparse, by 7": WAYS["sparse, by 7"]}, dicts=False, rows=X[::20])


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("ours", [False, True], ids=["transcription", "class"])
def test_shooting_ends_at_the_map(link, ours):
    """With enough sweeps w maximises -w'Psi w / 2 + theta.w - gamma |w|_1."""
    X, y = planted(18, n=80, d=5)
    paper = sparse.BayesianSparse(6, gamma=4.0, link=link, sweeps=100)
    for x, label in zip(X, y.tolist(), strict=True):
        paper.learn(np.append(x, 1.0), label)
    w = paper.w
    if ours:
        w = joint(learner("BayesianSparse")(gamma=4.0, link=link, sweeps=100).partial_fit(X, y))[0]

    def objective(v):
        return v @ paper.Psi @ v / 2 - paper.theta @ v + 4.0 * np.abs(v).sum()

    never_better(objective, w, np.random.default_rng(18))
    assert 0 < np.count_nonzero(w == 0) < 6


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_taylor_expansion_of_the_likelihood(link):
    """In the transcription -a s^2 / 2 + b s has the slope and the curvature of log p at s."""
    log_p = {"logit": lambda s: -np.logaddexp(0, -s), "probit": norm.logcdf}[link]
    paper, h = sparse.BayesianSparse(1, link=link), 1e-4
    for s in (-3.0, -0.5, 0.0, 1.0, 4.0):
        a, b = paper.taylor(s)
        assert b - a * s == pytest.approx((log_p(s + h) - log_p(s - h)) / (2 * h), rel=1e-5)
        assert -a == pytest.approx((log_p(s + h) - 2 * log_p(s) + log_p(s - h)) / h**2, rel=1e-4)


def test_bayesian_zeros_are_exact():
    cls = learner("BayesianSparse")
    X, y = planted(19, n=150, d=12)
    X[:, 5] = 0  # Psi_jj = 0
    weights = [cls(gamma=gamma).partial_fit(X, y).coef_[0] for gamma in (0.1, 2.0, 1e4)]
    assert all(w[5] == 0.0 and has_no_signed_zero(w) for w in weights)
    counts = [np.count_nonzero(w) for w in weights]
    assert counts[0] > counts[1] > counts[2] == 0


def test_bayesian_has_two_labels():
    cls = learner("BayesianSparse")
    X, y = planted(20, n=40, d=4)
    model = cls().partial_fit(X, y)
    with Unchanged(model), pytest.raises(DataError):
        model.partial_fit(X, (y + 1) % 3)


def optimality(X, y, w, gamma, link):
    """How far w is from the mode of the posterior: w_j = 0 needs |slope_j| <= gamma, else slope_j = gamma sgn w_j."""
    signed = np.column_stack([X, np.ones(len(X))]) * np.where(y > 0, 1, -1)[:, None]
    s = signed @ w
    slope = signed.T @ (np.exp(-np.logaddexp(0, s)) if link == "logit" else np.exp(norm.logpdf(s) - norm.logcdf(s)))
    return np.where(w == 0, np.maximum(np.abs(slope) - gamma, 0), np.abs(slope - gamma * np.sign(w))).max()


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("memory", [None, 12])
def test_bayesian_passes_end_at_the_mode_of_the_posterior(link, memory):
    """The paper's multi-pass form, without a bound and with at most 12 of 30 features active."""
    cls = learner("BayesianSparse")
    X, y = planted(21, n=400)
    y, gamma = np.where(np.random.default_rng(21).random(400) < 0.1, 1 - y, y), {"logit": 12.0, "probit": 24.0}[link]
    model = cls(gamma=gamma, link=link, sweeps=1000, memory=memory).partial_fit(X, y)
    first = optimality(X, y, joint(model)[0], gamma, link)
    for _ in range(20):
        before = joint(model)[0]
        with model.another_pass():
            for i in range(0, 400, 150):
                model.partial_fit(X[i : i + 150], y[i : i + 150])
                assert (joint(model)[0] == before).all()
    w = joint(model)[0]
    assert first > 1e-3
    assert optimality(X, y, w, gamma, link) < 1e-8
    assert 0 < model.n_nonzero_ < 12
    assert model.t_ == 400 * 21


def test_a_bayesian_pass_that_fails_leaves_the_model_as_before():
    cls = learner("BayesianSparse")
    X, y = planted(22, n=60, d=4)
    model = cls().partial_fit(X, y)
    with Unchanged(model), pytest.raises(DataError), model.another_pass():
        model.partial_fit(X, y)
        model.partial_fit(X * np.nan, y)
    with Unchanged(model), pytest.raises(KeyboardInterrupt), model.another_pass():
        raise KeyboardInterrupt
    with model.another_pass():  # an error that is caught inside does not end the pass
        model.partial_fit(X, y)
        with pytest.raises(DataError):
            model.partial_fit(X, y + 2)
        before = joint(model)[0]
        model.partial_fit(X, y)
        assert (joint(model)[0] == before).all()
    assert (joint(model)[0] != before).any()


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_bayesian_memory_that_suffices_is_no_bound(link):
    """With memory for all features, Psi and the weights have the same bits as without a bound."""
    cls = learner("BayesianSparse")
    X, y = planted(23, n=200, d=12, density=0.3)
    rows = csr_matrix(X)
    bounded, free = (cls(link=link, memory=memory).partial_fit(rows, y) for memory in (12, None))
    assert joint(bounded).tobytes() == joint(free).tobytes()
    ours, theirs = bounded.__getstate__()["state"], free.__getstate__()["state"]
    assert all(same(ours[name], theirs[name]) for name in theirs)
    assert not ours["curvature"].any()


@pytest.mark.parametrize("memory", [1, 4, 9])
def test_bayesian_memory_is_a_bound(memory, tmp_path):
    """At most `memory` features have a weight at any time, and a loaded model learns on bit for bit."""
    cls = learner("BayesianSparse")
    X, y = planted(24, n=1500, d=60, density=0.4)
    whole, parts = cls(memory=memory, sweeps=3), cls(memory=memory, sweeps=3)
    for i in range(0, 1500, 50):
        parts.partial_fit(X[i : i + 50], y[i : i + 50]).save(tmp_path / "model")
        parts = seriatim.load(tmp_path / "model")
        state = parts.__getstate__()["state"]
        assert parts.n_nonzero_ <= memory
        assert len(state["active"]) <= memory + 1
        assert not state["w"][np.setdiff1d(np.arange(61), state["active"])].any()
        assert has_no_signed_zero(parts.coef_)
    assert_same_state(parts, whole.partial_fit(X, y))
    if memory == 9:
        assert {0, 1, 2, 3} <= set(np.flatnonzero(parts.coef_[0]).tolist())


def test_bayesian_memory_has_a_limit(monkeypatch):
    cls = learner("BayesianSparse")
    X, y = planted(25, n=20, d=5)
    model = cls().partial_fit(X, y)
    wide = csr_matrix(([1.0], ([0], [50_000])), shape=(1, 50_001))
    with Unchanged(model), pytest.raises(LimitError, match=r"50001 features would need 18\.6 GiB.*memory="):
        model.partial_fit(wide, y[:1])
    with pytest.raises(LimitError, match="memory="):
        cls(memory=10**9 - 1).partial_fit(X, y)
    assert cls(memory=3).partial_fit(X, y).partial_fit(wide, y[:1]).n_features_in_ == 50_001


def test_bayesian_probabilities():
    cls = learner("BayesianSparse")
    X, y = planted(26, n=100, d=5)
    for link, of in (("logit", lambda s: 1 / (1 + np.exp(-s))), ("probit", norm.cdf)):
        model = cls(link=link).partial_fit(X, y)
        p = model.predict_proba(X)
        assert p.sum(axis=1) == pytest.approx(1)
        assert p[:, 1] == pytest.approx(of(model.decision_function(X)), rel=1e-12)


def test_bayesian_tails():
    """Far below 0 phi and Phi vanish and the transcription is inexact; with one feature w is b / a."""
    cls = learner("BayesianSparse")

    def taylor(s):
        r = np.sqrt(2 / np.pi) / erfcx(-s / np.sqrt(2))
        return r * (s + r), r + r * (s + r) * s

    for s in (-1.0, -4.9, -5.1, -12.0, -30.0):
        model = cls(gamma=0.0, link="probit", sweeps=1, fit_intercept=False).partial_fit([[1.0]], [1])
        (a0, b0), (a, b), x = taylor(0.0), taylor(s), s / model.coef_[0, 0]
        model.partial_fit([[x]], [1])
        assert model.coef_[0, 0] == pytest.approx((b0 + b * x) / (a0 + a * x * x), rel=1e-10)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("memory", [None, 2])
def test_bayesian_without_a_prior_is_finite(link, memory):
    cls = learner("BayesianSparse")
    X, y = planted(27, n=300, d=4)
    X *= 10.0 ** np.random.default_rng(27).uniform(-170, 49, (300, 1))
    model = cls(gamma=0.0, link=link, memory=memory).partial_fit(X, y)
    assert all_finite(model)
    assert np.isfinite(model.decision_function(X)).all()


def test_invalid_bayesian_states_are_refused():
    cls = learner("BayesianSparse")
    X, y = planted(28, n=40, d=6)
    model = cls(memory=3).partial_fit(X, y)
    for name, value in (
        ("active", [0, 2, 1]), ("active", [0, 1, 1]), ("active", [1, 2]), ("active", [0, 9]), ("active", []),
        ("active", [0, 1, 2, 3, 4]), ("active", [0, -1]), ("psi", np.zeros(3)), ("psi", -np.ones(10)), ("passing", 2),
    ):  # fmt: skip
        state = model.__getstate__()
        state["state"][name] = np.array(value, dtype=np.int64) if isinstance(value, list) else value
        with pytest.raises(ModelError):
            cls.__new__(cls).__setstate__(state)
