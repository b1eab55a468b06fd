from libc.stdint cimport uint32_t

from seriatim.core.rows cimport Rows

cimport cython


@cython.final
cdef class Names:
    cdef char* text                    # all names, one after another
    cdef Py_ssize_t* end               # the end of each name in the text
    cdef uint32_t* hash
    cdef Py_ssize_t* last              # used by encoders: the index of each name's last value; at first -1
    cdef int* slot                     # a hash table of name numbers + 1; 0 is free
    cdef Py_ssize_t n, used, room, text_room, slots
    cdef Py_ssize_t learned            # a model has columns for the first `learned` names
    cdef dict places                   # used by encoders: name numbers of the strings of dictionary columns

    cdef int grow(self, Py_ssize_t length) noexcept nogil
    cdef Py_ssize_t place(self, uint32_t hash) noexcept nogil
    cdef int find(self, const char* prefix, Py_ssize_t before, char mark, const char* name, Py_ssize_t length,
                  uint32_t hash) noexcept nogil
    cdef int number(self, const char* prefix, Py_ssize_t before, char mark, const char* name, Py_ssize_t length,
                    uint32_t hash) noexcept nogil
    cdef void begin_rows(self) noexcept nogil
    cdef void forget(self, Py_ssize_t n) noexcept nogil


cdef class Vocabulary:
    cdef dict number                # name -> column
    cdef readonly list names
    cdef int add(self, str name) except -1
    cdef Names table                # the names as bytes; completed when needed
    cdef Names translated           # the names last translated when learning, and their columns
    cdef int[::1] translation
    cdef int[::1] columns_of(self, Names names, Py_ssize_t n, bint learning)
    cdef long long[::1] stamps      # by column: the call of `twice` that last saw it
    cdef long long stamp
    cdef bint twice(self, int[::1] column, Py_ssize_t n) except -1
    cpdef Rows translate(self, Rows rows, bint learning)
