"""What a comparison showed, for people: a page to look at, a table for the terminal, and figures.

All of it is made of the plain dict that `Comparison.as_dict()` gives.
"""

import importlib
from typing import Any

# Not when asked, as the others: the module has the function's name, and must not be found in its place.
from seriatim.report.html import html, write

__all__ = ["figure", "html", "save_figures", "table", "write"]

_places = {"table": "tables", "figure": "figures", "save_figures": "figures"}


def __getattr__(name: str) -> Any:
    if name in _places:
        return getattr(importlib.import_module(f"seriatim.report.{_places[name]}"), name)
    raise AttributeError(f"module 'seriatim.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
