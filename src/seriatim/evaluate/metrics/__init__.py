"""Figures of a stream of predictions, kept up to date example by example.

Each can be asked of a run, `progressive(model, X, y, metrics=["f1", AUC()])`, or be used by itself:

>>> F1().update(["spam", "ham", "spam"], ["spam", "spam", "spam"]).value
0.8
"""

from seriatim.evaluate.metrics.base import (
    AUC,
    F1,
    MAE,
    NDCG,
    PLAIN,
    R2,
    RMSE,
    Accuracy,
    BalancedAccuracy,
    Confusion,
    Cost,
    CumulativeLoss,
    Fading,
    LogLoss,
    MeanLoss,
    Metric,
    MistakeRate,
    Outcome,
    Precision,
    Recall,
    Sensitivity,
    Specificity,
    Sum,
    Windowed,
    metric,
)
