"""Classifiers: labels of any type, which need not be declared."""

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
    """A binary or multiclass model. Labels have any type; new ones may appear at any time."""

    task = "classification"
    binary: ClassVar[bool] = False  # whether the method is limited to two labels
    classes: Any = Labels(None)

    # The numbers that stand for the seen labels in the learner. Like `_labels`, they are replaced when a label is
    # added, and never changed in place.
    _codes = Codes()

    # ---- new labels

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
        """Declare labels in advance: two for a binary model, more for a multiclass one. Unseen classes do not compete.

        held : the attributes of the untrained model, which get the labels.
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
        """The data that the learner needs about labels that will replace `_labels`; None if it needs none."""
        return None

    def _expect_label(self, label: Any) -> None:
        """Raise DataError if a label cannot be added."""
        known = self._labels
        if self.binary and len(known) == 2 and label not in known:
            raise DataError(
                f"the label {label!r} is a third one, after {known[0]!r} and {known[1]!r}. "
                f"Only binary classification is supported by {type(self).__name__}"
            )

    def _meet(self, label: Any) -> None:
        """Add a label that has not been seen before."""
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
            # Whether this will be the negative or the positive class is not known yet. Positive numbers are positive.
            codes = np.array([1.0 if not isinstance(label, str) and label > 0 else -1.0])
        elif len(known) == 2:
            turned = self._codes[labels[0]] != (1.0 if place == 0 else -1.0)
            codes = np.array([1.0, -1.0] if place == 0 else [-1.0, 1.0])
            if turned:
                source, factor = np.zeros(1, np.intp), np.array([-1.0])
        else:
            if len(labels) == 2:  # w becomes -w/2 for the negative and +w/2 for the positive class
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
        """Learn these rows in order, continuing from the last call. If a row is bad, none of them is learned.

        classes : in the first call, all labels of the stream, as in scikit-learn. They need not be given.
        sample_weight : a factor of the loss of each row, at least 0. A row of weight 0 counts as a round, but causes no
            update. Methods that do not define sample weights accept only 1.
        """
        return self._learn_array(X, y, sample_weight, classes=classes)

    def begin(self, rows: Rows, classes: Any = None) -> None:
        """Prepare to learn rows like these. `classes` has an effect only in the first call, as in scikit-learn."""
        self.parameters["classes"].check(f"{type(self).__name__}: classes", classes)
        if classes is not None and self.classes is not None and {*classes} != {*self.classes}:
            raise ParameterError(f"{type(self).__name__}: classes={self.classes!r}, but partial_fit got {classes!r}")
        super().begin(rows, classes=classes)

    def first_rows(self, y: Coded) -> list[int]:
        return [0, *(row for row in self._arrivals(y) if row)]

    def _arrivals(self, y: Coded) -> dict[int, Any]:
        """The unknown labels, by the row in which each occurs first, ascending."""
        if all(label in self._codes for label in y.labels):
            return {}
        numbers, places = np.unique(y.which, return_index=True)
        met = zip(places.tolist(), map(y.labels.__getitem__, numbers.tolist()), strict=True)
        return dict(sorted((place, label) for place, label in met if label not in self._codes))

    def _segments(self, y: Coded) -> Iterator[tuple[int, np.ndarray, bool]]:
        """Begin a segment at each new label, so that a run does not depend on the division of the stream into calls."""
        arrivals = self._arrivals(y)
        begins = [0, *(row for row in arrivals if row)]
        for begin, end in pairwise([*begins, len(y)]):
            if begin in arrivals:
                self._meet(arrivals[begin])
            if begin < end:
                yield begin, self._coded(y.labels, y.which[begin:end]), begin in arrivals

    def known_labels(self, fresh: bool = False) -> tuple[list[Any] | None, list[int], bool]:
        """See `Estimator.known_labels`. The labels -1 and 1 are never new: the sign of the score predicts them."""
        if len(self._labels) <= 2 and {*self._labels} <= {*SIGNS}:
            return SIGNS, [0, 1], False
        return self._labels, self.seen() if len(self._labels) > 2 else [*range(len(self._labels))], fresh

    def _coded(self, labels: list[Any], which: np.ndarray) -> np.ndarray:
        """The targets of rows as codes of the learner."""
        codes = np.full(len(labels), math.nan)
        for k in range(len(labels)) if len(labels) <= len(which) else {*which.tolist()}:
            codes[k] = self._codes.get(labels[k], math.nan)
        return targets_of(which, codes)

    @property
    def codes(self) -> dict[Any, float]:
        """The code of each seen label, ascending: -1 or 1 in a binary model, a class number in a multiclass one."""
        return {label: self._codes[label] for label in self._labels if label in self._codes}

    def seen(self) -> list[int]:
        """The numbers of the seen classes, ascending. Only these compete."""
        return class_numbers(self._codes)

    # ---- predictions

    @property
    def classes_(self) -> np.ndarray:
        """The labels, ascending: declared or seen."""
        self._begun()
        return label_array(self._labels)

    @property
    def coef_(self) -> Any:
        """The weights, of shape (1, features) if binary, else (classes, features). See also `sparsify`."""
        return self._shown(self._weights()[1:].T)

    @property
    def intercept_(self) -> np.ndarray:
        return self._weights()[0]

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row: positive for the positive class; multiclass: a column per label."""
        self._fitted()
        scores = self.score_rows(self.as_rows(X).check())
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @property
    def predict_proba(self) -> Callable[[Any], np.ndarray]:
        """The probabilities of the two labels, 1 / (1 + e^-score), for models with the logistic loss."""
        if self.loss != "logistic":
            raise AttributeError(f"{type(self).__name__} has no probabilities; use CW, AROW, SCW or the logistic loss")
        if self._learner is not None and self._learner.classes > 1:
            raise AttributeError("a multiclass model has no probabilities: its loss uses only the strongest rival")
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
        """The accuracy, weighted by `sample_weight`."""
        predicted = self.predict(X)
        return mean(predicted == check_targets(y, len(predicted)), sample_weight)

    def learn_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name, a label, and a sample weight as in `partial_fit`.

        A number is the value of a feature. A string s under key k is the feature "k=s". A list or set of strings is a
        bag of such features.
        """
        with self._lock:
            if weight is not ONE:
                weight = self._weight(weight)
            first = self._learner is None
            try:
                if type(y) not in PLAIN:  # 1 == Decimal(1), which is not a label
                    y = plain_label(y)
                reader = self._reader
                if reader is None:
                    reader = self._new_reader()
                code = self._codes.get(y)
                if code is None:
                    label = plain_label(y)
                    self._expect_label(label)
                    self._learner.admit(reader, x)  # refuses a bad example before its label is added
                    self._meet(label)
                    self._learner.learn_read(reader, self._codes[label], weight)
                else:
                    self._learner.learn_one(reader, x, code, weight)
            except BaseException:
                if first:  # a successor knows names and labels before its first example
                    self._unstart()
                raise
        return self

    def progress_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Any:
        """Predict one example, then learn it: `predict_one` and `learn_one` in one call. Returns the prediction.

        If the label is known, the example is encoded only once.
        """
        with self._lock:
            if self._reader is None or y is None or (code := self._codes.get(plain_label(y))) is None:
                return super().progress_one(x, y, weight)
            if weight is not ONE:
                weight = self._weight(weight)
            return self._decided(self._learner.progress_one(self._reader, x, code, weight))

    def predict_one(self, x: dict[str, Any]) -> Any:
        """The predicted label of one example; None if no label is known."""
        with self._lock:
            scores = self._score_one(x)
            return self._decided(scores) if self._codes else None

    def _decided(self, scores: Any) -> Any:
        """The label that the scores of one example predict."""
        labels = self._labels
        if type(scores) is float:
            return labels[-1] if scores >= 0 else labels[0]
        return labels[max(self.seen(), key=lambda k: (scores[k], -k))]

    def score_one(self, x: dict[str, Any]) -> Any:
        """The score of one example; multiclass: a dict of scores by label."""
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
