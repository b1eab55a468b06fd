"""Vowpal Wabbit text: agreement with a simple reader and Vowpal Wabbit itself, and the position of every error."""

from __future__ import annotations

import bz2
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seriatim import data
from seriatim.errors import ParseError
from tests.conftest import data_set
from tests.data.reading import WAYS, outcome, refusal, rows_of, through_pipe
from tests.reference import vw as reference

PEER = Path(__file__).parents[2] / ".venv-peers" / "bin" / "python"
CONSTANT = 116060  # 11650396 in a table of 2^18: the column of the intercept

# ---- generated lines

number = st.one_of(
    st.floats(-1e6, 1e6, allow_subnormal=False).map(repr),
    st.integers(-1000, 1000).map(str),
    st.sampled_from(["1e-3", "+2", ".5", "5.", "0", "-0.0"]),
)
letters = st.characters(exclude_categories=("C", "Z"), exclude_characters="|:^'")
name = st.one_of(st.text(letters, min_size=1, max_size=8), st.integers(0, 10**12).map(str), st.sampled_from("abc"))
feature = st.builds("{}{}".format, name, st.one_of(st.just(""), number.map(":{}".format)))
space = st.builds(
    "|{}{}{}".format,
    st.one_of(st.just(" "), st.builds("{}{} ".format, name, st.one_of(st.just(""), number.map(":{}".format)))),
    st.lists(feature, max_size=5).map(" ".join),
    st.sampled_from(["", " ", "  ", "\t"]),
)
label = st.one_of(number, st.sampled_from(["1", "-1", "spam", "späm", "1a", "-"]))
before = st.sampled_from(
    ["", "1 ", "1.0 ", "1 0.5 ", "'tag", "1 'tag ", "1 0 'a", "1 tag", "'a ' ", "2.5 ", "0 't", "3 a"]
)
line = st.builds("{} {}{}".format, label, before, st.lists(space, min_size=1, max_size=3).map("".join))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("vw")


@settings(max_examples=80)
@given(
    st.lists(line, min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n", "\n\n", " \n \t\r\n"]),
    st.sampled_from([1 << 20, 1, 7, 64]),
)
def test_lines_are_read_as_the_plain_reader_reads_them(folder, lines, end, block):
    path = folder / "lines.vw"
    path.write_bytes(end.join(lines).encode())
    expected = [reference.read_line(line) for line in lines]
    assert rows_of(path, block=block) == expected
    weights = [weight for rows, _ in data.stream(path, block=block) for weight in rows.weights.tolist()]
    assert weights == [reference.read_weight(line) for line in lines]
    columns = []
    for label, row in expected:
        hashed: dict[int, float] = {}
        for name, value in row.items():
            column = reference.column(name, 18)
            hashed[column] = hashed.get(column, 0.0) + value
        columns.append((label, hashed))
    found = rows_of(path, block=block, features={"bits": 18})
    assert [(y, {j: pytest.approx(x) for j, x in row.items()}) for y, row in found] == columns


# ---- agreement with Vowpal Wabbit


def audited(path: Path) -> list[dict[str, tuple[int, float]]]:
    """The value by column of each line as Vowpal Wabbit reads it; repeated features are summed."""
    if not PEER.exists():
        pytest.skip("Vowpal Wabbit is not there")
    command = [PEER, "-m", "vowpalwabbit", "--audit", "-b", "18", "-t", "--quiet", "-d", path]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    rows = []
    for printed in done.stdout.decode().splitlines():
        if not printed.startswith("\t"):
            continue
        row: dict[str, tuple[int, float]] = {}
        for word in printed.strip().split("\t"):
            name, column, value, _ = word.rsplit(":", 3)
            row[name] = int(column), float(value) + row.get(name, (0, 0.0))[1]
        assert row.pop("Constant") == (CONSTANT, 1.0)
        rows.append(row)
    return rows


LINES = """\
1 |f a b:2 12 0012
-1 1 'tag|f a
1 1 0 tag| a b |g:0.5 a:3 a |12 a 3 | a 7 é |ü 語:2
0 |name with spaces:3 x
1 |f a a a:2 |f b:-1.5 c:.5 d:1. e:1e2
1 |12:2 a:3 b 5 |007 7
1 | 0012 4294967299 18446744073709551619 -3 1.5 00
1 |n a|n b |n:2 c
1 |f a\tb |Ünï:0.25 cödé
1 |a^b c |x y^ |4294967299 a 1
1 |long abcdefghijklmnop:0.125 abcdefghijklmno abcdefghijklmn abcdefghijklm
"""


def agree(path: Path, rows: list, columns: list, theirs: list) -> None:
    assert len(rows) == len(columns) == len(theirs)
    for (_, row), (_, hashed), audit in zip(rows, columns, theirs, strict=True):
        row = {name: value for name, value in row.items() if value}  # Vowpal Wabbit drops zeros
        assert row == {name: pytest.approx(value, rel=1e-5) for name, (_, value) in audit.items()}
        expected: dict[int, float] = {}
        for column, value in audit.values():
            expected[column] = expected.get(column, 0.0) + value
        assert {j: x for j, x in hashed.items() if x} == {j: pytest.approx(x, rel=1e-5) for j, x in expected.items()}


def test_names_columns_and_values_are_those_of_vowpal_wabbit(tmp_path):
    path = tmp_path / "lines.vw"
    path.write_text(LINES)
    agree(path, rows_of(path), rows_of(path, features={"bits": 18}), audited(path))


@pytest.mark.parametrize("name", ["0001.dat", "rcv1_small.dat", "wiki256.dat"])
def test_real_files_are_read_as_vowpal_wabbit_reads_them(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"".join(data_set(f"vw-tests/{name}").read_bytes().splitlines(keepends=True)[:100]))
    labelled = name != "wiki256.dat"
    rows = rows_of(path, labelled=labelled)
    agree(path, rows, rows_of(path, labelled=labelled, features={"bits": 18}), audited(path))
    if labelled:
        assert rows == [reference.read_line(line) for line in path.read_text().splitlines()]
    else:
        assert all(np.isnan(label) for label, _ in rows)


# ---- blocks, threads and pipes


@pytest.mark.parametrize("features", [None, {"bits": 8}])
def test_a_run_does_not_depend_on_how_it_is_read(folder, features):
    rng = np.random.default_rng(2)
    words = ["a", "b:0.5", "12", "é:2", "c" * 40]
    labels, some = rng.choice(["x", "y", "z"], 100), rng.choice(words, (100, 4))
    lines = [f"{labels[i]} {i % 3} 't|f {' '.join(some[i])} |g{i % 9}:2 n{i % 50}" for i in range(100)]
    text = "\n\r\n".join(lines).encode()
    path, packed = folder / "run.vw", folder / "run.vw.bz2"
    path.write_bytes(text)
    packed.write_bytes(bz2.compress(text))
    expected = outcome(path, threads=1, features=features)
    for block, threads in WAYS:
        assert outcome(path, block=block, threads=threads, features=features) == expected, (block, threads)
    assert outcome(packed, block=64, features=features) == expected
    for content in (text, packed.read_bytes()):
        assert through_pipe(folder, content, lambda pipe: outcome(pipe, features=features)) == expected


# ---- refusals

IMPORTANCE = "expected an importance weight from 0 to 1e+50, a tag or |, found {!r}"
WILD = "expected a finite number within +-1e+50, found {!r}"
REFUSED = {
    b"1": (2, "expected | and features, found ''"),
    b"1 2 3": (6, "expected | and features, found ''"),
    b"|f a": (1, "expected a label, found '|f'"),
    b"'tag |f a": (6, "expected a label, found '|f'"),
    b"5| a": (2, "expected a label, found '|'"),
    b"1:2 | a": (1, "expected a label, found '1:2'"),
    b"1:0:0.5 | a": (1, "expected a label, found '1:0:0.5'"),
    b"1 -2 |f a": (3, IMPORTANCE.format("-2")),
    b"1 1e60 'tag|f a": (3, IMPORTANCE.format("1e60")),
    b"1 inf |f a": (3, IMPORTANCE.format("inf")),
    b"1 nan |f a": (3, IMPORTANCE.format("nan")),
    b"1 heavy |f a": (3, IMPORTANCE.format("heavy")),
    b"1 1 x |f a": (5, IMPORTANCE.format("x")),
    b"1 |f a:": (8, "expected a number, found ''"),
    b"1 |f a: b": (8, "expected a number, found ''"),
    b"1 |f a:b": (8, "expected a number, found 'b'"),
    b"1 |f a:1:2": (8, "expected a number, found '1:2'"),
    b"1 |f a:1x": (8, "expected a number, found '1x'"),
    b"1 |f :1": (6, "expected a feature name, found ':1'"),
    b"1 |f: a": (6, "expected a number, found ''"),
    b"1 |f:x a": (6, "expected a number, found 'x'"),
    b"1 |f:1:2 a": (6, "expected a number, found '1:2'"),
    b"1 |f:inf a": (6, WILD.format("inf")),
    b"1 |f:-1e51 a": (6, WILD.format("-1e51")),
    b"1 |f a:inf": (8, WILD.format("inf")),
    b"1 |f a:nan": (8, WILD.format("nan")),
    b"1 |f a:1e400": (8, WILD.format("1e400")),
    b"1 |f:1e30 a:1e30": (13, WILD.format("1e30")),
    b"1 |f a\rb": (7, "expected a feature name"),
    b"1 |f \xff": (6, "expected UTF-8 text, found the byte 0xff"),
    b"\xe9 |f a": (1, "expected UTF-8 text, found the byte 0xe9"),
    b"1 '\xc3( |f a": (4, "expected UTF-8 text, found the byte 0xc3"),
    b"1 |\xf0\x9f\x98 a": (4, "expected UTF-8 text, found the byte 0xf0"),
}


@pytest.mark.parametrize("line, place", REFUSED.items(), ids=[repr(line)[:30] for line in REFUSED])
@pytest.mark.parametrize("before", [b"", b"1 |f a b\r\n\n \n" * 50], ids=["first", "later"])
def test_what_is_refused_with_its_place(tmp_path, line, place, before):
    path = tmp_path / "bad.vw"
    path.write_bytes(before + line + b"\n1 |f a\n")
    error = refusal(path)
    assert isinstance(error, ParseError)
    assert (error.line, error.column) == (before.count(b"\n") + 1, place[0])
    assert error.problem.startswith(place[1])
    assert str(error) == f"{path}: line {error.line}, column {error.column}: {error.problem}"


@pytest.mark.parametrize("block, threads", WAYS)
def test_bad_lines_are_counted_and_all_others_kept(tmp_path, block, threads):
    """The features, names and sums of a bad line are dropped."""
    path = tmp_path / "half.vw"
    path.write_bytes(b"".join(b"%d |f a b:0.5 n%d\n%b\n" % (i, i, line) for i, line in enumerate(REFUSED)))
    stream = data.stream(path, skip_bad=True, block=block, threads=threads)
    assert rows_of(stream) == [(float(i), {"f^a": 1.0, "f^b": 0.5, f"f^n{i}": 1.0}) for i in range(len(REFUSED))]
    assert (stream.skipped_count, len(stream.skipped)) == (len(REFUSED), 10)
    assert re.search(r"half\.vw: line 2, column 2: expected \| and features", stream.skipped[0])


def test_labels_may_be_missing_where_none_is_needed(tmp_path):
    path = tmp_path / "lines.vw"
    path.write_bytes(b"|f a\n2 |f a\n'tag |f a\nspam |f a\n")
    labels = [label for label, _ in rows_of(path, labelled=False)]
    assert labels[1::2] == [2.0, "spam"]
    assert np.isnan(labels[::2]).all()


def test_values_within_bounds_are_taken_whatever_they_add_up_to(tmp_path):
    path = tmp_path / "large.vw"
    path.write_bytes(b"1 |f a:9e49 a:9e49 b:1e50\n-1 |f a\n")
    assert outcome(path)[1] == 2
