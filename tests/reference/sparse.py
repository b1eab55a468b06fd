"""The sparse learners, transcribed from their papers: dense, eager (every weight shrinks in every round) and naive.

As in `tests.reference.linear`, `delta` is y x for any number of labels, and the last column is the constant feature of
the intercept. Where features have an order, the intercept comes first.
"""

import numpy as np
from scipy.stats import norm as gaussian

from tests.reference.confidence import AROW
from tests.reference.linear import BY_MARGIN, SCHEDULES, Classifier, copied, grid, projected

LOSSES = ("hinge", "logistic", "squared")


def soft(a, threshold):
    return np.sign(a) * np.maximum(np.abs(a) - threshold, 0)


def block(a, threshold):
    """a with its norm reduced by the threshold; 0 where the norm is not above it, even for a = 0."""
    length = np.linalg.norm(a)
    return a * (1 - threshold / length) if length > threshold else np.zeros_like(a)


def in_ball(a, radius):
    """The nearest point with |.|_1 <= radius, by the sorted sizes."""
    sizes = np.sort(np.abs(a).ravel())[::-1]
    if sizes.sum() <= radius:
        return a
    return soft(a, np.max((np.cumsum(sizes) - radius) / np.arange(1, len(sizes) + 1)))


PROX = {
    "l1": soft,
    "l2_squared": lambda a, step: a / (1 + step),
    "l2": block,
    "linf": lambda a, step: a - in_ball(a, step),
}


def constant_first(features):
    return [features - 1, *range(features - 1)]


class Sparse(Classifier):
    """A loss of the margin, and its gradient."""

    def __init__(self, *args, loss="hinge", **kwargs):
        super().__init__(*args, **kwargs)
        self.slope = BY_MARGIN[loss]

    def gradient(self, delta, margin):
        return self.slope(margin, 0.1) * delta


class TruncatedGradient(Sparse):
    """Langford, Li and Zhang (2009): every K-th round, before it predicts, every |w_j| <= theta moves K g eta to 0.

    Rounding (T_0) sets these to 0 instead. `weights` are those with which the next round predicts.
    """

    CASES = (
        grid(loss=LOSSES, eta=(0.1,), gravity=(0.05,), schedule=("constant", "sqrt", "inverse"))
        + grid(loss=("squared",), gravity=(0.3,), theta=(0.2,), period=(1, 5), schedule=("constant", "sqrt"))
        + grid(loss=("hinge",), eta=(0.2,), theta=(0.1,), period=(1, 4), rounding=(True,))
        + grid(gravity=(0.0,))
    )

    def __init__(
        self,
        *args,
        loss="squared",
        eta=0.1,
        gravity=0.01,
        theta=np.inf,
        period=1,
        schedule="constant",
        rounding=False,
        **kwargs,
    ):
        super().__init__(*args, loss=loss, **kwargs)
        self.rate = lambda t: eta * SCHEDULES[schedule](t)
        self.gravity, self.theta, self.period, self.rounding = gravity, theta, period, rounding

    def truncated(self, w, t):
        if t % self.period:
            return w
        shrunk = 0 if self.rounding else soft(w, self.period * self.gravity * self.rate(t))
        return np.where(np.abs(w) <= self.theta, shrunk, w)

    def learn(self, x, label):
        self.w = self.truncated(self.w, self.t + 1)  # before the label is revealed
        super().learn(x, label)

    def update(self, delta, margin, norm2):
        self.w = self.w - self.rate(self.t) * self.gradient(delta, margin)

    def weights(self):
        return self.truncated(self.w, self.t + 1)


class FOBOS(Sparse):
    """Duchi and Singer (2009): a gradient step, then prox of the penalty with the same eta_t, in every round."""

    CASES = grid(
        penalty=("l1", "l2", "l2_squared", "linf"), lam=(0.05,), eta=(0.5,), schedule=("constant", "sqrt", "inverse")
    ) + grid(loss=("logistic", "squared"), penalty=("l1", "l2", "linf"), lam=(0.02,), eta=(0.1,))

    def __init__(self, *args, loss="hinge", penalty="l1", lam=1e-3, eta=1.0, schedule="sqrt", **kwargs):
        super().__init__(*args, loss=loss, **kwargs)
        self.prox, self.lam, self.rate = PROX[penalty], lam, lambda t: eta * SCHEDULES[schedule](t)

    def update(self, delta, margin, norm2):
        eta = self.rate(self.t)
        self.w = self.prox(self.w - eta * self.gradient(delta, margin), eta * self.lam)


class Dual(Sparse):
    """w is a function of G, the sum of the gradients: `shrunk(G)`, the part above the thresholds, divided by `H`.

    Where w becomes -w/2 and +w/2, the part of G above the thresholds halves, and the rest stays.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.G, self.squares = np.zeros_like(self.w), np.zeros_like(self.w)

    def update(self, delta, margin, norm2):
        g = self.gradient(delta, margin)
        self.G, self.squares = self.G + g, self.squares + g**2
        self.w = -self.shrunk(self.G) / self.H()

    def reshape(self, change):
        super().reshape(change)
        left = self.shrunk(self.G)
        self.G = change(left) + copied(change)(self.G - left)
        self.squares = np.abs(copied(change)(self.squares))


class RDA(Dual):
    """Xiao (2010): w = -(sqrt(t) / gamma) soft(G / t, lam + gamma rho / sqrt(t)); rho > 0 is enhanced RDA."""

    CASES = grid(loss=LOSSES, lam=(0.05,), gamma=(2.0,), rho=(0.0, 0.02)) + grid(lam=(0.0, 1e-3), gamma=(1.0, 20.0))

    def __init__(self, *args, loss="hinge", lam=1e-3, gamma=1.0, rho=0.0, **kwargs):
        super().__init__(*args, loss=loss, **kwargs)
        self.lam, self.gamma, self.rho = lam, gamma, rho

    def shrunk(self, G):
        return soft(G, self.lam * self.t + self.gamma * self.rho * np.sqrt(self.t))

    def H(self):
        return self.gamma * np.sqrt(self.t)


class AdaFOBOS(Sparse):
    """Duchi, Hazan and Singer (2011): FOBOS with eta / H_j, H_j = delta + sqrt(g_1j^2 + ... + g_tj^2)."""

    CASES = grid(loss=LOSSES, lam=(0.0, 0.05), eta=(0.5,), delta=(0.1, 1.0))

    def __init__(self, *args, loss="hinge", lam=0.0, eta=1.0, delta=1.0, **kwargs):
        super().__init__(*args, loss=loss, **kwargs)
        self.lam, self.eta, self.delta, self.squares = lam, eta, delta, np.zeros_like(self.w)

    def update(self, delta, margin, norm2):
        g = self.gradient(delta, margin)
        self.squares = self.squares + g**2
        rate = self.eta / (self.delta + np.sqrt(self.squares))
        self.w = soft(self.w - rate * g, rate * self.lam)

    def reshape(self, change):
        super().reshape(change)
        self.squares = np.abs(copied(change)(self.squares))


class AdaRDA(Dual):
    """Duchi, Hazan and Singer (2011): w_j = -eta soft(G_j, lam t) / H_j."""

    CASES = AdaFOBOS.CASES

    def __init__(self, *args, loss="hinge", lam=0.0, eta=1.0, delta=1.0, **kwargs):
        super().__init__(*args, loss=loss, **kwargs)
        self.lam, self.eta, self.delta = lam, eta, delta

    def shrunk(self, G):
        return soft(G, self.lam * self.t)

    def H(self):
        return (self.delta + np.sqrt(self.squares)) / self.eta


class FTRL(Dual):
    """McMahan et al. (2013), algorithm 1: z is G here and n the squares."""

    CASES = grid(loss=LOSSES, alpha=(0.5,), l1=(0.0, 0.3), l2=(0.0, 0.7)) + grid(beta=(0.1,), l1=(1.0,))

    def __init__(self, *args, loss="logistic", alpha=0.1, beta=1.0, l1=1.0, l2=0.0, **kwargs):
        super().__init__(*args, loss=loss, **kwargs)
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2

    def shrunk(self, z):
        return soft(z, self.l1)

    def H(self):
        return (self.beta + np.sqrt(self.squares)) / self.alpha + self.l2

    def update(self, delta, margin, norm2):
        g = self.gradient(delta, margin)
        sigma = (np.sqrt(self.squares + g**2) - np.sqrt(self.squares)) / self.alpha
        self.G = self.G - sigma * self.w
        super().update(delta, margin, norm2)


def strongest(scores, k):
    """A mask of the k features with the highest scores; of equal scores the first."""
    order = sorted(constant_first(len(scores)), key=lambda j: -scores[j])
    kept = np.zeros(len(scores), dtype=bool)
    kept[order[:k]] = True
    return kept


class OFS(Classifier):
    """Wang et al. (2014), algorithm 2: where the margin is at most 1, a step, a ball of 1 / sqrt(lam), and k weights.

    With many classes a feature is as strong as the sum of its |w_j|.
    """

    CASES = grid(k=(1, 3), eta=(0.2, 1.0), lam=(0.01, 0.5)) + grid(k=(100,), lam=(0.1,)) + grid(k=(2,), lam=(0.0,))

    def __init__(self, *args, k, eta=0.2, lam=0.01, **kwargs):
        super().__init__(*args, **kwargs)
        self.k, self.eta, self.lam, self.radius = k, eta, lam, 1 / np.sqrt(lam) if lam else None

    def update(self, delta, margin, norm2):
        if margin <= 1 and norm2 > 0:
            w = projected((1 - self.lam * self.eta) * self.w + self.eta * delta, self.radius)
            self.w = np.where(strongest(np.abs(np.atleast_2d(w)).sum(axis=0), self.k), w, 0)

    def learn_partial(self, x, label, shown, epsilon, d):
        """Partial input, binary: the margin is of the features shown, the step along the unbiased estimate of x.

        With probability epsilon a row shows k random features of d, else those of w.
        """
        self.meet(label)
        self.t += 1
        y = 1 if self.positive(label) else -1
        estimate = np.where(shown, x, 0) / (self.k / d * epsilon + (self.w != 0) * (1 - epsilon) + (shown == 0))
        self.update(y * estimate, y * float(self.w @ np.where(shown, x, 0)), float(estimate @ estimate))


class PET(OFS):
    """Wang et al. (2014), algorithm 1: a perceptron that keeps k weights after each mistake; no ball."""

    CASES = grid(k=(1, 3), eta=(0.25, 1.0)) + grid(k=(100,))

    def __init__(self, *args, k, eta=1.0, **kwargs):
        super().__init__(*args, k=k, eta=eta, lam=0.0, **kwargs)

    def update(self, delta, margin, norm2):
        if margin <= 0:
            super().update(delta, margin, norm2)


class SOFS(AROW):
    """Wu et al. (2017): diagonal AROW that keeps the k features of the smallest variance, summed over the classes."""

    CASES = grid(k=(1, 3), r=(1.0, 0.1)) + grid(k=(100,))

    def __init__(self, *args, k, r=1.0, **kwargs):
        super().__init__(*args, r=r, covariance="diagonal", **kwargs)
        self.k = k

    def update(self, delta, margin, norm2):
        if margin < 1 and norm2 > 0:
            super().update(delta, margin, norm2)
            self.w = np.where(strongest(-(1 / np.atleast_2d(self.P)).sum(axis=0), self.k), self.w, 0)


def lists_of(groups):
    """Index lists, from these or from a group number for each feature."""
    if len(groups) and np.ndim(groups[0]):
        return [list(group) for group in groups]
    return [[j for j, other in enumerate(groups) if other == group] for group in dict.fromkeys(groups)]


class GroupRDA(RDA):
    """Yang et al. (2010), DA-GL and DA-SGL: w^g = -(sqrt(t) / gamma) [1 - lam sqrt(d_g) / |c^g|]+ c^g, c = soft(G / t).

    The threshold of c is lam r + gamma rho / sqrt(t), r being `within`. The groups are those of each class separately.
    The bias is not penalised.
    """

    GROUPS = ([0, 1, 0, 2, 1], [[0, 2], [1, 4], [3]])
    CASES = (
        grid(groups=GROUPS, lam=(0.05,), gamma=(2.0,))
        + grid(groups=GROUPS[:1], lam=(0.05,), within=(0.5,), rho=(0.0, 0.02), loss=LOSSES)
        + grid(groups=([0] * 5, [4, 3, 2, 1, 0]), lam=(0.1,), rho=(0.05,))
    )

    def __init__(self, *args, groups, within=0.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.groups, self.within = lists_of(groups), within

    def shrunk(self, G):
        lam, left = self.lam * self.t, np.zeros_like(G)
        c = soft(G, lam * self.within + self.gamma * self.rho * np.sqrt(self.t))
        for row, image, dual in zip(*map(np.atleast_2d, (c, left, G)), strict=True):
            for group in self.groups:
                image[group] = block(row[group], lam * np.sqrt(len(group)))
            image[-1] = dual[-1]
        return left


class MultiTaskRDA:
    """Yang, Lyu and King (2013): a row of W for each task; the gradient is of the arriving task, its mean over all t.

    iMTFS: the penalty is lam |W|_1. aMTFS: lam sum_j |W_.j|_2. MTFTS: lam sum_j (r |W_.j|_1 + |W_.j|_2).
    """

    def __init__(self, features, n_tasks, variant="aMTFS", lam=1e-3, gamma=1.0, within=0.0, loss="hinge"):
        self.G, self.W, self.t = np.zeros((n_tasks, features)), np.zeros((n_tasks, features)), 0
        self.variant, self.lam, self.gamma, self.within = variant, lam, gamma, within
        self.slope = BY_MARGIN[loss]

    def learn(self, x, y, task):
        """y is -1 or 1."""
        self.t += 1
        self.G[task] += self.slope(y * (self.W[task] @ x), 0.1) * y * x
        self.W = -np.sqrt(self.t) / self.gamma * self.shrunk(self.G / self.t)

    def shrunk(self, G):
        if self.variant == "iMTFS":
            return soft(G, self.lam)
        U = soft(G, self.lam * self.within) if self.variant == "MTFTS" else G
        return np.column_stack([block(column, self.lam) for column in U.T])


class BayesianSparse(Classifier):
    """Balakrishnan and Madigan (2008): a quadratic form for each likelihood, at the MAP w, and shooting for the next.

    log p(y | x, w) ~ -a s^2 / 2 + b s, by Taylor at s = w.x; a and b for y = 1, s being the margin.
    """

    CASES = grid(gamma=(0.1, 1.0), link=("logit", "probit"), sweeps=(1, 10))

    def __init__(self, *args, gamma=1.0, link="logit", sweeps=10, **kwargs):
        super().__init__(*args, **kwargs)
        self.gamma, self.link, self.sweeps = gamma, link, sweeps
        self.Psi, self.theta = np.zeros((len(self.w), len(self.w))), np.zeros(len(self.w))
        self.farthest = 0.0  # the largest weight of all rounds

    def taylor(self, s):
        if self.link == "logit":
            p = np.exp(-np.logaddexp(0, -s))
            return p * (1 - p), (1 - p) + p * (1 - p) * s
        r = np.exp(gaussian.logpdf(s) - gaussian.logcdf(s))
        return r * (s + r), r + r * (s + r) * s

    def update(self, delta, margin, norm2):
        if norm2 == 0:
            return
        a, b = self.taylor(margin)
        self.Psi = self.Psi + a * np.outer(delta, delta)
        self.theta = self.theta + b * delta
        self.w = self.w.copy()
        for _ in range(self.sweeps):
            for j in constant_first(len(self.w)):
                rest = self.theta[j] - self.Psi[j] @ self.w + self.Psi[j, j] * self.w[j]
                self.w[j] = soft(rest, self.gamma) / self.Psi[j, j] if self.Psi[j, j] > 0 else 0
        self.farthest = max(self.farthest, np.abs(self.w).max())

    def reshape(self, change):
        if np.ndim(change(self.w)) > 1:
            raise ValueError("two labels")
        super().reshape(change)
        self.theta = change(self.theta)
