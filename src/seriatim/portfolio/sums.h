/* Sums over days and over sampled portfolios. Each is compiled twice on x86, for four numbers at a time and for two, and
   the machine chooses: lane by lane the arithmetic is the same, and so are the bits. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

typedef double four __attribute__((vector_size(32), aligned(8)));

#define LANES 32 /* sampled portfolios that are gone through together */

/* The sum of a x, in eight lanes. */
WIDE static double dot(Py_ssize_t n, const double *a, const double *x)
{
    four first = {0, 0, 0, 0}, second = {0, 0, 0, 0};
    Py_ssize_t i = 0;
    for (; i + 8 <= n; i += 8) {
        first += *(const four *)(a + i) * *(const four *)(x + i);
        second += *(const four *)(a + i + 4) * *(const four *)(x + i + 4);
    }
    first += second;
    double sum = (first[0] + first[1]) + (first[2] + first[3]);
    for (; i < n; i++)
        sum += a[i] * x[i];
    return sum;
}

/* The sum of (a - x)^2, in four lanes. */
WIDE static double squared_distance(Py_ssize_t n, const double *a, const double *x)
{
    four lanes = {0, 0, 0, 0};
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4) {
        four apart = *(const four *)(a + i) - *(const four *)(x + i);
        lanes += apart * apart;
    }
    double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    for (; i < n; i++)
        sum += (a[i] - x[i]) * (a[i] - x[i]);
    return sum;
}

/* out += a x */
WIDE static void add(Py_ssize_t n, double a, const double *restrict x, double *restrict out)
{
    for (Py_ssize_t i = 0; i < n; i++)
        out[i] += a * x[i];
}

/* out[i] = products of each of the first n rows with x */
WIDE static void products(Py_ssize_t n, Py_ssize_t m, const double *rows, const double *x, double *restrict out)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        four lanes = {0, 0, 0, 0};
        const double *row = rows + i * m;
        Py_ssize_t j = 0;
        for (; j + 4 <= m; j += 4)
            lanes += *(const four *)(row + j) * *(const four *)(x + j);
        double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
        for (; j < m; j++)
            sum += row[j] * x[j];
        out[i] = sum;
    }
}

/* The sum of the rows, each times its share. */
WIDE static void mixture(Py_ssize_t n, Py_ssize_t m, const double *data, const Py_ssize_t *rows, const double *share,
                         double *restrict out)
{
    memset(out, 0, m * sizeof(double));
    for (Py_ssize_t i = 0; i < n; i++) {
        const double *row = data + (rows ? rows[i] : i) * m;
        const double s = share[i];
        for (Py_ssize_t j = 0; j < m; j++)
            out[j] += s * row[j];
    }
}

/* The covariances, not divided, of w centred rows with the w rows after them: out[i][j] = sum of first[k][i] second[k][j]. */
WIDE static void covariances(Py_ssize_t w, Py_ssize_t m, const double *first, const double *second, double *restrict out)
{
    memset(out, 0, m * m * sizeof(double));
    for (Py_ssize_t k = 0; k < w; k++) {
        const double *after = second + k * m;
        for (Py_ssize_t i = 0; i < m; i++) {
            const double a = first[k * m + i];
            double *restrict line = out + i * m;
            for (Py_ssize_t j = 0; j < m; j++)
                line[j] += a * after[j];
        }
    }
}

/* Some days of LANES rebalanced portfolios. points: the portfolios, asset by asset, `stride` apart. grown: their wealth
   since it was last put into logarithms; base: that before. sums: for each day the wealth times the portfolio, asset by
   asset and last the wealth itself, in four lanes each. */
WIDE static void rebalanced(Py_ssize_t days, Py_ssize_t m, const double *X, const double *points, Py_ssize_t stride,
                            const double *base, double *restrict grown, double *restrict sums)
{
    four wealth[LANES / 4], ret[LANES / 4];
    for (int k = 0; k < LANES / 4; k++)
        wealth[k] = *(const four *)(grown + 4 * k);
    for (Py_ssize_t d = 0; d < days; d++) {
        const double *x = X + d * m;
        four a = {0, 0, 0, 0}, b = a, c = a, e = a, f = a, g = a, h = a, l = a;
        for (Py_ssize_t j = 0; j < m; j++) {
            const double *p = points + j * stride;
            const double xj = x[j];
            const four v = {xj, xj, xj, xj};
            a += v * *(const four *)p;
            b += v * *(const four *)(p + 4);
            c += v * *(const four *)(p + 8);
            e += v * *(const four *)(p + 12);
            f += v * *(const four *)(p + 16);
            g += v * *(const four *)(p + 20);
            h += v * *(const four *)(p + 24);
            l += v * *(const four *)(p + 28);
        }
        ret[0] = a, ret[1] = b, ret[2] = c, ret[3] = e, ret[4] = f, ret[5] = g, ret[6] = h, ret[7] = l;
        for (int k = 0; k < LANES / 4; k++)
            wealth[k] *= ret[k];
        a = wealth[0] * *(const four *)base, b = wealth[1] * *(const four *)(base + 4);
        c = wealth[2] * *(const four *)(base + 8), e = wealth[3] * *(const four *)(base + 12);
        f = wealth[4] * *(const four *)(base + 16), g = wealth[5] * *(const four *)(base + 20);
        h = wealth[6] * *(const four *)(base + 24), l = wealth[7] * *(const four *)(base + 28);
        double *to = sums + d * 4 * (m + 1);
        for (Py_ssize_t j = 0; j < m; j++) {
            const double *p = points + j * stride;
            four lanes = a * *(const four *)p;
            four more = b * *(const four *)(p + 4);
            lanes += c * *(const four *)(p + 8);
            more += e * *(const four *)(p + 12);
            lanes += f * *(const four *)(p + 16);
            more += g * *(const four *)(p + 20);
            lanes += h * *(const four *)(p + 24);
            more += l * *(const four *)(p + 28);
            *(four *)(to + 4 * j) += lanes + more;
        }
        *(four *)(to + 4 * m) += ((a + b) + (c + e)) + ((f + g) + (h + l));
    }
    for (int k = 0; k < LANES / 4; k++)
        *(four *)(grown + 4 * k) = wealth[k];
}
