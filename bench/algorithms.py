"""Every classifier of the catalogue beside PA, for information."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench.measure import Bench, BenchError, Line, run, warm

LIMIT = 60  # seconds that one run may take


def compare(bench: Bench) -> Iterator[Line]:
    """Wall time of a whole `seriatim run` with default parameters on the first 100,000 rows."""
    warm(bench.files.head)
    seconds: dict[str, list[float]] = {name: [] for name in classifiers(bench)}
    left_out = []
    for turn in range(bench.repeat):
        for name in list(seconds):
            bench.say(f"{name}, {turn + 1} of {bench.repeat}")
            try:
                seconds[name].append(
                    run(bench.seriatim, "run", bench.files.head, "-a", name, "--json", limit=LIMIT).seconds
                )
            except BenchError as error:
                del seconds[name]
                left_out.append(f"{name} left out: {error}")
    pa = min(seconds["pa"])
    for name, values in seconds.items():
        yield Line(
            f"run -a {name}, beside -a pa", min(values), pa, "s", note="; ".join(left_out) if name == "pa" else ""
        )


def classifiers(bench: Bench) -> list[str]:
    """Their names on the command line."""
    known = json.loads(run(bench.seriatim, "algorithms", "--json").output)
    return [name for name, about in known.items() if about["task"] == "classification"]
