"""`seriatim compare`: tables, stores, interrupts and searches."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from seriatim.evaluate import compare
from seriatim.evaluate.comparison.competitors import CLASSIFIERS
from tests.cli.test_cli import COMMAND, folder, good, on_a_terminal, seriatim_  # noqa: F401, fixtures


def table_of(out):
    """The cells of the table by algorithm, in order."""
    lines = [line.strip() for line in out.splitlines()]
    head = next(i for i, line in enumerate(lines) if line.startswith("algorithm"))
    rows = {}
    for line in lines[head + 2 :]:
        cells = re.split(r"  +", line.replace("±  ", "± ").replace("±  ", "± "))
        if len(cells) < 3:
            break
        rows[cells[0]] = cells[1:]
    return rows


def test_compare_prints_a_table(good):  # noqa: F811
    out = good("compare", "spam", "--permutations", 12, "--no-report")
    assert out.splitlines()[0] == "spam: 4,601 examples, 57 features, 12 permutations (seed 0)"
    rows = table_of(out)
    standings = compare("spam", permutations=12).standings()
    assert len(rows) == len(CLASSIFIERS)
    assert [label.removesuffix(" ≈") for label in rows] == [one.label for one in standings]
    for (label, cells), one in zip(rows.items(), standings, strict=True):
        assert cells[0] == "{:.4f} ± {:.4f}".format(*one.figures["mistake rate"])
        assert re.fullmatch(r"[\d,]+ ± [\d,]+", cells[1])
        assert re.fullmatch(r"[\d.,]+ ± [\d.,]+ [mµ]s", cells[2])
        assert label.endswith(" ≈") == (not one.best and not one.differs)
    assert any(label.endswith(" ≈") for label in rows)
    assert f"≈ no significant difference from {standings[0].label} (p >= 0.05)\ntest: Wilcoxon signed-rank test" in out
    (store,) = Path("seriatim-results").iterdir()
    assert re.search(rf"^runs: {store} \(156 new runs in \d+\.\d s; each algorithm also runs once", out, re.MULTILINE)
    assert len(store.read_bytes().splitlines()) == 13 * 12


def test_a_second_call_prints_from_the_store(good):  # noqa: F811
    arguments = ("compare", "spam", "-a", "pa", "-a", "arow", "--permutations", 3, "--no-report")
    first, again = good(*arguments), good(*arguments)
    assert "(8 new runs in " in first
    assert "(no new runs; " in again
    assert table_of(first) == table_of(again)
    more = good(*arguments, "-a", "scw")
    assert "(4 new runs in " in more


def test_too_few_permutations_have_no_marks(good):  # noqa: F811
    out = good("compare", "spam", "-a", "pa", "-a", "pa:C=0.99", "--permutations", 3, "--no-report")
    assert "≈" not in out
    assert "too few permutations for a significance test; at least 6 are needed" in out
    out = good("compare", "spam", "-a", "perceptron", "-a", "arow", "--permutations", 8, "--no-report")
    assert "all other algorithms differ significantly from arow (p < 0.05)" in out
    assert "significant" not in good("compare", "spam", "-a", "pa", "--permutations", 2, "--no-report")


def test_compare_as_json(good):  # noqa: F811
    found = json.loads(good("compare", "spam", "-a", "pa", "-a", "arow", "--permutations", 2, "--json", "--no-report"))
    again = compare("spam", ["pa", "arow"], permutations=2, store=found.pop("store"))
    assert again.ran == 0
    assert found.pop("written") == []
    assert found["setting"].pop("command") == "seriatim compare spam -a pa -a arow --permutations 2 --json --no-report"
    expected = json.loads(json.dumps(again.as_dict()))
    del expected["setting"]["command"]
    assert found == expected


def test_options_reach_the_runs(good):  # noqa: F811
    Path("mail.csv").write_text("label,text,x\n" + "".join(f"{'ab'[i % 2]},w{i % 2},{i}\n" for i in range(50)))
    arguments = ("--text", "text", "--drop", "x", "--normalize", "unit", "--limit", 40, "--seed", 5, "--jobs", 2)
    found = json.loads(
        good("compare", "mail.csv", *arguments, "-a", "pa:C=2", "--permutations", 2, "--store", "runs", "--json")
    )
    assert (found["title"], found["setting"]["examples"], found["setting"]["features"]) == ("mail", 40, 2)
    assert (found["setting"]["seed"], found["store"]) == (5, "runs")
    parameters = found["algorithms"][0]["parameters"]
    assert parameters["C"] == 2
    assert parameters["features"] == {"text": ["text"], "drop": ["x"], "normalize": "unit"}
    assert not Path("seriatim-results").exists()


def test_another_metric(good):  # noqa: F811
    out = good("compare", "spam", "--metric", "auc", "-a", "pa", "-a", "arow", "--permutations", 7, "--no-report")
    standings = compare("spam", ["pa", "arow"], permutations=7, metric="auc").standings()
    rows = table_of(out)
    assert list(rows) == [standing.label for standing in standings]
    for standing in standings:
        mean, deviation = standing.figures["auc"]
        assert rows[standing.label][0] == f"{mean:.4f} ± {deviation:.4f}"


def test_a_number_of_examples_to_tune_on(good):  # noqa: F811
    arguments = ("spam", "-a", "arow", "--limit", 600, "--permutations", 1, "--no-report", "--tune", "--prefix", 500)
    found = json.loads(good("compare", *arguments, "--json"))
    assert found["setting"]["examples"] == 100
    assert found["setting"]["tuning"].startswith("grid on 500 examples")


def test_generated_streams_and_numbers(good, seriatim_):  # noqa: F811
    assert "sea:noise=0.2: 300 examples" in good("compare", "sea:noise=0.2", "--limit", 300, "-a", "pa", "--no-report")
    status, _, err = seriatim_("compare", "sea")
    assert (status, err.count("\n")) == (2, 1)
    assert "--limit" in err
    Path("numbers.svm").write_text("".join(f"{i % 5 * 0.5} 1:{i % 5} 2:1\n" for i in range(100)))
    out = good("compare", "numbers.svm", "--permutations", 2, "--no-report")
    assert "mean absolute error" in out
    assert "pa-regressor:variant=II" in table_of(out)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--prefix", "0.5"), ("--search", "random"), ("--tune", "--like-libol"), ("--no-report", "--figures", "png"),
    ],
)  # fmt: skip
def test_what_would_be_of_no_effect_is_refused(seriatim_, arguments):  # noqa: F811
    status, out, _ = seriatim_("compare", "spam", *arguments)
    assert (status, out) == (2, "")
    assert not Path("seriatim-results").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("spam", "-a", "aroww"), "no algorithm is called 'aroww'; did you mean arow"),
        (("spam", "-a", "pa:c=1"), "pa:c=1: 'c=1' is not NAME=VALUE with a parameter of pa: C, variant"),
        (("spam", "-a", "pa:C=-1"), "C=-1.0: must be a number above 0"),
        (("spam", "-a", "pa", "-a", "pa-regressor"), "they cannot be compared"),
        (("nothing.svm",), "nothing.svm: No such file"),
        (("spam", "--store", "notes.txt"), "notes.txt: line 1: not a run of a comparison"),
    ],
)
def test_bad_input_is_one_clear_line(seriatim_, arguments, problem):  # noqa: F811
    Path("notes.txt").write_text("buy milk")
    status, out, err = seriatim_("compare", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("seriatim: ")
    assert problem in err
    assert Path("notes.txt").read_text() == "buy milk"
    assert not [*Path("seriatim-results").glob("*")]


@pytest.mark.parametrize(
    "arguments",
    [
        ("spam", "--permutations", "0"), ("spam", "--jobs", "0"), ("spam", "--seed", "-1"), (),
        ("spam", "--store", "no/where"), ("spam", "--report", "no/where.html"), ("spam", "--figures", "gif"),
        ("spam", "--tune", "--prefix", "2.5"),
    ],
)  # fmt: skip
def test_bad_usage(seriatim_, arguments):  # noqa: F811
    assert seriatim_("compare", *arguments)[0] == 2
    assert not Path("seriatim-results").exists()


@pytest.mark.parametrize("options", [["--store", "runs.html"], ["--store", "runs", "--report", "./runs"]])
def test_a_report_does_not_replace_the_runs(seriatim_, options):  # noqa: F811
    command = ["compare", "spam", "-a", "pa", "--permutations", "1", "--no-regret", *options]
    status, _, err = seriatim_(*command)
    assert status == 2
    assert "would be written twice" in err
    assert not Path(options[1]).exists()  # the error comes before the first run
    assert seriatim_(*command, "--report", "report.html")[0] == 0


def test_nobody_listens():
    command = [*COMMAND, "compare", "spam", "-a", "pa", "--permutations", "1", "--no-report", "--no-regret"]
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_where_signs_are_missing():
    done = subprocess.run(
        [*COMMAND, "compare", "spam", "-a", "pa", "-a", "pa:C=0.999", "--permutations", "6", "--no-report"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=True,
    )  # fmt: skip
    assert b" +- " in done.stdout


def test_a_live_table_on_a_terminal():
    status, shown, out = on_a_terminal("compare", "digits", "--permutations", "40", "--no-report")
    assert status == 0, shown
    assert "of 492 runs" in shown
    assert "s left" in shown
    assert re.search(r"\d+ of [\d,]+ runs", shown)
    assert "averaged-perceptron" in shown
    assert " ± " in shown
    assert "40 permutations (seed 0)" in out.decode()


def test_ctrl_c_keeps_what_is_done_and_the_next_call_goes_on():
    arguments = ["compare", "digits", "--permutations", "100", "--no-report"]
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    results = Path("seriatim-results")
    while not [*results.glob("*")]:  # the first runs are done
        time.sleep(0.01)
        assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"^seriatim: interrupted; [\d,]+ of 1,212 runs are stored; repeat the command", err)
    assert table_of(out)
    (store,) = results.iterdir()
    kept = len(store.read_bytes().splitlines())
    assert 0 < kept < 1212
    again = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=True)
    assert f"({1212 - kept:,} new runs in " in again.stdout


def test_ctrl_c_while_the_regret_is_sought(seriatim_, monkeypatch):  # noqa: F811
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("seriatim.evaluate.regret_bounds.of_comparison.Promises.of", stopped)
    status, out, err = seriatim_("compare", "spam", "-a", "pa", "--permutations", "1")
    assert status == 130
    assert "seriatim: interrupted; 2 of 2 runs are stored; repeat the command to continue" in err
    assert "report:" not in out and not [*Path("seriatim-results").glob("*.html")]


def test_a_search_is_shown_on_a_terminal():
    status, shown, out = on_a_terminal("compare", "spam", "-a", "pa", "--permutations", "1", "--tune", "--no-report")
    assert status == 0, shown
    assert re.search(r"tuning pa: \d+ of 9 trials", shown)
    assert b"tuned: grid on 920 examples" in out


def left_in(pipe):
    """The number of unread bytes."""
    count = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return int.from_bytes(count, sys.byteorder)


def test_ctrl_c_while_the_data_are_read():
    """The command waits for a pipe without data."""
    process = subprocess.Popen(
        [*COMMAND, "compare", "-", "--no-report"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(b"1 1:1\n0 2:1\n")
    process.stdin.flush()
    while left_in(process.stdin):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert process.stderr is not None
    assert process.stderr.read() == b"seriatim: interrupted\n"
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()  # type: ignore[union-attr]
    assert not Path("seriatim-results").exists()


def test_the_report_is_written(good):  # noqa: F811
    out = good("compare", "spam", "-a", "pa", "--permutations", 2, "--figures", "svg")
    assert re.search(r"^report: (seriatim-results/spam-[0-9a-f]{8}.html)$", out, re.MULTILINE)
    page = next(Path("seriatim-results").glob("*.html")).read_text()
    assert "Regret and bounds" in page
    assert "seriatim compare" in page
    assert len([*Path("seriatim-results").glob("spam-*-figures/*.svg")]) == 7
    good("compare", "spam", "-a", "pa", "--permutations", 2, "--report", "mine.html")
    assert Path("mine.html").exists()


def test_a_source_is_a_model_file(good, seriatim_):  # noqa: F811
    """The names of the source are found in the data. Runs with another source are different runs."""
    for name in ("pa", "arow"):
        good("train", "spam", "-a", name, "-o", f"{name}.model")
    specs = [f"homogeneous-otl:source={name}.model" for name in ("pa", "arow")]
    for spec in (*specs, "heterogeneous-otl:source=arow.model"):
        found = json.loads(
            good("compare", "spam", "-a", spec, "-a", "pa", "--permutations", 2, "--no-report", "--json")
        )
        assert {one["label"] for one in found["algorithms"]} == {spec, "pa"}
    found = json.loads(good("compare", "spam", *(f"-a{spec}" for spec in specs), "--permutations", 2, "--json"))
    assert [one["label"] for one in found["algorithms"]] == specs[::-1]
    run = json.loads(good("run", "spam", "-a", "homogeneous-otl", "-p", "source=arow.model", "--json"))
    (in_order,) = (one for one in compare("spam", [specs[1]], permutations=1).records if one["order"] is None)
    assert in_order["mistakes"] == run["mistakes"]
    status, _, problem = seriatim_("compare", "spam", "-a", "homogeneous-otl")
    assert status == 2
    assert "homogeneous-otl needs homogeneous-otl:source=...: a file with a linear model" in problem
