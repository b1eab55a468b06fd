"""Mirror descent, transcribed: gradients move theta, and w = g(theta) predicts.

As in `tests.reference.linear`, `delta` stands for y x, whatever the number of labels. On the simplex the number of
weights counts: the last column is the weight of a constant feature, or of nothing where its value is 0.
"""

import numpy as np

from tests.reference.linear import BY_MARGIN, SCHEDULES, Classifier, copied, grid
from tests.reference.margin import link

SLOPES = {**BY_MARGIN, "perceptron": lambda m, epsilon: -1.0 if m <= 0 else 0.0}


def logsumexp(a):
    return a.max() + np.log(np.sum(np.exp(a - a.max())))


class Mirror(Classifier):
    """The common part: theta, and which entries of w exist."""

    def __init__(self, features, *args, n_features=None, **kwargs):
        assert n_features in (None, features - 1)
        super().__init__(features, *args, **kwargs)
        self.theta = np.zeros_like(self.w)

    def learn(self, x, label):
        if self.t == 0:
            self.places = np.append(np.full(len(x) - 1, True), x[-1] != 0)
            self.w = self.mirrored(self.theta)
        super().learn(x, label)

    def mirrored(self, theta):
        raise NotImplementedError


class MirrorDescent(Mirror):
    """Lecture 002: theta -= eta_t z and w = g(theta), or (follow the regularised leader) w = g(eta_{t+1} theta).

    g is the identity, softmax (over all classes at once) or the link of the p-norm.
    """

    CASES = (
        grid(mirror=("euclidean",), loss=("hinge",), eta=(0.5,), schedule=("sqrt",), variant=("ftrl", "mirror"))
        + grid(mirror=("euclidean",), loss=("perceptron", "squared"), schedule=("inverse",), average=(True,))
        + grid(mirror=("pnorm",), p=(4,), eta=(0.5,), schedule=("sqrt",), variant=("ftrl", "mirror"))
        + grid(mirror=("pnorm",), p=(2.5,), loss=("logistic",), average=(True,))
        + grid(mirror=("entropy",), loss=("hinge", "logistic"), eta=(0.5,), variant=("ftrl", "mirror"))
        + grid(mirror=("entropy",), schedule=("sqrt",), variant=("mirror",), average=(True,))
    )

    def __init__(
        self,
        *args,
        mirror="euclidean",
        loss="hinge",
        eta=0.1,
        schedule="constant",
        p=2,
        variant="ftrl",
        epsilon=0.1,
        **kwargs,
    ):
        super().__init__(*args, **kwargs)
        self.mirror, self.p = mirror, p if mirror == "pnorm" else 2
        self.slope, self.epsilon, self.variant = SLOPES[loss], epsilon, variant
        self.rate = lambda t: eta * SCHEDULES[schedule](t)

    def mirrored(self, theta):
        if self.mirror == "entropy":
            theta = np.where(self.places, theta, -np.inf)
            return np.exp(theta - logsumexp(theta))
        return link(theta, self.p)

    def update(self, delta, margin, norm2):
        z = self.slope(margin, self.epsilon) * delta
        if self.variant == "mirror":
            self.theta = self.theta - self.rate(self.t) * z
            self.w = self.mirrored(self.theta)
        else:
            self.theta = self.theta - z
            self.w = self.mirrored(self.rate(self.t + 1) * self.theta)

    def reshape(self, change):
        super().reshape(change)
        if self.mirror == "entropy":
            self.theta = change(self.theta)
            self.w = self.mirrored(self.theta if self.variant == "mirror" else self.rate(self.t + 1) * self.theta)
        else:  # the theta of the new w; link(c theta) = c link(theta), so eta_t does not matter
            self.theta = link(change(link(self.theta, self.p)), self.p / (self.p - 1))


class EG(Mirror):
    """Kivinen and Warmuth (1997), EG+-: a weight is U (w+ - w-), all of w+ and w- a distribution.

    w+ is multiplied by exp(-eta U z) and w- by the inverse, so theta -= eta U z is the logarithm of w+ / w+_1, and
    -theta that of w- / w-_1.
    """

    CASES = (
        grid(eta=(0.5, 0.1), U=(1.0, 5.0))
        + grid(loss=("logistic", "squared", "squared_hinge"), eta=(0.3,), U=(2.0,))
        + grid(eta=(0.3,), U=(2.0,), average=(True,))
    )

    def __init__(self, *args, loss="hinge", eta=0.1, U=1.0, epsilon=0.1, **kwargs):
        super().__init__(*args, **kwargs)
        self.slope, self.eta, self.U, self.epsilon = SLOPES[loss], eta, U, epsilon

    def mirrored(self, theta):
        total = logsumexp(np.where(self.places, [theta, -theta], -np.inf))
        return self.U * (np.exp(theta - total) - np.exp(-theta - total))

    def update(self, delta, margin, norm2):
        self.theta = self.theta - self.eta * self.U * self.slope(margin, self.epsilon) * delta
        self.w = self.mirrored(self.theta)

    def reshape(self, change):
        super().reshape(change)
        self.theta = copied(change)(self.theta)
        self.w = self.mirrored(self.theta)
