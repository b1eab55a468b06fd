"""Progressive validation counts what the model predicted before it learned, however the stream is divided."""

import copy
import pickle
import sys

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score, roc_auc_score

import seriatim
from seriatim import OGD, PA, AveragedPerceptron, Features, Perceptron, SoftSVM, VotedPerceptron, data, evaluate
from seriatim.errors import DataError, ParameterError
from seriatim.estimator.inputs import as_rows
from seriatim.evaluate import metrics, progressive
from seriatim.evaluate.judge import Judge
from tests.learners import of_rows
from tests.test_contract import answers, default, examples, most_labels

ALGORITHMS = of_rows()
CLASSIFIERS = {name: cls for name, cls in ALGORITHMS.items() if cls.task == "classification"}
every = pytest.mark.parametrize("cls", ALGORITHMS.values(), ids=list(ALGORITHMS))
classifiers = pytest.mark.parametrize("cls", CLASSIFIERS.values(), ids=list(CLASSIFIERS))


@every
@pytest.mark.parametrize("labels", [2, 4])
def test_runs_add_up(cls, labels):
    """A run that goes on with a model counts as the whole run would have: labels that are known stay known."""
    X, y = examples(cls, labels=labels)
    whole = progressive(default(cls), X, y)
    for size in (1, 30):
        model, loss, mistakes, updates = default(cls), 0.0, 0, 0
        for begin in range(0, len(y), size):
            run = progressive(model, X[begin : begin + size], y[begin : begin + size])
            loss, mistakes, updates = loss + run.loss, mistakes + (run.mistakes or 0), updates + run.updates
        assert mistakes == (whole.mistakes or 0)
        assert updates == whole.updates
        assert loss == pytest.approx(whole.loss, rel=1e-9)


@classifiers
@pytest.mark.parametrize("labels", [2, 4])
def test_mistakes_are_those_of_predict(cls, labels):
    """Asking the model before each example gives the same count; a label never seen cannot have been predicted."""
    X, y = examples(cls, labels=labels)
    classes = list(range(min(labels, most_labels(cls))))
    run = progressive(default(cls, classes=classes), X, y)
    model, wrong = default(cls, classes=classes).partial_fit(X[:1], y[:1]), 0
    for x, label in zip(X[1:], y[1:], strict=True):
        wrong += model.predict(x[None, :])[0] != label
        model.partial_fit(x[None, :], [label])
    first = 1 if len(classes) > 2 else int(y[0] == 0)  # with two labels declared, a score of 0 stands for the higher
    if "source" in cls.parameters:  # which knows something before the first example
        first = progressive(default(cls, classes=classes), X[:1], y[:1]).mistakes
    assert run.mistakes == wrong + first


@pytest.mark.parametrize("loss", seriatim.OGD.parameters["loss"].options)
def test_loss_is_finite_before_there_is_a_rival(loss):
    """The first label of a multiclass model has no rival, and so no margin, but the loss of a run is a number."""
    X, y = examples(seriatim.OGD, labels=3)
    run = progressive(seriatim.OGD(loss=loss, eta=0.01, classes=[0, 1, 2]), X, y)
    assert np.isfinite(run.loss)
    assert run.loss > 0


@every
def test_the_model_is_the_same_as_after_partial_fit(cls):
    X, y = examples(cls, labels=3)
    run = progressive(default(cls), X, y)
    assert run.examples == len(y)
    assert (answers(run.model, X) == answers(default(cls).partial_fit(X, y), X)).all()


def test_curve_ends_at_the_figures_of_the_run():
    X, y = examples(seriatim.PA, n=1500)
    seen = []
    run = progressive(seriatim.PA(), X, y, watch=lambda run: seen.append(run.examples))
    assert seen[-1] == 1500
    assert 256 <= len(run.curve) <= 512
    at, rate = run.curve[-1]
    again = progressive(seriatim.PA(), X[:at], y[:at])
    assert rate == again.mistake_rate


@pytest.mark.parametrize("names", [(2, 1), (0, 1), ("a", "b"), ("b", "a"), (5, "a"), (False, True)])
@pytest.mark.parametrize("cls", [PA, Perceptron, AveragedPerceptron, VotedPerceptron, SoftSVM])
def test_mistakes_do_not_depend_on_what_labels_are_called(cls, names):
    """They are those of a loop that asks, is told, and learns."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3))
    for y in ([0] * 5 + [1] * 3 + rng.integers(0, 2, 32).tolist(), [0] * 40, [0, 1] * 20):
        labels = np.array([names[k] for k in y], dtype=object)
        model, wrong = cls(), 0
        for x, label in zip(X, labels, strict=True):
            guess = model.predict(x[None, :])[0] if model.__sklearn_is_fitted__() else None
            wrong += guess is None or guess != label
            model.partial_fit(x[None, :], np.array([label], dtype=object))
        assert evaluate.progressive(cls(), X, labels).mistakes == wrong


def test_of_the_signs_the_positive_is_predicted_first():
    X = np.array([[1.0], [2.0]])
    assert evaluate.progressive(PA(), X, [1, 1]).mistakes == 0
    assert evaluate.progressive(PA(), X, [-1, -1]).mistakes == 1
    assert evaluate.progressive(PA(classes=[0, 1]), X, [1, 1]).mistakes == 0


def test_the_curve_ends_with_the_run():
    X, y = np.random.default_rng(0).standard_normal((1237, 3)), np.arange(1237) % 2
    run = evaluate.progressive(PA(), X, y)
    assert run.curve[-1] == (1237, run.mistake_rate)


def told_late(model, X, y, delays):
    """Predict each, then learn those that become known, one by one; mistakes, confusions and the model."""
    wrong, pairs, waiting = 0, [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        guess = model.predict(x[None, :])[0] if model.__sklearn_is_fitted__() else None
        wrong += guess is None or guess != label
        pairs.append((label, guess))
        waiting.append((t + delays[t], t))
        for due, s in sorted(waiting):
            if due <= t:
                model.partial_fit(X[s : s + 1], y[s : s + 1])
        waiting = [(due, s) for due, s in waiting if due > t]
    for _, s in sorted(waiting):
        model.partial_fit(X[s : s + 1], y[s : s + 1])
    return wrong, pairs


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("kind", ["none", "fixed", "some", "long"])
@pytest.mark.parametrize("cls", [PA, SoftSVM, seriatim.AROW])
def test_labels_that_come_late(cls, kind, labels):
    """However the stream is divided, the count is that of a loop which keeps what waits."""
    X, y = examples(cls, n=90, labels=labels)
    rng = np.random.default_rng(labels)
    delays = {
        "none": np.zeros(90, int),
        "fixed": np.full(90, 7),
        "some": rng.integers(0, 12, 90),
        "long": rng.choice([0, 1, 300], 90),
    }[kind]
    model = default(cls)
    wrong, pairs = told_late(model, X, y, delays)
    whole = progressive(default(cls), X, y, delay=delays)
    assert whole.mistakes == wrong
    assert (whole.model.coef_ == model.coef_).all()
    assert whole.confusion.sum() == sum(guess is not None for _, guess in pairs)
    confusion = whole.confusion
    for label, guess in pairs:
        if guess is not None:
            confusion[whole.labels.index(label), whole.labels.index(guess)] -= 1
    assert not confusion.any()
    if kind == "fixed":
        fixed = progressive(default(cls), X, y, delay=7)
        assert (fixed.mistakes, fixed.loss) == (wrong, pytest.approx(whole.loss))
    blocks = [(as_rows(X[i : i + 13]), y[i : i + 13]) for i in range(0, 90, 13)]
    assert progressive(default(cls), blocks, delay=delays).mistakes == wrong


def test_delays_must_fit():
    X, y = examples(PA, n=20)
    for delays in (np.arange(5), np.full(20, -1), np.full(20, 0.5)):
        with pytest.raises(DataError, match="delays"):
            progressive(PA(), X, y, delay=delays)


def sign_told_late(model, X, y, delays):
    """Mistakes where -1 and 1 are predicted by the sign of the score, from the first example on."""
    wrong, waiting = 0, []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        score = model.decision_function(x[None, :])[0] if model.__sklearn_is_fitted__() else 0.0
        wrong += (1 if score >= 0 else -1) != label
        waiting.append((t + delays[t], t))
        for _, s in sorted(pair for pair in waiting if pair[0] <= t):
            model.partial_fit(X[s : s + 1], y[s : s + 1])
        waiting = [pair for pair in waiting if pair[0] > t]
    return wrong


@pytest.mark.parametrize("delay", [1, 5, 200, "some"])
@pytest.mark.parametrize("first", [-1, 1])
def test_signs_that_come_late_are_predicted_from_the_first_on(first, delay):
    X, y = examples(PA, n=60)
    y = np.where(y == y.max(), 1, -1)
    y[:9] = first
    delays = np.random.default_rng(0).integers(0, 12, 60) if delay == "some" else np.full(60, delay)
    wrong = sign_told_late(PA(), X, y, delays)
    assert progressive(PA(), X, y, delay=delays).mistakes == wrong
    assert progressive(PA(), X, y, delay=delays, every=7, held_out=(X, y)).mistakes == wrong
    if delay != "some":
        assert progressive(PA(), X, y, delay=delay).mistakes == wrong


def test_labels_that_come_late_are_those_of_the_stream_and_not_of_the_block():
    """1 is one of the signs, until 2 is known."""
    X, y = np.ones((6, 1)), [1, 2, 1, 2, 1, 2]
    pieces = [(as_rows(X[i : i + 1]), np.array(y[i : i + 1])) for i in range(6)]
    runs = [progressive(PA(), X, y, delay=2), progressive(PA(), pieces, delay=2)]
    assert [(run.mistakes, run.loss, run.confusion.tolist()) for run in runs[1:]] == [
        (runs[0].mistakes, runs[0].loss, runs[0].confusion.tolist())
    ]


@pytest.mark.parametrize("names", [(0, 1, 2, 3), (1, 2, 3, 4), (-1, 1, 2, 3), ("a", "b", "c", "d")])
@pytest.mark.parametrize("labels", [1, 2, 3, 4])
@pytest.mark.parametrize("cls", [PA, seriatim.AROW])
def test_labels_that_do_not_come_late(cls, labels, names):
    """A delay of 0 for each is none: a label that is new has the score 0, and loses to its strongest rival by that."""
    rng = np.random.default_rng(labels)
    X, y = rng.standard_normal((80, 3)), np.array(names)[rng.integers(0, labels, 80)]
    asked = ["f1", "mean-loss:hinge"]
    at_once, late = (progressive(cls(), X, y, delay=delay, metrics=asked) for delay in (0, np.zeros(80, int)))
    assert (late.mistakes, late.loss) == (at_once.mistakes, pytest.approx(at_once.loss))
    assert late.figures == pytest.approx(at_once.figures)
    assert late.confusion.tolist() == at_once.confusion.tolist()


def test_features_of_a_stream_whose_labels_come_late():
    stream = {
        delay: data.stream("spam", features=Features(normalize="max"), delay=delay, limit=500) for delay in (0, 3)
    }
    model = PA(features=Features(normalize="max"))
    assert progressive(PA(), stream[3]).mistakes == progressive(model, stream[0], delay=3).mistakes
    told = progressive(PA(), stream[3]).model
    assert told.features is None
    assert told.features_ == model.features_ == Features(normalize="max")


@every
def test_what_is_warm_up_is_not_counted(cls):
    X, y = examples(cls, labels=3)
    whole, late = progressive(default(cls), X, y), progressive(default(cls), X, y, warm_up=40)
    early = progressive(default(cls), X[:40], y[:40])
    assert late.examples == len(y) - 40
    assert late.mistakes is None or late.mistakes == whole.mistakes - early.mistakes
    assert late.loss == pytest.approx(whole.loss - early.loss)
    assert (answers(late.model, X) == answers(whole.model, X)).all()


@classifiers
@pytest.mark.parametrize("labels", [4, pytest.param(2, marks=pytest.mark.slow)])
def test_confusions_and_metrics_are_those_of_the_predictions(cls, labels):
    """Asked one by one; the first example, of which nothing could be predicted, is in no cell, and a mistake."""
    X, y = examples(cls, labels=labels, n=60)
    y = np.array(["d", "b", "c", "a"])[y]  # the higher label of two comes to be known later or earlier
    run = progressive(default(cls), X, y, metrics=["f1:macro", "accuracy", "cumulative-loss"], window=20, fade=0.9)
    model, guesses = default(cls).partial_fit(X[:1], y[:1]), []
    for x, label in zip(X[1:], y[1:], strict=True):
        guesses.append(model.predict(x[None, :])[0])
        model.partial_fit(x[None, :], [label])
    confusion = metrics.Confusion().update(y[1:], guesses)
    assert run.labels == confusion.labels
    assert (run.confusion == confusion.value).all()
    right = np.array([False, *(y[1:] == guesses)])
    assert run.figures["accuracy"] == pytest.approx(right.mean())
    f1 = f1_score(y, ["nothing", *guesses], labels=run.labels, average="macro")
    assert run.figures["f1 (macro)"] == pytest.approx(f1, rel=1e-12)
    assert run.figures["cumulative loss"] == pytest.approx(run.loss)
    assert run.figures["accuracy, last 20"] == right[-20:].mean()
    assert run.figures["accuracy, fading 0.9"] == pytest.approx(np.average(right, weights=0.9 ** np.arange(59, -1, -1)))
    assert run.curves["accuracy, last 20"][49] == (50, right[30:50].mean())
    blocks = [(as_rows(X[i : i + 7]), y[i : i + 7]) for i in range(0, 60, 7)]
    asked = {"metrics": ["f1:macro", "accuracy", "cumulative-loss"], "window": 20, "fade": 0.9}
    again = progressive(default(cls), blocks, **asked)
    assert again.curves.keys() == run.curves.keys()
    asked_for = progressive(default(cls), blocks, **asked, at=[10, 50]).curves
    assert [t for t, _ in asked_for["accuracy"]] == [10, 50, 60]
    for name, curve in again.curves.items():
        assert [t for t, _ in curve] == [t for t, _ in run.curves[name]]
        assert [value for _, value in curve] == pytest.approx([value for _, value in run.curves[name]])


@pytest.mark.parametrize("names", [(0, 1), ("b", "a"), ("a", "b"), (2, 1)])
def test_auc_of_a_run(names):
    """Also where the first examples have one label, which turns out to be the higher one or the lower."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3))
    y = np.array(names, dtype=object)[[0] * 10 + rng.integers(0, 2, 190).tolist()]
    run = progressive(PA(), X, y, metrics=["auc", "mean-loss:logistic"])
    higher = sorted(names)[1]
    model, scores = PA(classes=sorted(names)), []
    for x, label in zip(X, y, strict=True):
        scores.append(model.decision_function(x[None, :])[0] if model.__sklearn_is_fitted__() else 0.0)
        model.partial_fit(x[None, :], np.array([label], dtype=object))
    truth = np.array([label == higher for label in y])
    assert run.figures["auc"] == pytest.approx(roc_auc_score(truth, scores))
    losses = np.logaddexp(0, -np.where(truth, 1, -1) * scores)
    assert run.figures["mean loss (logistic)"] == pytest.approx(losses.mean())


def test_places_of_the_curve():
    X, y = examples(PA, n=1000)
    assert [t for t, _ in progressive(PA(), X, y, every=300).curve] == [300, 600, 900, 1000]
    at = [1, 2, 500, 2000]
    assert [t for t, _ in progressive(PA(), X, y, at=at).curve] == [1, 2, 500, 1000]
    whole = dict(progressive(PA(), X, y, every=1).curve)
    assert len(whole) == 1000
    for t, rate in progressive(PA(), X, y).curve:
        assert whole[t] == rate
    pieces = [(as_rows(X[i : i + 7]), y[i : i + 7]) for i in range(0, 1000, 7)]
    assert progressive(PA(), pieces).curve == progressive(PA(), X, y).curve


def test_a_held_out_set_at_checkpoints():
    """It is predicted by the model as it was then, and never learned."""
    X, y = examples(PA, n=300)
    rest = X[200:], y[200:]
    run = progressive(PA(), X[:200], y[:200], held_out=rest)
    assert [t for t, _ in run.held_out_curve] == [1, 2, 4, 8, 16, 32, 64, 128, 200]
    for t, rate in run.held_out_curve:
        model = PA().partial_fit(X[:t], y[:t])
        assert rate == pytest.approx((model.predict(rest[0]) != rest[1]).mean())
    again = progressive(PA(), X[:200], y[:200], held_out=[(as_rows(rest[0]), rest[1])], every=64)
    assert [t for t, _ in again.held_out_curve] == [64, 128, 192, 200]
    late = progressive(PA(), X[:200], y[:200], held_out=rest, delay=5)
    assert late.held_out_curve[-1] == run.held_out_curve[-1]
    assert late.held_out_curve[0][0] == 8
    bare = progressive(PA(), X[:200], y[:200])
    assert (bare.mistakes, bare.loss) == (run.mistakes, run.loss)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["rmse"]}, "rmse is a metric of regression; PA does classification"),
        ({"metrics": ["log-loss"]}, "does not learn by the logistic loss"),
        ({"warm_up": -1}, "at least 0"),
        ({"every": 0}, "at least 1"),
        ({"at": [0, 10]}, "at least 1"),
        ({"window": 0}, "at least 1"),
        ({"fade": 2}, "at most 1"),
        ({"delay": -1}, "whole number from 0 on"),
        ({"delay": 1.5}, "whole number from 0 on"),
        ({"warm_up": 1.5}, "whole number, at least 0"),
        ({"every": 2.5}, "whole number, at least 1"),
        ({"at": [2.5]}, "whole numbers, at least 1"),
        ({"at": 5}, "list of whole numbers"),
        ({"at": [5], "every": 2}, "every and at: take one of them"),
        ({"held_out": np.zeros((3, 2))}, "must be .X, y., or a stream"),
        ({"held_out": (np.zeros((3, 2)),)}, "must be .X, y., or a stream"),
        ({"held_out": "spam"}, "must be .X, y., or a stream"),
        ({"held_out": iter([])}, "many times"),
        ({"held_out": data.stream(block for block in ())}, "many times"),
    ],
)
def test_bad_options(options, message):
    X, y = examples(PA, n=20)
    with pytest.raises(ParameterError, match=message):
        progressive(PA(), X, y, **options)


@pytest.mark.parametrize(
    ("held_out", "message"),
    [
        (lambda X, y: (X, y[:3]), "held_out: .*3.*20"),
        (lambda X, y: (X, None), "held_out: "),
        (lambda X, y: (X[:, 1:], y), "held_out: X has 19 features, and the rows to be learned have 20"),
        (lambda X, y: (np.where(X[3, 1] == X, np.nan, X), y), "held_out: row 3, column 1: the value NaN is not finite"),
        (lambda X, y: [(X, y)], "held_out: expected X and y, or a stream"),
        (lambda X, y: [(as_rows(X), y), (as_rows(X), y[:3])], "examples 21 to 40: "),
    ],
)
@pytest.mark.parametrize("delay", [0, 2])
def test_what_is_held_out_is_checked_before_anything_is_learned(held_out, message, delay):
    X, y = np.random.default_rng(0).normal(size=(20, 20)), np.arange(20) % 2
    model = PA()
    with pytest.raises(DataError, match=message):
        progressive(model, X, y, held_out=held_out(X, y), delay=delay)
    assert not model.__sklearn_is_fitted__()


@pytest.mark.parametrize("asked", [{"metrics": ["auc"]}, {"metrics": [metrics.Windowed(metrics.AUC(), 5)]}])
def test_auc_of_three_labels_is_refused_before_anything_is_learned(asked):
    X, y = np.ones((6, 1)), np.arange(6) % 3
    model = PA()
    with pytest.raises(DataError, match="auc: there are 3 labels"):
        progressive(model, X, y, **asked)
    assert not model.__sklearn_is_fitted__()
    model.partial_fit(X[:2], y[:2])
    with pytest.raises(DataError, match="auc: there are 3 labels"):
        progressive(model, X[2:4], y[2:4], **asked)
    assert model.t_ == 2


def test_one_metric_needs_no_list():
    X, y = examples(PA, n=20)
    figures = progressive(PA(), X, y, metrics=["f1"]).figures
    assert progressive(PA(), X, y, metrics="f1").figures == figures
    assert progressive(PA(), X, y, metrics=metrics.F1()).figures == figures


@pytest.mark.slow
def test_many_labels_are_counted_in_good_time():
    """Each that comes moves the counts of all others; 1,100 are too many for a table."""
    X, y = np.ones((1100, 1)), np.arange(1100)
    run = progressive(PA(), X, y)
    assert (run.mistakes, run.labels, run.confusion) == (1100, y.tolist(), None)


def test_what_a_judge_is_given_must_fit():
    judge = Judge("hinge")
    judge.segment(["a", "b", "c"], [0, 1, 2], False)
    for targets, scores in ((3, (2, 3)), (2, (2, 2)), (2, (2, 0))):
        with pytest.raises(ValueError, match="scores"):
            judge.push(np.zeros(targets), np.zeros(scores))
    judge.segment(["a", "b", "c"], [0, 3], False)
    with pytest.raises(ValueError, match="class 3 of 3"):
        judge.push(np.zeros(2), np.zeros((2, 3)))
    assert judge.examples == 0


def test_windows_of_ones_own():
    """A metric of a window, or a fading one, can be asked for by itself, and is not had of a window again."""
    X, y = examples(seriatim.OGDRegressor)
    asked = [metrics.Windowed(metrics.RMSE(), 9), metrics.Fading(metrics.MAE(), 0.9)]
    run = progressive(seriatim.OGDRegressor(), X, y, metrics=asked)
    both = progressive(seriatim.OGDRegressor(), X, y, metrics=["rmse", "mae"], window=9, fade=0.9)
    assert run.figures == {name: both.figures[name] for name in ("rmse, last 9", "mae, fading 0.9")}
    assert len(progressive(seriatim.OGDRegressor(), X, y, metrics=asked, window=5, fade=0.5).figures) == 4
    with pytest.raises(ParameterError, match="metric of regression"):
        progressive(PA(), X, y, metrics=asked)


@pytest.mark.parametrize("model", ["pa", PA])
def test_what_is_no_model(model):
    with pytest.raises(ParameterError, match="is not a model, such as"):
        progressive(model, [[1.0]], [1])


def test_log_loss_of_a_run_is_its_mean_loss():
    X, y = examples(seriatim.OGD)
    run = progressive(seriatim.OGD(loss="logistic"), X, y, metrics=["log-loss"])
    assert run.figures["log loss"] == pytest.approx(run.mean_loss)


def test_the_size_of_a_model():
    X, y = examples(PA, n=50)
    run = progressive(PA(), np.c_[X, np.zeros(50)], y)
    assert run.nonzeros == np.count_nonzero(run.model.coef_) < run.features
    assert run.bytes >= 8 * run.features
    assert run.summary()["support_vectors"] is None


def test_places_as_large_as_numbers_are():
    """After a warm-up, too, which is when examples learned are more than those counted."""
    X, y = data.load("spam")
    for places in ({"every": sys.maxsize}, {"at": [2**62 - 1]}):
        run = progressive(PA(), X, y, warm_up=1, **places)
        assert (run.examples, [t for t, _ in run.curve]) == (4600, [4600])


def test_a_margin_beyond_all_numbers_costs_nothing():
    X = np.array([[1e50], [-1e50]] * 40)
    model = OGD(eta=1e300, schedule="constant", fit_intercept=False)
    run = progressive(model, X, np.sign(X[:, 0]).astype(int), metrics=["cumulative-loss:hinge"])
    assert np.isinf(model.decision_function(X)).all()
    assert run.loss == run.figures["cumulative loss (hinge)"] < np.inf


def test_the_held_out_curve_has_the_places_of_the_others():
    X, y = data.load("spam")
    held_out = X[300:400], y[300:400]
    run = progressive(PA(), X[:300], y[:300], warm_up=110, every=50, held_out=held_out)
    assert [t for t, _ in run.curve] == [t for t, _ in run.held_out_curve] == [50, 100, 150, 190]
    model = PA().partial_fit(X[:160], y[:160])
    assert run.held_out_curve[0][1] == pytest.approx(1 - model.score(*held_out))


def test_a_run_of_nothing_has_no_rate():
    run = progressive(PA(), [[1.0]], [1], warm_up=1)
    assert (run.examples, run.mistakes) == (0, 0)
    assert np.isnan([run.mistake_rate, run.mean_loss]).all()


@pytest.mark.parametrize(
    "options",
    [{"window": 2.5}, {"window": "a"}, {"fade": "x"}, {"at": ["a"]}, {"at": [np.inf]}, {"at": [2**70]}, {"metrics": 3}],
    ids=str,
)
def test_what_cannot_be_asked_is_refused_before_anything_is_learned(options):
    model = PA()
    with pytest.raises(ParameterError, match="must be"):
        progressive(model, [[1.0], [2.0]], [0, 1], **options)
    assert not model.__sklearn_is_fitted__()


def test_metrics_with_other_arguments_have_other_names():
    X, y = data.load("spam")
    asked = ["sum", "sum:0.1", "sum:0.9", "cost", "cost:spam:nonspam=5", "cost:nonspam:spam=5"]
    assert len(progressive(PA(), X[:200], y[:200], metrics=asked).figures) == 6


def test_what_made_the_rows_is_kept_and_no_parameter(tmp_path):
    """The stream's features are those of all that the model sees later: frames, dicts, copies, the saved file."""
    rng = np.random.default_rng(0)
    lines = [f"{w},{v:.3f},{'spam' if w == 'buy now' else 'ham'}" for w, v in zip(
        rng.choice(["buy now", "see you"], 60), 5 + rng.standard_normal(60), strict=True
    )]  # fmt: skip
    (tmp_path / "mail.csv").write_text("\n".join(["text,size,label", *lines]))
    how = Features(text=("text",), normalize="standard")
    model = progressive(PA(), data.stream(tmp_path / "mail.csv", features=how)).model
    assert (model.get_params()["features"], model.features_) == (None, how)
    told = progressive(PA(features=how), data.stream(tmp_path / "mail.csv", features=how)).model
    one = {"text": "buy it", "size": 4.5}
    model.save(tmp_path / "model")
    for same in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), seriatim.load(tmp_path / "model")):
        assert same.features_ == how
        assert same.score_one(one) == told.score_one(one) != 0
        frame = pandas.DataFrame([one])
        assert same.decision_function(frame) == told.decision_function(frame)
        same.learn_one(one, "ham")
    assert clone(model).features_ == Features()
