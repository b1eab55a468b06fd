"""Writes what is known of the catalogue without importing it: src/seriatim/__init__.pyi, for editors and type checkers,
and src/seriatim/catalogue_index.py, by which one algorithm is imported without the others.

`make stubs` after adding an algorithm; a test fails while a file is out of date.
"""

import sys
from pathlib import Path

from seriatim import catalogue
from seriatim.estimator.model import Model, signature_of
from seriatim.kernel.kernels import Width
from seriatim.parameters import Choice, FeatureChoice, Flag, Labels, Number, Parameter

FOLDER = Path(__file__).parent.parent / "src" / "seriatim"

HEAD = """\
# Written by `make stubs`.
from collections.abc import Sequence
from typing import Any, Literal

from seriatim import catalogue as catalogue
from seriatim import data as data
from seriatim import errors as errors
from seriatim import evaluate as evaluate
from seriatim import portfolio as portfolio
"""


def kind(parameter: Parameter) -> str:
    """The type of a parameter."""
    match parameter:
        case Width():
            return 'float | Literal["median"]'
        case Number(integer=whole, optional=optional):
            return ("int" if whole else "float") + (" | None" if optional else "")
        case Choice(options=options, optional=optional):
            return f"Literal[{', '.join(map(repr, options))}]".replace("'", '"') + (" | None" if optional else "")
        case Flag():
            return "bool"
        case FeatureChoice():
            return "Features | dict[str, Any] | None"
        case Labels():
            return "Sequence[Any] | None"
    return "Any"


def wrapped(line: str) -> str:
    """A long argument, divided into lines like ruff does."""
    if len(line) <= 120:
        return line
    return line.replace("[", "[\n            ", 1).replace("]", "\n        ]", 1)


def is_typed(cls: type) -> bool:
    """Whether type checkers can read the source of a class."""
    return str(sys.modules[cls.__module__].__file__).endswith(".py")


def bases_of(cls: type) -> list[type]:
    """The nearest base classes whose source type checkers can read."""
    found: list[type] = []
    for base in cls.__mro__[1:]:
        ours = base.__module__.startswith("seriatim.") and is_typed(base)
        if ours and not any(issubclass(known, base) for known in found):
            found.append(base)
    return found


def own(cls: type) -> list[str]:
    """The attributes that a compiled class adds to its typed bases."""
    bases = cls.__mro__[: cls.__mro__.index(Model) + 1]
    compiled = [base for base in bases if not is_typed(base)]
    typed = {name for base in bases if base not in compiled for name in {**vars(base), **base.__annotations__}}
    lines: list[str] = []
    for name, value in sorted({name: v for base in reversed(compiled) for name, v in vars(base).items()}.items()):
        if not name.startswith("_") and name not in typed and isinstance(value, property):
            lines += ["    @property", f"    def {name}(self) -> Any: ..."]
        elif not name.startswith("_") and name not in typed and callable(value):
            lines.append(f"    def {name}(self, *args: Any, **options: Any) -> Any: ...")
    return lines


def ours() -> dict[str, type[Model]]:
    """The algorithms of the package, without those that tests define."""
    return {name: cls for name, cls in catalogue.algorithms().items() if cls.__module__.startswith("seriatim.")}


def index() -> str:
    """The text of the module that says which module defines each class."""
    lines = (f'    "{name}": "{cls.__module__.removeprefix("seriatim.")}",\n' for name, cls in ours().items())
    about = "The module of each algorithm. Written by `make stubs`; all modules are imported for any other name."
    return f'"""{about}"""\n\nMODULES = {{\n{"".join(lines)}}}\n'


def stub() -> str:
    """The text of the stub file."""
    parts: list[str] = []
    names = {
        "catalogue": {"algorithms as algorithms"},
        "features": {"Features as Features"},
        "modelfile": {"load as load"},
    }
    imports = {f"seriatim.{module}": used for module, used in names.items()}
    for name, cls in ours().items():
        lines = [f"    {n}: {kind(p)}" for n, p in cls.parameters.items()]
        lines += ["    def __init__(", "        self,"]
        for argument in [*signature_of(cls.parameters).parameters.values()][1:]:
            if argument.kind is argument.KEYWORD_ONLY and "        *," not in lines:
                lines.append("        *,")
            usual = "" if argument.default is argument.empty else " = ..."
            lines.append(wrapped(f"        {argument.name}: {kind(cls.parameters[argument.name])}{usual},"))
        lines += ["    ) -> None: ...", *own(cls)]
        bases = bases_of(cls)
        for base in bases:
            imports.setdefault(base.__module__, set()).add(base.__name__)
        parts.append(f"\nclass {name}({', '.join(base.__name__ for base in bases)}):\n" + "\n".join(lines) + "\n")
    used = [f"from {module} import {', '.join(sorted(names))}\n" for module, names in sorted(imports.items())]
    return "".join([HEAD, *used, "\n__version__: str\n", *parts])


FILES = {"__init__.pyi": stub, "catalogue_index.py": index}

if __name__ == "__main__":
    for name, text in FILES.items():
        (FOLDER / name).write_text(text())
