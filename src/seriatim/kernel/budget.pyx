"""Kernel machines with at most B support vectors. A full machine removes one before it adds a new one."""

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
    double sum_of(Py_ssize_t n, const double* x) noexcept nogil

cdef double MOST = 1e100    # the largest coefficient, so that its product with a kernel of up to 1e200 is finite


cdef class BudgetMachine(Machine):
    """A machine with at most B support vectors."""

    NUMBERS = (*Machine.NUMBERS, "draws")

    cdef Py_ssize_t budget
    cdef unsigned long long seed
    cdef public Py_ssize_t draws     # random numbers drawn so far
    cdef double* other               # work memory, one number per support vector: kernels or probabilities

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
        """|a| of a support vector. With several classes, a is its coefficient in the class of its label."""
        cdef Py_ssize_t c
        cdef double largest = fabs(self.alpha[slot]) if self.classes == 1 else 0
        for c in range(self.classes if self.classes > 1 else 0):
            largest = fmax(largest, self.alpha[c * self.slots + slot])
        return self.scale * largest

    def restore(self, state):
        Machine.restore(self, state)
        if self.support.n > self.budget:
            raise ModelError(f"{self.support.n} support vectors are more than budget={self.budget}")


cdef class RBPLearner(BudgetMachine):
    """The perceptron; a full machine removes a random support vector."""

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        if margin > 0:
            return
        if self.full():
            self.replace(random_below(self.budget, self.seed, &self.draws), x, 1)
        else:
            self.add(x, 1)


class RBP(BudgetClassifier):
    """The randomised budget perceptron: a full model removes a random support vector before it adds a new one.

    A mistake adds a support vector: f += y k(x, .). A model with B support vectors is full. An example costs B kernels.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    budget : B, the largest number of support vectors, at least 1.
    seed : seed of the random numbers, a whole number from 0 on.

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
    """The perceptron; a full machine multiplies f by phi and removes the oldest support vector."""

    NUMBERS = (*BudgetMachine.NUMBERS, "oldest", "mistakes", "Q", "norm2")

    cdef bint basic
    cdef public Py_ssize_t oldest        # the slot of the oldest support vector
    cdef public Py_ssize_t mistakes      # M
    cdef public double Q                 # the sum of psi, the costs of the removals; at most 15/32 M
    cdef public double norm2             # |f|^2, for the basic variant

    def __init__(self, kernel, Py_ssize_t budget, str variant):
        BudgetMachine.__init__(self, kernel, budget)
        self.basic = variant == "basic"

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef double unit = 1 if self.classes == 1 else 0.5    # the theorem needs |x| <= 1: f_y and f_s get x / sqrt(2)
        cdef double size, mu, phi
        cdef Py_ssize_t slot = self.oldest
        if margin > 0:
            return
        self.mistakes += 1
        self.norm2 = fmax(0, self.norm2 + 2 * margin + own)    # |f + y k(x, .)|^2, up to rounding
        if not self.full():
            self.add(x, 1)
            return
        size = self.size(slot)
        mu = self.margin_of(slot)
        if self.basic:
            phi = self.basic_phi(unit * self.norm2)
        else:
            phi = self.tuned_phi(size, unit * mu)
        self.norm2 = fmax(0, phi * phi * (self.norm2 - 2 * size * mu + size * size * self.own_of(slot)))
        self.shrink(phi)
        self.replace(slot, x, phi)
        self.oldest = (slot + 1) % self.budget

    cdef double margin_of(self, Py_ssize_t slot) noexcept nogil:
        """The margin of a support vector under f + y k(x, .), the new f of this round."""
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
        """k(z, z) of a support vector z; with several classes 2 k(z, z)."""
        cdef Row x = self.support.row(slot)
        return self.support.itself(&x, 0) * (1 if self.classes == 1 else 2)

    cdef double tuned_phi(self, double s, double mu) noexcept nogil:
        """The largest phi <= 1 with Q + a phi^2 + b phi <= 15/32 M. Adds the cost to Q."""
        cdef double a = s * s - 2 * s * mu, b = 2 * s, c = self.Q - 15.0 / 32 * self.mistakes
        cdef double d = b * b - 4 * a * c, phi = 1
        if a >= 0 or (d > 0 and (-b - sqrt(d)) / (2 * a) > 1):
            phi = fmin(1, -2 * c / (b + sqrt(fmax(d, 0)))) if b > 0 else 1
        # The theorem says Q <= 15/32 M. For a huge k(x, x), rounding could exceed it and make the next phi negative.
        self.Q = fmax(fmin(self.Q + a * phi * phi + b * phi, 15.0 / 32 * self.mistakes), -1e300)
        return phi

    cdef double basic_phi(self, double norm2) noexcept nogil:
        """The smaller of (B+1)^(-1/(2(B+1))) and U / |f|."""
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
            raise ModelError(
                f"a Forgetron cannot have oldest={self.oldest}, mistakes={self.mistakes}, Q={self.Q} and "
                f"norm2={self.norm2} with {self.support.n} support vectors"
            )


class Forgetron(BudgetClassifier):
    """The Forgetron: a full model multiplies f by phi and removes the oldest support vector.

    A mistake adds a support vector: f += y k(x, .). A model with B support vectors is full. It then multiplies f by
    phi, so that the oldest support vector has a small coefficient. The variants choose phi:

    - "self_tuned": the largest phi <= 1 with Q + psi <= 15/32 M. M is the number of mistakes. The cost of this removal
      is psi = (s phi)^2 + 2 s phi - 2 s phi^2 mu, and Q is the sum of the earlier costs. s is the coefficient of the
      oldest support vector, and mu is its margin under the new f.
    - "basic": the smaller of (B+1)^(-1/(2(B+1))) and U / |f|, where U = sqrt((B+1) / log(B+1)) / 4. For each function
      g with |g| <= U and hinge loss L over the stream, the model makes at most 2 |g|^2 + 4 L mistakes.

    The bound needs k(x, x) <= 1, as for the gaussian and the cosine kernel. With several classes, the bound divides x
    by sqrt(2), because a mistake changes both f_y and f_s. An example costs B kernels, and a removal costs B more.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    budget : B, the largest number of support vectors, at least 1.
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
    """Gradient descent. A full machine removes a random support vector and divides each other a_j by 1 - p_j."""

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
            slot = self.drawn()
            self.replace(slot, x, self.eta)
        else:
            slot = self.add(x, self.eta)
        if slot >= 0:
            self.length[slot] = sqrt(own if self.classes == 1 else own / 2)

    cdef Py_ssize_t drawn(self) noexcept nogil:
        """Draw a support vector to remove. Enlarge all other coefficients, so that f stays equal in expectation."""
        cdef Py_ssize_t c, s, slot, n = self.support.n
        cdef double* p = self.other
        cdef double* size = self.k       # reuses the memory of the kernels, which this round no longer needs
        cdef double growth, most = self.gamma * self.eta
        self.all_sizes(size)
        if self.by_weight and self.weighted_chances(size, p):
            slot = self.chosen(p)
        else:
            slot = random_below(n, self.seed, &self.draws)
            for s in range(n):
                p[s] = 1.0 / n
        p[slot] = 0                      # avoids a division by 0 if p[slot] = 1
        for s in range(n):
            growth = 1 / (1 - p[s])
            p[s] = most / size[s] if size[s] * growth > most else growth
        for c in range(self.classes):
            for s in range(n):
                self.alpha[c * self.slots + s] *= p[s]
        return slot

    cdef void all_sizes(self, double* out) noexcept nogil:
        """|a_i| of each support vector."""
        cdef Py_ssize_t s
        if self.classes == 1:
            for s in range(self.support.n):
                out[s] = self.scale * fabs(self.alpha[s])
        else:
            for s in range(self.support.n):
                out[s] = self.size(s)

    cdef bint weighted_chances(self, const double* size, double* p) noexcept nogil:
        """p_i = 1 - (B - 1) a_i sqrt(k_ii) / sum, clipped at 0 and normalised. False if all a_i are 0."""
        cdef Py_ssize_t s, n = self.support.n
        cdef double total = weighted_sum(n, size, self.length)
        if not total > 0:
            return False
        total = (n - 1) / total
        cdef const double* length = self.length
        cdef double chance
        for s in range(n):
            chance = 1 - total * (size[s] * length[s])
            p[s] = chance if chance > 0 else 0
        multiply(n, 1 / sum_of(n, p), p)
        return True

    cdef Py_ssize_t chosen(self, const double* p) noexcept nogil:
        """A random slot. Slot s has the probability p[s]."""
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
    """Bounded online gradient descent: a full model removes a random support vector and enlarges all other terms.

    Each round begins with f <- (1 - lambda eta) f. A margin below 1 adds a support vector: f += eta y k(x, .). A model
    with B support vectors is full. It first removes support vector i with probability p_i. Every other coefficient a_j
    becomes a_j / (1 - p_j), and at most gamma eta. Without this limit, f would stay equal in expectation.

    With "uniform", p_i = 1/B. With "weighted" (BOGD++), p_i is proportional to
    [1 - (B - 1) |a_i| sqrt(k(x_i, x_i)) / sum_j |a_j| sqrt(k(x_j, x_j))]+, so that the model removes small terms. An
    example costs B kernels.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    budget : B, the largest number of support vectors, at least 1.
    eta : step size, above 0.
    lam : lambda of the penalty lambda/2 |f|^2, at least 0.
    gamma : a removal enlarges coefficients to at most gamma eta; above 0.
    sampling : uniform or weighted.
    seed : seed of the random numbers, a whole number from 0 on.

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
    """The passive-aggressive update. In a full machine, x replaces the support vector that x approximates best."""

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
    """Passive-aggressive on a budget (BPA-S): a full model replaces the support vector that x can best approximate.

    The update is f += tau y k(x, .) with tau = min(C, [1 - y f(x)]+ / k(x, x)). If the model has B support vectors, x
    replaces one of them, x_r: f += b k(x, .) - a_r k(x_r, .) with b = a_r k(x_r, x) / k(x, x) + tau y. The first term
    of b is the projection of a_r k(x_r, .) on k(x, .). The model chooses the r with the smallest error of this
    projection, a_r^2 (k(x_r, x_r) - k(x_r, x)^2 / k(x, x)).

    Binary only. A sample weight multiplies C. An example costs B kernels.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    budget : B, the largest number of support vectors, at least 1.
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
