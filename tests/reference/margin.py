"""The learners of a large margin, and of a ball around the points, transcribed from their papers.

As in `tests.reference.linear`, `delta` stands for y x, whatever the number of labels.
"""

import numpy as np

from tests.reference.linear import Classifier, aggressiveness, grid


def norm(a, p):
    """The p-norm of all entries as one vector."""
    return float(np.sum(np.abs(a) ** p) ** (1 / p))


def link(a, p):
    """The gradient of |a|_p^2 / 2. The one of q is the inverse of the one of p, where 1/p + 1/q = 1."""
    return np.sign(a) * np.abs(a) ** (p - 1) / norm(a, p) ** (p - 2) if a.any() else a


class ALMA(Classifier):
    """Gentile (2001), ALMA_p(alpha; B, C): f(w) moves by eta_k x, and w is brought back into the unit ball of q."""

    CASES = (
        grid(alpha=(0.9, 0.5), p=(2, 4.5), normalize=(True, False))
        + grid(alpha=(1.0,), p=(2, 10), B=(1.5,), C=(0.7,))
        + grid(p=(3,), average=(True,))
    )

    def __init__(self, *args, alpha=0.9, p=2, B=None, C=None, normalize=True, **kwargs):
        super().__init__(*args, **kwargs)
        self.alpha, self.p, self.q, self.normalize = alpha, p, p / (p - 1), normalize
        self.B = B if B is not None else (np.sqrt(8) if normalize else 1) / alpha
        self.C = C if C is not None else np.sqrt(2)
        self.k = 1

    def update(self, delta, margin, norm2):
        if norm2 == 0:
            return
        x = delta / norm(delta, self.p) if self.normalize else delta
        gamma = self.B * np.sqrt(self.p - 1) / np.sqrt(self.k)
        if np.sum(self.w * x) <= (1 - self.alpha) * gamma:
            eta = self.C / (np.sqrt(self.p - 1) * np.sqrt(self.k))
            w = link(link(self.w, self.q) + eta * x, self.p)
            self.w = w / max(1, norm(w, self.q))
            self.k += 1


class ROMMA(Classifier):
    """Li and Long (1999, 2002): the shortest w' with w'.delta >= 1 and w'.w >= |w|^2, after a mistake."""

    CASES = grid(average=(False, True))

    def triggers(self, margin):
        return margin <= 0

    def update(self, delta, margin, norm2):
        if norm2 == 0 or not self.triggers(margin):
            return
        length2 = np.sum(self.w * self.w)
        both = norm2 * length2
        if margin >= both:  # w = 0, or the shortest vector with a margin of 1 has w'.w >= |w|^2 anyway
            self.w = delta / norm2
        elif both - margin**2 > 1e-12 * both:
            c = (both - margin) / (both - margin**2)
            d = length2 * (1 - margin) / (both - margin**2)
            self.w = c * self.w + d * delta


class AggressiveROMMA(ROMMA):
    """ROMMA with an update wherever the margin is below 1."""

    def triggers(self, margin):
        return margin < 1


class MIRA(Classifier):
    """Crammer and Singer (2003): W_r += tau_r x, tau the minimiser of |W|^2 with sum tau = 0 and tau_r <= [r = y].

    From W = 0 it would never move: such a step is the perceptron's.
    """

    CASES = grid(average=(False, True))

    def step(self, x, label):
        delta = self.difference(x, label)
        if not delta.any():
            return
        if not self.w.any():
            self.w = self.w + delta
        elif self.w.ndim == 1:
            self.w = self.w + np.clip(-(self.w @ delta) / (x @ x), 0, 1) * delta
        else:
            known = sorted([self.labels.index(label), *self.rivals(label)])
            cap = np.array([float(self.labels[r] == label) for r in known])
            tau = shares(self.w[known] @ x / (x @ x), cap)
            self.w = self.w.copy()
            self.w[known] += np.outer(tau, x)


def shares(scores, cap):
    """min(theta - scores, cap), theta such that they sum to 0: the sum grows with theta, so it is found by halving."""
    low, high = scores.min(), scores.max() + 1
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(middle - scores, cap).sum() < 0 else (low, middle)
    return np.minimum(high - scores, cap)


class OneClassPA:
    """Crammer et al. (2006), section 6: a ball around the points; its centre moves towards a point outside.

    With B the radius is learned: the space has one coordinate more, 0 for every point and B for the first centre, in
    which all balls have the radius B; what the coordinate leaves of it is the radius among the points.
    """

    CASES = grid(C=(1.0, 0.05), epsilon=(0.3,), variant=("hard", "I", "II")) + grid(
        C=(0.3,), variant=("hard", "I", "II"), B=(3.0,)
    )

    def __init__(self, features, C=1.0, epsilon=0.1, variant="I", B=None):
        self.C, self.variant, self.B, self.epsilon = C, variant, B, epsilon
        self.w = np.append(np.zeros(features), 0 if B is None else B)

    def learn(self, x):
        away = np.append(x, 0) - self.w
        distance = np.sqrt(away @ away)
        loss = max(0, distance - (self.epsilon if self.B is None else self.B))
        if loss > 0:
            self.w = self.w + aggressiveness(self.variant, self.C, loss, 1.0) * away / distance

    def weights(self):
        return self.w[:-1]

    def radius(self):
        return self.epsilon if self.B is None else np.sqrt(self.B**2 - self.w[-1] ** 2)

    def score(self, x):
        return self.radius() - np.linalg.norm(self.weights() - x)

    def predict(self, x):
        return 1 if self.score(x) >= 0 else -1
