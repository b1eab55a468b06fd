"""Learning with several kernels: a weighted vote of one perceptron per kernel, or a norm over all kernels."""

import numpy as np

from libc.math cimport exp, fmax, fmin, log, pow, sqrt
from libc.stdlib cimport free

from seriatim.core.memory cimport allocate
from seriatim.core.random cimport random_uniform
from seriatim.core.row cimport Row
from seriatim.kernel.machine cimport Machine

from seriatim.errors import ModelError
from seriatim.kernel.base import SupportClassifier
from seriatim.kernel.kernels import Kernel, KernelList, forms_of
from seriatim.parameters import Choice, Number

WAYS = ("deterministic", "stochastic")


cdef class OMKCLearner(Machine):
    """One perceptron per kernel over shared support vectors. Column i of alpha holds the coefficients of f_i."""

    NUMBERS = (*Machine.NUMBERS, "draws")

    cdef double beta, delta
    cdef bint some_updates, one_predicts
    cdef unsigned long long seed
    cdef public Py_ssize_t draws     # random numbers drawn so far
    cdef double* theta               # logarithms of the weights; the largest is 0
    cdef double* f                   # f_i(x), then 1 for each kernel that made a mistake

    def __init__(self, list kernels, double beta, double delta, str update, str combination, unsigned long long seed):
        Machine.__init__(self, kernels, fields=len(kernels))
        self.beta, self.delta, self.seed = beta, delta, seed
        self.some_updates, self.one_predicts = update == "stochastic", combination == "stochastic"
        self.theta = <double*> allocate(self.fields, sizeof(double))
        self.f = <double*> allocate(self.fields, sizeof(double))
        if self.theta == NULL or self.f == NULL:
            raise MemoryError(f"no memory for {len(kernels)} kernels")

    def __dealloc__(self):
        free(self.theta)
        free(self.f)

    cdef void all_scores(self, double* out) noexcept nogil:
        """The vote of the kernels, or the score of a randomly drawn kernel. The draw does not count."""
        cdef Py_ssize_t draws = self.draws
        out[0] = self.combined(&draws)

    cdef double combined(self, Py_ssize_t* draws) noexcept nogil:
        cdef Py_ssize_t i
        cdef double total = 0, vote = 0, u
        for i in range(self.fields):
            self.f[i] = self.weigh(i, self.k + i * self.slots)
            total += exp(self.theta[i])
            vote += exp(self.theta[i]) if self.f[i] >= 0 else -exp(self.theta[i])
        if not self.one_predicts:
            return vote / total
        u = random_uniform(self.seed, draws)
        vote = 0
        for i in range(self.fields):
            vote += exp(self.theta[i]) / total
            if vote > u:
                return self.f[i]
        return self.f[self.fields - 1]

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double score, chance, largest = -1e300
        cdef Py_ssize_t i, slot = -1
        cdef bint takes_part
        self.support.evaluate(x, self.k, self.slots)
        score = self.combined(&self.draws)
        self.up, self.down, self.sign = 0, -1, 0
        for i in range(self.fields):
            takes_part = True
            if self.some_updates:
                chance = (1 - self.delta) * exp(self.theta[i]) + self.delta
                takes_part = random_uniform(self.seed, &self.draws) < chance
            self.f[i] = takes_part and y * self.f[i] <= 0
            if self.f[i]:
                if slot < 0:
                    slot = self.add(x, 0)
                    if slot < 0:
                        return score
                self.alpha[i * self.slots + slot] = y
        self.failed = self.failed or self.support.broken
        for i in range(self.fields):
            self.theta[i] += log(self.beta) * self.f[i]
            largest = fmax(largest, self.theta[i])
        for i in range(self.fields):
            self.theta[i] -= largest
        return score

    def kernel_weights(self):
        weights = np.exp([self.theta[i] for i in range(self.fields)])
        return weights / weights.sum()

    def coefficients(self):
        return self.alphas().T

    def state(self):
        return {**Machine.state(self), "theta": np.array([self.theta[i] for i in range(self.fields)])}

    def restore(self, state):
        Machine.restore(self, state)
        cdef const double[::1] theta = np.ascontiguousarray(state["theta"], dtype=np.float64)
        cdef Py_ssize_t i
        if theta.shape[0] != self.fields or np.max(theta) != 0:
            raise ModelError(f"theta must have {self.fields} numbers, of which the largest is 0")
        for i in range(self.fields):
            self.theta[i] = theta[i]


class SeveralKernels(SupportClassifier):
    """A classifier with several kernels and a weight for each."""

    fixed = (*SupportClassifier.fixed, "kernels")
    kernels = KernelList(None, positional=True)

    def _forms(self):
        """The kernels as numbers, for the compiled learner."""
        return [form for kernel in self.parameters["kernels"].of(self.kernels) for form in forms_of(kernel)]

    def _asks_python(self):
        return any(not isinstance(kernel, Kernel) for kernel in self.kernels or ())

    @property
    def kernel_weights_(self):
        """The weight of each kernel."""
        with self._lock:
            return self._fitted().kernel_weights()


class OMKC(SeveralKernels):
    """Online multiple kernel classification: one perceptron per kernel, weighted by Hedge.

    f_i is the perceptron of kernel i, theta_i its weight, which starts at 1, and q = theta / sum theta. If kernel i is
    wrong, y f_i(x) <= 0, then f_i += y k_i(x, .) and theta_i *= beta. The prediction is the sign of
    sum_i q_i sgn f_i(x) (combination "deterministic"), or the sign of f_i(x), where i is drawn with probability q_i
    ("stochastic"). With update "stochastic" a wrong kernel learns only with probability
    (1 - delta) theta_i / max theta + delta. Bad kernels then cost little time.

    A stochastic combination draws a new kernel in each round that it learns. Predictions do not use up a draw, so all
    rows of one `predict` are scored by the same kernel. With beta = sqrt(T) / (sqrt(T) + sqrt(log m)),
    deterministic forms and M mistakes of the best of m kernels in T rounds, there are at most
    2 (1 + sqrt(log(m) / T)) M + 2 log m + 2 sqrt(T log m) mistakes. Binary only. An example costs m kernels per support
    vector. A row is a support vector if any kernel learned it.

    Parameters
    ----------
    kernels : a list of kernels from `seriatim.kernel`. None means the sixteen of the paper: polynomials of degree 1 to
        3 and gaussians of width 2^-6 to 2^6. On the command line: kernels=gaussian:2,gaussian:8,polynomial:2.
    update : deterministic or stochastic.
    combination : deterministic or stochastic.
    beta : the factor of a weight after a mistake, above 0 and below 1.
    delta : the smallest probability to learn, from 0 to 1.
    seed : seed of the random draws, a whole number from 0 on.

    >>> from seriatim import OMKC, data, evaluate
    >>> from seriatim.kernel import Gaussian, Polynomial
    >>> model = OMKC([Polynomial(1), Polynomial(2), Gaussian(1.0), Gaussian(8.0)], features={"normalize": "max"})
    >>> evaluate.progressive(model, *data.load("spam")).mistakes
    690

    Hoi, Jin, Zhao and Yang, "Online multiple kernel classification", Machine Learning 90 (2013); Jin, Hoi and Yang, ALT
    2010.
    """

    family = "kernel"
    paper = "Hoi et al. (2013)"
    loss = "perceptron"
    binary = True
    update = Choice("deterministic", WAYS)
    combination = Choice("deterministic", WAYS)
    beta = Number(0.8, above=0, below=1)
    delta = Number(0.01, least=0, most=1)
    seed = Number(0, least=0, integer=True)

    def build(self):
        seed = int(self.seed) % 2**64
        return OMKCLearner(self._forms(), self.beta, self.delta, self.update, self.combination, seed)


cdef class OM2Learner(Machine):
    """theta_j = sum of alpha k_j(x_s, .) with the same alpha for all kernels; f = sum_j c_j theta_j."""

    cdef double q
    cdef double* squares             # |theta_j|^2
    cdef double* c                   # c_j
    cdef double* part                # the margin of theta_j

    def __init__(self, list kernels):
        Machine.__init__(self, kernels)
        self.q = fmax(2, 2 * log(<double> len(kernels)))
        self.squares = <double*> allocate(len(kernels), sizeof(double))
        self.c = <double*> allocate(len(kernels), sizeof(double))
        self.part = <double*> allocate(len(kernels), sizeof(double))
        if self.squares == NULL or self.c == NULL or self.part == NULL:
            raise MemoryError(f"no memory for {len(kernels)} kernels")
        self.weigh_kernels()

    def __dealloc__(self):
        free(self.squares)
        free(self.c)
        free(self.part)

    cdef void weigh_kernels(self) noexcept nogil:
        """c_j = (|theta_j| / |theta|_{2,q})^(q-2) / q. While all norms are 0, they count as equal."""
        cdef Py_ssize_t j, F = self.support.kernels
        cdef double largest = 0, total = 0
        for j in range(F):
            largest = fmax(largest, self.squares[j])
        for j in range(F):
            total += pow(self.squares[j] / largest, self.q / 2) if largest > 0 else 1
        total = pow(total, 1 / self.q)
        for j in range(F):
            self.c[j] = pow((sqrt(self.squares[j] / largest) if largest > 0 else 1) / total, self.q - 2) / self.q

    cdef void current(self, double* out) noexcept nogil:
        cdef Py_ssize_t c, j
        for c in range(self.classes):
            out[c] = 0
            for j in range(self.support.kernels):
                out[c] += self.c[j] * self.weigh(c, self.k + j * self.slots)

    cdef double own(self, const Row* x) noexcept nogil:
        """The largest k_j(x, x)."""
        cdef Py_ssize_t j
        cdef double largest = 0
        for j in range(self.support.kernels):
            largest = fmax(largest, self.support.itself(x, j))
        return largest

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        """If the margin m is at most 1 and eta = min(1, 1 - 2 m / |z|^2) > 0, x gets the coefficient eta."""
        cdef Py_ssize_t j, F = self.support.kernels
        cdef double times = 1 if self.classes == 1 else 2, largest = own / times, total = 0, eta
        if margin > 1:
            return
        for j in range(F):
            total += pow(fmax(0, self.support.itself(x, j)) / largest, self.q / 2)
        eta = fmin(1, 1 - 2 * margin / (own * pow(total, 2 / self.q)))
        if eta <= 0:
            return
        for j in range(F):
            self.part[j] = self.sign * self.weigh(self.up, self.k + j * self.slots)
            if self.down >= 0:
                self.part[j] -= self.weigh(self.down, self.k + j * self.slots)
        if self.add(x, eta) < 0:
            return
        for j in range(F):
            own = times * self.support.itself(x, j)
            self.squares[j] = fmax(0, self.squares[j] + 2 * eta * self.part[j] + eta * eta * own)
        self.weigh_kernels()

    def kernel_weights(self):
        return np.array([self.c[j] for j in range(self.support.kernels)])

    def reclass(self, source, factor):
        cdef Py_ssize_t j
        cdef bint shared_out = self.classes == 1 and len(source) > 1
        Machine.reclass(self, source, factor)
        for j in range(self.support.kernels if shared_out else 0):    # each of two classes gets half of theta
            self.squares[j] /= 2

    def state(self):
        return {**Machine.state(self), "squares": np.array([self.squares[j] for j in range(self.support.kernels)])}

    def restore(self, state):
        Machine.restore(self, state)
        cdef const double[::1] squares = np.ascontiguousarray(state["squares"], dtype=np.float64)
        cdef Py_ssize_t j
        if squares.shape[0] != self.support.kernels or np.min(squares) < 0:
            raise ModelError(f"the norms {np.asarray(squares)} are not {self.support.kernels} numbers from 0 on")
        for j in range(self.support.kernels):
            self.squares[j] = squares[j]
        self.weigh_kernels()


class OM2(SeveralKernels):
    """OM-2: one set of coefficients for all kernels, with a norm that gives better kernels more weight.

    theta_j is the sum of alpha k_j(x_s, .) over the support vectors x_s, and f = sum_j c_j theta_j with
    c_j = (|theta_j| / |theta|_{2,q})^(q-2) / q, |theta|_{2,q} = (sum_j |theta_j|^q)^(1/q) and q = max(2, 2 log F) for F
    kernels. If the margin m is at most 1, let eta = min(1, 1 - 2 m / |z|^2), |z|^2 = (sum_j k_j(x, x)^(q/2))^(2/q). If
    eta > 0, x becomes a support vector with the coefficient eta. Multiclass: m = f_y(x) - f_s(x), where s is the
    wrong class with the highest score; x gets eta in f_y and -eta in f_s, and |z|^2 counts twice. An example costs F
    kernels per support vector.

    Parameters
    ----------
    kernels : as for `OMKC`.

    >>> from seriatim import OM2, data, evaluate
    >>> from seriatim.kernel import Cosine, Gaussian
    >>> run = evaluate.progressive(OM2([Cosine(), Gaussian(10.0), Gaussian(40.0)]), *data.load("digits"))
    >>> run.mistakes
    139

    Jie, Orabona, Fornoni, Caputo and Cesa-Bianchi, "OM-2: an online multi-class multi-kernel learning algorithm", CVPR
    Workshops 2010.
    """

    family = "kernel"
    paper = "Jie et al. (2010)"
    loss = "hinge"

    def build(self):
        return OM2Learner(self._forms())
