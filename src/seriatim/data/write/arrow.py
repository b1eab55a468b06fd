"""Writes Parquet and Arrow files."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from seriatim.data.read.header import shown
from seriatim.data.write.records import Batch, Record, TypedRecords, check_width
from seriatim.errors import DataError

FIRST = 10_000  # records from which the types of a Parquet or Arrow file are detected
BATCHES = 32  # the most batches from which they are detected
GROUP = 1 << 26  # bytes of a row group


def write_arrow(batches: Iterator[Batch], path: Path | None, format: str, source: TypedRecords) -> list[str]:
    """Write all batches. Returns the names of the columns."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"{format} files need the package pyarrow: pip install 'seriatim[arrow]'") from None

    first: list[Batch] = []
    for batch in batches:
        first.append(batch)
        if batch.format != "jsonl" or sum(len(one.numbers) for one in first) >= FIRST or len(first) == BATCHES:
            break
    if not first:
        return []
    schema = schema_of(first, source)
    waiting: list[Any] = []
    size = 0
    try:
        with pq.ParquetWriter(path, schema) if format == "parquet" else pa.ipc.new_file(str(path), schema) as writer:
            for piece in chain.from_iterable(pieces(batch, schema) for batch in chain(first, batches)):
                waiting.append(piece)
                size += piece.nbytes
                if size > GROUP:
                    writer.write_table(pa.Table.from_batches(waiting, schema))
                    waiting, size = [], 0
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting, schema))
    except pa.ArrowException as error:
        problem = str(error).partition("\n")[0]
        raise DataError(f"{source.name}: {format} cannot store these records: {problem}") from None
    return schema.names


def schema_of(first: list[Batch], source: TypedRecords) -> Any:
    """The types of the columns: from the Arrow table, from the survey, or from the first records."""
    import pyarrow as pa

    if first[0].table is not None:
        schema = first[0].table.schema
        for i, one in enumerate(schema):
            if pa.types.is_dictionary(one.type):  # dictionaries of row groups may differ
                schema = schema.set(i, one.with_type(one.type.value_type))
        return schema
    if first[0].format != "jsonl":
        types = {"int": pa.int64(), "float": pa.float64(), "flag": pa.bool_(), "text": pa.string()}
        return pa.schema([(name, types[source.kinds[name]]) for name in source.columns if name in source.kinds])
    owners = [(batch, i) for batch in first for i in range(len(batch.numbers))][:FIRST]
    records = [batch.records[i] for batch, i in owners]
    columns = dict.fromkeys(key for record in records for key in record)
    check_width(source.name, columns)
    arrays = {name: column(records, name, lambda i: owners[i][0].place(owners[i][1])) for name in columns}
    return pa.schema([(name, array.type) for name, array in arrays.items()])


def pieces(batch: Batch, schema: Any) -> Iterator[Any]:
    """Convert a batch to the types of the file."""
    import pyarrow as pa

    if batch.table is not None:
        found = batch.table.schema.names
        if found != schema.names:
            raise DataError(f"{batch.file}: expected the columns {shown(schema.names)}, found {shown(found)}")
        try:
            yield batch.table.cast(schema)
        except pa.ArrowException as error:
            raise DataError(f"{batch.file}: its columns do not have the types of the first file: {error}") from None
        return
    known = set(schema.names)
    for i, record in enumerate(batch.records):
        for key in record.keys() - known:
            problem = f"key {key!r} does not occur in the first {FIRST:,} records; write jsonl instead"
            raise DataError(f"{batch.place(i)}: {problem}")
    strict = batch.format == "jsonl"  # the survey has checked the other formats
    for part in batch.parts(len(known)):
        arrays = [column(part.records, one.name, part.place, one.type, strict) for one in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def column(
    records: list[Record], name: str, place: Callable[[int], str], wanted: Any = None, strict: bool = True
) -> Any:
    """A column of records as an Arrow array, of the given type or of the type of its values."""
    values = [record.get(name) for record in records]
    array = array_of(values, wanted, strict)
    if array is None:
        i = bisect_left(range(len(values)), True, key=lambda i: array_of(values[: i + 1], wanted, strict) is None)
        expected = "values of one type" if wanted is None else f"{wanted}, the type of the first {FIRST:,} records"
        raise DataError(f"{place(i)}, column {name!r}: expected {expected}, found {values[i]!r:.40}")
    return array


def array_of(values: list[Any], wanted: Any, strict: bool) -> Any:
    """An Arrow array of values; None if they do not fit the type. pyarrow alone would turn 1.5 into 1 and drop keys."""
    import pyarrow as pa

    try:
        found = type_of(values) if strict else wanted
        return pa.array(values, found if wanted is None else wanted) if wanted is None or fits(found, wanted) else None
    except (pa.ArrowException, OverflowError, TypeError, RecursionError):
        return None


def type_of(values: list[Any]) -> Any:
    """The common Arrow type of JSON values; raises TypeError if there is none."""
    import pyarrow as pa

    there = [value for value in values if value is not None]
    types = set(map(type, there))
    if len(types) > 1 and types != {int, float}:
        raise TypeError("values of several types")
    if dict in types:
        keys = dict.fromkeys(key for value in there for key in value)
        return pa.struct([(key, type_of([value.get(key) for value in there])) for key in keys])
    if list in types:
        return pa.list_(type_of(list(chain.from_iterable(there))))
    known = {float: pa.float64(), int: pa.int64(), bool: pa.bool_(), str: pa.string()}
    return next((kind for one, kind in known.items() if one in types), pa.null())


def fits(found: Any, wanted: Any) -> bool:
    """Whether values of type `found` can be written as type `wanted` without loss."""
    import pyarrow as pa

    if found == wanted or pa.types.is_null(found) or (pa.types.is_integer(found) and pa.types.is_float64(wanted)):
        return True
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        return fits(found.value_type, wanted.value_type)
    if not pa.types.is_struct(found) or not pa.types.is_struct(wanted):
        return False
    inner = {wanted.field(i).name: wanted.field(i).type for i in range(wanted.num_fields)}
    fields = [found.field(i) for i in range(found.num_fields)]
    return all(one.name in inner and fits(one.type, inner[one.name]) for one in fields)
