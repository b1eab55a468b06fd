"""Compare models with their transcriptions: streams, ways to feed them, equality up to signs."""

import numpy as np
from scipy.sparse import csr_matrix

from seriatim import data


def in_chunks(X, size, model):
    for begin in range(0, X.shape[0], size):
        model.partial_fit(X[begin : begin + size])
    return model


def as_dicts(X):
    return [{f"x{j}": float(x[j]) for j in np.flatnonzero(x)} for x in X]


def by_names(X, model):
    for row in as_dicts(X):
        model.learn_one(row)
    return model


WAYS = {
    "dense, one call": lambda X, model: model.partial_fit(X),
    "dense, by 1": lambda X, model: in_chunks(X, 1, model),
    "dense, by 7": lambda X, model: in_chunks(X, 7, model),
    "sparse, one call": lambda X, model: model.partial_fit(csr_matrix(X)),
    "sparse, by 7": lambda X, model: in_chunks(csr_matrix(X), 7, model),
}


def close(ours, theirs, scale=0.0, tolerance=1e-9):
    """Assert equality up to `tolerance` times the largest number, or times `scale` if that is larger."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape
    assert np.isfinite(ours).all()
    off = np.abs(ours - theirs).max(initial=0)
    assert off <= tolerance * max(scale, np.abs(theirs).max(initial=0)), (off, ours, theirs)


def same_directions(ours, theirs, tolerance=1e-9):
    """Assert that the columns are equal up to signs."""
    assert ours.shape == theirs.shape
    close(ours * np.sign(np.sum(ours * theirs, axis=0)), theirs, 1.0, tolerance)


def orthonormal(V, tolerance=1e-9):
    assert np.abs(V.T @ V - np.eye(V.shape[1])).max(initial=0) < tolerance


def stream(seed, n=60, d=8):
    """Structured rows with a third of the values missing, a zero row in the middle, and one row repeated."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(2, 0.5, d) + rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))
    X *= rng.random((n, d)) < 0.7
    X[n // 3], X[n // 2] = 0, X[n // 4]
    return X


def of_rank(rank, n, d, seed, grading=1.0):
    """Rows in a space of this dimension; the last direction is `grading` times as large as the first."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, rank)))[0] * np.geomspace(3, 3 * grading, rank)
    return rng.standard_normal((n, rank)) @ basis.T


def real_matrix(name, scaled=True):
    """A bundled set without its labels, each column divided by its largest size if `scaled`."""
    X = data.load(name)[0].toarray()
    return X / np.maximum(np.abs(X).max(axis=0), 1e-12) if scaled else X
