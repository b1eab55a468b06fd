"""Ctrl-C and SIGTERM. The first stops learning and saves the model, the second waits, the third stops at once."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

import seriatim
from seriatim import files
from seriatim.cli.live import Live
from seriatim.data.cache import File
from seriatim.data.read.ratings import Ratings
from seriatim.data.read.source import Source
from tests.cli.test_paths import folder, good, rows, seriatim_, there  # noqa: F401
from tests.forks import contents, forked

SAVING = (
    "train more.svm --resume m -o m",
    "run more.svm --save m",
    "recommend more.csv --model films --save films",
    "topics more.svm --model news --save news",
)

EVERY = ((0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (1, 1), (3, 0), (1, 2))  # signals during learning, during saving
SOME = ((0, 2), (0, 3), (1, 1))


@pytest.fixture
def more(there, folder, good) -> None:  # noqa: F811
    """Data of several blocks, and models that have learned a little."""
    Path("more.svm").write_text("".join(f"{i % 2} {i % 50 + 1}:1 77:0.25\n" for i in range(200_000)))
    Path("more.csv").write_text("".join(f"{i % 97},{i % 61},{i % 5 + 1}\n" for i in range(200_000)))
    good("topics", "d.svm", "-k", "2", "--save", "news")


def interrupted(learning: int, saving: int, number: int = signal.SIGINT):
    """Prepare a process to receive N signals after the first block, and M while it saves."""

    def before() -> None:
        shown, put = Live.__call__, files.put_in_place

        def call(live, run):
            if not live.stopping:
                for _ in range(learning):
                    os.kill(os.getpid(), number)
            shown(live, run)

        def put_in_place(*how):
            for _ in range(saving):
                os.kill(os.getpid(), number)
            put(*how)

        Live.__call__, files.put_in_place = call, put_in_place

    return before


@pytest.mark.slow
def test_the_third_ends_at_once_and_leaves_the_old_file(more, folder):  # noqa: F811
    for line in SAVING:
        name = line.split()[-1]
        old = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        for learning, saving in EVERY if line == SAVING[0] else SOME:
            status, _, err = forked(line, before=interrupted(learning, saving))
            case = (line, learning, saving, err)
            assert status == (130 if learning + saving else 0), case
            assert "Traceback" not in err, case
            model = seriatim.load(name)
            if learning + saving >= 3:
                assert contents(folder)[folder / name] == old[name], case
            else:
                assert contents(folder)[folder / name] != old[name], case
                assert ("interrupted; the results" in err) == (learning > 0), case
                assert (model.t_ < 200_000) == (learning > 0), case
                told = [line for line in err.splitlines() if line.startswith(f"seriatim: saving {name} first")]
                assert len(told) == saving + max(learning - 1, 0), case
            assert {path.name for path in folder.iterdir()} >= {*old}
            assert not [path for path in folder.iterdir() if path.name.endswith(".part")], case
            Path(name).write_bytes(old[name])


def test_sigterm_and_sighup_are_like_the_first_ctrl_c(more):
    shutil.copy("m", "old")
    for number in (signal.SIGTERM, signal.SIGHUP):
        shutil.copy("old", "m")
        status, _, err = forked("train more.svm --resume m -o m", before=interrupted(1, 0, number))
        assert (status, err) == (128 + number, "seriatim: interrupted; the results cover the examples so far\n")
        assert 100 < seriatim.load("m").t_ < 200_100
        for line in ("predict m more.svm -o out", "convert more.svm out.csv", "tune more.svm --tries 4"):
            status, out, err = signal_in(line, number)
            assert (status, out) == (128 + number, ""), line
            assert "Traceback" not in err and len(err.strip().splitlines()) <= 1, (line, err)
        assert not Path("out").exists() and not Path("out.csv").exists()
        assert not list(Path().glob(".*"))


def signal_in(line: str, number: int) -> tuple[int, str, str]:
    """A command that receives a signal a twentieth of a second after its start, or as soon as it handles the signal."""

    def send(*_: object) -> None:
        if signal.getsignal(number) == signal.SIG_DFL:  # a loaded machine: the command has not begun yet
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        else:
            os.kill(os.getpid(), number)

    def before() -> None:
        signal.signal(signal.SIGALRM, send)
        signal.setitimer(signal.ITIMER_REAL, 0.05)

    return forked(line, before=before)


def test_what_is_ignored_stays_so(more):
    """Ignored signals, as under nohup, stay ignored."""

    def before() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        interrupted(3, 3, signal.SIGHUP)()

    assert forked("train more.svm -o new", before=before)[0] == 0
    assert seriatim.load("new").t_ == 200_000


def test_a_signal_before_there_is_anything_to_stop(more):
    """After a signal before the first block, the first block is learned and saved."""

    def before() -> None:
        enter = Live.__enter__

        def entered(live):
            os.kill(os.getpid(), signal.SIGINT)
            return enter(live)

        Live.__enter__ = entered

    status, _, err = forked("train more.svm -o new", before=before)
    assert status == 130 and 0 < seriatim.load("new").t_ < 200_000, err


def test_while_examples_are_put_in_order_the_first_ends_at_once(more):
    """A signal during shuffling stops at once: nothing has been learned, and the old file stays."""

    def before() -> None:
        read, seen = Source.file, Ratings.read

        def interrupt(blocks):
            for k, block in enumerate(blocks):
                if k == 1:
                    os.kill(os.getpid(), signal.SIGINT)
                yield block
            raise AssertionError("it was read to its end")

        Source.file = lambda source, path: interrupt(read(source, path))
        Ratings.read = lambda source: interrupt(seen(source))

    for line in (
        "train more.svm --shuffle 1 --resume m -o m",
        "recommend more.csv --shuffle 1 --model films --save films",
    ):
        old = Path(line.split()[-1]).read_bytes()
        status, _, err = forked(f"{line} --shuffle 1", before=before)
        assert (status, err.strip()) == (130, "seriatim: interrupted; the results cover the examples so far"), line
        assert Path(line.split()[-1]).read_bytes() == old


def test_kill_leaves_no_examples_in_the_temporary_folder(more, folder):  # noqa: F811
    """The signal comes while the stored examples are written, and while they are read."""
    place = folder / "tmp"
    place.mkdir()
    for method in ("flush", "fileno"):

        def before(method=method) -> None:
            tempfile.tempdir = str(place)
            setattr(File, method, lambda file: os.kill(os.getpid(), signal.SIGKILL))

        ratings = ("recommend more.csv --shuffle 1",) if method == "flush" else ()  # ratings are mapped, not read
        for line in ("run more.svm --shuffle 1", "run more.svm --passes 2", *ratings):
            assert forked(line, before=before)[0] == -signal.SIGKILL, (method, line)
            assert not list(place.iterdir()), (method, line)


def test_handlers_are_put_back(good, more):  # noqa: F811
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    good("train", "d.svm", "-o", "new")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
