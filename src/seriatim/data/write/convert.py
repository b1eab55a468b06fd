"""Converts data files from any format to any format, compressed or not.

Conversions between tables and objects copy cells. Conversions to LIBSVM and Vowpal Wabbit text write labels and the
nonzero features. If all feature names are numbers in one namespace, LIBSVM uses these numbers. Otherwise features are
numbered from 1 in the order in which they appear. Conversions from LIBSVM and Vowpal Wabbit text have a column "label"
and a column for each feature. Features that a line does not contain are missing values. Only Vowpal Wabbit text stores
sample weights.

Numbers are written with enough digits to restore them exactly. In text tables, nested objects become columns whose
names are joined by dots, and dates become ISO strings. Text tables cannot store lists; JSON cannot store infinity. NaN
becomes a missing value in both. A Parquet or Arrow file from JSON lines has the types of the first 10,000 lines.
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
    """A conversion: its target, the number of records or examples written so far, and the names of the columns."""

    target: str
    ending: str
    limit: int | None
    watch: Callable[[int, Any], None]
    source: Any = None
    count: int = 0
    columns: list[str] = field(default_factory=list)
    numbered: bool = False  # whether LIBSVM columns have been numbered in order of appearance

    def see(self, n: int) -> None:
        """Count n more records."""
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
    """Convert files, a bundled set or a generated stream to another file. After an error, the output is unchanged.

    to : the output format; by default detected from the ending of the output's name, before .gz or the like.
    features : how columns become features; only for LIBSVM and Vowpal Wabbit text.
    names : a file for the names of the LIBSVM columns, one per line.
    limit : stop after N records.
    watch : a function that is called with the number of records so far and their source.
    reading : `format`, `header` and `skip_bad`, as for `data.stream`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = convert("spam", f"{folder}/spam.csv.gz")
    >>> done.count, done.columns[:3]
    (4601, ['label', 'make', 'address'])
    """
    out = os.fspath(output)
    target = to or formats.by_name(out)
    if target not in formats.FORMATS:
        raise DataError(f"{out}: which format? Give it by --to, or by an ending: {', '.join(formats.ENDINGS)}")
    ending = next((one for one in formats.COMPRESSED if out.lower().endswith(one)), "")
    if target in COLUMNAR and (ending or out == "-"):
        raise DataError(f"{out}: {target} data can be written only to an uncompressed file; choose another name")
    if target not in SPARSE and features is not None:
        given = ", ".join(Features.of(features).as_dict())
        raise ParameterError(f"{given} has no effect on {target}, only on LIBSVM and VW; remove it")
    if names is not None and target != "libsvm":
        raise ParameterError(f"a file of names is only for LIBSVM; {target} contains the names; remove it")
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
    """Raise DataError if a path is one of the inputs."""
    for one in sources:
        if path and Path(path).exists() and Path(one).is_file() and Path(one).samefile(path):
            raise DataError(f"{path} is one of the inputs and would be overwritten; choose another name")


# ---- text


def write_text(done: Conversion, path: Path | None, texts: Iterable[str | bytes]) -> None:
    with packed(path, done.ending) as file:
        for text in texts:
            file.write(text.encode() if isinstance(text, str) else text)


# ---- tables and objects


def write_records(done: Conversion, paths: list[str], place: Path | None, reading: dict[str, Any]) -> None:
    """Write records, cell by cell."""
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
        raise DataError(f"{source.name}: no records with any columns")


def counted(done: Conversion, batches: Iterable[Batch]) -> Iterator[Batch]:
    for batch in batches:
        done.see(len(batch.numbers))
        yield batch


# ---- examples


def write_examples(
    done: Conversion, paths: list[str], place: Path | None, features: Features, reading: dict[str, Any]
) -> None:
    """Write labels and features."""
    # Only Vowpal Wabbit text allows missing labels.
    labelled = done.target == "libsvm" or {reading.get("format") or formats.by_name(path) for path in paths} != {"vw"}
    source: Any = paths
    if len(paths) == 1 and is_generated(paths[0]):
        source, reading = paths[0], {}
        if done.limit is None:
            raise DataError(f"{source} has no end; give the number of examples by --limit")
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
        raise DataError("no names to write: the columns keep their numbers in the data; remove --names")
    for name in done.columns:
        if "\n" in name:
            raise DataError(f"the feature name {name!r} contains a newline, but each name needs one line; rename it")
    path.write_text("".join(f"{name}\n" for name in done.columns), encoding="utf-8")
