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


cdef struct Memo:                # the results of `prepare` for some words
    Py_ssize_t n, room, places
    int* slot                    # of each row of the table; -1 without a slot
    int* row                     # the row of the table of each slot
    double* data                 # the prepared row of each slot
    double* top                  # the logarithm of the divisor of each prepared row
    double* sums                 # the sums of the open batch, in the shape of data; NULL in the view


cdef class TopicLearner(Representation):
    cdef Py_ssize_t K, width             # the number of topics, and the same rounded up to a multiple of four
    cdef Py_ssize_t n_features, batch
    cdef double eta, kappa, tau, step, total
    cdef unsigned long long seed
    cdef public Py_ssize_t open          # the number of documents in the open batch
    cdef public Py_ssize_t closed        # the number of closed batches
    cdef public double scale             # lambda = eta + scale x table
    cdef public double left              # the product of all 1 - rho: the weight of the initial lambda
    cdef Py_ssize_t known, room          # rows of the table, one for each known word in order of arrival
    cdef Py_ssize_t columns
    cdef int* place                      # the row of each column in the table; -1 for unknown words
    cdef int* word                       # the column of each row
    cdef double* table
    cdef double* sums                    # the sum of the rows of the table
    cdef double* mass                    # the sum of the sums of the open batch
    cdef Memo work                       # with lambda of the last closed batch
    cdef Memo view                       # with lambda as if the open batch were closed
    cdef Py_ssize_t viewed               # the round of the view
    cdef double decay, gain              # in the view lambda = eta + decay scale table + gain (sums of the batch)
    cdef bint asked                      # the caller needs the loss of this round
    cdef readonly double scored_bound, scored_words    # sums over the rounds that were `asked`; not part of the state
    cdef int current                     # `whole` is up to date: 1 for `work`, 2 for `view`, 0 for neither
    # the current document
    cdef Py_ssize_t n, words, words_room    # its words, the same rounded up to a multiple of four, and the capacity
    cdef Py_ssize_t strangers            # the number of its unknown words
    cdef double N                        # the sum of its counts
    cdef const double** row              # the prepared row of each word
    cdef double* count
    cdef double* norm                    # scratch memory, one number per word
    cdef double* top
    cdef int* at                         # the row of the word in the table, or -1 - column
    cdef double* strange                 # the rows of the unknown words
    cdef double* a                       # scratch memory for a row
    cdef double* ones
    cdef double* whole                   # sum_w lambda_kw over the known words

    cdef double* new_row(self) except NULL
    cdef double first(self, Py_ssize_t k, Py_ssize_t w) noexcept nogil
    cdef double prepare(self, const double* a, double* out) noexcept nogil
    cdef void weigh(self) noexcept nogil
    cdef double study(self, bint learning) noexcept nogil
    cdef void ended(self, double rho, double times) noexcept nogil

    cdef double rate(self, Py_ssize_t t) noexcept nogil
    cdef void read_word(self, Py_ssize_t w, double count, bint learning) noexcept nogil
    cdef void sum_lambda(self, bint learning) noexcept nogil
    cdef double times(self) noexcept nogil
    cdef int make_places(self, Py_ssize_t columns) noexcept nogil
    cdef int ready(self, Py_ssize_t n, Memo* memo, bint learning) noexcept nogil
    cdef int read_document(self, const Row* x, bint learning) noexcept nogil
    cdef void add(self, Py_ssize_t w) noexcept nogil
    cdef void first_row(self, Py_ssize_t w, double* out) noexcept nogil
    cdef void parameters(self, Py_ssize_t at, bint learning, double* out) noexcept nogil
    cdef double* sums_of(self, Py_ssize_t i) noexcept nogil
    cdef void look(self) noexcept nogil
    cdef void close(self) noexcept nogil
    cdef void add_up(self) noexcept nogil
    cdef bint interrupted(self) noexcept with gil
    cdef void refuse(self) noexcept with gil
