"""Mutated input for the parser and the model loader: `python -m tests.fuzz [texts|models] N [seed [first]]`.

N texts go through the parsers, most of them LIBSVM, and N / 10 model files through `load` and what can be done with a
model (see tests/fuzz_models.py); or N of one kind. Every outcome must be a result, which for LIBSVM is that of the
plain parser in tests/reference and for the other formats the same whatever the blocks, or a SeriatimError that says
where. Anything else is printed with the arguments that repeat it: another exception, a crash, more than a second for
one text, memory beyond twice the text and a constant.
"""

from __future__ import annotations

import faulthandler
import io
import mmap
import os
import random
import resource
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from seriatim.data.read.formats import HEAD
from seriatim.data.read.libsvm import parse, use_vectors
from seriatim.data.read.lines import PADDING, InOrder, Ranges, RecordLines
from seriatim.data.read.source import Blocks, Source
from seriatim.data.read.steady import SteadyFile
from seriatim.errors import DataError, ParseError
from tests import fuzz_models
from tests.fuzz_models import Failure, expect
from tests.reference import libsvm as reference

SECONDS = 1.0
# Memory for blocks parsed ahead, reused workspaces, NumPy, and the slack of the allocator.
CONSTANT = 192 << 20
ADDRESSES = 8 << 30  # so that a runaway allocation fails here and does not exhaust the machine

BEFORE = b"1 2:3.4 5:6 7:8\n"  # bytes of the buffer before the text
LINES = [
    b"+1 3:1 11:1 14:1 19:1 39:1 42:1 55:1 64:1 67:1 73:1 75:1 76:1 80:1 83:1",
    b"-1 1:0.708333 2:1 3:1 4:-0.320755 5:-0.105023 6:-1 7:1 8:-0.419847 9:-1 10:-0.225806 12:1 13:-1",
    b"nonspam 2:0.64 3:0.64 5:0.32 12:0.64 19:1.93 21:0.96 52:0.778 55:3.756 56:61 57:278",
    b"5 1:0.00632 2:18.00 3:2.310 5:0.5380 6:6.5750 7:65.20 8:4.0900 9:1 10:296.0 11:15.30 12:396.90 13:4.98",
    b"2 qid:7 1:1e-3 2:-.5 3:5. 4:1E+2 5:123456789012345678901234567890 # a comment",
    b"# only a comment",
    b"",
    "größe 1:0.1 7:1".encode(),
    b"1 5:1 3:2 5:0.25 1:4",
    b"-1\t1:1\t2:2  \r",
]
TABLES: dict[str, tuple[bytes, list[bytes]]] = {  # header, and lines
    "csv": (
        b"a,b,c,label\n",
        [
            b"1,2.5,red,x", b'-3,,"bl""ue",y', b'1e3,NA,"two\nlines",x', b"0.1,?,2026-11-16T08:30,1", b"", b'"7",8,,x',
            b"1.00000000000000001,-0,true,x",
        ],
    ),
    "vw": (
        b"",
        [
            b"1 |words cheap watches:2 |n:0.5 a:1 b:2 7:3", b"-1 1 'tag | a b a", b"spam tag| a:0.5 \xc3\xbc:1e-3",
            b"1 1.0 0.5 'x |s |t a", b"", b"0 |", b"-1 2.5 't| a",
        ],
    ),
    "jsonl": (
        b"",
        [
            b'{"label": 1, "a": 2.5, "c": "red"}', b'{"label": "x", "n": {"a": [1, 2], "b": ["u", "v"]}, "a": null}',
            b'{"y": -1, "when": "2026-11-16", "a": true}', b"", b'{"label": 0}',
        ],
    ),
}  # fmt: skip
TOKENS = [
    b" ", b"\t", b"\n", b"\r", b"\r\n", b":", b"::", b"#", b"\x00", b"\xff", b"\xc3", b"\x0b", b"\x0c", b"\x85",
    b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"nan", b"-inf", b"Infinity", b"1e400", b"1e-400", b"1e50", b"-1e50",
    b"1.0000000000000001e50", b"1e60", b"5e-324", b"0", b"-0", b"00000000", b"0000000000000001", b"9007199254740993",
    b"18446744073709551616", b"2147483646:1", b"2147483647:1", b"2147483648:1", b"4294967297:1", b"99999999:1",
    b"100000000:1", b"0:1", b"-1:1", b"1:", b":1", b"1:1:1", b"a:1", b"1:a", b"1:0x10", b"1:1_0", b"qid:", b"qid:3",
    b"+", b"-", b".", b"e", b"1e", b"1e+", b".e1", b"+1", b"--1", b"0.1234567890123456789012345678901234567890",
    b"1" * 50, b"1:" + b"9" * 60, b"x" * 70, b" 1:1" * 40,
]  # fmt: skip


# ---- mutation


def mutate(rng: random.Random, data: bytes, tokens: list[bytes]) -> bytes:
    """A few edits of the kinds that break parsers."""
    text = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(8)
        if kind == 0 and text:
            text[at % len(text)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            text[at:at] = bytes([rng.randrange(256)])
        elif kind == 2:
            del text[at : at + rng.choice((1, 1, 2, 8, 64))]
        elif kind == 3:
            text[at:at] = rng.choice(tokens)
        elif kind == 4:
            token = rng.choice(tokens)
            text[at : at + len(token)] = token
        elif kind == 5:
            text = text[:at] if rng.random() < 0.5 else text[at:]
        elif kind == 6:
            other = rng.randrange(len(text) + 1)
            text[at:at] = text[min(at, other) : max(at, other)][:2000] * rng.choice((1, 1, 2, 3))
        else:
            digits = [i for i in range(max(0, at - 20), min(len(text), at + 20)) if 48 <= text[i] <= 57]
            if digits:
                text[rng.choice(digits)] = rng.choice(b"0123456789.eE+-:")
    return bytes(text)


# ---- text


class Bytes(Source):
    """Bytes in memory, read in order or in ranges."""

    def __init__(self, data: bytes, ranges: bool, format: str = "libsvm", **options: Any) -> None:
        super().__init__("input", format=format, **options)
        self.data, self.ranges = data, ranges

    def file(self, path: str) -> Blocks:
        table = self.format in ("csv", "tsv")
        with os.fdopen(os.memfd_create("input"), "w+b", buffering=0) as memory:
            memory.write(self.data)
            memory.seek(0)
            file = SteadyFile(memory.fileno(), "input", closefd=False)
            kind = RecordLines if table else Ranges if self.ranges else InOrder
            self.lines = kind(file if self.ranges else io.BytesIO(self.data), "input", self.block)  # type: ignore[arg-type]
            yield from self.texts(self.format or "libsvm", self.data[:HEAD], "input")


def text_input(rng: random.Random) -> bytes:
    lines = rng.choices(LINES, k=rng.choice((1, 1, 2, 5, 20)))
    text = b"\n".join(lines) + rng.choice((b"\n", b"\n", b"", b"\r\n"))
    return mutate(rng, text, TOKENS)


def text_case(rng: random.Random) -> tuple[bytes, Callable[[], None]]:
    text = text_input(rng)
    how = rng.random()
    vectors = rng.choice([0, 1, 2, 2])
    if how < 0.9:
        return text, lambda: check_parse(text, skip_bad=how < 0.6, vectors=vectors)
    block, threads, ranges = rng.choice((1, 2, 5, 17, 64, 1 << 12)), rng.choice((1, 1, 2)), rng.random() < 0.5
    if how < 0.95:
        return text, lambda: check_stream(text, skip_bad=how < 0.93, block=block, threads=threads, ranges=ranges)
    format, text = table_input(rng)
    features = rng.choice((None, {"bits": 4}, {"missing": "count", "cross": [("a", "c")]}, {"normalize": "unit"}))
    return text, lambda: check_table(format, text, features, skip_bad=how < 0.99, block=block, threads=threads)


def table_input(rng: random.Random) -> tuple[str, bytes]:
    """A format with names, and a text in it."""
    format = rng.choice(list(TABLES))
    head, lines = TABLES[format]
    text = head + b"\n".join(rng.choices(lines, k=rng.choice((1, 2, 5, 20)))) + rng.choice((b"\n", b"", b"\r\n"))
    return format, mutate(rng, text, [*TOKENS, b'"', b",", b"|", b"\n", b"{", b"}", b'":', b"\xff", b"2026-02-30"])


def check_table(format: str, text: bytes, features: Any, skip_bad: bool, block: int, threads: int) -> None:
    """Check that blocks and threads change neither the rows nor the bad lines."""
    results = []
    for options in (
        {"block": 1 << 20, "threads": 1, "ranges": False},
        {"block": block, "threads": threads, "ranges": True},
    ):
        source = Bytes(text, format=format, features=features, skip_bad=skip_bad, **options)
        read: list[Any] = []
        try:
            for rows, y in source:
                start, index, value = rows.arrays  # type: ignore[misc]
                names = [j if rows.names is None else rows.names[j] for j in index.tolist()]
                for i, label in enumerate(y.tolist()):
                    part = slice(start[i], start[i + 1])
                    read.append((label, names[part], value[part].tobytes()))
        except ParseError as error:
            read.append(str(error))
        except DataError as error:
            read.append(str(error))
            expect("input" in str(error) or skip_bad is False, f"no position: {error}")
        read.append(source.skipped_count)
        results.append(read)
    expect(results[0] == results[1], f"{results[0]} and, in other blocks, {results[1]}")


def check_parse(text: bytes, skip_bad: bool, vectors: int) -> None:
    expected, bad = reference.read(text)
    if not text:
        return
    text = text if text.endswith(b"\n") else text + b"\n"
    use_vectors(vectors)
    block = parse(BEFORE + text + bytes(PADDING), len(BEFORE), len(BEFORE) + len(text), skip_bad)
    where = [(line, column) for line, column, _ in block.bad]
    if skip_bad:
        # A block need not describe more than ten.
        same = where == bad[: len(where)] and len(where) >= min(len(bad), 10)
        expect(same, f"bad lines {where}; the plain parser finds {bad}")
        expect(block.lines == text.count(b"\n"), "lines were lost")
        compare(block.rows, block.y, expected)
    else:
        expect(where == bad[:1], f"the first bad line is {where}; the plain parser finds {bad[:1]}")
        compare(block.rows, block.y, expected[: len(block.y)])
    expect(all(problem for _, _, problem in block.bad), "a problem without words")
    block.release()


def check_stream(text: bytes, **options: Any) -> None:
    expected, bad = reference.read(text.removeprefix(b"\xef\xbb\xbf"))  # a stream may begin with this mark
    stream = Bytes(text, **options)
    at = 0
    try:
        for rows, y in stream:
            compare(rows, y, expected[at : at + rows.n])
            at += rows.n
    except ParseError as error:
        expect((error.line, error.column) == bad[0], f"{error}; the plain parser finds {bad[:1]}")
        expect(not stream.skip_bad, "a bad line was not skipped")
        return
    expect(at == len(expected), f"{at} rows of {len(expected)}")
    expect(stream.skipped_count == len(bad), f"{stream.skipped_count} lines skipped of {len(bad)}")


def compare(rows: object, y: np.ndarray, expected: list) -> None:
    start, index, value = rows.arrays  # type: ignore[attr-defined]
    expect(len(expected) == len(y) == len(start) - 1, f"{len(y)} labels, {len(start) - 1} rows of {len(expected)}")
    expect([label for label, _ in expected] == y.tolist(), "the labels differ")
    pairs = [pair for _, row in expected for pair in row]
    expect(np.diff(start).tolist() == [len(row) for _, row in expected], "the rows differ in length")
    expect([j - 1 for j, _ in pairs] == index.tolist(), "the columns differ")
    expect(struct.pack(f"{len(pairs)}d", *(v for _, v in pairs)) == value.tobytes(), "the values differ")


# ---- the loop


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def guarded() -> bool:
    """Whether memory is measured: not under AddressSanitizer, which uses more memory than the program."""
    return Path("/proc/self/statm").exists() and not {"ASAN_OPTIONS", "VALGRIND"} & set(os.environ)


def guard() -> None:
    """Limit the memory of this process."""
    if guarded():
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, resource.RLIM_INFINITY))


def run(count: int, seed: int, first: int, current: mmap.mmap) -> int:
    """Run the cases. Returns the number of failures. `current` holds the number of the running case."""
    warnings.simplefilter("ignore", RuntimeWarning)
    failures, seen, sampled = 0, 0, guarded()
    base = memory() if sampled else 0
    start = shown = time.perf_counter()
    for i in range(first, first + count):
        current[:] = struct.pack("<q", i)
        data, check = text_case(random.Random(f"{seed} text {i}"))
        before = time.process_time()  # processor time, so that other processes do not count
        try:
            check()
            problem = None
        except Exception as error:
            problem = str(error) if isinstance(error, Failure) else traceback.format_exc()
        now, taken = time.perf_counter(), time.process_time() - before
        if problem is None and taken > SECONDS:
            problem = f"{taken:.2f} s for one input"
        seen = max(seen, len(data))
        if problem is None and sampled and i % 64 == 0 and memory() - base > 2 * seen + CONSTANT:
            problem = f"memory has grown by {(memory() - base) >> 20} MB"
            base = memory()
        if problem is not None:
            failures += 1
            print(f"\ntext {i}: {problem}\ninput: {data[:1000]!r}\n{repeat(seed, i)}", flush=True)
            if failures >= 20:
                return failures
        if sys.stderr.isatty() and now - shown > 0.5:
            shown = now
            print(f"\rtext {i + 1 - first:,} of {count:,}, {failures} failures", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"{count:,} texts in {time.perf_counter() - start:.1f} s, seed {seed}: {failures} failures")
    return failures


def repeat(seed: int, i: int) -> str:
    return f"repeat: python -m tests.fuzz texts 1 {seed} {i}"


def run_texts(count: int, seed: int, first: int) -> int:
    """Run the cases in a child process, so that a crash can be reported."""
    current = mmap.mmap(-1, 8)
    child = os.fork()
    if child == 0:
        faulthandler.enable()
        guard()
        status = 1
        try:
            status = 1 if run(count, seed, first, current) else 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, 1):
        print(f"crashed with status {status}\n{repeat(seed, struct.unpack('<q', current)[0])}")
    return status


def main(arguments: list[str]) -> int:
    only = arguments.pop(0) if arguments and arguments[0] in ("texts", "models") else ""
    if not 1 <= len(arguments) <= 3:
        print("usage: python -m tests.fuzz [texts|models] N [seed [first]]", file=sys.stderr)
        return 2
    count, seed, first = [*map(int, arguments), 0, 0][:3]
    failed = run_texts(count, seed, first) if only != "models" else 0
    if only != "texts":
        failed = fuzz_models.run(count if only else -(-count // 10), seed, first) or failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
