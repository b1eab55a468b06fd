"""Streams of examples: a file, standard input or a bundled set, as blocks of rows in the order of the file."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from seriatim.core.ahead import THREADS, ahead
from seriatim.core.rows import Rows
from seriatim.data import sets
from seriatim.data.libsvm import PADDING, Block, parse
from seriatim.errors import DataError, ParseError

BLOCK = 1 << 20
MAX_LINE = 1 << 28


class Stream:
    """The examples of a source, block after block. Iterating again reads it again.

    >>> stream = Stream("spam")
    >>> sum(len(y) for rows, y in stream)
    4601
    """

    def __init__(
        self, source: str | os.PathLike[str], *, skip_bad: bool = False, threads: int = THREADS, block: int = BLOCK
    ) -> None:
        bundled = sets.find(source)
        self.path = bundled.path if bundled else Path(source)
        self.name = bundled.name if bundled else str(source)
        self.feature_names = bundled.feature_names if bundled else None
        self.skip_bad, self.threads, self.block = skip_bad, threads, block
        self.skipped: list[str] = []
        self.skipped_count = 0

    def __iter__(self) -> Iterator[tuple[Rows, np.ndarray]]:
        """(rows, y) in order. The rows of a block are valid until the next one is asked for."""
        line = 0
        free: deque[bytearray] = deque()

        def read(text: tuple[bytearray, int]) -> Block:
            block = parse(*text, self.skip_bad)
            free.append(text[0])
            return block

        with self.open() as file:
            for block in ahead(read, self.texts(file, free), self.threads):
                for place, column, problem in block.bad:
                    error = ParseError(self.name, line + place, column, problem)
                    if not self.skip_bad:
                        raise error
                    self.skipped_count += 1
                    if len(self.skipped) < 10:
                        self.skipped.append(str(error))
                line += block.lines
                if len(block.y):
                    yield block.rows, block.y
                block.release()

    def open(self) -> BinaryIO:
        """The bytes of the source, unpacked."""
        if str(self.path) == "-":
            return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False))
        try:
            file = open(self.path, "rb", buffering=0)  # noqa: SIM115, closed by the caller
        except OSError as error:
            raise DataError(f"{self.name}: {error.strerror or error}{self.hint()}") from None
        if file.read(2) == b"\x1f\x8b":
            file.seek(0)
            return gzip.GzipFile(fileobj=io.BufferedReader(file, BLOCK))  # type: ignore[return-value]
        file.seek(0)
        return file  # type: ignore[return-value]

    def hint(self) -> str:
        names = ", ".join(sets.names())
        return "" if os.sep in str(self.path) else f"; the bundled sets are {names}"

    def texts(self, file: BinaryIO, free: deque[bytearray]) -> Iterator[tuple[bytearray, int]]:
        """Blocks of whole lines: (buffer, length). What follows the last newline begins the next block."""
        rest = b""
        ended = False
        while not ended:
            buffer = free.popleft() if free else bytearray(self.block + PADDING)
            length, cut = len(rest), 0
            if length + self.block // 2 > len(buffer) - PADDING:
                if length > MAX_LINE:
                    raise DataError(f"{self.name}: a line of more than {MAX_LINE >> 20} MB")
                buffer = bytearray(2 * length + PADDING)
            buffer[:length] = rest
            while length < len(buffer) - PADDING:
                got = self.fill(file, memoryview(buffer)[length:-PADDING])
                if not got:
                    ended = True
                    break
                length += got
            if ended and length:
                buffer[length] = 10
                length += buffer[length - 1] != 10
                cut = length
            else:
                cut = buffer.rfind(b"\n", 0, length) + 1
            rest = bytes(memoryview(buffer)[cut:length])
            if cut:
                buffer[cut : cut + PADDING] = bytes(PADDING)
                yield buffer, cut

    def fill(self, file: BinaryIO, room: memoryview) -> int:
        try:
            return file.readinto(room)  # type: ignore[attr-defined]
        except IsADirectoryError:
            raise DataError(f"{self.name}: a directory; expected a file") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"{self.name}: damaged gzip data: {error}") from None
