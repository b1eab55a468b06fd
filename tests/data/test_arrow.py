"""Parquet and Arrow files: agreement with pyarrow, and errors for damaged files and unsupported types."""

from __future__ import annotations

import datetime as dt
import random
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seriatim import PA, data, evaluate
from seriatim.data.read import parquet
from seriatim.data.write.convert import convert
from seriatim.errors import DataError
from tests.data.reading import WAYS, outcome, refusal, rows_of
from tests.reference.features import features_of
from tests.reference.labels import label_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

FORMATS = ("parquet", "arrow", "stream")
ENDINGS = {"parquet": ".parquet", "arrow": ".feather", "stream": ".arrow"}


def write(table: Any, path: Path, format: str, rows: int = 1 << 20) -> Path:
    """Write a table in batches or row groups of `rows` rows."""
    path = path.with_suffix(ENDINGS[format])
    if format == "parquet":
        pq.write_table(table, path, row_group_size=rows)
        return path
    open_ = pa.ipc.new_file if format == "arrow" else pa.ipc.new_stream
    with path.open("wb") as file, open_(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def expected(table: Any, label: str = "label", **how: Any) -> list:
    """The rows of a table by pyarrow. NaN is a missing value."""
    rows = []
    for x in table.to_pylist():
        y = x.pop(label)
        x = {k: None if isinstance(value, float) and value != value else value for k, value in x.items()}
        rows.append((label_of(y) if isinstance(y, str) else float(y), features_of(x, **how)))
    return rows


NEW_YORK = pa.timestamp("us", tz="America/New_York")
noon = st.datetimes(dt.datetime(1970, 1, 1), dt.datetime(2037, 1, 1))  # later, pyarrow has no summer time
word = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
COLUMNS = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "uint64": (pa.uint64(), st.integers(0, 2**53)),
    "int64": (pa.int64(), st.integers(-(2**53), 2**53)),
    "float32": (pa.float32(), st.floats(width=32, allow_infinity=False)),
    "float64": (pa.float64(), st.one_of(st.floats(-1e50, 1e50), st.just(float("nan")))),
    "decimal": (pa.decimal128(12, 4), st.integers(-(10**7), 10**7).map(lambda quarters: Decimal(quarters) / 4)),
    "bool": (pa.bool_(), st.booleans()),
    "string": (pa.string(), st.one_of(word, st.dates().map(str))),
    "large_string": (pa.large_string(), word),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["red", "", "é,語"])),
    "date32": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("ms"), noon.map(lambda when: when.replace(microsecond=0))),
    "zone": (NEW_YORK, noon.map(lambda when: when.replace(tzinfo=dt.UTC))),
}
NESTED = {
    "strings": (pa.list_(pa.string()), st.lists(word, max_size=3)),
    "numbers": (pa.list_(pa.float64()), st.lists(st.floats(-9, 9), max_size=3)),
    "object": (
        pa.struct([("u", pa.int64()), ("v", pa.string())]),
        st.fixed_dictionaries({"u": st.integers(0, 9), "v": st.one_of(st.none(), word)}),
    ),
}
LABELS = (
    (pa.int32(), st.integers(-3, 3)), (pa.float64(), st.floats(-3, 3)), (pa.bool_(), st.booleans()),
    (pa.large_string(), word.filter(bool)), (pa.dictionary(pa.int8(), pa.string()), st.sampled_from("ab")),
    (pa.decimal128(5, 2), st.decimals(-9, 9, places=2)),
)  # fmt: skip


@st.composite
def tables(draw, kinds=COLUMNS):
    n = draw(st.integers(1, 6))
    chosen = draw(st.lists(st.sampled_from([*kinds]), min_size=1, max_size=5, unique=True))

    def column(kind: Any, values: Any) -> Any:
        return pa.array(draw(st.lists(values, min_size=n, max_size=n)), kind)

    columns = {k: column(kinds[k][0], st.none() | kinds[k][1]) for k in chosen}
    return pa.table({**columns, "label": column(*draw(st.sampled_from(LABELS)))})


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("arrow")


@settings(max_examples=60)
@given(tables(), st.sampled_from(FORMATS), st.sampled_from([1, 2, 1 << 20]), st.sampled_from(["skip", "count"]))
def test_tables_are_read_as_pyarrow_reads_them(folder, table, format, rows, missing):
    path = write(table, folder / "table", format, rows)
    assert rows_of(path, features={"missing": missing}) == expected(table, missing=missing)


@settings(max_examples=40)
@given(tables(COLUMNS | NESTED), st.sampled_from(FORMATS), st.sampled_from(["skip", "count"]))
def test_lists_and_objects_are_read_as_pyarrow_reads_them(folder, table, format, missing):
    path = write(table, folder / "table", format, 2)
    how = {"missing": missing, "text": ["string"] if "string" in table.column_names else []}
    assert rows_of(path, features=how) == expected(table, **how)


def test_what_pandas_writes(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"n": [1.5, None, 3.0], "c": pandas.Categorical(["a", None, "b"]), "s": ["x", "y", None],
         "b": [True, False, True],
         "when": pandas.to_datetime(["2026-11-16 08:30", None, "2024-02-29 00:00"]), "label": ["p", "q", "p"]}
    )  # fmt: skip
    path = tmp_path / "frame.parquet"
    frame.to_parquet(path)
    rows = rows_of(path)
    assert rows == expected(pa.Table.from_pandas(frame))
    assert rows[1] == ("q", {"s=y": 1.0, "b": 0.0})
    frame.set_index("s").to_parquet(path)  # an index is a column
    assert [row for _, row in rows_of(path)] == [row for _, row in rows]


# ---- batches and dictionaries


def large(n: int = 120) -> Any:
    rng = np.random.default_rng(4)
    return pa.table(
        {
            "n": rng.standard_normal(n),
            "c": pa.array([None if i % 7 == 0 else f"c{i % 30}" for i in range(n)]).dictionary_encode(),
            "t": [["the cat", "a DOG", "Äpfel"][i % 3] for i in range(n)],
            "class": [["a", "b", "c"][k] for k in rng.integers(0, 3, n)],
        }
    )


@pytest.mark.parametrize("features", [{"text": ["t"], "missing": "count"}, {"bits": 8, "cross": [("c", "n")]}])
def test_a_run_does_not_depend_on_how_it_is_read(folder, monkeypatch, features):
    table = large()
    runs = []
    for batch in (1 << 14, 100, 1):
        monkeypatch.setattr(parquet, "BATCH", batch)
        for format in FORMATS:
            path = write(table, folder / "run", format, {1: 120, 100: 33}.get(batch, 1 << 20))
            runs += [outcome(path, block=block, threads=threads, features=features) for block, threads in WAYS[-2:]]
    assert all(run == runs[0] for run in runs)


@pytest.mark.parametrize("features", [{}, {"text": ["s"], "missing": "count"}, {"bits": 8}, {"cross": [("s", "t")]}])
def test_strings_that_recur_are_read_as_those_that_do_not(folder, features):
    """Strings of a dictionary are encoded by their codes, for which the reader caches the names."""
    rng = np.random.default_rng(5)
    some = np.array(["red", "a b a", "b a", "", "2024-02-29", "2024-02-28T07:30:00", None, "s=red"], dtype=object)
    table = pa.table({k: pa.array(some[rng.integers(0, len(some), 90)]) for k in "st"} | {"label": np.arange(90) % 2})
    runs = []
    for coded in (True, False):
        path = folder / "recurring.parquet"
        pq.write_table(table, path, use_dictionary=coded, row_group_size=40)
        with pq.ParquetFile(path) as file:
            assert parquet.recurring_strings(file) == (["s", "t"] if coded else [])
        runs.append(outcome(path, features=features))
    assert runs[0] == runs[1]
    assert rows_of(path, features={"missing": "count"}) == expected(table, missing="count")


def gappy(n: int, gaps: int, dates: bool) -> Any:
    """Numbers, categories that keep being new, and dates, with or without missing values."""
    rng = np.random.default_rng(7)

    def some(values: list) -> list:
        missing = rng.choice(n, gaps, replace=False)
        return [None if i in missing else value for i, value in enumerate(values)]

    when = ["2024-02-29" if dates and i % 50 == 7 else f"w{i % 3}" for i in range(n)]
    return pa.table(
        {
            "c": pa.array(some([f"c{rng.integers(0, 1 + i // 8)}" for i in range(n)])),
            "m": some(rng.standard_normal(n).tolist()),
            "d": pa.array(some([f"d{k}" for k in rng.integers(0, 40, n)])).dictionary_encode(),
            "w": when,
            "n": some(rng.standard_normal(n).tolist()),
            "label": rng.integers(0, 2, n),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["skip", "count"])
@pytest.mark.parametrize("dates", [False, True])
@pytest.mark.parametrize("gaps", [0, 1, 5, 200])
def test_a_table_is_learned_as_the_same_one_in_text(folder, monkeypatch, gaps, dates, missing):
    """For rows in groups and one by one, and for any dictionaries of the batches."""
    table = gappy(400, gaps, dates)
    text = folder / "gappy.csv"
    text.write_text(table.to_pandas().to_csv(index=False))
    how = {"features": {"missing": missing}}
    wanted = outcome(text, **how)
    for batch, rows in ((1 << 14, 1 << 20), (1 << 14, 90), (100, 1 << 20), (17, 33)):
        monkeypatch.setattr(parquet, "BATCH", batch)
        for format in FORMATS:
            path = write(table, folder / "gappy", format, rows)
            assert outcome(path, **how) == wanted
            assert rows_of(path, **how) == expected(table, missing=missing)


def test_a_cell_may_be_the_feature_of_another_column(tmp_path):
    table = pa.table({"a": ["b", "c"] * 20, "a=b": [2.0, 3.0] * 20, "label": [0, 1] * 20})
    text = tmp_path / "shared.csv"
    text.write_text(table.to_pandas().to_csv(index=False))
    assert outcome(write(table, tmp_path / "shared", "parquet")) == outcome(text)


@pytest.mark.parametrize("format", FORMATS)
def test_a_model_knows_the_names_of_what_it_has_learned(folder, monkeypatch, format):
    """A model does not know the names of skipped or only predicted batches."""
    monkeypatch.setattr(parquet, "BATCH", 20)
    c = [f"c{i // 20}" for i in range(100)]
    table = pa.table({"c": c, "n": np.arange(100.0), "label": np.arange(100) % 2})
    path = write(table, folder / "names", format, 20)
    model = PA()
    for k, (rows, y) in enumerate(data.stream(path)):
        if k in (1, 3):
            model.learn_rows(rows, model.as_targets(y, rows.n))
        elif k > 1:
            model.score_rows(rows)
    assert model.feature_names_in_.tolist() == ["n", "c=c1", "c=c3"]
    rest = evaluate.progressive(PA(), data.stream(path, skip=40)).model
    assert rest.feature_names_in_.tolist() == ["n", "c=c2", "c=c3", "c=c4"]
    used = PA().learn_one({"c": "c4", "n": 1.0}, 0)
    both = PA().learn_one({"c": "c4", "n": 1.0}, 0)
    evaluate.progressive(used, data.stream(path))
    for x in table.to_pylist():
        y = x.pop("label")
        both.learn_one(dict(sorted(x.items(), key=lambda one: one[0] == "c")), y)
    assert sorted(used.feature_names_in_) == sorted(both.feature_names_in_)
    weights = [dict(zip(one.feature_names_in_, one.coef_[0].tolist(), strict=True)) for one in (used, both)]
    assert weights[0] == pytest.approx(weights[1], rel=1e-12)


# ---- refusals

FAR = {"n": pa.array([0.0] * 250), "label": pa.array([1, 0] * 125)}
INF = [0.0] * 220 + [float("inf")] * 30
BAD_TEXT = pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", b"\xff"]).buffers())
NO_LABEL = "row {}, column 'label': expected a label, found none"
NO_KIND = "rows 1 to 1: column {} has type {}"
REFUSED = {
    "inf": ({**FAR, "n": INF}, "row 221, column .*: the value inf is not finite"),
    "-inf and a null": (
        {"n": [None, float("-inf")], "label": [1, 2]},
        "row 2, column 'n': the value -inf is not finite",
    ),
    "1e60": ({"n": [1.0, 1e60], "label": [1, 2]}, r"row 2, column .*: the value 1e\+60 is beyond \+-1e\+50"),
    "no column": ({"n": [1], "m": [2]}, r"which column is the label\? Say so by --label .*; 'n', 'm'"),
    "a null label": ({**FAR, "label": [1] * 210 + [None] * 40}, NO_LABEL.format(211)),
    "a NaN label": ({"n": [1, 2], "label": [1.0, float("nan")]}, NO_LABEL.format(2)),
    "an empty label": ({"n": [1, 2], "label": ["a", ""]}, NO_LABEL.format(2)),
    "no labels": ({"n": [1, 2], "label": pa.nulls(2)}, NO_LABEL.format(1)),
    "a large label": (
        {"n": [1], "label": [2**60 + 1]},
        "rows 1 to 1: column 'label': expected labels that fit a float64: Integer value",
    ),
    "a list for a label": (
        {"n": [1], "label": [[1]]},
        NO_KIND.format("'label'", "list.*; labels are numbers or strings"),
    ),
    "a date for a label": ({"n": [1], "label": [dt.date(2026, 1, 1)]}, NO_KIND.format("'label'", "date32")),
    "a time": ({"t": [dt.time(1)], "label": [1]}, NO_KIND.format("'t'", r"time64\[us\]; a column holds numbers")),
    "bytes": ({"t": [b"x"], "label": [1]}, NO_KIND.format("'t'", "binary; a column holds numbers")),
    "no UTF-8": ({"t": BAD_TEXT, "label": [1, 2]}, "damaged .* data: .*UTF8"),
    "no UTF-8 in a label": ({"t": [1, 2], "label": BAD_TEXT}, "damaged .* data: .*UTF8"),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(tmp_path, monkeypatch, case, format):
    monkeypatch.setattr(parquet, "BATCH", 100)
    columns, problem = REFUSED[case]
    path = write(pa.table(columns), tmp_path / "table", format)
    found = str(refusal(path))
    assert re.match(re.escape(str(path)) + ": " + problem, found), found


def columns_by_type():
    """A column of each type: the features of its first row, or its error."""
    ree = pa.RunEndEncodedArray.from_arrays
    storage = pa.ExtensionArray.from_storage
    refused = "row|column 'q' has type"
    columns = [
        (pa.array([[("a", 1.5)], None], pa.map_(pa.string(), pa.float64())), {"q.a": 1.5}),
        (pa.array([[("a", "x")], []], pa.map_(pa.string(), pa.string())), {"q.a=x": 1}),
        (pa.array([[(1, 2)], []], pa.map_(pa.int32(), pa.int32())), refused),
        (ree(pa.array([1, 2], pa.int32()), pa.array([1.5, None])), {"q": 1.5}),
        (ree(pa.array([1, 2], pa.int32()), pa.array(["a", None])), {"q=a": 1}),
        (ree(pa.array([1, 2], pa.int32()), pa.array([b"a", None])), refused),
        (pa.array([[1.0, 2.0], None], pa.large_list(pa.float64())), {"q.0": 1, "q.1": 2}),
        (pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2)), {"q.0": 1, "q.1": 2}),
        (pa.array([["a", "b"], []]), {"q=a": 1, "q=b": 1}),
        (pa.array([[b"a"], []]), "row 1: feature 'q"),
        (pa.array([[[1]], []]), "row 1: feature 'q"),
        (pa.array([1, 2]).dictionary_encode(), {"q": 1}),
        (pa.array([1.5, None]).dictionary_encode(), {"q": 1.5}),
        (pa.array(["a", None]).dictionary_encode(), {"q=a": 1}),
        (pa.array([b"a", None]).dictionary_encode(), refused),
        (pa.array([Decimal("1.5"), None]), {"q": 1.5}),
        (pa.array([Decimal("1.5"), None], pa.decimal256(50, 2)), {"q": 1.5}),
        (pa.array([1, None], pa.time32("s")), refused),
        (pa.array([1, None], pa.duration("s")), refused),
        (pa.array([(1, 2, 3), None], pa.month_day_nano_interval()), refused),
        (pa.array([b"a", None]), refused),
        (pa.array([b"a", None], pa.large_binary()), refused),
        (pa.array([b"\xff", None], pa.binary(1)), refused),
        (pa.array([b"a", None], pa.binary_view()), refused),
        (pa.array(["a", None], pa.string_view()), {"q=a": 1}),
        (pa.nulls(2), {}),
        (pa.array([{"a": 1, "b": "x"}, None]), {"q.a": 1, "q.b=x": 1}),
        (pa.array([{"a": dt.timedelta(1)}, None]), "row 1: feature 'q.a'"),
        (pa.array(np.array([1, 2], np.float16)), {"q": 1}),
        (pa.array([2**31 - 1, None], pa.date32()), None),
        (storage(pa.fixed_shape_tensor(pa.float64(), [2]), pa.array([[1.0, 2.0]] * 2, pa.list_(pa.float64(), 2))),
         {"q.0": 1, "q.1": 2}),
        (pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]), refused),
    ]  # fmt: skip
    if hasattr(pa, "uuid"):
        columns += [
            (storage(pa.uuid(), pa.array([b"a" * 16, None], pa.binary(16))), refused),
            (storage(pa.json_(), pa.array(['{"a":1}', None])), {'q={"a":1}': 1}),
        ]
    return columns


def test_every_type_has_a_rule_or_is_refused_by_name(tmp_path):
    for column, becomes in columns_by_type():
        table = pa.table({"q": column, "label": [1, 0]})
        for format in FORMATS:
            try:
                path = write(table, tmp_path / "table", format)
            except pa.ArrowException:
                assert format == "parquet"  # Parquet has fewer types
                continue
            labels = table.rename_columns(["label", "q"])
            if isinstance(becomes, str):
                assert re.search(becomes, str(refusal(path))), (column.type, refusal(path))
                assert "column 'q'" in becomes or refusal(write(labels, tmp_path / "table", format)) is not None
            else:
                found = rows_of(path)[0][1]
                assert becomes is None or found == becomes, (column.type, found)
        if isinstance(becomes, str):
            with pytest.raises(DataError):
                PA().partial_fit(table.select(["q"]), [1, 0])
        elif becomes:
            assert {*PA().partial_fit(table.select(["q"]), [1, 0]).feature_names_in_} >= {*becomes}


def test_labels_of_other_types(tmp_path):
    """Other storage gives the same labels; other types are refused."""
    ree = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array([7, 8]))
    for column in (pa.array([7, 8]).dictionary_encode(), ree, pa.array(["7", "8"], pa.string_view()),
                   pa.array([Decimal(7), Decimal("8.0")]), pa.array([7, 8], pa.float16())):  # fmt: skip
        path = write(pa.table({"label": column, "x": [1, 2]}), tmp_path / "table", "arrow")
        assert [y for y, _ in rows_of(path)] == [7, 8]
    for column in (pa.array([b"7", b"8"]), pa.array([2**31 - 1] * 2, pa.date32()), pa.array([[7], [8]]),
                   pa.array([7, 8], pa.duration("s")), pa.array([{"a": 1}] * 2)):  # fmt: skip
        path = write(pa.table({"label": column, "x": [1, 2]}), tmp_path / "table", "arrow")
        assert re.search("column 'label' has type", str(refusal(path)))


LEARNED = "column {} is of kind {}; the model has learned it as {}"
UNFIT = {
    "no column": ({"c": ["a"], "label": [1]}, "no column 'n', which the model has learned from"),
    "another kind": ({"c": ["a"], "n": ["1"], "label": [1]}, LEARNED.format("'n'", "category", "number")),
    "a number": ({"c": [1], "n": [1], "label": [1]}, LEARNED.format("'c'", "number", "category")),
}


@pytest.mark.parametrize("case", UNFIT)
def test_columns_must_be_those_of_the_model(tmp_path, case):
    columns, problem = UNFIT[case]
    path = write(pa.table(columns), tmp_path / "table", "parquet")
    assert problem in str(refusal(path, schema={"n": "number", "c": "category", "label": "label"}))


def test_a_model_knows_its_label(tmp_path):
    """The model was trained with the last column as label. Without or with a moved label, the features stay."""
    for columns, label in (({"c": ["a"], "n": [1]}, None), ({"spam": ["no"], "c": ["a"], "n": [1]}, "no")):
        path = write(pa.table(columns), tmp_path / "table", "parquet")
        schema = {"n": "number", "c": "category", "spam": "label"}
        ((found, row),) = rows_of(path, features={"label": "-1"}, schema=schema, labelled=False)
        assert (found if label else None, row) == (label, {"c=a": 1.0, "n": 1.0})


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_of_nulls_has_the_kind_it_is_known_by(tmp_path, format):
    table = pa.table({"n": pa.nulls(2), "c": pa.nulls(2), "label": [1, 2]})
    path = write(table, tmp_path / "table", format, 1)
    for schema in ({}, {"n": "number", "c": "category"}):
        rows = rows_of(path, features={"missing": "count"}, schema=schema)
        assert rows == [(1.0, {"n?": 1.0, "c?": 1.0}), (2.0, {"n?": 1.0, "c?": 1.0})]


def test_columns_of_one_name(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["a", "a", "label"])
    path = write(table, tmp_path / "table", "arrow")
    assert str(refusal(path)) == f"{path}: expected a name for each column, found 'a' twice"


@pytest.mark.parametrize("format", FORMATS)
def test_files_that_are_cut_short_or_damaged(tmp_path, format):
    whole = write(large(300), tmp_path / "table", format, 100).read_bytes()
    path = tmp_path / f"cut{ENDINGS[format]}"
    rng = random.Random(0)
    for length in {1, 3, 5, 8, 12, *rng.sample(range(len(whole)), 25), len(whole) - 1, len(whole) - 4, len(whole) - 9}:
        path.write_bytes(whole[:length])
        seen = 0
        with pytest.raises(DataError, match=rf"{path.name}: (damaged|the name says)"):
            for rows, _ in data.stream(path):
                seen += rows.n
        assert seen in ((0, 100, 200, 300) if format == "stream" else (0,))


DAMAGE = """
import sys
from seriatim import data
from seriatim.errors import DataError
whole = open(sys.argv[1], "rb").read()
for i in range(len(whole) - int.from_bytes(whole[-8:-4], "little") - 8, len(whole) - 8):
    if whole[i] == 2:
        open(sys.argv[1], "wb").write(whole[:i] + bytes(1) + whole[i + 1 :])
        try:
            list(data.stream(sys.argv[1]))
        except DataError:
            pass
"""


def test_damaged_metadata_do_not_end_the_process(tmp_path):
    """pyarrow aborts if a required column has statistics that count missing values."""
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"c": ["a", None], "label": [1, 2]}), path, compression="none")
    done = subprocess.run([sys.executable, "-c", DAMAGE, path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("format", FORMATS)
def test_names_of_columns_that_are_not_utf8(tmp_path, format):
    table = pa.table({"name": [1], "o": [{"inner": 1}], "label": [1]})
    path = write(table, tmp_path / "table", format)
    if format == "parquet":
        pq.write_table(table, path, store_schema=False)  # the stored schema would encode the names differently
    whole = path.read_bytes()
    for name, bad in ((b"name", b"n\xffme"), (b"inner", b"i\xffner")):
        path.write_bytes(whole.replace(name, bad))
        for read in (lambda path: list(data.stream(path)), lambda path: convert(path, tmp_path / "out.csv")):
            with pytest.raises(DataError, match="expected the name of a column in UTF-8, found the byte 0xff"):
                read(str(path))


@pytest.mark.parametrize("format", FORMATS)
def test_tables_without_rows(tmp_path, format):
    table = pa.table({"n": pa.array([], pa.int64()), "label": pa.array([], pa.string())})
    path = write(table, tmp_path / "table", format)
    assert rows_of(path) == []
    table = pa.concat_tables([table, pa.table({"n": [1], "label": ["a"]}), table])
    assert rows_of(write(table, tmp_path / "table", format)) == [("a", {"n": 1.0})]
