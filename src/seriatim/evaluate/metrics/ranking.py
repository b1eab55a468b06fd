"""Metrics of ranking: AUC and NDCG."""

from __future__ import annotations

from typing import Any

import numpy as np

from seriatim.errors import DataError, ParameterError
from seriatim.estimator.inputs import check_targets
from seriatim.evaluate.metrics.base import Metric, Outcome, numbers_of


class AUC(Metric):
    """The area under the ROC curve, for two labels: the fraction of pairs of a positive and a negative example in which
    the positive one has the higher score. A tie counts one half.

    The value is exact as long as there are at most `capacity` distinct scores, which are stored sorted. Beyond that
    neighbouring scores are merged, and the value is within `error` of the exact one.

    >>> AUC().update([0, 1, 0, 1], [0, 1, 0, 0], [0.1, 0.9, 0.4, 0.3]).value
    0.75
    """

    name, high = "auc", True

    def __init__(self, capacity: int = 1 << 16) -> None:
        if capacity < 2:
            raise ParameterError(f"capacity={capacity!r}: must be at least 2")
        self.capacity = capacity
        self.scores = np.zeros(0)
        self.ends = np.zeros(0)  # the upper end of the scores merged into each
        self.counts = np.zeros((0, 2))  # negative and positive examples with each score
        self.pair: tuple[Any, Any] = (None, None)  # the labels; a single one counts as positive

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        labels: list[Any] = outcome.labels or []
        given = outcome.needed_scores(self.name)
        if given.shape[1] > 1 or len(labels) > 2:
            raise DataError("auc: there are more than two labels")
        weights = np.ones(len(outcome)) if weights is None else weights
        scores, signs = given[:, 0], outcome.signs()
        if len(labels) == 1:
            scores, signs = signs * scores, np.ones(len(outcome))
        self.turn((labels[0] if len(labels) == 2 else None, labels[-1]))
        self.add(scores, signs, weights)

    def turn(self, pair: tuple[Any, Any]) -> None:
        """Decide which label is positive; with one label it may change when the second arrives."""
        positive = bool(self.counts[:, 1].any())
        if self.counts.any() and pair != self.pair and (self.pair[positive] == pair[1]) != positive:
            self.scores, self.ends, self.counts = -self.ends[::-1], -self.scores[::-1], self.counts[::-1, ::-1]
        self.pair = pair

    def add(self, scores: np.ndarray, signs: np.ndarray, weights: np.ndarray) -> None:
        fresh = np.zeros((len(scores), 2))
        fresh[np.arange(len(scores)), (signs > 0).astype(int)] = weights
        if len(self.scores):
            before = np.searchsorted(self.scores, scores, "right") - 1
            scores = np.where((before >= 0) & (scores <= self.ends[before]), self.scores[before], scores)
        known, place = np.unique(np.concatenate([self.scores, scores]), return_inverse=True)
        counts, ends = np.zeros((len(known), 2)), known.copy()
        np.add.at(counts, place, np.concatenate([self.counts, fresh]))
        ends[place[: len(self.ends)]] = self.ends
        self.scores, self.ends, self.counts = known, ends, counts
        while len(self.scores) > self.capacity:
            self.halve()

    def halve(self) -> None:
        """Merge neighbouring scores in pairs."""
        first = np.arange(0, len(self.scores), 2)
        self.counts = np.add.reduceat(self.counts, first)
        self.ends = self.ends[np.minimum(first + 1, len(self.ends) - 1)]
        self.scores = self.scores[first]

    def fade(self, factor: float) -> None:
        self.counts *= factor

    def pairs(self) -> float:
        negative, positive = self.counts.sum(axis=0)
        return float(negative * positive)

    @property
    def value(self) -> float | None:
        if not self.pairs():
            return None
        negative, positive = self.counts.T
        below = np.cumsum(negative) - negative
        return float((positive * (below + negative / 2)).sum() / self.pairs())

    @property
    def error(self) -> float:
        """A bound of the distance from the exact value: half the merged pairs."""
        merged = self.counts[self.ends > self.scores]
        return float(merged.prod(axis=1).sum() / 2 / self.pairs()) if self.pairs() else 0.0


class NDCG(Metric):
    """The quality of the predicted order of each user's ratings: the mean over lists of DCG / (DCG of the best order).

    The ratings of a user form lists of k in the order of the stream. Each list is sorted by the predictions, which were
    made before the ratings were revealed. DCG = sum over ranks p = 1..k of (2^(rating - low + 1) - 1) / log2(p + 1), so
    the lowest rating gains 1. Tied predictions count as the mean over their orders (McSherry and Najork, 2008). Lists
    of equal ratings and the last, incomplete list of a user do not count. Used alone, the metric takes users as scores.

    >>> round(NDCG(3, low=1).update([5.0, 1.0, 3.0], [0.9, 0.5, 0.2], [0, 0, 0]).value, 4)
    0.9781

    Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20, 2002.
    """

    name, task, high, in_order = "ndcg", "recommendation", True, True

    def __init__(self, k: int = 10, low: float | None = None) -> None:
        if not isinstance(k, int) or k < 2:
            raise ParameterError(f"ndcg: k={k!r}: lists must have at least 2 ratings")
        self.k, self.low = k, low
        self.total, self.lists = 0.0, 0
        self.open: dict[Any, list[tuple[float, float]]] = {}  # (rating, prediction) of the incomplete lists

    def __str__(self) -> str:
        return f"{self.name}@{self.k}"

    def made(self, y: Any, predicted: Any, scores: Any) -> Outcome:
        if scores is None:
            raise DataError("ndcg needs the users of the ratings")
        truth, guess = numbers_of(y, predicted)
        return Outcome(truth, guess, users=check_targets(scores, len(truth)))

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        assert outcome.users is not None
        full: list[list[tuple[float, float]]] = []
        pairs = zip(outcome.truth.tolist(), outcome.predicted.tolist(), strict=True)
        for user, pair in zip(outcome.users.tolist(), pairs, strict=True):
            mine = self.open.setdefault(user, [])
            mine.append(pair)
            if len(mine) == self.k:
                full.append(self.open.pop(user))
        if full:
            self.judge(*np.array(full).transpose(2, 0, 1))

    def judge(self, ratings: np.ndarray, predicted: np.ndarray) -> None:
        """Add complete lists, one in each row."""
        telling = ratings.max(axis=1) > ratings.min(axis=1)
        ratings, predicted = ratings[telling], predicted[telling]
        top, low = ratings.max(axis=1, keepdims=True), 1.0 if self.low is None else self.low
        gains = np.exp2(ratings - top) - np.exp2(low - 1 - top)  # divided by 2^(top - low + 1), which cancels
        discounts = 1 / np.log2(np.arange(2, self.k + 2))
        order = np.argsort(-predicted, axis=1, kind="stable")
        gained, predicted = np.take_along_axis(gains, order, 1), np.take_along_axis(predicted, order, 1)
        changes = np.column_stack([np.ones(len(ratings), bool), predicted[:, 1:] != predicted[:, :-1]])
        ties = np.cumsum(changes) - 1  # one number for each run of equal predictions
        mean = np.bincount(ties, gained.reshape(-1)) / np.bincount(ties) if len(ties) else np.zeros(0)
        best = -np.sort(-gains, axis=1) @ discounts
        self.total += float((mean[ties].reshape(gains.shape) @ discounts / best).sum())
        self.lists += len(ratings)

    @property
    def value(self) -> float | None:
        return self.total / self.lists if self.lists else None
