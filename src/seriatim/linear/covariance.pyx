"""A full covariance matrix for each class, as factors Sigma = U D U': U has ones on and zeros below its diagonal.

The papers subtract a multiple of Sigma x x' Sigma from Sigma. With large values or small variances, rounding leaves a
matrix that is no covariance. The update of the factors (Bierman, "Factorization methods for discrete sequential
estimation", 1977, section V.3) costs one pass over a triangle, too, and D stays positive. The factors are stored by
columns, so that a new feature adds one column.
"""

import numpy as np

from libc.math cimport fmax
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from seriatim.core.memory cimport resize
from seriatim.core.row cimport record, sum_of_products, value

from seriatim.errors import LimitError, ModelError

MAX_BYTES = 1 << 30

cdef double LEAST = 1e-100    # the smallest variance: with noisy labels, those of CW shrink without end


cdef inline Py_ssize_t length(Py_ssize_t n) noexcept nogil:
    """The number of entries in n columns, which is also the index of column n."""
    return n * (n + 1) // 2


cdef class Covariance:
    """Sigma of each class, which starts as a multiple of the identity."""

    def __cinit__(self, double initial):
        self.initial = initial
        self.make_room(1, 4)
        self.grow(1)

    def __dealloc__(self):
        cdef Py_ssize_t k
        if self.factor != NULL:
            for k in range(self.classes):
                free(self.factor[k])
        free(self.factor)

    cdef int make_room(self, Py_ssize_t classes, Py_ssize_t capacity) except -1:
        """Make room for this number of classes, not fewer than there are, and of features."""
        cdef Py_ssize_t i, k
        if length(capacity) > MAX_BYTES // (8 * classes):
            raise LimitError(
                f"the full covariance of {capacity - 1} features x {classes} classes would need "
                f"{length(capacity) * classes * 8.0 / 2**30:.1f} GiB; the limit is {MAX_BYTES / 2**30:g} GiB. "
                f'Use covariance="diagonal"'
            )
        if classes > self.classes:
            if resize(<void**> &self.factor, classes, sizeof(double*)) < 0:
                raise MemoryError(f"no memory for the covariances of {classes} classes")
            memset(self.factor + self.classes, 0, (classes - self.classes) * sizeof(double*))
        for k in range(classes):
            if resize(<void**> &self.factor[k], length(capacity), sizeof(double)) < 0:
                for i in range(self.classes, classes):
                    free(self.factor[i])
                raise MemoryError(f"no memory for the covariance of {capacity} features x {classes} classes")
        self.classes, self.capacity = max(self.classes, classes), capacity
        return 0

    cdef int grow(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t k, start
        if n <= self.n:
            return 0
        if n > self.capacity:
            try:    # grow by half: a stream of new features then costs about as much as its last factor
                self.make_room(self.classes, max(n, self.capacity * 3 // 2))
            except LimitError:
                self.make_room(self.classes, n)
        start, self.n = self.n, n
        for k in range(self.classes):
            self.identity(k, start)
        return 0

    cdef void identity(self, Py_ssize_t k, Py_ssize_t start) noexcept:
        """Set the columns of a class from `start` on to their initial values."""
        cdef Py_ssize_t i
        memset(self.factor[k] + length(start), 0, (length(self.n) - length(start)) * sizeof(double))
        for i in range(start, self.n):
            self.factor[k][length(i) + i] = self.initial

    cdef double look(self, const Row* x, Py_ssize_t k, double* f) noexcept nogil:
        """f = U' x; returns x' Sigma x, which is the sum of D_j f_j^2."""
        cdef Py_ssize_t i, j, r
        cdef double total, v = 0
        cdef const double* column = self.factor[k]
        for j in range(self.n):
            if x.index == NULL:
                total = 0
                if j:
                    total = sum_of_products(0, x.value, NULL, min(j - 1, x.n), column + 1, 1)
                    total = x.constant * column[0] + total
            else:
                total = 0
                for i in range(-1, x.n):
                    r = record(x, i)
                    if r < j:
                        total += value(x, i) * column[r]
            f[j] = total
            column += j + 1
        for i in range(-1, x.n):
            f[record(x, i)] += value(x, i)
        column = self.factor[k] - 1
        for j in range(self.n):
            column += j + 1
            v += column[0] * f[j] * f[j]
        return v

    cdef void sharpen(self, Py_ssize_t k, double c, const double* f, double* g) noexcept nogil:
        """g = Sigma x, then Sigma^-1 += c x x'; `look` has left U' x in f."""
        cdef Py_ssize_t i, j
        cdef double before, after = 1, v, z, old
        cdef double* column = self.factor[k]
        for j in range(self.n):
            g[j] = 0
            if f[j] != 0:
                v = column[j] * f[j]
                before, after = after, after + c * f[j] * v
                z = c * f[j] / before
                for i in range(j):
                    old = column[i]
                    column[i] = old - z * g[i]
                    g[i] += old * v
                g[j] = v
                column[j] = fmax(column[j] * (before / after), LEAST)
            column += j + 1

    def reclass(self, source):
        """Class k becomes a copy of old class source[k]; -1 stands for a new class."""
        cdef Py_ssize_t k
        old = self.get(self.n)
        self.make_room(max(self.classes, len(source)), self.capacity)
        while self.classes > len(source):
            self.classes -= 1
            free(self.factor[self.classes])
        for k in range(self.classes):
            if source[k] < 0:
                self.identity(k, 0)
            else:
                self.put(k, old[source[k]])

    cdef put(self, Py_ssize_t k, const double[::1] values):
        memcpy(self.factor[k], &values[0], length(self.n) * sizeof(double))

    def get(self, Py_ssize_t n):
        """The factors of the first n features as an array of shape (classes, n (n + 1) / 2)."""
        cdef Py_ssize_t k
        array = np.empty((self.classes, length(min(n, self.n))))
        cdef double[:, ::1] view = array
        for k in range(self.classes):
            memcpy(&view[k, 0], self.factor[k], view.shape[1] * sizeof(double))
        return array

    def set(self, values, Py_ssize_t n):
        cdef Py_ssize_t k
        if values.shape != (self.classes, length(n)):
            raise ModelError(f"a covariance of shape {values.shape}; expected {(self.classes, length(n))}")
        if not (values[:, [length(j) + j for j in range(n)]] > 0).all():
            raise ModelError("a variance is not above 0")
        self.grow(n)
        for k in range(self.classes):
            self.put(k, np.ascontiguousarray(values[k], dtype=np.float64))
