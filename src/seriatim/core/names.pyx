"""The feature names of a block, numbered in the order in which they come, without an object for each."""

from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from seriatim.core.memory cimport resize
from seriatim.core.murmur cimport murmur3

from seriatim.core.values import encoded


cdef class Names:
    """A hash table of UTF-8 strings; a name is a prefix, a mark and a word, or without a mark a word alone."""

    def __init__(self, names=()):
        self.places = {}
        for name in names:
            self.append(name)

    def append(self, str name):
        """Take in a name that is not there yet."""
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
        """Whether a model has columns for all of them. Other rows may then be named by them, too, and be learned as if
        they had names of their own: nothing is among these that the model would not know."""
        return self.learned == self.n

    cdef int grow(self, Py_ssize_t length) noexcept nogil:
        """Make room for one more name of so many bytes; -1 if there is no memory."""
        cdef Py_ssize_t i, room, slots
        cdef int* slot
        if self.used + length > self.text_room:
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
        """The number of a name, which is taken in if it is new; -1 if there is no memory."""
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
        """No row has been put together of these names yet."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.last[i] = -1

    cdef void forget(self, Py_ssize_t n) noexcept nogil:
        """All but the first n names. The last come first, so that none is left behind one that has gone."""
        cdef Py_ssize_t at
        while self.n > n:
            at = self.hash[self.n - 1] & (self.slots - 1)
            while self.slot[at] != self.n:
                at = (at + 1) & (self.slots - 1)
            self.slot[at] = 0
            self.n -= 1
        self.used = self.end[n] if self.room else 0
