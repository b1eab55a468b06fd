"""The results of a comparison for people: an HTML page, a table for the terminal, and figures.

All functions take the dict that `Comparison.as_dict()` returns.
"""

import importlib
from typing import Any

# Imported at once, unlike the others: the module `html` would otherwise hide the function `html`.
from seriatim.report.html import html, write

__all__ = ["figure", "html", "save_figures", "table", "write"]

_places = {"table": "tables", "figure": "figures", "save_figures": "figures"}


def __getattr__(name: str) -> Any:
    if name in _places:
        return getattr(importlib.import_module(f"seriatim.report.{_places[name]}"), name)
    raise AttributeError(f"module 'seriatim.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
