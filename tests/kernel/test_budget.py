"""Kernel machines on a budget: equal to their transcriptions, within the budget, and as good as their papers say.

Where a property is tested of the `paper` and of `ours`, the first shows that the transcription has it.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, issparse
from scipy.stats import chisquare, kstest

from seriatim.errors import DataError
from tests.learners import learner, real_stream
from tests.reference import budget as papers
from tests.reference.budget import Random, chosen, gaussian, linear, polynomial
from tests.test_contract import Unchanged

NAMES = ["RBP", "Forgetron", "Projectron", "ProjectronPP", "BOGD", "BudgetPA", "FOGD", "NOGD"]
BINARY = {"BudgetPA"}
CASES = [(name, case) for name in NAMES for case in getattr(papers, name).CASES]
SEVERAL = [(name, case) for name, case in CASES if name not in BINARY]
BUDGETED = [(name, case) for name, case in CASES if case.get("budget")]

# Name of the transcription, the class of the library, and its arguments.
KERNELS = {
    "gaussian": (gaussian(1.5), "Gaussian", {"sigma": 1.5}),
    "narrow": (gaussian(0.5), "Gaussian", {"sigma": 0.5}),
    "linear": (linear, "Linear", {}),
    "polynomial": (polynomial(2, 0.5), "Polynomial", {"degree": 2, "c": 0.5}),
}


def name_of(spec):
    return "-".join([spec[0], *map(str, spec[1].values())])


def kernel_of(name):
    import seriatim.kernel

    return getattr(seriatim.kernel, KERNELS[name][1])(**KERNELS[name][2])


class Paper:
    """A transcription with the attributes that the tests compare."""

    def __init__(self, name, kernel="gaussian", **parameters):
        first = () if name == "FOGD" else (KERNELS[kernel][0],)
        self.model = getattr(papers, name)(*first, **parameters)
        self.learn, self.score = self.model.learn, self.model.score

    def learn_all(self, X, y):
        for x, label in zip(X, y, strict=True):
            self.learn(x, label)
        return self

    def predict(self, x):
        return self.model.predict(x)

    def support(self):
        """The support vectors and their coefficients, one column per row."""
        return np.array(self.model.points), np.atleast_2d(self.model.coefficients())

    def inverse(self):
        return self.model.inverse()


class Ours:
    """A model of the library with the same attributes."""

    def __init__(self, name, kernel="gaussian", **parameters):
        cls = learner(name)
        first = {} if name == "FOGD" else {"kernel": kernel_of(kernel)}
        self.model, self.begun = cls(**first, **parameters), False

    def learn(self, x, label):
        self.learn_all(x[None, :], [label])

    def learn_all(self, X, y):
        self.model.partial_fit(X, y)
        self.begun = True
        return self

    def score(self, x):
        return self.model.decision_function(x[None, :])[0] if self.begun else 0.0

    def predict(self, x):
        return self.model.predict(x[None, :])[0]

    def support(self):
        if not self.begun:
            return np.zeros((0, 0)), np.zeros((1, 0))
        rows, coefficients = self.model.support_vectors_, self.model.dual_coef_
        rows = rows.toarray() if issparse(rows) else np.asarray(rows)
        assert rows.shape[0] == coefficients.shape[1] == self.model.n_support_
        return rows, coefficients

    def inverse(self):
        return self.model.inverse_


both = pytest.mark.parametrize("make", [Paper, Ours], ids=["paper", "ours"])


def stream(seed, labels, n=120, d=4, empty=True):
    """Distinct rows with some zeros, one of them all zeros, and labels that a curve separates."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    bare = ~X.any(axis=1)
    X[bare] = rng.standard_normal((bare.sum(), d))
    if empty:
        X[n // 3] = 0
    curved = np.column_stack([X, X**2 - 0.8, X[:, :1] * X[:, 1:2]])
    scores = curved @ rng.standard_normal((curved.shape[1], len(labels))) + 0.7 * rng.standard_normal((n, len(labels)))
    return X, np.array(labels)[np.argmax(scores, axis=1)]


def close(ours, theirs, scale=1.0):
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max(initial=0) <= 1e-9 * max(scale, np.abs(theirs).max(initial=0)), (ours, theirs)


def ordered(support):
    rows, coefficients = support
    order = np.lexsort(rows.T) if rows.size else np.zeros(0, int)
    return rows[order], coefficients[:, order]


def same_support(one, other):
    for mine, theirs in zip(ordered(one.support()), ordered(other.support()), strict=True):
        close(mine, theirs)


def compare(spec, X, y, kernel="gaussian", classes=None):
    """Compare the score of each row before it is learned and the final support vectors, row by row and in one call."""
    name, case = spec
    more = {"classes": classes} if classes else {}
    model, paper = Ours(name, kernel, **case, **more), Paper(name, kernel, **case, **more)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        if t and len(paper.model.labels) > 1:
            close(model.score(x), paper.score(x))
        model.learn(x, label)
        paper.learn(x, label)
    if name != "FOGD":
        same_support(model, paper)
    probe = X[::5]
    scores = [paper.score(x) for x in probe]
    for rows in (X, csr_matrix(X)):
        whole = Ours(name, kernel, **case, **more).learn_all(rows, y)
        close(whole.model.decision_function(probe), scores)
        close(whole.model.decision_function(csr_matrix(probe)), scores)
        assert whole.model.t_ == len(y)
    return model, paper


# ---- equality with the transcriptions


def apart_enough(spec, X):
    """Close points make K^-1 large, and with it the effect of the order of sums. eta keeps the points apart."""
    return 2 * X if spec[0].startswith("Projectron") and spec[1].get("budget") else X


@pytest.mark.parametrize("labels", [(-1, 1), (0, 1, 2, 3)], ids=["binary", "multiclass"])
@pytest.mark.parametrize("spec", CASES, ids=name_of)
def test_equals_its_paper(spec, labels):
    if len(labels) > 2 and spec[0] in BINARY:
        pytest.skip(f"{spec[0]} is a method for two labels")
    X, y = stream(1, labels)
    compare(spec, apart_enough(spec, X), y)


@pytest.mark.parametrize("kernel", ["narrow", "linear", "polynomial"])
@pytest.mark.parametrize("labels", [(-1, 1), (0, 1, 2)], ids=["binary", "multiclass"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "FOGD"])
def test_other_kernels(name, labels, kernel):
    """k(x, x) may have any size. Only the Forgetron's theorem assumes 1.

    The linear kernel in d dimensions has d points that span all: a Projectron adds no more. Its budget is below that.
    """
    if len(labels) > 2 and name in BINARY:
        pytest.skip(f"{name} is a method for two labels")
    case = {"budget": 3 if kernel == "linear" else 9}
    X, y = stream(2, labels, empty=kernel != "linear")
    compare((name, case), X / 2, y, kernel)
    if name.startswith("Projectron"):
        compare((name, {"eta": 0.1}), X / 4, y, kernel)  # k(x, x) < 1: the step is limited to 1


@pytest.mark.parametrize("spec", SEVERAL, ids=name_of)
def test_labels_that_arrive_one_after_another(spec):
    """A third label splits a binary model, including the counters of the budget."""
    rng = np.random.default_rng(3)
    X, _ = stream(3, (0, 1))
    for order in ((1, 2, 3, 4), (3, 1, 4, 2)):
        y = np.array([order[rng.integers(0, 1 + t // 30)] for t in range(len(X))])
        compare(spec, apart_enough(spec, X), y)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BINARY])
def test_labels_declared_beforehand(name):
    X, y = stream(4, (1, 3, 5))
    compare((name, {} if name == "FOGD" else {"budget": 10}), X, y, classes=[1, 3, 5, 7])


@settings(max_examples=40)
@given(
    spec=st.sampled_from(CASES),
    seed=st.integers(0, 2**32 - 1),
    labels=st.integers(2, 4),
    n=st.integers(3, 50),
    d=st.integers(2, 6),
)
def test_generated_streams(spec, seed, labels, n, d):
    d = max(d, 4) if spec[0].startswith("Projectron") else d
    X, y = stream(seed, range(2 if spec[0] in BINARY else labels), n, d)
    compare(spec, apart_enough(spec, X), y)


REAL = [
    ("RBP", {"budget": 30, "seed": 1}),
    ("Forgetron", {"budget": 30}),
    ("Forgetron", {"budget": 30, "variant": "basic"}),
    ("Projectron", {"eta": 0.3}),
    ("Projectron", {"budget": 30}),
    ("ProjectronPP", {"eta": 0.3}),
    ("ProjectronPP", {"budget": 30}),
    ("BOGD", {"budget": 30, "seed": 1}),
    ("BOGD", {"budget": 30, "sampling": "weighted", "lam": 0.1, "seed": 1}),
    ("BudgetPA", {"budget": 30}),
    ("FOGD", {"sigma": 1.5, "n_components": 60, "eta": 0.01}),
    ("NOGD", {"budget": 40}),
]


@pytest.mark.parametrize("spec", REAL, ids=name_of)
@pytest.mark.parametrize("name", ["spam", "digits"])
def test_real_streams(spec, name):
    if name == "digits" and spec[0] in BINARY:
        pytest.skip(f"{spec[0]} is a method for two labels")
    X, y = real_stream(name, 200)
    _, kept = np.unique(X, axis=0, return_index=True)
    compare(spec, X[np.sort(kept)], y[np.sort(kept)])


# ---- the budget


@both
@pytest.mark.parametrize("spec", BUDGETED, ids=name_of)
def test_the_budget_holds_at_any_moment(make, spec):
    name, case = spec
    X, y = stream(5, (-1, 1) if name in BINARY else (0, 1, 2), n=90)
    model, most = make(name, **case), 0
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn(x, label)
        rows, coefficients = model.support()
        most = max(most, len(rows))
        assert len(rows) == coefficients.shape[1] <= case["budget"]
    assert most == case["budget"]  # the budget is used up


class Rows:
    """Blocks of a stream with random labels, which cause mistakes without end."""

    def __init__(self, classes=2, d=4):
        self.rng, self.classes, self.d = np.random.default_rng(6), classes, d

    def block(self, n):
        return self.rng.standard_normal((n, self.d)), self.rng.integers(0, self.classes, n)


STATM = Path("/proc/self/statm")


def resident():
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


ENDLESS = [
    ("RBP", {"budget": 100}),
    ("Forgetron", {"budget": 100}),
    ("Forgetron", {"budget": 100, "variant": "basic"}),
    ("Projectron", {"budget": 100}),
    ("ProjectronPP", {"budget": 100}),
    ("BOGD", {"budget": 100}),
    ("BOGD", {"budget": 100, "sampling": "weighted"}),
    ("BudgetPA", {"budget": 100}),
    ("FOGD", {"n_components": 100}),
    ("NOGD", {"budget": 100}),
]


@pytest.mark.skipif(not STATM.exists(), reason="the memory of a process is read from /proc")
@pytest.mark.parametrize("spec", ENDLESS, ids=name_of)
def test_memory_does_not_grow(spec):
    """100,000 rows, of which half are mistakes. Storing half of them would exceed the memory allowed here."""
    name, case = spec
    rows = Rows()
    model = Ours(name, "narrow", **case).model
    sizes = []
    for _ in range(20):
        X, y = rows.block(5000)
        model.partial_fit(X, y)
        sizes.append(resident())
    assert model.t_ == 100_000
    assert sizes[-1] - sizes[5] < 500_000
    assert np.isfinite(model.decision_function(X)).all()


# ---- random victims


def apart(n):
    """Rows whose kernels are 0 or 1. Each row is a mistake for any model."""
    return 100 * np.eye(n)


@both
def test_victims_of_rbp_are_uniform(make):
    """Count over many seeds which row is removed first, and which pair after two removals."""
    B, runs = 5, 1000
    X, y = apart(B + 2), [1, -1, 1, -1, 1, -1, 1]
    gone, later = np.zeros(B), {}
    for seed in range(runs):
        model = make("RBP", budget=B, seed=seed, classes=[-1, 1]).learn_all(X[: B + 1], y[: B + 1])
        (first,) = set(range(B)) - set(np.argmax(model.support()[0], axis=1).tolist())
        gone[first] += 1
        model.learn(X[B + 1], y[B + 1])
        pair = frozenset(range(B + 1)) - set(np.argmax(model.support()[0], axis=1).tolist())
        later[pair] = later.get(pair, 0) + 1
    assert chisquare(gone).pvalue > 1e-4
    # Two of {0..B-1}: 2/B^2 each. One of them and the row added in between: 1/B^2 each.
    expected = {p: runs * (1 if B in p else 2) / B**2 for p in later}
    assert len(later) == B * (B - 1) // 2 + B
    assert chisquare([later[p] for p in later], [expected[p] for p in later]).pvalue > 1e-4


@both
@pytest.mark.parametrize("sampling", ["uniform", "weighted"])
@pytest.mark.parametrize("labels", [(-1, 1), (0, 1, 2)], ids=["binary", "multiclass"])
def test_bogd_is_unbiased(make, sampling, labels):
    """After one row above the budget, the expected function is that of gradient descent without a budget."""
    B, runs, eta, lam = 4, 600, 0.3, 0.7
    extra = len(labels) > 2  # without a second label the first row is not learned
    X = apart(B + 1 + extra)
    y = [labels[i % len(labels)] for i in range(len(X))]
    parameters = {"eta": eta, "lam": lam, "gamma": 1e6, "sampling": sampling, "classes": list(labels)}
    full = make("BOGD", budget=B + 1, **parameters).learn_all(X, y)
    exact = np.array([full.score(x) for x in X])
    values = np.zeros((runs, *exact.shape))
    for seed in range(runs):
        model = make("BOGD", budget=B, seed=seed, **parameters).learn_all(X, y)
        values[seed] = [model.score(x) for x in X]
    error = np.abs(values.mean(axis=0) - exact)
    assert (error <= 4 * values.std(axis=0) / np.sqrt(runs) + 1e-12).all()
    assert (values.std(axis=0) > 0.01).any()


@both
def test_bogd_weighs_what_it_may_lose(make):
    """BOGD++: p_i = 1 - (B-1) a_i / sum a keeps the largest coefficients. Counted over seeds.

    lam makes the older ones smaller. With lam = 0.9 the newest dominates: its p would be negative, and is 0.
    """
    B, eta = 4, 1.0
    for lam in (0.05, 0.9):
        X, y, lost = apart(B + 1), [1, -1, 1, -1, 1], np.zeros(B)
        for seed in range(600):
            parameters = {"budget": B, "eta": eta, "lam": lam, "sampling": "weighted", "seed": seed}
            model = make("BOGD", classes=[-1, 1], **parameters).learn_all(X, y)
            (first,) = set(range(B)) - set(np.argmax(model.support()[0], axis=1).tolist())
            lost[first] += 1
        a = (1 - lam * eta) ** np.arange(B - 1, -1, -1)
        p = np.maximum(1 - (B - 1) * a / a.sum(), 0)
        p /= p.sum()
        assert (lost[p == 0] == 0).all()
        assert (p == 0).any() == (lam == 0.9)
        assert chisquare(lost[p > 0], 600 * p[p > 0]).pvalue > 1e-4


@both
def test_bogd_coefficients_stay_within_gamma(make):
    X, y = stream(7, (-1, 1), n=200)
    model = make("BOGD", "narrow", budget=5, eta=0.5, lam=0.0, gamma=1.2, seed=1)
    clipped = False
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn(x, label)
        coefficients = np.abs(model.support()[1])
        assert coefficients.max() <= 0.6 + 1e-12
        clipped = clipped or np.isclose(coefficients, 0.6, atol=1e-12).any()
    assert clipped


@pytest.mark.parametrize("name", ["RBP", "BOGD", "FOGD"])
def test_seeds_repeat_and_differ(name):
    X, y = stream(8, (0, 1), n=150)
    case = {"n_components": 20, "eta": 0.1} if name == "FOGD" else {"budget": 5}
    runs = [Ours(name, **case, seed=seed).learn_all(X, y).model.decision_function(X) for seed in (0, 0, 1, 2)]
    assert (runs[0] == runs[1]).all()
    assert all((run != runs[0]).any() for run in runs[2:])


# ---- a budget that is larger than necessary


@both
@pytest.mark.parametrize("labels", [(-1, 1), (0, 1, 2, 3)], ids=["binary", "multiclass"])
@pytest.mark.parametrize(
    "spec",
    [
        ("RBP", {"budget": 1000}),
        ("Forgetron", {"budget": 1000}),
        ("Forgetron", {"budget": 1000, "variant": "basic"}),
        ("Projectron", {"eta": 0.0}),
        ("Projectron", {"budget": 1000}),
    ],
    ids=name_of,
)
def test_a_huge_budget_is_the_perceptron(make, spec, labels):
    X, y = stream(9, labels)
    model, plain = make(spec[0], "narrow", **spec[1]), Paper("KernelPerceptron", "narrow")
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        if t and len(plain.model.labels) > 1:
            close(model.score(x), plain.score(x))
        model.learn(x, label)
        plain.learn(x, label)
    if make is Ours:
        twin = Ours("KernelPerceptron", "narrow").learn_all(X, y)
        close(twin.model.decision_function(X), model.model.decision_function(X))


@both
def test_the_projectron_with_a_linear_kernel_is_the_perceptron(make):
    """d points span the space. Later points are projected without loss, so the weights are the perceptron's."""
    X, y = stream(10, (-1, 1), empty=False)
    model, w = make("Projectron", "linear", eta=1e-6, classes=[-1, 1]), np.zeros(X.shape[1])
    for x, label in zip(X, y.tolist(), strict=True):
        close(model.score(x), w @ x)
        model.learn(x, label)
        w = w + label * x * (label * (w @ x) <= 0)
    assert len(model.support()[0]) == X.shape[1]


@both
def test_budget_pa_below_its_budget(make):
    """BudgetPA is PA-I: the step reaches a margin of 1, or is C."""
    X, y = stream(11, (-1, 1))
    model = make("BudgetPA", budget=1000, C=0.4, classes=[-1, 1])
    for x, label in zip(X, y.tolist(), strict=True):
        before = label * model.score(x)
        model.learn(x, label)
        assert label * model.score(x) == pytest.approx(before + min(0.4, max(0, 1 - before)), abs=1e-9)


# ---- the Forgetron's phi


def psi(s, mu, phi):
    return (s * phi) ** 2 + 2 * s * phi - 2 * s * phi * (phi * mu)


def by_cases(s, mu, Q, mistakes):
    """phi as in the paper: by the sign of a, and with the correct one of two roots."""
    a, b, c = s**2 - 2 * s * mu, 2 * s, Q - 15 / 32 * mistakes
    d = b * b - 4 * a * c
    if a > 0 or (a < 0 and d > 0 and (-b - np.sqrt(d)) / (2 * a) > 1):
        return min(1.0, (-b + np.sqrt(d)) / (2 * a))
    return min(1.0, -c / b) if a == 0 else 1.0


def test_phi_of_the_two_roots():
    """For a < 0 other programs take the wrong root. Compare with a grid search."""
    rng, beyond = np.random.default_rng(12), 0
    grid = np.linspace(0, 1, 5001)[1:]
    for _ in range(2000):
        s, mu, mistakes = rng.uniform(0.3, 1), rng.normal(1.2, 0.6), int(rng.integers(2, 30))
        model = papers.Forgetron(gaussian(1.0), budget=1)
        model.w, model.points, model.mistakes = np.array([s]), [np.zeros(1)], mistakes
        model.Q = Q = 15 / 32 * (mistakes - rng.uniform(1, 2))
        model.score = lambda x, mu=mu: mu - np.exp(-0.5)  # f(x_r); the new row at distance 1 makes it mu
        phi = model.tuned(np.ones(1), np.array(1.0))
        allowed = Q + psi(s, mu, grid) <= 15 / 32 * mistakes
        assert 0 < phi <= 1
        assert abs(phi - grid[allowed].max()) <= 2.1e-4
        assert phi == pytest.approx(by_cases(s, mu, Q, mistakes), abs=1e-9)
        assert abs(model.Q - Q - psi(s, mu, phi)) <= 1e-9
        beyond += phi == 1 and not allowed.all()
    assert beyond > 10


def by_row(model):
    rows, coefficients = model.support()
    return dict(zip(map(tuple, rows.tolist()), coefficients.T, strict=True))


@both
@pytest.mark.parametrize("labels", [(-1, 1), (0, 1, 2)], ids=["binary", "multiclass"])
def test_phi_is_the_largest_admissible(make, labels):
    """Read phi off the remaining coefficients, and compute Q and M here."""
    B, Q, M, shrunk = 6, 0.0, 0, 0
    grid = np.linspace(0, 1, 100_001)[1:]
    rng = np.random.default_rng(13)
    X, y = rng.standard_normal((150, 3)), rng.choice(labels, 150)
    model, k = make("Forgetron", budget=B, classes=list(labels)), KERNELS["gaussian"][0]
    age = []  # the rows, oldest first
    for x, label in zip(X, y.tolist(), strict=True):
        old = by_row(model)
        model.learn(x, label)
        new = by_row(model)
        if tuple(x) not in new:
            continue
        M += 1
        if len(age) == B:
            r = age.pop(0)
            assert r not in new
            phi = np.abs(new[tuple(x)]).max()  # its own coefficient was 1
            for row in age:
                close(new[row], phi * old[row])
            own = np.sign(old[r])
            f = sum(c * k(np.array(row), np.array(r)) for row, c in {**old, tuple(x): new[tuple(x)] / phi}.items())
            s, mu = np.abs(old[r]).max(), float(own @ f / (own @ own))
            assert 0 < phi <= 1
            assert Q + psi(s, mu, phi) <= 15 / 32 * M + 1e-9
            assert abs(phi - grid[Q + psi(s, mu, grid) <= 15 / 32 * M].max()) <= 1.1e-5
            Q += psi(s, mu, phi)
            shrunk += phi < 1
        age.append(tuple(x))
    assert M > 50
    assert shrunk > 10


@both
def test_the_basic_phi(make):
    """phi = min((B+1)^(-1/(2(B+1))), U / |f'|). Both cases occur."""
    B, k = 10, KERNELS["gaussian"][0]
    U, most = np.sqrt((B + 1) / np.log(B + 1)) / 4, (B + 1) ** (-1 / (2 * (B + 1)))
    rng = np.random.default_rng(14)
    X, y = rng.standard_normal((150, 3)), rng.choice([-1, 1], 150)
    model = make("Forgetron", budget=B, variant="basic", classes=[-1, 1])
    long = []
    for x, label in zip(X, y.tolist(), strict=True):
        rows, coefficients = model.support()
        model.learn(x, label)
        here = np.flatnonzero((model.support()[0] == x).all(axis=1))
        if len(rows) < B or not len(here):
            continue
        rows, a = np.vstack([rows, x]), np.append(coefficients[0], label)
        norm = np.sqrt(a @ np.array([k(rows, z) for z in rows]) @ a)
        assert abs(model.support()[1][0, here[0]]) == pytest.approx(min(most, U / norm), abs=1e-9)
        long.append(U / norm < most)
    assert 5 < sum(long) < len(long)


def noisy_clusters(n, noise, seed=15):
    """Two distant clusters with some wrong labels, and the f that ignores the noise."""
    rng = np.random.default_rng(seed)
    side = rng.choice([-1, 1], n)
    X = side[:, None] * np.array([4.0, 4.0]) + 0.1 * rng.standard_normal((n, 2))
    return X, np.where(rng.random(n) < noise, -side, side)


def wrong(model, X, y):
    """The mistakes of the model on the stream. A margin of 0 is a mistake."""
    count = 0
    for x, label in zip(X, y.tolist(), strict=True):
        count += label * model.score(x) <= 0
        model.learn(x, label)
    return count


def competitor(X, y, scale=1.02):
    """|u|^2 and the hinge losses of u = scale (k(c, .) - k(-c, .)), where c is the centre of the positive cluster."""
    k, c = KERNELS["gaussian"][0], np.array([4.0, 4.0])
    values = scale * (k(X, c) - k(X, -c))
    return 2 * scale**2 * (1 - k(c, -c)), np.maximum(0, 1 - y * values)


@both
@pytest.mark.parametrize("variant", ["self_tuned", "basic"])
def test_the_forgetrons_mistakes(make, variant):
    """Dekel et al. (2008): for |u| <= U and B >= 83, M <= 2 |u|^2 + 4 sum of the losses of u."""
    B = 200
    X, y = noisy_clusters(1200, 0.15)
    size, losses = competitor(X, y)
    assert np.sqrt(size) <= np.sqrt((B + 1) / np.log(B + 1)) / 4
    mistakes = wrong(make("Forgetron", budget=B, variant=variant, classes=[-1, 1]), X, y)
    assert B < mistakes <= 2 * size + 4 * losses.sum()


@both
@pytest.mark.parametrize("name", ["Projectron", "ProjectronPP"])
@pytest.mark.parametrize("eta", [0.0, 0.05, 0.2])
def test_the_projectrons_mistakes(make, name, eta):
    """Orabona et al. (2009): M <= (|u|^2 + 2 sum of the losses of u) / (1 - 2 eta |u|), and few support vectors."""
    X, y = noisy_clusters(600, 0.05)
    size, losses = competitor(X, y)
    model = make(name, eta=eta, classes=[-1, 1])
    mistakes = wrong(model, X, y)
    assert mistakes <= (size + 2 * losses.sum()) / (1 - 2 * eta * np.sqrt(size))
    assert eta == 0 or len(model.support()[0]) < 15
    if eta == 0.05:
        clean = wrong(make(name, eta=eta, classes=[-1, 1]), X, np.sign(X[:, 0]).astype(int))
        assert clean <= size / (1 - 2 * eta * np.sqrt(size))


# ---- the Projectron's inverse


def near_inverse(model, kernel):
    """The largest error of `inverse_`."""
    rows, _ = model.support()
    k = KERNELS[kernel][0]
    true = np.linalg.inv(np.array([k(rows, x) for x in rows]))
    ours = np.asarray(model.inverse())
    assert ours.shape == true.shape
    return np.abs(ours - true).max() / max(1.0, np.abs(true).max())


@pytest.mark.parametrize("name", ["Projectron", "ProjectronPP"])
@pytest.mark.parametrize("case", [{"eta": 0.3}, {"budget": 20}], ids=["threshold", "budget"])
def test_the_inverse_stays_the_inverse(name, case):
    """10^5 updates: with random labels half of the predictions are mistakes."""
    rows, model = Rows(d=3), Ours(name, **case)
    for _ in range(40):
        model.learn_all(*rows.block(10_000))
        assert near_inverse(model, "gaussian") < 1e-6
        if model.model.updates_ >= 100_000:
            break
    assert model.model.updates_ >= 100_000


@pytest.mark.parametrize("case", [{"eta": 0.1}, {"budget": 300}], ids=["threshold", "budget"])
def test_the_inverse_of_many(case):
    """The inverse stays accurate over hundreds of additions."""
    rows, model = Rows(), Ours("Projectron", "narrow", **case)
    for _ in range(8):
        model.learn_all(*rows.block(100))
        assert near_inverse(model, "narrow") < 1e-6
    assert len(model.support()[0]) >= 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Projectron", "ProjectronPP"])
def test_many_that_lie_close(name):
    """A kernel matrix with eigenvalues down to 1e-9. Rank-one updates of its inverse would break down."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((8000, 8)), rng.choice([-1, 1], 8000)
    model = learner(name)("gaussian", sigma=6.0, budget=900, classes=[-1, 1]).partial_fit(X, y)
    rows = model.support_vectors_.toarray()
    K = np.exp(-np.sum((rows[:, None] - rows) ** 2, axis=2) / 72)
    assert len(np.unique(rows, axis=0)) == len(rows) == 900
    assert np.abs(K @ model.inverse_ - np.eye(900)).max() < 1e-3
    for x in rows[:50]:  # a row in the span changes f by k(x, .), up to rounding that K amplifies
        there = model.decision_function(x[None])[0]
        model.partial_fit(x[None], [-1 if there > 0 else 1])
        assert model.decision_function(x[None])[0] - there == pytest.approx(-1 if there > 0 else 1, abs=1e-4)


@both
def test_a_row_that_comes_again_is_in_the_span(make):
    """An equal row gets no second slot for any eta or budget, because K would become singular."""
    x = np.array([[1.0, 2.0], [-1.0, 0.5]])
    for case in ({"eta": 0.0}, {"eta": 1e-9}, {"budget": 50}):
        for name in ("Projectron", "ProjectronPP"):
            model = make(name, **case, classes=[-1, 1])
            for t in range(40):
                model.learn(x[t % 2], 1 if t % 3 else -1)
            rows, coefficients = model.support()
            assert len(rows) == 2
            assert np.isfinite(coefficients).all()


@both
@pytest.mark.parametrize("case", [{"eta": 0.4}, {"budget": 8}], ids=["threshold", "budget"])
def test_a_projection_is_the_nearest(make, case):
    """Without a new slot, the new f is the projection of f + y k(x, .) onto the span."""
    X, y = stream(16, (-1, 1))
    model, k, projected = make("Projectron", **case, classes=[-1, 1]), KERNELS["gaussian"][0], 0
    rows, before = np.zeros((0, X.shape[1])), np.zeros(0)
    for x, label in zip(X, y.tolist(), strict=True):
        mistake = label * model.score(x) <= 0
        model.learn(x, label)
        now, after = model.support()[0], model.support()[1][0]
        if mistake and len(now) == len(rows):
            gradient = np.array([k(rows, z) for z in rows]) @ (after - before) - label * k(rows, x)
            assert np.abs(gradient).max() < 1e-9
            projected += 1
        elif not mistake:
            close(after, before)
        rows, before = now, after
    assert projected > 5


# ---- the other machines


@both
def test_budget_pa_takes_the_best_to_replace(make):
    """No other r, and no b on a grid, has a smaller objective."""
    C, B, X, y = 0.5, 5, *stream(17, (-1, 1))
    for kernel in ("gaussian", "polynomial"):
        k, replaced = KERNELS[kernel][0], 0
        model = make("BudgetPA", kernel, budget=B, C=C, classes=[-1, 1])
        for x, label in zip(X, y.tolist(), strict=True):
            (rows, coefficients), f = model.support(), model.score(x)
            model.learn(x, label)
            if len(rows) < B:
                continue
            now, a, after = model.support()[0], coefficients[0], model.support()[1][0]
            new = np.flatnonzero((now == x).all(axis=1))
            assert len(new) == (label * f < 1)
            if not len(new):
                continue
            kt, ktt = k(rows, x), float(k(x[None, :], x)[0])
            krr = np.array([float(k(z[None, :], z)[0]) for z in rows])

            def objective(r, b):
                change = a[r] ** 2 * krr[r] + b**2 * ktt - 2 * a[r] * b * kt[r]  # noqa: B023
                return change / 2 + C * max(0, 1 - label * (f - a[r] * kt[r] + b * ktt))  # noqa: B023

            (r,) = [i for i, z in enumerate(rows) if not (now == z).all(axis=1).any()]
            least = objective(r, after[new[0]])
            for other in range(B):
                for b in np.linspace(-2, 2, 41):
                    assert objective(other, b) >= least - 1e-9
            replaced += 1
        assert replaced > 10


def test_fourier_features_are_the_gaussian_kernel():
    """z.z' / H = k up to 1/sqrt(H). The frequencies are normal and depend only on their column."""
    rng, H = np.random.default_rng(18), 2000
    model = papers.FOGD(sigma=1.3, n_components=2 * H, seed=3)
    X = rng.standard_normal((12, 3))
    Z = np.array([model.image(x) for x in X])
    K = np.array([gaussian(1.3)(X, x) for x in X])
    assert np.abs(Z @ Z.T / H - K).max() < 5 / np.sqrt(H)
    assert kstest((model.u * 1.3).ravel(), "norm").pvalue > 1e-3
    other = papers.FOGD(sigma=1.3, n_components=2 * H, seed=3)
    other.image(rng.standard_normal(5))
    assert (other.u[:3] == model.u).all()


@pytest.mark.parametrize("name", NAMES)
def test_new_columns_in_the_stream(name):
    """New columns count as columns that were 0 in all earlier rows."""
    X, y = stream(19, (0, 1), n=100, d=6)
    X[:50, 3:] = 0
    case = {"n_components": 30, "eta": 0.1} if name == "FOGD" else {"budget": 15}
    whole = Ours(name, **case).learn_all(X, y)
    parts = Ours(name, **case).learn_all(csr_matrix(X[:50, :3]), y[:50]).learn_all(csr_matrix(X[50:]), y[50:])
    close(parts.model.decision_function(X), whole.model.decision_function(X))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "FOGD"])
def test_rows_with_names(name):
    """Features by name in any order. FOGD's frequencies depend on the order of first appearance."""
    X, y = stream(19, (0, 1), n=100, d=6)
    whole, named = Ours(name, budget=15).learn_all(X, y), Ours(name, budget=15).model
    rows = [{f"x{j}": float(x[j]) for j in np.flatnonzero(x)[::-1]} for x in X]
    for row, label in zip(rows, y.tolist(), strict=True):
        named.learn_one(row, label)
    close([named.score_one(row) for row in rows[:20]], whole.model.decision_function(X[:20]))


@both
@pytest.mark.parametrize("labels", [(-1, 1), (0, 1, 2)], ids=["binary", "multiclass"])
def test_nystroem_of_full_rank_keeps_the_function(make, labels):
    """rank = B: f does not change when the budget is reached; then gradient descent continues in the span."""
    X, y = stream(20, labels)
    B, eta, k = 10, 0.4, KERNELS["narrow"][0]
    model = make("NOGD", "narrow", budget=B, rank=B, eta=eta, classes=list(labels))
    S, a = np.zeros((0, X.shape[1])), np.zeros((1 if len(labels) == 2 else len(labels), 0))
    seen = set()
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        kt = k(S, x) if len(S) else np.zeros(0)
        f = a @ kt
        if t:
            close(np.atleast_1d(model.score(x)), f)
        model.learn(x, label)
        seen.add(label)
        e = np.zeros(len(a))
        if len(a) == 1:
            e[0] = label
        elif len(seen) > 1:
            e[label], e[max((s for s in sorted(seen) if s != label), key=lambda s: f[s])] = 1, -1
        if e @ f >= 1 or not e.any():
            continue
        if len(S) < B:
            S, a = np.vstack([S, x]), np.column_stack([a, eta * e])
        else:
            a = a + eta * np.outer(e, np.linalg.solve(np.array([k(S, z) for z in S]), kt))
    assert len(model.support()[0]) == B


@both
def test_nystroem_is_the_best_of_its_rank(make):
    """When the budget is reached, the new f is the closest one in the span of the features to the old f."""
    X, y = stream(21, (-1, 1))
    B, rank, eta, k = 12, 4, 0.3, KERNELS["gaussian"][0]
    before = make("NOGD", budget=B + 1, rank=rank, eta=eta, classes=[-1, 1])
    model = make("NOGD", budget=B, rank=rank, eta=eta, classes=[-1, 1])
    for x, label in zip(X, y.tolist(), strict=True):
        before.learn(x, label)
        model.learn(x, label)
        if len(before.support()[0]) == B:
            break
    rows, old = before.support()
    K = np.array([k(rows, z) for z in rows])
    D, V = np.linalg.eigh(K)
    top = V[:, -rank:]
    rows_now, new = model.support()
    order = [int(np.flatnonzero((rows_now == z).all(axis=1))[0]) for z in rows]
    close(new[0, order], top @ (top.T @ old[0]))
    left = old[0] - new[0, order]
    assert left @ K @ left == pytest.approx(D[:-rank] @ (V[:, :-rank].T @ old[0]) ** 2, abs=1e-9)


@pytest.mark.parametrize("name", sorted(BINARY))
def test_two_labels_only(name):
    model = Ours(name, budget=5).learn_all(*stream(22, (0, 1))).model
    with Unchanged(model), pytest.raises(DataError):
        model.partial_fit(*stream(22, (0, 1, 2)))


LEARNING = [
    ("RBP", {"budget": 60}),
    ("Forgetron", {"budget": 60}),
    ("Forgetron", {"budget": 60, "variant": "basic"}),
    ("Projectron", {"budget": 60}),
    ("ProjectronPP", {"eta": 0.3}),
    ("BOGD", {"budget": 60, "gamma": 1}),
    ("BOGD", {"budget": 60, "gamma": 1, "sampling": "weighted"}),
    ("BudgetPA", {"budget": 60}),
    ("FOGD", {"sigma": 0.5, "n_components": 100, "eta": 0.02}),
    ("NOGD", {"budget": 60}),
]


@both
@pytest.mark.parametrize("spec", LEARNING, ids=name_of)
def test_they_learn(make, spec):
    """Rows inside and outside a circle, half each, which no line separates."""
    rng = np.random.default_rng(23)
    X = rng.uniform(-1, 1, (600, 2))
    y = np.where((X**2).sum(axis=1) < 2 / np.pi, 1, -1)
    model = make(spec[0], "narrow", **spec[1]).learn_all(X[:400], y[:400].tolist())
    assert np.mean([model.score(x) * label <= 0 for x, label in zip(X[400:], y[400:], strict=True)]) < 0.2


# ---- the random numbers


def test_the_generator():
    """The published first numbers of SplitMix64 from the state 1234567."""
    states = [(1234567 + k * 0x9E3779B97F4A7C15) & Random.MASK for k in (1, 2, 3)]
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [Random.scramble(state) for state in states] == published
    random = Random(7)
    assert chisquare(np.bincount([random.below(6) for _ in range(6000)], minlength=6)).pvalue > 1e-4
    assert kstest([random.uniform() for _ in range(3000)], "uniform").pvalue > 1e-4
    assert kstest([random.normal(n) for n in range(3000)], "norm").pvalue > 1e-4
    assert [chosen([0.25, 0.0, 0.75], u) for u in (0.0, 0.2, 0.25, 0.99)] == [0, 0, 2, 2]


def test_fourier_features_of_columns_that_come_later():
    """Predictions for a new column use the frequencies that learning will store."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 5)), rng.choice([-1, 1], 60)
    narrow = np.where(np.arange(5) < 3, X, 0.0)
    model, wide = (learner("FOGD")(n_components=50, eta=0.05) for _ in range(2))
    model.partial_fit(narrow[:, :3], y)
    wide.partial_fit(narrow, y)
    close(model.decision_function(X), wide.decision_function(X))
