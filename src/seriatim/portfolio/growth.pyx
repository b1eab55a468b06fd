"""The constant rebalanced portfolio with the largest growth on given days: the maximum of mean log b.x."""

from libc.math cimport INFINITY, fabs, fmax, fmin
from libc.string cimport memcpy, memset

import numpy as np

from seriatim.portfolio.days cimport dot
from seriatim.portfolio.simplex cimport factor, solve


cdef class Growth:
    """Newton's method on the few assets that the best portfolio holds. An asset enters when its gradient is too large.

    Let z_tj = x_tj/(b.x_t), and g_j its mean over the days. At the best b all g_j <= 1, with equality where b_j > 0.
    For any b, no portfolio grows by more than max g_j - 1 a day beyond b. `optimum` returns this gap.
    """

    cdef int reserve(self, Py_ssize_t m, Py_ssize_t n) except -1:
        """Make room for m assets and n days."""
        cdef double[::1] numbers
        cdef int[::1] places
        cdef Py_ssize_t room
        if m == self.m and n <= self.room:
            return 0
        room = max(n, 2 * self.room if m == self.m else 0, 64)
        numbers, places = np.empty(room * (2 * m + 2) + m * (m + 4)), np.empty(m, dtype=np.intc)
        self.kept, self.m, self.room = (numbers, places), m, room
        self.columns = &numbers[0]
        self.ratios = self.columns + m * room
        self.inverse = self.ratios + m * room
        self.moves = self.inverse + room
        self.gradient = self.moves + room
        self.at = self.gradient + m
        self.step = self.at + m
        self.ones = self.step + m
        self.hessian = self.ones + m
        self.places = &places[0]
        return 0

    cdef double optimum(
        self, const double* data, const Py_ssize_t* rows, Py_ssize_t n, double* b, double tolerance
    ) noexcept nogil:
        """b becomes the best portfolio for n rows of the data (the first n, or those listed). Returns the gap.

        The search starts from the assets that b holds, or from the best single asset if b holds all of them.
        """
        cdef Py_ssize_t j, k, enters, _turn
        cdef double gap = INFINITY, best, near = 1e-3, worst, share = 1.0 / n
        cdef bint held
        self.n = n
        self.start(data, rows, b)
        for _turn in range(20 * self.m + 50):
            worst = self.newton(near)
            self.sum_rows(data, rows)
            best, enters = 0, -1
            for j in range(self.m):
                if self.gradient[j] * share > best:
                    best, enters = self.gradient[j] * share, j
            gap = best - 1
            if gap <= tolerance and (self.s == 1 or worst <= tolerance):
                break
            held = False
            for k in range(self.s):
                held = held or self.places[k] == enters
            if held or gap <= tolerance:
                if near <= 0.1 * tolerance:    # rounding allows no more
                    break
                near = fmax(0.05 * tolerance, near * 1e-6)
                continue
            if gap < near or near > 0.01 * gap:
                near = fmax(0.05 * tolerance, 0.01 * gap)
            self.take(data, rows, enters, 0)
        memset(b, 0, self.m * sizeof(double))
        for k in range(self.s):
            b[self.places[k]] = self.at[k]
        return gap

    cdef void start(self, const double* data, const Py_ssize_t* rows, double* b) noexcept nogil:
        """Hold the assets of b, or the best single asset if b holds all of them."""
        cdef Py_ssize_t i, j, best = 0
        self.s = 0
        for j in range(self.m):
            self.s += b[j] > 0
        if self.s == self.m:
            for i in range(self.n):
                self.inverse[i] = 1
            self.sum_rows(data, rows)
            for j in range(self.m):
                b[j] = 0
                if self.gradient[j] > self.gradient[best]:
                    best = j
            b[best] = 1
        self.s = 0
        for j in range(self.m):
            if b[j] > 0:
                self.take(data, rows, j, b[j])

    cdef void take(self, const double* data, const Py_ssize_t* rows, Py_ssize_t j, double share) noexcept nogil:
        """Hold a share of asset j, too."""
        cdef Py_ssize_t i
        cdef double* column = self.columns + self.s * self.n
        self.places[self.s], self.at[self.s] = <int> j, share
        for i in range(self.n):
            column[i] = data[(rows[i] if rows != NULL else i) * self.m + j]
        self.s += 1

    cdef void sum_rows(self, const double* data, const Py_ssize_t* rows) noexcept nogil:
        """gradient = the sum of x/(b.x) over the days."""
        cdef Py_ssize_t i, j, m = self.m
        cdef double* out = self.gradient
        cdef const double* x
        cdef double scale
        memset(out, 0, m * sizeof(double))
        for i in range(self.n):
            x, scale = data + (rows[i] if rows != NULL else i) * m, self.inverse[i]
            for j in range(m):
                out[j] += scale * x[j]

    cdef double newton(self, double near) noexcept nogil:
        """Newton's steps among the assets that are held, until no slope exceeds `near`. Returns the largest slope."""
        cdef double worst = 0, slope
        cdef Py_ssize_t _turn
        for _turn in range(100):
            worst = self.slopes()
            if self.s == 1 or worst <= near:
                break
            slope = self.direction()
            if not slope > 1e-32:    # a smaller slope is rounding
                break
            self.go(slope)
        return worst

    cdef double slopes(self) noexcept nogil:
        """step = the mean of z - 1 for each asset that is held. Returns the largest of them in size.

        Steps keep the sum of b, so that the 1 makes no difference.
        """
        cdef Py_ssize_t i, k, n = self.n
        cdef double worst = 0, sum, share = 1.0 / n
        cdef double* inverse = self.inverse
        cdef const double* x
        cdef double* z
        memset(inverse, 0, n * sizeof(double))
        for k in range(self.s):
            x, share = self.columns + k * n, self.at[k]
            for i in range(n):
                inverse[i] += share * x[i]
        for i in range(n):
            inverse[i] = 1 / inverse[i]
        share = 1.0 / n
        for k in range(self.s):
            x, z, sum = self.columns + k * n, self.ratios + k * n, 0
            for i in range(n):
                z[i] = x[i] * inverse[i] - 1
                sum += z[i]
            self.step[k] = sum * share
            worst = fmax(worst, fabs(self.step[k]))
        return worst

    cdef double direction(self) noexcept nogil:
        """step = Newton's step with the sum 0. Returns its slope, or 0 if there is none."""
        cdef Py_ssize_t k
        cdef double sum = 0, ones = 0, lam, slope = 0
        if not self.curvature():
            return 0
        for k in range(self.s):
            self.ones[k], self.gradient[k] = 1, self.step[k]
        solve(self.hessian, self.s, self.ones)
        solve(self.hessian, self.s, self.step)
        for k in range(self.s):
            sum += self.step[k]
            ones += self.ones[k]
        lam = sum / ones
        for k in range(self.s):
            self.step[k] -= lam * self.ones[k]
            slope += self.step[k] * self.gradient[k]
        return slope

    cdef bint curvature(self) noexcept nogil:
        """hessian = the Cholesky factor of mean z z' + ridge 1 1'; False where it has none.

        The ridge changes nothing on steps with the sum 0, and makes the matrix definite.
        """
        cdef Py_ssize_t k, h, s = self.s, n = self.n
        cdef double ridge = 0, share = 1.0 / n
        cdef double* H = self.hessian
        for k in range(s):
            for h in range(k + 1):
                H[k * s + h] = share * dot(n, self.ratios + k * n, self.ratios + h * n)
            ridge = fmax(ridge, H[k * s + k])
        if ridge == 0:
            return False
        for k in range(s):
            for h in range(k + 1):
                H[k * s + h] += ridge
            H[k * s + k] *= 1 + 1e-13
        while not factor(H, s) and ridge < 1e300:    # an asset is a mixture of others on these days
            for k in range(s):
                for h in range(k + 1):
                    H[k * s + h] = ridge + share * dot(n, self.ratios + k * n, self.ratios + h * n)
                H[k * s + k] += 1e-9 * ridge
            ridge *= 10
        return ridge < 1e300

    cdef void go(self, double slope) noexcept nogil:
        """Move the shares along the step; an asset whose share reaches 0 leaves."""
        cdef Py_ssize_t k, leaves = -1
        cdef double limit = INFINITY, length, sum = 0
        for k in range(self.s):
            if self.step[k] < 0 and -self.at[k] > limit * self.step[k]:
                limit, leaves = -self.at[k] / self.step[k], k
        length = self.search(slope, fmin(1, limit))
        for k in range(self.s):
            self.at[k] = fmax(self.at[k] + length * self.step[k], 0)
        if leaves >= 0 and length == limit:
            self.s -= 1
            self.at[leaves] = self.at[self.s]
            self.places[leaves] = self.places[self.s]
            memcpy(self.columns + leaves * self.n, self.columns + self.s * self.n, self.n * sizeof(double))
        for k in range(self.s):
            sum += self.at[k]
        for k in range(self.s):
            self.at[k] /= sum

    cdef double search(self, double slope, double most) noexcept nogil:
        """The length of the step: all of it, unless growth falls again before its end. slope: that at length 0."""
        cdef Py_ssize_t i, k, turn, n = self.n
        cdef double now, low = 0, high = most, length = most, at_low = slope, share = 1.0 / n, step
        cdef double* moves = self.moves
        cdef const double* z
        memset(moves, 0, n * sizeof(double))
        for k in range(self.s):
            z, step = self.ratios + k * n, self.step[k]
            for i in range(n):
                moves[i] += step * z[i]
        for turn in range(30):
            now = 0
            for i in range(n):
                now += moves[i] / (1 + length * moves[i])
            now *= share
            if now >= -0.5 * slope and (turn == 0 or now <= 0.5 * slope):
                return length
            if now > 0:
                low, at_low = length, now
            else:
                high = length
            if now < 0:
                length = low + (high - low) * fmin(0.9, fmax(0.1, at_low / (at_low - now)))
            else:
                length = 0.5 * (low + high)
        return length


def log_optimal(X, tolerance=1e-13):
    """The best rebalanced portfolio in hindsight for rows of relatives, and its gap a day."""
    cdef Growth growth = Growth()
    cdef double[:, ::1] rows = X
    cdef double[::1] b = np.full(rows.shape[1], 1.0 / rows.shape[1])
    growth.reserve(rows.shape[1], rows.shape[0])
    gap = growth.optimum(&rows[0, 0], NULL, rows.shape[0], &b[0], tolerance)
    return np.asarray(b), gap
