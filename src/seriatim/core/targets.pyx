"""The labels of a block as the numbers that a learner sees."""

cimport cython
from cpython.dict cimport PyDict_GetItemWithError
from cpython.long cimport PyLong_AsLong
from cpython.ref cimport PyObject

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
    """The distinct numbers in order, if they are at most two, and which of them each element is; else None.

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
    """codes[which], where `which` holds label numbers."""
    cdef Py_ssize_t i, n = which.shape[0], labels = codes.shape[0]
    cdef bint outside = False
    targets = np.empty(n)
    cdef double[::1] out = targets
    for i in range(n):    # with the GIL: re-acquiring it would take longer than the loop
        outside |= (which[i] < 0) | (which[i] >= labels)
    if outside:
        raise IndexError(f"a label that is not one of {labels}")
    for i in range(n):
        out[i] = codes[which[i]]
    return targets


@cython.boundscheck(False)
@cython.wraparound(False)
def first_place(const place[:] which, Py_ssize_t label):
    """The first position of a label number; -1 if it does not occur.

    >>> first_place(np.array([1, 0, 1], np.int8), 0)
    1
    """
    cdef Py_ssize_t i
    for i in range(which.shape[0]):
        if which[i] == label:
            return i
    return -1


cdef class Codes:
    """The code of each seen label: -1 or +1 for one of two labels, else the number of its class. Immutable.

    `extended` adds a label and shares the dict with the result, so a new label costs no pass over the labels before it.
    The labels of an object are the first n of its dict.

    >>> codes = Codes().extended("spam", [1.0])
    >>> more = codes.extended("ham", [1.0, -1.0])
    >>> more["ham"], "ham" in codes, codes.get("ham"), dict(more.items())
    (-1.0, False, None, {'spam': 1.0, 'ham': -1.0})
    """

    cdef dict number                  # label -> its number, in order of arrival
    cdef readonly object values       # the codes in that order
    cdef const double[::1] value
    cdef Py_ssize_t n

    def __init__(self, labels=(), values=()):
        self.number = {label: k for k, label in enumerate(labels)}
        self.values = np.array(values, dtype=np.float64)
        self.value, self.n = self.values, len(self.values)
        if len(self.number) != self.n:
            raise ValueError(f"{len(self.number)} labels and {self.n} codes")

    def extended(self, label, values):
        """The codes after one more label has arrived."""
        cdef Codes more = Codes.__new__(Codes)
        more.number = self.number
        if self.n == 0 or len(self.number) > self.n:    # a shared empty dict, or one with a label that was refused
            more.number = {one: k for one, k in self.number.items() if k < self.n}
        more.values = np.array(values, dtype=np.float64)
        more.value, more.n = more.values, len(more.values)
        more.number[label] = self.n
        return more

    def get(self, label, default=None):
        cdef PyObject* found = PyDict_GetItemWithError(self.number, label)
        cdef Py_ssize_t k
        if found != NULL:
            k = PyLong_AsLong(<object> found)
            if k < self.n:
                return self.value[k]
        return default

    def __getitem__(self, label):
        code = self.get(label)
        if code is None:
            raise KeyError(label)
        return code

    def __contains__(self, label):
        return self.get(label) is not None

    def __len__(self):
        return self.n

    def __iter__(self):
        return iter([label for label, k in self.number.items() if k < self.n])

    def items(self):
        return [(label, self.value[k]) for label, k in self.number.items() if k < self.n]
