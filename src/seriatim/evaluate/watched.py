"""A model whose own mistakes are watched for drift, example by example, however its rows come in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from seriatim.core import loop
from seriatim.core.loop import Scores, Sink
from seriatim.core.rows import LIMIT, Rows
from seriatim.core.vocabulary import Vocabulary
from seriatim.errors import ModelError, ParameterError
from seriatim.estimator import ONE, Classifier, Estimator
from seriatim.evaluate.change import Change
from seriatim.evaluate.detectors import ADWIN, DDM, DriftDetector
from seriatim.evaluate.metrics import Outcome
from seriatim.evaluate.progressive import outcome_of
from seriatim.labels import label_array, plain_label
from seriatim.locks import give_lock
from seriatim.model import not_fitted
from seriatim.parameters import Parameter

FEW, MANY = 1 << 8, 1 << 13  # rows that are learned at once, soon after a change and later


def checked_detector(detector: Any) -> Any:
    """The detector that is meant; an error for what is none."""
    if detector is None:
        return ADWIN()
    if not isinstance(detector, DriftDetector):
        raise ParameterError(f"detector={detector!r}: must be ADWIN(), DDM(), PageHinkley(), KSWIN() or None")
    return detector


def cost_of(outcome: Outcome) -> np.ndarray:
    """Mistakes, or losses of numbers."""
    if outcome.labels is None:
        return np.minimum(np.asarray(outcome.losses), LIMIT)
    return (outcome.truth != outcome.predicted).astype(np.float64)


def successor(model: Any) -> Any:
    """A new model with the same parameters, which knows the names and labels that this one has met, but no more."""
    fresh = type(model)(**model.get_params())
    fresh._schema, fresh._columns, fresh._made_by = model._schema, model._columns, model._made_by
    if model._vocabulary is not None:
        fresh._vocabulary = Vocabulary(list(model._vocabulary.names))
    fresh._start(**({"classes": model._labels} if isinstance(model, Classifier) and len(model._labels) > 1 else {}))
    fresh._learner.reserve(model.n_columns)
    if getattr(model._learner, "width", 0):  # of a kernel: it comes from the first rows of the stream
        fresh._learner.use_width(model._learner.width)
    if isinstance(model, Classifier):
        for label in model._codes:
            if label not in fresh._codes:
                fresh._meet(label)
    return fresh


def restored(model: Any, state: dict[str, Any]) -> Any:
    """A model like this one in an earlier state."""
    cls: Any = type(model)
    earlier = cls.__new__(cls)
    earlier.__setstate__(state)
    return earlier


class Learned:
    """Some rows that a model has learned, with the scores before each; gone through from the first to the last.

    A change is found when the model has learned the rows behind it as well. How many updates it had made by then, so
    that the count does not depend on where blocks end, is found by learning the rows up to there once more.
    """

    def __init__(self, model: Any, rows: Rows, y: Any) -> None:
        self.model, self.rows, self.y, self.done = model, rows, y, 0
        self.before = model.__getstate__() if rows.n > 1 else None
        sink = Scores()
        try:
            model.learn_rows(rows, y, sink)
        except BaseException:  # Ctrl-C, too
            self.rewind()
            raise
        ((self.labels, self.seen, self.fresh, self.targets, self.scores),) = sink.segments

    @classmethod
    def one(cls, model: Any, x: Any, y: Any, weight: float) -> Learned:
        """The same of one example by name."""
        self = cls.__new__(cls)
        classification = isinstance(model, Classifier)
        y = plain_label(y) if classification else y
        self.model, self.before, self.done = model, None, 0
        fresh = classification and y not in model._codes
        scores = model._score_one(x)
        model.learn_one(x, y, weight)
        self.labels, self.seen, self.fresh = model.known_labels(fresh)
        self.targets = np.array([model._codes[y] if classification else float(y)])
        self.scores = np.zeros((1, model._learner.classes))
        if isinstance(scores, float):
            scores = [scores]
        if len(scores) == self.scores.shape[1]:  # else a third label has come, and the scores are of two
            self.scores[0] = scores
        return self

    def __len__(self) -> int:
        """Rows that have not been gone through."""
        return len(self.targets)

    def costs(self, n: int, scores: np.ndarray | None = None) -> np.ndarray:
        """What the next n predictions cost: a mistake 1, as `progressive` counts them; of numbers, the model's loss.

        scores : those of a mixture in place of the model's own.
        """
        scores = self.scores[:n] if scores is None else scores
        return cost_of(outcome_of(self.model, self.labels, self.seen, self.fresh, self.targets[:n], scores))

    def tell(self, sink: Sink | None, n: int, scores: np.ndarray | None = None) -> None:
        """Tell a sink of the next n."""
        if sink is not None and n:
            sink.segment(self.labels, self.seen, self.fresh)
            sink.push(self.targets[:n], self.scores[:n] if scores is None else scores[:n])

    def go_on(self, n: int) -> None:
        """So many rows have been gone through."""
        self.targets, self.scores, self.fresh = self.targets[n:], self.scores[n:], False
        self.done += n

    def as_far_as_here(self) -> Any:
        """The model as it was when it had learned what has been gone through, and no more."""
        if self.before is None or self.done == self.rows.n:
            return self.model
        earlier = restored(self.model, self.before)
        if self.done:
            earlier.learn_rows(self.rows.slice(0, self.done), self.y[: self.done])
        return earlier

    def updates(self) -> int:
        """The updates up to here."""
        return self.as_far_as_here()._learner.updates

    def rewind(self) -> None:
        """What has not been gone through has not been learned."""
        if (earlier := self.as_far_as_here()) is not self.model:
            self.model._become(earlier)

    def rest_by(self, model: Any) -> Learned:
        """The rows that have not been gone through, learned by another model."""
        return Learned(model, self.rows.slice(self.done, self.rows.n), self.y[self.done :])


class Watched:
    """A model whose own mistakes are watched for a rise; a subclass says what is done then."""

    _lock: Any

    parameters: ClassVar[dict[str, Parameter]] = {"model": Parameter(), "detector": Parameter(None)}

    def __init__(self, model: Any, detector: Any = None) -> None:
        self.model, self.detector = model, detector
        give_lock(self)
        self._check(model=model, detector=detector)
        self._forget()

    def _forget(self) -> None:
        self.changes_: list[Change] = []
        self._watch: Any = None
        self._t = 0
        self._gone = 0  # updates of the models that have been given up

    # ---- parameters

    def _check(self, **params: Any) -> None:
        name, model = type(self).__name__, params.get("model", self.model)
        if not isinstance(model, Estimator) or not model.labelled:
            raise ParameterError(f"{name}: model={model!r}: must be a classifier or a regressor of this package")
        if isinstance(checked_detector(params.get("detector", self.detector)), DDM) and model.task == "regression":
            raise ParameterError(f"{name}: DDM takes mistakes, each 0 or 1, and {model!r} has losses")
        for key, value in params.items():
            self.parameters[key].check(f"{name}: {key}", value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in self.parameters}
        for name in ("model", "detector") if deep else ():
            if given[name] is not None:
                given.update({f"{name}__{key}": value for key, value in given[name].get_params().items()})
        return given

    def set_params(self, **params: Any) -> Self:
        """Change parameters, those of the model as `model__C`; another model or detector begins anew."""
        inner = {name.removeprefix("model__"): value for name, value in params.items() if name.startswith("model__")}
        own = {name: value for name, value in params.items() if not name.startswith("model__")}
        for name in own:
            if name not in self.parameters:
                known = ", ".join(self.parameters)
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {known} and model__...")
        with self._lock:
            self._check(**own)
            for model in [own["model"]] if "model" in own else self._models():
                model.set_params(**inner)
            vars(self).update(own)
            if "model" in own:
                self._forget()
            elif "detector" in own:
                self._watch = None
        return self

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.get_params(deep=False).items() if value is not None}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    # ---- what those who evaluate ask of a model

    @property
    def task(self) -> str:
        return self.model.task

    labelled = True  # as its model is

    @property
    def loss(self) -> Any:
        return self.model.loss

    @property
    def epsilon(self) -> Any:
        return self.model.epsilon

    @property
    def features(self) -> Any:
        return self.model.features

    @property
    def features_(self) -> Any:
        return self.model.features_

    @property
    def codes(self) -> dict[Any, float]:
        return self.model.codes

    def known_labels(self, fresh: bool = False) -> Any:
        return self.model.known_labels(fresh)

    def as_rows(self, X: Any) -> Rows:
        return self.model.as_rows(X)

    def as_targets(self, y: Any, n: int) -> Any:
        return self.model.as_targets(y, n)

    def begin(self, rows: Rows, **options: Any) -> None:
        self._ready()
        for model in self._models():
            model.begin(rows, **options)

    def prepared(self, blocks: Iterator[tuple[Rows, Any]]) -> Iterator[tuple[Rows, Any]]:
        for model in self._models():
            blocks = model.prepared(blocks)
        return blocks

    def encoded(self, rows: Rows) -> Rows:
        raise ModelError(f"{type(self).__name__} must be told each label before the next example: no delay")

    @property
    def t_(self) -> int:
        """Examples seen."""
        self._fitted()
        return self._t

    @property
    def updates_(self) -> int:
        """Updates of all models there were and are."""
        self._fitted()
        return self._gone + sum(model._learner.updates for model in self._models())

    @property
    def classes_(self) -> np.ndarray:
        """The labels, ascending: declared or seen."""
        self._fitted()
        return label_array(self.model._labels)

    @property
    def n_columns(self) -> int:
        return self.model.n_columns

    @property
    def n_features_in_(self) -> int:
        """Columns seen so far."""
        self._fitted()
        return self.n_columns

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns, when the examples had names."""
        self._fitted()
        return self.model.feature_names_in_

    @property
    def coef_(self) -> Any:
        """The weights of `model`."""
        return self.model.coef_

    @property
    def intercept_(self) -> Any:
        """The constant of `model`."""
        return self.model.intercept_

    def __sklearn_is_fitted__(self) -> bool:
        return self._t > 0

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def _fitted(self) -> None:
        if not self._t:
            raise not_fitted(f"this {type(self).__name__} has not seen an example yet; call partial_fit or learn_one")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        give_lock(self)

    def save(self, path: Any) -> None:
        raise ModelError(f"a {type(self).__name__} is not saved; `.model.save(path)` saves the model in it")

    # ---- learning

    def _models(self) -> list[Any]:
        """Those at work."""
        return [self.model]

    def _ready(self) -> None:
        """Before the first example."""
        if self._watch is not None:
            return
        self._watch = checked_detector(self.detector).fresh()
        if not self._t and self.model.__sklearn_is_fitted__():
            self._t = self.model.t_

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget all and learn from these rows, in one pass."""
        with self._lock:
            fresh = type(self)(**{**self.get_params(deep=False), "model": type(self.model)(**self.model.get_params())})
            fresh.partial_fit(X, y, sample_weight=sample_weight)
            vars(self).update({name: value for name, value in vars(fresh).items() if name != "_lock"})
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows, one after another, where the last call ended; the arguments are as for the model."""
        if classes is not None and self.task != "classification":
            raise ParameterError(f"{type(self).__name__}: classes are of no use to {self.model!r}")
        with self._lock:
            self._ready()
            rows = self.as_rows(X)
            targets = self.as_targets(y, rows.n)
            rows.weights = sample_weight
            rows = rows.check()
            self.begin(rows, **({} if classes is None else {"classes": classes}))
            self.learn_rows(rows, targets)
        return self

    def learn_rows(self, rows: Rows, y: Any, sink: Sink | None = None, delay: int = 0) -> None:
        """Learn checked rows; `sink` is told what was predicted before, as of any model."""
        if delay:
            self.encoded(rows)
        with self._lock:
            self._ready()
            self.prepared(iter([(rows, y)]))  # a first stretch may be one row
            for begin, segment_end in pairwise([*self.model.first_rows(y), len(y)]):
                while begin < segment_end:
                    end = min(begin + self._reach(), segment_end)
                    self._go_through(rows.slice(begin, end), y[begin:end], sink)
                    begin = end

    def _reach(self) -> int:
        """How many rows to learn at once: what lies behind a change is learned again, and must not be much."""
        quiet = self._t - (self.changes_[-1].at if self.changes_ else 0)
        return min(max(quiet, FEW), MANY)

    def _go_through(self, rows: Rows, y: Any, sink: Sink | None) -> None:
        parts: list[Learned] = []
        try:
            for model in self._models():
                parts.append(Learned(model, rows, y))
            self._follow(parts, sink)
        except BaseException:  # Ctrl-C, too
            for part in parts:
                part.rewind()
            raise

    def learn_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name, its label or target, and its importance."""
        with self._lock:
            self._ready()
            self._follow([Learned.one(model, x, y, weight) for model in self._models()], None)
        return self

    def _follow(self, parts: list[Learned], sink: Sink | None) -> None:
        """Go through what the models have learned, and act where a change is found; `parts` are those of now."""
        raise NotImplementedError

    def _up_to_a_rise(self, values: np.ndarray) -> tuple[int, Change | None]:
        """How many of the values come before their level is found to have risen, and that change. It begins anew."""
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
        """The scores that count, of those of the models."""
        return scores[0]

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return self.model.decide(scores)

    def score_rows(self, rows: Rows) -> np.ndarray:
        """The scores of checked rows, a column a class (or one)."""
        with self._lock:
            self._fitted()
            # A model that has just begun has seen no example, but has scores: those of nothing learned.
            return self._joint([loop.score(model._learner, model._own(rows, False)) for model in self._models()])

    def predict(self, X: Any) -> np.ndarray:
        """The prediction for each row."""
        with self._lock:
            self._fitted()
            return self.decide(self.score_rows(self.as_rows(X).check()))

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row, as of the model."""
        if self.task != "classification":
            raise AttributeError(f"{type(self).__name__} of a regressor has no decision_function; predict is its score")
        self._fitted()
        scores = self.score_rows(self.as_rows(X).check())
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right predictions, or R^2."""
        return type(self.model).score(self, X, y, sample_weight)

    def predict_one(self, x: dict[str, Any]) -> Any:
        """The prediction for one example."""
        return self._one(lambda model: model.predict_one(x))

    def score_one(self, x: dict[str, Any]) -> Any:
        """The score of one example."""
        return self._one(lambda model: model.score_one(x))

    def _one(self, ask: Callable[[Any], Any]) -> Any:
        with self._lock:
            return ask(self.model)
