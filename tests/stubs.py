"""Writes src/seriatim/__init__.pyi from the catalogue, so that editors and type checkers know what is loaded lazily.

`make stubs` after adding an algorithm; a test fails while the file is out of date.
"""

from pathlib import Path

from seriatim import catalogue
from seriatim.parameters import REQUIRED, Choice, FeatureChoice, Flag, Labels, Number, Parameter
from seriatim.sparse.selector import Selector
from seriatim.sparse.tasks import MultiTask

FILE = Path(__file__).parent.parent / "src" / "seriatim" / "__init__.pyi"

HEAD = """\
# Written by `make stubs`.
from collections.abc import Sequence
from typing import Any, Literal

from seriatim import catalogue as catalogue
from seriatim import data as data
from seriatim import errors as errors
from seriatim import evaluate as evaluate
from seriatim.catalogue import algorithms as algorithms
from seriatim.estimator import Classifier, Detector, Regressor
from seriatim.features import Features as Features
from seriatim.modelfile import load as load
from seriatim.sparse.selector import Selector
from seriatim.sparse.tasks import MultiTask

__version__: str
"""


def kind(parameter: Parameter) -> str:
    """The type of a parameter."""
    match parameter:
        case Number(integer=whole, optional=optional):
            return ("int" if whole else "float") + (" | None" if optional else "")
        case Choice(options=options):
            return f"Literal[{', '.join(map(repr, options))}]".replace("'", '"')
        case Flag():
            return "bool"
        case FeatureChoice():
            return "Features | dict[str, Any] | None"
        case Labels():
            return "Sequence[Any] | None"
    return "Any"


def wrapped(line: str) -> str:
    """A long argument as the formatter breaks it."""
    if len(line) <= 120:
        return line
    return line.replace("[", "[\n            ", 1).replace("]", "\n        ]", 1)


def stub() -> str:
    """The text of the stub file."""
    parts = [HEAD]
    for name, cls in catalogue.algorithms().items():
        if not cls.__module__.startswith("seriatim."):
            continue
        required = {n: p for n, p in cls.parameters.items() if p.default is REQUIRED}
        optional = {n: p for n, p in cls.parameters.items() if p.default is not REQUIRED}
        lines = [f"    {n}: {kind(p)}" for n, p in cls.parameters.items()]
        lines += ["    def __init__(", "        self,", *(f"        {n}: {kind(p)}," for n, p in required.items())]
        lines += ["        *,", *(wrapped(f"        {n}: {kind(p)} = ...,") for n, p in optional.items())]
        lines += ["    ) -> None: ..."]
        base = {"classification": "Classifier", "regression": "Regressor", "novelty": "Detector"}[cls.task]
        base = f"Selector, {base}" if issubclass(cls, Selector) else base
        base = "MultiTask" if issubclass(cls, MultiTask) else base  # whose methods take one argument more
        parts.append(f"\nclass {name}({base}):\n" + "\n".join(lines) + "\n")
    return "".join(parts)


if __name__ == "__main__":
    FILE.write_text(stub())
