from seriatim.core.learner cimport LinearLearner
from seriatim.core.loss cimport Gradient
from seriatim.core.row cimport Row


cdef inline double soft(double w, double by) noexcept nogil:
    """sgn(w) [|w| - by]+, by >= 0. The sign of w is random, so a branch on it would be mispredicted: 3 times slower."""
    cdef double most = w if w < by else by
    return w - (most if most > -by else -by)


cdef inline double within_range(double sum) noexcept nogil:
    """A sum of squares, which only a run that diverges takes to 1e300. A call of fmin would be slower."""
    return sum if sum < 1e300 else 1e300


cdef class Lazy(LinearLearner):
    cdef Gradient gradient
    cdef bint regression

    cdef void products(self, const Row* x, Py_ssize_t column, int n, double* out) noexcept nogil
    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil
    cdef double length(self, double slope) noexcept nogil
