"""Online transfer learning, transcribed: dense and naive. `v` is the source's vector, the constant's weight last."""

import numpy as np

from tests.reference.linear import Classifier


def Pi(z):
    return min(1.0, max(0.0, (z + 1) / 2))


class HomogeneousOTL(Classifier):
    """Zhao and Hoi (2010), algorithm 1: source and target share the vote by weights; the target learns by PA-I."""

    def __init__(self, *args, source, C=5.0, eta=0.5, **kwargs):
        super().__init__(*args, **kwargs)
        self.v, self.C, self.eta, self.alpha = np.asarray(source, dtype=float), C, eta, np.array([0.5, 0.5])

    def votes(self, x):
        return np.array([Pi(self.v @ x), Pi(self.w @ x)])

    def score(self, x):
        return self.alpha @ self.votes(x) - 0.5

    def update(self, delta, margin, norm2):
        raise NotImplementedError

    def step(self, x, label):
        y = 1 if self.positive(label) else -1
        kept = self.alpha * np.exp(-self.eta * (self.votes(x) - Pi(y)) ** 2)
        self.alpha = kept / kept.sum()
        if x @ x > 0:
            self.w = self.w + min(self.C, max(0, 1 - y * (self.w @ x)) / (x @ x)) * y * x


class HeterogeneousOTL(Classifier):
    """Zhao and Hoi (2010), algorithm 2: the first features are the source's, the others new; both views move."""

    def __init__(self, *args, source, C=5.0, gamma1=1.0, gamma2=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.m, self.C, self.gamma = len(source), C, (gamma1, gamma2)
        self.w[: self.m] = source

    def score(self, x):
        return self.w @ x / 2

    def step(self, x, label):
        (g1, g2), m, y = self.gamma, self.m, 1 if self.positive(label) else -1
        z1, z2 = x[:m] @ x[:m], x[m:] @ x[m:]
        loss = max(0, 1 - y * self.score(x))
        if z1 * g2 + z2 * g1 > 0:
            tau = min(self.C, 4 * g1 * g2 * loss / (z1 * g2 + z2 * g1))
            self.w = self.w + tau * y * x / (2 * np.where(np.arange(len(x)) < m, g1, g2))
