"""OMDL: one distance for each kernel, learned from triplets, and weights over the distances by Hedge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from seriatim.core.rows import LIMIT
from seriatim.core.values import plain_array
from seriatim.errors import DataError, LimitError, ModelError
from seriatim.estimator.model import Model
from seriatim.estimator.sklearn import not_fitted
from seriatim.kernel.kernels import from_plain, one_of, plain_kernel
from seriatim.parameters import Number, Parameter
from seriatim.retrieval.oasis import directions
from seriatim.retrieval.triplets import rows_of, triplets_of

MOST = 1 << 27  # the most numbers in the matrices of one kind


@dataclass(frozen=True)
class Modalities(Parameter):
    """Kernels, one for each modality, or "precomputed"."""

    commas = True

    @property
    def range(self) -> str:
        return "a list of kernels of known width such as [Gaussian(2.0), Polynomial(2)], or 'precomputed'"

    def parse(self, text: str) -> Any:
        return text if text == "precomputed" else [one_of(part) for part in text.split(",")]

    def problem(self, value: Any) -> str | None:
        if isinstance(value, str):
            return None if value == "precomputed" else self.range
        good = isinstance(value, list | tuple) and value
        known = good and all(callable(k) and not isinstance(k, type) and not getattr(k, "waits", False) for k in value)
        return None if known else self.range

    def as_json(self, value: Any) -> Any:
        return value if isinstance(value, str) else [plain_kernel(one) for one in value]

    def restored(self, plain: Any, arrays: dict[str, np.ndarray]) -> Any:
        return [from_plain(one) for one in plain] if isinstance(plain, list) else plain


class OMDLLearner:
    """For each modality the columns of its kernel, W and G; and the weights of the modalities.

    With p modalities, n rows and r directions, `columns` is p r x n. `W` and `G` are p r x r: p matrices, stacked.
    """

    def __init__(self, C1: float, C2: float, eta: float) -> None:
        self.C1, self.C2, self.eta = C1, C2, eta
        self.t = self.updates = 0
        self.columns, self.W, self.G = np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((0, 0))
        self.logs = np.zeros(0)  # of the weights, the largest 0

    def start(self, kernels: list[np.ndarray], rank: int | None, seed: int) -> None:
        """Start with these kernel matrices of all rows. W becomes the identity."""
        columns, regular = [], []
        for p, K in enumerate(kernels):
            G = roughness(K)
            if rank is not None:
                P = directions(seed, p, len(K), rank)
                K, G = P.T @ K, P.T @ G @ P
            norm = np.linalg.norm(G)
            columns.append(K)
            regular.append((G + G.T) / (2 * norm) if norm > 0 else 0 * G)
        self.columns, self.G = np.concatenate(columns), np.concatenate(regular)
        self.W = np.concatenate([np.eye(len(G)) for G in regular])
        self.logs = np.zeros(len(kernels))

    @property
    def rows(self) -> int:
        return self.columns.shape[1]

    def parts(self, stacked: np.ndarray) -> list[np.ndarray]:
        """The part of each modality."""
        return np.split(stacked, len(self.logs)) if len(self.logs) else []

    def weights(self) -> np.ndarray:
        weights = np.exp(self.logs)
        return weights / weights.sum()

    def distances(self, a: int, others: np.ndarray) -> np.ndarray:
        """(K_a - K_b)'W(K_a - K_b) for row a and each other row b, with a row for each modality."""
        found = np.empty((len(self.logs), len(others)))
        for p, (K, W) in enumerate(zip(self.parts(self.columns), self.parts(self.W), strict=True)):
            # One product for each row: the rounding of a matrix product depends on the number of rows.
            u = (K[:, a] - K.T[others])[:, :, None]
            found[p] = np.maximum(u.transpose(0, 2, 1) @ (W @ u), 0.0)[:, 0, 0]
        return found

    def learn(self, i: int, j: int, k: int) -> None:
        """Learn that row i is more like row j than like row k."""
        near, far = self.distances(i, np.array([j, k])).T
        logs = self.logs + np.log(self.eta) * (near > far)
        learned, changed = [], False
        for K, W, G in zip(*(self.parts(one) for one in (self.columns, self.W, self.G)), strict=True):
            step = W - self.C1 * G
            uj, uk = K[:, i] - K[:, j], K[:, i] - K[:, k]
            loss = 1 - float(uk @ step @ uk - uj @ step @ uj)  # 1 - <W', V>, V = uk uk' - uj uj'
            norm2 = float((uk @ uk) ** 2 + (uj @ uj) ** 2 - 2 * (uk @ uj) ** 2)
            if loss > 0 and norm2 > 0:
                tau = min(self.C2, loss / norm2)
                step += tau * (np.outer(uk, uk) - np.outer(uj, uj))
                changed = True
            learned.append(nearest_positive(step) if loss > 0 or self.C1 > 0 else W)
        found = {"W": np.concatenate(learned), "logs": logs - logs.max()}
        vars(self).update(found, t=self.t + 1, updates=self.updates + changed)  # one step: Ctrl-C comes before or after

    def state(self) -> dict[str, Any]:
        arrays = {"columns": self.columns, "W": self.W, "G": self.G, "logs": self.logs}
        return {"t": self.t, "updates": self.updates, **{name: array.copy() for name, array in arrays.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        columns, W, G, logs = (np.array(state[name], dtype=np.float64) for name in ("columns", "W", "G", "logs"))
        r = W.shape[1]
        if not W.shape == G.shape == (len(logs) * r, r) or len(columns) != len(W) or (len(logs) and not r):
            raise ModelError("the matrices of the modalities differ in shape")
        if state["updates"] > state["t"] or (state["t"] and not len(logs)) or (len(logs) and logs.max() != 0):
            raise ModelError("the weights or the counts are out of range")
        if len(logs) and logs.min() < -745.0 * state["t"]:
            raise ModelError("a weight is smaller than the mistakes allow")
        if max(np.abs(columns).max(initial=0), np.abs(W).max(initial=0)) > 1e100 or np.abs(G).max(initial=0) > 1 + 1e-6:
            raise ModelError("the matrices of the modalities have numbers out of range")
        self.t, self.updates = state["t"], state["updates"]
        self.columns, self.W, self.G, self.logs = columns, W, G, logs
        for one in self.parts(W):
            if not np.array_equal(one, one.T) or np.linalg.eigvalsh(one)[0] < -1e-6 * max(np.abs(one).max(), 1e-300):
                raise ModelError("the matrix of a distance is not positive semi-definite")


def nearest_positive(A: np.ndarray) -> np.ndarray:
    """The nearest positive semi-definite matrix: negative eigenvalues become 0."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    if values[0] >= 0:
        return (A + A.T) / 2
    positive = values > 0
    half = vectors[:, positive] * np.sqrt(values[positive])
    product = half @ half.T
    return (product + product.T) / 2


def roughness(K: np.ndarray) -> np.ndarray:
    """G = K L K, L = I - D^(-1/2) S D^(-1/2) the Laplacian of the similarities S = max(K, 0), D their row sums."""
    S = np.maximum(K, 0.0)
    sums = S.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(sums), out=np.zeros(len(K)), where=sums > 0)
    return K @ (np.eye(len(K)) - scale[:, None] * S * scale) @ K


def scaled(K: np.ndarray) -> np.ndarray:
    """A kernel matrix divided by sqrt(n) times its mean diagonal: C1 and C2 then do not depend on its scale."""
    mean = np.trace(K) / len(K)
    if not mean > 0:
        raise DataError("the mean diagonal of a kernel matrix is not above 0; are all rows 0?")
    with np.errstate(over="ignore"):
        K = K / (np.sqrt(len(K)) * mean)
    if not np.abs(K).max() <= LIMIT:
        raise DataError(f"a kernel matrix has a number more than {LIMIT:g} times its mean diagonal")
    return K


class OMDL(Model):
    """Online multi-modal distance learning: a distance for each kernel, learned from triplets, and their weights.

    Modality p has the kernel matrix K of all n rows, with columns K_a, and the distance
    d_p(a, b) = (K_a - K_b)'W(K_a - K_b). W starts as the identity. A triplet says that row i is more like row j than
    like row k. With u_j = K_i - K_j, u_k = K_i - K_k and V = u_k u_k' - u_j u_j', the update is

        W' = W - C1 G,  tau = min(C2, [1 - <W', V>]+ / |V|^2),
        W = the positive semi-definite matrix nearest to W' + tau V.

    G = K L K / |K L K|, where L is the normalised Laplacian of the similarities max(K, 0). It keeps W smooth between
    similar rows. The weight mu_p of a modality is multiplied by eta where d_p(i, j) > d_p(i, k). The distance is
    sum_p mu_p d_p, with weights that sum to 1. Projecting after the step, not within it, is the usual relaxation. The
    paper does not give C1, C2 and eta; these defaults were measured on the bundled digits. Kernels are divided by
    sqrt(n) and their mean diagonal beforehand, so that C1 and C2 do not depend on their scale.

    A triplet costs O(n^2) for each modality, and O(n^3) for the projection. With `rank=r`, the columns are P'K_a with a
    random n x r matrix P of normal numbers with variance 1 / r; W is r x r, and a triplet costs O(r^3). The last bits
    may depend on the number of threads of NumPy's library.

    All rows must be known beforehand; triplets are row numbers. First call `partial_fit(X, triplets)`: X is an array, a
    list of arrays (one for each modality), or with kernels="precomputed" a list of kernel matrices. Then call
    `partial_fit(None, triplets)` or `learn_one(i, j, k)`. `distance(a, b)` takes two row numbers, `distances(a)` gives
    those to all rows. `order(query, candidates)` sorts row numbers, the nearest first. `kernel_weights_` are the
    weights, `W_` the matrices.

    Parameters
    ----------
    kernels : a list of kernels of `seriatim.kernel`, or "precomputed".
    C1 : smoothness of W, at least 0.
    C2 : aggressiveness, above 0.
    eta : the factor of a mistake for the weight of a modality, above 0 and below 1.
    rank : the number of random directions, at least 1, or None for the full kernel.
    seed : seed of the directions, an integer of at least 0.

    >>> from seriatim import OMDL, data
    >>> from seriatim.kernel import Gaussian, Linear
    >>> X, y = data.load("digits")
    >>> X, y = X[:60], y[:60]
    >>> model = OMDL([Linear(), Gaussian(20.0)], rank=20)
    >>> triplets = [(i, j, k) for i in range(20) for j in range(60) for k in (j // 2,)
    ...             if y[i] == y[j] != y[k] and i != j]
    >>> model = model.partial_fit(X, triplets)
    >>> model.t_, model.kernel_weights_.round(2).tolist()
    (92, [0.34, 0.66])

    Xia, Wu and Hoi, "Online multi-modal distance learning for scalable multimedia retrieval", WSDM 2013.
    """

    family = "retrieval"
    paper = "Xia et al. (2013)"
    task = "retrieval"
    fixed = ("kernels", "rank", "seed")
    kernels: Any = Modalities()
    C1: Any = Number(1e-3, least=0)
    C2: Any = Number(1000.0, above=0)
    eta: Any = Number(0.8, above=0, below=1)
    rank: Any = Number(None, least=1, integer=True, optional=True)
    seed: Any = Number(0, least=0, integer=True)

    def build(self) -> OMDLLearner:
        return OMDLLearner(float(self.C1), float(self.C2), float(self.eta))

    # ---- learning

    def _matrices(self, X: Any) -> list[np.ndarray]:
        """The scaled kernel matrix of each modality."""
        if isinstance(self.kernels, str):
            matrices = [np.array(K.toarray() if hasattr(K, "toarray") else K, dtype=np.float64) for K in X]
        else:
            several = isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 2
            parts = [rows_of(one) for one in X] if several else [rows_of(X)] * len(self.kernels)
            if len(parts) != len(self.kernels):
                raise DataError(f"{len(parts)} modalities for {len(self.kernels)} kernels")
            if len({len(one) for one in parts}) > 1:
                raise DataError(f"the modalities have {', '.join(str(len(one)) for one in parts)} rows")
            self._expect_room(len(parts), len(parts[0]))
            matrices = [np.asarray(kernel(one, one)) for kernel, one in zip(self.kernels, parts, strict=True)]
        if not matrices or any(K.ndim != 2 or K.shape != (len(matrices[0]),) * 2 or not len(K) for K in matrices):
            raise DataError("expected square kernel matrices of the same rows")
        for p, K in enumerate(matrices):
            if not np.isfinite(K).all() or np.abs(K - K.T).max() > 1e-8 * np.abs(K).max():
                raise DataError(f"modality {p}: the kernel matrix is not finite, or not symmetric")
        self._expect_room(len(matrices), len(matrices[0]))
        return [scaled((K + K.T) / 2) for K in matrices]

    def _expect_room(self, kernels: int, rows: int) -> None:
        if kernels * max(rows, self.rank or 0) ** 2 > MOST:
            rank = f", rank={self.rank}" if self.rank else ""
            raise LimitError(f"{kernels} kernels of {rows} rows{rank}; the limit is {MOST} numbers")

    def _take_rows(self, X: Any) -> OMDLLearner:
        """The learner for these rows, which must be those of the first call."""
        known = None if self._learner is None or not self._learner.rows else self._learner
        if X is None:
            if known is None:
                raise DataError(f"{type(self).__name__} does not know the rows: call partial_fit(X, triplets) first")
            return known
        self.check()
        fresh = self.build()
        fresh.start(self._matrices(X), None if self.rank is None else int(self.rank), int(self.seed) % 2**64)
        if known is None:
            return fresh
        if fresh.columns.shape != known.columns.shape or not np.allclose(fresh.columns, known.columns, atol=1e-12):
            raise DataError(f"{type(self).__name__}: X differs from the rows of the first call; pass None, or use fit")
        return known

    def partial_fit(self, X: Any, triplets: Any = ()) -> Self:
        """Learn triplets of row numbers, in order. If one is bad, none is learned. Pass X once, later None."""
        with self._lock:
            learner = self._take_rows(X)
            for i, j, k in triplets_of(triplets, learner.rows).tolist():
                learner.learn(i, j, k)
            self._learner = learner
        return self

    def fit(self, X: Any, triplets: Any) -> Self:
        """Forget everything, then learn these triplets."""
        with self._lock:
            return self._become(self.fresh().partial_fit(X, triplets))

    def learn_one(self, query: int, relevant: int, irrelevant: int) -> Self:
        """Learn that the first of three rows is more like the second than like the third."""
        return self.partial_fit(None, [(query, relevant, irrelevant)])

    # ---- what has been learned

    def _known(self) -> OMDLLearner:
        if self._learner is None or not self._learner.rows:
            raise not_fitted(f"this {type(self).__name__} does not know the rows yet; call partial_fit")
        return self._learner

    @property
    def W_(self) -> list[np.ndarray]:
        """The matrix of each distance, for the scaled kernels."""
        with self._lock:
            learner = self._known()
            return [one.copy() for one in learner.parts(learner.W)]

    @property
    def kernel_weights_(self) -> np.ndarray:
        """The weight of each modality; their sum is 1."""
        with self._lock:
            return self._known().weights()

    @property
    def updates_(self) -> int:
        """The number of triplets with tau > 0 for some modality."""
        return self._fitted().updates

    def distances(self, query: int, others: Any = None) -> np.ndarray:
        """The distances of a row to other rows, or to all rows."""
        with self._lock:
            learner = self._known()
            places = np.arange(learner.rows) if others is None else np.asarray(others)
            if places.size and (places.ndim != 1 or places.dtype.kind not in "iu"):
                raise DataError("expected a list of row numbers")
            for row in (query, *([int(places.min()), int(places.max())] if places.size else ())):
                if not isinstance(row, int | np.integer) or not 0 <= row < learner.rows:
                    raise DataError(f"row {row!r} is out of range; rows are 0 to {learner.rows - 1}")
            parts = learner.distances(int(query), places.astype(np.intp))
            # Not a matrix product, because its rounding depends on its size.
            return (learner.weights()[:, None] * parts).sum(axis=0)

    def distance(self, a: int, b: int) -> float:
        """The distance of two rows."""
        return float(self.distances(a, [b])[0])

    def order(self, query: int, candidates: Any) -> np.ndarray:
        """The candidates, which are row numbers, sorted by distance to the query; ties in their order."""
        places = plain_array(candidates, "the candidates")
        return places[np.argsort(self.distances(query, places), kind="stable")]
