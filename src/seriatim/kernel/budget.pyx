"""Kernel machines of at most B support vectors, which give one up for each that they take in."""

from libc.math cimport fabs, fmax, fmin, log, pow, sqrt
from libc.stdlib cimport free

from seriatim.core.memory cimport resize
from seriatim.core.random cimport random_below, random_uniform
from seriatim.core.row cimport Row
from seriatim.kernel.machine cimport Machine
from seriatim.kernel.support cimport multiply, weighted_sum

from seriatim.errors import ModelError
from seriatim.kernel.base import BudgetClassifier
from seriatim.parameters import Choice, Number, powers

cdef extern from "vector.h":
    double chances(Py_ssize_t n, double factor, const double* size, const double* length, double* p) noexcept nogil
    void growth(Py_ssize_t n, double most, const double* size, double* p) noexcept nogil
    void multiply_each(Py_ssize_t n, const double* factor, double* x) noexcept nogil

cdef double MOST = 1e100    # no coefficient is larger, and so no sum of them times kernels of up to 1e200 overflows


cdef class BudgetMachine(Machine):
    """A machine that has room for B support vectors, and for a second row of kernels."""

    NUMBERS = (*Machine.NUMBERS, "draws")

    cdef Py_ssize_t budget
    cdef unsigned long long seed
    cdef public Py_ssize_t draws     # random numbers so far
    cdef double* other               # kernels of a support vector with all of them, or chances

    def __init__(self, kernel, Py_ssize_t budget, unsigned long long seed=0):
        Machine.__init__(self, **kernel, room=min(budget, 1 << 16))
        self.budget, self.seed = budget, seed

    def __dealloc__(self):
        free(self.other)

    cdef int make_room(self, Py_ssize_t n) noexcept nogil:
        if Machine.make_room(self, n) < 0 or resize(<void**> &self.other, self.slots, sizeof(double)) < 0:
            return -1
        return 0

    cdef bint full(self) noexcept nogil:
        return self.support.n >= self.budget

    cdef double size(self, Py_ssize_t slot) noexcept nogil:
        """The coefficient with which the example of a slot counts for its label, and against its rival."""
        cdef Py_ssize_t c
        cdef double largest = fabs(self.alpha[slot]) if self.classes == 1 else 0
        for c in range(self.classes if self.classes > 1 else 0):
            largest = fmax(largest, self.alpha[c * self.slots + slot])
        return self.scale * largest

    def restore(self, state):
        Machine.restore(self, state)
        if self.support.n > self.budget:
            raise ModelError(f"{self.support.n} support vectors on a budget of {self.budget}")


cdef class RBPLearner(BudgetMachine):
    """The perceptron; a random support vector goes."""

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        if margin > 0:
            return
        if self.full():
            self.replace(random_below(self.budget, self.seed, &self.draws), x, 1)
        else:
            self.add(x, 1)


class RBP(BudgetClassifier):
    """The randomised budget perceptron: on a mistake f += y k(x, .), and one of B support vectors at random goes.

    Before there are B, none goes. An example costs B kernels.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    budget : B, the most support vectors there can be, at least 1.
    seed : of the choice, a whole number from 0 on.

    >>> from seriatim import RBP, data, evaluate
    >>> run = evaluate.progressive(RBP("gaussian", 50, sigma=20), *data.load("digits"))
    >>> run.mistakes, run.model.n_support_
    (180, 50)

    Cavallanti, Cesa-Bianchi and Gentile, "Tracking the best hyperplane with a simple budget perceptron", Machine
    Learning 69 (2007).
    """

    family = "kernel"
    paper = "Cavallanti et al. (2007)"
    loss = "perceptron"
    seed = Number(0, least=0, integer=True)

    def build(self):
        return RBPLearner(self._kernel(), self.budget, int(self.seed) % 2**64)


FORGETRONS = ("self_tuned", "basic")


cdef class ForgetronLearner(BudgetMachine):
    """The perceptron; all is shrunk by phi, and the oldest support vector goes."""

    NUMBERS = (*BudgetMachine.NUMBERS, "oldest", "mistakes", "Q", "norm2")

    cdef bint basic
    cdef public Py_ssize_t oldest        # its slot
    cdef public Py_ssize_t mistakes      # M
    cdef public double Q                 # what was lost by removals so far, at most 15/32 M
    cdef public double norm2             # |f|^2, for the basic form

    def __init__(self, kernel, Py_ssize_t budget, str variant):
        BudgetMachine.__init__(self, kernel, budget)
        self.basic = variant == "basic"

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef double unit = 1 if self.classes == 1 else 0.5    # the theorem has examples of unit length
        cdef double size, mu, phi
        cdef Py_ssize_t slot = self.oldest
        if margin > 0:
            return
        self.mistakes += 1
        self.norm2 = fmax(0, self.norm2 + 2 * margin + own)    # |f + y k|^2, but for rounding
        if not self.full():
            self.add(x, 1)
            return
        size = self.size(slot)
        mu = self.margin_of(slot)
        if self.basic:
            phi = self.least(unit * self.norm2)
        else:
            phi = self.largest(size, unit * mu)
        self.norm2 = fmax(0, phi * phi * (self.norm2 - 2 * size * mu + size * size * self.own_of(slot)))
        self.shrink(phi)
        self.replace(slot, x, phi)
        self.oldest = (slot + 1) % self.budget

    cdef double margin_of(self, Py_ssize_t slot) noexcept nogil:
        """The margin of the example of a slot under f', which has that of this round as well."""
        cdef Py_ssize_t c
        cdef double coefficient, score, total = 0, size = 0
        self.support.against(slot, self.other, self.slots)
        for c in range(self.classes):
            coefficient = self.alpha[c * self.slots + slot]
            if coefficient != 0:
                score = self.scale * self.weigh(c, self.other)
                score += self.k[slot] * (self.sign if c == self.up else -1 if c == self.down else 0)
                total += coefficient * score
                size = fmax(size, fabs(coefficient))
        return total / size if size > 0 else 0

    cdef double own_of(self, Py_ssize_t slot) noexcept nogil:
        cdef Row x = self.support.row(slot)
        return self.support.itself(&x, 0) * (1 if self.classes == 1 else 2)

    cdef double largest(self, double s, double mu) noexcept nogil:
        """The largest phi up to 1 with Q + a phi^2 + b phi <= 15/32 M; and Q is what it then is."""
        cdef double a = s * s - 2 * s * mu, b = 2 * s, c = self.Q - 15.0 / 32 * self.mistakes
        cdef double d = b * b - 4 * a * c, phi = 1
        if a >= 0 or (d > 0 and (-b - sqrt(d)) / (2 * a) > 1):
            phi = fmin(1, -2 * c / (b + sqrt(fmax(d, 0)))) if b > 0 else 1
        # So says the theorem; where k(x, x) is huge, rounding might say otherwise, and the next phi be below 0.
        self.Q = fmax(fmin(self.Q + a * phi * phi + b * phi, 15.0 / 32 * self.mistakes), -1e300)
        return phi

    cdef double least(self, double norm2) noexcept nogil:
        cdef double n = self.budget + 1
        return fmin(pow(n, -1 / (2 * n)), 0.25 * sqrt(n / log(n)) / sqrt(norm2) if norm2 > 0 else 1)

    def reclass(self, source, factor):
        cdef bint shared_out = self.classes == 1 and len(source) > 1
        BudgetMachine.reclass(self, source, factor)
        if shared_out:
            self.norm2 /= 2

    def restore(self, state):
        BudgetMachine.restore(self, state)
        if not (0 <= self.oldest < self.budget and self.support.n <= self.mistakes <= self.t and self.norm2 >= 0
                and self.Q <= 15.0 / 32 * self.mistakes):
            raise ModelError("the counts are not those that a Forgetron can have")


class Forgetron(BudgetClassifier):
    """The Forgetron: on a mistake f += y k(x, .); then f is shrunk by phi and its oldest support vector goes.

    Before there are B, nothing is shrunk and none goes. "self_tuned": phi is the largest up to 1 for which what the
    removals have cost stays within 15/32 of the mistakes M: Q + psi <= 15/32 M, where psi = (s phi)^2 + 2 s phi -
    2 s phi^2 mu is added to Q; s is the coefficient of the oldest and mu its margin under the new f. "basic": phi is
    the least of (B+1)^(-1/(2(B+1))) and U / |f|, U = sqrt((B+1) / log(B+1)) / 4. Mistakes are at most 2 |g|^2 + 4 L for
    any function g of norm U or less, L being its hinge loss over the stream (basic), for kernels with k(x, x) <= 1,
    such as the gaussian and the cosine. With several classes an example counts with f_y and f_s, divided by sqrt(2). An
    example costs B kernels, a removal as many again.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    budget : B, the most support vectors there can be, at least 1.
    variant : self_tuned or basic.

    >>> from seriatim import Forgetron, data, evaluate
    >>> run = evaluate.progressive(Forgetron("gaussian", 50, sigma=20), *data.load("digits"))
    >>> run.mistakes, run.model.n_support_
    (217, 50)

    Dekel, Shalev-Shwartz and Singer, "The Forgetron: a kernel-based perceptron on a budget", SIAM Journal on Computing
    37 (2008).
    """

    family = "kernel"
    paper = "Dekel et al. (2008)"
    loss = "perceptron"
    variant = Choice("self_tuned", FORGETRONS)

    def build(self):
        return ForgetronLearner(self._kernel(), self.budget, self.variant)


SAMPLINGS = ("uniform", "weighted")


cdef class BOGDLearner(BudgetMachine):
    """Gradient descent; a support vector drawn by p goes, and the others make up for it."""

    cdef double eta, lam, gamma
    cdef bint by_weight
    cdef double* length              # sqrt(k(x, x)) of each support vector

    def __init__(self, kernel, Py_ssize_t budget, double eta, double lam, double gamma, str sampling,
                 unsigned long long seed):
        BudgetMachine.__init__(self, kernel, budget, seed)
        self.eta, self.lam, self.gamma, self.by_weight = eta, lam, gamma, sampling == "weighted"

    cdef void begin_round(self) noexcept nogil:
        if self.lam > 0:
            self.shrink(fmax(0, 1 - self.lam * self.eta))

    def __dealloc__(self):
        free(self.length)

    cdef int make_room(self, Py_ssize_t n) noexcept nogil:
        if BudgetMachine.make_room(self, n) < 0 or resize(<void**> &self.length, self.slots, sizeof(double)) < 0:
            return -1
        return 0

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef Py_ssize_t slot
        if margin >= 1:
            return
        if self.full():
            slot = self.leave_out()
            self.replace(slot, x, self.eta)
        else:
            slot = self.add(x, self.eta)
        if slot >= 0:
            self.length[slot] = sqrt(own if self.classes == 1 else own / 2)

    cdef Py_ssize_t leave_out(self) noexcept nogil:
        """The slot that goes; the coefficients of the others are then as large, on average, as with it."""
        cdef Py_ssize_t c, s, slot, n = self.support.n
        cdef double* p = self.other
        cdef double* size = self.k       # the kernels have done their work in this round
        cdef double most = self.gamma * self.eta
        self.all_sizes(size)
        if self.by_weight and self.weigh_chances(size, p):
            slot = self.chosen(p)
        else:
            slot = random_below(n, self.seed, &self.draws)
            for s in range(n):
                p[s] = 1.0 / n
        p[slot] = 0                      # so that no one is divided by 0: with p = 1 it is the one that goes
        growth(n, most, size, p)
        for c in range(self.classes):
            multiply_each(n, p, self.alpha + c * self.slots)
        return slot

    cdef void all_sizes(self, double* out) noexcept nogil:
        """The size of each coefficient."""
        cdef Py_ssize_t s
        if self.classes == 1:
            for s in range(self.support.n):
                out[s] = self.scale * fabs(self.alpha[s])
        else:
            for s in range(self.support.n):
                out[s] = self.size(s)

    cdef bint weigh_chances(self, const double* size, double* p) noexcept nogil:
        """p_i = 1 - (B - 1) a_i sqrt(k_ii) / sum, at least 0; False where all a_i are 0."""
        cdef Py_ssize_t n = self.support.n
        cdef double total = weighted_sum(n, size, self.length)
        if not total > 0:
            return False
        multiply(n, 1 / chances(n, (n - 1) / total, size, self.length, p), p)
        return True

    cdef Py_ssize_t chosen(self, const double* p) noexcept nogil:
        cdef Py_ssize_t s
        cdef double u = random_uniform(self.seed, &self.draws), total = 0
        for s in range(self.support.n):
            total += p[s]
            if total > u:
                return s
        return self.support.n - 1

    def restore(self, state):
        cdef Py_ssize_t s
        cdef Row z
        BudgetMachine.restore(self, state)
        for s in range(self.support.n):
            z = self.support.row(s)
            self.length[s] = sqrt(fmax(0, self.support.itself(&z, 0)))


class BOGD(BudgetClassifier):
    """Bounded online gradient descent: one support vector goes at random, and the others grow so that f stays the same
    on average.

    In every round f <- (1 - lambda eta) f; where the margin is below 1, f += eta y k(x, .). Where there are B support
    vectors, one goes with chance p_i, and the others become a_j / (1 - p_j), at most gamma eta. "uniform": p = 1/B.
    "weighted" (BOGD++): p_i = 1 - (B - 1) a_i sqrt(k(x_i, x_i)) / sum, those below 0 set to 0 and the others divided by
    their sum, so that what counts little goes. An example costs B kernels.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    budget : B, the most support vectors there can be, at least 1.
    eta : the step, above 0.
    lam : lambda of the penalty lambda/2 |f|^2, at least 0.
    gamma : no coefficient that grows passes gamma eta; above 0.
    sampling : uniform or weighted.
    seed : of the choice, a whole number from 0 on.

    >>> from seriatim import BOGD, data, evaluate
    >>> run = evaluate.progressive(BOGD("gaussian", 50, sigma=20, sampling="weighted"), *data.load("digits"))
    >>> run.mistakes, run.model.n_support_
    (370, 50)

    Zhao, Wang, Wu, Jin and Hoi, "Fast bounded online gradient descent algorithms for scalable kernel-based online
    learning", ICML 2012.
    """

    family = "kernel"
    paper = "Zhao et al. (2012)"
    loss = "hinge"
    eta = Number(0.2, above=0, search=powers(-3, 3))
    lam = Number(0.01, least=0)
    gamma = Number(10.0, above=0, search=powers(0, 4))
    sampling = Choice("uniform", SAMPLINGS)
    seed = Number(0, least=0, integer=True)

    def build(self):
        return BOGDLearner(
            self._kernel(), self.budget, self.eta, self.lam, self.gamma, self.sampling, int(self.seed) % 2**64
        )


cdef class BudgetPALearner(BudgetMachine):
    """The passive-aggressive step; what goes is what the new example can best stand for."""

    cdef double C

    def __init__(self, kernel, Py_ssize_t budget, double C):
        BudgetMachine.__init__(self, kernel, budget)
        self.C = C
        self.weighted = True

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef double tau = 0, a, lost, least = 0
        cdef Py_ssize_t s, slot = -1
        cdef Row z
        if margin < 1 and own > 1e-150:
            tau = fmin(self.weight * self.C, (1 - margin) / own)
        if tau <= 0:
            return
        if not self.full():
            self.add(x, tau)
            return
        for s in range(self.support.n):
            z = self.support.row(s)
            a = self.scale * self.alpha[s]
            lost = a * a * (self.support.itself(&z, 0) - self.k[s] * (self.k[s] / own))
            if slot < 0 or lost < least:
                slot, least = s, lost
        a = self.scale * self.alpha[slot] * (self.k[slot] / own)
        self.replace(slot, x, tau + self.sign * fmin(fmax(a, -MOST), MOST))


class BudgetPA(BudgetClassifier):
    """Passive-aggressive on a budget (BPA-S): the new support vector takes the place of one that it can stand for.

    With tau = min(C, [1 - y f(x)]+ / k(x, x)), f += tau y k(x, .). Where there are B support vectors, that one, r, goes
    whose loss is least after the best exchange, f - a_r k(x_r, .) + b k(x, .) with b = a_r k(x_r, x) / k(x, x) + tau y:
    the one of least a_r^2 (k(x_r, x_r) - k(x_r, x)^2 / k(x, x)). Two labels. The importance of an example multiplies C.
    An example costs B kernels.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    budget : B, the most support vectors there can be, at least 1.
    C : aggressiveness, above 0.

    >>> from seriatim import BudgetPA, data, evaluate
    >>> model = BudgetPA("gaussian", 50, sigma=0.5, features={"normalize": "max"})
    >>> run = evaluate.progressive(model, *data.load("spam"))
    >>> run.mistakes, run.model.n_support_
    (895, 50)

    Wang and Vucetic, "Online passive-aggressive algorithms on a budget", AISTATS 2010.
    """

    family = "kernel"
    paper = "Wang and Vucetic (2010)"
    loss = "hinge"
    binary = True
    C = Number(1.0, above=0, search=powers(-4, 6))

    def build(self):
        return BudgetPALearner(self._kernel(), self.budget, self.C)
