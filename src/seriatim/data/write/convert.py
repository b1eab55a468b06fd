"""Data written in any format, packed or not: between tables and objects cell by cell, else as examples.

To LIBSVM and Vowpal Wabbit's text go labels and the features that are not 0. LIBSVM knows features by numbers: those of
the data, if they have none but numbers for names, in one namespace; else from 1 in the order in which names are met.
From these formats come a column "label" and one for each feature; what a line lacks is missing. Weights of examples
have a place in Vowpal Wabbit's text alone.

Numbers are written with the digits that it takes to read them back the same. In tables of text objects become columns
by dots, dates ISO strings; a list has no place there, and in JSON there is none for infinity. NaN is missing in both. A
Parquet or Arrow file made of JSON lines has the types of the first 10,000 of them.
"""

from __future__ import annotations

import datetime
import math
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from seriatim.core.rows import Rows
from seriatim.core.scale import Scaler
from seriatim.core.vocabulary import Vocabulary
from seriatim.data.cache import Cache, sparse
from seriatim.data.read import formats
from seriatim.data.read.header import shown
from seriatim.data.read.source import Blocks, expanded
from seriatim.data.stream import Stream
from seriatim.data.write.records import (
    COLUMNAR,
    SPARSE,
    TABLES,
    Batch,
    Record,
    Records,
    check_width,
    is_generated,
    refuse_weights,
)
from seriatim.errors import DataError, ParameterError
from seriatim.features import Features
from seriatim.files import whole_file

FIRST = 10_000  # records from which the types of a Parquet or Arrow file are told
BATCHES = 32  # and no more batches than these, should they be long
PLAIN = {str, int, bool, type(None)}  # what JSON can always hold
GROUP = 1 << 26  # bytes of a row group
HIGHEST = 2**31 - 2  # LIBSVM index
WHOLE = re.compile(r"[1-9][0-9]{0,9}")
QUOTED = re.compile(r'\A\Z|[,;|\t"\r\n]|\A[\s#\ufeff]|\s\Z')  # all delimiters: the reader guesses which one it is
SUSPECT = re.compile(r'[,;|"\s#\ufeff]')  # what may have to be quoted
NO_NAME = re.compile(r"[ \t\r\n:|]|\A\Z")
NO_LABEL = {"libsvm": re.compile(r"[\0-\x20:\x7f]|\A#|\A\Z"), "vw": re.compile(r"[ \t\r\n:|]|\A'|\A\Z")}


@dataclass
class Conversion:
    """What is to be written, and what has been: how many records or examples, and what their columns are called."""

    target: str
    ending: str
    limit: int | None
    watch: Callable[[int, Any], None]
    source: Any = None
    count: int = 0
    columns: list[str] = field(default_factory=list)
    numbered: bool = False  # whether names have got numbers, for LIBSVM

    def see(self, n: int) -> None:
        """So many more."""
        self.count += n
        self.watch(self.count, self.source)


def convert(
    sources: str | os.PathLike[str] | list[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    to: str | None = None,
    features: Features | dict[str, Any] | None = None,
    names: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    watch: Callable[[int, Any], None] = lambda count, source: None,
    **reading: Any,
) -> Conversion:
    """Write what is in some files, a bundled set or a generated stream to another file, whole or not at all.

    to : the format; else the ending of the output's name tells it. One for packing may follow.
    features : how examples become features; for LIBSVM and Vowpal Wabbit's text only.
    names : a file for the names of LIBSVM's columns, one a line.
    limit : no more than so many.
    watch : is called with the number of records so far, and what they are read from.
    reading : `format`, `header` and `skip_bad`, as `data.stream` takes them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = convert("spam", f"{folder}/spam.csv.gz")
    >>> done.count, done.columns[:3]
    (4601, ['label', 'make', 'address'])
    """
    out = os.fspath(output)
    target = to or formats.by_name(out)
    if target not in formats.FORMATS:
        raise DataError(f"{out}: which format? Say so by --to, or by an ending: {', '.join(formats.ENDINGS)}")
    ending = next((one for one in formats.PACKED if out.lower().endswith(one)), "")
    if target in COLUMNAR and (ending or out == "-"):
        raise DataError(f"{out}: {target} data are written to a file, and not packed")
    if target not in SPARSE and features is not None:
        given = ", ".join(Features.of(features).as_dict())
        raise ParameterError(f"{given}: of no use for {target}, which keeps cells as they are; for LIBSVM and VW only")
    if names is not None and target != "libsvm":
        raise ParameterError(f"names of columns are written beside LIBSVM only; {target} has them in it")
    paths = [one for path in (sources if isinstance(sources, list | tuple) else [sources]) for one in expanded(path)]
    done = Conversion(target, ending, limit, watch)
    with ExitStack() as files:
        for path in (out, names):
            refuse_input(path, paths)
        place = None if out == "-" else files.enter_context(whole_file(out))
        listed = None if names is None else files.enter_context(whole_file(names))
        if target in SPARSE:
            write_examples(done, paths, place, Features.of(features), reading)
        else:
            write_records(done, paths, place, reading)
        if listed is not None:
            write_names(done, listed)
    return done


def refuse_input(path: Any, sources: list[str]) -> None:
    """What is read must not be written over."""
    for one in sources:
        if path and Path(path).exists() and Path(one).is_file() and Path(one).samefile(path):
            raise DataError(f"{path}: it is one of the inputs, and would be written over; choose another name")


# ---- text


@contextmanager
def packed(path: Path | None, ending: str) -> Iterator[BinaryIO]:
    """A file to write to, or standard output; what is written is packed on its way."""
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


def write_text(done: Conversion, path: Path | None, texts: Iterable[str | bytes]) -> None:
    with packed(path, done.ending) as file:
        for text in texts:
            file.write(text.encode() if isinstance(text, str) else text)


def plain(x: float) -> str:
    """A number as text.

    >>> plain(3.0), plain(0.1), plain(1e-300)
    ('3', '0.1', '1e-300')
    """
    return repr(x).removesuffix(".0")


# ---- tables and objects


def write_records(done: Conversion, paths: list[str], place: Path | None, reading: dict[str, Any]) -> None:
    """Cells as they are."""
    with closing(Records(paths, done.target, done.limit, **reading)) as source:
        done.source = source
        source.survey(done.see)
        done.count, done.columns = 0, list(source.columns)
        batches = counted(done, source)
        if done.target == "jsonl":
            write_text(done, place, json_lines(batches))
        elif done.target in TABLES:
            write_text(done, place, table_lines(batches, source, "," if done.target == "csv" else "\t"))
        else:
            done.columns = write_arrow(batches, place, done.target, source)
    if not done.columns and not (done.target == "jsonl" and done.count):
        raise DataError(f"{source.name}: no records with anything in them")


def counted(done: Conversion, batches: Iterable[Batch]) -> Iterator[Batch]:
    for batch in batches:
        done.see(len(batch.numbers))
        yield batch


def json_lines(batches: Iterable[Batch]) -> Iterator[bytes]:
    import msgspec

    encode = msgspec.json.Encoder(decimal_format="number").encode
    for batch in batches:
        for i, record in enumerate(batch.records if batch.format in TABLES + COLUMNAR else ()):
            for key, value in record.items():
                if type(value) not in PLAIN and (found := no_json(value)) is not None:
                    raise DataError(f"{batch.place(i)}, column {key!r}: {found}, for which JSON has no form")
        yield b"".join(encode(record) + b"\n" for record in batch.records)


def no_json(value: Any) -> str | None:
    """What of a value JSON cannot hold, if anything."""
    if type(value) is float:
        return str(value) if math.isinf(value) else None
    if isinstance(value, dict | list | tuple):
        inner = value.values() if isinstance(value, dict) else value
        return next((found for one in inner if (found := no_json(one)) is not None), None)
    return type(value).__name__ if isinstance(value, bytes | datetime.timedelta) else None


def table_lines(batches: Iterable[Batch], source: Records, delimiter: str) -> Iterator[str]:
    columns = list(source.columns)
    if source.named and columns:
        if "" in columns:
            raise DataError(f"column {columns.index('') + 1} has no name; a table of text cannot say so")
        yield delimiter.join(map(quoted, columns)) + "\n"
    for part in chain.from_iterable(batch.parts(len(columns)) for batch in batches):
        records = part.flat()
        cells = [cells_of(part, name, [record.get(name) for record in records]) for name in columns]
        lines = list(map(delimiter.join, zip(*cells, strict=True)))
        if len(columns) == 1 and "" in lines:
            place = part.place(lines.index(""))
            raise DataError(f"{place}: a missing cell in a table of one column would be no line at all")
        yield "\n".join([*lines, ""])


def cells_of(batch: Batch, name: str, values: list[Any]) -> list[str]:
    """The cells of a column as text."""
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
    """A string as a cell; in quotes where it would be read as something else, as "" which is not missing."""
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text


def other_text(value: Any) -> Any:
    """A cell of a value that is not of one of the usual types; None if there is none."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else None


TEXT: dict[type, Callable[[Any], Any]] = {
    type(None): lambda value: "",
    str: quoted,
    bool: lambda value: "true" if value else "false",
    int: str,
    float: lambda value: plain(value) if value == value else "",
}


# ---- Parquet and Arrow


def write_arrow(batches: Iterator[Batch], path: Path | None, format: str, source: Records) -> list[str]:
    """Write all batches; returns the columns."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"{format} files are written by pyarrow: pip install 'seriatim[arrow]'") from None

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
        raise DataError(f"{source.name}: {format} cannot hold it: {str(error).partition(chr(10))[0]}") from None
    return schema.names


def schema_of(first: list[Batch], source: Records) -> Any:
    """The types of the columns: those that an Arrow table has, or the survey has found, or these records have."""
    import pyarrow as pa

    if first[0].table is not None:
        schema = first[0].table.schema
        for i, one in enumerate(schema):
            if pa.types.is_dictionary(one.type):  # Parquet has one for each row group, an Arrow file one for all
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
    """A batch in the types of the file."""
    import pyarrow as pa

    if batch.table is not None:
        found = batch.table.schema.names
        if found != schema.names:
            raise DataError(f"{batch.file}: expected the columns {shown(schema.names)}, found {shown(found)}")
        try:
            yield batch.table.cast(schema)
        except pa.ArrowException as error:
            raise DataError(f"{batch.file}: its columns are not those of the first file: {error}") from None
        return
    known = set(schema.names)
    for i, record in enumerate(batch.records):
        for key in record.keys() - known:
            raise DataError(f"{batch.place(i)}: key {key!r}, which the first {FIRST:,} records do not have")
    strict = batch.format == "jsonl"  # the survey has seen to the others
    for part in batch.parts(len(known)):
        arrays = [column(part.records, one.name, part.place, one.type, strict) for one in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def column(
    records: list[Record], name: str, place: Callable[[int], str], wanted: Any = None, strict: bool = True
) -> Any:
    """A column of records as an array, of the type that is wanted, or of its own."""
    values = [record.get(name) for record in records]
    array = array_of(values, wanted, strict)
    if array is None:
        i = bisect_left(range(len(values)), True, key=lambda i: array_of(values[: i + 1], wanted, strict) is None)
        expected = "values of one type" if wanted is None else f"{wanted}, as the first {FIRST:,} records have it"
        raise DataError(f"{place(i)}, column {name!r}: expected {expected}, found {values[i]!r:.40}")
    return array


def array_of(values: list[Any], wanted: Any, strict: bool) -> Any:
    """The array; None if there is none. Left alone, pyarrow makes 1 of 1.5 and of true, and forgets keys."""
    import pyarrow as pa

    try:
        found = type_of(values) if strict else wanted
        return pa.array(values, found if wanted is None else wanted) if wanted is None or fits(found, wanted) else None
    except (pa.ArrowException, OverflowError, TypeError, RecursionError):
        return None


def type_of(values: list[Any]) -> Any:
    """The Arrow type of values of JSON; a TypeError if they have none in common."""
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
    """Whether values of one type can be written as another and nothing is lost."""
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


# ---- examples


class Examples:
    """The examples of a stream in columns that keep their numbers, scaled if that is asked for."""

    def __init__(self, stream: Stream, normalize: str | None, done: Conversion) -> None:
        self.done, self.stream, self.scaler = done, stream, None if normalize is None else Scaler(normalize)
        self.vocabulary = Vocabulary()
        self.named: bool | None = None  # not known yet
        self.written = 0

    def __iter__(self) -> Blocks:
        for rows, y in self.stream:
            named = rows.names is not None
            if self.named not in (None, named):
                raise DataError(f"{self.stream.name}: features with names and features with numbers cannot be mixed")
            self.named = named
            if self.done.target != "vw":
                refuse_weights(self.stream.name, rows, self.done.count, self.done.target)
            self.done.see(len(y))
            rows = self.vocabulary.translate(rows.check(), True) if named else rows.check()
            yield rows if self.scaler is None else self.scaler.scaled(rows, True), y

    @property
    def names(self) -> list[str]:
        return self.vocabulary.names

    def lines(
        self, rows: Rows, y: np.ndarray, numbers: np.ndarray | None = None
    ) -> Iterator[tuple[str, list[int], list[str]]]:
        """Of each example its label, and the columns and values that are not 0, as text.

        The columns are counted from 1; or they are their numbers[j], and in order.
        """
        start, index, value = sparse(rows)
        there = np.flatnonzero(value)
        start, index, value = np.searchsorted(there, start), index[there] + 1, value[there]
        if numbers is not None:
            index = numbers[index - 1]
        order = np.lexsort((index, np.repeat(np.arange(len(y)), np.diff(start))))
        places, texts = index[order].tolist(), [plain(x) for x in value[order].tolist()]
        for label, a, b in zip(y.tolist(), start.tolist(), start[1:].tolist(), strict=False):
            self.written += 1
            try:
                word = label_text(label, self.done.target, a < b)
            except DataError as error:
                raise DataError(f"{self.stream.name}: example {self.written:,}: {error}") from None
            yield word, places[a:b], texts[a:b]


def write_examples(
    done: Conversion, paths: list[str], place: Path | None, features: Features, reading: dict[str, Any]
) -> None:
    """Labels and features."""
    # Only Vowpal Wabbit's text can do without labels, read or written.
    labelled = done.target == "libsvm" or {reading.get("format") or formats.by_name(path) for path in paths} != {"vw"}
    source: Any = paths
    if len(paths) == 1 and is_generated(paths[0]):
        source, reading = paths[0], {}
        if done.limit is None:
            raise DataError(f"{source} has no end: say by --limit how many examples are wanted")
    else:
        reading = {"features": features, "labelled": labelled, **reading}
    stream = done.source = Stream(source, limit=done.limit, **reading)
    examples = Examples(stream, features.normalize, done)
    write_text(done, place, libsvm_lines(done, examples) if done.target == "libsvm" else vw_lines(examples))
    if not done.count:
        raise DataError(f"{stream.name}: no examples")
    done.columns = examples.names


def write_names(done: Conversion, path: Path) -> None:
    if not done.numbered:
        raise DataError("no names to write: the columns keep the numbers that they have in the data")
    for name in done.columns:
        if "\n" in name:
            raise DataError(f"the feature name {name!r} has a newline in it, and names are written one a line")
    path.write_text("".join(f"{name}\n" for name in done.columns), encoding="utf-8")


def libsvm_lines(done: Conversion, examples: Examples) -> Iterator[str]:
    """The lines of each block. Of names it must be known first whether all of them are numbers."""
    blocks = iter(examples)
    first = next(blocks, None)
    if first is None:
        return
    blocks = chain([first], blocks)
    if not examples.named:
        yield from (libsvm_text(examples.lines(rows, y)) for rows, y in blocks)
        return
    cache = Cache()
    try:
        for rows, y in blocks:
            rows.names = None  # its columns have their numbers already
            cache.add(rows, y)
        cache.ready()
        numbers = own_numbers(examples.names)
        done.numbered = numbers is None
        yield from (libsvm_text(examples.lines(rows, y, numbers)) for rows, y in cache)
    finally:
        cache.close()


def own_numbers(names: list[str]) -> np.ndarray | None:
    """The numbers that names are, if all are, and in the same namespace; else None.

    >>> own_numbers(["f^12", "f^7"]), own_numbers(["f^12", "g^7"])
    (array([12,  7]), None)
    """
    spaces, words = {spaced(name)[0] for name in names}, [spaced(name)[1] for name in names]
    if len(spaces) > 1 or not all(WHOLE.fullmatch(word) and int(word) <= HIGHEST for word in words):
        return None
    return np.array([int(word) for word in words], dtype=np.int64)


def libsvm_text(lines: Iterable[tuple[str, list[int], list[str]]]) -> str:
    pairs = ((label, [f"{j}:{x}" for j, x in zip(columns, values, strict=True)]) for label, columns, values in lines)
    return "".join(" ".join([label, *words]) + "\n" for label, words in pairs)


def label_text(label: Any, format: str, followed: bool) -> str:
    """A label as a word; "" for none."""
    if isinstance(label, str):
        if NO_LABEL[format].search(label) or (not followed and format == "libsvm" and re.search("[,;]", label)):
            raise DataError(f"the label {label!r} has no form in {format} text")
        return label
    if math.isinf(label) or (format == "libsvm" and label != label):
        raise DataError(f"the label {label}; {format} text takes a finite number or a name")
    return plain(float(label)) if label == label else ""


def spaced(name: str) -> tuple[str, str]:
    """The namespace and the feature of a name.

    >>> spaced("words^cheap"), spaced("cheap"), spaced("^")
    (('words', 'cheap'), ('', 'cheap'), ('', '^'))
    """
    space, _, word = name.partition("^")
    return (space, word) if space and word else ("", name)


def vw_lines(examples: Examples) -> Iterator[str]:
    """Vowpal Wabbit's text; what has no names is called by its number."""
    known: list[tuple[str, str]] = []
    for rows, y in examples:
        new = examples.names[len(known) :]
        bad = [f"{name!r:.40}" for name in new if NO_NAME.search(name)]
        if bad:
            some = ", ".join(bad[:5]) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
            raise DataError(
                f"{examples.stream.name}: the feature names {some}: Vowpal Wabbit's text has no place for spaces, "
                f"colons and bars in a name; count words by --text, or hash names by --bits"
            )
        known += map(spaced, new)
        yield "".join(
            vw_line(label, weight, [known[j - 1] if examples.named else ("", str(j)) for j in columns], values)
            for weight, (label, columns, values) in zip(rows.weights.tolist(), examples.lines(rows, y), strict=True)
        )


def vw_line(label: str, weight: float, names: list[tuple[str, str]], values: list[str]) -> str:
    words = [label] if label else []
    words += [] if weight == 1 else [plain(weight)]
    last: str | None = None
    for (space, word), value in zip(names, values, strict=True):
        if space != last:
            words.append(f"|{space}")
            last = space
        words.append(word if value == "1" else f"{word}:{value}")
    return " ".join(words if names else [*words, "|"]) + "\n"
