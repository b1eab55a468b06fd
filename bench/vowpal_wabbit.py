"""A whole run over a file: `seriatim run -a pa` and Vowpal Wabbit, each as a user would type it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Bench, BenchError, Line, Usage, fastest, run, take_turns, warm

LEARN = ("--binary", "--loss_function", "hinge")


def ours(bench: Bench) -> tuple[str | Path, ...]:
    return bench.seriatim, "run", bench.files.libsvm, "-a", "pa", "--json"


def theirs(bench: Bench, *options: str) -> tuple[str | Path, ...]:
    return bench.peers, "-m", "vowpalwabbit", "-d", bench.files.vw, *LEARN, *options


def compare(bench: Bench) -> Iterator[Line]:
    """Wall time of the whole command: start-up, reading, predicting and learning."""
    bench.say("a first run for the mistake rates")
    warm(bench.files.libsvm, bench.files.vw)
    rates = {side: mistake_rate(run(*theirs(bench, *options)), bench.rows) for side, options in SIDES.items()}
    sides = {"seriatim": lambda: run(*ours(bench))}
    sides |= {side: lambda o=options: run(*theirs(bench, *o, "--quiet")) for side, options in SIDES.items()}
    sides["vw start-up"] = lambda: run(bench.peers, "-m", "vowpalwabbit", "--version")
    best = {side: fastest(usages) for side, usages in take_turns(bench, sides, bench.repeat).items()}
    pa = best["seriatim"]
    rate = json.loads(pa.output)["mistake_rate"]
    for side, target in zip(SIDES, (1 / 6, None), strict=True):
        note = (
            f"mistake rate {rate:.4f} beside {rates[side]:.4f}; CPU time {pa.cpu:.2f} s beside {best[side].cpu:.2f} s; "
            f"theirs has {best['vw start-up'].seconds:.2f} s of start-up, as it comes"
        )
        yield Line(
            f"run a file of {bench.rows:,} rows, beside {side}", pa.seconds, best[side].seconds, "s", target, note=note
        )


# VW's own default keeps three numbers a feature; with --sgd it keeps one, as PA does.
SIDES: dict[str, tuple[str, ...]] = {"vw": (), "vw --sgd": ("--sgd",)}


def mistake_rate(usage: Usage, rows: int) -> float:
    """VW's progressive mistake rate; it must have read every row."""
    figures = dict(re.findall(r"^(number of examples|average loss) = (\S+)$", usage.errors, re.MULTILINE))
    if int(figures.get("number of examples", 0)) != rows:
        raise BenchError(f"vw did not report on {rows} rows: {figures}")
    return float(figures["average loss"])
