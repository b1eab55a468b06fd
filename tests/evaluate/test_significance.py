"""The signed-rank test against SciPy and against all signs counted one by one; Holm's correction by its definition."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from seriatim.evaluate.comparison.significance import EXACT, LEVEL, fewest_pairs, holm, signed_rank


@pytest.mark.parametrize("seed", range(20))
def test_without_ties_as_scipy(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, int(rng.integers(1, 40))))
    expected = stats.wilcoxon(x, y + 0.3 * rng.standard_normal(), method="exact").pvalue
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, int(rng.integers(1, 40))))
    assert signed_rank(x, y + 0.3 * rng.standard_normal()) == pytest.approx(expected, rel=1e-9)


def by_all_signs(difference):
    """The p-value by its definition: how many of the 2^n signs give a sum of ranks as far out."""
    difference = np.array([one for one in difference if one])
    if not len(difference):
        return 1.0
    ranks = stats.rankdata(np.abs(difference))
    found = ranks[difference > 0].sum()
    sums = np.array([ranks[np.array(signs, dtype=bool)].sum() for signs in product([0, 1], repeat=len(ranks))])
    return min(1.0, 2 * min((sums <= found).mean(), (sums >= found).mean()))


@given(st.lists(st.integers(-4, 4), max_size=10))
def test_with_ties_and_zeros_as_counted(difference):
    assert signed_rank(difference, np.zeros(len(difference))) == pytest.approx(by_all_signs(difference), rel=1e-9)


def test_the_sides_are_equal():
    x, y = np.random.default_rng(0).standard_normal((2, 15))
    assert signed_rank(x, y) == pytest.approx(signed_rank(y, x))


def test_the_normal_distribution_takes_over_smoothly():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(EXACT + 1) + 0.12
    many, few = signed_rank(x, np.zeros(EXACT + 1)), signed_rank(x[:-1], np.zeros(EXACT))
    expected = stats.wilcoxon(x, method="asymptotic", correction=False).pvalue
    assert many == pytest.approx(expected, rel=1e-9)
    # The one is exact and the other is not: near the place where they meet they differ by less than a twentieth.
    assert few == pytest.approx(stats.wilcoxon(x[:-1], method="asymptotic").pvalue, rel=0.05)


def test_infinite_losses_are_the_largest():
    """A run that diverged has an infinite loss; two of them do not differ."""
    assert signed_rank([1.0] * 6, [np.inf] * 6) == pytest.approx(2 / 2**6)
    assert signed_rank([np.inf, *[1.0] * 6], [np.inf] * 7) == pytest.approx(2 / 2**6)
    assert signed_rank([np.inf], [np.inf]) == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_by_its_definition(p):
    corrected = holm(p)
    order = sorted(range(len(p)), key=lambda i: p[i])
    for place, i in enumerate(order):
        expected = max(min(1.0, (len(p) - j) * p[order[j]]) for j in range(place + 1))
        assert corrected[i] == pytest.approx(expected)


@pytest.mark.parametrize("tests", [1, 2, 5, 11, 30])
def test_fewest_pairs_are_the_fewest(tests):
    n = fewest_pairs(tests)
    clear = [signed_rank(np.arange(1.0, k + 1), np.zeros(k)) * tests for k in (n - 1, n)]
    assert clear[1] < LEVEL <= clear[0]
