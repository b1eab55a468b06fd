"""Drifting streams agree with the papers, example by example, for any block size."""

from __future__ import annotations

import math
from functools import partial
from itertools import islice

import numpy as np
import pytest

from seriatim.core.rows import Rows
from seriatim.data.generate import synthetic
from seriatim.data.generate.drift import STREAMS, abrupt, generated, gradual, hyperplane, led, random_rbf, sea, stagger
from seriatim.errors import DataError, ParameterError


def examples(blocks, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first n examples of a stream, or all if it has fewer."""
    X, y, have = [], [], 0
    for rows, labels in blocks:
        X.append(rows.arrays[0])
        y.append(labels)
        have += len(labels)
        if have >= n:
            break
    return np.concatenate(X)[:n], np.concatenate(y)[:n]


def same(found, expected) -> bool:
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(found, expected, strict=True))


def numbered(n: int, label: int, block: int = 7):
    """Examples whose only feature is their number in the stream."""
    for begin in range(0, n, block):
        X = np.arange(begin, min(begin + block, n), dtype=float)[:, None]
        yield Rows.dense(X), np.full(len(X), label)


FASTER = {
    "sea": partial(sea, width=60),
    "hyperplane": partial(hyperplane, features=7, drifting=3, speed=0.05, turn=0.2),
    "led": partial(led, drift=3),
    "random-rbf": partial(random_rbf, features=7, classes=3, speed=0.1),
    "stagger": partial(stagger, width=25),
    "abrupt": lambda seed=0, block=10: abrupt(sea(seed, block=block), sea(seed, noise=0.5, block=block), 155),
    "gradual": lambda seed=0, block=10: gradual(sea(seed), sea(seed, noise=0.5, block=block), 150, 80, seed, block),
}


@pytest.mark.parametrize("stream", FASTER.values(), ids=list(FASTER))
def test_a_stream_is_the_same_whatever_its_blocks(stream):
    expected = examples(stream(block=1000), 500)
    for block in (1, 2, 7, 60, 499, 500):
        assert same(examples(stream(block=block), 500), expected), block


@pytest.mark.parametrize("stream", FASTER.values(), ids=list(FASTER))
def test_a_stream_is_its_seeds(stream):
    assert same(examples(stream(seed=3), 500), examples(stream(seed=3), 500))
    assert not same(examples(stream(seed=3), 500), examples(stream(seed=4), 500))


@pytest.mark.parametrize("stream", STREAMS.values(), ids=list(STREAMS))
def test_a_stream_is_endless_and_fit_for_learners(stream):
    for rows, y in islice(stream(), 12):
        rows.check()
        assert rows.n == len(y) == 10_000


# ---- transcriptions of the papers, example by example, which draw random numbers in the paper's order


def sea_by_hand(seed, n, concepts, noise, width):
    draw = np.random.default_rng(seed).random
    for t in range(n):
        x = [10 * draw() for _ in range(3)]
        label = 1 if x[0] + x[1] <= concepts[t // width % len(concepts)] else -1
        yield x, -label if draw() < noise else label


def hyperplane_by_hand(seed, n, features, drifting, speed, turn, noise):
    draw = np.random.default_rng(seed).random
    first = [draw() for _ in range(features)]
    steps, direction = [0] * features, [1] * features
    for _ in range(n):
        w = [first[i] + speed * steps[i] for i in range(features)]
        x = [draw() for _ in range(features)]
        label = 1 if sum(w[i] * x[i] for i in range(features)) >= sum(w) / 2 else -1
        yield x, -label if draw() < noise else label
        for i in range(drifting):
            steps[i] += direction[i]
            direction[i] *= -1 if draw() < turn else 1


DISPLAY = """
 _     _  _     _  _  _  _  _
| |  | _| _||_||_ |_   ||_||_|
|_|  ||_  _|  | _||_|  ||_| _|
""".splitlines()[1:]
PLACES = [(0, 1), (1, 0), (1, 2), (1, 1), (2, 0), (2, 2), (2, 1)]  # line and column of x1 to x7 in Breiman et al.


def segments(digit):
    return [float(DISPLAY[line].ljust(30)[3 * digit + column] != " ") for line, column in PLACES]


def led_by_hand(seed, n, noise, irrelevant, drift):
    draw = np.random.default_rng(seed).random
    for _ in range(n):
        digit = int(10 * draw())
        x = [1 - on if draw() < noise else on for on in segments(digit)]
        x += [float(draw() < 0.5) for _ in range(irrelevant)]
        for i in range(drift):
            x[i], x[7 + i] = x[7 + i], x[i]
        yield x, digit


def stagger_by_hand(seed, n, width):
    draw = np.random.default_rng(seed).random
    for t in range(n):
        size = ("small", "medium", "large")[int(3 * draw())]
        colour = ("red", "blue", "green")[int(3 * draw())]
        shape = ("circle", "square", "triangle")[int(3 * draw())]
        concept = t // width % 3
        true = (
            (concept == 0 and size == "small" and colour == "red")
            or (concept == 1 and (colour == "green" or shape == "circle"))
            or (concept == 2 and size in ("medium", "large"))
        )
        columns = ["small", "medium", "large", "red", "blue", "green", "circle", "square", "triangle"]
        yield [float(name in (size, colour, shape)) for name in columns], 1 if true else -1


def random_rbf_by_hand(seed, n, features, classes, centroids, speed):
    rng = np.random.default_rng(seed)
    normal, draw = rng.spawn(1)[0].standard_normal, rng.random
    centre = [[draw() for _ in range(features)] for _ in range(centroids)]
    label = rng.integers(classes, size=centroids).tolist()
    deviation = [draw() for _ in range(centroids)]
    weight = [draw() for _ in range(centroids)]
    velocity = [[1 - draw() for _ in range(features)] for _ in range(centroids)]
    velocity = [[speed * part / math.hypot(*way) for part in way] for way in velocity]
    for _ in range(n):
        left = draw() * sum(weight)
        for c in range(centroids):
            left -= weight[c]
            if left < 0:
                break
        way = [2 * draw() - 1 for _ in range(features)]
        scale = normal() * deviation[c] / math.hypot(*way)
        yield [place + scale * part for place, part in zip(centre[c], way, strict=True)], label[c]
        for place, way in zip(centre, velocity, strict=True):
            for i in range(features):
                place[i] += way[i]
                if not 0 <= place[i] <= 1:
                    place[i] = 2 - place[i] if place[i] > 1 else -place[i]
                    way[i] = -way[i]


CASES = [
    (sea, sea_by_hand, {"concepts": (8, 9, 7, 9.5), "noise": 0.1, "width": 150}),
    (sea, sea_by_hand, {"concepts": [3], "noise": 0.0, "width": 1}),
    (hyperplane, hyperplane_by_hand, {"features": 10, "drifting": 2, "speed": 0.001, "turn": 0.1, "noise": 0.05}),
    (hyperplane, hyperplane_by_hand, {"features": 3, "drifting": 3, "speed": 0.1, "turn": 0.5, "noise": 0.0}),
    (hyperplane, hyperplane_by_hand, {"features": 1, "drifting": 0, "speed": 1, "turn": 0, "noise": 1}),
    (led, led_by_hand, {"noise": 0.1, "irrelevant": 17, "drift": 0}),
    (led, led_by_hand, {"noise": 0.0, "irrelevant": 0, "drift": 0}),
    (led, led_by_hand, {"noise": 0.2, "irrelevant": 7, "drift": 7}),
    (stagger, stagger_by_hand, {"width": 40}),
    (stagger, stagger_by_hand, {"width": 1}),
]


@pytest.mark.parametrize("stream, by_hand, options", CASES)
def test_a_stream_is_what_its_paper_defines(stream, by_hand, options):
    X, y = examples(stream(5, block=64, **options), 1000)
    expected_X, expected_y = zip(*by_hand(5, 1000, **options), strict=True)
    assert np.array_equal(X, expected_X)
    assert y.tolist() == list(expected_y)


@pytest.mark.parametrize("speed", [0, 0.001, 0.03, 1])
@pytest.mark.parametrize("features, classes, centroids", [(10, 2, 50), (2, 5, 7), (1, 1, 1)])
def test_random_rbf_is_what_its_paper_defines_but_for_rounding(features, classes, centroids, speed):
    options = {"features": features, "classes": classes, "centroids": centroids, "speed": speed}
    X, y = examples(random_rbf(5, block=64, **options), 1000)
    expected_X, expected_y = zip(*random_rbf_by_hand(5, 1000, **options), strict=True)
    assert np.allclose(X, expected_X, rtol=0, atol=1e-9)
    assert y.tolist() == list(expected_y)


# ---- properties of the examples


def test_sea_changes_its_threshold_where_it_must_and_flips_its_share():
    X, y = examples(sea(1), 62_500)
    for stretch, theta in enumerate((8, 9, 7, 9.5, 8)):
        part = slice(12_500 * stretch, 12_500 * (stretch + 1))
        wrong = np.where(X[part, 0] + X[part, 1] <= theta, 1, -1) != y[part]
        assert abs(wrong.mean() - 0.1) < 0.01, stretch
    X, y = examples(sea(1, noise=0, width=1000), 2000)
    total = X[:, 0] + X[:, 1]
    assert total[:1000][y[:1000] > 0].max() <= 8 < total[:1000][y[:1000] < 0].min()
    assert 8 < total[1000:][y[1000:] > 0].max() <= 9 < total[1000:][y[1000:] < 0].min()
    assert 0 <= X.min() < 0.01 and 9.99 < X.max() <= 10


def test_the_weights_of_a_hyperplane_move_at_their_speed():
    """Where x1 > 1/2, an example is positive if w1 / w2 >= -(x2 - 1/2) / (x1 - 1/2): they enclose w1 / w2."""
    first, second = np.random.default_rng(2).random(2)
    X, y = examples(hyperplane(2, features=2, drifting=1, speed=1e-5, turn=0, noise=0), 60_000)
    for begin in (0, 25_000, 58_000):
        x, label = X[begin : begin + 2000] - 0.5, y[begin : begin + 2000]
        ratio = -x[:, 1] / x[:, 0]
        low, high = ratio[(label > 0) == (x[:, 0] > 0)].max(), ratio[(label > 0) != (x[:, 0] > 0)].min()
        moved = [(first + 1e-5 * t) / second for t in (begin, begin + 2000)]
        assert moved[0] - 0.02 < low and high < moved[1] + 0.02


def test_a_display_inverts_its_share_and_swaps_its_segments():
    X, digit = examples(led(1), 20_000)
    clean = np.array([segments(d) for d in range(10)])
    assert np.all(abs((X[:, :7] != clean[digit]).mean(axis=0) - 0.1) < 0.01)
    assert np.all(abs(X[:, 7:].mean(axis=0) - 0.5) < 0.02)
    assert np.all(abs(np.bincount(digit) / 20_000 - 0.1) < 0.01)
    swapped, same_digit = examples(led(1, drift=2), 20_000)
    assert np.array_equal(swapped, X[:, [7, 8, *range(2, 7), 0, 1, *range(9, 24)]]) and np.array_equal(
        same_digit, digit
    )


# ---- from one stream to another


def test_abrupt_changes_at_once():
    for at in (0, 1, 6, 7, 8, 21):
        X, y = examples(abrupt(numbered(50, 1), numbered(50, 2, block=3), at), 60)
        assert y.tolist() == ([1] * at + [2] * 50)[:60]
        assert X[:, 0].tolist() == [*range(at), *range(50)][:60]
    assert examples(abrupt(numbered(5, 1), numbered(5, 2), 8), 60)[1].tolist() == [1] * 5 + [2] * 5
    blocks = abrupt(synthetic.text_like(20), synthetic.text_like(20), 10)
    assert [rows.n for rows, _ in blocks] == [10, 20]


def test_gradual_change_follows_the_sigmoid_and_leaves_no_example_out():
    X, y = examples(gradual(numbered(30_000, 1), numbered(30_000, 2), 10_000, 4_000, seed=1), 30_000)
    for label in (1, 2):
        assert X[y == label, 0].tolist() == list(range(np.count_nonzero(y == label)))
    probability = np.array([1 / (1 + math.exp(-4 * (t - 10_000) / 4_000)) for t in range(30_000)])
    for begin in range(0, 30_000, 1000):
        p, late = probability[begin : begin + 1000], y[begin : begin + 1000] == 2
        assert abs(late.sum() - p.sum()) <= 4 * math.sqrt((p * (1 - p)).sum()) + 1, begin
    draws = np.random.default_rng(1).random(30_000)
    assert np.array_equal(y == 2, draws < probability)


@pytest.mark.parametrize("block", [1, 10, 33, 1000])
def test_gradual_change_ends_where_a_stream_has_ended_whose_turn_it_is(block):
    X, y = examples(gradual(numbered(1000, 1), numbered(1000, 2), 50, 30), 200)
    for first, second in ((40, 1000), (1000, 40), (3, 3), (1, 1)):
        end = min(np.flatnonzero(y == label)[n] for label, n in ((1, first), (2, second)) if sum(y == label) > n)
        found = examples(gradual(numbered(first, 1), numbered(second, 2), 50, 30, block=block), 200)
        assert same(found, (X[:end], y[:end]))


def test_gradual_change_at_its_limits():
    y = examples(gradual(numbered(90, 1), numbered(90, 2), 40, 1), 80)[1]
    assert set(y[:30]) == {1} and set(y[50:]) == {2}
    assert set(examples(gradual(numbered(90, 1), numbered(90, 2), 10**15, 1), 80)[1]) == {1}
    with pytest.raises(DataError, match="the first stream has 3 features and the second 24"):
        next(gradual(sea(), led(), 10, 10))
    with pytest.raises(DataError, match="sparse rows; gradual drift takes dense ones"):
        next(gradual(synthetic.text_like(20), sea(), 10, 10))
    with pytest.raises(DataError, match="without examples"):
        next(gradual(sea(), iter([]), 10, 10))


# ---- by name


def test_a_stream_by_its_name():
    for name, stream in STREAMS.items():
        for text in (name, f"{name}:"):
            assert same(examples(generated(text)(), 100), examples(stream(), 100))
    assert same(examples(generated("sea:seed=7,noise=0.2")(block=9), 100), examples(sea(7, noise=0.2), 100))
    found = examples(generated("sea:concepts=1/2.5, width=50")(), 100)
    assert same(found, examples(sea(concepts=(1, 2.5), width=50), 100))
    assert same(
        examples(generated("random-rbf:classes=4,speed=1e-3")(), 99), examples(random_rbf(classes=4, speed=1e-3), 99)
    )
    for name in ("spam", "sea.svm", "SEA", "", ":", "random_rbf", "/tmp/sea:seed=1"):
        assert generated(name) is None


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "hyperplane:sped=1",
            "hyperplane has no option 'sped'; it has seed, features, drifting, speed, turn, noise, block",
        ),
        ("sea:,", "sea has no option ''; it has seed, concepts, noise, width, block"),
        ("sea:seed", "sea: seed='': must be a whole number at least 0"),
        ("sea:seed=1,seed=2", "sea: seed is given twice"),
        ("sea:noise=1.5", "sea: noise=1.5: must be a number at least 0 and at most 1"),
        ("sea:noise=nan", "sea: noise=nan: must be a number at least 0 and at most 1"),
        ("sea:noise=much", "sea: noise='much': must be a number at least 0 and at most 1"),
        ("sea:width=0", "sea: width=0: must be a whole number at least 1"),
        ("sea:concepts=8/x", "sea: concepts=(8.0, 'x'): must be one number or more"),
        ("hyperplane:features=1", "hyperplane: drifting=2: must be at most features=1"),
        ("led:drift=8", "led: drift=8: must be a whole number at least 0 and at most 7"),
        ("led:irrelevant=2,drift=3", "led: drift=3: must be at most irrelevant=2"),
        ("random-rbf:centroids=2.5", "random-rbf: centroids='2.5': must be a whole number at least 1"),
        ("stagger:block=-1", "stagger: block=-1: must be a whole number at least 1"),
    ],
)
def test_a_wrong_option_is_named(text, message):
    with pytest.raises(DataError) as caught:
        generated(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: sea(noise=-0.1), "noise=-0.1: must be"),
        (lambda: sea(concepts=()), "concepts=.*must be one number or more"),
        (lambda: sea(concepts=8), "concepts=8: must be one number or more"),
        (lambda: sea(seed=-1), "seed=-1: must be a whole number at least 0"),
        (lambda: hyperplane(drifting=11), "drifting=11: must be at most features=10"),
        (lambda: random_rbf(features=0), "features=0: must be"),
        (lambda: abrupt(sea(), sea(), -1), "at=-1: must be"),
        (lambda: gradual(sea(), sea(), 10, 0), "width=0: must be a whole number at least 1"),
    ],
)
def test_a_wrong_value_is_refused_before_the_first_block(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
    assert next(sea(seed=np.int64(3), width=np.int32(50)))[0].n == 10_000
