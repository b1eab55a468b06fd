"""When and by how much a series changed: `changes`, and the metric `Changes` of a run."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from seriatim.core.rows import LIMIT
from seriatim.errors import ParameterError
from seriatim.evaluate.drift.change import Change
from seriatim.evaluate.drift.detectors import ADWIN, WRITTEN, DriftDetector
from seriatim.evaluate.metrics import Metric, Outcome


def checked_detector(detector: Any) -> Any:
    """The given detector, ADWIN() for None, or a ParameterError."""
    if detector is None:
        return ADWIN()
    if not isinstance(detector, DriftDetector):
        raise ParameterError(f"detector={detector!r}: must be {WRITTEN} or None")
    return detector


def cost_of(outcome: Outcome) -> np.ndarray:
    """The costs of predictions: mistakes, or for numbers losses."""
    if outcome.labels is None:
        return np.minimum(np.asarray(outcome.losses), LIMIT)
    return (outcome.truth != outcome.predicted).astype(np.float64)


def changes(values: Any, detector: Any = None) -> list[Change]:
    """When and by how much a series changed: the mistakes or losses of a run, any metric, a feature.

    The default detector is `ADWIN()`. Of a given detector only the parameters are used. A detector may report one
    change several times, as ADWIN does while its window shrinks. Such reports count once: a report repeats the last
    one if it has the same direction and its `since` is not after the last report.

    >>> for change in changes([0, 0, 0, 0, 1] * 200 + [0, 1, 1] * 100 + [0, 0, 0, 0, 1] * 200):
    ...     print(change)
    at 1036: from 0.2 to 0.6667 since 1001 (ADWIN)
    at 1363: from 0.6101 to 0.2239 since 1297 (ADWIN)
    """
    return distinct(checked_detector(detector).fresh().scan(values))


def distinct(found: list[Change]) -> list[Change]:
    """Reports without those that repeat the one before."""
    return found[:1] + [change for last, change in pairwise(found) if not goes_on(last, change)]


def goes_on(last: Change, change: Change) -> bool:
    """Whether a report is of the same change as the last one."""
    return change.since <= last.at and (change.after > change.before) == (last.after > last.before)


class Changes(Metric):
    """A metric that detects changes of the mistakes of a run, or of its losses. The value is the number of changes.

    >>> from seriatim import PA, data
    >>> from seriatim.evaluate import progressive
    >>> found = Changes()
    >>> run = progressive(PA(), data.stream("stagger:width=1000", limit=3000), metrics=[found])
    >>> run.followed[0].value == len(run.followed[0].changes)
    True
    """

    name, task, in_order = "changes", "any", True

    def __init__(self, detector: Any = None) -> None:
        self.detector = checked_detector(detector).fresh()
        self.found: list[Change] = []

    def __deepcopy__(self, memo: Any) -> Changes:
        return Changes(self.detector)

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        self.found += self.detector.scan(cost_of(outcome))

    @property
    def changes(self) -> list[Change]:
        """The changes, each once, however often the detector reported it."""
        return distinct(self.found)

    @property
    def value(self) -> int:
        return len(self.changes)
