"""The Projectron: a mistake that the support vectors nearly span changes their coefficients, and adds none."""

import numpy as np

from libc.math cimport INFINITY, fmin, log, sqrt
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from seriatim.core.memory cimport resize
from seriatim.core.row cimport Row
from seriatim.kernel.machine cimport Machine
from seriatim.kernel.support cimport add_multiple, weighted_sum

from seriatim.errors import LimitError, ModelError
from seriatim.kernel.estimator import KernelClassifier
from seriatim.parameters import Number, powers

cdef Py_ssize_t MAX_BYTES = 1 << 32

cdef double IN_THE_SPAN = 1e-10      # of k(x, x): what is nearer to the span than that is in it
cdef Py_ssize_t ADDITIONS = 128      # after so many the inverse is computed afresh


cdef class Projection(Machine):
    """d = K^-1 k are the coefficients of what is nearest to k(x, .) among the functions of the support vectors."""

    cdef double eta
    cdef Py_ssize_t budget           # 0: there is none, and eta decides
    cdef bint plus_plus
    cdef double* inverse             # of the kernel matrix, in rows of `inverse_room`
    cdef Py_ssize_t inverse_room
    cdef double* d
    cdef double* other
    cdef bint crowded                # the inverse would be too large

    def __init__(self, kernel, double eta, Py_ssize_t budget, bint plus_plus):
        Machine.__init__(self, **kernel, room=min(budget, 1 << 10))
        self.eta, self.budget, self.plus_plus = eta, budget, plus_plus

    def __dealloc__(self):
        free(self.inverse)
        free(self.d)
        free(self.other)

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef double times = 1 if self.classes == 1 else 2    # what k(x, x) counts
        cdef double nearest2, delta2, delta, tau
        if margin >= 1 or (margin > 0 and not self.plus_plus):
            return
        if self.make_room(self.support.n + 1) < 0:
            self.failed = True
            self.t -= 1
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
                self.move(tau)
        elif delta2 == 0 or (self.support.n >= self.budget if self.budget else delta <= self.eta):
            self.move(1)
        elif self.reserve_inverse(self.support.n + 1) < 0:
            self.failed = self.crowded = True
            self.t -= 1
        elif self.add(x, 1) >= 0:
            self.border(delta2)

    cdef double project(self) noexcept nogil:
        """d, and |P k|^2 = k.d."""
        cdef Py_ssize_t s, n = self.support.n
        memset(self.d, 0, n * sizeof(double))
        for s in range(n):
            add_multiple(n, self.k[s], self.inverse + s * self.inverse_room, self.d)
        return weighted_sum(n, self.d, self.k)

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

    # ---- the inverse

    cdef int make_room(self, Py_ssize_t n) noexcept nogil:
        if (Machine.make_room(self, n) < 0 or resize(<void**> &self.d, self.slots, sizeof(double)) < 0
                or resize(<void**> &self.other, self.slots, sizeof(double)) < 0):
            return -1
        return 0

    cdef int reserve_inverse(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t s, room = max(n, min(2 * self.inverse_room, 1 << 14), 16)
        cdef double* inverse
        if n <= self.inverse_room:
            return 0
        if self.budget:
            room = min(room, self.budget)
        if room * room * 8 > MAX_BYTES:
            room = n
        inverse = <double*> calloc(room * room, sizeof(double)) if n * n * 8 <= MAX_BYTES else NULL
        if inverse == NULL:
            return -1
        for s in range(self.inverse_room):
            memcpy(inverse + s * room, self.inverse + s * self.inverse_room, self.inverse_room * sizeof(double))
        free(self.inverse)
        self.inverse, self.inverse_room = inverse, room
        return 0

    cdef void border(self, double delta2) noexcept nogil:
        """The inverse with the support vector that has just been added: + [d; -1] [d; -1]' / delta^2."""
        cdef Py_ssize_t s, n = self.support.n
        self.d[n - 1] = -1
        for s in range(n):
            add_multiple(n, self.d[s] / delta2, self.d, self.inverse + s * self.inverse_room)
        if n % ADDITIONS == 0:
            self.refresh()

    cdef void refresh(self) noexcept with gil:
        """The inverse from the support vectors themselves, so that rounding does not pile up."""
        cdef Py_ssize_t s, i, n = self.support.n
        cdef double[:, ::1] K
        cdef double[:, ::1] inverse
        try:
            K = np.empty((n, n))
            for s in range(n):
                self.support.against(s, &K[s, 0], n)
                for i in range(s):
                    K[i, s] = K[s, i]
            if self.support.broken:
                return
            inverse = np.ascontiguousarray(np.linalg.inv(K))
        except (np.linalg.LinAlgError, MemoryError):    # what there is may still serve
            return
        except BaseException as error:    # nobody above could take it; check_memory raises it
            self.support.error, self.support.broken, self.failed = error, True, True
            return
        for s in range(n):
            memcpy(self.inverse + s * self.inverse_room, &inverse[s, 0], n * sizeof(double))

    def inverse_matrix(self):
        cdef Py_ssize_t s, n = self.support.n
        array = np.empty((n, n))
        cdef double[:, ::1] out = array
        for s in range(n):
            memcpy(&out[s, 0], self.inverse + s * self.inverse_room, n * sizeof(double))
        return array

    def check_memory(self):
        if self.failed and self.crowded:
            self.failed = self.crowded = False
            raise LimitError(
                f"{self.support.n + 1} support vectors need a matrix of more than {MAX_BYTES >> 30} GiB, which is the "
                f"limit; a budget, or a larger eta, bounds them"
            )
        Machine.check_memory(self)

    def state(self):
        return {**Machine.state(self), "inverse": self.inverse_matrix()}

    def restore(self, state):
        cdef const double[:, ::1] inverse = np.ascontiguousarray(state["inverse"], dtype=np.float64)
        cdef Py_ssize_t s
        Machine.restore(self, state)
        cdef Py_ssize_t n = self.support.n
        if inverse.shape[0] != n or inverse.shape[1] != n or (self.budget and n > self.budget):
            raise ModelError("the inverse and the support vectors differ in number")
        if self.reserve_inverse(n) < 0:
            raise MemoryError(f"no memory for a matrix of {n} support vectors")
        for s in range(n):
            memcpy(self.inverse + s * self.inverse_room, &inverse[s, 0], n * sizeof(double))


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
        return Projection(self._kernel(), self.eta, self.budget or 0, self.plus_plus)

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
