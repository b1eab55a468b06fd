"""Files of ratings. Each line has a user, an item and a rating, in named columns or in this order."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seriatim.core.values import shown
from seriatim.data.cache import File, writing
from seriatim.data.read import formats
from seriatim.data.read.decompress import Unpacked, packing
from seriatim.data.read.source import expanded, look, opened
from seriatim.errors import DataError, ParameterError, ParseError

CHUNK = 1 << 20  # bytes per read
LONGEST = 1 << 20  # the most bytes of a line
STEP = 1 << 15  # ratings per block when shuffling
KINDS = ("user", "item", "rating")
# Names of the columns in published data sets, in lower case, without spaces and underscores.
USUAL = {
    "user": ("user", "userid", "uid", "reviewerid", "customer", "customerid"),
    "item": ("item", "itemid", "iid", "movie", "movieid", "product", "productid", "book", "bookid", "asin", "isbn"),
    "rating": ("rating", "ratings", "score", "stars", "overall", "value"),
}

Block = tuple[Any, Any, np.ndarray]


def label_of_cell(text: str) -> int | str:
    """Convert a user or an item: an int if the text is its usual notation, else a name.

    >>> label_of_cell("196"), label_of_cell("007"), label_of_cell("ann")
    (196, '007', 'ann')
    """
    digits = text[1:] if text[:1] == "-" else text
    plain = digits.isascii() and digits.isdecimal() and len(digits) < 19 and (digits[0] != "0" or text == "0")
    return int(text) if plain else text


class LabelCells(dict[bytes, Any]):
    """A cache of the labels of cells."""

    def __missing__(self, cell: bytes) -> Any:
        text = cell.decode().strip()
        if not text:
            raise ValueError("nothing")
        label = self[cell] = label_of_cell(text)
        return label


class Ratings:
    """Blocks (users, items, ratings) from files. Iterating again reads the files again.

    Formats are CSV, TSV, and MovieLens files with tabs or `::` between the columns. The files may be compressed by
    gzip, zstd, bzip2 or xz. The path - is standard input.
    """

    def __init__(
        self,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        columns: Sequence[str] | None = None,
        header: bool | None = None,
        low: float = -np.inf,
        high: float = np.inf,
        skip_bad: bool = False,
        limit: int | None = None,
        passes: int = 1,
        shuffle: int | None = None,
    ) -> None:
        """
        columns : the columns of the user, the item and the rating, by name or by number from 1. By default the columns
            with usual names, or the first three.
        header : whether the first line names the columns. By default it does if its rating is not a number.
        low, high : the range of ratings; a rating outside is an error.
        skip_bad : skip lines that cannot be read, and count them in `skipped_count`.
        limit : stop after N ratings.
        passes : number of passes.
        shuffle : random order with this seed, a new order in each pass. The ratings are stored on disk.
        """
        given = [paths] if isinstance(paths, str | os.PathLike) else [*paths]
        if columns is not None and len(columns) != 3:
            raise ParameterError(f"columns={columns!r}: must be three columns: of the user, the item and the rating")
        self.files = [one for path in given for one in expanded(path)]
        self.name = "standard input" if self.files == ["-"] else ", ".join(map(str, given))
        self.columns, self.header, self.low, self.high = columns, header, low, high
        self.skip_bad, self.limit, self.passes, self.shuffle = skip_bad, limit, passes, shuffle
        self.raw: io.FileIO | None = None
        self.waits = self.keeping = False  # waiting for a pipe; storing ratings before they can be shuffled
        self.reset()

    def reset(self) -> None:
        self.before = self.size = self.skipped_count = 0
        self.skipped: list[str] = []

    @property
    def waiting(self) -> bool:
        """Whether the reader is waiting for a pipe or storing ratings, so that an interrupt loses nothing."""
        return self.waits or self.keeping

    def share_read(self) -> float | None:
        """The fraction of the files that has been read; None if it is unknown."""
        try:
            whole = sum(Path(path).stat().st_size for path in self.files if path != "-")
        except OSError:
            return None
        if not whole or self.raw is None or self.passes > 1 or self.shuffle is not None:
            return None
        here = self.size if self.raw.closed else min(self.size, self.raw.tell())
        return min(1.0, (self.before + here) / whole)

    def __iter__(self) -> Iterator[Block]:
        if self.shuffle is not None:
            yield from self.shuffled(np.random.default_rng(self.shuffle))
            return
        if self.passes > 1 and any(path == "-" or not Path(path).is_file() for path in self.files):
            raise DataError(f"{self.name} can be read only once, not in {self.passes} passes; save it to a file first")
        for _ in range(self.passes):
            yield from self.read()

    def shuffled(self, rng: np.random.Generator) -> Iterator[Block]:
        numbers: tuple[dict[Any, int], dict[Any, int]] = ({}, {})
        kind = np.dtype([("user", np.int32), ("item", np.int32), ("rating", np.float64)])
        file, count = File(), 0
        try:
            self.keeping = True
            for *sides, told in self.read():
                rows = np.empty(len(told), kind)
                for name, known, labels in zip(("user", "item"), numbers, sides, strict=True):
                    rows[name] = [known.setdefault(label, len(known)) for label in labels]
                rows["rating"] = told
                count += len(rows)
                with writing():
                    file.write(rows)
            with writing():
                file.flush()
            self.keeping = False
            users, items = (label_array([*known]) for known in numbers)
            kept = np.memmap(file.file, dtype=kind, mode="r") if count else np.empty(0, kind)
            for _ in range(self.passes):
                order = rng.permutation(count)
                for begin in range(0, count, STEP):
                    rows = kept[order[begin : begin + STEP]]
                    yield users[rows["user"]], items[rows["item"]], np.array(rows["rating"])
        finally:
            self.keeping = False
            file.close()

    def read(self) -> Iterator[Block]:
        """One pass in the order of the files."""
        self.reset()
        left = self.limit
        for path in self.files:
            for users, items, told in self.file(path):
                if left is not None and len(told) >= left:
                    yield users[:left], items[:left], told[:left]
                    return
                left = None if left is None else left - len(told)
                if len(told):
                    yield users, items, told
            self.before += self.size

    def file(self, path: str) -> Iterator[Block]:
        name = "standard input" if path == "-" else path
        with opened(path, name, sets=False) as file:
            self.raw, self.size = file, os.fstat(file.fileno()).st_size
            data: Any = file
            head = look(file)
            if packed := packing(head):
                data = Unpacked(file, packed, name, head)
                head = look(data)
            if not head:
                return
            parse = Parser(name, head, self)
            for chunk in RatingLines(data, name, head, self):
                yield parse(chunk)


class RatingLines:
    """Whole lines of a file in chunks, beginning with the head, which has been read already."""

    def __init__(self, file: Any, name: str, head: bytes, owner: Ratings) -> None:
        self.file, self.name, self.head, self.owner = file, name, head, owner
        self.pipe = isinstance(file, io.FileIO) and not file.seekable()

    def __iter__(self) -> Iterator[list[bytes]]:
        rest, more = b"", self.head.removeprefix(b"\xef\xbb\xbf")
        while more:
            end = more.rfind(b"\n") + 1
            if end:
                yield (rest + more[:end]).splitlines()
                rest = more[end:]
            else:
                rest += more
            if len(rest) > LONGEST:
                raise DataError(f"{self.name}: a line of more than {LONGEST >> 10} kB; ratings need one line each")
            try:
                self.owner.waits = self.pipe
                more = self.file.read(CHUNK)
            finally:
                self.owner.waits = False
        if rest:
            yield rest.splitlines()


class Parser:
    """Converts the lines of one file to blocks."""

    def __init__(self, name: str, head: bytes, owner: Ratings) -> None:
        self.name, self.owner, self.line = name, owner, 0
        first = formats.first_line(head)
        self.delimiter = "::" if "::" in first else formats.delimiter(formats.by_name(name) or "csv", head)
        self.mark = self.delimiter.encode()
        self.labels = LabelCells(), LabelCells()
        cells = self.cells(first, 1)
        self.places, self.header = self.find(cells)

    def cells(self, line: str, number: int) -> list[str]:
        if '"' not in line or len(self.delimiter) > 1:
            return line.split(self.delimiter)
        try:
            return next(csv.reader([line], delimiter=self.delimiter))
        except csv.Error as error:
            raise ParseError(self.name, number, 1, f"expected cells: {error}") from None

    def find(self, cells: list[str]) -> tuple[list[int], bool]:
        """The positions of the user, the item and the rating, and whether the first line is a header."""
        owner = self.owner
        plain = [cell.strip().lower().replace("_", "").replace(" ", "") for cell in cells]
        header = owner.header
        if owner.columns is not None:
            places = [self.place(wanted, cells) for wanted in owner.columns]
        else:
            named = [next((plain.index(name) for name in USUAL[kind] if name in plain), None) for kind in KINDS]
            there = None not in named and header is not False
            places = [place for place in named if place is not None] if there else [0, 1, 2]
            header = True if there else header
        if max(places) >= len(cells):
            found = ", ".join(map(shown, cells[:20]))
            raise ParseError(self.name, 1, 1, f"expected a user, an item and a rating in each line, found {found}")
        return places, not is_number(cells[places[2]]) if header is None else header

    def place(self, wanted: str, cells: list[str]) -> int:
        names = [cell.strip() for cell in cells]
        named = self.owner.header or (self.owner.header is None and not wanted.isdecimal())
        if named and wanted in names:
            return names.index(wanted)
        if wanted.isdecimal() and 1 <= int(wanted) <= len(cells):
            return int(wanted) - 1
        raise DataError(f"{self.name}: no column {wanted!r}; there are {', '.join(map(shown, names[:20]))}")

    def __call__(self, lines: list[bytes]) -> Block:
        first = self.line
        self.line += len(lines)
        if self.header:
            while lines and self.header:  # blank lines and comments may precede the header
                self.header = not lines[0].strip() or lines[0].startswith(b"#")
                lines, first = lines[1:], first + 1
        try:
            return self.quickly(lines)
        except (ValueError, IndexError):
            return self.carefully(lines, first)

    def quickly(self, lines: list[bytes]) -> Block:
        """Convert lines at full speed. Raises ValueError or IndexError if a line is unusual or bad."""
        user, item, rating = self.places
        users, items = self.labels
        rows = [line.split(self.mark) for line in lines]
        if any(b'"' in line for line in lines):
            raise ValueError
        told = np.array([float(row[rating]) for row in rows])
        if not ((told >= self.owner.low) & (told <= self.owner.high)).all():
            raise ValueError
        return [users[row[user]] for row in rows], [items[row[item]] for row in rows], told

    def carefully(self, lines: list[bytes], first: int) -> Block:
        """Convert lines one by one. Bad lines raise an error or are skipped."""
        users, items, told = [], [], []
        for number, line in enumerate(lines, first + 1):
            if not line.strip() or line.startswith(b"#"):
                continue
            try:
                user, item, rating = self.one(line, number)
            except ParseError as error:
                if not self.owner.skip_bad:
                    raise
                if len(self.owner.skipped) < 10:
                    self.owner.skipped.append(str(error))
                self.owner.skipped_count += 1
                continue
            users.append(user)
            items.append(item)
            told.append(rating)
        return users, items, np.array(told)

    def one(self, line: bytes, number: int) -> tuple[Any, Any, float]:
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise ParseError(self.name, number, error.start + 1, "expected UTF-8 text") from None
        cells = self.cells(text, number)
        found = []
        for kind, place in zip(KINDS, self.places, strict=True):
            cell = cells[place].strip() if place < len(cells) else ""
            column = len(self.delimiter.join(cells[:place]).encode()) + 1 + (len(self.mark) if place else 0)
            if not cell:
                raise ParseError(self.name, number, min(column, len(line) + 1), f"expected the {kind}, found nothing")
            found.append((cell, column))
        (user, _), (item, _), (rating, column) = found
        value = float(rating) if is_number(rating) else np.nan
        if not self.owner.low <= value <= self.owner.high:
            between = f" from {self.owner.low:g} to {self.owner.high:g}" if np.isfinite(self.owner.low) else ""
            hint = "; set the range by low and high" if np.isfinite(value) else ""
            raise ParseError(self.name, number, column, f"expected a rating{between}, found {shown(rating)}{hint}")
        return label_of_cell(user), label_of_cell(item), value


def is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def label_array(labels: list[Any]) -> np.ndarray:
    """Labels as an array that can be indexed."""
    if all(type(label) is int for label in labels):
        return np.array(labels, dtype=np.int64)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def titles(path: str | os.PathLike[str]) -> dict[Any, str]:
    """The titles of items from the first two columns of a file, such as `u.item` or `movies.csv` of MovieLens."""
    with opened(str(path), str(path), sets=False) as file:
        data = file.readall()
    if packed := packing(data):
        data = Unpacked(io.BytesIO(data), packed, str(path)).readall()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    first = formats.first_line(data[: formats.HEAD])
    mark = "::" if "::" in first else formats.delimiter(formats.by_name(str(path)) or "csv", data[: formats.HEAD])
    lines = text.splitlines()
    rows = csv.reader(lines, delimiter=mark) if len(mark) == 1 else (line.split(mark) for line in lines)
    try:
        return {label_of_cell(row[0].strip()): row[1].strip() for row in rows if len(row) >= 2}
    except csv.Error as error:
        raise DataError(f"{path}: expected a table of items and titles: {error}") from None
