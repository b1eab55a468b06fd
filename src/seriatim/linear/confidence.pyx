"""Second-order methods: a Gaussian over the weights whose variance shrinks along observed features."""

from statistics import NormalDist

from libc.math cimport erfc, exp, fmax, fmin, sqrt
from libc.stdlib cimport free

import numpy as np

from seriatim.core.learner cimport LinearLearner
from seriatim.core.memory cimport resize
from seriatim.core.row cimport Row, dot, record, value, within
from seriatim.core.rows cimport Rows
from seriatim.linear.covariance cimport Covariance

from seriatim.core.loss import standard_normal
from seriatim.errors import ModelError
from seriatim.estimator import Classifier, Regressor
from seriatim.parameters import Choice, Flag, Number, powers, steps

COVARIANCES = ("diagonal", "full")

cdef double LEAST = 1e-100    # the smallest variance, here and in the full form
cdef double MOST = 1e100      # the largest step: beyond, a product would overflow


cdef struct Change:
    double a                  # w += a Sigma x
    double c                  # Sigma^-1 += c x x'
    double total              # factor of a change of w in the sum of the average
    Py_ssize_t sigma, u       # positions of the variance and of the average's sum, relative to w; u = 0: no average
    bint dual                 # w = Sigma theta changes with Sigma


cdef inline void change(double* w, double x, const Change* by) noexcept nogil:
    """Update one feature of the diagonal form. In the dual form, w = Sigma theta with the new Sigma."""
    cdef double g = w[by.sigma] * x
    cdef double quotient = 1 / (1 + by.c * g * x)
    cdef double new = w[0] + by.a * g
    if by.dual:
        new *= quotient
    if by.u:
        w[by.u] += by.total * (new - w[0])
    w[0] = new
    w[by.sigma] = fmax(w[by.sigma] * quotient, LEAST)


cdef inline double mean_and_variance(const Row* x, const double* w, Py_ssize_t width, Py_ssize_t sigma,
                                     double* v) noexcept nogil:
    """Return w.x; store x' Sigma x in v."""
    cdef double f = x.constant * w[0], f2 = 0, s = x.constant * x.constant * w[sigma], s2 = 0
    cdef Py_ssize_t i = 0
    cdef const double* a
    cdef const double* b
    w += width
    while i + 2 <= x.n:
        a = w + (i if x.index == NULL else x.index[i]) * width
        b = w + (i + 1 if x.index == NULL else x.index[i + 1]) * width
        f += x.value[i] * a[0]
        f2 += x.value[i + 1] * b[0]
        s += x.value[i] * x.value[i] * a[sigma]
        s2 += x.value[i + 1] * x.value[i + 1] * b[sigma]
        i += 2
    if i < x.n:
        a = w + (i if x.index == NULL else x.index[i]) * width
        f += x.value[i] * a[0]
        s += x.value[i] * x.value[i] * a[sigma]
    v[0] = s + s2
    return f + f2


cdef class GaussianLearner(LinearLearner):
    """A frame: w += alpha y Sigma x and Sigma^-1 += c x x' (diagonal form: diag(x^2)), where `step` sets alpha and c.

    With several classes each has its own Sigma. The margin of y over its strongest rival s has the variance
    v = x' Sigma_y x + x' Sigma_s x. Both classes take the step, s with -alpha (the joint feature map).
    """

    cdef Py_ssize_t sigma          # position of the variances in a record
    cdef Covariance covariance     # full form only; else None
    cdef bint dual                 # the paper's step is theta += y x with w = Sigma theta; then alpha is 1
    cdef double alpha, c
    cdef double* vectors           # full form only: U' x of two classes, and Sigma x
    cdef Py_ssize_t longest        # length that the vectors have room for
    cdef double f[2]
    cdef double v[2]

    def __init__(self, str covariance, bint average, double variance=1, bint dual=False):
        LinearLearner.__init__(self, average, () if covariance == "full" else (("sigma", variance, False),))
        self.dual = dual
        self.sigma = 2 if average else 1
        if covariance == "full":
            self.covariance = Covariance(variance)
            self.grow(1)

    def __dealloc__(self):
        free(self.vectors)

    cdef bint step(self, double margin, double v) noexcept nogil:
        """Set alpha and c; return whether there is an update. v > 0."""
        return False

    cdef int grow(self, Py_ssize_t rows) except -1:
        if self.covariance is not None:
            self.covariance.grow(rows)
            if self.longest < self.covariance.capacity:
                if resize(<void**> &self.vectors, 3 * self.covariance.capacity, sizeof(double)) < 0:
                    raise MemoryError(f"no memory for the covariance of {rows} features")
                self.longest = self.covariance.capacity
        return LinearLearner.grow(self, rows)

    cdef double* vector(self, Py_ssize_t place) noexcept nogil:
        return NULL if self.covariance is None else self.vectors + place * self.longest

    cdef double look(self, const Row* x, Py_ssize_t column, Py_ssize_t place) noexcept nogil:
        """Return w.x of a column; store it, the variance and, in the full form, U' x."""
        cdef const double* w = self.table.data + column
        if self.covariance is None:
            self.f[place] = mean_and_variance(x, w, self.table.width, self.sigma * self.classes, &self.v[place])
        else:
            self.f[place] = dot(x, w, self.table.width)
            self.v[place] = self.covariance.look(x, column, self.vector(place))
        return self.f[place]

    cdef void move_to(self, const Row* x, double sign, Py_ssize_t column, Py_ssize_t place) noexcept nogil:
        """Update a column after `look`."""
        cdef Change by
        cdef double a = fmin(fmax(self.alpha, -MOST), MOST) * sign, c = fmin(self.c, MOST)
        cdef Py_ssize_t i, u = self.classes if self.average else 0, width = self.table.width
        cdef double* w = self.table.data + column
        cdef double* g = self.vector(2)
        if self.covariance is None:
            by = Change(a, c, self.total, self.sigma * self.classes, u, self.dual)
            change(w, x.constant, &by)
            for i in range(x.n):
                change(w + ((i if x.index == NULL else x.index[i]) + 1) * width, x.value[i], &by)
            return
        if self.dual:    # (Sigma - beta Sigma x x' Sigma)(theta + a x)
            a -= c / (1 + c * self.v[place]) * (self.f[place] + a * self.v[place])
        self.covariance.sharpen(column, c, self.vector(place), g)
        for i in range(self.table.rows):
            w[i * width] += a * g[i]
            if u:
                w[i * width + u] += self.total * a * g[i]

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = self.look(x, 0, 0)
        self.count()
        if x.norm2 > 0 and self.v[0] > LEAST and self.step(y * f, self.v[0]):
            self.move_to(x, y, 0, 0)
            self.updates += 1
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t s
        self.raw_scores(x, out)
        self.count()
        s = self.rival(y, out)
        if s >= 0 and x.norm2 > 0:
            self.look(x, y, 0)
            self.look(x, s, 1)
            if self.v[0] + self.v[1] > LEAST and self.step(out[y] - out[s], self.v[0] + self.v[1]):
                self.move_to(x, 1, y, 0)
                self.move_to(x, -1, s, 1)
                self.updates += 1

    def means_and_variances(self, Rows rows):
        """The mean and the variance of the score, for each checked row and class."""
        means, variances = np.empty((rows.n, self.classes)), np.empty((rows.n, self.classes))
        cdef double[:, ::1] mean = means, variance = variances
        cdef Py_ssize_t i, k
        cdef Row x
        rows.expect_checked()
        for i in range(rows.n):
            rows.get(i, self.constant, &x)
            x = within(&x, self.table.rows)
            for k in range(self.classes):
                self.look(&x, k, 0)
                variance[i, k] = self.v[0]
            self.predict(&x, &mean[i, 0])
        return means, variances

    def reclass(self, source, factor):
        if self.covariance is not None:    # first, as it may raise
            self.covariance.reclass(source)
        LinearLearner.reclass(self, source, factor)

    def column_arrays(self):
        if self.covariance is not None:
            raise ModelError("a full covariance is a factorisation in the order of the columns, which cannot be moved")
        return LinearLearner.column_arrays(self)

    def state(self):
        full = {} if self.covariance is None else {"factors": self.covariance.get(self.table.rows)}
        return {**LinearLearner.state(self), **full}

    def restore(self, state):
        LinearLearner.restore(self, state)
        self.grow(self.table.rows)
        if self.covariance is not None:
            self.covariance.set(state["factors"], self.table.rows)
        elif not (state["sigma"] > 0).all():
            raise ModelError("a variance is not above 0")


cdef inline double root(double m, double v, double phi) noexcept nogil:
    """The alpha of CW and SCW-I: m + alpha v = phi sqrt(u), u the variance after it (Crammer et al., 2008, lemma 1)."""
    cdef double psi = 1 + phi * phi / 2, zeta = 1 + phi * phi
    # (-b + sqrt(b^2 + p)) as p / (b + sqrt(b^2 + p)) where b > 0: no cancellation near the constraint
    cdef double b = m * psi, p = zeta * (v * phi * phi - m * m), whole = sqrt(fmax(b * b + p, 0))
    return fmax(0, p / (b + whole) if b > 0 else whole - b) / (v * zeta)


cdef inline double sharpened(double alpha, double v, double phi) noexcept nogil:
    """alpha phi / sqrt(u), with sqrt(u) in a form without cancellation."""
    cdef double z = alpha * v * phi
    return alpha * phi * (z + sqrt(z * z + 4 * v)) / (2 * v)


cdef class CWLearner(GaussianLearner):
    """The smallest alpha with m + alpha v >= phi sqrt(u), or, with the variance, m + alpha v >= phi u."""

    cdef double phi
    cdef bint stdev

    def __init__(self, double phi, double a, bint stdev, str covariance, bint average):
        GaussianLearner.__init__(self, covariance, average, a)
        self.phi, self.stdev = phi, stdev

    cdef bint step(self, double m, double v) noexcept nogil:
        cdef double phi = self.phi, b, p
        if self.stdev:
            if m >= phi * sqrt(v):
                return False
            self.alpha = root(m, v, phi)
            self.c = sharpened(self.alpha, v, phi)
            return True
        if m >= phi * v:
            return False
        # the root of m + alpha v = phi v / (1 + 2 alpha phi v), without cancellation
        b, p = 1 + 2 * phi * m, 8 * phi * (phi * v - m)
        self.alpha = (p / (b + sqrt(b * b + p)) if b >= 0 else sqrt(b * b + p) - b) / (4 * phi * v)
        self.c = 2 * self.alpha * phi
        return True


cdef class AROWLearner(GaussianLearner):
    """alpha = (1 - m) / (v + r) and c = 1 / r where m < 1."""

    cdef double r

    def __init__(self, double r, str covariance, bint average):
        GaussianLearner.__init__(self, covariance, average)
        self.r, self.weighted = r, True

    cdef bint step(self, double m, double v) noexcept nogil:
        cdef double r = self.r / self.weight
        self.alpha, self.c = (1 - m) / (v + r), 1 / r
        return m < 1 and self.weight > 0


cdef class AROWRegressorLearner(AROWLearner):
    """Every example causes an update, along y - f."""

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = self.look(x, 0, 0)
        self.count()
        if x.norm2 > 0 and self.weight > 0:
            self.alpha, self.c = (y - f) / (self.v[0] + self.r / self.weight), self.weight / self.r
            self.move_to(x, 1, 0, 0)
            self.updates += 1
        return f


cdef class SCWLearner(GaussianLearner):
    """The alpha of CW, bounded by C ("I") or reduced by the squared loss ("II")."""

    cdef double C, phi
    cdef bint squared

    def __init__(self, double C, double phi, double a, bint squared, str covariance, bint average):
        GaussianLearner.__init__(self, covariance, average, a)
        self.C, self.phi, self.squared, self.weighted = C, phi, squared, True

    cdef bint step(self, double m, double v) noexcept nogil:
        cdef double phi = self.phi, C = self.weight * self.C, n, b, p, whole
        if m >= phi * sqrt(v) or C < LEAST:
            return False
        if not self.squared:
            self.alpha = fmin(C, root(m, v, phi))
        else:    # proposition 2, without cancellation, as in `root`
            n = v + 1 / (2 * C)
            b = m * (2 * n + phi * phi * v)
            p = 4 * n * (n + v * phi * phi) * (phi * phi * v - m * m)
            whole = sqrt(fmax(b * b + p, 0))
            self.alpha = fmax(0, p / (b + whole) if b > 0 else whole - b) / (2 * n * (n + v * phi * phi))
        self.c = sharpened(self.alpha, v, phi)
        return True


cdef class NHERDLearner(GaussianLearner):
    """alpha = (1 - m) / (v + 1 / C) and c = C (2 + C v) where m < 1."""

    cdef double C

    def __init__(self, double C, str covariance, bint average):
        GaussianLearner.__init__(self, covariance, average)
        self.C, self.weighted = C, True

    cdef bint step(self, double m, double v) noexcept nogil:
        cdef double C = self.weight * self.C
        self.alpha, self.c = (1 - m) / (v + 1 / C), C * (2 + C * v)
        return m < 1 and C > 0


cdef class IELLIPLearner(GaussianLearner):
    """Sigma without its factor 1 / (1 - c_k): in Sigma x / v, and in c_k / v, the factor cancels."""

    cdef double b, first

    def __init__(self, double b, double c, str covariance, bint average):
        GaussianLearner.__init__(self, covariance, average)
        self.b, self.first = b, c

    cdef bint step(self, double m, double v) noexcept nogil:
        cdef double c = self.first * self.b ** self.updates
        self.alpha, self.c = (1 - m) / v, c / ((1 - c) * v)
        return m <= 0


cdef class SOPLearner(GaussianLearner):
    """Predictions and updates use theta' (A + x x')^-1 x, which counts the present x in A."""

    def __init__(self, double a, str covariance, bint average):
        GaussianLearner.__init__(self, covariance, average, 1 / a, dual=True)
        self.alpha = self.c = 1

    cdef double inclusive(self, const Row* x, Py_ssize_t column) noexcept nogil:
        cdef Py_ssize_t i, sigma = self.sigma * self.classes
        cdef const double* w
        cdef double f = 0
        if self.covariance is not None:
            f = self.look(x, column, 0)
            return f / (1 + self.v[0])
        for i in range(-1, x.n):
            w = self.table.data + record(x, i) * self.table.width + column
            f += value(x, i) * w[0] / (1 + w[sigma] * value(x, i) * value(x, i))
        return f

    cdef double score(self, const Row* x) noexcept nogil:
        cdef Row known = within(x, self.table.rows)
        return GaussianLearner.score(self, x) if self.average else self.inclusive(&known, 0)

    cdef void scores(self, const Row* x, double* out) noexcept nogil:
        cdef Row known = within(x, self.table.rows)
        cdef Py_ssize_t k
        if self.average:
            GaussianLearner.scores(self, x, out)
        else:
            for k in range(self.classes):
                out[k] = self.inclusive(&known, k)

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = self.inclusive(x, 0)
        self.count()
        if y * f <= 0 and x.norm2 > 0:
            self.look(x, 0, 0)
            self.move_to(x, y, 0, 0)
            self.updates += 1
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t k, s
        for k in range(self.classes):
            out[k] = self.inclusive(x, k)
        self.count()
        s = self.rival(y, out)
        if s >= 0 and out[y] <= out[s] and x.norm2 > 0:
            self.look(x, y, 0)
            self.look(x, s, 1)
            self.move_to(x, 1, y, 0)
            self.move_to(x, -1, s, 1)
            self.updates += 1


cdef class NAROWLearner(GaussianLearner):
    """theta += y x and c = 1 / r = [b - 1 / v]+ where m / max(1, b v) < 1."""

    cdef double b

    def __init__(self, double b, str covariance, bint average):
        GaussianLearner.__init__(self, covariance, average, dual=True)
        self.b, self.alpha = b, 1

    cdef bint step(self, double m, double v) noexcept nogil:
        self.c = fmax(0, self.b - 1 / v)    # 1 / r
        return m / fmax(1, self.b * v) < 1

    cdef double score(self, const Row* x) noexcept nogil:
        cdef Row known = within(x, self.table.rows)
        if self.average:
            return GaussianLearner.score(self, x)
        return self.look(&known, 0, 0) / fmax(1, self.b * self.v[0])

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = GaussianLearner.learn(self, x, y)
        return f / fmax(1, self.b * self.v[0])


# ---- the public classes


def chances(means, variances, seen):
    """P(class k has the highest score) for independent scores N(mean_k, variance_k); 0 for classes without examples.

    The integral over z of phi(z) prod_j Phi((mean_k + sd_k z - mean_j) / sd_j), by the trapezoidal rule.

    >>> chances(np.array([[1.0, 1.0, 1.0]]), np.array([[2.0, 2.0, 2.0]]), [0, 1, 2]).round(6).tolist()
    [[0.333333, 0.333333, 0.333333]]
    """
    cdef Py_ssize_t i, j, k, z, n = len(means), nodes = 513, classes = len(seen)
    cdef double[:, ::1] mean = np.ascontiguousarray(means[:, seen])
    cdef double[:, ::1] deviation = np.sqrt(np.ascontiguousarray(variances[:, seen]))
    cdef double at, density, product, total
    result = np.zeros(means.shape)
    shares = np.zeros((n, classes))
    cdef double[:, ::1] share = shares
    with nogil:
        for i in range(n):
            for k in range(classes):
                if deviation[i, k] <= 0:
                    deviation[i, k] = 1    # a row of zeros: all scores are 0
            total = 0
            for k in range(classes):
                for z in range(nodes):
                    at = 8.0 * (2 * z - nodes + 1) / (nodes - 1)
                    product = exp(-at * at / 2)
                    for j in range(classes):
                        if j != k:
                            density = (mean[i, j] - mean[i, k] - deviation[i, k] * at) / deviation[i, j]
                            product *= erfc(density * 0.7071067811865476) / 2
                    share[i, k] += product
                total += share[i, k]
            for k in range(classes):
                share[i, k] /= total
    result[:, seen] = shares
    return result


class SecondOrder:
    """The parameters that all second-order methods share."""

    covariance = Choice("diagonal", COVARIANCES)
    average = Flag(False)


class GaussianClassifier(SecondOrder, Classifier):
    """A classifier with a Gaussian over the weights, and so with probabilities."""

    def predict_proba(self, X):
        """The probability that a label has the highest score, if the weights are drawn from N(mu, Sigma).

        For two labels it is Phi(mu.x / sqrt(x' Sigma x)). It measures how certain the weights are, not how noisy the
        labels are. With more labels the most probable one may differ from `predict`, which takes the highest mean. The
        error is about 0.003. The cost grows with the square of the number of labels.
        """
        self._fitted()
        rows = self.as_rows(X).check()
        with self._lock:
            means, variances = self._learner.means_and_variances(self._own(rows, learning=False))
            if self._learner.classes > 1:
                return chances(means, variances, self.seen())
            if len(self._labels) == 1:
                return np.ones((len(means), 1))
            higher = standard_normal((means / np.sqrt(np.maximum(variances, 1e-300)))[:, 0])
            return np.column_stack([1 - higher, higher])


def quantile(double eta):
    """phi = Phi^-1(eta).

    >>> round(quantile(0.7), 4)
    0.5244
    """
    return NormalDist().inv_cdf(eta)


class CW(GaussianClassifier):
    """Confidence-weighted learning: the least change of N(mu, Sigma) that makes P(y w.x >= 0) at least eta.

    Where m = y mu.x < phi sqrt(v), v = x' Sigma x, phi = Phi^-1(eta) ("stdev"): mu += alpha y Sigma x and Sigma^-1 +=
    (alpha phi / sqrt(u)) x x', such that m + alpha v = phi sqrt(u), u = x' Sigma x after the step. "variance" has m <
    phi v instead, the linearised constraint of the first paper, and Sigma^-1 += 2 alpha phi x x'. The diagonal
    covariance uses diag(x_j^2) in place of x x', and the constraint then holds approximately. With several classes m is
    the margin over the strongest wrong class and v the sum of the variances of both scores.

    With noisy labels the variances shrink without end; none falls below 1e-100.

    Parameters
    ----------
    eta : confidence, above 0.5 and below 1.
    a : initial variance, above 0: Sigma starts as a I.
    variant : stdev or variance.
    covariance : diagonal, or full: O(d^2) time and memory, up to 1 GiB.
    average : predict with the average of mu_1..mu_T.

    >>> from seriatim import CW, data, evaluate
    >>> run = evaluate.progressive(CW(), *data.load("digits"))
    >>> run.mistakes
    182

    Dredze, Crammer and Pereira, "Confidence-weighted linear classification", ICML 2008 ("variance");
    Crammer, Dredze and Pereira, "Exact convex confidence-weighted learning", NIPS 2008 ("stdev").
    """

    family = "linear"
    paper = "Crammer et al. (2008)"
    loss = "hinge"
    eta = Number(0.7, above=0.5, below=1, search=steps(0.55, 0.95, 0.05))
    a = Number(1.0, above=0)
    variant = Choice("stdev", ("stdev", "variance"))

    def build(self):
        phi = quantile(self.eta)
        return CWLearner(phi, self.a, self.variant == "stdev", self.covariance, self.average)


class AROW(GaussianClassifier):
    """Adaptive regularisation of weights: confidence-weighted learning that is robust to noise.

    Where m = y mu.x < 1, v = x' Sigma x: mu += ((1 - m) / (v + r)) y Sigma x, Sigma^-1 += x x' / r. The diagonal
    covariance uses diag(x_j^2) in place of x x'. With several classes m is the margin over the strongest wrong class
    and v the sum of the variances of both scores.

    Parameters
    ----------
    r : regularisation, above 0; larger values give smaller steps. With a sample weight g, r / g replaces r.
    covariance : diagonal, or full: O(d^2) time and memory, up to 1 GiB.
    average : predict with the average of mu_1..mu_T.

    >>> from seriatim import AROW, data, evaluate
    >>> run = evaluate.progressive(AROW(), *data.load("digits"))
    >>> run.mistakes
    204

    Crammer, Kulesza and Dredze, "Adaptive regularization of weight vectors", NIPS 2009.
    """

    family = "linear"
    paper = "Crammer et al. (2009)"
    loss = "hinge"
    r = Number(1.0, above=0, search=powers(-4, 4))

    def build(self):
        return AROWLearner(self.r, self.covariance, self.average)


class AROWRegressor(SecondOrder, Regressor):
    """AROW for regression: each example has mu += ((y - mu.x) / (v + r)) Sigma x, Sigma^-1 += x x' / r, v = x' Sigma x.

    With the full covariance this is online ridge regression: mu minimises r |w|^2 + the sum of squared errors.

    Parameters
    ----------
    r : regularisation, above 0. With a sample weight g, r / g replaces r.
    covariance : diagonal, or full: O(d^2) time and memory, up to 1 GiB.
    average : predict with the average of mu_1..mu_T.

    >>> from seriatim import AROWRegressor
    >>> model = AROWRegressor(r=0.01, covariance="full")
    >>> for i in range(200):
    ...     model = model.learn_one({"a": i % 3, "b": i % 2}, 2 * (i % 3) - i % 2 + 1)
    >>> round(model.predict_one({"a": 2, "b": 1}), 2)
    4.0

    Crammer, Kulesza and Dredze, "Adaptive regularization of weight vectors", NIPS 2009; Vaits and Crammer,
    "Re-adapting the regularization of weights for non-stationary regression", ALT 2011.
    """

    family = "linear"
    paper = "Crammer et al. (2009)"
    loss = "squared"
    r = Number(1.0, above=0, search=powers(-4, 4))

    def build(self):
        return AROWRegressorLearner(self.r, self.covariance, self.average)


class SCW(GaussianClassifier):
    """Soft-margin CW: violations of the confidence constraint have a cost, which makes it robust to noise.

    The update is that of CW ("stdev"), with the loss l = [phi sqrt(v) - m]+ in the objective. "I" has C l, so alpha =
    min(C, the alpha of CW). "II" has C l^2, so alpha = 2 C (phi sqrt(u) - m - alpha v).

    Parameters
    ----------
    C : aggressiveness, above 0. With a sample weight g, g C replaces C.
    eta : confidence, above 0.5 and below 1; phi = Phi^-1(eta).
    a : initial variance, above 0: Sigma starts as a I.
    variant : I or II.
    covariance : diagonal, or full: O(d^2) time and memory, up to 1 GiB.
    average : predict with the average of mu_1..mu_T.

    >>> from seriatim import SCW, data, evaluate
    >>> run = evaluate.progressive(SCW(), *data.load("digits"))
    >>> run.mistakes
    175

    Wang, Zhao and Hoi, "Exact soft confidence-weighted learning", ICML 2012.
    """

    family = "linear"
    paper = "Wang et al. (2012)"
    loss = "hinge"
    C = Number(1.0, above=0, search=powers(-4, 4))
    eta = Number(0.75, above=0.5, below=1, search=steps(0.55, 0.95, 0.05))
    a = Number(1.0, above=0)
    variant = Choice("I", ("I", "II"))

    def build(self):
        phi = quantile(self.eta)
        return SCWLearner(self.C, phi, self.a, self.variant == "II", self.covariance, self.average)


class NHERD(SecondOrder, Classifier):
    """Normal herding: a linear map moves a Gaussian over the weights until the example has its margin.

    Where m = y mu.x < 1, v = x' Sigma x: mu += ((1 - m) / (v + 1/C)) y Sigma x and
    Sigma -= ((C^2 v + 2 C) / (1 + C v)^2) Sigma x x' Sigma. Diagonal: 1/Sigma_j += (2 C + C^2 v) x_j^2.
    With several classes m is the margin over the strongest wrong class and v the sum of both variances.

    Parameters
    ----------
    C : aggressiveness, above 0. With a sample weight g, g C replaces C.
    covariance : diagonal, or full: O(d^2) time and memory, up to 1 GiB.
    average : predict with the average of mu_1..mu_T.

    >>> from seriatim import NHERD, data, evaluate
    >>> run = evaluate.progressive(NHERD(), *data.load("digits"))
    >>> run.mistakes
    1026

    Crammer and Lee, "Learning via Gaussian herding", NIPS 2010.
    """

    family = "linear"
    paper = "Crammer and Lee (2010)"
    loss = "hinge"
    C = Number(1.0, above=0, search=powers(-4, 4))

    def build(self):
        return NHERDLearner(self.C, self.covariance, self.average)


class IELLIP(SecondOrder, Classifier):
    """The improved ellipsoid method: a mistake moves and reshapes the ellipsoid of possible weights.

    On a mistake, m = y w.x <= 0 and v = x' Sigma x: w += ((1 - m) / v) y Sigma x and Sigma^-1 <- (1 - c_k) Sigma^-1 +
    (c_k / v) x x', with c_k = c b^k for the k-th update, from 0. With several classes m is the margin over the
    strongest wrong class and v the sum of both variances.

    w' minimises (w' - w)' Sigma^-1 (w' - w) subject to y w'.x >= 1. Another margin than 1 would only scale all weights,
    as updates follow mistakes alone. Sigma keeps Sigma x and grows by 1 / (1 - c_k) in all directions d with d.x = 0.
    Rounds without a mistake change nothing, so k counts updates. The tests compare w' with a numerical solver, and
    check the other three statements.

    Parameters
    ----------
    b : decay of the cuts, above 0 and below 1.
    c : depth of the first cut, above 0 and below 1.
    covariance : diagonal, or full: O(d^2) time and memory, up to 1 GiB.
    average : predict with the average of w_1..w_T.

    >>> from seriatim import IELLIP, data, evaluate
    >>> run = evaluate.progressive(IELLIP(), *data.load("digits"))
    >>> run.mistakes
    323

    Yang, Jin and Ye, "Online learning by ellipsoid method", ICML 2009.
    """

    family = "linear"
    paper = "Yang et al. (2009)"
    loss = "perceptron"
    b = Number(0.3, above=0, below=1, search=steps(0.1, 0.9, 0.1))
    c = Number(0.1, above=0, below=1)

    def build(self):
        return IELLIPLearner(self.b, self.c, self.covariance, self.average)


class SOP(SecondOrder, Classifier):
    """The second-order perceptron: a perceptron on rows whitened by the rows of its mistakes.

    It predicts with theta' (A + x x')^-1 x, which counts the present row. On a mistake theta += y x and A += x x'. A
    starts as a I. The diagonal covariance uses diag(x_j^2) in place of x x'. With several classes each has its own
    theta and A, and a mistake changes those of the true class and of its strongest rival. `coef_` is A^-1 theta,
    without the present row.

    Parameters
    ----------
    a : A starts as a I; above 0.
    covariance : diagonal, or full: O(d^2) time and memory, up to 1 GiB.
    average : predict with the average of A^-1 theta over the rounds.

    >>> from seriatim import SOP, data, evaluate
    >>> run = evaluate.progressive(SOP(), *data.load("digits"))
    >>> run.mistakes
    263

    Cesa-Bianchi, Conconi and Gentile, "A second-order perceptron algorithm", SIAM Journal on Computing 34 (2005).
    """

    family = "linear"
    paper = "Cesa-Bianchi et al. (2005)"
    loss = "perceptron"
    a = Number(1.0, above=0, search=powers(-4, 4))

    def build(self):
        return SOPLearner(self.a, self.covariance, self.average)


class NAROW(SecondOrder, Classifier):
    """Narrow adaptive regularisation of weights: AROW whose r adapts, with a regret bound.

    With w = A^-1 theta, chi = x' A^-1 x and 1/r = [b - 1/chi]+, the score is w.x r / (r + chi) = w.x / max(1, b chi).
    Where y times the score is below 1, theta += y x and A += x x' / r. The diagonal covariance uses diag(x_j^2) in
    place of x x'. With several classes the scores are w_k.x, and chi is the sum over the true class and its strongest
    rival.

    The update is that of the authors' program.

    Parameters
    ----------
    b : growth of A, above 0; with larger values A grows sooner.
    covariance : diagonal, or full: O(d^2) time and memory, up to 1 GiB.
    average : predict with the average of A^-1 theta over the rounds.

    >>> from seriatim import NAROW, data, evaluate
    >>> run = evaluate.progressive(NAROW(), *data.load("digits"))
    >>> run.mistakes
    178

    Orabona and Crammer, "New adaptive algorithms for online classification", NIPS 2010.
    """

    family = "linear"
    paper = "Orabona and Crammer (2010)"
    loss = "hinge"
    b = Number(1.0, above=0, search=powers(-4, 4))

    def build(self):
        return NAROWLearner(self.b, self.covariance, self.average)
