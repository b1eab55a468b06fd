"""Judging a learner by every prediction it makes on the way."""

from seriatim.evaluate.compare import Comparison, compare
from seriatim.evaluate.progressive import Run, progressive

__all__ = ["Comparison", "Run", "compare", "progressive"]
