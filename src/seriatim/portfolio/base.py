"""The Python face of a strategy: it learns days and gives the portfolio for the next day."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from seriatim.errors import DataError, ModelError
from seriatim.estimator.model import Model
from seriatim.portfolio import market

BLOCK = 50  # days between two calls of `watch`


class Strategy(Model):
    """Chooses a portfolio for each day from the days before it.

    `learn_one` takes the price relatives of a day, x = close/close before, as a sequence or as a dict with names.
    `partial_fit` takes a table of them, with a row for each day. `weights_` is then the portfolio for the next day:
    fractions of the wealth, at least 0, with the sum 1. The portfolio of the first day has equal parts. A missing
    relative (NaN) counts as 1: the asset was not traded. An asset that is no longer listed is cash from then on.
    """

    family = "portfolio"
    task = "portfolio selection"
    # A benchmark that must know all days beforehand. Its portfolio is the same on each of them.
    hindsight: ClassVar[bool] = False

    def learn_one(self, relatives: Any) -> Self:
        """Learn the price relatives of one day."""
        return self._learn(*market.day(relatives))

    def partial_fit(self, relatives: Any, y: Any = None) -> Self:
        """Learn days in order: an array or a frame with a row for each day and a column for each asset."""
        return self._learn(*market.table(relatives))

    def fit(self, relatives: Any, y: Any = None) -> Self:
        """Forget everything, then learn these days."""
        X, names = market.table(relatives)
        with self._lock:
            self.check()
            other = self.fresh()
            other.follow(market.check(X, names, whole=True), names)
            return self._become(other)

    def _learn(self, X: np.ndarray, names: list[str] | None) -> Self:
        with self._lock:
            if self._learner is not None and self._learner.t:
                self._learner.run(market.check(self._arranged(X, names), self._lists.get("assets", names)))
            else:
                self.check()
                self.follow(market.check(X, names), names)
        return self

    def follow(
        self,
        X: np.ndarray,
        names: list[str] | None,
        held: np.ndarray | None = None,
        watch: Callable[[float], None] | None = None,
    ) -> None:
        """Learn the first days, which `market.check` has returned.

        held : receives the portfolio of each day.
        watch : called with the fraction of the days that are learned.
        """
        learner = self.build()
        learner.start(X.shape[1])
        block = len(X) if watch is None else BLOCK
        try:
            for start in range(0, len(X), block):
                learner.run(X[start : start + block], None if held is None else held[start : start + block])
                if watch is not None:
                    watch(min(start + block, len(X)) / len(X))
        finally:  # Ctrl-C comes between two days
            if learner.t:
                vars(self).update(_learner=learner, _lists={} if names is None else {"assets": names})

    def _arranged(self, X: np.ndarray, names: list[str] | None) -> np.ndarray:
        """The columns in the order of the first day."""
        if X.shape[1] != self._learner.m:
            raise DataError(f"{X.shape[1]} assets; the days before had {self._learner.m}")
        known = self._lists.get("assets")
        if names is None or known is None or names == known:
            return X
        if new := sorted(set(names) - set(known)):
            raise DataError(f"asset {new[0]} is new; the days before had {', '.join(known[:20])}")
        return np.ascontiguousarray(X[:, [names.index(name) for name in known]])

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        names = self._lists.get("assets")
        if names is not None and len(names) != self._learner.m:
            raise ModelError(f"{len(names)} names for {self._learner.m} assets")

    @property
    def weights_(self) -> np.ndarray:
        """The portfolio for the next day."""
        return self._fitted().weights()

    @property
    def assets_(self) -> list[str]:
        """The names of the assets in the order of the weights, or their numbers if they have no names."""
        learner = self._fitted()
        return list(self._lists.get("assets") or map(str, range(learner.m)))
