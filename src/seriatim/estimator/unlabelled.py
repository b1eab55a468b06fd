"""Models that learn without labels: novelty detectors and transformers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from seriatim.core import loop
from seriatim.core.rows import Rows
from seriatim.estimator.base import ONE, Absent, Estimator, mean
from seriatim.estimator.inputs import (
    check_targets,
)


class Unlabelled(Estimator):
    """A model that learns without targets. Targets are accepted and ignored."""

    labelled = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Restart untrained and learn these rows in one pass."""
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn these rows in order, continuing from the last call. If a row is bad, none of them is learned."""
        return self._learn_array(X, y, sample_weight)

    def as_targets(self, y: Any, n: int) -> np.ndarray:
        if y is not None:
            check_targets(y, n)
        return np.zeros(n)

    def learn_one(self, x: dict[str, Any], y: Any = None, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name."""
        return self._learn_number(x, 0.0, weight)

    def score_one(self, x: dict[str, Any]) -> float:
        with self._lock:
            return self._score_one(x)


class NoveltyDetector(Unlabelled):
    """A model of normal examples. Scores are positive for normal examples and negative for novel ones."""

    task = "novelty"
    radius_: float

    @property
    def coef_(self) -> Any:
        """The coordinates of the centre, one per feature. See also `sparsify`."""
        return self._shown(self._weights()[1:, 0])

    @property
    def intercept_(self) -> float:
        """The centre's coordinate of the constant feature."""
        return float(self._weights()[0, 0])

    @property
    def offset_(self) -> float:
        """The offset: decision_function = score_samples - offset_."""
        return -self.radius_

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row: the distance inside the boundary, negative outside."""
        self._fitted()
        return self.score_rows(self.as_rows(X).check())[:, 0]

    def score_samples(self, X: Any) -> np.ndarray:
        """The negative distance of each row from the centre."""
        return self.decision_function(X) + self.offset_

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return np.where(scores[:, 0] >= 0, 1, -1)

    def predict_one(self, x: dict[str, Any]) -> int:
        """Return 1 for a normal example, -1 for a novel one."""
        return 1 if self.score_one(x) >= 0 else -1


class Transformer(Unlabelled):
    """A model that learns a representation and transforms rows. The score of a row is its loss, at least 0."""

    task = "representation"
    loss = "absolute"  # |score - 0|, which is the score
    fit_intercept = False  # there is no constant feature
    sparsify = densify = n_nonzero_ = sparsity_ = Absent()  # type: ignore[assignment]
    predict = Absent("predictions; call `transform` for transformed rows")  # type: ignore[assignment]

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0]

    def _seen(self, rows: int = 0) -> Any:
        """The learner after all rows so far, including rows that wait in a batch. `rows` rows will be transformed."""
        return self._fitted().settled(rows)

    def score_rows(self, rows: Rows) -> np.ndarray:
        """The losses of checked rows."""
        with self._lock:
            learner = self._learner if rows.encoded else self._seen(rows.n)
            return loop.score(learner, self._own(rows, learning=False))

    def transform(self, X: Any) -> np.ndarray:
        """Transform rows to coordinates with respect to `components_`."""
        self._fitted()
        return self.transform_rows(self.as_rows(X).check())

    def transform_rows(self, rows: Rows) -> np.ndarray:
        """Transform checked rows."""
        with self._lock:
            self._fitted()
            return loop.transform(self._seen(rows.n), self._own(rows, learning=False))

    def transform_one(self, x: dict[str, Any]) -> np.ndarray:
        """Transform one example."""
        with self._lock:
            self._fitted()
            return self._seen().code_one(self._known_reader(), x)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Restart untrained, learn these rows in one pass, then transform them."""
        return self.fit(X, y, sample_weight).transform(X)

    def score_samples(self, X: Any) -> np.ndarray:
        """The negative loss of each row."""
        self._fitted()
        return -self.score_rows(self.as_rows(X).check())[:, 0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean of the negative losses. Larger is better."""
        return mean(self.score_samples(X), sample_weight)

    def score_one(self, x: dict[str, Any]) -> float:
        """The loss of one example; 0 for an untrained model."""
        with self._lock:
            if self._learner is None or self._learner.t == 0:
                return 0.0
            return self._seen().score_one(self._known_reader(), x)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns of transformed rows."""
        count = loop.transform(self._seen(), Rows.dense(np.zeros((1, max(self.n_columns, 1)))).check()).shape[1]
        return np.array([f"{type(self).__name__.lower()}{k}" for k in range(count)], dtype=object)
