"""Time an example at a dimension: `dimension LEARNER FEATURES`, LEARNER by its name or `gather`."""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.workers.turns import serve

PER_ROW = 68
ROWS = 50_000


def drawn(rng: np.random.Generator, features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with every feature as likely as any other: each value is a miss where the weights do not fit a cache.

    Labels are coin tosses, so that the model is wrong about as often however many features there are.
    """
    index = np.sort(rng.integers(0, features, (ROWS, PER_ROW), dtype=np.int32))
    return index, rng.standard_normal(index.shape) / np.sqrt(PER_ROW), rng.choice([-1, 1], ROWS)


def gather(features: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray], dict[str, float]]:
    """As many numbers from all over an array as a prediction takes."""
    weights, room = np.ones(features), np.ones((ROWS, PER_ROW))

    def measure(index: np.ndarray, value: np.ndarray, y: np.ndarray) -> dict[str, float]:
        start = time.perf_counter()
        np.take(weights, index, out=room, mode="clip")
        return {"seconds": (time.perf_counter() - start) / ROWS}

    return measure


def learner(name: str, features: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray], dict[str, float]]:
    """A model that has met every feature, so that nothing has yet to be made."""
    from seriatim import catalogue, evaluate
    from seriatim.core.rows import Rows, canonical

    model = catalogue.find(name)()
    n = -(-features // PER_ROW)
    ends = np.minimum(np.arange(n + 1) * PER_ROW, features)
    all_of_them = Rows.sparse(ends, np.arange(features, dtype=np.int32), np.full(features, 1e-3), features)
    evaluate.progressive(model, [(all_of_them, np.resize([-1, 1], n))])

    def measure(index: np.ndarray, value: np.ndarray, y: np.ndarray) -> dict[str, float]:
        ends = np.arange(0, index.size + 1, PER_ROW)
        rows = Rows.sparse(*canonical(ends, index.ravel(), value.ravel()), features)
        start = time.perf_counter()
        run = evaluate.progressive(model, [(rows, y)])
        return {"seconds": (time.perf_counter() - start) / ROWS, "updates": run.updates / ROWS}

    return measure


def main(name: str, features: str) -> None:
    """Other rows for each turn: what is remembered of the last ones does not help."""
    rng = np.random.default_rng(1)
    size = int(features)
    timed = gather(size) if name == "gather" else learner(name, size)

    def measure() -> dict[str, Any]:
        return timed(*drawn(rng, size))

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
