"""Time a prediction of a model: `zeros LEARNER PARAMETER=STRENGTH`, where 0 leaves it dense."""

import sys
import time

import numpy as np

from bench.workers.dimension import PER_ROW, ROWS, drawn
from bench.workers.turns import serve

FEATURES = 1_000_000


def main(name: str, strength: str) -> None:
    """The rows of each turn are others than those that were learned."""
    from seriatim import catalogue
    from seriatim.core.rows import Rows, canonical

    rng = np.random.default_rng(1)
    parameter, number = strength.split("=")
    model = catalogue.find(name)(**{parameter: float(number)})

    def rows() -> tuple[Rows, np.ndarray]:
        index, value, y = drawn(rng, FEATURES)
        ends = np.arange(0, index.size + 1, PER_ROW)
        return Rows.sparse(*canonical(ends, index.ravel(), value.ravel()), FEATURES), y

    first, y = rows()
    model.learn_rows(first.check(), model._targets(y, ROWS))

    def measure() -> dict[str, float]:
        checked = rows()[0].check()
        start = time.perf_counter()
        model.scores_of(checked)
        return {"seconds": (time.perf_counter() - start) / ROWS, "share": 1 - model.sparsity_}

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
