"""Parquet and Arrow files, read in batches with pyarrow."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from seriatim.core.rows import Rows
from seriatim.core.threads import prefetched
from seriatim.data.read.header import check_columns, known_label, label_column
from seriatim.errors import DataError
from seriatim.features import Features
from seriatim.features.block import recycle
from seriatim.features.encoder import Crowd
from seriatim.features.frames import (
    Dictionary,
    arrow_column,
    frame_kinds,
    is_string,
    object_rows,
    plain_column,
    plain_table,
    table_rows,
)
from seriatim.labels import label_of

BATCH = 1 << 16  # the most rows of a batch
CELLS = 1 << 20  # the approximate number of cells of a batch
BUFFER = 1 << 15  # bytes per read of a column, unless its pages are larger
EXACT = 1 << 53  # all integers up to here are exact as float64
DICTIONARY = 1 << 18  # bytes of a small dictionary of strings


def batches(file: Any, format: str, name: str, coded: bool = False) -> Iterator[Any]:
    """The record batches of a seekable file. If `coded`, columns of recurring strings may come as dictionaries."""
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(f"{name}: {format} files need the package pyarrow: pip install 'seriatim[arrow]'") from None

    try:
        with pa.OSFile(file) if isinstance(file, str) else nullcontext(file) as opened:
            for batch in parquet_batches(opened, coded) if format == "parquet" else arrow_batches(opened):
                check_names(batch.schema)
                batch.validate(full=True)  # pyarrow itself does not check that strings are UTF-8
                yield batch
    except UnicodeDecodeError as error:  # raised by `check_names`
        raise DataError(
            f"{name}: expected the name of a column in UTF-8, found the byte 0x{error.object[error.start]:02x}"
        ) from None
    except (pa.ArrowException, OSError, EOFError) as error:  # only the first line: pyarrow's messages may be long
        raise DataError(f"{name}: damaged {format} data: {str(error).partition(chr(10))[0]}") from None


def check_names(fields: Any) -> None:
    """Decode the names of all columns and nested columns. pyarrow decodes a name only when it is accessed."""
    for field in fields:
        _ = field.name
        check_names([field.type.field(i) for i in range(field.type.num_fields)])


def parquet_batches(file: Any, coded: bool) -> Iterator[Any]:
    """Read a Parquet file page by page, one column after another.

    A row group may be as large as the file. With pages, other cores can begin as soon as the first pages are read.
    """
    import pyarrow.parquet as pq

    how: dict[str, Any] = {"buffer_size": BUFFER, "pre_buffer": False}
    opened = pq.ParquetFile(file, **how)
    if coded and (recurring := recurring_strings(opened)):
        opened = pq.ParquetFile(file, metadata=opened.metadata, read_dictionary=recurring, **how)
    size = max(256, min(BATCH, CELLS // max(opened.metadata.num_columns, 1)))
    return opened.iter_batches(batch_size=size, use_threads=False)


def recurring_strings(opened: Any) -> list[str]:
    """The columns of strings that have a small dictionary in the first row group.

    pyarrow aborts the process if the metadata of a column are damaged. Reading one row first raises an error instead.
    """
    import pyarrow as pa

    names = {field.name for field in opened.schema_arrow if field.type in (pa.string(), pa.large_string())}
    if not names or not opened.metadata.num_row_groups:
        return []
    next(opened.iter_batches(batch_size=1, row_groups=[0], use_threads=False), None)
    group = opened.metadata.row_group(0)
    chunks = [chunk for chunk in map(group.column, range(group.num_columns)) if chunk.path_in_schema in names]
    return [
        chunk.path_in_schema
        for chunk in chunks
        if chunk.has_dictionary_page and chunk.data_page_offset - chunk.dictionary_page_offset <= DICTIONARY
    ]


def arrow_batches(file: Any) -> Iterator[Any]:
    """The record batches of an Arrow file, or of an Arrow stream, which has no index of its batches."""
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
    """Yield (rows, y) of each batch. A thread reads the next columns ahead. The first batch fills the schema."""
    seen, names = 0, None
    for n, label, told, kinds, columns in prefetched(tables(file, format, name, features, schema, labelled)):
        with placed(name, seen, n):
            y = told if isinstance(told, np.ndarray) else labels(told, label, labelled)
            if "objects" in kinds.values():
                rows = object_rows(dicts(columns), features, crowd)
            else:
                rows = table_rows(columns, kinds, n, features, crowd, names)
        rows.schema = schema
        seen += n
        yield rows.check(), y
        # If a model has learned these names, the next batch reuses them, and the model need not look them up again.
        names = rows.names if rows.names is not None and rows.names.all_learned else None
        recycle(rows)


def tables(
    file: Any, format: str, name: str, features: Features, schema: dict[str, str], labelled: bool
) -> Iterator[tuple[int, str, Any, dict[str, str], Any]]:
    """Yield (n, label, labels, kinds, columns) of each batch.

    n : the number of rows.
    label : the name of the label column.
    labels : the labels, or the label column if it is not converted yet.
    kinds : the kind of each other column.
    columns : the columns for `table_rows`; if there are nested objects, the Arrow table.
    """
    import narwhals.stable.v1 as nw
    import pyarrow as pa

    seen = 0
    label, kinds = None, {}
    dictionaries: list[Dictionary] = []
    for batch in typed(batches(file, format, name, coded=True), schema):
        n, names = batch.num_rows, batch.schema.names
        if not seen:  # all batches have the same columns
            label = known_label(names, label_column(name, names, features.label, labelled), schema)
            check_columns(name, names, features, schema)
        with placed(name, seen, n):
            if not seen:
                inputs = pa.Table.from_batches([batch])
                inputs = inputs if label is None else inputs.drop_columns([label])
                inputs = plain_table(inputs, features)
                kinds = frame_kinds(nw.from_native(inputs), features, schema)
                dictionaries = [Dictionary() for _ in kinds]
                schema |= {**kinds, **({} if label is None else {label: "label"})}
            told = np.full(n, np.nan) if label is None else batch.column(label)
            # Rows of numbers take less time than reading the next batch. Other rows take longer: convert labels here.
            if label is not None and not {*kinds.values()} <= {"number", "flag"}:
                told = labels(told, label, labelled)
            columns = plain_table(batch.select(list(kinds)), features)
            if "objects" not in kinds.values():
                columns = list(map(arrow_column, columns.columns, kinds.values(), dictionaries))
        seen += n
        yield n, label or "", told, kinds, columns


@contextmanager
def placed(name: str, seen: int, n: int) -> Iterator[None]:
    """Add the row of the file to errors about a batch of n rows that comes after `seen` rows."""
    try:
        yield
    except DataError as error:
        problem = str(error)
        row = re.match("row ([0-9]+)", problem)
        where = f"rows {seen + 1} to {seen + n}: " if row is None else f"row {seen + int(row[1]) + 1}"
        raise DataError(f"{name}: {where}{problem[row.end() if row else 0 :]}") from None


def typed(found: Iterator[Any], schema: dict[str, str]) -> Iterator[Any]:
    """Give all batches the types of the first one.

    A column of nulls may have no type. It becomes a column of numbers if the schema says so, else of strings.
    """
    import pyarrow as pa

    types: dict[int, Any] | None = None
    for batch in found:
        if types is None:
            nulls = [(i, field.name) for i, field in enumerate(batch.schema) if pa.types.is_null(field.type)]
            known = ("number", "flag")
            types = {i: pa.float64() if schema.get(name) in known else pa.string() for i, name in nulls}
        for i, kind in types.items():
            batch = batch.set_column(i, batch.schema.names[i], batch.column(i).cast(kind))
        yield batch


def as_float(label: Any) -> Any:
    """Convert a label to a float, unless it is a name."""
    return label if isinstance(label, str) else float(label)


def dicts(columns: Any) -> list[dict[str, Any]]:
    """The rows of a batch as Python dicts."""
    try:
        found: list[dict[str, Any]] = columns.to_pylist()
    except (ValueError, OverflowError, TypeError, NotImplementedError) as error:  # such as a date after the year 9999
        raise DataError(f"values that Python cannot hold: {' '.join(str(error).split())}") from None
    return found


def labels(column: Any, name: str, labelled: bool) -> np.ndarray:
    """The labels of a batch: numbers, or strings."""
    import pyarrow as pa

    column = plain_column(name, column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind, is_a = column.type, pa.types
    if is_a.is_integer(kind) and not column.null_count:
        whole = column.to_numpy()
        if whole.min(initial=0) >= -EXACT and whole.max(initial=0) <= EXACT:  # the cast of pyarrow takes twice as long
            return whole.astype(np.float64)
    if is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_decimal(kind) or is_a.is_boolean(kind):
        try:
            y = (column.cast(pa.string()) if is_a.is_decimal(kind) else column).cast(pa.float64())
            y = y.to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid as error:  # an integer that float64 cannot represent
            raise DataError(f"column {name!r}: expected labels that fit a float64: {error}") from None
        there = y == y
    else:
        if not is_string(kind):
            raise DataError(f"column {name!r} has type {kind}; labels are numbers or strings")
        values = column.to_pylist()
        known = {value: as_float(label_of(value)) for value in {*values} if value}
        named = str in map(type, known.values())
        y = np.array([known.get(value, math.nan) for value in values], dtype=object if named else np.float64)
        there = np.array([value in known for value in values], dtype=bool)
    if labelled and not there.all():
        raise DataError(f"row {there.argmin()}, column {name!r}: expected a label, found none")
    return y
