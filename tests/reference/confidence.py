"""The second-order linear learners, transcribed from their papers in dense, simple code.

Beside the weights `w` each keeps `P`, the inverse of the covariance Sigma: of the shape of w where the covariance is
diagonal, a matrix for each row of w where it is full. With delta for the example, as in `linear`, a rule is a pair
(alpha, c) by the margin m and the variance v = delta' Sigma delta:

    w += alpha Sigma delta        P += c delta delta' (full) or c diag(delta^2) (diagonal)

and since delta holds x in row y and -x in row s, this moves these two rows alone, both with the same alpha and c.
Where a paper updates Sigma itself, Sigma - beta Sigma x x' Sigma, its beta is c / (1 + c v), by Sherman and Morrison.
"""

import numpy as np
from scipy.stats import norm

from tests.reference.linear import Classifier, Regressor, grid

BOTH = ("diagonal", "full")


class Covariance:
    """Sigma_1 = a I, held by its inverse P."""

    def __init__(self, *args, covariance="diagonal", a=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.full, n = covariance == "full", self.w.shape[-1]
        self.prior = (np.eye(n) if self.full else np.ones(n)) / a
        self.P = self.prior if self.w.ndim == 1 else np.array([self.prior] * len(self.w))

    def sigma(self, delta, P=None):
        """Sigma delta, row by row."""
        P = self.P if P is None else P
        return np.linalg.solve(P, delta[..., None])[..., 0] if self.full else delta / P

    def square(self, delta):
        return delta[..., :, None] * delta[..., None, :] if self.full else delta * delta

    def variance(self, delta):
        return float(np.sum(delta * self.sigma(delta)))


class Confidence(Covariance, Classifier):
    def meet(self, label):
        known = len(self.labels)
        super().meet(label)
        if len(self.labels) > max(known, 2):  # two labels share a covariance: the third gives each a copy of it
            rows = self.P if known > 2 else np.array([self.P, self.P])
            self.P = np.insert(rows, self.labels.index(label), self.prior, axis=0)

    def update(self, delta, margin, norm2):
        if norm2 > 0:
            alpha, c = self.rule(margin, self.variance(delta))
            self.w = self.w + alpha * self.sigma(delta)
            self.P = self.P + c * self.square(delta)

    def rule(self, m, v):
        raise NotImplementedError


def root_of_u(alpha, v, phi):
    """sqrt(u), u = ((sqrt((alpha v phi)^2 + 4 v) - alpha v phi) / 2)^2, without the difference of like numbers."""
    return 2 * v / (np.sqrt((alpha * v * phi) ** 2 + 4 * v) + alpha * v * phi)


class CW(Confidence):
    """The nearest Gaussian, by KL divergence, under which the prediction is correct with probability eta.

    "stdev": Crammer, Dredze and Pereira (2008), m >= phi sqrt(v). "variance": Dredze, Crammer and Pereira (2008),
    m >= phi v.
    """

    CASES = grid(eta=(0.6, 0.8), covariance=BOTH, variant=("stdev", "variance")) + grid(
        a=(0.3,), covariance=BOTH, average=(True,)
    )

    def __init__(self, *args, eta=0.7, variant="stdev", **kwargs):
        super().__init__(*args, **kwargs)
        self.phi, self.variant = norm.ppf(eta), variant

    def rule(self, m, v):
        phi = self.phi
        if self.variant == "variance":
            if m >= phi * v:
                return 0, 0
            b = 1 + 2 * phi * m
            alpha = (-b + np.sqrt(b**2 - 8 * phi * (m - phi * v))) / (4 * phi * v)
            return alpha, 2 * alpha * phi
        if m >= phi * np.sqrt(v):
            return 0, 0
        alpha = self.stdev(m, v)
        return alpha, alpha * phi / root_of_u(alpha, v, phi)

    def stdev(self, m, v):
        phi = self.phi
        psi, zeta = 1 + phi**2 / 2, 1 + phi**2
        return max(0, (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta))


class SCW(CW):
    """Wang, Zhao and Hoi (2012), propositions 1 and 2: CW with a slack xi at the price of C xi (I) or C xi^2 (II)."""

    CASES = grid(C=(1.0, 0.1), covariance=BOTH, variant=("I", "II")) + grid(
        eta=(0.9,), a=(0.5,), covariance=("full",), variant=("I", "II"), average=(True,)
    )

    def __init__(self, *args, C=1.0, eta=0.75, variant="I", **kwargs):
        super().__init__(*args, eta=eta, variant="stdev", **kwargs)
        self.C, self.soft = C, {"I": self.first, "II": self.second}[variant]

    def stdev(self, m, v):
        return self.soft(m, v)

    def first(self, m, v):
        return min(self.C, super().stdev(m, v))

    def second(self, m, v):
        phi, n = self.phi, v + 1 / (2 * self.C)
        gamma = phi * np.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
        return max(0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))


class AROW(Confidence):
    """Crammer, Kulesza and Dredze (2009), figure 1."""

    CASES = grid(r=(1.0, 0.1), covariance=BOTH) + grid(r=(5.0,), covariance=BOTH, average=(True,))

    def __init__(self, *args, r=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.r = r

    def rule(self, m, v):
        return (max(0, 1 - m) / (v + self.r), 1 / self.r) if m < 1 else (0, 0)


class AROWRegressor(Covariance, Regressor):
    """Vaits and Crammer (2011): AROW with the squared loss, so every example is an update."""

    CASES = AROW.CASES

    def __init__(self, *args, r=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.r = r

    def update(self, x, y, f, norm2):
        self.w = self.w + (y - f) / (self.variance(x) + self.r) * self.sigma(x)
        self.P = self.P + self.square(x) / self.r


class NHERD(Confidence):
    """Crammer and Lee (2010): normal herd, the full and the exact diagonal form."""

    CASES = grid(C=(1.0, 0.1), covariance=BOTH) + grid(C=(5.0,), covariance=BOTH, average=(True,))

    def __init__(self, *args, C=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.C = C

    def rule(self, m, v):
        return ((1 - m) / (v + 1 / self.C), 2 * self.C + self.C**2 * v) if m < 1 else (0, 0)


class IELLIP(Confidence):
    """Yang, Jin and Ye (2009): on a mistake, P <- (1 - c_k) P + c_k g g' with g = delta / sqrt(v), c_k = c b^k."""

    CASES = grid(b=(0.3, 0.9), c=(0.1, 0.5), covariance=BOTH) + grid(b=(0.7,), covariance=BOTH, average=(True,))

    def __init__(self, *args, b=0.3, c=0.1, **kwargs):
        super().__init__(*args, **kwargs)
        self.b, self.c = b, c  # c is that of the next update

    def update(self, delta, margin, norm2):
        if margin <= 0 and norm2 > 0:
            v, c = self.variance(delta), self.c
            self.w = self.w + (1 - margin) / v * self.sigma(delta)
            self.P = (1 - c) * self.P + c * self.square(delta / np.sqrt(v))
            self.prior = (1 - c) * self.prior  # the joint matrix holds the labels to come as well
            self.c = self.b * c


class Whitened(Confidence):
    """w = Sigma theta, theta a sum of examples."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.theta = np.zeros_like(self.w)

    def reshape(self, change):
        super().reshape(change)
        self.theta = change(self.theta)

    def add(self, delta, c):
        self.theta = self.theta + delta
        self.P = self.P + c * self.square(delta)
        self.w = self.sigma(self.theta)


class SOP(Whitened):
    """Cesa-Bianchi, Conconi and Gentile (2005), figure 1: the score of x is theta' (A + x x')^-1 x."""

    CASES = grid(a=(1.0, 0.2, 5.0), covariance=BOTH) + grid(a=(2.0,), covariance=BOTH, average=(True,))

    def __init__(self, *args, a=1.0, **kwargs):
        super().__init__(*args, a=1 / a, **kwargs)

    def including(self, x):
        """The weights that score x: it is in the matrix of every label."""
        return self.sigma(self.theta, self.P + self.square(np.broadcast_to(x, self.w.shape)))

    def step(self, x, label):
        w, self.w = self.w, self.including(x)  # the strongest rival and the margin are by these
        delta = self.difference(x, label)
        margin, self.w = np.sum(self.w * delta), w
        if margin <= 0 and delta.any():
            self.add(delta, 1)

    def score(self, x):
        return self.weights() @ x if self.average else self.including(x) @ x


class NAROW(Whitened):
    """Orabona and Crammer (2010), as in the authors' code: r = chi / (b chi - 1) where b chi > 1, else infinite."""

    CASES = grid(b=(0.1, 1.0, 5.0), covariance=BOTH) + grid(b=(2.0,), covariance=BOTH, average=(True,))

    def __init__(self, *args, b=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.b = b

    def shrink(self, chi):
        """r / (r + chi), r = chi / (b chi - 1) or infinite."""
        return 1 / (self.b * chi) if self.b * chi > 1 else 1.0

    def update(self, delta, margin, norm2):
        chi = self.variance(delta)
        if norm2 > 0 and self.shrink(chi) * margin < 1:
            self.add(delta, max(0, (self.b * chi - 1) / chi))  # 1 / r

    def score(self, x):
        """Of two labels the shrunk margin; of more the margins, which only their pairs would shrink."""
        plain = self.average or self.w.ndim > 1
        return self.weights() @ x * (1 if plain else self.shrink(self.variance(x)))
