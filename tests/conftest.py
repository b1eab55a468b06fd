"""What all tests share: settings of hypothesis, and the real data beside the repository."""

import os
from pathlib import Path

# Tests run on all cores already; threads of BLAS that wait for one another make small matrices ten times as slow.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, so that a failure is one of the change and not of the day.
settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("suite")

DATA = Path(__file__).parents[2] / "shared" / "data"


def shared(name: str) -> Path:
    """A file of the collection of real data sets; the test is skipped where the collection is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the data set {name} is not there: {DATA} does not hold it")
    return path
