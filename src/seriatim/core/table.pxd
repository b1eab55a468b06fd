cdef class Table:
    cdef double* data               # rows x width numbers
    cdef Py_ssize_t rows            # records in use: the constant and the features
    cdef Py_ssize_t capacity
    cdef readonly Py_ssize_t classes
    cdef Py_ssize_t width           # numbers in a record: fields x classes
    cdef tuple fields
    cdef int grow(self, Py_ssize_t rows) except -1
    cdef void _initialise(self, Py_ssize_t start, Py_ssize_t stop) noexcept
