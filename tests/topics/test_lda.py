"""Online LDA: equal to its transcription and to scikit-learn's, and what the paper says of it.

Where a property is tested of the `paper` and of `ours`, the first shows that the transcription has it.
"""

import gzip
import json
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, lil_matrix
from scipy.special import digamma
from scipy.stats import gamma as gamma_law
from scipy.stats import kstest
from sklearn.decomposition import LatentDirichletAllocation

import seriatim
from seriatim import Features
from seriatim.errors import DataError, ModelError, ParameterError
from tests.conftest import data_set
from tests.learners import learner
from tests.reference import topics as papers
from tests.test_contract import Unchanged
from tests.topics.comparison import (
    Ours,
    Paper,
    both,
    close,
    compare,
    documents,
    name_of,
    planted,
    recovered,
    reuters,
)

# ---- equality with the transcription


@pytest.mark.parametrize("case", papers.LDA.CASES, ids=name_of)
def test_equals_the_paper(case):
    compare("LDA", case, documents(1), documents(2, n=12))


@settings(max_examples=15)
@given(st.data())
def test_equals_the_paper_on_any_stream(data):
    learner("LDA")
    case = data.draw(st.sampled_from([case for case in papers.LDA.CASES if "n_features" not in case]))
    width, rows = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 25))
    counts = st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.5, 30.0]), min_size=width, max_size=width)
    X = np.array(data.draw(st.lists(counts, min_size=rows, max_size=rows)))
    if X.any():
        compare("LDA", case, X, X[X.any(axis=1)][:5])


@pytest.mark.parametrize("batch", [50, 64])
def test_equals_the_paper_on_reuters(batch):
    """300 documents, with a full or a partial last batch."""
    learner("LDA")
    X = reuters(350, words=500)
    compare("LDA", {"n_topics": 6, "batch": batch, "total": 395}, X[:300], X[300:320])


def test_small_priors():
    """exp(psi(0.001)) is 0 in floating point; the ratios of phi are not."""
    case = {"n_topics": 4, "alpha": 0.01, "eta": 0.001, "batch": 20, "tau0": 1.0}
    compare("LDA", case, documents(3), documents(4, n=12))


# ---- the E-step and the bound


@both
def test_e_step_is_a_slow_loop(make):
    """gamma by phi_wk ~ exp(E[log theta_k] + E[log beta_kw]), a word at a time, as the paper writes it."""
    alpha, X = np.array([0.7, 0.2, 0.4]), documents(5)
    model = make("LDA", n_topics=3, alpha=alpha, batch=20, n_features=30, iterations=12, tolerance=0.0).learn_all(X)
    lam = model.components()
    for x in X[:6]:
        gamma = np.ones(3)
        for _ in range(12):
            total = alpha.copy()
            for w in np.flatnonzero(x):
                phi = [np.exp(digamma(gamma[k]) - digamma(gamma.sum()) + digamma(lam[k, w]) - digamma(lam[k].sum()))
                       for k in range(3)]  # fmt: skip
                total += x[w] * np.array(phi) / sum(phi)
            gamma = total
        close(model.transform(x[None, :])[0], gamma / gamma.sum())


@both
def test_the_bound_never_falls(make):
    """Another iteration never lowers the bound."""
    X, last = documents(6), -np.inf
    case = {"n_topics": 4, "batch": 60, "n_features": 30, "total": 60, "tolerance": 0.0, "tau0": 1.0}
    if make is Paper:
        model = make("LDA", **case).learn_all(X).model
        for x in X[X.any(axis=1)][:25]:
            trace = []
            model.document(x, trace)
            assert len(trace) == 100
            assert (np.diff(trace) >= -1e-9).all()
        return
    for iterations in range(1, 25):
        model = make("LDA", iterations=iterations, **case).learn_all(0 * X)  # the same topics for all
        now = model.score(X)
        assert (now >= last - 1e-12).all()
        last = now


def test_the_bound_is_below_the_likelihood():
    """Of one topic the bound is that of a Dirichlet alone; of several, below log p(x | E beta) at the best theta."""
    X = documents(7)[:5]
    one = Paper("LDA", n_topics=1, n_features=30, alpha=0.5)
    lam = one.components()[0]
    log_beta = digamma(lam) - digamma(lam.sum())
    close([one.model.bound(x) for x in X], [x @ log_beta for x in X])
    several = Paper("LDA", n_topics=4, n_features=30, iterations=300, tolerance=1e-9)
    rng, beta = np.random.default_rng(0), several.components()
    beta = beta / beta.sum(axis=1, keepdims=True)
    for x in X:
        draws = rng.dirichlet(np.full(4, 0.25), 4000) @ beta[:, x > 0]
        logs = np.log(draws) @ x[x > 0]
        assert several.model.bound(x) <= np.log(np.exp(logs - logs.max()).mean()) + logs.max() + 0.05


# ---- lambda


@both
def test_lambda_in_closed_form(make):
    """After batches 1, ..., t lambda is the initial one and every lambda~, weighted by rho and the later 1 - rho."""
    X, eta, size = documents(8, n=60), 0.1, 15
    case = {"n_topics": 3, "eta": eta, "batch": size, "kappa": 0.6, "tau0": 2.0, "n_features": 30}
    rho = (2.0 + np.arange(1, 5)) ** -0.6
    first = Paper("LDA", **case).components()
    total = np.prod(1 - rho) * first
    for t in range(4):
        before = Paper("LDA", **case).learn_all(X[: size * t]).model
        sums = np.zeros((3, 30))
        for x in X[size * t : size * (t + 1)]:
            ids, _, phi, _ = before.document(x)
            sums[:, ids] += phi * x[ids]
        target = eta + size * (t + 1) / size * sums  # D is what has been seen
        total = total + rho[t] * np.prod(1 - rho[t + 1 :]) * target
        if t:
            close(make("LDA", **case).learn_all(X[: size * t]).components(), before.components())
    close(make("LDA", **case).learn_all(X).components(), total)


@both
def test_mass_of_the_topics(make):
    """With rho = 1, lambda is eta plus D / S times the words of the batch; the topics share out every word."""
    X = documents(9)[:10]
    model = make("LDA", n_topics=4, eta=0.2, tau0=0.0, batch=10, total=1000, n_features=30).learn_all(X)
    close((model.components() - 0.2).sum(axis=0), 100 * X.sum(axis=0))


@both
def test_an_open_batch_is_shown_closed(make):
    """37 documents of a batch of 50 look like one batch of 37, and looking does not change later learning."""
    X = documents(10)
    case = {"n_topics": 3, "n_features": 30}
    model = make("LDA", batch=50, **case).learn_all(X[:37])
    other = make("LDA", batch=37, **case).learn_all(X[:37])
    close(model.components(), other.components())
    close(model.score(X[40:]), other.score(X[40:]))
    close(model.learn_all(X[37:]).components(), make("LDA", batch=50, **case).learn_all(X).components())


def test_first_topics():
    """Gamma(100, 1/100) numbers that depend only on the seed, the topic and the word."""
    one, other = (Paper("LDA", n_topics=5, n_features=n, seed=3).components() for n in (400, 7))
    assert kstest(one.ravel(), gamma_law(100, scale=0.01).cdf).pvalue > 1e-3
    assert (one[:, :7] == other).all()
    assert not np.allclose(Paper("LDA", n_topics=5, n_features=7, seed=4).components(), other)


# ---- words


@both
def test_words_that_come_later(make):
    """The widths of the blocks have no effect; a new word has the lambda of a word known from the start."""
    X = documents(11)
    case = {"n_topics": 3, "batch": 20}
    whole, parts = make("LDA", **case).learn_all(X), make("LDA", **case)
    for begin in range(0, 60, 15):
        block = X[begin : begin + 15]
        parts.learn_all(block[:, : int(np.flatnonzero(block.any(axis=0)).max()) + 1])
    width = parts.components().shape[1]
    close(parts.components(), whole.components()[:, :width])
    close(parts.transform(X[-9:]), whole.transform(X[-9:]))
    late = make("LDA", batch=20, n_topics=3).learn_all(X[:40, :8] * (X[:40, :8] >= 0))
    wide = np.zeros((1, 30))
    wide[0, [2, 29]] = 1
    fixed = Paper("LDA", batch=20, n_topics=3, n_features=30).learn_all(0 * X[:40])
    late.learn_all(wide)
    for _ in range(19):
        late.learn_all(wide)
    assert late.components().shape[1] == 30
    rho = (10.0 + 3) ** -0.7
    untouched = (1 - rho) * fixed.components()[:, 20] + rho / 3
    close(late.components()[:, 20], untouched)


@both
def test_unknown_words_join_for_one_document(make):
    X = documents(12)
    model = make("LDA", n_topics=3, batch=1).learn_all(X[:30])
    stranger = np.zeros((1, 60))
    stranger[0, [1, 59]] = 2, 3
    before = model.score(X[30:31])
    alone = model.score(stranger)
    assert np.isfinite(alone).all()
    assert model.score(X[30:31]) == before
    other = Paper("LDA", n_topics=3, batch=1).learn_all(X[:30])
    assert -other.model.learn(stranger[0]) == pytest.approx(alone[0], rel=1e-9)


def test_named_words():
    """Words of dicts are numbered in order of arrival; `topics` names them, the most likely first."""
    X = documents(13)
    X[0, :8] = 1
    order = list(dict.fromkeys(int(w) for x in X for w in np.flatnonzero(x)))
    cls = learner("LDA")
    model, other = cls(n_topics=3, batch=10), cls(n_topics=3, batch=10).partial_fit(X[:, order])
    for x in X:
        model.learn_one({f"w{j}": float(x[j]) for j in order if x[j]})
    close(
        model.transform_one({f"w{j}": float(X[5, j]) for j in np.flatnonzero(X[5])}), other.transform(X[5:6, order])[0]
    )
    beta = other.components_ / other.components_.sum(axis=1, keepdims=True)
    for k, topic in enumerate(model.topics(4)):
        assert [word for word, _ in topic] == [f"w{order[j]}" for j in np.argsort(-beta[k], kind="stable")[:4]]
        weights = np.array([weight for _, weight in topic])
        assert (np.diff(weights) <= 0).all()


# ---- scikit-learn


def theirs(case, lam, exact):
    """scikit-learn's from the same lambda; `exact` starts its gamma at 1, as ours."""
    other = LatentDirichletAllocation(
        case["n_topics"], doc_topic_prior=case.get("alpha"), topic_word_prior=case.get("eta"), learning_method="online",
        learning_decay=case.get("kappa", 0.7), learning_offset=case.get("tau0", 10.0), batch_size=case["batch"],
        total_samples=case["total"], max_doc_update_iter=case["iterations"], mean_change_tol=case["tolerance"],
        random_state=0)  # fmt: skip
    other._init_latent_vars(lam.shape[1])
    other.components_ = lam.copy()
    other.exp_dirichlet_component_ = np.exp(papers.expected_log(lam))
    other.n_features_in_ = lam.shape[1]
    if exact:
        step = other._e_step
        other._e_step = lambda X, cal_sstats, random_init, parallel=None: step(X, cal_sstats, False, parallel)
    return other


@both
@pytest.mark.parametrize("exact", [True, False], ids=["gamma from 1", "gamma from random numbers"])
def test_equals_scikit_learn(make, exact):
    """Three batches, then topics, documents and perplexity; its perplexity has the terms of the topics too."""
    X, probe = documents(14, n=60), documents(15, n=20)
    case = {"n_topics": 4, "batch": 20, "total": 500, "iterations": 100, "tolerance": 1e-3, "alpha": 0.3, "eta": 0.2}
    if not exact:  # only where it has converged does the start not matter
        case |= {"iterations": 3000, "tolerance": 1e-13, "alpha": 1.5}
    model = make("LDA", n_features=30, **case)
    other = theirs(case, Paper("LDA", n_features=30, **case).components(), exact)
    tolerance = 1e-7 if exact else 1e-5  # its psi is good to 1e-9
    for begin in range(0, 60, 20):
        model.learn_all(X[begin : begin + 20])
        other.partial_fit(csr_matrix(X[begin : begin + 20]))
        assert np.abs(model.components() / other.components_ - 1).max() < tolerance
    assert np.abs(model.transform(probe) - other.transform(probe)).max() < tolerance
    words = probe.sum()
    bound = -np.log(model.perplexity(probe)) * words + papers.topics_bound(model.components(), 0.2)
    assert np.exp(-bound / words) == pytest.approx(other.perplexity(probe), rel=10 * tolerance)


@both
def test_perplexity_of_reuters_beside_scikit_learn(make):
    """Each as it comes, scikit-learn's gamma from random numbers, two passes: at most 2% more (it is less here)."""
    X = reuters(words=400)
    train, probe = X[:320], X[320:]
    case = {"n_topics": 8, "batch": 64, "total": 320, "iterations": 40, "tolerance": 1e-3}
    model = make("LDA", n_features=400, **case)
    other = theirs(case, Paper("LDA", n_features=400, **case).components(), False)
    for _ in range(2):
        model.learn_all(train)
        other.partial_fit(csr_matrix(train))
    bound = -np.log(model.perplexity(probe)) * probe.sum() + papers.topics_bound(model.components(), 1 / 8)
    assert np.exp(-bound / probe.sum()) < 1.02 * other.perplexity(probe)
    assert model.perplexity(probe) < 0.8 * Paper("LDA", n_features=400, **case).perplexity(probe)


# ---- what it is for


@both
def test_planted_topics_are_found(make):
    X, beta = planted(16)
    model = make("LDA", n_topics=5, batch=32, tau0=1.0, seed=1).learn_all(X)
    assert recovered(model.components(), beta) > 0.97
    shares = model.transform(X[-50:])
    close(shares.sum(axis=1), np.ones(50))
    assert (shares.max(axis=1) > 0.6).mean() > 0.5


@both
def test_progressive_loss_falls(make):
    X, _ = planted(17)
    if make is Ours:
        learner("LDA")
        run = seriatim.evaluate.progressive(learner("LDA")(n_topics=5, batch=32, tau0=1.0), X, at=[100, 600])
        curve = [loss for _, loss in run.curve]
        assert curve[1] < 0.9 * curve[0]
    else:
        losses = make("LDA", n_topics=5, batch=32, tau0=1.0).learn_all(X).losses
        assert np.mean(losses[-100:]) < 0.8 * np.mean(losses[:32])


def test_negative_counts_are_refused():
    model = Ours("LDA", n_topics=3, batch=4).learn_all(documents(18)).model
    bad = documents(19, n=5)
    bad[3, 2] = -1
    for rows in (bad, csr_matrix(bad)):
        with Unchanged(model), pytest.raises(DataError):
            model.partial_fit(rows)
        with pytest.raises(DataError):
            model.transform(rows)


def test_beyond_a_fixed_vocabulary():
    model = Ours("LDA", n_topics=3, n_features=30).learn_all(documents(20)).model
    with Unchanged(model), pytest.raises(DataError):
        model.partial_fit(np.ones((2, 31)))


def test_save_and_load(tmp_path):
    """A model saved within a batch resumes bit for bit."""
    X = documents(21)
    model = Ours("LDA", n_topics=3, batch=16).learn_all(X[:37]).model
    model.save(tmp_path / "model")
    other = seriatim.load(tmp_path / "model")
    for one in (model, other):
        one.partial_fit(X[37:])
    assert (model.components_ == other.components_).all()
    assert (model.transform(X) == other.transform(X)).all()


# ---- priors, words of texts, state


def test_priors_of_topics():
    """One for each, or those of gensim's `asymmetric`; anything else is refused before the first document."""
    X, cls = documents(22), learner("LDA")
    k = np.arange(4)
    prior = 1 / (k + 2) / (1 / (k + 2)).sum()
    one, other = (cls(n_topics=4, batch=16, alpha=alpha).fit(X) for alpha in ("asymmetric", prior))
    assert (one.components_ == other.components_).all()
    assert not np.allclose(one.components_, cls(n_topics=4, batch=16).fit(X).components_)
    for bad in ([0.1, 0.2], "symmetric", 0.0, [0.1, 0.2, 0.3, -1.0], [[0.1] * 4]):
        with pytest.raises(ParameterError, match="alpha"):
            cls(n_topics=4, alpha=bad).fit(X)


def test_texts_and_hashes():
    """Words of texts have names, hashed words have columns. A model ignores words that it does not know."""
    texts = ["goal match goal team", "oil price oil barrel", "team goal match", "barrel oil price"] * 20
    named = learner("LDA")(n_topics=2, batch=8, tau0=1.0, features=Features(text=["t"]))
    hashed = learner("LDA")(n_topics=2, batch=8, tau0=1.0, features=Features(text=["t"], bits=12))
    for text in texts:
        named.learn_one({"t": text})
        hashed.learn_one({"t": text})
    words = [{word for word, _ in topic} for topic in named.topics(3)]
    assert {frozenset(topic) for topic in words} == {
        frozenset({"t=goal", "t=match", "t=team"}),
        frozenset({"t=oil", "t=price", "t=barrel"}),
    }
    assert all(0 <= column < 4096 for topic in hashed.topics(3) for column, _ in topic)
    assert len(hashed._learner.vocabulary()) == 6  # of 4096 columns only those with words take room
    sport, trade = (named.transform_one({"t": text}) for text in texts[:2])
    assert np.argmax(sport) != np.argmax(trade)
    assert (named.transform_one({"t": "goal zebra"}) == named.transform_one({"t": "goal"})).all()


def test_lists_of_documents_are_told_the_way():
    for X, way in (([{"word": 1.0}], r"list of dicts.*frame.*learn_one"), (["some words"], r"texts.*frame.*learn_one")):
        with pytest.raises(DataError, match=way):
            learner("LDA")(n_topics=2).partial_fit(X)


def test_broken_states_are_refused():
    """Each array of a model is looked at before anything is done with it."""
    X = documents(23)
    state = Ours("LDA", n_topics=3, batch=16).learn_all(X[:40]).model.__getstate__()
    for name, change in {
        "words": lambda a: a[:-1], "table": lambda a: a[:, :2], "sums": lambda a: -1e9 + 0 * a,
        "mass": lambda a: -1 - a, "open_words": lambda a: a + 1000, "open_sums": lambda a: a * np.nan,
        "scale": lambda a: -1.0,
    }.items():  # fmt: skip
        broken = {**state, "state": {**state["state"], name: change(state["state"][name])}}
        with pytest.raises(ModelError):
            learner("LDA").__new__(learner("LDA")).__setstate__(broken)
    for name, column in (("words", 0), ("open_words", 0)):
        twice = state["state"][name].copy()
        twice[1] = twice[column]
        with pytest.raises(ModelError):
            learner("LDA").__new__(learner("LDA")).__setstate__({**state, "state": {**state["state"], name: twice}})


def test_how_many_words_and_topics():
    model = Ours("LDA", n_topics=3, n_features=30).learn_all(documents(24)).model
    assert [len(topic) for topic in model.topics(100, 2)] == [30, 30]
    for wrong in ({"n_words": 0}, {"n_words": -1}, {"n_words": 2.5}, {"n_words": "a"}, {"n_topics": 0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            model.topics(**wrong)


def newsgroups(n, rare=20):
    """Counts of words in n messages, of those in `rare` of them at least and half of them at most."""
    with gzip.open(data_set("20newsgroups/20news-bydate-train.jsonl.gz"), "rt") as file:
        texts = [json.loads(line)["text"].lower() for line in file]
    bags = [Counter(re.findall("[a-z]{3,}", texts[d])) for d in np.random.default_rng(0).permutation(len(texts))[:n]]
    often = Counter(word for bag in bags for word in bag)
    place = {word: w for w, word in enumerate(sorted(word for word, c in often.items() if rare <= c <= n / 2))}
    X = lil_matrix((n, len(place)))
    for d, bag in enumerate(bags):
        for word, count in bag.items():
            if word in place:
                X[d, place[word]] = count
    return csr_matrix(X)


def test_perplexity_of_newsgroups_beside_scikit_learn():
    """Each as it comes, in one pass: within 2% of each other, and far below what they began with."""
    learner("LDA")
    X = newsgroups(2400)
    train, probe, n = X[:2000], X[2000:], X.shape[1]
    case = {"n_topics": 10, "batch": 128, "total": 2000, "iterations": 100, "tolerance": 1e-3}
    model = learner("LDA")(n_features=n, **case).partial_fit(0 * train[:1])
    first = model.perplexity(probe)
    model = learner("LDA")(n_features=n, **case).partial_fit(train)
    other = theirs(case, Paper("LDA", n_features=n, **case).components(), False)
    for begin in range(0, 2000, 128):
        other.partial_fit(train[begin : begin + 128])
    words = probe.sum()
    bound = -np.log(model.perplexity(probe)) * words + papers.topics_bound(model.components_, 1 / 10)
    assert np.exp(-bound / words) == pytest.approx(other.perplexity(probe), rel=0.02)
    assert model.perplexity(probe) < 0.8 * first
