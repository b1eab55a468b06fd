from seriatim.core.rows cimport Rows

cimport cython


@cython.final
cdef class Scaler:
    cdef readonly str kind
    cdef bint standard, unit
    cdef double[::1] count, mean, spread    # spread: the sum of squared differences from the mean; or the maximum
    # The columns that the last block has changed, each once, and their values before: for `rewind`.
    cdef Py_ssize_t[::1] changed
    cdef double[:, ::1] before
    cdef Py_ssize_t changes
    cdef Rows rows
    cdef long long[::1] touched             # the last block that changed a column
    cdef long long block
    cdef int grow(self, Py_ssize_t n) except -1
    cdef void note(self, Py_ssize_t j) noexcept nogil
    cdef double see(self, Py_ssize_t j, double x, bint learning) noexcept nogil
    cdef double scaled_value(self, Py_ssize_t j, double x, double length, Py_ssize_t known, bint learning) \
        noexcept nogil
    cdef int scale(self, const int* index, double* value, Py_ssize_t n, double norm2, bint learning) except -1
