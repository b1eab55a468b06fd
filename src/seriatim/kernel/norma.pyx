"""NORMA: stochastic gradient descent on a regularised risk, in classification, regression and novelty detection."""

import numpy as np

from libc.math cimport fabs, fmin

from seriatim.core.loss cimport rate
from seriatim.core.row cimport Row
from seriatim.kernel.machine cimport Machine

from seriatim.core.loss import SCHEDULES
from seriatim.errors import ModelError, ParameterError
from seriatim.estimator import NoveltyDetector, Regressor
from seriatim.kernel.base import KernelClassifier, OneKernel
from seriatim.parameters import Choice, Number, powers


cdef class NORMAMachine(Machine):
    """f <- (1 - eta_t lambda) f + eta_t a k(x, .), where a = -dl/df is -1, 0 or 1. The last `truncate` terms remain.

    A subclass gives a. With nu it also learns an intercept b and the level of the loss, rho or epsilon. The level is
    the user's value plus `shift`.
    """

    NUMBERS = (*Machine.NUMBERS, "b", "shift", "oldest")

    cdef int schedule
    cdef double eta, lam, nu
    cdef double given                       # the user's rho or epsilon
    cdef bint adapts                        # whether there is a nu
    cdef Py_ssize_t truncate                # 0: no limit
    cdef public double b, shift
    cdef public Py_ssize_t oldest           # the slot of the oldest term once there are `truncate` terms

    def __init__(self, kernel, double eta, double lam, str schedule, double given, nu, truncate):
        Machine.__init__(self, **kernel, room=min(truncate or 0, 1 << 16))
        if not eta * lam < 1:
            raise ParameterError(f"eta={eta:g}, lam={lam:g}: the product eta lam must be below 1; decrease one of them")
        self.eta, self.lam, self.schedule = eta, lam, SCHEDULES.index(schedule)
        self.given, self.adapts, self.nu = given, nu is not None, nu or 0
        self.truncate = truncate or 0
        self.weighted = True

    cdef double descent(self, double f, double y) noexcept nogil:
        """-dl/df: -1, 0 or 1."""
        return 0

    cdef void adapt(self, double a, double step) noexcept nogil:
        """The gradient steps of b and of the level."""

    cdef double level(self) noexcept nogil:
        """The current rho or epsilon."""
        return self.given + self.shift

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double a, f, own, step = rate(self.schedule, self.eta, self.t)
        self.scores(x, &f)
        own = self.support.itself(x, 0)
        a = self.descent(f, y)
        if not self.support.broken:
            if self.lam > 0:
                self.shrink(1 - step * self.lam)
            step = fmin(step * self.weight, 1e100)
            if a == 0 or step == 0 or own <= 0 or self.take(x, a * step) >= 0:
                if self.adapts:
                    self.adapt(a, step)
        self.failed = self.failed or self.support.broken
        return f

    cdef Py_ssize_t take(self, const Row* x, double alpha) noexcept nogil:
        """Add a term, or replace the oldest one if there are `truncate`. Returns -1 if there is no memory."""
        cdef Py_ssize_t slot = self.oldest
        self.up, self.down, self.sign = 0, -1, 1
        if self.truncate == 0 or self.support.n < self.truncate:
            return self.add(x, alpha)
        if self.replace(slot, x, alpha) < 0:
            return -1
        self.oldest = slot + 1 if slot + 1 < self.truncate else 0
        return slot

    cdef void all_scores(self, double* out) noexcept nogil:
        Machine.all_scores(self, out)
        out[0] += self.b

    def level_now(self):
        return self.level()

    def reclass(self, source, factor):
        Machine.reclass(self, source, factor)
        self.b = factor[0] * self.b + 0.0

    def restore(self, state):
        Machine.restore(self, state)
        if self.truncate and self.support.n > self.truncate or not 0 <= self.oldest < max(self.truncate, 1):
            raise ModelError(
                f"{self.support.n} terms, the oldest in slot {self.oldest}, do not fit truncate={self.truncate or None}"
            )


cdef class NORMALearner(NORMAMachine):
    """[rho - y (f + b)]+ - nu rho."""

    cdef double descent(self, double f, double y) noexcept nogil:
        return y if y * f <= self.level() else 0

    cdef void adapt(self, double a, double step) noexcept nogil:
        self.b += step * a
        self.shift += step * (self.nu - fabs(a))


class NORMA(KernelClassifier):
    """NORMA for classification: gradient descent on [rho - y f(x)]+ + lambda/2 |f|^2. Binary only.

    f <- (1 - eta_t lambda) f. If y f(x) <= rho before that, f += eta_t y k(x, .).

    With nu the loss is [rho - y (f(x) + b)]+ - nu rho, the score is f(x) + b, and b and rho are learned. Let sigma = 1
    if y (f(x) + b) <= rho, else 0. Then b += eta_t sigma y and rho += eta_t (nu - sigma). In the long run a fraction of
    about nu of the rows has a margin of at most rho.

    Old terms shrink in each round. `truncate` removes all but the last terms. It bounds memory and the cost of an
    example, which grow with the terms otherwise. A row with k(x, x) = 0 adds no term. A sample weight multiplies the
    loss.

    Parameters
    ----------
    eta : step size, above 0.
    lam : lambda of the penalty, at least 0; eta lambda must be below 1.
    rho : the required margin, at least 0; with nu, its initial value.
    nu : the fraction of margin errors, above 0 and at most 1; None for a fixed margin without an intercept.
    truncate : the largest number of terms, at least 1; None for no limit.
    schedule : constant, sqrt (eta / sqrt(t)) or inverse (eta / t).
    kernel, sigma, degree, c : as for `KernelPerceptron`.

    >>> from seriatim import NORMA, data, evaluate
    >>> model = NORMA(sigma=0.3, lam=0.001, schedule="constant", truncate=1000, features={"normalize": "max"})
    >>> run = evaluate.progressive(model, *data.load("spam"))
    >>> run.mistakes, run.model.n_support_
    (517, 1000)

    Kivinen, Smola and Williamson, "Online learning with kernels", IEEE Transactions on Signal Processing 52 (2004).
    """

    family = "kernel"
    paper = "Kivinen et al. (2004)"
    loss = "hinge"
    binary = True
    fixed = (*KernelClassifier.fixed, "truncate")
    eta = Number(0.3, above=0, search=powers(-8, 1, 3))
    lam = Number(0.01, least=0, search=powers(-16, -2, 2))
    rho = Number(1.0, least=0)
    nu = Number(None, above=0, most=1, optional=True)
    truncate = Number(None, least=1, below=10**9, integer=True, optional=True)
    schedule = Choice("sqrt", SCHEDULES)

    def build(self):
        return NORMALearner(self._kernel(), self.eta, self.lam, self.schedule, self.rho, self.nu, self.truncate)

    @property
    def intercept_(self):
        """The intercept b of the score; 0 without nu."""
        return np.array([self._fitted().b])

    @property
    def rho_(self):
        """The current margin rho."""
        return self._fitted().level_now()


cdef class NORMARegressorLearner(NORMAMachine):
    """[|y - f| - epsilon]+ + nu epsilon."""

    cdef double descent(self, double f, double y) noexcept nogil:
        if fabs(y - f) <= self.level():
            return 0
        return (y > f) - <double> (y < f)

    cdef void adapt(self, double a, double step) noexcept nogil:
        self.shift += step * (fabs(a) - self.nu)


class NORMARegressor(OneKernel, Regressor):
    """NORMA for regression: gradient descent on [|y - f(x)| - epsilon]+ + lambda/2 |f|^2.

    f <- (1 - eta_t lambda) f. If |y - f(x)| > epsilon before that, f += eta_t sgn(y - f(x)) k(x, .). With nu the loss
    is [|y - f(x)| - epsilon]+ + nu epsilon, and epsilon is learned: epsilon += eta_t (sigma - nu), where sigma is 1 if
    |y - f(x)| > epsilon, else 0. In the long run a fraction of about nu of the rows is outside the tube. Each
    coefficient is at most eta_t, so scale the targets. `truncate`, rows with k(x, x) = 0 and sample weights are as for
    `NORMA`.

    Parameters
    ----------
    eta : step size, above 0.
    lam : lambda of the penalty, at least 0; eta lambda must be below 1.
    epsilon : the absolute error without loss, at least 0; with nu, its initial value.
    nu : the fraction of rows outside the tube, above 0 and at most 1; None for a fixed tube.
    truncate : the largest number of terms, at least 1; None for no limit.
    schedule : constant, sqrt (eta / sqrt(t)) or inverse (eta / t).
    kernel, sigma, degree, c : as for `KernelPerceptron`.

    >>> from math import sin
    >>> from seriatim import NORMARegressor
    >>> model = NORMARegressor(sigma=0.5, truncate=200)
    >>> for i in range(1000):
    ...     model = model.learn_one({"x": i * 0.1 % 6}, sin(i * 0.1 % 6))
    >>> round(model.predict_one({"x": 1.5}), 1), round(model.predict_one({"x": 4.5}), 1)
    (0.9, -0.9)

    Kivinen, Smola and Williamson, "Online learning with kernels", IEEE Transactions on Signal Processing 52 (2004).
    """

    family = "kernel"
    paper = "Kivinen et al. (2004)"
    loss = "epsilon_insensitive"
    fixed = (*OneKernel.fixed, "truncate")
    eta = Number(0.3, above=0, search=powers(-8, 1, 3))
    lam = Number(0.01, least=0, search=powers(-16, -2, 2))
    epsilon = Number(0.1, least=0)
    nu = Number(None, above=0, most=1, optional=True)
    truncate = Number(None, least=1, below=10**9, integer=True, optional=True)
    schedule = Choice("sqrt", SCHEDULES)

    def build(self):
        return NORMARegressorLearner(
            self._kernel(), self.eta, self.lam, self.schedule, self.epsilon, self.nu, self.truncate
        )

    @property
    def epsilon_(self):
        """The current epsilon, the absolute error without loss."""
        return self._fitted().level_now()


cdef class NORMANoveltyLearner(NORMAMachine):
    """[rho - f]+ - nu rho; the score is f - rho."""

    cdef double descent(self, double f, double y) noexcept nogil:
        return f < 0

    cdef void adapt(self, double a, double step) noexcept nogil:
        self.shift += step * (self.nu - a)

    cdef void all_scores(self, double* out) noexcept nogil:
        Machine.all_scores(self, out)
        out[0] -= self.level()


class NORMANovelty(OneKernel, NoveltyDetector):
    """NORMA for novelty detection: f(x) is large where rows are dense. A row with f(x) < rho is new.

    f <- (1 - eta_t lambda) f. If f(x) < rho before that, f += eta_t k(x, .). Then rho += eta_t (nu - sigma), where
    sigma is 1 if f(x) < rho, else 0. In the long run a fraction of about nu of the rows is new. The loss is
    [rho - f(x)]+ - nu rho + lambda/2 |f|^2; the score is f(x) - rho. `truncate`, rows with k(x, x) = 0 and sample
    weights are as for `NORMA`.

    Parameters
    ----------
    eta : step size, above 0.
    lam : lambda of the penalty, at least 0; eta lambda must be below 1.
    rho : the initial threshold, at least 0.
    nu : the fraction of new rows, above 0 and at most 1.
    truncate : the largest number of terms, at least 1; None for no limit.
    schedule : constant, sqrt (eta / sqrt(t)) or inverse (eta / t).
    kernel, sigma, degree, c : as for `KernelPerceptron`.

    >>> from seriatim import NORMANovelty
    >>> model = NORMANovelty(sigma=2.0).partial_fit([[3.0, 4.0], [3.5, 4.0], [2.5, 4.5], [3.0, 3.5]] * 50)
    >>> model.predict([[3.0, 4.0], [-3.0, 4.0]]).tolist()
    [1, -1]

    Kivinen, Smola and Williamson, "Online learning with kernels", IEEE Transactions on Signal Processing 52 (2004).
    """

    family = "kernel"
    paper = "Kivinen et al. (2004)"
    loss = "hinge"
    fixed = (*OneKernel.fixed, "truncate")
    eta = Number(0.3, above=0, search=powers(-8, 1, 3))
    lam = Number(0.01, least=0, search=powers(-16, -2, 2))
    rho = Number(1.0, least=0)
    nu = Number(0.1, above=0, most=1)
    truncate = Number(None, least=1, below=10**9, integer=True, optional=True)
    schedule = Choice("sqrt", SCHEDULES)

    def build(self):
        return NORMANoveltyLearner(self._kernel(), self.eta, self.lam, self.schedule, self.rho, self.nu, self.truncate)

    @property
    def offset_(self):
        """The current threshold rho. `decision_function` is `score_samples` minus `offset_`."""
        return self._fitted().level_now()

    def score_samples(self, X):
        """f(x) of each row."""
        return self.decision_function(X) + self.offset_
