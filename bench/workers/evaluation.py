"""Time of learning the arrays of a file, with and without judging every prediction: `evaluation HOW FILE`."""

import sys
import time

import numpy as np

from bench.workers.partial_fit import matrix
from bench.workers.turns import serve


def main(how: str, path: str) -> None:
    """A fresh model for each turn; the rows are checked beforehand."""
    from seriatim import PA
    from seriatim.evaluate import progressive

    with np.load(path) as file:
        arrays = dict(file)
    rows = PA()._rows(matrix("seriatim", arrays)).check()
    blocks = [*rows.parts(1 << 19)]
    ends = np.cumsum([block.n for block in blocks])
    pieces = [(block, arrays["y"][end - block.n : end]) for block, end in zip(blocks, ends, strict=True)]

    def learn() -> None:
        model = PA()
        for block, y in pieces:
            model.learn_rows(block, model._targets(y, block.n))

    def measure() -> dict[str, float]:
        start = time.perf_counter()
        learn() if how == "learning" else progressive(PA(), pieces)
        return {"seconds": time.perf_counter() - start, "rows": rows.n}

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
