"""Online gradient descent."""

from math import inf

from libc.math cimport fmin, sqrt

from seriatim.core.learner cimport LinearLearner, MarginLearner, ResidualLearner
from seriatim.core.loss cimport Gradient
from seriatim.core.row cimport Row, dot, record, value

from seriatim.core.loss import LOSSES, SCHEDULES
from seriatim.errors import ParameterError
from seriatim.estimator import Classifier, Regressor
from seriatim.parameters import Choice, Flag, Number, powers


cdef class OGDLearner(MarginLearner):
    """w <- P(w - eta_t grad) with a loss of the margin, where P projects onto a ball."""

    cdef Gradient gradient
    cdef double radius

    def __init__(self, Gradient gradient, double radius, bint average):
        MarginLearner.__init__(self, average, bounded=radius < inf)
        self.gradient, self.radius = gradient, radius
        self.weighted = True

    cdef double step(self, double margin, double norm2) noexcept nogil:
        return self.gradient.step(1 - margin, self.t, self.weight)

    cdef void end_round(self) noexcept nogil:
        self.project(self.radius)


cdef class OGDRegressorLearner(ResidualLearner):
    """w <- P(w - eta_t grad) with a loss of the residual, where P projects onto a ball."""

    cdef Gradient gradient
    cdef double radius

    def __init__(self, Gradient gradient, double radius, bint average):
        ResidualLearner.__init__(self, average, bounded=radius < inf)
        self.gradient, self.radius = gradient, radius
        self.weighted = True

    cdef double step(self, double residual, double norm2) noexcept nogil:
        return self.gradient.step(residual, self.t, self.weight)

    cdef void end_round(self) noexcept nogil:
        self.project(self.radius)


cdef class AdaGradLearner(LinearLearner):
    """w_j -= eta g_j / sqrt(G_j), where G_j is the sum of g_j^2 up to this round."""

    cdef Gradient gradient
    cdef bint regression

    def __init__(self, Gradient gradient, bint average, bint regression=False):
        LinearLearner.__init__(self, average, (("G", 0.0, False),))
        self.weighted = True
        self.gradient, self.regression = gradient, regression

    cdef void descend(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        """Step along -g in a column, where g_j = -a x_j."""
        cdef Py_ssize_t i, u = self.classes, G = self.classes * (2 if self.average else 1)
        cdef double* w
        cdef double g, change
        for i in range(-1, x.n):
            g = a * value(x, i)
            if g * g > 0:
                w = self.table.data + record(x, i) * self.table.width + column
                w[G] = fmin(w[G] + g * g, 1e300)
                change = self.gradient.eta * g / sqrt(w[G])
                w[0] += change
                if self.average:
                    w[u] += self.total * change

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = dot(x, self.table.data, self.table.width)
        cdef double g = self.gradient.slope(y - f if self.regression else 1 - y * f, self.weight)
        self.count()
        if g != 0 and x.norm2 > 0:
            self.descend(x, g if self.regression else g * y, 0)
            self.updates += 1
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t s
        cdef double g
        self.raw_scores(x, out)
        self.count()
        s = self.rival(y, out)
        if s >= 0 and x.norm2 > 0:
            g = self.gradient.slope(1 - (out[y] - out[s]), self.weight)
            if g != 0:
                self.descend(x, g, y)
                self.descend(x, -g, s)
                self.updates += 1


def descent(model, kind):
    """The learner of an OGD or OGDRegressor."""
    if model.schedule == "adagrad":
        if model.radius is not None:
            raise ParameterError(
                f'{type(model).__name__}: radius={model.radius!r} with schedule="adagrad", which has no projection; '
                f"remove one of the two"
            )
        gradient = Gradient(model.loss, model.eta, "constant", model.epsilon)
        return AdaGradLearner(gradient, model.average, kind is OGDRegressorLearner)
    return kind(Gradient(model.loss, model.eta, model.schedule, model.epsilon), model.radius or inf, model.average)


class OGD(Classifier):
    """Online gradient descent: w <- P(w - eta_t grad loss), where P projects onto a ball, if a radius is given.

    In round t, which counts every example, eta_t is eta, eta / sqrt(t) or eta / t. The loss is one of the margin
    m = y w.x: hinge [1 - m]+, squared_hinge [1 - m]+^2 / 2, logistic log(1 + e^-m), squared (1 - m)^2 / 2,
    absolute |1 - m|, epsilon_insensitive [|1 - m| - epsilon]+. With several classes m = w_y.x - w_s.x, where s is the
    strongest wrong class. A sample weight multiplies the loss.

    With a convex loss, gradients of norm at most G, a ball of radius R, eta = R / G and the schedule sqrt, the regret
    is at most 3 R G sqrt(T).

    Parameters
    ----------
    loss : as above.
    eta : step size, above 0.
    schedule : constant, sqrt, inverse; or adagrad: eta / sqrt(G_j) for each feature, where G_j is the sum of its
        squared gradients.
    radius : radius of the ball, above 0; None for no projection.
    average : predict with the average of w_1..w_T.
    epsilon : errors up to this cost nothing in the epsilon-insensitive loss; at least 0.

    >>> from seriatim import OGD, data, evaluate
    >>> run = evaluate.progressive(OGD(eta=0.01), *data.load("digits"))
    >>> run.mistakes
    214

    Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent", ICML 2003;
    Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning", JMLR 12 (2011), for adagrad.
    """

    family = "linear"
    paper = "Zinkevich (2003)"
    loss = Choice("hinge", LOSSES[:6])
    eta = Number(1.0, above=0, search=powers(-8, 4))
    schedule = Choice("sqrt", (*SCHEDULES, "adagrad"))
    radius = Number(None, above=0, optional=True)
    average = Flag(False)
    epsilon = Number(0.1, least=0)

    def build(self):
        return descent(self, OGDLearner)


class OGDRegressor(Regressor):
    """Online gradient descent for regression: w <- P(w - eta_t grad loss).

    The loss is one of the residual z = y - w.x: squared z^2 / 2, absolute |z|, epsilon_insensitive [|z| - epsilon]+.
    With the squared loss a step of more than 2 / |x|^2 overshoots: scale the features, or choose eta to fit them.
    A sample weight multiplies the loss, and so the step.

    Parameters
    ----------
    loss : as above.
    eta : step size, above 0.
    schedule : constant (eta_t = eta), sqrt (eta / sqrt(t)), inverse (eta / t); or adagrad: eta / sqrt(G_j) for each
        feature, where G_j is the sum of its squared gradients.
    radius : radius of the ball onto which w is projected, above 0; None for no projection.
    average : predict with the average of w_1..w_T.
    epsilon : errors up to this cost nothing in the epsilon-insensitive loss; at least 0.

    >>> from seriatim import OGDRegressor
    >>> model = OGDRegressor(eta=0.1, schedule="constant")
    >>> for i in range(200):
    ...     model = model.learn_one({"a": i % 3, "b": i % 2}, 2 * (i % 3) - i % 2 + 1)
    >>> round(model.predict_one({"a": 2, "b": 1}), 1)
    4.0

    Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent", ICML 2003.
    """

    family = "linear"
    paper = "Zinkevich (2003)"
    loss = Choice("squared", ("squared", "absolute", "epsilon_insensitive"))
    eta = Number(1.0, above=0, search=powers(-10, 2))
    schedule = Choice("sqrt", (*SCHEDULES, "adagrad"))
    radius = Number(None, above=0, optional=True)
    average = Flag(False)
    epsilon = Number(0.1, least=0)

    def build(self):
        return descent(self, OGDRegressorLearner)
