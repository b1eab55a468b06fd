"""Time of learning the arrays of a file, with and without judging every prediction: `evaluation FILE`.

They take turns in one process, over the same rows: where these lie in memory makes more of a difference than judging.
"""

import sys
import time

import numpy as np

from bench.workers.partial_fit import matrix
from bench.workers.turns import serve

PASSES = 5  # of each in a turn


def main(path: str) -> None:
    """A fresh model for each; the rows are checked beforehand."""
    from seriatim import PA
    from seriatim.evaluate import progressive

    with np.load(path) as file:
        arrays = dict(file)
    rows = PA()._rows(matrix("seriatim", arrays)).check()
    blocks = [*rows.parts(1 << 19)]
    ends = np.cumsum([block.n for block in blocks])
    pieces = [(block, arrays["y"][end - block.n : end]) for block, end in zip(blocks, ends, strict=True)]

    def learning() -> None:
        model = PA()
        for block, y in pieces:
            model.learn_rows(block, model._targets(y, block.n))

    def judging() -> None:
        progressive(PA(), pieces)

    def measure() -> dict[str, float]:
        seconds: dict[str, float] = {}
        for _ in range(PASSES):
            for how in (judging, learning):
                start = time.perf_counter()
                how()
                taken = time.perf_counter() - start
                seconds[how.__name__] = min(seconds.get(how.__name__, taken), taken)
        return seconds

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
