"""Retrieval: similarities and distances learned from triplets of a query, a relevant and an irrelevant answer."""

from seriatim.retrieval.oasis import OASIS
from seriatim.retrieval.omdl import OMDL
from seriatim.retrieval.precision import average_precision, mean_average_precision, precision_at

__all__ = ["OASIS", "OMDL", "average_precision", "mean_average_precision", "precision_at"]
