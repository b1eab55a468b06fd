"""One pass over files: opens and decompresses them, detects their format, and parses ahead on other cores."""

from __future__ import annotations

import glob
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from select import select
from typing import Any

import numpy as np

from seriatim.core.names import Names
from seriatim.core.rows import Rows
from seriatim.core.threads import THREADS, ahead
from seriatim.data import bundled
from seriatim.data.read import delimited, formats, jsonl
from seriatim.data.read.decompress import Unpacked, packing, undecided
from seriatim.data.read.header import LOOKED_AT, Record, check_columns, column_names, kinds_of, label_column
from seriatim.data.read.libsvm import parse as parse_libsvm
from seriatim.data.read.lines import MAX_LINE, InOrder, Lines, Ranges, RecordLines, Text
from seriatim.data.read.steady import SteadyFile
from seriatim.data.read.text import PADDING
from seriatim.data.read.vw import parse as parse_vw
from seriatim.errors import DataError, ParseError
from seriatim.features import Features
from seriatim.features.block import Block
from seriatim.features.encoder import Plan
from seriatim.labels import target_of

BLOCK = 1 << 20  # bytes of text

Blocks = Iterator[tuple[Rows, np.ndarray]]
Parse = Callable[..., Block]
Bad = tuple[int, int, str]  # line of a block, column, problem


class Source:
    """The examples of files, a bundled set, or standard input, in order. Iterating again reads them again."""

    def __init__(
        self,
        paths: str | os.PathLike[str] | list[str | os.PathLike[str]],
        *,
        features: Features | dict[str, Any] | None = None,
        schema: dict[str, str] | None = None,
        format: str | None = None,
        header: bool | None = None,
        labelled: bool = True,
        skip_bad: bool = False,
        threads: int = THREADS,
        block: int = BLOCK,
    ) -> None:
        given = paths if isinstance(paths, list | tuple) else [paths]
        self.features = Features.of(features)
        self.schema: dict[str, str] = {} if schema is None else schema
        self.known = dict(self.schema)  # the kinds of columns that the model has learned
        if format is not None and format not in formats.FORMATS:
            raise DataError(f"unknown format {format!r}; there are {', '.join(formats.FORMATS)}")
        if format == "text":
            self.features = replace(self.features, text=(jsonl.TEXT,))
        self.format, self.header, self.labelled, self.skip_bad = format, header, labelled, skip_bad
        self.threads, self.block = threads, max(block, 1)
        self.files = [one for path in given for one in expanded(path)]
        self.name = "standard input" if self.files == ["-"] else ", ".join(map(str, given))
        self.plan: Plan | None = None
        self.numbers = False  # whether a label that is a name is an error: in a regression
        self.reset()

    def reset(self) -> None:
        self.raw: io.FileIO | None = None
        self.size = self.before = 0
        self.lines: Lines | None = None
        self.skipped: list[str] = []
        self.skipped_count = 0

    def __iter__(self) -> Blocks:
        self.reset()
        self.schema.clear()
        self.schema |= self.known
        for path in self.files:
            yield from self.file(path)
            self.before += self.size

    @property
    def once_only(self) -> bool:
        """Whether the source cannot be read again."""
        return any(path == "-" or (Path(path).exists() and not Path(path).is_file()) for path in self.files)

    def share_read(self) -> float | None:
        """The fraction of the files that has been read; None if it is unknown."""
        try:
            whole = sum(Path(path).stat().st_size for path in self.files if path != "-")
        except OSError:
            return None
        if not whole or self.raw is None:  # a pipe, or not open yet
            return None
        here = self.size if self.raw.closed else min(self.size, self.raw.tell())
        return min(1.0, (self.before + here) / whole)

    @property
    def waiting(self) -> bool:
        """Whether the reader waits for a pipe."""
        return isinstance(self.lines, InOrder) and self.lines.waiting

    # ---- one file

    def file(self, path: str) -> Blocks:
        name = "standard input" if path == "-" else path
        names = None if (known := bundled.find(path)) is None else Names(known.feature_names)
        with opened(known.path if known else path, name) as file:
            self.raw, self.size = file, os.fstat(file.fileno()).st_size
            seekable = file.seekable()
            start = file.tell() if seekable else 0
            data: Any = file
            head = look(file)
            if packed := packing(head):
                data = Unpacked(file, packed, name, head)
                head = look(data)
            format = self.format or formats.guess(name, head, bool(self.known))
            if format in ("csv", "tsv"):
                head = look_further(data, head, formats.delimiter(format, head))
            elif format == "jsonl":
                head = look_further(data, head)
            if seekable and not packed:
                file.seek(start)
            if format in ("parquet", "arrow"):
                if packed or not seekable:
                    raise DataError(f"{name}: {format} data must be an uncompressed file; save them to one")
                from seriatim.data.read import parquet

                place = file if path == "-" else path  # pyarrow reads faster if it opens the file itself
                crowd = self.plan_of([]).crowd
                yield from parquet.blocks(place, format, name, self.features, self.schema, self.labelled, crowd)
                return
            kind = RecordLines if format in ("csv", "tsv") else InOrder if packed or not seekable else Ranges
            self.lines = kind(data, name, self.block)
            if isinstance(self.lines, InOrder) and (packed or not seekable):
                self.lines.head = head
            for rows, y in self.texts(format, head, name):
                if names is not None:
                    rows.names = names
                yield rows, y

    def texts(self, format: str, head: bytes, name: str) -> Blocks:
        """The blocks of a file in a text format."""
        lines: Any = self.lines
        line = 0
        items: Any = lines
        if isinstance(lines, RecordLines):
            lines.delimiter = formats.delimiter(format, head)
            parse, header = self.table(head, lines.delimiter, name)
            if header:
                items = iter(lines)
                first, line = without_header(items, lines.delimiter)
                items = chain(first, items)
        else:
            parse = self.parser(format, head)

        def read(item: Any) -> tuple[Block, np.ndarray, list[Bad]]:
            buffer, begin, end = lines.text(item)
            block = parse(buffer, begin, end)
            named: list[Bad] = []
            y = as_targets(block.y) if self.numbers else block.y
            if self.numbers and y.dtype == object:
                block, named = self.without_names(parse, bytes(memoryview(buffer)[begin:end]))
                y = as_targets(block.y)
            lines.give_back(buffer)
            return block, y, named

        for block, y, named in ahead(read, items, self.threads):
            if len(y):
                if isinstance(lines, RecordLines):
                    block.rows.schema = self.schema
                yield block.rows, y
            block.release()
            for place, column, problem in sorted([*block.bad, *named]):
                error = ParseError(name, line + place, column, problem)
                if not self.skip_bad:
                    raise error
                if len(self.skipped) < 10:
                    self.skipped.append(str(error))
            self.skipped_count += block.bad_count + len(named)
            line += block.lines

    def without_names(self, parse: Parse, text: bytes) -> tuple[Block, list[Bad]]:
        """Parse a text without the lines whose label is a name. Returns the block and an error for each such line.

        Without `skip_bad` the block ends before the first such line.
        """
        delimiter = getattr(self.lines, "delimiter", None)
        text += bytes(PADDING)
        end, at, line = len(text) - PADDING, 0, 0
        good, bad = [], []
        while at < end:
            if delimiter is None:
                length, lines = text.index(b"\n", at, end) + 1 - at, 1
            else:
                length, lines = delimited.record_length(text, at, end, delimiter)
            one = text[at : at + length]
            block = parse(one + bytes(PADDING), 0, length)
            named = [label for label in block.y if isinstance(label, str) and target_of(label) is None]
            block.release()
            if named:
                column = one.find(named[0].encode()) - one.rfind(b"\n", 0, -1)
                bad.append((line + lines, max(column, 1), f"expected a number to estimate, found {named[0]!r}"))
                if not self.skip_bad:
                    break
                one = b"\n" * lines
            good.append(one)
            at, line = at + length, line + lines
        text = b"".join(good)
        return parse(text + bytes(PADDING), 0, len(text)), bad

    def parser(self, format: str, head: bytes) -> Parse:
        """A function (buffer, begin, end) that parses lines into a block."""
        if format in ("libsvm", "vw"):
            allowed = {"normalize"} if format == "libsvm" else {"normalize", "bits"}
            allowed |= set() if self.labelled else {"label"}  # it may have been set for the training data
            for option in self.features.as_dict().keys() - allowed:
                there = "only numbers" if format == "libsvm" else "no columns"
                raise DataError(f"{self.name}: {option} has no effect on {format} data, where features have {there}")
        if format == "libsvm":
            return lambda *text: parse_libsvm(*text, self.skip_bad)
        plan = self.plan_of([])
        if format == "vw":
            return lambda *text: parse_vw(*text, plan, self.skip_bad, self.labelled)
        if format == "text":
            if self.labelled:
                raise DataError(f"{self.name}: plain text has no labels, but this method needs them; try jsonl")
            return lambda text, begin, end: jsonl.parse_text(text, begin, end, plan, self.skip_bad)
        label = self.features.label or jsonl.label_key(head)
        skip_bad, labelled = self.skip_bad, self.labelled
        return lambda text, begin, end: jsonl.parse(text, begin, end, plan, label, skip_bad, labelled)

    def plan_of(self, columns: list[tuple[str, str]]) -> Plan:
        """The plan for these columns. All files share one count of hash collisions."""
        if self.plan is None or self.plan.columns_given != columns:
            self.plan = Plan(self.features, columns, None if self.plan is None else self.plan.crowd)
        return self.plan

    def table(self, head: bytes, delimiter: str, name: str) -> tuple[Parse, bool]:
        """Detect the columns of a table from its beginning. Returns the parser, and whether there is a header."""
        records = first_records(head, delimiter)
        names, header = column_names(name, records, self.header)
        records = records[header:]
        label = label_column(name, names, self.features.label, self.labelled and bool(names))
        check_columns(name, names, self.features, self.schema)
        kinds = kinds_of(names, records, label, self.features, self.schema)
        self.schema |= kinds
        plan = self.plan_of(list(kinds.items()))
        return lambda *block: delimited.parse(*block, plan, delimiter, self.skip_bad, self.labelled), header


def as_targets(y: np.ndarray) -> np.ndarray:
    """Convert labels to the targets of a regression if all are numbers. The label "007" becomes 7."""
    if y.dtype != object:
        return y
    targets = [target_of(label) if isinstance(label, str) else label for label in y.tolist()]
    return y if None in targets else np.array(targets, dtype=np.float64)


def first_records(head: bytes, delimiter: str) -> list[Record]:
    """The complete records at the beginning of a table."""
    text = head.removeprefix(b"\xef\xbb\xbf")
    end = len(text) if len(head) < formats.HEAD else delimited.cut(text, 0, len(text), delimiter) or len(text)
    text = text[:end] + b"\n" * (text[end - 1 : end] != b"\n")
    return delimited.cells(text + bytes(PADDING), 0, len(text), delimiter, LOOKED_AT)


def without_header(items: Iterator[Text | None], delimiter: str) -> tuple[list[Text], int]:
    """Drop the header from the first text. Returns [text], or [] if there is none, and the lines of the header."""
    for item in items:
        if item is not None:
            buffer, begin, end = item
            length, lines = delimited.record_length(buffer, begin, end, delimiter)
            return [(buffer, begin + length, end)], lines
    return [], 0


def expanded(path: str | os.PathLike[str]) -> list[str]:
    """The files of a path: the path itself, or all files that match its pattern, sorted by name."""
    text = os.fspath(path)
    if not any(mark in text for mark in "*?[") or Path(text).exists():
        return [text]
    found = sorted(glob.glob(text, recursive=True))  # noqa: PTH207, a Path has no pattern with a root
    if not found:
        raise DataError(f"{text}: no file matches this pattern")
    return found


@contextmanager
def opened(path: str | Path, name: str, sets: bool = True) -> Iterator[SteadyFile]:
    """Open a file, or standard input for -. Raises DataError at the end if the file has been cut short.

    sets : whether the user may have meant a bundled set; the message for a missing file then lists them.
    """
    if str(path) == "-" and sys.stdin is None:
        raise DataError("standard input is closed; give a file, or pipe the data in")
    try:
        file = SteadyFile(sys.stdin.fileno(), name, closefd=False) if str(path) == "-" else SteadyFile(path, name)
    except OSError as error:
        hint = "" if os.sep in str(path) or not sets else f"; the bundled sets are {', '.join(bundled.datasets())}"
        raise DataError(f"{name}: {error.strerror or error}{hint}") from None
    with file:
        yield file
        file.expect_whole()


def look(file: Any) -> bytes:
    """Read the first bytes of a file or of decompressed data, up to HEAD.

    From a pipe: the bytes that are there, but at least one line, and enough to detect compression.
    """
    head = b""
    pipe = isinstance(file, io.FileIO) and not file.seekable()
    while len(head) < formats.HEAD:
        known = packing(head) is not None or (b"\n" in head and not undecided(head))
        if pipe and known and not select([file], [], [], 0)[0]:
            break
        try:
            more = file.read(formats.HEAD - len(head))
        except DataError:  # raised again later, after the data before it
            if head:
                break
            raise
        if not more:
            break
        head += more
    return head


def has_two_records(head: bytes, delimiter: str) -> bool:
    end = delimited.cut(head, 0, len(head), delimiter) if head else 0
    return bool(end) and len(delimited.cells(head[:end] + bytes(PADDING), 0, end, delimiter, 2)) == 2


def look_further(file: Any, head: bytes, delimiter: str | None = None) -> bytes:
    """Extend the head of a table until it contains two records, because the first one may be a header.

    Without a delimiter, extend it until it contains a whole line.
    """
    size = max(formats.HEAD, len(head))
    while len(head) < MAX_LINE:
        if delimiter is None:
            if b"\n" in head.lstrip():
                break
        elif has_two_records(head, delimiter):
            break
        size = 2 * size if len(head) == size else size
        try:
            more = file.read(size - len(head))
        except DataError:  # raised again later, after the data before it
            break
        if not more:
            break
        head += more
    return head
