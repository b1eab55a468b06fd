"""Writes src/seriatim/__init__.pyi from the catalogue, so that editors and type checkers know what is loaded lazily.

`make stubs` after adding an algorithm; a test fails while the file is out of date.
"""

import sys
from pathlib import Path

from seriatim import catalogue
from seriatim.estimator import Estimator, signature_of
from seriatim.kernel.estimator import SupportVectors
from seriatim.kernel.kernels import Width
from seriatim.parameters import Choice, FeatureChoice, Flag, Labels, Number, Parameter
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
from seriatim.kernel.estimator import SupportVectors
from seriatim.modelfile import load as load
from seriatim.recommend.estimator import Recommender
from seriatim.sparse.selector import Selector
from seriatim.sparse.tasks import MultiTask

__version__: str
"""


def kind(parameter: Parameter) -> str:
    """The type of a parameter."""
    match parameter:
        case Width():
            return 'float | Literal["median"]'
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


def own(cls: type) -> list[str]:
    """What a compiled class has beyond its bases, which are typed."""
    bases = cls.__mro__[: cls.__mro__.index(Estimator) + 1]
    compiled = [base for base in bases if not str(sys.modules[base.__module__].__file__).endswith(".py")]
    typed = {name for base in bases if base not in compiled for name in {**vars(base), **base.__annotations__}}
    lines: list[str] = []
    for name, value in sorted({name: v for base in reversed(compiled) for name, v in vars(base).items()}.items()):
        if not name.startswith("_") and name not in typed and isinstance(value, property):
            lines += ["    @property", f"    def {name}(self) -> Any: ..."]
        elif not name.startswith("_") and name not in typed and callable(value):
            lines.append(f"    def {name}(self, *args: Any, **options: Any) -> Any: ...")
    return lines


def stub() -> str:
    """The text of the stub file."""
    parts = [HEAD]
    for name, cls in catalogue.algorithms().items():
        if not cls.__module__.startswith("seriatim."):
            continue
        lines = [f"    {n}: {kind(p)}" for n, p in cls.parameters.items()]
        lines += ["    def __init__(", "        self,"]
        for argument in [*signature_of(cls.parameters).parameters.values()][1:]:
            if argument.kind is argument.KEYWORD_ONLY and "        *," not in lines:
                lines.append("        *,")
            usual = "" if argument.default is argument.empty else " = ..."
            lines.append(wrapped(f"        {argument.name}: {kind(cls.parameters[argument.name])}{usual},"))
        lines += ["    ) -> None: ...", *own(cls)]
        base = {
            "classification": "Classifier",
            "regression": "Regressor",
            "novelty": "Detector",
            "recommendation": "Recommender",
        }[cls.task]
        base = f"SupportVectors, {base}" if issubclass(cls, SupportVectors) else base
        base = f"Selector, {base}" if issubclass(cls, Selector) else base
        base = "MultiTask" if issubclass(cls, MultiTask) else base  # whose methods take one argument more
        parts.append(f"\nclass {name}({base}):\n" + "\n".join(lines) + "\n")
    return "".join(parts)


if __name__ == "__main__":
    FILE.write_text(stub())
