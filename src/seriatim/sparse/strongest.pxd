cimport cython


cdef struct Entry:
    long long key
    int record


cdef inline bint weaker(Entry a, Entry b) noexcept nogil:
    return (a.key < b.key) | ((a.key == b.key) & (a.record > b.record))    # nobody could foretell a branch here


@cython.final
cdef class Strongest:
    cdef readonly Py_ssize_t k        # at most so many
    cdef readonly Py_ssize_t n
    cdef Entry* heap                  # the weakest first
    cdef int* place                   # of each record in the heap, from 1 on; 0: it is not there
    cdef Py_ssize_t known, room       # records that can be asked for; how many there is memory for

    cdef int grow(self, Py_ssize_t rows) except -1
    cdef Py_ssize_t offer(self, Entry entry) noexcept nogil
    cdef void order(self) noexcept nogil
    cdef void sort(self) noexcept nogil
    cdef void rise(self, Py_ssize_t i, Entry entry) noexcept nogil
    cdef void sink(self, Py_ssize_t i, Entry entry) noexcept nogil

    cdef inline bint holds(self, Py_ssize_t record) noexcept nogil:
        return self.place[record] != 0

    cdef inline bint refuses(self, Entry entry) noexcept nogil:
        return self.n == self.k and weaker(entry, self.heap[0])

    cdef inline void lower(self, Py_ssize_t record, long long key) noexcept nogil:
        """The true key of a record that is held, if it is less than what is known."""
        cdef Py_ssize_t i = self.place[record] - 1
        if key < self.heap[i].key:
            self.rise(i, Entry(key, <int> record))
