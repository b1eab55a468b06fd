cdef class Arrowhead:
    cdef Py_ssize_t room
    cdef double* memory
    cdef int* places
    cdef double* d               # in: descending, at least 0
    cdef double* z               # in
    cdef double* sigma           # out: descending
    cdef double* left            # out: row i has the i-th numbers of all left vectors
    cdef double* right           # out: the same of the right vectors; row n is that of the column z
    cdef double* P
    cdef double* square
    cdef double* values
    cdef double* turns
    cdef int* active
    cdef int* turned
    cdef int* order
    cdef int reserve(self, Py_ssize_t n) noexcept nogil
    cdef void solve(self, Py_ssize_t n, bint both) noexcept nogil
    cdef void root(self, Py_ssize_t j, Py_ssize_t m, double total) noexcept nogil
