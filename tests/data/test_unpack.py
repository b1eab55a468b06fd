"""Decompression: the same bytes from any source in any pieces, and an error for all damaged data."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import sys
import tempfile
import threading
import zlib
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seriatim.data.read import decompress
from seriatim.data.read.decompress import Unpacked, packing, undecided
from seriatim.errors import DataError

try:
    import zstandard
except ImportError:
    zstandard = None

ZSTD = pytest.param("zstd", marks=pytest.mark.skipif(zstandard is None, reason="no zstandard"))
KINDS = ["gzip", ZSTD, "bzip2", "xz"]
PADDED = {"gzip": b"\0" * 7, "xz": b"\0" * 8}
NEEDED = {"gzip": 2, "zstd": 4, "bzip2": 10, "xz": 6}
SKIPPED = bytes.fromhex("502a4d18 03000000 616263")  # a skippable zstd frame
TEXT = b"".join(b"%d %d:%d\n" % (k % 3 - 1, k % 7 + 1, k * k) for k in range(300))
NOISE = random.Random(3).randbytes(1 << 19)


def pack(kind: str, data: bytes) -> bytes:
    if kind == "zstd":
        return zstandard.ZstdCompressor(write_checksum=True).compress(data)
    return {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}[kind](data)


def reference(kind: str, data: bytes) -> tuple[bytes, bytes]:
    """The decompressed bytes of a possibly truncated member by the library itself, and the unused bytes."""
    member = {
        "gzip": lambda: zlib.decompressobj(31),
        "zstd": lambda: zstandard.ZstdDecompressor().decompressobj(),
        "bzip2": bz2.BZ2Decompressor,
        "xz": lzma.LZMADecompressor,
    }[kind]()
    return member.decompress(data), member.unused_data


class Source(io.RawIOBase):
    """Returns at most N bytes per read, as a pipe may."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self.data, self.sizes = io.BytesIO(data), sizes

    def readable(self) -> bool:
        return True

    def readinto(self, room) -> int:
        self.sizes = self.sizes[1:] + self.sizes[:1]
        return self.data.readinto(memoryview(room)[: self.sizes[0]])


def read(file: Unpacked, sizes: list[int] | None = None) -> tuple[bytes, str]:
    """All decompressed bytes, and the message of the error at the end."""
    content, room = bytearray(), bytearray(max(sizes or [1 << 16]))
    try:
        while count := file.readinto(memoryview(room)[: sizes[0]] if sizes else room):
            content += room[:count]
            sizes = sizes and sizes[1:] + sizes[:1]
    except DataError as error:
        with pytest.raises(DataError) as again:  # the same error again, not one of the broken decompressor
            file.readinto(room)
        assert str(again.value) == str(error)
        return bytes(content), str(error)
    assert file.readinto(room) == 0
    return bytes(content), ""


def unpacked(kind: str, data: bytes) -> tuple[bytes, str]:
    """Decompress from memory and from disk. From disk, more bytes may come before the error of damaged data."""
    content, problem = read(Unpacked(io.BytesIO(data), kind, "rows"))
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(data)
        file.seek(0)
        from_disk = read(Unpacked(file, kind, "rows"))
    assert from_disk[0].startswith(content) and from_disk[1] == problem
    assert from_disk[0] == content or "damaged" in problem
    return content, problem


@pytest.fixture(params=["isal", "zlib"])
def inflate(request, monkeypatch) -> None:
    """Test gzip with isal and with zlib."""
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
        monkeypatch.setitem(sys.modules, "isal.igzip", None)
    else:
        pytest.importorskip("isal")


# ---- detection


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", [b"", TEXT])
def test_a_kind_is_told_by_as_few_bytes_as_can_be(kind, data):
    packed = pack(kind, data)
    for length in range(20):
        enough = length >= NEEDED[kind]
        assert packing(packed[:length]) == (kind if enough else None)
        assert undecided(packed[:length]) == (not enough)


def test_a_frame_to_be_skipped_is_zstd():
    for first in range(0x50, 0x60):
        assert packing(bytes([first]) + SKIPPED[1:]) == "zstd"


@pytest.mark.parametrize(
    "text", [TEXT, b"1", b"BZh 1:1 2:1 3:1", b"BZh9 1:1 2:1", b"BZh01AY&SY", b"P 1:1", b"(1:1", b"7z 1:1", b"\n", b"\0"]
)
def test_a_text_is_not_packed(text):
    assert packing(text) is None
    assert not undecided(text)


# ---- the same bytes


@pytest.mark.parametrize("kind", KINDS)
@given(
    members=st.lists(st.binary(max_size=300) | st.integers(0, 3000).map(bytes), max_size=4),
    source=st.lists(st.integers(1, 100), min_size=1, max_size=4),
    rooms=st.lists(st.integers(1, 2000), min_size=1, max_size=4),
    sizes=st.fixed_dictionaries({name: st.integers(1, 200) for name in ("CHUNK", "PIECE", "FIRST", "ZSTD")}),
    pad=st.booleans(),
)
def test_members_one_after_another(kind, members, source, rooms, sizes, pad):
    packed = (PADDED.get(kind, b"") if pad else b"").join([*(pack(kind, member) for member in members), b""])
    with patch.multiple(decompress, **sizes):
        assert read(Unpacked(Source(packed, source), kind, "rows"), rooms) == (b"".join(members), "")


@pytest.mark.usefixtures("inflate")
@settings(max_examples=30)
@given(st.lists(st.binary(max_size=3000), max_size=4), st.integers(1, 200))
def test_both_ways_to_read_gzip(members, piece):
    with patch.object(decompress, "PIECE", piece):
        assert unpacked("gzip", b"".join(map(gzip.compress, members))) == (b"".join(members), "")


@pytest.mark.parametrize("kind", KINDS)
def test_more_than_fits_into_any_buffer(kind):
    data = NOISE + bytes(1 << 20) + TEXT * 500
    packed = pack(kind, data) + pack(kind, b"") + pack(kind, TEXT)
    for sizes in ([1 << 30], [1 << 16, 1, 4095]):
        assert read(Unpacked(Source(packed, sizes), kind, "rows"), [1 << 20, 77]) == (data + TEXT, "")


@pytest.mark.parametrize("kind", KINDS)
def test_many_short_members(kind):
    assert unpacked(kind, pack(kind, b"1 1:1\n") * 3000) == (b"1 1:1\n" * 3000, "")


@pytest.mark.parametrize("kind", [ZSTD])
def test_frames_without_data(kind):
    assert unpacked(kind, SKIPPED + pack(kind, TEXT) + SKIPPED + pack(kind, TEXT) + SKIPPED) == (TEXT * 2, "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_or_buffered_file(kind, tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"12345" + pack(kind, TEXT))
    for buffering in (0, -1):
        with path.open("rb", buffering) as file:
            file.seek(5)
            assert io.BufferedReader(Unpacked(file, kind, "rows")).readlines() == TEXT.splitlines(keepends=True)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_read_to_tell_the_kind(kind):
    packed = pack(kind, TEXT) * 2
    for length in range(len(packed)):
        assert read(Unpacked(io.BytesIO(packed[length:]), kind, "rows", packed[:length])) == (TEXT * 2, "")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("buffered", [False, True])
def test_a_pipe_is_not_waited_for(kind, buffered):
    """The bytes that have arrived are decompressed before the next ones arrive."""
    reader, writer = os.pipe()
    with io.FileIO(reader) as raw, io.FileIO(writer, "w") as end:
        file = Unpacked(io.BufferedReader(raw) if buffered else raw, kind, "pipe")
        room = bytearray(1 << 20)
        given_up = threading.Timer(20, end.close)
        given_up.start()
        for data in (b"1 1:1\n", b"-1 2:2\n"):
            end.write(pack(kind, data))
            assert room[: file.readinto(room)] == data
        assert not end.closed
        given_up.cancel()
        end.close()
        assert file.readinto(room) == 0


def test_closed():
    source = io.BytesIO(gzip.compress(TEXT))
    with Unpacked(source, "gzip", "rows") as file:
        assert file.readable()
        assert file.read(2) == TEXT[:2]
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.readinto(bytearray(1))
    assert not source.closed


# ---- damaged data


@pytest.mark.parametrize("kind", KINDS)
def test_cut_off_anywhere(kind, inflate):
    first, second = pack(kind, TEXT[:1000]), pack(kind, TEXT[1000:1300])
    for cut in range(len(first + second)):
        expected, rest = reference(kind, (first + second)[:cut]) if cut else (b"", b"")
        expected += reference(kind, rest)[0] if rest else b""
        problem = f"rows: truncated {kind} data: they end at byte {cut}, too early"
        assert unpacked(kind, (first + second)[:cut]) == (expected, "" if cut in (0, len(first)) else problem)


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_anywhere(kind, inflate):
    packed, data = bytearray(pack(kind, TEXT[:200]) * 2), TEXT[:200] * 2
    same = 0
    for bit in range(8 * len(packed)):
        packed[bit // 8] ^= 1 << bit % 8
        content, problem = unpacked(kind, bytes(packed))
        packed[bit // 8] ^= 1 << bit % 8
        if problem:
            assert problem.startswith("rows: ") and kind in problem, (bit, problem)
        else:
            assert content == data, bit
            same += 1
    assert same < 250  # bits without effect, such as the time in a gzip header


@pytest.mark.parametrize("kind", KINDS)
@given(st.binary(min_size=1, max_size=40))
def test_garbage_that_begins_well(kind, garbage):
    packed = pack(kind, TEXT)
    assert unpacked(kind, packed[:12] + garbage)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_garbage_behind(kind):
    packed = pack(kind, TEXT)
    others = (b"B", b"\x1f", b"\xfd", b"(")  # each may begin a compressed file
    for garbage in (b"1 1:1\n", b"x", packed[1:], *(first for first in others if first != packed[:1])):
        assert unpacked(kind, packed + garbage) == (TEXT, f"rows: garbage after the {kind} data, at byte {len(packed)}")
    for zeros in (4, 1000, 100_000):
        problem = "" if kind in PADDED else f"rows: garbage after the {kind} data, at byte {len(packed)}"
        assert unpacked(kind, packed + bytes(zeros)) == (TEXT, problem)


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_placed(kind):
    packed = bytearray(pack(kind, NOISE))
    packed[1 << 18] ^= 255
    problem = unpacked(kind, bytes(packed))[1]
    place = int(problem.split(f"damaged {kind} data before byte ")[1].split(":")[0])
    assert 1 << 18 < place <= len(packed)


# ---- limits


@pytest.mark.parametrize("kind", KINDS)
def test_a_bomb(kind):
    """A file that expands too much is refused. gzip reaches at most 1,032 to 1, so it is read."""
    packed, length = pack(kind, bytes(1 << 24)), 0
    file, room = Unpacked(io.BytesIO(packed * 10), kind, "bomb"), bytearray(1 << 20)
    try:
        while count := file.readinto(room):
            length += count
            assert len(file.piece) <= 1 << 25
    except DataError as error:
        assert f"bomb: {kind} data that expand to more than 1,100 times their size" in str(error)
        assert f"{decompress.COMMAND[kind]} FILE | seriatim run -" in str(error)
        assert kind != "gzip" and decompress.FREE - decompress.PIECE <= length <= decompress.FREE
    else:
        assert kind == "gzip" and length == 10 << 24


@pytest.mark.parametrize("kind", [ZSTD])
def test_four_bytes_of_zstd_for_128_kib(kind):
    """A frame of blocks that repeat one byte: zstd has no limit for the output of one call."""
    block = (1 << 17 << 3 | 1 << 1).to_bytes(3, "little") + b"0"
    file, length = Unpacked(io.BytesIO(bytes.fromhex("28b52ffd 00 38") + block * 100_000), kind, "bomb"), 0
    with pytest.raises(DataError, match="1,100 times"):
        while count := file.readinto(bytearray(1 << 20)):
            length += count
            assert len(file.piece) <= 1 << 25
    assert length <= decompress.FREE


@pytest.mark.parametrize("kind", [ZSTD])
def test_a_window_that_is_too_large(kind):
    content, problem = unpacked(kind, bytes.fromhex("28b52ffd 00 a8 010000"))  # 2 GB for no data
    assert content == b""
    assert problem.startswith(
        "rows: zstd data that need more than 128 MB of memory; if you trust the file, run zstd -d"
    )


def test_a_dictionary_that_is_too_large(monkeypatch):
    monkeypatch.setattr(decompress, "MEMORY", 1 << 22)
    assert "need more than 4 MB of memory" in unpacked("xz", lzma.compress(TEXT))[1]


# ---- missing packages and data


def test_without_zstandard(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DataError, match=r"rows: zstd data need the package zstandard: pip install zstandard, or zstd"):
        Unpacked(io.BytesIO(), "zstd", "rows")


def test_a_pipe_that_does_not_wait():
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with io.FileIO(reader) as raw, io.FileIO(writer, "w") as end:
        file = Unpacked(raw, "gzip", "pipe")
        with pytest.raises(DataError, match="the file is non-blocking"):
            file.readinto(bytearray(1))
        end.write(gzip.compress(b"1"))
        assert file.readinto(bytearray(1)) == 1
