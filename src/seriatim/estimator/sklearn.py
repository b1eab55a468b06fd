"""Compatibility with scikit-learn: tags, and its classes of errors and warnings."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from seriatim.errors import NotFittedError


def tags_of(model: Any) -> Any:
    """The scikit-learn tags of a model of rows."""
    from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

    from seriatim.estimator.classifier import Classifier
    from seriatim.estimator.unlabelled import Transformer

    kinds = {"classification": "classifier", "regression": "regressor", "novelty": "outlier_detector"}
    return Tags(
        estimator_type=kinds.get(model.task, "transformer"),
        target_tags=TargetTags(required=model.labelled),
        classifier_tags=ClassifierTags(multi_class=not model.binary) if isinstance(model, Classifier) else None,
        regressor_tags=RegressorTags() if model.task == "regression" else None,
        transformer_tags=TransformerTags() if isinstance(model, Transformer) else None,
        input_tags=InputTags(sparse=True, positive_only=model.nonnegative),
    )


def not_fitted(message: str) -> Exception:
    """A NotFittedError. If scikit-learn is loaded, it is also a NotFittedError of scikit-learn."""
    theirs = sys.modules.get("sklearn.exceptions")
    kind = NotFittedError if theirs is None else type("NotFittedError", (NotFittedError, theirs.NotFittedError), {})
    return kind(message)


def warn_of_column() -> None:
    """Warn about a column vector y. If scikit-learn is loaded, with its class of warning, which users may filter."""
    theirs = sys.modules.get("sklearn.exceptions")
    kind = UserWarning if theirs is None else theirs.DataConversionWarning
    warnings.warn("A column-vector y was passed when a 1d array was expected.", kind, stacklevel=5)
