cdef struct List:
    int* item
    double* value                # of each item, if there are values
    int* slot                    # hash table of a long list: index plus 1
    int n, room, slots


cdef class Lists:
    cdef List* lists
    cdef readonly Py_ssize_t n, total    # the number of lists, and of items in them
    cdef public Py_ssize_t most          # the largest total
    cdef Py_ssize_t room
    cdef bint valued

    cdef int grow(self, Py_ssize_t n) except -1
    cdef int ready(self, Py_ssize_t a) noexcept nogil
    cdef int find(self, Py_ssize_t a, int b) noexcept nogil
    cdef int add(self, Py_ssize_t a, int b) noexcept nogil
    cdef void enter(self, List* mine, int k) noexcept nogil
