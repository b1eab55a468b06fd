"""A wrapper that calls a given fraction of rows unusual, whatever the scale of the scores."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from typing import Any, Self

import numpy as np

from seriatim.core.loop import Scores, Sink
from seriatim.core.rows import Rows
from seriatim.errors import ModelError
from seriatim.estimator import NoveltyDetector
from seriatim.estimator.wrapper import ModelParameter, Wrapper
from seriatim.parameters import Number


class Quantile:
    """The exact quantile of the last `window` numbers: the level that a fraction `share` of them fall below.

    >>> recent = Quantile(share=0.5, window=3)
    >>> for number in (5.0, 1.0, 2.0, 3.0):
    ...     recent.take(number)
    >>> recent.value
    2.0
    """

    def __init__(self, share: float, window: int) -> None:
        self.share, self.window = share, window
        self.recent: deque[float] = deque()
        self.sorted: list[float] = []

    def take(self, number: float) -> None:
        self.recent.append(number)
        insort(self.sorted, number)
        if len(self.recent) > self.window:
            del self.sorted[bisect_left(self.sorted, self.recent.popleft())]

    @property
    def value(self) -> float:
        """-inf before the first number."""
        return self.sorted[int(self.share * len(self.sorted))] if self.sorted else -np.inf


class Threshold(Wrapper):
    """A detector that calls a given fraction of rows unusual, whatever the scale of its scores.

    Each row is scored before it is learned. It is unusual if its score is below the `share` quantile of the last
    `window` scores. The quantile follows the scores as they drift. The first `window / 10` rows are usual. Beside the
    detector, a row costs one search in the sorted scores of the window.

    detector : OneClassPA, NORMANovelty, HalfSpaceTrees or another. It continues from its present state.
    share : the fraction of rows to be called unusual, above 0 and below 1.
    window : the number of scores in the quantile, at least 10.

    `threshold_` is the quantile now. `alarms_` is the number of unusual rows so far. `decision_function` is the score
    of the detector minus the quantile. `predict` gives 1 for usual rows, else -1.

    >>> from seriatim import OneClassPA, data
    >>> X, y = data.load("digits")
    >>> model = Threshold(OneClassPA(epsilon=20.0), share=0.1, window=200).partial_fit(X)
    >>> round(model.alarms_ / model.t_, 2)
    0.09
    """

    around = "detector"
    detector: Any = ModelParameter(kind=NoveltyDetector, words="a detector, such as OneClassPA() or HalfSpaceTrees()")
    share: Any = Number(0.05, above=0, below=1, positional=True)
    window: Any = Number(1000, least=10, integer=True, positional=True)

    def _forget(self) -> None:
        self._scores = Quantile(self.share, int(self.window))
        self.alarms_ = 0

    def _changed(self, own: dict[str, Any]) -> None:
        recent = self._scores.recent
        self._scores = Quantile(self.share, int(self.window))
        for score in recent:
            self._scores.take(score)

    # ---- state

    def numbers(self) -> dict[str, Any]:
        """The scores of the window, the oldest first, and the count of alarms."""
        return {"recent": np.array(self._scores.recent, dtype=np.float64), "alarms": self.alarms_}

    def restore(self, models: list[Any], numbers: dict[str, Any], lists: dict[str, list[Any]]) -> None:
        """The window and the count of alarms."""
        if len(numbers["recent"]) > self.window:
            raise ModelError(f"{len(numbers['recent'])} scores for a window of {self.window}")
        for score in numbers["recent"].tolist():
            self._scores.take(score)
        self.alarms_ = numbers["alarms"]

    @property
    def threshold_(self) -> float:
        """The score below which a row is unusual; -inf before there are enough scores."""
        return self._scores.value if len(self._scores.recent) >= self.window / 10 else -np.inf

    # ---- learning

    def _judge(self, score: float) -> float:
        """Compare a score with the level, add it to the window, and return the level."""
        level = self.threshold_
        self.alarms_ += score < level
        self._scores.take(score)
        return level

    def learn_rows(self, rows: Rows, y: Any, sink: Sink | None = None, delay: int = 0) -> None:
        """Learn checked rows. The sink receives two columns: each score before, and the level then."""
        if delay:
            self.encoded(rows)
        with self._lock:
            seen = Scores()
            try:
                self.detector.learn_rows(rows, y, seen)
            finally:  # Ctrl-C comes between two rows
                for *_, targets, scores in seen.segments:
                    levels = [self._judge(score) for score in scores[:, 0].tolist()]
                    if sink is not None and len(levels):
                        sink.segment(None, [], False)
                        sink.push(targets, np.column_stack([scores[:, 0], levels]))

    def learn_one(self, x: dict[str, Any], y: Any = None) -> Self:
        """Learn one example: a dict of features by name."""
        with self._lock:
            score = self.detector.score_one(x)
            self.detector.learn_one(x)
            self._judge(score)
        return self

    # ---- predictions

    def predict_one(self, x: dict[str, Any]) -> int:
        """1 for a usual example, else -1."""
        with self._lock:
            return -1 if self.detector.score_one(x) < self.threshold_ else 1

    def score_one(self, x: dict[str, Any]) -> float:
        """The score of the detector minus the threshold, or the score alone before there is a threshold."""
        with self._lock:
            score: float = self.detector.score_one(x)
            return score if self.threshold_ == -np.inf else score - self.threshold_

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row minus the threshold, or the scores alone before there is a threshold."""
        with self._lock:
            scores: np.ndarray = self.detector.decision_function(X)
            return scores if self.threshold_ == -np.inf else scores - self.threshold_

    def predict(self, X: Any) -> np.ndarray:
        """1 for each usual row, else -1."""
        with self._lock:
            return np.where(self.detector.decision_function(X) < self.threshold_, -1, 1)
