"""The SVD of a stream of rows."""

import operator
from typing import Any

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport isnan
from libc.string cimport memcpy

from seriatim.core.representation cimport Representation
from seriatim.core.reservoir cimport Reservoir
from seriatim.core.row cimport Row
from seriatim.decomposition.subspace cimport Subspace

from seriatim.core.values import plain_array
from seriatim.errors import DataError, ModelError, ParameterError
from seriatim.estimator import Transformer
from seriatim.inputs import as_rows
from seriatim.parameters import REQUIRED, Flag, Number


cdef class OnlineSVDLearner(Representation):
    """Rows go into a subspace one at a time, or wait until they are a block."""

    cdef Subspace space
    cdef Reservoir waiting
    cdef double forgetting
    cdef Py_ssize_t block            # 0: none
    cdef bint missing
    cdef tuple given
    cdef object seen_by_users        # until the next row

    def __init__(self, rank, threshold, forgetting, block, missing, keep_left):
        self.given = rank, threshold, forgetting, block, missing, keep_left
        self.block, self.forgetting, self.missing = block or 0, forgetting, missing
        self.space = Subspace(rank, threshold, self.block, keep_left)
        self.waiting = Reservoir(self.block)
        self.apart = True    # what the update needs is not the loss

    cdef int grow(self, Py_ssize_t rows) except -1:
        return self.space.grow(rows)

    cdef double score(self, const Row* x) noexcept nogil:
        if self.missing and gaps(x):
            return self.score_with_gaps(x)
        return self.space.loss(x)

    cdef Py_ssize_t outputs(self) noexcept nogil:
        return self.space.rank

    cdef void code(self, const Row* x, double* out) noexcept nogil:
        if self.missing and gaps(x):
            self.code_with_gaps(x, out)
            return
        self.space.project(x)
        memcpy(out, self.space.m, self.space.k * sizeof(double))

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        if self.t & 255 == 0 and self.interrupted():
            return 0
        if self.block:
            if self.waiting.put(self.waiting.n, x) < 0:
                self.undo()
                return 0
            self.waiting.n += 1
            if self.waiting.n == self.block:
                self.close()
        elif self.missing and gaps(x):
            self.learn_with_gaps(x)
        elif self.space.append(x, self.forgetting) < 0:
            self.undo()
        self.changed()
        self.updates = self.t
        return 0

    # ---- where the interpreter is needed

    cdef void changed(self) noexcept nogil:
        if self.cached:
            self.drop()

    cdef bint cached

    cdef void drop(self) noexcept with gil:
        self.seen_by_users, self.cached = None, False

    cdef void undo(self) noexcept with gil:
        """The row of this round was not learned."""
        self.t -= 1
        try:
            self.space.raise_error()
        except BaseException as error:
            self.keep(error)

    cdef bint interrupted(self) noexcept with gil:
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            self.t -= 1
            self.keep(error)
            return True
        return False

    cdef void close(self) noexcept with gil:
        """The waiting rows are a block."""
        try:
            PyErr_CheckSignals()
            self.end_block()
        except BaseException as error:
            self.waiting.n -= 1
            self.t -= 1
            self.keep(error)

    cdef filled(self, const Row* x):
        """A row with gaps, in the columns that are used, and the others of it."""
        cdef Py_ssize_t i, column, width = self.space.width(x)
        whole = np.zeros((1, max(width, self.space.used)))
        cdef double[:, ::1] out = whole
        for i in range(x.n):
            column = i if x.index == NULL else x.index[i]
            if column < width:
                out[0, column] = x.value[i]
        known = min(self.space.used, whole.shape[1])
        result = self.space.imputed(np.ascontiguousarray(whole[:, :known]))
        rest = whole[:, known:]
        rest[np.isnan(rest)] = 0
        return np.hstack([result, rest])

    cdef double score_with_gaps(self, const Row* x) noexcept with gil:
        cdef double[:, ::1] whole
        cdef Row row
        try:
            whole = self.filled(x)
            row = as_row(whole)
            return self.space.loss(&row)
        except BaseException as error:
            self.keep(error)
            return 0

    cdef void code_with_gaps(self, const Row* x, double* out) noexcept with gil:
        cdef double[:, ::1] whole
        cdef Row row
        try:
            whole = self.filled(x)
            row = as_row(whole)
            self.space.project(&row)
            memcpy(out, self.space.m, self.space.k * sizeof(double))
        except BaseException as error:
            self.keep(error)

    cdef void learn_with_gaps(self, const Row* x) noexcept with gil:
        cdef double[:, ::1] whole
        cdef Row row
        try:
            whole = self.filled(x)
            row = as_row(whole)
            if self.space.append(&row, self.forgetting) < 0:
                self.space.raise_error()
        except BaseException as error:
            self.t -= 1
            self.keep(error)

    # ---- what users see

    def settled(self, Py_ssize_t rows=0):
        """With the waiting rows taken in. Without any it is this, however many rows are looked at: the same directions
        in another form would give other last bits."""
        cdef OnlineSVDLearner twin
        if self.waiting.n == 0:
            return self
        if not self.cached:
            twin = type(self)(*self.given)
            twin.constant = self.constant
            twin.restore(self.state())
            twin.end_block()
            twin.space.collapse()
            self.seen_by_users, self.cached = twin, True
        return self.seen_by_users

    def values(self):
        values = np.zeros(self.space.rank)
        values[:self.space.k] = self.space.values()
        return values

    def directions(self, Py_ssize_t features):
        """Of shape (rank, features)."""
        result = np.zeros((self.space.rank, features))
        V = self.space.directions()
        result[:V.shape[1], :len(V)] = V.T
        return result

    def left(self):
        result = np.zeros((self.t, self.space.rank))
        result[:, :self.space.k] = self.space.left()
        return result

    def revise(self, Py_ssize_t i, x):
        """Row i of the stream becomes x."""
        if not 0 <= i < self.t:
            raise DataError(f"there is no row {i}: rows 0 to {self.t - 1} have come")
        self.grow(len(x) + 1)
        self.end_block()
        self.space.used = max(self.space.used, int(np.max(np.flatnonzero(x), initial=-1)) + 1)
        whole = np.zeros(self.space.used)
        whole[:min(len(x), len(whole))] = x[:len(whole)]
        self.space.revise(i, whole, self.forgetting ** (self.t - 1 - i))
        self.drop()

    def widen(self, C, Py_ssize_t first):
        """The features from `first` on are these columns, of all rows so far."""
        self.grow(first + C.shape[1] + 1)
        self.end_block()
        self.space.widen(C * (self.forgetting ** np.arange(self.t)[::-1])[:, None], first)
        self.drop()

    def end_block(self):
        self.space.merge(self.waiting, self.forgetting, self.missing)
        self.waiting.n = 0

    # ---- state

    def state(self):
        state = {**Representation.state(self), **self.space.state(), "records": self.space.basis.rows}
        if self.block:
            state |= {f"waiting_{name}": array for name, array in self.waiting.state().items()}
            # A file has finite numbers only. No kept value is 0, so that 0 can stand for one that is not known.
            np.nan_to_num(state["waiting_value"], copy=False)
        return state

    def restore(self, state):
        Representation.restore(self, state)
        if state["records"] != len(state["B"]) + 1:
            raise ModelError(f"{state['records']} records of a basis of {len(state['B'])} features")
        if self.block:
            value = state["waiting_value"]
            rows = {"start": state["waiting_start"], "index": state["waiting_index"],
                    "value": np.where(value == 0, np.nan, value) if self.missing else value}
            waiting = Reservoir(self.block)
            waiting.restore(rows, len(state["B"]))
            if waiting.n >= self.block or waiting.n > self.t:
                raise ModelError(f"{waiting.n} rows wait for a block of {self.block}")
            self.waiting = waiting
        self.space.restore(state, self.t - self.waiting.n)
        if self.space.keep_left and len(self.space.U) + self.space.steps + self.waiting.n != self.t:
            raise ModelError("there are not as many left vectors as rows")
        self.drop()


cdef bint gaps(const Row* x) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(x.n):
        if isnan(x.value[i]):
            return True
    return False


cdef Row as_row(const double[:, ::1] x):
    cdef Row row
    cdef Py_ssize_t i
    row.index, row.value, row.n, row.constant, row.norm2 = NULL, &x[0, 0], x.shape[1], 0, 0
    for i in range(row.n):
        row.norm2 += row.value[i] * row.value[i]
    return row


class OnlineSVD(Transformer):
    """The SVD of a stream of rows, X ~ U diag(s) V' with at most `rank` values, brought up to date by every row.

    m = V'x, p = x - V m, rho = |p|: the SVD of [[diag s, m], [0, rho]], which is cheap since all but its last column is
    diagonal, turns s and [V, p / rho] into the new ones, and the `rank` largest values are kept. Where rho is at most
    threshold |x| there is no new direction. V is kept as a large basis, the rows since it was made, and a small matrix
    that every row turns; it is orthogonal to rounding after any number of rows. A row costs its non-zeros times the
    rank and the rank's cube; one that lies in the space, within a tenth of its length, the features times the rank.
    Every 2 rank + 16 rows the basis is made anew, which costs all features used so far times the square of the rank:
    where these are far more than the non-zeros of so many rows it is most of the work, and a block of many rows, or
    hashed features, make it less. To look at a model in the middle of a block costs as much, each time.

    The loss of a row is |x - V V'x|^2. What is below the ceiling is exact; what is cut off between rows is lost. Blocks
    are several times as fast as single rows, and cut off less often; in progressive evaluation a row is judged before
    its block.

    Parameters
    ----------
    rank : the most directions, at least 1. `transform` has so many columns; those of directions not found yet are 0.
    threshold : of a new direction's length to the row's, and of a value to the largest: what is not above it is none.
    forgetting : multiplies s before every row, above 0 and at most 1: old rows count less and less.
    block : rows that are taken in at once, counted from the first; None: one at a time. Blocks, and the large matrices
        of a high rank, are left to NumPy, whose library may change the last bits with the number of its threads.
    missing : values that are NaN are not known; a row is completed by the least squares of what is known of it,
        x_h = V_h diag(s) z, V_o diag(s) z = x_o, which costs the features times the square of the rank.
    keep_left : keep U, of all rows, for `left_`, `revise`, `remove` and `add_columns`. It grows with the stream.

    >>> from seriatim import OnlineSVD, data
    >>> X, _ = data.load("digits")
    >>> model = OnlineSVD(10, block=100).fit(X)
    >>> model.singular_values_[:3].round(1)
    array([2193.1,  566.6,  541.6])
    >>> f"{-model.score(X) / X.multiply(X).sum(axis=1).mean():.1%} of the squares are left"
    '8.4% of the squares are left'

    Brand, "Incremental singular value decomposition of uncertain data with missing values", ECCV 2002; "Fast online
    SVD revisions for lightweight recommender systems", SDM 2003; "Fast low-rank modifications of the thin singular
    value decomposition", Linear Algebra and its Applications 415 (2006). Gu and Eisenstat, "A stable and efficient
    algorithm for the rank-one modification of the symmetric eigenproblem", SIMAX 15 (1994), for the small SVD.
    """

    family = "decomposition"
    paper = "Brand (2003)"
    fixed = (*Transformer.fixed, "rank", "block")
    rank = Number(REQUIRED, least=1, below=100_000, integer=True)
    threshold = Number(1e-10, least=0, below=1)
    forgetting = Number(1.0, above=0, most=1)
    block = Number(None, least=1, below=10**6, integer=True, optional=True)
    missing = Flag(False)
    keep_left = Flag(False)

    def build(self):
        return OnlineSVDLearner(self.rank, self.threshold, self.forgetting, self.block, self.missing, self.keep_left)

    def as_rows(self, X):
        rows = super().as_rows(X)
        rows.gaps = self.missing
        return rows

    @property
    def singular_values_(self):
        """The largest first; 0 for directions not found yet."""
        with self._lock:
            return self._seen().values()

    @property
    def components_(self):
        """V', of shape (rank, features)."""
        with self._lock:
            return self._seen().directions(self.n_columns)

    @property
    def left_(self):
        """U, of shape (rows, rank), of a model with keep_left."""
        with self._lock:
            self._fitted()
            if not self.keep_left:
                raise AttributeError("left_ is kept by OnlineSVD(..., keep_left=True)")
            return self._seen().left()

    def inverse_transform(self, Z):
        """Rows with these coordinates: Z V'."""
        Z = coordinates(Z, self.rank)
        return Z @ self.components_

    def reconstruct(self, X):
        """What the model makes of rows: X V V', with gaps filled before."""
        return self.inverse_transform(self.transform(X))

    def revise(self, row: Any, x: Any):
        """Put another row in the place of one of the stream, 0 being the first: a change of rank one."""
        with self._lock:
            self._fitted()
            self._expect_left("rows can be changed")
            x = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
            rows = Transformer.as_rows(self, x[None, :] if x.ndim == 1 else x).check()
            if rows.n != 1:
                raise DataError(f"{rows.n} rows for one")
            x = self._own(rows, learning=False).arrays[0][0]
            self._extend(0 if self._vocabulary is not None else len(x))
            self._learner.revise(index(row), x)
        return self

    def remove(self, row: Any):
        """Put a row of zeros in the place of one of the stream; the others keep their numbers."""
        with self._lock:
            self._fitted()
            self._expect_left("rows can be removed")
            self._learner.revise(index(row), np.zeros(max(self.n_columns, 1)))
        return self

    def add_columns(self, C: Any):
        """Features that are new, after all others: a value for each row of the stream so far, or several columns.

        As m = U'c, p = c - U m of a column c: what a row does, with U and V exchanged. Rows that come have these
        features, too.
        """
        with self._lock:
            self._fitted()
            self._expect_left("columns can be added")
            if self._vocabulary is not None or self._scaler is not None:
                raise DataError("the features of this model have names or a scale, which columns would not have")
            C = C.toarray() if hasattr(C, "toarray") else np.asarray(C)
            C = C[:, None] if C.ndim == 1 else C
            if C.ndim != 2 or len(C) != self.t_:
                raise DataError(f"columns of shape {C.shape}; they need a value for each of {self.t_} rows")
            C = as_rows(C).check().arrays[0]
            self._learner.widen(C, self._columns)
            self._columns += C.shape[1]
        return self

    def _expect_left(self, what):
        if not self.keep_left:
            raise ParameterError(f"{what} in OnlineSVD(..., keep_left=True)")


def coordinates(Z, width):
    """Rows of so many coordinates, checked."""
    Z = plain_array(Z, "the coordinates")
    if Z.ndim != 2 or Z.shape[1] != width:
        raise DataError(f"coordinates of shape {Z.shape}; they must have shape (rows, {width})")
    if Z.dtype.kind not in "fiub" or not np.isfinite(Z).all():
        raise DataError("the coordinates are not all finite numbers")
    return Z


def index(row):
    """The number of a row."""
    try:
        return operator.index(row)
    except TypeError:
        raise DataError(f"row {row!r}: must be a whole number") from None
