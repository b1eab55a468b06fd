/* A table given column by column as rows, four rows and four columns at a time. */
#include "four.h"
#include "wide.h"

#define AHEAD 48 /* rows: more columns than the processor follows of its own accord are fetched so far ahead */
#define SOME(j) (*(const four_anywhere *) (column[j] + i))
#define PUT(row, x) (*(four_anywhere *) (out + (i + row) * m + j) = x)

/* n rows of m numbers, and of each its norm, as `sum_of_squares` has it to the last bit. Says whether all norms are at
   most `limit`, and so no number is NaN. */
WIDE static int rows_of_columns(Py_ssize_t n, Py_ssize_t m, const double *const *column, double *restrict out,
                                double *restrict norm2, double limit)
{
    Py_ssize_t i = 0, j;
    int good = 1;
    for (; i + 4 <= n; i += 4) {
        four s = {0, 0, 0, 0}, t = s, u = s, v = s;
        for (j = 0; j + 4 <= m; j += 4) {
            four a = SOME(j), b = SOME(j + 1), c = SOME(j + 2), d = SOME(j + 3);
            for (int k = 0; k < 4; k++)
                __builtin_prefetch(column[j + k] + i + AHEAD);
            s += a * a;
            t += b * b;
            u += c * c;
            v += d * d;
            TURN(a, b, c, d);
            PUT(0, a);
            PUT(1, b);
            PUT(2, c);
            PUT(3, d);
        }
        for (; j < m; j++) {
            const four a = SOME(j);
            for (int k = 0; k < 4; k++)
                out[(i + k) * m + j] = a[k];
            s += a * a;
        }
        s = (s + t) + (u + v);
        for (int k = 0; k < 4; k++) {
            norm2[i + k] = s[k] < 1e-150 ? 0 : s[k];
            good &= s[k] <= limit;
        }
    }
    for (; i < n; i++) {
        double s[4] = {0, 0, 0, 0};
        for (j = 0; j < m; j++) {
            const double a = out[i * m + j] = column[j][i];
            s[j < m - m % 4 ? j % 4 : 0] += a * a;
        }
        norm2[i] = (s[0] + s[1]) + (s[2] + s[3]);
        good &= norm2[i] <= limit;
        norm2[i] = norm2[i] < 1e-150 ? 0 : norm2[i];
    }
    return good;
}
