"""One interface for OMDL and its transcription, and generated triplets."""

import numpy as np
import pytest

from seriatim import data
from tests.learners import learner
from tests.reference import retrieval as papers


def the_package():
    """seriatim.retrieval; the test is skipped where the build has none."""
    return pytest.importorskip("seriatim.retrieval")


class Paper:
    """A transcription of OMDL behind the common interface."""

    def __init__(self, Ks, **parameters):
        self.model = papers.OMDL(Ks, **parameters)
        self.distance, self.rank = self.model.distance, self.model.rank

    def learn(self, triplets):
        for triplet in triplets:
            self.model.learn(*triplet)

    W = property(lambda self: self.model.W)
    weights = property(lambda self: self.model.mu)


class Ours:
    """A model of the library behind the common interface."""

    def __init__(self, Ks, **parameters):
        self.model, self.Ks = learner("OMDL")("precomputed", **parameters), Ks
        self.distance, self.rank = self.model.distance, self.model.order  # `rank` is a parameter

    def learn(self, triplets):
        self.model.partial_fit(self.Ks, np.array(triplets))

    W = property(lambda self: self.model.W_)
    weights = property(lambda self: self.model.kernel_weights_)


both = pytest.mark.parametrize("make", [Paper, Ours], ids=["paper", "ours"])


def digits(seed, n=60):
    """Some digits with norm 1, and their labels."""
    X, y = data.load("digits")
    rows = np.random.default_rng(seed).permutation(len(y))[:n]
    X = X[rows].toarray()
    return X / np.linalg.norm(X, axis=1, keepdims=True), np.asarray(y)[rows]


def triplets(labels, n, seed):
    """(i, j, k): i and j have the same label, and k another."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < n:
        i, j, k = (int(a) for a in rng.integers(len(labels), size=3))
        if i != j and labels[i] == labels[j] != labels[k]:
            found.append((i, j, k))
    return found


def three_kernels(X):
    """A linear kernel, a polynomial of degree 5, and a narrow Gaussian."""
    near = X @ X.T
    return [near, near**5, np.exp(-(2 - 2 * near) / (2 * 0.3**2))]
