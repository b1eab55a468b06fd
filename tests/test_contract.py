"""The promises that all algorithms keep. Each test runs on every entry of the catalogue."""

import copy
import pickle
from collections import Counter, OrderedDict
from functools import lru_cache
from itertools import product

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_matrix

import seriatim
import seriatim.linear.covariance
from seriatim.core.loop import Scores
from seriatim.errors import DataError, LimitError, ModelError, NotFittedError, ParameterError, SeriatimError
from seriatim.estimator import as_rows
from seriatim.estimator.model import Model
from seriatim.parameters import REQUIRED, Choice, Flag, Labels, Number
from tests.cases import looped
from tests.learners import of_rows

ALGORITHMS = of_rows()

# What an algorithm cannot be made without, and settings beyond its choices and flags that lead to other code.
SOURCE = {"x0": 0.5, "x1": -0.25, "x3": 1.0, "x5": -0.75, 0: 0.5, 1: -0.25, 3: 1.0, 5: -0.75}  # for names and columns
EXPERTS = [
    seriatim.PA(),
    seriatim.AROW(fit_intercept=False),
    seriatim.Perceptron(),
    seriatim.KernelPerceptron("linear"),
]
REQUIRED_ARGUMENTS = {
    # To the mode, else the order matters in which features come; and a matrix of 1000 features takes its time.
    "BayesianSparse": {"sweeps": 200, "memory": 6},
    "DictionaryLearning": {"n_atoms": 4, "batch": 20},
    "EG": {"n_features": 1000},  # if on the simplex
    **{name: {"experts": EXPERTS} for name, cls in ALGORITHMS.items() if cls.task == "experts"},
    "MirrorDescent": {"n_features": 1000},
    "HalfSpaceTrees": {"n_features": 1000, "depth": 6, "window": 20, "trees": 200},
    "FOGD": {"eta": 0.05, "n_components": 41},  # steps that show after ninety examples
    "IncrementalPCA": {"n_components": 3},
    "OFS": {"k": 3},
    "OnlinePCA": {"n_components": 2, "eta": 0.5, "n_features": 1000, "features": seriatim.Features(normalize="unit")},
    "OnlineSVD": {"rank": 3},
    "PET": {"k": 3},
    "SOFS": {"k": 3},
    "GroupRDA": {"groups": [[0, 3, "x0", "x3"], [1, 2, 4, "x1", "x2", "x4"], [5, "x5"]]},  # for columns and names
    "MultiTaskRDA": {"n_tasks": 2},
    "LDA": {"n_topics": 3, "batch": 16, "tolerance": 1e-9},  # else rounding may decide when a document is done
    "HDP": {"max_topics": 6, "doc_topics": 3, "batch": 16},
    "HomogeneousOTL": {"source": SOURCE},
    "HeterogeneousOTL": {"source": SOURCE},
    "TruncatedGradient": {"theta": 0.05},  # if it rounds
    "TruncatedGradientRegressor": {"theta": 0.05},
}
SETTINGS = {
    "AdaFOBOS": [{"lam": 0.1}],
    "AdaRDA": [{"lam": 0.1}],
    "BayesianSparse": [{"memory": 3}],
    "DictionaryLearning": [{"n_atoms": 9, "lam": 0.1, "batch": 7}],
    "FOBOS": [{"penalty": "l2", "lam": 1.0}],
    "OFS": [{"k": 1, "lam": 0.5}, {"k": 100, "lam": 0.0}],
    "SOFS": [{"k": 1}, {"k": 100}],
    "GroupRDA": [{"groups": 6}, {"within": 0.5}, {"within": 0.5, "rho": 0.1}, {"lam": 0.1}],
    "MultiTaskRDA": [{"lam": 0.1}],
    "RDA": [{"rho": 0.1}],
    "TruncatedGradient": [{"theta": None, "period": 5, "schedule": "sqrt"}],
    "TruncatedGradientRegressor": [{"theta": None, "period": 5}],
    "OneClassPA": [{"B": 2.0}],
    "RBP": [{"budget": 5}],
    "Forgetron": [{"budget": 5}, {"budget": 5, "variant": "basic"}],
    "BOGD": [{"budget": 5}, {"budget": 5, "sampling": "weighted"}],
    "BudgetPA": [{"budget": 5}],
    "Projectron": [{"budget": 5}, {"eta": 0.9}],
    "ProjectronPP": [{"budget": 5}, {"eta": 0.9}],
    "NOGD": [{"budget": 5}, {"budget": 20, "rank": 20}],
    "KernelOGD": [{"lam": 0.1, "schedule": "sqrt"}],
    "OMKC": [{"update": "stochastic", "combination": "stochastic"}],
    "ALMA": [{"p": 4.0}],
    "MirrorDescent": [{"mirror": "pnorm", "p": 6.0, "schedule": "sqrt"}],
    "OGD": [{"radius": 1.0}],
    "OGDRegressor": [{"radius": 1.0}],
    "PA": [{"variant": "hard", "fit_intercept": False}],
    "PARegressor": [{"variant": "hard", "fit_intercept": False}],
    "NORMA": [{"nu": 0.3}, {"truncate": 10}],
    "NORMARegressor": [{"nu": 0.3}, {"truncate": 10}],
    "NORMANovelty": [{"truncate": 10}],
    "CSDUOL": [{"cost": 3.0}],
    "LDA": [{"batch": 1, "tau0": 0.0}, {"alpha": "asymmetric", "total": 1000}, {"alpha": 0.01, "eta": 0.001}],
    "IncrementalPCA": [{"block": 7}],
    "OnlineSVD": [{"block": 7}, {"forgetting": 0.9}],
    "LASVM": [{"selection": "margin", "candidates": 5}],
}

# Random numbers that go by the number of a feature; names have theirs in the order in which they come.
BY_NUMBER = {"FOGD", "HalfSpaceTrees", "LDA", "HDP"}


def task_of(cls):
    """The task of a model; for experts the task of their models."""
    return cls(**REQUIRED_ARGUMENTS.get(cls.__name__, {})).task if cls.task == "experts" else cls.task


CLASSIFIERS = {name: cls for name, cls in ALGORITHMS.items() if task_of(cls) == "classification"}
SUPERVISED = {name: cls for name, cls in ALGORITHMS.items() if cls.labelled}
REGRESSORS = {name: cls for name, cls in ALGORITHMS.items() if task_of(cls) == "regression"}

# What costs too much for tests with blocks of 2^20 values: a row takes the cube of a thousand features.
CUBIC = {"OnlinePCA"}

every = pytest.mark.parametrize("make", [pytest.param(cls, id=name) for name, cls in ALGORITHMS.items()])
swift = pytest.mark.parametrize(
    "make", [pytest.param(cls, id=name) for name, cls in ALGORITHMS.items() if name not in CUBIC]
)
supervised = pytest.mark.parametrize("make", [pytest.param(cls, id=name) for name, cls in SUPERVISED.items()])
classifiers = pytest.mark.parametrize("make", [pytest.param(cls, id=name) for name, cls in CLASSIFIERS.items()])
regressors = pytest.mark.parametrize("make", [pytest.param(cls, id=name) for name, cls in REGRESSORS.items()])


def settings(cls):
    """The parameters to test an algorithm with: its defaults, and each of its choices and flags by itself."""
    alternatives = [{}, *SETTINGS.get(cls.__name__, [])]
    for parameter, declared in cls.parameters.items():
        if isinstance(declared, Choice):
            alternatives += [{parameter: option} for option in declared.options if option != declared.default]
        if isinstance(declared, Flag):
            alternatives.append({parameter: not declared.default})
    return [{**REQUIRED_ARGUMENTS.get(cls.__name__, {}), **chosen} for chosen in alternatives]


every_class = pytest.mark.parametrize("cls", ALGORITHMS.values(), ids=list(ALGORITHMS))


def every_setting(test):
    """Test (cls, parameters) of every algorithm with all its settings."""
    return every_class(looped("parameters", settings)(test))


def numbers_of_labels(*numbers):
    """The numbers of labels for tests. Binary and unlabelled models have the same stream for any number."""
    return lambda cls: numbers if task_of(cls) == "classification" and most_labels(cls) > 2 else numbers[:1]


def most_labels(cls):
    """The most labels that a learner can distinguish."""
    return 2 if getattr(cls, "binary", False) else 1000


def expect_labels(cls, labels):
    """Skip what would take more labels than there can be."""
    if labels > most_labels(cls):
        pytest.skip(f"{cls.__name__} is a method for two labels")


def expect_no_numbers(cls):
    if cls.__name__ in BY_NUMBER:
        pytest.skip(f"the numbers that {cls.__name__} draws for a name depend on when it first came")


def default(cls, **parameters):
    """A model, with these parameters as far as its class has them: what has no constant feature has none to leave."""
    known = {name: value for name, value in parameters.items() if name != "fit_intercept" or name in cls.parameters}
    return cls(**{**REQUIRED_ARGUMENTS.get(cls.__name__, {}), **known})


# ---- streams


def examples(cls, n=90, d=6, labels=2, seed=0):
    """A noisy stream for this kind of learner. New labels appear one after another."""
    labels = min(labels, most_labels(cls))
    X, y = stream(n, d, labels, seed, cls.nonnegative, task_of(cls) == "regression")
    return X.copy(), y.copy()


@lru_cache(maxsize=8)
def stream(n, d, labels, seed, nonnegative, regression):
    """The rows and targets of `examples`, made once: those of a million values take as long as what is tested."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    if nonnegative:
        X = np.ceil(np.abs(X))
    if regression:
        return X, X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
    y = np.argmax(X @ rng.standard_normal((d, labels)) + 0.3 * rng.standard_normal((n, labels)), axis=1)
    for k in range(labels):
        y[: k * n // (2 * labels)] %= k or 1
    return X, y


def as_dicts(X):
    return [{f"x{j}": float(x[j]) for j in np.flatnonzero(x)} for x in X]


def learn_in_chunks(model, X, y, size):
    for begin in range(0, len(y), size):
        model.partial_fit(X[begin : begin + size], y[begin : begin + size])
    return model


def learn_dicts(model, X, y):
    for x, target in zip(as_dicts(X), y, strict=True):
        model.learn_one(x, target)
    return model


# ---- comparisons


def same(a, b):
    """Whether two states are equal bit by bit."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Model):
        return type(a) is type(b) and same(a.__getstate__(), b.__getstate__())
    return type(a) is type(b) and a == b


def assert_same_state(one, other):
    a, b = one.__getstate__(), other.__getstate__()
    assert same(a, b), (a, b)


class Unchanged:
    """Check that a model does not change, bit by bit."""

    def __init__(self, model):
        self.model, self.before = model, copy.deepcopy(model.__getstate__())

    def __enter__(self):
        return self.model

    def __exit__(self, *_):
        after = self.model.__getstate__()
        assert same(after, self.before), (after, self.before)


def scores(model, X):
    if model.task == "representation":
        return -model.score_samples(X)  # the score of a row is its loss
    return model.predict(X) if model.task == "regression" else model.decision_function(X)


def answers(model, X):
    """The predictions or transformed rows of a model."""
    return model.transform(X) if model.task == "representation" else model.predict(X)


def answer_one(model, x):
    return model.transform_one(x) if model.task == "representation" else model.predict_one(x)


def close(ours, theirs):
    """Check equality to 1e-9 of the largest number."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= 1e-9 * max(np.abs(theirs).max(), 1e-300)


# ---- 1. chunking


@every_setting
@looped("labels", numbers_of_labels(2, 4))
def test_division_into_calls_does_not_matter(cls, parameters, labels):
    X, y = examples(cls, labels=labels)
    for rows in (X, csr_matrix(X)):
        whole = cls(**parameters).partial_fit(rows, y)
        for size in (1, 7):
            assert_same_state(learn_in_chunks(cls(**parameters), rows, y, size), whole)


@lru_cache(maxsize=4)
def narrow_blocks(cls, size):
    """Blocks of `size` rows, each as wide as its last column."""
    X, y = examples(cls, n=300, d=40)
    X[:100, 10:], X[100:200, 20:] = 0, 0
    blocks = []
    for i in range(0, 300, size):
        part = X[i : i + size]
        width = max(1, 1 + np.flatnonzero(part.any(axis=0)).max(initial=-1))
        blocks.append((as_rows(csr_matrix(part[:, :width])).check(), y[i : i + size]))
    return blocks


@every_setting
def test_width_of_the_blocks_does_not_matter(cls, parameters):
    """The blocks of a file are as wide as their last column; where a block ends must not show, not in one bit."""
    models = []
    for size in (300, 50, 7, 1):
        model = cls(**parameters)
        for rows, y in narrow_blocks(cls, size):
            model.learn_rows(rows, model.as_targets(y, len(y)))
        models.append(model)
    for model in models[1:]:
        assert_same_state(model, models[0])


@swift
def test_large_blocks_are_learned_like_small_ones(make, large_block):
    n, d = large_block
    X, y = examples(make, n=n, d=d)
    assert_same_state(default(make).partial_fit(X, y), learn_in_chunks(default(make), X, y, n // 10))


# ---- 2. dense = sparse


@every_setting
@looped("labels", numbers_of_labels(2, 4))
def test_dense_sparse_and_dicts_agree(cls, parameters, labels):
    X, y = examples(cls, labels=labels)
    dense = cls(**parameters).partial_fit(X, y)
    sparse = cls(**parameters).partial_fit(csr_matrix(X), y)
    close(scores(sparse, X), scores(dense, X))
    close(scores(dense, csr_matrix(X)), scores(dense, X))
    if cls.__name__ in BY_NUMBER:
        return
    named = learn_dicts(cls(**parameters), X, y)
    ours = [named.score_one(x) for x in as_dicts(X)]
    close([list(s.values()) if isinstance(s, dict) else s for s in ours], scores(dense, X))


@every
@looped("large", [False, True])
def test_unsorted_and_repeated_columns(make, large, monkeypatch):
    """A CSR matrix may hold its columns in any order, and one more than once: they are summed. In a large block, too,
    which is learned while another thread checks it."""
    if large:
        monkeypatch.setattr(seriatim.estimator.base, "LARGE", 1)
        monkeypatch.setattr(seriatim.estimator.base, "THREADS", 2)
    X, y = examples(make)
    tidy = csr_matrix(X)
    rows = [np.flatnonzero(x)[::-1] for x in X]
    index = np.concatenate([np.concatenate([row, row]) for row in rows])
    value = np.concatenate([np.concatenate([x[row] * 0.25, x[row] * 0.75]) for x, row in zip(X, rows, strict=True)])
    start = np.concatenate([[0], np.cumsum([2 * len(row) for row in rows])])
    untidy = csr_matrix((value, index, start), shape=X.shape)
    before = untidy.indices.copy(), untidy.data.copy()
    close(scores(default(make).partial_fit(untidy, y), X), scores(default(make).partial_fit(tidy, y), X))
    assert (untidy.indices == before[0]).all()
    assert (untidy.data == before[1]).all()


# Learners whose state depends on the order of the columns.
IN_ORDER = {"BayesianSparse", "FOGD", "GroupRDA", "HalfSpaceTrees", "HeterogeneousOTL", "HomogeneousOTL", "OnlinePCA"}


@every
def test_columns_can_be_moved(make):
    """A model with its columns moved scores, and learns on from, rows with their columns moved; or it refuses."""
    places = np.array([4, 0, 8, 2, 7, 5])
    for labels in (2, min(3, most_labels(make))):
        X, y = examples(make, labels=labels)
        wide = np.zeros((len(X), 9))
        wide[:, places] = X
        model = default(make).partial_fit(X[:50], y[:50])
        state = model.__getstate__()
        if make.__name__ in IN_ORDER:
            with pytest.raises(ModelError, match="cannot be moved"):
                model._learner.recolumn(state["state"], places, 9)
            continue
        moved = model.restored({**state, "columns": 9, "state": model._learner.recolumn(state["state"], places, 9)})
        close(scores(moved, wide), scores(model, X))
        close(scores(moved.partial_fit(wide[50:], y[50:]), wide), scores(model.partial_fit(X[50:], y[50:]), X))
        for bad in ([0, 0, 1, 2, 3, 4], [-1, 0, 1, 2, 3, 4], [9, 0, 1, 2, 3, 4]):
            with pytest.raises(ValueError, match="new column"):
                model._learner.recolumn(state["state"], bad, 9)


# ---- 3. save and resume


@every_setting
@looped("labels", numbers_of_labels(2, 4))
def test_save_and_resume(cls, parameters, labels, tmp_path):
    X, y = examples(cls, labels=labels)
    model = cls(**parameters).partial_fit(X[:40], y[:40])
    model.save(tmp_path / "model")
    again = [
        seriatim.load(tmp_path / "model"),
        copy.deepcopy(model),
        copy.copy(model),
        pickle.loads(pickle.dumps(model)),
    ]
    model.partial_fit(X[40:], y[40:])
    for other in again:
        assert type(other) is cls
        assert_same_state(other.partial_fit(X[40:], y[40:]), model)
        assert (answers(other, X) == answers(model, X)).all()


@every_setting
@looped("labels", numbers_of_labels(2, 4))
def test_a_copy_of_a_wide_model_is_the_model(cls, parameters, labels, tmp_path):
    """What a learner has beside its table grows with the table, whoever made it grow: a copy, a file, an undone call.

    The stream has more columns than sources and groups name, and more than twice what a new learner has room for.
    """
    if cls.__name__ in CUBIC:
        pytest.skip("a row takes the cube of its features")
    X, y = examples(cls, n=60, d=200, labels=labels)
    model = cls(**parameters).partial_fit(X[:40], y[:40])
    model.save(tmp_path / "model")
    before = scores(model, X)
    for other in (seriatim.load(tmp_path / "model"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert (scores(other, X) == before).all()
    if getattr(cls, "binary", False):
        with pytest.raises(DataError):
            model.partial_fit(X[:3], [0, 1, 2])
        assert (scores(model, X) == before).all()
    other = copy.deepcopy(model).partial_fit(X[40:], y[40:])
    assert_same_state(other, model.partial_fit(X[40:], y[40:]))
    assert (scores(other, X) == scores(model, X)).all()


@every
def test_save_and_resume_with_names(make, tmp_path):
    X, y = examples(make, labels=3)
    model = learn_dicts(default(make), X[:60], y[:60])
    model.save(tmp_path / "model")
    again = seriatim.load(tmp_path / "model")
    assert_same_state(learn_dicts(again, X[60:], y[60:]), learn_dicts(model, X[60:], y[60:]))


@every
def test_defaults_are_admitted(make):
    """A model does not look at a parameter again that nobody has set."""
    for name, parameter in make.parameters.items():
        if parameter.default is not REQUIRED:
            parameter.check(name, parameter.default)


@every
def test_save_before_the_first_example(make, tmp_path):
    X, y = examples(make)
    model = default(make)
    model.save(tmp_path / "model")
    for other in (seriatim.load(tmp_path / "model"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        with pytest.raises(NotFittedError):
            answers(other, X)
        assert_same_state(other.partial_fit(X, y), default(make).partial_fit(X, y))


@every
def test_parameters_of_numpy_types_are_saved(make, tmp_path):
    """A step size from np.logspace, labels from np.unique: both are what users have."""
    X, y = examples(make)
    chosen = {}
    for name, parameter in make.parameters.items():
        if isinstance(parameter, Number) and isinstance(parameter.default, float):
            chosen[name] = np.float32(parameter.default)
        if isinstance(parameter, Labels):
            chosen[name] = np.unique(y)
    model = default(make, **chosen).partial_fit(X, y)
    model.save(tmp_path / "model")
    assert (answers(seriatim.load(tmp_path / "model"), X) == answers(model, X)).all()


@classifiers
@looped("labels", [["a", "b"], [False, True], [-1, 1], [1, "a", "b"]])
def test_labels_are_saved(make, labels, tmp_path):
    expect_labels(make, len(labels))
    X, y = examples(make, labels=len(labels))
    names = np.empty(len(y), dtype=object)
    names[:] = [labels[k] for k in y]
    model = default(make).partial_fit(X, names)
    model.save(tmp_path / "model")
    again = seriatim.load(tmp_path / "model")
    assert again.classes_.tolist() == model.classes_.tolist() == labels
    assert_same_state(again, model)


# ---- 4. unseen features


@every_setting
@looped("labels", numbers_of_labels(2, 4))
def test_columns_that_come_later_were_zero_before(cls, parameters, labels):
    X, y = examples(cls, labels=labels)
    X[:50, 4:] = 0
    for kind in (np.asarray, csr_matrix):
        whole = cls(**parameters).partial_fit(kind(X), y)
        grown = cls(**parameters).partial_fit(kind(X[:50, :4]), y[:50]).partial_fit(kind(X[50:]), y[50:])
        close(scores(grown, X), scores(whole, X))
        assert grown.n_features_in_ == 6


@every
def test_names_that_come_later_were_zero_before(make):
    expect_no_numbers(make)
    X, y = examples(make)
    X[:50, 4:] = 0
    known = [{f"x{j}": 0.0 for j in range(6)} | x for x in as_dicts(X)]
    whole, grown = default(make), default(make)
    for x, full, target in zip(as_dicts(X), known, y, strict=True):
        grown.learn_one(x, target)
        whole.learn_one(full, target)
    close(*([score if np.isscalar(score) else list(score.values()) for score in map(m.score_one, known)]
            for m in (grown, whole)))  # fmt: skip
    assert set(grown.feature_names_in_) == set(whole.feature_names_in_)


@every
def test_unseen_features_in_a_prediction(make):
    """Unseen features have no weight, and predicting does not change the model."""
    X, y = examples(make)
    model = default(make).partial_fit(X, y)
    with Unchanged(model):
        answers(model, np.column_stack([X, X]))
        close(scores(model, csr_matrix(np.column_stack([X, 0 * X]))), scores(model, X))
    model = learn_dicts(default(make), X, y)
    with Unchanged(model):
        answer_one(model, {"x0": 1.0, "never seen": 3.0, "nor": "this"})
        model.score_one({})
        assert model.score_one({"x0": 1.0, "never seen": 0.0}) == model.score_one({"x0": 1.0})


@every
def test_narrower_rows_are_refused(make):
    X, y = examples(make)
    with Unchanged(default(make).partial_fit(X, y)) as model:
        with pytest.raises(DataError, match=r"X has 5 features, but .* is expecting 6 features"):
            model.partial_fit(X[:, :5], y)
        with pytest.raises(DataError, match="X has 5 features"):
            answers(model, X[:, :5])


# ---- 5. unseen labels


@classifiers
@looped("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_labels_that_come_later(make, order):
    """The second, third and fourth label arrive in mid-stream, above, below and between those known."""
    rng = np.random.default_rng(1)
    order = order[: most_labels(make)]
    X = rng.standard_normal((160, 5))
    y = np.array([order[rng.integers(0, min(1 + t // 40, len(order)))] for t in range(160)])
    model = default(make)
    for end in (40, 80, 120, 160):
        model.partial_fit(X[end - 40 : end], y[end - 40 : end])
        known = sorted(set(y[:end].tolist()))
        assert model.classes_.tolist() == known
        assert set(model.predict(X).tolist()) <= set(known)
        assert model.decision_function(X).shape == ((160,) if len(known) <= 2 else (160, len(known)))
    for size in (1, 7, 160):
        assert_same_state(learn_in_chunks(default(make), X, y, size), model)
    one_by_one = learn_dicts(default(make), X, y)
    assert [one_by_one.predict_one(x) for x in as_dicts(X)] == model.predict(X).tolist()


@classifiers
@looped("labels", [2, 4])
def test_names_of_the_labels_do_not_matter(make, labels):
    """Labels in the same order give the same model, be they numbers, names or truth values."""
    X, y = examples(make, labels=labels)
    kinds = [list(range(labels)), [-7, -3, 5, 600][:labels], ["ham", "jam", "lamb", "spam"][:labels], [1, 2, "a", "b"]]
    kinds += [[False, True]] if labels == 2 else []
    numbers = None
    for names in kinds:
        target = np.empty(len(y), dtype=object)
        target[:] = [names[k] for k in y]
        for form in (target, np.array(target.tolist())):
            if form.dtype.kind == "U" and not all(isinstance(name, str) for name in names):
                continue
            model = default(make).partial_fit(X, form)
            predicted = [names.index(label) for label in model.predict(X).tolist()]
            assert all(type(label) is type(names[0]) or names[0] == 1 for label in model.predict(X).tolist())
            numbers = predicted if numbers is None else numbers
            assert predicted == numbers


@classifiers
def test_whole_floats_are_labels(make):
    X, y = examples(make)
    assert_same_state(default(make).partial_fit(X, y.astype(float)), default(make).partial_fit(X, y))


@classifiers
def test_declared_labels_that_never_come(make):
    expect_labels(make, 5)
    X, y = examples(make, labels=3)
    model = default(make, classes=[0, 1, 2, 5, 9]).partial_fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 5, 9]
    assert set(model.predict(X).tolist()) <= {0, 1, 2}
    assert {model.predict_one(x) for x in as_dicts(X)} <= {0, 1, 2} if model._vocabulary else True
    again = default(make).partial_fit(X, y, classes=[0, 1, 2, 5, 9])
    assert (again.decision_function(X) == model.decision_function(X)).all()


@classifiers
def test_a_label_beyond_the_declared(make):
    expect_labels(make, 4)
    X, y = examples(make, labels=4)
    for declared in ([0, 1], [0, 1, 2]):
        model = default(make, classes=declared).partial_fit(X, y)
        assert model.classes_.tolist() == [0, 1, 2, 3]
        assert_same_state(learn_in_chunks(default(make, classes=declared), X, y, 7), model)


@pytest.mark.parametrize("make", [cls for cls in CLASSIFIERS.values() if cls.binary])
@looped("names", [(0, 1, 2), ("a", "b", "c"), (2, 0, 1), ("c", "b", "a")])
def test_a_label_too_many(make, names):
    """A method for two labels refuses a third, whichever way it comes, and goes on with the two."""
    X, y = examples(make)
    y = np.array(names)[y]
    third = np.where(np.arange(90) == 70, names[2], y)
    for model in (default(make), default(make).partial_fit(X, y), default(make, classes=names[:2])):
        with Unchanged(model), pytest.raises(DataError, match="third"):
            model.partial_fit(X, third)
        assert model.partial_fit(X, y).classes_.tolist() == sorted(names[:2])
        named = learn_dicts(default(make), X, y)
        with Unchanged(named), pytest.raises(DataError, match="third"):
            named.learn_one({"x0": 1.0, "new": 2.0}, names[2])
    for call in (
        lambda: default(make, classes=names).partial_fit(X, y),
        lambda: default(make, classes=names).learn_one({"x0": 1.0}, names[0]),
        lambda: default(make).partial_fit(X, y, classes=names),
    ):
        with pytest.raises(ParameterError, match="classes"):
            call()


# ---- 6. hostile values

BAD_VALUES = [np.nan, np.inf, -np.inf, 1e60, -1e60]


def states_of(make):
    """A new model, one that has learned arrays, one of many labels and one that has learned names."""
    X, y = examples(make)
    yield default(make), X, y
    yield default(make).partial_fit(X, y), X, y
    if task_of(make) == "classification":
        many, y = examples(make, labels=4)[0], examples(make, labels=4)[1]
        yield default(make).partial_fit(many[:50], y[:50]), many, y


def refused(model, X, y, match=None):
    for method in (model.partial_fit, model.fit):
        with Unchanged(model), pytest.raises(SeriatimError, match=match):
            method(X, y)


@every
@looped("bad", BAD_VALUES)
def test_bad_values_are_refused(make, bad):
    for model, X, y in states_of(make):
        broken = X.copy()
        broken[70, 3] = bad
        for rows in (broken, csr_matrix(broken), broken.tolist()):
            refused(model, rows, y, match="row 70, column 3")
            if model.__sklearn_is_fitted__():
                with Unchanged(model), pytest.raises(DataError, match="row 70, column 3"):
                    answers(model, rows)


@every
def test_bad_values_with_a_new_label_and_a_new_column(make):
    """A refused block changes nothing, neither the labels nor the number of columns."""
    for model, X, y in states_of(make):
        wide = np.column_stack([X, X])
        wide[-1, -1] = np.nan
        strange = y.copy()
        strange[3] = 77
        refused(model, wide, strange, match="row 89, column 11")


@swift
@looped("kind", [np.asarray, csr_matrix])
@looped("fresh", [True, False])
def test_bad_value_at_the_end_of_a_large_block(make, kind, fresh, large_block):
    n, d = large_block
    X, y = examples(make, n=n, d=d)
    X[X == 0] = 1.0
    model = default(make)
    if not fresh:
        model.partial_fit(X[:5], y[:5])
    X[-1, -1], y[-2] = np.nan, 55
    with Unchanged(model), pytest.raises(DataError, match=f"row {n - 1}, column {d - 1}"):
        model.partial_fit(kind(X), y)


@every
def test_bad_shapes_are_refused(make):
    for model, X, y in states_of(make):
        refused(model, X, y[:-1])
        refused(model, X[:-1], y)
        refused(model, X, np.column_stack([y, y]))
        if make.labelled:
            refused(model, X, None)
        refused(model, X[0], y[:1])
        refused(model, X[:0], y[:0])
        refused(model, X[:, :0], y)
        refused(model, X[None], y)
        refused(model, X.astype(complex), y)
        refused(model, X.astype(str), y)
        refused(model, [[{}] * 6] * len(y), y)


@supervised
def test_bad_targets_are_refused(make):
    bad = [np.nan, np.inf, None, [1]]
    bad += ["a", 1e60, 1 + 2j] if task_of(make) == "regression" else [0.5, 1 + 2j, b"a"]
    for model, X, y in states_of(make):
        for value in bad:
            broken = np.empty(len(y), dtype=object)
            broken[:] = y.tolist()
            broken[70] = value
            refused(model, X, broken)
            if isinstance(value, float):
                broken = y.astype(float)
                broken[70] = value
                refused(model, X, broken)
    with Unchanged(default(make)) as model, pytest.raises(SeriatimError):
        model.partial_fit(X, y + 1j)


@every
def test_bad_examples_are_refused_one_by_one(make):
    X, y = examples(make)
    good = y[0].item()
    for model in (default(make), learn_dicts(default(make), X[:20], y[:20])):
        for bad in BAD_VALUES[1:]:  # NaN is a missing value
            with Unchanged(model), pytest.raises(DataError, match="'new'"):
                model.learn_one({"x0": 1.0, "new": bad}, good)
        for bad in ({"new": object()}, {"new": [1, "a"]}, {3: 1.0}, {"new": 1j}, {"new": {"a": {1}}}):
            with Unchanged(model), pytest.raises(DataError):
                model.learn_one(bad, good)
        for bad in () if not make.labelled else (np.nan, np.inf, None, [1]):
            with Unchanged(model), pytest.raises(DataError):
                model.learn_one({"x0": 1.0, "new": 2.0}, bad)


@every
def test_a_refused_first_example_leaves_all_open(make):
    """Afterwards the model still accepts arrays, names or labels."""
    X, y = examples(make)
    model = default(make)
    with pytest.raises(DataError):
        model.learn_one({"x": np.inf}, y[0].item())
    assert_same_state(model.partial_fit(X, y), default(make).partial_fit(X, y))
    model = default(make)
    with pytest.raises(DataError):
        model.partial_fit([[np.nan]], y[:1])
    assert_same_state(learn_dicts(model, X, y), learn_dicts(default(make), X, y))


@every
def test_what_does_not_fit_in_memory_is_refused(make):
    """A column of 2^31 would need a table of many gigabytes; the limit is told, and the model goes on."""
    X, y = examples(make)
    for model in (default(make), default(make).partial_fit(X, y)):
        if getattr(model, "_learner", None) is not None and getattr(model._learner, "weights", None) is None:
            continue  # keeps rows, not a table
        wide = csr_matrix(([1.0], ([0], [2**31 - 4])), shape=(1, 2**31 - 3))
        with Unchanged(model), pytest.raises(SeriatimError, match=r"limit|n_features"):
            model.partial_fit(wide, y[:1])
        model.partial_fit(X, y)


@every
def test_arrays_and_names_do_not_mix(make):
    X, y = examples(make)
    with Unchanged(default(make).partial_fit(X, y)) as model:
        with pytest.raises(DataError, match="names"):
            model.learn_one({"x0": 1.0}, y[0].item())
        with pytest.raises(DataError, match="names"):
            answer_one(model, {"x0": 1.0})


# ---- 7. finite always


def all_finite(model):
    numbers = [value for value in model.__getstate__()["state"].values() if not isinstance(value, str | bytes)]
    return all(np.isfinite(value).all() for value in numbers)


@every_setting
@looped("labels", numbers_of_labels(2, 3))
def test_always_finite(cls, parameters, labels, tmp_path):
    """Thousands of rows of very different lengths; what is not finite could not be saved either."""
    n = 1000 if cls.family == "kernel" else 4000  # there a round costs the support vectors, or their square
    X, y = examples(cls, n=n, d=5, labels=labels)
    X *= 10.0 ** np.random.default_rng(2).uniform(-6, 6, (n, 1))
    model = cls(**parameters).partial_fit(X, y)
    assert all_finite(model)
    assert np.isfinite(scores(model, X)).all()
    model.save(tmp_path / "model")
    assert_same_state(seriatim.load(tmp_path / "model"), model)


@every_setting
def test_finite_at_the_ends_of_the_range(cls, parameters):
    """Values that vanish when squared, and the largest that are taken."""
    X, y = examples(cls, n=400, d=4)
    sizes = np.array([1e-320, 1e-200, 1e-162, 1e-155, 1e-100, 1.0, 1e49])
    X = np.clip(X, -3, 3) * np.random.default_rng(3).choice(sizes, (400, 1))
    model = cls(**parameters).partial_fit(X, y)
    assert all_finite(model)
    assert np.isfinite(scores(model, X)).all()


@regressors
def test_finite_with_large_targets(make):
    X, y = examples(make, n=400)
    model = default(make).partial_fit(X, 1e49 * y)
    assert all_finite(model)
    assert np.isfinite(model.predict(X)).all()


# ---- other promises


@every
def test_inputs_are_not_changed(make):
    X, y = examples(make, labels=3)
    for rows in (X, csr_matrix(X), np.asfortranarray(X), X.astype(np.float32), (8 * X).astype(int)):
        kept, targets = rows.copy(), y.copy()
        model = default(make).partial_fit(rows, y)
        answers(model, rows)
        scores(model, rows)
        model.fit(rows, y)
        assert (kept != rows).sum() == 0
        assert (targets == y).all()
    x = {"a": 1.0, "b": "red", "c": ["p", "q"]}
    model = default(make).learn_one(x, y[0].item())
    answer_one(model, x)
    assert x == {"a": 1.0, "b": "red", "c": ["p", "q"]}


@every
def test_models_do_not_share_state(make):
    """A copy that learns on does not move the original, nor the arrays that were read from it."""
    X, y = examples(make)
    model = default(make).partial_fit(X, y)
    twin = copy.deepcopy(model)
    read = model.__getstate__()
    other = X[::-1] if make.nonnegative else -X
    with Unchanged(model):
        twin.partial_fit(other, y)
    kept = copy.deepcopy(read)
    model.partial_fit(other, y)
    assert same(read, kept)


@every
@looped("labels", [2, 4])
def test_order_of_the_keys_does_not_matter(make, labels):
    expect_no_numbers(make)
    X, y = examples(make, labels=labels)
    rng = np.random.default_rng(4)
    straight, shuffled = default(make), default(make)
    for x, target in zip(as_dicts(X), y, strict=True):
        keys = rng.permutation(list(x))
        straight.learn_one(x, target)
        shuffled.learn_one({str(key): x[key] for key in keys}, target)
    for x in as_dicts(X):
        ours, theirs = shuffled.score_one(x), straight.score_one(x)
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)


@every
def test_kinds_of_dict(make):
    """Counters of words are dicts too."""
    _, y = examples(make)
    plain = default(make).learn_one({"a": 2, "b": 1}, y[0].item())
    for kind in (Counter("aab"), OrderedDict(a=2, b=1)):
        model = default(make).learn_one(kind, y[0].item())
        assert_same_state(model, plain)
        assert np.array_equal(answer_one(model, kind), answer_one(plain, {"a": 2, "b": 1}))


@every
def test_fit_forgets(make):
    X, y = examples(make, labels=3)
    used = default(make).partial_fit(10 * X[:, :4], 0 * y)
    assert_same_state(used.fit(X, y), default(make).partial_fit(X, y))
    named = learn_dicts(default(make), X, y)
    assert_same_state(named.fit(X, y), default(make).fit(X, y))


@every_setting
def test_repr_evaluates_back(cls, parameters):
    model = cls(**parameters)
    again = eval(repr(model), {**ALGORITHMS, "Features": seriatim.Features})
    assert type(again) is cls
    assert same(again.get_params(), model.get_params())
    assert repr(again) == repr(model)


@every
def test_observed_scores_are_those_of_the_moment(make):
    """What a run judges is what the model would have answered just before it learned; of batches, at their ends."""
    for labels in (2, min(3, most_labels(make))):
        X, y = examples(make, labels=labels)
        parameters = {"classes": list(range(labels))} if task_of(make) == "classification" else {}
        parameters |= {"batch": 1} if "batch" in make.parameters else {}
        model, asked, seen = default(make, **parameters), [], []
        for x, target in zip(X, y, strict=True):
            asked.append(scores(model, x[None, :])[0] if model.__sklearn_is_fitted__() else None)
            row, told = as_rows(x[None, :]).check(), model.as_targets([target], 1)
            model.learn_rows(row, told, before := Scores())
            seen.append(before.segments[0][-1][0])
        for ours, theirs in zip(seen[1:], asked[1:], strict=True):
            assert ours == pytest.approx(np.atleast_1d(theirs), rel=1e-9, abs=1e-9)


@supervised
def test_counters(make):
    X, y = examples(make)
    X[10] = 0
    alone = {"kernel": "linear"} if "kernel" in make.parameters else {"fit_intercept": False}
    model = default(make, **alone).partial_fit(X, y)
    assert model.t_ == 90
    assert 0 < model.updates_ < 90  # a row of zeros counts as a round and changes nothing
    assert model.n_features_in_ == 6


@every
def test_nothing_to_ask_before_the_first_example(make):
    X, _ = examples(make)
    model = default(make)
    learned = "components_" if task_of(make) == "representation" else "coef_"
    for question in (
        lambda: answers(model, X),
        lambda: model.t_,
        lambda: model.n_features_in_,
        lambda: getattr(model, learned),
    ):
        with Unchanged(model), pytest.raises(NotFittedError):
            question()


@supervised
def test_a_stream_begins_with_a_prediction(make):
    """Predict, reveal, learn: the first prediction, of one example, is that of no knowledge, and leaves no trace."""
    with Unchanged(default(make)) as model:
        assert model.score_one({"a": 1.0}) == 0
        assert model.predict_one({"a": 1.0}) == (None if task_of(make) == "classification" else 0)


# ---- parameters


def out_of_range(parameter):
    if isinstance(parameter, Number):
        yield from ("1", np.nan, np.inf, -np.inf, True, [], 1j)
        yield from () if parameter.optional else (None,)
        yield from () if parameter.above is None else (parameter.above, parameter.above - 1)
        yield from () if parameter.least is None else (parameter.least - 1e-9,)
        yield from () if parameter.below is None else (parameter.below, parameter.below + 1)
        yield from () if parameter.most is None else (parameter.most + 1e-9,)
        yield from (1.5, 3.0) if parameter.integer else ()
    if isinstance(parameter, Choice):
        yield from ("none of them", None, 1, parameter.options[0].upper() + "x", ["I"])
    if isinstance(parameter, Flag):
        yield from ("yes", None, 2, 1.0)
    if isinstance(parameter, Labels):
        yield from ([], ["a"], ["a", "a"], 5, [[1], [2]], [0.5, 1.5], [None, 1], [np.nan, 1])


def bad_parameters(cls):
    return [{name: bad} for name, parameter in cls.parameters.items() for bad in out_of_range(parameter)]


@every_class
@looped("bad", bad_parameters)
def test_parameters_out_of_range(cls, bad):
    """Refused before the first example, whichever way it comes, by an error that names the parameter."""
    X, y = examples(cls)
    (name,) = bad
    model = default(cls, **bad)
    calls = (
        lambda: model.partial_fit(X, y),
        lambda: model.fit(X, y),
        lambda: model.learn_one({"a": 1.0}, y[0].item()),
        lambda: seriatim.evaluate.progressive(model, X, y),
    )
    for call in calls:
        with pytest.raises(ParameterError, match=rf"\b{name}\b"):
            call()
        assert not model.__sklearn_is_fitted__()
        assert model.__getstate__()["state"] is None


@every_class
@looped("bad", bad_parameters)
def test_set_params_out_of_range_on_a_live_model(cls, bad):
    """A refused parameter leaves the trained model unchanged."""
    X, y = examples(cls)
    (name,) = bad
    with Unchanged(default(cls).partial_fit(X, y)) as model, pytest.raises(ParameterError, match=rf"\b{name}\b"):
        model.set_params(**bad)


@every
def test_numbers_can_change_on_a_live_model(make):
    """The state stays, bit by bit, and later examples are learned with the new value."""
    X, y = examples(make)
    for name, parameter in make.parameters.items():
        if not isinstance(parameter, Number) or name in make.fixed:
            continue
        model = default(make).partial_fit(X, y)
        before = copy.deepcopy(model.__getstate__())
        other = next(value for value in (0.125, 0.875, 3) if parameter.problem(value) is None)
        assert model.set_params(**{name: other}) is model
        after = model.__getstate__()
        assert same(after.pop("parameters"), {**before.pop("parameters"), name: other})
        assert same(after, before)
        assert model.partial_fit(X, y).t_ == 180


LABELS = ([0, 1], [0, 1, 2])


@every
def test_what_else_changes_on_a_live_model(make):
    """A choice, a flag or the labels change, and what was learned stays; or they are refused, and nothing changes."""
    X, y = examples(make)
    for name, parameter in make.parameters.items():
        values = {
            Choice: getattr(parameter, "options", ()),
            Flag: (True, False),
            Labels: LABELS[: most_labels(make) - 1],
        }
        for start, value in product(values.get(type(parameter), ()), repeat=2):
            model = default(make, **{name: start}).partial_fit(X, y)
            before = copy.deepcopy(model.__getstate__())
            try:
                model.set_params(**{name: value})
            except ParameterError as error:
                assert name in str(error)
                assert same(model.__getstate__(), before)
            assert model.t_ == 90
            assert model.partial_fit(X, y).t_ == 180


@every
def test_set_params_with_an_unknown_name(make):
    X, y = examples(make)
    with (
        Unchanged(default(make).partial_fit(X, y)) as model,
        pytest.raises(ParameterError, match="no parameter 'etta'"),
    ):
        model.set_params(etta=1)


@every
def test_parameters_are_by_keyword(make):
    places = [
        name for name, parameter in make.parameters.items() if parameter.default is REQUIRED or parameter.positional
    ]
    with pytest.raises(TypeError):
        make(*range(len(places) + 1))
    with pytest.raises(TypeError):
        default(make, etta=1)


@classifiers
@looped("bad", [["a"], 5, [0.5, 1.5], [[1], [2]]])
def test_bad_classes_in_the_first_call(make, bad):
    X, y = examples(make)
    with Unchanged(default(make)) as model, pytest.raises(ParameterError, match="classes"):
        model.partial_fit(X, y, classes=bad)


# ---- refused input leaves no trace


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [(seriatim.EG, {}), pytest.param(seriatim.AROW, {"covariance": "full"}, marks=pytest.mark.slow)],
)
def test_a_frame_without_room_leaves_the_model_as_it_was(cls, parameters):
    """The new names are removed, too."""
    X, y = examples(cls)
    known = pandas.DataFrame(X[:, :2], columns=["a", "b"])
    wide = pandas.DataFrame(np.ones((2, 20_001)), columns=[f"x{j}" for j in range(20_001)]).assign(a=1.0, b=2.0)
    model = cls(**parameters).partial_fit(known, y)
    with Unchanged(model), pytest.raises(SeriatimError):
        model.partial_fit(wide, y[:2])
    model.partial_fit(known, y).predict(known)


def test_a_label_of_a_refused_example_is_not_taken_in():
    model = seriatim.EG().learn_one({"a": 1.0}, "x")
    with Unchanged(model), pytest.raises(DataError, match="n_features"):
        model.learn_one({"b": 1.0}, "z")
    assert model.classes_.tolist() == ["x"]


@classifiers
def test_classes_are_told_once(make):
    X, y = examples(make)
    with pytest.raises(ParameterError, match="classes"):
        default(make, classes=[0, 1, 2]).partial_fit(X, y, classes=[0, 1])
    default(make, classes=[0, 1]).partial_fit(X, y, classes=[1, 0])


def test_a_ball_around_a_model_that_had_none():
    X, y = examples(seriatim.OGD)
    model = seriatim.OGD(fit_intercept=False).partial_fit(X, y).set_params(radius=0.01)
    assert np.linalg.norm(model.partial_fit(X, y).coef_) <= 0.01 * (1 + 1e-9)


def test_a_parameter_that_is_what_it_was_may_be_set():
    X, y = examples(seriatim.ALMA)
    model = seriatim.ALMA(p=3.0, classes=[0, 1]).partial_fit(X, y)
    model.set_params(p=3.0, classes=[0, 1], alpha=0.5)
    with Unchanged(model), pytest.raises(ParameterError, match="ALMA: p cannot"):
        model.set_params(p=4.0, alpha=0.6)


def test_a_label_for_which_there_is_no_room(monkeypatch):
    """A third label triples the covariance; where that is too much the model stays binary, and goes on."""
    model = seriatim.AROW(covariance="full")
    for k in range(40):
        model.learn_one({f"x{j}": float(j - k % 7) for j in range(20)}, k % 2)
    monkeypatch.setattr(seriatim.linear.covariance, "MAX_BYTES", 4000)
    with Unchanged(model), pytest.raises(LimitError, match="diagonal"):
        model.learn_one({"x1": 1.0}, 2)
    assert model.learn_one({"x1": 1.0}, 1).predict_one({"x1": 1.0}) in (0, 1)


def test_a_label_that_the_costs_do_not_know():
    model = seriatim.CSPA(rho=[[0, 1], [2, 0]], classes=[0, 1]).learn_one({"a": 1.0}, 0)
    with Unchanged(model), pytest.raises(ParameterError, match="2 is not one of them"):
        model.learn_one({"a": 2.0}, 2)
    model.learn_one({"a": 2.0}, 1)
