"""Streams of examples: from which source, in which order, how often, and how many."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seriatim.core.names import Names, Vocabulary
from seriatim.core.rows import Rows, picked
from seriatim.data.cache import Arrays, Cache, joined, sparse
from seriatim.data.generate.drift import generated
from seriatim.data.read.source import Blocks, Source
from seriatim.errors import DataError, ParameterError
from seriatim.features import Features


class Stream:
    """The examples of a source, one block after another. Iterating again reads the source again.

    >>> stream = Stream("spam")
    >>> sum(len(y) for rows, y in stream)
    4601
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | list[str | os.PathLike[str]] | Iterable[tuple[Rows, np.ndarray]],
        *,
        skip: int = 0,
        sample: float | None = None,
        limit: int | None = None,
        shuffle: int | None = None,
        buffer: int | None = None,
        passes: int = 1,
        delay: int = 0,
        **reading: Any,
    ) -> None:
        """The source is a file, a pattern, a list of files, a bundled set, a generated stream such as "sea:seed=1", `-`
        for standard input, or blocks. If a file grows while it is read, the new lines are ignored. If it is cut short,
        that is an error.

        skip : skip the first N examples.
        sample : of the others, use a random fraction.
        limit : stop after N examples.
        shuffle : random order with this seed, a new order in each pass. The examples are stored on disk.
        buffer : shuffle within chunks of N examples only, in memory.
        passes : number of passes. From the second pass on, examples are read from a binary cache on disk.
        delay : reveal each label N examples late; used by evaluations.
        features : how columns become features, a `Features` or a dict of its fields.
        schema : the kinds of the columns that a model has learned, by name.
        format : "libsvm", "vw", "csv", "tsv", "jsonl", "parquet" or "arrow"; by default detected from the name and the
            first bytes. "text" means one document per line, in a column "text"; it is never detected.
        header : whether the first line of a table names its columns; by default detected.
        labelled : whether each example must have a label.
        skip_bad : skip lines that cannot be read, and count them in `skipped_count`.
        threads, block : how to read; they do not change the result.
        """
        least_of = (("skip", skip, 0), ("limit", limit, 0), ("passes", passes, 1), ("delay", delay, 0))
        for name, value, least in least_of:
            if value is not None and (not isinstance(value, int | np.integer) or value < least):
                raise ParameterError(f"{name}={value!r}: must be a whole number, at least {least}")
        if sample is not None and not 0 < sample <= 1:
            raise ParameterError(f"sample={sample!r}: must be above 0 and at most 1")
        if buffer is not None and (shuffle is None or buffer < 1):
            raise ParameterError(f"buffer={buffer!r}: must be at least 1, and needs shuffle=SEED")
        self.skip, self.sample, self.limit, self.shuffle, self.buffer = skip, sample, limit, shuffle, buffer
        self.passes, self.delay = passes, delay
        self.source: Any = source
        if isinstance(source, str | os.PathLike) or is_paths(source):
            blocks = generated(source) if isinstance(source, str) and not Path(source).exists() else None
            if blocks is not None:
                self.source = Generated(source, blocks, **reading)
            else:
                self.source = Source(source, **reading)  # type: ignore[arg-type]
        elif reading:
            raise ParameterError(f"{', '.join(reading)} has no effect on a stream of blocks; remove it")
        self.name = getattr(self.source, "name", "the stream")
        self.keeping = False  # whether examples are being stored before they can be shuffled

    @property
    def waiting(self) -> bool:
        """Whether no example has been passed on yet, so that an interrupt loses nothing."""
        return self.keeping or getattr(self.source, "waiting", False)

    def __getattr__(self, name: str) -> Any:
        """What is known about the source: its features, schema and skipped lines."""
        if name == "source":
            raise AttributeError(name)
        return getattr(self.source, name)

    def __iter__(self) -> Blocks:
        """Yield (rows, y). The rows of a block are valid until the next block is requested."""
        features = getattr(self.source, "features", None)
        if not isinstance(features, Features) or not features.as_dict():
            yield from self.ordered()
            return
        for rows, y in self.ordered():
            rows.made_by = features
            yield rows, y

    def ordered(self) -> Blocks:
        if self.passes == 1 and self.shuffle is None:
            yield from self.examples()
            return
        rng = np.random.default_rng(self.shuffle)
        if self.passes == 1 and self.buffer is not None:
            yield from self.stretches(self.examples(), rng)
            return
        cache = Cache()
        try:
            if self.shuffle is None:
                yield from kept(cache, self.examples())
            else:
                self.keeping = True
                try:
                    for _ in kept(cache, self.examples()):
                        pass
                finally:
                    self.keeping = False
            cache.ready()
            for left in reversed(range(self.passes - (self.shuffle is None))):
                if self.shuffle is None:
                    yield from cache.in_order(last=left == 0)
                elif self.buffer is None:
                    yield from cache.permuted(rng)
                else:
                    yield from self.stretches(cache.in_order(last=left == 0), rng)
        finally:
            cache.close()

    def examples(self) -> Blocks:
        """One pass in the order of the source."""
        skip, left = self.skip, self.limit
        rng = None if self.sample is None else np.random.default_rng(0)
        for rows, y in self.source:
            if skip >= rows.n:
                skip -= rows.n
                continue
            if skip:
                rows, y = rows.slice(skip, rows.n), y[skip:]
                skip = 0
            if rng is not None:
                rows, y = some(rows, y, np.flatnonzero(rng.random(rows.n) < self.sample))
            if left is not None and rows.n >= left:
                if left:
                    yield rows.head(left), y[:left]
                return
            if rows.n:
                yield rows, y
            left = None if left is None else left - rows.n

    def stretches(self, blocks: Blocks, rng: np.random.Generator) -> Blocks:
        """Yield each chunk of `buffer` examples in random order, whatever the sizes of the blocks."""
        vocabulary, features = Vocabulary(), 0
        names: Names | None = None
        parts: list[Arrays] = []
        labels: list[np.ndarray] = []
        weights: list[np.ndarray] = []
        held = 0

        def shuffled() -> tuple[Rows, np.ndarray]:
            order = rng.permutation(held)
            rows = Rows.sparse(*picked(*joined(parts), order), features)
            if names is not None:
                rows = rows.in_any_order()
                rows.names = names
            rows.weights = np.concatenate(weights)[order]
            return rows.check(), np.concatenate(labels)[order]

        size = self.buffer or 1
        for rows, y in blocks:
            if rows.names is not None:
                rows = vocabulary.translate(rows.check(), True)
                names = Names() if names is None else names
                for name in vocabulary.names[len(names) :]:
                    names.append(name)
            features = max(features, rows.features)
            begin = 0
            while begin < rows.n:
                end = min(rows.n, begin + size - held)
                parts.append(sparse(rows.slice(begin, end)))
                labels.append(y[begin:end])
                weights.append(rows.slice(begin, end).weights)
                held, begin = held + end - begin, end
                if held == size:
                    yield shuffled()
                    parts, labels, weights, held = [], [], [], 0
        if held:
            yield shuffled()

    def expect_numbers(self, numbers: bool) -> None:
        """Whether a label that is a name is an error with a line number, which `skip_bad` skips."""
        if isinstance(self.source, Stream):
            self.source.expect_numbers(numbers)
        elif isinstance(self.source, Source):
            self.source.numbers = numbers

    def split(self, n: int) -> tuple[Stream, Stream]:
        """The first n examples and the rest, as two streams.

        >>> prefix, rest = Stream("digits").split(100)
        >>> [sum(len(y) for rows, y in part) for part in (prefix, rest)]
        [100, 1697]
        """
        if n < 0:
            raise ParameterError(f"n={n!r}: must be at least 0")
        if getattr(self.source, "once_only", False):
            raise DataError(f"{self.name} can be read only once, so it cannot be split; save it to a file first")
        if self.sample is not None:
            raise DataError("a sample cannot be split; split first")
        prefix, rest = copy.copy(self), copy.copy(self)
        prefix.limit = n if self.limit is None else min(n, self.limit)
        rest.skip, rest.limit = self.skip + n, None if self.limit is None else max(self.limit - n, 0)
        return prefix, rest

    def arrays(self) -> tuple[Arrays, np.ndarray, list[str] | None, np.ndarray]:
        """All examples in memory: start, index and value of a CSR matrix, y, the names of columns or None, weights."""
        parts, labels, weights = [], [], []
        vocabulary: Vocabulary | None = None
        for rows, y in self:
            if rows.names is not None:
                vocabulary = Vocabulary() if vocabulary is None else vocabulary
                rows = vocabulary.translate(rows.check(), True)
            parts.append(sparse(rows))
            labels.append(y)
            weights.append(rows.weights)
        if not parts:
            raise DataError(f"{self.name}: no examples")
        names = None if vocabulary is None else vocabulary.names
        return joined(parts), np.concatenate(labels), names, np.concatenate(weights)


def is_paths(source: Any) -> bool:
    given = isinstance(source, list | tuple) and source
    return bool(given) and all(isinstance(one, str | os.PathLike) for one in source)


class Generated:
    """A generated stream. Each iteration starts at its beginning."""

    def __init__(self, name: Any, blocks: Any, features: Any = None, **reading: Any) -> None:
        """Refuse options of `reading`, which are for files, if they would change the examples."""
        self.name, self.blocks = str(name), blocks
        given = {key: reading[key] for key in ("format", "header") if reading.get(key) is not None}
        given |= {key: value for key, value in Features.of(features).as_dict().items() if key != "normalize"}
        if given:
            raise ParameterError(f"{name}: {', '.join(given)} has no effect on a generated stream; remove it")

    waiting, once_only, skipped_count = False, False, 0

    def share_read(self) -> None:
        return None

    def __iter__(self) -> Blocks:
        return self.blocks()


def kept(cache: Cache, blocks: Blocks) -> Iterator[tuple[Rows, np.ndarray]]:
    """Yield the blocks, and store each one after its use."""
    for rows, y in blocks:
        yield rows, y
        cache.add(rows, y)


def some(rows: Rows, y: np.ndarray, which: np.ndarray) -> tuple[Rows, np.ndarray]:
    """The rows `which` of a block, in that order."""
    chosen = Rows.sparse(*picked(*sparse(rows), which), rows.features)
    if rows.names is not None:
        chosen = chosen.in_any_order()
        chosen.names = rows.names
    chosen.weights = rows.weights[which]
    return chosen.check(), y[which]
