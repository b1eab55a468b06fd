"""Time an example as the dimension grows, at equal non-zeros: what the caches cost, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from bench.measure import Bench, Line, Worker, best, take_turns

LEARNERS = ("pa", "arow", "romma", "soft-svm")
SIZES = (100_000, 1_000_000, 10_000_000)


def compare(bench: Bench) -> Iterator[Line]:
    """Each learner, and a bare gather of as many numbers, which misses the caches as often."""
    first, *larger = SIZES
    for name in LEARNERS:
        learned, gathered = measured(bench, name)
        for size in larger:
            more, bare = (microseconds(answers, size) - microseconds(answers, first) for answers in (learned, gathered))
            note = (
                f"{more:+.2f} us, where gathering as many numbers takes {bare:+.2f} us; updates on "
                f"{learned[size]['updates']:.0%} of the rows beside {learned[first]['updates']:.0%}"
            )
            yield line(f"{name}, an example of {size:,} features", learned, size, note)
    for size in larger:
        yield line(f"a bare gather from {size:,} numbers", gathered, size)


def microseconds(answers: dict[int, Any], size: int) -> float:
    return 1e6 * answers[size]["seconds"]


def line(what: str, answers: dict[int, Any], size: int, note: str = "") -> Line:
    first = SIZES[0]
    return Line(what, f"{first:,}", microseconds(answers, size), microseconds(answers, first), "us", note=note)


def measured(bench: Bench, name: str) -> tuple[dict[int, Any], dict[int, Any]]:
    """The best answers of a learner and of the gather for each size, all in turns."""
    with ExitStack() as stack:
        sides = {
            f"{side}, {size:,} features": stack.enter_context(Worker(bench.python, "dimension", side, size))
            for side in (name, "gather")
            for size in SIZES
        }
        answers = list(best(take_turns(bench, sides, bench.repeat)).values())
    return dict(zip(SIZES, answers, strict=False)), dict(zip(SIZES, answers[len(SIZES) :], strict=True))
