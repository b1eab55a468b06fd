"""Benchmarks: buy and hold, constant rebalancing, and the best asset and rebalanced portfolio in hindsight."""

from libc.math cimport log

from seriatim.portfolio.days cimport History, StrategyLearner, pointer, sum_of
from seriatim.portfolio.growth cimport Growth

from seriatim.portfolio.days import LOG_MOST, expect_range
from seriatim.portfolio.base import Strategy


cdef class BuyAndHoldLearner(StrategyLearner):
    """b becomes b x/(b.x)."""

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t j
        cdef double sum
        for j in range(self.m):
            self.b[j] *= x[j]
        sum = sum_of(self.m, self.b)
        for j in range(self.m):
            self.b[j] /= sum
        return 0


class BuyAndHold(Strategy):
    """Buys equal parts of all assets on the first day and never trades again: the market.

        b_i <- b_i x_i / (b.x)

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("buy-and-hold", load("djia")).final_wealth, 4)
    0.7644

    Li and Hoi. Online portfolio selection: a survey. ACM Computing Surveys 46(3), 2014.
    """

    paper = "Li and Hoi (2014)"

    def build(self):
        return BuyAndHoldLearner()


class UCRP(Strategy):
    """Uniform constant rebalanced portfolio: restores equal parts of all assets every day.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("ucrp", load("djia")).final_wealth, 4)
    0.8127

    Cover. Universal portfolios. Mathematical Finance 1(1), 1991.
    """

    paper = "Cover (1991)"

    def build(self):
        return StrategyLearner()


cdef class BestStockLearner(StrategyLearner):
    """All wealth in the asset that has grown most."""

    cdef double* grown

    def shapes(self, m):
        return {"b": (m,), "grown": (m,)}

    cdef int bind(self) except -1:
        StrategyLearner.bind(self)
        self.grown = pointer(self.arrays["grown"])
        return 0

    def check(self):
        StrategyLearner.check(self)
        expect_range("grown", self.arrays["grown"], -LOG_MOST * self.t, LOG_MOST * self.t)

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t j, best = 0
        for j in range(self.m):
            self.b[j] = 0
            self.grown[j] += log(x[j])
            if self.grown[j] > self.grown[best]:
                best = j
        self.b[best] = 1
        return 0


class BestStock(Strategy):
    """All wealth in the best asset in hindsight.

    `backtest` shows it the whole market beforehand. `weights_` is the best asset of the days learned so far.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("best-stock", load("djia")).final_wealth, 4)
    1.1884

    Li and Hoi. Online portfolio selection: a survey. ACM Computing Surveys 46(3), 2014.
    """

    paper = "Li and Hoi (2014)"
    hindsight = True

    def build(self):
        return BestStockLearner()


cdef class BCRPLearner(History):
    cdef Py_ssize_t seen    # b is the best portfolio for the first `seen` days

    def start(self, Py_ssize_t m):
        self.seen = 0
        History.start(self, m)

    def weights(self):
        cdef Growth growth
        if self.seen < self.t:
            growth = Growth()
            growth.reserve(self.m, self.t)
            self.arrays["b"][:] = 1.0 / self.m
            growth.optimum(self.days, NULL, self.t, self.b, 1e-14)
            self.seen = self.t
        return StrategyLearner.weights(self)

    def state(self):
        self.weights()
        return History.state(self)

    def restore(self, dict state):
        History.restore(self, state)
        self.seen = self.t


class BCRP(Strategy):
    """Best constant rebalanced portfolio in hindsight.

        b = argmax sum log b.x over the simplex, by Newton's method on the assets that b holds

    No portfolio grows by more than max_j mean x_j/(b.x) - 1 a day beyond b, and this gap is below 1e-13. `backtest`
    shows it the whole market beforehand. `weights_` is the best portfolio for the days learned so far. The model
    stores all days.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("bcrp", load("djia")).final_wealth, 4)
    1.2399

    Cover. Universal portfolios. Mathematical Finance 1(1), 1991.
    """

    paper = "Cover (1991)"
    hindsight = True

    def build(self):
        return BCRPLearner()
