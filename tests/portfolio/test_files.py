"""Saved states load; states that no days lead to are refused, above all those on which a solver would not end."""

import numpy as np
import pytest

import seriatim
from seriatim.errors import ModelError
from seriatim.portfolio.growth import log_optimal
from tests.test_contract import assert_same_state

STRATEGIES = {name: cls for name, cls in seriatim.algorithms().items() if cls.family == "portfolio"}
SMALL = {"UniversalPortfolio": {"samples": 20}, "NearestNeighbour": {"k": 2, "l": 3}, "KernelPortfolio": {"k": 2}}
SMALL |= {"CORN": {"window": 2}, "Anticor": {"window": 3, "nested": True}}
# Numbers that no days lead to. Arrays that may have such numbers are not tested.
WRONG = (-1e250, 1e308)

every = pytest.mark.parametrize("name", STRATEGIES)


def market(kind, days=24, assets=3):
    rng = np.random.default_rng(1)
    X = np.exp(0.02 * rng.standard_normal((days, assets)))
    if kind == "falling":
        X[:, 0] = 2e-50
    elif kind == "rising":
        X[:, 0] = 9e49
    elif kind == "wild":
        X[rng.random(X.shape) < 0.2] = 2e-50
        X[rng.random(X.shape) < 0.2] = 9e49
    return X


@every
def test_saved_and_loaded_at_the_ends_of_the_range(name, tmp_path):
    extremes = {
        "ONS": {"delta": 1e300},
        "ExponentiatedGradient": {"eta": 1e300},
        "RMR": {"epsilon": 1e300, "window": 12},
    }
    for kind in ("falling", "rising", "wild"):
        for parameters in (SMALL.get(name, {}), extremes.get(name)):
            if parameters is None:
                continue
            model = STRATEGIES[name](**parameters)
            for x in market(kind):
                model.learn_one(x)
            weights = model.weights_
            assert (weights >= 0).all()
            assert weights.sum() == pytest.approx(1)
            model.save(tmp_path / "model")
            assert_same_state(seriatim.load(tmp_path / "model"), model)


@every
def test_states_that_no_days_lead_to(name):
    model = STRATEGIES[name](**SMALL.get(name, {}))
    model.partial_fit(market("usual"))
    for array in (key for key, value in model.__getstate__()["state"].items() if isinstance(value, np.ndarray)):
        for wrong in WRONG:
            state = model.__getstate__()
            state["state"][array] = state["state"][array].copy()
            state["state"][array].flat[0] = wrong
            with pytest.raises(ModelError):
                type(model).__new__(type(model)).__setstate__(state)
                pytest.fail(f"{array} was taken with {wrong:g}")


@pytest.mark.parametrize("value", [5e-324, 1.7e308])
def test_a_search_ends_whatever_it_is_given(value):
    X = market("usual")
    X[3, 1] = value
    log_optimal(X)
