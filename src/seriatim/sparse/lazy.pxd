from seriatim.core.learner cimport Linear
from seriatim.core.loss cimport Gradient
from seriatim.core.row cimport Row

from libc.math cimport copysign, fabs


cdef inline double soft(double w, double by) noexcept nogil:
    """sgn(w) [|w| - by]+, by >= 0."""
    cdef double rest = fabs(w) - by
    return copysign(rest if rest > 0 else 0, w)    # without a branch that nobody could foretell


cdef class Lazy(Linear):
    cdef Gradient gradient
    cdef bint regression

    cdef double product(self, const Row* x, Py_ssize_t column) noexcept nogil
    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil
    cdef double length(self, double slope) noexcept nogil
