"""The record of one run of a comparison: numbers, the curve, and the features with the largest weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from seriatim.core.rows import LIMIT
from seriatim.estimator import dense_coef
from seriatim.evaluate.drift import changes
from seriatim.evaluate.drift.series import cost_of
from seriatim.evaluate.metrics import Metric, Outcome
from seriatim.evaluate.progressive import Run

POINTS = 100  # evenly spaced checkpoints of a curve, beside the powers of two
HEAVIEST = 20  # features of a model that a record lists
WINDOWS = 20  # a recent value covers a twentieth of the stream
MOST_CLASSES = 64  # with more labels there is no confusion matrix


def curve_places(n: int) -> np.ndarray:
    """The checkpoints of curves: about 100 evenly spaced numbers of examples, and the powers of two.

    >>> curve_places(5).tolist(), len(curve_places(4601))
    ([1, 2, 3, 4, 5], 113)
    """
    even = np.ceil(np.linspace(0, n, POINTS + 1)[1:]).astype(np.int64)
    return np.unique(np.concatenate([even, 1 << np.arange(int(n).bit_length())]))


def figures_of(run: Compared) -> dict[str, Any]:
    """The results of a run as plain numbers."""
    places, means, updates, seconds = run.judge.points()
    labels, confusion = run.confusions()
    numbers = run.mistakes is None
    return {
        "examples": run.examples,
        "features": run.features,
        "mistakes": run.mistakes,
        "mistake_rate": run.mistake_rate,
        "mean_loss": finite(run.mean_loss),
        "mean_absolute_error": finite(run.judge.error / run.examples) if numbers else None,
        "updates": run.model.updates_,
        "support_vectors": getattr(run.model, "n_support_", None),
        "nonzeros": run.nonzeros,
        "bytes": run.bytes,
        "seconds": run.judge.seconds,
        "classes": labels,
        "confusion": None if confusion is None or len(labels) > MOST_CLASSES else confusion.tolist(),
        **({} if run.metric is None else {"metrics": {str(run.metric): finite_or_none(run.metric.value)}}),
        "curve": {"examples": places, "value": means, "updates": updates, "seconds": seconds},
    }


class Compared(Run):
    """A run of a comparison, with a metric if one is asked for.

    series : keep the mistake of each example, or the absolute error of a predicted number. The curve shows their mean.
    margins : keep the margin of each example, or the predicted number."""

    def __init__(self, model: Any, at: np.ndarray, metric: Metric | None, series: bool, margins: bool = False) -> None:
        super().__init__(model, [], 0, None, at)
        self.metric, self.series = metric, series
        self.judge.keeping = series or margins or metric is not None
        self.parts: list[np.ndarray] = []
        self.margins: list[np.ndarray] | None = [] if margins else None

    def follow(self, outcome: Outcome, targets: np.ndarray | None = None) -> None:
        if self.metric is not None:
            self.metric.take(outcome)
        if self.margins is not None and targets is not None:
            scores = np.asarray(outcome.scores)[:, 0]
            self.margins.append(scores if outcome.labels is None else scores * targets)
        if not self.series:
            return
        if outcome.labels is None:
            self.parts.append(np.minimum(np.abs(outcome.truth - outcome.predicted), LIMIT))
        else:
            self.parts.append(cost_of(outcome))


def in_time(run: Compared, places: np.ndarray) -> dict[str, Any]:
    """For a run in file order: the recent mistake rate or error at each checkpoint, and its changes."""
    series = np.concatenate(run.parts)
    window = max(1, round(len(series) / WINDOWS))
    sums = np.concatenate([[0.0], np.cumsum(series)])
    before = np.maximum(places - window, 0)
    recent = (sums[places] - sums[before]) / (places - before)
    drift = [change.as_dict() for change in changes(series)] if np.isfinite(sums[-1]) else []
    return {"in_time": {"window": window, "recent": all_finite(recent)}, "drift": drift}


def heaviest(model: Any) -> list[tuple[Any, int, float]]:
    """Class, column and weight of the features with the largest weights; for two labels the positive class."""
    try:
        coef = np.atleast_2d(dense_coef(model))
    except AttributeError:
        return []
    labels = [None] if model.task != "classification" else [*model.codes][-len(coef) :]
    each = max(1, HEAVIEST // len(coef))
    found = []
    for label, row in zip(labels, coef, strict=True):
        columns = np.argsort(-np.abs(row), kind="stable")[:each]
        found += [(label, int(j), float(row[j])) for j in columns if row[j]]
    return found


def finite_or_none(value: float | None) -> float | None:
    return None if value is None else finite(float(value))


def finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def all_finite(numbers: np.ndarray) -> list[float | None]:
    plain = numbers.tolist()
    return plain if np.isfinite(numbers).all() else [finite(number) for number in plain]
