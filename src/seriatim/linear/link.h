/* The maps of mirror descent, w = h(theta) entry by entry, over a batch of entries. An entry's share is what it adds to
   the sum that all of them have in common, and follows from theta and w alone: what is taken out of the sum is to the
   last bit what was added. */
#include "exponential.h"
#include "lanes.h"
#include "wide.h"
#include <math.h>

#define BATCH 128 /* entries at most: four exponentials, roots and quotients cost little more than one */

enum Map { P_NORM, ENTROPY, PLUS_MINUS };

typedef struct {
    int map;
    double power; /* p - 1 */
    double shift; /* exponentials are of theta - shift */
    double floor; /* exp(-2 shift), the product of both exponentials */
} Link;

/* x^exponent, by products where the exponent is a small whole number, as it mostly is. */
static inline double power(double base, double exponent)
{
    int whole = exponent < 100 ? (int)exponent : 0;
    double result = 1;
    if (whole != exponent)
        return pow(base, exponent);
    for (; whole; whole >>= 1) {
        if (whole & 1)
            result *= base;
        base *= base;
    }
    return result;
}

static inline void images(const Link *by, Py_ssize_t n, const double *restrict theta, double *restrict w)
{
    if (by->map == P_NORM) {
        for (Py_ssize_t s = 0; s < n; s++)
            w[s] = copysign(power(fabs(theta[s]), by->power), theta[s]);
        return;
    }
    for (Py_ssize_t s = 0; s < n; s++)
        w[s] = exponent((by->map == ENTROPY ? theta[s] : fabs(theta[s])) - by->shift);
    exponentials(n, w);
    if (by->map == PLUS_MINUS)
        for (Py_ssize_t s = 0; s < n; s++) {
            double smaller = by->floor / w[s];
            w[s] = copysign(w[s] > 1e-140 ? w[s] - smaller : w[s], theta[s]);
        }
}

static inline void shares(const Link *by, Py_ssize_t n, const double *restrict theta, const double *restrict w,
                          double *restrict out)
{
    if (by->map == PLUS_MINUS) /* w is the difference of the exponentials, and the floor their product */
        for (Py_ssize_t s = 0; s < n; s++) {
            double size = fabs(w[s]) > 1e-140 ? w[s] : 0; /* squares of less are denormal, and slow; the sum is large */
            out[s] = sqrt(size * size + 4 * by->floor);
        }
    else
        for (Py_ssize_t s = 0; s < n; s++)
            out[s] = by->map == P_NORM ? theta[s] * w[s] : w[s];
}

WIDE static void map_entries(const Link *by, Py_ssize_t n, const double *theta, double *w)
{
    images(by, n, theta, w);
}

WIDE static double sum_of_shares(const Link *by, Py_ssize_t n, const double *theta, const double *w)
{
    double share[BATCH];
    shares(by, n, theta, w, share);
    return sum_in_lanes(n, share);
}

/* theta += step, and w with it; returns by how much the sum of the shares grows. */
WIDE static double step_entries(const Link *by, Py_ssize_t n, const double *restrict step, double *restrict theta,
                                double *restrict w)
{
    double before[BATCH], after[BATCH];
    shares(by, n, theta, w, before);
    for (Py_ssize_t s = 0; s < n; s++)
        theta[s] += step[s];
    images(by, n, theta, w);
    shares(by, n, theta, w, after);
    for (Py_ssize_t s = 0; s < n; s++)
        after[s] -= before[s];
    return sum_in_lanes(n, after);
}
