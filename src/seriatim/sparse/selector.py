"""Feature selectors for scikit-learn's pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seriatim.core.values import plain_array, shown
from seriatim.errors import DataError
from seriatim.estimator.inputs import is_frame

if TYPE_CHECKING:
    from seriatim.estimator import Classifier as Base
else:
    Base = object


class Selector(Base):
    """A classifier that selects at most k features, with the methods of scikit-learn's selectors."""

    @property
    def selected_features_(self) -> np.ndarray:
        """The names of the features with a weight, or their column numbers if columns have no names."""
        columns = self.get_support(indices=True)
        return columns if self._vocabulary is None else self.feature_names_in_[columns]

    def get_support(self, indices: bool = False) -> np.ndarray:
        """A mask of the columns with a weight; with `indices` their numbers."""
        support = np.asarray(self._weights()[1 : 1 + self.n_columns].any(axis=1))
        return np.flatnonzero(support) if indices else support

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the selected columns; x0, x1, ... for columns without names."""
        names = input_features
        if names is None:
            names = [f"x{j}" for j in range(self.n_columns)] if self._vocabulary is None else self.feature_names_in_
        elif np.ndim(names := plain_array(names, "input_features")) != 1:
            raise DataError(f"input_features={shown(input_features)}: must be a list of names")
        elif len(names) != self.n_columns:
            raise DataError(f"input_features has {len(names)} names; the model knows {self.n_columns} columns")
        return np.asarray(names, dtype=object)[self.get_support()]

    def transform(self, X: Any) -> Any:
        """The selected columns of X: sparse if X is sparse, an array if X is a data frame."""
        self._fitted()
        rows, columns = self.as_rows(X).check(), self.get_support(indices=True)
        if not is_frame(X):
            return X.tocsr()[:, columns] if hasattr(X, "tocsr") else np.asarray(X)[:, columns]
        if self._vocabulary is not None and rows.names is not None:
            rows = self._vocabulary.translate(rows, False)
        arrays = rows.arrays
        if len(arrays) == 1:
            return arrays[0][:, columns]
        start, index, value = arrays
        place = np.full(max(self.n_columns, rows.features), -1)
        place[columns] = np.arange(len(columns))
        out, chosen = np.zeros((len(rows), len(columns))), place[index] >= 0
        out[np.repeat(np.arange(len(rows)), np.diff(start))[chosen], place[index[chosen]]] = value[chosen]
        return out

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from these rows alone, and return their selected columns."""
        return self.fit(X, y, sample_weight).transform(X)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags
