"""`Estimator`, the base of models of rows. It converts labels, names and arrays for the compiled learner."""

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

# From this many values in a block, checking on another core pays for the copy that undo needs.
LARGE = 1 << 20

SIGNS = [-1, 1]

# The default sample weight, detected by identity: `learn_one` saves the conversion and check of a weight.
ONE = 1.0


class Absent:
    """An attribute of the base class that a class does not have."""

    def __init__(self, what: str = "weights over features") -> None:
        self.what = what

    def __get__(self, model: Any, cls: type) -> Any:
        raise AttributeError(f"{cls.__name__} has no {self.what}")


class Estimator(Model):
    """A model of rows: the base of classifiers, regressors and models without labels."""

    labelled: ClassVar[bool] = True  # whether the model learns from targets
    nonnegative: ClassVar[bool] = False  # whether values must be at least 0, as counts are
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
    _schema: dict[str, str] | None = None  # the kind of each column of a table
    _reader: RowEncoder | None = None  # encodes dicts; made for the first dict
    _made_by: Features | None = None  # the features of the stream, if `features` is None
    _sparse: bool = False  # whether `coef_` is a sparse matrix

    # ---- state

    def _start(self, columns: int = 0, named: bool = False, classes: Any = None) -> None:
        """Build the learner, if there is none, for `columns` columns, or for named columns."""
        if self._learner is None:
            self.check()
            vars(self).update(self._untrained(columns, named, classes))  # one step: Ctrl-C comes before or after

    def _start_for(self, rows: Rows, classes: Any = None) -> None:
        """Build the learner, if there is none, for rows like these."""
        if self._learner is None and self.features is None:
            self._made_by = rows.made_by
        self._start(0 if rows.names is not None else rows.features, rows.names is not None, classes)

    @property
    def features_(self) -> Features:
        """How columns became features: the parameter `features` or, if it is None, the features of the stream."""
        return Features.of(self._made_by if self.features is None else self.features)

    @property
    def schema_(self) -> dict[str, str]:
        """The kind of each column in the tables that the model has learned from."""
        return dict(self._schema or {})

    def _untrained(self, columns: int, named: bool, classes: Any = None) -> dict[str, Any]:
        """The attributes of an untrained model: a learner, the scaler, the schema, the columns and their names."""
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
        """An untrained model with the same parameters, names and labels."""
        with self._lock:
            fresh = self.fresh()
            fresh._schema, fresh._columns, fresh._made_by = self._schema, self._columns, self._made_by
            if self._vocabulary is not None:
                fresh._vocabulary = Vocabulary(list(self._vocabulary.names))
            fresh._start(classes=self._labels if len(self._labels) > 1 else None)
            fresh._learner.reserve(self.n_columns)
            if getattr(self._learner, "width", 0):  # the width of a kernel, set by the first rows
                fresh._learner.use_width(self._learner.width)
        return fresh

    def _first_names(self, learner: Any) -> Vocabulary:
        """The names for which an untrained learner has columns."""
        return Vocabulary()

    def __getstate__(self) -> dict[str, Any]:
        """The whole state of the model: parameters, names, and the numbers and arrays of the learner."""
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
        """The number of examples that changed the model."""
        return self._fitted().updates

    @property
    def n_features_in_(self) -> int:
        """The number of columns seen so far."""
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
        """The names of the columns, if the examples had names."""
        self._fitted()
        if self._vocabulary is None:
            raise AttributeError(f"this {type(self).__name__} has learned columns without names")
        return np.array(self._vocabulary.names, dtype=object)

    def _weights(self) -> np.ndarray:
        learner = self._fitted()
        if getattr(learner, "weights", None) is None:
            raise AttributeError(f"{type(self).__name__} has no weights over features")
        return learner.weights()

    @property
    def n_nonzero_(self) -> int:
        """The number of nonzero weights, without the intercept."""
        return int(np.count_nonzero(self._weights()[1:]))

    @property
    def sparsity_(self) -> float:
        """The fraction of weights that are exactly zero, without the intercept."""
        weights = self._weights()[1:]
        return 1 - np.count_nonzero(weights) / weights.size if weights.size else 0.0

    def sparsify(self) -> Self:
        """Return `coef_` as a SciPy CSR matrix from now on, until `densify`. Each access makes a new matrix.

        Only the type of `coef_` changes: the model learns and predicts as before. The matrix of a regressor has one
        row. Model files do not store this setting and do not become shorter: see `save`.
        """
        self._weights()
        self._sparse = True
        return self

    def densify(self) -> Self:
        """Return `coef_` as an array again."""
        self._weights()
        self._sparse = False
        return self

    def _shown(self, coef: np.ndarray) -> Any:
        """Convert weights over features to the type of `coef_`."""
        if not self._sparse:
            return coef
        from scipy.sparse import csr_matrix

        return csr_matrix(np.atleast_2d(coef))

    # ---- arrays

    def as_rows(self, X: Any) -> Rows:
        """Convert an array, matrix or data frame to rows with columns for this model. Values are not checked yet."""
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
        """Raise an error if the method cannot take these rows, before anything changes."""
        if self._learner.particular:
            try:
                self._learner.expect_rows(rows)
            except SeriatimError:
                self._unstart()
                raise

    def encoded(self, rows: Rows) -> Rows:
        """Translate checked rows to the columns of this model, and scale them. New names are added."""
        with self._lock:
            own = self._encode(rows)
            if self._scaler is not None:
                self._scaler.settle()
        own = own.slice(0, own.n)  # other models may learn the given rows
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
        """Translate checked rows to the columns of this model, and scale them."""
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
            raise DataError(f"expected at most {len(self._vocabulary)} named columns, found {rows.features}")
        if learning and schema:
            self._schema = {**(self._schema or {}), **schema}
        if self._scaler is not None:
            rows = self._scaler.scaled(rows, learning)
            self._expect_rows(rows)
        return rows

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Restart untrained and learn these rows in one pass. `sample_weight` is as in `partial_fit`."""
        with self._lock:  # another thread learns before or after
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
        """Learn rows while another core checks them, if only the loop reads them."""
        with self._undoing(SeriatimError):  # after Ctrl-C the rows before it stay learned
            self.begin(rows, **options)
            if type(self)._own is Estimator._own and self._scaler is None and not self._learner.particular:
                with checked_ahead(rows):
                    self.learn_rows(rows, y)
            else:
                self.learn_rows(rows.check(), y)
        return self

    def _may_fail(self, y: Any) -> bool:
        """Whether checked rows may still be refused: because of new labels, or after scaling."""
        return self._learner is not None and self._learner.particular and self._scaler is not None

    def begin(self, rows: Rows, classes: Any = None) -> None:
        """Prepare to learn rows like these. `classes` declares the labels in advance."""
        if rows.weighted:
            self.expect_weighted()
        self._start_for(rows, classes)
        if self._scaler is None:
            self._expect_rows(rows)

    def learn_rows(self, rows: Rows, y: Any, sink: Sink | None = None, delay: int = 0) -> None:
        """Learn checked rows with targets from `as_targets`. This is the only way to drive a model.

        An error leaves the model as it was before these rows. Ctrl-C takes effect between two rows.

        sink : a `Scores` or a `Judge`, which receives the prediction of each row before its target is revealed.
        delay : predict row i + delay just before row i is learned. There are `delay` more rows than targets.
        """
        with self._lock:
            self._expect_idle()
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
        """Raise an error if this model cannot learn these rows, before anything changes."""

    def _learned(self) -> None:
        """Called after rows have been learned."""

    def known_labels(self, fresh: bool = False) -> tuple[list[Any] | None, list[int], bool]:
        """The arguments of `Sink.segment`: labels, positions of the predictable labels, whether the first is new."""
        return None, [], False

    def first_rows(self, y: Any) -> list[int]:
        """The rows at which segments begin: 0, and the first row of each new label."""
        return [0]

    def _extend(self, columns: int) -> None:
        """Make room for rows of `columns` columns."""
        self._learner.extend(vars(self), columns)

    def prepared(self, blocks: Iterator[tuple[Rows, Any]]) -> Iterator[tuple[Rows, Any]]:
        """Look at the first blocks before learning, for parameters that come from the data. Yields all blocks."""
        return blocks

    def for_columns(self, names: list[str] | None) -> Estimator:
        """This model for examples whose columns have numbers in place of these names."""
        return self

    def expect_weighted(self) -> None:
        """Raise ParameterError if the method does not define sample weights."""
        learner = self._learner
        if learner is None:
            self.check()
            learner = self.build()
        if not learner.weighted:
            raise ParameterError(f"{self!r}: the method does not define sample weights; remove them")

    def _weight(self, weight: Any) -> float:
        """The checked sample weight of one example."""
        weight = plain_weight(weight)
        if weight != 1:
            self.expect_weighted()
        return weight

    def as_targets(self, y: Any, n: int) -> Any:
        """The targets of n rows, checked."""
        raise NotImplementedError

    def _segments(self, y: Any) -> Iterator[tuple[int, np.ndarray, bool]]:
        """Yield the targets of each segment: first row, targets of the learner, whether the first label is new."""
        yield 0, y, False

    def _begun(self) -> Any:
        """The learner, also if it has not seen an example: that of a successor, or one whose labels are delayed."""
        return self._fitted() if self._learner is None else self._learner

    def score_rows(self, rows: Rows) -> np.ndarray:
        """The scores of checked rows, with a column per class, or one column."""
        with self._lock:
            return loop.score(self._begun(), self._own(rows, learning=False))

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """Convert scores to predictions."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """The prediction for each row."""
        self._fitted()
        rows = self.as_rows(X).check()
        with self._lock:
            return self.decide(self.score_rows(rows))

    # ---- one example

    def _expect_idle(self) -> None:
        """Refuse a change while an example is read: its values may call the model."""
        if self._reader is not None and self._reader.busy:
            raise DataError("the model was called again, by a value or a kernel, while it was at work on an example")

    def _become(self, other: Self) -> Self:
        with self._lock:
            self._expect_idle()
            return super()._become(other)

    def _nameless(self) -> DataError:
        return DataError(
            f"this {type(self).__name__} has learned {self._columns} columns without names; pass examples without names"
        )

    def _ready_for_names(self) -> Vocabulary:
        vocabulary = self._vocabulary
        if vocabulary is None:
            if self._learner is not None and self._learner.t:
                raise self._nameless()
            if self._columns:  # rows without names were announced, but not learned
                self._unstart()
            self._start(named=True)
            vocabulary = self._vocabulary
            if vocabulary is None:  # there was an untrained learner
                vocabulary = self._vocabulary = self._first_names(self._learner)
        return vocabulary

    def _new_reader(self) -> RowEncoder:
        """The encoder of dicts that this model learns. Builds the learner if there is none."""
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
        """The encoder of dicts that a trained model predicts."""
        if self._reader is None and self._vocabulary is None and self.features_.bits is None:
            raise self._nameless()
        return self._reader or self._new_reader()

    def _score_one(self, x: dict[str, Any]) -> Any:
        """The score of one example, or a list of scores; 0 if untrained. The caller holds the lock."""
        reader = self._reader
        if reader is None:
            named = self._vocabulary is not None and self.features is self._made_by
            if self._learner is None or (self._learner.t == 0 and not named):
                return 0.0
            reader = self._known_reader()
        return self._learner.score_one(reader, x)

    def _learn_number(self, x: dict[str, Any], y: float, weight: float) -> Self:
        """Learn a dict with a numeric target."""
        with self._lock:
            if weight is not ONE:
                weight = self._weight(weight)
            first = self._learner is None
            try:
                reader = self._reader
                if reader is None:
                    reader = self._new_reader()
                self._learner.learn_one(reader, x, y, weight)
            except BaseException:
                if first:  # a successor knows names and labels before its first example
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
    """`coef_` as an array, also after `sparsify`."""
    coef = model.coef_
    return coef.toarray() if hasattr(coef, "toarray") else coef


def mean(values: np.ndarray, weights: Any) -> float:
    """The mean of values, weighted by sample weights unless they are None."""
    if weights is None:
        return float(np.mean(values))
    weights = check_weights(weights, len(values))
    if not weights.any():
        raise DataError("all sample weights are zero, so there is no mean; pass a positive weight")
    return float(np.average(values, weights=weights))
