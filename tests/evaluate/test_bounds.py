"""Every bound holds on every stream, comes close on some, and is broken by what is not the method."""

import math

import numpy as np
import pytest
from scipy import sparse

import seriatim
from seriatim import (
    AROW,
    CW,
    EG,
    OGD,
    PA,
    RDA,
    ROMMA,
    SOP,
    AggressiveROMMA,
    AveragedPerceptron,
    MirrorDescent,
    OGDRegressor,
    PARegressor,
    Perceptron,
    SoftSVM,
    VotedPerceptron,
    data,
)
from seriatim.evaluate import bounds
from seriatim.evaluate.regret_bounds.bounds import KNOWN, rda, separator, show, sums_of_weights, without_average
from seriatim.evaluate.regret_bounds.rounds import Rounds, rounds

LEARNERS = [
    Perceptron(),
    Perceptron(fit_intercept=False, eta=0.3),
    AveragedPerceptron(),
    VotedPerceptron(),
    ROMMA(),
    AggressiveROMMA(),
    PA(variant="hard"),
    PA(C=0.1),
    PA(C=0.1, variant="II", average=True),
    OGD(),
    OGD(radius=1.0),
    OGD(eta=0.1, schedule="constant", loss="logistic"),
    OGD(eta=0.02, schedule="constant", loss="squared", radius=0.5),
    OGD(eta=0.1, loss="squared_hinge", radius=1.0),
    MirrorDescent(),
    MirrorDescent(schedule="sqrt"),
    MirrorDescent(schedule="sqrt", variant="mirror", loss="absolute"),
    MirrorDescent(mirror="entropy"),
    MirrorDescent(mirror="entropy", variant="mirror", loss="logistic", n_features=9),
    MirrorDescent(mirror="pnorm", p=4.0),
    MirrorDescent(mirror="pnorm", p=3.0, schedule="sqrt", loss="epsilon_insensitive"),
    EG(),
    EG(U=3.0, eta=0.02, loss="squared", fit_intercept=False),
    RDA(),
    RDA(lam=0.05, gamma=2.0, loss="squared_hinge"),
    RDA(lam=0.05, gamma=0.5, rho=0.1, loss="logistic", fit_intercept=False),
    SoftSVM(lam=0.1),
    SoftSVM(lam=0.1, variant="pegasos", average=False),
    SOP(),
    SOP(covariance="full", a=0.5),
    AROW(covariance="full"),
    PARegressor(),
    PARegressor(variant="hard"),
    PARegressor(variant="II", C=0.1),
    OGDRegressor(eta=0.05),
    OGDRegressor(loss="absolute", radius=1.0),
    OGDRegressor(loss="epsilon_insensitive", eta=0.05, schedule="constant"),
]
KINDS = ("separable", "noisy", "sparse", "badly scaled", "adversarial")


def stream(kind, model, seed):
    """A short stream; its labels are what u says, for the most part, or what the model does not expect."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 40)), int(rng.integers(1, 5))
    X, u = rng.normal(size=(n, d)), rng.normal(size=d)
    if kind == "separable":
        X += np.sign(X @ u)[:, None] * u / np.linalg.norm(u) * rng.choice([0.1, 1.0, 3.0])
    elif kind == "sparse":
        X *= rng.random((n, d)) < 0.4
    elif kind == "badly scaled":
        X *= 10.0 ** rng.integers(-3, 3, size=d)
    f = X @ u
    if model.task == "regression":
        y = f + (0 if kind == "separable" else 1) * rng.normal(size=n)
    else:
        y = np.where(f >= 0, 1.0, -1.0)
        y[(rng.random(n) < 0.2) & (kind != "separable")] *= -1
    if kind == "adversarial":
        y = against(without_average(model), X, y)
    return sparse.csr_matrix(X) if kind == "sparse" else X, y


def against(model, X, y):
    """Targets on the wrong side of each prediction."""
    y = y.copy()
    fresh = type(model)(**model.get_params())
    if model.task == "classification":
        fresh.set_params(classes=[-1, 1])
    for i, row in enumerate(X):
        score = float(fresh.score_rows(fresh.as_rows(row[None]).check())[0, 0]) if i else 0.0
        y[i] = (-1.0 if score > 0 else 1.0) * (abs(y[i]) if model.task == "regression" else 1.0)
        fresh.partial_fit(row[None], y[i : i + 1])
    return y


# 370: each model on each kind of stream twice.
@pytest.mark.parametrize("streams", [370, pytest.param(1000, marks=pytest.mark.slow)])
def test_all_bounds_hold_on_many_streams(streams):
    closest = {}
    for number in range(streams):
        model, kind = LEARNERS[number % len(LEARNERS)], KINDS[number // len(LEARNERS) % len(KINDS)]
        X, y = stream(kind, model, number)
        for one in bounds(model, X, y):
            assert one.holds and one.measured <= one.bound * (1 + 1e-9) + 1e-9, f"{model} on {kind} {number}: {one}"
            assert math.isfinite(one.bound)
            key = (type(model).__name__, repr(model), one.name)
            closest[key] = max(closest.get(key, 0.0), one.measured / one.bound if one.bound else 0.0)
    assert {name for name, _, _ in closest} == {*KNOWN}
    vacuous = {key: share for key, share in closest.items() if share < 0.05}
    assert not vacuous


WIDE = np.array([[2.0, 0.5], [-2.0, 0.3], [2.5, -0.4], [-1.8, -0.6]] * 100)
SIDES = np.array([1.0, -1.0, 1.0, -1.0] * 100)


@pytest.mark.parametrize("model", LEARNERS, ids=repr)
def test_what_is_not_the_method_breaks_them(model):
    """On a stream with a wide margin: predictions that are always far on the wrong side."""
    gentle = {"eta": 0.01} if "eta" in model.parameters and type(model).__name__ not in ("Perceptron",) else {}
    model = without_average(model)
    model.set_params(**gentle)
    run = rounds(model, WIDE, SIDES)
    stubborn = Rounds(run.model, run.A, run.y, -20.0 * run.y)
    found = KNOWN[type(model).__name__](stubborn, None)
    assert found and not any(one.holds for one in found), show(found)
    assert all(one.holds for one in KNOWN[type(model).__name__](run, None))


def test_separator_has_the_largest_margin():
    """Of hard margins the shortest u with margins of at least 1 is liblinear's with a large C."""
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] >= 0, 1.0, -1.0)
    X[:, 0] += 0.5 * y
    u = separator(rounds(Perceptron(fit_intercept=False), X, y))
    theirs = LinearSVC(loss="hinge", C=1e5, fit_intercept=False, tol=1e-10, max_iter=10**6).fit(X, y).coef_[0]
    assert (y * (X @ u)).min() >= 1 - 1e-9
    assert np.linalg.norm(u) <= 1.02 * np.linalg.norm(theirs)
    noise = rng.choice([-1.0, 1.0], size=60)
    assert separator(rounds(Perceptron(fit_intercept=False), X, noise)) is None


def test_novikoff_by_hand():
    """Margins of 1 for u = (1, 0) and |x| up to 5: at most 25 mistakes."""
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0], [3.0, 4.0], [-3.0, -4.0]] * 5), np.array([1, -1, 1, -1] * 5)
    first = bounds(Perceptron(fit_intercept=False), X, y)[0]
    assert first.paper == "Novikoff (1962)" and first.bound == pytest.approx(25, rel=1e-9)


def test_a_row_of_zeros_is_a_round_that_cannot_be_learned():
    X, y = np.zeros((6, 2)), np.array([1, -1] * 3)
    for model in LEARNERS:
        if not model.fit_intercept or type(model) in (Perceptron, PA, SOP, AROW, SoftSVM):
            model = type(model)(**{**model.get_params(), "fit_intercept": False})
            assert all(one.holds for one in bounds(model, X, y)), model


def test_mistakes_are_margins_and_not_labels():
    """The first label of all costs no mistake by its name; its margin of 0 is one for the theorem."""
    found = bounds(Perceptron(), [[1.0], [1.0]], ["only", "only"])
    assert found[0].measured == 1


def test_learners_without_a_bound():
    X, y = np.eye(3), [0, 1, 1]
    assert bounds(CW(), X, y) == []
    assert bounds(AROW(), X, y) == []
    assert bounds(OGD(schedule="adagrad"), X, y) == []
    assert bounds(OGD(schedule="inverse"), X, y) == []
    assert bounds(PA(), X, [0, 1, 2]) == []
    assert {*KNOWN} <= {*seriatim.algorithms()}


def test_bounds_of_a_radius():
    X, y = stream("noisy", OGD(), 3)
    one, two = (bounds(OGD(schedule="constant"), X, y, radius=r)[0].bound for r in (1.0, 2.0))
    assert two - one == pytest.approx(1.5)
    assert bounds(OGD(radius=1.0), X, y, radius=2.0) == []


@pytest.mark.parametrize("rho", [0.0, 0.1])
def test_dual_averaging_stays_below_its_bound(rho):
    """The losses and penalties of the class are those of a transcription, and below the bound for any u."""
    rng = np.random.default_rng(0)
    gamma, lam = 2.0, 0.05
    for _ in range(20):
        X, u = rng.normal(size=(200, 4)), rng.normal(size=4)
        y = np.sign(X @ u + rng.normal(size=200))
        w, g, sums, lost = np.zeros(4), np.zeros(4), [], 0.0
        for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
            lost += max(0.0, 1 - label * (w @ x))
            sums.append(np.abs(w).sum())
            g += -label * x * (label * (w @ x) < 1)
            mean = g / t
            threshold = lam + gamma * rho / np.sqrt(t)
            w = -np.sqrt(t) / gamma * np.sign(mean) * np.maximum(np.abs(mean) - threshold, 0)
        model = RDA(lam=lam, gamma=gamma, rho=rho, fit_intercept=False)
        run = rounds(model, X, y)
        assert sums_of_weights(run) == pytest.approx(sums)
        assert run.losses("hinge")[-1] == pytest.approx(lost)
        best = np.maximum(0, 1 - y * (X @ u)).sum() + 200 * lam * np.abs(u).sum()
        G = np.linalg.norm(X, axis=1).max()
        assert lost + lam * sum(sums) - best <= rda(200, gamma, G, u @ u / 2 + rho * np.abs(u).sum())
        (found,) = bounds(model, X, y)
        assert found.holds


def test_table():
    X, y = stream("separable", Perceptron(), 5)
    text = show(bounds(Perceptron(), X, y))
    assert text.splitlines()[0].split() == ["bound", "of", "measured", "bound", "holds"]
    assert "Novikoff (1962)" in text and "yes" in text


def test_what_an_averaged_model_predicts_is_not_what_is_counted():
    X, y = data.load("spam")
    averaged, usual = (bounds(model, X[:200], y[:200]) for model in (AveragedPerceptron(), Perceptron()))
    assert {one.quantity for one in averaged} == {"mistakes of the last w"}
    assert {one.quantity for one in usual} == {"mistakes"}
    assert [one.measured for one in averaged] == [one.measured for one in usual]
