"""One example at a time, as dicts, beside River: plain features, scaled, hashed, of words, and by a `Features`."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Bench, Line, Worker, best, take_turns

# What is measured, the number of features of an example, and the target.
LINES = (
    ("plain", 10, 1 / 6),
    ("plain", 70, 1 / 6),
    ("normalize", 10, None),
    ("bits", 10, None),
    ("dict", 10, None),
    ("words", 3, 1 / 3),
    ("words", 30, 1 / 3),
)
SAID = {
    "plain": "{} features",
    "normalize": "{} features, normalize=standard",
    "bits": "{} features, bits=18",
    "dict": "{} features, missing=count",
    "words": "{} words",
}


def compare(bench: Bench) -> Iterator[Line]:
    """`predict_one` and then `learn_one`, time a round."""
    for kind, size, target in LINES:
        with (
            Worker(bench.python, "one_by_one", "seriatim", kind, size) as ours,
            Worker(bench.peers, "one_by_one", "river", kind, size) as theirs,
        ):
            answers = best(take_turns(bench, {"seriatim": ours, "river": theirs}, bench.repeat))
        own, river = answers["seriatim"], answers["river"]
        note = f"mistake rate {own['mistake_rate']:.4f} beside {river['mistake_rate']:.4f}"
        what = f"predict_one + learn_one, {SAID[kind].format(size)}"
        yield Line(what, "river", 1e6 * own["seconds"], 1e6 * river["seconds"], "us", target=target, note=note)
