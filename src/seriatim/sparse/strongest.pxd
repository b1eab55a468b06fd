cimport cython


cdef struct Entry:
    double key
    int record


@cython.final
cdef class Strongest:
    cdef readonly Py_ssize_t k       # the most records
    cdef readonly Py_ssize_t n       # records in the heap
    cdef Entry* heap                 # the weakest first
    cdef int* place                  # the index of each record in the heap, or -1
    cdef Py_ssize_t known, room      # records that may be offered; records that `place` has memory for

    cdef int grow(self, Py_ssize_t rows) except -1
    cdef Py_ssize_t offer(self, Entry entry) noexcept nogil
    cdef void change(self, Entry entry) noexcept nogil
    cdef void order(self) noexcept nogil
    cdef void put(self, Py_ssize_t i, Entry entry) noexcept nogil

    cdef inline bint holds(self, Py_ssize_t record) noexcept nogil:
        return self.place[record] >= 0
