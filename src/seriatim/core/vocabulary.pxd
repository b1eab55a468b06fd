from seriatim.core.names cimport Names
from seriatim.core.rows cimport Rows


cdef class Vocabulary:
    cdef dict number                # name -> column
    cdef readonly list names
    cdef int add(self, str name) except -1
    cdef Names table                # the names, as far as there was need
    cdef Names translated           # the names last seen when learning, and the columns of the first of them
    cdef int[::1] translation
    cdef int[::1] columns_of(self, Names names, Py_ssize_t n, bint learning)
    cdef long long[::1] stamps      # by column: when `twice` last met it
    cdef long long stamp
    cdef bint twice(self, int[::1] column, Py_ssize_t n) except -1
    cpdef Rows translate(self, Rows rows, bint learning)
