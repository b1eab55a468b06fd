"""The drifting streams of the literature: seeded, endless, and independent of the block size.

Every example draws the same number of random numbers in the same order. Changes between examples are functions of whole
numbers. Sums run over columns, because a matrix product may round differently for another block size.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable
from itertools import count
from typing import Any, ParamSpec

import numpy as np

from seriatim.core.rows import Rows
from seriatim.data.generate.synthetic import Blocks
from seriatim.errors import DataError, ParameterError
from seriatim.parameters import Number

Block = tuple[Rows, np.ndarray]
P = ParamSpec("P")


class NumberList(Number):
    """One or more numbers; as text, separated by /."""

    def parse(self, text: str) -> Any:
        return tuple(map(super().parse, text.split("/")))

    def problem(self, value: Any) -> str | None:
        values = list(value) if isinstance(value, Collection) else []
        return "one number or more" if not values or any(map(super().problem, values)) else None


SHARE, SIZE, WHOLE = Number(least=0, most=1), Number(least=1, integer=True), Number(least=0, integer=True)
OPTIONS: dict[str, Number] = {
    **dict.fromkeys(("noise", "turn", "speed"), SHARE),
    **dict.fromkeys(("width", "features", "classes", "centroids", "block"), SIZE),
    **dict.fromkeys(("seed", "drifting", "irrelevant", "at"), WHOLE),
    "drift": Number(least=0, most=7, integer=True),
    "concepts": NumberList(),
}
AT_MOST = (("drifting", "features"), ("drift", "irrelevant"))


def checked(stream: Callable[P, Blocks]) -> Callable[P, Blocks]:
    """Wrap a stream so that its options are checked when it is made, not when its first block is requested."""
    signature = inspect.signature(stream)

    @functools.wraps(stream)
    def make(*args: P.args, **options: P.kwargs) -> Blocks:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        given = bound.arguments
        for name, option in OPTIONS.items():
            if name in given:
                option.check(name, given[name])
                given[name] = int(given[name]) if option.integer else given[name]
        for name, most in AT_MOST:
            if name in given and given[name] > given[most]:
                raise ParameterError(f"{name}={given[name]}: must be at most {most}={given[most]}")
        return stream(*bound.args, **bound.kwargs)

    return make


def signs(true: np.ndarray, flipped: np.ndarray | bool = False) -> np.ndarray:
    """1 where `true`, else -1; the other way round where `flipped`."""
    return np.where(true != flipped, 1, -1)


@checked
def sea(
    seed: int = 0,
    *,
    concepts: Collection[float] = (8, 9, 7, 9.5),
    noise: float = 0.1,
    width: int = 12_500,
    block: int = 10_000,
) -> Blocks:
    """SEA concepts: x1 + x2 <= theta. theta changes abruptly; the third feature is irrelevant.

    Features are uniform on [0, 10]. W. N. Street and Y. Kim (2001), A Streaming Ensemble Algorithm (SEA) for
    Large-Scale Classification, KDD.

    seed : seed of the random numbers.
    concepts : the values of theta, repeated in turn; as text, 8/9/7/9.5.
    noise : fraction of the labels that are flipped.
    width : number of examples of a concept.
    block : number of examples of a block.

    >>> rows, y = next(sea(seed=1, noise=0))
    >>> rows.features, float((y > 0).mean())  # 0.32 = 8^2 / 2 / 10^2 is expected
    (3, 0.3168)
    """
    rng, theta = np.random.default_rng(seed), np.array(list(concepts), dtype=float)
    for begin in count(0, block):
        draws = rng.random((block, 4))
        X = 10 * draws[:, :3]
        now = theta[np.arange(begin, begin + block) // width % len(theta)]
        yield Rows.dense(X), signs(X[:, 0] + X[:, 1] <= now, draws[:, 3] < noise)


@checked
def hyperplane(
    seed: int = 0,
    *,
    features: int = 10,
    drifting: int = 2,
    speed: float = 0.001,
    turn: float = 0.1,
    noise: float = 0.05,
    block: int = 10_000,
) -> Blocks:
    """A rotating hyperplane: sum w_i x_i >= sum w_i / 2, where w_i += speed s_i after every example, s_i = 1 or -1.

    Features and initial weights are uniform on [0, 1]. G. Hulten, L. Spencer and P. Domingos (2001), Mining
    Time-Changing Data Streams, KDD; the changes follow MOA's HyperplaneGenerator.

    seed : seed of the random numbers.
    features : number of features.
    drifting : number of weights that change, the first ones.
    speed : change of a weight per example.
    turn : probability, for each weight and example, that s_i becomes -s_i.
    noise : fraction of the labels that are flipped.
    block : number of examples of a block.

    >>> rows, y = next(hyperplane(seed=1))
    >>> rows.features, float((y > 0).mean())
    (10, 0.506)
    """
    rng = np.random.default_rng(seed)
    weights = rng.random(features)
    direction, moved = np.ones((1, drifting), dtype=np.int64), np.zeros((1, drifting), dtype=np.int64)
    while True:
        draws = rng.random((block, features + 1 + drifting))
        X = draws[:, :features]
        # Row t holds the weights before the change of example t; the last row those after all changes.
        direction = np.cumprod(np.vstack([direction[-1:], signs(draws[:, features + 1 :] >= turn)]), axis=0)
        moved = np.cumsum(np.vstack([moved[-1:], direction[:-1]]), axis=0)
        w = [weights[i] + speed * moved[:-1, i] if i < drifting else weights[i] for i in range(features)]
        score = sum(w[i] * X[:, i] for i in range(features))
        yield Rows.dense(X), signs(score >= sum(w) / 2, draws[:, features] < noise)


# The segments of the digits 0 to 9 from top to bottom, of two side by side the left one first.
DIGITS = "1110111 0010010 1011101 1011011 0111010 1101011 1101111 1010010 1111111 1111011"
SEGMENTS = np.array([list(digit) for digit in DIGITS.split()]) == "1"


@checked
def led(seed: int = 0, *, noise: float = 0.1, irrelevant: int = 17, drift: int = 0, block: int = 10_000) -> Blocks:
    """A display of seven segments that shows a digit from 0 to 9, with random faults.

    L. Breiman, J. Friedman, R. Olshen and C. Stone (1984), Classification and Regression Trees. The swapped features
    follow MOA's LEDGeneratorDrift. They are swapped from the start; `abrupt` and `gradual` join two such streams.

    seed : seed of the random numbers.
    noise : probability that a segment is inverted; with 0.1 the best rule errs on 26 % of the digits.
    irrelevant : number of additional random features, 0 or 1.
    drift : number of segments, the first ones, that are swapped with irrelevant features; 0 to 7.
    block : number of examples of a block.

    >>> rows, y = next(led(seed=1))
    >>> rows.features, float((y == 8).mean())
    (24, 0.0974)
    """
    rng = np.random.default_rng(seed)
    place = np.arange(7 + irrelevant)
    place[:drift] += 7
    place[7 : 7 + drift] -= 7
    while True:
        draws = rng.random((block, 8 + irrelevant))
        digit = (10 * draws[:, 0]).astype(np.int64)
        lit = np.hstack([SEGMENTS[digit] != (draws[:, 1:8] < noise), draws[:, 8:] < 0.5])
        yield Rows.dense(lit[:, place]), digit


@checked
def random_rbf(
    seed: int = 0,
    *,
    features: int = 10,
    classes: int = 2,
    centroids: int = 50,
    speed: float = 0.0,
    block: int = 10_000,
) -> Blocks:
    """Clouds of examples around centroids that move through the unit cube and bounce off its walls.

    Each example is drawn from a centroid, which is chosen by random weights and determines the class 0, 1, .... Its
    direction from the centroid is random; its distance is Gaussian with the centroid's own deviation. A. Bifet,
    G. Holmes, B. Pfahringer, R. Kirkby and R. Gavalda (2009), New Ensemble Methods for Evolving Data Streams, KDD. It
    follows MOA's RandomRBFGeneratorDrift, but reflects a centroid at a wall where MOA stops it for the rest of a step.

    seed : seed of the random numbers.
    features, classes, centroids : their numbers.
    speed : distance that every centroid moves per example.
    block : number of examples of a block.

    >>> rows, y = next(random_rbf(seed=1, classes=3))
    >>> rows.features, [float((y == label).mean()) for label in range(3)]
    (10, [0.3926, 0.2988, 0.3086])
    """
    rng = np.random.default_rng(seed)
    normal = rng.spawn(1)[0]  # a normal number takes a varying number of random bits
    centre, label = rng.random((centroids, features)), rng.integers(classes, size=centroids)
    deviation, weight = rng.random((2, centroids))
    velocity = 1 - rng.random((centroids, features))
    velocity *= speed / np.sqrt(np.sum(velocity**2, axis=1, keepdims=True))
    bound = np.cumsum(weight)
    for begin in count(0, block):
        draws = rng.random((block, 1 + features))
        chosen = np.searchsorted(bound[:-1], draws[:, 0] * bound[-1], side="right")
        X = centre[chosen]
        if speed:
            X += np.arange(begin, begin + block)[:, None] * velocity[chosen]
            X = np.abs((X + 1) % 2 - 1)
        offset = 2 * draws[:, 1:] - 1
        length = np.sqrt(sum(offset[:, i] ** 2 for i in range(features)))
        X += offset * (normal.standard_normal(block) * deviation[chosen] / length)[:, None]
        yield Rows.dense(X), label[chosen]


@checked
def stagger(seed: int = 0, *, width: int = 40, block: int = 10_000) -> Blocks:
    """STAGGER concepts: small and red; then green or circle; then medium or large; then again from the first.

    The columns are small, medium, large; red, blue, green; circle, square, triangle. One of each three is 1.
    J. Schlimmer and R. Granger (1986), Incremental Learning from Noisy Data, Machine Learning 1.

    seed : seed of the random numbers.
    width : number of examples of a concept.
    block : number of examples of a block.

    >>> rows, y = next(stagger(seed=1, width=10_000))
    >>> rows.features, float((y > 0).mean())  # 1/9 is expected
    (9, 0.1123)
    """
    rng = np.random.default_rng(seed)
    for begin in count(0, block):
        values = (3 * rng.random((block, 3))).astype(np.int64)
        size, colour, shape = values.T
        concepts = (size == 0) & (colour == 0), (colour == 2) | (shape == 0), size > 0
        now = np.arange(begin, begin + block) // width % 3
        X = (values[:, :, None] == np.arange(3)).reshape(block, 9)
        yield Rows.dense(X), signs(np.choose(now, concepts))


@checked
def abrupt(first: Iterable[Block], second: Iterable[Block], at: int) -> Blocks:
    """The first `at` examples of one stream, or all if there are fewer, then the examples of another.

    first, second : streams of rows.
    at : the number of examples taken from the first stream.

    >>> blocks = abrupt(sea(), led(), 15_000)
    >>> [next(blocks)[0].features for _ in range(3)]
    [3, 3, 24]
    """
    left = at
    for rows, y in first:
        if rows.n >= left:
            if left:
                yield rows.slice(0, left), y[:left]
            break
        yield rows, y
        left -= rows.n
    yield from second


class Taken:
    """The examples of a stream of dense blocks; `take` returns any number of them."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self.blocks = map(self.arrays, blocks)
        first = next(self.blocks, None)
        if first is None:
            raise DataError("a stream without examples; there must be some to drift from and to")
        self.left = first

    @staticmethod
    def arrays(block: Block) -> tuple[np.ndarray, np.ndarray]:
        X, *others = block[0].arrays
        if others:
            raise DataError("a stream of sparse rows; gradual drift takes dense ones")
        return X, block[1]

    def take(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The next n examples, or the remaining ones if there are fewer."""
        parts, have = [self.left], len(self.left[1])
        while have < n and (block := next(self.blocks, None)) is not None:
            parts.append(block)
            have += len(block[1])
        X, y = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        self.left = X[n:], y[n:]
        return X[:n], y[:n]


@checked
def gradual(
    first: Iterable[Block], second: Iterable[Block], at: int, width: int, seed: int = 0, block: int = 10_000
) -> Blocks:
    """Change from one stream to another: example t is the second's with probability 1 / (1 + exp(-4 (t - at) / width)).

    t is 0, 1, .... Each stream waits while an example of the other is taken. MOA's ConceptDriftStream: A. Bifet,
    G. Holmes, B. Pfahringer, R. Kirkby and R. Gavalda (2009), New Ensemble Methods for Evolving Data Streams, KDD.

    first, second : streams of dense rows with the same features. The result ends when the stream in turn has ended.
    at : the example, counted from 0, at which both are equally probable.
    width : number of examples in which the probability rises from 12 % to 88 %.
    seed : seed of the random choice between the streams.
    block : number of examples of a block.

    >>> rows, y = next(gradual(sea(noise=0, concepts=[0]), sea(noise=0, concepts=[20]), at=5_000, width=1_000))
    >>> [float((part > 0).mean()) for part in (y[:4_000], y[4_500:5_500], y[6_000:])]
    [0.001, 0.492, 0.998]
    """
    rng, sources = np.random.default_rng(seed), (Taken(first), Taken(second))
    one, two = (source.left[0].shape[1] for source in sources)
    if one != two:
        raise DataError(f"the first stream has {one} features and the second {two}; they must have the same")
    for begin in count(0, block):
        # Clipped because exp(710) would overflow.
        exponent = np.minimum(-4 * (np.arange(begin, begin + block) - at) / width, 700)
        drifted = rng.random(block) < 1 / (1 + np.exp(exponent))
        places = np.flatnonzero(~drifted), np.flatnonzero(drifted)
        parts = [source.take(len(place)) for source, place in zip(sources, places, strict=True)]
        X, y = np.empty((block, one)), np.empty(block, np.result_type(*(labels for _, labels in parts)))
        end = block
        for place, (values, labels) in zip(places, parts, strict=True):
            if len(labels) < len(place):
                end = min(end, place[len(labels)])
            X[place[: len(labels)]], y[place[: len(labels)]] = values, labels
        if end:
            yield Rows.dense(X[:end]), y[:end]
        if end < block:
            return


STREAMS: dict[str, Callable[..., Blocks]] = {
    "sea": sea,
    "hyperplane": hyperplane,
    "led": led,
    "random-rbf": random_rbf,
    "stagger": stagger,
}


def generated(text: str) -> Callable[..., Blocks] | None:
    """A function that makes the blocks of a stream such as "sea" or "sea:seed=7,noise=0.2"; None for an unknown name.

    >>> rows, y = next(generated("sea:seed=1,noise=0")())
    >>> float((y > 0).mean())
    0.3168
    """
    name, _, rest = text.partition(":")
    if name not in STREAMS:
        return None
    known, options = list(inspect.signature(STREAMS[name]).parameters), {}
    for part in rest.split(",") if rest else []:
        option, _, value = part.strip().partition("=")
        if option not in known:
            raise DataError(f"{name} has no option {option!r}; it has {', '.join(known)}")
        if option in options:
            raise DataError(f"{name}: {option} is given twice")
        options[option] = OPTIONS[option].parse(value)
    stream = functools.partial(STREAMS[name], **options)
    try:
        stream()
    except ParameterError as error:
        raise DataError(f"{name}: {error}") from None
    return stream
