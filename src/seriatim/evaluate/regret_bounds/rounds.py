"""A stream as the learner saw it, round by round: the data from which regret and bounds are computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from seriatim.core.loop import Scores
from seriatim.core.rows import Rows
from seriatim.data.cache import sparse
from seriatim.data.stream import Stream, is_paths
from seriatim.errors import DataError, ParameterError
from seriatim.estimator import Estimator
from seriatim.estimator.inputs import check_targets
from seriatim.evaluate.judge import judge_rows
from seriatim.evaluate.progressive import checked_blocks
from seriatim.evaluate.regret_bounds.best_fixed import sparse_matrix, with_constant
from seriatim.labels import coded, label_order


class TooManyLabels(DataError):
    """The stream has more than two labels."""


@dataclass
class Rounds:
    """The rows, scaled and with the constant feature, the targets, and the score before each update."""

    model: Estimator  # after the last round
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
        """The margins, or the residuals of numbers: the argument of the losses."""
        return 1 - self.margins if self.labelled else self.y - self.scores

    @cached_property
    def norms(self) -> np.ndarray:
        """The norm of each row."""
        return np.sqrt(self.squares)

    @cached_property
    def squares(self) -> np.ndarray:
        return np.asarray((self.A**2).sum(axis=1))

    @cached_property
    def largest(self) -> np.ndarray:
        """The maximum norm of each row."""
        top = abs(self.A).max(axis=1)
        return top if isinstance(top, np.ndarray) else top.toarray().reshape(-1)

    def powers(self, p: float) -> np.ndarray:
        """The p-norm of each row."""
        top = np.maximum(self.largest, 1e-300)
        scaled = self.A / top[:, None] if isinstance(self.A, np.ndarray) else self.A.multiply(1 / top[:, None])
        return top * np.asarray((abs(scaled) ** p).sum(axis=1)).reshape(-1) ** (1 / p)

    def losses(self, name: str) -> np.ndarray:
        """The cumulative loss after each round."""
        z = np.ascontiguousarray(self.z)
        return np.cumsum(judge_rows(name, z, np.zeros((len(z), 1)), self.model.epsilon)[2])

    def of(self, u: np.ndarray) -> np.ndarray:
        """The margins or residuals of a fixed model u."""
        return 1 - self.y * (self.A @ u) if self.labelled else self.y - self.A @ u


def rounds(model: Estimator, X: Any, y: Any = None) -> Rounds:
    """Run a new model with the same parameters over a stream, which is kept in memory.

    >>> from seriatim import Perceptron
    >>> run = rounds(Perceptron(), [[4, 0], [1, 1], [0, 1], [-2, -2]], [1, -1, -1, 1])
    >>> run.scores.tolist(), run.A.tolist()[0]
    ([0.0, 5.0, -1.0, -4.0], [1.0, 4.0, 0.0])
    """
    fresh, rows, y = begun(model, X, y)
    if model.task == "classification":
        parameters = fresh.get_params()
        labels = coded(check_targets(y, rows.n))
        known = {labels.labels[k] for k in np.unique(labels.which)} | {*(parameters["classes"] or ())}
        if len(known) > 2:
            raise TooManyLabels(f"{len(known)} labels: regret and its bounds are for two labels, or for numbers")
        if len(known) == 2:  # so that it is known from the first example on which label is -1
            fresh = type(model)(**{**parameters, "classes": sorted(known, key=label_order)})
    elif model.task != "regression":
        raise DataError(f"{type(model).__name__} predicts neither labels nor numbers, so it has no regret")
    return learned(fresh, rows, y)


def begun(model: Any, X: Any, y: Any = None) -> tuple[Any, Rows, Any]:
    """A new model with the same parameters, and the checked rows and targets of a whole stream."""
    expect_model(model)
    parameters = model.get_params()
    rows = None
    if y is None:
        stream = as_stream(model, X)
        rows, y = in_memory(stream)
        how = getattr(stream, "features", None)
        if parameters["features"] is None and how is not None and how.as_dict():
            parameters["features"] = how
    fresh = type(model)(**parameters)
    return fresh, fresh.as_rows(X).check() if rows is None else rows, y


def expect_model(model: Any) -> None:
    if not isinstance(model, Estimator):
        raise ParameterError(f"{model!r} is not a model, such as PA()")


def as_stream(model: Any, X: Any) -> Stream:
    """A stream from anything that `data.stream` takes."""
    if isinstance(X, Stream | str | PathLike) or is_paths(X):
        return X if isinstance(X, Stream) else Stream(X)
    return Stream([(rows, y) for rows, y, _ in checked_blocks(model, X)])


def committee_rounds(model: Any, rows: Rows, y: Any, places: Iterable[int]) -> Iterator[int]:
    """Let a new model over learners as experts learn up to each checkpoint."""
    targets, begin = model.as_targets(y, rows.n), 0
    model.begin(rows)
    for place in places:
        model.learn_rows(rows.slice(begin, place), targets[begin:place])
        yield (begin := place)


def learned(model: Any, rows: Rows, y: Any) -> Rounds:
    """The rounds of a new model over checked rows."""
    targets = model.as_targets(y, rows.n)
    model.begin(rows)
    own, seen = model.encoded(rows), Scores()
    model.learn_rows(own, targets, seen)
    y, scores = (np.concatenate(parts) for parts in list(zip(*seen.segments, strict=True))[3:])
    return Rounds(model, matrix_of(model, own), y, scores[:, 0])


def matrix_of(model: Any, own: Rows) -> Any:
    """Encoded rows as an array or a sparse matrix, with the constant feature if the model has one."""
    arrays: Any = own.arrays
    A = arrays[0] if len(arrays) == 1 else sparse_matrix(sparse(own), own.features)
    return with_constant(A) if model.fit_intercept else A


def in_memory(stream: Any) -> tuple[Rows, np.ndarray]:
    """All rows and targets of a stream."""
    (start, index, value), y, _, weights = stream.arrays()
    if (weights != 1).any():
        raise DataError("the stream has importance weights, for which regret and bounds are not defined here")
    columns = int(index.max(initial=-1)) + 1
    return Rows.sparse(start, index, value, max(columns, 1)).in_any_order().check(), y
