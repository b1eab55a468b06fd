"""Prediction with expert advice: weights over experts, whose losses are told, who give advice, or who are learners."""

from seriatim.experts.fixed_share import FixedShare
from seriatim.experts.hedge import AdaHedge, Hedge
from seriatim.experts.majority import WeightedMajority

__all__ = ["AdaHedge", "FixedShare", "Hedge", "WeightedMajority"]
