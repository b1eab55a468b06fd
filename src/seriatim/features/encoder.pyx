"""Encode cells and dicts as rows: numbers, categories, words, dates, and the products of crossed columns.

All formats with names use this encoder: tables, data frames, JSON lines, Vowpal Wabbit text, and the dicts of
`learn_one`. `Encoder` makes the rows of a block: a feature is numbered by its name within the block, or by the hash of
its name. `RowEncoder` makes one row in the columns of a model.
"""

import datetime
import re
from collections.abc import Mapping

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.long cimport PyLong_AsSsize_t
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.limits cimport INT_MIN
from libc.math cimport NAN
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from seriatim.core.learner cimport DictReader
from seriatim.core.memory cimport resize
from seriatim.core.row cimport Row, sum_of_squares
from seriatim.features.block cimport Block, RowSums, add_row, finish, finished_rows, new_workspace
from seriatim.core.murmur cimport murmur3
from seriatim.core.names cimport Names, Vocabulary
from seriatim.features.columns cimport FEW_ROWS, Cells, Columns
from seriatim.features.scaler cimport Scaler

from seriatim.features.flatten import bag_of, flatten
from seriatim.core.rows import LIMIT as LARGEST, refuse
from seriatim.core.values import encoded, is_absent, real, shown
from seriatim.errors import DataError, LimitError
from seriatim.features.spec import TOKEN

KINDS = {
    "number": NUMBER, "flag": FLAG, "category": CATEGORY, "text": TEXT, "any": ANY, "objects": ANY, "label": LABEL,
    "dropped": DROPPED,
}

cdef extern from "Python.h":
    bint PyFloat_CheckExact(PyObject* x)
    double PyFloat_AS_DOUBLE(PyObject* x)
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef double LIMIT = LARGEST
cdef tuple WORDS = (str, list, tuple, set, frozenset)    # strings, and bags of strings
cdef tuple NOT_FLAT = (Mapping, datetime.date, np.datetime64)    # Cython drops the errors of a literal tuple
cdef int FEWEST = 7, MOST = 15    # the table of remembered keys has 2^bits places for two
cdef int NEVER = INT_MIN    # a name that has not been looked up
cdef Py_ssize_t MOST_PRODUCTS = 1 << 20    # features of a cross in one row
cdef enum:
    PADDING = 64                       # readable bytes behind a text
    LONGEST_PAUSE = 1024               # rows taken singly after `take_full` has failed
    MOST_MET = 1 << 16                 # columns of dicts that a Plan stores

cdef extern from "simd.h":
    bint rows_of_columns(Py_ssize_t n, Py_ssize_t m, const double** column, double* out, double* norm2,
                         double limit) noexcept nogil


cdef class Crowd:
    """Counts the hashed columns on which several names collide, by the other bits of their hashes. Shared by threads.

    If two threads add the first names of a column at once, the collision counts when one of the names occurs again.
    """

    def __cinit__(self, int bits):
        self.size = <Py_ssize_t> 1 << bits
        self.owner = <uint32_t*> calloc(self.size, sizeof(uint32_t))
        if self.owner == NULL:
            raise MemoryError(f"no memory for {self.size} columns")

    def __dealloc__(self):
        free(self.owner)

    def share(self):
        """The fraction of the columns in use on which several names collide."""
        owner = np.asarray(<uint32_t[:self.size]> self.owner)
        return float(np.count_nonzero(owner == <uint32_t> SEVERAL) / max(np.count_nonzero(owner), 1))


cdef class Plan:
    """The kind of each column. All blocks of one table share a plan."""

    def __init__(self, features, columns=(), Crowd crowd=None):
        """columns : pairs of a name and a kind. Dicts and objects add more later."""
        self.features, self.columns_given = features, list(columns)
        self.names, self.kept, self.place = [], [], {}
        self.count_missing, self.lower, self.ngram = features.missing == "count", features.lower, features.ngram
        self.pattern = None if features.token == TOKEN else re.compile(features.token)
        self.bits = features.bits or 0
        if self.bits:
            self.mask = (<uint32_t> 1 << self.bits) - 1
            self.crowd = Crowd(self.bits) if crowd is None else crowd
        self.selective = bool(features.drop or features.cross)
        self.apart = True
        self.slots = {}
        if len(features.cross) > MOST_CROSSES:
            raise LimitError(f"{len(features.cross)} crosses; the limit is {MOST_CROSSES}")
        for a, b in features.cross:
            self.pairs[self.crosses][0] = self.slots.setdefault(a, len(self.slots))
            self.pairs[self.crosses][1] = self.slots.setdefault(b, len(self.slots))
            self.crosses += 1
        for name, kind in self.columns_given:
            self.add(name, KINDS[kind])
        self.given = self.n

    def __dealloc__(self):
        free(self.columns)

    cdef Py_ssize_t add(self, object name, int kind) except -1:
        """Add a column; returns its number."""
        cdef Column* c
        cdef bytes text = encoded(name, "the feature name")
        if self.n == self.room:
            if resize(<void**> &self.columns, 2 * self.room + 16, sizeof(Column)) < 0:
                raise MemoryError("no memory for columns")
            self.room = 2 * self.room + 16
        c = &self.columns[self.n]
        c.name, c.length, c.kind, c.slot, c.place = text, len(text), kind, self.slots.get(name, -1), -1
        c.hash = murmur3(c.name, c.length, 0)
        self.apart = self.apart and b"=" not in text    # a column "a=b" has the name of a category of "a"
        self.kept.append(text)
        self.names.append(name)
        self.place[name] = self.n
        self.n += 1
        return self.n - 1


cdef class Encoder:
    """Makes the rows of one block."""

    def __cinit__(self, Plan plan, Py_ssize_t size=0, Names names=None):
        """size : about that of the text, in bytes. names : of earlier rows, to which this block adds."""
        cdef Py_ssize_t i
        cdef Column* c
        self.plan = plan
        self.work = new_workspace(size)
        self.row = RowSums()
        memset(&self.at, 0, sizeof(self.at))
        if plan.bits:
            self.at.features = 1 << plan.bits
            return
        self.names = Names() if names is None else names
        self.names.begin_rows()
        for i in range(plan.given):    # all numbers first, in the order of the table
            c = &plan.columns[i]
            if c.kind == NUMBER or c.kind == FLAG:
                c.place = self.names.number(NULL, 0, 0, c.name, c.length, c.hash)
                if c.place < 0:
                    raise MemoryError("no memory for names")
        self.known = self.names.n

    def __dealloc__(self):
        release(self.met, 64 - self.shift)
        free(self.hash)
        free(self.cell)
        free(self.scratch)
        free(self.token)

    cdef int reserve_scratch(self, Py_ssize_t n) noexcept nogil:
        if n + PADDING > self.scratch_size:
            if resize(<void**> &self.scratch, 2 * n + PADDING, 1) < 0:
                return NO_ROOM
            self.scratch_size = 2 * n + PADDING
        return FINE

    cdef int reserve_cell(self, Py_ssize_t n) noexcept nogil:
        if n + PADDING > self.cell_size:
            if resize(<void**> &self.cell, 2 * n + PADDING, 1) < 0:
                return NO_ROOM
            self.cell_size = 2 * n + PADDING
        return FINE

    cdef int reserve_tokens(self, Py_ssize_t n) noexcept nogil:
        if 2 * n > self.tokens_room:
            if resize(<void**> &self.token, 4 * n, sizeof(Py_ssize_t)) < 0:
                return NO_ROOM
            self.tokens_room = 4 * n
        return FINE

    cdef int expect(self, int trouble) except -1:
        """Raise the error for a row that failed."""
        if trouble == NO_ROOM:
            error, self.error = self.error, None
            raise MemoryError("no memory for a row") if error is None else error
        if trouble == TOO_WILD:
            raise DataError(f"a product of crossed columns is beyond +-{LIMIT:g}")
        if trouble == TOO_MANY:
            raise LimitError(f"crossed columns with more than {MOST_PRODUCTS} products in one row")
        return 0

    # ---- rows

    cdef int begin_row(self) noexcept nogil:
        """Begin a row; discard what a row that failed has left."""
        cdef int i
        if self.quick:
            self.k, self.quick = self.at.values, False
        self.composed = False
        while self.k > self.at.values:
            self.k -= 1
            if self.plan.bits == 0:
                self.names.last[self.work.index[self.k]] = -1
        if self.plan.bits == 0 and self.names.n > self.known:
            self.names.forget(self.known)
        for i in range(<int> (MOST_SLOTS if self.plan.crosses else 0)):
            self.slot_begin[i] = self.slot_end[i] = 0
        if self.at.rows == self.work.rows_room and self.work.reserve_rows(2 * self.at.rows) < 0:
            return NO_ROOM
        self.work.y[self.at.rows], self.work.name[self.at.rows] = NAN, -1    # a reader of files adds the label
        return FINE

    cdef int end_row(self) noexcept nogil:
        """End the row: add crosses, sum hashed columns."""
        cdef Py_ssize_t n
        cdef int trouble
        if self.plan.crosses:
            trouble = self.cross()
            if trouble:
                return trouble
        n = self.k - self.at.values
        if self.plan.bits:
            n = self.row.summed(self.work.index + self.at.values, self.work.value + self.at.values, n)
            if n < 0:
                return NO_ROOM
            self.k = self.at.values + n
        else:
            self.known = self.names.n
            self.at.features = <int> self.names.n
        add_row(self.work, &self.at, self.at.values + n)
        return FINE

    cdef int cross(self) noexcept nogil:
        """Add the products of crossed columns."""
        self.composed = True
        cdef Py_ssize_t i, j, a, b, begin_a, end_a, begin_b, end_b, n, m, at
        cdef uint32_t hash
        cdef double x
        cdef int pair, trouble
        for pair in range(self.plan.crosses):
            a, b = self.plan.pairs[pair][0], self.plan.pairs[pair][1]
            begin_a, end_a, begin_b, end_b = self.slot_begin[a], self.slot_end[a], self.slot_begin[b], self.slot_end[b]
            if (end_a - begin_a) * (end_b - begin_b) > MOST_PRODUCTS:
                return TOO_MANY
            for i in range(begin_a, end_a):
                for j in range(i + 1 if a == b else begin_b, end_b):
                    x = self.work.value[i] * self.work.value[j]
                    if not -LIMIT <= x <= LIMIT:
                        return TOO_WILD
                    if self.plan.bits:
                        hash = self.hash[i] * 0x01000193u ^ self.hash[j]
                        trouble = self.add(NULL, 0, 0, NULL, 0, hash, x)
                    else:
                        n = self.names.end[self.work.index[i] + 1] - self.names.end[self.work.index[i]]
                        m = self.names.end[self.work.index[j] + 1] - self.names.end[self.work.index[j]]
                        hash = self.names.hash[self.work.index[i]] * 0x01000193u ^ self.names.hash[self.work.index[j]]
                        at = self.work.index[i]
                        if self.reserve_scratch(n + m):
                            return NO_ROOM
                        memcpy(self.scratch, self.names.text + self.names.end[at], n)
                        memcpy(self.scratch + n, self.names.text + self.names.end[self.work.index[j]], m)
                        trouble = self.add(self.scratch, n, 42, self.scratch + n, m, hash, x)    # *
                    if trouble:
                        return trouble
        return FINE

    cdef int add(self, const char* prefix, Py_ssize_t before, char mark, const char* name, Py_ssize_t length,
                 uint32_t hash, double x) noexcept nogil:
        """Append a feature to the row, or add x to it if the row has it already."""
        cdef Py_ssize_t again, k = self.k
        cdef double* value
        cdef int column
        if k == self.work.values_room and self.work.reserve_values(2 * k) < 0:
            return NO_ROOM
        if self.plan.bits:
            column = <int> (hash & self.plan.mask)
            self.plan.crowd.meet(column, hash >> self.plan.bits)
            if self.plan.crosses:
                if k >= self.hash_room:
                    if resize(<void**> &self.hash, 2 * k + 64, sizeof(uint32_t)) < 0:
                        return NO_ROOM
                    self.hash_room = 2 * k + 64
                self.hash[k] = hash
        else:
            column = self.names.number(prefix, before, mark, name, length, hash)
            if column < 0:
                return NO_ROOM
            again = self.names.last[column]
            if again >= self.at.values:
                value = self.work.value
                value[again] += x
                return FINE
            self.names.last[column] = k
        self.work.index[k] = column
        self.work.value[k] = x
        self.k = k + 1
        return FINE

    cdef inline void put(self, int place, double x) noexcept nogil:
        """Append feature number `place`. The row must not have it yet, and there must be room."""
        self.names.last[place] = self.k
        self.work.index[self.k], self.work.value[self.k] = place, x
        self.k += 1

    # ---- cells

    cdef int number(self, Py_ssize_t column, double x) noexcept nogil:
        cdef const Column* c = &self.plan.columns[column]
        cdef Py_ssize_t k = self.k
        cdef int trouble
        if c.slot >= 0:
            self.slot_begin[c.slot] = k
        elif c.place >= 0 and k < self.work.values_room and self.names.last[c.place] < self.at.values:
            self.put(c.place, x)
            return FINE
        trouble = self.add(NULL, 0, 0, c.name, c.length, c.hash, x)
        if c.slot >= 0:
            self.slot_end[c.slot] = self.k
        return trouble

    cdef int string(self, Py_ssize_t column, const char* text, Py_ssize_t n, bint bag=False) noexcept nogil:
        """Append a category, a date or, in a text column, words. PADDING bytes behind the text must be readable."""
        cdef Column own = self.plan.columns[column]    # a copy: another thread may move the columns
        cdef const Column* c = &own
        cdef int trouble
        self.composed = True
        if c.slot >= 0 and self.slot_end[c.slot] <= self.slot_begin[c.slot]:
            self.slot_begin[c.slot] = self.k
        if c.kind == TEXT:
            trouble = self.words(c, text, n)
        elif not bag and is_date(text, n):
            trouble = self.date(c, text, n)
        else:
            trouble = self.category(c, text, n)
        if c.slot >= 0:
            self.slot_end[c.slot] = self.k
        return trouble

    cdef int missing(self, Py_ssize_t column) noexcept nogil:
        """Append the feature "column?" if missing values are counted."""
        cdef const Column* c = &self.plan.columns[column]
        if not self.plan.count_missing:
            return FINE
        if self.reserve_scratch(c.length + 1):
            return NO_ROOM
        memcpy(self.scratch, c.name, c.length)
        self.scratch[c.length] = 63
        return self.add(NULL, 0, 0, self.scratch, c.length + 1, murmur3(self.scratch, c.length + 1, 0), 1)

    cdef int category(self, const Column* c, const char* text, Py_ssize_t n) noexcept nogil:
        """Append the feature "column=text"."""
        return self.add(c.name, c.length, 61, text, n, murmur3(text, n, c.hash), 1)

    cdef int part(self, const Column* c, const char* what, Py_ssize_t what_length, const char* text, Py_ssize_t n) \
            noexcept nogil:
        """Append the feature "column.what=text"."""
        cdef Py_ssize_t length = c.length + what_length
        if self.reserve_scratch(length):
            return NO_ROOM
        memcpy(self.scratch, c.name, c.length)
        memcpy(self.scratch + c.length, what, what_length)
        return self.add(self.scratch, length, 61, text, n, murmur3(text, n, murmur3(self.scratch, length, 0)), 1)

    cdef int date(self, const Column* c, const char* text, Py_ssize_t n) noexcept nogil:
        """Append year, month, day, weekday and, if there is one, hour."""
        cdef const char* days = b"SunMonTueWedThuFriSat"
        cdef int trouble
        trouble = self.part(c, b".year", 5, text, 4)
        if trouble == FINE:
            trouble = self.part(c, b".month", 6, text + 5, 2)
        if trouble == FINE:
            trouble = self.part(c, b".day", 4, text + 8, 2)
        if trouble == FINE:
            trouble = self.part(c, b".weekday", 8, days + 3 * weekday(text), 3)
        if trouble == FINE and n > 10:
            trouble = self.part(c, b".hour", 5, text + 11, 2)
        return trouble

    cdef int words(self, const Column* c, const char* text, Py_ssize_t n) noexcept nogil:
        """Append the counts of the words of a text, and of sequences of up to `ngram` words."""
        cdef Py_ssize_t i, last, tokens = -1
        cdef const char* begin
        cdef Py_ssize_t length
        cdef int trouble
        if self.reserve_scratch(n):
            return NO_ROOM
        if self.plan.pattern is None:
            tokens = self.ascii_tokens(text, n)
        if tokens == -1:
            tokens = self.kept_tokens(text, n)
        if tokens < 0:
            return NO_ROOM
        for i in range(tokens):
            for last in range(i, min(i + self.plan.ngram, tokens)):
                begin = self.scratch + self.token[2 * i]
                length = self.token[2 * last + 1] - self.token[2 * i]
                trouble = self.add(c.name, c.length, 61, begin, length, murmur3(begin, length, c.hash), 1)
                if trouble:
                    return trouble
        return FINE

    cdef Py_ssize_t ascii_tokens(self, const char* text, Py_ssize_t n) noexcept nogil:
        """Write the words of an ASCII text to `scratch`, with spaces. Returns how many; -1: not ASCII, -2: no room.

        As the usual pattern finds them, only faster.
        """
        cdef Py_ssize_t i, k = 0, tokens = 0
        cdef unsigned char c
        cdef bint inside = False
        for i in range(n):
            c = <unsigned char> text[i]
            if c >= 128:
                return -1
            if 65 <= c <= 90 or 97 <= c <= 122 or 48 <= c <= 57 or c == 95:
                if not inside:
                    if self.reserve_tokens(tokens + 1):
                        return -2
                    self.token[2 * tokens] = k
                    inside = True
                self.scratch[k] = c | 32 if self.plan.lower and 65 <= c <= 90 else c
                k += 1
            elif inside:
                self.token[2 * tokens + 1] = k
                tokens += 1
                self.scratch[k] = 32
                k += 1
                inside = False
        if inside:
            self.token[2 * tokens + 1] = k
            tokens += 1
        return tokens

    cdef Py_ssize_t kept_tokens(self, const char* text, Py_ssize_t n) noexcept with gil:
        """As `other_tokens`. Keeps an error for `expect` and returns -2: a pattern may take long, until Ctrl-C."""
        try:
            return self.other_tokens(text, n)
        except BaseException as error:
            self.error = error
            return -2

    cdef Py_ssize_t other_tokens(self, const char* text, Py_ssize_t n) except -2:
        """As `ascii_tokens`, for any text and any pattern."""
        cdef Py_ssize_t i, k = 0
        cdef bytes joined
        words = text[:n].decode()
        if self.plan.lower:
            words = words.lower()
        found = [word for word in (self.plan.pattern or USUAL).findall(words) if word]
        joined = " ".join(found).encode()
        if self.reserve_tokens(len(found)) or self.reserve_scratch(len(joined)):
            raise MemoryError
        memcpy(self.scratch, <const char*> joined, len(joined))
        for i, word in enumerate(found):
            self.token[2 * i] = k
            k += len(word.encode())
            self.token[2 * i + 1] = k
            k += 1
        return len(found)

    # ---- dicts

    def take(self, x):
        """Append the row of a dict. A DataError leaves the block as it was."""
        self.take_dict(x)

    cdef int take_dict(self, dict x) except -1:
        if self.met == NULL:
            self.forget_keys(FEWEST)
        self.expect(self.begin_row())
        if not self.take_items(x, False):
            self.expect(self.begin_row())
            self.take_items(flatten(x), True)
        self.expect(self.end_row())
        return 0

    cdef bint take_items(self, dict x, bint flat) except -1:
        """Append the features of a dict. False if `flatten` must first take apart what is in it."""
        cdef Py_ssize_t count = 0, position = 0, size = len(x)
        cdef PyObject* key
        cdef PyObject* item
        cdef double number
        cdef int place
        cdef list words = None
        self.quick = self.plan.bits == 0
        if self.k + size > self.work.values_room and self.work.reserve_values(2 * (self.k + size)) < 0:
            raise MemoryError(f"no memory for a row of {size} features")
        while PyDict_Next(x, &position, &key, &item):
            count += 1
            if count > size:
                raise DataError("the example has changed while it was read")
            if PyFloat_CheckExact(item):
                number, place = PyFloat_AS_DOUBLE(item), self.recalled(key)
                if place >= 0 and self.k < self.work.values_room and -LIMIT <= number <= LIMIT:
                    self.work.index[self.k], self.work.value[self.k] = place, number
                    self.k += 1
                else:
                    self.quick = False
                    self.take_number(<object> key, number)
                continue
            self.quick = False
            name, value = <object> key, <object> item
            if not flat and not is_flat(value):
                return False
            if self.words_last and isinstance(value, WORDS):
                words = [] if words is None else words
                words.append((name, value))
            else:
                self.take_value(name, value)
        if words is not None:
            for name, value in words:
                self.take_words(name, value)
        return True

    cdef int take_value(self, object name, value) except -1:
        """Append the feature of a flat value, or its features."""
        if isinstance(value, WORDS):
            self.take_words(name, value)
        elif value is None:
            self.take_number(name, NAN)
        elif not self.plan.selective or self.plan.columns[self.column_of(name)].kind < LABEL:
            self.take_number(name, number(name, value))
        return 0

    cdef int take_words(self, object name, value) except -1:
        """Append the features of a string, or of a list or set of them."""
        cdef Py_ssize_t column = self.column_of(name)
        if self.plan.columns[column].kind >= LABEL:
            return 0
        if isinstance(value, str):
            self.take_string(column, value, False)
        else:
            for word in bag_of(name, value):
                self.take_string(column, word, True)
        return 0

    cdef int take_string(self, Py_ssize_t column, value, bint bag) except -1:
        """Append a string. A word of a bag is never a date."""
        cdef Py_ssize_t n
        cdef const char* text = utf8(value, "the string", &n)
        if self.reserve_cell(n) < 0:
            raise MemoryError("no memory for a string")
        memcpy(self.cell, text, n)
        self.expect(self.string(column, self.cell, n, bag))
        return 0

    cdef int take_number(self, object name, double x) except -1:
        """Append a number; NaN is a missing value."""
        cdef Py_ssize_t column, n, k = self.k
        cdef const char* text
        if x != x or self.plan.selective:
            column = self.column_of(name)
            if self.plan.columns[column].kind >= LABEL:
                return 0
            if x != x:
                self.expect(self.missing(column))
                return 0
        if not -LIMIT <= x <= LIMIT:
            refuse(f"feature {name!r}", x)
        if self.plan.selective and self.plan.columns[column].slot >= 0:
            self.expect(self.number(column, x))
            return 0
        text = utf8(name, "the feature name", &n)
        self.composed = self.composed or type(name) is not str
        self.expect(self.add(NULL, 0, 0, text, n, murmur3(text, n, 0), x))
        if self.k > k and type(name) is str and not (self.plan.count_missing and name.endswith("?")):    # see `missing`
            self.remember(name, self.work.index[k])
        return 0

    cdef Py_ssize_t column_of(self, object name) except -1:
        """The number of a column; adds a new one."""
        cdef PyObject* found
        if type(name) is not str:
            if not isinstance(name, str):
                raise DataError(f"the feature name {shown(name)} is a {type(name).__name__}; names are strings")
            name = str.__str__(name)
        found = PyDict_GetItemWithError(self.plan.place, name)
        if found != NULL:
            return PyLong_AsSsize_t(<object> found)
        if self.plan.n - self.plan.given >= MOST_MET:    # a new plan, because other encoders may be using this one
            self.plan = Plan(self.plan.features, self.plan.columns_given, self.plan.crowd)
        kind = TEXT if name in self.plan.features.text else CATEGORY
        return self.plan.add(name, DROPPED if self.plan.features.drops(name) else kind)

    # ---- keys
    #
    # Most keys of dicts are the same string objects in every row, and always when a row is predicted and then learned.
    # So a key is first looked up by its address, which needs no hash of its text.

    cdef inline int recalled(self, void* key) noexcept:
        """The number of a remembered key (with bits, its column); -1 if this object is not remembered."""
        cdef const Met* met = self.met + 2 * ((<unsigned long long> key * 0x9E3779B97F4A7C15ULL) >> self.shift)
        return met[0].place if met[0].key == key else met[1].place if met[1].key == key else -1

    cdef void remember(self, object name, int place) noexcept:
        """Remember a key; it replaces the older one of its two places. New names wait until their row has succeeded."""
        cdef Met* met
        cdef void* gone
        cdef int bits = 64 - self.shift
        if self.plan.bits == 0:
            if place >= self.known:
                return
            if bits < MOST and self.names.n > 1 << bits:
                self.forget_keys(bits + 2)
        met = self.met + 2 * ((<unsigned long long> <void*> name * 0x9E3779B97F4A7C15ULL) >> self.shift)
        gone = met[1].key
        met[1] = met[0]
        met[0].key, met[0].place = <void*> name, place
        Py_INCREF(name)
        if gone != NULL:
            Py_DECREF(<object> gone)

    cdef int forget_keys(self, int bits) except -1:
        """Forget all keys and use a table of 2^bits places for two."""
        cdef Met* met = <Met*> calloc(2 << bits, sizeof(Met))
        if met == NULL:
            raise MemoryError("no memory for the keys of rows")
        release(self.met, 64 - self.shift)
        self.met, self.shift = met, 64 - bits
        return 0

    # ---- columns

    def take_columns(self, list columns, Py_ssize_t n):
        """Append n rows of a table; `columns` are as `Columns` takes them."""
        cdef Columns table = Columns(columns, n, {} if self.names is None else self.names.places)
        cdef bint simple = self.prepare(table)
        cdef Py_ssize_t i = 0, again = 0, pause = FEW_ROWS, end
        cdef int trouble = FINE
        with nogil:
            while i < n and trouble == FINE:
                if simple and i >= again:
                    end = min(i + FEW_ROWS, n)
                    if self.take_full(table, i, end):
                        i, pause = end, FEW_ROWS
                        continue
                    again, pause = i + pause, min(2 * pause, LONGEST_PAUSE)    # the next rows may fail as well
                trouble = self.take_row(table, i)
                i += 1
        if trouble == TOO_WILD:
            self.refuse_row(table)
        self.expect(trouble)

    cdef bint prepare(self, Columns table) except -1:
        """Prepare for a table. Returns True if `take_full` may take its rows."""
        cdef Py_ssize_t j
        cdef bint simple = self.plan.bits == 0 and self.plan.crosses == 0 and self.plan.apart and table.m > 0
        cdef const Column* c
        for j in range(table.m):
            c = &self.plan.columns[j]
            table.cells[j].category = self.plan.bits == 0 and c.kind != TEXT and c.slot < 0
            table.places[j] = c.place
            simple = simple and (table.cells[j].category if table.cells[j].number == NULL else c.place >= 0)
        if simple and (self.work.reserve_rows(self.at.rows + table.n) < 0
                       or self.work.reserve_values(self.at.values + table.n * table.m) < 0):
            raise MemoryError(f"no memory for {table.n} rows")
        return simple

    cdef bint take_full(self, Columns table, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        """Append a few rows in which every cell is one feature. False, and no row, if one of them is not like that.

        Names are numbered in the order in which `take_row` meets them.
        """
        cdef Py_ssize_t i, j, m = table.m
        cdef int* index = self.work.index + self.at.values
        cdef bint known = True
        if self.at.values + (end - begin) * m > self.work.values_room:
            return False
        if not rows_of_columns(end - begin, m, table.values_from(begin), self.work.value + self.at.values,
                               self.work.norm2 + self.at.rows, LIMIT * LIMIT):
            return False
        for i in range(end - begin):
            memcpy(index + i * m, table.places, m * sizeof(int))
        for j in range(table.strings_n):
            known &= known_places(&table.cells[table.strings[j]], begin, end, index + table.strings[j], m)
        for i in range(0 if known else end - begin):
            if not self.take_places(table, begin + i, index + i * m):
                self.known = self.names.n    # `take_row` will need these names first
                return False
        for _ in range(end - begin):
            self.work.y[self.at.rows], self.work.name[self.at.rows] = NAN, -1
            self.at.rows += 1
            self.at.values += m
            self.work.start[self.at.rows] = self.at.values
        self.k, self.known, self.at.features = self.at.values, self.names.n, <int> self.names.n
        return True

    cdef bint take_places(self, Columns table, Py_ssize_t i, int* index) noexcept nogil:
        """Find the features of the strings of row i; adds new names. False if a cell is not one feature."""
        cdef Py_ssize_t j
        cdef int column
        for j in range(table.strings_n):
            column = table.strings[j]
            index[column] = self.category_place(&table.cells[column], column, i)
            if index[column] < 0:
                return False
        return True

    cdef int take_row(self, Columns table, Py_ssize_t i) noexcept nogil:
        """Append row i, with any kinds of cells."""
        cdef Py_ssize_t j
        cdef double x
        cdef int trouble = self.begin_row()
        for j in range(table.m):
            if trouble:
                return trouble
            if table.cells[j].number == NULL:
                trouble = self.cell_string(&table.cells[j], j, i)
                continue
            x = table.cells[j].number[i]
            if x != x:
                trouble = self.missing(j)
            elif -LIMIT <= x <= LIMIT:
                trouble = self.number(j, x)
            else:
                trouble = TOO_WILD
        return trouble or self.end_row()

    cdef inline int cell_string(self, const Cells* c, Py_ssize_t column, Py_ssize_t i) noexcept nogil:
        """Append cell i of a column of strings."""
        cdef int place = self.category_place(c, column, i) if c.category else -1
        if place >= 0 and self.k < self.work.values_room and self.names.last[place] < self.at.values:
            self.put(place, 1)
            return FINE
        if c.code != NULL:
            i = c.code[i]
        if i < 0 or c.known == NULL or not c.known[i]:
            return self.missing(column)
        return self.string(column, c.text + c.offset[i], c.offset[i + 1] - c.offset[i])

    cdef inline int category_place(self, const Cells* c, Py_ssize_t column, Py_ssize_t i) noexcept nogil:
        """The number of a category cell's feature, cached for dictionaries; -1 if the cell is missing or a date."""
        cdef const Column* name
        cdef const char* text
        cdef Py_ssize_t n
        cdef int place
        if c.code != NULL:
            i = c.code[i]
            if i >= 0 and c.place[i]:
                return c.place[i] - 1
        if i < 0 or c.known == NULL or not c.known[i]:
            return -1
        text, n, name = c.text + c.offset[i], c.offset[i + 1] - c.offset[i], &self.plan.columns[column]
        if is_date(text, n):
            return -1
        place = self.names.number(name.name, name.length, 61, text, n, murmur3(text, n, name.hash))
        if c.code != NULL:
            c.place[i] = place + 1
        return place

    cdef int refuse_row(self, Columns table) except -1:
        """Raise the error for a value out of range in the row that failed."""
        cdef Py_ssize_t j
        cdef const double* number
        where = f"row {self.at.rows}"
        for j in range(table.m):
            number = table.cells[j].number
            if number != NULL and not -LIMIT <= number[self.at.rows] <= LIMIT:
                refuse(f"{where}, column {self.plan.names[j]!r}", number[self.at.rows])
        raise DataError(f"{where}: a product of crossed columns is beyond +-{LIMIT:g}")

    cdef Block block(self, list labels, Py_ssize_t lines, list bad, Py_ssize_t bad_count):
        """The rows that have been completed."""
        return finish(self.work, &self.at, labels, lines, bad, bad_count, self.names)

    def rows(self):
        """The rows that have been completed."""
        return finished_rows(self.work, &self.at, self.names)

    def finish(self, list y, Py_ssize_t lines, list bad, Py_ssize_t bad_count):
        """The block of the completed rows, with these labels."""
        cdef Block block = self.block([], lines, bad, bad_count)
        block.y = np.array(y, dtype=object if any(isinstance(label, str) for label in y) else np.float64)
        return block


cdef class RowEncoder(DictReader):
    """Encodes one dict at a time as a row of one model: in its columns, and scaled.

    The encoder stores the names of the dicts that it has read. They are a cache; the model's names are its vocabulary.
    """

    def __init__(self, features, Vocabulary vocabulary, Scaler scaler):
        self.vocabulary, self.scaler = vocabulary, scaler
        self.encoder = Encoder(Plan(features), -1)
        self.encoder.words_last = features.plain

    def __dealloc__(self):
        free(self.column)
        free(self.index)
        free(self.value)

    cdef int read(self, features) except -1:
        cdef Encoder encoder = self.encoder
        if self.vocabulary is not None and encoder.names.n > 2 * len(self.vocabulary.names) + MOST_MET:
            self.encoder, self.mapped = Encoder(encoder.plan, -1), 0    # most names were predicted, and never learned
            self.encoder.words_last = encoder.words_last
            encoder = self.encoder
        encoder.take_dict(features if type(features) is dict else as_dict(features))
        encoder.at.rows = encoder.at.values = 0    # the next row goes to the same place
        return 0

    cdef int show(self, bint learning, double constant, Row* row) except -1:
        cdef Encoder encoder = self.encoder
        row.index, row.value, row.n = encoder.work.index, encoder.work.value, encoder.k
        row.norm2 = encoder.work.norm2[0]
        self.reserve(row.n + 1)        # of an empty row, too: memcpy takes no NULL
        if self.vocabulary is not None:
            row.n = self.translate(learning, &row.norm2)
            row.index, row.value = self.index, self.value
        if self.scaler is not None:
            if self.vocabulary is None:
                memcpy(self.value, row.value, row.n * sizeof(double))
            self.scaler.scale(row.index, self.value, row.n, row.norm2, learning)
            row.value = self.value
            row.norm2 = sum_of_squares(self.value, row.n)
        row.constant = constant
        row.norm2 += constant
        return 0

    cdef Py_ssize_t translate(self, bint learning, double* norm2) except -1:
        """Replace the encoder's numbers by the model's columns. Returns the number of features."""
        cdef Encoder encoder = self.encoder
        cdef const int* place = encoder.work.index
        cdef const double* value = encoder.work.value
        cdef Py_ssize_t i, k = 0, n = encoder.k, summed
        cdef int column
        self.fresh = None
        for i in range(n):
            column = self.column[place[i]] if place[i] < self.mapped else -1
            if column < 0:
                column = self.find(place[i], learning)
            if column >= 0:
                self.index[k], self.value[k] = column, value[i]
                k += 1
        if encoder.composed:           # two ways to the same name, as in {"a=x": 1, "a": "x"}
            summed = encoder.row.summed(self.index, self.value, k)
            if summed < 0:
                raise MemoryError("no memory for a row")
            if summed < k:
                k = summed
                norm2[0] = sum_of_squares(self.value, k)
        return k

    cdef int find(self, int place, bint learning) except -2:
        """Look up the column of a name in the vocabulary; -1 if it has none.

        For a name without a column `self.column` stores -1 - n, where n is the number of names that the model had. With
        the same n there is no second look.
        """
        cdef Py_ssize_t j, known = len(self.vocabulary.names), n = self.encoder.names.n
        if place >= self.mapped:
            if n > self.columns_room:
                if resize(<void**> &self.column, 2 * n, sizeof(int)) < 0:
                    raise MemoryError("no memory for names")
                self.columns_room = 2 * n
            for j in range(self.mapped, n):
                self.column[j] = NEVER
            self.mapped = n
        if not learning and self.column[place] == -1 - known:
            return -1
        name = self.encoder.names[place]
        found = self.vocabulary.number.get(name)
        if found is not None:
            self.column[place] = found
            return found
        if not learning:
            self.column[place] = <int> (-1 - known)
            return -1
        if self.fresh is None:
            self.fresh = {}
        return self.fresh.setdefault(name, known + len(self.fresh))

    cdef int reserve(self, Py_ssize_t n) except -1:
        if n > self.room:
            n = max(n, 2 * self.room, 64)
            if resize(<void**> &self.value, n, sizeof(double)) < 0 or resize(<void**> &self.index, n, sizeof(int)) < 0:
                raise MemoryError(f"no memory for a row of {n} features")
            self.room = n
        return 0

    cdef Py_ssize_t columns(self) noexcept:
        if self.vocabulary is None:
            return self.encoder.at.features
        return len(self.vocabulary.names) + (0 if self.fresh is None else len(self.fresh))

    cdef int keep_names(self) except -1:
        if self.fresh is not None:
            for name in self.fresh:
                self.vocabulary.add(name)
            self.fresh = None
        return 0

    cdef void settle(self) noexcept:
        if self.scaler is not None:
            self.scaler.changes = 0

    cdef int undo(self) except -1:
        self.fresh = None
        if self.scaler is not None:
            self.scaler.rewind(0)
        return 0


def as_dict(features):
    """A mapping as a dict."""
    if not isinstance(features, Mapping):
        raise DataError(f"an example is a dict of features by name; this is a {type(features).__name__}")
    return dict(features)


cdef bint is_flat(value) except -1:
    """Whether a value needs no `flatten`: it is a number, a string, None, or a list or set of strings."""
    if value is None or isinstance(value, (str, int, float, set, frozenset)):
        return True
    if isinstance(value, (list, tuple)):
        for word in value:
            if not isinstance(word, str):
                return False
        return True
    return not isinstance(value, NOT_FLAT) and not is_absent(value)


cdef double number(name, value) except? -1:
    try:
        return value if isinstance(value, (int, float)) else real(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"feature {name!r}: the value {shown(value)} of type {type(value).__name__}; a value is a number, "
            f"a string, or a list or set of strings"
        ) from None


cdef const char* utf8(text, str what, Py_ssize_t* n) except NULL:
    """The bytes of a string."""
    if not isinstance(text, str):
        raise DataError(f"{what} {shown(text)} is a {type(text).__name__}; names are strings")
    try:
        return PyUnicode_AsUTF8AndSize(text, n)
    except UnicodeEncodeError:
        encoded(text, what)            # raises a DataError that names the letter
        raise


cdef void release(Met* met, int bits) noexcept:
    """Release the remembered keys."""
    cdef Py_ssize_t i
    for i in range(0 if met == NULL else 2 << bits):
        if met[i].key != NULL:
            Py_DECREF(<object> met[i].key)
    free(met)


USUAL = re.compile(TOKEN)


cdef inline bint known_places(const Cells* c, Py_ssize_t begin, Py_ssize_t end, int* index, Py_ssize_t m) \
        noexcept nogil:
    """Write the features of some cells of a column, m places apart. False if one is not cached."""
    cdef Py_ssize_t i
    cdef int place
    if c.code == NULL:
        return False
    for i in range(begin, end):
        place = c.place[c.code[i]] if c.code[i] >= 0 else 0
        if place == 0:
            return False
        index[0] = place - 1
        index += m
    return True


cdef inline bint two(const char* p, int low, int high) noexcept nogil:
    """Whether two digits here are a number from `low` to `high`."""
    return 48 <= p[0] <= 57 and 48 <= p[1] <= 57 and low <= 10 * (p[0] - 48) + p[1] - 48 <= high


cdef bint is_date(const char* p, Py_ssize_t n) noexcept nogil:
    """Whether a text is a date such as 2026-11-16 or 2026-11-16T08:30:00Z."""
    cdef const char* end = p + n
    cdef int days, month, year
    if n < 10 or n == 11 or p[4] != 45 or p[7] != 45:
        return False
    if not (two(p, 0, 99) and two(p + 2, 0, 99) and two(p + 5, 1, 12) and two(p + 8, 1, 31)):
        return False
    year = 1000 * (p[0] - 48) + 100 * (p[1] - 48) + 10 * (p[2] - 48) + p[3] - 48
    month = 10 * (p[5] - 48) + p[6] - 48
    days = 31 - (month == 4 or month == 6 or month == 9 or month == 11)
    if month == 2:
        days = 29 if (year % 4 == 0 and year % 100 != 0) or year % 400 == 0 else 28
    if year == 0 or not two(p + 8, 1, days):
        return False
    if n == 10:
        return True
    if n < 16 or (p[10] != 84 and p[10] != 32) or p[13] != 58 or not (two(p + 11, 0, 23) and two(p + 14, 0, 59)):
        return False
    p += 16
    if end - p >= 3 and p[0] == 58:    # seconds
        if not two(p + 1, 0, 59):
            return False
        p += 3
        if end - p >= 2 and p[0] == 46 and 48 <= p[1] <= 57:
            days = 0
            p += 1
            while p < end and 48 <= p[0] <= 57 and days < 9:
                p += 1
                days += 1
    if end - p == 1 and p[0] == 90:    # Z
        return True
    if end - p >= 5 and (p[0] == 43 or p[0] == 45) and two(p + 1, 0, 99):
        p += 3
        p += p[0] == 58
        return end - p == 2 and two(p, 0, 99)
    return p == end


cdef int weekday(const char* p) noexcept nogil:
    """The day of the week of a date, 0 for Sunday (Sakamoto's method)."""
    cdef const char* shift = b"\x00\x03\x02\x05\x00\x03\x05\x01\x04\x06\x02\x04"
    cdef int year = 1000 * (p[0] - 48) + 100 * (p[1] - 48) + 10 * (p[2] - 48) + p[3] - 48
    cdef int month = 10 * (p[5] - 48) + p[6] - 48, day = 10 * (p[8] - 48) + p[9] - 48
    year -= month < 3
    return (year + year // 4 - year // 100 + year // 400 + shift[month - 1] + day) % 7
