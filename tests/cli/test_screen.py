"""Printed text contains no control characters, fits any encoding, and keeps its lines."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import seriatim
from seriatim.core.text import one_line, printable

ROOT = str(Path(seriatim.__file__).parents[1])
COMMANDS = f"""
import os, sys; sys.path.insert(0, {ROOT!r})
from seriatim.cli import main
for words in eval(sys.argv[1]):
    sys.argv = ["seriatim", *(os.fsdecode(word.encode("utf-8", "surrogateescape")) for word in words)]
    try:
        main()
    except SystemExit as ended:
        print("status", ended.code)
"""
EVIL = "a\x1b[31m\x07\r\n\x9b2J\u202e[red]é"
ESCAPED = r"a\x1b[31m\x07\r\n\x9b2J\u202e[red]"
FORBIDDEN = ["\x1b[31m", "\x07", "\x9b", "\u202e", "\x1b]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Data and models with control characters in names, labels and file names."""
    folder = tmp_path_factory.mktemp("screen")
    rows = [{"label": label, EVIL: x, "k": EVIL} for label, x in ((EVIL, 1.5), ("b", -1), (EVIL, 2), ("b", -2.25))] * 5
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    for name in ("plain.jsonl", f"{EVIL}.jsonl", os.fsdecode(b"n\xff.jsonl")):
        (folder / name).write_text(lines)
    (folder / "bad.jsonl").write_text(lines + "{\n" + json.dumps({"label": 1, "x": [[EVIL]]}) + "\n")
    (folder / "other.jsonl").write_text(json.dumps({"label": "c", EVIL: 1}) + "\n")
    ratings = "".join(f'u{i},"{EVIL}{i % 3}",{i % 5 + 1}\n'.replace("\n", " ", 1) for i in range(20))
    (folder / "ratings.csv").write_text("user,item,rating\n" + ratings.replace("\r", "").replace("\n ", " "))
    (folder / "texts.txt").write_text(f"{EVIL.replace(chr(10), ' ').replace(chr(13), ' ')} words\nof two texts\n" * 4)
    return folder


def runs(folder: Path, commands: list[list[str]], **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, ascii(commands)],
        cwd=folder,
        capture_output=True,
        env={**os.environ, "COLUMNS": "150", **environment},
    )
    return done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1")


def on_terminal(folder: Path, commands: list[list[str]]) -> str:
    """The text of standard output and standard error on a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "150", "PYTHONUTF8": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", COMMANDS, ascii(commands)], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
        env=environment,
    ):  # fmt: skip
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:
                break
            if not part:
                break
            parts.append(part)
    os.close(ours)
    return b"".join(parts).decode()


def every_command(name: str) -> list[list[str]]:
    return [
        ["train", name, "-a", "pa", "-o", "m.model"],
        ["train", name, "-a", "pa", "-p", f"C={EVIL}", "-o", "m.model"],
        ["run", name, "-a", "pa", "--metric", f"f1:{EVIL}"],
        ["run", name, "-a", EVIL],
        ["run", "bad.jsonl", "-a", "pa"],
        ["run", "bad.jsonl", "-a", "pa", "--skip-bad"],
        ["run", "plain.jsonl", "-a", "pa", "--label", EVIL, "--drop", EVIL],
        ["run", f"no {EVIL}"],
        ["compare", name, "-a", "pa", "-a", "ogd", "--permutations", "2", "--store", "s.jsonl", "--report", "s.html"],
        ["tune", name, "-a", "pa", "--over", "C=0.1,1", "--prefix", "10"],
        ["predict", "m.model", name],
        ["predict", "m.model", "other.jsonl"],
        ["predict", "m.model", "missing.jsonl"],
        ["inspect", "m.model"],
        ["describe", name],
        ["describe", name, "--label", EVIL],
        ["convert", name, "out.csv"],
        ["convert", name, f"{EVIL}/out.csv"],
        ["recommend", "ratings.csv", "--user", EVIL, "--item", EVIL + "0"],
        ["recommend", "ratings.csv", "--user", "u1"],
        ["topics", "texts.txt", "--topics", "2"],
        ["portfolio", name],
        ["algorithms", EVIL],
        ["algorithms", "pa"],
        ["datasets"],
        [EVIL],
        ["run", "--" + EVIL],
    ]


def test_nothing_in_names_is_obeyed_by_a_terminal(folder):
    for name in (f"{EVIL}.jsonl", "plain.jsonl"):
        shown = on_terminal(folder, every_command(name))
        assert "Traceback" not in shown, shown[shown.index("Traceback") - 500 :][:3000]
        for one in FORBIDDEN:
            assert one not in shown, repr(shown[max(0, shown.index(one) - 200) : shown.index(one) + 100])
        assert shown.count(ESCAPED) > 20
        assert "status 2" in shown and shown.count("\nstatus 0") >= 11, shown


@pytest.mark.slow
def test_any_encoding_will_do(folder):
    commands = [*every_command("plain.jsonl"), ["algorithms"]]
    for environment in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
                        {"PYTHONIOENCODING": "latin-1"}):  # fmt: skip
        status, out, err = runs(folder, commands, **environment)
        assert status == 0 and "Traceback" not in err and "status 2" in out, err[-3000:]
        if environment != {"PYTHONIOENCODING": "latin-1"}:
            assert not [line for line in (out + err).splitlines() if not line.isascii()]


def test_a_file_may_have_any_name(folder):
    name = os.fsdecode(b"n\xff.jsonl")
    status, out, err = runs(folder, [*every_command(name), ["run", name, "--json"], ["describe", name, "--json"]])
    assert status == 0 and "Traceback" not in err, err[-3000:]
    assert out.count("status 0") >= 13, (out, err)


def test_predictions_are_a_line_each(folder, tmp_path):
    labels = ["a\nb", "a\rb", "a\u2028b", "a\n", '"q"', "é \x1b[31m", " a", 'b"', "7"]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps({"label": label, f"x{k}": 1}) + "\n" for k, label in enumerate(labels)))
    commands = [
        ["train", str(path), "--passes", "20", "-o", "model"],
        ["predict", "model", str(path), "-o", "labels.txt"],
    ]
    status, _, err = runs(tmp_path, commands, PYTHONIOENCODING="ascii")
    assert status == 0, err
    lines = (tmp_path / "labels.txt").read_bytes().decode().splitlines()
    assert [json.loads(line) if line.startswith('"') else line for line in lines] == labels
    assert '"a\\nb"' in lines and "é \x1b[31m" in lines and "7" in lines
    assert [one_line(label) for label in labels] == lines
    assert printable("\ud800 \u200f\u200d\t") == "\\ud800 \\u200f\u200d\\t"
