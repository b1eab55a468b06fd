"""Measure whenever a line arrives on standard input."""

import json
import sys
from collections.abc import Callable


def serve(measure: Callable[[], dict[str, float]]) -> None:
    """Answer each line with one measurement, until the input ends."""
    for _ in sys.stdin:
        print(json.dumps(measure()), flush=True)
