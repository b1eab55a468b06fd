"""Feature names, numbered in the order in which they arrive, and rows made of dicts."""

from collections.abc import Mapping
from datetime import date

import numpy as np

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.long cimport PyLong_AsLong
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free

from seriatim.core.memory cimport resize
from seriatim.core.murmur cimport murmur3
from seriatim.core.names cimport Names
from seriatim.core.row cimport sum_of_squares
from seriatim.core.rows cimport Rows

from seriatim.core.flatten import DATE, bag_of, flatten
from seriatim.core.rows import LIMIT as LARGEST, refuse
from seriatim.core.values import encoded, is_absent, real, shown
from seriatim.errors import DataError

cdef extern from "Python.h":
    bint PyFloat_CheckExact(PyObject* x)
    double PyFloat_AS_DOUBLE(PyObject* x)

cdef double LIMIT = LARGEST
cdef tuple WORDS = (str, list, tuple, set, frozenset)    # of what a bag is made
cdef tuple NOT_FLAT = (Mapping, date, np.datetime64)    # by name: Cython drops the errors of a literal tuple
cdef int FEWEST = 7, MOST = 15    # bits of the places where keys are remembered


cdef class Vocabulary:
    """Maps names to columns."""

    def __cinit__(self):
        self.forget(FEWEST)

    def __init__(self, names=()):
        self.names = list(names)
        self.stamps = np.zeros(0, np.int64)
        self.number = {name: i for i, name in enumerate(self.names)}
        if len(self.number) != len(self.names):
            raise DataError("a feature name occurs twice")

    def __dealloc__(self):
        free(self.value)
        free(self.index)
        release(self.met, 64 - self.shift)

    def __len__(self):
        return len(self.names)

    cdef int reserve(self, Py_ssize_t n) except -1:
        if n > self.room:
            n = max(n, 2 * self.room, 64)
            if resize(<void**> &self.value, n, sizeof(double)) < 0 or resize(<void**> &self.index, n, sizeof(int)) < 0:
                raise MemoryError(f"no memory for a row of {n} features")
            self.room = n
        return 0

    cdef Py_ssize_t expected(self) noexcept:
        """How many names of the last row are not in the vocabulary yet."""
        return 0 if self.fresh is None else len(self.fresh)

    cdef int add_expected(self) except -1:
        if self.fresh is not None:
            for name in self.fresh:
                self.number[name] = len(self.names)
                self.names.append(name)
            self.fresh = None
            bits = 64 - self.shift
            if bits < MOST and len(self.names) > 1 << bits:
                self.forget(bits + 2)
        return 0

    cdef inline Py_ssize_t recalled(self, void* key) noexcept:
        """The column of a key that is the very object of an earlier row, without looking at it; -1 if it is not known.

        The keys of dicts are mostly the same objects again and again, and those of a row that is learned after it was
        predicted always are.
        """
        cdef const Met* met = self.met + 2 * ((<unsigned long long> key * 0x9E3779B97F4A7C15ULL) >> self.shift)
        return met[0].column if met[0].key == key else met[1].column if met[1].key == key else -1

    cdef void remember(self, object name, Py_ssize_t column) noexcept:
        """The key of a column, which takes the place of the older of two."""
        cdef Met* met = self.met + 2 * ((<unsigned long long> <void*> name * 0x9E3779B97F4A7C15ULL) >> self.shift)
        cdef void* gone = met[1].key
        met[1] = met[0]
        met[0].key, met[0].column = <void*> name, column
        Py_INCREF(name)
        if gone != NULL:
            Py_DECREF(<object> gone)

    cdef int forget(self, int bits) except -1:
        """Remember no keys, and have room for more."""
        cdef Met* met = <Met*> calloc(2 << bits, sizeof(Met))
        if met == NULL:
            raise MemoryError("no memory for the keys of rows")
        release(self.met, 64 - self.shift)
        self.met, self.shift = met, 64 - bits
        return 0

    cdef int column(self, object name, bint learning) except -2:
        """The column of a name, -1 if there is none; what is new is only noted until the row is known to be good."""
        cdef PyObject* found = PyDict_GetItemWithError(self.number, name)
        cdef int column
        if found != NULL:
            column = <int> PyLong_AsLong(<object> found)
            if type(name) is str:
                self.remember(name, column)
            return column
        if not isinstance(name, str):
            raise DataError(f"the feature name {shown(name)} is a {type(name).__name__}; names are strings")
        encoded(name, "the feature name")
        if not learning:
            return -1
        if self.fresh is None:
            self.fresh = []
        self.fresh.append(name)
        return <int> (len(self.names) + len(self.fresh) - 1)

    cdef int take(self, object name, double value, bint learning) except -1:
        """Append one feature to the row at hand."""
        cdef Py_ssize_t column
        if not -LIMIT <= value <= LIMIT:
            refuse(f"feature {name!r}", value)
        column = self.recalled(<void*> name)
        if column < 0:
            column = self.column(name, learning)
        if column < 0:
            self.outside += value * value
            return 0
        self.index[self.n] = <int> column
        self.value[self.n] = value
        self.n += 1
        return 0

    cdef int encode(self, dict x, bint learning, double constant, Row* row) except -1:
        """The row of a dict.

        Unknown names are noted when learning, for `add_expected` to add them; otherwise they count in the norm and
        nowhere else.

        A number stands for itself, a string s under key k is the feature "k=s" of value 1, a list or set of strings a
        bag of such features, None nothing; for all else see `flatten`.
        """
        if self.reading:               # by an object in an example, when it was asked for its number
            raise DataError("an example was read while another one was")
        if not self.read(x, learning, False):
            self.read(flatten(x), learning, True)
        row.index, row.value, row.n = self.index, self.value, self.n
        row.constant = constant
        row.norm2 = sum_of_squares(self.value, self.n) + self.outside + constant
        return 0

    cdef bint read(self, dict x, bint learning, bint flat) except -1:
        """Take the features of a dict; False if it is not flat, and must be."""
        cdef dict bag = None
        cdef Py_ssize_t column, count = 0, position = 0, size = len(x)
        cdef PyObject* key
        cdef PyObject* item
        cdef double number_
        self.reserve(size)
        self.n = 0
        self.outside = 0
        self.fresh = None
        while PyDict_Next(x, &position, &key, &item):
            count += 1
            if count > size:
                raise DataError("the example has changed while it was read")
            if PyFloat_CheckExact(item):
                number_ = PyFloat_AS_DOUBLE(item)
                column = self.recalled(key)
                if column >= 0 and -LIMIT <= number_ <= LIMIT:    # as in `take`, without the call
                    self.index[self.n], self.value[self.n] = <int> column, number_
                    self.n += 1
                else:
                    self.take(<object> key, number_, learning)
                continue
            name, value = <object> key, <object> item
            if isinstance(value, WORDS):
                if not flat and may_be_more(value):
                    return False
                bag = words(name, value, {} if bag is None else bag)
            elif not flat and is_other(value):
                return False
            elif value is not None:
                self.reading = True    # an object may do anything when it is asked for its number
                try:
                    number_ = number(name, value)
                finally:
                    self.reading = False
                self.take(name, number_, learning)
        if bag is not None:
            for name in bag:
                if is_number(x.get(name)):    # {"a=x": 1, "a": "x"}: two ways to the same feature
                    return self.read(summed(x, bag), learning, True)
            self.reserve(len(x) + len(bag))
            for name, many in bag.items():
                self.take(name, many, learning)
        return True

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


cdef void release(Met* met, int bits) noexcept:
    """Let go of the keys that are remembered."""
    cdef Py_ssize_t i
    for i in range(0 if met == NULL else 2 << bits):
        if met[i].key != NULL:
            Py_DECREF(<object> met[i].key)
    free(met)


cdef bint may_be_more(value) except -1:
    """Whether a string may be a date, or a list is one of numbers."""
    if isinstance(value, str):
        return len(value) >= 10 and value[4] == "-" and DATE.fullmatch(value) is not None
    return isinstance(value, (list, tuple)) and not all([isinstance(word, str) for word in value])


cdef bint is_other(value) except -1:
    """Whether it takes `flatten` to say what a value is, which is no number."""
    if value is None or isinstance(value, (int, float)):
        return False
    return isinstance(value, NOT_FLAT) or is_absent(value)


cdef bint is_number(value):
    """Whether a flat value counts by itself."""
    return value is not None and not isinstance(value, WORDS)


cdef dict summed(dict x, dict bag):
    """The numbers of an example and the words of its bags, by their names; what is there by both is added up."""
    sums = {name: value for name, value in x.items() if is_number(value)}
    for name, many in bag.items():
        sums[name] = number(name, sums.get(name, 0)) + many
    return sums


cdef double number(name, value) except? -1:
    try:
        return value if isinstance(value, (int, float)) else real(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"feature {name!r}: the value {shown(value)} of type {type(value).__name__}; a value is a number, "
            f"a string, or a list or set of strings"
        ) from None


cdef dict words(name, value, dict bag):
    """Count the words of a string (one), list or set into a bag, each as "name=word"."""
    if not isinstance(name, str):
        raise DataError(f"the feature name {shown(name)} is a {type(name).__name__}; names are strings")
    for word in (value,) if isinstance(value, str) else bag_of(name, value):
        bag[f"{name}={word}"] = bag.get(f"{name}={word}", 0) + 1
    return bag
