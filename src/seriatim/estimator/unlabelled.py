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
    """A learner from examples alone; targets, if there are any, are not looked at."""

    labelled = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget all and learn from these rows, in one pass."""
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows, one after another, where the last call ended; all of them or, if one is bad, none."""
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
    """A learner of what is usual. Scores are positive for what is."""

    task = "novelty"
    radius_: float

    @property
    def coef_(self) -> Any:
        """The centre, one number a feature; see also `sparsify`."""
        return self._shown(self._weights()[1:, 0])

    @property
    def intercept_(self) -> float:
        """The centre's coordinate of the constant feature."""
        return float(self._weights()[0, 0])

    @property
    def offset_(self) -> float:
        """decision_function is score_samples less this."""
        return -self.radius_

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row: how far it is inside, negative outside."""
        self._fitted()
        return self.score_rows(self.as_rows(X).check())[:, 0]

    def score_samples(self, X: Any) -> np.ndarray:
        """The negative distance of each row from the centre."""
        return self.decision_function(X) + self.offset_

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return np.where(scores[:, 0] >= 0, 1, -1)

    def predict_one(self, x: dict[str, Any]) -> int:
        """1 for what is usual, else -1."""
        return 1 if self.score_one(x) >= 0 else -1


class Transformer(Unlabelled):
    """A learner of a shorter form of its rows. The score of a row is its loss, at least 0."""

    task = "representation"
    loss = "absolute"  # of a score beside 0: the score
    fit_intercept = False  # there is no constant feature
    sparsify = densify = n_nonzero_ = sparsity_ = Absent()  # type: ignore[assignment]
    predict = Absent("predictions; `transform` gives what rows become")  # type: ignore[assignment]

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0]

    def _seen(self, rows: int = 0) -> Any:
        """The learner as users see it: what has come of all rows so far; `rows` are about to be looked at."""
        return self._fitted().settled(rows)

    def score_rows(self, rows: Rows) -> np.ndarray:
        """The losses of checked rows."""
        with self._lock:
            learner = self._learner if rows.encoded else self._seen(rows.n)
            return loop.score(learner, self._own(rows, learning=False))

    def transform(self, X: Any) -> np.ndarray:
        """What each row becomes: its coordinates by `components_`."""
        self._fitted()
        return self.transform_rows(self.as_rows(X).check())

    def transform_rows(self, rows: Rows) -> np.ndarray:
        """What checked rows become."""
        with self._lock:
            self._fitted()
            return loop.transform(self._seen(rows.n), self._own(rows, learning=False))

    def transform_one(self, x: dict[str, Any]) -> np.ndarray:
        """What one example becomes."""
        with self._lock:
            self._fitted()
            return self._seen().code_one(self._known_reader(), x)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Forget all, learn from these rows, and transform them by what was learned from all of them."""
        return self.fit(X, y, sample_weight).transform(X)

    def score_samples(self, X: Any) -> np.ndarray:
        """The negative loss of each row."""
        self._fitted()
        return -self.score_rows(self.as_rows(X).check())[:, 0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean of the negative losses: the larger, the better."""
        return mean(self.score_samples(X), sample_weight)

    def score_one(self, x: dict[str, Any]) -> float:
        """The loss of one example; 0 before the first."""
        with self._lock:
            if self._learner is None or self._learner.t == 0:
                return 0.0
            return self._seen().score_one(self._known_reader(), x)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """A name for each number that a row becomes."""
        count = loop.transform(self._seen(), Rows.dense(np.zeros((1, max(self.n_columns, 1)))).check()).shape[1]
        return np.array([f"{type(self).__name__.lower()}{k}" for k in range(count)], dtype=object)
