"""The rows of a block by column, and as an array."""

import numpy as np

from seriatim.core.reservoir cimport Kept, Reservoir


cdef class SparseColumns:
    """Stored rows by column."""

    def __init__(self, Reservoir rows, Py_ssize_t columns):
        cdef Py_ssize_t i, j, e, total = 0
        cdef Kept* z
        for i in range(rows.n):
            total += rows.rows[i].n
        cdef int[::1] start = np.zeros(columns + 2, np.int32), row = np.empty(max(total, 1), np.int32)
        cdef double[::1] value = np.empty(max(total, 1))
        with nogil:
            for i in range(rows.n):
                z = &rows.rows[i]
                for j in range(z.n):
                    start[z.index[j] + 2] += 1
            for j in range(columns):
                start[j + 2] += start[j + 1]
            for i in range(rows.n):
                z = &rows.rows[i]
                for j in range(z.n):
                    e = start[z.index[j] + 1]
                    start[z.index[j] + 1] += 1
                    row[e], value[e] = <int> i, z.value[j]
        self.start, self.row, self.value = start, row, value

    cdef products(self, Reservoir rows, Py_ssize_t n):
        """The products of `rows` with the n rows of these columns."""
        cdef Py_ssize_t i, j, e
        cdef Kept* z
        G = np.zeros((rows.n, n))
        cdef double[:, ::1] g = G
        cdef int[::1] start = self.start
        with nogil:
            for i in range(rows.n):
                z = &rows.rows[i]
                for j in range(z.n):
                    e = start[z.index[j]]
                    add_column(&self.row[0] + e, &self.value[0] + e, start[z.index[j] + 1] - e, z.value[j], &g[i, 0])
        return G


cdef inline void add_column(const int* row, const double* value, Py_ssize_t n, double a, double* out) noexcept nogil:
    """out[row] += a value."""
    cdef Py_ssize_t e
    for e in range(n):
        out[row[e]] += a * value[e]


cdef dense(Reservoir rows, Py_ssize_t columns):
    """An array of shape (rows.n, columns)."""
    cdef Py_ssize_t i, j
    cdef Kept* z
    C = np.zeros((rows.n, columns))
    cdef double[:, ::1] out = C
    for i in range(rows.n):
        z = &rows.rows[i]
        for j in range(z.n):
            out[i, z.index[j]] = z.value[j]
    return C
