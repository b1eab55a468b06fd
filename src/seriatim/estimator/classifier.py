"""Classifiers: labels of any type, which arrive with the stream."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from seriatim.core.rows import Rows
from seriatim.core.targets import Codes, targets_of
from seriatim.errors import DataError, ParameterError
from seriatim.estimator.base import ONE, SIGNS, Estimator, mean
from seriatim.estimator.inputs import (
    check_targets,
)
from seriatim.labels import PLAIN, Coded, coded, label_array, label_order, plain_label
from seriatim.parameters import Labels


class Classifier(Estimator):
    """A learner of labels: two, or more, of any type, known beforehand or not."""

    task = "classification"
    binary: ClassVar[bool] = False  # the method is one for two labels
    classes: Any = Labels(None)

    # Like the labels, ascending, replaced when a label is met and never changed in place: what the learner sees for
    # each that has been seen.
    _codes = Codes()

    # ---- labels that come with the stream

    def successor(self) -> Self:
        fresh = super().successor()
        for label in self._codes:
            if label not in fresh._codes:
                fresh._meet(label)
        return fresh

    def _untrained(self, columns: int, named: bool, classes: Any = None) -> dict[str, Any]:
        held = super()._untrained(columns, named)
        if (classes := self.classes if classes is None else classes) is not None:
            self._declare(classes, held)
        return held

    def _declare(self, classes: Any, held: dict[str, Any]) -> None:
        """Labels told beforehand: two make a binary model, more a multiclass one in which the unseen do not compete.

        `held` is what an untrained model holds.
        """
        labels = sorted({plain_label(label) for label in classes}, key=label_order)
        if self.binary and len(labels) > 2:
            raise ParameterError(f"{type(self).__name__}: classes={labels!r}: only binary classification is supported")
        two = len(labels) == 2
        source, factor = (None, None) if two else (np.full(len(labels), -1), np.zeros(len(labels)))
        codes = Codes(labels, (-1.0, 1.0)) if two else Codes()
        entries = {"_labels": labels, "_codes": codes}
        held["_learner"].change_classes(held, entries, source, factor, [], self._told(labels, codes))

    def _told(self, labels: list[Any], codes: Codes) -> Any:
        """What the learner must know of labels that are about to replace `_labels`; None for nothing."""
        return None

    def _expect_label(self, label: Any) -> None:
        """Refuse a label that cannot be taken in."""
        known = self._labels
        if self.binary and len(known) == 2 and label not in known:
            raise DataError(
                f"the label {label!r} is a third one, after {known[0]!r} and {known[1]!r}. "
                f"Only binary classification is supported by {type(self).__name__}"
            )

    def _meet(self, label: Any) -> None:
        """Take in a label that has not been seen before."""
        self._expect_label(label)
        labels, source, factor = self._labels, None, None
        place = bisect_left(labels, label_order(label), key=label_order)
        declared = labels[place : place + 1] == [label]
        known = labels if declared else [*labels[:place], label, *labels[place:]]
        seen = [place]
        codes = self._codes.values
        if declared:
            codes = np.append(codes, place)
        elif len(known) == 1:
            # Which of two labels this will be is not known yet; a positive number is taken for the higher one.
            codes = np.array([1.0 if not isinstance(label, str) and label > 0 else -1.0])
        elif len(known) == 2:
            turned = self._codes[labels[0]] != (1.0 if place == 0 else -1.0)
            codes = np.array([1.0, -1.0] if place == 0 else [-1.0, 1.0])
            if turned:
                source, factor = np.zeros(1, np.intp), np.array([-1.0])
        else:
            if len(labels) == 2:  # w becomes -w/2 for the lower and +w/2 for the higher of the two
                source = np.zeros(len(known), np.intp)
                factor = np.array([0.5 * self._codes.get(one, 0.0) for one in known])
                codes = np.array([known.index(one) for one in self._codes])
                seen = [*map(int, codes), place]
            else:
                source = np.arange(len(known)) - (np.arange(len(known)) > place)
                factor = np.ones(len(known))
                codes = codes + (codes >= place)
            codes = np.append(codes, place)
            source[place] = -1
        codes = self._codes.extended(label, codes)
        entries = {"_labels": known, "_codes": codes}
        self._learner.change_classes(vars(self), entries, source, factor, seen, self._told(known, codes))

    def as_targets(self, y: Any, n: int) -> Coded:
        return coded(check_targets(y, n))

    def _may_fail(self, y: Coded) -> bool:
        return super()._may_fail(y) or not all(label in self._codes for label in y.labels)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows, one after another, where the last call ended; all of them or, if one is bad, none.

        `classes`, in the first call, are all labels there will be, as in scikit-learn; nobody need tell them.
        `sample_weight` is the importance of each row, at least 0: its loss counts so often, in one step. A row of
        weight 0 takes no step but is a round. A method that does not define importance takes no weight but 1.
        """
        return self._learn_array(X, y, sample_weight, classes=classes)

    def begin(self, rows: Rows, classes: Any = None) -> None:
        """`classes` counts in the first call only, as in scikit-learn."""
        self.parameters["classes"].check(f"{type(self).__name__}: classes", classes)
        if classes is not None and self.classes is not None and {*classes} != {*self.classes}:
            raise ParameterError(f"{type(self).__name__}: classes={self.classes!r}, but partial_fit says {classes!r}")
        super().begin(rows, classes=classes)

    def first_rows(self, y: Coded) -> list[int]:
        return [0, *(row for row in self._arrivals(y) if row)]

    def _arrivals(self, y: Coded) -> dict[int, Any]:
        """The labels that are not known yet, by the row in which each comes first, ascending."""
        if all(label in self._codes for label in y.labels):
            return {}
        numbers, places = np.unique(y.which, return_index=True)
        met = zip(places.tolist(), map(y.labels.__getitem__, numbers.tolist()), strict=True)
        return dict(sorted((place, label) for place, label in met if label not in self._codes))

    def _segments(self, y: Coded) -> Iterator[tuple[int, np.ndarray, bool]]:
        """Cut where a new label arrives, so that a run does not depend on how the stream is divided into calls."""
        arrivals = self._arrivals(y)
        begins = [0, *(row for row in arrivals if row)]
        for begin, end in pairwise([*begins, len(y)]):
            if begin in arrivals:
                self._meet(arrivals[begin])
            if begin < end:
                yield begin, self._coded(y.labels, y.which[begin:end]), begin in arrivals

    def known_labels(self, fresh: bool = False) -> tuple[list[Any] | None, list[int], bool]:
        """Of the labels -1 and 1 the sign is the prediction from the first example on: none of them is ever new."""
        if len(self._labels) <= 2 and {*self._labels} <= {*SIGNS}:
            return SIGNS, [0, 1], False
        return self._labels, self.seen() if len(self._labels) > 2 else [*range(len(self._labels))], fresh

    def _coded(self, labels: list[Any], which: np.ndarray) -> np.ndarray:
        """The targets of rows as the learner sees them."""
        codes = np.full(len(labels), math.nan)
        for k in range(len(labels)) if len(labels) <= len(which) else {*which.tolist()}:
            codes[k] = self._codes.get(labels[k], math.nan)
        return targets_of(which, codes)

    @property
    def codes(self) -> dict[Any, float]:
        """What each known label is to the learner, ascending: -1 or 1, or with more than two a class number."""
        return {label: self._codes[label] for label in self._labels if label in self._codes}

    def seen(self) -> list[int]:
        """The class numbers that compete, ascending."""
        return class_numbers(self._codes)

    # ---- predictions

    @property
    def classes_(self) -> np.ndarray:
        """The labels, ascending: declared or seen."""
        self._begun()
        return label_array(self._labels)

    @property
    def coef_(self) -> Any:
        """Weights, of shape (1, features) for two labels, else (classes, features); see also `sparsify`."""
        return self._shown(self._weights()[1:].T)

    @property
    def intercept_(self) -> np.ndarray:
        return self._weights()[0]

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row: positive for the higher of two labels; with more labels, a column a label."""
        self._fitted()
        scores = self.score_rows(self.as_rows(X).check())
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @property
    def predict_proba(self) -> Callable[[Any], np.ndarray]:
        """The probability of each of two labels, 1 / (1 + e^-score), of a model learned by the logistic loss."""
        if self.loss != "logistic":
            raise AttributeError(
                f"{type(self).__name__} has no probabilities; CW, AROW, SCW and the logistic loss have"
            )
        if self._learner is not None and self._learner.classes > 1:
            raise AttributeError("with more than two labels the loss is that of the strongest rival: no probabilities")
        return self._logistic

    def _logistic(self, X: Any) -> np.ndarray:
        scores = self.decision_function(X)
        if len(self._labels) == 1:
            return np.ones((len(scores), 1))
        higher = np.exp(-np.logaddexp(0, -scores))
        return np.column_stack([1 - higher, higher])

    def decide(self, scores: np.ndarray) -> np.ndarray:
        if self._learner.classes == 1:
            return label_array([self._labels[0], self._labels[-1]])[(scores[:, 0] >= 0).astype(int)]
        seen = np.array(self.seen())
        return label_array(self._labels)[seen[np.argmax(scores[:, seen], axis=1)]]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows, or of their weight, whose label is predicted."""
        predicted = self.predict(X)
        return mean(predicted == check_targets(y, len(predicted)), sample_weight)

    def learn_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name, its label, and its importance as in `partial_fit`.

        A number is a value, a string s under key k the feature "k=s", a list or set of strings a bag of such features.
        """
        with self._lock:
            if weight is not ONE:
                weight = self._weight(weight)
            try:
                if type(y) not in PLAIN:  # 1 == Decimal(1): what is no label could be found as one
                    y = plain_label(y)
                reader = self._reader
                if reader is None:
                    reader = self._new_reader()
                code = self._codes.get(y)
                if code is None:
                    label = plain_label(y)
                    self._expect_label(label)
                    self._learner.admit(reader, x)  # refuses a bad example before its label is taken in
                    self._meet(label)
                    self._learner.learn_read(reader, self._codes[label], weight)
                else:
                    self._learner.learn_one(reader, x, code, weight)
            except BaseException:
                self._unstart()
                raise
        return self

    def progress_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Any:
        """Predict one example, then learn it: `predict_one` and `learn_one` in one call. Returns the prediction.

        A label that is known costs one look at the example.
        """
        with self._lock:
            if self._reader is None or y is None or (code := self._codes.get(plain_label(y))) is None:
                return super().progress_one(x, y, weight)
            if weight is not ONE:
                weight = self._weight(weight)
            return self._decided(self._learner.progress_one(self._reader, x, code, weight))

    def predict_one(self, x: dict[str, Any]) -> Any:
        """The label of one example; None as long as no label is known."""
        with self._lock:
            scores = self._score_one(x)
            return self._decided(scores) if self._codes else None

    def _decided(self, scores: Any) -> Any:
        """The label that the scores of one example stand for."""
        labels = self._labels
        if type(scores) is float:
            return labels[-1] if scores >= 0 else labels[0]
        return labels[max(self.seen(), key=lambda k: (scores[k], -k))]

    def score_one(self, x: dict[str, Any]) -> Any:
        """The score of one example; with more than two labels, a dict of them."""
        with self._lock:
            scores = self._score_one(x)
            return scores if isinstance(scores, float) else dict(zip(self._labels, scores, strict=True))

    # ---- state

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            codes = {label: self._codes[label] for label in self._labels if label in self._codes}
            return {**super().__getstate__(), "labels": self._labels, "codes": codes}

    def _restore_labels(self, state: dict[str, Any]) -> None:
        labels, codes = state["labels"], Codes([*state["codes"]], [*state["codes"].values()])
        source, factor = (np.full(len(labels), -1), np.zeros(len(labels))) if len(labels) > 2 else (None, None)
        entries = {"_labels": labels, "_codes": codes}
        told = self._told(labels, codes)
        self._learner.change_classes(vars(self), entries, source, factor, class_numbers(codes), told)


def class_numbers(codes: Codes) -> list[int]:
    """The numbers of the classes with these codes, ascending."""
    return sorted(map(int, codes.values.tolist()))
