"""Online SVD, online PCA, incremental PCA and online dictionaries, transcribed from their papers: explicit matrices.

Decisions that hold for all of them:
- The stream has rows; a vector that a paper sees as a column is a row here. Directions and atoms are the columns of V
  and D below, and the rows of `components_`.
- Where a method takes several rows at once (`block`, `batch`), rows wait until there are so many, however they are
  divided into calls. Every reading (components, codes, losses of given rows, ...) is that of `settled()`: of a copy
  that has taken in the waiting rows as a last, shorter batch. It changes nothing: the rows go on waiting. In
  progressive evaluation a row is judged by the model before its batch.
- Before the first row there is no direction, no atom, a mean of 0; the loss of a row is then that of rebuilding it as
  0. A row of zeros is a row like any other.
- Random numbers are those of `Random`, drawn in the order that is said, and only where it is said.
"""

from copy import deepcopy

import numpy as np
from scipy.linalg import block_diag

from tests.reference.budget import Random, chosen
from tests.reference.linear import grid


class OnlineSVD:
    """Brand (2003, 2006): X ~ U diag(s) V', U for the rows that came, V for the features; at most `rank` values.

    m = V'x, p = x - V m, rho = |p|: the row is taken in by the SVD of K = [[diag s, m], [0, rho]], where rho is above
    threshold |x|, else of [diag s, m]. (Brand's U is V here, and his V is U.) Then the `rank` largest of s are kept,
    and of these what is above threshold s_1: a direction that has lost its rows goes.

    `forgetting` multiplies s before every row: X has its rows times 1, f, f^2, ..., the newest first. `block` rows are
    taken in at once, by the QR of [V, C']: the same but for what is cut off between them. Waiting rows are not imputed
    before their block is.

    `missing` (Brand, 2002): of the observed coordinates o of a row and the others h, x_h = V_h diag(s) z with the
    shortest least-squares solution z of V_o diag(s) z = x_o (singular values up to 1e-10 of the largest count as 0). V
    and s are those before the row or its block, not yet multiplied by f.

    `revise(i, x)` is Brand's rank-one change of row i, 0 being the first of the stream: X + e_i b', b = f^age x - what
    the model has for row i, U_i diag(s) V'. `remove(i)` revises to 0: the row of U becomes 0, the others keep their
    numbers, t stays. Waiting rows are taken in first.

    `add_columns(C)`, a value for each row so far: what rows do, with U and V exchanged, by the QR of [U, C], each value
    worth f^age. They are the last features.
    """

    CASES = (
        grid(rank=(1, 3, 6), forgetting=(1.0, 0.9)) + grid(rank=(4,), block=(5, 40)) + grid(rank=(4,), threshold=(0.3,))
    )

    def __init__(self, features, rank, threshold=1e-10, forgetting=1.0, block=None, missing=False, keep_left=False):
        self.rank, self.threshold, self.forgetting, self.block = rank, threshold, forgetting, block
        self.s, self.V = np.zeros(0), np.zeros((features, 0))
        self.U = np.zeros((0, 0)) if keep_left else None
        self.waiting, self.t = [], 0

    def learn(self, x):
        self.t += 1
        if self.block is None:
            return self.append(self.imputed(x))
        self.waiting.append(x)
        if len(self.waiting) == self.block:
            self.merge()

    def append(self, x):
        m = self.V.T @ x
        p = x - self.V @ m
        p -= self.V @ (self.V.T @ p)  # again, for rounding: else p is not orthogonal where it is short
        rho, V, S = np.linalg.norm(p), self.V, np.diag(self.forgetting * self.s)
        if rho > self.threshold * np.linalg.norm(x):
            K, V = np.block([[S, m[:, None]], [np.zeros((1, len(m))), rho]]), np.column_stack([V, p / rho])
        else:
            K = np.column_stack([S, m])
        self.rotate(V, K, self.widened(1))

    def merge(self):
        """All waiting rows C at once: [V diag s, C'] = Q R diag(s, 1)."""
        C = np.array([self.imputed(x) for x in self.waiting])
        ages = self.forgetting ** np.arange(len(C))[::-1]
        Q, R = np.linalg.qr(np.column_stack([self.V, C.T]))
        K = R * np.concatenate([self.forgetting ** len(C) * self.s, ages])
        self.waiting = []
        self.rotate(Q, K, self.widened(len(C)))

    def widened(self, rows):
        return None if self.U is None else block_diag(self.U, np.eye(rows))

    def rotate(self, V, K, U):
        """X' = V K U' becomes V diag(s) U'."""
        left, s, right = np.linalg.svd(K, full_matrices=False)
        kept = np.flatnonzero(s > self.threshold * s.max(initial=0))[: self.rank]
        self.V, self.s = V @ left[:, kept], s[kept]
        self.U = None if U is None else U @ right[kept].T

    def imputed(self, x):
        h = np.isnan(x)
        if not h.any():
            return x
        z = np.linalg.pinv(self.V[~h] * self.s, rcond=1e-10) @ x[~h] if (~h).any() else np.zeros(len(self.s))
        return np.where(h, (self.V * self.s) @ z, x)

    def revise(self, i, x):
        if self.waiting:
            self.merge()
        a = np.arange(self.t) == i
        b = self.forgetting ** (self.t - 1 - i) * x - (self.U[i] * self.s) @ self.V.T
        Q, R = np.linalg.qr(np.column_stack([self.V, b]))
        P, S = np.linalg.qr(np.column_stack([self.U, a]))
        self.rotate(Q, R @ block_diag(np.diag(self.s), 1.0) @ S.T, P)
        self.U[i] = self.U[i] if x.any() else 0

    def remove(self, i):
        self.revise(i, np.zeros(len(self.V)))

    def add_columns(self, C):
        if self.waiting:
            self.merge()
        ages = self.forgetting ** np.arange(self.t)[::-1]
        Q, R = np.linalg.qr(np.column_stack([self.U, C * ages[:, None]]))
        K = R * np.append(self.s, np.ones(C.shape[1]))
        self.rotate(block_diag(self.V, np.eye(C.shape[1])), K.T, Q)

    def settled(self):
        model = deepcopy(self)
        if model.waiting:
            model.merge()
        return model

    def project(self, x):
        return self.V.T @ self.imputed(x)

    def rebuild(self, x):
        return self.V @ self.project(x)

    def loss(self, x):
        """|x - V V'x|^2; of an imputed row that is the loss of what was observed."""
        return float(np.sum((self.imputed(x) - self.rebuild(x)) ** 2))


# ---- principal components


def capped(w, d):
    """Warmuth and Kuzmin (2008), algorithm 4: the nearest distribution, by relative entropy, with no w_i above 1/d.

    The i largest become 1/d and the others are multiplied so that the sum is 1, for the least i that will do. In
    logarithms, since what a stream has often shown falls below the smallest number.
    """
    order = np.argsort(-w)
    for i in range(d):
        rest, out = order[i:], np.full(len(w), -np.log(d))
        out[rest] = w[rest] + np.log((d - i) / d) - np.logaddexp.reduce(w[rest])
        if out[rest].max() <= -np.log(d) + 1e-15:
            break
    return out


def corners(w, d):
    """Warmuth and Kuzmin (2008), algorithm 1: w = sum_c p_c r_c, at most n terms, r_c being 1/d at d indices.

    The d largest of what is left of w make a corner, with p = min(d least in it, sum - d largest outside).
    """
    w, found = w.copy(), []
    while w.sum() > 1e-12 and len(found) < len(w):
        order = np.argsort(-w, kind="stable")
        inside, outside = order[:d], order[d:]
        p = min(d * w[inside].min(), w.sum() - d * w[outside].max())
        w[inside] -= p / d
        found.append((p, inside))
    return found


class OnlinePCA:
    """Warmuth and Kuzmin (2008): a density matrix W over n features, eigenvalues at most 1/d, d = n - n_components.

    In a round the d directions of one corner, drawn by its chance p, are given up; the loss is what x has in them,
    |x - P x|^2, on average d x'W x. Then W = exp(log W - eta x x') / trace, its eigenvalues capped at 1/d. |x| <= 1.
    W_1 = I / n. The components are the eigenvectors of the n_components smallest eigenvalues, the smallest first.

    The corner is `chosen(p / sum p, uniform())`: one draw a row. Which eigenvectors stand for an eigenvalue that is
    there twice is nobody's decision, so that the sampled loss is the same on average only. The loss of given rows and
    in progressive evaluation is the expected one, d x'W x.
    """

    CASES = grid(n_components=(1, 3, 5), eta=(0.1, 1.5))

    def __init__(self, features, n_components, eta=0.1, seed=0):
        self.n, self.k, self.d, self.eta, self.random = (
            features,
            n_components,
            features - n_components,
            eta,
            Random(seed),
        )
        self.w, self.E = np.full(features, -np.log(features)), np.eye(features)  # W = E diag(exp w) E'
        self.expected = self.sampled = 0.0

    def learn(self, x):
        found = corners(np.exp(self.w), self.d)
        p = np.array([chance for chance, _ in found])
        given_up = self.E[:, found[chosen(p / p.sum(), self.random.uniform())][1]]
        self.sampled += float(np.sum((given_up.T @ x) ** 2))
        self.expected += self.loss(x)
        w, self.E = np.linalg.eigh((self.E * self.w) @ self.E.T - self.eta * np.outer(x, x))
        self.w = capped(w - np.logaddexp.reduce(w), self.d)

    def loss(self, x):
        return float(self.d * x @ self.density() @ x)

    def density(self):
        return (self.E * np.exp(self.w)) @ self.E.T

    def components(self):
        return self.E[:, np.argsort(self.w, kind="stable")[: self.k]].T

    @staticmethod
    def bound(best, n, d, eta):
        """Theorem: the expected loss of any stream, `best` being that of the best subspace in hindsight."""
        return (eta * best + d * np.log(n / d)) / (1 - np.exp(-eta))

    @staticmethod
    def tuned(best, n, d):
        """The eta for a stream on which the best subspace loses at most `best`."""
        return np.log(1 + np.sqrt(2 * d * np.log(n / d) / best))


class IncrementalPCA:
    """Ross, Lim, Lin and Yang (2008), a row at a time: the SVD of [diag(s) V'; sqrt(n / (n + 1)) (x - mean)].

    With n rows before this one and their mean; then the n_components largest are kept, and of these what is above
    1e-10 of the largest. Variances are over n - 1; the ratios are to the variance of all columns, which is exact. The
    loss is |c - V V'c|^2, c = x - mean, both before the row.
    """

    CASES = grid(n_components=(1, 3, 6))

    def __init__(self, features, n_components):
        self.k, self.t = n_components, 0
        self.mean, self.squares = np.zeros(features), np.zeros(features)
        self.s, self.V = np.zeros(0), np.zeros((features, 0))

    def learn(self, x):
        c, n = x - self.mean, self.t
        _, s, Vt = np.linalg.svd(np.vstack([(self.V * self.s).T, np.sqrt(n / (n + 1)) * c]), full_matrices=False)
        kept = np.flatnonzero(s > 1e-10 * s.max())[: self.k]
        self.s, self.V = s[kept], Vt[kept].T
        self.t += 1
        self.mean = self.mean + c / self.t
        self.squares = self.squares + c * (x - self.mean)

    def variance(self):
        return self.s**2 / (self.t - 1)

    def ratio(self):
        return self.s**2 / self.squares.sum()

    def loss(self, x):
        c = x - self.mean
        return float(np.sum((c - self.V @ (self.V.T @ c)) ** 2))


# ---- dictionaries


def soft(z, lam):
    return np.sign(z) * np.maximum(np.abs(z) - lam, 0)


def lasso(X, D, lam, tolerance=1e-13, sweeps=20000):
    """For each row x the code a with the least |x - D a|^2 / 2 + lam |a|_1: coordinate descent from 0, to the end."""
    G, C = D.T @ D, X @ D
    codes = np.zeros_like(C)
    for _ in range(sweeps):
        before = codes.copy()
        for j in np.flatnonzero(np.diag(G)):
            codes[:, j] = soft(C[:, j] - codes @ G[:, j] + codes[:, j] * G[j, j], lam) / G[j, j]
        if np.abs(codes - before).max(initial=0) <= tolerance * np.abs(codes).max(initial=0):
            break
    return codes


class DictionaryLearning:
    """Mairal, Bach, Ponce and Sapiro (2010): codes by the lasso, and one sweep over the atoms for every mini-batch.

    Of batch t = 1, 2, ... of eta rows: A = beta A + (1/eta) sum a a', B = beta B + (1/eta) sum x a', beta =
    (theta + 1 - eta) / (theta + 1), theta = t eta for t < eta, else eta^2 + t - eta (theirs, and scikit-learn's). Then
    for each atom j with the others as they are now: u = (b_j - D a_j) / A_jj + d_j, d_j = u / max(1, |u|). A last,
    shorter batch has eta = `batch` all the same: a row counts as much as any.

    Unused are the atoms with A_jj <= 1e-6 lam^2 (scikit-learn has 1e-6; this is the same stream in other units). They
    have no step. Before a batch is coded each, in order, becomes a row of it over its length, and what A and B have of
    it becomes 0: the `below(m)`-th of the m rows not of zeros and not taken in this batch; when all are taken, all are
    there again; where all rows are zeros the atom stays as it is and nothing is drawn. The dictionary begins with
    zeros, all unused, so that the first batch's rows are its first atoms.

    lam=None is 1.2 / sqrt(features), by the features that have values in the first batch: so it does not matter
    whether rows are dense, sparse or have names, nor how wide the blocks are in which they come.
    """

    CASES = grid(n_atoms=(3,), lam=(0.1,), batch=(10, 25), seed=(0, 4)) + grid(n_atoms=(7,), batch=(20,))

    def __init__(self, features, n_atoms, lam=None, batch=256, seed=0):
        self.lam, self.batch, self.random = 1.2 / np.sqrt(features) if lam is None else lam, batch, Random(seed)
        self.D, self.A, self.B = (np.zeros((n, n_atoms)) for n in (features, n_atoms, features))
        self.waiting, self.t, self.batches = [], 0, 0

    def learn(self, x):
        self.t += 1
        self.waiting.append(x)
        if len(self.waiting) == self.batch:
            self.step()

    def step(self):
        X, eta, self.waiting = np.array(self.waiting), self.batch, []
        self.batches += 1
        self.replace(X)
        codes = lasso(X, self.D, self.lam)
        theta = self.batches * eta if self.batches < eta else eta**2 + self.batches - eta
        beta = (theta + 1 - eta) / (theta + 1)
        self.A = beta * self.A + codes.T @ codes / eta
        self.B = beta * self.B + X.T @ codes / eta
        for j in np.flatnonzero(~self.unused()):
            u = (self.B[:, j] - self.D @ self.A[:, j]) / self.A[j, j] + self.D[:, j]
            self.D[:, j] = u / max(1, np.linalg.norm(u))

    def unused(self):
        return np.diag(self.A) <= 1e-6 * self.lam**2

    def replace(self, X):
        rows = X[X.any(axis=1)]
        left = []
        for j in np.flatnonzero(self.unused()) if len(rows) else []:
            left = left or list(rows)
            x = left.pop(self.random.below(len(left)))
            self.D[:, j] = x / np.linalg.norm(x)
            self.A[j], self.A[:, j], self.B[:, j] = 0, 0, 0

    def settled(self):
        model = deepcopy(self)
        if model.waiting:
            model.step()
        return model

    def codes(self, X):
        return lasso(X, self.D, self.lam)

    def loss(self, x):
        code = self.codes(x[None, :])[0]
        return float(np.sum((x - self.D @ code) ** 2) / 2 + self.lam * np.abs(code).sum())
