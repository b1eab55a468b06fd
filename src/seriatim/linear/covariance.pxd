from seriatim.core.row cimport Row


cdef class Covariance:
    cdef double** factor                 # for each class: the columns of U above the diagonal, each followed by its D
    cdef readonly Py_ssize_t classes
    cdef Py_ssize_t n, capacity          # rows and columns; the first belongs to the constant
    cdef double initial
    cdef int grow(self, Py_ssize_t n) except -1
    cdef int make_room(self, Py_ssize_t classes, Py_ssize_t capacity) except -1
    cdef void identity(self, Py_ssize_t k, Py_ssize_t start) noexcept
    cdef double look(self, const Row* x, Py_ssize_t k, double* f) noexcept nogil
    cdef void sharpen(self, Py_ssize_t k, double c, const double* f, double* g) noexcept nogil
    cdef put(self, Py_ssize_t k, const double[::1] values)
