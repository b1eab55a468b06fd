"""Judging a learner by every prediction it makes on the way."""

from seriatim.evaluate.bounds import Bound, bounds
from seriatim.evaluate.comparator import Best, comparator
from seriatim.evaluate.progressive import Run, progressive
from seriatim.evaluate.regret import Regret, expert_regret, regret

__all__ = ["Best", "Bound", "Regret", "Run", "bounds", "comparator", "expert_regret", "progressive", "regret"]
