"""Learn a dictionary in one pass over a file of rows: `dictionary WHO FILE ATOMS`."""

import os

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import sys
import time
import warnings
from typing import Any

import numpy as np

from bench.workers.turns import serve

BATCH = 256
JUDGED = 2000  # rows at the beginning, by which the atoms are judged


def main(who: str, file: str, atoms: str) -> None:
    X = np.load(file)
    lam = 1.2 / X.shape[1] ** 0.5
    make = ours if who == "seriatim" else theirs

    def measure() -> dict[str, float]:
        model = make(int(atoms), lam)
        start = time.process_time()
        for begin in range(0, len(X), BATCH):
            model.partial_fit(X[begin : begin + BATCH])
        seconds = time.process_time() - start
        codes = model.transform(X[:JUDGED])
        left = X[:JUDGED] - codes @ model.components_
        return {"seconds": seconds, "objective": np.sum(left**2) / 2 / JUDGED + lam * np.abs(codes).sum() / JUDGED}

    serve(measure)


def ours(atoms: int, lam: float) -> Any:
    from seriatim import DictionaryLearning

    return DictionaryLearning(atoms, lam=lam, batch=BATCH)


def theirs(atoms: int, lam: float) -> Any:
    """By coordinate descent, too: LARS there takes about ten times as long."""
    from sklearn.decomposition import MiniBatchDictionaryLearning

    warnings.simplefilter("ignore")
    how = {"fit_algorithm": "cd", "transform_algorithm": "lasso_cd", "transform_max_iter": 10_000}
    return MiniBatchDictionaryLearning(atoms, alpha=lam, batch_size=BATCH, n_jobs=1, random_state=0, **how)


if __name__ == "__main__":
    main(*sys.argv[1:])
