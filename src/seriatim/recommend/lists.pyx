"""The items that each user has rated, in order of their first ratings."""

import numpy as np

from libc.stdlib cimport calloc, free
from libc.string cimport memset

from seriatim.core.memory cimport resize

from seriatim.errors import LimitError, ModelError

cdef Py_ssize_t MAX_ITEMS = (1 << 32) // 40    # 4 GiB; an item takes up to 40 bytes with its value and hash slots
cdef int SHORT = 16                            # a list of at most this length is searched in order


cdef inline unsigned int hashed(int b) noexcept nogil:
    cdef unsigned int h = <unsigned int> b * <unsigned int> 0x9E3779B1
    return h ^ (h >> 15)


cdef class Lists:
    """For each user the numbers of the rated items, each once, optionally with a value for each."""

    def __init__(self, bint valued=False):
        self.valued, self.most = valued, MAX_ITEMS

    def __dealloc__(self):
        cdef Py_ssize_t a
        for a in range(self.room):
            free(self.lists[a].item)
            free(self.lists[a].value)
            free(self.lists[a].slot)
        free(self.lists)

    cdef int grow(self, Py_ssize_t n) except -1:
        """Make room for at least n lists."""
        cdef Py_ssize_t room
        if n > self.room:
            room = max(n, 2 * self.room, 64)
            if resize(<void**> &self.lists, room, sizeof(List)) < 0:
                raise MemoryError(f"no memory for {n} users")
            memset(self.lists + self.room, 0, (room - self.room) * sizeof(List))
            self.room = room
        self.n = max(self.n, n)
        return 0

    def expect_room(self, const int[::1] users, const int[::1] items):
        """Raise LimitError unless there is room for these pairs. A user may have no list yet."""
        if self.total + users.shape[0] <= self.most:
            return
        fresh = {(a, b) for a, b in zip(users, items) if a >= self.n or self.find(a, b) < 0}
        if self.total + len(fresh) > self.most:
            raise LimitError(f"a model stores at most {self.most:,} pairs of a user and a rated item")

    cdef int ready(self, Py_ssize_t a) noexcept nogil:
        """Make room for one more item in a list. Without memory, return -1 and change nothing."""
        cdef List* mine = self.lists + a
        cdef int room, slots, k
        cdef int* slot
        if mine.n == mine.room:
            room = max(4, 2 * mine.room)
            if resize(<void**> &mine.item, room, sizeof(int)) < 0:
                return -1
            if self.valued and resize(<void**> &mine.value, room, sizeof(double)) < 0:
                return -1
            mine.room = room
        if mine.n >= SHORT and 2 * (mine.n + 1) > mine.slots:
            slots = max(4 * SHORT, 2 * mine.slots)
            slot = <int*> calloc(slots, sizeof(int))
            if slot == NULL:
                return -1
            free(mine.slot)
            mine.slot, mine.slots = slot, slots
            for k in range(mine.n):
                self.enter(mine, k)
        return 0

    cdef void enter(self, List* mine, int k) noexcept nogil:
        cdef unsigned int i = hashed(mine.item[k]) & <unsigned int> (mine.slots - 1)
        while mine.slot[i]:
            i = (i + 1) & <unsigned int> (mine.slots - 1)
        mine.slot[i] = k + 1

    cdef int find(self, Py_ssize_t a, int b) noexcept nogil:
        """The index of an item in a list, or -1."""
        cdef List* mine = self.lists + a
        cdef int k
        cdef unsigned int i
        if mine.slots == 0:
            for k in range(mine.n):
                if mine.item[k] == b:
                    return k
            return -1
        i = hashed(b) & <unsigned int> (mine.slots - 1)
        while mine.slot[i]:
            if mine.item[mine.slot[i] - 1] == b:
                return mine.slot[i] - 1
            i = (i + 1) & <unsigned int> (mine.slots - 1)
        return -1

    cdef int add(self, Py_ssize_t a, int b) noexcept nogil:
        """The index of an item in a list that is `ready`. A new item is appended."""
        cdef List* mine = self.lists + a
        cdef int k = self.find(a, b)
        if k < 0:
            k = mine.n
            mine.item[k] = b
            mine.n += 1
            self.total += 1
            if mine.slots:
                self.enter(mine, k)
        return k

    def items(self, Py_ssize_t a):
        """A list as an array."""
        cdef Py_ssize_t k
        if not 0 <= a < self.n:
            return np.empty(0, np.int32)
        cdef int[::1] out = np.empty(self.lists[a].n, np.int32)
        for k in range(self.lists[a].n):
            out[k] = self.lists[a].item[k]
        return np.asarray(out)

    def state(self, Py_ssize_t users):
        """The first lists as arrays: their lengths, the items, and their values if there are any."""
        cdef Py_ssize_t a, k, place = 0
        cdef int[::1] counts = np.array([self.lists[a].n for a in range(users)], np.int32)
        cdef int[::1] items = np.empty(np.sum(counts, dtype=np.int64), np.int32)
        cdef double[::1] values = np.empty(len(items) if self.valued else 0)
        for a in range(users):
            for k in range(self.lists[a].n):
                items[place] = self.lists[a].item[k]
                if self.valued:
                    values[place] = self.lists[a].value[k]
                place += 1
        state = {"rated_counts": np.asarray(counts), "rated_items": np.asarray(items)}
        return {**state, "rated_values": np.asarray(values)} if self.valued else state

    def restore(self, state, Py_ssize_t users, Py_ssize_t known, double low, double high):
        """The reverse of `state`, for `known` items and values from `low` to `high`."""
        cdef const int[::1] counts = np.ascontiguousarray(state["rated_counts"], np.int32)
        cdef const int[::1] items = np.ascontiguousarray(state["rated_items"], np.int32)
        cdef const double[::1] values = np.ascontiguousarray(state.get("rated_values", []), np.float64)
        cdef Py_ssize_t a, place = 0
        cdef int k
        if counts.shape[0] != users or np.min(counts, initial=1) < 1:
            raise ModelError("the lists of rated items do not match the users")
        if np.sum(counts, dtype=np.int64) != items.shape[0] or (self.valued and values.shape[0] != items.shape[0]):
            raise ModelError("the lists of rated items differ in length from their counts")
        if items.shape[0] > self.most or np.min(items, initial=0) < 0 or np.max(items, initial=-1) >= known:
            raise ModelError("a list of rated items has an unknown item")
        if self.valued and not (low <= np.min(values, initial=low) and np.max(values, initial=high) <= high):
            raise ModelError("a rating is out of range")
        self.grow(users)
        for a in range(users):
            for k in range(counts[a]):
                if self.ready(a) < 0:
                    raise MemoryError(f"no memory for {items.shape[0]} rated items")
                if self.add(a, items[place]) != k:
                    raise ModelError("a list of rated items has an item twice")
                if self.valued:
                    self.lists[a].value[k] = values[place]
                place += 1
