from seriatim.core.reservoir cimport Reservoir


cdef class SparseColumns:
    cdef int[::1] start          # of each column in row and value, and the end of the last one
    cdef int[::1] row            # ascending within a column
    cdef double[::1] value

    cdef products(self, Reservoir rows, Py_ssize_t n)


cdef dense(Reservoir rows, Py_ssize_t columns)
