"""Back-tests: the wealth of a strategy after each day of a market, and the metrics of a portfolio report."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from seriatim import catalogue
from seriatim.errors import ParameterError
from seriatim.portfolio import market
from seriatim.portfolio.base import Strategy
from seriatim.portfolio.days import market as market_returns
from seriatim.portfolio.days import settle

YEAR = 252  # days of trade
RISK_FREE = 0.04  # a year
RISK_FREE_DAY = 0.000156


@dataclass(frozen=True)
class MarketTest:
    """Regression of the daily excess returns on those of the market, and Student's test of alpha > 0.

    The market is all assets in equal parts, bought on the first day and held. `p` is one-sided: the probability of
    this t or a larger one if alpha is 0, with days - 2 degrees of freedom.
    """

    alpha: float
    beta: float
    t: float
    p: float
    winning_ratio: float  # the fraction of days on which the strategy earned at least as much as the market


@dataclass(frozen=True)
class Backtest:
    """The wealth of a strategy that starts with 1, and its metrics."""

    strategy: Strategy
    relatives: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)  # the portfolio of each day
    cost: float = 0.0

    @cached_property
    def _settled(self) -> tuple[np.ndarray, np.ndarray]:
        return settle(self.relatives, self.weights, self.cost)

    @property
    def daily(self) -> np.ndarray:
        """The wealth after each day, less costs, as a multiple of that before."""
        return self._settled[0]

    @property
    def days(self) -> int:
        return len(self.relatives)

    @cached_property
    def wealth(self) -> np.ndarray:
        """The wealth after each day; 1 before the first."""
        with np.errstate(over="ignore", under="ignore"):
            return np.cumprod(self.daily)

    @property
    def final_wealth(self) -> float:
        return float(self.wealth[-1])

    @cached_property
    def annual_return(self) -> float:
        """The return of a year of 252 days at the mean growth of all days."""
        return yearly(self.daily)

    @cached_property
    def volatility(self) -> float:
        """The standard deviation of the daily returns, times sqrt(252)."""
        return float(self.daily.std(ddof=1)) * math.sqrt(YEAR) if self.days > 1 else math.nan

    @property
    def sharpe(self) -> float:
        """The annual return less 4%, divided by the volatility."""
        return quotient(self.annual_return - RISK_FREE, self.volatility)

    @cached_property
    def max_drawdown(self) -> float:
        """The largest loss since a peak, as a fraction of the peak. The initial 1 counts as a peak."""
        peaks = np.maximum(np.maximum.accumulate(self.wealth), 1.0)
        return float((1 - self.wealth / peaks).max())

    @property
    def turnover(self) -> float:
        """The mean fraction of the wealth that is traded on a day, without the first day."""
        return float(self._settled[1][1:].mean()) if self.days > 1 else 0.0

    @cached_property
    def t_test(self) -> MarketTest:
        """Test whether the strategy has a return that the market does not explain."""
        return against(self.daily, market_returns(self.relatives))

    def as_dict(self) -> dict[str, Any]:
        """The metrics as JSON values."""
        figures = {
            "final_wealth": self.final_wealth,
            "annual_return": self.annual_return,
            "volatility": self.volatility,
            "sharpe": self.sharpe,
            "max_drawdown": self.max_drawdown,
            "turnover": self.turnover,
            **{name: getattr(self.t_test, name) for name in ("alpha", "beta", "t", "p", "winning_ratio")},
        }
        plain = {name: value if math.isfinite(value) else None for name, value in figures.items()}
        return {"strategy": repr(self.strategy), "days": self.days, "cost": self.cost, **plain}


def backtest(
    strategy: Strategy | type[Strategy] | str,
    relatives: Any,
    cost: float = 0.0,
    prices: bool = False,
    watch: Callable[[float], None] | None = None,
) -> Backtest:
    """Run a strategy, or the strategy of this name, over the days of a market.

    The strategy is not changed: an untrained one with its parameters starts on the first day. `BestStock` and `BCRP`
    know the whole market beforehand. `relatives` are as in `partial_fit`; with `prices=True` they are prices. Each day
    multiplies the wealth by (b.x)(1 - cost/2 sum |b - b'|). Here b' is the portfolio of the day before after its
    returns; on the first day it is 0, so that the first purchase has a cost. `watch` is called with the fraction of
    the days that are done.

    >>> from seriatim.portfolio import OLMAR, load
    >>> run = backtest(OLMAR(), load("djia"))
    >>> round(run.final_wealth, 4), round(run.max_drawdown, 3)
    (2.5372, 0.368)
    >>> round(backtest("olmar", load("djia"), cost=0.005).final_wealth, 4)
    0.4866
    """
    model = build(strategy)
    X, names = market.table(relatives)
    X = market.relatives_of(X, names) if prices else market.check(X, names, whole=True)
    if not (isinstance(cost, Real) and 0 <= cost < 1):
        raise ParameterError(f"cost={cost!r}: must be a fraction of what is traded, at least 0 and below 1")
    if model.hindsight:
        model.fit(X)
        held = np.repeat(model.weights_[None], len(X), axis=0)
    else:
        held = np.empty_like(X)
        model.follow(X, names, held, watch)
    return Backtest(model, X, held, float(cost))


def build(strategy: Strategy | type[Strategy] | str) -> Strategy:
    """A new strategy from a strategy, a class or a name."""
    found: Any = catalogue.find(strategy) if isinstance(strategy, str) else strategy
    cls = found if isinstance(found, type) else type(found)
    if not issubclass(cls, Strategy):
        raise ParameterError(f"{cls.__name__} is not a portfolio strategy")
    model = cls() if found is cls else cls(**found.get_params())
    model.check()
    return model


def yearly(daily: np.ndarray) -> float:
    if not (daily > 0).all():
        return -1.0
    try:
        return math.expm1(YEAR / len(daily) * float(np.log(daily).sum()))
    except OverflowError:
        return math.inf


def quotient(a: float, b: float) -> float:
    if b == 0 and a == a:
        return math.copysign(math.inf, a) if a else math.nan
    return a / b


def against(daily: np.ndarray, theirs: np.ndarray) -> MarketTest:
    n = len(daily)
    x, y = theirs - 1 - RISK_FREE_DAY, daily - 1 - RISK_FREE_DAY
    around = x - x.mean()
    spread = float(around @ around)
    moves = spread > 1e-24 * n  # a market that does not move explains nothing
    beta = float(around @ (y - y.mean())) / spread if moves else 0.0
    alpha = float(y.mean() - beta * x.mean())
    rest = y - alpha - beta * x
    # The further the mean of the market is from 0, the larger is the standard error of alpha.
    share = 1 / n + (float(x.mean()) ** 2 / spread if moves else 0.0)
    error = math.sqrt(float(rest @ rest) / (n - 2) * share) if n > 2 else math.nan
    if abs(alpha) < 1e-13 and error < 1e-13:  # the market itself, up to rounding
        alpha = error = 0.0
    t = quotient(alpha, error)
    return MarketTest(alpha, beta, t, student_tail(t, n - 2), float((daily >= theirs).mean()))


def student_tail(t: float, freedom: int) -> float:
    """The probability of a larger t in Student's distribution.

    >>> round(student_tail(2.015, 5), 4)
    0.05
    """
    if freedom < 1 or t != t:
        return math.nan
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    tail = 0.5 * incomplete_beta(freedom / (freedom + t * t), 0.5 * freedom, 0.5)
    return tail if t >= 0 else 1 - tail


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (modified Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    sum = d
    for k in range(1, 1000):
        for term in (
            k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)),
            -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1)),
        ):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            sum *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return math.exp(front) * sum / a
