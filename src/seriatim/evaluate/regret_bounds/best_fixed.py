"""The best fixed linear model in hindsight, with a certified duality gap.

The problem is to minimise P(u) = sum_i l(z_i) over a ball or the simplex. For losses of a margin z = 1 - y u.x, for
losses of a residual z = y - u.x. Any a in the domain of the conjugate l* gives a lower bound of the minimum:

    D(a) = sum_i (a_i b_i - l*(a_i)) - max over u of u.B'a,      z = b - B u,

The duality gap P(u) - D(a) bounds how far P(u) is from the minimum, whatever method found u. The method here is a
primal-dual interior point method: Newton steps towards points where each product of a slack and its multiplier is tau,
while tau goes to 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from seriatim.errors import DataError, ParameterError, SeriatimError
from seriatim.estimator.inputs import as_rows, check_targets
from seriatim.labels import coded, label_order

if TYPE_CHECKING:
    from seriatim.evaluate.regret_bounds.rounds import Rounds

MARGIN_LOSSES = ("hinge", "squared_hinge", "logistic")
LOSSES = (*MARGIN_LOSSES, "squared", "absolute", "epsilon_insensitive")
NORMS = ("l2", "l1", "simplex")
ROUNDS = 200
PATIENCE = 20  # rounds within which the gap must shrink
SMALL = 1 << 22  # values up to which a matrix is made dense
DIRECT = 1500  # unknowns up to which the Newton equations are factorised; beyond, conjugate gradients
NEAR = 1e-3  # each product of a slack and its multiplier is at least this fraction of their mean


@dataclass(frozen=True)
class Best:
    """The best fixed model: its loss is at most `gap` above the minimum."""

    weights: np.ndarray
    loss: float
    gap: float
    intercept: float = 0.0
    dual: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)  # the dual variables a of the lower bound
    tol: float = field(default=1e-6, repr=False)

    @property
    def certified(self) -> bool:
        """Whether the gap is at most tol x max(1, loss), as requested."""
        return self.gap <= self.tol * max(1.0, self.loss)


def comparator(
    X: Any,
    y: Any,
    loss: str = "hinge",
    *,
    radius: float,
    norm: str = "l2",
    fit_intercept: bool = True,
    tol: float = 1e-6,
    epsilon: float = 0.1,
) -> Best:
    """The linear model u with |u| <= radius that has the smallest total loss on these rows.

    loss : for two labels a function of the margin m = y u.x: hinge [1 - m]+, squared_hinge [1 - m]+^2 / 2 or logistic
        log(1 + e^-m); the lower label is -1. For numbers a function of the residual z = y - u.x: squared z^2 / 2,
        absolute |z| or epsilon_insensitive [|z| - epsilon]+. More than two labels are refused.
    norm : l2, l1, or simplex: u >= 0 with the sum radius.
    fit_intercept : add a constant feature 1, whose weight counts in |u|.
    tol : the largest duality gap, relative to max(1, loss). `certified` says whether it was reached. It may not be for
        rows of extreme scale, or with more than 1,500 columns, where conjugate gradients solve the equations. `gap` is
        valid in any case, up to the rounding of the two sums.

    >>> best = comparator([[2.0], [1.0], [-1.0], [0.5]], [1, 1, -1, -1], radius=1.0, fit_intercept=False)
    >>> round(best.loss, 5), best.certified
    (1.5, True)
    """
    if loss not in LOSSES:
        raise ParameterError(f"loss={loss!r}: must be {' or '.join(map(repr, LOSSES))}")
    if norm not in NORMS:
        raise ParameterError(f"norm={norm!r}: must be {' or '.join(map(repr, NORMS))}")
    if not 0 < radius < math.inf:
        raise ParameterError(f"radius={radius!r}: must be a number above 0")
    rows = as_rows(X).check()
    arrays: Any = rows.arrays
    A = arrays[0] if len(arrays) == 1 else sparse_matrix(arrays, rows.features)
    targets = signs(y, rows.n) if loss in MARGIN_LOSSES else numbers(y, rows.n)
    best = best_of(with_constant(A) if fit_intercept else A, targets, loss, radius, norm, tol, epsilon)
    if not fit_intercept:
        return best
    return Best(best.weights[1:], best.loss, best.gap, float(best.weights[0]), best.dual, tol)


def best_of(
    A: Any, y: np.ndarray, loss: str, radius: float, norm: str = "l2", tol: float = 1e-6, epsilon: float = 0.1
) -> Best:
    """The best fixed model for a matrix that has the constant column, if any, and targets as the learner sees them."""
    problem = Problem(A, y, loss, radius, norm, epsilon)
    n, d = A.shape
    if norm != "l2" or n >= d or n * d > SMALL:
        return certified(problem, *solve(problem, tol), tol)
    # The best u is a combination of the rows.
    basis, factor = np.linalg.qr((A if isinstance(A, np.ndarray) else A.toarray()).T)
    v, a = solve(Problem(factor.T, y, loss, radius, norm, epsilon), tol)
    return certified(problem, basis @ v, a, tol)


def certified(problem: Problem, u: np.ndarray, a: np.ndarray, tol: float) -> Best:
    """Project u and a onto their domains, and compute the gap from its definition."""
    u = problem.domain.within(u) * problem.radius
    a = problem.loss.within(a)
    primal, dual = problem.primal(u), problem.dual(a)
    return Best(u, primal, max(primal - dual, 0.0), dual=a, tol=tol)


def sparse_matrix(arrays: tuple[np.ndarray, np.ndarray, np.ndarray], columns: int) -> Any:
    """Rows as a SciPy matrix."""
    start, index, value = arrays
    sparse = needed("scipy.sparse")
    return sparse.csr_array((value, index, start), shape=(len(start) - 1, columns))


def with_constant(A: Any) -> Any:
    """The matrix with a column of ones before the others."""
    ones = np.ones((A.shape[0], 1))
    return np.hstack([ones, A]) if isinstance(A, np.ndarray) else needed("scipy.sparse").hstack([ones, A], "csr")


def needed(module: str) -> Any:
    """Import a module of SciPy, which is optional."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise SeriatimError(
            "the best model in hindsight is found with SciPy, which is not installed: pip install 'seriatim[report]'"
        ) from None


def signs(y: Any, n: int) -> np.ndarray:
    """Two labels as -1 and +1."""
    labels = coded(check_targets(y, n))
    known = sorted((labels.labels[k] for k in np.unique(labels.which)), key=label_order)
    if len(known) > 2:
        raise DataError(
            f"{len(known)} labels: the best model in hindsight is found for two labels, -1 and 1, or for numbers"
        )
    if not {*known} <= {-1, 1} and len(known) == 1:
        raise DataError(f"one label, {known[0]!r}: it must be -1 or 1, or there must be two")
    higher = 1 if {*known} <= {-1, 1} else known[-1]
    return np.where(np.array([label == higher for label in labels.labels])[labels.which], 1.0, -1.0)


def numbers(y: Any, n: int) -> np.ndarray:
    try:
        y = np.ascontiguousarray(check_targets(y, n), dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the targets of a loss of the residual must be numbers") from None
    if not np.isfinite(y).all():
        raise DataError(f"row {np.flatnonzero(~np.isfinite(y))[0]}: the target is not finite")
    return y


# ---- the problem


class Problem:
    """P(u) and D(a). Internally u is divided by the radius, and B is the rows times the radius."""

    def __init__(self, A: Any, y: np.ndarray, loss: str, radius: float, norm: str, epsilon: float) -> None:
        margin = loss in MARGIN_LOSSES
        self.radius = radius
        self.A, self.sign = A, y if margin else np.ones(len(y))
        self.b = np.ones(len(y)) if margin else np.asarray(y, dtype=np.float64)
        self.loss = loss_of(loss, epsilon)
        self.domain = Ball(A.shape[1]) if norm == "l2" else Simplex(A.shape[1], signed=norm == "l1")
        self.B: Any = scaled_rows(A, radius * self.sign)

    def z(self, u: np.ndarray) -> np.ndarray:
        return self.b - self.sign * (self.A @ u)

    def primal(self, u: np.ndarray) -> float:
        return math.fsum(self.loss.value(self.z(u)))

    def dual(self, a: np.ndarray) -> float:
        pull = self.radius * (self.A.T @ (self.sign * a))
        return math.fsum(a * self.b - self.loss.conjugate(a)) - self.domain.support(pull)


def scaled_rows(A: Any, by: np.ndarray) -> Any:
    """diag(by) A, dense if that is not much larger."""
    if isinstance(A, np.ndarray):
        return A * by[:, None]
    sparse = needed("scipy.sparse")
    if A.nnz > 0.2 * A.shape[0] * A.shape[1]:
        return A.toarray() * by[:, None]
    return sparse.csr_array(sparse.diags_array(by) @ A)


class Smooth:
    """A loss with a second derivative: a = l'(z)."""

    pieces: tuple[tuple[float, float], ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name

    def value(self, z: np.ndarray) -> np.ndarray:
        if self.name == "logistic":
            return np.logaddexp(0, z - 1)
        return (z if self.name == "squared" else np.maximum(z, 0)) ** 2 / 2

    def slope(self, z: np.ndarray) -> np.ndarray:
        if self.name == "logistic":
            return np.exp(-np.logaddexp(0, 1 - z))
        return z if self.name == "squared" else np.maximum(z, 0)

    def bend(self, z: np.ndarray) -> np.ndarray:
        if self.name == "logistic":
            return np.exp(-np.logaddexp(0, 1 - z) - np.logaddexp(0, z - 1))
        return np.ones(len(z)) if self.name == "squared" else (z > 0).astype(np.float64)

    def conjugate(self, a: np.ndarray) -> np.ndarray:
        if self.name == "logistic":
            return a + entropy(a) + entropy(1 - a)
        return a**2 / 2

    def within(self, a: np.ndarray) -> np.ndarray:
        return a if self.name == "squared" else np.clip(a, 0, 1 if self.name == "logistic" else None)


class Kinked:
    """A loss that is a sum of pieces [sign z - offset]+: a is in a box, and l* is linear on each side of 0."""

    def __init__(self, *pieces: tuple[float, float]) -> None:
        self.pieces = pieces

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.sum([np.maximum(sign * z - offset, 0) for sign, offset in self.pieces], axis=0)

    def conjugate(self, a: np.ndarray) -> np.ndarray:
        return self.pieces[0][1] * np.abs(a)

    def within(self, a: np.ndarray) -> np.ndarray:
        return np.clip(a, 0 if len(self.pieces) == 1 else -1, 1)


def loss_of(name: str, epsilon: float) -> Any:
    """The loss of this name."""
    if name in ("squared_hinge", "logistic", "squared"):
        return Smooth(name)
    offset = epsilon if name == "epsilon_insensitive" else 0.0
    return Kinked((1.0, 0.0)) if name == "hinge" else Kinked((1.0, offset), (-1.0, offset))


def entropy(a: np.ndarray) -> np.ndarray:
    """a ln a, and 0 at 0."""
    return a * np.log(np.where(a > 0, a, 1))


# ---- the domain of u


class Ball:
    """|u| <= 1 in the Euclidean norm. It needs no slack: a quadratic over a ball can be minimised directly."""

    def __init__(self, dimension: int) -> None:
        self.u = np.zeros(dimension)
        self.slack = self.multiplier = np.zeros(0)
        self.m = 1.0  # the multiplier of |u|^2 <= 1; the search for the next one starts here

    def within(self, u: np.ndarray) -> np.ndarray:
        return u / max(1.0, float(np.linalg.norm(u)))

    def support(self, pull: np.ndarray) -> float:
        """The maximum of u.pull."""
        return float(np.linalg.norm(pull))

    def barrier(self, step: np.ndarray) -> float:
        return 0.0

    def equations(self, gram: Any, least: float) -> Any:
        """A function that solves (gram + 2 m I) v = right-hand side for m and v with |v| = 1, or with m = least."""
        by_m: dict[float, Any] = {}

        def inverse(m: float) -> Any:
            if m not in by_m:
                by_m[m] = solver(gram, np.full(len(self.u), 2 * m))
            return by_m[m]

        def solve(right: np.ndarray) -> np.ndarray:
            low, high, m = least, math.inf, max(self.m, least)
            exact = isinstance(gram, np.ndarray)
            near = 1e-10 if exact else max(10 * gram[2], 1e-5)
            for _ in range(60 if exact else 8):
                invert = inverse(m)
                v = invert(right)
                length = float(np.linalg.norm(v))
                if abs(length - 1) < near or (m == least and length <= 1):
                    break
                low, high = (m, high) if length > 1 else (low, m)
                # Newton's step for 1 / |v| = 1, which is nearly linear in m
                m += (length - 1) * length**2 / max(2 * float(v @ invert(v)), 1e-300)
                if not low < m < high:
                    m = least if m <= least and low == least and least not in by_m else middle(low, high)
                if m in (low, high):
                    break
            self.m = m
            return self.within(v)

        return gram, solve

    def direction(self, equations: Any, pull: np.ndarray, tau: float, last: Any = None) -> Step:
        """Step to the minimum of the quadratic model in the ball."""
        gram, solve = equations
        now = gram @ self.u if isinstance(gram, np.ndarray) else gram[0](self.u)
        du = solve(now + pull) - self.u
        return Step(du, du, self.slack, self.slack)

    def reach(self, step: Step) -> float:
        return math.inf

    def slack_after(self, step: Step, length: float) -> np.ndarray:
        return self.slack

    def move(self, step: Step, length: float) -> None:
        self.u = self.u + length * step.u


def middle(low: float, high: float) -> float:
    """A number between two others, near neither; high may be inf."""
    return 10 * low if high == math.inf else math.sqrt(low * high)


class Simplex:
    """p >= 0 with sum 1: u = p; or signed, u = p+ - p- with one more entry for the rest of the sum."""

    def __init__(self, dimension: int, signed: bool) -> None:
        self.dimension, self.signed = dimension, signed
        entries = 2 * dimension + 1 if signed else dimension
        self.slack = np.full(entries, 1 / entries)
        self.multiplier = np.full(entries, float(entries))

    def map(self, p: np.ndarray) -> np.ndarray:
        return p[: self.dimension] - p[self.dimension : -1] if self.signed else p

    def back(self, pull: np.ndarray) -> np.ndarray:
        return np.concatenate([pull, -pull, [0.0]]) if self.signed else pull

    @property
    def u(self) -> np.ndarray:
        return self.map(self.slack)

    def within(self, u: np.ndarray) -> np.ndarray:
        if self.signed:
            return u / max(1.0, float(np.abs(u).sum()))
        u = np.maximum(u, 0)
        return u / u.sum() if u.any() else np.full(len(u), 1 / len(u))

    def support(self, pull: np.ndarray) -> float:
        return float(np.abs(pull).max() if self.signed else pull.max())

    def barrier(self, step: np.ndarray) -> float:
        return -float(np.log(np.maximum(self.slack + step, 1e-300)).sum())

    def equations(self, gram: Any, least: float) -> Any:
        """A solver of (M' gram M + diag(s / p)) dp + level = right-hand side with sum dp = 0."""
        plain = solver(self.spread(gram), self.multiplier / self.slack)
        ones = plain(np.ones(len(self.slack)))

        def solve(right: np.ndarray) -> np.ndarray:
            dp = plain(right)
            return dp - dp.sum() / ones.sum() * ones

        return solve

    def spread(self, gram: Any) -> Any:
        """The matrix M' gram M."""
        if not self.signed:
            return gram
        if isinstance(gram, np.ndarray):
            whole = np.zeros((len(self.slack), len(self.slack)))
            whole[:-1, :-1] = np.block([[gram, -gram], [-gram, gram]])
            return whole
        product, own, accuracy = gram
        return (lambda v: self.back(product(self.map(v)))), np.concatenate([own, own, [0.0]]), accuracy

    def direction(self, solve: Any, pull: np.ndarray, tau: float, last: Any = None) -> Step:
        p, s = self.slack, self.multiplier
        aim = tau if last is None else tau - last.slack * last.multiplier
        dp = solve(self.back(pull) + aim / p)
        ds = aim / p - s - s / p * dp
        return Step(self.map(dp), dp, dp, ds)

    def reach(self, step: Step) -> float:
        return min(ratio(self.slack, step.slack), ratio(self.multiplier, step.multiplier))

    def slack_after(self, step: Step, length: float) -> np.ndarray:
        return self.slack + length * step.slack

    def move(self, step: Step, length: float) -> None:
        self.slack = self.slack + length * step.slack
        self.slack /= self.slack.sum()
        self.multiplier = self.multiplier + length * step.multiplier


@dataclass
class Step:
    """A change of u, of p, of the slacks and of their multipliers."""

    u: np.ndarray
    parts: np.ndarray
    slack: np.ndarray
    multiplier: np.ndarray


def ratio(values: np.ndarray, change: np.ndarray) -> float:
    """The largest step along a change that keeps values positive."""
    falling = change < 0
    return float(np.min(values[falling] / -change[falling], initial=math.inf))


def solver(gram: Any, diagonal: np.ndarray) -> Any:
    """The inverse of gram + diag, as a function of the right-hand side."""
    if isinstance(gram, np.ndarray):
        K = gram.copy()
        K.reshape(-1)[:: len(K) + 1] += diagonal
        # A unit diagonal removes the bad conditioning that comes from columns of very different size.
        size = 1 / np.sqrt(np.diagonal(K))
        K *= size[:, None] * size
        factor, back = factorised(K), needed("scipy.linalg.lapack").dpotrs

        def inverse(right: np.ndarray) -> np.ndarray:
            first = back(factor, size * right)[0]
            rest = size * right - K @ first  # one step of iterative refinement
            return size * (first + back(factor, rest)[0])

        return inverse
    product, own, accuracy = gram
    sparse = needed("scipy.sparse.linalg")
    size = 1 / (own + diagonal)
    shape = (len(size), len(size))
    operator = sparse.LinearOperator(shape, matvec=lambda v: product(v) + diagonal * v, dtype=np.float64)
    preconditioner = sparse.LinearOperator(shape, matvec=lambda v: size * v, dtype=np.float64)
    return lambda right: sparse.cg(operator, right, rtol=accuracy, maxiter=300, M=preconditioner)[0]


def factorised(K: np.ndarray) -> np.ndarray:
    """The Cholesky factor of a matrix with a unit diagonal, which is raised if rounding has made it indefinite."""
    factorise = needed("scipy.linalg.lapack").dpotrf
    for raised in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        factor, trouble = factorise(K + raised * np.eye(len(K)) if raised else K)
        if not trouble:
            return factor
    raise SeriatimError("the best model in hindsight cannot be found: the numbers are too large or too small")


def gram_of(B: Any, weights: np.ndarray, accuracy: float = 1e-8) -> Any:
    """B' diag(weights) B; for many columns the product with a vector, the diagonal, and the accuracy of solutions."""
    if B.shape[1] > DIRECT:
        squares = B.multiply(B).T @ weights if hasattr(B, "multiply") else (B * B).T @ weights
        return (lambda v: B.T @ (weights * (B @ v))), squares, accuracy
    if isinstance(B, np.ndarray):
        rows = B * np.sqrt(weights)[:, None]
        return rows.T @ rows
    return (scaled_rows(B, weights).T @ B).toarray()


# ---- the method


def solve(problem: Problem, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """u (divided by the radius) and a with a gap within tol, if rounding permits."""
    path = (Pieces if problem.loss.pieces else Bends)(problem, tol)
    u, a, primal, dual = path.domain.u, path.a, math.inf, -math.inf
    narrowed, narrowest = 0, math.inf
    patience = PATIENCE if problem.B.shape[1] <= DIRECT else 3  # conjugate gradients would only become slower
    for round in range(ROUNDS):
        now, low = path.primal(), path.dual()
        if now < primal:
            u, primal = path.domain.u, now
        if low > dual:
            a, dual = path.a, low
        if primal - dual < 0.9 * narrowest:
            narrowed, narrowest = round, primal - dual
        elif round:
            path.accuracy *= 0.1
        path.accuracy = max(min(path.accuracy, 0.1 * narrowest / max(1.0, primal)), 1e-10)
        enough = primal - dual <= 0.8 * tol * max(1.0, primal)
        if enough or round > narrowed + patience or not path.advance():
            break
    better = path.polished(u, a)
    return u, better if path.dual(better) > dual else a


class Path:
    """The iteration, for both kinds of loss."""

    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem, self.B, self.loss, self.domain = problem, problem.B, problem.loss, problem.domain
        self.tol, self.accuracy = tol, 1e-2
        self.z = problem.b - self.B @ self.domain.u

    @property
    def a(self) -> np.ndarray:
        raise NotImplementedError

    def advance(self) -> bool:
        """Take one step; False if there is none."""
        raise NotImplementedError

    def primal(self) -> float:
        return float(self.loss.value(self.z).sum())

    def polished(self, u: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Improve a where rounding limits it."""
        return a

    def dual(self, a: np.ndarray | None = None) -> float:
        a = self.a if a is None else a
        return float((a * self.problem.b - self.loss.conjugate(a)).sum()) - self.domain.support(self.B.T @ a)

    def equations(self, weights: np.ndarray) -> Any:
        """The Newton equations, with a multiple of |u|^2 that makes them solvable and does not change the gap."""
        return self.domain.equations(gram_of(self.B, weights, self.accuracy), 0.01 * self.tol * max(1.0, self.primal()))


class Bends(Path):
    """The iteration for a loss with a second derivative: only the domain may have slacks."""

    def __init__(self, problem: Problem, tol: float) -> None:
        super().__init__(problem, tol)
        self.tau = max(self.primal(), 1e-6) / max(len(self.domain.slack), 1)
        self.domain.multiplier = self.tau / self.domain.slack
        self.length = 1.0

    @property
    def a(self) -> np.ndarray:
        return self.loss.slope(self.z)

    def advance(self) -> bool:
        domain = self.domain
        equations = self.equations(self.loss.bend(self.z))
        self.tau *= 0.1 if self.length > 0.5 else 0.5
        step = domain.direction(equations, self.B.T @ self.a, self.tau)
        self.length = self.descent(step)
        domain.move(step, self.length)
        self.z = self.problem.b - self.B @ domain.u
        return self.length > 0

    def descent(self, step: Step) -> float:
        """A step length at which P(u) + tau barrier(u) decreases sufficiently (Armijo)."""
        along = self.B @ step.u
        length = min(1.0, 0.99 * self.domain.reach(step))
        start = self.primal() + self.tau * self.domain.barrier(0 * step.parts)
        slope = -float(self.a @ along) - self.tau * float((step.slack / self.domain.slack).sum())
        while length > 1e-12:
            end = float(self.loss.value(self.z - length * along).sum())
            if end + self.tau * self.domain.barrier(length * step.parts) <= start + 1e-4 * length * slope:
                return length
            length /= 2
        return 0.0


class Pieces(Path):
    """The iteration for pieces [t]+: the least x >= 0 with q = x - t >= 0; their multipliers are 1 - c and c."""

    def __init__(self, problem: Problem, tol: float) -> None:
        super().__init__(problem, tol)
        self.signs = np.array([[sign] for sign, _ in self.loss.pieces])
        t = self.signs * self.z - np.array([[offset] for _, offset in self.loss.pieces])
        room = max(float(np.abs(t).mean()), 1e-3)
        self.x, self.q = np.maximum(t, 0) + room, np.maximum(-t, 0) + room
        self.c, self.d = np.full(t.shape, 0.5), np.full(t.shape, 0.5)
        self.domain.multiplier = float((self.x * self.d).mean()) / self.domain.slack

    @property
    def a(self) -> np.ndarray:
        return (self.signs * self.c).sum(axis=0)

    def polished(self, u: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Move the free entries of a so that B'a is a multiple of u, and 0 inside the ball."""
        if isinstance(self.domain, Simplex) or self.B.shape[1] > DIRECT:
            return a
        for _ in range(3):
            pull = self.B.T @ a
            aim = max(0.0, float(u @ pull)) * u / float(u @ u) if u @ u > 1 - 1e-6 else 0 * u
            free = np.minimum(1 - a, a if len(self.signs) == 1 else 1 + a) ** 2
            gram = gram_of(self.B, free)
            a = a + free * (self.B @ solver(gram, 1e-13 * np.diag(gram) + 1e-300)(aim - pull))
            a = self.loss.within(a)
        return a

    def direction(self, solve: Any, tau: float, last: Any = None) -> tuple[Step, np.ndarray, np.ndarray, np.ndarray]:
        """The changes of the domain, of x, of q and of c."""
        x, q, c, d = self.x, self.q, self.c, self.d
        high, low = tau, tau
        if last is not None:
            high, low = tau + last[3] * last[1], tau - last[3] * last[2]
        bend = x / d + q / c
        rest = high / d - low / c - x + q
        pull = self.B.T @ (self.signs * (c - rest / bend)).sum(axis=0)
        step = self.domain.direction(solve, pull, tau, None if last is None else last[0])
        dc = -(self.signs * (self.B @ step.u) + rest) / bend
        return step, high / d - x + x / d * dc, low / c - q - q / c * dc, dc

    def reach(self, way: tuple[Step, np.ndarray, np.ndarray, np.ndarray]) -> float:
        step, dx, dq, dc = way
        inside = (ratio(self.x, dx), ratio(self.q, dq), ratio(self.c, dc), ratio(self.d, -dc))
        return min(self.domain.reach(step), *inside)

    def products(self, way: Any = None, length: float = 0.0) -> tuple[float, float]:
        """The mean and the smallest product of a slack and its multiplier after a step."""
        x, q, c, d = self.x, self.q, self.c, self.d
        domain = self.domain.slack * self.domain.multiplier
        if way is not None:
            step, dx, dq, dc = way
            x, q, c, d = x + length * dx, q + length * dq, c + length * dc, d - length * dc
            domain = self.domain.slack_after(step, length) * (self.domain.multiplier + length * step.multiplier)
        high, low = x * d, q * c
        mean = float(high.sum() + low.sum() + domain.sum()) / (2 * x.size + len(domain))
        return mean, float(min(high.min(), low.min(), domain.min(initial=math.inf)))

    def advance(self) -> bool:
        weights = (1 / (self.x / self.d + self.q / self.c)).sum(axis=0)
        solve = self.equations(weights)
        now = self.products()[0]
        straight = self.direction(solve, 0.0)
        share = max(self.products(straight, min(1.0, self.reach(straight)))[0] / now, 0.0)
        way = self.direction(solve, now * min(1.0, max(share**3, 1e-4)), straight)
        length = self.safe(way)
        if length < 0.1:  # the second-order correction does not hold for such long steps
            way = self.direction(solve, 0.5 * now)
            length = self.safe(way)
        step, dx, dq, dc = way
        self.domain.move(step, length)
        self.x, self.q = self.x + length * dx, self.q + length * dq
        self.c, self.d = self.c + length * dc, self.d - length * dc
        self.z = self.problem.b - self.B @ self.domain.u
        return length > 1e-10

    def safe(self, way: Any) -> float:
        """A step length that keeps slacks positive, and each product near enough to the mean."""
        length = min(1.0, 0.99 * self.reach(way))
        for _ in range(30):
            mean, least = self.products(way, length)
            if least >= NEAR * mean:
                break
            length *= 0.8
        return length


def measured_loss(model: Any) -> str:
    """The model's own loss. The hinge loss replaces [-m]+, whose minimum is 0 at u = 0."""
    return "hinge" if model.loss == "perceptron" else model.loss


def norm_of(model: Any) -> str:
    """The norm of the method's regret bound."""
    if hasattr(model, "U"):
        return "l1"
    return "simplex" if getattr(model, "mirror", "") == "entropy" else "l2"


def own_radius(model: Any) -> float | None:
    """The radius of the model's own projection, or None."""
    if getattr(model, "mirror", "") == "entropy":
        return 1.0
    return getattr(model, "U", None) or getattr(model, "radius", None)


def length_asked_for(run: Rounds, loss: str) -> float:
    """The norm of the least-squares model, scaled by the factor (up to 100) at which its loss is smallest.

    Each feature gets one more row with target 0, so that features seen once do not dominate.
    """
    A = run.A
    ones = np.ones(len(run))
    there = np.asarray((A != 0).sum(axis=0))
    squares = np.asarray((A**2).sum(axis=0))
    once = np.where(there > 0, squares / np.maximum(there, 1), 1.0)
    u = solver(gram_of(scaled_rows(A, ones), ones), once)(A.T @ run.y)
    length = float(np.linalg.norm(u))
    if length == 0:
        return 1 / max(float(run.norms.max()), 1e-50)
    scores = (A @ u)[:, None] / length
    factor = best_of(scores, run.y, loss, 100 * length, "l2", 1e-3, run.model.epsilon).weights[0]
    return max(float(factor), length / 100)
