"""The rows that all comparisons use, generated once and kept in files."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data"
FEATURES = 47_236
PER_ROW = 71.0  # draws; about 68 differ
SEED = 1
DIGITS = 6
HEAD = 100_000
IN_MEMORY = 200_000
NAMED = 300_000
SMALL = 1_000_000  # bytes
CLASSES = 20  # of the file that has more than two
SPACES = (b" |title", b" |body")  # namespaces: of the first half of the features, and of the others
NUMBERS = 20  # columns of the table
CATEGORIES = (10, 100, 1_000, 10_000)  # of each column of the table that has some; the others are numbers
BEGIN = (*"bdfghklmnprstvwz", *(first + second for first in "bcdfgkpt" for second in "lr"))  # of a syllable
END = (*"aeiou", "ai", "ea", "ee", "oo", "ou")


def real(name: str) -> Path:
    """A file of the larger data sets, in the folder that SERIATIM_DATA names. It may be missing."""
    return Path(os.environ.get("SERIATIM_DATA", ""), name)


@dataclass(frozen=True)
class Files:
    """The same rows for everyone."""

    folder: Path = FOLDER

    @property
    def libsvm(self) -> Path:
        return self.folder / "rows.svm"

    @property
    def vw(self) -> Path:
        return self.folder / "rows.vw"

    @property
    def many(self) -> Path:
        """The same rows with the labels 0 to 19."""
        return self.folder / "many.svm"

    @property
    def head(self) -> Path:
        """The first 100,000 rows."""
        return self.folder / "head.svm"

    @property
    def small(self) -> Path:
        """The first megabyte."""
        return self.folder / "small.svm"

    @property
    def packed(self) -> Path:
        """The first 100,000 rows, packed as `gzip` does."""
        return self.folder / "head.svm.gz"

    @property
    def words(self) -> Path:
        """The first 300,000 rows with words for features, in two namespaces."""
        return self.folder / "words.vw"

    @property
    def table(self) -> Path:
        """Dense rows: 20 columns of numbers, and the label."""
        return self.folder / "table.csv"

    @property
    def mixed(self) -> Path:
        """300,000 of them, with categories in the last four columns."""
        return self.folder / "mixed.csv"

    @property
    def arrays(self) -> Path:
        """The first 200,000 rows as the arrays of a CSR matrix."""
        return self.folder / "rows.npz"

    @property
    def stamp(self) -> Path:
        """What the files were made with."""
        return self.folder / "stamp.json"


def prepare(rows: int, say: Callable[[str], None]) -> Files:
    """The files for so many rows, made if they are not there."""
    files = Files()
    wanted: dict[str, Any] = {"rows": rows, "features": FEATURES, "per_row": PER_ROW, "seed": SEED, "digits": DIGITS}
    wanted |= {"head": HEAD, "in_memory": IN_MEMORY, "small": SMALL, "named": NAMED}
    wanted |= {"numbers": NUMBERS, "categories": list(CATEGORIES), "classes": CLASSES}
    if files.stamp.exists() and json.loads(files.stamp.read_text()) == wanted:
        return files
    files.folder.mkdir(exist_ok=True)
    files.stamp.unlink(missing_ok=True)
    generate(files, rows, say)
    pack(files.head, files.packed)
    generate_table(files.table, rows, (), say)
    generate_table(files.mixed, min(rows, NAMED), CATEGORIES, say)
    files.stamp.write_text(json.dumps(wanted))
    return files


def generate(files: Files, rows: int, say: Callable[[str], None]) -> None:
    """Write all files of sparse rows in one pass over the generator."""
    from seriatim.data.generate import synthetic
    from seriatim.data.read import libsvm

    done = 0
    parts: list[tuple[Any, ...]] = []
    open_files = (path.open("wb") for path in (files.libsvm, files.vw, files.many, files.head, files.words))
    with ExitStack() as stack:
        svm, vw, many, head, words = map(stack.enter_context, open_files)
        for X, y in synthetic.text_like(rows, FEATURES, PER_ROW, SEED):
            say(f"generating rows, {done:,} of {rows:,}")
            labels = [b"1" if label > 0 else b"-1" for label in y.tolist()]
            text = libsvm.format_rows(X, labels, digits=DIGITS)
            svm.write(text)
            vw.write(libsvm.format_rows(X, labels, before=b" |", digits=DIGITS))
            many.write(libsvm.format_rows(X, classes(X), digits=DIGITS))
            if done == 0:
                files.small.write_bytes(text[: text.rfind(b"\n", 0, SMALL) + 1])
            if done < HEAD:
                head.write(text)
            if done < NAMED:
                words.write(in_words(X, labels))
            if done < IN_MEMORY:
                parts.append((*X.arrays, y))
            done += len(y)
    save_arrays(files.arrays, parts)


def classes(X: Any) -> list[bytes]:
    """A label for each row: the highest of as many planted sparse vectors."""
    import numpy as np

    start, index, value = X.arrays
    rng = np.random.default_rng(SEED)
    best, labels = np.full(X.n, -np.inf), np.zeros(X.n, int)
    for label in range(CLASSES):
        planted = rng.standard_normal(FEATURES) * (rng.random(FEATURES) < 0.2)
        score = np.add.reduceat(value * planted[index], start[:-1])
        labels[score > best] = label
        best = np.maximum(best, score)
    return [b"%d" % label for label in labels.tolist()]


def save_arrays(path: Path, parts: list[tuple[Any, ...]]) -> None:
    """Save blocks of rows as one CSR matrix, with the 32-bit row pointers that SciPy would give it."""
    import numpy as np

    length = np.concatenate([np.diff(start) for start, _, _, _ in parts])
    start = np.concatenate([[0], np.cumsum(length)]).astype(np.int32)
    index, value, y = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
    np.savez(path, start=start, index=index, value=value, y=y)


def in_words(X: Any, labels: list[bytes]) -> bytes:
    """Rows as Vowpal Wabbit's text, with words for features."""
    import numpy as np

    from seriatim.core.rows import Rows
    from seriatim.data.read import libsvm

    start, index, value = X.arrays
    first = index < FEATURES // 2
    halves = []
    for half, space, label in zip((first, ~first), SPACES, (labels, [b""] * len(labels)), strict=True):
        ends = np.concatenate([[0], np.cumsum(half)])[start]
        rows = Rows.sparse(ends, index[half], value[half], FEATURES)
        text = libsvm.format_rows(rows, label, before=space, digits=DIGITS)
        halves.append(re.sub(rb" (\d+):", lambda found: b" %s:" % word(int(found[1])), text).split(b"\n"))
    return b"\n".join(map(bytes.__add__, *halves))


@cache
def word(number: int) -> bytes:
    """Something that looks like a word, such as bune, another one for each number."""
    number, last = divmod(number, len(BEGIN) * len(END))
    syllable = BEGIN[last % len(BEGIN)] + END[last // len(BEGIN)]
    return (word(number) if number else b"") + syllable.encode()


def pack(path: Path, packed: Path) -> None:
    with path.open("rb") as file, gzip.open(packed, "wb", compresslevel=6) as to:
        shutil.copyfileobj(file, to)


def generate_table(path: Path, rows: int, categories: tuple[int, ...], say: Callable[[str], None]) -> None:
    """Write a table as CSV and, beside it, as Parquet."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv, parquet

    from seriatim.data.generate import synthetic

    rng = np.random.default_rng(SEED)
    names = [*(f"x{i + 1}" for i in range(NUMBERS)), "y"]
    done = 0
    with path.open("wb") as file:
        for X, y in synthetic.dense(rows, NUMBERS, SEED):
            say(f"generating {path.name}, {done:,} of {rows:,} rows")
            columns: list[Any] = [*X.arrays[0].round(DIGITS).T, y]
            for i, n in enumerate(categories):
                some = (n * rng.random(len(y)) ** 3).astype(int)  # the first ones more often
                columns[NUMBERS - len(categories) + i] = np.array([word(k).decode() for k in some.tolist()])
            how = csv.WriteOptions(include_header=not done, quoting_style="none")
            csv.write_csv(pa.table(columns, names), file, how)
            done += len(y)
    parquet.write_table(csv.read_csv(path), path.with_suffix(".parquet"))
