"""Drift: when and by how much a series changed, and models that act when their own mistakes rise."""

from seriatim.evaluate.drift.change import Change
from seriatim.evaluate.drift.detectors import ADWIN, DDM, DETECTORS, KSWIN, PageHinkley
from seriatim.evaluate.drift.restart import Blend, Restart
from seriatim.evaluate.drift.series import Changes, changes

__all__ = ["ADWIN", "DDM", "DETECTORS", "KSWIN", "Blend", "Change", "Changes", "PageHinkley", "Restart", "changes"]
