"""The columns of a table, in memory that others have, for whoever puts its rows together."""

from libc.stdlib cimport calloc, free

import numpy as np

PADDING = 64                           # readable bytes behind the strings of a column


cdef class Table:
    """n rows. A column is an array of numbers, of which NaN is missing, or strings as (offsets, bytes, valid): string i
    is bytes[offsets[i]:offsets[i + 1]] where valid[i]; or strings that recur, as the same of each one and, last, codes:
    cell i is string codes[i], or missing if that is negative."""

    def __cinit__(self, list columns, Py_ssize_t n):
        cdef Py_ssize_t j
        self.n, self.m, self.arrays = n, len(columns), columns
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
        cdef Py_ssize_t j
        for j in range(self.m if self.cells != NULL else 0):
            free(self.cells[j].place)
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
            c.code, c.place = &codes[0] if self.n else NULL, <int*> calloc(max(strings, 1), sizeof(int))
            if c.place == NULL:
                raise MemoryError(f"no memory for {strings} strings")
        if len(offsets) != strings + 1 or len(valid) != strings or len(text) < offsets[strings] + PADDING:
            raise ValueError(f"column {j}: its arrays do not fit")
        c.offset, c.text, c.known = &offsets[0], <const char*> &text[0], &valid[0] if strings else NULL
        self.strings[self.strings_n] = <int> j
        self.strings_n += 1
        return 0
