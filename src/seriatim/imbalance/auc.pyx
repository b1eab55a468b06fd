"""The area under the ROC curve: positive examples should score above negative ones."""

from libc.math cimport fmax, fmin
from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.learner cimport LinearLearner
from seriatim.core.memory cimport resize
from seriatim.core.reservoir cimport Kept, Reservoir, add_kept, product
from seriatim.core.row cimport Row, add, dot, record, sum_of_squares

from seriatim.core.recolumn import SparseRows
from seriatim.errors import ModelError
from seriatim.estimator import Classifier
from seriatim.parameters import Choice, Number, powers

UPDATES = ("sequential", "gradient")


cdef class OAMLearner(LinearLearner):
    """Steps along y (x - z) for stored rows z of the other class; the loss of a pair is [1 - y w.(x - z)]+."""

    cdef double C
    cdef bint gradient
    cdef Py_ssize_t capacity
    cdef unsigned long long seed
    cdef Reservoir positive, negative
    cdef public Py_ssize_t positives, negatives    # rows seen
    cdef public Py_ssize_t draws                   # random numbers so far
    cdef double* spread                            # x by column; zero between rounds
    cdef double* scores_of                         # w.z of each stored row z
    cdef Py_ssize_t columns, scores_room

    NUMBERS = (*LinearLearner.NUMBERS, "positives", "negatives", "draws")

    def __init__(self, double C, Py_ssize_t capacity, str update, unsigned long long seed):
        LinearLearner.__init__(self)
        self.C, self.capacity, self.gradient, self.seed = C, capacity, UPDATES.index(update), seed
        self.positive, self.negative = Reservoir(capacity), Reservoir(capacity)
        self.grow(1)

    def __dealloc__(self):
        free(self.spread)
        free(self.scores_of)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t columns = max(rows, 2 * self.columns)
        self.table.grow(rows)
        if rows > self.columns:
            if resize(<void**> &self.spread, columns, sizeof(double)) < 0:
                raise MemoryError(f"no memory for {columns} columns")
            memset(self.spread + self.columns, 0, (columns - self.columns) * sizeof(double))
            self.columns = columns
        return 0

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        """Algorithm 1: offer x to the buffer of its own class, then update w with the other buffer."""
        cdef double f = dot(x, self.table.data, 1)
        cdef Row row = x[0]
        row.constant = 0    # that of x - z
        if self.keep(&row, y) < 0:
            self.failed = True
            self.t -= 1
        elif y > 0:
            self.updates += self.rank(&row, y, f, self.negatives, self.negative.rows, self.negative.n)
        else:
            self.updates += self.rank(&row, y, f, self.positives, self.positive.rows, self.positive.n)
        return f

    cdef int keep(self, const Row* x, double y) noexcept nogil:
        """Algorithm 2; -1 if there is no memory, and then nothing has changed."""
        cdef Py_ssize_t others = self.negative.n if y > 0 else self.positive.n
        if others > self.scores_room:
            if resize(<void**> &self.scores_of, 2 * others, sizeof(double)) < 0:
                return -1
            self.scores_room = 2 * others
        if y > 0:
            if self.positive.offer(x, self.positives + 1, self.seed, &self.draws) < 0:
                return -1
            self.positives += 1
        else:
            if self.negative.offer(x, self.negatives + 1, self.seed, &self.draws) < 0:
                return -1
            self.negatives += 1
        return 0

    cdef bint rank(self, const Row* x, double y, double f, Py_ssize_t seen, const Kept* others,
                   Py_ssize_t n) noexcept nogil:
        """Learn that x should score above (y = 1) or below the n stored others; return whether w has changed."""
        cdef double C = self.C * (fmax(1, <double> seen / self.capacity) if self.capacity else 1)
        if self.gradient:
            return self.descend(x, y, f, C / 2, others, n)
        return self.step_by_step(x, y, f, C / 2, others, n)

    cdef bint descend(self, const Row* x, double y, double f, double eta, const Kept* others,
                      Py_ssize_t n) noexcept nogil:
        """Algorithm 4: w += C_t/2 y times the sum of x - z over the pairs with a loss, all with the same w."""
        cdef double* w = self.table.data + 1
        cdef Py_ssize_t k, pairs = 0
        for k in range(n):
            self.scores_of[k] = product(&others[k], w)
        for k in range(n):
            if y * (f - self.scores_of[k]) <= 1:
                add_kept(&others[k], -eta * y, w)
                pairs += 1
        add(x, eta * y * pairs, self.table.data, 1)
        return pairs > 0

    cdef bint step_by_step(self, const Row* x, double y, double f, double C, const Kept* others,
                           Py_ssize_t n) noexcept nogil:
        """Algorithm 3: for each z in turn w += tau y (x - z), tau = min(C_t/2, l / |x - z|^2).

        The multiple of x is added at the end: until then the weights are the table plus `total` y x.
        """
        cdef double* w = self.table.data + 1
        cdef double loss, norm2, tau, xz, total = 0, x2 = sum_of_squares(x.value, x.n)
        cdef Py_ssize_t i, k
        for i in range(x.n):
            self.spread[record(x, i) - 1] = x.value[i]
        for k in range(n):
            loss = 1 - y * (f - product(&others[k], w))
            if loss <= 0 and total == 0:
                continue
            xz = product(&others[k], self.spread)
            loss += total * xz
            if loss > 0:
                norm2 = x2 + others[k].norm2 - 2 * xz
                if norm2 < 1e-3 * x2:    # x and z are almost equal, and the difference is inexact
                    norm2 = self.distance2(x, &others[k])
                if norm2 > 1e-150:
                    tau = fmin(C, loss / norm2)
                    add_kept(&others[k], -tau * y, w)
                    f += tau * y * (x2 - xz)
                    total += tau
        add(x, total * y, self.table.data, 1)
        for i in range(x.n):
            self.spread[record(x, i) - 1] = 0
        return total > 0

    cdef double distance2(self, const Row* x, const Kept* z) noexcept nogil:
        """|x - z|^2, difference by difference, where x is in `spread`."""
        cdef double total = 0
        cdef Py_ssize_t i
        for i in range(z.n):
            total += (self.spread[z.index[i]] - z.value[i]) ** 2
            self.spread[z.index[i]] = 0
        for i in range(x.n):
            total += self.spread[record(x, i) - 1] ** 2
        for i in range(x.n):
            self.spread[record(x, i) - 1] = x.value[i]
        return total

    def expect_room(self, Py_ssize_t values):
        """Raise LimitError if there is no room for this number of values."""
        self.positive.expect_room(0 if self.capacity else values)
        self.negative.expect_room(0 if self.capacity else values)

    def check_memory(self):
        if self.failed:
            self.positive.expect_room(0)
            self.negative.expect_room(0)
        LinearLearner.check_memory(self)

    def reclass(self, source, factor):
        """Where the classes change places, swap the buffers."""
        LinearLearner.reclass(self, source, factor)
        if len(factor) == 1 and factor[0] < 0:
            self.positive, self.negative = self.negative, self.positive
            self.positives, self.negatives = self.negatives, self.positives

    def column_arrays(self):
        return {**LinearLearner.column_arrays(self), "positive_": SparseRows(), "negative_": SparseRows()}

    def state(self):
        buffers = {"positive": self.positive, "negative": self.negative}
        rows = {f"{name}_{part}": array for name, kept in buffers.items() for part, array in kept.state().items()}
        return {**LinearLearner.state(self), **rows}

    def restore(self, state):
        LinearLearner.restore(self, state)
        self.grow(self.table.rows)
        for name, seen, kept in (("positive", self.positives, self.positive),
                                 ("negative", self.negatives, self.negative)):
            kept.restore({part: state[f"{name}_{part}"] for part in ("start", "index", "value")}, self.table.rows - 1)
            if kept.n != (min(seen, self.capacity) if self.capacity else seen):
                raise ModelError(f"{kept.n} {name} rows are stored of {seen}")
        if self.positives + self.negatives != self.t:
            raise ModelError(f"{self.positives} and {self.negatives} rows in {self.t} rounds")


class OAM(Classifier):
    """Online AUC maximisation: positive examples learn to score above a stored sample of negative ones, and vice versa.

    The model stores a uniform sample of `buffer_size` rows of each class (reservoir sampling). It first offers x to the
    buffer of its own class. Then w learns from x and each stored z of the other class with C_t = C max(1, N /
    buffer_size), where N counts the rows of that class so far. "sequential": for each z in turn,
    l = [1 - y w.(x - z)]+ and w += min(C_t/2, l / |x - z|^2) y (x - z). "gradient": w += C_t/2 times the sum of
    y (x - z) over the z with y w.(x - z) <= 1, all with the same w. A pair x = z takes no step. A row of zeros is
    learned like any other.

    The score w.x ranks. The intercept cancels in x - z, so `fit_intercept` changes nothing. The paper has no threshold:
    `predict` takes the sign of w.x, whatever the fractions of the classes. Binary; sample weights are not defined. An
    example costs the non-zeros of the stored rows of the other class.

    Parameters
    ----------
    C : aggressiveness, above 0.
    buffer_size : rows stored for each class, at least 1. None stores all: memory grows with the stream, up to 4 GiB for
        a class, and time with its square.
    update : sequential or gradient.
    seed : seed of the sample, a whole number from 0 on.

    >>> from seriatim import OAM, data, evaluate
    >>> model = OAM(C=0.01, features={"normalize": "max"})
    >>> round(evaluate.progressive(model, *data.load("spam"), metrics=["auc"]).figures["auc"], 3)
    0.952

    Zhao, Hoi, Jin and Yang, "Online AUC maximization", ICML 2011.
    """

    family = "imbalance"
    paper = "Zhao et al. (2011)"
    loss = "hinge"
    binary = True
    fixed = (*Classifier.fixed, "buffer_size")
    C = Number(1.0, above=0, search=powers(-10, 10, 2))
    buffer_size = Number(100, least=1, below=10**9, integer=True, optional=True)
    update = Choice("sequential", UPDATES)
    seed = Number(0, least=0, integer=True)

    def build(self):
        return OAMLearner(self.C, self.buffer_size or 0, self.update, int(self.seed) % 2**64)

    def begin(self, rows, classes=None):
        super().begin(rows, classes)
        self._learner.expect_room(rows.nonzeros)
