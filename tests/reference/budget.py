"""Kernel machines on a budget, transcribed from their papers without caches: each kernel is computed when needed.

An example is a direction `e` and a point x. Binary: e is the number y = +1 or -1. Multiclass: e is a vector with 1 in
the row of the label, -1 in the row of s, the wrong class with the highest score (the lowest one on a tie), and 0
elsewhere. The model is f = sum over slots i of w[..., i] k(x_i, .), and the margin of an example is e.f(x). "Add the
example with coefficient a" puts a e into its slot. So each binary update is the multiclass update, too. The example is
then the vector e (x) k(x, .), so each k(x, x) of a paper counts e.e times: once, or twice.

Rules for all machines:
- A slot stays where it is. A new support vector takes the slot of the removed one, else it is appended.
- An example without a second class (the first label of a declared multiclass model) has e = 0. It takes no step, but
  decay goes on.
- A row of zeros is a normal row. A row that is already a support vector gets a second slot, except in the Projectron,
  which finds it in the span.
- When a third label arrives, w becomes the rows -w/2 and +w/2.
- Random numbers come from `Random`. The docstrings say where they are drawn, and in which order.
"""

import numpy as np

from tests.reference.linear import Classifier, grid


def linear(Z, x):
    return Z @ x


def polynomial(degree, c):
    return lambda Z, x: (Z @ x + c) ** degree


def gaussian(sigma):
    return lambda Z, x: np.exp(-((Z - x) ** 2).sum(axis=-1) / (2 * sigma**2))


class Random:
    """SplitMix64 (Steele, Lea and Flood, 2014): the k-th number, k = 1, 2, ..., is a function of the seed and k."""

    MASK = 2**64 - 1

    def __init__(self, seed=0):
        self.seed, self.draws = seed, 0

    @classmethod
    def scramble(cls, z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & cls.MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & cls.MASK
        return z ^ (z >> 31)

    def at(self, k):
        return self.scramble((self.scramble(self.seed & self.MASK) + k * 0x9E3779B97F4A7C15) & self.MASK)

    def bits(self):
        self.draws += 1
        return self.at(self.draws)

    def below(self, n):
        """A number of 0, ..., n - 1, all equally likely: a draw below 2^64 mod n is repeated."""
        while (bits := self.bits()) < 2**64 % n:
            pass
        return bits % n

    def uniform(self):
        """In [0, 1): the upper 53 bits."""
        return (self.bits() >> 11) * 2.0**-53

    def normal(self, n):
        """The n-th of the standard normals, n = 0, 1, ...: Box and Muller's cosine of the numbers 2n + 1 and 2n + 2.

        It is sqrt(-2 ln u) cos(2 pi v), u = ((bits >> 11) + 1) 2^-53 in (0, 1] of the first and v = (bits >> 11) 2^-53
        in [0, 1) of the second. No draw is counted.
        """
        u, v = ((self.at(2 * n + 1) >> 11) + 1) * 2.0**-53, (self.at(2 * n + 2) >> 11) * 2.0**-53
        return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)


def chosen(chances, u):
    """The first i with p_0 + ... + p_i > u; the last i if rounding leaves none."""
    return min(int(np.searchsorted(np.cumsum(chances), u, side="right")), len(chances) - 1)


class Machine(Classifier):
    """f = sum_i w_i k(x_i, .). `w` has a column per slot; it is a vector for up to two labels."""

    def __init__(self, kernel, classes=()):
        super().__init__(0, classes)
        self.kernel, self.points = kernel, []

    def learn(self, x, label):
        self.meet(label)
        self.t += 1
        e = self.direction(x, label)
        self.update(x, e, float(np.sum(e * self.score(x))))

    def direction(self, x, label):
        if self.w.ndim == 1:
            return np.array(1.0 if self.positive(label) else -1.0)
        e, scores, rivals = np.zeros(len(self.labels)), self.score(x), self.rivals(label)
        if rivals:
            e[self.labels.index(label)] = 1
            e[max(rivals, key=lambda k: scores[k])] = -1
        return e

    def image(self, x):
        """k(x_i, x) for every slot i."""
        return self.kernel(np.array(self.points), x) if self.points else np.zeros(0)

    def gram(self):
        Z = np.array(self.points)
        return np.array([self.kernel(Z, x) for x in Z]).reshape(len(Z), len(Z))

    def k(self, x):
        return float(self.kernel(x[None, :], x)[0])

    def score(self, x):
        return self.w @ self.image(x)

    def coefficients(self):
        """f = sum_i coefficient_i k(x_i, .)."""
        return self.w

    def sizes(self):
        """The coefficient a of each slot, whose column is a e."""
        return np.abs(self.w) if self.w.ndim == 1 else np.abs(self.w).max(axis=0)

    def add(self, x, column):
        self.points.append(x)
        self.w = np.concatenate([self.w, column[..., None]], axis=-1)

    def replace(self, slot, x, column):
        self.points[slot], self.w = x, self.w.copy()
        self.w[..., slot] = column


class KernelPerceptron(Machine):
    """f += e k(x, .) on a mistake, without a budget."""

    CASES = grid()

    def update(self, x, e, margin):
        if margin <= 0 and e.any():
            self.add(x, e)


class RBP(Machine):
    """Cavallanti, Cesa-Bianchi and Gentile (2007): on a mistake with B full slots, a random slot is replaced.

    The slot is `below(B)`: one draw for such a mistake, else none.
    """

    CASES = grid(budget=(1, 7, 25), seed=(3,))

    def __init__(self, kernel, budget=100, seed=0, **kwargs):
        super().__init__(kernel, **kwargs)
        self.budget, self.random = budget, Random(seed)

    def update(self, x, e, margin):
        if margin > 0 or not e.any():
            return
        if len(self.points) < self.budget:
            self.add(x, e)
        else:
            self.replace(self.random.below(self.budget), x, e)


class Forgetron(Machine):
    """Dekel, Shalev-Shwartz and Singer (2005, 2008): on a mistake add, shrink all by phi, forget the oldest.

    Shrinking and forgetting begin when there are B. `self_tuned`: phi is the largest in (0, 1] with
    Q + psi(phi s, phi mu) <= 15/32 M and psi(l, m) = l^2 + 2 l - 2 l m. M counts the mistakes including this one, s > 0
    is the oldest coefficient in size, and mu is its margin under f', which includes the new example. The left side is
    Q + a phi^2 + b phi with a = s^2 - 2 s mu, b = 2 s. Then Q += psi. `basic`: phi is the smaller of
    (B+1)^(-1/(2(B+1))) and U / |f'|, with U = 1/4 sqrt((B+1) / ln(B+1)) and |f'| over all B + 1 terms. The new
    coefficient shrinks, too, from 1 to phi.

    The theorems assume k(x, x) <= 1, and k(x_r, x_r) counts as 1. Multiclass machines use e/|e|, so that e (x) k stays
    within 1. Then mu is (f'_y(x_r) - f'_s(x_r)) / 2 for the classes y and s of the oldest example, and |f'|^2 is half
    of the sum over the rows. M includes the mistakes before the budget was full.
    """

    CASES = grid(budget=(1, 7, 25), variant=("self_tuned", "basic"))

    def __init__(self, kernel, budget=100, variant="self_tuned", **kwargs):
        super().__init__(kernel, **kwargs)
        self.budget, self.variant = budget, variant
        self.oldest = self.mistakes = 0
        self.Q = 0.0

    def update(self, x, e, margin):
        if margin > 0 or not e.any():
            return
        self.mistakes += 1
        if len(self.points) < self.budget:
            return self.add(x, e)
        phi = self.tuned(x, e) if self.variant == "self_tuned" else self.basic(x, e)
        self.w = phi * self.w
        self.replace(self.oldest, x, phi * e)
        self.oldest = (self.oldest + 1) % self.budget

    def tuned(self, x, e):
        r = self.oldest
        s, own = self.sizes()[r], np.sign(self.w[..., r])
        values = self.score(self.points[r]) + e * self.image(x)[r]
        mu = float(np.sum(own * values) / np.sum(own * own))
        a, b, c = s**2 - 2 * s * mu, 2 * s, self.Q - 15 / 32 * self.mistakes
        # c < 0: if 1 is too large, a root is in (0, 1); if two are, it is the smaller one.
        phi = 1.0 if a + b + c <= 0 else -2 * c / (b + np.sqrt(b * b - 4 * a * c))
        self.Q += a * phi**2 + b * phi
        return phi

    def basic(self, x, e):
        B = self.budget + 1
        K = np.block([[self.gram(), self.image(x)[:, None]], [self.image(x)[None, :], self.k(x)]])
        w = np.concatenate([self.w, e[..., None]], axis=-1)
        norm = np.sqrt(max(0.0, float(np.sum((w @ K) * w)) / np.sum(e * e)))
        most = B ** (-1 / (2 * B))
        U = np.sqrt(B / np.log(B)) / 4
        return min(most, U / norm) if norm > 0 else most


class Projectron(Machine):
    """Orabona, Keshet and Caputo (2008): project a mistake close to the span of the support vectors.

    d = K^-1 k(x_i, x), |delta|^2 = e.e (k(x, x) - k.d). |delta| <= eta: w += e d; else a new slot with e. If
    k(x, x) - k.d <= 1e-10 k(x, x), the point is in the span, and delta = 0. A budget replaces eta: a mistake is
    projected if B slots are full or if it is in the span; else it is added.
    """

    CASES = grid(eta=(0.1, 0.4)) + grid(budget=(1, 7, 25))

    def __init__(self, kernel, eta=0.1, budget=None, **kwargs):
        super().__init__(kernel, **kwargs)
        self.eta, self.budget = eta, budget

    def projected(self, x, e):
        """d, |e (x) delta| and |P (e (x) k)|^2."""
        k, kxx = self.image(x), self.k(x)
        d = np.linalg.solve(self.gram(), k)
        delta2 = kxx - k @ d
        return d, np.sqrt(np.sum(e * e) * delta2) if delta2 > 1e-10 * kxx else 0.0, float(np.sum(e * e) * (k @ d))

    def near(self, distance):
        if self.budget is None:
            return distance <= self.eta
        return distance == 0 or len(self.points) == self.budget

    def update(self, x, e, margin):
        if margin > 0 or not e.any():
            return
        d, distance, _ = self.projected(x, e)
        if self.near(distance):
            self.w = self.w + e[..., None] * d
        else:
            self.add(x, e)

    def inverse(self):
        return np.linalg.inv(self.gram())


class ProjectronPP(Projectron):
    """For 0 < margin < 1 it also projects if that improves f: w += tau e d, l = 1 - margin, P = |P k|^2.

    If l > |delta| / eta: tau = min(l / P, 2 (l - |delta| / eta) / P, 1); for eta = 0, |delta| / eta is 0 or infinite.
    With a budget, full or not: tau = min(l / P, 1) if tau (2 l - tau P - 2 U |delta|) >= 0, with the
    Forgetron's U. |delta| and P count e.e times. No step if P <= 0.
    """

    def update(self, x, e, margin):
        if not 0 < margin < 1 or not e.any():
            return super().update(x, e, margin)
        loss = 1 - margin
        d, distance, P = self.projected(x, e)
        if P <= 0:
            return
        if self.budget is None:
            excess = loss - (distance / self.eta if distance > 0 else 0.0) if self.eta > 0 or distance == 0 else -np.inf
            tau = min(loss / P, 2 * excess / P, 1.0) if excess > 0 else 0.0
        else:
            U = np.sqrt((self.budget + 1) / np.log(self.budget + 1)) / 4
            tau = min(loss / P, 1.0)
            tau *= 2 * loss - tau * P - 2 * U * distance >= 0
        if tau > 0:
            self.w = self.w + tau * e[..., None] * d


class BOGD(Machine):
    """Zhao, Wang, Wu, Jin and Hoi (2012): gradient descent with the hinge loss, and an estimate of f on a budget.

    All coefficients *= 1 - lam eta in each round. If margin < 1, add eta. If B slots are full, slot i is removed with
    probability p_i, and the others become min((1 - lam eta) / (1 - p_j) a_j, gamma eta). Without gamma this keeps f in
    expectation. `uniform`: p = 1/B, and the slot is `below(B)`. `weighted` (BOGD++): p_i = 1 - (B - 1) a_i sqrt(k_ii) /
    sum, clipped at 0 and normalised, from the coefficients before this round's decay; p = 1/B if the sum is 0. The slot
    is `chosen(p, uniform())`. A removal uses one draw, and only a removal applies gamma. A round without a second class
    only decays.
    """

    CASES = grid(
        budget=(1, 7, 25), eta=(0.3,), lam=(0.05,), gamma=(1.5, 10), sampling=("uniform", "weighted"), seed=(2,)
    )

    def __init__(self, kernel, budget=100, eta=0.2, lam=0.01, gamma=10, sampling="uniform", seed=0, **kwargs):
        super().__init__(kernel, **kwargs)
        self.budget, self.eta, self.lam, self.gamma = budget, eta, lam, gamma
        self.sampling, self.random = sampling, Random(seed)

    def chances(self):
        weights = self.sizes() * np.sqrt([self.k(x) for x in self.points])
        if self.sampling == "uniform" or weights.sum() == 0:
            return np.full(self.budget, 1 / self.budget)
        p = np.maximum(1 - (self.budget - 1) * weights / weights.sum(), 0)
        return p / p.sum()

    def update(self, x, e, margin):
        decay, step = 1 - self.lam * self.eta, margin < 1 and e.any()
        if not step or len(self.points) < self.budget:
            self.w = decay * self.w
            return self.add(x, self.eta * e) if step else None
        p = self.chances()
        uniform = self.sampling == "uniform"
        slot = self.random.below(self.budget) if uniform else chosen(p, self.random.uniform())
        p[slot] = 0  # removed, so its factor does not matter
        most = self.gamma * self.eta
        self.w = np.clip(decay / (1 - p) * self.w, -most, most)
        self.replace(slot, x, self.eta * e)


class BudgetPA(Machine):
    """Wang and Vucetic (2010), BPA-S: the passive-aggressive step; the new support vector replaces another one.

    margin < 1: tau = min(C, l / k_tt). Below the budget add tau y (PA-I). At it f - a_r k(x_r, .) + b k(x, .), where

        Q_r(b) = 1/2 (a_r^2 k_rr + b^2 k_tt - 2 a_r b k_rt) + C [1 - y (f(x) - a_r k_rt + b k_tt)]+

    is least: b = a_r k_rt / k_tt + tau y for each r, and the r of the least Q_r(b), which is that of the least
    a_r^2 (k_rr - k_rt^2 / k_tt); the lowest slot of those that tie. No step where k_tt = 0. Two labels only.
    """

    CASES = grid(budget=(1, 7, 25), C=(0.3, 1.0))

    def __init__(self, kernel, budget=100, C=1.0, **kwargs):
        super().__init__(kernel, **kwargs)
        self.budget, self.C = budget, C

    def update(self, x, e, margin):
        ktt, k = self.k(x), self.image(x)
        if margin >= 1 or ktt == 0:
            return
        tau = min(self.C, (1 - margin) / ktt)
        if len(self.points) < self.budget:
            return self.add(x, tau * e)
        b = self.w * k / ktt + tau * e
        r = int(np.argmin(self.w**2 * (np.array([self.k(z) for z in self.points]) - k**2 / ktt)))
        self.replace(r, x, b[r])


class FOGD(Machine):
    """Lu, Hoi, Wang, Zhao and Liu (2016): gradient descent with the hinge loss on random Fourier features.

    z(x) = (cos u_1.x, ..., cos u_H.x, sin u_1.x, ..., sin u_H.x), H = n_components / 2 and not divided by sqrt(H), with
    u_i ~ N(0, I / sigma^2): z(x).z(x') / H is near exp(-|x-x'|^2 / (2 sigma^2)). margin < 1: w += eta e z(x). The
    j-th component of u_i is `normal(j H + i)` / sigma, i and the column j from 0: it is known without those of any
    other column, and a column that is new has had it all along. `w` is the linear model in z.
    """

    CASES = grid(sigma=(0.7, 3.0), n_components=(2, 40), eta=(0.3,), seed=(0, 5))

    def __init__(self, sigma=1.0, n_components=400, eta=0.001, seed=0, classes=()):
        super().__init__(None, classes)
        self.sigma, self.half, self.eta, self.random = sigma, n_components // 2, eta, Random(seed)
        self.w = np.zeros((*self.w.shape[:-1], n_components))
        self.u = np.zeros((0, self.half))

    def image(self, x):
        while len(self.u) < len(x):
            row = [self.random.normal(len(self.u) * self.half + i) for i in range(self.half)]
            self.u = np.vstack([self.u, np.array(row) / self.sigma])
        return np.concatenate([np.cos(x @ self.u), np.sin(x @ self.u)])

    def update(self, x, e, margin):
        if margin < 1:
            self.w = self.w + self.eta * e[..., None] * self.image(x)


class NOGD(Machine):
    """Lu et al. (2016): kernel gradient descent until there are B support vectors, then descent on Nystroem features.

    First: margin < 1 adds eta e. In the round that adds the B-th, after adding: K = V D V', the `rank` largest of D,
    and of those the ones above 1e-10 of the largest; z(x) = M k(x_i, x), M = D^-1/2 V'. f is kept as well as it can be,
    by projection on these: w = alpha V D^1/2 (= alpha pinv(M)). From then on margin < 1: w += eta e z(x), and the
    support stays. The coefficients of f are then w M. No decay; no randomness. rank=None is max(1, B // 5).
    """

    CASES = grid(budget=(5, 20), rank=(None, 3), eta=(0.2,)) + grid(budget=(12,), rank=(12,), eta=(0.5,))

    def __init__(self, kernel, budget=100, rank=None, eta=0.2, **kwargs):
        super().__init__(kernel, **kwargs)
        self.budget, self.rank, self.eta = budget, rank or max(1, budget // 5), eta
        self.M = None

    def features(self, x):
        return self.image(x) if self.M is None else self.M @ self.image(x)

    def score(self, x):
        return self.w @ self.features(x)

    def coefficients(self):
        return self.w if self.M is None else self.w @ self.M

    def update(self, x, e, margin):
        if margin >= 1 or not e.any():
            return
        if self.M is not None:
            self.w = self.w + self.eta * e[..., None] * self.features(x)
            return
        self.add(x, self.eta * e)
        if len(self.points) == self.budget:
            D, V = np.linalg.eigh(self.gram())
            kept = [i for i in np.argsort(-D)[: self.rank] if D[i] > 1e-10 * D.max()]
            self.M = V[:, kept].T / np.sqrt(D[kept])[:, None]
            self.w = self.w @ V[:, kept] * np.sqrt(D[kept])
