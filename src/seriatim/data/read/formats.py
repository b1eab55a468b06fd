"""Which format data are in, told from their name and their first line."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import PurePath

from seriatim.errors import DataError

FORMATS = ("libsvm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow", "text")
ENDINGS = {
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".vw": "vw",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
PACKED = (".gz", ".zst", ".bz2", ".xz")
DELIMITERS = ",\t;|"
HEAD = 1 << 16  # bytes of which the first line is looked at

PAIRS = re.compile(r"\S+(\s+(qid:\S*|[0-9]+:\S+))*\s*(#.*)?")
QUOTED = re.compile(r'(?<![^,\t;|\n])"([^"]|"")*"?')
BAR = re.compile(r"([^|]*\s)?('\S*)?\|")


def by_name(name: str) -> str | None:
    """The format that a file's name tells, if it does.

    >>> by_name("mail.csv.gz"), by_name("mail")
    ('csv', None)
    """
    endings = [ending.lower() for ending in PurePath(name).suffixes]
    while endings and endings[-1] in PACKED:
        endings.pop()
    return ENDINGS.get(endings[-1]) if endings else None


def guess(name: str, head: bytes, table: bool = False) -> str:
    """The format of data of this name that begin so; with `table` a model that has learned from a table wants them.

    >>> guess("-", b"1 |words cheap watches"), guess("-", b"-1 3:0.5"), guess("-", b'{"label": 1}')
    ('vw', 'libsvm', 'jsonl')
    """
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1" or head[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    known = by_name(name)
    if known in ("parquet", "arrow"):
        raise DataError(f"{name}: its name says {known}, and it does not begin as such a file does")
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
    """The first line that is neither blank nor a comment; the mark of Unicode is no part of it."""
    return first_lines(text_of(head))[0]


def text_of(head: bytes) -> str:
    return head.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


def first_lines(text: str) -> list[str]:
    """The first two such lines; at least an empty one."""
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [*islice((line for line in lines if line.strip() and not line.startswith("#")), 2)] or [""]


def delimiter(format: str, head: bytes) -> str:
    """What stands between the cells: a tab in a TSV file, else what is most frequent in the first line.

    Whatever is as frequent in the second line goes first: a text has as many commas as it likes.
    """
    if format == "tsv":
        return "\t"
    lines = first_lines(QUOTED.sub('""', text_of(head)))
    steady = [mark for mark in DELIMITERS if 0 < lines[0].count(mark) == lines[-1].count(mark)]
    return max(steady or DELIMITERS, key=lines[0].count)
