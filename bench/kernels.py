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
PRODUCTS = 2.0  # that one of these may take: two triangles are one, and there are the kernels
MANY = ("rbp", "forgetron", "bogd", "budget-pa", "projectron", "projectron-pp")
SMALL = 100  # the budget of the long streams
BLOCKS = 10  # of 100,000 examples


def compare(bench: Bench) -> Iterator[Line]:
    for budget, features in SHAPES:
        yield evaluation(bench, budget, features)
    for method, name in (("rbp", "RBP"), ("bogd", "BOGD++")):
        yield a_pass(bench, method, name)
    for name in LINEAR:
        yield growth(bench, name)
    for name in SQUARE:
        yield from square(bench, name)
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


def growth(bench: Bench, name: str) -> Line:
    """An example on a full budget, of which no one can know the label: eight times the budget, eight times the time."""
    few, many = (microseconds[name] for microseconds in on_budgets(bench, name))
    less, more = BUDGETS
    most = 1.1 * more / less  # the support vectors of the smaller one fit a nearer cache
    return Line(f"{name}, an example, B = {more}", f"B = {less}", many, few, "us", most)


def square(bench: Bench, name: str) -> Iterator[Line]:
    """The same beside a bare product of a matrix of B x B with a vector: no more than some of these at any budget.

    Where the matrix leaves the caches the product itself grows by more than the square.
    """
    for budget, microseconds in zip(BUDGETS, on_budgets(bench, name, "product"), strict=True):
        what = f"{name}, an example, B = {budget}"
        yield Line(what, "a bare product, B x B", microseconds[name], microseconds["product"], "us", PRODUCTS)


def on_budgets(bench: Bench, *names: str) -> list[dict[str, float]]:
    """What an example takes by each name, for each budget, all in turns."""
    with ExitStack() as stack:
        sides = {
            f"{name}, B = {budget}": stack.enter_context(Worker(bench.python, "kernels", "growth", name, budget))
            for budget in BUDGETS
            for name in names
        }
        answers = best(take_turns(bench, sides, bench.repeat))
    return [{name: 1e6 * answers[f"{name}, B = {budget}"]["seconds"] for name in names} for budget in BUDGETS]


def endless(bench: Bench, name: str) -> Iterator[Line]:
    """Time and memory after a million examples beside those at the beginning."""
    with Worker(bench.python, "kernels", "endless", name, SMALL, BLOCKS) as worker:
        bench.say(f"{name}, {BLOCKS} x 100,000 examples")
        answer = worker()
    what = f"{name}, B = {SMALL}, after a million examples"
    us = [1e6 * answer[which] for which in ("seconds", "first")]
    yield Line(f"{what}, an example", "after none", *us, "us", 1.1)
    yield Line(f"{what}, memory", "after 100,000", answer["megabytes"], answer["at_first"], "MB", 1.01)
