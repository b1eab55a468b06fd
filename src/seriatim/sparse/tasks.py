"""The base class of classifiers that learn several tasks, with separate weights for each task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from seriatim.core.values import plain_array
from seriatim.errors import DataError
from seriatim.estimator import ONE, Classifier, mean
from seriatim.estimator.inputs import check_targets
from seriatim.labels import Coded
from seriatim.parameters import Number


class LabelsAndTasks(NamedTuple):
    """The labels and the tasks of some rows, as the user passes them."""

    y: Any
    tasks: Any


@dataclass(frozen=True, slots=True)
class Tasks(Coded):
    """The labels and the tasks of some rows, checked."""

    tasks: np.ndarray

    def __getitem__(self, rows: slice) -> Tasks:
        return Tasks(self.labels, self.which[rows], self.tasks[rows])


class MultiTask(Classifier):
    """A classifier with several tasks. Each example belongs to one task, by default to task 0.

    `tasks` is the third argument of `partial_fit` and `fit`, before the arguments that are used less.
    """

    binary = True
    fixed = (*Classifier.fixed, "n_tasks")
    n_tasks: Any = Number(least=1, below=10**9, integer=True)

    def _numbers(self, tasks: Any, n: int) -> np.ndarray:
        """The tasks of n rows, checked."""
        numbers = plain_array(tasks, "the tasks")
        if numbers.shape != (n,):
            raise DataError(f"the tasks have shape {numbers.shape}; {n} rows need the shape ({n},)")
        if numbers.dtype.kind not in "iuf":
            raise DataError(f"the tasks have type {numbers.dtype}; they must be whole numbers")
        bad = np.flatnonzero(~((numbers >= 0) & (numbers < self.n_tasks) & (numbers == np.floor(numbers))))
        if len(bad):
            raise DataError(f"row {bad[0]}: task {numbers[bad[0]]} must be a whole number below {self.n_tasks}")
        return np.ascontiguousarray(numbers, dtype=np.intp)

    # ---- arrays

    def fit(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learn from these rows alone, in one pass. The arguments are those of `partial_fit`."""
        with self._lock:
            return self._become(self.fresh().partial_fit(X, y, tasks, sample_weight=sample_weight))

    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any, tasks: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Continue to learn from these rows, one after another. If one row is bad, none is learned.

        `tasks` has the task number of each row, from 0 on; without it all rows belong to task 0. `classes` and
        `sample_weight` are as for every classifier.
        """
        return self._learn_array(X, LabelsAndTasks(y, tasks), sample_weight, classes=classes)

    def as_targets(self, y: Any, n: int) -> Coded:
        given = y if isinstance(y, LabelsAndTasks) else LabelsAndTasks(y, None)
        labels = super().as_targets(given.y, n)
        if given.tasks is None:
            return labels
        self.check()
        return Tasks(labels.labels, labels.which, self._numbers(given.tasks, n))

    def _segments(self, y: Coded) -> Iterator[tuple[int, np.ndarray, bool]]:
        for start, targets, fresh in super()._segments(y):
            if isinstance(y, Tasks):
                self._learner.tell(y.tasks[start : start + len(targets)])
            yield start, targets, fresh

    def _scores(self, X: Any, tasks: Any) -> np.ndarray:
        self._fitted()
        rows = self.as_rows(X).check()
        numbers = None if tasks is None else self._numbers(tasks, rows.n)
        with self._lock:
            self._learner.tell(numbers)
            try:
                return self.score_rows(rows)
            finally:
                self._learner.tell(None)

    def decision_function(self, X: Any, tasks: Any = None) -> np.ndarray:
        """The score of each row by the weights of its task; positive for the positive class."""
        return self._scores(X, tasks)[:, 0]

    def predict(self, X: Any, tasks: Any = None) -> np.ndarray:
        """The predicted label of each row by the weights of its task."""
        with self._lock:
            return self.decide(self._scores(X, tasks))

    def _logistic(self, X: Any, tasks: Any = None) -> np.ndarray:
        higher = np.exp(-np.logaddexp(0, -self.decision_function(X, tasks)))
        return np.column_stack([1 - higher, higher]) if len(self._labels) > 1 else np.ones((len(higher), 1))

    def score(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> float:
        """The accuracy on these rows, weighted if there are sample weights."""
        predicted = self.predict(X, tasks)
        return mean(predicted == check_targets(y, len(predicted)), sample_weight)

    # ---- one example

    @contextmanager
    def _at(self, task: Any, learning: bool = False) -> Iterator[None]:
        """Make `task` the current task of the learner."""
        with self._lock:
            if type(task) is not int or task != 0:  # 0 is the default of the learner
                self.check()
                task = int(self._numbers([task], 1)[0])
                if learning:
                    self._start()
            if self._learner is not None:
                self._learner.task = task
            try:
                yield
            finally:
                if self._learner is not None:
                    self._learner.task = 0

    def learn_one(self, x: dict[str, Any], y: Any, weight: float = ONE, *, task: int = 0) -> Self:
        """Learn one example: a dict of features by name, its label, its sample weight and its task number."""
        with self._at(task, learning=True):
            try:
                return super().learn_one(x, y, weight)
            except BaseException:
                self._unstart()
                raise

    def predict_one(self, x: dict[str, Any], task: int = 0) -> Any:
        """The predicted label of one example of a task; None before the first label."""
        with self._at(task):
            return super().predict_one(x)

    def score_one(self, x: dict[str, Any], task: int = 0) -> Any:
        """The score of one example of a task."""
        with self._at(task):
            return super().score_one(x)
