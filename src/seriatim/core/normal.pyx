"""The normal distribution."""

import numpy as np

from libc.math cimport erfc


def standard_normal(double[::1] z):
    """Phi of each number.

    >>> standard_normal(np.array([0.0, 1.0])).round(4).tolist()
    [0.5, 0.8413]
    """
    return np.array([erfc(-z[i] * 0.7071067811865476) / 2 for i in range(z.shape[0])])
