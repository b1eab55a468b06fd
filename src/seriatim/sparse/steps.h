/* Steps of the sparse learners over a batch of features, gathered from their records. */
#include "lanes.h"
#include "wide.h"
#include <math.h>

#define BATCH 128 /* features at most: four roots and quotients cost little more than one */

/* sgn(w) [|w| - by]+, by >= 0. Nobody could foretell a branch here; these are none, and three times as fast. */
static inline double soft(double w, double by)
{
    double most = w < by ? w : by;
    return w - (most > -by ? most : -by);
}

/* A sum of squares; no sane data reaches the bound, and fmin would be a call. */
static inline double within_range(double sum)
{
    return sum < 1e300 ? sum : 1e300;
}

/* [1 - cut / |c|]+, of squares; 0 where c = 0, which makes it NaN. */
static inline double left_of(double norm2, double cut2)
{
    double left = 1 - sqrt(cut2 / norm2);
    return left > 0 ? left : 0;
}

/* The sum of x w times what is left of the group of each. */
WIDE static double product_of_left(Py_ssize_t n, const double *restrict x, const double *restrict w,
                                   const double *restrict norm2, const double *restrict cut2)
{
    double part[BATCH];
    for (Py_ssize_t s = 0; s < n; s++)
        part[s] = x[s] * (w[s] * left_of(norm2[s], cut2[s]));
    return sum_in_lanes(n, part);
}

/* FTRL: gradients g are taken in by z, n, sqrt(n) and the weights; slower = 1 / alpha, least = beta / alpha + l2. */
WIDE static void follow_leader(Py_ssize_t m, const double *restrict g, double *restrict z, double *restrict n,
                               double *restrict root, double *restrict w, double l1, double slower, double least)
{
    for (Py_ssize_t s = 0; s < m; s++) {
        double before = root[s];
        n[s] = within_range(n[s] + g[s] * g[s]);
        root[s] = sqrt(n[s]);
        z[s] += g[s] - (root[s] - before) * slower * w[s];
        w[s] = soft(-z[s], l1) / (least + root[s] * slower);
    }
}
