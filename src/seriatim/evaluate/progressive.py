"""Progressive validation: predict, reveal, learn. Each example tests the model before the model learns from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

from seriatim.core.rows import Rows
from seriatim.errors import DataError, ParameterError
from seriatim.estimator import Estimator, dense_coef
from seriatim.estimator.inputs import check_targets, is_frame
from seriatim.estimator.wrapper import Wrapper
from seriatim.evaluate.judge import Judge, judge_rows
from seriatim.evaluate.metrics import Fading, MeanLoss, Metric, MistakeRate, Outcome, Windowed, metric
from seriatim.labels import coded, label_order

STEP = 1 << 19  # values of an array that are learned between two calls of `watch`

Blocks = Iterator[tuple[Rows, Any]]


class Run:
    """The result of a run over a stream, up to date at any time. `mistakes` is None without labels."""

    def __init__(self, model: Any, followed: list[Metric], warm_up: int, every: int | None, at: Any) -> None:
        self.model, self.followed = model, followed
        self.warm_up, self.judge = warm_up, Judge(*loss_of(model), at, every, warm_up, bool(followed))
        self.spacing = 1 if at is None and every is None else None  # between two checkpoints of `curves`
        self.values = self.updates = 0
        self.seconds = 0.0
        self.interrupted = False
        self.held_out_curve: list[tuple[int, float]] = []  # (examples, mistake rate or mean loss on the held-out set)
        self.values_at: dict[int, list[Any]] = {}  # values of the followed metrics at each checkpoint
        self.passing = 0  # the last key of values_at, if it is the end of the data and not a checkpoint
        self.told = 0  # examples that the metrics have received

    def __repr__(self) -> str:
        figure = self.mean_loss if self.mistake_rate is None else self.mistake_rate
        return f"Run({self.model!r}: {self.examples:,} examples, {self.measure} {figure:.4f})"

    @property
    def examples(self) -> int:
        return self.judge.examples

    @property
    def mistakes(self) -> int | None:
        return self.judge.mistakes if self.model.task == "classification" else None

    @property
    def loss(self) -> float:
        return self.judge.loss

    @property
    def mistake_rate(self) -> float | None:
        return None if self.mistakes is None else self.mistakes / self.examples if self.examples else math.nan

    @property
    def mean_loss(self) -> float:
        return self.loss / self.examples if self.examples else math.nan

    @property
    def measure(self) -> str:
        """The name of the measure that the curve shows."""
        return "mean loss" if self.mistakes is None else "mistake rate"

    @property
    def curve(self) -> list[tuple[int, float]]:
        """(examples, mistake rate or mean loss so far) at evenly spaced checkpoints and at the end."""
        places, sums, losses = self.judge.curve()[:3]
        sums = losses if self.mistakes is None else sums
        points = list(zip(places.tolist(), (sums / places).tolist(), strict=True))
        if self.examples and (not points or points[-1][0] < self.examples):
            points.append((self.examples, self.mean_loss if self.mistake_rate is None else self.mistake_rate))
        return points

    @property
    def figures(self) -> dict[str, Any]:
        """The values of the requested metrics, by name."""
        return {str(one): one.value for one in self.followed}

    @property
    def curves(self) -> dict[str, list[tuple[int, Any]]]:
        """The requested metrics at up to 64 checkpoints, or at the given ones, and at the end."""
        return {str(one): [(t, at[k]) for t, at in self.values_at.items()] for k, one in enumerate(self.followed)}

    @property
    def features(self) -> int:
        return self.model.n_features_in_ if self.examples else 0

    @property
    def nonzeros(self) -> int | None:
        """The number of weights that are not zero."""
        try:
            return int(np.count_nonzero(dense_coef(self.model)))
        except AttributeError:
            return None

    @property
    def bytes(self) -> int:
        """The memory of the learned state, in bytes."""
        return self.model.nbytes

    @property
    def confusion(self) -> np.ndarray | None:
        """The confusion matrix, true labels in rows; None without labels or with over 1,000."""
        return self.confusions()[1]

    @property
    def labels(self) -> list[Any]:
        """The labels that were true or predicted, ascending."""
        return self.confusions()[0]

    def confusions(self) -> tuple[list[Any], np.ndarray | None]:
        """The labels, and the confusion matrix over them."""
        known, counts = self.judge.labels, self.judge.counts
        there = self.model.codes if self.model.task == "classification" else ()
        places = [
            k
            for k, label in enumerate(known)
            if not len(counts) or label in there or counts[k].any() or counts[:, k].any()
        ]
        places.sort(key=lambda k: label_order(known[k]))
        labels = [known[k] for k in places]
        if not len(counts) or places == [*range(len(known))]:
            return labels, counts.copy() if len(counts) else None
        return labels, counts[np.array(places)[:, None], places]

    def summary(self) -> dict[str, Any]:
        """The results as plain numbers, for JSON."""
        from seriatim.catalogue import command_name

        labels, confusion = self.confusions()
        figures = {
            "algorithm": command_name(type(self.model)),
            "parameters": plain_parameters(self.model),
            "examples": self.examples,
            "features": self.features,
            "mistakes": self.mistakes,
            "mistake_rate": self.mistake_rate,
            "mean_loss": self.mean_loss if np.isfinite(self.mean_loss) else None,
            "updates": self.updates,
            "support_vectors": getattr(self.model, "n_support_", None),
            "nonzeros": self.nonzeros if self.examples else None,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "classes": labels,
            "confusion": None if confusion is None else confusion.tolist(),
        }
        return figures | {"metrics": self.figures} if self.followed else figures

    # ---- during the run

    def learn(self, rows: Rows, targets: Any) -> None:
        """Let the model learn some rows, and judge the prediction made before each."""
        try:
            self.model.learn_rows(rows, targets, self.judge)
        finally:  # Ctrl-C comes between two rows
            for truth, predicted, losses, scores, targets, labels, seen in self.judge.outcomes():
                self.follow(Outcome(truth, predicted, scores, losses, labels, seen), targets)

    def take(self, outcome: Outcome) -> None:
        """Add the next examples, whose predictions are known: with late labels, and of ratings."""
        skipped = min(self.judge.skip, len(outcome))
        self.judge.skip -= skipped
        outcome = outcome[skipped:]
        if outcome.labels is None:
            self.judge.add_numbers(outcome.truth - outcome.predicted, outcome.losses)
        else:
            self.judge.add(outcome.truth, outcome.predicted, outcome.losses, outcome.labels)
        if self.judge.keeping:
            self.follow(outcome)

    def follow(self, outcome: Outcome, targets: np.ndarray | None = None) -> None:
        """Update the metrics, and store their values at the checkpoints."""
        if not len(outcome):
            return
        before = begin = self.told
        end = self.told = before + len(outcome)
        self.values_at.pop(self.passing, None)
        places = self.places(before, end)
        self.passing = 0 if end in places[-1:] else end
        for place in [*places, end]:
            if place > begin:
                for one in self.followed:
                    one.take(outcome[begin - before : place - before])
                begin = place
            self.values_at[place] = [one.value for one in self.followed]

    def places(self, before: int, end: int) -> list[int]:
        """The checkpoints after `before` examples and up to `end`: the given ones, else up to 64."""
        if self.spacing is None:
            return [place for place in self.judge.places_after(before) if place <= end]
        while end // self.spacing > 64:
            self.spacing *= 2
        places = [*range(self.spacing, end + 1, self.spacing)]
        self.values_at = {place: self.values_at[place] for place in places if place in self.values_at}
        return [place for place in places if place > before]


def loss_of(model: Any) -> tuple[str, float]:
    """The loss and epsilon that judge a model; squared for a model that only ranks."""
    return getattr(model, "loss", None) or "squared", getattr(model, "epsilon", 0.0)


def plain_parameters(model: Any) -> dict[str, Any]:
    """The parameters of a model as JSON values; a model within a model becomes its repr."""
    given = model.get_params(deep=False)
    wrapped = isinstance(model, Wrapper)
    plain = given if wrapped else {name: model.parameters[name].as_json(value) for name, value in given.items()}
    if isinstance(model, Estimator) and "features" in plain:
        return {**plain, "features": model.features_.as_dict() or None}
    return {
        name: value if isinstance(value, int | float | str | None) else repr(value) for name, value in plain.items()
    }


def progressive(
    model: Estimator,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    delay: Any = None,
    warm_up: int = 0,
    every: int | None = None,
    at: Any = None,
    metrics: str | Metric | Iterable[str | Metric] = (),
    window: int | None = None,
    fade: float | None = None,
    held_out: Any = None,
    watch: Callable[[Run], None] | None = None,
) -> Run:
    """Run a model over a stream: predict each example, then reveal its label and learn it. Every prediction counts.

    The stream is X and y as for `partial_fit`, or a stream from `data.stream`. The model continues from its present
    state. Sample weights affect learning only: each example counts once in mistakes and losses. A model cannot predict
    a label before it has seen it, so the first example of a label is a mistake. If the labels are -1 and 1, the sign
    of the score is the prediction from the first example on, as in the papers. A model that normalises uses the
    features of an example, but not its label, before it predicts.

    delay : reveal each label after this many more predictions: a number, or one for each example. A stream may have
        its own delay.
    warm_up : the first `warm_up` examples are predicted and learned, but not counted.
    every, at : the checkpoints of the curve: every N examples, or a list. By default up to 512 evenly spaced ones.
    metrics : a metric or several, by name or as objects of `evaluate.metrics`; see `run.figures` and `run.curves`.
    window, fade : also report the mistake rate (or mean loss) and each metric over the last `window` examples, and with
        exponential forgetting by the factor `fade`.
    held_out : X and y, or a stream, evaluated but not learned after 1, 2, 4, ... examples, or every `every` examples,
        and at the end: `run.held_out_curve`. The warm-up does not count.
    watch : called from time to time with the run so far.

    For a recommender, X is (users, items) and y the ratings, or the stream yields (users, items, ratings). The run has
    `rmse`, `mae` and `ndcg` (see `evaluate.metrics.NDCG`), and the curve shows RMSE. New users and items are predicted
    without factors or biases. Weights, delays and held-out ratings are not supported.

    Ctrl-C ends the run between two blocks. The model keeps what it has learned, and `interrupted` is True.

    >>> from seriatim import Perceptron
    >>> run = progressive(Perceptron(fit_intercept=False), [[4, 0], [1, 1], [0, 1], [-2, -2]], [1, -1, -1, 1])
    >>> run.mistakes, run.updates, run.model.coef_.tolist()
    (2, 3, [[1.0, -3.0]])
    """
    rates = not isinstance(model, type) and getattr(model, "task", None) == "recommendation"
    if isinstance(model, type) or not (rates or hasattr(model, "learn_rows")):
        raise ParameterError(f"{model!r} is not a model, such as PA()")
    if isinstance(model, Wrapper) and not model.labelled:  # a Threshold
        raise ParameterError(f"{model!r} has no loss to be judged by; evaluate.detect(model, X, anomalous) runs it")
    if np.ndim(delay) == 0 and delay is not None and (not isinstance(delay, int | np.integer) or delay < 0):
        raise ParameterError(f"delay={delay!r}: must be a whole number from 0 on, or one for each example")
    for name, value, least in (("warm_up", warm_up, 0), ("every", every, 1)):
        if value is not None and (not isinstance(value, int | np.integer) or value < least):
            raise ParameterError(f"{name}={value!r}: must be a whole number, at least {least}")
    if at is not None and not (np.ndim(at) == 1 and all(is_place(place) for place in at)):
        raise ParameterError(f"at={at!r}: the places of a curve must be a list of whole numbers, at least 1")
    if at is not None and every is not None and held_out is None:
        raise ParameterError("every and at: take one of them")
    metrics = [metrics] if isinstance(metrics, str | Metric) else metrics
    if not isinstance(metrics, Iterable):
        raise ParameterError(f"metrics={metrics!r}: must be a name, such as 'f1', a metric, or a list of them")
    if rates:
        from seriatim.evaluate.ratings import progressive_ratings

        if not (sample_weight is None and delay is None and held_out is None):
            raise ParameterError("sample_weight, delay and held_out have no effect on ratings; remove them")
        judging: dict[str, Any] = {"warm_up": warm_up, "every": every, "at": at, "metrics": metrics}
        return progressive_ratings(model, X, y, **judging, window=window, fade=fade, watch=watch)  # type: ignore[arg-type]
    if isinstance(model, Estimator):
        model.check()  # the judge takes the model's epsilon
    run = Run(model, followed_metrics(model, metrics, window, fade), warm_up, every, at)
    if y is not None and any(one.name == "auc" for one in run.followed):
        labels = {*model.codes, *coded(check_targets(y, np.size(y))).labels}  # type: ignore[attr-defined]
        if len(labels) > 2:
            raise DataError(f"auc: there are {len(labels)} labels; it is for two")
    if held_out is not None:
        check_held_out(model, held_out, 0 if y is None or is_frame(X) else model.as_rows(X).features)
    before, seen = updates(model), 0
    apart = 0.0
    start = perf_counter()
    try:
        for rows in judged(
            model, X, y, sample_weight, delay, run, None if held_out is None else places(every, warm_up)
        ):
            run.values += rows.nonzeros
            seen += rows.n
            run.updates, run.seconds = updates(model) - before, perf_counter() - start - apart
            if held_out is not None:
                begun = perf_counter()
                look_at_held_out(run, held_out, seen - warm_up, every)
                apart += perf_counter() - begun
            if watch is not None:
                watch(run)
        run.updates, run.seconds = updates(model) - before, perf_counter() - start - apart
        if held_out is not None:
            look_at_held_out(run, held_out, seen - warm_up, 1)
    except KeyboardInterrupt:
        run.updates, run.seconds = updates(model) - before, perf_counter() - start - apart
        run.interrupted = True
    return run


def is_place(value: Any) -> bool:
    """Whether the value is a possible number of examples."""
    return isinstance(value, int | float | np.number) and bool(1 <= value < 1 << 62 and value == int(value))


def followed_metrics(
    model: Estimator, metrics: Iterable[str | Metric], window: int | None, fade: float | None
) -> list[Metric]:
    """The metrics to update, each also windowed and fading if asked for."""
    asked = [metric(one) for one in metrics]
    for one in asked:
        if one.task not in ("any", model.task):
            how = "; evaluate.detect has the AUC of anomalies that are known" if model.task == "novelty" else ""
            raise ParameterError(f"{one} is a metric of {one.task}; {type(model).__name__} does {model.task}{how}")
        if one.name == "log loss" and model.loss != "logistic":
            raise ParameterError(f"log loss: {model!r} does not learn by the logistic loss; take a model that does")
    main = MistakeRate() if model.task == "classification" else MeanLoss()
    others: list[Metric] = []
    for one in [main, *(one for one in asked if not one.in_order)]:
        others += [Windowed(metric(one), window)] if window is not None else []
        others += [Fading(metric(one), fade)] if fade is not None else []
    return asked + others


def judged(
    model: Estimator, X: Any, y: Any, sample_weight: Any, delay: Any, run: Run, cuts: Iterator[int] | None
) -> Iterator[Rows]:
    """Run over the stream; yield each block after it has been predicted and learned."""
    whole = y is not None or (not model.labelled and (hasattr(X, "shape") or isinstance(X, list | tuple)))
    given = model.as_rows(X) if whole else None
    if given is not None and y is None:
        y = np.zeros(given.n)
    if given is not None:
        given.weights = sample_weight
    elif sample_weight is not None:
        raise DataError("sample_weight without y: the rows of a stream have their own weights")
    delay = getattr(X, "delay", 0) if delay is None else delay
    if np.ndim(delay) or delay:
        from seriatim.evaluate.delayed import delayed

        told = stream_blocks(model, X, as_told=True) if given is None else iter([(given.check(), np.asarray(y))])
        told = model.prepared(told)
        yield from delayed(model, told if cuts is None else cut(told, cuts), delay, run)
        return
    blocks = model.prepared(stream_blocks(model, X) if given is None else array_blocks(model, given, y))
    for rows, targets in blocks if cuts is None else cut(blocks, cuts):
        run.learn(rows, targets)
        yield rows


def updates(model: Estimator) -> int:
    return model.updates_ if model.__sklearn_is_fitted__() else 0


def places(every: int | None, warm_up: int) -> Iterator[int]:
    """The numbers of examples after which a run evaluates the held-out set."""
    place = every or 1
    while True:
        yield warm_up + place
        place += every or place


def cut(blocks: Iterable[tuple[Rows, Any]], places: Iterator[int]) -> Blocks:
    """Cut blocks so that they end at these numbers of examples."""
    seen, place = 0, next(places)
    for rows, y in blocks:
        begin = 0
        while begin < rows.n:
            end = min(rows.n, begin + place - seen)
            yield rows.slice(begin, end), y[begin:end]
            seen += end - begin
            begin = end
            while place <= seen:
                place = next(places)


def stream_blocks(model: Estimator, stream: Iterable[tuple[Rows, np.ndarray]], as_told: bool = False) -> Blocks:
    """The blocks of a stream, each checked before it is learned.

    The targets are those of the model, or with `as_told` the labels as they are.
    """
    for rows, y, targets in checked_blocks(model, stream):
        yield rows, np.asarray(y) if as_told else targets


def checked_blocks(model: Estimator, stream: Iterable[Any]) -> Iterator[tuple[Rows, Any, Any]]:
    """Checked rows, their labels, and the targets that the model makes of them."""
    if hasattr(stream, "expect_numbers"):  # a stream knows the line of a label that is not a number
        stream.expect_numbers(model.task == "regression")
    seen = 0
    for block in stream:
        if not (isinstance(block, tuple) and len(block) == 2 and isinstance(block[0], Rows)):
            raise DataError("expected X and y, or a stream as `data.stream` gives it")
        rows, y = block
        try:
            targets = model.as_targets(y, rows.n)
        except DataError as error:
            where = f"{getattr(stream, 'name', 'the stream')}, examples {seen + 1} to {seen + rows.n}"
            raise DataError(f"{where}: {error}") from None
        yield rows.check(), y, targets
        seen += rows.n


def array_blocks(model: Estimator, rows: Rows, y: Any) -> Blocks:
    """Slices of an array, all checked before the first is learned."""
    targets = model.as_targets(y, rows.n)
    rows = rows.check()
    model.begin(rows)
    begin = 0
    for part in rows.parts(STEP):
        yield part, targets[begin : begin + part.n]
        begin += part.n


def outcome_of(model: Any, labels: Any, seen: Any, fresh: bool, targets: np.ndarray, scores: np.ndarray) -> Outcome:
    """The predictions and losses of a segment, from its scores and the targets that the learner saw."""
    n = 0 if labels is None else len(labels)
    truth, predicted, losses = judge_rows(model.loss, targets, scores, model.epsilon, n, seen, fresh)
    if labels is None:
        return Outcome(targets, scores[:, 0], scores, losses)
    return Outcome(truth, predicted, scores, losses, labels, seen)


def check_held_out(model: Any, held_out: Any, columns: int) -> None:
    """Read the held-out set once, so that errors in it are raised before the model learns."""
    pair = isinstance(held_out, tuple) and len(held_out) == 2
    again = isinstance(held_out, Iterable) and not isinstance(held_out, Iterator | tuple | str)
    source = getattr(held_out, "source", None)
    once = isinstance(source, Iterator) or getattr(source, "once_only", False)  # such as standard input
    if not pair and (once or not again or hasattr(held_out, "shape")):
        raise ParameterError("held_out: must be (X, y), or a stream that can be read many times")
    try:
        blocks = [(model.as_rows(held_out[0]), held_out[1])] if pair else held_out
        for rows, _, _ in checked_blocks(model, blocks):
            if pair and rows.names is None and rows.features < columns:
                raise DataError(f"X has {rows.features} features, and the rows to be learned have {columns}")
    except DataError as error:
        if hasattr(held_out, "name"):  # the error names it
            raise
        raise DataError(f"held_out: {error}") from None


def look_at_held_out(run: Run, held_out: Any, seen: int, every: int | None) -> None:
    """Evaluate the model on the held-out set, if this number of examples is a checkpoint."""
    model: Any = run.model
    curve = run.held_out_curve
    if seen <= 0 or (seen % every if every else seen & (seen - 1)) or (curve and curve[-1][0] == seen):
        return
    if not model.__sklearn_is_fitted__():
        return
    total, n = 0.0, 0
    for rows, y in [(model.as_rows(held_out[0]), held_out[1])] if isinstance(held_out, tuple) else held_out:
        scores = model.score_rows(rows.check())
        if model.task == "classification":
            pairs = zip(model.decide(scores).tolist(), np.asarray(y).tolist(), strict=True)
            total += sum(guess != label for guess, label in pairs)
        else:
            total += judge_rows(model.loss, model.as_targets(y, rows.n), scores, model.epsilon)[2].sum()
        n += rows.n
    curve.append((seen, float(total) / max(n, 1)))
