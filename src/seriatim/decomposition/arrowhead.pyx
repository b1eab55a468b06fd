"""The SVD of a diagonal matrix and one more column, which is what a row adds to an SVD: O(n^2) and not O(n^3)."""

from libc.math cimport fabs, hypot, sqrt
from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.memory cimport resize

import numpy as np

cdef double EPSILON = 2.220446049250313e-16


cdef class Arrowhead:
    """[diag(d), z] = left diag(sigma) right'.

    The squares of sigma are the roots of 1 + sum_i z_i^2 / (d_i^2 - sigma^2) = 0, one between any two d. They are
    found as distances from the nearer d, so that d_i^2 - sigma_j^2 is exact to the last digits however close they
    are, and vectors are made for that z for which the roots found are exact: they are then orthogonal to rounding (Gu
    and Eisenstat, 1994). Where z_i is nothing, or two d are equal, a value stays as it is (deflation).
    """

    def __dealloc__(self):
        free(self.memory)
        free(self.places)

    cdef int reserve(self, Py_ssize_t n) noexcept nogil:
        """Room for n values; -1 if there is none. What was in it is gone."""
        cdef double* place
        if n <= self.room:
            return 0
        if (resize(<void**> &self.memory, 3 * n * n + 8 * n, sizeof(double)) < 0
                or resize(<void**> &self.places, 4 * n, sizeof(int)) < 0):
            return -1
        self.room, place = n, self.memory
        self.d, self.z, self.sigma = place, place + n, place + 2 * n
        self.square, self.values = place + 3 * n, place + 4 * n
        self.turns, place = place + 5 * n, place + 7 * n
        self.right, place = place, place + (n + 1) * n
        self.left, self.P = place, place + n * n
        self.active, self.order, self.turned = self.places, self.places + n, self.places + 2 * n
        return 0

    cdef void solve(self, Py_ssize_t n, bint both) noexcept nogil:
        """From d and z of n numbers; the right vectors only if they are asked for."""
        cdef double* d = self.d
        cdef double* z = self.z
        cdef double* square = self.square
        cdef Py_ssize_t i, j, k, a, b, m = 0, turns = 0
        cdef double scale = d[0] if n else 0, r, c, s, length, other, v, total = 0
        for i in range(n):
            scale = max(scale, fabs(z[i]))
        memset(self.left, 0, n * n * sizeof(double))
        memset(self.right, 0, (n + 1) * n * sizeof(double))
        if scale < 1e-150:
            scale = 1
        for i in range(n):
            d[i] /= scale
            z[i] /= scale
        for i in range(n):
            if fabs(z[i]) <= 8 * EPSILON:
                z[i] = 0
                continue
            if m and d[self.active[m - 1]] - d[i] <= 8 * EPSILON:
                a = self.active[m - 1]
                r = hypot(z[a], z[i])
                self.turned[2 * turns], self.turned[2 * turns + 1] = <int> a, <int> i
                self.turns[2 * turns], self.turns[2 * turns + 1] = z[i] / r, z[a] / r
                turns += 1
                z[a], z[i] = 0, r
                m -= 1
            self.active[m] = <int> i
            m += 1
        for i in range(m):
            square[i] = z[self.active[i]] ** 2
            total += square[i]
        for i in range(n):
            self.sigma[i] = d[i]
        for j in range(m):
            self.root(j, m, total)
        for i in range(m):    # the z that has these roots
            a = self.active[i]
            v = fabs(self.P[i * m + i])
            for j in range(m):
                if j != i:
                    b = self.active[j]
                    v *= self.P[i * m + j] / ((d[a] - d[b]) * (d[a] + d[b]))
            square[i] = sqrt(fabs(v)) if z[a] > 0 else -sqrt(fabs(v))
        # In the end the columns are in descending order of sigma.
        for i in range(n):
            self.values[i] = self.sigma[i]
            self.order[i] = <int> i
        for i in range(1, n):    # nearly sorted
            k, v = self.order[i], self.values[self.order[i]]
            j = i
            while j > 0 and self.values[self.order[j - 1]] < v:
                self.order[j] = self.order[j - 1]
                j -= 1
            self.order[j] = <int> k
        for i in range(n):
            self.sigma[i] = scale * self.values[self.order[i]]
        # which column each coordinate's value has gone to; values of active coordinates are their roots'
        for k in range(n):
            i = self.order[k]
            j = -1
            if z[i] != 0:
                for a in range(m):
                    if self.active[a] == i:
                        j = a
                        break
            if j < 0:
                self.left[i * n + k] = self.right[i * n + k] = 1
                continue
            length = other = 0
            for a in range(m):
                b = self.active[a]
                v = square[a] / self.P[a * m + j]
                self.left[b * n + k] = v
                length += v * v
                if both:
                    v *= d[b]
                    self.right[b * n + k] = v
                    other += v * v
            length = 1 / sqrt(length)
            other = 1 / sqrt(other + 1)
            for a in range(m):
                b = self.active[a]
                self.left[b * n + k] *= length
                self.right[b * n + k] *= other
            self.right[n * n + k] = -other
        for j in range(turns - 1, -1, -1):
            a, b = self.turned[2 * j], self.turned[2 * j + 1]
            c, s = self.turns[2 * j], self.turns[2 * j + 1]
            turn(self.left + a * n, self.left + b * n, n, c, s)
            if both:
                turn(self.right + a * n, self.right + b * n, n, c, s)

    cdef void root(self, Py_ssize_t j, Py_ssize_t m, double total) noexcept nogil:
        """sigma of the j-th active value, and column j of P: d_i^2 - sigma^2."""
        cdef double* d = self.d
        cdef const double* square = self.square
        cdef const int* active = self.active
        cdef Py_ssize_t i, attempt
        cdef double own = d[active[j]], above = 0, origin, sigma, low, high, tau, f, size, step, new
        cdef double term, below_sum, below_slope, above_sum, above_slope, P, c, q, s, a, b, left, right
        if j == 0:
            low = square[0] / (own + sqrt(own * own + square[0]))
            high = total / (own + sqrt(own * own + total))
            tau = low
            low *= 1 - 4 * EPSILON
            high *= 1 + 4 * EPSILON
        else:
            above = d[active[j - 1]]
            tau = high = 0.5 * (above - own)
            low = 0
        origin = own
        for attempt in range(100):
            sigma = origin + tau
            below_sum = below_slope = above_sum = above_slope = left = right = 0
            for i in range(m):
                P = ((d[active[i]] - origin) - tau) * (d[active[i]] + sigma)
                self.P[i * m + j] = P
                term = square[i] / P
                if i >= j:
                    below_sum += term
                    below_slope += term / P
                else:
                    above_sum += term
                    above_slope += term / P
            f = 1 + below_sum + above_sum
            size = 1 + above_sum - below_sum
            if attempt == 0 and j and f < 0:    # the root is nearer to the value above
                origin = above
                low, high, tau = -0.5 * (above - own), 0, tau - (above - own)
                continue
            if f < 0:
                low = tau
            else:
                high = tau
            if fabs(f) <= EPSILON * (m + 4) * size * 0.25 or not low < high:
                break
            left = self.P[j * m + j]
            q = left * left * below_slope
            c = 1 + below_sum - left * below_slope
            if j == 0:
                step = left + q / c if c > 0 else 0
            else:
                right = self.P[(j - 1) * m + j]
                s = right * right * above_slope
                c += above_sum - right * above_slope
                a, b = c * (left + right) + q + s, left * right * f
                new = sqrt(max(a * a - 4 * b * c, 0))
                if a > 0:
                    step = 2 * b / (a + new)
                else:
                    step = (a - new) / (2 * c) if c != 0 else 0
            new = tau
            if sigma * sigma + step > 0:
                new = tau + step / (sigma + sqrt(sigma * sigma + step))
            if not low < new < high or step == 0 or f * step > 0:
                new = 0.1 * high if low == 0 else (0.1 * low if high == 0 else 0.5 * (low + high))
                if not low < new < high:
                    break
            if new == tau:
                break
            tau = new
        self.sigma[active[j]] = origin + tau


cdef void turn(double* a, double* b, Py_ssize_t n, double c, double s) noexcept nogil:
    cdef Py_ssize_t i
    cdef double x
    for i in range(n):
        x = a[i]
        a[i] = c * x + s * b[i]
        b[i] = c * b[i] - s * x


def arrow_svd(d, z):
    """left, sigma, right of [diag(d), z]; d descending and at least 0."""
    cdef double[::1] d_view = np.array(d, dtype=np.float64), z_view = np.array(z, dtype=np.float64)
    cdef Py_ssize_t i, n = d_view.shape[0]
    cdef Arrowhead arrow = Arrowhead()
    if n == 0 or z_view.shape[0] != n:
        raise ValueError("as many numbers of d as of z")
    if arrow.reserve(n) < 0:
        raise MemoryError
    for i in range(n):
        arrow.d[i], arrow.z[i] = d_view[i], z_view[i]
    arrow.solve(n, True)
    left = np.array(<double[:n, :n]> arrow.left)
    right = np.array(<double[:n + 1, :n]> arrow.right)
    return left, np.array(<double[:n]> arrow.sigma), right
