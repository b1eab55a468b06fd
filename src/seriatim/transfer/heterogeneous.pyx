"""Transfer learning to more features: the weights of the source and those of the new features learn together."""

from libc.math cimport fmin

import numpy as np

from seriatim.core.asymmetric cimport AsymmetricLearner
from seriatim.core.row cimport Row, record, value

from seriatim.errors import ModelError
from seriatim.parameters import Number, powers
from seriatim.transfer.base import Transfer


cdef class HeterogeneousOTLLearner(AsymmetricLearner):
    """f = (w_1.x_1 + w_2.x_2) / 2, with the smallest change of both that gives a margin of 1."""

    cdef double C, gamma1, gamma2
    cdef object weights_of_source
    cdef const double* source        # a weight for each record; NaN for features that the source does not have
    cdef Py_ssize_t source_rows

    def __init__(self, double C, double gamma1, double gamma2):
        AsymmetricLearner.__init__(self)
        self.C, self.gamma1, self.gamma2 = C, gamma1, gamma2
        self.scale = 0.5
        self.weighted = True

    def begin_with(self, weights, columns, double intercept):
        """Set the source: the weights of some columns, and the intercept, which belongs to the source."""
        source = np.full(max(columns, default=-1) + 2, np.nan)
        cdef double[::1] view = source
        source[0] = intercept
        source[1 + np.array(columns, dtype=np.intp)] = weights
        self.weights_of_source, self.source, self.source_rows = source, &view[0], len(source)
        self.begin()

    def column_arrays(self):
        raise ModelError("the source has weights of certain columns, which cannot be moved")

    cdef bint known(self, Py_ssize_t row) noexcept nogil:
        """Whether a record belongs to the source."""
        return row < self.source_rows and self.source[row] == self.source[row]

    cdef double initial(self, Py_ssize_t row) noexcept nogil:
        return self.source[row] if self.known(row) else 0

    cdef bint step(self, const Row* x, double y, double f, double* w) noexcept nogil:
        """w_i += tau y x_i / (2 gamma_i), tau = min(C, 4 l / (|x_1|^2 / gamma_1 + |x_2|^2 / gamma_2))."""
        cdef double tau, z1 = 0, z2 = 0
        cdef Py_ssize_t i
        if y * f >= 1 or self.weight == 0:
            return False
        for i in range(-1, x.n):
            if self.known(record(x, i)):
                z1 += value(x, i) ** 2
            else:
                z2 += value(x, i) ** 2
        tau = fmin(self.weight * self.C, 4 * (1 - y * f) / (z1 / self.gamma1 + z2 / self.gamma2))
        for i in range(-1, x.n):
            w[record(x, i)] += tau * y * value(x, i) / (2 * (self.gamma1 if self.known(record(x, i)) else self.gamma2))
        return True

    def restore(self, state):
        AsymmetricLearner.restore(self, state)
        if self.scale != 0.5:
            raise ModelError(f"the scale is {self.scale}; it must be 0.5")


class HeterogeneousOTL(Transfer):
    """Online transfer learning to more features: the weights of the source learn on, together with new weights.

    x_1 are the features of the source, x_2 the others. w_1 starts as the source and w_2 at 0. The score is
    f = (w_1.x_1 + w_2.x_2) / 2. With l = [1 - y f]+ and
    tau = min(C, 4 gamma_1 gamma_2 l / (|x_1|^2 gamma_2 + |x_2|^2 gamma_1)): w_i += tau y x_i / (2 gamma_i). This is the
    smallest change, weighted by gamma_i, that gives f a margin of 1, if C permits. The intercept belongs to x_1.
    `coef_` and `intercept_` are w / 2, with which the model scores. There are two labels; the positive class is the one
    for which the source has positive scores. An example of sample weight g has g C.

    Parameters
    ----------
    source : a model or weights, as for `HomogeneousOTL`. Its columns are some of the columns here, by name or
        number. A vector covers the first columns, a dict those that it names, even with weight 0.
    C : aggressiveness, above 0.
    gamma1 : above 0; larger values change the weights of the source less.
    gamma2 : above 0; larger values change the new weights less.

    >>> from seriatim import HeterogeneousOTL, PA, data, evaluate
    >>> X, y = data.load("digits")
    >>> odd = y % 2 == 1
    >>> model = HeterogeneousOTL(PA(average=True).fit(X[:900, :32], odd[:900]))
    >>> [evaluate.progressive(one, X[900:1100], odd[900:1100]).mistakes for one in (model, PA(C=5))]
    [34, 43]

    Zhao and Hoi, "OTL: a framework of online transfer learning", ICML 2010.
    """

    family = "transfer"
    paper = "Zhao and Hoi (2010)"
    loss = "hinge"
    C = Number(5.0, above=0, search=powers(-4, 4))
    gamma1 = Number(1.0, above=0)
    gamma2 = Number(1.0, above=0)

    def build(self):
        return self._begin_with(HeterogeneousOTLLearner(self.C, self.gamma1, self.gamma2), self._vocabulary)

    def _told(self, labels, codes):
        return len(labels) == 2
