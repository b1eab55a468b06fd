"""Input and output paths: inputs are never overwritten, and bad paths are errors before the work begins."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest

import seriatim
from seriatim.data.read.ratings import Ratings
from tests.cli.test_cli import COMMAND, assert_one_line, folder, good, rows, seriatim_  # noqa: F401
from tests.forks import contents, forked


@pytest.fixture
def there(folder, rows) -> dict[str, bytes]:  # noqa: F811
    """Input files, which must not change."""
    (folder / "d.svm").write_bytes(rows.read_bytes())
    (folder / "d.csv").write_text("label,a,b\n" + "x,1,2\ny,2,1\n" * 20)
    (folder / "d.txt").write_text("the cat sat on the mat\n" * 20)
    (folder / "r.csv").write_text("".join(f"{i % 7},{i % 5},{i % 3 + 1}\n" for i in range(60)))
    (folder / "t.csv").write_text("".join(f"{i},Title {i}\n" for i in range(5)))
    (folder / "stop").write_text("the\n")
    (folder / "prices.csv").write_text("a,b\n" + "".join(f"{1 + i % 3},{2 + i % 2}\n" for i in range(40)))
    seriatim.PA().partial_fit(*seriatim.data.load(rows)).save(folder / "m")
    model = seriatim.PMF(n_factors=2)
    for block in Ratings("r.csv", low=model.low, high=model.high):
        model.partial_fit(*block)
    model.save(folder / "films")
    (folder / "link").symlink_to("d.svm")
    os.link(folder / "d.svm", folder / "hard")
    (folder / "dangling").symlink_to("new")
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


OVER_AN_INPUT = [
    "train d.svm -o d.svm", "train d.svm -o link", "train d.svm -o hard", "train link -o d.svm", "train hard -o link",
    "train d.svm -o ./d.svm", "train *.svm -o d.svm", "train d.sv? -o d.svm", "train rows.svm d.svm -o d.svm",
    "train d.svm --resume m -o d.svm", "train d.svm --resume d.svm -o d.svm",
    "train d.svm -a homogeneous-otl -p source=m -o m",
    "predict m d.svm -o d.svm", "predict m d.svm -o m", "predict m rows.svm d.svm -o d.svm", "predict m m -o m",
    "run d.svm --save d.svm", "run d.svm --curve d.svm", "run rows.svm --test d.svm --save d.svm",
    "run rows.svm --test d.svm --curve hard",
    "compare d.svm --store d.svm", "compare d.svm --report d.svm", "compare d.svm --store new --report link",
    "compare d.html --store d.jsonl", "compare d.tuned.json --store d.jsonl --tune",
    "compare d.svm -a homogeneous-otl:source=m --report m", "compare n-figures/time.png --store n.jsonl --figures png",
    "convert d.csv d.csv", "convert d.csv ./d.csv --to csv", "convert *.csv t.csv --to csv",
    "convert d.csv o.svm --label label --names d.csv", "convert rows.svm d.svm link --to csv",
    "topics d.txt --save d.txt", "topics d.txt --stop-words stop --save stop",
    "recommend r.csv --save r.csv", "recommend r.csv --titles t.csv --save t.csv",
    "recommend r.csv --model films --save r.csv",
    "portfolio prices.csv --report prices.csv",
]  # fmt: skip
TWICE = [
    "run d.svm --save z --curve z", "run d.svm --save z --curve ./z", "run d.svm --save new --curve dangling",
    "run d.svm --save x/../z --curve z", "convert d.csv z.svm --label label --names z.svm",
    "compare d.svm --store z --report z", "compare d.svm --store z.html",
    "compare d.svm --store z --report z.tuned.json --tune",
]  # fmt: skip


def test_no_output_is_an_input_or_another_output(seriatim_, there, folder):  # noqa: F811
    (folder / "x").mkdir()
    (folder / "n-figures").mkdir()
    for name in ("d.html", "d.tuned.json", "n-figures/time.png"):
        (folder / name).write_bytes(there["d.svm"])
    before = contents(folder)
    for lines, words in ((OVER_AN_INPUT, "is an input"), (TWICE, "written twice")):
        for line in lines:
            status, out, err = seriatim_(*line.split())
            assert (status, out) == (2, ""), line
            assert_one_line(err)
            assert words in err, (line, err)
            assert contents(folder) == before, line


def test_a_model_that_learns_on_may_keep_its_name(good, there, folder):  # noqa: F811
    good("train", "d.svm", "--resume", "m", "-o", "m")
    assert seriatim.load("m").t_ == 200
    (folder / "alias").symlink_to("m")
    good("train", "d.svm", "--resume", "alias", "-o", "m")
    assert seriatim.load("m").t_ == 300
    good("recommend", "r.csv", "--model", "films", "--save", "films")
    assert seriatim.load("films").t_ == 120


def test_devices_and_names_of_bundled_sets_are_no_files(good, seriatim_, there, folder):  # noqa: F811
    good("run", "d.svm", "--save", "/dev/null", "--curve", "/dev/null")
    Path("djia").mkdir()  # a folder does not hide the bundled market
    good("portfolio", "djia", "-a", "ucrp", "--limit", "20")
    good("train", "digits", "-o", "digits")  # now a file hides the bundled set
    assert seriatim_("train", "digits", "-o", "digits")[0] == 2
    assert seriatim.load("digits").t_ == 1797


def test_standard_output_is_not_added_to_an_input(there, folder):  # noqa: F811
    before = Path("d.svm").read_bytes()
    for words in ("predict m d.svm", "run d.svm", "convert d.svm - --to csv", "describe d.svm"):
        with Path("d.svm").open("ab") as out:
            status, _, err = forked(words, stdout=out.fileno())
        assert status == 2 and "is an input" in err
        assert_one_line(err)
    with Path("d.svm").open("rb") as given:
        status, _, err = forked("train - -o d.svm", stdin=given.fileno())
    assert status == 2 and "is an input" in err
    assert Path("d.svm").read_bytes() == before


def test_a_place_where_nothing_can_be_written_is_found_first(seriatim_, there, folder):  # noqa: F811
    """The error comes before a bad line is read.

    The path is in a missing folder, below a file, a loop of links, a folder, or where the system allows no files.
    """
    Path("bad.svm").write_text("bad line\n")
    Path("bad.csv").write_text("a,b\n1,x\n")
    Path("loop").symlink_to("loop")
    Path("x").mkdir()
    commands = [
        "train bad.svm -o {}", "predict m bad.svm -o {}", "run bad.svm --save {}", "run bad.svm --curve {}",
        "compare bad.svm --store {}", "compare bad.svm --report {}", "convert bad.svm {} --to csv",
        "convert bad.svm z.svm --names {}", "topics bad.svm --save {}", "recommend bad.svm --save {}",
        "portfolio bad.csv --report {}", "compare bad.svm --store z --figures png --report {}",
    ]  # fmt: skip
    before = sorted(path for path in folder.rglob("*"))
    for command in commands:
        for place in ("absent/o", "d.svm/o", "loop", "x", "/proc/o"):
            if place == "x" and "--store" in command and "--figures" not in command:
                continue  # a folder for the runs
            status, out, err = seriatim_(*command.format(place).split())
            assert (status, out) == (2, ""), (command, place)
            assert_one_line(err)
            assert place in err and "bad line" not in err and "bad.csv" not in err, (command, place, err)
            assert sorted(path for path in folder.rglob("*")) == before, (command, place)
    for place in ("d.svm/", "d.svm/runs/", "/proc/runs/", "loop/"):
        status, _, err = seriatim_("compare", "bad.svm", "--store", place)
        assert status == 2 and place in err and "bad line" not in err, err


# ---- a full disk


def test_a_full_disk_is_one_line_and_the_old_file_stays(there, folder):  # noqa: F811
    for name in ("big.model", "big.csv", "big.txt"):
        Path(name).write_text("precious")
    before = contents(folder)
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1000, 1000))
    for line in (
        "train spam -o big.model",
        "run spam --save big.model",
        "run spam --curve big.csv",
        "predict m d.svm spam --scores -o big.txt",
        "convert spam big.csv",
        "recommend r.csv -a pmf -p n_factors=50 --save big.model",
        "topics d.svm -k 50 --save big.model",
        "portfolio prices.csv -a ucrp --report big.txt",
        "compare digits -a pa --permutations 30 --no-regret --store z.jsonl --no-report",
    ):
        status, _, err = forked(line, before=limit)
        assert status == 2, (line, err)
        assert_one_line(err)
        assert "File too large" in err or "no space" in err or "no room" in err, (line, err)
        assert "big." in err or "z.jsonl" in err
        Path("z.jsonl").unlink(missing_ok=True)
        assert contents(folder) == before, line


def test_a_model_that_cannot_be_saved_is_saved_elsewhere(seriatim_, there, folder, monkeypatch):  # noqa: F811
    other = folder / "tmp"
    other.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(other))
    Path("full").symlink_to("/dev/full")
    for number, line in enumerate(
        ("train d.svm -o full", "run d.svm --save full", "recommend r.csv --save full", "topics d.svm --save full")
    ):
        status, _, err = seriatim_(*line.split())
        assert status == 2
        assert_one_line(err)
        assert "full: No space left on device; the model was saved as " in err
        saved = Path(err.strip().partition("saved as ")[2])
        assert saved.parent == other and seriatim.load(saved).t_ > 0
        assert len(list(other.iterdir())) == number + 1


# ---- closed outputs


def test_printing_to_a_full_disk_is_one_line(there, folder):  # noqa: F811
    for line in (
        "run d.svm", "run d.svm --json", "train d.svm -o z", "predict m d.svm", "inspect m", "algorithms",
        "algorithms pa", "datasets", "describe d.svm", "convert d.svm - --to csv", "topics d.svm",
        "recommend r.csv --user 1", "portfolio prices.csv -a ucrp", "--help", "run --help", "--version",
        "tune d.svm --tries 2", "compare d.svm -a pa --permutations 1 --no-report --store y",
    ):  # fmt: skip
        with Path("/dev/full").open("wb") as out:
            status, _, err = forked(line, stdout=out.fileno())
        assert (status, err.splitlines()[-1]) == (2, "seriatim: standard output: No space left on device"), (line, err)
        assert "Traceback" not in err, line
    with Path("/dev/full").open("wb") as out:
        done = subprocess.run([*COMMAND, "datasets"], stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "seriatim: standard output: No space left on device\n")
    assert seriatim.load("z").t_ == 100


def test_standard_output_that_is_closed(there, folder):  # noqa: F811
    """Lost results are an error. Lost messages are ignored."""
    for line, status in (("predict m d.svm", 2), ("convert d.svm - --to csv", 2), ("train d.svm -o z", 0)):
        done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *COMMAND, *line.split()], capture_output=True, check=False)
        assert done.returncode == status, done.stderr
        assert (b"standard output is closed" in done.stderr) == (status == 2)
        assert len(done.stderr.splitlines()) == (status == 2)
    assert seriatim.load("z").t_ == 100


def test_a_pipe_that_is_closed_by_its_reader(there, folder):  # noqa: F811
    for line in ("predict m d.svm", "algorithms", "convert d.svm - --to csv", "inspect m", "describe d.svm"):
        reader, writer = os.pipe()
        os.close(reader)
        status, _, err = forked(line, stdout=writer)
        os.close(writer)
        assert (status, err) == (1, ""), line
