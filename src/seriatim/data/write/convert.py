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

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seriatim.data.read import formats
from seriatim.data.read.source import expanded
from seriatim.data.stream import Stream
from seriatim.data.write.arrow import write_arrow
from seriatim.data.write.examples import NamedExamples, libsvm_lines, vw_lines
from seriatim.data.write.records import (
    COLUMNAR,
    SPARSE,
    TABLES,
    Batch,
    TypedRecords,
    is_generated,
)
from seriatim.data.write.text import json_lines, packed, table_lines
from seriatim.errors import DataError, ParameterError
from seriatim.features import Features
from seriatim.files import whole_file


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
    ending = next((one for one in formats.COMPRESSED if out.lower().endswith(one)), "")
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


def write_text(done: Conversion, path: Path | None, texts: Iterable[str | bytes]) -> None:
    with packed(path, done.ending) as file:
        for text in texts:
            file.write(text.encode() if isinstance(text, str) else text)


# ---- tables and objects


def write_records(done: Conversion, paths: list[str], place: Path | None, reading: dict[str, Any]) -> None:
    """Cells as they are."""
    with closing(TypedRecords(paths, done.target, done.limit, **reading)) as source:
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


# ---- examples


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
    examples = NamedExamples(stream, features.normalize, done)
    write_text(done, place, libsvm_lines(examples) if done.target == "libsvm" else vw_lines(examples))
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
