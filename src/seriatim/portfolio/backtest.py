"""How a strategy would have fared: wealth day by day, and the figures of a portfolio report."""

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
    """The daily returns beyond a safe one, regressed on the market's: Student's test whether the constant is above 0.

    The market is all assets in equal parts, bought on the first day and held. `p` is one-sided: the chance of such a
    t, or a larger one, if alpha were 0, with two degrees of freedom fewer than days.
    """

    alpha: float
    beta: float
    t: float
    p: float
    winning_ratio: float  # of days on which the strategy did not earn less than the market


@dataclass(frozen=True)
class Backtest:
    """What became of 1 that was put into a strategy on the first day."""

    strategy: Strategy
    relatives: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)  # what was held on each day
    cost: float = 0.0

    @cached_property
    def _settled(self) -> tuple[np.ndarray, np.ndarray]:
        return settle(self.relatives, self.weights, self.cost)

    @property
    def daily(self) -> np.ndarray:
        """The wealth after each day, costs taken off, as a multiple of that before."""
        return self._settled[0]

    @property
    def days(self) -> int:
        return len(self.relatives)

    @cached_property
    def wealth(self) -> np.ndarray:
        """After each day; 1 before the first."""
        with np.errstate(over="ignore", under="ignore"):
            return np.cumprod(self.daily)

    @property
    def final_wealth(self) -> float:
        return float(self.wealth[-1])

    @cached_property
    def annual_return(self) -> float:
        """A year of 252 days."""
        return yearly(self.daily)

    @cached_property
    def volatility(self) -> float:
        """The standard deviation of the daily returns, times sqrt(252)."""
        return float(self.daily.std(ddof=1)) * math.sqrt(YEAR) if self.days > 1 else math.nan

    @property
    def sharpe(self) -> float:
        """What the annual return is above 4%, in volatilities."""
        return quotient(self.annual_return - RISK_FREE, self.volatility)

    @cached_property
    def max_drawdown(self) -> float:
        """The largest loss since a peak, as a share of that; the 1 at the beginning counts as a peak."""
        peaks = np.maximum(np.maximum.accumulate(self.wealth), 1.0)
        return float((1 - self.wealth / peaks).max())

    @property
    def turnover(self) -> float:
        """The share of the wealth that is moved from asset to asset on a day, in the mean; the first is not counted."""
        return float(self._settled[1][1:].mean()) if self.days > 1 else 0.0

    @cached_property
    def t_test(self) -> MarketTest:
        """Against the market: is there a return that this does not explain?"""
        return against(self.daily, market_returns(self.relatives))

    def as_dict(self) -> dict[str, Any]:
        """The figures, as what JSON has."""
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
    """Go through a market day by day with a strategy, or the name of one.

    The strategy is not changed: a new one with its parameters starts on the first day. Those of hindsight (`BestStock`,
    `BCRP`) are told the whole market before. Relatives are as `partial_fit` takes them; with `prices=True` they are
    prices. On each day wealth is multiplied by (b.x)(1 - cost/2 sum |b - b'|), where b' is what became of the portfolio
    of the day before; on the first day it is nothing, so that the first purchase is paid for. `watch` is called with
    the share of the days that are done.

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
        raise ParameterError(f"cost={cost!r}: must be a share of what is traded, at least 0 and below 1")
    if model.hindsight:
        model.fit(X)
        held = np.repeat(model.weights_[None], len(X), axis=0)
    else:
        held = np.empty_like(X)
        model.follow(X, names, held, watch)
    return Backtest(model, X, held, float(cost))


def build(strategy: Strategy | type[Strategy] | str) -> Strategy:
    """A new strategy like that."""
    found: Any = catalogue.find(strategy) if isinstance(strategy, str) else strategy
    cls = found if isinstance(found, type) else type(found)
    if not issubclass(cls, Strategy):
        raise ParameterError(f"{cls.__name__} is no strategy of portfolios, nor the name of one")
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
    moves = spread > 1e-24 * n  # a market that does not explains nothing
    beta = float(around @ (y - y.mean())) / spread if moves else 0.0
    alpha = float(y.mean() - beta * x.mean())
    rest = y - alpha - beta * x
    # The constant is known less well where the market's mean is far from 0.
    share = 1 / n + (float(x.mean()) ** 2 / spread if moves else 0.0)
    error = math.sqrt(float(rest @ rest) / (n - 2) * share) if n > 2 else math.nan
    if abs(alpha) < 1e-13 and error < 1e-13:  # the market itself, up to rounding
        alpha = error = 0.0
    t = quotient(alpha, error)
    return MarketTest(alpha, beta, t, student_tail(t, n - 2), float((daily >= theirs).mean()))


def student_tail(t: float, freedom: int) -> float:
    """The chance that Student's t is larger.

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
    """The regularised one, by its continued fraction (modified Lentz)."""
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
