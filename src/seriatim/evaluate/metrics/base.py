"""What metrics share: outcomes, means, windows and fading."""

from __future__ import annotations

import copy
import inspect
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from seriatim.errors import DataError, ParameterError
from seriatim.estimator.inputs import check_targets
from seriatim.labels import coded, label_order


@dataclass(frozen=True, slots=True)
class Outcome:
    """The targets and predictions of some examples: positions in `labels`, or numbers if there are no labels.

    A prediction of -1 means that no label was known yet. `seen` are the positions that could be predicted.
    """

    truth: np.ndarray
    predicted: np.ndarray
    scores: np.ndarray | None = None  # one column for each label, or one for two labels
    losses: np.ndarray | None = None  # by the model's own loss
    labels: list[Any] | None = None
    seen: Sequence[int] = ()
    users: np.ndarray | None = None  # the user numbers of ratings

    def __len__(self) -> int:
        return len(self.truth)

    def __getitem__(self, part: slice) -> Outcome:
        scores = None if self.scores is None else self.scores[part]
        losses = None if self.losses is None else self.losses[part]
        users = None if self.users is None else self.users[part]
        return replace(
            self, truth=self.truth[part], predicted=self.predicted[part], scores=scores, losses=losses, users=users
        )

    def goes_on_with(self, other: Outcome) -> bool:
        """Whether another outcome has the same labels, so that `+` may join them."""
        return self.labels is other.labels and self.seen == other.seen

    def __add__(self, other: Outcome) -> Outcome:
        """Two outcomes with the same labels as one."""

        def both(a: Any, b: Any) -> Any:
            return None if a is None else np.concatenate([a, b])

        names = ("truth", "predicted", "scores", "losses", "users")
        return replace(self, **{name: both(getattr(self, name), getattr(other, name)) for name in names})

    def needed_scores(self, metric: str) -> np.ndarray:
        if self.scores is None:
            raise DataError(f"{metric} needs scores, not only predictions")
        return self.scores

    def signs(self) -> np.ndarray:
        """+1 for the positive class, -1 for the negative one. A single label is positive if it is a number above 0."""
        labels = self.labels or []
        if len(labels) == 1:
            return np.full(len(self), 1.0 if not isinstance(labels[0], str) and labels[0] > 0 else -1.0)
        return np.where(self.truth > 0, 1.0, -1.0)


def outcome(y: Any, predicted: Any, scores: Any = None, known: Sequence[Any] = ()) -> Outcome:
    """Targets and predicted labels as positions in the labels known so far, these included."""
    truth = coded(check_targets(y, np.size(y)))
    guess = coded(as_many(predicted, len(truth)))
    labels = sorted({*known, *truth.labels, *guess.labels}, key=label_order)
    if scores is not None and len(labels) == 1 and labels[0] not in (-1, 0, 1):
        raise DataError(
            f"only the label {labels[0]!r} so far: it is unknown whether positive scores mean this label; use -1 or 1"
        )
    places = [np.array([labels.index(label) for label in part.labels], np.int32)[part.which] for part in (truth, guess)]
    given = None if scores is None else scores_of(scores, len(truth))
    if given is not None and given.shape[1] not in (1, len(labels)):
        raise DataError(f"scores of {given.shape[1]} columns; it must be one, or one for each of {len(labels)} labels")
    return Outcome(places[0], places[1], given, labels=labels, seen=range(len(labels)))


def scores_of(scores: Any, n: int) -> np.ndarray:
    """The scores of n examples: one column, or one for each label."""
    found = finite(scores, "scores")
    if found.ndim not in (1, 2) or len(found) != n:
        raise DataError(f"scores have shape {found.shape}; for {n} examples it must be ({n},), or ({n}, labels)")
    return found.reshape(n, -1) if n else np.zeros((0, 1))


def numbers_of(y: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    """Numeric targets and predictions, checked."""
    n = np.size(y)
    return finite(check_targets(y, n), "y"), finite(as_many(predicted, n), "predictions")


def as_many(predicted: Any, n: int) -> np.ndarray:
    """Predictions, checked to be one for each of n examples."""
    if np.size(predicted) != n:
        raise DataError(f"{np.size(predicted)} predictions for {n} examples")
    return check_targets(predicted, n)


def finite(values: Any, what: str) -> np.ndarray:
    """Values as numbers, checked to be finite."""
    try:
        found = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what}: must be numbers") from None
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        raise DataError(f"{what}: example {bad[0][0]}: the value {found[tuple(bad[0])]} is not finite")
    return found


class Metric:
    """A metric of the examples so far. `value` is None as long as it is undefined."""

    name: str
    task: str = "classification"
    argument: str = ""  # what may follow the name on the command line
    high: bool = False  # whether higher is better
    in_order: bool = False  # it depends on the order of the stream, so it has no windowed or fading form
    known: Sequence[Any] = ()  # labels of earlier examples

    def update(self, y: Any, predicted: Any, scores: Any = None) -> Self:
        """Add examples: targets, predictions and, if the metric needs them, scores: one for the positive class, or one
        column for each label.
        """
        known = self.known
        try:
            self.take(self.made(y, predicted, scores))
        except DataError:
            self.known = known
            raise
        return self

    def made(self, y: Any, predicted: Any, scores: Any) -> Outcome:
        made = outcome(y, predicted, scores, self.known)
        self.known = made.labels or ()
        return made

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        """Add examples, each with its weight."""
        raise NotImplementedError

    def fade(self, factor: float) -> None:
        """Multiply the weight of all examples so far by a factor."""
        raise NotImplementedError

    @property
    def value(self) -> Any:
        raise NotImplementedError

    @property
    def named(self) -> list[Any]:
        """The labels in the metric's parameters."""
        return []

    def trouble(self, labels: Sequence[Any]) -> str | None:
        """An error message if a label of the parameters does not occur; else None."""
        missing = [label for label in self.named if label not in labels]
        there = ", ".join(map(str, labels[:10])) + (", ..." if len(labels) > 10 else "")
        return f"{self}: no example has the label {missing[0]}; there are {there}" if missing else None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        """The class with all parameters, so that metrics with the same text have the same values."""
        given = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"


class Mean(Metric):
    """The mean of one number per example."""

    total = weight = 0.0

    def numbers(self, outcome: Outcome) -> np.ndarray:
        raise NotImplementedError

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        numbers = self.numbers(outcome)
        self.total += float(numbers.sum() if weights is None else weights @ numbers)
        self.weight += float(len(numbers) if weights is None else weights.sum())

    def fade(self, factor: float) -> None:
        self.total *= factor
        self.weight *= factor

    @property
    def value(self) -> float | None:
        return self.total / self.weight if self.weight else None


class Around(Metric):
    """A metric around another metric."""

    in_order = True

    def __init__(self, metric: Metric) -> None:
        self.metric, self.name, self.task, self.high = metric, metric.name, metric.task, metric.high

    def made(self, y: Any, predicted: Any, scores: Any) -> Outcome:
        return self.metric.made(y, predicted, scores)


class Windowed(Around):
    """A metric over the last `size` examples.

    >>> from seriatim.evaluate.metrics import Accuracy
    >>> Windowed(Accuracy(), 2).update([0, 1, 1], [1, 1, 1]).value
    1.0
    """

    def __init__(self, metric: Metric, size: int) -> None:
        if not isinstance(size, int | np.integer) or size < 1:
            raise ParameterError(f"a window of {size!r} examples: must be a whole number, at least 1")
        super().__init__(metric)
        self.size = size
        self.parts: deque[Outcome] = deque()  # one for each segment with the same labels
        self.held = 0

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        outcome = outcome[-self.size :]
        self.held += len(outcome)
        if self.parts and self.parts[-1].goes_on_with(outcome):
            outcome = self.parts.pop() + outcome
        self.parts.append(outcome)
        while self.held > self.size:
            oldest = self.parts.popleft()
            rest = oldest[self.held - self.size :]
            self.held -= len(oldest) - len(rest)
            if len(rest):
                self.parts.appendleft(rest)

    @property
    def value(self) -> Any:
        metric = copy.deepcopy(self.metric)
        for part in self.parts:
            metric.take(part)
        return metric.value

    def __str__(self) -> str:
        return f"{self.metric}, last {self.size:,}"


class Fading(Around):
    """A metric with exponential forgetting: an example that is k examples old has the weight factor^k.

    >>> from seriatim.evaluate.metrics import Accuracy
    >>> round(Fading(Accuracy(), 0.5).update([0, 1, 1], [1, 1, 1]).value, 3)
    0.857
    """

    def __init__(self, metric: Metric, factor: float) -> None:
        if not isinstance(factor, int | float | np.number) or not 0 < factor <= 1:
            raise ParameterError(f"a fading factor of {factor!r}: must be above 0 and at most 1")
        super().__init__(metric)
        self.factor = factor

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        self.metric.fade(self.factor ** len(outcome))
        self.metric.take(outcome, self.factor ** np.arange(len(outcome) - 1, -1, -1.0))

    @property
    def value(self) -> Any:
        return self.metric.value

    def __str__(self) -> str:
        return f"{self.metric}, fading {self.factor:g}"
