"""FOBOS: forward-backward splitting, a gradient step and then the proximal step of a penalty."""

from libc.math cimport fabs, fmax, fmin, sqrt

from seriatim.core.learner cimport MarginLearner
from seriatim.core.loss cimport Gradient, rate
from seriatim.core.row cimport Row, record, value
from seriatim.sparse.lazy cimport soft, within_range
from seriatim.sparse.truncated cimport Shrinking

from seriatim.core.loss import LOSSES, SCHEDULES
from seriatim.estimator import Classifier
from seriatim.parameters import Choice, Number, powers


cdef class FOBOSL1Learner(Shrinking):
    """l1: every weight shrinks by eta_t lambda, down to 0."""

    cdef double lam

    def __init__(self, Gradient gradient, double lam):
        Shrinking.__init__(self, gradient)
        self.lam = lam

    cdef void end_round(self) noexcept nogil:
        self.shrink_all(self.lam * rate(self.gradient.schedule, self.gradient.eta, self.t))


cdef class Proximal(MarginLearner):
    """Penalties that change all of w: after the gradient step, w <- argmin_w |w - w'|^2 / 2 + eta_t lambda r(w)."""

    cdef Gradient gradient
    cdef double lam

    def __init__(self, Gradient gradient, double lam, bint bounded=False):
        MarginLearner.__init__(self, bounded=bounded)
        self.gradient, self.lam = gradient, lam
        self.weighted = True

    cdef double step(self, double margin, double norm2) noexcept nogil:
        return self.gradient.step(1 - margin, self.t, self.weight)

    cdef void end_round(self) noexcept nogil:
        self.proximal(self.lam * rate(self.gradient.schedule, self.gradient.eta, self.t))

    cdef void proximal(self, double by) noexcept nogil:
        """The proximal step, with by = eta_t lambda."""


cdef class FOBOSSquaredL2Learner(Proximal):
    """l2_squared, r(w) = |w|^2 / 2."""

    cdef void proximal(self, double by) noexcept nogil:
        self.shrink(1 / (1 + by))


cdef class FOBOSL2Learner(Proximal):
    """l2, r(w) = |w|: the whole vector shrinks. Each step updates |w|^2."""

    NUMBERS = (*Proximal.NUMBERS, "peak")

    cdef public double peak    # the largest |w|^2 since the last summation of all weights

    def __init__(self, Gradient gradient, double lam):
        Proximal.__init__(self, gradient, lam, bounded=True)

    cdef void proximal(self, double by) noexcept nogil:
        cdef double factor
        if self.moved:
            self.moved = False
            self.peak = fmax(self.peak, self.norm2)
            # the difference of two large squares is mostly rounding error
            if self.norm2 < 1e-3 * self.peak or self.updates & (self.updates - 1) == 0:
                self.measure()
                self.peak = self.norm2
            self.norm2 = fmin(self.norm2, 1e300)
            self.peak = fmin(self.peak, 1e300)
        if self.norm2 > 0 and by > 0:
            factor = fmax(0, 1 - by / sqrt(self.norm2))
            self.shrink(factor)
            self.peak *= factor * factor


cdef class FOBOSLinfLearner(Proximal):
    """linf, r(w) = max |w_j|: the largest weights are cut to one size, by eta_t lambda in total."""

    cdef void proximal(self, double by) noexcept nogil:
        cdef Py_ssize_t i, n
        cdef Py_ssize_t weights = self.table.rows * self.classes
        cdef double* w = self.table.data
        cdef double size, excess, sum = 0, top = 0, most = 0, next
        if by == 0:
            return
        for i in range(weights):
            size = fabs(w[i])
            sum += size
            top = size if size > top else top
        if sum > by:    # Newton's method for sum_j [|w_j| - most]+ = by, from below: it ends after finitely many steps
            next = fmax(0, top - by)
            while True:
                most, excess, n = next, 0, 0
                for i in range(weights):
                    size = fabs(w[i])
                    if size > most:
                        excess += size - most
                        n += 1
                if n == 0:
                    break
                next = most + (excess - by) / n
                if not next > most:
                    break
        for i in range(weights):
            if fabs(w[i]) > most:
                w[i] = most if w[i] > 0 else 0 - most


PENALTIES = {"l1": FOBOSL1Learner, "l2": FOBOSL2Learner, "l2_squared": FOBOSSquaredL2Learner, "linf": FOBOSLinfLearner}


class FOBOS(Classifier):
    """FOBOS (forward-backward splitting): a gradient step, then the proximal step of a penalty on the weights.

    w' = w - eta_t grad loss, and w <- argmin_w |w - w'|^2 / 2 + eta_t lambda r(w). The penalty r is one of

    - "l1", |w|_1: w_j = sgn(w'_j) [|w'_j| - eta_t lambda]+;
    - "l2", |w|: w = [1 - eta_t lambda / |w'|]+ w';
    - "l2_squared", |w|^2 / 2: w = w' / (1 + eta_t lambda);
    - "linf", max |w_j|: w' minus its projection onto the l1 ball of radius eta_t lambda. This cuts the largest weights
      to one size.

    The losses are those of `OGD`. With many classes the margin is m = w_y.x - w_s.x, where s is the strongest wrong
    class, and r is a function of all weights of the matrix. The intercept is a weight like any other. A sample weight
    multiplies the loss.

    A round costs the non-zeros of its row. With l1 a feature that was absent makes up for the shrinkage when it
    returns. Some rounds cost O(d), where d is the number of weights: with linf all rounds, with l2 those after which
    all weights are 0, and with l2_squared about one in 115 / log(1 + eta_t lambda), when the weights are rescaled. That
    is one round in 25 with eta_t lambda = 100, and hardly any with 0.001.

    Parameters
    ----------
    loss : the loss, as for `OGD`.
    penalty : r: l1, l2, l2_squared or linf.
    lam : lambda, the strength of the penalty, at least 0.
    eta : step size, above 0.
    schedule : constant (eta_t = eta), sqrt (eta_t = eta / sqrt(t)) or inverse (eta_t = eta / t).
    epsilon : width of the epsilon-insensitive loss, at least 0.

    >>> from seriatim import FOBOS, data, evaluate
    >>> run = evaluate.progressive(FOBOS(eta=0.01, lam=0.1), *data.load("digits"))
    >>> run.mistakes, run.model.n_nonzero_
    (268, 390)

    Duchi and Singer, "Efficient online and batch learning using forward backward splitting", JMLR 10 (2009).
    """

    family = "sparse"
    paper = "Duchi and Singer (2009)"
    fixed = (*Classifier.fixed, "penalty")
    loss = Choice("hinge", LOSSES[:6])
    penalty = Choice("l1", tuple(PENALTIES))
    lam = Number(1e-3, least=0)
    eta = Number(1.0, above=0, search=powers(-8, 4))
    schedule = Choice("sqrt", SCHEDULES)
    epsilon = Number(0.1, least=0)

    def build(self):
        return PENALTIES[self.penalty](Gradient(self.loss, self.eta, self.schedule, self.epsilon), self.lam)


cdef inline void several(const Row* x, const double* w, Py_ssize_t width, Py_ssize_t before, double shrinkage,
                         double* out, int n) noexcept nogil:
    cdef double sums[8]
    cdef const double* r
    cdef Py_ssize_t i, k, inverse = 2 * before
    for k in range(n):
        sums[k] = x.constant * soft(w[k], (shrinkage - w[before + k]) * w[inverse + k])
    for i in range(x.n):
        r = w + ((i if x.index == NULL else x.index[i]) + 1) * width
        for k in range(n):
            sums[k] += x.value[i] * soft(r[k], (shrinkage - r[before + k]) * r[inverse + k])
    for k in range(n):
        out[k] = sums[k]


cdef class AdaFOBOSLearner(Shrinking):
    """Steps and shrinkage of each feature are divided by H_j = delta + sqrt(S_j), where S_j is the sum of its g^2.

    H_j changes only with a step of the feature. The table also stores 1 / H_j, which follows from S_j; the state does
    not.
    """

    SUMS = (*Shrinking.SUMS, "S")

    cdef double lam, delta

    def __init__(self, Gradient gradient, double lam, double delta):
        Shrinking.__init__(self, gradient, companions=(("inverse", 0.0, False), ("S", 0.0, False)))
        self.lam, self.delta = lam, delta

    cdef double length(self, double slope) noexcept nogil:
        return slope

    cdef void products(self, const Row* x, Py_ssize_t column, int n, double* out) noexcept nogil:
        cdef const double* w = self.table.data + column
        if n == 8:
            several(x, w, self.table.width, self.classes, self.shrinkage, out, 8)
        else:
            several(x, w, self.table.width, self.classes, self.shrinkage, out, 1)

    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        cdef Py_ssize_t i, width = self.table.width
        cdef Py_ssize_t before = self.classes, inverse = 2 * self.classes, S = 3 * self.classes
        cdef double* table = self.table.data + column
        cdef double* w
        cdef double g, eta = self.gradient.eta, delta = self.delta, shrinkage = self.shrinkage
        for i in range(-1, x.n):
            g = a * value(x, i)
            if g * g > 0:
                w = table + record(x, i) * width
                w[0] = soft(w[0], (shrinkage - w[before]) * w[inverse])
                w[before] = shrinkage
                w[S] = within_range(w[S] + g * g)
                w[inverse] = 1 / (delta + sqrt(w[S]))
                w[0] += eta * g * w[inverse]

    cdef double now(self, const double* w) noexcept nogil:
        return soft(w[0], (self.shrinkage - w[self.classes]) * w[2 * self.classes])

    cdef void end_round(self) noexcept nogil:
        self.shrink_all(self.gradient.eta * self.lam)

    def fields(self):
        fields = Shrinking.fields(self)
        del fields["inverse"]
        return fields

    def refresh(self):
        cdef Py_ssize_t i, k, classes = self.classes
        cdef double* w
        for i in range(self.table.rows):
            for k in range(classes):
                w = self.table.data + i * self.table.width + k
                if w[3 * classes] > 0:
                    w[2 * classes] = 1 / (self.delta + sqrt(w[3 * classes]))


class AdaFOBOS(Classifier):
    """Adaptive FOBOS (AdaGrad with composite mirror descent): FOBOS with an l1 penalty and a rate for each feature.

    With g the gradient of the loss: S_j += g_j^2 and H_j = delta + sqrt(S_j). Then, for every feature in every round,
    w'_j = w_j - eta g_j / H_j and w_j = sgn(w'_j) [|w'_j| - eta lambda / H_j]+. The losses are those of `OGD`. With
    many classes the margin is m = w_y.x - w_s.x, where s is the strongest wrong class. The intercept is a weight like
    any other. A feature that was absent makes up for the shrinkage when it returns, so a round costs the non-zeros of
    its row. A sample weight multiplies the loss.

    Parameters
    ----------
    loss : the loss, as for `OGD`.
    lam : lambda, the strength of the l1 penalty, at least 0; with 0 no weight returns to 0.
    eta : step size, above 0.
    delta : at least 0; with large values the features have nearly equal rates.
    epsilon : width of the epsilon-insensitive loss, at least 0.

    >>> from seriatim import AdaFOBOS, data, evaluate
    >>> run = evaluate.progressive(AdaFOBOS(eta=0.1, lam=0.1), *data.load("digits"))
    >>> run.mistakes, run.model.n_nonzero_
    (382, 375)

    Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization", JMLR 12
    (2011).
    """

    family = "sparse"
    paper = "Duchi et al. (2011)"
    fixed = (*Classifier.fixed, "delta")
    loss = Choice("hinge", LOSSES[:6])
    lam = Number(0.0, least=0)
    eta = Number(1.0, above=0, search=powers(-8, 4))
    delta = Number(1.0, least=0)
    epsilon = Number(0.1, least=0)

    def build(self):
        return AdaFOBOSLearner(Gradient(self.loss, self.eta, "constant", self.epsilon), self.lam, self.delta)
