"""Streams of examples: a file, standard input or a bundled set, as blocks of rows in the order of the file."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from seriatim.core.ahead import THREADS, ahead
from seriatim.core.rows import Rows
from seriatim.data import bundled
from seriatim.data.libsvm import parse
from seriatim.data.lines import InOrder, Ranges
from seriatim.data.text import Block
from seriatim.errors import DataError, ParseError

BLOCK = 1 << 20  # bytes of text
PART = 1 << 16  # values of a part of shuffled rows


class Stream:
    """The examples of a source, block after block. Iterating again reads it again.

    >>> stream = Stream("spam")
    >>> sum(len(y) for rows, y in stream)
    4601
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        limit: int | None = None,
        shuffle: int | None = None,
        passes: int = 1,
        skip_bad: bool = False,
        threads: int = THREADS,
        block: int = BLOCK,
    ) -> None:
        """The source is a file, a bundled set, or - for standard input.

        limit : read only the first so many examples.
        shuffle : read all into memory, and permute each pass by this seed.
        passes : read it so often.
        skip_bad : pass over lines that cannot be read, and count them in `skipped_count`.
        threads, block : how to read; what is read does not depend on them.
        """
        known = bundled.find(source)
        self.path = known.path if known else Path(source)
        self.name = "standard input" if str(source) == "-" else str(source)
        self.feature_names = known.feature_names if known else None
        self.limit, self.shuffle, self.passes = limit, shuffle, passes
        self.skip_bad, self.threads, self.block = skip_bad, threads, max(block, 1)
        self.raw: io.FileIO | None = None
        self.size = 0
        self.source: Ranges | InOrder | None = None
        self.skipped: list[str] = []
        self.skipped_count = 0

    def __iter__(self) -> Iterator[tuple[Rows, np.ndarray]]:
        """(rows, y) in order. The rows of a block are valid until the next one is asked for."""
        if self.shuffle is not None:
            yield from self.shuffled(np.random.default_rng(self.shuffle))
        else:
            for _ in range(self.passes):
                yield from self.limited()

    def shuffled(self, rng: np.random.Generator) -> Iterator[tuple[Rows, np.ndarray]]:
        start, index, value, y = self.arrays()
        for _ in range(self.passes):
            order = rng.permutation(len(y))
            length = np.diff(start)[order]
            begin = np.concatenate([[0], np.cumsum(length)])
            place = np.repeat(start[order] - begin[:-1], length) + np.arange(begin[-1])
            rows = Rows.sparse(begin, index[place], value[place], int(index.max(initial=-1)) + 1).check()
            at = 0
            for part in rows.parts(PART):
                yield part, y[order[at : at + part.n]]
                at += part.n

    def limited(self) -> Iterator[tuple[Rows, np.ndarray]]:
        left = self.limit
        for rows, y in self.lines():
            if left is not None and rows.n >= left:
                yield rows.head(left), y[:left]
                return
            yield rows, y
            left = None if left is None else left - rows.n

    def share_read(self) -> float | None:
        """How much of the file has been read, from 0 to 1, if that can be told."""
        if not self.size or self.raw is None:  # a pipe, or not open yet
            return None
        return 1.0 if self.raw.closed else min(1.0, self.raw.tell() / self.size)

    @property
    def waiting(self) -> bool:
        """Whether it waits for a pipe."""
        return isinstance(self.source, InOrder) and self.source.waiting

    def lines(self) -> Iterator[tuple[Rows, np.ndarray]]:
        """The examples of one pass, parsed ahead of their turn on other cores."""
        line = 0
        self.skipped, self.skipped_count = [], 0

        def read(item: Any) -> Block:
            buffer, begin, end = lines.text(item)
            block = parse(buffer, begin, end, self.skip_bad)
            lines.give_back(buffer)
            return block

        with self.open() as lines:
            self.source = lines
            for block in ahead(read, lines, self.threads):
                if len(block.y):
                    yield block.rows, block.y
                block.release()
                for place, column, problem in block.bad:
                    error = ParseError(self.name, line + place, column, problem)
                    if not self.skip_bad:
                        raise error
                    if len(self.skipped) < 10:
                        self.skipped.append(str(error))
                self.skipped_count += block.bad_count
                line += block.lines

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All of it in memory: start, index and value of a CSR matrix, and y."""
        parts = [(*rows.arrays, y) for rows, y in self.limited()]
        if not parts:
            raise DataError(f"{self.name}: no examples")
        ends = np.cumsum([part[0][-1] for part in parts])
        start = np.concatenate([[0], *(part[0][1:] + end - part[0][-1] for part, end in zip(parts, ends, strict=True))])
        index, value, y = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
        return start, index, value, y

    @contextmanager
    def open(self) -> Iterator[Ranges | InOrder]:
        """The lines of the source, unpacked."""
        once_only = DataError(f"{self.name} can be read once only; save it to a file for several passes")
        if str(self.path) == "-" and self.passes > 1 and self.shuffle is None:
            raise once_only
        once_only = DataError(f"{self.name} can be read once only; save it to a file for several passes")
        if str(self.path) == "-" and self.passes > 1 and self.shuffle is None:
            raise once_only
        if str(self.path) == "-" and sys.stdin is None:
            raise DataError("standard input is closed")
        try:
            file = io.FileIO(sys.stdin.fileno(), closefd=False) if str(self.path) == "-" else io.FileIO(self.path)
        except OSError as error:
            raise DataError(f"{self.name}: {error.strerror or error}{self.hint()}") from None
        with file:
            self.raw, self.size = file, os.fstat(file.fileno()).st_size
            if self.passes > 1 and self.shuffle is None and not file.seekable():
                raise once_only
            start = file.tell() if file.seekable() else 0
            buffered = io.BufferedReader(file, 1 << 13)
            if buffered.peek(1)[:1] == b"\x1f":  # no text begins so, and a pipe may hold one byte only
                yield InOrder(gzip.GzipFile(fileobj=buffered), self.name, self.block)  # type: ignore[arg-type]
            elif not file.seekable():
                lines = InOrder(file, self.name, self.block)  # type: ignore[arg-type]
                lines.head = buffered.read(len(buffered.peek(1)))
                yield lines
            else:
                buffered.detach()
                file.seek(start)
                yield Ranges(file, self.name, self.block)  # type: ignore[arg-type]

    def hint(self) -> str:
        names = ", ".join(bundled.datasets())
        return "" if os.sep in str(self.path) else f"; the bundled sets are {names}"
