"""The files that a command reads and writes. All are checked before the first is opened: no output is an input."""

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
    """The files of one command. Each option and argument that names a file registers it here, in any order."""

    def __init__(self) -> None:
        self.inputs: dict[tuple[object, ...], bool] = {}  # whether an output may replace it
        self.outputs: dict[tuple[object, ...], str] = {}
        # `>> FILE` may append standard output to an input. Otherwise standard output may share a file with outputs.
        self.printed = identity(1)

    def reads(self, path: str | os.PathLike[str], goes_on: bool = False) -> None:
        """Register an input. `goes_on`: it is a model that continues training, so an output may replace it."""
        known = identity(0 if path == "-" else path)
        if known is None or not (path == "-" or Path(path).exists()):  # a device, or the name of a bundled data set
            return
        if known == self.printed:
            raise click.UsageError(f"standard output goes to {path}, which is an input and {CHOOSE}")
        self.inputs[known] = goes_on and self.inputs.get(known, True)
        self.expect_apart(known, path)

    def writes(self, path: str | os.PathLike[str], option: str = "") -> None:
        """Register an output. It must be writable, and no other file of the command."""
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
        """Register a folder of outputs, which is created if it does not exist."""
        try:
            expect_folder(folder)
        except OSError as error:
            raise click.UsageError(f"{folder}: cannot write files there: {error.strerror or error}") from None

    def expect_apart(self, known: tuple[object, ...], path: str | os.PathLike[str]) -> None:
        """Raise UsageError if this output is also an input."""
        if known in self.outputs and not self.inputs.get(known, True):
            raise click.UsageError(f"{path} is an input and {CHOOSE}")


def paths() -> Paths:
    """The files of the current command."""
    return click.get_current_context().meta.setdefault("seriatim.paths", Paths())


class Reads(click.Path):
    """An input file. `goes_on`: it is a model that continues training, and may be saved under its old name."""

    def __init__(self, *, goes_on: bool = False, **options: Any) -> None:
        super().__init__(dir_okay=False, **options)
        self.goes_on = goes_on

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = os.fsdecode(super().convert(value, param, ctx))
        paths().reads(path, self.goes_on)
        return path


class Data(click.ParamType):
    """Input data: a file, a pattern, - for standard input, or the name of a bundled set if no file has that name."""

    name = "data"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from seriatim.data.read.source import expanded

        for path in expanded(value):
            paths().reads(path)
        return value


class Writes(click.ParamType):
    """An output file. `dash`: - means standard output."""

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
    """Raise UsageError if the command has to print but standard output is closed."""
    if sys.stdout is None:
        raise click.UsageError("standard output is closed; give -o FILE")


def reads_named_in(texts: Iterable[str]) -> None:
    """Register the files that parameters name, as in `-p source=FILE` and `-a NAME:source=FILE,...`."""
    for text in texts:
        for value in re.findall("=([^,]*)", text):
            if Path(value).is_file():
                paths().reads(value)


def save_model(model: Any, path: str) -> None:
    """Save a model. If that fails, save it elsewhere, and raise an error that names the place."""
    try:
        model.save(path)
    except (OSError, ModelError) as error:
        for folder in (tempfile.gettempdir(), "."):
            if other := saved_in(folder, model, Path(path).name):
                problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                raise ModelError(f"{path}: {problem}; the model was saved as {other}") from None
        raise


def saved_in(folder: str, model: Any, name: str) -> Path | None:
    """Save a model under a new name in a folder. Return its path, or None if that failed."""
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
