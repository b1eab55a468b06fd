"""The labels of a block as what a learner sees, in one pass."""

cimport cython

import numpy as np


ctypedef fused number:
    double
    long long

ctypedef fused place:
    signed char
    Py_ssize_t


@cython.boundscheck(False)
@cython.wraparound(False)
def two_labels(const number[:] y):
    """At most two distinct numbers, ascending, and which of them each is; None if there are more.

    >>> two_labels(np.array([3.0, 1.0, 3.0]))
    ([1.0, 3.0], array([1, 0, 1], dtype=int8))
    """
    cdef Py_ssize_t i, n = y.shape[0]
    cdef number low, high
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
            more |= (y[i] != low) & (y[i] != high)    # true for NaN, too
            out[i] = y[i] != low
    if more:
        return None
    return [low] if low == high else [low, high], which


@cython.boundscheck(False)
@cython.wraparound(False)
def targets_of(const place[:] which, const double[::1] codes):
    """codes[which], for the numbers of labels."""
    cdef Py_ssize_t i, n = which.shape[0], labels = codes.shape[0]
    cdef bint outside = False
    targets = np.empty(n)
    cdef double[::1] out = targets
    for i in range(n):    # with the interpreter, for to have it back takes longer than this
        outside |= (which[i] < 0) | (which[i] >= labels)
    if outside:
        raise IndexError(f"a label that is not one of {labels}")
    for i in range(n):
        out[i] = codes[which[i]]
    return targets


@cython.boundscheck(False)
@cython.wraparound(False)
def first_place(const place[:] which, Py_ssize_t label):
    """Where the number of a label stands first; -1 if nowhere.

    >>> first_place(np.array([1, 0, 1], np.int8), 0)
    1
    """
    cdef Py_ssize_t i
    for i in range(which.shape[0]):
        if which[i] == label:
            return i
    return -1
