"""Vowpal Wabbit text: `label importance 'tag |namespace:weight feature:value feature ... |namespace ...`.

A label is a number, or a name without a colon. An importance must be 1, for learners treat all examples alike; a tag is
passed over, as is an initial prediction. A feature without a value has 1; one that occurs twice has the sum. Its name
here is `namespace^feature`, or the feature alone where the namespace has no name.

With `bits` there are no names: column = hash mod 2^bits, the hash being that of Vowpal Wabbit.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memchr

from seriatim.data.text cimport (
    BAD_IMPORTANCE, BAD_NAME, BAD_UTF8, BAD_VALUE, HIGHEST, NO_BAR, NO_LABEL, NO_MEMORY, NONE, WILD_VALUE, blank, is_utf8,
    label_between, note, number, token_end,
)
from seriatim.features.encode cimport Encoder, Plan
from seriatim.core.murmur cimport murmur3

from seriatim.data.text import PADDING


cdef inline bint word_end(char c) noexcept nogil:
    return token_end(c) or c == 124


cdef inline bint feature_end(char c) noexcept nogil:
    return <unsigned char> c <= 58 and (c == 58 or token_end(c)) or c == 124


cdef inline uint32_t feature_hash(const char* name, Py_ssize_t n, uint32_t seed) noexcept nogil:
    """As Vowpal Wabbit: a name that is a whole number stands for itself, plus the hash of its namespace.

    That of a namespace is the same without one; it is 0 for the one that has no name.
    """
    cdef uint32_t whole = 0
    cdef Py_ssize_t i
    for i in range(n):
        if not 48 <= name[i] <= 57:
            return murmur3(name, n, seed)
        whole = 10 * whole + <uint32_t> (name[i] - 48)
    return whole + seed


cdef const char* before_bar(
    const char* p, Encoder encoder, bint labelled, list labels, dict numbers, int* problem
) noexcept nogil:
    """Read what stands before the first bar: a label, an importance, an initial prediction, a tag."""
    cdef const char* begin
    cdef double importance = 1
    cdef int word = 0
    problem[0] = NONE
    while True:
        while blank(p[0]):
            p += 1
        begin = encoder.at.where = p
        if p[0] == 124:
            if word == 0 and labelled:
                problem[0] = NO_LABEL
            return p
        while not word_end(p[0]):
            p += 1
        if begin == p:                 # the end of the line
            problem[0] = NO_BAR if word else NO_LABEL
            return p
        if begin[0] == 39 or p[0] == 124:    # a tag: with a quote, or next to the bar
            continue
        if word == 0:
            if memchr(begin, 58, p - begin) or not label_between(begin, p, encoder.work, &encoder.at, labels, numbers):
                problem[0] = NO_LABEL
                return p
        elif number(begin, &importance) != p or (word == 1 and importance != 1):
            problem[0] = BAD_IMPORTANCE
            return p
        word += 1


cdef int line(const char* p, Encoder encoder, bint labelled, list labels, dict numbers) noexcept nogil:
    """Read one line up to the newline that ends it."""
    cdef int problem = NONE
    cdef Py_ssize_t space_length = 0
    cdef uint32_t seed = 0
    cdef double weight = 1, x
    cdef const char* space = NULL
    cdef const char* begin
    cdef const char* end
    while blank(p[0]):
        p += 1
    encoder.at.where = p
    if p[0] == 10 or (p[0] == 13 and p[1] == 10):
        return NONE
    if encoder.begin_row():
        return NO_MEMORY
    p = before_bar(p, encoder, labelled, labels, numbers, &problem)
    if problem != NONE:
        return problem
    while True:
        while blank(p[0]):
            p += 1
        begin = encoder.at.where = p
        if p[0] == 10 or (p[0] == 13 and p[1] == 10):
            return NO_MEMORY if encoder.end_row() else NONE
        if p[0] == 124:                # a namespace
            p += 1
            space = p
            while not feature_end(p[0]):
                p += 1
            space_length = p - space
            seed = feature_hash(space, space_length, 0)
            weight = 1
            if p[0] == 58:
                encoder.at.where = p + 1
                p = number(p + 1, &weight)
                if p == NULL or not word_end(p[0]):
                    return BAD_VALUE
                if not -HIGHEST <= weight <= HIGHEST:
                    return WILD_VALUE
            continue
        while not feature_end(p[0]):
            p += 1
        end = p
        if end == begin:               # a value, or a lone carriage return
            return BAD_NAME
        x = 1
        if p[0] == 58:
            encoder.at.where = p + 1
            p = number(p + 1, &x)
            if p == NULL or not word_end(p[0]):
                return BAD_VALUE
        x *= weight
        if not -HIGHEST <= x <= HIGHEST:
            return WILD_VALUE
        if encoder.add(space, space_length, 94, begin, end - begin, feature_hash(begin, end - begin, seed), x):
            return NO_MEMORY


def parse(buffer, Py_ssize_t begin, Py_ssize_t end_, Plan plan, bint skip_bad=False, bint labelled=True):
    """Parse bytes begin..end of a buffer: whole lines, each ended by a newline, with PADDING bytes more behind them.

    Stops at the first bad line, or skips bad lines. Without `labelled` a label may be missing, and is NaN then.
    """
    cdef const unsigned char[::1] view = buffer
    if not 0 <= begin <= end_ <= view.shape[0] - PADDING or (begin < end_ and view[end_ - 1] != 10):
        raise ValueError("a block must end with a newline and its padding")
    cdef const char* p = <const char*> &view[begin]
    cdef const char* end = p + (end_ - begin)
    cdef const char* newline
    cdef Py_ssize_t lines = 0, bad_count = 0
    cdef int problem = NONE
    cdef list labels = [], bad = []
    cdef dict numbers = {}
    cdef Encoder encoder = Encoder(plan, end_ - begin)
    cdef bint unicode
    with nogil:
        unicode = is_utf8(p, end - p) == NULL
        while p < end:
            lines += 1
            newline = <const char*> memchr(p, 10, end - p)
            problem = line(p, encoder, labelled, labels, numbers) if unicode or is_utf8(p, newline - p) == NULL else BAD_UTF8
            if problem == BAD_UTF8:
                encoder.at.where = is_utf8(p, newline - p)
            if problem != NONE:
                bad_count += 1
                with gil:
                    note(bad, problem, lines, p, encoder.at.where)
                if not skip_bad:
                    break
            p = newline + 1
    return encoder.block(labels, lines, bad, bad_count)
