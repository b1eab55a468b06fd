"""The kernels by plain NumPy: each function gives the matrix of k(x, z) over the rows x of X and z of Z."""

import numpy as np


def differences(X, Z):
    return X[:, None, :] - Z[None, :, :]


def linear(X, Z):
    return X @ Z.T


def polynomial(X, Z, degree=3, c=1.0):
    return (X @ Z.T + c) ** degree


def gaussian(X, Z, sigma=1.0):
    return np.exp(-np.sum(differences(X, Z) ** 2, axis=2) / (2 * sigma**2))


def laplacian(X, Z, sigma=1.0):
    return np.exp(-np.sum(np.abs(differences(X, Z)), axis=2) / sigma)


def chi_square(X, Z, gamma=1.0):
    """Of values that are not negative; 0/0 counts as 0."""
    sums = X[:, None, :] + Z[None, :, :]
    return np.exp(-gamma * np.sum(differences(X, Z) ** 2 / np.where(sums > 0, sums, 1), axis=2))


def cosine(X, Z):
    """0 where a row has no length."""
    return unit(X) @ unit(Z).T


def unit(X):
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1)


def median_distance(X):
    """The width by the median heuristic: the median of |x - z| over all pairs of different rows."""
    above = np.triu_indices(len(X), 1)
    return np.median(np.sqrt(np.sum(differences(X, X) ** 2, axis=2))[above])
