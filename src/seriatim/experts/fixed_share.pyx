"""Fixed share: Hedge for a best expert that changes with time."""

from libc.math cimport exp, log, log1p, sqrt

import numpy as np

from seriatim.experts.mixture cimport Mixture

from seriatim.errors import ModelError
from seriatim.experts.base import Experts
from seriatim.parameters import Number


cdef class FixedShareLearner(Mixture):
    """v = w exp(-eta l) / Z, w = (1 - alpha) v + alpha / N. No weight is below alpha / N, so none underflows."""

    cdef double alpha
    cdef double eta    # 0 means sqrt(8 (h(alpha) + alpha ln N))

    ARRAYS = ("shares",)

    def __init__(self, eta, double alpha):
        self.eta, self.alpha = eta or 0, alpha

    @property
    def shares(self):
        """w: the state, because each w is computed from the one before."""
        return np.array(self.w)

    @shares.setter
    def shares(self, shares):
        if len(shares) and not (np.min(shares) >= 0 and abs(np.sum(shares) - 1) < 1e-6):
            raise ModelError("the weights of the experts must be at least 0 and sum to 1")
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
    """Hedge for a best expert that changes with time: each round gives every expert a fixed share of the weight.

    v = w exp(-eta l) / Z is the step of Hedge, and w = (1 - alpha) v + alpha / N. An expert that was bad for a long
    time regains its weight after a few good rounds. The loss of the mixture exceeds the loss of the best single expert
    by at most (ln N + (T - 1) ln(1 / (1 - alpha))) / eta + eta T / 8, which is `bound_`. For the best sequence of
    experts with k changes, the bound is larger by k ln(N (1 - alpha) / alpha) / eta. Experts, attributes and methods
    are as for `Hedge`.

    Parameters
    ----------
    experts : as for `Hedge`.
    eta : rate, above 0. None means sqrt(8 (h(alpha) + alpha ln N)), h(alpha) = -alpha ln alpha
        - (1 - alpha) ln(1 - alpha), the best rate if the best expert changes in a fraction alpha of the rounds.
    alpha : the fraction of the weight that all experts share, above 0 and below 1. A good value is the fraction of
        the rounds in which the best expert changes.

    >>> from seriatim import FixedShare, Hedge
    >>> losses = [[0.0, 1.0]] * 50 + [[1.0, 0.0]] * 50
    >>> [round(rule.partial_fit(losses).loss_, 1) for rule in (Hedge(), FixedShare(alpha=0.02))]
    [48.2, 7.0]

    Herbster and Warmuth, "Tracking the best expert", Machine Learning 32 (1998).
    """

    family = "experts"
    paper = "Herbster and Warmuth (1998)"
    fixed = (*Experts.fixed, "eta", "alpha")    # the bound depends on them
    eta = Number(None, above=0, optional=True)
    alpha = Number(0.01, above=0, below=1)

    def rule(self):
        return FixedShareLearner(self.eta, self.alpha)

    def build(self):
        return self._committee()
