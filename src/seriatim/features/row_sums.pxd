from libc.stdint cimport uint8_t, uint32_t, uint64_t

cimport cython

cdef enum:
    MARK_BITS = 14


@cython.final
cdef class RowSums:
    cdef uint64_t* slot                # pairs: the round and the column, the place in the row
    cdef Py_ssize_t size
    cdef uint64_t round
    cdef uint8_t[1 << MARK_BITS] mark  # by a hash of the column: in which turn it was met
    cdef uint8_t turn

    cdef bint differ(self, const int* index, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t summed(self, int* index, double* value, Py_ssize_t n) noexcept nogil
