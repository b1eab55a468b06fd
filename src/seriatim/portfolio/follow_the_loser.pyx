"""Follow the loser: strategies that buy what has fallen, by mean reversion and anti-correlation."""

from libc.math cimport fabs, fmax, fmin, log, sqrt
from libc.string cimport memcpy, memmove, memset

import numpy as np

from seriatim.portfolio.days cimport StrategyLearner, dot, pointer
from seriatim.portfolio.simplex cimport project_simplex

from seriatim.errors import ParameterError
from seriatim.parameters import Choice, Flag, Number
from seriatim.portfolio.days import LEAST, LOG_MOST, MOST, expect_portfolios, expect_range
from seriatim.portfolio.base import Strategy


cdef extern from "simd.h":
    void sums_of_products(Py_ssize_t n, Py_ssize_t rows, Py_ssize_t columns, const double* P, Py_ssize_t p,
                          const double* Q, Py_ssize_t q, double* out, Py_ssize_t o) noexcept nogil


cdef class Reverting(StrategyLearner):
    """A step from b, projected onto the simplex."""

    cdef object scratch
    cdef double* work
    cdef double* aim

    def begin(self):
        self.scratch = np.zeros(2 * self.m)
        self.work = pointer(self.scratch)
        self.aim = self.work + self.m

    cdef void go(self, const double* x, double step) noexcept nogil:
        """b becomes the projection of b + step (x - mean x)."""
        cdef Py_ssize_t j
        cdef double mean = self.mean(x)
        for j in range(self.m):
            self.b[j] += step * (x[j] - mean)
        project_simplex(self.b, self.m, self.work)

    cdef double mean(self, const double* x) noexcept nogil:
        cdef Py_ssize_t j
        cdef double sum = 0
        for j in range(self.m):
            sum += x[j]
        return sum / self.m

    cdef double spread(self, const double* x) noexcept nogil:
        """|x - mean x|^2"""
        cdef Py_ssize_t j
        cdef double mean = self.mean(x), sum = 0
        for j in range(self.m):
            sum += (x[j] - mean) * (x[j] - mean)
        return sum

    cdef void rise(self, const double* x, double epsilon) noexcept nogil:
        """The step of OLMAR: the smallest one after which b.x is at least epsilon."""
        cdef double spread = self.spread(x), short = epsilon - dot(self.m, self.b, x)
        if spread > 0 and short > 0:
            self.go(x, fmin(short / spread, 1e100))


# ---- passive-aggressive mean reversion

cdef class PAMRLearner(Reverting):
    cdef int variant
    cdef double epsilon, C

    def __init__(self, variant, double epsilon, double C):
        self.variant, self.epsilon, self.C = ("hard", "I", "II").index(variant), epsilon, C
        StrategyLearner.__init__(self)

    cdef int learn(self, const double* x) except -1:
        cdef double loss = dot(self.m, self.b, x) - self.epsilon, spread = self.spread(x), tau
        if loss > 0 and spread > 0:
            tau = loss / (spread + (0.5 / self.C if self.variant == 2 else 0.0))
            if self.variant == 1:
                tau = fmin(tau, self.C)
            self.go(x, -fmin(tau, 1e100))
        return 0


class PAMR(Strategy):
    """Passive-aggressive mean reversion: the smallest change of b for which the last day would return at most epsilon.

        l = max(0, b.x - epsilon),  b <- projection of b - tau (x - mean x)
        tau = l/|x - mean x|^2 ("hard"),  min(C, l/|x - mean x|^2) ("I"),  l/(|x - mean x|^2 + 1/(2C)) ("II")

    Parameters
    ----------
    variant : "hard", "I" or "II".
    epsilon : the tolerated return, at least 0.
    C : aggressiveness of I and II, above 0.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("pamr", load("djia")).final_wealth, 4)
    0.68

    Li, Zhao, Hoi, Gopalkrishnan. PAMR: passive aggressive mean reversion strategy for portfolio selection. Machine
    Learning 87, 2012.
    """

    paper = "Li et al. (2012)"
    variant = Choice("hard", options=("hard", "I", "II"))
    epsilon = Number(0.5, least=0, search=(0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0))
    C = Number(500.0, above=0, search=(5.0, 50.0, 500.0, 5000.0))

    def build(self):
        return PAMRLearner(self.variant, self.epsilon, self.C)


# ---- confidence-weighted mean reversion

cdef class CWMRLearner(Reverting):
    """A Gaussian over portfolios. Its covariance starts as a multiple of the identity and stays diagonal."""

    cdef bint stdev
    cdef double phi, epsilon
    cdef double* S

    def __init__(self, variant, double phi, double epsilon):
        self.stdev, self.phi, self.epsilon = variant == "stdev", phi, epsilon
        StrategyLearner.__init__(self)

    def shapes(self, m):
        return {"b": (m,), "variance": (m,)}

    def begin(self):
        Reverting.begin(self)
        self.arrays["variance"][:] = 1.0 / self.m**2

    def check(self):
        Reverting.check(self)
        expect_range("the variances", self.arrays["variance"], 1e-300, 1)

    cdef int bind(self) except -1:
        StrategyLearner.bind(self)
        self.S = pointer(self.arrays["variance"])
        return 0

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t j, m = self.m
        cdef double M = dot(m, self.b, x), V = 0, W = 0, total = 0, xbar, D, a, b, c, lam, more, phi = self.phi
        for j in range(m):
            V += x[j] * self.S[j] * x[j]
            W += x[j] * self.S[j]
            total += self.S[j]
        xbar = W / total
        D = V - xbar * W
        if D <= 1e-12 * V:    # a flat day: the root of the quadratic would be rounding
            D = 0
        if self.stdev:
            a = D * (D + phi * phi * V)
            b = 2 * (self.epsilon - M) * (D + 0.5 * phi * phi * V)
            c = (self.epsilon - M) * (self.epsilon - M) - phi * phi * V
        else:
            a = 2 * phi * V * D
            b = 2 * phi * (self.epsilon - M) * V + D
            c = self.epsilon - M - phi * V
        lam = multiplier(a, b, c)
        if self.stdev:    # phi lam/sqrt(u), u the variance after the step
            more = 0.5 * lam * phi * (lam * phi * V + sqrt(lam * lam * phi * phi * V * V + 4 * V)) / V
        else:
            more = 2 * lam * phi
        total = 0
        for j in range(m):
            self.b[j] -= lam * self.S[j] * (x[j] - xbar)
            self.S[j] = 1 / (1 / self.S[j] + more * x[j] * x[j])
            total += self.S[j]
        project_simplex(self.b, m, self.work)
        for j in range(m):
            self.S[j] = fmax(self.S[j] / (m * total), 1e-300)
        return 0


cdef double multiplier(double a, double b, double c) noexcept nogil:
    """The larger root of a l^2 + b l + c, or 0 if there is none above 0."""
    cdef double square = b * b - 4 * a * c, root
    if a == 0:
        return fmax(0.0, -c / b) if b != 0 else 0.0
    if not square > 0:
        return 0
    root = sqrt(square)
    return fmin(fmax(0.0, fmax((-b + root) / (2 * a), (-b - root) / (2 * a))), 1e100)


class CWMR(Strategy):
    """Confidence-weighted mean reversion: the smallest change of a Gaussian over portfolios after which the last day
    would probably return at most epsilon.

        M = mu.x,  V = x'Sx,  W = x'S1,  xbar = W/1'S1,  lam the larger root of a quadratic that makes
        epsilon - M = phi V ("variance") or phi sqrt(V) ("stdev") hold,
        mu <- projection of mu - lam S (x - xbar),  1/S_j += 2 lam phi x_j^2, or lam phi/sqrt(u) x_j^2,  S /= m sum S

    The covariance stays diagonal.

    Parameters
    ----------
    variant : "stdev" or "variance".
    phi : the confidence, in standard deviations, above 0.
    epsilon : the tolerated return, at least 0.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("cwmr", load("djia")).final_wealth, 4)
    0.6871

    Li, Hoi, Zhao, Gopalkrishnan. Confidence weighted mean reversion strategy for online portfolio selection. ACM TKDD
    7(1), 2013.
    """

    paper = "Li et al. (2013)"
    variant = Choice("stdev", options=("stdev", "variance"))
    phi = Number(2.0, above=0, search=(0.5, 1.0, 2.0, 4.0))
    epsilon = Number(0.5, least=0, search=(0.0, 0.25, 0.5, 0.75, 1.0))

    def build(self):
        return CWMRLearner(self.variant, self.phi, self.epsilon)


# ---- moving averages and medians

cdef class OLMARLearner(Reverting):
    """Variant 1: the simple moving average, from the last relatives, the newest first."""

    cdef Py_ssize_t window
    cdef double epsilon
    cdef double* last

    def __init__(self, Py_ssize_t window, double epsilon):
        self.window, self.epsilon = window, epsilon
        StrategyLearner.__init__(self)

    def shapes(self, m):
        return {"b": (m,), "last": (self.window, m)}

    cdef int bind(self) except -1:
        StrategyLearner.bind(self)
        self.last = pointer(self.arrays["last"])
        return 0

    def check(self):
        Reverting.check(self)
        days = min(self.t, self.window)
        expect_range("the last days", self.arrays["last"][:days], *self.limits())
        expect_range("days that have not come", self.arrays["last"][days:], 0, 0)

    def limits(self):
        """The range of the numbers in `last`."""
        return LEAST, MOST

    cdef void keep(self, const double* x) noexcept nogil:
        memmove(self.last + self.m, self.last, (self.window - 1) * self.m * sizeof(double))
        memcpy(self.last, x, self.m * sizeof(double))

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t i, j
        cdef double product, sum
        self.keep(x)
        if self.t == 0:
            return 0
        if self.t < self.window:
            self.rise(x, self.epsilon)
            return 0
        for j in range(self.m):
            product = sum = 1
            for i in range(self.window - 1):
                product *= self.last[i * self.m + j]
                sum += fmin(1 / product, 1e100)
            self.aim[j] = sum / self.window
        self.rise(self.aim, self.epsilon)
        return 0


cdef class SmoothedOLMARLearner(Reverting):
    """Variant 2: the exponential moving average."""

    cdef double alpha, epsilon
    cdef double* average

    def __init__(self, double alpha, double epsilon):
        self.alpha, self.epsilon = alpha, epsilon
        StrategyLearner.__init__(self)

    def shapes(self, m):
        return {"b": (m,), "average": (m,)}

    def begin(self):
        Reverting.begin(self)
        self.arrays["average"][:] = 1

    def check(self):
        Reverting.check(self)
        expect_range("the averages", self.arrays["average"], 0, 1e100)

    cdef int bind(self) except -1:
        StrategyLearner.bind(self)
        self.average = pointer(self.arrays["average"])
        return 0

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t j
        for j in range(self.m):
            self.average[j] = fmin(self.alpha + (1 - self.alpha) * self.average[j] / x[j], 1e100)
        self.rise(self.average, self.epsilon)
        return 0


class OLMAR(Strategy):
    """Moving-average reversion: predicts that each price returns to its moving average, and buys accordingly.

        variant 1: xt = (1/W)(1 + 1/x_t + 1/(x_t x_(t-1)) + ...), W terms; on the first W days xt = x_t
        variant 2: xt = alpha + (1 - alpha) xt/x_t
        b <- projection of b + lam (xt - mean xt),  lam = max(0, epsilon - b.xt)/|xt - mean xt|^2

    Parameters
    ----------
    variant : 1 for the simple average, 2 for the exponential average.
    window : W of variant 1, at least 2. The model stores the last W days.
    alpha : smoothing factor of variant 2, from 0 to 1.
    epsilon : the target return, at least 0.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("olmar", load("djia")).final_wealth, 4)
    2.5372

    Li and Hoi. On-line portfolio selection with moving average reversion. ICML 2012. As in the toolbox of
    the authors, variant 1 does not move after the first day.
    """

    paper = "Li and Hoi (2012)"
    variant = Number(1, least=1, most=2, integer=True)
    window = Number(5, least=2, most=100_000, integer=True, search=(3, 5, 7, 10, 15))
    alpha = Number(0.5, least=0, most=1, search=(0.1, 0.3, 0.5, 0.7, 0.9))
    epsilon = Number(10.0, least=0, search=(1.0, 2.0, 5.0, 10.0, 20.0))
    fixed = ("variant", "window")

    def build(self):
        if self.variant == 2:
            return SmoothedOLMARLearner(self.alpha, self.epsilon)
        return OLMARLearner(self.window, self.epsilon)


cdef class RMRLearner(OLMARLearner):
    """The last prices, the newest first, in units of the first close. One factor scales all if they grow too large."""

    cdef object spare
    cdef double* y
    cdef double* new
    cdef double* sum
    cdef double* sorted

    def begin(self):
        OLMARLearner.begin(self)
        self.spare = np.zeros(3 * self.m + self.window)
        self.y = pointer(self.spare)
        self.new = self.y + self.m
        self.sum = self.new + self.m
        self.sorted = self.sum + self.m

    def limits(self):
        return 1e-200, 1e150    # their squares are in range

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t i, j
        cdef double high = 0
        memmove(self.last + self.m, self.last, (self.window - 1) * self.m * sizeof(double))
        for j in range(self.m):
            self.last[j] = self.last[self.m + j] * x[j] if self.t else 1
            high = fmax(high, self.last[j])
        if not 1e-60 < high < 1e60:
            for i in range(self.window * self.m):
                self.last[i] = fmin(fmax(self.last[i] / high, 1e-200), 1e150) if self.last[i] > 0 else 0
        for j in range(self.m):
            self.last[j] = fmax(self.last[j], 1e-200)
        if self.t < self.window:
            self.rise(x, self.epsilon)
            return 0
        self.median()
        for j in range(self.m):
            self.aim[j] = fmin(self.y[j] / self.last[j], 1e100)
        self.rise(self.aim, self.epsilon)
        return 0

    cdef void median(self) noexcept nogil:
        """y = the L1 median: the point with the least sum of distances to the prices (Vardi and Zhang, 2000)."""
        cdef Py_ssize_t i, j, k, _turn, m = self.m, w = self.window
        cdef double value, distance, weights, pull, r, moved, size
        cdef const double* p
        cdef bint hit
        for j in range(m):
            for i in range(w):
                value = self.last[i * m + j]
                k = i
                while k > 0 and self.sorted[k - 1] > value:
                    self.sorted[k] = self.sorted[k - 1]
                    k -= 1
                self.sorted[k] = value
            self.y[j] = 0.5 * (self.sorted[(w - 1) // 2] + self.sorted[w // 2])
        for _turn in range(200):
            memset(self.new, 0, 2 * m * sizeof(double))
            weights, hit = 0, False
            for i in range(w):
                p = self.last + i * m
                distance = 0
                for j in range(m):
                    distance += (p[j] - self.y[j]) * (p[j] - self.y[j])
                distance = sqrt(distance)
                if distance < 1e-15:
                    hit = True
                    continue
                weights += 1 / distance
                for j in range(m):
                    self.new[j] += p[j] / distance
                    self.sum[j] += (p[j] - self.y[j]) / distance
            pull = sqrt(dot(m, self.sum, self.sum))
            r = fmin(1.0, 1 / pull) if hit and pull > 0 else 0.0
            moved = size = 0
            for j in range(m):
                value = self.new[j] / weights if weights > 0 else 0.0
                value = (1 - r) * value + r * self.y[j] if weights > 0 else self.y[j]
                moved += fabs(value - self.y[j])
                size += fabs(self.y[j])
                self.y[j] = value
            if moved <= 1e-9 * size:
                break


class RMR(Strategy):
    """Robust median reversion: predicts that the prices return to their L1 median over a window.

        xt = argmin_y sum |p - y| over the last W prices, divided by the last price;  on the first W days xt = x_t
        b <- projection of b + lam (xt - mean xt),  lam = max(0, epsilon - b.xt)/|xt - mean xt|^2, as in `OLMAR`

    Parameters
    ----------
    window : W, at least 2. The model stores the last W days.
    epsilon : the target return, at least 0.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("rmr", load("djia")).final_wealth, 4)
    2.6682

    Huang, Zhou, Li, Hoi, Zhou. Robust median reversion strategy for on-line portfolio selection. IJCAI 2013. Prices are
    in units of the first close, as in the toolbox of the authors.
    """

    paper = "Huang et al. (2013)"
    window = Number(5, least=2, most=100_000, integer=True, search=(3, 5, 7, 10, 15))
    epsilon = Number(5.0, least=0, search=(1.0, 2.0, 5.0, 10.0, 20.0))
    fixed = ("window",)

    def build(self):
        return RMRLearner(self.window, self.epsilon)


# ---- anti-correlation

cdef inline double sum_of_claims(Py_ssize_t n, const double* x) noexcept nogil:
    """The sum of x by twelve partial sums.

    The order matters: experts of Anticor(Anticor) that hold the same assets differ by rounding alone, and claims
    compare their means.
    """
    cdef double part[12]
    cdef Py_ssize_t i, k, whole = n // 12 * 12
    for k in range(12):
        part[k] = 0
    for i in range(0, whole, 12):
        for k in range(12):
            part[k] += x[i + k]
    for i in range(whole, n):
        part[i - whole] += x[i]
    for k in range(4):
        part[k] = (part[k] + part[k + 4]) + part[k + 8]
    return (part[0] + part[1]) + (part[2] + part[3])


cdef class AnticorLayer:
    """n experts over the same assets, the last with window W. logs: log-relatives of the last 2W days, newest last."""

    cdef Py_ssize_t m, W, n, wide    # wide: m, filled up with zeros to a multiple of eight for `sums_of_products`
    cdef bint drifts
    cdef double* logs
    cdef double* held
    cdef double* wealth
    cdef object kept
    cdef double* first               # the two windows, each less its means,
    cdef double* second
    cdef double* size1               # 1 over their sizes,
    cdef double* size2
    cdef double* mean                # and the means of the second window
    cdef double* M                   # products of the windows; then row i has the claims on asset i
    cdef double* against             # max(0, -correlation of an asset with itself)
    cdef double* came                # what each asset is given

    def __init__(self, Py_ssize_t m, Py_ssize_t W, Py_ssize_t n, bint drifts):
        self.m, self.W, self.n, self.drifts = m, W, n, drifts
        self.wide = (m + 7) // 8 * 8
        self.kept = np.zeros((2 * W + 5 + m) * self.wide)
        self.first = pointer(self.kept)
        self.second = self.first + W * self.wide
        self.size1 = self.second + W * self.wide
        self.size2, self.mean, self.against = self.size1 + m, self.size1 + 2 * m, self.size1 + 3 * m
        self.came, self.M = self.size1 + 4 * m, self.size1 + 5 * self.wide

    cdef void learn(self, const double* x, Py_ssize_t days) noexcept nogil:
        """Learn a day after `days` others."""
        cdef Py_ssize_t k, j, w, m = self.m
        cdef double grown, sum = 0
        memmove(self.logs, self.logs + m, (2 * self.W - 1) * m * sizeof(double))
        for j in range(m):
            self.logs[(2 * self.W - 1) * m + j] = log(x[j])
        for k in range(self.n):
            grown = dot(m, self.held + k * m, x)
            self.wealth[k] *= grown
            sum += self.wealth[k]
            if self.drifts:
                for j in range(m):
                    self.held[k * m + j] *= x[j] / grown
        for k in range(self.n):
            self.wealth[k] = fmax(self.wealth[k] / sum, 1e-300)
            w = self.W - self.n + 1 + k
            if days + 1 >= 2 * w:
                self.compare(w)
                self.transfer(self.held + k * m)

    cdef void compare(self, Py_ssize_t w) noexcept nogil:
        """M_ij = the product of asset i in the first window of w days with asset j in the second, each less its mean.

        Times size1_i size2_j, M_ij is their correlation.
        """
        cdef Py_ssize_t i, wide = self.wide
        self.centre(w, self.logs + 2 * (self.W - w) * self.m, self.first, self.size1)
        self.centre(w, self.logs + (2 * self.W - w) * self.m, self.second, self.size2)
        sums_of_products(w, self.m, wide, self.first, wide, self.second, wide, self.M, wide)
        for i in range(self.m):
            self.against[i] = fmax(0, -self.M[i * wide + i] * self.size1[i] * self.size2[i])

    cdef void centre(self, Py_ssize_t w, const double* logs, double* out, double* size) noexcept nogil:
        """out = a window less its means; size = 1/|column of out|, or 0 for a column that did not move."""
        cdef Py_ssize_t k, j, m = self.m
        cdef double* mean = self.mean
        cdef const double* row
        cdef double apart
        memset(mean, 0, m * sizeof(double))
        memset(size, 0, m * sizeof(double))
        for k in range(w):
            row = logs + k * m
            for j in range(m):
                mean[j] += row[j]
        for j in range(m):
            mean[j] /= w
        for k in range(w):
            row = logs + k * m
            for j in range(m):
                apart = row[j] - mean[j]
                out[j] = apart
                size[j] += apart * apart
            out += self.wide
        for j in range(m):
            size[j] = 1 / sqrt(size[j]) if size[j] > 0 else 0

    cdef void transfer(self, double* b) noexcept nogil:
        """Asset i gives all that it has to the assets j, in proportion to their claims on it."""
        cdef Py_ssize_t i, j, m = self.m
        cdef double* claim = self.M
        cdef double* came = self.came
        cdef const double* mean = self.mean
        cdef const double* size2 = self.size2
        cdef const double* against = self.against
        cdef double sum, share, mine, own, scale, correlation, claimed
        memset(came, 0, m * sizeof(double))
        for i in range(m):
            if b[i] > 0:
                mine, own, scale = mean[i], against[i], self.size1[i]
                for j in range(m):    # the sum stands outside of the condition, so that the loop has no branch
                    correlation = claim[j] * scale * size2[j]
                    claimed = correlation + own + against[j]
                    claim[j] = claimed if (correlation > 0) & (mine >= mean[j]) else 0
                sum = sum_of_claims(m, claim)
                if sum > 0:
                    share = b[i] / sum
                    for j in range(m):
                        came[j] += share * claim[j]
                    b[i] = 0
            claim += self.wide
        for j in range(m):
            b[j] += came[j]
        sum = 0
        for j in range(m):
            sum += b[j]
        for j in range(m):
            b[j] /= sum

    cdef void mix(self, double* out) noexcept nogil:
        """out = the mean of the portfolios of the experts, weighted by their wealth."""
        cdef Py_ssize_t k, j
        cdef double sum = 0
        memset(out, 0, self.m * sizeof(double))
        for k in range(self.n):
            for j in range(self.m):
                out[j] += self.wealth[k] * self.held[k * self.m + j]
        for j in range(self.m):
            sum += out[j]
        for j in range(self.m):
            out[j] /= sum


cdef class AnticorLearner(StrategyLearner):
    cdef Py_ssize_t W, n
    cdef bint nested, drifts
    cdef AnticorLayer inner, outer
    cdef object spare
    cdef double* returns
    cdef double* shares

    def __init__(self, Py_ssize_t W, Py_ssize_t n, bint nested, bint drifts):
        self.W, self.n, self.nested, self.drifts = W, n, nested, drifts
        StrategyLearner.__init__(self)

    def shapes(self, m):
        experts, known = self.n, m > 0
        arrays = {"b": (m,), "logs": (2 * self.W, m), "held": (experts, m), "wealth": (experts * known,)}
        if self.nested:
            arrays |= {
                "outer_logs": (2 * self.W, experts * known),
                "outer_held": (experts, experts * known),
                "outer_wealth": (experts * known,),
            }
        return arrays

    def begin(self):
        for name in ("held", "outer_held") if self.nested else ("held",):
            self.arrays[name][:] = 1.0 / self.arrays[name].shape[1]
        for name in ("wealth", "outer_wealth") if self.nested else ("wealth",):
            self.arrays[name][:] = 1.0 / self.n
        self.inner = AnticorLayer(self.m, self.W, self.n, self.drifts)
        if self.nested:
            self.outer = AnticorLayer(self.n, self.W, self.n, self.drifts)
            self.spare = np.zeros(2 * self.n)
            self.returns = pointer(self.spare)
            self.shares = self.returns + self.n

    def check(self):
        StrategyLearner.check(self)
        for name, array in self.arrays.items():
            if name.endswith("held"):
                expect_portfolios(name, array)
            elif name.endswith("wealth"):
                expect_range(name, array, 1e-300, 1 + 1e-6)
            elif name.endswith("logs"):
                expect_range(name, array, -LOG_MOST, LOG_MOST)

    cdef int bind(self) except -1:
        StrategyLearner.bind(self)
        self.inner.logs, self.inner.held = pointer(self.arrays["logs"]), pointer(self.arrays["held"])
        self.inner.wealth = pointer(self.arrays["wealth"])
        if self.nested:
            self.outer.logs = pointer(self.arrays["outer_logs"])
            self.outer.held = pointer(self.arrays["outer_held"])
            self.outer.wealth = pointer(self.arrays["outer_wealth"])
        return 0

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t k, j, m = self.m
        cdef double sum = 0
        if not self.nested:
            self.inner.learn(x, self.t)
            self.inner.mix(self.b)
            return 0
        for k in range(self.n):
            self.returns[k] = dot(m, self.inner.held + k * m, x)
        self.inner.learn(x, self.t)
        self.outer.learn(self.returns, self.t)
        self.outer.mix(self.shares)
        memset(self.b, 0, m * sizeof(double))
        for k in range(self.n):
            for j in range(m):
                self.b[j] += self.shares[k] * self.inner.held[k * m + j]
        for j in range(m):
            sum += self.b[j]
        for j in range(m):
            self.b[j] /= sum
        return 0


class Anticor(Strategy):
    """Anti-correlation: moves wealth from assets that did better to assets that tend to follow them.

    Take two consecutive windows of w days. Let M_ij be the correlation of the log-relatives of asset i in the first
    window with those of asset j in the second.

        claim_ij = M_ij + max(0, -M_ii) + max(0, -M_jj)  if i did no worse than j in the second window and M_ij > 0
        b_i gives away b_i claim_ij / sum_j claim_ij to each j

    Every window from `shortest` to `window` is an expert. The portfolio is the mean of their portfolios, weighted by
    their wealth. `nested=True` is Anticor(Anticor): Anticor over the returns of these experts.

    The cost of a day is proportional to window^2 assets^2.

    Parameters
    ----------
    window : the longest window, at least 2. The model stores twice as many days.
    shortest : the shortest window, from 2 to `window`.
    nested : use Anticor(Anticor).
    start : the portfolio from which the step of an expert starts: its last one ("target"), or its last one after the
        returns of the day ("drifted", as in the paper). None means "drifted" if nested, else "target", as in the
        toolbox of the published figures.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("anticor", load("djia")).final_wealth, 4)
    1.626

    Borodin, El-Yaniv, Gogan. Can we learn to beat the best stock. JAIR 21, 2004.
    """

    paper = "Borodin, El-Yaniv and Gogan (2004)"
    window = Number(30, least=2, most=1000, integer=True, search=(5, 10, 20, 30))
    shortest = Number(2, least=2, most=1000, integer=True)
    nested = Flag(False)
    start = Choice(None, options=("target", "drifted"), optional=True)
    fixed = ("window", "shortest", "nested")

    def build(self):
        if self.shortest > self.window:
            raise ParameterError(f"Anticor: shortest={self.shortest}: must be at most the window, {self.window}")
        drifts = self.nested if self.start is None else self.start == "drifted"
        return AnticorLearner(self.window, self.window - self.shortest + 1, self.nested, drifts)
