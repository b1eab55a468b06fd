"""Sample weights from Vowpal Wabbit text: through all stream options, to the learner or another file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seriatim import PA, VotedPerceptron, data, evaluate
from seriatim.data.write.convert import convert
from seriatim.errors import DataError, ParameterError
from tests.test_contract import assert_same_state

N = 400


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """Feature `i` identifies each example; the first 100 have weight 1."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("weights") / "weighted.vw"
    with path.open("w") as lines:
        for i in range(N):
            weight = "" if i < 100 else f" {weight_of(i):g}"
            a, b = rng.standard_normal(2).round(3)
            print(f"{1 if a + b > 0.3 * rng.standard_normal() else -1}{weight} |f i:{i + 1} a:{a} b:{b}", file=lines)
    return path


def weight_of(i: int) -> float:
    return 1.0 if i < 100 else (0.0, 0.5, 1.0, 2.0, 7.0)[i % 5]


def weights_by_example(stream) -> list[tuple[int, float]]:
    """(example, weight), in the order of the stream."""
    found = []
    for rows, _ in stream:
        start, index, value = rows.arrays
        first = [0 if rows.names is None else [*rows.names].index("f^i")] * rows.n
        for k, weight in enumerate(rows.weights.tolist()):
            part = slice(start[k], start[k + 1])
            found.append((int(value[part][index[part] == first[k]][0]) - 1, weight))
    return found


@pytest.mark.parametrize("block", [1 << 20, 3000, 200])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"skip": 150, "limit": 100},
        {"limit": 99},
        {"sample": 0.3},
        {"shuffle": 1},
        {"shuffle": 1, "buffer": 30},
        {"passes": 3},
        {"passes": 2, "shuffle": 4},
        {"passes": 2, "shuffle": 4, "buffer": 90, "sample": 0.5},
    ],
    ids=str,
)
def test_each_example_keeps_its_weight(file, options, block):
    found = weights_by_example(data.stream(file, block=block, **options))
    assert len(found) >= 90
    assert found == [(i, weight_of(i)) for i, _ in found]


def test_parts_keep_their_weights(file):
    for part in data.stream(file, block=500).split(170):
        found = weights_by_example(part)
        assert found == [(i, weight_of(i)) for i, _ in found]


@pytest.mark.parametrize("features", [None, {"normalize": "standard"}, {"normalize": "unit"}, {"bits": 10}], ids=str)
@pytest.mark.parametrize("delay", [0, 5])
def test_they_reach_the_learner(file, features, delay):
    models = []
    for block, threads in ((1 << 20, 1), (200, 3)):
        stream = data.stream(file, block=block, threads=threads, features=features, delay=delay)
        models.append(evaluate.progressive(PA(C=0.01, features=features), stream).model)
    assert_same_state(*models)
    X, y, names, weights = data.load(file, names=True, weights=True, features=features)
    assert weights.tolist() == [weight_of(i) for i in range(N)]
    one_by_one = PA(C=0.01, features=None if names is None else features)
    for x, label, weight in zip(X.toarray(), y, weights, strict=True):
        if names is None:
            one_by_one.partial_fit([x], [label], sample_weight=[weight])
        else:
            one_by_one.learn_one(dict(zip(names, x.tolist(), strict=True)), label, weight)
    assert models[0].updates_ == one_by_one.updates_
    ours, theirs = models[0].coef_, one_by_one.coef_
    np.testing.assert_allclose(ours[:, : theirs.shape[1]], theirs, rtol=1e-9, atol=1e-12)


def test_who_does_not_define_weights_refuses_them_in_a_stream(file):
    with pytest.raises(ParameterError, match=r"VotedPerceptron\(.*does not define sample weights"):
        evaluate.progressive(VotedPerceptron(), data.stream(file))
    run = evaluate.progressive(VotedPerceptron(), data.stream(file, limit=100))  # these have no weights
    assert run.examples == 100


def test_two_ways_to_a_name_keep_their_weights(tmp_path):
    """Rows in which two names are one feature are merged, with their weights."""
    path = tmp_path / "twice.vw"
    path.write_text("1 |a^b c |a b^c\n-1 3 |a^b c |x d\n1 2 |a b^c:2 |a^b c\n")
    model = evaluate.progressive(PA(C=0.01), data.stream(path)).model
    other = PA(C=0.01)
    other.learn_one({"a^b^c": 2}, 1)
    other.learn_one({"a^b^c": 1, "x^d": 1}, -1, weight=3)
    other.learn_one({"a^b^c": 3}, 1, weight=2)
    np.testing.assert_allclose(model.coef_, other.coef_)


def test_loading_does_not_lose_them(file):
    with pytest.raises(DataError, match=r"the examples have weights; data\.load\(\.\.\., weights=True\) returns them"):
        data.load(file)
    X, _ = data.load(file, limit=100)  # all of these have weight 1
    assert X.shape[0] == 100
    _, _, weights = data.load("spam", weights=True)
    assert weights.tolist() == [1.0] * 4601


def test_they_are_written_where_there_is_a_place_for_them(file, tmp_path):
    again = tmp_path / "again.vw"
    convert(file, again)
    some = again.read_text().splitlines()[99:104]
    assert [line.split()[1] for line in some] == ["|f", "0", "0.5", "|f", "2"]
    kept = data.load(again, weights=True)
    for ours, theirs in zip(kept, data.load(file, weights=True), strict=True):
        assert (ours != theirs).sum() == 0
    for ending in ("svm", "csv", "jsonl", "parquet"):
        with pytest.raises(DataError, match=r"weighted\.vw: example 101 has the weight 0, which .* cannot store"):
            convert(file, tmp_path / f"lost.{ending}")
        assert not (tmp_path / f"lost.{ending}").exists()
