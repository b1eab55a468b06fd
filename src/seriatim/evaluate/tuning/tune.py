"""Search for good parameters on the first examples of a stream; results are reported on the others."""

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
    """The result of a search. `model` is untrained. Evaluate it from example number `rest` (from 0) on."""

    best: dict[str, Any]
    model: Estimator
    trials: list[Trial]  # in the order of their start
    ranked: list[Trial]  # best first
    measure: str
    prefix: int
    rest: int
    said: str
    like_libol: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The result as plain values, for JSON; the value of a failed trial is None."""

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

    Each trial predicts every example before it learns it. Evaluate the result on the other examples, which are
    `X[found.rest:]`, or `data.stream(stream, skip=found.rest)`.

    model : an estimator, its class, or its name. It is not changed; each trial makes a new model.
    X, y : arrays, rows or frames as for `progressive`; or a stream, which is read once.
    search : "grid" tries all combinations of the values. "random" draws each parameter between its smallest and largest
        value, uniformly in the logarithm. "halving" starts with all combinations on a small part of the prefix; the
        best third continues over three times the examples, and so on.
    prefix : the size of the search data: a fraction of the examples if below 1, else their number.
    tries : the largest number of combinations: 200, or 50 for "random". A larger grid is sampled.
    over : the values of each parameter. None: the declared search values of all parameters at their defaults.
    measure : "mistake_rate", "mean_loss" (by the model's own loss), or another metric, such as "auc" (see
        `evaluate.metrics`). The default is the mistake rate for labels, else the mean loss.
    seed : the seed of random draws.
    like_libol : as LIBOL and much of the literature: one parameter after the other, each value over the whole stream,
        the fewest mistakes, of ties the last. Results are then reported on the same stream. For comparison only.
    jobs : the number of threads, with one trial each; by default one per core. The result does not depend on it.
    watch : called after each run, in the calling thread, with the runs done, the runs planned and the best trial.

    Of ties the combination nearest to the defaults wins, in steps of the grid, and then the first. Trials that diverge
    or fail come last; if all fail, the first problem is raised. Ctrl-C ends all threads and is then raised.

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
    """New models with the parameters that were best on the same random examples, and the numbers of all other examples.

    The search data are a random sample of the examples by `seed`, in the order drawn. Compare the models on the other
    examples, whose numbers ascend. A model without parameters to search stays as it is. With `like_libol` all examples
    are searched and all are returned; say so with the result.

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
    """The numbers of the examples that `tuned` searches on, in the order drawn, and the other numbers, ascending."""
    check_prefix(prefix)
    order = np.random.default_rng(seed).permutation(n)
    if like_libol:
        return order, np.arange(n)
    size = size_of(prefix, n)
    return order[:size], np.sort(order[size:])


@dataclass(frozen=True)
class Prefix:
    """Blocks and the number of their examples; `whole` is False if the stream may have more."""

    source: Source
    n: int
    whole: bool = True


def check_prefix(prefix: float) -> None:
    share = isinstance(prefix, float | np.floating) and 0 < prefix < 1
    number = isinstance(prefix, int | np.integer) and not isinstance(prefix, bool) and prefix >= 1
    if not share and not number:
        raise ParameterError(f"prefix={prefix!r}: must be a fraction such as 0.2, or a whole number of examples")


def size_of(prefix: float, n: int) -> int:
    """The number of examples in the prefix of n examples; some must be left."""
    size = max(1, round(prefix * n)) if prefix < 1 else int(prefix)
    if size >= n:
        there = "there is 1 example" if n == 1 else f"there are {n:,} examples"
        raise ParameterError(f"prefix={prefix!r}: {there}, and some must be left to report on")
    return size


def check_labels(base: Estimator, source: Source, size: int) -> None:
    """Refuse search data with a single label, as at the beginning of a file sorted by label."""
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
    """The examples in a form that can be read many times; of a stream the prefix and one more."""
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
        raise ParameterError("a search takes one pass over a stream without delay; remove passes and delay")
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
    """Rows as blocks; a trial can stop between two blocks."""
    parts = list(rows.parts(STEP))
    ends = np.cumsum([part.n for part in parts])
    return [(part, y[end - part.n : end]) for part, end in zip(parts, ends, strict=True)]


def endless(stream: Any) -> bool:
    """Whether the stream is generated and has no limit."""
    while isinstance(stream, Stream):
        if stream.limit is not None:
            return False
        stream = stream.source
    return isinstance(stream, Generated)


def read(stream: Stream, cache: Cache, prefix: int | None) -> int:
    """Copy a stream, or the needed part of it, to a cache; return the number of examples."""
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
    """Search on the prefix of these examples, or with `held_out=False` on all of them."""
    if like_libol and how.search != "grid":
        raise ParameterError(f"search={how.search!r}: like_libol needs search='grid'")
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
    """A sentence about the search and its data."""
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
