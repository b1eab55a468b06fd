"""Hedge over models of the library: the regret against the best member is within the bound."""

import numpy as np
import pytest

import seriatim
from seriatim import data, evaluate
from tests.learners import learner

SETS = ("spam", "digits")


def stream(name, rows=600, seed=0):
    X, y = data.load(name)
    order = np.random.default_rng(seed).permutation(len(y))[:rows]
    X = X[order].toarray()
    return X / np.maximum(np.abs(X).max(axis=0), 1e-12), np.asarray(y)[order]


def members():
    return [seriatim.AROW(), seriatim.PA(), seriatim.OGD(), seriatim.Perceptron()]


def ensemble(experts=None, name="Hedge", **parameters):
    cls = learner(name)
    if "experts" not in cls.parameters:
        pytest.skip(f"{name} does not take learners")
    return cls(members() if experts is None else experts, **parameters)


ENSEMBLES = [
    ("Hedge", {}),
    ("Hedge", {"eta": 0.5}),
    ("AdaHedge", {}),
    ("FixedShare", {}),
    ("WeightedMajority", {"randomised": True}),
]


@pytest.mark.parametrize("spec", ENSEMBLES, ids=str)
@pytest.mark.parametrize("name", SETS)
def test_never_worse_than_the_best_by_more_than_the_bound(spec, name):
    for seed in range(3):
        X, y = stream(name, seed=seed)
        model = ensemble(None, spec[0], **spec[1])
        for chunk in np.array_split(np.arange(len(y)), 12):
            model.partial_fit(X[chunk], y[chunk])
            assert model.loss_ <= min(model.losses_) + model.bound_ + 1e-9
            assert model.regret_ == pytest.approx(model.loss_ - min(model.losses_), abs=1e-9)
        alone = [evaluate.progressive(one, X, y).mistakes for one in members()]
        assert list(model.losses_) == alone
        assert model.best_ == np.argmin(alone)
        assert model.t_ == len(y)


@pytest.mark.parametrize("name", SETS)
def test_the_vote_is_about_as_good(name):
    """A prediction is the weighted vote, whose mistakes are at most twice the expected ones."""
    X, y = stream(name)
    model = ensemble()
    run = evaluate.progressive(model, X, y)
    assert run.mistakes <= 2 * model.loss_ + 1
    assert run.mistakes <= min(model.losses_) + model.bound_


def test_the_members_are_left_alone():
    """The models that are passed as experts stay untrained."""
    X, y = stream("spam", 100)
    passed = members()
    model = ensemble(passed).partial_fit(X, y)
    assert all(not one.__sklearn_is_fitted__() for one in passed)
    assert model.weights_.shape == (4,)
    assert model.weights_.sum() == pytest.approx(1)


def test_one_member_is_that_member():
    X, y = stream("digits", 300)
    model, alone = ensemble([seriatim.PA()]), seriatim.PA()
    run = evaluate.progressive(model, X, y)
    assert run.mistakes == evaluate.progressive(alone, X, y).mistakes
    assert (model.predict(X) == alone.predict(X)).all()


def test_rows_chunks_and_files(tmp_path):
    X, y = stream("digits", 200)
    whole = ensemble().partial_fit(X, y)
    half = ensemble().partial_fit(X[:90], y[:90])
    half.save(tmp_path / "ensemble")
    again = seriatim.load(tmp_path / "ensemble").partial_fit(X[90:], y[90:])
    assert (again.weights_ == whole.weights_).all()
    assert (again.losses_ == whole.losses_).all()
    assert again.loss_ == whole.loss_
    assert (again.predict(X) == whole.predict(X)).all()
    assert whole.fit(X, y).t_ == 200
    assert (whole.weights_ == again.weights_).all()


def test_one_at_a_time():
    model, rng = ensemble([seriatim.AROW(), seriatim.PA()]), np.random.default_rng(1)
    for _ in range(80):
        row = {"a": float(rng.standard_normal()), "b": float(rng.standard_normal())}
        model.learn_one(row, "up" if row["a"] > row["b"] else "down")
    assert model.t_ == 80
    assert model.predict_one({"a": 2.0, "b": -2.0}) == "up"
    assert model.predict_one({"a": -2.0, "b": 2.0}) == "down"


def test_a_bad_member_is_found_out():
    """One expert cannot predict the labels: the weight goes to the other."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    model = ensemble([seriatim.OGD(eta=1e-12, loss="hinge", schedule="constant"), seriatim.PA()]).partial_fit(X, y)
    assert model.losses_[1] < 60
    assert model.weights_[1] > 0.9 or model.losses_[0] < 60


def test_refused():
    from seriatim.errors import ParameterError

    for experts in ([], [3], [seriatim.PARegressor(), seriatim.PA()]):
        with pytest.raises(ParameterError):
            ensemble(experts).partial_fit(np.ones((2, 2)), [0, 1])
