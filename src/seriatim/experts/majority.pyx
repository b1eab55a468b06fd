"""Weighted majority: a vote of experts; each mistake multiplies the weight of an expert by beta."""

from libc.math cimport log

from seriatim.core.random cimport random_uniform
from seriatim.experts.mixture cimport Mixture

from seriatim.experts.base import Experts
from seriatim.parameters import Flag, Number


cdef class WeightedMajorityLearner(Mixture):
    """w_i proportional to beta^L_i. The expert of round t + 1 is drawn by the random number t + 1."""

    cdef double beta
    cdef unsigned long long seed

    def __init__(self, double beta, bint randomised, unsigned long long seed):
        self.beta, self.seed = beta, seed
        self.draws_one, self.votes = randomised, not randomised

    cdef void weigh(self) noexcept nogil:
        self.softmax(&self.total[0], log(self.beta))

    cdef Py_ssize_t drawn(self) noexcept nogil:
        cdef Py_ssize_t i, draws = self.t
        cdef double sum = 0, u = random_uniform(self.seed, &draws)
        for i in range(self.n):
            sum += self.w[i]
            if sum > u:
                return i
        return self.n - 1

    def bound(self):
        best = min(self.total)
        most = best * log(1 / self.beta) + log(<double> self.n)
        return most / (log(2 / (1 + self.beta)) if self.votes else 1 - self.beta) - best


class WeightedMajority(Experts):
    """A vote of experts. Each mistake multiplies the weight of an expert by beta.

    w_i *= beta where expert i is wrong, or beta^l for a loss l between 0 and 1. The prediction is the label with the
    largest weight. If the best of N experts makes m mistakes, the vote makes at most
    (m ln(1 / beta) + ln N) / ln(2 / (1 + beta)). With `randomised`, an expert drawn by weight predicts alone, and the
    expected number of mistakes is at most (m ln(1 / beta) + ln N) / (1 - beta): nearly half of it. `loss_` counts the
    mistakes of the vote, or the expected mistakes. With losses alone, the vote errs if at least half of the weight
    does. With numbers, the loss is that of their mean. `bound_` is the bound less m. Experts, attributes and methods
    are as for `Hedge`.

    Parameters
    ----------
    experts : as for `Hedge`.
    beta : the factor of a mistake, above 0 and below 1.
    randomised : draw one expert instead of taking the vote.
    seed : seed of the draws, an integer of at least 0.

    >>> from seriatim import WeightedMajority
    >>> model = WeightedMajority().learn_one(["rain", "sun", "rain"], "sun")
    >>> model.weights_.tolist(), model.predict_one(["rain", "sun", "rain"]), model.loss_
    ([0.25, 0.5, 0.25], 'rain', 1.0)

    Littlestone and Warmuth, "The weighted majority algorithm", Information and Computation 108 (1994).
    """

    family = "experts"
    paper = "Littlestone and Warmuth (1994)"
    fixed = (*Experts.fixed, "beta", "randomised")    # the bound depends on them
    beta = Number(0.5, above=0, below=1)
    randomised = Flag(False)
    seed = Number(0, least=0, integer=True)

    def rule(self):
        return WeightedMajorityLearner(self.beta, self.randomised, int(self.seed) % 2**64)

    def build(self):
        return self._committee()
