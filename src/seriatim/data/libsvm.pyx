"""LIBSVM text: a label, then index:value pairs with indices from 1. Read in blocks of whole lines.

Also read: comments from `#` to the end of the line, blank lines, CRLF, `qid:n` (ignored), labels that are names.
Indices in any order are accepted and sorted; the values of an index that occurs twice are summed.
"""

import numpy as np

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp

from seriatim.core.memory cimport resize
from seriatim.core.row cimport sum_of_squares
from seriatim.core.rows cimport Rows

from seriatim.core.rows import LIMIT
from seriatim.data.lines import PADDING

cdef extern from "digits.h":
    const double* TENS
    const uint64_t* WHOLE_TENS
    cdef enum:
        AT_ONCE
    int END_OF_PAIRS, UNUSUAL_VALUE, UNUSUAL_LINE
    bint have_vectors() nogil
    int digit_run(const char* p, uint64_t* number) noexcept nogil
    uint64_t digits(const char* p, int n, uint64_t* odd) noexcept nogil
    Py_ssize_t delimiters(bint vectors, const char* p, Py_ssize_t n, uint32_t* place) noexcept nogil
    int plain_pairs(
        bint vectors, const char* text, const uint32_t* place, Py_ssize_t* i, Py_ssize_t* k, Py_ssize_t first,
        Py_ssize_t room, int* index, double* value
    ) noexcept nogil

cdef bint vectors = have_vectors()


def use_vectors(bint wanted):
    """Whether to use the processor's vector instructions, if it has them; returns whether they were used.

    What is read does not depend on it.
    """
    global vectors
    before, vectors = vectors, wanted and have_vectors()
    return before


cdef Py_ssize_t DESCRIBED = 10    # bad lines of a block that are described

cdef enum:
    WINDOW = 1 << 14    # text that is looked through for delimiters at a time

cdef double HIGHEST = LIMIT

cdef enum Problem:
    NONE
    NO_LABEL
    NO_COLON
    BAD_INDEX
    ZERO_INDEX
    LARGE_INDEX
    BAD_VALUE
    WILD_VALUE
    NO_MEMORY


cdef inline bint blank(char c) noexcept nogil:
    return c == 32 or c == 9


cdef inline bint digit(char c) noexcept nogil:
    return 48 <= c <= 57


cdef inline bint token_end(char c) noexcept nogil:
    return c == 32 or c == 9 or c == 10 or c == 13


cdef const char* number(const char* p, double* result) noexcept nogil:
    """Read a decimal number; returns its end, or NULL if there is none. Correctly rounded.

    A mantissa below 2^53 and a power of ten up to 22 are exact, so that one rounding remains; the rest is Python's.
    """
    cdef const char* begin = p
    cdef bint negative = p[0] == 45
    cdef uint64_t mantissa = 0, part = 0
    cdef int n, digits = 0, power = 0, sign = 1
    if p[0] == 45 or p[0] == 43:
        p += 1
    digits = digit_run(p, &mantissa)
    p += digits
    while digit(p[0]) and digits < 24:
        n = digit_run(p, &part)
        mantissa = mantissa * WHOLE_TENS[n] + part
        p += n
        digits += n
    if p[0] == 46:
        p += 1
        power = -digit_run(p, &part)
        mantissa = mantissa * WHOLE_TENS[-power] + part
        p -= power
        while digit(p[0]) and digits - power < 24:
            n = digit_run(p, &part)
            mantissa = mantissa * WHOLE_TENS[n] + part
            p += n
            power -= n
        digits -= power
    if digits == 0:
        return slow_number(begin, result)
    if p[0] == 101 or p[0] == 69:
        p += 1
        if p[0] == 45 or p[0] == 43:
            sign = -1 if p[0] == 45 else 1
            p += 1
        n = digit_run(p, &part)
        if n == 0 or n > 4:
            return slow_number(begin, result)
        p += n
        power += sign * <int> part
    if digits > 19 or mantissa >= (<uint64_t> 1 << 53) or power < -22 or power > 22:
        return slow_number(begin, result)
    result[0] = <double> mantissa
    if power < 0:
        result[0] /= TENS[-power]
    else:
        result[0] *= TENS[power]
    if negative:
        result[0] = -result[0]
    return p


cdef const char* slow_number(const char* p, double* result) noexcept nogil:
    """What the fast way does not cover: many digits, large exponents, inf and nan, and what is no number at all."""
    cdef const char* end = p
    while <unsigned char> end[0] > 32 and end - p < 10000:    # float() would strip the control characters
        end += 1
    with gil:
        try:
            text = PyBytes_FromStringAndSize(p, end - p)
            if b"_" in text:
                return NULL
            result[0] = float(text)
            return end
        except Exception:
            return NULL


cdef class Workspace:
    """Memory for the rows of one block, used again for the next: fresh pages from the system cost more than parsing."""

    cdef double* y
    cdef int* name                     # the number of a label that is not a number, or -1
    cdef double* norm2
    cdef long long* start
    cdef int* index
    cdef double* value
    cdef Py_ssize_t rows_room, values_room

    def __dealloc__(self):
        free(self.y)
        free(self.name)
        free(self.norm2)
        free(self.start)
        free(self.index)
        free(self.value)

    cdef int reserve_rows(self, Py_ssize_t n) noexcept nogil:
        if n <= self.rows_room:
            return 0
        if (resize(<void**> &self.y, n, sizeof(double)) < 0 or resize(<void**> &self.name, n, sizeof(int)) < 0
                or resize(<void**> &self.norm2, n, sizeof(double)) < 0
                or resize(<void**> &self.start, n + 1, sizeof(long long)) < 0):
            return -1
        self.rows_room = n
        return 0

    cdef int reserve_values(self, Py_ssize_t n) noexcept nogil:
        if n <= self.values_room:
            return 0
        if resize(<void**> &self.index, n, sizeof(int)) < 0 or resize(<void**> &self.value, n, sizeof(double)) < 0:
            return -1
        self.values_room = n
        return 0


cdef list spare = []                   # workspaces that wait for a block


cdef class Block:
    """What one block of lines holds: rows, their labels, how many lines it took, and which of them were bad."""

    cdef Workspace workspace
    cdef readonly Rows rows
    cdef readonly object y             # labels or targets, numbers where they are numbers
    cdef readonly Py_ssize_t lines
    cdef readonly list bad             # (line within the block, column, problem) of the first of them
    cdef readonly Py_ssize_t bad_count

    def release(self):
        """Give the memory of the rows to the next block; they must not be used any more."""
        if self.workspace is not None and len(spare) < 16:
            self.rows.forget()
            spare.append(self.workspace)
        self.workspace = None


cdef struct Position:
    Py_ssize_t rows, values
    const char* where                  # the end of the line, or the place of a problem
    int features
    bint named
    bint unsorted


cdef const char* label(const char* p, Workspace work, Position* at, list names, dict numbers) noexcept nogil:
    """Read a label: a number, or any other word as a name."""
    cdef const char* end = p
    cdef double y = 0
    cdef const char* after = number(p, &y)
    work.name[at.rows] = -1
    work.y[at.rows] = y
    if after != NULL and token_end(after[0]) and y - y == 0:
        return after
    while <unsigned char> end[0] > 32 and end[0] != 58 and end[0] != 127:
        end += 1
    if end == p or not token_end(end[0]):
        return NULL
    with gil:
        try:
            word = PyBytes_FromStringAndSize(p, end - p).decode()
        except UnicodeDecodeError:
            return NULL
        if word not in numbers:
            numbers[word] = len(names)
            names.append(word)
        work.name[at.rows] = numbers[word]
    at.named = True
    return end


cdef inline void add_row(Workspace work, Position* at, Py_ssize_t end) noexcept nogil:
    """What has been read up to value number `end` is a row."""
    work.norm2[at.rows] = sum_of_squares(work.value + at.values, end - at.values)
    at.values = end
    at.rows += 1
    work.start[at.rows] = end


cdef int line(const char* p, Workspace work, Position* at, list names, dict numbers) noexcept nogil:
    """Read one line, whatever is in it, up to the newline that ends it."""
    cdef uint64_t index = 0, more = 0
    cdef Py_ssize_t k = at.values
    cdef int n, features = at.features
    cdef const char* begin
    cdef double x = 0
    while blank(p[0]):
        p += 1
    at.where = p
    if p[0] == 10 or p[0] == 35 or (p[0] == 13 and p[1] == 10):
        return NONE
    if at.rows == work.rows_room and work.reserve_rows(2 * at.rows) < 0:
        return NO_MEMORY
    p = label(p, work, at, names, numbers)
    if p == NULL:
        return NO_LABEL
    while True:
        while blank(p[0]):
            p += 1
        begin = p
        n = digit_run(p, &index)
        p += n
        if p[0] != 58 or n == 0:
            at.where = begin
            if n == 0 and (p[0] == 10 or p[0] == 35 or (p[0] == 13 and p[1] == 10)):
                break
            if n == 0 and memcmp(p, b"qid:", 4) == 0:
                while not token_end(p[0]):
                    p += 1
                continue
            if n == 0:
                return BAD_INDEX
            if n < 8:
                return NO_COLON
            p += digit_run(p, &more)
            index = index * WHOLE_TENS[p - begin - 8] + more
            if p[0] != 58:
                return LARGE_INDEX if digit(p[0]) else NO_COLON
        if index == 0 or index > 2147483646:
            at.where = begin
            return ZERO_INDEX if index == 0 else LARGE_INDEX
        at.where = p + 1
        p = number(p + 1, &x)
        if p == NULL or not token_end(p[0]):
            return BAD_VALUE
        if not -HIGHEST <= x <= HIGHEST:
            return WILD_VALUE
        if k == work.values_room and work.reserve_values(2 * k) < 0:
            return NO_MEMORY
        if k > at.values and work.index[k - 1] >= <int> index - 1:
            at.unsorted = True
        work.index[k] = <int> index - 1
        work.value[k] = x
        if <int> index > features:
            features = <int> index
        k += 1
    at.features = features
    add_row(work, at, k)
    return NONE


cdef bint plain_line(
    const char* text, const uint32_t* place, Py_ssize_t* q, Workspace work, Position* at
) noexcept nogil:
    """Read the line at `at.where` if nothing about it is unusual: a whole label, pairs in order, a space before each.

    `place` holds the delimiters of the text, those of this line from number q on. Says whether it did; if not, nothing
    has changed.
    """
    cdef Py_ssize_t i = q[0], k = at.values
    cdef unsigned int n
    cdef int status = UNUSUAL_VALUE
    cdef uint64_t odd = 0
    cdef const char* p = at.where
    cdef double x
    p += p[0] == 43 or p[0] == 45
    n = <unsigned int> (text + place[i] - p)
    if n - 1 > 7 or at.rows == work.rows_room:
        return False
    x = <double> <long long> digits(p, n, &odd)
    work.y[at.rows] = -x if at.where[0] == 45 else x
    work.name[at.rows] = -1
    while status == UNUSUAL_VALUE:
        status = plain_pairs(vectors, text, place, &i, &k, at.values, work.values_room, work.index, work.value)
        if status == UNUSUAL_VALUE:
            work.index[k] = <int> digits(text + place[i] + 1, place[i + 1] - place[i] - 1, &odd) - 1
            odd |= work.index[k] <= (work.index[k - 1] if k > at.values else -1)
            if (number(text + place[i + 1] + 1, &work.value[k]) != text + place[i + 2]
                    or not -HIGHEST <= work.value[k] <= HIGHEST):
                return False
            k += 1
            i += 2
    if text[place[i]] == 13 and text[place[i] + 1] == 10:
        i += 1
    if odd or status == UNUSUAL_LINE or text[place[i]] != 10:
        return False
    q[0] = i + 1
    at.where = text + place[i]
    if k > at.values:
        at.features = max(at.features, work.index[k - 1] + 1)
    add_row(work, at, k)
    return True


cdef const char* last_newline(const char* begin, const char* end) noexcept nogil:
    """Just after the last newline before `end`; `begin` if there is none."""
    while end > begin and end[-1] != 10:
        end -= 1
    return end


def describe(int problem, bytes text):
    """What was found and what would be right."""
    found = text.decode(errors="replace")
    found = repr(found if len(found) <= 40 else found[:40] + "...")
    return {
        NO_LABEL: f"expected a label, found {found}",
        NO_COLON: f"expected index:value, found {found}",
        BAD_INDEX: f"expected index:value, found {found}",
        ZERO_INDEX: "feature index 0; LIBSVM indices start at 1",
        LARGE_INDEX: f"expected a feature index from 1 to {2**31 - 2}, found {found}",
        BAD_VALUE: f"expected a number, found {found}",
        WILD_VALUE: f"expected a finite number within +-{LIMIT:g}, found {found}",
    }[problem]


def parse(buffer, Py_ssize_t begin, Py_ssize_t end_, bint skip_bad=False):
    """Parse bytes begin..end of a buffer: whole lines, each ended by a newline, with PADDING bytes more behind them.

    Stops at the first bad line, or skips bad lines.
    """
    cdef const unsigned char[::1] view = buffer
    if not 0 <= begin <= end_ <= view.shape[0] - PADDING or (begin < end_ and view[end_ - 1] != 10):
        raise ValueError("a block must end with a newline and its padding")
    cdef Py_ssize_t length = end_ - begin
    cdef const char* p = <const char*> &view[begin]
    cdef const char* end = p + length
    cdef const char* safe = <const char*> &view[0] + 16    # a plain line looks at 16 bytes before the end of a pair
    cdef const char* window
    cdef const char* stop
    cdef const char* after
    cdef Py_ssize_t lines = 0, bad_count = 0, places, q, i
    cdef int problem = NONE
    cdef uint32_t[WINDOW + AT_ONCE] place
    cdef Position at
    cdef list names = [], bad = []
    cdef dict numbers = {}
    cdef Workspace work = spare.pop() if spare else Workspace.__new__(Workspace)
    at.rows = at.values = at.features = at.named = at.unsorted = 0
    if work.reserve_rows(64 + length // 256) < 0 or work.reserve_values(64 + length // 12) < 0:
        raise MemoryError
    work.start[0] = 0
    with nogil:
        while p < end and problem == NONE:
            window = p
            stop = end if end - p <= WINDOW else last_newline(p, p + WINDOW)
            places = delimiters(vectors, window, stop - window, place)
            q = 0
            if stop == window:         # a line longer than the window
                stop = <const char*> memchr(p, 10, end - p) + 1
            while p < stop:
                lines += 1
                at.where = p
                if places == 0 or p < safe or not plain_line(window, place, &q, work, &at):
                    problem = line(p, work, &at, names, numbers)
                    if problem != NONE:
                        with gil:
                            if problem == NO_MEMORY:
                                raise MemoryError
                            bad_count += 1
                            if bad_count <= DESCRIBED:
                                after = at.where
                                while not token_end(after[0]):
                                    after += 1
                                bad.append((lines, at.where - p + 1,
                                            describe(problem, PyBytes_FromStringAndSize(at.where, after - at.where))))
                        if not skip_bad:
                            break
                        problem = NONE
                    at.where = <const char*> memchr(at.where, 10, end - at.where)
                    while q < places and window + place[q] <= at.where:
                        q += 1
                p = at.where + 1
    cdef Block block = Block.__new__(Block)
    block.workspace, block.lines, block.bad, block.bad_count = work, lines, bad, bad_count
    block.rows = Rows.borrow(
        work, at.rows, at.features, work.start, work.index, work.value, NULL if at.unsorted else work.norm2
    ).check()
    block.y = np.array(<double[:max(at.rows, 1)]> work.y)[:at.rows]
    if at.named:
        block.y = block.y.astype(object)
        for i in range(at.rows):
            if work.name[i] >= 0:
                block.y[i] = names[work.name[i]]
    return block


def format_rows(Rows rows, list labels, bytes before=b"", int digits=17):
    """The text of rows with these labels, as bytes: `label before index:value ...`; 17 digits lose nothing."""
    cdef Py_ssize_t i, j, column, begin, end, used = 0
    cdef Py_ssize_t room = 40 * rows.nonzeros + sum(len(label) + len(before) + 3 for label in labels) + 64
    cdef char* text = <char*> malloc(room)
    cdef const char* word
    if text == NULL:
        raise MemoryError
    try:
        for i in range(rows.n):
            word = labels[i]
            used += snprintf(text + used, room - used, b"%s%s", word, <const char*> before)
            begin = i * rows.features if rows.index == NULL else rows.start[i]
            end = begin + rows.features if rows.index == NULL else rows.start[i + 1]
            for j in range(begin, end):
                column = j - begin if rows.index == NULL else rows.index[j]
                if rows.value[j] != 0:
                    used += snprintf(text + used, room - used, b" %zd:%.*g", column + 1, digits, rows.value[j])
            text[used] = 10
            used += 1
        return PyBytes_FromStringAndSize(text, used)
    finally:
        free(text)
