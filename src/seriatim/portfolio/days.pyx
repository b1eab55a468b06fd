"""The learner of trading days that all strategies extend, and the returns of portfolios."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs
from libc.string cimport memcpy

import math

import numpy as np

from seriatim.core.allowance import take
from seriatim.errors import ModelError


# The range of price relatives that a market accepts, and of their logarithms.
LEAST, MOST, LOG_MOST = 1e-50, 1e50, 116.0


cdef double* pointer(array) except? NULL:
    """The address of the numbers of an array."""
    cdef double[::1] flat = array.reshape(-1)
    return &flat[0] if flat.shape[0] else NULL


cdef void uniform(double* b, Py_ssize_t m) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(m):
        b[j] = 1.0 / m


cdef class StrategyLearner:
    """A portfolio b for the next day. The state is the named arrays and the number of days."""

    def __init__(self):
        self.start(0)

    def shapes(self, Py_ssize_t m):
        """The shape of each array of the state, for m assets."""
        return {"b": (m,)}

    def start(self, Py_ssize_t m):
        """Reset to the state before the first day, with m assets."""
        self.t, self.m = 0, m
        shapes = self.shapes(m)
        take(sum([8 * math.prod(shape) for shape in shapes.values()]))
        self.arrays = {name: np.zeros(shape) for name, shape in shapes.items()}
        if m:
            self.arrays["b"][:] = 1.0 / m
            self.begin()
            self.bind()

    def begin(self):
        """Set the arrays that do not start at zero."""

    cdef int bind(self) except -1:
        """Set the pointers to the arrays, which are new or have moved."""
        self.b = pointer(self.arrays["b"])
        return 0

    def reserve(self, Py_ssize_t days):
        """Make room for more days."""

    def weights(self):
        """The portfolio for the next day."""
        return self.arrays["b"].copy()

    cdef int learn(self, const double* x) except -1:
        return 0

    cdef int learn_days(self, Py_ssize_t n, const double* X, double* B) except -1:
        cdef Py_ssize_t i
        for i in range(n):
            if B != NULL:
                memcpy(B + i * self.m, self.b, self.m * sizeof(double))
            self.learn(X + i * self.m)
            self.t += 1
            PyErr_CheckSignals()
        return 0

    def run(self, const double[:, ::1] X, double[:, ::1] B=None):
        """Learn days. B receives the portfolio of each day."""
        if X.shape[0]:
            self.reserve(X.shape[0])
            self.learn_days(X.shape[0], &X[0, 0], NULL if B is None else &B[0, 0])

    def state(self):
        return {"t": self.t, **{name: array.copy() for name, array in self.arrays.items()}}

    def restore(self, dict state):
        m = len(state["b"])
        self.start(m)
        self.t = state["t"]
        for name, array in self.arrays.items():
            if state[name].shape != array.shape:
                raise ModelError(f"{name} has shape {state[name].shape}; expected {array.shape}")
            array[...] = state[name]
        if (self.t > 0) != (self.m > 0):
            raise ModelError(f"{self.m} assets after {self.t} days")
        if self.m:
            self.check()

    def check(self):
        """Raise ModelError unless days could have led to this state. The solvers rely on it to terminate."""
        expect_portfolios("b", self.arrays["b"])


cdef class History(StrategyLearner):
    """A strategy that stores all days. The array has room for more."""

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


def expect_portfolios(str name, array):
    if array.size and ((array < 0).any() or abs(array.sum(axis=-1) - 1).max() > 1e-6):
        raise ModelError(f"{name} is not a portfolio: expected numbers of at least 0 with the sum 1")


def expect_range(str name, array, double least, double most):
    """Raise ModelError for numbers outside of the range that days within the limits can reach."""
    if array.size and not least <= array.min() <= array.max() <= most:
        raise ModelError(f"{name}: from {array.min():g} to {array.max():g}; expected {least:g} to {most:g}")


def settle(const double[:, ::1] X, const double[:, ::1] B, double cost):
    """The wealth after each day, less costs, as a multiple of that before; and the fraction that was traded."""
    cdef Py_ssize_t t, j, n = X.shape[0], m = X.shape[1]
    cdef double gross = 1, change
    cdef const double* b
    cdef const double* before
    cdef const double* x
    cdef double[::1] daily = np.empty(n), turnover = np.empty(n), apart = np.empty(m)
    cdef double* moved = &apart[0]
    for t in range(n):
        b = &B[t, 0]
        if t:
            before, x = &B[t - 1, 0], &X[t - 1, 0]
            for j in range(m):
                moved[j] = fabs(b[j] - before[j] * x[j] * (1 / gross))
        else:    # the first day buys the whole portfolio
            for j in range(m):
                moved[j] = fabs(b[j])
        change = sum_of(m, moved)
        gross = dot(m, b, &X[t, 0])
        daily[t] = gross * (1 - 0.5 * cost * change)
        turnover[t] = 0.5 * change
    return np.asarray(daily), np.asarray(turnover)


def market(const double[:, ::1] X):
    """The daily returns of all assets in equal parts, bought once and held."""
    cdef Py_ssize_t t, j, n = X.shape[0], m = X.shape[1]
    cdef double before = 1, now
    cdef const double* x
    cdef double[::1] daily = np.empty(n), shares = np.full(m, 1.0 / m)
    cdef double* held = &shares[0]
    for t in range(n):
        x = &X[t, 0]
        for j in range(m):
            held[j] *= x[j]
        now = sum_of(m, held)
        daily[t] = now / before
        before = now
        if not 1e-100 < now < 1e100:    # only the proportions count
            for j in range(m):
                held[j] /= now
            before = 1
    return np.asarray(daily)


def survey(const double[:, ::1] X):
    """The index of the first number that is no price relative, or -1; how many are missing, below 1/2, and above 2."""
    cdef Py_ssize_t i, bad = -1, missing = 0, low = 0, high = 0, size = X.shape[0] * X.shape[1]
    cdef const double* x = &X[0, 0] if size else NULL
    for i in range(size):
        missing += x[i] != x[i]
        low += x[i] < 0.5
        high += x[i] > 2
        if bad < 0 and (x[i] <= 1e-50 or x[i] >= 1e50):    # beyond these, squares and products overflow
            bad = i
    return bad, missing, low, high
