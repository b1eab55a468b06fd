"""The feature table: one record per feature, which holds all numbers of that feature."""

cimport cython

import numpy as np

from libc.stdlib cimport free

from seriatim.core.memory cimport allocate, resize

from seriatim.errors import LimitError

MAX_BYTES = 1 << 32


def ascend(index, n):
    """Whether an array ascends within 0..n-1. Compares without differences, which numbers from a file could overflow.

    >>> ascend(np.array([0, 2, 3]), 4), ascend(np.array([0, 2**62, -2**63, 3]), 4)
    (True, False)
    """
    if index.ndim != 1 or index.dtype.kind not in "iu":
        return False
    return not len(index) or bool(0 <= index[0] and index[-1] < n and (index[1:] > index[:-1]).all())


cdef class Table:
    """Records of `fields` x `classes` numbers; the table grows with the stream. Record 0 belongs to the constant.

    A field is (name, initial value, signed). All classes of a field lie side by side, so one pass over a row scores
    every class, and the fields of a feature share a cache line. A signed field is linear in the weights: it changes
    sign with the label, and is divided among the classes when a binary model becomes multiclass.
    """

    def __cinit__(self, tuple fields, Py_ssize_t classes=1):
        self.fields = fields
        self.classes = classes
        self.width = len(fields) * classes
        self.grow(1)

    def __dealloc__(self):
        free(self.data)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t capacity
        if rows <= self.rows:
            return 0
        if rows > self.capacity:
            if rows > MAX_BYTES // (8 * self.width):
                raise LimitError(
                    f"feature {rows - 1} would need a table of {rows * self.width * 8 / 2**30:.1f} GiB; "
                    f"the limit is {MAX_BYTES >> 30} GiB"
                )
            capacity = max(rows, min(2 * self.capacity, MAX_BYTES // (8 * self.width)), 16)
            if resize(<void**> &self.data, capacity * self.width, sizeof(double)) < 0:
                raise MemoryError(f"no memory for a table of {capacity} features")
            self.capacity = capacity
        self._initialise(self.rows, rows)
        self.rows = rows
        return 0

    cdef void _initialise(self, Py_ssize_t start, Py_ssize_t stop) noexcept:
        cdef Py_ssize_t f, i, k
        cdef double value
        for f, (_, initial, _) in enumerate(self.fields):
            value = initial
            for i in range(start, stop):
                for k in range(self.classes):
                    self.data[i * self.width + f * self.classes + k] = value

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def reclass(self, source, factor):
        """Make class k of each field the old class source[k] (-1: a new class), times factor[k] if it is signed."""
        cdef Py_ssize_t classes = len(source), f, i, k, old_classes, old_width, width = len(self.fields) * classes
        cdef const Py_ssize_t[::1] places = source
        cdef const double[::1] factors = factor
        cdef double* data
        cdef double* old = self.data
        cdef double* record
        cdef const double* before
        cdef double by
        cdef bint turns
        if len(factor) != classes:
            raise ValueError(f"{classes} columns and {len(factor)} factors")
        for k in range(classes):
            if places[k] >= self.classes:
                raise ValueError(f"column {places[k]} of {self.classes}")
        if self.rows > MAX_BYTES // (8 * width):
            raise LimitError(
                f"{classes} classes x {self.rows} features would need a table of "
                f"{self.rows * width * 8 / 2**30:.1f} GiB; the limit is {MAX_BYTES >> 30} GiB"
            )
        data = <double*> allocate(self.rows * width, sizeof(double))
        if data == NULL:
            raise MemoryError(f"no memory for a table of {classes} classes x {self.rows} features")
        old_classes, old_width = self.classes, self.width
        self.data, self.capacity, self.classes, self.width = data, self.rows, classes, width
        self._initialise(0, self.rows)
        for f, (_, _, signed) in enumerate(self.fields):
            turns = signed
            for i in range(self.rows):
                record, before = data + i * width + f * classes, old + i * old_width + f * old_classes
                for k in range(classes):
                    if places[k] >= 0:    # + 0.0 turns -0.0 into 0.0
                        by = factors[k] if turns else 1
                        record[k] = by * before[places[k]] + 0.0
        free(old)

    def get(self, str name):
        """One field as an array of shape (1 + features, classes)."""
        cdef Py_ssize_t f = [field[0] for field in self.fields].index(name), i, k
        array = np.empty((self.rows, self.classes))
        cdef double[:, ::1] view = array
        for i in range(self.rows):
            for k in range(self.classes):
                view[i, k] = self.data[i * self.width + f * self.classes + k]
        return array

    def set(self, str name, const double[:, ::1] values):
        cdef Py_ssize_t f = [field[0] for field in self.fields].index(name), i, k
        if values.shape[1] != self.classes:
            raise ValueError(f"{name}: {values.shape[1]} columns; the model has {self.classes}")
        self.grow(values.shape[0])
        for i in range(values.shape[0]):
            for k in range(self.classes):
                self.data[i * self.width + f * self.classes + k] = values[i, k]
