"""The columns of a table in memory, from which the encoder makes rows."""

from libc.stdlib cimport calloc, free

import numpy as np

PADDING = 64                           # readable bytes behind the strings of a column


cdef class Columns:
    """n rows. A column is one of three kinds:

    numbers : an array; NaN is missing.
    strings : (offsets, bytes, valid); string i is bytes[offsets[i]:offsets[i + 1]], missing unless valid[i].
    dictionary : the same of each distinct string, and codes; cell i is string codes[i], missing if that is negative.

    remembered : by column, the offsets of the last dictionary and the numbers of its names. If the next table has the
        same offsets (the same object), its names need no lookup.
    """

    def __cinit__(self, list columns, Py_ssize_t n, dict remembered):
        cdef Py_ssize_t j
        self.n, self.m, self.arrays, self.remembered = n, len(columns), list(columns), remembered
        self.cells = <Cells*> calloc(max(self.m, 1), sizeof(Cells))
        self.strings = <int*> calloc(max(self.m, 1), sizeof(int))
        self.values = <const double**> calloc(max(self.m, 1), sizeof(void*))
        self.places = <int*> calloc(max(self.m, 1), sizeof(int))
        if self.cells == NULL or self.strings == NULL or self.values == NULL or self.places == NULL:
            raise MemoryError(f"no memory for {self.m} columns")
        for j in range(FEW_ROWS):
            self.ones[j] = 1
        for j, column in enumerate(columns):
            if isinstance(column, tuple):
                self.take_strings(j, column)
            else:
                self.take_numbers(j, column)

    def __dealloc__(self):
        free(self.cells)
        free(self.strings)
        free(self.values)
        free(self.places)

    cdef int take_numbers(self, Py_ssize_t j, const double[::1] numbers) except -1:
        if len(numbers) != self.n:
            raise ValueError(f"column {j} has {len(numbers)} of {self.n} values")
        self.cells[j].number = &numbers[0] if self.n else NULL
        return 0

    cdef int take_strings(self, Py_ssize_t j, tuple column) except -1:
        cdef const long long[::1] offsets
        cdef const unsigned char[::1] text, valid
        cdef const int[::1] codes
        cdef Cells* c = &self.cells[j]
        cdef Py_ssize_t strings = self.n
        offsets, text, valid = column[:3]
        if len(column) == 4:
            codes = column[3]
            strings = len(valid)
            if len(codes) != self.n or np.max(codes, initial=-1) >= strings:
                raise ValueError(f"column {j}: its codes do not fit")
            c.code = &codes[0] if self.n else NULL
            self.take_places(j, column[0], strings)
        if len(offsets) != strings + 1 or len(valid) != strings or len(text) < offsets[strings] + PADDING:
            raise ValueError(f"column {j}: its arrays do not fit")
        c.offset, c.text, c.known = &offsets[0], <const char*> &text[0], &valid[0] if strings else NULL
        self.strings[self.strings_n] = <int> j
        self.strings_n += 1
        return 0

    cdef int take_places(self, Py_ssize_t j, strings, Py_ssize_t n) except -1:
        """The numbers of the names of a dictionary's n strings, as far as they are known."""
        cdef int[::1] view
        known, places = self.remembered.get(j, (None, None))
        if known is not strings:
            places = np.zeros(max(n, 1), np.int32)
            self.remembered[j] = strings, places
        view = places
        self.cells[j].place = &view[0]
        self.arrays.append(places)
        return 0
