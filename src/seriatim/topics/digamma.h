/* psi, the derivative of log Gamma, and related functions for x > 0. The error is at most 1e-14, or 1e-14 of the result
   if that is larger.

   psi(x) = psi(x + 8) - R, and psi(y) = log y - S(y) by its asymptotic series; for y >= 8 eight terms suffice.
   R = 1 / x + ... + 1 / (x + 7) = (2 x + 7) Q'(u) / Q(u), Q(u) = x (x + 1) ... (x + 7) with u = x (x + 7).
   The code has no branches, so compilers vectorise the loops around it. */
#ifndef SERIATIM_DIGAMMA_H
#define SERIATIM_DIGAMMA_H
#include "exponential.h"
#include <stdint.h>
#include <string.h>

#define FAR_ENOUGH 16.0 /* from here on the series needs no shift */

static inline double natural_log(double x) /* for normal x > 0 */
{
    /* x = 2^k m, m from sqrt(1/2) to sqrt(2); log m = 2 artanh f, f = (m - 1) / (m + 1), by its series */
    const uint64_t magic = 0x4330000000000000u; /* 2^52: whole numbers in the low bits */
    uint64_t bits, exponent;
    double m, f, f2, f4, f8, k, series;
    memcpy(&bits, &x, sizeof bits);
    bits += 0x3ff0000000000000u - 0x3fe6a09e667f3bcdu;
    exponent = (bits >> 52) | magic;
    memcpy(&k, &exponent, sizeof k);
    k -= 4503599627370496.0 + 1023.0;
    bits = (bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu;
    memcpy(&m, &bits, sizeof m);
    f = (m - 1) / (m + 1);
    f2 = f * f;
    f4 = f2 * f2;
    f8 = f4 * f4;
    series = ((1.0 / 3 + f2 * (1.0 / 5)) + f4 * (1.0 / 7 + f2 * (1.0 / 9)))
        + f8 * (((1.0 / 11 + f2 * (1.0 / 13)) + f4 * (1.0 / 15 + f2 * (1.0 / 17))) + f8 * (1.0 / 19 + f2 * (1.0 / 21)));
    return k * 0x1.62e42fee00000p-1 + (2 * f + (2 * f * f2 * series + k * 0x1.a39ef35793c76p-33));
}

static inline double digamma_series(double y) /* S(y) */
{
    double r = 1 / y, s = r * r, s2 = s * s;
    return r / 2
        + s * ((1.0 / 12 - s * (1.0 / 120)) + s2 * (1.0 / 252 - s * (1.0 / 240))
               + s2 * s2 * ((1.0 / 132 - s * (691.0 / 32760)) + s2 * (1.0 / 12 - s * (3617.0 / 8160))));
}

static inline double digamma_shift(double x) /* R, for x < FAR_ENOUGH */
{
    double u = x * (x + 7);
    return (2 * x + 7) * (720 + u * (504 + u * (84 + 4 * u))) / (u * (720 + u * (252 + u * (28 + u))));
}

static inline double digamma(double x)
{
    double near = x < FAR_ENOUGH ? x : FAR_ENOUGH, y = x < FAR_ENOUGH ? x + 8 : x;
    double shift = digamma_shift(near);
    return (natural_log(y) - digamma_series(y)) - (x < FAR_ENOUGH ? shift : 0);
}

/* exp(psi(x)) = y exp(this), without a logarithm. */
static inline double exp_digamma_rest(double x)
{
    double near = x < FAR_ENOUGH ? x : FAR_ENOUGH, y = x < FAR_ENOUGH ? x + 8 : x;
    double shift = digamma_shift(near);
    return -digamma_series(y) - (x < FAR_ENOUGH ? shift : 0);
}

static inline double exp_digamma(double x)
{
    return (x < FAR_ENOUGH ? x + 8 : x) * exponential(exp_digamma_rest(x));
}

static inline double log_gamma(double x) /* Stirling's series of x + 8, less log Q */
{
    double near = x < FAR_ENOUGH ? x : FAR_ENOUGH, y = x < FAR_ENOUGH ? x + 8 : x, u = near * (near + 7);
    double q = x < FAR_ENOUGH ? u * (720 + u * (252 + u * (28 + u))) : 1, r = 1 / y, s = r * r, s2 = s * s;
    double series = (1.0 / 12 - s * (1.0 / 360)) + s2 * (1.0 / 1260 - s * (1.0 / 1680))
        + s2 * s2 * ((1.0 / 1188 - s * (691.0 / 360360)) + s2 * (1.0 / 156 - s * (3617.0 / 122400)));
    return ((y - 0.5) * natural_log(y) - y) + (0.91893853320467274178 + r * series) - natural_log(q);
}

#endif
