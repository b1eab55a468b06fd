"""The random directions of a low-rank form."""

from libc.math cimport sqrt

import numpy as np

from seriatim.core.normals cimport random_normal


def directions(unsigned long long seed, Py_ssize_t modality, Py_ssize_t n, Py_ssize_t rank):
    """P of one modality, n x rank, normal of variance 1 / rank.

    >>> directions(0, 0, 2, 3).shape
    (2, 3)
    """
    result = np.empty((n, rank))
    cdef double[:, ::1] P = result
    cdef Py_ssize_t a, j
    for a in range(n):
        for j in range(rank):
            P[a, j] = random_normal(seed, (modality * n + a) * rank + j) / sqrt(<double> rank)
    return result
