"""Data in: files, bundled sets, generated streams."""

from __future__ import annotations

from typing import Any

from seriatim.data.bundled import datasets
from seriatim.data.generate import drift
from seriatim.data.stream import Stream
from seriatim.errors import DataError

__all__ = ["Stream", "datasets", "drift", "load", "stream"]


def stream(source: Any, **options: Any) -> Stream:
    """The examples of files, of a bundled set by its name, or of standard input (`-`), block after block; see Stream.

    >>> for rows, y in stream("digits"):
    ...     print(len(y), rows.features)
    1797 64
    """
    return Stream(source, **options)


def load(
    source: Any, columns: int | None = None, *, names: bool = False, weights: bool = False, **options: Any
) -> tuple[Any, ...]:
    """All of some files or of a bundled set in memory: (X, y), X a SciPy CSR matrix.

    With `names` there follows a list of them, with `weights` the importance of each row; without, data that have
    weights are refused. X has as many columns as the highest feature, or `columns`, as when a test file must fit a
    model. The options are those of Stream.

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
        raise DataError(f"{source}: its examples have weights; data.load(..., weights=True) gives them, too")
    highest = int(index.max(initial=-1)) + 1
    if columns is not None and columns < highest:
        raise DataError(f"{source}: it has {highest} features, and no more than {columns} are asked for")
    X = csr_matrix((value, index, start), shape=(len(y), highest if columns is None else columns))
    return X, y, *([known] if names else []), *([importance] if weights else [])
