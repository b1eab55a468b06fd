"""Online gradient descent on random Fourier features, which approximate a gaussian kernel."""

import numpy as np

from libc.math cimport cos, fmax, sin
from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.learner cimport DictReader, Learner
from seriatim.core.memory cimport allocate, resize
from seriatim.core.random cimport random_normal
from seriatim.core.row cimport Row
from seriatim.kernel.support cimport add_multiple, weighted_sum

from seriatim.errors import LimitError, ModelError
from seriatim.estimator import Absent, Classifier
from seriatim.parameters import Number, powers

cdef Py_ssize_t MAX_BYTES = 1 << 32
cdef double LEAST = 1e-100    # the smallest width, so that phases stay finite


cdef class FOGDLearner(Learner):
    """w += eta y z(x), z(x) = (cos u_1.x, ..., sin u_1.x, ...)."""

    NUMBERS = (*Learner.NUMBERS, "records")

    cdef double sigma, eta
    cdef Py_ssize_t half             # number of frequencies u_i
    cdef Py_ssize_t length           # components of z: a cosine and a sine per frequency
    cdef unsigned long long seed
    cdef double* w                   # weights; class c begins at c * length
    cdef double* z
    cdef double** frequency          # for each column: its entry of all u_i, or NULL before its first value
    cdef Py_ssize_t columns, columns_room, drawn
    cdef public Py_ssize_t records   # features + 1, as in a table
    cdef bint crowded                # whether the frequencies would exceed the memory limit

    def __init__(self, double sigma, Py_ssize_t components, double eta, unsigned long long seed):
        if 2 * components * 8 > MAX_BYTES:
            raise LimitError(
                f"n_components={components}: would need more than {MAX_BYTES >> 30} GiB, which is the limit; "
                f"it must be at most {MAX_BYTES // 16}"
            )
        self.sigma, self.eta, self.seed = sigma, eta, seed
        self.half, self.length = (components + 1) // 2, components
        self.records = 1
        self.weighted = True
        self.z = <double*> allocate(components, sizeof(double))
        self.w = <double*> allocate(components, sizeof(double))
        if self.z == NULL or self.w == NULL:
            raise MemoryError(f"no memory for {components} components")

    def __dealloc__(self):
        cdef Py_ssize_t j
        for j in range(self.columns):
            free(self.frequency[j])
        free(self.frequency)
        free(self.w)
        free(self.z)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t room
        if rows - 1 <= self.columns:
            return 0
        if rows > self.columns_room:
            room = max(rows, min(2 * self.columns_room, 1 << 28), 16)
            if room > 1 << 29 or resize(<void**> &self.frequency, room, sizeof(double*)) < 0:
                raise LimitError(f"feature {rows - 1} would need more than {MAX_BYTES >> 30} GiB, which is the limit")
            self.columns_room = room
        memset(self.frequency + self.columns, 0, (rows - 1 - self.columns) * sizeof(double*))
        self.columns, self.records = rows - 1, rows
        return 0

    cdef int features(self, const Row* x) noexcept nogil:
        """Compute z(x). Returns -1 if there is no memory for the frequencies of its columns."""
        cdef Py_ssize_t i, j, k
        cdef double phase
        memset(self.z, 0, self.half * sizeof(double))
        for i in range(x.n):
            j = i if x.index == NULL else x.index[i]
            if x.value[i] == 0:
                continue
            if j >= self.columns:    # a new column; predictions do not store it
                for k in range(self.half):
                    self.z[k] += x.value[i] * self.component(j, k)
                continue
            if self.frequency[j] == NULL and self.draw(j) < 0:
                return -1
            add_multiple(self.half, x.value[i], self.frequency[j], self.z)
        for i in range(self.half):
            phase = self.z[i]
            self.z[i] = cos(phase)
            if self.half + i < self.length:
                self.z[self.half + i] = sin(phase)
        return 0

    cdef int draw(self, Py_ssize_t j) noexcept nogil:
        """Store the entries of a column in all u_i. They depend only on the column and the seed."""
        cdef Py_ssize_t i
        cdef double* found
        self.crowded = (self.drawn + 1) * self.half * 8 > MAX_BYTES
        found = NULL if self.crowded else <double*> allocate(self.half, sizeof(double))
        if found == NULL:
            return -1
        for i in range(self.half):
            found[i] = self.component(j, i)
        self.frequency[j] = found
        self.drawn += 1
        return 0

    cdef double component(self, Py_ssize_t j, Py_ssize_t i) noexcept nogil:
        """The entry of u_i in column j."""
        return random_normal(self.seed, j * self.half + i) / fmax(self.sigma, LEAST)

    cdef double score(self, const Row* x) noexcept nogil:
        cdef double f = 0
        self.scores(x, &f)
        return f

    cdef void scores(self, const Row* x, double* out) noexcept nogil:
        cdef Py_ssize_t c
        if self.features(x) < 0:
            self.failed = True
        for c in range(self.classes):
            out[c] = weighted_sum(self.length, self.w + c * self.length, self.z)

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = 0
        self.scores(x, &f)
        if self.failed:
            self.t -= 1
        elif y * f < 1:
            add_multiple(self.length, self.eta * y * self.weight, self.z, self.w)
            self.updates += self.weight > 0
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t s
        self.scores(x, out)
        s = self.rival(y, out)
        if self.failed:
            self.t -= 1
        elif s >= 0 and out[y] - out[s] < 1:
            add_multiple(self.length, self.eta * self.weight, self.z, self.w + y * self.length)
            add_multiple(self.length, -self.eta * self.weight, self.z, self.w + s * self.length)
            self.updates += self.weight > 0

    cdef score_read(self, DictReader reader):
        scores = Learner.score_read(self, reader)
        self.check_memory()
        return scores

    def check_memory(self):
        if self.failed and self.crowded:
            self.failed = self.crowded = False
            raise LimitError(
                f"the frequencies would take more than {MAX_BYTES >> 30} GiB, the limit; use fewer n_components"
            )
        Learner.check_memory(self)

    def coefficients(self):
        """The weights, one row per class."""
        cdef Py_ssize_t c, i
        array = np.empty((self.classes, self.length))
        cdef double[:, ::1] out = array
        for c in range(self.classes):
            for i in range(self.length):
                out[c, i] = self.w[c * self.length + i]
        return array

    def set_coefficients(self, const double[:, ::1] coefficients):
        cdef Py_ssize_t c, i
        for c in range(self.classes):
            for i in range(self.length):
                self.w[c * self.length + i] = coefficients[c, i]

    def reclass(self, source, factor):
        old = self.coefficients()
        changed = np.zeros((len(source), self.length))
        for k, place in enumerate(source):
            if place >= 0:
                changed[k] = factor[k] * old[place] + 0.0
        w = <double*> allocate(changed.size, sizeof(double))
        if w == NULL:
            raise MemoryError(f"no memory for {len(source)} classes of {self.length} components")
        Learner.reclass(self, source, factor)
        free(self.w)
        self.w = w
        self.set_coefficients(changed)

    def state(self):
        return {**Learner.state(self), "z_weights": self.coefficients()}

    def restore(self, state):
        Learner.restore(self, state)
        if self.records < 1 or state["z_weights"].shape != (self.classes, self.length):
            raise ModelError(f"the weights must have the shape ({self.classes}, {self.length}), and records be above 0")
        self.grow(self.records)
        self.set_coefficients(np.ascontiguousarray(state["z_weights"], dtype=np.float64))


class FOGD(Classifier):
    """Fourier online gradient descent: a linear model of random features that approximate a gaussian kernel.

    z(x) = (cos u_1.x, ..., cos u_H.x, sin u_1.x, ..., sin u_H.x), where the entries of u_i are normal with standard
    deviation 1 / sigma. Then z(x).z(x') / H approximates exp(-|x - x'|^2 / (2 sigma^2)). If the margin is below 1,
    w += eta y z(x). Multiclass: w_y += eta z(x) and w_s -= eta z(x), where s is the wrong class with the highest score.

    There are no support vectors. An example costs n_components times its non-zeros, and memory is n_components times
    the number of features. The frequencies of a feature depend on the seed and on its column; named features get
    columns in order of appearance. A sample weight multiplies the step.

    Parameters
    ----------
    sigma : width of the kernel, above 0.
    n_components : 2 H, at least 1; an odd number drops the last sine.
    eta : step size, above 0.
    seed : seed of the frequencies, a whole number from 0 on.

    >>> from seriatim import FOGD, data, evaluate
    >>> run = evaluate.progressive(FOGD(sigma=20), *data.load("digits"))
    >>> run.mistakes
    115

    Lu, Hoi, Wang, Zhao and Liu, "Large scale online kernel learning", JMLR 17 (2016).
    """

    family = "kernel"
    paper = "Lu et al. (2016)"
    loss = "hinge"
    fit_intercept = False
    sparsify = densify = Absent()
    fixed = (*Classifier.fixed, "sigma", "n_components", "seed")
    sigma = Number(1.0, above=0, search=powers(-3, 6))
    n_components = Number(400, least=1, below=10**9, integer=True)
    eta = Number(0.001, above=0, search=powers(-14, 0))
    seed = Number(0, least=0, integer=True)

    def build(self):
        return FOGDLearner(self.sigma, self.n_components, self.eta, int(self.seed) % 2**64)
