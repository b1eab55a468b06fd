"""Streams of examples: a file, standard input or a bundled set, as blocks of rows in the order of the file."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import PAGESIZE, mmap
from pathlib import Path
from typing import BinaryIO

import numpy as np

from seriatim.core.ahead import THREADS, ahead
from seriatim.core.rows import Rows
from seriatim.data import bundled
from seriatim.data.libsvm import PADDING, Block, parse
from seriatim.errors import DataError, ParseError

BLOCK = 1 << 20
FRONT = 16 * PAGESIZE  # room for the beginning of a line
MAX_LINE = 1 << 28


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
        self.skipped: list[str] = []
        self.skipped_count = 0

    def __iter__(self) -> Iterator[tuple[Rows, np.ndarray]]:
        """(rows, y) in order. The rows of a block are valid until the next one is asked for."""
        if self.shuffle is not None:
            yield from self.shuffled(np.random.default_rng(self.shuffle))
        elif self.passes > 1 and str(self.path) == "-":
            raise DataError("standard input can be read once only; save it to a file for several passes")
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
            for part in rows.parts(self.block):
                yield part, y[order[at : at + part.n]]
                at += part.n

    def limited(self) -> Iterator[tuple[Rows, np.ndarray]]:
        left = self.limit
        for rows, y in self.lines():
            if left is not None and rows.n >= left:
                yield rows.slice(0, left), y[:left]
                return
            yield rows, y
            left = None if left is None else left - rows.n

    def share_read(self) -> float | None:
        """How much of the file has been read, from 0 to 1, if that can be told."""
        if not self.size or self.raw is None:  # a pipe, or not open yet
            return None
        return 1.0 if self.raw.closed else min(1.0, self.raw.tell() / self.size)

    def lines(self) -> Iterator[tuple[Rows, np.ndarray]]:
        """The examples of one pass, parsed ahead of their turn on other cores."""
        line = 0
        free: deque[mmap] = deque()

        def read(text: tuple[mmap, int, int]) -> Block:
            block = parse(*text, self.skip_bad)
            free.append(text[0])
            return block

        with self.open() as file:
            for block in ahead(read, self.texts(file, free), self.threads):
                for place, column, problem in block.bad:
                    error = ParseError(self.name, line + place, column, problem)
                    if not self.skip_bad:
                        raise error
                    if len(self.skipped) < 10:
                        self.skipped.append(str(error))
                self.skipped_count += block.bad_count
                line += block.lines
                if len(block.y):
                    yield block.rows, block.y
                block.release()

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
    def open(self) -> Iterator[BinaryIO]:
        """The bytes of the source, unpacked."""
        if str(self.path) == "-" and sys.stdin is None:
            raise DataError("standard input is closed")
        try:
            file = io.FileIO(sys.stdin.fileno(), closefd=False) if str(self.path) == "-" else io.FileIO(self.path)
        except OSError as error:
            raise DataError(f"{self.name}: {error.strerror or error}{self.hint()}") from None
        with file:
            self.raw, self.size = file, os.fstat(file.fileno()).st_size
            start = file.tell() if file.seekable() else 0
            buffered = io.BufferedReader(file, 1 << 13)
            if buffered.peek(1)[:1] == b"\x1f":  # no text begins so, and a pipe may hold one byte only
                yield gzip.GzipFile(fileobj=buffered)  # type: ignore[misc]
            elif not file.seekable():
                yield buffered
            else:
                buffered.detach()
                file.seek(start)
                yield file  # type: ignore[misc]

    def hint(self) -> str:
        names = ", ".join(bundled.datasets())
        return "" if os.sep in str(self.path) else f"; the bundled sets are {names}"

    def texts(self, file: BinaryIO, free: deque[mmap]) -> Iterator[tuple[mmap, int, int]]:
        """Blocks of whole lines: (buffer, begin, end). What follows the last newline begins the next block.

        The file is read to the start of a page, and what was left over is put before it: copying to an address just
        after the start of a page takes five times as long on some processors.
        """
        rest = b""
        ended = False
        while not ended:
            front = max(FRONT, -(-len(rest) // PAGESIZE) * PAGESIZE)
            room = max(self.block, len(rest))  # a line that is longer than a block doubles it until it fits
            if room > MAX_LINE:
                raise DataError(f"{self.name}: a line of more than {MAX_LINE >> 20} MB")
            buffer = free.popleft() if free else mmap(-1, front + room + PADDING)
            if len(buffer) < front + room + PADDING:
                buffer = mmap(-1, front + room + PADDING)
            begin, end = front - len(rest), front
            buffer[begin:front] = rest
            while not ended and end < front + room:
                got = self.fill(file, memoryview(buffer)[end : front + room])
                end += got
                ended = not got
            if ended and end > begin and buffer[end - 1] != 10:
                buffer[end] = 10
                end += 1
            cut = end if ended else buffer.rfind(b"\n", begin, end) + 1 or begin
            rest = buffer[cut:end]
            if cut > begin:
                buffer[cut : cut + PADDING] = bytes(PADDING)
                yield buffer, begin, cut

    def fill(self, file: BinaryIO, room: memoryview) -> int:
        try:
            return file.readinto(room)  # type: ignore[attr-defined]
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"{self.name}: damaged gzip data: {error}") from None
