"""Time of `partial_fit` on the arrays of a file: `partial_fit MODEL FILE`."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench.workers.turns import serve

CLASSES = [-1, 1]


@dataclass(frozen=True)
class Csr:
    """What Seriatim uses of a SciPy CSR matrix; SciPy itself need not be installed."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    shape: tuple[int, int]

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    def tocsr(self) -> "Csr":
        return self


def seriatim() -> tuple[Any, dict[str, Any]]:
    from seriatim import PA

    return PA(), {}


def sklearn(**parameters: Any) -> tuple[Any, dict[str, Any]]:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(**parameters), {"classes": CLASSES}


def sklearn_pa(**parameters: Any) -> tuple[Any, dict[str, Any]]:
    """PA-I as scikit-learn has it."""
    return sklearn(learning_rate="pa1", eta0=1.0, penalty=None, **parameters)


MODELS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "seriatim": seriatim,
    "sklearn": sklearn,
    "sklearn-pa": sklearn_pa,
    "sklearn-pa-in-order": partial(sklearn_pa, shuffle=False),
}


def matrix(name: str, arrays: Any) -> Any:
    """The rows as a CSR matrix, without a copy."""
    start, index, value = (arrays[key] for key in ("start", "index", "value"))
    shape = (len(start) - 1, int(index.max()) + 1)
    if name == "seriatim":
        return Csr(start, index, value, shape)
    from scipy.sparse import csr_matrix

    return csr_matrix((value, index, start), shape=shape, copy=False)


def main(name: str, path: str) -> None:
    """A fresh model for each turn; only the call is timed."""
    with np.load(path) as file:
        arrays = dict(file)
    X, y = matrix(name, arrays), arrays["y"]

    def measure() -> dict[str, float]:
        model, options = MODELS[name]()
        start = time.perf_counter()
        model.partial_fit(X, y, **options)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "rows": len(y), "accuracy": float(model.score(X, y))}

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
