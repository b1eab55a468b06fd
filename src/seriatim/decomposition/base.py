"""What decompositions show to users."""

from __future__ import annotations

from typing import Any

import numpy as np

from seriatim.core.values import plain_array
from seriatim.errors import DataError
from seriatim.estimator import Transformer


class Decomposition(Transformer):
    """A model that writes each row as a combination of its components."""

    family = "decomposition"
    components_: Any

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """The rows that have these coordinates."""
        components = self.components_
        return coordinates(Z, len(components)) @ components


class SubspaceModel(Decomposition):
    """A model whose learner is a `ComponentsLearner`."""

    @property
    def components_(self) -> np.ndarray:
        """The directions, one row each, in the order of their singular values. Directions not found yet are 0."""
        with self._lock:
            return self._seen().directions(self.n_columns)

    @property
    def singular_values_(self) -> np.ndarray:
        """The singular values, the largest first; 0 for directions not found yet."""
        with self._lock:
            return self._seen().values()


def coordinates(Z: Any, width: int) -> np.ndarray:
    """Check that Z holds `width` finite coordinates in each row."""
    Z = plain_array(Z, "the coordinates")
    if Z.ndim != 2 or Z.shape[1] != width:
        raise DataError(f"coordinates of shape {Z.shape}; they must have shape (rows, {width})")
    if Z.dtype.kind not in "fiub" or not np.isfinite(Z).all():
        raise DataError("the coordinates are not all finite numbers; transform gives coordinates")
    return Z
