"""A comparison: each of its runs is that of `progressive`, whatever runs beside it or came between."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import seriatim
from seriatim import AROW, PA, OGDRegressor, OneClassPA, data, evaluate
from seriatim.core import loop
from seriatim.core.rows import Rows
from seriatim.errors import DataError, LimitError, ParameterError
from seriatim.evaluate import compare
from seriatim.evaluate.comparison import dataset
from seriatim.evaluate.comparison.compare import Runs
from seriatim.evaluate.comparison.competitors import CLASSIFIERS, REGRESSORS, competitor, competitors
from seriatim.evaluate.comparison.dataset import Dataset
from seriatim.evaluate.comparison.record import curve_places
from seriatim.evaluate.comparison.result import mean_and_deviation
from seriatim.evaluate.comparison.significance import signed_rank
from seriatim.evaluate.tuning.tune import divided
from seriatim.report.words import outcome_in_words

MAX = {"normalize": "max"}
ROOT = str(Path(seriatim.__file__).parents[1])


def set_of(n=300, labels=2, seed=0, names=False):
    """Sparse rows and labels that come in the middle of the stream."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8)) * (rng.random((n, 8)) < 0.6)
    y = np.argmax(X[:, : max(labels, 1)] + 0.3 * rng.standard_normal((n, max(labels, 1))), axis=1)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0.2, 1, 0) if labels == 2 else y
    y[:7] = y[0]
    return X, np.array([f"label {k}" for k in y]) if names else y


def without_time(comparison):
    """All of the runs but what the clock has to do with."""
    runs = {}
    for run in comparison.records:
        plain = {k: v for k, v in run.items() if k != "seconds"}
        plain["curve"] = {k: v for k, v in run["curve"].items() if k != "seconds"}
        runs[run["key"]] = plain
    assert len(runs) == len(comparison.records)
    return runs


SETS = {
    "two labels": lambda: set_of(),
    "names": lambda: set_of(names=True),
    "signs": lambda: (set_of()[0], 2 * set_of()[1] - 1),
    "five labels": lambda: set_of(labels=5),
    "five names": lambda: set_of(labels=5, names=True),
    "one label": lambda: (set_of()[0], np.ones(300, int)),
    "signs and more": lambda: (set_of()[0], np.array([-1, 1, 5])[set_of(labels=3)[1]]),
    "one example": lambda: (np.ones((1, 3)), ["a"]),
}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", SETS)
def test_a_run_is_that_of_progressive(kind, sparse, monkeypatch):
    """On the permuted arrays, to the last digit, also where the permutation is learned in several blocks."""
    X, y = SETS[kind]()
    y = np.asarray(y)
    X = csr_matrix(X) if sparse else X
    monkeypatch.setattr(dataset, "BLOCK", 500)
    comparison = compare((X, y), permutations=2, seed=3)
    assert len(comparison.records) == 3 * len(CLASSIFIERS)
    for run in comparison.records:
        n = X.shape[0]
        order = np.arange(n) if run["order"] is None else np.random.default_rng([3, run["order"]]).permutation(n)
        expected = evaluate.progressive(competitor(run["label"]).fresh(), X[order], y[order])
        found = [run[name] for name in ("examples", "mistakes", "mistake_rate", "mean_loss", "updates", "features")]
        assert found == [
            expected.examples, expected.mistakes, expected.mistake_rate, expected.mean_loss, expected.updates,
            expected.features,
        ]  # fmt: skip
        curve = dict(zip(run["curve"]["examples"], run["curve"]["value"], strict=True))
        assert {t: curve[t] for t, _ in expected.curve if t in curve} == {t: v for t, v in expected.curve if t in curve}
        assert run["curve"]["updates"][-1] == expected.updates
        assert run["nonzeros"] == np.count_nonzero(expected.model.coef_)


@pytest.mark.parametrize("kind", SETS)
def test_confusions_are_those_of_a_run_one_by_one(kind):
    X, y = SETS[kind]()
    y = np.asarray(y)
    comparison = compare((X, y), ["pa", "arow"], permutations=1)
    for run in comparison.records:
        order = np.arange(len(y)) if run["order"] is None else np.random.default_rng([0, 0]).permutation(len(y))
        model = competitor(run["label"]).fresh()
        classes = sorted({*y.tolist()})
        expected = np.zeros((len(classes), len(classes)), int)
        for i in order:
            dense = {str(j): value for j, value in enumerate(X[i]) if value}
            guess = model.predict_one(dense)
            if {*model._labels, y[i]} <= {-1, 1}:  # the sign is the prediction from the first example on
                guess = 1 if model.score_one(dense) >= 0 else -1
            if guess in classes:
                expected[classes.index(y[i]), classes.index(guess)] += 1
            model.learn_one(dense, y[i].item())
        assert run["classes"] == classes
        assert run["confusion"] == expected.tolist()
        assert run["mistakes"] == run["examples"] - np.trace(expected)


def test_numbers_are_judged_by_the_absolute_error():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * rng.standard_normal(200)
    comparison = compare((X, y), permutations=3)
    assert comparison.measure == "mean absolute error"
    assert [one.label for one in comparison.competitors] == [*REGRESSORS]
    for run in comparison.records:
        if run["order"] is None:
            continue
        order = np.random.default_rng([0, run["order"]]).permutation(200)
        model = competitor(run["label"]).fresh()
        errors = []
        for x, target in zip(X[order], y[order], strict=True):
            errors.append(abs(target - (model.predict([x])[0] if errors else 0.0)))
            model.partial_fit([x], [target])
        expected = np.cumsum(errors) / np.arange(1, 201)
        assert run["mean_absolute_error"] == pytest.approx(expected[-1])
        assert run["curve"]["value"] == pytest.approx(expected[np.array(run["curve"]["examples"]) - 1])
        again = evaluate.progressive(competitor(run["label"]).fresh(), X[order], y[order])
        assert (run["mean_loss"], run["mistakes"], run["confusion"]) == (again.mean_loss, None, None)


@pytest.mark.parametrize("name", ["auc", "f1", "balanced-accuracy"])
def test_another_metric_judges(name, tmp_path):
    X, y = set_of(n=400)
    comparison = compare((X, y), ["perceptron", "pa", "arow"], permutations=8, metric=name, store=tmp_path / "runs")
    standings = comparison.standings()
    means = [standing.figures[comparison.measure][0] for standing in standings]
    assert means == sorted(means, reverse=True)
    assert standings[0].best
    for standing, one in ((standing, competitor(standing.label)) for standing in standings):
        values = []
        for k, run in enumerate(comparison.runs_of(standing.label)):
            order = np.random.default_rng([0, k]).permutation(len(y))
            alone = evaluate.progressive(one.fresh(), X[order], y[order], metrics=[name])
            values.append(alone.figures[comparison.measure])
            assert run["metrics"] == pytest.approx({comparison.measure: values[-1]}, rel=1e-12)
            assert run["mistakes"] == alone.mistakes
        assert standing.figures[comparison.measure] == pytest.approx(mean_and_deviation(values))
    about = comparison.as_dict()
    assert about["followed"] == "mistake rate"
    assert f"has the highest {comparison.measure}" in outcome_in_words(about)
    again = compare((X, y), ["perceptron", "pa", "arow"], permutations=8, metric=name, store=tmp_path / "runs")
    assert again.ran == 0
    assert again.as_dict() == about
    assert compare((X, y), ["pa"], permutations=1, store=tmp_path / "runs").ran == 2  # those have no other metric


def test_a_metric_with_another_argument_is_another_metric(tmp_path):
    X, y = set_of(n=200)
    names = [f"sensitivity:{label}" for label in np.unique(y)]
    found = [compare((X, y), ["pa"], permutations=2, metric=name, store=tmp_path / "runs") for name in names]
    assert [one.ran for one in found] == [3, 3]
    figures = [one.standings()[0].figures[one.measure] for one in found]
    assert figures[0] != figures[1]
    run = evaluate.progressive(PA(), X, y, metrics=names)
    assert [*run.figures] == [one.measure for one in found]
    costs = [evaluate.metrics.Cost({(0, 1): cost}) for cost in (2, 3)]
    assert [compare((X, y), ["pa"], permutations=1, metric=one, store=tmp_path / "runs").ran for one in costs] == [2, 2]


def test_a_search_by_a_metric_with_another_argument_is_another_search(tmp_path):
    X, y = set_of(n=200)
    asked = []
    for label in np.unique(y):
        compare((X, y), ["pa"], permutations=1, metric=f"sensitivity:{label}", tune="grid", store=tmp_path / "runs")
        asked.append(json.loads((tmp_path / "runs.tuned.json").read_text())["asked"])
    assert asked[0] != asked[1]


def test_the_metric_judges_the_search_too():
    X, y = set_of(n=600)
    held, rest = divided(600, 0.5, 0, False)
    found = compare((X, y), ["pa"], permutations=1, metric="auc", tune="grid", prefix=0.5).competitors[0].model

    def auc(C):
        return evaluate.progressive(PA(C=C), X[held], y[held], metrics=["auc"]).figures["auc"]

    assert auc(found.C) == max(map(auc, PA.parameters["C"].search))
    assert len(rest) == 300


@pytest.mark.parametrize(
    ("metric", "labels", "problem"),
    [
        ("auc", 3, "auc is for two labels, and .* has 3"),
        ("rmse", 2, "rmse is a metric of regression"),
        ("log-loss", 2, "logistic"),
        ("ndcg", 2, "recommendation"),
        ("aucc", 2, "no metric is called"),
        (evaluate.metrics.Confusion(), 2, "one number"),
        ("sensitivity:most", 2, "no example has the label most"),
        ("f1:marco", 2, "no example has the label marco"),
        ("cost:0:most=5", 2, "no example has the label most"),
    ],
    ids=str,
)
def test_a_metric_that_cannot_judge_is_refused(metric, labels, problem):
    with pytest.raises(ParameterError, match=problem):
        compare(set_of(labels=labels), ["pa"], metric=metric)


@pytest.mark.parametrize("ended", [1, 7, 8, 150, 300])
def test_the_points_of_a_curve(ended):
    """As NumPy has them; between two looks at the clock, which are rare, it goes evenly."""
    X, y = set_of()
    run = evaluate.progressive(PA(), X[:ended], y[:ended], at=curve_places(300))
    places, sums, _, updates, seconds = run.judge.curve()
    known = np.isfinite(seconds)
    assert known.sum() <= 1 + len(places) / 8
    even = np.interp(places, [0, *places[known]], [0.0, *seconds[known]])
    found = run.judge.points()
    assert [found[0], found[2]] == [places.tolist(), updates.tolist()]
    assert found[1] == pytest.approx(sums / places, rel=1e-15)
    assert found[3] == pytest.approx(even, rel=1e-12)


def test_whole_numbers_are_estimated_if_the_algorithms_say_so():
    X, y = set_of()
    assert compare((X, y), ["pa-regressor", OGDRegressor(eta=0.1)], permutations=1).measure == "mean absolute error"


def test_what_diverges_is_last_and_not_a_number():
    rng = np.random.default_rng(0)
    X = 1e20 * rng.standard_normal((60, 3))
    comparison = compare((X, X[:, 0] + 0.5), ["ogd-regressor", "pa-regressor"], permutations=3)
    about = json.loads(json.dumps(comparison.as_dict(), allow_nan=False))
    assert [one["label"] for one in about["algorithms"]] == ["pa-regressor", "ogd-regressor"]


def test_weights_are_learned_with():
    X, y = set_of()
    weights = np.random.default_rng(5).integers(0, 3, 300).astype(float)
    rows = Rows.dense(X)
    rows.weights = weights
    comparison = compare([(rows, y)], permutations=2)
    assert {"pa", "ogd"} <= {one.label for one in comparison.competitors} < {*CLASSIFIERS}
    for run in comparison.records:
        order = np.arange(300) if run["order"] is None else np.random.default_rng([0, run["order"]]).permutation(300)
        rows = csr_matrix(X[order])
        expected = evaluate.progressive(competitor(run["label"]).fresh(), rows, y[order], sample_weight=weights[order])
        assert (run["mistakes"], run["updates"]) == (expected.mistakes, expected.updates)
    with pytest.raises(ParameterError, match="sample weights"):
        compare([(rows_with(weights, X), y)], ["romma"])


def rows_with(weights, X):
    rows = Rows.dense(X)
    rows.weights = weights
    return rows


def test_scaling_goes_along():
    X, y = data.load("spam")
    comparison = compare("spam", ["pa"], permutations=1, features={"normalize": "max"})
    run = next(run for run in comparison.records if run["order"] == 0)
    order = np.random.default_rng([0, 0]).permutation(len(y))
    expected = evaluate.progressive(PA(features={"normalize": "max"}), X[order], y[order])
    assert run["mistakes"] == expected.mistakes
    assert run["parameters"]["features"] == {"normalize": "max"}


# ---- the same whatever happens


def test_jobs_change_nothing():
    found = [without_time(compare(set_of(), permutations=5, jobs=jobs)) for jobs in (1, 2, 5, 40)]
    assert all(one == found[0] for one in found)


def test_a_second_call_runs_nothing(tmp_path):
    store = tmp_path / "runs.jsonl"
    first = compare(set_of(), permutations=4, store=store)
    text = store.read_bytes()
    again = compare(set_of(), permutations=4, store=store)
    assert (first.ran, again.ran) == (first.total, 0)
    assert first.total == len(text.splitlines()) == 5 * len(CLASSIFIERS)
    assert without_time(first) == without_time(again)
    assert store.read_bytes() == text
    one, other = first.as_dict(), again.as_dict()
    assert one == other


def test_only_what_is_missing_is_run(tmp_path):
    def ran(*algorithms, data=None, **options):
        return compare(data or set_of(), algorithms, store=tmp_path / "runs", **options).ran

    assert ran("pa", permutations=2) == 3
    assert ran("pa", permutations=5) == 3
    assert ran("PA", "pa:C=1", PA(C=1), permutations=5) == 0
    assert ran("pa", "arow", permutations=5) == 6
    assert ran("pa:C=0.5", permutations=5) == 6
    assert ran("pa", permutations=5, seed=1) == 5  # the order of the file has no seed
    assert ran("pa", permutations=1, features={"normalize": "max"}) == 2
    assert ran("pa", permutations=1, data=set_of(seed=1)) == 2
    assert ran("pa", permutations=1, data=set_of(names=True)) == 2


def test_a_new_version_runs_again(tmp_path, monkeypatch):
    assert compare(set_of(), ["pa"], permutations=1, store=tmp_path / "runs").ran == 2
    monkeypatch.setattr(sys.modules["seriatim.evaluate.comparison.compare"], "__version__", "99")
    assert compare(set_of(), ["pa"], permutations=1, store=tmp_path / "runs").ran == 2


@pytest.mark.parametrize("lines", [0, 1, 7, 30])
def test_resumed_is_uninterrupted(tmp_path, lines):
    whole = compare(set_of(), permutations=4, store=tmp_path / "whole")
    kept = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    (tmp_path / "part").write_bytes(b"".join(kept[:lines]) + kept[lines][:50])
    resumed = compare(set_of(), permutations=4, store=tmp_path / "part")
    assert resumed.ran == whole.total - lines
    assert without_time(resumed) == without_time(whole)


def test_a_foreign_store_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "notes").write_text("buy milk\n")
    with pytest.raises(DataError, match="notes: line 1"):
        compare(set_of(), ["pa"], store=tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "buy milk\n"


def test_a_folder_holds_a_file_for_each_data_set(tmp_path):
    for source in ("spam", "digits"):
        comparison = compare(source, ["pa"], permutations=1, store=f"{tmp_path}/new/")
        assert comparison.store.name == f"{source}-{comparison.fingerprint[:8]}.jsonl"
    assert len([*(tmp_path / "new").iterdir()]) == 2


# ---- Ctrl-C, and worse

SCRIPT = f"""
import sys; sys.path.insert(0, {ROOT!r})
from seriatim.evaluate import compare
print("ready", flush=True)
comparison = compare("digits", ["pa", "arow", "scw", "cw"], permutations=40, store=sys.argv[1])
print(comparison.interrupted, comparison.ran, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_stopped_at_any_moment(tmp_path, number):
    """A comparison that is stopped again and again comes to the same end, and never runs what is kept."""
    store, rng = tmp_path / "runs.jsonl", random.Random(1)
    kept = 0
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(store)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.05, 0.25))
        os.kill(process.pid, number)
        out, err = process.communicate(timeout=60)
        if number == signal.SIGINT and out:  # else it came while the data were read, or too late
            assert process.returncode == 0 or (process.returncode == -number and not err), err  # as Python ends
            assert out.split()[0] in ("True", "False")
        lines = store.read_bytes().splitlines() if store.exists() else []
        assert len(lines) >= kept
        kept = len(lines)
        assert len({json.loads(line)["key"] for line in lines}) == kept
    last = compare("digits", ["pa", "arow", "scw", "cw"], permutations=40, store=store)
    assert last.ran == last.total - kept
    assert without_time(last) == without_time(compare("digits", ["pa", "arow", "scw", "cw"], permutations=40))


def test_interrupted_is_said_and_what_is_done_is_kept(tmp_path):
    def stop(comparison):
        if comparison.records:
            raise KeyboardInterrupt

    stopped = compare("digits", permutations=200, store=tmp_path / "runs", watch=stop)
    assert stopped.interrupted
    assert stopped.ran == len(stopped.records) == len((tmp_path / "runs").read_bytes().splitlines()) < stopped.total
    assert stopped.as_dict()["setting"]["permutations"] == 200


def test_interrupted_while_the_regret_is_sought(tmp_path):
    def stop(comparison):
        if comparison.doing.startswith("regret of arow"):
            raise KeyboardInterrupt

    def promised(**options):
        return compare("spam", ["pa", "arow"], permutations=1, store=tmp_path / "runs", regret=True, **options)

    stopped = promised(watch=stop)
    assert (stopped.interrupted, stopped.no_regret, len(stopped.records)) == (True, "was interrupted", stopped.total)
    whole = promised()
    assert (whole.interrupted, whole.ran) == (False, 0)
    assert {one["label"] for one in whole.as_dict()["regret"]} == {"pa", "arow"}


def test_interrupted_while_parameters_are_sought(tmp_path, monkeypatch):
    """What was found of the algorithms before is kept; a number may be NumPy's."""

    def stop(comparison):
        if comparison.doing.startswith("tuning pa"):
            raise KeyboardInterrupt

    def tune(**options):
        models = [AROW(r=np.int64(2)), "pa"]
        return compare("spam", models, permutations=1, tune="grid", store=f"{tmp_path}/", features=MAX, **options)

    stopped = tune(watch=stop)
    assert (stopped.interrupted, stopped.records) == (True, [])
    (kept,) = tmp_path.glob("*.tuned.json")
    (first,) = json.loads(kept.read_text())["parameters"]
    asked, search = [], evaluate.tuned

    def tuned(models, *arguments, **options):
        asked.extend(models)
        return search(models, *arguments, **options)

    monkeypatch.setattr("seriatim.evaluate.tuning.tune.tuned", tuned)
    whole = tune()
    assert [type(one) for one in asked] == [PA]
    assert (whole.interrupted, whole.competitors[0].model.r) == (False, first["r"])


def test_watch_sees_the_search():
    seen = []
    compare("spam", ["arow", "pa"], permutations=1, tune="grid", watch=lambda comparison: seen.append(comparison.doing))
    for label in ("arow", "pa"):
        assert any(re.fullmatch(rf"tuning {label}: \d+ of 9 trials", doing) for doing in seen)
    assert seen[-1] == ""


def test_watch_sees_it_grow():
    seen = []

    def watch(comparison):
        seen.append(len(comparison.records))
        assert all(one.runs <= 40 for one in comparison.standings(test=False))

    comparison = compare("digits", permutations=40, watch=watch)
    assert seen == sorted(seen)
    assert seen[-1] == comparison.total == len(comparison.records)
    assert not comparison.interrupted


def test_an_error_in_a_run_ends_the_comparison(monkeypatch):
    def fail(self, order, some):
        raise DataError("pa: no luck")

    monkeypatch.setattr(Runs, "take", fail)
    with pytest.raises(DataError, match="pa: no luck"):
        compare(set_of(), ["pa"], permutations=50)


def test_a_limit_of_an_algorithm_names_it():
    X = csr_matrix(([1.0, 1.0], ([0, 1], [0, 2**30])), shape=(2, 2**30 + 1))
    with pytest.raises(ParameterError.__mro__[1], match="arow:covariance=full: "):
        compare((X, [0, 1]), ["arow:covariance=full"], permutations=1)


# ---- what it adds up to


def test_standings_and_significance():
    comparison = compare("spam", ["perceptron", "arow", "arow:r=1.01", "scw"], permutations=12)
    standings = comparison.standings()
    means = [one.figures["mistake rate"][0] for one in standings]
    assert means == sorted(means)
    assert [one.best for one in standings] == [True, False, False, False]
    rates = {one.label: [run["mistake_rate"] for run in comparison.runs_of(one.label)] for one in standings}
    for one in standings:
        assert one.figures["mistake rate"] == pytest.approx(
            (np.mean(rates[one.label]), np.std(rates[one.label], ddof=1))
        )
        assert one.runs == 12
    from scipy.stats import wilcoxon

    p = [wilcoxon(rates[one.label], rates[standings[0].label], method="exact").pvalue for one in standings[1:]]
    order = np.argsort(p)
    corrected = np.maximum.accumulate(np.minimum(1, np.array([3, 2, 1]) * np.array(p)[order]))
    assert [standings[1 + i].p for i in order] == pytest.approx(corrected)
    assert standings[-1].label == "perceptron"
    assert standings[-1].differs


def test_as_dict_is_what_the_report_takes():
    comparison = compare("spam", permutations=3)
    about = json.loads(json.dumps(comparison.as_dict(), allow_nan=False))
    fields = ["title", "setting", "measure", "high", "followed", "algorithms", "winner", "regret", "bounds"]
    assert list(about) == fields
    assert about["title"] == "spam"
    setting = about["setting"]
    assert (setting["examples"], setting["features"], setting["task"]) == (4601, 57, "classification")
    assert setting["labels"] == {"nonspam": 2788, "spam": 1813}
    assert {*setting} >= {"data", "permutations", "seed", "tuning", "command", "versions", "machine", "date"}
    assert len(about["algorithms"]) == len(CLASSIFIERS)
    places = curve_places(4601).tolist()
    for one in about["algorithms"]:
        runs = comparison.runs_of(one["label"])
        assert one["curve"]["examples"] == places
        assert one["curve"]["mean"] == pytest.approx(np.mean([run["curve"]["value"] for run in runs], axis=0))
        deviation = np.std([run["curve"]["value"] for run in runs], axis=0, ddof=1)
        assert one["curve"]["deviation"] == pytest.approx(deviation)
        assert one["curve"]["mean"][-1] == pytest.approx(one["figures"]["mistake rate"][0])
        assert one["updates"]["examples"] == curve_places(4601).tolist()
        assert one["updates"]["mean"][-1] == one["figures"]["updates"][0]
        assert one["time"]["value"][-1] == one["curve"]["mean"][-1]
        assert one["time"]["seconds"] == sorted(one["time"]["seconds"])
        assert 0 < one["time"]["seconds"][-1] <= one["figures"]["seconds"][0]
    best, winner = about["algorithms"][0], about["winner"]
    assert best["best"]
    assert winner["label"] == best["label"]
    assert winner["classes"] == ["nonspam", "spam"]
    assert sum(map(sum, winner["confusion"])) == 4600  # before the first label none was predicted
    assert len(winner["heaviest"]) == 20
    weights = [abs(weight) for _, _, weight in winner["heaviest"]]
    assert weights == sorted(weights, reverse=True)
    assert {label for label, _, _ in winner["heaviest"]} == {"spam"}
    assert {name for _, name, _ in winner["heaviest"]} <= {*data.load("spam", names=True)[2]}
    assert winner["file_order"]["examples"] == places
    assert winner["file_order"]["window"] == 230


def test_the_order_of_the_file_by_hand():
    """Its recent figure is that of the window before each place, and its changes are those of its mistakes."""
    X, y = data.load("digits")
    X, y = np.concatenate([np.asarray(X.todense())] * 2), np.concatenate([y, (y + 3) % 10])
    comparison = compare((X, y), ["pa"], permutations=1)
    order = next(run for run in comparison.records if run["order"] is None)
    model, wrong = PA(), []
    for x, label in zip(X, y, strict=True):
        wrong.append(not model.__sklearn_is_fitted__() or model.predict(x[None, :])[0] != label)
        model.partial_fit(x[None, :], [label])
    window = order["in_time"]["window"]
    assert window == round(len(y) / 20)
    sums = np.concatenate([[0], np.cumsum(wrong)])
    for place, recent in zip(order["curve"]["examples"], order["in_time"]["recent"], strict=True):
        assert recent == pytest.approx((sums[place] - sums[max(place - window, 0)]) / min(place, window))
    assert order["drift"] == [change.as_dict() for change in evaluate.changes(np.array(wrong, float))]
    assert any(1797 < change["at"] < 1900 for change in order["drift"])
    assert comparison.as_dict()["winner"]["drift"] == order["drift"]


def test_the_order_of_the_file_by_the_measure_of_the_table():
    """With a window that reaches back to the first example, both are the mean absolute error, whatever the loss."""
    X, _ = set_of(30)
    for name in ("ogd-regressor", "pa-regressor"):
        winner = compare((X, X[:, 0] + 0.25), [name], permutations=1).as_dict()["winner"]["file_order"]
        assert winner["recent"][0] == pytest.approx(winner["value"][0])


def test_models_that_differ_in_their_features_only():
    """Each has its own runs and its own best in hindsight, though nothing else tells them apart."""
    X, y = set_of()
    models = [PA(features={"normalize": "max"}), PA(), PA(features={"normalize": "unit"})]
    together = compare((X, y), models, permutations=2, regret=True)
    assert len({one.label for one in together.competitors}) == len({run["key"] for run in together.records}) // 3 == 3
    for model, one in zip(models, together.competitors, strict=True):
        alone = compare((X, y), [model], permutations=2, regret=True)
        (standing,) = alone.standings()
        figures = {each.label: each.figures for each in together.standings()}[one.label]
        assert figures["mistake rate"] == standing.figures["mistake rate"]
        found = next(run["regret"] for run in together.records if run["label"] == one.label and "regret" in run)
        assert found["regret"] == next(run["regret"] for run in alone.records if "regret" in run)["regret"]


def test_significance_is_of_counts():
    """Differences of 1 in 10 are not the same numbers as fractions: 0.3 - 0.2 is less than 0.2 - 0.1."""
    comparison = compare(set_of(10), ["pa", "arow"], permutations=6)
    lost = {"pa": (1, 2, 3, 4, 6, 8), "arow": (2, 3, 4, 5, 7, 5)}
    for run in comparison.records:
        if run["order"] is not None:
            run["mistakes"] = lost[run["label"]][run["order"]]
            run["mistake_rate"] = run["mistakes"] / 10
    assert comparison.standings()[1].p == signed_rank(lost["pa"], lost["arow"])


def test_too_few_permutations_are_no_test():
    """Five cannot show a difference, however clear; a report must not say that there is none."""
    for permutations, told in ((5, False), (6, True)):
        comparison = compare("spam", ["perceptron", "arow"], permutations=permutations)
        assert (comparison.standings()[1].p is not None) == told
        assert ("All others differ" in outcome_in_words(comparison.as_dict())) == told
        assert "not differ" not in outcome_in_words(comparison.as_dict())


def test_regret_and_bounds_are_kept(tmp_path):
    """They are those of the first permutation, and are not looked for again."""
    store = tmp_path / "runs.jsonl"
    first = compare("spam", ["pa", "ogd", "perceptron"], permutations=2, regret=True, store=store, features=MAX)
    about = first.as_dict()
    assert {one["label"] for one in about["regret"]} == {"pa", "ogd", "perceptron"}
    assert len({one["comparator"] for one in about["regret"]}) == 1
    assert all(one["holds"] for one in about["bounds"])
    X, y = data.load("spam")
    order = np.random.default_rng([0, 0]).permutation(4601)
    model = seriatim.OGD(features=MAX)
    alone = evaluate.regret(model, X[order], y[order])
    assert next(one["regret"] for one in about["regret"] if one["label"] == "ogd") == pytest.approx(alone.regret)
    size = store.stat().st_size
    again = compare("spam", ["pa", "ogd", "perceptron"], permutations=2, regret=True, store=store, features=MAX)
    assert (again.ran, store.stat().st_size) == (0, size)
    assert again.as_dict()["regret"] == about["regret"]
    assert compare("digits", ["pa"], permutations=1, regret=True).no_regret == "is for two labels, or for numbers"


def test_the_first_permutation_is_run_once(tmp_path, monkeypatch):
    """Regret and bounds are of what was predicted in that run, and are the same as of runs of their own."""
    learn, learned = loop.learn, []

    def counted(learner, rows, y, *rest):
        learned.append(len(y))
        return learn(learner, rows, y, *rest)

    monkeypatch.setattr(loop, "learn", counted)
    X, y = data.load("spam")
    numbers = X[:, :5] @ np.arange(5.0) + 0.5
    for labels, names in ((y, ["pa", "arow:fit_intercept=false", "ogd"]), (numbers, ["pa-regressor", "ogd-regressor"])):
        options = {"permutations": 1, "jobs": 1, "features": MAX}
        compare((X, labels), names, store=tmp_path / "runs", **options)
        later = compare((X, labels), names, store=tmp_path / "runs", regret=True, **options)
        assert later.ran == 0
        learned.clear()
        once = compare((X, labels), names, regret=True, **options)
        assert sum(learned) == 2 * len(names) * len(y)  # in the order of the permutation, and in that of the file
        for part in ("regret", "bounds"):
            for ours, theirs in zip(once.as_dict()[part], later.as_dict()[part], strict=True):
                assert ours == theirs, (part, ours["label"])


def test_what_tuning_found_is_kept(tmp_path, monkeypatch):
    def tune(**options):
        return compare("spam", ["arow", "pa"], permutations=1, tune="grid", store=tmp_path, features=MAX, **options)

    first = tune()
    assert first.ran == 4
    monkeypatch.setattr("seriatim.evaluate.tuning.tune.tuned", None)  # it would fail if it were asked
    again = tune()
    assert (again.ran, again.tuning) == (0, first.tuning)
    assert [one.parameters for one in again.competitors] == [one.parameters for one in first.competitors]
    with pytest.raises(TypeError, match="not callable"):
        tune(seed=1)
    (kept,) = tmp_path.glob("*.tuned.json")
    kept.write_text("{}")
    with pytest.raises(DataError, match="remove the file to search again"):
        tune()


@pytest.mark.parametrize("search", ["grid", "halving", "like-libol"])
def test_tuned_on_examples_that_are_left_out(search):
    comparison = compare("spam", ["arow", "perceptron"], permutations=2, tune=search, features=MAX)
    X, y = data.load("spam")
    models, rest = evaluate.tuned(
        [AROW(features=MAX), seriatim.Perceptron(features=MAX)], X, y, search=search.replace("like-libol", "grid"),
        like_libol=search == "like-libol",
    )  # fmt: skip
    assert comparison.examples.n == len(rest)
    assert comparison.competitors[0].model.r == models[0].r
    assert ("flatters" in comparison.tuning) == (search == "like-libol")
    order = np.random.default_rng([0, 0]).permutation(len(rest))
    run = evaluate.progressive(type(models[0])(**models[0].get_params()), X[rest][order], y[rest][order])
    assert comparison.runs_of("arow")[0]["mistakes"] == run.mistakes
    assert comparison.as_dict()["setting"]["tuning"] == comparison.tuning


def test_mean_and_deviation_of_one():
    assert mean_and_deviation([3]) == (3.0, 0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 99, 100, 101, 4601, 10**6])
def test_places(n):
    places = curve_places(n)
    assert places[0] == 1
    assert places[-1] == n
    assert (np.diff(places) > 0).all()
    assert {1 << k for k in range(n.bit_length())} <= {*places.tolist()}
    assert min(n, 100) <= len(places) <= 100 + n.bit_length()


# ---- the data


def test_any_form_of_the_data_gives_the_same(tmp_path):
    X, y = data.load("digits")
    path = tmp_path / "digits.svm"
    path.write_text("".join(f"{t} {' '.join(f'{j + 1}:{x!r}' for j, x in enumerate(r) if x)}\n" for t, r in
                            zip(y.tolist(), X.toarray().tolist(), strict=True)))  # fmt: skip
    lines = path.read_text().splitlines(keepends=True)
    files = tmp_path / "head.svm", tmp_path / "rest.svm"
    files[0].write_text("".join(lines[:1000]))
    files[1].write_text("".join(lines[1000:]))
    blocks = [(Rows.sparse(X.indptr, X.indices, X.data, 64), y)]
    forms = (X, y), str(path), path, [str(path)], files, data.stream(path), blocks
    found = [compare(given, ["pa"], permutations=2) for given in forms]
    rates = [sorted((str(run["order"]), run["mistakes"], run["updates"]) for run in one.records) for one in found]
    assert all(one == rates[0] for one in rates)


def test_a_frame_has_names():
    X, y = set_of()
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    frame["colour"] = np.where(X[:, 0] > 0.2, "red", "blue")
    comparison = compare((frame, y), ["pa"], permutations=1)
    names = {name for _, name, _ in comparison.as_dict()["winner"]["heaviest"]}
    assert names <= {*(f"x{j}" for j in range(8)), "colour=red", "colour=blue"}
    assert "colour=red" in names


def test_a_table_with_words(tmp_path):
    path = tmp_path / "mail.csv"
    path.write_text("label,text\n" + "".join(f"{'spam' if i % 3 else 'ham'},word{i % 3} and more\n" for i in range(60)))
    comparison = compare(path, ["pa"], permutations=2, features={"text": ["text"]})
    assert comparison.standings()[0].figures["mistake rate"][0] < 0.1
    assert comparison.as_dict()["winner"]["heaviest"][0][1].startswith("text=word")


def test_examples_are_not_changed():
    X, y = set_of()
    before = X.copy(), y.copy()
    compare((X, y), permutations=2)
    assert (before[0] == X).all()
    assert (y == before[1]).all()


def test_data_that_cannot_be_compared_on(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"sea has no end.*--limit"):
        compare("sea")
    (tmp_path / "none.svm").write_text("")
    with pytest.raises(DataError, match="no examples"):
        compare(tmp_path / "none.svm")
    with pytest.raises(DataError, match=r"y has shape"):
        compare((np.ones((3, 2)), [1, 2]))
    with pytest.raises(DataError, match="row 1, column 0"):
        compare((np.array([[1.0], [np.nan]]), [0, 1]))
    with pytest.raises(DataError, match="must be numbers"):
        compare((np.ones((2, 1)), ["a", "b"]), ["pa-regressor"])
    with pytest.raises(ParameterError, match="reveals each label at once"):
        compare(data.stream("spam", delay=3))
    monkeypatch.setattr(dataset, "ROOM", 100_000)
    with pytest.raises(LimitError, match=r"spam.*--limit.*--sample"):
        compare("spam")
    assert compare(data.stream("spam", limit=200), ["pa"], permutations=1).examples.n == 200


def test_an_endless_stream_with_a_limit():
    comparison = compare(data.stream("sea", limit=500), ["pa", "arow"], permutations=2)
    assert comparison.examples.n == 500


def test_many_labels_have_no_table():
    y = np.arange(300) % 70
    run = compare((set_of()[0], [f"label {k}" for k in y]), ["pa"], permutations=1).records[0]
    assert run["confusion"] is None
    assert run["mistakes"] > 70


def test_fingerprints_tell_data_apart():
    X, y = set_of()
    prints = set()
    for one in ((X, y), (X, 1 - y), (X + 1, y), (csr_matrix(X), y), (X[:, ::-1], y), (X, [f"{k}" for k in y])):
        known = Dataset.of(one)
        known.prepare(PA())
        prints.add(known.fingerprint())
        again = Dataset.of(one)
        again.prepare(PA())
        assert again.fingerprint() in prints
    assert len(prints) == 6


# ---- the algorithms


def test_algorithms_in_all_forms():
    field = competitors(["pa", "pa:variant=II,C=0.1", AROW, AROW(r=0.5), "SoftSVM:average=false"], "", None, False)
    assert [one.label for one in field] == ["pa", "pa:variant=II,C=0.1", "arow", "arow r=0.5", "SoftSVM:average=false"]
    assert [one.algorithm for one in field] == ["pa", "pa", "arow", "arow", "soft-svm"]
    assert (field[1].model.C, field[1].model.variant, field[4].model.average) == (0.1, "II", False)


def test_a_model_that_has_learned_begins_anew():
    X, y = set_of()
    model = PA().partial_fit(X, y)
    fresh, learned = compare((X, y), [PA()], permutations=2), compare((X, y), [model], permutations=2)
    assert without_time(fresh) == without_time(learned)
    assert model.t_ == 300


def test_the_same_algorithm_counts_once():
    assert len(competitors(["pa", "PA", PA(), "pa:C=1,variant=I"], "", None, False)) == 1


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("aroww", "no algorithm is called 'aroww'; did you mean arow"),
        ("pa:c=1", "pa:c=1: 'c=1' is not NAME=VALUE with a parameter of pa: C, variant"),
        ("pa:C", "'C' is not NAME=VALUE"),
        ("pa:C=1,2", "'2' is not NAME=VALUE"),
        ("pa:", "'' is not NAME=VALUE"),
        ("pa:C=-1", "C=-1.0: must be a number above 0"),
        ("pa:C=much", "C='much': must be a number"),
        ("pa:variant=III", "variant='III': must be"),
        ("one-class-pa", "its task is novelty"),
        (OneClassPA(), "its task is novelty"),
        (5, "an algorithm is a name, a class or a model"),
    ],
)
def test_a_bad_algorithm_is_one_clear_line(spec, problem):
    with pytest.raises(ParameterError) as caught:
        compare(set_of(), [spec])
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_compared():
    with pytest.raises(ParameterError, match="pa is for classification, pa-regressor for regression"):
        compare(set_of(), ["pa", "pa-regressor"])
    with pytest.raises(ParameterError, match="no algorithm"):
        compare(set_of(), [])
    for options in ({"permutations": 0}, {"jobs": 0}, {"seed": -1}):
        with pytest.raises(ParameterError, match="at least"):
            compare(set_of(), ["pa"], **options)
