"""Judging a learner by every prediction it makes on the way."""

from seriatim.evaluate.drift import ADWIN, DDM, KSWIN, Blend, Change, PageHinkley, Restart, changes
from seriatim.evaluate.progressive import Run, progressive
from seriatim.evaluate.tune import Trial, Tuned, tune, tuned

__all__ = [
    "ADWIN",
    "DDM",
    "KSWIN",
    "Blend",
    "Change",
    "PageHinkley",
    "Restart",
    "Run",
    "Trial",
    "Tuned",
    "changes",
    "progressive",
    "tune",
    "tuned",
]
