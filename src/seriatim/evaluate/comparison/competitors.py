"""The algorithms of a comparison, as users give them: `pa`, `pa:C=0.1,variant=II`, a class, a model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seriatim import catalogue
from seriatim.errors import ParameterError
from seriatim.estimator import Estimator
from seriatim.estimator.model import Model
from seriatim.features import Features
from seriatim.parameters import REQUIRED, Number

# One algorithm for each kind of update, with parameters that do well untuned on two labels and on many.
CLASSIFIERS = (
    "perceptron",
    "averaged-perceptron",
    "ogd",
    "pa",
    "alma",
    "aggressive-romma",
    "soft-svm",
    "sop",
    "cw",
    "arow",
    "narow",
    "scw",
)
REGRESSORS = (
    "ogd-regressor",
    "ogd-regressor:loss=absolute",
    "ogd-regressor:loss=epsilon_insensitive",
    "pa-regressor",
    "pa-regressor:variant=II",
    "arow-regressor",
)
DEFAULTS = {"classification": CLASSIFIERS, "regression": REGRESSORS}


@dataclass(frozen=True)
class Competitor:
    """An algorithm with its parameters, and its label in the tables."""

    label: str
    model: Estimator

    def fresh(self) -> Estimator:
        """An untrained model; its parameters have been checked."""
        model = type(self.model).__new__(type(self.model))
        vars(model).update(self.given)
        return model

    @cached_property
    def given(self) -> dict[str, Any]:
        return self.model.get_params()

    @property
    def algorithm(self) -> str:
        return catalogue.command_name(type(self.model))

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """All parameters as JSON values."""
        plain = {name: plain_value(self.model.parameters[name], value) for name, value in self.given.items()}
        return {**plain, "features": self.given["features"].as_dict() or None}


def plain_value(parameter: Any, value: Any) -> Any:
    """A parameter as a stored run has it: 1 and 1.0 become the same number."""
    arrays = parameter.arrays(value)
    value = parameter.as_json(value)
    if arrays:
        digest = hashlib.blake2b(digest_size=16)
        for name, array in sorted(arrays.items()):
            digest.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
        return {"plain": value, "digest": digest.hexdigest()}
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    is_number = isinstance(parameter, Number) and not isinstance(value, str | None)
    return float(value) if is_number and not parameter.integer else value


def competitor(given: Any, features: Any = None) -> Competitor:
    """The algorithm of a name, a name with parameters, a class or a model, checked.

    Of a model only the parameters count. `features` is used where the model has none.

    >>> competitor("pa:C=0.1,variant=II").model
    PA(C=0.1, variant='II', average=False, fit_intercept=True, features=Features())
    >>> from seriatim import AROW
    >>> competitor(AROW(r=0.5)).label, competitor(AROW).label
    ('arow r=0.5', 'arow')
    """
    if isinstance(given, Model):
        catalogue.expect_estimator(type(given))
    if isinstance(given, str):
        label, (cls, values) = given, parsed(given)
    elif isinstance(given, type) and issubclass(given, Estimator):
        label, cls, values = catalogue.command_name(given), given, {}
    elif isinstance(given, Estimator):
        cls, values = type(given), given.get_params()
        label = described(given)
    else:
        raise ParameterError(f"{given!r}: an algorithm is a name, a class or a model without a wrapper")
    values["features"] = Features.of(features if values.get("features") is None else values["features"])
    try:
        model = cls(**values)
        model.check()
    except TypeError as error:
        raise ParameterError(f"{label}: {error}") from None
    return Competitor(label, model)


def parsed(text: str, find: Callable[[str], Any] = catalogue.find_estimator) -> tuple[Any, dict[str, Any]]:
    """Class and parameters of `name:parameter=value,parameter=value`.

    A comma within a value needs no quotes if no parameter name follows it.

    >>> parsed("cspa:rho=spam:ham=5,ham:spam=1,C=2")[1]
    {'rho': {('spam', 'ham'): 5.0, ('ham', 'spam'): 1.0}, 'C': 2.0}
    >>> parsed("omkc:kernels=gaussian:2,polynomial:3,beta=0.9")[1]
    {'kernels': [Gaussian(sigma=2.0), Polynomial(degree=3, c=1.0)], 'beta': 0.9}
    >>> parsed("group-rda:groups=0,0,1,1,lam=0.1")[1]
    {'groups': [0, 0, 1, 1], 'lam': 0.1}
    """
    name, colon, rest = text.partition(":")
    cls = find(name)
    known = [name for name in cls.parameters if name != "features"]
    texts: dict[str, str] = {}
    last = None
    for part in rest.split(",") if colon else ():
        parameter, equals, value = part.partition("=")
        if equals and parameter.strip() in known:
            last = parameter.strip()
            texts[last] = value
        elif last is not None and cls.parameters[last].commas:
            texts[last] += f",{part}"
        else:
            raise ParameterError(f"{text}: {part!r} is not NAME=VALUE with a parameter of {name}: {', '.join(known)}")
    for parameter, declared in cls.parameters.items():
        if declared.default is REQUIRED and parameter not in texts:
            raise ParameterError(f"{text} needs {name}:{parameter}=...: {declared.written}")
    return cls, {name: cls.parameters[name].parse(value) for name, value in texts.items()}


def described(model: Estimator, features: bool = False) -> str:
    """The name of a model's algorithm, and the parameters that are not at their defaults."""
    special = {
        name: value
        for name, value in model.get_params().items()
        if (features or name != "features") and not np.array_equal(value, model.parameters[name].default)
    }
    return " ".join(
        [
            catalogue.command_name(type(model)),
            *(f"{name}={said(model, name, value)}" for name, value in special.items()),
        ]
    )


def said(model: Estimator, name: str, value: Any) -> Any:
    """A parameter value in a label; arrays are abbreviated."""
    parameter = model.parameters[name]
    return parameter.shown(value) if parameter.parts else value


def competitors(given: Iterable[Any] | None, task: str, features: Any, weighted: bool) -> list[Competitor]:
    """All algorithms of a comparison, each once; by default those of DEFAULTS that fit the data."""
    if given is None:
        field = [competitor(name, features) for name in DEFAULTS[task]]
        return [one for one in field if not weighted or one.model.build().weighted]
    field = [competitor(one, features) for one in ([given] if isinstance(given, str) else given)]
    if not field:
        raise ParameterError("no algorithm to compare")
    for one in field:
        if one.model.task not in DEFAULTS:
            raise ParameterError(f"{one.label}: its task is {one.model.task}; {' and '.join(DEFAULTS)} can be compared")
        if one.model.task != field[0].model.task:
            kinds = f"{field[0].label} is for {field[0].model.task}, {one.label} for {one.model.task}"
            raise ParameterError(f"{kinds}: they cannot be compared")
        if weighted:
            one.model.expect_weighted()
    return distinct(field)


def distinct(field: list[Competitor]) -> list[Competitor]:
    """Each algorithm once; equal labels are extended by parameters until they differ."""
    once: dict[str, Competitor] = {}
    for one in field:
        once.setdefault(f"{one.algorithm} {one.parameters}", one)
    field = [*once.values()]
    for features in (False, True):  # what they do with the data is said only where nothing else tells them apart
        labels = [one.label for one in field]
        field = [
            Competitor(described(one.model, features), one.model) if labels.count(one.label) > 1 else one
            for one in field
        ]
    labels = [one.label for one in field]  # what is made of many numbers is not told in full
    return [
        Competitor(f"{label} ({labels[: k + 1].count(label)})", one.model) if labels.count(label) > 1 else one
        for k, (label, one) in enumerate(zip(labels, field, strict=True))
    ]
