"""Labels as users write them: numbers or names, of any type, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from seriatim.core.targets import two_labels
from seriatim.errors import DataError


def label_of(text: str) -> Any:
    """A label as written in a file: a number if it reads as one, else its name.

    >>> label_of("+1"), label_of("2.5"), label_of("spam")
    (1, 2.5, 'spam')
    """
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number if number == number else text


def plain_label(label: Any) -> Any:
    """A label as a plain bool, int or str; 1.0 is the label 1."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float):
        if label.is_integer():
            return int(label)
        raise DataError(
            f"Unknown label type: the label {'NaN' if label != label else label} is not a whole number or a name; "
            f"for numbers use a regressor"
        )
    if not isinstance(label, bool | int | str):
        raise DataError(f"Unknown label type: {label!r} is a {type(label).__name__}; a label is a number or a name")
    return label


def label_order(label: Any) -> tuple[bool, Any]:
    """Numbers before names."""
    return isinstance(label, str), label


def label_array(labels: list[Any]) -> np.ndarray:
    """Labels as an array; of objects where they are of several types."""
    if len({type(label) for label in labels}) == 1:
        return np.array(labels)
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
    if y.dtype != object:
        values, which = np.unique(y, return_inverse=True)
        return Coded([plain_label(value) for value in values.tolist()], which)
    numbers = Numbers()
    try:
        places = [numbers[label] for label in y.tolist()]
    except TypeError:  # one that cannot be looked up, and is no label
        places = [numbers[plain_label(label)] for label in y.tolist()]
    return Coded(list(numbers), np.array(places, dtype=np.intp))


class Numbers(dict[Any, int]):
    """The number of each label in the order in which they came; a label is looked at when it is met first."""

    def __missing__(self, label: Any) -> int:
        return self.setdefault(plain_label(label), len(self))
