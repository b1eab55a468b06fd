"""The support vectors, and every kernel of one row with all of them.

The values of the support vectors are stored by feature. For each value of a row x, the column of that feature times the
value is added to the sums, of which each support vector z has one: x.z, or a distance. A sparse row so costs only the
features that it shares with the support vectors. Each kernel is a function of such a sum.
"""

import numpy as np

from libc.math cimport fabs
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from seriatim.core.memory cimport allocate, resize, resize_aligned
from seriatim.core.reservoir cimport Kept
from seriatim.core.rows cimport Rows

from seriatim.errors import DataError, LimitError

cdef extern from "vector.h":
    double sum_of_products(Py_ssize_t n, const double* a, const double* x) noexcept nogil
    void scale_all(Py_ssize_t n, double factor, double* x) noexcept nogil
    void add_norms(Py_ssize_t n, double norm, const double* norms, double* out) noexcept nogil
    void add_column(Py_ssize_t n, double a, const double* x, double* out) noexcept nogil
    ctypedef struct Columns:
        int count
    void add_later(Columns* waiting, Py_ssize_t n, double a, const double* x, double* out) noexcept nogil
    void add_waiting(Columns* waiting, double* out) noexcept nogil
    void add_apart(Py_ssize_t n, double a, const double* x, double* out) noexcept nogil
    void add_chi_apart(Py_ssize_t n, double a, const double* x, double* out) noexcept nogil
    double apart(double x, double z) noexcept nogil
    double chi_apart(double x, double z) noexcept nogil
    void decaying(Py_ssize_t n, double g, double* x) noexcept nogil
    void polynomial(Py_ssize_t n, double c, int degree, double* x) noexcept nogil
    void cosine(Py_ssize_t n, double norm2, const double* norms, double* x) noexcept nogil

cdef double INEXACT = 1e4    # if g |x|^2 is larger, the rounding of a distance shows in the kernel

MAX_BYTES = 1 << 32
PATIENCE = 3    # interrupts during one row before the row is abandoned
KINDS = ("linear", "polynomial", "gaussian", "cosine", "laplacian", "chi_square", "callable")

cdef enum Kind:
    LINEAR
    POLYNOMIAL
    GAUSSIAN
    COSINE
    LAPLACIAN
    CHI_SQUARE
    CALLABLE

cdef enum Pairing:
    PRODUCT      # x.z
    SQUARED      # |x - z|^2
    APART        # |x - z|_1
    CHI_APART    # the chi-square distance


cdef double weighted_sum(Py_ssize_t n, const double* a, const double* x) noexcept nogil:
    """The sum of a x."""
    return sum_of_products(n, a, x)


cdef void multiply(Py_ssize_t n, double factor, double* x) noexcept nogil:
    """x *= factor."""
    scale_all(n, factor, x)


cdef void add_multiple(Py_ssize_t n, double a, const double* x, double* out) noexcept nogil:
    """out += a x."""
    add_column(n, a, x, out)


cdef inline int pairing_of(int kind) noexcept nogil:
    if kind == GAUSSIAN:
        return SQUARED
    return APART if kind == LAPLACIAN else CHI_APART if kind == CHI_SQUARE else PRODUCT


cdef inline double part(int kind, double x, double z) noexcept nogil:
    """The distance of two values, as one term of a distance of rows."""
    if kind == GAUSSIAN:
        return (x - z) * (x - z)
    if kind == LAPLACIAN:
        return fabs(x - z)
    return (x - z) * ((x - z) / (fabs(x) + fabs(z))) if x != z else 0


cdef inline double size(const Row* x) noexcept nogil:
    """|x|_1."""
    cdef double total = 0
    cdef Py_ssize_t i
    for i in range(x.n):
        total += fabs(x.value[i])
    return total


cdef class Support:
    """The support vectors in slots 0 .. n - 1, and the kernels.

    A kernel is (kind, number, degree), or ("callable", function, 1). If `summed`, the kernel is the sum of all.
    """

    def __cinit__(self, kernels, bint summed=False):
        self.rows = Reservoir()
        self.functions = []
        self.terms = len(kernels)
        self.summed = summed
        self.kernels = 1 if summed else self.terms
        self.forms = <Form*> allocate(self.terms, sizeof(Form))
        if self.forms == NULL:
            raise MemoryError(f"no memory for {self.terms} kernels")
        for i, (kind, number, degree) in enumerate(kernels):
            self.forms[i].kind = KINDS.index(kind)
            if kind == "callable":
                self.forms[i].degree = <int> len(self.functions)
                self.functions.append(number)
            else:
                self.forms[i].g, self.forms[i].degree = number, degree

    def __dealloc__(self):
        cdef Py_ssize_t j
        for j in range(self.columns):
            free(self.column[j].value)
            free(self.column[j].slot)
        free(self.column)
        free(self.dense)
        free(self.norm2)
        free(self.norm1)
        free(self.pairs)
        free(self.term)
        free(self.forms)

    def set_width(self, double g):
        """Set g of the kernels exp(-g distance)."""
        cdef Py_ssize_t i
        for i in range(self.terms):
            if self.forms[i].kind in (GAUSSIAN, LAPLACIAN, CHI_SQUARE):
                self.forms[i].g = g

    # ---- room

    def expect_idle(self):
        """Raise DataError while a kernel in Python is running, because the arrays in use must not move or change."""
        if self.asking:
            raise DataError("a kernel function called its own model; a kernel may use only its two arguments")

    cdef int grow(self, Py_ssize_t columns) except -1:
        cdef Py_ssize_t room
        if self.asking:
            self.expect_idle()
        if columns <= self.columns:
            return 0
        if columns > self.columns_room:
            if columns > MAX_BYTES // <Py_ssize_t> sizeof(Column):
                raise LimitError(
                    f"feature {columns} would need {columns * sizeof(Column) / 2**30:.1f} GiB for the columns of the "
                    f"support vectors; the limit is {MAX_BYTES >> 30} GiB; hash them with features={{'bits': 20}}"
                )
            room = max(columns, min(2 * self.columns_room, MAX_BYTES // <Py_ssize_t> sizeof(Column)), 16)
            if (resize(<void**> &self.column, room, sizeof(Column)) < 0
                    or resize(<void**> &self.dense, room, sizeof(double)) < 0):
                raise MemoryError(f"no memory for {room} features")
            self.columns_room = room
        memset(self.dense + self.columns, 0, (columns - self.columns) * sizeof(double))
        memset(self.column + self.columns, 0, (columns - self.columns) * sizeof(Column))
        self.columns = columns
        return 0

    cdef int reserve(self, Py_ssize_t room) noexcept nogil:
        """Allocate memory for `room` support vectors. Returns -1 if that fails."""
        if room > self.room:
            room = max(room, 2 * self.room)
            if (resize_aligned(<void**> &self.norm2, self.n, room, sizeof(double)) < 0
                    or resize_aligned(<void**> &self.norm1, self.n, room, sizeof(double)) < 0
                    or resize_aligned(<void**> &self.pairs, 0, room, sizeof(double)) < 0
                    or resize_aligned(<void**> &self.term, 0, room, sizeof(double)) < 0):
                return -1
            self.room = room
        return 0

    # ---- rows

    cdef int append(self, const Row* x) noexcept nogil:
        """Add x as support vector n. Returns -1 without a change if there is no memory."""
        return self.put(self.n, x)

    cdef int put(self, Py_ssize_t slot, const Row* x) noexcept nogil:
        """Store x in `slot`. Returns -1 if there is no memory; a replaced support vector is then a row of zeros."""
        cdef Kept* z
        cdef Py_ssize_t i, k
        if slot < self.n:
            self.clear(slot)
        elif self.reserve(slot + 1) < 0:
            return -1
        if self.rows.put(slot, x) < 0:
            return -1
        z = self.rows.rows + slot
        self.norm1[slot] = 0
        for i in range(z.n):
            if self._set(z.index[i], slot, z.value[i]) < 0:
                for k in range(i):
                    self._clear(z.index[k], slot)
                z.n, z.norm2, self.norm1[slot], self.norm2[slot] = 0, 0, 0, 0
                return -1
            self.norm1[slot] += fabs(z.value[i])
        self.norm2[slot] = z.norm2
        self.n = max(self.n, slot + 1)
        self.rows.n = self.n
        return 0

    cdef void clear(self, Py_ssize_t slot) noexcept nogil:
        """Replace a support vector by a row of zeros."""
        cdef Kept* z = self.rows.rows + slot
        cdef Py_ssize_t i
        for i in range(z.n):
            self._clear(z.index[i], slot)
        z.n, z.norm2, self.norm1[slot], self.norm2[slot] = 0, 0, 0, 0

    cdef void remove(self, Py_ssize_t slot) noexcept nogil:
        """Remove a support vector. The last one moves to its slot."""
        cdef Py_ssize_t i, last = self.n - 1
        cdef Kept moved = self.rows.rows[last]
        self.clear(slot)
        if slot < last:
            for i in range(moved.n):
                self._clear(moved.index[i], last)
                self._set(moved.index[i], slot, moved.value[i])    # cannot fail: this column has just lost a value
            self.rows.rows[last] = self.rows.rows[slot]
            self.rows.rows[slot] = moved
            self.norm1[slot], self.norm2[slot] = self.norm1[last], self.norm2[last]
        self.n = self.rows.n = last

    # ---- columns

    cdef int _set(self, Py_ssize_t j, Py_ssize_t slot, double value) noexcept nogil:
        """Set value j of a support vector, which was 0. A column with less than 1/8 non-zeros becomes sparse."""
        cdef Column* column = self.column + j
        cdef Py_ssize_t wide = max(column.n if column.slot == NULL else 0, slot + 1)
        if column.slot == NULL and wide > 8 * (column.filled + 1):
            if self._make_sparse(column) < 0:
                return -1
        elif column.slot != NULL and self.n < 4 * (column.filled + 1):
            if self._make_dense(column, max(self.n, slot + 1)) < 0:
                return -1
        if column.slot == NULL:
            return self._set_dense(column, slot, value)
        return self._set_sparse(column, slot, value)

    cdef int _set_dense(self, Column* column, Py_ssize_t slot, double value) noexcept nogil:
        cdef Py_ssize_t room
        if slot >= column.room:
            room = max(slot + 1, 2 * column.room)
            if resize_aligned(<void**> &column.value, column.n, room, sizeof(double)) < 0:
                return -1
            column.room = <int> room
        if slot >= column.n:
            memset(column.value + column.n, 0, (slot + 1 - column.n) * sizeof(double))
            column.n = <int> slot + 1
        column.value[slot] = value
        column.filled += 1
        return 0

    cdef int _set_sparse(self, Column* column, Py_ssize_t slot, double value) noexcept nogil:
        cdef Py_ssize_t room
        if column.n == column.room:
            room = 2 * column.room + 2
            if (resize(<void**> &column.value, room, sizeof(double)) < 0
                    or resize(<void**> &column.slot, room, sizeof(int)) < 0):
                return -1
            column.room = <int> room
        column.value[column.n], column.slot[column.n] = value, <int> slot
        column.n += 1
        column.filled += 1
        return 0

    cdef int _make_sparse(self, Column* column) noexcept nogil:
        """Store only the non-zeros of a column, with their slots."""
        cdef Py_ssize_t s, n = 0, room = column.filled + 2
        cdef int* slot = NULL
        if resize(<void**> &slot, max(room, column.room), sizeof(int)) < 0:
            return -1
        for s in range(column.n):
            if column.value[s] != 0:
                column.value[n], slot[n] = column.value[s], <int> s
                n += 1
        column.slot, column.n = slot, <int> n
        if column.room < room:
            if resize(<void**> &column.value, room, sizeof(double)) < 0:
                return -1
            column.room = <int> room
        return 0

    cdef int _make_dense(self, Column* column, Py_ssize_t room) noexcept nogil:
        """Store a value for each slot of a column."""
        cdef Py_ssize_t i, n = 0
        cdef double* value = NULL
        for i in range(column.n):
            n = max(n, column.slot[i] + 1)
        room = max(room, n)
        if resize_aligned(<void**> &value, 0, room, sizeof(double)) < 0:
            return -1
        memset(value, 0, room * sizeof(double))
        for i in range(column.n):
            value[column.slot[i]] = column.value[i]
        free(column.value)
        free(column.slot)
        column.value, column.slot, column.n, column.room = value, NULL, <int> n, <int> room
        return 0

    cdef void _clear(self, Py_ssize_t j, Py_ssize_t slot) noexcept nogil:
        """Set value j of a support vector to 0."""
        cdef Column* column = self.column + j
        cdef Py_ssize_t i
        if column.slot == NULL:
            column.value[slot] = 0
        else:
            for i in range(column.n):
                if column.slot[i] == slot:
                    column.n -= 1
                    column.slot[i], column.value[i] = column.slot[column.n], column.value[column.n]
                    break
        column.filled -= 1

    # ---- kernels

    cdef void evaluate(self, const Row* x, double* out, Py_ssize_t stride) noexcept nogil:
        """Compute k(x, z) for each support vector z. The values of kernel i begin at out + i * stride."""
        cdef Py_ssize_t i
        cdef int pairing, paired = -1
        cdef double* kernel = out
        if self.summed:
            memset(out, 0, self.n * sizeof(double))
        for i in range(self.terms):
            kernel = self.term if self.summed else out + i * stride
            if self.forms[i].kind == CALLABLE:
                self._ask(self.forms[i].degree, x, kernel)
                continue
            pairing = pairing_of(self.forms[i].kind)
            if self.terms == 1:
                self.pair(x, pairing, kernel)
            else:
                if pairing != paired:    # several kernels use the same sums
                    self.pair(x, pairing, self.pairs)
                    paired = pairing
                memcpy(kernel, self.pairs, self.n * sizeof(double))
            self._map(&self.forms[i], x, kernel)
            if self.summed:
                add_column(self.n, 1, kernel, out)

    cdef void against(self, Py_ssize_t slot, double* out, Py_ssize_t stride) noexcept nogil:
        """Compute the kernels of one support vector with all of them."""
        cdef Row x = self.row(slot)
        self.evaluate(&x, out, stride)

    cdef Row row(self, Py_ssize_t slot) noexcept nogil:
        cdef Row x
        cdef const Kept* z = self.rows.rows + slot
        x.index, x.value, x.n, x.constant, x.norm2 = z.index, z.value, z.n, 0, z.norm2
        return x

    cdef void pair(self, const Row* x, int pairing, double* sums) noexcept nogil:
        """Compute x.z, or a distance, for each support vector z."""
        cdef Py_ssize_t i, j
        cdef const Column* column
        cdef double v
        cdef Columns waiting
        waiting.count = 0
        if pairing == PRODUCT:
            memset(sums, 0, self.n * sizeof(double))
        else:
            add_norms(self.n, self._norm(x, pairing), self._norms(pairing), sums)
        for i in range(x.n):
            j = i if x.index == NULL else x.index[i]
            v = x.value[i]
            if v == 0 or j >= self.columns:
                continue
            column = self.column + j
            if pairing == SQUARED:    # |x - z|^2 = |x|^2 + |z|^2 - 2 x.z
                v *= -2
            if column.slot == NULL and pairing <= SQUARED:
                add_later(&waiting, min(column.n, self.n), v, column.value, sums)
            else:
                add_waiting(&waiting, sums)    # each sum adds the features in their order
                self._add(column, pairing, v, sums)
        add_waiting(&waiting, sums)

    cdef void _add(self, const Column* column, int pairing, double v, double* sums) noexcept nogil:
        """Add one feature to the sums."""
        cdef Py_ssize_t k, n = min(column.n, self.n)
        if pairing == APART and column.slot == NULL:
            add_apart(n, v, column.value, sums)
        elif pairing == CHI_APART and column.slot == NULL:
            add_chi_apart(n, v, column.value, sums)
        elif pairing == APART:
            for k in range(n):
                sums[column.slot[k]] += apart(v, column.value[k])
        elif pairing == CHI_APART:
            for k in range(n):
                sums[column.slot[k]] += chi_apart(v, column.value[k])
        else:
            for k in range(n):
                sums[column.slot[k]] += v * column.value[k]

    cdef double _norm(self, const Row* x, int pairing) noexcept nogil:
        """The norm of x that this distance starts from."""
        return x.norm2 if pairing <= SQUARED else size(x)

    cdef const double* _norms(self, int pairing) noexcept nogil:
        return self.norm2 if pairing <= SQUARED else self.norm1

    cdef void _map(self, const Form* form, const Row* x, double* sums) noexcept nogil:
        """Replace the sums by the values of the kernel."""
        if form.kind == POLYNOMIAL:
            polynomial(self.n, form.g, form.degree, sums)
        elif form.kind == COSINE:
            cosine(self.n, x.norm2, self.norm2, sums)
        elif form.kind != LINEAR:
            self._recompute(form, x, sums)
            decaying(self.n, form.g, sums)

    cdef void _recompute(self, const Form* form, const Row* x, double* distances) noexcept nogil:
        """Compute some distances again, as sums of differences.

        |x|^2 + |z|^2 - 2 x.z loses all digits if x and z are much closer to each other than to the origin.
        """
        cdef int pairing = pairing_of(form.kind)
        cdef double distance, norm = self._norm(x, pairing)
        cdef const double* norms = self._norms(pairing)
        cdef Py_ssize_t i, j, s
        cdef Row z
        cdef bint filled = False
        if not form.g * norm > INEXACT:
            return
        for s in range(self.n):
            if distances[s] > 1e-9 * (norm + norms[s]) and form.g * distances[s] > 50:
                continue
            if not filled:
                self._fill(x, 1)
                filled = True
            z = self.row(s)
            distance = 0
            for i in range(z.n):
                distance += part(form.kind, self.dense[z.index[i]], z.value[i])
                self.dense[z.index[i]] = 0
            for i in range(x.n):
                j = i if x.index == NULL else x.index[i]
                distance += part(form.kind, self.dense[j] if j < self.columns else x.value[i], 0)
            distances[s] = distance
            self._fill(x, 1)
        if filled:
            self._fill(x, 0)

    cdef void _fill(self, const Row* x, double factor) noexcept nogil:
        """Write factor x into the dense array. Factor 0 clears it again."""
        cdef Py_ssize_t i, j
        for i in range(x.n):
            j = i if x.index == NULL else x.index[i]
            if j < self.columns:
                self.dense[j] = factor * x.value[i]

    cdef double itself(self, const Row* x, Py_ssize_t kernel) noexcept nogil:
        """k(x, x)."""
        cdef double total = 0
        cdef Py_ssize_t i
        if self.forms[kernel].kind == CALLABLE:
            self._ask_itself(self.forms[kernel].degree, x, &total)
            return total
        if not self.summed:
            return itself(&self.forms[kernel], x.norm2)
        for i in range(self.terms):
            total += itself(&self.forms[i], x.norm2)
        return total

    # ---- a kernel in Python

    cdef void _ask(self, int function, const Row* x, double* out) noexcept with gil:
        cdef Py_ssize_t s
        cdef Row z
        memset(out, 0, self.n * sizeof(double))
        if self.broken:
            return
        try:
            ours = self._array(x)
            for s in range(self.n):
                z = self.row(s)
                out[s] = self._call(self.functions[function], ours, self._array(&z))
        except BaseException as error:
            self.error, self.broken = error, True

    cdef void _ask_itself(self, int function, const Row* x, double* out) noexcept with gil:
        if self.broken:
            return
        try:
            ours = self._array(x)
            out[0] = self._call(self.functions[function], ours, ours)
        except BaseException as error:
            self.error, self.broken = error, True

    cdef double _call(self, function, x, z) except? -1:
        cdef double value
        self.asking = True
        try:
            while True:
                try:
                    value = function(x, z)
                    break
                except BaseException as interrupt:    # while a row is learned, Ctrl-C waits until its end
                    if not self.learning or isinstance(interrupt, Exception):
                        raise
                    self.interrupt = interrupt
                    self.interrupts += 1
                    if self.interrupts >= PATIENCE:
                        raise
        finally:
            self.asking = False
        if not fabs(value) <= 1e200:
            raise DataError(f"the kernel returned {value!r} for two rows; return a number of at most 1e200 in size")
        return value

    cdef object _array(self, const Row* x):
        """A row as a read-only array, for a kernel in Python."""
        cdef double[::1] values = np.zeros(self.columns)
        cdef Py_ssize_t i, j
        for i in range(x.n):
            j = i if x.index == NULL else x.index[i]
            if j < self.columns:
                values[j] = x.value[i]
        array = np.asarray(values)
        array.flags.writeable = False
        return array

    def mended(self):
        """Return and clear the exception or the interrupt of a kernel in Python."""
        error = self.interrupt if self.error is None else self.error
        self.error, self.interrupt, self.interrupts, self.broken = None, None, 0, False
        return error

    # ---- state

    def state(self):
        return self.rows.state()

    def restore(self, state):
        """Append the rows of a saved state. The object must be new, and must have their columns."""
        cdef Reservoir rows = Reservoir()
        cdef Py_ssize_t s
        cdef Row x
        rows.restore(state, self.columns)
        x.constant = 0
        for s in range(rows.n):
            x.index, x.value, x.n, x.norm2 = (rows.rows[s].index, rows.rows[s].value, rows.rows[s].n,
                                              rows.rows[s].norm2)
            if self.append(&x) < 0:
                raise MemoryError(f"no memory for {rows.n} support vectors")


cdef double itself(const Form* form, double norm2) noexcept nogil:
    if form.kind == LINEAR:
        return norm2
    if form.kind == POLYNOMIAL:
        polynomial(1, form.g, form.degree, &norm2)
        return norm2
    return norm2 > 0 if form.kind == COSINE else 1


def median_distance(blocks, str kind, Py_ssize_t most=500):
    """The median distance between the first rows, in the metric of the kernel; 1 if the median is 0."""
    cdef Rows rows
    cdef Support support = Support([(kind, 1.0, 0)])
    cdef Py_ssize_t i
    cdef Row x
    support.grow(max(rows.features for rows in blocks))
    distances = [np.zeros(0)]
    for rows in blocks:
        rows.expect_checked()
        for i in range(min(rows.n, most - support.n)):
            rows.get(i, 0, &x)
            if support.reserve(support.n + 1) < 0:
                raise MemoryError(f"no memory for {support.n + 1} rows")
            support.pair(&x, pairing_of(support.forms[0].kind), support.pairs)
            found = np.array([max(support.pairs[s], 0) for s in range(support.n)])
            distances.append(np.sqrt(found) if kind == "gaussian" else found)
            if support.append(&x) < 0:
                raise MemoryError(f"no memory for {support.n + 1} rows")
    distances = np.concatenate(distances)
    return (float(np.median(distances)) if len(distances) else 0.0) or 1.0
