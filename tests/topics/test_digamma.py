"""Compare psi and log Gamma with SciPy's."""

import numpy as np
from scipy.special import digamma, gammaln

from seriatim.topics.batches import gamma_functions

ROOT = 1.4616321449683622  # of psi
X = np.concatenate(
    [np.geomspace(1e-9, 1e60, 20_001), np.linspace(0.01, 40, 20_001), ROOT + np.linspace(-1e-3, 1e-3, 101)]
)


def far(ours, theirs):
    """The largest difference, relative to the larger of the number and 1."""
    return np.max(np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1))


def test_psi_and_log_gamma():
    psi, _, log_gamma, log = gamma_functions(X)
    assert far(psi, digamma(X)) < 1e-12
    assert far(log_gamma, gammaln(X)) < 1e-12
    assert far(log, np.log(X)) < 1e-15


def test_exponential_of_psi():
    """The relative error of normal numbers; results below e^-700 are 0."""
    exp_psi = gamma_functions(X)[1]
    large = digamma(X) > -690
    expected = np.exp(digamma(X[large]))
    assert (np.abs(exp_psi[large] - expected) <= 1e-12 * np.maximum(1, np.abs(digamma(X[large]))) * expected).all()
    assert (exp_psi[digamma(X) < -700.5] == 0).all()
