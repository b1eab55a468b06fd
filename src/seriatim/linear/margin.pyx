"""Methods of large margins: ALMA, ROMMA, MIRA."""

from libc.math cimport fabs, fmax, fmin, pow, sqrt
from libc.stdlib cimport free, realloc

from seriatim.core.learner cimport MarginLearner
from seriatim.core.row cimport Row, value
from seriatim.linear.mirror cimport PNormLearner, power

from seriatim.estimator import Classifier
from seriatim.parameters import Flag, Number, steps


# ---- ALMA


cdef inline double p_norm(const Row* x, double p) noexcept nogil:
    """|x|_p, without overflow."""
    cdef Py_ssize_t i
    cdef double top = 0, total = 0
    for i in range(-1, x.n):
        top = fmax(top, fabs(value(x, i)))
    if top == 0:
        return 0
    for i in range(-1, x.n):
        total += power(fabs(value(x, i)) / top, p)
    return top * pow(total, 1 / p)


cdef class ALMALearner(MarginLearner):
    """ALMA for p = 2: f is the identity, and the projection is that of OGD."""

    cdef double alpha, B, C
    cdef bint normalize

    def __init__(self, double alpha, double B, double C, bint normalize, bint average):
        MarginLearner.__init__(self, average, bounded=True)
        self.alpha, self.B, self.C, self.normalize = alpha, B, C, normalize

    cdef double step(self, double margin, double norm2) noexcept nogil:
        cdef double k = self.updates + 1, length = sqrt(norm2) if self.normalize else 1
        if margin / length > (1 - self.alpha) * self.B / sqrt(k):
            return 0
        return self.C / (sqrt(k) * length)

    cdef void end_round(self) noexcept nogil:
        self.project(1)


cdef class ALMAPNormLearner(PNormLearner):
    """ALMA for p > 2: theta = f(w) takes the step. As |theta|_p = |w|_q, dividing theta brings w back into the ball."""

    cdef double alpha, B, C
    cdef bint normalize

    def __init__(self, double alpha, double p, double B, double C, bint normalize, bint average):
        PNormLearner.__init__(self, p, average)
        self.alpha, self.B, self.C, self.normalize = alpha, B, C, normalize

    cdef double step(self, double margin, const Row* x, double copies) noexcept nogil:
        cdef double k = self.updates + 1
        cdef double length = p_norm(x, self.p) * pow(copies, 1 / self.p) if self.normalize else 1
        if margin / length > (1 - self.alpha) * self.B * sqrt((self.p - 1) / k):
            return 0
        return self.C / (sqrt((self.p - 1) * k) * length)

    cdef void settle(self) noexcept nogil:
        cdef double length
        PNormLearner.settle(self)
        length = self.grain * pow(self.sum, 1 / self.p)
        if length > 2:
            self.fold()    # the average would be inexact, as in `shrink`
        if length > 1:
            self.grain /= length
            self.scale = self.factor()


class ALMA(Classifier):
    """The approximate large margin algorithm: a perceptron in a p-norm whose margin and step shrink as it learns.

    x is scaled to |x|_p = 1. The k-th update comes where y w.x <= (1 - alpha) B sqrt(p-1) / sqrt(k). Then w = f^-1(f(w)
    + C / sqrt((p-1) k) y x), divided by max(1, |w|_q), where 1/p + 1/q = 1 and f_i(w) = sgn(w_i) |w_i|^(q-1) /
    |w|_q^(q-2). For p = 2, f is the identity. With several classes the margin is that over the strongest wrong class.

    This w minimises -eta_k y w.x + D(w, w_old) over |w|_q <= 1, where eta_k = C / sqrt((p-1) k) and D is the Bregman
    divergence of |w|_q^2 / 2. On separable data, updates end with at least 1 - alpha of the largest margin: |f(w)|_p^2
    grows to at most 1 + (2 (1 - alpha) B C + C^2) / k before the division, and the defaults of B and C follow from
    that. The tests compare the update with a numerical solver, and check the inequality and the margin.

    Parameters
    ----------
    alpha : fraction of the largest margin that the model may miss, above 0 and at most 1.
    p : norm, at least 2; larger values suit many features of which few matter.
    B : factor of the margin; None for sqrt(8) / alpha, or 1 / alpha without normalize.
    C : factor of the step; None for sqrt(2).
    normalize : scale x to norm 1, as the paper does; False gives the update of LIBOL.
    average : predict with the average of w_1..w_T.

    >>> from seriatim import ALMA, data, evaluate
    >>> run = evaluate.progressive(ALMA(), *data.load("digits"))
    >>> run.mistakes
    284

    Gentile, "A new approximate maximal margin classification algorithm", JMLR 2 (2001).
    """

    family = "linear"
    paper = "Gentile (2001)"
    fixed = (*Classifier.fixed, "p")
    loss = "hinge"
    alpha = Number(0.9, above=0, most=1, search=steps(0.55, 0.95, 0.05))
    p = Number(2.0, least=2, search=(2.0, 4.0, 6.0, 8.0, 10.0))
    B = Number(None, above=0, optional=True)
    C = Number(None, above=0, optional=True)
    normalize = Flag(True)
    average = Flag(False)

    def build(self):
        B = self.B or (sqrt(8) if self.normalize else 1) / self.alpha
        C = self.C or sqrt(2)
        if self.p == 2:
            return ALMALearner(self.alpha, B, C, self.normalize, self.average)
        return ALMAPNormLearner(self.alpha, self.p, B, C, self.normalize, self.average)


# ---- ROMMA


cdef class MeasuredNormLearner(MarginLearner):
    """A frame for updates that need |w|^2, which grows or falls without end on data that are not separable.

    Rounding errors in the running |w|^2 grow as it changes. So `end_round` computes it from w whenever it has changed
    by a factor of four. Where w would leave the range of numbers, it is scaled: only its direction matters.
    """

    NUMBERS = (*MarginLearner.NUMBERS, "measured")
    cdef public double measured   # |w|^2 when it was last computed from w

    cdef void end_round(self) noexcept nogil:
        if self.norm2 > 4 * self.measured or self.norm2 < self.measured / 4:
            self.centre()
            self.measure()
            if self.norm2 > 1e100:
                self.multiply(1e-25)
            elif 0 < self.norm2 < 1e-100:
                self.multiply(1e25)
            self.measured = self.norm2

    cdef void centre(self) noexcept nogil:
        """Make the classes of every feature sum to 0: a rounding error there changes |w|^2, but no margin."""
        cdef Py_ssize_t i, k, seen
        cdef double mean
        cdef double* w
        for i in range(self.table.rows if self.classes > 1 else 0):
            w = self.table.data + i * self.table.width
            mean = seen = 0
            for k in range(self.classes):
                mean += w[k]
                seen += self.seen[k]
            for k in range(self.classes):
                if self.seen[k]:
                    w[k] -= mean / seen
                    if self.average:
                        w[self.classes + k] -= self.total * mean / seen

    cdef void multiply(self, double factor) noexcept nogil:
        """w *= factor. If w becomes smaller, the sum of past weights is scaled too, as w would vanish beside it."""
        cdef Py_ssize_t i, k
        cdef double* u
        self.shrink(factor)
        if factor > 1:
            return
        self.total *= factor
        for i in range(self.table.rows if self.average else 0):
            u = self.table.data + i * self.table.width + self.classes
            for k in range(self.classes):
                u[k] *= factor

    def reclass(self, source, factor):
        MarginLearner.reclass(self, source, factor)
        self.measure()
        self.measured = self.norm2


cdef class ROMMALearner(MeasuredNormLearner):
    """w <- c w + d x, with c in the scale. |w'|^2 = c |w|^2 + d, as w' has margin 1."""

    cdef double least             # no step from this margin on

    def __init__(self, bint aggressive, bint average):
        MarginLearner.__init__(self, average)
        self.least = 1 if aggressive else 0

    cdef double step(self, double m, double norm2) noexcept nogil:
        cdef double product = norm2 * self.norm2, D = product - m * m, c, d
        if self.updates == 0 or (0 < m < 1 and m >= product and self.least):
            self.shrink(0)
            self.norm2 = self.measured = d = 1 / norm2
            return d
        if m > 0 and m >= self.least or D <= 1e-12 * product:
            return 0
        c, d = (product - m) / D, self.norm2 * (1 - m) / D
        product = c * self.norm2 + d
        self.shrink(c)
        self.norm2 = product
        return d


class ROMMA(Classifier):
    """The relaxed online maximum margin algorithm: on a mistake, the shortest w' with margin 1 and w'.w >= |w|^2.

    w' = c w + d x with c = (|x|^2 |w|^2 - y w.x) / D, d = |w|^2 (y - w.x) / D, D = |x|^2 |w|^2 - (w.x)^2. The first w'
    is y x / |x|^2. A row opposite to w (D = 0) takes no step. With several classes w is the whole matrix, and x the
    difference of the joint feature map.

    On data that are not separable |w| grows without end. Beyond 1e50, w is scaled back, which changes no prediction.
    Whenever |w|^2 has grown fourfold, the model computes it from w, in O(d).

    Parameters
    ----------
    average : predict with the average of w_1..w_T.

    >>> from seriatim import ROMMA, data, evaluate
    >>> run = evaluate.progressive(ROMMA(), *data.load("digits"))
    >>> run.mistakes
    283

    Li and Long, "The relaxed online maximum margin algorithm", Machine Learning 46 (2002).
    """

    family = "linear"
    paper = "Li and Long (2002)"
    loss = "perceptron"
    average = Flag(False)

    def build(self):
        return ROMMALearner(False, self.average)


class AggressiveROMMA(Classifier):
    """ROMMA with an update wherever the margin is below 1.

    The update is that of `ROMMA`. Where y w.x >= |x|^2 |w|^2, the constraint on w'.w is inactive and w' = y x / |x|^2.

    Parameters
    ----------
    average : predict with the average of w_1..w_T.

    >>> from seriatim import AggressiveROMMA, data, evaluate
    >>> run = evaluate.progressive(AggressiveROMMA(), *data.load("digits"))
    >>> run.mistakes
    208

    Li and Long, "The relaxed online maximum margin algorithm", Machine Learning 46 (2002).
    """

    family = "linear"
    paper = "Li and Long (2002)"
    loss = "hinge"
    average = Flag(False)

    def build(self):
        return ROMMALearner(True, self.average)


# ---- MIRA


cdef class MIRALearner(MeasuredNormLearner):
    """W_r += tau_r x; the first example takes a perceptron step."""

    cdef double* tau

    def __init__(self, bint average):
        MarginLearner.__init__(self, average, bounded=True)

    def __dealloc__(self):
        free(self.tau)

    cdef double step(self, double margin, double norm2) noexcept nogil:
        """Binary: the shortest w + tau y x with tau in [0, 1]. From w = 0, tau would always be 0."""
        return fmin(fmax(-margin / norm2, 0), 1) if self.norm2 > 0 else 1

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t k, s
        cdef double change = 0
        if self.norm2 == 0:
            MarginLearner.learn_class(self, x, y, out)
            return
        self.raw_scores(x, out)
        self.count()
        s = self.rival(y, out)
        if s >= 0 and out[s] > out[y] and x.norm2 > 0:
            self.solve(out, y, x.norm2)
            for k in range(self.classes):
                if self.tau[k] != 0:
                    self.move(x, self.tau[k], k)
                    change += self.tau[k] * (2 * out[k] + self.tau[k] * x.norm2)
            self.updated(change)
        self.end_round()

    cdef void solve(self, const double* scores, Py_ssize_t y, double norm2) noexcept nogil:
        """tau_r = min(theta - b_r, [r = y]) with the theta that makes them sum to 0; b_r = w_r.x / |x|^2.

        The sum grows with theta, and has a kink where a tau reaches its bound. Start with no tau at its bound. Each
        iteration sets the taus beyond their bounds to them, which raises theta for the rest, until none is beyond.
        """
        cdef Py_ssize_t k, free_ones, before = -1
        cdef double theta = 0, total, bound
        for k in range(self.classes):
            self.tau[k] = 0
        while True:
            total, free_ones = 0, 0
            for k in range(self.classes):
                bound = k == y
                if self.seen[k] and (before < 0 or theta - scores[k] / norm2 < bound):
                    total += scores[k] / norm2
                    free_ones += 1
                elif k == y:
                    total -= 1
            if free_ones == 0 or (before >= 0 and free_ones >= before):    # rounding may bring one back
                break
            theta, before = total / free_ones, free_ones
        for k in range(self.classes):
            if self.seen[k]:
                self.tau[k] = fmin(theta - scores[k] / norm2, k == y)

    def reclass(self, source, factor):
        tau = <double*> realloc(self.tau, len(source) * sizeof(double))
        if tau == NULL:
            raise MemoryError
        self.tau = tau
        MeasuredNormLearner.reclass(self, source, factor)


class MIRA(Classifier):
    """The margin-infused relaxed algorithm: on a mistake, the shortest W + tau x with sum tau = 0 and tau_r <= [r = y].

    W_r += tau_r x with tau_r = min(theta - w_r.x / |x|^2, [r = y]), where theta makes the sum 0. Binary: w += tau y x
    with tau = min(1, [-y w.x]+ / |x|^2). Unlike `PA`, there is no step size and no margin of 1. From W = 0 the method
    would never move, so the first example takes a perceptron step.

    Parameters
    ----------
    average : predict with the average of w_1..w_T.

    >>> from seriatim import MIRA, data, evaluate
    >>> run = evaluate.progressive(MIRA(), *data.load("digits"))
    >>> run.mistakes
    377

    Crammer and Singer, "Ultraconservative online algorithms for multiclass problems", JMLR 3 (2003).
    """

    family = "linear"
    paper = "Crammer and Singer (2003)"
    loss = "perceptron"
    average = Flag(False)

    def build(self):
        return MIRALearner(self.average)
