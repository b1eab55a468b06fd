"""Kernel machines: an evaluation beside BLAS, a pass beside NumPy, and how the costs grow with budget and stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from bench.measure import Bench, Line, Worker, best, take_turns

SHAPES = ((500, 8), (2000, 100), (1000, 780))
BUDGET = 500
BUDGETS = (250, 2000)
LINEAR = ("rbp", "forgetron", "bogd")
SQUARE = ("projectron", "projectron-pp")
MANY = ("rbp", "forgetron", "bogd", "budget-pa", "projectron", "projectron-pp")
SMALL = 100  # the budget of the long streams
BLOCKS = 10  # of 100,000 examples


def compare(bench: Bench) -> Iterator[Line]:
    for budget, features in SHAPES:
        yield evaluation(bench, budget, features)
    for method, name in (("rbp", "RBP"), ("bogd", "BOGD++")):
        yield a_pass(bench, method, name)
    times = BUDGETS[1] / BUDGETS[0]
    for name in LINEAR:
        yield growth(bench, name, 1.1 * times)  # the support vectors of the smaller one fit a nearer cache
    for name in SQUARE:
        yield growth(bench, name, times**2)
    for name in MANY:
        yield from endless(bench, name)


def evaluation(bench: Bench, budget: int, features: int) -> Line:
    """What a prediction takes beside a product of a matrix with a vector and the exponentials, with nothing between."""
    with (
        Worker(bench.python, "kernels", "evaluation", "seriatim", budget, features) as ours,
        Worker(bench.python, "kernels", "evaluation", "numpy", budget, features) as theirs,
    ):
        answers = best(take_turns(bench, {"gaussian kernels": ours, "dgemv and exp": theirs}, 3 * bench.repeat))
    us = [1e6 * answer["seconds"] for answer in answers.values()]
    return Line(f"gaussian kernels of {budget} x {features}", "dgemv and exp", *us, "us", 2.0)


def a_pass(bench: Bench, method: str, name: str) -> Line:
    with (
        Worker(bench.python, "kernels", "pass", "seriatim", method, BUDGET) as ours,
        Worker(bench.python, "kernels", "pass", "numpy", method, BUDGET) as theirs,
    ):
        answers = best(take_turns(bench, {f"{name}, ours": ours, f"{name}, NumPy": theirs}, bench.repeat))
    seconds = [answer["seconds"] for answer in answers.values()]
    rates = " and ".join(f"{answer['mistakes']:.2%}" for answer in answers.values())
    what = f"cod-rna, {name}, B = {BUDGET}"
    return Line(what, "a NumPy loop", *seconds, "s", 1 / 10, note=f"mistakes on {rates} of the rows")


def growth(bench: Bench, name: str, most: float) -> Line:
    """An example on a full budget, of which no one can know the label.

    Where a matrix is as large as the caches, a bare product of a matrix with a vector grows by more than the square,
    and so may the rest.
    """
    less, more = BUDGETS
    names = (name, "product") if name in SQUARE else (name,)
    with ExitStack() as stack:
        sides = {
            f"{one}, B = {budget}": stack.enter_context(Worker(bench.python, "kernels", "growth", one, budget))
            for one in names
            for budget in BUDGETS
        }
        few, many, *bare = (1e6 * answer["seconds"] for answer in best(take_turns(bench, sides, bench.repeat)).values())
    note = ""
    if bare:
        times = bare[1] / bare[0]
        note = f"a bare product with a matrix of B x B takes {bare[1]:.3g} us beside {bare[0]:.3g}, {times:.0f} times"
        most = max(most, times)
    return Line(f"{name}, an example, B = {more}", f"B = {less}", many, few, "us", most, note=note)


def endless(bench: Bench, name: str) -> Iterator[Line]:
    """Time and memory after a million examples beside those at the beginning."""
    with Worker(bench.python, "kernels", "endless", name, SMALL, BLOCKS) as worker:
        bench.say(f"{name}, {BLOCKS} x 100,000 examples")
        answer = worker()
    what = f"{name}, B = {SMALL}, after a million examples"
    us = [1e6 * answer[which] for which in ("seconds", "first")]
    yield Line(f"{what}, an example", "after none", *us, "us", 1.1)
    yield Line(f"{what}, memory", "after 100,000", answer["megabytes"], answer["at_first"], "MB", 1.01)
