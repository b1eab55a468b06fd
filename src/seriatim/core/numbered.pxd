"""Random numbers by their number: the n-th is had without those before it."""

from libc.math cimport cos, log, sqrt

from seriatim.core.random cimport scramble


cdef inline unsigned long long bits_at(unsigned long long seed, Py_ssize_t k) noexcept nogil:
    """The 64 bits that are the k-th draw of a seed, k = 1, 2, ..."""
    return scramble(scramble(seed) + <unsigned long long> k * <unsigned long long> 0x9E3779B97F4A7C15)


cdef inline double positive_at(unsigned long long seed, Py_ssize_t k) noexcept nogil:
    """A number in (0, 1] of the k-th draw."""
    return ((bits_at(seed, k) >> 11) + 1) * (1.0 / 9007199254740992.0)


cdef inline double normal_at(unsigned long long seed, Py_ssize_t n) noexcept nogil:
    """The n-th standard normal number, n = 0, 1, ...: Box and Muller's cosine of the draws 2n + 1 and 2n + 2."""
    cdef double v = (bits_at(seed, 2 * n + 2) >> 11) * (1.0 / 9007199254740992.0)
    return sqrt(-2 * log(positive_at(seed, 2 * n + 1))) * cos(6.283185307179586 * v)
