"""LIBSVM text: a label, then index:value pairs with indices from 1. The reader parses blocks of whole lines.

A `#` at the beginning of a word begins a comment. Blank lines, comments and `qid:n` are ignored. Labels may be names,
and lines may end with CRLF. Indices may come in any order. If an index occurs twice, its values are summed. A line
without pairs whose label contains a comma or a semicolon is an error, because it comes from a table.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp

from seriatim.core.rows cimport Rows
from seriatim.features.block cimport Position, Workspace, add_row, finish, new_workspace
from seriatim.data.read.text cimport (
    BAD_INDEX, BAD_VALUE, HIGHEST, LARGE_INDEX, NO_COLON, NO_LABEL, NO_MEMORY, NO_PAIRS, NONE, WILD_VALUE, ZERO_INDEX,
    blank, digit, label, note, number, token_end,
)

from seriatim.data.read.text import PADDING

cdef extern from "pairs.h":
    ctypedef struct Window:
        const char* text
        Py_ssize_t n, at
        const uint32_t* place
    const uint64_t* WHOLE_TENS
    int have_vectors() nogil
    int digit_run(const char* p, uint64_t* number) noexcept nogil
    bint plain_label(const char* p, const char* end, double* y) noexcept nogil
    const char* look_through(Window* window, const char* p, const char* end, char other, int vectors) noexcept nogil
    void pass_over(Window* window, const char* newline) noexcept nogil
    bint plain_pairs(
        const Window* window, Py_ssize_t* i, Py_ssize_t* k, Py_ssize_t room, int* index, double* value
    ) noexcept nogil

cdef int vectors = have_vectors()


def use_vectors(int most):
    """Set the widest vectors for plain lines: 64 bytes (2), 32 bytes (1) or none (0), if the processor has them.

    Returns the former setting. The examples do not depend on it.
    """
    global vectors
    before, vectors = vectors, min(most, have_vectors())
    return before


def vectors_used():
    """The vectors that the parsers of all formats use for plain lines: 64 bytes (2), 32 bytes (1) or none (0)."""
    return vectors


cdef int more_digits(const char* p, int n, uint64_t* index) noexcept nogil:
    """Read the digits of an index after the first n, up to its colon. Returns their number, or -problem."""
    cdef uint64_t more = 0
    cdef int rest
    if n < 8:
        return -NO_COLON if n else -BAD_INDEX
    rest = digit_run(p, &more)
    index[0] = index[0] * WHOLE_TENS[rest] + more
    if p[rest] != 58:
        return -LARGE_INDEX if digit(p[rest]) else -NO_COLON
    return rest


cdef int line(const char* p, Workspace work, Position* at, list labels, dict numbers) noexcept nogil:
    """Read one line of any form, up to the newline that ends it. Returns a problem, or NONE."""
    cdef uint64_t index = 0
    cdef Py_ssize_t k = at.values
    cdef int n, features = at.features
    cdef const char* first
    cdef bint table
    cdef double x = 0
    while blank(p[0]):
        p += 1
    at.where = p
    if p[0] == 10 or p[0] == 35 or (p[0] == 13 and p[1] == 10):
        return NONE
    if at.rows == work.rows_room and work.reserve_rows(2 * at.rows) < 0:
        return NO_MEMORY
    first = p
    p = label(p, work, at, labels, numbers)
    if p == NULL:
        return NO_LABEL
    table = work.name[at.rows] >= 0 and (memchr(first, 44, p - first) or memchr(first, 59, p - first))
    while True:
        while blank(p[0]):
            p += 1
        at.where = p
        n = digit_run(p, &index)
        p += n
        if p[0] != 58 or n == 0:
            if n == 0 and (p[0] == 10 or p[0] == 35 or (p[0] == 13 and p[1] == 10)):
                break
            if n == 0 and memcmp(p, b"qid:", 4) == 0:
                while not token_end(p[0]):
                    p += 1
                continue
            n = more_digits(p, n, &index)
            if n < 0:
                return -n
            p += n
        if index == 0 or index > 2147483646:
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
        features = max(features, <int> index)
        k += 1
    if table and k == at.values:       # a line of a table, with commas or semicolons
        at.where = first
        return NO_PAIRS
    at.features = features
    add_row(work, at, k)
    return NONE


cdef bint plain_line(Window* window, Workspace work, Position* at) noexcept nogil:
    """Read the line at `at.where` if it is plain: an integer label, and pairs in order, each after one space.

    Returns False for other lines, without a change.
    """
    cdef Py_ssize_t i = window.at, k = at.values
    cdef const char* text = window.text
    cdef const uint32_t* place = window.place
    if at.rows == work.rows_room or not plain_label(at.where, text + place[i], &work.y[at.rows]):
        return False
    work.name[at.rows] = -1
    if not plain_pairs(window, &i, &k, work.values_room, work.index, work.value):
        return False
    if text[place[i]] == 13 and text[place[i] + 1] == 10:
        i += 1
    if text[place[i]] != 10:
        return False
    window.at = i + 1
    at.where = text + place[i]
    if k > at.values:
        at.features = max(at.features, work.index[k - 1] + 1)
    add_row(work, at, k)
    return True


def parse(buffer, Py_ssize_t begin, Py_ssize_t end_, bint skip_bad=False):
    """Parse bytes begin..end of a buffer: whole lines that end with a newline, followed by PADDING bytes.

    Stops at the first bad line, or skips bad lines.
    """
    cdef const unsigned char[::1] view = buffer
    if not 0 <= begin <= end_ <= view.shape[0] - PADDING or (begin < end_ and view[end_ - 1] != 10):
        raise ValueError("a block must end with a newline and its padding")
    cdef Py_ssize_t length = end_ - begin
    cdef const char* p = <const char*> &view[begin]
    cdef const char* end = p + length
    cdef const char* safe = <const char*> &view[0] + 16    # plain lines: the 16 bytes before the end of a pair are read
    cdef const char* stop = p
    cdef Py_ssize_t lines = 0, bad_count = 0
    cdef int problem = NONE
    cdef Window window
    cdef Position at
    cdef list labels = [], bad = []
    cdef dict numbers = {}
    cdef Workspace work = new_workspace(length)
    at.rows = at.values = at.features = at.named = at.weighted = at.unsorted = 0
    with nogil:
        while p < end:
            if p == stop:
                stop = look_through(&window, p, end, 58, vectors)    # colons are delimiters anyway
            lines += 1
            at.where = p
            if window.n == 0 or p < safe or not plain_line(&window, work, &at):
                problem = line(p, work, &at, labels, numbers)
                if problem != NONE:
                    bad_count += 1
                    with gil:
                        note(bad, problem, lines, p, at.where)
                    if not skip_bad:
                        break
                at.where = <const char*> memchr(at.where, 10, end - at.where)
                pass_over(&window, at.where)
            p = at.where + 1
    return finish(work, &at, labels, lines, bad, bad_count)


def format_rows(Rows rows, list labels, bytes before=b"", int digits=17):
    """Format rows as lines `label before index:value ...`, in bytes. With 17 digits, no precision is lost."""
    if not 1 <= digits <= 17:
        raise ValueError(f"{digits} digits; give a number from 1 to 17")
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
