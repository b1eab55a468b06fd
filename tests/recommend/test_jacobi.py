"""The singular value decomposition of small matrices agrees with LAPACK."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seriatim.recommend.svd import svd


def compare(A):
    U, s, V = svd(A)
    size = max(np.abs(A).max(), 1e-300)
    assert s == pytest.approx(np.linalg.svd(A)[1], abs=1e-13 * size * len(A))
    assert (s[1:] <= s[:-1]).all()
    assert np.abs(V @ V.T - np.eye(len(A))).max() < 1e-13 * len(A)
    kept = s > 1e-10 * s[0]
    assert np.abs(U[:, kept].T @ U[:, kept] - np.eye(kept.sum())).max(initial=0) < 1e-9
    assert np.abs((U * s) @ V - A).max() <= 1e-13 * size * len(A)


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2, 5]))
def test_equals_lapack(n, seed, lost):
    """Matrices of any rank, with columns of very different norms, and with rows of zeros."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-4, 4, n)
    A[:, : min(lost, n - 1)] = A[:, -1:]
    compare(A)
    A[-1] = 0
    compare(A)


def test_a_diagonal_and_a_product():
    """A diagonal matrix after the rank-one change of a rating."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        s = np.append(-np.sort(-rng.exponential(10, 10)), 0)
        compare(np.diag(s) + rng.standard_normal() * np.outer(rng.standard_normal(11), rng.standard_normal(11)))


def test_nothing():
    U, s, V = svd(np.zeros((3, 3)))
    assert not s.any()
    assert not U.any()
    assert (np.eye(3) == V).all()
    with pytest.raises(ValueError, match="square"):
        svd(np.zeros((2, 3)))
