"""The Python face of a learner: fit, predict, learn one, save. Labels, names and arrays end here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, ClassVar, Self

import numpy as np

from seriatim.core import loop
from seriatim.core.loop import Sink
from seriatim.core.names import Vocabulary
from seriatim.core.rows import Rows, Unordered, check_weights
from seriatim.core.threads import THREADS, checked_ahead
from seriatim.errors import DataError, ParameterError, SeriatimError
from seriatim.estimator.inputs import (
    as_rows,
    is_frame,
    plain_weight,
)
from seriatim.estimator.model import Model
from seriatim.features import Features
from seriatim.features.encoder import RowEncoder
from seriatim.features.scaler import Scaler
from seriatim.parameters import FeatureChoice, Flag

# Values in a block from which on it pays to check on another core and to be ready to undo.
LARGE = 1 << 20

SIGNS = [-1, 1]

# The weight of an example that has none; told by its identity, which costs `learn_one` less than a comparison.
ONE = 1.0


class Absent:
    """An attribute that a kind of model does not have, though its base does."""

    def __init__(self, what: str = "weights over features") -> None:
        self.what = what

    def __get__(self, model: Any, cls: type) -> Any:
        raise AttributeError(f"{cls.__name__} has no {self.what}")


class Estimator(Model):
    """A model of rows: what classifiers, regressors and those without labels share."""

    labelled: ClassVar[bool] = True  # it learns from examples that have targets
    nonnegative: ClassVar[bool] = False  # of values: they are counts
    loss: Any
    epsilon: Any = 0.0
    fixed: ClassVar[tuple[str, ...]] = ("classes", "fit_intercept", "features")
    held = ("_learner", "_vocabulary", "_columns", "_labels", "_codes", "_scaler", "_schema", "_reader", "_made_by")

    fit_intercept: Any = Flag(True)
    features: Any = FeatureChoice(None)

    _vocabulary: Vocabulary | None = None
    _columns: int = 0
    _labels: list[Any] = []  # noqa: RUF012
    _scaler: Scaler | None = None
    _schema: dict[str, str] | None = None  # of tables: the kind of each column
    _reader: RowEncoder | None = None  # of dicts, once there has been one
    _made_by: Features | None = None  # of a stream: what made the rows, where `features` is None
    _sparse: bool = False  # how weights are shown

    # ---- state

    def _start(self, columns: int = 0, named: bool = False, classes: Any = None) -> None:
        """Make the learner before the first example, with so many columns, or with named ones."""
        if self._learner is None:
            self.check()
            vars(self).update(self._untrained(columns, named, classes))  # one step: Ctrl-C comes before or after

    def _start_for(self, rows: Rows, classes: Any = None) -> None:
        """Make the learner before the first example, for rows like these."""
        if self._learner is None and self.features is None:
            self._made_by = rows.made_by
        self._start(0 if rows.names is not None else rows.features, rows.names is not None, classes)

    @property
    def features_(self) -> Features:
        """How the learned rows were made: as `features` says or, where that is None, as the stream had it."""
        return Features.of(self._made_by if self.features is None else self.features)

    @property
    def schema_(self) -> dict[str, str]:
        """The kind of each column in the tables that the model has learned from."""
        return dict(self._schema or {})

    def _untrained(self, columns: int, named: bool, classes: Any = None) -> dict[str, Any]:
        """A learner, and what a model has beside it before the first example."""
        learner = self.build()
        learner.constant = 1.0 if self.fit_intercept else 0.0
        learner.reserve(columns)
        how = self.features_
        held = {
            "_learner": learner,
            "_scaler": None if how.normalize is None else Scaler(how.normalize),
            "_schema": {} if self._schema is None else self._schema,
            "_columns": max(self._columns, columns),
        }
        if named and self._vocabulary is None:
            held["_vocabulary"] = self._first_names(learner)
        return held

    def successor(self) -> Self:
        """An untrained model with the same parameters that knows the names and labels which this one has seen."""
        with self._lock:
            fresh = self.fresh()
            fresh._schema, fresh._columns, fresh._made_by = self._schema, self._columns, self._made_by
            if self._vocabulary is not None:
                fresh._vocabulary = Vocabulary(list(self._vocabulary.names))
            fresh._start(classes=self._labels if len(self._labels) > 1 else None)
            fresh._learner.reserve(self.n_columns)
            if getattr(self._learner, "width", 0):  # of a kernel: it comes from the first rows of the stream
                fresh._learner.use_width(self._learner.width)
        return fresh

    def _first_names(self, learner: Any) -> Vocabulary:
        """The names that an untrained learner has columns for."""
        return Vocabulary()

    def __getstate__(self) -> dict[str, Any]:
        """Everything the model is: parameters, names, counters and the learner's arrays, and nothing else."""
        with self._lock:
            return {
                "parameters": self.get_params(),
                "columns": self._columns,
                "names": None if self._vocabulary is None else list(self._vocabulary.names),
                "state": None if self._learner is None else self._learner.state(),
                "scaling": None if self._scaler is None else self._scaler.state(),
                "schema": dict(self._schema or {}),
                **({} if self._made_by is None else {"made_by": self._made_by}),
                **({"sparse": True} if self._sparse else {}),
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).clear()
        vars(self).update(state["parameters"])
        self._columns = state["columns"]
        self._made_by = state.get("made_by")
        if state.get("sparse"):
            self._sparse = True
        if state["names"] is not None:
            self._vocabulary = Vocabulary(state["names"])
        if state["state"] is not None:
            self._schema = state["schema"]
            self._start()
            self._restore_labels(state)
            self._learner.restore(state["state"])
            if self._scaler is not None:
                self._scaler.restore(state["scaling"])

    def _restore_labels(self, state: dict[str, Any]) -> None:
        pass

    @property
    def updates_(self) -> int:
        """Examples that changed the model."""
        return self._fitted().updates

    @property
    def n_features_in_(self) -> int:
        """Columns seen so far."""
        self._fitted()
        return self.n_columns

    @property
    def n_scores(self) -> int:
        """The number of scores of a row: 1, or with more than two labels one for each."""
        return self._begun().classes

    @property
    def n_columns(self) -> int:
        return self._columns if self._vocabulary is None else len(self._vocabulary)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns, when the examples had names."""
        self._fitted()
        if self._vocabulary is None:
            raise AttributeError(f"this {type(self).__name__} was given columns without names")
        return np.array(self._vocabulary.names, dtype=object)

    def _weights(self) -> np.ndarray:
        learner = self._fitted()
        if getattr(learner, "weights", None) is None:
            raise AttributeError(f"{type(self).__name__} has no weights over features")
        return learner.weights()

    @property
    def n_nonzero_(self) -> int:
        """Weights that are not zero, the intercept's left out."""
        return int(np.count_nonzero(self._weights()[1:]))

    @property
    def sparsity_(self) -> float:
        """The share of weights that are exactly zero, the intercept's left out."""
        weights = self._weights()[1:]
        return 1 - np.count_nonzero(weights) / weights.size if weights.size else 0.0

    def sparsify(self) -> Self:
        """Show `coef_` as a SciPy CSR matrix, made anew whenever it is asked for, until `densify`.

        As in scikit-learn that is a matter of looks: the model predicts and learns as before, and so do its copies. A
        file does not hold it: a loaded model is dense at first. Nor does it make files shorter: they leave out what is
        0 where most of it is, but a model that learns on from sums or variances, such as `FTRL`, `RDA` and `SOFS`,
        keeps these for features of weight 0, too. Of a regressor the matrix has one row.
        """
        self._weights()
        self._sparse = True
        return self

    def densify(self) -> Self:
        """Show `coef_` as an array again."""
        self._weights()
        self._sparse = False
        return self

    def _shown(self, coef: np.ndarray) -> Any:
        """Weights over features as `coef_` shows them."""
        if not self._sparse:
            return coef
        from scipy.sparse import csr_matrix

        return csr_matrix(np.atleast_2d(coef))

    # ---- arrays

    def as_rows(self, X: Any) -> Rows:
        """The rows of anything with two dimensions. Their columns fit this model; their values are not checked yet."""
        if is_frame(X) and (self._vocabulary is not None or not self._columns):
            from seriatim.features.frames import frame_rows

            return frame_rows(X, self.features_, self._schema or {})
        rows = as_rows(X)
        fewest = self._columns if self._vocabulary is None else len(self._vocabulary)
        if rows.features < fewest or (self._vocabulary is not None and rows.features > fewest):
            raise DataError(
                f"X has {rows.features} features, but {type(self).__name__} is expecting {fewest} features as input"
            )
        return rows

    def _expect_rows(self, rows: Rows) -> None:
        """Refuse rows that are not for this method, before anything is changed."""
        if self._learner.particular:
            try:
                self._learner.expect_rows(rows)
            except SeriatimError:
                self._unstart()
                raise

    def encoded(self, rows: Rows) -> Rows:
        """Checked rows as the learner will see them: in this model's columns, which may be new ones, and scaled."""
        with self._lock:
            own = self._encode(rows)
            if self._scaler is not None:
                self._scaler.settle()
        own = own.slice(0, own.n)  # the rows given may be learned by others
        own.encoded = True
        return own

    def _encode(self, rows: Rows) -> Rows:
        if rows.encoded:
            return rows
        self._start_for(rows)
        own = self._own(rows, learning=True)
        self._extend(own.features)
        return own

    def _own(self, rows: Rows, learning: bool) -> Rows:
        """Checked rows as the learner sees them."""
        if rows.encoded:
            return rows
        schema = rows.schema
        if self._scaler is None:
            self._expect_rows(rows)
        if rows.names is not None:
            vocabulary = self._ready_for_names() if learning else self._vocabulary
            if vocabulary is None:
                self._fitted()
                raise self._nameless()
            known = len(vocabulary)
            rows = vocabulary.translate(rows, learning)
            try:
                self._learner.reserve(len(vocabulary))
            except (SeriatimError, MemoryError):  # no room for the new names
                vars(self).update(_vocabulary=Vocabulary(vocabulary.names[:known]), _reader=None)
                raise
        elif self._vocabulary is not None and rows.features > len(self._vocabulary):
            raise DataError(f"{rows.features} columns for a model that knows {len(self._vocabulary)} by name")
        if learning and schema:
            self._schema = {**(self._schema or {}), **schema}
        if self._scaler is not None:
            rows = self._scaler.scaled(rows, learning)
            self._expect_rows(rows)
        return rows

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget all and learn from these rows, in one pass; the weights are as for `partial_fit`."""
        with self._lock:  # what another thread learns meanwhile comes after
            return self._become(self.fresh()._learn_array(X, y, sample_weight))

    def _learn_array(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Self:
        with self._lock:
            rows = self.as_rows(X)
            y = self.as_targets(y, rows.n)
            rows.weights = sample_weight
            large = rows.nonzeros >= max(LARGE, self._columns * len(self._labels)) and rows.names is None
            if large and THREADS > 1:
                with suppress(Unordered):
                    return self._learn_ahead(rows, y, **options)
            rows = rows.check()
            self.begin(rows, **options)
            self.learn_rows(rows, y)
        return self

    def _learn_ahead(self, rows: Rows, y: Any, **options: Any) -> Self:
        """Learn rows that another core checks meanwhile, if nobody but the loop looks at them."""
        with self._undoing(SeriatimError):  # Ctrl-C comes between two rows, of which the first are good
            self.begin(rows, **options)
            if type(self)._own is Estimator._own and self._scaler is None and not self._learner.particular:
                with checked_ahead(rows):
                    self.learn_rows(rows, y)
            else:
                self.learn_rows(rows.check(), y)
        return self

    def _may_fail(self, y: Any) -> bool:
        """Whether checked rows may be refused all the same: for what these targets bring, or when they are scaled."""
        return self._learner is not None and self._learner.particular and self._scaler is not None

    def begin(self, rows: Rows, classes: Any = None) -> None:
        """Get ready for rows like these; `classes` are the labels, if they are told beforehand."""
        if rows.weighted:
            self.expect_weighted()
        self._start_for(rows, classes)
        if self._scaler is None:
            self._expect_rows(rows)

    def learn_rows(self, rows: Rows, y: Any, sink: Sink | None = None, delay: int = 0) -> None:
        """Learn checked rows with what `as_targets` gave for them. All that drives a model calls this.

        An error leaves the model as it was before these rows; Ctrl-C comes after the last whole row.

        sink : receives what was predicted of each row before its target was revealed: a `Scores` or a `Judge`.
        delay : predict row i + delay when row i is learned; there are so many rows more than targets.
        """
        with self._lock:
            self._admit(rows)
            before = self.__getstate__() if self._may_fail(y) else None
            t = 0 if self._learner is None else self._learner.t
            own = rows
            try:
                if rows.weighted:
                    self.expect_weighted()
                own = self._encode(rows)
                for start, targets, fresh in self._segments(y):
                    if sink is not None:
                        sink.segment(*self.known_labels(fresh))
                    loop.learn(self._learner, own, targets, start, sink, delay)
            except BaseException as error:
                if before is not None and (isinstance(error, Exception) or getattr(self._learner, "torn", False)):
                    self._become(self.restored(before))
                elif self._scaler is not None and not rows.encoded:
                    self._scaler.rewind(self._learner.t - t)
                self._unstart()
                raise
            if self._scaler is not None and not rows.encoded:
                self._scaler.settle()
            self._learned()

    def _admit(self, rows: Rows) -> None:
        """Refuse rows that this model cannot learn, before anything is changed."""

    def _learned(self) -> None:
        """Some rows have been learned."""

    def known_labels(self, fresh: bool = False) -> tuple[list[Any] | None, list[int], bool]:
        """What a sink is told of a segment: labels, which of them can be predicted, whether the first one is new."""
        return None, [], False

    def first_rows(self, y: Any) -> list[int]:
        """The rows at which segments begin: 0, and the first row of each label that is not known yet."""
        return [0]

    def _extend(self, columns: int) -> None:
        """Make room for rows of so many columns."""
        self._learner.extend(vars(self), columns)

    def prepared(self, blocks: Iterator[tuple[Rows, Any]]) -> Iterator[tuple[Rows, Any]]:
        """The same blocks, when the model knows of the first ones what it must know before it learns them."""
        return blocks

    def for_columns(self, names: list[str] | None) -> Estimator:
        """The same for examples that have column numbers in place of these names."""
        return self

    def expect_weighted(self) -> None:
        """Refuse weights where it is not said what they mean."""
        learner = self._learner
        if learner is None:
            self.check()
            learner = self.build()
        if not learner.weighted:
            raise ParameterError(f"{self!r}: its method does not define importance weights")

    def _weight(self, weight: Any) -> float:
        """The weight of one example, checked."""
        weight = plain_weight(weight)
        if weight != 1:
            self.expect_weighted()
        return weight

    def as_targets(self, y: Any, n: int) -> Any:
        """The targets of n rows, checked."""
        raise NotImplementedError

    def _segments(self, y: Any) -> Iterator[tuple[int, np.ndarray, bool]]:
        """The targets as the learner sees them, in segments: first row, targets, whether the first is a new label."""
        yield 0, y, False

    def _begun(self) -> Any:
        """The learner, which has scores before it has seen an example: a successor, or one with late labels."""
        return self._fitted() if self._learner is None else self._learner

    def score_rows(self, rows: Rows) -> np.ndarray:
        """The scores of checked rows, a column a class (or one)."""
        with self._lock:
            return loop.score(self._begun(), self._own(rows, learning=False))

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """The predictions that scores stand for."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """The prediction for each row."""
        self._fitted()
        rows = self.as_rows(X).check()
        with self._lock:
            return self.decide(self.score_rows(rows))

    # ---- one example

    def _nameless(self) -> DataError:
        return DataError(
            f"this {type(self).__name__} has learned {self._columns} columns without names; these examples have names"
        )

    def _ready_for_names(self) -> Vocabulary:
        vocabulary = self._vocabulary
        if vocabulary is None:
            if self._learner is not None and self._learner.t:
                raise self._nameless()
            if self._columns:  # rows without names were to come, and did not
                self._unstart()
            self._start(named=True)
            vocabulary = self._vocabulary
            if vocabulary is None:  # there was a learner already
                vocabulary = self._vocabulary = self._first_names(self._learner)
        return vocabulary

    def _new_reader(self) -> RowEncoder:
        """What reads the dicts that this model learns. It makes the learner if there is none."""
        how = self.features_
        if how.bits is None:
            vocabulary = self._ready_for_names()
        else:
            vocabulary, none = None, np.zeros(0)
            columns = Rows.sparse([0, 0], none, none, 1 << how.bits).check()  # a row without features
            self._admit(columns)
            self._start_for(columns)
            self._extend(columns.features)
        reader = self._reader = RowEncoder(how, vocabulary, self._scaler)
        return reader

    def _known_reader(self) -> RowEncoder:
        """The same for dicts that a trained model predicts."""
        if self._reader is None and self._vocabulary is None and self.features_.bits is None:
            raise self._nameless()
        return self._reader or self._new_reader()

    def _score_one(self, x: dict[str, Any]) -> Any:
        """The score of one example, or a list of them; 0 before the first. The caller holds the lock."""
        reader = self._reader
        if reader is None:
            named = self._vocabulary is not None and self.features is self._made_by
            if self._learner is None or (self._learner.t == 0 and not named):
                return 0.0
            reader = self._known_reader()
        return self._learner.score_one(reader, x)

    def _learn_number(self, x: dict[str, Any], y: float, weight: float) -> Self:
        """Learn a dict with a target that needs no label."""
        with self._lock:
            if weight is not ONE:
                weight = self._weight(weight)
            try:
                reader = self._reader
                if reader is None:
                    reader = self._new_reader()
                self._learner.learn_one(reader, x, y, weight)
            except BaseException:
                self._unstart()
                raise
        return self

    def progress_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Any:
        """Predict one example, then learn it: `predict_one` and `learn_one` in one call. Returns the prediction."""
        with self._lock:
            before: Any = self.predict_one(x)  # type: ignore[attr-defined]
            self.learn_one(x, y, weight)  # type: ignore[attr-defined]
        return before

    # ---- scikit-learn

    def __sklearn_tags__(self) -> Any:
        from seriatim.estimator.sklearn import tags_of

        return tags_of(self)


def dense_coef(model: Any) -> np.ndarray:
    """`coef_` as an array, however it is shown."""
    coef = model.coef_
    return coef.toarray() if hasattr(coef, "toarray") else coef


def mean(values: np.ndarray, weights: Any) -> float:
    """The mean of some values, each as important as its weight says."""
    if weights is None:
        return float(np.mean(values))
    weights = check_weights(weights, len(values))
    if not weights.any():
        raise DataError("all weights are zero: there is no mean")
    return float(np.average(values, weights=weights))
