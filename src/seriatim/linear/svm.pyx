"""The soft-margin support vector machine, learned online."""

from libc.float cimport DBL_MIN
from libc.math cimport fmax

from seriatim.core.learner cimport MarginLearner

from seriatim.estimator import Classifier
from seriatim.parameters import Choice, Flag, Number, decades


cdef class SoftSVMLearner(MarginLearner):
    """theta += y x where the margin is below 1; w = theta / (lambda t)."""

    cdef double lam
    cdef Py_ssize_t lead    # w_t = theta_t / (lambda (t - 1 + lead))

    def __init__(self, double lam, bint average, Py_ssize_t lead):
        MarginLearner.__init__(self, average)
        self.lam, self.lead = lam, lead
        self.scale = 1 / lam
        self.weighted = True

    cdef double step(self, double margin, double norm2) noexcept nogil:
        return self.weight * self.scale if margin < 1 else 0

    cdef void end_round(self) noexcept nogil:
        self.scale = fmax(1 / (self.lam * (self.t + self.lead)), DBL_MIN)


class SoftSVM(Classifier):
    """The support vector machine by online subgradient steps on lambda/2 |w|^2 + the hinge loss.

    Where the margin y w_t.x is below 1, theta += y x. The next weights are w_{t+1} = theta / (lambda (t + 1))
    ("mirror", mirror descent) or theta / (lambda t) ("pegasos", without its optional projection). The model predicts
    with the average of w_1..w_T, or with the last w. With several classes the margin is that over the strongest wrong
    class. A sample weight g multiplies the hinge loss: theta += g y x.

    Parameters
    ----------
    lam : lambda, above 0; larger values give smaller weights.
    average : predict with the average of w_1..w_T.
    variant : mirror or pegasos.

    >>> from seriatim import SoftSVM, data, evaluate
    >>> run = evaluate.progressive(SoftSVM(lam=0.01), *data.load("digits"))
    >>> run.mistakes
    371

    Shalev-Shwartz, Singer and Srebro, "Pegasos: primal estimated sub-gradient solver for SVM", ICML 2007;
    Shalev-Shwartz and Ben-David, "Understanding machine learning" (2014), section 15.5.
    """

    family = "linear"
    paper = "Shalev-Shwartz et al. (2007)"
    loss = "hinge"
    lam = Number(1e-4, above=0, search=decades(-5, 1))
    average = Flag(True)
    variant = Choice("mirror", ("mirror", "pegasos"))

    def build(self):
        return SoftSVMLearner(self.lam, self.average, 1 if self.variant == "mirror" else 0)
