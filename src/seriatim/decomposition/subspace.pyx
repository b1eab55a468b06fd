"""The SVD of a matrix whose rows arrive one by one, or in blocks (Brand, 2002, 2003, 2006).

X ~ U diag(s) V' with at most `rank` values. V = [B, P'] T, where B is a large basis that seldom changes, P holds the
few vectors that arrived since B was made (most are rows, and as sparse), and T is small and changes with every row. A
row costs O(non-zeros (rank + |P|) + rank^3), without a pass over the features. The exception is a row within a tenth
of its norm of the space: only its computed residual is accurate.

Every 2 rank + 16 rows (with blocks: every 4 blocks or 16 rank rows, whichever is more) B becomes V, T the identity, and
P empty. This costs the used features times rank^2; per row, about half of features times rank.
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
from seriatim.decomposition.sparse_rows cimport SparseColumns, dense

from seriatim.core.rows import LIMIT
from seriatim.decomposition.orthogonal import crooked, numbers, orthogonal, orthonormal, probes, straightened
from seriatim.errors import ModelError

cdef extern from "simd.h":
    void add_lines(Py_ssize_t n, Py_ssize_t lines, const double* a, const int* which, const double* X, Py_ssize_t width,
                   double* out) noexcept nogil

cdef double NEAR = 1e-2          # below this |rest|^2 / |x|^2, |x|^2 - |V'x|^2 loses too many digits
cdef double SMALL = 1e-15        # a relative norm that is rounding
CHUNK = 512                      # rows of B that are multiplied at a time
WELL = 1e-5                      # s_k^2 / s_1^2 from which the products of the rows suffice for an SVD
cdef Py_ssize_t LARGE = 30_000   # multiplications from which calling BLAS is faster


cdef class Subspace:
    """At most `rank` directions, each with a singular value above threshold times the largest."""

    def __cinit__(self, Py_ssize_t rank, double threshold, Py_ssize_t block=0, bint keep_left=False):
        self.rank, self.threshold, self.keep_left = rank, threshold, keep_left
        self.most = 2 * rank + 16 if block == 0 else max(4 * block, 16 * rank)
        self.stride = rank + 1
        self.basis = Table((("V", 0.0, False),), rank)
        self.pending = Reservoir(self.most + 1)
        self.arrowhead = Arrowhead()
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
        """The last column with a non-zero value, plus 1."""
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

    cdef void scatter(self, const Row* x, bint clear) noexcept nogil:
        """Write the values of a row, or zeros, to their features in `work`."""
        cdef Py_ssize_t i, column, known = self.basis.rows - 1
        for i in range(x.n):
            column = i if x.index == NULL else x.index[i]
            if column < known:
                self.work[column] = 0 if clear else x.value[i]

    cdef void coordinates(self, const double* x, Py_ssize_t n) noexcept nogil:
        """c = [B, P']'x for an array of n values."""
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
            self.scatter(x, False)
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
            self.scatter(x, True)
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
        """work = x - V m, for m = V'x. Returns the squared norm, with the unknown columns of x."""
        cdef Py_ssize_t i, known = self.basis.rows - 1
        cdef double total = 0
        self.scatter(x, False)
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
        """Learn a row. Returns -1 after an error, for `raise_error`; then nothing has changed."""
        cdef Py_ssize_t i, n = self.k, rows, width, keep = 0
        cdef double rho, norm = sqrt(x.norm2)
        cdef bint in_work
        cdef int added = 0
        if self.steps >= self.most and self.fold() < 0:
            return -1
        if (self.arrowhead.reserve(n + 1) < 0
                or resize(<void**> &self.T, (self.columns + self.pending.n + 1) * self.stride, sizeof(double)) < 0):
            return -1
        width = self.width(x)
        self.project(x)
        for i in range(n):
            self.arrowhead.z[i] = self.m[i]
            self.arrowhead.d[i] = forgetting * self.s[i]
        self.used = max(self.used, width)    # B is 0 in these features
        rho = self.distance(x, &in_work)
        if rho > self.threshold * norm and rho > SMALL * norm:
            added = self.add_direction(x, rho, in_work)
            n += 1
        if in_work:
            memset(self.work, 0, self.basis.rows * sizeof(double))
        if added < 0:
            return -1
        self.arrowhead.solve(n, self.keep_left)
        for i in range(min(n, self.rank)):
            keep += (self.arrowhead.sigma[i] > self.threshold * self.arrowhead.sigma[0]
                     and self.arrowhead.sigma[i] > 1e-150)
        rows = self.columns + self.pending.n + (n - self.k)
        if self.keep_left and self.turn_left(n, self.k, keep) < 0:
            return -1
        if self.turn(n, rows, keep) < 0:
            self.turn_back()
            return -1
        self.pending.n += n - self.k
        self.k = keep
        memcpy(self.s, self.arrowhead.sigma, keep * sizeof(double))
        self.steps += 1
        return 0

    cdef double distance(self, const Row* x, bint* in_work) noexcept nogil:
        """rho = |x - V m| for m = V'x. If `in_work`, the residual was computed and is in `work`."""
        cdef Py_ssize_t i
        cdef double rest = x.norm2
        for i in range(self.k):
            rest -= self.m[i] * self.m[i]
        in_work[0] = 0 < x.norm2 and not rest > NEAR * x.norm2
        if in_work[0]:
            self.residual(x)
            self.coordinates(self.work, self.used)    # a second pass, else a short residual is not orthogonal
            self.gather()
            self.subtract()
            rest = 0
            for i in range(self.used):
                rest += self.work[i] * self.work[i]
        return sqrt(rest) if x.norm2 > 0 else 0

    cdef int add_direction(self, const Row* x, double rho, bint in_work) noexcept nogil:
        """Put (x - V m) / rho beside V: as a vector of its own if it is in `work`, else x with a column of T."""
        cdef Py_ssize_t i, n = self.k, rows
        cdef Row p
        self.arrowhead.z[n], self.arrowhead.d[n] = rho, 0
        if in_work:
            for i in range(self.used):
                self.work[i] /= rho
            p.index, p.value, p.n, p.constant, p.norm2 = NULL, self.work, self.used, 0, 1
        if self.pending.put(self.pending.n, &p if in_work else x) < 0:
            return -1
        rows = self.columns + self.pending.n
        if not in_work:
            self.spread()
        for i in range(rows):
            self.T[i * self.stride + n] = 0 if in_work else -self.c[i] / rho
        for i in range(n):
            self.T[rows * self.stride + i] = 0
        self.T[rows * self.stride + n] = 1 if in_work else 1 / rho
        return 0

    cdef int turn(self, Py_ssize_t n, Py_ssize_t rows, Py_ssize_t keep) noexcept nogil:
        """T <- the first `keep` columns of T left."""
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
                v, w = t[i], self.arrowhead.left + i * n
                if v != 0:
                    for j in range(keep):
                        self.m[j] += v * w[j]
            memcpy(t, self.m, keep * sizeof(double))
        return 0

    cdef int turn_large(self, Py_ssize_t n, Py_ssize_t rows, Py_ssize_t keep) noexcept with gil:
        try:
            T = np.asarray(<double[:rows, :self.stride]> self.T)
            T[:, :keep] = T[:, :n] @ np.asarray(<double[:n, :n]> self.arrowhead.left)[:, :keep]
        except BaseException as error:
            self.error = error
            return -1
        return 0

    cdef int turn_left(self, Py_ssize_t n, Py_ssize_t k, Py_ssize_t keep) noexcept with gil:
        """R <- [[R, 0], [0, 1]] right."""
        try:
            if n == 0:
                R = np.zeros((len(self.R) + 1, 0))
            else:
                right = np.asarray(<double[:n + 1, :n]> self.arrowhead.right)
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
        """Raise the error of a method that returned -1."""
        error, self.error = self.error, None
        raise MemoryError("no memory for another row of the decomposition") if error is None else error

    # ---- the basis

    def directions(self):
        """V, over the used features."""
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
        """A view of B, over the used features."""
        rows = np.asarray(<double[:self.basis.rows, :self.rank]> self.basis.data)
        return rows[1:self.used + 1, :self.columns]

    def collapse(self):
        """B becomes V, repaired if it is no longer orthogonal, T the identity, and P empty."""
        if self.pending.n == 0 and self.steps == 0:
            return
        U = self.left() if self.keep_left else None
        if self.k > self.columns or self.k == 0 or self.used == 0:
            self.become(orthogonal(self.directions()), self.values(), U)
            return
        cdef Py_ssize_t first, k = self.k, rows = self.columns + self.pending.n
        T = np.array(<double[:rows, :self.stride]> self.T)[:, :k]
        cdef SparseColumns pending = SparseColumns(self.pending, self.used)
        cdef int[::1] start = pending.start
        cdef Py_ssize_t i, stop
        cdef double[:, ::1] out = np.empty((CHUNK, k))
        B, room, sums, norms2 = self.B(), np.asarray(out), probes(k), 0
        for first in range(0, self.used, CHUNK):    # in place, in chunks that fit the cache
            stop = min(first + CHUNK, self.used)
            np.matmul(B[first:stop], T[:self.columns], out=room[:stop - first])
            with nogil:
                for i in range(first, stop):
                    add_lines(k, start[i + 1] - start[i], &pending.value[0] + start[i], &pending.row[0] + start[i],
                              self.T + self.columns * self.stride, self.stride, &out[i - first, 0])
            B[first:stop, :k] = room[:stop - first]
            B[first:stop, k:] = 0
            norms2 = norms2 + np.sum((room[:stop - first] @ sums) ** 2, axis=0)
        self.settle(k, U)    # before the repair, which may lack memory
        if crooked(norms2, k):
            B[:, :k] = straightened(B[:, :k])

    def become(self, V, s, U):
        """Replace the directions over the used features, their values, and the left vectors."""
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
        """B is V: reset T and P."""
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
        """The left vectors, one row for each learned row."""
        known = self.U.shape[1]
        return np.vstack([self.U @ self.R[:known], self.R[known:]])

    # ---- many rows

    def merge(self, Reservoir rows, double forgetting, bint missing=False):
        """Learn a block of rows: the SVD of [diag(s) V'; C], with C times 1, f, f^2, ... from the newest row back.

        If no value is small, the products of the rows with each other and with V suffice; else it takes a QR.
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
            C = dense(rows, self.used)
            self.merge_dense(self.imputed(C) if missing else C, s, ages)
        elif not self.merge_by_products(rows, None, s, ages):
            self.collapse()
            self.merge_by_rows(dense(rows, self.used), s, ages)

    def merge_dense(self, C, s, ages):
        """Learn rows in an array over the used features, after `collapse`."""
        if len(C) + self.k > self.used or not self.merge_by_products(None, C, s, ages):
            self.merge_by_rows(C, s, ages)

    def merge_by_rows(self, C, s, ages):
        """The SVD from a QR of [V, C']."""
        V = self.directions()
        Q, R = np.linalg.qr(np.column_stack([V, C.T]))
        left, s, right = np.linalg.svd(R * np.concatenate([s, ages]), full_matrices=False)
        kept = self.kept(s)
        U = self.left_with(len(C), right[:kept].T)
        self.become(Q @ left[:, :kept], s[:kept], U)

    def left_with(self, Py_ssize_t rows, right):
        """blockdiag(U, I) right, with I for the new rows."""
        if not self.keep_left:
            return None
        U = self.left()
        return np.vstack([U @ right[:U.shape[1]], right[U.shape[1]:]])

    def kept(self, s):
        """The number of descending values that are kept."""
        return int(np.count_nonzero(s[:self.rank] > max(self.threshold * s.max(initial=0), 1e-150)))

    def merge_by_products(self, Reservoir rows, C, s, ages):
        """The SVD from the products of the rows. Returns False if a kept value is too small for it."""
        cdef Py_ssize_t k = self.k, n = rows.n if C is None else len(C)
        T = np.asarray(<double[:self.columns + self.pending.n, :self.stride]> self.T)[:, :k] if k else np.zeros((0, 0))
        if C is None:
            if self.pending.n + n > self.most:
                self.collapse()
                T = np.eye(k)
            columns = SparseColumns(rows, self.used)
            H, P, G = self.products_with_B(rows), columns.products(self.pending, n), columns.products(rows, n)
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
        """Append the rows of a block to P, and replace T and s."""
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

    def products_with_B(self, Reservoir rows):
        cdef Py_ssize_t i
        cdef Kept* z
        H = np.zeros((rows.n, self.columns))
        cdef double[:, ::1] h = H
        with nogil:
            for i in range(rows.n if self.columns else 0):
                z = &rows.rows[i]
                add_lines(self.columns, z.n, z.value, z.index, self.basis.data + self.rank, self.rank, &h[i, 0])
        return H

    # ---- missing values

    def imputed(self, C):
        """Impute NaN: x_h = V_h diag(s) z for the shortest solution z of V_o diag(s) z = x_o."""
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
            x[h] = np.clip(V[h] @ z, -LIMIT, LIMIT)    # a column near 0 in V may overflow
        return C

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
        """The reverse of `state`, on a new subspace that has learned t rows."""
        cdef Py_ssize_t i, a, rows, k
        B, T, s = numbers(state["B"]), numbers(state["T"]), numbers(state["s"])
        k, used, steps = len(s), int(state["used"]), int(state["steps"])
        pending = Reservoir(self.most + 1)
        pending.restore({name: state[f"pending_{name}"] for name in ("start", "index", "value")}, used, 4 * LIMIT)
        rows = B.shape[1] + pending.n
        # There is memory for `most` pending rows and `rank` directions; a step adds at most one pending row.
        if not pending.n <= steps <= min(self.most, t):
            raise ModelError(f"{pending.n} pending rows after {steps} steps of {t} rows; at most {self.most} are valid")
        if k > min(self.rank, rows) or B.shape[1] > self.rank or T.shape != (rows, k):
            raise ModelError("the directions of an SVD have inconsistent shapes, or are more than its rank")
        if steps == 0 and (k != rows or (T != np.eye(k)).any()):
            raise ModelError("an SVD without steps must have the directions of its basis")
        if (s <= 0).any() or (np.diff(s) > 0).any() or s.max(initial=0) > 4 * LIMIT * sqrt(<double> t * max(used, 1)):
            raise ModelError("the singular values do not descend, or exceed those of rows within the limit")
        if not 0 <= used <= len(B) or B[used:].any():
            raise ModelError("an SVD has directions along features that no row has had")
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
        # Rows have at most their own norm in these directions, so no sum overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.concatenate([np.ones(B.shape[1]), [sqrt(pending.rows[i].norm2) for i in range(pending.n)]])
            if not (lengths[:, None] * np.abs(T) <= 1e100).all():
                raise ModelError("the small matrix of an SVD has a number out of range")
            if not (orthonormal(B) and orthonormal(self.directions())):
                raise ModelError("the directions of an SVD are not orthonormal")

    def restore_left(self, U, R, k, steps, t):
        """U has the rows up to the last `collapse`; R mixes its columns and has one more row for each step since."""
        known = U.shape[1]
        if R.shape != (known + steps, k) or len(U) + steps > t:
            raise ModelError("the left vectors have inconsistent shapes")
        if steps == 0 and (R != np.eye(k)).any():
            raise ModelError("an SVD without steps must have R = I")
        if max(np.abs(U).max(initial=0), np.abs(R).max(initial=0)) > 1 + 1e-6:
            raise ModelError("a left vector has a norm above 1")
        self.U, self.R = U, R


cdef void spread_row(const Kept* z, const double* t, Py_ssize_t n, Py_ssize_t stride, double* out) noexcept nogil:
    """out_j += z_j t for each column j of the row."""
    cdef Py_ssize_t i, a
    cdef double* o
    cdef double v
    for i in range(z.n):
        o, v = out + z.index[i] * stride, z.value[i]
        for a in range(n):
            o[a] += v * t[a]
