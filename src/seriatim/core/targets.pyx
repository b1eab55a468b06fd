"""The labels of a block in one pass, for the common case of two numbers."""

import numpy as np


def two_labels(const double[:] y):
    """At most two distinct numbers, ascending, and which of them each is; None if there are more.

    >>> two_labels(np.array([3.0, 1.0, 3.0]))
    ([1.0, 3.0], array([1, 0, 1], dtype=int8))
    """
    cdef Py_ssize_t i, n = y.shape[0]
    cdef double low, high
    cdef bint more = False
    if n == 0:
        return None
    which = np.empty(n, np.int8)
    cdef signed char[::1] out = which
    with nogil:
        low = high = y[0]
        for i in range(n):
            if y[i] != low:
                low, high = min(low, y[i]), max(low, y[i])
                break
        for i in range(n):
            more |= y[i] != low and y[i] != high    # true for NaN, too
            out[i] = y[i] != low
    if more:
        return None
    return [low] if low == high else [low, high], which
