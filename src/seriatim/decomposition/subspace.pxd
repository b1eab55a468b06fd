from seriatim.core.reservoir cimport Reservoir
from seriatim.core.row cimport Row
from seriatim.core.table cimport Table
from seriatim.decomposition.arrowhead cimport Arrowhead


cdef class Subspace:
    cdef readonly Py_ssize_t rank        # the largest number of directions
    cdef public double threshold
    cdef readonly Py_ssize_t k           # the number of directions
    cdef Py_ssize_t columns              # of B
    cdef Py_ssize_t used                 # all rows are 0 in the features from here on
    cdef Py_ssize_t steps                # rows since B was made
    cdef Py_ssize_t most                 # the largest number of steps
    cdef Py_ssize_t stride
    cdef Table basis                     # B
    cdef Reservoir pending               # P
    cdef Arrowhead arrowhead
    cdef double* s
    cdef double* T                       # rows of `stride` numbers
    cdef double* m                       # V'x
    cdef double* c                       # coordinates in [B, P']
    cdef double* work                    # one number per feature, 0 between calls
    cdef Py_ssize_t features
    cdef bint keep_left
    cdef object U                        # the left vectors are blockdiag(U, I) R
    cdef object R
    cdef object R_before                 # R before the last row
    cdef object error

    cdef int grow(self, Py_ssize_t rows) except -1
    cdef void project(self, const Row* x) noexcept nogil
    cdef double loss(self, const Row* x) noexcept nogil
    cdef double residual(self, const Row* x) noexcept nogil
    cdef void gather(self) noexcept nogil
    cdef void spread(self) noexcept nogil
    cdef void subtract(self) noexcept nogil
    cdef void coordinates(self, const double* x, Py_ssize_t n) noexcept nogil
    cdef void scatter(self, const Row* x, bint clear) noexcept nogil
    cdef Py_ssize_t width(self, const Row* x) noexcept nogil
    cdef int append(self, const Row* x, double forgetting) noexcept nogil
    cdef double distance(self, const Row* x, bint* in_work) noexcept nogil
    cdef int add_direction(self, const Row* x, double rho, bint in_work) noexcept nogil
    cdef int turn(self, Py_ssize_t n, Py_ssize_t rows, Py_ssize_t keep) noexcept nogil
    cdef int turn_large(self, Py_ssize_t n, Py_ssize_t rows, Py_ssize_t keep) noexcept with gil
    cdef int turn_left(self, Py_ssize_t n, Py_ssize_t k, Py_ssize_t keep) noexcept with gil
    cdef void turn_back(self) noexcept with gil
    cdef int fold(self) noexcept with gil
