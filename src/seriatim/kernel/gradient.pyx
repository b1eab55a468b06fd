"""Online gradient descent with kernels."""

from libc.math cimport fmax

from seriatim.core.loss cimport Gradient, rate
from seriatim.core.row cimport Row
from seriatim.kernel.machine cimport Machine

from seriatim.core.loss import LOSSES, SCHEDULES
from seriatim.kernel.base import KernelClassifier
from seriatim.parameters import Choice, Number, powers


cdef class KernelOGDLearner(Machine):
    """f <- (1 - eta_t lambda) f - eta_t grad."""

    cdef Gradient gradient
    cdef double lam

    def __init__(self, kernel, Gradient gradient, double lam):
        Machine.__init__(self, **kernel)
        self.gradient, self.lam = gradient, lam
        self.weighted = True

    cdef void begin_round(self) noexcept nogil:
        if self.lam > 0:
            self.shrink(fmax(0, 1 - rate(self.gradient.schedule, self.gradient.eta, self.t) * self.lam))

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef double tau = self.gradient.step(1 - margin, self.t, self.weight)
        if tau != 0:
            self.add(x, tau)


class KernelOGD(KernelClassifier):
    """Online gradient descent with a kernel: f <- (1 - eta_t lambda) f - eta_t l'(m) y k(x, .).

    The losses and the schedule are those of `OGD`. m is the margin before the update: y f(x), or f_y(x) - f_s(x) if
    multiclass, where s is the wrong class with the highest score. Each example with a non-zero gradient becomes a
    support vector; `BOGD` bounds their number. A sample weight multiplies the loss.

    Parameters
    ----------
    loss : hinge, squared_hinge, logistic, squared, absolute or epsilon_insensitive.
    eta : step size, above 0.
    lam : lambda of the penalty lambda/2 |f|^2, at least 0; f becomes 0 if eta_t lambda is 1 or more.
    schedule : constant, sqrt (eta / sqrt(t)) or inverse (eta / t).
    epsilon : the absolute error without loss in the epsilon-insensitive loss, at least 0.
    kernel, sigma, degree, c : as for `KernelPerceptron`.

    >>> from seriatim import KernelOGD, data, evaluate
    >>> run = evaluate.progressive(KernelOGD(kernel="gaussian", sigma=20), *data.load("digits"))
    >>> run.mistakes
    79

    Kivinen, Smola and Williamson, "Online learning with kernels", IEEE Transactions on Signal Processing 52 (2004).
    """

    family = "kernel"
    paper = "Kivinen et al. (2004)"
    loss = Choice("hinge", LOSSES[:6])
    eta = Number(0.2, above=0, search=powers(-8, 4))
    lam = Number(0.0, least=0)
    schedule = Choice("constant", SCHEDULES)
    epsilon = Number(0.1, least=0)

    def build(self):
        return KernelOGDLearner(self._kernel(), Gradient(self.loss, self.eta, self.schedule, self.epsilon), self.lam)
