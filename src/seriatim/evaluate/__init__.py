"""Judging a learner by every prediction it makes on the way."""

from seriatim.evaluate.progressive import Run, progressive
from seriatim.evaluate.tune import Trial, Tuned, tune, tuned

__all__ = ["Run", "Trial", "Tuned", "progressive", "tune", "tuned"]
