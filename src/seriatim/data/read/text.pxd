"""Numbers, labels and errors in text, for the parsers of LIBSVM, Vowpal Wabbit and tables."""

from seriatim.features.block cimport Position, Workspace


cdef enum Problem:
    NONE
    NO_LABEL
    NO_COLON
    BAD_INDEX
    ZERO_INDEX
    LARGE_INDEX
    BAD_VALUE
    WILD_VALUE
    NO_PAIRS
    NO_BAR
    BAD_IMPORTANCE
    BAD_NAME
    BAD_UTF8
    NO_MEMORY

cdef double HIGHEST

cdef const char* number(const char* p, double* result) noexcept nogil
cdef const char* label(const char* p, Workspace work, Position* at, list labels, dict numbers) noexcept nogil
cdef bint label_between(
    const char* p, const char* end, Workspace work, Position* at, list labels, dict numbers
) noexcept nogil
cdef bint named_label(
    const char* p, const char* end, Workspace work, Position* at, list labels, dict numbers
) noexcept nogil
cdef const char* is_utf8(const char* text, Py_ssize_t n) noexcept nogil
cdef int note(list bad, int problem, Py_ssize_t line, const char* begin, const char* where) except -1


cdef inline bint blank(char c) noexcept nogil:
    return c == 32 or c == 9


cdef inline bint digit(char c) noexcept nogil:
    return 48 <= c <= 57


cdef inline bint token_end(char c) noexcept nogil:
    return c == 32 or c == 9 or c == 10 or c == 13
