"""Hedge: weights that fall exponentially with the losses. The rate is given, decreases, or adapts itself."""

from libc.math cimport INFINITY, exp, fmax, log, sqrt

from seriatim.experts.mixture cimport Mixture

from seriatim.experts.base import Experts
from seriatim.errors import ModelError
from seriatim.parameters import Number


cdef class HedgeLearner(Mixture):
    """w_i proportional to exp(-eta_t L_i)."""

    cdef double eta    # 0 means sqrt(8 ln N / t)

    def __init__(self, eta):
        self.eta = eta or 0

    cdef void weigh(self) noexcept nogil:
        self.softmax(&self.total[0], -(self.eta if self.eta > 0 else sqrt(8 * log(<double> self.n) / (self.t + 1))))

    def bound(self):
        if self.eta > 0:
            return log(<double> self.n) / self.eta + self.eta * self.t / 8
        return 2 * sqrt(self.t * log(<double> self.n) / 2) + sqrt(log(<double> self.n) / 8)


class Hedge(Experts):
    """Weights over experts that fall exponentially with their losses.

    w_i is proportional to exp(-eta L_i), where L_i is the sum of the losses of expert i, each from 0 to 1. The loss of
    the mixture is w.l, the expected loss of following expert i with probability w_i. After T rounds with N experts, it
    exceeds the loss of the best expert by at most ln N / eta + eta T / 8. With `eta=None` the rate of round t is
    sqrt(8 ln N / t), and the bound is 2 sqrt(T ln N / 2) + sqrt(ln N / 8) for every T.

    There are three kinds of experts:

    - Losses. Call `learn_one(losses)`, or `partial_fit` with one row for each round.
    - Advice. Call `predict_one(advice)`, then `learn_one(advice, outcome)`; or `partial_fit(advice, outcomes)`. If any
      of the values is a float, all are numbers: the prediction is the weighted mean, and the loss is |a - o|. Otherwise
      they are labels: the prediction is the label with the largest weight, on a tie the lowest, and the loss is 0 or 1.
    - Models. `Hedge([AROW(), PA(), OGD()])` is itself a classifier, or a regressor, of rows and dicts. Each model
      starts untrained and learns every example. The prediction is that of advice. The loss of a classifier is 1 for a
      mistake. The loss of a regressor is a fraction of the largest loss of the round. The bound holds for the mixture.
      The vote of classifiers errs at most twice as often, because half of the weight must err with it. A sample weight
      g multiplies the losses by g; the bound does not cover this.

    `weights_` are the weights of the next round. `loss_` is the loss of the mixture, `losses_` are the losses of the
    experts, and `best_` is the index of the best expert. `regret_` is `loss_` less the loss of the best expert, and
    `bound_` is the bound on it. `experts_` are the models as they are now. A round costs O(N) and the updates of the
    models.

    Parameters
    ----------
    experts : a list of classifiers or of regressors, or None for losses and advice. On the command line
        `experts=arow,pa:C=0.1`.
    eta : rate, above 0, or None for the decreasing rate.

    >>> from seriatim import AROW, OGD, PA, Hedge, data, evaluate
    >>> run = evaluate.progressive(Hedge([AROW(), PA(), OGD()]), *data.load("digits"))
    >>> run.mistakes, run.model.losses_.tolist()
    (201, [204.0, 200.0, 247.0])
    >>> round(run.model.regret_, 1), round(run.model.bound_, 1)
    (8.8, 63.2)
    >>> Hedge(eta=1.0).learn_one([0.0, 1.0, 0.5]).weights_.round(3).tolist()
    [0.506, 0.186, 0.307]

    Freund and Schapire, "A decision-theoretic generalization of on-line learning and an application to boosting", JCSS
    55 (1997); Cesa-Bianchi and Lugosi, "Prediction, learning, and games" (2006), theorems 2.2 and 2.3.
    """

    family = "experts"
    paper = "Freund and Schapire (1997)"
    fixed = (*Experts.fixed, "eta")    # the bound depends on eta
    eta = Number(None, above=0, optional=True)

    def rule(self):
        return HedgeLearner(self.eta)

    def build(self):
        return self._committee()


cdef class AdaHedgeLearner(Mixture):
    """w_i proportional to exp(-eta L_i) with eta = ln N / Delta, where Delta is the sum of the mixability gaps."""

    cdef public double gaps    # Delta

    NUMBERS = (*Mixture.NUMBERS, "gaps")

    cdef double rate(self) noexcept nogil:
        return log(<double> self.n) / self.gaps if self.gaps > 0 else INFINITY

    cdef void weigh(self) noexcept nogil:
        cdef Py_ssize_t i
        cdef double least = self.total[0], leaders = 0
        if self.gaps > 0:
            self.softmax(&self.total[0], -self.rate())
            return
        for i in range(1, self.n):    # eta is infinite: the experts with the least loss share the weight
            least = min(least, self.total[i])
        for i in range(self.n):
            self.w[i] = self.total[i] == least
            leaders += self.w[i]
        for i in range(self.n):
            self.w[i] /= leaders

    cdef void note(self, const double* losses, double mean) noexcept nogil:
        """delta = w.l - m, m = -(1/eta) ln sum_i w_i exp(-eta l_i); for infinite eta, m = the least l with weight."""
        cdef Py_ssize_t i
        cdef double least = INFINITY, total = 0, eta = self.rate()
        for i in range(self.n):
            if self.w[i] > 0:
                least = min(least, losses[i])
        if self.gaps > 0:
            for i in range(self.n):
                total += self.w[i] * exp(-eta * fmax(0, losses[i] - least))
            least -= log(total) / eta
        self.gaps += fmax(0, mean - least)

    def bound(self):
        n = <double> self.n
        return sqrt(self.t * log(n)) + 4 * log(n) / 3 + 2

    def restore(self, state, Py_ssize_t t):
        if state["gaps"] < 0:
            raise ModelError(f"the sum of mixability gaps is {state['gaps']}; it must be at least 0")
        Mixture.restore(self, state, t)


class AdaHedge(Experts):
    """Hedge with an adaptive rate: high while one expert is clearly the best, low while experts are alike.

    w_i is proportional to exp(-eta_t L_i) with eta_t = ln N / Delta_{t-1}. Delta is the sum of the mixability gaps
    w.l - m, m = -(1/eta_t) ln sum_i w_i exp(-eta_t l_i). While Delta is 0, the experts with the least loss share the
    weight. The regret is at most sqrt(T ln N) + 4/3 ln N + 2, and on most data far less. Experts, attributes and
    methods are as for `Hedge`.

    Parameters
    ----------
    experts : as for `Hedge`.

    >>> from seriatim import AdaHedge
    >>> model = AdaHedge().partial_fit([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> round(model.loss_, 2), round(model.regret_, 2), model.weights_.round(2).tolist()
    (1.87, 0.87, [0.87, 0.13])

    de Rooij, van Erven, Gruenwald and Koolen, "Follow the leader if you can, hedge if you must", JMLR 15 (2014).
    """

    family = "experts"
    paper = "de Rooij et al. (2014)"

    def rule(self):
        return AdaHedgeLearner()

    def build(self):
        return self._committee()
