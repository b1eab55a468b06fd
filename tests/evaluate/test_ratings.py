"""Progressive validation of recommenders: what was predicted before each rating was told."""

import signal
import threading
from itertools import permutations

import numpy as np
import pytest

import seriatim
from seriatim import PMF, RMF, SVDRecommender, evaluate
from seriatim.errors import DataError, ParameterError
from seriatim.evaluate import progressive
from seriatim.evaluate.metrics import NDCG
from tests.recommend.comparison import ratings
from tests.recommend.test_contract import assert_same_state, columns, every


@every
def test_equals_asking_before_each(cls):
    """In one call, as a stream, and one by one: the same figures, and the model that learned without being judged."""
    stream = ratings(1)
    users, items, told = columns(stream)
    model, errors = cls(), []
    for user, item, rating in stream:
        errors.append(rating - model.predict_one(user, item))
        model.learn_one(user, item, rating)
    blocks = [columns(stream[begin : begin + 40]) for begin in range(0, len(stream), 40)]
    for run in (progressive(cls(), (users, items), told), progressive(cls(), blocks)):
        assert run.examples == len(stream)
        assert_same_state(run.model, model)
        if cls is RMF:
            assert (run.rmse, run.mae, run.measure) == (None, None, "ndcg@10")
        else:
            assert run.rmse == pytest.approx(np.sqrt(np.mean(np.square(errors))))
            assert run.mae == pytest.approx(np.mean(np.abs(errors)))
            assert run.curve[-1] == (len(stream), run.rmse)
            assert run.curve[99] == (100, pytest.approx(np.sqrt(np.mean(np.square(errors[:100])))))
        assert 0 < run.ndcg <= 1
        assert repr(run).startswith(f"RatingRun({cls.__name__}(")
        assert (run.users, run.items) == (len(model.users_), len(model.items_))
        assert run.summary()["metrics"] == {"ndcg@10": run.ndcg}


def dcg(gains):
    return sum(gain / np.log2(place + 2) for place, gain in enumerate(gains))


def test_ndcg_by_hand():
    """Lists of three of each user; all orders of what ties, on the average; equal ratings do not count."""
    rng = np.random.default_rng(0)
    users = rng.integers(0, 5, 300)
    told, predicted = rng.integers(1, 6, 300).astype(float), rng.integers(0, 4, 300) / 2
    open_, values = {}, []
    for user, rating, score in zip(users, told, predicted, strict=True):
        mine = open_.setdefault(user, [])
        mine.append((score, rating))
        if len(mine) == 3:
            del open_[user]
            gains = [2.0**r - 1 for _, r in mine]
            if len(set(gains)) > 1:
                ranked = [dcg([2.0 ** mine[k][1] - 1 for k in sorted(order, key=lambda k, mine=mine: -mine[k][0])])
                          for order in permutations(range(3))]  # fmt: skip
                values.append(np.mean(ranked) / dcg(sorted(gains, reverse=True)))
    whole = NDCG(3, low=1).update(told, predicted, users)
    assert whole.lists == len(values)
    assert whole.value == pytest.approx(np.mean(values), rel=1e-12)
    parts = NDCG(3, low=1)
    for begin in range(0, 300, 7):
        parts.update(told[begin : begin + 7], predicted[begin : begin + 7], users[begin : begin + 7])
    assert parts.value == pytest.approx(whole.value, rel=1e-12)
    assert NDCG(3, low=1).update(told, told, users).value == pytest.approx(1)
    assert NDCG(3, low=-1e6).update(told * 1e5, predicted, users).value <= 1  # no overflow on a wide scale
    assert NDCG(3).update([1.0], [1.0], [0]).value is None


def test_ndcg_of_lists_that_are_learned():
    rng = np.random.default_rng(3)
    table = np.clip(3 + rng.standard_normal((30, 2)) @ rng.standard_normal((2, 40)), 1, 5)
    pairs = rng.permutation(1200)
    users, items = pairs // 40, pairs % 40
    for cls in (PMF, RMF, SVDRecommender):
        model = cls(4)
        first = progressive(model, (users, items), table[users, items]).ndcg
        for _ in range(8):
            last = progressive(model, (users, items), table[users, items]).ndcg
        assert last > first
        assert last > 0.9


def test_metrics_windows_and_places():
    users, items, told = columns(ratings(4))
    run = progressive(
        PMF(), (users, items), told, metrics=["mae", "ndcg:4"], window=50, fade=0.99, every=25, warm_up=10
    )
    assert run.examples == len(told) - 10
    assert list(run.figures) == ["mae", "ndcg@4", "rmse, last 50", "rmse, fading 0.99", "mae, last 50",
                                 "mae, fading 0.99"]  # fmt: skip
    assert run.figures["mae"] == pytest.approx(run.mae)
    assert [place for place, _ in run.curve] == [*range(25, 240, 25), 240]
    errors = []
    model = PMF()
    for user, item, rating in zip(users, items, told, strict=True):
        errors.append(rating - model.predict_one(user, item))
        model.learn_one(user, item, rating)
    assert run.figures["rmse, last 50"] == pytest.approx(np.sqrt(np.mean(np.square(errors[-50:]))))
    with pytest.raises(ParameterError, match="metric of classification"):
        progressive(PMF(), (users, items), told, metrics=["accuracy"])
    with pytest.raises(ParameterError, match="metric of regression"):
        progressive(RMF(), (users, items), told, metrics=["rmse"])
    with pytest.raises(ParameterError, match="at least 2"):
        progressive(PMF(), (users, items), told, metrics=["ndcg:1"])
    with pytest.raises(ParameterError, match="metric of recommendation"):
        progressive(seriatim.PA(), np.ones((4, 2)), [0, 1, 0, 1], metrics=["ndcg"])


def test_what_is_refused():
    users, items, told = columns(ratings(5))
    model = PMF()
    for bad in ((users, told), (users[:-1], items)):
        with pytest.raises(DataError):
            progressive(model, bad, told)
    with pytest.raises(DataError, match="range"):
        progressive(model, (users, items), [*told[:-1], 9.0])
    with pytest.raises(DataError, match="integers or strings"):
        progressive(model, (users, [*items[:-1], None]), told)
    with pytest.raises(DataError, match="users, items"):
        progressive(model, [(users, items)])
    with pytest.raises(ParameterError, match="no effect"):
        progressive(model, (users, items), told, delay=3)
    assert not model.__sklearn_is_fitted__()
    assert progressive(model, ([], []), []).rmse is None


def test_ctrl_c_comes_between_two_ratings():
    rng = np.random.default_rng(6)
    users, items, told = rng.integers(0, 300, 60_000), rng.integers(0, 300, 60_000), rng.integers(1, 6, 60_000)
    model = SVDRecommender()
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        run = progressive(model, (users, items), told)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert run.interrupted
    assert 0 < run.examples == model.t_ < 60_000
    other = SVDRecommender().partial_fit(users[: run.examples], items[: run.examples], told[: run.examples])
    assert_same_state(other, model)


def test_watch_is_told():
    users, items, told = columns(ratings(7))
    seen = []
    progressive(PMF(), [(users, items, told)] * 3, watch=lambda run: seen.append((run.examples, run.rmse)))
    assert [count for count, _ in seen] == [250, 500, 750]
    assert evaluate.RatingRun.__name__ == "RatingRun"
