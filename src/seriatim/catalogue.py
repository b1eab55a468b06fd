"""All algorithms by name. The command line, the docs, the contract tests and the benchmark use this list."""

from __future__ import annotations

import importlib
import pkgutil
import re
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from seriatim.catalogue_index import MODULES
from seriatim.errors import ParameterError

if TYPE_CHECKING:
    from seriatim.estimator import Estimator
    from seriatim.estimator.model import Model

FAMILIES = (
    "linear",
    "sparse",
    "imbalance",
    "transfer",
    "kernel",
    "decomposition",
    "topics",
    "recommend",
    "experts",
    "portfolio",
    "retrieval",
    "novelty",
)

# The commands for algorithms that do not learn from rows.
COMMANDS = {"recommendation": "; see `seriatim recommend`", "portfolio selection": "; see `seriatim portfolio`"}

_registered: dict[str, type[Model]] = {}


def register(cls: type[Model]) -> None:
    """Add a class that builds a learner. Users' own classes are added, too."""
    _registered[cls.__name__] = cls


@cache
def _import_families() -> None:
    for family in FAMILIES:
        package = importlib.import_module(f"seriatim.{family}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"seriatim.{family}.{module.name}")


def algorithms() -> dict[str, type[Model]]:
    """All algorithms by class name, ordered by family and name."""
    _import_families()
    return dict(sorted(_registered.items(), key=lambda item: (item[1].family, item[0].lower())))


def named(name: str) -> type[Model] | None:
    """The algorithm with this class name, or None."""
    return imported(name) if name in MODULES else algorithms().get(name)


def imported(name: str) -> type[Model]:
    """An algorithm of this package. Imports only its module."""
    return getattr(importlib.import_module(f"seriatim.{MODULES[name]}"), name)


def command_name(cls: type[Model]) -> str:
    """The algorithm's name on the command line.

    >>> from seriatim import SoftSVM
    >>> command_name(SoftSVM)
    'soft-svm'
    """
    return "-".join(re.findall(r"[A-Z]+(?![a-z])\d*|[A-Z][a-z]+\d*", cls.__name__)).lower()


def find(name: str) -> type[Model]:
    """The algorithm that a user names: `AROW`, `arow`, `soft-svm`, `SoftSVM`."""
    if (ours := plain_names().get(normalised_name(name))) is not None:
        return imported(ours)
    known = {normalised_name(cls.__name__): cls for cls in algorithms().values()}
    if normalised_name(name) in known:
        return known[normalised_name(name)]
    close = get_close_matches(normalised_name(name), known, n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(command_name(known[c]) for c in close)}?" if close else ""
    raise ParameterError(f"no algorithm is called {name!r}{hint} (`seriatim algorithms` lists them)")


@cache
def plain_names() -> dict[str, str]:
    """The class names of this package by their normalised names."""
    return {normalised_name(name): name for name in MODULES}


def find_estimator(name: str) -> type[Estimator]:
    """The algorithm that a user names; raises ParameterError if it does not learn from rows."""
    return expect_estimator(find(name))


def expect_estimator(cls: type[Model]) -> Any:
    """The class itself; raises ParameterError if it does not learn from rows."""
    if not hasattr(cls, "learn_rows"):
        command = COMMANDS.get(cls.task, "")
        raise ParameterError(f"{command_name(cls)} is for {cls.task} and does not learn from rows{command}")
    return cls


def normalised_name(name: str) -> str:
    return name.replace("-", "").replace("_", "").replace(" ", "").lower()
