"""Numbers, labels and errors in text, for the parsers of LIBSVM, Vowpal Wabbit and tables."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from seriatim.core.rows import LIMIT

cdef extern from "digits.h":
    const double* TENS
    const uint64_t* WHOLE_TENS
    int digit_run(const char* p, uint64_t* number) noexcept nogil

PADDING = 64    # zero bytes after each text that is parsed
HIGHEST = LIMIT
cdef Py_ssize_t DESCRIBED = 10    # the first bad lines of a block get a message


cdef const char* number(const char* p, double* result) noexcept nogil:
    """Read a decimal number, correctly rounded. Returns its end, or NULL if there is no number.

    A mantissa below 2^53 and a power of ten up to 10^22 are exact, so only the division or product rounds. Python's
    `float` reads all other numbers.
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


cdef inline bint in_number(char c) noexcept nogil:
    """Whether a character may occur in a number, in inf or in nan."""
    return digit(c) or 97 <= c <= 122 or 65 <= c <= 90 or c == 43 or c == 45 or c == 46 or c == 95


cdef const char* slow_number(const char* p, double* result) noexcept nogil:
    """Read a number with many digits or a large exponent, inf, or nan. Returns NULL if there is no number."""
    cdef const char* end = p
    while in_number(end[0]) and end - p < 10000:
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


cdef inline bint has_zeros(const char* p) noexcept nogil:
    """Whether a number has leading zeros. The label 007 is a name, as in `labels.label_of`."""
    p += p[0] == 43 or p[0] == 45
    return p[0] == 48 and digit(p[1])


cdef const char* label(const char* p, Workspace work, Position* at, list labels, dict numbers) noexcept nogil:
    """Read a label: a number or a name. Returns its end, or NULL if there is no label."""
    cdef const char* end = p
    cdef double y = 0
    cdef const char* after = number(p, &y)
    work.name[at.rows] = -1
    work.y[at.rows] = y
    if after != NULL and token_end(after[0]) and y - y == 0 and not has_zeros(p):
        return after
    while <unsigned char> end[0] > 32 and end[0] != 58 and end[0] != 127:
        end += 1
    if end == p or not token_end(end[0]) or not named_label(p, end, work, at, labels, numbers):
        return NULL
    return end


cdef bint label_between(
    const char* p, const char* end, Workspace work, Position* at, list labels, dict numbers
) noexcept nogil:
    """Read p..end as a label: a number, with or without blanks around it, or a name. Returns whether it is valid."""
    cdef const char* first = p
    cdef const char* last = end
    cdef double y = 0
    while first < last and blank(first[0]):
        first += 1
    while first < last and blank(last[-1]):
        last -= 1
    work.name[at.rows] = -1
    if first < last and number(first, &y) == last and y - y == 0 and not has_zeros(first):
        work.y[at.rows] = y
        return True
    work.y[at.rows] = 0
    return end > p and named_label(p, end, work, at, labels, numbers)


cdef bint named_label(
    const char* p, const char* end, Workspace work, Position* at, list labels, dict numbers
) noexcept nogil:
    with gil:
        try:
            word = PyBytes_FromStringAndSize(p, end - p).decode()
        except UnicodeDecodeError:
            return False
        if word not in numbers:
            numbers[word] = len(labels)
            labels.append(word)
        work.name[at.rows] = numbers[word]
    at.named = True
    return True


cdef int note(list bad, int problem, Py_ssize_t line, const char* begin, const char* where) except -1:
    """Add the message for a problem of the line that begins at `begin`."""
    cdef const char* after = where
    if problem == NO_MEMORY:
        raise MemoryError
    if len(bad) < DESCRIBED:
        while not token_end(after[0]):
            after += 1
        bad.append((line, where - begin + 1, describe(problem, PyBytes_FromStringAndSize(where, after - where))))
    return 0


def describe(int problem, bytes text):
    """The message for a problem: what was expected and what was found."""
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
        NO_BAR: f"expected | and features, found {found}",
        BAD_IMPORTANCE: f"expected an importance weight from 0 to {LIMIT:g}, a tag or |, found {found}",
        BAD_NAME: f"expected a feature name, found {found}",
        BAD_UTF8: f"expected UTF-8 text, found the byte 0x{text[:1].hex()}",
    }[problem]


cdef const char* is_utf8(const char* text, Py_ssize_t n) noexcept nogil:
    """NULL if a text is valid UTF-8, else the first invalid byte. Overlong forms and surrogates are invalid."""
    cdef const char* p = text
    cdef const char* end = text + n
    cdef const char* begin
    cdef Py_ssize_t more
    cdef unsigned int c, lowest
    cdef uint64_t eight
    while p < end:
        memcpy(&eight, p, 8)           # may read the padding
        if not eight & 0x8080808080808080u:
            p += 8
            continue
        begin = p
        c = <unsigned char> p[0]
        p += 1
        if c < 0x80:
            continue
        more = 1 if 0xC2 <= c < 0xE0 else 2 if 0xE0 <= c < 0xF0 else 3 if 0xF0 <= c < 0xF5 else 0
        if more == 0 or p + more > end:
            return begin
        lowest = 0x80 if more == 1 else 0x800 if more == 2 else 0x10000
        c &= 0x3F >> more
        for _ in range(more):
            if <unsigned char> p[0] & 0xC0 != 0x80:
                return begin
            c = c << 6 | (<unsigned char> p[0] & 0x3F)
            p += 1
        if c < lowest or 0xD800 <= c < 0xE000 or c > 0x10FFFF:
            return begin
    return NULL
