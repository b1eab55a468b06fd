"""OASIS: a similarity q'W r that is larger for relevant answers than for irrelevant ones, by a margin."""

cimport cython
from libc.math cimport fmin, sqrt

import numpy as np

from seriatim.core.random cimport random_normal

from seriatim.errors import DataError, LimitError, ModelError
from seriatim.estimator.model import Model
from seriatim.parameters import Number, decades
from seriatim.retrieval.triplets import rows_of, triplets_of, vector_of

MOST = 1 << 27    # the most numbers in the matrix


@cython.boundscheck(False)
@cython.wraparound(False)
cdef class OASISLearner:
    """W += min(C, l / |V|^2) V, V = q (r - i)'."""

    cdef double C
    cdef double[:, ::1] W
    cdef readonly Py_ssize_t t, updates

    def __init__(self, double C):
        self.C = C
        self.W = np.zeros((0, 0))

    def start(self, Py_ssize_t d):
        """Set W to the identity for d features."""
        if d * d > MOST:
            raise LimitError(f"{d} features make a matrix of {d * d} numbers; the limit is {MOST}")
        self.W = np.eye(d)

    @property
    def features(self):
        return self.W.shape[0]

    def learn(self, const double[::1] q, const double[::1] r, const double[::1] i):
        """Learn that q is more like r than like i. Rows of W at which q is 0 are skipped."""
        cdef Py_ssize_t a, b, d = self.W.shape[0]
        cdef double product, margin = 0, own = 0, other = 0, tau
        if q.shape[0] != d or r.shape[0] != d or i.shape[0] != d:
            raise ValueError("vectors of another length")
        with nogil:
            self.t += 1
            for b in range(d):
                other += (r[b] - i[b]) ** 2
            for a in range(d):
                own += q[a] * q[a]
                if q[a] != 0:
                    product = 0
                    for b in range(d):
                        product += self.W[a, b] * (r[b] - i[b])
                    margin += q[a] * product
            if margin >= 1 or own * other < 1e-150:
                with gil:
                    return
            tau = fmin(self.C, (1 - margin) / own / other)
            self.updates += 1
            for a in range(d):
                if q[a] != 0:
                    for b in range(d):
                        self.W[a, b] += tau * q[a] * (r[b] - i[b])

    def matrix(self):
        return np.array(self.W)

    def state(self):
        return {"t": self.t, "updates": self.updates, "W": self.matrix()}

    def restore(self, state):
        if state["W"].shape[0] != state["W"].shape[1] or state["updates"] > state["t"]:
            raise ModelError(f"a matrix of shape {state['W'].shape}, {state['updates']} updates in {state['t']} rounds")
        # A step is at most 1 / |V| < 1e75, so that products with rows do not overflow.
        if np.abs(state["W"]).max(initial=0) > 1e76 * (state["t"] + 1) or (state["t"] and not state["W"].size):
            raise ModelError("W has numbers that triplets cannot lead to")
        self.t, self.updates = state["t"], state["updates"]
        self.W = np.array(state["W"], dtype=np.float64, order="C")


class OASIS(Model):
    """Online similarity learning: a relevant answer becomes more similar to the query than an irrelevant one.

    The similarity of a and b is a'W b. W starts as the identity. A triplet of a query q, a relevant answer r and an
    irrelevant answer i has the loss l = [1 - q'W r + q'W i]+. The update is W += min(C, l / |V|^2) V with
    V = q (r - i)', the step of PA-I. W need not be symmetric or positive. A triplet costs the non-zeros of q times the
    number of features.

    `W_` is the matrix. `similarity(a, b)` is a'W b. `rank(query, candidates)` returns the indices of the candidates,
    the most similar first.

    Parameters
    ----------
    C : aggressiveness, above 0.

    >>> import numpy as np
    >>> from seriatim import OASIS
    >>> from seriatim.retrieval import mean_average_precision
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(0, 2, 300)    # the first of ten features tells the kind
    >>> X = rng.standard_normal((300, 10)) + np.outer(2 * kind - 1, np.eye(10)[0])
    >>> same = [[a for a in range(300) if kind[a] == k] for k in (0, 1)]
    >>> triplets = [(q, rng.choice(same[kind[q]]), rng.choice(same[1 - kind[q]])) for q in rng.integers(0, 300, 2000)]
    >>> def score(model):
    ...     relevant = [kind == kind[q] for q in range(50)]
    ...     return round(mean_average_precision(relevant, [model.rank(X[q], X) for q in range(50)]), 2)
    >>> score(OASIS().partial_fit(X, triplets[:1])), score(OASIS().partial_fit(X, triplets))
    (0.65, 0.72)

    Chechik, Sharma, Shalit and Bengio, "Large scale online learning of image similarity through ranking", JMLR 11
    (2010).
    """

    family = "retrieval"
    paper = "Chechik et al. (2010)"
    task = "retrieval"
    C = Number(0.1, above=0, search=decades(-3, 1))

    def build(self):
        return OASISLearner(self.C)

    def learn_one(self, query, relevant, irrelevant):
        """Learn one triplet of vectors of the same length."""
        with self._lock:
            vectors = [vector_of(name, one) for name, one in
                       (("query", query), ("relevant", relevant), ("irrelevant", irrelevant))]
            if len({len(one) for one in vectors}) > 1:
                raise DataError(f"vectors of {', '.join(str(len(one)) for one in vectors)} features")
            self._ready(len(vectors[0]))
            self._learner.learn(*vectors)
        return self

    def partial_fit(self, X, triplets):
        """Learn triplets (query, relevant, irrelevant) of row numbers of X. If one is bad, none is learned."""
        with self._lock:
            rows = rows_of(X)
            triplets = triplets_of(triplets, len(rows))
            self._ready(rows.shape[1])
            for q, r, i in triplets.tolist():
                self._learner.learn(rows[q], rows[r], rows[i])
        return self

    def fit(self, X, triplets):
        """Forget everything, then learn these triplets."""
        with self._lock:
            return self._become(self.fresh().partial_fit(X, triplets))

    def _ready(self, features):
        """Start the learner at the first triplet, or check the number of features."""
        known = 0 if self._learner is None else self._learner.features
        if known and features != known:
            raise DataError(f"{features} features, but {type(self).__name__} is expecting {known}")
        self._start()
        if not known:
            try:
                self._learner.start(features)
            except LimitError:
                self._unstart()
                raise

    @property
    def W_(self):
        """The matrix of the similarity."""
        with self._lock:
            return self._fitted().matrix()

    @property
    def updates_(self):
        """Triplets that changed the model."""
        return self._fitted().updates

    def similarity(self, a, b):
        """a'W b for two vectors; a matrix for rows."""
        W = self.W_
        a, b = (vector_of("a vector", one) if np.ndim(one) == 1 else rows_of(one) for one in (a, b))
        for one in (a, b):
            if one.shape[-1] != len(W):
                raise DataError(f"{one.shape[-1]} features, but {type(self).__name__} is expecting {len(W)}")
        product = a @ W @ b.T
        return float(product) if product.ndim == 0 else product

    def rank(self, query, candidates):
        """The indices of the candidates, the most similar to the query first; ties in their order."""
        return np.argsort(-self.similarity(vector_of("query", query), rows_of(candidates)), kind="stable")

    order = rank


def directions(unsigned long long seed, Py_ssize_t modality, Py_ssize_t n, Py_ssize_t rank):
    """Random directions P of one modality: an n x rank matrix of normal numbers with variance 1 / rank.

    >>> directions(0, 0, 2, 3).shape
    (2, 3)
    """
    result = np.empty((n, rank))
    cdef double[:, ::1] P = result
    cdef Py_ssize_t a, j
    for a in range(n):
        for j in range(rank):
            P[a, j] = random_normal(seed, (modality * n + a) * rank + j) / sqrt(<double> rank)
    return result
