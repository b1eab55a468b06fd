"""Numbers, names and labels from users are used unchanged, or refused without a change of the model."""

import datetime as dt
import json
import types
from collections import OrderedDict
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from seriatim import PA, RDA, RMF, SOFS, Hedge, OnlineSVD, PARegressor, WeightedMajority, data, evaluate, load
from seriatim.core.rows import Rows
from seriatim.data.describe import describe
from seriatim.errors import DataError, ParameterError, SeriatimError
from seriatim.estimator.inputs import as_rows
from seriatim.labels import label_array

X = np.array([[1.0, 2.0], [3.0, 4.0]])
WAYS = ({}, {"missing": "count"}, {"bits": 10}, {"normalize": "max"}, {"text": ["t"]})
SURROGATE = "\ud800"


def masked(values, mask):
    return np.ma.array(values, mask=mask)


def refused(act, *arguments, **options):
    """The message of an error, which must be one line."""
    with pytest.raises(SeriatimError) as found:
        act(*arguments, **options)
    assert "\n" not in str(found.value) and len(str(found.value)) < 400, found.value
    return found.value


def test_arrays_that_hold_no_numbers():
    second, nat = np.timedelta64(1, "s"), np.timedelta64("NaT")
    for one in (second, nat, np.datetime64("2026-01-01"), None, "1", b"1", 1j, np.complex128(1), 10**400,
                Fraction(10**400, 3), Decimal("1e999"), Decimal("sNaN"), np.ma.masked, [1], object(), dt.timedelta(1),
                np.longdouble("1e4000"), float("nan")):  # fmt: skip
        array = np.array([[0.0, 1.0], [2.0, 3.0]], dtype=object)
        array[1, 0] = one
        assert isinstance(refused(PA().partial_fit, array, [1, 0]), DataError)
    for whole in ([[10**400, 1], [1, 2]], [[1, 2], [3]], [[[1], 2], [3, 4]], np.ones((2, 2, 2)), 5, None, {1, 2}, "abc",
                  X.astype("m8[s]"), X.astype("M8[s]"), np.zeros(2, [("a", float)]), [["1", "2"]], X + 1j,
                  masked(X, [[1, 0], [0, 0]]), [masked([1.0, 2.0], [1, 0]), [3, 4]]):  # fmt: skip
        assert isinstance(refused(PA().partial_fit, whole, [1, 0]), DataError)
    assert "at [1, 0]" in str(refused(as_rows, np.array([[1, 2], [None, 3]], dtype=object)))


def test_arrays_that_hold_numbers():
    readonly = X.copy()
    readonly.flags.writeable = False
    exact = [[Decimal(1), Fraction(2)], [np.float32(3), True + 3]]
    for whole in (readonly, X.astype(">f8"), X.astype("f2"), X.astype(np.longdouble), X.astype("u8"),
                  masked(X, False), masked(X, [[0, 0], [0, 0]]), exact, X[::-1][::-1]):  # fmt: skip
        assert (as_rows(whole).arrays[0] == X).all()


def test_targets_and_weights_that_are_no_numbers():
    second = np.timedelta64(1, "s")
    for y in ([10**400, 1], masked([1, 0], [1, 0]), [second, 1], np.array([1, 2], "m8[s]"), np.array([1, 2], "M8[ns]"),
              [1j, 1], [None, 1], [[1], [1, 2]], [b"1", 2], [float("nan"), 1], "ab", {"a": 1}, 3):  # fmt: skip
        refused(PARegressor().partial_fit, X, y)
        refused(PA().partial_fit, X, [1, 0], sample_weight=y)
        refused(RMF().partial_fit, ["u", "v"], ["i", "j"], y)
    for y in (np.array([1, 2], "m8[s]"), np.array([1, 2], "M8[ns]"), np.array([second, second], object),
              masked([1, 0], [1, 0]), [1j, 1], [None, 1], [[1], [1, 2]]):  # fmt: skip
        refused(PA().partial_fit, X, y)
        refused(RMF().partial_fit, y, ["i", "j"], [1, 2])


def test_values_of_dicts():
    """None, NaN, NA and NaT are missing; whatever is no number, string, date or bag is refused, features= or not."""
    pd = pytest.importorskip("pandas")
    for value in (None, pd.NaT, pd.NA, np.datetime64("NaT"), np.timedelta64("NaT"), [None], {"b": pd.NaT},
                  float("nan"), np.float32("nan"), Decimal("NaN"), [float("nan")]):  # fmt: skip
        assert PA().learn_one({"a": value, "n": 1.0}, 1).feature_names_in_.tolist() == ["n"]
        counted = PA(features={"missing": "count"}).learn_one({"a": value, "n": 1.0}, 1).feature_names_in_
        assert [name[-1] for name in counted] == ["?", "n"]
    for value in (dt.datetime(2026, 11, 16), np.datetime64("2026-11-16T00:00"), pd.Timestamp("2026-11-16")):
        assert "a.weekday=Mon" in PA().learn_one({"a": value}, 1).feature_names_in_
    for value in (np.timedelta64(1), dt.timedelta(1), pd.Timedelta(1), dt.time(1), 1j, np.complex128(1), b"1", 10**400,
                  memoryview(b"1"), np.array([1.0]), np.array(1.0), masked([1.0], [1]), np.ma.masked, range(3), [[1]],
                  Decimal("sNaN"), {"b": np.timedelta64(1)}, [1, np.timedelta64(1)]):  # fmt: skip
        for features in WAYS:
            model = PA(features=features or None)
            refused(model.learn_one, {"a": value}, 1)
            assert model._learner is None


def test_missing_times_in_frames():
    pd = pytest.importorskip("pandas")
    for column in ([pd.NaT, 2.0], [np.timedelta64("NaT"), 2.0], [pd.NA, 2.0], [None, 2.0]):
        frame = pd.DataFrame({"a": pd.Series(column, dtype=object), "b": [1.0, 2.0]})
        assert PA().partial_fit(frame, [1, 0]).feature_names_in_.tolist() == ["a", "b"]
    for column in ([np.timedelta64(1), 2.0], [pd.Timedelta(1), 2.0], [10**400, 2.0], [1j, 2.0], [b"x", "y"]):
        refused(PA().partial_fit, pd.DataFrame({"a": pd.Series(column, dtype=object)}), [1, 0])
    refused(PA().partial_fit, pd.DataFrame([[1, 2]], columns=["a", "a"]), [1])
    refused(PA().partial_fit, pd.Series([1.0, 2.0]), [1, 0])


def test_one_example_is_judged_alike_with_features_and_without():
    first = {"a": 1.0, "b": 2.0}
    wrong = (None, 5, "a", [1], {1: 2.0}, {None: 1.0}, {"a": float("inf")}, {"a": 1e60}, {b"a": 1.0}, {"a": {1: 1.0}},
             {"a.b": 1.0, "a": {"b": 1.0}}, {"a": object()})  # fmt: skip
    labels = ([1], (1,), None, float("nan"), 1.5, 1e300, 2.0**53, 10**400, b"a", {"a": 1}, SURROGATE, np.array([1]),
              np.timedelta64(1), Decimal(1), 1 + 0j, object())  # fmt: skip
    for features in WAYS:
        for trained in (False, True):
            model = PA(features=features or None)
            if trained:
                model.learn_one(first, 1).learn_one({"a": -1.0}, 0)
            before = repr(model.__getstate__())
            for x in wrong:
                refused(model.learn_one, x, 1)
                if trained:
                    refused(model.predict_one, x)
            for y in labels:
                refused(model.learn_one, first, y)
            for weight in (None, "1", -1, [1.0], np.timedelta64(1), Decimal("NaN")):
                refused(model.learn_one, first, 1, weight)
            assert repr(model.__getstate__()) == before
            for x in (OrderedDict(a=1.0), types.MappingProxyType({"a": 1.0}), {"a": Decimal("0.5")}, {}):
                model.learn_one(x, 1)


# ---- text


def test_lone_surrogates_are_refused(tmp_path):
    """Files cannot store lone surrogates, so a model that accepted one could not be saved."""
    pd = pytest.importorskip("pandas")
    bad, good = f"a{SURROGATE}", {"a": 1.0}
    for features in WAYS:
        for trained in (False, True):
            model = PA(features=features or None)
            if trained:
                model.learn_one(good, 1).learn_one({"a": -1.0}, 0)
            before = repr(model.__getstate__())
            for x in ({bad: 1.0}, {bad: 1}, {"k": bad}, {"k": [bad]}, {"k": {bad}}, {"k": {bad: 1.0}}, {bad: "v"},
                      {"t": bad}, {bad: None, "k": [1], bad + "2": 1.0}):  # fmt: skip
                assert "surrogate U+D800" in str(refused(model.learn_one, x, 1)), x
                if trained:
                    refused(model.predict_one, x)
            refused(model.learn_one, good, bad)
            for frame in (
                {bad: [1.0, 2.0]},
                {"k": [bad, "b"]},
                {bad: ["a", "b"]},
                {"k": [[bad], []]},
                {"t": [bad, "b"]},
            ):
                columns = {name: pd.Series(values, dtype=object) for name, values in frame.items()}
                whole = pd.concat([*columns.values()], axis=1)  # pandas' own strings refuse it
                whole.columns = pd.Index([*columns], dtype=object)
                refused(model.partial_fit, whole.assign(t=whole.get("t", "x")), [1, 0])
            for y in ([bad, "b"], np.array([bad, "b"]), np.array([bad, 1], object)):
                refused(model.partial_fit, X, y)
            refused(model.partial_fit, X, [1, 0], classes=["a", bad])
            assert repr(model.__getstate__()) == before
            model.save(tmp_path / "model")
    for how in ({"text": [bad]}, {"drop": [bad]}, {"cross": [("a", bad)]}, {"label": bad}, {"token": bad}):
        assert isinstance(refused(PA(features=how).learn_one, good, 1), ParameterError)
    refused(PA(classes=["a", bad]).learn_one, good, "a")
    for user, item in ((bad, "i"), ("u", bad)):
        model = RMF()
        refused(model.learn_one, user, item, 3.0)
        refused(model.partial_fit, [user, "v"], [item, "j"], [3.0, 4.0])
        refused(model.predict_one, user, item)
        assert model._learner is None
    refused(RMF().learn_one("u", "i", 3.0).recommend, bad)


@pytest.mark.parametrize("cls", [PA, RDA])
def test_labels_stay_what_they_are(tmp_path, cls):
    large = (2**63 + 1, -(2**70), 10**30, 2**53 + 1, -(2**63), 2**64 - 1)
    for one in large:
        for other in (-1, 7, one + 1):
            for y in ([one, other], (one, other), np.array([one, other], object)):
                model = cls().partial_fit(X, y)
                assert model._labels == sorted([one, other]) and {*map(type, model._labels)} == {int}
                assert sorted(model.classes_.tolist()) == sorted([one, other])
                assert {*model.predict(X).tolist()} <= {one, other} and model.score(X, y) >= 0
            model = cls().learn_one({"a": 1.0}, one).learn_one({"a": -1.0}, other)
            model.save(tmp_path / "model")
            assert load(tmp_path / "model")._labels == sorted([one, other])
            assert model.predict_one({"a": 9.0}) in (one, other)
        if 0 <= one < 2**64:
            assert cls().partial_fit(X, np.array([one, 0], np.uint64))._labels == [0, one]
    for y in ([1, "a"], ["a", 1], [True, "a"], [np.int8(1), "a"]):
        assert {*map(type, cls().partial_fit(X, y)._labels)} <= {int, bool, str} and "a" in cls().partial_fit(
            X, y
        )._labels
    assert cls().partial_fit(X, ["a\0", "a"]).predict(X).tolist() in (
        ["a\0", "a"],
        ["a", "a\0"],
        ["a\0"] * 2,
        ["a"] * 2,
    )
    assert cls().partial_fit(X, ["a\0", "a"])._labels == ["a", "a\0"]
    for y in ([1e300, 1], [2.0**53, 1], [-(2.0**60), 1.0], np.array([1e300, 1]), [10**100, 1]):
        assert "the label" in str(refused(cls().partial_fit, X, y))
        refused(cls().learn_one, {"a": 1.0}, y[0])
    assert json.loads(json.dumps(label_array([2**63 + 1, -1]).tolist())) == [2**63 + 1, -1]


def test_users_and_items_stay_what_they_are():
    model = RMF().partial_fit([2**63 + 1, -1, 7.0], ["i", 10**30, np.int8(3)], [1, 2, 3])
    assert (model.users_, model.items_) == ([2**63 + 1, -1, 7], ["i", 10**30, 3])
    for user in (Decimal(7), 7 + 0j, 1e300, np.timedelta64(7), Fraction(7), None, [7], b"u", float("nan")):
        refused(model.learn_one, user, "i", 1.0)
        refused(model.partial_fit, [user], ["i"], [1.0])
    for users in (np.array([1, 7], "m8[s]"), masked([7, 1], [1, 0]), np.array([7, 1], "M8[ns]"), X):
        refused(model.partial_fit, users, ["i", "j"], [1.0, 2.0])
    assert model.users_ == [2**63 + 1, -1, 7]


def test_wrong_calls_of_other_models():
    """Bad numbers in calls that only some models have. Each error is one line."""
    hedge = Hedge()
    for losses in (
        [10**400, 1],
        [[1], [1, 2]],
        ["1", "2"],
        [np.timedelta64(1), 1],
        [1j, 0],
        masked([1.0, 0.0], [1, 0]),
    ):
        refused(hedge.learn_one, losses)
        refused(hedge.partial_fit, [losses])
    second = np.timedelta64(1)
    for advice, outcome in (([1.0, 10**400], 1.0), ([1.0, 2.0], 10**400), ([second, 1.0], 1), ([1, 2], second)):
        refused(WeightedMajority().learn_one, advice, outcome)
    refused(WeightedMajority().partial_fit, np.array(1.0), np.array(1.0))
    refused(OnlineSVD(2).fit(np.eye(3)).inverse_transform, [[1], [2, 3]])
    for names in (5, [[1], [2, 3]], [["a", "b"]]):
        refused(SOFS(k=1).fit(X, [0, 1]).get_feature_names_out, names)
    for classes in (np.ones((2, 3)), [[1], [2]], np.ones((9, 9)), masked([1.0, 2.0], [1, 0])):
        refused(PA().partial_fit, X, [1, 0], classes=classes)
    refused(RMF().learn_one("u", "i", 3.0).recommend, "u", np.ones((3, 3)))


def test_streams_keep_labels_as_they_are():
    """Shuffled, repeated and described streams keep integers beyond 2^53, which floats cannot represent."""
    rng = np.random.default_rng(0)
    for low, high in ((-(2**70), 2**63 + 1), (2**60, 2**60 + 1), (2**53, 2**53 + 1), (7, 2**64 - 1)):
        blocks = []
        for _ in range(3):
            rows = rng.normal(size=(20, 3))
            y = np.array([(low, high)[int(x[0] > 0)] for x in rows], dtype=object)
            with suppress(OverflowError):
                y = y.astype(np.int64)
            blocks.append((Rows.dense(rows).check(), y))
        for how in ({}, {"shuffle": 1}, {"passes": 2}, {"delay": 3}, {"sample": 0.9}):
            model = PA()
            evaluate.progressive(model, data.stream(blocks, **how))
            assert model._labels == [low, high]
        found = describe(data.stream(blocks)).labels
        assert {one["label"] for one in found} == {low, high} and len(found) == 2
