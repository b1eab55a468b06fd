"""Drift: when and by how much a series changed, and models that act when their own mistakes rise."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from seriatim.core.loop import Sink
from seriatim.errors import ModelError
from seriatim.evaluate.drift.change import Change
from seriatim.evaluate.drift.detectors import ADWIN, DDM, KSWIN, PageHinkley
from seriatim.evaluate.drift.restart import DETECTORS, Learned, Watched, checked_detector, cost_of
from seriatim.evaluate.metrics import Metric, Outcome
from seriatim.parameters import Number

__all__ = ["ADWIN", "DDM", "DETECTORS", "KSWIN", "Blend", "Change", "PageHinkley", "Restart", "changes"]


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


class Restart(Watched):
    """A model that begins anew when its own mistakes, or losses, have risen.

    The detector is told of each example whether the model was mistaken, or of a regressor its loss. Where it finds a
    change for the worse, a fresh model learns from the next example on, and the detector begins anew with it; changes
    for the better are left alone. Labels and names of features that have been met stay known.

    model : a classifier or a regressor, which goes on from where it is. The attribute is the model of now.
    detector : ADWIN(), DDM() (not of losses), PageHinkley() or KSWIN(); None for ADWIN().

    `changes_` are the changes on which it acted; `updates_` counts those of all models.

    >>> from seriatim import AROW
    >>> from seriatim.data import stream
    >>> from seriatim.evaluate import progressive
    >>> concepts = stream("stagger:width=1000", limit=3000)
    >>> run = progressive(Restart(AROW()), concepts)
    >>> progressive(AROW(), concepts).mistakes, run.mistakes
    (663, 42)
    >>> for change in run.model.changes_:
    ...     print(change)
    at 1014: from 0.018 to 0.6429 since 1001 (ADWIN)
    at 2014: from 0.005061 to 0.5833 since 2003 (ADWIN)

    J. Gama, P. Medas, G. Castillo and P. Rodrigues (2004), Learning with Drift Detection, SBIA.
    """

    def _follow(self, parts: list[Learned], sink: Sink | None) -> None:
        while len(part := parts[0]):
            n, change = self._up_to_a_rise(part.costs(len(part)))
            part.tell(sink, n)
            self._t += n
            part.go_on(n)
            if change is not None:
                self._gone += part.updates()
                self.changes_.append(change)
                self.model = self.model.successor()
                if not len(part):
                    break
                parts[0] = part.rest_by(self.model)


class Blend(Watched):
    """A model beside which a fresh one begins when its mistakes, or losses, have risen; the better one stays.

    As in `Restart`, but the old model goes on beside the fresh one. Each has the weight e^(-eta L), where L sums the
    shares of the two in the cost of each example, l_old / (l_old + l_new) and l_new / (l_old + l_new), 0 where neither
    erred (Hedge). Of classifiers the heavier one's scores count, the old one's as long as they are equal: a weighted
    vote of two. Of regressors the prediction is the mean by weight. One is dropped when its share of the weight falls
    below `least`: of classifiers, when the other made ln((1 - least) / least) / eta fewer mistakes, 10 by default. As
    the sequential test of Wald between "the one is right in a share of 1 / (1 + e^-eta) of the examples that only one
    gets right" and "the other is" it takes the worse for the better with a probability of about `least`. If mistakes
    rise again while there are two, the lighter one gives way to another fresh one.

    model, detector : as for `Restart`.
    eta : rate of the weights, above 0.
    least : share of the weight, above 0 and below 0.5.

    `model` is the old one, `beside` the fresh one or None.

    >>> from seriatim import AROW
    >>> from seriatim.data import stream
    >>> from seriatim.evaluate import progressive
    >>> progressive(Blend(AROW()), stream("stagger:width=1000", limit=3000)).mistakes
    45

    Y. Freund and R. Schapire (1997), A Decision-Theoretic Generalization of On-Line Learning and an Application to
    Boosting, JCSS 55. A. Wald (1945), Sequential Tests of Statistical Hypotheses, Ann. Math. Statist. 16.
    """

    most = 2
    eta: Any = Number(0.5, above=0, positional=True)
    least: Any = Number(0.01, above=0, below=0.5, positional=True)

    def _forget(self) -> None:
        super()._forget()
        self.beside: Any = None
        self._lead = 0.0  # by how much the shares of the old one exceed those of the fresh one

    def models(self) -> list[Any]:
        """The old model, and the new one beside it."""
        return [self.model] if self.beside is None else [self.model, self.beside]

    def numbers(self) -> dict[str, Any]:
        """The same as of `Restart`, and the lead."""
        return {**super().numbers(), "lead": self._lead}

    def restore(self, models: list[Any], numbers: dict[str, Any], lists: dict[str, list[Any]]) -> None:
        """The same as of `Restart`, and the model beside."""
        super().restore(models, numbers, lists)
        if len(models) == 2:
            old, new = models
            if type(old) is not type(new) or old.known_labels() != new.known_labels():
                raise ModelError("the two models of a blend differ in class or labels")
            self.beside = new
        elif numbers["lead"]:
            raise ModelError("a lead of one model over none")
        self._lead = numbers["lead"]

    def _follow(self, parts: list[Learned], sink: Sink | None) -> None:
        while len(parts[0]):
            leads = self._leads(parts)
            settled = np.flatnonzero(np.abs(leads[1:]) * self.eta > math.log((1 - self.least) / self.least))
            end = int(settled[0]) + 1 if len(settled) else len(parts[0])
            scores = self._mixed([part.scores for part in parts], leads[:-1])[:end]
            n, change = self._up_to_a_rise(parts[0].costs(end, scores))
            parts[0].tell(sink, n, scores)
            self._t += n
            self._lead = float(leads[n])
            for part in parts:
                part.go_on(n)
            if len(parts) == 2 and (change is not None or (len(settled) and n == end)):
                parts[:] = [self._better(*parts)]
            if change is not None:
                self.changes_.append(change)
                self.beside = self.model.successor()
                if len(parts[0]):
                    parts.append(parts[0].rest_by(self.beside))

    def _leads(self, parts: list[Learned]) -> np.ndarray:
        """The lead of the fresh one before each example, and after the last."""
        if len(parts) == 1:
            return np.zeros(len(parts[0]) + 1)
        old, new = (part.costs(len(part)) for part in parts)
        both = old + new
        shares = np.divide(old - new, both, out=np.zeros(len(both)), where=both > 0)
        return np.cumsum(np.concatenate([[self._lead], shares]))  # one after another, wherever blocks end

    def _mixed(self, scores: list[np.ndarray], leads: np.ndarray) -> np.ndarray:
        if len(scores) == 1:
            return scores[0]
        if self.task == "classification":
            return np.where(leads[:, None] > 0, scores[1], scores[0])
        weight = np.exp(-np.logaddexp(0, -self.eta * leads))[:, None]
        return (1 - weight) * scores[0] + weight * scores[1]

    def _better(self, old: Learned, new: Learned) -> Learned:
        """Keep the one with more weight, the old one if they are equal."""
        stays, goes = (new, old) if self._lead > 0 else (old, new)
        self._gone += goes.updates()
        self.model, self.beside, self._lead = stays.model, None, 0.0
        return stays

    def _joint(self, scores: list[np.ndarray]) -> np.ndarray:
        return self._mixed(scores, np.full(len(scores[0]), self._lead))

    def _one(self, ask: Callable[[Any], Any]) -> Any:
        with self._lock:
            answers = [ask(model) for model in self.models()]
            if self.task == "classification" or len(answers) == 1:
                return answers[-1] if self._lead > 0 else answers[0]
            return float(self._joint([np.array([[answer]]) for answer in answers])[0, 0])
