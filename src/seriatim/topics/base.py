"""What topic models show to users, and the prior of their topics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from seriatim.core.values import shown
from seriatim.errors import ModelError, ParameterError
from seriatim.estimator import Transformer
from seriatim.parameters import Number, Parameter

LEAST, MOST = 1e-6, 1e6


@dataclass(frozen=True)
class Prior(Parameter):
    """The prior of the topics of a document: a number, one number for each topic, "asymmetric" or None."""

    commas = True

    @property
    def range(self) -> str:
        return f"a number from {LEAST:g} to {MOST:g}, a list with one for each topic, 'asymmetric', or None"

    def parse(self, text: str) -> Any:
        """`0.1`; `0.5,0.3,0.2`, one for each topic."""
        if text.lower() == "none":
            return None
        try:
            numbers = [float(part) for part in text.split(",")]
        except ValueError:
            return text
        return numbers if len(numbers) > 1 else numbers[0]

    def as_json(self, value: Any) -> Any:
        return value if value is None or isinstance(value, str | int | float) else np.asarray(value).tolist()

    def problem(self, value: Any) -> str | None:
        if value is None or (isinstance(value, str) and value == "asymmetric"):
            return None
        try:
            numbers = np.asarray(value)
            good = numbers.dtype.kind in "fiu" and numbers.ndim <= 1 and numbers.size > 0
            good = good and bool(((numbers >= LEAST) & (numbers <= MOST)).all())
        except (TypeError, ValueError):
            good = False
        return None if good else self.range

    @staticmethod
    def of(value: Any, topics: int) -> np.ndarray:
        """The prior of each topic."""
        if value is None:
            return np.full(topics, 1 / topics)
        if isinstance(value, str):
            numbers = 1 / (np.arange(topics) + math.sqrt(topics))
            return numbers / numbers.sum()
        numbers = np.array(value, dtype=np.float64)
        if numbers.ndim and len(numbers) != topics:
            raise ParameterError(f"alpha has {len(numbers)} numbers for {topics} topics")
        return np.zeros(topics) + numbers


class TopicModel(Transformer):
    """A model of documents. A document is a row of word counts."""

    family = "topics"
    nonnegative = True
    fixed = (*Transformer.fixed, "n_features", "seed")
    n_features: Any = Number(None, least=1, below=10**9, integer=True, optional=True)
    seed: Any = Number(0, least=0, below=2**63, integer=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._learner is not None and self._learner.vocabulary().max(initial=-1) >= self._width():
            raise ModelError(f"a word has a column beyond the {self._width()} columns")

    def _width(self) -> int:
        return self.n_features or self.n_columns

    @property
    def components_(self) -> np.ndarray:
        """lambda, the Dirichlet parameters of the topics, of shape (topics, features)."""
        with self._lock:
            return self._seen().shown(self._width())

    def transform(self, X: Any) -> np.ndarray:
        """The topic proportions of each document."""
        return super().transform(X)

    def perplexity(self, X: Any) -> float:
        """exp(-(sum of the bounds) / (number of words)) over these documents; smaller is better."""
        self._fitted()
        rows = self.as_rows(X).check()
        with self._lock:
            bound, words = self._seen().total_bound(self._own(rows, learning=False))
        return math.exp(-bound / words) if words else 1.0

    @property
    def perplexity_(self) -> float | None:
        """The perplexity of the documents so far, each measured before the model learned it; None without words."""
        learner = self._fitted()
        return math.exp(-learner.scored_bound / learner.scored_words) if learner.scored_words else None

    @property
    def n_words_(self) -> int:
        """The number of different words so far."""
        return len(self._fitted().vocabulary())

    @property
    def topic_weights_(self) -> np.ndarray:
        """The proportions of the topics in the corpus; they sum to 1."""
        with self._lock:
            learner = self._seen()
            whole = learner.shown_rows().sum(axis=0)
        return whole / whole.sum() if whole.sum() else np.full(len(whole), 1 / len(whole))

    def topics(self, n_words: int = 10, n_topics: int | None = None) -> list[list[tuple[Any, float]]]:
        """The most likely words of each topic, each with its probability, the most likely first.

        A word is its name, or its column number if no row with its name has arrived.
        """
        for name, count in (("n_words", n_words), ("n_topics", n_topics)):
            if count is not None and not (isinstance(count, int | np.integer) and count >= 1):
                raise ParameterError(f"{name}={shown(count)}: must be a whole number from 1 on")
        with self._lock:
            learner = self._seen()
            columns, rows = learner.vocabulary(), learner.shown_rows()
            names = [] if self._vocabulary is None else self._vocabulary.names
        weights = rows / rows.sum(axis=0) if len(rows) else rows
        found = []
        for k in range(rows.shape[1] if n_topics is None else min(n_topics, rows.shape[1])):
            likely = weights[:, k]
            least = np.partition(likely, -n_words)[-n_words] if n_words < len(likely) else 0.0
            some = np.flatnonzero(likely >= least)
            some = some[np.lexsort((columns[some], -likely[some]))][:n_words]
            words = [names[columns[i]] if columns[i] < len(names) else int(columns[i]) for i in some]
            found.append([(word, float(likely[i])) for word, i in zip(words, some, strict=True)])
        return found
