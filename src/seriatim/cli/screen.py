"""What commands print: each line is one line, and nothing in it is obeyed by the terminal."""

from __future__ import annotations

import sys
from typing import Any

import click

from seriatim.core.text import SIGNS, printable


def say(*lines: str, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Print lines; names, labels and file names in them may be anything."""
    stream = sys.stderr if err else sys.stdout  # click would take its own, in UTF-8, for one in ASCII
    plain = not is_unicode(stream)
    for line in lines or ("",):
        text = printable(line)
        for sign, other in SIGNS.items() if plain else ():
            text = text.replace(sign, other)
        click.echo(click.style(text, **style) if style else text, file=stream, nl=nl)


def is_unicode(stream: Any) -> bool:
    return (getattr(stream, "encoding", None) or "ascii").lower().startswith("utf")


def print_anything() -> None:
    """Let standard output and error print, in escapes, what their encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def show_table(table: Any, width: int | None = None) -> None:
    """Print a table of rich; what looks like its markup is text."""
    console(width).print(table)


def console(width: int | None = None, err: bool = False) -> Any:
    """A console of rich of this width, or that of the terminal."""
    from rich.console import Console

    return Console(width=width, stderr=err, markup=False, emoji=False, highlight=False)
