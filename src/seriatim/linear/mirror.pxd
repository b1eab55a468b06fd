from libc.math cimport pow

from seriatim.core.learner cimport Linear
from seriatim.core.row cimport Row


cdef inline double power(double base, double exponent) noexcept nogil:
    """base^exponent, by products where the exponent is a small whole number, as it mostly is."""
    cdef int whole = <int> exponent if exponent < 100 else 0
    cdef double result = 1
    if whole != exponent:
        return pow(base, exponent)
    while whole:
        if whole & 1:
            result *= base
        base *= base
        whole >>= 1
    return result


cdef enum Map:
    P_NORM
    ENTROPY
    PLUS_MINUS


cdef struct Link:
    int map
    double power         # p - 1
    double shift
    double floor         # exp(-2 shift), the product of both exponentials
    double sum, top, total
    Py_ssize_t theta, u


cdef class Linked(Linear):
    cdef int map
    cdef double p
    cdef Py_ssize_t dimension    # records that share the sum, if they are told beforehand
    cdef Py_ssize_t theta        # where theta stands in a record
    cdef public double sum       # of what all entries have in common
    cdef public double peak      # the largest it was since it was summed anew
    cdef public double top       # the largest entry since then
    cdef public double grain     # theta = grain x what the table holds
    cdef public double shift     # the table holds the exponentials of theta - shift

    cdef Link linked(self) noexcept nogil
    cdef double factor(self) noexcept nogil
    cdef double step(self, double margin, const Row* x, double copies) noexcept nogil
    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil
    cdef bint outgrown(self, double top) noexcept nogil
    cdef void rebase(self) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef void refresh(self) noexcept nogil
    cdef void add_up(self) noexcept nogil


cdef class PNorm(Linked):
    pass
