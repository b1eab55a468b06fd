cdef class StrategyLearner:
    cdef readonly Py_ssize_t t, m
    cdef readonly dict arrays
    cdef double* b

    cdef int bind(self) except -1
    cdef int learn(self, const double* x) except -1
    cdef int learn_days(self, Py_ssize_t n, const double* X, double* B) except -1


cdef double* pointer(array) except? NULL
cdef double* aligned(double* p) noexcept nogil
cdef void uniform(double* b, Py_ssize_t m) noexcept nogil
