"""Examples kept on disk in binary form, to be gone through again, in order or not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from seriatim.core.ahead import ahead
from seriatim.core.names import Names
from seriatim.core.rows import Rows, picked
from seriatim.core.vocabulary import Vocabulary
from seriatim.errors import DataError

PART = 1 << 16  # values of a part of rows in another order
BLOCK = 1 << 18  # values from which on a block is large enough to be read by itself

# One file each, flat: of each row where it ends, its columns, values and norm, its target, the number of a label
# that is a name, and its weight.
KINDS = {
    "end": np.int64,
    "index": np.int32,
    "value": np.float64,
    "norm2": np.float64,
    "y": np.float64,
    "label": np.int32,
    "weight": np.float64,
}

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]  # start, index and value of a CSR matrix


class Cache:
    """Files without a name, gone when it is; 12 bytes a value and 36 a row."""

    def __init__(self) -> None:
        self.files = {name: tempfile.TemporaryFile(prefix="seriatim-") for name in KINDS}  # noqa: SIM115, see close
        self.vocabulary: Vocabulary | None = None
        self.names: Names | None = None
        self.labels: dict[str, int] = {}
        self.weighted = False
        self.blocks: list[tuple[int, int]] = []  # rows and values of each
        self.features = self.values = 0

    def add(self, rows: Rows, y: np.ndarray) -> None:
        """Append a block."""
        if rows.names is not None:
            self.vocabulary = Vocabulary() if self.vocabulary is None else self.vocabulary
            rows = self.vocabulary.translate(rows.check(), True)
        start, index, value = sparse(rows)
        label = np.full(len(y), -1, dtype=np.int32)
        if y.dtype == object:
            label = np.array(
                [self.labels.setdefault(one, len(self.labels)) if isinstance(one, str) else -1 for one in y], np.int32
            )
            y = np.array([0.0 if isinstance(one, str) else one for one in y], dtype=np.float64)
        try:
            arrays = (start[1:] + self.values, index, value, rows.check().norms, y, label, rows.weights)
            for name, array in zip(KINDS, arrays, strict=True):
                self.files[name].write(np.ascontiguousarray(array, KINDS[name]).data)
        except OSError as error:
            raise DataError(
                f"no room for the examples in {tempfile.gettempdir()}: {error.strerror}; TMPDIR names another folder"
            ) from None
        if self.blocks and self.blocks[-1][1] < BLOCK:
            n, values = self.blocks.pop()
            self.blocks.append((n + rows.n, values + len(index)))
        else:
            self.blocks.append((rows.n, len(index)))
        self.values += len(index)
        self.weighted |= rows.weighted
        self.features = max(self.features, rows.features)

    def close(self) -> None:
        for file in self.files.values():
            file.close()

    def ready(self) -> None:
        """All has been added."""
        for file in self.files.values():
            file.flush()
        if self.vocabulary is not None:
            self.names = Names(self.vocabulary.names)

    def read(self, name: str, begin: int, n: int, memory: dict[str, np.ndarray] | None = None) -> np.ndarray:
        """Numbers begin..begin + n of a file, in memory that is kept for it."""
        memory = {} if memory is None else memory
        if name not in memory or len(memory[name]) < n:
            memory[name] = np.empty(n, dtype=KINDS[name])
        array = memory[name][:n]
        room, offset = memoryview(array.data).cast("B") if n else memoryview(b""), begin * array.itemsize
        while room:
            got = os.preadv(self.files[name].fileno(), [room], offset)
            if not got:
                raise DataError("the examples kept on disk have been cut short")
            room, offset = room[got:], offset + got
        return array

    def mapped(self, name: str) -> np.ndarray:
        """All of a file; a file of nothing cannot be mapped."""
        if not self.values and name in ("index", "value"):
            return np.empty(0, KINDS[name])
        return np.memmap(self.files[name], KINDS[name], "r")

    def targets(self, y: np.ndarray, label: np.ndarray) -> np.ndarray:
        if not self.labels:
            return y
        names = list(self.labels)
        mixed = y.astype(object)
        for i in np.flatnonzero(label >= 0):
            mixed[i] = names[label[i]]
        return mixed

    def rows(self, start: np.ndarray, index: np.ndarray, value: np.ndarray, norms: np.ndarray) -> Rows:
        rows = Rows.sparse(start, index, value, self.features).in_any_order(norms)
        rows.names = self.names
        return rows

    def __iter__(self) -> Iterator[tuple[Rows, np.ndarray]]:
        """All rows in order, read ahead on another core. What a block was read into serves for a later one."""
        free: list[dict[str, np.ndarray]] = []

        def block(place: tuple[int, int, int, int]) -> tuple[Rows, np.ndarray, dict[str, np.ndarray]]:
            row, n, at, values = place
            memory = free.pop() if free else {}
            start = np.concatenate([[at], self.read("end", row, n, memory)]) - at
            wanted = (("index", at, values), ("value", at, values), ("norm2", row, n))
            rows = self.rows(start, *(self.read(name, begin, count, memory) for name, begin, count in wanted))
            rows.weights = self.read("weight", row, n) if self.weighted else None
            label = self.read("label", row, n) if self.labels else start
            return rows, self.targets(self.read("y", row, n), label), memory

        def places() -> Iterator[tuple[int, int, int, int]]:
            row = at = 0
            for n, values in self.blocks:
                yield row, n, at, values
                row, at = row + n, at + values

        for rows, y, memory in ahead(block, places()):
            yield rows, y
            if rows.give_up():
                free.append(memory)

    def permuted(self, rng: np.random.Generator) -> Iterator[tuple[Rows, np.ndarray]]:
        """All rows in a random order; 24 bytes of memory a row."""
        n = sum(rows for rows, _ in self.blocks)
        if not n:
            return
        start = np.concatenate([[0], self.read("end", 0, n)])
        index, value, norms, y, label, weight = (self.mapped(name) for name in list(KINDS)[1:])
        order = rng.permutation(n)
        ends = np.cumsum(np.diff(start)[order])
        begin = 0
        while begin < n:
            end = max(begin + 1, int(np.searchsorted(ends, (ends[begin - 1] if begin else 0) + PART, "right")))
            some = order[begin:end]
            begins, columns, values = picked(start, index, value, some)
            rows = self.rows(begins, columns, values, norms[some])
            rows.weights = weight[some] if self.weighted else None
            yield rows, self.targets(y[some], label[some])
            begin = end


def sparse(rows: Rows) -> Arrays:
    """The arrays of rows, dense or not."""
    arrays: Any = rows.arrays
    if len(arrays) == 3:
        return arrays
    X = arrays[0]
    n, features = X.shape
    return np.arange(n + 1) * features, np.tile(np.arange(features, dtype=np.int32), n), X.reshape(-1)


def joined(parts: list[Arrays]) -> Arrays:
    """Blocks as one matrix."""
    ends = np.cumsum([part[0][-1] for part in parts])
    start = np.concatenate([[0], *(part[0][1:] + end - part[0][-1] for part, end in zip(parts, ends, strict=True))])
    return start, np.concatenate([part[1] for part in parts]), np.concatenate([part[2] for part in parts])
