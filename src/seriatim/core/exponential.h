/* exp(x) inline, so that the loop around it keeps its registers: twice as fast in loops as the C library. Below -700
   the result is 0; above 700 it is exp(700). */
#ifndef SERIATIM_EXPONENTIAL_H
#define SERIATIM_EXPONENTIAL_H
#include <stdint.h>
#include <string.h>

#define LOG2_E 1.4426950408889634

/* 1.5 * 2^52 + 1023: adding it rounds to an integer, and the low bits are then the exponent bits of 2^integer. */
#define ROUNDING 6755399441056767.0

/* 2^(k + f) for |f| <= 1/2 and shifted = k + ROUNDING, -1023 <= k <= 1023; k = -1023 gives 0. The polynomial
   interpolates (2^f - 1) / f at the eleven Chebyshev points with an error below 2e-17. 1 is added last, so that the
   total error is below two units in the last place. The parts of the polynomial do not depend on each other. */
static inline double two_to(double shifted, double f)
{
    double f2 = f * f, f4 = f2 * f2, low, middle, high, scale;
    uint64_t bits;
    low = (0x1.62e42fefa39efp-1 + f * 0x1.ebfbdff82c598p-3) + f2 * (0x1.c6b08d704a0c2p-5 + f * 0x1.3b2ab6fba1ddap-7);
    middle = (0x1.5d87fe78a5276p-10 + f * 0x1.430913096fd9fp-13) + f2 * (0x1.ffcbfc670dcd4p-17 + f * 0x1.62bfd47773353p-20);
    high = (0x1.b524fae627834p-24 + f * 0x1.e6063f7217bc6p-28) + f2 * 0x1.e9d3fe3952179p-32;
    memcpy(&bits, &shifted, sizeof bits);
    bits <<= 52;
    memcpy(&scale, &bits, sizeof scale);
    return (1.0 + f * (low + f4 * (middle + f4 * high))) * scale;
}

/* 2^t for -1023 <= t <= 1023. */
static inline double power_of_two(double t)
{
    double shifted = t + ROUNDING;
    return two_to(shifted, t - (shifted - ROUNDING));
}

/* e^z for -700 <= z <= 700: z = k ln 2 + r, with ln 2 in two parts to keep r accurate. */
static inline double exponential_within(double z)
{
    double shifted = z * LOG2_E + ROUNDING, k = shifted - ROUNDING;
    double r = (z - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    return two_to(shifted, r * LOG2_E);
}

static inline double exponential(double x)
{
    return x > -700.0 ? exponential_within(x < 700.0 ? x : 700.0) : 0.0;
}

/* Clip a number to the range of `exponentials`. */
static inline double exponent(double x)
{
    x = x < 700.0 ? x : 700.0;
    return x > -700.0 ? x : -700.0;
}

/* x <- exp(x) for numbers from -700, which becomes 0, to 700. The loop is separate, because merged with `exponent` the
   compiler computes two polynomials and selects one. */
static inline void exponentials(Py_ssize_t n, double *restrict x)
{
    for (Py_ssize_t s = 0; s < n; s++) {
        double e = exponential_within(x[s]);
        x[s] = x[s] > -700.0 ? e : 0.0;
    }
}

#endif
