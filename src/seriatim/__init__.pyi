# Written by `make stubs`.
from collections.abc import Sequence
from typing import Any, Literal

from seriatim import catalogue as catalogue
from seriatim import data as data
from seriatim import errors as errors
from seriatim import evaluate as evaluate
from seriatim.catalogue import algorithms as algorithms
from seriatim.estimator import Classifier, Regressor
from seriatim.features import Features as Features
from seriatim.modelfile import load as load

__version__: str

class AveragedPerceptron(Classifier):
    eta: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        eta: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class OGD(Classifier):
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    eta: float
    schedule: Literal["constant", "sqrt", "inverse"]
    radius: float | None
    epsilon: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        eta: float = ...,
        schedule: Literal["constant", "sqrt", "inverse"] = ...,
        radius: float | None = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class OGDRegressor(Regressor):
    loss: Literal["squared", "absolute", "epsilon_insensitive"]
    eta: float
    schedule: Literal["constant", "sqrt", "inverse"]
    radius: float | None
    epsilon: float
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["squared", "absolute", "epsilon_insensitive"] = ...,
        eta: float = ...,
        schedule: Literal["constant", "sqrt", "inverse"] = ...,
        radius: float | None = ...,
        epsilon: float = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class PA(Classifier):
    C: float
    variant: Literal["hard", "I", "II"]
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        C: float = ...,
        variant: Literal["hard", "I", "II"] = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class PARegressor(Regressor):
    C: float
    epsilon: float
    variant: Literal["hard", "I", "II"]
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        C: float = ...,
        epsilon: float = ...,
        variant: Literal["hard", "I", "II"] = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class Perceptron(Classifier):
    eta: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        eta: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class SoftSVM(Classifier):
    lam: float
    average: bool
    variant: Literal["mirror", "pegasos"]
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        lam: float = ...,
        average: bool = ...,
        variant: Literal["mirror", "pegasos"] = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class VotedPerceptron(Classifier):
    eta: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        eta: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
