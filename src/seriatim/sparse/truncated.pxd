from seriatim.sparse.lazy cimport Lazy


cdef class Shrinking(Lazy):
    cdef double theta             # weights beyond are not shrunk
    cdef bint rounding            # a weight that is shrunk becomes 0
    cdef public double shrinkage  # all that weights were shrunk by so far

    cdef double now(self, const double* w) noexcept nogil
    cdef void shrink_all(self, double by) noexcept nogil
