"""`seriatim tune`: tables, JSON, the printed command, and interrupts."""
# ruff: noqa: F811, a fixture is imported and then an argument

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess

import pytest

import seriatim.evaluate
from seriatim import PA, data
from seriatim.evaluate import progressive, tune
from tests.cli.test_cli import COMMAND, folder, good, numbers, rows, seriatim_  # noqa: F401


def test_table_figures_and_command(good):
    out = good("tune", "spam", "-a", "arow")
    found = tune("arow", data.stream("spam"))
    lines = out.splitlines()
    assert lines[0] == f"AROW on spam: {found.said}"
    assert lines[1].split() == ["r", "mistake", "rate", "examples"]
    shown = [line.split() for line in lines[2:11]]
    assert shown == [[f"{t.parameters['r']:g}", f"{t.value:.4f}", "920"] for t in found.ranked]
    for name, model in (("r=8", found.model), ("r=1", type(found.model)())):
        run = progressive(model, data.stream("spam", skip=920))
        line = next(line for line in lines if line.startswith(f"{name} "))
        assert line.split()[1:3] == [str(run.mistakes), f"{run.mistake_rate:.4f}"]
    assert lines[-1] == "seriatim run spam -a arow -p r=8.0 --skip 920"


@pytest.mark.parametrize(
    "options",
    [
        ["-a", "pa", "--shuffle", "0"],
        ["-a", "scw", "-p", "variant=II", "--search", "halving"],
        ["-a", "ogd", "--normalize", "standard", "--over", "eta=0.1,1", "--over", "loss=hinge,logistic"],
        ["-a", "cw", "--like-libol", "--limit", "500"],
        ["-a", "cw", "--limit", "2000", "--metric", "auc"],
        ["-a", "pa", "--search", "random", "--tries", "5", "--prefix", "300", "--seed", "2", "--jobs", "1"],
    ],
)
def test_the_printed_command_gives_the_same_metric(good, options):
    """The printed command runs on the examples after the search and gives the printed metric."""
    found = json.loads(good("tune", "spam", *options, "--json"))
    again = json.loads(good(*shlex.split(found["command"])[1:], "--json"))
    assert {**again, "seconds": 0} == {**found["tuned"], "seconds": 0}
    limit = int(options[options.index("--limit") + 1]) if "--limit" in options else 4601
    assert again["examples"] == limit - found["rest"]
    assert found["best"].items() <= again["parameters"].items()


def test_another_metric(good):
    found = json.loads(good("tune", "spam", "-a", "pa", "--shuffle", 1, "--metric", "auc", "--json"))
    assert found["measure"] == "auc"
    values = [trial["value"] for trial in found["trials"]]
    assert values == sorted(values, reverse=True)
    assert 0 < found["tuned"]["metrics"]["auc"] < 1
    assert " auc " in good("tune", "spam", "-a", "pa", "--shuffle", 1, "--metric", "auc")


def test_json(good):
    found = json.loads(good("tune", "spam", "-a", "pa", "-p", "variant=II", "--prefix", "0.1", "--json"))
    expected = tune(PA(variant="II"), data.stream("spam"), prefix=0.1)
    assert {key: found[key] for key in expected.as_dict()} == expected.as_dict()
    assert found["defaults"]["parameters"]["variant"] == found["tuned"]["parameters"]["variant"] == "II"
    assert found["defaults"]["parameters"]["C"] == 1.0
    assert found["tuned"]["examples"] == 4601 - 460


def test_regression(good, numbers):
    out = good("tune", numbers, "-a", "pa-regressor", "--prefix", "30")
    assert "mean loss" in out
    assert "mistake" not in out
    assert "on the other 70" in out


def test_like_libol_is_said_everywhere(good):
    out = good("tune", "spam", "-a", "pa", "--like-libol")
    assert "like LIBOL: 9 values on the stream itself, all 4,601 examples" in out
    assert "the search used these same examples, as LIBOL does" in out
    assert "--skip" not in out
    assert json.loads(good("tune", "spam", "-a", "pa", "--like-libol", "--json"))["like_libol"] is True


def test_at_most_twenty_trials_are_shown(good):
    out = good("tune", "spam", "-a", "scw")
    assert "  and 61 more" in out
    assert len(re.findall(r"^ *[\d.]+ +0\.\d+ +0\.\d+ +920$", out, re.M)) == 20


def test_a_word_on_the_edge_of_a_range(good):
    edge = "is the smallest value tried"
    assert f"C=0.0625 {edge}; try others with --over C=..." in good("tune", "spam", "-a", "pa")
    assert edge not in good("tune", "spam", "-a", "arow")


def test_what_failed_is_shown(good, rows):
    out = good("tune", rows, "-a", "eg", "--over", "n_features=5,20", "--prefix", "50")
    assert re.search(r"^ +5 +failed +0 +\w", out, re.M)


WRONG = {
    "nothing to search: no parameter": ["-a", "perceptron"],
    "nothing to search: C could be, and is given": ["-a", "pa", "-p", "C=1"],
    "there are 4,601 examples, and some must be left": ["--prefix", "5000"],
    "2.5: give a fraction such as 0.2": ["--prefix", "2.5"],
    "some: give a fraction such as 0.2": ["--prefix", "some"],
    "C='x': must be a number above 0": ["--over", "C=1,x"],
    "there are no values of C": ["--over", "C="],
    "expected NAME=VALUE,VALUE,.. with a parameter of PA": ["--over", "D=1"],
    "C is already set": ["--over", "C=1", "-p", "C=2"],
    "like_libol needs search='grid'": ["--like-libol", "--search", "random"],
    "--prefix has no effect": ["--like-libol", "--prefix", "0.5"],
    "no algorithm is called 'nix'": ["-a", "nix"],
}


@pytest.mark.parametrize(("message", "options"), WRONG.items(), ids=list(WRONG))
def test_errors(seriatim_, message, options):
    status, out, err = seriatim_("tune", "spam", *options)
    assert (status, out) == (2, "")
    assert message in err


def test_what_cannot_be_gone_through_twice(seriatim_):
    status, _, err = seriatim_("tune", "sea", "--prefix", "100")
    assert (status, "sea has no end; give --limit" in err) == (2, True)
    status, _, err = seriatim_("tune", "-")
    assert (status, "standard input can be read only once" in err) == (2, True)


def test_sorted_by_label(seriatim_, folder):
    path = folder / "sorted.svm"
    path.write_text("".join(f"{i // 50} 1:{i}\n" for i in range(100)))
    status, _, err = seriatim_("tune", path)
    assert status == 2
    assert "the first 20 examples all have the label 0.0: shuffle them, or take more" in err
    assert seriatim_("tune", path, "--shuffle", "1")[0] == 0


def test_interrupted(seriatim_, monkeypatch):
    def stopped(model, stream, watch, **options):
        watch(3, 9, seriatim.evaluate.Trial({"C": 1.0}, 0.5, 10))
        raise KeyboardInterrupt

    monkeypatch.setattr(seriatim.evaluate, "tune", stopped)
    assert seriatim_("tune", "spam") == (130, "", "seriatim: interrupted after 3 of 9 runs\n")


def test_live(folder):
    """On a terminal one line shows the progress, and disappears at the end."""
    screen, end = pty.openpty()
    options = ["tune", "sea", "--limit", "10000", "-a", "scw"]
    with subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, stderr=end, text=True) as process:
        os.close(end)
        out, _ = process.communicate()
    shown = os.read(screen, 1 << 16).decode()
    os.close(screen)
    assert process.returncode == 0
    assert out.startswith("SCW on sea: grid of 81 on the first 2,000 examples; reported on the other 8,000")
    assert re.search(r"\d+%  \d+ of 81 runs  0\.\d+ with C=\S+ eta=", shown)
    assert shown.endswith("\r\x1b[K")


def test_algorithms_shows_what_is_tried(good):
    out = good("algorithms", "scw")
    assert "Values that `seriatim tune` tries:\n  C     0.0625 0.125 0.25 0.5 1 2 4 8 16\n  eta   0.55 0.6" in out
    assert "`seriatim tune` needs --over: no values are preset." in good("algorithms", "romma")
    about = json.loads(good("algorithms", "scw", "--json"))["scw"]["parameters"]
    assert about["C"]["search"][0] == 0.0625
    assert "search" not in about["variant"]


def test_skip(seriatim_, good):
    """--skip leaves out the first examples, in any order of the stream."""
    run = json.loads(good("run", "spam", "--shuffle", "3", "--skip", "600", "--json"))
    expected = progressive(PA(), data.stream(data.stream("spam", shuffle=3), skip=600))
    assert (run["examples"], run["mistakes"]) == (4001, expected.mistakes)
    assert json.loads(good("run", "spam", "--skip", "600", "--passes", "2", "--json"))["examples"] == 8002
    status, _, err = seriatim_("run", "spam", "--skip", "600", "--shuffle", "3", "--passes", "2")
    assert (status, "works for one pass only" in err) == (2, True)
