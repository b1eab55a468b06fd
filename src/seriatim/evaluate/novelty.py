"""Detectors on streams whose anomalies are known, and thresholds that a given share of the scores fall below."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from seriatim.core.loop import Scores
from seriatim.core.rows import Rows
from seriatim.errors import DataError, ParameterError
from seriatim.estimator import Detector
from seriatim.evaluate.metrics import AUC
from seriatim.evaluate.progressive import stream_blocks
from seriatim.parameters import Number, Parameter


def checked_detector(model: Any) -> Any:
    """The detector; an error for what is none."""
    if not isinstance(model, Detector):
        raise ParameterError(f"{model!r}: must be a detector, such as OneClassPA() or HalfSpaceTrees()")
    return model


class Quantile:
    """The level that a share of the last so many numbers fall below, exactly: their sorted list is kept.

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


class Threshold:
    """A detector that calls a given share of what it sees unusual, whatever its scores are.

    Each row is scored before it is learned, as in a run; it is unusual if its score is below the level that a share of
    the last scores fell below. The level follows the scores as these drift. The first `window / 10` rows are usual. A
    row costs what the detector costs, and a search in the sorted scores of the window.

    detector : OneClassPA, NORMANovelty, HalfSpaceTrees or another, which goes on from where it is.
    share : of rows that are to be unusual, above 0 and below 1.
    window : scores, at least 10.

    `threshold_` is the level now, `alarms_` are the unusual rows so far. `decision_function` is the detector's score
    less the level, and `predict` gives 1 for what is usual, else -1. It has no model file of its own: `detector.save`
    keeps the detector, and a new threshold around it begins with an empty window.

    >>> from seriatim import OneClassPA, data
    >>> X, y = data.load("digits")
    >>> model = Threshold(OneClassPA(epsilon=20.0), share=0.1, window=200).partial_fit(X)
    >>> round(model.alarms_ / model.t_, 2)
    0.09
    """

    parameters: ClassVar[dict[str, Parameter]] = {
        "detector": Parameter(),
        "share": Number(0.05, above=0, below=1),
        "window": Number(1000, least=10, integer=True),
    }
    task = "novelty"
    labelled = False

    def __init__(self, detector: Any, share: float = 0.05, window: int = 1000) -> None:
        self.detector, self.share, self.window = detector, share, window
        checked_detector(detector)
        for name in ("share", "window"):
            self.parameters[name].check(f"Threshold: {name}", getattr(self, name))
        self._scores = Quantile(share, int(window))
        self.alarms_ = 0

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.parameters}

    def __repr__(self) -> str:
        return f"Threshold({self.detector!r}, share={self.share!r}, window={self.window!r})"

    @property
    def t_(self) -> int:
        """Examples seen."""
        return self.detector.t_

    @property
    def threshold_(self) -> float:
        """The score below which a row is unusual now; -inf before there are enough scores."""
        return self._scores.value if len(self._scores.recent) >= self.window / 10 else -np.inf

    def _judge(self, score: float) -> bool:
        """Whether a score is unusual; it counts for those that come."""
        alarm = score < self.threshold_
        self._scores.take(score)
        self.alarms_ += alarm
        return alarm

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget all and learn from these rows."""
        fresh = Threshold(type(self.detector)(**self.detector.get_params()), self.share, self.window)
        vars(self).update(vars(fresh.partial_fit(X)))
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from these rows, one after another."""
        rows = self.detector.as_rows(X).check()
        self.detector.begin(rows)
        self.learn_rows(rows)
        return self

    def learn_rows(self, rows: Rows, tell: Callable[[np.ndarray, np.ndarray], None] | None = None) -> None:
        """Learn checked rows; `tell` is told their scores before, and which of them were unusual."""

        seen = Scores()
        try:
            self.detector.learn_rows(rows, np.zeros(rows.n), seen)
        finally:  # Ctrl-C comes between two rows
            for *_, scores in seen.segments:
                alarms = np.array([self._judge(score) for score in scores[:, 0].tolist()], dtype=bool)
                if tell is not None:
                    tell(scores[:, 0], alarms)

    def learn_one(self, x: dict[str, Any], y: Any = None) -> Self:
        """Learn one example: a dict of features by name."""
        score = self.detector.score_one(x)
        self.detector.learn_one(x)
        self._judge(score)
        return self

    def predict_one(self, x: dict[str, Any]) -> int:
        """1 for what is usual, else -1."""
        return -1 if self.detector.score_one(x) < self.threshold_ else 1

    def score_one(self, x: dict[str, Any]) -> float:
        """The detector's score less the threshold; its score alone before there is one."""
        score = self.detector.score_one(x)
        return score if self.threshold_ == -np.inf else score - self.threshold_

    def decision_function(self, X: Any) -> np.ndarray:
        """The same of each row."""
        scores = self.detector.decision_function(X)
        return scores if self.threshold_ == -np.inf else scores - self.threshold_

    def predict(self, X: Any) -> np.ndarray:
        """1 for each row that is usual, else -1."""
        return np.where(self.detector.decision_function(X) < self.threshold_, -1, 1)


@dataclass(frozen=True)
class Detection:
    """How a detector did on a stream whose anomalies are known. Each row was scored before it was learned.

    `auc` is the chance that an anomaly has the lower score of two; None if there were none, or nothing else. `alarms`
    were called unusual, of which `hits` were anomalies.
    """

    model: Any
    examples: int
    anomalies: int
    auc: float | None
    alarms: int
    hits: int
    scores: np.ndarray = field(repr=False)

    @property
    def precision(self) -> float | None:
        """The share of anomalies among the alarms."""
        return self.hits / self.alarms if self.alarms else None

    @property
    def recall(self) -> float | None:
        """The share of the anomalies that were found."""
        return self.hits / self.anomalies if self.anomalies else None


def detect(model: Any, X: Any, anomalous: Any, *, warm_up: int = 0) -> Detection:
    """Run a detector over rows of which it is known which are anomalous: score each, and then learn it.

    The detector is not told which they are, and learns them all. It goes on from where it is.

    model : a detector, or a `Threshold` around one, whose alarms then count.
    X : rows, or a stream as `data.stream` gives it.
    anomalous : a truth value a row; of a stream the label of what is anomalous, or a list of such labels.
    warm_up : the first so many rows are learned, but not counted.

    >>> import numpy as np
    >>> from seriatim import HalfSpaceTrees, data
    >>> X, y = data.load("digits")
    >>> keep = (y == 1) | (np.arange(len(y)) % 20 == 0) & (y == 0)    # ones, and a few zeros
    >>> run = detect(HalfSpaceTrees(features={"normalize": "max"}, window=50), X[keep], y[keep] == 0, warm_up=50)
    >>> run.anomalies, round(run.auc, 2)
    (2, 0.98)
    """
    around = model if isinstance(model, Threshold) else None
    detector = checked_detector(model if around is None else around.detector)
    Number(least=0, integer=True).check("warm_up", warm_up)
    truths, scores, alarms = [np.zeros(0, dtype=bool)], [np.zeros(0)], [np.zeros(0, dtype=bool)]

    def tell(found: np.ndarray, unusual: np.ndarray) -> None:
        scores.append(np.array(found))
        alarms.append(unusual)

    for rows, truth in known_blocks(detector, X, anomalous):
        truths.append(truth)
        if around is None:
            seen = Scores()
            detector.learn_rows(rows, np.zeros(rows.n), seen)
            for *_, found in seen.segments:
                tell(found[:, 0], found[:, 0] < 0)
        else:
            around.learn_rows(rows, tell)
    told, called, truth = (np.concatenate(parts)[warm_up:] for parts in (scores, alarms, truths))
    auc = AUC()
    if truth.any() and not truth.all():
        auc.update(truth.astype(int), called.astype(int), -told)
    return Detection(
        model=model,
        examples=len(told),
        anomalies=int(truth.sum()),
        auc=auc.value if len(auc.scores) else None,
        alarms=int(called.sum()),
        hits=int((called & truth).sum()),
        scores=told,
    )


def known_blocks(detector: Any, X: Any, anomalous: Any) -> Iterator[tuple[Rows, np.ndarray]]:
    """Checked rows, and which of them are anomalous."""
    if hasattr(X, "shape") or isinstance(X, list | tuple):
        rows, truth = detector.as_rows(X).check(), np.asarray(anomalous)
        if truth.shape != (rows.n,) or not np.isin(truth, (0, 1)).all():
            raise DataError(f"anomalous: expected a truth value for each of {rows.n} rows")
        detector.begin(rows)
        yield rows, truth.astype(bool)
        return
    labels = anomalous if isinstance(anomalous, list | tuple | set) else [anomalous]
    for rows, y in stream_blocks(detector, X, as_told=True):
        yield rows, np.array([label in labels for label in y.tolist()], dtype=bool)
