"""The k records of the highest keys, kept while keys change and records come."""

import numpy as np

from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.memory cimport resize

from seriatim.errors import ModelError


cdef class Strongest:
    """At most k records; of equal keys the lowest record is the strongest. A change costs O(log k), a refusal O(1)."""

    def __cinit__(self, Py_ssize_t k):
        self.k = k
        self.grow(1)

    def __dealloc__(self):
        free(self.records)
        free(self.keys)
        free(self.place)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t room
        if rows > self.room:
            room = max(rows, 2 * self.room)
            if (resize(<void**> &self.place, room, sizeof(int)) < 0
                    or resize(<void**> &self.records, min(self.k, room), sizeof(int)) < 0
                    or resize(<void**> &self.keys, min(self.k, room), sizeof(double)) < 0):
                raise MemoryError(f"no memory to choose among {rows} features")
            self.room = room
        if rows > self.known:
            memset(self.place + self.known, 0, (rows - self.known) * sizeof(int))
            self.known = rows
        return 0

    cdef void change(self, Py_ssize_t record, double key) noexcept nogil:
        """The key of a record that is held."""
        cdef Py_ssize_t i = self.place[record] - 1
        cdef double before = self.keys[i]
        self.keys[i] = key
        if key > before:
            self.sink(i)
        elif key < before:
            self.rise(i)

    cdef Py_ssize_t offer(self, Py_ssize_t record, double key) noexcept nogil:
        """Take in a record if it is strong enough; returns the one that is not held any more, or -1."""
        cdef Py_ssize_t weakest
        if self.n < self.k:
            self.n += 1
            self.put(self.n - 1, <int> record, key)
            self.rise(self.n - 1)
            return -1
        weakest = self.records[0]
        if key < self.keys[0] or (key == self.keys[0] and record > weakest):
            return record
        self.place[weakest] = 0
        self.put(0, <int> record, key)
        self.sink(0)
        return weakest

    cdef void order(self) noexcept nogil:
        """Make a heap of keys that have all been changed."""
        cdef Py_ssize_t i
        for i in range(self.n // 2 - 1, -1, -1):
            self.sink(i)

    cdef bint weaker(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        if self.keys[i] != self.keys[j]:
            return self.keys[i] < self.keys[j]
        return self.records[i] > self.records[j]

    cdef void put(self, Py_ssize_t i, int record, double key) noexcept nogil:
        self.records[i], self.keys[i], self.place[record] = record, key, <int> i + 1

    cdef void exchange(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef int record = self.records[i]
        cdef double key = self.keys[i]
        self.put(i, self.records[j], self.keys[j])
        self.put(j, record, key)

    cdef void rise(self, Py_ssize_t i) noexcept nogil:
        """A record that may be weaker than the one above it."""
        cdef Py_ssize_t above
        while i > 0:
            above = (i - 1) // 2
            if not self.weaker(i, above):
                return
            self.exchange(i, above)
            i = above

    cdef void sink(self, Py_ssize_t i) noexcept nogil:
        """A record that may be stronger than those below it."""
        cdef Py_ssize_t below = 2 * i + 1
        while below < self.n:
            if below + 1 < self.n and self.weaker(below + 1, below):
                below += 1
            if not self.weaker(below, i):
                return
            self.exchange(i, below)
            i, below = below, 2 * below + 1

    def get(self):
        """The records as they stand."""
        cdef Py_ssize_t i
        array = np.empty(self.n, dtype=np.int64)
        cdef long long[::1] view = array
        for i in range(self.n):
            view[i] = self.records[i]
        return array

    def set(self, const long long[::1] records):
        """The reverse of `get`, where none is held; the keys are 0 until they are told."""
        cdef Py_ssize_t i
        if records.shape[0] > self.k:
            raise ModelError(f"{records.shape[0]} features are selected; k is {self.k}")
        for i in range(records.shape[0]):
            if not 0 <= records[i] < self.known or self.place[records[i]]:
                raise ModelError(f"the selected features are not different ones below {self.known}")
            self.put(i, <int> records[i], 0)
        self.n = records.shape[0]
