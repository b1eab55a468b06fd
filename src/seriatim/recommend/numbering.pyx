"""Users and items, numbered in order of appearance."""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.long cimport PyLong_AsLong
from cpython.ref cimport PyObject
from libc.stdlib cimport calloc, free

import numpy as np

from seriatim.core.random cimport scramble

from seriatim.core.values import plain_array
from seriatim.labels import plain_label
from seriatim.errors import DataError, LimitError, ModelError

cdef Py_ssize_t MOST = 2**31 - 2


cdef class Numbering:
    """Numbers integers and strings from 0 on.

    >>> users = Numbering("user")
    >>> users.learn(["ann", 7, "ann"]).tolist(), users.find(np.array([7, 8])).tolist(), users.labels
    ([0, 1, 0], [1, -1], ['ann', 7])
    """

    def __init__(self, str kind, labels=()):
        self.kind, self.labels = kind, list(labels)
        self.number = {label: i for i, label in enumerate(self.labels)}
        if len(self.number) != len(self.labels) or not all([type(label) in (int, str) for label in self.labels]):
            raise ModelError(f"the {kind}s are not distinct integers and strings")

    def __dealloc__(self):
        free(self.key)
        free(self.slot)

    def __len__(self):
        return len(self.labels)

    def plain(self, label):
        """A label as an int or a str; DataError for anything else."""
        try:
            label = plain_label(label)
        except DataError as error:
            problem = str(error).removeprefix("Unknown label type: ").removeprefix("the label ")
            raise DataError(f"the {self.kind} {problem}; {self.kind}s are integers or strings") from None
        return label if isinstance(label, str) else int(label)

    cdef Py_ssize_t one(self, object label, bint learning) except -2:
        """The number of a label. A new label gets the next number if learning, else -1."""
        cdef PyObject* found
        if type(label) is not str and type(label) is not int:
            label = self.plain(label)    # 7 == Decimal(7): another type could be found as a label
        found = PyDict_GetItemWithError(self.number, label)
        if found != NULL:
            return PyLong_AsLong(<object> found)
        label = self.plain(label)
        return self.add(label) if learning else -1

    cdef Py_ssize_t add(self, object label) except -2:
        cdef Py_ssize_t n = len(self.labels)
        if n > MOST:
            raise LimitError(f"more than {MOST:,} {self.kind}s")
        self.number[label] = n
        self.labels.append(label)
        return n

    def learn(self, given):
        """The numbers of labels, as an array. New labels get the next numbers; if one is bad, none is added."""
        before = len(self.labels)
        try:
            return self.numbers(given, True)
        except Exception:
            self.forget(before)
            raise

    def find(self, given):
        """The numbers of labels; -1 for unknown ones."""
        return self.numbers(given, False)

    def forget(self, Py_ssize_t n):
        """Remove all labels but the first n."""
        if n < len(self.labels):
            for label in self.labels[n:]:
                del self.number[label]
            del self.labels[n:]
            if self.hashed > n:
                free(self.key)
                free(self.slot)
                self.key, self.slot, self.slots, self.used, self.hashed = NULL, NULL, 0, 0, 0

    cdef object numbers(self, given, bint learning):
        cdef Py_ssize_t i
        if not isinstance(given, (list, tuple)):
            given = plain_array(given, f"the {self.kind}s")
            if given.dtype.kind in "mM":
                raise DataError(f"the {self.kind}s are of type {given.dtype}; expected integers or strings")
            if given.ndim != 1:
                raise DataError(f"the {self.kind}s must be one-dimensional; these have the shape {given.shape}")
            if given.dtype.kind in "iu" and (given.dtype != np.uint64 or given.max(initial=0) < 2**63):
                return self.of_words(np.ascontiguousarray(given, dtype=np.int64), learning)
            given = given.tolist()
        result = np.empty(len(given), np.int32)
        cdef int[::1] out = result
        for i, label in enumerate(given):
            out[i] = <int> self.one(label, learning)
        return result

    # ---- integers, without a Python object for each

    cdef object of_words(self, const long long[::1] given, bint learning):
        cdef Py_ssize_t i = 0, n = given.shape[0]
        result = np.empty(n, np.int32)
        cdef int[::1] out = result
        self.catch_up()
        while i < n:
            with nogil:
                while i < n:
                    out[i] = self.look_up(given[i])
                    if out[i] < 0 and learning:
                        break
                    i += 1
            if i < n:
                self.add(given[i])
                self.catch_up()
        return result

    cdef int catch_up(self) except -1:
        """Enter labels that were added since into the hash table."""
        while self.hashed < len(self.labels):
            label = self.labels[self.hashed]
            if type(label) is int and -(2**63) <= label < 2**63:
                if 2 * (self.used + 1) > self.slots:
                    self.grow()
                self.insert(label, <int> self.hashed + 1)
                self.used += 1
            self.hashed += 1
        return 0

    cdef int grow(self) except -1:
        cdef Py_ssize_t i, before = self.slots, slots = max(1024, 2 * self.slots)
        cdef long long* key = self.key
        cdef int* slot = self.slot
        cdef long long* larger_key = <long long*> calloc(slots, sizeof(long long))
        cdef int* larger_slot = <int*> calloc(slots, sizeof(int))
        if larger_key == NULL or larger_slot == NULL:
            free(larger_key)
            free(larger_slot)
            raise MemoryError(f"no memory for {slots} {self.kind}s")
        self.key, self.slot, self.slots = larger_key, larger_slot, slots
        for i in range(before):
            if slot[i]:
                self.insert(key[i], slot[i])
        free(key)
        free(slot)
        return 0

    cdef void insert(self, long long label, int number) noexcept nogil:
        cdef Py_ssize_t i = scramble(<unsigned long long> label) & (self.slots - 1)
        while self.slot[i]:
            i = (i + 1) & (self.slots - 1)
        self.key[i], self.slot[i] = label, number

    cdef int look_up(self, long long label) noexcept nogil:
        cdef Py_ssize_t i
        if self.slots == 0:
            return -1
        i = scramble(<unsigned long long> label) & (self.slots - 1)
        while self.slot[i]:
            if self.key[i] == label:
                return self.slot[i] - 1
            i = (i + 1) & (self.slots - 1)
        return -1
