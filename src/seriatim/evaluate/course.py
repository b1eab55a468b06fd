"""One run of a comparison: a model that is given block after block of a permutation, and what is noted on the way."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from seriatim.core.loss import running_class_mistakes, running_loss, running_mistakes
from seriatim.core.rows import Rows
from seriatim.estimator import Estimator
from seriatim.evaluate.rounds import count_confusions, learn_marked

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
        self.examples = self.judged = 0
        self.mistakes, self.loss, self.error, self.seconds = 0, 0.0, 0.0, 0.0
        self.points: list[np.ndarray] = []
        self.updates: list[int] = []
        self.times: list[float] = []
        classes = len(labels) if labels is not None and len(labels) <= MOST_CLASSES else 0
        self.confusion = np.zeros((classes, classes), dtype=np.int64) if classes else None

    def take(self, rows: Rows, targets: Any) -> None:
        """Predict and learn these rows as `Estimator.learn_rows` does, and note what there is to be noted."""
        model = self.model
        began = time.thread_time() - self.seconds
        with model._lock:
            model._start(rows.features)
            own = model._own(rows, learning=True)
            model._columns = max(model._columns, own.features)
            for start, y, fresh in model._stretches(targets):
                scores = np.empty((len(y), model._learner.classes))
                self.learn(own, start, y, scores, began)
                if self.labels is None:
                    self.judge_numbers(y, scores)
                else:
                    self.judge_labels(y, scores, fresh)
        self.seconds = time.thread_time() - began

    def learn(self, rows: Rows, start: int, y: np.ndarray, scores: np.ndarray, began: float) -> None:
        """Learn a stretch, and note updates and seconds where that is due."""
        done, self.examples = self.examples, self.examples + len(y)
        first, end = np.searchsorted(self.marks, [done, self.examples], "right")
        due = self.marks[first:end]
        updates, seconds = learn_marked(self.model._learner, rows, y, scores, start, due - done)
        self.updates += updates.tolist()
        self.times += (seconds - began).tolist()

    # ---- judging

    def judge_numbers(self, y: np.ndarray, scores: np.ndarray) -> None:
        """Algorithms have losses of their own; all are judged by the absolute error."""
        residuals = y - scores[:, 0]
        self.loss = float(running_loss(self.model.loss, residuals, self.model.epsilon, self.loss)[-1])
        sums = running_loss("absolute", residuals, 0.0, self.error)
        self.error = float(sums[-1])
        self.extend_curve(sums)

    def judge_labels(self, y: np.ndarray, scores: np.ndarray, fresh: bool) -> None:
        """As `progressive` does: a label that comes for the first time cannot have been predicted."""
        model, before = self.model, self.mistakes
        signs = {*model._labels} <= {-1, 1}
        if scores.shape[1] == 1:
            alone = len(model._labels) == 1 and not signs
            sums, self.loss = running_mistakes(model.loss, y, scores, model.epsilon, before, self.loss, alone)
        else:
            sums, self.loss = running_class_mistakes(
                model.loss, y, scores, model.seen(), model.epsilon, before, self.loss
            )
        fresh = fresh and not signs
        if fresh and sums[0] == before:
            sums += 1
        self.mistakes = int(sums[-1])
        if self.confusion is not None:
            self.count_confusions(y, scores, fresh, signs)
        self.extend_curve(sums)

    def count_confusions(self, y: np.ndarray, scores: np.ndarray, fresh: bool, signs: bool) -> None:
        """Count true and predicted labels; before the first label is known none is predicted."""
        labels = self.labels or []
        known = labels if signs else self.model._labels
        seen = np.arange(len(known)) if scores.shape[1] == 1 else np.array(self.model.seen())
        count_confusions(y, scores, seen, np.array([labels.index(one) for one in known]), fresh, self.confusion)

    def extend_curve(self, sums: np.ndarray) -> None:
        """Go on with the curve by the running sums of mistakes or errors of the next examples."""
        first = self.judged + 1
        end = self.judged + len(sums)
        low, high = np.searchsorted(self.places, [first, end + 1])
        some = self.places[low:high]
        self.points.append(sums[some - first] / some)
        self.judged = end

    # ---- the end

    def figures(self) -> dict[str, Any]:
        """What the run showed, as plain numbers."""
        learner, n = self.model._learner, self.examples
        classification = self.labels is not None
        weights = learner.weights() if hasattr(learner, "weights") else None
        vectors = getattr(self.model, "support_vectors_", None)
        return {
            "examples": n,
            "features": self.model.n_features_in_,
            "mistakes": self.mistakes if classification else None,
            "mistake_rate": self.mistakes / n if classification else None,
            "mean_loss": self.loss / n if math.isfinite(self.loss) else None,
            "mean_absolute_error": None if classification else self.error / n if math.isfinite(self.error) else None,
            "updates": learner.updates,
            "seconds": self.seconds,
            "nonzeros": None if weights is None else int(np.count_nonzero(weights[1:])),
            "support_vectors": None if vectors is None else len(vectors),
            "classes": self.labels,
            "confusion": None
            if self.confusion is None
            else self.confusion.reshape(len(self.labels or ()), -1).tolist(),
            "curve": {"examples": self.places.tolist(), "value": np.concatenate(self.points).tolist()},
            "checkpoints": {
                "examples": self.marks.tolist(),
                "updates": self.updates,
                "seconds": self.times,
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
