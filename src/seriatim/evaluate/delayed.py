"""Progressive validation where labels come late: each is told when so many examples more have been predicted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from seriatim.core.loss import running_loss
from seriatim.core.rows import Rows
from seriatim.data.cache import Arrays, joined, sparse
from seriatim.errors import DataError
from seriatim.estimator import Estimator


class Delayed:
    """Predict x_t, then learn x_{t - delay}; what waits for its label is kept."""

    def __init__(self, model: Estimator, delay: int, judge: Any) -> None:
        self.model, self.delay, self.judge = model, delay, judge
        self.held: Arrays = (np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        self.y: np.ndarray = np.zeros(0)
        self.weights: np.ndarray = np.zeros(0)
        self.columns = 0

    def take(self, rows: Rows, y: np.ndarray) -> None:
        """Predict these rows, and learn those whose labels come meanwhile."""
        model, held = self.model, len(self.y)
        model._targets(y, rows.n)  # a bad label is refused when it comes
        model._begin(rows)
        own = model._own(rows.check(), learning=True)
        self.columns = columns = max(own.features, self.columns, model.n_columns)
        start, index, value = joined([self.held, sparse(own)])
        self.y = np.concatenate([self.y, y]) if held else y
        self.weights = np.concatenate([self.weights, own.weights])
        waiting = Rows.sparse(start, index, value, columns).in_any_order().check()
        waiting.weights = self.weights
        model._start(columns)
        early = min(max(self.delay, held), waiting.n)  # these are predicted before any of them is learned
        if early > held:
            self.judge(self.y[held:early], model._learner.score_rows(waiting.slice(held, early)))
        self.learn(waiting, waiting.n - self.delay, self.delay)
        keep = max(waiting.n - self.delay, 0)
        self.held = (start[keep:] - start[keep], index[start[keep] :], value[start[keep] :])
        self.y, self.weights = self.y[keep:], self.weights[keep:]

    def learn(self, rows: Rows, n: int, delay: int) -> None:
        """Learn the first n rows; each time the one that is `delay` further on is predicted before."""
        model, at = self.model, 0
        stretches = model._stretches(model._targets(self.y[:n], n)) if n > 0 else iter(())
        while at < n:
            if delay:  # before a label is met that the next example may bring
                self.judge(self.y[at + delay :][:1], model._learner.score_rows(rows.slice(at + delay, at + delay + 1)))
            _, targets, _ = next(stretches)
            scores = np.empty((len(targets), model._learner.classes)) if delay else None
            model._columns = max(model._columns, rows.features)
            model._learner.learn_rows(rows, targets, scores, at, delay)
            if scores is not None and len(scores) > 1:
                self.judge(self.y[at + delay + 1 :][: len(scores) - 1], scores[1:])
            at += len(targets)

    def end(self) -> None:
        """The last labels come."""
        rows = Rows.sparse(*self.held, self.columns).in_any_order().check()
        rows.weights = self.weights
        self.learn(rows, rows.n, 0)


def delayed(model: Estimator, blocks: Iterable[tuple[Rows, np.ndarray]], delay: int, run: Any) -> Iterator[Rows]:
    """Go through blocks; each is given back when it has been judged."""
    late = Delayed(model, delay, judge_of(model, run))
    seen = 0
    for rows, y in blocks:
        try:
            late.take(rows, np.asarray(y))
        except DataError as error:
            raise DataError(f"examples {seen + 1} to {seen + rows.n}: {error}") from None
        seen += rows.n
        yield rows
    late.end()


def judge_of(model: Any, run: Any) -> Any:
    """What counts mistakes and losses of scores beside the labels that came later."""

    def regression(y: np.ndarray, scores: np.ndarray) -> None:
        sums = running_loss(model.loss, model._targets(y, len(y)) - scores[:, 0], model.epsilon, run.loss)
        run.loss = float(sums[-1])
        run.extend_curve(sums)

    def classification(y: np.ndarray, scores: np.ndarray) -> None:
        known = bool(model._codes)
        predicted = model.decide(scores).tolist() if known else [None] * len(y)
        wrong = np.array([one != label for one, label in zip(predicted, y.tolist(), strict=True)])
        codes = [model._codes.get(label) for label in y.tolist()]
        margins = [margin(scores[i], code, model) for i, code in enumerate(codes)]
        run.loss = float(running_loss(model.loss, 1 - np.array(margins), model.epsilon, run.loss)[-1])
        sums = (run.mistakes or 0) + np.cumsum(wrong)
        run.mistakes = int(sums[-1])
        run.extend_curve(sums)

    return regression if run.mistakes is None else classification


def margin(scores: np.ndarray, code: float | None, model: Any) -> float:
    """How clearly the true label wins; 0 for one that is not known yet."""
    if code is None:
        return 0.0
    if len(scores) == 1:
        return float(code * scores[0])
    rivals = [scores[k] for k in model.seen() if k != code]
    return float(scores[int(code)] - (max(rivals) if rivals else 0.0))
