"""Labels as users write them: numbers or names, of any type, in any order."""

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
LONGEST = 10_000  # letters of a number
PLAIN = (bool, int, str)
HIGHEST = 10**100  # JSON reads no more than 4,300 digits
EXACT = 1 << 53  # below which each whole number has a float of its own


def label_of(text: str) -> Any:
    """A label as it is written in a file of any format: a number if it reads as one, else a name.

    Blanks around a number do not count, nor how it is written: 7, +7, 7.0 and 7e0 are one label. Digits behind a zero,
    as in 007, are a name, as are infinity, NaN and digits that are not 0 to 9.

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
    """What stands for a label as the target of a regression, to which zeros before a number do not matter."""
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
                f"the label {label:g} is a float beyond 2^53, which may stand for several whole numbers; "
                f"pass an int, or a name"
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
    """Whether a float can stand for a label: it is no name, nor a whole number that may be rounded."""
    return not isinstance(label, str) and not (isinstance(label, int | np.integer) and abs(int(label)) >= EXACT)


def of_floats(y: np.ndarray) -> np.ndarray:
    """Labels as they are, as objects where a float cannot stand for one of these whole numbers."""
    if y.dtype.kind in "iu" and len(y) and not -EXACT < int(y.min()) <= int(y.max()) < EXACT:
        return y.astype(object)
    return y


def label_order(label: Any) -> tuple[bool, Any]:
    """Numbers before names."""
    return isinstance(label, str), label


def label_array(labels: list[Any]) -> np.ndarray:
    """Labels as an array; of objects where they are of several types, or not what NumPy can hold."""
    kinds = {type(label) for label in labels}
    if kinds == {int}:
        with suppress(OverflowError):
            return np.array(labels, dtype=np.int64)
    elif len(kinds) == 1 and not any(label.endswith("\0") for label in labels if isinstance(label, str)):
        return np.array(labels)  # which would lose the NULs at the end
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


@dataclass(frozen=True, slots=True)
class Coded:
    """The labels of some rows: the distinct ones, and the number of each row's among them."""

    labels: list[Any]
    which: np.ndarray

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, rows: slice) -> Coded:
        return Coded(self.labels, self.which[rows])


def coded(y: np.ndarray) -> Coded:
    """The labels of an array, plain; an error for what is no label.

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
    if not {*map(type, labels)} <= {*PLAIN, float}:  # 1 == Decimal(1): what is no label could be found as one
        labels = [plain_label(label) for label in labels]
    numbers = Numbers()
    places = [numbers[label] for label in labels]
    return Coded(list(numbers), np.array(places, dtype=np.intp))


class Numbers(dict[Any, int]):
    """The number of each label in the order in which they came; a label is looked at when it is met first."""

    def __missing__(self, label: Any) -> int:
        return self.setdefault(plain_label(label), len(self))
