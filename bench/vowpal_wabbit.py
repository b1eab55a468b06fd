"""A whole run over a file: `seriatim run -a pa` and Vowpal Wabbit, each as a user would type it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bench.measure import Bench, BenchError, Line, Usage, fastest, run, take_turns, warm

LEARN = ("--binary", "--loss_function", "hinge")

Peers = dict[str, tuple[tuple[str, ...], float | None]]  # the options of VW, and the target

# By default it keeps three numbers a feature; with --sgd one, as PA does.
PEERS: Peers = {"vw": ((), 1 / 6), "vw --sgd": (("--sgd",), None)}


def ours(bench: Bench, file: Path, *options: str) -> tuple[str | Path, ...]:
    return bench.seriatim, "run", file, "-a", "pa", *options, "--json"


def theirs(bench: Bench, file: Path, *options: str) -> tuple[str | Path, ...]:
    return bench.peers, "-m", "vowpalwabbit", "-d", file, *LEARN, *options


def compare(bench: Bench) -> Iterator[Line]:
    """The same rows in the format of each."""
    files, rows = bench.files, bench.rows
    warm(files.libsvm)
    yield from beside(bench, f"run a file of {rows:,} rows", ours(bench, files.libsvm), files.vw, rows, PEERS)


def beside(
    bench: Bench,
    what: str,
    command: tuple[str | Path, ...],
    file: Path,
    rows: int,
    peers: Peers,
    values: int | None = None,
) -> Iterator[Line]:
    """Wall time of the whole command: start-up, reading, predicting and learning. VW reads the file."""
    bench.say("vw's mistake rates")
    warm(file)
    rates = {}
    sides: dict[str, Callable[[], Usage]] = {"seriatim": partial(run, *command)}
    for peer, (options, _) in peers.items():
        rates[peer] = their_mistake_rate(run(*theirs(bench, file, *options)), rows, values)
        sides[peer] = partial(run, *theirs(bench, file, *options, "--quiet"))
    sides["start-up"] = partial(run, bench.peers, "-m", "vowpalwabbit", "--version")
    best = {side: fastest(usages) for side, usages in take_turns(bench, sides, bench.repeat).items()}
    pa = best["seriatim"]
    for peer, (_, target) in peers.items():
        note = (
            f"mistake rate {our_mistake_rate(pa, rows):.4f} beside {rates[peer]:.4f}; "
            f"CPU time {pa.cpu:.2f} s beside {best[peer].cpu:.2f} s; "
            f"theirs includes {best['start-up'].seconds:.2f} s for Python to start and load VW"
        )
        yield Line(what, peer, pa.seconds, best[peer].seconds, "s", target, note=note)


def our_mistake_rate(usage: Usage, rows: int) -> float:
    """Seriatim's progressive mistake rate; it must have read every row."""
    summary = json.loads(usage.output)
    if summary["examples"] != rows:
        raise BenchError(f"seriatim read {summary['examples']:,} rows of {rows:,}")
    return summary["mistake_rate"]


def their_mistake_rate(usage: Usage, rows: int, values: int | None) -> float:
    """VW's progressive mistake rate; it must have read every row and, if their number is known, every value."""
    shown = re.findall(r"^(number of examples|total feature number|average loss) = (\S+)$", usage.errors, re.MULTILINE)
    figures = dict(shown)
    if int(figures.get("number of examples", 0)) != rows:
        raise BenchError(f"vw did not report on {rows:,} rows: {figures}")
    if values is not None and int(figures["total feature number"]) != values + rows:  # and a constant a row
        raise BenchError(f"vw did not read {values:,} values: {figures}")
    return float(figures["average loss"])
