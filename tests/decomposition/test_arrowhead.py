"""Compare the SVD of an arrowhead matrix with NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seriatim.decomposition.arrowhead import arrow_svd


def diagonal(kind, n, rng):
    if kind == "graded":
        return np.sort(10.0 ** rng.uniform(-14, 0, n))[::-1]
    if kind == "equal":
        return np.sort(np.round(2 * np.abs(rng.standard_normal(n))) / 2)[::-1]
    if kind == "close":
        return 1 + 1e-14 * np.arange(n)[::-1]
    return np.sort(np.abs(rng.standard_normal(n)))[::-1]


@given(
    kind=st.sampled_from(["plain", "graded", "equal", "close"]),
    n=st.integers(1, 25),
    spread=st.sampled_from([0.0, 7.0]),
    scale=st.sampled_from([1e-60, 1.0, 1e50]),
    last=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_it_is_the_svd(kind, n, spread, scale, last, seed):
    """The values equal NumPy's, the vectors are orthogonal even for close values, and the product is the matrix."""
    rng = np.random.default_rng(seed)
    d = scale * diagonal(kind, n, rng)
    z = scale * rng.standard_normal(n) * 10.0 ** rng.uniform(-2 * spread, spread / 4, n)
    d[-1] *= last
    K = np.column_stack([np.diag(d), z])
    left, sigma, right = arrow_svd(d, z)
    size = np.linalg.norm(K / scale) * scale
    assert (np.diff(sigma) <= 0).all()
    assert np.abs(sigma - np.linalg.svd(K, compute_uv=False)).max() <= 1e-13 * size
    assert np.abs(left.T @ left - np.eye(n)).max() < 1e-13
    assert np.abs((left * sigma) @ right.T - K).max() <= 1e-13 * size
    kept = right[:, sigma > 1e-12 * size]
    assert np.abs(kept.T @ kept - np.eye(kept.shape[1])).max(initial=0) < 1e-13


def test_what_does_not_fit():
    with pytest.raises(ValueError, match="as many"):
        arrow_svd([1.0, 0.5], [1.0])
