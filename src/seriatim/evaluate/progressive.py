"""Progressive validation: predict, reveal, learn. Each example tests the model before the model learns from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seriatim.core.loss import running_class_mistakes, running_loss, running_mistakes
from seriatim.core.rows import Rows
from seriatim.errors import DataError
from seriatim.estimator import Estimator, Observer
from seriatim.features import Features

CURVE_POINTS = 512
STEP = 1 << 20  # values of an array between two looks at the clock


@dataclass
class Run:
    """What a run over a stream showed. Figures are of the examples so far; `mistakes` is None without labels."""

    model: Estimator
    examples: int = 0
    values: int = 0
    mistakes: int | None = 0
    loss: float = 0.0
    updates: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    curve: list[tuple[int, float]] = field(default_factory=list)  # (examples, mistake rate or mean loss so far)
    spacing: int = 1

    @property
    def mistake_rate(self) -> float | None:
        return None if self.mistakes is None else self.mistakes / max(self.examples, 1)

    @property
    def mean_loss(self) -> float:
        return self.loss / max(self.examples, 1)

    @property
    def features(self) -> int:
        return self.model.n_features_in_ if self.examples else 0

    def summary(self) -> dict[str, Any]:
        """The figures as plain numbers."""
        from seriatim.catalogue import command_name

        parameters = {name: self.model.parameters[name].plain(value) for name, value in self.model.get_params().items()}
        return {
            "algorithm": command_name(type(self.model)),
            "parameters": {**parameters, "features": Features.of(parameters["features"]).as_dict() or None},
            "examples": self.examples,
            "features": self.features,
            "mistakes": self.mistakes,
            "mistake_rate": self.mistake_rate,
            "mean_loss": self.mean_loss if np.isfinite(self.mean_loss) else None,
            "updates": self.updates,
            "seconds": self.seconds,
        }

    def extend_curve(self, sums: np.ndarray) -> None:
        """Go on with the curve by the running sums of mistakes or losses of the next examples."""
        first = self.examples + 1
        self.examples += len(sums)
        while self.examples // self.spacing > CURVE_POINTS:
            self.spacing *= 2
        self.curve = [point for point in self.curve if point[0] % self.spacing == 0]
        places = range(-(-first // self.spacing) * self.spacing, self.examples + 1, self.spacing)
        self.curve += [(t, float(sums[t - first] / t)) for t in places]


def progressive(
    model: Estimator,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    delay: int | None = None,
    watch: Callable[[Run], None] | None = None,
) -> Run:
    """Run a model over a stream and judge every prediction that it makes before it learns the answer.

    The stream is X and y as for `partial_fit`, or what `data.stream` gives. The model goes on from where it is.
    Weights, be they in the stream or in `sample_weight`, are for learning: mistakes and losses count once an example.
    A label cannot be predicted before it has been seen, so that its first example is a mistake. Of the labels -1 and 1
    the sign of the score is the prediction from the first example on, as in the papers.
    With a `delay` each label is told when so many examples more have been predicted; a stream may have one of its own.
    The curve has up to 512 points, evenly spaced, and the last one. `watch` is called now and then with the run so far.
    Ctrl-C ends the run between two blocks; what was learned until then stands, and `interrupted` says so.

    >>> from seriatim import Perceptron
    >>> run = progressive(Perceptron(fit_intercept=False), [[4, 0], [1, 1], [0, 1], [-2, -2]], [1, -1, -1, 1])
    >>> run.mistakes, run.updates, run.model.coef_.tolist()
    (2, 3, [[1.0, -3.0]])
    """
    run = Run(model, mistakes=0 if model.task == "classification" else None)
    before = updates(model)
    observe = classification_observer(model, run) if model.task == "classification" else regression_observer(model, run)
    start = time.perf_counter()
    try:
        delay = getattr(X, "delay", 0) if delay is None else delay
        for rows in judged(model, X, y, sample_weight, delay, run, observe):
            run.values += rows.nonzeros
            run.updates = updates(model) - before
            run.seconds = time.perf_counter() - start
            if watch is not None:
                watch(run)
    except KeyboardInterrupt:
        run.interrupted = True
    run.updates = updates(model) - before
    run.seconds = time.perf_counter() - start
    if run.examples and (not run.curve or run.curve[-1][0] < run.examples):
        run.curve.append((run.examples, run.mean_loss if run.mistake_rate is None else run.mistake_rate))
    return run


def judged(
    model: Estimator, X: Any, y: Any, sample_weight: Any, delay: int, run: Run, observe: Observer
) -> Iterator[Rows]:
    """Go through the stream; its blocks when they have been predicted and learned."""
    whole = y is not None or (model.task == "novelty" and (hasattr(X, "shape") or isinstance(X, list | tuple)))
    given = model._rows(X) if whole else None
    if given is not None and y is None:
        y = np.zeros(given.n)
    if given is not None:
        given.weights = sample_weight
    elif sample_weight is not None:
        raise DataError("sample_weight without y: the rows of a stream have their own weights")
    if delay:
        from seriatim.evaluate.delayed import delayed

        yield from delayed(model, X if given is None else [(given, np.asarray(y))], delay, run)
        return
    for rows, targets in stream_blocks(model, X) if given is None else array_blocks(model, given, y):
        model.learn_rows(rows, targets, observe)
        yield rows


def updates(model: Estimator) -> int:
    return model.updates_ if model.__sklearn_is_fitted__() else 0


def stream_blocks(model: Estimator, stream: Iterable[tuple[Rows, np.ndarray]]) -> Iterator[tuple[Rows, Any]]:
    """The blocks of a stream, each checked before it is learned. A new model takes the stream's features over."""
    seen = 0
    if model.features is None and not model.__sklearn_is_fitted__():
        how = getattr(stream, "features", None)
        model.features = how if how is not None and how.as_dict() else None
    for block in stream:
        if not (isinstance(block, tuple) and len(block) == 2 and isinstance(block[0], Rows)):
            raise DataError("expected X and y, or a stream as `data.stream` gives it")
        rows, y = block
        try:
            targets = model._targets(y, rows.n)
        except DataError as error:
            where = f"{getattr(stream, 'name', 'the stream')}, examples {seen + 1} to {seen + rows.n}"
            raise DataError(f"{where}: {error}") from None
        yield rows.check(), targets
        seen += rows.n


def array_blocks(model: Estimator, rows: Rows, y: Any) -> Iterator[tuple[Rows, Any]]:
    """Pieces of an array, all checked before the first."""
    targets = model._targets(y, rows.n)
    rows = rows.check()
    model._begin(rows)
    begin = 0
    for part in rows.parts(STEP):
        yield part, targets[begin : begin + part.n]
        begin += part.n


def classification_observer(model: Any, run: Run) -> Observer:
    def observe(targets: np.ndarray, scores: np.ndarray, fresh: bool) -> None:
        before = run.mistakes or 0
        signs = {*model._labels} <= {-1, 1}
        if scores.shape[1] == 1:
            sums, run.loss = running_mistakes(
                model.loss, targets, scores, model.epsilon, before, run.loss, len(model._labels) == 1 and not signs
            )
        else:
            sums, run.loss = running_class_mistakes(
                model.loss, targets, scores, model.seen(), model.epsilon, before, run.loss
            )
        if fresh and not signs and sums[0] == before:
            sums += 1
        run.mistakes = int(sums[-1])
        run.extend_curve(sums)

    return observe


def regression_observer(model: Any, run: Run) -> Observer:
    def observe(targets: np.ndarray, scores: np.ndarray, fresh: bool) -> None:
        sums = running_loss(model.loss, targets - scores[:, 0], model.epsilon, run.loss)
        run.loss = float(sums[-1])
        run.extend_curve(sums)

    return observe
