/* Decimal digits, eight at a time. */
#ifndef SERIATIM_DIGITS
#define SERIATIM_DIGITS
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "digits are read as little-endian words"
#endif
static const double TENS[23] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
                                1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
static const uint64_t WHOLE_TENS[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* Convert up to eight decimal digits at p, read as one little-endian word. Returns how many there are, and their value
   in *number. Eight bytes at p must be readable. Branch-free: the length of a number is unpredictable, and a
   mispredicted branch costs more than the conversion. */
static inline int digit_run(const char *p, uint64_t *number) {
    uint64_t w, odd;
    memcpy(&w, p, 8);
    w ^= 0x3030303030303030u;
    odd = ((w + 0x0606060606060606u) | w) & 0xF0F0F0F0F0F0F0F0u;    /* the bytes that are not digits */
    int n = (__builtin_ctzll(odd | 0x8000000000000000u) >> 3) + (odd == 0);
    int half = 32 - 4 * n;
    w = (w << half) << half;                                        /* drop the other bytes, add leading zeros */
    w = w * 10 + (w >> 8);
    *number = ((w & 0x000000FF000000FFu) * 0x000F424000000064u
               + ((w >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >> 32;
    return n;
}

/* The value of n decimal digits at p, 1 <= n <= 8. Sets bits of *odd if one of these bytes is not a digit. */
static inline uint64_t digits(const char *p, int n, uint64_t *odd) {
    uint64_t w;
    memcpy(&w, p, 8);
    w = (w ^ 0x3030303030303030u) << (64 - 8 * n);
    *odd |= ((w + 0x0606060606060606u) | w) & 0xF0F0F0F0F0F0F0F0u;
    w = w * 10 + (w >> 8);
    return ((w & 0x000000FF000000FFu) * 0x000F424000000064u
            + ((w >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >> 32;
}
#endif
