"""How long a user waits for the shortest commands."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Bench, Line, fastest, run, take_turns

OFTEN = 4  # times as many turns as elsewhere: the runs are short, and disturbed easily


def compare(bench: Bench) -> Iterator[Line]:
    """Wall time of `seriatim --help` and of a run on a megabyte, beside Python with NumPy imported."""
    small = bench.files.small
    sides = {
        "import numpy": lambda: run(bench.python, "-c", "import numpy"),
        "--help": lambda: run(bench.seriatim, "--help"),
        "run": lambda: run(bench.seriatim, "run", small, "-a", "pa", "--json"),
    }
    turns = take_turns(bench, sides, OFTEN * bench.repeat)
    numpy, shown, learned = (1000 * fastest(turns[side]).seconds for side in sides)
    yield Line("seriatim --help", "import numpy", shown, numpy, "ms", target=2)
    yield Line("run a file of 1 MB", "import numpy", learned, numpy, "ms", target=4)
