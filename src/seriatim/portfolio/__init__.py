"""Portfolio selection: strategies that learn a market day by day, and back-tests of them.

>>> from seriatim import portfolio
>>> strategy = portfolio.PAMR()
>>> strategy.learn_one({"gold": 1.01, "iron": 0.97, "cash": 1.0}).weights_.round(3)
array([0., 1., 0.])
>>> round(portfolio.backtest(strategy, portfolio.load("nyse")).final_wealth / 1e15, 3)
5.138
"""

from seriatim.portfolio.backtest import Backtest, MarketTest, backtest
from seriatim.portfolio.base import Strategy
from seriatim.portfolio.benchmarks import BCRP, UCRP, BestStock, BuyAndHold
from seriatim.portfolio.follow_the_loser import CWMR, OLMAR, PAMR, RMR, Anticor
from seriatim.portfolio.follow_the_winner import ONS, ExponentiatedGradient, UniversalPortfolio
from seriatim.portfolio.market import MARKETS, from_prices, load
from seriatim.portfolio.pattern_matching import CORN, KernelPortfolio, NearestNeighbour
from seriatim.portfolio.simplex import project, project_norm

Kernel = KernelPortfolio

__all__ = [
    "BCRP",
    "CORN",
    "CWMR",
    "MARKETS",
    "OLMAR",
    "ONS",
    "PAMR",
    "RMR",
    "UCRP",
    "Anticor",
    "Backtest",
    "BestStock",
    "BuyAndHold",
    "ExponentiatedGradient",
    "Kernel",
    "KernelPortfolio",
    "MarketTest",
    "NearestNeighbour",
    "Strategy",
    "UniversalPortfolio",
    "backtest",
    "from_prices",
    "load",
    "project",
    "project_norm",
]
