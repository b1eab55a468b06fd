"""Fixtures for all tests: settings of hypothesis, and the larger data sets."""

import os
import signal
from pathlib import Path

# Tests run on all cores already; threads of BLAS that wait for one another make small matrices ten times as slow.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A shell script starts its background jobs with SIGINT ignored. Tests of interrupts would then wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from hypothesis import HealthCheck, settings

# A shell that starts the tests in the background lets them ignore Ctrl-C, which tests of interrupts would wait for.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, so that a failure is one of the change and not of the day.
settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("suite")


@pytest.fixture(params=["small", pytest.param("large", marks=pytest.mark.slow)])
def large_block(request, monkeypatch) -> tuple[int, int]:
    """Rows and columns of a block that one thread learns while another checks it: one of more than 2^20 values.

    In quick tests it is a small block, and the limit is lower.
    """
    if request.param == "large":
        return 1300, 1000
    monkeypatch.setattr("seriatim.estimator.base.LARGE", 1000)
    monkeypatch.setattr("seriatim.estimator.base.THREADS", 2)
    return 195, 10


DATA = Path(os.environ.get("SERIATIM_DATA") or os.devnull).absolute()


def data_set(name: str) -> Path:
    """A file of the larger data sets, which CONTRIBUTING.md describes. Skips the test if the file is missing."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"needs {name} in the folder that SERIATIM_DATA names")
    return path
