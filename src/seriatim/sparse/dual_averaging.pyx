"""Regularised dual averaging: w is computed from the sum of all gradients."""

from libc.math cimport sqrt

from seriatim.core.loss cimport Gradient
from seriatim.core.row cimport Row, add, record, value
from seriatim.sparse.lazy cimport soft, within_range

from seriatim.core.loss import LOSSES
from seriatim.estimator import Classifier
from seriatim.parameters import Choice, Number, powers

from seriatim.sparse.lazy import reclassed, shared_out


cdef inline void several(const Row* x, const double* G, Py_ssize_t width, Py_ssize_t rate, double threshold,
                         double factor, double* out, int n) noexcept nogil:
    """x.w for n columns, where w = factor soft(G), times the rate of each feature if there are rates."""
    cdef double sums[8]
    cdef const double* r
    cdef Py_ssize_t i, k
    for k in range(n):
        sums[k] = x.constant * (soft(G[k], threshold) * (G[rate + k] if rate else 1))
    for i in range(x.n):
        r = G + ((i if x.index == NULL else x.index[i]) + 1) * width
        for k in range(n):
            sums[k] += x.value[i] * (soft(r[k], threshold) * (r[rate + k] if rate else 1))
    for k in range(n):
        out[k] = factor * sums[k]


cdef class Dual(Lazy):
    """G_j is the sum of the gradients of a feature. Its weight is 0 where |G_j| is below a threshold."""

    def __init__(self, Gradient gradient, double lam, tuple companions=()):
        Lazy.__init__(self, gradient, (("G", 0.0, True), *companions))
        self.lam = lam

    cdef double bound(self) noexcept nogil:
        """The threshold after t rounds."""
        return self.lam * self.t

    cdef void end_round(self) noexcept nogil:
        self.threshold = self.bound()

    def refresh(self):
        self.end_round()

    def reclass(self, source, factor):
        sums = shared_out(reclassed(self.table.get("G"), source, factor), factor, self.threshold)
        Lazy.reclass(self, source, factor)
        self.table.set("G", sums)


cdef class RDALearner(Dual):
    """w = -soft(G, t lambda + gamma rho sqrt(t)) / (gamma sqrt(t))."""

    cdef double gamma, rho
    cdef double factor

    def __init__(self, Gradient gradient, double lam, double gamma, double rho):
        Dual.__init__(self, gradient, lam)
        self.gamma, self.rho = gamma, rho

    cdef double bound(self) noexcept nogil:
        return self.lam * self.t + self.gamma * self.rho * sqrt(<double> self.t)

    cdef void end_round(self) noexcept nogil:
        Dual.end_round(self)
        self.factor = -1 / (self.gamma * sqrt(<double> self.t)) if self.t > 0 else 0

    cdef void products(self, const Row* x, Py_ssize_t column, int n, double* out) noexcept nogil:
        cdef const double* G = self.table.data + column
        if n == 8:
            several(x, G, self.table.width, 0, self.threshold, self.factor, out, 8)
        else:
            several(x, G, self.table.width, 0, self.threshold, self.factor, out, 1)

    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        add(x, -a, self.table.data + column, self.table.width)


class RDA(Classifier):
    """Regularised dual averaging (l1-RDA): w follows from the mean of all gradients and an l1 penalty.

    With gbar the mean of the gradients of rounds 1..t and lambda_t = lambda + gamma rho / sqrt(t):
    w_j = 0 where |gbar_j| <= lambda_t, else w_j = -(sqrt(t) / gamma) (gbar_j - lambda_t sgn(gbar_j)). This w minimises
    gbar.w + lambda |w|_1 + (gamma / sqrt(t)) (|w|^2 / 2 + rho |w|_1). rho > 0 is the enhanced form. The penalty counts
    in full in every round, so w is much sparser than with `FOBOS`. The losses are those of `OGD`. With many classes the
    margin is m = w_y.x - w_s.x, where s is the strongest wrong class. The intercept is a weight like any other. A
    sample weight multiplies the loss.

    The state is the sum of the gradients, so a weight of 0 may have a sum other than 0. A third label halves the
    weights of a binary model: the part of each sum above the threshold halves, and the part below it stays.

    Parameters
    ----------
    loss : the loss, as for `OGD`.
    lam : lambda, the strength of the l1 penalty, at least 0.
    gamma : above 0; larger values make smaller steps.
    rho : the enhancement, at least 0; larger values give more zeros in early rounds.
    epsilon : width of the epsilon-insensitive loss, at least 0.

    >>> from seriatim import RDA, data, evaluate
    >>> run = evaluate.progressive(RDA(lam=0.1, gamma=100), *data.load("digits"))
    >>> run.mistakes, run.model.n_nonzero_
    (278, 170)

    Xiao, "Dual averaging methods for regularized stochastic learning and online optimization", JMLR 11 (2010).
    """

    family = "sparse"
    paper = "Xiao (2010)"
    loss = Choice("hinge", LOSSES[:6])
    lam = Number(1e-3, least=0)
    gamma = Number(1.0, above=0, search=powers(-6, 6))
    rho = Number(0.0, least=0)
    epsilon = Number(0.1, least=0)

    def build(self):
        return RDALearner(Gradient(self.loss, 1, "constant", self.epsilon), self.lam, self.gamma, self.rho)


cdef class AdaRDALearner(Dual):
    """w = -eta soft(G, lambda t) / H, H_j = delta + sqrt(S_j), where S_j is the sum of g_j^2.

    The table also stores eta / H_j, which follows from S_j; the state does not.
    """

    SUMS = ("S",)

    cdef double delta

    def __init__(self, Gradient gradient, double lam, double delta):
        Dual.__init__(self, gradient, lam, (("rate", 0.0, False), ("S", 0.0, False)))
        self.delta = delta

    cdef void products(self, const Row* x, Py_ssize_t column, int n, double* out) noexcept nogil:
        cdef const double* G = self.table.data + column
        if n == 8:
            several(x, G, self.table.width, self.classes, self.threshold, -1, out, 8)
        else:
            several(x, G, self.table.width, self.classes, self.threshold, -1, out, 1)

    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        cdef Py_ssize_t i, width = self.table.width, rate = self.classes, S = 2 * self.classes
        cdef double* table = self.table.data + column
        cdef double* G
        cdef double g, eta = self.gradient.eta, delta = self.delta
        for i in range(-1, x.n):
            g = -a * value(x, i)
            if g * g > 0:
                G = table + record(x, i) * width
                G[0] += g
                G[S] = within_range(G[S] + g * g)
                G[rate] = eta / (delta + sqrt(G[S]))

    def fields(self):
        fields = Dual.fields(self)
        del fields["rate"]
        return fields

    def refresh(self):
        cdef Py_ssize_t i, k, classes = self.classes
        cdef double* G
        Dual.refresh(self)
        for i in range(self.table.rows):
            for k in range(classes):
                G = self.table.data + i * self.table.width + k
                if G[2 * classes] > 0:
                    G[classes] = self.gradient.eta / (self.delta + sqrt(G[2 * classes]))


class AdaRDA(Classifier):
    """Adaptive dual averaging (AdaGrad): regularised dual averaging with a learning rate for each feature.

    With g the gradient of the loss: G_j += g_j, S_j += g_j^2 and H_j = delta + sqrt(S_j). After t rounds
    w_j = -eta sgn(G_j) [|G_j| - lambda t]+ / H_j. The losses are those of `OGD`. With many classes the margin is
    m = w_y.x - w_s.x, where s is the strongest wrong class. The intercept is a weight like any other. The state is the
    sums, as in `RDA`. A sample weight multiplies the loss.

    Parameters
    ----------
    loss : the loss, as for `OGD`.
    lam : lambda, the strength of the l1 penalty, at least 0.
    eta : step size, above 0.
    delta : at least 0; with large values the features have nearly equal rates.
    epsilon : width of the epsilon-insensitive loss, at least 0.

    >>> from seriatim import AdaRDA, data, evaluate
    >>> run = evaluate.progressive(AdaRDA(eta=0.1, lam=0.1), *data.load("digits"))
    >>> run.mistakes, run.model.n_nonzero_
    (309, 113)

    Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization", JMLR 12
    (2011).
    """

    family = "sparse"
    paper = "Duchi et al. (2011)"
    loss = Choice("hinge", LOSSES[:6])
    lam = Number(0.0, least=0)
    eta = Number(1.0, above=0, search=powers(-8, 4))
    delta = Number(1.0, least=0)
    epsilon = Number(0.1, least=0)

    def build(self):
        return AdaRDALearner(Gradient(self.loss, self.eta, "constant", self.epsilon), self.lam, self.delta)
