/* Loops over the support vectors. */
#include "exponential.h"
#include "wide.h"
#include <math.h>

/* Arrays that are the same or apart: no entry of a loop waits for another. */
#if defined(__GNUC__) && !defined(__clang__)
#define ELEMENTWISE _Pragma("GCC ivdep")
#else
#define ELEMENTWISE
#endif

/* What sums of a row of norm `norm` begin with. */
WIDEST static void add_norms(Py_ssize_t n, double norm, const double *restrict norms, double *restrict out)
{
    for (Py_ssize_t s = 0; s < n; s++)
        out[s] = norm + norms[s];
}

/* out += a x. */
WIDEST static void add_column(Py_ssize_t n, double a, const double *restrict x, double *restrict out)
{
    for (Py_ssize_t s = 0; s < n; s++)
        out[s] += a * x[s];
}

/* out = norm + norms, which may be out itself, and eight columns: out is written once for all of them. */
WIDEST static void add_eight_columns(Py_ssize_t n, double norm, const double *norms, const double *a,
                                     const double *const *x, double *out)
{
    const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5], a6 = a[6], a7 = a[7];
    const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3], *x4 = x[4], *x5 = x[5], *x6 = x[6], *x7 = x[7];
    ELEMENTWISE
    for (Py_ssize_t s = 0; s < n; s++) {
        double sum = norm + norms[s];
        sum += a0 * x0[s];
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

/* The sum of eight lanes. */
static inline double sum_of_lanes(const double *x)
{
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
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
    return sum_of_lanes(lanes);
}

WIDEST static void scale_all(Py_ssize_t n, double factor, double *restrict x)
{
    for (Py_ssize_t s = 0; s < n; s++)
        x[s] = factor * x[s] + 0.0; /* a zero has no sign */
}

/* x <- exp(-g |x|), for a distance of which rounding may have left less than 0. Two loops: in one the steps of an
   entry are too many in a row for the processor to be at work on several. */
WIDEST static void decaying(Py_ssize_t n, double g, double *restrict x)
{
    const double rate = -g * LOG2_E, far = -1023 / rate;
    for (Py_ssize_t s = 0; s < n; s++) {
        double d = fabs(x[s]);
        x[s] = rate * (d < far ? d : far);
    }
    for (Py_ssize_t s = 0; s < n; s++)
        x[s] = power_of_two(x[s]);
}

/* x <- (x + c)^degree, at most 1e200 in size. */
WIDEST static void polynomial(Py_ssize_t n, double c, int degree, double *restrict x)
{
    for (Py_ssize_t s = 0; s < n; s++) {
        double base = x[s] + c, value = 1;
        for (int power = 0; power < degree; power++) {
            value *= base;
            value = value > 1e200 ? 1e200 : value < -1e200 ? -1e200 : value;
        }
        x[s] = value;
    }
}

/* x <- x / (|x| |z|), 0 where one of them is 0. */
WIDEST static void cosine(Py_ssize_t n, double norm2, const double *restrict norms, double *restrict x)
{
    double length = sqrt(norm2);
    for (Py_ssize_t s = 0; s < n; s++) {
        double both = length * sqrt(norms[s]);
        x[s] = both > 0 ? x[s] / both : 0;
    }
}

/* p <- 1 - factor size length, at least 0; and the sum of them. */
WIDEST static double chances(Py_ssize_t n, double factor, const double *restrict size, const double *restrict length,
                             double *restrict p)
{
    double lanes[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    Py_ssize_t s = 0;
    for (; s < n; s++) {
        double chance = 1 - factor * (size[s] * length[s]);
        p[s] = chance > 0 ? chance : 0;
    }
    for (s = 0; s + 8 <= n; s += 8)
        for (int i = 0; i < 8; i++)
            lanes[i] += p[s + i];
    for (int i = 0; s < n; s++, i++)
        lanes[i] += p[s];
    return sum_of_lanes(lanes);
}

/* p <- 1 / (1 - p), by which a coefficient grows, or less where it would pass the most. */
WIDEST static void growth(Py_ssize_t n, double most, const double *restrict size, double *restrict p)
{
    for (Py_ssize_t s = 0; s < n; s++) {
        double factor = 1 / (1 - p[s]);
        p[s] = size[s] * factor > most ? most / size[s] : factor;
    }
}

WIDEST static void multiply_each(Py_ssize_t n, const double *restrict factor, double *restrict x)
{
    for (Py_ssize_t s = 0; s < n; s++)
        x[s] *= factor[s];
}
