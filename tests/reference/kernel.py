"""The kernel machines without a budget, transcribed from their papers over an explicit kernel matrix K = k(X, X).

Each row of the stream has a coefficient, which is 0 until the row is a support vector. So a function f is a vector w
(one row per class if multiclass), f at row i is w @ K[:, i], and <f, g> is w K v'. An example is a row number; `score`
takes a column k(X, z). In these coordinates phi(x_i) is the unit vector e_i. The update y x is y e_i, or e_i in row y
and -e_i in row s, the wrong class with the highest score. So the updates are those of the linear learners, with the
margin and the norm computed from K.

The papers leave some rules open. A row with k(x, x) = 0 is never a support vector, but it counts as a round (decay, b,
rho and epsilon go on). With a linear kernel each machine equals the linear learner without an intercept. When the
second label shows that the first was the other class, w becomes -w and b becomes -b.
"""

import numpy as np

from tests.reference.linear import BY_MARGIN, PA, SCHEDULES, Classifier, Perceptron, VotedPerceptron, grid


class Machine(Classifier):
    """A classifier over the rows of K. `learn(i, label)` takes a row number, `score` a column k(X, z)."""

    def __init__(self, K, *args, **kwargs):
        super().__init__(len(K), *args, **kwargs)
        self.K = K

    def difference(self, i, label):
        delta = np.zeros_like(self.w)
        if self.w.ndim == 1:
            delta[i] = self.side(label)
        elif rivals := self.rivals(label):
            scores = self.w @ self.K[:, i]
            delta[self.labels.index(label), i] = 1
            delta[max(rivals, key=lambda k: scores[k]), i] = -1
        return delta

    def step(self, i, label):
        delta = self.difference(i, label)
        image = delta[..., i, None] * self.K[i]  # delta K
        self.update(delta, float(np.sum(self.w * image)), float(np.sum(delta * image)))

    def side(self, label):
        return 1.0 if self.positive(label) else -1.0


class KernelPerceptron(Machine, Perceptron):
    """f += y k(x, .) if the margin is not positive."""

    CASES = grid()


class AveragedKernelPerceptron(KernelPerceptron):
    """Freund and Schapire (1999): predicts with (f_1 + ... + f_T) / T, where f_t precedes example t."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, average=True, **kwargs)


class VotedKernelPerceptron(Machine, VotedPerceptron):
    """Freund and Schapire (1999), figure 1. The zero function has no vote; all later ones have."""

    CASES = grid()


class KernelPA(Machine, PA):
    """Crammer et al. (2006): f += tau y k(x, .), tau by PA, PA-I or PA-II, k(x, x) for |x|^2 (twice with rivals)."""

    CASES = grid(C=(1.0, 0.3), variant=("hard", "I", "II"))


class KernelOGD(Machine):
    """Kivinen, Smola and Williamson (2004), section 2: f <- (1 - eta_t lambda) f - eta_t l'(m) y k(x, .).

    The margin is that of f before it is shortened; rounds without a step shorten it too.
    """

    CASES = grid(loss=tuple(BY_MARGIN), lam=(0.0, 0.05), epsilon=(0.2,)) + grid(
        loss=("hinge", "logistic"), eta=(0.5,), lam=(0.1,), schedule=("sqrt", "inverse")
    )

    def __init__(self, *args, loss="hinge", eta=0.2, lam=0.0, schedule="constant", epsilon=0.1, **kwargs):
        super().__init__(*args, **kwargs)
        self.slope, self.epsilon = BY_MARGIN[loss], epsilon
        self.eta, self.lam, self.schedule = eta, lam, SCHEDULES[schedule]

    def update(self, delta, margin, norm2):
        eta = self.eta * self.schedule(self.t)
        self.w = (1 - eta * self.lam) * self.w
        if norm2 > 0:
            self.w -= eta * self.slope(margin, self.epsilon) * delta


# ---- NORMA


class Expansion:
    """f <- (1 - eta_t lambda) f + alpha k(x, .) with the last `truncate` terms. alpha = 0 adds no term."""

    def begin(self, eta, lam, nu, truncate, schedule):
        self.eta, self.lam, self.nu, self.truncate, self.schedule = eta, lam, nu, truncate, SCHEDULES[schedule]
        self.terms = []

    def rate(self):
        return self.eta * self.schedule(self.t)

    def add(self, i, alpha):
        self.w = (1 - self.rate() * self.lam) * self.w
        if alpha != 0 and self.K[i, i] > 0:
            self.w[i] = alpha
            self.terms.append(i)
            if self.truncate is not None and len(self.terms) > self.truncate:
                self.w[self.terms.pop(0)] = 0


class NORMA(Expansion, Machine):
    """Kivinen, Smola and Williamson (2004), two labels: alpha_t = eta_t y where y f <= rho.

    With nu the loss is [rho - y (f + b)]+ - nu rho: b += eta_t sigma y and rho += eta_t (nu - sigma), sigma telling
    whether y (f + b) <= rho; b starts at 0, is not shortened, and rho may become negative. Without nu there is no b.
    """

    CASES = grid(lam=(0.01, 0.3), nu=(None, 0.3), truncate=(None, 7)) + grid(
        rho=(0.0, 0.5), schedule=("constant", "inverse")
    )

    def __init__(self, *args, eta=0.3, lam=0.01, rho=1.0, nu=None, truncate=None, schedule="sqrt", **kwargs):
        super().__init__(*args, **kwargs)
        self.begin(eta, lam, nu, truncate, schedule)
        self.rho, self.b = rho, 0.0

    def reshape(self, change):
        super().reshape(change)
        self.b = -self.b  # the only possible change of a binary model

    def step(self, i, label):
        y, eta = self.side(label), self.rate()
        sigma = float(y * self.score(self.K[:, i]) <= self.rho)
        self.add(i, eta * sigma * y)
        if self.nu is not None:
            self.b += eta * sigma * y
            self.rho += eta * (self.nu - sigma)

    def score(self, column):
        return self.w @ column + self.b


class Unlabelled(Expansion):
    """The common part of the two forms of NORMA without classes."""

    def __init__(self, K, eta, lam, nu, truncate, schedule):
        self.K, self.w, self.t = K, np.zeros(len(K)), 0
        self.begin(eta, lam, nu, truncate, schedule)

    def learn(self, i, y=None):
        self.t += 1
        self.step(i, y)

    def weights(self):
        return self.w


class NORMARegressor(Unlabelled):
    """The loss [|y - f| - epsilon]+ + nu epsilon: alpha_t = eta_t sgn(y - f) where |y - f| > epsilon.

    With nu, epsilon += eta_t (sigma - nu), the other way round than rho; it is not held above 0, where it returns to.
    """

    CASES = grid(lam=(0.01, 0.3), nu=(None, 0.3), truncate=(None, 7)) + grid(
        epsilon=(0.0, 0.5), schedule=("constant", "inverse")
    )

    def __init__(self, K, eta=0.3, lam=0.01, epsilon=0.1, nu=None, truncate=None, schedule="sqrt"):
        super().__init__(K, eta, lam, nu, truncate, schedule)
        self.epsilon = epsilon

    def step(self, i, y):
        delta = y - self.score(self.K[:, i])
        sigma = float(abs(delta) > self.epsilon)
        self.add(i, self.rate() * sigma * np.sign(delta))
        if self.nu is not None:
            self.epsilon += self.rate() * (sigma - self.nu)

    def score(self, column):
        return self.w @ column


class NORMANovelty(Unlabelled):
    """The loss [rho - f]+ - nu rho: alpha_t = eta_t where f < rho, rho += eta_t (nu - sigma). The score is f - rho."""

    CASES = grid(rho=(1.0, 0.0), lam=(0.01, 0.3), nu=(0.1, 0.5), truncate=(None, 7)) + grid(
        rho=(1.0,), schedule=("constant", "inverse")
    )

    def __init__(self, K, eta=0.3, lam=0.01, rho=1.0, nu=0.1, truncate=None, schedule="sqrt"):
        super().__init__(K, eta, lam, nu, truncate, schedule)
        self.rho = rho

    def step(self, i, _):
        sigma = float(self.w @ self.K[:, i] < self.rho)
        self.add(i, self.rate() * sigma)
        self.rho += self.rate() * (self.nu - sigma)

    def score(self, column):
        return self.w @ column - self.rho


# ---- double updating


def two_variables(la, lb, ka, kb, w, C, low, high):
    """Zhao, Hoi and Jin (2011), the closed form of

    max la g + lb D - ka g^2 / 2 - kb D^2 / 2 - w g D  over  0 <= g <= C, low <= D <= high,

    for w <= 0, la > 0, lb >= 0 and low <= 0 <= high.
    """
    if ka * C + w * high - la < 0 and kb * high + w * C - lb < 0:
        return C, high
    D = (lb - w * C) / kb
    if (w * w * C - w * lb - ka * kb * C + kb * la) / kb > 0 and low <= D <= high:
        return C, D
    g = (la - w * high) / ka
    if 0 <= g <= C and lb - kb * high - w * g > 0:
        return g, high
    determinant = ka * kb - w * w
    return (kb * la - w * lb) / determinant, (ka * lb - w * la) / determinant


class DUOL(Machine):
    """Zhao, Hoi and Jin (2011): a new example also updates the support vector that conflicts with it most.

    This is the one with the smallest y_i y k(x_i, x) among those with a margin of at most 1; the last one within 1e-9
    of the smallest. If the smallest is above -rho, there is no conflict, and the step is PA-I's. Steps inside the
    bounds leave margins at 1 up to rounding, so differences up to 1e-9 do not count: margins up to 1 + 1e-9 are
    candidates, whose negative loss counts as 0, and a new row with a loss of up to 1e-9 takes no step.
    """

    CASES = grid(C=(5.0, 0.3), rho=(0.0, 0.1))

    def __init__(self, *args, C=5.0, rho=0.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.C, self.rho = C, rho

    def demand(self, y):
        """The required margin of a label, or of an array of labels."""
        return np.ones_like(y)

    def bound(self, y):
        """The largest coefficient."""
        return self.C * np.ones_like(y)

    def step(self, i, label):
        K, y = self.K, self.side(label)
        la = float(self.demand(y) - y * (self.w @ K[:, i]))
        if la <= 1e-9 or K[i, i] <= 0:
            return
        S = np.flatnonzero(self.w)  # a support vector stays in S
        sides, size = np.sign(self.w[S]), np.abs(self.w[S])
        loss = self.demand(sides) - sides * (self.w @ K[:, S])
        conflict = np.where(loss >= -1e-9, sides * y * K[S, i], np.inf)
        least = conflict.min(initial=np.inf)
        Ca = float(self.bound(y))
        if least <= -self.rho:
            b = np.flatnonzero(conflict <= least + 1e-9)[-1]
            low, high = -size[b], max(0.0, self.bound(sides)[b] - size[b])
            g, D = two_variables(la, max(0.0, loss[b]), K[i, i], K[S[b], S[b]], conflict[b], Ca, low, high)
            self.w[S[b]] += sides[b] * D
        else:
            g = min(Ca, la / K[i, i])
        self.w[i] = y * g


class CSDUOL(DUOL):
    """Zhao and Hoi (2013), with a weight c_y: `cost` for the positive class and 1 for the negative class.

    Variant I requires a margin of c_y, variant II bounds the coefficients by C c_y. Which of them the paper calls I is
    not verified. Support vectors with at most the required margin may change. The classes are known only with the
    second label. If the first label was in the other class, its rows are learned again.
    """

    CASES = grid(C=(5.0, 0.3), cost=(0.4, 3.0), variant=("I", "II")) + grid(rho=(0.1,), cost=(2.0,))

    def __init__(self, *args, cost=1.0, variant="I", **kwargs):
        super().__init__(*args, **kwargs)
        self.cost, self.variant = cost, variant
        self.first = []

    def step(self, i, label):
        if len(self.labels) == 1:
            self.first.append((i, label))
        super().step(i, label)

    def reshape(self, change):
        self.w = np.zeros_like(self.w)
        for i, label in self.first:
            super().step(i, label)

    def weight(self, y):
        return np.where(np.asarray(y) > 0, self.cost, 1.0)

    def demand(self, y):
        return self.weight(y) if self.variant == "I" else super().demand(y)

    def bound(self, y):
        return self.C * (self.weight(y) if self.variant == "II" else np.ones_like(y))


# ---- LASVM


class LASVM(Machine):
    """Bordes, Ertekin, Weston and Bottou (2005), with signed alpha between A = min(0, C y) and B = max(0, C y).

    Until S holds 5 rows of each label, each row enters S with alpha = 0 and nothing else happens. Each later row causes
    one PROCESS and one REPROCESS. S has the order of entry. b = (g_i + g_j) / 2 of the extremes after the last step,
    before rows leave S.

    As in lasvm.c, rows leave after every REPROCESS, with or without a step. By the paper's words, a machine that cannot
    improve would store every row. Also as in lasvm.c, FINISH only takes steps, and rows leave after the last one. Our
    own rule: a row stays if it is beyond the extremes by less than `beyond`, and by less than a running mean of
    g_i - g_j that forgets 1/1000 per round. A row with the values and the label of a row in S is that row (it has its
    number), so a second epoch gives an example no second alpha.

    Rules against rounding: among gradients within 1e-9 of the extreme the first in S is chosen, because a step inside
    the bounds makes g_i and g_j equal up to rounding. An alpha within 1e-12 C of its bound is set to the bound. A
    curvature K_ii + K_jj - 2 K_ij below 1e-12 is raised to it, as in libsvm.
    """

    CASES = grid(C=(1.0, 0.1, 10.0), tau=(1e-3,), beyond=(0.2, 0.0)) + grid(C=(1.0,), tau=(0.1, 1e-6))

    def __init__(self, *args, C=1.0, tau=1e-3, beyond=0.2, **kwargs):
        super().__init__(*args, **kwargs)
        self.C, self.tau, self.beyond = C, tau, beyond
        self.S, self.label, self.seeded, self.b, self.unrest = [], {}, False, 0.0, 0.0

    def step(self, i, label):
        self.label[i] = label
        if self.seeded:
            self.reprocess(self.process(i))
        else:
            if i not in self.S:
                self.S.append(i)
            self.seeded = min(np.sum(self.sides() > 0), np.sum(self.sides() < 0)) >= 5

    def process(self, i):
        """Whether there was a step."""
        if i in self.S:
            return False
        self.S.append(i)
        up, down = self.extremes()
        if self.sides()[-1] > 0:
            up = len(self.S) - 1
        else:
            down = len(self.S) - 1
        return self.move(up, down)

    def reprocess(self, moved=False):
        """Take a step if a pair violates optimality. `moved`: whether PROCESS took one."""
        (up, down), g = self.extremes(), self.gradients()
        again = self.move(up, down)
        self.unrest += ((g[up] - g[down] if again else 0) - self.unrest) / 1000
        self.settle(moved or again, min(self.beyond, self.unrest))

    def settle(self, moved, beyond):
        y, g, (up, down) = self.sides(), self.gradients(), self.extremes()
        if moved:
            self.b = (g[up] + g[down]) / 2
        if up is not None and down is not None:
            useless = ((y < 0) & (g >= g[up] + beyond)) | ((y > 0) & (g <= g[down] - beyond))
            self.S = [s for s, k in zip(self.S, useless, strict=True) if self.w[s] != 0 or not k]

    def finish(self):
        moved = False
        while self.move(*self.extremes()):
            moved = True
        self.settle(moved, 0)

    def sides(self):
        return np.array([self.side(self.label[s]) for s in self.S])

    def gradients(self):
        return self.sides() - self.K[self.S] @ self.w

    def extremes(self):
        """The indices in S of the largest gradient with alpha < B, and of the smallest with alpha > A."""
        y, g, alpha = self.sides(), self.gradients(), self.w[self.S]
        up = np.where(alpha < np.maximum(0, self.C * y), g, -np.inf)
        down = np.where(alpha > np.minimum(0, self.C * y), -g, -np.inf)
        return tuple(int(np.argmax(some >= some.max() - 1e-9)) if some.max() > -np.inf else None for some in (up, down))

    def move(self, up, down):
        """The best step along e_i - e_j, if it is a violating pair."""
        if up is None or down is None:
            return False
        y, g, i, j = self.sides(), self.gradients(), self.S[up], self.S[down]
        B, A = max(0.0, self.C * y[up]), min(0.0, self.C * y[down])
        if not (self.w[i] < B and self.w[j] > A and g[up] - g[down] > self.tau):
            return False
        K = self.K
        best = (g[up] - g[down]) / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        to_B, to_A = B - self.w[i], self.w[j] - A
        step = min(best, to_B, to_A)
        self.w[i] = B if to_B <= step + 1e-12 * self.C else self.w[i] + step
        self.w[j] = A if to_A <= step + 1e-12 * self.C else self.w[j] - step
        return True

    def score(self, column):
        return self.w @ column + self.b
