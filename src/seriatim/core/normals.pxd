"""Standard normal numbers, each a function of a seed and of its own number alone."""

from libc.math cimport cos, log, pi, sqrt

from seriatim.core.random cimport random_bits, random_uniform


cdef inline double random_normal(unsigned long long seed, Py_ssize_t n) noexcept nogil:
    """The n-th of a seed, n = 0, 1, ..., by Box and Muller, without those before it."""
    cdef Py_ssize_t draws = 2 * n
    cdef double u = ((random_bits(seed, &draws) >> 11) + 1) * (1.0 / 9007199254740992.0)
    cdef double v = random_uniform(seed, &draws)
    return sqrt(-2 * log(u)) * cos(2 * pi * v)
