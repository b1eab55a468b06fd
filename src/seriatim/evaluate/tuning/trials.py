"""The trials of a search: runs of candidates on several threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from seriatim.core.rows import LIMIT, Rows
from seriatim.core.threads import cores
from seriatim.data.cache import Cache
from seriatim.data.stream import Stream
from seriatim.errors import ParameterError, SeriatimError
from seriatim.estimator import Estimator
from seriatim.evaluate.progressive import Run, progressive
from seriatim.evaluate.tuning.search import Settings, distance, fresh

ETA = 3  # halving: a third of the candidates continues, over three times the examples
DIVERGED = LIMIT * LIMIT  # a mean loss above this has diverged: no finite prediction can be further from its target
LEAST = 30  # halving: the least number of examples in a round
Source = Cache | list[tuple[Rows, np.ndarray]]
Watch = Callable[[int, int, "Trial | None"], None]  # runs done, runs planned, and the best trial so far


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried, and the mistake rate or mean loss with them after `examples` examples.

    A trial that diverged or failed has the value inf, and `problem` says why.
    """

    parameters: dict[str, Any]
    value: float
    examples: int
    problem: str | None = None


class Candidate:
    """Parameters on trial, and their results so far."""

    def __init__(self, how: Settings, parameters: dict[str, Any]) -> None:
        self.how, self.parameters = how, parameters
        self.distance = distance(how.base, how.over, parameters)
        self.model: Estimator | None = None
        self.examples, self.sum = 0, 0.0  # the sum of mistakes or losses
        self.metric = how.metric
        self.problem: str | None = None

    @property
    def value(self) -> float:
        if self.problem or self.metric is None:
            return math.inf if self.problem else self.sum / max(self.examples, 1)
        return math.inf if self.metric.value is None else float(self.metric.value)

    @property
    def cost(self) -> float:
        """The value as a number to minimise."""
        return -self.value if self.metric is not None and self.metric.high and self.value < math.inf else self.value

    @property
    def rank(self) -> tuple[Any, ...]:
        """The sort key, best first. Candidates that continued longer come first."""
        return self.problem is not None, -self.examples, self.cost, self.distance

    def trial(self) -> Trial:
        return Trial(self.parameters, self.value, self.examples, self.problem)

    def go_on(self, source: Source, until: int, stop: Event) -> None:
        """Run from the example where it stopped to example `until`."""

        def look(run: Run) -> None:
            if stop.is_set():
                raise KeyboardInterrupt  # ends this run only

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
    """Runs candidates on several threads; learning releases the GIL."""

    def __init__(self, source: Source, jobs: int | None, watch: Watch | None) -> None:
        if jobs is not None and jobs < 1:
            raise ParameterError(f"jobs={jobs!r}: must be at least 1")
        self.source, self.jobs, self.watch = source, jobs or cores(), watch
        self.done = self.planned = 0
        self.best: Candidate | None = None

    def plan(self, numbers: Sequence[int]) -> Trials:
        """Set the number of planned runs."""
        self.planned = sum(numbers)
        return self

    def run(self, candidates: list[Candidate], until: int, *, go_on: bool = False) -> list[Candidate]:
        """Run all candidates up to example `until`; return them best first. Models are kept only with `go_on`."""
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
            except BaseException:  # Ctrl-C, too
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        if all(candidate.problem for candidate in candidates):
            raise ParameterError(f"all {len(candidates)} trials failed; the first problem: {candidates[0].problem}")
        return sorted(candidates, key=lambda candidate: candidate.rank)

    def tell(self, candidate: Candidate) -> None:
        self.done += 1
        if self.best is None or candidate.rank < self.best.rank:
            self.best = candidate
        if self.watch is not None:
            self.watch(self.done, self.planned, self.best.trial())


def halved(candidates: list[Candidate], trials: Trials, size: int) -> list[Candidate]:
    """Run all on a small part of the prefix, then the best third on three times as much, and so on."""
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
    """LIBOL's search: one parameter after another, over all examples; of ties the last."""
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
