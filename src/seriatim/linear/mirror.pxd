from seriatim.core.learner cimport Linear
from seriatim.core.row cimport Row


cdef extern from "link.h":
    enum:
        BATCH
        P_NORM
        ENTROPY
        PLUS_MINUS
    ctypedef struct Link:
        int map
        double power, shift, floor


cdef class LinkedLearner(Linear):
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
    cdef Py_ssize_t first(self) noexcept nogil
    cdef double factor(self) noexcept nogil
    cdef double step(self, double margin, const Row* x, double copies) noexcept nogil
    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil
    cdef bint outgrown(self, double top) noexcept nogil
    cdef void rebase(self) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t column, double* theta, double* w) noexcept nogil
    cdef void refresh(self) noexcept nogil
    cdef void add_up(self) noexcept nogil


cdef class PNormLearner(LinkedLearner):
    pass
