"""The Python face of the learners: labels, names and arrays end here."""

from seriatim.estimator.base import LARGE, ONE, SIGNS, Absent, Estimator, dense_coef, mean
from seriatim.estimator.classifier import Classifier
from seriatim.estimator.inputs import as_rows
from seriatim.estimator.regressor import Regressor
from seriatim.estimator.unlabelled import NoveltyDetector, Transformer, Unlabelled

__all__ = [
    "LARGE",
    "ONE",
    "SIGNS",
    "Absent",
    "Classifier",
    "Estimator",
    "NoveltyDetector",
    "Regressor",
    "Transformer",
    "Unlabelled",
    "as_rows",
    "dense_coef",
    "mean",
]
