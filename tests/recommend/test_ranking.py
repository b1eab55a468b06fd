"""RMF, whose loss is that of the whole list of a user; and the recommendations of all recommenders."""

import numpy as np
import pytest

from tests.recommend.comparison import FACTORS, NAMES, Ours, Paper, both, close, ratings
from tests.reference import recommend as papers


def list_loss(U, V, r):
    """- sum_i softmax(r)_i log softmax(g)_i of the rows V of the items rated r."""
    g = papers.sigmoid(V @ U)
    chances = np.exp(r) / np.exp(r).sum()
    return -chances @ (g - np.log(np.exp(g).sum()))


def derivative(f, at, h=1e-6):
    return np.array([(f(at + h * e) - f(at - h * e)) / (2 * h) for e in np.eye(len(at))])


@both
def test_steps_of_rmf_are_the_numerical_gradient(make):
    """The step of V_i is the gradient of the loss of the list. The step of U is the part through g_i."""
    eta, lam, told = 0.7, 0.0, {}
    model = make("RMF", n_factors=3, eta=eta, lam=lam)
    for t, (user, item, rating) in enumerate(ratings(11, n=120)):
        before = model.factors() if t else ({}, {})
        told.setdefault(user, {})[item] = (rating - 1) / 4
        model.learn(user, item, rating)
        if user not in before[0] or item not in before[1]:
            continue
        names = list(told[user])
        U, V = before[0][user], np.array([before[1][name] for name in names])
        r, i = np.array([told[user][name] for name in names]), names.index(item)

        def through(v, u=None, V=V, U=U, r=r, i=i):
            """The loss with v for the i-th item's row; or with its score that of u, the others' as they are."""
            g = papers.sigmoid(V @ U)
            g[i] = papers.sigmoid(v @ U if u is None else V[i] @ u)
            return -(np.exp(r) / np.exp(r).sum()) @ (g - np.log(np.exp(g).sum()))

        assert through(V[i]) == pytest.approx(list_loss(U, V, r))
        now = model.factors()
        assert (before[1][item] - now[1][item]) / eta == pytest.approx(derivative(through, V[i]), abs=1e-8)
        by_user = derivative(lambda u, through=through: through(None, u), U)
        assert (U - now[0][user]) / eta == pytest.approx(by_user, abs=1e-8)


def test_parts_add_up_to_the_gradient():
    """The parts of all items of a list sum to the gradient by U."""
    rng = np.random.default_rng(12)
    U, V, r = rng.standard_normal(3), rng.standard_normal((6, 3)), rng.random(6)
    g = papers.sigmoid(V @ U)
    e = (np.exp(g) / np.exp(g).sum() - np.exp(r) / np.exp(r).sum()) * g * (1 - g)
    assert e @ V == pytest.approx(derivative(lambda u: list_loss(u, V, r), U), abs=1e-8)
    paper = papers.RMF(n_factors=3)
    for i in range(6):
        paper.learn("u", i, 1 + 4 * r[i])
    paper.U, paper.V = [U], list(V)
    close([paper.slope(0, i, r[i]) for i in range(6)], e)


@both
def test_a_list_of_one_teaches_nothing(make):
    model = make("RMF", n_factors=3, lam=0.0)
    model.learn("u", "x", 1.0)
    before = model.factors()
    model.learn("u", "x", 5.0)
    for side, name in enumerate(("u", "x")):
        close(model.factors()[side][name], before[side][name])


@both
def test_a_rating_told_again_replaces(make):
    """The last rating of a pair counts in the list."""
    one, other = (make("RMF", n_factors=3, eta=1.0, lam=0.0) for _ in range(2))
    for model, first in ((one, 1.0), (other, 5.0)):
        model.learn("u", "x", first)  # alone in its list: no step
        model.learn("u", "x", 2.0)
        model.learn("u", "y", 4.0)
    close(one.factors()[0]["u"], other.factors()[0]["u"])


def dcg(ratings):
    return (2.0 ** np.asarray(ratings) - 1) @ (1 / np.log2(np.arange(2, len(ratings) + 2)))


@both
@pytest.mark.parametrize("name", NAMES)
def test_they_rank(make, name):
    """The DCG of lists of unseen items, scaled so that random lists have 0 and the best lists 1."""
    rng = np.random.default_rng(13)
    table = np.clip(3 + 1.2 * rng.standard_normal((25, 2)) @ rng.standard_normal((2, 30)), 1, 5)
    stream = [(u, i, float(table[u, i])) for u in range(25) for i in range(30)]
    stream = [stream[t] for t in rng.permutation(len(stream))]
    model = make(name, **({"rank": 4} if name == "SVDRecommender" else {"n_factors": 4}))
    for _ in range(8):
        model.learn_all([stream[t] for t in rng.permutation(500)])
    gains = []
    for u in range(25):
        hidden = {i: rating for user, i, rating in stream[500:] if user == u}
        ranked = [hidden[i] for i, _ in model.recommend(u, 30)]
        assert len(ranked) == len(hidden)
        chance = np.mean([dcg(rng.permutation(ranked)) for _ in range(50)])
        gains.append((dcg(ranked) - chance) / (dcg(sorted(ranked, reverse=True)) - chance))
    assert np.mean(gains) > 0.5


@both
@pytest.mark.parametrize("name", NAMES)
def test_recommendations(make, name):
    """`recommend` gives at most n items that the user has not rated, by prediction; `nearest` goes by the factors."""
    stream = ratings(14)
    model = make(name).learn_all(stream)
    items = dict.fromkeys(item for _, item, _ in stream)
    for user in ("u0", "u5", "nobody"):
        rated = {item for u, item, _ in stream if u == user}
        expected = sorted(((i, model.predict(user, i)) for i in items if i not in rated), key=lambda pair: -pair[1])
        got = model.recommend(user, 100)
        assert [i for i, _ in got] == [i for i, _ in expected]
        close([score for _, score in got], [score for _, score in expected])
        assert list(model.recommend(user, 3)) == list(got[:3])
    if name in FACTORS:
        V = model.factors()[1]
        cosine = {i: V[i] @ V[3] / np.linalg.norm(V[i]) / np.linalg.norm(V[3]) for i in V if i != 3}
        got = model.nearest(3, 4)
        assert [i for i, _ in got] == sorted(cosine, key=lambda i: -cosine[i])[:4]
        close([c for _, c in got], sorted(cosine.values())[::-1][:4])


@pytest.mark.parametrize("name", NAMES)
def test_rankings_equal_the_paper(name):
    model, paper = Ours(name).learn_all(ratings(15)), Paper(name).learn_all(ratings(15))
    for user in ("u1", "u2", "nobody"):
        mine, theirs = model.recommend(user, 6), paper.recommend(user, 6)
        assert [i for i, _ in mine] == [i for i, _ in theirs]
    mine, theirs = model.nearest(2, 6), paper.nearest(2, 6)
    assert [i for i, _ in mine] == [i for i, _ in theirs]
    close([c for _, c in mine], [c for _, c in theirs])
