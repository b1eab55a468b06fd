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
    """The detector that is meant; an error for what is none."""
    if detector is None:
        return ADWIN()
    if not isinstance(detector, DriftDetector):
        raise ParameterError(f"detector={detector!r}: must be {WRITTEN} or None")
    return detector


def cost_of(outcome: Outcome) -> np.ndarray:
    """Mistakes, or losses of numbers."""
    if outcome.labels is None:
        return np.minimum(np.asarray(outcome.losses), LIMIT)
    return (outcome.truth != outcome.predicted).astype(np.float64)


def changes(values: Any, detector: Any = None) -> list[Change]:
    """When and by how much a series changed: the mistakes or losses of a run, any metric, a feature.

    The detector is `ADWIN()` unless another is given, of which only the parameters count. What it finds again while the
    same change is still under way, as ADWIN does whose window shrinks step by step, is one change: a finding belongs to
    the one before if it goes in the same direction and began, as the detector believes, before that was made.

    >>> for change in changes([0, 0, 0, 0, 1] * 200 + [0, 1, 1] * 100 + [0, 0, 0, 0, 1] * 200):
    ...     print(change)
    at 1036: from 0.2 to 0.6667 since 1001 (ADWIN)
    at 1363: from 0.6101 to 0.2239 since 1297 (ADWIN)
    """
    return distinct(checked_detector(detector).fresh().scan(values))


def distinct(found: list[Change]) -> list[Change]:
    """Findings of which none goes on with the one before."""
    return found[:1] + [change for last, change in pairwise(found) if not goes_on(last, change)]


def goes_on(last: Change, change: Change) -> bool:
    """Whether a finding is of the same change as the one before."""
    return change.since <= last.at and (change.after > change.before) == (last.after > last.before)


class Changes(Metric):
    """The changes of a run's mistakes, or of the losses of predicted numbers, as it goes on; the value is their number.

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
        """Each change once, however often it was found."""
        return distinct(self.found)

    @property
    def value(self) -> int:
        return len(self.changes)
