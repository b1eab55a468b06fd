"""One example at a time, as dicts: PA and River's PAClassifier."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Bench, Line, Worker, best, take_turns

SIZES = (10, 70)


def compare(bench: Bench) -> Iterator[Line]:
    """`predict_one` and then `learn_one`, time a round."""
    for size in SIZES:
        with (
            Worker(bench.python, "one_by_one", "seriatim", size) as ours,
            Worker(bench.peers, "one_by_one", "river", size) as theirs,
        ):
            answers = best(take_turns(bench, {"seriatim": ours, "river": theirs}, bench.repeat))
        pa, river = answers["seriatim"], answers["river"]
        note = f"mistake rate {pa['mistake_rate']:.4f} beside {river['mistake_rate']:.4f}"
        what = f"predict_one + learn_one, {size} features"
        yield Line(what, "river", 1e6 * pa["seconds"], 1e6 * river["seconds"], "us", target=1 / 6, note=note)
