"""Passive-aggressive learning: each update is the smallest step that removes the loss of the example."""

from libc.math cimport copysign, fabs, fmax, sqrt

from seriatim.core.learner cimport LinearLearner, MarginLearner, ResidualLearner
from seriatim.core.pa_step cimport pa_step
from seriatim.core.row cimport Row, dot, record, value

from seriatim.estimator import Classifier, NoveltyDetector, Regressor
from seriatim.parameters import Choice, Flag, Number, powers

VARIANTS = ("hard", "I", "II")


cdef class PALearner(MarginLearner):
    """w += tau y x with the smallest tau that gives x a margin of 1."""

    cdef double C
    cdef int variant

    def __init__(self, double C, str variant, bint average):
        MarginLearner.__init__(self, average)
        self.C = C
        self.variant = VARIANTS.index(variant)
        self.weighted = variant != "hard"

    cdef double step(self, double margin, double norm2) noexcept nogil:
        return pa_step(self.variant, self.weight * self.C, 1 - margin, norm2) if margin < 1 else 0


cdef class PARegressorLearner(ResidualLearner):
    """w += tau sgn(y - f) x with the smallest tau that brings w.x within epsilon of y."""

    cdef double C, epsilon
    cdef int variant

    def __init__(self, double C, double epsilon, str variant, bint average):
        ResidualLearner.__init__(self, average)
        self.C, self.epsilon = C, epsilon
        self.variant = VARIANTS.index(variant)
        self.weighted = variant != "hard"

    cdef double step(self, double residual, double norm2) noexcept nogil:
        cdef double loss = fabs(residual) - self.epsilon
        return copysign(pa_step(self.variant, self.weight * self.C, loss, norm2), residual) if loss > 0 else 0


cdef class OneClassPALearner(LinearLearner):
    """A ball with centre w. If x is outside the ball, w moves towards x: w <- (1 - a) w + a x.

    If the model learns the radius, w has one more coordinate. It starts at B, and every x has 0 there.
    """

    NUMBERS = (*LinearLearner.NUMBERS, "height")
    cdef double C, reach
    cdef int variant
    cdef bint lifted
    cdef public double height    # the further coordinate of w

    def __init__(self, double C, str variant, double reach, bint lifted):
        LinearLearner.__init__(self)
        self.C, self.variant, self.reach, self.lifted = C, VARIANTS.index(variant), reach, lifted
        self.height = reach if lifted else 0

    cdef double radius(self) noexcept nogil:
        return sqrt(fmax(0, self.reach * self.reach - self.height * self.height)) if self.lifted else self.reach

    cdef double square(self, const Row* x) noexcept nogil:
        """|w - x|^2. Sums (w_i - x_i)^2 over the features of x: |w|^2 - 2 w.x + |x|^2 loses digits far from 0."""
        cdef Py_ssize_t i
        cdef double w, v, total = 0, own = 0, seen = 0
        for i in range(-1, x.n):
            v = value(x, i)
            w = self.scale * self.table.data[record(x, i) * self.table.width] if record(x, i) < self.table.rows else 0
            total += (w - v) * (w - v)
            own += v * v
            seen += w * w
        if x.norm2 > own * (1 + 1e-12):    # the norm also counts features of a dict that have no column yet
            total += x.norm2 - own
        return total + fmax(0, self.norm2 - seen) if x.n + 1 < self.table.rows else total

    cdef double score(self, const Row* x) noexcept nogil:
        return self.radius() - sqrt(self.square(x))

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = self.scale * dot(x, self.table.data, self.table.width)
        cdef double square = self.square(x), score = self.radius() - sqrt(square)
        cdef double distance = sqrt(square + self.height * self.height), loss = distance - self.reach, a
        if loss > 0:
            a = pa_step(self.variant, self.C, loss, 1) / distance
            self.shrink(1 - a)
            self.norm2 += 2 * a * (1 - a) * f + a * a * x.norm2
            self.height *= 1 - a
            self.move(x, a, 0)
            self.updates += 1
        return score

    def present_radius(self):
        return self.radius()


class PA(Classifier):
    """Passive-aggressive: w += tau y x with the smallest tau that gives x a margin of 1; C limits tau.

    The hinge loss is l = [1 - y w.x]+, where [z]+ = max(0, z). The variants differ in tau: l / |x|^2 ("hard"),
    min(C, l / |x|^2) ("I") or l / (|x|^2 + 1/(2C)) ("II"). A small C makes the model robust to noisy labels.

    With several classes, l = [1 - (w_y.x - w_s.x)]+, where s is the wrong class with the highest score. The update is
    w_y += tau x and w_s -= tau x, and tau has 2 |x|^2 in place of |x|^2. A sample weight g multiplies C. The hard
    variant has no C and refuses sample weights.

    Parameters
    ----------
    C : aggressiveness, above 0; not used by the hard variant.
    variant : hard, I or II.
    average : predict with the average of w_1..w_T.

    >>> from seriatim import PA, data, evaluate
    >>> run = evaluate.progressive(PA(), *data.load("digits"))
    >>> run.mistakes
    200

    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR 7 (2006).
    """

    family = "linear"
    paper = "Crammer et al. (2006)"
    loss = "hinge"
    C = Number(1.0, above=0, search=powers(-4, 4))
    variant = Choice("I", VARIANTS)
    average = Flag(False)

    def build(self):
        return PALearner(self.C, self.variant, self.average)


class PARegressor(Regressor):
    """Passive-aggressive regression: the smallest step that brings the prediction within epsilon of the target.

    The loss is l = [|y - w.x| - epsilon]+, and the update is w += sgn(y - w.x) tau x. The variants differ in tau:
    l / |x|^2 ("hard"), min(C, l / |x|^2) ("I") or l / (|x|^2 + 1/(2C)) ("II"). A sample weight g multiplies C. The
    hard variant has no C and refuses sample weights.

    Parameters
    ----------
    C : aggressiveness, above 0; not used by the hard variant.
    epsilon : errors up to epsilon have no loss; at least 0.
    variant : hard, I or II.
    average : predict with the average of w_1..w_T.

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
    C = Number(1.0, above=0, search=powers(-4, 4))
    epsilon = Number(0.1, least=0)
    variant = Choice("I", VARIANTS)
    average = Flag(False)

    def build(self):
        return PARegressorLearner(self.C, self.epsilon, self.variant, self.average)


class OneClassPA(NoveltyDetector):
    """Passive-aggressive novelty detection: the smallest step of the centre w that brings x into the ball around w.

    The loss is l = [|w - x| - epsilon]+, and the update is w += tau (x - w) / |x - w|. The variants differ in tau:
    l ("hard"), min(C, l) ("I") or l / (1 + 1/(2C)) ("II"). w starts at 0. The score of x is epsilon - |w - x|, which
    is positive inside the ball.

    With B, the model also learns the radius, up to B. Then w has one more coordinate, d+1. It starts at B, and every x
    has 0 there. The update uses B in place of epsilon. In the first d coordinates, the radius of the ball is
    sqrt(B^2 - w_{d+1}^2).

    The new w' minimises |w' - w|^2 / 2 + C xi subject to |w' - x| <= epsilon + xi. The hard variant has xi = 0, and
    variant II has C xi^2 in place of C xi. The tests compare the update with a numerical solver.

    A row of zeros may cause an update, too. Features that the model has never seen count in the distance |w - x|.

    Parameters
    ----------
    C : aggressiveness, above 0; not used by the hard variant.
    epsilon : radius of the ball, above 0; not used with B.
    variant : hard, I or II.
    B : the largest radius that the model may learn, above 0; None keeps the radius at epsilon.

    >>> from seriatim import OneClassPA
    >>> model = OneClassPA(epsilon=1.0).partial_fit([[3.0, 4.0], [3.5, 4.0], [2.5, 4.5], [3.0, 3.5]] * 10)
    >>> model.predict([[3.0, 4.0], [-3.0, 4.0]]).tolist()
    [1, -1]

    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR 7 (2006), section 6.
    """

    family = "linear"
    paper = "Crammer et al. (2006)"
    loss = "hinge"
    fixed = (*NoveltyDetector.fixed, "B")
    C = Number(1.0, above=0, search=powers(-4, 4))
    epsilon = Number(0.1, above=0)
    variant = Choice("I", VARIANTS)
    B = Number(None, above=0, optional=True)
    fit_intercept = Flag(False)

    def build(self):
        return OneClassPALearner(self.C, self.variant, self.B or self.epsilon, self.B is not None)

    @property
    def radius_(self):
        """The radius of the ball."""
        return self._fitted().present_radius()
