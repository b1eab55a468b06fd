"""The SVD of a matrix whose rows come one after another, or in blocks (Brand, 2002, 2003, 2006).

X ~ U diag(s) V' with at most `rank` values. V = [B, P'] T: a large basis B that is seldom touched, a few vectors P that
came since it was made, most of them the rows themselves and as sparse as these, and a small T that every row turns. A
row costs O(non-zeros (rank + |P|) + rank^3): no pass over the features, except for one that lies in the space all but
a tenth of its length, of which the rest has to be made to be known. Every 2 rank + 16 rows, or in blocks every 4
blocks or 16 rank rows, whichever are more, B becomes V, T the identity, and P empty, which costs all features that are
used times rank^2: spread over the rows between, about half of features times rank each.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from seriatim.core.memory cimport resize
from seriatim.core.reservoir cimport Kept, Reservoir, add_kept, product
from seriatim.core.row cimport Row
from seriatim.core.table cimport Table
from seriatim.decomposition.arrowhead cimport Arrowhead

from seriatim.core.rows import LIMIT
from seriatim.errors import ModelError

cdef extern from "matrix.h":
    void add_lines(Py_ssize_t n, Py_ssize_t lines, const double* a, const int* which, const double* X, Py_ssize_t width,
                   double* out) noexcept nogil

cdef double NEAR = 1e-2          # |rest|^2 / |x|^2 from which on it is what |x|^2 - |V'x|^2 says
cdef double SMALL = 1e-15        # a rest is rounding
CHUNK = 512                      # rows of B that are turned at once
WELL = 1e-5                      # s_k^2 / s_1^2 from which on products of rows are good enough for their SVD
cdef Py_ssize_t LARGE = 30_000   # multiplications from which on BLAS is worth a call


cdef class Subspace:
    """At most `rank` directions, of which each has a value above threshold times the largest."""

    def __cinit__(self, Py_ssize_t rank, double threshold, Py_ssize_t block=0, bint keep_left=False):
        self.rank, self.threshold, self.keep_left = rank, threshold, keep_left
        self.most = 2 * rank + 16 if block == 0 else max(4 * block, 16 * rank)
        self.stride = rank + 1
        self.basis = Table((("V", 0.0, False),), rank)
        self.pending = Reservoir(self.most + 1)
        self.arrow = Arrowhead()
        # No thing of these is as large as the basis of so many directions over as many features.
        if (resize(<void**> &self.s, rank + 1, sizeof(double)) < 0
                or resize(<void**> &self.m, rank + 1, sizeof(double)) < 0
                or resize(<void**> &self.c, rank + self.most + 2, sizeof(double)) < 0):
            raise MemoryError(f"no memory for {rank} directions")
        if keep_left:
            self.U, self.R = np.zeros((0, 0)), np.zeros((0, 0))
        self.grow(1)

    def __dealloc__(self):
        free(self.s)
        free(self.T)
        free(self.m)
        free(self.c)
        free(self.work)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t capacity
        self.basis.grow(rows)
        if self.basis.capacity > self.features:
            capacity = self.basis.capacity
            if resize(<void**> &self.work, capacity, sizeof(double)) < 0:
                raise MemoryError(f"no memory for {rows} features")
            memset(self.work + self.features, 0, (capacity - self.features) * sizeof(double))
            self.features = capacity
        return 0

    # ---- products

    cdef Py_ssize_t width(self, const Row* x) noexcept nogil:
        """One more than the last column of a row with a value that is not 0."""
        cdef Py_ssize_t i, column, last = 0
        if x.index == NULL:
            i = x.n
            while i > 0 and x.value[i - 1] == 0:
                i -= 1
            return i
        for i in range(x.n):
            column = x.index[i]
            if x.value[i] != 0 and column >= last:
                last = column + 1
        return last

    cdef void lay(self, const Row* x, bint clear) noexcept nogil:
        """The values of a row to their places among all features, or zeros."""
        cdef Py_ssize_t i, column, known = self.basis.rows - 1
        for i in range(x.n):
            column = i if x.index == NULL else x.index[i]
            if column < known:
                self.work[column] = 0 if clear else x.value[i]

    cdef void coordinates(self, const double* x, Py_ssize_t n) noexcept nogil:
        """c = [B, P']'x of n values laid out."""
        cdef Py_ssize_t i, a, columns = self.columns
        cdef const double* b
        cdef double v
        memset(self.c, 0, columns * sizeof(double))
        for i in range(min(n, self.used)):
            v = x[i]
            if v != 0:
                b = self.basis.data + (i + 1) * self.rank
                for a in range(columns):
                    self.c[a] += v * b[a]
        for a in range(self.pending.n):
            self.c[columns + a] = product(&self.pending.rows[a], x)

    cdef void project(self, const Row* x) noexcept nogil:
        """m = V'x = T'[B, P']'x."""
        cdef Py_ssize_t i, a, column, columns = self.columns, known = self.basis.rows - 1
        cdef const double* b
        cdef double v
        if self.pending.n:
            self.lay(x, False)
        memset(self.c, 0, columns * sizeof(double))
        for i in range(x.n):
            v, column = x.value[i], i if x.index == NULL else x.index[i]
            if v != 0 and column < known:
                b = self.basis.data + (column + 1) * self.rank
                for a in range(columns):
                    self.c[a] += v * b[a]
        for a in range(self.pending.n):
            self.c[columns + a] = product(&self.pending.rows[a], self.work)
        if self.pending.n:
            self.lay(x, True)
        self.gather()

    cdef void gather(self) noexcept nogil:
        """m = T'c."""
        cdef Py_ssize_t a, i
        cdef const double* t
        memset(self.m, 0, self.k * sizeof(double))
        for a in range(self.columns + self.pending.n if self.k else 0):
            t = self.T + a * self.stride
            for i in range(self.k):
                self.m[i] += self.c[a] * t[i]

    cdef void spread(self) noexcept nogil:
        """c = T m."""
        cdef Py_ssize_t a, i
        cdef const double* t
        cdef double v
        for a in range(self.columns + self.pending.n):
            v, t = 0, self.T + a * self.stride
            for i in range(self.k):
                v += t[i] * self.m[i]
            self.c[a] = v

    cdef void subtract(self) noexcept nogil:
        """work -= V m."""
        cdef Py_ssize_t i, a, columns = self.columns
        cdef const double* b
        cdef double v
        if self.k == 0:
            return
        self.spread()
        for i in range(self.used):
            v, b = 0, self.basis.data + (i + 1) * self.rank
            for a in range(columns):
                v += b[a] * self.c[a]
            self.work[i] -= v
        for a in range(self.pending.n):
            add_kept(&self.pending.rows[a], -self.c[columns + a], self.work)

    cdef double residual(self, const Row* x) noexcept nogil:
        """work = x - V m, m = V'x being there; its squared length, columns counted that are not known."""
        cdef Py_ssize_t i, known = self.basis.rows - 1
        cdef double total = 0
        self.lay(x, False)
        self.subtract()
        for i in range(max(self.used, min(self.width(x), known))):
            total += self.work[i] * self.work[i]
        for i in range(x.n):
            if (i if x.index == NULL else x.index[i]) >= known:
                total += x.value[i] * x.value[i]
        return total

    cdef double loss(self, const Row* x) noexcept nogil:
        """|x - V V'x|^2."""
        cdef Py_ssize_t i
        cdef double rest = x.norm2
        self.project(x)
        for i in range(self.k):
            rest -= self.m[i] * self.m[i]
        if rest < 1e-6 * x.norm2:
            rest = self.residual(x)
            memset(self.work, 0, self.basis.rows * sizeof(double))
        return rest

    # ---- one row

    cdef int append(self, const Row* x, double forgetting) noexcept nogil:
        """Take in a row; -1 if there is no memory, or an error that is kept: then nothing has changed."""
        cdef Py_ssize_t i, a, n = self.k, rows, width, keep = 0
        cdef double rest = x.norm2, rho = 0, length = sqrt(x.norm2)
        cdef bint made = False
        cdef Row p
        if self.steps >= self.most and self.fold() < 0:
            return -1
        if (self.arrow.reserve(n + 1) < 0
                or resize(<void**> &self.T, (self.columns + self.pending.n + 1) * self.stride, sizeof(double)) < 0):
            return -1
        width = self.width(x)
        self.project(x)
        for i in range(n):
            rest -= self.m[i] * self.m[i]
            self.arrow.z[i] = self.m[i]
            self.arrow.d[i] = forgetting * self.s[i]
        self.used = max(self.used, width)    # before it there are zeros in B
        if x.norm2 > 0 and rest > NEAR * x.norm2:
            rho = sqrt(rest)
        elif x.norm2 > 0:
            self.residual(x)
            self.coordinates(self.work, self.used)    # again, for rounding: else it is not orthogonal where it is short
            self.gather()
            self.subtract()
            rest, made = 0, True
            for i in range(self.used):
                rest += self.work[i] * self.work[i]
            rho = sqrt(rest)
        if rho > self.threshold * length and rho > SMALL * length:
            self.arrow.z[n], self.arrow.d[n] = rho, 0
            if made:
                for i in range(self.used):
                    self.work[i] /= rho
                p.index, p.value, p.n, p.constant, p.norm2 = NULL, self.work, self.used, 0, 1
                a = self.pending.put(self.pending.n, &p)
            else:
                a = self.pending.put(self.pending.n, x)
            if a < 0:
                if made:
                    memset(self.work, 0, self.basis.rows * sizeof(double))
                return -1
            rows = self.columns + self.pending.n
            if not made:
                self.spread()
            for i in range(rows):
                self.T[i * self.stride + n] = 0 if made else -self.c[i] / rho
            for i in range(n):
                self.T[rows * self.stride + i] = 0
            self.T[rows * self.stride + n] = 1 if made else 1 / rho
            n += 1
        if made:
            memset(self.work, 0, self.basis.rows * sizeof(double))
        self.arrow.solve(n, self.keep_left)
        for i in range(min(n, self.rank)):
            keep += self.arrow.sigma[i] > self.threshold * self.arrow.sigma[0] and self.arrow.sigma[i] > 1e-150
        rows = self.columns + self.pending.n + (n - self.k)
        if self.keep_left and self.turn_left(n, self.k, keep) < 0:
            return -1
        if self.turn(n, rows, keep) < 0:
            self.turn_back()
            return -1
        self.pending.n += n - self.k
        self.k = keep
        memcpy(self.s, self.arrow.sigma, keep * sizeof(double))
        self.steps += 1
        return 0

    cdef int turn(self, Py_ssize_t n, Py_ssize_t rows, Py_ssize_t keep) noexcept nogil:
        """T <- T left, of which the first columns are kept."""
        cdef Py_ssize_t a, i, j
        cdef double* t
        cdef const double* w
        cdef double v
        if rows * n * keep > LARGE:
            return self.turn_large(n, rows, keep)
        for a in range(rows):
            t = self.T + a * self.stride
            memset(self.m, 0, keep * sizeof(double))
            for i in range(n):
                v, w = t[i], self.arrow.left + i * n
                if v != 0:
                    for j in range(keep):
                        self.m[j] += v * w[j]
            memcpy(t, self.m, keep * sizeof(double))
        return 0

    cdef int turn_large(self, Py_ssize_t n, Py_ssize_t rows, Py_ssize_t keep) noexcept with gil:
        try:
            T = np.asarray(<double[:rows, :self.stride]> self.T)
            T[:, :keep] = T[:, :n] @ np.asarray(<double[:n, :n]> self.arrow.left)[:, :keep]
        except BaseException as error:
            self.error = error
            return -1
        return 0

    cdef int turn_left(self, Py_ssize_t n, Py_ssize_t k, Py_ssize_t keep) noexcept with gil:
        """[[R, 0], [0, 1]] times the right vectors."""
        try:
            if n == 0:
                R = np.zeros((len(self.R) + 1, 0))
            else:
                right = np.asarray(<double[:n + 1, :n]> self.arrow.right)
                R = np.vstack([self.R @ right[:k, :keep], right[n:, :keep]])
            self.R_before, self.R = self.R, R
        except BaseException as error:
            self.error = error
            return -1
        return 0

    cdef void turn_back(self) noexcept with gil:
        if self.keep_left:
            self.R = self.R_before

    cdef int fold(self) noexcept with gil:
        try:
            self.collapse()
        except BaseException as error:
            self.error = error
            return -1
        return 0

    def raise_error(self):
        """What went wrong where nobody could be told."""
        error, self.error = self.error, None
        raise MemoryError("the model has outgrown the memory") if error is None else error

    # ---- the basis

    def directions(self):
        """V, of the features that have been seen."""
        cdef Py_ssize_t a, rows = self.columns + self.pending.n
        cdef double[:, ::1] out
        if self.k == 0 or self.used == 0:
            return np.zeros((self.used, self.k))
        if self.steps == 0:    # T is the identity
            return self.B().copy()
        T = np.asarray(<double[:rows, :self.stride]> self.T)[:, :self.k]
        V = self.B() @ T[:self.columns]
        out = V
        with nogil:
            for a in range(self.pending.n):
                spread_row(&self.pending.rows[a], self.T + (self.columns + a) * self.stride, self.k, self.k, &out[0, 0])
        return V

    def B(self):
        """The large basis, of the features that have been seen: a view."""
        rows = np.asarray(<double[:self.basis.rows, :self.rank]> self.basis.data)
        return rows[1:self.used + 1, :self.columns]

    def collapse(self):
        """B becomes V, made orthogonal again where it no longer is, T the identity, and P empty."""
        if self.pending.n == 0 and self.steps == 0:
            return
        U = self.left() if self.keep_left else None
        if self.k > self.columns or self.k == 0 or self.used == 0:
            self.become(orthogonal(self.directions()), self.values(), U)
            return
        cdef Py_ssize_t first, k = self.k, rows = self.columns + self.pending.n
        T = np.array(<double[:rows, :self.stride]> self.T)[:, :k]
        cdef int[::1] start, who
        cdef double[::1] value
        cdef Py_ssize_t i, stop
        cdef double[:, ::1] out = np.empty((CHUNK, k))
        start, who, value = self.by_column(self.pending)
        B, room, signs, squares = self.B(), np.asarray(out), looks(k), 0
        for first in range(0, self.used, CHUNK):    # in place, a piece that fits the cache at a time
            stop = min(first + CHUNK, self.used)
            np.matmul(B[first:stop], T[:self.columns], out=room[:stop - first])
            with nogil:
                for i in range(first, stop):
                    add_lines(k, start[i + 1] - start[i], &value[0] + start[i], &who[0] + start[i],
                              self.T + self.columns * self.stride, self.stride, &out[i - first, 0])
            B[first:stop, :k] = room[:stop - first]
            B[first:stop, k:] = 0
            squares = squares + np.sum((room[:stop - first] @ signs) ** 2, axis=0)
        self.settle(k, U)    # before what may fail for want of memory
        if crooked(squares, k):
            B[:, :k] = straightened(B[:, :k])

    def become(self, V, s, U):
        """Let these be the directions of the features that have been seen, their values, and the left vectors."""
        cdef Py_ssize_t i, k = V.shape[1]
        cdef const double[::1] values = np.ascontiguousarray(s)
        if resize(<void**> &self.T, max(k, 1) * self.stride, sizeof(double)) < 0:
            raise MemoryError(f"no memory for {k} directions")
        rows = np.asarray(<double[:self.basis.rows, :self.rank]> self.basis.data)
        if k < self.columns:
            rows[1:self.used + 1, k:self.columns] = 0
        rows[1:self.used + 1, :k] = V
        for i in range(k):
            self.s[i] = values[i]
        self.settle(k, U)

    def settle(self, Py_ssize_t k, U):
        """B is V."""
        cdef Py_ssize_t i
        self.k = self.columns = k
        self.pending.n = self.steps = 0
        for i in range(k):
            memset(self.T + i * self.stride, 0, self.stride * sizeof(double))
            self.T[i * self.stride + i] = 1
        if self.keep_left:
            self.U, self.R = U, np.eye(k)

    def values(self):
        return np.array(<double[:self.k]> self.s) if self.k else np.zeros(0)

    def left(self):
        """The left vectors, of all rows."""
        known = self.U.shape[1]
        return np.vstack([self.U @ self.R[:known], self.R[known:]])

    # ---- many rows

    def merge(self, Reservoir rows, double forgetting, bint missing=False):
        """Take in a block of rows: the SVD of [diag(s) V'; C], the rows of C times 1, f, f^2, ..., the newest first.

        Where no value is small it comes from the products of the rows with each other and with V, else from a QR.
        """
        cdef Py_ssize_t i, j, n = rows.n, nonzeros = 0
        cdef Kept* z
        if n == 0:
            return
        for i in range(n):
            z = &rows.rows[i]
            nonzeros += z.n
            for j in range(z.n):
                self.used = max(self.used, z.index[j] + 1)
        ages = forgetting ** np.arange(n)[::-1] if forgetting != 1 else np.ones(n)
        s = forgetting ** n * self.values()
        if missing or 8 * nonzeros > n * self.used or n + self.k > self.used:
            self.collapse()
            C = self.dense(rows)
            self.merge_dense(self.imputed(C) if missing else C, s, ages)
        elif not self.merge_by_products(rows, None, s, ages):
            self.collapse()
            self.merge_by_rows(self.dense(rows), s, ages)

    def merge_dense(self, C, s, ages):
        """The same of rows in an array, of all features that are used, after `collapse`."""
        if len(C) + self.k > self.used or not self.merge_by_products(None, C, s, ages):
            self.merge_by_rows(C, s, ages)

    def merge_by_rows(self, C, s, ages):
        V = self.directions()
        Q, R = np.linalg.qr(np.column_stack([V, C.T]))
        left, s, right = np.linalg.svd(R * np.concatenate([s, ages]), full_matrices=False)
        kept = self.kept(s)
        U = self.left_with(len(C), right[:kept].T)
        self.become(Q @ left[:, :kept], s[:kept], U)

    def left_with(self, Py_ssize_t rows, right):
        """blockdiag(U, I) times the right vectors."""
        if not self.keep_left:
            return None
        U = self.left()
        return np.vstack([U @ right[:U.shape[1]], right[U.shape[1]:]])

    def kept(self, s):
        """How many of descending values are."""
        return int(np.count_nonzero(s[:self.rank] > max(self.threshold * s.max(initial=0), 1e-150)))

    def merge_by_products(self, Reservoir rows, C, s, ages):
        """Whether it could be done so."""
        cdef Py_ssize_t k = self.k, n = rows.n if C is None else len(C)
        T = np.asarray(<double[:self.columns + self.pending.n, :self.stride]> self.T)[:, :k] if k else np.zeros((0, 0))
        if C is None:
            if self.pending.n + n > self.most:
                self.collapse()
                T = np.eye(k)
            H, P, G = self.products(rows)
            H = H @ T[:self.columns] + P.T @ T[self.columns:] if k else np.zeros((n, 0))
        else:
            H, G = C @ self.B(), C @ C.T
        M = np.empty((k + n, k + n))
        M[:k, :k] = np.diag(s * s)
        M[k:, :k] = ages[:, None] * H * s
        M[:k, k:] = M[k:, :k].T
        M[k:, k:] = ages[:, None] * G * ages
        w, Q = np.linalg.eigh(M)
        w, Q = np.maximum(w[::-1], 0), Q[:, ::-1]
        kept = self.kept(np.sqrt(w))
        if kept == 0 or w[kept - 1] < WELL * w[0]:
            return False
        w, Q = np.sqrt(w[:kept]), Q[:, :kept]
        A = Q / w
        A[:k] *= s[:, None]
        A[k:] *= ages[:, None]
        if C is not None:
            U = self.left_with(n, Q)
            self.become(orthogonal(self.B() @ A[:k] + C.T @ A[k:]), w, U)
            return True
        self.extend(rows, np.ascontiguousarray(np.vstack([T @ A[:k], A[k:]])), w)
        if self.keep_left:
            self.R = np.vstack([self.R @ Q[:k], Q[k:]])
        return True

    def extend(self, Reservoir rows, const double[:, ::1] T, const double[::1] s):
        """The rows of a block join P, with this T and these values."""
        cdef Py_ssize_t i, a, n = T.shape[0], kept = T.shape[1], before = self.pending.n
        cdef Row x
        if resize(<void**> &self.T, n * self.stride, sizeof(double)) < 0:
            raise MemoryError(f"no memory for {n} rows")
        x.constant = 0
        for i in range(rows.n):
            x.index, x.value, x.n, x.norm2 = rows.rows[i].index, rows.rows[i].value, rows.rows[i].n, rows.rows[i].norm2
            if self.pending.put(before + i, &x) < 0:
                raise MemoryError(f"no memory for {n} rows")
        self.pending.n = before + rows.n
        for a in range(n):
            for i in range(kept):
                self.T[a * self.stride + i] = T[a, i]
        for i in range(kept):
            self.s[i] = s[i]
        self.k = kept
        self.steps += rows.n

    def by_column(self, Reservoir rows):
        """Rows by column: where each starts, whose values there are in it, ascending, and the values."""
        cdef Py_ssize_t i, j, e, used = self.used, total = 0
        cdef Kept* z
        for i in range(rows.n):
            total += rows.rows[i].n
        cdef int[::1] start = np.zeros(used + 2, np.int32), who = np.empty(max(total, 1), np.int32)
        cdef double[::1] value = np.empty(max(total, 1))
        with nogil:
            for i in range(rows.n):
                z = &rows.rows[i]
                for j in range(z.n):
                    start[z.index[j] + 2] += 1
            for j in range(used):
                start[j + 2] += start[j + 1]
            for i in range(rows.n):
                z = &rows.rows[i]
                for j in range(z.n):
                    e = start[z.index[j] + 1]
                    start[z.index[j] + 1] += 1
                    who[e], value[e] = <int> i, z.value[j]
        return start, who, value

    def products(self, Reservoir rows):
        """Of rows: with B; and, a line for each of those, with P and with one another."""
        cdef Py_ssize_t i, j, e, n = rows.n, p = self.pending.n, columns = self.columns
        cdef Kept* z
        cdef int[::1] start, who
        cdef double[::1] value
        start, who, value = self.by_column(rows)
        H, G = np.zeros((n, columns)), np.zeros((p + n, n))
        cdef double[:, ::1] h = H, g = G
        with nogil:
            for i in range(n if columns else 0):
                z = &rows.rows[i]
                add_lines(columns, z.n, z.value, z.index, self.basis.data + self.rank, self.rank, &h[i, 0])
            for i in range(p + n):
                z = &self.pending.rows[i] if i < p else &rows.rows[i - p]
                for j in range(z.n):
                    e = start[z.index[j]]
                    add_column(&who[0] + e, &value[0] + e, start[z.index[j] + 1] - e, z.value[j], &g[i, 0])
        return H, G[:p], G[p:]

    def dense(self, Reservoir rows):
        cdef Py_ssize_t i, j
        cdef Kept* z
        C = np.zeros((rows.n, self.used))
        cdef double[:, ::1] out = C
        for i in range(rows.n):
            z = &rows.rows[i]
            for j in range(z.n):
                out[i, z.index[j]] = z.value[j]
        return C

    # ---- rows with gaps

    def imputed(self, C):
        """Rows with their gaps filled: x_h = V_h diag(s) z, z the shortest solution of V_o diag(s) z = x_o."""
        if not np.isnan(C).any():
            return C
        V = self.directions() * self.values()
        C = C.copy()
        for x in C:
            h = np.isnan(x)
            if not h.any():
                continue
            z = np.zeros(V.shape[1])
            if V.shape[1] and not h.all():
                z = np.linalg.pinv(V[~h], rcond=1e-10) @ x[~h]
            x[h] = np.clip(V[h] @ z, -LIMIT, LIMIT)    # a column all but 0 in V may ask for more than can be squared
        return C

    # ---- rows that change

    def revise(self, Py_ssize_t i, x, double age):
        """Row i becomes x, in all places that are used; what it had was worth `age` of it."""
        self.collapse()
        V, s, U = self.directions(), self.values(), self.U
        a = np.zeros(len(U))
        a[i] = 1
        b = age * x - V @ (U[i] * s)
        Q, R = np.linalg.qr(np.column_stack([V, b]))
        P, S = np.linalg.qr(np.column_stack([U, a]))
        middle = np.diag(np.append(s, 1.0))
        left, s, right = np.linalg.svd(R @ middle @ S.T, full_matrices=False)
        kept = self.kept(s)
        U = P @ right[:kept].T
        if not x.any():
            U[i] = 0
        self.become(Q @ left[:, :kept], s[:kept], U)

    # ---- features that come with values of all rows

    def widen(self, C, Py_ssize_t first):
        """A column each of C, of all rows so far, for the features from `first` on, of which no row has had any."""
        self.collapse()
        V, s, U = self.directions(), self.values(), self.U
        Q, R = np.linalg.qr(np.column_stack([U, C]))
        left, s, right = np.linalg.svd(R * np.append(s, np.ones(C.shape[1])), full_matrices=False)
        kept = self.kept(s)
        between = np.zeros((first - len(V), kept))
        whole = np.vstack([V @ right[:kept, :self.k].T, between, right[:kept, self.k:].T])
        self.used = first + C.shape[1]
        self.become(whole, s[:kept], Q @ left[:, :kept])

    # ---- state

    def state(self):
        cdef Py_ssize_t rows = self.columns + self.pending.n
        T = np.asarray(<double[:rows, :self.stride]> self.T)[:, :self.k].copy() if rows else np.zeros((0, self.k))
        all_rows = np.asarray(<double[:self.basis.rows, :self.rank]> self.basis.data)
        state = {"B": all_rows[1:, :self.columns].copy(), "T": T, "s": self.values(), "used": self.used,
                 "steps": self.steps}
        state |= {f"pending_{name}": array for name, array in self.pending.state().items()}
        if self.keep_left:
            state |= {"U": self.U.copy(), "R": self.R.copy()}
        return state

    def restore(self, state, Py_ssize_t t):
        """The reverse of `state`, on a new subspace; its rows are among t."""
        cdef Py_ssize_t i, a, rows, k
        B, T, s = numbers(state["B"]), numbers(state["T"]), numbers(state["s"])
        k, used, steps = len(s), int(state["used"]), int(state["steps"])
        pending = Reservoir(self.most + 1)
        pending.restore({name: state[f"pending_{name}"] for name in ("start", "index", "value")}, used, 4 * LIMIT)
        rows = B.shape[1] + pending.n
        # Room is for `most` pending rows and `rank` directions, and each step adds a pending row at most.
        if not pending.n <= steps <= min(self.most, t):
            raise ModelError(f"{pending.n} pending rows after {steps} steps of {t} rows; the most are {self.most}")
        if k > min(self.rank, rows) or B.shape[1] > self.rank or T.shape != (rows, k):
            raise ModelError("the directions of an SVD do not fit together, or are more than its rank")
        if steps == 0 and (k != rows or (T != np.eye(k)).any()):
            raise ModelError("without steps the directions of an SVD must be those of its basis")
        if (s <= 0).any() or (np.diff(s) > 0).any() or s.max(initial=0) > 4 * LIMIT * sqrt(<double> t * max(used, 1)):
            raise ModelError("the singular values do not descend, or are beyond those of rows within the limit")
        if not 0 <= used <= len(B) or B[used:].any():
            raise ModelError("there are directions along features that have not been seen")
        if self.keep_left:
            self.restore_left(numbers(state["U"]), numbers(state["R"]), k, steps, t)
        self.grow(len(B) + 1)
        if resize(<void**> &self.T, max(rows, 1) * self.stride, sizeof(double)) < 0:
            raise MemoryError(f"no memory for {rows} directions")
        np.asarray(<double[:self.basis.rows, :self.rank]> self.basis.data)[1:len(B) + 1, :B.shape[1]] = B
        cdef const double[:, ::1] T_view = T
        cdef const double[::1] s_view = s
        for a in range(rows):
            for i in range(k):
                self.T[a * self.stride + i] = T_view[a, i]
        for i in range(k):
            self.s[i] = s_view[i]
        self.pending, self.k, self.columns, self.used, self.steps = pending, k, B.shape[1], used, steps
        # Rows in these directions are no longer than they were, so that no sum of them overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.concatenate([np.ones(B.shape[1]), [sqrt(pending.rows[i].norm2) for i in range(pending.n)]])
            if not (lengths[:, None] * np.abs(T) <= 1e100).all():
                raise ModelError("the small matrix of an SVD has a number out of range")
            if not (orthonormal(B) and orthonormal(self.directions())):
                raise ModelError("the directions of an SVD are not orthonormal")

    def restore_left(self, U, R, k, steps, t):
        """U has the rows up to the last fold, R the turns of its columns and a line for each step since."""
        known = U.shape[1]
        if R.shape != (known + steps, k) or len(U) + steps > t:
            raise ModelError("the left vectors do not fit together")
        if steps == 0 and (R != np.eye(k)).any():
            raise ModelError("without steps the left vectors must be those of the last fold")
        if max(np.abs(U).max(initial=0), np.abs(R).max(initial=0)) > 1 + 1e-6:
            raise ModelError("a left vector is longer than 1")
        self.U, self.R = U, R


cdef inline void add_column(const int* who, const double* value, Py_ssize_t n, double v, double* out) noexcept nogil:
    """out[who] += v value."""
    cdef Py_ssize_t e
    for e in range(n):
        out[who[e]] += v * value[e]


cdef void spread_row(const Kept* z, const double* t, Py_ssize_t n, Py_ssize_t stride, double* out) noexcept nogil:
    """out_j += z_j t for each column j of a row."""
    cdef Py_ssize_t i, a
    cdef double* o
    cdef double v
    for i in range(z.n):
        o, v = out + z.index[i] * stride, z.value[i]
        for a in range(n):
            o[a] += v * t[a]


def orthonormal(V):
    """Whether the columns are, but for what rounding adds up to."""
    return bool((np.abs(V.T @ V - np.eye(V.shape[1])) <= 1e-6).all())


def numbers(array):
    return np.ascontiguousarray(array, dtype=np.float64)


def orthogonal(V):
    """V, or where it is no longer orthogonal what is nearest to it."""
    k = V.shape[1]
    return straightened(V) if crooked(np.sum((V @ looks(k)) ** 2, axis=0), k) else V


def looks(k):
    """Two sums of k columns, which are far cheaper than all products of these."""
    return np.column_stack([np.ones(k), np.resize([1.0, -1.0], k)])


def crooked(squares, k):
    """Whether the squared lengths of these sums say that the columns are no longer orthogonal."""
    return bool((abs(squares - k) > 1e-13 * k).any())


def straightened(V):
    """What is nearest to V (a step of Newton and Schulz)."""
    return V @ (1.5 * np.eye(V.shape[1]) - 0.5 * (V.T @ V))
