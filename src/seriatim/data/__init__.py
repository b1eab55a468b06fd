"""Data: files, bundled data sets and generated streams."""

from __future__ import annotations

from typing import Any

from seriatim.data.bundled import datasets
from seriatim.data.generate import drift
from seriatim.data.stream import Stream
from seriatim.errors import DataError

__all__ = ["Stream", "datasets", "drift", "load", "stream"]


def stream(source: Any, **options: Any) -> Stream:
    """The examples of files, of a bundled data set, or of standard input (`-`), block by block; see Stream.

    >>> for rows, y in stream("digits"):
    ...     print(len(y), rows.features)
    1797 64
    """
    return Stream(source, **options)


def load(
    source: Any, columns: int | None = None, *, names: bool = False, weights: bool = False, **options: Any
) -> tuple[Any, ...]:
    """Load all examples of files or of a bundled data set: (X, y), where X is a SciPy CSR matrix.

    With `names`, the list of column names follows; with `weights`, the sample weights. Data with sample weights are
    refused if weights=False. X has as many columns as the highest feature, or `columns`, for a test file that must fit
    a model. For the options, see Stream.

    >>> X, y = load("spam")
    >>> X.shape, sorted(set(y))
    ((4601, 57), ['nonspam', 'spam'])
    """
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        raise ImportError("data.load gives a SciPy matrix: pip install scipy; data.stream needs none") from None

    (start, index, value), y, known, importance = stream(source, **options).arrays()
    if not weights and (importance != 1).any():
        raise DataError(f"{source}: the examples have weights; data.load(..., weights=True) returns them")
    highest = int(index.max(initial=-1)) + 1
    if columns is not None and columns < highest:
        raise DataError(f"{source}: it has {highest} features, more than columns={columns}")
    X = csr_matrix((value, index, start), shape=(len(y), highest if columns is None else columns))
    return X, y, *([known] if names else []), *([importance] if weights else [])
