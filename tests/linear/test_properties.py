"""Claims of the papers on first-order methods."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from seriatim import OGD, PA, AveragedPerceptron, OGDRegressor, PARegressor, Perceptron, SoftSVM, VotedPerceptron
from seriatim.evaluate import progressive

PERCEPTRONS = (Perceptron, AveragedPerceptron, VotedPerceptron)
SEEDS = range(20)


def noisy(seed, n=200, d=6, labels=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.argmax(X @ rng.standard_normal((d, labels)) + rng.standard_normal((n, labels)), axis=1)


def joint(model):
    """All weights as one vector, with the intercept."""
    return np.concatenate([np.ravel(model.coef_), np.ravel(model.intercept_)])


# ---- perceptrons


def test_worked_example_of_the_lecture():
    model = Perceptron(fit_intercept=False)
    after = [[4, 0], [3, -1], [3, -1], [1, -3]]
    for x, y, w in zip([[4, 0], [1, 1], [0, 1], [-2, -2]], [1, -1, -1, 1], after, strict=True):
        assert model.partial_fit([x], [y]).coef_.tolist() == [w]
    assert model.updates_ == 3


@pytest.mark.parametrize("seed", range(50))
def test_perceptron_mistake_bound(seed):
    """Novikoff: a unit vector with margin gamma allows (R / gamma)^2 mistakes, in any number of passes."""
    rng = np.random.default_rng(seed)
    planted = rng.standard_normal(8)
    planted /= np.linalg.norm(planted)
    X = rng.standard_normal((3000, 8))
    X = X[np.abs(X @ planted) > 0.3]
    y = np.where(X @ planted > 0, 1, -1)
    bound = (np.linalg.norm(X, axis=1).max() / np.abs(X @ planted).min()) ** 2
    run = progressive(Perceptron(fit_intercept=False), np.tile(X, (3, 1)), np.tile(y, 3))
    assert 0 < run.mistakes <= run.updates <= bound


@pytest.mark.parametrize("seed", range(10))
def test_multiclass_perceptron_mistake_bound(seed):
    """Novikoff's bound in the joint feature map, whose vectors have sqrt(2) times the norm."""
    rng = np.random.default_rng(seed)
    planted = rng.standard_normal((4, 6))
    planted /= np.linalg.norm(planted)
    X = rng.standard_normal((3000, 6))
    scores = np.sort(X @ planted.T, axis=1)
    X = X[scores[:, -1] - scores[:, -2] > 0.1]
    scores = np.sort(X @ planted.T, axis=1)
    y = np.argmax(X @ planted.T, axis=1)
    bound = 2 * (np.linalg.norm(X, axis=1) ** 2).max() / (scores[:, -1] - scores[:, -2]).min() ** 2
    run = progressive(Perceptron(fit_intercept=False, classes=[0, 1, 2, 3]), X, y)
    assert 0 < run.updates <= bound


@pytest.mark.parametrize("cls", PERCEPTRONS)
@pytest.mark.parametrize("labels", [2, 4])
def test_eta_changes_no_prediction(cls, labels):
    """Powers of two scale a float without rounding, so even ties must be the same."""
    X, y = noisy(1, labels=labels)
    runs = [progressive(cls(eta=eta), X, y) for eta in (1.0, 2.0**-10, 2.0**10)]
    assert len({run.mistakes for run in runs}) == 1
    for run in runs:
        assert (run.model.predict(X) == runs[0].model.predict(X)).all()


def test_lazy_average_over_features_that_are_long_absent():
    """The lazy sum of 12,000 vectors is exact, though features are absent for thousands of rounds."""
    rng = np.random.default_rng(2)
    n, d = 12_000, 300
    X = random_array((n, d), density=0.004, rng=rng, format="csr", dtype=float)
    X.data = np.round(8 * X.data) / 8
    y = np.where(rng.random(n) < 0.5, -1, 1)
    w, total = np.zeros(d + 1), np.zeros(d + 1)
    for x, label in zip(X.toarray(), y, strict=True):
        row = np.append(x, 1.0)
        total += w
        if label * (w @ row) <= 0:
            w += label * row
    model = AveragedPerceptron().partial_fit(csr_matrix(X), y)
    # All numbers are multiples of 1/8 far below 2^53: both sums are exact, and so is their quotient.
    assert (joint(model) == total / n).all()


def test_voted_perceptron_counts_every_round_after_the_first_mistake():
    X, y = noisy(3)
    model = VotedPerceptron().partial_fit(X, y)
    votes = model.decision_function(X)
    assert np.abs(votes).max() <= len(X)
    assert (votes % 2 == len(X) % 2).all()
    with pytest.raises(AttributeError, match="no weights"):
        _ = model.coef_


# ---- passive-aggressive


def step_by_step(model, X, y):
    """(weights before, x, y, weights after) for each example after the first few, the constant feature included."""
    model.partial_fit(X[:20], y[:20])
    for x, label in zip(X[20:], y[20:], strict=True):
        before = model.coef_.copy(), np.copy(model.intercept_)
        model.partial_fit(x[None, :], [label])
        yield before, x, label, (model.coef_, model.intercept_)


@pytest.mark.parametrize("seed", SEEDS)
def test_hard_pa_reaches_a_margin_of_one(seed):
    X, y = noisy(seed)
    for (w, b), x, label, (new, bias) in step_by_step(PA(variant="hard"), X, y):
        sign = 1 if label else -1
        if sign * (w[0] @ x + b[0]) < 1:
            assert sign * (new[0] @ x + bias[0]) == pytest.approx(1, abs=1e-9)
        else:
            assert (new == w).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_hard_multiclass_pa_reaches_a_margin_of_one(seed):
    X, y = noisy(seed, labels=4)
    y[:4] = [0, 1, 2, 3]  # a label that has not been seen would not compete
    changed = 0
    for (W, b), x, label, (new, bias) in step_by_step(PA(variant="hard", classes=[0, 1, 2, 3]), X, y):
        rival = max((k for k in range(4) if k != label), key=lambda k: (W @ x + b)[k])
        if (W @ x + b)[label] - (W @ x + b)[rival] < 1:
            after = new @ x + bias
            assert after[label] - after[rival] == pytest.approx(1, abs=1e-9)
            changed += 1
    assert changed


@pytest.mark.parametrize("seed", SEEDS)
def test_hard_regression_ends_within_epsilon(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((200, 5)), rng.standard_normal(200)
    for (w, b), x, target, (new, bias) in step_by_step(PARegressor(variant="hard", epsilon=0.3), X, y):
        before, after = abs(target - w @ x - b), abs(target - new @ x - bias)
        assert after == pytest.approx(0.3 if before > 0.3 else before, abs=1e-9)


@pytest.mark.parametrize("C", [0.001, 0.1, 1.0])
@pytest.mark.parametrize("labels", [2, 4])
def test_pa_one_steps_no_further_than_c(C, labels):
    """|w' - w| = tau |delta| <= C |delta|, and with a small C some steps reach this bound."""
    X, y = noisy(4, labels=labels)
    longest = 0.0
    for (W, b), x, _, (new, bias) in step_by_step(PA(C=C, classes=list(range(labels))), X, y):
        moved = np.sqrt(np.sum((new - W) ** 2) + np.sum((bias - b) ** 2))
        tau = moved / np.sqrt((1 if labels == 2 else 2) * (x @ x + 1))
        assert tau <= C * (1 + 1e-9)
        longest = max(longest, tau)
    assert longest == pytest.approx(C) or C == 1.0


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("labels", [2, 3])
def test_pa_solves_its_problem(variant, labels):
    """w' minimises |w' - w|^2 / 2 + C xi (or C xi^2), xi its hinge loss: no nearby vector is better."""
    rng = np.random.default_rng(5)
    C = 0.3
    X, y = noisy(6, n=80, labels=labels)
    y[:3] = [0, 1, labels - 1]

    def objective(W, old, row, label, rival):
        margin = (1 if label else -1) * (W[0] @ row) if labels == 2 else W[label] @ row - W[rival] @ row
        xi = max(0.0, 1 - margin)
        return np.sum((W - old) ** 2) / 2 + C * (xi if variant == "I" else xi * xi)

    for (W, b), x, label, (new, bias) in step_by_step(PA(C=C, variant=variant, classes=list(range(labels))), X, y):
        row, old, ours = np.append(x, 1.0), np.column_stack([W, b]), np.column_stack([new, bias])
        rival = None if labels == 2 else max((k for k in range(labels) if k != label), key=lambda k: (old @ row)[k])
        best = objective(ours, old, row, label, rival)
        for size in (1e-1, 1e-3, 1e-5):
            for _ in range(5):
                other = ours + size * rng.standard_normal(ours.shape)
                assert objective(other, old, row, label, rival) >= best - 1e-12


@pytest.mark.parametrize("variant", ["I", "II"])
def test_pa_regression_solves_its_problem(variant):
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((100, 4)), rng.standard_normal(100)
    C, epsilon = 0.2, 0.1

    def objective(w, old, row, target):
        xi = max(0.0, abs(target - w @ row) - epsilon)
        return np.sum((w - old) ** 2) / 2 + C * (xi if variant == "I" else xi * xi)

    for (w, b), x, target, (new, bias) in step_by_step(PARegressor(C=C, epsilon=epsilon, variant=variant), X, y):
        row, old, ours = np.append(x, 1.0), np.append(w, b), np.append(new, bias)
        best = objective(ours, old, row, target)
        for size in (1e-1, 1e-3, 1e-5):
            for _ in range(5):
                assert objective(ours + size * rng.standard_normal(5), old, row, target) >= best - 1e-12


# ---- gradient descent and the SVM


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("radius", [0.01, 1.0, 3.0])
def test_ogd_stays_in_its_ball(loss, labels, radius):
    X, y = noisy(8, n=500, labels=labels)
    model = OGD(loss=loss, radius=radius, eta=0.5)
    norms = []
    for begin in range(0, 500, 5):
        model.partial_fit(X[begin : begin + 5], y[begin : begin + 5])
        norms.append(np.linalg.norm(joint(model)))
    assert max(norms) <= radius * (1 + 1e-9)
    assert max(norms) > radius * (1 - 1e-6) or radius == 3.0


def test_ogd_regressor_stays_in_its_ball():
    rng = np.random.default_rng(9)
    model = OGDRegressor(radius=0.5, eta=0.1)
    for x, target in zip(rng.standard_normal((300, 5)), 3 * rng.standard_normal(300), strict=True):
        model.partial_fit(x[None, :], [target])
        assert np.linalg.norm(joint(model)) <= 0.5 * (1 + 1e-9)


def test_ogd_regret_bound():
    """3 R G sqrt(T) over the best vector of the ball, which is at least as good as the planted one."""
    rng = np.random.default_rng(10)
    X = rng.standard_normal((2000, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    planted = rng.standard_normal(5)
    planted *= 2 / np.linalg.norm(planted)
    y = np.where(X @ planted + 0.2 * rng.standard_normal(2000) > 0, 1, -1)
    run = progressive(OGD(eta=2.0, radius=2.0, fit_intercept=False), X, y)
    comparator = np.maximum(0, 1 - y * (X @ planted)).sum()
    assert run.loss - comparator <= 3 * 2.0 * 1.0 * np.sqrt(2000)


@pytest.mark.parametrize("lam", [1e-4, 0.1])
@pytest.mark.parametrize("labels", [2, 4])
def test_svm_weights_are_theta_over_lambda_t(lam, labels):
    """theta, which is lambda (t + 1) w, moves by the example or not at all."""
    X, y = noisy(11, n=300, labels=labels)
    model = SoftSVM(lam=lam, average=False, classes=list(range(labels)))
    thetas = []
    for x, label in zip(X, y, strict=True):
        model.partial_fit(x[None, :], [label])
        thetas.append(lam * (model.t_ + 1) * np.column_stack([model.coef_, model.intercept_]))
    updates = 0
    for (before, after), x in zip(pairwise(thetas), X[1:], strict=True):
        moved = np.abs(after - before)
        row = np.append(x, 1.0)
        expected = np.zeros_like(moved) if moved.max() < 1e-6 else np.where(moved[:, -1:] > 0.5, np.abs(row), 0)
        assert moved == pytest.approx(expected, abs=1e-8)
        updates += moved.max() >= 1e-6
    assert 0 < updates <= model.updates_


def test_pegasos_and_mirror_agree_in_the_long_run():
    """theta / (lambda t) and theta / (lambda (t + 1)) differ by a factor that tends to 1."""
    X, y = noisy(12, n=5000)
    models = [SoftSVM(lam=0.01, variant=v, average=False).partial_fit(X, y) for v in ("mirror", "pegasos")]
    # Not the same steps: on noise each moves by up to 1 / (lambda t), 2% of w here, and a few of them differ.
    assert joint(models[0]) == pytest.approx(joint(models[1]), abs=0.05 * np.abs(joint(models[0])).max())
