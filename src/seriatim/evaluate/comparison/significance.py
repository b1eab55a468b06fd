"""Tests of whether two algorithms differ by more than the order of the stream explains."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

LEVEL = 0.05  # a corrected p-value below this counts as a difference
EXACT = 200  # differences up to which the distribution is exact, not approximated


def signed_rank(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test (1945) for pairs (x_i, y_i).

    Under the null hypothesis each difference has either sign with probability 1/2. Differences of zero are left out, as
    Wilcoxon did, and so are those of two infinities. Tied differences share the mean of their ranks. The distribution
    over all 2^n signs is exact up to n = 200, ties included, and normal beyond. Without any difference p is 1.

    In a comparison the pairs are runs over the same permutations of one data set. A small p says that the two
    algorithms differ on *this data set* whatever its order. It says nothing about other data, because all runs have
    seen the same examples.

    >>> signed_rank([0.11, 0.12, 0.13, 0.14, 0.15, 0.16], [0.21, 0.23, 0.25, 0.27, 0.29, 0.31])
    0.03125
    >>> signed_rank([1, 2, 3], [1, 2, 3])
    1.0
    """
    with np.errstate(invalid="ignore"):
        difference = np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64)
    difference = difference[(difference < 0) | (difference > 0)]
    if not len(difference):
        return 1.0
    ranks = doubled_ranks(np.abs(difference))
    positive = int(ranks[difference > 0].sum())
    if len(ranks) > EXACT:
        return normal_tails(ranks, positive)
    ways = counted(ranks)
    below, above = ways[: positive + 1].sum(), ways[positive:].sum()
    return min(1.0, 2 * float(min(below, above)))


def doubled_ranks(sizes: np.ndarray) -> np.ndarray:
    """Twice the rank of each size, from 2 on. Ties share the mean rank, whose double is a whole number.

    >>> doubled_ranks(np.array([0.5, 0.1, 0.5])).tolist()
    [5, 2, 5]
    """
    _, which, count = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (2 * last - count + 1)[which]


def counted(ranks: np.ndarray) -> np.ndarray:
    """The probability of each sum of positive ranks when all signs are equally likely.

    >>> counted(np.array([1, 2])).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    chance = np.zeros(int(ranks.sum()) + 1)
    chance[0] = 1.0
    for rank in ranks:
        chance[rank:] = 0.5 * chance[rank:] + 0.5 * chance[:-rank]
        chance[:rank] *= 0.5
    return chance


def normal_tails(ranks: np.ndarray, positive: int) -> float:
    """The p-value by the normal approximation of the sum of positive ranks."""
    deviation = math.sqrt(float((ranks.astype(np.float64) ** 2).sum()) / 4)
    return math.erfc(abs(positive - ranks.sum() / 2) / deviation / math.sqrt(2))


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected for several tests by the method of Holm (1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(order), 0, -1)
    rising = np.maximum.accumulate(np.minimum(1.0, factors * np.asarray(p, dtype=np.float64)[order]))
    corrected = np.empty(len(order))
    corrected[order] = rising
    return corrected.tolist()


def fewest_pairs(tests: int, level: float = LEVEL) -> int:
    """The least number of pairs that can show a difference at this level among so many tests.

    >>> fewest_pairs(1), fewest_pairs(11)
    (6, 9)
    """
    return math.floor(math.log2(2 * tests / level)) + 1
