"""What the papers promise of the algorithms of a comparison: regret and bounds, on its first permutation."""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from typing import Any

import numpy as np

from seriatim.evaluate.entrants import Entrant
from seriatim.evaluate.examples import Examples
from seriatim.features import Features

MOST_FEATURES = 1500  # beyond, the best in hindsight is found by slower means


def why_none(examples: Examples, most: int) -> str | None:
    """Why there is no regret of these examples; None if there can be, of at most so many values."""
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
    """The regret and the bounds of one algorithm after another; the best in hindsight is looked for once for all."""

    def __init__(self, examples: Examples, seed: int) -> None:
        from scipy.sparse import csr_matrix

        order = examples.order(0, seed)
        if len(examples.arrays) == 1:
            self.X: Any = examples.arrays[0][order]
        else:
            start, index, value = examples.arrays
            self.X = csr_matrix((value, index, start), (examples.n, examples.features))[order]
        self.y = np.asarray(examples.y)[order]
        self.known: dict[Any, dict[Any, Any]] = defaultdict(dict)  # by how the rows are scaled

    def of(self, entrant: Entrant) -> dict[str, Any]:
        """As plain data: the regret at some places, and what each theorem says."""
        from seriatim.evaluate.hindsight import regret
        from seriatim.evaluate.theorems import bounds

        model = entrant.fresh()
        found = regret(model, self.X, self.y, known=self.known[Features.of(model.features).normalize])
        return {
            "regret": found.as_dict(),
            "bounds": [bound.as_dict() for bound in bounds(model, self.X, self.y, radius=found.radius)],
        }
