"""The combinations of parameters that a search tries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from seriatim import catalogue
from seriatim.errors import ParameterError
from seriatim.estimator import Estimator
from seriatim.evaluate.metrics import Metric, metric

SEARCHES = ("grid", "random", "halving")
TRIES = {"grid": 200, "random": 50, "halving": 200}  # the default number of combinations
Values = dict[str, Sequence[Any]]  # by parameter


@dataclass(frozen=True)
class Settings:
    """The checked settings of a search."""

    base: Estimator
    search: str
    tries: int
    over: Values
    measure: str
    metric: Metric | None  # if the measure is not one that every run has
    seed: int


def fresh(model: Estimator | type[Estimator] | str, **changed: Any) -> Estimator:
    """A new model with the same parameters, some of them changed."""
    if isinstance(model, str):
        model = catalogue.find_estimator(model)
    catalogue.expect_estimator(model if isinstance(model, type) else type(model))
    return model(**changed) if isinstance(model, type) else type(model)(**{**model.get_params(), **changed})


def ranges(model: Estimator) -> Values:
    """The declared search values of the parameters that are at their defaults.

    >>> from seriatim import SCW
    >>> ranges(SCW(C=2.0))
    {'eta': (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)}
    """
    return {
        name: declared.search
        for name, declared in model.parameters.items()
        if declared.search and getattr(model, name) == declared.default
    }


def settings(
    base: Estimator,
    search: str,
    tries: int | None,
    over: Mapping[str, Sequence[Any]] | None,
    measure: str | Metric | None,
    seed: int,
) -> Settings:
    """The checked settings, or a ParameterError."""
    if search not in SEARCHES:
        raise ParameterError(f"search={search!r}: must be {' or '.join(map(repr, SEARCHES))}")
    if tries is not None and tries < 1:
        raise ParameterError(f"tries={tries!r}: must be at least 1")
    measures = ("mistake_rate", "mean_loss") if base.task == "classification" else ("mean_loss",)
    if isinstance(measure, str) and measure.replace("-", "_") in measures:
        measure = measure.replace("-", "_")
    asked = None if measure is None or measure in measures else metric(measure)
    if asked is not None and asked.task not in ("any", base.task):
        raise ParameterError(f"measure={measure!r}: {asked} is a metric of {asked.task}, not of {base.task}")
    measure = str(asked or measure or measures[0])
    values: Values = ranges(base) if over is None else {name: list(tried) for name, tried in over.items()}
    check_values(base, values, measure)
    return Settings(base, search, tries or TRIES[search], values, measure, asked, seed)


def check_values(base: Estimator, values: Values, measure: str) -> None:
    name = type(base).__name__
    if not values:
        known = " and ".join(one for one, declared in base.parameters.items() if declared.search)
        why = f"{known} could be, and is given" if known else "no parameter of it has values to try"
        raise ParameterError(f"{name}: there is nothing to search: {why}; `over` can name some")
    for parameter, tried in values.items():
        if parameter not in base.parameters or parameter == "features":
            known = ", ".join(one for one in base.parameters if one != "features")
            raise ParameterError(f"{name} has no parameter {parameter!r} to search; it has {known}")
        if measure == "mean_loss" and parameter in ("loss", "epsilon"):
            raise ParameterError(
                f"{name}: {parameter} is part of the loss that ranks the trials, so their values could not be compared"
            )
        if not len(tried):
            raise ParameterError(f"{name}: there are no values of {parameter} to try")
        for value in tried:
            base.parameters[parameter].check(f"{name}: {parameter}", value)


def grid(over: Values, most: int, seed: int) -> list[dict[str, Any]]:
    """All combinations, the last parameter changing first; if there are more than `most`, a random sample of that size.

    >>> grid({"C": [1, 2], "eta": [0.6, 0.9]}, 3, seed=0)
    [{'C': 1, 'eta': 0.6}, {'C': 2, 'eta': 0.6}, {'C': 2, 'eta': 0.9}]
    """
    whole, random = math.prod(map(len, over.values())), Random(seed)
    numbers = set(range(whole)) if whole <= most else set()
    while len(numbers) < min(most, whole):
        numbers.add(random.randrange(whole))
    return [combination(over, number) for number in sorted(numbers)]


def combination(over: Values, number: int) -> dict[str, Any]:
    """The combination with this number."""
    chosen = {}
    for name, values in reversed(over.items()):
        number, k = divmod(number, len(values))
        chosen[name] = values[k]
    return {name: chosen[name] for name in over}


def combinations(how: Settings) -> list[dict[str, Any]]:
    if how.search == "random":
        return drawn(how.base, how.over, how.tries, how.seed)
    return grid(how.over, how.tries, how.seed)


def drawn(base: Estimator, over: Values, tries: int, seed: int) -> list[dict[str, Any]]:
    """Random combinations; numbers are drawn between the ends of their ranges, to four digits."""
    random = Random(seed)

    def draw(name: str, values: Sequence[Any]) -> Any:
        if len(set(values)) < 2 or not all(is_number(value) and value > 0 for value in values):
            return random.choice(list(values))
        low, high = min(values), max(values)
        value = min(high, max(low, float(f"{math.exp(random.uniform(math.log(low), math.log(high))):.4g}")))
        return round(value) if getattr(base.parameters[name], "integer", False) else value

    return [{name: draw(name, values) for name, values in over.items()} for _ in range(tries)]


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def distance(base: Estimator, over: Values, parameters: dict[str, Any]) -> float:
    """The distance of parameters from those of the model, in steps of the grid."""
    return sum(steps_apart(over[name], getattr(base, name), value) for name, value in parameters.items())


def steps_apart(values: Sequence[Any], one: Any, other: Any) -> float:
    """
    >>> steps_apart([1, 2, 4, 8], 1, 8), steps_apart([1, 2, 4, 8], 3, 4), steps_apart(["I", "II"], "I", "II")
    (3.0, 0.5, 1.0)
    """
    if not all(map(is_number, (*values, one, other))):
        return float(one != other)
    scale = sorted(values)
    places = np.interp([float(one), float(other)], scale, np.arange(len(scale)))
    return float(abs(places[0] - places[1]))
