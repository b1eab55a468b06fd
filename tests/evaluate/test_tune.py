"""Tuning: what is found equals what going through all by hand finds, and what is reported had no say in it."""

import math
import sys
import threading
from itertools import product

import numpy as np
import pytest

import seriatim
from bench.published import LIBOL, Set, build
from seriatim import CW, EG, OGD, PA, SCW, OGDRegressor, OneClassPA, PARegressor, Perceptron, data
from seriatim.core.rows import Rows
from seriatim.errors import DataError, ParameterError
from seriatim.estimator import Classifier
from seriatim.evaluate import progressive, tune, tuned
from seriatim.evaluate.tuning.search import drawn, steps_apart
from seriatim.parameters import Number
from tests.learners import of_rows

ALGORITHMS = of_rows()
SEARCHED = {name: cls for name, cls in ALGORITHMS.items() if any(p.search for p in cls.parameters.values())}


def noisy(n=600, features=8, seed=0, labels=(-1, 1)):
    """Points on both sides of a plane, one label in ten wrong, columns of different lengths."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)) * 2.0 ** rng.integers(-2, 3, features)
    side = (X @ rng.normal(size=features) > 0) ^ (rng.random(n) < 0.1)
    return X, np.where(side, labels[1], labels[0])


def slope(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, X @ np.arange(5.0) + 0.3 * rng.normal(size=n)


# ---- what the catalogue declares


@pytest.mark.parametrize("cls", SEARCHED.values(), ids=list(SEARCHED))
def test_declared_values(cls):
    """Each value may be taken, and the default is within the range."""
    for name, parameter in cls.parameters.items():
        for value in parameter.search:
            parameter.check(name, value)
        if parameter.search:
            assert list(parameter.search) == sorted(set(parameter.search))
            assert parameter.search[0] <= parameter.default <= parameter.search[-1]
            assert name not in ("loss", "epsilon")  # by which trials are judged
    assert math.prod(len(p.search) or 1 for p in cls.parameters.values()) <= 200


def test_values_of_libol():
    """The grids that LIBOL's program has, of the methods in which it is the same parameter."""
    libol = LIBOL().methods
    assert len(libol) > 10
    for key in ("PA1", "PA2", "IELLIP", "CW", "NHERD", "AROW", "NAROW", "SCW", "SCW2"):
        declared = {n: list(p.search) for n, p in ALGORITHMS[libol[key].name].parameters.items() if p.search}
        theirs = {next(iter(values[0])): [next(iter(v.values())) for v in values] for values in libol[key].search}
        assert declared == theirs, key


# ---- the grid


@pytest.mark.parametrize("form", ["array", "rows", "stream", "list of blocks"])
def test_grid_by_hand(form):
    X, y = noisy()
    given = {
        "array": (X, y),
        "rows": (Rows.dense(X), y),
        "stream": (data.Stream([(Rows.dense(X), y)]),),
        "list of blocks": ([(Rows.dense(X[i : i + 70]), y[i : i + 70]) for i in range(0, 600, 70)],),
    }[form]
    found = tune(SCW(covariance="full"), *given, prefix=0.25)
    rates = {
        (C, eta): progressive(SCW(C=C, eta=eta, covariance="full"), X[:150], y[:150]).mistake_rate
        for C, eta in product(SCW.parameters["C"].search, SCW.parameters["eta"].search)
    }
    assert [(*trial.parameters.values(), trial.value) for trial in found.trials] == [(*k, v) for k, v in rates.items()]
    assert rates[found.best["C"], found.best["eta"]] == min(rates.values())
    assert found.trials[0].examples == found.prefix == found.rest == 150
    assert found.model.get_params() == {**SCW(covariance="full").get_params(), **found.best}
    assert not found.model.__sklearn_is_fitted__()
    assert found.said == "grid of 81 on the first 150 examples; reported on the other 450"


def test_regression_by_mean_loss():
    X, y = slope()
    found = tune("ogd-regressor", X, y, prefix=100)
    losses = [progressive(OGDRegressor(eta=2.0**k), X[:100], y[:100]).mean_loss for k in range(-10, 3)]
    assert found.measure == "mean_loss"
    assert found.best == {"eta": 2.0 ** (int(np.argmin(losses)) - 10)}
    assert min(trial.value for trial in found.trials) == min(losses)


def test_classification_by_mean_loss():
    X, y = noisy()
    found = tune(OGD(loss="logistic"), X, y, prefix=200, measure="mean_loss")
    losses = [progressive(OGD(loss="logistic", eta=2.0**k), X[:200], y[:200]).mean_loss for k in range(-8, 5)]
    assert found.best == {"eta": 2.0 ** (int(np.argmin(losses)) - 8)}


def test_novelty():
    X, _ = slope()
    found = tune(OneClassPA, X, prefix=100)
    losses = [progressive(OneClassPA(C=2.0**k), X[:100]).mean_loss for k in range(-4, 5)]
    assert found.best == {"C": 2.0 ** (int(np.argmin(losses)) - 4)}


def test_names_and_features_of_a_stream(tmp_path):
    """A table by column names, scaled: what is tried is what `progressive` gives over the stream's beginning."""
    X, y = noisy(300, 3)
    path = tmp_path / "rows.csv"
    rows = zip(X.tolist(), y.tolist(), strict=True)
    path.write_text("a,b,c,side\n" + "".join(f"{','.join(map(repr, x))},{label}\n" for x, label in rows))
    stream = data.stream(path, features={"label": "side", "normalize": "standard"})
    found = tune("ogd", stream, over={"eta": [0.1, 1.0, 10.0]}, prefix=90)
    hand = [progressive(OGD(eta=eta), stream.split(90)[0]).mistake_rate for eta in (0.1, 1.0, 10.0)]
    assert [trial.value for trial in found.trials] == hand
    assert found.said.endswith("on the first 90 examples; reported on the rest")
    assert found.model.features.normalize == "standard"


def test_what_was_given_is_not_searched():
    X, y = noisy()
    assert [*tune(SCW(eta=0.9), X, y).best] == ["C"]
    assert [*tune(SCW(eta=0.9), X, y, over={"eta": [0.6, 0.7]}).best] == ["eta"]


def test_of_a_large_grid_some_are_drawn():
    X, y = noisy(100)
    found = tune("scw", X, y, tries=20, seed=3)
    assert len(found.trials) == len({tuple(trial.parameters.values()) for trial in found.trials}) == 20
    assert found.said.startswith("grid of 20 drawn from 81 (seed 3)")
    assert found.trials == tune("scw", X, y, tries=20, seed=3).trials
    assert found.trials != tune("scw", X, y, tries=20, seed=4).trials


def test_random_values():
    """Evenly in the logarithm, between the ends, the same by the same seed."""
    tried = drawn(PA(), {"C": (2.0**-4, 2.0**4), "variant": ["I", "II"]}, 4000, seed=1)
    logs = np.log2([one["C"] for one in tried])
    assert -4 <= logs.min() < -3.9
    assert 3.9 < logs.max() <= 4
    counts = np.histogram(logs, bins=8, range=(-4, 4))[0]
    assert abs(counts - 500).max() < 110  # five deviations
    assert {one["variant"] for one in tried} == {"I", "II"}
    assert tried[:50] == drawn(PA(), {"C": (2.0**-4, 2.0**4), "variant": ["I", "II"]}, 50, seed=1)
    X, y = noisy(200)
    found = tune("pa", X, y, search="random", tries=10)
    assert found.said == "10 drawn at random (seed 0) on the first 40 examples; reported on the other 160"
    assert min(found.trials, key=lambda trial: trial.value).value == found.ranked[0].value


# ---- nothing of the rest is looked at


class Spied(Classifier):
    """Counts the sums of the rows that it was given; they tell which rows these were."""

    family = "linear"
    paper = "(0000)"
    loss = "hinge"
    C = Number(1.0, above=0, search=(0.5, 1.0))
    given: list[np.ndarray] = []  # noqa: RUF012

    def build(self):
        return PA(C=self.C).build()

    def learn_rows(self, rows, y, sink=None, delay=0):
        self.given.append(rows.arrays[-1].reshape(rows.n, -1).sum(axis=1))
        super().learn_rows(rows, y, sink, delay)


seriatim.catalogue._registered.pop("Spied")  # it is of this test only


@pytest.mark.parametrize("search", ["grid", "random", "halving"])
def test_the_rest_is_not_seen(search):
    X, y = noisy(1000)
    Spied.given = []
    found = tune(Spied(), X, y, search=search, prefix=0.3, tries=9)
    assert found.rest == found.prefix == 300
    assert {*np.concatenate(Spied.given)} == {*X[:300].sum(axis=1)}


def test_a_stream_is_not_read_beyond_the_prefix():
    """But for one example, which tells that there is something left."""
    X, y = noisy(1000)
    given = []

    def blocks():
        for i in range(0, 1000, 10):
            given.append(i)
            yield Rows.dense(X[i : i + 10]), y[i : i + 10]

    tune("pa", blocks(), prefix=100)
    assert given[-1] == 100


def test_tuned_for_a_comparison():
    X, y = noisy(500)
    Spied.given = []
    models, rest = tuned([Spied(), Perceptron(), CW()], X, y, prefix=0.2, seed=5)
    order = np.random.default_rng(5).permutation(500)
    assert rest.tolist() == sorted(order[100:])
    assert {*np.concatenate(Spied.given)} == {*X[order[:100]].sum(axis=1)}
    assert models[1].get_params() == Perceptron().get_params()
    assert models[2].eta == tune("cw", X[order], y[order], prefix=100).best["eta"]
    assert tuned([CW()], Rows.dense(X), y, prefix=0.2, seed=5)[0][0].eta == models[2].eta
    models, rest = tuned([CW()], X, y, seed=5, like_libol=True)
    assert len(rest) == 500
    assert models[0].eta == tune("cw", X[order], y[order], like_libol=True).best["eta"]


# ---- like LIBOL


@pytest.mark.parametrize("name", ["PA1", "PA2", "CW", "AROW", "NHERD", "IELLIP", "SCW", "SCW2"])
def test_like_libol(name):
    """The choice of the protocol that reproduces LIBOL's table."""
    libol = LIBOL()
    X, y = noisy(300, seed=4)
    method, order = libol.methods[name], libol.order(300, 0)
    found = tune(build(method, {}), X[order], y[order], like_libol=True, over=grids_of(method))
    assert found.best == libol.choose(method, Set(X, y))
    assert (found.prefix, found.rest, found.like_libol) == (300, 0, True)
    assert found.said.startswith("like LIBOL: ")
    assert "on the stream itself" in found.said


def grids_of(method):
    return {next(iter(values[0])): [next(iter(one.values())) for one in values] for values in method.search}


# ---- halving


def test_survivors_are_as_uninterrupted_runs():
    X, y = noisy(2000)
    found = tune("scw", X, y, search="halving", prefix=0.5)
    stages = sorted({trial.examples for trial in found.trials})
    assert stages == [37, 111, 333, 1000]
    assert [sum(trial.examples >= stage for trial in found.trials) for stage in stages] == [81, 27, 9, 3]
    for trial in found.trials:
        whole = progressive(SCW(**trial.parameters), X[: trial.examples], y[: trial.examples])
        assert trial.value == whole.mistake_rate
    last = [trial for trial in found.trials if trial.examples == 1000]
    assert found.best == min(last, key=lambda trial: trial.value).parameters
    for stage, fewer in zip(stages[:-1], (27, 9, 3), strict=True):  # those that went on were the best
        there = [trial for trial in found.trials if trial.examples >= stage]
        rates = {id(t): progressive(SCW(**t.parameters), X[:stage], y[:stage]).mistake_rate for t in there}
        on = [rates[id(t)] for t in there if t.examples > stage]
        assert len(on) == fewer
        assert max(on) <= min(rates[id(t)] for t in there if t.examples == stage)


def test_halving_goes_on_bit_for_bit(monkeypatch):
    """The models that have had the whole prefix are those that one run would have made."""
    X, y = slope(900)
    ended = []

    def spied(model, *stream, **options):
        ended.append(model)
        return progressive(model, *stream, **options)

    monkeypatch.setattr(sys.modules["seriatim.evaluate.tuning.trials"], "progressive", spied)
    found = tune("pa-regressor", X, y, search="halving", prefix=0.9, jobs=1)
    last = [model for model in ended if model.t_ == 810]
    assert len(last) >= 2 * sum(trial.examples == 810 for trial in found.trials)  # seen once in each stage
    for model in last:
        assert np.array_equal(model.coef_, PARegressor(C=model.C).partial_fit(X[:810], y[:810]).coef_)
    for trial in found.trials:
        whole = progressive(PARegressor(**trial.parameters), X[: trial.examples], y[: trial.examples])
        assert trial.value == pytest.approx(whole.mean_loss, rel=1e-12)


def test_halving_of_few_examples_is_a_grid():
    X, y = noisy(100)
    assert tune("pa", X, y, search="halving", prefix=50).trials == tune("pa", X, y, prefix=50).trials


# ---- ties, failures, threads


def test_of_equals_the_nearest_to_the_default():
    """The step of a perceptron changes no prediction."""
    X, y = noisy(100)
    over = {"eta": [0.25, 0.5, 1.25, 2.0, 4.0]}
    assert tune(Perceptron(), X, y, over=over).best == {"eta": 1.25}
    assert tune(Perceptron(eta=4.0), X, y, over=over).best == {"eta": 4.0}
    assert tune(Perceptron(), X, y, over={"eta": [0.5, 2.0, 8.0]}).best == {"eta": 0.5}  # a third of a step away
    assert tune(Perceptron(), X, y, over=over, like_libol=True).best == {"eta": 4.0}


def test_steps_apart():
    assert steps_apart([0.25, 0.5, 1.0], 1.0, 0.25) == 2
    assert steps_apart([None, 1.0], None, 1.0) == 1


@pytest.mark.parametrize("search", ["grid", "halving"])
def test_what_diverges_comes_last(search):
    X, y = slope(300)
    found = tune(
        OGDRegressor(schedule="constant"), X, y, over={"eta": [1e6, 1e3, 0.01, 1e4]}, search=search, prefix=250
    )
    assert found.best == {"eta": 0.01}
    assert found.trials[0].problem == "it diverged"
    assert found.trials[0].value == math.inf
    assert found.ranked[0].problem is None
    assert found.as_dict()["trials"][-1]["value"] is None


def test_what_fails_comes_last():
    X, y = noisy(100)
    found = tune("eg", X, y, over={"n_features": [4, 8, None]})  # there are eight
    assert found.trials[0].problem is not None
    assert found.best["n_features"] in (8, None)
    with pytest.raises(ParameterError, match="all 2 trials failed"):
        tune(EG(), X, y, over={"n_features": [3, 4]})


@pytest.mark.parametrize("search", ["grid", "random", "halving"])
def test_threads_do_not_matter(search):
    X, y = noisy(800, labels=("a", "b"))
    one, many = (tune("scw", X, y, search=search, jobs=jobs, tries=30) for jobs in (1, 5))
    assert one.trials == many.trials
    assert one.ranked == many.ranked


def test_watched():
    X, y = noisy(1000)
    told = []
    found = tune("scw", X, y, search="halving", prefix=300, watch=lambda *how: told.append(how))
    assert [done for done, _, _ in told] == list(range(1, 81 + 27 + 9 + 1))
    assert {planned for _, planned, _ in told} == {117}
    assert told[-1][2].value == found.ranked[0].value


def test_interrupted(monkeypatch):
    """Ctrl-C is raised when all threads have ended; what had not begun does not begin."""
    X, y = noisy(20_000)
    before, begun = threading.active_count(), []

    def spied(model, *stream, **options):
        begun.append(model)
        return progressive(model, *stream, **options)

    def stop(*how):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["seriatim.evaluate.tuning.trials"], "progressive", spied)
    with pytest.raises(KeyboardInterrupt):
        tune(SCW(covariance="full"), X, y, prefix=0.9, watch=stop)
    assert threading.active_count() == before
    assert 1 <= len(begun) < 81


@pytest.mark.parametrize("search", ["grid", "halving"])
@pytest.mark.parametrize("measure", ["auc", "mistake-rate"])
def test_another_measure(measure, search):
    """What is highest may be best; and a model that goes on takes what it has scored along."""
    X, y = noisy(600)
    found = tune("pa", X, y, prefix=400, measure=measure, search=search)
    for trial in found.trials:
        part = slice(0, trial.examples)
        run = progressive(PA(**trial.parameters), X[part], y[part], metrics=["auc"])
        expected = run.figures["auc"] if measure == "auc" else run.mistake_rate
        assert trial.value == pytest.approx(expected, rel=1e-12)
    last = [trial.value for trial in found.trials if trial.examples == 400]
    assert found.ranked[0].value == (max(last) if measure == "auc" else min(last))
    assert found.ranked[0].parameters == found.best
    assert found.measure == ("auc" if measure == "auc" else "mistake_rate")


# ---- errors

WRONG = {
    "prefix=1.0": {"prefix": 1.0},
    "prefix=0": {"prefix": 0},
    "prefix=True": {"prefix": True},
    "some must be left": {"prefix": 100},
    "search='all'": {"search": "all"},
    "tries=0": {"tries": 0},
    "jobs=0": {"jobs": 0},
    "measure='rmse'": {"measure": "rmse"},
    "no metric is called 'aucc'": {"measure": "aucc"},
    "no parameter 'D'": {"over": {"D": [1]}},
    "no values of C": {"over": {"C": []}},
    "C=-1": {"over": {"C": [1, -1]}},
    "nothing to search": {"over": {}},
    "like_libol needs search='grid'": {"search": "random", "like_libol": True},
}


@pytest.mark.parametrize(("message", "options"), WRONG.items(), ids=list(WRONG))
def test_wrong_options(message, options):
    X, y = noisy(100)
    with pytest.raises(ParameterError, match=message):
        tune("pa", X, y, **options)


def test_nothing_to_search():
    X, y = noisy(100)
    with pytest.raises(ParameterError, match="Perceptron: there is nothing to search: no parameter"):
        tune("perceptron", X, y)
    with pytest.raises(ParameterError, match="PA: there is nothing to search: C could be, and is given"):
        tune(PA(C=3.0), X, y)


def test_the_loss_itself_is_not_searched():
    """With a larger epsilon every loss is smaller, and the largest would win."""
    X, y = slope(100)
    with pytest.raises(ParameterError, match="epsilon is part of the loss"):
        tune("pa-regressor", X, y, over={"epsilon": [0.1, 1.0]})
    X, y = noisy(100)
    assert tune("ogd", X, y, over={"loss": ["hinge", "logistic"]}).trials
    with pytest.raises(ParameterError, match="loss is part of the loss"):
        tune("ogd", X, y, over={"loss": ["hinge", "logistic"]}, measure="mean_loss")


def test_bad_data():
    X, y = noisy(100)
    with pytest.raises(DataError, match="the first 20 examples all have the label 1: shuffle"):
        tune("pa", X[np.argsort(-y)], np.sort(y)[::-1])
    with pytest.raises(DataError, match="expected X and y"):
        tune("pa", X)
    with pytest.raises(DataError, match="expected X and y"):
        tune("pa", 3)
    with pytest.raises(DataError, match="shape"):
        tune("pa", X, y[:50])
    with pytest.raises(DataError, match="row 7"):
        tune("pa", np.where(np.arange(100)[:, None] == 7, np.nan, X), y)
    with pytest.raises(DataError, match="no examples"):
        tune("pa", data.Stream([]))
    with pytest.raises(ParameterError, match="sea has no end"):
        tune("pa", data.stream("sea"))
    with pytest.raises(ParameterError, match="remove passes and delay"):
        tune("pa", data.stream("spam", passes=2))
    with pytest.raises(ParameterError, match="there are 4,601 examples"):
        tune("pa", data.stream("spam"), prefix=4601)
