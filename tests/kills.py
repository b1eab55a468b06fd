"""Kill commands and interrupt them at random moments, and see that nothing is lost: python -m tests.kills N [seed]

Every file that a command writes must be the old or the new one, whole. After kill -9 a comparison goes on where it was,
and the next run leaves no part folder behind. After Ctrl-C no traceback is shown, and what was learned is saved unless
it came three times.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import seriatim
from tests.forks import Forked

COMPARE = "compare d.svm -a pa -a perceptron -a ogd --permutations 8 --jobs 2 --store runs --no-report --no-regret"
COMMANDS = {
    "train": "train d.svm --resume m -o m",
    "slow": "train d.svm --resume slow -o slow",
    "run": "run d.svm --save m2 --curve curve",
    "recommend": "recommend r.csv --model films --save films",
    "topics": "topics d.svm --model news --save news",
    "compare": COMPARE,
    "predict": "predict m d.svm -o predicted",
    "convert": "convert d.svm converted.csv.gz",
    "tune": "tune d.svm --tries 3 --jobs 1",
    "portfolio": "portfolio prices.csv -a ucrp -a pamr --report page",
}
MODELS = ("m", "slow", "m2", "films", "news")
GROWING = ("m", "slow", "films", "news")
CONSTANT = ("predicted", "converted.csv.gz")


class Round:
    """Commands in a folder, killed and interrupted."""

    def __init__(self, folder: Path, seed: int, size: int) -> None:
        self.folder, self.rng = folder, random.Random(seed)
        self.outcomes: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.whole: dict[str, bytes] = {}
        os.chdir(folder)
        rng = random.Random(1)
        lines = [f"{i % 2} {i % 50 + 1}:1 {rng.randrange(51, 400)}:0.5\n" for i in range(size)]
        Path("d.svm").write_text("".join(lines))
        Path("few.svm").write_text("".join(lines[:200]))
        Path("r.csv").write_text("".join(f"{i % 97},{i % 61},{i % 5 + 1}\n" for i in range(size)))
        Path("prices.csv").write_text("a,b\n" + "".join(f"{9 + i % 3},{8 + i % 5}\n" for i in range(size // 10)))
        for line in (
            "train few.svm -o m", "train few.svm -a scw -o slow",
            "recommend r.csv --save films", "topics few.svm -k 5 --save news",
        ):  # fmt: skip
            self.to_the_end(line)
        for name in COMMANDS:
            self.learn_how_long(name)
        self.counts = {name: seriatim.load(name).t_ for name in GROWING}
        self.whole = {name: Path(name).read_bytes() for name in CONSTANT}
        self.kept = 0

    def to_the_end(self, line: str) -> None:
        status, _, err = Forked(line).end()
        assert status == 0, (line, status, err)

    def learn_how_long(self, name: str) -> None:
        start = time.perf_counter()
        self.to_the_end(COMMANDS[name])
        self.seconds[name] = time.perf_counter() - start

    # ---- kills and interrupts

    def kill(self, name: str) -> None:
        """With kill -9."""
        self.forget(name)
        child = Forked(COMMANDS[name])
        time.sleep(self.rng.uniform(0, 1.1 * self.seconds[name]))
        child.kill(signal.SIGKILL)
        status, _, err = child.end()
        assert status in (0, -signal.SIGKILL), (name, status, err)
        self.outcomes[f"{name}: {'ended before' if status == 0 else 'killed'}"] += 1
        self.look(name)

    def kill_saving(self) -> None:
        """Kill a program that saves a model repeatedly."""
        model = seriatim.load("m")
        child = os.fork()
        while not child:
            model.save("m2")
        time.sleep(self.rng.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.outcomes["save: killed"] += 1
        self.look("save")
        model.save("m2")
        assert not any(".m2." in name for name in self.left())

    def interrupt(self, name: str, times: int) -> None:
        """With Ctrl-C, so many times, or once with SIGTERM."""
        self.forget(name)
        before = self.left()  # by kill -9
        number = signal.SIGTERM if times == 0 else signal.SIGINT
        moments = sorted(self.rng.uniform(0, 1.1 * self.seconds[name]) for _ in range(max(times, 1)))
        if self.rng.random() < 0.3:  # all of them at nearly the same moment
            moments = [moments[0] + 0.0005 * k for k in range(len(moments))]
        child, start = Forked(COMMANDS[name]), time.perf_counter()
        for moment in moments:
            time.sleep(max(0.0, start + moment - time.perf_counter()))
            child.kill(number)
        status, _, err = child.end()
        assert status in (0, 128 + number, -number), (name, times, status, err)
        assert "Traceback" not in err and "Exception" not in err, (name, times, err)
        saved = times < 3 or status == 0
        self.outcomes[f"{name}: {times or 'SIGTERM'}, status {status}"] += 1
        self.look(name, learned=saved and "interrupted; the results" in err)
        if not self.left() <= before:  # it came while the part folder was made or removed; the next run removes it
            self.outcomes["left until the next run"] += 1

    def forget(self, name: str) -> None:
        """Check that a complete comparison runs nothing."""
        if name == "compare" and self.kept == self.most:
            Path("runs").unlink()
            self.kept = 0

    most = 3 * 9  # runs of the comparison

    # ---- checks afterwards

    def look(self, name: str, learned: bool = False) -> None:
        for one in MODELS:
            model = seriatim.load(one)
            if one in self.counts:
                assert model.t_ >= self.counts[one], f"{name}: {one} has unlearned"
                if learned and one in COMMANDS[name].split()[-1:]:
                    assert model.t_ > self.counts[one], f"{name}: what was learned is not saved"
                self.counts[one] = model.t_
        for one, content in self.whole.items():
            assert Path(one).read_bytes() == content, f"{name}: {one} has changed"
        assert Path("curve").read_text().startswith("examples,") and Path("curve").read_bytes()[-1:] == b"\n"
        assert Path("page").read_text().rstrip().endswith("</html>")
        lines = Path("runs").read_bytes().split(b"\n")[:-1] if Path("runs").exists() else []
        keys = {json.loads(line)["key"] for line in lines}
        assert len(keys) == len(lines) >= self.kept, f"{name}: {len(lines)} runs, {len(keys)} of them different"
        self.kept = len(lines)

    def left(self) -> set[str]:
        return {path.name for path in self.folder.iterdir() if path.name.endswith(".part") or ".tmp" in path.name}

    def clean(self) -> None:
        """Check that the next run of each command removes the files of killed runs."""
        for name, line in COMMANDS.items():
            self.to_the_end(line)
            self.look(name)
        assert not self.left(), self.left()
        assert self.kept == self.most


def rounds(number: int, seed: int, folder: Path, size: int = 10_000) -> Counter[str]:
    """So many kills and as many interruptions, of commands over so many examples."""
    here = Path.cwd()
    try:
        round_ = Round(folder, seed, size)
        names = [*COMMANDS]
        for k in range(number):
            round_.kill(names[k % len(names)])
            round_.kill_saving()
            round_.interrupt(round_.rng.choice(names), round_.rng.randrange(4))
            if k % 20 == 19:
                round_.clean()
        round_.clean()
    finally:
        os.chdir(here)
    return round_.outcomes


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        found = rounds(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, Path(place))
    for outcome, times in sorted(found.items()):
        print(f"{times:6,}  {outcome}")
