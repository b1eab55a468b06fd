"""Passive-aggressive learning: the smallest step that gives the example what it asks for."""

from libc.math cimport copysign, fabs, fmin

from seriatim.core.learner cimport MarginLearner, ResidualLearner
from seriatim.estimator import Classifier, Regressor
from seriatim.parameters import Choice, Number

VARIANTS = ("hard", "I", "II")

cdef enum Variant:
    HARD
    ONE
    TWO


cdef inline double least_step(int variant, double C, double loss, double norm2) noexcept nogil:
    """The step tau of PA, PA-I and PA-II for a positive loss (Crammer et al., 2006, equation 5)."""
    if variant == HARD:
        return loss / norm2
    if variant == ONE:
        return fmin(C, loss / norm2)
    return loss / (norm2 + 1 / (2 * C))


cdef class PassiveAggressive(MarginLearner):
    """w += tau y x with the smallest tau that gives x a margin of 1."""

    cdef double C
    cdef int variant

    def __init__(self, double C, str variant):
        MarginLearner.__init__(self)
        self.C = C
        self.variant = VARIANTS.index(variant)
        self.weighted = variant != "hard"

    cdef double step(self, double margin, double norm2) noexcept nogil:
        return least_step(self.variant, self.weight * self.C, 1 - margin, norm2) if margin < 1 else 0


cdef class PassiveAggressiveRegression(ResidualLearner):
    """w += tau sgn(y - f) x with the smallest tau that brings w.x within epsilon of y."""

    cdef double C, epsilon
    cdef int variant

    def __init__(self, double C, double epsilon, str variant):
        ResidualLearner.__init__(self)
        self.C, self.epsilon = C, epsilon
        self.variant = VARIANTS.index(variant)
        self.weighted = variant != "hard"

    cdef double step(self, double residual, double norm2) noexcept nogil:
        cdef double loss = fabs(residual) - self.epsilon
        return copysign(least_step(self.variant, self.weight * self.C, loss, norm2), residual) if loss > 0 else 0


class PA(Classifier):
    """Passive-aggressive: w += tau y x with the smallest tau that gives x a margin of 1, bounded because of noise.

    With the hinge loss l = [1 - y w.x]+, tau is l / |x|^2 ("hard"), min(C, l / |x|^2) ("I") or
    l / (|x|^2 + 1/(2C)) ("II"). With several classes l = [1 - (w_y.x - w_s.x)]+, where s is the strongest wrong class;
    w_y += tau x, w_s -= tau x, and 2 |x|^2 stands for |x|^2. For an example of importance g, g C stands for C; the hard
    variant, which has no C, takes none.

    Parameters
    ----------
    C : aggressiveness, above 0; the hard variant does not use it.
    variant : hard, I or II.

    >>> from seriatim import PA, data, evaluate
    >>> run = evaluate.progressive(PA(), *data.load("digits"))
    >>> run.mistakes
    200

    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR 7 (2006).
    """

    family = "linear"
    paper = "Crammer et al. (2006)"
    loss = "hinge"
    C = Number(1.0, above=0)
    variant = Choice("I", VARIANTS)

    def build(self):
        return PassiveAggressive(self.C, self.variant)


class PARegressor(Regressor):
    """Passive-aggressive regression: the smallest step that brings the prediction within epsilon of the target.

    With l = [|y - w.x| - epsilon]+, w += sgn(y - w.x) tau x, where tau is l / |x|^2 ("hard"), min(C, l / |x|^2) ("I")
    or l / (|x|^2 + 1/(2C)) ("II"). For an example of importance g, g C stands for C; the hard variant takes none.

    Parameters
    ----------
    C : aggressiveness, above 0; the hard variant does not use it.
    epsilon : what counts as no error, at least 0.
    variant : hard, I or II.

    >>> from seriatim import PARegressor
    >>> model = PARegressor(epsilon=0.01)
    >>> for i in range(200):
    ...     model = model.learn_one({"a": i % 3, "b": i % 2}, 2 * (i % 3) - i % 2 + 1)
    >>> abs(model.predict_one({"a": 2, "b": 1}) - 4) < 0.02
    True

    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR 7 (2006).
    """

    family = "linear"
    paper = "Crammer et al. (2006)"
    loss = "epsilon_insensitive"
    C = Number(1.0, above=0)
    epsilon = Number(0.1, least=0)
    variant = Choice("I", VARIANTS)

    def build(self):
        return PassiveAggressiveRegression(self.C, self.epsilon, self.variant)
