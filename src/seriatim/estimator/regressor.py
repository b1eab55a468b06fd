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
    """A model that predicts numbers."""

    task = "regression"

    @property
    def coef_(self) -> Any:
        """The weights, one per feature. See also `sparsify`."""
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
            raise DataError(f"row {bad[0]}: expected a finite target within +-{LIMIT:g}, found {y[bad[0]]}")
        return y

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn these rows in order, continuing from the last call. If a row is bad, none of them is learned.

        sample_weight : a factor of the loss of each row, at least 0. A row of weight 0 counts as a round, but causes no
            update. Methods that do not define sample weights accept only 1.
        """
        return self._learn_array(X, y, sample_weight)

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 = 1 - (squared error) / (squared error of the mean). For equal targets: 1 without error, else 0."""
        predicted = self.predict(X)
        y = self.as_targets(y, len(predicted))
        error = mean((y - predicted) ** 2, sample_weight)
        spread = mean((y - mean(y, sample_weight)) ** 2, sample_weight)
        return 1 - error / spread if spread else float(error == 0)

    def learn_one(self, x: dict[str, Any], y: float, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name, a target, and a sample weight as in `partial_fit`."""
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
