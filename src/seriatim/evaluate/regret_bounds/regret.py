"""Regret: the loss of a learner along the stream minus the loss of the best fixed model in hindsight."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from seriatim.errors import DataError, ParameterError
from seriatim.estimator import Estimator
from seriatim.evaluate.regret_bounds.best_fixed import (
    LOSSES,
    best_of,
    length_asked_for,
    measured_loss,
    norm_of,
    own_radius,
)
from seriatim.evaluate.regret_bounds.bounds import hedge, holds, regret_bound, table
from seriatim.evaluate.regret_bounds.rounds import Rounds, begun, committee_rounds, rounds
from seriatim.experts.base import Experts


@dataclass
class Regret:
    """The regret at checkpoints of the stream. The true loss of the best model is between `best` - `gap` and `best`."""

    comparator: str
    examples: list[int]
    loss: list[float]  # total loss of the learner
    best: list[float]  # total loss of the best fixed model, or of the best model of each segment
    gap: list[float]
    bound: list[float] | None = None  # by the paper
    paper: str = ""
    radius: float | None = None
    learner: str = field(default="", repr=False)

    @property
    def regret(self) -> list[float]:
        """The total regret at each checkpoint."""
        return [loss - best for loss, best in zip(self.loss, self.best, strict=True)]

    @property
    def average(self) -> list[float]:
        """The regret per round at each checkpoint."""
        return [regret / t for regret, t in zip(self.regret, self.examples, strict=True)]

    @property
    def holds(self) -> bool | None:
        """Whether the regret stays below its bound at all checkpoints; None without a bound."""
        if self.bound is None:
            return None
        return all(holds(regret, bound) for regret, bound in zip(self.regret, self.bound, strict=True))

    def as_dict(self) -> dict[str, Any]:
        """The regret as plain numbers, for a report."""
        return {
            "comparator": self.comparator,
            "examples": self.examples,
            "regret": self.regret,
            "bound": self.bound,
        }

    def __str__(self) -> str:
        heads = ["examples", "loss", "best", "regret", "a round"] + (["bound", "holds"] if self.bound else [])
        lines = []
        for i, t in enumerate(self.examples):
            numbers = (self.loss[i], self.best[i], self.regret[i], self.average[i])
            line = [str(t), *(f"{number:.6g}" for number in numbers)]
            if self.bound:
                line += [f"{self.bound[i]:.6g}", "yes" if holds(self.regret[i], self.bound[i]) else "NO"]
            lines.append(line)
        paper = [f"bound: {self.paper}"] if self.bound else []
        made = table([heads, *lines], ">" * len(heads))
        return "\n".join([self.learner, f"against the {self.comparator}", *paper, made])


def regret(
    model: Estimator,
    X: Any,
    y: Any = None,
    *,
    radius: float | None = None,
    loss: str | None = None,
    checkpoints: int = 10,
    segments: int = 1,
    tol: float = 1e-6,
    known: dict[Any, Any] | None = None,
) -> Regret:
    """The regret of a learner against the best fixed linear model in hindsight, at geometric checkpoints.

    A new model with the same parameters runs over the stream, which is kept in memory. The stream has two labels or
    numbers. The loss is measured before each update. The best model sees the rows as the learner saw them: scaled, and
    with the constant feature, whose weight counts in the norm.

    radius : the largest norm of the models to compare with. The default is the learner's own (`radius`, `U`), else the
        norm of the least-squares model, scaled to the smallest loss; this depends on the rows only. `Regret.radius` is
        the value used. To plot several learners together, pass it to all of them.
    loss : the default is the learner's own loss, but hinge for the perceptron's, whose minimum is always 0.
    checkpoints : the largest number of checkpoints.
    segments : divide the stream into this many equal parts and take the best model of each: shifting regret.
    tol : the duality gap of the best model, relative to max(1, its loss). If rounding does not permit it, as with
        columns of very different scales, `gap` is what was reached.
    known : a dict of the best models found so far, to pass again with other learners on the same rows.

    The norm is that of the method: |u|_1 for EG, the simplex for mirror descent with entropy, else Euclidean. If the
    paper bounds this regret, `bound` has the bound by the measured gradients. It holds for the learner's own loss, one
    segment, and a radius within the learner's own. A kernel learner is compared with linear models, too. A method over
    learners as experts, such as `Hedge`, is compared with the best expert: it has its own losses and bound, any labels,
    and no radius.

    >>> from seriatim import OGD
    >>> print(regret(OGD(eta=0.5, radius=1.0), [[1.0], [-1.0], [1.0], [1.0]] * 8, [1, 1, -1, 1] * 8, checkpoints=3))
    OGD(loss='hinge', eta=0.5, schedule='sqrt', radius=1.0, average=False, epsilon=0.1, fit_intercept=True)
    against the best linear model in hindsight with |u| <= 1, hinge loss, within 1e-06
    bound: Zinkevich (2003)
    examples     loss     best   regret    a round    bound  holds
          10  ...
          18  ...
          32  ...
    """
    if segments < 1 or checkpoints < 1:
        raise ParameterError(f"segments={segments!r}, checkpoints={checkpoints!r}: must be at least 1")
    for what, value in (("radius", radius), ("tol", tol)):
        if value is not None and not 0 < value < math.inf:
            raise ParameterError(f"{what}={value!r}: must be a number above 0")
    if isinstance(model, Experts):
        if not (radius is None and loss is None):
            raise ParameterError(f"radius and loss are of linear models; {model!r} is compared with its best expert")
        return committee_regret(model, X, y, checkpoints, segments)
    return regret_of(model, rounds(model, X, y), radius, loss, checkpoints, segments, tol, known)


def regret_of(
    model: Estimator,
    run: Rounds,
    radius: float | None = None,
    loss: str | None = None,
    checkpoints: int = 10,
    segments: int = 1,
    tol: float = 1e-6,
    known: dict[Any, Any] | None = None,
) -> Regret:
    """The regret of a model that ran through these rounds."""
    own = measured_loss(model)
    name = own if loss is None else loss
    if name not in LOSSES:
        raise ParameterError(f"loss={name!r}: must be {' or '.join(map(repr, LOSSES))}")
    norm = norm_of(model)
    known = {} if known is None else known
    seen = run.A.shape[1], name, norm, run.model.epsilon
    if radius is None:
        radius = own_radius(model)
    if radius is None:
        radius = known[seen] = known.get(seen) or length_asked_for(run, name)
    places = geometric(len(run), checkpoints)
    lost = run.losses(name)
    best, gap, reached = np.zeros(len(places)), np.zeros(len(places)), True
    for begin, end in parts(len(run), segments):
        stops = [min(t, end) for t in places]
        for stop in sorted({stop for stop in stops if stop > begin}):
            place = (*seen, radius, tol, begin, stop)
            if place not in known:
                known[place] = best_of(
                    run.A[begin:stop], run.y[begin:stop], name, radius, norm, tol, run.model.epsilon
                )  # fmt: skip
            found = known[place]
            here = np.array(stops) == stop
            best[here] += found.loss
            gap[here] += found.gap
            reached &= found.certified
    bound = regret_bound(run, radius) if name == own == model.loss and segments == 1 else None
    length = {"l2": "|u|", "l1": "|u|_1", "simplex": "u >= 0, sum"}[norm]
    sign = "=" if norm == "simplex" else "<="
    shifting = "" if segments == 1 else f" of each of {segments} parts"
    among = f"best linear model in hindsight{shifting} with {length} {sign} {radius:.4g}, {name.replace('_', ' ')} loss"
    within = f"{tol:g}" if reached else f"{(gap / np.maximum(best, 1)).max():.2g} (not {tol:g}, which was asked for)"
    return Regret(
        f"{among}, within {within}",
        places,
        [float(lost[t - 1]) for t in places],
        best.tolist(),
        gap.tolist(),
        None if bound is None else [float(bound.values[t - 1]) for t in places],
        "" if bound is None else bound.paper,
        radius,
        repr(model),
    )


def geometric(n: int, count: int) -> list[int]:
    """At most `count` checkpoints up to n in a geometric sequence.

    >>> geometric(1000, 4)
    [10, 46, 215, 1000]
    """
    first = min(10, n) if count > 1 else n
    return sorted({round(place) for place in np.geomspace(first, n, count)})


def parts(n: int, count: int) -> list[tuple[int, int]]:
    """Divide n rounds into parts of equal length, up to rounding."""
    ends = [n * k // count for k in range(count + 1)]
    return [(begin, end) for begin, end in pairwise(ends) if end > begin]


def committee_regret(model: Experts, X: Any, y: Any, checkpoints: int, segments: int) -> Regret:
    """The regret of a method over learners as experts, which computes its own."""
    fresh, rows, y = begun(model, X, y)
    places, pieces = geometric(rows.n, checkpoints), parts(rows.n, segments)
    lost, losses, bound = {}, {0: np.zeros(len(model.experts))}, {}
    for t in committee_rounds(fresh, rows, y, sorted({*places, *(end for _, end in pieces)})):
        lost[t], losses[t], bound[t] = fresh.loss_, fresh.losses_, fresh.bound_
    best = [math.fsum((losses[min(b, t)] - losses[a]).min() for a, b in pieces if a < t) for t in places]
    return Regret(
        f"best of {len(model.experts)} experts" + ("" if segments == 1 else f" of each of {segments} parts"),
        places,
        [lost[t] for t in places],
        best,
        [0.0] * len(places),
        [bound[t] for t in places] if segments == 1 else None,
        model.paper if segments == 1 else "",
        None,
        repr(model),
    )


def expert_regret(
    losses: Any, learner: Any, *, eta: float | None = None, checkpoints: int = 10, segments: int = 1
) -> Regret:
    """The regret of a learner against the best of N experts in hindsight.

    losses : the losses of the experts, T x N.
    learner : the losses of the learner, T.
    eta : the rate of Hedge, for its bound ln N / eta + eta t / 8; None for the bound of eta_t = sqrt(8 ln N / t). The
        bounds hold for losses in [0, 1]; for other losses there is none.
    segments : divide the rounds into this many equal parts and take the best expert of each: shifting regret, which
        has no bound here.

    >>> import numpy as np
    >>> losses = np.tile([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], (20, 1))
    >>> found = expert_regret(losses, np.full(60, 0.5), eta=0.4, checkpoints=2)
    >>> found.regret, [round(bound, 3) for bound in found.bound]
    ([2.0, 10.0], [2.233, 4.733])
    """
    losses, learner = np.asarray(losses, dtype=np.float64), np.asarray(learner, dtype=np.float64)
    if losses.ndim != 2 or 0 in losses.shape or learner.shape != losses.shape[:1]:
        raise DataError(f"the losses have shapes {losses.shape} and {learner.shape}; they must be (T, N) and (T,)")
    if not (np.isfinite(losses).all() and np.isfinite(learner).all()):
        raise DataError("a loss is not finite")
    if segments < 1 or checkpoints < 1:
        raise ParameterError(f"segments={segments!r}, checkpoints={checkpoints!r}: must be at least 1")
    n, experts = losses.shape
    places = geometric(n, checkpoints)
    best = [math.fsum(losses[a : min(b, t)].sum(axis=0).min() for a, b in parts(n, segments) if a < t) for t in places]
    fits = segments == 1 and losses.min() >= 0 and losses.max() <= 1
    shifting = "" if segments == 1 else f" of each of {segments} parts"
    return Regret(
        f"best of {experts} experts{shifting}",
        places,
        np.cumsum(learner)[np.array(places) - 1].tolist(),
        best,
        [0.0] * len(places),
        [float(hedge(t, experts, eta)) for t in places] if fits else None,
        "Cesa-Bianchi and Lugosi (2006)" if fits else "",
        None,
        "",
    )
