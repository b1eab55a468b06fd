"""A second pass over a file, from what the first has kept on disk, beside the first."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Bench, Line, Worker, take_turns


def compare(bench: Bench) -> Iterator[Line]:
    """Two passes in one stream, PA learning; and, for information, one pass of which nothing is kept."""
    for file, target in ((bench.files.libsvm, 1 / 4), (bench.files.words, None)):
        with (
            Worker(bench.python, "passes", file) as twice,
            Worker(bench.python, "reading", "learn", file) as once,
        ):
            turns = take_turns(bench, {"two passes": twice, "one pass": once}, bench.repeat)
        second, first = (min(turn[key] for turn in turns["two passes"]) for key in ("seconds", "first"))
        alone = min(turn["seconds"] for turn in turns["one pass"])
        yield Line(f"second pass over {file.name}", "first pass", second, first, "s", target)
        yield Line(f"second pass over {file.name}", "one pass, nothing kept", second, alone, "s")
