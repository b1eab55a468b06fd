"""Mutated texts and model files give a result or an error that says where, and nothing else."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_mutated_input_gives_a_result_or_an_error_with_a_position():
    # In a process of its own: a crash is then a failure of this test, and its memory is measured alone.
    command = [sys.executable, "-m", "tests.fuzz", "20000", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "20,000 texts" in done.stdout
    assert "2,000 models" in done.stdout
