"""Conversions between any two formats lose nothing, and other libraries read the output."""

from __future__ import annotations

import csv
import datetime
import gzip
import itertools
import json
import math
import re
import tempfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seriatim import data
from seriatim.data.read.delimited import is_number
from seriatim.data.write.convert import convert
from seriatim.data.write.records import sort_of
from seriatim.errors import DataError, ParseError

RECORDS = ("csv", "tsv", "jsonl", "parquet", "arrow")
EVERYTHING = (*RECORDS, "svm", "vw")


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def hop(folder: Path, origin: Path, *endings: str, **options) -> Path:
    """Convert from format to format."""
    for i, ending in enumerate(endings):
        last, origin = origin, folder / f"{i}.{ending}"
        convert(last, origin, **options)
    return origin


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


# ---- tables and objects: any table through any two formats and back

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    [
        "",
        " ",
        '"',
        "a,b",
        "1",
        "NA",
        "true",
        "x\r\ny",
        "\ufeff",
        "#",
        "2026-11-16",
        "null",
        "a;b|c\td",
        "\r",
        "0",
        "007",
    ]
)
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.1, -0.0, 5e-324, 1.7976931348623157e308, 2.0**53 + 2, 1e15, 1e16, 1e22, 123456789012345.6]
)
KINDS = {
    pa.float64(): numbers,
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.bool_(): st.booleans(),
    pa.string(): texts,
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
}


@st.composite
def arrow_tables(draw) -> pa.Table:
    names = draw(st.lists(texts.filter(lambda name: name and not is_number(name)), min_size=2, max_size=4, unique=True))
    n = draw(st.integers(1, 5))
    columns = {}
    for name in names:
        kind = draw(st.sampled_from(list(KINDS)))
        cells = draw(st.lists(st.none() | KINDS[kind], min_size=n, max_size=n))
        if kind == pa.string() and "text" not in {sort_of(cell) for cell in cells if cell is not None}:
            cells = [cell and f"text {cell}" for cell in cells]  # so that it is not read as numbers or flags
        columns[name] = pa.array(cells, kind)
    return pa.table(columns)


@settings(max_examples=40)
@given(arrow_tables(), st.sampled_from(list(itertools.product(RECORDS, RECORDS))))
@example(pa.table({"a": [None], "b": [None]}), ("csv", "jsonl"))
def test_a_table_through_any_two_formats_and_back(table, between):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(table, folder / "origin.parquet")
        found = pq.read_table(hop(folder, folder / "origin.parquet", *between, "parquet"))
    as_text = {"csv", "tsv", "jsonl"} & set(between)
    dates = (lambda x: x.isoformat() if isinstance(x, datetime.date) else x) if as_text else lambda x: x
    expected = [[dates(cell) for cell in row.values()] for row in table.to_pylist()]
    rows = [list(row.values()) for row in found.to_pylist()]
    assert found.column_names == table.column_names
    assert rows == expected
    assert [[type(x) is bool for x in row] for row in rows] == [[type(x) is bool for x in row] for row in expected]


@settings(max_examples=25)
@given(arrow_tables())
def test_others_read_what_is_written(table):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(table, folder / "origin.parquet")
        for ending in ("jsonl", "csv", "tsv.gz", "arrow"):
            convert(folder / "origin.parquet", folder / f"out.{ending}")
        objects = [json.loads(line) for line in (folder / "out.jsonl").read_bytes().split(b"\n")[:-1]]
        with (folder / "out.csv").open(newline="", encoding="utf-8") as file:
            commas = list(csv.reader(file))
        with gzip.open(folder / "out.tsv.gz", "rt", newline="", encoding="utf-8") as file:
            tabs = list(csv.reader(file, delimiter="\t"))
        assert feather.read_table(folder / "out.arrow").equals(table)
    dates = [
        {k: v.isoformat() if isinstance(v, datetime.date) else v for k, v in row.items()} for row in table.to_pylist()
    ]
    assert objects == dates
    assert commas == tabs
    assert commas[0] == table.column_names
    for cells, row in zip(commas[1:], dates, strict=True):
        for cell, value in zip(cells, row.values(), strict=True):
            read = {float: float, int: int, bool: lambda x: {"true": True, "false": False}[x]}.get(type(value), str)
            assert cell == "" if value is None else read(cell) == value


def test_codes_stay_text_and_numbers_numbers(tmp_path):
    """The type of a column depends on all cells, not only on the first thousand."""
    late = "\n".join(f"{i},007,{i},0.5,true,{2**53 + 1},{i}" for i in range(1200))
    origin = write(tmp_path, "a.csv", f"n,zip,mixed,real,flag,big,gap\n{late}\n5,01,x,NA,FALSE,0.5,\n")
    table = pq.read_table(hop(tmp_path, origin, "jsonl", "parquet"))
    assert [str(kind) for kind in table.schema.types] == [
        "int64", "string", "string", "double", "bool", "string", "int64"
    ]  # fmt: skip
    assert table.to_pylist()[-1] == {
        "n": 5, "zip": "01", "mixed": "x", "real": None, "flag": False, "big": "0.5", "gap": None
    }  # fmt: skip
    assert hop(tmp_path, origin, "jsonl", "csv").read_text() == origin.read_text().replace("NA", "").replace(
        "FALSE", "false"
    )
    assert hop(tmp_path, origin, "tsv", "csv").read_text() == origin.read_text()  # cells are copied as text


def test_what_is_written_does_not_depend_on_how_it_is_read(tmp_path):
    rows = "".join(f'{i},"{"x" * (i % 5)}\n""{i}"\r\n' + "\n" * (i % 3) for i in range(200))
    origin = write(tmp_path, "a.csv", "\ufeffn,text\n" + rows)
    for endings in (("jsonl",), ("jsonl", "tsv"), ("jsonl", "parquet", "jsonl")):
        expected = hop(tmp_path, origin, *endings).read_bytes()
        for block in (2, 7, 100):
            assert hop(tmp_path, origin, *endings, block=block).read_bytes() == expected, (endings, block)
    assert json.loads(expected.splitlines()[6]) == {"n": 6, "text": 'x\n"6'}


def test_a_table_without_names_stays_one(tmp_path):
    origin = write(tmp_path, "a.csv", "1,x\n2,\n")
    assert hop(tmp_path, origin, "tsv").read_text() == "1\tx\n2\t\n"
    assert lines_of(hop(tmp_path, origin, "jsonl")) == ['{"1":1,"2":"x"}', '{"1":2,"2":null}']


def test_a_table_without_rows_has_its_columns(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}), tmp_path / "a.parquet")
    for ending in ("csv", "tsv", "arrow"):
        found = hop(tmp_path, tmp_path / "a.parquet", ending, "parquet")
        assert (pq.read_table(found).column_names, pq.read_table(found).num_rows) == (["a", "b"], 0)
    assert hop(tmp_path, tmp_path / "a.parquet", "jsonl").read_text() == ""


def test_objects_become_columns_and_lists_do_not(tmp_path):
    origin = write(tmp_path, "a.jsonl", '{"a":{"b":1,"c":{"d":"x"}},"e":2}\n\n{"e":3,"late":true,"a":{}}\n')
    assert lines_of(hop(tmp_path, origin, "csv")) == ["a.b,a.c.d,e,late", "1,x,2,", ",,3,true"]
    nested = hop(tmp_path, origin, "parquet")
    assert pq.read_table(nested).to_pylist()[0] == {"a": {"b": 1, "c": {"d": "x"}}, "e": 2, "late": None}
    assert lines_of(hop(tmp_path, nested, "csv")) == ["a.b,a.c.d,e,late", "1,x,2,", ",,3,true"]
    assert json.loads(lines_of(hop(tmp_path, nested, "jsonl"))[0])["a"] == {"b": 1, "c": {"d": "x"}}


def test_types_beyond_those_of_text(tmp_path):
    """A value that a text format cannot store becomes the nearest text or an error, never a different value."""
    table = pa.table({
        "ns": pa.array([1, None], pa.timestamp("ns")),
        "zone": pa.array([datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), None], pa.timestamp("ms", "UTC")),
        "money": pa.array([Decimal("1.50"), None]),
        "kind": pa.array(["a", "b"]).dictionary_encode(),
        "nan": [math.nan, 1.0],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    assert lines_of(hop(tmp_path, tmp_path / "a.parquet", "csv"))[1:] == [
        "1970-01-01T00:00:00.000000001,2026-01-01T00:00:00+00:00,1.50,a,", ",,,b,1"
    ]  # fmt: skip
    last = json.loads(lines_of(hop(tmp_path, tmp_path / "a.parquet", "jsonl"))[0])
    assert last == {**last, "money": 1.5, "nan": None, "zone": "2026-01-01T00:00:00Z", "kind": "a"}
    found = feather.read_table(hop(tmp_path, tmp_path / "a.parquet", "arrow"))
    assert found.drop_columns(["kind", "nan"]).equals(table.drop_columns(["kind", "nan"]))
    for value, what in ((math.inf, "inf"), (b"x", "bytes"), ([{"x": -math.inf}], "-inf")):
        pq.write_table(pa.table({"v": [value]}), tmp_path / "b.parquet")
        with pytest.raises(DataError, match=f"b.parquet: record 1, column 'v': JSON cannot store {what}"):
            hop(tmp_path, tmp_path / "b.parquet", "jsonl")


# ---- examples: rows of named features through any two formats and back

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n:|^"), min_size=1, max_size=5)
names = st.tuples(words, words).map("^".join)
# No integers beyond 2^53: as integers in Parquet they are not valid features.
values = st.floats(1e-300, 2**53) | st.floats(-1e50, -1e16) | st.sampled_from([1.0, -1.0, 3.0])
labels = st.sampled_from([["spam", "ham", "x-y"], [1.0, -1.0, 0.5], [3.0, 1e20]]).flatmap(
    lambda some: st.lists(st.sampled_from(some), min_size=3, max_size=3)
)


def rows_of(path: Path, **options) -> list:
    """(label, features by name) of every example."""
    found = []
    for rows, y in data.stream(path, **options):
        arrays = rows.arrays
        start, index, value = arrays if len(arrays) == 3 else (
            np.arange(rows.n + 1) * rows.features, np.tile(np.arange(rows.features), rows.n), arrays[0].reshape(-1)
        )  # fmt: skip
        names = [str(j + 1) if rows.names is None else rows.names[j] for j in range(rows.features)]
        found += [
            (label, {names[j]: x for j, x in zip(index[a:b], value[a:b], strict=True) if x})
            for label, a, b in zip(y.tolist(), start, start[1:], strict=False)
        ]
    return found


def vw_text(label, features) -> str:
    return " ".join([str(label), *(f"|{name.replace('^', ' ')}:{x!r}" for name, x in features.items()), "|\n"])


@settings(max_examples=40)
@given(
    st.lists(st.dictionaries(names, values, min_size=1, max_size=4), min_size=3, max_size=3),
    labels, st.sampled_from(list(itertools.product((*RECORDS, "vw"), RECORDS))),
)  # fmt: skip
def test_examples_through_any_two_formats_and_back(features, labels, between):
    with tempfile.TemporaryDirectory() as name:
        origin = write(Path(name), "origin.vw", "".join(map(vw_text, labels, features)))
        expected = rows_of(origin)
        assert expected == list(zip(labels, features, strict=True))
        assert rows_of(hop(Path(name), origin, *between, "vw", header=True)) == expected


@settings(max_examples=40)
@given(
    st.lists(st.dictionaries(st.integers(1, 2**31 - 2), values, min_size=1, max_size=4), min_size=3, max_size=3),
    labels, st.sampled_from(list(itertools.product(EVERYTHING, EVERYTHING))),
)  # fmt: skip
def test_numbered_features_keep_their_numbers(features, labels, between):
    text = "".join(
        f"{label} {' '.join(f'{j}:{x!r}' for j, x in sorted(row.items()))}\n"
        for label, row in zip(labels, features, strict=True)
    )
    with tempfile.TemporaryDirectory() as name:
        origin = write(Path(name), "origin.svm", text)
        found = hop(Path(name), origin, *between, "svm", header=True)
        assert re.sub(r"\.0\b", "", text) == re.sub(r"\.0\b", "", found.read_text())


def test_names_get_numbers_in_the_order_in_which_they_are_met(tmp_path):
    origin = write(tmp_path, "a.csv", "city,size,label\nRome,2,1\nOslo,0,-1\n")
    done = convert(origin, tmp_path / "a.svm", names=tmp_path / "names")
    assert (tmp_path / "a.svm").read_text() == "1 1:2 2:1\n-1 3:1\n"
    assert lines_of(tmp_path / "names") == done.columns == ["size", "city=Rome", "city=Oslo"]
    convert(origin, tmp_path / "a.svm", features={"drop": ["city"], "normalize": "unit"})
    assert (tmp_path / "a.svm").read_text() == "1 1:1\n-1\n"
    convert(origin, tmp_path / "a.vw", features={"cross": [("city", "size")], "missing": "count"})
    assert (tmp_path / "a.vw").read_text() == "1 | size:2 city=Rome city=Rome*size:2\n-1 | city=Oslo\n"
    convert(origin, tmp_path / "b.svm", features={"bits": 4})
    assert rows_of(tmp_path / "b.svm") == rows_of(origin, features={"bits": 4})


def test_unlabelled_examples(tmp_path):
    origin = write(tmp_path, "a.vw", "|n x:2\n1 |n x\n| 7\n")
    assert hop(tmp_path, origin, "vw").read_text() == "|n x:2\n1 |n x\n| 7\n"
    assert lines_of(hop(tmp_path, origin, "jsonl")) == [
        '{"label":null,"n^x":2}',
        '{"label":1,"n^x":1}',
        '{"label":null,"7":1}',
    ]
    with pytest.raises(ParseError, match="line 1, column 1: expected a label"):
        hop(tmp_path, origin, "svm")
