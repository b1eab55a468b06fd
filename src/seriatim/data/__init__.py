"""Data in: files, bundled sets, generated streams."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from seriatim.data.bundled import datasets
from seriatim.data.stream import Stream

__all__ = ["Stream", "datasets", "load", "stream"]


def stream(source: str | PathLike[str], **options: Any) -> Stream:
    """The examples of a file, of a bundled set by its name, or of standard input (`-`), block after block.

    >>> for rows, y in stream("digits"):
    ...     print(len(y), rows.features)
    1797 64
    """
    return Stream(source, **options)


def load(source: str | PathLike[str]) -> tuple[Any, np.ndarray]:
    """All of a file or bundled set in memory: (X, y), X a SciPy CSR matrix.

    >>> X, y = load("spam")
    >>> X.shape, sorted(set(y))
    ((4601, 57), ['nonspam', 'spam'])
    """
    from scipy.sparse import csr_matrix

    start, index, value, y = stream(source).arrays()
    return csr_matrix((value, index, start)), y
