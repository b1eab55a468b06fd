"""Projections and the best rebalanced portfolio: against other solvers, and by the conditions of optimality."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from seriatim.errors import DataError
from tests.learners import learner
from tests.portfolio.comparison import Ours, Paper, both, generated, market, the_package
from tests.reference import portfolio as papers


def exposed(make, name):
    """One of the projections; skips the test if the library does not export its own."""
    if make is Paper:
        return getattr(papers, name)
    function = getattr(the_package(), name, None)
    if function is None:
        pytest.skip(f"seriatim.portfolio has no {name}")
    return function


def solved(q, R):
    """The QP min |R (b - q)|^2 over the simplex, by the active sets of Lawson and Hanson.

    R (b - q) = M b with M = R - R q 1', as 1'b = 1. And y >= 0 with the least |M y|^2 + k^2 (1'y - 1)^2 is a multiple
    of the b with the least |M b|, since for y = s b that is least over s at a value that rises with |M b|.
    """
    M = R - (R @ q)[:, None]
    k = np.abs(M).max()
    y, _ = nnls(np.vstack([M, np.full(len(q), k)]), np.append(np.zeros(len(R)), k))
    return y / y.sum()


@both
@pytest.mark.parametrize("m", [2, 5, 30])
def test_simplex(make, m):
    """10,000 vectors in all, of many scales, with sums below and above 1, with ties, against a QP solver."""
    rng, project = np.random.default_rng(m), exposed(make, "project")
    V = rng.standard_normal((3334, m)) * 10.0 ** rng.uniform(-3, 3, (3334, 1)) + rng.choice(
        [-5, 0, 1 / m, 7], (3334, 1)
    )
    V[::5] = np.round(V[::5])
    B = np.array([project(v) for v in V])
    assert (B >= 0).all()
    scale = np.maximum(1, np.abs(V).max(axis=1))
    assert (np.abs(B.sum(axis=1) - 1) < 1e-12 * scale).all()
    # The same of v + c: with 1 as the largest the solver keeps its digits, here up to 6e-14 of the scale.
    exact = np.array([solved(v - v.max() + 1, np.eye(m)) for v in V])
    assert (np.abs(B - exact).max(axis=1) < 1e-12 * scale).all()


@both
def test_simplex_does_not_cut_first(make):
    """The toolbox cuts negative entries first and never raises: wrong where the sum is below 1."""
    project = exposed(make, "project")
    assert project(np.array([0.3, -0.2, 0.1])) == pytest.approx([0.5667, 0.0667, 0.3667], abs=5e-5)
    for v in ([0.3, -0.2, 0.1], [-3.0, -3.5, -9.0], [0.2, 0.2, 0.2]):
        assert project(np.array(v)) == pytest.approx(solved(np.array(v), np.eye(3)), abs=1e-12)


def test_the_solver_itself():
    """Agrees with SciPy's general solver, which has six digits."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        v = rng.standard_normal(6)
        answer = minimize(
            lambda b, v=v: ((b - v) ** 2).sum(),
            np.ones(6) / 6,
            jac=lambda b, v=v: 2 * (b - v),
            tol=1e-14,
            bounds=[(0, 1)] * 6,
            constraints={"type": "eq", "fun": lambda b: b.sum() - 1},
        )
        assert np.abs(solved(v, np.eye(6)) - answer.x).max() < 1e-6


def conditions(b, q, A):
    """The violation of the KKT conditions: (A(b - q))_i is equal where b_i > 0 and not smaller elsewhere."""
    slope = A @ (b - q)
    level = slope[b > 1e-9].min()
    return max(np.abs(slope[b > 1e-9] - level).max(), (level - slope).max(initial=0)) / np.abs(A @ q).max()


@both
def test_norm_of_a(make):
    """10,000 vectors against the QP solver, up to 8e-12 apart; a few for the transcription."""
    rng, project = np.random.default_rng(2), exposed(make, "project_norm")
    for _ in range(10_000 if make is Ours else 300):
        m = int(rng.integers(2, 15))
        G = rng.uniform(0.5, 2, (int(rng.integers(1, 60)), m))
        A, q = np.eye(m) + G.T @ G, rng.standard_normal(m) * rng.choice([0.1, 1, 10])
        b = np.asarray(project(q, A))
        assert (b >= 0).all()
        assert b.sum() == pytest.approx(1, abs=1e-12)
        assert np.abs(b - solved(q, np.linalg.cholesky(A).T)).max() < (1e-10 if make is Ours else 1e-8)
        assert conditions(b, q, A) < (1e-12 if make is Ours else 1e-9)


@both
def test_norm_of_a_in_a_real_market(make):
    """Each portfolio of ONS is the projection of its paper."""
    X = market("djia", 80)
    held = make.held("ONS", X)
    A, c = np.eye(30), np.zeros(30)
    for x, b, after in zip(X[:-1], held[:-1], held[1:], strict=True):
        g = x / (b @ x)
        A, c = A + np.outer(g, g), c + 2 * g
        assert conditions(after, 0.125 * np.linalg.solve(A, c), A) < 1e-8


def test_what_cannot_be_projected():
    package = the_package()
    for bad in ([np.nan, 1.0], ["a", "b"], 3.0, [], [[1.0], [1.0, 2.0]], np.ones((2, 2, 2))):
        with pytest.raises(DataError):
            package.project(bad)
    for q, A in (
        ([0.1, 0.2], [[1.0, 5.0], [0.0, 1.0]]), ([0.1, 0.2], [1.0, 2.0]), (0.1, [[1.0]]), (["a"], [[1.0]]),
        ([0.1, 0.2], np.eye(3)), ([0.1, 0.2], [[1.0, 2.0], [2.0, 1.0]]), ([np.inf], [[1.0]]),
    ):  # fmt: skip
        with pytest.raises(DataError):
            package.project_norm(q, A)


def best_rebalanced(make, X):
    if make is Paper:
        return papers.log_optimal(X)
    model = learner("BCRP")().fit(X)
    held = Ours.held("BCRP", X)
    assert (held == held[0]).all()
    assert (held[0] == model.weights_).all()
    return model.weights_


@both
@pytest.mark.parametrize("where", ["djia", "nyse-o", "nyse-n", "msci", "tse", "sp500", 1, 2, 3])
def test_bcrp(make, where):
    """No portfolio can have a log wealth more than T gap above: wealth to 1e-8 of the optimum, mostly far nearer."""
    X = market(where) if isinstance(where, str) else generated(where, days=8 * where, m=10)
    b = best_rebalanced(make, X)
    assert (b >= 0).all()
    assert b.sum() == pytest.approx(1, abs=1e-12)
    assert len(X) * papers.gap(X, b) < 1e-8


@both
def test_bcrp_of_few_days(make):
    """One day: its best asset. Two equal assets: any share. More assets than days."""
    rng = np.random.default_rng(4)
    for X in (rng.uniform(0.5, 2, (1, 6)), np.tile(rng.uniform(0.5, 2, (9, 1)), (1, 3)), rng.uniform(0.5, 2, (3, 12))):
        assert len(X) * papers.gap(X, best_rebalanced(make, X)) < 1e-8
        if len(X) == 1:
            assert best_rebalanced(make, X)[X.argmax()] == pytest.approx(1, abs=1e-8)


def test_log_optimal_against_a_long_iteration():
    """Cover's multiplicative iteration, which increases the wealth in each step."""
    X = generated(5, days=40, m=4, volatility=0.3)
    b = np.full(4, 0.25)
    for _ in range(20_000):
        b = b * (X.T @ (1 / (X @ b))) / 40
    assert np.log(X @ papers.log_optimal(X)).sum() == pytest.approx(np.log(X @ b).sum(), abs=1e-10)
    assert np.abs(papers.log_optimal(X) - b).max() < 1e-5
