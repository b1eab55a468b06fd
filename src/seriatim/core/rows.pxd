from seriatim.core.row cimport Row

cimport cython


cdef extern from "pace.h" nogil:
    ctypedef struct Pace:                  # of one thread that checks rows and another that learns them
        Py_ssize_t checked                 # so many rows have been
        Py_ssize_t learned                 # so many are past
        Py_ssize_t ended                   # no more rows will be checked, or none are wanted
    Py_ssize_t read_now(const Py_ssize_t* number)
    void write_now(Py_ssize_t* number, Py_ssize_t value)
    void wait_a_little(Py_ssize_t turn)


@cython.final
cdef class Rows:
    cdef readonly Py_ssize_t n             # rows
    cdef readonly Py_ssize_t features      # columns: what a learner must have room for
    cdef readonly Py_ssize_t nonzeros
    cdef Py_ssize_t first                  # the number of the first row in the block that these are a part of
    cdef object owner                      # of the memory that the pointers point into
    cdef public object names               # of the columns, as Names; None where columns are the model's own
    cdef public dict schema                # of the table that they come from: the kind of each of its columns
    cdef public object made_by             # the features of the stream that they come from, if they are not the usual
    cdef const double* value
    cdef const int* index                  # NULL: dense
    cdef const long long* start            # sparse: row i is value[start[i]:start[i + 1]]
    cdef bint ascending                    # the columns are known to be in order
    cdef bint summed                       # values are sums of such as have been checked
    cdef public bint encoded               # the columns are the model's own, and scaled: see Estimator.encoded
    cdef public bint gaps                  # NaN is a value that is not known, and not an error
    cdef double* norm2                     # NULL until checked
    cdef bint owns_norm2
    cdef const double* weight              # the importance of each row; NULL: 1
    cdef readonly bint shared              # a part of these rows has been handed out, in the same memory
    cdef bint gone                         # the memory belongs to other rows now
    cdef int expect_here(self) except -1
    cdef int expect_checked(self) except -1
    cdef Rows sorted(self)
    cdef Pace* pace                        # NULL unless they are being checked by another thread
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
        """Where the rows from i on that may be learned end; i if row i was not found good."""
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
        """Row i, as a learner sees it."""
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
