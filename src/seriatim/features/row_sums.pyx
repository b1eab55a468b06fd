"""Rows in which a column may occur several times, as where names are hashed: each once, with the sum of its values."""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free


cdef class RowSums:
    """A small hash table, of which the entries of earlier rows are told by their round; sorting would take longer."""

    def __dealloc__(self):
        free(self.slot)

    cdef Py_ssize_t summed(self, int* index, double* value, Py_ssize_t n) noexcept nogil:
        """Sum a row in place, in the order of the first of each column; returns its length, -1 if there is no memory."""
        cdef Py_ssize_t i, k = 0, size = 256
        cdef int shift = 24
        cdef uint32_t at
        cdef uint64_t key
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
