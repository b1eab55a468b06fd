"""Seeded streams for benchmarks and experiments: text-like, dense, drifting. Each yields (X, y) blocks."""

from collections.abc import Iterator

import numpy as np

from seriatim.core.rows import Rows, canonical

Blocks = Iterator[tuple[Rows, np.ndarray]]


def text_like(rows: int, features: int = 47_236, per_row: float = 71.0, seed: int = 0, block: int = 50_000) -> Blocks:
    """Sparse rows of norm 1. Word frequencies fall like 1/rank^0.8; labels follow a planted sparse vector with noise.

    The defaults have the shape of RCV1. About a tenth of the draws repeat a word; their values are summed.
    """
    rng = np.random.default_rng(seed)
    share = np.cumsum(1 / np.arange(1, features + 1) ** 0.8)
    word = rng.permutation(features).astype(np.int32)
    planted = rng.standard_normal(features) * (rng.random(features) < 0.2)
    for begin in range(0, rows, block):
        n = min(block, rows - begin)
        length = np.maximum(1, rng.poisson(per_row, n))
        start = np.concatenate([[0], np.cumsum(length)])
        index = word[np.searchsorted(share, rng.random(start[-1]) * share[-1])]
        start, index, value = canonical(start, index, rng.gamma(2.0, 1.0, start[-1]))
        norm = np.sqrt(np.add.reduceat(value**2, start[:-1]))
        value /= np.repeat(norm, np.diff(start))
        score = np.add.reduceat(value * planted[index], start[:-1])
        y = np.where(score + 0.1 * rng.standard_normal(n) >= 0, 1, -1)
        yield Rows.sparse(start, index, value, features), y


def dense(rows: int, features: int = 50, seed: int = 0, block: int = 50_000) -> Blocks:
    """Standard normal rows, labels by a fixed hyperplane with a tenth of noise."""
    yield from drifting(rows, features, turn=0.0, seed=seed, block=block)


def drifting(rows: int, features: int = 50, turn: float = 1e-4, seed: int = 0, block: int = 50_000) -> Blocks:
    """Standard normal rows, labels by a hyperplane that turns by `turn` radians a row in a fixed plane."""
    rng = np.random.default_rng(seed)
    first, second = np.linalg.qr(rng.standard_normal((features, 2)))[0].T
    for begin in range(0, rows, block):
        n = min(block, rows - begin)
        X = rng.standard_normal((n, features))
        angle = turn * np.arange(begin, begin + n)
        score = (X @ first) * np.cos(angle) + (X @ second) * np.sin(angle)
        flipped = rng.random(n) < 0.1
        yield Rows.dense(X), np.where((score >= 0) != flipped, 1, -1)
