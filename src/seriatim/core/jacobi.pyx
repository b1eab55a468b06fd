"""The singular value decomposition of a small square matrix, without the interpreter and without LAPACK."""

import numpy as np

from libc.math cimport fabs, sqrt

cdef enum:
    SWEEPS = 60


cdef int small_svd(double* A, double* V, double* s, Py_ssize_t n) noexcept nogil:
    """A = U diag(s) V' by one-sided Jacobi rotations (Hestenes, 1958), s descending.

    All matrices are given by their columns: column j begins at j n. A becomes U, of which the columns say nothing where
    s is below 1e-14 of the first. Returns how many sweeps it took.
    """
    cdef Py_ssize_t i, j, k, sweep, best
    cdef double a, b, c, t, zeta, cosine, sine, x, least
    cdef bint turned = True
    cdef double* p
    cdef double* q
    for j in range(n * n):
        V[j] = 0
    for j in range(n):
        V[j * n + j] = 1
    sweep = 0
    while turned and sweep < SWEEPS:
        turned = False
        sweep += 1
        least = 0
        for j in range(n):            # squared lengths, anew in each sweep
            p, a = A + j * n, 0
            for k in range(n):
                a += p[k] * p[k]
            s[j] = a
            least = max(least, 1e-28 * a)
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
                sine = cosine * t
                for k in range(n):
                    x = p[k]
                    p[k] = cosine * x - sine * q[k]
                    q[k] = sine * x + cosine * q[k]
                s[i], s[j] = a - t * c, b + t * c
                p, q = V + i * n, V + j * n
                for k in range(n):
                    x = p[k]
                    p[k] = cosine * x - sine * q[k]
                    q[k] = sine * x + cosine * q[k]
    for j in range(n):
        p, a = A + j * n, 0
        for k in range(n):
            a += p[k] * p[k]
        s[j] = sqrt(a)
        for k in range(n):
            p[k] = p[k] / s[j] if s[j] > 0 else 0
    for i in range(n - 1):            # n is small, and they are nearly in order
        best = i
        for j in range(i + 1, n):
            if s[j] > s[best]:
                best = j
        if best != i:
            s[i], s[best] = s[best], s[i]
            for k in range(n):
                A[i * n + k], A[best * n + k] = A[best * n + k], A[i * n + k]
                V[i * n + k], V[best * n + k] = V[best * n + k], V[i * n + k]
    return <int> sweep


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
