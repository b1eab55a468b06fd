/* Vectors of four doubles, and the loops over them that several families share. */
#ifndef SERIATIM_SIMD_H
#define SERIATIM_SIMD_H

/* On x86 with gcc, WIDE compiles a function for AVX2 and for SSE2, and the processor chooses. Each partial sum has the
   same terms in the same order, so the bits are the same. WIDEST adds AVX-512, for loops over hundreds of numbers. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define WIDE __attribute__((unused, target_clones("avx2", "default")))
#define WIDEST __attribute__((unused, target_clones("avx512f", "avx2", "default")))
#else
#define WIDE __attribute__((unused))
#define WIDEST WIDE
#endif

typedef double four __attribute__((vector_size(32)));
typedef double four_unaligned __attribute__((vector_size(32), aligned(8), may_alias));
#define FOUR(place) (*(four_unaligned *)(place))

#if defined(__clang__) || __GNUC__ >= 12
#define PICK(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#else
typedef long long which __attribute__((vector_size(32)));
#define PICK(x, y, a, b, c, d) __builtin_shuffle(x, y, (which) {a, b, c, d})
#endif

/* ---- products of matrices. Each sum adds its terms in order, so zeros at its end change no bit. */

/* out[a][b] = sum over i < n of P[i][a] Q[i][b] for a < rows, b < columns; p, q and o are the strides. */
WIDE static void sums_of_products(Py_ssize_t n, Py_ssize_t rows, Py_ssize_t columns, const double *restrict P,
                                  Py_ssize_t p, const double *restrict Q, Py_ssize_t q, double *restrict out,
                                  Py_ssize_t o)
{
    Py_ssize_t a, b, i;
    for (b = 0; b + 8 <= columns; b += 8) {
        for (a = 0; a + 4 <= rows; a += 4) {
            four s[4] = {{0}}, t[4] = {{0}};
            const double *x = P + a, *y = Q + b;
            for (i = 0; i < n; i++, x += p, y += q)
                for (int k = 0; k < 4; k++) {
                    s[k] += x[k] * FOUR(y);
                    t[k] += x[k] * FOUR(y + 4);
                }
            for (int k = 0; k < 4; k++) {
                FOUR(out + (a + k) * o + b) = s[k];
                FOUR(out + (a + k) * o + b + 4) = t[k];
            }
        }
        for (; a < rows; a++) {
            four s = {0, 0, 0, 0}, t = s;
            for (i = 0; i < n; i++) {
                s += P[i * p + a] * FOUR(Q + i * q + b);
                t += P[i * p + a] * FOUR(Q + i * q + b + 4);
            }
            FOUR(out + a * o + b) = s;
            FOUR(out + a * o + b + 4) = t;
        }
    }
    for (a = 0; b < columns && a < rows; a++) {
        for (Py_ssize_t c = b; c < columns; c++)
            out[a * o + c] = 0;
        for (i = 0; i < n; i++)
            for (Py_ssize_t c = b; c < columns; c++)
                out[a * o + c] += P[i * p + a] * Q[i * q + c];
    }
}

/* out += sum over k < lines of a[k] times line which[k] of X, or line k if which is NULL. */
WIDE static void add_lines(Py_ssize_t n, Py_ssize_t lines, const double *a, const int *which, const double *restrict X,
                           Py_ssize_t width, double *restrict out)
{
    Py_ssize_t i, k = 0;
    for (; k + 4 <= lines; k += 4) {
        const double a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
        const double *x0 = X + (which ? which[k] : k) * width, *x1 = X + (which ? which[k + 1] : k + 1) * width;
        const double *x2 = X + (which ? which[k + 2] : k + 2) * width, *x3 = X + (which ? which[k + 3] : k + 3) * width;
        for (i = 0; i < n; i++)
            out[i] = (((out[i] + a0 * x0[i]) + a1 * x1[i]) + a2 * x2[i]) + a3 * x3[i];
    }
    for (; k < lines; k++) {
        const double b = a[k], *x = X + (which ? which[k] : k) * width;
        for (i = 0; i < n; i++)
            out[i] += b * x[i];
    }
}

/* The sum of x^2 as four partial sums by position, so zeros at the end change no bit, unlike in `sum_of_squares`. */
WIDE static double square_of_line(Py_ssize_t n, const double *x)
{
    four s = {0, 0, 0, 0};
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4)
        s += FOUR(x + i) * FOUR(x + i);
    for (int k = 0; i < n; i++, k++)
        s[k] += x[i] * x[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* ---- columns to rows */

enum { AHEAD = 48 }; /* rows to prefetch: the processor itself follows too few columns */

static inline void transpose(four *a, four *b, four *c, four *d)
{
    const four ab = PICK(*a, *b, 0, 4, 2, 6), cd = PICK(*c, *d, 0, 4, 2, 6);
    const four AB = PICK(*a, *b, 1, 5, 3, 7), CD = PICK(*c, *d, 1, 5, 3, 7);
    *a = PICK(ab, cd, 0, 1, 4, 5);
    *b = PICK(AB, CD, 0, 1, 4, 5);
    *c = PICK(ab, cd, 2, 3, 6, 7);
    *d = PICK(AB, CD, 2, 3, 6, 7);
}

/* Write m columns as n rows, and the squared norm of each row with the bits of `sum_of_squares`. Returns whether all of
   them are at most `limit`; NaN is not. */
WIDE static int rows_of_columns(Py_ssize_t n, Py_ssize_t m, const double *const *column, double *restrict out,
                                double *restrict norm2, double limit)
{
    Py_ssize_t i = 0, j;
    int good = 1;
    for (; i + 4 <= n; i += 4) {
        four s[4] = {{0}};
        for (j = 0; j + 4 <= m; j += 4) {
            four x[4];
            for (int k = 0; k < 4; k++) {
                x[k] = FOUR(column[j + k] + i);
                __builtin_prefetch(column[j + k] + i + AHEAD);
                s[k] += x[k] * x[k];
            }
            transpose(x, x + 1, x + 2, x + 3);
            for (int k = 0; k < 4; k++)
                FOUR(out + (i + k) * m + j) = x[k];
        }
        for (; j < m; j++) {
            const four x = FOUR(column[j] + i);
            for (int k = 0; k < 4; k++)
                out[(i + k) * m + j] = x[k];
            s[0] += x * x;
        }
        s[0] = (s[0] + s[1]) + (s[2] + s[3]);
        for (int k = 0; k < 4; k++) {
            norm2[i + k] = s[0][k] < 1e-150 ? 0 : s[0][k];
            good &= s[0][k] <= limit;
        }
    }
    for (; i < n; i++) {
        double s[4] = {0, 0, 0, 0};
        for (j = 0; j < m; j++) {
            const double x = out[i * m + j] = column[j][i];
            s[j < m - m % 4 ? j % 4 : 0] += x * x;
        }
        norm2[i] = (s[0] + s[1]) + (s[2] + s[3]);
        good &= norm2[i] <= limit;
        norm2[i] = norm2[i] < 1e-150 ? 0 : norm2[i];
    }
    return good;
}

#endif
