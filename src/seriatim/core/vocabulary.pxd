from seriatim.core.names cimport Names
from seriatim.core.row cimport Row
from seriatim.core.rows cimport Rows

cdef struct Met:
    void* key                       # an object that was looked up, which is held
    Py_ssize_t column

cdef class Vocabulary:
    cdef dict number                # name -> column
    cdef readonly list names
    cdef double* value
    cdef int* index
    cdef Met* met                   # two of them where a key may be
    cdef int shift                  # 64 less the bits of such a place
    cdef Py_ssize_t room
    cdef Py_ssize_t n
    cdef double outside             # the squared values of names that are not known
    cdef list fresh                 # names first seen in the row at hand
    cdef int reserve(self, Py_ssize_t n) except -1
    cdef Py_ssize_t expected(self) noexcept
    cdef int add_expected(self) except -1
    cdef Py_ssize_t recalled(self, void* key) noexcept
    cdef void remember(self, object name, Py_ssize_t column) noexcept
    cdef int forget(self, int bits) except -1
    cdef int column(self, object name, bint learning) except -2
    cdef int take(self, object name, double value, bint learning) except -1
    cdef bint reading               # an example is being read
    cdef int encode(self, dict x, bint learning, double constant, Row* row) except -1
    cdef bint read(self, dict x, bint learning, bint flat) except -1
    cdef Names table                # the names, as far as there was need
    cdef Names translated           # the names last seen when learning, and the columns of the first of them
    cdef int[::1] translation
    cdef int[::1] columns_of(self, Names names, Py_ssize_t n, bint learning)
    cdef long long[::1] stamps      # by column: when `twice` last met it
    cdef long long stamp
    cdef bint twice(self, int[::1] column, Py_ssize_t n) except -1
    cpdef Rows translate(self, Rows rows, bint learning)
