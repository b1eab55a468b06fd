/* Products of matrices, each sum in the order of its terms: zeros at the end of the sum, or left out, change no bit. */
#include "four.h"
#include "wide.h"

/* out[a][b] = sum over i of P[i][a] Q[i][b]; i < n, a < rows, b < columns; p, q and o numbers from line to line. */
WIDE static void sums_of_products(Py_ssize_t n, Py_ssize_t rows, Py_ssize_t columns, const double *restrict P,
                                  Py_ssize_t p, const double *restrict Q, Py_ssize_t q, double *restrict out,
                                  Py_ssize_t o)
{
    Py_ssize_t a, b, i;
    for (b = 0; b + 8 <= columns; b += 8) {
        for (a = 0; a + 4 <= rows; a += 4) {
            four s0 = {0, 0, 0, 0}, s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
            const double *x = P + a, *y = Q + b;
            for (i = 0; i < n; i++, x += p, y += q) {
                const four u = FOUR(y), v = FOUR(y + 4);
                s0 += x[0] * u;
                t0 += x[0] * v;
                s1 += x[1] * u;
                t1 += x[1] * v;
                s2 += x[2] * u;
                t2 += x[2] * v;
                s3 += x[3] * u;
                t3 += x[3] * v;
            }
            double *z = out + a * o + b;
            FOUR(z) = s0;
            FOUR(z + 4) = t0;
            FOUR(z + o) = s1;
            FOUR(z + o + 4) = t1;
            FOUR(z + 2 * o) = s2;
            FOUR(z + 2 * o + 4) = t2;
            FOUR(z + 3 * o) = s3;
            FOUR(z + 3 * o + 4) = t3;
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

/* The sum of x^2, in four lanes. */
WIDE static double square_of_line(Py_ssize_t n, const double *x)
{
    four lanes = {0, 0, 0, 0};
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4)
        lanes += FOUR(x + i) * FOUR(x + i);
    for (int lane = 0; i < n; i++, lane++)
        lanes[lane] += x[i] * x[i];
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}
