/* Loops over the support vectors. WIDEST compiles each for AVX-512, AVX2 and SSE2. All three give the same bits. */
#include "exponential.h"
#include "simd.h"
#include <math.h>

/* out = norm + norms. Distances start from these sums. */
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

/* Columns that wait until they are added to the sums. Adding eight at a time reads and writes each sum once. That saves
   up to 20% of the time of an example. */
typedef struct {
    int count;
    double a[8];
    const double *x[8];
    Py_ssize_t n[8];
} Columns;

/* out += a_0 x_0 + ... + a_7 x_7, in this order. */
WIDEST static void add_eight_columns(Py_ssize_t n, const double *a, const double *const *x,
                                     double *restrict out)
{
    const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5], a6 = a[6], a7 = a[7];
    const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3], *x4 = x[4], *x5 = x[5], *x6 = x[6], *x7 = x[7];
    for (Py_ssize_t s = 0; s < n; s++) {
        double sum = out[s];
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

static void add_waiting(Columns *waiting, double *out)
{
    Py_ssize_t done = 0;
    if (waiting->count == 8) {
        done = waiting->n[0];
        for (int i = 1; i < 8; i++)
            done = waiting->n[i] < done ? waiting->n[i] : done;
        add_eight_columns(done, waiting->a, waiting->x, out);
    }
    for (int i = 0; i < waiting->count; i++)
        if (waiting->n[i] > done)
            add_column(waiting->n[i] - done, waiting->a[i], waiting->x[i] + done, out + done);
    waiting->count = 0;
}

static inline void add_later(Columns *waiting, Py_ssize_t n, double a, const double *x, double *out)
{
    int i = waiting->count++;
    waiting->n[i] = n;
    waiting->a[i] = a;
    waiting->x[i] = x;
    if (i == 7)
        add_waiting(waiting, out);
}

/* A distance starts from the norms of x and z and changes only where both have a value. The change for one such pair,
   in |x - z|_1 and in the chi-square distance. */
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

static inline double total_of(const double *x)
{
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

/* The sum of a x, in eight partial sums. */
WIDEST static double sum_of_products(Py_ssize_t n, const double *restrict a, const double *restrict x)
{
    double sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    Py_ssize_t s = 0;
    for (; s + 8 <= n; s += 8)
        for (int i = 0; i < 8; i++)
            sums[i] += a[s + i] * x[s + i];
    for (int i = 0; s < n; s++, i++)
        sums[i] += a[s] * x[s];
    return total_of(sums);
}

WIDEST static void scale_all(Py_ssize_t n, double factor, double *restrict x)
{
    for (Py_ssize_t s = 0; s < n; s++)
        x[s] = factor * x[s] + 0.0; /* turns -0 into 0 */
}

/* x <- exp(-g |x|) for a distance x, which rounding may have made negative. A single loop takes 12% more time. */
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

/* x <- (x + c)^degree, with each product clipped to +-1e200. */
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

/* x.z <- x.z / (|x| |z|), or 0 if one of the norms is 0. */
WIDEST static void cosine(Py_ssize_t n, double norm2, const double *restrict norms, double *restrict x)
{
    double length = sqrt(norm2);
    for (Py_ssize_t s = 0; s < n; s++) {
        double both = length * sqrt(norms[s]);
        x[s] = both > 0 ? x[s] / both : 0;
    }
}

/* The sum of x, in eight partial sums. */
WIDEST static double sum_of(Py_ssize_t n, const double *restrict x)
{
    double sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    Py_ssize_t s = 0;
    for (; s + 8 <= n; s += 8)
        for (int i = 0; i < 8; i++)
            sums[i] += x[s + i];
    for (int i = 0; s < n; s++, i++)
        sums[i] += x[s];
    return total_of(sums);
}
