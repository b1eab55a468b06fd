"""Parquet and Arrow files, batch by batch, by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from seriatim.core.ahead import prefetched
from seriatim.core.rows import Rows
from seriatim.data.tables import check_columns, known_label, label_column
from seriatim.errors import DataError
from seriatim.features import Features
from seriatim.features.encode import Crowd
from seriatim.features.frames import arrow_column, frame_kinds, object_rows, table_rows

BATCH = 1 << 16  # rows of a batch, at most
CELLS = 1 << 21  # of a batch, about


def batches(file: Any, format: str, name: str) -> Iterator[Any]:
    """The record batches of a file that can be read at any place."""
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(f"{name}: {format} files are read by pyarrow: pip install 'seriatim[arrow]'") from None

    try:
        with pa.OSFile(file) if isinstance(file, str) else nullcontext(file) as opened:
            for batch in parquet_batches(opened) if format == "parquet" else arrow_batches(opened):
                batch.validate(full=True)  # as text that is no UTF-8, which pyarrow takes as it is
                yield batch
    except (pa.ArrowException, OSError, EOFError) as error:  # pyarrow's messages may be long
        raise DataError(f"{name}: damaged {format} data: {str(error).partition(chr(10))[0]}") from None


def parquet_batches(file: Any) -> Iterator[Any]:
    import pyarrow.parquet as pq

    opened = pq.ParquetFile(file)
    return opened.iter_batches(batch_size=max(256, min(BATCH, CELLS // max(opened.metadata.num_columns, 1))))


def arrow_batches(file: Any) -> Iterator[Any]:
    """Of a file, or of a stream, which has no table of its batches."""
    import pyarrow as pa

    begin = file.read(6)
    file.seek(0)
    reader = pa.ipc.open_file(file) if begin == b"ARROW1" else pa.ipc.open_stream(file)
    for batch in map(reader.get_batch, range(reader.num_record_batches)) if begin == b"ARROW1" else reader:
        for start in range(0, batch.num_rows, BATCH):
            yield batch.slice(start, BATCH)


def blocks(
    file: Any,
    format: str,
    name: str,
    features: Features,
    schema: dict[str, str],
    labelled: bool,
    crowd: Crowd | None = None,
) -> Iterator[tuple[Rows, np.ndarray]]:
    """(rows, y) of each batch, read ahead on a thread. The schema is filled on the way."""
    import narwhals.stable.v1 as nw
    import pyarrow as pa

    seen = 0
    label, kinds = None, {}
    for batch in prefetched(batches(file, format, name)):
        table = typed(pa.Table.from_batches([batch]), schema)
        names = table.column_names
        if not seen:  # it is the same for all batches
            label = known_label(names, label_column(name, names, features.label, labelled), schema)
            check_columns(name, names, features, schema)
        try:
            if not seen:
                inputs = table if label is None else table.drop_columns([label])
                kinds = frame_kinds(nw.from_native(inputs), features, schema)
                schema |= {**kinds, **({} if label is None else {label: "label"})}
            y = np.full(len(table), np.nan) if label is None else labels(table[label], label, labelled)
            if "objects" in kinds.values():
                rows = object_rows(table.select(list(kinds)).to_pylist(), features, crowd)
            else:
                columns = [arrow_column(table[k], kind) for k, kind in kinds.items()]
                rows = table_rows(columns, kinds, len(table), features, crowd)
        except DataError as error:
            raise DataError(f"{name}: {placed(str(error), seen, len(table))}") from None
        rows.schema = schema
        seen += len(table)
        yield rows.check(), y


def placed(problem: str, seen: int, n: int) -> str:
    """What is wrong with a batch of n rows that comes after so many, with the row's number in the file."""
    row = re.match("row ([0-9]+)", problem)
    if row is None:
        return f"rows {seen + 1} to {seen + n}: {problem}"
    return f"row {seen + int(row[1]) + 1}{problem[row.end() :]}"


def typed(table: Any, schema: dict[str, str]) -> Any:
    """A column of nothing but nulls may have no type: it gets the one it is known by, or that of categories."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_null(field.type):
            kind = pa.float64() if schema.get(field.name) in ("number", "flag") else pa.string()
            table = table.set_column(i, field.name, table.column(i).cast(kind))
    return table


def labels(column: Any, name: str, labelled: bool) -> np.ndarray:
    """The labels of a batch: numbers, or strings."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind, is_a = column.type, pa.types
    if is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_decimal(kind) or is_a.is_boolean(kind):
        try:
            y = (column.cast(pa.string()) if is_a.is_decimal(kind) else column).cast(pa.float64()).to_numpy()
        except pa.ArrowInvalid as error:  # a whole number that is none of those of 64 bits
            raise DataError(f"column {name!r}: no label: {error}") from None
        there = y == y
    else:
        values = column.to_pylist()
        if not all(value is None or isinstance(value, str) for value in values):
            raise DataError(f"column {name!r} has type {kind}; labels are numbers or strings")
        y = np.array([value or float("nan") for value in values], dtype=object)
        there = np.array([bool(value) for value in values])
    if labelled and not there.all():
        raise DataError(f"row {there.argmin()}, column {name!r}: expected a label, found none")
    return y
