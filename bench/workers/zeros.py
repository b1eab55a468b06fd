"""Time a prediction of two models, the second one without a penalty: `zeros LEARNER PARAMETER=STRENGTH`.

They take turns in one process: how fast numbers come from all over a large table depends on who else is at work. And
there are two of each, for it also depends on where the table lies: who is made first, and goes first, is slower.
"""

import sys
import time
from typing import Any

import numpy as np

from bench.workers.dimension import PER_ROW, ROWS, drawn
from bench.workers.turns import serve

FEATURES = 1_000_000
PASSES = 5  # of each model in a turn


def main(name: str, strength: str) -> None:
    """The rows of each turn are others than those that were learned."""
    from seriatim import catalogue
    from seriatim.core.rows import Rows, canonical

    rng = np.random.default_rng(1)
    parameter, number = strength.split("=")

    def rows() -> tuple[Rows, np.ndarray]:
        index, value, y = drawn(rng, FEATURES)
        ends = np.arange(0, index.size + 1, PER_ROW)
        return Rows.sparse(*canonical(ends, index.ravel(), value.ravel()), FEATURES).check(), y

    first, y = rows()
    models: list[tuple[str, Any]] = []
    for side in ("few", "many", "many", "few"):
        model = catalogue.find(name)(**{parameter: float(number) if side == "few" else 0.0})
        model.learn_rows(first, model.as_targets(y, ROWS))
        models.append((side, model))

    def measure() -> dict[str, float]:
        seconds: dict[str, float] = {}
        given = rows()[0]
        for _ in range(PASSES):
            for side, model in models:
                start = time.perf_counter()
                model.score_rows(given)
                seconds[side] = min(seconds.get(side, np.inf), (time.perf_counter() - start) / ROWS)
        return seconds | {f"{side}_share": 1 - model.sparsity_ for side, model in models}

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
