"""Kernel machines, and what NumPy does in their place: `kernels WHAT ...`, as `main` has it.

All of it is work of one thread in memory, so that the time is the processor's: what others do meanwhile counts less.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a learner has one, and so has what is beside it

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.data import real
from bench.workers.turns import serve

QUERIES = 400  # rows of an evaluation
COD_RNA = real("cod-rna/cod-rna_scaled.libsvm.gz")
SIGMA = 2.0
ROWS = 20_000  # of a stream with coin tosses for labels
BLOCK = 100_000
PRODUCTS = 200
TURNS = 10  # of models that differ in what they have seen


def evaluation(who: str, budget: int, features: int) -> Callable[[], dict[str, float]]:
    """Gaussian kernels of a row with so many support vectors: seconds a row."""
    rng = np.random.default_rng(1)
    Z, X = (rng.standard_normal((n, features)) for n in (budget, QUERIES))
    sigma = np.sqrt(features)
    if who == "seriatim":
        from seriatim import KernelOGD

        model = KernelOGD("gaussian", sigma=sigma, eta=1e-9)  # so small a step that every row becomes a support vector
        model.partial_fit(Z, np.resize([-1, 1], budget))
        assert model.n_support_ == budget

        def work() -> Any:
            return model.decision_function(X)

    else:
        Z = -np.abs(Z) / features  # products for which exp is neither 0 nor infinite
        X = np.abs(X)
        out = np.empty(budget)

        def work() -> Any:
            for x in X:
                np.dot(Z, x, out=out)
                np.exp(out, out=out)

    def measure() -> dict[str, float]:
        start = time.process_time()
        work()
        return {"seconds": (time.process_time() - start) / QUERIES}

    return measure


def cod_rna() -> tuple[np.ndarray, np.ndarray]:
    """Its rows, which are sorted by their labels, in another order; or as many like them if there is no file."""
    rng = np.random.default_rng(1)
    if COD_RNA.exists():
        from seriatim import data

        X, y = data.load(str(COD_RNA))
        order = rng.permutation(len(y))
        return X.toarray()[order], y[order]
    X = rng.standard_normal((59_535, 8))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(len(X)) > 0, 1.0, -1.0)


def a_pass(who: str, method: str, budget: int) -> Callable[[], dict[str, float]]:
    """One pass over cod-rna."""
    X, y = cod_rna()

    def measure() -> dict[str, float]:
        start = time.process_time()
        mistakes = ours(method, budget, X, y) if who == "seriatim" else THEIRS[method](budget, X, y)
        return {"seconds": time.process_time() - start, "mistakes": mistakes / len(y)}

    return measure


def ours(method: str, budget: int, X: np.ndarray, y: np.ndarray) -> int:
    from seriatim import BOGD, RBP, evaluate

    given: dict[str, Any] = {"sigma": SIGMA, "budget": budget, "classes": [-1, 1]}
    model = RBP(**given) if method == "rbp" else BOGD(**given, eta=0.2, lam=0.0, gamma=10.0, sampling="weighted")
    return evaluate.progressive(model, X, y).mistakes


class Loop:
    """The support vectors of a NumPy loop, with cached norms."""

    def __init__(self, budget: int, features: int) -> None:
        self.Z, self.alpha, self.norms = np.zeros((budget, features)), np.zeros(budget), np.zeros(budget)
        self.n, self.budget = 0, budget

    def score(self, x: np.ndarray, norm: float) -> float:
        n = self.n
        distances = self.norms[:n] + norm - 2 * (self.Z[:n] @ x)
        return self.alpha[:n] @ np.exp(distances * (-0.5 / SIGMA**2))

    def put(self, slot: int, x: np.ndarray, norm: float, alpha: float) -> None:
        self.Z[slot], self.norms[slot], self.alpha[slot] = x, norm, alpha
        self.n = max(self.n, slot + 1)


def rbp(budget: int, X: np.ndarray, y: np.ndarray) -> int:
    loop, rng, mistakes = Loop(budget, X.shape[1]), np.random.default_rng(0), 0
    norms = np.einsum("ij,ij->i", X, X)
    for x, norm, label in zip(X, norms, y, strict=True):
        margin = label * loop.score(x, norm)
        if margin <= 0:
            mistakes += 1
            loop.put(loop.n if loop.n < budget else rng.integers(budget), x, norm, label)
    return mistakes


def bogd(budget: int, X: np.ndarray, y: np.ndarray, eta: float = 0.2, gamma: float = 10.0) -> int:
    """With weighted sampling, and no penalty."""
    loop, rng, mistakes = Loop(budget, X.shape[1]), np.random.default_rng(0), 0
    norms = np.einsum("ij,ij->i", X, X)
    for x, norm, label in zip(X, norms, y, strict=True):
        margin = label * loop.score(x, norm)
        mistakes += margin <= 0
        if margin >= 1:
            continue
        slot = loop.n
        if slot == budget:
            size = np.abs(loop.alpha)
            p = np.maximum(0, 1 - (budget - 1) * size / size.sum())
            p /= p.sum()
            slot = int(np.searchsorted(np.cumsum(p), rng.random()))
            loop.alpha /= np.maximum(1 - p, 1e-300)
            np.clip(loop.alpha, -gamma * eta, gamma * eta, out=loop.alpha)
        loop.put(min(slot, budget - 1), x, norm, eta * label)
    return mistakes


THEIRS = {"rbp": rbp, "bogd": bogd}


def tosses(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose labels no one can know."""
    return rng.standard_normal((rows, 8)), rng.choice([-1.0, 1.0], rows)


def full(name: str, budget: int, rng: np.random.Generator) -> Any:
    """A model that has as many support vectors as it can have."""
    from seriatim import catalogue

    model = catalogue.find(name)(budget=budget, sigma=1.0)
    model.partial_fit(*tosses(budget, rng), classes=[-1.0, 1.0])
    while model.n_support_ < budget:
        model.partial_fit(*tosses(budget, rng))
    return model


def product(budget: int) -> Callable[[], dict[str, float]]:
    """A square matrix times a vector, which leaves the caches as it grows."""
    matrix, vector, out = np.ones((budget, budget)), np.ones(budget), np.empty(budget)

    def measure() -> dict[str, float]:
        start = time.process_time()
        for _ in range(PRODUCTS):
            np.dot(matrix, vector, out=out)
        return {"seconds": (time.process_time() - start) / PRODUCTS}

    return measure


def growth(name: str, budget: int) -> Callable[[], dict[str, float]]:
    """Seconds an example, on a full budget; other rows each time, for they could be learned by heart."""
    if name == "product":
        return product(budget)
    rows = max(400, ROWS // (budget if name.startswith("projectron") else 1))
    rng = np.random.default_rng(1)
    model = full(name, budget, rng)

    def measure() -> dict[str, float]:
        X, y = tosses(rows, rng)
        start = time.process_time()
        model.partial_fit(X, y)
        return {"seconds": (time.process_time() - start) / len(y)}

    return measure


def endless(name: str, budget: int, blocks: int) -> Callable[[], dict[str, float]]:
    """Blocks of examples: the memory after the first and after the last; and the time of one more for this model and
    for one that has seen none of them, in turns, the best of each."""

    def measure() -> dict[str, float]:
        rng = np.random.default_rng(1)
        old = full(name, budget, rng)
        X, y = tosses(BLOCK, rng)
        megabytes = []
        for _ in range(blocks):
            old.partial_fit(X, y)
            megabytes.append(resident())
        seconds: dict[str, float] = {}
        models = {"seconds": old, "first": full(name, budget, rng)}
        for _ in range(TURNS):
            for which, model in models.items():
                start = time.process_time()
                model.partial_fit(X, y)
                seconds[which] = min(seconds.get(which, np.inf), (time.process_time() - start) / BLOCK)
        return {**seconds, "megabytes": megabytes[-1], "at_first": megabytes[0]}

    return measure


def resident() -> float:
    """Megabytes in use now. The peak that getrusage tells would be that of the process which began this one."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def main(what: str, *given: str) -> None:
    known = {"evaluation": evaluation, "pass": a_pass, "growth": growth, "endless": endless}
    serve(known[what](*(int(word) if word.isdecimal() else word for word in given)))  # type: ignore[operator]


if __name__ == "__main__":
    main(*sys.argv[1:])
