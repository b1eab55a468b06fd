"""The base of all models: declared parameters, a compiled learner whose state is data, and model files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from seriatim import catalogue
from seriatim.errors import ModelError, ParameterError
from seriatim.estimator.sklearn import not_fitted
from seriatim.locks import give_lock
from seriatim.parameters import REQUIRED, Parameter


def signature_of(parameters: dict[str, Parameter]) -> inspect.Signature:
    """The signature of a class: required parameters, then optional positional ones, then keyword-only ones."""
    by_place, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    arguments = [inspect.Parameter("self", by_place)]
    arguments += [inspect.Parameter(name, by_place) for name, p in parameters.items() if p.default is REQUIRED]
    for name, p in reversed(parameters.items()):
        if p.positional and p.default is not REQUIRED:
            arguments.append(inspect.Parameter(name, by_place, default=p.default))
    for name, p in parameters.items():
        if not p.positional and p.default is not REQUIRED:
            arguments.append(inspect.Parameter(name, by_name, default=p.default))
    return inspect.Signature(arguments)


def locked(get: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A getter that waits until no other thread changes the model."""

    @wraps(get)
    def waiting(self: Any) -> Any:
        with self._lock:
            return get(self)

    return waiting


class Model:
    """A learner and its parameters. A subclass declares the parameters and builds the learner."""

    family: ClassVar[str]
    paper: ClassVar[str]
    task: ClassVar[str]
    parameters: ClassVar[dict[str, Parameter]] = {}
    # Parameters on which the meaning of the state depends. They cannot change after the first example.
    fixed: ClassVar[tuple[str, ...]] = ()
    # The attributes that a model has in addition to its parameters.
    held: ClassVar[tuple[str, ...]] = ("_learner", "_lists")

    # Learners release the GIL, so each model has a lock for calls from several threads.
    __slots__ = ("__dict__", "__weakref__", "_lock")
    _lock: Any

    _learner: Any = None
    _lists: dict[str, list[Any]] = {}  # noqa: RUF012, names for numbers of the state; replaced, never changed in place

    def __init_subclass__(cls) -> None:
        if "__init__" in vars(cls):
            raise TypeError(f"{cls.__name__}: __init__ is generated from the parameters; remove it and define `build`")
        for name, attribute in [*vars(cls).items()]:
            if isinstance(attribute, property) and attribute.fget is not None:
                setattr(cls, name, property(locked(attribute.fget), attribute.fset, None, attribute.__doc__))
        declared: dict[str, Parameter] = {}
        names: set[str] = set()
        for base in cls.__mro__:
            declared.update({k: v for k, v in vars(base).items() if isinstance(v, Parameter) and k not in names})
            names |= vars(base).keys()
        cls.parameters = declared
        signature = signature_of(declared)

        def __init__(self: Model, *args: Any, **kwargs: Any) -> None:
            try:
                bound = signature.bind(self, *args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{cls.__name__}: {error}; it takes {', '.join(cls.parameters)}") from None
            bound.apply_defaults()
            vars(self).update({name: value for name, value in bound.arguments.items() if name != "self"})

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign,assignment]
        if "build" in vars(cls):
            missing = [name for name in ("family", "paper") if not hasattr(cls, name)]
            if missing:
                raise TypeError(f"{cls.__name__} has no {' and no '.join(missing)}, which the catalogue shows")
            catalogue.register(cls)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        give_lock(self)
        return self

    def build(self) -> Any:
        """A new learner with these parameters."""
        raise NotImplementedError

    # ---- parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.parameters}

    def set_params(self, **params: Any) -> Self:
        """Change parameters. A trained model keeps its state and continues with the new parameters."""
        for name in params:
            if name not in self.parameters:
                known = ", ".join(self.parameters)
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {known}")
        with self._lock:  # another thread learns before the change or after it
            state = self.__getstate__()
            fixed = f"{type(self).__name__}: {{}} cannot be changed once the model has learned; make a new model"
            for name in self.fixed if state["state"] is not None else ():
                now: Any = getattr(self, name, None)
                if name in params and params[name] is not now and not np.array_equal(params[name], now):
                    raise ParameterError(fixed.format(name))
            state["parameters"].update(params)
            try:
                return self._become(self.restored(state))
            except (KeyError, ModelError):  # the state does not fit the new parameters
                raise ParameterError(fixed.format(", ".join(params))) from None

    def __repr__(self) -> str:
        shown = [
            f"{name}={parameter.shown(value)}"
            for name, parameter in self.parameters.items()
            if (value := getattr(self, name)) is not None or parameter.default is not None
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def check(self) -> None:
        for name, parameter in self.parameters.items():
            if (value := getattr(self, name)) is not parameter.default:
                parameter.check(f"{type(self).__name__}: {name}", value)

    # ---- state

    def _start(self) -> None:
        """Build the learner, if there is none."""
        if self._learner is None:
            self.check()
            self._learner = self.build()

    def _unstart(self) -> None:
        """Remove a learner that has not learned an example."""
        if self._learner is not None and self._learner.t == 0:
            self._become(self.fresh())

    def fresh(self) -> Self:
        """An untrained model with the same parameters."""
        return type(self)(**self.get_params())

    def restored(self, state: dict[str, Any]) -> Self:
        """A new model of this class with the state of a snapshot."""
        other = type(self).__new__(type(self))
        other.__setstate__(state)
        return other

    def snapshot(self) -> dict[str, Any]:
        """The whole state of the model, for `restored` and `rewind`."""
        return self.__getstate__()

    def template(self, numbers: dict[str, Any]) -> dict[str, Any]:
        """The state of an untrained model: the names, types and dimensions that the numbers of a file should have."""
        fresh = self.fresh()
        fresh._start()
        return fresh._learner.state()

    def rewind(self, state: dict[str, Any]) -> None:
        """Return to the state of a snapshot."""
        self._become(self.restored(state))

    @property
    def nbytes(self) -> int:
        """The memory that the state of the learner takes, in bytes."""
        return (
            0 if self._learner is None else sum(getattr(part, "nbytes", 8) for part in self._learner.state().values())
        )

    def _become(self, other: Self) -> Self:
        """Take over the parameters and state of another model of this class. Attributes set by users stay.

        This is one assignment, so that Ctrl-C and other threads come before or after the change, never within it.
        """
        with self._lock:
            stays = {name: value for name, value in vars(self).items() if name not in self.held}
            self.__dict__ = {**stays, **vars(other)}
        return self

    @contextmanager
    def _undoing(self, errors: type[BaseException]) -> Iterator[None]:
        """Restore the model after errors of these classes."""
        before = self.__getstate__()
        try:
            yield
        except errors:
            self._become(self.restored(before))
            raise

    def __getstate__(self) -> dict[str, Any]:
        """The whole state of the model: parameters, and the numbers and arrays of the learner."""
        with self._lock:
            return {
                "parameters": self.get_params(),
                "state": None if self._learner is None else self._learner.state(),
                "lists": {name: list(values) for name, values in self._lists.items()},
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).clear()
        vars(self).update(state["parameters"])
        if state["state"] is not None:
            self._lists = state["lists"]
            self._start()
            self._learner.restore(state["state"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file. After an error, a former file is unchanged.

        A loaded model continues bit for bit like the saved one. If most numbers of an array are zeros, the file stores
        only the nonzeros and their indices. RDA, FTRL and similar methods learn from sums of gradients, not from
        weights. Their files store these sums for all features seen, also for features of weight 0.
        """
        from seriatim import modelfile

        modelfile.save(self, path)

    def _fitted(self) -> Any:
        if self._learner is None or self._learner.t == 0:
            raise not_fitted(f"this {type(self).__name__} has not seen an example yet; call partial_fit or learn_one")
        return self._learner

    @property
    def t_(self) -> int:
        """The number of examples seen."""
        with self._lock:
            return self._fitted().t

    def __sklearn_is_fitted__(self) -> bool:
        return self._learner is not None and self._learner.t > 0
