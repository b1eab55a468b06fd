"""The options of `Features`, for dicts, data frames and model files."""

from __future__ import annotations

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seriatim import CSOGD, PA, Features, Perceptron, load
from seriatim.errors import DataError, LimitError, ParameterError
from seriatim.features.encoder import Encoder, Plan

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def features(x: dict, **options) -> dict[str, float]:
    """The features of a dict, by name."""
    encoder = Encoder(Plan(Features(**options)))
    encoder.take(x)
    rows = encoder.rows()
    _, index, value = rows.arrays
    return {rows.names[j]: v for j, v in zip(index.tolist(), value.tolist(), strict=True)}


CASES = [
    ({"a": 2.5, "b": True, "c": "red", "d": None}, {}, {"a": 2.5, "b": 1.0, "c=red": 1.0}),
    ({"a": None, "b": 1}, {"missing": "count"}, {"a?": 1.0, "b": 1.0}),
    ({"t": "A rose is a rose"}, {"text": ["t"]}, {"t=a": 2.0, "t=rose": 2.0, "t=is": 1.0}),
    ({"t": "A rose"}, {"text": ["t"], "lower": False, "ngram": 2}, {"t=A": 1.0, "t=A rose": 1.0, "t=rose": 1.0}),
    ({"t": "ab-c Größe"}, {"text": ["t"], "token": r"[\w-]+"}, {"t=ab-c": 1.0, "t=größe": 1.0}),
    ({"a": 2, "c": "x", "d": "y"}, {"cross": [("a", "c"), ("c", "d")]},
     {"a": 2.0, "c=x": 1.0, "d=y": 1.0, "a*c=x": 2.0, "c=x*d=y": 1.0}),
    ({"a": 2, "id": "x"}, {"drop": ["id"]}, {"a": 2.0}),
    ({"n": {"a": [1, 2.5], "b": ["u", "v", "u"]}}, {}, {"n.a.0": 1.0, "n.a.1": 2.5, "n.b=u": 2.0, "n.b=v": 1.0}),
    ({"w": datetime.date(2024, 2, 29)}, {},
     {"w.year=2024": 1.0, "w.month=02": 1.0, "w.day=29": 1.0, "w.weekday=Thu": 1.0}),
    ({"w": "2026-11-16T08:30:00Z"}, {},
     {"w.year=2026": 1.0, "w.month=11": 1.0, "w.day=16": 1.0, "w.weekday=Mon": 1.0, "w.hour=08": 1.0}),
    ({"w": "2026-02-30", "v": "2026-11-16 25:00"}, {}, {"w=2026-02-30": 1.0, "v=2026-11-16 25:00": 1.0}),
]  # fmt: skip


@pytest.mark.parametrize(("x", "options", "expected"), CASES)
def test_what_becomes_of_a_dict(x, options, expected):
    assert features(x, **options) == expected


@pytest.mark.parametrize(("x", "options", "expected"), CASES)
def test_a_model_learns_the_same(x, options, expected):
    """Options and the plain features that they produce give the same model."""
    model, plain = Perceptron(features=options or None), Perceptron()
    for label in (1, -1):
        model.learn_one(x, label)
        plain.learn_one(expected, label)
    assert dict(zip(model.feature_names_in_, model.coef_[0], strict=True)) == dict(
        zip(plain.feature_names_in_, plain.coef_[0], strict=True)
    )
    assert model.score_one(x) == plain.score_one(expected)


@given(st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)), st.sampled_from(["T", " "]))
def test_dates_are_those_of_python(when, mark):
    text = when.isoformat(sep=mark)
    parts = {
        "w.year": f"{when.year:04}", "w.month": f"{when.month:02}", "w.day": f"{when.day:02}",
        "w.weekday": when.strftime("%a"), "w.hour": f"{when.hour:02}",
    }  # fmt: skip
    assert list(features({"w": text})) == [f"{part}={value}" for part, value in parts.items()]


DATE = re.compile(
    r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"(?:[T ]([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)


@given(
    st.from_regex(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,10})?)?(Z|[+-][0-9:]{2,6})?)?",
        fullmatch=True,
    )
)
def test_a_text_is_a_date_if_python_has_such_a_day(text):
    found = DATE.fullmatch(text)
    try:
        is_date = found is not None and bool(datetime.date(*map(int, found.groups()[:3])))
    except ValueError:
        is_date = False
    assert (list(features({"w": text})) != [f"w={text}"]) == is_date


def test_bits_keep_no_names_and_count_what_falls_together():
    model = PA(features=Features(bits=3))
    for i in range(20):
        model.learn_one({f"f{i}": 1.0, f"g{i}": "x"}, i % 2)
    assert model.n_features_in_ == 8 and not hasattr(model, "feature_names_in_")
    assert PA(features={"bits": 18}).learn_one({"a": 1.0}, 1).n_features_in_ == 1 << 18


@pytest.mark.parametrize(
    "wrong",
    [{"bits": 0}, {"bits": 29}, {"bits": 2.5}, {"ngram": 0}, {"lower": 1}, {"missing": "x"}, {"cross": ["ab"]},
     {"cross": [("a", "b", "c")]}, {"token": "("}, {"token": "(a)"}, {"normalize": "x"}, {"text": "t"}, {"drop": [1]},
     {"label": 1}, {"nonsense": 1}, 7],
)  # fmt: skip
def test_a_wrong_choice_is_refused(wrong):
    with pytest.raises(ParameterError, match="must be"):
        PA(features=wrong).learn_one({"a": 1.0}, 1)


@pytest.mark.parametrize(
    ("x", "options", "problem"),
    [
        ({"t": " ".join(map(str, range(2000)))}, {"text": ["t"], "cross": [("t", "t")]}, "products in one row"),
        ({"a": 1e40, "b": 1e40}, {"cross": [("a", "b")]}, "beyond"),
        ({"a": float("inf")}, {"bits": 4}, "'a': the value inf"),
        ({"a": [1, "x"]}, {"bits": 4}, "'x' in a list"),
        ({"a": object()}, {"bits": 4}, "of type object"),
        ({"a": "\ud800"}, {"bits": 4}, "not Unicode"),
        ({"a.b": 1, "a": {"b": 2}}, {"bits": 4}, "twice"),
        (["a"], {"bits": 4}, "an example is a dict"),
    ],
)
def test_what_cannot_be_taken_changes_nothing(x, options, problem):
    model = PA(features=Features(**options))
    for _ in range(2):
        before = model.__getstate__()
        with pytest.raises((DataError, LimitError), match=problem):
            model.learn_one(x, 1)
        after = model.__getstate__()
        assert before["names"] == after["names"] and str(before["state"]) == str(after["state"])
        model.learn_one({"fine": 1.0}, 1)


# ---- frames


@pytest.fixture(params=FRAMES)
def make(request):
    return FRAMES[request.param]


TABLE = {
    "age": [30.0, 40.5, None, 20.0],
    "sure": [True, False, True, True],
    "colour": ["red", None, "blue", "red"],
    "words": ["a b", "b", "c a", ""],
    "when": [datetime.datetime(2026, 11, 16, 8), datetime.datetime(2026, 1, 2, 3), None, datetime.datetime(2000, 1, 1)],
}


def test_a_frame_is_learned_as_its_rows_are(make):
    how = Features(text=["words"], cross=[("sure", "colour")])
    model, one_by_one = PA(features=how).partial_fit(make(TABLE), [1, -1, 1, -1]), PA(features=how)
    for row, label in zip(pl.DataFrame(TABLE).rows(named=True), [1, -1, 1, -1], strict=True):
        one_by_one.learn_one(row, label)
    named = [dict(zip(m.feature_names_in_, m.coef_[0], strict=True)) for m in (model, one_by_one)]
    assert named[0] == named[1] and len(named[0]) > 15


def test_columns_are_known_by_name(make):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 2, 60)
    table = {name: X[:, j].tolist() for j, name in enumerate("abc")}
    model = PA().partial_fit(make(table), y)
    turned = {name: table[name] for name in "cab"}
    assert np.array_equal(model.predict(make(turned)), model.predict(make(table)))
    assert np.array_equal(model.predict(make(table)), model.predict(X))
    with pytest.raises(DataError, match="no column 'b'"):
        model.predict(make({name: table[name] for name in "ac"}))
    with pytest.raises(DataError, match="column 'a' is of kind category; the model has learned it as number"):
        model.predict(make(table | {"a": ["x"] * 60}))
    wider = make(table | {"d": [5.0] * 60})
    assert np.array_equal(model.predict(wider), model.predict(make(table)))
    assert model.partial_fit(wider, y).feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(DataError, match="no column 'd'"):
        model.predict(make(table))


def test_a_saved_model_knows_the_columns(make, tmp_path):
    model = PA(features={"text": ["words"]}).partial_fit(make(TABLE), [1, -1, 1, -1])
    model.save(tmp_path / "m")
    other = load(tmp_path / "m")
    assert other.features == {"text": ["words"]} or Features.of(other.features) == Features(text=["words"])
    assert np.array_equal(other.decision_function(make(TABLE)), model.decision_function(make(TABLE)))
    with pytest.raises(DataError, match="no column 'colour'"):
        other.predict(make({name: column for name, column in TABLE.items() if name != "colour"}))


def test_what_a_column_cannot_hold_is_refused(make):
    with pytest.raises(DataError, match="row 1, column 'a'"):
        PA().partial_fit(make({"a": [1.0, float("inf")], "b": ["x", "y"]}), [0, 1])
    with pytest.raises(DataError, match="column 'a' has type"):
        PA().partial_fit(make({"a": [datetime.timedelta(1)] * 2}), [0, 1])


def test_lists_in_a_frame():
    frame = pl.DataFrame({"tags": [["a", "b"], ["b"]], "v": [[1.0, 2.0], [3.0, 4.0]]})
    model = PA().partial_fit(frame, [0, 1])
    assert model.feature_names_in_.tolist() == ["tags=a", "tags=b", "v.0", "v.1"]


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_a_model_of_lists_is_saved_and_knows_the_columns(make, tmp_path):
    table = {"n": [1.0, 2.0], "l": [["p"], ["q", "p"]]}
    model = PA().partial_fit(make(table), ["a", "b"])
    model.save(tmp_path / "m.model")
    again = load(tmp_path / "m.model")
    assert (again.decision_function(make(table)) == model.decision_function(make(table))).all()
    with pytest.raises(DataError, match="no column 'n'"):
        again.predict(make({"l": table["l"]}))


@pytest.mark.parametrize(
    "values, names",
    [
        ([["p"], ["q"]], ["b=p", "b=q"]),
        ([True, None], ["b"]),
        ([1, None], ["b"]),
        ([{"u": 1}, {"u": 2}], ["b.u"]),
        ([np.array([1.0, 2.0]), None], ["b.0", "b.1"]),
        (["x", pd.NA], ["b=x"]),
    ],
)
def test_what_is_in_a_column_of_objects_shows_its_kind(values, names):
    frame = pd.DataFrame({"b": pd.Series(values, dtype=object)})
    assert [*PA().partial_fit(frame, [0, 1]).feature_names_in_] == names


def test_a_frame_has_the_columns_that_are_spoken_of():
    for options in ({"text": ["zz"]}, {"cross": [("a", "zz")]}):
        with pytest.raises(DataError, match="no column 'zz'"):
            PA(features=options).partial_fit(pd.DataFrame({"a": [1.0, 2.0]}), [0, 1])


@pytest.mark.parametrize("options", [{"normalize": "max"}, {"missing": "count"}])
def test_a_label_that_is_refused_leaves_no_feature_behind(options):
    model = CSOGD(features=options).learn_one({"a": 1.0}, "x").learn_one({"a": 2.0}, "y")
    before = model.score_one({"a": 3.0})
    with pytest.raises(DataError, match="third"):
        model.learn_one({"a": 9.0, "new": 5.0}, "z")
    assert [*model.feature_names_in_] == ["a"] and model.score_one({"a": 3.0}) == before


def test_words_of_a_set_come_in_one_order():
    words = [f"w{i}" for i in range(50)]
    for options in ({}, {"features": {"missing": "count"}}):
        model = PA(**options).learn_one({"t": {*words}}, 1)
        assert [*model.feature_names_in_] == sorted(f"t={word}" for word in words)
        with pytest.raises(DataError, match="1 in a bag"):
            model.learn_one({"t": {1, "a"}}, 1)


def test_keys_beyond_those_that_are_remembered():
    """With any number of keys an example has the same features, and the cache of keys is bounded."""
    plan = Plan(Features(missing="count"))
    for i in range(700):
        Encoder(plan).take({f"{i}.{j}": 1.0 for j in range(100)})
    assert plan.n < 70_000
    encoder = Encoder(plan)
    encoder.take({"new": "red", "0.1": None, "other": 2})
    assert [*encoder.rows().names] == ["new=red", "0.1?", "other"]
