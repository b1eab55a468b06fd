from libc.stdint cimport uint32_t, uint64_t

cimport cython


@cython.final
cdef class RowSums:
    cdef uint64_t* slot                # pairs: the round and the column, the place in the row
    cdef Py_ssize_t size
    cdef uint64_t round

    cdef Py_ssize_t summed(self, int* index, double* value, Py_ssize_t n) noexcept nogil
