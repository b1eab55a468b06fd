from seriatim.core.learner cimport LinearLearner
from seriatim.core.row cimport Row


cdef class AsymmetricLearner(LinearLearner):
    cdef double* turned              # the weights if the only label so far is the other class
    cdef Py_ssize_t turned_room
    cdef bint told                   # both labels are known, and `turned` is freed
    cdef public Py_ssize_t turned_updates

    cdef bint step(self, const Row* x, double y, double f, double* w) noexcept nogil
    cdef double product(self, const Row* x, const double* w) noexcept nogil
    cdef double initial(self, Py_ssize_t row) noexcept nogil
