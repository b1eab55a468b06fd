"""Checks and repairs of matrices whose columns should be orthonormal."""

from typing import Any

import numpy as np


def numbers(array: Any) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=np.float64)


def orthonormal(V: np.ndarray) -> bool:
    """Whether the columns are orthonormal, up to accumulated rounding."""
    return bool((np.abs(V.T @ V - np.eye(V.shape[1])) <= 1e-6).all())


def orthogonal(V: np.ndarray) -> np.ndarray:
    """V if `probes` find its columns orthogonal, else the repaired V."""
    k = V.shape[1]
    return straightened(V) if crooked(np.sum((V @ probes(k)) ** 2, axis=0), k) else V


def probes(k: int) -> np.ndarray:
    """Two sums of k columns; their norms test orthogonality and cost far less than all products of the columns."""
    return np.column_stack([np.ones(k), np.resize([1.0, -1.0], k)])


def crooked(norms2: Any, k: int) -> bool:
    """Whether these squared norms of the two sums show that the columns are no longer orthogonal."""
    return bool((abs(norms2 - k) > 1e-13 * k).any())


def straightened(V: np.ndarray) -> np.ndarray:
    """One step of Newton and Schulz towards the nearest orthogonal matrix."""
    return V @ (1.5 * np.eye(V.shape[1]) - 0.5 * (V.T @ V))
