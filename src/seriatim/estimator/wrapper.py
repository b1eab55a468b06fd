"""The base of wrappers: models that contain other models, such as `Restart`, `Blend` and `Threshold`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Self

import numpy as np

from seriatim.core.loop import Sink
from seriatim.core.rows import Rows
from seriatim.errors import ModelError, ParameterError
from seriatim.estimator.base import Estimator
from seriatim.estimator.model import Model
from seriatim.estimator.sklearn import not_fitted
from seriatim.parameters import Parameter

# The modules of the built-in wrappers. A model file names a class; only these and registered classes are loaded.
MODULES = {
    "Restart": "evaluate.drift.restart",
    "Blend": "evaluate.drift.restart",
    "Threshold": "novelty.threshold",
}

_registered: dict[str, type[Wrapper]] = {}


def wrapper_named(name: Any) -> type[Wrapper] | None:
    """The wrapper class of this name; None if there is none."""
    if name in MODULES and name not in _registered:
        importlib.import_module(f"seriatim.{MODULES[name]}")
    return _registered.get(name)


@dataclass(frozen=True)
class ModelParameter(Parameter):
    """The model that a wrapper holds. A model file stores it as a model of its own."""

    kind: type = Estimator
    words: str = "a model of rows"
    labelled: bool = False

    @property
    def range(self) -> str:
        return self.words

    def problem(self, value: Any) -> str | None:
        good = isinstance(value, self.kind) and (value.labelled or not self.labelled)  # type: ignore[attr-defined]
        return None if good else self.range


class Delegated:
    """An attribute or method that a wrapper takes from its model."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, wrapper: Any, cls: type) -> Any:
        return self if wrapper is None else getattr(wrapper.wrapped, self.name)


class Wrapper(Model):
    """A model around one model, or around several of the same parameters.

    A subclass has a `ModelParameter`, named in `around`, and parameters of its own. Its state is the state of its
    models and the numbers and arrays of `numbers`, which `restore` reads.
    """

    around: ClassVar[str] = "model"  # the parameter that holds the model
    most: ClassVar[int] = 1  # models at work at the same time

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _registered[cls.__name__] = cls
        names = [name for base in reversed(cls.__mro__) for name in vars(base) if name in cls.parameters]
        cls.parameters = {name: cls.parameters[name] for name in names}  # those of the base class first
        bare = cls.__init__

        @wraps(bare)
        def __init__(self: Wrapper, *args: Any, **given: Any) -> None:
            if len(args) > len(cls.parameters):
                raise TypeError(f"{cls.__name__} takes {', '.join(cls.parameters)}")
            bare(self, **dict(zip(cls.parameters, args, strict=False)), **given)
            self.check()
            self._forget()

        taken = bare.__signature__.parameters.values()  # type: ignore[attr-defined]
        named = {one.name: one.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for one in taken}
        ordered = [named[name] for name in ("self", *cls.parameters)]
        __init__.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign,assignment]

    def _forget(self) -> None:
        """Set the state to that of a new wrapper."""

    def _fitted(self) -> None:  # type: ignore[override]
        if not self.__sklearn_is_fitted__():
            raise not_fitted(f"this {type(self).__name__} has not seen an example yet; call partial_fit or learn_one")

    # ---- parameters

    @property
    def wrapped(self) -> Any:
        """The wrapped model."""
        return getattr(self, self.around)

    def models(self) -> list[Any]:
        """The models at work; the first is `wrapped`."""
        return [self.wrapped]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        given = super().get_params()
        for name, value in [*given.items()] if deep else ():
            if hasattr(value, "get_params"):
                given.update({f"{name}__{key}": inner for key, inner in value.get_params().items()})
        return given

    def set_params(self, **params: Any) -> Self:
        """Change parameters; `model__C` is parameter C of the model. A new model starts untrained."""
        start = f"{self.around}__"
        inner = {name.removeprefix(start): value for name, value in params.items() if name.startswith(start)}
        own = {name: value for name, value in params.items() if not name.startswith(start)}
        for name in own:
            if name not in self.parameters:
                known = ", ".join(self.parameters)
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {known} and {start}...")
        with self._lock:
            type(self)(**{**self.get_params(deep=False), **own})  # checks the parameters
            for model in [own[self.around]] if self.around in own else self.models():
                model.set_params(**inner)
            vars(self).update(own)
            if self.around in own:
                self._forget()
            elif own:
                self._changed(own)
        return self

    def _changed(self, own: dict[str, Any]) -> None:
        """Adapt the state to changed parameters."""

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.get_params(deep=False).items() if value is not None}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def fresh(self) -> Self:
        """An untrained wrapper with the same parameters, around an untrained model."""
        return type(self)(**{**self.get_params(deep=False), self.around: self.wrapped.fresh()})

    # ---- state

    def numbers(self) -> dict[str, Any]:
        """The wrapper's own state: numbers and arrays, beside the states of its models."""
        return {}

    def template(self, numbers: dict[str, Any]) -> dict[str, Any]:
        """Numbers and arrays of the expected names, types and dimensions. Called on a new wrapper."""
        return self.numbers()

    def lists(self) -> dict[str, list[Any]]:
        """Lists of names that the numbers stand for."""
        return {}

    def restore(self, models: list[Any], numbers: dict[str, Any], lists: dict[str, list[Any]]) -> None:
        """Set the state of a new wrapper. Raises ModelError for impossible numbers."""

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            own = self.get_params(deep=False)
            del own[self.around]
            return {
                "parameters": own,
                "models": [(type(model), model.snapshot()) for model in self.models()],
                "state": self.numbers(),
                "lists": self.lists(),
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        models = []
        for kind, inner in state["models"]:
            models.append(kind.__new__(kind))
            models[-1].__setstate__(inner)
        vars(self).clear()
        vars(self).update({**state["parameters"], self.around: models[0]})
        self._forget()
        self.restore(models, state["state"], state["lists"])

    @property
    def nbytes(self) -> int:
        """The memory that the state takes, in bytes."""
        own = sum(getattr(value, "nbytes", 8) for value in self.numbers().values())
        return own + sum(model.nbytes for model in self.models())

    # ---- delegated to the model

    task: Any = Delegated("The task of the model.")  # type: ignore[misc]
    labelled: Any = Delegated("Whether the model learns from targets.")
    loss: Any = Delegated("The loss of the model.")
    epsilon: Any = Delegated("The epsilon of the loss.")
    features: Any = Delegated("The parameter `features` of the model.")
    features_: Any = Delegated("How the learned rows were made.")
    codes: Any = Delegated("The known labels and their codes.")
    known_labels: Any = Delegated("The labels of a segment, for a sink.")
    first_rows: Any = Delegated("The rows at which segments begin.")
    as_rows: Any = Delegated("Rows from anything with two dimensions.")
    as_targets: Any = Delegated("Checked targets.")
    decide: Any = Delegated("Predictions from scores.")
    classes_: Any = Delegated("The labels, ascending: declared or seen.")
    n_columns: Any = Delegated("The number of columns.")
    n_features_in_: Any = Delegated("The number of columns seen so far.")
    feature_names_in_: Any = Delegated("The names of the columns, if the examples had names.")
    coef_: Any = Delegated("The weights of the model.")
    intercept_: Any = Delegated("The constant of the model.")
    t_: Any = Delegated("The number of examples seen.")
    updates_: Any = Delegated("The number of examples that changed the model.")
    __sklearn_is_fitted__: Any = Delegated("Whether the model has seen an example.")
    __sklearn_tags__: Any = Delegated("The tags of the model.")

    def begin(self, rows: Rows, **options: Any) -> None:
        """Prepare to learn rows like these. `classes` declares the labels in advance."""
        for model in self.models():
            model.begin(rows, **options)

    def prepared(self, blocks: Iterator[tuple[Rows, Any]]) -> Iterator[tuple[Rows, Any]]:
        """Look at the first blocks before learning, for parameters that come from the data. Yields all blocks."""
        for model in self.models():
            blocks = model.prepared(blocks)
        return blocks

    def encoded(self, rows: Rows) -> Rows:
        raise ModelError(f"{type(self).__name__} needs each label before the next example; remove the delay")

    # ---- learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Restart untrained and learn these rows in one pass."""
        with self._lock:
            return self._become(self.fresh().partial_fit(X, y, sample_weight=sample_weight))

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn these rows in order, continuing from the last call. The arguments are those of the model."""
        if classes is not None and self.task != "classification":
            raise ParameterError(f"{type(self).__name__}: classes have no effect on {self.wrapped!r}; remove them")
        with self._lock:
            rows = self.as_rows(X)
            targets = self.as_targets(y, rows.n)
            rows.weights = sample_weight
            rows = rows.check()
            self.begin(rows, **({} if classes is None else {"classes": classes}))
            self.learn_rows(rows, targets)
        return self

    def learn_rows(self, rows: Rows, y: Any, sink: Sink | None = None, delay: int = 0) -> None:
        """Learn checked rows, as `Estimator.learn_rows` does."""
        raise NotImplementedError

    # ---- predictions

    def score_rows(self, rows: Rows) -> np.ndarray:
        """The scores of checked rows, with a column per class, or one column."""
        return self.wrapped.score_rows(rows)

    def predict(self, X: Any) -> np.ndarray:
        """The prediction for each row."""
        with self._lock:
            self._fitted()
            return self.decide(self.score_rows(self.as_rows(X).check()))

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row, as from the model."""
        if self.task == "regression":
            raise AttributeError(f"{type(self).__name__} of a regressor has no decision_function; call predict")
        with self._lock:
            self._fitted()
            scores = self.score_rows(self.as_rows(X).check())
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of a classifier, or R^2 of a regressor."""
        return type(self.wrapped).score(self, X, y, sample_weight)

    def predict_one(self, x: dict[str, Any]) -> Any:
        """The prediction for one example."""
        return self._one(lambda model: model.predict_one(x))

    def score_one(self, x: dict[str, Any]) -> Any:
        """The score of one example."""
        return self._one(lambda model: model.score_one(x))

    def _one(self, ask: Any) -> Any:
        with self._lock:
            return ask(self.wrapped)


class Members:
    """Untrained models whose learners another model drives. Their labels are the labels of that model."""

    def __init__(self, models: Any) -> None:
        self.models = [type(one)(**one.get_params()) for one in models]
        for one in self.models:
            one.check()
            one._learner = one.build()
            one._learner.constant = 1.0 if one.fit_intercept else 0.0

    @property
    def learners(self) -> list[Any]:
        return [one._learner for one in self.models]

    def expect_label(self, label: Any) -> None:
        """Raise an error if a member cannot add this label."""
        for one in self.models:
            one._expect_label(label)

    def told(self, labels: list[Any], codes: Any) -> list[tuple[dict[str, Any], dict[str, Any], Any]]:
        """For each member: its attributes, the new entries for new labels, and what `_told` returns for its learner."""
        return [(vars(one), {"_labels": labels, "_codes": codes}, one._told(labels, codes)) for one in self.models]

    def trained(self, state: dict[str, Any]) -> list[Any]:
        """A separate copy of each member. `state` is the shared state; each member adds its parameters."""
        return [
            one.restored(
                {**state, "parameters": {**one.get_params(), **state["parameters"]}, "state": one._learner.state()}
            )
            for one in self.models
        ]


def reads_columns(cls: type[Estimator]) -> bool:
    """Whether a class overrides the hooks before or after learning rows."""
    return cls._admit is not Estimator._admit or cls._learned is not Estimator._learned


def asks_python(model: Any) -> bool:
    """Whether a model calls a user-defined function, which may raise any error."""
    return getattr(model, "_asks_python", bool)()
