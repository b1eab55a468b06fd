"""Contract tests of recommenders. Each test runs on every algorithm of the catalogue that learns ratings."""

import copy
import json
import pickle
import struct
import threading

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

import seriatim
from seriatim.errors import DataError, LimitError, ModelError, NotFittedError, ParameterError, SeriatimError
from seriatim.parameters import Choice, Flag, Number
from seriatim.recommend.numbering import Numbering
from tests.recommend.comparison import ratings
from tests.test_contract import Unchanged, assert_same_state, same

RECOMMENDERS = {name: cls for name, cls in seriatim.algorithms().items() if cls.task == "recommendation"}
BEYOND = {"PMF": [{"method": "dual_averaging", "biases": True, "implicit": True}], "SVDRecommender": [{"rank": 2}]}

every = pytest.mark.parametrize("cls", RECOMMENDERS.values(), ids=list(RECOMMENDERS))


def settings():
    """(class, parameters): the defaults, each choice and flag alone, and some together."""
    for name, cls in RECOMMENDERS.items():
        alternatives = [{}, *BEYOND.get(name, [])]
        for parameter, declared in cls.parameters.items():
            if isinstance(declared, Choice):
                alternatives += [{parameter: option} for option in declared.options if option != declared.default]
            if isinstance(declared, Flag):
                alternatives.append({parameter: not declared.default})
        for chosen in alternatives:
            yield pytest.param(cls, chosen, id="-".join([name, *(f"{k}={v}" for k, v in chosen.items())]))


every_setting = pytest.mark.parametrize(("cls", "parameters"), list(settings()))


def columns(stream):
    return tuple(map(list, zip(*stream, strict=True)))


def learned(cls, stream, **parameters):
    return cls(**parameters).partial_fit(*columns(stream))


# ---- the stream


@every_setting
def test_division_into_calls_does_not_matter(cls, parameters):
    stream = ratings(1)
    whole = learned(cls, stream, **parameters)
    for size in (1, 7, 100):
        model = cls(**parameters)
        for begin in range(0, len(stream), size):
            model.partial_fit(*columns(stream[begin : begin + size]))
        assert_same_state(model, whole)
    model = cls(**parameters)
    for one in stream:
        model.learn_one(*one)
    assert_same_state(model, whole)
    assert model.t_ == len(stream)


@every
def test_fit_begins_anew(cls):
    stream = ratings(2)
    model = learned(cls, ratings(3)).fit(*columns(stream))
    assert_same_state(model, learned(cls, stream))


@every
def test_labels_of_any_kind(cls):
    """Lists, arrays, series, whole numbers of any type: 1, 1.0 and np.int8(1) are the same user, "1" another."""
    stream = ratings(4)
    users, items, told = columns(stream)
    codes = np.array([int(user[1:]) for user in users])
    whole = cls().partial_fit(codes, np.array(items), np.array(told))
    for kind in (np.int8, np.uint64, np.float32, object):
        assert_same_state(cls().partial_fit(codes.astype(kind), items, told), whole)
    assert_same_state(cls().partial_fit(pandas.Series(codes), pandas.Series(items), pandas.Series(told)), whole)
    assert_same_state(cls().partial_fit(tuple(codes.tolist()), items, told), whole)
    by_name = cls().partial_fit(np.array(users), items, told)
    assert by_name.users_ == [f"u{code}" for code in whole.users_]
    assert (by_name.user_factors_[1] == whole.user_factors_[1]).all()
    model = cls().learn_one(1, "1", 3.0).learn_one("1", 1, 4.0).learn_one(np.int16(1), 1.0, 5)
    assert (model.users_, model.items_, model.t_) == ([1, "1"], ["1", 1], 3)
    assert all(type(label) in (int, str) for label in model.users_ + model.items_)
    big = cls().learn_one(2**70, -5, 3.0).learn_one(-(2**63), 2**63 - 1, 3.0)
    assert big.users_ == [2**70, -(2**63)]
    big.partial_fit(np.array([-(2**63)]), np.array([2**63 - 1]), [4])
    assert_same_state(big, cls().partial_fit([2**70, *[-(2**63)] * 2], [-5, *[2**63 - 1] * 2], [3, 3, 4]))


def test_many_labels_are_found_again():
    """After the hash table has grown several times, and after labels were removed."""
    rng = np.random.default_rng(0)
    given = rng.integers(-(2**62), 2**62, 20_000)
    numbers = Numbering("user")
    codes = numbers.learn(np.concatenate([given, given[::-1]]))
    assert (codes[:20_000] == codes[20_000:][::-1]).all()
    assert numbers.labels == list(dict.fromkeys(given.tolist()))
    numbers.forget(5_000)
    assert len(numbers) == 5_000
    assert (numbers.find(given[:5_000]) == np.arange(5_000)).all()
    assert (numbers.find(given[5_000:]) == -1).all()
    assert (numbers.learn(given[::-1].tolist())[-5_000:] == np.arange(5_000)[::-1]).all()


@every_setting
def test_finite_whatever_the_ratings(cls, parameters):
    rng = np.random.default_rng(5)
    extreme = {n: 1e6 for n in ("eta",) if n in cls.parameters} | {"low": -1e9, "high": 1e9}
    model = cls(**{**parameters, **extreme})
    for _ in range(3):
        model.partial_fit(rng.integers(0, 20, 500), rng.integers(0, 30, 500), rng.choice([-1e9, 0.0, 1e9], 500))
    assert np.isfinite(model.predict(rng.integers(0, 25, 500), rng.integers(0, 35, 500))).all()
    for _, rows in (model.user_factors_, model.item_factors_):
        assert np.isfinite(rows).all()


@every_setting
def test_the_same_ratings_again_and_again(cls, parameters):
    """One pair, one user, one item, ratings that are all equal: nothing is divided by zero."""
    model = cls(**parameters)
    for users, items in (([1] * 50, [1] * 50), ([1] * 50, [*range(50)]), ([*range(50)], [1] * 50)):
        model.partial_fit(users, items, [5.0] * 50)
        assert np.isfinite(model.predict(users, items)).all()


# ---- state


@every_setting
def test_save_and_resume(cls, parameters, tmp_path):
    stream = ratings(6)
    model = learned(cls, stream[:150], **parameters)
    model.save(tmp_path / "model")
    again = [
        seriatim.load(tmp_path / "model"),
        copy.deepcopy(model),
        copy.copy(model),
        pickle.loads(pickle.dumps(model)),
    ]
    model.partial_fit(*columns(stream[150:]))
    for other in again:
        assert type(other) is cls
        assert_same_state(other.partial_fit(*columns(stream[150:])), model)
        assert other.recommend("u1", 30) == model.recommend("u1", 30)
        assert other.nearest(3, 30) == model.nearest(3, 30)


@every
def test_save_before_the_first_rating(cls, tmp_path):
    model, stream = cls(), ratings(7)
    model.save(tmp_path / "model")
    for other in (seriatim.load(tmp_path / "model"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        with pytest.raises(NotFittedError):
            other.predict(["u1"], [1])
        with pytest.raises(NotFittedError):
            other.recommend("u1", 1)
        assert_same_state(other.partial_fit(*columns(stream)), learned(cls, stream))


@every
def test_strange_names_are_saved(cls, tmp_path):
    names = ["", "ü\n", "\0", "a" * 10_000, 2**100, -1, "1", 1]
    model = cls().partial_fit(names, names[::-1], [3.0] * len(names))
    model.save(tmp_path / "model")
    again = seriatim.load(tmp_path / "model")
    assert again.users_ == names
    assert_same_state(again, model)


@every_setting
def test_damaged_files(cls, parameters, tmp_path):
    """A changed file gives a ModelError or a model that works."""
    path, rng = tmp_path / "model", np.random.default_rng(8)
    learned(cls, ratings(8, n=60), **parameters).save(path)
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    for _ in range(60):
        damaged = bytearray(data)
        if rng.random() < 0.5:
            place = int(rng.integers(8 + length, len(data)))
            damaged[place : place + 8] = struct.pack("<d", rng.choice([np.nan, np.inf, -1.0, 1e300, 0.0]))
        else:
            damaged[int(rng.integers(len(data)))] = int(rng.integers(256))
        path.write_bytes(damaged)
        try:
            model = seriatim.load(path)
        except ModelError as error:
            assert str(path) in str(error)
            continue
        try:
            model.partial_fit(*columns(ratings(9, n=40)))
            model.recommend("u1", 5)
        except SeriatimError:
            pass


def rewritten(data, change, tensors=None):
    """A model file with its manifest changed."""
    length = struct.unpack("<Q", data[:8])[0]
    outer = json.loads(data[8 : 8 + length])
    manifest = json.loads(outer["__metadata__"]["seriatim"])
    change(manifest)
    outer["__metadata__"]["seriatim"] = json.dumps(manifest)
    header = json.dumps(outer).encode()
    return struct.pack("<Q", len(header)) + header + data[8 + length :]


@every
def test_files_that_do_not_fit_together(cls, tmp_path):
    path = tmp_path / "model"
    learned(cls, ratings(10)).save(path)
    data = path.read_bytes()
    for change in (
        lambda m: m["numbers"].update(t=5),
        lambda m: m["numbers"].update(t=0),
        lambda m: m["numbers"].update(more=1),
        lambda m: m["parameters"].update({"rank": 2} if "rank" in m["parameters"] else {"n_factors": 3}),
        lambda m: m["parameters"].update(low=9.0),
        lambda m: m.update(users=[1, 2]),
    ):
        path.write_bytes(rewritten(data, change))
        with pytest.raises((ModelError, ParameterError)):
            seriatim.load(path)


@pytest.mark.parametrize(("name", "value"), [("rated_counts", -1), ("rated_items", 99), ("rated_items", -1)])
@every
def test_lists_that_do_not_fit(cls, name, value):
    model = learned(cls, ratings(11))
    state = copy.deepcopy(model.__getstate__())
    state["state"][name][0] = value
    with pytest.raises(ModelError):
        cls.__new__(cls).__setstate__(state)
    state = copy.deepcopy(model.__getstate__())
    state["state"]["rated_items"][:2] = state["state"]["rated_items"][0]  # one item twice
    with pytest.raises(ModelError, match="twice"):
        cls.__new__(cls).__setstate__(state)
    for side in ("users", "items"):
        state = copy.deepcopy(model.__getstate__())
        state["lists"][side][1] = state["lists"][side][0]
        with pytest.raises(ModelError, match="distinct"):
            cls.__new__(cls).__setstate__(state)


@every
def test_memory_is_that_of_the_model(cls):
    """Repeated ratings do not make the state larger."""
    stream = ratings(12)
    model = learned(cls, stream)

    def size():
        return sum(np.asarray(part).nbytes for part in model.__getstate__()["state"].values())

    before = size()
    for _ in range(5):
        model.partial_fit(*columns(stream))
    assert size() == before


@every
def test_no_more_pairs_than_allowed(cls):
    model = learned(cls, ratings(13))
    model._learner.rated.most = model._learner.rated.total + 1
    with Unchanged(model), pytest.raises(LimitError):
        model.partial_fit(["u1", "u1"], ["a", "b"], [3.0, 3.0])
    model.partial_fit(["u1"] * 3, ["a"] * 3, [3.0] * 3)
    with Unchanged(model), pytest.raises(LimitError):
        model.learn_one("u1", "b", 3.0)
    model.learn_one("u1", "a", 3.0)


# ---- errors change nothing


@every
def test_bad_ratings_are_refused(cls):
    users, items, told = columns(ratings(14))
    for model in (cls(), learned(cls, ratings(14))):
        with Unchanged(model):
            for bad in (
                ([1], [2], [np.nan]),
                ([1], [2], [np.inf]),
                ([1], [2], ["3"]),
                ([1], [2], [None]),
                ([1], [2], [3j]),
                ([1], [2], [[3.0]]),
                ([1], [2], 3.0),
                ([1, 5], [2, 5], [3.0, 6.0]),
                ([1, 5], [2, 5], [3.0]),
                ([1], [2, 5], [3.0, 4.0]),
                (["new", None], ["new", 1], [3.0, 4.0]),
                (["new", 1.5], ["new", 1], [3.0, 4.0]),
                (["new", np.nan], ["new", 1], [3.0, 4.0]),
                (["new", [1]], ["new", 1], [3.0, 4.0]),
                (["new", b"a"], ["new", 1], [3.0, 4.0]),
                (["new", "newer"], ["new", (1,)], [3.0, 4.0]),
                (np.array([[1]]), [2], [3.0]),
                (np.array([1.5]), [2], [3.0]),
            ):
                with pytest.raises(DataError):
                    model.partial_fit(*bad)
            for bad in (
                ("new", "new", 9),
                ("new", "new", 10**400),
                ("new", "new", True),
                ("new", "new", "4"),
                ("new", None, 3),
                (None, 1, 3.0),
                ("new", {}, 3.0),
                (1.5, 1, 3.0),
                ("new", 1, np.nan),
                ("new", 1, None),
            ):
                with pytest.raises(DataError):
                    model.learn_one(*bad)
            with pytest.raises(DataError):
                model.predict_one(None, 1)
            if model.__sklearn_is_fitted__():
                with pytest.raises(DataError):
                    model.predict([1, 2], [1])
                with pytest.raises(DataError, match="has no rating"):
                    model.nearest("never seen", 3)
                for n in (-1, 1.5, None, True):
                    with pytest.raises(ParameterError):
                        model.recommend("u1", n)
    assert cls().partial_fit(users, items, told).t_ == len(told)


@every
def test_asking_changes_nothing(cls):
    model = learned(cls, ratings(15))
    with Unchanged(model):
        model.predict(["u1", "never seen"], [1, "nor this"])
        model.predict_one("never seen", "nor this")
        model.recommend("never seen", 5)
        model.nearest(3, 5)
        model.user_factors_[1][:] = 0
        model.users_.append("x")
    assert model.recommend("u1", 0) == []


@every
def test_no_ratings_at_all(cls):
    with Unchanged(cls()) as model:
        model.partial_fit([], [], [])
        assert not model.__sklearn_is_fitted__()
    with Unchanged(learned(cls, ratings(16))) as model:
        model.partial_fit([], [], [])
        assert model.predict([], []).shape == (0,)


@every
def test_no_rows(cls):
    """A recommender refuses rows of features with a clear error."""
    with pytest.raises(DataError, match="ratings"):
        seriatim.evaluate.progressive(cls(), np.ones((3, 2)), [1, 2, 3])
    with pytest.raises(ParameterError, match="is for recommendation"):
        seriatim.evaluate.compare("spam", [cls()])
    with pytest.raises(ParameterError, match="is for recommendation"):
        seriatim.evaluate.tune(cls(), np.ones((30, 2)), [1, 2] * 15)
    with pytest.raises(ParameterError, match="classifier or a regressor"):
        seriatim.evaluate.progressive(seriatim.evaluate.Restart(cls()), np.ones((30, 2)), [1, 2] * 15)
    for name in ("coef_", "n_features_in_", "sparsify", "learn_rows"):
        assert not hasattr(learned(cls, ratings(16)), name)


# ---- parameters


@every
def test_parameters_are_checked(cls):
    for name, parameter in cls.parameters.items():
        wrong = ["nonsense"]
        if isinstance(parameter, Number):
            wrong += [np.nan, np.inf, True]
            wrong += [-1] if parameter.least == 0 or parameter.above == 0 else []
            wrong += [1.5, 0] if parameter.integer and parameter.least == 1 else []
        for value in wrong:
            with pytest.raises(ParameterError, match=name):
                cls(**{name: value}).learn_one(1, 1, 3.0)
            with pytest.raises(ParameterError):
                cls(**{name: value}).predict_one(1, 1)
    with pytest.raises(ParameterError, match="below"):
        cls(low=5.0, high=5.0).partial_fit([1], [1], [5.0])
    with pytest.raises(TypeError, match="takes"):
        cls(nonsense=1)
    if "method" in cls.parameters:
        with pytest.raises(ParameterError, match="above 0 for dual averaging"):
            cls(method="dual_averaging", lam=0.0).learn_one(1, 1, 3.0)


@every
def test_parameters_can_be_seen_and_changed(cls):
    stream = ratings(17)
    model = learned(cls, stream)
    assert repr(model).startswith(f"{cls.__name__}(")
    assert eval(repr(model), {cls.__name__: cls}).get_params() == model.get_params()
    assert clone(model).get_params() == model.get_params()
    assert get_tags(model).estimator_type is None
    for name, value in {"low": 0.0, "n_factors": 3, "method": "dual_averaging", "biases": True, "rank": 2}.items():
        if name in cls.parameters:
            with Unchanged(model), pytest.raises(ParameterError, match="cannot be changed"):
                model.set_params(**{name: value})
    before = model.predict(*columns(stream)[:2])
    changed = {"eta": 0.1} if "eta" in cls.parameters else {"rank": 12}
    model.set_params(**changed)
    assert (model.predict(*columns(stream)[:2]) == before).all()
    model.partial_fit(*columns(stream))
    with pytest.raises(ParameterError, match="has no parameter"):
        model.set_params(nonsense=1)


# ---- threads


@every
def test_threads_wait_for_one_another(cls):
    """Several threads learn and predict at the same time; every rating is learned."""
    stream, model = ratings(18), cls()
    parts, failures = [stream[k::4] for k in range(4)], []

    def work(part):
        try:
            for begin in range(0, len(part), 10):
                model.partial_fit(*columns(part[begin : begin + 10]))
                model.predict([part[0][0]] * 10, [1] * 10)
                model.recommend(part[0][0], 3)
                model.learn_one(*part[begin])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert model.t_ == len(stream) + sum(-(-len(part) // 10) for part in parts)
    assert same(copy.deepcopy(model).__getstate__(), model.__getstate__())
