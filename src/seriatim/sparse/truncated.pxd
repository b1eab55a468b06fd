from seriatim.sparse.lazy cimport Lazy


cdef class Shrinking(Lazy):
    cdef double theta             # larger weights do not shrink
    cdef bint rounding            # weights become 0 instead of shrinking
    cdef public double shrinkage  # the sum of the shrinkage of all rounds

    cdef double now(self, const double* w) noexcept nogil
    cdef void shrink_all(self, double by) noexcept nogil
