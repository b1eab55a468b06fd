"""Fixed share: experts of which now one and now another is the best."""

from libc.math cimport exp, log, log1p, sqrt

import numpy as np

from seriatim.experts.mixture cimport Mixture

from seriatim.errors import ModelError
from seriatim.experts.base import Experts
from seriatim.parameters import Number


cdef class FixedShareLearner(Mixture):
    """v = w exp(-eta l) / Z, w = (1 - alpha) v + alpha / N. No weight falls below alpha / N, so none underflows."""

    cdef double alpha
    cdef double eta    # 0: sqrt(8 (h(alpha) + alpha ln N))

    ARRAYS = ("shares",)

    def __init__(self, eta, double alpha):
        self.eta, self.alpha = eta or 0, alpha

    @property
    def shares(self):
        """w, of which the next one is made."""
        return np.array(self.w)

    @shares.setter
    def shares(self, shares):
        if len(shares) and not (np.min(shares) >= 0 and abs(np.sum(shares) - 1) < 1e-6):
            raise ModelError("the weights of the experts are not shares of 1")
        self.w = shares

    cdef double rate(self) noexcept nogil:
        cdef double a = self.alpha
        return self.eta if self.eta > 0 else sqrt(8 * (a * log(self.n / a) - (1 - a) * log1p(-a)))

    cdef void note(self, const double* losses, double mean) noexcept nogil:
        cdef Py_ssize_t i
        cdef double least = losses[0], total = 0, eta = self.rate()
        for i in range(1, self.n):
            least = min(least, losses[i])
        for i in range(self.n):
            self.w[i] *= exp(-eta * (losses[i] - least))
            total += self.w[i]
        for i in range(self.n):
            self.w[i] = (1 - self.alpha) * self.w[i] / total + self.alpha / self.n

    def bound(self):
        return (log(<double> self.n) - (self.t - 1) * log1p(-self.alpha)) / self.rate() + self.rate() * self.t / 8


class FixedShare(Experts):
    """Hedge for experts of which now one and now another is the best: each round gives all of them a share again.

    v = w exp(-eta l) / Z is the step of Hedge, and w = (1 - alpha) v + alpha / N. So an expert that has been bad for
    long has its weight back after a few good rounds. The loss of the mixture is at most
    (ln N + (T - 1) ln(1 / (1 - alpha))) / eta + eta T / 8 more than that of the best single expert, which is `bound_`;
    against the best sequence of experts that changes k times it is k ln(N (1 - alpha) / alpha) / eta more than that.
    All else is as for `Hedge`.

    Parameters
    ----------
    experts : as for `Hedge`.
    eta : rate, above 0; None for sqrt(8 (h(alpha) + alpha ln N)), h(alpha) = -alpha ln alpha
        - (1 - alpha) ln(1 - alpha), which is best for experts that change in a share alpha of the rounds.
    alpha : what is shared out, above 0 and below 1: in what share of the rounds the best expert changes.

    >>> from seriatim import FixedShare, Hedge
    >>> losses = [[0.0, 1.0]] * 50 + [[1.0, 0.0]] * 50
    >>> [round(rule.partial_fit(losses).loss_, 1) for rule in (Hedge(), FixedShare(alpha=0.02))]
    [48.2, 7.0]

    Herbster and Warmuth, "Tracking the best expert", Machine Learning 32 (1998).
    """

    family = "experts"
    paper = "Herbster and Warmuth (1998)"
    fixed = (*Experts.fixed, "eta", "alpha")    # of which the bound is
    eta = Number(None, above=0, optional=True)
    alpha = Number(0.01, above=0, below=1)

    def rule(self):
        return FixedShareLearner(self.eta, self.alpha)

    def build(self):
        return self._committee()
