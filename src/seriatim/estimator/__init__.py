"""The Python face of the learners: labels, names and arrays end here."""

from seriatim.estimator.base import (
    LARGE,
    ONE,
    SIGNS,
    Absent,
    Classifier,
    Detector,
    Estimator,
    Regressor,
    Transformer,
    Unlabelled,
    dense_coef,
    mean,
)
from seriatim.estimator.inputs import as_rows

__all__ = [
    "LARGE",
    "ONE",
    "SIGNS",
    "Absent",
    "Classifier",
    "Detector",
    "Estimator",
    "Regressor",
    "Transformer",
    "Unlabelled",
    "as_rows",
    "dense_coef",
    "mean",
]
