"""Mirror descent: theta takes gradient steps, and a map turns theta into weights."""

from libc.float cimport DBL_MIN
from libc.math cimport INFINITY, copysign, fabs, fmax, log, pow, sqrt

from seriatim.core.learner cimport MarginLearner
from seriatim.core.loss cimport Gradient, rate
from seriatim.core.row cimport dot, record, value

from seriatim.core.loss import LOSSES, SCHEDULES
from seriatim.errors import DataError, ModelError, ParameterError
from seriatim.estimator import Classifier
from seriatim.parameters import Choice, Flag, Number, decades, powers

cdef extern from "exponential.h":
    double exponential(double x) noexcept nogil


cdef class EuclideanLearner(MarginLearner):
    """w = theta; in the variant ftrl, theta sums the gradients and w_t = eta_t theta."""

    cdef Gradient gradient
    cdef bint leader

    def __init__(self, Gradient gradient, bint leader, bint average):
        MarginLearner.__init__(self, average)
        self.gradient, self.leader, self.weighted = gradient, leader, True
        self.end_round()

    cdef double step(self, double margin, double norm2) noexcept nogil:
        if self.leader:
            return self.scale * self.gradient.slope(1 - margin, self.weight)
        return self.gradient.step(1 - margin, self.t, self.weight)

    cdef void end_round(self) noexcept nogil:
        if self.leader:
            self.scale = fmax(rate(self.gradient.schedule, self.gradient.eta, self.t + 1), DBL_MIN)


# ---- maps with a sum over all entries: w_i = factor * image(theta_i), and factor depends on sum_j share(theta_j)


cdef inline double image(const Map* by, double theta) noexcept nogil:
    cdef double large
    if by.kind == P_NORM:
        return copysign(power(fabs(theta), by.p - 1), theta)
    if by.kind == ENTROPY:
        return exponential(theta - by.shift)
    large = exponential(fabs(theta) - by.shift)    # a quotient for e^-|theta|: two exponentials take a third longer
    return copysign(large - by.least_product / large, theta) if large > 0 else 0


cdef inline double share(const Map* by, double theta, double image) noexcept nogil:
    if by.kind == P_NORM:
        return theta * image                              # |theta|^p
    if by.kind == ENTROPY:
        return image
    return sqrt(image * image + 4 * by.least_product)     # e^theta + e^-theta, as (a - b)^2 + 4 a b = (a + b)^2


cdef inline double size(const Map* by, double theta) noexcept nogil:
    """How close an entry is to overflow."""
    return theta if by.kind == ENTROPY else fabs(theta)


cdef double ALMOST_ZERO = 1e-200    # if no entry of theta is larger, all are taken for 0


cdef class LinkedLearner(LinearLearner):
    """A frame for updates theta += a y x where all weights share one sum.

    The table stores image(theta) as w, and theta beside it. A step updates the sum entry by entry, so that a round
    costs its non-zeros. `refresh` computes the sum from all entries before rounding errors matter.
    """

    NUMBERS = (*LinearLearner.NUMBERS, "sum", "peak", "top", "grain", "shift")

    def __init__(self, int kind, bint average, double p=2, Py_ssize_t n_features=0):
        LinearLearner.__init__(self, average, (("theta", 0.0, True),))
        self.kind, self.p = kind, p
        self.theta = 2 if average else 1
        self.dimension = n_features + 1 if n_features else 0
        self.grain = 1

    cdef double factor(self) noexcept nogil:
        return 1

    cdef double step(self, double margin, const Row* x, double copies) noexcept nogil:
        """The length of the step of theta along x, which changes one class or two (`copies`); 0 for no step."""
        return 0

    cdef Map map(self) noexcept nogil:
        return Map(self.kind, self.p, self.shift, exponential(-2 * self.shift))

    cdef Py_ssize_t first(self) noexcept nogil:
        """The first record of the sum: without an intercept, the constant's record does not count."""
        return self.constant == 0

    cdef int grow(self, Py_ssize_t rows) except -1:
        most = self.dimension or self.table.rows
        if self.kind != P_NORM and rows > most and (self.dimension or self.t):
            raise DataError(
                f"feature {rows - 1}, but the model is over {most - 1}: all weights share one sum, so their number is "
                f"fixed before the first example; start with n_features={rows - 1} or more"
            )
        rows = max(rows, self.dimension)
        if rows > self.table.rows:
            self.table.grow(rows)
            if self.t == 0:
                self.refresh()
        return 0

    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        """theta += a x in a column; w, the sum and the average follow."""
        cdef Py_ssize_t i, width = self.table.width, at = self.theta * self.classes
        cdef double* table = self.table.data + column
        cdef double* w
        cdef double step, before, change = 0, top = self.top
        cdef Map by = self.map()
        a /= self.grain
        if self.outgrown(top + fabs(a) * sqrt(x.norm2)):    # an entry may leave the range of numbers
            self.fold()
            for i in range(-1, x.n):
                w = table + record(x, i) * width
                w[at] += a * value(x, i)
            self.rebase()
            return
        for i in range(-1, x.n):
            step = a * value(x, i)
            if step == 0:
                continue
            w = table + record(x, i) * width
            before = w[0]
            change -= share(&by, w[at], before)
            w[at] += step
            w[0] = image(&by, w[at])
            change += share(&by, w[at], w[0])
            top = size(&by, w[at]) if size(&by, w[at]) > top else top
            if self.average:
                w[self.classes] += self.total * (w[0] - before)
        self.sum += change
        self.top = top

    cdef void settle(self) noexcept nogil:
        """After a step: correct the sum if rounding may show, and compute the factor that follows from it."""
        self.peak = fmax(self.peak, self.sum)
        if self.updates & (self.updates - 1) == 0 or self.sum < 1e-5 * self.peak:
            self.refresh()
        if not 1e-100 < self.sum < 1e140:
            self.fold()
            self.rebase()
        self.scale = self.factor()

    cdef void refresh(self) noexcept nogil:
        """Compute w, the sum and the largest entry from theta."""
        cdef Py_ssize_t i, k
        cdef double* w
        cdef double* theta
        cdef Map by = self.map()
        self.sum, self.top = 0, -1e300
        for i in range(self.first(), self.table.rows):
            w = self.table.data + i * self.table.width
            theta = w + self.theta * self.classes
            for k in range(self.classes):
                w[k] = image(&by, theta[k])
                self.sum += share(&by, theta[k], w[k])
                self.top = size(&by, theta[k]) if size(&by, theta[k]) > self.top else self.top
        self.peak, self.scale = self.sum, self.factor()

    # ---- the range of numbers: the table holds theta / grain, and exponentials of theta - shift

    cdef bint outgrown(self, double top) noexcept nogil:
        """Whether an entry of this size needs another grain or shift."""
        return self.p * log(top) > 200 if self.kind == P_NORM else top - self.shift > 300

    cdef void rebase(self) noexcept nogil:
        """Choose the grain or the shift by the largest entry. The caller has folded the average, as w changes."""
        cdef Py_ssize_t i, k
        cdef double top = -INFINITY
        cdef Map by = self.map()
        for i in range(self.first(), self.table.rows):
            for k in range(self.theta * self.classes, (self.theta + 1) * self.classes):
                top = fmax(top, size(&by, self.table.data[i * self.table.width + k]))
        if self.kind != P_NORM:
            self.shift = top - 150
        elif top * self.grain >= ALMOST_ZERO:
            self.grain *= top
            self.divide(top)
        elif top > 0:    # a step divided by such a grain would leave the range of numbers
            self.grain = 1
            self.divide(INFINITY)
        self.refresh()

    cdef void divide(self, double by) noexcept nogil:
        """theta /= by."""
        cdef Py_ssize_t i, k
        cdef double* theta
        for i in range(self.table.rows):
            theta = self.table.data + i * self.table.width + self.theta * self.classes
            for k in range(self.classes):
                theta[k] = theta[k] / by + 0.0    # no negative zero

    # ---- rounds

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double a, f = self.scale * dot(x, self.table.data, self.table.width)
        self.count()
        if x.norm2 > 0:
            a = self.step(y * f, x, 1)
            if a != 0:
                self.push(x, a * y, 0)
                self.updates += 1
                self.settle()
        self.end_round()
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t s
        cdef double a
        self.raw_scores(x, out)
        self.count()
        s = self.rival(y, out)
        if s >= 0 and x.norm2 > 0:
            a = self.step(out[y] - out[s], x, 2)
            if a != 0:
                self.push(x, a, y)
                self.push(x, -a, s)
                self.updates += 1
                self.settle()
        self.end_round()

    def restore(self, state):
        LinearLearner.restore(self, state)
        if not (self.sum >= 0 and self.peak >= 0 and self.grain > 0):
            raise ModelError("a sum or the grain is not one that entries of theta can have")

    def reclass(self, source, factor):
        """Where w becomes -w/2 and +w/2, theta becomes what this map needs for that."""
        cdef bint split = self.classes == 1 < len(source)
        self.fold()
        LinearLearner.reclass(self, source, factor)
        if split and self.kind == P_NORM:    # |theta(-w/2, w/2)| / |theta(w)| = 2^(-2/p), and reclass has halved theta
            self.divide(2 ** (2 / self.p - 1))
        elif split and self.kind == PLUS_MINUS:    # the second class doubles the sum
            self.divide(0.5)
        self.rebase()


cdef class PNormLearner(LinkedLearner):
    """w_i = sgn(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2)."""

    def __init__(self, double p, bint average):
        LinkedLearner.__init__(self, P_NORM, average, p)

    cdef double factor(self) noexcept nogil:
        return fmax(self.grain * pow(self.sum, 2 / self.p - 1), DBL_MIN) if self.sum > 0 else 1


cdef class PNormDescentLearner(PNormLearner):
    """In the variant ftrl, w_t = g(eta_t theta) = eta_t g(theta)."""

    cdef Gradient gradient
    cdef bint leader

    def __init__(self, double p, Gradient gradient, bint leader, bint average):
        self.gradient, self.leader, self.weighted = gradient, leader, True
        PNormLearner.__init__(self, p, average)

    cdef double step(self, double margin, const Row* x, double copies) noexcept nogil:
        if self.leader:
            return self.gradient.slope(1 - margin, self.weight)
        return self.gradient.step(1 - margin, self.t, self.weight)

    cdef double factor(self) noexcept nogil:
        cdef double eta = rate(self.gradient.schedule, self.gradient.eta, self.t + 1) if self.leader else 1
        return fmax(eta * PNormLearner.factor(self), DBL_MIN)

    cdef void end_round(self) noexcept nogil:
        if self.leader and self.gradient.schedule:
            self.scale = self.factor()


cdef class SimplexLearner(LinkedLearner):
    """w_i = U e^theta_i / sum_j e^theta_j.

    With signs, w_i = U (e^theta_i - e^-theta_i) / sum_j (e^theta_j + e^-theta_j).
    """

    cdef Gradient gradient
    cdef double U

    def __init__(self, Gradient gradient, bint average, n_features, double U=1, bint signs=False):
        self.gradient, self.U, self.weighted = gradient, U, True
        LinkedLearner.__init__(self, PLUS_MINUS if signs else ENTROPY, average, n_features=n_features or 0)

    cdef double step(self, double margin, const Row* x, double copies) noexcept nogil:
        return self.U * self.gradient.step(1 - margin, self.t, self.weight)

    cdef double factor(self) noexcept nogil:
        return fmax(self.U / self.sum, DBL_MIN) if self.sum > 0 else 1


class MirrorDescent(Classifier):
    """Mirror descent: gradient steps of theta, and w = g(theta), the map of a regulariser.

    g is "euclidean", w = theta; "pnorm", w_i = sgn(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2); or "entropy", w =
    softmax(theta), the normalised exponentiated gradient on the simplex. z_t is the gradient of the loss at w_t. The
    variant "mirror" has theta -= eta_t z_t and w = g(theta). The variant "ftrl", follow the regularised leader, has
    theta -= z_t and w_{t+1} = g(eta_{t+1} theta): w minimises the linearised losses so far plus the regulariser over
    eta. With constant steps both variants are the same. With several classes g maps the whole matrix.

    "euclidean" with the perceptron loss is `Perceptron`; with eta = 1 / lambda and schedule="inverse" it is `SoftSVM`
    without its average; in the variant "mirror" it is `OGD`.

    Parameters
    ----------
    mirror : euclidean, entropy or pnorm. With entropy all weights share one sum, so their number is fixed: `n_features`
        or, if that is None, the number in the first block. The model then refuses further features.
    loss : as for `OGD`, or perceptron, [-m]+.
    eta : step size, above 0.
    schedule : constant, sqrt or inverse. "ftrl" with entropy allows only constant: others would cost O(d) a round.
    p : norm of pnorm, at least 2.
    variant : ftrl or mirror.
    n_features : number of features for entropy; None to take it from the first block.
    average : predict with the average of w_1..w_T.
    epsilon : errors up to this cost nothing in the epsilon-insensitive loss; at least 0.

    >>> from seriatim import MirrorDescent, data, evaluate
    >>> run = evaluate.progressive(MirrorDescent(mirror="pnorm", p=4, eta=0.01), *data.load("digits"))
    >>> run.mistakes
    331

    Shalev-Shwartz, "Online learning and online convex optimization", Foundations and Trends 4 (2012), section 2;
    Grove, Littlestone and Schuurmans, "General convergence results for linear discriminant updates", 2001 (p-norms).
    """

    family = "linear"
    paper = "Shalev-Shwartz (2012)"
    fixed = (*Classifier.fixed, "mirror", "p", "variant", "n_features")
    mirror = Choice("euclidean", ("euclidean", "entropy", "pnorm"))
    loss = Choice("hinge", LOSSES)
    eta = Number(0.1, above=0, search=decades(-3, 1))
    schedule = Choice("constant", SCHEDULES)
    p = Number(2.0, least=2)
    variant = Choice("ftrl", ("ftrl", "mirror"))
    n_features = Number(None, least=1, below=10**9, integer=True, optional=True)
    average = Flag(False)
    epsilon = Number(0.1, least=0)

    def build(self):
        gradient = Gradient(self.loss, self.eta, self.schedule, self.epsilon)
        leader = self.variant == "ftrl"
        if self.mirror == "euclidean":
            return EuclideanLearner(gradient, leader, self.average)
        if self.mirror == "pnorm":
            return PNormDescentLearner(self.p, gradient, leader, self.average)
        if leader and self.schedule != "constant":
            raise ParameterError(
                f'MirrorDescent: schedule={self.schedule!r} with mirror="entropy" changes every weight in every round; '
                f'use schedule="constant" or variant="mirror"'
            )
        return SimplexLearner(gradient, self.average, self.n_features)


class EG(Classifier):
    """Exponentiated gradient with positive and negative weights, |w|_1 <= U.

    theta -= eta U z, z the gradient of the loss, and w_i = U (e^theta_i - e^-theta_i) / sum_j (e^theta_j + e^-theta_j).
    This is the multiplicative update of w+ and w-, where w = w+ - w-. Its loss bound grows with the logarithm of the
    dimension, so it suits many features of which few matter.

    With w+ = U p+ and w- = U p-, (p+, p-) minimises eta U z.(p+ - p-) plus the relative entropy to the old (p+, p-),
    over all distributions. The tests compare the update with a numerical solver.

    Parameters
    ----------
    loss : as for `OGD`.
    eta : step size, above 0.
    U : bound of |w|_1, above 0.
    n_features : number of features; None to take it from the first block. All weights share one sum, so it is fixed.
    average : predict with the average of w_1..w_T.
    epsilon : errors up to this cost nothing in the epsilon-insensitive loss; at least 0.

    >>> from seriatim import EG, data, evaluate
    >>> run = evaluate.progressive(EG(eta=0.01, U=10), *data.load("digits"))
    >>> run.mistakes
    703

    Kivinen and Warmuth, "Exponentiated gradient versus gradient descent for linear predictors", Information and
    Computation 132 (1997).
    """

    family = "linear"
    paper = "Kivinen and Warmuth (1997)"
    fixed = (*Classifier.fixed, "n_features")
    loss = Choice("hinge", LOSSES[:6])
    eta = Number(0.1, above=0, search=decades(-4, 0))
    U = Number(1.0, above=0, search=powers(0, 6, 2))
    n_features = Number(None, least=1, below=10**9, integer=True, optional=True)
    average = Flag(False)
    epsilon = Number(0.1, least=0)

    def build(self):
        gradient = Gradient(self.loss, self.eta, "constant", self.epsilon)
        return SimplexLearner(gradient, self.average, self.n_features, self.U, signs=True)
