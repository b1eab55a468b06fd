"""Peak memory of a run over a long stream by a pipe, which is made as it is read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Bench, Line, run
from bench.memory import piped
from bench.vowpal_wabbit import ours

REPEAT = Path(__file__).with_name("repeat.py")
BYTES_A_ROW = 10_000  # of `bench.rows`: 10 GB for a million
MEGABYTES = 300


def compare(bench: Bench) -> Iterator[Line]:
    """A megabyte of rows over and over, beside the same megabyte once."""
    small = bench.files.small
    once = max(run(*ours(bench, small)).megabytes for _ in range(bench.repeat))
    size, rows = small.stat().st_size, small.read_bytes().count(b"\n")
    times = -(-BYTES_A_ROW * bench.rows // size)
    bench.say(f"{times * size / 1e9:.3g} GB through a pipe")
    peak = piped(bench, [sys.executable, "-I", "-S", REPEAT, small, str(times)], times * rows).megabytes
    yield Line(f"peak memory, {times * size / 1e9:.3g} GB by pipe", "1 MB", peak, once, "MB", limit=MEGABYTES)
