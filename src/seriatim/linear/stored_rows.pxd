from seriatim.core.row cimport Row


cdef class StoredRows:
    cdef readonly Py_ssize_t n
    cdef long long* start
    cdef int* index
    cdef double* value
    cdef double* norm2
    cdef double* dense           # one row by column; zero between uses
    cdef double constant         # of the row in `dense`
    cdef double* constants
    cdef Py_ssize_t rows_room, values_room, columns

    cdef int append(self, const Row* x) noexcept nogil
    cdef void spread(self, const Row* x) noexcept nogil
    cdef double dot(self, Py_ssize_t k) noexcept nogil
    cdef void clear(self, const Row* x) noexcept nogil
    cdef int reserve(self, Py_ssize_t rows, Py_ssize_t values, Py_ssize_t columns) noexcept nogil
