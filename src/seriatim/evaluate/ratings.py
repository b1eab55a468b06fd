"""Progressive validation of recommenders: predict each rating, then reveal and learn it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

from seriatim.errors import DataError, ParameterError
from seriatim.evaluate.metrics import NDCG, RMSE, Fading, Metric, Outcome, Windowed, metric
from seriatim.evaluate.progressive import Run, plain_parameters
from seriatim.recommend.base import Recommender

STEP = 1 << 15  # ratings of an array that are learned between two calls of `watch`

Block = tuple[Any, Any, Any]  # users, items, ratings


class RatingRun(Run):
    """The result of a run over ratings. A model that only ranks has no `rmse` and no `mae`."""

    model: Any

    def __repr__(self) -> str:
        return f"RatingRun({self.model!r}: {self.examples:,} ratings, {self.measure} {self.figure:.4f})"

    @property
    def rmse(self) -> float | None:
        """The root of the mean squared error so far."""
        return None if self.model.ranks or not self.examples else self.mean_loss**0.5

    @property
    def mae(self) -> float | None:
        """The mean absolute error so far."""
        return None if self.model.ranks or not self.examples else self.judge.error / self.examples

    @property
    def ndcg(self) -> float | None:
        """The NDCG so far; see `evaluate.metrics.NDCG`."""
        value: float | None = next(one for one in self.followed if isinstance(one, NDCG)).value
        return value

    @property
    def measure(self) -> str:
        return str(next(one for one in self.followed if isinstance(one, NDCG))) if self.model.ranks else "rmse"

    @property
    def figure(self) -> float:
        """The measure of the curve so far; NaN before the first rating."""
        value = self.ndcg if self.model.ranks else self.rmse
        return np.nan if value is None else value

    @property
    def curve(self) -> list[tuple[int, float]]:
        """(ratings, RMSE so far) at evenly spaced checkpoints and the end; NDCG for a model that only ranks."""
        if self.model.ranks:
            return [(place, value) for place, value in self.curves[self.measure] if value is not None]
        places, _, losses = self.judge.curve()[:3]
        points = list(zip(places.tolist(), np.sqrt(losses / places).tolist(), strict=True))
        if self.examples and (not points or points[-1][0] < self.examples):
            points.append((self.examples, self.figure))
        return points

    @property
    def users(self) -> int:
        """The number of users known to the model."""
        return len(self.model.users_) if self.examples else 0

    @property
    def items(self) -> int:
        """The number of items known to the model."""
        return len(self.model.items_) if self.examples else 0

    def summary(self) -> dict[str, Any]:
        """The results as plain numbers, for JSON."""
        from seriatim.catalogue import command_name

        return {
            "algorithm": command_name(type(self.model)),
            "parameters": plain_parameters(self.model),
            "ratings": self.examples,
            "users": self.users,
            "items": self.items,
            "rmse": self.rmse,
            "mae": self.mae,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "metrics": self.figures,
        }

    def learn_block(self, users: Any, items: Any, ratings: Any) -> None:
        """Let the model learn some ratings, and judge the prediction made before each."""
        model = self.model
        told = model.as_ratings(ratings)
        before, predicted = known(model), np.empty(len(told))
        try:
            model.learn_ratings(users, items, told, predicted)
        finally:  # Ctrl-C comes between two ratings
            n = known(model) - before
            if n:
                codes = model.user_numbers(users[:n])
                losses = np.full(n, np.nan) if model.ranks else (told[:n] - predicted[:n]) ** 2
                self.take(Outcome(told[:n], predicted[:n], losses=losses, users=codes))


def known(model: Any) -> int:
    """The number of ratings that a model has learned."""
    return model.t_ if model.__sklearn_is_fitted__() else 0


def progressive_ratings(
    model: Recommender,
    X: Any,
    y: Any = None,
    *,
    warm_up: int = 0,
    every: int | None = None,
    at: Any = None,
    metrics: Iterable[str | Metric] = (),
    window: int | None = None,
    fade: float | None = None,
    watch: Callable[[RatingRun], None] | None = None,
) -> RatingRun:
    """Run a recommender; see `progressive`."""
    run = RatingRun(model, followed_metrics(model, metrics, window, fade), warm_up, every, at)
    start = perf_counter()
    try:
        for block in blocks(model, X, y):
            run.learn_block(*block)
            run.updates += len(block[2])
            run.seconds = perf_counter() - start
            if watch is not None:
                watch(run)
    except KeyboardInterrupt:
        run.interrupted = True
    run.seconds = perf_counter() - start
    return run


def followed_metrics(
    model: Recommender, metrics: Iterable[str | Metric], window: int | None, fade: float | None
) -> list[Metric]:
    """The requested metrics, NDCG always, and windowed and fading errors."""
    asked = [metric(one) for one in metrics]
    for one in asked:
        if one.task not in ("recommendation", *(() if model.ranks else ("any", "regression"))):
            raise ParameterError(f"{one} is a metric of {one.task}; {type(model).__name__} does {model.task}")
    if not any(isinstance(one, NDCG) for one in asked):
        asked.insert(0, NDCG())
    for one in asked:
        if isinstance(one, NDCG) and one.low is None:
            one.low = float(model.low)
    others: list[Metric] = []
    for one in [] if model.ranks else [RMSE(), *(one for one in asked if not one.in_order)]:
        others += [Windowed(metric(one), window)] if window is not None else []
        others += [Fading(metric(one), fade)] if fade is not None else []
    return asked + others


def blocks(model: Recommender, X: Any, y: Any) -> Iterator[Block]:
    """Slices of arrays, all checked before the first is learned, or the blocks of a stream."""
    if y is None:
        for block in X:
            if not (isinstance(block, tuple) and len(block) == 3):
                raise DataError("expected (users, items) and ratings, or a stream of (users, items, ratings)")
            yield block
        return
    if not (isinstance(X, tuple | list) and len(X) == 2):
        raise DataError("for a recommender X is (users, items), beside which y is their ratings")
    users, items = (part if isinstance(part, list) else np.asarray(part) for part in X)
    told = model.as_ratings(y)
    model.expect_pairs(users, items, len(told))
    for begin in range(0, len(told), STEP):
        end = begin + STEP
        yield users[begin:end], items[begin:end], told[begin:end]
