"""Drift: when and by how much a series changed, and models that act when their own mistakes rise."""

from seriatim.evaluate.drift.change import Change
from seriatim.evaluate.drift.detectors import ADWIN, DDM, KSWIN, PageHinkley
from seriatim.evaluate.drift.restart import DETECTORS
from seriatim.evaluate.drift.series import Blend, Changes, Restart, changes

__all__ = ["ADWIN", "DDM", "DETECTORS", "KSWIN", "Blend", "Change", "Changes", "PageHinkley", "Restart", "changes"]
