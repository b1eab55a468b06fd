"""The derivative of log Gamma, and what goes with it, of arrays; learners have them from the header."""

import numpy as np


def gamma_functions(const double[::1] x):
    """psi(x), exp(psi(x)), log Gamma(x) and log x of each number above 0.

    >>> [round(float(row[0]), 4) for row in gamma_functions(np.array([0.5]))]
    [-1.9635, 0.1404, 0.5724, -0.6931]
    """
    cdef Py_ssize_t i, n = x.shape[0]
    result = np.empty((4, n))
    cdef double[:, ::1] out = result
    for i in range(n):
        out[0, i], out[1, i] = digamma(x[i]), exp_digamma(x[i])
        out[2, i], out[3, i] = log_gamma(x[i]), natural_log(x[i])
    return result
