"""The formats of data files, and how to detect one from a file's name and first line."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import PurePath
from typing import NamedTuple

from seriatim.errors import DataError

DELIMITERS = ",\t;|"
HEAD = 1 << 16  # bytes that are read to detect the format

PAIRS = re.compile(r"\S+(\s+(qid:\S*|[0-9]+:\S+))*\s*(#.*)?")
QUOTED = re.compile(r'(?<![^,\t;|\n])"([^"]|"")*"?')
BAR = re.compile(r"([^|]*\s)?('\S*)?\|")


class Format(NamedTuple):
    """One row of the table of formats."""

    kind: str  # sparse (features by number or name), table (cells of text), objects, columnar, text (a text per line)
    endings: tuple[str, ...]


FORMATS = {
    "libsvm": Format("sparse", (".libsvm", ".svm", ".svmlight")),
    "vw": Format("sparse", (".vw",)),
    "csv": Format("table", (".csv",)),
    "tsv": Format("table", (".tsv", ".tab")),
    "jsonl": Format("objects", (".jsonl", ".ndjson", ".json")),
    "parquet": Format("columnar", (".parquet", ".pq")),
    "arrow": Format("columnar", (".arrow", ".feather", ".ipc")),
    "text": Format("text", ()),
}
ENDINGS = {ending: name for name, format in FORMATS.items() for ending in format.endings}
COMPRESSED = (".gz", ".zst", ".bz2", ".xz")


def of_kind(*kinds: str) -> tuple[str, ...]:
    """The names of the formats of these kinds.

    >>> of_kind("table"), of_kind("columnar")
    (('csv', 'tsv'), ('parquet', 'arrow'))
    """
    return tuple(name for name, format in FORMATS.items() if format.kind in kinds)


def by_name(name: str) -> str | None:
    """The format that a file's name ends with; None for an unknown ending.

    >>> by_name("mail.csv.gz"), by_name("mail")
    ('csv', None)
    """
    endings = [ending.lower() for ending in PurePath(name).suffixes]
    while endings and endings[-1] in COMPRESSED:
        endings.pop()
    return ENDINGS.get(endings[-1]) if endings else None


def guess(name: str, head: bytes, table: bool = False) -> str:
    """Detect the format from the name and the first bytes; `table`: the model has learned from a table.

    >>> guess("-", b"1 |words cheap watches"), guess("-", b"-1 3:0.5"), guess("-", b'{"label": 1}')
    ('vw', 'libsvm', 'jsonl')
    """
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1" or head[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    known = by_name(name)
    if known in ("parquet", "arrow"):
        raise DataError(f"{name}: the name says {known}, but the first bytes do not; rename the file")
    if known is not None:
        return known
    line = first_line(head)
    if line.lstrip()[:1] == "{":
        return "jsonl"
    if BAR.match(line):
        return "vw"
    mark = delimiter("csv", head)
    if PAIRS.fullmatch(line) and mark not in line.partition("#")[0].partition(" ")[0]:
        return "csv" if table and ":" not in line else "libsvm"
    return "tsv" if mark == "\t" and mark in line else "csv" if mark in line or table else "libsvm"


def first_line(head: bytes) -> str:
    """The first line that is neither blank nor a comment, without a byte order mark."""
    return first_lines(text_of(head))[0]


def text_of(head: bytes) -> str:
    return head.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


def first_lines(text: str) -> list[str]:
    """The first two lines that are neither blank nor comments; an empty one if there are none."""
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [*islice((line for line in lines if line.strip() and not line.startswith("#")), 2)] or [""]


def delimiter(format: str, head: bytes) -> str:
    """The delimiter between cells: a tab in a TSV file, else the most frequent candidate in the first line.

    Candidates that are as frequent in the second line are preferred, because text contains commas of its own.
    """
    if format == "tsv":
        return "\t"
    lines = first_lines(QUOTED.sub('""', text_of(head)))
    steady = [mark for mark in DELIMITERS if 0 < lines[0].count(mark) == lines[-1].count(mark)]
    return max(steady or DELIMITERS, key=lines[0].count)
