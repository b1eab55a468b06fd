/* The maps of mirror descent, w = h(theta) entry by entry, over a batch of entries. An entry's share is what it adds to
   the sum that all of them have in common, and follows from theta and w alone: what is taken out of the sum is to the
   last bit what was added. */
#include "entries.h"
#include "exponential.h"
#include "lanes.h"
#include "wide.h"
#include <math.h>

enum Map { P_NORM, ENTROPY, PLUS_MINUS };

typedef struct {
    int map;
    double power; /* p - 1 */
    double shift; /* exponentials are of theta - shift */
    double floor; /* exp(-2 shift), the product of both exponentials */
} Link;

/* w <- |theta|^exponent, by products where the exponent is a small whole number, as it mostly is. */
static inline void powers(Py_ssize_t n, double exponent, const double *restrict theta, double *restrict w)
{
    double base[BATCH];
    int whole = exponent < 100 ? (int)exponent : 0;
    for (Py_ssize_t s = 0; s < n; s++)
        base[s] = fabs(theta[s]);
    if (whole != exponent) {
        for (Py_ssize_t s = 0; s < n; s++)
            w[s] = pow(base[s], exponent);
        return;
    }
    for (Py_ssize_t s = 0; s < n; s++)
        w[s] = whole & 1 ? base[s] : 1;
    while (whole >>= 1)
        for (Py_ssize_t s = 0; s < n; s++) {
            base[s] *= base[s];
            w[s] = whole & 1 ? w[s] * base[s] : w[s];
        }
}

static inline double power(double base, double exponent)
{
    double result;
    powers(1, exponent, &base, &result);
    return result;
}

/* w = h(theta). */
static inline void images(const Link *by, Py_ssize_t n, const double *restrict theta, double *restrict w)
{
    if (by->map == P_NORM)
        powers(n, by->power, theta, w);
    else {
        for (Py_ssize_t s = 0; s < n; s++)
            w[s] = exponent((by->map == ENTROPY ? theta[s] : fabs(theta[s])) - by->shift);
        exponentials(n, w);
    }
    if (by->map == PLUS_MINUS)
        for (Py_ssize_t s = 0; s < n; s++) {
            double smaller = by->floor / w[s];
            w[s] = w[s] > 1e-140 ? w[s] - smaller : w[s];
        }
    if (by->map != ENTROPY)
        for (Py_ssize_t s = 0; s < n; s++)
            w[s] = copysign(w[s], theta[s]);
}

static inline double share(const Link *by, double theta, double w)
{
    if (by->map == PLUS_MINUS) { /* w is the difference of the exponentials, and the floor their product */
        double size = fabs(w) > 1e-140 ? w : 0; /* squares of less are denormal, and slow; the sum is large */
        return sqrt(size * size + 4 * by->floor);
    }
    return by->map == P_NORM ? theta * w : w;
}

/* By which an entry is large: those of exp(theta) alone have no lower bound. */
static inline double size_of(const Link *by, double theta)
{
    return by->map == ENTROPY ? theta : fabs(theta);
}

WIDE static void map_entries(const Link *by, Py_ssize_t n, const double *theta, double *w)
{
    images(by, n, theta, w);
}

WIDE static double sum_of_shares(const Link *by, Py_ssize_t n, const double *theta, const double *w)
{
    double part[BATCH];
    for (Py_ssize_t s = 0; s < n; s++)
        part[s] = share(by, theta[s], w[s]);
    return sum_in_lanes(n, part);
}

/* theta += step, `at` numbers after w in each record, and w with it; returns by how much the sum of the shares grows.
   `top` is the largest entry so far, and `before` receives what the weights were, unless it is NULL. */
WIDE static double step_entries(const Link *by, Py_ssize_t n, double *restrict step, const int *record, double *table,
                                Py_ssize_t width, Py_ssize_t at, double *restrict before, double *top)
{
    double theta[BATCH], w[BATCH], part[BATCH], most = *top;
    long long larger = 0;
    Py_ssize_t s, whole = (n + 3) / 4 * 4;
    for (s = 0; s < n; s++) {
        w[s] = table[record[s] * width];
        theta[s] = table[record[s] * width + at];
    }
    for (; s < whole; s++) /* entries that do not count: a loop over what is left would take as long as all the others */
        w[s] = w[0], theta[s] = theta[0], step[s] = 0;
    if (before)
        memcpy(before, w, n * sizeof *w);
    for (s = 0; s < whole; s++) {
        part[s] = share(by, theta[s], w[s]);
        theta[s] += step[s];
        larger |= size_of(by, theta[s]) > most;
    }
    images(by, whole, theta, w);
    for (s = 0; s < whole; s++)
        part[s] = share(by, theta[s], w[s]) - part[s];
    for (s = 0; s < n; s++) {
        table[record[s] * width] = w[s];
        table[record[s] * width + at] = theta[s];
    }
    for (s = 0; s < n && larger; s++)
        *top = size_of(by, theta[s]) > *top ? size_of(by, theta[s]) : *top;
    return sum_in_lanes(n, part);
}
