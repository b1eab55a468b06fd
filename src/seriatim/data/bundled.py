"""The bundled data sets: small real data that need no network."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "sets"


@dataclass(frozen=True)
class Bundled:
    """A bundled data set. sets/SOURCE.md names its source and licence."""

    name: str
    summary: str
    rows: int
    labels: list[Any]
    feature_names: list[str]

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.svm.gz"


@cache
def datasets() -> dict[str, Bundled]:
    """The bundled data sets by name.

    >>> list(datasets())
    ['digits', 'spam']
    """
    known = json.loads((FOLDER / "sets.json").read_text())
    return {name: Bundled(name, **about) for name, about in sorted(known.items())}


def find(source: str | PathLike[str]) -> Bundled | None:
    """The bundled data set with that name, or None; a file with the name takes precedence."""
    name = str(source)
    return datasets().get(name) if name.isalpha() and not Path(source).is_file() else None
