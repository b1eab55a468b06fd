"""Regressors: targets are numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from seriatim.core.rows import LIMIT
from seriatim.core.values import real_array
from seriatim.errors import DataError
from seriatim.estimator.base import ONE, Estimator, mean
from seriatim.estimator.inputs import (
    check_kind,
    check_targets,
    no_number,
    plain_target,
)


class Regressor(Estimator):
    """A learner of numbers."""

    task = "regression"

    @property
    def coef_(self) -> Any:
        """Weights, one a feature; see also `sparsify`."""
        return self._shown(self._weights()[1:, 0])

    @property
    def intercept_(self) -> float:
        return float(self._weights()[0, 0])

    def as_targets(self, y: Any, n: int) -> np.ndarray:
        y = check_targets(y, n)
        try:
            check_kind(y.dtype)
            y = real_array(y)
        except (TypeError, ValueError, OverflowError):
            raise no_number(y) from None
        bad = np.flatnonzero(~(np.abs(y) <= LIMIT))
        if len(bad):
            raise DataError(f"row {bad[0]}: the target {y[bad[0]]} is NaN, inf, or beyond +-{LIMIT:g}")
        return y

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from these rows, one after another, where the last call ended; all of them or, if one is bad, none.

        `sample_weight` is the importance of each row, at least 0: its loss counts so often, in one step. A row of
        weight 0 takes no step but is a round. A method that does not define importance takes no weight but 1.
        """
        return self._learn_array(X, y, sample_weight)

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2: 1 less the squared error over that of the mean; for equal targets 1 or, with any error, 0."""
        predicted = self.predict(X)
        y = self.as_targets(y, len(predicted))
        error = mean((y - predicted) ** 2, sample_weight)
        spread = mean((y - mean(y, sample_weight)) ** 2, sample_weight)
        return 1 - error / spread if spread else float(error == 0)

    def learn_one(self, x: dict[str, Any], y: float, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name, its target, and its importance as in `partial_fit`."""
        return self._learn_number(x, plain_target(y), weight)

    def predict_one(self, x: dict[str, Any]) -> float:
        with self._lock:
            return self._score_one(x)

    score_one = predict_one

    def progress_one(self, x: dict[str, Any], y: float, weight: float = ONE) -> float:
        """Predict one example, then learn it: `predict_one` and `learn_one` in one call. Returns the prediction."""
        with self._lock:
            if self._reader is None:
                return super().progress_one(x, y, weight)
            if weight is not ONE:
                weight = self._weight(weight)
            return self._learner.progress_one(self._reader, x, plain_target(y), weight)
