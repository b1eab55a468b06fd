"""Half-space trees, which detect unusual rows."""

import warnings

from libc.math cimport fmax, fmin, ldexp
from libc.stdlib cimport free

import numpy as np

from seriatim.core.learner cimport Learner
from seriatim.core.memory cimport allocate
from seriatim.core.random cimport random_below, random_uniform
from seriatim.core.row cimport Row

from seriatim.errors import DataError, LimitError, ModelError
from seriatim.estimator import ONE, Absent, NoveltyDetector
from seriatim.parameters import Number

MOST = 1 << 26    # the most nodes of all trees
cdef Py_ssize_t FEW = 10    # windows of fewer rows may be in one box by chance
cdef double LARGEST = 1e200    # the largest mass; sample weights without bound stop here


cdef class HalfSpaceTreesLearner(Learner):
    """Trees that halve a box at random, with the counts of each node in the current and in the last window.

    Node 1 is the root, nodes 2k and 2k + 1 are the halves of node k, and nodes from 2^depth on are leaves.
    """

    NUMBERS = (*Learner.NUMBERS, "records")

    cdef Py_ssize_t trees, depth, window, fixed
    cdef unsigned long long seed
    cdef double level
    cdef public Py_ssize_t records   # features + 1; 1 before the number of features is known
    cdef double[:, ::1] mass         # counts of the last window, which give the score
    cdef double[:, ::1] latest       # counts of the current window
    cdef int[:, ::1] column          # the column by which a node halves its box
    cdef double[:, ::1] split        # and the value at which
    cdef bint outside                # the current window had a value outside [0, 1]
    cdef public int tied             # 1: such a window was in one box of each tree; 2: the user was warned
    cdef double* point               # the current row, dense
    cdef double* low                 # bounds of the current box while trees are built
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
                f"{rows - 1} features, but the trees have {self.records - 1}, fixed before the first example; "
                f"set n_features={rows - 1} or more"
            )
        return 0

    def plant(self, Py_ssize_t d):
        """Build the trees over d features. The box of each tree contains [0, 1]^d near its middle."""
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
        """Halve the current box by a random column, and then both halves."""
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
        """Write the row to `point`, or clear it again. Columns beyond the trees are left out."""
        cdef Py_ssize_t i, j
        for i in range(x.n):
            j = i if x.index == NULL else x.index[i]
            if j < self.records - 1:
                self.point[j] = x.value[i] if fill else 0

    cdef inline Py_ssize_t below(self, Py_ssize_t tree, Py_ssize_t node) noexcept nogil:
        return 2 * node + (self.point[self.column[tree, node]] >= self.split[tree, node])

    cdef double density(self) noexcept nogil:
        """The mean over the trees of r 2^k, with the count r of the first box of at most a tenth of the window."""
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
        """The density minus the level; 0 before the first window is full."""
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
        if self.records == 1:    # only empty rows so far
            return 0
        self.t -= 1    # the score is that of the round before
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
        """The window is full: its counts become those of the last window, and counting restarts."""
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
                raise ModelError(f"a mass is below 0 or above {LARGEST:g}")
            self.plant(records - 1)
            self.mass, self.latest = (np.array(state[name], dtype=np.float64) for name in ("mass", "latest"))


class HalfSpaceTrees(NoveltyDetector):
    """Half-space trees: a row is unusual if few recent rows fell into the same small boxes.

    Each tree halves a box around [0, 1]^d by a random column, and each half again, down to a given depth. The trees are
    built before the first row. In each window of rows every box counts its rows. A score uses the counts r of the last
    full window: in each tree the row descends to a leaf, or to the first box with at most a tenth of the window. At
    depth k the density of that box is r 2^k. The score is the mean over the trees divided by the size of the window: 1
    if the rows are spread evenly over the boxes, 0 where there were none. `score_samples` is this density,
    `decision_function` the density minus `level`; 0 before the first window is full. `Threshold` finds a level that a
    given fraction of the rows is below.

    Values should be between 0 and 1; features={"normalize": "max"} scales nonnegative values so. If they are so far off
    that all rows of a window fall into one box of each tree, there is a warning. A row costs its non-zeros and trees x
    depth. The number of features does not grow: it is `n_features`, or else that of the first block. Trees use column
    numbers; names get numbers in order of first appearance. An example of sample weight g counts g times.

    Parameters
    ----------
    trees : number of trees, at least 1.
    depth : number of halvings, from 1 to 24.
    window : rows in a window, at least 1.
    level : a row with a density below it is unusual; above 0.
    n_features : number of features, at least 1; None to take it from the first block.
    seed : seed of the trees, a whole number from 0 on.

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
        NoveltyDetector.learn_one(self, x, y, weight)
        self._learned()
        return self

    def _learned(self):
        if self._learner.tied == 1:
            self._learner.tied = 2
            warnings.warn(
                f"{type(self).__name__}: all rows of a window fell into one box of each tree and have the same score; "
                'scale the values to [0, 1], for example with features={"normalize": "max"} or --normalize max',
                UserWarning,
                stacklevel=3,
            )

    @property
    def offset_(self):
        """score_samples minus decision_function."""
        self._fitted()
        return self.level

    def score_samples(self, X):
        """The density of recent rows around each row."""
        return self.decision_function(X) + self.offset_
