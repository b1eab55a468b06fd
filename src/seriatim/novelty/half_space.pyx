"""Half-space trees: how many of the rows of late fell into the same small boxes as this one."""

import warnings

from libc.math cimport fmax, fmin, ldexp
from libc.stdlib cimport free

import numpy as np

from seriatim.core.learner cimport Learner
from seriatim.core.memory cimport allocate
from seriatim.core.random cimport random_below, random_uniform
from seriatim.core.row cimport Row

from seriatim.errors import DataError, LimitError, ModelError
from seriatim.estimator import ONE, Absent, Detector
from seriatim.parameters import Number

MOST = 1 << 26    # nodes of all trees
cdef Py_ssize_t FEW = 10    # rows of a window that may well be in one box
cdef double LARGEST = 1e200    # of a mass; that of importance beyond all bounds stops there


cdef class HalfSpaceTreesLearner(Learner):
    """Trees that halve a box at random, and the rows that went through each node in this window and in the last.

    Node 1 is the root, 2k and 2k + 1 are the halves of k, and those from 2^depth on are leaves.
    """

    NUMBERS = (*Learner.NUMBERS, "records")

    cdef Py_ssize_t trees, depth, window, fixed
    cdef unsigned long long seed
    cdef double level
    cdef public Py_ssize_t records   # features and 1; 1 until they are known
    cdef double[:, ::1] mass         # of the last window, by which rows are judged
    cdef double[:, ::1] latest       # of this one
    cdef int[:, ::1] column          # by which a node halves
    cdef double[:, ::1] split        # and where
    cdef bint outside                # a value of this window was not from 0 to 1
    cdef public int tied             # 1: and all rows of a window were in one box of each tree; 2: that was said
    cdef double* point               # the row at hand, without gaps
    cdef double* low                 # of the box at hand, while trees are planted
    cdef double* high

    def __init__(self, Py_ssize_t trees, Py_ssize_t depth, Py_ssize_t window, double level, Py_ssize_t n_features,
                 unsigned long long seed):
        self.trees, self.depth, self.window, self.level = trees, depth, window, level
        self.fixed, self.seed = n_features, seed
        self.records, self.weighted = 1, True
        self.mass = self.latest = np.zeros((0, 0))
        if trees << (depth + 1) > MOST:
            raise LimitError(f"{trees} trees of depth {depth} have more than {MOST} nodes, which is the limit")

    def __dealloc__(self):
        free(self.point)
        free(self.low)
        free(self.high)

    # ---- the trees

    cdef int grow(self, Py_ssize_t rows) except -1:
        if self.t == 0 and rows > self.records and (self.records == 1 or not self.fixed):
            self.plant(self.fixed or rows - 1)
        if rows > self.records:
            raise DataError(
                f"{rows - 1} features for trees over {self.records - 1}: their number is fixed before the first "
                f"example; start with n_features={rows - 1} or more"
            )
        return 0

    def plant(self, Py_ssize_t d):
        """Trees over so many features: each has a box that holds [0, 1]^d somewhere near its middle."""
        cdef Py_ssize_t tree, q, draws = 0
        cdef double s, width
        free(self.point)
        free(self.low)
        free(self.high)
        self.point = <double*> allocate(d, sizeof(double))
        self.low = <double*> allocate(d, sizeof(double))
        self.high = <double*> allocate(d, sizeof(double))
        if self.point == NULL or self.low == NULL or self.high == NULL:
            raise MemoryError(f"no memory for {d} features")
        self.mass, self.latest = np.zeros((2, self.trees, 2 << self.depth))
        self.column = np.zeros((self.trees, 1 << self.depth), dtype=np.int32)
        self.split = np.zeros((self.trees, 1 << self.depth))
        for tree in range(self.trees):
            for q in range(d):
                s = random_uniform(self.seed, &draws)
                width = 2 * fmax(s, 1 - s)
                self.low[q], self.high[q] = s - width, s + width
            self.halve(tree, 1, d, &draws)
        self.records = d + 1

    cdef void halve(self, Py_ssize_t tree, Py_ssize_t node, Py_ssize_t d, Py_ssize_t* draws) noexcept nogil:
        """Halve the box at hand by a column that is drawn, and both halves likewise."""
        cdef Py_ssize_t q
        cdef double low, high, middle
        if node >= <Py_ssize_t> 1 << self.depth:
            return
        q = random_below(d, self.seed, draws)
        low, high = self.low[q], self.high[q]
        middle = low + (high - low) / 2
        self.column[tree, node], self.split[tree, node] = <int> q, middle
        self.high[q] = middle
        self.halve(tree, 2 * node, d, draws)
        self.low[q], self.high[q] = middle, high
        self.halve(tree, 2 * node + 1, d, draws)
        self.low[q] = low

    # ---- a round

    cdef void spread(self, const Row* x, bint fill) noexcept nogil:
        """Write the row where every column has its place, or clear it again; columns beyond the trees are left out."""
        cdef Py_ssize_t i, j
        for i in range(x.n):
            j = i if x.index == NULL else x.index[i]
            if j < self.records - 1:
                self.point[j] = x.value[i] if fill else 0

    cdef inline Py_ssize_t below(self, Py_ssize_t tree, Py_ssize_t node) noexcept nogil:
        return 2 * node + (self.point[self.column[tree, node]] >= self.split[tree, node])

    cdef double density(self) noexcept nogil:
        """The mean over trees of r 2^k: mass r of the last window in the box at depth k, where a tenth is few."""
        cdef Py_ssize_t tree, node, k
        cdef double total = 0, few = 0.1 * self.window
        for tree in range(self.trees):
            node, k = 1, 0
            while k < self.depth and self.mass[tree, node] > few:
                node = self.below(tree, node)
                k += 1
            total += ldexp(self.mass[tree, node], <int> k)
        return total / (self.trees * <double> self.window)

    cdef double judged(self) noexcept nogil:
        """How far the density lies above the level; 0 as long as there is nothing to compare with."""
        return self.density() - self.level if self.t >= self.window else 0

    cdef double score(self, const Row* x) noexcept nogil:
        cdef double f = 0
        if self.records > 1:
            self.spread(x, True)
            f = self.judged()
            self.spread(x, False)
        return f

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef Py_ssize_t i, tree, node, k
        cdef double f
        if self.records == 1:    # nothing but empty rows so far
            return 0
        self.t -= 1    # what is said of a row is said before its round
        self.spread(x, True)
        f = self.judged()
        self.t += 1
        for i in range(x.n):
            self.outside |= not 0 <= x.value[i] <= 1
        for tree in range(self.trees if self.weight > 0 else 0):
            node = 1
            for k in range(self.depth + 1):
                self.latest[tree, node] = fmin(self.latest[tree, node] + self.weight, LARGEST)
                if k < self.depth:
                    node = self.below(tree, node)
        self.spread(x, False)
        self.updates += self.weight > 0
        if self.t % self.window == 0:
            self.turn()
        return f

    cdef void turn(self) noexcept nogil:
        """The window is full: what was counted in it is what rows are judged by, and counting begins anew."""
        cdef Py_ssize_t tree, node
        cdef double largest
        cdef bint one = self.outside and self.window >= FEW
        for tree in range(self.trees):
            largest = 0
            for node in range(<Py_ssize_t> 2 << self.depth):
                self.mass[tree, node] = self.latest[tree, node]
                self.latest[tree, node] = 0
                if node >> self.depth:
                    largest = fmax(largest, self.mass[tree, node])
            one = one and 0 < self.mass[tree, 1] == largest
        self.outside = False
        if one and self.tied == 0:
            self.tied = 1

    # ---- state

    def state(self):
        return {**Learner.state(self), "mass": np.array(self.mass), "latest": np.array(self.latest)}

    def restore(self, state):
        Learner.restore(self, state)
        records = self.records
        shape = (0, 0)
        if records > 1:
            shape = (self.trees, 2 << self.depth)
        if state["mass"].shape != shape or state["latest"].shape != shape or not 1 <= records <= 1 << 28:
            raise ModelError(f"masses of shape {state['mass'].shape} for trees of {shape}")
        if records > 1:
            if not all(((0 <= state[name]) & (state[name] <= LARGEST)).all() for name in ("mass", "latest")):
                raise ModelError(f"a mass is below 0 or beyond {LARGEST:g}")
            self.plant(records - 1)
            self.mass, self.latest = (np.array(state[name], dtype=np.float64) for name in ("mass", "latest"))


class HalfSpaceTrees(Detector):
    """Half-space trees: a row is unusual if few of the rows of late fell into the same boxes.

    Each tree halves a box around [0, 1]^d, by a column drawn at random, and each half again, to a given depth; that is
    settled before the first row. In every window of rows the trees count how many fall into each box. A row is judged
    by the counts r of the last full window: in each tree it goes down to a box at depth k that is a leaf, or in which r
    is at most a tenth of the window, and r 2^k is how densely that box was filled. The mean of that over the trees, by
    the length of the window, is the density: 1 if the rows are spread evenly over the boxes, 0 where there were none.
    `score_samples` is the density, `decision_function` the density less `level`; 0 before the first window is full.
    `Threshold` finds a level that a given share of the rows fall below.

    Values are taken to lie between 0 and 1, which features={"normalize": "max"} makes of those that are not negative.
    Where they are so far from there that all rows of a window fall into one box of each tree, and have the same score,
    there is a warning. A row costs its non-zeros and trees x depth, whatever the features, which do not grow: there are
    `n_features`, else as many as in the first block. Trees go by the numbers of columns; names have theirs in the order
    in which they come. An example of importance g counts g times.

    Parameters
    ----------
    trees : at least 1.
    depth : halvings, from 1 to 24.
    window : rows, at least 1.
    level : density below which a row is unusual, above 0.
    n_features : at least 1; None to take them from the first block.
    seed : of the trees, a whole number from 0 on.

    >>> import numpy as np
    >>> from seriatim import HalfSpaceTrees
    >>> rng = np.random.default_rng(0)
    >>> model = HalfSpaceTrees(window=100).partial_fit(0.2 + 0.1 * rng.random((500, 3)))
    >>> model.predict([[0.25, 0.25, 0.25], [0.9, 0.25, 0.25]]).tolist()
    [1, -1]

    Tan, Ting and Liu, "Fast anomaly detection for streaming data", IJCAI 2011.
    """

    family = "novelty"
    paper = "Tan et al. (2011)"
    loss = "hinge"
    fixed = ("features", "trees", "depth", "window", "n_features", "seed")
    fit_intercept = False
    sparsify = densify = n_nonzero_ = sparsity_ = Absent()
    trees = Number(25, least=1, below=10**6, integer=True)
    depth = Number(15, least=1, most=24, integer=True)
    window = Number(250, least=1, below=10**9, integer=True)
    level = Number(1.0, above=0)
    n_features = Number(None, least=1, below=1 << 28, integer=True, optional=True)
    seed = Number(0, least=0, integer=True)

    def build(self):
        seed = int(self.seed) % 2**64
        return HalfSpaceTreesLearner(self.trees, self.depth, self.window, self.level, self.n_features or 0, seed)

    def learn_one(self, x, y=None, weight=ONE):
        """Learn one example: a dict of features by name."""
        Detector.learn_one(self, x, y, weight)
        self._learned()
        return self

    def _learned(self):
        if self._learner.tied == 1:
            self._learner.tied = 2
            warnings.warn(
                f"{type(self).__name__}: all rows of a window fell into one box of each tree, and have the same score; "
                'values are to lie between 0 and 1, as features={"normalize": "max"}, or --normalize max, makes them',
                UserWarning,
                stacklevel=3,
            )

    @property
    def offset_(self):
        """decision_function is score_samples less this."""
        self._fitted()
        return self.level

    def score_samples(self, X):
        """The density around each row."""
        return self.decision_function(X) + self.offset_
