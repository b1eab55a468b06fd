from seriatim.core.learner cimport Linear
from seriatim.core.loss cimport Gradient
from seriatim.core.row cimport Row


cdef extern from "steps.h":
    enum:
        BATCH
    double soft(double w, double by) noexcept nogil
    double within_range(double sum) noexcept nogil


cdef class Lazy(Linear):
    cdef Gradient gradient
    cdef bint regression
    cdef Py_ssize_t read      # how many fields of a record `products` looks at

    cdef void products(self, const Row* x, Py_ssize_t column, int n, double* out) noexcept nogil
    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil
    cdef double length(self, double slope) noexcept nogil
