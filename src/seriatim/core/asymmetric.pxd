from seriatim.core.learner cimport Linear
from seriatim.core.row cimport Row


cdef class AsymmetricLearner(Linear):
    cdef double* turned              # the weights if the label seen so far is the other one of the two
    cdef Py_ssize_t turned_room
    cdef bint told                   # which of them is the higher is known, and there are no such weights
    cdef public Py_ssize_t turned_updates

    cdef bint step(self, const Row* x, double y, double f, double* w) noexcept nogil
    cdef double product(self, const Row* x, const double* w) noexcept nogil
    cdef double initial(self, Py_ssize_t row) noexcept nogil
