"""The SVD of a diagonal matrix with one more column, in O(n^2). Appending a row to an SVD needs it."""

from libc.math cimport fabs, hypot, sqrt
from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.memory cimport resize

import numpy as np

cdef double EPSILON = 2.220446049250313e-16


cdef class Arrowhead:
    """[diag(d), z] = left diag(sigma) right'.

    The squares of sigma are the roots of 1 + sum_i z_i^2 / (d_i^2 - sigma^2) = 0, one between any two d_i. Each root is
    computed as its distance from the nearer d_i, so that d_i^2 - sigma_j^2 is exact to the last digits even for close
    values. The vectors are those of the z for which the computed roots are exact; they are orthogonal to rounding (Gu
    and Eisenstat, 1994). If z_i is negligible, or two d_i are equal, a value stays as it is (deflation).
    """

    def __dealloc__(self):
        free(self.memory)
        free(self.indices)

    cdef int reserve(self, Py_ssize_t n) noexcept nogil:
        """Make room for n values and forget the old ones. Returns -1 without memory."""
        cdef double* place
        if n <= self.room:
            return 0
        if (resize(<void**> &self.memory, 3 * n * n + 8 * n, sizeof(double)) < 0
                or resize(<void**> &self.indices, 4 * n, sizeof(int)) < 0):
            return -1
        self.room, place = n, self.memory
        self.d, self.z, self.sigma = place, place + n, place + 2 * n
        self.square, self.values = place + 3 * n, place + 4 * n
        self.rotations, place = place + 5 * n, place + 7 * n
        self.right, place = place, place + (n + 1) * n
        self.left, self.P = place, place + n * n
        self.active, self.order, self.rotated = self.indices, self.indices + n, self.indices + 2 * n
        return 0

    cdef void solve(self, Py_ssize_t n, bint both) noexcept nogil:
        """Decompose d and z of n numbers. Computes right only if `both`."""
        cdef Py_ssize_t i, j, a, b, m, rotations
        cdef double scale = self.d[0] if n else 0, total = 0, c, s
        for i in range(n):
            scale = max(scale, fabs(self.z[i]))
        if scale < 1e-150:
            scale = 1
        for i in range(n):
            self.d[i] /= scale
            self.z[i] /= scale
        m = self.deflate(n, &rotations)
        for i in range(m):
            self.square[i] = self.z[self.active[i]] ** 2
            total += self.square[i]
        for i in range(n):
            self.sigma[i] = self.d[i]
        for j in range(m):
            self.root(j, m, total)
        self.refit(m)
        self.sort(n)
        for i in range(n):
            self.sigma[i] = scale * self.values[self.order[i]]
        self.vectors(n, m, both)
        for j in range(rotations - 1, -1, -1):
            a, b = self.rotated[2 * j], self.rotated[2 * j + 1]
            c, s = self.rotations[2 * j], self.rotations[2 * j + 1]
            rotate(self.left + a * n, self.left + b * n, n, c, s)
            if both:
                rotate(self.right + a * n, self.right + b * n, n, c, s)

    cdef Py_ssize_t deflate(self, Py_ssize_t n, Py_ssize_t* rotations) noexcept nogil:
        """Set negligible z_i to 0, rotate equal d_i so that one z_i is 0, and return the number of active values."""
        cdef double* d = self.d
        cdef double* z = self.z
        cdef Py_ssize_t i, a, m = 0, count = 0
        cdef double r
        for i in range(n):
            if fabs(z[i]) <= 8 * EPSILON:
                z[i] = 0
                continue
            if m and d[self.active[m - 1]] - d[i] <= 8 * EPSILON:
                a = self.active[m - 1]
                r = hypot(z[a], z[i])
                self.rotated[2 * count], self.rotated[2 * count + 1] = <int> a, <int> i
                self.rotations[2 * count], self.rotations[2 * count + 1] = z[i] / r, z[a] / r
                count += 1
                z[a], z[i] = 0, r
                m -= 1
            self.active[m] = <int> i
            m += 1
        rotations[0] = count
        return m

    cdef void refit(self, Py_ssize_t m) noexcept nogil:
        """Let `square` be the z for which the computed roots are exact."""
        cdef double* d = self.d
        cdef Py_ssize_t i, j, a, b
        cdef double v
        for i in range(m):
            a = self.active[i]
            v = fabs(self.P[i * m + i])
            for j in range(m):
                if j != i:
                    b = self.active[j]
                    v *= self.P[i * m + j] / ((d[a] - d[b]) * (d[a] + d[b]))
            self.square[i] = sqrt(fabs(v)) if self.z[a] > 0 else -sqrt(fabs(v))

    cdef void sort(self, Py_ssize_t n) noexcept nogil:
        """Copy sigma to `values`, and sort `order`. Insertion sort: the values nearly descend."""
        cdef Py_ssize_t i, j
        cdef int k
        for i in range(n):
            self.values[i] = self.sigma[i]
            self.order[i] = <int> i
        for i in range(1, n):
            k, j = self.order[i], i
            while j > 0 and self.values[self.order[j - 1]] < self.values[k]:
                self.order[j] = self.order[j - 1]
                j -= 1
            self.order[j] = k

    cdef void vectors(self, Py_ssize_t n, Py_ssize_t m, bint both) noexcept nogil:
        """Column k of left and right belongs to value order[k]: an axis if the value is deflated."""
        cdef Py_ssize_t i, j, k, a, b
        cdef double norm2, norm2_right, v
        memset(self.left, 0, n * n * sizeof(double))
        memset(self.right, 0, (n + 1) * n * sizeof(double))
        for k in range(n):
            i = self.order[k]
            j = -1
            if self.z[i] != 0:
                for a in range(m):
                    if self.active[a] == i:
                        j = a
                        break
            if j < 0:
                self.left[i * n + k] = self.right[i * n + k] = 1
                continue
            norm2 = norm2_right = 0
            for a in range(m):
                b = self.active[a]
                v = self.square[a] / self.P[a * m + j]
                self.left[b * n + k] = v
                norm2 += v * v
                if both:
                    v *= self.d[b]
                    self.right[b * n + k] = v
                    norm2_right += v * v
            norm2 = 1 / sqrt(norm2)
            norm2_right = 1 / sqrt(norm2_right + 1)
            for a in range(m):
                b = self.active[a]
                self.left[b * n + k] *= norm2
                self.right[b * n + k] *= norm2_right
            self.right[n * n + k] = -norm2_right

    cdef void root(self, Py_ssize_t j, Py_ssize_t m, double total) noexcept nogil:
        """Compute sigma of the j-th active value, and column j of P. sigma = origin + tau; tau is in [low, high]."""
        cdef Py_ssize_t attempt
        cdef double own = self.d[self.active[j]], above = 0, origin = own, sigma, low, high, tau, step, new
        cdef Secular at
        if j == 0:
            low = self.square[0] / (own + sqrt(own * own + self.square[0]))
            high = total / (own + sqrt(own * own + total))
            tau = low
            low *= 1 - 4 * EPSILON
            high *= 1 + 4 * EPSILON
        else:
            above = self.d[self.active[j - 1]]
            tau = high = 0.5 * (above - own)
            low = 0
        for attempt in range(100):
            sigma = origin + tau
            at = self.secular(j, m, origin, tau)
            if attempt == 0 and j and at.value < 0:    # the root is nearer to the value above
                origin = above
                low, high, tau = -0.5 * (above - own), 0, tau - (above - own)
                continue
            if at.value < 0:
                low = tau
            else:
                high = tau
            if fabs(at.value) <= EPSILON * (m + 4) * at.size * 0.25 or not low < high:
                break
            step = self.newton(j, m, &at)
            new = tau
            if sigma * sigma + step > 0:
                new = tau + step / (sigma + sqrt(sigma * sigma + step))
            if not low < new < high or step == 0 or at.value * step > 0:
                new = 0.1 * high if low == 0 else (0.1 * low if high == 0 else 0.5 * (low + high))
                if not low < new < high:
                    break
            if new == tau:
                break
            tau = new
        self.sigma[self.active[j]] = origin + tau

    cdef Secular secular(self, Py_ssize_t j, Py_ssize_t m, double origin, double tau) noexcept nogil:
        """The secular function at sigma = origin + tau; writes column j of P."""
        cdef double* d = self.d
        cdef const int* active = self.active
        cdef Py_ssize_t i
        cdef double sigma = origin + tau, P, term, below = 0, below_slope = 0, above = 0, above_slope = 0
        cdef Secular at
        for i in range(m):
            P = ((d[active[i]] - origin) - tau) * (d[active[i]] + sigma)
            self.P[i * m + j] = P
            term = self.square[i] / P
            if i >= j:
                below += term
                below_slope += term / P
            else:
                above += term
                above_slope += term / P
        at.below, at.below_slope, at.above, at.above_slope = below, below_slope, above, above_slope
        at.value, at.size = 1 + below + above, 1 + above - below
        return at

    cdef double newton(self, Py_ssize_t j, Py_ssize_t m, const Secular* at) noexcept nogil:
        """The change of sigma^2 to the root of a rational function with the value and slopes of the secular one."""
        cdef double left = self.P[j * m + j], q = left * left * at.below_slope, right, s, a, b, root
        cdef double c = 1 + at.below - left * at.below_slope
        if j == 0:
            return left + q / c if c > 0 else 0
        right = self.P[(j - 1) * m + j]
        s = right * right * at.above_slope
        c += at.above - right * at.above_slope
        a, b = c * (left + right) + q + s, left * right * at.value
        root = sqrt(max(a * a - 4 * b * c, 0))
        if a > 0:
            return 2 * b / (a + root)
        return (a - root) / (2 * c) if c != 0 else 0


cdef void rotate(double* a, double* b, Py_ssize_t n, double c, double s) noexcept nogil:
    cdef Py_ssize_t i
    cdef double x
    for i in range(n):
        x = a[i]
        a[i] = c * x + s * b[i]
        b[i] = c * b[i] - s * x


def arrow_svd(d, z):
    """The SVD left, sigma, right of [diag(d), z]. d must descend and be at least 0."""
    cdef double[::1] d_view = np.array(d, dtype=np.float64), z_view = np.array(z, dtype=np.float64)
    cdef Py_ssize_t i, n = d_view.shape[0]
    cdef Arrowhead arrowhead = Arrowhead()
    if n == 0 or z_view.shape[0] != n:
        raise ValueError(f"{n} numbers in d and {z_view.shape[0]} in z; give as many of each, at least 1")
    if arrowhead.reserve(n) < 0:
        raise MemoryError
    for i in range(n):
        arrowhead.d[i], arrowhead.z[i] = d_view[i], z_view[i]
    arrowhead.solve(n, True)
    left = np.array(<double[:n, :n]> arrowhead.left)
    right = np.array(<double[:n + 1, :n]> arrowhead.right)
    return left, np.array(<double[:n]> arrowhead.sigma), right
