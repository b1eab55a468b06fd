"""Putting the columns of a row in order."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline bint in_order(const int* index, Py_ssize_t n) noexcept nogil:
    """Whether the columns ascend, each once."""
    cdef Py_ssize_t i
    cdef int descents = 0
    for i in range(1, n):
        descents |= index[i] <= index[i - 1]
    return not descents


cdef inline void merge_sort(uint64_t* key, uint64_t* room, Py_ssize_t n) noexcept nogil:
    """Runs of eight by insertion, then merged; rows are short, and the branches of a quicksort hard to foresee."""
    cdef Py_ssize_t width = 8, begin, middle, end, i, j, k
    cdef uint64_t x
    for begin in range(0, n, 8):
        end = min(begin + 8, n)
        for i in range(begin + 1, end):
            x = key[i]
            j = i
            while j > begin and key[j - 1] > x:
                key[j] = key[j - 1]
                j -= 1
            key[j] = x
    while width < n:
        begin = 0
        while begin < n:
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            i, j = begin, middle
            for k in range(begin, end):
                if i < middle and (j >= end or key[i] < key[j]):
                    room[k] = key[i]
                    i += 1
                else:
                    room[k] = key[j]
                    j += 1
            begin = end
        memcpy(key, room, n * sizeof(uint64_t))
        width *= 2


cdef inline Py_ssize_t put_in_order(int* index, double* value, Py_ssize_t n, uint64_t* room) noexcept nogil:
    """Sort a row by its columns, in place, and sum the values of a column in the order in which they stand.

    `room` is for 3 n numbers. Returns how many columns there are.
    """
    cdef Py_ssize_t i, k = 0
    cdef uint64_t* key = room
    cdef double* old = <double*> (room + 2 * n)
    if in_order(index, n):
        return n
    for i in range(n):
        key[i] = <uint64_t> index[i] << 32 | <uint64_t> i
        old[i] = value[i]
    merge_sort(key, room + n, n)
    for i in range(n):
        if k and <int> (key[i] >> 32) == index[k - 1]:
            value[k - 1] += old[<uint32_t> key[i]]
        else:
            index[k] = <int> (key[i] >> 32)
            value[k] = old[<uint32_t> key[i]]
            k += 1
    return k
