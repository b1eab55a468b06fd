"""Ten blocks of what `python -m tests.endurance` runs a hundred of."""

import pytest

from tests.endurance import BLOCK, accuracy, endure, settings


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize(("cls", "parameters"), [*settings()], ids=str)
def test_a_million_steps_stay_finite(cls, parameters, labels):
    if labels == 3 and (cls.task != "classification" or cls.binary):
        pytest.skip("no labels, or two")
    blocks = 1 if cls.__name__ == "OnlinePCA" else 10  # of which each row takes a decomposition of its own
    model = endure(cls, parameters, labels, blocks * BLOCK)
    if parameters.get("average") and cls.__name__ in ("PA", "Perceptron", "OGD", "IELLIP"):
        assert accuracy(model, labels) > 0.95
