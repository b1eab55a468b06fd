"""Blocks of whole lines from a file, in buffers that a parser may look beyond the end of."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from mmap import PAGESIZE, mmap
from select import select
from typing import BinaryIO

from seriatim.data.read.delimited import cut
from seriatim.data.read.steady import SteadyFile
from seriatim.data.read.text import PADDING
from seriatim.errors import DataError

MAX_LINE = 1 << 28
FRONT = 16 * PAGESIZE  # room for the beginning of a line

Text = tuple[mmap, int, int]  # a buffer, and where in it the lines begin and end


class Lines:
    """What both ways of reading share: iterating gives items in order, and `text` reads one, on any thread.

    Files are read to the start of a page: copying to an address just after it takes five times as long on some
    processors.
    """

    def __init__(self, file: BinaryIO, name: str, block: int) -> None:
        self.file, self.name, self.block = file, name, block
        self.pipe = isinstance(file, io.FileIO) and not file.seekable()
        self.free: list[mmap] = []

    def buffer(self, size: int) -> mmap:
        """A buffer with room for so many bytes, a newline and the padding."""
        try:
            buffer = self.free.pop()
        except IndexError:
            return mmap(-1, size + 1 + PADDING)
        return buffer if len(buffer) > size + PADDING else mmap(-1, size + 1 + PADDING)

    def give_back(self, buffer: mmap) -> None:
        """The text in this buffer has been used."""
        self.free.append(buffer)

    def more(self, length: int, wanted: int) -> int:
        """How much more to read of a line that is so long already."""
        if length > MAX_LINE:
            raise DataError(f"{self.name}: a line of more than {MAX_LINE >> 20} MB")
        return min(wanted, MAX_LINE + 1 - length) if length else wanted


def mark(buffer: mmap, begin: int, end: int) -> int:
    """Where a text begins: after its byte order mark, if it has one."""
    return begin + 3 if buffer[begin : min(begin + 3, end)] == b"\xef\xbb\xbf" else begin


def padded(buffer: mmap, begin: int, end: int) -> Text:
    """The text buffer[begin:end], with a newline at its end and the padding behind it."""
    if end > begin and buffer[end - 1] != 10:
        buffer[end] = 10
        end += 1
    buffer[end : end + PADDING] = bytes(PADDING)
    return buffer, begin, end


class Ranges(Lines):
    """A file that can be read at any place. Each thread reads what it parses: it is then in its cache."""

    file: SteadyFile

    def __iter__(self) -> Iterator[int]:
        """Where the ranges begin. A line belongs to the one in which it begins."""
        self.start = offset = self.file.tell()
        self.size = self.file.length or 0
        while offset < self.size:
            yield offset
            offset += self.block
            self.file.seek(offset)  # for whoever asks how far it is

    def text(self, item: int) -> Text:
        front = 0 if item == self.start else min(PAGESIZE, item)  # shows whether a line begins with the range
        stop = front + self.block
        buffer = self.buffer(stop + PAGESIZE)
        end = self.fill(buffer, 0, stop, item - front)
        begin = buffer.find(b"\n", front - 1, end) + 1 if front else 0
        if not front <= begin < end:  # no line begins in it
            return buffer, 0, 0
        look = stop - 1
        last = max(begin, buffer.rfind(b"\n", begin, look) + 1)
        while look < end:  # the last line ends with the first newline from here on, or with the file
            newline = buffer.find(b"\n", look, end)
            if newline >= 0:
                end = newline + 1
                break
            look, more = end, self.more(end - last, max(PAGESIZE, end - stop))
            if len(buffer) <= look + more + PADDING:
                buffer, shorter = mmap(-1, look + more + 1 + PADDING), buffer
                buffer[:look] = shorter[:look]
            end = self.fill(buffer, look, look + more, item - front + look)
        return padded(buffer, begin if front else mark(buffer, begin, end), end)

    def fill(self, buffer: mmap, begin: int, end: int, offset: int) -> int:
        """Read from a place of the file to buffer[begin:end]; returns where that ended."""
        end = min(end, begin + self.size - offset)
        while begin < end:
            got = os.preadv(self.file.fileno(), [memoryview(buffer)[begin:end]], offset)
            if not got:
                raise self.file.cut_short(offset)
            begin += got
            offset += got
        return begin


class InOrder(Lines):
    """What can be read in order only, a pipe or packed data: the items are the texts.

    From a pipe they are taken as they come: when no more is there, what is there is a text, and None follows it.
    """

    waiting = False  # for a pipe to bring more
    head = b""  # what has been read of it already

    def cut(self, buffer: mmap, begin: int, end: int) -> int:
        """Just behind the last newline at which a text may be cut; `begin` if there is none."""
        return buffer.rfind(b"\n", begin, end) + 1 or begin

    def __iter__(self) -> Iterator[Text | None]:
        """Blocks of about equal size; what follows the last newline of one begins the next."""
        pipe = self.pipe
        rest = self.head
        ended, first = False, True
        damage: DataError | None = None
        while not ended:
            front = max(FRONT, -(-len(rest) // PAGESIZE) * PAGESIZE)
            room = self.more(len(rest) - rest.rfind(b"\n") - 1, max(self.block, len(rest)))
            buffer = self.buffer(front + room)
            begin, end = front - len(rest), front
            buffer[begin:front] = rest
            dry = False
            while not ended and end < front + room:
                dry = pipe and not select([self.file], [], [], 0)[0] and self.cut(buffer, begin, end) > begin
                if dry:
                    break
                try:
                    got = self.fill(memoryview(buffer)[end : front + room])
                except DataError as error:  # raised when the whole lines before it have been read
                    damage, got = error, 0
                end += got
                ended = not got
            cut = end if ended and damage is None else self.cut(buffer, begin, end)
            rest = buffer[cut:end]
            if cut > begin:
                yield padded(buffer, mark(buffer, begin, end) if first else begin, cut)
                first = False
            if dry:
                yield None
        if damage is not None:
            raise damage

    def text(self, item: Text) -> Text:
        return item

    def fill(self, room: memoryview) -> int:
        try:
            self.waiting = self.pipe
            return self.file.readinto(room)  # type: ignore[attr-defined]
        finally:
            self.waiting = False


class RecordLines(InOrder):
    """Text whose lines may have newlines within quotes, cut between two records."""

    delimiter = ","

    def cut(self, buffer: mmap, begin: int, end: int) -> int:
        return cut(buffer, begin, end, self.delimiter)
