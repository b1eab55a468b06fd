"""The table of a comparison for the terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD, Box
from rich.table import Table
from rich.text import Text

from seriatim.core.text import printable
from seriatim.report import words

PLAIN_HEAD = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
GAP = 2  # spaces between columns
# The parts to leave out of a narrow table. The first of these sets with which the table fits is used.
CUTS: tuple[set[str], ...] = (
    set(),
    {"deviations"},
    {"parameters"},
    {"deviations", "parameters"},
    {"deviations", "parameters", "work"},
    {"parameters", "work", "time"},
    {"parameters", "work", "time", "deviation of the measure"},
)


def table(result: Mapping[str, Any], *, width: int | None = None, ascii: bool | None = None) -> Table:
    """The algorithms, best first, with mean and deviation of the measure, the updates and the time.

    `≈` marks algorithms that do not differ significantly from the best one, which is bold. `width` and `ascii` (only
    ASCII characters) default to those of the terminal. A narrow table leaves out the least important columns.

    >>> from rich.console import Console
    >>> figures = {"mistake rate": [0.1, 0.01], "updates": [412.0, 7.0], "seconds": [0.0084, 0.0003]}
    >>> entry = {"label": "pa", "parameters": {"C": 0.5}, "runs": 20, "figures": figures, "best": True}
    >>> result = {"title": "mine", "setting": {}, "measure": "mistake rate", "algorithms": [entry]}
    >>> Console(width=80).print(table(result, width=80, ascii=True))
    <BLANKLINE>
     algorithm             mistake rate   updates             time
     -------------------------------------------------------------
     pa         C=0.5  0.1000 +- 0.0100  412 +- 7  8.40 +- 0.30 ms
    <BLANKLINE>
    """
    result = words.checked(result)
    width = shutil.get_terminal_size().columns if width is None else width
    plain = not_unicode() if ascii is None else ascii
    columns = fitting(result, width)
    if plain:
        columns = {name: [ascii_text(text) for text in texts] for name, texts in columns.items()}
    return laid_out(result, columns, plain)


def not_unicode() -> bool:
    return not (getattr(sys.stdout, "encoding", None) or "ascii").lower().startswith("utf")


def ascii_text(text: str) -> str:
    """
    >>> ascii_text("0.1 ± 0.2 µs ≈")
    '0.1 +- 0.2 us ~'
    """
    for sign, plain in (("±", "+-"), ("≈", "~"), ("µ", "u"), (words.NOTHING, "-")):
        text = text.replace(sign, plain)
    return text.encode("ascii", "replace").decode()


def fitting(result: Mapping[str, Any], width: int) -> dict[str, list[str]]:
    """The columns that fit into this width."""
    columns: dict[str, list[str]] = {}
    for cuts in CUTS:
        columns = columns_without(result, cuts)
        # "±" is two characters in plain ASCII.
        needed = [max(len(text) + text.count("±") for text in (name, *texts)) for name, texts in columns.items()]
        if sum(needed) + GAP * (len(needed) - 1) + 2 <= width:
            break
    return columns


def columns_without(result: Mapping[str, Any], cuts: set[str]) -> dict[str, list[str]]:
    entries, measure = result["algorithms"], result["measure"]
    columns = {
        "algorithm": [f"{entry['label']} ≈" if words.is_alike(entry) else str(entry["label"]) for entry in entries]
    }
    parameters = [words.parameter_text(words.changed(entry)) for entry in entries]
    if any(parameters) and "parameters" not in cuts:
        columns[""] = parameters
    columns[measure] = figures(entries, measure, "deviation of the measure" not in cuts)
    work = [name for name in ("updates", "support vectors") if name in words.columns(result) and "work" not in cuts]
    costs = work + (["seconds"] if "seconds" in words.columns(result) and "time" not in cuts else [])
    for name in costs:
        columns["time" if name == "seconds" else name] = figures(entries, name, "deviations" not in cuts)
    return columns


def figures(entries: list[Mapping[str, Any]], name: str, deviations: bool) -> list[str]:
    """Format a column of figures so that right-aligned texts have aligned means."""
    texts = words.column(name, [words.figure_of(entry, name) for entry in entries])
    made = []
    for (mean, deviation, unit), around in zip(texts, words.filled([text[1] for text in texts]), strict=True):
        spread = f" {'±' if deviation else ' '} {around}" if around and deviations else ""
        made.append(f"{mean}{spread}{f' {unit}' if unit else ''}")
    return made


def laid_out(result: Mapping[str, Any], columns: dict[str, list[str]], plain: bool) -> Table:
    alike = bool(words.alike(result))
    made = Table(
        box=PLAIN_HEAD if plain else SIMPLE_HEAD,
        padding=(0, GAP - 1, 0, 0),
        pad_edge=False,
        header_style="dim",
        caption=f"{'~' if plain else '≈'} no significant difference from the best" if alike else None,
        caption_justify="left",
    )
    for name in columns:
        text = name in ("algorithm", "")
        made.add_column(Text(printable(name)), justify="left" if text else "right", no_wrap=not text, overflow="fold")
    for entry, *line in zip(result["algorithms"], *columns.values(), strict=True):
        made.add_row(*(Text(printable(text)) for text in line), style="bold" if entry.get("best") else None)
    return made
