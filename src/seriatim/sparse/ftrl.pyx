"""FTRL-Proximal: follow the leader, regularised around the weights of every past round."""

from libc.math cimport sqrt

from seriatim.core.learner cimport Linear
from seriatim.core.loss cimport Gradient
from seriatim.core.row cimport Row, dot
from seriatim.sparse.lazy cimport BATCH, Lazy, soft

from seriatim.core.loss import LOSSES
from seriatim.estimator import Classifier
from seriatim.parameters import Choice, Number, powers

from seriatim.sparse.lazy import reclassed, shared_out


cdef extern from "steps.h":
    void follow_leader(Py_ssize_t m, const double* g, const int* record, double* table, Py_ssize_t classes, double l1,
                       double slower, double least) noexcept nogil
    Py_ssize_t take_entries(const int* index, const double* value, double constant, Py_ssize_t n, Py_ssize_t* i,
                            double a, double least, double* step, int* record) noexcept nogil

cdef double LEAST = 2.0 ** -537    # of less, or little more, the square is 0


cdef class FTRLLearner(Lazy):
    """z and n of the paper. As w_j changes only with them, the table keeps it and sqrt(n_j), and the state neither."""

    cdef double alpha, beta, l1, l2

    SUMS = ("n",)    # of squares

    def __init__(self, Gradient gradient, double alpha, double beta, double l1, double l2):
        Lazy.__init__(self, gradient, (("w", 0.0, True), ("z", 0.0, True), ("root", 0.0, False), ("n", 0.0, False)), 1)
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2

    cdef void products(self, const Row* x, Py_ssize_t column, int n, double* out) noexcept nogil:
        cdef int k
        for k in range(n):
            out[k] = dot(x, self.table.data + column + k, self.table.width)

    cdef void raw_scores(self, const Row* x, double* out) noexcept nogil:
        Linear.raw_scores(self, x, out)

    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        cdef Py_ssize_t i = -1, m
        cdef double* table = self.table.data + column
        cdef double slower = 1 / self.alpha, least = self.beta / self.alpha + self.l2
        cdef double[BATCH] g
        cdef int[BATCH] records
        while i < x.n:
            m = take_entries(x.index, x.value, x.constant, x.n, &i, -a, LEAST, g, records)
            follow_leader(m, g, records, table, self.classes, self.l1, slower, least)

    def fields(self):
        fields = Lazy.fields(self)
        del fields["w"], fields["root"]
        return fields

    def refresh(self):
        cdef Py_ssize_t i, k, classes = self.classes
        cdef double* w
        cdef double slower = 1 / self.alpha, least = self.beta / self.alpha + self.l2
        for i in range(self.table.rows):
            for k in range(classes):
                w = self.table.data + i * self.table.width + k
                if w[3 * classes] > 0:
                    w[2 * classes] = sqrt(w[3 * classes])
                    w[0] = soft(-w[classes], self.l1) / (least + w[2 * classes] * slower)

    def reclass(self, source, factor):
        z = shared_out(reclassed(self.table.get("z"), source, factor), factor, self.l1)
        Lazy.reclass(self, source, factor)
        self.table.set("z", z)
        self.refresh()


class FTRL(Classifier):
    """FTRL-Proximal: online gradient descent with a rate for each feature, and weights that l1 sets to 0.

    For each feature of the row, with g the gradient of the loss, sigma = (sqrt(n + g^2) - sqrt(n)) / alpha,
    z += g - sigma w, n += g^2, and w = 0 where |z| <= l1, else -(z - sgn(z) l1) / ((beta + sqrt(n)) / alpha + l2). The
    losses are those of `OGD`. With several classes the margin is m = w_y.x - w_s.x, where s is the strongest wrong
    class. The intercept is a weight like the others. The importance of an example multiplies its loss.

    Parameters
    ----------
    loss : as for `OGD`.
    alpha : the rate, above 0.
    beta : at least 0; it tempers the first steps.
    l1 : at least 0; the larger, the sparser.
    l2 : at least 0.
    epsilon : of the epsilon-insensitive loss, at least 0.

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
