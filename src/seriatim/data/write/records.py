"""Reads the records of files as dicts: the cells of tables, objects, and the named features of sparse examples.

CSV has no types. The type of a cell depends on its whole column: integers, numbers, true and false, or else text. An
empty cell is a missing value. Among numbers NA, ? and similar cells are missing values, too. Quotes make no difference:
a column of strings that all look like numbers becomes a column of numbers, and 1.50 becomes 1.5. Integers with leading
zeros, or with more digits than a number holds, are text, so that codes and keys do not change. Dates are text.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from seriatim.core.rows import Rows
from seriatim.data import bundled
from seriatim.data.cache import PIECE, File, sparse, writing
from seriatim.data.generate.drift import generated
from seriatim.data.read import delimited, formats
from seriatim.data.read.decompress import Unpacked, packing
from seriatim.data.read.delimited import is_flag, is_number, means_missing
from seriatim.data.read.header import column_names
from seriatim.data.read.jsonl import json_problem, shortened, utf8_problem
from seriatim.data.read.lines import InOrder, Ranges, RecordLines
from seriatim.data.read.source import Source, first_records, look, look_further, opened
from seriatim.data.read.steady import SteadyFile
from seriatim.errors import DataError, ParseError
from seriatim.features import Features
from seriatim.features.encoder import Plan
from seriatim.features.flatten import DEPTH

TABLES, COLUMNAR, SPARSE = formats.of_kind("table"), formats.of_kind("columnar"), formats.of_kind("sparse")
MOST_COLUMNS = 10_000  # the most columns of a table from objects or sparse examples
CELLS = 1 << 20  # the most cells in memory at a time
EXACT = 1 << 53  # all integers up to here are exact as float64
WHOLE = re.compile(r"[+-]?[0-9]+")
TRUTH = {"true": True, "false": False}

Record = dict[str, Any]


@dataclass
class Batch:
    """Consecutive records of a file, as dicts or as a part of an Arrow table."""

    file: str
    format: str
    numbers: Sequence[int]  # line numbers (JSON) or record numbers, from 1
    given: list[Record] | None = None
    table: Any = None
    columns: Sequence[str] | None = None  # the columns, if the file declares them
    named: bool = True  # whether the file has a header

    @cached_property
    def records(self) -> list[Record]:
        return self.given if self.given is not None else arrow_records(self)

    def place(self, i: int) -> str:
        return f"{self.file}: {'line' if self.format == 'jsonl' else 'record'} {self.numbers[i]:,}"

    def slice(self, begin: int, end: int) -> Batch:
        """Records begin..end of this batch."""
        given, table = self.given and self.given[begin:end], self.table and self.table.slice(begin, end - begin)
        return Batch(self.file, self.format, self.numbers[begin:end], given, table, self.columns, self.named)

    def parts(self, width: int) -> Iterator[Batch]:
        """Parts of this batch of at most CELLS cells in `width` columns each. There is at least one part."""
        step = max(1, CELLS // max(width, 1))
        for begin in range(0, max(len(self.numbers), 1), step):
            yield self.slice(begin, begin + step)

    def flat(self) -> list[Record]:
        """The records without nested objects. Nested keys are joined by dots."""
        if self.format in TABLES + SPARSE:
            return self.records
        found = []
        for i, record in enumerate(self.records):
            try:
                found.append(flat(record))
            except DataError as error:
                raise DataError(f"{self.place(i)}: {error}") from None
        return found


def flat(record: Record, before: str = "", depth: int = 0) -> Record:
    """A record without nested objects, whose keys are joined by dots. Empty objects are dropped.

    >>> flat({"user": {"name": "Ada", "born": {"year": 1815}}, "id": 7})
    {'user.name': 'Ada', 'user.born.year': 1815, 'id': 7}
    """
    if not before and dict not in map(type, record.values()):
        return record
    if depth > DEPTH:
        raise DataError(f"key {before!r}: more than {DEPTH} nested objects; flatten the data first")
    cells: Record = {}
    for key, value in record.items():
        name = before + key
        new = flat(value, f"{name}.", depth + 1) if isinstance(value, dict) else {name: value}
        for again in new.keys() & cells.keys():
            raise DataError(f"key {again!r} occurs twice: as a key, and within a nested object; rename one")
        cells |= new
    return cells


class TypedRecords(Source):
    """Batches of typed records from files, for output in the format `target`. Iterating again reads the files again.

    Call `survey` first: it detects the columns and the types of text cells. Pipes are copied to temporary files.
    """

    def __init__(self, paths: Any, target: str, limit: int | None = None, **reading: Any) -> None:
        """target : the output format; limit : the most records to read; reading : options of `Source`."""
        self.target, self.limit = target, limit
        self.kept: dict[str, File] = {}
        self.columns: dict[str, None] = {}
        self.sorts: dict[str, set[str]] = {}
        self.kinds: dict[str, str] = {}
        self.named = False  # whether any file names its columns
        super().__init__(paths, labelled=False, **reading)
        for path in self.files:
            if limit is None and is_generated(path):
                raise DataError(f"{path} has no end; give the number of examples by --limit")

    def reset(self) -> None:
        super().reset()
        self.left = sys.maxsize if self.limit is None else self.limit

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]
        return super().__iter__()  # type: ignore[return-value]

    def file(self, path: str) -> Generator[Batch, None, None]:  # type: ignore[override]
        """The batches of a file, up to the limit."""
        with closing(self.batches(path)) as batches:
            for batch in batches if self.left else ():
                yield batch if len(batch.numbers) <= self.left else batch.slice(0, self.left)
                self.left -= min(self.left, len(batch.numbers))
                if not self.left:
                    return

    # ---- columns and types, which must be known before the first record is written

    def survey(self, watch: Callable[[int], None]) -> None:
        """Read the files as far as necessary to detect their columns and the types of text cells."""
        self.reset()
        met: set[str] = set()
        for path in self.files:
            with closing(self.file(path)) as batches:
                for batch in batches:
                    met.add(batch.format)
                    whole = self.needs_all(batch.format)
                    self.note(batch, whole)
                    watch(len(batch.numbers))
                    if not whole:
                        break
            self.before += self.size
        numbers = [name for name in self.columns if name.isdecimal()]
        if met == {"libsvm"} and len(numbers) == len(self.columns) - 1:
            self.columns = dict.fromkeys(["label", *sorted(numbers, key=int)])
        self.kinds = {name: kind_of(sorts) for name, sorts in self.sorts.items()}

    def needs_all(self, format: str) -> bool:
        """Whether the survey needs a whole file: for the types of a text table, or the columns of other formats."""
        if format in TABLES:
            return self.target not in TABLES
        return self.target in TABLES if format == "jsonl" else format in SPARSE and self.target != "jsonl"

    def note(self, batch: Batch, whole: bool) -> None:
        """Record the columns of a batch; if `whole`, also the columns and types of its records."""
        self.named |= batch.named
        if batch.columns is not None:
            self.columns.update(dict.fromkeys(batch.columns))
        elif whole:
            for record in batch.flat():
                self.columns.update(dict.fromkeys(record))
            check_width(self.name, self.columns)
        if whole and batch.format in SPARSE:
            self.sorts |= {name: {"float"} for name in self.columns.keys() - self.sorts.keys() - {"label"}}
            labels = {record["label"] for record in batch.records} - {None}
            sorts = {"text" if isinstance(label, str) else sort_of(str(label)) for label in labels}
            self.sorts["label"] = self.sorts.get("label", set()) | sorts
        elif whole:
            for name in batch.columns or ():
                sorts = self.sorts.setdefault(name, set())
                if "text" not in sorts:
                    sorts |= {sort_of(cell) for cell in {record[name] for record in batch.records} - {None}} - {""}

    # ---- one file

    def batches(self, path: str) -> Generator[Batch, None, None]:
        """All batches of a file. A file that declares its columns has at least one batch, which may be empty."""
        if is_generated(path):
            yield from self.examples(generated(path)(), path, "libsvm", None)  # type: ignore[misc]
            return
        name = "standard input" if path == "-" else path
        known = bundled.find(path)
        with self.entered(str(known.path) if known else path, name) as file:
            self.raw, self.size = file, os.fstat(file.fileno()).st_size
            data: Any = file
            head = look(file)
            if packed := packing(head):
                data = Unpacked(file, packed, name, head)
                head = look(data)
            format = self.format or formats.guess(name, head)
            if format in TABLES:
                head = look_further(data, head, formats.delimiter(format, head))
            if not packed:
                file.seek(0)
            if format in COLUMNAR:
                if packed or path in self.kept:
                    raise DataError(f"{name}: {format} data must be an uncompressed file; save them to one")
                yield from arrow_batches(file, format, name)
                return
            self.lines = (RecordLines if format in TABLES else InOrder if packed else Ranges)(data, name, self.block)
            if isinstance(self.lines, InOrder) and packed:
                self.lines.head = head
            if format in SPARSE:
                names = known.feature_names if known else None
                yield from self.examples(self.texts(format, head, name), name, format, names)
            else:
                yield from self.cells(name, format, head) if format in TABLES else self.objects(name)

    @contextmanager
    def entered(self, path: str, name: str) -> Iterator[SteadyFile]:
        """Open a file. A pipe is copied to a temporary file first."""
        if path != "-" and (not Path(path).exists() or Path(path).is_file()):
            with opened(path, name) as file:
                yield file
            return
        if path not in self.kept:
            with opened(path, name) as pipe:
                self.kept[path] = File()
                with writing():
                    while piece := pipe.read(PIECE):
                        self.kept[path].write(np.frombuffer(piece, np.uint8))
                    self.kept[path].flush()
        with SteadyFile(os.dup(self.kept[path].fileno()), name) as file:
            file.seek(0)
            yield file

    def close(self) -> None:
        for file in self.kept.values():
            file.close()

    def bad(self, name: str, line: int, column: int, problem: str) -> None:
        """Raise the error of a bad line, or skip the line."""
        error = ParseError(name, line, column, problem)
        if not self.skip_bad:
            raise error
        self.skipped_count += 1
        if len(self.skipped) < 10:
            self.skipped.append(str(error))

    def examples(self, blocks: Iterable[Any], name: str, format: str, names: list[str] | None) -> Iterator[Batch]:
        """Batches of sparse examples. Keys are "label" and the names of features, or their numbers from 1."""
        seen = 0
        for rows, y in blocks:
            refuse_weights(name, rows, seen, self.target)
            start, index, value = (array.tolist() for array in sparse(rows))
            called: Any = names or rows.names
            keys = {j: str(j + 1) if called is None else called[j] for j in set(index)}
            if "label" in keys.values():
                raise DataError(f"{name}: a feature is named 'label', like the label column; rename it")
            cells = [(keys[j], whole(x)) for j, x in zip(index, value, strict=True)]
            records = [
                {"label": whole(label), **dict(cells[a:b])}
                for label, a, b in zip(y.tolist(), start, start[1:], strict=False)
            ]
            numbers = range(seen + 1, seen + 1 + len(records))
            seen += len(records)
            yield Batch(name, format, numbers, records, columns=names and ["label", *names])

    def objects(self, name: str) -> Iterator[Batch]:
        """Batches of JSON lines."""
        import msgspec

        decode = msgspec.json.Decoder().decode
        line = 0
        for block in self.blocks():
            records, numbers = [], []
            for text in block.split(b"\n"):
                line += 1
                if not text.strip():
                    continue
                try:
                    record = decode(text)
                    if isinstance(record, dict):
                        records.append(record)
                        numbers.append(line)
                        continue
                    problem, column = f"expected an object, found {shortened(text)}", 1
                except msgspec.MsgspecError as error:
                    problem, column = json_problem(str(error), text)
                except UnicodeDecodeError:
                    problem, column = utf8_problem(text)
                except RecursionError:
                    problem, column = "expected an object, found too many nested objects or lists", 1
                self.bad(name, line, column, problem)
            yield Batch(name, "jsonl", numbers, records)

    def blocks(self) -> Iterator[bytes]:
        """Chunks of whole lines of a file, without the last newline."""
        lines: Any = self.lines
        for item in lines:
            buffer, begin, end = lines.text(item)
            if end > begin:
                yield bytes(memoryview(buffer)[begin:end]).removesuffix(b"\n")
            lines.give_back(buffer)

    def cells(self, name: str, format: str, head: bytes) -> Iterator[Batch]:
        """Batches of a text table. Cells have the types of the survey. They are text before it and for text output."""
        lines: Any = self.lines
        lines.delimiter = formats.delimiter(format, head)
        names, header = column_names(name, first_records(head, lines.delimiter), self.header)
        plan = Plan(Features(), [(one, "dropped") for one in names])
        line = seen = 0
        for buffer, begin, end in lines:
            if header and not line:
                length, line = delimited.record_length(buffer, begin, end, lines.delimiter)
                begin += length
            rows, taken = self.split(buffer, begin, end, lines.delimiter, plan, name, line)
            lines.give_back(buffer)
            line += taken
            numbers = range(seen + 1, seen + 1 + len(rows))
            seen += len(rows)
            yield Batch(name, format, numbers, self.typed(names, rows), columns=names, named=header)

    def split(
        self, buffer: Any, begin: int, end: int, delimiter: str, plan: Plan, name: str, line: int
    ) -> tuple[list[list[str | None]], int]:
        """The good records of a block that begins after line `line`, and the number of its lines."""
        block = delimited.parse(buffer, begin, end, plan, delimiter, False, False)
        problems, lines = block.bad, block.lines
        block.release()
        if not problems:
            return delimited.cells(buffer, begin, end, delimiter, sys.maxsize), lines
        if not self.skip_bad:
            self.bad(name, line + problems[0][0], *problems[0][1:])
        good: list[list[str | None]] = []
        lines = 0
        while begin < end:  # record by record
            length, taken = delimited.record_length(buffer, begin, end, delimiter)
            block = delimited.parse(buffer, begin, begin + length, plan, delimiter, False, False)
            for place, column, problem in block.bad:
                self.bad(name, line + lines + place, column, problem)
            good += [] if block.bad else delimited.cells(buffer, begin, begin + length, delimiter, 1)
            block.release()
            begin, lines = begin + length, lines + taken
        return good, lines

    def typed(self, names: list[str], rows: list[list[str | None]]) -> list[Record]:
        columns: list[Any] = []
        for name, cells in zip(names, zip(*rows, strict=True), strict=False):
            read = READ.get(self.kinds.get(name, "text"))
            columns.append(cells if read is None else [None if cell is None else read(cell) for cell in cells])
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def is_generated(path: str) -> bool:
    return not Path(path).exists() and generated(path) is not None


def refuse_weights(name: str, rows: Rows, before: int, target: str) -> None:
    """Raise DataError if rows have sample weights, which `target` cannot store. `before` counts earlier examples."""
    if rows.weighted:
        i = int(np.flatnonzero(rows.weights != 1)[0])
        found = f"example {before + i + 1:,} has the weight {rows.weights[i]:g}"
        raise DataError(f"{name}: {found}, which {target} cannot store; write vw instead")


def check_width(name: str, columns: Collection[str]) -> None:
    if len(columns) > MOST_COLUMNS:
        raise DataError(f"{name}: more than {MOST_COLUMNS:,} columns for a table; JSON lines (.jsonl) can hold them")


# ---- cells


def sort_of(cell: str) -> str:
    """The type of a cell: "int", "big" (an int that is not exact as float), "float", "flag", "text"; "" if missing.

    >>> [sort_of(cell) for cell in ("12", "007", "1e3", "True", "NA", "red")]
    ['int', 'text', 'float', 'flag', '', 'text']
    """
    text = cell.strip(" \t")
    if WHOLE.fullmatch(text):
        digits = text.lstrip("+-")
        if len(digits) > 19 or (digits[0] == "0" and len(digits) > 1) or not -(1 << 63) <= int(text) < 1 << 63:
            return "text"
        return "float" if text == "-0" else "int" if int(float(text)) == int(text) else "big"
    if means_missing(cell):
        return ""
    if is_number(cell):
        return "text" if math.isinf(float(text)) and text[-1].isdigit() else "float"
    return "flag" if is_flag(cell) else "text"


def kind_of(sorts: set[str]) -> str:
    """The type of a column that stores cells of these types without loss."""
    if sorts == {"flag"}:
        return "flag"
    kinds = (("int", {"int", "big"}), ("float", {"int", "float"}))
    return next((kind for kind, allowed in kinds if sorts and sorts <= allowed), "text")


def to_int(cell: str) -> int | None:
    try:
        return int(cell)
    except ValueError:  # a missing value: the survey has checked the other cells
        return None


def to_float(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if number == number else None


READ: dict[str, Callable[[str], Any]] = {
    "int": to_int,
    "float": to_float,
    "flag": lambda cell: TRUTH.get(cell.strip(" \t").lower()),
}


def whole(x: Any) -> Any:
    """Convert a number of an example: 1.0 becomes 1, and NaN (no label) becomes None."""
    if not isinstance(x, float):
        return x
    return int(x) if x.is_integer() and abs(x) <= EXACT and (x or math.copysign(1, x) > 0) else x if x == x else None


# ---- Arrow


def arrow_batches(file: Any, format: str, name: str) -> Iterator[Batch]:
    """The batches of a Parquet or Arrow file. A file without rows has one empty batch."""
    from seriatim.data.read import parquet

    seen = 0
    for piece in parquet.batches(file, format, name):
        columns = leaves(name, piece.schema)
        numbers = range(seen + 1, seen + 1 + len(piece))
        seen += len(piece)
        yield from Batch(name, format, numbers, table=piece, columns=columns).parts(len(columns))
    if not seen:
        empty = empty_batch(file, format)
        yield Batch(name, format, (), table=empty, columns=leaves(name, empty.schema))


def empty_batch(file: Any, format: str) -> Any:
    """A table with the columns of a file and no rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file.seek(0)
    if format == "parquet":
        return pa.RecordBatch.from_pylist([], pq.read_schema(file))
    begin = file.read(6)
    file.seek(0)
    return pa.RecordBatch.from_pylist([], (pa.ipc.open_file if begin == b"ARROW1" else pa.ipc.open_stream)(file).schema)


def leaves(name: str, fields: Any, before: str = "") -> list[str]:
    """The columns of a schema. Columns of objects become one column per key, named as by `flat`."""
    import pyarrow as pa

    columns: list[str] = []
    for field in fields:
        inner = [field.type.field(i) for i in range(field.type.num_fields)] if pa.types.is_struct(field.type) else None
        column = before + field.name
        columns += [column] if inner is None else leaves(name, inner, f"{column}.")
    for twice, times in Counter(field.name for field in fields).items():
        if times > 1:
            raise DataError(f"{name}: expected a name for each column, found {before + twice!r} twice")
    return columns


def arrow_records(batch: Batch) -> list[Record]:
    """The rows of an Arrow batch as dicts."""
    names = batch.table.schema.names
    columns = []
    for column, name in zip(batch.table.columns, names, strict=True):
        try:
            columns.append(python_values(column))
        except (ValueError, OverflowError, TypeError) as error:
            place = f"{batch.file}, records {batch.numbers[0]:,} to {batch.numbers[-1]:,}"
            raise DataError(f"{place}, column {name!r} of type {column.type}: {error}") from None
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def python_values(column: Any) -> list[Any]:
    """The values of an Arrow column. Times with nanoseconds, which Python cannot hold, become strings."""
    import pyarrow as pa

    kind = column.type
    if (pa.types.is_timestamp(kind) or pa.types.is_time(kind)) and kind.unit == "ns":
        try:
            column = column.cast(pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.time64("us"))
        except pa.ArrowInvalid:
            return [text and text.replace(" ", "T", 1) for text in column.cast(pa.string()).to_pylist()]
    return column.to_pylist()
