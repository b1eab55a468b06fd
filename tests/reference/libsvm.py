"""LIBSVM text read line by line with re and float(): slow, plain, and sharing nothing with the compiled parser."""

from __future__ import annotations

import re

from tests.reference.labels import label_of

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WORD = re.compile(rb"[^ \t\r]*")
BLANKS = re.compile(rb"[ \t]*")
INDEX = re.compile(rb"[0-9]*")
CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
LARGEST = 2**31 - 2
LIMIT = 1e50


class BadLine(Exception):
    """A line that cannot be read; holds the column, from 1, of what is wrong."""


def read_line(line: bytes) -> tuple[float | str, list[tuple[int, float]]] | None:
    """(label, pairs sorted by index) of a line without its newline; None if there is nothing on it."""
    line = line[:-1] if line.endswith(b"\r") else line
    at = BLANKS.match(line).end()
    if at == len(line) or line[at : at + 1] == b"#":
        return None
    word = WORD.match(line, at)[0]
    first, label = at, read_label(word, at)
    at += len(word)
    pairs = []
    while True:
        at = BLANKS.match(line, at).end()
        if at == len(line) or line[at : at + 1] == b"#":
            break
        index = INDEX.match(line, at)[0]
        if not index and line[at : at + 4] == b"qid:":
            at = WORD.match(line, at).end()
            continue
        colon = at + len(index)
        # Sixteen digits are all that an index may have, zeros in front included.
        if not index or len(index) > 16 or line[colon : colon + 1] != b":" or not 1 <= int(index) <= LARGEST:
            raise BadLine(at + 1)
        word = WORD.match(line, colon + 1)[0]
        if not NUMBER.fullmatch(word) or abs(float(word)) > LIMIT:
            raise BadLine(colon + 2)
        pairs.append((int(index), float(word)))
        at = colon + 1 + len(word)
    if not pairs and isinstance(label, str) and ("," in label or ";" in label):
        raise BadLine(first + 1)
    sums: dict[int, float] = {}
    for index, value in pairs:
        sums[index] = sums[index] + value if index in sums else value
    return label, sorted(sums.items())


def read_label(word: bytes, at: int) -> float | str:
    if not word or b":" in word or CONTROL.search(word):
        raise BadLine(at + 1)
    try:
        return label_of(word.decode())
    except UnicodeDecodeError:
        raise BadLine(at + 1) from None


def read(text: bytes) -> tuple[list, list[tuple[int, int]]]:
    """All rows, and the (line, column) of all that is bad."""
    rows, bad = [], []
    for number, line in enumerate(text.split(b"\n"), 1):
        try:
            row = read_line(line)
        except BadLine as error:
            bad.append((number, error.args[0]))
            continue
        if row is not None:
            rows.append(row)
    return rows, bad
