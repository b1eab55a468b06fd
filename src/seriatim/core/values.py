"""Conversion of users' numbers and arrays. Values that only look like numbers are refused, for all callers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from seriatim.errors import DataError

ABSENT = ("NAType", "NaTType")  # classes of pandas, by name so that pandas need not be imported
TIMES = (np.datetime64, np.timedelta64)
NO_REAL = (str, *TIMES, np.complexfloating, np.ndarray)
SHOWN = 60  # characters of a value that an error message shows


def is_absent(value: Any) -> bool:
    """Whether a value means "missing": None, NA and NaT of pandas, or NaT of NumPy.

    >>> is_absent(None), is_absent(np.datetime64("NaT")), is_absent(0.0)
    (True, True, False)
    """
    if isinstance(value, TIMES):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in ABSENT


def real(value: Any) -> float:
    """A number as a float. float() alone would also accept the text "7", a duration, or drop an imaginary part."""
    number = hasattr(value, "__float__") or hasattr(value, "__index__")
    if not number or isinstance(value, NO_REAL) or is_absent(value) or is_masked(value):
        # check_dtype_object of scikit-learn requires "argument must be ... string ... number", in this order
        raise TypeError(f"the argument must be no string, but a real number; this is a {type(value).__name__}")
    return float(value)


def shown(value: Any) -> str:
    """A value for an error message: on one line and not too long.

    >>> shown(np.array([[1], [2]])), shown("a" * 100)
    ('array([[1], [2]])', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...")
    """
    text = " ".join(repr(value).split()) if not isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def encoded(text: str, what: str) -> bytes:
    """A name or a label in UTF-8. A lone surrogate, half of a character, is refused: no file could hold it."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        letter = f"U+{ord(text[error.start]):04X}"
        raise DataError(f"{what} {shown(text)} is not Unicode text: it holds the lone surrogate {letter}") from None


def is_masked(values: Any) -> bool:
    """Whether an array has masked values, or is NumPy's `masked`. np.asarray would drop the mask silently."""
    ma = sys.modules.get("numpy.ma")
    return ma is not None and isinstance(values, ma.MaskedArray) and bool(np.any(ma.getmask(values)))


def plain_array(values: Any, what: str) -> np.ndarray:
    """Values as an array; refuses masked values. `what` names the values in the error message."""
    parts = values if isinstance(values, list | tuple) else ()
    if is_masked(values) or any(map(is_masked, parts)):
        raise DataError(f"{what}: some values are masked; fill them, for example with filled(0), or drop those rows")
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError, NotImplementedError) as error:  # such as rows of different lengths
        raise DataError(f"{what}: {error}") from None


def real_array(array: np.ndarray) -> np.ndarray:
    """An array as float64. Raises TypeError, ValueError or OverflowError if an object array holds a non-number."""
    if array.dtype != object:
        with np.errstate(over="ignore"):  # an overflow becomes inf, which the caller refuses
            return np.ascontiguousarray(array, dtype=np.float64)
    numbers = np.empty(array.size)
    for i, value in enumerate(array.reshape(-1).tolist()):
        try:
            numbers[i] = real(value)
        except (TypeError, ValueError, OverflowError) as error:
            place = ", ".join(map(str, np.unravel_index(i, array.shape)))
            raise type(error)(f"{shown(value)} at [{place}]: {error}") from None
    return numbers.reshape(array.shape)
