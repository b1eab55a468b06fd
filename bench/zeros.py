"""Predictions of a model of which most weights are zeros, beside those of the same learner without a penalty."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Bench, Line, Worker

# Of a million features about one in a hundred then has a weight.
STRENGTHS = {"fobos": "lam=6.5e-4", "truncated-gradient": "gravity=6.5e-4", "ftrl": "l1=0.32", "rda": "lam=1.3e-5"}
TARGET = 1.05  # no slower, but for what two measurements of the same differ by


def compare(bench: Bench) -> Iterator[Line]:
    for name, strength in STRENGTHS.items():
        bench.say(f"{name} {strength}")
        with Worker(bench.python, "zeros", name, strength) as both:
            turns = [both() for _ in range(bench.repeat)]
        few, many = (1e6 * min(turn[side] for turn in turns) for side in ("few", "many"))
        note = f"{turns[0]['few_share']:.1%} of the weights are not zero, beside {turns[0]['many_share']:.0%}"
        beside = f"{name} {strength.split('=')[0]}=0"
        yield Line(f"{name} {strength}, a prediction", beside, few, many, "us", TARGET, note=note)
