cdef struct List:
    int* item
    double* value                # beside each, if any
    int* slot                    # of long lists: a hash table of places and 1
    int n, room, slots


cdef class Lists:
    cdef List* lists
    cdef readonly Py_ssize_t n, total    # of lists, and of the items in them
    cdef public Py_ssize_t most          # of those items
    cdef Py_ssize_t room
    cdef bint valued

    cdef int grow(self, Py_ssize_t n) except -1
    cdef int ready(self, Py_ssize_t a) noexcept nogil
    cdef int find(self, Py_ssize_t a, int b) noexcept nogil
    cdef int add(self, Py_ssize_t a, int b) noexcept nogil
    cdef void enter(self, List* mine, int k) noexcept nogil
