"""Streams give the same bits for any blocks and threads, in order, and errors come in order, too."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
import time
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from seriatim import PA, AveragedPerceptron, OGDRegressor, VotedPerceptron, data, evaluate
from seriatim.core.threads import ahead
from seriatim.data.generate import synthetic
from seriatim.data.read import lines
from seriatim.data.read.libsvm import format_rows
from seriatim.errors import DataError, ParameterError, ParseError
from seriatim.labels import coded


@pytest.fixture(scope="module")
def text() -> bytes:
    """Plain rows, unsorted rows, and rows that the fast path does not read."""
    rng = np.random.default_rng(3)
    lines = []
    for i in range(400):
        columns = rng.integers(1, 60, rng.integers(0, 12))
        columns = columns if i % 7 == 0 else np.unique(columns)
        values = rng.standard_normal(len(columns))
        shape = "{}:{:.3f}" if i % 3 else "{}:{!r}"
        pairs = " ".join(shape.format(j, float(v)) for j, v in zip(columns, values, strict=True))
        label = ("a", "b", "c")[rng.integers(0, 2 if i < 200 else 3)]
        lines.append(f"{label} {pairs}" + ("  # why\r" if i % 11 == 0 else ""))
    return "\n".join(lines).encode()


@pytest.fixture
def path(tmp_path, text) -> Path:
    path = tmp_path / "rows.svm"
    path.write_bytes(text)
    return path


def outcome(model, source, **options) -> tuple:
    """The results and the model of a run, for comparisons bit by bit."""
    run = evaluate.progressive(model, data.stream(source, **options))
    state = {k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in model.__getstate__()["state"].items()}
    return state, model.__getstate__()["codes"], run.mistakes, run.mean_loss.hex(), run.updates, run.curve


def examples(source, **options) -> list:
    """(label, columns, values) of every row."""
    rows = []
    for part, y in data.stream(source, **options):
        start, index, value = part.arrays
        rows += [
            (label, index[a:b].tolist(), value[a:b].tolist())
            for label, a, b in zip(y.tolist(), start[:-1], start[1:], strict=True)
        ]
    return rows


# ---- the same bits


@pytest.mark.parametrize("algorithm", [PA, AveragedPerceptron, VotedPerceptron])
def test_a_run_does_not_depend_on_how_it_is_read(path, text, algorithm):
    expected = outcome(algorithm(), path, threads=1)
    packed = path.with_suffix(".gz")
    packed.write_bytes(gzip.compress(text))
    for threads in (1, 2, 4):
        for block in (1, 7, 1000, 1 << 20):
            assert outcome(algorithm(), path, threads=threads, block=block) == expected, (threads, block)
            if block > 1:
                assert outcome(algorithm(), packed, threads=threads, block=block) == expected, (threads, block, "gzip")


def test_a_pipe_is_read_as_a_file_is(tmp_path, path, text):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    expected = outcome(PA(), path)
    for content in (text, gzip.compress(text)):
        writer = threading.Thread(target=pipe.write_bytes, args=(content,))
        writer.start()
        assert outcome(PA(), pipe) == expected
        writer.join()


def test_a_pipe_that_is_written_byte_by_byte(tmp_path):
    """The first bytes of gzip data need not arrive together."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for content in (b"1 1:1\n-1 2:2\n", gzip.compress(b"1 1:1\n-1 2:2\n")):

        def write(content=content):
            with pipe.open("wb", buffering=0) as file:
                for k in range(len(content)):
                    file.write(content[k : k + 1])
                    time.sleep(0.005)

        writer = threading.Thread(target=write)
        writer.start()
        assert examples(pipe) == [(1.0, [0], [1.0]), (-1.0, [1], [2.0])]
        writer.join()


def from_stdin(code: str, **options) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, **options)
    return done.stdout.decode().strip()


COUNT = "from seriatim import data; print([label for _, y in data.stream('-') for label in y.tolist()])"


def test_standard_input():
    assert from_stdin(COUNT, input=b"1 1:1\nspam 2:2") == "[1.0, 'spam']"
    assert from_stdin(COUNT, input=gzip.compress(b"1 1:1\n2 2:2")) == "[1.0, 2.0]"
    assert from_stdin(COUNT, input=b"") == "[]"


def test_standard_input_is_read_from_where_it_stands(tmp_path):
    """As after `read header` in a shell script, which consumes the first line."""
    path = tmp_path / "rows.svm"
    path.write_bytes(b"header\n1 1:1\n2 2:2\n")
    with path.open("rb", buffering=0) as file:
        file.seek(7)
        assert from_stdin(COUNT, stdin=file) == "[1.0, 2.0]"


def test_standard_input_may_be_gone_through_again():
    """The examples are stored on disk."""
    assert from_stdin(COUNT.replace("'-'", "'-', passes=2"), input=b"1 1:1\n2 2:2\n") == "[1.0, 2.0, 1.0, 2.0]"


# ---- limit, passes, shuffle


def test_limit(path):
    whole = examples(path)
    for limit in (1, 2, 199, 399, 400, 1000):
        for block in (64, 1 << 20):
            assert examples(path, limit=limit, block=block) == whole[:limit]


def test_passes(path):
    whole = examples(path)
    assert examples(path, passes=3) == 3 * whole
    assert examples(path, passes=2, limit=5) == 2 * whole[:5]


def test_shuffle_is_a_permutation_by_its_seed(path):
    whole = examples(path)
    once = examples(path, shuffle=5)
    assert once != whole
    assert sorted(once) == sorted(whole)
    assert examples(path, shuffle=5, block=1, threads=1) == once
    assert examples(path, shuffle=6) != once
    twice = examples(path, shuffle=5, passes=2)
    assert twice[:400] == once
    assert twice[400:] != once
    assert sorted(twice[400:]) == sorted(whole)
    assert sorted(examples(path, shuffle=0, limit=10)) == sorted(whole[:10])


def test_shuffled_rows_give_the_same_bits_whatever_the_threads(path):
    expected = outcome(PA(), path, shuffle=1, threads=1)
    for threads, block in ((2, 7), (4, 1 << 20)):
        assert outcome(PA(), path, shuffle=1, threads=threads, block=block) == expected


def test_a_stream_may_be_iterated_again(path):
    stream = data.stream(path)
    assert [len(y) for _, y in stream] == [len(y) for _, y in stream]


def test_the_share_that_was_read(path):
    for options in ({}, {"shuffle": 1}, {"passes": 2}, {"block": 100}):
        stream = data.stream(path, **options)
        assert stream.share_read() is None
        shares = [stream.share_read() for _ in stream]
        assert shares == sorted(shares) or "passes" in options
        assert all(0 < share <= 1 for share in shares)
        assert shares[-1] == 1


def test_files_are_closed(path, text):
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("open files are counted in /proc")
    packed = path.with_suffix(".gz")
    packed.write_bytes(gzip.compress(text))
    for source in (path, packed):
        before = len(list(folder.iterdir()))
        stream = data.stream(source)
        list(stream)
        assert len(list(folder.iterdir())) == before, source.name
        next(iter(data.stream(source, block=50)))
        assert len(list(folder.iterdir())) == before, source.name


# ---- bundled sets


@pytest.mark.parametrize("name, first", [("spam", "make"), ("digits", None)])
def test_bundled_sets(name, first):
    about = data.datasets()[name]
    X, y = data.load(name)
    assert X.shape == (about.rows, len(about.feature_names))
    assert sorted(set(y.tolist())) == sorted(about.labels)
    for rows, _ in data.stream(name):
        assert list(rows.names) == about.feature_names
    assert len(set(about.feature_names)) == len(about.feature_names)
    assert first is None or about.feature_names[0] == first


def test_a_file_of_the_name_goes_before_a_bundled_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("spam").write_text("1 1:1\n")
    assert examples("spam") == [(1.0, [0], [1.0])]
    assert [rows.names for rows, _ in data.stream("spam")] == [None]


# ---- order of errors


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("block", [1, 16, 1000, 1 << 20])
def test_an_error_comes_in_its_turn_with_its_line(tmp_path, threads, block):
    path = tmp_path / "bad.svm"
    good = b"".join(b"%d 1:%d\n" % (i % 2, i) for i in range(300))
    path.write_bytes(good + b"1 1:1 0:5\n" + good + b"1 x\n")
    seen = 0
    with pytest.raises(ParseError) as caught:
        for rows, _ in data.stream(path, threads=threads, block=block):
            seen += rows.n
    assert (caught.value.line, caught.value.column) == (301, 7)
    assert 300 - block <= seen <= 300


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_what_precedes_damaged_data_is_read_whatever_the_threads(tmp_path, threads):
    rng = np.random.default_rng(0)
    text = b"".join(b"1 1:%r\n" % float(v) for v in rng.random(5000))
    path = tmp_path / "cut.svm.gz"
    path.write_bytes(gzip.compress(text)[:40_000])
    counts = []
    for number in (1, threads):
        seen = 0
        with pytest.raises(DataError, match="truncated gzip"):
            for rows, _ in data.stream(path, threads=number, block=4000):
                seen += rows.n
        counts.append(seen)
    assert counts[0] == counts[1] > 1000


def test_the_first_of_two_errors_is_raised(tmp_path):
    """The error of a bad line precedes that of a truncated file, although the file is read ahead."""
    rng = np.random.default_rng(0)
    text = b"1 1:1\n" * 10 + b"bad line\n" + b"".join(b"1 1:%r\n" % float(v) for v in rng.random(2000))
    path = tmp_path / "cut.svm.gz"
    path.write_bytes(gzip.compress(text)[:10_000])
    for threads in (1, 2, 4):
        with pytest.raises(ParseError) as caught:
            list(data.stream(path, threads=threads, block=4000))
        assert caught.value.line == 11


def test_a_line_belongs_to_the_range_in_which_it_begins(tmp_path):
    """Files with lines of many lengths, some longer than a range, and with or without a last newline."""
    rng = np.random.default_rng(0)
    for ending in (b"", b"\n", b"\n\n", b"\n# end"):
        path = tmp_path / "rows.svm"
        words = [b"1 %d:1" % i + b" " * int(rng.choice([0, 1, 30, 5000])) for i in range(1, 300)]
        path.write_bytes(b"\n".join(words) + ending)
        for block in (1, 3, 64, 1000, 4096, 5000, 1 << 20):
            if block >= 64:
                assert [row[1] for row in examples(path, block=block)] == [[i] for i in range(299)], block
            assert [row[1] for row in examples(path, block=block, limit=40)] == [[i] for i in range(40)], block


# ---- changed and damaged files


def test_a_file_that_grows_is_read_as_it_was(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"".join(b"1 %03d:1\n" % i for i in range(1, 151)))
    columns = []
    for part, _ in data.stream(path, block=1000, threads=1):
        if not columns:
            with path.open("ab") as file:
                file.write(b"".join(b"1 %03d:1\n" % i for i in range(151, 401)))
        columns += part.arrays[1].tolist()
    assert columns == list(range(150))


@pytest.mark.parametrize("block", [1, 10, 1 << 20])
def test_what_comes_after_the_limit_does_not_matter(tmp_path, block):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:1\n2 2:1\n1 9999:1\nbad line\n")
    ((rows, y),) = [(part.features, len(y)) for part, y in data.stream(path, limit=2, block=1 << 20)]
    assert (rows, y) == (2, 2)
    run = evaluate.progressive(PA(), data.stream(path, limit=2, block=block))
    assert (run.examples, run.features) == (2, 2)


@pytest.mark.parametrize("block", [1, 10, 1 << 20])
def test_the_rows_before_a_bad_line_are_there(tmp_path, block):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:1\n2 2:1\nbad line\n1 3:1\n")
    found = []
    with pytest.raises(ParseError, match="line 3"):
        for part, y in data.stream(path, block=block):
            found += zip(y.tolist(), part.arrays[1].tolist(), strict=True)
    assert found == [(1.0, 0), (2.0, 1)]


def test_bad_lines_are_counted_once(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:1\nbad line\n2 2:1\n")
    stream = data.stream(path, passes=3, skip_bad=True)
    assert sum(len(y) for _, y in stream) == 6
    assert (stream.skipped_count, len(stream.skipped)) == (1, 1)


@pytest.mark.parametrize("packed", [False, True])
def test_a_byte_order_mark_is_no_part_of_the_first_label(tmp_path, packed):
    path = tmp_path / "rows.svm"
    text = b"\xef\xbb\xbf1 1:1\n-1 1:2\n"
    path.write_bytes(gzip.compress(text) if packed else text)
    assert [label for label, _, _ in examples(path)] == [1.0, -1.0]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("block", [100, 1000, 1 << 20])
def test_the_limit_for_a_line_is_what_it_says(tmp_path, monkeypatch, block, packed):
    monkeypatch.setattr(lines, "MAX_LINE", 200_000)
    path = tmp_path / "rows.svm"
    roomy = block == 1 << 20 and not packed  # the line fits in a block, so its length is not checked
    for length, fits in ((199_990, True), (200_500, roomy), (500_000, roomy)):
        text = b"1 1:1\n" + b"1 1:1".ljust(length) + b"\n1 2:1\n"
        path.write_bytes(gzip.compress(text) if packed else text)
        if fits:
            assert len(examples(path, block=block)) == 3
        else:
            with pytest.raises(DataError, match="a line of more than"):
                examples(path, block=block)


def test_rows_that_are_gone_say_so_and_parts_of_them_stay(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"".join(b"1 1:%d\n" % i for i in range(500)))
    kept = [rows for rows, _ in data.stream(path, block=100)]
    with pytest.raises(ValueError, match="reused their memory"):
        kept[0].arrays  # noqa: B018
    with pytest.raises(ValueError, match="reused their memory"):
        PA().learn_rows(kept[0], coded(np.array([1.0])))
    firsts = [rows.slice(0, 1) for rows, _ in data.stream(path, block=100)]
    values = [float(part.arrays[2][0]) for part in firsts]
    assert values == sorted(set(values))


# ---- threads that work ahead


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_come_in_order(threads):
    def slow(item):
        time.sleep(0.002 if item % 3 == 0 else 0)
        return item * item

    assert list(ahead(slow, range(60), threads)) == [item * item for item in range(60)]
    assert list(ahead(slow, [], threads)) == []


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_of_the_function_is_raised_in_its_turn(threads):
    taken = []
    with pytest.raises(ZeroDivisionError):
        for result in ahead(lambda item: 1 // (item - 20), range(100), threads):
            taken.append(result)
    assert taken == [1 // (item - 20) for item in range(20)]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_of_the_items_is_raised_in_its_turn(threads):
    def items():
        yield from range(20)
        raise LookupError("no more")

    taken = []
    with pytest.raises(LookupError, match="no more"):
        for result in ahead(str, items(), threads):
            taken.append(result)
    assert taken == [str(item) for item in range(20)]


@pytest.mark.parametrize("threads", [2, 4])
def test_an_early_end_leaves_nothing_running(threads):
    begun = []

    def work(item):
        begun.append(item)
        time.sleep(0.001)
        return item

    before = threading.active_count()
    results = ahead(work, iter(range(10_000)), threads, depth=2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    results.close()
    assert threading.active_count() == before
    assert len(begun) < 40
    count = len(begun)
    time.sleep(0.02)
    assert len(begun) == count


def test_an_interrupt_is_not_kept_for_later():
    """An interrupt during a later result is raised even if the caller stops before that result."""

    def work(item):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.05)
        return item

    with pytest.raises(KeyboardInterrupt):
        list(islice(ahead(work, range(20), threads=2), 3))


def test_a_thread_that_cannot_be_started_leaves_none_behind(monkeypatch):
    before, starts, start = threading.active_count(), [], threading.Thread.start

    def failing(thread):
        starts.append(thread)
        if len(starts) == 3:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", failing)
    with pytest.raises(RuntimeError, match="new thread"):
        list(ahead(abs, range(5), threads=4))
    assert threading.active_count() == before


# ---- generated streams


def parts_of(blocks) -> tuple:
    arrays = [(*rows.arrays, y) for rows, y in blocks]
    return tuple(part.tobytes() for arrays in arrays for part in arrays)


@pytest.mark.parametrize("generate", [synthetic.text_like, synthetic.dense, synthetic.drifting])
def test_generated_streams_are_seeded_and_have_their_shape(generate):
    assert parts_of(generate(200, 30, seed=1)) == parts_of(generate(200, 30, seed=1))
    assert parts_of(generate(200, 30, seed=1)) != parts_of(generate(200, 30, seed=2))
    for block in (1, 7, 199, 200, 1000):
        blocks = [(rows.check(), y) for rows, y in generate(200, 30, block=block)]
        assert sum(rows.n for rows, _ in blocks) == sum(len(y) for _, y in blocks) == 200
        assert {rows.features for rows, _ in blocks} == {30}
        assert {label for _, y in blocks for label in y.tolist()} <= {-1, 1}
    assert list(generate(0, 30)) == []


def test_generated_text_has_unit_length():
    (rows, y), *_ = synthetic.text_like(100, 500, 20.0)
    start, index, value = rows.arrays
    for a, b in pairwise(start):
        assert abs(np.sum(value[a:b] ** 2) - 1) < 1e-12
        assert np.all(np.diff(index[a:b]) > 0)
    assert 0.2 < np.mean(y > 0) < 0.8


def test_written_rows_are_read_as_they_were(tmp_path):
    (rows, y), *_ = synthetic.text_like(50, 500, 20.0)
    path = tmp_path / "written.svm"
    path.write_bytes(format_rows(rows, [b"%d" % label for label in y]))
    ((back, labels),) = [(part.arrays, labels) for part, labels in data.stream(path)]
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(back, rows.arrays, strict=True))
    assert labels.tolist() == y.tolist()


def test_what_cannot_be_asked_of_a_stream():
    with pytest.raises(ParameterError):
        data.stream("spam", limit=-1)
    with pytest.raises(ParameterError):
        data.stream("spam").split(-5)
    for reading in ({"features": {"label": "y"}}, {"features": {"bits": 4}}, {"format": "csv"}):
        with pytest.raises(ParameterError, match="has no effect on a generated stream"):
            data.stream("sea", **reading)
    assert next(iter(data.stream("sea", features={"normalize": "max"})))[0].n


@pytest.mark.parametrize(
    "name, text, place, left",
    [
        ("rows.svm", "1 1:1\n\n# note\nfoo 1:2\n2.5 1:3\nbar 1:1\n", "line 4, column 1", 2),
        ("rows.csv", 'a,y\n1,2.5\n"two\nlines",3\n3,foo\n4,1\n', "line 5, column 3", 3),
        ("rows.jsonl", '{"a": 1, "y": 2}\n{"a": 1, "y": "foo"}\n', "line 2, column 16", 1),
        ("rows.vw", "1 |a b\nfoo |a c\n", "line 2, column 1", 1),
    ],
)
@pytest.mark.parametrize("block", [10, 1 << 20])
def test_a_name_where_a_number_is_to_be_estimated(tmp_path, name, text, place, left, block):
    """In a regression it is a bad line. In a classification of the same stream it is a label."""
    path = tmp_path / name
    path.write_text(text)
    model = OGDRegressor()
    with pytest.raises(ParseError, match=f"{place}: expected a number to estimate, found 'foo'"):
        evaluate.progressive(model, data.stream(path, block=block))
    assert model.t_ == 1 + (name == "rows.csv")
    stream = data.stream(path, skip_bad=True, block=block)
    assert evaluate.progressive(OGDRegressor(), stream).examples == left
    assert stream.skipped_count == text.count("foo") + text.count("bar")
    assert sum(rows.n for rows, _ in stream) == left
    stream.expect_numbers(False)
    assert sum(rows.n for rows, _ in stream) == left + text.count("foo") + text.count("bar")
