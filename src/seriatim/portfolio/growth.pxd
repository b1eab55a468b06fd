cdef class Growth:
    cdef Py_ssize_t m, room
    cdef object kept
    cdef double* columns
    cdef double* ratios
    cdef double* inverse
    cdef double* moves
    cdef double* gradient
    cdef double* hessian
    cdef double* at
    cdef double* step
    cdef double* ones
    cdef int* places

    cdef int reserve(self, Py_ssize_t m, Py_ssize_t n) except -1
    cdef double optimum(
        self, const double* data, const Py_ssize_t* rows, Py_ssize_t n, double* b, double tolerance
    ) noexcept nogil
    cdef void take(
        self, const double* data, const Py_ssize_t* rows, Py_ssize_t n, Py_ssize_t j, Py_ssize_t k
    ) noexcept nogil
    cdef double search(self, Py_ssize_t n, Py_ssize_t s, double start, double most) noexcept nogil
