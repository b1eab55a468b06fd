"""Online scaling: each example is scaled by the examples up to and including itself."""

import numpy as np

from libc.math cimport fabs, sqrt

from seriatim.core.row cimport sum_of_squares
from seriatim.core.rows cimport Rows

from seriatim.core.rows import LIMIT as LARGEST
from seriatim.errors import ModelError

cdef double LIMIT = LARGEST
SCALES = {
    "standard": "by the running mean and deviation of each feature",
    "max": "by the running maximum of each feature",
    "unit": "each row to norm 1",
}


cdef class Scaler:
    """Scales the values of features. Missing values stay missing.

    standard : (x - mean) / deviation, of the values that are not missing, by Welford's recurrence. A feature that has
        always been 1, such as a category, stays 1.
    max : x / max |x|.
    unit : each row divided by its norm; there is no state.
    """

    def __init__(self, str kind):
        if kind not in SCALES:
            raise ValueError(f"{kind!r} is not one of {', '.join(SCALES)}")
        self.kind, self.standard, self.unit = kind, kind == "standard", kind == "unit"
        self.count, self.mean, self.spread = np.zeros(0), np.zeros(0), np.zeros(0)
        self.touched = np.zeros(0, np.int64)
        self.changed, self.before = np.zeros(0, np.intp), np.zeros((0, 3))

    def state(self):
        """The state as named arrays."""
        return {"count": np.array(self.count), "mean": np.array(self.mean), "spread": np.array(self.spread)}

    def restore(self, state):
        """Restore a state that `state` gave; a ModelError if values could not have led to it."""
        arrays = [np.array(state[name], dtype=np.float64) for name in ("count", "mean", "spread")]
        count, mean, spread = arrays
        if len({array.shape for array in arrays}) != 1 or count.ndim != 1:
            raise ModelError("the arrays of the scaling differ in length")
        if not ((count >= 0) & (count == np.floor(count)) & (np.abs(mean) <= 1.01 * LIMIT) & (spread >= 0)).all():
            raise ModelError("a count, a mean or a spread of the scaling is not one that values can have")
        # Of n values within +-LIMIT the squares about their mean sum to n LIMIT^2 at most; the rest is for rounding.
        most = 1.01 * count * LIMIT ** 2 if self.standard else LIMIT
        if (spread > most).any() or (mean[count == 0] != 0).any() or (spread[count == 1] != 0).any():
            raise ModelError("a spread of the scaling is more than so many values can have")
        if self.kind == "unit" and len(count) or self.kind == "max" and count.any():
            raise ModelError(f"the scaling counts values, which {self.kind!r} does not")
        self.count, self.mean, self.spread, self.touched = count, mean, spread, np.zeros(len(count), np.int64)

    cdef int grow(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t more = max(n, 2 * len(self.count)) - len(self.count)
        if n > len(self.count):
            nothing, never = np.zeros(more), np.zeros(more, np.int64)
            count, mean = np.concatenate([self.count, nothing]), np.concatenate([self.mean, nothing])
            spread = np.concatenate([self.spread, nothing])
            touched = np.concatenate([self.touched, never])
            self.count, self.mean, self.spread = count, mean, spread    # all or, when Ctrl-C comes before, none
            self.touched = touched
        return 0

    cdef void note(self, Py_ssize_t j) noexcept nogil:
        """Store column j before it changes, so that `rewind` can restore it."""
        if self.touched[j] != self.block:
            self.touched[j], self.changed[self.changes] = self.block, j
            self.before[self.changes, 0] = self.count[j]
            self.before[self.changes, 1] = self.mean[j]
            self.before[self.changes, 2] = self.spread[j]
            self.changes += 1

    def settle(self):
        """Make the changes of the last block final."""
        self.rows, self.changes = None, 0

    def rewind(self, Py_ssize_t learned):
        """Take back the last block, except its first `learned` rows."""
        cdef Py_ssize_t k, j
        cdef Rows rows = self.rows
        for k in range(self.changes):
            j = self.changed[k]
            self.count[j], self.mean[j], self.spread[j] = self.before[k, 0], self.before[k, 1], self.before[k, 2]
        self.settle()
        if learned and rows is not None:
            self.scaled(rows.slice(0, learned), True)
            self.settle()

    cdef double see(self, Py_ssize_t j, double x, bint learning) noexcept nogil:
        """The scaled value of feature j."""
        cdef double d = x - self.mean[j]
        if self.standard:
            if learning:
                self.count[j] += 1
                self.mean[j] += d / self.count[j]
                self.spread[j] += d * (x - self.mean[j])
            if self.spread[j] > 0:
                return (x - self.mean[j]) / sqrt(self.spread[j] / self.count[j])
            return 1 if x == 1 and self.mean[j] == 1 else 0
        if learning and fabs(x) > self.spread[j]:
            self.spread[j] = fabs(x)
        return x / self.spread[j] if self.spread[j] > 0 else 0

    cdef inline double scaled_value(self, Py_ssize_t j, double x, double length, Py_ssize_t known, bint learning) \
            noexcept nogil:
        """The scaled value x of column j, in a row of norm `length`. Columns from `known` on are new."""
        if self.unit:
            x = x / length if length > 0 else 0
        elif j < known:
            if learning:
                self.note(j)
            x = self.see(j, x, learning)
        else:
            x = 0
        return min(max(x, -LIMIT), LIMIT)

    cdef int scale(self, const int* index, double* value, Py_ssize_t n, double norm2, bint learning) except -1:
        """Scale one row in place. When learning the row counts first, until `settle` or `rewind`."""
        cdef Py_ssize_t j, known
        cdef int most = -1
        if learning and not self.unit:
            for j in range(n):
                most = max(most, index[j])
            self.grow(most + 1)
            if self.changed.shape[0] < n:
                self.changed, self.before = np.empty(2 * n, np.intp), np.empty((2 * n, 3))
            self.rows, self.changes = None, 0
            self.block += 1
        known = self.count.shape[0]
        for j in range(n):
            value[j] = self.scaled_value(index[j], value[j], sqrt(norm2), known, learning)
        return 0

    def scaled(self, Rows rows, bint learning):
        """The scaled rows, of checked rows. When learning, each row counts first."""
        cdef Py_ssize_t i, j, column, begin, end, known, size
        cdef double length
        rows.expect_checked()
        cdef bint dense = rows.index == NULL
        values, norms = np.empty(max(rows.nonzeros, 1)), np.empty(max(rows.n, 1))
        cdef double[::1] value = values, norm2 = norms
        cdef Py_ssize_t first = 0 if dense else rows.start[0]
        if learning and not self.unit:
            self.grow(rows.features)
            size = min(rows.nonzeros, len(self.count))
            self.changed, self.before, self.changes = np.empty(size, np.intp), np.empty((size, 3)), 0
            self.block += 1
            self.rows = rows
        known = len(self.count)
        with nogil:
            for i in range(rows.n):
                begin = i * rows.features if dense else rows.start[i] - first
                end = begin + rows.features if dense else rows.start[i + 1] - first
                length = sqrt(rows.norm2[i])
                for j in range(begin, end):
                    column = j - begin if dense else rows.index[first + j]
                    value[j] = self.scaled_value(column, rows.value[first + j], length, known, learning)
                norm2[i] = sum_of_squares(&value[begin], end - begin) if end > begin else 0
        return rows.revalued(values, norms)
