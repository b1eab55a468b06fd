"""Time of two passes of one stream, with PA learning: `passes FILE`."""

import sys
import time
from collections.abc import Iterator
from typing import Any

from bench.workers.reading import contents
from bench.workers.turns import serve
from seriatim import PA, data, evaluate


class Twice:
    """Two passes; the second begins when its first block is there."""

    def __init__(self, path: str, rows: float) -> None:
        self.stream, self.rows = data.stream(path, passes=2), rows
        self.seen = 0
        self.values = [0, 0]
        self.border = 0.0

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for rows, y in self.stream:
            if self.seen == self.rows:
                self.border = time.perf_counter()
            self.values[self.seen >= self.rows] += rows.nonzeros
            self.seen += rows.n
            yield rows, y


def main(path: str) -> None:
    """A fresh stream and model for each turn."""
    facts = contents(path)

    def measure() -> dict[str, float]:
        twice = Twice(path, facts["rows"])
        start = time.perf_counter()
        run = evaluate.progressive(PA(), twice)
        end = time.perf_counter()
        if run.examples != 2 * facts["rows"] or twice.values != 2 * [facts["values"]]:
            raise ValueError(f"{run.examples} rows with {twice.values} values; each pass has {facts}")
        return {"first": twice.border - start, "seconds": end - twice.border, **facts}

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
