"""Online gradient descent."""

from math import inf

from seriatim.core.learner cimport MarginLearner, ResidualLearner
from seriatim.core.loss cimport Gradient

from seriatim.core.loss import LOSSES, SCHEDULES
from seriatim.estimator import Classifier, Regressor
from seriatim.parameters import Choice, Number


cdef class Descent(MarginLearner):
    """w <- P(w - eta_t grad), P the projection onto a ball, with a loss of the margin."""

    cdef Gradient gradient
    cdef double radius

    def __init__(self, Gradient gradient, double radius):
        MarginLearner.__init__(self, bounded=radius < inf)
        self.gradient, self.radius = gradient, radius
        self.weighted = True

    cdef double step(self, double margin, double norm2) noexcept nogil:
        return self.gradient.step(1 - margin, self.t, self.weight)

    cdef void end_round(self) noexcept nogil:
        self.project(self.radius)


cdef class RegressionDescent(ResidualLearner):
    """The same with a loss of the residual."""

    cdef Gradient gradient
    cdef double radius

    def __init__(self, Gradient gradient, double radius):
        ResidualLearner.__init__(self, bounded=radius < inf)
        self.gradient, self.radius = gradient, radius
        self.weighted = True

    cdef double step(self, double residual, double norm2) noexcept nogil:
        return self.gradient.step(residual, self.t, self.weight)

    cdef void end_round(self) noexcept nogil:
        self.project(self.radius)


class OGD(Classifier):
    """Online gradient descent: w <- P(w - eta_t grad loss), P the projection onto the ball of a radius, if any.

    In round t, which counts every example, eta_t is eta, eta / sqrt(t) or eta / t. The loss is one of the margin
    m = y w.x: hinge [1 - m]+, squared_hinge [1 - m]+^2 / 2, logistic log(1 + e^-m), squared (1 - m)^2 / 2,
    absolute |1 - m|, epsilon_insensitive [|1 - m| - epsilon]+. With several classes m = w_y.x - w_s.x, where s is the
    strongest wrong class. With a convex loss, gradients up to G and a ball of radius R, the regret of eta = R / G with
    the schedule sqrt is at most 3 R G sqrt(T). The importance of an example multiplies its loss.

    Parameters
    ----------
    loss : as above.
    eta : the step, above 0.
    schedule : constant, sqrt or inverse.
    radius : of the ball, above 0; None for no projection.
    epsilon : of the epsilon-insensitive loss, at least 0.

    >>> from seriatim import OGD, data, evaluate
    >>> run = evaluate.progressive(OGD(eta=0.01), *data.load("digits"))
    >>> run.mistakes
    214

    Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent", ICML 2003.
    """

    family = "linear"
    paper = "Zinkevich (2003)"
    loss = Choice("hinge", LOSSES[:6])
    eta = Number(1.0, above=0)
    schedule = Choice("sqrt", SCHEDULES)
    radius = Number(None, above=0, optional=True)
    epsilon = Number(0.1, least=0)

    def build(self):
        return Descent(Gradient(self.loss, self.eta, self.schedule, self.epsilon), self.radius or inf)


class OGDRegressor(Regressor):
    """Online gradient descent for regression: w <- P(w - eta_t grad loss).

    The loss is one of the residual z = y - w.x: squared z^2 / 2, absolute |z|, epsilon_insensitive [|z| - epsilon]+.
    With the squared loss a step of more than 2 / |x|^2 overshoots: scale the features, or choose eta with them.
    The importance of an example multiplies its loss, and so its step.

    Parameters
    ----------
    loss : as above.
    eta : the step, above 0.
    schedule : constant (eta_t = eta), sqrt (eta / sqrt(t)) or inverse (eta / t).
    radius : of the ball that w is projected onto, above 0; None for no projection.
    epsilon : of the epsilon-insensitive loss, at least 0.

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
    eta = Number(1.0, above=0)
    schedule = Choice("sqrt", SCHEDULES)
    radius = Number(None, above=0, optional=True)
    epsilon = Number(0.1, least=0)

    def build(self):
        return RegressionDescent(Gradient(self.loss, self.eta, self.schedule, self.epsilon), self.radius or inf)
