"""Mutated texts and model files give a result or an error that says where, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("count", [500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_mutated_input_gives_a_result_or_an_error_with_a_position(count):
    # In a process of its own: a crash is then a failure of this test, and its memory is measured alone.
    command = [sys.executable, "-m", "tests.fuzz", str(count), "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert f"{count:,} texts" in done.stdout
    assert f"{count // 10:,} models" in done.stdout
