"""Peak memory of a whole run, and of one over a stream ten times as long."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench import vowpal_wabbit
from bench.measure import Bench, BenchError, Line, Usage, run, take_turns

MEGABYTES = 200
TIMES = 10


def compare(bench: Bench) -> Iterator[Line]:
    """The highest resident memory of the process, as the system saw it."""
    sides = {
        "seriatim": lambda: run(*vowpal_wabbit.ours(bench, bench.files.libsvm)),
        "vw": lambda: run(*vowpal_wabbit.theirs(bench, bench.files.vw, "--quiet")),
    }
    usages = take_turns(bench, sides, bench.repeat)
    once, vw = (max(usage.megabytes for usage in usages[side]) for side in sides)
    yield Line(f"peak memory, {bench.rows:,} rows", "vw", once, vw, "MB", limit=MEGABYTES)
    bench.say(f"the same rows {TIMES} times through a pipe")
    often = piped(bench, ["cat", *[bench.files.libsvm] * TIMES], TIMES * bench.rows).megabytes
    yield Line(f"peak memory, {TIMES} x {bench.rows:,} rows by pipe", "once", often, once, "MB", limit=MEGABYTES)


def piped(bench: Bench, feed: list[str | Path], rows: int) -> Usage:
    """`seriatim run -` on what a command writes."""
    with subprocess.Popen(feed, stdout=subprocess.PIPE) as process:
        usage = run(bench.seriatim, "run", "-", "-a", "pa", "--json", stdin=process.stdout)
    examples = json.loads(usage.output)["examples"]
    if examples != rows:
        raise BenchError(f"seriatim read {examples:,} of {rows:,} rows from the pipe")
    return usage
