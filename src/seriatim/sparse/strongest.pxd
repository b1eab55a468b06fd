cimport cython


cdef struct Entry:
    double key
    int record


@cython.final
cdef class Strongest:
    cdef readonly Py_ssize_t k        # at most so many
    cdef readonly Py_ssize_t n
    cdef Entry* heap                  # the weakest first
    cdef int* place                   # of each record in the heap, from 1 on; 0: it is not there
    cdef Py_ssize_t known, room       # records that can be asked for; how many there is memory for

    cdef int grow(self, Py_ssize_t rows) except -1
    cdef void change(self, Py_ssize_t record, double key) noexcept nogil
    cdef Py_ssize_t offer(self, Py_ssize_t record, double key) noexcept nogil
    cdef void order(self) noexcept nogil
    cdef void rise(self, Py_ssize_t i, Entry entry) noexcept nogil
    cdef void sink(self, Py_ssize_t i, Entry entry) noexcept nogil

    cdef inline bint holds(self, Py_ssize_t record) noexcept nogil:
        return self.place[record] != 0
