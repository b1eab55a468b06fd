cdef class Numbering:
    cdef readonly list labels
    cdef readonly str kind
    cdef dict number                # label -> number
    cdef long long* key             # hash table of the labels that fit 64 bits: the label,
    cdef int* slot                  # and its number plus 1, or 0 for an empty slot
    cdef Py_ssize_t slots, used, hashed    # slots, slots in use, labels entered or skipped so far

    cdef Py_ssize_t one(self, object label, bint learning) except -2
    cdef Py_ssize_t add(self, object label) except -2
    cdef object numbers(self, given, bint learning)
    cdef object of_words(self, const long long[::1] given, bint learning)
    cdef int catch_up(self) except -1
    cdef int grow(self) except -1
    cdef void insert(self, long long label, int number) noexcept nogil
    cdef int look_up(self, long long label) noexcept nogil
