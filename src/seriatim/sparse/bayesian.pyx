"""Bayesian learning under a Laplace prior: the mode of the posterior, with quadratic forms as likelihoods."""

from contextlib import contextmanager

import numpy as np

from libc.math cimport erfc, exp, fabs, fmax, fmin
from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.learner cimport Learner, LinearLearner
from seriatim.core.memory cimport allocate, resize
from seriatim.core.row cimport Row, dot, record, value
from seriatim.sparse.lazy cimport soft

from seriatim.core.loss import standard_normal
from seriatim.core.table import ascend
from seriatim.errors import LimitError, ModelError
from seriatim.estimator import Classifier
from seriatim.parameters import Choice, Number, powers

LINKS = ("logit", "probit")
MAX_BYTES = 1 << 30

cdef double LEAST = 1e-150    # smaller curvatures count as 0, because a division could overflow
cdef double MOST = 1e100      # the largest weight; sane data stays far below
cdef double SAME = 1e-14      # a sweep with smaller relative changes than this is the last one

cdef enum:
    TERMS = 60                # terms of the continued fraction: exact to rounding from z = 5 on


cdef struct Taylor:           # of log p(y | s) at the margin s: -a s^2 / 2 + b s, with slope b - a s
    double a, b, slope


cdef inline Taylor logit(double s) noexcept nogil:
    cdef Taylor t
    cdef double e = exp(-fabs(s))
    t.a = e / ((1 + e) * (1 + e))
    t.slope = (e if s > 0 else 1) / (1 + e)
    t.b = t.slope + t.a * s
    return t


cdef inline Taylor probit(double s) noexcept nogil:
    """With r = phi(s) / Phi(s): slope r and curvature r (s + r)."""
    cdef Taylor t
    cdef double u, z = -s
    cdef int k
    if z < 5:
        t.slope = 0.7978845608028654 * exp(-s * s / 2) / erfc(z * 0.7071067811865476)
        t.a = t.slope * (s + t.slope)
        t.b = t.slope + t.a * s
    else:    # r = z + 1 / (z + u), u = 2 / (z + 3 / (z + ...)) (Laplace): no cancellation
        u = 0
        for k in range(TERMS, 1, -1):
            u = k / (z + u)
        t.slope = z + 1 / (z + u)
        t.a = t.slope / (z + u)
        t.b = t.slope * (u / (z + u))
    return t


cdef class BayesianSparseLearner(LinearLearner):
    """Psi, theta and the mode w of exp(-w' Psi w / 2 + theta.w - gamma |w|_1), by shooting.

    Psi is stored for the active features. Each of them has a slot; slot 0 is the intercept's. Without a memory bound
    all features are active, and slots are records. Otherwise the table stores two numbers for a feature that is not
    active: Psi_jj, and in place of theta_j the slope theta_j - sum_k Psi_jk w_k. Its w_j is 0.
    """

    NUMBERS = (*Learner.NUMBERS, "passing")

    cdef double gamma
    cdef bint probit
    cdef Py_ssize_t sweeps, memory     # memory 0 means no bound
    cdef public Py_ssize_t passing     # 1 in a pass over old rows, in which w does not change
    cdef Py_ssize_t active, capacity   # slots in use, and slots with memory
    cdef Py_ssize_t placed, places     # records in slot_of, and records it has memory for
    cdef double* psi                   # capacity x capacity
    cdef double* rest                  # theta - Psi w, by slot
    cdef double* present               # the non-zeros of the current row, and their slots
    cdef Py_ssize_t* slots
    cdef Py_ssize_t* slot_of           # the slot of each record; -1: not active
    cdef Py_ssize_t* record_of
    cdef Py_ssize_t* order             # the slots, by ascending record

    def __init__(self, double gamma, str link, Py_ssize_t sweeps, Py_ssize_t memory):
        companions = (("theta", 0.0, True), ("curvature", 0.0, False)) if memory else (("theta", 0.0, True),)
        LinearLearner.__init__(self, companions=companions)
        self.gamma, self.probit, self.sweeps, self.memory = gamma, link == "probit", sweeps, memory
        self.weighted = True
        if memory:
            self.expect_room(memory + 1)
        self.make_room(min(memory + 1, 4) if memory else 4)
        self.grow(1)

    def __dealloc__(self):
        free(self.psi)
        free(self.rest)
        free(self.present)
        free(self.slots)
        free(self.slot_of)
        free(self.record_of)
        free(self.order)

    # ---- room

    cdef int expect_room(self, Py_ssize_t capacity) except -1:
        if capacity > MAX_BYTES // 8 // capacity:
            raise LimitError(
                f"the matrix Psi of {capacity - 1} features would need {capacity * capacity * 8.0 / 2**30:.1f} GiB; "
                f"the limit is {MAX_BYTES / 2**30:g} GiB. Set memory= to bound the number of active features"
            )
        return 0

    cdef int make_room(self, Py_ssize_t capacity) except -1:
        cdef Py_ssize_t k, s
        cdef double* larger
        self.expect_room(capacity)
        if (
            resize(<void**> &self.rest, capacity, sizeof(double)) < 0
            or resize(<void**> &self.present, capacity, sizeof(double)) < 0
            or resize(<void**> &self.slots, capacity, sizeof(Py_ssize_t)) < 0
            or resize(<void**> &self.record_of, capacity, sizeof(Py_ssize_t)) < 0
            or resize(<void**> &self.order, capacity, sizeof(Py_ssize_t)) < 0
        ):
            raise MemoryError(f"no memory for {capacity} features")
        larger = <double*> allocate(capacity * capacity, sizeof(double))
        if larger == NULL:
            raise MemoryError(f"no memory for the matrix of {capacity} features")
        for s in range(self.active):
            for k in range(self.active):
                larger[s * capacity + k] = self.psi[s * self.capacity + k]
        free(self.psi)
        self.psi, self.capacity = larger, capacity
        return 0

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t most = self.memory + 1 if self.memory else rows + self.capacity
        if min(rows, most) > self.capacity:
            try:    # grow by half, so that all copies together cost about as much as the last matrix
                self.make_room(min(max(rows, self.capacity * 3 // 2), most))
            except LimitError:
                self.make_room(min(rows, most))
        self.table.grow(rows)
        if self.table.rows > self.places:
            if resize(<void**> &self.slot_of, max(self.table.rows, 2 * self.places), sizeof(Py_ssize_t)) < 0:
                raise MemoryError(f"no memory for {rows} features")
            self.places = max(self.table.rows, 2 * self.places)
        while self.placed < self.table.rows:
            self.slot_of[self.placed] = -1
            self.placed += 1
            if not self.memory or self.placed == 1:
                self.enter(self.placed - 1, self.active)
        return 0

    # ---- the active features

    cdef void enter(self, Py_ssize_t row, Py_ssize_t slot) noexcept nogil:
        """Give a feature a free slot. Its products with other features start at 0."""
        cdef Py_ssize_t s, i
        cdef double* w = self.table.data + row * self.table.width
        self.active += slot == self.active
        for s in range(self.active):
            self.psi[slot * self.capacity + s] = self.psi[s * self.capacity + slot] = 0
        if self.memory:
            self.psi[slot * self.capacity + slot], w[2] = w[2], 0
        self.rest[slot] = w[1]
        self.slot_of[row], self.record_of[slot] = slot, row
        i = self.active - 1
        while i > 0 and self.record_of[self.order[i - 1]] > row:
            self.order[i] = self.order[i - 1]
            i -= 1
        self.order[i] = slot

    cdef Py_ssize_t leave(self, double least) noexcept nogil:
        """Free the slot of the feature with weight 0 and the least slope, if that is below `least`; else return -1."""
        cdef Py_ssize_t i, s, place = -1
        cdef double* w
        for i in range(1, self.active):
            s = self.order[i]
            if fabs(self.rest[s]) < least and self.table.data[self.record_of[s] * self.table.width] == 0:
                least, place = fabs(self.rest[s]), i
        if place < 0:
            return -1
        s = self.order[place]
        w = self.table.data + self.record_of[s] * self.table.width
        w[1], w[2] = self.rest[s], self.psi[s * self.capacity + s]
        self.slot_of[self.record_of[s]] = -1
        for i in range(place, self.active - 1):
            self.order[i] = self.order[i + 1]
        return s

    cdef void exchange(self, Py_ssize_t row) noexcept nogil:
        """Let a feature whose weight would leave 0 replace an active feature whose weight is 0."""
        cdef double slope = fabs(self.table.data[row * self.table.width + 1])
        cdef Py_ssize_t slot
        if self.slot_of[row] < 0 and slope > self.gamma:
            slot = self.leave(slope)
            if slot >= 0:
                self.enter(row, slot)

    # ---- a round

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = dot(x, self.table.data, self.table.width)
        cdef Py_ssize_t i
        if x.norm2 > 0 and self.weight > 0:
            self.expand(x, y, f)
            if not self.passing:
                self.subtract()
                if self.memory:
                    for i in range(x.n):
                        self.exchange(record(x, i))
                self.shoot()
            self.updates += 1
        return f

    cdef void expand(self, const Row* x, double y, double f) noexcept nogil:
        """Psi += a x x', theta += b y x."""
        cdef Taylor t = probit(y * f) if self.probit else logit(y * f)
        cdef double a = self.weight * t.a, b = self.weight * t.b * y, slope = self.weight * t.slope * y, v
        cdef Py_ssize_t i, k, s, n = 0
        cdef double* w
        cdef double* row
        for i in range(-1, x.n):
            v = value(x, i)
            if v == 0:
                continue
            if self.slot_of[record(x, i)] < 0 and self.active < self.capacity:
                self.enter(record(x, i), self.active)
            s, w = self.slot_of[record(x, i)], self.table.data + record(x, i) * self.table.width
            if s >= 0:
                self.slots[n], self.present[n] = s, v
                n += 1
                w[1] += b * v
            else:
                w[1] += slope * v
                w[2] += a * (v * v)
        if a == 0:
            return
        for i in range(n):
            row, v = self.psi + self.slots[i] * self.capacity, self.present[i]
            for k in range(n):
                row[self.slots[k]] += a * (v * self.present[k])

    cdef void subtract(self) noexcept nogil:
        """rest = theta - Psi w."""
        cdef Py_ssize_t i, s
        cdef double w
        for s in range(self.active):
            self.rest[s] = self.table.data[self.record_of[s] * self.table.width + 1]
        for i in range(self.active):
            w = self.table.data[self.record_of[self.order[i]] * self.table.width]
            if w != 0:
                self.less(self.order[i], w)

    cdef void less(self, Py_ssize_t slot, double change) noexcept nogil:
        """Update `rest` after a change of the weight in a slot."""
        cdef Py_ssize_t s
        cdef double* rest = self.rest
        cdef const double* row = self.psi + slot * self.capacity
        for s in range(self.active):
            rest[s] -= change * row[s]

    cdef void shoot(self) noexcept nogil:
        """w_j = S(theta_j - sum_{k != j} Psi_jk w_k, gamma) / Psi_jj, one feature after another."""
        cdef Py_ssize_t _sweep, i, s
        cdef double curvature, old, new
        cdef double* w
        cdef bint moved
        for _sweep in range(self.sweeps):
            moved = False
            for i in range(self.active):
                s = self.order[i]
                w = self.table.data + self.record_of[s] * self.table.width
                curvature, old, new = self.psi[s * self.capacity + s], w[0], 0
                if curvature >= LEAST:
                    new = soft(self.rest[s] + curvature * old, self.gamma) / curvature
                    new = fmin(fmax(new, -MOST), MOST) + 0.0    # + 0.0: no negative zero
                if new != old:
                    w[0] = new
                    self.less(s, new - old)
                    moved = moved or fabs(new - old) > SAME * fabs(new)
            if not moved:
                break

    # ---- a pass over old rows

    def begin_pass(self):
        """Reset Psi and theta. w and the active features do not change before the pass ends."""
        cdef Py_ssize_t i, k
        self.passing = 1
        for i in range(self.table.rows):
            for k in range(1, self.table.width):
                self.table.data[i * self.table.width + k] = 0
        for i in range(self.active):
            memset(self.psi + i * self.capacity, 0, self.active * sizeof(double))

    def end_pass(self):
        """Move w to the mode, and make features whose weight would leave 0 active for the next pass, steepest first."""
        self.passing = 0
        self.subtract()
        self.shoot()
        if self.memory:
            slopes = np.abs(self.table.get("theta")[:, 0])
            for row in np.argsort(-slopes, kind="stable").tolist():
                if slopes[row] <= self.gamma:
                    break
                self.exchange(row)

    # ---- state

    def column_arrays(self):
        raise ModelError("the matrix of BayesianSparse is in the order of the columns, which cannot be moved")

    def state(self):
        cdef Py_ssize_t i, k, m = self.active, n = 0
        packed = np.empty(m * (m + 1) // 2)
        cdef double[::1] psi = packed
        for i in range(m):
            for k in range(i + 1):
                psi[n] = self.psi[self.order[i] * self.capacity + self.order[k]]
                n += 1
        state = {**LinearLearner.state(self), "psi": packed}
        if self.memory:
            state["active"] = np.array([self.record_of[self.order[i]] for i in range(m)], dtype=np.int64)
        return state

    def restore(self, state):
        cdef Py_ssize_t i, k, n = 0
        cdef const double[::1] psi = np.ascontiguousarray(state["psi"], dtype=np.float64)
        records = len(state["w"])
        self.grow(records)
        LinearLearner.restore(self, {**state, "scale": 1.0, "total": 0.0, "norm2": 0.0})
        if self.passing not in (0, 1):
            raise ModelError(f"passing is {self.passing}; it must be 0 or 1")
        if self.memory and not (state["curvature"] >= 0).all():    # a sum of squares
            raise ModelError("a curvature is negative")
        if self.memory:
            active = state["active"]
            if not ascend(active, records):
                raise ModelError(f"the active features do not ascend from 0 to below {records}")
            if not 0 < len(active) <= self.capacity or active[0] != 0:
                raise ModelError(f"{len(active)} active features of {records} records; memory={self.memory}")
            if np.count_nonzero(state["w"]) != np.count_nonzero(state["w"][active]):
                raise ModelError("a feature that is not active has a weight")
            for row in active[1:].tolist():
                self.enter(row, self.active)
        if psi.shape[0] != self.active * (self.active + 1) // 2:
            raise ModelError(f"the matrix of {self.active} features has {psi.shape[0]} numbers")
        for i in range(self.active):
            for k in range(i + 1):
                self.psi[i * self.capacity + k] = self.psi[k * self.capacity + i] = psi[n]
                n += 1
            if psi[n - 1] < 0:
                raise ModelError("a curvature is negative")


class BayesianSparse(Classifier):
    """Logistic or probit regression under a Laplace prior: the mode of the posterior, which is sparse.

    Each likelihood is replaced by a quadratic form. With s = w.x, p = 1 / (1 + e^-s) or Phi(s), and y in {0, 1}:
    log p(y | w) ~ -a s^2 / 2 + b s by Taylor's theorem at the current w (logit: a = p (1 - p), b = y - p + a s).
    Psi += a x x', theta += b x, and w moves towards the maximum of -w' Psi w / 2 + theta.w - gamma |w|_1. It does so by
    sweeps over the features, the intercept first and then by column:
    w_j = S(theta_j - sum_{k != j} Psi_jk w_k, gamma) / Psi_jj, where S(z, gamma) = sgn(z) [|z| - gamma]+, or 0 where
    Psi_jj = 0. The intercept is a weight like any other. There are two labels. A sample weight is the power of the
    likelihood.

    Further passes: `partial_fit` counts the same rows again, as new ones. `another_pass` is the paper's method (MP),
    after which w is nearer to the mode of the exact posterior.

    Bounded memory: with `memory` = k, Psi is stored for at most k active features, so n_nonzero_ <= k. Other features
    have w_j = 0 and two sums: Psi_jj, and the slope of the likelihood at the w of each round. A feature becomes active
    when it first appears, if there is room. Otherwise it replaces an active feature with weight 0 and a smaller slope,
    if its own slope is above gamma; it starts with its two sums. As long as at most k features have appeared, the model
    equals that without a bound. This online form is new here; over passes it is the paper's (RMMP).

    Time and memory grow with more than the non-zeros. With d features (or k), m of them in the row and n of them with
    a weight, an example costs O(m^2 + d n) and each sweep at most O(d n). Psi takes 8 d^2 bytes, at most 1 GiB (11,584
    features); a LimitError is raised before that. A prediction costs the non-zeros of the row.

    Parameters
    ----------
    gamma : strength of the prior, at least 0; larger values give more zeros. With 0 weights may grow up to 1e100.
    link : logit or probit. A run measures the probit by the hinge loss. Where a logit model is confident and wrong, the
        curvature of the likelihood is nearly 0, as in the paper, and a feature of only such rows gets a very large
        weight. So scale the values, or keep them not far above gamma. The probit has a curvature of 1 there.
    sweeps : the most sweeps in a round, at least 1; a sweep that changes no weight is the last. With too few sweeps to
        reach the mode, the order of the columns matters.
    memory : the most active features, at least 1; None for no bound.

    >>> from seriatim import BayesianSparse, data, evaluate
    >>> run = evaluate.progressive(BayesianSparse(features={"normalize": "max"}), *data.load("spam"))
    >>> run.mistakes, run.model.n_nonzero_
    (827, 50)

    Balakrishnan and Madigan, "Algorithms for sparse linear classifiers in the massive data setting", JMLR 9 (2008).
    """

    family = "sparse"
    paper = "Balakrishnan and Madigan (2008)"
    binary = True
    fixed = (*Classifier.fixed, "memory")
    gamma = Number(1.0, least=0, search=powers(-4, 6))
    link = Choice("logit", LINKS)
    sweeps = Number(10, least=1, below=10**9, integer=True)
    memory = Number(None, least=1, below=10**9, integer=True, optional=True)

    @property
    def loss(self):
        return "logistic" if self.link == "logit" else "hinge"

    def build(self):
        sweeps, memory = (min(int(number or 0), 2**31) for number in (self.sweeps, self.memory))
        return BayesianSparseLearner(self.gamma, self.link, sweeps, memory)

    @contextmanager
    def another_pass(self):
        """Pass over all old rows again, in any number of calls: `with model.another_pass(): ...`.

        Psi and theta are computed anew from the rows, with each likelihood expanded at the w of the start of the pass.
        At the end w moves to the mode, by `sweeps`. If the pass fails, the model is as before.
        """
        with self._lock:
            self._fitted()
            before = self.__getstate__()
            self._learner.begin_pass()
            try:
                yield self
            except BaseException:
                old = type(self).__new__(type(self))
                old.__setstate__(before)
                self._become(old)
                raise
            self._learner.end_pass()

    @property
    def predict_proba(self):
        """The probabilities of the two labels; that of the positive class is 1 / (1 + e^-score), or Phi(score)."""
        return self._logistic if self.link == "logit" else self._normal

    def _normal(self, X):
        scores = self.decision_function(X)
        if len(self._labels) == 1:
            return np.ones((len(scores), 1))
        return np.column_stack([standard_normal(-scores), standard_normal(scores)])
