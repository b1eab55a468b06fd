"""Back-tests: costs against a slow loop, the metrics of a report, prices and relatives, errors."""

import warnings

import numpy as np
import pytest
from scipy import stats

from seriatim.errors import DataError, ParameterError
from tests.learners import learner
from tests.portfolio.comparison import Ours, Paper, both, generated, market, name_of, the_package
from tests.reference import portfolio as papers
from tests.test_contract import Unchanged

SOME = [
    ("BuyAndHold", {}),
    ("BestStock", {}),
    ("UCRP", {}),
    ("BCRP", {}),
    ("ExponentiatedGradient", {"eta": 1.0}),
    ("Anticor", {"window": 4}),
    ("PAMR", {}),
    ("OLMAR", {}),
]


def backtest(*args, **kwargs):
    return the_package().backtest(*args, **kwargs)


@pytest.mark.parametrize("spec", SOME, ids=name_of)
@pytest.mark.parametrize("cost", [0.0, 0.002, 0.05])
def test_costs_equal_a_slow_loop(spec, cost):
    learner(spec[0])
    for X in (generated(1, days=80), market("tse", 60)):
        wealth, figures = Ours.account(spec[0], X, cost, **spec[1])
        account = papers.Account(X, Ours.held(spec[0], X, **spec[1]), cost)
        assert wealth == pytest.approx(account.wealth, rel=1e-10)
        for name, value in account.figures().items():
            assert figures[name] == pytest.approx(value, rel=1e-8, abs=1e-12), name


@pytest.mark.parametrize("spec", SOME, ids=name_of)
def test_the_t_test(spec):
    learner(spec[0])
    if spec[0] == "BuyAndHold":
        return
    X = market("msci", 300)
    result = backtest(learner(spec[0])(**spec[1]), X, cost=0.001)
    account = papers.Account(X, Ours.held(spec[0], X, **spec[1]), 0.001)
    expected = account.t_test(papers.Account(X, papers.portfolios("BuyAndHold", X)))
    for name, value in expected.items():
        assert getattr(result.t_test, name) == pytest.approx(value, rel=1e-7, abs=1e-10), name
    assert result.days == 300


def test_the_error_of_the_constant():
    """The test is that of a linear regression with two coefficients."""
    X = 1.03 * generated(3, days=12, m=3, volatility=0.01)
    result, market = backtest("olmar", X), backtest("buy-and-hold", X)
    found = stats.linregress(market.daily - 1.000156, result.daily - 1.000156)
    t = found.intercept / found.intercept_stderr
    assert result.t_test.t == pytest.approx(t, rel=1e-8)
    assert result.t_test.p == pytest.approx(stats.t.sf(t, 10), rel=1e-8)
    assert np.isnan(backtest("olmar", X[:2]).t_test.t)


@both
def test_costs_of_who_does_not_trade(make):
    """The first purchase costs half of the rate. Holding costs nothing more; trading does."""
    X = generated(2, days=50)
    free, _ = make.account("BuyAndHold", X)
    assert free[-1] == pytest.approx(X.prod(axis=0).mean(), rel=1e-12)
    paid, figures = make.account("BuyAndHold", X, 0.01)
    assert paid == pytest.approx(free * (1 - 0.005), rel=1e-12)
    assert figures["turnover"] == pytest.approx(0, abs=1e-12)
    paid, figures = make.account("PAMR", X, 0.01)
    assert paid[-1] < make.account("PAMR", X)[0][-1] * (1 - 0.005)
    assert figures["turnover"] > 0.1


@both
def test_figures_by_hand(make):
    """Wealth 0.9, 1.2, 0.6: from the initial 1 down by a tenth, and by half from 1.2."""
    X = np.array([[0.9, 0.9], [4 / 3, 4 / 3], [0.5, 0.5]])
    wealth, figures = make.account("UCRP", X)
    assert wealth == pytest.approx([0.9, 1.2, 0.6])
    assert figures["max_drawdown"] == pytest.approx(0.5)
    assert figures["annual_return"] == pytest.approx(0.6**84 - 1)
    assert figures["volatility"] == pytest.approx(np.std([0.9, 4 / 3, 0.5], ddof=1) * np.sqrt(252))
    assert make.account("UCRP", X[:1].repeat(2, axis=0))[1]["max_drawdown"] == pytest.approx(0.19)


def test_the_strategy_passed_is_left_as_it_was():
    X = generated(3)
    model = learner("PAMR")(epsilon=0.9).fit(X[:20])
    with Unchanged(model):
        result = backtest(model, X)
    assert result.weights[0] == pytest.approx(np.full(5, 0.2))
    assert result.final_wealth == result.wealth[-1]
    assert (backtest(learner("PAMR")(epsilon=0.9), X).wealth == result.wealth).all()


def test_by_name():
    X = generated(4)
    learner("BuyAndHold")
    for name, cls in (("pamr", "PAMR"), ("buy-and-hold", "BuyAndHold"), ("BCRP", "BCRP")):
        assert (backtest(name, X).wealth == backtest(learner(cls)(), X).wealth).all()
    with pytest.raises(ParameterError):
        backtest("arow", X)
    with pytest.raises((ParameterError, TypeError)):
        backtest(3, X)


def test_a_table_of_pandas():
    pandas = pytest.importorskip("pandas")
    learner("PAMR")
    X = generated(5, m=3)
    frame = pandas.DataFrame(X, columns=["oil", "steel", "corn"])
    assert (backtest("pamr", frame).wealth == backtest("pamr", X).wealth).all()
    frame.iloc[7, 1] = -1.0
    with pytest.raises(DataError, match=r"day 7, asset '?steel"):
        backtest("pamr", frame)


def test_tables_with_missing_values():
    """Missing values of pandas, polars and Arrow."""
    pandas, polars, arrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    X = generated(5, m=3)
    X[7, 1] = np.nan
    columns = {name: [None if v != v else v for v in X[:, j].tolist()] for j, name in enumerate(("a", "b", "c"))}
    expected = backtest("pamr", X).wealth
    frame = pandas.DataFrame(columns)
    for one in (frame, frame.convert_dtypes(), polars.DataFrame(columns), arrow.table(columns)):
        run = backtest("pamr", one)
        assert (run.wealth == expected).all()
        assert run.strategy.assets_ == ["a", "b", "c"]


def test_tables_that_are_none_of_numbers():
    pandas, polars = map(pytest.importorskip, ("pandas", "polars"))
    X = generated(5, m=2)
    when = np.arange("2020-01-01", 60, dtype="datetime64[D]")
    for column in (when.astype(str), when):
        for frame in (pandas.DataFrame, polars.DataFrame):
            with pytest.raises(DataError, match="column when"):
                backtest("pamr", frame({"a": X[:, 0], "when": column, "b": X[:, 1]}))
    with pytest.raises(DataError, match="complex"):
        backtest("pamr", X + 0j)
    twice = pandas.DataFrame(X, columns=["a", "a"])
    for call in (lambda: backtest("pamr", twice), lambda: learner("PAMR")().partial_fit(twice)):
        with pytest.raises(DataError, match="two assets have the same name: a"):
            call()


def test_days_of_pandas_have_names():
    pandas = pytest.importorskip("pandas")
    model = learner("PAMR")().learn_one(pandas.Series({"oil": 1.1, "steel": 0.9}))
    assert model.assets_ == ["oil", "steel"]
    assert model.learn_one(pandas.Series({"steel": 1.2, "oil": 0.9})).weights_.tolist() == [1.0, 0.0]


# ---- prices and relatives


def priced(X, start=50.0):
    return start * np.vstack([np.ones(X.shape[1]), np.cumprod(X, axis=0)]) * np.arange(1, X.shape[1] + 1)


@pytest.mark.parametrize("spec", SOME, ids=name_of)
def test_prices(spec):
    learner(spec[0])
    X = generated(6, volatility=0.02)
    result = backtest(learner(spec[0])(**spec[1]), priced(X), prices=True)
    assert result.days == len(X)
    assert result.wealth == pytest.approx(backtest(learner(spec[0])(**spec[1]), X).wealth, rel=1e-9)
    # Prices that begin at 1 are prices, too.
    one = backtest(learner(spec[0])(**spec[1]), priced(X) / priced(X)[0], prices=True)
    assert one.wealth == pytest.approx(result.wealth, rel=1e-9)


def test_prices_for_relatives_and_relatives_for_prices():
    learner("PAMR")
    X = generated(7, volatility=0.02)
    with pytest.raises(DataError, match="prices=True"):
        backtest("pamr", priced(X))
    with pytest.raises(DataError, match="prices"):
        learner("PAMR")().fit(priced(X))
    with pytest.raises(DataError, match="relatives"):
        backtest("pamr", X, prices=True)
    for name in ("djia", "nyse-o", "msci", "tse", "sp500", "nyse-n"):
        backtest("ucrp", market(name, 300))
        with pytest.raises(DataError, match="relatives"):
            backtest("ucrp", market(name, 300), prices=True)


def test_prices_day_by_day_are_found_out():
    """Prices of a few assets on one day are refused, too: no market multiplies everything by ten in a day."""
    P = priced(generated(7, m=3, volatility=0.02))
    model = learner("PAMR")()
    with Unchanged(model), pytest.raises(DataError, match="look like prices"):
        model.learn_one(P[0])
    model.learn_one([11.0, 1.0, np.nan]).learn_one([0.1, 0.01, 0.001])


def test_prices_about_one_are_found_out():
    """Prices wander, with or without missing ones. Relatives do not, except an interest rate that hardly changes."""
    days = the_package().load("nyse")
    rates = np.cumprod(generated(9, days=300, m=3, volatility=0.005), axis=0)
    gaps = rates.copy()
    gaps[::7, 1], gaps[:, 2] = np.nan, np.nan
    assert 0.5 < rates.min() < rates.max() < 2
    for X in (rates, gaps, np.cumprod(days[:1000], axis=0)):
        with Unchanged(model := learner("UCRP")()), pytest.raises(DataError, match=r"wander.*prices=True"):
            model.partial_fit(X)
    with pytest.raises(DataError, match="wander"):
        backtest("ucrp", rates)
    backtest("ucrp", rates, prices=True)
    backtest("ucrp", days)
    backtest("ucrp", the_package().load("djia"))
    backtest("ucrp", np.column_stack([1.0001 + 1e-7 * np.arange(500), np.ones(500)]))
    backtest("ucrp", np.full((500, 2), 1.01))
    model = learner("UCRP")()
    for start in range(0, len(days), 30):
        model.partial_fit(days[start : start + 30])


def test_missing_prices():
    """The last known price replaces a missing one. An asset without a price so far has the relative 1."""
    learner("UCRP")
    P = priced(generated(8, days=20, m=3, volatility=0.02))
    Z, filled = P.copy(), P.copy()
    Z[5:8, 1] = Z[:4, 0] = Z[15:, 2] = np.nan
    filled[5:8, 1], filled[:4, 0], filled[15:, 2] = P[4, 1], P[4, 0], P[14, 2]
    for name in ("ucrp", "pamr", "buy-and-hold"):
        assert backtest(name, Z, prices=True).wealth == pytest.approx(backtest(name, filled, prices=True).wealth)


def test_a_delisted_asset_is_cash():
    learner("UCRP")
    X = generated(9, days=30)
    X[20:, 2] = np.nan
    filled = np.where(np.isnan(X), 1.0, X)
    for name in ("ucrp", "bcrp", "best-stock", "pamr"):
        assert (backtest(name, X).wealth == backtest(name, filled).wealth).all()
    X[:, 2] = np.nan
    with pytest.raises(DataError, match="asset 2"):
        backtest("ucrp", X)


BAD = [
    (lambda X: X.__setitem__((3, 1), 0.0), "day 3, asset 1"),
    (lambda X: X.__setitem__((3, 1), -1.0), "day 3, asset 1"),
    (lambda X: X.__setitem__((0, 4), np.inf), "day 0, asset 4"),
]


@pytest.mark.parametrize("name", ["ucrp", "bcrp", "best-stock", "pamr"])
@pytest.mark.parametrize("bad", BAD, ids=["zero", "negative", "infinite"])
def test_what_is_refused(name, bad):
    the_package()
    X = generated(10)
    bad[0](X)
    with pytest.raises(DataError, match=bad[1]):
        backtest(name, X)


def test_shapes_that_are_refused():
    learner("UCRP")
    for X in (np.ones(5), np.ones((0, 3)), np.ones((4, 0)), [["a", "b"]], np.ones((2, 2, 2))):
        with pytest.raises(DataError):
            backtest("ucrp", X)
    for cost in (-0.1, 1, True, "0.1", np.nan, None):
        with pytest.raises(ParameterError, match="cost="):
            backtest("ucrp", generated(11), cost=cost)
    assert backtest("ucrp", generated(11), cost=np.float32(0.5)).cost == 0.5


def test_input_is_not_changed():
    learner("UCRP")
    X = generated(12)
    X[3, 3] = np.nan
    before = X.copy()
    backtest("pamr", X, cost=0.01)
    backtest("bcrp", X)
    assert np.array_equal(before, X, equal_nan=True)


def test_one_day_and_one_asset():
    """A metric without a value gives no warning: one day has no standard deviation."""
    learner("UCRP")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("ucrp", "bcrp", "pamr", "buy-and-hold", "rmr", "ons"):
            one = backtest(name, [[1.1, 0.9]])
            assert one.wealth.shape == (1,)
            assert one.turnover == 0 or np.isnan(one.turnover)
            alone = backtest(name, generated(13, m=1))
            assert alone.wealth == pytest.approx(np.cumprod(generated(13, m=1)))
            assert (alone.weights == 1).all()


def test_paper_accounts_for_costs_as_the_formula_says():
    """Two days computed by hand."""
    X, held = np.array([[1.2, 0.8], [1.0, 1.0]]), np.array([[0.5, 0.5], [0.5, 0.5]])
    account = papers.Account(X, held, 0.1)
    assert account.wealth == pytest.approx([0.95, 0.95 * (1 - 0.05 * (0.1 + 0.1))])
    assert Paper.account("UCRP", X, 0.1)[0] == pytest.approx(account.wealth)
