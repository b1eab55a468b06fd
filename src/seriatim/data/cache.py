"""Examples stored on disk in binary form, to be read again in order or shuffled."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import numpy as np

from seriatim.core.names import Names, Vocabulary
from seriatim.core.rows import Rows, picked
from seriatim.core.threads import ahead
from seriatim.errors import DataError
from seriatim.labels import is_float, of_floats

PART = 1 << 16  # values of one part of shuffled rows
BLOCK = 1 << 20  # a block of at least this many values is read by itself
STRETCH = 1 << 20  # least number of values in a segment
PIECE = 1 << 22  # bytes per write
MOST = 512  # arrays per write; systems allow about 1,000

# Each of these is one file without structure. For each row: its end, norm, target, the number of its label if that is a
# name, and its weight. For each segment of rows: columns and values, which are most of the data.
KINDS = {
    "end": np.int64,
    "norm2": np.float64,
    "y": np.float64,
    "label": np.int32,
    "weight": np.float64,
    "index": np.int32,
    "value": np.float64,
}
OF_STRETCH = ("index", "value")
CUT_SHORT = "the examples kept on disk have been cut short"

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]  # start, index and value of a CSR matrix
Memory = dict[str, np.ndarray]


class File:
    """A temporary file without a name. It is written in large pieces, because the system then uses large pages, which
    it maps in a twentieth of the time."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile(prefix="seriatim-", buffering=0)  # noqa: SIM115, see close
        self.waiting: list[memoryview] = []
        self.size = 0

    def write(self, array: np.ndarray) -> None:
        """Append an array. The caller must not change the array before it is written."""
        self.waiting.append(memoryview(array.data).cast("B") if len(array) else memoryview(b""))
        self.size += array.nbytes
        if self.size >= PIECE:
            self.flush()

    def flush(self) -> None:
        while self.waiting:
            written = os.writev(self.file.fileno(), self.waiting[:MOST])
            while self.waiting and written >= len(self.waiting[0]):
                written -= len(self.waiting.pop(0))
            if written:
                self.waiting[0] = self.waiting[0][written:]
        self.size = 0

    def fileno(self) -> int:
        return self.file.fileno()

    def close(self) -> None:
        self.file.close()


@contextmanager
def writing() -> Iterator[None]:
    """A context in which a full disk raises a clear error."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"no room for the examples in {tempfile.gettempdir()}: {error.strerror}; TMPDIR names another folder"
        ) from None


class Stretch:
    """The columns and values of some blocks, in files of their own. The last pass closes them as it proceeds: freeing
    them all at the end would take a third of the time of learning."""

    def __init__(self, row: int, at: int) -> None:
        self.row, self.at = row, at  # number of rows and of values before this segment
        self.rows = self.values = 0
        self.blocks: list[tuple[int, int]] = []  # numbers of rows and values of each block
        self.files = {name: File() for name in OF_STRETCH}

    def add(self, rows: int, values: int) -> None:
        self.rows, self.values = self.rows + rows, self.values + values
        if self.blocks and self.blocks[-1][1] < BLOCK:
            n, m = self.blocks.pop()
            rows, values = n + rows, m + values
        self.blocks.append((rows, values))

    def places(self) -> Iterator[tuple[Stretch, int, int, int, int]]:
        """For each block: its first row, its number of rows, its first value in the segment, its number of values."""
        row, at = self.row, 0
        for n, values in self.blocks:
            yield self, row, n, at, values
            row, at = row + n, at + values

    def part(self, name: str, begin: int, n: int) -> np.ndarray:
        """Numbers begin..begin + n of a file, mapped without a copy. (An empty range cannot be mapped.)"""
        kind = np.dtype(KINDS[name])
        if not n:
            return np.empty(0, kind)
        page, within = divmod(begin * kind.itemsize, mmap.ALLOCATIONGRANULARITY)
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        try:
            room = mmap.mmap(
                self.files[name].fileno(),
                within + n * kind.itemsize,
                flags=flags,
                prot=mmap.PROT_READ,
                offset=page * mmap.ALLOCATIONGRANULARITY,
            )
        except ValueError:
            raise DataError(CUT_SHORT) from None
        return np.frombuffer(room, kind, n, within)

    def all(self, name: str) -> np.ndarray:
        return self.part(name, 0, self.values)

    def close(self) -> None:
        for file in self.files.values():
            file.close()


class Cache:
    """A cache of examples in temporary files: 12 bytes per value and 36 per row."""

    def __init__(self) -> None:
        self.files = {name: File() for name in KINDS if name not in OF_STRETCH}
        self.stretches = [Stretch(0, 0)]
        self.vocabulary: Vocabulary | None = None
        self.names: Names | None = None
        self.labels: dict[Any, int] = {}
        self.weighted = False
        self.features = self.n = self.values = 0

    def add(self, rows: Rows, y: np.ndarray) -> None:
        """Append a block."""
        if rows.names is not None:
            self.vocabulary = Vocabulary() if self.vocabulary is None else self.vocabulary
            rows = self.vocabulary.translate(rows.check(), True)
        start, index, value = sparse(rows)
        label = np.full(len(y), -1, dtype=np.int32)
        y = of_floats(y)
        if y.dtype == object:
            label = np.array(
                [-1 if is_float(one) else self.labels.setdefault(one, len(self.labels)) for one in y], np.int32
            )
            y = np.array([one if is_float(one) else 0.0 for one in y], dtype=np.float64)
        with writing():
            # A new segment at a sixteenth of all values so far: there are few segments, and the last one is small.
            if self.stretches[-1].values > max(STRETCH, self.values // 16):
                self.stretches.append(Stretch(self.n, self.values))
            files = self.files | self.stretches[-1].files
            arrays = (start[1:] + self.values, rows.check().norms, y.copy(), label, rows.weights, index, value)
            for name, array in zip(KINDS, arrays, strict=True):
                files[name].write(np.ascontiguousarray(array, KINDS[name]))
        self.stretches[-1].add(rows.n, len(index))
        self.n, self.values = self.n + rows.n, self.values + len(index)
        self.weighted |= rows.weighted
        self.features = max(self.features, rows.features)

    def close(self) -> None:
        for stretch in self.stretches:
            stretch.close()
        for file in self.files.values():
            file.close()

    def ready(self) -> None:
        """Finish writing."""
        with writing():
            for files in (self.files, *(stretch.files for stretch in self.stretches)):
                for file in files.values():
                    file.flush()
        if self.vocabulary is not None:
            self.names = Names(self.vocabulary.names)

    def read(self, name: str, begin: int, n: int, memory: Memory | None = None) -> np.ndarray:
        """Numbers begin..begin + n of a file, read into memory that is reused."""
        if memory is not None and len(memory.get(name, ())) < max(n, 1):
            memory[name] = at_page(n + n // 8, KINDS[name])
        array = np.empty(n, KINDS[name]) if memory is None else memory[name][:n]
        room, offset = memoryview(array.data).cast("B") if n else memoryview(b""), begin * array.itemsize
        while room:
            got = os.preadv(self.files[name].fileno(), [room], offset)
            if not got:
                raise DataError(CUT_SHORT)
            room, offset = room[got:], offset + got
        return array

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
        return self.in_order(last=False)

    def in_order(self, last: bool) -> Iterator[tuple[Rows, np.ndarray]]:
        """Yield all rows in order, read ahead by another thread. A block's memory is reused for later blocks. With
        `last`, that thread also closes the files that it has read."""
        free: list[Memory] = []
        read: list[Stretch] = []

        def block(place: tuple[Stretch, int, int, int, int]) -> tuple[Rows, np.ndarray, Memory]:
            stretch, row, n, at, values = place
            if (done := popped(read)) is not None:
                done.close()
            memory = popped(free) or {}
            before = stretch.at + at
            start = np.concatenate([[before], self.read("end", row, n, memory)]) - before
            index, value = (stretch.part(name, at, values) for name in OF_STRETCH)
            rows = self.rows(start, index, value, self.read("norm2", row, n, memory))
            rows.weights = self.read("weight", row, n) if self.weighted else None
            label = self.read("label", row, n) if self.labels else start
            return rows, self.targets(self.read("y", row, n), label), memory

        blocks = ahead(block, chain.from_iterable(stretch.places() for stretch in self.stretches))
        for stretch in self.stretches:
            for rows, y, memory in islice(blocks, len(stretch.blocks)):
                yield rows, y
                if rows.give_up():
                    free.append(memory)
            if last:
                read.append(stretch)

    def permuted(self, rng: np.random.Generator) -> Iterator[tuple[Rows, np.ndarray]]:
        """Yield all rows in random order. Needs 24 bytes of memory per row."""
        if not self.n:
            return
        start = np.concatenate([[0], self.read("end", 0, self.n)])
        norms, y, label, weight = (np.memmap(self.files[name].file, KINDS[name], "r") for name in list(self.files)[1:])
        order = rng.permutation(self.n)
        ends = np.cumsum(np.diff(start)[order])
        stretches: list[Arrays] = [
            (start[one.row : one.row + one.rows + 1] - one.at, one.all("index"), one.all("value"))
            for one in self.stretches
        ]
        first = np.array([one.row for one in self.stretches])
        begin = 0
        while begin < self.n:
            end = max(begin + 1, int(np.searchsorted(ends, (ends[begin - 1] if begin else 0) + PART, "right")))
            some = order[begin:end]
            within = np.searchsorted(first, some, "right") - 1
            pieces = [picked(*stretches[k], some[within == k] - first[k]) for k in np.unique(within)]
            place = np.argsort(np.argsort(within, kind="stable"))  # the position of each row among the pieces
            begins, columns, values = picked(*joined(pieces), place)
            rows = self.rows(begins, columns, values, norms[some])
            rows.weights = weight[some] if self.weighted else None
            yield rows, self.targets(y[some], label[some])
            begin = end


def popped(items: list[Any]) -> Any:
    """Pop the last item of a list that other threads pop from, too; None if it is empty."""
    try:
        return items.pop()
    except IndexError:
        return None


def at_page(n: int, kind: Any) -> np.ndarray:
    """An array that starts at a page: the system copies to other addresses up to five times as slowly."""
    return np.frombuffer(mmap.mmap(-1, max(n, 1) * np.dtype(kind).itemsize), kind)


def sparse(rows: Rows) -> Arrays:
    """The CSR arrays of rows, dense or sparse."""
    arrays: Any = rows.arrays
    if len(arrays) == 3:
        return arrays
    X = arrays[0]
    n, features = X.shape
    return np.arange(n + 1) * features, np.tile(np.arange(features, dtype=np.int32), n), X.reshape(-1)


def joined(parts: list[Arrays]) -> Arrays:
    """Blocks joined into one matrix."""
    ends = np.cumsum([part[0][-1] for part in parts])
    start = np.concatenate([[0], *(part[0][1:] + end - part[0][-1] for part, end in zip(parts, ends, strict=True))])
    return start, np.concatenate([part[1] for part in parts]), np.concatenate([part[2] for part in parts])
