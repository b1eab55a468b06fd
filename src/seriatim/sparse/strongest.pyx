"""The k records with the highest keys, in a heap with the weakest record on top."""

import numpy as np

cimport cython
from libc.stdlib cimport free

from seriatim.core.memory cimport resize

from seriatim.errors import ModelError


cdef inline bint weaker(Entry a, Entry b) noexcept nogil:
    return a.key < b.key or (a.key == b.key and a.record > b.record)


@cython.final
cdef class Strongest:
    """At most k records. Of equal keys the lowest record is the strongest. A change costs O(log k), a refusal O(1)."""

    def __cinit__(self, Py_ssize_t k):
        self.k = k
        self.grow(1)

    def __dealloc__(self):
        free(self.heap)
        free(self.place)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t room = max(rows, 2 * self.room)
        if rows > self.room:
            if (resize(<void**> &self.place, room, sizeof(int)) < 0
                    or resize(<void**> &self.heap, min(self.k, room), sizeof(Entry)) < 0):
                raise MemoryError(f"no memory to choose among {rows} features")
            self.room = room
        while self.known < rows:
            self.place[self.known] = -1
            self.known += 1
        return 0

    cdef Py_ssize_t offer(self, Entry entry) noexcept nogil:
        """Add a record that is not in the heap. Returns the record that is left out: the weakest, or -1."""
        cdef Py_ssize_t weakest
        if self.n < self.k:
            self.n += 1
            self.put(self.n - 1, entry)
            return -1
        if weaker(entry, self.heap[0]):
            return entry.record
        weakest = self.heap[0].record
        self.place[weakest] = -1
        self.put(0, entry)
        return weakest

    cdef void change(self, Entry entry) noexcept nogil:
        """Give a record of the heap another key."""
        self.put(self.place[entry.record], entry)

    cdef void order(self) noexcept nogil:
        """Restore the heap after any keys in it have been changed."""
        cdef Py_ssize_t n = self.n
        self.n = 0
        while self.n < n:
            self.n += 1
            self.put(self.n - 1, self.heap[self.n - 1])

    cdef void put(self, Py_ssize_t i, Entry entry) noexcept nogil:
        """Write an entry at index i, or above stronger or below weaker entries where it belongs."""
        cdef Py_ssize_t child
        while i > 0 and weaker(entry, self.heap[(i - 1) // 2]):
            self.heap[i] = self.heap[(i - 1) // 2]
            self.place[self.heap[i].record] = <int> i
            i = (i - 1) // 2
        while 2 * i + 1 < self.n:
            child = 2 * i + 1
            if child + 1 < self.n and weaker(self.heap[child + 1], self.heap[child]):
                child += 1
            if not weaker(self.heap[child], entry):
                break
            self.heap[i] = self.heap[child]
            self.place[self.heap[i].record] = <int> i
            i = child
        self.heap[i] = entry
        self.place[entry.record] = <int> i

    def get(self):
        """The records in ascending order."""
        return np.array(sorted([self.heap[i].record for i in range(self.n)]), dtype=np.int64)

    def set(self, const long long[::1] records):
        """Fill an empty heap with the records of `get`. Their keys are 0 until the caller writes them."""
        cdef Py_ssize_t i
        if records.shape[0] > self.k:
            raise ModelError(f"{records.shape[0]} features are selected; k is {self.k}")
        for i in range(records.shape[0]):
            if not 0 <= records[i] < self.known or self.holds(records[i]):
                raise ModelError(f"the selected features must be different and below {self.known}")
            self.heap[i] = Entry(0, <int> records[i])
            self.place[records[i]] = <int> i
        self.n = records.shape[0]
