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
    failed: dict[str, str] = {}
    for turn in range(bench.repeat):
        for name in [name for name in seconds if name not in failed]:
            bench.say(f"{name}, {turn + 1} of {bench.repeat}")
            try:
                usage = run(bench.seriatim, "run", bench.files.head, "-a", name, "--json", limit=LIMIT)
            except BenchError as error:
                if name == "pa":
                    raise
                failed[name] = f"{name} left out: {error}"
            else:
                seconds[name].append(usage.seconds)
    pa = min(seconds["pa"])
    for name in [name for name in seconds if name not in failed]:
        note = "; ".join(failed.values()) if name == "pa" else ""
        yield Line(f"run -a {name}", "run -a pa", min(seconds[name]), pa, "s", note=note)


def classifiers(bench: Bench) -> list[str]:
    """Their names on the command line."""
    known = json.loads(run(bench.seriatim, "algorithms", "--json").output)
    return [name for name, about in known.items() if about["task"] == "classification"]
