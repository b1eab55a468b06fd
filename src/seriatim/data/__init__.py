"""Data in: files, bundled sets, generated streams."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from seriatim.data.bundled import datasets
from seriatim.data.stream import Stream
from seriatim.errors import DataError

__all__ = ["Stream", "datasets", "load", "stream"]


def stream(source: str | PathLike[str], **options: Any) -> Stream:
    """The examples of a file, of a bundled set by its name, or of standard input (`-`), block after block.

    >>> for rows, y in stream("digits"):
    ...     print(len(y), rows.features)
    1797 64
    """
    return Stream(source, **options)


def load(source: str | PathLike[str], features: int | None = None) -> tuple[Any, np.ndarray]:
    """All of a file or bundled set in memory: (X, y), X a SciPy CSR matrix.

    It has as many columns as the highest feature, or `features`, as when a test file must fit a model.

    >>> X, y = load("spam")
    >>> X.shape, sorted(set(y))
    ((4601, 57), ['nonspam', 'spam'])
    """
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        raise ImportError("data.load gives a SciPy matrix: pip install scipy; data.stream needs none") from None

    start, index, value, y = stream(source).arrays()
    highest = int(index.max(initial=-1)) + 1
    if features is not None and features < highest:
        raise DataError(f"{source}: it has {highest} features, and no more than {features} are asked for")
    return csr_matrix((value, index, start), shape=(len(y), highest if features is None else features)), y
