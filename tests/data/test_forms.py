"""A table gives the same features and the same weights in every format and container."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seriatim import PA, data, evaluate
from seriatim.errors import DataError
from tests.data.reading import ROWS, as_bytes, as_objects, as_text, rows_of
from tests.reference.features import features_of

pa = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

TAGS = [["x", "y", "x"], None, [], ["a b"], ["x"]]


def weights(model: Any) -> dict:
    """Nonzero weights by label and feature."""
    names = model.feature_names_in_ if model._vocabulary is not None else range(model.coef_.shape[1])
    return {
        (label, name): value
        for label, row in zip(model.classes_.tolist(), model.coef_.tolist(), strict=True)
        for name, value in zip(names, row, strict=True)
        if value
    }


HOWS = (
    {},
    {"missing": "count"},
    {"text": ["t"]},
    {"text": ["t", "c"], "ngram": 3, "lower": False},
    {"text": ["t"], "token": "[a-zÄ]+", "ngram": 2},
    {"drop": ["w", "c"], "missing": "count"},
    {"cross": [("c", "n"), ("f", "w")]},
    {"cross": [("t", "n"), ("c", "t")], "text": ["t"], "drop": ["w"]},
)


@pytest.mark.parametrize("how", HOWS, ids=str)
@pytest.mark.parametrize("tagged", [False, True])
def test_one_table_is_the_same_in_every_form(tmp_path, how, tagged):
    """The names and values of features and the learned weights agree. Lists occur in formats that have them."""
    rows = [{**row, "tags": tags} for row, tags in zip(ROWS, TAGS, strict=True)] if tagged else ROWS
    examples = [({k: v for k, v in row.items() if k != "y"}, row["y"]) for row in rows]
    expected = [(y, features_of(x, **how)) for x, y in examples]
    model = PA()
    for y, x in expected:
        model.learn_one(x, y)
    right = {name: pytest.approx(value, rel=1e-12) for name, value in weights(model).items()}

    files = {".jsonl": as_objects(rows), ".parquet": as_bytes(".parquet", rows), ".arrow": as_bytes(".arrow", rows)}
    if not tagged:
        files |= {".csv": as_text(","), ".tsv": as_text("\t")}
    for ending, content in files.items():
        path = tmp_path / f"rows{ending}"
        path.write_bytes(content)
        assert rows_of(path, features=how) == expected, ending
        run = evaluate.progressive(PA(features=how or None), data.stream(path, features=how))
        assert weights(run.model) == right, ending

    frames = [pa.Table.from_pylist(rows).drop_columns(["y"])]
    if not tagged:
        frames.append(pandas.DataFrame([x for x, _ in examples]).astype({"n": float, "f": "boolean"}))
    frames.append(polars.DataFrame([x for x, _ in examples]))
    for frame in frames:
        model = PA(features=how or None).partial_fit(frame, [y for _, y in examples])
        assert weights(model) == right, type(frame)

    model = PA(features=how or None)
    for x, y in examples:
        model.learn_one(x, y)
    assert weights(model) == right


@pytest.mark.parametrize("how", [{}, {"missing": "count"}, {"text": ["t"], "cross": [("c", "n"), ("t", "f")]}], ids=str)
def test_hashed_columns_are_the_same_in_every_form(tmp_path, how):
    how = {**how, "bits": 10}
    examples = [({k: v for k, v in row.items() if k != "y"}, row["y"]) for row in ROWS]
    found, models = [], []
    for ending, content in (
        (".csv", as_text(",")), (".jsonl", as_objects(ROWS)), (".parquet", as_bytes(".parquet", ROWS)),
    ):  # fmt: skip
        path = tmp_path / f"rows{ending}"
        path.write_bytes(content)
        found.append(rows_of(path, features=how))
        models.append(evaluate.progressive(PA(), data.stream(path, features=how)).model)
    assert found[0] == found[1] == found[2]
    named = [features_of(x, **how) for x, _ in examples]
    assert [sum(row.values()) for _, row in found[0]] == pytest.approx([sum(row.values()) for row in named])
    table = pa.Table.from_pylist(ROWS).drop_columns(["y"])
    models += [PA(features=how).partial_fit(table, [y for _, y in examples]), PA(features=how)]
    for x, y in examples:
        models[-1].learn_one(x, y)
    for model in models[1:]:
        assert weights(model) == pytest.approx(weights(models[0]), rel=1e-12)


SAME = (
    {"a": {"b": 1, "c": ["x"]}, "d": [1, None, 2.5]},
    {"when": "2026-11-16T08:30", "not": "2026-02-30"},
    {"b": True, "n": 0, "s": "", "none": None},
    {"ngram": "a b a", "é": "語"},
    {"a=x": 1, "a": "x"},  # two spellings of one feature
    {"a": ["x", "y", "x"], "a=x": 0.5, "b": 2},
    {"a=x": "y", "a": "x"},
    {"a=x": None, "a": "x"},
)


@pytest.mark.parametrize("x", SAME, ids=str)
def test_a_dict_is_what_a_line_of_json_is(tmp_path, x):
    """`learn_one` of a dict, with and without `features`, agrees with a JSON file."""
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**x, "label": "p"}) + "\n" + json.dumps({**x, "label": "q"}))
    found = []
    for how in (None, {"missing": "count"}):
        for learn in (
            lambda model: model.learn_one(x, "p").learn_one(x, "q"),
            lambda model: evaluate.progressive(model, data.stream(path, features=model.features)).model,
        ):
            try:
                model = learn(PA(features=how))
                weight = dict(zip(model.feature_names_in_.tolist(), model.coef_[0].tolist(), strict=True))
            except DataError:
                weight = "refused"
            found.append(weight)
    assert found[0] == pytest.approx(found[1])
    assert found[2] == pytest.approx(found[3])
    assert [*map(set, found[::2])] == [set(features_of(x)), set(features_of(x, missing="count"))]
