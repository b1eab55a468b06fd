"""Topics of a stream of documents, transcribed from their papers: every expectation of every topic anew.

A document is a vector of counts n_w >= 0, longer than those before where it has new columns. Decisions for both models:
- Documents are learned one after another with the topics of the last closed batch; `batch` documents close one. A
  batch needs only its sums, so that no document is kept and the division of a stream into calls does not matter.
- What is shown (topics, transform, bounds) is what the open batch would give if it were closed now, of as many
  documents as it has. Nothing is lost where a stream ends, and reading changes nothing. The loss that `learn` returns,
  the progressive one, is that of the E-step of learning: of the topics of the last closed batch.
- rho_t counts closed batches from t = 1, as scikit-learn and gensim's HDP do (Hoffman's code: from 0).
- The number of documents D is `total`, else the number learned so far, this batch included.
- `n_features` fixes the vocabulary: every word has its share of each topic's sum from the beginning. Without it a
  word counts in the sums from the first document that has it, that one included; its lambda is what it would be had
  it been there from the beginning, with no counts. Words of a document to be transformed or scored that the model
  does not know join for this document alone. So widths of matrices mean nothing: only non-zero counts do.
- A document without words is a document (it counts in D and S); its bound and its loss are 0.
- gamma starts at 1, not at random numbers: what a document gives is a function of the model and the document.
- The loss of a document is minus its variational bound per word, without the terms of the topics themselves (Hoffman
  et al., equation 16); perplexity = exp(- sum of bounds / sum of words). scikit-learn's has those terms too.
"""

import numpy as np
from scipy.special import digamma, gammaln

from tests.reference.budget import Random


def expected_log(a):
    """E[log theta] of theta ~ Dirichlet(a), row by row."""
    return digamma(a) - digamma(a.sum(axis=-1, keepdims=True))


def log_sum(A, axis):
    """log sum exp A."""
    top = A.max(axis=axis, keepdims=True)
    return top + np.log(np.exp(A - top).sum(axis=axis, keepdims=True))


def dirichlet_bound(prior, a):
    """E[log p(theta | prior) - log q(theta | a)], theta ~ q = Dirichlet(a), summed over the rows of a."""
    rows = np.atleast_2d(a)
    normaliser = len(rows) * (gammaln(prior.sum()) - gammaln(prior).sum())
    normaliser += gammaln(rows).sum() - gammaln(rows.sum(axis=1)).sum()
    return normaliser + ((prior - rows) * expected_log(rows)).sum()


def topics_bound(lam, eta):
    """E[log p(beta | eta) - log q(beta | lambda)]: the terms that scikit-learn's perplexity adds."""
    return dirichlet_bound(np.full(lam.shape[1], eta), lam)


def e_step(n, log_beta, alpha, iterations, tolerance, trace=None):
    """(gamma, phi, bound) of a document: n of its words, log_beta (K, words); phi is that of the last gamma."""
    gamma = np.ones(len(alpha))

    def logs():
        log_phi = expected_log(gamma)[:, None] + log_beta
        norm = log_sum(log_phi, 0)
        return np.exp(log_phi - norm), norm[0]

    phi, norm = logs()
    for _ in range(iterations if len(n) else 1):
        last, gamma = gamma, alpha + phi @ n
        phi, norm = logs()
        if trace is not None:
            trace.append(n @ norm + dirichlet_bound(alpha, gamma))
        if np.abs(gamma - last).mean() < tolerance:
            break
    return gamma, phi, n @ norm + dirichlet_bound(alpha, gamma)


class Topics:
    """What LDA and HDP share: words that appear, batches, and the loss of a document."""

    def __init__(self, n_topics, batch, total, n_features, seed):
        self.K, self.batch, self.total, self.n_features, self.random = n_topics, batch, total, n_features, Random(seed)
        self.lam, self.known = np.zeros((n_topics, 0)), np.zeros(0, bool)
        self.left = 1.0  # the product of all 1 - rho: what is left of the initial lambda
        self.t = self.open = self.closed_batches = 0
        self.widen(n_features or 0)

    def widen(self, width):
        """Columns up to `width`, with the lambda that they would have had they been there from the beginning."""
        new = range(self.lam.shape[1], width)
        if len(new):
            first = np.array([[self.initial(k, w) for w in new] for k in map(int, self.topics())])
            self.lam = np.hstack([self.lam, self.rest + self.left * (first - self.rest)])
            self.known = np.append(self.known, np.full(len(new), self.n_features is not None))

    def topics(self):
        """The number by which each topic was called in the beginning."""
        return range(self.K)

    def learn(self, x):
        self.widen(len(x))
        if not self.open:
            self.ss = np.zeros_like(self.lam)
        self.ss = np.hstack([self.ss, np.zeros((self.K, self.lam.shape[1] - self.ss.shape[1]))])
        self.known[: len(x)] |= x > 0
        self.t += 1
        self.open += 1
        loss = self.study(x)
        if self.open == self.batch:
            self.close()
        return loss

    def shown(self):
        """The model with the open batch closed."""
        if not self.open:
            return self
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.close()
        return other

    def joined(self, x):
        """The shown model that knows the words of x."""
        model = self.shown()
        other = object.__new__(type(self))
        other.__dict__.update(model.__dict__)
        other.widen(len(x))
        other.known = other.known.copy()
        other.known[: len(x)] |= x > 0
        return other

    def score(self, x):
        """Minus the loss, of the shown model."""
        return self.joined(x).bound(x) / max(x.sum(), 1e-300)

    def perplexity(self, X):
        return np.exp(-sum(self.joined(x).bound(x) for x in X) / X.sum())


class LDA(Topics):
    """Hoffman, Blei and Bach (2010), algorithm 2. lambda_kw starts at Gamma(100, 1/100), by Wilson and Hilferty's
    (1931) cube of a normal, which at this shape is exact to three digits: (1 - 1/900 + z/30)^3, z the standard normal
    number w K + k of the seed.
    """

    CASES = (
        {"n_topics": 4},
        {"n_topics": 3, "batch": 16, "kappa": 0.9, "tau0": 1.0},
        {"n_topics": 5, "batch": 7, "alpha": 0.4, "eta": 0.05, "total": 300, "seed": 5},
        {"n_topics": 3, "batch": 10, "alpha": (0.9, 0.3, 0.1), "tau0": 0.0, "kappa": 0.6},
        {"n_topics": 4, "batch": 1, "n_features": 30, "iterations": 5, "tolerance": 0.0},
    )

    def __init__(self, n_topics=10, alpha=None, eta=None, kappa=0.7, tau0=10.0, batch=128, total=None, iterations=100,
                 tolerance=1e-3, n_features=None, seed=0):  # fmt: skip
        self.alpha = np.full(n_topics, 1 / n_topics) if alpha is None else np.zeros(n_topics) + alpha
        self.eta = self.rest = 1 / n_topics if eta is None else eta
        self.kappa, self.tau0, self.stop = kappa, tau0, (iterations, tolerance)
        super().__init__(n_topics, batch, total, n_features, seed)

    def initial(self, k, w):
        return (1 - 1 / 900 + self.random.normal(w * self.K + k) / 30) ** 3

    def document(self, x, trace=None):
        ids = np.flatnonzero(x)
        log_beta = digamma(self.lam[:, ids]) - digamma(self.lam[:, self.known].sum(axis=1, keepdims=True))
        return ids, *e_step(x[ids], log_beta, self.alpha, *self.stop, trace)

    def study(self, x):
        ids, _, phi, bound = self.document(x)
        self.ss[:, ids] += phi * x[ids]
        return -bound / x.sum() if len(ids) else 0.0

    def close(self):
        self.closed_batches += 1
        rho = (self.tau0 + self.closed_batches) ** -self.kappa
        D = self.t if self.total is None else self.total
        self.lam = (1 - rho) * self.lam + rho * (self.eta + D / self.open * self.ss)
        self.left, self.open = (1 - rho) * self.left, 0

    def bound(self, x):
        return self.document(x)[3] if x.any() else 0.0

    def transform(self, x):
        gamma = self.joined(x).document(x)[1]
        return gamma / gamma.sum()

    def components(self):
        return self.shown().lam


class HDP(Topics):
    """Wang, Paisley and Blei (2011), with the choices of their program, which gensim's follows.

    lambda is kept without eta: E[log beta_kw] = psi(eta + lambda_kw) - psi(W eta + sum_w lambda_kw), W the words known.
    It starts at c Exp(1) - eta: -log u, u = ((bits >> 11) + 1) 2^-53 of the number w T + k + 1 of the seed, k being
    the topic's first number, whatever its place is when the word appears. c is `initial`, else 100 total / (T
    n_features) as in the program, else (a stream of neither) 100 / T, as if there were as many documents as words.
    start="uniform" is their program: phi = 1 / doc_topics, sticks from the fourth iteration on. Its document topics are
    alike until then, the bound stands still, and it stops at the second iteration, before any stick (where rounding
    makes the second bound a bit less, theirs goes on; this does not). It is the default: of Reuters its topics have a
    held-out perplexity of 1838 after ten passes, beside 1845 of gensim's, and those of "best" one of 2665.
    start="best", ours: with the mass m_t = sum n r_t of each topic, r_t ~ exp(E[log beta_t] + E[log sigma_t]) for each
    word, a document begins with the doc_topics topics of the largest mass, phi_k ~ m_k exp(E[log beta_k]); sticks are
    in from the beginning, and the bound never falls.
    A document stops when its bound grows by no more than `tolerance` of its size. The bound counts a word n times in
    all its terms; theirs (and gensim's) has sum phi (E[log pi] - log phi) without n, no bound where a word is repeated.
    `transform` is by the LDA that is nearest: alpha_k = alpha E[stick weight k], beta = E[beta], at most 100 rounds,
    until gamma moves by less than 1e-5.
    """

    CASES = (
        {"max_topics": 8, "doc_topics": 3},
        {"max_topics": 8, "doc_topics": 3, "start": "best"},
        {"max_topics": 12, "doc_topics": 4, "batch": 16, "tau": 1.0, "kappa": 0.8, "seed": 3, "start": "best"},
        {"max_topics": 6, "doc_topics": 4, "batch": 7, "alpha": 0.5, "gamma": 2.0, "eta": 0.1, "total": 300},
        {"max_topics": 6, "doc_topics": 3, "batch": 10, "tau": 0.0, "kappa": 0.6, "start": "best"},
        {
            "max_topics": 5,
            "doc_topics": 3,
            "batch": 1,
            "n_features": 30,
            "total": 90,
            "scale": 2.0,
            "iterations": 6,
            "start": "best",
        },
        {"max_topics": 7, "doc_topics": 2, "batch": 20, "initial": 0.3, "tolerance": 1e-6, "start": "best"},
        {"max_topics": 6, "doc_topics": 3, "batch": 16},
    )

    def __init__(self, max_topics=150, doc_topics=15, alpha=1.0, gamma=1.0, eta=0.01, kappa=1.0, tau=64.0, scale=1.0,
                 batch=256, total=None, iterations=100, tolerance=1e-4, n_features=None, initial=None, start="uniform",
                 seed=0):  # fmt: skip
        T = max_topics
        self.doc_topics, self.alpha, self.gamma, self.eta, self.start = doc_topics, alpha, gamma, eta, start
        self.kappa, self.tau, self.scale, self.stop = kappa, tau, scale, (iterations, tolerance)
        self.rest, self.order, self.used = 0.0, np.arange(T), np.zeros(T)
        both = total is not None and n_features is not None
        self.c = initial if initial is not None else 100 / T * (total / n_features if both else 1)
        self.sticks = np.array([np.ones(T - 1), np.arange(T - 1, 0, -1)], dtype=float)
        super().__init__(T, batch, total, n_features, seed)

    def topics(self):
        return self.order

    def initial(self, k, w):
        return -self.c * np.log(((self.random.at(w * self.K + k + 1) >> 11) + 1) * 2.0**-53) - self.eta

    def sums(self):
        return self.lam[:, self.known].sum(axis=1, keepdims=True)

    @staticmethod
    def expected_log_weights(sticks):
        """E[log of the weight] of each piece; the last is what the sticks leave."""
        whole = digamma(sticks.sum(axis=0))
        return np.append(digamma(sticks[0]) - whole, 0) + np.append(0, np.cumsum(digamma(sticks[1]) - whole))

    @staticmethod
    def beyond(mass):
        """sum over l > k, for each k but the last."""
        return mass[::-1].cumsum()[::-1][1:]

    def document(self, x, trace=None):
        """(ids, varphi (doc_topics, T), phi (words, doc_topics), bound)."""
        ids, K = np.flatnonzero(x), self.doc_topics
        n = x[ids]
        log_beta = digamma(self.eta + self.lam[:, ids]) - digamma(self.known.sum() * self.eta + self.sums())
        corpus, own = self.expected_log_weights(self.sticks), 0.0
        phi, bound, late = np.full((len(ids), K), 1 / K), -1e200, 3
        if self.start == "best":
            share = log_beta + corpus[:, None]
            mass = np.exp(share - log_sum(share, 0)) @ n
            top = np.argsort(-mass, kind="stable")[:K]
            phi, late = log_beta[top].T + np.log(mass[top]), 0
            phi = np.exp(phi - log_sum(phi, 1))
        for i in range(self.stop[0]):
            varphi = phi.T @ (log_beta * n).T + (corpus if i >= late else 0)
            log_varphi = varphi - log_sum(varphi, 1)
            varphi = np.exp(log_varphi)
            phi = (varphi @ log_beta).T + (own if i >= late else 0)
            log_phi = phi - log_sum(phi, 1)
            phi = np.exp(log_phi)
            mass = n @ phi
            v = np.array([1 + mass[:-1], self.alpha + self.beyond(mass)])
            own = self.expected_log_weights(v)
            last, bound = bound, (
                ((corpus - log_varphi) * varphi).sum()
                + dirichlet_bound(np.array([1, self.alpha]), v.T)
                + (n[:, None] * phi * (own - log_phi + (varphi @ log_beta).T)).sum()
            )  # fmt: skip
            if trace is not None:
                trace.append(bound)
            if bound - last <= self.stop[1] * abs(last):
                break
        return ids, varphi, phi, bound

    def study(self, x):
        if self.open == 1:
            self.used_now = np.zeros(self.K)
        if not x.any():
            return 0.0
        ids, varphi, phi, bound = self.document(x)
        self.used_now = self.used_now + varphi.sum(axis=0)
        self.ss[:, ids] += varphi.T @ (phi * x[ids, None]).T
        return -bound / x.sum()

    def close(self):
        self.closed_batches += 1
        rho = self.scale * (self.tau + self.closed_batches) ** -self.kappa
        times = (self.t if self.total is None else self.total) / self.open
        self.lam = (1 - rho) * self.lam + rho * times * self.ss
        self.used = (1 - rho) * self.used + rho * times * self.used_now
        self.left, self.open = (1 - rho) * self.left, 0
        places = np.argsort(-self.sums()[:, 0], kind="stable")
        self.lam, self.used, self.order = self.lam[places], self.used[places], self.order[places]
        self.sticks = np.array([1 + self.used[:-1], self.gamma + self.beyond(self.used)])

    def bound(self, x):
        return self.document(x)[3] if x.any() else 0.0

    def weights(self):
        """E[weight] of each topic."""
        part = self.sticks[0] / self.sticks.sum(axis=0)
        return np.append(part, 1) * np.append(1, np.cumprod(1 - part))

    def transform(self, x):
        model, ids = self.joined(x), np.flatnonzero(x)
        beta = (model.lam[:, ids] + self.eta) / (model.known.sum() * self.eta + model.sums())
        gamma = e_step(x[ids], np.log(beta), self.alpha * model.weights(), 100, 1e-5)[0]
        return gamma / gamma.sum()

    def components(self):
        """lambda + eta, the Dirichlet parameters of the topics, as LDA's are."""
        return self.shown().lam + self.eta
