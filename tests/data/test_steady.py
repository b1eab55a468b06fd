"""Files that change while they are read: truncation is an error, additions are ignored."""

import bz2
import gzip
import io
import lzma
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from seriatim.data import Stream
from seriatim.data.read.ratings import Ratings
from seriatim.data.read.steady import SteadyFile
from seriatim.data.write.records import TypedRecords
from seriatim.errors import DataError

N = 60_000
LINES = {
    "libsvm": [b"%d 1:%d 2:0.5\n" % (i % 2, i % 7) for i in range(N)],
    "vw": [b"%d | a:%d b:0.5\n" % (2 * (i % 2) - 1, i % 7) for i in range(N)],
    "csv": [b"label,a,b\n", *(b"%d,%d,0.5\n" % (i % 2, i % 7) for i in range(N))],
    "jsonl": [b'{"label": %d, "a": %d}\n' % (i % 2, i % 7) for i in range(N)],
    "ratings": [b"%d,%d,%d\n" % (i % 99, i % 77, i % 5 + 1) for i in range(N)],
}
PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.compress}


def parquet(lines):
    out = io.BytesIO()
    table = pa.table({"label": [i % 2 for i in range(N)], "a": [(i * 7919 % 10007) / 3 for i in range(N)]})
    pq.write_table(table, out, row_group_size=1000)
    return out.getvalue()


def arrow(new):
    out = io.BytesIO()
    batch = pa.record_batch({"label": [i % 2 for i in range(1000)], "a": [(i * 7919 % 10007) / 3 for i in range(1000)]})
    with new(out, batch.schema) as writer:
        for _ in range(N // 1000):
            writer.write_batch(batch)
    return out.getvalue()


def packed(lines, pack):
    """Compressed members one after another. Cut between two members, the file looks whole."""
    return b"".join(pack(b"".join(lines[begin : begin + 5000])) for begin in range(0, len(lines), 5000))


def cases():
    """(name, bytes, function that reads them, length after truncation)"""
    for name, lines in LINES.items():
        if name == "ratings":
            continue
        text = b"".join(lines)
        for threads in (1, 2):
            half = text.index(b"\n", len(text) // 2) + 1
            yield f"{name}, {threads}", text, lambda path, t=threads: Stream(path, threads=t, block=1 << 12), half
    for ending, pack in PACKED.items():
        text = packed(LINES["libsvm"], pack)
        where = len(packed(LINES["libsvm"][:30_000], pack))
        yield ending, text, lambda path: Stream(path, block=1 << 12), where
    yield "parquet", parquet(None), Stream, None
    yield "arrow", arrow(pa.ipc.new_file), Stream, None
    stream = arrow(pa.ipc.new_stream)
    whole = len(stream) - 8  # without the mark at its end
    schema = whole % (N // 1000) or None
    yield "arrow stream", stream, Stream, schema
    ratings = b"".join(LINES["ratings"])
    yield "ratings.csv", ratings * 8, Ratings, len(ratings) * 4
    for name in ("csv", "jsonl", "libsvm"):
        text = b"".join(LINES[name])
        half = text.index(b"\n", len(text) // 2) + 1
        yield f"{name} to convert", text, lambda path: TypedRecords(path, "jsonl", block=1 << 12), half


def test_a_file_that_is_cut_short_while_it_is_read_is_an_error(tmp_path):
    """Also at the end of a line, compressed member or batch, where the rest looks like a whole file."""
    for name, text, read, left in cases():
        path = tmp_path / name.partition(",")[0].replace(" ", ".")
        path.write_bytes(text)
        seen = 0
        with pytest.raises(DataError) as caught:
            for k, _ in enumerate(read(path)):
                seen = k
                if k == 0:
                    with path.open("r+b") as file:
                        file.truncate(len(text) // 2 if left is None else left)
        words = str(caught.value)
        assert str(path) in words and ("cut short" in words or "damaged" in words), (name, words)
        assert len(words.splitlines()) == 1, (name, words)
        assert seen < N


def test_what_is_added_while_it_is_read_is_left_for_another_time(tmp_path):
    for name in LINES:
        path = tmp_path / f"{name}.{'csv' if name == 'ratings' else name}"
        text = b"".join(LINES[name])
        for pack in (bytes, gzip.compress):
            path.write_bytes(pack(text))
            count = 0
            stream = Ratings(path) if name == "ratings" else Stream(path, block=1 << 12)
            for k, block in enumerate(stream):
                count += len(block[-1])
                if k == 0:
                    with path.open("ab") as file:
                        file.write(pack(b"".join(LINES[name][-1000:])))
            assert count == N, (name, pack)


def test_a_file_that_says_it_is_empty_and_is_not():
    """Files in /proc have length 0."""
    with SteadyFile("/proc/self/status", "status") as file:
        assert b"Pid:" in file.read()


def test_a_steady_file_is_a_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    with SteadyFile(path, "file") as file:
        assert file.read(10) == bytes(range(10)) and file.read(0) == b""
        room = bytearray(200)
        assert file.readinto(room) == 90 and room[:90] == bytes(range(10, 100))
        assert file.read() == file.read(5) == b"" and file.readinto(room) == 0
        file.seek(95)
        assert file.readall() == bytes(range(95, 100))
        file.seek(0)
        path.write_bytes(bytes(50))
        with pytest.raises(DataError, match="file: cut short while it was read: 100 bytes at first, now 50"):
            file.readall()
        with pytest.raises(DataError, match="cut short"):
            file.expect_whole()


def test_a_full_temporary_folder_is_told(tmp_path, monkeypatch):
    """When ratings are stored to be shuffled, and when a pipe is stored to be converted."""
    path = tmp_path / "r.csv"
    path.write_bytes(b"".join(LINES["ratings"]))
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **how: io.FileIO("/dev/full", "r+"))
    with pytest.raises(DataError, match=r"no room for the examples in .*: No space left on device; TMPDIR names"):
        list(Ratings(path, shuffle=1))
    (tmp_path / "pipe").symlink_to("/dev/zero")
    with (
        closing(TypedRecords(tmp_path / "pipe", "csv")) as source,
        pytest.raises(DataError, match="no room for the examples in"),
    ):
        source.survey(lambda count: None)
