"""Updates derived from the problem that they solve: a numerical solver finds what the learner finds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from seriatim import ALMA, EG, IELLIP, OneClassPA

D = 3
seeds = pytest.mark.parametrize("seed", range(4))


def solve(objective, start, *constraints):
    """The minimiser under constraints g >= 0 or, with equality=True, g = 0."""
    told = [{"type": "eq" if equality else "ineq", "fun": g} for g, equality in constraints]
    found = minimize(objective, start, method="SLSQP", constraints=told, options={"ftol": 1e-15, "maxiter": 2000})
    return found.x


def noisy(seed, n=12):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    return X, np.where(X @ rng.standard_normal(D) + 0.5 * rng.standard_normal(n) >= 0, 1, -1)


def rounds(model, X, y):
    """x, y and the weights before and after each round."""
    model.set_params(fit_intercept=False, classes=[-1, 1])
    w = np.zeros(D)
    for x, label in zip(X, y.tolist(), strict=True):
        after = model.partial_fit(x[None], [label]).coef_[0].copy()
        yield x, label, w, after
        w = after


# ---- EG


@seeds
@pytest.mark.parametrize("U", [1.0, 3.0])
def test_eg_minimises_loss_and_relative_entropy(seed, U):
    """(p+, p-) minimises eta g.(p+ - p-) + the relative entropy to the old ones on the simplex, g = U dloss/dw."""
    X, y = noisy(seed)
    eta, p, steps = 0.5, np.full(2 * D, 0.5 / D), 0
    for x, label, w, after in rounds(EG(eta=eta, U=U, n_features=D), X, y):
        assert w == pytest.approx(U * (p[:D] - p[D:]), abs=1e-6)
        if label * (w @ x) < 1:
            g = -U * label * np.append(x, -x)
            p = solve(
                lambda q, p=p, g=g: eta * g @ q + np.sum(q * np.log(np.maximum(q, 1e-12) / p)),
                p,
                (lambda q: q - 1e-12, False),
                (lambda q: q.sum() - 1, True),
            )
            steps += 1
        assert after == pytest.approx(U * (p[:D] - p[D:]), abs=1e-5)
    assert steps > 3


# ---- ALMA


@seeds
@pytest.mark.parametrize("p", [2.0, 3.0, 5.0])
def test_alma_minimises_loss_and_divergence_in_its_ball(seed, p):
    """Where the margin is small w' minimises -eta_k y w.x + D(w', w) over |w'|_q <= 1, D of |w|_q^2 / 2."""
    X, y = noisy(seed)
    q, alpha, k = p / (p - 1), 0.9, 1

    def half(w):
        return np.sum((w * w + 1e-18) ** (q / 2)) ** (2 / q) / 2

    def dual(w):
        return np.sign(w) * np.abs(w) ** (q - 1) * np.sum(np.abs(w) ** q) ** (2 / q - 1) if w.any() else w

    for x, label, w, after in rounds(ALMA(p=p, alpha=alpha), X, y):
        x = x / np.sum(np.abs(x) ** p) ** (1 / p)
        expected = w
        if label * (w @ x) <= (1 - alpha) * np.sqrt(8) / alpha * np.sqrt((p - 1) / k):
            linear = dual(w) + np.sqrt(2 / ((p - 1) * k)) * label * x
            expected = solve(lambda v, a=linear: half(v) - a @ v, 0.5 * x, (lambda v: 0.5 - half(v), False))
            k += 1
        assert after == pytest.approx(expected, abs=2e-4)
    assert k > 3


@seeds
@pytest.mark.parametrize("p", [2.0, 4.0])
@pytest.mark.parametrize("alpha", [0.3, 0.9])
def test_potential_of_alma(seed, p, alpha):
    """|f(w') before it is shortened|_p^2 <= 1 + (8 / alpha - 6) / k: what B and C are chosen for.

    It is |f(w)|^2 + 2 eta y w.x + (p - 1) eta^2, eta = C sqrt(1 / ((p-1) k)), and a margin of at most
    (1 - alpha) B sqrt((p-1) / k). Then y u.f(w) grows as sqrt(k) until it is 1, and updates end while
    (1 - alpha) B sqrt((p-1) / k) is still at least 1 - alpha of the margin of u: `test_alma_finds_a_large_margin`.
    """
    X, y = noisy(seed, 200)
    q = p / (p - 1)

    def dual(w):
        return np.sign(w) * np.abs(w) ** (q - 1) * np.sum(np.abs(w) ** q) ** (2 / q - 1) if w.any() else w

    k = 1
    for x, label, w, after in rounds(ALMA(p=p, alpha=alpha), X, y):
        if (after != w).any():
            step = np.sqrt(2 / ((p - 1) * k)) * label * x / np.sum(np.abs(x) ** p) ** (1 / p)
            assert np.sum(np.abs(dual(w) + step) ** p) ** (2 / p) <= 1 + (8 / alpha - 6) / k + 1e-9
            k += 1
    assert k > 20


# ---- OneClassPA


@seeds
@pytest.mark.parametrize("variant", ["hard", "I", "II"])
@pytest.mark.parametrize("B", [None, 1.2])
def test_one_class_takes_the_smallest_step(seed, variant, B):
    """w' minimises |w' - w|^2 / 2 + C xi (I) or C xi^2 (II) with |w' - x| <= epsilon + xi.

    With B, w has a further coordinate, B at first, in which every x is 0, and B stands for epsilon.
    """
    rng = np.random.default_rng(seed)
    X, C, epsilon = rng.standard_normal((10, D)), 0.3, 0.4
    model = OneClassPA(C=C, variant=variant, epsilon=epsilon, B=B)
    reach, w = B or epsilon, np.append(np.zeros(D), B or 0.0)
    for x in X:
        point = np.append(x, 0.0)
        distance = np.linalg.norm(w - point)
        if distance > reach:
            slack = 0.0 if variant == "hard" else 1.0

            def cost(z, w=w):
                return (z[:-1] - w) @ (z[:-1] - w) / 2 + C * z[-1] ** (2 if variant == "II" else 1)

            def inside(z, point=point, slack=slack):
                return reach + slack * z[-1] - np.linalg.norm(z[:-1] - point)

            start = np.append(0.7 * w + 0.3 * point, distance)
            z = solve(cost, start, (inside, False), (lambda z: z[-1], False))
            w = z[:-1]
        model.partial_fit(x[None])
        assert model.coef_.ravel() == pytest.approx(w[:-1], abs=2e-4)
        w[:-1] = model.coef_.ravel()
        assert model.radius_ == pytest.approx(np.sqrt(max(0, reach**2 - (w[-1] ** 2 if B else 0))), abs=1e-3)


# ---- IELLIP


@seeds
def test_iellip_takes_the_smallest_step_in_the_norm_of_its_ellipsoid(seed):
    """On a mistake w' minimises (w' - w)' Sigma^-1 (w' - w) with y w'.x >= 1.

    Sigma keeps Sigma x and grows by 1 / (1 - c_k) in the directions d with d.x = 0. So the new ellipsoid contains the
    old one and touches it along Sigma x. The learner leaves the factor out: only Sigma x / v counts.
    """
    X, y = noisy(seed, 30)
    b, c = 0.8, 0.4
    Sigma, widened = np.eye(D), 1.0
    for x, label, w, after in rounds(IELLIP(b=b, c=c, covariance="full"), X, y):
        if label * (w @ x) > 0:
            assert (after == w).all()  # and k does not grow
            continue
        P, v = np.linalg.inv(Sigma), x @ Sigma @ x
        expected = solve(
            lambda u, w=w, P=P: (u - w) @ P @ (u - w),
            w + label * x / (x @ x),
            (lambda u, x=x, label=label: label * (u @ x) - 1, False),
        )
        assert after == pytest.approx(expected, abs=1e-5 * (1 + np.abs(after).max()))
        new = np.linalg.inv((1 - c) * P + c / v * np.outer(x, x))
        assert new @ x == pytest.approx(Sigma @ x, abs=1e-9)
        for d in np.linalg.svd(x[None])[2][1:]:  # directions with d.x = 0
            assert new @ P @ d == pytest.approx(d / (1 - c), abs=1e-9)
        Sigma, c, widened = new, b * c, widened * (1 - c)
    assert widened < 0.6


@seeds
def test_the_margin_that_iellip_asks_for_changes_no_prediction(seed):
    """With a margin of g instead of 1 all weights are g times as large, as steps follow mistakes alone."""
    X, y = noisy(seed, 60)

    def weights(g):
        w, P, c, seen = np.zeros(D), np.eye(D), 0.4, []
        for x, label in zip(X, y, strict=True):
            if label * (w @ x) <= 0:
                direction = np.linalg.solve(P, x)
                v = x @ direction
                w = w + (g - label * (w @ x)) / v * label * direction
                P, c = (1 - c) * P + c / v * np.outer(x, x), 0.8 * c
            seen.append(w)
        return np.array(seen)

    one = weights(1.0)
    assert weights(5.0) == pytest.approx(5 * one)
    ours = np.array([after for *_, after in rounds(IELLIP(b=0.8, c=0.4, covariance="full"), X, y)])
    assert ours == pytest.approx(one, abs=1e-9 * np.abs(one).max())
