"""A uniform random sample of the rows of a stream."""

import numpy as np

from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.memory cimport resize
from seriatim.core.random cimport random_below
from seriatim.core.row cimport sum_of_squares

from seriatim.core.rows import LIMIT
from seriatim.errors import LimitError, ModelError

MAX_BYTES = 1 << 32


cdef class Reservoir:
    """Rows without their constant: all of them up to a capacity, then a uniform sample (Vitter, 1985, algorithm R)."""

    def __cinit__(self, Py_ssize_t capacity=0):
        self.capacity = capacity
        self.limit = MAX_BYTES // (sizeof(int) + sizeof(double))

    def __dealloc__(self):
        cdef Py_ssize_t k
        for k in range(self.rows_room):
            free(self.rows[k].index)
            free(self.rows[k].value)
        free(self.rows)

    def expect_room(self, Py_ssize_t values):
        """Raise LimitError unless `values` more numbers fit."""
        if self.full or self.values_room + values > self.limit:
            raise LimitError(
                f"the stored rows would take more than the limit of {self.limit * 12 / 2**30:.1f} GiB; "
                f"set buffer_size to store fewer"
            )

    cdef int offer(self, const Row* x, Py_ssize_t seen, unsigned long long seed, Py_ssize_t* draws) noexcept nogil:
        """Offer row number `seen` of the stream to the sample. Returns -1, and changes nothing, if memory runs out."""
        cdef Py_ssize_t k, before = draws[0]
        if self.capacity == 0 or self.n < self.capacity:
            if self.put(self.n, x) < 0:
                return -1
            self.n += 1
            return 0
        k = random_below(seen, seed, draws)
        if k < self.capacity and self.put(k, x) < 0:
            draws[0] = before
            return -1
        return 0

    cdef int put(self, Py_ssize_t k, const Row* x) noexcept nogil:
        """Store x as row k."""
        cdef Py_ssize_t i, n = 0, rows, room = 0
        cdef Kept* z
        if k >= self.rows_room:
            rows = max(2 * self.rows_room, 16)
            if resize(<void**> &self.rows, rows, sizeof(Kept)) < 0:
                return -1
            memset(self.rows + self.rows_room, 0, (rows - self.rows_room) * sizeof(Kept))
            self.rows_room = rows
        z = self.rows + k
        for i in range(x.n):
            room += x.value[i] != 0
        if room > z.room:
            self.full = self.values_room + room - z.room > self.limit
            if (self.full or resize(<void**> &z.index, room, sizeof(int)) < 0
                    or resize(<void**> &z.value, room, sizeof(double)) < 0):
                return -1
            self.values_room += room - z.room
            z.room = room
        for i in range(x.n):
            if x.value[i] != 0:
                z.index[n] = <int> (i if x.index == NULL else x.index[i])
                z.value[n] = x.value[i]
                n += 1
        z.n = n
        z.norm2 = sum_of_squares(z.value, n)
        z.first = z.index[0] if n else 0
        for i in range(n):
            if z.index[i] != z.first + i:
                z.first = -1
                break
        return 0

    def state(self):
        """The rows as CSR arrays."""
        cdef Py_ssize_t i, k, place = 0
        cdef long long[::1] start = np.zeros(self.n + 1, dtype=np.int64)
        for k in range(self.n):
            start[k + 1] = start[k] + self.rows[k].n
        cdef int[::1] index = np.empty(start[self.n], dtype=np.int32)
        cdef double[::1] value = np.empty(start[self.n])
        for k in range(self.n):
            for i in range(self.rows[k].n):
                index[place], value[place] = self.rows[k].index[i], self.rows[k].value[i]
                place += 1
        return {"start": np.asarray(start), "index": np.asarray(index), "value": np.asarray(value)}

    def restore(self, state, Py_ssize_t columns, double limit=2 * LIMIT):    # a row less a mean is twice as large
        """Load what `state` returned into a new reservoir of a model with `columns` columns. The caller refuses NaN."""
        cdef const long long[::1] start = np.ascontiguousarray(state["start"], dtype=np.int64)
        cdef const int[::1] index = np.ascontiguousarray(state["index"], dtype=np.int32)
        cdef const double[::1] value = np.ascontiguousarray(state["value"], dtype=np.float64)
        cdef Py_ssize_t k, n = start.shape[0] - 1
        cdef Row x
        if n < 0 or start[0] != 0 or start[n] != index.shape[0] or start[n] != value.shape[0]:
            raise ModelError("the rows of a buffer do not fit together")
        if (np.asarray(start[1:]) < np.asarray(start[:n])).any() or (self.capacity and n > self.capacity):
            raise ModelError("the rows of a buffer do not fit together")
        if np.min(index, initial=0) < 0 or np.max(index, initial=-1) >= columns:
            raise ModelError("a row of a buffer has a feature that the model does not know")
        owner = np.repeat(np.arange(n), np.diff(start))
        order = np.lexsort((index, owner))
        column, owner = np.asarray(index)[order], owner[order]
        if ((column[1:] == column[:-1]) & (owner[1:] == owner[:-1])).any():
            raise ModelError("a row of a buffer has a feature twice")
        if (np.abs(value) > limit).any():
            raise ModelError(f"a row of a buffer has a value beyond +-{limit:g}")
        x.constant, x.norm2, x.index, x.value = 0, 0, NULL, NULL
        for k in range(n):
            x.n = start[k + 1] - start[k]
            if x.n:
                x.index, x.value = &index[start[k]], &value[start[k]]
            if self.put(k, &x) < 0:
                raise MemoryError(f"no memory for {n} rows of a buffer")
            self.n = k + 1
