"""Claims about mirror descent, exponentiated gradients, AdaGrad and averages."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from seriatim import (
    ALMA,
    EG,
    MIRA,
    OGD,
    PA,
    ROMMA,
    AggressiveROMMA,
    AveragedPerceptron,
    MirrorDescent,
    OGDRegressor,
    PARegressor,
    Perceptron,
    SoftSVM,
)
from seriatim.errors import ParameterError

D = 6
labels_2_4 = pytest.mark.parametrize("labels", [2, 4])


def noisy(seed, n=120, labels=2, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * (rng.random((n, D)) < density)
    y = np.argmax(X @ rng.standard_normal((D, labels)) + rng.standard_normal((n, labels)), axis=1)
    y[:labels] = range(labels)
    return X, y


def joint(model):
    """All weights, with a row per class, the intercept last."""
    return np.column_stack([np.atleast_2d(model.coef_), np.ravel(model.intercept_)])


def one_by_one(model, X, y):
    """The weights after each example."""
    for x, label in zip(X, y, strict=True):
        yield joint(model.partial_fit(x[None, :], [label]))


def norm(a, p=2):
    return np.sum(np.abs(a) ** p) ** (1 / p)


def link(a, p):
    """The gradient of |a|_p^2 / 2."""
    return np.sign(a) * np.abs(a) ** (p - 1) / norm(a, p) ** (p - 2) if a.any() else a


def softmax(a):
    a = np.exp(a - a.max())
    return a / a.sum()


def signed(y):
    return np.where(np.asarray(y) > 0, 1, -1)


def difference(W, row, label, seen):
    """The multiclass form of y x: x in the row of the label and -x in the row of its strongest rival."""
    delta, rivals = np.zeros_like(W), [r for r in sorted(seen) if r != label]
    if len(W) == 1:
        delta[0] = row if label else -row
    elif rivals:
        delta[label] += row
        delta[max(rivals, key=lambda r: (W @ row)[r])] -= row
    return delta


SLOPES = {
    "hinge": lambda m: -1.0 if m < 1 else 0.0,
    "perceptron": lambda m: -1.0 if m <= 0 else 0.0,
    "logistic": lambda m: -1 / (1 + np.exp(m)),
    "squared": lambda m: m - 1,
}


# ---- the Euclidean mirror is the methods that are known already


@labels_2_4
@pytest.mark.parametrize("variant", ["ftrl", "mirror"])
@pytest.mark.parametrize("eta", [1.0, 0.1])
def test_perceptron_is_mirror_descent(labels, variant, eta):
    """Lecture 002, algorithm 5, with 1[m <= 0]."""
    X, y = noisy(1, labels=labels)
    ours = MirrorDescent(loss="perceptron", eta=eta, variant=variant).partial_fit(X, y)
    theirs = Perceptron(eta=eta).partial_fit(X, y)
    assert joint(ours) == pytest.approx(joint(theirs), abs=1e-12)
    assert 0 < ours.updates_ < len(X)


@labels_2_4
@pytest.mark.parametrize("lam", [0.01, 0.5])
@pytest.mark.parametrize("average", [False, True])
def test_svm_is_mirror_descent(labels, lam, average):
    """Lecture 002, algorithm 4: w = theta / (lambda (t + 1)). A row of zeros counts as a round and shrinks w."""
    X, y = noisy(2, labels=labels)
    X[50] = 0
    svm = SoftSVM(lam=lam, average=average, variant="mirror", fit_intercept=False)
    ours = MirrorDescent(eta=1 / lam, schedule="inverse", average=average, fit_intercept=False)
    for begin in range(0, len(X), 10):
        ours.partial_fit(X[begin : begin + 10], y[begin : begin + 10])
        svm.partial_fit(X[begin : begin + 10], y[begin : begin + 10])
        assert ours.coef_ == pytest.approx(svm.coef_, rel=1e-9, abs=1e-12)
    # Pegasos' own indexing, which divides by lambda t, is not the lecture's.
    pegasos = SoftSVM(lam=lam, average=average, variant="pegasos", fit_intercept=False).partial_fit(X, y)
    assert np.abs(pegasos.coef_ - ours.coef_).max() > 1e-3


@labels_2_4
@pytest.mark.parametrize("schedule", ["constant", "sqrt", "inverse"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"])
def test_gradient_descent_is_mirror_descent(labels, schedule, loss):
    X, y = noisy(3, labels=labels)
    parameters = {"loss": loss, "eta": 0.1, "schedule": schedule, "epsilon": 0.3}
    ours = MirrorDescent(variant="mirror", **parameters).partial_fit(X, y)
    assert joint(ours) == pytest.approx(joint(OGD(**parameters).partial_fit(X, y)), abs=1e-12)


MIRRORS = [
    {"mirror": "euclidean"},
    {"mirror": "pnorm", "p": 2},
    {"mirror": "pnorm", "p": 5.5},
    {"mirror": "entropy", "n_features": D},
]
mirrors = pytest.mark.parametrize("mirror", MIRRORS, ids=lambda m: "-".join(map(str, m.values())))


@labels_2_4
@mirrors
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_both_variants_agree_with_constant_steps(labels, mirror, loss):
    X, y = noisy(4, labels=labels)
    models = [MirrorDescent(**mirror, variant=v, eta=0.3, loss=loss).partial_fit(X, y) for v in ("ftrl", "mirror")]
    assert joint(models[0]) == pytest.approx(joint(models[1]), abs=1e-12)


@labels_2_4
@pytest.mark.parametrize("mirror", MIRRORS[:3], ids=lambda m: "-".join(map(str, m.values())))
def test_variants_differ_in_how_they_weigh_the_past(labels, mirror):
    """ftrl scales all gradients with the present step; mirror scales each with the step of its round."""
    X, y = noisy(5, labels=labels)
    models = [
        MirrorDescent(**mirror, variant=v, eta=0.3, schedule="sqrt").partial_fit(X, y) for v in ("ftrl", "mirror")
    ]
    assert np.abs(joint(models[0]) - joint(models[1])).max() > 0.01


def test_eta_schedules_of_the_simplex_are_those_of_mirror():
    """With entropy, ftrl allows only constant steps."""
    X, y = noisy(6)
    for schedule in ("sqrt", "inverse"):
        with pytest.raises(ParameterError):
            MirrorDescent(mirror="entropy", schedule=schedule, variant="ftrl", n_features=D).partial_fit(X, y)
        model = MirrorDescent(mirror="entropy", schedule=schedule, variant="mirror", n_features=D).partial_fit(X, y)
        assert joint(model).sum() == pytest.approx(1)


# ---- p-norms


def test_the_2_norm_is_euclidean():
    X, y = noisy(7, labels=3)
    models = [MirrorDescent(mirror=m, schedule="sqrt").partial_fit(X, y) for m in ("pnorm", "euclidean")]
    assert joint(models[0]) == pytest.approx(joint(models[1]), abs=1e-12)


@pytest.mark.parametrize("p", [2.5, 4, 12])
@pytest.mark.parametrize("eta", [0.1, 3.0])
def test_p_norm_moves_in_the_dual_space(p, eta):
    """The image of w under the link of q moves by eta y x where the loss is not 0."""
    X, y = noisy(8)
    q, before, steps = p / (p - 1), np.zeros((1, D + 1)), 0
    for x, label, after in zip(
        X, signed(y), one_by_one(MirrorDescent(mirror="pnorm", p=p, eta=eta), X, y), strict=True
    ):
        row = np.append(x, 1.0)
        step = label * (before[0] @ row) < 1
        assert link(after, q) == pytest.approx(link(before, q) + eta * step * label * row, abs=1e-7)
        before, steps = after, steps + step
    assert 0 < steps < len(X)


@pytest.mark.parametrize("p", [2, 4, 8])
@pytest.mark.parametrize("seed", range(5))
def test_p_norm_perceptron_mistake_bound(p, seed):
    """(p - 1) (|u|_q max |x|_p)^2 where all margins of u are 1 (Grove, Littlestone and Schuurmans, 2001)."""
    rng = np.random.default_rng(seed)
    planted = np.append([1.0, rng.uniform(-0.6, 0.6)], np.zeros(18))
    X = rng.choice([-1.0, 1.0], (2000, 20))
    y = np.where(X @ planted > 0, 1, -1)
    u = planted / np.abs(X @ planted).min()
    bound = (p - 1) * (norm(u, p / (p - 1)) * 20 ** (1 / p)) ** 2
    model = MirrorDescent(mirror="pnorm", p=p, loss="perceptron", fit_intercept=False)
    for _ in range(3):
        model.partial_fit(X, y)
    assert 0 < model.updates_ <= bound


# ---- the simplex


@labels_2_4
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("parameters", [{"eta": 0.3}, {"eta": 2.0, "schedule": "sqrt", "variant": "mirror"}], ids=str)
def test_entropy_stays_on_the_simplex(labels, intercept, parameters):
    X, y = noisy(9, labels=labels, density=0.5)
    model = MirrorDescent(
        mirror="entropy", n_features=D, fit_intercept=intercept, classes=list(range(labels)), **parameters
    )
    uniform = 1 / ((D + intercept) * (1 if labels == 2 else labels))
    for t, W in enumerate(one_by_one(model, csr_matrix(X).toarray(), y)):
        assert W.min() >= 0
        assert W.sum() == pytest.approx(1, abs=1e-12)
        if t == 0 and labels == 4:  # no rival yet
            assert model.coef_ == pytest.approx(uniform)
    assert intercept or (model.intercept_ == 0).all()
    assert np.ptp(model.coef_) > uniform


@pytest.mark.parametrize("eta", [1e3, 1e6])
def test_exponentials_do_not_overflow(eta):
    """theta grows until exp(theta) would overflow; the weights stay correct."""
    X, y = noisy(10)
    for W in one_by_one(MirrorDescent(mirror="entropy", eta=eta, n_features=D), X, y):
        assert W.min() >= 0
        assert W.sum() == pytest.approx(1)
    for W in one_by_one(EG(eta=eta, U=3.0, n_features=D), X, y):
        assert 0 < norm(W, 1) <= 3 * (1 + 1e-9)
    parameters = {"eta": eta, "n_features": 2, "fit_intercept": False}
    x = np.array([[1.0, 1 - 100 / eta]])  # the logarithms of the weights, both above 900, differ by 100
    simplex = MirrorDescent(mirror="entropy", **parameters).partial_fit(x, [1])
    assert simplex.coef_[0] == pytest.approx([1, np.exp(-100)], rel=1e-8)
    assert EG(**parameters).partial_fit(x, [1]).coef_[0] == pytest.approx([1, np.exp(-100)], rel=1e-8)


def test_exponentiated_gradient_applies_eta_once():
    """Lecture 002, algorithm 3, has eta in theta and in the exponent; and its (5) does not sum to 1."""
    X, y = noisy(11)
    eta = 0.3
    theta, twice = np.zeros(D), np.zeros(D)
    for x, label in zip(X, signed(y), strict=True):
        theta += eta * label * x * (label * (softmax(theta) @ x) < 1)
        twice += eta * label * x * (label * (softmax(eta * twice) @ x) < 1)
    ours = MirrorDescent(mirror="entropy", eta=eta, n_features=D, fit_intercept=False).partial_fit(X, y).coef_[0]
    assert ours == pytest.approx(softmax(theta), abs=1e-12)
    assert np.abs(ours - softmax(eta * twice)).max() > 0.05
    assert ours.sum() == pytest.approx(1)


def test_the_slack_is_never_negative():
    """The lecture's (13) leaves out the max: every example would move w, those with a large margin too."""
    X, y = noisy(12)
    model = MirrorDescent(eta=0.3, fit_intercept=False)
    w, passive = np.zeros(D), 0
    for x, label, W in zip(X, signed(y), one_by_one(model, X, y), strict=True):
        passive += label * (w @ x) >= 1
        w = w + 0.3 * label * x * (label * (w @ x) < 1)
        assert W[0, :-1] == pytest.approx(w, abs=1e-12)
    assert passive
    assert np.abs(0.3 * signed(y) @ X - w).max() > 0.1


@pytest.mark.parametrize("make", [lambda **k: MirrorDescent(mirror="entropy", **k), EG], ids=["entropy", "EG"])
@labels_2_4
def test_features_that_do_not_come_have_their_share(make, labels):
    """n_features fixes the number of weights; weights without a column belong to features that are 0."""
    X, y = noisy(13, labels=labels)
    narrow = make(n_features=10, eta=0.3).partial_fit(X, y)
    wide = make(n_features=10, eta=0.3).partial_fit(np.column_stack([X, np.zeros((len(X), 4))]), y)
    exact = make(n_features=D, eta=0.3).partial_fit(X, y)
    assert narrow.decision_function(X) == pytest.approx(
        wide.decision_function(np.column_stack([X, np.zeros((len(X), 4))])), abs=1e-12
    )
    assert narrow.coef_[:, :D] == pytest.approx(wide.coef_[:, :D], abs=1e-12)
    assert np.abs(narrow.coef_[:, :D] - exact.coef_).max() > 1e-3


# ---- EG


@labels_2_4
@pytest.mark.parametrize("U", [0.5, 4.0])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_eg_stays_in_its_ball(labels, U, loss):
    """|w|_1 <= U, whatever the sign of the weights."""
    X, y = noisy(14, labels=labels)
    lengths, lowest = [], 0.0
    for W in one_by_one(EG(U=U, loss=loss, eta=1.0, n_features=D), X, y):
        lengths.append(norm(W, 1))
        lowest = min(lowest, W.min())
    assert max(lengths) <= U * (1 + 1e-9)
    assert max(lengths) > 0.5 * U
    assert lowest < 0


@labels_2_4
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
def test_eg_is_multiplicative(labels, loss):
    """Kivinen and Warmuth: w+ and w- are multiplied by exp(-+ eta U z) and then scaled to a sum of U."""
    X, y = noisy(15, labels=labels)
    eta, U, rows = 0.2, 2.5, 1 if labels == 2 else labels
    plus = np.full((rows, D + 1), U / (2 * rows * (D + 1)))
    minus = plus.copy()
    model = EG(eta=eta, U=U, loss=loss, n_features=D, classes=list(range(labels)))
    seen = set()
    for x, label, W in zip(X, y.tolist(), one_by_one(model, X, y), strict=True):
        row, w = np.append(x, 1.0), plus - minus
        delta = difference(w, row, label, seen)
        z = SLOPES[loss](np.sum(w * delta)) * delta
        seen.add(label)
        plus, minus = plus * np.exp(-eta * U * z), minus * np.exp(eta * U * z)
        total = (plus + minus).sum()
        plus, minus = U * plus / total, U * minus / total
        assert pytest.approx(plus - minus, abs=1e-10) == W


# ---- regret


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("T", [200, 2000])
def test_regret_on_the_simplex(seed, T):
    """G sqrt(2 T ln K) over the best vertex, with eta = sqrt(2 ln K / T) / G. No margin is above 1: a linear loss."""
    rng = np.random.default_rng(seed)
    K = 10
    X = rng.uniform(-1, 1, (T, K))
    y = signed(X[:, 3] + rng.standard_normal(T))
    model = MirrorDescent(mirror="entropy", eta=np.sqrt(2 * np.log(K) / T), n_features=K, fit_intercept=False)
    w, loss = np.full(K, 1 / K), 0.0
    for x, label, W in zip(X, y, one_by_one(model, X, y), strict=True):
        loss += 1 - label * (w @ x)
        w = W[0, :-1]
    best = (1 - y[:, None] * X).sum(axis=0).min()
    assert loss - best <= np.sqrt(2 * T * np.log(K))
    assert loss < T - 0.2 * (T - best) or T == 200  # and it does learn


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("U", [1.0, 3.0])
def test_regret_of_eg(seed, U):
    """U G sqrt(2 T ln 2K) over the best of the 2K vertices +-U e_j, hinge losses being convex."""
    rng = np.random.default_rng(seed)
    T, K = 1500, 8
    X = rng.uniform(-1, 1, (T, K))
    y = signed(-X[:, 2] + 0.5 * rng.standard_normal(T))
    model = EG(eta=np.sqrt(2 * np.log(2 * K) / T) / U, U=U, n_features=K, fit_intercept=False)
    w, loss = np.zeros(K), 0.0
    for x, label, W in zip(X, y, one_by_one(model, X, y), strict=True):
        loss += max(0, 1 - label * (w @ x))
        w = W[0, :-1]
    vertices = np.vstack([U * np.eye(K), -U * np.eye(K)])
    best = np.maximum(0, 1 - y[:, None] * (X @ vertices.T)).sum(axis=0).min()
    assert loss - best <= U * np.sqrt(2 * T * np.log(2 * K))
    assert loss < 0.95 * T


# ---- AdaGrad


@labels_2_4
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_adagrad_divides_by_the_root_of_its_squares(labels, loss):
    """w_j -= eta g_j / sqrt(sum g_j^2): the first step of a weight is eta, whatever the size of its feature."""
    X, y = noisy(16, labels=labels, density=0.5)
    X = X * [1e-3, 1, 1, 1, 1, 1e3]
    eta, rows = 0.3, 1 if labels == 2 else labels
    W, G, seen = np.zeros((rows, D + 1)), np.zeros((rows, D + 1)), set()
    model = OGD(loss=loss, schedule="adagrad", eta=eta, classes=list(range(labels)))
    first = 0
    for x, label, new in zip(X, y.tolist(), one_by_one(model, X, y), strict=True):
        delta = difference(W, np.append(x, 1.0), label, seen)
        g = SLOPES[loss](np.sum(W * delta)) * delta
        seen.add(label)
        fresh = (G == 0) & (g != 0)
        G = G + g * g
        expected = W - eta * g / np.sqrt(np.where(G > 0, G, 1))
        assert np.abs(new[fresh]) == pytest.approx(eta)
        assert new == pytest.approx(expected, abs=1e-9)
        assert (new[g == 0] == W[g == 0]).all()
        W = new
        first += fresh.sum()
    assert first == rows * (D + 1)


def test_adagrad_regression():
    rng = np.random.default_rng(17)
    X = rng.standard_normal((150, D)) * (rng.random((150, D)) < 0.5)
    y = X @ rng.standard_normal(D) + 1
    w, G = np.zeros(D + 1), np.zeros(D + 1)
    model = OGDRegressor(schedule="adagrad", eta=0.5)
    for x, target, new in zip(X, y, one_by_one(model, X, y), strict=True):
        row = np.append(x, 1.0)
        g = (w @ row - target) * row
        G += g * g
        w = w - 0.5 * g / np.sqrt(np.where(G > 0, G, 1))
        assert new[0] == pytest.approx(w, abs=1e-9)
    assert np.mean((model.predict(X) - y) ** 2) < 0.1 * np.var(y)


@pytest.mark.parametrize("cls", [OGD, OGDRegressor])
def test_adagrad_has_no_ball(cls):
    """AdaGrad refuses a radius: its projection would be in the norm of its squares."""
    X, y = noisy(18)
    with pytest.raises(ParameterError, match="radius"):
        cls(schedule="adagrad", radius=1.0).partial_fit(X, y)


# ---- averages

AVERAGES = [
    (Perceptron, {}),
    (Perceptron, {"update": "uniform"}),
    (Perceptron, {"update": "proportional", "eta": 0.3}),
    (OGD, {}),
    (OGD, {"loss": "logistic", "schedule": "constant", "eta": 0.2}),
    (OGD, {"radius": 0.5}),
    (OGD, {"radius": 3.0, "schedule": "constant", "loss": "squared_hinge", "eta": 0.3}),
    (OGD, {"schedule": "adagrad", "eta": 0.2}),
    (PA, {}),
    (PA, {"variant": "II", "C": 0.1}),
    (SoftSVM, {"lam": 0.1}),
    (SoftSVM, {"lam": 0.1, "variant": "pegasos"}),
    (ALMA, {}),
    (ALMA, {"normalize": False, "alpha": 0.5}),
    (ALMA, {"p": 4, "normalize": False}),
    (ROMMA, {}),
    (AggressiveROMMA, {}),
    (MIRA, {}),
    (MirrorDescent, {"eta": 0.3}),
    (MirrorDescent, {"eta": 2.0, "schedule": "inverse"}),
    (MirrorDescent, {"eta": 1.0, "schedule": "sqrt", "variant": "mirror"}),
    (MirrorDescent, {"mirror": "pnorm", "p": 3, "schedule": "sqrt"}),
    (MirrorDescent, {"mirror": "entropy", "eta": 0.3, "n_features": D}),
    (EG, {"U": 3.0, "eta": 0.3, "n_features": D}),
]
REGRESSIONS = [
    (OGDRegressor, {"eta": 0.2}),
    (OGDRegressor, {"schedule": "adagrad", "eta": 0.2}),
    (OGDRegressor, {"radius": 0.5, "eta": 0.2}),
    (PARegressor, {}),
    (PARegressor, {"variant": "hard"}),
]


def case_name(value):
    return value.__name__ if isinstance(value, type) else "-".join(map(str, value.values())) or "default"


def check_average(make, X, y, start):
    """The average equals the mean of the weights before each row, where `start` is the first."""
    plain = make(average=False)
    total, means = np.zeros_like(start), []
    for t, W in enumerate(one_by_one(plain, X, y), 1):
        total += start
        means.append(total / t)
        start = W
    tolerance = 1e-9 * np.abs(means).max()
    for T in (1, 2, 17, len(X)):
        for rows in (X[:T], csr_matrix(X[:T])):
            averaged = make(average=True).partial_fit(rows, y[:T])
            assert joint(averaged) == pytest.approx(means[T - 1], abs=tolerance)
    by_row = make(average=True)
    errors = [np.abs(W - mean).max() for mean, W in zip(means, one_by_one(by_row, X, y), strict=True)]
    assert max(errors) <= tolerance
    assert by_row.updates_ == plain.updates_
    assert by_row.t_ == len(X)
    assert np.abs(means[-1] - start).max() > 1e5 * tolerance
    scores = X @ means[-1][:, :-1].T + means[-1][:, -1]
    found = by_row.decision_function(X) if hasattr(by_row, "decision_function") else by_row.predict(X)
    assert np.abs(found - (scores if len(means[-1]) > 1 else scores[:, 0])).max() <= 1e-9 * np.abs(scores).max()


@labels_2_4
@pytest.mark.parametrize(("cls", "parameters"), AVERAGES, ids=case_name)
def test_average_is_the_mean_of_what_met_the_examples(cls, parameters, labels):
    """Each row of zeros counts as a round. The stream is long enough for shrinking weights to become small."""
    X, y = noisy(19, n=400, labels=labels, density=0.4)
    X[[10, 30, 31]] = 0
    rows = 1 if labels == 2 else labels
    start = np.zeros((rows, D + 1))
    if parameters.get("mirror") == "entropy":
        start += 1 / start.size
    check_average(lambda **more: cls(**parameters, **more, classes=list(range(labels))), X, y, start)


@pytest.mark.parametrize(("cls", "parameters"), REGRESSIONS, ids=case_name)
def test_average_of_regressors(cls, parameters):
    X, y = noisy(20, n=400, density=0.4)
    X[[10, 30, 31]] = 0
    check_average(lambda **more: cls(**parameters, **more), X, y - 0.3 * X.sum(axis=1), np.zeros((1, D + 1)))


@labels_2_4
@pytest.mark.parametrize(
    ("cls", "parameters"),
    [
        (OGD, {"radius": 0.05, "schedule": "constant"}),
        (MirrorDescent, {"mirror": "entropy", "eta": 3.0, "n_features": D}),
        (EG, {"eta": 3.0, "n_features": D}),
        (ALMA, {"alpha": 0.3, "normalize": False, "C": 100.0}),
        (ALMA, {"alpha": 0.3, "normalize": False, "C": 100.0, "p": 4}),
    ],
    ids=case_name,
)
def test_average_of_what_is_scaled_in_every_round(cls, parameters, labels):
    """Each step shrinks all earlier weights; the sum must not lose digits by subtracting larger numbers."""
    X, y = noisy(21, n=300, labels=labels, density=0.4)
    start = np.full((1 if labels == 2 else labels, D + 1), 0.0)
    if parameters.get("mirror") == "entropy":
        start += 1 / start.size
    check_average(lambda **more: cls(**parameters, **more, classes=list(range(labels))), X, y, start)


@labels_2_4
def test_averaged_perceptron_is_the_average_of_the_perceptron(labels):
    X, y = noisy(22, labels=labels)
    assert (joint(Perceptron(average=True).partial_fit(X, y)) == joint(AveragedPerceptron().partial_fit(X, y))).all()


@pytest.mark.parametrize(("cls", "parameters"), [case for case in AVERAGES if case[0] is not SoftSVM], ids=case_name)
def test_average_is_not_the_default(cls, parameters):
    X, y = noisy(23, n=40)
    default, plain = cls(**parameters).partial_fit(X, y), cls(**parameters, average=False).partial_fit(X, y)
    assert (joint(default) == joint(plain)).all()


def test_finite_where_theta_falls_back_to_almost_nothing():
    """The constant's theta returns to 0 by steps of one size, and what is left is denormal; or, with a large p, so much
    smaller than what was there that the sum of the powers is rounding."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (40, 4))
    for sizes in (5e-324, 1e-320, 1e-160, 10.0 ** np.linspace(-320, 50, 4)):
        for classes, p, loss, variant in product(
            (2, 3), (2.0, 3.0, 101.5), ("hinge", "squared_hinge"), ("ftrl", "mirror")
        ):
            model = MirrorDescent(mirror="pnorm", p=p, loss=loss, variant=variant, eta=1.0)
            for x, y in zip(signs * sizes, rng.integers(0, classes, 40), strict=True):
                model.partial_fit(x[None], [y])
                state = model.__getstate__()["state"]
                assert all(np.isfinite(part).all() for part in state.values()), (sizes, model)
            assert np.isfinite(model.coef_).all()
