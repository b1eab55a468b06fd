"""Metrics of a stream of predictions, brought up to date example by example.

A run computes them, `progressive(model, X, y, metrics=["f1", AUC()])`, or they are used alone:

>>> F1().update(["spam", "ham", "spam"], ["spam", "spam", "spam"]).value
0.8
"""

import copy

from seriatim.errors import ParameterError
from seriatim.evaluate.metrics.base import Fading, Metric, Outcome, Windowed
from seriatim.evaluate.metrics.labels import (
    AVERAGES,
    F1,
    Accuracy,
    Averaged,
    BalancedAccuracy,
    Confusion,
    Cost,
    LogLoss,
    MistakeRate,
    Precision,
    Recall,
    Sensitivity,
    Specificity,
    Sum,
)
from seriatim.evaluate.metrics.numbers import MAE, R2, RMSE, CumulativeLoss, MeanLoss
from seriatim.evaluate.metrics.ranking import AUC, NDCG
from seriatim.labels import label_of

__all__ = [
    "AUC",
    "F1",
    "MAE",
    "METRICS",
    "NDCG",
    "R2",
    "RMSE",
    "Accuracy",
    "BalancedAccuracy",
    "Confusion",
    "Cost",
    "CumulativeLoss",
    "Fading",
    "LogLoss",
    "MeanLoss",
    "Metric",
    "MistakeRate",
    "Outcome",
    "Precision",
    "Recall",
    "Sensitivity",
    "Specificity",
    "Sum",
    "Windowed",
    "metric",
]

# All metrics, by the names that `metric` and the command line read.
METRICS: dict[str, type[Metric]] = {
    kind.name.replace(" ", "-"): kind
    for kind in (
        MistakeRate,
        Accuracy,
        MeanLoss,
        CumulativeLoss,
        Precision,
        Recall,
        F1,
        Sensitivity,
        Specificity,
        Sum,
        BalancedAccuracy,
        Cost,
        AUC,
        LogLoss,
        MAE,
        RMSE,
        R2,
        NDCG,
    )
}


def metric(name: str | Metric) -> Metric:
    """The metric that a name stands for: `f1`, `f1:macro`, `f1:spam`, `mean-loss:squared`, `cost:spam:ham=5`.

    >>> str(metric("f1:macro")), metric("f1:spam").positive
    ('f1 (macro)', 'spam')
    """
    if isinstance(name, Metric):
        return copy.deepcopy(name)
    kind, colon, argument = str(name).partition(":")
    kind = kind.lower().replace("_", "-").replace(" ", "-")
    if kind not in METRICS:
        raise ParameterError(f"no metric is called {name!r}; there are {', '.join(METRICS)}")
    given = [argument if kind == "cost" else label_of(argument)] if colon else []
    try:
        if given and issubclass(METRICS[kind], Averaged) and argument not in AVERAGES:
            return METRICS[kind](positive=given[0])  # type: ignore[call-arg]
        return METRICS[kind](*given)
    except TypeError:
        raise ParameterError(f"{name}: {kind} does not accept the argument {argument!r}") from None
