"""What every strategy is to its user: days in, the portfolio for the next day out."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from seriatim.errors import DataError, ModelError
from seriatim.model import Model
from seriatim.portfolio import market


class Strategy(Model):
    """A portfolio for each day, of which only the days before it are known.

    `learn_one` takes the price relatives of a day, x = close/close before, as a sequence or as a dict of names;
    `partial_fit` takes a table of them, a row a day. `weights_` is then the portfolio for the next day: shares of the
    money, none negative, of sum 1. The first day is met with equal parts. A relative that is missing (NaN) is one of 1:
    the asset was not traded, and what is in it stays; so it is with an asset that is no longer listed, which is cash
    from then on.
    """

    family = "portfolio"
    task = "portfolio selection"
    # Whether it is a yardstick that must know the days it is judged by; its portfolio is then the same on all of them.
    hindsight: ClassVar[bool] = False

    def learn_one(self, relatives: Any) -> Self:
        """Learn the price relatives of one day."""
        return self._learn(*market.day(relatives))

    def partial_fit(self, relatives: Any, y: Any = None) -> Self:
        """Learn days, one after another: an array or a frame with a row a day and a column an asset."""
        return self._learn(*market.table(relatives))

    def fit(self, relatives: Any, y: Any = None) -> Self:
        """Forget everything, then learn these days."""
        X, names = market.table(relatives)
        with self._lock:
            return self._become(self.fresh()._learn(X, names, whole=True))

    def _learn(self, X: np.ndarray, names: list[str] | None, whole: bool = False) -> Self:
        with self._lock:
            if self._learner is not None and self._learner.t:
                self._learner.run(market.check(self._arranged(X, names), self._lists.get("assets", names), whole))
                return self
            self.check()
            X = market.check(X, names, whole)
            learner = self.build()
            learner.start(X.shape[1])
            try:
                learner.run(X)
            finally:  # Ctrl-C comes between two days
                if learner.t:
                    vars(self).update(_learner=learner, _lists={} if names is None else {"assets": names})
        return self

    def _arranged(self, X: np.ndarray, names: list[str] | None) -> np.ndarray:
        """The columns in the order of the first day."""
        if X.shape[1] != self._learner.m:
            raise DataError(f"{X.shape[1]} assets; on the days before there were {self._learner.m}")
        known = self._lists.get("assets")
        if names is None or known is None or names == known:
            return X
        if new := sorted(set(names) - set(known)):
            raise DataError(f"asset {new[0]} was not there on the days before; these had {', '.join(known[:20])}")
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
        """The names of the assets, in the order of the weights; their numbers if they came without names."""
        learner = self._fitted()
        return list(self._lists.get("assets") or map(str, range(learner.m)))
