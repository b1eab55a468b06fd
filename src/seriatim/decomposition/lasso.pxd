cdef class Lasso:
    cdef readonly Py_ssize_t atoms
    cdef double lam, tolerance
    cdef Py_ssize_t iterations
    cdef bint lars
    cdef double* G               # D'D, lines of `atoms` numbers
    cdef double norm2            # |x|^2
    cdef Py_ssize_t n            # atoms in play
    cdef int* atom               # which they are
    cdef double* a               # their coefficients
    cdef double* rho             # r of them
    cdef double* r               # c - G a
    cdef char* state             # of each atom: a State
    cdef double* H               # G of those in play
    cdef double* L               # the lower triangle with L L' = G of those in play; line i has i + 1 numbers
    cdef double* sign            # of LARS: theirs
    cdef double* step            # the direction of their coefficients
    cdef double* slope           # and of r

    cdef void solve(self, const double* c, double norm2) noexcept nogil
    cdef double objective(self, const double* c) noexcept nogil
    cdef double gap(self, const double* c) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef bint descend(self, const double* c, double tolerance, double loose) noexcept nogil
    cdef void gather(self, const double* c) noexcept nogil
    cdef double sweep(self) noexcept nogil
    cdef Py_ssize_t call(self, const double* c, double threshold) noexcept nogil
    cdef void walk(self, const double* c) noexcept nogil
    cdef bint join(self, Py_ssize_t j, double sign) noexcept nogil
    cdef void leave(self, Py_ssize_t i) noexcept nogil
    cdef bint factor(self, Py_ssize_t i) noexcept nogil
    cdef void substitute(self, double* x) noexcept nogil
