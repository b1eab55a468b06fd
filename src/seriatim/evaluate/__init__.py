"""Judging a learner by every prediction it makes on the way."""

import importlib
from typing import Any

from seriatim.evaluate.progressive import Run, progressive

# What is loaded when it is first used, and where it is.
_later = {
    **dict.fromkeys(("ADWIN", "DDM", "KSWIN", "PageHinkley", "Change", "changes", "Restart", "Blend"), "drift"),
    **dict.fromkeys(("Comparison",), "comparison.result"),
    **dict.fromkeys(("compare",), "comparison.compare"),
    **dict.fromkeys(("Regret", "regret", "expert_regret"), "regret_bounds.regret"),
    **dict.fromkeys(("Best", "comparator"), "regret_bounds.best_fixed"),
    **dict.fromkeys(("Bound", "bounds"), "regret_bounds.bounds"),
    **dict.fromkeys(("Detection", "Threshold", "detect"), "novelty"),
    **dict.fromkeys(("RatingRun",), "ratings"),
    **dict.fromkeys(("Tuned", "tune", "tuned"), "tuning.tune"),
    **dict.fromkeys(("Trial",), "tuning.trials"),
}
__all__ = ["Run", "drift", "metrics", "progressive", *_later]


def __getattr__(name: str) -> Any:
    if name in ("drift", "metrics"):
        return importlib.import_module(f"seriatim.evaluate.{name}")
    if name in _later:
        return getattr(importlib.import_module(f"seriatim.evaluate.{_later[name]}"), name)
    raise AttributeError(f"module 'seriatim.evaluate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
