from seriatim.core.row cimport Row
from seriatim.core.table cimport Table


cdef class Learner:
    cdef public Py_ssize_t t             # the round: 1 at the first example
    cdef public Py_ssize_t updates       # rounds that changed the model
    cdef public double constant          # the first value of every row: 1, or 0 without an intercept
    cdef readonly Py_ssize_t classes     # 1: one score, for two labels or a number; else one score a label
    cdef readonly bint apart             # what it predicts is not the score that its update looks at
    cdef double weight                   # the importance of the example of this round; not state
    cdef readonly bint weighted          # the method says what a weight other than 1 means
    cdef readonly bint particular        # not every row of numbers will do: `expect` says which
    cdef bint failed                     # out of memory; the round was not learned
    cdef bint halted                     # the round was learned, and there is something to raise before the next
    cdef readonly bint torn              # the last round ended in its middle: the state before is to be put back
    cdef readonly Py_ssize_t learned     # rows of the last loop
    cdef Py_ssize_t at                   # the row at hand, counted from the first of the loop
    cdef double* room                    # scores of a round that nobody asked for
    cdef char* seen                      # labels that compete

    cdef double score(self, const Row* x) noexcept nogil
    cdef double learn(self, const Row* x, double y) noexcept nogil
    cdef void scores(self, const Row* x, double* out) noexcept nogil
    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil
    cdef int grow(self, Py_ssize_t rows) except -1
    cdef int begin_rows(self, Py_ssize_t n) except -1
    cdef void end_rows(self) noexcept
    cdef int expect(self, const Row* x, where) except -1
    cdef void predict(self, const Row* x, double* out) noexcept nogil
    cdef void round(self, const Row* x, double y, double* out) noexcept nogil
    cdef Py_ssize_t rival(self, Py_ssize_t y, const double* scores) noexcept nogil


cdef class Linear(Learner):
    cdef Table table
    cdef bint average
    cdef public double scale             # w = scale x table
    cdef public double total             # the sum of the scales so far, for the average
    cdef public double norm2             # |w|^2, if it is bounded
    cdef bint bounded                    # w is projected onto a ball
    cdef bint moved                      # w has changed since

    cdef void count(self) noexcept nogil
    cdef void fold(self) noexcept nogil
    cdef void move(self, const Row* x, double a, Py_ssize_t column) noexcept nogil
    cdef void updated(self, double change) noexcept nogil
    cdef void shrink(self, double factor) noexcept nogil
    cdef void project(self, double radius) noexcept nogil
    cdef void measure(self) noexcept nogil
    cdef void end_round(self) noexcept nogil
    cdef void raw_scores(self, const Row* x, double* out) noexcept nogil


cdef class MarginLearner(Linear):
    cdef double step(self, double margin, double norm2) noexcept nogil


cdef class ResidualLearner(Linear):
    cdef double step(self, double residual, double norm2) noexcept nogil
