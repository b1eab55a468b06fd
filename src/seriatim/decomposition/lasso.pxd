cdef class Lasso:
    cdef readonly Py_ssize_t atoms
    cdef double lam, tolerance
    cdef Py_ssize_t iterations
    cdef bint lars
    cdef double* G               # D'D
    cdef double norm2            # |x|^2
    cdef Py_ssize_t n            # the number of active atoms
    cdef int* atom               # the active atoms
    cdef double* a               # their coefficients
    cdef double* rho             # r of the active atoms
    cdef double* r               # c - G a
    cdef char* state             # the State of each atom
    cdef double* H               # G of the active atoms
    cdef double* L               # lower triangle with L L' = G of the active atoms; line i has i + 1 numbers
    cdef double* sign            # LARS: the signs of the coefficients
    cdef double* step            # LARS: the change of the coefficients
    cdef double* slope           # LARS: the change of r

    cdef void solve(self, const double* c, double norm2) noexcept nogil
    cdef double objective(self, const double* c) noexcept nogil
    cdef double gap(self, const double* c) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef bint descend(self, const double* c, double tolerance, double loose) noexcept nogil
    cdef void gather(self, const double* c) noexcept nogil
    cdef double sweep(self) noexcept nogil
    cdef Py_ssize_t activate(self, const double* c, double threshold) noexcept nogil
    cdef void walk(self, const double* c) noexcept nogil
    cdef bint join(self, Py_ssize_t j, double sign) noexcept nogil
    cdef void leave(self, Py_ssize_t i) noexcept nogil
    cdef bint factor(self, Py_ssize_t i) noexcept nogil
    cdef void substitute(self, double* x) noexcept nogil
