"""Truncated gradient, and the base class of learners that shrink every weight in every round."""

from math import inf

import numpy as np

from libc.math cimport INFINITY, fabs

from seriatim.core.loss cimport Gradient, rate
from seriatim.core.row cimport Row, record, value
from seriatim.sparse.lazy cimport soft

from seriatim.core.loss import LOSSES, SCHEDULES
from seriatim.errors import ModelError, ParameterError
from seriatim.estimator import Classifier, Regressor
from seriatim.parameters import Choice, Flag, Number, powers


cdef inline double settled(double w, double by, double theta, bint rounding) noexcept nogil:
    """A weight after the shrinkage since its last step. It only shrinks, so it does not cross theta."""
    if fabs(w) > theta:
        return w
    return soft(w, INFINITY if rounding and by > 0 else by)


cdef inline void several(const Row* x, const double* w, Py_ssize_t width, Py_ssize_t before, double shrinkage,
                         double theta, bint rounding, double* out, int n) noexcept nogil:
    cdef double sums[8]
    cdef const double* r
    cdef Py_ssize_t i, k
    for k in range(n):
        sums[k] = x.constant * settled(w[k], shrinkage - w[before + k], theta, rounding)
    for i in range(x.n):
        r = w + ((i if x.index == NULL else x.index[i]) + 1) * width
        for k in range(n):
            sums[k] += x.value[i] * settled(r[k], shrinkage - r[before + k], theta, rounding)
    for k in range(n):
        out[k] = sums[k]


cdef class Shrinking(Lazy):
    """w_j += a x_j; and in some rounds every |w_j| <= theta shrinks by a constant, down to 0.

    `shrinkage` is the sum of these constants. A record has the weight after its last step and the sum at that time.
    With `rounding` weights become 0 instead, and the sum counts how often.
    """

    NUMBERS = (*Lazy.NUMBERS, "shrinkage")
    SUMS = ("before",)

    def __init__(self, Gradient gradient, double theta=inf, bint rounding=False, bint regression=False,
                 tuple companions=()):
        Lazy.__init__(self, gradient, (("w", 0.0, True), ("before", 0.0, False), *companions), regression)
        self.theta, self.rounding = theta, rounding

    cdef double length(self, double slope) noexcept nogil:
        return rate(self.gradient.schedule, self.gradient.eta, self.t) * slope

    cdef void products(self, const Row* x, Py_ssize_t column, int n, double* out) noexcept nogil:
        cdef int k
        cdef Py_ssize_t width = self.table.width, before = self.classes
        cdef const double* w = self.table.data + column
        if self.theta < INFINITY or self.rounding:
            for k in range(n):
                several(x, w + k, width, before, self.shrinkage, self.theta, self.rounding, out + k, 1)
        elif n == 8:
            several(x, w, width, before, self.shrinkage, INFINITY, False, out, 8)
        else:
            several(x, w, width, before, self.shrinkage, INFINITY, False, out, 1)

    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        cdef Py_ssize_t i, width = self.table.width, before = self.classes
        cdef double shrinkage = self.shrinkage, theta = self.theta
        cdef bint rounding = self.rounding
        cdef double* table = self.table.data + column
        cdef double* w
        for i in range(-1, x.n):
            if value(x, i) != 0:
                w = table + record(x, i) * width
                w[0] = settled(w[0], shrinkage - w[before], theta, rounding) + a * value(x, i)
                w[before] = shrinkage

    cdef double now(self, const double* w) noexcept nogil:
        """The current weight of one record and column."""
        return settled(w[0], self.shrinkage - w[self.classes], self.theta, self.rounding)

    cdef void shrink_all(self, double by) noexcept nogil:
        """Shrink all weights. The sum restarts at 0 before it is so large that differences of it are inexact."""
        self.shrinkage += by
        if self.shrinkage > 1e6 * by:
            self.fold()

    cdef void fold(self) noexcept nogil:
        """Write the current weights to the table, and restart the sum at 0."""
        cdef Py_ssize_t i, k
        cdef double* w
        for i in range(self.table.rows):
            for k in range(self.classes):
                w = self.table.data + i * self.table.width + k
                w[0] = self.now(w) + 0.0    # + 0.0: no negative zero
                w[self.classes] = 0
        self.shrinkage = 0

    def restore(self, state):
        Lazy.restore(self, state)
        if not np.max(state["before"], initial=0.0) <= self.shrinkage:
            raise ModelError(f"a record has a shrinkage above the total of {self.shrinkage}")

    def reclass(self, source, factor):
        self.fold()    # a halved weight still shrinks by the full constant
        Lazy.reclass(self, source, factor)

    def fields(self):
        """A weight that has shrunk to 0 is the same as a new one."""
        fields, zero = Lazy.fields(self), self.weights() == 0
        return fields | {name: np.where(zero, 0.0, fields[name]) for name in ("w", "before")}


cdef class TruncatedGradientLearner(Shrinking):
    """Shrinks before the prediction of round t if the period divides t."""

    cdef double gravity
    cdef Py_ssize_t period

    def __init__(self, Gradient gradient, double gravity, theta, Py_ssize_t period, bint rounding, bint regression):
        Shrinking.__init__(self, gradient, inf if theta is None else theta, rounding, regression)
        self.gravity, self.period = gravity, period

    cdef void end_round(self) noexcept nogil:
        cdef Py_ssize_t t = self.t + 1
        if t % self.period == 0:
            if self.rounding:
                self.shrink_all(1)
            else:
                self.shrink_all(self.period * self.gravity * rate(self.gradient.schedule, self.gradient.eta, t))


class Truncated:
    """The parameters of truncated gradient, after the loss."""

    family = "sparse"
    paper = "Langford et al. (2009)"
    eta = Number(0.1, above=0, search=powers(-10, 2))
    gravity = Number(0.01, least=0)
    theta = Number(None, above=0, optional=True)
    period = Number(1, least=1, below=10**9, integer=True)
    schedule = Choice("constant", SCHEDULES)
    rounding = Flag(False)
    epsilon = Number(0.1, least=0)

    def _learner_for(self, bint regression):
        if self.rounding and self.theta is None:
            raise ParameterError(
                f"{type(self).__name__}: rounding=True with theta=None would set every weight to 0; give a theta"
            )
        gradient = Gradient(self.loss, self.eta, self.schedule, self.epsilon)
        return TruncatedGradientLearner(gradient, self.gravity, self.theta, self.period, self.rounding, regression)


class TruncatedGradient(Truncated, Classifier):
    """Truncated gradient: gradient steps, and every K rounds small weights shrink towards 0.

    In round t, if K divides t, every |w_j| <= theta becomes [|w_j| - K g eta_t]+, or 0 with `rounding`. Then the model
    predicts, and w -= eta_t grad loss. The losses are those of `OGD`. The squared loss is (1 - m)^2 / 2, half of the
    paper's, so eta is twice the paper's. With many classes m = w_y.x - w_s.x, where s is the strongest wrong class.
    `coef_` is w as the next round predicts with it. The intercept is a weight like any other. A feature that was absent
    makes up for the shrinkage when it returns, so a round costs the non-zeros of its row. A sample weight multiplies
    the loss.

    Parameters
    ----------
    loss : the loss, as for `OGD`.
    eta : step size, above 0.
    gravity : g, at least 0; larger values shrink more.
    theta : weights above it do not shrink; above 0, or None for no limit.
    period : K, a whole number of rounds, at least 1.
    schedule : constant (eta_t = eta), sqrt (eta_t = eta / sqrt(t)) or inverse (eta_t = eta / t).
    rounding : set weights up to theta to 0 instead of shrinking them; needs a theta.
    epsilon : width of the epsilon-insensitive loss, at least 0.

    >>> from seriatim import TruncatedGradient, data, evaluate
    >>> run = evaluate.progressive(TruncatedGradient(loss="hinge", eta=0.01, gravity=0.1), *data.load("digits"))
    >>> run.mistakes, run.model.n_nonzero_
    (524, 327)

    Langford, Li and Zhang, "Sparse online learning via truncated gradient", JMLR 10 (2009), Algorithm 1.
    """

    fixed = (*Classifier.fixed, "theta", "rounding")
    loss = Choice("squared", LOSSES[:6])

    def build(self):
        return self._learner_for(regression=False)


class TruncatedGradientRegressor(Truncated, Regressor):
    """Truncated gradient for regression: gradient steps, and every K rounds small weights shrink towards 0.

    In round t, if K divides t, every |w_j| <= theta becomes [|w_j| - K g eta_t]+, or 0 with `rounding`. Then the model
    predicts, and w -= eta_t grad loss. The loss is a function of the residual z = y - w.x: squared z^2 / 2, absolute
    |z|, or epsilon_insensitive [|z| - epsilon]+. The squared loss is half of the paper's, so eta is twice the paper's.
    All else is as for `TruncatedGradient`.

    Parameters
    ----------
    loss : squared, absolute or epsilon_insensitive.
    eta : step size, above 0.
    gravity : g, at least 0; larger values shrink more.
    theta : weights above it do not shrink; above 0, or None for no limit.
    period : K, a whole number of rounds, at least 1.
    schedule : constant (eta_t = eta), sqrt (eta_t = eta / sqrt(t)) or inverse (eta_t = eta / t).
    rounding : set weights up to theta to 0 instead of shrinking them; needs a theta.
    epsilon : width of the epsilon-insensitive loss, at least 0.

    >>> from seriatim import TruncatedGradientRegressor
    >>> model = TruncatedGradientRegressor(gravity=0.05)
    >>> for i in range(500):
    ...     model = model.learn_one({"a": i % 3, "b": i % 2, "c": i % 5 == 0}, 2 * (i % 3) + 1)
    >>> {name: round(float(w), 1) for name, w in zip(model.feature_names_in_, model.coef_)}
    {'a': 2.0, 'b': 0.0, 'c': 0.0}

    Langford, Li and Zhang, "Sparse online learning via truncated gradient", JMLR 10 (2009), Algorithm 1.
    """

    fixed = (*Regressor.fixed, "theta", "rounding")
    loss = Choice("squared", ("squared", "absolute", "epsilon_insensitive"))

    def build(self):
        return self._learner_for(regression=True)
