"""Rows that a learner stores: the mistakes of the voted perceptron."""

import numpy as np

from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.memory cimport resize

from seriatim.errors import ModelError


cdef class StoredRows:
    """A growing block of sparse rows, and their products with one x: call `spread(x)`, `dot(k)` for each k, `clear(x)`.

    A product costs the non-zeros of the stored row, however many x has.
    """

    def __cinit__(self):
        if self.reserve(16, 256, 16) < 0:
            raise MemoryError
        self.start[0] = 0

    def __dealloc__(self):
        free(self.start)
        free(self.index)
        free(self.value)
        free(self.norm2)
        free(self.constants)
        free(self.dense)

    cdef int reserve(self, Py_ssize_t rows, Py_ssize_t values, Py_ssize_t columns) noexcept nogil:
        """Make room; -1 if there is no memory, and then the rows are unchanged."""
        if rows > self.rows_room:
            rows = max(rows, 2 * self.rows_room)
            if (resize(<void**> &self.start, rows + 1, sizeof(long long)) < 0
                    or resize(<void**> &self.norm2, rows, sizeof(double)) < 0
                    or resize(<void**> &self.constants, rows, sizeof(double)) < 0):
                return -1
            self.rows_room = rows
        if values > self.values_room:
            values = max(values, 2 * self.values_room)
            if (resize(<void**> &self.index, values, sizeof(int)) < 0
                    or resize(<void**> &self.value, values, sizeof(double)) < 0):
                return -1
            self.values_room = values
        if columns > self.columns:
            columns = max(columns, 2 * self.columns)
            if resize(<void**> &self.dense, columns, sizeof(double)) < 0:
                return -1
            memset(self.dense + self.columns, 0, (columns - self.columns) * sizeof(double))
            self.columns = columns
        return 0

    cdef int append(self, const Row* x) noexcept nogil:
        """Store a copy of a row; -1 if there is no memory for it."""
        cdef Py_ssize_t i, k = self.start[self.n], column, columns = 0
        for i in range(x.n):
            columns = max(columns, (i if x.index == NULL else x.index[i]) + 1)
        if self.reserve(self.n + 1, k + x.n, columns) < 0:
            return -1
        for i in range(x.n):
            column = i if x.index == NULL else x.index[i]
            if x.value[i] != 0:
                self.index[k] = <int> column
                self.value[k] = x.value[i]
                k += 1
        self.norm2[self.n] = x.norm2
        self.constants[self.n] = x.constant
        self.n += 1
        self.start[self.n] = k
        return 0

    cdef void spread(self, const Row* x) noexcept nogil:
        cdef Py_ssize_t i, column
        self.constant = x.constant
        for i in range(x.n):
            column = i if x.index == NULL else x.index[i]
            if column < self.columns:    # no stored row has a value beyond
                self.dense[column] = x.value[i]

    cdef double dot(self, Py_ssize_t k) noexcept nogil:
        """The product of stored row k with the row that is spread out."""
        cdef double total = self.constants[k] * self.constant
        cdef Py_ssize_t i
        for i in range(self.start[k], self.start[k + 1]):
            total += self.value[i] * self.dense[self.index[i]]
        return total

    cdef void clear(self, const Row* x) noexcept nogil:
        cdef Py_ssize_t i, column
        for i in range(x.n):
            column = i if x.index == NULL else x.index[i]
            if column < self.columns:
                self.dense[column] = 0

    def state(self):
        """The stored rows as arrays."""
        cdef Py_ssize_t values = self.start[self.n]
        return {
            "row_start": np.array(<long long[:self.n + 1]> self.start),
            "row_index": np.array(<int[:self.values_room]> self.index)[:values],
            "row_value": np.array(<double[:self.values_room]> self.value)[:values],
            "row_norm2": np.array(<double[:self.rows_room]> self.norm2)[:self.n],
            "row_constant": np.array(<double[:self.rows_room]> self.constants)[:self.n],
        }

    def restore(self, state):
        """The reverse of `state`, on a new store."""
        cdef const long long[::1] start = np.ascontiguousarray(state["row_start"], dtype=np.int64)
        cdef const int[::1] index = np.ascontiguousarray(state["row_index"], dtype=np.int32)
        cdef const double[::1] value = np.ascontiguousarray(state["row_value"], dtype=np.float64)
        cdef const double[::1] norm2 = np.ascontiguousarray(state["row_norm2"], dtype=np.float64)
        cdef const double[::1] constants = np.ascontiguousarray(state["row_constant"], dtype=np.float64)
        cdef Py_ssize_t i, n = start.shape[0] - 1
        if n < 0 or norm2.shape[0] != n or constants.shape[0] != n or start[0] != 0:
            raise ModelError("the stored rows do not fit together")
        if (np.asarray(start[1:]) < np.asarray(start[:n])).any():    # a difference could overflow
            raise ModelError("the stored rows do not fit together")
        if start[n] != index.shape[0] or start[n] != value.shape[0] or np.min(index, initial=0) < 0:
            raise ModelError("the stored rows do not fit together")
        if self.reserve(n, index.shape[0], int(np.max(index, initial=0)) + 1) < 0:
            raise MemoryError(f"no memory for {n} stored rows")
        for i in range(n):
            self.start[i + 1], self.norm2[i], self.constants[i] = start[i + 1], norm2[i], constants[i]
        for i in range(index.shape[0]):
            self.index[i], self.value[i] = index[i], value[i]
        self.n = n
