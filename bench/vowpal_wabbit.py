"""A whole run over a file: `seriatim run -a pa` and Vowpal Wabbit, each as a user would type it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bench.measure import Bench, BenchError, Line, Usage, fastest, run, take_turns, warm

LEARN = ("--binary", "--loss_function", "hinge")

# The options of VW and the target for each. By default it keeps three numbers a feature; with --sgd one, as PA does.
PEERS: dict[str, tuple[tuple[str, ...], float | None]] = {"vw": ((), 1 / 6), "vw --sgd": (("--sgd",), None)}


def ours(bench: Bench) -> tuple[str | Path, ...]:
    return bench.seriatim, "run", bench.files.libsvm, "-a", "pa", "--json"


def theirs(bench: Bench, *options: str) -> tuple[str | Path, ...]:
    return bench.peers, "-m", "vowpalwabbit", "-d", bench.files.vw, *LEARN, *options


def compare(bench: Bench) -> Iterator[Line]:
    """Wall time of the whole command: start-up, reading, predicting and learning."""
    bench.say("vw's mistake rates")
    warm(bench.files.libsvm, bench.files.vw)
    rates = {
        peer: their_mistake_rate(run(*theirs(bench, *options)), bench.rows) for peer, (options, _) in PEERS.items()
    }
    sides: dict[str, Callable[[], Usage]] = {"seriatim": partial(run, *ours(bench))}
    sides |= {peer: partial(run, *theirs(bench, *options, "--quiet")) for peer, (options, _) in PEERS.items()}
    sides["start-up"] = partial(run, bench.peers, "-m", "vowpalwabbit", "--version")
    best = {side: fastest(usages) for side, usages in take_turns(bench, sides, bench.repeat).items()}
    pa = best["seriatim"]
    for peer, (_, target) in PEERS.items():
        note = (
            f"mistake rate {our_mistake_rate(pa, bench.rows):.4f} beside {rates[peer]:.4f}; "
            f"CPU time {pa.cpu:.2f} s beside {best[peer].cpu:.2f} s; "
            f"theirs includes {best['start-up'].seconds:.2f} s for Python to start and load VW"
        )
        yield Line(f"run a file of {bench.rows:,} rows", peer, pa.seconds, best[peer].seconds, "s", target, note=note)


def our_mistake_rate(usage: Usage, rows: int) -> float:
    """Seriatim's progressive mistake rate; it must have read every row."""
    summary = json.loads(usage.output)
    if summary["examples"] != rows:
        raise BenchError(f"seriatim read {summary['examples']:,} rows of {rows:,}")
    return summary["mistake_rate"]


def their_mistake_rate(usage: Usage, rows: int) -> float:
    """VW's progressive mistake rate; it must have read every row."""
    figures = dict(re.findall(r"^(number of examples|average loss) = (\S+)$", usage.errors, re.MULTILINE))
    if int(figures.get("number of examples", 0)) != rows:
        raise BenchError(f"vw did not report on {rows:,} rows: {figures}")
    return float(figures["average loss"])
