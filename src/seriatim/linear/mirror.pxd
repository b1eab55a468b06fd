from libc.math cimport pow

from seriatim.core.learner cimport LinearLearner
from seriatim.core.row cimport Row


cdef enum Kind:
    P_NORM
    ENTROPY
    PLUS_MINUS


cdef struct Map:
    int kind
    double p
    double shift            # exponentials are of theta - shift
    double least_product    # e^(theta - shift) e^(-theta - shift)


cdef class LinkedLearner(LinearLearner):
    cdef int kind
    cdef double p
    cdef Py_ssize_t dimension    # records that share the sum, if the user has given their number
    cdef Py_ssize_t theta        # position of theta in a record
    cdef public double sum       # of the shares of all entries
    cdef public double peak      # the largest sum since `refresh`
    cdef public double top       # the largest entry since `refresh`
    cdef public double grain     # the table holds theta / grain
    cdef public double shift     # the table holds exponentials of theta - shift

    cdef Map map(self) noexcept nogil
    cdef Py_ssize_t first(self) noexcept nogil
    cdef double factor(self) noexcept nogil
    cdef double step(self, double margin, const Row* x, double copies) noexcept nogil
    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef void refresh(self) noexcept nogil
    cdef bint outgrown(self, double top) noexcept nogil
    cdef void rebase(self) noexcept nogil
    cdef void divide(self, double by) noexcept nogil


cdef class PNormLearner(LinkedLearner):
    pass


cdef inline double power(double base, double exponent) noexcept nogil:
    """base^exponent, by products where the exponent is a small whole number: `pow` takes three times as long."""
    cdef int k = <int> exponent if exponent < 100 else 0
    cdef double result = 1
    if k != exponent:
        return pow(base, exponent)
    while k:
        if k & 1:
            result *= base
        base *= base
        k >>= 1
    return result
