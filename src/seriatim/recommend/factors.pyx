"""Matrix factorisation, one rating after another."""

from libc.math cimport exp, log, sqrt

import numpy as np

from seriatim.core.random cimport random_normal
from seriatim.recommend.lists cimport List
from seriatim.recommend.ratings cimport Grid, RatingLearner, bounded

from seriatim.errors import ModelError, ParameterError
from seriatim.parameters import Choice, Flag, Number
from seriatim.recommend.base import Recommender

METHODS = ("sgd", "dual_averaging")


cdef inline double sigmoid(double s) noexcept nogil:
    return 1 / (1 + exp(-s))


cdef inline double dot(const double* x, const double* y, Py_ssize_t n) noexcept nogil:
    cdef double a = 0, b = 0
    cdef Py_ssize_t j = 0
    while j + 2 <= n:
        a += x[j] * y[j]
        b += x[j + 1] * y[j + 1]
        j += 2
    return a + b + (x[j] * y[j] if j < n else 0)


cdef class FactorLearner(RatingLearner):
    """Rows U of users and V of items, each number of which takes the same kind of step.

    A row has its numbers x, the factors first and then, by request, a bias; and for dual averaging the means Y of their
    gradients and how many these are.
    """

    cdef Grid U, V
    cdef Py_ssize_t K, width         # factors; numbers with the bias
    cdef bint averaging
    cdef double eta, lam
    cdef unsigned long long seed
    cdef double[::1] old             # the row of an item before its step

    def __init__(self, model, Py_ssize_t biases=0, bint valued=False):
        RatingLearner.__init__(self, model.low, model.high, valued)
        self.K, self.width = model.n_factors, model.n_factors + biases
        self.averaging, self.eta = model.method == "dual_averaging", model.eta
        self.lam = model.usual[model.method] if model.lam is None else model.lam
        self.seed = <unsigned long long> (int(model.seed) & 0xFFFFFFFFFFFFFFFF)
        if self.averaging and self.lam == 0:
            raise ParameterError(f"{type(model).__name__}: lam={model.lam!r}: must be above 0 for dual averaging")
        self.U, self.V, self.old = self.grid(self.width), self.grid(self.width), np.empty(self.K)

    cdef Grid grid(self, Py_ssize_t numbers):
        return Grid(2 * numbers + 1 if self.averaging else numbers)

    cdef int grow(self, Py_ssize_t users, Py_ssize_t items) except -1:
        self.begin(self.U, self.U.grow(users), 0)
        self.begin(self.V, self.V.grow(items), 1)
        return 0

    cdef void begin(self, Grid grid, Py_ssize_t first, int side) noexcept nogil:
        """The factors of new rows: a tenth of the normal numbers (2 a + side) K, ... of the seed."""
        cdef Py_ssize_t a, j
        for a in range(first, grid.rows):
            for j in range(self.K):
                grid.data[a * grid.width + j] = 0.1 * random_normal(self.seed, (2 * a + side) * self.K + j)

    cdef void move(self, double* row, Py_ssize_t numbers, Py_ssize_t first, Py_ssize_t n, double e,
                   const double* other) noexcept nogil:
        """Move n of the numbers of a row, which has so many, by a step with the gradient e other."""
        cdef Py_ssize_t j
        cdef double share
        cdef double* x = row + first
        cdef double* Y = x + numbers
        if not self.averaging:
            for j in range(n):
                x[j] = bounded(x[j] - self.eta * (e * other[j] + self.lam * x[j]))
            return
        share = 1 / row[2 * numbers]
        for j in range(n):
            Y[j] += (e * other[j] - Y[j]) * share
            x[j] = bounded(-Y[j] / self.lam)

    cdef inline void count(self, double* row, Py_ssize_t numbers) noexcept nogil:
        """One gradient more, before the moves by it."""
        if self.averaging:
            row[2 * numbers] += 1

    cdef void step(self, Py_ssize_t a, Py_ssize_t b, double e, const double* taste) noexcept nogil:
        """The steps of U, with e V, and of V, with e times a taste that is U or what is in its place; V as it was."""
        cdef Py_ssize_t j
        cdef double* u = self.user(a)
        cdef double* v = self.item(b)
        cdef double* old = &self.old[0]
        for j in range(self.K):
            old[j] = v[j]
        self.count(u, self.width)
        self.count(v, self.width)
        self.move(v, self.width, 0, self.K, e, taste)
        self.move(u, self.width, 0, self.K, e, old)

    cdef inline double* user(self, Py_ssize_t a) noexcept nogil:
        return self.U.data + a * self.U.width

    cdef inline double* item(self, Py_ssize_t b) noexcept nogil:
        return self.V.data + b * self.V.width

    cdef inline double product(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """U.V, 0 where one of them is not known."""
        return dot(self.user(a), self.item(b), self.K) if a >= 0 and b >= 0 else 0

    def factors(self, bint side):
        return self.V.array(self.items, 0, self.K) if side else self.U.array(self.users, 0, self.K)

    def grids(self):
        """The tables by name, with how many rows and numbers each has."""
        return {"user": (self.U, self.users, self.width), "item": (self.V, self.items, self.width)}

    def arrays(self):
        parts = {}
        for name, (grid, rows, n) in self.grids().items():
            parts[f"{name}_factors"] = grid.array(rows, 0, n)
            if self.averaging:
                parts[f"{name}_means"] = grid.array(rows, n, 2 * n)
                parts[f"{name}_counts"] = grid.array(rows, 2 * n, 2 * n + 1)
        return parts

    def restore_arrays(self, state):
        for name, (grid, rows, n) in self.grids().items():
            grid.put(f"{name}_factors", state[f"{name}_factors"], rows, 0, n)
            if self.averaging:
                counts = state[f"{name}_counts"]
                if np.min(counts, initial=0) < 0 or (counts % 1 != 0).any():
                    raise ModelError(f"{name}_counts has a number that is no count")
                grid.put(f"{name}_means", state[f"{name}_means"], rows, n, 2 * n)
                grid.put(f"{name}_counts", counts, rows, 2 * n, 2 * n + 1)


cdef class PMFLearner(FactorLearner):
    """PMF: half the squared error of g(s), with biases and the implicit part by request."""

    NUMBERS = (*RatingLearner.NUMBERS, "total")

    cdef public double total         # the sum of r so far
    cdef bint biases, implicit
    cdef Grid marks                  # what it says of a user to have rated an item, whatever the rating
    cdef double[::1] taste           # a row of a user with the marks,
    cdef Py_ssize_t tasted           # this one's, as long as nothing is learned; or -1
    cdef double share                # and the weight of each mark in it

    def __init__(self, model):
        FactorLearner.__init__(self, model, model.biases)
        self.biases, self.implicit = model.biases, model.implicit
        self.taste, self.tasted = np.empty(self.K), -1
        if self.implicit:
            self.marks = self.grid(self.K)

    cdef int grow(self, Py_ssize_t users, Py_ssize_t items) except -1:
        FactorLearner.grow(self, users, items)
        if self.implicit:
            self.marks.grow(items)
        return 0

    cdef double mu(self) noexcept nogil:
        """The logit of the mean rating, half a rating in the middle added."""
        return log((0.5 + self.total) / (0.5 + self.t - self.total)) if self.biases else 0

    cdef void sum_up(self, Py_ssize_t a) noexcept nogil:
        """The taste U + |N|^-1/2 (sum of the marks of N), N being the items that a user has rated."""
        cdef Py_ssize_t j, k
        cdef List* rated = self.rated.lists + a
        cdef double* taste = &self.taste[0]
        cdef const double* y
        if a == self.tasted:
            return
        self.tasted, self.share = a, 1 / sqrt(max(rated.n, 1))
        for j in range(self.K):
            taste[j] = 0
        for k in range(rated.n):
            y = self.marks.data + rated.item[k] * self.marks.width
            for j in range(self.K):
                taste[j] += y[j]
        for j in range(self.K):
            taste[j] = self.user(a)[j] + self.share * taste[j]

    cdef double score(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef double s = self.mu()
        if self.biases:
            s += (self.user(a)[self.K] if a >= 0 else 0) + (self.item(b)[self.K] if b >= 0 else 0)
        if self.implicit and a >= 0 and b >= 0:
            self.sum_up(a)
            return s + dot(&self.taste[0], self.item(b), self.K)
        return s + self.product(a, b)

    cdef double predict(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return self.low + (self.high - self.low) * sigmoid(self.score(a, b))

    cdef void learn(self, Py_ssize_t a, Py_ssize_t b, double rating) noexcept nogil:
        cdef double r = (rating - self.low) / (self.high - self.low), g = sigmoid(self.score(a, b))
        cdef double e = (g - r) * g * (1 - g), one = 1
        self.step(a, b, e, &self.taste[0] if self.implicit else self.user(a))
        if self.biases:
            self.move(self.user(a), self.width, self.K, 1, e, &one)
            self.move(self.item(b), self.width, self.K, 1, e, &one)
        if self.implicit:
            self.step_marks(self.rated.lists + a, e * self.share)
        self.total += r
        self.rated.add(a, <int> b)

    cdef void step_marks(self, const List* rated, double e) noexcept nogil:
        """The marks that were in the taste, with e V."""
        cdef Py_ssize_t k
        cdef double* y
        for k in range(rated.n):
            y = self.marks.data + rated.item[k] * self.marks.width
            self.count(y, self.K)
            self.move(y, self.K, 0, self.K, e, &self.old[0])
        self.tasted = -1

    def bias(self, bint side):
        """Of the users, or of the items."""
        grid, rows, _ = self.grids()["item" if side else "user"]
        return grid.array(rows, self.K, self.K + 1)[:, 0]

    def grids(self):
        grids = FactorLearner.grids(self)
        return {**grids, "mark": (self.marks, self.items, self.K)} if self.implicit else grids

    def restore_arrays(self, state):
        FactorLearner.restore_arrays(self, state)
        if not 0 <= self.total <= self.t:
            raise ModelError(f"ratings from 0 to 1 with the sum {self.total} in {self.t} rounds")


cdef class RMFLearner(FactorLearner):
    """RMF: the top-one loss of a user's list. Beside an item of a list stands exp(r)."""

    def __init__(self, model):
        FactorLearner.__init__(self, model, 0, True)

    cdef double predict(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return sigmoid(self.product(a, b))

    cdef void learn(self, Py_ssize_t a, Py_ssize_t b, double rating) noexcept nogil:
        cdef Py_ssize_t j, k = self.rated.add(a, <int> b)
        cdef List* rated = self.rated.lists + a
        cdef double g = sigmoid(self.product(a, b)), predicted = 0, told = 0, e
        rated.value[k] = exp((rating - self.low) / (self.high - self.low))
        for j in range(rated.n):
            predicted += exp(sigmoid(self.product(a, rated.item[j])))
            told += rated.value[j]
        e = (exp(g) / predicted - rated.value[k] / told) * g * (1 - g)
        self.step(a, b, e, self.user(a))


class PMF(Recommender):
    """Probabilistic matrix factorisation of a stream of ratings, by gradients or by dual averaging.

    With r = (rating - low) / (high - low) the loss of a rating is (g(s) - r)^2 / 2, where g(s) = 1 / (1 + e^-s) and
    s = U.V, U the factors of the user and V those of the item; e = (g - r) g (1 - g) is its derivative by s.
    "sgd": U -= eta (e V + lam U) and V -= eta (e U + lam V), both with the old U and V.
    "dual_averaging": the mean Y of all e V that the user has met, U = argmin Y.U + lam/2 |U|^2 = -Y / lam; so for
    items. A prediction is low + (high - low) g(s). Rows start at a tenth of standard normals: number (2 a + side) K +
    j of the seed is that of factor j of the a-th user (side 0) or item (side 1). A user or an item that no rating has
    named is the zero vector.

    With `biases` s = mu + b_u + c_i + U.V: b and c are one more factor each, by the same rule, from 0, beside one that
    is 1; mu is the logit of (1/2 + sum of r) / (1 + ratings), over the ratings before.

    With `implicit` it also counts which items a user has rated, whatever the ratings: in the place of U stands
    U + |N|^-1/2 (sum of y_j over N), N being the items that the user has rated before (SVD++ of Koren). Each mark y_j
    is one more row of item j, from 0, whose gradient is e |N|^-1/2 V. A rating then takes O(|N|) in place of O(1)
    steps.

    n_factors : K, at least 1.
    method : "sgd" or "dual_averaging".
    eta : the step size, above 0; for "sgd".
    lam : the weight of |U|^2 and |V|^2, at least 0, for dual averaging above 0; 0.005 for "sgd" and 0.02 for
        "dual_averaging" if it is None. Of many passes a smaller one makes more, such as 0.007.
    biases, implicit : as above.
    low, high : the range of the ratings; one outside it is refused.
    seed : of the first factors.

    A rating takes O(K). The model is the rows, and for each user which items were rated.

    >>> from seriatim import PMF
    >>> model = PMF(n_factors=2)
    >>> for user, item, rating in [("ann", "Alien", 5), ("ann", "Brazil", 1), ("bob", "Alien", 5)] * 20:
    ...     model = model.learn_one(user, item, rating)
    >>> round(model.predict_one("ann", "Brazil"), 2), [item for item, score in model.recommend("bob", 1)]
    (1.66, ['Brazil'])

    Ling, Yang, King and Lyu, Online learning for collaborative filtering, IJCNN 2012; Salakhutdinov and Mnih,
    Probabilistic matrix factorization, NIPS 2008; Koren, Factorization meets the neighborhood, KDD 2008.
    """

    family = "recommend"
    paper = "Ling et al. 2012"
    usual = {"sgd": 0.005, "dual_averaging": 0.02}
    fixed = (*Recommender.fixed, "n_factors", "method", "biases", "implicit")

    n_factors = Number(10, least=1, most=1 << 16, integer=True, positional=True)
    method = Choice("sgd", options=METHODS)
    eta = Number(1.0, above=0.0)
    lam = Number(None, least=0.0, optional=True)
    biases = Flag(False)
    implicit = Flag(False)
    seed = Number(0, least=0, most=2**63 - 1, integer=True)

    def build(self):
        return PMFLearner(self)

    @property
    def user_biases_(self):
        """b of each of `users_`."""
        return self._biases(0)

    @property
    def item_biases_(self):
        """c of each of `items_`."""
        return self._biases(1)

    def _biases(self, side):
        if not self.biases:
            raise AttributeError(f"{self!r} has no biases")
        with self._lock:
            return self._fitted().bias(side)


class RMF(Recommender):
    """Ranking matrix factorisation of a stream of ratings: the list of each user is put in order, not the ratings told.

    The loss is that of a user's whole list, the top-one loss of ListNet: - sum_i softmax(r)_i log softmax(g)_i over the
    items rated so far, the last rating of each, with r, g and s = U.V as of PMF. On a rating of item i
    e = (exp g_i / sum_j exp g_j - exp r_i / sum_j exp r_j) g_i (1 - g_i), j over the items of the user, i among them,
    and U and V take the same steps as those of PMF. Both sums are of the present factors and ratings.

    A prediction is the score g(s) from 0 to 1: it ranks, and is no rating. Biases of users could not change the order
    of a list, so that there are none.

    n_factors : K, at least 1.
    method : "sgd" or "dual_averaging"; on MovieLens lists are learned by the first only.
    eta : the step size, above 0; for "sgd".
    lam : the weight of |U|^2 and |V|^2, at least 0, for dual averaging above 0; 0.0001 for "sgd" and 0.002 for
        "dual_averaging" if it is None.
    low, high : the range of the ratings; one outside it is refused.
    seed : of the first factors.

    A rating takes O(K) for each item that its user has rated.

    >>> from seriatim import RMF
    >>> model = RMF(n_factors=2)
    >>> for user, item, rating in [("ann", "Alien", 5), ("ann", "Brazil", 1), ("bob", "Alien", 5)] * 20:
    ...     model = model.learn_one(user, item, rating)
    >>> model.predict_one("ann", "Alien") > model.predict_one("ann", "Brazil")
    True

    Ling, Yang, King and Lyu, Online learning for collaborative filtering, IJCNN 2012; Cao, Qin, Liu, Tsai and Li,
    Learning to rank: from pairwise approach to listwise approach, ICML 2007.
    """

    family = "recommend"
    paper = "Ling et al. 2012"
    ranks = True
    usual = {"sgd": 1e-4, "dual_averaging": 0.002}
    fixed = (*Recommender.fixed, "n_factors", "method")

    n_factors = Number(10, least=1, most=1 << 16, integer=True, positional=True)
    method = Choice("sgd", options=METHODS)
    eta = Number(30.0, above=0.0)
    lam = Number(None, least=0.0, optional=True)
    seed = Number(0, least=0, most=2**63 - 1, integer=True)

    def build(self):
        return RMFLearner(self)
