"""Singular value decomposition of the table of ratings, updated by each rating."""

cimport cython
from libc.math cimport fabs, log10, sqrt

import numpy as np

from seriatim.recommend.ratings cimport Grid, RatingLearner

from seriatim.errors import ModelError
from seriatim.parameters import Number
from seriatim.recommend.base import Recommender

cdef double THRESHOLD = 1e-10    # relative to the first singular value: less is rounding
cdef double INSIDE = 1e-12       # squared norm: less is not a new direction
cdef double SAFE = 1e-4          # ratio of the pivots: a rotation nearer to singular is multiplied out
cdef double CLOSE = 1e-4         # norm outside of a basis: for less, the basis must first be orthonormal up to rounding
cdef double STRAIGHT = 1e-12     # product of two columns of a basis: less is rounding


cdef enum:
    SWEEPS = 60


cdef void rotate(double* p, double* q, double cosine, double sine, Py_ssize_t n) noexcept nogil:
    """Rotate two columns in the plane that they span."""
    cdef Py_ssize_t k
    cdef double x
    for k in range(n):
        x = p[k]
        p[k] = cosine * x - sine * q[k]
        q[k] = sine * x + cosine * q[k]


cdef bint sweep(double* A, double* V, double* s, double least, Py_ssize_t n) noexcept nogil:
    """Rotate each pair of columns of A until they are orthogonal. s: squared norms. Returns whether a pair was not."""
    cdef Py_ssize_t i, j, k
    cdef double a, b, c, t, zeta, cosine
    cdef bint turned = False
    cdef const double* p
    cdef const double* q
    for i in range(n - 1):
        for j in range(i + 1, n):
            p, q, c = A + i * n, A + j * n, 0
            for k in range(n):
                c += p[k] * q[k]
            a, b = s[i], s[j]
            if c * c <= 1e-30 * a * b or a <= least or b <= least:    # orthogonal, or one of them is rounding
                continue
            turned = True
            zeta = (b - a) / (2 * c)
            t = (1 if zeta >= 0 else -1) / (fabs(zeta) + sqrt(1 + zeta * zeta))
            cosine = 1 / sqrt(1 + t * t)
            rotate(A + i * n, A + j * n, cosine, cosine * t, n)
            rotate(V + i * n, V + j * n, cosine, cosine * t, n)
            s[i], s[j] = a - t * c, b + t * c
    return turned


cdef double squared_norm(const double* p, Py_ssize_t n) noexcept nogil:
    cdef double a = 0
    cdef Py_ssize_t k
    for k in range(n):
        a += p[k] * p[k]
    return a


cdef int small_svd(double* A, double* V, double* s, Py_ssize_t n) noexcept nogil:
    """A = U diag(s) V' by one-sided Jacobi rotations (Hestenes, 1958), s descending. Needs no interpreter, no LAPACK.

    Matrices are stored by columns: column j begins at j n. A becomes U. Columns of U are arbitrary where s is below
    1e-14 of the first. Returns the number of sweeps.
    """
    cdef Py_ssize_t i, j, k, sweeps = 0, best
    cdef double least
    cdef bint turned = True
    for j in range(n):
        for k in range(n):
            V[j * n + k] = j == k
    while turned and sweeps < SWEEPS:
        sweeps += 1
        least = 0
        for j in range(n):            # each sweep computes the norms again: the updates within it collect rounding
            s[j] = squared_norm(A + j * n, n)
            least = max(least, 1e-28 * s[j])
        turned = sweep(A, V, s, least, n)
    for j in range(n):
        s[j] = sqrt(squared_norm(A + j * n, n))
        for k in range(n):
            A[j * n + k] = A[j * n + k] / s[j] if s[j] > 0 else 0
    for i in range(n - 1):            # n is small, and the values are nearly in order
        best = i
        for j in range(i + 1, n):
            if s[j] > s[best]:
                best = j
        if best != i:
            s[i], s[best] = s[best], s[i]
            for k in range(n):
                A[i * n + k], A[best * n + k] = A[best * n + k], A[i * n + k]
                V[i * n + k], V[best * n + k] = V[best * n + k], V[i * n + k]
    return <int> sweeps


def svd(matrix):
    """(U, s, V') of a square matrix, for tests.

    >>> svd(np.diag([1.0, 3.0]))[1].tolist()
    [3.0, 1.0]
    """
    cdef double[:, ::1] left = np.ascontiguousarray(np.asarray(matrix, dtype=np.float64).T).copy()
    cdef Py_ssize_t n = left.shape[0]
    if left.shape[1] != n or n == 0:
        raise ValueError(f"a matrix of {left.shape[1]} x {n}; expected a square one")
    cdef double[:, ::1] right = np.empty((n, n))
    cdef double[::1] s = np.empty(n)
    small_svd(&left[0, 0], &right[0, 0], &s[0], n)
    return np.asarray(left).T.copy(), np.asarray(s), np.asarray(right)


@cython.boundscheck(False)
@cython.wraparound(False)
cdef class Side:
    """An orthonormal basis Z T with a row for each user, or each item. T is small and collects the rotations.

    A rating changes one row of Z; all other rows change through T only (Brand, 2006).
    """

    cdef Grid Z, sums                # sums: of the residuals of each row, and their number
    cdef double[:, ::1] T, M, L      # L and M: scratch
    cdef double[::1] row, tail, x    # a row of the basis; what a rotation adds to it; the same in terms of Z
    cdef Py_ssize_t[::1] order
    cdef double beyond               # the norm of the part of a unit vector outside of the basis
    cdef double magnified            # the factor by which the last rotation may have magnified errors of orthogonality

    def __init__(self, Py_ssize_t rank):
        self.Z, self.sums = Grid(rank), Grid(2)
        self.T, self.M, self.L = np.zeros((rank, rank)), np.zeros((rank, rank)), np.zeros((rank, rank))
        self.row, self.tail, self.x = np.zeros(rank + 1), np.zeros(rank), np.zeros(rank)
        self.order = np.zeros(rank, np.intp)

    cdef int grow(self, Py_ssize_t rows) except -1:
        self.Z.grow(rows)
        self.sums.grow(rows)
        return 0

    cdef double bias(self, Py_ssize_t a, double damping) noexcept nogil:
        cdef const double* mine
        if a < 0:
            return 0
        mine = self.sums.data + 2 * a
        return mine[0] / (mine[1] + damping)

    cdef double centre(self, Py_ssize_t a, double d, double damping) noexcept nogil:
        """Add a residual to the bias; returns the residual less the bias."""
        cdef double* mine = self.sums.data + 2 * a
        mine[0] += d
        mine[1] += 1
        return d - self.bias(a, damping)

    cdef void look(self, Py_ssize_t a, Py_ssize_t r) noexcept nogil:
        """row = row a of the basis; beyond = the norm of the part of the unit vector e_a outside of the basis."""
        cdef Py_ssize_t i, j
        cdef const double* z = self.Z.data + a * self.Z.width
        cdef double x, square = 0
        for j in range(r):
            x = 0
            for i in range(r):
                x += z[i] * self.T[i, j]
            self.row[j] = x
            square += x * x
        self.beyond = sqrt(1 - square) if square < 1 - INSIDE else 0
        self.row[r] = self.beyond

    cdef void turn(self, Py_ssize_t a, const double* left, Py_ssize_t r, Py_ssize_t new,
                   Py_ssize_t rows) noexcept nogil:
        """Replace U by the first `new` columns of (U, p) left, where p is the direction of e_a outside of the basis U.

        With p = (e_a - U m) / |p|, the result is U (left - m tail') + e_a tail', tail = the last row of left over |p|.
        Only row a of Z changes, by tail (T (left - m tail'))^-1.
        """
        cdef Py_ssize_t i, j, k, n = r + 1
        cdef double x, m
        cdef double* z
        self.magnified = 0
        for j in range(new):
            self.tail[j] = left[j * n + r] / self.beyond if self.beyond > 0 else 0
            self.magnified = max(self.magnified, self.tail[j] ** 2)
        for i in range(r):
            m = 0
            for k in range(r):
                m += self.T[i, k] * self.row[k]
            for j in range(new):
                x = 0
                for k in range(r):
                    x += self.T[i, k] * left[j * n + k]
                self.M[i, j] = x - m * self.tail[j]
        if new == r and self.solve(r):
            z = self.Z.data + a * self.Z.width
            for i in range(r):
                z[i] += self.x[i]
                for j in range(r):
                    self.T[i, j] = self.M[i, j]
            return
        self.multiply(rows, r, new)
        z = self.Z.data + a * self.Z.width
        for j in range(new):
            z[j] += self.tail[j]

    cdef void multiply(self, Py_ssize_t rows, Py_ssize_t r, Py_ssize_t new) noexcept nogil:
        """Z <- Z M, T <- I."""
        cdef Py_ssize_t a, i, j
        cdef double x
        cdef double* z
        for a in range(rows):
            z = self.Z.data + a * self.Z.width
            for j in range(new):
                x = 0
                for i in range(r):
                    x += z[i] * self.M[i, j]
                self.x[j] = x
            for j in range(self.Z.width):
                z[j] = self.x[j] if j < new else 0
        for i in range(self.Z.width):
            for j in range(self.Z.width):
                self.T[i, j] = 1 if i == j and i < new else 0

    cdef void straighten(self, Py_ssize_t rows, Py_ssize_t r) noexcept nogil:
        """Z <- Z T, T <- I; then make the columns orthonormal again: G = Z'Z, Z <- Z (3 I - G) / 2.

        Each such step (Newton and Schulz) squares the distance of G from I.
        """
        cdef Py_ssize_t a, i, j, step = 0
        cdef const double* z
        cdef double distance = 1
        self.M[:, :] = self.T
        self.multiply(rows, r, r)
        while distance > STRAIGHT and step < 10:
            step += 1
            for i in range(r):
                for j in range(r):
                    self.M[i, j] = 1.5 if i == j else 0
            for a in range(rows):
                z = self.Z.data + a * self.Z.width
                for i in range(r):
                    for j in range(r):
                        self.M[i, j] -= 0.5 * z[i] * z[j]
            distance = 0
            for i in range(r):
                for j in range(r):
                    distance = max(distance, fabs(self.M[i, j] - (1 if i == j else 0)))
            self.multiply(rows, r, r)

    cdef bint solve(self, Py_ssize_t r) noexcept nogil:
        """Solve x M = tail by Gaussian elimination with pivots. False if M is nearly singular."""
        cdef Py_ssize_t i, j, k, best
        cdef double largest = 0, smallest = 1e300, f
        for i in range(r):                # M' x' = tail'
            for j in range(r):
                self.L[i, j] = self.M[j, i]
            self.x[i] = self.tail[i]
        for k in range(r):
            best = k
            for i in range(k + 1, r):
                if fabs(self.L[i, k]) > fabs(self.L[best, k]):
                    best = i
            f = fabs(self.L[best, k])
            largest, smallest = max(largest, f), min(smallest, f)
            if not smallest > SAFE * largest:
                return False
            if best != k:
                for j in range(k, r):
                    self.L[k, j], self.L[best, j] = self.L[best, j], self.L[k, j]
                self.x[k], self.x[best] = self.x[best], self.x[k]
            for i in range(k + 1, r):
                f = self.L[i, k] / self.L[k, k]
                if f != 0:
                    for j in range(k + 1, r):
                        self.L[i, j] -= f * self.L[k, j]
                    self.x[i] -= f * self.x[k]
        for k in range(r - 1, -1, -1):
            for j in range(k + 1, r):
                self.x[k] -= self.L[k, j] * self.x[j]
            self.x[k] /= self.L[k, k]
        return True

    def basis(self, Py_ssize_t rows, Py_ssize_t r):
        return self.Z.array(rows, 0, r) @ np.asarray(self.T)[:r, :r]


@cython.boundscheck(False)
@cython.wraparound(False)
cdef class SVDRecommenderLearner(RatingLearner):
    """U diag(s) V' of the residuals of all ratings. It fills the missing ratings by its own predictions."""

    NUMBERS = (*RatingLearner.NUMBERS, "total", "steps")

    cdef public double total         # the sum of the ratings
    cdef public Py_ssize_t steps     # since the bases were made orthonormal
    cdef readonly Py_ssize_t r       # the number of singular values
    cdef Py_ssize_t rank
    cdef double damping
    cdef Side U, V
    cdef double[::1] s, values, left, right

    def __init__(self, model):
        RatingLearner.__init__(self, model.low, model.high)
        self.rank, self.damping = model.rank, model.damping
        self.U, self.V = Side(self.rank), Side(self.rank)
        self.s, self.values = np.zeros(self.rank), np.zeros(self.rank + 1)
        self.left, self.right = np.zeros((self.rank + 1) ** 2), np.zeros((self.rank + 1) ** 2)

    cdef int grow(self, Py_ssize_t users, Py_ssize_t items) except -1:
        self.U.grow(users)
        self.V.grow(items)
        return 0

    cdef double entry(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """One entry of the table of residuals."""
        cdef Py_ssize_t j
        cdef double x = 0
        self.U.look(a, self.r)
        self.V.look(b, self.r)
        for j in range(self.r):
            x += self.U.row[j] * self.s[j] * self.V.row[j]
        return x

    cdef double predict(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef double x = self.total / self.t if self.t else (self.low + self.high) / 2
        x += self.U.bias(a, self.damping) + self.V.bias(b, self.damping)
        if a >= 0 and b >= 0:
            x += self.entry(a, b)
        return min(max(x, self.low), self.high)

    cdef void learn(self, Py_ssize_t a, Py_ssize_t b, double rating) noexcept nogil:
        cdef double d
        self.total += rating
        d = self.V.centre(b, rating - self.total / (self.t + 1), self.damping)
        d = self.U.centre(a, d, self.damping)
        self.revise(a, b, d - self.entry(a, b))
        self.rated.add(a, <int> b)

    cdef void revise(self, Py_ssize_t a, Py_ssize_t b, double change) noexcept nogil:
        """The decomposition of U diag(s) V' + change e_a e_b', truncated to the rank (Brand, equations 2 to 4).

        K = diag(s, 0) + change (m, |p|)(n, |q|)', where m and n are the rows of the bases that `entry` has computed.
        """
        cdef Py_ssize_t i, j, new = 0, n = self.r + 1
        if self.steps and (0 < self.U.beyond < CLOSE or 0 < self.V.beyond < CLOSE):
            self.straighten()
            self.U.look(a, self.r)
            self.V.look(b, self.r)
        for j in range(n):
            for i in range(n):
                self.left[j * n + i] = change * self.U.row[i] * self.V.row[j] + (self.s[i] if i == j < self.r else 0)
        small_svd(&self.left[0], &self.right[0], &self.values[0], n)
        while new < min(n, self.rank) and self.values[new] > THRESHOLD * self.values[0]:
            new += 1
        self.U.turn(a, &self.left[0], self.r, new, self.users)
        self.V.turn(b, &self.right[0], self.r, new, self.items)
        for j in range(self.rank):
            self.s[j] = self.values[j] if j < new else 0
        self.r = new
        self.count(max(self.U.magnified, self.V.magnified))

    cdef void count(self, double magnified) noexcept nogil:
        """Count a step. After as many steps as rows, make the bases orthonormal again: that costs as much as the steps.

        Steps that magnify errors count more: a factor of 10^4 in all is the limit.
        """
        cdef Py_ssize_t rows = self.users + self.items
        self.steps += 1
        if magnified > 4:
            self.steps += <Py_ssize_t> (rows * min(0.25 * log10(magnified), 1.0))
        if self.steps >= rows:
            self.straighten()

    cdef void straighten(self) noexcept nogil:
        self.U.straighten(self.users, self.r)
        self.V.straighten(self.items, self.r)
        self.steps = 0

    def factors(self, bint side):
        part, rows = (self.V, self.items) if side else (self.U, self.users)
        return (<Side> part).basis(rows, self.r) * np.sqrt(np.asarray(self.s)[:self.r])

    def singular_values(self):
        return np.array(self.s[:self.r])

    def bias(self, bint side):
        part, rows = (self.V, self.items) if side else (self.U, self.users)
        sums = (<Side> part).sums.array(rows, 0, 2)
        return sums[:, 0] / (sums[:, 1] + self.damping)

    def sides(self):
        return {"user": (self.U, self.users), "item": (self.V, self.items)}

    def arrays(self):
        parts = {"singular_values": self.singular_values()}
        for name, (side, rows) in self.sides().items():
            parts[f"{name}_basis"] = (<Side> side).Z.array(rows, 0, self.r)
            parts[f"{name}_turn"] = np.array((<Side> side).T[:self.r, :self.r])
            parts[f"{name}_sums"] = (<Side> side).sums.array(rows, 0, 2)
        return parts

    def restore_arrays(self, state):
        s = state["singular_values"]
        self.r = len(s)
        if self.r > self.rank or not (s > 0).all() or (np.diff(s) > 0).any() or np.max(s, initial=0) > 1e50:
            raise ModelError(f"expected at most {self.rank} positive singular values in descending order")
        np.asarray(self.s)[:self.r] = s
        if not 0 <= self.steps < max(self.users + self.items, 1):
            raise ModelError(f"{self.steps} steps of {self.users} users and {self.items} items")
        if not self.low * self.t - 1e-6 * abs(self.total) <= self.total <= self.high * self.t + 1e-6 * abs(self.total):
            raise ModelError(f"ratings with the sum {self.total} in {self.t} rounds")
        for name, (side, rows) in self.sides().items():
            self.restore_side(name, side, rows, state)

    def restore_side(self, name, Side side, Py_ssize_t rows, state):
        turn, sums = state[f"{name}_turn"], state[f"{name}_sums"]
        if turn.shape != (self.r, self.r):
            raise ModelError(f"{name}_turn has the shape {turn.shape}; expected {(self.r, self.r)}")
        if np.abs(turn).max(initial=0) > 1e50:
            raise ModelError(f"{name}_turn has a number beyond +-1e50")
        side.Z.put(f"{name}_basis", state[f"{name}_basis"], rows, 0, self.r)
        side.sums.put(f"{name}_sums", sums, rows, 0, 2)
        if (sums[:, 1] % 1 != 0).any() or np.min(sums[:, 1], initial=1) < 1 or sums[:, 1].sum() != self.t:
            raise ModelError(f"{name}_sums has a number that is not a count of ratings")
        np.asarray(side.T)[:self.r, :self.r] = turn
        basis = side.basis(rows, self.r)
        if np.max(np.abs(basis), initial=0) > 2 or np.abs(basis.T @ basis - np.eye(self.r)).max(initial=0) > 1e-6:
            raise ModelError(f"the basis of the {name}s is not orthonormal")


class SVDRecommender(Recommender):
    """Truncated singular value decomposition of the table of ratings; it fills the missing ratings itself.

    Let mu be the mean of all ratings so far. The bias of an item is c_i = sum (rating - mu) / (n_i + damping), then the
    bias of a user is b_u = sum (rating - mu - c_i) / (n_u + damping). The sums include this rating, and each term is as
    it was when its rating came. The rating sets the entry x = U_u diag(s) V_i' of the completed table of residuals to
    d = rating - mu - b_u - c_i. This is a rank-one change (d - x) e_u e_i'. Of the new decomposition, the model stores
    the `rank` largest singular values, unless they are below 1e-10 of the first. Rows of new users and items are 0. A
    prediction is mu + b_u + c_i + U_u diag(s) V_i', clipped to the range. Without ratings, it is the middle of it.

    A small matrix collects the rotations of all rows. A rating then costs O(rank^3) instead of
    O((users + items) rank^2). The factors are U sqrt(s) and V sqrt(s). One pass fits every rating; a second one helps
    little.

    rank : the number of singular values, at least 1.
    damping : shrinks a bias to 0 like this many ratings with residual 0, at least 0.
    low, high : the range of the ratings. A rating outside of it is refused.

    >>> from seriatim import SVDRecommender
    >>> model = SVDRecommender(rank=2)
    >>> ratings = [("ann", "Alien", 5), ("ann", "Brazil", 1), ("bob", "Alien", 5), ("bob", "Brazil", 2)]
    >>> for user, item, rating in ratings:
    ...     model = model.learn_one(user, item, rating)
    >>> round(model.predict_one("ann", "Brazil"), 2), model.singular_values_.round(2).tolist()
    (1.12, [1.74, 0.78])

    Brand, Fast online SVD revisions for lightweight recommender systems, SDM 2003; Fast low-rank modifications of the
    thin singular value decomposition, Linear Algebra and its Applications 415, 2006.
    """

    family = "recommend"
    paper = "Brand 2003"
    fixed = (*Recommender.fixed, "damping")

    rank = Number(10, least=1, most=1 << 10, integer=True, positional=True)
    damping = Number(5.0, least=0.0)

    def build(self):
        return SVDRecommenderLearner(self)

    @property
    def singular_values_(self):
        """The singular values, in descending order."""
        with self._lock:
            return self._fitted().singular_values()

    @property
    def user_biases_(self):
        """The bias b of each of `users_`."""
        with self._lock:
            return self._fitted().bias(0)

    @property
    def item_biases_(self):
        """The bias c of each of `items_`."""
        with self._lock:
            return self._fitted().bias(1)
