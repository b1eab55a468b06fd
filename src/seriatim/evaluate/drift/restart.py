"""Models that act when their own mistakes rise. The result does not depend on the block size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from seriatim.core.loop import Scores, Sink
from seriatim.core.rows import Rows
from seriatim.errors import ModelError, ParameterError
from seriatim.estimator import ONE, Classifier
from seriatim.estimator.wrapper import ModelParameter, Wrapper
from seriatim.evaluate.drift.change import Change
from seriatim.evaluate.drift.detectors import DDM, DETECTORS, WRITTEN, DriftDetector
from seriatim.evaluate.drift.series import checked_detector, cost_of
from seriatim.evaluate.progressive import outcome_of, updates
from seriatim.labels import plain_label
from seriatim.parameters import Number, Parameter

FEW, MANY = 1 << 8, 1 << 13  # rows learned together, soon after a change and later


class Learned:
    """Rows that a model has learned, with the scores before each row. A wrapper examines them from first to last.

    When a change is found, the model has already learned the rows after it. Learning the rows up to the change once
    more gives the number of updates until then, so that the count does not depend on where blocks end.
    """

    def __init__(self, model: Any, rows: Rows, y: Any, before: Any = None) -> None:
        self.model, self.rows, self.y, self.done = model, rows, y, 0
        self.before = model.snapshot() if before is None and rows.n > 1 else before
        sink = Scores()
        model.learn_rows(rows, y, sink)
        ((self.labels, self.seen, self.fresh, self.targets, self.scores),) = sink.segments

    @classmethod
    def one(cls, model: Any, x: Any, y: Any, weight: float) -> Learned:
        """Learn one example by name."""
        self = cls.__new__(cls)
        classification = isinstance(model, Classifier)
        y = plain_label(y) if classification else y
        self.model, self.before, self.done = model, None, 0
        fresh = classification and y not in model.codes
        scores = model.score_one(x)
        model.learn_one(x, y, weight)
        self.labels, self.seen, self.fresh = model.known_labels(fresh)
        self.targets = np.array([model.codes[y] if classification else float(y)])
        self.scores = np.zeros((1, model.n_scores))
        before = [*scores.values()] if isinstance(scores, dict) else [scores]
        if len(before) == self.scores.shape[1]:  # else this is the third label, and the scores are of two
            self.scores[0] = before
        return self

    def __len__(self) -> int:
        """The number of rows left."""
        return len(self.targets)

    def costs(self, n: int, scores: np.ndarray | None = None) -> np.ndarray:
        """The costs of the next n predictions: 1 for a mistake, as in `progressive`; for numbers the model's loss.

        scores : the scores of a mixture, in place of the model's own.
        """
        scores = self.scores[:n] if scores is None else scores
        return cost_of(outcome_of(self.model, self.labels, self.seen, self.fresh, self.targets[:n], scores))

    def tell(self, sink: Sink | None, n: int, scores: np.ndarray | None = None) -> None:
        """Pass the next n rows to a sink."""
        if sink is not None and n:
            sink.segment(self.labels, self.seen, self.fresh)
            sink.push(self.targets[:n], self.scores[:n] if scores is None else scores[:n])

    def go_on(self, n: int) -> None:
        """Drop the next n rows, which have been examined."""
        self.targets, self.scores, self.fresh = self.targets[n:], self.scores[n:], False
        self.done += n

    def as_far_as_here(self) -> Any:
        """The model in its state after the examined rows."""
        if self.before is None or self.done == self.rows.n:
            return self.model
        earlier = self.model.restored(self.before)
        if self.done:
            earlier.learn_rows(self.rows.slice(0, self.done), self.y[: self.done])
        return earlier

    def updates(self) -> int:
        """The number of updates up to the last examined row."""
        return updates(self.as_far_as_here())

    def rest_by(self, model: Any) -> Learned:
        """Let another model learn the rows that are left."""
        return Learned(model, self.rows.slice(self.done, self.rows.n), self.y[self.done :])


@dataclass(frozen=True)
class DetectorParameter(Parameter):
    """A detector of drift, or None for ADWIN()."""

    @property
    def range(self) -> str:
        return f"{WRITTEN} or None"

    def problem(self, value: Any) -> str | None:
        return None if value is None or isinstance(value, DriftDetector) else self.range

    def as_json(self, value: Any) -> Any:
        return None if value is None else {"class": type(value).__name__, "parameters": value.get_params()}

    def restored(self, plain: Any, arrays: dict[str, np.ndarray]) -> Any:
        if plain is None:
            return None
        kinds = {kind.__name__: kind for kind in DETECTORS.values()}
        if not isinstance(plain, dict) or set(plain) != {"class", "parameters"} or plain["class"] not in kinds:
            raise ModelError(f"the detector is none of {', '.join(kinds)}")
        kind, given = kinds[plain["class"]], plain["parameters"]
        if not isinstance(given, dict) or set(given) != set(kind.parameters):
            raise ModelError(f"the parameters of the detector are not those of {kind.__name__}")
        return kind(**given)


class Watched(Wrapper):
    """A model whose own mistakes a detector watches; a subclass acts when they rise."""

    model: Any = ModelParameter(words="a classifier or a regressor of this package", labelled=True)
    detector: Any = DetectorParameter(None, positional=True)

    def _forget(self) -> None:
        self.changes_: list[Change] = []
        self._watch: Any = None
        self._t = 0
        self._gone = 0  # updates of the models that have been dropped

    def check(self) -> None:
        super().check()
        if isinstance(self.detector, DDM) and self.model.task == "regression":
            raise ParameterError(
                f"{type(self).__name__}: DDM takes mistakes, each 0 or 1, and {self.model!r} has losses; take ADWIN()"
            )

    def _changed(self, own: dict[str, Any]) -> None:
        if "detector" in own:
            self._watch = None

    # ---- state

    def numbers(self) -> dict[str, Any]:
        """The counts, the detector's state, and the changes with the detectors numbered as in `lists`."""
        names = self.lists()["detectors"]
        changes = [(one.at, one.since, one.before, one.after, names.index(one.detector)) for one in self.changes_]
        watch = {} if self._watch is None else self._watch.state()
        return {
            "t": self._t,
            "gone": self._gone,
            "changes": np.array(changes, dtype=np.float64).reshape(-1, 5),
            **{f"watch.{name}": value for name, value in watch.items()},
        }

    def template(self, numbers: dict[str, Any]) -> dict[str, Any]:
        watched = any(name.startswith("watch.") for name in numbers)
        watch = self._new_watch().state() if watched else {}
        return {**self.numbers(), **{f"watch.{name}": value for name, value in watch.items()}}

    def lists(self) -> dict[str, list[Any]]:
        """The names of the detectors that found the changes."""
        return {"detectors": sorted({one.detector for one in self.changes_})}

    def restore(self, models: list[Any], numbers: dict[str, Any], lists: dict[str, list[Any]]) -> None:
        """The models, counts, changes and detector of a state."""
        watch = {name.removeprefix("watch."): value for name, value in numbers.items() if name.startswith("watch.")}
        t, changes, names = numbers["t"], numbers["changes"], lists["detectors"]
        at, since, *_, which = changes.T
        known = {kind.__name__ for kind in DETECTORS.values()}
        whole = (changes[:, [0, 1, 4]] == np.floor(changes[:, [0, 1, 4]])).all()
        ordered = (np.diff(at) >= 0).all() and (at <= t).all() and (since <= at).all() and (since >= 0).all()
        if not (whole and ordered and {*names} <= known and {*which.tolist()} <= {*range(len(names))}):
            raise ModelError("the changes are not those that a model can have found")
        self.changes_ = [
            Change(int(one[0]), one[2], one[3], names[int(one[4])], int(one[1])) for one in changes.tolist()
        ]
        self._t, self._gone = t, numbers["gone"]
        if watch:
            self._watch = self._new_watch()
            self._watch.restore(watch)

    def _new_watch(self) -> Any:
        return checked_detector(self.detector).fresh()

    # ---- not delegated to the model

    @property
    def t_(self) -> int:
        """The number of examples seen."""
        self._fitted()
        return self._t

    @property
    def updates_(self) -> int:
        """The number of updates of all models so far, dropped ones included."""
        self._fitted()
        return self._gone + sum(updates(model) for model in self.models())

    @property
    def n_features_in_(self) -> int:
        """The number of columns seen so far."""
        self._fitted()
        return self.n_columns

    def __sklearn_is_fitted__(self) -> bool:
        return self._t > 0

    # ---- learning

    def _ready(self) -> None:
        """Make the detector before the first example."""
        if self._watch is not None:
            return
        self._watch = self._new_watch()
        if not self._t and self.model.__sklearn_is_fitted__():
            self._t = self.model.t_

    def begin(self, rows: Rows, **options: Any) -> None:
        self._ready()
        super().begin(rows, **options)

    def learn_rows(self, rows: Rows, y: Any, sink: Sink | None = None, delay: int = 0) -> None:
        """Learn checked rows; `sink` receives the scores before each row, as of any model."""
        if delay:
            self.encoded(rows)
        with self._lock:
            self._ready()
            self.prepared(iter([(rows, y)]))  # the first segment may be one row, too few for a width from the data
            for begin, segment_end in pairwise([*self.model.first_rows(y), len(y)]):
                while begin < segment_end:
                    end = min(begin + self._reach(), segment_end)
                    self._go_through(rows.slice(begin, end), y[begin:end], sink)
                    begin = end

    def _reach(self) -> int:
        """How many rows to learn together. Rows after a change are learned twice, so these should be few."""
        quiet = self._t - (self.changes_[-1].at if self.changes_ else 0)
        return min(max(quiet, FEW), MANY)

    def _go_through(self, rows: Rows, y: Any, sink: Sink | None) -> None:
        own, models = (self.numbers(), self.lists()), [(model, model.snapshot()) for model in self.models()]
        try:
            self._follow([Learned(model, rows, y, state) for model, state in models], sink)
        except BaseException:  # Ctrl-C, too: learn the rows again that the sink has received
            done = self._t - own[0]["t"]
            for model, state in models:
                model.rewind(state)
            self._forget()
            self.model = models[0][0]
            self.restore([model for model, _ in models], *own)
            if done:
                self._go_through(rows.slice(0, done), y[:done], None)
            raise

    def learn_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name, its label or target, and its importance."""
        with self._lock:
            self._ready()
            self._follow([Learned.one(model, x, y, weight) for model in self.models()], None)
        return self

    def _follow(self, parts: list[Learned], sink: Sink | None) -> None:
        """Examine learned rows and act on changes. `parts` has one Learned for each model at work."""
        raise NotImplementedError

    def _up_to_a_rise(self, values: np.ndarray) -> tuple[int, Change | None]:
        """The number of values up to the first rise of their level, and that change. The detector restarts after it."""
        begin = self._watch.t
        while (change := self._watch.first(values[self._watch.t - begin :])) is not None:
            if change.after > change.before:
                taken = change.at - begin
                at = self._t + taken
                self._watch = self._watch.fresh()
                return taken, replace(change, at=at, since=max(1, at - change.at + change.since))
        return len(values), None

    # ---- predictions

    def _joint(self, scores: list[np.ndarray]) -> np.ndarray:
        """The scores of the wrapper, from the scores of each model."""
        return scores[0]

    def score_rows(self, rows: Rows) -> np.ndarray:
        """The scores of checked rows, a column a class (or one)."""
        with self._lock:
            self._fitted()
            return self._joint([model.score_rows(rows) for model in self.models()])


class Restart(Watched):
    """A model that restarts when its own mistakes, or losses, rise.

    For each example the detector receives 1 if the model was mistaken, else 0; for a regressor it receives the loss.
    When it detects a rise, an untrained model learns from the next example on, and the detector restarts. A fall has
    no effect. The new model knows the labels and feature names seen so far.

    model : a classifier or a regressor. It continues from its present state. The attribute is the present model.
    detector : ADWIN(), DDM() (not for losses), PageHinkley() or KSWIN(); None for ADWIN().

    `changes_` lists the rises that caused a restart. `updates_` counts the updates of all models.

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
    """A model that gets a rival when its mistakes, or losses, rise; the better of the two stays.

    As in `Restart` an untrained model starts at a rise, but the old model continues to learn beside it. Each model has
    the weight e^(-eta L) (Hedge). L sums the model's fraction of the cost of each example, l_old / (l_old + l_new) or
    l_new / (l_old + l_new), and 0 if neither erred. Classifiers vote: the scores of the heavier model count, those of
    the old model if the weights are equal. Regressors are averaged by weight.

    A model is dropped when its fraction of the weight falls below `least`. For classifiers this happens when the other
    model has made ln((1 - least) / least) / eta fewer mistakes, 10 by default. This is Wald's sequential test of "the
    one is right in a fraction 1 / (1 + e^-eta) of the examples that only one gets right" against "the other is"; it
    keeps the worse model with a probability of about `least`. If mistakes rise again while there are two models, the
    lighter one is replaced by an untrained one.

    model, detector : as for `Restart`.
    eta : learning rate of the weights, above 0.
    least : fraction of the weight, above 0 and below 0.5.

    `model` is the old model; `beside` is the new one or None.

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
        self._lead = 0.0  # the sum of the old model's fractions minus the new model's

    def models(self) -> list[Any]:
        """The old model, and the new one beside it."""
        return [self.model] if self.beside is None else [self.model, self.beside]

    def numbers(self) -> dict[str, Any]:
        """The numbers of `Restart`, and the lead."""
        return {**super().numbers(), "lead": self._lead}

    def restore(self, models: list[Any], numbers: dict[str, Any], lists: dict[str, list[Any]]) -> None:
        """Restore as `Restart` does, and the new model."""
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
        """The lead of the new model before each example, and after the last."""
        if len(parts) == 1:
            return np.zeros(len(parts[0]) + 1)
        old, new = (part.costs(len(part)) for part in parts)
        both = old + new
        shares = np.divide(old - new, both, out=np.zeros(len(both)), where=both > 0)
        return np.cumsum(
            np.concatenate([[self._lead], shares])
        )  # summed in stream order, so that block ends do not matter

    def _mixed(self, scores: list[np.ndarray], leads: np.ndarray) -> np.ndarray:
        if len(scores) == 1:
            return scores[0]
        if self.task == "classification":
            return np.where(leads[:, None] > 0, scores[1], scores[0])
        weight = np.exp(-np.logaddexp(0, -self.eta * leads))[:, None]
        return (1 - weight) * scores[0] + weight * scores[1]

    def _better(self, old: Learned, new: Learned) -> Learned:
        """Keep the model with more weight, the old one if they are equal."""
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
