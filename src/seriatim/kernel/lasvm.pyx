"""LASVM: a support vector machine that learns from a stream by updates of its dual."""

from math import isqrt

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs, fmax, fmin
from libc.stdlib cimport free
from libc.string cimport memcpy

from seriatim.core.reservoir cimport Kept
from seriatim.core.memory cimport allocate
from seriatim.core.row cimport Row
from seriatim.kernel.machine cimport Machine

from seriatim.errors import LimitError, ModelError
from seriatim.kernel.base import KernelClassifier
from seriatim.parameters import Choice, Number, powers

MAX_BYTES = 1 << 32              # limit of the kernel matrix of the support vectors
SELECTIONS = ("random", "gradient", "margin")
cdef double NOTHING = 1e-9       # a smaller difference of gradients is rounding
cdef double RECENT = 1000        # rounds over which `unrest` is averaged

cdef enum:
    SEED_ROWS = 5                # rows of each label before the first update

cdef enum Field:                 # the columns of alpha
    ALPHA
    G                            # the gradient of the dual, y - sum of alpha k
    LABEL                        # y times its sample weight
    BORN                         # the round in which the row came
    WAITS                        # 1: a candidate, which is not yet in the set

cdef enum Selection:
    RANDOM
    GRADIENT
    MARGIN

cdef struct Extremes:            # the pair of the set that violates optimality most; -1: none
    Py_ssize_t i, j


cdef class LASVMLearner(Machine):
    """Maximise sum alpha_s y_s - 1/2 sum alpha_s alpha_r k_sr with sum alpha_s = 0 and alpha_s between 0 and C y_s."""

    NUMBERS = (*Machine.NUMBERS, "b", "unrest", "seeded", "waiting_rows")

    cdef double C, tau, beyond
    cdef int selection
    cdef Py_ssize_t candidates
    cdef public double b
    cdef public double unrest              # running mean of the violations of optimality
    cdef public Py_ssize_t seeded          # 1: there were enough rows of each label
    cdef public Py_ssize_t waiting_rows
    cdef double* matrix                    # the kernel matrix of the support vectors, in rows of `side` numbers
    cdef Py_ssize_t side, widest
    cdef bint known                        # False for a loaded model until the matrix is needed
    cdef bint crowded                      # whether the matrix would exceed the memory limit

    def __init__(self, kernel, double C, double tau, double beyond, str selection, Py_ssize_t candidates):
        Machine.__init__(self, **kernel, fields=5)
        self.C, self.tau, self.beyond = C, tau, beyond
        self.selection, self.candidates = SELECTIONS.index(selection), candidates
        self.widest = isqrt(MAX_BYTES // sizeof(double))
        self.known = True
        self.weighted = True

    def __dealloc__(self):
        free(self.matrix)

    # ---- a round

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f
        cdef Py_ssize_t updates = self.updates
        cdef Py_ssize_t slot = self.enter(x, y)
        if slot < 0:
            return 0
        f = y - self.alpha[G * self.slots + slot] + self.b
        if self.weight == 0:
            self.leave(slot)
            return f
        if self.is_known(slot):
            self.leave(slot)
        elif self.seeded and self.selection != RANDOM:
            self.alpha[WAITS * self.slots + slot] = 1
            self.waiting_rows += 1
            if self.waiting_rows < self.candidates:
                return f
            slot = self.best_candidate()
        if self.seeded:
            self.reprocess(slot < self.support.n and self.process(slot))
            self.updates = min(self.updates, updates + 1)
        else:
            self.seeded = self.balanced()
        return f

    cdef bint process(self, Py_ssize_t slot) noexcept nogil:
        """PROCESS: a row enters the set and is updated with the row with which it violates optimality most."""
        cdef Extremes most
        if self.alpha[WAITS * self.slots + slot]:
            self.alpha[WAITS * self.slots + slot] = 0
            self.waiting_rows -= 1
        most = self.extremes()
        if self.alpha[LABEL * self.slots + slot] > 0:
            return self.step(slot, most.j)
        return self.step(most.i, slot)

    cdef void reprocess(self, bint processed) noexcept nogil:
        """REPROCESS: update the pair that violates optimality most, then remove rows that have become useless."""
        cdef Extremes most = self.extremes()
        cdef double violation = self.violation(most)
        cdef bint moved = self.step(most.i, most.j)
        self.unrest += ((violation if moved else 0) - self.unrest) / RECENT
        if moved or processed:
            most = self.extremes()
            self.b = self.middle(most)
        self.evict(most, fmin(self.beyond, self.unrest))

    cdef double violation(self, Extremes most) noexcept nogil:
        if most.i < 0 or most.j < 0:
            return 0
        return self.alpha[G * self.slots + most.i] - self.alpha[G * self.slots + most.j]

    cdef double middle(self, Extremes most) noexcept nogil:
        return (self.alpha[G * self.slots + most.i] + self.alpha[G * self.slots + most.j]) / 2

    cdef void evict(self, Extremes most, double beyond) noexcept nogil:
        """Remove the rows with alpha = 0 whose gradient lies at least `beyond` past the extremes."""
        cdef Py_ssize_t s
        cdef double high, low
        cdef const double* g = self.alpha + G * self.slots
        cdef const double* label = self.alpha + LABEL * self.slots
        if most.i < 0 or most.j < 0:
            return
        high, low = g[most.i] + beyond, g[most.j] - beyond
        for s in range(self.support.n - 1, -1, -1):
            if (self.alpha[s] == 0 and not self.alpha[WAITS * self.slots + s]
                    and (g[s] >= high if label[s] < 0 else g[s] <= low)):
                self.leave(s)

    cdef bint step(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """alpha_i += lambda and alpha_j -= lambda with the best lambda, if they violate optimality by more than tau."""
        cdef double* g = self.alpha + G * self.slots
        cdef double change, curvature, up, down
        cdef Py_ssize_t s
        cdef const double* ki
        cdef const double* kj
        if i < 0 or j < 0 or not g[i] - g[j] > self.tau:
            return False
        up, down = self.highest(i) - self.alpha[i], self.alpha[j] - self.lowest(j)
        if not (up > 0 and down > 0):
            return False
        curvature = self.kernel(i, i) + self.kernel(j, j) - 2 * self.kernel(i, j)
        change = fmin(fmin(up, down), (g[i] - g[j]) / fmax(curvature, 1e-12))
        if self.alpha[i] + change == self.alpha[i] and self.alpha[j] - change == self.alpha[j]:
            return False    # too small to change alpha, now and later
        self.alpha[i] = self.highest(i) if self.reaches(i, up - change) else self.alpha[i] + change
        self.alpha[j] = self.lowest(j) if self.reaches(j, down - change) else self.alpha[j] - change
        ki, kj = self.matrix + i * self.side, self.matrix + j * self.side
        for s in range(self.support.n):
            g[s] -= change * (ki[s] - kj[s])
        self.updates += 1
        return True

    cdef Extremes extremes(self) noexcept nogil:
        """The largest g where alpha may grow, and the smallest g where it may shrink. The oldest row wins a tie.

        An update within the bounds makes two gradients equal up to rounding, so differences up to 1e-9 are ties.
        """
        cdef Extremes most
        cdef Py_ssize_t s
        cdef double high = -INFINITY, low = INFINITY
        cdef const double* g = self.alpha + G * self.slots
        cdef const double* waits = self.alpha + WAITS * self.slots
        cdef const double* born = self.alpha + BORN * self.slots
        most.i = most.j = -1
        for s in range(self.support.n):
            if g[s] > high and self.alpha[s] < self.highest(s) and not waits[s]:
                high = g[s]
            if g[s] < low and self.alpha[s] > self.lowest(s) and not waits[s]:
                low = g[s]
        for s in range(self.support.n):
            if (g[s] >= high - NOTHING and self.alpha[s] < self.highest(s) and not waits[s]
                    and (most.i < 0 or born[s] < born[most.i])):
                most.i = s
            if (g[s] <= low + NOTHING and self.alpha[s] > self.lowest(s) and not waits[s]
                    and (most.j < 0 or born[s] < born[most.j])):
                most.j = s
        return most

    cdef bint reaches(self, Py_ssize_t s, double rest) noexcept nogil:
        """Whether alpha is at its bound, up to rounding."""
        return rest <= 1e-12 * (self.highest(s) - self.lowest(s))

    cdef double highest(self, Py_ssize_t s) noexcept nogil:
        return fmax(0, self.C * self.alpha[LABEL * self.slots + s])

    cdef double lowest(self, Py_ssize_t s) noexcept nogil:
        return fmin(0, self.C * self.alpha[LABEL * self.slots + s])

    cdef Py_ssize_t best_candidate(self) noexcept nogil:
        """The candidate with the smallest y f(x) (gradient) or the smallest |f(x)| (margin); -1 if there is none."""
        cdef Py_ssize_t s, best = -1
        cdef double f, y, least = 0
        cdef const double* born = self.alpha + BORN * self.slots
        for s in range(self.support.n):
            if self.alpha[WAITS * self.slots + s]:
                y = 1 if self.alpha[LABEL * self.slots + s] > 0 else -1
                f = y - self.alpha[G * self.slots + s] + self.b
                f = y * f if self.selection == GRADIENT else fabs(f)
                if best < 0 or f < least or (f == least and born[s] < born[best]):
                    best, least = s, f
        return best

    cdef bint balanced(self) noexcept nogil:
        """Whether there are SEED_ROWS rows of each label."""
        cdef Py_ssize_t s, positive = 0
        for s in range(self.support.n):
            positive += self.alpha[LABEL * self.slots + s] > 0
        return positive >= SEED_ROWS and self.support.n - positive >= SEED_ROWS

    def finish(self):
        """Learn all candidates. Then update until no pair violates optimality by more than tau.

        Rows are removed only after the last update, as in the authors' program, because updates may still need them.
        """
        cdef Py_ssize_t _, updates = self.updates, begun, left = max(10**6, 100 * self.support.n)
        cdef bint moved = True
        cdef Extremes most
        self.support.expect_idle()
        self.learn_matrix()
        if self.failed:
            self.check_memory()
        try:
            while self.waiting_rows:
                PyErr_CheckSignals()
                self.reprocess(self.process(self.best_candidate()))
            begun = self.updates
            while moved and left > 0:
                PyErr_CheckSignals()
                with nogil:
                    for _ in range(10_000):
                        most = self.extremes()
                        moved = self.step(most.i, most.j)
                        if not moved:
                            break
                left -= 10_000
                most = self.extremes()
                if self.updates > begun:
                    self.b = self.middle(most)
            self.evict(most, 0)
        finally:
            self.updates = updates    # it counts rounds, not updates of pairs

    # ---- the set

    cdef Py_ssize_t enter(self, const Row* x, double y) noexcept nogil:
        """Store x, its gradient and its row of the matrix. Returns its slot, or -1 without a change."""
        cdef Py_ssize_t slot, s
        self.learn_matrix()
        if not self.failed:
            self.make_matrix(self.support.n + 1)
        if self.failed:
            return -1
        self.up, self.down, self.sign = 0, -1, 1
        slot = self.add(x, 0)
        if slot < 0:
            return -1
        self.updates -= 1
        self.kernels_of(slot)
        if self.support.broken:
            self.remove(slot)
            self.failed = True
            return -1
        for s in range(slot + 1):
            self.matrix[slot * self.side + s] = self.matrix[s * self.side + slot] = self.k[s]
        self.alpha[G * self.slots + slot] = y - self.weigh(0, self.k)
        self.alpha[LABEL * self.slots + slot] = y * self.weight
        self.alpha[BORN * self.slots + slot] = self.t
        return slot

    cdef void leave(self, Py_ssize_t slot) noexcept nogil:
        """Remove a row. The last row moves to its slot."""
        cdef Py_ssize_t s, last = self.support.n - 1
        self.remove(slot)
        if slot < last:
            memcpy(self.matrix + slot * self.side, self.matrix + last * self.side, last * sizeof(double))
            self.matrix[slot * self.side + slot] = self.matrix[last * self.side + last]
            for s in range(last):
                self.matrix[s * self.side + slot] = self.matrix[slot * self.side + s]

    cdef bint is_known(self, Py_ssize_t slot) noexcept nogil:
        """Whether the set has a row with the label and the values of this last row, as in a second epoch."""
        cdef Py_ssize_t s
        cdef const double* k = self.matrix + slot * self.side
        for s in range(slot):
            if (fabs(k[s] - k[slot]) <= 1e-9 * k[slot]
                    and self.alpha[LABEL * self.slots + s] * self.alpha[LABEL * self.slots + slot] > 0
                    and equal(self.support.rows.rows + s, self.support.rows.rows + slot)):
                return True
        return False

    # ---- the kernel matrix of the support vectors

    cdef inline double kernel(self, Py_ssize_t s, Py_ssize_t r) noexcept nogil:
        return self.matrix[s * self.side + r]

    cdef void kernels_of(self, Py_ssize_t slot) noexcept nogil:
        cdef Row z = self.support.row(slot)
        self.support.evaluate(&z, self.k, self.slots)
        self.k[slot] = self.support.itself(&z, 0)

    cdef void make_matrix(self, Py_ssize_t n) noexcept nogil:
        """Allocate the matrix for n support vectors."""
        cdef Py_ssize_t s, side = max(n, min(self.side + self.side // 2, self.widest), 32)
        cdef double* matrix
        if n <= self.side:
            return
        self.crowded = n > self.widest
        matrix = NULL if self.crowded else <double*> allocate(side * side, sizeof(double))
        if matrix == NULL:
            self.failed = True
            return
        for s in range(self.support.n if self.known else 0):
            memcpy(matrix + s * side, self.matrix + s * self.side, self.support.n * sizeof(double))
        free(self.matrix)
        self.matrix, self.side = matrix, side

    cdef void learn_matrix(self) noexcept nogil:
        """Compute the matrix of a loaded model. Each kernel is computed from the newer row, for the same bits."""
        cdef Py_ssize_t s, r, n = self.support.n
        cdef const double* born = self.alpha + BORN * self.slots
        if self.known:
            return
        self.make_matrix(n)
        for s in range(0 if self.failed else n):
            self.kernels_of(s)
            for r in range(n):
                if born[r] <= born[s]:
                    self.matrix[s * self.side + r] = self.matrix[r * self.side + s] = self.k[r]
        self.failed = self.failed or self.support.broken
        self.known = not self.failed

    def check_memory(self):
        if self.failed and self.crowded:
            self.failed = False
            raise LimitError(
                f"the kernel matrix of more than {self.widest} support vectors would take more than "
                f"{MAX_BYTES / 2**30:.1f} GiB, which is the limit; use a smaller C, a wider kernel or beyond=0"
            )
        Machine.check_memory(self)

    # ---- what has been learned

    cdef void all_scores(self, double* out) noexcept nogil:
        Machine.all_scores(self, out)
        out[0] += self.b

    def members(self):
        """A mask of the rows that are in the set, which candidates are not."""
        return self.alphas()[:, WAITS] == 0

    def coefficients(self):
        return Machine.coefficients(self)[:, self.members()]

    def support_rows(self):
        start, index, value = Machine.support_rows(self)
        inside = self.members()
        lengths = np.diff(start)
        kept = np.repeat(inside, lengths)
        return np.concatenate([[0], np.cumsum(lengths[inside])]), index[kept], value[kept]

    @property
    def support_vectors(self):
        return self.support.n - self.waiting_rows

    def reclass(self, source, factor):
        cdef Py_ssize_t s
        Machine.reclass(self, source, factor)
        self.b = factor[0] * self.b + 0.0
        for s in range(self.support.n):
            self.alpha[BORN * self.slots + s] = fabs(self.alpha[BORN * self.slots + s])
            self.alpha[WAITS * self.slots + s] = fabs(self.alpha[WAITS * self.slots + s])

    def restore(self, state):
        Machine.restore(self, state)
        alphas = state["alpha"]
        if not self.unrest >= 0:
            raise ModelError(f"unrest is {self.unrest}, but must be at least 0")
        born = alphas[:, BORN]
        if not ((alphas[:, LABEL] != 0) & (born >= 1) & (born <= self.t)).all() or self.seeded not in (0, 1):
            raise ModelError(f"a label is 0, a round is not from 1 to {self.t}, or seeded={self.seeded} is not 0 or 1")
        if np.count_nonzero(alphas[:, WAITS]) != self.waiting_rows or not np.isin(alphas[:, WAITS], (0, 1)).all():
            raise ModelError(f"the number of rows that are marked as candidates is not {self.waiting_rows}")
        self.known = self.support.n == 0


cdef bint equal(const Kept* a, const Kept* b) noexcept nogil:
    """Whether two rows have the same values, in any order of their features."""
    cdef Py_ssize_t i, k
    if a.n != b.n:
        return False
    for i in range(a.n):
        k = i
        if b.index[i] != a.index[i]:
            k = 0
            while k < b.n and b.index[k] != a.index[i]:
                k += 1
        if k == b.n or a.value[i] != b.value[k]:
            return False
    return True


class LASVM(KernelClassifier):
    """LASVM: an online support vector machine. One pass and `finish` come close to the solution of a batch solver.

    The score is f(x) + b with f = sum of alpha_s k(x_s, .). Each alpha_s is between 0 and C y_s, and their sum is 0.
    The gradient of the dual is g_s = y_s - f(x_s). Each row causes one PROCESS and one REPROCESS:

    - PROCESS: the new row enters the set with alpha = 0. If y = 1, it is i, and j is the row with the smallest g whose
      alpha may shrink. If y = -1, it is j, and i is the row with the largest g whose alpha may grow.
    - REPROCESS: i is the row with the largest g whose alpha may grow, j the row with the smallest g whose alpha may
      shrink.
    - The update of both: if g_i - g_j > tau, alpha_i += lambda and alpha_j -= lambda with
      lambda = (g_i - g_j) / (k_ii + k_jj - 2 k_ij), or less at a bound.
    - After the updates b = (g_i + g_j) / 2. Rows with alpha = 0 leave the set if y_s = -1 and g_s >= g_i + d, or
      y_s = 1 and g_s <= g_j - d. As in the authors' program they also leave after a round without an update.

    In the paper d = 0. But a machine that still changes may need these rows later. So d is the mean of g_i - g_j over
    about the last 1000 rounds, where a round without an update of REPROCESS counts as 0, and at most `beyond`. The
    first rows enter the set without an update until there are 5 of each label.

    `finish()` repeats REPROCESS until no pair of the set has g_i - g_j > tau. Then rows leave with d = 0. A row that
    has left can return only in another epoch. We measured 120 runs with C = 0.5 and 5 on 200 to 2000 rows in several
    orders. Two epochs always reached 99.9% of libsvm's dual. After `finish` the scores agreed with libsvm's to 5 tau
    (25 tau for tau = 1e-6), except for one run, which was off by 0.02. With beyond=0, 41 runs were off by more than
    0.01, up to 0.4; another epoch repairs that. A larger C needs more updates: with C = 50, two epochs reach 85 to
    99.9% of the dual, and `finish` reaches 99.99%. Some scores then need a third epoch and another `finish`.

    A row equal to one of the set, including the label, counts as that row again and causes only a REPROCESS: a stream
    does not say whether this is a second example or a second epoch. So each distinct row counts once. If there are
    copies, give each distinct row the number of its copies as its sample weight. A sample weight multiplies C.

    Binary only. The kernel matrix of n support vectors takes 8 n^2 bytes, at most 4 GiB. A round costs one evaluation
    of all support vectors and O(n).

    Parameters
    ----------
    C : the bound of the coefficients, above 0.
    tau : the tolerated violation of optimality, above 0.
    beyond : the largest d, at least 0; 0 is the paper's form. With 0.2 the set has a third more rows (up to 90% more)
        until `finish`, and a row takes 1.2 to 2 times as long.
    selection : which row is learned next. "random" is the next row of the stream, which should be shuffled. The others
        choose among the last `candidates` rows that have not been learned: "gradient" the row with the smallest
        y (f(x) + b), "margin" the row with the smallest |f(x) + b|. Candidates stay in the model until they are chosen
        or `finish` is called.
    candidates : the number of rows to choose from, at least 1.
    kernel, sigma, degree, c : as for `KernelPerceptron`.

    >>> from seriatim import LASVM, data, evaluate
    >>> run = evaluate.progressive(LASVM(C=10.0, features={"normalize": "max"}), *data.load("spam"))
    >>> run.mistakes, run.model.n_support_
    (412, 1514)

    Bordes, Ertekin, Weston and Bottou, "Fast kernel classifiers with online and active learning", JMLR 6 (2005).
    """

    family = "kernel"
    paper = "Bordes et al. (2005)"
    loss = "hinge"
    binary = True
    C = Number(1.0, above=0, search=powers(-4, 8))
    tau = Number(1e-3, above=0)
    beyond = Number(0.2, least=0)
    selection = Choice("random", SELECTIONS)
    candidates = Number(50, least=1, below=10**9, integer=True)

    def build(self):
        return LASVMLearner(self._kernel(), self.C, self.tau, self.beyond, self.selection, self.candidates)

    def finish(self):
        """Learn the candidates, then update until no pair violates optimality by tau, or for a million updates."""
        with self._lock:
            self._fitted().finish()
        return self

    @property
    def intercept_(self):
        """The intercept b of the score."""
        return np.array([self._fitted().b])
