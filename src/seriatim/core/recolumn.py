"""Moves the columns of a learner's state: models of different vocabularies need this before they can be merged.

A learner says in `column_arrays` which arrays of its state depend on columns, as {name: kind}. The classes below are
the kinds. In all of them column j moves to column places[j] of `columns`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class RecordArray:
    """An array with a record for the constant and one for each column; new columns get the initial value."""

    initial: float = 0.0

    def move(self, state: dict[str, Any], name: str, places: np.ndarray, columns: int) -> None:
        old = state[name]
        if len(old):
            state[name] = new = np.full((max(columns + 1, len(old)), *old.shape[1:]), self.initial, old.dtype)
            known = min(len(old) - 1, len(places))
            new[0], new[places[:known] + 1] = old[0], old[1 : known + 1]


@dataclass(frozen=True)
class ColumnArray:
    """An array one of whose axes is the columns; new columns get 0."""

    axis: int = 0

    def move(self, state: dict[str, Any], name: str, places: np.ndarray, columns: int) -> None:
        old = np.moveaxis(state[name], self.axis, 0)
        new = np.zeros((max(columns, len(old)), *old.shape[1:]), old.dtype)
        new[places[: len(old)]] = old[: len(places)]
        state[name] = np.ascontiguousarray(np.moveaxis(new, 0, self.axis))


@dataclass(frozen=True)
class ChosenRecords:
    """Numbers of records, ascending, and arrays with a row for each of these records."""

    arrays: tuple[str, ...] = ()

    def move(self, state: dict[str, Any], name: str, places: np.ndarray, columns: int) -> None:
        records = np.concatenate([[0], places + 1])[state[name]].astype(state[name].dtype)
        order = np.argsort(records)
        state[name] = records[order]
        for array in self.arrays:
            state[array] = state[array][order]


@dataclass(frozen=True)
class ColumnNumbers:
    """Column numbers in any order."""

    def move(self, state: dict[str, Any], name: str, places: np.ndarray, columns: int) -> None:
        state[name] = places[state[name]].astype(state[name].dtype)


@dataclass(frozen=True)
class SparseRows:
    """Three arrays `name`start, `name`index and `name`value: sparse rows, whose columns stay sorted."""

    def move(self, state: dict[str, Any], name: str, places: np.ndarray, columns: int) -> None:
        start, index, value = (state[f"{name}{part}"] for part in ("start", "index", "value"))
        moved = places[index].astype(index.dtype)
        order = np.lexsort((moved, np.repeat(np.arange(len(start) - 1), np.diff(start))))
        state[f"{name}index"], state[f"{name}value"] = moved[order], value[order]


@dataclass(frozen=True)
class ColumnCount:
    """The number of columns, plus `more`."""

    more: int = 0

    def move(self, state: dict[str, Any], name: str, places: np.ndarray, columns: int) -> None:
        state[name] = max(columns + self.more, state[name])


def moved(state: dict[str, Any], kinds: dict[str, Any], places: Any, columns: int) -> dict[str, Any]:
    """The state with its columns moved.

    >>> state = {"w": np.array([[9.0], [1.0], [2.0]])}
    >>> moved(state, {"w": RecordArray()}, [2, 0], 3)["w"].ravel().tolist()
    [9.0, 2.0, 0.0, 1.0]
    """
    places = np.asarray(places, dtype=np.intp)
    if places.ndim != 1 or len(np.unique(places)) < len(places):
        raise ValueError("the new columns are not a list of distinct numbers")
    if len(places) and not 0 <= places.min() <= places.max() < columns:
        raise ValueError(f"a new column is not in 0..{columns - 1}")
    state = dict(state)
    for name, kind in kinds.items():
        kind.move(state, name, places, columns)
    return state
