"""Online feature selection: linear classifiers of which at most k weights are not 0."""

import numpy as np

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdlib cimport free

from seriatim.core.learner cimport Learner, LinearLearner
from seriatim.core.memory cimport resize
from seriatim.core.random cimport random_below, random_uniform
from seriatim.core.row cimport Row, dot, record, sum_of_squares, value
from seriatim.sparse.strongest cimport Entry, Strongest

from seriatim.core.recolumn import ChosenRecords, ColumnCount
from seriatim.core.table import ascend
from seriatim.errors import ModelError, ParameterError
from seriatim.estimator import Classifier
from seriatim.parameters import Flag, Number, powers
from seriatim.sparse.selector import Selector

cdef double LEAST = 1e-100    # no variance falls below it
cdef double MOST = 1e100      # no step is longer: sane data stays far below, and no number overflows


cdef class Selection(LinearLearner):
    """Only the k strongest features have weights; with several classes a feature is selected for all of them."""

    NUMBERS = Learner.NUMBERS

    cdef Strongest selected

    def __init__(self, Py_ssize_t k, tuple companions=(), bint bounded=False):
        LinearLearner.__init__(self, False, companions, bounded)
        self.selected = Strongest(k)
        self.weighted = True
        self.grow(1)

    cdef double strength(self, const double* w) noexcept nogil:
        """How strong a feature is, from its record."""
        return 0

    cdef int grow(self, Py_ssize_t rows) except -1:
        LinearLearner.grow(self, rows)
        return self.selected.grow(rows)

    cdef inline Entry entry(self, Py_ssize_t j) noexcept nogil:
        return Entry(self.strength(self.table.data + j * self.table.width), <int> j)

    cdef double truncate(self, const Row* x) noexcept nogil:
        """Set all weights but those of the k strongest features to 0. Returns the sum of the squares of those weights.

        Only features of the row may have changed. Features that are selected already come first, because their new
        strengths decide which others are strong enough.
        """
        cdef Py_ssize_t i, j
        cdef double lost = 0
        for i in range(-1, x.n):
            j = record(x, i)
            if self.selected.holds(j):
                self.selected.change(self.entry(j))
        for i in range(-1, x.n):
            j = record(x, i)
            if value(x, i) != 0 and not self.selected.holds(j):
                lost += self.drop(self.selected.offer(self.entry(j)))
        return lost

    cdef double drop(self, Py_ssize_t j) noexcept nogil:
        cdef double* w = self.table.data + j * self.table.width
        cdef double squares
        cdef Py_ssize_t k
        if j < 0:
            return 0
        squares = sum_of_squares(w, self.classes)
        for k in range(self.classes):
            w[k] = 0
        return squares

    cdef void reorder(self) noexcept nogil:
        """Recompute the strengths of the selected features."""
        cdef Py_ssize_t i
        for i in range(self.selected.n):
            self.selected.heap[i] = self.entry(self.selected.heap[i].record)
        self.selected.order()

    def reclass(self, source, factor):
        LinearLearner.reclass(self, source, factor)
        self.reorder()

    def column_arrays(self):
        return {"records": ColumnCount(1), "kept": ChosenRecords(("w",))}

    def state(self):
        """The selected features and their weights."""
        kept = self.selected.get()
        return {**Learner.state(self), "records": self.table.rows, "kept": kept, "w": self.table.get("w")[kept]}

    def restore(self, state):
        Learner.restore(self, state)
        self.grow(state["records"])
        self.selected.set(np.ascontiguousarray(state["kept"]))
        if state["w"].shape != (self.selected.n, self.classes):
            raise ModelError(f"{self.selected.n} features are selected; their weights have shape {state['w'].shape}")
        w = np.zeros((self.table.rows, self.classes))
        w[state["kept"]] = state["w"]
        self.table.set("w", w)
        self.reorder()


cdef class OFSLearner(Selection):
    """OFS. A feature is as strong as its weight is large. With margin = lam = 0 this is PET."""

    NUMBERS = (*Selection.NUMBERS, "scale", "norm2")

    cdef double eta, lam, margin

    def __init__(self, Py_ssize_t k, double eta, double lam, double margin):
        Selection.__init__(self, k, bounded=lam > 0)
        self.eta, self.lam, self.margin = eta, lam, margin

    cdef double strength(self, const double* w) noexcept nogil:
        cdef double sum = 0
        cdef Py_ssize_t k
        for k in range(self.classes):
            sum += fabs(w[k])
        return sum

    cdef double product(self, const Row* x, Py_ssize_t y, Py_ssize_t s) noexcept nogil:
        """w_y.x, or w_y.x - w_s.x if there is a rival class s."""
        cdef double f = self.scale * dot(x, self.table.data + y, self.table.width)
        return f if s < 0 else f - self.scale * dot(x, self.table.data + s, self.table.width)

    cdef void step(self, const Row* x, double tau, double f, Py_ssize_t y, Py_ssize_t s) noexcept nogil:
        """w <- (1 - lam eta) w + tau x, w <- w min(1, 1 / (sqrt(lam) |w|)), and then only the k largest weights.

        f is the product with x. A rival class s takes -tau x. The ball shrinks all weights alike, so it does not change
        which are the largest. It comes last, when only k weights are left.
        """
        cdef double rest = 1 - self.lam * self.eta, lost, norm2
        if x.norm2 == 0:
            return
        self.updates += 1
        self.shrink(rest)
        self.move(x, tau, y)
        if s >= 0:
            self.move(x, -tau, s)
        lost = self.scale * self.scale * self.truncate(x)
        if self.lam > 0:
            norm2 = self.norm2 + tau * (2 * rest * f + tau * x.norm2 * (1 if s < 0 else 2))    # |w|^2 before truncation
            self.norm2 = norm2 - lost
            if self.lam * norm2 > 1:
                self.shrink(1 / sqrt(self.lam * norm2))
            if self.updates & (self.updates - 1) == 0:
                self.measure()    # |w|^2 from the weights: the errors of running sums must not add up

    cdef void shrink(self, double factor) noexcept nogil:
        """w *= factor. Only the k selected weights may have to be rescaled."""
        cdef Py_ssize_t i, k
        cdef double* w
        if self.selected.n == 0:
            return
        self.scale *= factor
        self.norm2 *= factor * factor
        if not 1e-50 < self.scale < 1e50:
            for i in range(self.selected.n):
                w = self.table.data + self.selected.heap[i].record * self.table.width
                for k in range(self.classes):
                    w[k] = self.scale * w[k] + 0.0    # + 0.0: no negative zero
            self.scale = 1
            self.reorder()    # rounding may have made weights equal

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = self.product(x, 0, -1)
        if y * f <= self.margin and self.weight > 0:
            self.step(x, self.weight * self.eta * y, f, 0, -1)
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t s
        self.raw_scores(x, out)
        s = self.rival(y, out)
        if s >= 0 and out[y] - out[s] <= self.margin and self.weight > 0:
            self.step(x, self.weight * self.eta, out[y] - out[s], y, s)

    def restore(self, state):
        if not state["scale"] > 0:
            raise ModelError(f"the scale is {state['scale']}; it must be above 0")
        Selection.restore(self, state)


cdef class PartialOFSLearner(OFSLearner):
    """OFS with partial input: the learner sees only k features of a row.

    With probability epsilon these are any k features, else those that have a weight.
    """

    NUMBERS = (*OFSLearner.NUMBERS, "draws")

    cdef double epsilon
    cdef unsigned long long seed
    cdef public Py_ssize_t draws
    cdef Py_ssize_t features      # how many features were not 0 in some row; any k are drawn from these
    cdef char* met                # whether a record is one of them
    cdef int* index               # the columns and values of the row that the learner sees
    cdef double* values
    cdef Py_ssize_t known, space  # records of these arrays, and how many there is memory for

    def __init__(self, Py_ssize_t k, double eta, double lam, double epsilon, unsigned long long seed):
        OFSLearner.__init__(self, k, eta, lam, 1)
        self.epsilon, self.seed = epsilon, seed
        self.grow(1)

    def __dealloc__(self):
        free(self.met)
        free(self.index)
        free(self.values)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t space = max(rows, 2 * self.space)
        OFSLearner.grow(self, rows)
        if rows > self.space:
            if (resize(<void**> &self.met, space, 1) < 0 or resize(<void**> &self.index, space, sizeof(int)) < 0
                    or resize(<void**> &self.values, space, sizeof(double)) < 0):
                raise MemoryError(f"no memory for {rows} features")
            self.space = space
        while self.known < rows:
            self.met[self.known] = False
            self.known += 1
        return 0

    cdef void meet(self, Py_ssize_t j) noexcept nogil:
        self.features += not self.met[j]
        self.met[j] = True

    cdef bint has_weight(self, Py_ssize_t j) noexcept nogil:
        return self.strength(self.table.data + j * self.table.width) > 0

    cdef void look(self, const Row* x, Row* seen) noexcept nogil:
        """Write the part of a row that the learner sees to `seen`.

        Any k features are drawn one after another. Only features of the row need a draw.
        """
        cdef Py_ssize_t i, j, left = self.selected.k, among
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
                shown = self.has_weight(j)
            if shown and i < 0:
                seen.constant = x.constant
            elif shown:
                self.index[seen.n], self.values[seen.n] = <int> j - 1, x.value[i]
                seen.n += 1

    cdef double probability(self, Py_ssize_t j) noexcept nogil:
        """The probability that the learner sees a feature."""
        cdef double any_k = self.epsilon * min(1, <double> self.selected.k / self.features)
        return any_k + (1 - self.epsilon if self.has_weight(j) else 0)

    cdef void estimate(self, Row* seen) noexcept nogil:
        """Divide each value by the probability that it is seen: the expectation is then the row."""
        cdef Py_ssize_t i
        for i in range(seen.n):
            self.values[i] /= self.probability(self.index[i] + 1)
        if seen.constant != 0:
            seen.constant /= self.probability(0)
        seen.norm2 = sum_of_squares(self.values, seen.n) + seen.constant * seen.constant

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = self.product(x, 0, -1)
        cdef Row seen
        if x.norm2 > 0 and self.weight > 0:
            self.look(x, &seen)
            if y * self.product(&seen, 0, -1) <= self.margin:
                self.estimate(&seen)
                self.step(&seen, self.weight * self.eta * y, self.product(&seen, 0, -1), 0, -1)
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Row seen
        cdef Py_ssize_t s = -1
        cdef double margin = INFINITY
        if x.norm2 > 0 and self.weight > 0:
            self.look(x, &seen)
            self.raw_scores(&seen, out)
            s = self.rival(y, out)
            margin = out[y] - out[s] if s >= 0 else INFINITY
        self.raw_scores(x, out)
        if margin <= self.margin:
            self.estimate(&seen)
            self.step(&seen, self.weight * self.eta, self.product(&seen, y, s), y, s)

    def column_arrays(self):
        return {**OFSLearner.column_arrays(self), "met": ChosenRecords()}

    def state(self):
        met = np.array([i for i in range(self.known) if self.met[i]], dtype=np.int64)
        return {**OFSLearner.state(self), "met": met}

    def restore(self, state):
        OFSLearner.restore(self, state)
        if not ascend(state["met"], self.known):
            raise ModelError(f"the record numbers in `met` do not ascend from 0 to below {self.known}")
        for j in state["met"].tolist():
            self.meet(j)


class OFS(Selector, Classifier):
    """Online feature selection: gradient descent that sets all but the k largest weights to 0 after every update.

    Where y w.x <= 1: w <- (1 - lam eta) w + eta y x, then w <- w min(1, 1 / (sqrt(lam) |w|)), then all but the k
    largest |w_j| become 0. The ball limits what the truncation loses, because the k largest weights hold most of a
    short vector. Of equal weights those of the lowest columns stay. The intercept is one of the k, and comes first
    among equals. With many classes y w.x is the margin over the strongest wrong class s, w_s takes -eta x, |w| is the
    norm of the whole matrix, and a feature is as strong as the sum of its |w_j| over the classes.

    With `partial` the learner sees only k features of a row: with probability epsilon any k of d features, else those
    of w. If y w.x over these features is at most 1, it steps along x_j / p_j, where p_j = epsilon k / d + (1 - epsilon)
    [w_j != 0] is the probability to see feature j. A stream does not announce its features, so d counts the features
    that were not 0 in this row or an earlier one, the intercept included. The prediction is w.x, with at most k
    features. A feature without a weight enters d / (epsilon k) times as large. So eta should be about epsilon k / d
    times the usual: otherwise steps are far longer than the ball, and the model learns next to nothing.

    Scale the features. If a step of norm eta |x| is not short beside the ball of radius 1 / sqrt(lam), each step undoes
    those before, and `PET` does better. If features have few different values, many weights tie, and the order of the
    columns decides.

    A sample weight multiplies the loss, and so eta y x. An update costs O(log k) for each non-zero of the row.
    Sometimes, and in every update if lam eta is near 1, it costs O(k log k) more.

    Parameters
    ----------
    k : the largest number of weights, the intercept included; at least 1.
    eta : step size, above 0.
    lam : regularisation, at least 0, with lam eta at most 1; 0 for no ball.
    partial : see only k features of each row.
    epsilon : with `partial`, the probability to see any k features; above 0 and at most 1.
    seed : seed of the random features, a whole number from 0 on.

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
    """Perceptron by truncation: keeps only the k largest weights after every mistake; the baseline of `OFS`.

    On a mistake, y w.x <= 0: w += eta y x, and all but the k largest |w_j| become 0. There is no ball, so the
    truncation may lose large weights. Ties, the intercept, many classes, sample weights and cost are as for `OFS`.

    Parameters
    ----------
    k : the largest number of weights, the intercept included; at least 1.
    eta : step size, above 0. It scales the weights, which start at 0, and changes no prediction.

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
    """SOFS: AROW with a diagonal Sigma. A feature is as strong as its variance is small."""

    cdef double r

    def __init__(self, Py_ssize_t k, double r):
        Selection.__init__(self, k, (("sigma", 1.0, False),))
        self.r = r

    cdef double strength(self, const double* w) noexcept nogil:
        cdef double sum = 0
        cdef Py_ssize_t k
        for k in range(self.classes):
            sum += w[self.classes + k]
        return -sum

    cdef double variance(self, const Row* x, Py_ssize_t column) noexcept nogil:
        """x' Sigma x of a class."""
        cdef const double* sigma = self.table.data + self.classes + column
        cdef double v = 0
        cdef Py_ssize_t i
        for i in range(-1, x.n):
            v += value(x, i) * value(x, i) * sigma[record(x, i) * self.table.width]
        return v

    cdef void update(self, const Row* x, double alpha, double r, Py_ssize_t column) noexcept nogil:
        """w += alpha Sigma x and 1 / Sigma_j += x_j^2 / r for a class."""
        cdef Py_ssize_t i
        cdef double* w
        cdef double* sigma
        cdef double g, c = min(1 / r, MOST)
        for i in range(-1, x.n):
            w = self.table.data + record(x, i) * self.table.width + column
            sigma = w + self.classes
            g = sigma[0] * value(x, i)
            w[0] += alpha * g
            sigma[0] = max(sigma[0] / (1 + c * g * value(x, i)), LEAST)

    cdef void step(self, const Row* x, double margin, double sign, Py_ssize_t y, Py_ssize_t s) noexcept nogil:
        """The update where the margin is below 1, and then only the k weights of the smallest variance."""
        cdef double r, v, alpha
        if margin >= 1 or x.norm2 == 0 or self.weight == 0:
            return
        v = self.variance(x, y) + (self.variance(x, s) if s >= 0 else 0)
        if v <= LEAST:
            return
        r = self.r / self.weight
        alpha = min((1 - margin) / (v + r), MOST)
        self.update(x, sign * alpha, r, y)
        if s >= 0:
            self.update(x, -alpha, r, s)
        self.updates += 1
        self.truncate(x)

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

    def column_arrays(self):
        return {**Selection.column_arrays(self), "index": ChosenRecords(("sigma",))}

    def state(self):
        """The variances that differ from 1, with their records."""
        sigma = self.table.get("sigma")
        index = np.flatnonzero((sigma != 1).any(axis=1))
        return {**Selection.state(self), "index": index, "sigma": sigma[index]}

    def restore(self, state):
        index, some = state["index"], state["sigma"]
        if not ascend(index, state["records"]):
            raise ModelError(f"the record numbers of the variances do not ascend from 0 to below {state['records']}")
        if some.shape != (len(index), self.classes) or not ((some > 0) & (some <= 1)).all():
            raise ModelError("the variances are not one number above 0 and up to 1 for each record and class")
        self.grow(state["records"])    # raises LimitError before arrays of that size exist
        sigma = np.ones((state["records"], self.classes))
        sigma[index] = some
        self.table.set("sigma", sigma)
        Selection.restore(self, state)


class SOFS(Selector, Classifier):
    """Second-order online feature selection: AROW that keeps only the k weights of smallest variance.

    Where m = y w.x < 1, with v = x' Sigma x and Sigma diagonal: w += ((1 - m) / (v + r)) y Sigma x and
    1 / Sigma_j += x_j^2 / r. Then all w_j but those of the k smallest Sigma_j become 0. Sigma itself is stored for all
    features. Of equal variances those of the lowest columns stay. The intercept is one of the k, and comes first among
    equals. With many classes m is the margin over the strongest wrong class, v the sum of both variances, and a feature
    is selected by the sum of its variances over the classes.

    A variance only falls, and only if the row has the feature. So an update costs O(log k) for each non-zero of its
    row.

    Scale the features: how often a feature occurs and how large it is decide whether it is selected, not the labels.

    Parameters
    ----------
    k : the largest number of weights, the intercept included; at least 1.
    r : regularisation, above 0; larger values make smaller steps. An example of sample weight g has r / g.

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
