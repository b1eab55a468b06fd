"""Memory that grows."""

from libc.stdlib cimport realloc


cdef inline int resize(void** memory, Py_ssize_t n, size_t size) noexcept nogil:
    """Make room for n things of a size; -1 if there is none, and then the memory is as it was."""
    cdef void* larger = realloc(memory[0], n * size)
    if larger == NULL:
        return -1
    memory[0] = larger
    return 0
