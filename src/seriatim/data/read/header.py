"""The columns of a text table: names, kinds, and the label column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from seriatim.data.read.delimited import Record, is_flag, is_number, means_missing
from seriatim.errors import DataError, ParseError
from seriatim.features import Features

LABELS = ("label", "class", "target", "y")  # usual names of the label column
LOOKED_AT = 1000  # records from which the kind of a column is detected


def has_header(records: Sequence[Record]) -> bool:
    """Whether the first record is a header: no cell is a number, and all cells are present and distinct.

    If a cell is missing or repeated, the record is still a header if one of its words stands above numbers.
    """
    first = records[0]
    if any(is_number(cell) for cell in first if cell):
        return False
    if None not in first and len({*first}) == len(first):
        return True
    return any(cell and kind_of(column_of(records[1:], i)) == "number" for i, cell in enumerate(first))


def column_of(records: Sequence[Record], i: int) -> list[str]:
    """The present cells of a column."""
    return [record[i] for record in records if i < len(record) and record[i] is not None]


def column_names(name: str, records: Sequence[Record], header: bool | None) -> tuple[list[str], bool]:
    """The names of the columns (without a header "1", "2", ...), and whether there is a header."""
    if not records:
        return [], False
    if header is None:
        header = has_header(records)
    if not header:
        return [str(i + 1) for i in range(len(records[0]))], False
    names = [cell or str(i + 1) for i, cell in enumerate(records[0])]
    seen: set[str] = set()
    for one, (line, column) in zip(names, records[0].places, strict=True):
        wrong = [ord(c) - 0xDC00 for c in one if "\udc80" <= c <= "\udcff"]
        if wrong:
            problem = f"expected the name of a column in UTF-8, found the byte 0x{wrong[0]:02x}"
            raise ParseError(name, line, column, problem)
        if one in seen:
            raise ParseError(name, line, column, f"expected a name for each column, found {one!r} twice")
        seen.add(one)
    return names, True


def label_column(source: str, names: Sequence[str], wanted: str | None, needed: bool) -> str | None:
    """The label column: by name, or by number (1 is the first, -1 the last)."""
    if wanted is not None:
        if wanted in names:
            return wanted
        try:
            place = int(wanted)
        except ValueError:
            place = 0
        if 0 < abs(place) <= len(names):
            return names[place - (place > 0)]
    else:
        for usual in LABELS:
            if usual in names:
                return usual
    if not needed:
        return None
    there = shown(names)
    if wanted is not None:
        raise DataError(f"{source}: no column {wanted!r} for the label; there are {there}")
    raise DataError(f"{source}: which column is the label? Say so by --label (features=Features(label=...)); {there}")


def shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def check_columns(source: str, names: Sequence[str], features: Features, schema: dict[str, str]) -> None:
    """Refuse a table with repeated names, or without a column that an option names or the model has learned."""
    if len({*names}) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"{source}: expected a name for each column, found {twice!r} twice")
    for what, wanted in (("drop", features.drop), ("text", features.text), ("cross", sum(features.cross, ()))):
        for name in wanted:
            if name not in names and (what, name) != ("drop", "*"):
                raise DataError(f"{source}: no column {name!r}, which --{what} names; there are {shown(names)}")
    for name, kind in schema.items():
        if name not in names and kind not in ("label", "dropped"):
            raise DataError(f"{source}: no column {name!r}, which the model has learned from; there are {shown(names)}")


def kinds_of(
    names: Sequence[str], records: Sequence[Record], label: str | None, features: Features, schema: dict[str, str]
) -> dict[str, str]:
    """The kind of each column: from the options, from what the model has learned, or from the first records."""
    kinds: dict[str, str] = {}
    label = known_label(names, label, schema)
    for i, name in enumerate(names):
        if name == label:
            kinds[name] = "label"
        elif features.drops(name):
            kinds[name] = "dropped"
        elif name in features.text:
            kinds[name] = "text"
        elif schema.get(name) not in (None, "label"):
            kinds[name] = schema[name]
        else:
            kinds[name] = kind_of(column_of(records, i))
    return kinds


def known_label(names: Sequence[str], label: str | None, schema: dict[str, str]) -> str | None:
    """The label column that the model has learned. A column learned as a feature is never the label."""
    known = next((name for name in names if schema.get(name) == "label"), label)
    return known if known is None or schema.get(known, "label") == "label" else None


def kind_of(cells: list[str]) -> str:
    """The kind of a column with these cells. If all are missing, each later cell tells its own kind.

    >>> kind_of(["1", "2.5", "NA"]), kind_of(["true", "false"]), kind_of(["red", "1"]), kind_of(["NA"])
    ('number', 'flag', 'category', 'any')
    """
    tests: tuple[tuple[str, Callable[[Any], bool]], ...] = (("number", is_number), ("flag", is_flag))
    there = [cell for cell in cells if not means_missing(cell)]
    return next((kind for kind, test in tests if all(map(test, there))), "category") if there else "any"
