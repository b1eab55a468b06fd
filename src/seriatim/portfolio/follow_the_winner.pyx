"""Follow the winner: universal portfolios, exponentiated gradient, online Newton steps."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, exp, fmax, fmin, log
from libc.string cimport memcpy, memset

import numpy as np

from seriatim.core.random cimport random_bits
from seriatim.portfolio.days cimport StrategyLearner, dot, pointer, sum_of
from seriatim.portfolio.simplex cimport quadratic

from seriatim.core.allowance import take
from seriatim.errors import LimitError, ModelError
from seriatim.parameters import Number, decades
from seriatim.portfolio.days import expect_portfolios, expect_range
from seriatim.portfolio.base import Strategy

MOST = 1 << 26    # the most numbers that the sampled portfolios may have


cdef extern from "simd.h":
    void sums_of_products(Py_ssize_t n, Py_ssize_t rows, Py_ssize_t columns, const double* P, Py_ssize_t p,
                          const double* Q, Py_ssize_t q, double* out, Py_ssize_t o) noexcept nogil


cdef enum:
    LANES = 32      # orbits that are stored together
    EACH = 128      # portfolios of these orbits
    FOLD = 256      # days between two updates of the logarithms, which cost two functions for each portfolio
    AT_ONCE = 16    # days by which the portfolios of some orbits grow while they are in the cache


cdef inline void hadamard(double* v, Py_ssize_t step) noexcept nogil:
    """Sums and differences of four numbers, `step` apart. Applied twice, it gives four times the numbers."""
    cdef double p = v[0] + v[step], q = v[0] - v[step], r = v[2 * step] + v[3 * step], s = v[2 * step] - v[3 * step]
    v[0], v[step], v[2 * step], v[3 * step] = p + r, q + s, p - r, q - s


cdef class UniversalPortfolioLearner(StrategyLearner):
    """S_i <- S_i b_i.x for sampled portfolios b_i; S_i = exp(logs_i) grown_i, of which base_i is the first factor.

    The portfolios are drawn in orbits of four, g = 0 ... 3: assets 4q + k of one are assets 4q + (k xor g) of another.
    By sums and differences of four assets, x^ and p^, all four returns are those of sum_q x^_qh p^_qh, h = 0 ... 3.
    That takes as many products as one of them. The up to three assets left over have shares of their own in each.
    """

    cdef Py_ssize_t samples, stride, fours, rest
    cdef unsigned long long seed
    cdef object drawn, room, scratch
    cdef double* points     # for LANES orbits: p^, a row for each asset; then a row of EACH for each asset left over
    cdef double* base
    cdef double* grown
    cdef double* logs
    cdef double* X          # x^ of AT_ONCE days, a row for each asset
    cdef double* sums       # sum S_i b^_i for each day, a row for each asset, and sum S_i
    cdef double* R          # returns of EACH portfolios, a row for each day; then their wealth S^,
    cdef double* S          # transposed
    cdef double* turned     # p^ of LANES orbits, a row for each orbit
    cdef double* part       # what they add to the sums

    def __init__(self, Py_ssize_t samples, unsigned long long seed):
        self.samples, self.seed = samples, seed
        self.stride = (samples + EACH - 1) // EACH * EACH
        StrategyLearner.__init__(self)

    cdef Py_ssize_t place(self, Py_ssize_t i) noexcept nogil:
        """The index of portfolio i: first the firsts of LANES orbits, then their seconds, thirds and fourths."""
        return i // EACH * EACH + i % 4 * LANES + i // 4 % LANES

    def shapes(self, m):
        return {"b": (m,), "logs": (self.stride * (m > 0),), "grown": (self.stride * (m > 0),)}

    def start(self, Py_ssize_t m):
        cdef Py_ssize_t i, scratch
        StrategyLearner.start(self, m)
        if not m:
            return
        self.fours, self.rest = m // 4, m % 4
        if (m + 3 * self.rest) * (self.stride // 4) > MOST:
            raise LimitError(f"{self.samples} portfolios of {m} assets; the limit is {4 * MOST} shares")
        scratch = AT_ONCE * (m + m + 1 + 2 * EACH + self.fours) + LANES * 4 * self.fours
        take(8 * ((m + 3 * self.rest) * (self.stride // 4) + scratch + 3 * self.stride))
        self.drawn, self.scratch = np.zeros((m + 3 * self.rest) * (self.stride // 4)), np.empty(scratch)
        self.points, self.X = pointer(self.drawn), pointer(self.scratch)
        self.sums = self.X + AT_ONCE * m
        self.R = self.sums + AT_ONCE * (m + 1)
        self.S = self.R + AT_ONCE * EACH
        self.part = self.S + AT_ONCE * EACH
        self.turned = self.part + AT_ONCE * self.fours
        self.room = np.zeros((3, self.stride))
        self.base = pointer(self.room)
        self.grown, self.logs = self.base + self.stride, self.base + 2 * self.stride
        self.arrays["grown"], self.arrays["logs"] = self.room[1], self.room[2]
        self.draw()
        for i in range(self.samples):
            self.grown[self.place(i)] = 1
        self.fold()

    cdef double exponential(self, Py_ssize_t number) noexcept nogil:
        return -log(((random_bits(self.seed, &number) >> 11) + 1) * (1.0 / 9007199254740992.0))

    def draw(self):
        """Sample the portfolios: exponential variables divided by their sum are uniform on the simplex."""
        cdef Py_ssize_t i, j, g, m = self.m, each = m + 3 * self.rest, fours = self.fours, rest = self.rest
        cdef double sum, left
        cdef double* point
        cdef double[::1] parts = np.empty(each)
        for i in range((self.samples + 3) // 4):
            point = self.points + i // LANES * LANES * 4 * (fours + rest) + i % LANES
            sum = 0
            for j in range(each):
                parts[j] = self.exponential(i * each + j)
                sum += parts[j] if j < m else 0
            for j in range(4 * fours):
                point[(j % 4 * fours + j // 4) * LANES] = parts[j] / sum
            for j in range(fours):
                hadamard(point + j * LANES, fours * LANES)
            point += 4 * fours * LANES
            left = 0
            for j in range(4 * fours, m):
                left += parts[j] / sum
            for g in range(4 if rest else 0):
                sum = 0
                for j in range(rest):
                    sum += parts[4 * fours + g * rest + j]
                for j in range(rest):
                    point[(4 * j + g) * LANES] = left * (parts[4 * fours + g * rest + j] / sum)

    cdef int fold(self) except -1:
        """Add log(grown) to the logarithms and set grown to 1, so that no wealth overflows or underflows."""
        cdef Py_ssize_t i, k
        for i in range(self.samples):
            k = self.place(i)
            self.logs[k] += log(fmax(self.grown[k], 1e-60))    # on an extreme day rounding may give less
            self.grown[k] = 1
        self.rebase()
        return 0

    cdef int rebase(self) except -1:
        cdef Py_ssize_t i, k
        cdef double top = self.logs[0]
        for i in range(self.samples):
            top = fmax(top, self.logs[self.place(i)])
        for i in range(self.samples):
            k = self.place(i)
            self.base[k] = exp(self.logs[k] - top) if self.logs[k] - top > -600 else 0
        return 0

    def check(self):
        StrategyLearner.check(self)
        drawn = np.zeros(self.stride, dtype=bool)
        drawn[[self.place(i) for i in range(self.samples)]] = True
        grown, logs = self.arrays["grown"], self.arrays["logs"]
        if grown[~drawn].any() or logs[~drawn].any():
            raise ModelError("an unused place for a portfolio has wealth")
        # Each of the up to FOLD days since the last fold multiplied the wealth by at most 10.
        expect_range("grown", grown[drawn], 5e-324, 1.01 * 10.0**min((self.t - 1) % FOLD + 1, 256))
        expect_range("logs", logs, -600.0 * (self.t + 1), 600.0 * (self.t + 1))
        self.rebase()

    cdef void transform(self, const double* x, Py_ssize_t d) noexcept nogil:
        """X receives x^ as day d."""
        cdef Py_ssize_t j, fours = self.fours, whole = 4 * self.fours
        for j in range(whole):
            self.X[(j % 4 * fours + j // 4) * AT_ONCE + d] = 0.25 * x[j]
        for j in range(fours):
            hadamard(self.X + j * AT_ONCE + d, fours * AT_ONCE)
        for j in range(whole, self.m):
            self.X[j * AT_ONCE + d] = x[j]

    cdef void grow(self, Py_ssize_t block, Py_ssize_t days) noexcept nogil:
        """S_i <- S_i b_i.x by some days for one block of orbits; the sums receive S_i and S_i b^_i."""
        cdef Py_ssize_t d, h, j, k, o, fours = self.fours, rest = self.rest, whole = 4 * self.fours
        cdef double* grown = self.grown + block * EACH
        cdef const double* base = self.base + block * EACH
        cdef const double* points = self.points + block * LANES * (whole + 4 * rest)
        cdef const double* left = points + LANES * whole
        cdef double* R
        cdef double x
        for h in range(4):
            sums_of_products(fours, days, LANES, self.X + h * fours * AT_ONCE, AT_ONCE, points + h * fours * LANES,
                             LANES, self.R + h * LANES, EACH)
        for d in range(days):
            R = self.R + d * EACH
            for o in range(LANES):
                hadamard(R + o, LANES)
            for j in range(rest):
                x = self.X[(whole + j) * AT_ONCE + d]
                for k in range(EACH):
                    R[k] += x * left[j * EACH + k]
            for k in range(EACH):
                grown[k] *= R[k]
                R[k] = grown[k] * base[k]
            for j in range(rest):
                self.sums[(whole + j) * AT_ONCE + d] += dot(EACH, R, left + j * EACH)
            for o in range(LANES):
                hadamard(R + o, LANES)
            self.sums[self.m * AT_ONCE + d] += sum_of(LANES, R)
            for k in range(EACH):
                self.S[k * AT_ONCE + d] = R[k]
        for j in range(whole):
            for o in range(LANES):
                self.turned[o * whole + j] = points[j * LANES + o]
        for h in range(4):
            sums_of_products(LANES, fours, days, self.turned + h * fours, whole, self.S + h * LANES * AT_ONCE, AT_ONCE,
                             self.part, AT_ONCE)
            for j in range(fours):
                for d in range(days):
                    self.sums[(h * fours + j) * AT_ONCE + d] += self.part[j * AT_ONCE + d]

    cdef void mix(self, Py_ssize_t d) noexcept nogil:
        """b = sum S_i b_i / sum S_i after day d."""
        cdef Py_ssize_t j, fours = self.fours, whole = 4 * self.fours
        cdef double wealth = self.sums[self.m * AT_ONCE + d], sum
        for j in range(fours):
            hadamard(self.sums + j * AT_ONCE + d, fours * AT_ONCE)
        for j in range(self.m):    # rounding may take a difference below 0
            sum = 0.25 * self.sums[(j % 4 * fours + j // 4) * AT_ONCE + d] if j < whole else self.sums[j * AT_ONCE + d]
            self.b[j] = fmax(sum, 0) / wealth

    cdef int learn_days(self, Py_ssize_t n, const double* X, double* B) except -1:
        cdef Py_ssize_t done = 0, days, s, d, m = self.m
        cdef bint wild
        while done < n:
            days = min(n - done, min(<Py_ssize_t> AT_ONCE, FOLD - self.t % FOLD))
            wild = self.wild(X + done * m)
            if wild or self.t % FOLD == 0:
                self.fold()
            for d in range(1, days):
                if wild or self.wild(X + (done + d) * m):
                    days = d
                    break
            for d in range(days):
                self.transform(X + (done + d) * m, d)
            memset(self.sums, 0, AT_ONCE * (m + 1) * sizeof(double))
            for s in range(self.stride // EACH):
                self.grow(s, days)
            for d in range(days):
                if B != NULL:
                    memcpy(B + (done + d) * m, self.b, m * sizeof(double))
                self.mix(d)
            if wild:
                self.fold()
            done += days
            self.t += days
            PyErr_CheckSignals()
        return 0

    cdef bint wild(self, const double* x) noexcept nogil:
        """Whether 256 such days could take the wealth out of the range of doubles."""
        cdef Py_ssize_t j
        for j in range(self.m):
            if not 0.1 < x[j] < 10:
                return True
        return False


class UniversalPortfolio(Strategy):
    """Mean of all constant rebalanced portfolios, each weighted by its wealth; computed from a sample of them.

        b = sum S_i b_i / sum S_i,  S_i = product of b_i.x over the days so far,  b_i uniform on the simplex

    The sample consists of orbits of four: one portfolio, and the three in which the assets of each four exchange their
    shares in pairs. A day then takes a quarter of the products. The error is about that of independent draws. With many
    assets, no sample that fits a computer is near the integral or the best portfolio; the result is then close to that
    of `UCRP`.

    Parameters
    ----------
    samples : the number of portfolios, at least 1.
    seed : seed of the random numbers, an integer from 0 to 2^53.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("universal-portfolio", load("djia")).final_wealth, 2)
    0.81

    Cover. Universal portfolios. Mathematical Finance 1(1), 1991.
    """

    paper = "Cover (1991)"
    samples = Number(10_000, least=1, most=10_000_000, integer=True)
    seed = Number(0, least=0, most=2**53, integer=True)
    fixed = ("samples", "seed")

    def build(self):
        return UniversalPortfolioLearner(self.samples, self.seed)


cdef class ExponentiatedGradientLearner(StrategyLearner):
    """log b, less the largest, is the state: a share may underflow and still come back."""

    cdef double eta
    cdef double* logs

    def __init__(self, double eta):
        self.eta = eta
        StrategyLearner.__init__(self)

    def shapes(self, m):
        return {"b": (m,), "logs": (m,)}

    def check(self):
        StrategyLearner.check(self)
        logs = self.arrays["logs"]
        expect_range("logs", logs, -1e300, 0)
        shares = np.exp(logs)
        if logs.max() != 0 or np.abs(shares / shares.sum() - self.arrays["b"]).max() > 1e-6:
            raise ModelError("logs must be the logarithms of the portfolio less the largest")

    cdef int bind(self) except -1:
        StrategyLearner.bind(self)
        self.logs = pointer(self.arrays["logs"])
        return 0

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t j
        cdef double grown = dot(self.m, self.b, x), top = -INFINITY, sum = 0
        for j in range(self.m):
            self.logs[j] += fmin(self.eta * (x[j] / grown), 1e300)
            top = fmax(top, self.logs[j])
        for j in range(self.m):
            self.logs[j] = fmax(self.logs[j] - top, -1e300)
            self.b[j] = exp(self.logs[j])
            sum += self.b[j]
        for j in range(self.m):
            self.b[j] /= sum
        return 0


class ExponentiatedGradient(Strategy):
    """Gradient step on the log-return of the day, with relative entropy as the distance.

        b_i <- b_i exp(eta x_i/(b.x)) / Z

    Parameters
    ----------
    eta : step size, above 0. As it approaches 0, the strategy approaches `UCRP`.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("exponentiated-gradient", load("djia")).final_wealth, 4)
    0.81

    Helmbold, Schapire, Singer, Warmuth. On-line portfolio selection using multiplicative updates. Mathematical
    Finance 8(4), 1998.
    """

    paper = "Helmbold et al. (1998)"
    eta = Number(0.05, above=0, search=decades(-3, 0))

    def build(self):
        return ExponentiatedGradientLearner(self.eta)


cdef class ONSLearner(StrategyLearner):
    """p = the projection of delta A^-1 c in the norm of A, b = (1 - eta) p + eta/m."""

    cdef double eta, beta, delta
    cdef double* A
    cdef double* c
    cdef double* p
    cdef object work, free
    cdef double* room
    cdef int* places

    def __init__(self, double eta, double beta, double delta):
        self.eta, self.beta, self.delta = eta, beta, delta
        StrategyLearner.__init__(self)

    def shapes(self, m):
        return {"b": (m,), "p": (m,), "A": (m, m), "c": (m,)}

    def begin(self):
        cdef int[::1] places
        np.fill_diagonal(self.arrays["A"], 1.0)
        self.arrays["p"][:] = 1.0 / self.m
        self.work, self.free = np.empty(self.m * (self.m + 4)), np.empty(self.m, dtype=np.intc)
        places = self.free
        self.room, self.places = pointer(self.work), &places[0]

    cdef int bind(self) except -1:
        StrategyLearner.bind(self)
        self.A, self.c, self.p = pointer(self.arrays["A"]), pointer(self.arrays["c"]), pointer(self.arrays["p"])
        return 0

    def check(self):
        StrategyLearner.check(self)
        A = self.arrays["A"]
        expect_portfolios("p", self.arrays["p"])
        expect_range("c", self.arrays["c"], 0, 1.01e100 * self.t)
        expect_range("A", A, 0, 1.01e200 * self.t)
        if (A != A.T).any() or np.diagonal(A).min() < 1:
            raise ModelError("A must be I plus a sum of squares g g'")

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t i, j, m = self.m
        cdef double g, grown = dot(m, self.b, x)
        cdef double* aim = self.room + m * (m + 3)
        for i in range(m):
            g = x[i] / grown
            self.c[i] += g
            for j in range(m):
                self.A[i * m + j] += g * (x[j] / grown)
        for j in range(m):    # A q = delta c: no need to solve for q
            aim[j] = fmin(self.delta * (1 + 1 / self.beta) * self.c[j], 1e150)
        quadratic(self.A, aim, self.p, m, self.room, self.places)    # A >= I is definite
        for j in range(m):
            self.b[j] = (1 - self.eta) * self.p[j] + self.eta / m
        return 0


class ONS(Strategy):
    """Online Newton step: follow the leader on a quadratic model of the log-returns.

        g = x/(b.x),  A = I + sum g g',  c = (1 + 1/beta) sum g,  b = projection of delta A^-1 c in the norm of A
        the portfolio is (1 - eta) b + eta/m

    The projection is a quadratic program. An active-set method solves it exactly, starting from the portfolio of the
    day before. The cost of a day is cubic in the number of assets that the portfolio holds.

    Parameters
    ----------
    eta : the fraction of the wealth that is always in equal parts, from 0 to 1.
    beta : above 0. Small values follow the sum of the gradients further.
    delta : length of the step, above 0.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("ons", load("djia")).final_wealth, 4)
    1.533

    Agarwal, Hazan, Kale, Schapire. Algorithms for portfolio management based on the Newton method. ICML 2006.
    """

    paper = "Agarwal et al. (2006)"
    eta = Number(0.0, least=0, most=1)
    beta = Number(1.0, above=0, search=decades(-2, 1))
    delta = Number(0.125, above=0, search=decades(-3, 0))

    def build(self):
        return ONSLearner(self.eta, self.beta, self.delta)
