"""Learners that weigh mistakes by their costs, transcribed from their papers: dense, eager and naive."""

import numpy as np

from tests.reference.linear import Classifier, aggressiveness, grid

# The cost of r where y is true. Some pairs are missing and cost 1, some cost nothing.
COSTS = {
    (y, r): (3 * y + 5 * r + 4) % 7 / 3 for y in range(-1, 10) for r in range(-1, 10) if y != r and (y + 2 * r) % 5
}


class CSPA(Classifier):
    """Crammer et al. (2006), section 7.1: PA that asks for a margin of sqrt(rho(y, s)).

    "prediction": s is the label predicted, where that is wrong. "max_loss": s maximises F_r + sqrt(rho(y, r)).
    """

    CASES = (
        grid(rho=(None, COSTS), C=(0.3,), variant=("prediction", "max_loss"))
        + grid(rho=(COSTS,), C=(0.3,), variant=("prediction", "max_loss"), step=("hard", "II"))
        + grid(rho=(COSTS,), C=(0.2,), variant=("prediction", "max_loss"), average=(True,))
    )

    def __init__(self, *args, rho=None, C=1.0, variant="prediction", step="I", **kwargs):
        super().__init__(*args, **kwargs)
        self.C, self.variant, self.kind = C, variant, step
        self.costs = costs(rho, self.labels)

    def asked(self, label, other):
        return np.sqrt(self.costs.get((label, other), 1.0))

    def step(self, x, label):
        if self.w.ndim == 1:
            delta = x if self.positive(label) else -x
            asked = self.asked(label, next((other for other in self.labels if other != label), None))
            margin = self.w @ delta
        else:
            delta, scores = np.zeros_like(self.w), self.w @ x
            y, rivals = self.labels.index(label), self.rivals(label)
            if not rivals:
                return
            margins = {r: self.asked(label, self.labels[r]) for r in rivals}
            s = max(rivals, key=lambda r: scores[r] + margins[r] if self.variant == "max_loss" else scores[r])
            delta[y] += x
            delta[s] -= x
            asked, margin = margins[s], scores[y] - scores[s]
        norm2 = np.sum(delta * delta)
        if norm2 > 0 and (self.variant == "max_loss" or margin <= 0):
            self.w = self.w + aggressiveness(self.kind, self.C, max(0, asked - margin), norm2) * delta


def costs(rho, labels):
    """{(true, predicted): cost}; labels are those of the rows and columns of a matrix."""
    if rho is None or isinstance(rho, dict):
        return rho or {}
    return {(y, r): float(rho[i][j]) for i, y in enumerate(labels) for j, r in enumerate(labels)}


class CSOGD(Classifier):
    """Wang, Zhao and Hoi (2012): hinge loss whose margin (I) or whose weight (II) is rho for a positive, else 1.

    "sum": rho = eta_p T_n / (eta_n T_p), T the rows before this one and one of each class. "cost": rho = c_p / c_n.
    """

    CASES = grid(eta=(0.1,), variant=("I", "II"), objective=("sum", "cost"), positive=(0.5, 0.9, 0.2))

    def __init__(self, *args, eta=0.1, variant="I", objective="sum", positive=0.5, **kwargs):
        super().__init__(*args, **kwargs)
        self.eta, self.variant, self.ratio, self.sum = eta, variant, positive / (1 - positive), objective == "sum"
        self.counts = np.ones(2)  # of negatives and positives

    def step(self, x, label):
        positive = self.positive(label)
        y, rho = 1 if positive else -1, 1.0
        if positive:
            rho = self.ratio * (self.counts[0] / self.counts[1] if self.sum else 1)
        self.counts[int(positive)] += 1
        margin = y * (self.w @ x)
        if self.variant == "I" and margin < rho:
            self.w = self.w + self.eta * y * x
        elif self.variant == "II" and margin < 1:
            self.w = self.w + self.eta * rho * y * x

    def reshape(self, change):
        super().reshape(change)
        self.counts = self.counts[::-1].copy()
