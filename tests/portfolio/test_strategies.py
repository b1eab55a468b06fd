"""Strategies: equal to their transcriptions day by day, whose steps solve the problems that the papers state.

Where a property is tested of the `paper` and of `ours`, the first shows that the transcription has it. What a strategy
does on its first days is in the docstrings of tests/reference/portfolio.py.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seriatim
from seriatim.errors import DataError, LimitError, ParameterError
from tests.learners import learner
from tests.portfolio.comparison import (
    CASES,
    PATTERNS,
    TOLERANCE,
    Ours,
    Paper,
    both,
    generated,
    market,
    name_of,
    on_the_simplex,
    the_package,
)
from tests.reference import portfolio as papers
from tests.test_contract import Unchanged

# ---- equality with the transcriptions


def compare(spec, X):
    name, case = spec
    ours, paper = Ours.held(name, X, **case), Paper.held(name, X, **case)
    on_the_simplex(ours)
    assert np.abs(ours - paper).max() <= TOLERANCE.get(name, 1e-9), np.abs(ours - paper).max(axis=1)


@pytest.mark.parametrize("spec", CASES, ids=name_of)
def test_equals_the_paper(spec):
    learner(spec[0])
    compare(spec, generated(1, volatility=0.3 if spec[0] in PATTERNS else 0.05))


DEFAULTS = [(name, {}) for name in papers.ONLINE if name not in (*PATTERNS, "UniversalPortfolio", "Anticor")]
REAL = [
    *((*spec, 120) for spec in DEFAULTS),
    ("Anticor", {"window": 8}, 60),
    ("Anticor", {"window": 6, "nested": True}, 50),
    ("UniversalPortfolio", {"samples": 300}, 120),
]


@pytest.mark.parametrize("spec", REAL, ids=name_of)
@pytest.mark.parametrize("name", ["tse", "nyse-n", "sp500"])
def test_equals_the_paper_on_a_market(spec, name):
    learner(spec[0])
    compare(spec[:2], market(name, spec[2]))


QUICK = ("BuyAndHold", "UCRP", "ExponentiatedGradient", "PAMR", "CWMR", "OLMAR", "ONS")


@settings(max_examples=40)
@given(st.data())
def test_equals_the_paper_on_any_market(data):
    """Days without movement, equal assets, a single asset."""
    spec = data.draw(st.sampled_from([spec for spec in CASES if spec[0] in QUICK]))
    learner(spec[0])
    m = data.draw(st.integers(1, 4))
    day = st.one_of(
        st.lists(st.sampled_from([0.5, 0.9, 1.0, 1.01, 1.1, 2.0]), min_size=m, max_size=m),
        st.sampled_from([0.97, 1.0, 1.1]).map(lambda x: [x] * m),
    )
    compare(spec, np.array(data.draw(st.lists(day, min_size=1, max_size=12))))


@both
@pytest.mark.parametrize("spec", CASES, ids=name_of)
def test_days_on_which_nothing_moves(make, spec):
    """All relatives are 1.1: a strategy that uses differences of assets does not move, despite rounding."""
    X = generated(2, days=14, m=4)
    X[4:] = 1.1
    held = make.held(spec[0], X, **spec[1])
    on_the_simplex(held)
    assert np.isfinite(held).all()
    if spec[0] in ("BuyAndHold", "PAMR", "CWMR", "ExponentiatedGradient"):
        assert np.abs(held[5:] - held[5]).max() < 1e-12


@both
@pytest.mark.parametrize("spec", CASES, ids=name_of)
def test_on_the_simplex_in_wild_markets(make, spec):
    rng = np.random.default_rng(3)
    held = make.held(spec[0], np.exp(rng.standard_normal((25, 6)) * rng.choice([0.01, 1, 4], (25, 1))), **spec[1])
    on_the_simplex(held)
    assert np.abs(held[0] - 1 / 6).max() < 1e-15


@both
@pytest.mark.parametrize("spec", [spec for spec in CASES if spec[0] != "UniversalPortfolio"], ids=name_of)
def test_the_order_of_assets_is_that_of_the_weights(make, spec):
    X, order = generated(4, days=30, volatility=0.3), np.array([3, 0, 4, 1, 2])
    there, here = make.held(spec[0], X[:, order], **spec[1]), make.held(spec[0], X, **spec[1])
    assert np.abs(there - here[:, order]).max() < 10 * TOLERANCE.get(spec[0], 1e-9)


# ---- one day at a time, in chunks, from a file: the same to the bit


def told(model, X):
    for x in X:
        model.learn_one(x)
    return model


@pytest.mark.parametrize("spec", CASES, ids=name_of)
def test_days_chunks_and_files(spec, tmp_path):
    X, cls = generated(5, days=24), learner(spec[0])
    whole = cls(**spec[1]).fit(X)
    assert whole.t_ == 24
    chunks = cls(**spec[1]).partial_fit(X[:7]).partial_fit(X[7:8]).partial_fit(X[8:])
    half = told(cls(**spec[1]), X[:11])
    half.save(tmp_path / "strategy")
    again = told(seriatim.load(tmp_path / "strategy"), X[11:])
    for other in (chunks, told(cls(**spec[1]), X), again, whole.fit(X)):
        assert (other.weights_ == whole.weights_).all()
    held = Ours.held(spec[0], np.vstack([X, X[:1]]), **spec[1])
    assert np.abs(held[-1] - whole.weights_).max() < 1e-12


def test_days_with_names():
    X, cls = generated(6, m=3), learner("PAMR")
    names = ["oil", "steel", "corn"]
    model, plain = cls(), cls().fit(X)
    for n, x in enumerate(X):
        day = dict(zip(names, x, strict=True))
        model.learn_one(day if n % 2 == 0 else {name: day[name] for name in reversed(names)})
    assert (model.weights_ == plain.weights_).all()
    with Unchanged(model), pytest.raises(DataError, match="gold"):
        model.learn_one({"oil": 1.0, "steel": 1.0, "gold": 1.0})


BAD = [(0.0, "0"), (-0.5, "-0.5"), (np.inf, "inf")]


@pytest.mark.parametrize("name", sorted(papers.ONLINE))
@pytest.mark.parametrize("value", BAD, ids=lambda value: value[1])
def test_what_cannot_be_a_relative_is_refused(name, value):
    X = generated(7, days=6)
    model = learner(name)().fit(X)
    Z = X.copy()
    Z[3, 2] = value[0]
    with Unchanged(model), pytest.raises(DataError, match="day 3, asset 2"):
        model.partial_fit(Z)
    with Unchanged(model), pytest.raises(DataError, match="asset 2"):
        model.learn_one(Z[3])
    with Unchanged(model), pytest.raises(DataError, match="4"):
        model.learn_one(X[0, :4])


@pytest.mark.parametrize("name", sorted(papers.ONLINE))
def test_a_day_without_trade(name):
    """NaN counts as a relative of 1."""
    X = generated(8, days=12)
    Z, filled = X.copy(), X.copy()
    Z[4, 1] = Z[9:, 3] = np.nan
    filled[4, 1] = filled[9:, 3] = 1.0
    assert (learner(name)().fit(Z).weights_ == learner(name)().fit(filled).weights_).all()


# ---- the steps solve the problems that the papers state


def never_nearer(b, before, allowed, rng, norm=lambda d: d @ d):
    """No portfolio that satisfies the constraint is nearer to the one before."""
    least = norm(b - before) - 1e-10
    for other in rng.dirichlet(np.ones(len(b)), 200):
        for share in (1.0, 0.1, 0.01):
            point = (1 - share) * b + share * other
            assert not allowed(point) or norm(point - before) >= least


@both
def test_pamr_moves_as_little_as_it_takes(make):
    """Where no asset would be sold short, b.x = epsilon after the step, and nothing nearer has that."""
    X, rng, seen = generated(9, days=200, m=4, volatility=0.3), np.random.default_rng(9), 0
    held = make.held("PAMR", X, epsilon=0.95)
    for x, b, after in zip(X, held[:-1], held[1:], strict=False):
        if b @ x <= 0.95:
            assert np.abs(after - b).max() < 1e-12
        elif (after > 0).all():
            seen += 1
            assert after @ x == pytest.approx(0.95, abs=1e-12)
            if seen < 10:
                never_nearer(after, b, lambda p, x=x: p @ x <= 0.95, rng)
    assert seen > 20


@both
@pytest.mark.parametrize("variant", [1, 2])
def test_olmar_moves_as_little_as_it_takes(make, variant):
    X, seen = generated(10, days=200, m=4, volatility=0.3), 0
    held, xt = make.held("OLMAR", X, variant=variant, epsilon=1.1, window=3), np.ones(4)
    for t in range(1, len(X) - 1):
        if variant == 2:
            xt = np.mean([np.ones(4), xt / X[t - 1]], axis=0)
        else:
            xt = np.mean([np.ones(4), 1 / X[t - 1], 1 / (X[t - 1] * X[t - 2])], axis=0) if t > 3 else X[t - 1]
        if t > 1 and held[t - 1] @ xt >= 1.1:
            assert np.abs(held[t] - held[t - 1]).max() < 1e-12
        elif t > 1 and (held[t] > 0).all():
            seen += 1
            assert held[t] @ xt == pytest.approx(1.1, abs=1e-9)
    assert seen > 10


@pytest.mark.parametrize("variant", ["variance", "stdev"])
def test_cwmr_makes_its_constraint_tight(variant):
    """Before projection and scaling: epsilon - mu.x = phi V' or phi sqrt(V'), if it did not hold already."""
    rng, seen = np.random.default_rng(11), 0
    for _ in range(200):
        paper = papers.CWMR(4, variant, phi=1.0, epsilon=0.9)
        paper.S, paper.b, x = rng.uniform(0.01, 0.2, 4), rng.dirichlet(np.ones(4)), rng.uniform(0.7, 1.3, 4)
        S, b = paper.S, paper.b
        original, papers.project = papers.project, lambda v: v
        try:
            mu = paper.next(x)
        finally:
            papers.project = original
        # S is scaled to a sum of 1/m; what it was follows from the multiplier, which the change of mu shows.
        mean = S @ x / S.sum()
        lam = (b - mu)[0] / (S * (x - mean))[0]
        V = S @ x**2
        u = (-lam * V + np.sqrt(lam**2 * V**2 + 4 * V)) / 2
        after = 1 / (1 / S + lam * x**2 * (2 if variant == "variance" else 1 / u))
        left = (after @ x**2) if variant == "variance" else np.sqrt(after @ x**2)
        assert np.abs(after / after.sum() / 4 - paper.S).max() < 1e-12
        if lam > 1e-9:
            seen += 1
            # The paper's V' of the full matrix: rank one, x'S'x = V / (1 + 2 lam phi V) or u^2.
            left = V / (1 + 2 * lam * V) if variant == "variance" else u
            assert 0.9 - mu @ x == pytest.approx(left, abs=1e-9)
    assert seen > 50


def test_universal_portfolio_is_the_integral():
    """Two assets: the wealth-weighted mean of all b by quadrature. A sample is close to it."""
    X = generated(12, days=40, m=2, volatility=0.3)
    grid = np.linspace(0, 1, 2001)
    wealth = np.prod(X @ np.array([grid, 1 - grid]), axis=0)
    exact = np.trapezoid(wealth * grid, grid) / np.trapezoid(wealth, grid)
    paper = papers.UniversalPortfolio(2, samples=5000)
    for x in X:
        paper.learn(x)
    assert paper.b[0] == pytest.approx(exact, abs=0.01)
    assert learner("UniversalPortfolio")().fit(X).weights_[0] == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("m", range(1, 10))
def test_universal_portfolio_of_any_number_of_assets(m):
    """Numbers of assets and samples that are not multiples of four; days of all sizes."""
    X = generated(30 + m, days=40, m=m, volatility=0.2)
    X[20] **= 40
    for samples in (1, 6, 131):
        compare(("UniversalPortfolio", {"samples": samples, "seed": m}), X)


def test_too_many_portfolios():
    model = learner("UniversalPortfolio")(samples=10_000_000)
    with Unchanged(model), pytest.raises(LimitError, match="10000000 portfolios of 40 assets"):
        model.partial_fit(generated(1, days=2, m=40))


def test_portfolios_drawn_in_fours_are_uniform():
    """Each asset has the mean share 1/m and the mean square 2/(m (m + 1))."""
    for m in (2, 4, 7):
        points = papers.UniversalPortfolio(m, samples=20_000).points
        assert (points > 0).all()
        assert np.abs(points.sum(axis=1) - 1).max() < 1e-12
        assert len(np.unique(points, axis=0)) == 20_000
        assert points.mean(axis=0) == pytest.approx(np.full(m, 1 / m), rel=0.03)
        assert (points**2).mean(axis=0) == pytest.approx(np.full(m, 2 / (m * (m + 1))), rel=0.06)


@both
def test_anticor_conserves_and_follows(make):
    """Two assets rise in turn: Anticor(2) moves to the one that rises next, and the sum of b stays 1."""
    rng = np.random.default_rng(13)
    swing = np.where(np.arange(80) % 2 == 0, 1.3, 1 / 1.3)
    X = np.column_stack([swing, 1 / swing]) * np.exp(0.02 * rng.standard_normal((80, 2)))
    held = make.held("Anticor", X, window=3)
    on_the_simplex(held)
    assert np.prod((held * X).sum(axis=1)) > 3 * X.prod(axis=0).max()


def test_the_shortest_window_is_no_longer_than_the_longest():
    for call in (lambda model: model.fit(generated(1)), lambda model: the_package().backtest(model, generated(1))):
        with pytest.raises(ParameterError, match="shortest=6: must be at most the window, 5"):
            call(learner("Anticor")(window=5, shortest=6))


@both
def test_universal_and_eg_stay_under_their_regret(make):
    """Against the best rebalanced portfolio: Cover's (m - 1) ln(T + 1) and Helmbold's T eta/(8 r^2) + ln m / eta."""
    for seed in range(3):
        X = generated(20 + seed, days=80, m=3, volatility=0.2)
        best = np.log(X @ papers.log_optimal(X)).sum()
        held = make.held("ExponentiatedGradient", X, eta=0.3)
        least = (X.min(axis=1) / X.max(axis=1)).min()
        assert best - np.log((held * X).sum(axis=1)).sum() <= np.log(3) / 0.3 + 0.3 * 80 / (8 * least**2)
        held = make.held("UniversalPortfolio", X, samples=2000)
        assert best - np.log((held * X).sum(axis=1)).sum() <= 2 * np.log(81) + 0.1


@both
@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_find_what_repeats(make, name):
    """Three assets win in turn, with some noise: after a few rounds the strategy buys the next winner."""
    rng = np.random.default_rng(14)
    turn = np.array([[1.3, 0.9, 0.9], [0.9, 1.3, 0.9], [0.9, 0.9, 1.3]])
    X = np.tile(turn, (15, 1)) * np.exp(0.005 * rng.standard_normal((45, 3)))
    case = {"CORN": {"window": 2, "rho": 0.9}}.get(name, {"k": 2, "l": 3})
    held = make.held(name, X, **case)
    right = held[np.arange(45), np.arange(45) % 3]
    assert right[20:].min() > 0.6


@both
@pytest.mark.parametrize("ensemble", ["uniform", "top"])
def test_corn_ensembles_are_made_of_its_experts(make, ensemble):
    """The portfolio lies between those of the experts: here all hold the same asset."""
    X = np.exp(np.random.default_rng(15).standard_normal((30, 3)) * 0.05)
    X[:, 1] *= 1.5
    held = make.held("CORN", X, window=2, rho=-1.0, ensemble=ensemble, levels=1 if ensemble == "top" else 10)
    assert held[4:, 1].min() > 0.3
    assert (
        np.abs(
            make.held("CORN", X, window=1, rho=-1.0, ensemble="uniform") - make.held("CORN", X, window=1, rho=-1.0)
        ).max()
        < 1e-4
    )


def test_l1_median():
    """No point has a smaller sum of distances than the median, even if the median is one of the points."""
    rng = np.random.default_rng(16)
    for n in (3, 5, 8):
        for P in (rng.random((n, 4)), np.vstack([rng.random((n - 1, 4)), np.full((1, 4), 0.5)])):
            y = papers.l1_median(P)
            least = np.linalg.norm(P - y, axis=1).sum() - 1e-9
            for step in rng.standard_normal((200, 4)) * rng.choice([1, 1e-2, 1e-4], (200, 1)):
                assert np.linalg.norm(P - y - step, axis=1).sum() >= least
