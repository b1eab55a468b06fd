"""Mirror descent: gradient steps in the dual, mapped back to weights."""

from libc.float cimport DBL_MIN
from libc.math cimport INFINITY, exp, fabs, fmax, log, pow, sqrt

from seriatim.core.learner cimport MarginLearner
from seriatim.core.loss cimport Gradient, rate
from seriatim.core.row cimport dot, record, value

from seriatim.core.loss import LOSSES, SCHEDULES
from seriatim.errors import DataError, ModelError, ParameterError
from seriatim.estimator import Classifier
from seriatim.parameters import Choice, Flag, Number, decades, powers


cdef extern from "link.h":
    void map_entries(const Link* by, Py_ssize_t n, const double* theta, double* w) noexcept nogil
    double sum_of_shares(const Link* by, Py_ssize_t n, const double* theta, const double* w) noexcept nogil
    double size_of(const Link* by, double theta) noexcept nogil
    double step_entries(const Link* by, Py_ssize_t n, double* step, const int* record, double* table,
                        Py_ssize_t width, Py_ssize_t at, double* before, double* top) noexcept nogil
    Py_ssize_t take_entries(const int* index, const double* value, double constant, Py_ssize_t n, Py_ssize_t* i,
                            double a, double least, double* step, int* record) noexcept nogil


cdef class EuclideanLearner(MarginLearner):
    """w = theta, or w_t = eta_t theta where theta sums the bare gradients."""

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


cdef double NOTHING = 1e-200    # an entry of theta, if no other is larger, that is taken for 0


cdef inline double larger(double a, double b) noexcept nogil:
    return a if a > b else b    # fmax would be a call


cdef class LinkedLearner(Linear):
    """w = factor x h(theta): an entry of w depends on its own theta, and on all the others by one sum.

    The table holds h(theta) as w, and theta beside it. The sum is kept up to date entry by entry, and taken anew before
    rounding can tell, so that a round costs its non-zeros.
    """

    NUMBERS = (*Linear.NUMBERS, "sum", "peak", "top", "grain", "shift")

    def __init__(self, int map, bint average, double p=2, Py_ssize_t n_features=0):
        Linear.__init__(self, average, (("theta", 0.0, True),))
        self.map, self.p = map, p
        self.theta = 2 if average else 1
        self.dimension = n_features + 1 if n_features else 0
        self.grain = 1

    cdef Link linked(self) noexcept nogil:
        return Link(self.map, self.p - 1, self.shift, exp(-2 * self.shift))

    cdef Py_ssize_t first(self) noexcept nogil:
        """The first record: without an intercept the constant's is no part of the sum."""
        return self.constant == 0

    cdef double factor(self) noexcept nogil:
        return 1

    cdef double step(self, double margin, const Row* x, double copies) noexcept nogil:
        """The length of the step of theta along the example, which has x in one or two columns; 0 for none."""
        return 0

    cdef int grow(self, Py_ssize_t rows) except -1:
        most = self.dimension or self.table.rows
        if self.map != P_NORM and rows > most and (self.dimension or self.t):
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
        """theta += a x in a column."""
        cdef Py_ssize_t i = -1, k, n, width = self.table.width, at = self.theta * self.classes
        cdef double* table = self.table.data + column
        cdef double* w
        cdef double[BATCH] step, before
        cdef int[BATCH] records
        cdef double top = self.top
        cdef Link by = self.linked()
        a /= self.grain
        if self.outgrown(top + fabs(a) * sqrt(x.norm2)):    # the table must be rebased, or may have to be
            self.fold()
            for i in range(-1, x.n):
                table[record(x, i) * width + at] += a * value(x, i)
            self.rebase()
            return
        while i < x.n:
            n = take_entries(x.index, x.value, x.constant, x.n, &i, a, 0, step, records)
            self.sum += step_entries(&by, n, step, records, table, width, at, before if self.average else NULL, &top)
            for k in range(n if self.average else 0):
                w = table + records[k] * width
                w[self.classes] += self.total * (w[0] - before[k])
        self.top = top

    cdef bint outgrown(self, double top) noexcept nogil:
        """Whether an entry of this size is out of proportion to the grain or the shift."""
        return self.p * log(top) > 200 if self.map == P_NORM else top - self.shift > 300

    cdef void rebase(self) noexcept nogil:
        """The grain or the shift by the largest entry there is, with room above; the caller has folded."""
        cdef Py_ssize_t i, k
        cdef double* theta
        cdef double top = -INFINITY
        cdef Link by = self.linked()
        for i in range(self.first(), self.table.rows):
            theta = self.table.data + i * self.table.width + self.theta * self.classes
            for k in range(self.classes):
                top = larger(top, size_of(&by, theta[k]))
        if self.map != P_NORM:
            self.shift = top - 150
        elif top > 0:
            if top * self.grain < NOTHING:    # a step divided by such a grain would leave the range of numbers
                top, self.grain = INFINITY, 1
            else:
                self.grain *= top
            for i in range(self.table.rows):
                theta = self.table.data + i * self.table.width + self.theta * self.classes
                for k in range(self.classes):
                    theta[k] = theta[k] / top + 0.0    # a zero has no sign
        self.refresh()

    cdef void settle(self) noexcept nogil:
        """After a step: a sum that rounding has not touched, and the scale that follows from it."""
        self.peak = fmax(self.peak, self.sum)
        if self.updates & (self.updates - 1) == 0 or self.sum < 1e-5 * self.peak:
            self.add_up()
        if not 1e-100 < self.sum < 1e140:    # perhaps only now, when what rounding had left of it is gone
            self.fold()
            self.rebase()
        self.scale = self.factor()

    cdef Py_ssize_t read(self, Py_ssize_t i, Py_ssize_t column, double* theta, double* w) noexcept nogil:
        """A batch of entries of a column, from record i on; returns how many there are."""
        cdef Py_ssize_t k, n = min(BATCH, self.table.rows - i)
        cdef const double* place = self.table.data + i * self.table.width + column
        for k in range(n):
            w[k], theta[k] = place[k * self.table.width], place[k * self.table.width + self.theta * self.classes]
        return n

    cdef void refresh(self) noexcept nogil:
        """w from theta, and the sum."""
        cdef Py_ssize_t i, k, column, n
        cdef double[BATCH] theta, w
        cdef Link by = self.linked()
        for column in range(self.classes):
            i = self.first()
            while i < self.table.rows:
                n = self.read(i, column, theta, w)
                map_entries(&by, n, theta, w)
                for k in range(n):
                    self.table.data[(i + k) * self.table.width + column] = w[k]
                i += n
        self.add_up()

    cdef void add_up(self) noexcept nogil:
        """The sum and the largest entry from the entries."""
        cdef Py_ssize_t i, k, column, n
        cdef double[BATCH] theta, w
        cdef double top = -1e300
        cdef Link by = self.linked()
        self.sum = 0
        for column in range(self.classes):
            i = self.first()
            while i < self.table.rows:
                n = self.read(i, column, theta, w)
                self.sum += sum_of_shares(&by, n, theta, w)
                for k in range(n):
                    top = larger(top, size_of(&by, theta[k]))
                i += n
        self.peak, self.top = self.sum, top
        self.scale = self.factor()

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
        Linear.restore(self, state)
        if not (self.sum >= 0 and self.peak >= 0 and self.grain > 0):
            raise ModelError("a sum or the grain is not one that entries of theta can have")

    def reclass(self, source, factor):
        """Where w becomes -w/2 and +w/2, theta does what that asks of it."""
        self.fold()
        shared_out = self.classes == 1 < len(source)
        Linear.reclass(self, source, factor)
        if shared_out and self.map == P_NORM:    # |f(-w/2, w/2)| over |f(w)|, f the inverse map, is 2^(-2/p)
            self.table.set("theta", 2 ** (1 - 2 / self.p) * self.table.get("theta"))
        elif shared_out and self.map == PLUS_MINUS:    # the sum doubles with the second class
            self.table.set("theta", 2 * self.table.get("theta"))
        self.rebase()


cdef class PNormLearner(LinkedLearner):
    """w_i = sgn(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2)."""

    def __init__(self, double p, bint average):
        LinkedLearner.__init__(self, P_NORM, average, p)

    cdef double factor(self) noexcept nogil:
        return fmax(self.grain * pow(self.sum, 2 / self.p - 1), DBL_MIN) if self.sum > 0 else 1


cdef class PNormDescentLearner(PNormLearner):
    """As the map is linear in the length of theta, w_t = g(eta_t theta) is eta_t g(theta)."""

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
    """w = U softmax(theta); with signs U (e^theta - e^-theta) over the sum of both exponentials of all entries."""

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
    softmax(theta), the normalised exponentiated gradient on the simplex. With z_t the gradient of the loss at w_t,
    either theta -= eta_t z_t and w = g(theta) ("mirror"), or theta -= z_t and w_{t+1} = g(eta_{t+1} theta) ("ftrl",
    follow the regularised leader: w minimises the linearised losses so far plus the regulariser over eta). With
    constant steps the two are one. With several classes g maps the whole matrix.

    "euclidean" with the perceptron's loss is `Perceptron`; with eta = 1 / lambda and schedule="inverse" it is `SoftSVM`
    without its average; in the variant "mirror" it is `OGD`.

    Parameters
    ----------
    mirror : euclidean, entropy or pnorm. With entropy all weights share one sum: their number is `n_features`, else
        that of the first block, and a feature beyond is refused.
    loss : as for `OGD`, or perceptron, [-m]+.
    eta : the step, above 0.
    schedule : constant, sqrt or inverse; of "ftrl" with entropy constant alone, the others would cost O(d) a round.
    p : of pnorm, at least 2.
    variant : ftrl or mirror.
    n_features : of entropy; None to take them from the first block.
    average : predict with the average of w_1..w_T.
    epsilon : of the epsilon-insensitive loss, at least 0.

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

    theta -= eta U z, z the gradient of the loss, and w_i = U (e^theta_i - e^-theta_i) / sum_j (e^theta_j + e^-theta_j):
    the multiplicative update of w+ and w-, w = w+ - w-. Its loss bound grows with the logarithm of the dimension, so it
    is meant for many features of which few matter. The form of the update is recalled from the paper, not read.

    Parameters
    ----------
    loss : as for `OGD`.
    eta : the step, above 0.
    U : the bound of |w|_1, above 0.
    n_features : all weights share one sum, so their number is fixed: this, else that of the first block.
    average : predict with the average of w_1..w_T.
    epsilon : of the epsilon-insensitive loss, at least 0.

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
