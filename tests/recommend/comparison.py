"""One interface for recommenders and their transcriptions, and generated streams of ratings."""

import numpy as np
import pytest

from tests.conftest import data_set
from tests.learners import learner
from tests.reference import recommend as papers

FACTORS = ["PMF", "RMF"]
NAMES = [*FACTORS, "SVDRecommender"]
CASES = [(name, case) for name in NAMES for case in getattr(papers, name).CASES]


def name_of(spec):
    return "-".join([spec[0], *map(str, spec[1].values())])


class Paper:
    """A transcription behind the common interface."""

    def __init__(self, name, **parameters):
        self.model = getattr(papers, name)(**parameters)
        self.learn, self.predict = self.model.learn, self.model.predict
        self.recommend, self.nearest = self.model.recommend, self.model.nearest

    def learn_all(self, ratings):
        for user, item, rating in ratings:
            self.learn(user, item, rating)
        return self

    def predict_all(self, pairs):
        return np.array([self.predict(user, item) for user, item in pairs])

    def factors(self):
        """The rows of users and of items, each by its name."""
        return tuple(
            dict(zip(names, np.array(rows), strict=True))
            for names, rows in ((self.model.users, self.model.U), (self.model.items, self.model.V))
        )


def by_name(factors):
    """A dict of rows, from a dict or from a pair (names, rows)."""
    return dict(factors) if isinstance(factors, dict) else dict(zip(*factors, strict=True))


class Ours:
    """A model of the library behind the common interface."""

    def __init__(self, name, **parameters):
        self.model = learner(name)(**parameters)
        self.learn, self.predict = self.model.learn_one, self.model.predict_one
        self.recommend, self.nearest = self.model.recommend, self.model.nearest

    def learn_all(self, ratings):
        self.model.partial_fit(*map(list, zip(*ratings, strict=True)))
        return self

    def predict_all(self, pairs):
        return np.asarray(self.model.predict(*map(list, zip(*pairs, strict=True))))

    def factors(self):
        return by_name(self.model.user_factors_), by_name(self.model.item_factors_)


both = pytest.mark.parametrize("make", [Paper, Ours], ids=["paper", "ours"])


def close(ours, theirs, scale=1.0):
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max(initial=0) <= 1e-9 * max(scale, np.abs(theirs).max(initial=0)), (ours, theirs)


def ratings(seed, n=250, users=15, items=20, low=1.0, high=5.0, whole=False):
    """Random pairs of a table of rank 2 plus noise, a few of them twice. New users and items appear throughout."""
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((users, 2)), rng.standard_normal((items, 2))
    table = (low + high) / 2 + (high - low) / 4 * (A @ B.T + 0.3 * rng.standard_normal((users, items)))
    table = np.clip(np.round(table) if whole else table, low, high)
    stream = []
    for t in range(n):
        u, i = int(rng.integers(max(3, users * t // n))), int(rng.integers(max(4, items * t // n)))
        stream.append((f"u{u}", i, float(table[u, i])))
    return stream


def range_of(case):
    return {key: case[key] for key in ("low", "high") if key in case}


def movielens(fold, seed=0):
    """(training ratings in a random order, test ratings) of one of the five published folds."""
    rows = [np.loadtxt(data_set(f"movielens-100k/u{fold}.{part}"), dtype=int)[:, :3] for part in ("base", "test")]
    return rows[0][np.random.default_rng(seed).permutation(len(rows[0]))].tolist(), rows[1].tolist()


def rmse(model, test):
    predictions = model.predict_all([(user, item) for user, item, _ in test])
    return float(np.sqrt(np.mean((predictions - [rating for *_, rating in test]) ** 2)))
