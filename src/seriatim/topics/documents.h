/* The loops over the topics of a document. A row has `width` numbers, a multiple of four: K topics, then zeros. The
   words of a document are padded to a multiple of four with count 0 and a row of ones. */
#ifndef SERIATIM_DOCUMENTS_H
#define SERIATIM_DOCUMENTS_H
#include "digamma.h"
#include "simd.h"
#include <math.h>

/* From here on n_w / norm_w is too inexact: `study_logs` takes the document. */
#define LARGEST_SHARE 1e150

/* out = exp(psi(x)) base. */
static inline void exp_digammas(Py_ssize_t n, const double *restrict x, const double *restrict base,
                                double *restrict out)
{
    for (Py_ssize_t k = 0; k < n; k++) {
        double z = exp_digamma_rest(x[k]);
        out[k] = z > -700.0 ? z : -700.0;
    }
    exponentials(n, out);
    for (Py_ssize_t k = 0; k < n; k++)
        out[k] *= (x[k] < FAR_ENOUGH ? x[k] + 8 : x[k]) * base[k];
}

/* out = exp(psi(a)). Returns the largest number. */
WIDE static double exp_digamma_row(Py_ssize_t n, const double *restrict a, const double *restrict ones,
                                   double *restrict out)
{
    double largest = 0;
    exp_digammas(n, a, ones, out);
    for (Py_ssize_t k = 0; k < n; k++)
        largest = out[k] > largest ? out[k] : largest;
    return largest;
}

WIDE static void digamma_row(Py_ssize_t n, const double *a, double *out)
{
    for (Py_ssize_t k = 0; k < n; k++)
        out[k] = digamma(a[k]);
}

/* out = constant + a x + b y; y may be NULL for 0. */
WIDE static void mixture(Py_ssize_t n, double constant, double a, const double *restrict x, double b,
                         const double *restrict y, double *restrict out)
{
    if (y)
        for (Py_ssize_t k = 0; k < n; k++)
            out[k] = constant + (a * x[k] + b * y[k]);
    else
        for (Py_ssize_t k = 0; k < n; k++)
            out[k] = constant + a * x[k];
}

WIDE static void add_multiple_of(Py_ssize_t n, double a, const double *restrict x, double *restrict out)
{
    for (Py_ssize_t k = 0; k < n; k++)
        out[k] += a * x[k];
}

static inline double in_lanes(const double *lane)
{
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/* norm_w = sum_k theta_k beta_kw, four words at a time, with four partial sums each; sum = sum_w n_w / norm_w row_w.
   Returns 0 if a quotient is too large or NaN. */
static inline int weigh_words(Py_ssize_t width, Py_ssize_t n, const double *const *row, const double *count,
                              const double *theta, double *norm, double *sum)
{
    four zero = {0, 0, 0, 0}, shares = zero;
    for (Py_ssize_t k = 0; k < width; k += 4)
        FOUR(sum + k) = zero;
    for (Py_ssize_t w = 0; w < n; w += 4) {
        const double *a = row[w], *b = row[w + 1], *c = row[w + 2], *d = row[w + 3];
        four A = zero, B = zero, C = zero, D = zero, norms, share;
        for (Py_ssize_t k = 0; k < width; k += 4) {
            four t = FOUR(theta + k);
            A += t * FOUR(a + k);
            B += t * FOUR(b + k);
            C += t * FOUR(c + k);
            D += t * FOUR(d + k);
        }
        A = PICK(A, B, 0, 4, 2, 6) + PICK(A, B, 1, 5, 3, 7);
        C = PICK(C, D, 0, 4, 2, 6) + PICK(C, D, 1, 5, 3, 7);
        norms = PICK(A, C, 0, 1, 4, 5) + PICK(A, C, 2, 3, 6, 7);
        share = FOUR(count + w) / norms;
        shares += share;
        FOUR(norm + w) = norms;
        for (Py_ssize_t k = 0; k < width; k += 4)
            FOUR(sum + k) += (share[0] * FOUR(a + k) + share[1] * FOUR(b + k))
                + (share[2] * FOUR(c + k) + share[3] * FOUR(d + k));
    }
    return (shares[0] + shares[1]) + (shares[2] + shares[3]) <= LARGEST_SHARE; /* false for NaN */
}

/* Hoffman et al. (2010), the E-step of algorithm 2: gamma_k = alpha_k + theta_k sum_w n_w beta_kw / norm_w, where
   theta_k = exp(psi(gamma_k)) base_k, until the mean change of gamma is below the tolerance. The last pass computes
   theta, norm and sum for the last gamma. */
WIDE static int settle_document(Py_ssize_t topics, Py_ssize_t width, Py_ssize_t n, const double *const *row,
                                const double *restrict count, const double *restrict alpha,
                                const double *restrict base, Py_ssize_t iterations, double tolerance,
                                double *restrict gamma, double *restrict theta, double *restrict norm,
                                double *restrict sum)
{
    for (Py_ssize_t k = 0; k < width; k++)
        gamma[k] = 1;
    exp_digammas(width, gamma, base, theta);
    for (Py_ssize_t round = 0; round < iterations; round++) {
        double moved[4] = {0, 0, 0, 0};
        if (!weigh_words(width, n, row, count, theta, norm, sum))
            return 0;
        for (Py_ssize_t k = 0; k < width; k += 4)
            for (int i = 0; i < 4; i++) {
                double now = alpha[k + i] + theta[k + i] * sum[k + i];
                moved[i] += fabs(now - gamma[k + i]);
                gamma[k + i] = now;
            }
        exp_digammas(width, gamma, base, theta);
        if (in_lanes(moved) < tolerance * topics)
            break;
    }
    return weigh_words(width, n, row, count, theta, norm, sum);
}

/* to += share theta row, which is n_w phi_w of a word. */
WIDE static void add_word(Py_ssize_t n, double share, const double *restrict theta, const double *restrict row,
                          double *restrict to)
{
    for (Py_ssize_t k = 0; k < n; k++)
        to[k] += share * (theta[k] * row[k]);
}

WIDE static void add_products(Py_ssize_t n, const double *restrict x, const double *restrict y, double *restrict to)
{
    for (Py_ssize_t k = 0; k < n; k++)
        to[k] += x[k] * y[k];
}

/* sum_w n_w log norm_w. */
WIDE static double log_norms(Py_ssize_t n, const double *restrict count, const double *restrict norm)
{
    double lane[4] = {0, 0, 0, 0};
    for (Py_ssize_t w = 0; w < n; w += 4)
        for (int i = 0; i < 4; i++)
            lane[i] += count[w + i] * natural_log(norm[w + i]);
    return in_lanes(lane);
}

/* sum_k log Gamma(gamma_k) + (alpha_k - gamma_k) (psi(gamma_k) - whole). */
WIDE static double dirichlet_terms(Py_ssize_t n, const double *restrict alpha, const double *restrict gamma,
                                   double whole)
{
    double lane[4] = {0, 0, 0, 0};
    for (Py_ssize_t k = 0; k < n; k += 4)
        for (int i = 0; i < 4; i++)
            lane[i] += log_gamma(gamma[k + i]) + (alpha[k + i] - gamma[k + i]) * (digamma(gamma[k + i]) - whole);
    return in_lanes(lane);
}

/* ---- HDP: T topics of the corpus, K of a document; rows are padded to a multiple of four */

/* out_j = sum_w share_wj x_w, for each of the K topics of a document; n is a multiple of four. */
WIDE static void weighted_rows(Py_ssize_t width, Py_ssize_t K, Py_ssize_t n, const double *share, Py_ssize_t apart,
                               const double *x, double *out)
{
    memset(out, 0, K * width * sizeof(double));
    for (Py_ssize_t w = 0; w < n; w += 4) {
        const double *a = x + w * width, *b = a + width, *c = b + width, *d = c + width;
        for (Py_ssize_t j = 0; j < K; j++) {
            const double *s = share + w * apart + j;
            const double A = s[0], B = s[apart], C = s[2 * apart], D = s[3 * apart];
            double *to = out + j * width;
            for (Py_ssize_t k = 0; k < width; k += 4)
                FOUR(to + k) += (A * FOUR(a + k) + B * FOUR(b + k)) + (C * FOUR(c + k) + D * FOUR(d + k));
        }
    }
}

/* out_wj = sum_k y_jk x_wk, for each of the K (a multiple of four) topics of a document. */
WIDE static void row_products(Py_ssize_t width, Py_ssize_t K, Py_ssize_t n, const double *y, const double *x,
                              double *out)
{
    for (Py_ssize_t j = 0; j < K; j += 4) {
        const double *a = y + j * width, *b = a + width, *c = b + width, *d = c + width;
        for (Py_ssize_t w = 0; w < n; w++) {
            four zero = {0, 0, 0, 0}, A = zero, B = zero, C = zero, D = zero;
            for (Py_ssize_t k = 0; k < width; k += 4) {
                four t = FOUR(x + w * width + k);
                A += t * FOUR(a + k);
                B += t * FOUR(b + k);
                C += t * FOUR(c + k);
                D += t * FOUR(d + k);
            }
            A = PICK(A, B, 0, 4, 2, 6) + PICK(A, B, 1, 5, 3, 7);
            C = PICK(C, D, 0, 4, 2, 6) + PICK(C, D, 1, 5, 3, 7);
            FOUR(out + w * K + j) = PICK(A, C, 0, 1, 4, 5) + PICK(A, C, 2, 3, 6, 7);
        }
    }
}

/* logs = x + more - log sum exp(x + more), out = exp(logs). */
WIDE static void normalise(Py_ssize_t n, const double *x, const double *more, double *logs, double *restrict out)
{
    double lane[4] = {0, 0, 0, 0}, top = -1e308, norm;
    for (Py_ssize_t k = 0; k < n; k++) {
        logs[k] = x[k] + more[k];
        top = logs[k] > top ? logs[k] : top;
    }
    for (Py_ssize_t k = 0; k < n; k++) {
        double z = logs[k] - top;
        out[k] = z > -700.0 ? z : -700.0;
    }
    for (Py_ssize_t k = 0; k < n; k++) {
        double e = exponential_within(out[k]);
        out[k] = out[k] > -700.0 ? e : 0.0;
    }
    for (Py_ssize_t k = 0; k < n; k += 4)
        for (int i = 0; i < 4; i++)
            lane[i] += out[k + i];
    norm = in_lanes(lane);
    top += natural_log(norm);
    for (Py_ssize_t k = 0; k < n; k++) {
        logs[k] -= top;
        out[k] /= norm;
    }
}

/* sum_k p_k (a_k + b_k - logs_k); b may be NULL for 0. */
WIDE static double expected_excess(Py_ssize_t n, const double *p, const double *a, const double *b, const double *logs)
{
    double lane[4] = {0, 0, 0, 0};
    for (Py_ssize_t k = 0; k < n; k += 4)
        for (int i = 0; i < 4; i++)
            lane[i] += p[k + i] * (a[k + i] + (b ? b[k + i] : 0) - logs[k + i]);
    return in_lanes(lane);
}

#endif
