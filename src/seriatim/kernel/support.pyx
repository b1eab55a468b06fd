"""The support vectors, and every kernel of one row with all of them.

A row meets the support vectors feature by feature: for each of its values the column of that feature is added, times
the value, to one sum a support vector. So sparse rows cost what they have in common with the support vectors, and dense
ones a product of a matrix with a vector. The kernels are functions of those sums.
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
    void add_eight_columns(Py_ssize_t n, double norm, const double* norms, const double* a, const double** x,
                           double* out) noexcept nogil
    void add_apart(Py_ssize_t n, double a, const double* x, double* out) noexcept nogil
    void add_chi_apart(Py_ssize_t n, double a, const double* x, double* out) noexcept nogil
    double apart(double x, double z) noexcept nogil
    double chi_apart(double x, double z) noexcept nogil
    void decaying(Py_ssize_t n, double g, double* x) noexcept nogil
    void polynomial(Py_ssize_t n, double c, int degree, double* x) noexcept nogil
    void cosine(Py_ssize_t n, double norm2, const double* norms, double* x) noexcept nogil

cdef double INEXACT = 1e4    # times the distance from the origin, from which on the rounding of a sum shows

MAX_BYTES = 1 << 32
PATIENCE = 3    # interrupts of one row after which it is given up
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
    SQUARED      # distances: |x - z|^2
    APART        # |x - z|_1
    CHI_APART    # chi-square's


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
    """What two values add to a distance."""
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
    """Rows in slots 0 .. n - 1, and kernels: each (kind, number, degree), one of them or their sum; or a callable."""

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
        free(self.spread)
        free(self.norm2)
        free(self.norm1)
        free(self.pairs)
        free(self.term)
        free(self.forms)

    def set_width(self, double g):
        """exp(-g distance) in the kernels that have one."""
        cdef Py_ssize_t i
        for i in range(self.terms):
            if self.forms[i].kind in (GAUSSIAN, LAPLACIAN, CHI_SQUARE):
                self.forms[i].g = g

    # ---- room

    def expect_idle(self):
        """An error while a kernel in Python is at work: memory that it is to write to would move, or be written to."""
        if self.asking:
            raise DataError("a kernel cannot use the model that it is the kernel of")

    cdef int grow(self, Py_ssize_t columns) except -1:
        cdef Py_ssize_t room
        if self.asking:
            self.expect_idle()
        if columns <= self.columns:
            return 0
        if columns > self.columns_room:
            if columns > MAX_BYTES // <Py_ssize_t> sizeof(Column):
                raise LimitError(
                    f"feature {columns} would need {columns * sizeof(Column) / 2**30:.1f} GiB beside the support "
                    f"vectors; the limit is {MAX_BYTES >> 30} GiB"
                )
            room = max(columns, min(2 * self.columns_room, MAX_BYTES // <Py_ssize_t> sizeof(Column)), 16)
            if (resize(<void**> &self.column, room, sizeof(Column)) < 0
                    or resize(<void**> &self.spread, room, sizeof(double)) < 0):
                raise MemoryError(f"no memory for {room} features")
            self.columns_room = room
        memset(self.spread + self.columns, 0, (columns - self.columns) * sizeof(double))
        memset(self.column + self.columns, 0, (columns - self.columns) * sizeof(Column))
        self.columns = columns
        return 0

    cdef int reserve(self, Py_ssize_t room) noexcept nogil:
        """Make room for so many support vectors; -1 if there is none."""
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
        """Take in x as support vector n; -1 if there is no room, and nothing has changed."""
        return self.put(self.n, x)

    cdef int put(self, Py_ssize_t slot, const Row* x) noexcept nogil:
        """Support vector `slot` becomes x; -1 if there is no room, and it is then a row of zeros if it was there."""
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
        """Make a row of zeros of it."""
        cdef Kept* z = self.rows.rows + slot
        cdef Py_ssize_t i
        for i in range(z.n):
            self._clear(z.index[i], slot)
        z.n, z.norm2, self.norm1[slot], self.norm2[slot] = 0, 0, 0, 0

    cdef void remove(self, Py_ssize_t slot) noexcept nogil:
        """Take a support vector out; the last one moves to its slot."""
        cdef Py_ssize_t i, last = self.n - 1
        cdef Kept moved = self.rows.rows[last]
        self.clear(slot)
        if slot < last:
            for i in range(moved.n):
                self._clear(moved.index[i], last)
                self._set(moved.index[i], slot, moved.value[i])    # there is room: a value has just been taken out
            self.rows.rows[last] = self.rows.rows[slot]
            self.rows.rows[slot] = moved
            self.norm1[slot], self.norm2[slot] = self.norm1[last], self.norm2[last]
        self.n = self.rows.n = last

    # ---- columns

    cdef int _set(self, Py_ssize_t j, Py_ssize_t slot, double value) noexcept nogil:
        """Value j of a support vector, 0 until now. A column is a list where less than an eighth of it is filled."""
        cdef Column* column = self.column + j
        cdef Py_ssize_t wide = max(column.n if column.slot == NULL else 0, slot + 1)
        if column.slot == NULL and wide > 8 * (column.filled + 1):
            if self._list(column) < 0:
                return -1
        elif column.slot != NULL and self.n < 4 * (column.filled + 1):
            if self._spread(column, max(self.n, slot + 1)) < 0:
                return -1
        if column.slot == NULL:
            return self._set_dense(column, slot, value)
        return self._set_listed(column, slot, value)

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

    cdef int _set_listed(self, Column* column, Py_ssize_t slot, double value) noexcept nogil:
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

    cdef int _list(self, Column* column) noexcept nogil:
        """Keep only what is not zero."""
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

    cdef int _spread(self, Column* column, Py_ssize_t room) noexcept nogil:
        """Keep a value for every slot."""
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
        """Value j of a support vector becomes 0."""
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
        """k(x, z) of each support vector z; those of the next kernel follow at a distance of `stride`."""
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
                self._pair(x, pairing, kernel)
            else:
                if pairing != paired:    # kernels of the same sums share them
                    self._pair(x, pairing, self.pairs)
                    paired = pairing
                memcpy(kernel, self.pairs, self.n * sizeof(double))
            self._map(&self.forms[i], x, kernel)
            if self.summed:
                add_column(self.n, 1, kernel, out)

    cdef void against(self, Py_ssize_t slot, double* out, Py_ssize_t stride) noexcept nogil:
        """The kernels of a support vector with each of them."""
        cdef Row x = self.row(slot)
        self.evaluate(&x, out, stride)

    cdef Row row(self, Py_ssize_t slot) noexcept nogil:
        cdef Row x
        cdef const Kept* z = self.rows.rows + slot
        x.index, x.value, x.n, x.constant, x.norm2 = z.index, z.value, z.n, 0, z.norm2
        return x

    cdef void _pair(self, const Row* x, int pairing, double* sums) noexcept nogil:
        """The product of x with each support vector, or the distance, feature by feature."""
        cdef Py_ssize_t i, j, k, shortest, waiting = 0
        cdef const Column* column
        cdef const Column* dense[8]
        cdef const double* columns[8]
        cdef double values[8]
        cdef double v, taken, norm = self._norm(x, pairing)
        cdef const double* norms = self._norms(pairing)
        cdef bint begun = pairing == PRODUCT
        if begun:
            memset(sums, 0, self.n * sizeof(double))
        for i in range(x.n):
            j = i if x.index == NULL else x.index[i]
            v = x.value[i]
            if v == 0 or j >= self.columns:
                continue
            column = self.column + j
            if pairing == SQUARED:
                v *= -2
            if column.slot == NULL and pairing <= SQUARED:
                dense[waiting], values[waiting] = column, v
                waiting += 1
                if waiting == 8:
                    shortest = self.n
                    for k in range(8):
                        shortest = min(shortest, dense[k].n)
                        columns[k] = dense[k].value
                    if begun:
                        add_eight_columns(shortest, 0, sums, values, columns, sums)
                    else:
                        add_eight_columns(shortest, norm, norms, values, columns, sums)
                        add_norms(self.n - shortest, norm, norms + shortest, sums + shortest)
                        begun = True
                    for k in range(8):
                        add_column(min(dense[k].n, self.n) - shortest, values[k], dense[k].value + shortest,
                                   sums + shortest)
                    waiting = 0
                continue
            if not begun:
                add_norms(self.n, norm, norms, sums)
                begun = True
            for k in range(waiting):    # sums run in the order of the features
                add_column(min(dense[k].n, self.n), values[k], dense[k].value, sums)
            waiting = 0
            if column.slot == NULL:
                if pairing == APART:
                    add_apart(min(column.n, self.n), v, column.value, sums)
                else:
                    add_chi_apart(min(column.n, self.n), v, column.value, sums)
            elif pairing <= SQUARED:
                for k in range(column.n):
                    sums[column.slot[k]] += v * column.value[k]
            else:
                for k in range(column.n):
                    taken = apart(v, column.value[k]) if pairing == APART else chi_apart(v, column.value[k])
                    sums[column.slot[k]] += taken
        if not begun:
            add_norms(self.n, norm, norms, sums)
        for k in range(waiting):
            add_column(min(dense[k].n, self.n), values[k], dense[k].value, sums)

    cdef double _norm(self, const Row* x, int pairing) noexcept nogil:
        """The norm of x of which a distance is made."""
        return x.norm2 if pairing <= SQUARED else size(x)

    cdef const double* _norms(self, int pairing) noexcept nogil:
        return self.norm2 if pairing <= SQUARED else self.norm1

    cdef void _map(self, const Form* form, const Row* x, double* sums) noexcept nogil:
        """The kernel from those sums, in their place."""
        if form.kind == POLYNOMIAL:
            polynomial(self.n, form.g, form.degree, sums)
        elif form.kind == COSINE:
            cosine(self.n, x.norm2, self.norm2, sums)
        elif form.kind != LINEAR:
            self._sharpen(form, x, sums)
            decaying(self.n, form.g, sums)

    cdef void _sharpen(self, const Form* form, const Row* x, double* distances) noexcept nogil:
        """Where two rows are much nearer to one another than to the origin, the sums have lost what counts: these
        distances are taken again, difference by difference."""
        cdef int pairing = pairing_of(form.kind)
        cdef double distance, norm = self._norm(x, pairing)
        cdef const double* norms = self._norms(pairing)
        cdef Py_ssize_t i, j, s
        cdef Row z
        cdef bint spread = False
        if not form.g * norm > INEXACT:
            return
        for s in range(self.n):
            if distances[s] > 1e-9 * (norm + norms[s]) and form.g * distances[s] > 50:
                continue
            if not spread:
                self._spread_row(x, 1)
                spread = True
            z = self.row(s)
            distance = 0
            for i in range(z.n):
                distance += part(form.kind, self.spread[z.index[i]], z.value[i])
                self.spread[z.index[i]] = 0
            for i in range(x.n):
                j = i if x.index == NULL else x.index[i]
                distance += part(form.kind, self.spread[j] if j < self.columns else x.value[i], 0)
            distances[s] = distance
            self._spread_row(x, 1)
        if spread:
            self._spread_row(x, 0)

    cdef void _spread_row(self, const Row* x, double factor) noexcept nogil:
        """The values of x in a place each, or zeros there."""
        cdef Py_ssize_t i, j
        for i in range(x.n):
            j = i if x.index == NULL else x.index[i]
            if j < self.columns:
                self.spread[j] = factor * x.value[i]

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
                except BaseException as interrupt:    # while a row is learned Ctrl-C waits for its end
                    if not self.learning or isinstance(interrupt, Exception):
                        raise
                    self.interrupt = interrupt
                    self.interrupts += 1
                    if self.interrupts >= PATIENCE:
                        raise
        finally:
            self.asking = False
        if not fabs(value) <= 1e200:
            raise DataError(f"the kernel gave {value!r} for two rows; it must be a finite number")
        return value

    cdef object _array(self, const Row* x):
        """A row as a kernel in Python sees it; it is not to write there."""
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
        """The error of the callable, or what interrupted it; it is forgotten."""
        error = self.interrupt if self.error is None else self.error
        self.error, self.interrupt, self.interrupts, self.broken = None, None, 0, False
        return error

    # ---- state

    def state(self):
        return self.rows.state()

    def restore(self, state):
        """Put back the rows of a state, on a new support set with room for their columns."""
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
    """The median of the distances between two of the first rows, as the kernel measures them; 1 where it is 0."""
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
            support._pair(&x, pairing_of(support.forms[0].kind), support.pairs)
            found = np.array([max(support.pairs[s], 0) for s in range(support.n)])
            distances.append(np.sqrt(found) if kind == "gaussian" else found)
            if support.append(&x) < 0:
                raise MemoryError(f"no memory for {support.n + 1} rows")
    distances = np.concatenate(distances)
    return (float(np.median(distances)) if len(distances) else 0.0) or 1.0
