"""Parameters. An algorithm declares its parameters with default and range; they are checked before it learns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from seriatim.core.values import shown
from seriatim.errors import DataError, ParameterError
from seriatim.features.spec import Features
from seriatim.labels import label_of, plain_label

REQUIRED = object()


def powers(low: int, high: int, by: int = 1) -> tuple[float, ...]:
    """The powers of two from 2^low to 2^high, as values to try in tuning.

    >>> powers(-2, 1)
    (0.25, 0.5, 1.0, 2.0)
    """
    return tuple(2.0**k for k in range(low, high + 1, by))


def decades(low: int, high: int) -> tuple[float, ...]:
    """The powers of ten from 10^low to 10^high, and three times each but the last, as values to try in tuning.

    >>> decades(-2, 0)
    (0.01, 0.03, 0.1, 0.3, 1.0)
    """
    return tuple(float(f"{first}e{k}") for k in range(low, high + 1) for first in (1, 3))[:-1]


def steps(low: float, high: float, by: float) -> tuple[float, ...]:
    """Equidistant values from low to high, as values to try in tuning.

    >>> steps(0.7, 0.9, 0.05)
    (0.7, 0.75, 0.8, 0.85, 0.9)
    """
    return tuple(round(low + k * by, 12) for k in range(round((high - low) / by) + 1))


@dataclass(frozen=True)
class Parameter:
    """A parameter of any type. `search` lists the values that tuning tries; it is empty for others."""

    default: Any = REQUIRED
    search: tuple[Any, ...] = field(default=(), kw_only=True)
    positional: bool = field(default=False, kw_only=True)  # may be passed by position, after required parameters
    commas: ClassVar[bool] = False  # its text on the command line may contain commas
    parts: ClassVar[tuple[str, ...] | None] = ()  # names of its arrays in a model file; None: any names

    @property
    def range(self) -> str:
        """The valid values, in words."""
        return "anything"

    @property
    def written(self) -> str:
        """The valid texts on the command line, in words."""
        return self.range

    def parse(self, text: str) -> Any:
        """The value of a text on the command line."""
        return text

    def shown(self, value: Any) -> str:
        """The value in the repr of a model."""
        return repr(value)

    def problem(self, value: Any) -> str | None:
        """None if the value is valid, else the end of the message `must be ...`."""
        return None

    def as_json(self, value: Any) -> Any:
        """The value as a value of JSON."""
        return value

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """The parts of a value that a model file stores as arrays."""
        return {}

    def restored(self, plain: Any, arrays: dict[str, np.ndarray]) -> Any:
        """The value that `as_json` and `arrays` describe; raises an error if they are invalid."""
        return plain

    def check(self, name: str, value: Any) -> None:
        if problem := self.problem(value):
            raise ParameterError(f"{name}={shown(value)}: must be {problem}")


@dataclass(frozen=True)
class Number(Parameter):
    """A number in a range. `optional` allows None."""

    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None
    integer: bool = False
    optional: bool = False

    def parse(self, text: str) -> Any:
        if self.optional and text.lower() == "none":
            return None
        try:
            return int(text) if self.integer else float(text)
        except ValueError:
            return text

    @property
    def range(self) -> str:
        bounds = ((self.above, "above"), (self.least, "at least"), (self.below, "below"), (self.most, "at most"))
        parts = [f"{word} {bound:g}" for bound, word in bounds if bound is not None]
        kind = "a whole number" if self.integer else "a number"
        return " ".join([kind, " and ".join(parts)]).strip() + (", or None" if self.optional else "")

    def problem(self, value: Any) -> str | None:
        if self.optional and value is None:
            return None
        try:
            good = float(value) == float(value) and not isinstance(value, str | bool)
        except (TypeError, ValueError, OverflowError):
            good = False
        good = (
            good
            and abs(float(value)) < float("inf")
            and (not self.integer or isinstance(value, int | np.integer))
            and (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.below is None or value < self.below)
            and (self.most is None or value <= self.most)
        )
        return None if good else self.range


@dataclass(frozen=True)
class Choice(Parameter):
    """One of a few names. `optional` allows None."""

    options: Sequence[str] = ()
    optional: bool = False

    def parse(self, text: str) -> Any:
        return None if self.optional and text.lower() == "none" else text

    @property
    def range(self) -> str:
        return " or ".join(map(repr, self.options)) + (", or None" if self.optional else "")

    def problem(self, value: Any) -> str | None:
        known = isinstance(value, str) and value in self.options
        return None if known or (self.optional and value is None) else self.range


@dataclass(frozen=True)
class Flag(Parameter):
    """True or False."""

    @property
    def range(self) -> str:
        return "True or False"

    def parse(self, text: str) -> Any:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)

    def problem(self, value: Any) -> str | None:
        return None if value in (True, False) and not isinstance(value, float) else self.range


@dataclass(frozen=True)
class FeatureChoice(Parameter):
    """A `Features`, a dict of its fields, or None for the defaults."""

    @property
    def range(self) -> str:
        return "a Features, a dict of its fields, or None"

    def restored(self, plain: Any, arrays: dict[str, np.ndarray]) -> Any:
        return Features.of(plain) if isinstance(plain, dict) else plain

    def problem(self, value: Any) -> str | None:
        try:
            Features.of(value)
        except ParameterError as error:
            return f"{self.range}: {error}"
        return None


@dataclass(frozen=True)
class Labels(Parameter):
    """The labels that will occur, or None if they are not known in advance."""

    commas = True

    @property
    def range(self) -> str:
        return "a list of at least two labels, or None"

    def parse(self, text: str) -> Any:
        return [label_of(part) for part in text.split(",")]

    def problem(self, value: Any) -> str | None:
        if value is None:
            return None
        try:
            good = not isinstance(value, str | bytes) and len({plain_label(label) for label in value}) >= 2
        except (TypeError, DataError):
            good = False
        return None if good else self.range


@dataclass(frozen=True)
class Costs(Parameter):
    """The costs of predicting one label when another is true: by pairs, as a matrix, or None for 1 each."""

    commas = True

    @property
    def range(self) -> str:
        return (
            "a dict {(true, predicted): cost}, a square matrix with a row for each of `classes`, or None; "
            "costs are numbers from 0 on"
        )

    def parse(self, text: str) -> Any:
        """Parse `spam:ham=5,ham:spam=1`: the cost of predicting ham for spam, and spam for ham."""
        try:
            pairs = [part.rsplit("=", 1) for part in text.split(",")]
            return {tuple(label_of(label) for label in pair.split(":")): float(cost) for pair, cost in pairs}
        except ValueError:
            return text

    def as_json(self, value: Any) -> Any:
        if value is None:
            return None
        costs = self.of(value)
        return costs.tolist() if isinstance(costs, np.ndarray) else [[[*pair], cost] for pair, cost in costs.items()]

    def restored(self, plain: Any, arrays: dict[str, np.ndarray]) -> Any:
        pairs = isinstance(plain, list) and all(isinstance(one, list) and isinstance(one[0], list) for one in plain)
        return {tuple(pair): cost for pair, cost in plain} if pairs else plain

    def of(self, value: Any) -> dict[tuple[Any, Any], float] | np.ndarray:
        """The costs by pair, or as a matrix; raises DataError for anything else."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            matrix = np.asarray(value)
            if matrix.dtype.kind not in "fiu" or matrix.ndim != 2 or not 2 <= len(matrix) == matrix.shape[1]:
                raise ValueError
            matrix = matrix.astype(np.float64)
            np.fill_diagonal(matrix, 0.0)  # a correct prediction costs nothing
            self.expect_costs(matrix)
            return matrix
        costs = {}
        for pair, cost in value.items():
            if not (isinstance(pair, tuple) and isinstance(cost, float | int | np.number)) or isinstance(cost, bool):
                raise TypeError
            true, predicted = map(plain_label, pair)
            if true != predicted:
                costs[true, predicted] = float(cost)
        self.expect_costs(np.array([*costs.values()]))
        return costs

    def expect_costs(self, costs: np.ndarray) -> None:
        if not ((costs >= 0) & (costs < 1e100)).all():
            raise ValueError

    def problem(self, value: Any) -> str | None:
        try:
            self.of(value)
        except (TypeError, ValueError, IndexError, OverflowError):
            return self.range
        return None
