"""Online matrix factorisation of ratings."""

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
    """Rows U of users and V of items, all updated by the same kind of step.

    A row has the numbers x: its factors, then optionally a bias. For dual averaging follow the means Y of their
    gradients, and the number of gradients.
    """

    cdef Grid U, V
    cdef Py_ssize_t K, width         # the number of factors; with the bias
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
        """Draw the factors of new rows: a tenth of the normal numbers (2 a + side) K, ... of the seed."""
        cdef Py_ssize_t a, j
        for a in range(first, grid.rows):
            for j in range(self.K):
                grid.data[a * grid.width + j] = 0.1 * random_normal(self.seed, (2 * a + side) * self.K + j)

    cdef void move(self, double* row, Py_ssize_t numbers, Py_ssize_t first, Py_ssize_t n, double e,
                   const double* other) noexcept nogil:
        """Update n numbers of a row, from `first` on, by the gradient e other. The row has `numbers` numbers."""
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
        """Count one more gradient, before the update by it."""
        if self.averaging:
            row[2 * numbers] += 1

    cdef void step(self, Py_ssize_t a, Py_ssize_t b, double e, const double* taste) noexcept nogil:
        """Update U by e V and V by e taste, both with the old V. taste: U, or what replaces it."""
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
        """U.V, or 0 if one of them is unknown."""
        return dot(self.user(a), self.item(b), self.K) if a >= 0 and b >= 0 else 0

    def factors(self, bint side):
        return self.V.array(self.items, 0, self.K) if side else self.U.array(self.users, 0, self.K)

    def grids(self):
        """The tables by name, with the numbers of their rows and columns."""
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
                    raise ModelError(f"{name}_counts has a number that is not a count")
                grid.put(f"{name}_means", state[f"{name}_means"], rows, n, 2 * n)
                grid.put(f"{name}_counts", counts, rows, 2 * n, 2 * n + 1)


cdef class PMFLearner(FactorLearner):
    """PMF: half the squared error of g(s), optionally with biases and marks of rated items."""

    NUMBERS = (*RatingLearner.NUMBERS, "total")

    cdef public double total         # the sum of r
    cdef bint biases, implicit
    cdef Grid marks                  # the effect on a user of having rated an item, whatever the rating
    cdef double[::1] taste           # U plus the marks of the rated items,
    cdef Py_ssize_t tasted           # for this user; -1 after an update
    cdef double share                # the weight of each mark in it

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
        """The logit of the mean rating, with one more rating of 1/2."""
        return log((0.5 + self.total) / (0.5 + self.t - self.total)) if self.biases else 0

    cdef void sum_up(self, Py_ssize_t a) noexcept nogil:
        """taste = U + |N|^-1/2 (sum of the marks of N), where N are the items that the user has rated."""
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
        """Update the marks in the taste by e V."""
        cdef Py_ssize_t k
        cdef double* y
        for k in range(rated.n):
            y = self.marks.data + rated.item[k] * self.marks.width
            self.count(y, self.K)
            self.move(y, self.K, 0, self.K, e, &self.old[0])
        self.tasted = -1

    def bias(self, bint side):
        """The biases of the users, or of the items."""
        grid, rows, _ = self.grids()["item" if side else "user"]
        return grid.array(rows, self.K, self.K + 1)[:, 0]

    def grids(self):
        grids = FactorLearner.grids(self)
        return {**grids, "mark": (self.marks, self.items, self.K)} if self.implicit else grids

    def restore_arrays(self, state):
        FactorLearner.restore_arrays(self, state)
        if not 0 <= self.total <= self.t:
            raise ModelError(f"the sum of ratings is {self.total}; expected 0 to {self.t}, the number of rounds")


cdef class RMFLearner(FactorLearner):
    """RMF: the top-one loss of the list of a user. The value of an item in a list is exp(r)."""

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
    """Probabilistic matrix factorisation of a stream of ratings, by gradient descent or dual averaging.

    Let r = (rating - low) / (high - low), U the factors of the user, V those of the item and s = U.V. The loss of a
    rating is (g(s) - r)^2 / 2 with g(s) = 1 / (1 + e^-s). Its derivative by s is e = (g - r) g (1 - g).

        "sgd":            U -= eta (e V + lam U),  V -= eta (e U + lam V), both with the old U and V
        "dual_averaging": U = argmin Y.U + lam/2 |U|^2 = -Y / lam, where Y is the mean of all e V of the user;
                          V in the same way

    A prediction is low + (high - low) g(s). Rows start at a tenth of standard normal numbers: number (2 a + side) K + j
    of the seed is factor j of the a-th user (side 0) or item (side 1). A user or an item without ratings is the zero
    vector.

    With `biases`, s = mu + b_u + c_i + U.V. The biases b and c start at 0 and follow the same rule as the factors; the
    other factor of each is 1. mu is the logit of (1/2 + sum of r) / (1 + ratings), over the ratings before.

    With `implicit`, the model also uses which items a user has rated (SVD++ of Koren). U + |N|^-1/2 (sum of y_j over N)
    replaces U, where N are the items that the user has rated before. Each mark y_j is another row of item j. It starts
    at 0, and its gradient is e |N|^-1/2 V. A rating then costs O(|N| K) instead of O(K).

    n_factors : K, at least 1.
    method : "sgd" or "dual_averaging".
    eta : step size of "sgd", above 0.
    lam : weight of |U|^2 and |V|^2, at least 0, for "dual_averaging" above 0. None means 0.005 for "sgd" and 0.02 for
        "dual_averaging". For many passes a smaller value is better, such as 0.007.
    biases, implicit : as above.
    low, high : the range of the ratings. A rating outside of it is refused.
    seed : seed of the initial factors.

    A rating costs O(K). The state is the rows and, for each user, which items were rated.

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
        """The bias b of each of `users_`."""
        return self._biases(0)

    @property
    def item_biases_(self):
        """The bias c of each of `items_`."""
        return self._biases(1)

    def _biases(self, side):
        if not self.biases:
            raise AttributeError(f"{self!r} has no biases")
        with self._lock:
            return self._fitted().bias(side)


class RMF(Recommender):
    """Ranking matrix factorisation of a stream of ratings: it learns the order of the items of each user.

    The loss is the top-one loss of ListNet for the list of the user, - sum_i softmax(r)_i log softmax(g)_i. It sums
    over the items rated so far, with the last rating of each; r, g and s = U.V are as for `PMF`. For item i,
    e = (exp g_i / sum_j exp g_j - exp r_i / sum_j exp r_j) g_i (1 - g_i), where j runs over the items of the user,
    i included. Both sums use the present factors and ratings. The updates of U and V are those of `PMF` with this e.

    A prediction is the score g(s) from 0 to 1. It ranks items and is not a rating. There are no biases, because the
    bias of a user cannot change the order of a list.

    n_factors : K, at least 1.
    method : "sgd" or "dual_averaging". On MovieLens, only "sgd" learned to rank.
    eta : step size of "sgd", above 0.
    lam : weight of |U|^2 and |V|^2, at least 0, for "dual_averaging" above 0. None means 0.0001 for "sgd" and 0.002 for
        "dual_averaging".
    low, high : the range of the ratings. A rating outside of it is refused.
    seed : seed of the initial factors.

    A rating costs O(K) for each item that its user has rated.

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
