"""A stream as the learner saw it, round by round: what regret and the bounds of the papers are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seriatim.core.judge import judge_numbers
from seriatim.core.rows import Rows
from seriatim.data.cache import sparse
from seriatim.errors import DataError
from seriatim.estimator import Estimator
from seriatim.evaluate.best import sparse_matrix, with_constant
from seriatim.inputs import check_targets
from seriatim.labels import coded, label_order


class TooManyLabels(DataError):
    """There are more than two labels."""


@dataclass
class Rounds:
    """The rows with their constant feature and their scaling, the targets, and what was predicted before each."""

    model: Estimator  # as it is in the end
    A: Any
    y: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    @property
    def labelled(self) -> bool:
        """Whether the targets are labels, -1 and +1."""
        return self.model.task == "classification"

    @cached_property
    def margins(self) -> np.ndarray:
        return self.y * self.scores

    @cached_property
    def z(self) -> np.ndarray:
        """What the losses are functions of."""
        return 1 - self.margins if self.labelled else self.y - self.scores

    @cached_property
    def norms(self) -> np.ndarray:
        """|x| of each row."""
        return np.sqrt(self.squares)

    @cached_property
    def squares(self) -> np.ndarray:
        return np.asarray((self.A**2).sum(axis=1))

    @cached_property
    def largest(self) -> np.ndarray:
        """|x|_inf of each row."""
        top = abs(self.A).max(axis=1)
        return top if isinstance(top, np.ndarray) else top.toarray().reshape(-1)

    def powers(self, p: float) -> np.ndarray:
        """|x|_p of each row."""
        top = np.maximum(self.largest, 1e-300)
        scaled = self.A / top[:, None] if isinstance(self.A, np.ndarray) else self.A.multiply(1 / top[:, None])
        return top * np.asarray((abs(scaled) ** p).sum(axis=1)).reshape(-1) ** (1 / p)

    def losses(self, name: str) -> np.ndarray:
        """The sums of a loss up to each round."""
        z = np.ascontiguousarray(self.z)
        return np.cumsum(judge_numbers(name, z, np.zeros((len(z), 1)), self.model.epsilon))

    def of(self, u: np.ndarray) -> np.ndarray:
        """z, if u had predicted all along."""
        return 1 - self.y * (self.A @ u) if self.labelled else self.y - self.A @ u


def rounds(model: Estimator, X: Any, y: Any = None) -> Rounds:
    """Run a new model with the parameters of this one over a stream, which is kept in memory.

    >>> from seriatim import Perceptron
    >>> run = rounds(Perceptron(), [[4, 0], [1, 1], [0, 1], [-2, -2]], [1, -1, -1, 1])
    >>> run.scores.tolist(), run.A.tolist()[0]
    ([0.0, 5.0, -1.0, -4.0], [1.0, 4.0, 0.0])
    """
    parameters = model.get_params()
    if y is None:
        from seriatim.data import Stream

        stream = X if isinstance(X, Stream) else Stream(X)
        rows, y = in_memory(stream)
        how = getattr(stream, "features", None)
        if parameters["features"] is None and how is not None and how.as_dict():
            parameters["features"] = how
    else:
        rows = None
    fresh = type(model)(**parameters)
    rows = fresh._rows(X).check() if rows is None else rows
    if model.task == "classification":
        labels = coded(check_targets(y, rows.n))
        known = {labels.labels[k] for k in np.unique(labels.which)} | {*(parameters["classes"] or ())}
        if len(known) > 2:
            raise TooManyLabels(f"{len(known)} labels: regret and its bounds are for two labels, or for numbers")
        if len(known) == 2:  # which of them is -1 is then known from the first example on
            fresh = type(model)(**{**parameters, "classes": sorted(known, key=label_order)})
    elif model.task != "regression":
        raise DataError(f"{type(model).__name__} predicts neither labels nor numbers: it has no regret")
    return learned(fresh, rows, y)


def learned(model: Any, rows: Rows, y: Any) -> Rounds:
    """The rounds of a new model over checked rows."""
    coded_targets = model._targets(y, rows.n)
    model._begin(rows)
    own = model._own(rows, learning=True)
    targets, scores = np.empty(rows.n), np.empty(rows.n)
    for start, some, _ in model._stretches(coded_targets):
        out = np.empty((len(some), 1))
        model._columns = max(model._columns, own.features)
        model._learner.learn_rows(own, some, out, start)
        targets[start : start + len(some)], scores[start : start + len(some)] = some, out[:, 0]
    arrays: Any = own.arrays
    A = arrays[0] if len(arrays) == 1 else sparse_matrix(sparse(own), own.features)
    return Rounds(model, with_constant(A) if model.fit_intercept else A, targets, scores)


def in_memory(stream: Any) -> tuple[Rows, np.ndarray]:
    """All of a stream."""
    (start, index, value), y, _, weights = stream.arrays()
    if (weights != 1).any():
        raise DataError("the stream has importance weights, for which regret and bounds are not defined here")
    columns = int(index.max(initial=-1)) + 1
    return Rows.sparse(start, index, value, max(columns, 1)).in_any_order().check(), y
