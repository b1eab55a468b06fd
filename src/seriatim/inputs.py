"""From what users have to what learners take: arrays, matrices and frames to rows, targets to numbers."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from seriatim.core.rows import LIMIT, Rows
from seriatim.errors import DataError, DataTypeError


def as_rows(X: Any) -> Rows:
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        check_kind(X.dtype)
        if len(X.shape) != 2 or 0 in X.shape:
            raise_empty(X.shape)
        return Rows.sparse(X.indptr, X.indices, X.data, X.shape[1])
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping | str):
        raise DataError(wordy(X[0]))
    array = np.asarray(X)
    check_kind(array.dtype)
    if array.ndim != 2 or 0 in array.shape:
        raise_empty(array.shape)
    try:
        return Rows.dense(array)
    except TypeError as error:
        raise DataTypeError(f"the rows must be numbers: {error}") from None
    except ValueError as error:
        raise DataError(f"the rows must be numbers: {error}") from None


def wordy(first: Any) -> str:
    """What to do with a list of dicts, or of texts, in the place of rows."""
    if isinstance(first, str):
        return (
            "a list of texts, where rows of numbers are expected; make it a frame with a column of texts, named by "
            'features={"text": ["column"]}, or take learn_one({"words": text.split()}) for each'
        )
    return "a list of dicts, where rows of numbers are expected; make it a frame, or take learn_one for each"


def is_frame(X: Any) -> bool:
    """Whether it is a table whose columns have names: of pandas, polars, Arrow or their like."""
    if not (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__")):
        return False
    return all(isinstance(name, str) for name in getattr(X, "columns", ())) or hasattr(X, "column_names")


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
        target = math.nan if isinstance(y, str) else float(y)
    except (TypeError, ValueError, OverflowError):
        target = math.nan
    if not -LIMIT <= target <= LIMIT:
        raise DataError(f"the target {y!r} is not a number, or beyond +-{LIMIT:g}")
    return target


def no_number(y: np.ndarray) -> DataError:
    """Which of the targets is no number."""
    for row, target in enumerate(y.tolist()):
        try:
            plain_target(target)
        except DataError:
            return DataError(f"row {row}: the targets of a regression must be numbers, found {target!r}")
    return DataError("the targets of a regression must be numbers")


def plain_weight(weight: Any) -> float:
    """The weight of one example as a float."""
    try:
        number = math.nan if isinstance(weight, str) else float(weight)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number <= LIMIT:
        raise DataError(f"the weight {weight!r} is not a number from 0 to {LIMIT:g}")
    return number


def check_targets(y: Any, n: int) -> np.ndarray:
    if y is None:
        raise DataError("requires y to be passed, but the target y is None")
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warn_of_column()
        y = y[:, 0]
    if y.shape != (n,):
        raise DataError(f"y has shape {y.shape}; for {n} rows it must have shape ({n},)")
    return y


def warn_of_column() -> None:
    """By scikit-learn's class where it is in use, so that its users can silence it as they do."""
    theirs = sys.modules.get("sklearn.exceptions")
    kind = UserWarning if theirs is None else theirs.DataConversionWarning
    warnings.warn("A column-vector y was passed when a 1d array was expected.", kind, stacklevel=5)
