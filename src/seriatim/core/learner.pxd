from seriatim.core.row cimport Row
from seriatim.core.table cimport Table


cdef class DictReader:
    cdef readonly bint busy              # while an example is read, scored or learned
    cdef int begin(self) except -1
    cdef int read(self, features) except -1
    cdef int show(self, bint learning, double constant, Row* row) except -1
    cdef Py_ssize_t columns(self) noexcept
    cdef int keep_names(self) except -1
    cdef void settle(self) noexcept
    cdef int undo(self) except -1


cdef class Learner:
    cdef public Py_ssize_t t             # number of rounds so far
    cdef public Py_ssize_t updates       # number of rounds that changed the model
    cdef public double constant          # the value of the intercept's feature: 1, or 0 without an intercept
    cdef readonly Py_ssize_t classes     # 1: one score, for two labels or a number; else one score per label
    cdef readonly bint apart             # the prediction is not the score that the update uses
    cdef double weight                   # sample weight of the current example; not state
    cdef readonly bint weighted          # the method accepts sample weights other than 1
    cdef readonly bint particular        # the method does not accept all rows; see `expect`
    cdef bint failed                     # the round ran out of memory and was not learned
    cdef bint halted                     # the round was learned; check_memory raises an error before the next
    cdef readonly bint torn              # the last round broke off; the model must be restored
    cdef readonly Py_ssize_t learned     # number of rows that the last loop learned
    cdef Py_ssize_t at                   # number of the current row in the loop
    cdef double* room                    # scores of a round without a sink
    cdef char* seen                      # which classes compete

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
    cdef int take_in(self, DictReader reader, Row* x) except -1
    cdef score_read(self, DictReader reader)


cdef class LinearLearner(Learner):
    cdef Table table
    cdef bint average
    cdef public double scale             # w = scale x table
    cdef public double total             # sum of the scales so far, for the average
    cdef public double norm2             # |w|^2 if `bounded`
    cdef bint bounded                    # w is projected onto a ball
    cdef bint moved                      # w has changed since the last projection

    cdef void count(self) noexcept nogil
    cdef void fold(self) noexcept nogil
    cdef void move(self, const Row* x, double a, Py_ssize_t column) noexcept nogil
    cdef void updated(self, double change) noexcept nogil
    cdef void shrink(self, double factor) noexcept nogil
    cdef void project(self, double radius) noexcept nogil
    cdef void measure(self) noexcept nogil
    cdef void end_round(self) noexcept nogil
    cdef void raw_scores(self, const Row* x, double* out) noexcept nogil


cdef class MarginLearner(LinearLearner):
    cdef double step(self, double margin, double norm2) noexcept nogil


cdef class ResidualLearner(LinearLearner):
    cdef double step(self, double residual, double norm2) noexcept nogil
