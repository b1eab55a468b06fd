"""Strategies of portfolio selection beside universal-portfolios: whole back-tests of the market NYSE(O)."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Bench, Line, Worker, best, take_turns

DAYS = 5651
# Ours, theirs, days. Theirs would take hours for all days of what compares each with all before it. Their anticor is
# one expert, of window 30, where ours has 29, or one if it is told so; their nearest neighbours are one of ten days,
# where ours are 51 experts.
STRATEGIES = (
    ("buy-and-hold", "BAH", DAYS),
    ("ucrp", "CRP", DAYS),
    ("bcrp", "BCRP", DAYS),
    ("universal-portfolio", "UP", DAYS),
    ("exponentiated-gradient", "EG", DAYS),
    ("ons", "ONS", DAYS),
    ("anticor", "Anticor", DAYS),
    ("anticor:shortest=30", "Anticor", DAYS),
    ("pamr", "PAMR", DAYS),
    ("cwmr", "CWMR", DAYS),
    ("olmar", "OLMAR", DAYS),
    ("rmr", "RMR", DAYS),
    ("corn", "CORN", 400),
    ("nearest-neighbour", "BNN", 400),
)
QUICK = ("BAH", "CRP", "BCRP")  # where theirs takes less than a second


def compare(bench: Bench) -> Iterator[Line]:
    for ours, theirs, days in STRATEGIES:
        yield back_test(bench, ours, theirs, days)


def back_test(bench: Bench, ours: str, theirs: str, days: int) -> Line:
    """Ours with all figures of the report, theirs with the wealth alone."""
    with (
        Worker(bench.python, "portfolio", "seriatim", ours, days) as here,
        Worker(bench.peers, "portfolio", "universal-portfolios", theirs, days) as there,
    ):
        few = bench.repeat if theirs in QUICK else min(2, bench.repeat)
        mine = best(take_turns(bench, {ours: here}, max(3, bench.repeat)))[ours]
        turns = take_turns(bench, {ours: here, f"{theirs} of universal-portfolios": there}, few)
        answers = best(turns)
        other = answers[f"{theirs} of universal-portfolios"]
        mine = min(mine, answers[ours], key=lambda answer: answer["seconds"])
    note = f"wealth {mine['wealth']:.6g} and {other['wealth']:.6g}"
    what = f"{ours}, NYSE(O), {days:,} days"
    return Line(
        what, f"universal-portfolios {other['version']}", mine["seconds"], other["seconds"], "s", 1 / 10, note=note
    )
