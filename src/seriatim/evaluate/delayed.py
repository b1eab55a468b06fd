"""Progressive validation with late labels: each is revealed after a number of further predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from seriatim.core.loop import Scores
from seriatim.core.rows import Rows, picked
from seriatim.core.targets import first_place
from seriatim.data.cache import Arrays, joined, sparse
from seriatim.errors import DataError
from seriatim.estimator import SIGNS, Estimator
from seriatim.evaluate.judge import judge_rows
from seriatim.evaluate.metrics import MeanLoss, Outcome
from seriatim.labels import Coded, coded, label_order


class Waiting:
    """Examples whose labels have not been revealed yet, predicted or not."""

    def __init__(self, model: Estimator, judge: Any) -> None:
        self.model, self.judge = model, judge
        self.held: Arrays = (np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        self.y: np.ndarray = np.zeros(0)
        self.weights: np.ndarray = np.zeros(0)
        self.columns = 0

    def join(self, rows: Rows, y: np.ndarray) -> Rows:
        """Append rows and labels; return all that wait."""
        model = self.model
        model.as_targets(y, rows.n)  # refuse a bad label at once, not when it is revealed
        model.begin(rows)
        own = model.encoded(rows.check())
        self.columns = max(own.features, self.columns, model.n_columns)
        self.held = joined([self.held, sparse(own)])
        self.y = np.concatenate([self.y, y]) if len(self.y) else y
        self.weights = np.concatenate([self.weights, own.weights])
        return self.rows()

    def rows(self, which: np.ndarray | None = None) -> Rows:
        """The waiting rows, or some of them."""
        arrays = self.held if which is None else picked(*self.held, which)
        rows = Rows.sparse(*arrays, self.columns).in_any_order().check()
        rows.weights = self.weights if which is None else self.weights[which]
        rows.encoded = True
        return rows

    def keep(self, which: np.ndarray) -> None:
        """Keep these rows and drop the others."""
        self.held = picked(*self.held, which)
        self.y, self.weights = self.y[which], self.weights[which]

    def predict(self, rows: Rows, y: np.ndarray) -> None:
        self.judge(y, self.model.score_rows(rows))

    def learn(self, rows: Rows, y: np.ndarray, delay: int = 0) -> None:
        """Learn the first len(y) of these rows; before each, predict the row `delay` further on."""
        model, n = self.model, len(y) - delay
        if n <= 0:
            return
        targets = model.as_targets(y[:n], n)
        for begin, end in pairwise([*model.first_rows(targets), n]):
            if not delay:
                model.learn_rows(rows.slice(begin, end), targets[begin:end])
                continue
            told = begin + delay  # predict it before row `begin` adds a new label
            self.predict(rows.slice(told, told + 1), y[told : told + 1])
            seen = Scores()
            model.learn_rows(rows.slice(begin, end + delay), targets[begin:end], seen, delay)
            if end - begin > 1:
                self.judge(y[told + 1 : end + delay], seen.segments[0][-1][1:])


class Fixed(Waiting):
    """Predict x_t, then learn x_{t - delay}."""

    def __init__(self, model: Estimator, judge: Any, delay: int) -> None:
        super().__init__(model, judge)
        self.delay = delay

    def take(self, rows: Rows, y: np.ndarray) -> None:
        """Predict these rows, and learn those whose labels are revealed meanwhile."""
        held = len(self.y)
        waiting = self.join(rows, y)
        early = min(max(self.delay, held), waiting.n)  # rows predicted before any of them is learned
        if early > held:
            self.predict(waiting.slice(held, early), self.y[held:early])
        if waiting.n > self.delay:
            self.learn(waiting, self.y, self.delay)
        self.keep(np.arange(max(waiting.n - self.delay, 0), waiting.n))

    def end(self) -> None:
        """Reveal the last labels."""
        self.learn(self.rows(), self.y)


class OwnDelays(Waiting):
    """Learn example s after example s + delay_s has been predicted; labels revealed together, in stream order."""

    def __init__(self, model: Estimator, judge: Any, delays: np.ndarray) -> None:
        super().__init__(model, judge)
        self.delays = delays
        self.seen = 0
        self.due = np.zeros(0, np.int64)  # when the label of each waiting row is revealed

    def take(self, rows: Rows, y: np.ndarray) -> None:
        first, held = self.seen, len(self.y)
        delays = self.delays[first : first + rows.n]
        if len(delays) < rows.n:
            raise DataError(f"{len(self.delays)} delays for more than {len(self.delays)} examples")
        waiting = self.join(rows, y)
        self.due = np.concatenate([self.due, np.arange(first, first + rows.n) + delays])
        at, learned = held, np.zeros(waiting.n, bool)
        order = np.argsort(self.due, kind="stable")
        order = order[self.due[order] < first + rows.n]
        moments, begins = np.unique(self.due[order], return_index=True)
        for moment, now in zip(moments.tolist(), np.split(order, begins[1:]), strict=False):
            until = held + moment - first + 1  # predict all up to this example, then reveal labels
            if until > at:
                self.predict(waiting.slice(at, until), self.y[at:until])
                at = until
            self.learn(self.rows(now), self.y[now])
            learned[now] = True
        if waiting.n > at:
            self.predict(waiting.slice(at, waiting.n), self.y[at:])
        self.seen += rows.n
        self.keep(np.flatnonzero(~learned))
        self.due = self.due[~learned]

    def end(self) -> None:
        """Reveal the last labels."""
        order = np.argsort(self.due, kind="stable")
        self.learn(self.rows(order), self.y[order])


def delayed(model: Estimator, blocks: Iterable[tuple[Rows, np.ndarray]], delay: Any, run: Any) -> Iterator[Rows]:
    """Run over blocks; yield each after its rows have been predicted."""
    judge, delays = judge_of(model, run), check_delays(delay)
    late = OwnDelays(model, judge, delays) if delays.ndim else Fixed(model, judge, int(delays))
    seen = 0
    for rows, y in blocks:
        late.take(rows, np.asarray(y))
        seen += rows.n
        yield rows
    if seen:
        late.end()


def check_delays(delay: Any) -> np.ndarray:
    delays = np.asarray(delay)
    if delays.ndim > 1 or delays.dtype.kind not in "iu" or (delays < 0).any():
        raise DataError("the delays must be whole numbers from 0 on: one for all examples, or one for each")
    return delays.astype(np.int64)


def judge_of(model: Any, run: Any) -> Any:
    """A function that judges scores against the labels, which are revealed later."""
    if model.task == "classification":
        return LabelJudge(model, run)

    def numbers(y: np.ndarray, scores: np.ndarray) -> None:
        targets = model.as_targets(y, len(y))
        losses = judge_rows(model.loss, targets, scores, model.epsilon)[2]
        run.take(Outcome(targets, scores[:, 0], scores, losses))

    return numbers


class LabelJudge:
    """Judges scores against the labels of the stream. `met` are the labels so far, revealed or not."""

    def __init__(self, model: Any, run: Any) -> None:
        self.model, self.run = model, run
        self.met: set[Any] = set()
        self.known: list[Any] = []  # the labels in `met`, ascending; -1 and 1 while there are no others

    def __call__(self, y: np.ndarray, scores: np.ndarray) -> None:
        """Cut at each new label, so that the result does not depend on the block size."""
        truth = coded(y)
        firsts = [first_place(truth.which, k) for k, label in enumerate(truth.labels) if label not in self.met]
        for begin, end in pairwise(sorted({0, *firsts, len(truth)})):
            self.take(truth[begin:end], scores[begin:end])

    def take(self, truth: Coded, scores: np.ndarray) -> None:
        model, codes = self.model, self.model.codes
        self.met |= {*codes, *(truth.labels[k] for k in np.unique(truth.which))}
        signs = self.met <= {*SIGNS}  # these can be predicted before they have been seen
        known = SIGNS if signs else sorted(self.met, key=label_order)
        if signs:
            codes, guess = {-1: -1.0, 1: 1.0}, Coded(SIGNS, (scores[:, 0] >= 0).astype(np.intp))
        else:
            guess = coded(model.decide(scores)) if codes else Coded([None], np.zeros(len(truth), np.intp))
        self.known = self.known if known == self.known else known
        place = {label: k for k, label in enumerate(self.known)}
        true, predicted = (
            np.array([place.get(label, -1) for label in part.labels], np.int32)[part.which] for part in (truth, guess)
        )
        seen = sorted(place[label] for label in codes) or [*range(len(place))]
        outcome = Outcome(true, predicted, spread(scores, codes, place), labels=self.known, seen=seen)
        self.run.take(replace(outcome, losses=MeanLoss(model.loss, model.epsilon).numbers(outcome)))


def spread(scores: np.ndarray, codes: dict[Any, float], place: dict[Any, int]) -> np.ndarray:
    """Scores with a column for each label, known to the model or not; one column for two labels."""
    if len(place) == scores.shape[1] or len(place) == 1:
        return scores
    if len(place) == 2:  # the only known label may have been taken for the other one
        turned = any(code != (-1.0, 1.0)[place[label]] for label, code in codes.items())
        return -scores if turned else scores
    wide = np.zeros((len(scores), len(place)))
    for label, code in codes.items():
        wide[:, place[label]] = scores[:, int(code)] if scores.shape[1] > 1 else 0.5 * code * scores[:, 0]
    return wide
