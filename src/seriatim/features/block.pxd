"""The memory of the rows of a block."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from seriatim.core.row cimport sum_of_squares
from seriatim.core.rows cimport Rows

cimport cython


cdef class Workspace:
    cdef double* y
    cdef int* name                     # the number of a label that is not a number, or -1
    cdef double* weight                # used if a row has a weight other than 1
    cdef double* norm2
    cdef long long* start
    cdef int* index
    cdef double* value
    cdef Py_ssize_t rows_room, values_room

    cdef int reserve_rows(self, Py_ssize_t n) noexcept nogil
    cdef int reserve_values(self, Py_ssize_t n) noexcept nogil


cdef class Block:
    cdef Workspace workspace
    cdef readonly Rows rows
    cdef readonly object y             # labels or targets, numbers where they are numbers
    cdef readonly Py_ssize_t lines
    cdef readonly list bad             # (line within the block, column, problem) of the first bad lines
    cdef readonly Py_ssize_t bad_count


cdef struct Position:
    Py_ssize_t rows, values            # of completed rows
    const char* where                  # in a text: the end of the line, or where the problem is
    int features
    bint named                         # a label is a name
    bint weighted                      # a weight is not 1
    bint unsorted


cdef enum:
    MARK_BITS = 14


@cython.final
cdef class RowSums:
    cdef uint64_t* slot                # pairs: round and column; index in the row
    cdef Py_ssize_t size
    cdef uint64_t round
    cdef uint8_t[1 << MARK_BITS] mark  # by a hash of the column: the last row that had it
    cdef uint8_t turn

    cdef bint differ(self, const int* index, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t summed(self, int* index, double* value, Py_ssize_t n) noexcept nogil


cdef Workspace new_workspace(Py_ssize_t length)
cdef Rows finished_rows(Workspace work, Position* at, object names)
cdef Block finish(Workspace work, Position* at, list labels, Py_ssize_t lines, list bad, Py_ssize_t bad_count,
                  object names=*)


cdef inline void add_row(Workspace work, Position* at, Py_ssize_t end) noexcept nogil:
    """Complete a row that ends at value number `end`."""
    work.norm2[at.rows] = sum_of_squares(work.value + at.values, end - at.values)
    at.values = end
    at.rows += 1
    work.start[at.rows] = end
