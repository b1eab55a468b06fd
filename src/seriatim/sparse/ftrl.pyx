"""FTRL-Proximal: follow the regularised leader, with a learning rate for each feature."""

from libc.math cimport sqrt

from seriatim.core.learner cimport LinearLearner
from seriatim.core.loss cimport Gradient
from seriatim.core.row cimport Row, dot, record, value
from seriatim.sparse.lazy cimport Lazy, soft, within_range

from seriatim.core.loss import LOSSES
from seriatim.estimator import Classifier
from seriatim.parameters import Choice, Number, powers
from seriatim.sparse.lazy import reclassed, shared_out


cdef class FTRLLearner(Lazy):
    """Algorithm 1 of the paper. The table caches w, a function of z and n. The state contains only z and n."""

    cdef double alpha, beta, l1, l2

    SUMS = ("n",)

    def __init__(self, Gradient gradient, double alpha, double beta, double l1, double l2):
        Lazy.__init__(self, gradient, (("w", 0.0, True), ("z", 0.0, True), ("n", 0.0, False)))
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2

    cdef inline double minimiser(self, double z, double root) noexcept nogil:
        """The weight w as a function of z and root = sqrt(n)."""
        return soft(-z, self.l1) / ((self.beta + root) / self.alpha + self.l2)

    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        cdef Py_ssize_t i, Z = self.classes, N = 2 * self.classes
        cdef double g, root, sigma
        cdef double* w
        for i in range(-1, x.n):
            g = -a * value(x, i)
            if g * g > 0:
                w = self.table.data + record(x, i) * self.table.width + column
                root = sqrt(w[N] + g * g)
                sigma = (root - sqrt(w[N])) / self.alpha
                w[Z] += g - sigma * w[0]
                w[N] = within_range(w[N] + g * g)
                w[0] = self.minimiser(w[Z], root)

    cdef void products(self, const Row* x, Py_ssize_t column, int n, double* out) noexcept nogil:
        out[0] = dot(x, self.table.data + column, self.table.width)

    cdef void raw_scores(self, const Row* x, double* out) noexcept nogil:
        LinearLearner.raw_scores(self, x, out)

    def fields(self):
        fields = Lazy.fields(self)
        del fields["w"]
        return fields

    def refresh(self):
        cdef Py_ssize_t i, k, classes = self.classes
        cdef double* w
        for i in range(self.table.rows):
            for k in range(classes):
                w = self.table.data + i * self.table.width + k
                if w[2 * classes] > 0:
                    w[0] = self.minimiser(w[classes], sqrt(w[2 * classes]))

    def reclass(self, source, factor):
        z = shared_out(reclassed(self.table.get("z"), source, factor), factor, self.l1)
        Lazy.reclass(self, source, factor)
        self.table.set("z", z)
        self.refresh()


class FTRL(Classifier):
    """FTRL-Proximal: follow the regularised leader, with a learning rate for each feature and exact zeros by l1.

    Each feature has the numbers z and n, which start at 0. g is the gradient of the loss by w. A round updates the
    features of its row: sigma = (sqrt(n + g^2) - sqrt(n)) / alpha, z += g - sigma w, n += g^2. Then w = 0 if
    |z| <= l1, else w = -(z - sgn(z) l1) / ((beta + sqrt(n)) / alpha + l2).

    With several classes, the margin is m = w_y.x - w_s.x, where s is the wrong class with the highest score. The
    penalties also apply to the intercept. A sample weight multiplies the loss.

    Parameters
    ----------
    loss : one of the losses of `OGD`.
    alpha : learning rate, above 0.
    beta : added to sqrt(n), so that the first steps of a feature are shorter; at least 0.
    l1 : strength of the l1 penalty, at least 0; larger values give more zeros.
    l2 : strength of the l2 penalty, at least 0.
    epsilon : width of the epsilon-insensitive loss, at least 0.

    >>> from seriatim import FTRL, data, evaluate
    >>> run = evaluate.progressive(FTRL(), *data.load("digits"))
    >>> run.mistakes, run.model.n_nonzero_
    (213, 500)

    McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013, Algorithm 1.
    """

    family = "sparse"
    paper = "McMahan et al. (2013)"
    loss = Choice("logistic", LOSSES[:6])
    alpha = Number(0.1, above=0, search=powers(-8, 4))
    beta = Number(1.0, least=0)
    l1 = Number(1.0, least=0)
    l2 = Number(0.0, least=0)
    epsilon = Number(0.1, least=0)

    def build(self):
        gradient = Gradient(self.loss, 1, "constant", self.epsilon)
        return FTRLLearner(gradient, self.alpha, self.beta, self.l1, self.l2)
