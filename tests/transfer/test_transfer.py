"""Transfer learning: equal to the transcriptions, under the bound, and better with a good source than without."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from seriatim import AROW, PA, data, evaluate
from seriatim.errors import DataError, ParameterError
from tests.conftest import data_set
from tests.learners import learner, real_stream
from tests.linear.test_reference import WAYS
from tests.reference import transfer
from tests.test_contract import Unchanged

eithers = pytest.mark.parametrize("name", ["HomogeneousOTL", "HeterogeneousOTL"])


def stream(seed, n=120, d=5, noise=0.3, truth=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    X[n // 3] = 0
    truth = rng.standard_normal(d) if truth is None else truth
    return X, np.where(X @ truth + noise * rng.standard_normal(n) > 0, 1, -1)


def check(name, X, y, source, paper_source, intercept=False, ways=None, **parameters):
    """Compare the scores on all rows, learned in each way, and the weights of the vote if there is one."""
    cls = learner(name)
    rows = np.column_stack([X, np.full(len(X), float(intercept))])
    paper = getattr(transfer, name)(rows.shape[1], source=paper_source, **parameters)
    for x, label in zip(rows, y.tolist(), strict=True):
        paper.learn(x, label)
    scores = np.array([paper.score(x) for x in rows])
    for feed in (ways or WAYS).values():
        model = feed(X, y, cls(source, **parameters, fit_intercept=intercept))
        for probe in (X, csr_matrix(X)):
            assert model.decision_function(probe) == pytest.approx(scores, abs=1e-9 * np.abs(scores).max())
            clear = np.abs(scores) > 1e-9
            assert (
                model.predict(probe)[clear] == np.where(scores >= 0, paper.labels[-1], paper.labels[0])[clear]
            ).all()
        assert model.t_ == len(y)
    return paper


# ---- equality with the transcription


@pytest.mark.parametrize(("C", "eta"), [(5.0, 0.5), (0.05, 0.5), (1.0, 2.0)])
@pytest.mark.parametrize("kind", ["good", "bad", "none"])
def test_homogeneous_equals_its_paper(C, eta, kind):
    X, y = stream(1)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    v = {"good": best, "bad": -best, "none": 0 * best}
    check("HomogeneousOTL", X, y, v[kind], np.append(v[kind], 0.0), C=C, eta=eta)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_source_is_a_model(intercept):
    learner("HomogeneousOTL")
    X, y = stream(2)
    source = PA(fit_intercept=intercept).partial_fit(*stream(3))
    v = np.append(source.coef_[0], source.intercept_[0])
    check("HomogeneousOTL", X, y, source, v, intercept=intercept)


def test_the_source_is_a_model_of_another_library():
    from sklearn.linear_model import LogisticRegression

    learner("HomogeneousOTL")
    X, y = stream(4)
    source = LogisticRegression().fit(*stream(5))
    check("HomogeneousOTL", X, y, source, np.append(source.coef_[0], source.intercept_[0]), intercept=True)


@pytest.mark.parametrize("C", [5.0, 0.05])
@pytest.mark.parametrize(("gamma1", "gamma2"), [(1.0, 1.0), (0.3, 2.0)])
@pytest.mark.parametrize("m", [1, 3])
def test_heterogeneous_equals_its_paper(C, gamma1, gamma2, m):
    """The source has the first m columns."""
    X, y = stream(6)
    v = np.random.default_rng(6).standard_normal(m)
    check("HeterogeneousOTL", X, y, v, v, C=C, gamma1=gamma1, gamma2=gamma2)


@eithers
@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 40),
    d=st.integers(2, 6),
    C=st.sampled_from([5.0, 0.1]),
    way=st.sampled_from(sorted(WAYS)),
)
def test_generated_streams(name, seed, n, d, C, way):
    X, y = stream(seed, n, d)
    v = np.random.default_rng(seed).standard_normal(d if name == "HomogeneousOTL" else d - 1)
    paper_source = np.append(v, 0.0) if name == "HomogeneousOTL" else v
    check(name, X, y, v, paper_source, ways={way: WAYS[way]}, C=C)


@eithers
def test_spam(name):
    """The source has learned the first third; for HeterogeneousOTL it has the first 20 columns.

    The labels are signs: in the paper it is known from the first example on which is the higher.
    """
    learner(name)
    X, y = real_stream("spam")
    y = np.where(y == max(y), 1, -1)
    known = X.shape[1] if name == "HomogeneousOTL" else 20
    v = PA(C=0.1, fit_intercept=False).partial_fit(X[:200, :known], y[:200]).coef_[0]
    paper_source = np.append(v, 0.0) if name == "HomogeneousOTL" else v
    check(name, X[200:], y[200:], v, paper_source, ways={"sparse, by 7": WAYS["sparse, by 7"]})


# ---- homogeneous


def shares(v, X, y, C=5.0, eta=0.5):
    """The weights of source and target before each row, by the formula: alpha_i is by exp(-eta times its loss)."""
    w, losses = np.zeros(X.shape[1]), np.zeros(2)
    for x, label in zip(X, y, strict=True):
        alpha = np.exp(-eta * (losses - losses.min()))
        yield alpha / alpha.sum(), w
        votes = np.clip((np.array([v @ x, w @ x]) + 1) / 2, 0, 1)
        losses += (votes - (label > 0)) ** 2
        if x @ x > 0:
            w = w + min(C, max(0, 1 - label * (w @ x)) / (x @ x)) * label * x


@pytest.mark.parametrize("ours", [False, True], ids=["transcription", "class"])
def test_weights_are_exponential_in_the_loss(ours):
    """alpha_i = exp(-eta L_i) / sum exp(-eta L), the product of all s_t; both start at 1/2."""
    X, y = stream(7)
    v = np.random.default_rng(7).standard_normal(5)
    paper = transfer.HomogeneousOTL(5, source=v, classes=[-1, 1])
    model = learner("HomogeneousOTL")(v, fit_intercept=False, classes=[-1, 1]) if ours else None
    expected, found = [], []
    for (alpha, w), x, label in zip(shares(v, X, y), X, y.tolist(), strict=True):
        votes = np.clip((X[:10] @ np.array([v, w]).T + 1) / 2, 0, 1)
        expected.append(votes @ alpha - 0.5)
        if model is None:
            found.append([paper.score(row) for row in X[:10]])
            assert paper.alpha == pytest.approx(alpha, abs=1e-12)
            paper.learn(x, label)
        else:
            found.append(model.decision_function(X[:10]) if model.__sklearn_is_fitted__() else expected[0])
            model.partial_fit(x[None, :], [label])
    assert np.array(found) == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["good", "bad", "random"])
def test_mistakes_are_below_the_bound(seed, kind):
    """Theorem 1: M <= 4 min(sum of the source's losses, of the target's) + 8 ln 2, with eta = 1/2."""
    cls = learner("HomogeneousOTL")
    X, y = stream(seed, n=400)
    truth = np.linalg.lstsq(X, y, rcond=None)[0]
    v = {"good": 2 * truth, "bad": -2 * truth, "random": np.random.default_rng(seed).standard_normal(5)}[kind]
    run = evaluate.progressive(cls(v, fit_intercept=False, classes=[-1, 1]), X, y)
    losses = np.zeros(2)
    for (_, w), x, label in zip(shares(v, X, y), X, y, strict=True):
        losses += (np.clip((np.array([v @ x, w @ x]) + 1) / 2, 0, 1) - (label > 0)) ** 2
    assert run.mistakes <= 4 * losses.min() + 8 * np.log(2)


@pytest.mark.parametrize("seed", range(3))
def test_a_good_source_helps_and_a_bad_one_is_forgotten(seed):
    cls = learner("HomogeneousOTL")
    truth = np.random.default_rng(seed).standard_normal(40)
    X, y = stream(seed, n=400, d=40, truth=truth)
    alone = evaluate.progressive(PA(C=5.0, fit_intercept=False), X, y)
    helped = evaluate.progressive(cls(truth, fit_intercept=False), X, y)
    misled = evaluate.progressive(cls(-truth, fit_intercept=False), X, y)
    assert helped.mistakes < 0.7 * alone.mistakes
    assert misled.mistakes < alone.mistakes + 25


def test_the_target_uses_its_own_margin():
    """The target learns even if the source is always right, because its margin is not that of the vote.

    After one row each has the same loss or less, and w = PA's.
    """
    cls = learner("HomogeneousOTL")
    x = np.array([[1.0, 0.0]])
    model = cls(np.array([0.0, 0.0]), C=5.0, fit_intercept=False, classes=[-1, 1]).partial_fit(x, [1])
    # Both voted 1/2: weights remain equal; now Pi(v.x) = 1/2, Pi(w.x) = 1, less 1/2.
    assert model.decision_function(x)[0] == pytest.approx(0.25)


def test_the_source_does_not_change():
    cls = learner("HomogeneousOTL")
    X, y = stream(8)
    source = PA().partial_fit(*stream(9))
    with Unchanged(source):
        cls(source).partial_fit(X, y)
    v = np.ones(5)
    cls(v, fit_intercept=False).partial_fit(X, y)
    assert (v == 1).all()


# ---- heterogeneous


@pytest.mark.parametrize("ours", [False, True], ids=["transcription", "class"])
@pytest.mark.parametrize(("gamma1", "gamma2", "C"), [(1.0, 1.0, 5.0), (0.4, 2.0, 5.0), (0.4, 2.0, 0.1)])
def test_heterogeneous_steps_solve_their_problem(gamma1, gamma2, C, ours):
    """argmin g1 |w1 - w1_t|^2 / 2 + g2 |w2 - w2_t|^2 / 2 + C [1 - y (w1.x1 + w2.x2) / 2]+."""
    rng = np.random.default_rng(10)
    X, y = stream(10, n=60)
    v = rng.standard_normal(2)
    given = {"C": C, "gamma1": gamma1, "gamma2": gamma2, "classes": [-1, 1]}
    if ours:
        model = learner("HeterogeneousOTL")(v, fit_intercept=False, **given)
    else:
        model = transfer.HeterogeneousOTL(5, source=v, **given)
    g = np.array([gamma1, gamma1, gamma2, gamma2, gamma2])
    W = np.append(v, np.zeros(3))
    for x, label in zip(X, y.tolist(), strict=True):
        if ours:
            model.partial_fit(x[None, :], [label])
            new = 2 * model.decision_function(np.eye(5))  # f = w.x / 2
        else:
            model.learn(x, label)
            new = model.w

        def objective(u):
            return g @ (u - W) ** 2 / 2 + C * max(0, 1 - label * (u @ x) / 2)  # noqa: B023

        for size in (1.0, 1e-2, 1e-4):
            for direction in (x / g, -x / g, *rng.standard_normal((10, 5))):
                assert objective(new + size * direction) >= objective(new) - 1e-12
        W = new


@eithers
def test_rows_of_zeros(name):
    """z1 g2 + z2 g1 = 0: no step."""
    cls = learner(name)
    model = cls(np.ones(2), fit_intercept=False, classes=[-1, 1]).partial_fit(np.zeros((3, 2)), [1, -1, 1])
    assert np.isfinite(model.decision_function([[1.0, 2.0]])).all()
    assert model.t_ == 3


@pytest.mark.parametrize("seed", range(3))
def test_half_a_good_source_helps(seed):
    cls = learner("HeterogeneousOTL")
    truth = np.random.default_rng(seed).standard_normal(60)
    X, y = stream(seed, n=300, d=60, truth=truth)
    alone = evaluate.progressive(PA(C=5.0, fit_intercept=False), X, y)
    helped = evaluate.progressive(cls(2 * truth[:40], fit_intercept=False), X, y)
    assert helped.mistakes < 0.9 * alone.mistakes


@eithers
def test_two_labels(name):
    cls = learner(name)
    X, y = stream(11)
    model = cls(np.ones(5), fit_intercept=False).partial_fit(X, y)
    with Unchanged(model), pytest.raises(DataError):
        model.partial_fit(X, y + 1)


@eithers
@pytest.mark.parametrize("scale", ["standard", "unit"])
def test_a_source_with_normalised_features_needs_the_same_normalisation(name, scale):
    """The weights of the source are for scaled features; with other features its votes would be wrong."""
    cls = learner(name)
    X, y = stream(13)
    source = AROW(features={"normalize": scale}).fit(X, y)
    for features in (None, {"normalize": "max"}):
        with pytest.raises(ParameterError, match=f"normalize='{scale}'"):
            cls(source, features=features).partial_fit(X, y)
        with pytest.raises(ParameterError, match=f"normalize='{scale}'"):
            evaluate.compare((X, y), [cls(source, features=features)], permutations=1)
    assert cls(source, features={"normalize": scale}).partial_fit(X, y).t_ == len(y)
    assert cls(AROW().fit(X, y), features={"normalize": scale}).partial_fit(X, y).t_ == len(y)


@eithers
def test_a_voting_model_cannot_be_a_source(name):
    X, y = stream(14)
    vote = learner("HomogeneousOTL")(np.ones(5)).fit(X, y)
    with pytest.raises(ParameterError, match="HomogeneousOTL, whose score"):
        learner(name)(vote).partial_fit(X, y)
    linear = learner("HeterogeneousOTL")(np.ones(5)).fit(X, y)
    assert learner(name)(linear).partial_fit(X, y).t_ == len(y)


@eithers
def test_the_repr_of_a_model_is_short(name):
    """The source of a loaded model may have many weights."""
    cls = learner(name)
    assert repr(cls([1.0, 2.0])).startswith(f"{name}(") and "source=[1.0, 2.0]" in repr(cls([1.0, 2.0]))
    assert "source=<5,000 weights>" in repr(cls(np.ones(5000)))
    assert "source=<5,000 weights>" in repr(cls((dict.fromkeys(range(5000), 1.0), 2.0)))


@pytest.mark.parametrize("d", [5, 50])
def test_different_sources_have_different_names(d):
    """Two sources with equally many weights are two algorithms in a comparison."""
    cls = learner("HomogeneousOTL")
    truth = np.random.default_rng(12).standard_normal(d)
    X, y = stream(12, n=400, d=d, truth=truth)
    models = [cls(sign * truth, fit_intercept=False) for sign in (1, -1)]
    best, other = evaluate.compare((X, y), models, permutations=1).standings()
    assert best.label != other.label
    assert best.figures["mistake rate"][0] < other.figures["mistake rate"][0]


# ---- reviews in four domains


DOMAINS = ("books", "dvd", "electronics", "kitchen")
ALIKE = {("books", "dvd"), ("dvd", "books"), ("electronics", "kitchen"), ("kitchen", "electronics")}
each_to_each = pytest.mark.parametrize(("source", "target"), list(permutations(DOMAINS, 2)))


@pytest.fixture(scope="module")
def reviews():
    """2,000 reviews of each domain in random order, good and bad, as words; rows of norm 1."""
    words = {"label": "label", "text": ("title", "text"), "drop": ("domain", "rating")}
    X, y = data.load(str(data_set("amazon-multidomain/sorted_data_acl.jsonl.gz")), features=words)
    X.data = np.log1p(X.data)
    X.data /= np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))[np.repeat(np.arange(len(y)), np.diff(X.indptr))]
    rng = np.random.default_rng(0)
    rows = {name: 2000 * k + rng.permutation(2000) for k, name in enumerate(DOMAINS)}  # the file has one after another
    return {name: (X[some], y[some]) for name, some in rows.items()}


@pytest.fixture(scope="module")
def models(reviews):
    return {name: AROW().fit(*some) for name, some in reviews.items()}


@pytest.fixture(scope="module")
def alone(reviews):
    return {name: halves(PA(C=5.0), *some) for name, some in reviews.items()}


def halves(model, X, y):
    """Mistakes among the first 1,000 reviews and among the second."""
    return np.array(
        [evaluate.progressive(model, X[part], y[part]).mistakes for part in (slice(1000), slice(1000, None))]
    )


def turned(model):
    """A source that is wrong where the model is right."""
    return -model.coef_[0], -model.intercept_[0]


@each_to_each
def test_reviews_of_one_domain_help_in_another(reviews, models, alone, source, target):
    """The vote is as good as the better of source and PA, and a third better than PA for similar domains."""
    X, y = reviews[target]
    model = learner("HomogeneousOTL")(models[source])
    mistakes = halves(model, X, y).sum()
    by_source = np.sum(models[source].predict(X) != y)
    assert mistakes < 1.02 * min(by_source, alone[target].sum())
    if (source, target) in ALIKE:
        assert mistakes < 0.7 * alone[target].sum()
        assert model.source_weight_ > 0.99


@each_to_each
def test_a_reversed_source_does_no_lasting_harm(reviews, models, alone, source, target):
    """A source that is always wrong costs a few mistakes at first, then none."""
    model = learner("HomogeneousOTL")(turned(models[source]))
    mistakes = halves(model, *reviews[target])
    assert mistakes[0] <= alone[target][0] + 8
    assert mistakes[1] == alone[target][1]
    assert model.source_weight_ < 1e-9


@each_to_each
def test_half_of_the_words_of_reviews(reviews, alone, source, target):
    """The source has every other word, and helps. If reversed, unlearning it takes longer than outvoting it."""
    cls, (X, y) = learner("HeterogeneousOTL"), reviews[target]
    known = AROW().fit(reviews[source][0][:, ::2], reviews[source][1])
    for sign, most, most_late in ((1, 0.99, 1.0), (-1, 1.12, 1.1)):
        weights = dict(zip(range(0, X.shape[1], 2), sign * known.coef_[0], strict=True))
        mistakes = halves(cls((weights, sign * known.intercept_[0])), X, y)
        assert mistakes.sum() < most * alone[target].sum()
        assert mistakes[1] <= most_late * alone[target][1]


def test_reviews_keep_the_bound(reviews, models):
    """M <= 4 min(squared losses of the source, of the target) + 8 ln 2, with both far from perfect."""
    X, y = (part[:600] for part in reviews["books"])
    target, scores = PA(C=5.0, classes=[-1, 1]), [0.0]
    for k in range(len(y)):
        scores.append(target.partial_fit(X[k], y[k : k + 1]).decision_function(X[min(k + 1, len(y) - 1)])[0])
    kitchen = models["kitchen"]
    for v, intercept in ((kitchen.coef_[0], kitchen.intercept_[0]), turned(kitchen)):
        run = evaluate.progressive(learner("HomogeneousOTL")((v, intercept), classes=[-1, 1]), X, y)
        votes = np.clip((np.array([X @ v + intercept, scores[:-1]]) + 1) / 2, 0, 1)
        assert run.mistakes <= 4 * ((votes - (y > 0)) ** 2).sum(axis=1).min() + 8 * np.log(2)
