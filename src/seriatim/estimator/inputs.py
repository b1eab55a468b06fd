"""Converts user input for learners: arrays and matrices to rows, targets and sample weights to numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from seriatim.core.rows import LIMIT, Rows
from seriatim.core.values import plain_array, real, real_array, shown
from seriatim.errors import DataError, DataTypeError
from seriatim.estimator.sklearn import warn_of_column


def as_rows(X: Any) -> Rows:
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        check_kind(X.dtype)
        if len(X.shape) != 2 or 0 in X.shape:
            raise_empty(X.shape)
        return Rows.sparse(X.indptr, X.indices, numbers_of(plain_array(X.data, "the rows")), X.shape[1])
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping | str):
        raise DataError(wordy(X[0]))
    array = plain_array(X, "the rows")
    check_kind(array.dtype)
    if array.ndim != 2 or 0 in array.shape:
        raise_empty(array.shape)
    return Rows.dense(numbers_of(array))


def numbers_of(array: np.ndarray) -> np.ndarray:
    """The values of rows as float64."""
    try:
        return real_array(array)
    except TypeError as error:
        raise DataTypeError(f"the rows must be numbers: {error}") from None
    except (ValueError, OverflowError) as error:
        raise DataError(f"the rows must be numbers: {error}") from None


def wordy(first: Any) -> str:
    """The message for a list of dicts or texts where rows are expected."""
    if isinstance(first, str):
        return (
            "expected rows of numbers, found a list of texts; pass a data frame with a column of texts and "
            'features={"text": ["column"]}, or call learn_one({"words": text.split()}) for each text'
        )
    return "expected rows of numbers, found a list of dicts; pass a data frame, or call learn_one for each dict"


def is_frame(X: Any) -> bool:
    """Whether X is a data frame with named columns: pandas, polars, Arrow or similar."""
    if not (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__")):
        return False
    names = getattr(X, "columns", None)  # a series has no columns
    return hasattr(X, "column_names") or (names is not None and all(isinstance(name, str) for name in names))


def check_kind(dtype: np.dtype) -> None:
    if dtype.kind not in "fiubO":
        name = "Complex data" if dtype.kind == "c" else f"Data of type {dtype}"
        raise DataError(f"{name} not supported: the rows must be numbers")


def raise_empty(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise DataError(f"expected a 2D array, got one of shape {shape}. Reshape your data with X.reshape(1, -1)")
    what = "sample(s)" if shape[0] == 0 else "feature(s)"
    raise DataError(f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required.")


def plain_target(y: Any) -> float:
    """The target of one example as a float."""
    try:
        target = real(y)
    except (TypeError, ValueError, OverflowError):
        target = math.nan
    if not -LIMIT <= target <= LIMIT:
        raise DataError(f"expected a number within +-{LIMIT:g} as the target, found {shown(y)}")
    return target


def no_number(y: np.ndarray) -> DataError:
    """The error for the first target that is not a number."""
    for row, target in enumerate(y.tolist()):
        try:
            plain_target(target)
        except DataError:
            return DataError(f"row {row}: the targets of a regression must be numbers, found {shown(target)}")
    return DataError("the targets of a regression must be numbers")


def plain_weight(weight: Any) -> float:
    """The weight of one example as a float."""
    try:
        number = real(weight)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number <= LIMIT:
        raise DataError(f"expected a sample weight from 0 to {LIMIT:g}, found {shown(weight)}")
    return number


def check_targets(y: Any, n: int) -> np.ndarray:
    if y is None:
        raise DataError("requires y to be passed, but the target y is None")
    y = plain_array(of_objects(y) if mixed(y) else y, "the targets")
    if y.ndim == 2 and y.shape[1] == 1:
        warn_of_column()
        y = y[:, 0]
    if y.shape != (n,):
        raise DataError(f"y has shape {y.shape}; for {n} rows it must have shape ({n},)")
    return y


def mixed(y: Any) -> bool:
    """Whether NumPy would change some labels of a list: a number among strings to a string, 2^63 to a float."""
    if not isinstance(y, list | tuple):
        return False
    kinds = {*map(type, y)}
    if kinds == {int}:
        return not -(1 << 63) <= min(y) <= max(y) < 1 << 63
    if kinds == {str}:
        return any(one.endswith("\0") for one in y)
    return len(kinds) > 1 and all(issubclass(kind, bool | int | float | str | np.generic) for kind in kinds)


def of_objects(values: Any) -> np.ndarray:
    """An array of the Python objects of a list."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
