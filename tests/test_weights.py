"""Sample weights: the promises of all algorithms that accept them, and each update against its transcription."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import accuracy_score, r2_score

from seriatim import OGD, PA, AveragedPerceptron, OGDRegressor, PARegressor, Perceptron, SoftSVM, evaluate
from seriatim.errors import DataError, ParameterError
from seriatim.estimator import as_rows
from tests.cases import looped
from tests.test_contract import (
    ALGORITHMS,
    BY_NUMBER,
    Unchanged,
    all_finite,
    as_dicts,
    assert_same_state,
    close,
    examples,
    numbers_of_labels,
    scores,
)
from tests.test_contract import settings as all_settings


def settings(weighted):
    """Test (cls, parameters) of the algorithms that accept weights, or of those that refuse them."""
    chosen = {
        cls: [one for one in all_settings(cls) if cls(**one).build().weighted == weighted]
        for cls in ALGORITHMS.values()
    }
    every_class = pytest.mark.parametrize("cls", [pytest.param(cls, id=cls.__name__) for cls in chosen if chosen[cls]])
    return lambda test: every_class(looped("parameters", chosen.get)(test))


def learns_from_zeros(cls, parameters):
    """Whether the model has an intercept or a threshold in addition to the weights."""
    return cls.__name__ in ("LASVM", "NORMANovelty") or parameters.get("nu") is not None


def weights_of(n, seed=5):
    """Small and large weights, with ones and zeros."""
    rng = np.random.default_rng(seed)
    return rng.choice([0.0, 1.0, 1.0, 0.25, 3.0, 7.5], n)


# ---- promises of all algorithms


@settings(weighted=True)
@looped("labels", numbers_of_labels(2, 4))
def test_a_weight_of_one_is_no_weight(cls, parameters, labels):
    X, y = examples(cls, labels=labels)
    plain = cls(**parameters).partial_fit(X, y)
    assert_same_state(cls(**parameters).partial_fit(X, y, sample_weight=np.ones(90)), plain)
    rows = as_rows(np.vstack([X, X[:1]])).check()
    rows.weights = [1.0] * 90 + [2.0]  # weights that are all 1 would count as no weights
    model = cls(**parameters)
    model.learn_rows(rows.slice(0, 90), model.as_targets(y, 90))
    assert_same_state(model, plain)


@settings(weighted=True)
@looped("labels", numbers_of_labels(2, 4))
def test_division_into_calls_does_not_matter(cls, parameters, labels):
    X, y = examples(cls, labels=labels)
    g = weights_of(90)
    whole = cls(**parameters).partial_fit(X, y, sample_weight=g)
    assert not np.allclose(scores(whole, X), scores(cls(**parameters).partial_fit(X, y), X))
    for rows in (X, csr_matrix(X)):
        for size in (1, 7, 90):
            model = cls(**parameters)
            for i in range(0, 90, size):
                model.partial_fit(rows[i : i + size], y[i : i + size], sample_weight=g[i : i + size])
            close(scores(model, X), scores(whole, X))
            if rows is X:
                assert_same_state(model, whole)
    if cls.__name__ in BY_NUMBER:
        return
    named = cls(**parameters)
    for x, target, weight in zip(as_dicts(X), y, g, strict=True):
        named.learn_one(x, target, weight)
    ours = [named.score_one(x) for x in as_dicts(X)]
    close([list(s.values()) if isinstance(s, dict) else s for s in ours], scores(whole, X))
    assert named.learn_one({"x0": 1.0}, y[0]).t_ == 91  # the weight of the last row has no effect


@settings(weighted=True)
@looped("labels", numbers_of_labels(2, 4))
def test_a_weight_of_zero_is_a_round_without_a_step(cls, parameters, labels):
    """A row of weight 0 counts as a round, like a row of zeros."""
    if not {"kernel", "fit_intercept"} & cls.parameters.keys():
        pytest.skip("a row of zeros is a point like others")
    X, y = examples(cls, labels=labels)
    g = weights_of(90)
    parameters = {**parameters, **({"kernel": "linear"} if "kernel" in cls.parameters else {"fit_intercept": False})}
    nothing = np.where(g[:, None] == 0, 0.0, X)
    model = cls(**parameters).partial_fit(X, y, sample_weight=g)
    if not learns_from_zeros(cls, parameters):
        assert_same_state(model, cls(**parameters).partial_fit(nothing, y, sample_weight=np.where(g == 0, 1, g)))
    before = model.updates_
    model.partial_fit(X, y, sample_weight=np.zeros(90))
    assert (model.t_, model.updates_) == (180, before)


@settings(weighted=True)
def test_large_blocks_are_learned_like_small_ones(cls, parameters, large_block):
    n, d = large_block
    X, y = examples(cls, n=n, d=d)
    g, small = weights_of(n), cls(**parameters)
    for part in np.array_split(np.arange(n), 10):
        small.partial_fit(X[part], y[part], sample_weight=g[part])
    assert_same_state(cls(**parameters).partial_fit(X, y, sample_weight=g), small)


@pytest.mark.filterwarnings("ignore:HalfSpaceTrees")  # warns that these values are too large
@settings(weighted=True)
def test_always_finite(cls, parameters):
    X, y = examples(cls, n=2000, d=5)
    rng = np.random.default_rng(2)
    X *= 10.0 ** rng.uniform(-6, 6, (2000, 1))
    model = cls(**parameters).partial_fit(X, y, sample_weight=10.0 ** rng.uniform(-320, 50, 2000))
    assert all_finite(model)
    assert np.isfinite(scores(model, X)).all()


@settings(weighted=False)
def test_who_does_not_define_weights_refuses_them(cls, parameters):
    X, y = examples(cls)
    g = weights_of(90)
    for model in (cls(**parameters), cls(**parameters).partial_fit(X, y)):
        calls = (
            (model.partial_fit, (X, y), {"sample_weight": g}),
            (model.fit, (X, y), {"sample_weight": g}),
            (model.learn_one, ({"x": 1.0}, y[0]), {"weight": 2.0}),
            (evaluate.progressive, (model, X, y), {"sample_weight": g}),
            (evaluate.progressive, (model, X, y), {"sample_weight": g, "delay": 3}),
        )
        for call, given, weights in calls:
            with Unchanged(model), pytest.raises(ParameterError, match=rf"{cls.__name__}\(.*not define sample weights"):
                call(*given, **weights)
    ones = cls(**parameters).partial_fit(X, y, sample_weight=np.ones(90))
    assert_same_state(ones, cls(**parameters).partial_fit(X, y))
    cls(**parameters).learn_one({"x": 1.0}, y[0], weight=1)


@settings(weighted=True)
def test_bad_weights_are_refused(cls, parameters):
    X, y = examples(cls)
    for model in (cls(**parameters), cls(**parameters).partial_fit(X, y)):
        for bad in (np.nan, np.inf, -1e-9, 1e60, None, "heavy", 1j, [1]):
            g = [1.0] * 90
            g[70] = bad
            where = "row 70: the weight" if isinstance(bad, float) else "the weights must be numbers"
            for method in (model.partial_fit, model.fit):
                with Unchanged(model), pytest.raises(DataError, match=where):
                    method(X, y, sample_weight=np.array(g, dtype=object) if isinstance(bad, list) else g)
        for shape in (89, 91, (90, 1), (90, 2), ()):
            with Unchanged(model), pytest.raises(DataError, match="the weights have shape"):
                model.partial_fit(X, y, sample_weight=np.ones(shape))
    for model in (cls(**parameters), cls(**parameters).learn_one({"x": 1.0}, y[0])):
        for bad in (np.nan, np.inf, -1e-9, 1e60, None, "2", 1j, [1]):
            with Unchanged(model), pytest.raises(DataError, match=r"expected a sample weight from 0 to 1e\+50, found"):
                model.learn_one({"x": 1.0, "new": 1.0}, y[0], weight=bad)


def test_weights_of_many_types():
    X, y = examples(PA)
    g = np.arange(90) % 3
    whole = PA(C=0.1).partial_fit(X, y, sample_weight=g)
    for form in (g.tolist(), g.astype(np.float32), pd.Series(g), np.repeat(g, 2)[::2], g.astype(object)):
        assert_same_state(PA(C=0.1).partial_fit(X, y, sample_weight=form), whole)
    flags = PA(C=0.1).partial_fit(X, y, sample_weight=g > 0)
    assert_same_state(flags, PA(C=0.1).partial_fit(X, y, sample_weight=(g > 0).astype(int)))


@pytest.mark.parametrize("features", [None, {"normalize": "max"}, {"normalize": "unit"}, {"drop": ["z"]}])
def test_weights_follow_the_rows_through_names_and_scales(features):
    X, y = examples(PA)
    g = weights_of(90)
    columns = [f"x{j}" for j in range(6)]
    model = PA(C=0.1, features=features).partial_fit(
        pd.DataFrame(X[:30], columns=columns), y[:30], sample_weight=g[:30]
    )
    model.partial_fit(pd.DataFrame(X[30:, ::-1], columns=columns[::-1]), y[30:], sample_weight=g[30:])
    one_by_one = PA(C=0.1, features=features)
    for x, label, weight in zip(X, y, g, strict=True):
        one_by_one.learn_one(dict(zip(columns, x.tolist(), strict=True)), label, weight)
    x = dict.fromkeys(columns, 0.5)
    assert one_by_one.score_one(x) == pytest.approx(model.score_one(x))
    assert one_by_one.updates_ == model.updates_


def test_unsorted_columns_keep_their_weights():
    X, y = examples(PA)
    g = weights_of(90)
    sparse = csr_matrix(X)
    for i in range(90):
        part = slice(sparse.indptr[i], sparse.indptr[i + 1])
        sparse.indices[part], sparse.data[part] = sparse.indices[part][::-1].copy(), sparse.data[part][::-1].copy()
    whole = PA(C=0.1).partial_fit(X, y, sample_weight=g)
    close(scores(PA(C=0.1).partial_fit(sparse, y, sample_weight=g), X), scores(whole, X))


def test_scores_are_those_of_scikit_learn():
    g = weights_of(90)
    for cls, measure in ((PA, accuracy_score), (PARegressor, r2_score)):
        X, y = examples(cls)
        model = cls().partial_fit(X[:20], y[:20])
        for weights in (None, g, g.tolist()):
            expected = measure(y, model.predict(X), sample_weight=weights)
            assert model.score(X, y, sample_weight=weights) == pytest.approx(expected)
        for bad in (-g, g[:-1], 0 * g):
            with pytest.raises(DataError):
                model.score(X, y, sample_weight=bad)


# ---- transcriptions


def strongest(F, y, seen):
    rivals = [k for k in seen if k != y]
    return max(rivals, key=lambda k: (F[k], -k)) if rivals else None


def stepwise(step, X, y, g, classes, radius=np.inf):
    """W and the mean of W_1..W_T; W += step(margin, |delta|^2, t, g) delta, delta = y x, or x in row y, -x in row s."""
    W = np.zeros((classes if classes > 2 else 1, X.shape[1]))
    total, seen = 0 * W, set()
    for t, (x, label, weight) in enumerate(zip(X, y, g, strict=True), 1):
        total += W
        delta = 0 * W
        seen.add(label)
        if classes > 2:
            s = strongest(W @ x, label, seen)
            if s is not None:
                delta[label], delta[s] = x, -x
        else:
            delta[0] = (2 * label - 1) * x
        if weight > 0 and delta.any():
            W = W + step(np.sum(W * delta), np.sum(delta**2), t, weight) * delta
            W *= min(1, radius / max(np.sqrt(np.sum(W**2)), 1e-300))
    return W, total / len(y)


RULES = {
    "perceptron": (Perceptron(eta=0.5), lambda m, n, t, g: 0.5 * g * (m <= 0)),
    "hinge": (OGD(eta=0.3), lambda m, n, t, g: g * 0.3 / np.sqrt(t) * (m < 1)),
    "logistic": (OGD(loss="logistic", schedule="constant"), lambda m, n, t, g: g / (1 + np.exp(m))),
    "squared": (OGD(loss="squared", eta=0.02), lambda m, n, t, g: g * 0.02 / np.sqrt(t) * (1 - m)),
    "pa1": (PA(C=0.2), lambda m, n, t, g: min(g * 0.2, max(0, 1 - m) / n)),
    "pa2": (PA(C=0.2, variant="II"), lambda m, n, t, g: max(0, 1 - m) / (n + 1 / (2 * g * 0.2))),
    "averaged": (AveragedPerceptron(), lambda m, n, t, g: g * (m <= 0)),
    "ball": (OGD(radius=0.7, schedule="constant"), lambda m, n, t, g: g * (m < 1)),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("labels", [2, 3])
def test_classifiers_against_their_transcriptions(rule, labels):
    model, step = RULES[rule]
    X, y = examples(PA, labels=labels)
    g = weights_of(90)
    model = type(model)(**{**model.get_params(), "fit_intercept": False, "classes": list(range(labels))})
    W, mean = stepwise(step, X, y, g, labels, getattr(model, "radius", None) or np.inf)
    close(model.partial_fit(X, y, sample_weight=g).coef_, mean if rule == "averaged" else W)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("variant", ["mirror", "pegasos"])
def test_support_vector_machine_against_its_transcription(variant, average):
    X, y = examples(SoftSVM)
    g = weights_of(90)
    theta, total, lam = np.zeros(6), np.zeros(6), 0.1
    for t, (x, sign, weight) in enumerate(zip(X, 2 * y - 1, g, strict=True), 1):
        w = theta / (lam * (t if variant == "mirror" else max(t - 1, 1)))
        total += w
        theta = theta + weight * (sign * (w @ x) < 1) * sign * x
    model = SoftSVM(lam=lam, variant=variant, average=average, fit_intercept=False).partial_fit(X, y, sample_weight=g)
    last = theta / (lam * (len(y) + 1 if variant == "mirror" else len(y)))
    close(model.coef_[0], total / len(y) if average else last)


REGRESSIONS = {
    "squared": (OGDRegressor(eta=0.05), lambda z, n, t, g: g * 0.05 / np.sqrt(t) * z),
    "absolute": (OGDRegressor(loss="absolute"), lambda z, n, t, g: g / np.sqrt(t) * np.sign(z)),
    "pa1": (PARegressor(C=0.1), lambda z, n, t, g: np.sign(z) * min(g * 0.1, max(0, abs(z) - 0.1) / n)),
    "pa2": (
        PARegressor(C=0.1, variant="II"),
        lambda z, n, t, g: np.sign(z) * max(0, abs(z) - 0.1) / (n + 1 / (2 * g * 0.1)),
    ),
}


@pytest.mark.parametrize("rule", REGRESSIONS)
def test_regressors_against_their_transcriptions(rule):
    model, step = REGRESSIONS[rule]
    X, y = examples(PARegressor)
    g = weights_of(90)
    w = np.zeros(6)
    for t, (x, target, weight) in enumerate(zip(X, y, g, strict=True), 1):
        if weight > 0 and x.any():
            w = w + step(target - w @ x, x @ x, t, weight) * x
    model = type(model)(**{**model.get_params(), "fit_intercept": False})
    close(model.partial_fit(X, y, sample_weight=g).coef_, w)


# ---- progressive validation


@pytest.mark.parametrize("cls", [PA, PARegressor])
@pytest.mark.parametrize("delay", [0, 1, 7, 200])
def test_progressive_validation_learns_with_weights_and_counts_without(cls, delay):
    X, y = examples(cls)
    g = weights_of(90)
    model, weighted = cls(C=0.1), cls(C=0.1).partial_fit(X, y, sample_weight=g)
    run = evaluate.progressive(model, X, y, sample_weight=g, delay=delay)
    assert run.examples == 90
    assert model.updates_ == weighted.updates_
    close(scores(model, X), scores(weighted, X))
    if not delay:
        predicted, again = [], cls(C=0.1)
        for i in range(90):
            predicted.append(again.predict(X[i : i + 1])[0] if i else None)
            again.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=g[i : i + 1])
        if cls is PA:
            assert run.mistakes == sum(one != label for one, label in zip(predicted, y, strict=True))
        else:
            z = np.abs(y - np.array([predicted[i] or 0.0 for i in range(90)]))
            assert run.loss == pytest.approx(np.maximum(0, z - 0.1).sum())


def test_weights_without_labels_are_refused():
    X, y = examples(PA)
    with pytest.raises(DataError, match="sample_weight without y"):
        evaluate.progressive(PA(), [(as_rows(X), y)], sample_weight=np.ones(90))
