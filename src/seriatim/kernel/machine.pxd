from seriatim.core.learner cimport Learner
from seriatim.core.row cimport Row
from seriatim.kernel.support cimport Support


cdef class Machine(Learner):
    cdef Support support
    cdef double* k                   # k(x, z) of each support vector, one kernel after another
    cdef double* alpha               # coefficients: one stretch of `slots` a class
    cdef Py_ssize_t slots            # support vectors there is room for
    cdef Py_ssize_t fields           # coefficients a support vector has of each class
    cdef public double scale         # f = scale x sum of alpha k
    cdef public double width         # of the kernel, where it comes from the data; else 0
    cdef public Py_ssize_t records   # columns and the constant, as a table has them
    cdef str waiting                 # the kernel whose width is to come from the data
    cdef Py_ssize_t up, down         # the classes of this round: f_up is to be above f_down; -1: there is one class
    cdef double sign                 # with one class, the label

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil
    cdef void begin_round(self) noexcept nogil
    cdef void all_scores(self, double* out) noexcept nogil
    cdef double weigh(self, Py_ssize_t column, const double* k) noexcept nogil
    cdef Py_ssize_t add(self, const Row* x, double tau) noexcept nogil
    cdef int replace(self, Py_ssize_t slot, const Row* x, double tau) noexcept nogil
    cdef void give(self, Py_ssize_t slot, double tau) noexcept nogil
    cdef void remove(self, Py_ssize_t slot) noexcept nogil
    cdef void shrink(self, double factor) noexcept nogil
    cdef int make_room(self, Py_ssize_t n) noexcept nogil
