"""Seriatim: models that learn from a stream, one example after another.

>>> from seriatim import PA, evaluate, data
>>> run = evaluate.progressive(PA(), *data.load("digits"))
>>> round(run.mistake_rate, 3)
0.111

The algorithms are listed by `seriatim.algorithms()`; each is a class of this package, imported when first used.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_modules = ("catalogue", "data", "errors", "evaluate", "portfolio")
_functions = {"load": "modelfile", "algorithms": "catalogue", "Features": "features"}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [one for one in __dir__() if one != "__version__"]
    if name in _modules:
        return importlib.import_module(f"seriatim.{name}")
    if name in _functions:
        return getattr(importlib.import_module(f"seriatim.{_functions[name]}"), name)
    if name[:1].isupper():
        from seriatim import catalogue

        found = catalogue.named(name)
        if found is not None:
            return found
    raise AttributeError(f"module 'seriatim' has no attribute {name!r}")


def __dir__() -> list[str]:
    from seriatim import catalogue

    return [*_modules, *_functions, *catalogue.algorithms(), "__version__"]
