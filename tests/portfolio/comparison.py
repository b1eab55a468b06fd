"""One interface for strategies and their transcriptions, and generated markets."""

from functools import cache

import numpy as np
import pytest

from tests.conftest import data_set
from tests.learners import learner
from tests.reference import portfolio as papers

CASES = [(name, case) for name, cls in papers.ONLINE.items() for case in cls.CASES]
PATTERNS = ("CORN", "KernelPortfolio", "NearestNeighbour")
# A gap determines the log-optimal portfolio up to the root of gap / market variance. Weiszfeld's method stops near
# the median.
TOLERANCE = dict.fromkeys(PATTERNS, 3e-5) | {"RMR": 1e-6, "ONS": 1e-8}


def name_of(spec):
    return "-".join([spec[0], *(f"{key}={value}" for key, value in spec[1].items())])


def the_package():
    """seriatim.portfolio; the test is skipped where the build has none."""
    return pytest.importorskip("seriatim.portfolio")


class Paper:
    """A transcription behind the common interface."""

    @staticmethod
    def held(name, X, **parameters):
        return papers.portfolios(name, X, **parameters)

    @staticmethod
    def account(name, X, cost=0.0, **parameters):
        account = papers.Account(X, papers.portfolios(name, X, **parameters), cost)
        return account.wealth, account.figures()


class Ours:
    """A strategy of the library behind the common interface."""

    @staticmethod
    def held(name, X, **parameters):
        result = the_package().backtest(learner(name)(**parameters), X)
        assert result.weights.shape == X.shape
        return np.asarray(result.weights)

    @staticmethod
    def account(name, X, cost=0.0, **parameters):
        result = the_package().backtest(learner(name)(**parameters), X, cost=cost)
        names = ("final_wealth", "annual_return", "volatility", "sharpe", "max_drawdown", "turnover")
        return np.asarray(result.wealth), {key: getattr(result, key) for key in names}


both = pytest.mark.parametrize("make", [Paper, Ours], ids=["paper", "ours"])


@cache
def loaded(path):
    X = np.loadtxt(path, delimiter=",")
    X.setflags(write=False)
    return X


def market(name, days=None):
    return loaded(data_set(f"olps/{name}.csv"))[:days]


def generated(seed, days=60, m=5, volatility=0.1):
    """Assets that move together and apart."""
    rng = np.random.default_rng(seed)
    return np.exp(volatility * (rng.standard_normal((days, m)) + rng.standard_normal((days, 1)) / 2))


def on_the_simplex(held):
    assert (held >= 0).all()
    assert np.abs(held.sum(axis=1) - 1).max() < 1e-12
