"""Words for features, hashed: a whole run over Vowpal Wabbit's text, by `seriatim run -a pa --bits` and by itself."""

from __future__ import annotations

from collections.abc import Iterator

from bench.data import NAMED
from bench.measure import Bench, Line, Worker
from bench.vowpal_wabbit import Peers, beside, ours

BITS = "18"
PEERS: Peers = {"vw": (("-b", BITS), 1 / 3), "vw --sgd": (("-b", BITS, "--sgd"), None)}


def compare(bench: Bench) -> Iterator[Line]:
    """Both read the same file."""
    file, rows = bench.files.words, min(bench.rows, NAMED)
    with Worker(bench.python, "reading", "stream", file) as worker:
        values = worker()["values"]
    what = f"run a file of {rows:,} rows of words"
    yield from beside(bench, what, ours(bench, file, "--bits", BITS), file, rows, PEERS, values)
