"""The source of transfer learning: a linear model as a parameter, and the base class of methods that have it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from seriatim.core.names import Vocabulary
from seriatim.core.rows import Rows
from seriatim.errors import DataError, ModelError, ParameterError
from seriatim.estimator import Classifier, Estimator
from seriatim.parameters import Parameter

LARGEST = 1e50
MOST_COLUMNS = 1 << 28  # 2 GiB of weights
FEW = 10  # a description shows the weights themselves up to this number
NO_NAMES = "{}: the source has no names, but these examples do; give the source as a dict by name"


@dataclass(frozen=True)
class Weights:
    """A linear model as data: weights by column, by name, or both."""

    columns: dict[int, float]
    names: dict[str, float]
    intercept: float


def number(value: Any) -> float:
    """A number, or the only number of an array."""
    return float(np.asarray(value, dtype=np.float64).reshape(()) if np.ndim(value) == 0 else np.ravel(value).item())


@dataclass(frozen=True)
class SourceModel(Parameter):
    """A linear model of two labels: a fitted model, or weights with or without an intercept."""

    parts: ClassVar[tuple[str, ...]] = ("weights", "keys")

    @property
    def range(self) -> str:
        return (
            "a fitted linear model of two labels, its weights as a vector or as a dict by name or column number, "
            "or such weights and an intercept"
        )

    @property
    def written(self) -> str:
        return "a file with a linear model of two labels, written by `seriatim train`"

    def shown(self, value: Any) -> str:
        """The source, or only the number of its weights if there are many."""
        if getattr(value, "coef_", None) is not None or self.problem(value):
            return repr(value)
        weights, _ = self.taken_apart(value)
        number = np.size(weights) if not isinstance(weights, dict) else len(weights)
        return repr(value) if number <= FEW else f"<{number:,} weights>"

    def parse(self, text: str) -> Any:
        """The model in a file."""
        from seriatim import modelfile

        return modelfile.load(text)

    def of(self, value: Any) -> Weights:
        """The weights of a source; an exception if the value is not a source."""
        weights, intercept = self.taken_apart(value)
        if not isinstance(weights, dict):
            vector = np.asarray(weights)
            vector = vector[0] if vector.ndim == 2 and len(vector) == 1 else vector
            if vector.ndim != 1 or vector.dtype.kind not in "fiu":
                raise ValueError
            weights = dict(enumerate(vector.tolist()))
        columns: dict[int, float] = {}
        names: dict[str, float] = {}
        for key, weight in weights.items():
            if isinstance(weight, bool) or not abs(float(weight)) <= LARGEST:
                raise ValueError
            if isinstance(key, str):
                names[key] = float(weight)
            elif isinstance(key, int | np.integer) and 0 <= key < MOST_COLUMNS and not isinstance(key, bool):
                columns[int(key)] = float(weight)
            else:
                raise TypeError
        if not abs(float(intercept)) <= LARGEST:
            raise ValueError
        return Weights(columns, names, float(intercept))

    def taken_apart(self, value: Any) -> tuple[Any, Any]:
        """The weights of a source in their own form, and its intercept."""
        if getattr(value, "coef_", None) is not None:
            coef = value.coef_.toarray() if hasattr(value.coef_, "toarray") else np.asarray(value.coef_)
            names = getattr(value, "feature_names_in_", None)
            if names is not None:
                coef = dict(zip(map(str, names), coef.reshape(-1).tolist(), strict=True))
            return coef, number(getattr(value, "intercept_", 0.0))
        if isinstance(value, tuple) and len(value) == 2 and not np.isscalar(value[0]):
            return value[0], number(value[1])
        return value, 0.0

    def problem(self, value: Any) -> str | None:
        try:
            self.of(value)
        except (TypeError, ValueError, OverflowError, AttributeError):
            return self.range
        return None

    # ---- in a model file

    def as_json(self, value: Any) -> Any:
        weights, intercept = self.taken_apart(value)
        return {"weights": len(weights), "intercept": float(intercept), "alone": weights is value}

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        weights, _ = self.taken_apart(value)
        if not isinstance(weights, dict):
            return {"weights": np.array(weights, dtype=np.float64).reshape(-1)}
        keys = [key if isinstance(key, str) else int(key) for key in weights]
        return {
            "weights": np.array([*weights.values()], dtype=np.float64),
            "keys": np.frombuffer(json.dumps(keys).encode(), dtype=np.uint8),
        }

    def restored(self, plain: Any, arrays: dict[str, np.ndarray]) -> Any:
        weights: Any = arrays["weights"]
        if weights.dtype != np.float64 or weights.ndim != 1:
            raise ModelError(
                f"the weights of the source are {weights.dtype} of shape {weights.shape}; they must be a vector"
            )
        if "keys" in arrays:
            weights = dict(zip(json.loads(arrays["keys"].tobytes()), weights.tolist(), strict=True))
        return weights if plain["alone"] else (weights, plain["intercept"])


class Transfer(Classifier):
    """A classifier that starts from a source. Its first columns are those of the source."""

    binary = True
    fixed = (*Classifier.fixed, "source")
    source: Any = SourceModel()
    score_is_linear = True  # else `coef_` and `intercept_` are only a part of the model

    def _weights_of_source(self) -> Weights:
        source = self.source
        if isinstance(source, Transfer) and not source.score_is_linear:
            raise ParameterError(
                f"{type(self).__name__}: the source is a {type(source).__name__}, whose score is not linear; "
                f"give a linear model, or weights"
            )
        if isinstance(source, Estimator):  # its weights are for features scaled in its own way
            its, own = (model.features_.normalize for model in (source, self))
            if its is not None and its != own:
                raise ParameterError(
                    f"{type(self).__name__}: the source learned with normalize={its!r}, but this model has {own!r}; "
                    f"set features={{'normalize': {its!r}}}"
                )
        return SourceModel().of(source)

    def _begin_with(self, learner: Any, vocabulary: Vocabulary | None) -> Any:
        """Pass the weights of the source to a new learner."""
        known = self._weights_of_source()
        if vocabulary is not None:
            learner.begin_with(list(known.names.values()), list(range(len(known.names))), known.intercept)
        else:
            learner.begin_with(list(known.columns.values()), list(known.columns), known.intercept)
        return learner

    def _first_names(self, learner: Any) -> Vocabulary:
        known = self._weights_of_source()
        if known.columns and not known.names:
            raise DataError(NO_NAMES.format(type(self).__name__))
        vocabulary = Vocabulary(known.names)
        self._begin_with(learner, vocabulary).reserve(len(vocabulary))
        return vocabulary

    def for_columns(self, names: list[str] | None) -> Transfer:
        known = self._weights_of_source()
        if names is None or not (known.names or known.columns):
            return self
        if not known.names:
            raise DataError(NO_NAMES.format(type(self).__name__))
        weights = {column: known.names[name] for column, name in enumerate(names) if name in known.names}
        return type(self)(**{**self.get_params(), "source": (weights, known.intercept)})

    def _admit(self, rows: Rows) -> None:
        if rows.names is None and self._vocabulary is None and (self._learner is None or self._learner.t == 0):
            known = self._weights_of_source()
            if known.names and not known.columns:
                raise DataError(
                    f"{type(self).__name__}: the source has names, but these examples do not; give it as a vector"
                )

    def __sklearn_clone__(self) -> Any:
        """A clone with the same source. scikit-learn would clone the source too, and so lose its weights."""
        return type(self)(**self.get_params())
