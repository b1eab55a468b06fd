"""Random numbers of which the whole state is a seed and how many have been drawn."""

from libc.math cimport cos, log, pi, sqrt


cdef inline unsigned long long scramble(unsigned long long z) noexcept nogil:
    """A permutation of the 64-bit numbers that leaves no trace of their order (Stafford's mix 13)."""
    z = (z ^ (z >> 30)) * <unsigned long long> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <unsigned long long> 0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline unsigned long long random_bits(unsigned long long seed, Py_ssize_t* draws) noexcept nogil:
    """The next 64 bits: SplitMix64 (Steele, Lea and Flood, 2014), whose k-th number needs none of those before it."""
    draws[0] += 1
    return scramble(scramble(seed) + <unsigned long long> draws[0] * <unsigned long long> 0x9E3779B97F4A7C15)


cdef inline Py_ssize_t random_below(Py_ssize_t n, unsigned long long seed, Py_ssize_t* draws) noexcept nogil:
    """A whole number from 0 to n - 1, each as likely: what lies beyond the last whole multiple of n is drawn again."""
    cdef unsigned long long bits, m = <unsigned long long> n
    cdef unsigned long long rest = (0 - m) % m    # 2^64 mod n
    while True:
        bits = random_bits(seed, draws)
        if bits >= rest:
            return <Py_ssize_t> (bits % m)


cdef inline double random_uniform(unsigned long long seed, Py_ssize_t* draws) noexcept nogil:
    """A number in [0, 1): the upper 53 bits."""
    return (random_bits(seed, draws) >> 11) * (1.0 / 9007199254740992.0)


cdef inline double random_normal(unsigned long long seed, Py_ssize_t n) noexcept nogil:
    """The n-th standard normal number of a seed, n = 0, 1, ... (Box and Muller), computed without those before it."""
    cdef Py_ssize_t draws = 2 * n
    cdef double u = ((random_bits(seed, &draws) >> 11) + 1) * (1.0 / 9007199254740992.0)
    cdef double v = random_uniform(seed, &draws)
    return sqrt(-2 * log(u)) * cos(2 * pi * v)
