"""Time of `predict_one` and `learn_one` on dicts: `one_by_one MODEL FEATURES`."""

import random
import sys
import time
from typing import Any

from bench.workers.turns import serve

VOCABULARY = 1_000
EXAMPLES = 2_000
ROUNDS = 20_000


def examples(size: int) -> list[tuple[dict[str, float], bool]]:
    """Dicts of so many features out of a thousand; labels by a planted hyperplane, a tenth of them turned."""
    rng = random.Random(size)
    planted = {f"feature_{k}": rng.gauss(0, 1) for k in range(VOCABULARY)}
    drawn = []
    for _ in range(EXAMPLES):
        x = {name: rng.gauss(0, 1) for name in rng.sample(list(planted), size)}
        positive = sum(value * planted[name] for name, value in x.items()) >= 0
        drawn.append((x, positive != (rng.random() < 0.1)))
    return drawn


def fresh(name: str) -> Any:
    """A new PA-I of either library."""
    if name == "river":
        from river.linear_model import PAClassifier

        return PAClassifier(C=1.0, mode=1)
    from seriatim import PA

    return PA(C=1.0, variant="I")


def main(name: str, size: str) -> None:
    """A fresh model for each turn, which has met one example; the loop is the same for both libraries."""
    rows = examples(int(size))
    stream = rows * (ROUNDS // EXAMPLES)

    def measure() -> dict[str, float]:
        model = fresh(name)
        model.learn_one(*rows[0])
        mistakes = 0
        start = time.perf_counter()
        for x, y in stream:
            mistakes += model.predict_one(x) != y
            model.learn_one(x, y)
        seconds = time.perf_counter() - start
        return {"seconds": seconds / len(stream), "mistake_rate": mistakes / len(stream)}

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
