/* Loops over the support vectors. */
#include "exponential.h"
#include "wide.h"
#include <math.h>

/* out += a x, one column after another: out is read and written once for eight of them. */
WIDEST static void add_column(Py_ssize_t n, double a, const double *restrict x, double *restrict out)
{
    for (Py_ssize_t s = 0; s < n; s++)
        out[s] += a * x[s];
}

WIDEST static void add_eight_columns(Py_ssize_t n, const double *a, const double *const *x, double *restrict out)
{
    const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5], a6 = a[6], a7 = a[7];
    const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3], *x4 = x[4], *x5 = x[5], *x6 = x[6], *x7 = x[7];
    for (Py_ssize_t s = 0; s < n; s++) {
        double sum = out[s] + a0 * x0[s];
        sum += a1 * x1[s];
        sum += a2 * x2[s];
        sum += a3 * x3[s];
        sum += a4 * x4[s];
        sum += a5 * x5[s];
        sum += a6 * x6[s];
        out[s] = sum + a7 * x7[s];
    }
}

/* What a pair of values takes away from the sum of their sizes: in the distance |x - z|_1, and in chi-square's. */
static inline double apart(double x, double z)
{
    return fabs(x - z) - fabs(x) - fabs(z);
}

static inline double chi_apart(double x, double z)
{
    double both = fabs(x) + fabs(z);
    return x * z > 0 ? -4 * (x / both) * z : 0;
}

WIDEST static void add_apart(Py_ssize_t n, double a, const double *restrict x, double *restrict out)
{
    for (Py_ssize_t s = 0; s < n; s++)
        out[s] += apart(a, x[s]);
}

WIDEST static void add_chi_apart(Py_ssize_t n, double a, const double *restrict x, double *restrict out)
{
    for (Py_ssize_t s = 0; s < n; s++)
        out[s] += chi_apart(a, x[s]);
}

/* The sum of a x, in eight lanes. */
WIDEST static double sum_of_products(Py_ssize_t n, const double *restrict a, const double *restrict x)
{
    double lanes[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    Py_ssize_t s = 0;
    for (; s + 8 <= n; s += 8)
        for (int i = 0; i < 8; i++)
            lanes[i] += a[s + i] * x[s + i];
    for (int i = 0; s < n; s++, i++)
        lanes[i] += a[s] * x[s];
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

WIDEST static void scale_all(Py_ssize_t n, double factor, double *restrict x)
{
    for (Py_ssize_t s = 0; s < n; s++)
        x[s] = factor * x[s] + 0.0; /* a zero has no sign */
}

/* -g d, where rounding may have left less than 0 of d, for `exponentials`. */
static inline double decay(double g, double d)
{
    double z = -g * (d > 0 ? d : 0);
    return z > -700.0 ? z : -700.0;
}

/* exp(-g |x - z|^2) from the products x.z and the squared norms. */
WIDEST static void gaussian(Py_ssize_t n, double g, double norm2, const double *restrict norms,
                            const double *restrict products, double *restrict out)
{
    for (Py_ssize_t s = 0; s < n; s++)
        out[s] = decay(g, norm2 + norms[s] - 2 * products[s]);
    exponentials(n, out);
}

/* exp(-g d), d = the sum of the norms and of what each pair of values takes away from it. */
WIDEST static void decaying(Py_ssize_t n, double g, double norm, const double *restrict norms,
                            const double *restrict pairs, double *restrict out)
{
    for (Py_ssize_t s = 0; s < n; s++)
        out[s] = decay(g, norm + norms[s] + pairs[s]);
    exponentials(n, out);
}

/* (x.z + c)^degree, at most 1e200 in size. */
WIDEST static void polynomial(Py_ssize_t n, double c, int degree, const double *restrict products, double *restrict out)
{
    for (Py_ssize_t s = 0; s < n; s++)
        out[s] = 1;
    for (int power = 0; power < degree; power++)
        for (Py_ssize_t s = 0; s < n; s++) {
            double value = out[s] * (products[s] + c);
            out[s] = value > 1e200 ? 1e200 : value < -1e200 ? -1e200 : value;
        }
}

/* x.z / (|x| |z|), 0 where one of them is 0. */
WIDEST static void cosine(Py_ssize_t n, double norm2, const double *restrict norms, const double *restrict products,
                          double *restrict out)
{
    double length = sqrt(norm2);
    for (Py_ssize_t s = 0; s < n; s++) {
        double both = length * sqrt(norms[s]);
        out[s] = both > 0 ? products[s] / both : 0;
    }
}
