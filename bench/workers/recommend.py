"""Time of a pass over ratings: `recommend LIBRARY MODEL HOW`, and how well the others are told then.

River has no `partial_fit`: it learns them one by one. Its steps are those of its own documentation.
"""

import random
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.data import real
from bench.workers.turns import serve

MOVIELENS = real("movielens-100k")
FACTORS = 10

Ratings = list[tuple[int, int, float]]


def ratings() -> tuple[Ratings, Ratings]:
    """The first fold, those to be learned in a random order; or as many of a table like it if there are no files."""
    rng = random.Random(0)
    if MOVIELENS.exists():
        lines = [(MOVIELENS / f"u1.{part}").read_text().splitlines() for part in ("base", "test")]
        told, rest = ([tuple(map(int, line.split()[:3])) for line in part] for part in lines)
    else:
        rows = [[[rng.gauss(0, 1) for _ in range(3)] for _ in range(n)] for n in (943, 1682)]
        every = []
        for _ in range(100_000):
            user, item = int(943 * rng.random()), int(1682 * rng.random() ** 2)
            like = sum(a * b for a, b in zip(rows[0][user], rows[1][item], strict=True))
            every.append((user, item, min(5, max(1, round(3.5 + 0.5 * like + rng.gauss(0, 0.8))))))
        told, rest = every[:80_000], every[80_000:]
    rng.shuffle(told)
    return [(u, i, float(r)) for u, i, r in told], [(u, i, float(r)) for u, i, r in rest]


def fresh(name: str) -> Any:
    if name in ("FunkMF", "BiasedMF"):
        from river import optim, reco

        start = optim.initializers.Normal(mu=0.0, sigma=0.1, seed=71)
        if name == "FunkMF":
            return reco.FunkMF(FACTORS, optimizer=optim.SGD(0.025), initializer=start)
        steps = {"bias_optimizer": optim.SGD(0.025), "latent_optimizer": optim.SGD(0.025)}
        return reco.BiasedMF(FACTORS, **steps, latent_initializer=start)
    from seriatim import PMF

    return PMF(FACTORS, biases=name != "PMF")


def learning(name: str, how: str, told: Ratings) -> Callable[[Any], None]:
    """What lets a model learn the ratings."""
    if how == "partial_fit" and name.startswith("PMF"):
        import numpy as np

        users, items, values = (np.array(column) for column in zip(*told, strict=True))
        return lambda model: model.partial_fit(users, items, values)

    def one_by_one(model: Any) -> None:
        for user, item, rating in told:
            if how == "learn_one":
                model.predict_one(user, item)
            model.learn_one(user, item, rating)

    return one_by_one


def main(library: str, name: str, how: str) -> None:
    """A fresh model for each turn."""
    told, rest = ratings()
    learn = learning(name, how, told)

    def measure() -> dict[str, float]:
        model = fresh(name)
        start = time.process_time()
        learn(model)
        seconds = time.process_time() - start
        squares = sum((min(5.0, max(1.0, model.predict_one(user, item))) - rating) ** 2 for user, item, rating in rest)
        return {"seconds": seconds / len(told), "rmse": (squares / len(rest)) ** 0.5}

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
