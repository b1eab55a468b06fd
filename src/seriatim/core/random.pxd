"""Random numbers whose whole state is the seed and the number of draws."""

from libc.math cimport cos, log, pi, sqrt


cdef inline unsigned long long scramble(unsigned long long z) noexcept nogil:
    """A permutation of the 64-bit integers that mixes all bits (Stafford's mix 13)."""
    z = (z ^ (z >> 30)) * <unsigned long long> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <unsigned long long> 0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline unsigned long long random_bits(unsigned long long seed, Py_ssize_t* draws) noexcept nogil:
    """The next 64 bits: SplitMix64 (Steele, Lea and Flood, 2014). Draw k does not depend on earlier draws."""
    draws[0] += 1
    return scramble(scramble(seed) + <unsigned long long> draws[0] * <unsigned long long> 0x9E3779B97F4A7C15)


cdef inline Py_ssize_t random_below(Py_ssize_t n, unsigned long long seed, Py_ssize_t* draws) noexcept nogil:
    """A uniform integer from 0 to n - 1. Rejects 2^64 mod n of the draws, so that there is no bias."""
    cdef unsigned long long bits, m = <unsigned long long> n
    cdef unsigned long long rest = (0 - m) % m    # 2^64 mod n
    while True:
        bits = random_bits(seed, draws)
        if bits >= rest:
            return <Py_ssize_t> (bits % m)


cdef inline double random_uniform(unsigned long long seed, Py_ssize_t* draws) noexcept nogil:
    """A uniform number in [0, 1) from the upper 53 bits."""
    return (random_bits(seed, draws) >> 11) * (1.0 / 9007199254740992.0)


cdef inline double random_normal(unsigned long long seed, Py_ssize_t n) noexcept nogil:
    """Standard normal number n = 0, 1, ... of a seed (Box and Muller, 1958). Does not need the earlier ones."""
    cdef Py_ssize_t draws = 2 * n
    cdef double u = ((random_bits(seed, &draws) >> 11) + 1) * (1.0 / 9007199254740992.0)
    cdef double v = random_uniform(seed, &draws)
    return sqrt(-2 * log(u)) * cos(2 * pi * v)
