"""The Python face of a learner: fit, predict, learn one, save. Labels, names and arrays end here."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from seriatim.core import loop
from seriatim.core.loop import Sink
from seriatim.core.names import Vocabulary
from seriatim.core.rows import LIMIT, Rows, Unordered, check_weights
from seriatim.core.targets import Codes, targets_of
from seriatim.core.threads import THREADS, checked_ahead
from seriatim.core.values import real_array
from seriatim.errors import DataError, ParameterError, SeriatimError
from seriatim.estimator.inputs import (
    as_rows,
    check_kind,
    check_targets,
    is_frame,
    no_number,
    plain_target,
    plain_weight,
)
from seriatim.estimator.model import Model
from seriatim.features import Features
from seriatim.features.encoder import RowEncoder
from seriatim.features.scaler import Scaler
from seriatim.labels import PLAIN, Coded, coded, label_array, label_order, plain_label
from seriatim.parameters import FeatureChoice, Flag, Labels

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
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        kinds = {"classification": "classifier", "regression": "regressor", "novelty": "outlier_detector"}
        return Tags(
            estimator_type=kinds.get(self.task, "transformer"),
            target_tags=TargetTags(required=self.labelled),
            classifier_tags=ClassifierTags(multi_class=not self.binary) if isinstance(self, Classifier) else None,
            regressor_tags=RegressorTags() if self.task == "regression" else None,
            transformer_tags=TransformerTags() if isinstance(self, Transformer) else None,
            input_tags=InputTags(sparse=True, positive_only=self.nonnegative),
        )


class Classifier(Estimator):
    """A learner of labels: two, or more, of any type, known beforehand or not."""

    task = "classification"
    binary: ClassVar[bool] = False  # the method is one for two labels
    classes: Any = Labels(None)

    # Like the labels, ascending, replaced when a label is met and never changed in place: what the learner sees for
    # each that has been seen.
    _codes = Codes()

    # ---- labels that come with the stream

    def successor(self) -> Self:
        fresh = super().successor()
        for label in self._codes:
            if label not in fresh._codes:
                fresh._meet(label)
        return fresh

    def _untrained(self, columns: int, named: bool, classes: Any = None) -> dict[str, Any]:
        held = super()._untrained(columns, named)
        if (classes := self.classes if classes is None else classes) is not None:
            self._declare(classes, held)
        return held

    def _declare(self, classes: Any, held: dict[str, Any]) -> None:
        """Labels told beforehand: two make a binary model, more a multiclass one in which the unseen do not compete.

        `held` is what an untrained model holds.
        """
        labels = sorted({plain_label(label) for label in classes}, key=label_order)
        if self.binary and len(labels) > 2:
            raise ParameterError(f"{type(self).__name__}: classes={labels!r}: only binary classification is supported")
        two = len(labels) == 2
        source, factor = (None, None) if two else (np.full(len(labels), -1), np.zeros(len(labels)))
        codes = Codes(labels, (-1.0, 1.0)) if two else Codes()
        entries = {"_labels": labels, "_codes": codes}
        held["_learner"].change_classes(held, entries, source, factor, [], self._told(labels, codes))

    def _told(self, labels: list[Any], codes: Codes) -> Any:
        """What the learner must know of labels that are about to replace `_labels`; None for nothing."""
        return None

    def _expect_label(self, label: Any) -> None:
        """Refuse a label that cannot be taken in."""
        known = self._labels
        if self.binary and len(known) == 2 and label not in known:
            raise DataError(
                f"the label {label!r} is a third one, after {known[0]!r} and {known[1]!r}. "
                f"Only binary classification is supported by {type(self).__name__}"
            )

    def _meet(self, label: Any) -> None:
        """Take in a label that has not been seen before."""
        self._expect_label(label)
        labels, source, factor = self._labels, None, None
        place = bisect_left(labels, label_order(label), key=label_order)
        declared = labels[place : place + 1] == [label]
        known = labels if declared else [*labels[:place], label, *labels[place:]]
        seen = [place]
        codes = self._codes.values
        if declared:
            codes = np.append(codes, place)
        elif len(known) == 1:
            # Which of two labels this will be is not known yet; a positive number is taken for the higher one.
            codes = np.array([1.0 if not isinstance(label, str) and label > 0 else -1.0])
        elif len(known) == 2:
            turned = self._codes[labels[0]] != (1.0 if place == 0 else -1.0)
            codes = np.array([1.0, -1.0] if place == 0 else [-1.0, 1.0])
            if turned:
                source, factor = np.zeros(1, np.intp), np.array([-1.0])
        else:
            if len(labels) == 2:  # w becomes -w/2 for the lower and +w/2 for the higher of the two
                source = np.zeros(len(known), np.intp)
                factor = np.array([0.5 * self._codes.get(one, 0.0) for one in known])
                codes = np.array([known.index(one) for one in self._codes])
                seen = [*map(int, codes), place]
            else:
                source = np.arange(len(known)) - (np.arange(len(known)) > place)
                factor = np.ones(len(known))
                codes = codes + (codes >= place)
            codes = np.append(codes, place)
            source[place] = -1
        codes = self._codes.extended(label, codes)
        entries = {"_labels": known, "_codes": codes}
        self._learner.change_classes(vars(self), entries, source, factor, seen, self._told(known, codes))

    def as_targets(self, y: Any, n: int) -> Coded:
        return coded(check_targets(y, n))

    def _may_fail(self, y: Coded) -> bool:
        return super()._may_fail(y) or not all(label in self._codes for label in y.labels)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows, one after another, where the last call ended; all of them or, if one is bad, none.

        `classes`, in the first call, are all labels there will be, as in scikit-learn; nobody need tell them.
        `sample_weight` is the importance of each row, at least 0: its loss counts so often, in one step. A row of
        weight 0 takes no step but is a round. A method that does not define importance takes no weight but 1.
        """
        return self._learn_array(X, y, sample_weight, classes=classes)

    def begin(self, rows: Rows, classes: Any = None) -> None:
        """`classes` counts in the first call only, as in scikit-learn."""
        self.parameters["classes"].check(f"{type(self).__name__}: classes", classes)
        if classes is not None and self.classes is not None and {*classes} != {*self.classes}:
            raise ParameterError(f"{type(self).__name__}: classes={self.classes!r}, but partial_fit says {classes!r}")
        super().begin(rows, classes=classes)

    def first_rows(self, y: Coded) -> list[int]:
        return [0, *(row for row in self._arrivals(y) if row)]

    def _arrivals(self, y: Coded) -> dict[int, Any]:
        """The labels that are not known yet, by the row in which each comes first, ascending."""
        if all(label in self._codes for label in y.labels):
            return {}
        numbers, places = np.unique(y.which, return_index=True)
        met = zip(places.tolist(), map(y.labels.__getitem__, numbers.tolist()), strict=True)
        return dict(sorted((place, label) for place, label in met if label not in self._codes))

    def _segments(self, y: Coded) -> Iterator[tuple[int, np.ndarray, bool]]:
        """Cut where a new label arrives, so that a run does not depend on how the stream is divided into calls."""
        arrivals = self._arrivals(y)
        begins = [0, *(row for row in arrivals if row)]
        for begin, end in pairwise([*begins, len(y)]):
            if begin in arrivals:
                self._meet(arrivals[begin])
            if begin < end:
                yield begin, self._coded(y.labels, y.which[begin:end]), begin in arrivals

    def known_labels(self, fresh: bool = False) -> tuple[list[Any] | None, list[int], bool]:
        """Of the labels -1 and 1 the sign is the prediction from the first example on: none of them is ever new."""
        if len(self._labels) <= 2 and {*self._labels} <= {*SIGNS}:
            return SIGNS, [0, 1], False
        return self._labels, self.seen() if len(self._labels) > 2 else [*range(len(self._labels))], fresh

    def _coded(self, labels: list[Any], which: np.ndarray) -> np.ndarray:
        """The targets of rows as the learner sees them."""
        codes = np.full(len(labels), math.nan)
        for k in range(len(labels)) if len(labels) <= len(which) else {*which.tolist()}:
            codes[k] = self._codes.get(labels[k], math.nan)
        return targets_of(which, codes)

    @property
    def codes(self) -> dict[Any, float]:
        """What each known label is to the learner, ascending: -1 or 1, or with more than two a class number."""
        return {label: self._codes[label] for label in self._labels if label in self._codes}

    def seen(self) -> list[int]:
        """The class numbers that compete, ascending."""
        return class_numbers(self._codes)

    # ---- predictions

    @property
    def classes_(self) -> np.ndarray:
        """The labels, ascending: declared or seen."""
        self._begun()
        return label_array(self._labels)

    @property
    def coef_(self) -> Any:
        """Weights, of shape (1, features) for two labels, else (classes, features); see also `sparsify`."""
        return self._shown(self._weights()[1:].T)

    @property
    def intercept_(self) -> np.ndarray:
        return self._weights()[0]

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row: positive for the higher of two labels; with more labels, a column a label."""
        self._fitted()
        scores = self.score_rows(self.as_rows(X).check())
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @property
    def predict_proba(self) -> Callable[[Any], np.ndarray]:
        """The probability of each of two labels, 1 / (1 + e^-score), of a model learned by the logistic loss."""
        if self.loss != "logistic":
            raise AttributeError(
                f"{type(self).__name__} has no probabilities; CW, AROW, SCW and the logistic loss have"
            )
        if self._learner is not None and self._learner.classes > 1:
            raise AttributeError("with more than two labels the loss is that of the strongest rival: no probabilities")
        return self._logistic

    def _logistic(self, X: Any) -> np.ndarray:
        scores = self.decision_function(X)
        if len(self._labels) == 1:
            return np.ones((len(scores), 1))
        higher = np.exp(-np.logaddexp(0, -scores))
        return np.column_stack([1 - higher, higher])

    def decide(self, scores: np.ndarray) -> np.ndarray:
        if self._learner.classes == 1:
            return label_array([self._labels[0], self._labels[-1]])[(scores[:, 0] >= 0).astype(int)]
        seen = np.array(self.seen())
        return label_array(self._labels)[seen[np.argmax(scores[:, seen], axis=1)]]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows, or of their weight, whose label is predicted."""
        predicted = self.predict(X)
        return mean(predicted == check_targets(y, len(predicted)), sample_weight)

    def learn_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name, its label, and its importance as in `partial_fit`.

        A number is a value, a string s under key k the feature "k=s", a list or set of strings a bag of such features.
        """
        with self._lock:
            if weight is not ONE:
                weight = self._weight(weight)
            try:
                if type(y) not in PLAIN:  # 1 == Decimal(1): what is no label could be found as one
                    y = plain_label(y)
                reader = self._reader
                if reader is None:
                    reader = self._new_reader()
                code = self._codes.get(y)
                if code is None:
                    label = plain_label(y)
                    self._expect_label(label)
                    self._learner.admit(reader, x)  # refuses a bad example before its label is taken in
                    self._meet(label)
                    self._learner.learn_read(reader, self._codes[label], weight)
                else:
                    self._learner.learn_one(reader, x, code, weight)
            except BaseException:
                self._unstart()
                raise
        return self

    def progress_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Any:
        """Predict one example, then learn it: `predict_one` and `learn_one` in one call. Returns the prediction.

        A label that is known costs one look at the example.
        """
        with self._lock:
            if self._reader is None or y is None or (code := self._codes.get(plain_label(y))) is None:
                return super().progress_one(x, y, weight)
            if weight is not ONE:
                weight = self._weight(weight)
            return self._decided(self._learner.progress_one(self._reader, x, code, weight))

    def predict_one(self, x: dict[str, Any]) -> Any:
        """The label of one example; None as long as no label is known."""
        with self._lock:
            scores = self._score_one(x)
            return self._decided(scores) if self._codes else None

    def _decided(self, scores: Any) -> Any:
        """The label that the scores of one example stand for."""
        labels = self._labels
        if type(scores) is float:
            return labels[-1] if scores >= 0 else labels[0]
        return labels[max(self.seen(), key=lambda k: (scores[k], -k))]

    def score_one(self, x: dict[str, Any]) -> Any:
        """The score of one example; with more than two labels, a dict of them."""
        with self._lock:
            scores = self._score_one(x)
            return scores if isinstance(scores, float) else dict(zip(self._labels, scores, strict=True))

    # ---- state

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            codes = {label: self._codes[label] for label in self._labels if label in self._codes}
            return {**super().__getstate__(), "labels": self._labels, "codes": codes}

    def _restore_labels(self, state: dict[str, Any]) -> None:
        labels, codes = state["labels"], Codes([*state["codes"]], [*state["codes"].values()])
        source, factor = (np.full(len(labels), -1), np.zeros(len(labels))) if len(labels) > 2 else (None, None)
        entries = {"_labels": labels, "_codes": codes}
        told = self._told(labels, codes)
        self._learner.change_classes(vars(self), entries, source, factor, class_numbers(codes), told)


class Regressor(Estimator):
    """A learner of numbers."""

    task = "regression"

    @property
    def coef_(self) -> Any:
        """Weights, one a feature; see also `sparsify`."""
        return self._shown(self._weights()[1:, 0])

    @property
    def intercept_(self) -> float:
        return float(self._weights()[0, 0])

    def as_targets(self, y: Any, n: int) -> np.ndarray:
        y = check_targets(y, n)
        try:
            check_kind(y.dtype)
            y = real_array(y)
        except (TypeError, ValueError, OverflowError):
            raise no_number(y) from None
        bad = np.flatnonzero(~(np.abs(y) <= LIMIT))
        if len(bad):
            raise DataError(f"row {bad[0]}: the target {y[bad[0]]} is NaN, inf, or beyond +-{LIMIT:g}")
        return y

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from these rows, one after another, where the last call ended; all of them or, if one is bad, none.

        `sample_weight` is the importance of each row, at least 0: its loss counts so often, in one step. A row of
        weight 0 takes no step but is a round. A method that does not define importance takes no weight but 1.
        """
        return self._learn_array(X, y, sample_weight)

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2: 1 less the squared error over that of the mean; for equal targets 1 or, with any error, 0."""
        predicted = self.predict(X)
        y = self.as_targets(y, len(predicted))
        error = mean((y - predicted) ** 2, sample_weight)
        spread = mean((y - mean(y, sample_weight)) ** 2, sample_weight)
        return 1 - error / spread if spread else float(error == 0)

    def learn_one(self, x: dict[str, Any], y: float, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name, its target, and its importance as in `partial_fit`."""
        return self._learn_number(x, plain_target(y), weight)

    def predict_one(self, x: dict[str, Any]) -> float:
        with self._lock:
            return self._score_one(x)

    score_one = predict_one

    def progress_one(self, x: dict[str, Any], y: float, weight: float = ONE) -> float:
        """Predict one example, then learn it: `predict_one` and `learn_one` in one call. Returns the prediction."""
        with self._lock:
            if self._reader is None:
                return super().progress_one(x, y, weight)
            if weight is not ONE:
                weight = self._weight(weight)
            return self._learner.progress_one(self._reader, x, plain_target(y), weight)


class Unlabelled(Estimator):
    """A learner from examples alone; targets, if there are any, are not looked at."""

    labelled = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget all and learn from these rows, in one pass."""
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows, one after another, where the last call ended; all of them or, if one is bad, none."""
        return self._learn_array(X, y, sample_weight)

    def as_targets(self, y: Any, n: int) -> np.ndarray:
        if y is not None:
            check_targets(y, n)
        return np.zeros(n)

    def learn_one(self, x: dict[str, Any], y: Any = None, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name."""
        return self._learn_number(x, 0.0, weight)

    def score_one(self, x: dict[str, Any]) -> float:
        with self._lock:
            return self._score_one(x)


class Detector(Unlabelled):
    """A learner of what is usual. Scores are positive for what is."""

    task = "novelty"
    radius_: float

    @property
    def coef_(self) -> Any:
        """The centre, one number a feature; see also `sparsify`."""
        return self._shown(self._weights()[1:, 0])

    @property
    def intercept_(self) -> float:
        """The centre's coordinate of the constant feature."""
        return float(self._weights()[0, 0])

    @property
    def offset_(self) -> float:
        """decision_function is score_samples less this."""
        return -self.radius_

    def decision_function(self, X: Any) -> np.ndarray:
        """The score of each row: how far it is inside, negative outside."""
        self._fitted()
        return self.score_rows(self.as_rows(X).check())[:, 0]

    def score_samples(self, X: Any) -> np.ndarray:
        """The negative distance of each row from the centre."""
        return self.decision_function(X) + self.offset_

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return np.where(scores[:, 0] >= 0, 1, -1)

    def predict_one(self, x: dict[str, Any]) -> int:
        """1 for what is usual, else -1."""
        return 1 if self.score_one(x) >= 0 else -1


class Transformer(Unlabelled):
    """A learner of a shorter form of its rows. The score of a row is its loss, at least 0."""

    task = "representation"
    loss = "absolute"  # of a score beside 0: the score
    fit_intercept = False  # there is no constant feature
    sparsify = densify = n_nonzero_ = sparsity_ = Absent()  # type: ignore[assignment]
    predict = Absent("predictions; `transform` gives what rows become")  # type: ignore[assignment]

    def decide(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0]

    def _seen(self, rows: int = 0) -> Any:
        """The learner as users see it: what has come of all rows so far; `rows` are about to be looked at."""
        return self._fitted().settled(rows)

    def score_rows(self, rows: Rows) -> np.ndarray:
        """The losses of checked rows."""
        with self._lock:
            learner = self._learner if rows.encoded else self._seen(rows.n)
            return loop.score(learner, self._own(rows, learning=False))

    def transform(self, X: Any) -> np.ndarray:
        """What each row becomes: its coordinates by `components_`."""
        self._fitted()
        return self.transform_rows(self.as_rows(X).check())

    def transform_rows(self, rows: Rows) -> np.ndarray:
        """What checked rows become."""
        with self._lock:
            self._fitted()
            return loop.transform(self._seen(rows.n), self._own(rows, learning=False))

    def transform_one(self, x: dict[str, Any]) -> np.ndarray:
        """What one example becomes."""
        with self._lock:
            self._fitted()
            return self._seen().code_one(self._known_reader(), x)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Forget all, learn from these rows, and transform them by what was learned from all of them."""
        return self.fit(X, y, sample_weight).transform(X)

    def score_samples(self, X: Any) -> np.ndarray:
        """The negative loss of each row."""
        self._fitted()
        return -self.score_rows(self.as_rows(X).check())[:, 0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean of the negative losses: the larger, the better."""
        return mean(self.score_samples(X), sample_weight)

    def score_one(self, x: dict[str, Any]) -> float:
        """The loss of one example; 0 before the first."""
        with self._lock:
            if self._learner is None or self._learner.t == 0:
                return 0.0
            return self._seen().score_one(self._known_reader(), x)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """A name for each number that a row becomes."""
        count = loop.transform(self._seen(), Rows.dense(np.zeros((1, max(self.n_columns, 1)))).check()).shape[1]
        return np.array([f"{type(self).__name__.lower()}{k}" for k in range(count)], dtype=object)


def class_numbers(codes: Codes) -> list[int]:
    """The numbers of the classes with these codes, ascending."""
    return sorted(map(int, codes.values.tolist()))


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
