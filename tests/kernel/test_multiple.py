"""Several kernels at once: equal to the transcriptions, and as good as the papers say.

Where a property is tested of the `paper` and of `ours`, the first shows that the transcription has it.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, issparse

from seriatim.errors import DataError
from tests.kernel.test_budget import close, ordered, stream
from tests.learners import learner, real_stream
from tests.reference import multiple as papers
from tests.reference.budget import gaussian, linear, polynomial
from tests.test_contract import Unchanged

# Name of the transcription, the class of the library, and its arguments.
KERNELS = [
    (gaussian(1.5), "Gaussian", {"sigma": 1.5}),
    (gaussian(0.4), "Gaussian", {"sigma": 0.4}),
    (gaussian(4.0), "Gaussian", {"sigma": 4.0}),
    (polynomial(2, 0.5), "Polynomial", {"degree": 2, "c": 0.5}),
    (linear, "Linear", {}),
]
ALL = range(len(KERNELS))
CASES = papers.OMKC.CASES
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))


class Paper:
    """A transcription with the attributes that the tests compare."""

    def __init__(self, name, kernels=ALL, **parameters):
        self.model = getattr(papers, name)([KERNELS[i][0] for i in kernels], **parameters)
        self.learn, self.score, self.weights = self.model.learn, self.model.score, self.model.kernel_weights

    def learn_all(self, X, y):
        for x, label in zip(X, y, strict=True):
            self.learn(x, label)
        return self

    def scores(self, X):
        return np.array([self.score(x) for x in X])

    def support(self):
        return np.array(self.model.points), np.atleast_2d(self.model.coefficients())


class Ours:
    """A model of the library with the same attributes."""

    def __init__(self, name, kernels=ALL, **parameters):
        cls = learner(name)
        import seriatim.kernel

        objects = [getattr(seriatim.kernel, KERNELS[i][1])(**KERNELS[i][2]) for i in kernels]
        self.model, self.begun = cls(kernels=objects, **parameters), False

    def learn(self, x, label):
        self.learn_all(x[None, :], [label])

    def learn_all(self, X, y):
        self.model.partial_fit(X, y)
        self.begun = True
        return self

    def score(self, x):
        return self.scores(x[None, :])[0]

    def scores(self, X):
        return self.model.decision_function(X)

    def weights(self):
        return np.asarray(self.model.kernel_weights_)

    def support(self):
        rows, coefficients = self.model.support_vectors_, self.model.dual_coef_
        rows = rows.toarray() if issparse(rows) else np.asarray(rows)
        assert rows.shape[0] == coefficients.shape[1] == self.model.n_support_
        return rows, coefficients


both = pytest.mark.parametrize("make", [Paper, Ours], ids=["paper", "ours"])


def compare(name, X, y, kernels=ALL, **parameters):
    """Compare scores before and weights after each row, and the final support vectors, row by row and in one call."""
    model, paper = Ours(name, kernels, **parameters), Paper(name, kernels, **parameters)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        if t and len(paper.model.labels) > 1:
            close(model.score(x), paper.score(x))
        model.learn(x, label)
        paper.learn(x, label)
        close(model.weights(), paper.weights())
    for mine, theirs in zip(ordered(model.support()), ordered(paper.support()), strict=True):
        close(mine, theirs)
    probe = X[::5]
    for rows in (X, csr_matrix(X)):
        whole = Ours(name, kernels, **parameters).learn_all(rows, y)
        close(whole.scores(probe), paper.scores(probe))
        close(whole.scores(csr_matrix(probe)), paper.scores(probe))
        close(whole.weights(), paper.weights())
    return model, paper


# ---- OMKC


@cases
def test_omkc_equals_its_paper(case):
    compare("OMKC", *stream(1, (-1, 1), n=150), **case)


@pytest.mark.parametrize("names", [(0, 1), (2, 3), ("a", "b")], ids=str)
@pytest.mark.parametrize("first", [0, 1])
def test_names_of_labels(names, first):
    """The first label may turn out to be the other class."""
    X, y = stream(2, (0, 1))
    y[:4] = first
    compare("OMKC", X, np.array(names)[y], update="stochastic", combination="stochastic", seed=1)


@settings(max_examples=25)
@given(
    case=st.sampled_from(CASES),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 50),
    kernels=st.lists(st.sampled_from(ALL), min_size=1, max_size=6),
)
def test_omkc_on_generated_streams(case, seed, n, kernels):
    compare("OMKC", *stream(seed, (-1, 1), n), kernels, **case)


@pytest.mark.parametrize("update", ["deterministic", "stochastic"])
@pytest.mark.parametrize("combination", ["deterministic", "stochastic"])
def test_omkc_on_spam(update, combination):
    X, y = real_stream("spam", 200)
    _, kept = np.unique(X, axis=0, return_index=True)
    compare("OMKC", X[np.sort(kept)], y[np.sort(kept)], update=update, combination=combination)


def mistakes_of(model, X, y):
    """The rounds in which the sign of the score (0 is positive) differed from the label."""
    count = 0
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        score = model.score(x) if t else 0.0
        count += (1 if score >= 0 else -1) != label
        model.learn(x, label)
    return count


@both
@pytest.mark.parametrize("beta", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("seed", [3, 4])
def test_mistakes_of_omkc(make, beta, seed):
    """Jin et al. (2010), theorem 1: M <= 2 ln(1/beta) / (1-beta) min_i M_i + 2 ln m / (1-beta), M_i of kernel i.

    And weighted majority's own: (M_i ln(1/beta) + ln m) / ln(2 / (1+beta)), which is less. M_i is what |f|^2 + 2 sum of
    losses bounds for every f, where k(x, x) <= 1.
    """
    X, y = stream(seed, (-1, 1), n=300)
    mistakes = mistakes_of(make("OMKC", beta=beta, classes=[-1, 1]), X, y)
    single = min(wrong_alone(X, y, i) for i in ALL)
    assert mistakes <= (single * np.log(1 / beta) + np.log(len(ALL))) / np.log(2 / (1 + beta))
    assert mistakes <= 2 * (np.log(1 / beta) * single + np.log(len(ALL))) / (1 - beta)


def wrong_alone(X, y, i):
    alone = papers.OMKC([KERNELS[i][0]], classes=[-1, 1])
    for x, label in zip(X, y.tolist(), strict=True):
        alone.learn(x, label)
    return int(alone.updated[0])


@both
def test_the_weights_count_the_mistakes(make):
    """(D, .): theta_i = beta^(mistakes of perceptron i), each of which learns as if it were alone."""
    X, y = stream(5, (-1, 1), n=200)
    for combination in ("deterministic", "stochastic"):
        model = make("OMKC", beta=0.9, combination=combination, classes=[-1, 1]).learn_all(X, y)
        theta = 0.9 ** np.array([wrong_alone(X, y, i) for i in ALL])
        close(model.weights(), theta / theta.sum())


@both
def test_an_update_that_is_certain(make):
    """delta = 1 is the deterministic update, although it draws random numbers."""
    X, y = stream(6, (-1, 1))
    one = make("OMKC", update="stochastic", delta=1.0, seed=3, classes=[-1, 1]).learn_all(X, y)
    other = make("OMKC", classes=[-1, 1]).learn_all(X, y)
    close(one.scores(X), other.scores(X))
    close(one.weights(), other.weights())


@both
def test_stochastic_updates_are_as_likely_as_said(make):
    """Of a kernel whose weight is beta^n of the largest, (1 - delta) beta^n + delta of its mistakes are taken in.

    All labels are 1. The linear kernel errs once; the narrow one finds each row far from all others and errs for ever.
    """
    X, y, runs = 100 * (np.eye(5)[1:] + np.eye(5)[0]), [1] * 4, 500
    taken = []
    for seed in range(runs):
        model = make("OMKC", [4, 1], update="stochastic", beta=0.5, delta=0.2, seed=seed, classes=[-1, 1])
        exponents = []
        for x, label in zip(X, y, strict=True):
            model.learn(x, label)
            exponents.append(round(float(np.log2(model.weights()[0] / model.weights()[1]))))
        assert exponents[:2] == [0, 1]  # both err at first; then one, whose weight is still the largest: p = 1
        taken.append(np.diff(exponents)[1:])
    taken = np.array(taken)
    for hits, p in ((taken[:, 0], 0.8 / 2 + 0.2), (taken[taken[:, 0] == 1, 1], 0.8 / 4 + 0.2)):
        assert abs(hits.mean() - p) <= 4 * np.sqrt(p * (1 - p) / len(hits))


@both
def test_the_combination_draws_by_weight(make):
    """Over many seeds, the score is f_i in a fraction q_i of them."""
    X, y = stream(7, (-1, 1), n=20)
    alone = [papers.OMKC([kernel], classes=[-1, 1]) for kernel, _, _ in KERNELS]
    for x, label in zip(X[:15], y.tolist(), strict=False):
        for single in alone:
            single.learn(x, label)
    values = np.array([float(single.functions(X[15])[0]) for single in alone])
    counts, runs = np.zeros(len(ALL)), 400
    for seed in range(runs):
        model = make("OMKC", combination="stochastic", beta=0.9, seed=seed, classes=[-1, 1])
        model.learn_all(X[:15], y[:15].tolist())
        i = int(np.argmin(np.abs(values - model.score(X[15]))))
        close(model.score(X[15]), values[i])
        counts[i] += 1
    q = model.weights()
    assert (np.abs(counts - runs * q) <= 4 * np.sqrt(runs * q * (1 - q))).all()


def test_asking_for_a_score_changes_nothing():
    X, y = stream(8, (-1, 1))
    model = Ours("OMKC", update="stochastic", combination="stochastic", seed=2).learn_all(X, y)
    first = model.scores(X)
    with Unchanged(model.model):
        for _ in range(3):
            close(model.scores(X), first)
        close([model.score(x) for x in X[:10]], first[:10])


@both
def test_weights_of_a_long_stream(make):
    """The weights stay positive although beta^n underflows."""
    rng = np.random.default_rng(9)
    X, y = rng.standard_normal((800, 2)), rng.choice([-1, 1], 800)
    model = make("OMKC", [0, 2], beta=0.01, classes=[-1, 1])
    model.learn_all(X, y)
    assert model.weights().sum() == pytest.approx(1)
    assert np.isfinite(model.scores(X[:5])).all()


@both
def test_the_right_kernel_gets_the_weight(make):
    """Labels by the product of two features: the polynomial of degree 2, number 3, knows it, the linear does not."""
    rng = np.random.default_rng(10)
    X = rng.uniform(-1, 1, (300, 2))
    model = make("OMKC", [4, 3], beta=0.8, classes=[-1, 1]).learn_all(X, np.sign(X[:, 0] * X[:, 1]).astype(int))
    assert model.weights()[1] > 0.99


def test_the_sixteen_kernels_of_the_paper():
    """Polynomials of degree 1, 2, 3 and Gaussians of width 2^-6, ..., 2^6."""
    X, y = stream(11, (-1, 1))
    kernels = [polynomial(d, 1.0) for d in (1, 2, 3)] + [gaussian(2.0**p) for p in range(-6, 7)]
    model = learner("OMKC")().partial_fit(X, y)
    assert len(model.kernel_weights_) == 16
    # the constant c of its polynomials is the library's choice; the Gaussians are the last thirteen
    paper = papers.OMKC(kernels)
    for x, label in zip(X, y.tolist(), strict=True):
        paper.learn(x, label)
    ours, theirs = model.kernel_weights_[3:], paper.kernel_weights()[3:]
    close(ours / ours.sum(), theirs / theirs.sum())


def test_omkc_takes_two_labels_only():
    model = Ours("OMKC").learn_all(*stream(12, (0, 1))).model
    with Unchanged(model), pytest.raises(DataError):
        model.partial_fit(*stream(12, (0, 1, 2)))


def test_a_function_of_two_rows():
    """A Python function may be one of the kernels."""
    import seriatim

    X, y = stream(13, (-1, 1), n=60)
    cls = learner("OMKC")
    model = cls(kernels=[seriatim.kernel.Linear(), lambda x, z: float(np.exp(-((x - z) ** 2).sum() / 4.5))])
    model.partial_fit(X, y)
    close(model.decision_function(X), Paper("OMKC", [4, 0]).learn_all(X, y.tolist()).scores(X))


def test_the_uniform_sum_of_kernels():
    """The baseline: a perceptron with k_1 + ... + k_m."""
    cls = learner("KernelPerceptron")
    import seriatim.kernel

    objects = [getattr(seriatim.kernel, name)(**arguments) for _, name, arguments in KERNELS]
    X, y = stream(14, (-1, 1))
    model = cls(kernel=seriatim.kernel.Sum(objects)).partial_fit(X, y)
    paper = papers.OMKC([lambda Z, x: sum(k(Z, x) for k, _, _ in KERNELS)])
    for x, label in zip(X, y.tolist(), strict=True):
        paper.learn(x, label)
    scores = [float(paper.functions(x)[0]) for x in X]
    close(model.decision_function(X), scores)


# ---- OM-2

FEW = [(0,), (0, 1), (0, 1, 2), tuple(ALL), (0, 1, 2, 3, 4, 0, 1)]


@pytest.mark.parametrize("kernels", FEW, ids=len)
@pytest.mark.parametrize("labels", [(-1, 1), (0, 1, 2, 3)], ids=["binary", "multiclass"])
def test_om2_equals_its_paper(kernels, labels):
    compare("OM2", *stream(15, labels), kernels)


def test_om2_where_labels_arrive_one_after_another():
    rng = np.random.default_rng(16)
    X, _ = stream(16, (0, 1))
    for order in ((1, 2, 3, 4), (3, 1, 4, 2)):
        compare("OM2", X, np.array([order[rng.integers(0, 1 + t // 30)] for t in range(len(X))]))


@pytest.mark.parametrize("name", ["spam", "digits"])
def test_om2_on_real_streams(name):
    X, y = real_stream(name, 120)
    _, kept = np.unique(X, axis=0, return_index=True)
    compare("OM2", X[np.sort(kept)], y[np.sort(kept)], (0, 1, 2))


@both
@pytest.mark.parametrize("kernels", [(0,), (0, 1)], ids=len)
def test_one_kernel_and_two(make, kernels):
    """2 ln F is 0 and 1.39: with q = 2 instead, f = (theta_1 + theta_2) / 2 and nothing is divided by 0."""
    X, y = stream(17, (-1, 1))
    model = make("OM2", kernels, classes=[-1, 1]).learn_all(X, y)
    assert model.weights() == pytest.approx(np.full(len(kernels), 0.5))
    rows, coefficients = model.support()
    theta = sum(coefficients[0] @ np.array([KERNELS[i][0](rows, x) for x in X]).T for i in kernels)
    close(model.scores(X), theta / 2)


def test_the_weights_are_the_gradient_of_the_norm():
    """f is theta's image under the gradient of |theta|^2_{2,q} / (2 q): by differences, with linear kernels."""
    rng = np.random.default_rng(18)
    groups = [slice(0, 2), slice(2, 5), slice(5, 6), slice(6, 9)]
    kernels = [lambda Z, x, g=g: Z[:, g] @ x[g] for g in groups]
    X, y = rng.standard_normal((30, 9)), rng.choice([-1, 1], 30)
    model = papers.OM2(kernels, classes=[-1, 1])
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn(x, label)
    q, theta = model.q, model.w @ np.array(model.points)
    assert q == pytest.approx(2 * np.log(4))

    def potential(v):
        return sum(np.linalg.norm(v[g]) ** q for g in groups) ** (2 / q) / (2 * q)

    step = 1e-5 * np.eye(9)
    gradient = [(potential(theta + h) - potential(theta - h)) / 2e-5 for h in step]
    assert [model.score(np.eye(9)[j]) for j in range(9)] == pytest.approx(gradient, abs=1e-8)


@both
@pytest.mark.parametrize("labels", [(-1, 1), (0, 1, 2)], ids=["binary", "multiclass"])
def test_steps_of_om2(make, labels):
    """eta = min(1, 1 - 2 m / (e.e F^(2/q))) for kernels with k(x, x) = 1, where m <= 1; F^(2/q) = e for F >= 3."""
    X, y = stream(19, labels)
    model, taken = make("OM2", (0, 1, 2), classes=list(labels)), 0
    seen = set()
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        f = np.atleast_1d(model.score(x)) if t else np.zeros(1 if len(labels) == 2 else len(labels))
        model.learn(x, label)
        seen.add(label)
        rivals = sorted(seen - {label})
        if len(labels) > 2 and not rivals:
            continue
        margin = label * f[0] if len(labels) == 2 else f[label] - max(f[s] for s in rivals)
        rows, coefficients = model.support()
        here = np.flatnonzero((rows == x).all(axis=1))
        assert len(here) == (margin <= 1)
        if len(here):
            eta = min(1, 1 - 2 * margin / ((1 if len(labels) == 2 else 2) * np.e))
            assert np.abs(coefficients[:, here[0]]).max() == pytest.approx(eta, abs=1e-9)
            assert coefficients[:, here[0]].sum() == pytest.approx(eta * label if len(labels) == 2 else 0, abs=1e-9)
            taken += eta < 1
    assert taken > 10


@both
def test_om2_learns(make):
    """Labels by the product of two features, which one of the kernels can express."""
    rng = np.random.default_rng(20)
    X = rng.uniform(-1, 1, (300, 2))
    y = np.sign(X[:, 0] * X[:, 1]).astype(int)
    model = make("OM2", (4, 3, 1), classes=[-1, 1]).learn_all(X[:200], y[:200])
    assert (np.sign(model.scores(X[200:])) != y[200:]).mean() < 0.2
