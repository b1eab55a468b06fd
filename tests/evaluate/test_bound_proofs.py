"""The inequality of one round behind each bound, checked with the learner's weights in each round of random streams."""

import numpy as np
import pytest

from seriatim import (
    AROW,
    EG,
    OGD,
    PA,
    RDA,
    ROMMA,
    SOP,
    AggressiveROMMA,
    MirrorDescent,
    PARegressor,
    Perceptron,
    SoftSVM,
)

D, T = 4, 60
SLACK = 1e-9
seeds = pytest.mark.parametrize("seed", range(8))


def stream(seed, separable=False):
    """Rows with a constant margin of u, or noisy ones, and that u."""
    rng = np.random.default_rng(seed)
    X, u = rng.standard_normal((T, D)) * rng.choice([0.3, 1.0, 3.0]), rng.standard_normal(D)
    y = np.where(X @ u >= 0, 1.0, -1.0)
    if separable:
        X += y[:, None] * u
        u = u / (y * (X @ u)).min()
    else:
        y[rng.random(T) < 0.2] *= -1
    return X, y, u


def rounds(model, X, y):
    """x, y, and the weights before and after each round."""
    model.set_params(fit_intercept=False, **({"classes": [-1, 1]} if model.task == "classification" else {}))
    w = np.zeros(X.shape[1])
    if getattr(model, "mirror", None) == "entropy":
        w = np.full(X.shape[1], 1 / X.shape[1])
    for x, target in zip(X, y, strict=True):
        after = np.ravel(model.partial_fit(x[None], [target]).coef_).copy()
        yield x, target, w, after
        w = after


def hinge(w, x, y):
    return max(0.0, 1 - y * (w @ x))


@seeds
def test_perceptron(seed):
    """A mistake adds at least 1 - l(u) to u.w, and at most |x|^2 to |w|^2; so M - L <= |u| |w| <= |u| sqrt(S)."""
    X, y, u = stream(seed)
    for x, label, w, after in rounds(Perceptron(), X, y):
        if label * (w @ x) <= 0:
            assert u @ after - u @ w >= 1 - hinge(u, x, label) - SLACK
            assert after @ after - w @ w <= x @ x + SLACK
        else:
            assert (after == w).all()


@seeds
def test_perceptron_by_squares(seed):
    """With u' = (u, l_t / D) and x' = (x, D y e_t) all margins of u' are 1 or more, and the bound is Novikoff's for it.

    (R^2 + D^2)(|u|^2 + S / D^2) at the D that makes it least is (R |u| + sqrt(S))^2.
    """
    X, y, u = stream(seed)
    losses = np.array([hinge(u, x, label) for x, label in zip(X, y, strict=True)])
    R, S = np.linalg.norm(X, axis=1).max(), losses @ losses
    D2 = R * np.sqrt(S) / np.linalg.norm(u)
    longer_x, longer_u = np.hstack([X, np.sqrt(D2) * np.diag(y)]), np.append(u, losses / np.sqrt(D2))
    assert (y * (longer_x @ longer_u)).min() >= 1 - SLACK
    assert (R * R + D2) * (longer_u @ longer_u) == pytest.approx((R * np.linalg.norm(u) + np.sqrt(S)) ** 2)


@seeds
@pytest.mark.parametrize("cls", [ROMMA, AggressiveROMMA])
def test_romma(cls, seed):
    """No w is longer than a u with margins of 1, and each mistake adds at least 1 / |x|^2 to |w|^2."""
    X, y, u = stream(seed, separable=True)
    for x, label, w, after in rounds(cls(), X, y):
        assert after @ after <= (u @ u) * (1 + SLACK)
        if label * (w @ x) <= 0:
            assert after @ after - w @ w >= (1 - SLACK) / (x @ x)


@seeds
@pytest.mark.parametrize("variant", ["hard", "I", "II"])
@pytest.mark.parametrize("cls", [PA, PARegressor])
def test_passive_aggressive(cls, variant, seed):
    """|w - u|^2 - |w' - u|^2 >= tau (2 l(w) - tau |x|^2 - 2 l(u)), and what that says of each variant's tau."""
    X, y, u = stream(seed)
    model, C = cls(variant=variant, C=0.1), 0.1
    y = y if cls is PA else X @ u + 0.5 * y
    for x, target, w, after in rounds(model, X, y):
        own, best = (
            hinge(v, x, target) if cls is PA else max(0.0, abs(target - v @ x) - model.epsilon) for v in (w, u)
        )
        gain = (w - u) @ (w - u) - (after - u) @ (after - u)
        tau = np.linalg.norm(after - w) / np.linalg.norm(x)
        scale = 1 + w @ w + u @ u
        assert gain >= tau * (2 * own - tau * (x @ x) - 2 * best) - SLACK * scale
        if variant == "hard":  # 2 a b <= 2 |a| |b| sums to the bound of the theorem
            assert gain >= (own**2 - 2 * own * best) / (x @ x) - SLACK * scale
        elif variant == "I":
            assert gain >= tau * own - 2 * C * best - SLACK * scale
        else:
            assert gain >= own**2 / (x @ x + 1 / (2 * C)) - 2 * C * best**2 - SLACK * scale


SLOPES = {"hinge": lambda z: float(z > 0), "logistic": lambda z: 1 / (1 + np.exp(1 - z)), "squared": lambda z: z}
LOSSES = {
    "hinge": lambda z: max(0.0, z),
    "logistic": lambda z: np.log1p(np.exp(z - 1)),
    "squared": lambda z: z * z / 2,
}


@seeds
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ball", [None, 0.5])
def test_gradient_steps(loss, ball, seed):
    """l(w) - l(u) <= g.(w - u) <= (|w - u|^2 - |w' - u|^2) / (2 eta) + eta |g|^2 / 2 for any u in the ball."""
    X, y, u = stream(seed)
    u = u if ball is None else u * min(1, ball / np.linalg.norm(u))
    eta = 0.05
    for x, label, w, after in rounds(OGD(loss=loss, eta=eta, schedule="constant", radius=ball), X, y):
        z, best = 1 - label * (w @ x), 1 - label * (u @ x)
        g = -SLOPES[loss](z) * label * x
        assert LOSSES[loss](z) - LOSSES[loss](best) <= g @ (w - u) + SLACK
        change = ((w - u) @ (w - u) - (after - u) @ (after - u)) / (2 * eta)
        assert g @ (w - u) <= change + eta * (g @ g) / 2 + SLACK * (1 + abs(change))


def relative_entropy(u, w):
    return np.sum(u[u > 0] * np.log(u[u > 0] / w[u > 0]))


@seeds
@pytest.mark.parametrize("signs", [False, True])
def test_exponentiated_gradient(signs, seed):
    """eta g.(w - u) <= D(u, w) - D(u, w') + eta^2 |g|_inf^2 / 2, D the relative entropy on the simplex of w+ and w-."""
    X, y, u = stream(seed)
    eta, U = 0.1, 3.0 if signs else 1.0
    if signs:
        model, rows = EG(eta=eta, U=U, n_features=D), np.hstack([X, -X])
        u = np.append(np.maximum(u, 0), np.maximum(-u, 0))
    else:
        model, rows = MirrorDescent(mirror="entropy", eta=eta, n_features=D), X
    u = np.abs(u) / np.abs(u).sum()
    theta = np.zeros(rows.shape[1])
    for row, (x, label, w, after) in zip(rows, rounds(model, X, y), strict=True):
        p = np.exp(theta - theta.max())
        p /= p.sum()
        assert U * (p[:D] - p[D:] if signs else p) == pytest.approx(w, abs=1e-12)  # p is what the learner has
        g = -float(label * (w @ x) < 1) * label * U * row
        theta = theta - eta * g
        q = np.exp(theta - theta.max())
        q /= q.sum()
        change = relative_entropy(u, p) - relative_entropy(u, q)
        assert eta * g @ (p - u) <= change + eta**2 * np.abs(g).max() ** 2 / 2 + SLACK
        assert U * (q[:D] - q[D:] if signs else q) == pytest.approx(after, abs=1e-12)


@seeds
@pytest.mark.parametrize("p", [2.0, 3.0, 6.5])
def test_p_norms(p, seed):
    """eta g.(w - u) <= D(u, w) - D(u, w') + eta^2 (p - 1) |g|_p^2 / 2, D the Bregman divergence of |.|_q^2 / 2."""
    X, y, u = stream(seed)
    eta, q = 0.05, p / (p - 1)

    def half(w):
        return np.sum(np.abs(w) ** q) ** (2 / q) / 2

    def gradient(w):
        return np.sign(w) * np.abs(w) ** (q - 1) * np.sum(np.abs(w) ** q) ** (2 / q - 1) if w.any() else w

    def divergence(u, w):
        return half(u) - half(w) - gradient(w) @ (u - w)

    for x, label, w, after in rounds(MirrorDescent(mirror="pnorm", p=p, eta=eta), X, y):
        g = -float(label * (w @ x) < 1) * label * x
        change = divergence(u, w) - divergence(u, after)
        square = np.sum(np.abs(g) ** p) ** (2 / p)
        assert eta * g @ (w - u) <= change + eta**2 * (p - 1) * square / 2 + SLACK * (1 + abs(change))


@seeds
def test_strong_convexity(seed):
    """f = lambda |w|^2 / 2 + loss: f(w) - f(u) <= g.(w - u) - lambda |w - u|^2 / 2, and w' = w - g / (lambda t)."""
    X, y, u = stream(seed)
    lam = 0.2
    model = SoftSVM(lam=lam, variant="pegasos", average=False)
    for t, (x, label, w, after) in enumerate(rounds(model, X, y), 1):
        g = lam * w - float(label * (w @ x) < 1) * label * x
        difference = lam / 2 * (w @ w - u @ u) + hinge(w, x, label) - hinge(u, x, label)
        scale = 1 + w @ w + u @ u
        assert difference <= g @ (w - u) - lam / 2 * ((w - u) @ (w - u)) + SLACK * scale
        assert after == pytest.approx(w - g / (lam * t), abs=1e-9 * scale)


@seeds
def test_follow_the_leader(seed):
    """w minimises theta.w + lambda t |w|^2 / 2, theta the gradients before. A round adds g.w + lambda |w|^2 / 2 to it.

    The minimum then lies at most |g + lambda w|^2 / (2 lambda (t + 1)) below the value at w.
    """
    X, y, _ = stream(seed)
    lam, theta = 0.2, np.zeros(D)
    model = SoftSVM(lam=lam, variant="mirror", average=False)
    for t, (x, label, w, after) in enumerate(rounds(model, X, y), 1):
        g = -float(label * (w @ x) < 1) * label * x
        assert w == pytest.approx(-theta / (lam * t), abs=1e-9)
        theta = theta + g
        at_w, at_after = (theta @ v + lam * (t + 1) / 2 * (v @ v) for v in (w, after))
        slope = g + lam * w
        assert at_after - SLACK * (1 + abs(at_w)) <= at_w
        assert at_w - at_after <= slope @ slope / (2 * lam * (t + 1)) + SLACK * (1 + abs(at_w))


@seeds
def test_dual_averaging(seed):
    """After each round w minimises g.w + t lambda |w|_1 + gamma sqrt(t) h(w): no point around it is better."""
    X, y, _ = stream(seed)
    rng, lam, gamma, rho = np.random.default_rng(seed), 0.05, 2.0, 0.1
    g = np.zeros(D)
    for t, (x, label, w, after) in enumerate(rounds(RDA(lam=lam, gamma=gamma, rho=rho), X, y), 1):
        g -= float(label * (w @ x) < 1) * label * x
        points = np.vstack([after, after + 0.1 * rng.standard_normal((50, D))])
        lengths, h = np.abs(points).sum(axis=1), (points**2).sum(axis=1) / 2
        values = points @ g + t * lam * lengths + gamma * np.sqrt(t) * (h + rho * lengths)
        assert values[0] <= values.min() + SLACK * (1 + t)


@seeds
def test_second_order_perceptron(seed):
    """A mistake adds at most x' A'^-1 x to theta' A^-1 theta, and that is at most ln(det A' / det A)."""
    X, y, u = stream(seed)
    a = 0.5
    A, theta = a * np.eye(D), np.zeros(D)
    for x, label, w, after in rounds(SOP(covariance="full", a=a), X, y):
        assert w == pytest.approx(np.linalg.solve(A, theta), abs=1e-9)
        B = A + np.outer(x, x)
        if label * (theta @ np.linalg.solve(B, x)) <= 0:
            potential = theta @ np.linalg.solve(A, theta)
            B_theta = theta + label * x
            own = x @ np.linalg.solve(B, x)
            assert B_theta @ np.linalg.solve(B, B_theta) <= potential + own + SLACK * (1 + potential)
            assert own <= np.linalg.slogdet(B)[1] - np.linalg.slogdet(A)[1] + SLACK
            assert u @ B_theta >= u @ theta + 1 - hinge(u, x, label) - SLACK
            A, theta = B, B_theta
        assert after == pytest.approx(np.linalg.solve(A, theta), abs=1e-9)


@seeds
def test_arow(seed):
    """An update adds at least 1 - l(u) to r u.theta, and to r theta' A^-1 theta at most (v + r (2 m - m^2)) / (v + r).

    A = Sigma^-1 and theta = A mu. v / (v + r) is at most ln(det A' / det A), and the rest at most 1 if m > 0, else 0.
    """
    X, y, u = stream(seed)
    r = 0.7
    A, theta = np.eye(D), np.zeros(D)
    for x, label, w, after in rounds(AROW(covariance="full", r=r), X, y):
        assert w == pytest.approx(np.linalg.solve(A, theta), abs=1e-8)
        m = label * (w @ x)
        if m < 1:
            B, grown = A + np.outer(x, x) / r, theta + label * x / r
            v = x @ np.linalg.solve(A, x)
            change = r * (grown @ np.linalg.solve(B, grown) - theta @ np.linalg.solve(A, theta))
            assert change == pytest.approx((v + r * (2 * m - m * m)) / (v + r), abs=1e-8)
            logs = np.linalg.slogdet(B)[1] - np.linalg.slogdet(A)[1]
            assert v / (v + r) <= logs + SLACK and change <= logs + (m > 0) + SLACK
            assert r * (u @ grown - u @ theta) >= 1 - hinge(u, x, label) - SLACK
            A, theta = B, grown
        assert after == pytest.approx(np.linalg.solve(A, theta), abs=1e-8)
