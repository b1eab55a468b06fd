"""The rebalanced portfolio that would have grown most over given days: the maximum of mean log b.x over the simplex."""

from libc.math cimport INFINITY, fabs, fmax, fmin
from libc.string cimport memcpy, memset

import numpy as np

from seriatim.portfolio.simplex cimport factor, solve


cdef extern from "sums.h":
    double dot(Py_ssize_t n, const double* a, const double* x) noexcept nogil
    void add(Py_ssize_t n, double a, const double* x, double* out) noexcept nogil
    void mixture(Py_ssize_t n, Py_ssize_t m, const double* data, const Py_ssize_t* rows, const double* share,
                 double* out) noexcept nogil


cdef class Growth:
    """Newton's method on the few assets that the best portfolio holds; one enters when its gradient says so.

    Let z_tj = x_tj/(b.x_t), and g_j its mean over the days. At the best b all g_j <= 1, with equality where b_j > 0;
    and for any b no portfolio grows by more than max g_j - 1 a day beyond it, which is the gap that is returned.
    """

    cdef int reserve(self, Py_ssize_t m, Py_ssize_t n) except -1:
        """Room for m assets and n days."""
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
        """b becomes the best portfolio for n rows of the data (all, or those listed); the gap.

        It starts from the assets that b holds; from the best one alone if b holds all.
        """
        cdef Py_ssize_t m = self.m, s = 0, i, j, k, h, leaves, enters, _turn, _inner
        cdef double gap = INFINITY, best, near = 1e-3, worst, ridge, limit, length, slope, start, lam, sums
        cdef double share = 1.0 / n
        cdef double* z
        cdef bint still
        for j in range(m):
            s += b[j] > 0
        if s == m:
            for i in range(n):
                self.inverse[i] = 1
            mixture(n, m, data, rows, self.inverse, self.gradient)
            k = 0
            for j in range(m):
                b[j] = 0
                if self.gradient[j] > self.gradient[k]:
                    k = j
            b[k] = 1
        s = 0
        for j in range(m):
            if b[j] > 0:
                self.take(data, rows, n, j, s)
                self.at[s] = b[j]
                s += 1
        for _turn in range(20 * m + 50):
            for _inner in range(100):
                # z = x/(b.x) - 1: steps keep the sum of b, so that the ones make no difference.
                memset(self.inverse, 0, n * sizeof(double))
                for k in range(s):
                    add(n, self.at[k], self.columns + k * n, self.inverse)
                for i in range(n):
                    self.inverse[i] = 1 / self.inverse[i]
                worst = 0
                for k in range(s):
                    z = self.ratios + k * n
                    sums = 0
                    for i in range(n):
                        z[i] = self.columns[k * n + i] * self.inverse[i] - 1
                        sums += z[i]
                    self.step[k] = sums * share
                    worst = fmax(worst, fabs(self.step[k]))
                if s == 1 or worst <= near:
                    break
                ridge = 0
                for k in range(s):
                    for h in range(k + 1):
                        self.hessian[k * s + h] = share * dot(n, self.ratios + k * n, self.ratios + h * n)
                    ridge = fmax(ridge, self.hessian[k * s + k])
                    self.ones[k] = 1
                if ridge == 0:
                    break
                for k in range(s):
                    for h in range(k + 1):
                        self.hessian[k * s + h] += ridge    # nothing on the steps, and what makes it definite
                    self.hessian[k * s + k] *= 1 + 1e-13
                while not factor(self.hessian, s) and ridge < 1e300:    # mixtures of one another on these days
                    for k in range(s):
                        for h in range(k + 1):
                            self.hessian[k * s + h] = ridge + share * dot(n, self.ratios + k * n, self.ratios + h * n)
                        self.hessian[k * s + k] += 1e-9 * ridge
                    ridge *= 10
                if not ridge < 1e300:    # numbers that nothing makes definite
                    break
                solve(self.hessian, s, self.ones)
                slope = sums = 0
                for k in range(s):
                    self.gradient[k] = self.step[k]
                solve(self.hessian, s, self.step)
                for k in range(s):
                    slope += self.step[k]
                    sums += self.ones[k]
                lam = slope / sums
                start, limit, leaves = 0, INFINITY, -1
                for k in range(s):
                    self.step[k] -= lam * self.ones[k]
                    start += self.step[k] * self.gradient[k]
                    if self.step[k] < 0 and -self.at[k] > limit * self.step[k]:
                        limit, leaves = -self.at[k] / self.step[k], k
                if not start > 1e-32:    # of what is below, nothing is known
                    break
                length = self.search(n, s, start, fmin(1, limit))
                for k in range(s):
                    self.at[k] = fmax(self.at[k] + length * self.step[k], 0)
                if leaves >= 0 and length == limit:
                    s -= 1
                    self.at[leaves] = self.at[s]
                    self.places[leaves] = self.places[s]
                    memcpy(self.columns + leaves * n, self.columns + s * n, n * sizeof(double))
                sums = 0
                for k in range(s):
                    sums += self.at[k]
                for k in range(s):
                    self.at[k] /= sums
            mixture(n, m, data, rows, self.inverse, self.gradient)
            best, enters = 0, -1
            for j in range(m):
                if self.gradient[j] * share > best:
                    best, enters = self.gradient[j] * share, j
            gap = best - 1
            if gap <= tolerance and (s == 1 or worst <= tolerance):
                break
            still = False
            for k in range(s):
                still = still or self.places[k] == enters
            if still or gap <= tolerance:
                if near <= 0.1 * tolerance:    # as near as the numbers allow
                    break
                near = fmax(0.05 * tolerance, near * 1e-6)
                continue
            if gap < near or near > 0.01 * gap:
                near = fmax(0.05 * tolerance, 0.01 * gap)
            self.take(data, rows, n, enters, s)
            self.at[s] = 0
            s += 1
        memset(b, 0, m * sizeof(double))
        for k in range(s):
            b[self.places[k]] = self.at[k]
        return gap

    cdef void take(
        self, const double* data, const Py_ssize_t* rows, Py_ssize_t n, Py_ssize_t j, Py_ssize_t k
    ) noexcept nogil:
        """The k-th of the assets held is j."""
        cdef Py_ssize_t i
        self.places[k] = <int> j
        for i in range(n):
            self.columns[k * n + i] = data[(rows[i] if rows != NULL else i) * self.m + j]

    cdef double search(self, Py_ssize_t n, Py_ssize_t s, double start, double most) noexcept nogil:
        """How far to go: the whole step unless growth falls again before its end. start: the slope at 0."""
        cdef Py_ssize_t i, k, turn
        cdef double slope, low = 0, high = most, length = most, at_low = start, share = 1.0 / n
        memset(self.moves, 0, n * sizeof(double))
        for k in range(s):
            add(n, self.step[k], self.ratios + k * n, self.moves)
        for turn in range(30):
            slope = 0
            for i in range(n):
                slope += self.moves[i] / (1 + length * self.moves[i])
            slope *= share
            if slope >= -0.5 * start and (turn == 0 or slope <= 0.5 * start):
                return length
            if slope > 0:
                low, at_low = length, slope
            else:
                high = length
            if slope < 0:
                length = low + (high - low) * fmin(0.9, fmax(0.1, at_low / (at_low - slope)))
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
