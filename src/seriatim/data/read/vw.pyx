"""Vowpal Wabbit text: `label importance 'tag |namespace:weight feature:value feature ... |namespace ...`.

A label is a number, or a name without a colon. The importance is the sample weight; the default is 1. Tags and initial
predictions are ignored. A feature without a value has the value 1. If a feature occurs twice, its values are summed.
The name of a feature is `namespace^feature`, or `feature` if the namespace has no name.

With `bits` features have no names: column = hash mod 2^bits, with the hash function of Vowpal Wabbit.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memchr

from seriatim.data.read.text cimport (
    BAD_IMPORTANCE, BAD_NAME, BAD_UTF8, BAD_VALUE, HIGHEST, NO_BAR, NO_LABEL, NO_MEMORY, NONE, WILD_VALUE, blank,
    is_utf8, label_between, note, number, token_end,
)
from seriatim.features.encoder cimport SEVERAL, Encoder, Plan
from seriatim.core.murmur cimport murmur3
from seriatim.features.block cimport Workspace, add_row

from seriatim.data.read.libsvm import vectors_used
from seriatim.data.read.text import PADDING

cdef extern from "words.h":
    ctypedef struct Window:
        const char* text
        Py_ssize_t n, at
        bint ascii
        const uint32_t* place
    ctypedef struct Unusual:
        uint32_t feature, name, colon, end
    cdef enum:
        FEATURES
    int have_vectors() nogil
    bint plain_label(const char* p, const char* end, double* y) noexcept nogil
    const char* look_through(Window* window, const char* p, const char* end, char other, int vectors) noexcept nogil
    void pass_over(Window* window, const char* newline) noexcept nogil
    int plain_words(
        const char* text, const uint32_t* place, Py_ssize_t* i, Py_ssize_t room, uint32_t seed,
        uint32_t* hash, double* value, Unusual* unusual, int* unusuals
    ) noexcept nogil

have_vectors()    # fills the tables


cdef inline bint word_end(char c) noexcept nogil:
    return token_end(c) or c == 124


cdef inline bint feature_end(char c) noexcept nogil:
    return <unsigned char> c <= 58 and (c == 58 or token_end(c)) or c == 124


cdef inline uint32_t feature_hash(const char* name, Py_ssize_t n, uint32_t seed) noexcept nogil:
    """The hash of a name as in Vowpal Wabbit; `seed` is the hash of the namespace, 0 for a namespace without a name.

    The hash of an integer is the integer plus the seed.
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
    """Read the part before the first bar: label, importance, initial prediction, tag."""
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
        elif number(begin, &importance) != p or (word == 1 and not 0 <= importance <= HIGHEST):
            problem[0] = BAD_IMPORTANCE
            return p
        elif word == 1:
            encoder.work.weight[encoder.at.rows] = importance
        word += 1


cdef int line(const char* p, Encoder encoder, bint labelled, list labels, dict numbers) noexcept nogil:
    """Read one line up to the newline that ends it."""
    cdef int problem = NONE
    cdef Py_ssize_t space_length = 0
    cdef uint32_t seed = 0, hash
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
    encoder.work.weight[encoder.at.rows] = 1
    p = before_bar(p, encoder, labelled, labels, numbers, &problem)
    if problem != NONE:
        return problem
    while True:
        while blank(p[0]):
            p += 1
        begin = encoder.at.where = p
        if p[0] == 10 or (p[0] == 13 and p[1] == 10):
            encoder.at.weighted |= encoder.work.weight[encoder.at.rows] != 1
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
        if end == begin:               # a value without a name, or a lone carriage return
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
        hash = feature_hash(begin, end - begin, seed)
        if encoder.add(space, space_length, 94 if space_length else 0, begin, end - begin, hash, x):
            return NO_MEMORY


cdef Py_ssize_t plain_space(
    const char* text, const uint32_t* place, Py_ssize_t* i, Py_ssize_t k, uint32_t seed, Workspace work
) noexcept nogil:
    """Read features of a namespace as values k, k + 1, ...; their columns are hashes for now. Returns the next number.

    Returns k if there is no feature, if a value is bad, or if there is no room.
    """
    cdef Unusual[FEATURES] unusual
    cdef const Unusual* u
    cdef int j, odd = 0
    cdef double x
    cdef int n = plain_words(
        text, place, i, work.values_room - k, seed, <uint32_t*> work.index + k, work.value + k, unusual, &odd
    )
    for j in range(odd):
        u = &unusual[j]
        work.index[k + u.feature] = <int> feature_hash(text + u.name, u.colon - u.name, seed)
        if u.end > u.colon:
            if number(text + u.colon + 1, &x) != text + u.end or not -HIGHEST <= x <= HIGHEST:
                return k
            work.value[k + u.feature] = x
    return k + n


cdef bint hashed_row(Encoder encoder, Workspace work, Plan plan, Py_ssize_t end) noexcept nogil:
    """Turn the hashes of the values up to number `end` into columns, and add the row. Returns False without memory."""
    cdef Py_ssize_t i, n, first = encoder.at.values
    cdef uint32_t hash, known
    cdef bint news = False
    for i in range(first, end):        # branch-free: a branch would wait for the memory access
        hash = <uint32_t> work.index[i]
        known = plan.crowd.owner[hash & plan.mask]
        news |= (known != (hash >> plan.bits) + 1) & (known != <uint32_t> SEVERAL)
    for i in range(first, end if news else first):
        hash = <uint32_t> work.index[i]
        plan.crowd.meet(<int> (hash & plan.mask), hash >> plan.bits)
    for i in range(first, end):
        work.index[i] = <int> (<uint32_t> work.index[i] & plan.mask)
    n = encoder.row.summed(work.index + first, work.value + first, end - first)
    if n < 0:
        return False
    encoder.k = first + n
    add_row(work, &encoder.at, encoder.k)
    return True


cdef bint plain_line(Window* window, Encoder encoder, Workspace work) noexcept nogil:
    """Read the line at `at.where` if it is plain. Returns False for other lines, without a change.

    A plain line has an integer label, namespaces without weights, and one space before each namespace and feature.
    """
    cdef const char* text = window.text
    cdef const uint32_t* place = window.place
    cdef Py_ssize_t i = window.at, k = encoder.at.values, next
    cdef uint32_t seed = 0
    if encoder.at.rows == work.rows_room or text[place[i]] != 32 or text[place[i] + 1] != 124:
        return False
    if not plain_label(encoder.at.where, text + place[i], &work.y[encoder.at.rows]):
        return False
    work.name[encoder.at.rows], work.weight[encoder.at.rows] = -1, 1
    while text[place[i]] == 32:
        if text[place[i] + 1] == 124:
            seed = feature_hash(text + place[i] + 2, place[i + 2] - place[i] - 2, 0)
            i += 2
        else:
            next = plain_space(text, place, &i, k, seed, work)
            if next == k:
                return False
            k = next
    if text[place[i]] == 13 and text[place[i] + 1] == 10:
        i += 1
    if text[place[i]] != 10 or not hashed_row(encoder, work, encoder.plan, k):
        return False
    window.at = i + 1
    encoder.at.where = text + place[i]
    return True


def parse(buffer, Py_ssize_t begin, Py_ssize_t end_, Plan plan, bint skip_bad=False, bint labelled=True):
    """Parse bytes begin..end of a buffer: whole lines that end with a newline, followed by PADDING bytes.

    Stops at the first bad line, or skips bad lines. If `labelled` is False, missing labels become NaN.
    """
    cdef const unsigned char[::1] view = buffer
    if not 0 <= begin <= end_ <= view.shape[0] - PADDING or (begin < end_ and view[end_ - 1] != 10):
        raise ValueError("a block must end with a newline and its padding")
    cdef const char* p = <const char*> &view[begin]
    cdef const char* end = p + (end_ - begin)
    cdef const char* safe = <const char*> &view[0] + 16    # plain lines: reads the 16 bytes before the end of a value
    cdef const char* stop = p
    cdef const char* newline
    cdef const char* wrong
    cdef Py_ssize_t lines = 0, bad_count = 0
    cdef int problem = NONE
    cdef list labels = [], bad = []
    cdef dict numbers = {}
    cdef Encoder encoder = Encoder(plan, end_ - begin)
    cdef bint unicode = False
    cdef int plain = vectors_used() if plan.bits and not plan.crosses else 0
    cdef Window window
    with nogil:
        while p < end:
            if p == stop:
                stop = look_through(&window, p, end, 124, plain)
                unicode = window.ascii or is_utf8(p, stop - p) == NULL
            lines += 1
            encoder.at.where = p
            if unicode and window.n and p >= safe and plain_line(&window, encoder, encoder.work):
                p = encoder.at.where + 1
                continue
            newline = <const char*> memchr(p, 10, end - p)
            wrong = NULL
            if not unicode:
                wrong = is_utf8(p, newline - p)
            if wrong != NULL:
                problem = BAD_UTF8
                encoder.at.where = wrong
            else:
                problem = line(p, encoder, labelled, labels, numbers)
            if problem != NONE:
                bad_count += 1
                with gil:
                    note(bad, problem, lines, p, encoder.at.where)
                if not skip_bad:
                    break
            pass_over(&window, newline)
            p = newline + 1
    return encoder.block(labels, lines, bad, bad_count)
