"""Helpers for tests of readers: examples by name, the outcome of a run, refusals, and a table in all formats."""

from __future__ import annotations

import csv
import io
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seriatim import PA, data, evaluate
from seriatim.data.cache import sparse
from seriatim.errors import DataError

Row = tuple[Any, dict[Any, float]]
WAYS = [(block, threads) for block in (1, 7, 64, 4096, 1 << 20) for threads in (1, 3)]


def rows_of(source: Any, **options: Any) -> list[Row]:
    """(label, value by feature) of each example; without names, value by column."""
    stream = source if isinstance(source, data.Stream) else data.stream(source, **options)
    return [row for rows, y in stream for row in named(rows, y)]


def named(rows: Any, y: np.ndarray) -> list[Row]:
    start, index, value = (array.tolist() for array in sparse(rows))
    name = (lambda j: j) if rows.names is None else rows.names.__getitem__
    found = [{name(j): x for j, x in zip(index[a:b], value[a:b], strict=True)} for a, b in pairwise(start)]
    assert [len(row) for row in found] == [b - a for a, b in pairwise(start)], "a feature is there twice"
    return list(zip(y.tolist(), found, strict=True))


def state_of(model: Any) -> dict[str, Any]:
    """The whole state of a model, for comparisons bit by bit. -0.0 becomes 0.0."""
    state = model.__getstate__()
    arrays = {k: (v + 0.0).tobytes() if isinstance(v, np.ndarray) else v for k, v in (state["state"] or {}).items()}
    return {**state, "state": arrays, "schema": [*state["schema"].items()]}


def outcome(source: Any, **options: Any) -> tuple[Any, ...]:
    """The results and the model of a run, for comparisons bit by bit."""
    run = evaluate.progressive(PA(), data.stream(source, **options))
    return state_of(run.model), run.examples, run.mistakes, run.mean_loss.hex()


def through_pipe(folder: Path, content: bytes, read: Any) -> Any:
    """The result of `read` on a pipe with this content."""
    pipe = folder / "pipe"
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    try:
        return read(pipe)
    finally:
        writer.join()


@contextmanager
def leaving_nothing() -> Iterator[None]:
    """Check that no open file and no thread is left."""
    before = sorted(os.listdir("/proc/self/fd")), threading.active_count()  # noqa: PTH208
    yield
    assert (sorted(os.listdir("/proc/self/fd")), threading.active_count()) == before  # noqa: PTH208


def refusal(source: Any, **options: Any) -> DataError:
    """The error of reading, which must not depend on blocks and threads and must leave nothing open."""
    errors = []
    for block, threads in ((1 << 20, 2), (16, 1), (100, 3)):
        with leaving_nothing(), pytest.raises(DataError) as caught:
            evaluate.progressive(PA(), data.stream(source, block=block, threads=threads, **options))
        errors.append(caught.value)
    assert len({str(error) for error in errors}) == 1, errors
    return errors[0]


# ---- one table in several forms

ROWS: list[dict[str, Any]] = [
    {"n": 0.5, "f": True, "c": "red", "w": datetime(2026, 11, 16, 8, 30), "t": "The cat, the CAT", "y": "p"},
    {"n": None, "f": None, "c": 'it\'s, "so"\nso', "w": None, "t": "a dog; Äpfel ÄPFEL", "y": "q"},
    {"n": -3.0, "f": False, "c": None, "w": datetime(2024, 2, 29, 23), "t": "2026-11-16", "y": "p"},
    {"n": 0.0, "f": True, "c": "é語", "w": datetime(1999, 12, 31), "t": None, "y": "r"},
    {"n": 1e-3, "f": False, "c": "red", "w": datetime(2026, 11, 16, 9), "t": "the dog_1 2", "y": "q"},
]


def as_text(delimiter: str) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerow(ROWS[0])
    for row in ROWS:
        writer.writerow([value.isoformat() if isinstance(value, datetime) else value for value in row.values()])
    return file.getvalue().encode()


def as_objects(rows: list) -> bytes:
    return "\n".join(json.dumps(row, default=datetime.isoformat) for row in rows).encode()


def as_bytes(ending: str, rows: list) -> bytes:
    import pyarrow as pa

    file = io.BytesIO()
    if ending == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=2)
    else:
        with pa.ipc.new_file(file, pa.Table.from_pylist(rows).schema) as writer:
            writer.write_table(pa.Table.from_pylist(rows), max_chunksize=2)
    return file.getvalue()
