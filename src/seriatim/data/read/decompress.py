"""Packed data, told by their first bytes and unpacked as they are read: gzip, zstd, bzip2 and xz."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from seriatim.errors import DataError

EXPANSION = 1100  # times its size that a file may unpack to: gzip cannot do more than 1,032
FREE = 1 << 26  # unpacked bytes that are not held against a file
MEMORY = 1 << 27  # for the window that a file says it needs; `zstd --long` and `xz -9` need no more
CHUNK = 1 << 16  # packed bytes read at once
PIECE = 1 << 17  # unpacked bytes made at once; for more malloc takes new pages each time, and it is a third slower
FIRST = 1 << 12  # packed bytes given to a new member: short ones leave the most of it, which is copied for the next
ZSTD = 1 << 10  # packed bytes given to zstd at once: it unpacks all of them, and 4 can stand for 128 KiB

# What each of the first bytes may be. A text may begin with "BZh" or with a letter of a frame to be skipped.
MAGIC: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("gzip", (b"\x1f", b"\x8b")),
    ("zstd", (b"\x28", b"\xb5", b"\x2f", b"\xfd")),
    ("zstd", (b"PQRSTUVWXYZ[\\]^_", b"\x2a", b"\x4d", b"\x18")),  # a frame to be skipped
    ("bzip2", (b"B", b"Z", b"h", b"123456789", b"\x31", b"\x41", b"\x59", b"\x26", b"\x53", b"\x59")),
    ("bzip2", (b"B", b"Z", b"h", b"123456789", b"\x17", b"\x72", b"\x45", b"\x38", b"\x50", b"\x90")),  # of nothing
    ("xz", (b"\xfd", b"7", b"z", b"X", b"Z", b"\0")),
)
HEAD = max(len(magic) for _, magic in MAGIC)
COMMAND = {"gzip": "gzip -dc", "zstd": "zstd -dc --long=31", "bzip2": "bzip2 -dc", "xz": "xz -dc"}
ZEROS = re.compile(rb"\0*")


def packing(head: bytes) -> str | None:
    """How data that begin so are packed: "gzip", "zstd", "bzip2", "xz", or None for anything else.

    gzip shows in 2 bytes, zstd in 4, xz in 6 and bzip2 in 10. If fewer are there, `undecided` tells whether to wait for
    more; for most texts one is enough.

    >>> packing(bytes.fromhex("1f8b")), packing(b"BZh 1:1")
    ('gzip', None)
    """
    return next((kind for kind, magic in MAGIC if len(head) >= len(magic) and fits(head, magic)), None)


def undecided(head: bytes) -> bool:
    """Whether these are the first bytes of packed data, but too few of them to be sure.

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
    """A frame of a zstd file, with the same methods."""

    needs_input = True

    def __init__(self, frame: Any) -> None:
        self.frame, self.rest = frame, memoryview(b"")

    def decompress(self, data: memoryview, max_length: int) -> bytes:
        """One piece, of no more than 32 MB: the library has no such limit."""
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
    """A reader of all members of a gzip file on disk, in 0.8 of the time, or None; of errors it does not say where."""
    if kind != "gzip" or not isinstance(file, io.FileIO) or not file.seekable():
        return None
    try:
        from isal.igzip import IGzipFile
    except ImportError:
        return None
    file.seek(start)
    return IGzipFile(fileobj=file, mode="rb")


def members(kind: str, name: str) -> Callable[[], Any]:
    """What makes a decompressor for the next member, frame or stream of such a file."""
    if kind == "gzip":
        try:
            from isal.isal_zlib import decompressobj  # twice as fast
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
    """The unpacked bytes of a file: of all its members (gzip), frames (zstd) or streams (bzip2, xz) in turn.

    Of data that end too early all that can be unpacked is given before the error. Of damaged data wrong bytes may be
    given before it, as the checksum stands behind them. Whatever the file says, the memory taken is some MB, the
    window of zstd or xz (at most MEMORY), and 32 MB for what zstd can make of ZSTD bytes. The GIL is free while it
    unpacks. To close it leaves the file open.

    >>> import gzip
    >>> Unpacked(io.BytesIO(gzip.compress(b"1 1:1") + gzip.compress(b" 2:1")), "gzip", "two").readall()
    b'1 1:1 2:1'
    """

    def __init__(self, file: io.RawIOBase | io.BufferedIOBase, kind: str, name: str, head: bytes = b"") -> None:
        """The file is read from where it is.

        kind : what `packing` says of it.
        name : of the file, for errors.
        head : what has been read of it already.
        """
        self.kind, self.name = kind, name
        self.begin = members(kind, name)
        self.file = file
        self.read_some = getattr(file, "read1", file.read)  # what a pipe holds, without waiting for all
        self.start = file.tell() - len(head) if file.seekable() else 0
        self.whole = whole(file, kind, self.start)
        self.member: Any = None
        self.step = 0  # packed bytes that the member gets next
        self.chunk, self.at, self.offset = head, 0, 0  # packed bytes, how many are used, and where these begin
        self.piece = memoryview(b"")
        self.unpacked = 0
        self.error: DataError | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        """Put what comes next into the room, as much as is there and fits; returns its length, 0 at the end."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if self.whole is not None:
            try:
                length = self.whole.readinto(room)
                self.unpacked += length
                return length
            except MemoryError:
                raise
            except Exception:  # it has several of its own
                self.begin_again()
        return self.next_into(room)

    def begin_again(self) -> None:
        """Unpack member by member what has been given already, to find what is wrong with the rest."""
        length, self.unpacked, self.whole, self.chunk = self.unpacked, 0, None, b""
        self.file.seek(self.start)
        while length and (got := self.next_into(bytearray(min(length, PIECE)))):
            length -= got

    def next_into(self, room: Any) -> int:
        """The same, member by member."""
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
        """Begin the next member, if there is one."""
        while True:
            if self.kind in ("gzip", "xz"):  # may be padded with zeros
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
        """Unpack a little more; what comes of it may be nothing."""
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
        except Exception as error:  # each library has its own
            if "memory" in str(error).lower():
                raise self.refused(f"need more than {MEMORY >> 20} MB of memory") from None
            raise self.failed(f"damaged {self.kind} data before byte {self.place}: {error}") from None
        if self.member.eof:
            self.at -= len(self.member.unused_data)
            self.member = None
        self.unpacked += len(piece)
        if self.unpacked > max(FREE, EXPANSION * self.place):
            raise self.refused(f"unpack to more than {EXPANSION:,} times their size")
        return piece

    def more(self) -> bool:
        """Read more packed bytes, if there are any, behind those that have not been used."""
        data = self.read_some(CHUNK)
        if data is None:
            raise DataError(f"{self.name}: nothing to read yet, and it is set not to wait")
        self.chunk, self.at, self.offset = self.chunk[self.at :] + data, 0, self.place
        return bool(data)

    @property
    def place(self) -> int:
        """How many packed bytes have been used."""
        return self.offset + self.at

    def failed(self, problem: str) -> DataError:
        self.error = DataError(f"{self.name}: {problem}")
        return self.error

    def cut_off(self) -> DataError:
        return self.failed(f"truncated {self.kind} data: they end at byte {self.offset + len(self.chunk)}, too early")

    def refused(self, problem: str) -> DataError:
        command = f"{COMMAND[self.kind]} FILE | seriatim run -"
        return self.failed(f"{self.kind} data that {problem}; if that is meant, unpack them first: {command}")
