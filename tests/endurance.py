"""`python -m tests.endurance`: ten million steps of every learner on noisy rows of lengths from 1e-6 to 1e6.

Whatever grows or falls without end, a scale, a sum, a variance or w itself, must be renewed before it leaves the range
of numbers; and what is learned at the end must still be worth something.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from seriatim import AROW, PA
from seriatim.core import loop
from seriatim.estimator import as_rows
from tests.learners import of_rows
from tests.test_contract import REQUIRED_ARGUMENTS

BLOCK = 100_000
COLUMNS = 6
PLANTED = np.array([1.0, -2.0, 0.5, 1.5, -1.0, 0.3])


def settings():
    """(class, parameters) of all models whose cost does not grow with the stream."""
    for name, cls in of_rows().items():
        if name == "VotedPerceptron" or unbounded(name, cls):
            continue
        required = {**REQUIRED_ARGUMENTS.get(name, {})}
        required |= {bound: 20 for bound in ("budget", "truncate") if bound in cls.parameters}
        required |= {"n_features": COLUMNS} if "n_features" in required else {}
        required |= {"trees": 10} if name == "HalfSpaceTrees" else {}
        required |= {"experts": [AROW(), PA()]} if "experts" in required else {}
        alternatives = [{}]
        alternatives += [{"covariance": "full"}] if "covariance" in cls.parameters else []
        alternatives += [{"average": True}] if "average" in cls.parameters else []
        alternatives += [{"p": 5.0}] if name == "ALMA" else []
        alternatives += [{"mirror": "entropy"}, {"mirror": "pnorm", "p": 5.0}] if name == "MirrorDescent" else []
        yield from ((cls, {**required, **chosen}) for chosen in alternatives)


def unbounded(name, cls):
    """Whether the number of support vectors grows with the stream."""
    return cls.family == "kernel" and not {"budget", "truncate", "n_components"} & set(cls.parameters)


def stream(seed, labels):
    """Rows with norms uniform on a log scale, and one wrong label in ten."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((BLOCK, COLUMNS))
    y = (X @ PLANTED > 0).astype(int) if labels == 2 else np.argmax(X[:, :labels], axis=1)
    y = np.where(rng.random(BLOCK) < 0.1, rng.integers(0, labels, BLOCK), y)
    return X * 10.0 ** rng.uniform(-6, 6, (BLOCK, 1)), y


def endure(cls, parameters, labels, steps):
    """The model after N steps. Fails if a number of the state or a score is not finite."""
    model = cls(**parameters)
    X, y = stream(0, labels)
    rows = as_rows(np.ceil(np.abs(X) / 1e4) if cls.nonnegative else X).check()
    for _ in range(0, steps, BLOCK):
        model.learn_rows(rows, model.as_targets(y, len(y)))
    state = model.__getstate__()["state"]
    assert all(np.isfinite(value).all() for value in state.values()), f"{model}: the state is not finite"
    assert np.isfinite(loop.score(model._learner, rows)).all(), f"{model}: a score is not finite"
    return model


def accuracy(model, labels):
    """Evaluate on held-out rows with norms near 1."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2000, COLUMNS))
    y = (X @ PLANTED > 0).astype(int) if labels == 2 else np.argmax(X[:, :labels], axis=1)
    return float(np.mean(model.predict(X) == y))


if __name__ == "__main__":
    steps = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    for cls, parameters in settings():
        for labels in (2, 3) if cls.task == "classification" and not cls.binary else (2,):
            start = time.perf_counter()
            model = endure(cls, parameters, labels, steps)
            right = f"{accuracy(model, labels):.3f} right" if cls.task == "classification" else ""
            print(f"{model!r}, {labels} labels: finite, {right} {time.perf_counter() - start:.1f} s", flush=True)
