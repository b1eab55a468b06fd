"""Singular vectors of a stream: `decomposition WHAT RANK`, WHAT being one of `MODELS`.

All of it is work of one thread in memory, so that the time is the processor's: what others do meanwhile counts less.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a learner has one, and so has what is beside it
os.environ["OMP_NUM_THREADS"] = "1"

import gzip
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from bench.data import real
from bench.workers.partial_fit import Csr
from bench.workers.turns import serve

IMAGES = 20_000
RARE, COMMON = 3, 0.5  # words of fewer texts, or of a larger share of them, are left out


def images() -> np.ndarray:
    """MNIST; or as many rows of that size, of falling variances, if it is not at hand."""
    path = real("mnist/train-images-idx3-ubyte.gz")
    if path.exists():
        return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=16).reshape(-1, 784)[:IMAGES] / 255.0
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.standard_normal((784, 784)))[0]
    return (rng.standard_normal((IMAGES, 784)) * np.arange(1, 785) ** -0.7) @ turn + 0.1


def texts() -> Csr:
    """The 20 newsgroups, in random order: (1 + ln tf) ln(N / df), rows of length 1; or generated rows."""
    folder = real("20newsgroups")
    if not folder.exists():
        arrays = np.load(Path(__file__).parents[1] / "data/rows.npz")
        start, rows = arrays["start"], 20_000
        end = start[rows]
        return Csr(start[: rows + 1], arrays["index"][:end], arrays["value"][:end], (rows, 47_236))
    bags = []
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as lines:
            bags += [Counter(re.findall("[a-z]{2,}", json.loads(line)["text"].lower())) for line in lines]
    frequency = Counter(word for bag in bags for word in bag)
    words = {word: n for word, n in sorted(frequency.items()) if RARE <= n <= COMMON * len(bags)}
    places, idf = {word: i for i, word in enumerate(words)}, np.log(len(bags) / np.array([*words.values()]))
    start, index, value = [0], [], []
    for i in np.random.default_rng(0).permutation(len(bags)):
        row = np.array(sorted((places[word], n) for word, n in bags[i].items() if word in places), dtype=float)
        if len(row):
            columns = row[:, 0].astype(np.int32)
            values = (1 + np.log(row[:, 1])) * idf[columns]
            index.append(columns)
            value.append(values / np.linalg.norm(values))
            start.append(start[-1] + len(columns))
    return Csr(np.array(start, np.int32), np.concatenate(index), np.concatenate(value), (len(index), len(words)))


def scipy_matrix(X: Any) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix((X.data, X.indices, X.indptr), X.shape)


def left_over(X: Any, V: np.ndarray, mean: Any = None) -> float:
    """|X - X V V'|, or of rows less their mean."""
    V = np.linalg.qr(V)[0]
    if isinstance(X, Csr):
        total = 0.0
        for i in range(X.shape[0]):
            at = slice(X.indptr[i], X.indptr[i + 1])
            projected = X.data[at] @ V[X.indices[at]]
            total += X.data[at] @ X.data[at] - projected @ projected
        return float(np.sqrt(total))
    C = X if mean is None else X - X.mean(axis=0)
    return float(np.linalg.norm(C - C @ V @ V.T))


def seriatim_svd(X: Any, rank: int) -> np.ndarray:
    from seriatim import OnlineSVD

    return OnlineSVD(rank, block=2 * rank).fit(X).components_.T


def seriatim_pca(X: Any, rank: int) -> np.ndarray:
    from seriatim import IncrementalPCA

    return IncrementalPCA(rank, block=2 * rank).fit(X).components_.T


def sklearn_pca(X: Any, rank: int, batch: int | None = None) -> np.ndarray:
    from sklearn.decomposition import IncrementalPCA

    return IncrementalPCA(rank, batch_size=batch).fit(X).components_.T


def sklearn_small(X: Any, rank: int) -> np.ndarray:
    """With as small batches as ours, where it is fastest."""
    return sklearn_pca(X, rank, 2 * rank)


def gensim_lsi(X: Any, rank: int) -> np.ndarray:
    from gensim.models import LsiModel

    return LsiModel(X, num_topics=rank, id2word=NAMES).projection.u


NAMES: dict[int, str] = {}
MODELS = {
    "seriatim-svd": seriatim_svd,
    "seriatim-pca": seriatim_pca,
    "sklearn": sklearn_pca,
    "sklearn-small": sklearn_small,
    "gensim": gensim_lsi,
}


def main(model: str, rows: str, rank: str) -> None:
    X: Any = images() if rows == "images" else texts()
    given, centred = X, rows == "images" and model != "seriatim-svd"
    if model == "gensim":
        given = scipy_matrix(X).T.tocsc()  # what it takes without a conversion
        NAMES.update({i: str(i) for i in range(X.shape[1])})
    best = 0.0
    if rows == "images":
        C = X - X.mean(axis=0) if centred else X
        best = float(np.linalg.norm(np.linalg.svd(C, compute_uv=False)[int(rank) :]))

    def measure() -> dict[str, float]:
        start = time.process_time()
        V = MODELS[model](given, int(rank))
        seconds = time.process_time() - start
        return {"seconds": seconds, "error": left_over(X, V, True if centred else None), "best": best}

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
