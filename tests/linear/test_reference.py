"""Each learner equals its transcription from the paper, for any form and division of the stream."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import seriatim
from seriatim import data, evaluate
from seriatim.catalogue import algorithms
from tests.cases import looped
from tests.conftest import data_set
from tests.reference import confidence, linear, margin, mirror

PAPERS = {name: value for module in (linear, margin, mirror, confidence) for name, value in vars(module).items()}


def cases(task):
    """(name, parameters) of every algorithm of the family, from the CASES of its transcription."""
    names = [name for name, cls in algorithms().items() if (cls.family, cls.task) == ("linear", task)]
    return [(name, case) for name in names for case in PAPERS[name].CASES]


CLASSIFIERS, REGRESSORS = cases("classification"), cases("regression")


def name_of(spec):
    return "-".join([spec[0], *map(str, spec[1].values())])


# ---- the comparison


def with_constant(X, intercept):
    return np.column_stack([X, np.full(len(X), float(intercept))])


def transcription(spec, X, y, intercept, classes=None):
    name, parameters = spec
    more = {"classes": classes} if classes is not None else {}
    model = PAPERS[name](X.shape[1] + 1, **parameters, **more)
    for x, target in zip(with_constant(X, intercept), y, strict=True):
        model.learn(x, target)
    return model


def as_dicts(X):
    return [{f"x{j}": float(x[j]) for j in np.flatnonzero(x)} for x in X]


def in_chunks(X, y, size, model):
    for begin in range(0, len(y), size):
        model.partial_fit(X[begin : begin + size], y[begin : begin + size])
    return model


WAYS = {
    "dense, one call": lambda X, y, model: model.partial_fit(X, y),
    "dense, by 1": lambda X, y, model: in_chunks(X, y, 1, model),
    "dense, by 7": lambda X, y, model: in_chunks(X, y, 7, model),
    "sparse, one call": lambda X, y, model: model.partial_fit(csr_matrix(X), y),
    "sparse, by 1": lambda X, y, model: in_chunks(csr_matrix(X), y, 1, model),
    "sparse, by 7": lambda X, y, model: in_chunks(csr_matrix(X), y, 7, model),
    "sparse, by 1000": lambda X, y, model: in_chunks(csr_matrix(X), y, 1000, model),
}


def close(ours, theirs, scale=None):
    """Equal to 1e-9 of the largest value, or of the scale."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    scale = np.abs(theirs).max(initial=1e-300) if scale is None else scale
    assert np.abs(ours - theirs).max(initial=0) <= 1e-9 * scale, (ours, theirs)


def same_predictions(ours, scores, theirs, rows, margin=1e-9):
    """The labels agree wherever rounding cannot decide."""
    scale = np.abs(scores).max(initial=1e-300)
    best = np.sort(np.atleast_2d(scores.T).T, axis=1)
    gap = np.abs(best[:, 0]) if best.shape[1] == 1 else best[:, -1] - best[:, -2]
    for label, x, distance in zip(ours, rows, gap, strict=True):
        if distance > margin * scale:
            assert label == theirs.predict(x)


def compare(spec, X, y, intercept=True, classes=None, ways=WAYS, dicts=True, exact=False, rows=None):
    """Learn the stream in each of the ways, and compare weights, scores and predictions with the transcription.

    `exact` demands the same label for scores of zero and ties, which holds where the arithmetic is exact. `rows` are
    those to predict, all of X by default.
    """
    name, parameters = spec
    cls = getattr(seriatim, name)
    theirs = transcription(spec, X, y, intercept, classes)
    more = {"classes": classes} if classes is not None else {}
    if "n_features" in cls.parameters:  # weights on the simplex share one sum, so their number is told
        more["n_features"] = X.shape[1]
    probe = X if rows is None else rows
    extended = with_constant(probe, intercept)
    scores = np.array([theirs.score(x) for x in extended])
    weights = None if name == "VotedPerceptron" else np.asarray(theirs.weights())
    scale = max(np.abs(scores).max(), np.abs(theirs.w).max() * np.abs(extended).max())  # an average may cancel to 0
    for way, feed in ways.items():
        model = feed(X, y, cls(**parameters, **more, fit_intercept=intercept))
        if weights is not None:
            close(model.coef_.reshape(weights[..., :-1].shape), weights[..., :-1], np.abs(weights).max())
            close(np.reshape(model.intercept_, weights[..., -1].shape), weights[..., -1], np.abs(weights).max())
        for rows in (probe, csr_matrix(probe)):
            if model.task == "regression":
                close(model.predict(rows), scores, scale)
                continue
            close(model.decision_function(rows), scores, scale)
            predicted = model.predict(rows)
            if exact:
                assert predicted.tolist() == [theirs.predict(x) for x in extended], way
            else:
                same_predictions(predicted, scores, theirs, extended)
        assert model.t_ == len(y)
    if dicts:
        compare_dicts(cls(**parameters, **more, fit_intercept=intercept), X, y, theirs, weights, extended, exact)


def compare_dicts(model, X, y, theirs, weights, rows, exact):
    for x, target in zip(as_dicts(X), y, strict=True):
        model.learn_one(x, target)
    if weights is not None:
        columns = [int(name[1:]) for name in model.feature_names_in_]
        scale = np.abs(weights).max()
        close(model.coef_.reshape(*weights.shape[:-1], -1)[..., : len(columns)], weights[..., columns], scale)
        close(np.reshape(model.intercept_, weights.shape[:-1]), weights[..., -1], scale)
    scores = max(np.abs(theirs.score(row)).max() for row in rows)
    scores = max(scores, np.abs(theirs.w).max() * np.abs(rows).max())
    for x, row in list(zip(as_dicts(rows[:, :-1]), rows, strict=True))[:40]:
        score = model.score_one(x)
        close(list(score.values()) if isinstance(score, dict) else score, theirs.score(row), scores)
        if exact:
            assert model.predict_one(x) == theirs.predict(row)


# ---- seeded streams of every shape


def random_stream(seed, labels, n=60, d=5, density=0.6):
    """Rows with many zeros, one row of zeros, and labels that arrive in any order."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    X[n // 3] = 0
    scores = X @ rng.standard_normal((d, len(labels))) + rng.standard_normal((n, len(labels)))
    return X, np.array(labels)[np.argmax(scores, axis=1)]


def classifiers(test):
    """Test (spec) of every classifier with all its settings."""
    names = list(dict.fromkeys(name for name, *_ in CLASSIFIERS))
    by_name = pytest.mark.parametrize("cls", names)
    return by_name(looped("spec", lambda cls: [spec for spec in CLASSIFIERS if spec[0] == cls])(test))


@classifiers
@looped("labels", [(-1, 1), (0, 1, 2, 3)])
def test_classifiers_equal_their_papers(spec, labels):
    compare(spec, *random_stream(1, labels), intercept=True)
    compare(spec, *random_stream(2, labels), intercept=False, ways={"dense, by 7": WAYS["dense, by 7"]})


@classifiers
def test_labels_declared_beforehand(spec):
    """Three or more declared labels start as rows of zeros; a label that never occurs does not compete."""
    X, y = random_stream(3, (1, 3, 5, 7))
    compare(spec, X, y, classes=[1, 3, 5, 7, 9], ways={"sparse, by 7": WAYS["sparse, by 7"]})
    X, y = random_stream(4, (1, 3))
    compare(spec, X, y, classes=[1, 3], ways={"sparse, by 7": WAYS["sparse, by 7"]})


@classifiers
@looped("order", [(1, 2, 3, 4), (4, 3, 2, 1), (2, 4, 1, 3)])
def test_labels_that_arrive_one_after_another(spec, order):
    """Labels arrive far apart, so that binary weights have grown when they become multiclass weights."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, 4))
    y = np.array([order[rng.integers(0, 1 + t // 20)] for t in range(80)])
    compare(spec, X, y, ways={"dense, one call": WAYS["dense, one call"], "dense, by 1": WAYS["dense, by 1"]})


@pytest.mark.parametrize("spec", REGRESSORS, ids=name_of)
def test_regressors_equal_their_papers(spec):
    for seed, intercept in ((6, True), (7, False)):
        rng = np.random.default_rng(seed)
        X, _ = random_stream(seed, (0, 1))
        y = X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(len(X)) + 1
        compare(spec, X, y, intercept=intercept)


@pytest.mark.parametrize(
    ("name", "claim"),
    [(name, claim) for name, paper in PAPERS.items() for claim in getattr(paper, "CLAIMS", ())],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_claims(name, claim):
    """Run the CLAIMS of each transcription: functions of the class and a stream."""
    cls = getattr(seriatim, name)
    for seed, labels in ((8, (0, 1)), (9, (0, 1, 2, 3))):
        X, y = random_stream(seed, labels)
        claim(cls, X, y if cls.task == "classification" else y + X.sum(axis=1))


# ---- generated streams


@st.composite
def dyadic_streams(draw):
    """Values on a grid of eighths: sums and products are exact, so ties do not depend on the order of sums."""
    d, labels = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    row = st.tuples(st.lists(st.integers(-8, 8), min_size=d, max_size=d), st.integers(0, labels - 1))
    rows = draw(st.lists(row, min_size=1, max_size=25))
    return np.array([x for x, _ in rows]) / 8, np.array([y for _, y in rows])


@st.composite
def generic_streams(draw):
    """Streams of any shape with random values, so that rounding decides nothing."""
    seed, labels = draw(st.integers(0, 2**32 - 1)), tuple(range(draw(st.integers(2, 5))))
    return random_stream(seed, labels, draw(st.integers(3, 40)), draw(st.integers(1, 8)), draw(st.floats(0.2, 1)))


some_ways = st.sampled_from(sorted(WAYS)).map(lambda way: {way: WAYS[way]})


@settings(max_examples=150)
@given(
    name=st.sampled_from(["Perceptron", "AveragedPerceptron", "VotedPerceptron"]),
    eta=st.sampled_from([0.25, 1.0, 2.0]),
    stream=dyadic_streams(),
    intercept=st.booleans(),
    declared=st.booleans(),
    ways=some_ways,
)
def test_perceptrons_on_generated_streams(name, eta, stream, intercept, declared, ways):
    X, y = stream
    classes = list(range(5)) if declared else None
    compare((name, {"eta": eta}), X, y, intercept, classes, ways, exact=True)


@settings(max_examples=150)
@given(spec=st.sampled_from(CLASSIFIERS[6:]), stream=generic_streams(), intercept=st.booleans(), ways=some_ways)
def test_classifiers_on_generated_streams(spec, stream, intercept, ways):
    # Of rows that repeat, SOP and NAROW may take back exactly what they have learned, and then the last bit decides.
    assume(spec[0] not in ("SOP", "NAROW") or len(np.unique(stream[0], axis=0)) == len(stream[0]))
    # Pegasos' recursion rounds where theta / (lambda t) does not, and of two rivals that tie either may be taken.
    assume(spec[1].get("variant") != "pegasos" or len(set(stream[1].tolist())) < 3)
    compare(spec, *stream, intercept, ways=ways)


@settings(max_examples=100)
@given(spec=st.sampled_from(REGRESSORS), stream=generic_streams(), intercept=st.booleans(), ways=some_ways)
def test_regressors_on_generated_streams(spec, stream, intercept, ways):
    X, y = stream
    compare(spec, X, y + 0.1 * X.sum(axis=1), intercept, ways=ways)


# ---- real streams

REAL = [
    ("Perceptron", {}),
    ("AveragedPerceptron", {}),
    ("VotedPerceptron", {}),
    ("OGD", {"eta": 0.1}),
    ("OGD", {"loss": "logistic", "eta": 0.1, "radius": 2.0}),
    ("PA", {"C": 0.1}),
    ("PA", {"variant": "hard"}),
    ("PA", {"variant": "II"}),
    ("SoftSVM", {"lam": 0.01}),
    ("SoftSVM", {"lam": 0.01, "average": False, "variant": "pegasos"}),
]


def real_stream(name):
    """A real data set with columns scaled to 1, and few enough rows for the slow transcriptions."""
    X, y = data.load(data_set("a1a/a1a.libsvm") if name == "a1a" else name)
    X, y = X.toarray()[:: len(y) // 900], y[:: len(y) // 900]
    return X / np.maximum(np.abs(X).max(axis=0), 1e-12), y


STREAMS = ["spam", *(pytest.param(name, marks=pytest.mark.slow) for name in ("digits", "a1a"))]


@pytest.mark.parametrize("spec", REAL, ids=name_of)
@pytest.mark.parametrize("name", STREAMS)
def test_real_streams(spec, name):
    X, y = real_stream(name)
    ways = {way: WAYS[way] for way in ("dense, one call", "sparse, by 7", "sparse, by 1000")}
    compare(spec, X, y, ways=ways, rows=X[::25])


@pytest.mark.parametrize("spec", [spec for spec in REAL if spec[0] != "VotedPerceptron"], ids=name_of)
@pytest.mark.parametrize("name", STREAMS)
def test_mistakes_on_real_streams(spec, name):
    """A run predicts as the transcription does, before both learn the label.

    A score that is zero but for rounding may fall on either side.
    """
    X, y = real_stream(name)
    classes = sorted(set(y.tolist()))
    theirs = PAPERS[spec[0]](X.shape[1] + 1, **spec[1], classes=classes)
    inexact = len(classes) == 2 and not spec[0].endswith("Perceptron")
    wrong = ties = 0
    for x, label in zip(with_constant(X, True), y.tolist(), strict=True):
        nothing_seen = len(classes) > 2 and not theirs.seen
        tie = inexact and abs(theirs.score(x)) < 1e-12 * np.abs(theirs.w).max()
        wrong += nothing_seen or (theirs.predict(x) != label and not tie)
        ties += tie
        theirs.learn(x, label)
    run = evaluate.progressive(getattr(seriatim, spec[0])(**spec[1], classes=classes), X, y)
    assert wrong <= run.mistakes <= wrong + ties
    assert ties < 0.05 * len(y)
