"""CSV and TSV files: agreement with csv and pandas for any block size, and the position of every error."""

from __future__ import annotations

import gzip
import io
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seriatim import PA, data, evaluate
from seriatim.errors import DataError, ParseError
from tests.conftest import data_set
from tests.data.reading import WAYS, outcome, refusal, rows_of, through_pipe
from tests.reference import tables as reference

# ---- generated tables

word = st.text(st.characters(exclude_categories=("C",)), max_size=12)
lines = st.text(st.sampled_from(' "\n\r,;\t|aé語'), max_size=12)
numeral = st.one_of(
    st.floats(-1e40, 1e40).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from([" 1.5 ", "+3", ".5", "5.", "1e-3", "-0", "\t7", "00012"]),
)
date = st.one_of(
    st.dates().map(str),
    st.datetimes().map(lambda when: when.isoformat(timespec="minutes")),
    st.sampled_from(["2026-02-30", "2024-02-29", "2023-02-29", "2026-11-16 08:30:59.25", "2026-11-16T23:59:00+01:00"]),
    st.sampled_from(["2026-13-01", "2026-11-16T24:00", "20261116", "2026-11-1", "0000-01-01", "2026-11-16T08:30:00Z"]),
)
kinds = {
    "number": st.one_of(st.none(), numeral, st.sampled_from(reference.MISSING)),
    "flag": st.one_of(st.none(), st.sampled_from(list(reference.FLAGS))),
    "category": st.one_of(st.none(), word, lines, st.just("NA")),
    "date": st.one_of(st.none(), date),
    "mixed": st.one_of(st.none(), word, numeral, date, st.sampled_from(["true", "?"])),
    "text": st.one_of(st.none(), word, lines, st.just("The cat, the CAT; the Äpfel and the ÄPFEL")),
}


def is_name(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return bool(text.strip()) and not text.startswith("#")
    return False


@st.composite
def tables(draw):
    """Names, cells (None: missing), the label column, and the text columns."""
    chosen = draw(st.lists(st.sampled_from(list(kinds)), min_size=1, max_size=4))
    name = st.one_of(word, lines).filter(is_name)
    names = draw(st.lists(name, min_size=len(chosen), max_size=len(chosen), unique=True))
    text = [name for name, kind in zip(names, chosen, strict=True) if kind == "text"]
    label = draw(st.one_of(word, numeral, st.sampled_from("ab")).filter(lambda text: text.strip(" \t")).map(str))
    at = draw(st.integers(0, len(names)))
    names.insert(at, draw(st.sampled_from([name for name in ("label", "class", "target", "y") if name not in names])))
    cells = []
    for _ in range(draw(st.integers(1, 6))):
        record = [draw(kinds[kind]) for kind in chosen]
        record.insert(at, draw(st.sampled_from(["1", "-1.0", "+2", " 3", label])))
        cells.append(record)
    return names, cells, text


def written(records: list, delimiter: str, end: str, always: bool) -> str:
    """A table as text, with quotes where necessary or around all cells that are present."""

    def cell(text: str | None) -> str:
        if text is None:
            return ""
        needed = not text or text.startswith('"') or any(mark in text for mark in ",;|\t\r\n")
        return '"' + text.replace('"', '""') + '"' if always or needed else text

    return "".join(delimiter.join(map(cell, record)) + end for record in records)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("tables")


def test_wide_tables_take_time_by_their_columns(tmp_path):
    """Four times the columns take about four times as long, and not sixteen."""
    path = tmp_path / "wide.csv"

    def seconds(columns: int) -> float:
        names, cells = ",".join(f"c{i}" for i in range(columns)), ",".join("7" * columns)
        path.write_text(f"label,{names}\n1,{cells}\n0,{cells}\n")
        times = []
        for _ in range(3):
            start = time.process_time()
            assert [(rows.n, rows.features) for rows, _ in data.stream(path, threads=1)] == [(2, columns)]
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(40_000) < 9 * seconds(10_000)


@settings(max_examples=150)
@given(
    tables(),
    st.sampled_from(",,\t;|"),
    st.sampled_from(["\n", "\r\n", "\n\n", "\r\n\r\n\n"]),
    st.booleans(),
    st.sampled_from(["", "\ufeff", "\n\r\n"]),
    st.sampled_from([1 << 20, 1, 7, 64]),
)
def test_tables_are_read_as_csv_and_pandas_read_them(folder, table, delimiter, end, always, before, block):
    pandas = pytest.importorskip("pandas")
    names, cells, text = table
    content = written([names, *cells], delimiter, end, always).removesuffix("\n" if block == 7 else "")
    strings = [[cell or "" for cell in record] for record in cells]
    assert reference.records(content, delimiter) == [names, *strings]
    frame = pandas.read_csv(io.StringIO(content, newline=""), sep=delimiter, dtype=str, keep_default_na=False)
    assert [list(frame.columns), *frame.to_numpy().tolist()] == [names, *strings]
    path = folder / ("table.tsv" if delimiter == "\t" else "table.csv")
    path.write_bytes((before + content).encode())
    assert rows_of(path, block=block, features={"text": text}) == reference.read(names, cells, text=text)


REAL = {  # whether there is a header, and the label column
    "spambase/spambase.csv": (True, "type"),
    "satimage/satimage_full.csv": (True, "classes"),
    "letter/letter_full.csv": (True, "1"),
    "elec2/elec.csv.gz": (True, "target"),
    "olps/djia.csv": (False, "-1"),
    "movielens-100k/u.data": (False, "3"),
    "movielens-100k/u.item": (True, "-1"),
    "sms-spam/SMSSpamCollection": (False, "1"),
}


@pytest.mark.parametrize("name", REAL)
def test_real_tables_are_read_as_pandas_reads_them(name):
    pandas = pytest.importorskip("pandas")
    path, (header, label) = data_set(name), REAL[name]
    sep = {"u.data": "\t", "u.item": "|", "SMSSpamCollection": "\t"}.get(path.name, ",")
    options = {"sep": sep, "header": 0 if header else None, "nrows": 500}
    strings = pandas.read_csv(path, dtype=str, keep_default_na=False, **options)
    names = list(strings) if header else [str(k + 1) for k in strings]
    label = label if label in names else names[int(label) - (int(label) > 0)]
    rows = rows_of(path, features={"label": label}, limit=500, block=20_000)
    cells = [[cell or None for cell in record] for record in strings.to_numpy().tolist()]
    usual = ["label" if name == label else name for name in names]
    assert rows == reference.read(usual, cells)
    numbers = pandas.read_csv(path, **options).set_axis(names, axis=1)
    for column in numbers.drop(columns=label).select_dtypes("number"):
        found = [row.get(column, np.nan) for _, row in rows]
        assert found == pytest.approx(numbers[column].tolist(), rel=1e-14, abs=0, nan_ok=True)


# ---- detection from the first records

NAMES = {
    "a,b,y\n1,2,3\n": "ab",
    "1,2,y\n1,2,3\n": None,  # a number is not a name
    ",a,y\n0,1,2\n": "1a",  # as pandas writes an index
    "a,,y\n0,1,2\n": "a2",
    "red,,y\nblue,x,z\n": None,
    "x,y\nz,w\n": "x",  # could be a header as well as a record
    '"a\nb","c,d",y\r\n1,2,3\r\n': ["a\nb", "c,d"],
    "\n\r\n a,b ,y\n1,2,3\n": [" a", "b "],
    "\ufeffa,b,y\n1,2,3\n": "ab",
    "Größe;語;y\n1;2;3\n": ["Größe", "語"],
    "a|b|y\n1|2|3": "ab",
    "a\tb\ty\n1\t2\t3": "ab",
    '"a;b;c;d",e,y\n1,2,3\n': ["a;b;c;d", "e"],
    '"a;\nb;c;d",e,y\n1,2,3\n': ["a;\nb;c;d", "e"],
}


@pytest.mark.parametrize("text, names", NAMES.items(), ids=[repr(text)[:20] for text in NAMES])
def test_names_of_columns(tmp_path, text, names):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    if names is None:
        rows = rows_of(path, features={"label": "-1"})
        assert len(rows) == text.count("\n")
        assert {name.partition("=")[0] for _, row in rows for name in row} == {"1", "2"}
        return
    ((_, row),) = rows_of(path)
    assert [name.rpartition("=")[0] or name for name in row] == list(names)
    records = len(text.strip().splitlines()) - text.count("\nb")
    assert len(rows_of(path, header=False, features={"label": "-1"})) == records


def test_columns_may_be_named_though_they_look_like_numbers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"2024,2025,3\n1,2,3\n")
    assert rows_of(path, header=True, features={"label": "3"}) == [(3.0, {"2024": 1.0, "2025": 2.0})]
    assert len(rows_of(path, features={"label": "3"})) == 2


@pytest.mark.parametrize("label, others", [("b", "ac"), ("2", "ac"), ("-1", "ab"), ("1", "bc"), ("-3", "bc")])
def test_the_label_by_name_and_by_number(tmp_path, label, others):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b,c\n1,2,3\n")
    assert [[*row] for _, row in rows_of(path, features={"label": label})] == [[*others]]


def test_usual_names_of_the_label_go_before_one_another(tmp_path):
    path = tmp_path / "table.csv"
    names = ["y", "target", "class", "label"]
    for k in range(4, 0, -1):
        path.write_text(",".join(["a", *names[:k]]) + "\n0" + "".join(f",{i}" for i in range(k)))
        assert [label for label, _ in rows_of(path)] == [k - 1]
        assert [label for label, _ in rows_of(path, features={"label": "a"})] == [0]


def test_kinds_are_told_from_a_thousand_records_and_kept(tmp_path):
    """A late word in a column of numbers is an error. Among the first records, it makes a column of categories."""
    path = tmp_path / "table.csv"
    for good, ends_well in ((900, True), (5000, False)):
        path.write_text("n,y\n" + "1,1\n" * good + '"\n",0\nx,0\n2,1\n')
        if ends_well:
            assert rows_of(path)[-2:] == [(0.0, {"n=x": 1.0}), (1.0, {"n=2": 1.0})]
        else:
            error = refusal(path)
            assert str(error) == f"{path}: line 5002, column 1: column 'n': expected a number, found '\"'"


@pytest.mark.parametrize("width", [1, 12])
def test_records_longer_than_what_is_looked_at_first(tmp_path, width):
    path = tmp_path / "wide.csv"
    names = [f"{'x' * width}{i}" for i in range(9000)]
    numbers = ",".join(["0.3125"] * 9000)
    path.write_text(",".join([*names, "c", "label"]) + f"\n{numbers},x,1\n{numbers},7,1\n")
    assert rows_of(path) == [(1.0, {**dict.fromkeys(names, 0.3125), f"c={c}": 1.0}) for c in "x7"]


def test_files_of_one_stream_may_have_their_columns_in_any_order(tmp_path):
    for name, text in (("1.csv", "n,c,y\n1,7,0\n2,x,1\n"), ("2.tsv", "y\tc\tn\n1\t7\t3\n"), ("3.csv", "c;n;y\n7;4;0")):
        (tmp_path / name).write_text(text)
    rows = rows_of([tmp_path / name for name in ("1.csv", "2.tsv", "3.csv")])
    assert rows[2:] == [(1.0, {"n": 3.0, "c=7": 1.0}), (0.0, {"n": 4.0, "c=7": 1.0})]


def test_a_model_knows_its_label_and_its_columns(tmp_path):
    """The model was trained with the last column as label. Without or with a moved label, the features stay."""
    path = tmp_path / "table.csv"
    path.write_text("a,b,spam\n1,7,no\n2,x,yes\n")
    run = evaluate.progressive(PA(), data.stream(path, features={"label": "-1"}))
    known = run.model.__getstate__()["schema"]
    assert known == {"a": "number", "b": "category", "spam": "label"}
    for text, label in (("a,b\n1,7\n", None), ("spam,a,b\nno,1,7\n", "no"), ("b,a\n7,1", None)):
        path.write_text(text)
        ((found, row),) = rows_of(path, features={"label": "-1"}, schema=dict(known), labelled=False)
        assert (found if label else None, row) == (label, {"a": 1.0, "b=7": 1.0})


def test_a_hashed_model_knows_its_columns_too(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("zip,y\nA1,p\n12,q\n")
    run = evaluate.progressive(PA(), data.stream(path, features={"bits": 8}))
    assert run.model.__getstate__()["schema"] == {"zip": "category", "y": "label"}


# ---- blocks, threads and pipes


@pytest.fixture(scope="module")
def large(folder) -> Path:
    """Records with newlines, delimiters and quotes in their cells, bad ones, blank lines, missing cells."""
    rng = np.random.default_rng(5)
    words = ["red", "a,b", 'say "no"', "two\nlines", "\r\n", "", "é語", "x" * 50]
    records = [["n", "c", "t", "class"]]
    for _ in range(150):
        number = None if rng.random() < 0.1 else repr(float(rng.standard_normal()))
        records.append([number, words[rng.integers(8)], " ".join(rng.choice(words, 3)), "abc"[rng.integers(3)]])
    path = folder / "large.csv"
    path.write_text(written(records, ",", "\n", False).replace("\nred", "\n\r\nred"), newline="")
    return path


FEATURES = ({"text": ["t"]}, {"text": ["t"], "cross": [("c", "n")], "missing": "count", "ngram": 2}, {"bits": 8})


@pytest.mark.parametrize("features", FEATURES)
def test_a_run_does_not_depend_on_how_a_table_is_read(large, folder, features):
    expected = outcome(large, threads=1, features=features)
    packed = folder / "large.csv.gz"
    packed.write_bytes(gzip.compress(large.read_bytes()))
    for block, threads in WAYS:
        assert outcome(large, block=block, threads=threads, features=features) == expected, (block, threads)
        if block > 1:
            assert outcome(packed, block=block, threads=threads, features=features) == expected, (block, threads)
    read = partial(outcome, format="csv", features=features)
    assert through_pipe(folder, large.read_bytes(), read) == expected
    assert through_pipe(folder, packed.read_bytes(), read) == expected


# ---- refusals

SCHEMA = {"n": "number", "c": "category", "f": "flag", "y": "label"}
GOOD = [b"n,c,f,y\n", b'1,"red\n\r\nblue",true,a\r\n\r\n\n2,,,b\n']
WILD = "column 'n': expected a finite number within +-1e+50, found "
REFUSED = {  # record: line counted from the record, column, problem
    b"1,red,true": (0, 11, "expected 4 cells, found 3"),
    b"1": (0, 2, "expected 4 cells, found 1"),
    b" ": (0, 2, "expected 4 cells, found 1"),
    b"1,red,true,a,": (0, 14, "expected 4 cells, found 5"),
    b'1,"a\n\nb",true,a,b': (2, 12, "expected 4 cells, found 5"),
    b"x,red,true,a": (0, 1, "column 'n': expected a number, found 'x'"),
    b'"x",red,true,a': (0, 1, "column 'n': expected a number, found '\"x\"'"),
    b"1 2,red,true,a": (0, 1, "column 'n': expected a number, found '1 2'"),
    b"1_0,red,true,a": (0, 1, "column 'n': expected a number, found '1_0'"),
    b"0x1,red,true,a": (0, 1, "column 'n': expected a number, found '0x1'"),
    b"true,red,true,a": (0, 1, "column 'n': expected a number, found 'true'"),
    b"inf,red,true,a": (0, 1, WILD + "'inf'"),
    b"-Infinity,red,true,a": (0, 1, WILD + "'-Infinity'"),
    b"1e400,red,true,a": (0, 1, WILD + "'1e400'"),
    b" -1e51 ,red,true,a": (0, 1, WILD + "' -1e51 '"),
    b"1,red,1,a": (0, 7, "column 'f': expected true or false, found '1'"),
    b'1,"\n,",maybe,a': (1, 4, "column 'f': expected true or false, found 'maybe'"),
    b"1,red,true,": (0, 12, "column 'y': expected a label, found ''"),
    b"1,red,true,  ": (0, 12, "column 'y': expected a label, found '  '"),
    b'1,red,true,""': (0, 12, "column 'y': expected a label, found '\"\"'"),
    b'1,"red"x,true,a': (0, 3, "column 'c': expected a delimiter after the closing quote, found '\"red\"x'"),
    b'1,"red" ,true,a': (0, 3, "column 'c': expected a delimiter after the closing quote, found '\"red\" '"),
    b"1,\xff,true,a": (0, 3, "expected UTF-8 text, found the byte 0xff"),
    b'1,"\n\xc3",true,a': (1, 1, "expected UTF-8 text, found the byte 0xc3"),
    b"1,red,true,\xe4": (0, 12, "expected UTF-8 text, found the byte 0xe4"),
    b"1,\xed\xa0\x80,true,a": (0, 3, "expected UTF-8 text, found the byte 0xed"),
}
OPEN = {b'1,"red,true,a\n2,x,,b': (0, 3), b'1,red,true,"a"",\n': (0, 12), b'1,"\n\n",true,"': (2, 8)}
REFUSED |= {
    text: (*place, f"column '{'y' if place[1] > 3 else 'c'}': expected a closing quote, found the end of the data")
    for text, place in OPEN.items()
}


@pytest.mark.parametrize("record, place", REFUSED.items(), ids=[repr(record)[:30] for record in REFUSED])
@pytest.mark.parametrize("good", [0, 1, 60])
def test_what_is_refused_with_its_place(tmp_path, record, place, good):
    path = tmp_path / "bad.csv"
    before = GOOD[0] + good * GOOD[1]
    path.write_bytes(before + record + b"\n" + (b"" if record in OPEN else b"3,green,false,a\n"))
    error = refusal(path, schema=dict(SCHEMA))
    assert isinstance(error, ParseError)
    assert (error.line, error.column, error.problem) == (before.count(b"\n") + 1 + place[0], *place[1:])
    assert str(error) == f"{path}: line {error.line}, column {error.column}: {error.problem}"


@pytest.mark.parametrize("block, threads", WAYS)
def test_bad_records_are_counted_and_all_others_kept(tmp_path, block, threads):
    path = tmp_path / "half.csv"
    bad = [record for record in REFUSED if record not in OPEN]
    text = b"".join(b'%d,"\n%d",,b\n%b\n' % (i, i, record) for i, record in enumerate(bad))
    path.write_bytes(GOOD[0] + text + next(iter(OPEN)))
    stream = data.stream(path, schema=dict(SCHEMA), skip_bad=True, block=block, threads=threads)
    assert rows_of(stream) == [("b", {"n": float(i), f"c=\n{i}": 1.0}) for i in range(len(bad))]
    assert (stream.skipped_count, len(stream.skipped)) == (len(bad) + 1, 10)
    assert stream.skipped[0] == f"{path}: line 4, column 11: expected 4 cells, found 3"


@pytest.mark.parametrize("block", [1, 20, 1 << 20])
def test_what_follows_a_closing_quote_does_not_change_where_records_end(tmp_path, block):
    """The rest of the line is skipped, so its quotes have no effect."""
    path = tmp_path / "bad.csv"
    path.write_bytes(b'n,c,y\n1,"a"b,"c\n"2",d,e\n3,f,g\n')
    stream = data.stream(path, schema={"n": "number"}, skip_bad=True, block=block)
    assert rows_of(stream) == [("e", {"n": 2.0, "c=d": 1.0}), ("g", {"n": 3.0, "c=f": 1.0})]
    assert stream.skipped_count == 1


TABLES = {  # tables that are refused as a whole
    b"a,b,a,y\n1,2,3,4\n": ({}, "line 1, column 5: expected a name for each column, found 'a' twice"),
    b'\n\n"a\n",b,y,b\n1,2,3,4\n': ({}, "line 4, column 7: expected a name for each column, found 'b' twice"),
    b"a,2,,y\nx,1,1,1\n": ({"header": True}, None),
    b"a,3,,y\nx,1,1,1\n": ({"header": True}, "line 1, column 5: expected a name for each column, found '3' twice"),
    b"a,gr\xf6n,y\n1,2,3\n": ({}, "line 1, column 3: expected the name of a column in UTF-8, found the byte 0xf6"),
    b'a,"b"c,y\n1,2,3\n': ({}, "line 1, column 3: expected a delimiter after the closing quote, found '\"b\"c'"),
    b'a,"b,y\n1,2,3\n': ({}, "line 1, column 3: expected a closing quote, found the end of the data"),
    b"a,b\n1,2\n": ({}, "which column is the label? Say so by --label (features=Features(label=...)); 'a', 'b'"),
    b"a,b,d\n1,2,3\n": ({"features": {"label": "c"}}, "no column 'c' for the label; there are 'a', 'b', 'd'"),
    b"a,b,e\n1,2,3\n": ({"features": {"label": "0"}}, "no column '0' for the label; there are 'a', 'b', 'e'"),
    b"a,b,f\n1,2,3\n": ({"features": {"label": "-4"}}, "no column '-4' for the label; there are 'a', 'b', 'f'"),
    b"a,y\n1,2\n": ({"features": {"drop": ["b"]}}, "no column 'b', which --drop names; there are 'a', 'y'"),
    b"a,y\n1,3\n": ({"features": {"text": ["b"]}}, "no column 'b', which --text names; there are 'a', 'y'"),
    b"a,y\n1,4\n": ({"features": {"cross": [("a", "b")]}}, "no column 'b', which --cross names; there are 'a', 'y'"),
    b"a,y\n1,5\n": ({"schema": dict(SCHEMA)}, "no column 'n', which the model has learned from; there are 'a', 'y'"),
}


@pytest.mark.parametrize("text", TABLES, ids=[repr(text)[:25] for text in TABLES])
def test_tables_that_are_refused(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text)
    options, problem = TABLES[text]
    if problem is None:
        assert rows_of(path, **options) == [(1.0, {"a=x": 1.0, "2": 1.0, "3": 1.0})]
    else:
        assert str(refusal(path, **options)) == f"{path}: {problem}"


@pytest.mark.parametrize("text", [b"", b"\n", b"\r\n\n\r\n", b"\xef\xbb\xbf", b"a,b,y\n", b"\n\na,y\r\n\n"])
def test_tables_without_records(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text)
    for block, threads in WAYS:
        assert rows_of(path, block=block, threads=threads) == []
    with pytest.raises(DataError, match=r"table\.csv: no examples"):
        data.load(path)
