"""Online gradient descent on Nystroem features, which are made from the first support vectors."""

import numpy as np

from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.memory cimport allocate
from seriatim.core.row cimport Row
from seriatim.kernel.machine cimport Machine
from seriatim.kernel.support cimport add_multiple, weighted_sum

from seriatim.errors import ModelError
from seriatim.kernel.base import BudgetClassifier
from seriatim.parameters import Number, powers


cdef class NOGDLearner(Machine):
    """Gradient descent until there are B support vectors; then w += eta y z(x), z(x) = M k.

    Because f(x) = w.z(x) = (M'w).k, the machine stores alpha = M'w, and an update adds eta y M'M k to alpha.
    """

    cdef double eta
    cdef Py_ssize_t budget, rank
    cdef double* M               # `found` rows of B numbers; NULL until there are B support vectors
    cdef Py_ssize_t found        # at most the rank
    cdef double* step            # M'M k

    def __init__(self, kernel, Py_ssize_t budget, Py_ssize_t rank, double eta):
        Machine.__init__(self, **kernel, room=min(budget, 1 << 16))
        self.budget, self.rank, self.eta = budget, rank, eta
        self.weighted = True

    def __dealloc__(self):
        free(self.M)
        free(self.step)

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef double eta = self.eta * self.weight
        if margin >= 1 or eta == 0:
            return
        if self.support.n < self.budget:
            if self.add(x, eta) >= 0 and self.support.n == self.budget:
                self.settle()
            return
        if self.M == NULL:    # an interrupt came during settle
            self.settle()
        if self.M == NULL:
            self.failed = True
            return
        self.project()
        add_multiple(self.budget, self.sign * eta, self.step, self.alpha + self.up * self.slots)
        if self.down >= 0:
            add_multiple(self.budget, -eta, self.step, self.alpha + self.down * self.slots)
        self.updates += 1

    cdef void project(self) noexcept nogil:
        """step = M'M k."""
        cdef Py_ssize_t i
        cdef double z
        memset(self.step, 0, self.budget * sizeof(double))
        for i in range(self.found):
            z = weighted_sum(self.budget, self.M + i * self.budget, self.k)
            add_multiple(self.budget, z, self.M + i * self.budget, self.step)

    cdef void settle(self) noexcept with gil:
        """M = D^-1/2 V' for the largest eigenvalues of the kernel matrix, and alpha projected onto their span."""
        cdef Py_ssize_t s, i, n = self.budget
        cdef double[:, ::1] out
        try:
            K = np.empty((n, n))
            out = K
            for s in range(n):
                self.support.against(s, &out[s, 0], n)
                for i in range(s):
                    out[i, s] = out[s, i]
            if self.support.broken:
                return
            D, V = np.linalg.eigh(K)
            D, V = D[::-1][:self.rank], V[:, ::-1][:, :self.rank]
            kept = D > 1e-10 * max(D[0], 0)
            D, V = D[kept], V[:, kept]
            M, alphas = np.ascontiguousarray((V / np.sqrt(D)).T), np.ascontiguousarray(V @ (V.T @ self.alphas()))
            self.set_features(M)
            self.set_alphas(alphas)
        except MemoryError:
            self.failed = True
        except Exception as error:    # no caller could handle it here; check_memory raises it
            self.support.error, self.support.broken = error, True
        except BaseException as interrupt:    # the next row calls settle again
            self.support.interrupt, self.support.interrupts = interrupt, 1

    def set_features(self, const double[:, ::1] M):
        cdef Py_ssize_t i, s
        free(self.M)
        free(self.step)
        self.step = <double*> allocate(self.budget, sizeof(double))
        self.M = <double*> allocate(max(M.shape[0], 1) * self.budget, sizeof(double))
        if self.M == NULL or self.step == NULL:
            raise MemoryError(f"no memory for {M.shape[0]} features of {self.budget} support vectors")
        self.found = M.shape[0]
        for i in range(self.found):
            for s in range(self.budget):
                self.M[i * self.budget + s] = M[i, s]

    def state(self):
        cdef Py_ssize_t i, s
        M = np.empty((self.found, self.budget if self.M != NULL else 0))
        for i in range(self.found):
            for s in range(self.budget):
                M[i, s] = self.M[i * self.budget + s]
        return {**Machine.state(self), "M": M}

    def restore(self, state):
        Machine.restore(self, state)
        settled = self.support.n == self.budget
        rows, columns = state["M"].shape
        if self.support.n > self.budget or rows > self.rank or columns not in (0, self.budget):
            raise ModelError(f"M is {rows} x {columns} for {self.support.n} support vectors and rank {self.rank}")
        if settled and columns:
            self.set_features(np.ascontiguousarray(state["M"], dtype=np.float64))
        elif rows or columns:
            raise ModelError(f"M exists, but there are only {self.support.n} of {self.budget} support vectors")


class NOGD(BudgetClassifier):
    """Nystroem online gradient descent: the first B support vectors define the features of a linear model.

    If the margin is below 1, f += eta y k(x, .), until there are B support vectors. From then on let K = V D V' be
    their kernel matrix, reduced to its `rank` largest eigenvalues, and z(x) = D^-1/2 V' k. If the margin is below 1,
    w += eta y z(x). The first w is the best approximation of f. Multiclass: w_y += eta z(x) and w_s -= eta z(x), where
    s is the wrong class with the highest score.

    An example costs B kernels; one with a loss costs B times the rank more. A sample weight multiplies the step. NumPy
    computes V. For a large B its last bits may depend on the number of threads of NumPy's library.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.
    budget : B, the number of support vectors, at least 1.
    rank : the largest number of eigenvalues; those below 1e-10 of the largest are dropped. None: a fifth of the budget.
    eta : step size, above 0.

    >>> from seriatim import NOGD, data, evaluate
    >>> run = evaluate.progressive(NOGD("gaussian", 200, sigma=20, rank=100), *data.load("digits"))
    >>> run.mistakes, run.model.n_support_
    (168, 200)

    Lu, Hoi, Wang, Zhao and Liu, "Large scale online kernel learning", JMLR 17 (2016).
    """

    family = "kernel"
    paper = "Lu et al. (2016)"
    loss = "hinge"
    fixed = (*BudgetClassifier.fixed, "rank")
    budget = Number(100, least=1, most=20_000, integer=True, positional=True)
    rank = Number(None, least=1, below=10**9, integer=True, optional=True)
    eta = Number(0.2, above=0, search=powers(-8, 4))

    def build(self):
        return NOGDLearner(self._kernel(), self.budget, self.rank or max(1, self.budget // 5), self.eta)
