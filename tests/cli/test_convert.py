"""`seriatim convert`: real files, standard input and output, and errors that name the place and leave no file."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_svmlight_file

from seriatim import data
from seriatim.cli import command
from seriatim.data.write.convert import convert
from seriatim.errors import DataError, ParameterError
from tests.conftest import data_set

COMMAND = [sys.executable, "-c", "from seriatim.cli import main; main()", "convert"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, timeout=60, check=False, **options)


def called(*arguments: object) -> str:
    """Convert in this process, which is faster, and must succeed. Returns the output."""
    done = CliRunner().invoke(command, ["convert", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def lines_of(name: str) -> list[str]:
    return Path(name).read_text().splitlines()


# ---- real files, as other libraries read them


def test_a_table_of_numbers():
    path = data_set("elec2/elec.csv.gz")
    called(path, "elec.parquet", "--limit", "20000")
    called("elec.parquet", "elec.tsv.xz")
    called("elec.tsv.xz", "elec.arrow")
    expected = pyarrow.csv.read_csv(path).slice(0, 20000)
    assert pq.read_table("elec.parquet").equals(expected)
    assert polars.read_ipc("elec.arrow").equals(polars.from_arrow(expected))
    assert polars.read_csv(lzma.decompress(Path("elec.tsv.xz").read_bytes()), separator="\t").equals(
        polars.from_arrow(expected)
    )


def test_a_table_of_texts():
    path = data_set("satimage/satimage_full.csv")
    called(path, "sat.jsonl.bz2")
    called("sat.jsonl.bz2", "sat.csv.zst")
    expected = pd.read_csv(path)
    pd.testing.assert_frame_equal(pd.read_json("sat.jsonl.bz2", lines=True), expected, check_dtype=False)
    pd.testing.assert_frame_equal(pd.read_csv("sat.csv.zst"), expected, check_dtype=False)


def test_sparse_files():
    path = data_set("a1a/a1a.libsvm")
    X, y = load_svmlight_file(str(path))
    assert "give --header" in called(path, "a1a.csv")
    frame = pd.read_csv("a1a.csv").fillna(0)
    assert frame["label"].tolist() == y.tolist()
    used = np.flatnonzero(X.getnnz(axis=0))
    assert [*frame.columns[1:]] == [str(j + 1) for j in used]
    np.testing.assert_array_equal(frame.iloc[:, 1:].to_numpy(), X[:, used].toarray())
    for ending in ("vw", "jsonl", "parquet"):
        called(path, f"out.{ending}")
        called(f"out.{ending}", "back.svm")
        again, labels = load_svmlight_file("back.svm", n_features=X.shape[1])
        assert (again != X).nnz == 0 and labels.tolist() == y.tolist(), ending


def test_the_numbers_of_vowpal_wabbit_are_kept():
    path = data_set("vw-tests/rcv1_small.dat")
    called(path, "rcv1.svm")
    X, y = load_svmlight_file("rcv1.svm")
    first = path.read_text().splitlines()[0].split()
    assert (str(int(y[0])), X[0].indices[0] + 1, X[0].data[0]) == (first[0], 9, float(first[2].partition(":")[2]))
    assert X.nnz == path.read_text().count(":")


def test_a_bundled_set_has_its_names_and_a_generated_one_an_end():
    called("spam", "spam.csv")
    assert lines_of("spam.csv")[0].startswith("label,make,address,")
    assert "57 features, numbered from 1" in called("spam", "spam.svm")
    X, y = data.load("spam")
    again, labels = data.load("spam.svm")
    assert (again != X).nnz == 0 and (labels == y).all()
    called("sea:seed=1", "sea.csv", "--limit", "12000")
    rows, _ = next(data.drift.generated("sea:seed=1")())
    frame = pd.read_csv("sea.csv")
    assert len(frame) == 12000
    np.testing.assert_allclose(frame.iloc[0, 1:], rows.arrays[0][0], rtol=1e-14)
    for ending in ("csv", "vw"):
        with pytest.raises(DataError, match="sea has no end; give the number of examples by --limit"):
            called("sea", f"out.{ending}")


def test_several_files_and_words():
    Path("a.csv").write_text("text,y\ncheap watches,1\n")
    Path("b.csv").write_text("y,text,more\n0,dear watches,x\n")
    called("?.csv", "both.jsonl")
    assert lines_of("both.jsonl") == ['{"text":"cheap watches","y":1}', '{"y":0,"text":"dear watches","more":"x"}']
    called("a.csv", "both.jsonl", "both.tsv")
    assert lines_of("both.tsv") == ["text\ty\tmore", "cheap watches\t1\t", "cheap watches\t1\t", "dear watches\t0\tx"]
    called("a.csv", "a.svm", "--text", "text", "--ngram", "2", "--names", "names")
    assert lines_of("a.svm") == ["1 1:1 2:1 3:1"]
    assert lines_of("names") == ["text=cheap", "text=cheap watches", "text=watches"]


def test_standard_input_and_output(folder):
    done = run("-", "-", "--to", "jsonl", input=gzip.compress(b"a,b\n1,x\n,007\n"))
    assert (done.stdout, done.stderr) == (b'{"a":1,"b":"x"}\n{"a":null,"b":"007"}\n', b"")
    done = run("-", "-", "--to", "libsvm", input=b"1 |a x y:2\n-1 |b z\n")
    assert done.stdout == b"1 1:1 2:2\n-1 3:1\n" and b"--names" in done.stderr
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_bytes, args=(b'{"a":1}\n{"b":2}\n',))
    writer.start()
    assert run("pipe", "out.csv", "--format", "jsonl").stderr == b""
    writer.join()
    assert lines_of("out.csv") == ["a,b", "1,", ",2"]
    for arguments, problem in (
        (["-", "-"], b"which format?"), (["-", "-", "--to", "parquet"], b"only to an uncompressed file"),
        (["-", "no/out.csv"], b"there is no folder no"), (["none.csv", "out.vw"], b"none.csv: No such file"),
        (["out.csv", "out.jsonl", "--drop", "a"], b"drop has no effect on jsonl"),
        (["out.csv", "out.vw", "--names", "n"], b"only for LIBSVM"),
    ):  # fmt: skip
        done = run(*arguments, input=b"1 1:1\n")
        assert (done.returncode, done.stdout) == (2, b"") and problem in done.stderr, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["out.csv", "pipe"]


# ---- errors

LONG = "".join(f'{{"a":{i},"n":{{"b":1}}}}\n' for i in range(10_000))
OBJECTS = {
    ('{"a":1}\n{"a":[1,2]}\n', "csv"): "line 2, column 'a': expected a number, .* found a list",
    ('{"a.b":1,"a":{"b":2}}\n', "csv"): "in.jsonl: line 1: key 'a.b' occurs twice",
    ('{"a":' * 100 + "1" + "}" * 100, "csv"): "in.jsonl: line 1: .*more than 64 nested objects",
    ('{"a":' * 9999 + "1" + "}" * 9999, "csv"): "in.jsonl: line 1, column 1: expected an object",
    ('{"":1}\n', "csv"): "column 1 has no name",
    ('{"a":1}\n{"a":null}\n', "csv"): "line 2: a missing cell would be a blank line",
    ('{"a":1}\n[1]\n', "csv"): "in.jsonl: line 2, column 1: expected an object, found '.1.'",
    ('{"a":1}\n\n{"a" 1}\n', "tsv"): "in.jsonl: line 3, column 6: expected a JSON object",
    (b'{"a":"\xff"}\n', "csv"): "in.jsonl: line 1, column 7: expected UTF-8 text, found the byte 0xff",
    ('{"a":1}\n{"a":"x"}\n', "parquet"): "line 2, column 'a': expected values of one type, found 'x'",
    ('{"a":1.5}\n{"a":true}\n', "arrow"): "line 2, column 'a': expected values of one type, found True",
    (LONG + '{"a":0.5}', "parquet"): "line 10,001, column 'a': expected int64, .* found 0.5",
    (LONG + '{"z":1}', "parquet"): "line 10,001: key 'z' does not occur in the first 10,000 records",
    (LONG + '{"n":{"c":1}}', "arrow"): "line 10,001, column 'n': expected struct<b: int64>",
    (LONG + f'{{"a":{2**63}}}', "arrow"): "line 10,001, column 'a': expected int64, .* found 9223372036854775808",
    ('{"a":{}}\n', "parquet"): "parquet cannot store these records",
    ("{}\n{}\n", "csv"): "in.jsonl: no records with any columns",
    (json.dumps({str(i): i for i in range(10_001)}), "parquet"): "more than 10,000 columns",
}
TABLES = {
    ("a,b\n1,2\n\n3\n", "jsonl"): "in.csv: line 4, column 2: expected 2 cells, found 1",
    ('a,b\n1,"2\n3,4\n', "parquet"): "in.csv: line 2, column 3: .*expected a closing quote",
    (b"a,b\n1,\xff\n", "tsv"): "in.csv: line 2, column 3: expected UTF-8 text, found the byte 0xff",
    ("a,a\nx,1\n", "tsv"): "in.csv: line 1, column 3: .* found 'a' twice",
    ("a,b\n1,inf\n", "jsonl"): "in.csv: record 1, column 'b': JSON cannot store inf",
    ("", "jsonl"): "in.csv: no records",
    ("city,label\nNew York,1\n", "vw"): "the feature names 'city=New York': .* allows no spaces",
    ("x,label\n1,a b\n", "svm"): "the label 'a b' cannot be written as libsvm text",
    ('x,label\n0,"a;b"\n', "svm"): "the label 'a;b' cannot be written as libsvm text",
    ("x,label\n1,'a\n", "vw"): 'the label "\'a" cannot be written as vw text',
    ("x,z\n1,2\n", "svm"): "which column is the label",
    ("a,b\n1,2\n", "xyz"): "which format",
    ("a,b\n1,2\n", "parquet.gz"): "can be written only to an uncompressed file",
}
OTHERS = {
    ("svm", "# nothing\n", "vw"): "in.svm: no examples",
    ("svm", "1 1:1\n1 0:1\n", "csv"): "in.svm: line 2, column 3: feature index 0",
    ("parquet", "a,b\n", "csv"): "the name says parquet",
    ("vw", "1 | label:2\n", "csv"): "in.vw: a feature is named 'label'",
    ("vw", "1 | " + " ".join(f"f{i}" for i in range(10_000)), "csv"): "more than 10,000 columns .* JSON lines",
}
BAD = {("jsonl", *case): problem for case, problem in OBJECTS.items()}
BAD |= {("csv", *case): problem for case, problem in TABLES.items()} | OTHERS


@pytest.mark.parametrize("case", BAD, ids=map(str, range(len(BAD))))
def test_errors_say_where_and_leave_nothing(folder, case):
    given, content, wanted = case
    origin = folder / f"in.{given}"
    origin.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=BAD[case]):
        convert(origin, folder / f"out.{wanted}")
    assert list(folder.iterdir()) == [origin]


def test_what_is_there_is_kept_when_it_fails(folder):
    Path("a.jsonl").write_text('{"a":[1]}\n')
    Path("a.csv").write_text("precious")
    Path("b.csv").symlink_to("a.csv")
    for given, wanted, problem in (("a.jsonl", "a.csv", "found a list"), ("a.csv", "b.csv", "one of the inputs")):
        with pytest.raises(DataError, match=problem):
            convert(given, wanted)
    with pytest.raises(DataError, match=r"a\.csv is one of the inputs"):
        convert("*.csv", "b.svm", names="a.csv")
    with pytest.raises(ParameterError, match="drop has no effect on jsonl"):
        convert("a.csv", "b.jsonl", features={"drop": ["a"]})
    assert Path("a.csv").read_text() == "precious"
    assert len(list(folder.iterdir())) == 3


def test_bad_lines_are_skipped_and_counted():
    Path("a.csv").write_text('a,b\n1,x\n2\n"3"4,y\n5,"z\nz"\n\n6,7,8\n9,w\n')
    said = called("a.csv", "out.jsonl", "--skip-bad")
    assert lines_of("out.jsonl") == ['{"a":1,"b":"x"}', '{"a":5,"b":"z\\nz"}', '{"a":9,"b":"w"}']
    assert "3 bad lines" in said and re.findall(r"line (\d+)", said) == ["3", "4", "8"]
    Path("a.jsonl").write_text('{"a":1}\nx\n{"a":2}\n[]')
    assert "2 bad lines" in called("a.jsonl", "out.csv", "--skip-bad")
    assert lines_of("out.csv") == ["a", "1", "2"]
