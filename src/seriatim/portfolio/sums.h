/* Sums over days, assets and sampled portfolios. */
#include "four.h"
#include "wide.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

typedef long long mask __attribute__((vector_size(32)));

#define LANES 32 /* orbits of four sampled portfolios that are gone through together */

/* The sum of a x, in eight lanes. */
WIDE static double dot(Py_ssize_t n, const double *a, const double *x)
{
    four first = {0, 0, 0, 0}, second = {0, 0, 0, 0};
    Py_ssize_t i = 0;
    for (; i + 8 <= n; i += 8) {
        first += FOUR(a + i) * FOUR(x + i);
        second += FOUR(a + i + 4) * FOUR(x + i + 4);
    }
    first += second;
    double sum = (first[0] + first[1]) + (first[2] + first[3]);
    for (; i < n; i++)
        sum += a[i] * x[i];
    return sum;
}

/* How many numbers are missing, below 1/2, above 2, and no relatives: beyond these, squares and products would leave the
   doubles. */
WIDE static void count_relatives(Py_ssize_t n, const double *x, long long *missing, long long *low, long long *high,
                                 long long *wild)
{
    long long none = 0, below = 0, above = 0, beyond = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        none += x[i] != x[i];
        below += x[i] < 0.5;
        above += x[i] > 2;
        beyond += (x[i] <= 1e-50) | (x[i] >= 1e50);
    }
    *missing = none, *low = below, *high = above, *wild = beyond;
}

/* The sum of (a - x)^2, in four lanes. */
WIDE static double squared_distance(Py_ssize_t n, const double *a, const double *x)
{
    four lanes = {0, 0, 0, 0};
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4) {
        four apart = FOUR(a + i) - FOUR(x + i);
        lanes += apart * apart;
    }
    double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    for (; i < n; i++)
        sum += (a[i] - x[i]) * (a[i] - x[i]);
    return sum;
}

/* held becomes held x; its sum, in four lanes. */
WIDE static double grow(Py_ssize_t n, double *held, const double *x)
{
    four lanes = {0, 0, 0, 0};
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4) {
        four now = FOUR(held + i) * FOUR(x + i);
        FOUR(held + i) = now;
        lanes += now;
    }
    double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    for (; i < n; i++)
        sum += held[i] *= x[i];
    return sum;
}

/* The sum of |b - a x scale|, in four lanes: what is moved when what became of a is to be b. */
WIDE static double moved(Py_ssize_t n, const double *b, const double *a, const double *x, double scale)
{
    const mask size = {0x7fffffffffffffff, 0x7fffffffffffffff, 0x7fffffffffffffff, 0x7fffffffffffffff};
    const four by = {scale, scale, scale, scale};
    four lanes = {0, 0, 0, 0};
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4) {
        four apart = FOUR(b + i) - FOUR(a + i) * FOUR(x + i) * by;
        lanes += (four)((mask)apart & size);
    }
    double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    for (; i < n; i++)
        sum += fabs(b[i] - a[i] * x[i] * scale);
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
            lanes += FOUR(row + j) * FOUR(x + j);
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

#define ACROSS 12 /* assets that are gone through together; rows of Anticor are filled up to a multiple of it */

/* Rows less their means, and the root of the sum of squares of what is left; with `first`, the sum of its products with
   that, too. Beyond the m assets all stays 0. */
static inline void centre(Py_ssize_t w, Py_ssize_t m, Py_ssize_t wide, const double *restrict logs,
                          double *restrict out, double *restrict means, double *restrict size,
                          const double *restrict first, double *restrict back)
{
    for (Py_ssize_t j = 0; j < m; j++)
        means[j] = size[j] = 0;
    for (Py_ssize_t k = 0; k < w; k++)
        for (Py_ssize_t j = 0; j < m; j++)
            means[j] += logs[k * m + j];
    for (Py_ssize_t j = 0; j < m; j++)
        means[j] /= w;
    for (Py_ssize_t k = 0; k < w; k++)
        for (Py_ssize_t j = 0; j < m; j++) {
            double apart = logs[k * m + j] - means[j];
            out[k * wide + j] = apart;
            size[j] += apart * apart;
            if (first)
                back[j] += first[k * wide + j] * apart;
        }
    for (Py_ssize_t j = 0; j < m; j++)
        size[j] = sqrt(size[j]);
}

/* What asset i has in common with each asset that comes after: the sums of first[k][i] second[k][j], for two assets. */
static inline void follow(Py_ssize_t w, Py_ssize_t wide, const double *first, const double *second, Py_ssize_t i,
                          Py_ssize_t other, double *restrict line, double *restrict other_line)
{
    for (Py_ssize_t j = 0; j < wide; j += ACROSS) {
        four a = {0, 0, 0, 0}, b = a, c = a, d = a, e = a, f = a;
        for (Py_ssize_t k = 0; k < w; k++) {
            const double *z = second + k * wide + j;
            const double one = first[k * wide + i], two = first[k * wide + other];
            const four x = {one, one, one, one}, y = {two, two, two, two};
            a += x * FOUR(z);
            b += x * FOUR(z + 4);
            c += x * FOUR(z + 8);
            d += y * FOUR(z);
            e += y * FOUR(z + 4);
            f += y * FOUR(z + 8);
        }
        FOUR(line + j) = a, FOUR(line + j + 4) = b, FOUR(line + j + 8) = c;
        FOUR(other_line + j) = d, FOUR(other_line + j + 4) = e, FOUR(other_line + j + 8) = f;
    }
}

/* What asset i gives to each other, in proportion to their claims on it, is added to `came`. */
static inline void give(Py_ssize_t wide, Py_ssize_t i, double *restrict line, const double *means, const double *size1,
                        const double *size2, const double *back, double *restrict b, double *restrict came)
{
    const double mean = means[i], scale = size1[i], own = back[i];
    const four zero = {0, 0, 0, 0}, mine = {mean, mean, mean, mean}, by = {scale, scale, scale, scale};
    const four mine_back = {own, own, own, own};
    four sums[ACROSS / 4] = {zero, zero, zero};
    for (Py_ssize_t j = 0; j < wide; j += ACROSS)
        for (int k = 0; k < ACROSS / 4; k++) { /* three sums, so that none waits for itself */
            const Py_ssize_t at = j + 4 * k;
            four correlation = FOUR(line + at) * by * FOUR(size2 + at);
            mask claims = (correlation > zero) & (mine >= FOUR(means + at));
            four claim = (four)((mask)(correlation + mine_back + FOUR(back + at)) & claims);
            FOUR(line + at) = claim;
            sums[k] += claim;
        }
    four sum = (sums[0] + sums[1]) + sums[2];
    double total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    if (total > 0) {
        double share = b[i] / total;
        for (Py_ssize_t j = 0; j < wide; j++)
            came[j] += share * line[j];
        b[i] = 0;
    }
}

/* Anticor's step of one expert: logs are the last 2w rows of m log-relatives. room: 2w + 7 rows of `wide` numbers, all
   of them 0 beyond the m assets. */
WIDE static void anticor(Py_ssize_t w, Py_ssize_t m, Py_ssize_t wide, const double *logs, double *restrict room,
                         Py_ssize_t *restrict owned, double *restrict b)
{
    double *first = room, *second = first + w * wide, *size1 = second + w * wide, *size2 = size1 + wide;
    double *means = size2 + wide, *back = means + wide, *line = back + wide, *other = line + wide, *came = other + wide;
    Py_ssize_t n = 0;
    memset(size1, 0, 7 * wide * sizeof(double));
    centre(w, m, wide, logs, first, means, size1, NULL, NULL);
    centre(w, m, wide, logs + w * m, second, means, size2, first, back);
    for (Py_ssize_t j = 0; j < m; j++) { /* one over the sizes from here on; what did not move is like nothing */
        size1[j] = size1[j] > 0 ? 1 / size1[j] : 0;
        size2[j] = size2[j] > 0 ? 1 / size2[j] : 0;
        double against = -back[j] * size1[j] * size2[j];
        back[j] = against > 0 ? against : 0;
        if (b[j] > 0)
            owned[n++] = j;
    }
    for (Py_ssize_t k = 0; k < n; k += 2) {
        Py_ssize_t i = owned[k], next = k + 1 < n ? owned[k + 1] : i;
        follow(w, wide, first, second, i, next, line, other);
        give(wide, i, line, means, size1, size2, back, b, came);
        if (next != i)
            give(wide, next, other, means, size1, size2, back, b, came);
    }
    double sum = 0;
    for (Py_ssize_t j = 0; j < m; j++) {
        b[j] += came[j];
        sum += b[j];
    }
    for (Py_ssize_t j = 0; j < m; j++)
        b[j] /= sum;
}

/* Four numbers of four portfolios, of which each is the first with its assets exchanged in pairs: their sums and
   differences, by which they are told apart. Twice over it is four times the numbers. */
static inline void hadamard(four *a, four *b, four *c, four *d)
{
    const four p = *a + *b, q = *a - *b, r = *c + *d, s = *c - *d;
    *a = p + r, *b = q + s, *c = p - r, *d = q - s;
}

/* Some days of LANES orbits of rebalanced portfolios. points: for each orbit the transforms of four assets and four
   assets, all firsts, all seconds ...; then, of the assets that are left over, the shares in each of its four. X: the
   days in the same way, over 4. grown: the wealth of all firsts, all seconds ... since it was last put into logarithms;
   base: that before. sums: for each day the wealth times the portfolio, in the order of X, and last the wealth itself,
   in four lanes each. */
WIDE static void rebalanced(Py_ssize_t days, Py_ssize_t fours, Py_ssize_t rest, const double *X, const double *points,
                            const double *base, double *restrict grown, double *restrict sums)
{
    enum { EACH = LANES / 4 };
    const double *left = points + 4 * fours * LANES;
    four wealth[4 * EACH], now[4 * EACH];
    memcpy(wealth, grown, sizeof wealth);
    for (Py_ssize_t d = 0; d < days; d++) {
        const double *x = X + d * (4 * fours + rest);
        double *to = sums + d * 4 * (4 * fours + rest + 1);
        for (int h = 0; h < 4; h++) {
            four a = {0, 0, 0, 0}, b = a, c = a, e = a, f = a, i = a, j = a, l = a;
            for (Py_ssize_t q = h * fours; q < (h + 1) * fours; q++) {
                const double *p = points + q * LANES;
                const four v = {x[q], x[q], x[q], x[q]};
                a += v * FOUR(p);
                b += v * FOUR(p + 4);
                c += v * FOUR(p + 8);
                e += v * FOUR(p + 12);
                f += v * FOUR(p + 16);
                i += v * FOUR(p + 20);
                j += v * FOUR(p + 24);
                l += v * FOUR(p + 28);
            }
            four *at = now + h * EACH;
            at[0] = a, at[1] = b, at[2] = c, at[3] = e, at[4] = f, at[5] = i, at[6] = j, at[7] = l;
        }
        for (int k = 0; k < EACH; k++)
            hadamard(now + k, now + EACH + k, now + 2 * EACH + k, now + 3 * EACH + k);
        for (Py_ssize_t j = 0; j < rest; j++)
            for (int k = 0; k < 4 * EACH; k++)
                now[k] += x[4 * fours + j] * FOUR(left + 4 * (j * LANES + k));
        for (int k = 0; k < 4 * EACH; k++) {
            wealth[k] *= now[k];
            now[k] = wealth[k] * FOUR(base + 4 * k);
        }
        for (Py_ssize_t j = 0; j < rest; j++) {
            four lanes = {0, 0, 0, 0};
            for (int k = 0; k < 4 * EACH; k++)
                lanes += now[k] * FOUR(left + 4 * (j * LANES + k));
            FOUR(to + 4 * (4 * fours + j)) += lanes;
        }
        for (int k = 0; k < EACH; k++)
            hadamard(now + k, now + EACH + k, now + 2 * EACH + k, now + 3 * EACH + k);
        for (int h = 0; h < 4; h++) {
            const four *at = now + h * EACH;
            const four a = at[0], b = at[1], c = at[2], e = at[3], f = at[4], i = at[5], j = at[6], l = at[7];
            for (Py_ssize_t q = h * fours; q < (h + 1) * fours; q++) {
                const double *p = points + q * LANES;
                four lanes = a * FOUR(p), more = b * FOUR(p + 4);
                lanes += c * FOUR(p + 8);
                more += e * FOUR(p + 12);
                lanes += f * FOUR(p + 16);
                more += i * FOUR(p + 20);
                lanes += j * FOUR(p + 24);
                more += l * FOUR(p + 28);
                FOUR(to + 4 * q) += lanes + more;
            }
        }
        four total = now[0];
        for (int k = 1; k < EACH; k++)
            total += now[k];
        FOUR(to + 4 * (4 * fours + rest)) += total;
    }
    memcpy(grown, wealth, sizeof wealth);
}
