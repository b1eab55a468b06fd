"""Detection of formats, several files, compressed files, pipes, and commands that fail."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from seriatim import data
from seriatim.cli import main
from seriatim.data.read.formats import guess
from seriatim.errors import DataError
from tests.data.reading import (
    ROWS,
    as_bytes,
    as_objects,
    as_text,
    leaving_nothing,
    outcome,
    refusal,
    rows_of,
    through_pipe,
)

pytest.importorskip("pyarrow")

# ---- detection

GUESSES = {
    ("rows", b"1 1:0.5 2:3\n"): "libsvm",
    ("rows", b"# a comment\n\n-1 qid:3 1:1 # why\n"): "libsvm",
    ("rows", b"spam\n"): "libsvm",
    ("rows", b""): "libsvm",
    ("rows", b"1 |f a b:2\n"): "vw",
    ("rows", b"1 1.0 'tag|f a\n"): "vw",
    ("rows", b"| a b\n"): "vw",
    ("rows", b"|f a,b;c\n"): "vw",
    ("rows", b'{"label":1}\n'): "jsonl",
    ("rows", b'\xef\xbb\xbf \t{"label":1}\r\n'): "jsonl",
    ("rows", b"a,b,label\n1,2,3\n"): "csv",
    ("rows", b"1,2,3\n4,5,6\n"): "csv",
    ("rows", b"\n\r\n\xef\xbb\xbfa;b\n"): "csv",
    ("rows", b"a|b|c\n1|2|3\n"): "csv",
    ("rows", b"a\tb\n1\t2\n"): "tsv",
    ("rows", b"ham\tGo on, he said, and on, and on\nspam\tNo\n"): "tsv",
    ("rows", b'"a, b"\t"c, d"\n'): "tsv",
    ("rows", b"PAR1...."): "parquet",
    ("rows", b"ARROW1\0\0"): "arrow",
    ("rows", b"\xff\xff\xff\xff\x10\0"): "arrow",
    ("rows.csv", b"1 1:0.5\n"): "csv",
    ("ROWS.CSV.GZ", b"1 1:0.5\n"): "csv",
    ("rows.2026.csv.zst", b""): "csv",
    ("rows.tab", b"a,b"): "tsv",
    ("rows.svm", b"a,b"): "libsvm",
    ("rows.vw.xz", b"a,b"): "vw",
    ("rows.ndjson", b"a,b"): "jsonl",
    ("rows.txt", b"a,b"): "csv",
    ("rows.csv", b"PAR1...."): "parquet",
    (".csv/rows", b"1 1:1"): "libsvm",
}


@pytest.mark.parametrize("name, head", GUESSES, ids=[f"{name} {head[:20]!r}" for name, head in GUESSES])
def test_the_format_is_told_from_the_name_and_the_first_bytes(name, head):
    assert guess(name, head) == GUESSES[name, head]


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow", "rows.feather"])
def test_a_name_that_promises_what_the_file_does_not_hold(tmp_path, name):
    path = tmp_path / name
    for text in (b"", b"PAR", b"a,b\n1,2\n"):
        path.write_bytes(text)
        assert "the name says" in str(refusal(path))


# ---- several files


def test_several_files_are_one_stream_whatever_their_formats(tmp_path):
    (tmp_path / "a.csv").write_bytes(as_text(","))
    (tmp_path / "b.jsonl").write_bytes(as_objects(ROWS))
    (tmp_path / "c.parquet").write_bytes(as_bytes(".parquet", ROWS))
    (tmp_path / "d.tsv.gz").write_bytes(gzip.compress(as_text("\t")))
    one = rows_of(tmp_path / "a.csv")
    assert rows_of([tmp_path / name for name in ("a.csv", "b.jsonl", "c.parquet", "d.tsv.gz")]) == 4 * one
    assert rows_of(tmp_path / "*") == 4 * one
    assert rows_of(tmp_path / "[ab].*", block=7) == 2 * one
    assert len(rows_of([tmp_path / "a.csv", tmp_path / "a.csv"], limit=7)) == 7
    states = [outcome([tmp_path / "a.csv", tmp_path / name])[0] for name in ("a.csv", "d.tsv.gz", "c.parquet")]
    assert states[0] == states[1]
    assert states[2]["names"] == states[0]["names"]


def test_patterns(tmp_path):
    for name in ("b.svm", "a.svm", "deep/er/c.svm", "x[1].svm"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{name[-5]} 1:1\n")

    def labels(pattern: str) -> list:
        return [label for label, _ in rows_of(tmp_path / pattern)]

    assert labels("?.svm") == ["a", "b"]
    assert labels("[ba].svm") == ["a", "b"]
    assert labels("**/[a-c].svm") == ["a", "b", "c"]
    assert labels("x[1].svm") == ["]"]  # an existing file wins over the pattern
    with pytest.raises(DataError, match=r"none\*: no file matches"):
        labels("none*")


def test_an_error_in_a_later_file_has_its_name_and_its_line(tmp_path):
    (tmp_path / "a.csv").write_text("n,y\n" + "1,a\n" * 50)
    (tmp_path / "b.csv").write_text("n,y\n1,a\n\nx,b\n2,c\n")
    error = refusal([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert str(error) == f"{tmp_path / 'b.csv'}: line 4, column 1: column 'n': expected a number, found 'x'"
    stream = data.stream([tmp_path / "b.csv", tmp_path / "b.csv"], skip_bad=True, schema={"n": "number"})
    assert [y for y, _ in rows_of(stream)] == ["a", "c"] * 2
    assert (stream.skipped_count, len(stream.skipped)) == (2, 2)


# ---- compressed files and pipes


def zstd(content: bytes) -> bytes:
    return pytest.importorskip("zstandard").ZstdCompressor().compress(content)


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}
TEXTS = {
    ".csv": as_text(","),
    ".jsonl": as_objects(ROWS),
    ".vw": b"1 |f a b:2\n-1 |f a |g c\n1 |f b\n" * 20,
    ".svm": b"1 1:1 3:0.5\n-1 2:1\n" * 20,
}


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("ending", TEXTS)
def test_packed_files_are_read_as_they_were(tmp_path, ending, packing):
    plain, packed = tmp_path / f"rows{ending}", tmp_path / f"rows{ending}{packing}"
    plain.write_bytes(TEXTS[ending])
    content = PACKERS[packing](TEXTS[ending])
    packed.write_bytes(content)
    expected = outcome(plain)
    assert outcome(packed) == outcome(packed, block=16, threads=1) == expected
    assert through_pipe(tmp_path, content, lambda pipe: outcome(pipe, format=FORMATS_OF[ending])) == expected
    packed.write_bytes(PACKERS[packing](TEXTS[ending][:20]) + PACKERS[packing](TEXTS[ending][20:]))  # two members
    assert outcome(packed) == expected
    for length in {len(content) // 2, len(content) - 1, 12}:
        packed.write_bytes(content[:length])
        with leaving_nothing(), pytest.raises(DataError, match=rf"{packed.name}: truncated"):
            list(data.stream(packed))


FORMATS_OF = {".csv": "csv", ".jsonl": "jsonl", ".vw": "vw", ".svm": "libsvm"}


@pytest.mark.parametrize("ending", TEXTS)
def test_a_pipe_that_brings_a_line_now_and_then(tmp_path, ending):
    """The kinds of columns are detected as soon as the first record is there."""
    plain = tmp_path / f"rows{ending}"
    plain.write_bytes(b"".join(TEXTS[ending].splitlines(keepends=True)[:8]))
    os.mkfifo(tmp_path / "pipe")

    def write() -> None:
        with (tmp_path / "pipe").open("wb", buffering=0) as pipe:
            for line in plain.read_bytes().splitlines(keepends=True):
                pipe.write(line[:5])
                time.sleep(0.02)
                pipe.write(line[5:])

    writer = threading.Thread(target=write)
    writer.start()
    assert rows_of(tmp_path / "pipe") == rows_of(plain)
    writer.join()


@pytest.mark.parametrize("ending", TEXTS)
def test_what_a_pipe_holds_is_given_before_more_comes(tmp_path, ending):
    os.mkfifo(tmp_path / "pipe")
    lines = TEXTS[ending].splitlines(keepends=True)
    taken = threading.Event()

    def write() -> None:
        with (tmp_path / "pipe").open("wb", buffering=0) as pipe:
            pipe.write(b"".join(lines[:2]))
            in_time.append(taken.wait(5))
            pipe.write(b"".join(lines[2:]))

    in_time: list[bool] = []
    writer = threading.Thread(target=write)
    writer.start()
    for rows, _ in data.stream(tmp_path / "pipe", format=FORMATS_OF[ending]):
        assert rows.n
        taken.set()
    writer.join()
    assert in_time == [True]


def test_what_cannot_be_packed_or_piped(tmp_path):
    for ending in (".parquet", ".arrow"):
        path = tmp_path / f"rows{ending}.gz"
        path.write_bytes(gzip.compress(as_bytes(ending, ROWS)))
        assert "data must be an uncompressed file" in str(refusal(path))
        with pytest.raises(DataError, match="data must be an uncompressed file"):
            through_pipe(tmp_path, as_bytes(ending, ROWS), rows_of)


COUNT = "from seriatim import data; print([label for _, y in data.stream('-') for label in y.tolist()])"


@pytest.mark.parametrize("ending", [*TEXTS, ".parquet"])
def test_standard_input(tmp_path, ending):
    path = tmp_path / "rows"
    path.write_bytes(TEXTS.get(ending) or as_bytes(ending, ROWS))
    expected = str([label for label, _ in rows_of(path)])
    with path.open("rb") as file:  # a seekable file
        done = subprocess.run([sys.executable, "-c", COUNT], stdin=file, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == (expected, "")
    if ending != ".parquet":
        done = subprocess.run([sys.executable, "-c", COUNT], input=path.read_bytes(), capture_output=True, timeout=60)
        assert (done.stdout.decode().strip(), done.stderr) == (expected, b"")


# ---- missing and unreadable files


def test_what_is_not_there_or_cannot_be_read(tmp_path):
    assert str(refusal(tmp_path)) == f"{tmp_path}: Is a directory"
    assert str(refusal(tmp_path / "no.csv")) == f"{tmp_path / 'no.csv'}: No such file or directory"
    with pytest.raises(DataError, match="unknown format 'xls'; there are libsvm, vw, csv"):
        data.stream(tmp_path, format="xls")
    if os.geteuid():
        (tmp_path / "secret.csv").touch(mode=0)
        assert "Permission denied" in str(refusal(tmp_path / "secret.csv"))


BAD = {
    "ragged.csv": b"a,y\n1,2\n1\n",
    "open.csv": b'a,y\n1,2\n"1,2\n',
    "latin.csv": b"a,y\n\xe4,1\n",
    "twice.csv": b"a,a,y\n1,2,3\n",
    "header.csv": b"a,y\n",
    "blank.tsv": b"\n\n\n",
    "empty.csv": b"",
    "cut.csv.gz": gzip.compress(as_text(","))[:-5],
    "bad.jsonl": b'{"y":1,"a":2}\n{"y":1',
    "label.jsonl": b'{"y":[1]}\n',
    "bad.vw": b"1 |f a\n1 -2 |f a\n",
    "bad.svm": b"1 1:1\n1 1:x\n",
    "cut.parquet": as_bytes(".parquet", ROWS)[:-20],
    "inf.parquet": as_bytes(".parquet", [{"n": 1.0, "y": 1}, {"n": float("inf"), "y": 2}]),
    "cut.arrow": as_bytes(".arrow", ROWS)[:200],
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["train", "run"])
def test_a_command_that_fails_leaves_no_model(tmp_path, monkeypatch, capfd, command, name):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(BAD[name])
    monkeypatch.setattr(sys, "argv", ["seriatim", command, name, "-o" if command == "train" else "--save", "model"])
    with leaving_nothing(), pytest.raises(SystemExit) as caught:
        main()
    out, err = capfd.readouterr()
    assert (caught.value.code, out, os.listdir()) == (2, "", [name])  # noqa: PTH208
    assert err.startswith(f"seriatim: {name}: ") and err.count("\n") == 1
