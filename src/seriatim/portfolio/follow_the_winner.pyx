"""More of what did well: universal portfolios, exponentiated gradient, online Newton steps."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, exp, fmax, log
from libc.string cimport memcpy, memset

import numpy as np

from seriatim.core.random cimport random_bits
from seriatim.portfolio.learner cimport Learner, aligned, pointer
from seriatim.portfolio.projection cimport quadratic

from seriatim.errors import ModelError
from seriatim.parameters import Number, decades
from seriatim.portfolio.strategy import Strategy


cdef extern from "sums.h":
    enum: LANES
    double dot(Py_ssize_t n, const double* a, const double* x) noexcept nogil
    void rebalanced(Py_ssize_t days, Py_ssize_t m, const double* X, const double* points,
                    const double* base, double* grown, double* sums) noexcept nogil

cdef enum:
    FOLD = 256    # days between two looks at the logarithms, of which each portfolio costs two
    AT_ONCE = 16    # days that a few portfolios are taken through while they are near


cdef class Universal(Learner):
    """Sampled portfolios, in groups of LANES and there asset by asset; the wealth of each: exp(logs) times what it has
    grown since."""

    cdef Py_ssize_t samples, stride
    cdef unsigned long long seed
    cdef double* points
    cdef double* base
    cdef double* grown
    cdef double* logs
    cdef object drawn, room, scratch
    cdef double* sums

    def __init__(self, Py_ssize_t samples, unsigned long long seed):
        self.samples, self.seed = samples, seed
        self.stride = (samples + LANES - 1) // LANES * LANES
        Learner.__init__(self)

    def shapes(self, m):
        return {"b": (m,), "logs": (self.samples,), "grown": (self.samples,)}

    def start(self, Py_ssize_t m):
        cdef Py_ssize_t i, j, draws
        cdef double sum
        cdef double* point
        Learner.start(self, m)
        if not m:
            return
        self.drawn, self.room = np.zeros(m * self.stride + LANES), np.zeros((3, self.stride))
        self.scratch = np.empty(AT_ONCE * 4 * (m + 1) + LANES)
        self.points, self.sums = aligned(pointer(self.drawn)), aligned(pointer(self.scratch))
        self.base = pointer(self.room)
        self.grown = self.base + self.stride
        self.logs = self.grown + self.stride
        self.arrays["grown"], self.arrays["logs"] = self.room[1, :self.samples], self.room[2, :self.samples]
        for i in range(self.samples):
            point = self.points + (i // LANES) * LANES * m + i % LANES
            sum = 0
            for j in range(m):    # parts that exponential variables have in their sum are uniform on the simplex
                draws = i * m + j
                point[j * LANES] = -log(((random_bits(self.seed, &draws) >> 11) + 1) * (1.0 / 9007199254740992.0))
                sum += point[j * LANES]
            for j in range(m):
                point[j * LANES] /= sum
        self.fold()

    cdef int fold(self) except -1:
        """Put what has grown into the logarithms, so that no wealth is ever too large or too small."""
        cdef Py_ssize_t i
        for i in range(self.samples):
            self.logs[i] += log(self.grown[i]) if self.grown[i] > 0 else 0
            self.grown[i] = 1
        self.rebase()
        return 0

    cdef int rebase(self) except -1:
        cdef Py_ssize_t i
        cdef double top = self.logs[0]
        for i in range(self.samples):
            top = fmax(top, self.logs[i])
        for i in range(self.samples):
            self.base[i] = exp(self.logs[i] - top) if self.logs[i] - top > -600 else 0
        return 0

    def check(self):
        Learner.check(self)
        if self.m:
            if not (self.arrays["grown"] > 0).all():
                raise ModelError("a portfolio has no wealth")
            self.rebase()

    cdef int learn_days(self, Py_ssize_t n, const double* X, double* B) except -1:
        cdef Py_ssize_t done = 0, days, s, d, j, m = self.m
        cdef double sum
        cdef double* lanes
        cdef bint wild
        while done < n:
            days = min(n - done, min(<Py_ssize_t> AT_ONCE, FOLD - self.t % FOLD))
            wild = self.wild(X + done * m)
            if wild or self.t % FOLD == 0:
                self.fold()
            for d in range(1, days):
                if wild or self.wild(X + (done + d) * m):
                    days = d
                    break
            memset(self.sums, 0, days * 4 * (m + 1) * sizeof(double))
            for s in range(0, self.stride, LANES):
                rebalanced(days, m, X + done * m, self.points + s * m, self.base + s, self.grown + s, self.sums)
            for d in range(days):
                if B != NULL:
                    memcpy(B + (done + d) * m, self.b, m * sizeof(double))
                lanes = self.sums + d * 4 * (m + 1)
                sum = (lanes[4 * m] + lanes[4 * m + 1]) + (lanes[4 * m + 2] + lanes[4 * m + 3])
                for j in range(m):
                    self.b[j] = ((lanes[4 * j] + lanes[4 * j + 1]) + (lanes[4 * j + 2] + lanes[4 * j + 3])) / sum
            if wild:
                self.fold()
            done += days
            self.t += days
            PyErr_CheckSignals()
        return 0

    cdef bint wild(self, const double* x) noexcept nogil:
        """Whether, on 256 such days, wealth could leave the range of the doubles."""
        cdef Py_ssize_t j
        for j in range(self.m):
            if not 0.1 < x[j] < 10:
                return True
        return False


class UniversalPortfolio(Strategy):
    """The mean of all rebalanced portfolios, each weighted by the wealth it has come to: here of a sample of them.

        b = sum S_i b_i / sum S_i,  S_i = product of b_i.x over the days so far,  b_i uniform on the simplex

    The cost of a day is proportional to samples times assets. With many assets no sample that fits a computer comes
    near the integral, and near the best portfolio; the result is close to that of `UCRP` then.

    Parameters
    ----------
    samples : how many portfolios are drawn, from 1 on.
    seed : of the random numbers.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("universal-portfolio", load("djia")).final_wealth, 2)
    0.81

    Cover. Universal portfolios. Mathematical Finance 1(1), 1991.
    """

    paper = "Cover (1991)"
    samples = Number(10_000, least=1, most=10_000_000, integer=True)
    seed = Number(0, least=0, most=2**53, integer=True)
    fixed = ("samples", "seed")

    def build(self):
        return Universal(self.samples, self.seed)


cdef class Exponentiated(Learner):
    """The logarithms are kept, less the largest: a share may be too small for a number and yet come back."""

    cdef double eta
    cdef double* logs

    def __init__(self, double eta):
        self.eta = eta
        Learner.__init__(self)

    def shapes(self, m):
        return {"b": (m,), "logs": (m,)}

    cdef int bind(self) except -1:
        Learner.bind(self)
        self.logs = pointer(self.arrays["logs"])
        return 0

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t j
        cdef double grown = dot(self.m, self.b, x), top = -INFINITY, sum = 0
        for j in range(self.m):
            self.logs[j] += self.eta * (x[j] / grown)
            top = fmax(top, self.logs[j])
        for j in range(self.m):
            self.logs[j] -= top
            self.b[j] = exp(self.logs[j])
            sum += self.b[j]
        for j in range(self.m):
            self.b[j] /= sum
        return 0


class ExponentiatedGradient(Strategy):
    """A step along the gradient of the day's log-return, in the geometry of relative entropy.

        b_i <- b_i exp(eta x_i/(b.x)) / Z

    Parameters
    ----------
    eta : the step, above 0; towards 0 it is `UCRP`.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("exponentiated-gradient", load("djia")).final_wealth, 4)
    0.81

    Helmbold, Schapire, Singer, Warmuth. On-line portfolio selection using multiplicative updates. Mathematical
    Finance 8(4), 1998.
    """

    paper = "Helmbold et al. (1998)"
    eta = Number(0.05, above=0, search=decades(-3, 0))

    def build(self):
        return Exponentiated(self.eta)


cdef class Newton(Learner):
    cdef double eta, beta, delta
    cdef double* A
    cdef double* c
    cdef double* p
    cdef object work, free
    cdef double* room
    cdef int* places

    def __init__(self, double eta, double beta, double delta):
        self.eta, self.beta, self.delta = eta, beta, delta
        Learner.__init__(self)

    def shapes(self, m):
        return {"b": (m,), "p": (m,), "A": (m, m), "c": (m,)}

    def begin(self):
        cdef int[::1] places
        np.fill_diagonal(self.arrays["A"], 1.0)
        self.arrays["p"][:] = 1.0 / self.m
        self.work, self.free = np.empty(self.m * (self.m + 4)), np.empty(self.m, dtype=np.intc)
        places = self.free
        self.room, self.places = pointer(self.work), &places[0]

    cdef int bind(self) except -1:
        Learner.bind(self)
        self.A, self.c, self.p = pointer(self.arrays["A"]), pointer(self.arrays["c"]), pointer(self.arrays["p"])
        return 0

    def check(self):
        Learner.check(self)
        p = self.arrays["p"]
        if self.m and ((p < 0).any() or abs(p.sum() - 1) > 1e-6):
            raise ModelError("p is no portfolio")

    cdef int learn(self, const double* x) except -1:
        cdef Py_ssize_t i, j, m = self.m
        cdef double g, grown = dot(m, self.b, x)
        cdef double* aim = self.room + m * (m + 3)
        for i in range(m):
            g = x[i] / grown
            self.c[i] += g
            for j in range(m):
                self.A[i * m + j] += g * (x[j] / grown)
        for j in range(m):    # A q = delta c, so that no system need be solved for q
            aim[j] = self.delta * (1 + 1 / self.beta) * self.c[j]
        quadratic(self.A, aim, self.p, m, self.room, self.places)    # A >= I is definite
        for j in range(m):
            self.b[j] = (1 - self.eta) * self.p[j] + self.eta / m
        return 0


class ONS(Strategy):
    """The online Newton step: follow the leader on a quadratic model of the log-returns.

        g = x/(b.x),  A = I + sum g g',  c = (1 + 1/beta) sum g,  b = projection of delta A^-1 c in the norm of A
        and of that (1 - eta) b + eta/m

    The projection is a quadratic program, which an active-set method solves exactly, from the portfolio of the day
    before. The cost of a day is cubic in the number of assets that are held.

    Parameters
    ----------
    eta : the share that is always in equal parts, 0 to 1.
    beta : above 0; small values follow the sum of the gradients further.
    delta : above 0; how far the step goes.

    >>> from seriatim.portfolio import backtest, load
    >>> round(backtest("ons", load("djia")).final_wealth, 4)
    1.533

    Agarwal, Hazan, Kale, Schapire. Algorithms for portfolio management based on the Newton method. ICML 2006.
    """

    paper = "Agarwal et al. (2006)"
    eta = Number(0.0, least=0, most=1)
    beta = Number(1.0, above=0, search=decades(-2, 1))
    delta = Number(0.125, above=0, search=decades(-3, 0))

    def build(self):
        return Newton(self.eta, self.beta, self.delta)
