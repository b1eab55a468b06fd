"""The Projectron: a mistake that the support vectors nearly span changes their coefficients, and adds none."""

import numpy as np

from libc.math cimport INFINITY, fmin, log, sqrt
from libc.stdlib cimport free
from libc.string cimport memcpy

from seriatim.core.memory cimport resize
from seriatim.core.row cimport Row
from seriatim.kernel.machine cimport Machine
from seriatim.kernel.support cimport add_multiple, weighted_sum

from seriatim.errors import LimitError, ModelError
from seriatim.kernel.base import KernelClassifier
from seriatim.parameters import Number, powers

cdef Py_ssize_t MAX_BYTES = 1 << 32

cdef double IN_THE_SPAN = 1e-10      # of k(x, x): what is nearer to the span than that is in it


cdef class ProjectronLearner(Machine):
    """d = K^-1 k are the coefficients of what is nearest to k(x, .) among the functions of the support vectors.

    K is kept as its Cholesky factor, K = L L'. An inverse would lose what counts where support vectors lie close to one
    another: with 1,000 of them in eight dimensions it takes one that comes again for a new one.
    """

    cdef double eta
    cdef Py_ssize_t budget           # 0: there is none, and eta decides
    cdef bint plus_plus
    cdef double* factor              # L, row after row, each up to the diagonal
    cdef Py_ssize_t factor_room      # rows
    cdef double* d
    cdef double* z                   # L^-1 k
    cdef bint crowded                # the factor would be too large

    def __init__(self, kernel, double eta, Py_ssize_t budget, bint plus_plus):
        Machine.__init__(self, **kernel, room=min(budget, 1 << 10))
        self.eta, self.budget, self.plus_plus = eta, budget, plus_plus

    def __dealloc__(self):
        free(self.factor)
        free(self.d)
        free(self.z)

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef double times = 1 if self.classes == 1 else 2    # what k(x, x) counts
        cdef double nearest2, delta2, delta, tau
        if margin >= 1 or (margin > 0 and not self.plus_plus):
            return
        if self.make_room(self.support.n + 1) < 0:
            self.failed = True
            return
        own /= times
        nearest2 = self.project()
        delta2 = own - nearest2
        if delta2 <= IN_THE_SPAN * own:
            delta2 = 0
        delta = sqrt(times * delta2)
        if margin > 0:
            tau = self.progress(1 - margin, delta, times * nearest2)
            if tau > 0:
                self.solve()
                self.move(tau)
        elif delta2 == 0 or (self.support.n >= self.budget if self.budget else delta <= self.eta):
            self.solve()
            self.move(1)
        elif self.reserve_factor(self.support.n + 1) < 0:
            self.failed = self.crowded = True
        elif self.add(x, 1) >= 0:
            self.border(sqrt(delta2))

    cdef double* row(self, Py_ssize_t s) noexcept nogil:
        return self.factor + s * (s + 1) // 2

    cdef double project(self) noexcept nogil:
        """z = L^-1 k, and |P k|^2 = z.z."""
        cdef Py_ssize_t s, n = self.support.n
        for s in range(n):
            self.z[s] = (self.k[s] - weighted_sum(s, self.row(s), self.z)) / self.row(s)[s]
        return weighted_sum(n, self.z, self.z)

    cdef void solve(self) noexcept nogil:
        """d = L'^-1 z."""
        cdef Py_ssize_t s, n = self.support.n
        memcpy(self.d, self.z, n * sizeof(double))
        for s in range(n - 1, -1, -1):
            self.d[s] /= self.row(s)[s]
            add_multiple(s, -self.d[s], self.row(s), self.d)

    cdef double progress(self, double loss, double delta, double nearest2) noexcept nogil:
        """The step of the Projectron++ for a margin between 0 and 1."""
        cdef double tau, far, U
        if nearest2 <= 0:
            return 0
        if self.budget:
            U = 0.25 * sqrt((self.budget + 1) / log(<double> self.budget + 1))
            tau = fmin(loss / nearest2, 1)
            return tau if tau * (2 * loss - tau * nearest2 - 2 * U * delta) >= 0 else 0
        far = 0 if delta == 0 else delta / self.eta if self.eta > 0 else INFINITY
        if loss <= far:
            return 0
        return fmin(fmin(loss / nearest2, 2 * (loss - far) / nearest2), 1)

    cdef void move(self, double tau) noexcept nogil:
        """f += tau y P k(x, .)."""
        add_multiple(self.support.n, self.sign * tau, self.d, self.alpha + self.up * self.slots)
        if self.down >= 0:
            add_multiple(self.support.n, -tau, self.d, self.alpha + self.down * self.slots)
        self.updates += 1

    # ---- the factor

    cdef int make_room(self, Py_ssize_t n) noexcept nogil:
        if (Machine.make_room(self, n) < 0 or resize(<void**> &self.d, self.slots, sizeof(double)) < 0
                or resize(<void**> &self.z, self.slots, sizeof(double)) < 0):
            return -1
        return 0

    cdef int reserve_factor(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t room = max(n, 2 * self.factor_room, 16)
        if n <= self.factor_room:
            return 0
        if self.budget:
            room = min(room, self.budget)
        if room * (room + 1) * 4 > MAX_BYTES:
            room = n
        if (n * (n + 1) * 4 > MAX_BYTES
                or resize(<void**> &self.factor, room * (room + 1) // 2, sizeof(double)) < 0):
            return -1
        self.factor_room = room
        return 0

    cdef void border(self, double delta) noexcept nogil:
        """The factor with the support vector that has just been added: one row more, [z, |delta|]."""
        cdef double* last = self.row(self.support.n - 1)
        memcpy(last, self.z, (self.support.n - 1) * sizeof(double))
        last[self.support.n - 1] = delta

    def factor_matrix(self):
        cdef Py_ssize_t s, n = self.support.n
        array = np.zeros((n, n))
        cdef double[:, ::1] out = array
        for s in range(n):
            memcpy(&out[s, 0], self.row(s), (s + 1) * sizeof(double))
        return array

    def inverse_matrix(self):
        try:
            half = np.linalg.inv(self.factor_matrix())
        except np.linalg.LinAlgError:
            raise ModelError("the kernel matrix of the support vectors has no inverse, but for rounding") from None
        return half.T @ half

    def check_memory(self):
        if self.failed and self.crowded:
            self.failed = self.crowded = False
            raise LimitError(
                f"{self.support.n + 1} support vectors need a matrix of more than {MAX_BYTES >> 30} GiB, which is the "
                f"limit; a budget, or a larger eta, bounds them"
            )
        Machine.check_memory(self)

    def state(self):
        return {**Machine.state(self), "factor": self.factor_matrix()}

    def restore(self, state):
        cdef const double[:, ::1] factor = np.ascontiguousarray(state["factor"], dtype=np.float64)
        cdef Py_ssize_t s
        Machine.restore(self, state)
        cdef Py_ssize_t n = self.support.n
        if factor.shape[0] != n or factor.shape[1] != n or (self.budget and n > self.budget):
            raise ModelError("the factor and the support vectors differ in number")
        if n and not np.diagonal(factor).min() > 0:
            raise ModelError("the factor of the kernel matrix has a diagonal that is not above 0")
        if self.reserve_factor(n) < 0:
            raise MemoryError(f"no memory for a matrix of {n} support vectors")
        for s in range(n):
            memcpy(self.row(s), &factor[s, 0], (s + 1) * sizeof(double))


class Projectron(KernelClassifier):
    """The Projectron: a mistake whose k(x, .) lies near the span of the support vectors is projected onto it.

    With k the kernels of x with the support vectors and K those among them, d = K^-1 k and
    |delta|^2 = k(x, x) - k.d. On a mistake, if |delta| <= eta the coefficients become alpha + y d; else x becomes a
    support vector with coefficient y. With a budget eta is not used: a mistake is projected where there are B support
    vectors, or where it lies in their span. With several classes y d goes to f_y and -y d to f_s, s being the
    strongest wrong class, and |delta|^2 counts twice. With eta = 0 it is the perceptron. An example costs as many
    kernels as there are support vectors, a mistake the square of that.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    eta : the distance, at least 0, compared with |delta| and not with its square.
    budget : B, the most support vectors there can be; None: eta bounds them.

    >>> from seriatim import Projectron, data, evaluate
    >>> run = evaluate.progressive(Projectron("gaussian", sigma=20, budget=50), *data.load("digits"))
    >>> run.mistakes, run.model.n_support_
    (148, 50)

    Orabona, Keshet and Caputo, "Bounded kernel-based online learning", JMLR 10 (2009).
    """

    family = "kernel"
    paper = "Orabona et al. (2009)"
    loss = "perceptron"
    fixed = (*KernelClassifier.fixed, "budget")
    eta = Number(0.1, least=0, search=powers(-6, 0))
    budget = Number(None, least=1, below=10**9, integer=True, optional=True)
    plus_plus = False

    def build(self):
        return ProjectronLearner(self._kernel(), self.eta, self.budget or 0, self.plus_plus)

    @property
    def inverse_(self):
        """The inverse of the kernel matrix of the support vectors."""
        with self._lock:
            return self._fitted().inverse_matrix()


class ProjectronPP(Projectron):
    """The Projectron++, which learns from small margins as well, where a projection is progress.

    On a mistake it is the `Projectron`. With a margin m between 0 and 1, l = 1 - m and P = k.d: if l > |delta| / eta,
    alpha += tau y d with tau = min(l / P, 2 (l - |delta| / eta) / P, 1). With a budget eta is not used:
    tau = min(l / P, 1), if tau (2 l - tau P - 2 U |delta|) >= 0, where U = sqrt((B+1) / log(B+1)) / 4. An example costs
    as many kernels as there are support vectors, one with a loss the square of that.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    eta : the distance, at least 0.
    budget : B, the most support vectors there can be; None: eta bounds them.

    >>> from seriatim import ProjectronPP, data, evaluate
    >>> run = evaluate.progressive(ProjectronPP("gaussian", sigma=20, budget=50), *data.load("digits"))
    >>> run.mistakes, run.model.n_support_
    (148, 50)

    Orabona, Keshet and Caputo, "Bounded kernel-based online learning", JMLR 10 (2009).
    """

    plus_plus = True

    def build(self):
        return super().build()
