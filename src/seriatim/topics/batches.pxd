from seriatim.core.representation cimport Representation
from seriatim.core.row cimport Row


cdef extern from "digamma.h" nogil:
    double natural_log(double x) noexcept
    double digamma(double x) noexcept
    double exp_digamma(double x) noexcept
    double log_gamma(double x) noexcept

cdef extern from "documents.h" nogil:
    void digamma_row(Py_ssize_t n, const double* a, double* out) noexcept
    void mixture(Py_ssize_t n, double constant, double a, const double* x, double b, const double* y,
                 double* out) noexcept
    void add_multiple_of(Py_ssize_t n, double a, const double* x, double* out) noexcept


cdef struct Memo:                # what has been made of the rows of some words
    Py_ssize_t n, room, places
    int* slot                    # of each row of the table; -1 where it has none
    int* row                     # of the table, of each slot
    double* data                 # rows of numbers
    double* top                  # the logarithm of what a row has been divided by
    double* sums                 # of the open batch, as long as data; NULL where nothing is summed


cdef class TopicLearner(Representation):
    cdef Py_ssize_t K, width             # topics, and the numbers of a row: those and zeros, a multiple of four
    cdef Py_ssize_t n_features, batch
    cdef double eta, kappa, tau, step, total
    cdef unsigned long long seed
    cdef public Py_ssize_t open          # documents in the open batch
    cdef public Py_ssize_t closed        # batches
    cdef public double scale             # lambda = eta + scale x table
    cdef public double left              # the product of all 1 - rho: what is left of the first lambda
    cdef Py_ssize_t known, room          # rows of the table: the words that have come, in the order in which they came
    cdef Py_ssize_t columns
    cdef int* place                      # of each column, the row of the table; -1: none
    cdef int* word                       # of each row, the column
    cdef double* table
    cdef double* sums                    # of the rows of the table
    cdef double* mass                    # of the sums of the open batch
    cdef Memo work, view                 # by the topics of the last closed batch; and as if the open one were closed
    cdef Py_ssize_t viewed               # the round of which the view is
    cdef double decay, gain              # of the view: lambda = eta + decay scale table + gain (sums of the batch)
    cdef bint asked                      # somebody wants the loss of this round
    cdef readonly double told_bound, told_words    # the sums of those that somebody wanted; not state
    cdef int current                     # `whole` is of: 1 the closed batches, 2 the view; 0: neither
    # the document at hand
    cdef Py_ssize_t n, words, words_room    # its words, the same to a multiple of four, and room for so many
    cdef Py_ssize_t strangers            # words of it that the model does not know
    cdef double N                        # the sum of its counts
    cdef const double** row              # what has been made of each word
    cdef double* count
    cdef double* norm                    # room for a number of each word
    cdef double* top
    cdef int* at                         # its row of the table, else -1 - column
    cdef double* strange                 # rows of the strangers
    cdef double* a                       # room for a row
    cdef double* ones
    cdef double* whole                   # sum_w lambda_kw, over the words that are known

    cdef double* new_row(self) except NULL
    cdef double first(self, Py_ssize_t k, Py_ssize_t w) noexcept nogil
    cdef double prepare(self, const double* a, double* out) noexcept nogil
    cdef void weigh(self) noexcept nogil
    cdef double study(self, bint learning) noexcept nogil
    cdef void ended(self, double rho, double times) noexcept nogil

    cdef double rate(self, Py_ssize_t t) noexcept nogil
    cdef double times(self) noexcept nogil
    cdef int make_places(self, Py_ssize_t columns) noexcept nogil
    cdef int ready(self, Py_ssize_t n, Memo* memo, bint learning) noexcept nogil
    cdef int meet(self, const Row* x, bint learning) noexcept nogil
    cdef void add(self, Py_ssize_t w) noexcept nogil
    cdef void first_row(self, Py_ssize_t w, double* out) noexcept nogil
    cdef void parameters(self, Py_ssize_t at, bint learning, double* out) noexcept nogil
    cdef double* sums_of(self, Py_ssize_t i) noexcept nogil
    cdef void look(self) noexcept nogil
    cdef void close(self) noexcept nogil
    cdef void add_up(self) noexcept nogil
    cdef bint interrupted(self) noexcept with gil
    cdef void refuse(self) noexcept with gil
