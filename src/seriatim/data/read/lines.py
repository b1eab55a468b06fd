"""Blocks of whole lines from a file, in buffers with padding, so that parsers may read past the end."""

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
FRONT = 16 * PAGESIZE  # space for the beginning of a line

Text = tuple[mmap, int, int]  # a buffer, and the begin and end of the lines in it


class Lines:
    """The base of `Ranges` and `InOrder`. Iterating yields items in order; `text` reads an item, on any thread.

    Files are read to the start of a memory page. On some processors, copying to an address just after it takes five
    times as long.
    """

    def __init__(self, file: BinaryIO, name: str, block: int) -> None:
        self.file, self.name, self.block = file, name, block
        self.pipe = isinstance(file, io.FileIO) and not file.seekable()
        self.free: list[mmap] = []

    def buffer(self, size: int) -> mmap:
        """A buffer for `size` bytes, a newline and the padding."""
        try:
            buffer = self.free.pop()
        except IndexError:
            return mmap(-1, size + 1 + PADDING)
        return buffer if len(buffer) > size + PADDING else mmap(-1, size + 1 + PADDING)

    def give_back(self, buffer: mmap) -> None:
        """Reuse this buffer, whose text has been parsed."""
        self.free.append(buffer)

    def more(self, length: int, wanted: int) -> int:
        """How many more bytes to read of a line that has `length` bytes so far; at most MAX_LINE in all."""
        if length > MAX_LINE:
            raise DataError(f"{self.name}: a line of more than {MAX_LINE >> 20} MB; divide it into lines")
        return min(wanted, MAX_LINE + 1 - length) if length else wanted


def mark(buffer: mmap, begin: int, end: int) -> int:
    """The beginning of a text, after a byte order mark."""
    return begin + 3 if buffer[begin : min(begin + 3, end)] == b"\xef\xbb\xbf" else begin


def padded(buffer: mmap, begin: int, end: int) -> Text:
    """The text buffer[begin:end], completed by a newline and the padding."""
    if end > begin and buffer[end - 1] != 10:
        buffer[end] = 10
        end += 1
    buffer[end : end + PADDING] = bytes(PADDING)
    return buffer, begin, end


class Ranges(Lines):
    """A seekable file. Each thread reads the range that it parses, so that the text is in its cache."""

    file: SteadyFile

    def __iter__(self) -> Iterator[int]:
        """Yield the beginnings of the ranges. A line belongs to the range in which it begins."""
        self.start = offset = self.file.tell()
        self.size = self.file.length or 0
        while offset < self.size:
            yield offset
            offset += self.block
            self.file.seek(offset)  # so that `share_read` knows the position

    def text(self, item: int) -> Text:
        front = 0 if item == self.start else min(PAGESIZE, item)  # its last byte tells whether a line begins here
        stop = front + self.block
        buffer = self.buffer(stop + PAGESIZE)
        end = self.fill(buffer, 0, stop, item - front)
        begin = buffer.find(b"\n", front - 1, end) + 1 if front else 0
        if not front <= begin < end:  # no line begins in this range
            return buffer, 0, 0
        look = stop - 1
        last = max(begin, buffer.rfind(b"\n", begin, look) + 1)
        while look < end:  # the last line ends with the next newline, or with the file
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
        """Read the file from `offset` to buffer[begin:end]. Returns the end of the bytes in the buffer."""
        end = min(end, begin + self.size - offset)
        while begin < end:
            got = os.preadv(self.file.fileno(), [memoryview(buffer)[begin:end]], offset)
            if not got:
                raise self.file.cut_short(offset)
            begin += got
            offset += got
        return begin


class InOrder(Lines):
    """A pipe or compressed data, which can only be read in order. The items are the texts.

    When a pipe is empty for the moment, the lines so far become a text, and the item None follows it.
    """

    waiting = False  # whether a thread waits for more data from a pipe
    head = b""  # the bytes that have been read already

    def cut(self, buffer: mmap, begin: int, end: int) -> int:
        """The end of the last whole line, after its newline; `begin` if there is no whole line."""
        return buffer.rfind(b"\n", begin, end) + 1 or begin

    def __iter__(self) -> Iterator[Text | None]:
        """Yield blocks of about equal size. An incomplete last line begins the next block."""
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
                except DataError as error:  # raised later, after the whole lines before it
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
    """Blocks of whole records of a table, whose cells may contain newlines within quotes."""

    delimiter = ","

    def cut(self, buffer: mmap, begin: int, end: int) -> int:
        return cut(buffer, begin, end, self.delimiter)
