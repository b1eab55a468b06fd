"""Writes records as JSON lines and as text tables."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from seriatim.data.write.records import COLUMNAR, TABLES, Batch, TypedRecords
from seriatim.errors import DataError

PLAIN = {str, int, bool, type(None)}  # types that JSON can always store
QUOTED = re.compile(r'\A\Z|[,;|\t"\r\n]|\A[\s#\ufeff]|\s\Z')  # all delimiters, because the reader detects them
SUSPECT = re.compile(r'[,;|"\s#\ufeff]')  # characters that may need quotes


@contextmanager
def packed(path: Path | None, ending: str) -> Iterator[BinaryIO]:
    """Open a file for writing, or standard output; compresses the data by the ending."""
    with ExitStack() as stack:
        file: Any = stack.enter_context(open(1, "wb", closefd=False) if path is None else path.open("wb"))  # noqa: SIM115
        if ending == ".gz":
            from gzip import GzipFile

            file = stack.enter_context(GzipFile("", "wb", 6, file, 0))
        elif ending == ".zst":
            try:
                from zstandard import ZstdCompressor
            except ImportError:
                raise DataError("zstd data need the package zstandard: pip install zstandard") from None
            file = stack.enter_context(ZstdCompressor().stream_writer(file, closefd=False))
        elif ending == ".bz2":
            from bz2 import BZ2File

            file = stack.enter_context(BZ2File(file, "wb"))
        elif ending:
            from lzma import LZMAFile

            file = stack.enter_context(LZMAFile(file, "wb"))
        yield file


def shortest_text(x: float) -> str:
    """The shortest text of a number that restores it exactly.

    >>> shortest_text(3.0), shortest_text(0.1), shortest_text(1e-300)
    ('3', '0.1', '1e-300')
    """
    return repr(x).removesuffix(".0")


def json_lines(batches: Iterable[Batch]) -> Iterator[bytes]:
    import msgspec

    encode = msgspec.json.Encoder(decimal_format="number").encode
    for batch in batches:
        for i, record in enumerate(batch.records if batch.format in TABLES + COLUMNAR else ()):
            for key, value in record.items():
                if type(value) not in PLAIN and (found := no_json(value)) is not None:
                    raise DataError(f"{batch.place(i)}, column {key!r}: JSON cannot store {found}; write parquet")
        yield b"".join(encode(record) + b"\n" for record in batch.records)


def no_json(value: Any) -> str | None:
    """The part of a value that JSON cannot store, as text; None if it can store all."""
    if type(value) is float:
        return str(value) if math.isinf(value) else None
    if isinstance(value, dict | list | tuple):
        inner = value.values() if isinstance(value, dict) else value
        return next((found for one in inner if (found := no_json(one)) is not None), None)
    return type(value).__name__ if isinstance(value, bytes | datetime.timedelta) else None


def table_lines(batches: Iterable[Batch], source: TypedRecords, delimiter: str) -> Iterator[str]:
    columns = list(source.columns)
    if source.named and columns:
        if "" in columns:
            raise DataError(f"column {columns.index('') + 1} has no name, but a text table needs one; name it")
        yield delimiter.join(map(quoted, columns)) + "\n"
    for part in chain.from_iterable(batch.parts(len(columns)) for batch in batches):
        records = part.flat()
        cells = [cells_of(part, name, [record.get(name) for record in records]) for name in columns]
        lines = list(map(delimiter.join, zip(*cells, strict=True)))
        if len(columns) == 1 and "" in lines:
            place = part.place(lines.index(""))
            raise DataError(f"{place}: a missing cell would be a blank line in a table of one column; write jsonl")
        yield "\n".join([*lines, ""])


def cells_of(batch: Batch, name: str, values: list[Any]) -> list[str]:
    """The cells of a column as text. Raises DataError for a value that a text table cannot store."""
    types = set(map(type, values))
    if types == {str} and "" not in values and not SUSPECT.search("x".join(values)):
        return values
    cells = [TEXT.get(type(value), other_text)(value) for value in values]
    if not types <= TEXT.keys() and None in cells:
        i = cells.index(None)
        found = f"a {type(values[i]).__name__}, {values[i]!r:.40}"
        raise DataError(f"{batch.place(i)}, column {name!r}: expected a number, string, date or flag, found {found}")
    return cells


def quoted(text: str) -> str:
    """A string as a cell, in quotes if it would be read differently without. "" is an empty string, not missing."""
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text


def other_text(value: Any) -> Any:
    """The cell of a date, time or Decimal; None for other types."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else None


TEXT: dict[type, Callable[[Any], Any]] = {
    type(None): lambda value: "",
    str: quoted,
    bool: lambda value: "true" if value else "false",
    int: str,
    float: lambda value: shortest_text(value) if value == value else "",
}
