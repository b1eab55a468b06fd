"""Which fixed models a learner is compared with: by which loss, in which norm, and of which length."""

from __future__ import annotations

from typing import Any

import numpy as np

from seriatim.evaluate.regret_bounds.best_fixed import best_of, gram_of, scaled_rows, solver
from seriatim.evaluate.regret_bounds.rounds import Rounds


def measured_loss(model: Any) -> str:
    """The model's own loss; of [-m]+ the best is 0, at u = 0, so that there it is the hinge."""
    return "hinge" if model.loss == "perceptron" else model.loss


def norm_of(model: Any) -> str:
    """The norm in which the method's bound is one."""
    if hasattr(model, "U"):
        return "l1"
    return "simplex" if getattr(model, "mirror", "") == "entropy" else "l2"


def own_radius(model: Any) -> float | None:
    """The radius that the model itself keeps to."""
    if getattr(model, "mirror", "") == "entropy":
        return 1.0
    return getattr(model, "U", None) or getattr(model, "radius", None)


def length_asked_for(run: Rounds, loss: str) -> float:
    """The length of the least-squares model times the factor, up to 100, at which it has the smallest loss.

    Each feature counts as if it had been there once more, with target 0, so that those seen once do not decide.
    """
    A = run.A
    ones = np.ones(len(run))
    there = np.asarray((A != 0).sum(axis=0))
    squares = np.asarray((A**2).sum(axis=0))
    once = np.where(there > 0, squares / np.maximum(there, 1), 1.0)
    u = solver(gram_of(scaled_rows(A, ones), ones), once)(A.T @ run.y)
    length = float(np.linalg.norm(u))
    if length == 0:
        return 1 / max(float(run.norms.max()), 1e-50)
    scores = (A @ u)[:, None] / length
    factor = best_of(scores, run.y, loss, 100 * length, "l2", 1e-3, run.model.epsilon).weights[0]
    return max(float(factor), length / 100)
