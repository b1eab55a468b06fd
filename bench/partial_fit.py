"""`partial_fit` on rows in memory: PA and scikit-learn's SGDClassifier."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Bench, Line, Worker, take_turns


def compare(bench: Bench) -> Iterator[Line]:
    """One call with all rows of a CSR matrix, on a fresh model; the process and the matrix are there already."""
    arrays = bench.files.arrays
    with (
        Worker(bench.python, "partial_fit", "seriatim", arrays) as ours,
        Worker(bench.peers, "partial_fit", "sklearn", arrays) as default,
        Worker(bench.peers, "partial_fit", "sklearn-pa", arrays) as same,
    ):
        sides = {"seriatim": ours, "SGDClassifier": default, "SGDClassifier, pa1": same}
        turns = take_turns(bench, sides, bench.repeat)
    best = {side: min(results, key=lambda result: result["seconds"]) for side, results in turns.items()}
    pa = best.pop("seriatim")
    for side, peer in best.items():
        note = f"right on {pa['accuracy']:.4f} of the rows learned beside {peer['accuracy']:.4f}"
        what = f"partial_fit on {pa['rows']:,} rows"
        yield Line(what, side, pa["seconds"], peer["seconds"], "s", target=1 / 4, note=note)
