"""Time and held-out perplexity of a topic model: `topics MODEL FILE TOPICS PASSES BATCH SEEDS`.

`first FILE TOPICS SEEDS` writes the topics that LDA begins with, so that all three begin with the same.
"""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from scipy.sparse import csr_matrix  # noqa: E402
from scipy.special import digamma, gammaln  # noqa: E402

from bench.workers.turns import serve  # noqa: E402

KAPPA, TAU0, ITERATIONS, TOLERANCE = 0.7, 10.0, 100, 1e-3
HDP = {"kappa": 0.8, "tau": 16.0}  # and, as both have it, 15 topics a document

Export = tuple[np.ndarray, np.ndarray]  # alpha, and beta with a row a topic


@dataclass(frozen=True)
class Task:
    """What all of them do alike."""

    X: csr_matrix
    path: str
    topics: int
    passes: int
    batch: int
    seed: int = 0

    @property
    def first(self) -> np.ndarray:
        """lambda before the first document."""
        return np.load(first_path(self.path, self.topics, self.seed))

    @property
    def alpha(self) -> np.ndarray:
        return np.full(self.topics, 1 / self.topics)

    @cached_property
    def bags(self) -> list[list[tuple[int, float]]]:
        """The documents as gensim has them."""
        ends = zip(self.X.indptr[:-1], self.X.indptr[1:], strict=True)
        return [list(zip(self.X.indices[a:b].tolist(), self.X.data[a:b].tolist(), strict=True)) for a, b in ends]

    @property
    def words(self) -> dict[int, str]:
        return {w: str(w) for w in range(self.X.shape[1])}


def first_path(path: str, topics: int, seed: int) -> str:
    return f"{path}.{topics}.{seed}.npy"


def perplexity(X: csr_matrix, alpha: np.ndarray, beta: np.ndarray) -> float:
    """exp(- the variational bounds of documents over their words) of an LDA with these topics, whosever they are."""
    bound = 0.0
    for d in range(X.shape[0]):
        ids, n = X.indices[X.indptr[d] : X.indptr[d + 1]], X.data[X.indptr[d] : X.indptr[d + 1]]
        rows, gamma = beta[:, ids], np.ones(len(alpha))
        for _ in range(200):
            theta = np.exp(digamma(gamma) - digamma(gamma.sum()))
            norm = theta @ rows + 1e-300
            last, gamma = gamma, alpha + theta * (rows @ (n / norm))
            if np.abs(gamma - last).mean() < 1e-4:
                break
        logs = digamma(gamma) - digamma(gamma.sum())
        bound += n @ np.log(np.exp(logs) @ rows + 1e-300) + (gammaln(gamma) - gammaln(alpha)).sum()
        bound += gammaln(alpha.sum()) - gammaln(gamma.sum()) + (alpha - gamma) @ logs
    return float(np.exp(-bound / X.sum()))


def share(lam: np.ndarray) -> np.ndarray:
    return lam / lam.sum(axis=1, keepdims=True)


def lda(task: Task) -> Callable[[], Export]:
    from seriatim import LDA

    model = LDA(task.topics, batch=task.batch, kappa=KAPPA, tau0=TAU0, iterations=ITERATIONS, tolerance=TOLERANCE,
                total=task.X.shape[0], n_features=task.X.shape[1], seed=task.seed)  # fmt: skip
    for _ in range(task.passes):
        model.partial_fit(task.X)
    return lambda: (task.alpha, share(model.components_))


def sklearn_lda(task: Task) -> Callable[[], Export]:
    from sklearn.decomposition import LatentDirichletAllocation

    n, words = task.X.shape
    model = LatentDirichletAllocation(
        task.topics, learning_method="online", learning_decay=KAPPA, learning_offset=TAU0, batch_size=task.batch,
        total_samples=n, max_doc_update_iter=ITERATIONS, mean_change_tol=TOLERANCE, n_jobs=1, random_state=task.seed,
    )  # fmt: skip
    model._init_latent_vars(words)
    model.components_, model.n_features_in_ = task.first, words
    logs = digamma(model.components_) - digamma(model.components_.sum(axis=1, keepdims=True))
    model.exp_dirichlet_component_ = np.exp(logs)
    for _ in range(task.passes):
        for begin in range(0, n, task.batch):
            model.partial_fit(task.X[begin : begin + task.batch])
    return lambda: (task.alpha, share(model.components_))


def gensim_lda(task: Task) -> Callable[[], Export]:
    """Its batches are counted from 0, which an offset of one more makes up for."""
    from gensim.models import LdaModel

    prior = 1 / task.topics
    model = LdaModel(
        None, task.topics, task.words, chunksize=task.batch, passes=task.passes, update_every=1, decay=KAPPA,
        offset=TAU0 + 1, alpha=prior, eta=prior, iterations=ITERATIONS, gamma_threshold=TOLERANCE, eval_every=None,
        random_state=task.seed,
    )  # fmt: skip
    model.state.sstats[:] = task.first - prior
    model.sync_state()
    model.update(task.bags)
    return lambda: (task.alpha, share(model.state.get_lambda().astype(float)))


def hdp(task: Task, **parameters: Any) -> Callable[[], Export]:
    from seriatim import HDP as Model

    model = Model(task.topics, batch=task.batch, total=task.X.shape[0], n_features=task.X.shape[1], seed=task.seed,
                  **HDP, **parameters)  # fmt: skip
    for _ in range(task.passes):
        model.partial_fit(task.X)
    return lambda: (model.alpha * model.topic_weights_, share(model.components_))


def gensim_hdp(task: Task) -> Callable[[], Export]:
    from gensim.models import HdpModel

    chunks = task.passes * -(-task.X.shape[0] // task.batch)
    model = HdpModel(task.bags, task.words, max_chunks=chunks, chunksize=task.batch, T=task.topics, K=15, alpha=1,
                     gamma=1, eta=0.01, random_state=task.seed, **HDP)  # fmt: skip
    return lambda: tuple(np.asarray(part, dtype=float) for part in model.hdp_to_lda())  # type: ignore[return-value]


MODELS: dict[str, Callable[[Task], Callable[[], Export]]] = {
    "lda": lda,
    "sklearn-lda": sklearn_lda,
    "gensim-lda": gensim_lda,
    "hdp": hdp,
    "hdp-best": partial(hdp, start="best"),
    "gensim-hdp": gensim_hdp,
}


def read(path: str) -> list[csr_matrix]:
    """The documents to learn, and those held out."""
    with np.load(path) as file:
        parts = [[file[f"{part}_{array}"] for array in ("value", "index", "start")] for part in ("train", "test")]
        return [csr_matrix(tuple(part), shape=(len(part[2]) - 1, int(file["words"]))) for part in parts]


def write_first(path: str, topics: str, seeds: str) -> None:
    """Of a model that was told of a document without words, which has moved them by a known step towards the prior."""
    from seriatim import LDA

    words = read(path)[0].shape[1]
    for seed in range(int(seeds)):
        model = LDA(int(topics), n_features=words, seed=seed, tau0=1.0, kappa=1.0).partial_fit(csr_matrix((1, words)))
        np.save(first_path(path, int(topics), seed), 2 * model.components_ - 1 / int(topics))


def main(name: str, path: str, topics: str, passes: str, batch: str, seeds: str) -> None:
    """The perplexity is the mean of those of several seeds, for it depends on where a model begins."""
    train, test = read(path)
    task = Task(train, path, int(topics), int(passes), int(batch))
    known: list[float] = []
    if name.startswith("gensim"):
        assert task.bags  # to make them is not what is timed

    def measure() -> dict[str, float]:
        start = time.perf_counter()
        export = MODELS[name](task)
        seconds = time.perf_counter() - start
        if not known:
            known.append(perplexity(test, *export()))
            for seed in range(1, int(seeds)):
                known.append(perplexity(test, *MODELS[name](replace(task, seed=seed))()))
        return {"seconds": seconds, "perplexity": float(np.mean(known)), "documents": train.shape[0]}

    serve(measure)


if __name__ == "__main__":
    write_first(*sys.argv[2:]) if sys.argv[1] == "first" else main(*sys.argv[1:])
