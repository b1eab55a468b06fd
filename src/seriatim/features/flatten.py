"""Flatten examples: nested objects, lists of numbers and date objects become numbers, strings and bags of strings."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from seriatim.core.values import is_absent, shown
from seriatim.errors import DataError

DEPTH = 64
PLAIN = {float, int, bool, type(None)}


def flatten(x: Mapping[str, Any], before: str = "", depth: int = 0) -> dict[str, Any]:
    """The flat form of an example: all values are numbers, strings, lists or sets of strings, or None.

    The keys of an object within it are joined to its own key by a dot, and so are the positions (from 0) of a list of
    numbers. Dates become strings, from which the encoder makes their parts.

    >>> flatten({"user": {"age": 30, "scores": [1, 2.5]}, "when": datetime.date(2026, 11, 16), "at": None})
    {'user.age': 30, 'user.scores.0': 1, 'user.scores.1': 2.5, 'when': '2026-11-16', 'at': None}
    """
    flat: dict[str, Any] = {}
    if depth > DEPTH:
        raise DataError(f"feature {before!r}: more than {DEPTH} levels of nested objects")
    for key, value in x.items():
        name = before + key if isinstance(key, str) else key
        new: dict[str, Any] = {name: value}
        if type(value) in PLAIN:
            pass
        elif is_absent(value):
            new = {name: None}
        elif isinstance(value, Mapping):
            new = flatten(value, f"{name}.", depth + 1)
        elif isinstance(value, datetime.date | np.datetime64):  # a datetime is a date
            if isinstance(value, np.datetime64) and np.datetime_data(value)[0] != "D":
                value = value.astype("datetime64[s]")  # in hours its text would have no minutes
            new = {name: str(value)}
        elif isinstance(value, list | tuple) and not all(isinstance(item, str) for item in value):
            new = {f"{name}.{i}": None if is_absent(item) else item for i, item in enumerate(value)}
            for item in value:
                if isinstance(item, str | Mapping | list | tuple):
                    raise DataError(f"feature {name!r}: {shown(item)} in a list; a list holds strings, or numbers")
        for again in new.keys() & flat.keys():
            raise DataError(f"feature {again!r} is there twice: by its name, and within an object or a list")
        flat |= new
    return flat


def bag_of(name: str, words: Collection[Any]) -> Collection[str]:
    """The words of a list or set. Those of a set are sorted, because a set has no fixed order.

    >>> bag_of("tags", {"b", "a"})
    ['a', 'b']
    """
    for word in words:
        if not isinstance(word, str):
            raise DataError(f"feature {name!r}: {shown(word)} in a bag; a bag holds strings")
    return sorted(words) if isinstance(words, set | frozenset) else words
