"""Prediction with expert advice: weights over experts that are known by losses or advice, or that are models."""

from seriatim.experts.fixed_share import FixedShare
from seriatim.experts.hedge import AdaHedge, Hedge
from seriatim.experts.majority import WeightedMajority

__all__ = ["AdaHedge", "FixedShare", "Hedge", "WeightedMajority"]
