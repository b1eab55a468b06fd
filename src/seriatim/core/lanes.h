/* Sums in four lanes: a single one would wait for each addition. */
#ifndef SERIATIM_LANES_H
#define SERIATIM_LANES_H

static inline double sum_in_lanes(Py_ssize_t n, const double *x)
{
    double lanes[4] = {0, 0, 0, 0};
    Py_ssize_t s = 0;
    for (; s + 4 <= n; s += 4)
        for (int i = 0; i < 4; i++)
            lanes[i] += x[s + i];
    for (int i = 0; s < n; s++, i++)
        lanes[i] += x[s];
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

#endif
