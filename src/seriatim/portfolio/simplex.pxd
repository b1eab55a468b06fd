cdef void project_simplex(double* v, Py_ssize_t m, double* work) noexcept nogil
cdef bint factor(double* H, Py_ssize_t n) noexcept nogil
cdef void solve(const double* L, Py_ssize_t n, double* v) noexcept nogil
cdef int quadratic(const double* A, const double* c, double* b, Py_ssize_t m, double* work, int* free) noexcept nogil
