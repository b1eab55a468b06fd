"""Memory that grows."""

from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy
from posix.stdlib cimport posix_memalign

from seriatim.core.allowance cimport refused

cdef extern from *:
    Py_ssize_t PY_SSIZE_T_MAX


cdef inline bint too_much(Py_ssize_t n, size_t size) noexcept nogil:
    """Whether there cannot be, or may not be, n things of a size."""
    return n < 0 or n > PY_SSIZE_T_MAX // <Py_ssize_t> size or refused(n * <Py_ssize_t> size)


cdef inline void* allocate(Py_ssize_t n, size_t size) noexcept nogil:
    """Room for n things of a size, all zero; NULL if there is none."""
    return NULL if too_much(n, size) else calloc(max(n, 1), size)


cdef inline int resize(void** memory, Py_ssize_t n, size_t size) noexcept nogil:
    """Make room for n things of a size; -1 if there is none, and then the memory is as it was."""
    cdef void* larger = NULL if too_much(n, size) else realloc(memory[0], n * size)
    if larger == NULL:
        return -1
    memory[0] = larger
    return 0


cdef inline int resize_aligned(void** memory, Py_ssize_t had, Py_ssize_t n, size_t size) noexcept nogil:
    """The same for at least as many as there were, from the start of a cache line on: for loops that take a whole one
    at a time, and would else read from two."""
    cdef void* larger = NULL
    if too_much(n, size) or posix_memalign(&larger, 64, n * size) != 0:
        return -1
    if had > 0:
        memcpy(larger, memory[0], had * size)
    free(memory[0])
    memory[0] = larger
    return 0
