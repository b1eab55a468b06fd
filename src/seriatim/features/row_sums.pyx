"""Rows in which a column may occur several times, as where names are hashed: each once, with the sum of its values."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

cdef enum:
    USUAL = 128                        # columns of a row; of more, some marks would coincide


cdef class RowSums:
    """A small hash table, of which the entries of earlier rows are told by their round; sorting would take longer."""

    def __dealloc__(self):
        free(self.slot)

    cdef bint differ(self, const int* index, Py_ssize_t n) noexcept nogil:
        """Whether all columns are known to differ, by marks of which two hardly ever coincide in a row of usual length.

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
        """Sum a row in place, in the order of the first of each column; returns its length, -1 for want of memory."""
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
