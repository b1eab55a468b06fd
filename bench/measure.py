"""How things are measured: whole commands and workers, in turns, the best of several."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from bench.data import Files

Result = TypeVar("Result")

ROOT = Path(__file__).parent.parent
LAUNCH = Path(__file__).with_name("launch.py")
LIMIT = 600  # seconds that a command may take
REST = 0.2  # seconds before a worker's turn: threads of the last one's linear algebra spin on after its answer


class BenchError(Exception):
    """Something that the user can mend."""


@dataclass(frozen=True)
class Bench:
    """What every comparison needs to know."""

    seriatim: Path
    python: Path  # Seriatim's interpreter
    peers: Path  # the peers' interpreter
    rows: int
    repeat: int
    files: Files
    say: Callable[[str], None]  # shows what is going on


@dataclass(frozen=True)
class Line:
    """One line of the table: ours beside theirs, and what was promised."""

    what: str
    beside: str
    ours: float
    theirs: float
    unit: str
    target: float | None = None  # the highest ours / theirs
    limit: float | None = None  # the highest ours
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        if self.target is not None:
            return self.ratio <= self.target
        return None if self.limit is None else self.ours <= self.limit


@dataclass(frozen=True)
class Usage:
    """What one run of a command took, and what it printed."""

    seconds: float
    cpu: float
    megabytes: float
    output: str
    errors: str


def run(*command: str | Path, stdin: IO[bytes] | None = None, limit: int = LIMIT) -> Usage:
    """Run a command to its end; one that fails or takes too long is an error."""
    launch = [sys.executable, "-I", "-S", str(LAUNCH), str(limit), *map(str, command)]
    shown = " ".join(word.name if isinstance(word, Path) else word for word in command)
    done = subprocess.run(launch, stdin=stdin or subprocess.DEVNULL, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise BenchError(f"`{shown}` could not be run: {last_line(done.stderr)}")
    output, report = done.stdout.rstrip("\n").rsplit("\n", 1)
    seconds, cpu, peak, status = report.split()
    if int(status) == -signal.SIGKILL and float(seconds) >= limit:
        raise BenchError(f"`{shown}` took more than {limit} s")
    if int(status):
        raise BenchError(f"`{shown}` ended with status {status}: {last_line(done.stderr)}")
    return Usage(float(seconds), float(cpu), float(peak) / 1e6, output, done.stderr)


def last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[2] or "it said nothing"


class Worker(AbstractContextManager["Worker"]):
    """A process that prepares once and then measures whenever it is told to, so that two of them can take turns."""

    def __init__(self, python: Path, module: str, *arguments: str | Path | int) -> None:
        self.command = [str(python), "-m", f"bench.workers.{module}", *map(str, arguments)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)

    def __call__(self) -> dict[str, Any]:
        """One measurement."""
        stdin, stdout, stderr = self.process.stdin, self.process.stdout, self.process.stderr
        assert stdin and stdout and stderr
        time.sleep(REST)
        try:
            stdin.write("\n")
            stdin.flush()
        except BrokenPipeError:
            pass  # it has ended; why is on its stderr
        answer = stdout.readline()
        if not answer:
            raise BenchError(f"`{' '.join(self.command)}` ended: {last_line(stderr.read())}")
        return json.loads(answer)

    def __exit__(self, *error: object) -> None:
        self.process.communicate()


def take_turns(bench: Bench, sides: Mapping[str, Callable[[], Result]], repeat: int) -> dict[str, list[Result]]:
    """Measure each side `repeat` times: one after the other, then all again."""
    results: dict[str, list[Result]] = {side: [] for side in sides}
    for turn in range(repeat):
        for side, measure in sides.items():
            bench.say(f"{side}, {turn + 1} of {repeat}")
            results[side].append(measure())
    return results


def warm(*files: Path) -> None:
    """Read files once, so that they are in the system's cache for all who come."""
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass


def best(turns: Mapping[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The fastest answer of each worker."""
    return {side: min(answers, key=lambda answer: answer["seconds"]) for side, answers in turns.items()}


def fastest(usages: list[Usage]) -> Usage:
    return min(usages, key=lambda usage: usage.seconds)
