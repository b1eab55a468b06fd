"""The kernel perceptron, and its averaged and voted forms."""

import numpy as np

from libc.stdlib cimport free

from seriatim.core.memory cimport resize
from seriatim.core.row cimport Row
from seriatim.kernel.machine cimport Machine

from seriatim.errors import ModelError
from seriatim.kernel.base import KernelClassifier


cdef class KernelPerceptronLearner(Machine):
    """f += y k(x, .) on a mistake. If `average`, the mean of f_1..f_T predicts.

    An update of f by g in round t adds t g to u, which has columns of its own. Then f_1 + ... + f_T = T f - u.
    """

    def __init__(self, kernel, bint average=False):
        Machine.__init__(self, **kernel, fields=2 if average else 1)
        self.apart = average
        self.weighted = True

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        cdef Py_ssize_t c, slot
        if margin <= 0 and self.weight > 0:
            slot = self.add(x, self.weight)
            for c in range(self.classes if self.apart and slot >= 0 else 0):
                self.alpha[(self.classes + c) * self.slots + slot] = self.t * self.alpha[c * self.slots + slot]

    cdef void all_scores(self, double* out) noexcept nogil:
        cdef Py_ssize_t c
        Machine.all_scores(self, out)
        if self.apart:
            for c in range(self.classes):
                out[c] = (self.t * out[c] - self.weigh(self.classes + c, self.k)) / self.t if self.t else 0

    def coefficients(self):
        if not self.apart:
            return Machine.coefficients(self)
        alphas = self.alphas()
        return ((self.t * alphas[:, :self.classes] - alphas[:, self.classes:]) / max(self.t, 1)).T


class KernelPerceptron(KernelClassifier):
    """The kernel perceptron: on a mistake, f += y k(x, .).

    Multiclass: on a mistake f_y += k(x, .) and f_s -= k(x, .), where s is the wrong class with the highest score. Each
    mistake adds a support vector, so memory and the cost of an example grow with the mistakes. If a function of norm 1
    separates the data with margin gamma, the mistakes are at most max k(x, x) / gamma^2. A sample weight g multiplies
    the update.

    Parameters
    ----------
    kernel : linear, polynomial, gaussian, laplacian, chi_square or cosine, which use the parameters below. Or a kernel
        object such as `seriatim.kernel.Gaussian(2.0)`. Or a function of two rows (NumPy vectors), which is slow.
    sigma : width of the gaussian, exp(-|x - z|^2 / (2 sigma^2)), and of the laplacian, exp(-|x - z|_1 / sigma). The
        chi_square kernel has gamma = 1 / sigma. "median" takes the median distance between the first 500 rows of the
        first block, or of the stream in a run by `evaluate`. `sigma_` shows the width in use.
    degree, c : degree and offset of the polynomial, (x.z + c)^degree.

    >>> from seriatim import KernelPerceptron, data, evaluate
    >>> run = evaluate.progressive(KernelPerceptron(kernel="polynomial", degree=2), *data.load("digits"))
    >>> run.mistakes, run.model.n_support_
    (244, 244)

    Freund and Schapire, "Large margin classification using the perceptron algorithm", Machine Learning 37 (1999).
    """

    family = "kernel"
    paper = "Freund and Schapire (1999)"
    loss = "perceptron"

    def build(self):
        return KernelPerceptronLearner(self._kernel())


class AveragedKernelPerceptron(KernelClassifier):
    """The kernel perceptron that predicts with the average of its past functions.

    It learns as `KernelPerceptron` does. It predicts with (f_1 + ... + f_T) / T, where f_t is the function before
    example t, so f_1 = 0. Memory and the cost of an example grow with the mistakes.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.

    >>> from seriatim import AveragedKernelPerceptron, data, evaluate
    >>> run = evaluate.progressive(AveragedKernelPerceptron(kernel="polynomial", degree=2), *data.load("digits"))
    >>> run.mistakes
    222

    Freund and Schapire, "Large margin classification using the perceptron algorithm", Machine Learning 37 (1999).
    """

    family = "kernel"
    paper = "Freund and Schapire (1999)"
    loss = "perceptron"

    def build(self):
        return KernelPerceptronLearner(self._kernel(), True)


cdef class VotedKernelPerceptronLearner(Machine):
    """A perceptron that counts the rounds of its past functions. f_k is the sum over the first k support vectors."""

    cdef double* votes           # votes[k - 1] are the votes of f_k
    cdef Py_ssize_t votes_room
    cdef double* running         # the scores of f_k for growing k

    def __init__(self, kernel):
        Machine.__init__(self, **kernel)
        self.apart = True
        self.reclass(np.zeros(1, np.intp), np.ones(1))

    def __dealloc__(self):
        free(self.votes)
        free(self.running)

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        """A mistake makes a new function."""
        cdef Py_ssize_t slot
        if margin <= 0:
            if self.support.n == self.votes_room:
                if resize(<void**> &self.votes, 2 * self.votes_room + 16, sizeof(double)) < 0:
                    self.failed = True
                    return
                self.votes_room = 2 * self.votes_room + 16
            slot = self.add(x, 1)
            if slot >= 0:
                self.votes[slot] = 0

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = Machine.learn(self, x, y)
        self.count()
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        Machine.learn_class(self, x, y, out)
        self.count()

    cdef void count(self) noexcept nogil:
        """Give the last function one more vote. The zero function has none."""
        if self.support.n and not self.failed:
            self.votes[self.support.n - 1] += 1

    cdef void all_scores(self, double* out) noexcept nogil:
        """The votes of each class. Binary: the votes for the positive class minus those for the negative class."""
        cdef Py_ssize_t c, s, best
        for c in range(self.classes):
            out[c] = self.running[c] = 0
        for s in range(self.support.n):
            best = -1
            for c in range(self.classes):
                self.running[c] += self.alpha[c * self.slots + s] * self.k[s]
                if self.seen[c] and (best < 0 or self.running[c] > self.running[best]):
                    best = c
            if self.classes == 1:
                out[0] += self.votes[s] if self.running[0] >= 0 else -self.votes[s]
            else:
                out[best] += self.votes[s]

    def reclass(self, source, factor):
        if resize(<void**> &self.running, len(source), sizeof(double)) < 0:
            raise MemoryError(f"no memory for {len(source)} classes")
        Machine.reclass(self, source, factor)

    def coefficients(self):
        raise AttributeError("VotedKernelPerceptron has no dual_coef_: it predicts with the votes of many functions")

    def state(self):
        votes = np.array([self.votes[s] for s in range(self.support.n)])
        return {**Machine.state(self), "votes": votes}

    def restore(self, state):
        Machine.restore(self, state)
        cdef const double[::1] votes = np.ascontiguousarray(state["votes"], dtype=np.float64)
        cdef Py_ssize_t s, n = self.support.n
        whole = np.asarray(votes) == np.floor(votes)
        if len(votes) != n or not (whole & (np.asarray(votes) >= 1)).all() or np.sum(votes) > self.t:
            raise ModelError(f"the votes of {n} functions must be {n} whole numbers from 1 on, at most {self.t} in sum")
        if resize(<void**> &self.votes, n + 1, sizeof(double)) < 0:
            raise MemoryError(f"no memory for {n} votes")
        self.votes_room = n + 1
        for s in range(n):
            self.votes[s] = votes[s]


class VotedKernelPerceptron(KernelClassifier):
    """The kernel perceptron whose past functions vote. The votes of a function are the rounds that it survived.

    It learns as `KernelPerceptron` does. Its score is the sum over k of c_k sgn(f_k(x)), where c_k starts at 1 and
    grows by 1 with each example that f_k classifies correctly. The first function, zero, has no vote. Multiclass: each
    function votes for the class with its highest score. Sample weights are not defined. Memory and the cost of an
    example grow with the mistakes.

    Parameters
    ----------
    kernel, sigma, degree, c : as for `KernelPerceptron`.

    >>> from seriatim import VotedKernelPerceptron, data, evaluate
    >>> run = evaluate.progressive(VotedKernelPerceptron(kernel="polynomial", degree=2), *data.load("digits"))
    >>> run.mistakes
    242

    Freund and Schapire, "Large margin classification using the perceptron algorithm", Machine Learning 37 (1999).
    """

    family = "kernel"
    paper = "Freund and Schapire (1999)"
    loss = "perceptron"

    def build(self):
        return VotedKernelPerceptronLearner(self._kernel())
