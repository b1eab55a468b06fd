"""The rows that all comparisons use, generated once and kept in files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data"
FEATURES = 47_236
PER_ROW = 71.0  # draws; about 68 differ
SEED = 1
DIGITS = 6
HEAD = 100_000
IN_MEMORY = 200_000
SMALL = 1_000_000  # bytes


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
    def head(self) -> Path:
        """The first 100,000 rows."""
        return self.folder / "head.svm"

    @property
    def small(self) -> Path:
        """The first megabyte."""
        return self.folder / "small.svm"

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
    wanted = {"rows": rows, "features": FEATURES, "per_row": PER_ROW, "seed": SEED, "digits": DIGITS}
    wanted |= {"head": HEAD, "in_memory": IN_MEMORY, "small": SMALL}
    if files.stamp.exists() and json.loads(files.stamp.read_text()) == wanted:
        return files
    files.folder.mkdir(exist_ok=True)
    files.stamp.unlink(missing_ok=True)
    generate(files, rows, say)
    files.stamp.write_text(json.dumps(wanted))
    return files


def generate(files: Files, rows: int, say: Callable[[str], None]) -> None:
    """Write all files in one pass over the generator."""
    from seriatim.data import generators, libsvm

    done = 0
    parts: list[tuple[Any, ...]] = []
    with files.libsvm.open("wb") as svm, files.vw.open("wb") as vw, files.head.open("wb") as head:
        for X, y in generators.text_like(rows, FEATURES, PER_ROW, SEED):
            say(f"generating rows, {done:,} of {rows:,}")
            labels = [b"1" if label > 0 else b"-1" for label in y.tolist()]
            text = libsvm.format_rows(X, labels, digits=DIGITS)
            svm.write(text)
            vw.write(libsvm.format_rows(X, labels, before=b" |", digits=DIGITS))
            if done == 0:
                files.small.write_bytes(text[: text.rfind(b"\n", 0, SMALL) + 1])
            if done < HEAD:
                head.write(text)
            if done < IN_MEMORY:
                parts.append((*X.arrays, y))
            done += len(y)
    save_arrays(files.arrays, parts)


def save_arrays(path: Path, parts: list[tuple[Any, ...]]) -> None:
    """Save blocks of rows as one CSR matrix, with the 32-bit row pointers that SciPy would give it."""
    import numpy as np

    length = np.concatenate([np.diff(start) for start, _, _, _ in parts])
    start = np.concatenate([[0], np.cumsum(length)]).astype(np.int32)
    index, value, y = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
    np.savez(path, start=start, index=index, value=value, y=y)
