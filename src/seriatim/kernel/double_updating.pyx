"""Double updating: an update of a new support vector and of the old one that it contradicts most."""

from libc.math cimport fmax, fmin
from libc.stdlib cimport free

from seriatim.core.memory cimport resize
from seriatim.core.row cimport Row
from seriatim.kernel.machine cimport Machine
from seriatim.kernel.support cimport add_multiple

from seriatim.core.recolumn import SparseRows
from seriatim.errors import ModelError
from seriatim.kernel.base import KernelClassifier
from seriatim.parameters import Choice, Number, powers

VARIANTS = ("I", "II")

# An update within the bounds makes a margin equal to its target up to rounding. Rounding must not change decisions.
cdef double NOTHING = 1e-9

cdef enum Field:                 # the columns of alpha
    ALPHA
    F                            # f(x_i), up to date
    LABEL                        # y_i times its sample weight

cdef struct Pair:
    double a, b                  # the new coefficient, and the change of the old coefficient


cdef inline double value(double la, double lb, double ka, double kb, double w, Pair at) noexcept nogil:
    return la * at.a + lb * at.b - ka * at.a * at.a / 2 - kb * at.b * at.b / 2 - w * at.a * at.b


cdef inline Pair solve(double la, double lb, double ka, double kb, double w, double C, double low,
                       double high) noexcept nogil:
    """Maximise `value` over 0 <= a <= C, low <= b <= high.

    There are four cases. The edges are for rounding, and for bounds that have changed with the sample weights.
    """
    cdef Pair at, edge
    cdef double rest, best
    cdef int i
    if ka * C + w * high - la < 0 and kb * high + w * C - lb < 0:           # both are at their bounds
        at.a, at.b = C, high
        return at
    at.a, at.b = C, (lb - w * C) / kb                                      # only a is
    if la - ka * C - w * at.b > 0 and low <= at.b <= high:
        return at
    at.a, at.b = (la - w * high) / ka, high                                # only b is
    if 0 <= at.a <= C and lb - kb * high - w * at.a > 0:
        return at
    rest = ka - w / kb * w                                                 # neither is
    at.a = (la - w / kb * lb) / rest
    at.b = (lb - w * at.a) / kb
    if rest > 0 and 0 <= at.a <= C and low <= at.b <= high:
        return at
    best = 0
    for i in range(4):
        if i < 2:
            edge.a = 0 if i == 0 else C
            edge.b = fmin(fmax((lb - w * edge.a) / kb, low), high)
        else:
            edge.b = low if i == 2 else high
            edge.a = fmin(fmax((la - w * edge.b) / ka, 0), C)
        if i == 0 or value(la, lb, ka, kb, w, edge) > best:
            at, best = edge, value(la, lb, ka, kb, w, edge)
    return at


def two_variables(double la, double lb, double ka, double kb, double wab, double Ca, double low_b, double high_b):
    """The (g, D) that maximises la g + lb D - ka g^2 / 2 - kb D^2 / 2 - wab g D, 0 <= g <= Ca, low_b <= D <= high_b.

    >>> two_variables(1.0, 0.5, 1.0, 1.0, -0.5, 5.0, 0.0, 5.0)
    (1.6666666666666667, 1.3333333333333335)
    """
    cdef Pair at = solve(la, lb, ka, kb, wab, Ca, low_b, high_b)
    return at.a, at.b


cdef class DUOLLearner(Machine):
    """f += g y k(x, .) + D y_b k(x_b, .), where b is the support vector that x contradicts most.

    `cost` multiplies the required margin of a positive example (variant I) or the bound of its coefficient (II).
    """

    cdef double C, rho, cost
    cdef bint in_margin
    cdef double* others          # the kernels of support vector b with all support vectors
    cdef Py_ssize_t others_room

    def __init__(self, kernel, double C, double rho, double cost=1, str variant="I"):
        Machine.__init__(self, **kernel, fields=3)
        self.C, self.rho, self.cost, self.in_margin = C, rho, cost, variant == "I"
        self.weighted = True

    def __dealloc__(self):
        free(self.others)

    cdef double wanted(self, double y) noexcept nogil:
        """The required margin of a label."""
        return self.cost if self.in_margin and y > 0 else 1

    cdef double bound(self, double y) noexcept nogil:
        """The largest coefficient, for a label times a sample weight."""
        return self.C * (y * (1 if self.in_margin else self.cost) if y > 0 else -y)

    cdef double loss(self, Py_ssize_t s) noexcept nogil:
        """The required margin minus the margin of a support vector."""
        cdef double label = self.alpha[LABEL * self.slots + s], f = self.alpha[F * self.slots + s]
        return self.wanted(label) - (f if label > 0 else -f)

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef double y = self.sign, la = self.wanted(y) - margin, C = self.bound(y * self.weight), least = 0, w
        cdef double* f = self.alpha + F * self.slots
        cdef double* label = self.alpha + LABEL * self.slots
        cdef Py_ssize_t s, slot, b = -1
        cdef Pair step
        if la <= NOTHING or C <= 0:
            return
        for s in range(self.support.n):
            if self.loss(s) >= -NOTHING:
                w = self.k[s] * (y if label[s] > 0 else -y)
                if b < 0 or w < least:
                    b, least = s, w
        for s in range(b + 1, self.support.n):    # among ties up to rounding, the last one
            w = self.k[s] * (y if label[s] > 0 else -y)
            if w <= least + NOTHING and self.loss(s) >= -NOTHING:
                b = s
        if b >= 0 and least <= -self.rho:
            step = self.pair(b, la, own, self.k[b] * (y if label[b] > 0 else -y), C)
        else:
            step.a, step.b, b = fmin(C, la / own), 0, -1
        if self.support.broken or self.failed:
            return
        slot = self.add(x, step.a)
        if slot < 0:
            return
        f, label = self.alpha + F * self.slots, self.alpha + LABEL * self.slots    # `add` may have moved the arrays
        f[slot], label[slot] = y * margin, y * self.weight
        self.k[slot] = own
        add_multiple(slot + 1, y * step.a, self.k, f)
        if b >= 0:
            self.others[slot] = self.k[b]
            step.b *= 1 if label[b] > 0 else -1
            self.alpha[b] += step.b
            add_multiple(slot + 1, step.b, self.others, f)

    cdef Pair pair(self, Py_ssize_t b, double la, double own, double w, double C) noexcept nogil:
        """The updates of x and of support vector b. Computes the kernels of b into `others`."""
        cdef double label = self.alpha[LABEL * self.slots + b]
        cdef double y = 1 if label > 0 else -1
        cdef double now = y * self.alpha[b]
        cdef Row z = self.support.row(b)
        if self.others_room <= self.support.n:
            if resize(<void**> &self.others, 2 * self.slots, sizeof(double)) < 0:
                self.failed = True
            else:
                self.others_room = 2 * self.slots
        if not self.failed:
            self.support.against(b, self.others, self.slots)
        return solve(la, fmax(0, self.loss(b)), own, self.support.itself(&z, 0), w, C, -now,
                     fmax(0, self.bound(label) - now))

    def restore(self, state):
        Machine.restore(self, state)
        if (state["alpha"][:, LABEL] == 0).any():
            raise ModelError("a support vector has the label 0; labels must be positive or negative")


class DUOL(KernelClassifier):
    """Double updating: an example with a loss also updates the support vector that it contradicts most.

    Let F_i = y_i f(x_i), which is stored for all support vectors, and l = [1 - y f(x)]+. If l > 0, let b be the support
    vector with the smallest w = y_b y k(x_b, x) among those with F_b <= 1 (the last one on a tie).

    - If w <= -rho, both coefficients change: f += g y k(x, .) + D y_b k(x_b, .). (g, D) maximises
      l g + (1 - F_b) D - k(x, x) g^2 / 2 - k(x_b, x_b) D^2 / 2 - w g D with 0 <= g <= C and 0 <= gamma_b + D <= C,
      where gamma_b = y_b alpha_b. The solution has a closed form with four cases.
    - Otherwise f += min(C, l / k(x, x)) y k(x, .), as `KernelPA` does.

    Differences of up to 1e-9 count as 0, because an update makes a margin equal to 1 only up to rounding.

    Binary only. Each example with a loss becomes a support vector. A round with a loss costs two evaluations of all
    support vectors, another round one. A sample weight multiplies C.

    Parameters
    ----------
    C : the largest coefficient, above 0; the paper uses 5 and 10.
    rho : the smallest contradiction -w for a double update, from 0 on.
    kernel, sigma, degree, c : as for `KernelPerceptron`.

    >>> from seriatim import DUOL, data, evaluate
    >>> run = evaluate.progressive(DUOL(sigma=0.3, features={"normalize": "max"}), *data.load("spam"))
    >>> run.mistakes, run.model.n_support_
    (484, 1861)

    Zhao, Hoi and Jin, "Double updating online learning", JMLR 12 (2011).
    """

    family = "kernel"
    paper = "Zhao et al. (2011)"
    loss = "hinge"
    binary = True
    C = Number(5.0, above=0, search=powers(-4, 6))
    rho = Number(0.0, least=0)

    def build(self):
        return DUOLLearner(self._kernel(), self.C, self.rho)


cdef class CSDUOLLearner(DUOLLearner):
    """Double updating with different costs of the positive and the negative class.

    With a single label so far, the class of this label is unknown. Until the second label there are two machines, one
    for each case. So the result does not depend on the names of the labels.
    """

    NUMBERS = (*DUOLLearner.NUMBERS, "turned_updates")
    ROWS = ("row_start", "row_index", "row_value", "alpha")

    cdef DUOLLearner turned      # the machine for the case that the only label so far is the other class
    cdef bint told               # whether the classes are known; `turned` is then empty
    cdef object make

    def __init__(self, *arguments):
        DUOLLearner.__init__(self, *arguments)
        self.make = lambda: DUOLLearner(*arguments)
        self.turned = self.make()

    @property
    def turned_updates(self):
        return self.turned.updates

    @turned_updates.setter
    def turned_updates(self, updates):
        self.turned.updates = updates

    cdef int grow(self, Py_ssize_t rows) except -1:
        DUOLLearner.grow(self, rows)
        return 0 if self.told else self.turned.grow(rows)

    def use_width(self, double width):
        DUOLLearner.use_width(self, width)
        self.turned.use_width(width)

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = DUOLLearner.learn(self, x, y)
        if not self.told and not self.failed:
            self.turned.t, self.turned.weight = self.t - 1, self.weight
            self.turned.round(x, -y, NULL)
            self.failed, self.halted = self.turned.failed, self.turned.halted
        return f

    def check_memory(self):
        try:
            self.turned.check_memory()
        except BaseException:
            self.torn = self.turned.torn or self.support.broken
            self.support.mended()
            self.failed = self.halted = False
            raise
        DUOLLearner.check_memory(self)

    def introduce(self, told):
        """Drop the second machine once the classes are known."""
        if told and not self.told:
            self.told, self.turned = True, self.make()

    def reclass(self, source, factor):
        """The only label so far is the other class: swap the two machines."""
        self.support, self.turned.support = self.turned.support, self.support
        self.k, self.turned.k = self.turned.k, self.k
        self.alpha, self.turned.alpha = self.turned.alpha, self.alpha
        self.slots, self.turned.slots = self.turned.slots, self.slots
        self.updates, self.turned.updates = self.turned.updates, self.updates

    def column_arrays(self):
        return {**DUOLLearner.column_arrays(self), "turned_row_": SparseRows()}

    def state(self):
        turned = self.turned.state()
        return {**DUOLLearner.state(self), **{f"turned_{name}": turned[name] for name in self.ROWS}}

    def restore(self, state):
        turned = {name: state[f"turned_{name}"] for name in self.ROWS}
        if self.told and (len(turned["alpha"]) or state["turned_updates"]):
            raise ModelError("the model has a machine for a single label, but it has two labels")
        DUOLLearner.restore(self, state)
        self.turned.restore({**state, **turned, "updates": state["turned_updates"]})


class CSDUOL(KernelClassifier):
    """Cost-sensitive double updating: `DUOL` with a cost for the positive class.

    Let c = cost for the positive class (the higher label) and c = 1 for the negative class. Variant "I" requires a
    margin of c: l = [c - y f(x)]+, and b must have F_b <= c_b. Variant "II" requires a margin of 1 and bounds a
    coefficient by c C. Everything else is as for `DUOL`. Which variant the paper calls I is not verified.

    Parameters
    ----------
    C : the largest coefficient, above 0; variant II multiplies it by the cost.
    rho : the smallest contradiction -w for a double update, from 0 on.
    cost : the cost of a mistake on the positive class, above 0; on the negative class the cost is 1.
    variant : I or II.
    kernel, sigma, degree, c : as for `KernelPerceptron`.

    >>> from seriatim import CSDUOL, data, evaluate
    >>> model = CSDUOL(C=1.0, sigma=0.5, cost=3.0, features={"normalize": "max"})
    >>> run = evaluate.progressive(model, *data.load("spam"), metrics=["sensitivity", "specificity"])
    >>> round(run.figures["sensitivity"], 3), round(run.figures["specificity"], 3)
    (0.902, 0.869)

    Zhao and Hoi, "Cost-sensitive double updating online learning and its application to online anomaly detection", SDM
    2013.
    """

    family = "kernel"
    paper = "Zhao and Hoi (2013)"
    loss = "hinge"
    binary = True
    C = Number(5.0, above=0, search=powers(-4, 6, 2))
    rho = Number(0.0, least=0)
    cost = Number(1.0, above=0, search=powers(-2, 6, 2))
    variant = Choice("I", VARIANTS)

    def build(self):
        return CSDUOLLearner(self._kernel(), self.C, self.rho, self.cost, self.variant)

    def _told(self, labels, codes):
        return len(labels) == 2
