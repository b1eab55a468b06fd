from seriatim.core.learner cimport Learner
from seriatim.core.row cimport Row
from seriatim.kernel.support cimport Support


cdef class Machine(Learner):
    cdef Support support
    cdef double* k                   # k(x, z) for each support vector z; kernel i begins at i * slots
    cdef double* alpha               # coefficients; column c begins at c * slots
    cdef Py_ssize_t slots            # allocated support vectors
    cdef Py_ssize_t fields           # columns of alpha for each class
    cdef public double scale         # f = scale * sum of alpha k
    cdef public double width         # the width of the kernel if it came from the data, else 0
    cdef public Py_ssize_t records   # features + 1, as in a table
    cdef str waiting                 # the kernel that takes its width from the data, or None
    cdef Py_ssize_t up, down         # this round should raise f_up and lower f_down; -1 if binary
    cdef double sign                 # the label -1 or 1 if binary, else 1

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil
    cdef void begin_round(self) noexcept nogil
    cdef void current(self, double* out) noexcept nogil
    cdef double own(self, const Row* x) noexcept nogil
    cdef void learn_margin(self, const Row* x, double margin) noexcept nogil
    cdef void all_scores(self, double* out) noexcept nogil
    cdef double weigh(self, Py_ssize_t column, const double* k) noexcept nogil
    cdef Py_ssize_t add(self, const Row* x, double tau) noexcept nogil
    cdef int replace(self, Py_ssize_t slot, const Row* x, double tau) noexcept nogil
    cdef void give(self, Py_ssize_t slot, double tau) noexcept nogil
    cdef void remove(self, Py_ssize_t slot) noexcept nogil
    cdef void shrink(self, double factor) noexcept nogil
    cdef int make_room(self, Py_ssize_t n) noexcept nogil
