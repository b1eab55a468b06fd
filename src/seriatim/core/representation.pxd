from seriatim.core.learner cimport Learner
from seriatim.core.row cimport Row


cdef class Representation(Learner):
    cdef object error            # what went wrong where nobody could be told; check_memory raises it

    cdef Py_ssize_t outputs(self) noexcept nogil
    cdef void code(self, const Row* x, double* out) noexcept nogil
    cdef void keep(self, error) noexcept
