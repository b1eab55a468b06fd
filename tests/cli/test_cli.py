"""The command line: output, files, errors and exit status."""

from __future__ import annotations

import csv
import gzip
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import seriatim
from seriatim import PA, data, evaluate
from seriatim.cli import COMMANDS, main
from seriatim.core.threads import THREADS
from seriatim.parameters import REQUIRED
from tests.learners import of_rows

ROOT = str(Path(seriatim.__file__).parents[1])
COMMAND = [sys.executable, "-c", f"import sys; sys.path.insert(0, {ROOT!r}); from seriatim.cli import main; main()"]
KEYS = [
    "algorithm", "parameters", "examples", "features", "mistakes", "mistake_rate", "mean_loss", "updates",
    "support_vectors", "nonzeros", "bytes", "seconds", "classes", "confusion",
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Every command runs in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def seriatim_(monkeypatch, capfd) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process: (status, standard output, standard error)."""

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["seriatim", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            main()
        code = caught.value.code
        return (0 if code is None else int(code), *capfd.readouterr())

    return command


@pytest.fixture
def good(seriatim_) -> Callable[..., str]:
    """Run a command that must succeed without standard error. Returns its output."""

    def command(*arguments: object) -> str:
        status, out, err = seriatim_(*arguments)
        assert (status, err) == (0, "")
        return out

    return command


@pytest.fixture
def rows(folder) -> Path:
    path = folder / "rows.svm"
    path.write_text("".join(f"{i % 2} {i % 5 + 1}:1 {i % 7 + 6}:0.5\n" for i in range(100)))
    return path


@pytest.fixture
def numbers(folder) -> Path:
    """Rows with targets."""
    path = folder / "numbers.svm"
    path.write_text("".join(f"{i % 5 * 0.5} 1:{i % 5} 2:1\n" for i in range(100)))
    return path


# ---- run


def test_run_prints_what_it_found(good):
    lines = good("run", "spam", "-a", "pa", "-p", "C=0.01").splitlines()
    run = evaluate.progressive(PA(C=0.01), data.stream("spam"))
    assert lines[0] == "PA(C=0.01, variant='I', fit_intercept=True) on spam" or lines[0].endswith(" on spam")
    shown = {line[2:14].strip(): line[14:].strip() for line in lines[1:10]}
    assert list(shown) == [
        "examples", "features", "mistakes", "mistake rate", "mean loss", "updates", "seconds", "examples/s",
        "non-zeros/s",
    ]  # fmt: skip
    assert shown["examples"] == "4,601"
    assert shown["features"] == "57"
    assert shown["mistakes"] == f"{run.mistakes:,}"
    assert shown["mistake rate"] == f"{run.mistake_rate:.4f}"
    assert shown["mean loss"] == f"{run.mean_loss:.6g}"
    assert shown["updates"] == f"{run.updates:,}"
    assert re.fullmatch(r"  [▁▂▃▄▅▆▇█]{40}  mistake rate over time", lines[10])
    assert len(lines) == 11


def test_run_as_json(good):
    found = json.loads(good("run", "spam", "-a", "pa", "-p", "C=0.01", "--json"))
    run = evaluate.progressive(PA(C=0.01), data.stream("spam"))
    assert list(found) == KEYS
    assert found["seconds"] > 0
    assert found | {"seconds": 0} == run.summary() | {"seconds": 0}
    assert found["algorithm"] == "pa"
    assert found["parameters"] == {
        "C": 0.01, "variant": "I", "average": False, "fit_intercept": True, "classes": None, "features": None
    }  # fmt: skip


@pytest.mark.parametrize("name", of_rows())
def test_run_takes_every_algorithm(good, rows, name):
    command = seriatim.catalogue.command_name(seriatim.algorithms()[name])
    needed = []
    if "source" in seriatim.algorithms()[name].parameters:
        good("train", rows, "-a", "pa", "-o", "old.model")
        needed = ["-p", "source=old.model"]
    if "experts" in seriatim.algorithms()[name].parameters:
        needed = ["-p", "experts=pa:C=0.1,arow"]
    for parameter, declared in seriatim.algorithms()[name].parameters.items():
        if declared.default is REQUIRED and parameter != "source":
            needed += ["-p", f"{parameter}={1 if name == 'MultiTaskRDA' else 2}"]
    if name == "OnlinePCA":
        needed += ["--normalize", "unit"]
    for spelling in (command, name, name.lower()):
        found = json.loads(good("run", rows, "-a", spelling, *needed, "--json"))
        assert list(found) == KEYS
        assert (found["algorithm"], found["examples"]) == (command, 100)


def test_run_of_a_regression(good, numbers):
    found = json.loads(good("run", numbers, "-a", "pa-regressor", "--json", "--curve", "curve.csv"))
    assert found["mistakes"] is None and found["mistake_rate"] is None
    assert 0 < found["mean_loss"] < 1
    assert Path("curve.csv").read_text().splitlines()[0] == "examples,mean_loss"
    assert "mistake" not in good("run", numbers, "-a", "pa-regressor")


def test_run_writes_the_curve(good):
    good("run", "spam", "--curve", "curve.csv")
    with Path("curve.csv").open(newline="") as file:
        header, *points = csv.reader(file)
    run = evaluate.progressive(PA(), data.stream("spam"))
    assert header == ["examples", "mistake_rate"]
    assert [(int(t), float(rate)) for t, rate in points] == run.curve
    assert 256 <= len(points) <= 512


def test_run_saves_a_model_that_knows_the_names(good):
    good("run", "spam", "--save", "spam.model")
    shown = good("inspect", "spam.model", "-n", "57")
    assert "PA(" in shown and "4,601" in shown and "nonspam, spam" in shown
    assert "for spam" in shown
    names = data.datasets()["spam"].feature_names
    heaviest = [line.split()[0] for line in shown.split("heaviest features")[1].splitlines()[1:]]
    assert set(heaviest) <= set(names) and len(heaviest) > 50
    model = seriatim.load("spam.model")
    assert model.feature_names_in_.tolist() == names
    order = np.argsort(-np.abs(model.coef_[0]), kind="stable")
    assert heaviest == [names[j] for j in order if model.coef_[0][j] != 0]


def test_limit_shuffle_and_passes(good, rows):
    def figures(*options: object) -> dict:
        found = json.loads(good("run", rows, "--json", *options))
        found.pop("seconds")
        return found

    whole = figures()
    assert whole["examples"] == 100
    assert figures("--limit", 30)["examples"] == 30
    assert figures("--limit", 1000) == whole
    assert figures("--passes", 3)["examples"] == 300
    assert figures("--passes", 2, "--limit", 7)["examples"] == 14
    shuffled = figures("--shuffle", 1)
    assert shuffled["examples"] == 100
    assert figures("--shuffle", 1) == shuffled
    assert any(figures("--shuffle", seed)["mistakes"] != shuffled["mistakes"] for seed in range(2, 6))


def test_bad_lines_are_skipped_on_request(seriatim_, folder):
    path = folder / "half.svm"
    path.write_text("".join(f"{i % 2} 1:{i}\nbad line\n" for i in range(30)))
    status, out, err = seriatim_("run", path, "--skip-bad", "--json")
    assert status == 0
    assert json.loads(out)["examples"] == 30
    lines = err.splitlines()
    assert lines[0] == "seriatim: 30 bad lines skipped; the first:"
    assert lines[1] == f"  {path}: line 2, column 5: expected index:value, found 'line'"
    assert len(lines) == 11
    status, out, err = seriatim_("train", path, "--skip-bad", "-o", "m")
    assert (status, err.splitlines()) == (0, lines)
    status, out, err = seriatim_("predict", "m", path, "--skip-bad")
    assert (status, len(out.splitlines()), err.splitlines()[:11]) == (0, 30, lines)


def test_a_stream_without_examples(seriatim_, folder):
    path = folder / "empty.svm"
    path.write_text("# nothing\n")
    for arguments in (("run", path, "--save", "m"), ("run", path, "--json"), ("train", path, "-o", "m")):
        status, _, err = seriatim_(*arguments)
        assert status == 2 and "empty.svm: no examples" in err
    assert not Path("m").exists()


def test_standard_input():
    text = b"1 1:1\n0 2:1\n1 1:1\n"
    for content in (text, gzip.compress(text)):
        done = subprocess.run([*COMMAND, "run", "-", "--json"], input=content, capture_output=True, check=True)
        assert json.loads(done.stdout)["examples"] == 3
        assert done.stderr == b""


def test_standard_input_that_is_closed():
    done = subprocess.run([*COMMAND, "run", "-"], preexec_fn=lambda: os.close(0), capture_output=True, check=False)
    assert done.returncode == 2
    assert_one_line(done.stderr.decode())


# ---- train, predict, inspect


def test_train_predict_and_resume(seriatim_, good, rows):
    out = good("train", rows, "-a", "perceptron", "-p", "eta=0.5", "-o", "m")
    assert re.fullmatch(r"Perceptron\(eta=0\.5, .*\) learned 100 examples of 12 features in \d+\.\d{3} s: m\n", out)
    model = seriatim.load("m")
    assert model.t_ == 100
    X, y = data.load(rows)
    status, out, err = seriatim_("predict", "m", rows)
    assert status == 0
    assert out.split() == [str(label) for label in model.predict(X).tolist()]
    wrong = int(np.sum(model.predict(X) != y))
    assert err == f"{wrong} of 100 predictions are wrong ({wrong / 100:.4f})\n"
    good("train", rows, "--resume", "m", "-o", "again")
    twice = seriatim.load("again")
    assert twice.t_ == 200
    assert np.array_equal(twice.coef_, model.partial_fit(X, y).coef_)


def test_predict_scores(seriatim_, rows, folder):
    for classes in (2, 3):
        path = folder / f"{classes}.svm"
        path.write_text("".join(f"{'abc'[i % classes]} {i % 5 + 1}:1 {i % 7 + 6}:0.5\n" for i in range(100)))
        assert seriatim_("train", path, "-o", "m")[0] == 0
        status, out, _ = seriatim_("predict", "m", path, "--scores", "-o", "scores.txt")
        assert (status, out) == (0, "")
        scores = np.loadtxt("scores.txt", ndmin=2)
        expected = seriatim.load("m").decision_function(data.load(path)[0]).reshape(100, -1)
        assert scores.shape == (100, 1 if classes == 2 else 3)
        assert np.array_equal(scores, expected)


def test_predict_names(seriatim_):
    assert seriatim_("train", "spam", "-o", "m")[0] == 0
    status, out, err = seriatim_("predict", "m", "spam")
    assert status == 0
    assert set(out.split()) == {"spam", "nonspam"} and len(out.splitlines()) == 4601
    assert re.fullmatch(r"[\d,]+ of 4,601 predictions are wrong \(0\.\d{4}\)\n", err)


def test_predict_numbers(seriatim_, numbers):
    assert seriatim_("train", numbers, "-a", "pa-regressor", "-o", "m")[0] == 0
    status, out, err = seriatim_("predict", "m", numbers)
    assert status == 0
    assert np.array_equal(np.array(out.split(), dtype=float), seriatim.load("m").predict(data.load(numbers)[0]))
    assert re.fullmatch(r"root mean squared error [\d.e-]+ over 100 examples\n", err)


def test_predict_data_of_other_labels(seriatim_, rows, numbers, folder):
    """Labels of new data are compared with the predictions, but not required."""
    named = folder / "named.svm"
    named.write_text("".join(f"{'ab'[i % 2]} 1:{i}\n" for i in range(10)))
    assert seriatim_("train", rows, "-o", "m")[0] == 0
    status, out, err = seriatim_("predict", "m", named)
    assert (status, len(out.splitlines()), err) == (0, 10, "10 of 10 predictions are wrong (1.0000)\n")
    assert seriatim_("train", named, "-o", "m")[0] == 0
    status, out, err = seriatim_("predict", "m", rows)
    assert (status, len(out.splitlines()), err) == (0, 100, "100 of 100 predictions are wrong (1.0000)\n")


def test_predict_output_is_whole_or_not_there(seriatim_, rows, folder):
    assert seriatim_("train", rows, "-o", "m")[0] == 0
    broken = folder / "broken.svm"
    broken.write_text("1 1:1\n" * 300_000 + "bad line\n")
    before = set(folder.iterdir())
    for existing in (False, True):
        out = folder / "out.txt"
        if existing:
            out.write_text("precious")
        for arguments in (("m", broken), ("absent", rows), ("m", "absent")):
            status, _, err = seriatim_("predict", *arguments, "-o", out)
            assert status == 2
            assert_one_line(err)
            assert not existing or out.read_text() == "precious"
            assert set(folder.iterdir()) == before | ({out} if existing else set())
    assert seriatim_("predict", "m", rows, "-o", out)[0] == 0
    assert len(out.read_text().split()) == 100
    assert set(folder.iterdir()) == before | {out}


def test_inspect(good, rows):
    good("train", rows, "-o", "m")
    model = seriatim.load("m")
    about = json.loads(good("inspect", "m", "-n", "3", "--json"))
    assert about["model"] == repr(model)
    assert (about["examples"], about["features"], about["updates"]) == (100, 12, model.updates_)
    assert about["labels"] == [0, 1]
    ((title, weights),) = about["weights"].items()
    assert title == "1"
    assert len(weights) == 3
    # Features without names go by their numbers in the file.
    assert all(weight == model.coef_[0][int(name) - 1] for name, weight in weights)


def test_inspect_several_labels_and_a_model_without_weights(good):
    good("train", "digits", "-a", "perceptron", "-o", "m")
    shown = good("inspect", "m", "-n", "2")
    assert shown.count("heaviest features of") == 10
    good("train", "spam", "--limit", "200", "-a", "voted-perceptron", "-o", "m")
    assert "heaviest" not in good("inspect", "m")


def test_inspect_a_model_with_support_vectors(good):
    assert "support vectors" in good("run", "spam", "--limit", "200", "-a", "rbp", "-p", "budget=20")
    good("train", "spam", "--limit", "200", "-a", "omkc", "-p", "kernels=gaussian:4,polynomial:2", "-o", "m")
    about = json.loads(good("inspect", "m", "--json"))
    assert about["support vectors"] == seriatim.load("m").n_support_
    assert [kernel for kernel, _ in about["kernels"]] == ["Gaussian(sigma=4.0)", "Polynomial(degree=2, c=1.0)"]
    shown = good("inspect", "m")
    assert "support vectors" in shown
    assert "Gaussian(sigma=4.0)" in shown


def test_a_wider_file_for_a_model_that_knows_names(good, seriatim_, folder):
    """The additional columns have no names, so they are refused, and the model does not change."""
    wide = folder / "wide.svm"
    wide.write_text("spam 1:1 100:5\nnonspam 2:1 100:-5\n" * 50)
    good("train", "spam", "-o", "m")
    before = (folder / "m").read_bytes()
    status, _, problem = seriatim_("train", wide, "--resume", "m", "-o", "m")
    assert status == 2
    assert "expected at most 57 named columns, found 100" in problem
    assert (folder / "m").read_bytes() == before


# ---- lists and help


def test_algorithms(good):
    shown = good("algorithms")
    about = json.loads(good("algorithms", "--json"))
    known = seriatim.algorithms()
    assert [entry["class"] for entry in about.values()] == list(known)
    for name, entry in about.items():
        assert name in shown
        assert set(entry) == {"class", "family", "task", "paper", "parameters"}
        assert set(entry["parameters"]) == set(known[entry["class"]].parameters)
        one = good("algorithms", name)
        assert one.startswith(f"{name}: {entry['class']}(")
        assert known[entry["class"]].__doc__.splitlines()[0] in one


def test_datasets(good):
    shown = good("datasets")
    about = json.loads(good("datasets", "--json"))
    assert list(about) == list(data.datasets())
    for name, entry in about.items():
        assert name in shown
        assert f"{entry['rows']:,} x {len(entry['feature_names'])}" in shown


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_has_an_example(good, command, flag):
    shown = good(command, flag)
    assert shown.startswith(f"Usage: seriatim {command}")
    assert re.search(rf"^ +(zcat .*\| )?seriatim {command}\b", shown, re.MULTILINE)


def test_help_of_the_whole(good):
    shown = good("--help")
    for command, summary in COMMANDS.items():
        assert re.search(rf"^  {command} ", shown, re.MULTILINE)
        assert summary.split()[0] in shown
    assert "seriatim run spam -a pa" in shown
    assert good("--version") == f"seriatim {seriatim.__version__}\n"


# ---- errors


def assert_one_line(err: str) -> None:
    assert err.startswith("seriatim: ")
    assert err.endswith("\n") and err.count("\n") == 1
    assert "Traceback" not in err


WRONG_INPUT = {
    "a missing file": (("run", "absent.svm"), "absent.svm: No such file"),
    "a folder": (("run", "."), "Is a directory"),
    "a bad line": (("run", "bad.svm"), "bad.svm: line 2, column 3: feature index 0; LIBSVM indices start at 1"),
    "damaged gzip": (("run", "cut.gz"), "cut.gz: truncated gzip data"),
    "labels that are numbers": (("run", "numbers.svm"), "0.5"),
    "names for a regression": (
        ("run", "spam", "-a", "pa-regressor"),
        "spam: line 1, column 1: expected a number to estimate, found 'nonspam'",
    ),
    "an unknown algorithm": (("run", "spam", "-a", "nonsense"), "no algorithm is called 'nonsense'"),
    "a misspelt algorithm": (("run", "spam", "-a", "percepton"), "did you mean perceptron"),
    "an unknown parameter": (("run", "spam", "-p", "eta=1"), "-p eta=1: expected NAME=VALUE"),
    "a parameter without a value": (("run", "spam", "-p", "C"), "-p C: expected NAME=VALUE"),
    "a parameter out of range": (("run", "spam", "-p", "C=-1"), "C=-1.0: must be a number above 0"),
    "a parameter that is no number": (("run", "spam", "-p", "C=many"), "C='many': must be a number above 0"),
    "training on a bad line": (("train", "bad.svm", "-o", "out"), "bad.svm: line 2"),
    "saving after a bad line": (("run", "bad.svm", "--save", "out", "--curve", "out.csv"), "bad.svm: line 2"),
    "training from a missing model": (("train", "rows.svm", "--resume", "absent", "-o", "out"), "absent"),
    "a missing model": (("predict", "absent", "rows.svm"), "absent"),
    "a model that is none": (("predict", "rows.svm", "rows.svm"), "rows.svm: not a model file"),
    "an inspected model that is none": (("inspect", "rows.svm"), "rows.svm: not a model file"),
    "a missing inspected model": (("inspect", "absent"), "absent"),
    "a model that has learned nothing": (("predict", "new.model", "rows.svm"), "has not seen an example"),
    "predicting from a missing file": (("predict", "old.model", "absent.svm"), "absent.svm: No such file"),
    "a regression compared with names": (("predict", "regression.model", "labels.svm"), "must be numbers"),
    "names for a model without": (("predict", "regression.model", "spam"), "pass examples without names"),
    "an algorithm that is not there": (("algorithms", "nonsense"), "no algorithm is called 'nonsense'"),
}
WRONG_USAGE = {
    "no data": ("run",),
    "an unknown option": ("run", "spam", "--nonsense"),
    "an unknown command": ("nonsense",),
    "a limit of 0": ("run", "spam", "--limit", "0"),
    "a limit that is no number": ("run", "spam", "--limit", "x"),
    "no passes": ("run", "spam", "--passes", "0"),
    "a negative seed": ("run", "spam", "--shuffle", "-1"),
    "saving where no folder is": ("run", "rows.svm", "--save", "absent/out"),
    "a curve where no folder is": ("run", "rows.svm", "--curve", "absent/out"),
    "training to nowhere": ("train", "rows.svm"),
    "training to a folder": ("train", "rows.svm", "-o", "."),
    "training to where no folder is": ("train", "rows.svm", "-o", "absent/out"),
    "predictions to where no folder is": ("predict", "old.model", "rows.svm", "-o", "absent/out"),
    "no features to show": ("inspect", "old.model", "-n", "0"),
    "too many arguments": ("datasets", "spam"),
}


@pytest.fixture
def inputs(rows, numbers, folder) -> set[Path]:
    (folder / "bad.svm").write_text("1 1:1\n1 0:1\n")
    (folder / "cut.gz").write_bytes(gzip.compress(rows.read_bytes())[:-10])
    (folder / "labels.svm").write_text("ham 1:1\n")
    PA().save(folder / "new.model")
    PA().partial_fit(*data.load(rows)).save(folder / "old.model")
    seriatim.PARegressor().partial_fit(*data.load(numbers)).save(folder / "regression.model")
    return set(folder.iterdir())


@pytest.mark.parametrize("name", WRONG_INPUT)
def test_wrong_input_is_one_line_and_status_2(seriatim_, inputs, folder, name):
    arguments, words = WRONG_INPUT[name]
    status, out, err = seriatim_(*arguments)
    assert status == 2
    assert_one_line(err)
    assert words in err
    assert out == ""
    assert set(folder.iterdir()) == inputs


@pytest.mark.parametrize("name", WRONG_USAGE)
def test_wrong_usage_is_one_line_and_status_2(seriatim_, inputs, folder, name):
    status, out, err = seriatim_(*WRONG_USAGE[name])
    assert status == 2
    assert_one_line(err)
    assert out == ""
    assert set(folder.iterdir()) == inputs


def test_a_bad_place_to_save_is_told_before_the_run(seriatim_, rows, folder):
    """A missing folder is an error before the model learns for hours."""
    rows.write_text("bad line\n")
    for option in ("--save", "--curve"):
        _, _, err = seriatim_("run", rows, option, "absent/out")
        assert "absent" in err and "bad" not in err


# ---- Ctrl-C, pipes and terminals


class Endless:
    """A command that reads from a pipe without end."""

    def __init__(self, *arguments: str) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen([*COMMAND, *arguments], **pipes)
        self.written = 0
        self.stalled = False
        threading.Thread(target=self.write, daemon=True).start()

    def write(self) -> None:
        lines = b"".join(b"%d %d:1 %d:0.5\n" % (i % 2, i % 50 + 1, i % 70 + 51) for i in range(5000))
        try:
            while not self.stalled:
                self.written += os.write(self.process.stdin.fileno(), lines)
        except OSError:
            pass

    def until_it_reads(self) -> None:
        """Wait until the command has taken more than it reads ahead: it is then in the middle of its run."""
        enough = (4 * THREADS + 8) << 20
        deadline = time.monotonic() + 60
        while self.written < enough and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self.written >= enough

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str, str]:
        out = err = b""
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.stalled = True
        out, err = self.process.stdout.read(), self.process.stderr.read()
        status = self.process.wait()
        time.sleep(0.05)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
        return status, out.decode(), err.decode()


def test_an_interrupted_run_shows_what_it_has_and_saves_it(folder):
    run = Endless("run", "-", "--json", "--save", "m", "--curve", "curve.csv")
    run.until_it_reads()
    run.interrupt()
    status, out, err = run.end()
    assert status == 130
    found = json.loads(out)
    assert list(found) == KEYS
    assert found["examples"] > 10_000
    assert err == "seriatim: interrupted; the results cover the examples so far\n"
    assert seriatim.load("m").t_ == found["examples"]
    assert len(Path("curve.csv").read_text().splitlines()) > 100


def test_an_interrupted_training_saves_its_model(folder):
    run = Endless("train", "-", "-o", "m")
    run.until_it_reads()
    run.interrupt()
    status, out, err = run.end()
    assert status == 130 and err == "seriatim: interrupted; the results cover the examples so far\n"
    learned = int(re.search(r"learned ([\d,]+) examples", out)[1].replace(",", ""))
    assert seriatim.load("m").t_ == learned > 10_000


def test_a_pipe_that_has_nothing_more_is_interrupted_too(folder):
    """A run that waits for data stops at once."""
    run = Endless("run", "-", "--json")
    run.until_it_reads()
    run.stalled = True
    time.sleep(0.3)
    run.interrupt()
    status, out, err = run.end()
    assert status == 130
    assert json.loads(out)["examples"] > 10_000
    assert "Traceback" not in err


def test_a_reader_that_goes_away_is_no_crash(folder, seriatim_):
    assert seriatim_("train", "spam", "-o", "m")[0] == 0
    process = subprocess.Popen([*COMMAND, "predict", "m", "spam"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(1)
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() != 0 or "predictions are wrong" in err
    assert "Traceback" not in err


def on_a_terminal(*arguments: str) -> tuple[int, str, bytes]:
    """Run a command whose standard error is a terminal: (status, text on the terminal, standard output)."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*COMMAND, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # Linux: the other end is closed
                break
            if not chunk:
                break
            shown += chunk
    out = process.stdout.read()
    process.stdout.close()
    os.close(ours)
    return process.wait(), shown.decode(), out


@pytest.mark.parametrize("options", [(), ("--shuffle", "1")], ids=["in order", "shuffled"])
def test_a_live_line_on_a_terminal(rows, options):
    rows.write_text("".join(f"{i % 2} {i % 50 + 1}:1 {i % 70 + 51}:0.5\n" for i in range(50_000)))
    status, shown, out = on_a_terminal("run", str(rows), "--passes", "60", "--json", *options)
    assert status == 0, shown
    assert json.loads(out)["examples"] == 3_000_000
    states = shown.split("\r\x1b[K")
    assert len(states) > 2
    assert states[0] == states[-1] == ""  # the line is empty before and after
    for state in states[1:-1]:
        assert re.fullmatch(r" *\d+%  [\d,]+ examples  [\d,]+/s  mistake rate \d\.\d{4}", state)
    assert "\n" not in shown


def test_silence_when_there_is_no_terminal(rows):
    done = subprocess.run([*COMMAND, "run", str(rows), "--passes", "2000"], capture_output=True, check=True)
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout and b"\r" not in done.stdout


def test_a_file_of_another_format_is_not_taken_for_labels(seriatim_, folder):
    (folder / "table.svm").write_text("a,b,label\n1,2,x\n3,4,y\n")
    status, _, err = seriatim_("run", folder / "table.svm")
    assert (
        status == 2 and "table.svm: line 1, column 1: expected a label and index:value pairs, found 'a,b,label'" in err
    )


def test_a_pipe_is_predicted_as_it_comes(folder, good, rows):
    good("train", rows, "-o", "m")
    with subprocess.Popen(
        [*COMMAND, "predict", "m", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        for _ in range(3):
            running.stdin.write(b"1 1:1 2:1\n")
            running.stdin.flush()
            assert running.stdout.readline().strip() in (b"0", b"1")  # hangs if the command waits for more data
        running.stdin.close()
        assert b"of 3 predictions are wrong" in running.stderr.read()


def test_passes_over_a_pipe_that_has_a_name(folder, good):
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=lambda: (folder / "pipe").write_bytes(b"1 1:1\n-1 2:1\n"))
    writer.start()
    assert json.loads(good("run", folder / "pipe", "--passes", "2", "--json"))["examples"] == 4
    writer.join()


def test_a_terminal_without_block_characters(folder, rows):
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([*COMMAND, "run", rows], capture_output=True, env=environment)
    assert done.returncode == 0 and b"mistake rate" in done.stdout and done.stderr == b""


def test_a_saved_model_goes_on_as_what_it_is(seriatim_, good, rows, folder):
    good("train", rows, "-o", "m")
    for options in (("-a", "perceptron"), ("-p", "C=2"), ("--bits", "18")):
        status, _, err = seriatim_("train", rows, "--resume", "m", "-o", "m", *options)
        assert status == 2 and "own algorithm, parameters and features" in err


def test_a_folder_does_not_hide_a_bundled_set(good, folder):
    (folder / "spam").mkdir()
    assert "4,601" in good("run", "spam")


def test_sample_weights_of_vowpal_wabbit(seriatim_, tmp_path):
    """The importance of an example is its sample weight."""
    path = tmp_path / "lines.vw"
    path.write_text("1 0.25 |f a\n-1 3 |f b\n")
    assert seriatim_("train", path, "-a", "perceptron", "-o", tmp_path / "m")[0] == 0
    assert seriatim.load(tmp_path / "m").coef_.tolist() == [[0.25, -3.0]]
    status, _, said = seriatim_("run", path, "-a", "voted-perceptron")
    assert (status, said.count("\n")) == (2, 1)
    assert "the method does not define sample weights" in said


def test_run_with_metrics_and_a_held_out_file(good, folder):
    options = ["--metric", "auc", "--metric", "f1", "--window", "500", "--fade", "0.999", "--warm-up", "100"]
    out = good("run", "spam", "-a", "arow", *options, "--test", "spam", "--curve", "curve.csv", "--every", "1000")
    for label in ("auc", "f1, last 500", "mistake rate, fading 0.999", "held out, 4,501"):
        assert re.search(rf"^  {label} +[0-9.]+$", out, re.MULTILINE), label
    assert re.search(r"examples +4,501", out)
    rows = list(csv.reader((folder / "curve.csv").read_text().splitlines()))
    assert rows[0][:3] == ["examples", "mistake_rate", "auc"]
    assert rows[0][-1] == "held_out"
    assert [row[0] for row in rows[1:]] == ["1000", "2000", "3000", "4000", "4501"]
    assert all(row[2] for row in rows[1:-1])
    assert [row[-1] != "" for row in rows[1:]] == [True] * 5


def test_a_metric_of_a_label(seriatim_):
    status, out, err = seriatim_("run", "spam", "-a", "pa", "--metric", "f1:nonspam", "--metric", "f1:spam")
    assert (status, err) == (0, "")
    assert re.search(r"f1 \(nonspam\) +0\.", out) and re.search(r"f1 \(spam\) +0\.", out)
    status, out, err = seriatim_("run", "spam", "-a", "pa", "--metric", "sensitivity:junk", "--window", "100")
    assert status == 0
    assert err == "seriatim: sensitivity (junk): no example has the label junk; there are nonspam, spam\n"


def test_ddm_is_for_mistakes(seriatim_, folder):
    (folder / "numbers.csv").write_text("x,y\n1,0.5\n2,0.25\n")
    status, out, err = seriatim_("run", "numbers.csv", "--label", "y", "-a", "ogd-regressor", "--drift", "ddm")
    assert (status, out) == (2, "")
    assert "--drift ddm: DDM needs mistakes (0 or 1), but OGDRegressor(" in err


def test_a_run_that_is_all_warm_up(seriatim_):
    status, out, err = seriatim_("run", "spam", "-a", "pa", "--warm-up", "5000")
    assert (status, out) == (2, "")
    assert "spam: all 4,601 examples are warm-up; give a smaller --warm-up" in err


@pytest.mark.parametrize(("name", "message"), [("f3", "no metric is called 'f3'"), ("rmse", "a metric of regression")])
def test_run_with_a_metric_that_is_not_there(seriatim_, name, message):
    status, out, err = seriatim_("run", "spam", "--metric", name)
    assert (status, out) == (2, "")
    assert message in err


def test_a_label_that_is_not_there_is_not_described(seriatim_, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,lab\n1,x\n2,y\n")
    assert seriatim_("describe", path, "--label", "lab")[0] == 0
    code, _, problem = seriatim_("describe", path, "--label", "nope")
    assert code == 2 and "no labels in the column 'nope'" in problem


def test_output_to_a_pipe(tmp_path):
    """/dev/stdout may be a pipe, which cannot be replaced like a file."""
    model, rows = str(tmp_path / "m.model"), tmp_path / "rows.svm"
    rows.write_text("a 1:1\nb 1:2\n")
    subprocess.run([*COMMAND, "train", rows, "-o", model], capture_output=True, check=True)
    done = subprocess.run([*COMMAND, "predict", model, rows, "-o", "/dev/stdout"], capture_output=True, check=True)
    assert {*done.stdout.decode().split()} <= {"a", "b"}


def test_memory_that_is_not_there(folder):
    """A huge column number or too many components, under a limit on memory, give one line and status 2."""
    Path("far.svm").write_text("1 1:1 300000000:1\n-1 2:1\n")
    limited = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); "
    command = [*COMMAND[:2], limited + COMMAND[2]]
    for wish in ("far.svm -a oam", "far.svm -a ofs -p k=3", "spam -a fogd -p n_components=250000000"):
        ended = subprocess.run([*command, "run", *wish.split()], capture_output=True, text=True, check=False)
        assert ended.returncode == 2
        assert re.fullmatch(r"seriatim: out of memory: no memory .*\n", ended.stderr)
    many = ["run", "spam", "-a", "fogd", "-p", "n_components=900000000"]
    ended = subprocess.run([*COMMAND, *many], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "n_components=900000000: would need more than 4 GiB" in ended.stderr
