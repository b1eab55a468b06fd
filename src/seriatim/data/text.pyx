"""What parsers of text share: numbers, labels, the memory in which rows are put together, and what may be wrong."""

import numpy as np

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint64_t
from libc.stdlib cimport free

from seriatim.core.memory cimport resize

from seriatim.core.rows import LIMIT

cdef extern from "digits.h":
    const double* TENS
    const uint64_t* WHOLE_TENS
    int digit_run(const char* p, uint64_t* number) noexcept nogil

HIGHEST = LIMIT
cdef Py_ssize_t DESCRIBED = 10    # bad lines of a block that are described


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

    def release(self):
        """Give the memory of the rows to the next block; they must not be used any more."""
        if self.workspace is not None and not self.rows.shared:
            self.rows.forget()
            if len(spare) < 16:
                spare.append(self.workspace)
        self.workspace = None


cdef Workspace new_workspace(Py_ssize_t length):
    """Room for the rows of a text of so many bytes; more is made when it is needed."""
    cdef Workspace work = spare.pop() if spare else Workspace.__new__(Workspace)
    if work.reserve_rows(64 + length // 256) < 0 or work.reserve_values(64 + length // 12) < 0:
        raise MemoryError
    work.start[0] = 0
    return work


cdef Block finish(Workspace work, Position* at, list labels, Py_ssize_t lines, list bad, Py_ssize_t bad_count):
    """The block of what has been read."""
    cdef Block block = Block.__new__(Block)
    cdef Py_ssize_t i
    block.workspace, block.lines, block.bad, block.bad_count = work, lines, bad, bad_count
    block.rows = Rows.borrow(
        work, at.rows, at.features, work.start, work.index, work.value, NULL if at.unsorted else work.norm2
    ).check()
    block.y = np.array(<double[:max(at.rows, 1)]> work.y)[:at.rows]
    if at.named:
        block.y = block.y.astype(object)
        for i in range(at.rows):
            if work.name[i] >= 0:
                block.y[i] = labels[work.name[i]]
    return block


cdef const char* label(const char* p, Workspace work, Position* at, list labels, dict numbers) noexcept nogil:
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
            numbers[word] = len(labels)
            labels.append(word)
        work.name[at.rows] = numbers[word]
    at.named = True
    return end


cdef int note(list bad, int problem, Py_ssize_t line, const char* begin, const char* where) except -1:
    """Describe a problem of a line that begins at `begin`."""
    cdef const char* after = where
    if problem == NO_MEMORY:
        raise MemoryError
    if len(bad) < DESCRIBED:
        while not token_end(after[0]):
            after += 1
        bad.append((line, where - begin + 1, describe(problem, PyBytes_FromStringAndSize(where, after - where))))
    return 0


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
        NO_PAIRS: f"expected a label and index:value pairs, found {found}",
    }[problem]
