/* Steps of the sparse learners over a batch of features, gathered from their records. */
#include "entries.h"
#include "four.h"
#include "lanes.h"
#include "wide.h"
#include <math.h>

#define RECORD(s) FOUR(table + 4 * record[s])
#define FIELD(f) FOUR(fields[f] + s)

/* [1 - cut / |c|]+, of squares; 0 where c = 0, which makes it NaN. */
static inline double left_of(double norm2, double cut2)
{
    double left = 1 - sqrt(cut2 / norm2);
    return left > 0 ? left : 0;
}

/* The sum of x w times what is left of the group of each. */
static inline double sum_of_left(Py_ssize_t n, const double *restrict x, const double *restrict w,
                                 const double *restrict norm2, const double *restrict cut2)
{
    double part[BATCH];
    for (Py_ssize_t s = 0; s < n; s++)
        part[s] = x[s] * (w[s] * left_of(norm2[s], cut2[s]));
    return sum_in_lanes(n, part);
}

WIDE static double product_of_left(Py_ssize_t n, const double *x, const double *w, const double *norm2,
                                   const double *cut2)
{
    return sum_of_left(n, x, w, norm2, cut2);
}

/* The groups of records where they are blocks of columns, -1 for the constant. The quotient is never so near to a whole
   number that rounding could tell. */
static inline void blocks_of(Py_ssize_t n, const int *restrict record, Py_ssize_t block, int *restrict group)
{
    double share = 1.0 / block, first = block - 0.5;
    for (Py_ssize_t s = 0; s < n; s++)
        group[s] = (int)((record[s] + first) * share) - 1;
}

WIDE static void find_blocks(Py_ssize_t n, const int *record, Py_ssize_t block, int *group)
{
    blocks_of(n, record, block, group);
}

/* The same sum where the groups are blocks, from entry i of a row on; a squared norm is in two parts, `apart` numbers
   from each other. */
WIDE static double product_of_blocks(Py_ssize_t n, const double *x, const int *index, Py_ssize_t i, const double *G,
                                     Py_ssize_t width, const double *norms, Py_ssize_t step, Py_ssize_t apart,
                                     Py_ssize_t block, double cut2)
{
    double w[BATCH], norm2[BATCH], cuts2[BATCH];
    int record[BATCH], group[BATCH];
    take_records(index, i, n, record);
    blocks_of(n, record, block, group);
    for (Py_ssize_t s = 0; s < n; s++)
        w[s] = G[record[s] * width];
    for (Py_ssize_t s = 0; s < n; s++)
        norm2[s] = norms[group[s] * step] + norms[group[s] * step + apart];
    for (Py_ssize_t s = 0; s < n; s++)
        cuts2[s] = cut2;
    return sum_of_left(n, x + i, w, norm2, cuts2);
}

/* And where each record has its own, `at` and at + 1 numbers after G. */
WIDE static double product_of_records(Py_ssize_t n, const double *x, const int *index, Py_ssize_t i, const double *G,
                                      Py_ssize_t width, Py_ssize_t at, double cut2)
{
    double w[BATCH], norm2[BATCH], cuts2[BATCH];
    int record[BATCH];
    take_records(index, i, n, record);
    for (Py_ssize_t s = 0; s < n; s++) {
        const double *own = G + record[s] * width;
        w[s] = own[0];
        norm2[s] = own[at] + own[at + 1];
        cuts2[s] = cut2;
    }
    return sum_of_left(n, x + i, w, norm2, cuts2);
}

/* Squares are taken of G times this, exactly: no run that diverges takes their sums out of the range of numbers. */
#define UNIT 0x1p-64

/* A sum of squares in which old^2 becomes new^2. `rest` is what the additions have rounded away (Neumaier), so the sum is
   as exact as if it were made anew: a square that is taken out again is, bit by bit, the one that went in. */
static inline void move_square(double *sum, double *rest, double old, double new)
{
    double in = (UNIT * new) * (UNIT * new), out = -(UNIT * old) * (UNIT * old);
    double total = *sum + in, part = total - *sum, less = total + out;
    double lost = *rest + ((*sum - (total - part)) + (in - part));
    part = less - total;
    *rest = lost + ((total - (less - part)) + (out - part));
    *sum = less;
}

/* A step of the sums G, in records that have the sum of their squares, and its rest, `at` numbers further on. */
WIDE static void step_with_square(Py_ssize_t n, const double *restrict g, const int *record, double *table,
                                  Py_ssize_t width, Py_ssize_t at)
{
    double old[BATCH], sum[BATCH], rest[BATCH];
    for (Py_ssize_t s = 0; s < n; s++) {
        old[s] = table[record[s] * width];
        sum[s] = table[record[s] * width + at];
        rest[s] = table[record[s] * width + at + 1];
    }
    for (Py_ssize_t s = 0; s < n; s++)
        move_square(sum + s, rest + s, old[s], old[s] + g[s]);
    for (Py_ssize_t s = 0; s < n; s++) {
        table[record[s] * width] = old[s] + g[s];
        table[record[s] * width + at] = sum[s];
        table[record[s] * width + at + 1] = rest[s];
    }
}
