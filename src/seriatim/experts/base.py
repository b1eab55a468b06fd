"""The Python face of the methods over experts: losses, advice, and models as experts."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from seriatim import catalogue
from seriatim.core.rows import Rows
from seriatim.core.values import TIMES, plain_array, real_array, shown
from seriatim.errors import DataError, ModelError, ParameterError, SeriatimError
from seriatim.estimator import ONE, Absent, Classifier, Estimator, Regressor
from seriatim.estimator.inputs import plain_weight
from seriatim.estimator.wrapper import Members, asks_python, reads_columns
from seriatim.experts.committee import Committee
from seriatim.labels import label_order, plain_label
from seriatim.parameters import Parameter

MOST = 1000  # experts that are learners
TASKS = ("classification", "regression")
MISSING = object()


@dataclass(frozen=True)
class ExpertList(Parameter):
    """Models of one task, or None."""

    commas = True
    parts = None  # any arrays: those of the parameters of each expert, by its index

    @property
    def range(self) -> str:
        return f"a list of 1 to {MOST:,} classifiers, a list of 1 to {MOST:,} regressors, or None"

    @property
    def written(self) -> str:
        return "algorithms with their parameters, such as arow,pa:C=0.1,ogd"

    def parse(self, text: str) -> Any:
        """Read `arow,pa:C=0.1:variant=II`: algorithms by name, each with its parameters."""
        return [expert_of(part) for part in text.split(",")]

    def problem(self, value: Any) -> str | None:
        if value is None:
            return None
        if not isinstance(value, list | tuple) or not 1 <= len(value) <= MOST:
            return self.range
        if not all(isinstance(one, Estimator) for one in value):
            return self.range
        if {one.task for one in value} not in ({"classification"}, {"regression"}):
            return self.range
        for one in value:
            if trouble := unfit(one):
                return f"{self.range}; {trouble}"
        return None

    def as_json(self, value: Any) -> Any:
        return None if value is None else [plain_expert(one) for one in value]

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        return {
            f"{place}.{name}.{part}": array
            for place, one in enumerate(value or ())
            for name, parameter in one.parameters.items()
            for part, array in parameter.arrays(getattr(one, name)).items()
        }

    def restored(self, plain: Any, arrays: dict[str, np.ndarray]) -> Any:
        if plain is None and not arrays:
            return None
        if not isinstance(plain, list) or not 1 <= len(plain) <= MOST:
            raise ModelError(f"the experts are not {self.range}")
        experts = [restored_expert(one, arrays, f"{place}.") for place, one in enumerate(plain)]
        if arrays:
            raise ModelError(f"{', '.join(arrays)}: no expert has such an array")
        return experts


def expert_of(text: str) -> Any:
    """`pa:C=0.1` as PA(C=0.1)."""
    name, *given = text.strip().split(":")
    cls = catalogue.find_estimator(name)
    values = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or key not in cls.parameters:
            raise ParameterError(f"experts: {text}: expected NAME=VALUE with a parameter of {cls.__name__}")
        values[key] = cls.parameters[key].parse(value)
    try:
        expert = cls(**values)
    except TypeError as error:
        raise ParameterError(f"experts: {text}: {error}") from None
    expert.check()
    return expert


def plain_expert(expert: Any) -> dict[str, Any]:
    """The class and the parameters of an expert, as JSON values."""
    parameters = {name: p.as_json(getattr(expert, name)) for name, p in expert.parameters.items()}
    return {"class": type(expert).__name__, "parameters": parameters}


def restored_expert(plain: Any, arrays: dict[str, np.ndarray], own: str) -> Any:
    """The reverse of `plain_expert`. Removes the arrays of the expert from `arrays`."""
    if not isinstance(plain, dict) or set(plain) != {"class", "parameters"}:
        raise ModelError("an expert must be an algorithm with its parameters")
    cls, given = catalogue.named(plain["class"]), plain["parameters"]
    if cls is None:
        raise ModelError(f"no algorithm is called {plain['class']!r}")
    if not isinstance(given, dict) or set(given) != set(cls.parameters):
        raise ModelError(f"the parameters of an expert are not those of {cls.__name__}")
    values = {}
    for name, parameter in cls.parameters.items():
        start = f"{own}{name}."
        parts = {key.removeprefix(start): arrays.pop(key) for key in [*arrays] if key.startswith(start)}
        values[name] = parameter.restored(given[name], parts)
    expert = cls(**values)
    expert.check()
    return expert


def unfit(expert: Any) -> str | None:
    """The reason why a model cannot be an expert; None if it can."""
    cls, name = type(expert), type(expert).__name__
    if not issubclass(cls, Experts) and reads_columns(cls):
        return f"{name} interprets columns in its own way"
    if expert.features is not None:
        return f"{name} has its own `features`: set them on the outer model"
    if getattr(expert, "classes", None) is not None and getattr(expert, "rho", None) is None:
        return f"{name} has its own `classes`: set them on the outer model"
    waits = getattr(expert, "sigma", None) == "median" or getattr(getattr(expert, "kernel", None), "waits", False)
    return f"{name} takes the width of its kernel from the data: set a number" if waits else None


class Shared:
    """An attribute that the experts have in common. A class, or a model without experts, has a default."""

    def __init__(self, alone: Any, of: Callable[[Any], Any]) -> None:
        self.alone, self.of = alone, of

    def __get__(self, model: Any, cls: type) -> Any:
        """Parameters are checked before the first example. Until then `experts` may be anything."""
        experts = None if model is None else model.experts
        good = isinstance(experts, list | tuple) and experts and all(isinstance(one, Estimator) for one in experts)
        return self.of(model) if good else self.alone


def only(values: Any, otherwise: Any) -> Any:
    """The value that all have; `otherwise` if they differ."""
    found = {*values}
    return found.pop() if len(found) == 1 else otherwise


def shared_loss(experts: list[Any]) -> str:
    """For classifiers the hinge loss, which bounds the mistakes of a vote. For regressors their loss, if it is one."""
    if experts[0].task == "classification":
        return "hinge"
    return only(((one.loss, one.epsilon) for one in experts), ("absolute", 0.0))[0]


class Experts(Classifier):
    """Weights over experts. With models as experts it is a model of rows; otherwise it learns losses or advice."""

    task = Shared("experts", lambda model: model.experts[0].task)  # type: ignore[assignment]
    loss = Shared("hinge", lambda model: shared_loss(model.experts))
    epsilon = Shared(0.0, lambda model: only((one.epsilon for one in model.experts), 0.0))
    binary = Shared(False, lambda model: any(getattr(one, "binary", False) for one in model.experts))  # type: ignore[assignment]
    nonnegative = Shared(False, lambda model: any(one.nonnegative for one in model.experts))  # type: ignore[assignment]
    fixed = ("experts", "classes", "features")
    held = (*Classifier.held, "_members")  # type: ignore[assignment]
    fit_intercept = False  # each expert has its own constant, or none
    sparsify = densify = n_nonzero_ = sparsity_ = Absent()  # type: ignore[assignment]

    experts: Any = ExpertList(None, positional=True)

    _members: Members = Members(())

    def rule(self) -> Any:
        """The weights, as the method has them."""
        raise NotImplementedError

    def _committee(self) -> Committee:
        """The learner."""
        self._members = Members(self.experts or ())
        loss = self.loss if self.task == "regression" else None
        return Committee(self.rule(), self._members.learners, loss, self.epsilon)

    # ---- the mixture

    def _mixture(self) -> Any:
        return self._fitted().mixture

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the next round, one for each expert."""
        with self._lock:
            return self._mixture().weights()

    @property
    def loss_(self) -> float:
        """The loss of the mixture: the sum over the rounds of the weighted mean loss of the experts.

        Only `WeightedMajority` without draws counts the mistakes of the vote instead.
        """
        return self._mixture().loss

    @property
    def losses_(self) -> np.ndarray:
        """The sum of the losses of each expert."""
        with self._lock:
            return self._mixture().losses()

    @property
    def best_(self) -> int:
        """The index of the expert with the least loss; on a tie the first."""
        return int(np.argmin(self.losses_))

    @property
    def regret_(self) -> float:
        """The loss of the mixture less the loss of the best expert."""
        with self._lock:
            return self._mixture().loss - float(self.losses_.min())

    @property
    def bound_(self) -> float:
        """The upper bound on `regret_`. Where `loss_` is not that of the vote, the vote may err more."""
        with self._lock:
            return float(self._mixture().bound())

    @property
    def experts_(self) -> list[Any]:
        """The experts as they are now. Each is a copy and a full model: it can predict, learn and be saved."""
        self._expect_learners("experts_")
        with self._lock:
            self._fitted()
            state = {key: copy.deepcopy(value) for key, value in self.__getstate__().items() if key != "state"}
            return self._members.trained({**state, "parameters": {"features": self.features}})

    # ---- losses and advice

    def _expect_learners(self, what: str) -> None:
        if self.experts is None:
            raise ParameterError(
                f"{type(self).__name__}: {what} needs models as experts, as in {type(self).__name__}([AROW(), PA()]) "
                "or -p experts=arow,pa on the command line; without models it takes losses or advice"
            )

    def _learn_losses(self, losses: np.ndarray, lost: float = -1.0) -> None:
        """Learn rounds of losses. The first call sets the number of experts."""
        bad = np.argwhere(~((losses >= 0) & (losses <= 1)))
        if len(bad):
            i, k = bad[0].tolist()
            where = f"round {i}, " if len(losses) > 1 else ""
            raise DataError(f"{where}expert {k}: the loss is {losses[i, k]:g}; expected a number from 0 to 1")
        self._learner.learn_losses(losses, lost)

    def _expect_experts(self, n: int) -> None:
        known = 0 if self._learner is None else self._learner.mixture.n
        if known and n != known:
            odd = min(n, known)
            problem = "is new" if n > known else "is missing"
            raise DataError(f"{n} experts; the rounds before had {known}: expert {odd} {problem}")
        if not n:
            raise DataError("the round is empty: give one loss, or one piece of advice, for each expert")

    def _learn_advice(self, advice: list[Any], outcome: Any) -> None:
        if outcome is None:
            raise DataError("the outcome is None; expected a label or a number, like the advice")
        told, truth, numbers = told_by(advice, outcome)
        self._expect_experts(len(told))
        losses = np.array([abs(one - truth) if numbers else float(one != truth) for one in told])
        lost = -1.0
        if self._learner.mixture.votes and np.all(losses <= 1):
            mixed = self._advised(told, numbers)
            lost = min(abs(mixed - truth), 1.0) if numbers else float(mixed != truth)
        self._learn_losses(losses[None, :], lost)

    def _advised(self, told: list[Any], numbers: bool) -> Any:
        """The combined prediction for some advice."""
        mixture = None if self._learner is None else self._learner.mixture
        if mixture is None or not mixture.n:  # before the first round
            mixture = self.rule()
            mixture.start(len(told))
        if mixture.draws_one:
            return told[mixture.choice()]
        weights = mixture.weights()
        if numbers:
            return float(weights @ np.asarray(told))
        votes: dict[Any, float] = {}
        for label, weight in zip(told, weights.tolist(), strict=True):
            votes[label] = votes.get(label, 0.0) + weight
        return max(sorted(votes, key=label_order), key=lambda label: votes[label])

    def _without_trace(self, learn: Callable[[], None]) -> Self:
        with self._lock:
            self._start()
            try:
                learn()
            except SeriatimError:
                self._unstart()
                raise
        return self

    def learn_one(self, x: Any, y: Any = MISSING, weight: float = ONE) -> Self:  # type: ignore[override]
        """Learn one round: the losses of the experts, their advice and the outcome, or an example for models."""
        if self.experts is None and isinstance(x, Mapping):
            self._expect_learners("a dict of features")
        if self.experts is not None:
            if y is MISSING:
                self.check()
                raise DataError("models as experts learn an example and its label: call learn_one(x, y)")
            with self._lock, self._careful():
                return self._kind().learn_one(self, x, y, weight)
        if weight is not ONE and plain_weight(weight) != 1:
            raise ParameterError(f"{self!r}: the method does not define sample weights; remove them")
        if y is not MISSING:
            advice = advice_of(x)
            return self._without_trace(lambda: self._learn_advice(advice, y))
        losses = losses_of(x, 1)
        self._expect_experts(losses.shape[1])
        return self._without_trace(lambda: self._learn_losses(losses))

    def progress_one(self, x: Any, y: Any, weight: float = ONE) -> Any:
        """Predict one round or example, then learn it. Returns the prediction."""
        if self.experts is None or self._reader is None:
            return Estimator.progress_one(self, x, y, weight)
        with self._lock, self._careful():
            return self._kind().progress_one(self, x, y, weight)

    def predict_one(self, x: Any) -> Any:
        """The combined prediction for the advice of the experts, or for one example."""
        if self.experts is not None:
            return self._kind().predict_one(self, x)
        if isinstance(x, Mapping):
            self._expect_learners("a dict of features")
        told, _, numbers = told_by(advice_of(x), None)
        with self._lock:
            self.check()
            self._expect_experts(len(told))
            return self._advised(told, numbers)

    def score_one(self, x: Any) -> Any:
        """The score of one example, with models as experts: the votes, or the mean."""
        self._expect_learners("score_one")
        return self._kind().score_one(self, x)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget everything, then learn these rounds or rows."""
        with self._lock:
            return self._become(self.fresh().partial_fit(X, y, sample_weight=sample_weight))

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn rounds in order: losses, a row for each round and a column for each expert; or advice and outcomes.

        With models as experts: rows and their labels or targets, as for any model. If one row is bad, none is learned.
        """
        if self.experts is not None:
            if classes is not None and self.task == "regression":
                raise ParameterError(f"{type(self).__name__}: regressors take no classes")
            return self._learn_array(X, y, sample_weight, **({} if classes is None else {"classes": classes}))
        if hasattr(X, "tocsr"):
            self._expect_learners("a sparse matrix")
        if sample_weight is not None or classes is not None:
            raise ParameterError(f"{type(self).__name__}: classes and sample_weight need models as experts")
        if y is None:
            losses = losses_of(X, 2)
            if not len(losses):
                return self
            self._expect_experts(losses.shape[1])
            return self._without_trace(lambda: self._learn_losses(losses))
        rounds = [advice_of(one) for one in advice_of(X)]
        outcomes = advice_of(y)
        if len(rounds) != len(outcomes):
            raise DataError(f"advice for {len(rounds)} rounds, but {len(outcomes)} outcomes")
        with self._lock:
            fresh = copy.deepcopy(self)
            for number, (advice, outcome) in enumerate(zip(rounds, outcomes, strict=True)):
                try:
                    fresh.learn_one(advice, outcome)
                except DataError as error:
                    raise DataError(f"round {number}, {error}") from None
            return self._become(fresh)

    def predict(self, X: Any) -> np.ndarray:
        """The prediction for each row, with models as experts."""
        self._expect_learners("predict")
        return super().predict(X)

    # ---- models as experts

    def _kind(self) -> Any:
        """The base class whose methods this task needs."""
        return Regressor if self.task == "regression" else Classifier

    def check(self) -> None:
        super().check()
        for one in self.experts or ():
            one.check()

    def _asks_python(self) -> bool:
        """Whether an expert calls a function of the user, which may raise an error at any time."""
        if self._learner is None:
            self.check()  # before this check, `experts` may be anything
        return any(map(asks_python, self.experts or ()))

    def _careful(self) -> Any:
        return self._undoing(BaseException) if self._asks_python() else nullcontext()

    def _may_fail(self, y: Any) -> bool:
        numbers = self.task == "regression"
        fails = super(Classifier, self)._may_fail(y) if numbers else super()._may_fail(y)
        return fails or self._asks_python()

    def as_rows(self, X: Any) -> Rows:
        self._expect_learners("a row")
        return super().as_rows(X)

    def _admit(self, rows: Rows) -> None:
        self._expect_learners("learn_rows")

    def known_labels(self, fresh: bool = False) -> Any:
        return self._kind().known_labels(self, fresh)

    def first_rows(self, y: Any) -> list[int]:
        return self._kind().first_rows(self, y)

    def _ready_for_names(self) -> Any:
        self._expect_learners("a dict of features")
        return super()._ready_for_names()

    def as_targets(self, y: Any, n: int) -> Any:
        self._expect_learners("a target")
        return self._kind().as_targets(self, y, n)

    def begin(self, rows: Rows, classes: Any = None) -> None:
        if self.task == "regression":
            Estimator.begin(self, rows)
        else:
            super().begin(rows, classes)

    def _segments(self, y: Any) -> Any:
        return super(Classifier, self)._segments(y) if self.task == "regression" else super()._segments(y)

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return self._kind().decide(self, scores)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of right predictions, or R^2."""
        return self._kind().score(self, X, y, sample_weight)

    # ---- labels

    def _expect_label(self, label: Any) -> None:
        super()._expect_label(label)
        self._members.expect_label(label)

    def _meet(self, label: Any) -> None:
        self._expect_label(label)
        self._learner.fresh = not are_signs({*self._labels, label})
        try:
            super()._meet(label)
        except BaseException:
            self._learner.fresh = self._learner.fresh and label in self._codes
            raise

    def _told(self, labels: list[Any], codes: Any) -> Told:
        signs = are_signs({*labels})
        return Told(
            alone=len(labels) == 1 and not signs,
            # Until now 1 was an ordinary label, and no expert erred while it was the only one.
            restart=bool(self._labels) and are_signs({*self._labels}) and not signs,
            members=self._members.told(labels, codes),
        )

    # ---- state

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() if self.task == "classification" else Estimator.__getstate__(self)

    def _restore_labels(self, state: dict[str, Any]) -> None:
        if "labels" in state:
            super()._restore_labels(state)


class Told(NamedTuple):
    """What a committee must know about its labels."""

    alone: bool  # there is only one label, and every expert predicts it
    restart: bool  # the weights of the experts restart
    members: list[tuple[dict[str, Any], dict[str, Any], Any]]  # for each expert: see `Members.told`


def are_signs(labels: set[Any]) -> bool:
    """Whether the labels are signs, which can be predicted from the first example on."""
    return labels <= {-1, 1}


def losses_of(losses: Any, dimensions: int) -> np.ndarray:
    """Losses as an array with a row for each round."""
    try:
        given = plain_array([*losses] if dimensions == 1 else losses, "the losses")
        if given.dtype.kind not in "fiubO":
            raise TypeError
        array = np.array(real_array(given), order="C")
    except (TypeError, ValueError, OverflowError):
        raise DataError("the losses must be numbers, one for each expert") from None
    if array.ndim != dimensions:
        raise DataError(
            f"the losses have {array.ndim} dimensions; expected {dimensions}, with one number for each expert"
        )
    return array.reshape(1, -1) if dimensions == 1 else array


def advice_of(advice: Any) -> list[Any]:
    """The advice of each expert, or of each round, as a list."""
    if hasattr(advice, "to_numpy"):  # a frame, whose rows are rounds
        advice = advice.to_numpy()
    if isinstance(advice, str | bytes):
        raise DataError("advice must be a list with one prediction for each expert")
    try:
        found = [*advice.tolist()] if isinstance(advice, np.ndarray) else [*advice]
    except TypeError:
        raise DataError("advice must be a list with one prediction for each expert") from None
    return found


def told_by(advice: list[Any], outcome: Any) -> tuple[list[Any], Any, bool]:
    """Advice and outcome as plain labels or, if any of them is a float, as numbers. Also whether they are numbers."""
    told = [plain_scalar(one) for one in advice]
    truth = plain_scalar(outcome)
    if not any(isinstance(one, float) for one in [*told, truth]):
        return (
            [checked(plain_label, one, k) for k, one in enumerate(told)],
            outcome if outcome is None else plain_label(truth),
            False,
        )
    numbers = [checked(number, one, k) for k, one in enumerate(told)]
    return numbers, None if truth is None else number(truth), True


def plain_scalar(value: Any) -> Any:
    """A NumPy scalar as a Python value. Times are left alone, because `item` would turn them into numbers."""
    return value.item() if isinstance(value, np.generic) and not isinstance(value, TIMES) else value


def checked(read: Callable[[Any], Any], value: Any, place: int) -> Any:
    try:
        return read(value)
    except DataError as error:
        raise DataError(f"expert {place}: {error}") from None


def number(value: Any) -> float:
    with suppress(OverflowError):
        if isinstance(value, bool | int | float) and math.isfinite(value):
            return float(value)
    raise DataError(f"found {shown(value)}; expected a finite number")
