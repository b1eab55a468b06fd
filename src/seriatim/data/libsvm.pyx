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
from seriatim.core.rows cimport Rows

from seriatim.core.rows import LIMIT

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #ifdef __SSE2__
    #include <emmintrin.h>
    #endif

    static const double TENS[23] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
                                    1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    static const uint64_t WHOLE_TENS[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

    /* The decimal digits at p, at most eight of them, read as one little-endian word: how many there are, and in
       *number their value. Eight bytes at p must be readable. No branch depends on the digits: how long a number is
       cannot be predicted, and a wrong guess costs more than all of this. */
    static inline int digit_run(const char *p, uint64_t *number) {
        uint64_t w, odd;
        memcpy(&w, p, 8);
        w ^= 0x3030303030303030u;
        odd = ((w + 0x0606060606060606u) | w) & 0xF0F0F0F0F0F0F0F0u;    /* the bytes that are no digit */
        int n = (__builtin_ctzll(odd | 0x8000000000000000u) >> 3) + (odd == 0);
        int half = 32 - 4 * n;
        w = (w << half) << half;                                        /* leading zeros instead of what follows */
        w = w * 10 + (w >> 8);
        *number = ((w & 0x000000FF000000FFu) * 0x000F424000000064u
                   + ((w >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >> 32;
        return n;
    }

    /* The number that n decimal digits at p make, 1 <= n <= 8; *odd is not 0 if one of them is no digit. */
    static inline uint64_t digits(const char *p, int n, uint64_t *odd) {
        uint64_t w;
        memcpy(&w, p, 8);
        w = (w ^ 0x3030303030303030u) << (64 - 8 * n);
        *odd |= ((w + 0x0606060606060606u) | w) & 0xF0F0F0F0F0F0F0F0u;
        w = w * 10 + (w >> 8);
        return ((w & 0x000000FF000000FFu) * 0x000F424000000064u
                + ((w >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >> 32;
    }

    /* Which of 64 bytes are a colon, a blank or a control character. */
    static inline uint64_t delimiter_bits(const char *p) {
        uint64_t bits = 0;
    #ifdef __SSE2__
        const __m128i colon = _mm_set1_epi8(':'), space = _mm_set1_epi8(' ');
        for (int i = 0; i < 4; i++) {
            __m128i x = _mm_loadu_si128((const __m128i *) (p + 16 * i));
            __m128i found = _mm_or_si128(_mm_cmpeq_epi8(x, colon), _mm_cmpeq_epi8(_mm_min_epu8(x, space), x));
            bits |= (uint64_t) (uint32_t) _mm_movemask_epi8(found) << (16 * i);
        }
    #else
        for (int i = 0; i < 64; i++)
            bits |= (uint64_t) (p[i] == ':' || (unsigned char) p[i] <= ' ') << i;
    #endif
        return bits;
    }

    /* The places of all delimiters in n bytes; 63 more must be readable, and n + 8 places writable. Places are written
       eight at a time, whether there are so many or not: a loop of unpredictable length costs more. */
    static inline Py_ssize_t delimiters(const char *p, Py_ssize_t n, uint32_t *place) {
        const uint64_t top = (uint64_t) 1 << 63;
        uint32_t *end = place;
        for (Py_ssize_t i = 0; i < n; i += 64) {
            uint64_t bits = delimiter_bits(p + i);
            if (n - i < 64) bits &= ((uint64_t) 1 << (n - i)) - 1;
            uint64_t c = bits - ((bits >> 1) & 0x5555555555555555u);
            c = (c & 0x3333333333333333u) + ((c >> 2) & 0x3333333333333333u);
            int count = (((c + (c >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u) >> 56;
            for (int j = 0; j < count; j += 8)
                for (int k = 0; k < 8; k++, bits &= bits - 1)
                    end[j + k] = (uint32_t) i + __builtin_ctzll(bits | top);
            end += count;
        }
        return end - place;
    }
    enum { END_OF_PAIRS, UNUSUAL_VALUE, UNUSUAL_LINE };

    /* Read pairs like 17:0.25 or 17:1, each after one space, into index and value from number *k on; the delimiter at
       place[*i] stands before the first. Ends at a delimiter that is no space, at a value of another form, or with
       UNUSUAL_LINE for anything else. A function of its own, so that all it needs is in registers: whether all digits
       were digits and all columns in order is one number, asked at the end. */
    static __attribute__((noinline)) int plain_pairs(
        const char *text, const uint32_t *place, Py_ssize_t *i, Py_ssize_t *k, Py_ssize_t first, Py_ssize_t room,
        int *index, double *value
    ) {
        const uint32_t *delimiter = place + *i;
        Py_ssize_t row = *k;
        int64_t last = row > first ? index[row - 1] : -1;
        uint64_t odd = 0;
        uint32_t here = *delimiter;
        int status = END_OF_PAIRS;
        while (text[here] == ' ') {
            uint32_t colon = delimiter[1], end = delimiter[2];
            uint32_t n = colon - here - 1, decimals = end - colon - 3;
            const char *p = text + colon + 1;
            uint64_t first_digit = (unsigned char) p[0] - (uint64_t) '0', whole = first_digit;
            if (n - 1 > 7 || text[colon] != ':' || row == room) {
                status = UNUSUAL_LINE;
                break;
            }
            if (p[1] == '.' && decimals - 1 <= 7) {
                whole = first_digit * WHOLE_TENS[decimals] + digits(p + 2, (int) decimals, &odd);
            } else if (decimals + 1 == 0) {
                decimals = 0;
            } else {
                status = UNUSUAL_VALUE;
                break;
            }
            int64_t column = (int64_t) digits(text + here + 1, (int) n, &odd) - 1;
            odd |= (first_digit > 9) | (column <= last);
            last = column;
            index[row] = (int) column;
            value[row] = (double) (int64_t) whole / TENS[decimals];
            row++;
            delimiter += 2;
            here = end;
        }
        *i = delimiter - place;
        *k = row;
        return odd ? UNUSUAL_LINE : status;
    }
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    #error "the parser reads digits as little-endian words"
    #endif
    """
    const double* TENS
    const uint64_t* WHOLE_TENS
    int digit_run(const char* p, uint64_t* number) noexcept nogil
    uint64_t digits(const char* p, int n, uint64_t* odd) noexcept nogil
    Py_ssize_t delimiters(const char* p, Py_ssize_t n, uint32_t* place) noexcept nogil
    int END_OF_PAIRS, UNUSUAL_VALUE, UNUSUAL_LINE
    int plain_pairs(
        const char* text, const uint32_t* place, Py_ssize_t* i, Py_ssize_t* k, Py_ssize_t first, Py_ssize_t room,
        int* index, double* value
    ) noexcept nogil

PADDING = 64    # readable bytes that must follow a block
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
    cdef long long* start
    cdef int* index
    cdef double* value
    cdef Py_ssize_t rows_room, values_room

    def __dealloc__(self):
        free(self.y)
        free(self.name)
        free(self.start)
        free(self.index)
        free(self.value)

    cdef int reserve_rows(self, Py_ssize_t n) noexcept nogil:
        if n <= self.rows_room:
            return 0
        if (resize(<void**> &self.y, n, sizeof(double)) < 0 or resize(<void**> &self.name, n, sizeof(int)) < 0
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
    at.values = k
    at.rows += 1
    work.start[at.rows] = k
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
        status = plain_pairs(text, place, &i, &k, at.values, work.values_room, work.index, work.value)
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
    at.values = k
    at.rows += 1
    work.start[at.rows] = k
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
    if not 0 <= begin < end_ <= view.shape[0] - PADDING or view[end_ - 1] != 10:
        raise ValueError("a block must end with a newline and its padding")
    cdef Py_ssize_t length = end_ - begin
    cdef const char* p = <const char*> &view[begin]
    cdef const char* end = p + length
    cdef const char* window
    cdef const char* stop
    cdef const char* after
    cdef Py_ssize_t lines = 0, bad_count = 0, places, q, i
    cdef int problem = NONE
    cdef uint32_t[WINDOW + 8] place
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
            places = delimiters(window, stop - window, place)
            q = 0
            if stop == window:         # a line longer than the window
                stop = <const char*> memchr(p, 10, end - p) + 1
            while p < stop:
                lines += 1
                at.where = p
                if places == 0 or not plain_line(window, place, &q, work, &at):
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
    block.rows = Rows.borrow(work, at.rows, at.features, work.start, work.index, work.value, not at.unsorted).check()
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
