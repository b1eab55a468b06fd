from seriatim.core.row cimport Row

cimport cython


cdef extern from "pace.h" nogil:
    ctypedef struct Pace:                  # shared by a thread that checks rows and one that learns them
        Py_ssize_t checked                 # number of rows checked
        Py_ssize_t learned                 # number of rows learned
        Py_ssize_t ended                   # the checking has ended, or shall end
    Py_ssize_t read_now(const Py_ssize_t* number)
    void write_now(Py_ssize_t* number, Py_ssize_t value)
    void wait_a_little(Py_ssize_t turn)


@cython.final
cdef class Rows:
    cdef readonly Py_ssize_t n             # rows
    cdef readonly Py_ssize_t features      # columns
    cdef readonly Py_ssize_t nonzeros
    cdef Py_ssize_t first                  # position of the first row within the block that was sliced
    cdef object owner                      # keeps the memory of the pointers alive
    cdef public object names               # Names of the columns; None: the columns are the model's own
    cdef public dict schema                # kinds of the columns of the table that the rows come from
    cdef public object made_by             # the Features of the stream that made the rows; None: the defaults
    cdef const double* value
    cdef const int* index                  # NULL: dense
    cdef const long long* start            # sparse: row i is value[start[i]:start[i + 1]]
    cdef bint ascending                    # the columns are known to be sorted
    cdef bint summed                       # values are sums of checked values
    cdef public bint encoded               # the columns are the model's own, and scaled; see Estimator.encoded
    cdef public bint gaps                  # NaN stands for a missing value and is no error
    cdef double* norm2                     # NULL until checked
    cdef bint owns_norm2
    cdef const double* weight              # sample weights; NULL: all 1
    cdef readonly bint shared              # a slice of these rows exists, in the same memory
    cdef bint gone                         # the memory was reused for other rows
    cdef int expect_here(self) except -1
    cdef int expect_checked(self) except -1
    cdef Rows sorted(self)
    cdef Pace* pace                        # NULL unless another thread is checking the rows
    cdef int expect_more(self, Py_ssize_t i) except -1
    cdef int check_columns(self) except -1
    cdef Py_ssize_t examine(self, Py_ssize_t begin, Py_ssize_t end, bint* ordered) noexcept nogil
    cdef Py_ssize_t stretch(self, Py_ssize_t begin) noexcept nogil
    cdef int refuse_row(self, Py_ssize_t i) except -1
    cdef bint outside(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t bad_column(self, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t bad_value(self, Py_ssize_t i) noexcept nogil
    cdef Rows replaced(self, start, index, value, Py_ssize_t features)
    cdef Rows renumbered(self, index, Py_ssize_t features)
    cdef Rows revalued(self, value, norm2)
    cdef void forget(self) noexcept

    @staticmethod
    cdef Rows borrow(object owner, Py_ssize_t n, Py_ssize_t features, long long* start, int* index, double* value,
                     double* norm2)

    cdef inline Py_ssize_t ready(self, Py_ssize_t i, Py_ssize_t stop) noexcept nogil:
        """The end of the checked rows from i on, at most `stop`; i if the checking ended before row i."""
        cdef Py_ssize_t turn = 0, checked
        if self.pace == NULL:
            return stop
        write_now(&self.pace.learned, i)
        while read_now(&self.pace.checked) <= i and not read_now(&self.pace.ended):
            wait_a_little(turn)
            turn += 1
        checked = read_now(&self.pace.checked)
        return max(i, min(checked, stop))

    cdef inline void get(self, Py_ssize_t i, double constant, Row* x) noexcept nogil:
        """Fill x with row i."""
        x.constant = constant
        x.norm2 = self.norm2[i] + constant
        if self.index == NULL:
            x.index = NULL
            x.value = self.value + i * self.features
            x.n = self.features
        else:
            x.index = self.index + self.start[i]
            x.value = self.value + self.start[i]
            x.n = self.start[i + 1] - self.start[i]
