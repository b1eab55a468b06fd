"""The best model in hindsight against other solvers and by its duality gap; regret against a NumPy run."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog, minimize

from seriatim import (
    AROW,
    EG,
    OGD,
    PA,
    AdaHedge,
    FixedShare,
    Hedge,
    KernelPerceptron,
    MirrorDescent,
    OGDRegressor,
    Perceptron,
    WeightedMajority,
    data,
)
from seriatim.errors import DataError, ParameterError
from seriatim.evaluate import bounds, comparator, expert_regret, progressive, regret
from seriatim.evaluate.regret_bounds.best_fixed import LOSSES, MARGIN_LOSSES, NORMS, length_asked_for
from seriatim.evaluate.regret_bounds.rounds import rounds

EPSILON = 0.1


def loss_values(loss, y, f):
    """Each loss as its definition says, f the score."""
    m, z = y * f, y - f
    return {
        "hinge": lambda: np.maximum(0, 1 - m),
        "squared_hinge": lambda: np.maximum(0, 1 - m) ** 2 / 2,
        "logistic": lambda: np.log1p(np.exp(-np.abs(m))) + np.maximum(0, -m),
        "squared": lambda: z**2 / 2,
        "absolute": lambda: np.abs(z),
        "epsilon_insensitive": lambda: np.maximum(0, np.abs(z) - EPSILON),
    }[loss]()


def lower_bound(loss, X, y, a, radius, norm):
    """The dual function at a, after a has been found to be in its domain."""
    margin = loss in MARGIN_LOSSES
    if loss in ("hinge", "logistic"):
        assert a.min() >= 0 and a.max() <= 1
    if loss == "squared_hinge":
        assert a.min() >= 0
    if loss in ("absolute", "epsilon_insensitive"):
        assert np.abs(a).max() <= 1
    inside = (a > 0) & (a < 1)
    b = np.where(inside, a, 0.5)
    conjugate = {
        "hinge": 0 * a,
        "squared_hinge": a**2 / 2,
        "logistic": a + np.where(inside, b * np.log(b) + (1 - b) * np.log(1 - b), 0),
        "squared": a**2 / 2,
        "absolute": 0 * a,
        "epsilon_insensitive": EPSILON * np.abs(a),
    }[loss]
    pull = X.T @ (a * (y if margin else 1))
    size = {"l2": np.linalg.norm(pull), "l1": np.abs(pull).max(), "simplex": pull.max()}[norm]
    return np.sum(a * (1 if margin else y) - conjugate) - radius * size


def check(X, y, loss, radius, norm="l2"):
    """u is feasible, its loss and its gap are what they are said to be, and the gap is within 1e-6."""
    best = comparator(X, y, loss, radius=radius, norm=norm, fit_intercept=False, epsilon=EPSILON)
    u = best.weights
    length = {"l2": np.linalg.norm(u), "l1": np.abs(u).sum(), "simplex": u.sum()}[norm]
    assert length <= radius * (1 + 1e-9) and (norm != "simplex" or (u.min() >= 0 and length >= radius * (1 - 1e-9)))
    primal = loss_values(loss, y, X @ u).sum()
    gap = primal - lower_bound(loss, X, y, best.dual, radius, norm)
    assert best.loss == pytest.approx(primal, rel=1e-9, abs=1e-12)
    assert best.gap == pytest.approx(gap, rel=1e-3, abs=1e-8 * max(1, primal))
    assert -1e-9 * max(1, primal) <= gap <= 1e-6 * max(1, primal)
    assert best.certified
    return best


def noisy(n=120, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) >= 0, 1.0, -1.0)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("radius", [0.01, 1.0, 50.0])
def test_gap_of_the_comparator(loss, norm, radius):
    check(*noisy(), loss, radius, norm)


@pytest.mark.parametrize("loss", LOSSES)
def test_comparator_on_hard_data(loss):
    """Badly scaled columns, fewer rows than columns, rows twice, separable data, one row, rows of zeros, CSR."""
    X, y = noisy()
    check(X * 10.0 ** np.arange(-4, 6, 2), y, loss, 3.0)
    check(X[:4], y[:4], loss, 2.0)
    check(np.repeat(X, 2, axis=0), np.repeat(y, 2), loss, 1.0)
    check(X, np.where(X[:, 0] > 0, 1.0, -1.0), loss, 30.0)
    check(X[:1], y[:1], loss, 1.0)
    check(np.vstack([X[:20], np.zeros((5, 5))]), y[:25], loss, 1.0)
    thin = sparse.random(300, 40, density=0.05, format="csr", random_state=1)
    check(thin, np.where(np.arange(300) % 3 == 0, 1.0, -1.0), loss, 2.0)
    dense = check(X, y, loss, 1.0).loss
    assert check(sparse.csr_matrix(X), y, loss, 1.0).loss == pytest.approx(dense, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_comparator_on_spam(loss):
    """Values up to 15,841 beside others below 1."""
    X, y = data.load("spam")
    y = np.where(y == "spam", 1.0, -1.0)
    check(X, y, loss, 0.05)
    check(X, y, loss, 20.0)


def test_comparator_of_many_columns():
    """Beyond 1,500 columns nothing is factorised."""
    thin = sparse.random(1800, 2500, density=0.01, format="csr", random_state=2)
    y = np.where(np.arange(1800) % 2 == 0, 1.0, -1.0)
    check(thin, y, "logistic", 3.0)
    check(thin, y, "hinge", 3.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_comparator_equals_that_of_liblinear(loss):
    """A regularised model is the best of its own length."""
    from sklearn import linear_model, svm

    X, y = noisy(150, 4, 3)
    model = {
        "hinge": svm.LinearSVC(loss="hinge", C=0.05, fit_intercept=False, tol=1e-9, max_iter=10**6),
        "squared_hinge": svm.LinearSVC(C=0.02, fit_intercept=False, tol=1e-9, max_iter=10**6),
        "logistic": linear_model.LogisticRegression(C=0.1, fit_intercept=False, tol=1e-9),
        "squared": linear_model.Ridge(alpha=20.0, fit_intercept=False),
        "absolute": svm.LinearSVR(epsilon=0.0, C=0.02, fit_intercept=False, tol=1e-9, max_iter=10**6),
        "epsilon_insensitive": svm.LinearSVR(epsilon=0.1, C=0.02, fit_intercept=False, tol=1e-9, max_iter=10**6),
    }[loss]
    u = model.fit(X, y).coef_.reshape(-1)
    theirs = loss_values(loss, y, X @ u).sum()
    best = check(X, y, loss, float(np.linalg.norm(u)))
    assert best.loss == pytest.approx(theirs, rel=1e-5)
    # A loss within 1e-6 of the least leaves the weights free within about its root, and more where the loss is flat.
    np.testing.assert_allclose(best.weights, u, atol=1e-2 * np.linalg.norm(u))


@pytest.mark.parametrize("norm", ["l1", "simplex"])
@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive"])
def test_comparator_equals_that_of_a_linear_programme(loss, norm):
    X, y = noisy(80, 6, 4)
    n, d = X.shape
    radius = 1.3
    # u = p - q; slacks s >= each piece of the loss
    pieces = {"hinge": [(-y[:, None] * X, -1.0)], "absolute": [(X, y), (-X, -y)]}
    pieces["epsilon_insensitive"] = [(X, y + EPSILON), (-X, -y + EPSILON)]
    above = [np.hstack([P, -P, -np.eye(n)]) for P, _ in pieces[loss]]
    rhs = [np.broadcast_to(b, n) for _, b in pieces[loss]]
    total = np.concatenate([np.ones(d), np.ones(d) * (norm == "l1"), np.zeros(n)])[None]
    free = [(0, None)] * d + [(0, None if norm == "l1" else 0)] * d + [(0, None)] * n
    cost = np.concatenate([np.zeros(2 * d), np.ones(n)])
    if norm == "l1":
        found = linprog(cost, np.vstack([*above, total]), np.concatenate([*rhs, [radius]]), bounds=free)
    else:
        found = linprog(cost, np.vstack(above), np.concatenate(rhs), total, [radius], bounds=free)
    assert check(X, y, loss, radius, norm).loss == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.parametrize("norm", ["l1", "simplex"])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
def test_comparator_equals_that_of_slsqp(loss, norm):
    X, y = noisy(80, 4, 5)
    d, radius = X.shape[1], 0.9
    free = {"type": "ineq" if norm == "l1" else "eq", "fun": lambda p: radius - p.sum()}

    def value(p):
        return loss_values(loss, y, X @ (p[:d] - p[d:] if norm == "l1" else p)).sum()

    entries = 2 * d if norm == "l1" else d
    start = np.full(entries, radius / entries / 2)
    options = {"ftol": 1e-13, "maxiter": 1000}
    found = minimize(value, start, method="SLSQP", bounds=[(0, None)] * entries, constraints=[free], options=options)
    assert check(X, y, loss, radius, norm).loss == pytest.approx(found.fun, rel=1e-5)


def test_a_worse_model_has_a_wider_gap():
    """The gap is of u, and not of what found it."""
    X, y = noisy()
    best = check(X, y, "hinge", 1.0)
    worse = loss_values("hinge", y, X @ (0.99 * best.weights)).sum()
    assert worse - lower_bound("hinge", X, y, best.dual, 1.0, "l2") > 1e-3


def test_intercept_is_a_constant_feature():
    X, y = noisy()
    with_it = comparator(X + 3, y, radius=1.0)
    by_hand = comparator(np.hstack([np.ones((len(X), 1)), X + 3]), y, radius=1.0, fit_intercept=False)
    assert with_it.loss == pytest.approx(by_hand.loss, rel=1e-6)
    assert with_it.intercept == pytest.approx(by_hand.weights[0], abs=1e-3)  # the root of the gap


def test_labels_of_the_comparator():
    X, y = noisy()
    named = np.where(y > 0, "spam", "ham")
    assert comparator(X, named, radius=1.0).loss == pytest.approx(comparator(X, y, radius=1.0).loss, rel=1e-9)
    with pytest.raises(DataError, match="3 labels"):
        comparator(X, np.arange(len(y)) % 3, radius=1.0)
    with pytest.raises(DataError, match="must be numbers"):
        comparator(X, named, "squared", radius=1.0)
    with pytest.raises(ParameterError, match="loss='perceptron'"):
        comparator(X, y, "perceptron", radius=1.0)
    with pytest.raises(ParameterError, match="radius=0"):
        comparator(X, y, radius=0)
    with pytest.raises(ParameterError, match="norm='l3'"):
        comparator(X, y, radius=1, norm="l3")


# ---- regret


def ogd(X, y, eta, radius):
    """w <- P(w - eta / sqrt(t) grad) with the hinge loss; the losses."""
    w, lost = np.zeros(X.shape[1]), []
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        lost.append(max(0.0, 1 - label * (w @ x)))
        if label * (w @ x) < 1:
            w = w + eta / np.sqrt(t) * label * x
            w *= min(1.0, radius / np.linalg.norm(w))
    return np.cumsum(lost)


@pytest.mark.parametrize("segments", [1, 3])
def test_regret_equals_that_of_a_transcription(segments):
    X, y = noisy(200, 3, 7)
    found = regret(OGD(eta=0.5, radius=2.0), X, y, checkpoints=4, segments=segments)
    one = np.hstack([np.ones((200, 1)), X])
    lost = ogd(one, y, 0.5, 2.0)
    assert found.examples[-1] == 200 and len(found.examples) == 4
    for place, (t, total) in enumerate(zip(found.examples, found.regret, strict=True)):
        ends = [200 * k // segments for k in range(segments + 1)]
        best = sum(
            comparator(one[a : min(b, t)], y[a : min(b, t)], radius=2.0, fit_intercept=False).loss
            for a, b in pairwise(ends)
            if a < t
        )
        assert total == pytest.approx(lost[t - 1] - best, abs=1e-4)  # two gaps of 1e-6, relative to losses up to 100
        assert found.average[place] == total / t
    assert (found.bound is None) == (segments > 1)
    assert found.as_dict().keys() == {"comparator", "examples", "regret", "bound"}
    assert max(found.gap) < 1e-6 * max(1, *found.best) * segments


def test_rows_are_those_that_the_learner_saw():
    """Scaled by what had come before: a perceptron over them in NumPy makes the same scores."""
    X, y = noisy(100, 3, 8)
    run = rounds(Perceptron(features={"normalize": "standard"}), X * 50 + 3, np.where(y > 0, "b", "a"))
    w = np.zeros(4)
    for x, label, score in zip(run.A, y, run.scores, strict=True):
        assert w @ x == pytest.approx(score, abs=1e-9)
        if label * (w @ x) <= 0:
            w = w + label * x
    assert set(run.A[:, 0]) == {1.0} and abs(run.A).max() < 20


def test_streams_and_arrays_have_one_regret():
    found = regret(PA(), data.Stream("spam", limit=300), checkpoints=2, radius=0.01)
    X, y = data.load("spam")
    again = regret(PA(), X[:300], y[:300], checkpoints=2, radius=0.01)
    assert found.regret == pytest.approx(again.regret, rel=1e-5)
    assert found.comparator == "best linear model in hindsight with |u| <= 0.01, hinge loss, within 1e-06"


def test_the_model_given_is_left_alone():
    X, y = noisy()
    model = OGD().partial_fit(X, y)
    before = model.coef_.copy()
    first, second = regret(model, X, y), regret(OGD(), X, y)
    assert first.regret == second.regret
    np.testing.assert_array_equal(model.coef_, before)


def test_radius():
    """The learner's own; or one of the rows alone, which is the same for all learners and follows their scale."""
    X, y = noisy()
    assert regret(OGD(radius=0.7), X, y, checkpoints=1).radius == 0.7
    assert regret(EG(U=3.0), X, y, checkpoints=1).comparator.startswith("best linear model in hindsight with |u|_1")
    assert "sum = 1" in regret(MirrorDescent(mirror="entropy"), X, y, checkpoints=1).comparator
    radii = [regret(model, X, y, checkpoints=1).radius for model in (PA(), OGD(), Perceptron())]
    assert radii[0] == radii[1] == radii[2]
    plain = OGD(fit_intercept=False)
    assert length_asked_for(rounds(plain, 10 * X, y), "hinge") == pytest.approx(
        length_asked_for(rounds(plain, X, y), "hinge") / 10, rel=1e-2
    )


def test_a_larger_radius_than_the_learner_has_no_bound():
    X, y = noisy()
    assert regret(OGD(radius=1.0), X, y, radius=1.0, checkpoints=2).holds
    assert regret(OGD(radius=1.0), X, y, radius=1.5, checkpoints=2).holds is None


def test_regret_of_numbers():
    X, _ = noisy()
    found = regret(OGDRegressor(eta=0.05, schedule="constant", loss="absolute"), X, X @ np.arange(5.0))
    assert found.holds and found.regret[-1] > 0


def test_a_gap_that_was_not_reached_is_said():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 30)) * np.logspace(-6, 6, 30), rng.choice([-1, 1], 500)
    asked = {"checkpoints": 1, "radius": 1e3}
    for segments in (1, 2):
        found = regret(PA(), X, y, **asked, segments=segments, tol=1e-12)
        share = found.gap[0] / max(1.0, found.best[0])
        assert share > 1e-12
        assert found.comparator.endswith(f"within {share:.2g} (not 1e-12, which was asked for)")
        assert found.as_dict()["comparator"] in str(found)
    assert regret(PA(), X[:, 14:17], y, **asked).comparator.endswith("loss, within 1e-06")


EXPERTS = {
    "hedge": Hedge([PA(), AROW(), Perceptron()]),
    "ada-hedge": AdaHedge([PA(), AROW()]),
    "fixed-share": FixedShare([PA(), AROW()]),
    "majority": WeightedMajority([PA(), AROW()]),
    "numbers": Hedge([OGDRegressor(), OGDRegressor(eta=0.01)]),
}


@pytest.mark.parametrize("model", EXPERTS.values(), ids=EXPERTS)
@pytest.mark.parametrize("labels", [2, 3])
def test_experts_are_compared_with_the_best_of_them(model, labels):
    """Their own figures, those of a run; of segments what each expert lost in each."""
    rng = np.random.default_rng(labels)
    X = rng.normal(size=(60, 3))
    y = (X @ rng.normal(size=(3, labels))).argmax(axis=1).astype(int)
    own = progressive(type(model)(**model.get_params()), X, y).model
    found = regret(model, X, y, checkpoints=3)
    assert found.comparator == f"best of {len(model.experts)} experts"
    assert found.regret[-1] == pytest.approx(own.regret_) and found.bound[-1] == own.bound_
    assert found.holds and found.paper == model.paper
    early = type(model)(**model.get_params()).partial_fit(X[: found.examples[0]], y[: found.examples[0]])
    assert found.regret[0] == pytest.approx(early.regret_)
    (bound,) = bounds(model, X, y)
    assert (bound.measured, bound.bound, bound.holds) == (own.regret_, own.bound_, True)
    shifting = regret(model, X, y, checkpoints=1, segments=2)
    half = type(model)(**model.get_params()).partial_fit(X[:30], y[:30])
    assert shifting.best[0] == pytest.approx(half.losses_.min() + (own.losses_ - half.losses_).min())
    assert shifting.bound is None and "2 parts" in shifting.comparator
    assert not model.__sklearn_is_fitted__()


def test_experts_have_no_radius():
    X, y = noisy()
    with pytest.raises(ParameterError, match="compared with its best expert"):
        regret(EXPERTS["hedge"], X, y, radius=1.0)
    with pytest.raises(ParameterError, match="models as experts"):
        bounds(Hedge(), X, y)


def test_a_kernel_is_compared_with_linear_models_and_it_is_said():
    X, y = noisy()
    assert "best linear model in hindsight" in str(regret(KernelPerceptron(), X, y, checkpoints=1))


@pytest.mark.parametrize("judge", [regret, bounds])
def test_what_is_no_model_and_what_is_no_stream(judge):
    X, y = noisy()
    with pytest.raises(ParameterError, match="is not a model, such as"):
        judge(OGD, X, y)
    for stream in (X, [(X, y)]):
        with pytest.raises(DataError, match="expected X and y, or a stream"):
            judge(OGD(), stream)


def test_regret_refuses():
    X, y = noisy()
    with pytest.raises(DataError, match="3 labels"):
        regret(PA(), X, np.arange(len(y)) % 3)
    with pytest.raises(ParameterError, match="segments=0"):
        regret(PA(), X, y, segments=0)
    with pytest.raises(ParameterError, match="loss='perceptron'"):
        regret(PA(), X, y, loss="perceptron")


def test_regret_of_descent_grows_like_the_root():
    """Labels by a coin for x = 1: nothing can be learned, and the best in hindsight wins about sqrt(T) all the same."""
    total = np.zeros(6)
    for seed in range(40):
        y = np.random.default_rng(seed).choice([-1.0, 1.0], size=4096)
        found = regret(OGD(radius=1.0, fit_intercept=False), np.ones((4096, 1)), y, checkpoints=6)
        assert found.holds
        total += found.regret
    late = np.array(found.examples) >= 50
    slope = np.polyfit(np.log(np.array(found.examples)[late]), np.log(total[late]), 1)[0]
    assert 0.45 <= slope <= 0.55


def hedge(losses, eta):
    """The losses of Hedge."""
    weights = np.exp(-eta * (np.cumsum(losses, axis=0) - losses))
    return (weights * losses).sum(axis=1) / weights.sum(axis=1)


@pytest.mark.parametrize("eta", [0.05, 0.3, 1.0])
def test_hedge_stays_below_its_bound(eta):
    rng = np.random.default_rng(0)
    for _ in range(20):
        losses = (rng.random((300, 6)) < rng.random(6)).astype(float)
        found = expert_regret(losses, hedge(losses, eta), eta=eta)
        assert found.holds
        assert found.regret[-1] == pytest.approx(hedge(losses, eta).sum() - losses.sum(axis=0).min())
        shifting = expert_regret(losses, hedge(losses, eta), eta=eta, segments=4)
        assert shifting.bound is None and shifting.regret[-1] >= found.regret[-1] - 1e-9


def test_following_the_leader_does_not():
    """The leader of two experts is always wrong: its regret is T / 2."""
    losses = np.tile([[1.0, 0.0], [0.0, 1.0]], (200, 1))
    losses[0] = [0.5, 0.0]
    leader = np.concatenate([[0.5], np.ones(399)])
    assert expert_regret(losses, leader).holds is False
    assert expert_regret(losses, hedge(losses, 0.1), eta=0.1).holds
    assert expert_regret(2 * losses, leader).bound is None  # not in [0, 1]
    with pytest.raises(DataError, match="shapes"):
        expert_regret(losses, leader[:5])


@pytest.mark.parametrize("options", [{"radius": -1}, {"radius": 0}, {"tol": -1}, {"segments": 0}])
def test_bad_options_of_regret(options):
    with pytest.raises(ParameterError, match="must be"):
        regret(PA(), [[1.0], [2.0]], [1, -1], **options)
