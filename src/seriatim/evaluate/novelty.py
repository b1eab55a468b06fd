"""Evaluation of novelty detectors on streams whose anomalies are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seriatim.core.loop import Scores
from seriatim.core.rows import Rows
from seriatim.errors import DataError, ParameterError
from seriatim.estimator import NoveltyDetector
from seriatim.evaluate.metrics import AUC
from seriatim.evaluate.progressive import stream_blocks
from seriatim.novelty.threshold import Threshold
from seriatim.parameters import Number


def checked_detector(model: Any) -> Any:
    """The detector; a ParameterError for anything else."""
    if not isinstance(model, NoveltyDetector):
        raise ParameterError(f"{model!r}: must be a detector, such as OneClassPA() or HalfSpaceTrees()")
    return model


@dataclass(frozen=True)
class Detection:
    """The results of a detector on a stream whose anomalies are known. Each row was scored before it was learned.

    `auc` is the probability that an anomaly scores lower than a normal row; None if either kind is missing. `alarms`
    is the number of rows called unusual; `hits` of them were anomalies.
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
        """The fraction of alarms that were anomalies."""
        return self.hits / self.alarms if self.alarms else None

    @property
    def recall(self) -> float | None:
        """The fraction of anomalies that raised an alarm."""
        return self.hits / self.anomalies if self.anomalies else None


def detect(model: Any, X: Any, anomalous: Any, *, warm_up: int = 0) -> Detection:
    """Run a detector over rows whose anomalies are known: score each row, then learn it.

    The detector learns all rows and never sees which are anomalous. It continues from its present state.

    model : a detector, or a `Threshold` around one, which then decides about alarms.
    X : rows, or a stream from `data.stream`.
    anomalous : True or False for each row; for a stream, the label of anomalies, or a list of labels.
    warm_up : the first `warm_up` rows are learned, but not counted.

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
    for rows, truth in known_blocks(detector, X, anomalous):
        truths.append(truth)
        seen = Scores()
        model.learn_rows(rows, np.zeros(rows.n), seen)
        for *_, found in seen.segments:
            scores.append(found[:, 0])
            alarms.append(found[:, 0] < (0 if around is None else found[:, 1]))
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
    """Checked rows, and for each whether it is anomalous."""
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
