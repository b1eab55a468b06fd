"""Each metric equals scikit-learn's on random streams, however the stream is divided, windowed and faded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from seriatim import OGD
from seriatim.errors import DataError, ParameterError
from seriatim.evaluate import metrics, progressive
from seriatim.evaluate.metrics import (
    AUC,
    F1,
    MAE,
    NDCG,
    R2,
    RMSE,
    Confusion,
    Cost,
    Fading,
    LogLoss,
    MeanLoss,
    Windowed,
    metric,
)

LABELS = {"two": ["ham", "spam"], "numbers": [0, 1], "many": [3, 1, "b", "a", 2]}


def labels(rng, names, n, share=0.6):
    """What is true, and what was predicted: more often right than not."""
    truth = rng.integers(0, len(names), n)
    guess = np.where(rng.random(n) < share, truth, rng.integers(0, len(names), n))
    array = np.array(names, dtype=object if len({type(name) for name in names}) > 1 else None)
    return array[truth], array[guess]


def text(y):
    """scikit-learn does not sort labels of several types: as text they are told apart as well."""
    return np.array([str(one) for one in y])


THEIRS = {
    "mistake-rate": lambda y, p, **w: 1 - sk.accuracy_score(y, p, **w),
    "accuracy": sk.accuracy_score,
    "precision:macro": lambda y, p, **w: sk.precision_score(y, p, average="macro", zero_division=0, **w),
    "precision:micro": lambda y, p, **w: sk.precision_score(y, p, average="micro", **w),
    "recall:macro": lambda y, p, **w: sk.recall_score(y, p, average="macro", zero_division=0, **w),
    "recall:micro": lambda y, p, **w: sk.recall_score(y, p, average="micro", **w),
    "f1:macro": lambda y, p, **w: sk.f1_score(y, p, average="macro", **w),
    "f1:micro": lambda y, p, **w: sk.f1_score(y, p, average="micro", **w),
    "balanced-accuracy": sk.balanced_accuracy_score,
}
BINARY = {
    "precision": lambda y, p, **w: sk.precision_score(y, p, pos_label=max(y), zero_division=0, **w),
    "recall": lambda y, p, **w: sk.recall_score(y, p, pos_label=max(y), **w),
    "f1": lambda y, p, **w: sk.f1_score(y, p, pos_label=max(y), **w),
    "sensitivity": lambda y, p, **w: sk.recall_score(y, p, pos_label=max(y), **w),
    "specificity": lambda y, p, **w: sk.recall_score(y, p, pos_label=min(y), **w),
    "sum": sk.balanced_accuracy_score,
}
NUMBERS = {
    "mae": sk.mean_absolute_error,
    "rmse": sk.root_mean_squared_error,
    "r2": sk.r2_score,
}


def divided(one, *arrays, sizes=(1, 2, 7, 30)):
    """The metric when it has been told of the arrays in pieces."""
    begin, n = 0, len(arrays[0])
    for size in [*sizes, n]:
        if begin < n:
            one.update(*(array[begin : begin + size] for array in arrays))
            begin += size
    return one.value


@pytest.mark.parametrize("names", LABELS.values(), ids=list(LABELS))
@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize("seed", range(5))
def test_of_labels(name, names, seed):
    y, guess = labels(np.random.default_rng(seed), names, 200)
    assert divided(metric(name), y, guess) == pytest.approx(THEIRS[name](text(y), text(guess)), abs=1e-12)


@pytest.mark.parametrize("names", [LABELS["two"], LABELS["numbers"]], ids=["names", "numbers"])
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("seed", range(5))
def test_of_two_labels(name, names, seed):
    y, guess = labels(np.random.default_rng(seed), names, 150)
    assert divided(metric(name), y, guess) == pytest.approx(BINARY[name](y, guess), abs=1e-12)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_of_numbers(name, offset):
    rng = np.random.default_rng(3)
    y = offset + rng.standard_normal(300)
    guess = y + 0.5 * rng.standard_normal(300)
    assert divided(metric(name), y, guess) == pytest.approx(NUMBERS[name](y, guess), rel=1e-9)


@pytest.mark.parametrize("kind", LABELS)
def test_confusion(kind):
    y, guess = labels(np.random.default_rng(1), LABELS[kind], 200)
    confusion = Confusion()
    divided(confusion, y, guess)
    order = text(confusion.labels)
    assert (confusion.value == sk.confusion_matrix(text(y), text(guess), labels=order)).all()
    theirs = sk.confusion_matrix(text(y), text(guess), labels=order, normalize="true")
    assert confusion.normalized == pytest.approx(theirs)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(2, 300), st.integers(1, 40))
def test_auc(seed, n, distinct):
    """Also with many ties."""
    rng = np.random.default_rng(seed)
    y, scores = np.r_[0, 1, rng.integers(0, 2, n - 2)], rng.integers(0, distinct, n) / 7
    auc = AUC()
    assert divided(auc, y, y, scores) == pytest.approx(sk.roc_auc_score(y, scores), abs=1e-12)
    assert auc.error == 0


@pytest.mark.parametrize("capacity", [16, 64, 1000])
def test_auc_beyond_its_capacity_is_within_its_error(capacity):
    rng = np.random.default_rng(capacity)
    y = rng.integers(0, 2, 20_000)
    scores = rng.standard_normal(20_000) + y
    auc = AUC(capacity)
    divided(auc, y, y, scores, sizes=(5, 500, 3000, 3000))
    assert len(auc.scores) <= capacity
    assert 0 < abs(auc.value - sk.roc_auc_score(y, scores)) <= auc.error < 4 / capacity


@pytest.mark.parametrize("seed", range(60))
def test_auc_of_few_cells_is_within_its_error(seed):
    """What comes between two scores that have been merged cannot be told from them."""
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, rng.integers(0, 2, 150)]
    scores = rng.standard_normal(152) + y * rng.random()
    auc = AUC(capacity=int(rng.integers(2, 12)))
    for begin in range(0, 152, 5):
        auc.update(y[begin : begin + 5], y[begin : begin + 5], scores[begin : begin + 5])
    assert abs(auc.value - sk.roc_auc_score(y, scores)) <= auc.error + 1e-12


@pytest.mark.parametrize("delay", [0, 1, 30])
@pytest.mark.parametrize("head", [0, 1])
@pytest.mark.parametrize("names", [(0, 1), (1, 2), (-1, 1), (-3, -1), (-1, 5), ("a", "b")])
def test_which_label_is_positive_does_not_depend_on_which_came_first(names, head, delay):
    """Of two labels it is the higher one, also where 1 comes first, which is then taken for a sign."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    z = (X[:, 0] + 0.5 * rng.standard_normal(200) > 0).astype(int)
    z[:20] = head
    X[5] *= -9
    asked = [AUC(), F1(), metric("sensitivity"), Confusion()]
    run = progressive(OGD(), X, np.array(names)[z], metrics=asked, delay=delay)
    auc, f1, sensitivity, confusion = run.followed
    told = progressive(OGD(classes=names), X, np.array(names)[z], metrics=asked, delay=delay).followed
    counts, k = confusion.counts, confusion.labels.index(names[1])
    assert {*names} <= {*confusion.labels} <= {*names, -1, 1}
    assert counts.sum() >= 200 - delay - 1
    true = counts[k].sum() + confusion.missed[k]
    assert counts.sum() + confusion.missed.sum() == 200
    assert f1.value == pytest.approx(2 * counts[k, k] / (true + counts[:, k].sum()))
    assert sensitivity.value == pytest.approx(counts[k, k] / true)
    assert auc.counts.sum(axis=0).tolist() == [200 - z.sum(), z.sum()]
    assert auc.value == pytest.approx(told[0].value)


@pytest.mark.parametrize("delay", [0, 90])
@pytest.mark.parametrize("classes", [2, 3])
def test_where_nothing_was_predicted_all_metrics_see_a_mistake(classes, delay):
    """As scikit-learn has it where that is a label of its own, which is never true and no label to be averaged over."""
    rng = np.random.default_rng(delay)
    X = rng.standard_normal((300, 4))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :classes], axis=1)]
    one_by_one, told = OGD(), []
    for t in range(300):
        told.append(str(one_by_one.predict(X[t : t + 1])[0]) if t > delay else "-")
        if t >= delay:
            one_by_one.partial_fit(X[t - delay : t - delay + 1], y[t - delay : t - delay + 1])
    known = sorted({*y})
    theirs = {
        "accuracy": sk.accuracy_score(y, told),
        "recall:macro": sk.recall_score(y, told, labels=known, average="macro"),
        "precision:macro": sk.precision_score(y, told, labels=known, average="macro"),
        "f1:macro": sk.f1_score(y, told, labels=known, average="macro"),
        "f1:micro": sk.f1_score(y, told, labels=known, average="micro"),
        "balanced-accuracy": sk.recall_score(y, told, labels=known, average="macro"),
        "sensitivity:b": sk.recall_score(y == "b", [one == "b" for one in told]),
        "specificity:b": np.mean([(one not in "b-") for one, true in zip(told, y, strict=True) if true != "b"]),
        "cost": np.sum(y != told),
    }
    run = progressive(OGD(), X, y, metrics=[*theirs], delay=delay)
    assert [*run.figures.values()] == pytest.approx([*theirs.values()], rel=1e-12)


@pytest.mark.parametrize("first", ["a", "b"])
def test_auc_of_a_label_that_is_long_alone(first):
    """No more is kept of it than of two, and its examples count when the other one comes."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(5000)
    model = OGD(fit_intercept=False, eta=1e-9)
    run = progressive(model, scores[:, None], [first] * 4990 + ["a", "b"] * 5, metrics=[AUC(100), AUC()])
    few, exact = run.followed
    assert len(few.scores) <= 100
    assert few.counts.sum() == exact.counts.sum() == 5000
    assert exact.counts.sum(axis=0).tolist() == ([4995, 5] if first == "a" else [5, 4995])
    assert abs(few.value - exact.value) <= few.error
    alone = progressive(OGD(), scores[:, None], [first] * 5000, metrics=[AUC(100)])
    assert (len(alone.followed[0].scores) <= 100, alone.figures["auc"]) == (True, None)


def test_log_loss():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 100), rng.random(100)
    assert divided(LogLoss(), y, y, p) == pytest.approx(sk.log_loss(y, p))
    y, p = rng.integers(0, 4, 100), rng.dirichlet(np.ones(4), 100)
    assert LogLoss().update(y, y, p).value == pytest.approx(sk.log_loss(y, p))


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_loss_of_scores(loss):
    """The margin is that of the sign, or over the strongest rival."""
    rng = np.random.default_rng(0)
    of = {
        "hinge": lambda m: np.maximum(0, 1 - m),
        "logistic": lambda m: np.log1p(np.exp(-m)),
        "squared_hinge": lambda m: np.maximum(0, 1 - m) ** 2 / 2,
    }[loss]
    y, score = rng.integers(0, 2, 50), rng.standard_normal(50)
    assert MeanLoss(loss).update(y, y, score).value == pytest.approx(of((2 * y - 1) * score).mean())
    y, scores = rng.integers(0, 3, 50), rng.standard_normal((50, 3))
    rivals = np.where(np.arange(3) == y[:, None], -np.inf, scores).max(axis=1)
    assert MeanLoss(loss).update(y, y, scores).value == pytest.approx(of(scores[np.arange(50), y] - rivals).mean())


def test_cost_counts_each_confusion():
    y, guess = ["a", "a", "b", "c"], ["b", "c", "a", "c"]
    assert Cost().update(y, guess).value == 3
    assert Cost({("a", "b"): 4, ("b", "a"): 0.5}).update(y, guess).value == 5.5
    assert metric("cost:a:b=4,b:a=0.5").update(y, guess).value == 5.5


WINDOWED = {**THEIRS, **BINARY}


@pytest.mark.parametrize("name", WINDOWED)
@pytest.mark.parametrize("size", [1, 20, 64, 1000])
def test_a_window_is_the_metric_of_the_last_examples(name, size):
    y, guess = labels(np.random.default_rng(size), [0, 1], 150)
    y[-2:] = 0, 1  # so that both are there in a small window, too
    expected = metric(name).update(y[-size:], guess[-size:]).value
    assert divided(Windowed(metric(name), size), y, guess) == expected


@pytest.mark.parametrize("factor", [0.5, 0.97, 1.0])
@pytest.mark.parametrize("name", {**WINDOWED, **NUMBERS})
def test_fading_is_the_metric_with_weights(name, factor):
    rng = np.random.default_rng(5)
    y, guess = labels(rng, [0, 1], 100)
    if name in NUMBERS:
        y, guess = y + rng.standard_normal(100), guess + 0.0
    weights = factor ** np.arange(99, -1, -1)
    theirs = {**WINDOWED, **NUMBERS}[name](y, guess, sample_weight=weights)
    assert divided(Fading(metric(name), factor), y, guess) == pytest.approx(theirs, rel=1e-9)


def test_fading_auc():
    rng = np.random.default_rng(5)
    y, scores = rng.integers(0, 2, 100), rng.integers(0, 9, 100)
    theirs = sk.roc_auc_score(y, scores, sample_weight=0.9 ** np.arange(99, -1, -1))
    assert divided(Fading(AUC(), 0.9), y, y, scores) == pytest.approx(theirs, abs=1e-12)


def test_nothing_to_say_is_none():
    assert [kind().value for kind in (F1, AUC, R2, LogLoss, Cost)] == [None] * 5
    assert metric("specificity").update([0, 0], [1, 0]).value == 0.5
    assert metric("specificity").update([1, 1], [1, 0]).value is None
    assert metric("sum").update([0, 0], [0, 0]).value is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("f2", "no metric is called 'f2'; there are mistake-rate, accuracy"),
        ("mean-loss:big", "must be one of hinge"),
        ("sum:2", "from 0 to 1"),
        ("accuracy:2", "does not accept the argument '2'"),
    ],
)
def test_bad_names(name, message):
    with pytest.raises(ParameterError, match=message):
        metric(name)


@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
def test_the_positive_label_by_name(name):
    y, guess = labels(np.random.default_rng(3), ["ham", "spam"], 50)
    for label in ("ham", "spam"):
        found = metric(f"{name}:{label}")
        assert (str(found), found.named) == (f"{name} ({label})", [label])
        theirs = getattr(sk, f"{name}_score")(y, guess, pos_label=label)
        assert found.update(y, guess).value == pytest.approx(theirs)
    assert metric(f"{name}:0").positive == 0
    with pytest.raises(ParameterError, match="must be 'positive', 'macro' or 'micro'"):
        type(metric(name))("most")


def test_labels_that_do_not_occur_are_told():
    assert (
        metric("sensitivity:most")
        .trouble(["ham", "spam"])
        .endswith("no example has the label most; there are ham, spam")
    )
    assert "label most" in metric("cost:ham:most=5").trouble(["ham", "spam"])
    assert "label 7" in metric("f1:7").trouble([*range(5)])
    assert metric("f1:4").trouble([*range(5)]) is None
    assert metric("f1").trouble([]) is None


def test_what_needs_scores_says_so():
    with pytest.raises(DataError, match="auc needs scores"):
        AUC().update([0, 1], [0, 1])
    with pytest.raises(DataError, match="more than two labels"):
        AUC().update([0, 1, 2], [0, 1, 2], [0.1, 0.2, 0.3])
    with pytest.raises(ParameterError, match="must be a whole number, at least 1"):
        Windowed(F1(), 0)
    with pytest.raises(ParameterError, match="at most 1"):
        Fading(F1(), 1.5)


@pytest.mark.parametrize(
    ("one", "given", "message"),
    [
        (MAE(), ([1.0, 2.0, 3.0], [1.0]), "1 predictions for 3 examples"),
        (F1(), ([0, 1], [0]), "1 predictions for 2 examples"),
        (MAE(), ([1.0, np.nan], [1.0, 2.0]), "y: example 1: the value nan is not finite"),
        (RMSE(), ([1.0, 2.0], [1.0, np.inf]), "predictions: example 1: the value inf is not finite"),
        (R2(), (["a"], [1.0]), "y: must be numbers"),
        (MAE(), (1.0, 1.0), "shape"),
        (Windowed(MAE(), 2), ([1.0, 2.0], [1.0]), "1 predictions for 2 examples"),
        (AUC(), ([0, 1], [0, 1], [0.1, np.nan]), "scores: example 1: the value nan is not finite"),
        (AUC(), ([0, 1], [0, 1], [0.1]), r"scores have shape \(1,\); for 2 examples it must be \(2,\)"),
        (AUC(), ([0, 1], [0, 1], ["a", "b"]), "scores: must be numbers"),
        (LogLoss(), ([0, 1], [0, 1], [0.5, 3.0]), "3 is no probability"),
        (LogLoss(), ([0, 1, 2], [0, 1, 2], np.full((3, 2), 0.5)), "scores of 2 columns"),
        (MeanLoss("hinge"), ([0, 1], [0, 1]), "needs scores"),
        (MeanLoss(), ([1.5], [1.0]), "say which loss"),
        (NDCG(2), ([1.0, 2.0], [1.0, np.nan], [0, 0]), "not finite"),
        (NDCG(2), ([1.0, 2.0], [1.0, 2.0], [0]), "shape"),
    ],
    ids=str,
)
def test_what_cannot_be_judged_is_refused_and_leaves_no_trace(one, given, message):
    before = one.value
    with pytest.raises(DataError, match=message):
        one.update(*given)
    assert (one.value, [*one.known]) == (before, [])


@pytest.mark.parametrize(("loss", "mean"), [("squared", 0.3125), ("absolute", 0.75), ("epsilon_insensitive", 0.65)])
def test_losses_of_numbers(loss, mean):
    y, guess = [1.5, 2.0], [1.0, 3.0]
    assert MeanLoss(loss).update(y, guess).value == pytest.approx(mean)
    assert metric(f"cumulative-loss:{loss}").update(y, guess).value == pytest.approx(2 * mean)


def test_every_metric_says_what_it_is():
    for kind in metrics.METRICS.values():
        assert kind.__doc__ and "\n" not in kind.__doc__.split(".")[0].strip()[:40]
