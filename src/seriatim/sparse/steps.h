/* Steps of the sparse learners over a batch of features, gathered from their records. */
#include "entries.h"
#include "four.h"
#include "lanes.h"
#include "wide.h"
#include <math.h>

#define RECORD(s) (*(four_anywhere *) (table + 4 * record[s]))
#define FIELD(f) (*(four_anywhere *) (fields[f] + s))

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
static inline void follow(Py_ssize_t m, const double *restrict g, double *restrict w, double *restrict z,
                          double *restrict root, double *restrict n, double l1, double slower, double least)
{
    for (Py_ssize_t s = 0; s < m; s++) {
        double before = root[s];
        n[s] = within_range(n[s] + g[s] * g[s]);
        root[s] = sqrt(n[s]);
        z[s] += g[s] - (root[s] - before) * slower * w[s];
        w[s] = soft(-z[s], l1) / (least + root[s] * slower);
    }
}

/* The same in records of w, z, root and n. Where there is one class a record is four numbers in a row, and four of them
   are turned into columns and back in registers. */
WIDE static void follow_leader(Py_ssize_t m, const double *g, const int *record, double *table, Py_ssize_t classes,
                               double l1, double slower, double least)
{
    double fields[4][BATCH];
    Py_ssize_t s = 0, whole = classes == 1 ? m / 4 * 4 : 0;
    for (; s < whole; s += 4) {
        four a = RECORD(s), b = RECORD(s + 1), c = RECORD(s + 2), d = RECORD(s + 3);
        TURN(a, b, c, d);
        FIELD(0) = a, FIELD(1) = b, FIELD(2) = c, FIELD(3) = d;
    }
    for (; s < m; s++)
        for (int f = 0; f < 4; f++)
            fields[f][s] = table[(4 * record[s] + f) * classes];
    follow(m, g, fields[0], fields[1], fields[2], fields[3], l1, slower, least);
    for (s = 0; s < whole; s += 4) {
        four a = FIELD(0), b = FIELD(1), c = FIELD(2), d = FIELD(3);
        TURN(a, b, c, d);
        RECORD(s) = a, RECORD(s + 1) = b, RECORD(s + 2) = c, RECORD(s + 3) = d;
    }
    for (; s < m; s++)
        for (int f = 0; f < 4; f++)
            table[(4 * record[s] + f) * classes] = fields[f][s];
}
