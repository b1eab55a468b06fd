"""The Python face of a recommender: it learns ratings of items by users, both named by integers or strings."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from seriatim.core.values import plain_array, real_array, shown
from seriatim.errors import DataError, ModelError, ParameterError
from seriatim.estimator.model import Model
from seriatim.parameters import Number
from seriatim.recommend.numbering import Numbering


class Recommender(Model):
    """A model of ratings. Users and items are integers or strings. New ones may appear at any time.

    Besides the factors, the model stores which items each user has rated: `recommend` leaves them out.
    """

    task = "recommendation"
    ranks: ClassVar[bool] = False  # predictions are not ratings, and only their order counts
    fixed = ("low", "high")

    low: Any = Number(1.0, least=-1e9, most=1e9)
    high: Any = Number(5.0, least=-1e9, most=1e9)

    def check(self) -> None:
        super().check()
        if not self.low < self.high:
            raise ParameterError(f"{type(self).__name__}: low={self.low!r}, high={self.high!r}: low must be below high")

    # ---- ratings

    def learn_one(self, user: Any, item: Any, rating: float) -> Self:
        """Learn one rating. A second rating of a pair is another example."""
        if type(rating) is not float:
            rating = float(rating) if type(rating) is int and abs(rating) < 2**53 else self.as_ratings([rating])[0]
        with self._lock:
            if self._learner is None:
                self._start()
            try:
                self._learner.learn_one(user, item, rating)
            except BaseException:
                self._unstart()
                raise
        return self

    def partial_fit(self, users: Any, items: Any, ratings: Any) -> Self:
        """Learn these ratings in order, after those of the last call. If one is bad, none is learned."""
        self.learn_ratings(users, items, ratings)
        return self

    def fit(self, users: Any, items: Any, ratings: Any) -> Self:
        """Forget everything, then learn these ratings in one pass."""
        with self._lock:
            return self._become(self.fresh().partial_fit(users, items, ratings))

    def learn_ratings(self, users: Any, items: Any, ratings: Any, out: np.ndarray | None = None) -> int:
        """Learn as `partial_fit`. `out` receives the prediction before each rating. Returns the number learned.

        Ctrl-C is raised between two ratings; those before it are learned.
        """
        told = self.as_ratings(ratings)
        with self._lock:
            self._start()
            try:
                self._learner.learn_ratings(users, items, told, out)
            finally:
                learned: int = self._learner.learned
                self._unstart()
        return learned

    def expect_pairs(self, users: Any, items: Any, n: int) -> None:
        """Raise DataError unless n ratings could be learned with these users and items."""
        found = [len(Numbering(kind).find(labels)) for kind, labels in (("user", users), ("item", items))]
        if found != [n, n]:
            raise DataError(f"{found[0]} users, {found[1]} items and {n} ratings: expected equal numbers")

    def as_ratings(self, ratings: Any) -> np.ndarray:
        """Checked ratings as numbers."""
        given = plain_array(ratings, "the ratings")
        try:
            if given.dtype.kind not in "fiuO":
                raise TypeError
            told = real_array(given)
        except (TypeError, ValueError, OverflowError):
            raise DataError("ratings must be numbers") from None
        if given.ndim != 1:
            raise DataError(f"ratings must be one-dimensional; these have the shape {given.shape}")
        low, high = self.low, self.high
        self.check()
        bad = np.flatnonzero(~((told >= low) & (told <= high)))
        if len(bad):
            where = f"rating {bad[0]}: " if len(told) > 1 else ""
            raise DataError(f"{where}{told[bad[0]]:g} is out of the range (low, high), {low:g} to {high:g}")
        return told

    def user_numbers(self, users: Any) -> np.ndarray:
        """The numbers of known users; -1 for unknown ones."""
        with self._lock:
            found: np.ndarray = self._fitted().user_labels.find(users)
        return found

    # ---- predictions

    def predict_one(self, user: Any, item: Any) -> float:
        """The predicted rating of an item by a user. An unknown user or item has no factors and no bias."""
        with self._lock:
            learner = self._learner
            if learner is None:
                self.check()
                learner = self.build()
            rating: float = learner.predict_one(user, item)
        return rating

    def predict(self, users: Any, items: Any) -> np.ndarray:
        """The predicted rating of each pair of a user and an item."""
        with self._lock:
            predicted: np.ndarray = self._fitted().predict_pairs(users, items)
        return predicted

    def recommend(self, user: Any, n: int = 10) -> list[tuple[Any, float]]:
        """The n best (item, prediction) among the items that this user has not rated, best first.

        Ties go in order of appearance. For an unknown user, all items count.
        """
        expect_count(n)
        with self._lock:
            learner = self._fitted()
            scores, rated = learner.predict_items(user)
            left = np.ones(len(scores), dtype=bool)
            left[rated] = False
            return best(learner.item_labels.labels, scores, np.flatnonzero(left), n)

    def nearest(self, item: Any, n: int = 10) -> list[tuple[Any, float]]:
        """The n other items (item, cosine) whose factors have the largest cosine with those of this item."""
        expect_count(n)
        with self._lock:
            learner = self._fitted()
            place = learner.item_place(item)
            if place < 0:
                raise DataError(f"the item {item!r} has no rating")
            rows = learner.factors(1)
            size = np.linalg.norm(rows, axis=1)
            sizes = size * size[place]
            cosine = rows @ rows[place] / np.where(sizes > 0, sizes, np.inf)
            return best(learner.item_labels.labels, cosine, np.flatnonzero(np.arange(len(size)) != place), n)

    @property
    def users_(self) -> list[Any]:
        """The users, in order of appearance."""
        return list(self._fitted().user_labels.labels)

    @property
    def n_pairs_(self) -> int:
        """The number of pairs of a user and an item with a rating."""
        return int(self._fitted().rated.total)

    @property
    def items_(self) -> list[Any]:
        """The items, in order of appearance."""
        return list(self._fitted().item_labels.labels)

    @property
    def user_factors_(self) -> tuple[list[Any], np.ndarray]:
        """The users, and a row of factors for each."""
        with self._lock:
            return self.users_, self._fitted().factors(0)

    @property
    def item_factors_(self) -> tuple[list[Any], np.ndarray]:
        """The items, and a row of factors for each."""
        with self._lock:
            return self.items_, self._fitted().factors(1)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=InputTags(two_d_array=False))

    # ---- state

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = super().__getstate__()
            if self._learner is not None:
                labels = self._learner.user_labels.labels, self._learner.item_labels.labels
                state["lists"] = {"users": list(labels[0]), "items": list(labels[1])}
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        lists = state["lists"]
        super().__setstate__({**state, "state": None, "lists": {}})
        if state["state"] is not None:
            if {*lists} != {"users", "items"}:
                raise ModelError("the file has no lists of users and items")
            self._start()
            self._learner.restore(state["state"], lists["users"], lists["items"])


def best(labels: list[Any], scores: np.ndarray, places: np.ndarray, n: int) -> list[tuple[Any, float]]:
    """The labels and scores of the n highest scores at these places."""
    order = places[np.argsort(-scores[places], kind="stable")[:n]]
    return [(labels[place], float(scores[place])) for place in order]


def expect_count(n: Any) -> None:
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 0:
        raise ParameterError(f"n={shown(n)}: must be an integer of at least 0")
