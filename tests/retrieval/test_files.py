"""`load` refuses states of OASIS and OMDL that no triplets lead to."""

import numpy as np
import pytest

from seriatim import OASIS, OMDL
from seriatim.errors import DataError, ModelError
from seriatim.kernel import Gaussian, Linear

TRIPLETS = [(0, 1, 2), (3, 4, 5), (6, 7, 8)]


@pytest.mark.parametrize(
    ("model", "edits"),
    [
        (OASIS(), [("W", lambda W: W * 1e200), ("W", lambda W: W[:0, :0]), ("updates", 9)]),
        (
            OMDL([Linear(), Gaussian(1.0)]),
            [
                ("columns", lambda K: K * 1e200),
                ("G", lambda G: G * 1e9),
                ("W", lambda W: W * 1e200),
                ("W", lambda W: -W),
                ("logs", lambda x: x - 1e5 * (x < 0) - [0.0, 1e5]),
                ("updates", 9),
            ],
        ),
    ],
)
def test_states_that_no_triplets_lead_to(model, edits):
    model.partial_fit(np.random.default_rng(0).standard_normal((9, 4)), TRIPLETS)
    for name, value in edits:
        state = model.__getstate__()
        old = state["state"][name]
        state["state"][name] = value(old) if callable(value) else type(old)(value)
        with pytest.raises(ModelError):
            type(model).__new__(type(model)).__setstate__(state)
            pytest.fail(f"{name} was taken")


def test_kernels_out_of_range_are_refused():
    """No number of a kernel matrix exceeds its diagonal; a larger one could overflow when squared."""
    K = np.diag([1e-300, 1e-300, 1e-300]) + 1e10 * (1 - np.eye(3))
    with pytest.raises(DataError, match="kernel"):
        OMDL("precomputed").partial_fit([K], [(0, 1, 2)])


@pytest.mark.parametrize("rank", [None, 5])
def test_a_distance_does_not_depend_on_how_many_are_asked_for(rank):
    """A distance has the same bits however many distances one call asks for."""
    model = OMDL([Linear(), Gaussian(1.0)], rank=rank)
    model.partial_fit(np.random.default_rng(0).standard_normal((90, 4)), TRIPLETS)
    all_distances = model.distances(3)
    assert all_distances.tolist() == [model.distance(3, b) for b in range(90)]
    assert all_distances[40:57].tolist() == model.distances(3, np.arange(40, 57)).tolist()
