"""A table of text by the csv module, and what its columns hold by the docstrings of `delimited` and `tables`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from tests.reference.features import features_of
from tests.reference.labels import label_of

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = ("NA", "N/A", "NaN", "null", "None", "?", "")
FLAGS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
Cell = str | None


def records(text: str, delimiter: str) -> list[list[str]]:
    """All cells as strings; blank lines are no records."""
    return [record for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if record]


def typed(cells: Sequence[Cell]) -> list[Any]:
    """The values of a column: numbers, truth values, or strings; None for what is missing."""
    bare = [None if cell is None or cell.strip(" \t") in MISSING else cell.strip(" \t") for cell in cells]
    there = [cell for cell in bare if cell is not None]
    if not there:  # each cell tells for itself
        return [cell if cell is not None and not cell.strip(" \t") else None for cell in cells]
    if all(NUMBER.fullmatch(cell) for cell in there):
        return [None if cell is None else float(cell) for cell in bare]
    if all(cell in FLAGS for cell in there):
        return [None if cell is None else FLAGS[cell] for cell in bare]
    return list(cells)


def read(names: Sequence[str], cells: Sequence[Sequence[Cell]], **how: Any) -> list[tuple[Any, dict]]:
    """(label, features) of each record of cells, of which None is an empty one without quotes."""
    label = next(name for name in ("label", "class", "target", "y") if name in names)
    at = names.index(label)
    columns = [[record[i] for record in cells] for i in range(len(names))]
    for i, name in enumerate(names):
        if i != at and name not in how.get("text", ()):
            columns[i] = typed(columns[i])
    rows = []
    for values in zip(*columns, strict=True):
        x = {k: value for k, value in zip(names, values, strict=True) if k != label}
        rows.append((label_of(values[at]), features_of(x, **how)))
    return rows
