"""Claims of the papers on second-order methods, and misprints and mistakes elsewhere that this code does not repeat."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import norm

from seriatim import AROW, CW, IELLIP, NAROW, NHERD, SCW, SOP, AROWRegressor
from seriatim.errors import LimitError, ParameterError

SEEDS = range(5)
SECOND_ORDER = (CW, SCW, AROW, NHERD, SOP, NAROW, IELLIP)

seeds = pytest.mark.parametrize("seed", SEEDS)
covariances = pytest.mark.parametrize("covariance", ["diagonal", "full"])
two_or_four = pytest.mark.parametrize("labels", [2, 4])
every = pytest.mark.parametrize("cls", SECOND_ORDER)


def noisy(seed, n=60, d=4, labels=2):
    """A stream whose first examples show every label, as an unseen label does not compete."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.argmax(X @ rng.standard_normal((d, labels)) + rng.standard_normal((n, labels)), axis=1)
    y[:labels] = range(labels)
    return X, y


def singles(seed, n=80, d=4, labels=2):
    """Rows with one value each: the diagonal form is then exact."""
    X, y = noisy(seed, n, d, labels)
    return X * (np.arange(d) == np.random.default_rng(seed).integers(0, d, n)[:, None]), y


def gaussian(model):
    """The mean and the covariance of each row of weights; one row for two labels. The constant feature comes first."""
    mu = np.column_stack([np.reshape(model.intercept_, -1), np.atleast_2d(model.coef_)])
    state, n, factor = model.__getstate__()["state"], mu.shape[1], 1.0
    if isinstance(model, IELLIP):  # which leaves out the factor of the whole matrix
        factor = np.prod([1 / (1 - model.c * model.b**k) for k in range(model.updates_)])
    if model.covariance == "diagonal":
        return mu, factor * state["sigma"].T[:, :, None] * np.eye(n)
    square, (columns, rows) = np.zeros((len(mu), n, n)), np.tril_indices(n)
    square[:, rows, columns] = state["factors"]
    D = square * np.eye(n)
    U = square - D + np.eye(n)
    return mu, factor * U @ D @ U.transpose(0, 2, 1)


class Step:
    """The effect of one example: the Gaussian before and after it, with the margin m and the variance v under each.

    `delta` is the example: y x for two labels, else x in the row of its label and -x in that of the strongest rival.
    `k` is the number of updates before it.
    """

    def __init__(self, before, after, x, label, k):
        (self.mu, self.sigma), (self.new_mu, self.new_sigma), self.k = before, after, k
        self.x, scores = x, self.mu @ x
        self.delta = np.zeros_like(self.mu)
        if len(self.mu) == 1:
            self.delta[0] = x if label else -x
        else:
            self.delta[label] += x
            self.delta[max((k for k in range(len(scores)) if k != label), key=lambda k: scores[k])] -= x
        self.m, self.new_m = np.sum(self.mu * self.delta), np.sum(self.new_mu * self.delta)
        self.direction = np.einsum("kij,kj->ki", self.sigma, self.delta)  # Sigma delta
        self.v = np.sum(self.delta * self.direction)
        self.new_v = np.einsum("ki,kij,kj->", self.delta, self.new_sigma, self.delta)
        self.moved = not np.array_equal(self.sigma, self.new_sigma)

    @property
    def alpha(self):
        return (self.new_m - self.m) / self.v

    def c(self, kept=1.0):
        """The c of Sigma'^-1 = kept (Sigma^-1 + c delta delta'), or of its diagonal."""
        gain = np.linalg.inv(self.new_sigma) / kept - np.linalg.inv(self.sigma)
        outer = self.delta[:, :, None] * self.delta[:, None, :]
        if not np.count_nonzero(self.new_sigma * (1 - np.eye(outer.shape[-1]))):
            outer = outer * np.eye(outer.shape[-1])
        c = np.sum(gain * outer) / np.sum(outer * outer)
        assert gain == pytest.approx(c * outer, abs=1e-7 * np.abs(np.linalg.inv(self.new_sigma)).max())
        return c


def steps(model, X, y, intercept=True):
    """A Step for each example after those that show the labels."""
    first = len(set(y.tolist()))
    model.partial_fit(X[:first], y[:first])
    before, k = gaussian(model), model.updates_
    for x, label in zip(X[first:], y[first:], strict=True):
        after = gaussian(model.partial_fit(x[None, :], [label]))
        yield Step(before, after, np.append(float(intercept), x), label, k)
        before, k = after, model.updates_


def updates(model, X, y, intercept=True):
    """The steps that changed the model; at least one."""
    found = [step for step in steps(model, X, y, intercept) if step.moved]
    assert found
    return found


def near(ours, theirs, within=1e-10):
    assert abs(ours - theirs) <= within * max(1, abs(ours), abs(theirs)), (ours, theirs)


def divergence(mu, sigma, old_mu, old_sigma):
    """KL(N(mu, sigma) || N(old_mu, old_sigma)), the sum over the rows."""
    inverse, change = np.linalg.inv(old_sigma), mu - old_mu
    logs = np.linalg.slogdet(old_sigma)[1] - np.linalg.slogdet(sigma)[1]
    traces = np.einsum("kij,kji->k", inverse, sigma)
    return np.sum(logs + traces + np.einsum("ki,kij,kj->k", change, inverse, change) - mu.shape[1]) / 2


def perturbed(rng, mu, sigma, size, diagonal=False):
    """A random Gaussian at a distance of about `size`, measured by sigma."""
    root = np.linalg.cholesky(sigma)
    noise = rng.standard_normal(sigma.shape) * (np.eye(mu.shape[1]) if diagonal else 1)
    factor = root @ (np.eye(mu.shape[1]) + size * noise)
    return mu + size * np.einsum("kij,kj->ki", root, rng.standard_normal(mu.shape)), factor @ factor.transpose(0, 2, 1)


# ---- what all of them share


@two_or_four
@covariances
@pytest.mark.parametrize("cls", [CW, SCW, AROW, NHERD, IELLIP])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_step_is_along_sigma_x(cls, covariance, labels, intercept):
    """mu' = mu + alpha Sigma delta; Sigma'^-1 = Sigma^-1 + c delta delta' or its diagonal, c the same for both rows."""
    X, y = noisy(1, labels=labels)
    b = {"b": 0.9} if cls is IELLIP else {}
    model = cls(covariance=covariance, fit_intercept=intercept, classes=list(range(labels)), **b)
    for step in updates(model, X, y, intercept):
        assert step.alpha > 0
        assert step.new_mu == pytest.approx(step.mu + step.alpha * step.direction, abs=1e-10)
        assert step.c(kept=1 - 0.1 * 0.9**step.k if b else 1) > 0


@two_or_four
@every
@pytest.mark.parametrize("intercept", [True, False])
def test_full_and_diagonal_agree_on_rows_of_one_value(cls, labels, intercept):
    """Without an intercept no two features occur together, and both forms agree. With one they differ."""
    X, y = singles(2, labels=labels)
    models = [cls(covariance=kind, fit_intercept=intercept).partial_fit(X, y) for kind in ("diagonal", "full")]
    (mu, sigma), (full_mu, full_sigma) = map(gaussian, models)
    scale = np.abs(full_mu).max()
    if intercept:
        assert np.abs(mu - full_mu).max() > 1e-3 * scale
        return
    assert mu == pytest.approx(full_mu, abs=1e-9 * scale)
    assert sigma == pytest.approx(full_sigma, rel=1e-9, abs=1e-12)
    scores = [model.decision_function(X) for model in models]
    assert scores[0] == pytest.approx(scores[1], abs=1e-9 * np.abs(scores[0]).max())


def test_full_and_diagonal_regressors_agree_on_rows_of_one_value():
    X, y = singles(3)
    y = y + X.sum(axis=1)
    models = [AROWRegressor(covariance=kind, fit_intercept=False).partial_fit(X, y) for kind in ("diagonal", "full")]
    (mu, sigma), (full_mu, full_sigma) = map(gaussian, models)
    assert mu == pytest.approx(full_mu, abs=1e-10)
    assert sigma == pytest.approx(full_sigma, abs=1e-10)


@two_or_four
@covariances
@every
def test_rows_of_zeros_take_no_step(cls, covariance, labels):
    X, y = noisy(4, labels=labels)
    model = cls(covariance=covariance, fit_intercept=False).partial_fit(X, y)
    (mu, sigma), t = gaussian(model), model.t_
    model.partial_fit(np.zeros((labels, X.shape[1])), list(range(labels)))
    new_mu, new_sigma = gaussian(model)
    assert np.array_equal(mu, new_mu) and np.array_equal(sigma, new_sigma)
    assert model.t_ == t + labels


@two_or_four
@covariances
@every
def test_the_average_is_that_of_the_vectors_on_the_way(cls, covariance, labels):
    X, y = noisy(5, labels=labels)
    classes = list(range(labels))
    plain = cls(covariance=covariance, classes=classes)
    averaged = cls(covariance=covariance, classes=classes, average=True).partial_fit(X, y)
    total = 0.0  # w_1 = 0
    for x, label in zip(X[:-1], y[:-1], strict=True):
        plain.partial_fit(x[None, :], [label])
        total = total + np.column_stack([plain.intercept_, plain.coef_])
    mean = total / len(y)
    ours = np.column_stack([averaged.intercept_, averaged.coef_])
    assert ours == pytest.approx(mean, abs=1e-9 * np.abs(mean).max())
    scores = np.column_stack([np.ones(len(X)), X]) @ mean.T
    assert averaged.decision_function(X) == pytest.approx(scores[:, 0] if labels == 2 else scores, abs=1e-9)
    plain.partial_fit(X[-1:], y[-1:])
    assert gaussian(plain)[1] == pytest.approx(gaussian(averaged)[1], rel=1e-12, abs=1e-15)


# ---- confidence-weighted


def reach(variant, eta, v):
    """The margin that CW requires at a variance."""
    return norm.ppf(eta) * (v if variant == "variance" else np.sqrt(v))


@seeds
@pytest.mark.parametrize("variant", ["stdev", "variance"])
@pytest.mark.parametrize("eta", [0.6, 0.7, 0.9])
def test_cw_makes_its_constraint_tight(variant, eta, seed):
    X, y = noisy(seed)
    changed = 0
    for step in steps(CW(variant=variant, eta=eta, covariance="full"), X, y):
        assert step.moved == (step.m < reach(variant, eta, step.v))
        if step.moved:
            near(step.new_m, reach(variant, eta, step.new_v))
            changed += 1
    assert changed > 5


@seeds
@pytest.mark.parametrize("variant", ["stdev", "variance"])
def test_diagonal_cw_is_tight_on_rows_of_one_value(variant, seed):
    X, y = singles(seed)
    for step in updates(CW(variant=variant, fit_intercept=False), X, y, intercept=False):
        near(step.new_m, reach(variant, 0.7, step.new_v))


@seeds
@covariances
@two_or_four
@pytest.mark.parametrize("variant", ["stdev", "variance"])
def test_cw_solves_for_the_joint_variance(variant, covariance, labels, seed):
    """m + alpha v meets the constraint at u = v / (1 + c v), the variance that the full joint matrix would have."""
    X, y = noisy(seed, n=40, labels=labels)
    for step in updates(CW(variant=variant, covariance=covariance, classes=list(range(labels))), X, y):
        near(step.new_m, reach(variant, 0.7, step.v / (1 + step.c() * step.v)), 1e-7)
        near(step.new_m, step.m + step.alpha * step.v)


@seeds
@pytest.mark.parametrize("variant", ["stdev", "variance"])
def test_cw_is_the_nearest_gaussian_that_meets_its_constraint(variant, seed):
    rng = np.random.default_rng(seed)
    X, y = noisy(seed, n=30)
    for step in updates(CW(variant=variant, covariance="full"), X, y):
        best = divergence(step.new_mu, step.new_sigma, step.mu, step.sigma)
        for size in (1e-1, 1e-2, 1e-3):
            mu, sigma = perturbed(rng, step.new_mu, step.new_sigma, size)
            v = np.einsum("ki,kij,kj->", step.delta, sigma, step.delta)
            lacking = max(0, reach(variant, 0.7, v) - np.sum(mu * step.delta))
            mu = mu + lacking / step.v * step.direction
            assert divergence(mu, sigma, step.mu, step.sigma) >= best - 1e-10 * max(1, best)


@two_or_four
@pytest.mark.parametrize(("cls", "variant"), [(CW, "stdev"), (CW, "variance"), (SCW, "I"), (SCW, "II")])
def test_noise_drives_no_number_out_of_range(cls, variant, labels):
    """Random labels never satisfy eta = 0.95: the variances of CW shrink without end."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((5000, 20)), rng.integers(0, labels, 5000)
    model = cls(eta=0.95, variant=variant)
    for begin in range(0, 5000, 500):
        model.partial_fit(X[begin : begin + 500], y[begin : begin + 500])
        mu, sigma = gaussian(model)
        assert np.isfinite(mu).all() and np.isfinite(sigma).all() and (sigma >= 0).all()
        assert np.isfinite(model.decision_function(X)).all()
        chances = model.predict_proba(X[:50])
        assert (chances >= 0).all() and chances.sum(axis=1) == pytest.approx(1)


# ---- soft confidence-weighted


@seeds
@pytest.mark.parametrize("C", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("variant", ["I", "II"])
def test_scw_meets_its_optimality_conditions(variant, C, seed):
    """xi the slack: 0 <= alpha <= C, xi (C - alpha) = 0 for SCW-I; alpha = 2 C xi for SCW-II."""
    X, y = noisy(seed)
    phi, clipped = norm.ppf(0.75), 0
    for step in steps(SCW(C=C, variant=variant, covariance="full"), X, y):
        assert step.moved == (step.m < phi * np.sqrt(step.v))
        if not step.moved:
            continue
        slack = phi * np.sqrt(step.new_v) - step.new_m
        near(1 / step.new_v - 1 / step.v, step.alpha * phi / np.sqrt(step.new_v))
        assert slack >= -1e-10
        if variant == "I":
            assert step.alpha <= C * (1 + 1e-10)
            near(min(C - step.alpha, slack), 0)
            clipped += slack > 1e-6
        else:
            near(step.alpha, 2 * C * slack)
    assert clipped or variant == "II" or C > 0.1


@seeds
@pytest.mark.parametrize("variant", ["I", "II"])
def test_scw_solves_its_problem(variant, seed):
    rng = np.random.default_rng(seed)
    X, y = noisy(seed, n=30)
    C, phi = 0.3, norm.ppf(0.75)

    def objective(step, mu, sigma):
        slack = phi * np.sqrt(np.einsum("ki,kij,kj->", step.delta, sigma, step.delta)) - np.sum(mu * step.delta)
        slack = max(0, slack)
        return divergence(mu, sigma, step.mu, step.sigma) + C * (slack if variant == "I" else slack**2)

    for step in updates(SCW(C=C, variant=variant, covariance="full"), X, y):
        best = objective(step, step.new_mu, step.new_sigma)
        for size in (1e-1, 1e-2, 1e-3):
            other = perturbed(rng, step.new_mu, step.new_sigma, size)
            assert objective(step, *other) >= best - 1e-10 * max(1, best)


# ---- AROW and NHERD


@seeds
@covariances
@two_or_four
def test_arow_solves_its_problem(covariance, labels, seed):
    """KL + hinge^2 / (2 r) + v / (2 r): mean and covariance part there, so a diagonal and blocks are exact."""
    rng = np.random.default_rng(seed)
    X, y = noisy(seed, n=30, labels=labels)
    r = 0.7

    def objective(step, mu, sigma):
        hinge = max(0, 1 - np.sum(mu * step.delta))
        v = np.einsum("ki,kij,kj->", step.delta, sigma, step.delta)
        return divergence(mu, sigma, step.mu, step.sigma) + (hinge**2 + v) / (2 * r)

    for step in updates(AROW(r=r, covariance=covariance, classes=list(range(labels))), X, y):
        best = objective(step, step.new_mu, step.new_sigma)
        for size in (1e-1, 1e-2, 1e-3):
            other = perturbed(rng, step.new_mu, step.new_sigma, size, covariance == "diagonal")
            assert objective(step, *other) >= best - 1e-10 * max(1, best)


@seeds
@pytest.mark.parametrize("r", [0.1, 1.0, 7.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_arow_regression_is_ridge_regression(r, intercept, seed):
    """Sigma_1 = I and Sigma^-1 += x x' / r: after every example the solution of (r I + X'X) w = X'y."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((40, 4)), 3 * rng.standard_normal(40)
    rows = np.column_stack([np.full(40, float(intercept)), X])
    model = AROWRegressor(r=r, covariance="full", fit_intercept=intercept)
    for t in range(1, 41):
        model.partial_fit(X[t - 1 : t], y[t - 1 : t])
        matrix = r * np.eye(5) + rows[:t].T @ rows[:t]
        mu, sigma = gaussian(model)
        assert mu[0] == pytest.approx(np.linalg.solve(matrix, rows[:t].T @ y[:t]), abs=1e-9)
        assert sigma[0] == pytest.approx(r * np.linalg.inv(matrix), abs=1e-9)


@seeds
def test_diagonal_arow_regression(seed):
    """mu += ((y - f) / (v + r)) Sigma x and Sigma_j /= 1 + Sigma_j x_j^2 / r, for every example."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((40, 4)), 3 * rng.standard_normal(40)
    model, mu, sigma = AROWRegressor(r=0.5), np.zeros(5), np.ones(5)
    for x, target in zip(X, y, strict=True):
        model.partial_fit(x[None, :], [target])
        row = np.append(1.0, x)
        mu = mu + (target - mu @ row) / (sigma @ row**2 + 0.5) * sigma * row
        sigma = sigma / (1 + sigma * row**2 / 0.5)
        assert gaussian(model)[0][0] == pytest.approx(mu, abs=1e-10)
        assert np.diag(gaussian(model)[1][0]) == pytest.approx(sigma, rel=1e-10)


@seeds
@two_or_four
@pytest.mark.parametrize("C", [0.1, 1.0, 4.0])
def test_both_forms_of_nherd_agree(C, labels, seed):
    """Sigma - ((C^2 v + 2 C) / (1 + C v)^2) Sigma x x' Sigma is Sigma^-1 + (2 C + C^2 v) x x' inverted."""
    X, y = noisy(seed, labels=labels)
    for step in updates(NHERD(C=C, covariance="full", classes=list(range(labels))), X, y):
        near(step.alpha, (1 - step.m) / (step.v + 1 / C))
        outer = step.delta[:, :, None] * step.delta[:, None, :]
        inverted = np.linalg.inv(np.linalg.inv(step.sigma) + (2 * C + C**2 * step.v) * outer)
        assert step.new_sigma == pytest.approx(inverted, abs=1e-10)
        if labels == 2:
            drop = (C**2 * step.v + 2 * C) / (1 + C * step.v) ** 2
            dropped = step.sigma - drop * step.direction[:, :, None] * step.direction[:, None, :]
            assert step.new_sigma == pytest.approx(dropped, abs=1e-10)


# ---- the second-order perceptron, NAROW and the ellipsoid


@seeds
@pytest.mark.parametrize("a", [0.3, 1.0, 3.0])
def test_sop_scores_with_the_example_in_the_matrix(a, seed):
    """theta' (A + x x')^-1 x = theta' A^-1 x / (1 + x' A^-1 x)."""
    X, y = noisy(seed)
    model = SOP(a=a, covariance="full").partial_fit(X, y)
    (mu,), (sigma,) = gaussian(model)
    rows = np.column_stack([np.ones(len(X)), X])
    chi = np.einsum("ti,ij,tj->t", rows, sigma, rows)
    assert model.decision_function(X) == pytest.approx(rows @ mu / (1 + chi), abs=1e-10)
    inclusive = [np.linalg.solve(sigma, mu) @ np.linalg.solve(np.linalg.inv(sigma) + np.outer(x, x), x) for x in rows]
    assert model.decision_function(X) == pytest.approx(np.array(inclusive), abs=1e-8)


@seeds
def test_sop_scores_each_label_with_the_example_in_its_matrix(seed):
    X, y = noisy(seed, labels=3)
    rows = np.column_stack([np.ones(len(X)), X])
    for covariance in ("diagonal", "full"):
        model = SOP(covariance=covariance).partial_fit(X, y)
        mu, sigma = gaussian(model)
        for k in range(3):
            A = np.linalg.inv(sigma[k])
            kept = A * 0 + 1 if covariance == "full" else np.eye(len(A))
            scores = [(A @ mu[k]) @ np.linalg.solve(A + np.outer(x, x) * kept, x) for x in rows]
            assert model.decision_function(X)[:, k] == pytest.approx(np.array(scores), abs=1e-8)


def narow_says(step, b):
    """The margin with which NAROW decides on an update."""
    return step.m / max(1, b * step.v)


@seeds
@covariances
@two_or_four
@pytest.mark.parametrize("b", [0.3, 1.0, 5.0])
def test_narow_takes_the_authors_step(b, covariance, labels, seed):
    """theta += delta wherever the margin, shrunk by b chi > 1, is below 1; Sigma^-1 += (b - 1 / chi) delta delta'."""
    X, y = noisy(seed, n=40, labels=labels)
    grown = stayed = 0
    for step in steps(NAROW(b=b, covariance=covariance, classes=list(range(labels))), X, y):
        theta, new_theta = np.linalg.solve(
            np.stack([step.sigma, step.new_sigma]), np.stack([step.mu, step.new_mu])[..., None]
        )[..., 0]
        if abs(narow_says(step, b) - 1) > 1e-9:
            expected = step.delta if narow_says(step, b) < 1 else 0
            assert new_theta == pytest.approx(theta + expected, abs=1e-7 * max(1, np.abs(theta).max()))
        if step.moved:
            assert b * step.v > 1
            near(step.c(), b - 1 / step.v, 1e-6)
            grown += 1
        else:
            stayed += 1
    assert grown and stayed


@covariances
@pytest.mark.parametrize("labels", [2, 3])
def test_narow_scores_two_labels_with_the_shrunk_margin(covariance, labels):
    """With three or more labels the score is w_k.x: NAROW shrinks margins between pairs of labels."""
    X, y = noisy(20, labels=labels)
    model = NAROW(b=2.0, covariance=covariance).partial_fit(X, y)
    (mu, sigma), rows = gaussian(model), np.column_stack([np.ones(len(X)), 2 * X])
    chi = np.einsum("ti,ij,tj->t", rows, sigma[0], rows)
    assert (2 * chi > 1).any() and (2 * chi < 1).any()
    scores = rows @ mu[0] / np.maximum(1, 2 * chi) if labels == 2 else rows @ mu.T
    assert model.decision_function(2 * X) == pytest.approx(scores, abs=1e-10)


@covariances
def test_narow_moves_on_short_rows(covariance):
    """|x|^2 <= 1 / b, so Sigma stays I. In LIBOL's form r is then infinite, and its weights stay 0."""
    X, y = noisy(7)
    X = X / (2 * np.linalg.norm(X, axis=1, keepdims=True))
    model = NAROW(b=1.0, covariance=covariance, fit_intercept=False)
    theta = np.zeros(4)
    for x, label in zip(X, y, strict=True):
        sign = 1 if label else -1
        if sign * (theta @ x) < 1:
            theta = theta + sign * x
        model.partial_fit(x[None, :], [label])
    (mu,), (sigma,) = gaussian(model)
    assert np.abs(theta).max() > 0.5
    assert mu[1:] == pytest.approx(theta, abs=1e-12)
    assert np.array_equal(sigma, np.eye(5))


@covariances
def test_narow_uses_its_b(covariance):
    """The parameter b counts; LIBOL reads another option in its place."""
    X, y = noisy(8)
    spread = [np.trace(gaussian(NAROW(b=b, covariance=covariance).partial_fit(X, y))[1][0]) for b in (0.1, 1.0, 10.0)]
    assert spread[0] > 1.1 * spread[1] > 1.1**2 * spread[2]


@seeds
@covariances
@pytest.mark.parametrize("b", [0.3, 0.9])
def test_iellip_keeps_a_share_of_the_inverse(b, covariance, seed):
    """Sigma'^-1 = (1 - c_k) Sigma^-1 + c_k g g', g = y x / sqrt(v); afterwards the margin is 1."""
    X, y = noisy(seed)
    changed = 0
    for step in steps(IELLIP(b=b, c=0.4, covariance=covariance), X, y):
        assert step.moved == (step.m <= 0)
        if step.moved:
            c, g = 0.4 * b**step.k, step.delta / np.sqrt(step.v)
            outer = g[:, :, None] * g[:, None, :] * (np.eye(5) if covariance == "diagonal" else 1)
            inverse = (1 - c) * np.linalg.inv(step.sigma) + c * outer
            assert np.linalg.inv(step.new_sigma) == pytest.approx(inverse, abs=1e-9)
            near(step.new_m, 1)
            changed += 1
    assert changed > 3


@covariances
def test_iellip_widens_every_label(covariance):
    """1 / (1 - c_k) is a factor of the joint matrix, also for labels outside the update and for later labels."""
    X, y = noisy(9, labels=4)
    model, widened = IELLIP(c=0.4, b=0.9, covariance=covariance, fit_intercept=False), 1.0
    for step in updates(model, X, y, intercept=False):
        others, factor = ~step.delta.any(axis=1), 1 / (1 - 0.4 * 0.9**step.k)
        assert step.new_sigma[others] == pytest.approx(factor * step.sigma[others], rel=1e-12, abs=1e-15)
    for k in range(model.updates_):
        widened /= 1 - 0.4 * 0.9**k
    model.partial_fit(np.zeros((1, 4)), [4])
    assert widened > 2
    assert gaussian(model)[1][4][1:, 1:] == pytest.approx(widened * np.eye(4), rel=1e-12)


# ---- probabilities


@pytest.mark.parametrize("cls", [CW, SCW, AROW])
@covariances
@pytest.mark.parametrize("labels", [2, 3])
def test_probabilities_are_those_of_drawn_weights(cls, covariance, labels):
    """predict_proba equals the frequency with which each label wins under weights drawn from N(mu, Sigma)."""
    rng = np.random.default_rng(10)
    X, y = noisy(11, n=25, labels=labels)
    model = cls(covariance=covariance).partial_fit(X, y)
    mu, sigma = gaussian(model)
    draws = 100_000
    roots = np.linalg.cholesky(sigma)
    weights = mu[:, None, :] + np.einsum("kij,ktj->kti", roots, rng.standard_normal((len(mu), draws, mu.shape[1])))
    probe = 1.5 * rng.standard_normal((12, 4))
    chances = model.predict_proba(probe)
    assert chances.shape == (12, labels)
    assert chances.sum(axis=1) == pytest.approx(1, abs=1e-9)
    for x, ours in zip(np.column_stack([np.ones(12), probe]), chances, strict=True):
        scores = weights @ x
        won = (scores[0] >= 0).astype(int) if labels == 2 else np.argmax(scores, axis=0)
        drawn = np.bincount(won, minlength=labels) / draws
        assert ours == pytest.approx(drawn, abs=5 * 0.5 / np.sqrt(draws))
    assert 0.05 < np.median(chances[:, 0]) < 0.95


@pytest.mark.parametrize("cls", [CW, SCW, AROW])
@covariances
def test_no_variance_and_no_score_is_an_even_chance(cls, covariance):
    X, y = noisy(12)
    model = cls(covariance=covariance, fit_intercept=False).partial_fit(X, y)
    assert model.predict_proba(np.zeros((1, 4))).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("cls", [NHERD, SOP, NAROW, IELLIP])
def test_the_others_give_no_probabilities(cls):
    assert not hasattr(cls().partial_fit(*noisy(13)), "predict_proba")


# ---- misprints of the literature


@seeds
def test_cw_diag_uses_squares(seed):
    """Sigma^-1 += 2 alpha phi diag(x), as printed, means the squares: only they meet the constraint."""
    X, y = singles(seed)
    phi, missed = norm.ppf(0.7), 0.0
    for step in updates(CW(variant="variance", fit_intercept=False), X, y, intercept=False):
        j = np.flatnonzero(step.x)[0]
        old, new, x = step.sigma[0, j, j], step.new_sigma[0, j, j], step.x[j]
        near(1 / new, 1 / old + 2 * step.alpha * phi * x**2)
        near(step.new_m, phi * x**2 * new)
        printed = 1 / (1 / old + 2 * step.alpha * phi * abs(x))
        missed = max(missed, abs(step.new_m - phi * x**2 * printed))
    assert missed > 1e-2


def test_cw_variants_are_two_algorithms():
    """The first paper's constraint is linear in the variance; the true one has the deviation."""
    X, y = noisy(16)
    phi = norm.ppf(0.7)
    for variant, other in (("stdev", "variance"), ("variance", "stdev")):
        found = updates(CW(variant=variant, covariance="full"), X, y)
        assert max(abs(step.new_m - reach(variant, 0.7, step.new_v)) for step in found) < 1e-10
        assert max(abs(step.new_m - reach(other, 0.7, step.new_v)) for step in found) > 0.1 * phi


@pytest.mark.parametrize("eta", [0.6, 0.75, 0.95])
def test_phi_is_the_quantile_of_the_normal_distribution(eta):
    """Of the density with e^(-t^2 / 2). With e^(-t^2), as printed in one place, it would be less by sqrt(2)."""
    for step in updates(CW(eta=eta, covariance="full"), *noisy(17)):
        phi = step.new_m / np.sqrt(step.new_v)
        near(norm.cdf(phi), eta)
        assert abs(norm(scale=np.sqrt(0.5)).cdf(phi) - eta) > 0.02


@seeds
def test_cw_measures_from_the_old_mean(seed):
    """KL(N(mu, S) || N(mu, S_i)), as printed, asks nothing for a move of the mean: S would never change."""
    phi = norm.ppf(0.7)
    for step in updates(CW(covariance="full"), *noisy(seed, n=30)):
        printed = step.mu + (phi * np.sqrt(step.v) - step.m) / step.v * step.direction
        free = divergence(step.new_mu, step.new_sigma, step.new_mu, step.sigma)
        assert free > divergence(printed, step.sigma, printed, step.sigma) == pytest.approx(0, abs=1e-9)
        ours = divergence(step.new_mu, step.new_sigma, step.mu, step.sigma)
        assert ours < divergence(printed, step.sigma, step.mu, step.sigma)


@seeds
@pytest.mark.parametrize("variant", ["I", "II"])
def test_scw_subtracts_an_outer_product(variant, seed):
    """Sigma x x' Sigma has rank one; Sigma x' x Sigma, as printed, is a multiple of Sigma^2."""
    for step in updates(SCW(variant=variant, covariance="full"), *noisy(seed, n=30)):
        drop = step.sigma[0] - step.new_sigma[0]
        values = np.linalg.svd(drop, compute_uv=False)
        assert values[1] < 1e-10 < values[0]
        printed = values[0] * (step.sigma @ step.sigma)[0]
        assert np.linalg.matrix_rank(printed) == len(printed)


@covariances
@two_or_four
@pytest.mark.parametrize("cls", [SOP, IELLIP])
def test_a_score_of_zero_is_a_mistake(cls, covariance, labels):
    """With the test m < 0, a model with w = 0 would never learn."""
    X, y = noisy(18, labels=labels)
    model = cls(covariance=covariance, classes=list(range(labels))).partial_fit(X[:2], y[:2])
    assert model.updates_ >= 1
    assert np.abs(model.coef_).max() > 0


# ---- mistakes of other implementations


@seeds
def test_scw2_squares_v_and_phi(seed):
    """LIBOL has v * 2 and phi * 2 under the root, and what it finds is not optimal."""
    C, phi = 1.0, norm.ppf(0.9)
    worst = 0.0
    for step in updates(SCW(C=C, eta=0.9, variant="II", covariance="full"), *noisy(seed)):
        m, v, n = step.m, step.v, step.v + 1 / (2 * C)

        def alpha(square, m=m, v=v, n=n):
            root = np.sqrt(phi**4 * m**2 * square(v) + 4 * n * v * phi**2 * (n + v * square(phi)))
            return max(0, (-(2 * m * n + phi**2 * m * v) + root) / (2 * (n**2 + n * v * phi**2)))

        def residual(alpha, m=m, v=v):
            u = (np.sqrt((alpha * v * phi) ** 2 + 4 * v) - alpha * v * phi) ** 2 / 4
            return abs(alpha - 2 * C * (phi * np.sqrt(u) - m - alpha * v))

        near(step.alpha, alpha(lambda z: z**2), 1e-9)
        near(residual(step.alpha), 0, 1e-9)
        worst = max(worst, residual(alpha(lambda z: z * 2)))
    assert worst > 0.1


@seeds
@covariances
@two_or_four
def test_sop_updates_only_on_mistakes(covariance, labels, seed):
    """LIBOL adds every example to the matrix."""
    X, y = noisy(seed, labels=labels)
    model = SOP(covariance=covariance, classes=list(range(labels)))
    right = wrong = 0
    model.partial_fit(X[:labels], y[:labels])
    for x, label in zip(X[labels:], y[labels:], strict=True):
        (mu, sigma), scores = gaussian(model), model.decision_function(x[None, :])[0]
        rival = 0.0 if labels == 2 else max(scores[k] for k in range(labels) if k != label)
        m = (scores if label else -scores) if labels == 2 else scores[label] - rival
        model.partial_fit(x[None, :], [label])
        new_mu, new_sigma = gaussian(model)
        if m > 0:
            assert np.array_equal(mu, new_mu) and np.array_equal(sigma, new_sigma)
            right += 1
        else:
            gain = np.trace(np.linalg.inv(new_sigma) - np.linalg.inv(sigma), axis1=1, axis2=2).sum()
            assert gain == pytest.approx((1 if labels == 2 else 2) * (1 + x @ x), rel=1e-8)
            wrong += 1
    assert right and wrong


@seeds
@covariances
def test_sop_shows_whitened_weights(covariance, seed):
    """coef_ is Sigma theta; LIBOL's model holds theta itself and predicts with it."""
    X, y = noisy(seed)
    model, theta, before = SOP(covariance=covariance), np.zeros(5), 0
    for x, label in zip(X, y, strict=True):
        model.partial_fit(x[None, :], [label])
        if model.updates_ > before:
            theta += (1 if label else -1) * np.append(1.0, x)
            before = model.updates_
    (mu,), (sigma,) = gaussian(model)
    assert mu == pytest.approx(sigma @ theta, abs=1e-9)
    assert np.abs(mu - theta).max() > 0.1


@covariances
def test_sop_a_scales_the_matrix_not_its_inverse(covariance):
    x = np.array([[1.0, -2.0, 0.5]])
    (sigma,) = gaussian(SOP(a=4.0, covariance=covariance, fit_intercept=False).partial_fit(x, [1]))[1]
    outer = np.outer(x, x) * (np.eye(3) if covariance == "diagonal" else 1)
    assert np.linalg.inv(sigma)[1:, 1:] == pytest.approx(4 * np.eye(3) + outer, abs=1e-10)
    assert np.abs(np.linalg.inv(sigma)[1:, 1:] - np.eye(3) / 4 - outer).max() > 1


@seeds
@covariances
def test_multiclass_cw_reaches_its_constraint(covariance, seed):
    """LIBOL's alpha for two rows of one covariance solves m + 2 alpha v = phi sqrt(.) for neither u nor 2 u."""
    X, y = noisy(seed, n=40, labels=3)
    phi, missed = norm.ppf(0.7), np.zeros(2)
    psi = 1 + phi**2 / 2
    for step in updates(CW(covariance=covariance, classes=[0, 1, 2]), X, y):
        near(step.new_m, phi * np.sqrt(step.v / (1 + step.c() * step.v)), 1e-7)
        m, v = step.m, step.v / 2
        alpha = (-m * psi + np.sqrt(m**2 * psi**2 - m**2 * psi + 2 * v * phi**2 * psi)) / (2 * v * psi)
        root = np.sqrt((-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 8 * v)) ** 2 / 8)
        missed = np.maximum(missed, np.abs(m + 2 * alpha * v - phi * root * np.array([1, np.sqrt(2)])))
    assert (missed > 1e-2).all()


@seeds
@covariances
def test_multiclass_arow_does_not_overshoot(covariance, seed):
    """Both rows move, so v is the sum of both variances. LIBOL uses one, and overshoots the margin of 1 to 2 - m."""
    X, y = noisy(seed, labels=3)
    r, over = 1e-6, 0
    for step in updates(AROW(r=r, covariance=covariance, classes=[0, 1, 2]), X, y):
        assert step.new_m <= 1 + 1e-9
        near(step.new_m, step.m + (1 - step.m) * step.v / (step.v + r), 1e-6)
        v = [d @ sigma @ d for d, sigma in zip(step.delta, step.sigma, strict=True) if d.any()]
        if max(v) < 3 * min(v):  # LIBOL has one covariance for all
            theirs = step.m + (1 - step.m) * step.v / (max(v) + r)
            over += theirs > 1.1
    assert over


@seeds
def test_iellip_c_advances_per_update(seed):
    """LIBOL's c shrinks in every round, so its ellipsoid stops changing after about six rounds."""
    X, y = noisy(seed)
    apart = 0
    for t, step in enumerate(steps(IELLIP(b=0.9, c=0.3, covariance="full"), X, y), start=2):
        if step.moved:
            # tr(Sigma^-1 Sigma') = (n - c) / (1 - c)
            trace = np.trace(np.linalg.solve(step.sigma[0], step.new_sigma[0]))
            c = (trace - 5) / (trace - 1)
            near(c, 0.3 * 0.9**step.k, 1e-8)
            apart = max(apart, abs(c - 0.3 * 0.9**t))
    assert apart > 0.05


@seeds
def test_eccw_divides_by_sqrt_u(seed):
    """SOL multiplies by it in 1 / Sigma_j += (alpha phi / sqrt(u)) x_j^2, and misses the variance it solved for."""
    X, y = singles(seed)
    phi, missed = norm.ppf(0.7), 0.0
    for step in updates(CW(fit_intercept=False), X, y, intercept=False):
        alpha, v = step.alpha, step.v
        u = (np.sqrt((alpha * v * phi) ** 2 + 4 * v) - alpha * v * phi) ** 2 / 4
        near(step.new_v, u, 1e-9)
        missed = max(missed, abs(v / (1 + alpha * phi * np.sqrt(u) * v) - u))
    assert missed > 1e-2


@seeds
@covariances
def test_eccw_compares_with_the_deviation(covariance, seed):
    """SOL updates where m < phi v. Some examples lie between the two, on either side."""
    X, y = noisy(seed, n=100)
    phi, between = norm.ppf(0.7), 0
    for step in steps(CW(eta=0.7, covariance=covariance), X, y):
        assert step.moved == (step.m < phi * np.sqrt(step.v))
        between += step.moved != (step.m < phi * step.v)
    assert between


@seeds
@covariances
@two_or_four
def test_dogma_arow_mean_step(covariance, labels, seed):
    """The mean moves by (1 - m) / (r + v), where DOGMA has (1 - m) / (1 + v)."""
    X, y = noisy(seed, labels=labels)
    for step in updates(AROW(r=3.0, covariance=covariance, classes=list(range(labels))), X, y):
        near(step.alpha, (1 - step.m) / (3 + step.v), 1e-9)
        near(step.c(), 1 / 3, 1e-7)
        assert step.alpha < 0.97 * (1 - step.m) / (1 + step.v)


@seeds
def test_diagonal_arow_is_the_inverse_form(seed):
    """1 / Sigma_j += x_j^2 / r; Jubatus drops Sigma_j by beta Sigma_j^2 x_j^2, another number from the first row on."""
    apart = 0.0
    for step in updates(AROW(r=0.5), *noisy(seed)):
        old, new = np.diag(step.sigma[0]), np.diag(step.new_sigma[0])
        assert new == pytest.approx(old / (1 + old * step.x**2 / 0.5), rel=1e-10)
        apart = max(apart, np.abs(new - old + old**2 * step.x**2 / (0.5 + step.v)).max())
    assert apart > 1e-2


def test_r_and_c_point_the_papers_way():
    """A larger r gives smaller steps and a larger C larger ones; other libraries swap them."""
    x, y = np.array([[1.0, 2.0]]), [1]
    for cls in (AROW, AROWRegressor):
        lengths = [np.abs(cls(r=r).partial_fit(x, y).coef_).max() for r in (0.1, 1.0, 10.0)]
        assert lengths[0] > lengths[1] > lengths[2]
    for cls in (SCW, NHERD):
        lengths = [np.abs(cls(C=C).partial_fit(x, y).coef_).max() for C in (0.01, 0.1)]
        assert lengths[0] < lengths[1]


# ---- memory


def test_a_full_covariance_beyond_the_limit_is_refused():
    """20,000 features are 1.49 GiB of numbers, and the limit is 2^30 bytes."""
    wide = csr_matrix(([1.0], ([0], [19_999])), shape=(1, 20_000))
    with pytest.raises(LimitError, match=r'20,?000 features.* 1\.5 GiB.* limit is 1 GiB.*covariance="diagonal"'):
        AROW(covariance="full").partial_fit(wide, [1])
    assert AROW().partial_fit(wide, [1]).coef_.shape == (1, 20_000)


@two_or_four
def test_an_example_beyond_the_limit_changes_nothing(labels):
    X, y = noisy(19, labels=labels)
    model = AROW(covariance="full")
    for x, label in zip(X, y, strict=True):
        model.learn_one({f"x{j}": value for j, value in enumerate(x)}, int(label))
    (mu, sigma), t = gaussian(model), model.t_
    with pytest.raises(LimitError, match='covariance="diagonal"'):
        model.learn_one({f"z{j}": 1.0 for j in range(20_000)}, 0)
    new_mu, new_sigma = gaussian(model)
    assert np.array_equal(mu, new_mu) and np.array_equal(sigma, new_sigma) and model.t_ == t


# ---- the importance of an example


@seeds
@covariances
@pytest.mark.parametrize("g", [0.25, 3.0])
def test_importance_of_an_example(covariance, g, seed):
    """r / g for AROW, g C for NHERD and SCW."""
    X, y = noisy(seed, n=40)
    phi = norm.ppf(0.75)

    def last(model):
        model.partial_fit(X[:-1], y[:-1])
        before, k = gaussian(model), model.updates_
        model.partial_fit(X[-1:], 1 - y[-1:], sample_weight=[g])
        return Step(before, gaussian(model), np.append(1.0, X[-1]), 1 - y[-1], k)

    step = last(AROW(r=2.0, covariance=covariance))
    if step.m < 1:
        near(step.alpha, (1 - step.m) / (step.v + 2 / g), 1e-8)
        near(step.c(), g / 2, 1e-8)
    step = last(NHERD(C=0.5, covariance=covariance))
    if step.m < 1:
        near(step.alpha, (1 - step.m) / (step.v + 2 / g), 1e-8)
        near(step.c(), g + (g / 2) ** 2 * step.v, 1e-8)
    for variant in ("I", "II"):
        step = last(SCW(C=0.1, variant=variant, covariance=covariance))
        slack = phi * np.sqrt(step.v / (1 + step.c() * step.v)) - step.m - step.alpha * step.v
        if step.moved and variant == "I":
            near(min(0.1 * g - step.alpha, slack), 0, 1e-8)
        elif step.moved:
            near(step.alpha, 2 * 0.1 * g * slack, 1e-8)


def test_importance_of_a_target():
    """With the squared loss a row of weight 3 equals three rows. A row of weight 0 counts as a round only."""
    rng = np.random.default_rng(14)
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    weights = rng.integers(0, 4, 30)
    weighted = AROWRegressor(covariance="full").partial_fit(X, y, sample_weight=weights)
    repeated = AROWRegressor(covariance="full").partial_fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for ours, theirs in zip(gaussian(weighted), gaussian(repeated), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-10)
    assert (weighted.t_, repeated.t_) == (30, weights.sum())


@pytest.mark.parametrize("cls", [CW, SOP, NAROW, IELLIP])
def test_no_importance_where_the_rule_has_no_place_for_it(cls):
    X, y = noisy(15)
    with pytest.raises(ParameterError, match="weight"):
        cls().partial_fit(X, y, sample_weight=np.full(len(y), 2.0))


# ---- where numbers end


@pytest.mark.parametrize("scale", [1e4, 1e6, 1e9])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("cls", [CW, SCW, AROW, NHERD, NAROW, SOP])
def test_a_full_covariance_stays_positive(cls, labels, scale):
    """Unscaled columns, such as a time in seconds, must not lead to a negative variance."""
    X, y = noisy(21, n=300, d=20, labels=labels)
    model = cls(covariance="full").partial_fit(scale * X, y)
    for sigma in gaussian(model)[1]:
        values = np.linalg.eigvalsh(sigma)
        assert values[0] >= -1e-9 * values[-1]
    if hasattr(model, "predict_proba"):
        assert np.isfinite(model.predict_proba(scale * X)).all()


@pytest.mark.parametrize("labels", [2, 3])
def test_full_cw_on_noise_keeps_a_positive_covariance(labels):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5000, 20)), rng.integers(0, labels, 5000)
    for sigma in gaussian(CW(eta=0.95, covariance="full").partial_fit(X, y))[1]:
        values = np.linalg.eigvalsh(sigma)
        assert values[0] >= -1e-9 * values[-1]


@covariances
@pytest.mark.parametrize("labels", [2, 3])
def test_iellip_widens_without_end(covariance, labels):
    """prod 1 / (1 - c b^k) is beyond 1e308 for b = 0.9999 and c = 0.5."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5000, 20)), rng.integers(0, labels, 5000)
    model = IELLIP(b=0.9999, c=0.5, covariance=covariance).partial_fit(X, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.decision_function(X)).all()
