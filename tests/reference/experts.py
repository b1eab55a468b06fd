"""Learning from experts, transcribed from the papers: `w` weighs them in the next round, whose losses `learn(l)` tells.

N experts, L their cumulative losses, T the rounds so far. `loss` is the sum of w.l, what a draw by the weights loses in
expectation; `regret()` is that less the loss of the best expert, and `bound()` what a theorem says it stays under.
"""

import numpy as np

from tests.reference.budget import Random


def logsumexp(z):
    return z.max() + np.log(np.exp(z - z.max()).sum())


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


class Experts:
    def __init__(self, N):
        self.N, self.T, self.L, self.loss, self.w = N, 0, np.zeros(N), 0.0, np.full(N, 1 / N)

    def learn(self, l):  # noqa: E741, as in the papers
        l = np.asarray(l, dtype=float)  # noqa: E741
        self.T += 1
        self.loss += self.suffered(l)
        self.L = self.L + l
        self.w = self.next(l)

    def suffered(self, l):  # noqa: E741
        return self.w @ l

    def regret(self):
        return self.loss - self.L.min()


class Hedge(Experts):
    """Freund and Schapire (1997): w_i as exp(-eta L_i); with eta None, eta_t = sqrt(8 ln N / t) in round t.

    Bounds: ln N/eta + eta T/8 (Cesa-Bianchi and Lugosi, 2006, theorem 2.2), 2 sqrt(T/2 ln N) + sqrt(ln N/8) (2.3).
    """

    CASES = ({}, {"eta": 0.5}, {"eta": 3.0})

    def __init__(self, N, eta=None):
        super().__init__(N)
        self.eta = eta

    def next(self, l):  # noqa: E741
        return softmax(-(self.eta or np.sqrt(8 * np.log(self.N) / (self.T + 1))) * self.L)

    def bound(self):
        K = np.log(self.N)
        return K / self.eta + self.eta * self.T / 8 if self.eta else 2 * np.sqrt(self.T * K / 2) + np.sqrt(K / 8)


class AdaHedge(Experts):
    """de Rooij, van Erven, Grünwald and Koolen (2014): eta = ln N / Delta, Delta the sum of the mixability gaps so far.

    The gap of a round is w.l + ln(sum w exp(-eta l)) / eta; while Delta is 0, eta is infinite: the weights are uniform
    on the leaders, and the mix loss is how much the least cumulative loss grows. Regret is at most
    2 Delta, and so at most sqrt(T ln N) + 4/3 ln N + 2 [recalled: theorem 8 and V <= T/4].
    """

    CASES = ({},)

    def __init__(self, N):
        super().__init__(N)
        self.delta = 0.0

    def suffered(self, l):  # noqa: E741
        if self.delta > 0:
            eta = np.log(self.N) / self.delta
            z = -eta * (self.L - self.L.min())
            mix = (logsumexp(z) - logsumexp(z - eta * l)) / eta
        else:
            mix = (self.L + l).min() - self.L.min()
        self.delta += max(0.0, self.w @ l - mix)
        return self.w @ l

    def next(self, l):  # noqa: E741
        leaders = (self.L.min() == self.L).astype(float)
        return softmax(-np.log(self.N) / self.delta * self.L) if self.delta > 0 else leaders / leaders.sum()

    def bound(self):
        return np.sqrt(self.T * np.log(self.N)) + 4 / 3 * np.log(self.N) + 2


class FixedShare(Experts):
    """Herbster and Warmuth (1998): after the step of Hedge, a share alpha of the weight is dealt out evenly.

    eta None is the best constant if one round in 1/alpha brings another best expert: sqrt(8 (h(alpha) + alpha ln N)), h
    the entropy. Against the best sequence of experts with k changes regret is at most ((k + 1) ln N - k ln alpha -
    (T - k - 1) ln(1 - alpha)) / eta + eta T/8 (Cesa-Bianchi and Lugosi, 2006, theorem 5.1); `bound` is that of k = 0.
    """

    CASES = ({}, {"eta": 0.5, "alpha": 0.1})

    def __init__(self, N, eta=None, alpha=0.01):
        super().__init__(N)
        h = -alpha * np.log(alpha) - (1 - alpha) * np.log(1 - alpha)
        self.eta, self.alpha = eta or np.sqrt(8 * (h + alpha * np.log(N))), alpha

    def next(self, l):  # noqa: E741
        v = self.w * np.exp(-self.eta * l)
        return (1 - self.alpha) * v / v.sum() + self.alpha / self.N

    def bound(self, k=0):
        odds = (k + 1) * np.log(self.N) - k * np.log(self.alpha) - (self.T - k - 1) * np.log(1 - self.alpha)
        return odds / self.eta + self.eta * self.T / 8


class WeightedMajority(Experts):
    """Littlestone and Warmuth (1994): w_i beta^l_i. A round is a mistake if at least half of the weight is wrong.

    Mistakes are at most (m ln(1/beta) + ln N) / ln(2 / (1 + beta)), m those of the best; what a draw by the weights
    loses (`randomised`) at most the same over 1 - beta. `bound` is that less m.
    """

    CASES = ({}, {"beta": 0.9}, {"randomised": True}, {"beta": 0.8, "randomised": True, "seed": 3})

    def __init__(self, N, beta=0.5, randomised=False, seed=0):
        super().__init__(N)
        self.beta, self.randomised, self.random = beta, randomised, Random(seed)

    def suffered(self, l):  # noqa: E741
        return self.w @ l if self.randomised else float(self.w @ l >= 0.5)

    def next(self, l):  # noqa: E741
        return softmax(np.log(self.beta) * self.L)

    def bound(self):
        m, beta = self.L.min(), self.beta
        scale = 1 - beta if self.randomised else np.log(2 / (1 + beta))
        return (m * np.log(1 / beta) + np.log(self.N)) / scale - m

    def drawn(self):
        """The expert of the next round: number T + 1 of the seed, by the cumulative weights."""
        u = (self.random.at(self.T + 1) >> 11) * 2.0**-53
        return min(int(np.searchsorted(np.cumsum(self.w), u, side="right")), self.N - 1)


CLASSES = {cls.__name__: cls for cls in (Hedge, AdaHedge, FixedShare, WeightedMajority)}


def majority(weights, advice):
    """The label of most weight, the lowest of those that tie."""
    return max(sorted(set(advice)), key=lambda a: sum(w for w, b in zip(weights, advice, strict=True) if a == b))
