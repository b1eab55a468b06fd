"""Examples with dates, nested objects and lists of numbers, as dicts of numbers, strings and bags of strings."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from seriatim.core.values import is_absent, shown
from seriatim.errors import DataError

DEPTH = 64
PLAIN = {float, int, bool, type(None)}
DATE = re.compile(
    r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"(?:[T ]([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def flatten(x: Mapping[str, Any], dates: bool = True, before: str = "", depth: int = 0) -> dict[str, Any]:
    """An example whose values are numbers, strings, lists or sets of strings, or None.

    An object within it has its keys joined to its own by a dot, a list of numbers its positions from 0; a date, or a
    string of its form, becomes its parts or, without `dates`, such a string.

    >>> flatten({"user": {"age": 30}, "when": "2026-11-16"})
    {'user.age': 30, 'when.year': '2026', 'when.month': '11', 'when.day': '16', 'when.weekday': 'Mon'}
    """
    flat: dict[str, Any] = {}
    if depth > DEPTH:
        raise DataError(f"feature {before!r}: more than {DEPTH} objects within one another")
    for key, value in x.items():
        name = before + key if isinstance(key, str) else key
        new: dict[str, Any] = {name: value}
        if type(value) in PLAIN:
            pass
        elif is_absent(value):
            new = {name: None}
        elif isinstance(value, Mapping):
            new = flatten(value, dates, f"{name}.", depth + 1)
        elif isinstance(value, datetime.date | np.datetime64 | str):  # a datetime is a date
            value = str(value)
            new = (parts(name, value) if dates else None) or {name: value}
        elif isinstance(value, list | tuple) and not all(isinstance(item, str) for item in value):
            new = {f"{name}.{i}": None if is_absent(item) else item for i, item in enumerate(value)}
            for item in value:
                if isinstance(item, str | Mapping | list | tuple):
                    raise DataError(f"feature {name!r}: {shown(item)} in a list; a list holds strings, or numbers")
        for again in new.keys() & flat.keys():
            raise DataError(f"feature {again!r} is there twice: by its own name, and within an object or a list")
        flat |= new
    return flat


def bag_of(name: str, words: Collection[Any]) -> Collection[str]:
    """The words of a list or set; those of a set, which has no order of its own, sorted.

    >>> bag_of("tags", {"b", "a"})
    ['a', 'b']
    """
    for word in words:
        if not isinstance(word, str):
            raise DataError(f"feature {name!r}: {shown(word)} in a bag; a bag holds strings")
    return sorted(words) if isinstance(words, set | frozenset) else words


def parts(name: str, text: str) -> dict[str, str] | None:
    """The parts of a date; None if it is none."""
    found = DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour = found.groups()
    try:
        weekday = datetime.date(int(year), int(month), int(day)).weekday()
    except ValueError:
        return None
    given = {"year": year, "month": month, "day": day, "weekday": DAYS[weekday]} | (
        {} if hour is None else {"hour": hour}
    )
    return {f"{name}.{part}": value for part, value in given.items()}
