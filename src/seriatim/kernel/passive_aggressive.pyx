"""Passive-aggressive learning with kernels."""

from seriatim.core.pa_step cimport pa_step
from seriatim.core.row cimport Row
from seriatim.kernel.machine cimport Machine

from seriatim.kernel.base import KernelClassifier
from seriatim.parameters import Choice, Number, powers

VARIANTS = ("hard", "I", "II")


cdef class KernelPALearner(Machine):
    """f += tau y k(x, .) with the smallest tau that gives x a margin of 1."""

    cdef double C
    cdef int variant

    def __init__(self, kernel, double C, str variant):
        Machine.__init__(self, **kernel)
        self.C = C
        self.variant = VARIANTS.index(variant)
        self.weighted = variant != "hard"

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef double tau = 0
        if margin < 1 and own > 1e-150:
            tau = pa_step(self.variant, self.weight * self.C, 1 - margin, own)
        if tau > 0:
            self.add(x, tau)


class KernelPA(KernelClassifier):
    """Passive-aggressive with a kernel: f += tau y k(x, .), the smallest step that gives x a margin of 1.

    With l = [1 - m]+, tau is l / k(x, x) ("hard"), min(C, l / k(x, x)) ("I"), or l / (k(x, x) + 1 / (2 C)) ("II").
    Multiclass: m = f_y(x) - f_s(x), where s is the wrong class with the highest score; f_y += tau k(x, .),
    f_s -= tau k(x, .), and k(x, x) counts twice. Each example with a loss becomes a support vector; `BudgetPA` bounds
    their number. A sample weight multiplies C; "hard" defines no weights.

    Parameters
    ----------
    C : aggressiveness, above 0; "hard" ignores it.
    variant : hard, I or II.
    kernel, sigma, degree, c : as for `KernelPerceptron`.

    >>> from seriatim import KernelPA, data, evaluate
    >>> run = evaluate.progressive(KernelPA(kernel="gaussian", sigma=20), *data.load("digits"))
    >>> run.mistakes
    52

    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online passive-aggressive algorithms", JMLR 7 (2006).
    """

    family = "kernel"
    paper = "Crammer et al. (2006)"
    loss = "hinge"
    C = Number(1.0, above=0, search=powers(-4, 6))
    variant = Choice("I", VARIANTS)

    def build(self):
        return KernelPALearner(self._kernel(), self.C, self.variant)
