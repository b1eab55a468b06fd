"""`partial_fit` on rows in memory: PA and scikit-learn's SGDClassifier."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from bench.measure import Bench, Line, Worker, best, take_turns

# Each peer's name in the worker, and the target. By default SGDClassifier goes through the rows in a random order,
# which, where they do not fit the cache, costs it more than the learning; in order it does the same work as PA.
PEERS: dict[str, tuple[str, float | None]] = {
    "SGDClassifier": ("sklearn", 1 / 4),
    "SGDClassifier, pa1": ("sklearn-pa", 1 / 4),
    "SGDClassifier, pa1, in order": ("sklearn-pa-in-order", None),
}


def compare(bench: Bench) -> Iterator[Line]:
    """One call with all rows of a CSR matrix, on a fresh model; the process and the matrix are there already."""
    arrays = bench.files.arrays
    with ExitStack() as stack:
        sides = {"seriatim": stack.enter_context(Worker(bench.python, "partial_fit", "seriatim", arrays))}
        for peer, (name, _) in PEERS.items():
            sides[peer] = stack.enter_context(Worker(bench.peers, "partial_fit", name, arrays))
        answers = best(take_turns(bench, sides, bench.repeat))
    pa = answers["seriatim"]
    for peer, (_, target) in PEERS.items():
        note = f"right on {pa['accuracy']:.4f} of the rows learned beside {answers[peer]['accuracy']:.4f}"
        what = f"partial_fit on {pa['rows']:,} rows"
        yield Line(what, peer, pa["seconds"], answers[peer]["seconds"], "s", target, note=note)
