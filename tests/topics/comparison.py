"""Compare topic models with their transcriptions on streams of documents."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from seriatim import evaluate
from tests.conftest import data_set
from tests.learners import learner
from tests.reference import topics as papers


def name_of(case):
    return "-".join(map(str, case.values())) or "usual"


class Paper:
    """A transcription."""

    def __init__(self, name, **parameters):
        self.model = getattr(papers, name)(**parameters)

    def learn_all(self, X):
        self.losses = [self.model.learn(x) for x in X]
        return self

    def components(self):
        return self.model.components()

    def transform(self, X):
        return np.array([self.model.transform(x) for x in X])

    def score(self, X):
        return np.array([self.model.score(x) for x in X])

    def perplexity(self, X):
        return self.model.perplexity(X)

    def weights(self):
        return self.model.shown().weights()

    def sticks(self):
        return self.model.shown().sticks


class Ours:
    """A model of the library with the interface of the transcription."""

    def __init__(self, name, **parameters):
        self.model = learner(name)(**parameters)

    def learn_all(self, X):
        self.model.partial_fit(X)
        return self

    def components(self):
        return self.model.components_

    def transform(self, X):
        return self.model.transform(X)

    def score(self, X):
        return self.model.score_samples(X)

    def perplexity(self, X):
        return self.model.perplexity(X)

    def weights(self):
        return self.model.topic_weights_

    def sticks(self):
        return self.model.sticks_


both = pytest.mark.parametrize("make", [Paper, Ours], ids=["paper", "ours"])


def close(ours, theirs, scale=0.0):
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max(initial=0) <= 1e-9 * max(scale, np.abs(theirs).max(initial=0)), (ours, theirs)


def in_chunks(model, X, size):
    for begin in range(0, X.shape[0], size):
        model.partial_fit(X[begin : begin + size])
    return model


WAYS = {
    "dense, one call": lambda model, X: model.partial_fit(X),
    "dense, by 7": lambda model, X: in_chunks(model, X, 7),
    "sparse, one call": lambda model, X: model.partial_fit(csr_matrix(X)),
    "sparse, by 1": lambda model, X: in_chunks(model, csr_matrix(X), 1),
}


def compare(name, case, X, probe):
    """Compare topics, documents and scores for all ways to feed the stream, and the progressive loss of each row."""
    cls, paper = learner(name), Paper(name, **case).learn_all(X)
    expected = paper.components(), paper.transform(probe), paper.score(probe), paper.perplexity(probe)
    for feed in WAYS.values():
        model = cls(**case)
        feed(model, X)
        assert model.t_ == len(X)
        close(model.components_, expected[0])
        for rows in (probe, csr_matrix(probe)):
            close(model.transform(rows), expected[1])
            close(model.score_samples(rows), expected[2])
            assert model.perplexity(rows) == pytest.approx(expected[3], rel=1e-9)
        close(model.components_, expected[0])  # reading changes nothing
    run = evaluate.progressive(cls(**case), X)
    assert run.mean_loss == pytest.approx(np.mean(paper.losses), rel=1e-9)
    close(run.model.components_, expected[0])
    return Ours.__new__(Ours), paper


def documents(seed, n=60, words=30, topics=4, length=25):
    """Counts from a mixture of sparse topics, with an empty document and new words until the end."""
    rng = np.random.default_rng(seed)
    beta, theta = rng.dirichlet(np.full(words, 0.2), topics), rng.dirichlet(np.full(topics, 0.3), n)
    X = np.array([rng.multinomial(rng.poisson(length) + 1, theta[d] @ beta) for d in range(n)], dtype=float)
    for d in range(n):
        X[d, max(8, 2 * words * d // n) :] = 0
    X[n // 3] = 0
    return X


def planted(seed, n=600, topics=5, each=6):
    """Documents from disjoint topics, and the topics."""
    rng = np.random.default_rng(seed)
    beta = np.kron(np.eye(topics), np.ones(each)) / each
    theta = rng.dirichlet(np.full(topics, 0.15), n)
    return np.array([rng.multinomial(40, theta[d] @ beta) for d in range(n)], dtype=float), beta


def recovered(components, beta):
    """The smallest, over the planted topics, of the largest cosine with a learned topic."""
    A = components / np.linalg.norm(components, axis=1, keepdims=True)
    return float((A @ (beta / np.linalg.norm(beta, axis=1, keepdims=True)).T).max(axis=0).min())


def reuters(n=395, words=None):
    """The counts of the `words` most frequent words in the Reuters documents."""
    lines = data_set("reuters-lda/reuters.ldac").read_text().splitlines()[:n]
    pairs = [[pair.split(":") for pair in line.split()[1:]] for line in lines]
    X = np.zeros((len(lines), 1 + max(int(w) for doc in pairs for w, _ in doc)))
    for d, doc in enumerate(pairs):
        for w, count in doc:
            X[d, int(w)] = float(count)
    return X if words is None else X[:, np.sort(np.argsort(-X.sum(axis=0), kind="stable")[:words])]
