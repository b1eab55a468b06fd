"""Time of learning the arrays of a file, with and without judging every prediction: `evaluation FILE TURNS`.

They take turns in one process, over the same rows: where these lie in memory makes more of a difference than judging.
So does the minute, and the answer is the turn with the middle ratio.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from bench.workers.partial_fit import matrix
from bench.workers.turns import serve


def main(path: str, turns: str) -> None:
    """A fresh model for each; the rows are checked beforehand."""
    from seriatim import PA
    from seriatim.evaluate import progressive

    with np.load(path) as file:
        arrays = dict(file)
    rows = PA().as_rows(matrix("seriatim", arrays)).check()
    blocks = [*rows.parts(1 << 19)]
    ends = np.cumsum([block.n for block in blocks])
    pieces = [(block, arrays["y"][end - block.n : end]) for block, end in zip(blocks, ends, strict=True)]

    def learning() -> None:
        model = PA()
        for block, y in pieces:
            model.learn_rows(block, model.as_targets(y, block.n))

    def judging() -> None:
        progressive(PA(), pieces)

    def taken(how: Callable[[], None]) -> float:
        start = time.perf_counter()
        how()
        return time.perf_counter() - start

    def measure() -> dict[str, float]:
        pairs = [{"judging": taken(judging), "learning": taken(learning)} for _ in range(int(turns))]
        return sorted(pairs, key=lambda pair: pair["judging"] / pair["learning"])[len(pairs) // 2]

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
