"""What becomes of an example, as the docstring of `Features` says it, with dicts, re and datetime."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from typing import Any

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def features_of(x: dict[str, Any], **how: Any) -> dict[str, float]:
    """The features of an example and their values; `how` are fields of `Features`."""
    columns = {k: column(k, value, **how) for k, value in x.items() if k not in how.get("drop", ())}
    found: Counter[str] = Counter()
    for features in columns.values():
        found.update(features)
    for a, b in how.get("cross", ()):
        pairs = [(i, j) for i in columns.get(a, {}).items() for j in columns.get(b, {}).items()]
        found.update({f"{i}*{j}": u * v for (i, u), (j, v) in pairs})
    return {name: float(value) for name, value in found.items()}


def column(k: str, value: Any, **how: Any) -> dict[str, float]:
    """The features of one column: a number, a category, a date, words, a bag; or those of an object's keys."""
    if value is None:
        return {f"{k}?": 1} if how.get("missing") == "count" else {}
    if isinstance(value, bool | int | float | Decimal):
        return {k: float(value)}
    if isinstance(value, date):  # a datetime is one
        return moment(k, value, isinstance(value, datetime))
    if isinstance(value, dict):
        return {name: v for key, one in value.items() for name, v in column(f"{k}.{key}", one, **how).items()}
    if isinstance(value, list) and not all(isinstance(one, str) for one in value):
        return {name: v for i, one in enumerate(value) for name, v in column(f"{k}.{i}", one, **how).items()}
    counts: Counter[str] = Counter()
    for text in [value] if isinstance(value, str) else value:
        counts.update(words(k, text, **how) if k in how.get("text", ()) else category(k, text))
    return dict(counts)


def category(k: str, text: str) -> dict[str, float]:
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return moment(k, datetime.strptime(text, "%Y-%m-%d"), False)
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*", text):
            return moment(k, datetime.fromisoformat(text), True)
    except ValueError:  # no such day
        pass
    return {f"{k}={text}": 1}


def moment(k: str, when: date, has_hour: bool) -> dict[str, float]:
    parts = {"year": f"{when.year:04}", "month": f"{when.month:02}", "day": f"{when.day:02}"}
    parts["weekday"] = DAYS[when.weekday()]
    if has_hour:
        parts["hour"] = f"{when.hour:02}"  # type: ignore[attr-defined]
    return {f"{k}.{part}={value}": 1 for part, value in parts.items()}


def words(k: str, value: str, token: str = r"\w+", lower: bool = True, ngram: int = 1, **_: Any) -> dict[str, float]:
    found = [word for word in re.findall(token, value.lower() if lower else value) if word]
    runs = [found[i : i + n] for n in range(1, ngram + 1) for i in range(len(found) - n + 1)]
    return Counter(f"{k}={' '.join(run)}" for run in runs)
