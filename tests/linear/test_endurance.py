"""Ten blocks of the stream of which `python -m tests.endurance` runs a hundred."""

import pytest

from tests.cases import looped
from tests.endurance import BLOCK, accuracy, endure, settings

SETTINGS = {}
for cls, parameters in settings():
    SETTINGS.setdefault(cls, []).append(parameters)


@pytest.mark.slow
@pytest.mark.parametrize("cls", SETTINGS, ids=lambda cls: cls.__name__)
@looped("parameters", SETTINGS.get)
@looped("labels", lambda cls: (2, 3) if cls.task == "classification" and not cls.binary else (2,))
def test_a_million_steps_stay_finite(cls, parameters, labels):
    blocks = 1 if cls.__name__ == "OnlinePCA" else 10  # of which each row takes a decomposition of its own
    model = endure(cls, parameters, labels, blocks * BLOCK)
    if parameters.get("average") and cls.__name__ in ("PA", "Perceptron", "OGD", "IELLIP"):
        assert accuracy(model, labels) > 0.95
