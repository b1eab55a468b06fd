cimport cython

cdef enum:
    FEW_ROWS = 16                      # rows taken together


cdef struct Cells:                     # of one column
    const double* number               # numbers; NULL: strings
    const long long* offset            # string i is text[offset[i]:offset[i + 1]] where known[i]
    const char* text
    const unsigned char* known
    const int* code                    # the string of each cell, for dictionaries; negative: missing
    int* place                         # by string of a dictionary: 1 + the number of its name; 0: not known yet
    bint category                      # a string that is no date is always one feature


@cython.final
cdef class Columns:
    cdef readonly Py_ssize_t n, m      # rows and columns
    cdef list arrays                   # which the cells point into
    cdef dict remembered               # by column: the strings of its last dictionary, and their names' numbers
    cdef Cells* cells                  # by column
    cdef int* strings                  # the columns of strings
    cdef Py_ssize_t strings_n
    cdef const double** values         # by column: see values_from
    cdef double[FEW_ROWS] ones         # the values of categories
    cdef int* places                   # by column: the feature of a number

    cdef int take_numbers(self, Py_ssize_t j, const double[::1] numbers) except -1
    cdef int take_strings(self, Py_ssize_t j, tuple column) except -1
    cdef int take_places(self, Py_ssize_t j, strings, Py_ssize_t n) except -1

    cdef inline const double** values_from(self, Py_ssize_t row) noexcept nogil:
        """The values of each column from a row on. Columns of strings have FEW_ROWS ones."""
        cdef Py_ssize_t j
        for j in range(self.m):
            self.values[j] = &self.ones[0] if self.cells[j].number == NULL else self.cells[j].number + row
        return self.values
