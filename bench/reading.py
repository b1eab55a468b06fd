"""Data in: files read and learned, or only read, beside those who do nothing but read them."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.measure import Bench, BenchError, Line, Worker, best, run, take_turns

Peers = dict[str, tuple[str, float | None]]  # the name of the reader in the worker, and the target

LOAD: Peers = {"load_svmlight_file": ("sklearn", 1 / 30)}
CSV: Peers = {"pyarrow read_csv": ("csv", 1.5), "pyarrow open_csv": ("csv-batches", None)}
PARQUET: Peers = {"pyarrow iter_batches": ("parquet", 1.5)}
GZIP = 1.2
OFTEN = 4  # times as many turns for tables, of which each is over in a tenth of a second


def load(bench: Bench) -> Iterator[Line]:
    """A file of LIBSVM text as a matrix in memory."""
    yield from beside(bench, "data.load", "load", bench.files.head, LOAD)


def csv(bench: Bench) -> Iterator[Line]:
    """A table read and learned, beside its reading alone."""
    yield from tables(bench, ".csv", CSV)


def parquet(bench: Bench) -> Iterator[Line]:
    yield from tables(bench, ".parquet", PARQUET)


def tables(bench: Bench, ending: str, peers: Peers) -> Iterator[Line]:
    """A table of numbers, and one with categories."""
    for table in (bench.files.table, bench.files.mixed):
        yield from beside(bench, "learn", "learn", table.with_suffix(ending), peers, OFTEN * bench.repeat)


def beside(bench: Bench, what: str, reader: str, file: Path, peers: Peers, repeat: int | None = None) -> Iterator[Line]:
    """All in processes that are there already; all must find the same."""
    with ExitStack() as stack:
        sides = {"seriatim": stack.enter_context(Worker(bench.python, "reading", reader, file))}
        for peer, (name, _) in peers.items():
            sides[peer] = stack.enter_context(Worker(bench.peers, "reading", name, file))
        answers = best(take_turns(bench, sides, repeat or bench.repeat))
    ours = answers["seriatim"]
    for peer, (_, target) in peers.items():
        theirs = answers[peer]
        check_same(file, ours, theirs)
        yield Line(named(what, file, ours), peer, ours["seconds"], theirs["seconds"], "s", target, note=found(ours))


def gzip(bench: Bench) -> Iterator[Line]:
    """Packed LIBSVM text, unpacked and parsed, beside unpacked only."""
    packed, head = bench.files.packed, bench.files.head
    with ExitStack() as stack:
        plain = stack.enter_context(Worker(bench.python, "reading", "stream", head))
        sides: dict[str, Callable[[], dict[str, Any]]] = {}
        sides["seriatim"] = stack.enter_context(Worker(bench.python, "reading", "stream", packed))
        if shutil.which("igzip"):
            shell('igzip -dc "$0" | cmp - "$1"', packed, head)
            sides["igzip -dc"] = lambda: {"seconds": shell('igzip -dc "$0" >/dev/null', packed)}
        else:
            sides["isal.igzip"] = stack.enter_context(Worker(bench.python, "reading", "igzip", packed))
        whole = plain()
        answers = best(take_turns(bench, sides, bench.repeat))
    ours = answers.pop("seriatim")
    check_same(packed, ours, whole)
    for peer, theirs in answers.items():
        check_same(packed, ours, theirs)
        note = f"{found(ours)}; {whole['seconds']:.3g} s where it is not packed"
        yield Line(named("stream", packed, ours), peer, ours["seconds"], theirs["seconds"], "s", GZIP, note=note)


def shell(command: str, *files: Path) -> float:
    """How long a command of the shell takes."""
    return run(Path("/bin/sh"), "-c", command, *files).seconds


def check_same(file: Path, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Whatever both know of a file must be the same."""
    for name in ours.keys() & theirs.keys() - {"seconds"}:
        if not math.isclose(ours[name], theirs[name], rel_tol=1e-9, abs_tol=1e-6):
            raise BenchError(f"{file.name}: {name} {ours[name]:,} here, {theirs[name]:,} there")


def named(what: str, file: Path, facts: dict[str, Any]) -> str:
    return f"{what} {file.name}, {facts['rows']:,} rows"


def found(facts: dict[str, Any]) -> str:
    return f"{facts['values']:,} values with a total of {facts['total']:,.6g}"
