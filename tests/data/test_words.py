"""Plain lines of Vowpal Wabbit text: vector instructions give the same bits as the general parser."""

from __future__ import annotations

import ctypes
import mmap
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seriatim import data
from seriatim.data.read.libsvm import use_vectors
from seriatim.data.read.text import PADDING
from seriatim.data.read.vw import parse
from seriatim.features import Features
from seriatim.features.encoder import Plan

WINDOW = 1 << 14  # bytes that the parser scans at a time
BEFORE = b"1 |f a b:2 c:3\n"


@pytest.fixture(autouse=True)
def as_it_was():
    before = use_vectors(2)
    yield
    use_vectors(before)


def read(text: bytes, vectors: int, bits: int = 18, before: bytes = BEFORE, labelled: bool = True) -> tuple[Any, ...]:
    """The contents of a block, and the fraction of columns with hash collisions."""
    use_vectors(vectors)
    plan = Plan(Features(bits=bits), [])
    block = parse(before + text + bytes(PADDING), len(before), len(before) + len(text), plan, True, labelled)
    labels = [y if isinstance(y, str) else float(y).hex() for y in block.y.tolist()]
    arrays = tuple(array.tobytes() for array in block.rows.arrays)
    shape = block.rows.n, block.rows.features, block.rows.names
    result = labels, arrays, shape, block.bad, block.bad_count, block.lines, plan.crowd.share()
    block.release()
    return result


def agree(text: bytes, **how: Any) -> tuple[Any, ...]:
    expected = read(text, 0, **how)
    assert read(text, 1, **how) == expected
    assert read(text, 2, **how) == expected
    return expected


def row(text: bytes, bits: int = 18) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of the one row of a plain line."""
    plan = Plan(Features(bits=bits), [])
    block = parse(BEFORE + text + b"\n" + bytes(PADDING), len(BEFORE), len(BEFORE) + len(text) + 1, plan)
    assert block.bad_count == 0
    return block.rows.arrays[1].copy(), block.rows.arrays[2].copy()


# ---- lines near the plain form

decimal = st.one_of(
    st.floats(-1e4, 1e4).map("{:.6g}".format),
    st.floats(-1, 1).map(repr),
    st.decimals(-100, 100, places=4).map(str),
    st.from_regex(r"[-+]?[0-9]{0,10}\.?[0-9]{0,10}(e-?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["0.12345678", "1.12345678", "12345678", "123456789", "-0", "-.5", "5.", ".", "-", "nan", "1e400"]),
)
name = st.one_of(
    st.text("abcxyz_", min_size=1, max_size=20),
    st.text("0123456789", min_size=1, max_size=12),
    st.text("0a", min_size=1, max_size=20),
    st.text("aé語\x01-.;^'", max_size=6),
    st.sampled_from(["", "4294967299", "00", "12a", "a" * 16, "a" * 17]),
)
feature = st.one_of(name, st.builds("{}:{}".format, name, decimal), st.builds("{}:{}".format, name, decimal))
space = st.builds("|{} {}".format, st.one_of(name, st.just("")), st.lists(feature, max_size=20).map(" ".join))
heavy = st.builds("|{}:{} {}".format, name, decimal, feature)
label = st.one_of(
    st.sampled_from(["1", "-1", "+1", "0", "-0", "12345678", "123456789", "1.5", "spam", "-", "1 1", "1 't", "", " 1"]),
    st.integers(-(10**9), 10**9).map(str),
)
# The separators of a line, which are nearly always plain.
gap = st.sampled_from([" "] * 12 + ["  ", "\t", "", "\r", "\x00"])
end = st.sampled_from(["\n"] * 5 + ["\r\n", " \n", " \r\n", "\r\r\n", "\n\n"])
line = st.builds(
    lambda label, gap, spaces, end: label + gap + gap.join(spaces) + end,
    label, gap, st.lists(st.one_of(space, space, space, heavy), max_size=4), end,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=400)
@given(
    st.lists(line, min_size=1, max_size=8).map("".join),
    st.sampled_from([1, 3, 14]),
    st.sampled_from([BEFORE, b"", b"1 | a\n"]),
    st.booleans(),
)
@example("1 |f a:1e-05 b:0.1 12 12:3\n", 18, BEFORE, True)
@example("1 |f a \n1 |f  a\n1 |\n1 | \n1 |f\n1 |f|g a\n1 |f a|g b\n", 18, BEFORE, True)
def test_both_ways_give_the_same_rows_and_refusals(text, bits, before, labelled):
    agree(text.encode(), bits=bits, before=before, labelled=labelled)


@pytest.mark.parametrize("seed", range(100))
def test_a_plain_block_with_some_bytes_changed_is_read_alike(seed):
    chance = random.Random(seed)
    text = bytearray(plain_lines(chance, 12))
    for _ in range(20):
        text[chance.randrange(len(text))] = chance.choice(b" :|\n\t\r.-e0a\x00\x80\xff\xc3\xa9")
        agree(bytes(text) + b"\n", bits=chance.choice([2, 14]))


def plain_lines(chance: random.Random, n: int) -> bytes:
    """Words with values of all common lengths, in two namespaces."""
    lines = []
    for _ in range(n):
        words = []
        for _ in range(chance.randrange(40)):
            word = "".join(chance.choices("abcdefgh0", k=chance.randint(1, 18)))
            words.append(chance.choice([word, f"{word}:{chance.gauss(0, 1):.{chance.randint(1, 9)}g}"]))
        half = chance.randint(0, len(words))
        lines.append(" ".join([chance.choice(["1", "-1"]), "|title", *words[:half], "|body", *words[half:]]))
    return "\n".join(lines).encode() + b"\n"


# ---- single names and values


@settings(max_examples=200)
@given(st.lists(decimal, min_size=1, max_size=40))
def test_values_are_those_of_python(words):
    words = [word for word in words if is_number(word)]
    _, values = row(b"1 |f " + " ".join(f"w{i}:{word}" for i, word in enumerate(words)).encode(), bits=26)
    assert [value.hex() for value in values.tolist()] == [float(word).hex() for word in words]


def is_number(word: str) -> bool:
    try:
        return abs(float(word)) <= 1e50
    except ValueError:
        return False


@pytest.mark.parametrize("bits", [18, 20])
def test_names_of_every_length_have_the_same_columns(bits):
    names = [letters * (n // len(letters)) + letters[: n % len(letters)] for n in range(1, 40) for letters in LETTERS]
    for at in range(0, len(names), 50):
        for space in ("", "f", "12", "a long name of a namespace"[: at + 1].replace(" ", "_")):
            agree(f"1 |{space} {' '.join(names[at : at + 50])}\n".encode(), bits=bits)


LETTERS = ["abcdefghijklm", "z", "1", "9876543210", "0", "é", "1a", "a1", "~", "\x7f"]


def test_a_whole_number_is_its_own_column():
    columns, _ = row(b"1 | 0 7 0012 12345678 123456789 99999999 4294967299", bits=28)
    assert columns.tolist() == [0, 7, 12, 12345678, 123456789, 99999999, 3]


def test_a_feature_that_comes_again_is_added_in_the_order_of_the_line():
    values = [0.1, 0.7, -0.3, 1e-05, 1e5, 0.2]
    columns, sums = row(b"1 |f " + b" ".join(b"a:%r b" % value for value in values))
    assert len(columns) == 2
    total = 0.0
    for value in values:
        total += value
    assert sums.tolist() == [total, 6.0]


# ---- rows, blocks and windows of any size


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 127, 128, 129, 136, 300, 5000])
@pytest.mark.parametrize("word", ["w{}", "w{}:0.5", "{}:-2", "w{}:1e-05", "a_name_that_is_long_{}"])
def test_rows_of_any_length(n, word):
    line = "1 |f " + " ".join(word.format(i) for i in range(n)) + "\n"
    agree(line.encode() * 3, bits=18)
    agree(line.encode() * 3, bits=8)


def test_more_rows_and_values_than_their_text_would_let_expect():
    agree(b"1 |\n" * 20000)
    agree(b"1 | a b c d e f g h\n" * 5000)
    agree((b"1 |" + b" a" * 3000 + b"\n") * 20)


@pytest.mark.parametrize("n", range(WINDOW - 40, WINDOW + 40))
def test_lines_that_end_near_the_end_of_a_window(n):
    line = b"1 |f aa:0.25 b:1 "
    filled = line + b"c" * (n - len(line) - 1) + b"\n"
    assert len(filled) == n
    agree(filled + b"-1 |g x y:2\n" * 3 + filled)
    short = b"-1 |f bune:0.125 c\n"
    agree(short * (n // len(short)) + filled[: n % len(short) + 20] + b"\n" + short * 900)


ODD_LINES = [
    b"1 |f a:x\n", b"spam |f a\n", b"\n", b"1 1 't|f:2 a\n", b"1 |f \xff\n", "1 |f é:2 語\n".encode(), b"2 |f a\r\n",
]  # fmt: skip


def blocks_of(path: Path, vectors: int, **how: Any) -> tuple[Any, ...]:
    use_vectors(vectors)
    stream = data.stream(path, skip_bad=True, features={"bits": 10}, **how)
    read = []
    for rows, y in stream:
        start, index, value = rows.arrays
        for i, one in enumerate(y.tolist()):
            part = slice(start[i], start[i + 1])
            read.append((one, index[part].tobytes(), value[part].tobytes()))
    return read, stream.skipped_count, stream.skipped


def test_blocks_and_threads_change_nothing(tmp_path):
    chance = random.Random(3)
    lines = plain_lines(chance, 300).splitlines(keepends=True)
    for odd in ODD_LINES:
        for _ in range(4):
            lines.insert(chance.randrange(len(lines)), odd)
    path = tmp_path / "some.vw"
    path.write_bytes(b"".join(lines))
    expected = blocks_of(path, False, threads=1)
    assert len(expected[0]) == 300 + 16
    assert expected[1] == 8
    for vectors in range(3):
        for block, threads in ((1 << 20, 2), (1, 1), (300, 2), (5000, 2), (40000, 1)):
            assert blocks_of(path, vectors, block=block, threads=threads) == expected, (vectors, block, threads)


@pytest.mark.skipif(sys.platform != "linux", reason="protects pages as Linux does")
def test_nothing_is_read_before_the_buffer_nor_behind_its_padding():
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 6 * page)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for hidden in (begin, begin + 5 * page):
        assert protect(ctypes.c_void_p(hidden), ctypes.c_size_t(page), 0) == 0
    plan = Plan(Features(bits=18), [])
    for line in (b"1 | a\n", b"1 |f a:1 b:0.5 cc:2\n", b"1 |f " + b"w" * 17 + b"\n", b"1 |f 12345678:1e-05\n"):
        for n in (1, 2, 50):
            text = line * n + bytes(PADDING)
            for at in (page, 5 * page - len(text)):
                memory[at : at + len(text)] = text
                parsed = parse(memoryview(memory)[at : at + len(text)], 0, len(text) - PADDING, plan)
                assert parsed.rows.n == n
                parsed.release()
    for shown in (begin, begin + 5 * page):
        assert protect(ctypes.c_void_p(shown), ctypes.c_size_t(page), 3) == 0
