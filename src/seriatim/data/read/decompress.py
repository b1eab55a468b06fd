"""Decompression while reading: gzip, zstd, bzip2 and xz, detected from the first bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from seriatim.errors import DataError

EXPANSION = 1100  # the highest expansion ratio of a file; gzip reaches at most 1,032
FREE = 1 << 26  # up to this many decompressed bytes, the ratio is not checked
MEMORY = 1 << 27  # limit for the window that a file requests; `zstd --long` and `xz -9` need no more
CHUNK = 1 << 16  # compressed bytes per read
PIECE = 1 << 17  # decompressed bytes per step. Above this, malloc maps new pages each time: a third slower
FIRST = 1 << 12  # compressed bytes for a new member; few, because the rest is copied after a short member
ZSTD = 1 << 10  # compressed bytes per call of zstd, which has no limit for its output: 4 bytes can become 128 KiB

# The allowed values of each of the first bytes. A text may also begin with "BZh", or like a skippable frame.
MAGIC: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("gzip", (b"\x1f", b"\x8b")),
    ("zstd", (b"\x28", b"\xb5", b"\x2f", b"\xfd")),
    ("zstd", (b"PQRSTUVWXYZ[\\]^_", b"\x2a", b"\x4d", b"\x18")),  # a skippable frame
    ("bzip2", (b"B", b"Z", b"h", b"123456789", b"\x31", b"\x41", b"\x59", b"\x26", b"\x53", b"\x59")),
    ("bzip2", (b"B", b"Z", b"h", b"123456789", b"\x17", b"\x72", b"\x45", b"\x38", b"\x50", b"\x90")),  # empty
    ("xz", (b"\xfd", b"7", b"z", b"X", b"Z", b"\0")),
)
HEAD = max(len(magic) for _, magic in MAGIC)
COMMAND = {"gzip": "gzip -dc", "zstd": "zstd -dc --long=31", "bzip2": "bzip2 -dc", "xz": "xz -dc"}
ZEROS = re.compile(rb"\0*")


def packing(head: bytes) -> str | None:
    """The compression of data that begin with these bytes: "gzip", "zstd", "bzip2", "xz", or None.

    gzip needs 2 bytes, zstd 4, xz 6 and bzip2 10. With fewer bytes, `undecided` says whether more are needed. For most
    texts one byte is enough.

    >>> packing(bytes.fromhex("1f8b")), packing(b"BZh 1:1")
    ('gzip', None)
    """
    return next((kind for kind, magic in MAGIC if len(head) >= len(magic) and fits(head, magic)), None)


def undecided(head: bytes) -> bool:
    """Whether these could be the first bytes of compressed data, but are too few to be sure.

    >>> undecided(b"BZh"), undecided(b"BZh 1"), undecided(b"1")
    (True, False, False)
    """
    return any(len(head) < len(magic) and fits(head, magic) for _, magic in MAGIC)


def fits(head: bytes, magic: tuple[bytes, ...]) -> bool:
    return all(byte in allowed for byte, allowed in zip(head, magic, strict=False))


class Inflater:
    """A member of a gzip file, with the methods of `bz2.BZ2Decompressor`."""

    needs_input = True

    def __init__(self, member: Any) -> None:
        self.member = member

    def decompress(self, data: memoryview, max_length: int) -> bytes:
        piece: bytes = self.member.decompress(self.member.unconsumed_tail or data, max_length)
        self.needs_input = len(piece) < max_length
        return piece

    @property
    def eof(self) -> bool:
        return self.member.eof

    @property
    def unused_data(self) -> bytes:
        return self.member.unused_data


class Frame:
    """A frame of a zstd file, with the methods of `bz2.BZ2Decompressor`."""

    needs_input = True

    def __init__(self, frame: Any) -> None:
        self.frame, self.rest = frame, memoryview(b"")

    def decompress(self, data: memoryview, max_length: int) -> bytes:
        """Decompress one piece of at most 32 MB. The library itself has no limit."""
        rest, piece = self.rest or data, b""
        while rest and not piece and not self.frame.eof:
            piece, rest = self.frame.decompress(rest[:ZSTD]), rest[ZSTD:]
        self.rest, self.needs_input = rest, not rest
        return piece

    @property
    def eof(self) -> bool:
        return self.frame.eof

    @property
    def unused_data(self) -> bytes:
        return self.frame.unused_data + self.rest


def whole(file: Any, kind: str, start: int) -> Any:
    """A reader of a whole gzip file on disk, or None. It takes 0.8 of the time, but does not say where an error is."""
    if kind != "gzip" or not isinstance(file, io.FileIO) or not file.seekable():
        return None
    try:
        from isal.igzip import IGzipFile
    except ImportError:
        return None
    file.seek(start)
    return IGzipFile(fileobj=file, mode="rb")


def members(kind: str, name: str) -> Callable[[], Any]:
    """A function that returns a decompressor for the next member, frame or stream of a file."""
    if kind == "gzip":
        try:
            from isal.isal_zlib import decompressobj  # twice as fast as zlib
        except ImportError:
            from zlib import decompressobj  # type: ignore[assignment]
        return lambda: Inflater(decompressobj(31))
    if kind == "zstd":
        try:
            from zstandard import ZstdDecompressor
        except ImportError:
            how = f"pip install zstandard, or {COMMAND[kind]} FILE | seriatim run -"
            raise DataError(f"{name}: zstd data need the package zstandard: {how}") from None
        context = ZstdDecompressor(max_window_size=MEMORY)
        return lambda: Frame(context.decompressobj())
    if kind == "bzip2":
        from bz2 import BZ2Decompressor

        return BZ2Decompressor
    from lzma import FORMAT_XZ, LZMADecompressor

    return lambda: LZMADecompressor(FORMAT_XZ, MEMORY)


class Unpacked(io.RawIOBase):
    """The decompressed bytes of a file with one or more members (gzip), frames (zstd) or streams (bzip2, xz).

    If the data end too early, all bytes before the end are returned before the error is raised. If the data are
    damaged, wrong bytes may be returned first, because the checksum comes last. The memory is bounded for any file:
    some MB, the window of zstd or xz (at most MEMORY), and 32 MB for the output of ZSTD bytes. The GIL is released
    during decompression. Closing this object leaves the file open.

    >>> import gzip
    >>> Unpacked(io.BytesIO(gzip.compress(b"1 1:1") + gzip.compress(b" 2:1")), "gzip", "two").readall()
    b'1 1:1 2:1'
    """

    def __init__(self, file: io.RawIOBase | io.BufferedIOBase, kind: str, name: str, head: bytes = b"") -> None:
        """Decompress the file from its current position.

        kind : the compression, from `packing`.
        name : the name of the file in messages.
        head : the bytes that have been read already.
        """
        self.kind, self.name = kind, name
        self.begin = members(kind, name)
        self.file = file
        self.read_some = getattr(file, "read1", file.read)  # of a pipe: the bytes that are there, without waiting
        self.start = file.tell() - len(head) if file.seekable() else 0
        self.whole = whole(file, kind, self.start)
        self.member: Any = None
        self.step = 0  # compressed bytes in the next call of the member
        self.chunk, self.at, self.offset = head, 0, 0  # compressed bytes, the number used, and their position
        self.piece = memoryview(b"")
        self.unpacked = 0
        self.error: DataError | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        """Copy the next decompressed bytes into a buffer. Returns how many; 0 at the end."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if self.whole is not None:
            try:
                length = self.whole.readinto(room)
                self.unpacked += length
                return length
            except MemoryError:
                raise
            except Exception:  # isal raises several classes of its own
                self.begin_again()
        return self.next_into(room)

    def begin_again(self) -> None:
        """Decompress the returned bytes again, member by member, so that the error can say where it is."""
        length, self.unpacked, self.whole, self.chunk = self.unpacked, 0, None, b""
        self.file.seek(self.start)
        while length and (got := self.next_into(bytearray(min(length, PIECE)))):
            length -= got

    def next_into(self, room: Any) -> int:
        """Copy the next decompressed bytes into a buffer, member by member."""
        while not self.piece:
            if self.error is not None:  # a decompressor must not be used after an error
                raise self.error
            if self.member is None and not self.next_member():
                return 0
            self.piece = memoryview(self.next_piece())
        length = min(len(room), len(self.piece))
        memoryview(room)[:length] = self.piece[:length]
        self.piece = self.piece[length:]
        return length

    def next_member(self) -> bool:
        """Begin the next member. Returns False at the end of the data."""
        while True:
            if self.kind in ("gzip", "xz"):  # zeros may follow a member
                self.at = ZEROS.match(self.chunk, self.at).end()  # type: ignore[union-attr]
            head = self.chunk[self.at : self.at + HEAD]
            if len(head) == HEAD or not self.more():
                break
        if head and packing(head) != self.kind:
            if any(kind == self.kind and fits(head, magic) for kind, magic in MAGIC):
                raise self.cut_off()
            raise self.failed(f"garbage after the {self.kind} data, at byte {self.place}")
        if head:
            self.member, self.step = self.begin(), FIRST
        return bool(head)

    def next_piece(self) -> bytes:
        """Decompress the next piece, which may be empty."""
        begin = self.at
        if self.member.needs_input:
            if self.at == len(self.chunk) and not self.more():
                raise self.cut_off()
            begin, self.at = self.at, min(self.at + self.step, len(self.chunk))
            self.step = min(2 * self.step, CHUNK)
        try:
            piece: bytes = self.member.decompress(memoryview(self.chunk)[begin : self.at], PIECE)
        except MemoryError:
            raise
        except Exception as error:  # each library raises its own classes
            if "memory" in str(error).lower():
                raise self.refused(f"need more than {MEMORY >> 20} MB of memory") from None
            raise self.failed(f"damaged {self.kind} data before byte {self.place}: {error}") from None
        if self.member.eof:
            self.at -= len(self.member.unused_data)
            self.member = None
        self.unpacked += len(piece)
        if self.unpacked > max(FREE, EXPANSION * self.place):
            raise self.refused(f"expand to more than {EXPANSION:,} times their size")
        return piece

    def more(self) -> bool:
        """Read more compressed bytes and append them to the unused ones. Returns False at the end of the file."""
        data = self.read_some(CHUNK)
        if data is None:
            raise DataError(f"{self.name}: nothing to read yet, and the file is non-blocking; make it blocking")
        self.chunk, self.at, self.offset = self.chunk[self.at :] + data, 0, self.place
        return bool(data)

    @property
    def place(self) -> int:
        """The number of compressed bytes used so far."""
        return self.offset + self.at

    def failed(self, problem: str) -> DataError:
        self.error = DataError(f"{self.name}: {problem}")
        return self.error

    def cut_off(self) -> DataError:
        return self.failed(f"truncated {self.kind} data: they end at byte {self.offset + len(self.chunk)}, too early")

    def refused(self, problem: str) -> DataError:
        command = f"{COMMAND[self.kind]} FILE | seriatim run -"
        return self.failed(f"{self.kind} data that {problem}; if you trust the file, run {command}")
