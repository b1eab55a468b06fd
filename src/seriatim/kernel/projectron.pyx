"""The Projectron: project a mistake onto the span of the support vectors if it is close to the span."""

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

cdef double IN_THE_SPAN = 1e-10      # a squared distance of at most this fraction of k(x, x) counts as 0


cdef class ProjectronLearner(Machine):
    """P k(x, .) = sum_s d_s k(x_s, .), d = K^-1 k, is the projection of k(x, .) onto the span of the support vectors.

    K is stored as its Cholesky factor, K = L L'. An inverse would be too inaccurate for support vectors that are close
    to each other: with 1,000 of them in eight dimensions, it does not recognise a support vector that it has.
    """

    cdef double eta
    cdef Py_ssize_t budget           # 0: no budget, eta decides
    cdef bint plus_plus
    cdef double* factor              # the lower triangle of L, row by row
    cdef Py_ssize_t factor_room      # allocated rows of L
    cdef double* d
    cdef double* z                   # L^-1 k
    cdef bint crowded                # whether L would exceed the memory limit

    def __init__(self, kernel, double eta, Py_ssize_t budget, bint plus_plus):
        Machine.__init__(self, **kernel, room=min(budget, 1 << 10))
        self.eta, self.budget, self.plus_plus = eta, budget, plus_plus

    def __dealloc__(self):
        free(self.factor)
        free(self.d)
        free(self.z)

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef double times = 1 if self.classes == 1 else 2    # |k(x, .)|^2 counts twice if multiclass
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
        """Row s of L."""
        return self.factor + s * (s + 1) // 2

    cdef double project(self) noexcept nogil:
        """Solve L z = k, and return |P k(x, .)|^2 = z.z."""
        cdef Py_ssize_t s, n = self.support.n
        for s in range(n):
            self.z[s] = (self.k[s] - weighted_sum(s, self.row(s), self.z)) / self.row(s)[s]
        return weighted_sum(n, self.z, self.z)

    cdef void solve(self) noexcept nogil:
        """Solve L' d = z."""
        cdef Py_ssize_t s, n = self.support.n
        memcpy(self.d, self.z, n * sizeof(double))
        for s in range(n - 1, -1, -1):
            self.d[s] /= self.row(s)[s]
            add_multiple(s, -self.d[s], self.row(s), self.d)

    cdef double progress(self, double loss, double delta, double nearest2) noexcept nogil:
        """The step size of the Projectron++ for a margin between 0 and 1."""
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

    # ---- the Cholesky factor

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
        """Append the row [z, |delta|] to L for the support vector that was just added."""
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
            raise ModelError("the kernel matrix of the support vectors is singular up to rounding") from None
        return half.T @ half

    def check_memory(self):
        if self.failed and self.crowded:
            self.failed = self.crowded = False
            raise LimitError(
                f"{self.support.n + 1} support vectors need a matrix of more than {MAX_BYTES >> 30} GiB, which is the "
                f"limit; give a budget or a larger eta"
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
            raise ModelError(f"a factor of {factor.shape[0]} x {factor.shape[1]} does not fit {n} support vectors")
        if n and not np.diagonal(factor).min() > 0:
            raise ModelError("the diagonal of the factor of the kernel matrix must be above 0")
        if self.reserve_factor(n) < 0:
            raise MemoryError(f"no memory for a matrix of {n} support vectors")
        for s in range(n):
            memcpy(self.row(s), &factor[s, 0], (s + 1) * sizeof(double))


class Projectron(KernelClassifier):
    """The Projectron: the perceptron that projects a mistake close to the span of the support vectors onto this span.

    Let k be the kernels of x with the support vectors, K their kernel matrix, d = K^-1 k and
    |delta|^2 = k(x, x) - k.d. On a mistake with |delta| <= eta the coefficients become alpha + y d. On another mistake
    x becomes a support vector with the coefficient y. A budget replaces eta: a mistake is projected if there are B
    support vectors, or if it lies in their span. Multiclass: d is added to the coefficients of f_y and subtracted from
    those of f_s, where s is the wrong class with the highest score, and |delta|^2 counts twice. With eta = 0 this is
    the perceptron. With n support vectors an example costs n kernels, and a mistake O(n^2).

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    eta : the largest |delta| (not squared) that is projected, at least 0.
    budget : B, the largest number of support vectors; None: eta bounds them.

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
        """The inverse of the kernel matrix K of the support vectors."""
        with self._lock:
            return self._fitted().inverse_matrix()


class ProjectronPP(Projectron):
    """The Projectron++: the Projectron that also learns from margins below 1 if a projection improves f.

    A mistake is learned as by the `Projectron`. For a margin m between 0 and 1 let l = 1 - m and P = k.d. If
    l > |delta| / eta, alpha += tau y d with tau = min(l / P, 2 (l - |delta| / eta) / P, 1). A budget replaces eta: then
    tau = min(l / P, 1), if tau (2 l - tau P - 2 U |delta|) >= 0, where U = sqrt((B+1) / log(B+1)) / 4. With n support
    vectors an example costs n kernels, and one with a loss O(n^2).

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    eta : the largest |delta| that is projected, at least 0.
    budget : B, the largest number of support vectors; None: eta bounds them.

    >>> from seriatim import ProjectronPP, data, evaluate
    >>> run = evaluate.progressive(ProjectronPP("gaussian", sigma=20, budget=50), *data.load("digits"))
    >>> run.mistakes, run.model.n_support_
    (148, 50)

    Orabona, Keshet and Caputo, "Bounded kernel-based online learning", JMLR 10 (2009).
    """

    plus_plus = True

    def build(self):
        return super().build()
