"""MurmurHash3 for 32 bits: Austin Appleby's public-domain function, as Vowpal Wabbit uses it for names."""

from libc.stdint cimport uint32_t
from libc.string cimport memcpy


cdef inline uint32_t rotated(uint32_t x, int r) noexcept nogil:
    return (x << r) | (x >> (32 - r))


cdef inline uint32_t murmur3(const char* key, Py_ssize_t n, uint32_t seed) noexcept nogil:
    cdef uint32_t h = seed, k
    cdef Py_ssize_t i
    for i in range(n // 4):
        memcpy(&k, key + 4 * i, 4)
        h = rotated(h ^ (rotated(k * 0xcc9e2d51u, 15) * 0x1b873593u), 13) * 5 + 0xe6546b64u
    k = 0
    if n & 3:
        memcpy(&k, key + (n & ~3), n & 3)
        h ^= rotated(k * 0xcc9e2d51u, 15) * 0x1b873593u
    h ^= <uint32_t> n
    h = (h ^ (h >> 16)) * 0x85ebca6bu
    h = (h ^ (h >> 13)) * 0xc2b2ae35u
    return h ^ (h >> 16)
