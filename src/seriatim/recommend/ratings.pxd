from seriatim.recommend.lists cimport Lists
from seriatim.recommend.numbering cimport Numbering


cdef class RatingLearner:
    cdef public Py_ssize_t t
    cdef readonly Py_ssize_t users, items    # with ratings
    cdef readonly Py_ssize_t learned         # ratings that the last call learned
    cdef readonly Numbering user_labels, item_labels
    cdef readonly Lists rated
    cdef double low, high
    cdef bint failed                         # the memory was not sufficient

    cdef int grow(self, Py_ssize_t users, Py_ssize_t items) except -1
    cdef double predict(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef void learn(self, Py_ssize_t a, Py_ssize_t b, double rating) noexcept nogil
    cdef void round(self, Py_ssize_t a, Py_ssize_t b, double rating, double* out) noexcept nogil


cdef class Grid:
    cdef double* data
    cdef Py_ssize_t rows, width

    cdef Py_ssize_t grow(self, Py_ssize_t rows) except -1


cdef inline double bounded(double x) noexcept nogil:
    """x, limited to +-1e50: large steps must not lead to inf or NaN."""
    x = x if x < 1e50 else 1e50
    return x if x > -1e50 else -1e50
