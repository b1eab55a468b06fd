"""Online feature selection: weights of which never more than k are not zero."""

from math import sqrt

import numpy as np

from libc.math cimport INFINITY, fabs, fmax, fmin
from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.learner cimport Learner, Linear
from seriatim.core.memory cimport resize
from seriatim.core.random cimport random_below, random_uniform
from seriatim.core.row cimport Row, dot, record, sum_of_squares, value
from seriatim.sparse.strongest cimport NONE, Entry, Strongest, weaker

from seriatim.core.table import ascend
from seriatim.errors import ModelError, ParameterError
from seriatim.estimator import Classifier
from seriatim.parameters import Flag, Number, powers
from seriatim.sparse.selector import Selector

cdef extern from *:
    """
    /* Of a number that is not below 0, as a whole one in the same order; and the number again. */
    static inline long long bits_of(double x)
    {
        long long bits;
        memcpy(&bits, &x, sizeof bits);
        return bits;
    }

    static inline double number_of(long long bits)
    {
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    """
    long long bits_of(double x) noexcept nogil
    double number_of(long long bits) noexcept nogil

cdef extern from "steps.h":
    enum:
        BATCH
    Py_ssize_t take_entries(const int* index, const double* value, double constant, Py_ssize_t n, Py_ssize_t* i,
                            double a, double least, double* step, int* record) noexcept nogil
    Py_ssize_t held_entries(const int* index, Py_ssize_t n, const unsigned long long* bits, bint held,
                            int* entry) noexcept nogil
    Py_ssize_t strong_entries(Py_ssize_t n, const double* value, double constant, double times, double low,
                              int* strong) noexcept nogil
    double variance_of(Py_ssize_t n, const double* x, const int* record, const double* sigma,
                       Py_ssize_t width) noexcept nogil
    void sharpen_entries(Py_ssize_t n, const double* x, const int* record, double* table, Py_ssize_t width,
                         Py_ssize_t at, double alpha, double c, double least) noexcept nogil

cdef double LEAST = 1e-100    # no variance falls below it
cdef double MOST = 1e100      # nor is a step larger: where numbers end, so does the paper's arithmetic


# Where the classes are a constant, one, there are no loops over them.

cdef inline double magnitude(const double* w, Py_ssize_t classes) noexcept nogil:
    cdef double sum = fabs(w[0])
    cdef Py_ssize_t k
    for k in range(1, classes):
        sum += fabs(w[k])
    return sum


cdef class Selection(Linear):
    """Weights that are zero but for those of the k strongest features; with several classes each counts once.

    A feature is as strong as one field of its record is large, or small, in the sum over the classes.
    """

    NUMBERS = Learner.NUMBERS

    cdef Strongest kept
    cdef Py_ssize_t field
    cdef long long sign
    cdef int* some            # entries of a row: those of features that are kept, or of those that are not;
    cdef int* above           # others that are above the weakest that was kept before,
    cdef int* between         # and that are not, but not below what is the weakest now either
    cdef Py_ssize_t n_some, n_above, n_between
    cdef double lost          # the squares of the weights that became 0
    cdef Py_ssize_t room      # for so many in each list

    def __init__(self, Py_ssize_t k, tuple companions=(), bint bounded=False):
        Linear.__init__(self, False, companions, bounded)
        self.kept = Strongest(k)
        self.field, self.sign = len(companions), -1 if companions else 1
        self.weighted = True
        self.grow(1)

    def __dealloc__(self):
        free(self.some)
        free(self.above)
        free(self.between)

    cdef int grow(self, Py_ssize_t rows) except -1:
        Linear.grow(self, rows)
        cdef Py_ssize_t room = self.table.capacity
        if rows > self.room:
            if (resize(<void**> &self.some, room, sizeof(int)) < 0
                    or resize(<void**> &self.above, room, sizeof(int)) < 0
                    or resize(<void**> &self.between, room, sizeof(int)) < 0):
                raise MemoryError(f"no memory to choose among {rows} features")
            self.room = room
        return self.kept.grow(rows)

    cdef inline Entry entry(self, Py_ssize_t j) noexcept nogil:
        """The feature with this record and its strength; whole numbers are compared in less time."""
        cdef const double* w = self.table.data + j * self.table.width
        return Entry(self.sign * bits_of(magnitude(w + self.field * self.classes, self.classes)), <int> j)

    cdef inline void drop(self, Py_ssize_t j) noexcept nogil:
        """The weights of a feature become 0."""
        cdef double* w = self.table.data + j * self.table.width
        cdef double squares = 0
        cdef Py_ssize_t k
        for k in range(self.classes):
            squares += w[k] * w[k]
            w[k] = 0
        self.lost += squares

    cdef void part(self, const Row* x, bint held) noexcept nogil:
        """List what is kept of a row, or what is not."""
        self.n_some = held_entries(x.index, x.n, self.kept.bits, held, self.some)

    cdef void choose(self, const Row* x, bint weakened) noexcept nogil:
        """Keep the k strongest, where only the features of a row may have changed; `weakened`, to less, too: those of
        it that are kept are listed.

        Others that are weaker than all that is kept are dropped at once. Where as many are above the weakest that was
        kept as of these have fallen below it, they take their places, and all that is below is dropped.
        """
        cdef Py_ssize_t i, below = 0, fallen = 0, taken = 0
        cdef Entry one, floor = self.kept.floor(), low = floor
        if weakened:
            for i in range(self.n_some):    # nobody could foretell a branch here
                one = self.entry(record(x, self.some[i]))
                self.some[fallen] = one.record
                fallen += one.key < self.kept.known_key(one.record)
                below += weaker(one, floor)
                low = one if weaker(one, low) else low
        self.lost = 0
        self.refuse(x, low.key, floor.key, below)
        if self.n_above < below:
            floor = NONE
        for i in range(fallen):
            one = self.entry(self.some[i])
            if weaker(one, floor):
                self.kept.replace(one.record, self.entry(self.above[taken]))
                self.drop(one.record)
                taken += 1
            else:
                self.kept.lower(one)
        self.settle()
        for i in range(taken, self.n_above):
            self.offer(self.above[i])
        for i in range(self.n_between):
            if weaker(self.entry(self.between[i]), floor):
                self.drop(self.between[i])
            else:
                self.offer(self.between[i])
        if self.bounded:
            self.norm2 -= self.scale * self.scale * self.lost

    cdef void refuse(self, const Row* x, long long low, long long floor, Py_ssize_t below) noexcept nogil:
        """Drop others of the row, and list what is above the floor and what is between: all that is not below `low`
        but, where as many are above as have fallen below, what is below the floor."""
        pass

    cdef inline void offer(self, Py_ssize_t j) noexcept nogil:
        cdef Py_ssize_t weakest = self.kept.offer(self.entry(j))
        if weakest >= 0:
            self.drop(weakest)
        if weakest != j:
            self.settle()

    cdef void settle(self) noexcept nogil:
        """Let the weakest that is kept be so in truth: what is done does then not depend on what was known when."""
        cdef Entry one
        while self.kept.n == self.kept.k:
            one = self.entry(self.kept.heap[0].record)
            if one.key == self.kept.heap[0].key:
                break
            self.kept.sink(0, one)

    cdef void weigh(self) noexcept nogil:
        """The strength of all that is kept, anew."""
        cdef Py_ssize_t i
        for i in range(self.kept.n):
            self.kept.heap[i] = self.entry(self.kept.heap[i].record)
        self.kept.order()

    def reclass(self, source, factor):
        Linear.reclass(self, source, factor)
        self.weigh()

    def state(self):
        """Only the weights of what is kept."""
        kept = self.kept.get()
        return {**Learner.state(self), "records": self.table.rows, "kept": kept, "w": self.table.get("w")[kept]}

    def restore(self, state):
        Learner.restore(self, state)
        self.grow(state["records"])
        self.kept.set(np.ascontiguousarray(state["kept"]))
        if state["w"].shape != (self.kept.n, self.classes):
            raise ModelError(f"{self.kept.n} features are selected; their weights are of shape {state['w'].shape}")
        w = np.zeros((self.table.rows, self.classes))
        w[state["kept"]] = state["w"]
        self.table.set("w", w)
        self.weigh()


cdef class OFSLearner(Selection):
    """A step at a margin up to `margin`, a ball of 1 / sqrt(lam), and then the k largest weights."""

    NUMBERS = (*Selection.NUMBERS, "scale", "norm2")

    cdef double eta, lam, margin, radius
    cdef double length              # of the step, in units of w as it is written down
    cdef double others2             # the squares of what the others, which are not kept, have moved by
    cdef Py_ssize_t toward, away    # the class that takes the step, and the one that takes it back, or -1

    def __init__(self, Py_ssize_t k, double eta, double lam, double margin):
        Selection.__init__(self, k, bounded=lam > 0)
        self.eta, self.lam, self.margin = eta, lam, margin
        self.radius = 1 / sqrt(lam) if lam > 0 else INFINITY

    cdef void look(self, const Row* x, Row* seen) noexcept nogil:
        """What the learner sees of a row."""
        seen[0] = x[0]

    cdef bint estimate(self, Row* seen) noexcept nogil:
        """Make of it what the step is along; returns whether it is another row now."""
        return False

    cdef double product(self, const Row* x, Py_ssize_t y, Py_ssize_t s) noexcept nogil:
        """w_y.x, less w_s.x if there is a class s; only what is kept is looked at."""
        self.part(x, True)
        cdef double f = self.scale * self.sum_of_kept(x, y)
        return f if s < 0 else f - self.scale * self.sum_of_kept(x, s)

    cdef double sum_of_kept(self, const Row* x, Py_ssize_t column) noexcept nogil:
        """The sum of x_j w_j over what is listed: bit by bit what `dot` makes of the whole row."""
        cdef const double* w = self.table.data + column
        cdef Py_ssize_t i, one, whole = x.n - x.n % 4
        cdef double[4] lanes
        lanes[0] = lanes[1] = lanes[2] = lanes[3] = 0
        for i in range(self.n_some):
            one = self.some[i]
            lanes[one & 3 if 0 <= one < whole else 0] += value(x, one) * w[record(x, one) * self.table.width]
        return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])

    cdef void step(self, const Row* x, double tau, double f, Py_ssize_t y, Py_ssize_t s) noexcept nogil:
        """w <- (1 - lam eta) w + tau x, then the ball, then k features; where there is a class s it takes - tau x.

        f is the product with x, after which nothing has changed.
        """
        cdef double shorter = 1 - self.lam * self.eta
        if x.norm2 == 0:
            return
        if self.kept.n:
            self.shrink(shorter)
        self.advance(x, tau, y, s)
        self.updated(tau * (2 * shorter * f + tau * x.norm2 * (1 if s < 0 else 2)))
        if self.bounded:
            self.project(self.radius)
        self.choose(x, True)

    cdef void advance(self, const Row* x, double tau, Py_ssize_t y, Py_ssize_t s) noexcept nogil:
        """Move what is kept. The others, which were 0, are not written down before they are chosen: few are."""
        cdef Py_ssize_t i
        cdef double a = tau / self.scale, rest = x.norm2, v
        cdef double* w
        for i in range(self.n_some):
            w, v = self.table.data + record(x, self.some[i]) * self.table.width, value(x, self.some[i])
            w[y] += a * v
            if s >= 0:
                w[s] -= a * v
            rest -= v * v
        self.length, self.toward, self.away = a, y, s
        self.others2 = (1 if s < 0 else 2) * a * a * fmax(rest, 0)

    cdef void refuse(self, const Row* x, long long low, long long floor, Py_ssize_t below) noexcept nogil:
        cdef double step, times = 1 if self.away < 0 else 2
        cdef double* w
        cdef Py_ssize_t i, j, n = self.strong(x, floor, floor)
        if self.n_above < below:
            n = self.strong(x, low, floor)
        self.n_above = self.n_between = 0
        for i in range(n):
            j, step = record(x, self.between[i]), self.length * value(x, self.between[i]) + 0.0    # a zero has no sign
            w = self.table.data + j * self.table.width
            w[self.toward] = step
            if self.away >= 0:
                w[self.away] = 0.0 - step
            self.others2 -= times * step * step
            if bits_of(times * fabs(step)) > floor:
                self.above[self.n_above] = <int> j
                self.n_above += 1
            else:
                self.between[self.n_between] = <int> j
                self.n_between += 1
        self.lost, self.others2 = fmax(self.others2, 0), 0

    cdef Py_ssize_t strong(self, const Row* x, long long low, long long floor) noexcept nogil:
        """List in `between` the others' entries that are not below; returns how many, and counts what is above."""
        cdef double times = fabs(self.length) * (1 if self.away < 0 else 2)
        cdef Py_ssize_t i, n = 0, above = 0
        cdef int one
        for i in range(strong_entries(x.n, x.value, x.constant, times, number_of(max(low, 0)), self.between)):
            one = self.between[i]
            self.between[n] = one
            if not self.kept.holds(record(x, one)):
                above += bits_of(times * fabs(value(x, one))) > floor
                n += 1
        self.n_above = above
        return n

    # Nothing but what is kept, and the others until they are chosen from, is not 0: no need to look further.

    cdef void shrink(self, double factor) noexcept nogil:
        cdef Py_ssize_t i
        self.scale *= factor
        self.norm2 *= factor * factor
        if 1e-50 < self.scale < 1e50:
            return
        for i in range(self.kept.n):
            self.rescale(self.kept.heap[i].record)
        self.length *= self.scale
        self.others2 *= self.scale * self.scale
        self.scale = 1
        self.weigh()    # weights may have been rounded

    cdef void rescale(self, Py_ssize_t j) noexcept nogil:
        """The weights of a feature as they are."""
        cdef double* w = self.table.data + j * self.table.width
        cdef Py_ssize_t k
        for k in range(self.classes):
            w[k] = self.scale * w[k] + 0.0    # a zero has no sign

    cdef void measure(self) noexcept nogil:
        """In an order of the weights alone: that of the heap is another one in a model that has been restored."""
        cdef Py_ssize_t i
        cdef double total = 0
        self.weigh()
        self.kept.sort()
        for i in range(self.kept.n):
            total += self.squares(self.kept.heap[i].record)
        self.norm2 = self.scale * self.scale * (total + self.others2)

    cdef double squares(self, Py_ssize_t j) noexcept nogil:
        cdef const double* w = self.table.data + j * self.table.width
        return sum_of_squares(w, self.classes)

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = self.product(x, 0, -1), g = f
        cdef Row seen
        if x.norm2 > 0 and self.weight > 0:
            self.look(x, &seen)
            if seen.value != x.value:
                g = self.product(&seen, 0, -1)
            if y * g <= self.margin:
                if self.estimate(&seen):
                    g = self.product(&seen, 0, -1)
                self.step(&seen, self.weight * self.eta * y, g, 0, -1)
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Row seen
        cdef Py_ssize_t s
        cdef double margin
        if x.norm2 == 0 or self.weight == 0:
            self.raw_scores(x, out)
            return
        self.look(x, &seen)
        self.raw_scores(&seen, out)
        s = self.rival(y, out)
        margin = out[y] - out[s] if s >= 0 else INFINITY
        if seen.value != x.value:
            self.raw_scores(x, out)
        if margin <= self.margin:
            self.estimate(&seen)
            self.step(&seen, self.weight * self.eta, self.product(&seen, y, s), y, s)

    def restore(self, state):
        if not state["scale"] > 0:
            raise ModelError(f"the scale is {state['scale']}; it must be above 0")
        Selection.restore(self, state)


cdef class PartialOFSLearner(OFSLearner):
    """The same where a row shows k features: with probability epsilon any k, else those of w."""

    NUMBERS = (*OFSLearner.NUMBERS, "draws")

    cdef double epsilon
    cdef unsigned long long seed
    cdef public Py_ssize_t draws
    cdef Py_ssize_t features      # that have not been zero in some row; among these are any k
    cdef char* met                # whether a record is one of them
    cdef int* index               # the row as it is seen
    cdef double* values
    cdef Py_ssize_t known, space  # records of these arrays

    def __init__(self, Py_ssize_t k, double eta, double lam, double epsilon, unsigned long long seed):
        OFSLearner.__init__(self, k, eta, lam, 1)
        self.epsilon, self.seed = epsilon, seed
        self.grow(1)

    def __dealloc__(self):
        free(self.met)
        free(self.index)
        free(self.values)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t room = max(rows, 2 * self.space)
        OFSLearner.grow(self, rows)
        if rows > self.space:
            if (resize(<void**> &self.met, room, 1) < 0 or resize(<void**> &self.index, room, sizeof(int)) < 0
                    or resize(<void**> &self.values, room, sizeof(double)) < 0):
                raise MemoryError(f"no memory for {rows} features")
            self.space = room
        if rows > self.known:
            memset(self.met + self.known, 0, rows - self.known)
            self.known = rows
        return 0

    cdef void meet(self, Py_ssize_t j) noexcept nogil:
        self.features += not self.met[j]
        self.met[j] = True

    cdef bint used(self, Py_ssize_t j) noexcept nogil:
        return self.kept.holds(j) and self.entry(j).key > 0

    cdef void look(self, const Row* x, Row* seen) noexcept nogil:
        """Of d features any k are drawn, one after another: only those that the row has, for no other would matter."""
        cdef Py_ssize_t i, j, left = self.kept.k, among
        cdef bint explore = random_uniform(self.seed, &self.draws) < self.epsilon, shown
        for i in range(-1, x.n):
            if value(x, i) != 0:
                self.meet(record(x, i))
        seen.index, seen.value, seen.n, seen.constant, seen.norm2 = self.index, self.values, 0, 0, 0
        among = self.features
        for i in range(-1, x.n):
            if value(x, i) == 0:
                continue
            j = record(x, i)
            if explore:
                shown = random_below(among, self.seed, &self.draws) < left
                among -= 1
                left -= shown
            else:
                shown = self.used(j)
            if shown and i < 0:
                seen.constant = x.constant
            elif shown:
                self.index[seen.n], self.values[seen.n] = <int> j - 1, x.value[i]
                seen.n += 1

    cdef bint estimate(self, Row* seen) noexcept nogil:
        """Each value over the probability that it is seen, so that the mean is the whole row."""
        cdef Py_ssize_t i
        cdef double any_k = self.epsilon * fmin(1, <double> self.kept.k / self.features), rest = 1 - self.epsilon
        for i in range(seen.n):
            self.values[i] /= any_k + (rest if self.used(self.index[i] + 1) else 0)
        if seen.constant != 0:
            seen.constant /= any_k + (rest if self.used(0) else 0)
        seen.norm2 = sum_of_squares(self.values, seen.n) + seen.constant * seen.constant
        return True

    def state(self):
        cdef Py_ssize_t i
        met = np.array([i for i in range(self.known) if self.met[i]], dtype=np.int64)
        return {**OFSLearner.state(self), "met": met}

    def restore(self, state):
        OFSLearner.restore(self, state)
        cdef const long long[::1] met = np.ascontiguousarray(state["met"])
        cdef Py_ssize_t i
        for i in range(met.shape[0]):
            if not (met[i - 1] if i else -1) < met[i] < self.known:
                raise ModelError(f"the features that were met do not ascend to less than {self.known}")
            self.meet(met[i])


class OFS(Selector, Classifier):
    """Online feature selection: gradient descent that keeps the k largest weights after every step.

    Where y w.x <= 1: w <- (1 - lam eta) w + eta y x, then w <- w min(1, 1 / (sqrt(lam) |w|)), then all but the k
    largest |w_j| are set to 0. The ball keeps what is cut off small, for the k largest hold most of a short vector's
    length. Of equal weights those of the lowest columns are kept. The intercept is one of the k, and comes first among
    equals. With several classes y w.x is the margin over the strongest wrong class, whose weights take -eta x, |w| is
    of all weights together, and a feature counts by the sum over the classes of |w_j|.

    With `partial` the learner looks at k features of a row only: with probability epsilon any k of the d there are,
    else those of w. It takes the step where y w.x of these is at most 1, along x_j / p_j for the features seen, p_j =
    epsilon k / d + (1 - epsilon) [w_j != 0] being the probability to see it. A stream does not tell how many features
    there will be: d counts those that were not zero in this row or an earlier one, the constant of the intercept too.
    What it predicts is w.x, of at most k features. As a feature that has no weight yet comes in 1 / p_j = d / (epsilon
    k) times as large, the usual eta makes steps far longer than the ball, and next to nothing is learned: take one that
    is about epsilon k / d times as large.

    Scale the features. Where a step, eta |x| long, is not short beside the ball, 1 / sqrt(lam) in radius, each undoes
    those before, and `PET` does better; and where features have few values, many weights tie, and columns come first
    that merely stand first.

    The importance of an example multiplies its loss, and so eta y x. An update costs O(log k) for each non-zero that is
    kept or comes to be kept, O(1) for the others, and nothing for the features that the row does not have. Now and
    then, and each time where lam eta is near 1, it costs O(k log k) more.

    Parameters
    ----------
    k : how many weights there may be, the intercept among them, at least 1.
    eta : the step, above 0.
    lam : the regularisation, at least 0, with lam eta at most 1; 0 for no ball.
    partial : look at k features of each row.
    epsilon : with `partial`, the share of rows of which any k are looked at, above 0 and at most 1.
    seed : of what is looked at.

    >>> from seriatim import OFS, data, evaluate
    >>> model = OFS(6, features={"normalize": "standard"})
    >>> run = evaluate.progressive(model, *data.load("spam"))
    >>> run.mistakes, len(model.selected_features_)
    (1302, 6)

    Wang, Zhao, Hoi and Jin, "Online feature selection and its applications", IEEE Transactions on Knowledge and Data
    Engineering 26 (2014).
    """

    family = "sparse"
    paper = "Wang et al. (2014)"
    loss = "hinge"
    k = Number(least=1, below=10**9, integer=True)
    eta = Number(0.2, above=0, search=powers(-8, 4))
    lam = Number(0.01, least=0)
    partial = Flag(False)
    epsilon = Number(0.2, above=0, most=1)
    seed = Number(0, least=0, below=2**64, integer=True)

    def build(self):
        if self.lam * self.eta > 1:
            raise ParameterError(f"OFS: lam * eta is {self.lam * self.eta:g}; it must be at most 1, or w would turn")
        if self.partial:
            return PartialOFSLearner(int(self.k), self.eta, self.lam, self.epsilon, int(self.seed))
        return OFSLearner(int(self.k), self.eta, self.lam, 1)


class PET(Selector, Classifier):
    """The perceptron by truncation, which online feature selection is measured by.

    On a mistake, y w.x <= 0: w += eta y x, and all but the k largest |w_j| are set to 0. There is no ball, so what is
    cut off may be large. Ties, the intercept, several classes, importance and cost are those of `OFS`.

    Parameters
    ----------
    k : how many weights there may be, the intercept among them, at least 1.
    eta : the step, above 0; as w starts at 0 it scales the weights and changes no prediction.

    >>> from seriatim import PET, data, evaluate
    >>> model = PET(6, features={"normalize": "standard"})
    >>> run = evaluate.progressive(model, *data.load("spam"))
    >>> run.mistakes, len(model.selected_features_)
    (1902, 6)

    Wang, Zhao, Hoi and Jin, "Online feature selection and its applications", IEEE Transactions on Knowledge and Data
    Engineering 26 (2014), algorithm 1.
    """

    family = "sparse"
    paper = "Wang et al. (2014)"
    loss = "perceptron"
    k = Number(least=1, below=10**9, integer=True)
    eta = Number(1.0, above=0)

    def build(self):
        return OFSLearner(int(self.k), self.eta, 0, 0)


cdef class SOFSLearner(Selection):
    """Diagonal AROW, and then the k features of the smallest variance."""

    cdef double r

    def __init__(self, Py_ssize_t k, double r):
        Selection.__init__(self, k, (("sigma", 1.0, False),))
        self.r = r

    cdef double variance(self, const Row* x, Py_ssize_t column) noexcept nogil:
        """x' Sigma x of a class."""
        cdef const double* sigma = self.table.data + self.classes + column
        cdef double[BATCH] values
        cdef int[BATCH] records
        cdef double v = 0
        cdef Py_ssize_t i = -1, n
        while i < x.n:
            n = take_entries(x.index, x.value, x.constant, x.n, &i, 1, 0, values, records)
            v += variance_of(n, values, records, sigma, self.table.width)
        return v

    cdef void sharpen(self, const Row* x, double alpha, double c, Py_ssize_t column) noexcept nogil:
        """w += alpha Sigma x and 1 / Sigma_j += c x_j^2, in a column."""
        cdef double* w = self.table.data + column
        cdef double[BATCH] values
        cdef int[BATCH] records
        cdef Py_ssize_t i = -1, n
        while i < x.n:
            n = take_entries(x.index, x.value, x.constant, x.n, &i, 1, 0, values, records)
            sharpen_entries(n, values, records, w, self.table.width, self.classes, alpha, c, LEAST)

    cdef void step(self, const Row* x, double margin, double sign, Py_ssize_t y, Py_ssize_t s) noexcept nogil:
        cdef double r, v, alpha
        if margin >= 1 or x.norm2 == 0 or self.weight == 0:
            return
        v = self.variance(x, y) + (self.variance(x, s) if s >= 0 else 0)
        if v <= LEAST:
            return
        r = self.r / self.weight
        alpha = fmin((1 - margin) / (v + r), MOST)
        self.sharpen(x, sign * alpha, fmin(1 / r, MOST), y)
        if s >= 0:
            self.sharpen(x, -alpha, fmin(1 / r, MOST), s)
        self.updates += 1
        self.part(x, False)
        self.choose(x, False)

    cdef void refuse(self, const Row* x, long long low, long long floor, Py_ssize_t below) noexcept nogil:
        if self.classes == 1:    # a constant, so that there are no loops
            self.sort_out(x, low, floor, 1)
        else:
            self.sort_out(x, low, floor, self.classes)

    cdef inline void sort_out(self, const Row* x, long long low, long long floor, Py_ssize_t classes) noexcept nogil:
        cdef Py_ssize_t i, j, k, n = 0
        cdef double* w
        cdef bint stays
        self.n_above = self.n_between = 0
        for i in range(self.n_some):    # nobody could foretell a branch here
            j = record(x, self.some[i])
            w = self.table.data + j * self.table.width
            stays = (-bits_of(magnitude(w + classes, classes)) >= low) & (value(x, self.some[i]) != 0)
            for k in range(classes):
                w[k] = w[k] if stays else 0
            self.between[n] = <int> j
            n += stays
        for i in range(n):
            if self.entry(self.between[i]).key > floor:
                self.above[self.n_above] = self.between[i]
                self.n_above += 1
            else:
                self.between[self.n_between] = self.between[i]
                self.n_between += 1

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = dot(x, self.table.data, self.table.width)
        self.step(x, y * f, y, 0, -1)
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t s
        self.raw_scores(x, out)
        s = self.rival(y, out)
        if s >= 0:
            self.step(x, out[y] - out[s], 1, y, s)

    def state(self):
        """The variances of the features that have spoken, by their records."""
        sigma = self.table.get("sigma")
        index = np.flatnonzero((sigma != 1).any(axis=1))
        return {**Selection.state(self), "index": index, "sigma": sigma[index]}

    def restore(self, state):
        index, told = state["index"], state["sigma"]
        if not ascend(index, state["records"]):
            raise ModelError(f"the numbers of the records do not ascend from 0 to less than {state['records']}")
        if told.shape != (len(index), self.classes) or not ((told > 0) & (told <= 1)).all():
            raise ModelError("there is not a variance above 0 and up to 1 for each record and class")
        self.grow(state["records"])    # or a LimitError, before there are arrays of that size
        sigma = np.ones((state["records"], self.classes))
        sigma[index] = told
        self.table.set("sigma", sigma)
        Selection.restore(self, state)


class SOFS(Selector, Classifier):
    """Second-order online feature selection: AROW that keeps the k weights that it is surest of.

    Where m = y w.x < 1, with v = x' Sigma x and Sigma diagonal: w += ((1 - m) / (v + r)) y Sigma x and
    1 / Sigma_j += x_j^2 / r, and then all w_j but those of the k smallest Sigma_j are set to 0. Sigma is kept for all
    features. Of equal ones those of the lowest columns are kept. The intercept is one of the k, and comes first among
    equals. With several classes m is the margin over the strongest wrong class, v the sum of both variances, and a
    feature counts by the sum of its variances over the classes.

    A variance only falls, and only that of a feature that the row has. So an update costs O(log k) for each non-zero
    that is kept or comes to be kept, O(1) for the others, and nothing for the features that the row does not have.

    Which features these are depends on how often and how large they are, not on the labels: scale them.

    Parameters
    ----------
    k : how many weights there may be, the intercept among them, at least 1.
    r : regularisation, above 0: the larger, the smaller the steps. An example of importance g has r / g.

    >>> from seriatim import SOFS, data, evaluate
    >>> model = SOFS(6, features={"normalize": "standard"})
    >>> run = evaluate.progressive(model, *data.load("spam"))
    >>> run.mistakes, len(model.selected_features_)
    (1473, 5)

    Wu, Hoi, Mei and Yu, "Large-scale online feature selection for ultra-high dimensional sparse data", ACM Transactions
    on Knowledge Discovery from Data 11 (2017).
    """

    family = "sparse"
    paper = "Wu et al. (2017)"
    loss = "hinge"
    k = Number(least=1, below=10**9, integer=True)
    r = Number(1.0, above=0, search=powers(-4, 4))

    def build(self):
        return SOFSLearner(int(self.k), self.r)
