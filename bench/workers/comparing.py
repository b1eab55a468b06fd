"""Time of progressive validation of some algorithms over permutations of `spam`: `comparing WHO SIZE`.

WHO is seriatim, river, or bare for nothing but learning; SIZE is the number of permutations. River takes the file;
Seriatim the number of jobs, `all` for its own dozen, and the arrays of another set; bare the number of threads.
"""

import random
import sys
import time
from typing import Any

from bench.workers.turns import serve

# Those that both have: names of ours, and makers of River's.
OURS = ["perceptron", "pa", "alma", "ogd:loss=logistic,schedule=constant,eta=0.01"]


def theirs() -> list[Any]:
    from river import linear_model, optim

    return [
        linear_model.Perceptron(),
        linear_model.PAClassifier(C=1.0, mode=1),
        linear_model.ALMAClassifier(),
        linear_model.LogisticRegression(optimizer=optim.SGD(0.01), l2=0.0),
    ]


def rows(path: str) -> list[tuple[dict[str, float], bool]]:
    """The examples as dicts, from a LIBSVM file."""
    found = []
    with open(path) as file:  # noqa: PTH123, the peers' interpreter may have no more
        for line in file:
            label, *features = line.split()
            found.append(({name: float(value) for name, value in (f.split(":") for f in features)}, label == "1"))
    return found


def river(path: str, permutations: int) -> Any:
    from river.evaluate import progressive_val_score
    from river.metrics import Accuracy

    examples = rows(path)

    def measure() -> dict[str, float]:
        start = time.perf_counter()
        for seed in range(permutations):
            order = examples[:]
            random.Random(seed).shuffle(order)
            for model in theirs():
                progressive_val_score(order, model, Accuracy())
        return {"seconds": time.perf_counter() - start, "runs": permutations * len(OURS)}

    return measure


ROWS = 20_000  # of another set


def larger(path: str) -> Any:
    """The first rows of a file of arrays."""
    import numpy as np

    from bench.workers.partial_fit import Csr

    with np.load(path) as file:
        start, index, value, y = (file[name] for name in ("start", "index", "value", "y"))
    end = start[ROWS]
    return Csr(start[: ROWS + 1], index[:end], value[:end], (ROWS, int(index.max()) + 1)), y[:ROWS]


def seriatim(permutations: int, jobs: int, which: str, arrays: str | None = None) -> Any:
    from seriatim.evaluate import compare
    from seriatim.evaluate.comparison.dataset import Dataset

    examples = Dataset.of(larger(arrays) if arrays else "spam")  # River has its examples beforehand, too

    def measure() -> dict[str, float]:
        start = time.perf_counter()
        comparison = compare(examples, None if which == "all" else OURS, permutations=permutations, jobs=jobs)
        return {"seconds": time.perf_counter() - start, "runs": comparison.ran}

    return measure


def bare(passes: int, threads: int) -> Any:
    """A dozen passes over the examples a permutation, shared out among threads that need no interpreter."""
    import threading

    import numpy as np

    from seriatim import PA, data
    from seriatim.core import loop

    X, y = data.load("spam")
    rows, signs = PA().as_rows(X).check(), np.where(y == "spam", 1.0, -1.0)

    def learn(learner: Any) -> None:
        for _ in range(12 * passes // threads):
            loop.learn(learner, rows, signs)

    def measure() -> dict[str, float]:
        learners = [PA().build() for _ in range(threads)]
        workers = [threading.Thread(target=learn, args=(learner,)) for learner in learners]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return {"seconds": time.perf_counter() - start, "runs": 12 * passes}

    return measure


if __name__ == "__main__":
    who, permutations, *more = sys.argv[1:]
    size = int(permutations)
    if who == "river":
        serve(river(more[0], size))
    elif who == "bare":
        serve(bare(size, int(more[0])))
    else:
        serve(seriatim(size, int(more[0]), *more[1:]))
