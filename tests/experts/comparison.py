"""One interface for methods over experts and their transcriptions, and generated sequences of losses."""

import numpy as np
import pytest

from tests.learners import learner
from tests.reference import experts as papers

CASES = [(name, case) for name, cls in papers.CLASSES.items() for case in cls.CASES]


def name_of(spec):
    return "-".join([spec[0], *(f"{key}={value}" for key, value in spec[1].items())])


class Paper:
    """A transcription behind the common interface."""

    def __init__(self, name, N, **parameters):
        self.model = papers.CLASSES[name](N, **parameters)
        self.learn = self.model.learn

    weights = property(lambda self: self.model.w)
    loss = property(lambda self: self.model.loss)
    losses = property(lambda self: self.model.L)
    regret = property(lambda self: self.model.regret())
    bound = property(lambda self: self.model.bound())


class Ours:
    """A model of the library behind the common interface."""

    def __init__(self, name, N, **parameters):
        self.model = learner(name)(**parameters)
        self.learn = self.model.learn_one
        self.N = N

    weights = property(
        lambda self: self.model.weights_ if self.model.__sklearn_is_fitted__() else np.full(self.N, 1 / self.N)
    )
    loss = property(lambda self: self.model.loss_)
    losses = property(lambda self: self.model.losses_)
    regret = property(lambda self: self.model.regret_)
    bound = property(lambda self: self.model.bound_)


both = pytest.mark.parametrize("make", [Paper, Ours], ids=["paper", "ours"])

KINDS = ("random", "coins", "taking turns", "good at times", "heaviest", "all or none", "small", "one is right")


def losses(kind, seed, T=40, N=4):
    """The losses of each round; None where the adversary waits for the weights."""
    rng = np.random.default_rng(seed)
    return {
        "random": lambda: rng.random((T, N)),
        "coins": lambda: (rng.random((T, N)) < rng.random(N)).astype(float),
        "taking turns": lambda: np.eye(N)[np.arange(T) % N] if seed % 2 else 1 - np.eye(N)[np.arange(T) % N],
        "good at times": lambda: (
            (rng.random((T, N)) < np.where(np.arange(T)[:, None] // 10 % N == np.arange(N), 0.05, 0.8)) * 1.0
        ),
        "heaviest": lambda: None,
        "all or none": lambda: np.repeat(rng.integers(0, 2, (T, 1)), N, axis=1).astype(float),
        "small": lambda: rng.random((T, N)) * 10.0 ** -rng.integers(0, 9),
        "one is right": lambda: np.where(np.arange(N) == seed % N, 0.0, (rng.random((T, N)) < 0.9) * 1.0),
    }[kind]()


def rounds(model, kind, seed, T=40, N=4):
    """Learn T rounds of losses. Yields the losses of each round after it."""
    told = losses(kind, seed, T, N)
    for t in range(T):
        now = told[t] if told is not None else np.eye(N)[np.argmax(model.weights)]
        model.learn(now)
        yield now
