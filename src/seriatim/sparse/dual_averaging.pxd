from seriatim.sparse.lazy cimport Lazy


cdef class Dual(Lazy):
    cdef double lam
    cdef double threshold    # w_j = 0 where |G_j| is not above it

    cdef double bound(self) noexcept nogil
