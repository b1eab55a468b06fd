"""Checks of vectors and of triplets of row numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from seriatim.core.rows import LIMIT
from seriatim.core.values import plain_array, real_array
from seriatim.errors import DataError
from seriatim.estimator.inputs import as_rows, check_kind


def rows_of(X: Any) -> np.ndarray:
    """Checked rows as a dense array."""
    as_rows(X).check()
    return np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def vector_of(name: str, vector: Any) -> np.ndarray:
    """One checked vector as an array."""
    array = plain_array(vector.toarray()[:1].reshape(-1) if hasattr(vector, "toarray") else vector, name)
    check_kind(array.dtype)
    if array.ndim != 1 or not array.size:
        raise DataError(f"{name}: expected a vector of one or more numbers, got shape {array.shape}")
    try:
        array = real_array(array)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name}: the values must be numbers") from None
    bad = np.flatnonzero(~(np.abs(array) <= LIMIT))
    if len(bad):
        raise DataError(f"{name}, column {bad[0]}: the value {array[bad[0]]} is not finite, or beyond +-{LIMIT:g}")
    return array


def triplets_of(triplets: Any, rows: int) -> np.ndarray:
    """Checked triplets of row numbers, as an array of three columns."""
    array = plain_array([*triplets] if isinstance(triplets, Iterator) else triplets, "triplets")
    if not array.size:
        return np.empty((0, 3), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
        raise DataError(
            f"triplets: expected row numbers in three columns, query, relevant and irrelevant; got "
            f"{array.dtype} of shape {array.shape}"
        )
    bad = np.argwhere((array < 0) | (array >= rows))
    if len(bad):
        i, k = bad[0]
        raise DataError(f"triplet {i}: row {array[i, k]} is out of range; rows are 0 to {rows - 1}")
    return array.astype(np.intp)
