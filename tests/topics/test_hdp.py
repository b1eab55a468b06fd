"""The online HDP: equal to its transcription, and that to the formulas of the program of its authors and of gensim.

Where a property is tested of the `paper` and of `ours`, the first shows that the transcription has it.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma, gammaln, logsumexp
from scipy.stats import kstest

import seriatim
from tests.learners import learner
from tests.reference import topics as papers
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


@pytest.mark.parametrize("case", papers.HDP.CASES, ids=name_of)
def test_equals_the_paper(case):
    compare("HDP", case, documents(1), documents(2, n=12))
    model, paper = (make("HDP", **case).learn_all(documents(1)) for make in (Ours, Paper))
    close(model.sticks(), paper.sticks())
    close(model.weights(), paper.weights())


@settings(max_examples=12)
@given(st.data())
def test_equals_the_paper_on_any_stream(data):
    learner("HDP")
    case = data.draw(st.sampled_from([case for case in papers.HDP.CASES if "n_features" not in case]))
    width, rows = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 25))
    counts = st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.5, 30.0]), min_size=width, max_size=width)
    X = np.array(data.draw(st.lists(counts, min_size=rows, max_size=rows)))
    if X.any():
        compare("HDP", case, X, X[X.any(axis=1)][:5])


def test_equals_the_paper_on_reuters():
    learner("HDP")
    X = reuters(250, words=300)
    case = {"max_topics": 20, "doc_topics": 5, "batch": 64, "total": 395, "n_features": 300}
    for start in ("uniform", "best"):
        compare("HDP", {**case, "start": start}, X[:200], X[200:215])


# ---- the formulas of the authors' program


def log_normalised(A):
    return A - logsumexp(A, axis=1, keepdims=True)


def sticks_of_gensim(sticks):
    whole, logs = digamma(sticks[0] + sticks[1]), np.zeros(sticks.shape[1] + 1)
    for k in range(len(logs)):
        logs[k] = digamma(sticks[0, k]) - whole[k] if k < len(whole) else 0
        logs[k] += sum(digamma(sticks[1, j]) - whole[j] for j in range(k))
    return logs


class Gensim:
    """What gensim's HdpModel computes for a chunk: lambda lags behind for the words not in it, by a running log.

    It stops where the bound grows by at most 1e-4; the program goes on where it falls, which is where rounding says so.
    """

    def __init__(self, lam, T, K, alpha, gamma, eta, tau, kappa, D):
        self.T, self.K, self.alpha, self.gamma, self.eta, self.tau, self.kappa, self.D = (
            T, K, alpha, gamma, eta, tau, kappa, D)  # fmt: skip
        self.lam, self.sums, self.W = lam.copy(), lam.sum(axis=1), lam.shape[1]
        self.sticks = np.array([np.ones(T - 1), np.arange(T - 1.0, 0, -1)])
        self.used, self.r, self.stamp, self.t = np.zeros(T), [0.0], np.zeros(self.W, int), 0

    def document(self, ids, counts, log_beta):
        corpus, old = sticks_of_gensim(self.sticks), -1e200
        phi, converge, i = np.ones((len(ids), self.K)) / self.K, 1.0, 0
        while i < 100 and converge > 1e-4:
            lv = log_normalised(phi.T @ (log_beta * counts).T + (corpus if i >= 3 else 0))
            lp = log_normalised((np.exp(lv) @ log_beta).T + (own if i >= 3 else 0))  # noqa: F821
            varphi, phi = np.exp(lv), np.exp(lp)
            mass = (phi * counts[:, None]).sum(axis=0)
            v = np.array([1 + mass[:-1], [self.alpha + mass[k + 1 :].sum() for k in range(self.K - 1)]])
            own = sticks_of_gensim(v)
            bound = ((corpus - lv) * varphi).sum() + (self.K - 1) * np.log(self.alpha)
            bound += ((np.array([[1.0], [self.alpha]]) - v) * (digamma(v) - digamma(v.sum(axis=0)))).sum()
            bound -= gammaln(v.sum(axis=0)).sum() - gammaln(v).sum()
            bound += ((own - lp) * phi).sum() + (phi.T * (varphi @ (log_beta * counts))).sum()
            converge, old, i = (bound - old) / abs(old), bound, i + 1
        return varphi, phi, bound

    def chunk(self, X):
        words = np.flatnonzero(X.any(axis=0))
        self.lam[:, words] *= np.exp(self.r[-1] - np.array(self.r)[self.stamp[words]])
        log_beta = digamma(self.eta + self.lam) - digamma(self.W * self.eta + self.sums[:, None])
        used, counted = np.zeros(self.T), np.zeros_like(self.lam)
        for x in X:
            ids = np.flatnonzero(x)
            if len(ids):
                varphi, phi, _ = self.document(ids, x[ids], log_beta[:, ids])
                used += varphi.sum(axis=0)
                counted[:, ids] += varphi.T @ (phi.T * x[ids])
        rho = (self.tau + 1 + self.t) ** -self.kappa
        self.lam[:, words] = (1 - rho) * self.lam[:, words] + rho * self.D / len(X) * counted[:, words]
        self.sums = (1 - rho) * self.sums + rho * self.D / len(X) * counted.sum(axis=1)
        self.t += 1
        self.stamp[words] = self.t
        self.r.append(self.r[-1] + np.log(1 - rho))
        self.used = (1 - rho) * self.used + rho * self.D / len(X) * used
        order = np.argsort(-self.sums)
        self.used, self.lam, self.sums = self.used[order], self.lam[order], self.sums[order]
        self.sticks = np.array([1 + self.used[:-1], [self.gamma + self.used[k + 1 :].sum() for k in range(self.T - 1)]])

    def topics(self):
        return self.lam * np.exp(self.r[-1] - np.array(self.r)[self.stamp]) + self.eta


@both
@pytest.mark.parametrize("tau, kappa", [(64.0, 1.0), (1.0, 0.7)])
def test_equals_the_formulas_of_gensim(make, tau, kappa):
    """No word twice in a document, where its bound is one; words that are not in a batch decay when they are."""
    X = np.minimum(documents(3, n=80), 1)
    case = {"alpha": 0.7, "gamma": 1.5, "eta": 0.05, "tau": tau, "kappa": kappa}
    model = make("HDP", max_topics=9, doc_topics=4, batch=16, n_features=30, total=80, start="uniform", **case)
    first = Paper("HDP", max_topics=9, doc_topics=4, n_features=30, total=80, **case).model.lam
    other = Gensim(first, 9, 4, D=80, **case)
    for begin in range(0, 80, 16):
        model.learn_all(X[begin : begin + 16])
        other.chunk(X[begin : begin + 16])
        close(model.components(), other.topics())
        close(model.sticks(), other.sticks)


def test_where_gensim_stops():
    """From "uniform" all topics of a document stay equal, and the bound stays far below that from "best"."""
    x = np.minimum(documents(4)[10], 1)
    case = {"max_topics": 6, "doc_topics": 3, "n_features": 30, "total": 60}
    trace = []
    _, varphi, _, bound = Paper("HDP", start="uniform", **case).model.document(x, trace)
    assert len(trace) == 2
    assert trace[0] == pytest.approx(trace[1], rel=1e-12)
    assert np.ptp(varphi, axis=0).max() < 1e-9
    assert Paper("HDP", start="best", **case).model.document(x)[3] > bound + 1


# ---- sticks, order, and what is left of the beginning


@both
def test_the_bound_never_falls(make):
    """Another iteration never lowers the bound."""
    X, last = documents(5), -np.inf
    case = {"max_topics": 8, "doc_topics": 4, "n_features": 30, "total": 60, "batch": 60, "start": "best"}
    if make is Paper:
        for x in X[[0, 3, 7, 30]]:
            trace = []
            make("HDP", tolerance=0.0, iterations=50, **case).model.document(x, trace)
            assert len(trace) > 5
            assert (np.diff(trace) >= -1e-9 * abs(trace[0])).all()
        return
    for iterations in range(1, 20):
        model = make("HDP", tolerance=0.0, iterations=iterations, **case).learn_all(0 * X)
        now = model.score(X)
        assert (now >= last - 1e-9).all()
        last = now


def test_e_step_is_a_slow_loop():
    """varphi, phi and the sticks, computed one number at a time."""
    T, K, alpha, x = 4, 3, 0.8, documents(6)[4]
    case = {"max_topics": T, "doc_topics": K, "n_features": 30, "total": 60, "alpha": alpha, "start": "best"}
    model = Paper("HDP", iterations=6, tolerance=-1.0, **case).model
    ids, varphi, phi, _ = model.document(x)
    lam, n = model.lam, len(ids)

    def normalised(rows):
        return [[np.exp(a - max(row)) / sum(np.exp(b - max(row)) for b in row) for a in row] for row in rows]

    E = [[digamma(0.01 + lam[k, w]) - digamma(0.3 + lam[k].sum()) for w in ids] for k in range(T)]
    corpus, own = sticks_of_gensim(model.sticks), [0.0] * K
    shares = normalised([[E[k][w] + corpus[k] for k in range(T)] for w in range(n)])
    mass = [sum(x[ids[w]] * shares[w][k] for w in range(n)) for k in range(T)]
    top = sorted(range(T), key=lambda k: -mass[k])[:K]
    p = normalised([[E[k][w] + np.log(mass[k]) for k in top] for w in range(n)])
    for _ in range(6):
        q = [[sum(p[w][j] * E[k][w] * x[ids[w]] for w in range(n)) + corpus[k] for k in range(T)] for j in range(K)]
        q = normalised(q)
        p = [[sum(q[j][k] * E[k][w] for k in range(T)) + own[j] for j in range(K)] for w in range(n)]
        p = normalised(p)
        used = [sum(x[ids[w]] * p[w][j] for w in range(n)) for j in range(K)]
        v = [[1 + used[j], alpha + sum(used[j + 1 :])] for j in range(K - 1)]
        own = sticks_of_gensim(np.array(v).T)
    close(varphi, q)
    close(phi, p)


@both
def test_sticks_and_order(make):
    """Weights sum to 1; topics are sorted by mass; the first sticks are 1 and T - 1, ..., 1."""
    X = documents(7)
    model = make("HDP", max_topics=8, doc_topics=3, batch=20).learn_all(X[:0] if make is Paper else 0 * X[:1])
    if make is Paper:
        close(model.sticks(), [np.ones(7), np.arange(7, 0, -1)])
        close(model.weights(), np.full(8, 1 / 8))  # 1/8, then 1/7 of the rest, ...
    model = make("HDP", max_topics=8, doc_topics=3, batch=20).learn_all(X)
    known = X.any(axis=0)
    mass = model.components()[:, : X.shape[1]][:, known].sum(axis=1)
    assert (np.diff(mass) <= 0).all()
    weights, (a, b) = model.weights(), model.sticks()
    assert weights.sum() == pytest.approx(1)
    close(weights[:-1], a / (a + b) * np.append(1, np.cumprod(b / (a + b))[:-1]))
    close(a + b - 2, (a - 1)[::-1].cumsum()[::-1] + (b[-1] - 1))  # of gamma = 1: what is used from here on


@both
def test_lazy_decay(make):
    """A word that is in no batch has prod (1 - rho) of its initial lambda, plus eta."""
    X = documents(8)
    X[:, 20] = 0
    case = {"max_topics": 5, "doc_topics": 3, "n_features": 30, "total": 60, "tau": 4.0, "eta": 0.02}
    first = Paper("HDP", **case).model.lam[:, 20]
    model = make("HDP", batch=10, **case).learn_all(X)
    left = np.prod(1 - 1 / (4.0 + np.arange(1, 7)))
    close(np.sort(model.components()[:, 20]), np.sort(left * first) + 0.02)


def test_first_topics():
    """c Exp(1) numbers that depend only on the seed, the number of the topic and the word."""
    one, other = (Paper("HDP", max_topics=20, doc_topics=3, n_features=n, initial=2.0, seed=3) for n in (100, 7))
    assert kstest(one.components().ravel() / 2, "expon").pvalue > 1e-3
    assert (one.components()[:, :7] == other.components()).all()
    known = Paper("HDP", max_topics=20, doc_topics=3, n_features=50, total=300).components()
    assert known.mean() == pytest.approx(
        100 * 300 / 50 / 20, rel=0.15
    )  # of a thousand numbers, more than four standard errors


# ---- words


@both
def test_words_that_come_later(make):
    """The widths of the blocks have no effect, also after topics were sorted."""
    X = documents(9)
    case = {"max_topics": 6, "doc_topics": 3, "batch": 20, "tau": 1.0}
    whole, parts = make("HDP", **case).learn_all(X), make("HDP", **case)
    for begin in range(0, 60, 15):
        block = X[begin : begin + 15]
        parts.learn_all(block[:, : int(np.flatnonzero(block.any(axis=0)).max()) + 1])
    width = parts.components().shape[1]
    close(parts.components(), whole.components()[:, :width])
    close(parts.transform(X[-9:]), whole.transform(X[-9:]))
    close(parts.sticks(), whole.sticks())


@both
def test_an_open_batch_is_shown_closed(make):
    X, case = documents(10), {"max_topics": 6, "doc_topics": 3}
    model = make("HDP", batch=50, **case).learn_all(X[:37])
    other = make("HDP", batch=37, **case).learn_all(X[:37])
    close(model.components(), other.components())
    close(model.score(X[40:]), other.score(X[40:]))
    close(model.learn_all(X[37:]).components(), make("HDP", batch=50, **case).learn_all(X).components())


# ---- what it is for


@both
def test_planted_topics_are_found(make):
    """Of 15 topics the model uses the five planted ones."""
    X, beta = planted(11)
    model = make("HDP", max_topics=15, doc_topics=6, batch=32, tau=1.0, kappa=0.7, initial=6.0, seed=1).learn_all(X)
    assert recovered(model.components(), beta) > 0.9
    assert np.sort(model.weights())[::-1][:9].sum() > 0.9
    shares = model.transform(X[-50:])
    close(shares.sum(axis=1), np.ones(50))


@both
def test_perplexity_falls(make):
    X = reuters(300, words=300)
    case = {"max_topics": 20, "doc_topics": 5, "batch": 32, "tau": 1.0, "kappa": 0.7}
    few, many = (make("HDP", n_features=300, **case).learn_all(X[:n]) for n in (32, 256))
    assert many.perplexity(X[270:]) < 0.9 * few.perplexity(X[270:])


def test_save_and_load(tmp_path):
    X = documents(12)
    model = Ours("HDP", max_topics=6, doc_topics=3, batch=16).learn_all(X[:37]).model
    model.save(tmp_path / "model")
    other = seriatim.load(tmp_path / "model")
    for one in (model, other):
        one.partial_fit(X[37:])
    assert (model.components_ == other.components_).all()
    assert (model.transform(X) == other.transform(X)).all()


def test_no_more_topics_of_a_document_than_there_are():
    X = documents(13)
    one, other = (Ours("HDP", max_topics=4, doc_topics=k).learn_all(X) for k in (4, 15))
    assert (one.components() == other.components()).all()
