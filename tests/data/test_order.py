"""Streams that are shuffled, repeated, sampled or limited, or whose labels are delayed."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

from seriatim import PA, OGDRegressor, data, evaluate
from seriatim.data import cache
from seriatim.data.generate import synthetic
from seriatim.errors import DataError, ParameterError


@pytest.fixture(params=["svm", "vw", "csv"])
def path(request, tmp_path):
    """200 rows; the first value identifies each row."""
    lines = {
        "svm": [f"{i % 3} 1:{i + 1} {i % 7 + 2}:0.5" for i in range(200)],
        "vw": [f"{i % 3} |a n:{i + 1} f{i % 7}" for i in range(200)],
        "csv": ["n,c,label", *(f"{i + 1},x{i % 7},{'abc'[i % 3]}" for i in range(200))],
    }[request.param]
    path = tmp_path / f"rows.{request.param}"
    path.write_text("\n".join(lines) + "\n")
    return path


def examples(source, **options) -> list[tuple]:
    """(label, features by name) of each example."""
    read = []
    for rows, y in data.stream(source, **options):
        start, index, value = rows.arrays
        names = [j if rows.names is None else rows.names[j] for j in index.tolist()]
        for i, label in enumerate(y.tolist()):
            part = slice(start[i], start[i + 1])
            read.append((label, tuple(names[part]), tuple(value[part].tolist())))
    return read


BLOCKS = (64, 1 << 20)


@pytest.mark.parametrize("block", BLOCKS)
def test_later_passes_come_from_disk_as_the_first_came(path, block):
    whole = examples(path)
    stream = data.stream(path, passes=3, block=block)
    read = []
    for _, y in stream:
        if len(read) >= 200:  # later passes do not need the file
            path.unlink(missing_ok=True)
        read += y.tolist()
    assert read == 3 * [label for label, *_ in whole]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("options", [{"passes": 3}, {"shuffle": 1}, {"shuffle": 1, "buffer": 50, "passes": 2}])
def test_what_is_kept_is_what_was_read(path, block, options):
    whole = examples(path)
    read = examples(path, block=block, **options)
    passes = options.get("passes", 1)
    assert len(read) == passes * 200 and sorted(read) == sorted(passes * whole)
    assert read == examples(path, block=1 << 12, **options)
    assert (read[:200] == whole) == ("shuffle" not in options)


@pytest.mark.parametrize("options", [{"passes": 3}, {"shuffle": 1, "passes": 2}, {"shuffle": 1, "buffer": 50}])
def test_many_files_are_as_one(path, monkeypatch, options):
    expected = examples(path, **options)
    monkeypatch.setattr(cache, "STRETCH", 20)
    monkeypatch.setattr(cache, "BLOCK", 10)
    assert examples(path, block=64, **options) == expected


def test_the_last_pass_gives_its_files_up(monkeypatch):
    monkeypatch.setattr(cache, "STRETCH", 4)
    blocks, kept = list(synthetic.dense(300, 4, block=10)), cache.Cache()
    for rows, y in blocks:
        kept.add(rows, y)
    kept.ready()
    monkeypatch.setattr(cache, "BLOCK", 1)
    for last in (False, False, True):
        assert sum(rows.n for rows, _ in kept.in_order(last)) == 300
        closed = [file.file.closed for stretch in kept.stretches for file in stretch.files.values()]
        assert any(closed) == last
    kept.close()
    assert all(file.file.closed for stretch in kept.stretches for file in stretch.files.values())


def test_examples_that_were_cut_short_are_an_error():
    kept = cache.Cache()
    for rows, y in synthetic.dense(300, 4, block=10):
        kept.add(rows, y)
    kept.ready()
    for name in cache.OF_STRETCH:
        kept.stretches[-1].files[name].file.truncate(64)
    with pytest.raises(DataError, match="cut short"):
        list(kept)
    kept.close()


def test_a_full_disk_is_an_error(monkeypatch):
    kept, blocks = cache.Cache(), list(synthetic.dense(300, 4, block=10))
    monkeypatch.setattr(cache, "PIECE", 1000)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "writev", full)
    with pytest.raises(DataError, match=r"no room for the examples in .*No space left"):
        for rows, y in blocks:
            kept.add(rows, y)
    kept.close()


def test_pieces_that_are_written_in_part(monkeypatch):
    """A system call may write fewer bytes than asked."""
    blocks, kept = list(synthetic.dense(300, 4, block=10)), cache.Cache()
    whole = os.writev
    monkeypatch.setattr(os, "writev", lambda file, parts: whole(file, [parts[0][: 7 * len(parts[0]) // 10 + 1]]))
    for rows, y in blocks:
        kept.add(rows, y)
    kept.ready()
    read = [(rows.arrays[2].copy(), y.copy()) for rows, y in kept]
    kept.close()
    np.testing.assert_array_equal(
        np.concatenate([v for v, _ in read]), np.concatenate([r.arrays[0].ravel() for r, _ in blocks])
    )
    np.testing.assert_array_equal(np.concatenate([y for _, y in read]), np.concatenate([y for _, y in blocks]))


def test_a_seed_is_an_order_and_each_pass_has_its_own(path):
    first, second = (examples(path, shuffle=seed, passes=2) for seed in (1, 2))
    assert first != second and first[:200] != first[200:]
    places = [int(values[0]) - 1 for _, _, values in first[:200]]
    assert abs(np.corrcoef(places, np.arange(200))[0, 1]) < 0.3


@pytest.mark.parametrize("block", BLOCKS)
def test_a_buffer_shuffles_within_stretches(path, block):
    read = examples(path, shuffle=3, buffer=30, block=block)
    whole = examples(path)
    for begin in range(0, 200, 30):
        assert sorted(read[begin : begin + 30]) == sorted(whole[begin : begin + 30])
        assert read[begin : begin + 30] != whole[begin : begin + 30] or begin == 180


@pytest.mark.parametrize("block", BLOCKS)
def test_skip_sample_and_limit(path, block):
    whole = examples(path)
    assert examples(path, skip=150, block=block) == whole[150:]
    assert examples(path, skip=20, limit=30, block=block) == whole[20:50]
    assert examples(path, skip=200, block=block) == examples(path, skip=500) == []
    some = examples(path, sample=0.3, block=block)
    assert some == examples(path, sample=0.3) and set(some) < set(whole) and 30 < len(some) < 90
    assert examples(path, sample=1.0, block=block) == whole
    prefix, rest = data.stream(path, skip=10, limit=100, block=block).split(40)
    assert [sum(len(y) for _, y in part) for part in (prefix, rest)] == [40, 60]


def test_a_model_does_not_depend_on_where_blocks_end(path):
    """Also if shuffling changes the order in which names appear."""
    runs = [
        evaluate.progressive(PA(), data.stream(path, shuffle=5, passes=2, block=block, threads=threads))
        for block in BLOCKS
        for threads in (1, 3)
    ]
    for run in runs[1:]:
        assert run.curve == runs[0].curve and np.array_equal(run.model.coef_, runs[0].model.coef_)


def test_blocks_are_a_stream_too():
    blocks = list(synthetic.dense(300, 4, block=100))
    assert [len(y) for _, y in data.stream(blocks, skip=50, limit=200)] == [50, 100, 50]
    kept = [rows.arrays[-1].size for rows, _ in data.stream(blocks, passes=2)]
    assert sum(kept) == 2 * 300 * 4


@pytest.mark.parametrize(
    "options", [{"passes": 0}, {"skip": -1}, {"sample": 0}, {"sample": 1.5}, {"buffer": 5}, {"delay": -1}]
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ParameterError, match="must be"):
        data.stream("spam", **options)


def test_what_can_be_read_once_cannot_be_split():
    with pytest.raises(DataError, match="only once"):
        data.stream("-").split(10)


# ---- delayed labels


@pytest.mark.parametrize("source", ["digits", "spam"])
@pytest.mark.parametrize("delay", [1, 7, 300, 10_000])
def test_a_delay_is_what_one_would_do_by_hand(source, delay):
    X, y = data.load(source)
    X, y = X[:600].toarray(), y[:600]
    model, wrong = PA(C=0.01), 0
    for t in range(600):
        wrong += t <= delay or model.predict(X[t : t + 1])[0] != y[t]
        if t >= delay:
            model.partial_fit(X[t - delay : t - delay + 1], y[t - delay : t - delay + 1])
    for t in range(max(600 - delay, 0), 600):
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    for stream in ((X, y), (data.stream(source, limit=600, block=5000),)):
        run = evaluate.progressive(PA(C=0.01), *stream, delay=delay)
        assert (run.examples, run.mistakes) == (600, wrong)
        # A file leaves out zeros, which changes the order of the four partial sums.
        assert run.model.coef_ == pytest.approx(model.coef_, abs=1e-9)
        assert run.curve[-1] == (600, wrong / 600)


def test_a_delayed_regression():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    y = X @ [1.0, 2.0, -1.0]
    model, loss = OGDRegressor(eta=0.1), 0.0
    for t in range(100):
        predicted = model.predict(X[t : t + 1])[0] if t > 5 else 0.0
        loss += (y[t] - predicted) ** 2 / (2 if OGDRegressor().loss == "squared" else 1)
        if t >= 5:
            model.partial_fit(X[t - 5 : t - 4], y[t - 5 : t - 4])
    run = evaluate.progressive(OGDRegressor(eta=0.1), X, y, delay=5)
    assert run.mistakes is None and run.loss == pytest.approx(loss)


def test_all_in_memory_by_name(tmp_path):
    (tmp_path / "a.vw").write_text("".join(f"1 |n f{i % 5}:{i} g{i % 3}\n" for i in range(40)))
    X, y, names = data.load(tmp_path / "a.vw", names=True, block=64)
    assert X.shape == (40, 8) and names[:2] == ["n^f0", "n^g0"] and len(y) == 40
    for i in range(40):
        expected = {f"n^f{i % 5}": float(i), f"n^g{i % 3}": 1.0}
        assert {names[j]: v for j, v in zip(X[i].indices, X[i].data, strict=True)} == expected
