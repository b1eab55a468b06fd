"""The LIBSVM parser: agreement with a simple parser, and the position of every error."""

from __future__ import annotations

import gzip
import os
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seriatim import PA, data, evaluate
from seriatim.data.read.libsvm import parse, use_vectors
from seriatim.data.read.lines import PADDING
from seriatim.errors import DataError, ParseError, SeriatimError
from tests.cases import looped
from tests.conftest import DATA, data_set
from tests.reference import libsvm as reference

WINDOW = 1 << 14  # bytes that the parser scans at a time


ALL_WAYS = [
    pytest.param(2, id="wide vectors"),
    pytest.param(1, id="vectors", marks=pytest.mark.slow),
    pytest.param(0, id="plainly", marks=pytest.mark.slow),
]


@pytest.fixture(autouse=True, scope="module", params=ALL_WAYS)
def all_ways(request):
    before = use_vectors(request.param)
    yield
    use_vectors(before)


def block_of(text: bytes, skip_bad: bool = False, before: bytes = b"1 2:3.4 5:6 7:8\n") -> object:
    """Parse a text as one block, after other bytes in its buffer."""
    text = text if text.endswith(b"\n") else text + b"\n"
    return parse(before + text + bytes(PADDING), len(before), len(before) + len(text), skip_bad)


def rows_of(rows: object, y: np.ndarray) -> list:
    """(label, [(index from 1, value)]) of each row, as from the simple parser."""
    start, index, value = (array.tolist() for array in rows.arrays)  # type: ignore[attr-defined]
    pairs = [list(zip([j + 1 for j in index[a:b]], value[a:b], strict=True)) for a, b in pairwise(start)]
    return list(zip(y.tolist(), pairs, strict=True))


def bits(rows: list) -> list:
    """Rows with numbers as text, so that -0.0 and 0.0 differ."""
    return [(y if isinstance(y, str) else y.hex(), [(j, value.hex()) for j, value in row]) for y, row in rows]


def agree(text: bytes) -> None:
    expected, bad = reference.read(text)
    assert bad == []
    block = block_of(text)
    assert block.bad == []
    assert bits(rows_of(block.rows, block.y)) == bits(expected)
    assert block.lines == text.count(b"\n") + (not text.endswith(b"\n"))


def value_of(word: str) -> float:
    block = block_of(f"1 1:{word}".encode())
    assert block.bad == []
    return block.rows.arrays[2][0]


# ---- numbers

digits = st.text("0123456789", min_size=1, max_size=25)
decimal = st.one_of(
    digits,
    st.builds("{}.{}".format, digits, digits),
    st.builds("{}.".format, digits),
    st.builds(".{}".format, digits),
)
exponent = st.one_of(
    st.just(""), st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 40))
)
written = st.builds("{}{}{}".format, st.sampled_from(["", "+", "-"]), decimal, exponent)
number = st.one_of(
    written.filter(lambda word: abs(float(word)) <= 1e40),
    st.floats(-1e40, 1e40).map(repr),
    st.floats(-1e40, 1e40).map("{:.17g}".format),
    st.floats(-1e40, 1e40).map("{:.25e}".format),
    st.floats(-1, 1).map("{:.6f}".format),
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(["5e-324", "2.2250738585072011e-308", "1e-400", "-0.0", "-0", "+0", "0e5", "1e+00000000012"]),
)


@settings(max_examples=500, deadline=None)
@given(number)
@example("9007199254740993")  # between two doubles: ties go to the even one
@example("9007199254740992.9999999999999999")
@example("123456789012345678901234567890e-20")
@example("0.000000000000000000000000000000000000000000000000001")
@example("00000000000000000000000000000001.5")
@example("8.5e-23")
@example("1e22")
@example("1e23")
@example("12345678")
@example("1.2345678")
@example("1.234567890")
@example("-.5")
@example("5.")
@example("1E+2")
def test_a_number_is_read_as_python_reads_it(word):
    assert value_of(word).hex() == float(word).hex()


def test_numbers_of_every_length_before_and_after_the_point():
    rng = random.Random(0)
    for whole in range(26):
        for fraction in range(26):
            word = "".join(rng.choices("0123456789", k=whole)) + "." + "".join(rng.choices("0123456789", k=fraction))
            if whole + fraction:
                assert value_of(word).hex() == float(word).hex(), word


def test_subnormals_and_halfway_cases():
    rng = np.random.default_rng(0)
    subnormal = rng.integers(1, 2**52, 200).view(np.float64)
    for value in np.concatenate([subnormal, rng.random(200), 10 ** rng.uniform(-300, 49, 200)]):
        for word in (repr(float(value)), f"{value:.17g}", f"{value:.40e}"):
            assert value_of(word).hex() == float(word).hex(), word


# ---- whole files

gap = st.sampled_from([" ", " ", " ", "\t", "  ", " \t "])
margin = st.sampled_from(["", "", "", " ", "\t", "  "])
name = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters=":#"), min_size=1, max_size=8)
label = st.one_of(st.sampled_from(["+1", "-1", "1", "1.0", "-1.0", "0", "2", "1e0"]), number, name)
index = st.one_of(st.integers(1, 12), st.integers(1, 2**31 - 2))
pair = st.builds("{}:{}".format, index, number)
query = st.builds("qid:{}".format, st.integers(0, 99))


@st.composite
def lines(draw) -> str:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(margin)
    comment = "#" + draw(st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=20))
    if kind == 1:
        return draw(margin) + comment
    parts = [draw(label), *draw(st.lists(query, max_size=1)), *draw(st.lists(pair, max_size=12))]
    text = draw(margin) + parts[0]
    for part in parts[1:]:
        text += draw(gap) + part
    return text + (draw(gap) + comment if kind == 2 else draw(margin))


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(lines(), st.sampled_from(["\n", "\n", "\r\n"])), min_size=1, max_size=12), st.booleans())
def test_files_are_read_as_the_plain_parser_reads_them(content, ended):
    text = "".join(line + end for line, end in content)
    text = text if ended else text.removesuffix("\n")
    if text:
        agree(text.encode())


@pytest.mark.parametrize("text", [b"\n", b"# nothing\n", b"\r\n", b" \t \n\n#\n", b"#", b" "])
def test_a_text_without_rows(text):
    agree(text)
    block = block_of(text)
    assert len(block.y) == block.rows.n == block.rows.features == 0


def test_rows_without_features():
    agree(b"1\n-1 \nspam\t\r\n0 # nothing\n")


def test_a_whole_number_is_one_label_however_it_is_written():
    assert block_of(b"+1\n1\n1.0\n1.\n1e0\n10e-1\n0.1e1").y.tolist() == [1.0] * 7


def test_labels_that_are_names():
    block = block_of("spam 1:1\n-1 1:1\nspäm 1:1\n语 1:1\nspam 1:1\n+ 1:1\nnan 1:1\n1_0 1:1\n".encode())
    assert block.y.tolist() == ["spam", -1.0, "späm", "语", "spam", "+", "nan", "1_0"]


def test_indices_in_any_order_are_sorted_and_duplicates_are_summed_in_order():
    block = block_of(b"1 7:1 2:0.1 5:-1 2:0.2 2:1e16 2:-1e16 1:3\n")
    expected = [(1, 3.0), (2, 0.1 + 0.2 + 1e16 - 1e16), (5, -1.0), (7, 1.0)]
    assert rows_of(block.rows, block.y) == [(1.0, expected)]


def test_query_numbers_are_ignored():
    assert rows_of(*both(b"3 qid:1 1:2\n")) == rows_of(*both(b"3 1:2\n"))


def both(text: bytes) -> tuple:
    block = block_of(text)
    return block.rows, block.y


# ---- windows and long lines


def test_a_window_may_end_anywhere_in_a_line():
    """Each byte of plain and other lines is once the last byte of a window."""
    line = b"-1 1:0.5 20:-3 300:1e-3 4000:12345678901234567890 # end\r\n"
    plain = b"1 1:0.25 2:3\n"
    expected = reference.read_line(line[:-2])
    for offset in range(-len(line), 3):
        filler = WINDOW + offset
        for before in (b"#" * (filler - 1) + b"\n", plain * (filler // len(plain)) + b"\n" * (filler % len(plain))):
            block = block_of(before + line + plain)
            assert bits(rows_of(block.rows, block.y)[-2:]) == bits([expected, (1.0, [(1, 0.25), (2, 3.0)])])
            assert block.lines == (before + line + plain).count(b"\n")


@pytest.mark.parametrize("length", [WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW, 3 * WINDOW + 7])
def test_lines_longer_than_the_window(length):
    pairs = b" ".join(b"%d:%d" % (j, j % 10) for j in range(1, length // 6))
    line = b"1 " + pairs + b" " * (length - len(pairs) - 3) + b"\n"
    agree(b"2 1:1\n" + line + b"3 1:1\n" + line)


def test_a_line_of_ten_megabytes(tmp_path):
    row = " ".join(f"{j}:{j % 7 + 0.5}" for j in range(1, 1_000_000))
    path = tmp_path / "long.svm"
    path.write_text(f"-1 1:1\n1 {row}\n-1 2:1\n")
    assert path.stat().st_size > 10_000_000
    for options in ({}, {"block": 1000, "threads": 1}):
        rows = [(part.n, part.nonzeros, y.tolist()) for part, y in data.stream(path, **options)]
        assert sum(n for n, _, _ in rows) == 3
        assert sum(nonzeros for _, nonzeros, _ in rows) == 1_000_001
        assert [label for _, _, y in rows for label in y] == [-1.0, 1.0, -1.0]


@looped("block", [*range(1, 40), 64, 100])
def test_a_block_may_end_anywhere_in_a_line(tmp_path, block):
    text = b"-1 1:0.5 2:-3 # x\r\nspam 7:1e-3\n\n1 3:1 2:2"
    path = tmp_path / "file.svm"
    path.write_bytes(text)
    rows = [row for part, y in data.stream(path, block=block, threads=1) for row in rows_of(part, y)]
    assert rows == reference.read(text)[0]


def test_a_block_within_its_buffer():
    """Bytes before and after a block are not parsed."""
    for before in (b"", b"9", b"1:", b"2 3:4 5:6", b"0.123456789.123456789"):
        text = b"1 1:2\n-1 12345678:9"
        assert rows_of(block_of(text, before=before).rows, block_of(text).y) == reference.read(text)[0]


@pytest.mark.parametrize("begin, end", [(0, 4), (-1, 6), (0, 7), (0, 200), (7, 7), (5, 2)])
def test_a_block_that_is_not_one_is_refused(begin, end):
    with pytest.raises(ValueError, match="newline"):
        parse(b"1 1:1\n" + bytes(PADDING), begin, end)


def test_a_block_may_be_empty():
    block = parse(b"1 1:1\n" + bytes(PADDING), 3, 3)
    assert (len(block.rows), len(block.y), block.lines, block.bad) == (0, 0, 0, [])


def test_memory_is_used_again_and_rows_that_were_given_back_are_gone():
    first = block_of(b"1 1:1 2:2\n")
    rows = first.rows
    first.release()
    assert (rows.n, rows.nonzeros) == (0, 0)
    others = [block_of(b"2 5:%d\n" % i) for i in range(40)]
    assert [block.rows.arrays[2][0] for block in others] == list(range(40))
    for block in others:
        block.release()
    first.release()
    large = block_of(b"1 " + b" ".join(b"%d:1" % j for j in range(1, 5000)) + b"\n")
    assert large.rows.nonzeros == 4999


piece = st.one_of(st.text("0123456789.-+e: x", max_size=12), pair, st.builds("{}:{}".format, index, decimal))


@settings(max_examples=500, deadline=None)
@given(st.lists(st.lists(piece, max_size=6).map(" ".join), max_size=4))
def test_all_ways_agree_on_what_is_wrong_and_what_is_right(words):
    text = "".join(f"1 {line}\n" for line in words).encode()
    outcomes = []
    before = use_vectors(0)
    for vectors in range(3):
        use_vectors(vectors)
        block = block_of(text, skip_bad=True) if text else None
        outcomes.append(block and (bits(rows_of(block.rows, block.y)), block.bad, block.bad_count, block.lines))
    use_vectors(before)
    assert outcomes[0] == outcomes[1] == outcomes[2]


# ---- refusals

HUGE = 10**20
REFUSED = {
    "1 0:1": (3, "feature index 0; LIBSVM indices start at 1"),
    "1 00000000:1": (3, "feature index 0; LIBSVM indices start at 1"),
    "1 -1:1": (3, "expected index:value, found '-1:1'"),
    "1 +1:1": (3, "expected index:value, found '+1:1'"),
    "1 2147483647:1": (3, "expected a feature index from 1 to 2147483646, found '2147483647:1'"),
    "1 2147483648:1": (3, "expected a feature index from 1 to 2147483646, found '2147483648:1'"),
    "1 4294967297:1": (3, "expected a feature index from 1 to 2147483646, found '4294967297:1'"),
    f"1 {HUGE}:1": (3, f"expected a feature index from 1 to 2147483646, found '{HUGE}:1'"),
    "1 1:1 3": (7, "expected index:value, found '3'"),
    "1 3 1:1": (3, "expected index:value, found '3'"),
    "1 123456789": (3, "expected index:value, found '123456789'"),
    "1 1 :2": (3, "expected index:value, found '1'"),
    "1 1:": (5, "expected a number, found ''"),
    "1 1: 2:3": (5, "expected a number, found ''"),
    "1 1:-": (5, "expected a number, found '-'"),
    "1 1:.": (5, "expected a number, found '.'"),
    "1 1:e5": (5, "expected a number, found 'e5'"),
    "1 1:1e": (5, "expected a number, found '1e'"),
    "1 1:--1": (5, "expected a number, found '--1'"),
    "1 :5": (3, "expected index:value, found ':5'"),
    "1 a:1": (3, "expected index:value, found 'a:1'"),
    "1 1:a": (5, "expected a number, found 'a'"),
    "1 1.0:1": (3, "expected index:value, found '1.0:1'"),
    "1 1:nan": (5, "expected a finite number within +-1e+50, found 'nan'"),
    "1 1:-NaN": (5, "expected a finite number within +-1e+50, found '-NaN'"),
    "1 1:inf": (5, "expected a finite number within +-1e+50, found 'inf'"),
    "1 1:-inf": (5, "expected a finite number within +-1e+50, found '-inf'"),
    "1 1:infinity": (5, "expected a finite number within +-1e+50, found 'infinity'"),
    "1 1:1e400": (5, "expected a finite number within +-1e+50, found '1e400'"),
    "1 1:-1e400": (5, "expected a finite number within +-1e+50, found '-1e400'"),
    "1 1:1e60": (5, "expected a finite number within +-1e+50, found '1e60'"),
    f"1 1:{'9' * 51}": (5, f"expected a finite number within +-1e+50, found '{'9' * 40}...'"),
    "1 1:2:3": (5, "expected a number, found '2:3'"),
    "1 1:0x10": (5, "expected a number, found '0x10'"),
    "1 1:1_0": (5, "expected a number, found '1_0'"),
    "1 1:1,5": (5, "expected a number, found '1,5'"),
    "1 1:1;": (5, "expected a number, found '1;'"),
    "1 1:1#x": (5, "expected a number, found '1#x'"),
    "1 1:\u0661": (5, "expected a number, found '\u0661'"),  # a digit, but not ASCII
    "1 1:1\x00": (5, "expected a number, found '1\\x00'"),
    "1 1\x00:1": (3, "expected index:value, found '1\\x00:1'"),
    "1 \x001:1": (3, "expected index:value, found '\\x001:1'"),
    "a\x00b 1:1": (1, "expected a label, found 'a\\x00b'"),
    "\x00": (1, "expected a label, found '\\x00'"),
    "a\x07 1:1": (1, "expected a label, found 'a\\x07'"),
    "1\x0b 1:1": (1, "expected a label, found '1\\x0b'"),
    "a\x7f 1:1": (1, "expected a label, found 'a\\x7f'"),
    "1 1:\x0c5": (5, "expected a number, found '\\x0c5'"),
    "1 1:5\x0b": (5, "expected a number, found '5\\x0b'"),
    "1 1:12345678901234567890123\x0b": (5, "expected a number, found '12345678901234567890123\\x0b'"),
    "1 1:2\x0b3:4": (5, "expected a number, found '2\\x0b3:4'"),
    "1:2": (1, "expected a label, found '1:2'"),
    "a:b 1:2": (1, "expected a label, found 'a:b'"),
    ":": (1, "expected a label, found ':'"),
    "1\r1:2": (2, "expected index:value"),
    "1 1:2\r": None,  # the file may end within CRLF
    "1 1:2\rabc": (6, "expected index:value"),
    "1 1:2\r2:3": (6, "expected index:value"),
    "1 1:2\r 2:3": (6, "expected index:value"),
    "1 1:2 2:3\r3": (10, "expected index:value"),
    "\r 1": (1, "expected a label"),
}


@looped("line", REFUSED)
@looped("before", [b"", b"1 1:0.5 2:1\n# why\n\nspam 3:1\n"])
def test_what_is_refused_with_its_place(tmp_path, line, before):
    path, refusal = tmp_path / "bad.svm", REFUSED[line]
    path.write_bytes(before + line.encode() + b"\n1 1:1\n")
    if refusal is None:
        assert sum(len(y) for _, y in data.stream(path)) == 2 + 2 * bool(before)
        return
    with pytest.raises(ParseError) as caught:
        list(data.stream(path))
    error = caught.value
    assert (error.line, error.column) == (1 + before.count(b"\n"), refusal[0])
    assert error.problem.startswith(refusal[1])
    assert str(error) == f"{path}: line {error.line}, column {error.column}: {error.problem}"
    assert isinstance(error, SeriatimError) and isinstance(error, ValueError)


@pytest.mark.parametrize("line, column", [(b"\xff 1:1", 1), (b"a\xc3 1:1", 1), (b"1 \xff:1", 3), (b"1 1:\xe9", 5)])
def test_bytes_that_are_no_utf8_are_refused(line, column):
    (where,) = block_of(b"\n" + line).bad
    assert where[:2] == (2, column)


@pytest.mark.parametrize("line", [b"1 1:1e50 2:1e50", b"1 1:9e49 1:9e49", b"1 3:1e50 1:1e50"])
def test_values_within_bounds_are_taken_whatever_they_add_up_to(tmp_path, line):
    """Each value is within bounds, but the sum of the values or of their squares is not."""
    path = tmp_path / "large.svm"
    path.write_bytes(b"1 1:1\n\n" + line + b"\n-1 2:1\n")
    run = evaluate.progressive(PA(), data.stream(path))
    assert run.examples == 3
    assert np.isfinite(run.model.coef_).all()


def test_bad_lines_are_counted_and_reported_and_all_others_kept(tmp_path):
    bad = [line for line, refusal in REFUSED.items() if refusal]
    text = b"".join(f"{i} {i + 1}:{i}\n{line}\n".encode() for i, line in enumerate(bad))
    path = tmp_path / "half.svm"
    path.write_bytes(text)
    for block in (1 << 20, 50):
        stream = data.stream(path, skip_bad=True, block=block)
        rows = [row for part, y in stream for row in rows_of(part, y)]
        assert rows == [(float(i), [(i + 1, float(i))]) for i in range(len(bad))]
        assert stream.skipped_count == len(bad)
        assert stream.skipped[0] == f"{path}: line 2, column 3: feature index 0; LIBSVM indices start at 1"
        assert len(stream.skipped) == 10


def test_a_file_of_bad_lines_takes_little_memory(tmp_path):
    """The number of stored messages is bounded."""
    import tracemalloc

    path = tmp_path / "bad.svm"
    path.write_bytes(b":\n" * 100_000)
    stream = data.stream(path, skip_bad=True, threads=1)
    tracemalloc.start()
    try:
        assert list(stream) == []
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert stream.skipped_count == 100_000
    assert peak < 10_000_000


# ---- files


def test_an_empty_file_has_no_examples(tmp_path):
    path = tmp_path / "empty.svm"
    for content in (b"", gzip.compress(b""), b"# nothing\n\n", gzip.compress(b"#")):
        path.write_bytes(content)
        assert list(data.stream(path)) == []
        with pytest.raises(DataError, match=r"empty\.svm: no examples"):
            data.load(path)


def test_damaged_gzip_is_refused(tmp_path):
    text = "".join(f"{i % 2} 1:{i} 2:{i * i % 9973}\n" for i in range(2000)).encode()
    packed = gzip.compress(text)
    path = tmp_path / "broken.svm.gz"
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 255
    for content in (packed[:-1], packed[:-9], packed[: len(packed) // 2], packed[:5], packed[:2], packed + b"garbage",
                    bytes(flipped)):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"broken\.svm\.gz: (truncated|damaged|garbage after the) gzip data"):
            list(data.stream(path))


def test_gzip_in_several_members(tmp_path):
    path = tmp_path / "two.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:1\n-1 2:") + gzip.compress(b"3\n"))
    rows = [row for part, y in data.stream(path) for row in rows_of(part, y)]
    assert rows == [(1.0, [(1, 1.0)]), (-1.0, [(2, 3.0)])]


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(DataError, match="Is a directory"):
        list(data.stream(tmp_path))
    with pytest.raises(DataError, match=r"absent\.svm: No such file"):
        list(data.stream(tmp_path / "absent.svm"))
    with pytest.raises(DataError, match=r"no-such-set: No such file.*the bundled sets are digits, spam"):
        list(data.stream("no-such-set"))


@pytest.fixture
def without_rights():
    """Run as a user without the permissions of root."""
    user = os.geteuid()
    os.seteuid(user or 65534)
    yield
    os.seteuid(user)


def test_a_file_that_may_not_be_read_is_refused(tmp_path, request):
    path = tmp_path / "secret.svm"
    path.write_text("1 1:1\n")
    assert len([*data.stream(path)]) == 1
    path.chmod(0)
    request.getfixturevalue("without_rights")
    with pytest.raises(DataError, match=r"secret\.svm: Permission denied"):
        list(data.stream(path))


# ---- agreement with scikit-learn on real files


def test_real_files_are_read_as_scikit_learn_reads_them():
    sklearn = pytest.importorskip("sklearn.datasets")
    data_set("a1a/a1a.libsvm")
    for path in sorted(path for path in DATA.glob("*/*.libsvm") if path.stat().st_size < 3_000_000):
        X, y = sklearn.load_svmlight_file(str(path), zero_based=False)
        X.sum_duplicates()
        ours, labels = data.load(path)
        assert np.array_equal(labels, y), path.name
        assert np.array_equal(ours.indptr, X.indptr), path.name
        assert np.array_equal(ours.indices, X.indices), path.name
        assert np.array_equal(ours.data.view(np.int64), X.data.view(np.int64)), path.name
