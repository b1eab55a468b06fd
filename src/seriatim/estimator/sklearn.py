"""What scikit-learn's tools ask of an estimator: tags, and errors and warnings of its classes."""

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
    """Ours; and scikit-learn's too where it is in use, so that its tools recognise it."""
    theirs = sys.modules.get("sklearn.exceptions")
    kind = NotFittedError if theirs is None else type("NotFittedError", (NotFittedError, theirs.NotFittedError), {})
    return kind(message)


def warn_of_column() -> None:
    """By scikit-learn's class where it is in use, so that its users can silence it as they do."""
    theirs = sys.modules.get("sklearn.exceptions")
    kind = UserWarning if theirs is None else theirs.DataConversionWarning
    warnings.warn("A column-vector y was passed when a 1d array was expected.", kind, stacklevel=5)
