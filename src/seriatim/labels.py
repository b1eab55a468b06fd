"""Labels: numbers or names, read from files and from users' arrays by one set of rules."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from seriatim.core.targets import two_labels
from seriatim.core.values import TIMES, encoded, shown
from seriatim.errors import DataError

NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*")
WHOLE = re.compile(r"[ \t]*[+-]?[0-9]+[ \t]*")
ZEROS = re.compile(r"[ \t]*[+-]?0[0-9]")
LONGEST = 10_000  # characters of a number
PLAIN = (bool, int, str)
HIGHEST = 10**100  # Python's JSON reader refuses integers of more than 4,300 digits
EXACT = 1 << 53  # a float is exact for all whole numbers below this


def label_of(text: str) -> Any:
    """The label that a text of a file stands for: a number if it looks like one, else a name.

    7, +7, 7.0, 7e0 and 7 with blanks around it are the same label. Numbers with leading zeros such as 007 are names,
    as are infinity, NaN and digits other than 0 to 9.

    >>> [label_of(text) for text in ("+1", "2.5", "spam", "007", "1_000", "0.50")]
    [1, 2.5, 'spam', '007', '1_000', 0.5]
    """
    number = target_of(text)
    if number is None or ZEROS.match(text):
        return text
    if WHOLE.fullmatch(text):
        return int(text)
    return int(number) if number.is_integer() and abs(number) < EXACT else number


def target_of(text: str) -> float | None:
    """The number that a text stands for as the target of a regression, leading zeros allowed; None if it has none."""
    number = float(text) if len(text) < LONGEST and NUMBER.fullmatch(text) else math.inf
    return None if math.isinf(number) else number


def plain_label(label: Any) -> Any:
    """A label as a plain bool, int or str; 1.0 is the label 1."""
    if isinstance(label, np.generic) and not isinstance(label, TIMES):
        label = float(label) if isinstance(label, np.floating) and float(label) == label else label.item()
    if isinstance(label, float):
        if not label.is_integer():
            raise DataError(
                f"Unknown label type: the label {'NaN' if label != label else label} is not a whole number or a name; "
                f"for numbers use a regressor"
            )
        if abs(label) >= EXACT:
            raise DataError(
                f"the label {label:g} is a float beyond 2^53, where floats are rounded; pass an int or a string"
            )
        return int(label)
    if isinstance(label, int) and abs(label) >= HIGHEST:
        raise DataError(f"the label {shown(label)} is beyond +-1e100; pass it as a string")
    if isinstance(label, str):
        encoded(label, "the label")
    elif not isinstance(label, PLAIN):
        raise DataError(
            f"Unknown label type: {shown(label)} is a {type(label).__name__}; a label is a number or a name"
        )
    return label


def is_float(label: Any) -> bool:
    """Whether a float can represent a label exactly: the label is neither a name nor a whole number beyond 2^53."""
    return not isinstance(label, str) and not (isinstance(label, int | np.integer) and abs(int(label)) >= EXACT)


def of_floats(y: np.ndarray) -> np.ndarray:
    """The labels, as an object array if a float could not represent them exactly."""
    if y.dtype.kind in "iu" and len(y) and not -EXACT < int(y.min()) <= int(y.max()) < EXACT:
        return y.astype(object)
    return y


def label_order(label: Any) -> tuple[bool, Any]:
    """The sort key of labels: numbers before names."""
    return isinstance(label, str), label


def label_array(labels: list[Any]) -> np.ndarray:
    """Labels as an array; an object array if they have several types, or a type that NumPy cannot hold."""
    kinds = {type(label) for label in labels}
    if kinds == {int}:
        with suppress(OverflowError):
            return np.array(labels, dtype=np.int64)
    elif len(kinds) == 1 and not any(label.endswith("\0") for label in labels if isinstance(label, str)):
        return np.array(labels)  # an array of strings drops NULs at the end
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


@dataclass(frozen=True, slots=True)
class Coded:
    """The labels of a block: the distinct labels, and for each row the number of its label."""

    labels: list[Any]
    which: np.ndarray

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, rows: slice) -> Coded:
        return Coded(self.labels, self.which[rows])


def coded(y: np.ndarray) -> Coded:
    """The labels of an array as Python objects and numbers. Raises DataError for an invalid label.

    >>> coded(np.array(["spam", "ham", "spam"])).labels
    ['ham', 'spam']
    """
    if y.dtype in (np.float64, np.int64) and (two := two_labels(y)) is not None:
        return Coded([plain_label(label) for label in two[0]], two[1])
    if y.dtype.kind in "mM":
        raise DataError(f"Unknown label type: {y.dtype}; a label is a number or a name")
    if y.dtype != object:
        values, which = np.unique(y, return_inverse=True)
        return Coded([plain_label(value) for value in values.tolist()], which)
    labels = y.tolist()
    if not {*map(type, labels)} <= {*PLAIN, float}:  # 1 == Decimal(1), so a dict would find an invalid label
        labels = [plain_label(label) for label in labels]
    numbers = LabelNumbers()
    places = [numbers[label] for label in labels]
    return Coded(list(numbers), np.array(places, dtype=np.intp))


class LabelNumbers(dict[Any, int]):
    """label -> its number, in order of arrival. A label is checked when it is added."""

    def __missing__(self, label: Any) -> int:
        return self.setdefault(plain_label(label), len(self))
