"""Dual averaging over groups of weights: groups of features, or the weights of a feature in several tasks."""

import numpy as np

cimport cython
from libc.math cimport sqrt
from libc.stdlib cimport free

from seriatim.core.learner cimport Learner
from seriatim.core.loss cimport Gradient
from seriatim.core.memory cimport resize
from seriatim.core.row cimport Row, record, value
from seriatim.core.table cimport Table
from seriatim.sparse.lazy cimport Lazy, soft

from seriatim.core.loss import LOSSES
from seriatim.core.table import ascend
from seriatim.errors import ModelError
from seriatim.parameters import Choice, Number, powers
from seriatim.sparse.groups import Grouped
from seriatim.sparse.tasks import MultiTask

cdef double UNIT = 2.0 ** -64    # squares are of UNIT G, which is exact: so no sum of squares can overflow


cdef inline double factor_left(double norm2, double cut2) noexcept nogil:
    """[1 - cut / |c|]+ from the squares; 0 where c = 0 and the quotient is NaN."""
    cdef double left = 1 - sqrt(cut2 / norm2)
    return left if left > 0 else 0


cdef inline void replace_square(double* sum, double* rest, double old, double new) noexcept nogil:
    """Replace old^2 by new^2 in a sum of squares.

    `rest` adds up what rounding took from the sum (Neumaier). So a square leaves the sum to the last bit, and a norm
    that was large does not spoil the small one that follows.
    """
    cdef double plus = (UNIT * new) * (UNIT * new), minus = -(UNIT * old) * (UNIT * old)
    cdef double total = sum[0] + plus, part = total - sum[0], less = total + minus
    cdef double lost = rest[0] + ((sum[0] - (total - part)) + (plus - part))
    part = less - total
    rest[0] = lost + ((total - (less - part)) + (minus - part))
    sum[0] = less


cdef inline void several(GroupRDALearner self, const Row* x, Py_ssize_t column, double* out, int n) noexcept nogil:
    """x.w of n columns; the intercept is not penalised."""
    cdef double sums[8]
    cdef const double* G = self.table.data + column
    cdef const double* r
    cdef const double* left
    cdef Py_ssize_t i, j, k
    for k in range(n):
        sums[k] = x.constant * G[k]
    for i in range(x.n):
        j = record(x, i)
        r = G + j * self.table.width
        if self.group_of[j] < 0:
            for k in range(n):
                sums[k] += x.value[i] * soft(r[k], self.alone)
        else:
            left = self.left(self.group_of[j]) + column
            for k in range(n):
                sums[k] += x.value[i] * (soft(r[k], self.threshold) * left[k])
    for k in range(n):
        out[k] = self.factor * sums[k]


@cython.final
cdef class GroupRDALearner(Lazy):
    """w^g = -[1 - t lambda sqrt(d_g) / |c^g|]+ c^g / (gamma sqrt(t)), c = soft(G, t lambda r + gamma rho sqrt(t)).

    Each step updates |G^g|^2, which is |c^g|^2 where the threshold of c is 0. Otherwise all of c changes with t, and a
    row sums the squares of its groups.
    """

    cdef double lam, gamma, rho, within
    cdef double threshold        # of c
    cdef double cut              # t lambda
    cdef double alone            # the threshold of a feature that is a group of its own
    cdef double factor           # -1 / (gamma sqrt(t))
    cdef double now              # the round after which these numbers hold
    cdef Table norms             # a record for each group: |UNIT G^g|^2 in two parts, its factor, the factor's round
    cdef Py_ssize_t block        # the number of columns in each group, or 0 if the groups are lists:
    cdef object arrays           # owns the memory of the lists,
    cdef const Py_ssize_t* members    # the columns of one group after another,
    cdef const Py_ssize_t* begins     # where each group begins,
    cdef Py_ssize_t[::1] columns, owners    # and all these columns in ascending order, with their groups
    cdef int* group_of           # the group of each record; -1 for a group of its own
    cdef Py_ssize_t known, space  # records that have an entry there, and how many there is memory for
    cdef Py_ssize_t placed       # how many of `columns` have been entered there

    def __init__(self, Gradient gradient, double lam, double gamma, double rho, double within):
        Lazy.__init__(self, gradient, (("G", 0.0, True),))
        self.lam, self.gamma, self.rho, self.within = lam, gamma, rho, within
        self.group(1, ())

    def __dealloc__(self):
        free(self.group_of)

    def group(self, Py_ssize_t block, groups):
        """Set the groups: blocks of `block` columns, or lists of columns if it is 0."""
        groups = [sorted(group) for group in groups if len(group) > 1]
        listed = np.array([column for group in groups for column in group], dtype=np.intp)
        owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        order = np.argsort(listed)
        self.columns, self.owners = listed[order], owners[order]
        cdef Py_ssize_t[::1] begins = np.cumsum([0, *map(len, groups)], dtype=np.intp)
        cdef Py_ssize_t[::1] members = np.append(listed, -1)    # never empty
        self.block, self.arrays, self.begins, self.members = block, (begins, members), &begins[0], &members[0]
        fields = ("norm2", 0.0, False), ("rest", 0.0, False), ("left", 0.0, False), ("round", -1.0, False)
        self.norms = Table(fields, self.classes)
        self.norms.grow(max(1, len(groups)))
        self.known = self.placed = 0
        self.grow(self.table.rows)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t before = self.table.rows
        if rows > self.known:
            self.table.grow(rows)
            try:
                self.find_places(self.table.rows)
            except Exception:
                self.table.rows = before
                raise
        return 0

    def find_places(self, Py_ssize_t rows):
        """Enter the groups of all records below `rows`."""
        cdef Py_ssize_t i, block = self.block
        if block > 1:
            self.norms.grow((rows - 2) // block + 1)
        if rows > self.space:
            if resize(<void**> &self.group_of, self.table.capacity, sizeof(int)) < 0:
                raise MemoryError(f"no memory for {self.table.capacity} features")
            self.space = self.table.capacity
        for i in range(self.known, rows):
            self.group_of[i] = <int> ((i - 1) // block) if block > 1 and i > 0 else -1
        while self.placed < len(self.columns) and self.columns[self.placed] < rows - 1:
            self.group_of[self.columns[self.placed] + 1] = <int> self.owners[self.placed]
            self.placed += 1
        self.known = rows

    # ---- a round

    cdef const double* left(self, Py_ssize_t g) noexcept nogil:
        """[1 - t lambda sqrt(d_g) / |c^g|]+ for each class, computed when a row first asks for it in a round."""
        cdef Py_ssize_t k, classes = self.classes
        cdef Py_ssize_t size = self.block or self.begins[g + 1] - self.begins[g]
        cdef double* r = self.norms.data + g * self.norms.width
        cdef double norm2
        if r[3 * classes] != self.now:
            r[3 * classes] = self.now
            for k in range(classes):
                norm2 = r[k] + r[classes + k] if self.threshold == 0 else self.sum_of_squares(g, size, k)
                r[2 * classes + k] = factor_left(norm2, size * (UNIT * self.cut) ** 2)
        return r + 2 * classes

    cdef double sum_of_squares(self, Py_ssize_t g, Py_ssize_t size, Py_ssize_t column) noexcept nogil:
        """|UNIT c^g|^2."""
        cdef double norm2 = 0
        cdef Py_ssize_t i, j
        for i in range(size):
            j = 1 + (g * self.block + i if self.block else self.members[self.begins[g] + i])
            if j < self.table.rows:
                norm2 += (UNIT * soft(self.table.data[j * self.table.width + column], self.threshold)) ** 2
        return norm2

    cdef void products(self, const Row* x, Py_ssize_t column, int n, double* out) noexcept nogil:
        if n == 8:
            several(self, x, column, out, 8)
        else:
            several(self, x, column, out, 1)

    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        cdef Py_ssize_t i, j
        cdef double g
        cdef double* G
        cdef double* norm2
        for i in range(-1, x.n):
            g, j = -a * value(x, i), record(x, i)
            G = self.table.data + j * self.table.width + column
            if self.group_of[j] >= 0:
                norm2 = self.norms.data + self.group_of[j] * self.norms.width + column
                replace_square(norm2, norm2 + self.classes, G[0], G[0] + g)
            G[0] += g

    cdef void end_round(self) noexcept nogil:
        cdef double t = self.t
        self.now = t
        self.cut = t * self.lam
        self.threshold = self.cut * self.within + self.gamma * self.rho * sqrt(t)
        self.alone = self.cut + self.threshold
        self.factor = -1 / (self.gamma * sqrt(t)) if t > 0 else 0

    # ---- classes and state

    cdef void measure(self) noexcept nogil:
        """Compute the norms from the sums."""
        cdef Py_ssize_t i, k, classes = self.classes
        cdef double* r
        for i in range(self.norms.rows):
            for k in range(classes):
                r = self.norms.data + i * self.norms.width + k
                r[0], r[classes], r[3 * classes] = 0, 0, -1
        for i in range(self.table.rows):
            if self.group_of[i] >= 0:
                for k in range(classes):
                    r = self.norms.data + self.group_of[i] * self.norms.width + k
                    replace_square(r, r + classes, 0, self.table.data[i * self.table.width + k])

    def reclass(self, source, factor):
        """When a binary model becomes multiclass, the part of G above the thresholds halves; the rest stays."""
        G = self.table.get("G")
        if self.factor:
            G -= self.weights() / self.factor / 2
        Lazy.reclass(self, source, factor)
        self.norms.reclass(source, factor)
        sums = self.table.get("G")
        for k, (old, by) in enumerate(zip(source, factor)):
            if old >= 0 and abs(by) == 0.5:
                sums[:, k] = np.sign(by) * G[:, old] + 0.0    # + 0.0: no negative zero
        self.table.set("G", sums)
        self.measure()

    def refresh(self):
        self.grow(self.table.rows)
        self.end_round()

    def column_arrays(self):
        raise ModelError("the groups are sets of columns, which cannot be moved")

    def state(self):
        """The norms belong to the state, because they depend on the order of the steps in the last bits."""
        norms = np.hstack([self.norms.get("norm2"), self.norms.get("rest")])
        index = np.flatnonzero(norms.any(axis=1))
        return {**Lazy.state(self), "groups": index, "norms": norms[index]}

    def restore(self, state):
        Lazy.restore(self, state)
        index, norms = state["groups"], state["norms"]
        if norms.shape != (len(index), 2 * self.classes):
            raise ModelError(f"the norms of {len(index)} groups have shape {norms.shape}")
        if not ascend(index, self.norms.rows):
            raise ModelError(f"the group numbers do not ascend from 0 to below {self.norms.rows}")
        for name, values in zip(("norm2", "rest"), np.hsplit(norms, 2)):
            all_values = self.norms.get(name)
            all_values[index] = values
            self.norms.set(name, all_values)


class GroupRDA(Grouped):
    """Dual averaging with the group lasso: the weights of a group of features are all 0, or none of them has to be.

    With ubar the mean of the gradients of rounds 1..t and d_g the size of group g,
    c_j = sgn(ubar_j) [|ubar_j| - lambda r - gamma rho / sqrt(t)]+ and
    w^g = -(sqrt(t) / gamma) [1 - lambda sqrt(d_g) / |c^g|]+ c^g, or 0 where c^g = 0. This w minimises
    ubar.w + lambda sum_g (sqrt(d_g) |w^g| + r |w^g|_1) + (gamma / sqrt(t)) (|w|^2 / 2 + rho |w|_1). r > 0 is the sparse
    group lasso, with zeros inside the groups that stay, and rho > 0 the enhanced form. The intercept is not penalised:
    b = -(sqrt(t) / gamma) ubar_b. The losses are those of `OGD`. With many classes the margin is m = w_y.x - w_s.x,
    where s is the strongest wrong class, and the groups are those of each class separately. A sample weight multiplies
    the loss. The state is the sums of the gradients, as in `RDA`. A third label halves the weights of a binary model
    in the same way: the parts of the sums above the thresholds halve.

    If r and rho are 0, a round costs the non-zeros of its row, because each step updates the norms of its groups.
    Otherwise all of c changes with t, and a round costs the sizes of the groups that its row has features of.

    Parameters
    ----------
    groups : a group number for each column; or a list of column numbers for each group; or n, for groups of n adjacent
        columns. If features have names, the lists may have names. Column numbers then count the names in order of first
        appearance. A feature that is in no group, or is new, is a group of its own. d_g is the given size, even if the
        stream has not shown all features. On the command line: groups=8, groups=0,0,1,1 or, with a list for each
        group, groups="0,1;2,3".
    loss : the loss, as for `OGD`.
    lam : lambda, the strength of the penalty, at least 0.
    gamma : above 0; larger values make smaller steps.
    rho : the enhancement, at least 0; larger values give more zeros in early rounds.
    within : r, at least 0; larger values give more zeros inside the groups.
    epsilon : width of the epsilon-insensitive loss, at least 0.

    >>> from seriatim import GroupRDA, data, evaluate
    >>> run = evaluate.progressive(GroupRDA(8, lam=0.1, gamma=100), *data.load("digits"))    # the rows of the picture
    >>> run.mistakes, run.model.n_nonzero_
    (310, 402)

    Yang, Xu, King and Lyu, "Online learning for group lasso", ICML 2010.
    """

    family = "sparse"
    paper = "Yang et al. (2010)"
    loss = Choice("hinge", LOSSES[:6])
    lam = Number(1e-3, least=0)
    gamma = Number(1.0, above=0, search=powers(-6, 6))
    rho = Number(0.0, least=0)
    within = Number(0.0, least=0)
    epsilon = Number(0.1, least=0)

    def build(self):
        gradient = Gradient(self.loss, 1, "constant", self.epsilon)
        return self._group(GroupRDALearner(gradient, self.lam, self.gamma, self.rho, self.within), self._vocabulary)


VARIANTS = ("iMTFS", "aMTFS", "MTFTS")

cdef enum Variant:
    INDIVIDUAL
    ACROSS
    BOTH


@cython.final
cdef class MultiTaskRDALearner(Lazy):
    """W_.j = -[1 - t lambda / |U_.j|]+ U_.j / (gamma sqrt(t)), U = soft(G, t lambda r).

    iMTFS has the l1 penalty instead. A record has the sums of all tasks and, for aMTFS, their squared norm in two
    parts.
    """

    cdef int variant
    cdef double lam, gamma, within
    cdef double cut, factor          # t lambda, and -1 / (gamma sqrt(t))
    cdef readonly Py_ssize_t tasks
    cdef public Py_ssize_t task      # the task of the current example
    cdef const Py_ssize_t[::1] told  # the tasks of the current rows

    def __init__(self, Gradient gradient, Py_ssize_t tasks, str variant, double lam, double gamma, double within):
        Lazy.__init__(self, gradient, (("G", 0.0, True),))
        self.table = Table((("G", 0.0, True),), tasks + 2)
        self.tasks, self.variant, self.told = tasks, VARIANTS.index(variant), None
        self.lam, self.gamma, self.within = lam, gamma, within

    cdef double left(self, const double* G) noexcept nogil:
        """What the penalty leaves of the sum of the current task in a record."""
        cdef double by, norm2 = 0, cut2 = (UNIT * self.cut) ** 2
        cdef Py_ssize_t q
        if self.variant == INDIVIDUAL:
            return soft(G[self.task], self.cut)
        if self.variant == ACROSS:
            return G[self.task] * factor_left(G[self.tasks] + G[self.tasks + 1], cut2)
        by = self.within * self.cut
        for q in range(self.tasks):
            norm2 += (UNIT * soft(G[q], by)) ** 2
        return soft(G[self.task], by) * factor_left(norm2, cut2)

    cdef void products(self, const Row* x, Py_ssize_t column, int n, double* out) noexcept nogil:
        cdef Py_ssize_t i
        cdef double sum = 0
        for i in range(-1, x.n):
            sum += value(x, i) * self.left(self.table.data + record(x, i) * self.table.width)
        out[0] = self.factor * sum

    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        cdef Py_ssize_t i
        cdef double g
        cdef double* G
        for i in range(-1, x.n):
            g, G = -a * value(x, i), self.table.data + record(x, i) * self.table.width
            if self.variant == ACROSS:
                replace_square(G + self.tasks, G + self.tasks + 1, G[self.task], G[self.task] + g)
            G[self.task] += g

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        if self.told is not None:
            self.task = (&self.told[0])[self.at]
        return Lazy.learn(self, x, y)

    cdef void end_round(self) noexcept nogil:
        self.cut = self.lam * self.t
        self.factor = -1 / (self.gamma * sqrt(<double> self.t)) if self.t > 0 else 0

    # ---- the tasks of rows

    def tell(self, tasks):
        """Set the tasks of the next rows. Otherwise all rows belong to `task`."""
        self.told = tasks

    cdef int begin_rows(self, Py_ssize_t n) except -1:
        if self.told is not None and len(self.told) != n:
            self.told = None
            raise ValueError("rows and tasks differ in length")
        return 0

    cdef void end_rows(self) noexcept:
        self.told, self.task = None, 0

    cdef double score(self, const Row* x) noexcept nogil:
        if self.told is not None:
            self.task = (&self.told[0])[self.at]
        return Lazy.score(self, x)

    # ---- weights and state

    def weights(self):
        columns = []
        for self.task in range(self.tasks):
            columns.append(Lazy.weights(self))
        self.task = 0
        return np.hstack(columns)

    def reclass(self, source, factor):
        """The only label so far turns out to be the other class. The sums change sign, the norms do not."""
        self.table.reclass(np.arange(self.tasks + 2), np.array([factor[0]] * self.tasks + [1.0, 1.0]))
        Learner.reclass(self, source, factor)

    def refresh(self):
        self.end_round()


class MultiTaskRDA(MultiTask):
    """Dual averaging over several tasks that share features; the examples of the tasks come in any order.

    W has a row for each task. G is the mean of the gradients of rounds 1..t, each of which belongs to one task q and is
    0 in the rows of the other tasks:

    "iMTFS", each task separately: W_qj = -(sqrt(t) / gamma) sgn(G_qj) [|G_qj| - lambda]+.
    "aMTFS", a feature is in all tasks or in none: W_.j = -(sqrt(t) / gamma) [1 - lambda / |G_.j|]+ G_.j.
    "MTFTS", the tasks share features, and each task uses some of these: as aMTFS, with
    U_qj = sgn(G_qj) [|G_qj| - lambda r]+ in place of G.

    W minimises <G, W> + lambda R(W) + gamma |W|^2 / (2 sqrt(t)), where R is the sum of |W_qj|, of the norms |W_.j|, or
    of the norms and r |W_qj|. The losses are those of `OGD`. There are two labels, the same in all tasks. `coef_` has a
    row for each task. The intercept is a weight like any other. A sample weight multiplies the loss. The formulas are
    derived from the problems that the paper poses. They were not compared with its text, but tests compare them with a
    numerical solver. A round costs the non-zeros of its row, for MTFTS times the number of tasks.

    `partial_fit(X, y, tasks)`, `predict(X, tasks)`, `decision_function` and `score` take task numbers from 0 on, and so
    do `learn_one`, `predict_one` and `score_one` with `task`. Without them all examples belong to task 0. This is
    always so on the command line and in `evaluate.progressive` and `compare`.

    Parameters
    ----------
    n_tasks : number of tasks, at least 1.
    variant : iMTFS, aMTFS or MTFTS.
    loss : the loss, as for `OGD`.
    lam : lambda, the strength of the penalty, at least 0.
    gamma : above 0; larger values make smaller steps.
    within : r of MTFTS, at least 0; larger values give more zeros.
    epsilon : width of the epsilon-insensitive loss, at least 0.

    >>> from seriatim import MultiTaskRDA, data
    >>> X, y = data.load("digits")
    >>> odd, half = y % 2, y // 5    # which digits are odd: of those below 5, and of the others
    >>> model = MultiTaskRDA(2, lam=0.3, gamma=100).partial_fit(X, odd, half)
    >>> round(model.score(X, odd, tasks=half), 3), (model.coef_ != 0).sum(axis=1).tolist()
    (0.935, [20, 20])

    Yang, Lyu and King, "Efficient online learning for multitask feature selection", TKDD 7 (2013).
    """

    family = "sparse"
    paper = "Yang et al. (2013)"
    fixed = (*MultiTask.fixed, "variant")
    variant = Choice("aMTFS", VARIANTS)
    loss = Choice("hinge", LOSSES[:6])
    lam = Number(1e-3, least=0)
    gamma = Number(1.0, above=0, search=powers(-6, 6))
    within = Number(1.0, least=0)
    epsilon = Number(0.1, least=0)

    def build(self):
        gradient = Gradient(self.loss, 1, "constant", self.epsilon)
        return MultiTaskRDALearner(gradient, self.n_tasks, self.variant, self.lam, self.gamma, self.within)
