"""Precision of rankings whose items are relevant or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from seriatim.errors import DataError, ParameterError


def ranked(relevant: Any, order: Any) -> np.ndarray:
    """Whether each item of a ranking is relevant, best first."""
    flags, places = np.asarray(relevant), np.asarray(order)
    if flags.ndim != 1 or (flags.dtype != bool and not np.isin(flags, (0, 1)).all()):
        raise DataError("relevant: must be a list of truth values, one for each item")
    if not places.size:
        return np.zeros(0, dtype=bool)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise DataError("order: must be a list of item numbers, best first")
    if places.min() < 0 or places.max() >= len(flags) or len(np.unique(places)) != len(places):
        raise DataError(f"order: must hold each of the items 0 to {len(flags) - 1} at most once")
    return flags[places].astype(bool)


def average_precision(relevant: Any, order: Any) -> float:
    """The mean over the relevant items of the precision at their rank.

    A relevant item that the ranking leaves out counts as 0. If no item is relevant, the result is 0.

    relevant : truth values, one for each item.
    order : item numbers, best first.

    >>> round(average_precision([True, False, True, False], [0, 1, 2, 3]), 4)
    0.8333
    """
    hits = ranked(relevant, order)
    total = int(np.count_nonzero(relevant))
    if not total:
        return 0.0
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].sum() / total)


def mean_average_precision(relevants: Iterable[Any], orders: Iterable[Any]) -> float:
    """The mean of the average precision over queries.

    >>> mean_average_precision([[True, False], [False, True]], [[0, 1], [0, 1]])
    0.75
    """
    each = [average_precision(relevant, order) for relevant, order in zip(relevants, orders, strict=True)]
    if not each:
        raise DataError("there are no queries")
    return float(np.mean(each))


def precision_at(k: int, relevant: Any, order: Any) -> float:
    """The fraction of relevant items among the k best. Missing items count as irrelevant.

    >>> precision_at(2, [True, False, True, False], [0, 1, 2, 3])
    0.5
    """
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise ParameterError(f"k={k!r}: must be an integer of at least 1")
    return float(np.count_nonzero(ranked(relevant, order)[:k]) / k)
