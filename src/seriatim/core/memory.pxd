"""Memory that grows."""

from libc.stdlib cimport free, realloc
from libc.string cimport memcpy
from posix.stdlib cimport posix_memalign


cdef inline int resize(void** memory, Py_ssize_t n, size_t size) noexcept nogil:
    """Make room for n things of a size; -1 if there is none, and then the memory is as it was."""
    cdef void* larger = realloc(memory[0], n * size)
    if larger == NULL:
        return -1
    memory[0] = larger
    return 0


cdef inline int resize_aligned(void** memory, Py_ssize_t had, Py_ssize_t n, size_t size) noexcept nogil:
    """The same for at least as many as there were, from the start of a cache line on: for loops that take a whole one
    at a time, and would else read from two."""
    cdef void* larger = NULL
    if posix_memalign(&larger, 64, n * size) != 0:
        return -1
    if had > 0:
        memcpy(larger, memory[0], had * size)
    free(memory[0])
    memory[0] = larger
    return 0
