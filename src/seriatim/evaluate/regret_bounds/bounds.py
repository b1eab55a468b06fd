"""The bounds that papers prove for a learner on any stream, computed for one stream beside the measured values.

R is the largest |x|, where x has the constant feature if the model has an intercept. w starts at 0. l(u) is the hinge
loss [1 - y u.x]+ of a fixed u. Each bound holds for every u, so the smallest over a path of good ones is reported.
The theorems count a mistake where the margin y w.x is at most 0.

Each bound follows from an inequality of one round, given or named here, by summing over the rounds. The tests check
these inequalities round by round on random streams, and the bounds on a thousand streams.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from seriatim.estimator import Estimator
from seriatim.evaluate.regret_bounds.best_fixed import best_of, length_asked_for, loss_of, norm_of, own_radius
from seriatim.evaluate.regret_bounds.rounds import Rounds, TooManyLabels, begun, committee_rounds, expect_model, rounds
from seriatim.experts.base import Experts


@dataclass(frozen=True)
class Bound:
    """A theorem, evaluated on one stream."""

    name: str
    quantity: str
    measured: float
    bound: float
    holds: bool
    paper: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def holds(measured: float, bound: float) -> bool:
    """Whether a number is within its bound, up to rounding."""
    return bool(measured <= bound + 1e-9 * max(1.0, abs(bound), abs(measured)))


def bound_of(name: str, quantity: str, measured: float, bound: float, paper: str) -> Bound:
    return Bound(name, quantity, float(measured), float(bound), holds(measured, bound), paper)


def bounds(model: Estimator, X: Any, y: Any = None, *, radius: float | None = None) -> list[Bound]:
    """The bounds of a learner's papers on this stream, and whether they hold.

    A new model with the same parameters runs over the stream, which is kept in memory. The stream has two labels or
    numbers. `average` is ignored, because the theorems hold for the weights themselves. For regret bounds `radius` is
    the norm of the models to compare with; the default is that of `regret`. The list is empty for a learner without a
    known bound, and for more than two labels. For learners as experts, as in `Hedge`, the bound is that of the regret
    against the best expert, for any labels.

    >>> from seriatim import Perceptron
    >>> found = bounds(Perceptron(fit_intercept=False), [[3.0, 1.0], [-2.0, 1.0], [2.0, -1.0]] * 5, [1, -1, 1] * 5)
    >>> print(show(found))
    bound                   of        measured    bound  holds
    separable               mistakes         1  ...
    """
    expect_model(model)
    if isinstance(model, Experts):
        return committee_bounds(model, X, y)
    if type(model).__name__ not in KNOWN:
        return []
    try:
        return bounds_of(model, rounds(without_average(model), X, y), radius)
    except TooManyLabels:
        return []


def bounds_of(model: Estimator, run: Rounds, radius: float | None = None) -> list[Bound]:
    """The bounds of a model without average that ran through these rounds."""
    find = KNOWN.get(type(model).__name__)
    if find is None:
        return []
    found = find(run, radius)
    if model.build().apart:
        found = [replace(one, quantity=f"{one.quantity} of the last w") for one in found]
    return found


def show(found: list[Bound]) -> str:
    """The bounds as a text table."""
    lines = [["bound", "of", "measured", "bound", "holds", ""]]
    for one in found:
        numbers = f"{one.measured:.6g}", f"{one.bound:.6g}"
        lines.append([one.name, one.quantity, *numbers, "yes" if one.holds else "NO", one.paper])
    return table(lines, "<<>><<")


def table(lines: list[list[str]], sides: str) -> str:
    """Columns of text, each aligned to the side given.

    >>> print(table([["t", "loss"], ["10", "0.5"]], "<>"))
    t   loss
    10   0.5
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(f"{text:{side}{width}}" for text, side, width in zip(line, sides, widths, strict=True)).rstrip()
        for line in lines
    )


def without_average(model: Any) -> Any:
    """The model to which the theorems apply: without averaging or voting."""
    from seriatim import Perceptron

    parameters = model.get_params()
    if type(model).__name__ in ("AveragedPerceptron", "VotedPerceptron"):
        return Perceptron(**{name: value for name, value in parameters.items() if name != "average"})
    return type(model)(**{**parameters, **({"average": False} if "average" in parameters else {})})


def committee_bounds(model: Experts, X: Any, y: Any) -> list[Bound]:
    """The bounds of `Hedge` and other methods over experts, which compute their own."""
    fresh, rows, y = begun(model, X, y)
    [*committee_rounds(fresh, rows, y, [rows.n])]
    return [bound_of("best expert", "regret", fresh.regret_, fresh.bound_, model.paper)]


# ---- good fixed models

Value = Callable[[np.ndarray], float]


def least(run: Rounds, value: Value, alone: Value, loss: str = "hinge") -> tuple[float, np.ndarray]:
    """The smallest value(u) over the best models of growing norm, and over their multiples.

    `alone(u)` is the part of the value that depends on the norm only. The search ends when it exceeds the best value.
    """
    best, at = value(np.zeros(run.A.shape[1])), np.zeros(run.A.shape[1])
    radius = 1 / max(float(run.norms.max()), 1e-50)
    for _ in range(12):
        u = best_of(run.A, run.y, loss, radius, tol=1e-3, epsilon=run.model.epsilon).weights
        factor = best_factor(value, u)
        if value(factor * u) < best:
            best, at = value(factor * u), factor * u
        inside = float(np.linalg.norm(u)) < 0.9 * radius
        if inside or alone(u * (radius / max(float(np.linalg.norm(u)), 1e-300))) >= best:
            break
        radius *= 8
    return best, at


def best_factor(value: Value, u: np.ndarray) -> float:
    """The factor from 1/8 to 8 that minimises value(factor u): the best of a few, refined by bisection.

    >>> round(best_factor(lambda u: float((u[0] - 1.7) ** 2), np.ones(1)), 3)
    1.7
    """
    places = np.geomspace(1 / 8, 8, 13)
    best = float(places[int(np.argmin([value(place * u) for place in places]))])
    least, width = value(best * u), math.sqrt(2)
    for _ in range(14):
        width = math.sqrt(width)
        for place in (best / width, best * width):
            found = value(place * u)
            if found < least:
                best, least = place, found
    return best


def separator(run: Rounds) -> np.ndarray | None:
    """A u of about the smallest norm with y u.x >= 1 in all rounds; None if its bound would be useless."""
    far = 100 * math.sqrt(len(run)) / max(float(run.norms.max()), 1e-50)

    def direction(radius: float) -> tuple[np.ndarray, float]:
        u = best_of(run.A, run.y, "hinge", radius, tol=1e-5).weights
        return u, float((run.y * (run.A @ u)).min())

    u, margin = direction(far)
    if margin <= 0:
        return None
    best = u / margin
    low, high = 1 / max(float(run.norms.max()), 1e-50), size(best)
    for _ in range(8):  # bisect between norms with and without a margin of 1
        middle = (low + high) / 2
        u, margin = direction(middle)
        low, high = (low, middle) if margin >= 1 - 1e-4 else (middle, high)
        if margin > 0 and size(u) / margin < size(best):
            best = u / margin
            high = min(high, size(best))
    return best


def hinges(run: Rounds, u: np.ndarray) -> np.ndarray:
    """The loss of u in each round: hinge, or for numbers epsilon-insensitive."""
    z = run.of(u)
    return np.maximum(z if run.labelled else np.abs(z) - run.model.epsilon, 0)


def size(u: np.ndarray) -> float:
    return float(np.linalg.norm(u))


# ---- the perceptron


def novikoff(R: float, length: float) -> float:
    """Mistakes of the perceptron where y u.x >= 1 in all rounds: at most (R |u|)^2 = (R / gamma)^2, gamma = 1 / |u|.

    Novikoff, "On convergence proofs on perceptrons", 1962.
    """
    return (R * length) ** 2


def perceptron_hinge(R: float, length: float, total: float) -> float:
    """Mistakes of the perceptron: at most (R |u| / 2 + sqrt(R^2 |u|^2 / 4 + L))^2 with L the sum of l(u).

    From M - L <= u.w <= |u| |w| <= |u| R sqrt(M), w the sum of the y x of all mistakes.

    Mohri and Rostamizadeh, "Perceptron mistake bounds", 2013; Shalev-Shwartz, "Online learning and online convex
    optimization", 2012, section 3.3, where it is relaxed to L + R |u| sqrt(L) + R^2 |u|^2.
    """
    b = R * length
    return (b / 2 + math.sqrt(b * b / 4 + total)) ** 2


def perceptron_lengths(length: float, total: float, squares: float) -> float:
    """Mistakes of the perceptron: at most L + |u| sqrt(S), S the sum of |x|^2 over the mistaken rounds.

    The same proof one step earlier; it says more where a few rows are much longer than the others.
    """
    return total + length * math.sqrt(squares)


def perceptron_squared(R: float, length: float, squares: float) -> float:
    """Mistakes of the perceptron: at most (R |u| + D)^2 with D^2 the sum of l(u)^2.

    Freund and Schapire, "Large margin classification using the perceptron algorithm", 1999, theorem 2 (with u of length
    1 and margin gamma, which is u / gamma here).
    """
    return (R * length + math.sqrt(squares)) ** 2


def perceptron_bounds(run: Rounds, radius: float | None = None) -> list[Bound]:
    """The bounds of `Perceptron`, also within `AveragedPerceptron` and `VotedPerceptron`."""
    R, mistakes = float(run.norms.max()), int((run.margins <= 0).sum())
    found = []
    apart = separator(run)
    if apart is not None:
        found.append(bound_of("separable", "mistakes", mistakes, novikoff(R, size(apart)), "Novikoff (1962)"))

    def by_hinge(u: np.ndarray) -> float:
        return perceptron_hinge(R, size(u), float(hinges(run, u).sum()))

    def by_squares(u: np.ndarray) -> float:
        return perceptron_squared(R, size(u), float((hinges(run, u) ** 2).sum()))

    def alone(u: np.ndarray) -> float:
        return (R * size(u)) ** 2

    paper = "Mohri and Rostamizadeh (2013)"
    found.append(bound_of("hinge loss", "mistakes", mistakes, least(run, by_hinge, alone)[0], paper))
    seen = float(run.squares[run.margins <= 0].sum())

    def by_lengths(u: np.ndarray) -> float:
        return perceptron_lengths(size(u), float(hinges(run, u).sum()), seen)

    value = least(run, by_lengths, lambda u: size(u) * math.sqrt(seen))[0]
    found.append(bound_of("hinge loss, |x| as met", "mistakes", mistakes, value, paper))
    value = least(run, by_squares, alone, "squared_hinge")[0]
    return [*found, bound_of("squared hinge loss", "mistakes", mistakes, value, "Freund and Schapire (1999)")]


def romma_bounds(run: Rounds, radius: float | None = None) -> list[Bound]:
    """Mistakes of ROMMA and aggressive ROMMA where y u.x >= 1 in all rounds: at most (R |u|)^2.

    |w| never exceeds |u|, and each mistake adds at least 1 / R^2 to |w|^2.

    Li and Long, "The relaxed online maximum margin algorithm", 2002.
    """
    u = separator(run)
    if u is None:
        return []
    bound = novikoff(float(run.norms.max()), size(u))
    return [bound_of("separable", "mistakes", int((run.margins <= 0).sum()), bound, "Li and Long (2002)")]


# ---- passive-aggressive learning: Crammer et al., "Online passive-aggressive algorithms", 2006


def pa_separable(R: float, length: float) -> float:
    """The sum of the squared losses of PA where l(u) = 0 in all rounds: at most R^2 |u|^2 (theorem 2)."""
    return (R * length) ** 2


def pa_hard(length: float, squares: float) -> float:
    """The sum of l(w)^2 / |x|^2 of PA: at most (D + sqrt(D^2 + |u|^2))^2 with D^2 the sum of l(u)^2 / |x|^2.

    Theorem 3, which has |x| = 1 and the larger (|u| + 2 D)^2, by its own proof. Rows of zeros are left out on both
    sides.
    """
    return (math.sqrt(squares) + math.sqrt(squares + length**2)) ** 2


def pa_one_steps(C: float, length: float, total: float) -> float:
    """The sum of tau_t l_t(w) of PA-I: at most |u|^2 + 2 C L (from the proof of theorem 4; for regression, too)."""
    return length**2 + 2 * C * total


def pa_two(R: float, C: float, length: float, squares: float) -> float:
    """The sum of the squared losses of PA-II: at most (R^2 + 1 / (2 C)) (|u|^2 + 2 C S), S of l(u)^2 (theorem 5)."""
    return (R * R + 1 / (2 * C)) * (length**2 + 2 * C * squares)


def pa_bounds(run: Rounds, radius: float | None = None) -> list[Bound]:
    """The bounds of `PA` and `PARegressor`."""
    model: Any = run.model
    R, C, paper = float(run.norms.max()), model.C, "Crammer et al. (2006)"
    losses = np.maximum(run.z if run.labelled else np.abs(run.z) - model.epsilon, 0)
    squared = "squared_hinge" if run.labelled else "epsilon_insensitive"
    plain_loss = "hinge" if run.labelled else "epsilon_insensitive"
    some = run.norms > 0
    weights = np.where(some, 1 / np.maximum(run.norms, 1e-150) ** 2, 0.0)
    if model.variant == "hard":
        found = []
        apart = separator(run) if run.labelled else None
        if apart is not None:
            bound = pa_separable(R, size(apart))
            found.append(bound_of("separable", "squared losses", float((losses**2).sum()), bound, paper))
        value, _ = least(
            run,
            lambda u: pa_hard(size(u), float((weights * hinges(run, u) ** 2).sum())),
            lambda u: size(u) ** 2,
            squared,
        )
        return [
            *found,
            bound_of("any stream", "squared losses / |x|^2", float((weights * losses**2).sum()), value, paper),
        ]
    if model.variant == "II":
        value, _ = least(
            run,
            lambda u: pa_two(R, C, size(u), float((hinges(run, u) ** 2).sum())),
            lambda u: pa_two(R, C, size(u), 0.0),
            squared,
        )
        return [bound_of("PA-II", "squared losses", float((losses**2).sum()), value, paper)]
    value, _ = least(
        run,
        lambda u: pa_one_steps(C, size(u), float(hinges(run, u).sum())),
        lambda u: size(u) ** 2,
        plain_loss,
    )
    if run.labelled:
        bound = max(R * R, 1 / C) * value
        return [bound_of("PA-I", "mistakes", int((run.margins <= 0).sum()), bound, paper)]
    steps = np.where(some, np.minimum(C, losses * weights), 0.0)
    return [bound_of("PA-I", "losses x steps", float((steps * losses).sum()), value, paper)]


# ---- regret of gradient steps


@dataclass(frozen=True)
class Curve:
    """A bound of the regret after each round."""

    name: str
    values: np.ndarray
    paper: str


def descent(eta: float, length: float, squares: np.ndarray) -> np.ndarray:
    """Regret of gradient steps of constant length: at most |u|^2 / (2 eta) + eta / 2 x the sum of |g_t|^2.

    For any u or, with a projection, any u in the ball. Zinkevich, "Online convex programming and generalized
    infinitesimal gradient ascent", 2003, theorem 1 with a constant step; Shalev-Shwartz, "Online learning and online
    convex optimization", 2012, theorem 2.4 (with its eta / 2 by the exact square).
    """
    return length**2 / (2 * eta) + eta / 2 * np.cumsum(squares)


def decreasing_descent(eta: float, distance: Any, squares: np.ndarray) -> np.ndarray:
    """Regret with eta_t = eta / sqrt(t): at most D^2 sqrt(T) / (2 eta) + the sum of eta_t |g_t|^2 / 2.

    D is the largest |w_t - u|: with a projection onto a ball of radius B at most B + |u|, else what it was.
    Zinkevich (2003), the proof of theorem 1.
    """
    t = np.arange(1, len(squares) + 1)
    return distance**2 * np.sqrt(t) / (2 * eta) + eta / 2 * np.cumsum(squares / np.sqrt(t))


def zinkevich(T: Any, D: float, G: float, eta: float = 1.0) -> Any:
    """Regret with eta_t = eta / sqrt(t) and gradients up to G: at most D^2 sqrt(T) / (2 eta) + eta G^2 (sqrt(T) - 1/2).

    D is the diameter of the ball. With eta = D / (sqrt(2) G) that is sqrt(2) D G sqrt(T), less a little.
    Zinkevich (2003), theorem 1, which has eta = 1.
    """
    return D**2 * np.sqrt(T) / (2 * eta) + eta * G**2 * (np.sqrt(T) - 0.5)


def leader(eta: float, length: float, squares: np.ndarray) -> np.ndarray:
    """Regret of w_t = eta_t theta, eta_t = eta / sqrt(t): at most |u|^2 sqrt(T) / (2 eta) + sum of eta_t |g_t|^2 / 2.

    Follow the regularised leader, with |w|^2 / (2 eta_t) as the regulariser of round t. McMahan, "A survey of
    algorithms and analysis for adaptive online learning", 2017, theorem 1; Shalev-Shwartz (2012), section 2.3.
    """
    return decreasing_descent(eta, length, squares)


def exponentiated(eta: float, N: int, squares: np.ndarray) -> np.ndarray:
    """Regret on the simplex of N weights: at most ln N / eta + eta / 2 x the sum of |g_t|_inf^2.

    Shalev-Shwartz (2012), sections 2.4 to 2.6, with eta / 2 as the entropy is 1-strongly convex in |.|_1. For EG with
    positive and negative weights there are 2 d of them, and the gradients are U times those of w; Kivinen and Warmuth,
    "Exponentiated gradient versus gradient descent for linear predictors", 1997.
    """
    return math.log(N) / eta + eta / 2 * np.cumsum(squares)


def hedge(T: Any, N: int, eta: float | None = None) -> Any:
    """Regret of Hedge against the best of N experts, losses in [0, 1]: at most ln N / eta + eta T / 8.

    Without eta: that of eta_t = sqrt(8 ln N / t), 2 sqrt(T ln N / 2) + sqrt(ln N / 8), at every T.
    Cesa-Bianchi and Lugosi, "Prediction, learning, and games", 2006, theorems 2.2 and 2.3.

    >>> round(hedge(100, 10, 0.3), 3), round(float(hedge(100, 10)), 3)
    (11.425, 21.996)
    """
    if eta is None:
        return 2 * np.sqrt(T / 2 * math.log(N)) + math.sqrt(math.log(N) / 8)
    return math.log(N) / eta + eta * T / 8


def rda(T: Any, gamma: float, G: float, h: float) -> Any:
    """Regularised regret of RDA with beta_t = gamma sqrt(t): at most (gamma h(u) + G^2 / gamma) sqrt(T).

    For gradients up to G and any u, with h(u) = |u|^2 / 2 + rho |u|_1; it is of the losses plus the regulariser,
    lambda |w|_1, of the w that met each example.
    Xiao, "Dual averaging methods for regularized stochastic learning and online optimization", 2010, corollary 2.

    >>> float(rda(100, 2.0, 1.0, 0.5))
    15.0
    """
    return (gamma * h + G**2 / gamma) * np.sqrt(T)


def rda_bounds(run: Rounds, radius: float | None = None) -> list[Bound]:
    """The bound of `RDA`: the regret against the u on the path of the loss with the tightest bound."""
    model: Any = run.model
    T, lam, gamma = len(run), model.lam, model.gamma
    loss = loss_of(model.loss, model.epsilon)
    G = float((np.abs(slopes(model.loss, run.z, model.epsilon)) * run.norms).max())

    def h(u: np.ndarray) -> float:
        return size(u) ** 2 / 2 + model.rho * float(np.abs(u).sum())

    def objective(u: np.ndarray) -> float:
        return float(loss.value(run.of(u)).sum()) + lam * T * float(np.abs(u).sum())

    _, u = least(
        run,
        lambda u: objective(u) + rda(T, gamma, G, h(u)),
        lambda u: rda(T, gamma, G, size(u) ** 2 / 2),
        model.loss,
    )
    measured = float(run.losses(model.loss)[-1]) + lam * float(sums_of_weights(run).sum()) - objective(u)
    return [bound_of("dual averaging", "regularised regret", measured, rda(T, gamma, G, h(u)), "Xiao (2010)")]


def sums_of_weights(run: Rounds) -> np.ndarray:
    """|w_t|_1 of the weights before each example: a new model learns the rows one by one."""
    own = {
        "features": None,
        "fit_intercept": False,
        "classes": [-1, 1],
    }  # the rows are already scaled and have the constant
    model: Any = type(run.model)(**{**run.model.get_params(), **own})
    sums = np.zeros(len(run))
    for t in range(1, len(run)):
        model.partial_fit(run.A[t - 1 : t], run.y[t - 1 : t])
        sums[t] = np.abs(model.coef_).sum()
    return sums


def slopes(name: str, z: np.ndarray, epsilon: float) -> np.ndarray:
    """d loss / dz, as in core/loss.pxd."""
    if name == "hinge":
        return (z > 0).astype(np.float64)
    if name == "squared_hinge":
        return np.maximum(z, 0)
    if name == "logistic":
        return np.exp(-np.logaddexp(0, 1 - z))
    if name == "squared":
        return z
    return np.sign(np.where(np.abs(z) > (epsilon if name == "epsilon_insensitive" else 0), z, 0))


def lengths(run: Rounds, steps: np.ndarray, ball: float = math.inf) -> np.ndarray:
    """|w_t| of w <- w + step x, projected: by |w + a x|^2 = |w|^2 + 2 a w.x + a^2 |x|^2 from the scores."""
    result, now = np.empty(len(run)), 0.0
    changes = zip((2 * steps * run.scores).tolist(), (steps**2 * run.squares).tolist(), strict=True)
    for t, (linear, square) in enumerate(changes):
        result[t] = now
        now = min(max(now + linear + square, 0.0), ball**2)
    return np.sqrt(result)


LIPSCHITZ = ("hinge", "logistic", "absolute", "epsilon_insensitive")  # with slopes up to 1


def regret_curves(run: Rounds, radius: float, u: np.ndarray | None = None) -> list[Curve]:
    """Bounds of the regret against a u, or any u, within the radius; first the bound by the measured gradients."""
    model: Any = run.model
    name = type(model).__name__
    if name not in ("OGD", "OGDRegressor", "MirrorDescent", "EG") or model.average or model.loss == "perceptron":
        return []
    slope = slopes(model.loss, run.z, model.epsilon)
    if name == "EG" or (name == "MirrorDescent" and model.mirror != "euclidean"):
        return (
            entropy_curves(run, slope)
            if name == "EG" or model.mirror == "entropy"
            else pnorm_curves(run, slope, radius, u)
        )
    schedule, eta, ball = model.schedule, model.eta, getattr(model, "radius", None) or math.inf
    if radius > ball * (1 + 1e-9) or schedule not in ("constant", "sqrt"):
        return []
    squares, T, G = (slope * run.norms) ** 2, np.arange(1, len(run) + 1), float(run.norms.max())
    flat = model.loss in LIPSCHITZ
    ftrl = name == "MirrorDescent" and model.variant == "ftrl"
    paper = "Shalev-Shwartz (2012)" if name == "MirrorDescent" else "Zinkevich (2003)"
    measured, largest = "measured gradients", "largest gradient"
    if schedule == "constant":
        prior = [Curve(largest, descent(eta, radius, np.full(len(run), G**2)), paper)] if flat else []
        return [Curve(measured, descent(eta, radius, squares), paper), *prior]
    if ftrl:
        prior = [Curve(largest, leader(eta, radius, np.full(len(run), G**2)), paper)] if flat else []
        return [Curve(measured, leader(eta, radius, squares), paper), *prior]
    steps = eta / np.sqrt(T) * slope * (run.y if run.labelled else 1.0)
    distance = np.maximum.accumulate(lengths(run, steps, ball)) + radius
    prior = [Curve(largest, zinkevich(T, ball + radius, G, eta), paper)] if flat and ball < math.inf else []
    return [Curve(measured, decreasing_descent(eta, distance, squares), paper), *prior]


def entropy_curves(run: Rounds, slope: np.ndarray) -> list[Curve]:
    """The bounds of EG and of mirror descent with entropy, for constant steps only."""
    model: Any = run.model
    signed = hasattr(model, "U")
    if getattr(model, "schedule", "constant") != "constant":
        return []
    U = model.U if signed else 1.0
    N = max(run.A.shape[1], (model.n_features or 0) + bool(model.fit_intercept))
    paper = "Kivinen and Warmuth (1997)" if signed else "Shalev-Shwartz (2012)"
    weights, G = 2 * N if signed else N, U * float(run.largest.max())
    found = [Curve("measured gradients", exponentiated(model.eta, weights, (U * slope * run.largest) ** 2), paper)]
    if model.loss in LIPSCHITZ:
        found.append(Curve("largest gradient", exponentiated(model.eta, weights, np.full(len(run), G**2)), paper))
    return found


def pnorm_curves(run: Rounds, slope: np.ndarray, radius: float, u: np.ndarray | None) -> list[Curve]:
    """|w|_q^2 / 2 is (q - 1)-strongly convex in |.|_q, 1/p + 1/q = 1: |u|_q^2 / (2 eta) + eta (p - 1) / 2 sum |g|_p^2.

    Of an unknown u with |u|_2 <= radius |u|_q is at most d^(1/q - 1/2) as much. Shalev-Shwartz (2012), section 2.5.
    """
    model: Any = run.model
    p = model.p
    q = p / (p - 1)
    length = radius * run.A.shape[1] ** (1 / q - 0.5) if u is None else float((np.abs(u) ** q).sum() ** (1 / q))
    squares = (p - 1) * (slope * run.powers(p)) ** 2
    if model.schedule == "constant":
        return [Curve("measured gradients", descent(model.eta, length, squares), "Shalev-Shwartz (2012)")]
    if model.schedule == "sqrt" and model.variant == "ftrl":
        return [Curve("measured gradients", leader(model.eta, length, squares), "Shalev-Shwartz (2012)")]
    return []


def regret_bound(run: Rounds, radius: float) -> Curve | None:
    """The bound that `regret` shows, by the measured gradients. None if the method or the radius has none."""
    own = own_radius(run.model)
    if own is not None and radius > own * (1 + 1e-9):
        return None
    if norm_of(run.model) == "simplex" and radius != 1:
        return None
    curves = regret_curves(run, radius)
    return curves[0] if curves else None


def regret_bounds(run: Rounds, radius: float | None = None) -> list[Bound]:
    """The bounds of `OGD`, `OGDRegressor`, `MirrorDescent` and `EG` at the end of the stream."""
    model: Any = run.model
    if radius is None:
        radius = own_radius(model) or length_asked_for(run, model.loss)
    if regret_bound(run, radius) is None:
        return []
    norm = norm_of(model)
    best = best_of(run.A, run.y, model.loss, radius, norm, 1e-6, model.epsilon)
    measured = float(run.losses(model.loss)[-1]) - best.loss
    curves = regret_curves(run, radius, best.weights)
    among = {"l2": f"|u| <= {radius:.4g}", "l1": f"|u|_1 <= {radius:.4g}", "simplex": "u in the simplex"}[norm]
    of = f"regret, {among}"
    return [bound_of(curve.name, of, measured, float(curve.values[-1]), curve.paper) for curve in curves]


# ---- strong convexity


def soft_svm(lam: float, squares: np.ndarray, lead: int, length: float) -> float:
    """Regret of SoftSVM on lambda/2 |w|^2 + hinge loss, the gradients g_t of which have the squares given.

    "pegasos": at most the sum of |g_t|^2 / (2 lambda t), and so G^2 (1 + ln T) / (2 lambda). "mirror", whose first
    lambda/2 |w|^2 is there before the first round: at most lambda/2 |u|^2 + the sum of |g_t|^2 / (2 lambda (t + 1)).

    Hazan, Agarwal and Kale, "Logarithmic regret algorithms for online convex optimization", 2007, theorem 1;
    Shalev-Shwartz, Singer and Srebro, "Pegasos", 2007, lemma 1; McMahan (2017) for "mirror", by his strong FTRL lemma.
    """
    t = np.arange(1, len(squares) + 1) + lead
    return lead * lam / 2 * length**2 + float((squares / (2 * lam * t)).sum())


def svm_bounds(run: Rounds, radius: float | None = None) -> list[Bound]:
    """The bounds of `SoftSVM`. The u is the best on the path of the hinge loss; the theorem holds for any u."""
    model: Any = run.model
    lam, T = model.lam, len(run)
    lead = 1 if model.variant == "mirror" else 0
    active = run.margins < 1
    # w_{t+1} = (t - 1 + lead) / (t + lead) w_t + y x / (lambda (t + lead)) where the margin is below 1
    w2, now = np.empty(T), 0.0
    for t, (on, m, x2) in enumerate(zip(active.tolist(), run.margins.tolist(), run.squares.tolist(), strict=True), 1):
        w2[t - 1] = now
        keep, step = (t - 1 + lead) / (t + lead), on / (lam * (t + lead))
        now = max(keep * keep * now + 2 * keep * step * m + step * step * x2, 0.0)
    squares = np.maximum(lam**2 * w2 - 2 * lam * active * run.margins + active * run.squares, 0)

    def objective(u: np.ndarray) -> float:
        return lam * T / 2 * size(u) ** 2 + float(hinges(run, u).sum())

    best, u = least(run, objective, lambda u: lam * T / 2 * size(u) ** 2)
    measured = float(lam / 2 * w2.sum() + np.maximum(1 - run.margins, 0).sum()) - best
    paper = "Shalev-Shwartz et al. (2007)"
    return [bound_of("strongly convex", "regret", measured, soft_svm(lam, squares, lead, size(u)), paper)]


# ---- second order


def second_order_perceptron(total: float, energy: float, logs: float) -> float:
    """Mistakes of SOP: at most L + sqrt((a |u|^2 + sum (u.x)^2) sum_i ln(1 + lambda_i / a)), L the sum of l(u).

    The sum of (u.x)^2 and the eigenvalues lambda_i of the sum of x x' are over the mistaken rounds. With the diagonal
    covariance x x' is diag(x_j^2) in both, by the same proof.

    Cesa-Bianchi, Conconi and Gentile, "A second-order perceptron algorithm", 2005.
    """
    return total + math.sqrt(energy * logs)


def sop_bounds(run: Rounds, radius: float | None = None) -> list[Bound]:
    model: Any = run.model
    wrong = run.margins <= 0
    X, a = dense(run.A[wrong]), model.a
    seen = np.linalg.eigvalsh(X.T @ X) if model.covariance == "full" else (X**2).sum(axis=0)
    logs = float(np.log1p(np.maximum(seen, 0) / a).sum())

    def energy(u: np.ndarray) -> float:
        own = ((X @ u) ** 2).sum() if model.covariance == "full" else (seen * u**2).sum()
        return a * size(u) ** 2 + float(own)

    value, _ = least(
        run,
        lambda u: second_order_perceptron(float(hinges(run, u).sum()), energy(u), logs),
        lambda u: math.sqrt(a * logs) * size(u),
    )
    return [bound_of("second order", "mistakes", int(wrong.sum()), value, "Cesa-Bianchi et al. (2005)")]


def arow(total: float, updates: int, energy: float, logdet: float) -> float:
    """Mistakes of AROW: at most sqrt(r |u|^2 + sum (u.x)^2) sqrt(ln det(I + sum x x' / r) + U) + L - U.

    The sums of x x' and (u.x)^2 are over the rounds with an update, of which U were right, with a margin above 0. L is
    the sum of l(u): in the paper over those rounds, here over all, as else u = 0 would say no more than M <= M. With
    the full covariance only.

    Crammer, Kulesza and Dredze, "Adaptive regularization of weight vectors", 2009.
    """
    return math.sqrt(energy * (logdet + updates)) + total - updates


def arow_bounds(run: Rounds, radius: float | None = None) -> list[Bound]:
    model: Any = run.model
    if model.covariance != "full":
        return []
    wrong = run.margins <= 0
    X, r = dense(run.A[run.margins < 1]), model.r
    logdet = float(np.log1p(np.maximum(np.linalg.eigvalsh(X.T @ X), 0) / r).sum())
    updates = int(((run.margins < 1) & ~wrong).sum())

    def value(u: np.ndarray) -> float:
        energy = r * size(u) ** 2 + float(((X @ u) ** 2).sum())
        return arow(float(hinges(run, u).sum()), updates, energy, logdet)

    best, _ = least(run, value, lambda u: size(u) * math.sqrt(r * (logdet + updates)) - updates)
    return [bound_of("second order", "mistakes", int(wrong.sum()), best, "Crammer et al. (2009)")]


def dense(A: Any) -> np.ndarray:
    return A if isinstance(A, np.ndarray) else A.toarray()


KNOWN: dict[str, Callable[[Rounds, float | None], list[Bound]]] = {
    "Perceptron": perceptron_bounds,
    "AveragedPerceptron": perceptron_bounds,
    "VotedPerceptron": perceptron_bounds,
    "ROMMA": romma_bounds,
    "AggressiveROMMA": romma_bounds,
    "PA": pa_bounds,
    "PARegressor": pa_bounds,
    "OGD": regret_bounds,
    "OGDRegressor": regret_bounds,
    "MirrorDescent": regret_bounds,
    "EG": regret_bounds,
    "RDA": rda_bounds,
    "SoftSVM": svm_bounds,
    "SOP": sop_bounds,
    "AROW": arow_bounds,
}
