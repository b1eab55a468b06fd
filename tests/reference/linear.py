"""The first-order linear learners, transcribed from their papers in dense, simple code.

A classifier sees an example as one vector, delta = Phi(x, y) - Phi(x, s): with two labels it is y x; with more, an
array of the shape of W that holds x in row y and -x in row s, the strongest rival. Its margin is then <w, delta>, the
gradient of the margin is delta, and each paper's binary update is its multiclass update too.

The constant feature of an intercept is a last column of ones, which the caller appends. `CASES` are the parameters with
which each is compared; an algorithm of the catalogue that has no transcription of its name in this folder fails the
tests.
"""

import numpy as np


def grid(**choices):
    """Every combination of the choices, as dicts."""
    cases = [{}]
    for name, values in choices.items():
        cases = [{**case, name: value} for case in cases for value in values]
    return cases


class Classifier:
    """Labels that come with the stream. `w` is a vector for up to two labels, then a row a label.

    With `average` it is the mean of w_1, ..., w_T that predicts, w_t being the one that met example t.
    """

    def __init__(self, features, classes=(), average=False):
        self.labels = sorted(classes)
        self.seen = set()
        self.average = average
        self.t = 0
        self.w = np.zeros(features if len(self.labels) < 3 else (len(self.labels), features))
        self.total = self.w.copy()  # w_1 + ... + w_t

    def learn(self, x, label):
        self.meet(label)
        self.t += 1
        self.total = self.total + self.w
        self.step(x, label)

    def step(self, x, label):
        delta = self.difference(x, label)
        self.update(delta, float(np.sum(self.w * delta)), float(np.sum(delta * delta)))

    def difference(self, x, label):
        if self.w.ndim == 1:
            return x if self.positive(label) else -x
        delta = np.zeros_like(self.w)
        scores, rivals = self.w @ x, self.rivals(label)
        if rivals:  # the first label of a multiclass model has nobody to compete with
            s = max(rivals, key=lambda k: scores[k])
            delta[self.labels.index(label)] += x
            delta[s] -= x
        return delta

    def rivals(self, label):
        return [k for k, other in enumerate(self.labels) if other in self.seen and other != label]

    def positive(self, label):
        """Whether a label is the higher of two. A single label counts as the higher one if it is a positive number."""
        return label == self.labels[1] if len(self.labels) == 2 else not isinstance(label, str) and label > 0

    def meet(self, label):
        self.seen.add(label)
        if label in self.labels:
            return
        old, sides = self.labels, [self.positive(known) for known in self.labels[:1]]
        self.labels = sorted([*old, label])
        place = self.labels.index(label)
        if len(old) == 1 and self.positive(old[0]) != sides[0]:
            self.reshape(lambda w: -w)
        elif len(old) == 2:
            self.reshape(lambda w: np.insert(np.array([-w / 2, w / 2]), place, 0, axis=0))
        elif len(old) > 2:
            self.reshape(lambda w: np.insert(w, place, 0, axis=0))

    def reshape(self, change):
        self.w, self.total = change(self.w), change(self.total)

    def update(self, delta, margin, norm2):
        """norm2 = 0: a row of zeros, or no rival. No rule may take a step then."""
        raise NotImplementedError

    def weights(self):
        return self.total / max(self.t, 1) if self.average else self.w

    def score(self, x):
        return self.weights() @ x

    def predict(self, x):
        score = self.score(x)
        if np.ndim(score) == 0:
            return self.labels[-1] if score >= 0 else self.labels[0]
        known = [k for k, label in enumerate(self.labels) if label in self.seen]
        return self.labels[max(known, key=lambda k: score[k])]


class Perceptron(Classifier):
    """Rosenblatt (1958): w += eta delta where the margin is not positive.

    Crammer and Singer (2003) for several classes: -x goes to the strongest rival ("max"), or to all that are not below
    the right class, in equal parts ("uniform") or by how far they are above it ("proportional").
    """

    CASES = grid(eta=(1.0, 0.25), update=("max", "uniform", "proportional")) + grid(
        update=("max", "proportional"), average=(True,)
    )

    def __init__(self, *args, eta=1.0, update="max", **kwargs):
        super().__init__(*args, **kwargs)
        self.eta, self.shares = eta, update

    def step(self, x, label):
        if self.w.ndim == 1 or self.shares == "max":
            return super().step(x, label)
        y, scores = self.labels.index(label), self.w @ x
        errors = [r for r in self.rivals(label) if scores[r] >= scores[y]]
        above = sum(scores[r] - scores[y] for r in errors)
        self.w = self.w.copy()
        self.w[y] += self.eta * x if errors else 0
        for r in errors:
            share = (scores[r] - scores[y]) / above if self.shares == "proportional" and above > 0 else 1 / len(errors)
            self.w[r] -= self.eta * share * x

    def update(self, delta, margin, norm2):
        if margin <= 0 and norm2 > 0:
            self.w = self.w + self.eta * delta


class AveragedPerceptron(Perceptron):
    """Freund and Schapire (1999): predicts with (w_1 + ... + w_T) / T."""

    CASES = grid(eta=(1.0, 0.25))

    def __init__(self, *args, **kwargs):
        super().__init__(*args, average=True, **kwargs)


class VotedPerceptron(Perceptron):
    """Freund and Schapire (1999), figure 1: vectors v_k with c_k votes, c_k the examples that v_k survived."""

    CASES = grid(eta=(1.0, 0.25))

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.past, self.votes = [], []  # the zero vector is not among them: it has no vote

    def update(self, delta, margin, norm2):
        if margin <= 0 and norm2 > 0:
            super().update(delta, margin, norm2)
            self.past.append(self.w)
            self.votes.append(1)
        elif self.past:
            self.votes[-1] += 1

    def reshape(self, change):
        super().reshape(change)
        self.past = [change(w) for w in self.past]

    def score(self, x):
        if self.w.ndim == 1:
            return float(sum(c * (1 if w @ x >= 0 else -1) for w, c in zip(self.past, self.votes, strict=True)))
        known = [k for k, label in enumerate(self.labels) if label in self.seen]
        total = np.zeros(len(self.labels))
        for w, c in zip(self.past, self.votes, strict=True):
            scores = w @ x
            total[max(known, key=lambda k: scores[k])] += c
        return total


# The derivative of each loss by the margin m (classification) ...
BY_MARGIN = {
    "hinge": lambda m, epsilon: -1.0 if m < 1 else 0.0,
    "squared_hinge": lambda m, epsilon: -max(0.0, 1 - m),
    "logistic": lambda m, epsilon: -np.exp(-np.logaddexp(0, m)),
    "squared": lambda m, epsilon: m - 1,
    "absolute": lambda m, epsilon: np.sign(m - 1),
    "epsilon_insensitive": lambda m, epsilon: np.sign(m - 1) if abs(m - 1) > epsilon else 0.0,
}
# ... and by the prediction f of a target y (regression).
BY_PREDICTION = {
    "squared": lambda f, y, epsilon: f - y,
    "absolute": lambda f, y, epsilon: np.sign(f - y),
    "epsilon_insensitive": lambda f, y, epsilon: np.sign(f - y) if abs(f - y) > epsilon else 0.0,
}
SCHEDULES = {"constant": lambda t: 1, "sqrt": lambda t: 1 / np.sqrt(t), "inverse": lambda t: 1 / t}


def projected(w, radius):
    """The nearest point of the ball: Zinkevich (2003), with the Frobenius norm for several classes."""
    norm = np.linalg.norm(w)
    return w if radius is None or norm <= radius else w * (radius / norm)


def copied(change):
    """A change of rows that copies the binary values to both classes, where the change of w halves them."""
    return lambda a: change(a) / np.abs(change(np.ones_like(a))).max()


class Descent:
    """Zinkevich (2003): w <- P(w - eta_t grad), eta_t by the round.

    With "adagrad", Duchi, Hazan and Singer (2011), each weight has its own eta / sqrt(g_1^2 + ... + g_t^2).
    """

    def start(self, slope, eta, schedule, radius, epsilon):
        self.slope, self.eta, self.schedule = slope, eta, schedule
        self.radius, self.epsilon = radius, epsilon
        self.squares = np.zeros_like(self.w)

    def reshape(self, change):
        super().reshape(change)
        self.squares = np.abs(copied(change)(self.squares))

    def descend(self, gradient):
        self.squares = self.squares + gradient**2
        if self.schedule == "adagrad":
            rate = 1 / np.sqrt(np.where(self.squares > 0, self.squares, 1))
        else:
            rate = SCHEDULES[self.schedule](self.t)
        self.w = projected(self.w - self.eta * rate * gradient, self.radius)


class OGD(Descent, Classifier):
    """Gradient descent with a loss of the margin."""

    CASES = (
        grid(
            loss=("hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"),
            eta=(0.3,),
            schedule=("constant", "sqrt", "inverse"),
            radius=(None, 0.7),
            epsilon=(0.2,),
        )
        + grid(loss=("hinge", "logistic", "squared"), eta=(0.3,), schedule=("adagrad",))
        + grid(schedule=("sqrt", "adagrad"), average=(True,))
        + grid(eta=(0.3,), radius=(0.7,), average=(True,))
    )

    def __init__(self, *args, loss="hinge", eta=1.0, schedule="sqrt", radius=None, epsilon=0.1, **kwargs):
        super().__init__(*args, **kwargs)
        self.start(BY_MARGIN[loss], eta, schedule, radius, epsilon)

    def update(self, delta, margin, norm2):
        self.descend(self.slope(margin, self.epsilon) * delta)


class Normalised:
    """Ross, Mineiro and Langford (2013), algorithm 2. A value above the scale of its feature rescales the weight."""

    def start(self, slope, eta, epsilon):
        self.slope, self.eta, self.epsilon = slope, eta, epsilon
        self.s, self.N, self.squares = np.zeros(self.w.shape[-1]), 0.0, np.zeros_like(self.w)

    def reshape(self, change):
        super().reshape(change)
        self.squares = np.abs(copied(change)(self.squares))

    def learn(self, x, y):
        grown = np.maximum(self.s, np.abs(x))
        self.w = self.w * np.where(grown > 0, self.s / np.where(grown > 0, grown, 1), 1)
        self.s = grown
        self.N += np.sum((x[x != 0] / grown[x != 0]) ** 2)
        super().learn(x, y)

    def score(self, x):
        return self.w @ np.clip(x, -self.s, self.s)

    def descend(self, gradient):
        self.squares = self.squares + gradient**2
        size = np.where(gradient != 0, self.s * np.sqrt(self.squares), 1)
        self.w = self.w - self.eta * np.sqrt(self.t / max(self.N, 1e-300)) * gradient / size


def scale_free(cls, X, y):
    """Multiplying features by powers of 2 changes no prediction to the bit, by others none beyond rounding."""

    def predictions(X):
        model, found = cls(), []
        for x, target in zip(X, y, strict=True):
            found.append(model.score_rows(model.as_rows(x[None]).check()) if found else [[0.0]])
            model.partial_fit(x[None], [target])
        return np.vstack(found[-10:])

    plain, rng = predictions(X), np.random.default_rng(0)
    assert (predictions(X * 2.0 ** rng.choice([-20, 0, 20], X.shape[1])) == plain).all()
    other = predictions(X * 10.0 ** rng.choice([-6, 0, 6], X.shape[1]))
    assert np.abs(other - plain).max() <= 1e-9 * np.abs(plain).max()


def steps_are_bounded(cls, X, y):
    """A step moves w_i s_i by at most eta sqrt(t / N), whatever the loss, as |g_i| <= sqrt(G_i)."""
    model = cls(eta=0.3, fit_intercept=False)
    if model.task == "classification":
        model.set_params(classes=np.unique(y))
    w, s, N = None, np.zeros(X.shape[1]), 0.0
    for t, (x, target) in enumerate(zip(X, y, strict=True), 1):
        grown = np.maximum(s, np.abs(x))
        N += np.sum((x[x != 0] / grown[x != 0]) ** 2)
        new = np.atleast_2d(model.partial_fit(x[None], [target]).coef_)
        if t > 1:
            rescaled = w * np.where(grown > 0, s / np.where(grown > 0, grown, 1), 1)
            assert (np.abs(new - rescaled) * grown <= 0.3 * np.sqrt(t / N) * (1 + 1e-9)).all()
        w, s = new, grown


class NAG(Normalised, Classifier):
    """Normalised adaptive gradient with a loss of the margin."""

    CASES = grid(loss=("logistic", "hinge", "squared"), eta=(0.5, 0.1))
    CLAIMS = (scale_free, steps_are_bounded)

    def __init__(self, *args, loss="logistic", eta=0.5, **kwargs):
        super().__init__(*args, **kwargs)
        self.start(BY_MARGIN[loss], eta, None)

    def update(self, delta, margin, norm2):
        self.descend(self.slope(margin, self.epsilon) * delta)


class PA(Classifier):
    """Crammer et al. (2006): w += tau delta, with tau by PA, PA-I or PA-II."""

    CASES = grid(C=(1.0, 0.05), variant=("hard", "I", "II")) + grid(C=(0.2,), average=(True,))

    def __init__(self, *args, C=1.0, variant="I", **kwargs):
        super().__init__(*args, **kwargs)
        self.C, self.variant = C, variant

    def update(self, delta, margin, norm2):
        if norm2 > 0:
            self.w = self.w + aggressiveness(self.variant, self.C, max(0, 1 - margin), norm2) * delta


def aggressiveness(variant, C, loss, norm2):
    return {
        "hard": lambda: loss / norm2,
        "I": lambda: min(C, loss / norm2),
        "II": lambda: loss / (norm2 + 1 / (2 * C)),
    }[variant]()


class SoftSVM(Classifier):
    """theta += delta where the margin is below 1; w_{t+1} = theta / (lambda (t + 1)), or Pegasos' recursion for w."""

    CASES = grid(lam=(0.01, 1.0), average=(True, False), variant=("mirror", "pegasos"))

    def __init__(self, *args, lam=1e-4, average=True, variant="mirror", **kwargs):
        super().__init__(*args, average=average, **kwargs)
        self.lam, self.variant = lam, variant
        self.theta = np.zeros_like(self.w)

    def reshape(self, change):
        super().reshape(change)
        self.theta = change(self.theta)

    def update(self, delta, margin, norm2):
        step = delta if margin < 1 else 0 * delta
        if self.variant == "mirror":
            self.theta = self.theta + step
            self.w = self.theta / (self.lam * (self.t + 1))
        else:
            self.w = (1 - 1 / self.t) * self.w + step / (self.lam * self.t)


class Regressor:
    """A number for each x. With `average` the mean of w_1, ..., w_T predicts it."""

    def __init__(self, features, average=False):
        self.w = np.zeros(features)
        self.total = self.w.copy()
        self.average = average
        self.t = 0

    def learn(self, x, y):
        self.t += 1
        self.total = self.total + self.w
        self.update(x, y, float(self.w @ x), float(x @ x))

    def weights(self):
        return self.total / max(self.t, 1) if self.average else self.w

    def score(self, x):
        return self.weights() @ x

    predict = score


class NAGRegressor(Normalised, Regressor):
    """Normalised adaptive gradient with a loss of the residual."""

    CASES = grid(loss=("squared", "absolute", "epsilon_insensitive"), eta=(0.5, 0.1), epsilon=(0.2,))
    CLAIMS = (scale_free, steps_are_bounded)

    def __init__(self, *args, loss="squared", eta=0.5, epsilon=0.1, **kwargs):
        super().__init__(*args, **kwargs)
        self.start(BY_PREDICTION[loss], eta, epsilon)

    def update(self, x, y, f, norm2):
        self.descend(self.slope(f, y, self.epsilon) * x)


class OGDRegressor(Descent, Regressor):
    """Gradient descent with a loss of the residual."""

    CASES = (
        grid(
            loss=("squared", "absolute", "epsilon_insensitive"),
            eta=(0.1,),
            schedule=("constant", "sqrt", "inverse"),
            radius=(None, 0.7),
            epsilon=(0.2,),
        )
        + grid(loss=("squared", "absolute"), eta=(0.3,), schedule=("adagrad",), average=(False, True))
        + grid(eta=(0.1,), average=(True,))
    )

    def __init__(self, features, loss="squared", eta=1.0, schedule="sqrt", radius=None, epsilon=0.1, **kwargs):
        super().__init__(features, **kwargs)
        self.start(BY_PREDICTION[loss], eta, schedule, radius, epsilon)

    def update(self, x, y, f, norm2):
        self.descend(self.slope(f, y, self.epsilon) * x)


class PARegressor(Regressor):
    """Crammer et al. (2006), section 5: w += sign(y - f) tau x."""

    CASES = grid(C=(1.0, 0.05), epsilon=(0.0, 0.2), variant=("hard", "I", "II")) + grid(C=(0.2,), average=(True,))

    def __init__(self, features, C=1.0, epsilon=0.1, variant="I", **kwargs):
        super().__init__(features, **kwargs)
        self.C, self.epsilon, self.variant = C, epsilon, variant

    def update(self, x, y, f, norm2):
        if norm2 > 0:
            tau = aggressiveness(self.variant, self.C, max(0, abs(y - f) - self.epsilon), norm2)
            self.w = self.w + np.sign(y - f) * tau * x
