"""Online latent Dirichlet allocation."""

import numpy as np

from libc.math cimport exp, fabs, fmax, log
from libc.stdlib cimport free
from libc.string cimport memcpy

from seriatim.core.random cimport random_normal
from seriatim.core.row cimport Row
from seriatim.topics.batches cimport TopicLearner, digamma, digamma_row, log_gamma

from seriatim.parameters import Number
from seriatim.topics.base import Prior, TopicModel

cdef extern from "documents.h" nogil:
    double exp_digamma_row(Py_ssize_t n, const double* a, const double* ones, double* out) noexcept
    void add_word(Py_ssize_t n, double share, const double* theta, const double* row, double* to) noexcept
    void add_products(Py_ssize_t n, const double* x, const double* y, double* to) noexcept
    int settle_document(Py_ssize_t topics, Py_ssize_t width, Py_ssize_t n, const double** row, const double* count,
                        const double* alpha, const double* base, Py_ssize_t iterations, double tolerance,
                        double* gamma, double* theta, double* norm, double* sum) noexcept
    double log_norms(Py_ssize_t n, const double* count, const double* norm) noexcept
    double dirichlet_terms(Py_ssize_t n, const double* alpha, const double* gamma, double whole) noexcept


cdef class LDALearner(TopicLearner):
    """The E-step: phi_wk = theta_k row_wk / norm_w with theta_k = exp(psi(gamma_k)) base_k, gamma_k = alpha_k +
    sum_w n_w phi_wk. The prepared row of a word is exp(psi(lambda_kw)); base_k = exp(-psi(sum_w lambda_kw)).
    """

    cdef Py_ssize_t iterations
    cdef double tolerance
    cdef double prior                    # log Gamma(sum alpha) - sum log Gamma(alpha)
    cdef double base_log                 # base is divided by the exponential of this number
    cdef double* alpha
    cdef double* base
    cdef double* gamma
    cdef double* theta
    cdef double* sum
    cdef double* logs                    # the logarithms of phi_w, if exponentials underflow

    def __init__(self, alpha, double eta, double kappa, double tau0, Py_ssize_t batch, total, Py_ssize_t iterations,
                 double tolerance, n_features, unsigned long long seed):
        cdef Py_ssize_t k
        TopicLearner.__init__(self, len(alpha), eta, kappa, tau0, 1, batch, total, n_features, seed)
        self.iterations, self.tolerance = iterations, tolerance
        self.alpha, self.base, self.gamma = self.new_row(), self.new_row(), self.new_row()
        self.theta, self.sum, self.logs = self.new_row(), self.new_row(), self.new_row()
        self.prior = log_gamma(np.sum(alpha))
        for k in range(self.width):
            self.alpha[k] = alpha[k] if k < self.K else 1
        for k in range(self.K):
            self.prior -= log_gamma(self.alpha[k])

    def __dealloc__(self):
        free(self.alpha)
        free(self.base)
        free(self.gamma)
        free(self.theta)
        free(self.sum)
        free(self.logs)

    cdef double first(self, Py_ssize_t k, Py_ssize_t w) noexcept nogil:
        """Gamma(100, 1/100) by Wilson and Hilferty's (1931) cube of a normal number, drawn by topic and word."""
        return (1 - 1.0 / 900 + random_normal(self.seed, w * self.K + k) / 30) ** 3

    cdef double prepare(self, const double* a, double* out) noexcept nogil:
        cdef Py_ssize_t k
        cdef double top = -1e300
        if exp_digamma_row(self.width, a, self.ones, out) > 1e-30:
            return 0
        digamma_row(self.width, a, out)
        for k in range(self.K):
            top = fmax(top, out[k])
        for k in range(self.width):
            out[k] = exp(out[k] - top) if k < self.K else 0
        return top

    cdef void weigh(self) noexcept nogil:
        cdef Py_ssize_t k
        digamma_row(self.width, self.whole, self.base)
        self.base_log = -self.base[0]
        for k in range(1, self.K):
            self.base_log = fmax(self.base_log, -self.base[k])
        for k in range(self.width):
            self.base[k] = exp(-self.base[k] - self.base_log) if k < self.K else 0

    cdef double study(self, bint learning) noexcept nogil:
        cdef Py_ssize_t i
        cdef double logs = 0
        if not self.n:
            memcpy(self.gamma, self.alpha, self.width * sizeof(double))
            return 0
        if not settle_document(self.K, self.width, self.words, self.row, self.count, self.alpha, self.base,
                               self.iterations, self.tolerance, self.gamma, self.theta, self.norm, self.sum):
            return self.study_logs(learning)
        if learning:
            for i in range(self.n):
                add_word(self.width, self.count[i] / self.norm[i], self.theta, self.row[i], self.sums_of(i))
            add_products(self.width, self.theta, self.sum, self.mass)
        if not self.asked:
            return 0
        for i in range(self.n):
            logs += self.count[i] * self.top[i]
        return self.bound(log_norms(self.words, self.count, self.norm) + logs + self.N * self.base_log)

    cdef double bound(self, double logs) noexcept nogil:
        """The bound of a document from sum_w n_w log norm_w, in which theta lacks psi(sum gamma)."""
        cdef Py_ssize_t k
        cdef double whole = 0, psi
        for k in range(self.K):
            whole += self.gamma[k]
        psi = digamma(whole)
        logs += self.prior - log_gamma(whole) - self.N * psi
        return logs + dirichlet_terms(self.width, self.alpha, self.gamma, psi)

    cdef double study_logs(self, bint learning) noexcept nogil:
        """`study` with logarithms, for a document with a word that is very unlikely in all topics."""
        cdef Py_ssize_t k, round
        cdef double moved, now
        for k in range(self.width):
            self.gamma[k] = 1
        self.weigh_logs(False)
        for round in range(self.iterations):
            moved = 0
            for k in range(self.K):
                now = self.alpha[k] + self.sum[k]
                moved += fabs(now - self.gamma[k])
                self.gamma[k] = now
            if moved < self.tolerance * self.K or round == self.iterations - 1:
                break
            self.weigh_logs(False)
        return self.bound(self.weigh_logs(learning))

    cdef double weigh_logs(self, bint learning) noexcept nogil:
        """sum = sum_w n_w phi_w; returns sum_w n_w log norm_w."""
        cdef Py_ssize_t i, k
        cdef double top, norm, now, total = 0
        cdef double* sums
        digamma_row(self.width, self.gamma, self.theta)
        digamma_row(self.width, self.whole, self.logs)
        for k in range(self.width):
            self.theta[k] -= self.logs[k]
            self.sum[k] = 0
        for i in range(self.n):
            self.parameters(self.at[i], learning or self.current == 1, self.logs)
            digamma_row(self.width, self.logs, self.logs)
            top, norm = -1e300, 0
            for k in range(self.K):
                self.logs[k] += self.theta[k]
                top = fmax(top, self.logs[k])
            for k in range(self.K):
                self.logs[k] = exp(self.logs[k] - top)
                norm += self.logs[k]
            sums = self.sums_of(i) if learning else NULL
            for k in range(self.K):
                now = self.count[i] * (self.logs[k] / norm)
                self.sum[k] += now
                if learning:
                    sums[k] += now
                    self.mass[k] += now
            total += self.count[i] * (top + log(norm))
        return total

    cdef Py_ssize_t outputs(self) noexcept nogil:
        return self.K

    cdef void code(self, const Row* x, double* out) noexcept nogil:
        cdef Py_ssize_t k
        cdef double whole = 0
        self.asked = False
        if self.read_document(x, False) < 0:
            self.failed = True
            return
        self.study(False)
        for k in range(self.K):
            whole += self.gamma[k]
        for k in range(self.K):
            out[k] = self.gamma[k] / whole


class LDA(TopicModel):
    """Online latent Dirichlet allocation: topics are distributions over words, documents are mixtures of topics.

    For a document with n_w times word w, phi_wk ~ exp(E[log theta_k] + E[log beta_kw]) and gamma_k = alpha_k + sum_w
    n_w phi_wk alternate, from gamma = 1, until the mean change of gamma is below the tolerance. E[log theta_k] =
    psi(gamma_k) - psi(sum gamma); E[log beta] is the same function of lambda. After batch t of S documents, with rho =
    (tau0 + t)^-kappa, lambda_kw <- (1 - rho) lambda_kw + rho (eta + D / S sum n_w phi_wk) over the batch.

    Users see the model as if the open batch ended now. The loss of a document is its negative variational bound per
    word. A document costs its different words x topics x iterations. Without `n_features` the vocabulary grows: a word
    counts from the first document that has it, with the lambda that it would have if it had been known from the start.
    `features=Features(bits=...)` hashes the words.

    Parameters
    ----------
    n_topics : K, the number of topics.
    alpha : the prior of topics in documents, above 0: a number, a list with one number for each topic, "asymmetric" for
        1 / (k + sqrt(K)), k = 0, 1, ..., normalised to sum 1, or None for 1 / K.
    eta : the prior of words in topics, above 0; None for 1 / K.
    kappa : the decay of rho, from 0 to 1; lambda converges if kappa is above 0.5.
    tau0 : delays the decay; larger values reduce the weight of the first batches; at least 0.
    batch : S, the number of documents in a batch.
    total : D, the number of documents in the corpus; None for the number learned so far.
    iterations : the largest number of iterations for a document.
    tolerance : the mean change of gamma at which a document is done, at least 0.
    n_features : the size of a fixed vocabulary; None for a growing one.
    seed : of the first lambda, which is Gamma(100, 1/100) for each topic and word.

    >>> from seriatim import LDA, data
    >>> X, _ = data.load("digits")
    >>> model = LDA(10, batch=64).fit(X)
    >>> round(model.perplexity(X), 1)
    35.8

    Hoffman, Blei and Bach, "Online learning for latent Dirichlet allocation", NIPS 2010.
    """

    paper = "Hoffman et al. (2010)"
    fixed = (*TopicModel.fixed, "n_topics", "eta")
    n_topics = Number(10, least=1, most=10_000, integer=True, positional=True)
    alpha = Prior(None)
    eta = Number(None, least=1e-6, most=1e6, optional=True)
    kappa = Number(0.7, least=0, most=1)
    tau0 = Number(10.0, least=0, below=1e15)
    batch = Number(128, least=1, below=1e9, integer=True)
    total = Number(None, least=1, below=1e15, optional=True)
    iterations = Number(100, least=1, below=1e9, integer=True)
    tolerance = Number(1e-3, least=0)

    def build(self):
        eta = 1 / self.n_topics if self.eta is None else self.eta
        return LDALearner(
            Prior.of(self.alpha, self.n_topics), eta, self.kappa, self.tau0, self.batch, self.total, self.iterations,
            self.tolerance, self.n_features, self.seed
        )
