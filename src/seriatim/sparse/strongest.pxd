cimport cython


cdef struct Entry:
    long long key
    int record


cdef Entry NONE    # that is weaker than any other


cdef inline bint weaker(Entry a, Entry b) noexcept nogil:
    return (a.key < b.key) | ((a.key == b.key) & (a.record > b.record))    # nobody could foretell a branch here


@cython.final
cdef class Strongest:
    cdef readonly Py_ssize_t k        # at most so many
    cdef readonly Py_ssize_t n
    cdef Entry* heap                  # the weakest first
    cdef int* place                   # of each record in the heap, if it is there
    cdef unsigned long long* bits     # whether it is, 64 records a number: few enough for the nearest cache
    cdef Py_ssize_t known, room       # records that can be asked for; how many there is memory for

    cdef int grow(self, Py_ssize_t rows) except -1
    cdef Py_ssize_t offer(self, Entry entry) noexcept nogil
    cdef void order(self) noexcept nogil
    cdef void sort(self) noexcept nogil
    cdef void rise(self, Py_ssize_t i, Entry entry) noexcept nogil
    cdef void sink(self, Py_ssize_t i, Entry entry) noexcept nogil

    cdef inline bint holds(self, Py_ssize_t record) noexcept nogil:
        return self.bits[record >> 6] >> (record & 63) & 1

    cdef inline void turn(self, Py_ssize_t record) noexcept nogil:
        """What was held is not, and the reverse."""
        self.bits[record >> 6] ^= <unsigned long long> 1 << (record & 63)

    cdef inline bint refuses(self, Entry entry) noexcept nogil:
        return self.n == self.k and weaker(entry, self.heap[0])

    cdef inline Entry floor(self) noexcept nogil:
        """As known, the weakest; what is weaker is refused."""
        return self.heap[0] if self.n == self.k else NONE

    cdef inline long long known_key(self, Py_ssize_t record) noexcept nogil:
        return self.heap[self.place[record]].key

    cdef inline void replace(self, Py_ssize_t record, Entry by) noexcept nogil:
        """A record that is held by another one."""
        cdef Py_ssize_t i = self.place[record]
        self.turn(record)
        self.turn(by.record)
        if i > 0 and weaker(by, self.heap[(i - 1) // 4]):
            self.rise(i, by)
        else:
            self.sink(i, by)

    cdef inline void lower(self, Entry one) noexcept nogil:
        """The true key of a record that is held, which is less than what is known."""
        self.rise(self.place[one.record], one)
