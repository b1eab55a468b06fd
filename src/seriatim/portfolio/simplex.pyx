"""Projection onto the simplex: in the Euclidean norm by sorting, in the norm of a matrix by an active-set method."""

from libc.math cimport fabs, fmax, sqrt
from libc.stdlib cimport qsort

import numpy as np

from seriatim.errors import DataError


cdef int descending(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const double*> a)[0], y = (<const double*> b)[0]
    return (x < y) - (x > y)


cdef void project_simplex(double* v, Py_ssize_t m, double* work) noexcept nogil:
    """v = max(v - theta, 0), where theta makes the sum 1 (Duchi et al., 2008)."""
    cdef Py_ssize_t j
    cdef double sum = 0, theta = 0, top = v[0], total = 0
    for j in range(1, m):
        top = fmax(top, v[j])
    for j in range(m):    # relative to the largest, so that large numbers lose no digits
        v[j] -= top
        work[j] = v[j]
    qsort(work, m, sizeof(double), descending)
    for j in range(m):
        sum += work[j]
        if not work[j] > (sum - 1) / (j + 1):
            break
        theta = (sum - 1) / (j + 1)
    for j in range(m):
        v[j] = v[j] - theta if v[j] > theta else 0
        total += v[j]
    for j in range(m):
        v[j] /= total


cdef bint factor(double* H, Py_ssize_t n) noexcept nogil:
    """Replace the lower triangle of H by L, H = L L'. False if H is not positive definite."""
    cdef Py_ssize_t i, j, k
    cdef double sum
    for j in range(n):
        for i in range(j, n):
            sum = H[i * n + j]
            for k in range(j):
                sum -= H[i * n + k] * H[j * n + k]
            if i == j:
                if not sum > 0:
                    return False
                H[j * n + j] = sqrt(sum)
            else:
                H[i * n + j] = sum / H[j * n + j]
    return True


cdef void solve(const double* L, Py_ssize_t n, double* v) noexcept nogil:
    """v = (L L')^-1 v."""
    cdef Py_ssize_t i, k
    for i in range(n):
        for k in range(i):
            v[i] -= L[i * n + k] * v[k]
        v[i] /= L[i * n + i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            v[i] -= L[k * n + i] * v[k]
        v[i] /= L[i * n + i]


cdef bint minimise(const double* A, const double* c, Py_ssize_t m, const int* free, Py_ssize_t n, double* H, double* y,
                   double* v, double* lam) noexcept nogil:
    """y = the minimum over the n free numbers with the sum 1: A y + lam = c. False if A is not positive definite."""
    cdef Py_ssize_t i, j
    cdef double sums = 0, ones = 0
    for i in range(n):
        for j in range(i + 1):
            H[i * n + j] = A[free[i] * m + free[j]]
        y[i] = c[free[i]]
        v[i] = 1
    if not factor(H, n):
        return False
    solve(H, n, y)
    solve(H, n, v)
    for i in range(n):
        sums += y[i]
        ones += v[i]
    lam[0] = (sums - 1) / ones
    for i in range(n):
        y[i] -= lam[0] * v[i]
    return True


cdef Py_ssize_t entering(const double* A, const double* c, const double* b, Py_ssize_t m, const int* free, Py_ssize_t n,
                         double lam, double least) noexcept nogil:
    """The number at 0 that is not free and has the smallest gradient, if that is below `least`; else -1."""
    cdef Py_ssize_t i, j, worst = -1
    cdef double slope
    for j in range(m):
        if b[j] == 0:
            slope = lam - c[j]
            for i in range(n):
                slope += A[j * m + free[i]] * b[free[i]]
            if slope < least:
                for i in range(n):
                    if free[i] == j:
                        break
                else:
                    least, worst = slope, j
    return worst


cdef int quadratic(const double* A, const double* c, double* b, Py_ssize_t m, double* work, int* free) noexcept nogil:
    """The portfolio that minimises b'Ab/2 - c'b, by an active-set method that starts from b.

    Returns -1 where A is not positive definite; b is then the best that was found. Also where c is so large that
    rounding loses the sum of b; b is then uniform. work has room for m (m + 3) numbers, free for m.

    The free numbers solve A b + lam = c with the sum 1. A number that would be negative leaves them; the number with
    the smallest gradient enters.
    """
    cdef Py_ssize_t i, j, n = 0, worst, _turn
    cdef int status = 0
    cdef double lam, step, sums = 0, size = 0
    cdef double* y = work + m * m
    for j in range(m):
        size = fmax(size, fabs(c[j]))
        if b[j] > 0:
            free[n] = <int> j
            n += 1
    for _turn in range(50 * m + 100):
        if not minimise(A, c, m, free, n, work, y, y + m, &lam):
            status = -1
            break
        step, worst = 1, -1
        for i in range(n):
            if y[i] < 0 and b[free[i]] < step * (b[free[i]] - y[i]):
                step, worst = b[free[i]] / (b[free[i]] - y[i]), i
        for i in range(n):
            b[free[i]] += step * (y[i] - b[free[i]]) if step < 1 else y[i] - b[free[i]]
            if b[free[i]] < 0:
                b[free[i]] = 0
        if worst >= 0:
            b[free[worst]] = 0
            n -= 1
            free[worst] = free[n]
            continue
        worst = entering(A, c, b, m, free, n, lam, -1e-13 * size)
        if worst < 0:
            break
        free[n] = <int> worst
        n += 1
    for j in range(m):
        sums += b[j]
    if not 0.5 < sums < 2:
        status = -1
    for j in range(m):
        b[j] = b[j] / sums if 0.5 < sums < 2 else 1.0 / m
    return status


def numbers(given):
    """A new array of finite numbers."""
    try:
        array = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise DataError(f"expected numbers: {error}") from None
    if not np.isfinite(array).all():
        raise DataError("expected finite numbers")
    return array


def project(v):
    """The portfolio nearest to v, or to each row of it.

    >>> project([0.5, 0.9, -0.2])
    array([0.3, 0.7, 0. ])
    """
    cdef double[:, ::1] rows
    cdef double[::1] work
    cdef Py_ssize_t i
    given = numbers(v)
    if given.ndim not in (1, 2) or 0 in given.shape:
        raise DataError(f"expected a vector of numbers, or rows of them; found shape {given.shape}")
    rows = given.reshape(-1, given.shape[-1])
    work = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        project_simplex(&rows[i, 0], rows.shape[1], &work[0])
    return given


def project_norm(q, A):
    """The portfolio b nearest to q in the norm of A: it minimises (b - q)'A(b - q). A is positive definite.

    >>> project_norm([0.9, 0.5], [[2.0, 0.0], [0.0, 1.0]]).round(6)
    array([0.766667, 0.233333])
    """
    cdef double[:, ::1] matrix
    cdef double[::1] c, b, work
    cdef int[::1] free
    cdef Py_ssize_t m
    q, A = numbers(q), numbers(A)
    if q.ndim != 1 or not q.size or A.shape != (q.size, q.size):
        raise DataError(f"expected a vector and a square matrix for it; found {q.shape} and {A.shape}")
    if np.abs(A - A.T).max() > 1e-9 * np.abs(A).max():
        raise DataError("the matrix is not symmetric")
    m, matrix, c, b = q.size, A, A @ q, project(q)
    work, free = np.empty(m * (m + 3)), np.empty(m, dtype=np.intc)
    if quadratic(&matrix[0, 0], &c[0], &b[0], m, &work[0], &free[0]):
        raise DataError("the matrix is not positive definite")
    return np.asarray(b)
