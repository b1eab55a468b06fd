cdef class Lasso:
    cdef readonly Py_ssize_t atoms
    cdef double lam, tolerance
    cdef Py_ssize_t iterations
    cdef bint lars
    cdef double* G               # D'D, lines of `atoms` numbers
    cdef Py_ssize_t n            # atoms in play
    cdef int* atom               # which they are
    cdef double* a               # their coefficients
    cdef double* rho             # r of them
    cdef double* r               # c - G a
    cdef char* state             # of each atom: whether it is in play
    cdef double* H               # G of those in play, or the lower triangle L with L L' = G
    cdef double* sign            # of LARS: theirs
    cdef double* step            # the direction of their coefficients
    cdef double* slope           # and of r

    cdef void solve(self, const double* c) noexcept nogil
    cdef double objective(self, const double* c, double norm2) noexcept nogil
    cdef void descend(self, const double* c, double tolerance) noexcept nogil
    cdef void gather(self, const double* c) noexcept nogil
    cdef double sweep(self) noexcept nogil
    cdef Py_ssize_t call(self, const double* c, double threshold) noexcept nogil
    cdef void walk(self, const double* c) noexcept nogil
    cdef bint join(self, Py_ssize_t j, double sign) noexcept nogil
    cdef void leave(self, Py_ssize_t i) noexcept nogil
    cdef bint factor(self, Py_ssize_t i) noexcept nogil
    cdef void substitute(self, double* x) noexcept nogil
