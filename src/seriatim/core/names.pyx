"""Feature names: `Names` of a block, without an object for each name, and the `Vocabulary` of a model."""

import numpy as np

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from seriatim.core.memory cimport resize
from seriatim.core.murmur cimport murmur3
from seriatim.core.rows cimport Rows

from seriatim.core.values import encoded
from seriatim.errors import DataError


cdef class Names:
    """A hash table of UTF-8 strings. A name is a prefix, a mark and a word; without a mark it is the word."""

    def __init__(self, names=()):
        self.places = {}
        for name in names:
            self.append(name)

    def append(self, str name):
        """Add a new name."""
        cdef bytes text = encoded(name, "the feature name")
        if self.number(NULL, 0, 0, text, len(text), murmur3(text, len(text), 0)) < 0:
            raise MemoryError("no memory for names")

    def __dealloc__(self):
        free(self.text)
        free(self.end)
        free(self.hash)
        free(self.last)
        free(self.slot)

    def __len__(self):
        return self.n

    def __getitem__(self, Py_ssize_t i):
        """Name number i."""
        if not 0 <= i < self.n:
            raise IndexError(f"name {i} of {self.n}")
        return self.text[self.end[i]:self.end[i + 1]].decode()

    @property
    def all_learned(self):
        """Whether a model has columns for all names. Other blocks may then use these names as theirs."""
        return self.learned == self.n

    cdef int grow(self, Py_ssize_t length) noexcept nogil:
        """Make room for one more name of `length` bytes; -1 if there is no memory."""
        cdef Py_ssize_t i, room, slots
        cdef int* slot
        if self.text == NULL or self.used + length > self.text_room:    # an empty name needs memory to point to
            room = 2 * (self.used + length) + 1024
            if resize(<void**> &self.text, room, 1) < 0:
                return -1
            self.text_room = room
        if self.n == self.room:
            room = 2 * self.n + 256
            if (resize(<void**> &self.end, room + 1, sizeof(Py_ssize_t)) < 0
                    or resize(<void**> &self.last, room, sizeof(Py_ssize_t)) < 0
                    or resize(<void**> &self.hash, room, sizeof(uint32_t)) < 0):
                return -1
            self.end[0] = 0
            self.room = room
        if 2 * self.n >= self.slots:
            slots = max(1024, 2 * self.slots)
            slot = <int*> calloc(slots, sizeof(int))
            if slot == NULL:
                return -1
            free(self.slot)
            self.slot, self.slots = slot, slots
            for i in range(self.n):
                self.slot[self.place(self.hash[i])] = <int> i + 1
        return 0

    cdef inline Py_ssize_t place(self, uint32_t hash) noexcept nogil:
        """The first free slot for a hash."""
        cdef Py_ssize_t at = hash & (self.slots - 1)
        while self.slot[at]:
            at = (at + 1) & (self.slots - 1)
        return at

    cdef int find(self, const char* prefix, Py_ssize_t before, char mark, const char* name, Py_ssize_t length,
                  uint32_t hash) noexcept nogil:
        """The number of a name; -1 if it is not there."""
        cdef Py_ssize_t at, i, whole = length + before + (mark != 0)
        cdef char* text
        if self.slots == 0:
            return -1
        at = hash & (self.slots - 1)
        while self.slot[at]:
            i = self.slot[at] - 1
            if self.hash[i] == hash and self.end[i + 1] - self.end[i] == whole:
                text = self.text + self.end[i]
                if (memcmp(text + whole - length, name, length) == 0
                        and (mark == 0 or (text[before] == mark and memcmp(text, prefix, before) == 0))):
                    return <int> i
            at = (at + 1) & (self.slots - 1)
        return -1

    cdef int number(self, const char* prefix, Py_ssize_t before, char mark, const char* name, Py_ssize_t length,
                    uint32_t hash) noexcept nogil:
        """The number of a name; adds a new name. -1 if there is no memory."""
        cdef Py_ssize_t whole = length + before + (mark != 0)
        cdef char* text
        cdef int known = self.find(prefix, before, mark, name, length, hash)
        if known >= 0:
            return known
        if self.grow(whole) < 0:
            return -1
        text = self.text + self.used
        if mark:
            memcpy(text, prefix, before)
            text[before] = mark
        memcpy(text + whole - length, name, length)
        self.hash[self.n] = hash
        self.last[self.n] = -1
        self.slot[self.place(hash)] = <int> self.n + 1
        self.used += whole
        self.n += 1
        self.end[self.n] = self.used
        return <int> self.n - 1

    cdef void begin_rows(self) noexcept nogil:
        """Forget the values of earlier rows."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.last[i] = -1

    cdef void forget(self, Py_ssize_t n) noexcept nogil:
        """Remove all but the first n names. The last name goes first, so that no probe sequence is broken."""
        cdef Py_ssize_t at
        while self.n > n:
            at = self.hash[self.n - 1] & (self.slots - 1)
            while self.slot[at] != self.n:
                at = (at + 1) & (self.slots - 1)
            self.slot[at] = 0
            self.n -= 1
        self.used = self.end[n] if self.room else 0


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
        """Give a new name the next column."""
        self.number[name] = len(self.names)
        self.names.append(name)
        return 0

    cdef int[::1] columns_of(self, Names names, Py_ssize_t n, bint learning):
        """The columns of the first n names, -1 for unknown ones. A stream with one list of names looks them up once.

        A lookup by bytes is five times as fast as one by Python strings.
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
        """The same rows, with their names mapped to the columns of this vocabulary.

        Unknown names are added when learning. Otherwise they count only in the norms. The order of the values in a row
        does not change, and no column occurs twice.
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
        if self.twice(column, n):      # two spellings of one name, such as |a^b c and |a b^c
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
    """The new columns of sparse rows."""
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
