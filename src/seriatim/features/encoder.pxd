from libc.stdint cimport uint32_t

from seriatim.core.learner cimport DictReader
from seriatim.core.row cimport Row
from seriatim.features.block cimport Block, Position, RowSums, Workspace
from seriatim.core.names cimport Names, Vocabulary
from seriatim.features.columns cimport Cells, Columns
from seriatim.features.scaler cimport Scaler

cimport cython

cdef enum Kind:
    NUMBER
    FLAG
    CATEGORY
    TEXT
    ANY
    LABEL
    DROPPED

cdef enum:
    MOST_SLOTS = 64
    MOST_CROSSES = 256

cdef struct Column:
    const char* name
    Py_ssize_t length
    uint32_t hash
    int kind
    int slot                           # among the crossed columns; -1: not crossed
    int place                          # of a number: its number among the names of the block; -1: look it up

cdef enum Trouble:
    FINE = 0
    NO_ROOM = -1
    TOO_WILD = -2
    TOO_MANY = -3


cdef enum:
    SEVERAL = 0xFFFFFFFFu


@cython.final
cdef class Crowd:
    cdef uint32_t* owner               # by column: 1 + the other hash bits of its first name, or SEVERAL
    cdef Py_ssize_t size

    cdef inline void meet(self, int column, uint32_t rest) noexcept nogil:
        """Count a name that hashes to a column."""
        cdef uint32_t known = self.owner[column]
        if known != rest + 1 and known != SEVERAL:
            self.owner[column] = SEVERAL if known else rest + 1


@cython.final
cdef class Plan:
    cdef readonly object features
    cdef readonly list columns_given   # pairs of a name and a kind
    cdef readonly list names           # of the columns
    cdef list kept                     # the bytes that the columns point to
    cdef dict place
    cdef Column* columns
    cdef readonly Py_ssize_t n
    cdef Py_ssize_t given              # columns given at first; dicts added the others
    cdef Py_ssize_t room
    cdef readonly int bits
    cdef uint32_t mask
    cdef bint count_missing, lower
    cdef bint selective                # some columns are left out or crossed
    cdef bint apart                    # no two columns can have a feature in common
    cdef int ngram
    cdef object pattern                # None: the default
    cdef dict slots
    cdef int crosses
    cdef int[MOST_CROSSES][2] pairs
    cdef readonly Crowd crowd
    cdef Py_ssize_t add(self, object name, int kind) except -1


cdef struct Met:
    void* key                          # a string object, with a reference
    int place                          # the number of its name; with bits, its column


@cython.final
cdef class Encoder:
    cdef Plan plan
    cdef Workspace work
    cdef Names names
    cdef Position at
    cdef Py_ssize_t k                  # where the next value goes
    cdef Py_ssize_t known              # names of completed rows
    cdef uint32_t* hash                # by value, if names are hashed and crossed
    cdef Py_ssize_t hash_room
    cdef RowSums row
    cdef Met* met                      # remembered keys: two for each hash
    cdef int shift                     # 64 minus the bits of the hash
    cdef bint composed                 # two features of the row may have one name
    cdef bint words_last               # of dicts: all numbers first
    cdef bint quick                    # all keys of the row were remembered, so Names.last is untouched
    cdef char* cell                    # a cell without its doubled quotes
    cdef Py_ssize_t cell_size
    cdef char* scratch
    cdef Py_ssize_t scratch_size
    cdef Py_ssize_t* token             # where the words of a text begin and end
    cdef Py_ssize_t tokens_room
    cdef object error                  # of a text that could not be divided into words
    cdef Py_ssize_t[MOST_SLOTS] slot_begin
    cdef Py_ssize_t[MOST_SLOTS] slot_end

    cdef int expect(self, int trouble) except -1
    cdef int reserve_scratch(self, Py_ssize_t n) noexcept nogil
    cdef int reserve_tokens(self, Py_ssize_t n) noexcept nogil
    cdef int reserve_cell(self, Py_ssize_t n) noexcept nogil
    cdef int begin_row(self) noexcept nogil
    cdef int end_row(self) noexcept nogil
    cdef int cross(self) noexcept nogil
    cdef int add(self, const char* prefix, Py_ssize_t before, char mark, const char* name, Py_ssize_t length,
                 uint32_t hash, double x) noexcept nogil
    cdef void put(self, int place, double x) noexcept nogil
    cdef int number(self, Py_ssize_t column, double x) noexcept nogil
    cdef bint prepare(self, Columns table) except -1
    cdef bint take_full(self, Columns table, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef bint take_places(self, Columns table, Py_ssize_t i, int* index) noexcept nogil
    cdef int take_row(self, Columns table, Py_ssize_t i) noexcept nogil
    cdef int cell_string(self, const Cells* c, Py_ssize_t column, Py_ssize_t i) noexcept nogil
    cdef int category_place(self, const Cells* c, Py_ssize_t column, Py_ssize_t i) noexcept nogil
    cdef int refuse_row(self, Columns table) except -1
    cdef int string(self, Py_ssize_t column, const char* text, Py_ssize_t n, bint bag=*) noexcept nogil
    cdef int category(self, const Column* c, const char* text, Py_ssize_t n) noexcept nogil
    cdef int part(self, const Column* c, const char* what, Py_ssize_t what_length, const char* text, Py_ssize_t n) \
        noexcept nogil
    cdef int date(self, const Column* c, const char* text, Py_ssize_t n) noexcept nogil
    cdef int words(self, const Column* c, const char* text, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t ascii_tokens(self, const char* text, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t kept_tokens(self, const char* text, Py_ssize_t n) noexcept with gil
    cdef Py_ssize_t other_tokens(self, const char* text, Py_ssize_t n) except -2
    cdef int missing(self, Py_ssize_t column) noexcept nogil
    cdef int take_string(self, Py_ssize_t column, value, bint bag) except -1
    cdef int take_number(self, object name, double x) except -1
    cdef int take_words(self, object name, value) except -1
    cdef int take_value(self, object name, value) except -1
    cdef bint take_items(self, dict x, bint flat) except -1
    cdef int take_dict(self, dict x) except -1
    cdef Py_ssize_t column_of(self, object name) except -1
    cdef int recalled(self, void* key) noexcept
    cdef void remember(self, object name, int place) noexcept
    cdef int forget_keys(self, int bits) except -1
    cdef Block block(self, list labels, Py_ssize_t lines, list bad, Py_ssize_t bad_count)


@cython.final
cdef class RowEncoder(DictReader):
    cdef Encoder encoder
    cdef Vocabulary vocabulary         # of the model; None where names are hashed
    cdef Scaler scaler
    cdef dict fresh                    # name -> column, for new names of the row last shown
    cdef int* column                   # of the model, by number of the encoder's names; negative: see `find`
    cdef Py_ssize_t mapped, columns_room
    cdef int* index                    # the row last shown
    cdef double* value
    cdef Py_ssize_t room
    cdef int reserve(self, Py_ssize_t n) except -1
    cdef int find(self, int place, bint learning) except -2
    cdef Py_ssize_t translate(self, bint learning, double* norm2) except -1


cdef bint is_date(const char* text, Py_ssize_t n) noexcept nogil
