"""The memory of the rows of a block, and the sums of hashed columns."""

import numpy as np

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from seriatim.core.memory cimport resize

from seriatim.core.rows import LIMIT

cdef extern from "simd.h":
    bint rows_of_columns(Py_ssize_t n, Py_ssize_t m, const double** column, double* out, double* norm2,
                         double limit) noexcept nogil


cdef class Workspace:
    """Memory for the rows of one block. The next block reuses it: new pages from the system cost more than parsing."""

    def __dealloc__(self):
        free(self.y)
        free(self.name)
        free(self.weight)
        free(self.norm2)
        free(self.start)
        free(self.index)
        free(self.value)

    cdef int reserve_rows(self, Py_ssize_t n) noexcept nogil:
        if n <= self.rows_room:
            return 0
        if (resize(<void**> &self.y, n, sizeof(double)) < 0 or resize(<void**> &self.name, n, sizeof(int)) < 0
                or resize(<void**> &self.weight, n, sizeof(double)) < 0
                or resize(<void**> &self.norm2, n, sizeof(double)) < 0
                or resize(<void**> &self.start, n + 1, sizeof(long long)) < 0):
            return -1
        self.rows_room = n
        return 0

    cdef int reserve_values(self, Py_ssize_t n) noexcept nogil:
        if n <= self.values_room:
            return 0
        if resize(<void**> &self.index, n, sizeof(int)) < 0 or resize(<void**> &self.value, n, sizeof(double)) < 0:
            return -1
        self.values_room = n
        return 0


cdef enum:
    MOST_SPARE = 16

cdef list spare = []                   # workspaces for the next blocks


cdef class Block:
    """The content of a block of lines: rows, labels, the number of lines, and the bad lines."""

    def release(self):
        """Release the memory for the next block. The rows must not be used after this."""
        if self.workspace is not None and not self.rows.shared:
            self.rows.forget()
            if len(spare) < MOST_SPARE:
                spare.append(self.workspace)
        self.workspace = None


cdef Workspace new_workspace(Py_ssize_t length):
    """Memory for the rows of a text of `length` bytes; it grows when needed. -1: for one row at a time."""
    cdef Workspace work = spare.pop() if spare and length >= 0 else Workspace.__new__(Workspace)
    if work.reserve_rows(64 + length // 256) < 0 or work.reserve_values(64 + length // 12) < 0:
        raise MemoryError
    work.start[0] = 0
    return work


def stacked(list columns):
    """The checked rows of columns of numbers; None if a value is NaN or out of range."""
    cdef Py_ssize_t j, m = len(columns), n = len(columns[0])
    cdef double limit = LIMIT * LIMIT
    cdef const double[::1] column
    cdef const double** values = <const double**> malloc(m * sizeof(void*))
    cdef Workspace work = new_workspace(0)
    cdef Rows rows = Rows.__new__(Rows)
    cdef bint good
    try:
        if values == NULL or work.reserve_rows(n) < 0 or work.reserve_values(n * m) < 0:
            raise MemoryError(f"no memory for {n} rows")
        for j, one in enumerate(columns):
            column = one
            if len(column) != n:
                raise ValueError(f"column {j} has {len(column)} of {n} values")
            values[j] = &column[0] if n else NULL
        with nogil:
            good = rows_of_columns(n, m, values, work.value, work.norm2, limit)
    finally:
        free(values)
    rows.owner = work
    rows.n, rows.features, rows.nonzeros = n, m, n * m
    rows.value, rows.norm2 = work.value, work.norm2
    if good:
        return rows
    recycle(rows)
    return None


def recycle(Rows rows):
    """Release the memory of rows that are no longer used, for the next block."""
    work = rows.owner
    if rows.give_up() and isinstance(work, Workspace) and len(spare) < MOST_SPARE:
        spare.append(work)


cdef Rows finished_rows(Workspace work, Position* at, object names):
    """The completed rows. names : of their columns; None if columns are hashed."""
    cdef Rows rows = Rows.borrow(
        work, at.rows, at.features, work.start, work.index, work.value, NULL if at.unsorted else work.norm2
    )
    if at.weighted:
        rows.weight = work.weight
    rows = rows.check()
    rows.names = names
    return rows


cdef Block finish(Workspace work, Position* at, list labels, Py_ssize_t lines, list bad, Py_ssize_t bad_count,
                  object names=None):
    """The block of the completed rows."""
    cdef Block block = Block.__new__(Block)
    cdef Py_ssize_t i
    cdef double[::1] y = <double[:max(at.rows, 1)]> work.y
    block.workspace, block.lines, block.bad, block.bad_count = work, lines, bad, bad_count
    block.rows = finished_rows(work, at, names)
    block.y = np.array(y[:at.rows])
    if at.named:
        block.y = block.y.astype(object)
        for i in range(at.rows):
            if work.name[i] >= 0:
                block.y[i] = labels[work.name[i]]
    return block


cdef enum:
    USUAL = 128                        # columns; in longer rows some marks would collide


cdef class RowSums:
    """Sums values of equal columns in a hash table. Each row has its own round, so nothing is cleared."""

    def __dealloc__(self):
        free(self.slot)

    cdef bint differ(self, const int* index, Py_ssize_t n) noexcept nogil:
        """Whether all columns certainly differ. Marks of different columns rarely collide in a row of usual length.

        No branch depends on what is found: it could not be predicted.
        """
        cdef Py_ssize_t i
        cdef uint32_t at
        cdef bint met = False
        cdef uint8_t turn = self.turn + 1
        if turn == 0:
            memset(self.mark, 0, sizeof(self.mark))
            turn = 1
        self.turn = turn
        for i in range(n):
            at = <uint32_t> index[i] * 0x9E3779B1u >> (32 - MARK_BITS)
            met |= self.mark[at] == turn
            self.mark[at] = turn
        return not met

    cdef Py_ssize_t summed(self, int* index, double* value, Py_ssize_t n) noexcept nogil:
        """Sum a row in place, in order of first occurrence. Returns its number of columns; -1 if there is no memory."""
        cdef Py_ssize_t i, k = 0, size = 256
        cdef int shift = 24
        cdef uint32_t at
        cdef uint64_t key
        if n <= USUAL and self.differ(index, n):
            return n
        while size < 2 * n:
            size *= 2
            shift -= 1
        if size > self.size:
            free(self.slot)
            self.slot = <uint64_t*> calloc(size, 2 * sizeof(uint64_t))
            self.size = size if self.slot != NULL else 0
            self.round = 0
            if self.slot == NULL:
                return -1
        self.round += 1
        for i in range(n):
            key = self.round << 32 | <uint32_t> index[i]
            at = <uint32_t> index[i] * 0x9E3779B1u >> shift
            while self.slot[2 * at] >> 32 == self.round and self.slot[2 * at] != key:
                at = (at + 1) & <uint32_t> (size - 1)
            if self.slot[2 * at] == key:
                value[self.slot[2 * at + 1]] += value[i]
            else:
                self.slot[2 * at], self.slot[2 * at + 1] = key, <uint64_t> k
                index[k], value[k] = index[i], value[i]
                k += 1
        return k
