"""Similarity and distance learned from triplets (a query, something relevant, something irrelevant)."""

import numpy as np

from tests.reference.budget import Random


class OASIS:
    """Chechik, Sharma, Shalit and Bengio (2010): the passive-aggressive step on q'W(r - i) >= 1, W = I at first."""

    def __init__(self, d, C=0.1):
        self.C, self.W = C, np.eye(d)

    def learn(self, query, relevant, irrelevant):
        V = np.outer(query, relevant - irrelevant)
        loss, size = max(0, 1 - np.sum(self.W * V)), np.sum(V * V)
        if size > 0:
            self.W = self.W + min(self.C, loss / size) * V

    def rank(self, query, candidates):
        return np.argsort(-(candidates @ (self.W.T @ query)), kind="stable")


def laplacian(K):
    """I - D^-1/2 S D^-1/2 of the graph whose edges are the kernel's values, those below 0 left out."""
    S = np.maximum(K, 0)
    scale = 1 / np.sqrt(S.sum(axis=1))
    return np.eye(len(K)) - scale[:, None] * S * scale


def positive(W):
    """The nearest positive semi-definite matrix."""
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    return (vectors * np.maximum(values, 0)) @ vectors.T


class OMDL:
    """Xia, Wu and Hoi (2013): for each kernel a distance (K_a - K_b)'W(K_a - K_b); they are combined by hedging.

    For (i, j, k), with u_j = K_i - K_j, u_k = K_i - K_k and V = u_k u_k' - u_j u_j': W' = W - C1 G, G = K L K with the
    Laplacian of the kernel; W = Proj(W' + tau V), tau = min(C2, [1 - <W', V>]+ / |V|^2), Proj cuts eigenvalues below 0.
    Before that the kernel's weight is multiplied by eta if it has i farther from j than from k. W = I at first.
    So that C1 and C2 mean the same for any kernel and any n, K is divided by sqrt(n) times its mean diagonal, and G by
    its Frobenius norm (the paper's constants could not be had).
    `rank` r: W is r x r, K_i <- P'K_i and G <- P'GP, P of normals of variance 1/r, number (p n + a) r + b of the seed.
    """

    def __init__(self, Ks, C1=1e-3, C2=1000.0, eta=0.8, rank=None, seed=0):
        self.C1, self.C2, self.eta, n, random = C1, C2, eta, len(Ks[0]), Random(seed)
        self.mu, self.columns, self.G, self.W = np.full(len(Ks), 1 / len(Ks)), [], [], []
        for p, raw in enumerate(Ks):
            K = raw / (np.mean(np.diag(raw)) * np.sqrt(n))
            G, columns = K @ laplacian(K) @ K, K
            if rank is not None:
                numbers = [[random.normal((p * n + a) * rank + b) for b in range(rank)] for a in range(n)]
                P = np.array(numbers) / np.sqrt(rank)
                G, columns = P.T @ G @ P, P.T @ K
            self.columns.append(columns)
            self.G.append(G / (np.linalg.norm(G) or 1.0))
            self.W.append(np.eye(len(G)))

    def distance_of(self, p, a, b):
        u = self.columns[p][:, a] - self.columns[p][:, b]
        return u @ self.W[p] @ u

    def distance(self, a, b):
        return sum(mu * self.distance_of(p, a, b) for p, mu in enumerate(self.mu))

    def learn(self, i, j, k):
        wrong = [self.distance_of(p, i, j) > self.distance_of(p, i, k) for p in range(len(self.W))]
        self.mu = self.mu * np.where(wrong, self.eta, 1.0)
        self.mu = self.mu / self.mu.sum()
        self.W = [positive(self.step(p, i, j, k)) for p in range(len(self.W))]

    def step(self, p, i, j, k):
        """W before it is projected."""
        K = self.columns[p]
        near, far = K[:, i] - K[:, j], K[:, i] - K[:, k]
        V, W = np.outer(far, far) - np.outer(near, near), self.W[p] - self.C1 * self.G[p]
        size = np.sum(V * V)
        return W + min(self.C2, max(0, 1 - np.sum(W * V)) / size) * V if size > 0 else W

    def rank(self, query, candidates):
        return [c for *_, c in sorted((self.distance(query, c), n, c) for n, c in enumerate(candidates))]
