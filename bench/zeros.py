"""Predictions of a model of which most weights are zeros, beside those of the same learner without a penalty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from bench.measure import Bench, Line, Worker, best, take_turns

# Of a million features about one in a hundred then has a weight.
STRENGTHS = {"fobos": "lam=6.5e-4", "truncated-gradient": "gravity=6.5e-4", "ftrl": "l1=0.32", "rda": "lam=1.3e-5"}
TARGET = 1.05  # no slower, but for what two measurements of the same differ by


def compare(bench: Bench) -> Iterator[Line]:
    for name, strength in STRENGTHS.items():
        with ExitStack() as stack:
            sides = {
                side: stack.enter_context(Worker(bench.python, "zeros", name, side))
                for side in (strength, f"{strength.split('=')[0]}=0")
            }
            few, many = best(take_turns(bench, sides, bench.repeat)).values()
        note = f"{few['share']:.1%} of the weights are not zero, beside {many['share']:.0%}"
        what = f"{name} {strength}, a prediction"
        yield Line(what, f"{name} {[*sides][1]}", 1e6 * few["seconds"], 1e6 * many["seconds"], "us", TARGET, note=note)
