"""Learning with several kernels, transcribed from the papers without caches."""

import numpy as np

from tests.reference.budget import Machine, Random, chosen
from tests.reference.linear import Classifier, grid


class OMKC(Classifier):
    """Jin, Hoi and Yang (2010); Hoi, Jin, Zhao and Yang (2013): one perceptron per kernel, and Hedge over them.

    theta_i = beta^(times i was updated), q = theta / sum theta, z_i = 1 where y f_i(x) <= 0. Two labels only.
    `combination`: deterministic, the score is sum_i q_i sgn f_i(x) with sgn 0 = 1; stochastic, it is f_i(x) with i
    drawn by q. `update`: deterministic, every i with z_i = 1 gets f_i += y k_i(x, .) and theta_i *= beta; stochastic,
    those of them for which m_i = 1, which has probability p_i = (1 - delta) theta_i / max theta + delta, theta before
    the round.

    The draws of a round: first, if the combination is stochastic, i = `chosen(q, uniform())`; then, if the update is,
    one `uniform()` for each kernel in order, whatever z_i, and m_i = 1 where it is below p_i. A score that is asked for
    between two rounds is that of the round to come: the same i for every row, and no draw is spent on it.

    `w` has a row a kernel and a column for each example that any of them took in, 0 where a kernel did not.
    """

    CASES = grid(
        update=("deterministic", "stochastic"),
        combination=("deterministic", "stochastic"),
        beta=(0.8, 0.5),
        delta=(0.01, 0.3),
        seed=(0, 4),
    )

    def __init__(
        self,
        kernels,
        update="deterministic",
        combination="deterministic",
        beta=0.8,
        delta=0.01,
        seed=0,
        classes=(),
    ):
        super().__init__(0, classes)
        self.kernels, self.how, self.combination = kernels, update, combination
        self.beta, self.delta, self.random = beta, delta, Random(seed)
        self.points, self.w, self.updated = [], np.zeros((len(kernels), 0)), np.zeros(len(kernels))

    def relative(self):
        """theta / max theta."""
        return self.beta ** (self.updated - self.updated.min())

    def kernel_weights(self):
        return self.relative() / self.relative().sum()

    def functions(self, x):
        """f_i(x)."""
        if not self.points:
            return np.zeros(len(self.kernels))
        return np.array([w @ k(np.array(self.points), x) for w, k in zip(self.w, self.kernels, strict=True)])

    def combined(self, f, random):
        q = self.kernel_weights()
        if self.combination == "stochastic":
            return f[chosen(q, random.uniform())]
        return q @ np.where(f >= 0, 1.0, -1.0)

    def score(self, x):
        next_round = Random(self.random.seed)
        next_round.draws = self.random.draws
        return self.combined(self.functions(x), next_round)

    def learn(self, x, label):
        self.meet(label)
        self.t += 1
        y, f = (1.0 if self.positive(label) else -1.0), self.functions(x)
        self.combined(f, self.random)
        z = y * f <= 0
        if self.how == "stochastic":
            p = (1 - self.delta) * self.relative() + self.delta
            z = z & (np.array([self.random.uniform() for _ in self.kernels]) < p)
        if z.any():
            self.points.append(x)
            self.w = np.column_stack([self.w, y * z])
            self.updated = self.updated + z

    def coefficients(self):
        return self.w


class OM2(Machine):
    """Jie, Orabona, Fornoni, Caputo and Cesa-Bianchi (2010): mirror descent with the squared (2, q) group norm.

    theta_j = sum_i w_i k_j(x_i, .) has the same coefficients in each of the F kernels; q = max(2, 2 ln F), since one or
    two kernels would give q < 2. f = sum_j c_j theta_j with c_j = (|theta_j| / |theta|_{2,q})^(q-2) / q, where
    |theta|_{2,q} = (sum_j |theta_j|^q)^(1/q) and |theta_j|^2 is summed over the classes; while theta = 0 they are those
    of equal norms, c_j = F^(-(q-2)/q) / q. The c_j are the `kernel_weights_`, as they are: their sum is not 1.

    margin <= 1: add eta = min(1, 1 - 2 margin / |z|^2_{2,q}) if that is positive, where |z|^2_{2,q} is e.e (sum_j
    k_j(x, x)^(q/2))^(2/q): the paper's 2 F^(2/q), for its normalised kernels and several classes. No step where it
    is 0.
    """

    CASES = grid()

    def __init__(self, kernels, **kwargs):
        super().__init__(None, **kwargs)
        self.kernels, self.q = kernels, max(2.0, 2 * np.log(len(kernels)))
        self.grams = [np.zeros((0, 0)) for _ in kernels]

    def add(self, x, column):
        super().add(x, column)
        Z = np.array(self.points)
        for j, k in enumerate(self.kernels):
            row = k(Z, x)
            self.grams[j] = np.vstack([np.column_stack([self.grams[j], row[:-1]]), row])

    def norms(self):
        """|theta_j|."""
        return np.sqrt([max(0.0, float(np.sum((self.w @ K) * self.w))) for K in self.grams])

    def kernel_weights(self):
        norms = self.norms()
        norms = norms if norms.any() else np.ones(len(norms))
        return (norms / np.sum(norms**self.q) ** (1 / self.q)) ** (self.q - 2) / self.q

    def image(self, x):
        if not self.points:
            return np.zeros(0)
        values = [k(np.array(self.points), x) for k in self.kernels]
        return np.tensordot(self.kernel_weights(), values, axes=1)

    def update(self, x, e, margin):
        own = np.array([k(x[None, :], x)[0] for k in self.kernels])
        size = float(np.sum(e * e) * np.sum(own ** (self.q / 2)) ** (2 / self.q))
        if margin > 1 or size == 0:
            return
        eta = min(1.0, 1 - 2 * margin / size)
        if eta > 0:
            self.add(x, eta * e)
