"""Allocation with checks for overflow and for the limit on model files."""

from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy
from posix.stdlib cimport posix_memalign

from seriatim.core.allowance cimport refused

cdef extern from *:
    Py_ssize_t PY_SSIZE_T_MAX


cdef inline bint too_much(Py_ssize_t n, size_t size) noexcept nogil:
    """Whether n items of `size` bytes overflow or exceed the limit of an open Allowance."""
    return n < 0 or n > PY_SSIZE_T_MAX // <Py_ssize_t> size or refused(n * <Py_ssize_t> size)


cdef inline void* allocate(Py_ssize_t n, size_t size) noexcept nogil:
    """Zeroed memory for n items of `size` bytes; NULL if there is none."""
    return NULL if too_much(n, size) else calloc(max(n, 1), size)


cdef inline int resize(void** memory, Py_ssize_t n, size_t size) noexcept nogil:
    """Resize memory to n items of `size` bytes; returns -1, and changes nothing, if there is none."""
    cdef void* larger = NULL if too_much(n, size) else realloc(memory[0], n * size)
    if larger == NULL:
        return -1
    memory[0] = larger
    return 0


cdef inline int resize_aligned(void** memory, Py_ssize_t had, Py_ssize_t n, size_t size) noexcept nogil:
    """Grow memory from `had` to n items, aligned to a cache line: loops over whole lines then read one, not two."""
    cdef void* larger = NULL
    if too_much(n, size) or posix_memalign(&larger, 64, n * size) != 0:
        return -1
    if had > 0:
        memcpy(larger, memory[0], had * size)
    free(memory[0])
    memory[0] = larger
    return 0
