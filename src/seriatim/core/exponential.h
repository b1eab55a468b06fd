/* exp(x) without a call, so that the loop around it keeps its registers: twice as fast there as that of the C library.
   x = k ln 2 + r with |r| <= ln 2 / 2; e^r by its series to the twelfth power, which leaves less than 2e-16; then 2^k by
   its bits. The error is at most a few units of the last place; below -700 the result is 0, above 700 that of 700. */
#ifndef SERIATIM_EXPONENTIAL_H
#define SERIATIM_EXPONENTIAL_H
#include <stdint.h>
#include <string.h>

static inline double exponential_within(double z) /* for -700 <= z <= 700 */
{
    const double magic = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to a whole number, in the low bits */
    double shifted, k, r, r2, r4, low, high, scale;
    uint64_t bits;
    shifted = z * 1.4426950408889634 + magic;
    k = shifted - magic;
    r = (z - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    r2 = r * r;
    r4 = r2 * r2;
    low = (1.0 + r) + r2 * (1.0 / 2 + r * (1.0 / 6)) + r4 * ((1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040)));
    high = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800)) + r4 * (1.0 / 479001600);
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&scale, &bits, sizeof scale);
    return (low + r4 * r4 * high) * scale;
}

static inline double exponential(double x)
{
    return x > -700.0 ? exponential_within(x < 700.0 ? x : 700.0) : 0.0;
}

/* A number as `exponentials` takes it. */
static inline double exponent(double x)
{
    x = x < 700.0 ? x : 700.0;
    return x > -700.0 ? x : -700.0;
}

/* x <- exp(x) for numbers from -700, which becomes 0, to 700. A loop of its own: in one with `exponent` the compiler
   would choose between whole polynomials. */
static inline void exponentials(Py_ssize_t n, double *restrict x)
{
    for (Py_ssize_t s = 0; s < n; s++) {
        double e = exponential_within(x[s]);
        x[s] = x[s] > -700.0 ? e : 0.0;
    }
}

#endif
