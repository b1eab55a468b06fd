"""Regret and bounds of the algorithms of a comparison, on its first permutation."""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from typing import Any

import numpy as np

from seriatim.evaluate.comparison.competitors import Competitor
from seriatim.evaluate.comparison.dataset import Dataset
from seriatim.evaluate.regret_bounds.rounds import Rounds, matrix_of, rounds
from seriatim.experts.base import Experts

MOST_FEATURES = 1500  # with more features a slower method finds the best fixed model


def why_none(examples: Dataset, most: int) -> str | None:
    """Why regret is not computed for this data set; None if it is. `most` is the largest number of values."""
    if importlib.util.find_spec("scipy") is None:
        return "needs SciPy (pip install 'seriatim[report]')"
    if examples.labels is not None and len(examples.labels) != 2:
        return "is for two labels, or for numbers"
    if examples.weights is not None:
        return "is not defined where examples have weights"
    if examples.features > MOST_FEATURES or examples.nonzeros > most:
        return f"takes long beyond {MOST_FEATURES:,} features or {most:,} values; --regret allows more"
    return None


class Promises:
    """Computes regret and bounds of algorithms; the best fixed model is computed once for all of them."""

    def __init__(self, examples: Dataset, seed: int) -> None:
        from scipy.sparse import csr_matrix

        order = examples.order(0, seed)
        if len(examples.arrays) == 1:
            self.X: Any = examples.arrays[0][order]
        else:
            start, index, value = examples.arrays
            self.X = csr_matrix((value, index, start), (examples.n, examples.features))[order]
        self.y = np.asarray(examples.y)[order]
        targets = examples.some_targets(order)
        self.targets = targets if examples.labels is None else np.where(targets.which == 1, 1.0, -1.0)
        self.matrices: dict[Any, Any] = {}  # the rows, by scaling and intercept
        self.known: dict[Any, dict[Any, Any]] = defaultdict(dict)  # by scaling

    def of(self, competitor: Competitor, first: tuple[Any, np.ndarray] | None) -> dict[str, Any]:
        """Regret at checkpoints and bounds, as plain data.

        first : the model that ran over the first permutation, and the margins or numbers that it predicted.
        """
        from seriatim.evaluate.regret_bounds.bounds import bounds, bounds_of, without_average
        from seriatim.evaluate.regret_bounds.regret import regret, regret_of

        model = competitor.fresh()
        known = self.known[model.features_.normalize]
        if isinstance(model, Experts):
            found = regret(model, self.X, self.y)
            return {"regret": found.as_dict(), "bounds": [one.as_dict() for one in bounds(model, self.X, self.y)]}
        run = rounds(model, self.X, self.y) if first is None else self.rounds_of(*first)
        found = regret_of(model, run, known=known)
        bare = without_average(model)
        if bare.get_params() != model.get_params():
            run = rounds(bare, self.X, self.y)
        return {"regret": found.as_dict(), "bounds": [one.as_dict() for one in bounds_of(model, run, found.radius)]}

    def rounds_of(self, model: Any, predicted: np.ndarray) -> Rounds:
        """The rounds of a model that has learned the rows, from its margins or predicted numbers."""
        key = model.features_.normalize, model.fit_intercept
        if key not in self.matrices:
            fresh = model.fresh()
            self.matrices[key] = matrix_of(fresh, fresh.encoded(fresh.as_rows(self.X).check()))
        labelled = model.task == "classification"
        return Rounds(model, self.matrices[key], self.targets, self.targets * predicted if labelled else predicted)
