/* The entries of a row in batches, as arrays that are worked on four at a time. */
#ifndef SERIATIM_ENTRIES_H
#define SERIATIM_ENTRIES_H
#include "wide.h"
#include <math.h>
#include <string.h>

#define BATCH 128 /* entries at most: four exponentials, roots and quotients cost little more than one */

/* The records of n entries from entry i on. */
static inline void take_records(const int *index, Py_ssize_t i, Py_ssize_t n, int *restrict record)
{
    if (index)
        for (Py_ssize_t s = 0; s < n; s++)
            record[s] = index[i + s] + 1;
    else
        for (Py_ssize_t s = 0; s < n; s++)
            record[s] = (int)(i + s + 1);
}

/* a times each value from entry i on, -1 being the constant's, and the record of each; without those that are at most
   `least` in size. Moves i on, and returns how many there are. Seldom is a value 0, and all are taken as they come. */
WIDE static Py_ssize_t take_entries(const int *index, const double *value, double constant, Py_ssize_t n, Py_ssize_t *i,
                                    double a, double least, double *restrict step, int *restrict record)
{
    Py_ssize_t m = 0, s, kept = 0, size;
    long long small = 0;
    if (*i < 0) {
        step[m] = a * constant;
        record[m++] = 0;
        ++*i;
    }
    size = n - *i < BATCH - m ? n - *i : BATCH - m;
    for (s = 0; s < size; s++)
        step[m + s] = a * value[*i + s];
    take_records(index, *i, size, record + m);
    *i += size;
    m += size;
    for (s = 0; s < m; s++)
        small |= fabs(step[s]) <= least;
    if (!small)
        return m;
    for (s = 0; s < m; s++) {
        step[kept] = step[s];
        record[kept] = record[s];
        kept += fabs(step[s]) > least;
    }
    return kept;
}

#endif
