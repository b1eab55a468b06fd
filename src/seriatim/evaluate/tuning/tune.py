"""Finding good parameters on the beginning of a stream; what is reported is of examples that had no say in them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from seriatim import catalogue
from seriatim.core.rows import Rows
from seriatim.data.cache import Cache
from seriatim.data.stream import Generated, Stream, some
from seriatim.errors import DataError, ParameterError
from seriatim.estimator import Estimator
from seriatim.evaluate.metrics import Metric
from seriatim.evaluate.progressive import STEP
from seriatim.evaluate.tuning.search import Settings, combinations, fresh, ranges, settings
from seriatim.evaluate.tuning.trials import Candidate, Source, Trial, Trials, Watch, halved, one_after_another
from seriatim.features import Features


@dataclass(frozen=True)
class Tuned:
    """What a search has found. `model` is new: what it is to be judged by begins with example number `rest`, from 0."""

    best: dict[str, Any]
    model: Estimator
    trials: list[Trial]  # in the order in which they were begun
    ranked: list[Trial]  # the best first
    measure: str
    prefix: int
    rest: int
    said: str
    like_libol: bool = False

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON; the value of what failed is None."""

        def plain(trial: Trial) -> dict[str, Any]:
            value = trial.value if math.isfinite(trial.value) else None
            return {**vars(trial), "parameters": self.plain(trial.parameters), "value": value}

        return {
            "algorithm": catalogue.command_name(type(self.model)),
            "best": self.plain(self.best),
            "measure": self.measure,
            "prefix": self.prefix,
            "rest": self.rest,
            "said": self.said,
            "like_libol": self.like_libol,
            "trials": [plain(trial) for trial in self.ranked],
        }

    def plain(self, values: dict[str, Any]) -> dict[str, Any]:
        return {name: self.model.parameters[name].as_json(value) for name, value in values.items()}


def tune(
    model: Estimator | type[Estimator] | str,
    X: Any,
    y: Any = None,
    *,
    search: str = "grid",
    prefix: float = 0.2,
    tries: int | None = None,
    over: Mapping[str, Sequence[Any]] | None = None,
    measure: str | Metric | None = None,
    seed: int = 0,
    like_libol: bool = False,
    jobs: int | None = None,
    watch: Watch | None = None,
) -> Tuned:
    """Find the parameters with which a model does best on the first examples of a stream.

    Each is predicted before it is learned. They are spent then: the model is to be judged by the others, which are
    `X[found.rest:]`, or `data.stream(stream, skip=found.rest)`.

    model : an estimator, its class, or its name. It is not changed; a new one is made for each trial.
    X, y : arrays, rows or frames as for `progressive`; or a stream, of which nothing is read twice.
    search : "grid" tries all combinations of the values. "random" draws each parameter between its least and its
        greatest value, evenly in the logarithm. "halving" begins as the grid does, on a small part of the prefix; the
        best third goes on from where it stopped over three times the examples, and so on.
    prefix : how much to search on: below 1 a share of the examples, else their number.
    tries : how many combinations at most: 200, or 50 at random. Of a larger grid so many are drawn.
    over : the values of each parameter. If None those that the catalogue declares, of the parameters that the model
        has at their defaults: what it was given is not searched.
    measure : "mistake_rate", "mean_loss" (by the model's own loss), or another metric, such as "auc" (see
        `evaluate.metrics`); None: the first for labels, else the second.
    seed : of what is drawn.
    like_libol : as LIBOL and much of the literature does: one parameter after the other, each value over the whole
        stream, the fewest mistakes, of equals the last; and then reported on that very stream. For comparison only.
    jobs : threads, one trial each; None: as many as there are cores. What is found does not depend on them.
    watch : told in the calling thread, after each run, how many are done, of how many, and the best trial until now.

    Of equals the one nearest to the defaults is taken, counted in steps of the grid, and of those the first. What
    diverges or fails comes last; if all do, the first problem is raised. Ctrl-C ends all threads, then is raised.

    >>> from seriatim import data, evaluate
    >>> X, y = data.load("spam")
    >>> found = evaluate.tune("arow", X, y)
    >>> found.best, found.said
    ({'r': 8.0}, 'grid of 9 on the first 920 examples; reported on the other 3,681')
    >>> run = evaluate.progressive(found.model, X[found.rest:], y[found.rest:])
    >>> run.examples
    3681
    """
    base = fresh(model)
    how = settings(base, search, tries, over, measure, seed)
    check_prefix(prefix)
    with kept(base, X, y, None if like_libol or prefix < 1 else int(prefix)) as examples:
        return searched(how, examples, prefix, like_libol, jobs, watch)


def tuned(
    models: Sequence[Estimator],
    X: Any,
    y: Any,
    *,
    search: str = "grid",
    prefix: float = 0.2,
    tries: int | None = None,
    measure: str | Metric | None = None,
    seed: int = 0,
    like_libol: bool = False,
    jobs: int | None = None,
    watch: Watch | None = None,
) -> tuple[list[Estimator], np.ndarray]:
    """New models, each with the parameters that were best on the same examples, and the numbers of all others.

    The examples to search on are drawn by `seed` from the whole of the data and searched on in the order drawn. The
    others, ascending, are those on which the models can be compared, in whatever orders. A model with nothing to search
    stays as it is. With `like_libol` all examples are searched on and all are left, which must be said with the result.

    >>> from seriatim import AROW, Perceptron, data
    >>> X, y = data.load("spam")
    >>> (arow, perceptron), rest = tuned([AROW(), Perceptron()], X, y, prefix=601)
    >>> arow.r, len(rest)
    (0.5, 4000)
    """
    held, rest = divided(len(np.asarray(y)), prefix, seed, like_libol)
    found = []
    for model in models:
        base = fresh(model)
        if ranges(base):
            how = settings(base, search, tries, None, measure, seed)
            rows = X if isinstance(X, Rows) else base.as_rows(X)
            with kept(base, *some(rows.check(), np.asarray(y), held), None) as examples:
                base = searched(how, examples, len(held), like_libol, jobs, watch, held_out=False).model
        found.append(base)
    return found, rest


def divided(n: int, prefix: float, seed: int, like_libol: bool) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the examples that `tuned` searches on, in the order drawn, and of the others, ascending."""
    check_prefix(prefix)
    order = np.random.default_rng(seed).permutation(n)
    if like_libol:
        return order, np.arange(n)
    size = size_of(prefix, n)
    return order[:size], np.sort(order[size:])


@dataclass(frozen=True)
class Prefix:
    """Blocks, and how many examples they have; or, if they are not the whole of a stream, how many were read of it."""

    source: Source
    n: int
    whole: bool = True


def check_prefix(prefix: float) -> None:
    share = isinstance(prefix, float | np.floating) and 0 < prefix < 1
    number = isinstance(prefix, int | np.integer) and not isinstance(prefix, bool) and prefix >= 1
    if not share and not number:
        raise ParameterError(f"prefix={prefix!r}: must be a share above 0 and below 1, or a whole number of examples")


def size_of(prefix: float, n: int) -> int:
    """How many of n examples the prefix has; some must be left."""
    size = max(1, round(prefix * n)) if prefix < 1 else int(prefix)
    if size >= n:
        there = "there is 1 example" if n == 1 else f"there are {n:,} examples"
        raise ParameterError(f"prefix={prefix!r}: {there}, and some must be left to be reported on")
    return size


def check_labels(base: Estimator, source: Source, size: int) -> None:
    """One label alone tells nothing about parameters: it is how a file that is sorted by label begins."""
    if base.task != "classification":
        return
    labels: set[Any] = set()
    for _, y in Stream(source, limit=size):
        labels |= {*y.tolist()}
        if len(labels) > 1:
            return
    raise DataError(f"the first {size:,} examples all have the label {labels.pop()!r}: shuffle them, or take more")


@contextmanager
def kept(base: Estimator, X: Any, y: Any, prefix: int | None) -> Iterator[Prefix]:
    """The examples, to be gone through as often as one likes; of a stream with a `prefix`, one more than that."""
    if y is not None or isinstance(X, Rows) or (not base.labelled and hasattr(X, "shape")):
        rows = (X if isinstance(X, Rows) else base.as_rows(X)).check()
        targets = np.zeros(rows.n) if y is None else np.asarray(y)
        base.as_targets(targets, rows.n)
        yield Prefix(pieces(rows, targets), rows.n)
        return
    if not hasattr(X, "__iter__") or hasattr(X, "shape"):
        raise DataError("expected X and y, or a stream as `data.stream` gives it")
    stream = X if isinstance(X, Stream) else Stream(X)
    if stream.passes > 1 or np.any(stream.delay):
        raise ParameterError("a search goes once over a stream whose labels come at once: no passes, no delay")
    if prefix is None and endless(stream):
        raise ParameterError(f"{stream.name} has no end: say how many examples to search on, or limit it")
    how = getattr(stream, "features", None)
    if base.features is None and isinstance(how, Features) and how.as_dict():
        base.features = how
    cache = Cache()
    try:
        yield Prefix(cache, read(stream, cache, prefix), whole=prefix is None)
    finally:
        cache.close()


def pieces(rows: Rows, y: np.ndarray) -> list[tuple[Rows, np.ndarray]]:
    """Rows as blocks, between which a trial can be stopped."""
    parts = list(rows.parts(STEP))
    ends = np.cumsum([part.n for part in parts])
    return [(part, y[end - part.n : end]) for part, end in zip(parts, ends, strict=True)]


def endless(stream: Any) -> bool:
    """Whether it is a generated stream, and nothing says how much of it is wanted."""
    while isinstance(stream, Stream):
        if stream.limit is not None:
            return False
        stream = stream.source
    return isinstance(stream, Generated)


def read(stream: Stream, cache: Cache, prefix: int | None) -> int:
    """Keep a stream, or so much of it as is needed; how many examples that are."""
    n = 0
    for rows, y in Stream(stream, limit=None if prefix is None else prefix + 1):
        if not isinstance(rows, Rows):
            raise DataError("expected X and y, or a stream as `data.stream` gives it")
        cache.add(rows, np.asarray(y))
        n += rows.n
    if not n:
        raise DataError(f"{stream.name}: no examples")
    cache.ready()
    return n


def searched(
    how: Settings,
    examples: Prefix,
    prefix: float,
    like_libol: bool,
    jobs: int | None,
    watch: Watch | None,
    held_out: bool = True,
) -> Tuned:
    """Search on the prefix of these examples, or, where the others are not among them, on all."""
    if like_libol and how.search != "grid":
        raise ParameterError(f"search={how.search!r}: LIBOL has a grid")
    size = size_of(prefix, examples.n) if held_out and not like_libol else examples.n
    check_labels(how.base, examples.source, size)
    trials = Trials(examples.source, jobs, watch)
    if like_libol:
        tried, ranked = one_after_another(how, trials, size)
    else:
        tried = [Candidate(how, parameters) for parameters in combinations(how)]
        ranked = halved(tried, trials, size) if how.search == "halving" else trials.plan([len(tried)]).run(tried, size)
    best = ranked[0].parameters
    return Tuned(
        best,
        fresh(how.base, **best),
        [candidate.trial() for candidate in tried],
        [candidate.trial() for candidate in ranked],
        how.measure,
        size,
        0 if like_libol else size,
        in_words(how, len(tried), size, examples, like_libol),
        like_libol,
    )


def in_words(how: Settings, tried: int, size: int, examples: Prefix, like_libol: bool) -> str:
    """How it was searched, and on what."""
    if like_libol:
        return f"like LIBOL: {tried} values on the stream itself, all {size:,} examples, which is what is then reported"
    whole = math.prod(len(values) for values in how.over.values())
    if how.search == "random":
        words = f"{tried} drawn at random (seed {how.seed})"
    elif tried < whole:
        words = f"{how.search} of {tried} drawn from {whole:,} (seed {how.seed})"
    else:
        words = f"{how.search} of {tried}"
    others = f"the other {examples.n - size:,}" if examples.whole else "the rest"
    return f"{words} on the first {size:,} examples; reported on {others}"
