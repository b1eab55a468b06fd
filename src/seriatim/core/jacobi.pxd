cdef int small_svd(double* A, double* V, double* s, Py_ssize_t n) noexcept nogil
