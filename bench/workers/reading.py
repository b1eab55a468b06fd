"""Time of going through a file: `reading READER FILE`."""

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from bench.workers.turns import serve

Facts = dict[str, float]  # what is in a file: rows, values other than labels, and their total


def stream(path: str) -> int:
    from seriatim import data

    return sum(rows.n for rows, _ in data.stream(path))


def learn(path: str) -> int:
    from seriatim import PA, data, evaluate

    return evaluate.progressive(PA(), data.stream(path)).examples


def contents(path: str) -> Facts:
    """As Seriatim has it; a category counts as one."""
    from seriatim import data

    facts = {"rows": 0, "values": 0, "total": 0.0}
    for rows, _ in data.stream(path):
        value = rows.arrays[-1]
        facts["rows"] += rows.n
        facts["values"] += value.size
        facts["total"] += float(value.sum())
    return facts


def load(path: str) -> Any:
    from seriatim import data

    return data.load(path)[0]


def sklearn(path: str) -> Any:
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(path)[0]


def matrix(X: Any) -> Facts:
    return {"rows": X.shape[0], "values": X.nnz, "columns": X.shape[1], "total": float(X.data.sum())}


def csv(path: str) -> list[Any]:
    """All of it at once, on all cores."""
    from pyarrow.csv import read_csv

    return [read_csv(path)]


def csv_batches(path: str) -> Iterable[Any]:
    from pyarrow.csv import open_csv

    return open_csv(path)


def parquet_batches(path: str) -> Iterable[Any]:
    from pyarrow.parquet import ParquetFile

    return ParquetFile(path).iter_batches()


def frame(tables: Iterable[Any]) -> Facts:
    """As Arrow has it."""
    import pyarrow.compute as pc

    facts = {"rows": 0, "values": 0, "total": 0.0}
    for table in tables:
        facts["rows"] += table.num_rows
        for name in table.schema.names:
            if name != "y":
                column = table[name]
                facts["values"] += len(column) - column.null_count
                facts["total"] += float((pc.count if column.type == "string" else pc.sum)(column).as_py())
    return facts


def igzip(path: str) -> None:
    from isal import igzip

    with igzip.open(path) as file:
        while file.read(1 << 20):
            pass


def lines(path: str) -> Facts:
    from isal import igzip

    with igzip.open(path) as file:
        return {"rows": sum(1 for _ in file)}


def count(tables: Iterable[Any]) -> int:
    return sum(table.num_rows for table in tables)


# What is timed, which says how many rows there were if it knows; and what is in the file, found out once.
READERS: dict[str, tuple[Callable[[str], int | None], Callable[[str], Facts]]] = {
    "stream": (stream, contents),
    "learn": (learn, contents),
    "load": (lambda path: load(path).shape[0], lambda path: matrix(load(path))),
    "sklearn": (lambda path: sklearn(path).shape[0], lambda path: matrix(sklearn(path))),
    "csv": (lambda path: count(csv(path)), lambda path: frame(csv(path))),
    "csv-batches": (lambda path: count(csv_batches(path)), lambda path: frame(csv_batches(path))),
    "parquet": (lambda path: count(parquet_batches(path)), lambda path: frame(parquet_batches(path))),
    "igzip": (igzip, lines),
}


def main(name: str, path: str) -> None:
    """What is imported has been imported before anything is timed, and the file is in the system's cache."""
    read, look = READERS[name]
    facts = look(path)
    read(path)

    def measure() -> Facts:
        start = time.perf_counter()
        rows = read(path)
        seconds = time.perf_counter() - start
        if rows not in (None, facts["rows"]):
            raise ValueError(f"{rows} rows of {facts['rows']}")
        return {"seconds": seconds, **facts}

    serve(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
