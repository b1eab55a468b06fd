"""CSV, TSV and similar tables: one record per line, with cells between delimiters. Cells may be quoted by `"`.

Within quotes, `""` is a quote, and newlines and delimiters are text. Blank lines are ignored. An empty cell is a
missing value. In a column of numbers NA, N/A, NaN, null, None and ? are missing values, too.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.string cimport memchr, memcmp

from seriatim.data.read.text cimport (
    BAD_UTF8, BAD_VALUE, HIGHEST, NO_LABEL, NO_MEMORY, NONE, WILD_VALUE, blank, is_utf8, label_between, number,
)
from seriatim.features.encoder cimport (
    ANY, CATEGORY, DROPPED, FLAG, LABEL, NO_ROOM, NUMBER, TOO_MANY, TOO_WILD, Encoder, Plan,
)

from seriatim.core.rows import LIMIT
from seriatim.data.read.text import PADDING

cdef enum:
    RAGGED = 100
    OPEN_QUOTE
    STRAY_QUOTE
    BAD_FLAG
    WIDE_CROSS
    WILD_CROSS

cdef Py_ssize_t DESCRIBED = 10    # the first bad records of a block get a message


cdef struct Cell:
    const char* begin
    const char* end
    const char* after                  # the delimiter or newline after the cell
    bint quoted
    bint escaped                       # contains ""


cdef int next_cell(const char* p, const char* end, char delimiter, Cell* cell) noexcept nogil:
    """Find the cell at p. The text ends at `end`, after a newline."""
    cell.quoted = p[0] == 34
    cell.escaped = False
    if cell.quoted:
        p += 1
        cell.begin = p
        while True:
            p = <const char*> memchr(p, 34, end - p)
            if p == NULL:
                cell.end = cell.after = end - 1
                return OPEN_QUOTE
            if p[1] != 34:
                break
            cell.escaped = True
            p += 2
        cell.end = p
        p += 1
        if p[0] == 13 and p[1] == 10:
            p += 1
        cell.after = p
        return NONE if p[0] == delimiter or p[0] == 10 else STRAY_QUOTE
    cell.begin = p
    while p[0] != delimiter and p[0] != 10:
        p += 1
    cell.after = p
    cell.end = p - 1 if p[0] == 10 and p > cell.begin and p[-1] == 13 else p
    return NONE


cdef int unescape(Encoder encoder, Cell* cell) noexcept nogil:
    """Copy a cell to memory of the encoder, with " in place of ""."""
    cdef const char* p = cell.begin
    cdef Py_ssize_t n = 0
    if encoder.reserve_cell(cell.end - cell.begin):
        return NO_MEMORY
    while p < cell.end:
        encoder.cell[n] = p[0]
        n += 1
        p += 2 if p[0] == 34 else 1
    encoder.cell[n] = 10               # parsing a number stops here
    cell.begin = encoder.cell
    cell.end = encoder.cell + n
    return NONE


cdef inline bint is_missing(const char* p, Py_ssize_t n) noexcept nogil:
    """Whether a cell of a column of numbers stands for a missing value."""
    return (
        n == 0 or (n == 1 and p[0] == 63) or (n == 2 and memcmp(p, b"NA", 2) == 0)
        or (n == 3 and (memcmp(p, b"NaN", 3) == 0 or memcmp(p, b"nan", 3) == 0 or memcmp(p, b"N/A", 3) == 0))
        or (n == 4 and (memcmp(p, b"null", 4) == 0 or memcmp(p, b"NULL", 4) == 0 or memcmp(p, b"None", 4) == 0))
    )


cdef inline int flag(const char* p, Py_ssize_t n) noexcept nogil:
    """1 for true, 0 for false, -1 for anything else."""
    if n == 4 and (memcmp(p, b"true", 4) == 0 or memcmp(p, b"True", 4) == 0 or memcmp(p, b"TRUE", 4) == 0):
        return 1
    if n == 5 and (memcmp(p, b"false", 5) == 0 or memcmp(p, b"False", 5) == 0 or memcmp(p, b"FALSE", 5) == 0):
        return 0
    return -1


cdef int take_cell(
    Encoder encoder, Py_ssize_t column, Cell* cell, bint labelled, list labels, dict numbers
) noexcept nogil:
    """Convert a cell by the kind of its column."""
    cdef int kind = encoder.plan.columns[column].kind, trouble, truth
    cdef double x = 0
    cdef const char* p
    cdef const char* end
    if kind == DROPPED:
        return NONE
    if cell.escaped and unescape(encoder, cell):
        return NO_MEMORY
    p, end = cell.begin, cell.end
    if kind == LABEL or kind == NUMBER or kind == FLAG or kind == ANY:
        while p < end and blank(p[0]):
            p += 1
        while p < end and blank(end[-1]):
            end -= 1
    if kind == LABEL:
        if p == end:
            return NO_LABEL if labelled else NONE
        p, end = cell.begin, cell.end
        return NONE if label_between(p, end, encoder.work, &encoder.at, labels, numbers) else NO_LABEL
    if kind == ANY:
        kind = CATEGORY
        if flag(p, end - p) >= 0:
            kind = FLAG
        elif number(p, &x) == end or (is_missing(p, end - p) and p < end):
            kind = NUMBER
        else:
            p, end = cell.begin, cell.end
    if kind == NUMBER or kind == FLAG:
        if is_missing(p, end - p):
            trouble = encoder.missing(column)
        elif kind == FLAG:
            truth = flag(p, end - p)
            if truth < 0:
                return BAD_FLAG
            trouble = encoder.number(column, truth)
        else:
            if number(p, &x) != end:
                return BAD_VALUE
            if not -HIGHEST <= x <= HIGHEST:
                return WILD_VALUE
            trouble = encoder.number(column, x)
    elif p == end and not cell.quoted:
        trouble = encoder.missing(column)
    else:
        trouble = encoder.string(column, p, end - p)
    return NO_MEMORY if trouble else NONE


cdef int record(
    const char* p, const char* end, char delimiter, Encoder encoder, bint labelled, list labels, dict numbers,
    Py_ssize_t* column
) noexcept nogil:
    """Read one record with its newline. Sets `column` to the column of a problem, or to the number of cells."""
    cdef int problem
    cdef Py_ssize_t n = encoder.plan.n
    cdef const char* after
    cdef double x = 0
    cdef Cell cell
    column[0] = 0
    encoder.at.where = p
    if p[0] == 10 or (p[0] == 13 and p[1] == 10):
        encoder.at.where = p + (p[0] == 13)
        return NONE
    if encoder.begin_row():
        return NO_MEMORY
    while True:
        if column[0] < n and encoder.plan.columns[column[0]].kind == NUMBER:
            after = number(p, &x)      # fast path: a plain number, whose end need not be searched
            if after != NULL and (after[0] == delimiter or after[0] == 10) and -HIGHEST <= x <= HIGHEST:
                if encoder.number(column[0], x):
                    return NO_MEMORY
                column[0] += 1
                if after[0] == 10:
                    encoder.at.where = after
                    break
                p = after + 1
                continue
        encoder.at.where = p
        problem = next_cell(p, end, delimiter, &cell)
        if problem != NONE:
            return problem
        if column[0] < n:
            problem = take_cell(encoder, column[0], &cell, labelled, labels, numbers)
            if problem != NONE:
                return problem
        column[0] += 1
        if cell.after[0] == 10:
            encoder.at.where = cell.after
            break
        p = cell.after + 1
    if column[0] != n:
        return RAGGED
    problem = encoder.end_row()
    return WIDE_CROSS if problem == TOO_MANY else WILD_CROSS if problem == TOO_WILD else NO_MEMORY if problem else NONE


cdef const char* record_end(const char* p, const char* end, char delimiter) noexcept nogil:
    """The newline that ends a record, which may be a bad record."""
    cdef Cell cell
    cdef int problem
    while True:
        problem = next_cell(p, end, delimiter, &cell)
        if problem == STRAY_QUOTE:     # skip the rest of the line
            return <const char*> memchr(cell.after, 10, end - cell.after)
        if cell.after[0] == 10 or problem == OPEN_QUOTE:
            return cell.after
        p = cell.after + 1


cdef describe(int problem, Plan plan, Py_ssize_t column, bytes text):
    """The message for a problem: what was expected and what was found."""
    found = text.decode(errors="replace")
    found = repr(found if len(found) <= 40 else found[:40] + "...")
    name = f"column {plan.names[column]!r}: " if column < plan.n else ""
    if problem == RAGGED:
        return f"expected {plan.n} cells, found {column}"
    return {
        OPEN_QUOTE: f"{name}expected a closing quote, found the end of the data",
        STRAY_QUOTE: f"{name}expected a delimiter after the closing quote, found {found}",
        BAD_FLAG: f"{name}expected true or false, found {found}",
        BAD_VALUE: f"{name}expected a number, found {found}",
        WILD_VALUE: f"{name}expected a finite number within +-{LIMIT:g}, found {found}",
        NO_LABEL: f"{name}expected a label, found {found}",
        BAD_UTF8: f"expected UTF-8 text, found the byte 0x{text[:1].hex()}",
        WIDE_CROSS: "the crossed columns have too many products; cross fewer columns",
        WILD_CROSS: f"a product of crossed columns is beyond +-{LIMIT:g}",
    }[problem]


cdef int note(list bad, int problem, Plan plan, Py_ssize_t column, Py_ssize_t line, const char* begin,
              const char* where, char delimiter) except -1:
    cdef const char* after = where
    if problem == NO_MEMORY:
        raise MemoryError
    if len(bad) < DESCRIBED:
        while after[0] != 10 and (after == where or after[0] != delimiter):
            after += 1
        text = PyBytes_FromStringAndSize(where, after - where)
        bad.append((line, where - begin + 1, describe(problem, plan, column, text)))
    return 0


cdef Py_ssize_t newlines(const char* p, const char* end) noexcept nogil:
    """The number of newlines before `end`."""
    cdef Py_ssize_t n = 0
    while True:
        p = <const char*> memchr(p, 10, end - p)
        if p == NULL:
            return n
        n += 1
        p += 1


cdef const unsigned char[::1] text_of(buffer, Py_ssize_t begin, Py_ssize_t end):
    cdef const unsigned char[::1] view = buffer
    if not 0 <= begin <= end <= view.shape[0] - PADDING or (begin < end and view[end - 1] != 10):
        raise ValueError("a block must end with a newline and its padding")
    return view


def parse(buffer, Py_ssize_t begin, Py_ssize_t end_, Plan plan, str delimiter, bint skip_bad=False, bint labelled=True):
    """Parse bytes begin..end of a buffer: whole records that end with a newline, followed by PADDING bytes.

    Stops at the first bad record, or skips bad records. If `labelled` is False, missing labels become NaN.
    """
    cdef const unsigned char[::1] view = text_of(buffer, begin, end_)
    cdef const char* p = <const char*> &view[begin]
    cdef const char* end = p + (end_ - begin)
    cdef const char* after
    cdef char mark = ord(delimiter)
    cdef Py_ssize_t lines = 0, bad_count = 0, column = 0
    cdef int problem = NONE
    cdef list labels = [], bad = []
    cdef dict numbers = {}
    cdef Encoder encoder = Encoder(plan, end_ - begin)
    cdef bint unicode
    with nogil:
        unicode = is_utf8(p, end - p) == NULL
        while p < end:
            problem = NONE
            if not unicode:
                after = record_end(p, end, mark)
                if is_utf8(p, after - p) != NULL:
                    problem = BAD_UTF8
                    encoder.at.where = is_utf8(p, after - p)
            if problem == NONE:
                problem = record(p, end, mark, encoder, labelled, labels, numbers, &column)
            after = encoder.at.where if problem == NONE else record_end(p, end, mark)
            if problem != NONE:
                bad_count += 1
                with gil:
                    if problem == NO_MEMORY:
                        encoder.expect(NO_ROOM)
                    note(bad, problem, plan, column, lines + 1 + newlines(p, encoder.at.where),
                         line_start(p, encoder.at.where), encoder.at.where, mark)
                if not skip_bad:
                    break
            lines += newlines(p, after) + 1
            p = after + 1
    return encoder.block(labels, lines, bad, bad_count)


cdef const char* line_start(const char* begin, const char* where) noexcept nogil:
    while where > begin and where[-1] != 10:
        where -= 1
    return where


class Record(list):
    """The cells of a record as strings; None for a missing cell.

    The first record of a text has `places`: the line and column of each cell.
    """


def cells(buffer, Py_ssize_t begin, Py_ssize_t end_, str delimiter, Py_ssize_t most):
    """The first records of a text, without blank lines. Bytes that are not UTF-8 become lone surrogates."""
    cdef const unsigned char[::1] view = text_of(buffer, begin, end_)
    cdef const char* start = <const char*> &view[begin]
    cdef const char* p = start
    cdef const char* end = p + (end_ - begin)
    cdef const char* line = start      # the beginning of the line of the cell
    cdef const char* counted = start   # lines are counted up to here
    cdef Py_ssize_t lines = 1
    cdef char mark = ord(delimiter)
    cdef Cell cell
    records, row, places = [], Record(), []
    while p < end and len(records) < most:
        if not row and (p[0] == 10 or (p[0] == 13 and p[1] == 10)):
            p = <const char*> memchr(p, 10, end - p) + 1
            continue
        if next_cell(p, end, mark, &cell):
            break                      # the parser will raise the error
        text = PyBytes_FromStringAndSize(cell.begin, cell.end - cell.begin).decode(errors="surrogateescape")
        row.append(text.replace('""', '"') if cell.escaped else text if text or cell.quoted else None)
        if not records:
            if newlines(counted, p):
                lines += newlines(counted, p)
                line = line_start(counted, p)
            counted = p
            places.append((lines, p - line + 1))
        if cell.after[0] == 10:
            row.places = places
            records.append(row)
            row, places = Record(), []
        p = cell.after + 1
    return records


def cut(buffer, Py_ssize_t begin, Py_ssize_t end_, str delimiter):
    """The end of the last whole record of a text, after its newline; `begin` if there is no whole record."""
    cdef const unsigned char[::1] view = buffer
    cdef const char* start = <const char*> &view[0]
    cdef const char* first = start + begin + (3 if bytes(view[begin:min(begin + 3, end_)]) == b"\xef\xbb\xbf" else 0)
    cdef const char* p = first
    cdef const char* end = start + end_
    cdef const char* quote
    cdef char mark = ord(delimiter)
    cdef const char* line = p          # the beginning of the last record
    cdef const char* last
    with nogil:
        while p < end:
            quote = <const char*> memchr(p, 34, end - p)
            last = end if quote == NULL else quote
            while last > p and last[-1] != 10:
                last -= 1
            if last > p:
                line = last
            if quote == NULL:
                break
            p = quote + 1
            if quote == first or quote[-1] == mark or quote[-1] == 10:
                while True:            # find the closing quote
                    quote = <const char*> memchr(p, 34, end - p) if p < end else NULL
                    if quote == NULL:
                        p = end
                        break
                    p = quote + 1
                    if p >= end or p[0] != 34:
                        break
                    p += 1
                if p + 1 < end and p[0] != mark and p[0] != 10 and not (p[0] == 13 and p[1] == 10):
                    p = <const char*> memchr(p, 10, end - p)    # skip the rest of the line, as `record_end` does
                    if p == NULL:
                        break
        p = first
        while p < line and (p[0] == 10 or (p[0] == 13 and p[1] == 10)):
            p = <const char*> memchr(p, 10, line - p) + 1
    return begin if p == line else line - start    # only blank lines: no record


def record_length(buffer, Py_ssize_t begin, Py_ssize_t end_, str delimiter):
    """The number of bytes and of lines of the first record, including blank lines before it."""
    cdef const unsigned char[::1] view = text_of(buffer, begin, end_)
    cdef const char* start = <const char*> &view[begin]
    cdef const char* end = start + (end_ - begin)
    cdef const char* p = start
    while p < end and (p[0] == 10 or (p[0] == 13 and p[1] == 10)):
        p = <const char*> memchr(p, 10, end - p) + 1
    if p < end:
        p = record_end(p, end, ord(delimiter)) + 1
    return p - start, newlines(start, p)


def is_number(str cell):
    """Whether a cell is a number."""
    cdef double x = 0
    cdef bytes text = cell.strip(" \t").encode(errors="surrogateescape")
    cdef Py_ssize_t n = len(text)
    cdef bytes padded = text + b"\n" + bytes(PADDING)
    cdef const char* p = padded
    return number(p, &x) == p + n and not is_missing(p, n)


def means_missing(str cell):
    """Whether a cell of a column of numbers stands for a missing value."""
    cdef bytes text = cell.strip(" \t").encode(errors="surrogateescape")
    return is_missing(text, len(text))


def is_flag(str cell):
    """Whether a cell is true or false."""
    cdef bytes text = cell.strip(" \t").encode(errors="surrogateescape")
    return flag(text, len(text)) >= 0
