"""Cost-sensitive learning: some mistakes cost more than others."""

import numpy as np

from seriatim.core.asymmetric cimport AsymmetricLearner
from seriatim.core.learner cimport MarginLearner
from seriatim.core.pa_step cimport pa_step
from seriatim.core.row cimport Row, add

from seriatim.errors import ModelError, ParameterError
from seriatim.estimator import Classifier
from seriatim.parameters import Choice, Costs, Flag, Number, powers

STEPS = ("hard", "I", "II")


cdef class CSPALearner(MarginLearner):
    """Passive-aggressive steps towards a margin of sqrt(rho(y, s)) over the rival s."""

    cdef double C
    cdef int variant
    cdef bint max_loss
    cdef double[:, ::1] margins   # required margin of one class over another, sqrt(rho)
    cdef double wanted            # required margin of this round

    def __init__(self, double C, str step, bint max_loss, bint average):
        MarginLearner.__init__(self, average)
        self.C, self.variant, self.max_loss = C, STEPS.index(step), max_loss
        self.weighted = step != "hard"
        self.margins = np.ones((2, 2))

    def introduce(self, told):
        """Take the required margins between the classes; binary models have two."""
        self.margins = told

    cdef Py_ssize_t rival(self, Py_ssize_t y, const double* scores) noexcept nogil:
        """The predicted wrong class, or the one with the largest loss."""
        cdef Py_ssize_t k, best = -1
        cdef double loss, largest = 0
        for k in range(self.classes):
            if k != y and self.seen[k]:
                loss = scores[k] + (self.margins[y, k] if self.max_loss else 0)
                if best < 0 or loss > largest:
                    best, largest = k, loss
        if best >= 0:
            self.wanted = self.margins[y, best]
        return best

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        self.wanted = self.margins[1, 0] if y > 0 else self.margins[0, 1]
        return MarginLearner.learn(self, x, y)

    cdef double step(self, double margin, double norm2) noexcept nogil:
        if margin >= self.wanted or (margin > 0 and not self.max_loss):
            return 0
        return pa_step(self.variant, self.weight * self.C, self.wanted - margin, norm2)


class CSPA(Classifier):
    """Cost-sensitive passive-aggressive: the more a confusion costs, the larger the margin against it.

    rho(y, r) is the cost of predicting r where y is true. "prediction" learns from mistakes: s is the predicted label
    and l = sqrt(rho(y, s)) - (w_y.x - w_s.x). "max_loss" learns in every round: s maximises w_s.x + sqrt(rho(y, s)),
    and l = [sqrt(rho(y, s)) - (w_y.x - w_s.x)]+. Then w_y += tau x and w_s -= tau x, with the tau of `PA`:
    l / (2 |x|^2) ("hard"), min(C, l / (2 |x|^2)) ("I") or l / (2 |x|^2 + 1/(2C)) ("II"). Binary: w += tau y x, and
    |x|^2 replaces 2 |x|^2.

    Parameters
    ----------
    rho : costs. A dict {(true, predicted): cost}, where other pairs cost 1; or a square matrix with a row for each true
        label of `classes` and a column for each predicted one, ascending; or None: each costs 1. On the command line
        `spam:ham=5,ham:spam=1`.
    C : aggressiveness, above 0; not used by the hard step. With a sample weight g, g C replaces C.
    variant : prediction or max_loss.
    step : hard, I or II.
    average : predict with the average of w_1..w_T.

    >>> from seriatim import CSPA, data, evaluate
    >>> run = evaluate.progressive(CSPA(rho={(3, 8): 4.0}), *data.load("digits"))
    >>> run.mistakes
    316

    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR 7 (2006), section 8.
    """

    family = "imbalance"
    paper = "Crammer et al. (2006)"
    loss = "hinge"
    rho = Costs(None)
    C = Number(1.0, above=0, search=powers(-4, 4))
    variant = Choice("prediction", ("prediction", "max_loss"))
    step = Choice("I", STEPS)
    average = Flag(False)

    def build(self):
        costs = self.parameters["rho"].of(self.rho)
        if isinstance(costs, np.ndarray) and (self.classes is None or len(set(self.classes)) != len(costs)):
            raise ParameterError(f"CSPA: rho is a matrix of {len(costs)} labels, so classes= must list these labels")
        return CSPALearner(self.C, self.step, self.variant == "max_loss", self.average)

    def _expect_label(self, label):
        costs = self.parameters["rho"].of(self.rho)
        if isinstance(costs, np.ndarray) and label not in self._labels:
            raise ParameterError(f"CSPA: rho is a matrix of {len(costs)} labels, and {label!r} is not one of them")
        super()._expect_label(label)

    def _told(self, labels, codes):
        costs = self.parameters["rho"].of(self.rho)
        if labels == self._labels:
            return None
        margins = np.ones((max(len(labels), 2),) * 2)
        if isinstance(costs, np.ndarray):
            margins = np.sqrt(costs)
        else:
            for (true, other), cost in costs.items():
                if true in labels and other in labels:
                    margins[labels.index(true), labels.index(other)] = cost**0.5
        return np.ascontiguousarray(margins, dtype=np.float64)


cdef class CSOGDLearner(AsymmetricLearner):
    """w += eta y x below a margin of rho_t, or eta rho_t y x below 1; rho_t is 1 for the negative class."""

    cdef double eta, ratio, rho
    cdef bint first, sum
    cdef public Py_ssize_t positives, negatives    # rows before this one

    NUMBERS = (*AsymmetricLearner.NUMBERS, "positives", "negatives")

    def __init__(self, double eta, str variant, str objective, double positive):
        AsymmetricLearner.__init__(self)
        self.eta, self.first, self.sum, self.ratio = eta, variant == "I", objective == "sum", positive / (1 - positive)
        self.weighted = True

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f
        self.rho = self.ratio
        if self.sum and y > 0:
            self.rho *= <double> (self.negatives + 1) / (self.positives + 1)
        elif self.sum:    # if this label turns out to be the positive class
            self.rho *= <double> (self.positives + 1) / (self.negatives + 1)
        f = AsymmetricLearner.learn(self, x, y)
        if y > 0:
            self.positives += 1
        else:
            self.negatives += 1
        return f

    cdef bint step(self, const Row* x, double y, double f, double* w) noexcept nogil:
        cdef double rho = self.rho if y > 0 else 1
        if self.weight == 0 or y * f >= (rho if self.first else 1):
            return False
        add(x, self.weight * self.eta * (1 if self.first else rho) * y, w, 1)
        return True

    def reclass(self, source, factor):
        AsymmetricLearner.reclass(self, source, factor)
        self.positives, self.negatives = self.negatives, self.positives

    def restore(self, state):
        AsymmetricLearner.restore(self, state)
        if self.positives + self.negatives != self.t:
            raise ModelError(f"{self.positives} and {self.negatives} rows in {self.t} rounds")


class CSOGD(Classifier):
    """Cost-sensitive online gradient descent: steps of a hinge loss in which the positive class counts rho times.

    rho_t is rho for the positive class, the higher label, and 1 for the negative class. "I": where y w.x < rho_t,
    w += eta y x. "II": where y w.x < 1, w += eta rho_t y x.

    The objective "sum" is eta_p sensitivity + eta_n specificity, with rho = eta_p T_n / (eta_n T_p), where T_p and T_n
    count the rows of each class. A stream does not know them beforehand, so the model uses (T_n + 1) / (T_p + 1) over
    the rows before this one, without their weights. The objective "cost" is c_p M_p + c_n M_n of the mistakes M, with
    rho = c_p / c_n. A sample weight multiplies the loss, and so the step.

    Parameters
    ----------
    eta : step size, above 0.
    variant : I or II.
    objective : sum or cost.
    positive : weight of the positive class, eta_p or c_p, above 0 and below 1. The negative class has 1 - positive.

    >>> from seriatim import CSOGD, data, evaluate
    >>> model = CSOGD(positive=0.8, objective="cost", features={"normalize": "max"})
    >>> run = evaluate.progressive(model, *data.load("spam"), metrics=["sensitivity", "specificity"])
    >>> round(run.figures["sensitivity"], 3), round(run.figures["specificity"], 3)
    (0.883, 0.811)

    Wang, Zhao and Hoi, "Cost-sensitive online classification", ICDM 2012.
    """

    family = "imbalance"
    paper = "Wang et al. (2012)"
    loss = "hinge"
    binary = True
    eta = Number(0.1, above=0, search=powers(-10, 2))
    variant = Choice("I", STEPS[1:])
    objective = Choice("sum", ("sum", "cost"))
    positive = Number(0.5, above=0, below=1)

    def build(self):
        return CSOGDLearner(self.eta, self.variant, self.objective, self.positive)

    def _told(self, labels, codes):
        return len(labels) == 2
