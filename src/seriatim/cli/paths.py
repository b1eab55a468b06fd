"""The files that a command reads and writes: all are known, and none is both, before the first is opened."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from seriatim.errors import ModelError
from seriatim.files import expect_folder, expect_writable, identity

CHOOSE = "would be overwritten; choose another name"


class Paths:
    """The files of one command. Each option and argument that names a file says so here, in any order."""

    def __init__(self) -> None:
        self.inputs: dict[tuple[object, ...], bool] = {}  # whether an output may replace it
        self.outputs: dict[tuple[object, ...], str] = {}
        # What is printed may be added to a file that is read, by `>> FILE`. As an output it may share a file.
        self.printed = identity(1)

    def reads(self, path: str | os.PathLike[str], goes_on: bool = False) -> None:
        """The command reads this file, if it is one. `goes_on`: with this model, so that the new one may replace it."""
        known = identity(0 if path == "-" else path)
        if known is None or not (path == "-" or Path(path).exists()):  # a device, or the name of a bundled set
            return
        if known == self.printed:
            raise click.UsageError(f"standard output goes to {path}, which is an input and {CHOOSE}")
        self.inputs[known] = goes_on and self.inputs.get(known, True)
        self.expect_apart(known, path)

    def writes(self, path: str | os.PathLike[str], option: str = "") -> None:
        """The command writes this file: that must be possible, and nothing else of the command may be there."""
        try:
            expect_writable(path)
        except OSError as error:
            raise click.UsageError(f"{path}: {error.strerror or error}") from None
        known = identity(path)
        if known is None:
            return
        if known in self.outputs:
            ways = f", by {self.outputs[known]} and {option}" if option else ""
            raise click.UsageError(f"{path} would be written twice{ways}; choose another name")
        self.outputs[known] = option
        self.expect_apart(known, path)

    def writes_in(self, folder: str | os.PathLike[str]) -> None:
        """The command writes files in this folder, which it makes if it is not there."""
        try:
            expect_folder(folder)
        except OSError as error:
            raise click.UsageError(f"{folder}: cannot write files there: {error.strerror or error}") from None

    def expect_apart(self, known: tuple[object, ...], path: str | os.PathLike[str]) -> None:
        """No output is an input."""
        if known in self.outputs and not self.inputs.get(known, True):
            raise click.UsageError(f"{path} is an input and {CHOOSE}")


def paths() -> Paths:
    """The files of the command that is being run."""
    return click.get_current_context().meta.setdefault("seriatim.paths", Paths())


class Reads(click.Path):
    """A file to be read. `goes_on`: it is a model that learns on, and may be saved under its old name."""

    def __init__(self, *, goes_on: bool = False, **options: Any) -> None:
        super().__init__(dir_okay=False, **options)
        self.goes_on = goes_on

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = os.fsdecode(super().convert(value, param, ctx))
        paths().reads(path, self.goes_on)
        return path


class Data(click.ParamType):
    """Data to be read: a file, a pattern, - for standard input, or the name of a set that no file has."""

    name = "data"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from seriatim.data.source import expanded

        for path in expanded(value):
            paths().reads(path)
        return value


class Writes(click.ParamType):
    """A file to be written. `dash`: or standard output."""

    name = "file"

    def __init__(self, *, dash: bool = False) -> None:
        self.dash = dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if self.dash and value == "-":
            expect_printing()
        else:
            named = param.opts[-1] if isinstance(param, click.Option) else "the last argument"
            paths().writes(value, named)
        return value


def expect_printing() -> None:
    """What a command is asked for goes to standard output."""
    if sys.stdout is None:
        raise click.UsageError("standard output is closed; give -o FILE")


def reads_named_in(texts: Iterable[str]) -> None:
    """The files that parameters name, as in `-p source=FILE` and `-a NAME:source=FILE,...`."""
    for text in texts:
        for value in re.findall("=([^,]*)", text):
            if Path(value).is_file():
                paths().reads(value)


def save_model(model: Any, path: str) -> None:
    """Save a model. If there is no room, or nobody takes it, it is saved elsewhere before the error is told."""
    try:
        model.save(path)
    except (OSError, ModelError) as error:
        for folder in (tempfile.gettempdir(), "."):
            if other := saved_in(folder, model, Path(path).name):
                problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                raise ModelError(f"{path}: {problem}; the model was saved as {other}") from None
        raise


def saved_in(folder: str, model: Any, name: str) -> Path | None:
    """The path of a model that was saved under a new name in a folder; None if that failed, too."""
    try:
        handle, path = tempfile.mkstemp(prefix=f"{name[:100]}-", suffix=".model", dir=folder)
        os.close(handle)
    except OSError:
        return None
    try:
        model.save(path)
    except (OSError, ModelError):
        Path(path).unlink()
        return None
    return Path(path)
