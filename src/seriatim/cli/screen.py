"""Printing. Each string stays on one line, and a terminal receives no control characters from data."""

from __future__ import annotations

import sys
from typing import Any

import click

from seriatim.core.text import SIGNS, printable


def say(*lines: str, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Print lines, which may contain any names, labels and file names."""
    stream = sys.stderr if err else sys.stdout  # click would replace an ASCII stream by its own in UTF-8
    plain = not is_unicode(stream)
    for line in lines or ("",):
        text = printable(line)
        for sign, other in SIGNS.items() if plain else ():
            text = text.replace(sign, other)
        click.echo(click.style(text, **style) if style else text, file=stream, nl=nl)


def is_unicode(stream: Any) -> bool:
    return (getattr(stream, "encoding", None) or "ascii").lower().startswith("utf")


def print_anything() -> None:
    """Let standard output and error print characters outside their encoding as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def show_table(table: Any, width: int | None = None) -> None:
    """Print a rich table. Text that looks like markup is printed as it is."""
    console(width).print(table)


def console(width: int | None = None, err: bool = False) -> Any:
    """A rich console of this width (default: the width of the terminal)."""
    from rich.console import Console

    return Console(width=width, stderr=err, markup=False, emoji=False, highlight=False)
