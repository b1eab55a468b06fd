"""One run of a comparison: a model that is given block after block of a permutation, and what is noted on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from seriatim.core.rows import Rows
from seriatim.estimator import Estimator
from seriatim.evaluate.rounds import Tally

POINTS = 100  # of a curve, evenly spaced; between them and before are the powers of two
MARKS = 16  # places at which updates and seconds are noted
HEAVIEST = 20  # features of a model
MOST_CLASSES = 64  # with more labels there is no table of confusions


def curve_places(n: int) -> np.ndarray:
    """The numbers of examples at which curves have a point: about 100 evenly spaced, and the powers of two.

    >>> curve_places(5).tolist(), len(curve_places(4601))
    ([1, 2, 3, 4, 5], 113)
    """
    even = np.ceil(np.linspace(0, n, POINTS + 1)[1:]).astype(np.int64)
    return np.unique(np.concatenate([even, 1 << np.arange(int(n).bit_length())]))


def mark_places(places: np.ndarray) -> np.ndarray:
    """Some of the places of a curve, the last one among them.

    >>> mark_places(np.arange(1, 33)).tolist()
    [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32]
    """
    few = np.linspace(0, places[-1], MARKS + 1)[1:]
    return np.unique(places[np.minimum(np.searchsorted(places, few), len(places) - 1)])


class Course:
    """A model on its way through a permutation. Its seconds are those of its thread, for learning and judging."""

    def __init__(self, model: Estimator, places: np.ndarray, marks: np.ndarray, labels: list[Any] | None) -> None:
        self.model: Any = model
        self.places, self.marks, self.labels = places, marks, labels
        self.counted = labels is not None and len(labels) <= MOST_CLASSES
        self.tally = Tally(self.model.loss, self.model.epsilon, places, marks, len(labels or ()) if self.counted else 0)

    def stretches(self, rows: Rows, targets: Any) -> Iterator[Tally]:
        """Get ready for these rows as `Estimator.learn_rows` does; each stretch is to be learned when it is given."""
        model, began = self.model, time.thread_time()
        model._start(rows.features)
        own = model._own(rows, learning=True)
        model._columns = max(model._columns, own.features)
        self.tally.seconds += time.thread_time() - began
        for start, y, fresh in model._stretches(targets):
            if self.labels is None:
                self.tally.expect_numbers(model._learner, own, y, start)
            else:
                self.expect_labels(own, y, start, fresh)
            yield self.tally

    def expect_labels(self, rows: Rows, y: np.ndarray, start: int, fresh: bool) -> None:
        """As `progressive` does: a label that comes for the first time cannot have been predicted, but -1 and 1 can."""
        learner, labels, known = self.model._learner, self.labels or [], self.model._labels
        signs = {*known} <= {-1, 1}
        alone = len(known) == 1 and not signs
        if signs:
            known = [label for label in (-1, 1) if label in labels]
        seen = np.arange(len(known)) if learner.classes == 1 else np.array(self.model.seen())
        places = np.array([labels.index(label) for label in known]) if self.counted else seen
        self.tally.expect_labels(learner, rows, y, start, seen, places, fresh and not signs, alone)

    # ---- the end

    def figures(self) -> dict[str, Any]:
        """What the run showed, as plain numbers."""
        tally, learner = self.tally, self.model._learner
        n, numbers = tally.examples, self.labels is None
        weights = learner.weights() if hasattr(learner, "weights") else None
        vectors = getattr(self.model, "support_vectors_", None)
        return {
            "examples": n,
            "features": self.model.n_features_in_,
            "mistakes": None if numbers else tally.mistakes,
            "mistake_rate": None if numbers else tally.mistakes / n,
            "mean_loss": finite(tally.loss / n),
            "mean_absolute_error": finite(tally.error / n) if numbers else None,
            "updates": learner.updates,
            "seconds": tally.seconds,
            "nonzeros": None if weights is None else int(np.count_nonzero(weights[1:])),
            "support_vectors": None if vectors is None else len(vectors),
            "classes": self.labels,
            "confusion": tally.confusion.tolist() if self.counted else None,
            "curve": {"examples": self.places.tolist(), "value": (tally.sums / self.places).tolist()},
            "checkpoints": {
                "examples": self.marks.tolist(),
                "updates": tally.updates_at.tolist(),
                "seconds": tally.seconds_at.tolist(),
            },
        }

    def heaviest(self) -> list[tuple[Any, int, float]]:
        """Class, column and weight of the features that weigh most; of two labels the higher one is meant."""
        try:
            coef = np.atleast_2d(self.model.coef_)
        except AttributeError:
            return []
        labels = [None] if self.labels is None else self.model._labels[-len(coef) :]
        each = max(1, HEAVIEST // len(coef))
        found = []
        for label, row in zip(labels, coef, strict=True):
            columns = np.argsort(-np.abs(row), kind="stable")[:each]
            found += [(label, int(j), float(row[j])) for j in columns if row[j]]
        return found


def finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
