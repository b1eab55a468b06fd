"""Writes examples as LIBSVM files and as Vowpal Wabbit text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from seriatim.core.names import Vocabulary
from seriatim.core.rows import Rows
from seriatim.data.cache import Cache, sparse
from seriatim.data.read.source import Blocks
from seriatim.data.stream import Stream
from seriatim.data.write.records import refuse_weights
from seriatim.data.write.text import shortest_text
from seriatim.errors import DataError
from seriatim.features.scaler import Scaler

if TYPE_CHECKING:
    from seriatim.data.write.convert import Conversion

HIGHEST = 2**31 - 2  # the highest LIBSVM index
WHOLE = re.compile(r"[1-9][0-9]{0,9}")
NO_NAME = re.compile(r"[ \t\r\n:|]|\A\Z")
NO_LABEL = {"libsvm": re.compile(r"[\0-\x20:\x7f]|\A#|\A\Z"), "vw": re.compile(r"[ \t\r\n:|]|\A'|\A\Z")}


class NamedExamples:
    """The examples of a stream, with a fixed column for each name, scaled by `normalize`."""

    def __init__(self, stream: Stream, normalize: str | None, done: Conversion) -> None:
        self.done, self.stream, self.scaler = done, stream, None if normalize is None else Scaler(normalize)
        self.vocabulary = Vocabulary()
        self.named: bool | None = None  # not known yet
        self.written = 0

    def __iter__(self) -> Blocks:
        for rows, y in self.stream:
            named = rows.names is not None
            if self.named not in (None, named):
                mixed = "features with names and features with numbers cannot be mixed; convert the files one by one"
                raise DataError(f"{self.stream.name}: {mixed}")
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
        """Yield (label, columns, values) of each example as text, without zeros.

        Columns are counted from 1. With `numbers`, column j has the number numbers[j]. They are sorted.
        """
        start, index, value = sparse(rows)
        there = np.flatnonzero(value)
        start, index, value = np.searchsorted(there, start), index[there] + 1, value[there]
        if numbers is not None:
            index = numbers[index - 1]
        order = np.lexsort((index, np.repeat(np.arange(len(y)), np.diff(start))))
        places, texts = index[order].tolist(), [shortest_text(x) for x in value[order].tolist()]
        for label, a, b in zip(y.tolist(), start.tolist(), start[1:].tolist(), strict=False):
            self.written += 1
            try:
                word = label_text(label, self.done.target, a < b)
            except DataError as error:
                raise DataError(f"{self.stream.name}: example {self.written:,}: {error}") from None
            yield word, places[a:b], texts[a:b]


def libsvm_lines(examples: NamedExamples) -> Iterator[str]:
    """The lines of each block. Examples with names are stored first, to see whether all names are numbers."""
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
            rows.names = None  # the vocabulary has set the columns already
            cache.add(rows, y)
        cache.ready()
        numbers = own_numbers(examples.names)
        examples.done.numbered = numbers is None
        yield from (libsvm_text(examples.lines(rows, y, numbers)) for rows, y in cache)
    finally:
        cache.close()


def own_numbers(names: list[str]) -> np.ndarray | None:
    """The names as numbers, if all are numbers in one namespace; else None.

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
    """A label as text; "" for a missing label."""
    if isinstance(label, str):
        if NO_LABEL[format].search(label) or (not followed and format == "libsvm" and re.search("[,;]", label)):
            raise DataError(f"the label {label!r} cannot be written as {format} text; rename it")
        return label
    if math.isinf(label) or (format == "libsvm" and label != label):
        raise DataError(f"the label {label} cannot be written: {format} text needs a finite number or a name")
    return shortest_text(float(label)) if label == label else ""


def spaced(name: str) -> tuple[str, str]:
    """The namespace and the feature of a name.

    >>> spaced("words^cheap"), spaced("cheap"), spaced("^")
    (('words', 'cheap'), ('', 'cheap'), ('', '^'))
    """
    space, _, word = name.partition("^")
    return (space, word) if space and word else ("", name)


def vw_lines(examples: NamedExamples) -> Iterator[str]:
    """The lines of each block as Vowpal Wabbit text. Features without names are named by their numbers."""
    known: list[tuple[str, str]] = []
    for rows, y in examples:
        new = examples.names[len(known) :]
        bad = [f"{name!r:.40}" for name in new if NO_NAME.search(name)]
        if bad:
            some = ", ".join(bad[:5]) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
            raise DataError(
                f"{examples.stream.name}: the feature names {some}: Vowpal Wabbit text allows no spaces, "
                f"colons or bars in a name; count words by --text, or hash names by --bits"
            )
        known += map(spaced, new)
        yield "".join(
            vw_line(label, weight, [known[j - 1] if examples.named else ("", str(j)) for j in columns], values)
            for weight, (label, columns, values) in zip(rows.weights.tolist(), examples.lines(rows, y), strict=True)
        )


def vw_line(label: str, weight: float, names: list[tuple[str, str]], values: list[str]) -> str:
    words = [label] if label else []
    words += [] if weight == 1 else [shortest_text(weight)]
    last: str | None = None
    for (space, word), value in zip(names, values, strict=True):
        if space != last:
            words.append(f"|{space}")
            last = space
        words.append(word if value == "1" else f"{word}:{value}")
    return " ".join(words if names else [*words, "|"]) + "\n"
