"""OMDL on the bundled digits, with good and bad kernels as modalities."""

import numpy as np
import pytest

from seriatim import data
from seriatim.kernel import ChiSquare, Gaussian, Linear
from seriatim.retrieval import mean_average_precision
from tests.learners import learner

KERNELS = [Linear(), Gaussian(20.0), ChiSquare(0.02)]
ROWS, TRIPLETS = 90, 250


def images(seed):
    """Rows, their labels, and triplets among the first two thirds. The other rows are queries."""
    X, y = data.load("digits")
    rng = np.random.default_rng(seed)
    pick = rng.permutation(len(y))[:ROWS]
    X, y = X[pick].toarray(), y[pick]
    triplets = []
    while len(triplets) < TRIPLETS:
        i, j, k = rng.integers(0, ROWS * 2 // 3, 3)
        if i != j and y[i] == y[j] != y[k]:
            triplets.append((i, j, k))
    return X, y, triplets


def quality(distances, y):
    """Mean average precision of the rows without triplets, each among all others."""
    queries = range(ROWS * 2 // 3, ROWS)
    relevant = [(y == y[q]) & (np.arange(ROWS) != q) for q in queries]
    orders = [[a for a in np.argsort(distances[q], kind="stable") if a != q] for q in queries]
    return mean_average_precision(relevant, orders)


@pytest.mark.slow
def test_better_than_the_best_kernel_and_than_their_sum():
    """On every seed than the kernels as they are; on average than the learned distances without weights.

    Measured with 150 rows and 300 triplets over five seeds: 0.759, beside 0.649 of the best kernel, 0.649 of the sum,
    0.717 of the learned distances without weights, and 0.762 of the best of those, which nobody knows beforehand.
    """
    found = []
    for seed in range(3):
        X, y, triplets = images(seed)
        matrices = [kernel(X, X) / np.trace(kernel(X, X)) for kernel in KERNELS]
        plain = [np.add.outer(np.diag(K), np.diag(K)) - 2 * K for K in matrices]
        model = learner("OMDL")(KERNELS).partial_fit(X, triplets)
        ours = quality(np.array([model.distances(a) for a in range(ROWS)]), y)
        assert ours > max(quality(D, y) for D in plain)
        assert ours > quality(sum(plain), y)
        parts = np.stack([model._learner.distances(a, np.arange(ROWS)) for a in range(ROWS)], axis=1)
        found.append((ours, quality(parts.sum(axis=0), y)))
    assert np.mean(found, axis=0)[0] > np.mean(found, axis=0)[1]
