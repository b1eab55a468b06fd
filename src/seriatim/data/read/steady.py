"""Data files that may change while they are read."""

from __future__ import annotations

import io
import os
import stat
from typing import Any

from seriatim.errors import DataError


class SteadyFile(io.FileIO):
    """A data file up to the length that it had when it was opened. Later additions are ignored.

    If the file is cut short while it is read, that is an error. A pipe is read to its end.
    """

    def __init__(self, file: Any, name: str, closefd: bool = True) -> None:
        super().__init__(file, closefd=closefd)
        about = os.fstat(self.fileno())
        # Files in /proc report the length 0, but are not empty.
        self.length = about.st_size if stat.S_ISREG(about.st_mode) and about.st_size else None
        self.called = name

    def readinto(self, room: Any) -> int:
        view = memoryview(room).cast("B")
        if self.length is None or not len(view):
            return super().readinto(view)
        place = self.tell()
        got = super().readinto(view[: max(self.length - place, 0)])
        if not got and place < self.length:
            raise self.cut_short(place)
        return got

    def read(self, size: int | None = -1) -> bytes:
        if self.length is None:
            return super().read(-1 if size is None else size)
        place = self.tell()
        left = max(self.length - place, 0)
        data = super().read(left if size is None or size < 0 else min(size, left))
        if not data and size and left:
            raise self.cut_short(place)
        return data

    def readall(self) -> bytes:
        pieces = [*iter(lambda: self.read(1 << 20), b"")]
        return b"".join(pieces)

    def expect_whole(self) -> None:
        """Raise an error if the file is shorter now. For a library that opens the file itself."""
        if self.length is not None and (now := os.fstat(self.fileno()).st_size) < self.length:
            raise self.cut_short(now)

    def cut_short(self, place: int) -> DataError:
        sizes = f"{self.length:,} bytes at first, now {place:,}"
        return DataError(f"{self.called}: cut short while it was read: {sizes}; read it again when it is complete")
