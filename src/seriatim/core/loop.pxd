from seriatim.core.learner cimport Learner
from seriatim.core.row cimport Row


cdef class Sink:
    cdef int begin(self, Learner learner, Py_ssize_t classes, Py_ssize_t n) except -1
    cdef Py_ssize_t wants(self, Py_ssize_t left) noexcept nogil
    cdef void take(self, const double* y, const double* scores, Py_ssize_t n) noexcept nogil
    cdef void end(self) noexcept


cdef class Scores(Sink):
    cdef readonly list segments
    cdef double[::1] y
    cdef double[:, ::1] room
    cdef Py_ssize_t filled
