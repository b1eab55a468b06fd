"""Recommendation from a stream of (user, item, rating), transcribed from the papers.

Decisions for all: users and items are numbered as they appear, each on its own. Ratings lie in [low, high]; r is
(rating - low) / (high - low). A user or an item that no rating has named is the zero vector, with no bias.
`recommend` gives the items known and not rated by this user, `nearest` the other items by the cosine of their
factors (0 where one is the zero vector), best first, those that tie as they appeared. A pair rated again is one more
example; for RMF its last rating counts. Only which items a user has rated is kept (for RMF the ratings too).
"""

import numpy as np
from scipy.special import expit as sigmoid

from tests.reference.budget import Random


def best(pairs, n):
    return sorted(pairs, key=lambda pair: -pair[1])[:n]


class Recommender:
    """The numbers of users and items, and what is asked of a model."""

    def __init__(self, low=1.0, high=5.0):
        self.low, self.high = low, high
        self.users, self.items, self.rated = {}, {}, {}

    def meet(self, user, item, r):
        for known, name in ((self.users, user), (self.items, item)):
            if name not in known:
                known[name] = len(known)
                self.begin(known is self.items)
        self.rated.setdefault(user, {})[item] = r
        return self.users[user], self.items[item]

    def learn(self, user, item, rating):
        r = (rating - self.low) / (self.high - self.low)
        self.update(*self.meet(user, item, r), r)

    def recommend(self, user, n):
        return best([(i, self.predict(user, i)) for i in self.items if i not in self.rated.get(user, ())], n)

    def nearest(self, item, n):
        F = self.item_factors()
        size = np.linalg.norm(F, axis=1)
        a = self.items[item]
        cosine = (F @ F[a]) / np.where(size * size[a] > 0, size * size[a], np.inf)
        return best([(i, cosine[j]) for i, j in self.items.items() if j != a], n)


class Factors(Recommender):
    """Ling, Yang, King and Lyu (2012): g(U_u.V_i) for each pair, by gradients or by dual averaging.

    The rows of U and V start at a tenth of standard normals: number (2 a + side) K + j of the seed is that of factor j
    of the a-th user (side 0) or item (side 1). e is the derivative of the loss by the score s = U.V.
    "sgd": U -= eta (e V + lam U) and V -= eta (e U + lam V), both with the old U and V.
    "dual_averaging": the mean Y of all e V that a user has met, U = argmin Y.U + lam/2 |U|^2 = -Y / lam; so for items.
    """

    def __init__(self, n_factors=10, method="sgd", eta=1.0, lam=None, low=1.0, high=5.0, seed=0):
        super().__init__(low, high)
        self.K, self.method, self.eta, self.random = n_factors, method, eta, Random(seed)
        self.lam = self.USUAL[method] if lam is None else lam
        self.U, self.V, self.Y, self.counts = [], [], ([], []), ([], [])

    def begin(self, side):
        rows = (self.U, self.V)[side]
        first = (2 * len(rows) + side) * self.K
        rows.append(0.1 * np.array([self.random.normal(first + j) for j in range(self.K)]))
        self.Y[side].append(np.zeros(self.K))
        self.counts[side].append(0)

    def score(self, a, b):
        return self.U[a] @ self.V[b]

    def update(self, a, b, r):
        self.step(a, b, self.slope(a, b, r))

    def step(self, a, b, e):
        U, V = self.U[a], self.V[b]
        self.U[a], self.V[b] = self.moved(0, a, U, e * V), self.moved(1, b, V, e * U)

    def moved(self, side, a, row, gradient):
        if self.method == "sgd":
            return row - self.eta * (gradient + self.lam * row)
        self.counts[side][a] += 1
        self.Y[side][a] = self.Y[side][a] + (gradient - self.Y[side][a]) / self.counts[side][a]
        return -self.Y[side][a] / self.lam

    def known_score(self, user, item):
        return self.score(self.users[user], self.items[item]) if user in self.users and item in self.items else 0.0

    def item_factors(self):
        return np.array(self.V)


class PMF(Factors):
    """Half the squared error (g(s) - r)^2 / 2 of a rating: e = (g - r) g'. A prediction is low + (high - low) g(s).

    With `biases` s = mu + b_u + c_i + U.V: b and c are one more factor each, by the same rule, from 0, beside one that
    is 1; mu is the logit of (1/2 + sum of r) / (1 + ratings), over the ratings before.
    With `implicit` (Koren, 2008, SVD++) U + z stands in s in the place of U, z = |N|^-1/2 sum over N of y_j, N being
    the items that the user has rated before this rating. y_j is one more row of item j, from 0, and its gradient is
    e |N|^-1/2 V.
    """

    CASES = (
        {},
        {"n_factors": 3, "eta": 0.4, "lam": 0.02, "seed": 3},
        {"n_factors": 4, "biases": True},
        {"n_factors": 4, "method": "dual_averaging", "lam": 0.02},
        {"n_factors": 2, "method": "dual_averaging", "lam": 0.03, "biases": True, "low": 0.0, "high": 10.0},
        {"n_factors": 3, "implicit": True},
        {"n_factors": 3, "method": "dual_averaging", "lam": 0.02, "biases": True, "implicit": True},
    )
    USUAL = {"sgd": 0.005, "dual_averaging": 0.02}  # noqa: RUF012

    def __init__(self, *args, biases=False, implicit=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.biases, self.b, self.sum, self.t = biases, ([], []), 0.0, 0
        self.means = ([], [])
        self.implicit, self.N, self.y, self.marks = implicit, [], [], ([], [])

    def begin(self, side):
        super().begin(side)
        if side:
            self.y.append(np.zeros(self.K))
            for part, first in zip(self.marks, (np.zeros(self.K), 0), strict=True):
                part.append(first)
        else:
            self.N.append([])
        self.b[side].append(0.0)
        self.means[side].append(0.0)

    def mu(self):
        m = (0.5 + self.sum) / (1 + self.t)
        return np.log(m / (1 - m)) if self.biases else 0.0

    def z(self, a):
        N = self.N[a]
        return sum((self.y[j] for j in N), np.zeros(self.K)) / np.sqrt(max(len(N), 1))

    def score(self, a, b):
        return self.mu() + self.b[0][a] + self.b[1][b] + (self.U[a] + self.z(a)) @ self.V[b]

    def known_score(self, user, item):
        sides = ((self.b[0], self.users.get(user)), (self.b[1], self.items.get(item)))
        biases = sum(b[a] for b, a in sides if a is not None)
        both = user in self.users and item in self.items
        return self.score(self.users[user], self.items[item]) if both else self.mu() + biases

    def slope(self, a, b, r):
        g = sigmoid(self.score(a, b))
        return (g - r) * g * (1 - g)

    def step(self, a, b, e):
        U, V, N = self.U[a], self.V[b], self.N[a]
        self.U[a], self.V[b] = self.moved(0, a, U, e * V), self.moved(1, b, V, e * (U + self.z(a)))
        for j in N:
            gradient = e * V / np.sqrt(len(N))
            if self.method == "sgd":
                self.y[j] = self.y[j] - self.eta * (gradient + self.lam * self.y[j])
            else:
                Y, counts = self.marks
                counts[j] += 1
                Y[j] = Y[j] + (gradient - Y[j]) / counts[j]
                self.y[j] = -Y[j] / self.lam
        if self.implicit and b not in N:
            N.append(b)

    def update(self, a, b, r):
        e = self.slope(a, b, r)
        self.step(a, b, e)
        for side, row in ((0, a), (1, b)) if self.biases else ():
            old, mean, n = self.b[side][row], self.means[side][row], self.counts[side][row]
            if self.method == "sgd":
                self.b[side][row] = old - self.eta * (e + self.lam * old)
            else:
                self.means[side][row] = mean + (e - mean) / n
                self.b[side][row] = -self.means[side][row] / self.lam
        self.sum, self.t = self.sum + r, self.t + 1

    def predict(self, user, item):
        return self.low + (self.high - self.low) * sigmoid(self.known_score(user, item))


class RMF(Factors):
    """The top-one loss of a user's list, - sum_i softmax(r)_i log softmax(g)_i over the items rated so far.

    On (u, i): e = (exp g_i / sum_j exp g_j - exp r_i / sum_j exp r_j) g'(s_i), j over the items of u, i among them;
    both sums are of the present factors and ratings [the paper's own bookkeeping could not be checked]. A prediction
    is the score g(s) in (0, 1): it ranks, and is no rating. On MovieLens lists are learned by gradients, not by dual
    averaging, whatever lam is.
    """

    CASES = (
        {},
        {"n_factors": 3, "eta": 0.4, "lam": 0.02, "seed": 3},
        {"n_factors": 4, "method": "dual_averaging", "lam": 0.005},
        {"n_factors": 2, "method": "dual_averaging", "lam": 0.003, "low": 0.0, "high": 10.0},
    )
    USUAL = {"sgd": 1e-4, "dual_averaging": 0.002}  # noqa: RUF012

    def __init__(self, n_factors=10, method="sgd", eta=30.0, **kwargs):
        super().__init__(n_factors, method, eta, **kwargs)

    def slope(self, a, b, r):
        user, item = list(self.users)[a], list(self.items)[b]
        of_user = self.rated[user]
        g = {i: sigmoid(self.score(a, self.items[i])) for i in of_user}
        chances = [np.exp(x[item]) / sum(np.exp(value) for value in x.values()) for x in (g, of_user)]
        return (chances[0] - chances[1]) * g[item] * (1 - g[item])

    def predict(self, user, item):
        return sigmoid(self.known_score(user, item))


class SVDRecommender(Recommender):
    """Brand (2003): the table of ratings is filled by its own truncated SVD, which each rating revises.

    With the mean mu of all ratings so far, c_i = sum (rating - mu) / (n_i + damping) of the item and then b_u = sum
    (rating - mu - c_i) / (n_u + damping) of the user, this rating included and each term as it was at its time, the
    entry x = U_u diag(s) V_i' of the completed table of residuals becomes d = rating - mu - b_u - c_i: a rank-one
    change (d - x) e_u e_i', of whose SVD the `rank` largest values over 1e-10 of the first are kept. The rows of new
    users and items are 0.
    A prediction is mu + b_u + c_i + U_u diag(s) V_i', cut to [low, high]; of no ratings at all, the middle.
    """

    CASES = ({}, {"rank": 3, "damping": 1.0}, {"rank": 1}, {"rank": 4, "low": 0.0, "high": 10.0})

    def __init__(self, rank=10, damping=5.0, low=1.0, high=5.0):
        super().__init__(low, high)
        self.rank, self.damping, self.sum, self.t = rank, damping, 0.0, 0
        self.U, self.s, self.V = np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0))
        self.sums, self.counts = ([], []), ([], [])

    def begin(self, side):
        self.sums[side].append(0.0)
        self.counts[side].append(0)
        if side:
            self.V = np.vstack([self.V, np.zeros((1, len(self.s)))])
        else:
            self.U = np.vstack([self.U, np.zeros((1, len(self.s)))])

    def bias(self, side, a):
        return self.sums[side][a] / (self.counts[side][a] + self.damping)

    def mu(self):
        return self.sum / self.t if self.t else (self.low + self.high) / 2

    def learn(self, user, item, rating):
        a, b = self.meet(user, item, rating)
        self.sum, self.t = self.sum + rating, self.t + 1
        d = rating - self.mu()
        for side, row in ((1, b), (0, a)):
            self.counts[side][row] += 1
            self.sums[side][row] += d
            d -= self.bias(side, row)
        self.revise(a, b, d - (self.U[a] * self.s) @ self.V[b])

    def revise(self, a, b, change):
        """The SVD of U diag(s) V' + change e_a e_b' (Brand's equations 2 to 4), cut to the rank."""
        m, n = self.U[a], self.V[b]
        p, q = -self.U @ m, -self.V @ n
        p[a] += 1
        q[b] += 1
        P, Q = (v / np.linalg.norm(v) if np.linalg.norm(v) > 1e-10 else 0 * v for v in (p, q))
        K = np.diag(np.append(self.s, 0)) + change * np.outer(np.append(m, P @ p), np.append(n, Q @ q))
        left, s, right = np.linalg.svd(K)
        keep = (s > 1e-10 * s[0]) & (np.arange(len(s)) < self.rank)
        self.s = s[keep]
        self.U = np.column_stack([self.U, P]) @ left[:, keep]
        self.V = np.column_stack([self.V, Q]) @ right.T[:, keep]

    def predict(self, user, item):
        a, b = self.users.get(user), self.items.get(item)
        x = self.mu() + (self.bias(0, a) if a is not None else 0) + (self.bias(1, b) if b is not None else 0)
        x += (self.U[a] * self.s) @ self.V[b] if a is not None and b is not None else 0
        return min(max(x, self.low), self.high)

    def item_factors(self):
        return self.V * np.sqrt(self.s)
