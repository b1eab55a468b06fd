"""Pattern matching: the best portfolio for the days that followed windows like the last one.

By definition these strategies use the whole past: they store all days, and the cost of a day grows with their number.
"""

from libc.math cimport ceil, exp, floor, fmax, log, sqrt
from libc.string cimport memcpy

import numpy as np

from seriatim.portfolio.days cimport History, dot, pointer, uniform
from seriatim.portfolio.growth cimport Growth

from seriatim.parameters import Choice, Number
from seriatim.portfolio.days import LOG_MOST, expect_portfolios, expect_range
from seriatim.portfolio.base import Strategy

cdef double TOLERANCE = 5e-13    # of the daily growth


cdef class Matching(History):
    """Experts over one history, each with its portfolio and the logarithm of its wealth.

    near[k][i] compares day i with the k-th day before the last. Its sums along the diagonal compare windows.
    """

    cdef Py_ssize_t experts, window, room
    cdef double* portfolios
    cdef double* wealth
    cdef object kept, listed
    cdef double* near
    cdef double* total
    cdef double* extra
    cdef double* shares
    cdef Py_ssize_t* rows
    cdef Growth growth

    def __init__(self, Py_ssize_t experts, Py_ssize_t window):
        self.experts, self.window = experts, window
        History.__init__(self)

    def shapes(self, m):
        return {
            "b": (m,), "history": (0, m), "portfolios": (self.experts, m), "wealth": (self.experts * (m > 0),)
        }

    def begin(self):
        self.room = 0
        self.arrays["portfolios"][:] = 1.0 / self.m
        self.growth = Growth()

    cdef int bind(self) except -1:
        History.bind(self)
        self.wealth, self.portfolios = pointer(self.arrays["wealth"]), pointer(self.arrays["portfolios"])
        return 0

    def reserve(self, Py_ssize_t days):
        """Make room for more days and for the comparisons with them."""
        cdef Py_ssize_t room
        cdef Py_ssize_t[::1] rows
        History.reserve(self, days)
        room, kept = len(self.arrays["history"]), self.kept
        if room <= self.room:
            return
        self.kept, self.listed = np.zeros((self.window + 4, room)), np.zeros(room, dtype=np.intp)
        if self.room:
            self.kept[:, :self.room] = kept
        self.room, rows = room, self.listed
        self.near, self.rows = pointer(self.kept), &rows[0]
        self.total = self.near + self.window * room
        self.extra = self.total + room
        self.shares = self.total + 3 * room
        self.growth.reserve(self.m, room)

    def restore(self, dict state):
        cdef Py_ssize_t days = state["t"], i
        History.restore(self, state)
        if not days:
            return
        expect_portfolios("the portfolio of an expert", self.arrays["portfolios"])
        expect_range("the logarithms of wealth", self.arrays["wealth"], -LOG_MOST * days, LOG_MOST * days)
        for i in range(days):    # the comparisons are not stored, but computed again
            self.t = i
            if i >= days - self.window:
                self.compare()
            self.note()
        self.t = days

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t e
        memcpy(self.days + self.t * self.m, x, self.m * sizeof(double))
        for e in range(self.experts):
            self.wealth[e] += log(dot(self.m, self.portfolios + e * self.m, x))
        self.compare()
        self.note()
        self.ask(self.t + 1)
        self.mix()
        return 0

    cdef int note(self) except -1:
        """Store what later comparisons need of the last day."""
        return 0

    cdef double likeness(self, const double* a, const double* b) noexcept nogil:
        """|a - b|^2, by four partial sums."""
        cdef double part[4]
        cdef double sum
        cdef Py_ssize_t j, k, whole = self.m // 4 * 4
        for k in range(4):
            part[k] = 0
        for j in range(0, whole, 4):
            for k in range(4):
                part[k] += (a[j + k] - b[j + k]) * (a[j + k] - b[j + k])
        sum = (part[0] + part[1]) + (part[2] + part[3])
        for j in range(whole, self.m):
            sum += (a[j] - b[j]) * (a[j] - b[j])
        return sum

    cdef int compare(self) except -1:
        """Compare all days with the last one. The rows of `near` are used in turn."""
        cdef Py_ssize_t i
        cdef double* line = self.near + (self.t % self.window) * self.room
        for i in range(self.t + 1):
            line[i] = self.likeness(self.days + i * self.m, self.days + self.t * self.m)
        return 0

    cdef void widen(self, Py_ssize_t w, Py_ssize_t T) noexcept nogil:
        """Extend total[i], the comparison of the windows before day i, from w - 1 to w days."""
        cdef Py_ssize_t i
        cdef const double* line = self.near + ((T - w) % self.window) * self.room
        for i in range(w, T):
            self.total[i] = (self.total[i] if w > 1 else 0.0) + line[i - w]

    cdef int ask(self, Py_ssize_t T) except -1:
        """Compute new portfolios of all experts from T days."""
        return 0

    cdef void invest(self, Py_ssize_t e, Py_ssize_t n, const Py_ssize_t* rows) noexcept nogil:
        """The best portfolio for n days, found from the last one of the expert; equal parts if n is 0."""
        if n:
            self.growth.optimum(self.days, rows, n, self.portfolios + e * self.m, TOLERANCE)
        else:
            uniform(self.portfolios + e * self.m, self.m)

    cdef double least(self) except? -1:
        """The least log-wealth of an expert that counts."""
        return -1e300

    cdef int mix(self) except -1:
        cdef Py_ssize_t e, j
        cdef double top = -1e300, sum = 0, share, least = self.least()
        for e in range(self.experts):
            top = fmax(top, self.wealth[e])
        for j in range(self.m):
            self.b[j] = 0
        for e in range(self.experts):
            if self.wealth[e] >= least:
                share = exp(self.wealth[e] - top)
                for j in range(self.m):
                    self.b[j] += share * self.portfolios[e * self.m + j]
        for j in range(self.m):
            sum += self.b[j]
        for j in range(self.m):
            self.b[j] /= sum
        return 0


# ---- correlation

cdef class CORNLearner(Matching):
    cdef int ensemble
    cdef Py_ssize_t levels
    cdef double rho, top

    def __init__(self, Py_ssize_t window, double rho, ensemble, Py_ssize_t levels, double top):
        self.ensemble, self.levels, self.rho, self.top = (None, "uniform", "top").index(ensemble), levels, rho, top
        experts = {None: 1, "uniform": window, "top": window * levels}[ensemble]
        Matching.__init__(self, experts, window)

    cdef double likeness(self, const double* a, const double* b) noexcept nogil:
        """The product of relatives less 1, which have the same correlation and round less."""
        cdef Py_ssize_t j
        cdef double sum = 0
        for j in range(self.m):
            sum += (a[j] - 1) * (b[j] - 1)
        return sum

    cdef int note(self) except -1:
        """Store the sum of the day, and that of its squares."""
        cdef Py_ssize_t j
        cdef double sum = 0
        cdef const double* x = self.days + self.t * self.m
        for j in range(self.m):
            sum += x[j] - 1
        self.extra[self.t] = sum
        self.extra[self.room + self.t] = self.likeness(x, x)
        return 0

    cdef int ask(self, Py_ssize_t T) except -1:
        cdef Py_ssize_t w, level
        for w in range(1, min(self.window, T - 1) + 1):
            self.widen(w, T)
            if T <= w + 1 or (self.ensemble == 0 and w < self.window):
                continue
            self.correlate(w, T)
            if self.ensemble == 2:
                for level in range(self.levels):
                    self.pick((w - 1) * self.levels + level, w, T, <double> level / self.levels)
            else:
                self.pick(w - 1 if self.ensemble else 0, w, T, self.rho)
        return 0

    cdef void correlate(self, Py_ssize_t w, Py_ssize_t T) noexcept nogil:
        """shares[i] = the correlation of the window before day i with the last window; 0 if one is constant."""
        cdef Py_ssize_t i, k, size = w * self.m
        cdef double sum = 0, squares = 0, last_sum = 0, last_squares = 0, spread, last_spread, product
        for k in range(w):
            last_sum += self.extra[T - 1 - k]
            last_squares += self.extra[self.room + T - 1 - k]
        last_spread = last_squares - last_sum * last_sum / size
        if last_spread <= 1e-13 * last_squares:
            last_spread = 0
        for i in range(w, T):
            sum = squares = 0
            for k in range(w):
                sum += self.extra[i - 1 - k]
                squares += self.extra[self.room + i - 1 - k]
            spread = squares - sum * sum / size
            if spread <= 1e-13 * squares or last_spread == 0:
                self.shares[i] = 0
                continue
            product = self.total[i] - sum * last_sum / size
            self.shares[i] = product / sqrt(spread * last_spread)

    cdef void pick(self, Py_ssize_t e, Py_ssize_t w, Py_ssize_t T, double rho) noexcept nogil:
        cdef Py_ssize_t i, n = 0
        for i in range(w, T):
            if self.shares[i] >= rho:
                self.rows[n] = i
                n += 1
        self.invest(e, n, self.rows)

    cdef double least(self) except? -1:
        cdef Py_ssize_t heard
        if self.ensemble != 2:
            return -1e300
        heard = <Py_ssize_t> ceil(self.top * self.window * self.levels)
        wealth = self.arrays["wealth"].copy()
        wealth.sort()    # a method runs no Python code, in which Ctrl-C could come
        return wealth[self.experts - max(1, heard)]


class CORN(Strategy):
    """Correlation-driven learning: the best portfolio for the days after windows that correlate with the last one.

        C = {i : corr(x_(i-w)..x_(i-1), x_(t-w+1)..x_t) >= rho},  b = argmax sum over C of log b.x_i; 1/m if C is empty

    The model stores all days, and the cost of a day is proportional to their number.

    Parameters
    ----------
    window : w in days, at least 1.
    rho : the least correlation, from -1 to 1.
    ensemble : None for one expert. "uniform" (CORN-U): windows of 1 to `window` days with this rho, weighted by their
        wealth. "top" (CORN-K): windows of 1 to `window` days with rho = 0, 1/levels ...; only the wealthiest count.
    levels : the number of values of rho in CORN-K.
    top : the fraction of the experts of CORN-K that count, above 0.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("corn", load("djia")[:200]).final_wealth, 3)
    1.013

    Li, Hoi, Gopalkrishnan. CORN: correlation-driven nonparametric learning approach for portfolio selection. ACM TIST
    2(3), 2011.
    """

    paper = "Li, Hoi and Gopalkrishnan (2011)"
    window = Number(5, least=1, most=1000, integer=True, search=(2, 5, 10))
    rho = Number(0.1, least=-1, most=1, search=(-0.2, 0.0, 0.1, 0.2, 0.4))
    ensemble = Choice(None, options=("uniform", "top"), optional=True)
    levels = Number(10, least=1, most=1000, integer=True)
    top = Number(0.1, above=0, most=1)
    fixed = ("window", "ensemble", "levels")

    def build(self):
        return CORNLearner(self.window, self.rho, self.ensemble, self.levels, self.top)


# ---- distance

cdef class NearestNeighbourLearner(Matching):
    """Expert 0 uses all days. The others use the nearest days, for windows of 1 to k days, l fractions of the past."""

    cdef Py_ssize_t levels

    def __init__(self, Py_ssize_t k, Py_ssize_t levels):
        self.levels = levels
        Matching.__init__(self, 1 + k * levels, k)

    cdef int ask(self, Py_ssize_t T) except -1:
        cdef Py_ssize_t w, level, n, i
        cdef Py_ssize_t[::1] order
        if T > 1:
            self.invest(0, T, NULL)
        for w in range(1, min(self.window, T - 1) + 1):
            self.widen(w, T)
            if T <= w + 1:
                continue
            order = np.asarray(self.kept[self.window, w:T]).argsort(kind="stable")    # a method runs no Python code
            for i in range(order.shape[0]):
                order[i] += w
            for level in range(self.levels):
                n = <Py_ssize_t> floor((0.02 + (0.5 * level / (self.levels - 1) if self.levels > 1 else 0.0)) * T)
                self.invest(1 + (w - 1) * self.levels + level, min(n, T - w), &order[0])
        return 0


class NearestNeighbour(Strategy):
    """Best portfolios for the days after the windows nearest to the last one, weighted by their wealth.

        expert (w, l): the floor(p_l t) days i with the least |x_(i-w)..x_(i-1) - x_(t-w+1)..x_t|,
        p_l = 0.02 + 0.5 (l - 1)/(L - 1);  expert 0: all days

    The model stores all days, and the cost of a day is proportional to their number times k l.

    Parameters
    ----------
    k : the longest window in days; all shorter ones are used, too.
    l : L, the number of fractions of the past for each window.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("nearest-neighbour", load("djia")[:100]).final_wealth, 3)
    0.912

    Gyorfi, Udina, Walk. Nonparametric nearest neighbor based empirical portfolio selection strategies. Statistics and
    Decisions 26(2), 2008.
    """

    paper = "Gyorfi, Udina and Walk (2008)"
    k = Number(5, least=1, most=1000, integer=True)
    l = Number(10, least=1, most=1000, integer=True)  # no-cython-lint
    fixed = ("k", "l")

    def build(self):
        return NearestNeighbourLearner(self.k, self.l)


cdef class KernelPortfolioLearner(Matching):
    """Expert 0 uses all days. The others use the days within c/level, for windows of 1 to k days."""

    cdef Py_ssize_t levels
    cdef double c

    def __init__(self, Py_ssize_t k, Py_ssize_t levels, double c):
        self.levels, self.c = levels, c
        Matching.__init__(self, 1 + k * levels, k)

    cdef int ask(self, Py_ssize_t T) except -1:
        cdef Py_ssize_t w, level, n, i
        if T > 1:
            self.invest(0, T, NULL)
        for w in range(1, min(self.window, T - 1) + 1):
            self.widen(w, T)
            if T <= w + 1:
                continue
            for level in range(self.levels):
                n = 0
                for i in range(w, T):
                    if sqrt(self.total[i]) <= self.c / (level + 1):
                        self.rows[n] = i
                        n += 1
                self.invest(1 + (w - 1) * self.levels + level, n, self.rows)
        return 0


class KernelPortfolio(Strategy):
    """Best portfolios for the days after windows within a radius of the last one, weighted by their wealth.

        expert (w, l): the days i with |x_(i-w)..x_(i-1) - x_(t-w+1)..x_t| <= c/l;  expert 0: all days

    The model stores all days, and the cost of a day is proportional to their number times k l.

    Parameters
    ----------
    k : the longest window in days; all shorter ones are used, too.
    l : the number of radii c, c/2 ... c/l for each window.
    c : the largest radius, above 0.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("kernel-portfolio", load("djia")[:100]).final_wealth, 3)
    0.972

    Gyorfi, Lugosi, Udina. Nonparametric kernel-based sequential investment strategies. Mathematical Finance 16(2),
    2006.
    """

    paper = "Gyorfi, Lugosi and Udina (2006)"
    k = Number(5, least=1, most=1000, integer=True)
    l = Number(10, least=1, most=1000, integer=True)  # no-cython-lint
    c = Number(1.0, above=0, search=(0.25, 0.5, 1.0, 2.0))
    fixed = ("k", "l")

    def build(self):
        return KernelPortfolioLearner(self.k, self.l, self.c)
