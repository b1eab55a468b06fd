"""Learners as experts: nobody knows beforehand which of them suits the stream, and the ensemble need not.

Run it with `python examples/experts.py`.
"""

import numpy as np

from seriatim import AROW, OGD, PA, AdaHedge, FixedShare, Hedge, SoftSVM, data, evaluate

EXPERTS = [AROW(), PA(C=0.01), OGD(), SoftSVM()]

# Each learns every example; what they predict is weighed by how well each has done so far.
X, y = data.load("digits")
model = Hedge(EXPERTS)
run = evaluate.progressive(model, X, y)
print(f"{'the ensemble':>14}: {run.mistakes} mistakes in {run.examples}")
for expert, lost, weight in zip(EXPERTS, model.losses_, model.weights_, strict=True):
    print(f"{type(expert).__name__:>14}: {lost:.0f} mistakes, weight {weight:.3f}")
print(f"{'regret':>14}: {model.regret_:.1f}, which cannot exceed {model.bound_:.1f}\n")

# The same weights over experts of whom only the losses are known; the best one changes halfway.
rng = np.random.default_rng(0)
losses = rng.random((2000, 10))
losses[:1000, 3] *= 0.5
losses[1000:, 7] *= 0.5
for rule in (Hedge(), AdaHedge(), FixedShare(alpha=0.001)):
    rule.partial_fit(losses)
    print(f"{type(rule).__name__:>14}: lost {rule.loss_:.0f}, the best single expert {rule.losses_.min():.0f}")

# The ensemble is a model like any other: it is saved with all that is in it.
model.save("ensemble.model")
print("\nensemble.model")
