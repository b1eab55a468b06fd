"""Losses, and metrics of predicted numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from seriatim.core.loss import LOSSES
from seriatim.errors import DataError, ParameterError
from seriatim.evaluate.judge import judge_rows
from seriatim.evaluate.metrics.base import Mean, Outcome, numbers_of


class MeanLoss(Mean):
    """The mean of a loss, by default the loss of the model.

    For labels the loss is a function of the margin: y times the score, or with more than two labels the score of the
    true label minus the highest other score. For numbers the loss is a function of the error: squared, absolute or
    epsilon_insensitive. Used alone without scores, the metric takes numbers.

    >>> MeanLoss("squared").update([1.5, 2.5], [1.0, 2.0]).value
    0.125
    """

    name, task, argument = "mean loss", "any", "[:LOSS]"

    def __init__(self, loss: str | None = None, epsilon: float = 0.1) -> None:
        if loss is not None and loss not in LOSSES:
            raise ParameterError(f"loss={loss!r}: must be one of {', '.join(LOSSES)}")
        self.loss, self.epsilon = loss, epsilon

    def __str__(self) -> str:
        return self.name if self.loss is None else f"{self.name} ({self.loss.replace('_', ' ')})"

    def made(self, y: Any, predicted: Any, scores: Any) -> Outcome:
        if self.loss is None:
            raise DataError(f"{self}: say which loss, as MeanLoss('hinge'), or ask for it in a run of a model")
        if scores is None and self.loss in ("squared", "absolute", "epsilon_insensitive"):
            return Outcome(*numbers_of(y, predicted))
        return super().made(y, predicted, scores)

    def numbers(self, outcome: Outcome) -> np.ndarray:
        if self.loss is None:
            assert outcome.losses is not None
            return outcome.losses
        if outcome.labels is None:
            return judge_rows(self.loss, outcome.truth, outcome.predicted[:, None], self.epsilon)[2]
        scores = np.ascontiguousarray(outcome.needed_scores(str(self)))
        if scores.shape[1] == 1:
            return judge_rows(self.loss, outcome.signs(), scores, self.epsilon, labels=2)[2]
        truth, labels = outcome.truth.astype(np.float64), scores.shape[1]
        return judge_rows(self.loss, truth, scores, self.epsilon, labels, [*outcome.seen])[2]


class CumulativeLoss(MeanLoss):
    """The sum of a loss over the examples so far, by default the loss of the model."""

    name = "cumulative loss"

    @property
    def value(self) -> float:
        return self.total


class OfNumbers(Mean):
    """A metric of predicted numbers."""

    task = "regression"

    def made(self, y: Any, predicted: Any, scores: Any) -> Outcome:
        return Outcome(*numbers_of(y, predicted))


class MAE(OfNumbers):
    """The mean absolute error: the mean of |y - prediction|."""

    name = "mae"

    def numbers(self, outcome: Outcome) -> np.ndarray:
        return np.abs(outcome.truth - outcome.predicted)


class RMSE(OfNumbers):
    """The root mean squared error: the root of the mean of (y - prediction)^2."""

    name = "rmse"

    def numbers(self, outcome: Outcome) -> np.ndarray:
        return (outcome.truth - outcome.predicted) ** 2

    @property
    def value(self) -> float | None:
        return (self.total / self.weight) ** 0.5 if self.weight else None


class R2(RMSE):
    """1 - sum (y - prediction)^2 / sum (y - mean of y)^2: 1 is perfect, 0 is as good as predicting the mean.

    >>> round(R2().update([1.0, 2.0, 4.0], [1.0, 2.0, 3.0]).value, 3)
    0.786
    """

    name, high = "r2", True
    mean = spread = 0.0

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        given = np.ones(len(outcome)) if weights is None else weights
        before, fresh = self.weight, float(given.sum())
        super().take(outcome, weights)
        if fresh:  # combine the mean and the squares around it of two parts (Chan et al., 1979)
            mean = float(given @ outcome.truth / fresh)
            self.spread += float(given @ (outcome.truth - mean) ** 2)
            self.spread += (mean - self.mean) ** 2 * before * fresh / self.weight
            self.mean += (mean - self.mean) * fresh / self.weight

    def fade(self, factor: float) -> None:
        super().fade(factor)
        self.spread *= factor

    @property
    def value(self) -> float | None:
        return 1 - self.total / self.spread if self.spread else None
