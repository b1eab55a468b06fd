"""Retrieval: which of some things are most like a given one, learned from triplets of a query and two answers."""

from seriatim.retrieval.measures import average_precision, mean_average_precision, precision_at
from seriatim.retrieval.oasis import OASIS
from seriatim.retrieval.omdl import OMDL

__all__ = ["OASIS", "OMDL", "average_precision", "mean_average_precision", "precision_at"]
