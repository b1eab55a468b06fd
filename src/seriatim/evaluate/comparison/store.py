"""A store of runs: a file with one line of JSON per run, from which an interrupted comparison resumes."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from seriatim.errors import DataError

OPENING = b'{"key":"'  # every line begins so; it identifies a line that was cut short
Number = float | None  # JSON has no infinity


class Shape(msgspec.Struct):
    """The required fields of a line; there may be more."""

    key: str
    data: str
    algorithm: str
    parameters: dict[str, Any]
    label: str
    order: int | None
    seed: int | None
    version: str
    examples: int
    updates: int
    seconds: float
    mistakes: int | None
    mistake_rate: Number
    mean_loss: Number
    curve: dict[str, list[Number]]


class RunStore:
    """The runs of a file, to read and to append to.

    A run is appended by one write. If the process is killed during it, the next reader skips the incomplete line and
    the next writer cuts it off. Several processes may append at the same time.

    >>> import tempfile
    >>> run = {"key": "1f", "data": "d", "algorithm": "pa", "parameters": {}, "label": "pa", "order": 0, "seed": 0,
    ...        "version": "0.1.0", "examples": 1, "updates": 1, "seconds": 0.5, "mistakes": 1, "mistake_rate": 1.0,
    ...        "mean_loss": 1.0, "curve": {}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     RunStore(f"{folder}/runs.jsonl").append(run)
    ...     [*RunStore(f"{folder}/runs.jsonl").read()] == ["1f"]
    True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.turn = threading.Lock()
        self.encoder = msgspec.json.Encoder()

    def read(self) -> dict[str, dict[str, Any]]:
        """The runs by their keys. A line that is not a run is an error. The file stays unchanged."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from None
        *lines, torn = text.split(b"\n")
        runs = {}
        for number, line in enumerate(lines, 1):
            run = self.parsed(line, number)
            runs[run["key"]] = run
        self.expect_ours(torn, len(lines) + 1)
        return runs

    def parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            run = msgspec.json.decode(line)
            msgspec.convert(run, Shape)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.foreign(number, str(error)) from None
        return run

    def foreign(self, number: int, problem: str) -> DataError:
        return DataError(
            f"{self.path}: line {number}: not a run of a comparison ({problem}); take another file, or mend it"
        )

    def expect_ours(self, torn: bytes, number: int) -> None:
        """Check that the last line is empty or the beginning of a run."""
        if torn and not torn.startswith(OPENING) and not OPENING.startswith(torn):
            raise self.foreign(number, "it does not end, and does not begin like one")

    def append(self, *runs: dict[str, Any]) -> None:
        """Append runs by one write, all or none."""
        lines = b"".join(self.encoder.encode(run) + b"\n" for run in runs)
        assert all(next(iter(run)) == "key" for run in runs), "a run begins with its key"
        with self.turn, self.opened() as file:
            end = self.whole_lines(file)
            try:
                written = os.write(file, lines)
            except OSError as error:
                raise DataError(f"{self.path}: {error.strerror}") from None
            if written < len(lines):
                os.ftruncate(file, end)
                raise DataError(f"{self.path}: no space for {len(lines):,} more bytes")

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Open the file and lock it for this writer; the system releases the lock when the process ends."""
        try:
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    def whole_lines(self, file: int) -> int:
        """The length of the file without an incomplete last line, which is cut off."""
        end = os.fstat(file).st_size
        if not end or os.pread(file, 1, end - 1) == b"\n":
            return end
        text = os.pread(file, end, 0)
        begin = text.rfind(b"\n") + 1
        self.expect_ours(text[begin:], text.count(b"\n") + 1)
        os.ftruncate(file, begin)
        return begin
