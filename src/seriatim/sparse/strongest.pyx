"""The k records of the highest keys, kept while keys change and records come."""

import numpy as np

cimport cython
from libc.limits cimport INT_MAX, LLONG_MIN
from libc.stdlib cimport free, qsort
from libc.string cimport memset

from seriatim.core.memory cimport resize

from seriatim.errors import ModelError


NONE = Entry(LLONG_MIN, INT_MAX)


cdef int by_strength(const void* a, const void* b) noexcept nogil:
    cdef Entry one = (<const Entry*> a)[0], other = (<const Entry*> b)[0]
    return <int> weaker(other, one) - <int> weaker(one, other)


cdef inline int weakest_of_four(const Entry* heap) noexcept nogil:
    """By the keys alone, which take no time to compare; seldom are two of them equal."""
    cdef long long a = heap[0].key, b = heap[1].key, c = heap[2].key, d = heap[3].key
    cdef long long ab = min(a, b), cd = min(c, d)
    cdef int i, j
    if (a == b) | (c == d) | (ab == cd):
        i, j = weaker(heap[1], heap[0]), 2 + weaker(heap[3], heap[2])
        return j if weaker(heap[j], heap[i]) else i
    i, j = b < a, 2 + (d < c)
    return j if cd < ab else i


@cython.final
cdef class Strongest:
    """At most k records; of equal keys the lowest record is the strongest. A change costs O(log k), a refusal O(1).

    Of a key that has grown nobody need tell before its record is the weakest by what is known, and a record is offered
    that is not weaker: keys are never above the true ones, and so the weakest is it in truth if its key is true.
    """

    def __cinit__(self, Py_ssize_t k):
        self.k = k
        self.grow(1)

    def __dealloc__(self):
        free(self.heap)
        free(self.place)
        free(self.bits)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t room
        if rows > self.room:
            room = (max(rows, 2 * self.room) + 63) // 64 * 64
            if (resize(<void**> &self.place, room, sizeof(int)) < 0
                    or resize(<void**> &self.bits, room // 64, sizeof(long long)) < 0
                    or resize(<void**> &self.heap, min(self.k, room), sizeof(Entry)) < 0):
                raise MemoryError(f"no memory to choose among {rows} features")
            memset(self.bits + self.room // 64, 0, (room - self.room) // 8)
            self.room = room
        self.known = max(self.known, rows)
        return 0

    cdef Py_ssize_t offer(self, Entry entry) noexcept nogil:
        """Take in a record if it is strong enough; returns the one that is not held any more, or -1."""
        cdef Py_ssize_t weakest
        if self.n < self.k:
            self.turn(entry.record)
            self.n += 1
            self.rise(self.n - 1, entry)
            return -1
        if self.refuses(entry):
            return entry.record
        weakest = self.heap[0].record
        self.turn(weakest)
        self.turn(entry.record)
        self.sink(0, entry)
        return weakest

    cdef void order(self) noexcept nogil:
        """Make a heap of keys that have all been changed."""
        cdef Py_ssize_t i
        for i in range((self.n + 2) // 4 - 1, -1, -1):
            self.sink(i, self.heap[i])

    cdef void sort(self) noexcept nogil:
        """The weakest first, a heap in which nothing of the past is left."""
        cdef Py_ssize_t i
        qsort(self.heap, self.n, sizeof(Entry), by_strength)
        for i in range(self.n):
            self.place[self.heap[i].record] = <int> i

    cdef void rise(self, Py_ssize_t i, Entry entry) noexcept nogil:
        """Put an entry into place i, or above what is stronger."""
        while i > 0 and weaker(entry, self.heap[(i - 1) // 4]):
            self.heap[i] = self.heap[(i - 1) // 4]
            self.place[self.heap[i].record] = <int> i
            i = (i - 1) // 4
        self.heap[i] = entry
        self.place[entry.record] = <int> i

    cdef void sink(self, Py_ssize_t i, Entry entry) noexcept nogil:
        """Put an entry into place i, or below what is weaker."""
        cdef Py_ssize_t below = 4 * i + 1, least, other
        while below < self.n:
            least = below
            if below + 4 <= self.n:
                least += weakest_of_four(self.heap + below)
            else:
                for other in range(below + 1, self.n):
                    least = other if weaker(self.heap[other], self.heap[least]) else least
            if not weaker(self.heap[least], entry):
                break
            self.heap[i] = self.heap[least]
            self.place[self.heap[i].record] = <int> i
            i, below = least, 4 * least + 1
        self.heap[i] = entry
        self.place[entry.record] = <int> i

    def get(self):
        """The records, ascending."""
        cdef Py_ssize_t i
        array = np.empty(self.n, dtype=np.int64)
        cdef long long[::1] view = array
        for i in range(self.n):
            view[i] = self.heap[i].record
        return np.sort(array)

    def set(self, const long long[::1] records):
        """The reverse of `get`, where none is held; the keys are 0 until they are told."""
        cdef Py_ssize_t i
        if records.shape[0] > self.k:
            raise ModelError(f"{records.shape[0]} features are selected; k is {self.k}")
        for i in range(records.shape[0]):
            if not 0 <= records[i] < self.known or self.holds(records[i]):
                raise ModelError(f"the selected features are not different ones below {self.known}")
            self.heap[i] = Entry(0, <int> records[i])
            self.place[records[i]] = <int> i
            self.turn(records[i])
        self.n = records.shape[0]
