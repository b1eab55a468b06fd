"""What strategies are measured by: holding, rebalancing, and the best that could have been done in hindsight."""

from libc.math cimport log
from libc.string cimport memcpy

import numpy as np

from seriatim.portfolio.growth cimport Growth
from seriatim.portfolio.days cimport StrategyLearner, pointer

from seriatim.errors import ModelError
from seriatim.portfolio.days import LEAST, LOG_MOST, MOST, expect_range
from seriatim.portfolio.base import Strategy


cdef extern from "sums.h":
    double grow(Py_ssize_t n, double* held, const double* x) noexcept nogil


cdef class BuyAndHoldLearner(StrategyLearner):
    """b becomes b x/(b.x)."""

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t j
        cdef double sum = grow(self.m, self.b, x)
        for j in range(self.m):
            self.b[j] /= sum
        return 0


class BuyAndHold(Strategy):
    """Equal parts of all assets on the first day, and no trade after that: the market.

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
    """Equal parts of all assets, every day anew: the uniform constant rebalanced portfolio.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("ucrp", load("djia")).final_wealth, 4)
    0.8127

    Cover. Universal portfolios. Mathematical Finance 1(1), 1991.
    """

    paper = "Cover (1991)"

    def build(self):
        return StrategyLearner()


cdef class BestStockLearner(StrategyLearner):
    """All in the asset that has grown most."""

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
    """All money in the asset that does best, in hindsight.

    `backtest` tells it the whole market beforehand; `weights_` is the best of the days learned so far.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("best-stock", load("djia")).final_wealth, 4)
    1.1884

    Li and Hoi. Online portfolio selection: a survey. ACM Computing Surveys 46(3), 2014.
    """

    paper = "Li and Hoi (2014)"
    hindsight = True

    def build(self):
        return BestStockLearner()


cdef class History(StrategyLearner):
    """All days, in an array with room for more."""

    cdef double* days

    def shapes(self, m):
        return {"b": (m,), "history": (0, m)}

    cdef int bind(self) except -1:
        StrategyLearner.bind(self)
        self.days = pointer(self.arrays["history"])
        return 0

    def reserve(self, Py_ssize_t days):
        history = self.arrays["history"]
        if self.t + days > len(history):
            self.arrays["history"] = np.zeros((max(self.t + days, 2 * len(history), 16), self.m))
            self.arrays["history"][:self.t] = history[:self.t]
            self.bind()

    def state(self):
        state = StrategyLearner.state(self)
        state["history"] = state["history"][:self.t].copy()
        return state

    def restore(self, dict state):
        history = state["history"]
        if history.shape != (state["t"], len(state["b"])):
            raise ModelError(f"the history has shape {history.shape} after {state['t']} days")
        expect_range("the history", history, LEAST, MOST)
        StrategyLearner.restore(self, state | {"history": history[:0]})
        self.t = 0
        self.reserve(len(history))
        self.arrays["history"][:len(history)] = history
        self.t = len(history)

    cdef int learn(self, const double* x) except -1:
        memcpy(self.days + self.t * self.m, x, self.m * sizeof(double))
        return 0


cdef class BCRPLearner(History):
    cdef Py_ssize_t seen    # days that b is the best for

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
    """The best constant rebalanced portfolio, in hindsight.

        b = argmax sum log b.x over the simplex, by Newton's method on the assets that it holds

    The optimum is certified: no portfolio has grown by more than max_j mean x_j/(b.x) - 1 a day beyond b, and that is
    below 1e-13. `backtest` tells it the whole market beforehand; `weights_` is the best for the days learned so far,
    all of which it keeps.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("bcrp", load("djia")).final_wealth, 4)
    1.2399

    Cover. Universal portfolios. Mathematical Finance 1(1), 1991.
    """

    paper = "Cover (1991)"
    hindsight = True

    def build(self):
        return BCRPLearner()
