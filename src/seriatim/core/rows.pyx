"""A block of examples, dense or CSR. All of it is checked before a learner sees the first row."""

import numpy as np

from libc.math cimport isnan
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy

from seriatim.core.row cimport sum_of_squares

from seriatim.core.values import plain_array, real_array
from seriatim.errors import DataError, SeriatimError

# A larger value could overflow where it is squared, multiplied by a weight, and squared again.
LIMIT = 1e50
cdef double VALUE_LIMIT = LIMIT
cdef double NORM2_LIMIT = LIMIT * LIMIT    # a larger squared norm may hide a value beyond the limit

cdef Py_ssize_t STRETCH = 1 << 14    # values checked in one step; they fit into a core's own cache
cdef Py_ssize_t LEAD = 1 << 18       # values checked ahead of learning; they fit into the cache that cores share


class Unordered(SeriatimError):
    """Rows that are learned while another thread checks them turn out to have unsorted columns."""


def refuse(str where, double value):
    """Raise the error for a value that no learner accepts."""
    shown = "NaN" if value != value else f"{value:g}"
    raise DataError(f"{where}: the value {shown} is {'not finite' if value - value != 0 else f'beyond +-{LIMIT:g}'}")


def check_weights(weights, Py_ssize_t n):
    """The sample weights of n rows as an array of float64; raises DataError if they are invalid."""
    array = plain_array(weights, "the weights")
    if array.shape != (n,):
        raise DataError(f"the weights have shape {array.shape}; for {n} rows they must have shape ({n},)")
    try:
        if array.dtype.kind not in "fiubO":
            raise ValueError(array.dtype)
        array = real_array(array)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"the weights must be numbers; these are of type {array.dtype}") from None
    bad = np.flatnonzero(~((array >= 0) & (array <= LIMIT)))
    if len(bad):
        raise DataError(f"row {bad[0]}: the weight {array[bad[0]]:g} is not a number from 0 to {LIMIT:g}")
    return array


def picked(const long long[::1] start, const int[::1] index, const double[::1] value, const long long[::1] order):
    """The rows of a CSR matrix that `order` lists, in that order.

    >>> start, index, value = np.array([0, 2, 3]), np.array([0, 1, 2], dtype=np.int32), np.array([0.5, 1.0, 1.5])
    >>> [array.tolist() for array in picked(start, index, value, np.array([1, 0]))]
    [[0, 1, 3], [2, 0, 1], [1.5, 0.5, 1.0]]
    """
    cdef Py_ssize_t i, n = order.shape[0], row, length, end = 0
    new_start = np.zeros(n + 1, np.int64)
    cdef long long[::1] to_start = new_start
    for i in range(n):
        row = order[i]
        if not 0 <= row < start.shape[0] - 1:
            raise IndexError(f"row {row} of {start.shape[0] - 1}")
        end += start[row + 1] - start[row]
        to_start[i + 1] = end
    new_index, new_value = np.empty(end, np.int32), np.empty(end)
    cdef int[::1] to_index = new_index
    cdef double[::1] to_value = new_value
    with nogil:
        for i in range(n):
            row, length = order[i], to_start[i + 1] - to_start[i]
            if length:
                memcpy(&to_index[to_start[i]], &index[start[row]], length * sizeof(int))
                memcpy(&to_value[to_start[i]], &value[start[row]], length * sizeof(double))
    return new_start, new_index, new_value


cdef class Rows:
    """A block of rows. It uses the caller's arrays without a copy; they must not change while the block exists."""

    def __dealloc__(self):
        if self.owns_norm2:
            free(self.norm2)
        free(self.pace)

    def __len__(self):
        return self.n

    @staticmethod
    def dense(X):
        """The rows of a two-dimensional array."""
        cdef Rows rows = Rows.__new__(Rows)
        X = np.ascontiguousarray(X, dtype=np.float64)
        cdef const double[:, ::1] view = X
        rows.owner = X
        rows.n, rows.features, rows.nonzeros = X.shape[0], X.shape[1], X.size
        rows.value = &view[0, 0] if X.size else NULL
        return rows

    @staticmethod
    def sparse(start, index, value, Py_ssize_t features):
        """The rows of a CSR matrix."""
        cdef Rows rows = Rows.__new__(Rows)
        start = np.ascontiguousarray(start, dtype=np.int64)
        value = np.ascontiguousarray(value, dtype=np.float64)
        index = np.asarray(index)
        if features > 2**31 - 2:
            raise DataError(f"{features} columns; the limit is 2^31 - 2")
        if index.dtype != np.int32 and len(index) and not 0 <= index.min() <= index.max() < features:
            raise DataError(f"a column of the sparse matrix is not in 0..{features - 1}")
        index = np.ascontiguousarray(index, dtype=np.int32)
        cdef const long long[::1] start_view = start
        cdef const int[::1] index_view = index
        cdef const double[::1] value_view = value
        if not len(start) or start[0] != 0 or start[-1] != len(index) or len(index) != len(value):
            raise DataError("the row pointers of the sparse matrix do not fit its arrays")
        backwards = start[1:] < start[:-1]
        if backwards.any():
            raise DataError(f"the row pointers of the sparse matrix decrease at row {backwards.argmax()}")
        rows.owner = (start, index, value)
        rows.n, rows.features, rows.nonzeros = len(start) - 1, features, len(value)
        rows.start = &start_view[0]
        rows.index = &index_view[0] if len(index) else <const int*> rows.start
        rows.value = &value_view[0] if len(value) else NULL
        return rows

    @staticmethod
    cdef Rows borrow(object owner, Py_ssize_t n, Py_ssize_t features, long long* start, int* index, double* value,
                     double* norm2):
        """Rows in memory that belongs to `owner`. Columns must be within bounds and, if norms are given, sorted."""
        cdef Rows rows = Rows.__new__(Rows)
        rows.owner = owner
        rows.n, rows.features, rows.nonzeros = n, features, start[n]
        rows.start, rows.index, rows.value = start, index, value
        rows.norm2, rows.ascending = norm2, norm2 != NULL
        return rows

    def in_any_order(self, norms=None):
        """Declare that the columns of each row are distinct; they keep their order. Returns these rows.

        With `norms`, computed for the same rows before, the rows count as checked.
        """
        cdef double[::1] norm2
        self.ascending = True
        self.check_columns()
        if norms is not None and self.n:
            norm2 = norms
            if len(norm2) != self.n:
                raise ValueError(f"{len(norm2)} norms for {self.n} rows")
            self.owner = (self.owner, norms)
            self.norm2 = &norm2[0]
        return self

    @property
    def norms(self):
        """A copy of |x|^2 of each row, without the constant."""
        cdef Rows checked = self.check()
        return np.array(<double[:checked.n]> checked.norm2) if checked.n else np.empty(0)

    @property
    def weighted(self):
        """Whether any row has a sample weight other than 1."""
        return self.weight != NULL and bool((self.weights != 1).any())

    @property
    def weights(self):
        """A copy of the sample weight of each row, 1 by default."""
        return np.array(<const double[:self.n]> self.weight) if self.weight != NULL and self.n else np.ones(self.n)

    @weights.setter
    def weights(self, weights):
        cdef const double[::1] view
        self.weight = NULL
        if weights is not None:
            view = weights = check_weights(weights, self.n)
            if (weights != 1).any():
                self.owner = (self.owner, weights)
                self.weight = &view[0]

    def give_up(self):
        """Release the memory for the next block. Returns False if a slice is still in use."""
        if not self.shared:
            self.forget()
        return not self.shared

    cdef Rows replaced(self, start, index, value, Py_ssize_t features):
        """Checked rows with the norms of these rows but other columns, in any order; they borrow the norms."""
        cdef const long long[::1] start_view = start
        cdef const int[::1] index_view = index
        cdef const double[::1] value_view = value
        cdef Rows rows = Rows.__new__(Rows)
        rows.owner = (self, start, index, value)
        rows.n, rows.features, rows.nonzeros, rows.first = self.n, features, start[-1], self.first
        rows.start, rows.index, rows.value = &start_view[0], &index_view[0], &value_view[0]
        rows.norm2, rows.ascending, rows.weight = self.norm2, True, self.weight
        return rows

    cdef Rows renumbered(self, index, Py_ssize_t features):
        """These checked sparse rows with other column numbers; they borrow the values of these rows."""
        cdef const int[::1] index_view = index
        cdef bint shared = self.shared
        cdef Rows rows = self.slice(0, self.n)
        self.shared = shared
        rows.owner, rows.names, rows.schema = (self, index), None, None
        rows.index, rows.features, rows.ascending = &index_view[0] - self.start[0], features, True
        return rows

    cdef Rows revalued(self, value, norm2):
        """These rows with other values and their norms; they borrow the columns of these rows."""
        cdef const double[::1] value_view = value
        cdef double[::1] norm2_view = norm2
        cdef bint shared = self.shared
        cdef Rows rows = self.slice(0, self.n)
        self.shared = shared
        rows.owner = (self, value, norm2)
        rows.value = &value_view[0] - (0 if self.index == NULL else self.start[0])
        rows.norm2 = &norm2_view[0]
        return rows

    cdef void forget(self) noexcept:
        """Drop the pointers, because the memory is about to be reused."""
        self.gone = True
        self.n = self.features = self.nonzeros = 0
        self.start, self.index, self.value, self.weight = NULL, NULL, NULL, NULL
        if not self.owns_norm2:
            self.norm2 = NULL
        self.owner = None

    def slice(self, Py_ssize_t begin, Py_ssize_t end):
        """Rows begin..end, in the same memory."""
        cdef Rows part = Rows.__new__(Rows)
        self.expect_here()
        self.shared = True
        if not 0 <= begin <= end <= self.n:
            raise IndexError(f"rows {begin}..{end} of {self.n}")
        part.owner, part.names, part.schema, part.made_by = self, self.names, self.schema, self.made_by
        part.first = self.first + begin
        part.n, part.features, part.ascending = end - begin, self.features, self.ascending
        part.gaps, part.encoded = self.gaps, self.encoded
        part.value, part.index = self.value, self.index
        if self.index == NULL:
            part.value += begin * self.features
            part.nonzeros = part.n * self.features
        else:
            part.start = self.start + begin
            part.nonzeros = self.start[end] - self.start[begin]
        if self.norm2 != NULL:
            part.norm2 = self.norm2 + begin
        if self.weight != NULL:
            part.weight = self.weight + begin
        return part

    def head(self, Py_ssize_t n):
        """The first n rows, with as many columns as their last feature needs."""
        cdef Rows part = self.slice(0, n)
        cdef Py_ssize_t i
        if part.index != NULL:
            part.features = 0
            for i in range(part.start[0], part.start[part.n]):
                part.features = max(part.features, part.index[i] + 1)
        return part

    def parts(self, Py_ssize_t values):
        """Yield the rows in pieces of about `values` values. The first pieces are smaller, so learning starts early."""
        cdef Py_ssize_t begin = 0, end = 0, size = values // 16
        while begin < self.n:
            size = min(2 * size, values)
            if self.index == NULL:
                end = min(self.n, begin + max(1, size // max(self.features, 1)))
            else:
                while end < self.n and (end == begin or self.start[end] - self.start[begin] < size):
                    end += 1
            yield self.slice(begin, end)
            begin = end

    @property
    def arrays(self):
        """Copies of the arrays: (X,) for dense rows, (start, index, value) for sparse rows."""
        cdef Py_ssize_t i, first
        self.expect_here()
        if self.index == NULL:
            X = np.empty((self.n, self.features))
            if self.nonzeros:
                X[:] = np.asarray(<const double[:self.nonzeros]> self.value).reshape(X.shape)
            return (X,)
        first = self.start[0]
        start, index, value = np.empty(self.n + 1, np.int64), np.empty(self.nonzeros, np.int32), np.empty(self.nonzeros)
        cdef long long[::1] start_view = start
        cdef int[::1] index_view = index
        cdef double[::1] value_view = value
        for i in range(self.n + 1):
            start_view[i] = self.start[i] - first
        for i in range(self.nonzeros):
            index_view[i], value_view[i] = self.index[first + i], self.value[first + i]
        return start, index, value

    def check(self):
        """These rows with their norms. Raises DataError for a value that is not finite or a column out of range.

        If columns are unsorted or repeated, the result is a copy in which they are sorted and summed. So use the
        result; the original rows may still be unchecked.
        """
        cdef Py_ssize_t begin = 0, end, bad = -1
        cdef bint ordered = True
        self.expect_here()
        if self.norm2 != NULL:
            return self
        self.make_norms()
        with nogil:
            while begin < self.n and bad < 0:
                end = self.stretch(begin)
                bad = self.examine(begin, end, &ordered)
                begin = end
        if bad >= 0 or not ordered:
            self.drop_norms()
        if bad >= 0:
            self.refuse_row(bad)
        return self if ordered else self.sorted().check()

    def make_norms(self):
        self.norm2 = <double*> malloc(max(self.n, 1) * sizeof(double))
        if self.norm2 == NULL:
            raise MemoryError(f"no memory for {self.n} rows")
        self.owns_norm2 = True

    def drop_norms(self):
        """Make the rows count as unchecked."""
        free(self.norm2)
        self.norm2, self.owns_norm2 = NULL, False

    # ---- Checking on a second thread, just ahead of the thread that learns. The rows are then still in the cache.

    def begin_ahead(self):
        """Prepare for `check_ahead` on another thread. The loop then learns only rows that were checked already."""
        self.expect_here()
        if self.norm2 != NULL:
            raise ValueError("the rows have been checked already")
        self.make_norms()
        self.pace = <Pace*> calloc(1, sizeof(Pace))
        if self.pace == NULL:
            raise MemoryError("no memory for a thread")

    def check_ahead(self):
        """Check rows until the end, the first bad row, or `stop_ahead`."""
        cdef Py_ssize_t begin = 0, end, turn, dense = self.features if self.index == NULL else 0
        cdef Py_ssize_t learned, lead
        cdef bint ordered = True
        with nogil:
            while begin < self.n:
                end, turn = self.stretch(begin), 0
                while not read_now(&self.pace.ended):
                    learned = read_now(&self.pace.learned)
                    lead = (begin - learned) * dense if dense else self.start[begin] - self.start[learned]
                    if lead <= LEAD:
                        break
                    wait_a_little(turn)
                    turn += 1
                if read_now(&self.pace.ended) or self.examine(begin, end, &ordered) >= 0 or not ordered:
                    break
                write_now(&self.pace.checked, end)
                begin = end
            write_now(&self.pace.ended, 1)

    def stop_ahead(self):
        """Tell the checking thread to stop."""
        write_now(&self.pace.ended, 1)

    def end_ahead(self):
        """The checking thread has ended. The rows count as checked if it reached their end."""
        if self.pace.checked < self.n:
            self.drop_norms()
        free(self.pace)
        self.pace = NULL

    cdef int expect_more(self, Py_ssize_t i) except -1:
        """Raise the reason if the checking thread stopped before row i."""
        cdef bint ordered = True
        cdef Py_ssize_t bad
        if read_now(&self.pace.ended) and self.pace.checked <= i:
            bad = self.examine(self.pace.checked, self.stretch(self.pace.checked), &ordered)
            if bad >= 0:
                self.refuse_row(bad)
            raise Unordered("columns that are not in order")
        return 0

    cdef Py_ssize_t stretch(self, Py_ssize_t begin) noexcept nogil:
        """The end of the rows that one step checks, from `begin` on."""
        cdef Py_ssize_t end = begin + 1
        if self.index == NULL:
            end += STRETCH // max(self.features, 1)
        else:
            while end < self.n and self.start[end] - self.start[begin] < STRETCH:
                end += 1
        return min(end, self.n)

    cdef Py_ssize_t examine(self, Py_ssize_t begin, Py_ssize_t end, bint* ordered) noexcept nogil:
        """Compute the norms of rows begin..end. Returns the first row that no learner accepts, or -1.

        `ordered` becomes False if the columns of a row are not sorted and distinct.
        """
        cdef Py_ssize_t i, first, last, features = self.features
        cdef unsigned int descents = 0
        cdef const int* index = self.index
        cdef const long long* start = self.start
        if index != NULL and not self.ascending:
            first, last = start[begin], start[end]
            if self.outside(first, last):
                i = begin
                while self.bad_column(i) < 0:
                    i += 1
                return i
            for i in range(first + 1, last):
                descents += index[i] <= index[i - 1]
            for i in range(begin + 1, end):
                if first < start[i] < last and start[i] != start[i - 1]:
                    descents -= index[start[i]] <= index[start[i] - 1]
            if descents != 0:
                ordered[0] = False
        for i in range(begin, end):
            first = i * features if index == NULL else start[i]
            last = first + features if index == NULL else start[i + 1]
            self.norm2[i] = sum_of_squares(self.value + first, last - first)
            if self.gaps and isnan(self.norm2[i]):
                self.norm2[i] = known_norm2(self.value + first, last - first)
            if not self.norm2[i] <= NORM2_LIMIT and not self.summed and self.bad_value(i) >= 0:
                return i
        return -1

    cdef int refuse_row(self, Py_ssize_t i) except -1:
        """Raise the error that says what is wrong with row i."""
        cdef Py_ssize_t place = self.bad_column(i)
        row = f"row {self.first + i}"
        if place >= 0:
            raise DataError(f"{row}: column {self.index[place]} of the sparse matrix is not in 0..{self.features - 1}")
        place = self.bad_value(i)
        column = place - i * self.features if self.index == NULL else self.index[place]
        refuse(f"{row}, column {column}", self.value[place])
        return 0

    cdef int expect_here(self) except -1:
        if self.gone:
            raise ValueError("these rows of a stream are gone: the stream reused their memory; copy rows to keep them")
        return 0

    cdef int expect_checked(self) except -1:
        """Refuse unchecked rows: they may have columns out of range, so only `check` may read them."""
        self.expect_here()
        if self.norm2 == NULL:
            raise ValueError("the rows have not been checked")
        return 0

    cdef Rows sorted(self):
        """The same rows with sorted, distinct columns."""
        cdef Rows rows = Rows.sparse(*canonical(*self.arrays), self.features)
        rows.names, rows.weights, rows.gaps = self.names, self.weights, self.gaps
        rows.first, rows.ascending, rows.summed = self.first, True, True
        return rows

    cdef int check_columns(self) except -1:
        """Refuse columns out of range."""
        cdef Py_ssize_t i = 0
        if self.outside(self.start[0], self.start[self.n]):
            while self.bad_column(i) < 0:
                i += 1
            self.refuse_row(i)
        return 0

    cdef bint outside(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        """Whether any of the entries begin..end has a column out of range."""
        cdef Py_ssize_t i
        cdef int found = 0, columns = <int> self.features
        cdef const int* index = self.index
        for i in range(begin, end):
            found |= (index[i] < 0) | (index[i] >= columns)
        return found != 0

    cdef Py_ssize_t bad_column(self, Py_ssize_t i) noexcept nogil:
        """The position of the first column of row i that is out of range; -1 if there is none."""
        cdef Py_ssize_t j
        for j in range(0 if self.index == NULL else self.start[i], 0 if self.index == NULL else self.start[i + 1]):
            if not 0 <= self.index[j] < self.features:
                return j
        return -1

    cdef Py_ssize_t bad_value(self, Py_ssize_t i) noexcept nogil:
        """The position of the first value of row i that no learner accepts; -1 if there is none."""
        cdef Py_ssize_t j, begin = i * self.features if self.index == NULL else self.start[i]
        cdef Py_ssize_t end = begin + self.features if self.index == NULL else self.start[i + 1]
        for j in range(begin, end):
            if not -VALUE_LIMIT <= self.value[j] <= VALUE_LIMIT and not (self.gaps and isnan(self.value[j])):
                return j
        return -1


cdef double known_norm2(const double* value, Py_ssize_t n) noexcept nogil:
    """The sum of the squares of the values that are not NaN."""
    cdef Py_ssize_t i
    cdef double total = 0
    for i in range(n):
        total += 0 if isnan(value[i]) else value[i] * value[i]
    return total


cdef struct Entry:
    int index
    Py_ssize_t place
    double value


cdef int by_column(const void* a, const void* b) noexcept nogil:
    cdef const Entry* p = <const Entry*> a
    cdef const Entry* q = <const Entry*> b
    if p.index != q.index:
        return 1 if p.index > q.index else -1
    return 1 if p.place > q.place else -1


def canonical(const long long[::1] start, const int[::1] index, const double[::1] value):
    """CSR arrays with sorted, distinct columns. Values of a repeated column are summed in their order."""
    cdef Py_ssize_t i, j, k = 0, n, rows = start.shape[0] - 1
    new_start, new_index, new_value = np.zeros(rows + 1, np.int64), np.empty_like(index), np.empty_like(value)
    cdef long long[::1] out_start = new_start
    cdef int[::1] out_index = new_index
    cdef double[::1] out_value = new_value
    cdef Py_ssize_t longest = np.diff(start).max(initial=1)
    cdef Entry* room = <Entry*> malloc(longest * sizeof(Entry))
    if room == NULL:
        raise MemoryError(f"no memory for a row of {longest} features")
    for i in range(rows):
        n = start[i + 1] - start[i]
        for j in range(n):
            room[j] = Entry(index[start[i] + j], j, value[start[i] + j])
        qsort(room, n, sizeof(Entry), by_column)
        for j in range(n):
            if j and room[j].index == room[j - 1].index:
                out_value[k - 1] += room[j].value
            else:
                out_index[k], out_value[k] = room[j].index, room[j].value
                k += 1
        out_start[i + 1] = k
    free(room)
    return new_start, new_index[:k], new_value[:k]
