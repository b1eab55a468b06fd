"""Finding good parameters on the beginning of a stream; what is reported is of examples that had no say in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from threading import Event
from typing import Any

import numpy as np

from seriatim import catalogue
from seriatim.core.rows import LIMIT, Rows
from seriatim.core.threads import cores
from seriatim.data.cache import Cache
from seriatim.data.stream import Generated, Stream, some
from seriatim.errors import DataError, ParameterError, SeriatimError
from seriatim.estimator import Estimator
from seriatim.evaluate.metrics import Metric, metric
from seriatim.evaluate.progressive import STEP, Run, progressive
from seriatim.features import Features

SEARCHES = ("grid", "random", "halving")
TRIES = {"grid": 200, "random": 50, "halving": 200}  # at most, unless it is said how many
ETA = 3  # halving: one in so many goes on, over so many times the examples
DIVERGED = LIMIT * LIMIT  # mean loss; learners stay finite, and no target can be missed by more
LEAST = 30  # halving: fewer examples than these tell nothing

Values = dict[str, Sequence[Any]]  # of each parameter that is searched
Source = Cache | list[tuple[Rows, np.ndarray]]
Watch = Callable[[int, int, "Trial | None"], None]  # so many runs done of so many, and the best until now


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried: the mistake rate or mean loss with them, after so many examples.

    What diverged or failed has the value inf, and `problem` says why.
    """

    parameters: dict[str, Any]
    value: float
    examples: int
    problem: str | None = None


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


# ---- what is tried


@dataclass(frozen=True)
class Settings:
    """A search, all of it checked."""

    base: Estimator
    search: str
    tries: int
    over: Values
    measure: str
    metric: Metric | None  # where the measure is neither of the two that every run has
    seed: int


def fresh(model: Estimator | type[Estimator] | str, **changed: Any) -> Estimator:
    """A new model with the same parameters but these."""
    if isinstance(model, str):
        model = catalogue.find_estimator(model)
    catalogue.expect_estimator(model if isinstance(model, type) else type(model))
    return model(**changed) if isinstance(model, type) else type(model)(**{**model.get_params(), **changed})


def ranges(model: Estimator) -> Values:
    """The values that the catalogue declares, of the parameters that are at their defaults.

    >>> from seriatim import SCW
    >>> ranges(SCW(C=2.0))
    {'eta': (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)}
    """
    return {
        name: declared.search
        for name, declared in model.parameters.items()
        if declared.search and getattr(model, name) == declared.default
    }


def settings(
    base: Estimator,
    search: str,
    tries: int | None,
    over: Mapping[str, Sequence[Any]] | None,
    measure: str | Metric | None,
    seed: int,
) -> Settings:
    """What was asked for, or an error that says what is wrong with it."""
    if search not in SEARCHES:
        raise ParameterError(f"search={search!r}: must be {' or '.join(map(repr, SEARCHES))}")
    if tries is not None and tries < 1:
        raise ParameterError(f"tries={tries!r}: must be at least 1")
    measures = ("mistake_rate", "mean_loss") if base.task == "classification" else ("mean_loss",)
    if isinstance(measure, str) and measure.replace("-", "_") in measures:
        measure = measure.replace("-", "_")
    asked = None if measure is None or measure in measures else metric(measure)
    if asked is not None and asked.task not in ("any", base.task):
        raise ParameterError(f"measure={measure!r}: {asked} is a figure of {asked.task}, not of {base.task}")
    measure = str(asked or measure or measures[0])
    values: Values = ranges(base) if over is None else {name: list(tried) for name, tried in over.items()}
    check_values(base, values, measure)
    return Settings(base, search, tries or TRIES[search], values, measure, asked, seed)


def check_values(base: Estimator, values: Values, measure: str) -> None:
    name = type(base).__name__
    if not values:
        known = " and ".join(one for one, declared in base.parameters.items() if declared.search)
        why = f"{known} could be, and is given" if known else "no parameter of it has values to try"
        raise ParameterError(f"{name}: there is nothing to search: {why}; `over` can name some")
    for parameter, tried in values.items():
        if parameter not in base.parameters or parameter == "features":
            known = ", ".join(one for one in base.parameters if one != "features")
            raise ParameterError(f"{name} has no parameter {parameter!r} to search; it has {known}")
        if measure == "mean_loss" and parameter in ("loss", "epsilon"):
            raise ParameterError(
                f"{name}: {parameter} is part of the loss by which the trials are judged, so that their figures could "
                "not be compared"
            )
        if not len(tried):
            raise ParameterError(f"{name}: there are no values of {parameter} to try")
        for value in tried:
            base.parameters[parameter].check(f"{name}: {parameter}", value)


def grid(over: Values, most: int, seed: int) -> list[dict[str, Any]]:
    """All combinations, the last parameter's value changing first; of more than `most` so many, drawn by chance.

    >>> grid({"C": [1, 2], "eta": [0.6, 0.9]}, 3, seed=0)
    [{'C': 1, 'eta': 0.6}, {'C': 2, 'eta': 0.6}, {'C': 2, 'eta': 0.9}]
    """
    whole, random = math.prod(map(len, over.values())), Random(seed)
    numbers = set(range(whole)) if whole <= most else set()
    while len(numbers) < min(most, whole):
        numbers.add(random.randrange(whole))
    return [combination(over, number) for number in sorted(numbers)]


def combination(over: Values, number: int) -> dict[str, Any]:
    """Number so and so of all combinations."""
    chosen = {}
    for name, values in reversed(over.items()):
        number, k = divmod(number, len(values))
        chosen[name] = values[k]
    return {name: chosen[name] for name in over}


def combinations(how: Settings) -> list[dict[str, Any]]:
    if how.search == "random":
        return drawn(how.base, how.over, how.tries, how.seed)
    return grid(how.over, how.tries, how.seed)


def drawn(base: Estimator, over: Values, tries: int, seed: int) -> list[dict[str, Any]]:
    """So many combinations by chance, numbers between the ends of their ranges, to four digits."""
    random = Random(seed)

    def draw(name: str, values: Sequence[Any]) -> Any:
        if len(set(values)) < 2 or not all(is_number(value) and value > 0 for value in values):
            return random.choice(list(values))
        low, high = min(values), max(values)
        value = min(high, max(low, float(f"{math.exp(random.uniform(math.log(low), math.log(high))):.4g}")))
        return round(value) if getattr(base.parameters[name], "integer", False) else value

    return [{name: draw(name, values) for name, values in over.items()} for _ in range(tries)]


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def distance(base: Estimator, over: Values, parameters: dict[str, Any]) -> float:
    """How far parameters are from those of the model, in steps of the grid."""
    return sum(steps_apart(over[name], getattr(base, name), value) for name, value in parameters.items())


def steps_apart(values: Sequence[Any], one: Any, other: Any) -> float:
    """
    >>> steps_apart([1, 2, 4, 8], 1, 8), steps_apart([1, 2, 4, 8], 3, 4), steps_apart(["I", "II"], "I", "II")
    (3.0, 0.5, 1.0)
    """
    if not all(map(is_number, (*values, one, other))):
        return float(one != other)
    scale = sorted(values)
    places = np.interp([float(one), float(other)], scale, np.arange(len(scale)))
    return float(abs(places[0] - places[1]))


# ---- what it is tried on


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


# ---- the search


class Candidate:
    """Parameters on trial, and how they have done so far."""

    def __init__(self, how: Settings, parameters: dict[str, Any]) -> None:
        self.how, self.parameters = how, parameters
        self.distance = distance(how.base, how.over, parameters)
        self.model: Estimator | None = None
        self.examples, self.sum = 0, 0.0  # of mistakes or losses
        self.metric = how.metric
        self.problem: str | None = None

    @property
    def value(self) -> float:
        if self.problem or self.metric is None:
            return math.inf if self.problem else self.sum / max(self.examples, 1)
        return math.inf if self.metric.value is None else float(self.metric.value)

    @property
    def cost(self) -> float:
        """The same as a number of which less is better."""
        return -self.value if self.metric is not None and self.metric.high and self.value < math.inf else self.value

    @property
    def rank(self) -> tuple[Any, ...]:
        """The lower the better. Those that were let go on come before those that were not."""
        return self.problem is not None, -self.examples, self.cost, self.distance

    def trial(self) -> Trial:
        return Trial(self.parameters, self.value, self.examples, self.problem)

    def go_on(self, source: Source, until: int, stop: Event) -> None:
        """Run over the examples from where it stopped to `until`."""

        def look(run: Run) -> None:
            if stop.is_set():
                raise KeyboardInterrupt  # it ends this run only

        try:
            self.model = self.model or fresh(self.how.base, **self.parameters)
            blocks = iter(Stream(source, skip=self.examples, limit=until - self.examples))
            followed = [] if self.metric is None else [self.metric]
            run = progressive(self.model, blocks, metrics=followed, at=[until], watch=look)
        except (SeriatimError, ArithmeticError, MemoryError) as error:
            self.problem = str(error) or type(error).__name__
            return
        self.examples += run.examples
        self.metric = run.followed[0] if followed else None
        self.sum += run.loss if self.how.measure == "mean_loss" else run.mistakes or 0
        if not run.mean_loss <= DIVERGED:
            self.problem = "it diverged"


class Trials:
    """Runs candidates on several threads; learning does not hold the interpreter's lock."""

    def __init__(self, source: Source, jobs: int | None, watch: Watch | None) -> None:
        if jobs is not None and jobs < 1:
            raise ParameterError(f"jobs={jobs!r}: must be at least 1")
        self.source, self.jobs, self.watch = source, jobs or cores(), watch
        self.done = self.planned = 0
        self.best: Candidate | None = None

    def plan(self, numbers: Sequence[int]) -> Trials:
        """So many runs there will be."""
        self.planned = sum(numbers)
        return self

    def run(self, candidates: list[Candidate], until: int, *, go_on: bool = False) -> list[Candidate]:
        """Take all of them to example `until`. Those with the lowest rank first; models only if they are to go on."""
        stop = Event()

        def one(candidate: Candidate) -> Candidate:
            candidate.go_on(self.source, until, stop)
            if not go_on:
                candidate.model = None
            return candidate

        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                for future in as_completed([pool.submit(one, candidate) for candidate in candidates]):
                    self.tell(future.result())
            except BaseException:  # Ctrl-C, most likely
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        if all(candidate.problem for candidate in candidates):
            raise ParameterError(f"all {len(candidates)} trials failed, the first one thus: {candidates[0].problem}")
        return sorted(candidates, key=lambda candidate: candidate.rank)

    def tell(self, candidate: Candidate) -> None:
        self.done += 1
        if self.best is None or candidate.rank < self.best.rank:
            self.best = candidate
        if self.watch is not None:
            self.watch(self.done, self.planned, self.best.trial())


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


def halved(candidates: list[Candidate], trials: Trials, size: int) -> list[Candidate]:
    """All over a small part of the prefix, the best third on over three times as much, until the best have had all."""
    rounds = 1
    while ETA**rounds <= min(len(candidates), size / LEAST):
        rounds += 1
    numbers = [len(candidates)]
    for _ in range(rounds - 1):
        numbers.append(-(-numbers[-1] // ETA))
    trials.plan(numbers)
    out: list[Candidate] = []
    for k, number in enumerate(numbers):
        last = k == rounds - 1
        for left in candidates[number:]:
            left.model = None
        out, candidates = candidates[number:] + out, candidates[:number]
        candidates = trials.run(candidates, size // ETA ** (rounds - 1 - k), go_on=not last)
    return sorted(candidates + out, key=lambda candidate: candidate.rank)


def one_after_another(how: Settings, trials: Trials, size: int) -> tuple[list[Candidate], list[Candidate]]:
    """LIBOL's way: each parameter with those found before, over all examples; of equals the last."""
    trials.plan([len(values) for values in how.over.values()])
    tried: list[Candidate] = []
    found: dict[str, Any] = {}
    for name, values in how.over.items():
        candidates = [Candidate(how, {**found, name: value}) for value in values]
        trials.run(candidates, size)
        best = min(reversed(candidates), key=lambda candidate: candidate.cost)
        found = best.parameters
        tried += candidates
    others = [candidate for candidate in reversed(tried) if candidate is not best]
    return tried, [best, *sorted(others, key=lambda candidate: candidate.cost)]


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
