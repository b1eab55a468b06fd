"""Feature names, numbered in the order in which they arrive."""

import numpy as np

from libc.stdint cimport uint32_t

from seriatim.core.murmur cimport murmur3
from seriatim.core.names cimport Names
from seriatim.core.rows cimport Rows

from seriatim.errors import DataError


cdef class Vocabulary:
    """Maps names to columns."""

    def __init__(self, names=()):
        self.names = list(names)
        self.stamps = np.zeros(0, np.int64)
        self.number = {name: i for i, name in enumerate(self.names)}
        if len(self.number) != len(self.names):
            raise DataError("a feature name occurs twice")

    def __len__(self):
        return len(self.names)

    cdef int add(self, str name) except -1:
        """Give a name that is not known the next column."""
        self.number[name] = len(self.names)
        self.names.append(name)
        return 0

    cdef int[::1] columns_of(self, Names names, Py_ssize_t n, bint learning):
        """The columns of the first n names, -1 for the unknown; those of a stream with one list of names are kept.

        They are looked up in a table of their bytes, which is five times as fast as making strings of them.
        """
        cdef Py_ssize_t j, begin = 0, length
        cdef const char* text
        cdef uint32_t hash
        if learning:
            names.learned = max(names.learned, n)
        if names is self.translated and len(self.translation) >= n:
            return self.translation
        columns = np.empty(n, np.int32)
        if names is self.translated:
            begin = len(self.translation)
            columns[:begin] = self.translation
        if self.table is None:
            self.table = Names()
        for name in self.names[self.table.n:]:
            self.table.append(name)
        cdef int[::1] column = columns
        for j in range(begin, n):
            text, length = names.text + names.end[j], names.end[j + 1] - names.end[j]
            hash = murmur3(text, length, 0)
            column[j] = self.table.find(NULL, 0, 0, text, length, hash)
            if column[j] < 0 and learning:
                name = text[:length].decode()
                column[j] = self.number[name] = <int> len(self.names)
                self.names.append(name)
                if self.table.number(NULL, 0, 0, text, length, hash) < 0:
                    raise MemoryError("no memory for names")
        if learning:
            self.translated, self.translation = names, column
        return column

    cpdef Rows translate(self, Rows rows, bint learning):
        """The same rows, with this vocabulary's columns for the names of theirs.

        Unknown names are added when learning; otherwise they count in the norms and nowhere else. Within a row the
        columns stand as they stood: numbered in the order in which they come, and each once.
        """
        cdef Py_ssize_t i, j, k = 0, begin, end, n = rows.features
        rows.expect_checked()
        cdef bint same = True, complete = rows.index != NULL
        cdef int[::1] column = self.columns_of(rows.names, n, learning)
        for j in range(n):
            same &= column[j] == j
            complete &= column[j] >= 0
        if same:
            return rows
        if complete and rows.nonzeros and not self.twice(column, n):
            return rows.renumbered(renumbered(rows, column), len(self.names))
        start = np.empty(rows.n + 1, np.int64)
        cdef long long[::1] new_start = start
        index, value = np.empty(max(rows.nonzeros, 1), np.int32), np.empty(max(rows.nonzeros, 1))
        cdef int[::1] new_index = index
        cdef double[::1] new_value = value
        cdef int to
        with nogil:
            new_start[0] = 0
            for i in range(rows.n):
                begin = i * n if rows.index == NULL else rows.start[i]
                end = begin + n if rows.index == NULL else rows.start[i + 1]
                for j in range(begin, end):
                    to = column[j - begin if rows.index == NULL else rows.index[j]]
                    if to >= 0:
                        new_index[k], new_value[k] = to, rows.value[j]
                        k += 1
                new_start[i + 1] = k
        if self.twice(column, n):      # two ways to the same name, as in |a^b c and |a b^c
            merged = Rows.sparse(start, index[:k], value[:k], len(self.names))
            merged.weights = rows.weights
            return merged.check()
        return rows.replaced(start, index, value, len(self.names))

    cdef bint twice(self, int[::1] column, Py_ssize_t n) except -1:
        """Whether two of n names have the same column."""
        cdef Py_ssize_t j
        if len(self.stamps) < len(self.names):
            self.stamps, self.stamp = np.zeros(2 * len(self.names) + 64, np.int64), 0
        self.stamp += 1
        for j in range(n):
            if column[j] >= 0:
                if self.stamps[column[j]] == self.stamp:
                    return True
                self.stamps[column[j]] = self.stamp
        return False


cdef renumbered(Rows rows, int[::1] column):
    """The columns of sparse rows, each by its new number."""
    cdef Py_ssize_t j
    cdef const int* old = rows.index + rows.start[0]
    cdef const int* to = &column[0]
    index = np.empty(rows.nonzeros, np.int32)
    cdef int[::1] view = index
    cdef int* new = &view[0]
    with nogil:
        for j in range(rows.nonzeros):
            new[j] = to[old[j]]
    return index
