"""Metrics of predicted labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from seriatim.errors import DataError, ParameterError
from seriatim.evaluate.metrics.base import Mean, Metric, Outcome, scores_of
from seriatim.labels import label_order, plain_label
from seriatim.parameters import Costs


class MistakeRate(Mean):
    """The fraction of examples predicted wrongly: mistakes / examples."""

    name = "mistake rate"

    def numbers(self, outcome: Outcome) -> np.ndarray:
        return (outcome.truth != outcome.predicted).astype(np.float64)


class Accuracy(Mean):
    """The fraction of examples predicted correctly: 1 - mistake rate."""

    name, high = "accuracy", True

    def numbers(self, outcome: Outcome) -> np.ndarray:
        return (outcome.truth == outcome.predicted).astype(np.float64)


class LogLoss(Mean):
    """The mean of -ln p, where p is the probability that the model gave to the true label.

    In a run p is 1 / (1 + e^-margin), and the model must learn two labels by the logistic loss. Used alone, the metric
    takes probabilities as scores: of the positive class, or one column for each label.

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
            raise DataError("log loss: with more than two labels the scores are not probabilities")
        return np.logaddexp(0, -outcome.signs() * scores[:, 0])


class Confusion(Metric):
    """The confusion matrix, with a row for each true label and a column for each predicted one.

    Examples for which no label could be predicted, such as the first of a stream, are in no cell. `missed` counts them.
    Metrics of the matrix count them as mistakes, as the mistake rate does.

    >>> confusion = Confusion().update(["a", "a", "b", "a"], ["a", "b", "b", "a"])
    >>> confusion.value.tolist(), confusion.labels, confusion.normalized.round(2).tolist()
    ([[2.0, 1.0], [0.0, 1.0]], ['a', 'b'], [[0.67, 0.33], [0.0, 1.0]])
    """

    name = "confusion"

    def __init__(self) -> None:
        self.labels: list[Any] = []
        self.latest: list[Any] = []  # the labels of the last outcome
        self.counts = np.zeros((0, 0))
        self.missed = np.zeros(0)  # by true label

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
        """Add rows and columns for new labels."""
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
        """The counts divided by the number of examples with that true label."""
        return self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1e-300)


class OfConfusion(Confusion):
    """A metric of the confusion matrix. `positive` is the positive class; by default the higher label."""

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
        """For each label that occurred: true positives, predictions, and examples."""
        right, predicted, true = np.diag(self.counts), self.counts.sum(axis=0), self.counts.sum(axis=1) + self.missed
        occurred = predicted + true > 0
        return right[occurred], predicted[occurred], true[occurred]

    def of_positive(self) -> tuple[float, float, float]:
        """True positives, predictions and examples of the positive class."""
        place = self.place()
        if place is None:
            return 0.0, 0.0, 0.0
        return self.counts[place, place], self.counts[:, place].sum(), self.counts[place].sum() + self.missed[place]

    def of_others(self) -> tuple[float, float]:
        """True negatives, and examples of the negative classes."""
        others = np.arange(len(self.labels)) != self.place()
        told = self.counts[others]
        return told[:, others].sum(), told.sum() + self.missed[others].sum()

    def place(self) -> int | None:
        """The index of the positive class."""
        positive = self.latest[-1] if self.positive is None and self.latest else self.positive
        return self.labels.index(positive) if positive in self.labels else None


AVERAGES = ("positive", "macro", "micro")


class Averaged(OfConfusion):
    """A metric of one label, or averaged over labels.

    average : "positive", the metric of the positive class; "macro", the mean over the labels that occurred; "micro",
        the metric of all labels together. The default is "positive" for two labels, else "macro".
    """

    argument = "[:macro|:micro|:LABEL]"

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
    """above / below, and 0 where below is 0."""
    return np.divide(above, below, out=np.zeros(np.shape(below)), where=np.asarray(below) > 0)


class Precision(Averaged):
    """The fraction of predictions of a label that are correct; 0 if it was never predicted."""

    name = "precision"

    def share(self, right: Any, predicted: Any, true: Any) -> Any:
        return ratio(right, predicted)


class Recall(Averaged):
    """The fraction of examples of a label that were predicted; 0 if there are none."""

    name = "recall"

    def share(self, right: Any, predicted: Any, true: Any) -> Any:
        return ratio(right, true)


class F1(Averaged):
    """The harmonic mean of precision and recall."""

    name = "f1"

    def share(self, right: Any, predicted: Any, true: Any) -> Any:
        return ratio(2 * right, predicted + true)


class Sensitivity(OfConfusion):
    """The fraction of positive examples that were predicted positive."""

    name = "sensitivity"

    @property
    def value(self) -> float | None:
        right, _, true = self.of_positive()
        return float(right / true) if true else None


class Specificity(OfConfusion):
    """The fraction of negative examples that were predicted negative."""

    name = "specificity"

    @property
    def value(self) -> float | None:
        right, true = self.of_others()
        return float(right / true) if true else None


class Sum(OfConfusion):
    """share x sensitivity + (1 - share) x specificity. With share = 0.5 it is the balanced accuracy."""

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
    """The mean of the recall over the labels.

    >>> BalancedAccuracy().update(["a", "a", "a", "b"], ["a", "a", "b", "b"]).value
    0.8333333333333333
    """

    name = "balanced accuracy"

    @property
    def value(self) -> float | None:
        right, _, true = self.cells()
        return float(np.mean(right[true > 0] / true[true > 0])) if true.any() else None


class Cost(Confusion):
    """The sum of the costs of mistakes. A pair without a cost counts 1, and so does an example without a prediction.

    costs : {(true, predicted): cost}.

    >>> Cost({("spam", "ham"): 5}).update(["spam", "ham", "spam"], ["ham", "spam", "spam"]).value
    6.0
    """

    name, argument = "cost", ":TRUE:GUESS=COST"

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
