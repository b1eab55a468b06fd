"""Figures of a stream of predictions, kept up to date example by example.

Each can be asked of a run, `progressive(model, X, y, metrics=["f1", AUC()])`, or be used by itself:

>>> F1().update(["spam", "ham", "spam"], ["spam", "spam", "spam"]).value
0.8
"""

from __future__ import annotations

import copy
import inspect
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from seriatim.core.loss import LOSSES
from seriatim.errors import DataError, ParameterError
from seriatim.evaluate.judge import judge_rows
from seriatim.inputs import check_targets
from seriatim.labels import coded, label_of, label_order, plain_label
from seriatim.parameters import Costs


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was predicted of some examples and what is true: positions in `labels`, or without labels numbers.

    -1 is a prediction of nothing, before any label was known. `seen` are the positions that competed.
    """

    truth: np.ndarray
    predicted: np.ndarray
    scores: np.ndarray | None = None  # a column a label, or one
    losses: np.ndarray | None = None  # the model's own
    labels: list[Any] | None = None
    seen: Sequence[int] = ()
    users: np.ndarray | None = None  # of ratings: whose they are, by number

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
        """Whether another has the same labels."""
        return self.labels is other.labels and self.seen == other.seen

    def __add__(self, other: Outcome) -> Outcome:
        """Both, where the one goes on with the other."""

        def both(a: Any, b: Any) -> Any:
            return None if a is None else np.concatenate([a, b])

        names = ("truth", "predicted", "scores", "losses", "users")
        return replace(self, **{name: both(getattr(self, name), getattr(other, name)) for name in names})

    def needed_scores(self, metric: str) -> np.ndarray:
        if self.scores is None:
            raise DataError(f"{metric} needs scores, not only predictions")
        return self.scores

    def signs(self) -> np.ndarray:
        """+1 for the higher of two labels, -1 for the lower; a label that is alone is +1 if it is a number above 0."""
        labels = self.labels or []
        if len(labels) == 1:
            return np.full(len(self), 1.0 if not isinstance(labels[0], str) and labels[0] > 0 else -1.0)
        return np.where(self.truth > 0, 1.0, -1.0)


def outcome(y: Any, predicted: Any, scores: Any = None, known: Sequence[Any] = ()) -> Outcome:
    """What some predictions of labels are, by position among these labels and those known before."""
    truth = coded(check_targets(y, np.size(y)))
    guess = coded(as_many(predicted, len(truth)))
    labels = sorted({*known, *truth.labels, *guess.labels}, key=label_order)
    if scores is not None and len(labels) == 1 and labels[0] not in (-1, 0, 1):
        raise DataError(f"only the label {labels[0]!r} until now: whether scores are for or against it cannot be told")
    places = [np.array([labels.index(label) for label in part.labels], np.int32)[part.which] for part in (truth, guess)]
    given = None if scores is None else scores_of(scores, len(truth))
    if given is not None and given.shape[1] not in (1, len(labels)):
        raise DataError(f"scores of {given.shape[1]} columns; it must be one, or one for each of {len(labels)} labels")
    return Outcome(places[0], places[1], given, labels=labels, seen=range(len(labels)))


def scores_of(scores: Any, n: int) -> np.ndarray:
    """The scores of n examples, a column a label or one."""
    found = finite(scores, "scores")
    if found.ndim not in (1, 2) or len(found) != n:
        raise DataError(f"scores have shape {found.shape}; for {n} examples it must be ({n},), or ({n}, labels)")
    return found.reshape(n, -1) if n else np.zeros((0, 1))


def numbers_of(y: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    """What is true and what was predicted, where both are numbers."""
    n = np.size(y)
    return finite(check_targets(y, n), "y"), finite(as_many(predicted, n), "predictions")


def as_many(predicted: Any, n: int) -> np.ndarray:
    """Predictions, one for each of n examples."""
    if np.size(predicted) != n:
        raise DataError(f"{np.size(predicted)} predictions for {n} examples")
    return check_targets(predicted, n)


def finite(values: Any, what: str) -> np.ndarray:
    """Numbers, all of them finite."""
    try:
        found = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what}: must be numbers") from None
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        raise DataError(f"{what}: example {bad[0][0]}: the value {found[tuple(bad[0])]} is not finite")
    return found


class Metric:
    """A figure of the examples so far. `value` is None as long as there is nothing to say."""

    name: str
    task: str = "classification"
    high: bool = False  # whether more is better
    in_order: bool = False  # whether it is of the stream as it is, so that it cannot be had of a window, or faded
    known: Sequence[Any] = ()  # labels of earlier examples

    def update(self, y: Any, predicted: Any, scores: Any = None) -> Self:
        """The next examples: what is true, what was predicted, and if the metric needs them scores: one for the higher
        of two labels, or a column a label.
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
        """The next examples, each as important as its weight says."""
        raise NotImplementedError

    def fade(self, factor: float) -> None:
        """All until now counts so much less."""
        raise NotImplementedError

    @property
    def value(self) -> Any:
        raise NotImplementedError

    @property
    def named(self) -> list[Any]:
        """The labels that it was told of."""
        return []

    def trouble(self, labels: Sequence[Any]) -> str | None:
        """Which of these is none of the labels that there are; None if all occur."""
        missing = [label for label in self.named if label not in labels]
        there = ", ".join(map(str, labels[:10])) + (", ..." if len(labels) > 10 else "")
        return f"{self}: no example has the label {missing[0]}; there are {there}" if missing else None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        """With all that it was given: metrics that are written alike judge alike."""
        given = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"


class Mean(Metric):
    """The mean of a number of each example."""

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


class MistakeRate(Mean):
    """The share of examples whose label was not predicted: mistakes / examples."""

    name = "mistake rate"

    def numbers(self, outcome: Outcome) -> np.ndarray:
        return (outcome.truth != outcome.predicted).astype(np.float64)


class Accuracy(Mean):
    """The share of examples whose label was predicted: 1 - mistake rate."""

    name, high = "accuracy", True

    def numbers(self, outcome: Outcome) -> np.ndarray:
        return (outcome.truth == outcome.predicted).astype(np.float64)


class MeanLoss(Mean):
    """The mean of a loss; without a name that of the model itself.

    In classification it is a function of the margin: y times the score, or with more than two labels the score of the
    true one less that of its strongest rival. In regression it is one of the error: by itself the metric takes numbers
    where there are no scores, and the loss is squared, absolute or epsilon_insensitive.

    >>> MeanLoss("squared").update([1.5, 2.5], [1.0, 2.0]).value
    0.125
    """

    name, task = "mean loss", "any"

    def __init__(self, loss: str | None = None, epsilon: float = 0.1) -> None:
        if loss is not None and loss not in LOSSES:
            raise ParameterError(f"loss={loss!r}: must be one of {', '.join(LOSSES)}")
        self.loss, self.epsilon = loss, epsilon

    def __str__(self) -> str:
        return self.name if self.loss is None else f"{self.name} ({self.loss.replace('_', ' ')})"

    def made(self, y: Any, predicted: Any, scores: Any) -> Outcome:
        if self.loss is None:
            raise DataError(f"{self}: say which loss, as MeanLoss('hinge'), or ask for it in a run of a model")
        if scores is None and self.loss in ("squared", "absolute", "epsilon_insensitive"):
            return Outcome(*numbers_of(y, predicted))
        return super().made(y, predicted, scores)

    def numbers(self, outcome: Outcome) -> np.ndarray:
        if self.loss is None:
            assert outcome.losses is not None
            return outcome.losses
        if outcome.labels is None:
            return judge_rows(self.loss, outcome.truth, outcome.predicted[:, None], self.epsilon)[2]
        scores = np.ascontiguousarray(outcome.needed_scores(str(self)))
        if scores.shape[1] == 1:
            return judge_rows(self.loss, outcome.signs(), scores, self.epsilon, labels=2)[2]
        truth, labels = outcome.truth.astype(np.float64), scores.shape[1]
        return judge_rows(self.loss, truth, scores, self.epsilon, labels, [*outcome.seen])[2]


class CumulativeLoss(MeanLoss):
    """The sum of a loss over the examples so far; without a name that of the model itself."""

    name = "cumulative loss"

    @property
    def value(self) -> float:
        return self.total


class LogLoss(Mean):
    """The mean of -ln p, p being the probability that the model gave to what is true.

    In a run p is 1 / (1 + e^-margin), of a model that learns two labels by the logistic loss. By itself the metric
    takes probabilities in the place of scores: that of the higher of two labels, or a column a label.

    >>> round(LogLoss().update([0, 1], [0, 1], [0.1, 0.8]).value, 4)
    0.1643
    """

    name = "log loss"

    def made(self, y: Any, predicted: Any, scores: Any) -> Outcome:
        if scores is not None:
            scores = scores_of(scores, np.size(y))
            if len(bad := scores[(scores < 0) | (scores > 1)]):
                raise DataError(f"{self.name}: {bad[0]:g} is no probability: it must be from 0 to 1")
        made = super().made(y, predicted, scores)
        given, place = made.needed_scores(self.name), made.truth
        if given.shape[1] == 1:
            given, place = np.column_stack([1 - given, given]), (made.signs() > 0).astype(int)
        tiny = np.finfo(np.float64).eps
        losses = -np.log(np.clip(given[np.arange(len(made)), place], tiny, 1 - tiny))
        return replace(made, scores=None, losses=losses)

    def numbers(self, outcome: Outcome) -> np.ndarray:
        if outcome.scores is None and outcome.losses is not None:
            return outcome.losses
        scores = outcome.needed_scores(self.name)
        if scores.shape[1] > 1:
            raise DataError("log loss: with more than two labels the scores are no probabilities")
        return np.logaddexp(0, -outcome.signs() * scores[:, 0])


class Confusion(Metric):
    """How often each label (row) was taken for each label (column), of those that were true or predicted.

    The first example of all, before which no label is known, and others of which nothing could be predicted are in no
    cell. `missed` counts them; in figures of the matrix they are mistakes, as they are in the mistake rate.

    >>> confusion = Confusion().update(["a", "a", "b", "a"], ["a", "b", "b", "a"])
    >>> confusion.value.tolist(), confusion.labels, confusion.normalized.round(2).tolist()
    ([[2.0, 1.0], [0.0, 1.0]], ['a', 'b'], [[0.67, 0.33], [0.0, 1.0]])
    """

    name = "confusion"

    def __init__(self) -> None:
        self.labels: list[Any] = []
        self.latest: list[Any] = []  # the labels that the last examples could have had
        self.counts = np.zeros((0, 0))
        self.missed = np.zeros(0)  # of each label

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        told, self.latest = outcome.predicted >= 0, outcome.labels or []
        often = [np.bincount(part, minlength=len(self.latest)) for part in (outcome.truth, outcome.predicted[told])]
        occurred = np.flatnonzero(often[0] + often[1]).tolist()
        self.meet([self.latest[k] for k in occurred])
        place, size = np.zeros(len(self.latest), np.int64), len(self.labels)
        place[occurred] = [self.labels.index(self.latest[k]) for k in occurred]
        cells = place[outcome.truth[told]] * size + place[outcome.predicted[told]]
        given, others = (None, None) if weights is None else (weights[told], weights[~told])
        self.counts += np.bincount(cells, given, size * size).reshape(size, size)
        self.missed += np.bincount(place[outcome.truth[~told]], others, size)

    def meet(self, labels: list[Any]) -> None:
        """Make room for labels that have not come before."""
        if all(label in self.labels for label in labels):
            return
        known = sorted({*self.labels, *labels}, key=label_order)
        place = [known.index(label) for label in self.labels]
        counts = np.zeros((len(known), len(known)))
        counts[np.ix_(place, place)] = self.counts
        missed = np.zeros(len(known))
        missed[place] = self.missed
        self.labels, self.counts, self.missed = known, counts, missed

    def fade(self, factor: float) -> None:
        self.counts *= factor
        self.missed *= factor

    @property
    def value(self) -> Any:
        return self.counts

    @property
    def normalized(self) -> np.ndarray:
        """The counts as shares of the examples with that true label."""
        return self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1e-300)


class OfConfusion(Confusion):
    """A figure of the matrix of confusions. `positive` is the label that is looked for; the higher one if not said."""

    high = True

    def __init__(self, positive: Any = None) -> None:
        super().__init__()
        self.positive = None if positive is None else plain_label(positive)

    def __str__(self) -> str:
        return self.name if self.positive is None else f"{self.name} ({self.positive})"

    @property
    def named(self) -> list[Any]:
        return [] if self.positive is None else [self.positive]

    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each label that occurred: how often it was right, predicted, and true."""
        right, predicted, true = np.diag(self.counts), self.counts.sum(axis=0), self.counts.sum(axis=1) + self.missed
        occurred = predicted + true > 0
        return right[occurred], predicted[occurred], true[occurred]

    def of_positive(self) -> tuple[float, float, float]:
        """Right, predicted and true examples of the positive label."""
        place = self.place()
        if place is None:
            return 0.0, 0.0, 0.0
        return self.counts[place, place], self.counts[:, place].sum(), self.counts[place].sum() + self.missed[place]

    def of_others(self) -> tuple[float, float]:
        """Of the examples with other labels: those predicted to have others, and all."""
        others = np.arange(len(self.labels)) != self.place()
        told = self.counts[others]
        return told[:, others].sum(), told.sum() + self.missed[others].sum()

    def place(self) -> int | None:
        """That of the positive label."""
        positive = self.latest[-1] if self.positive is None and self.latest else self.positive
        return self.labels.index(positive) if positive in self.labels else None


AVERAGES = ("positive", "macro", "micro")


class Averaged(OfConfusion):
    """A figure of one label, or averaged over labels.

    average : "positive", the figure of the positive label; "macro", the mean of the figures of the labels that
        occurred; "micro", the figure of all labels together. If not said: of the positive label where there are two,
        else macro.
    """

    def __init__(self, average: str | None = None, positive: Any = None) -> None:
        super().__init__(positive)
        if average not in (None, *AVERAGES):
            raise ParameterError(f"average={average!r}: must be 'positive', 'macro' or 'micro'")
        self.average = average

    def __str__(self) -> str:
        return super().__str__() if self.average in (None, "positive") else f"{self.name} ({self.average})"

    def share(self, right: Any, predicted: Any, true: Any) -> Any:
        raise NotImplementedError

    @property
    def value(self) -> float | None:
        if not self.counts.any() and not self.missed.any():
            return None
        average = self.average or ("positive" if len(self.latest) <= 2 or self.positive is not None else "macro")
        if average == "positive":
            return float(self.share(*self.of_positive()))
        right, predicted, true = self.cells()
        if average == "micro":
            return float(self.share(right.sum(), predicted.sum(), true.sum()))
        return float(np.mean(self.share(right, predicted, true)))


def ratio(above: Any, below: Any) -> Any:
    """0 where there is nothing to divide by."""
    return np.divide(above, below, out=np.zeros(np.shape(below)), where=np.asarray(below) > 0)


class Precision(Averaged):
    """Of the examples predicted to have a label, the share that has it; 0 when it was never predicted."""

    name = "precision"

    def share(self, right: Any, predicted: Any, true: Any) -> Any:
        return ratio(right, predicted)


class Recall(Averaged):
    """Of the examples that have a label, the share predicted to have it; 0 when there are none."""

    name = "recall"

    def share(self, right: Any, predicted: Any, true: Any) -> Any:
        return ratio(right, true)


class F1(Averaged):
    """The harmonic mean of precision and recall: 2 right / (predicted + true)."""

    name = "f1"

    def share(self, right: Any, predicted: Any, true: Any) -> Any:
        return ratio(2 * right, predicted + true)


class Sensitivity(OfConfusion):
    """Of the positive examples, the share predicted to be positive."""

    name = "sensitivity"

    @property
    def value(self) -> float | None:
        right, _, true = self.of_positive()
        return float(right / true) if true else None


class Specificity(OfConfusion):
    """Of the examples that are not positive, the share predicted not to be."""

    name = "specificity"

    @property
    def value(self) -> float | None:
        right, true = self.of_others()
        return float(right / true) if true else None


class Sum(OfConfusion):
    """share x sensitivity + (1 - share) x specificity; with one half it is the balanced accuracy."""

    name = "sum"

    def __init__(self, share: float = 0.5, positive: Any = None) -> None:
        super().__init__(positive)
        if not 0 <= share <= 1:
            raise ParameterError(f"share={share!r}: must be a number from 0 to 1")
        self.share = share

    def __str__(self) -> str:
        return super().__str__() if self.share == 0.5 else f"{super().__str__()} {self.share:g}"

    @property
    def value(self) -> float | None:
        (right, _, true), (others_right, others) = self.of_positive(), self.of_others()
        if not true or not others:
            return None
        return float(self.share * right / true + (1 - self.share) * others_right / others)


class BalancedAccuracy(OfConfusion):
    """The mean over the labels of the share of their examples that was predicted to have them.

    >>> BalancedAccuracy().update(["a", "a", "a", "b"], ["a", "a", "b", "b"]).value
    0.8333333333333333
    """

    name = "balanced accuracy"

    @property
    def value(self) -> float | None:
        right, _, true = self.cells()
        return float(np.mean(right[true > 0] / true[true > 0])) if true.any() else None


class Cost(Confusion):
    """The sum of what the mistakes cost: 1 where nothing was predicted, or for a pair of labels that has no cost given.

    costs : {(true, predicted): cost}.

    >>> Cost({("spam", "ham"): 5}).update(["spam", "ham", "spam"], ["ham", "spam", "spam"]).value
    6.0
    """

    name = "cost"

    def __init__(self, costs: dict[tuple[Any, Any], float] | None = None) -> None:
        super().__init__()
        given = Costs(None)
        if isinstance(costs, str):
            costs = given.parse(costs)
        if not isinstance(costs, dict | None) or given.problem(costs):
            raise ParameterError(
                "costs: must be a dict {(true, predicted): cost}, or by name cost:spam:ham=5 for a spam taken for ham; "
                "costs are numbers from 0 on"
            )
        self.costs: Any = given.of(costs)

    def __str__(self) -> str:
        given = ", ".join(f"{true}:{predicted}={cost:g}" for (true, predicted), cost in self.costs.items())
        return f"{self.name} ({given})" if given else self.name

    @property
    def named(self) -> list[Any]:
        return [label for pair in self.costs for label in pair]

    @property
    def value(self) -> float | None:
        if not self.labels:
            return None
        known = self.labels
        costs = [[0.0 if a == b else self.costs.get((a, b), 1.0) for b in known] for a in known]
        return float((self.counts * costs).sum() + self.missed.sum())


class AUC(Metric):
    """The share of pairs of a positive and a negative example in which the positive one has the higher score; a tie
    counts one half. It is the area under the ROC curve, of two labels.

    The scores are kept, sorted, up to `capacity` distinct ones: so far the value is exact. Beyond it neighbours are
    merged, with all that come between them later, and the value is within `error` of the exact one.

    >>> AUC().update([0, 1, 0, 1], [0, 1, 0, 0], [0.1, 0.9, 0.4, 0.3]).value
    0.75
    """

    name, high = "auc", True

    def __init__(self, capacity: int = 1 << 16) -> None:
        if capacity < 2:
            raise ParameterError(f"capacity={capacity!r}: must be at least 2")
        self.capacity = capacity
        self.scores = np.zeros(0)
        self.ends = np.zeros(0)  # up to which scores have been merged with each of them
        self.counts = np.zeros((0, 2))  # negative and positive examples of each
        self.pair: tuple[Any, Any] = (None, None)  # the labels; one without another is taken for the positive one

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        labels: list[Any] = outcome.labels or []
        given = outcome.needed_scores(self.name)
        if given.shape[1] > 1 or len(labels) > 2:
            raise DataError("auc: there are more than two labels")
        weights = np.ones(len(outcome)) if weights is None else weights
        scores, signs = given[:, 0], outcome.signs()
        if len(labels) == 1:
            scores, signs = signs * scores, np.ones(len(outcome))
        self.turn((labels[0] if len(labels) == 2 else None, labels[-1]))
        self.add(scores, signs, weights)

    def turn(self, pair: tuple[Any, Any]) -> None:
        """Which of two labels the first one is, is known when the second one has come."""
        positive = bool(self.counts[:, 1].any())
        if self.counts.any() and pair != self.pair and (self.pair[positive] == pair[1]) != positive:
            self.scores, self.ends, self.counts = -self.ends[::-1], -self.scores[::-1], self.counts[::-1, ::-1]
        self.pair = pair

    def add(self, scores: np.ndarray, signs: np.ndarray, weights: np.ndarray) -> None:
        fresh = np.zeros((len(scores), 2))
        fresh[np.arange(len(scores)), (signs > 0).astype(int)] = weights
        if len(self.scores):
            before = np.searchsorted(self.scores, scores, "right") - 1
            scores = np.where((before >= 0) & (scores <= self.ends[before]), self.scores[before], scores)
        known, place = np.unique(np.concatenate([self.scores, scores]), return_inverse=True)
        counts, ends = np.zeros((len(known), 2)), known.copy()
        np.add.at(counts, place, np.concatenate([self.counts, fresh]))
        ends[place[: len(self.ends)]] = self.ends
        self.scores, self.ends, self.counts = known, ends, counts
        while len(self.scores) > self.capacity:
            self.halve()

    def halve(self) -> None:
        """Merge each two neighbours."""
        first = np.arange(0, len(self.scores), 2)
        self.counts = np.add.reduceat(self.counts, first)
        self.ends = self.ends[np.minimum(first + 1, len(self.ends) - 1)]
        self.scores = self.scores[first]

    def fade(self, factor: float) -> None:
        self.counts *= factor

    def pairs(self) -> float:
        negative, positive = self.counts.sum(axis=0)
        return float(negative * positive)

    @property
    def value(self) -> float | None:
        if not self.pairs():
            return None
        negative, positive = self.counts.T
        below = np.cumsum(negative) - negative
        return float((positive * (below + negative / 2)).sum() / self.pairs())

    @property
    def error(self) -> float:
        """How far the value may be from the exact one: half the pairs that were merged."""
        merged = self.counts[self.ends > self.scores]
        return float(merged.prod(axis=1).sum() / 2 / self.pairs()) if self.pairs() else 0.0


class OfNumbers(Mean):
    """A figure of predicted numbers."""

    task = "regression"

    def made(self, y: Any, predicted: Any, scores: Any) -> Outcome:
        return Outcome(*numbers_of(y, predicted))


class MAE(OfNumbers):
    """The mean of |y - prediction|."""

    name = "mae"

    def numbers(self, outcome: Outcome) -> np.ndarray:
        return np.abs(outcome.truth - outcome.predicted)


class RMSE(OfNumbers):
    """The root of the mean of (y - prediction)^2."""

    name = "rmse"

    def numbers(self, outcome: Outcome) -> np.ndarray:
        return (outcome.truth - outcome.predicted) ** 2

    @property
    def value(self) -> float | None:
        return (self.total / self.weight) ** 0.5 if self.weight else None


class R2(RMSE):
    """1 - sum (y - prediction)^2 / sum (y - mean of y)^2: 1 is perfect, 0 no better than always saying the mean.

    >>> round(R2().update([1.0, 2.0, 4.0], [1.0, 2.0, 3.0]).value, 3)
    0.786
    """

    name, high = "r2", True
    mean = spread = 0.0

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        given = np.ones(len(outcome)) if weights is None else weights
        before, fresh = self.weight, float(given.sum())
        super().take(outcome, weights)
        if fresh:  # the mean and the squares around it, of both parts together (Chan et al., 1979)
            mean = float(given @ outcome.truth / fresh)
            self.spread += float(given @ (outcome.truth - mean) ** 2)
            self.spread += (mean - self.mean) ** 2 * before * fresh / self.weight
            self.mean += (mean - self.mean) * fresh / self.weight

    def fade(self, factor: float) -> None:
        super().fade(factor)
        self.spread *= factor

    @property
    def value(self) -> float | None:
        return 1 - self.total / self.spread if self.spread else None


class NDCG(Metric):
    """How well the ratings of each user were put in order: the mean over lists of DCG / (the DCG of the best order).

    The ratings of a user are taken in lists of k, as they come, each predicted before it was told. A list is ordered by
    the predictions, and DCG = sum over places p = 1..k of (2^(rating - low + 1) - 1) / log2(p + 1), the lowest rating
    there is gaining 1; where predictions are equal it is the mean over the orders that they allow (McSherry and Najork,
    2008). Lists of equal ratings cannot be in a wrong order and do not count; nor do the last ratings of a user as long
    as they make no list. By itself the metric takes the users in the place of scores.

    >>> round(NDCG(3, low=1).update([5.0, 1.0, 3.0], [0.9, 0.5, 0.2], [0, 0, 0]).value, 4)
    0.9781

    Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20, 2002.
    """

    name, task, high, in_order = "ndcg", "recommendation", True, True

    def __init__(self, k: int = 10, low: float | None = None) -> None:
        if not isinstance(k, int) or k < 2:
            raise ParameterError(f"ndcg: k={k!r}: lists must have at least 2 ratings")
        self.k, self.low = k, low
        self.total, self.lists = 0.0, 0
        self.open: dict[Any, list[tuple[float, float]]] = {}  # (rating, prediction) of the lists that are not full yet

    def __str__(self) -> str:
        return f"{self.name}@{self.k}"

    def made(self, y: Any, predicted: Any, scores: Any) -> Outcome:
        if scores is None:
            raise DataError("ndcg needs the users of the ratings")
        truth, guess = numbers_of(y, predicted)
        return Outcome(truth, guess, users=check_targets(scores, len(truth)))

    def take(self, outcome: Outcome, weights: np.ndarray | None = None) -> None:
        assert outcome.users is not None
        full: list[list[tuple[float, float]]] = []
        pairs = zip(outcome.truth.tolist(), outcome.predicted.tolist(), strict=True)
        for user, pair in zip(outcome.users.tolist(), pairs, strict=True):
            mine = self.open.setdefault(user, [])
            mine.append(pair)
            if len(mine) == self.k:
                full.append(self.open.pop(user))
        if full:
            self.judge(*np.array(full).transpose(2, 0, 1))

    def judge(self, ratings: np.ndarray, predicted: np.ndarray) -> None:
        """Lists that are full, one a row."""
        telling = ratings.max(axis=1) > ratings.min(axis=1)
        ratings, predicted = ratings[telling], predicted[telling]
        top, low = ratings.max(axis=1, keepdims=True), 1.0 if self.low is None else self.low
        gains = np.exp2(ratings - top) - np.exp2(low - 1 - top)  # over 2^(top - low + 1), which cancels
        discounts = 1 / np.log2(np.arange(2, self.k + 2))
        order = np.argsort(-predicted, axis=1, kind="stable")
        gained, predicted = np.take_along_axis(gains, order, 1), np.take_along_axis(predicted, order, 1)
        changes = np.column_stack([np.ones(len(ratings), bool), predicted[:, 1:] != predicted[:, :-1]])
        ties = np.cumsum(changes) - 1  # a number for each run of equal predictions
        mean = np.bincount(ties, gained.reshape(-1)) / np.bincount(ties) if len(ties) else np.zeros(0)
        best = -np.sort(-gains, axis=1) @ discounts
        self.total += float((mean[ties].reshape(gains.shape) @ discounts / best).sum())
        self.lists += len(ratings)

    @property
    def value(self) -> float | None:
        return self.total / self.lists if self.lists else None


class Around(Metric):
    """A metric that looks at some of the examples of another one."""

    in_order = True

    def __init__(self, metric: Metric) -> None:
        self.metric, self.name, self.task, self.high = metric, metric.name, metric.task, metric.high

    def made(self, y: Any, predicted: Any, scores: Any) -> Outcome:
        return self.metric.made(y, predicted, scores)


class Windowed(Around):
    """A metric of the last so many examples.

    >>> Windowed(Accuracy(), 2).update([0, 1, 1], [1, 1, 1]).value
    1.0
    """

    def __init__(self, metric: Metric, size: int) -> None:
        if not isinstance(size, int | np.integer) or size < 1:
            raise ParameterError(f"a window of {size!r} examples: must be a whole number, at least 1")
        super().__init__(metric)
        self.size = size
        self.parts: deque[Outcome] = deque()  # one for each set of labels
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
    """A metric in which an example that is k examples old counts factor^k.

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


PLAIN: tuple[type[Metric], ...] = (
    MistakeRate,
    Accuracy,
    MeanLoss,
    CumulativeLoss,
    Precision,
    Recall,
    F1,
    Sensitivity,
    Specificity,
    Sum,
    BalancedAccuracy,
    Cost,
    AUC,
    LogLoss,
    MAE,
    RMSE,
    R2,
    NDCG,
)
NAMES = {kind.name.replace(" ", "-"): kind for kind in PLAIN}


def metric(name: str | Metric) -> Metric:
    """The metric that a name stands for: `f1`, `f1:macro`, `f1:spam`, `mean-loss:squared`, `cost:spam:ham=5`.

    >>> str(metric("f1:macro")), metric("f1:spam").positive
    ('f1 (macro)', 'spam')
    """
    if isinstance(name, Metric):
        return copy.deepcopy(name)
    kind, colon, argument = str(name).partition(":")
    kind = kind.lower().replace("_", "-").replace(" ", "-")
    if kind not in NAMES:
        raise ParameterError(f"no metric is called {name!r}; there are {', '.join(NAMES)}")
    given = [argument if kind == "cost" else label_of(argument)] if colon else []
    try:
        if given and issubclass(NAMES[kind], Averaged) and argument not in AVERAGES:
            return NAMES[kind](positive=given[0])  # type: ignore[call-arg]
        return NAMES[kind](*given)
    except TypeError:
        raise ParameterError(f"{name}: {kind} cannot take {argument!r}") from None
