"""The singular value decomposition of a stream of rows."""

import operator
from typing import Any

import numpy as np

from libc.math cimport isnan
from libc.string cimport memcpy

from seriatim.core.row cimport Row
from seriatim.decomposition.components cimport ComponentsLearner

from seriatim.decomposition.base import SubspaceModel
from seriatim.errors import DataError, ModelError, ParameterError
from seriatim.estimator import Transformer
from seriatim.estimator.inputs import as_rows
from seriatim.parameters import REQUIRED, Flag, Number


cdef class OnlineSVDLearner(ComponentsLearner):
    """Brand's update. A row with missing values is imputed before the space learns, scores or projects it."""

    cdef double forgetting
    cdef double[::1] imputed         # the values of the last imputed row

    def __init__(self, rank, threshold, forgetting, block, missing, keep_left):
        ComponentsLearner.__init__(self, rank, threshold, block, keep_left)
        self.arguments = rank, threshold, forgetting, block, missing, keep_left
        self.forgetting, self.missing = forgetting, missing

    cdef double score(self, const Row* x) noexcept nogil:
        cdef Row whole
        return self.space.loss(&whole) if self.complete(x, &whole) == 0 else 0

    cdef void code(self, const Row* x, double* out) noexcept nogil:
        cdef Row whole
        if self.complete(x, &whole) == 0:
            self.space.project(&whole)
            memcpy(out, self.space.m, self.space.k * sizeof(double))

    cdef int update(self, const Row* x) noexcept nogil:
        cdef Row whole
        return self.space.append(&whole, self.forgetting) if self.complete(x, &whole) == 0 else -1

    def end_block(self):
        self.space.merge(self.waiting, self.forgetting, self.missing)
        self.waiting.n = 0

    # ---- missing values

    cdef int complete(self, const Row* x, Row* whole) noexcept nogil:
        """Let `whole` be the row without missing values. Returns -1 after an error."""
        cdef Py_ssize_t i
        whole[0] = x[0]
        if self.missing:
            for i in range(x.n):
                if isnan(x.value[i]):
                    return self.impute(x, whole)
        return 0

    cdef int impute(self, const Row* x, Row* whole) noexcept with gil:
        """A missing value is 0 in a column that no learned row has had."""
        cdef Py_ssize_t i, column, used = self.space.used, width = max(self.space.width(x), used)
        try:
            values = np.zeros(width)
            for i in range(x.n):
                column = i if x.index == NULL else x.index[i]
                if column < width:
                    values[column] = x.value[i]
            values[:used] = self.space.imputed(values[None, :used])[0]
            values[used:][np.isnan(values[used:])] = 0
            self.imputed = values
        except BaseException as error:
            self.keep(error)
            return -1
        whole.index, whole.value, whole.n, whole.constant, whole.norm2 = NULL, &self.imputed[0], width, 0, 0
        for i in range(width):
            whole.norm2 += whole.value[i] * whole.value[i]
        return 0

    # ---- rows and columns that change

    def left(self):
        """The left vectors, of shape (rows, rank)."""
        left = np.zeros((self.t, self.space.rank))
        left[:, :self.space.k] = self.space.left()
        return left

    def revise(self, Py_ssize_t i, x):
        """Row i of the stream becomes x: a rank-one change of the SVD."""
        if not 0 <= i < self.t:
            raise DataError(f"there is no row {i}: the model has learned rows 0 to {self.t - 1}")
        self.grow(len(x) + 1)
        self.end_block()
        self.space.used = max(self.space.used, int(np.max(np.flatnonzero(x), initial=-1)) + 1)
        self.space.collapse()
        V, s, U = self.space.directions(), self.space.values(), self.space.U
        a, b = np.zeros(len(U)), np.zeros(self.space.used)
        a[i] = 1
        b[:min(len(x), len(b))] = x[:len(b)]
        b = self.forgetting ** (self.t - 1 - i) * b - V @ (U[i] * s)
        Q, R = np.linalg.qr(np.column_stack([V, b]))
        P, S = np.linalg.qr(np.column_stack([U, a]))
        left, s, right = np.linalg.svd(R @ np.diag(np.append(s, 1.0)) @ S.T, full_matrices=False)
        kept = self.space.kept(s)
        U = P @ right[:kept].T
        if not x.any():
            U[i] = 0
        self.space.become(Q @ left[:, :kept], s[:kept], U)
        self.view = None

    def widen(self, C, Py_ssize_t first):
        """The columns of C, which have a value for each learned row, become the features from `first` on."""
        self.grow(first + C.shape[1] + 1)
        self.end_block()
        self.space.collapse()
        V, s, U = self.space.directions(), self.space.values(), self.space.U
        C = C * (self.forgetting ** np.arange(self.t)[::-1])[:, None]
        Q, R = np.linalg.qr(np.column_stack([U, C]))
        left, s, right = np.linalg.svd(R * np.append(s, np.ones(C.shape[1])), full_matrices=False)
        kept, k = self.space.kept(s), V.shape[1]
        between = np.zeros((first - len(V), kept))
        V = np.vstack([V @ right[:kept, :k].T, between, right[:kept, k:].T])
        self.space.used = first + C.shape[1]
        self.space.become(V, s[:kept], Q @ left[:, :kept])
        self.view = None

    def restore(self, state):
        ComponentsLearner.restore(self, state)
        if self.space.keep_left and len(self.space.U) + self.space.steps + self.waiting.n != self.t:
            raise ModelError("the number of left vectors is not the number of rows")


class OnlineSVD(SubspaceModel):
    """The SVD of a stream of rows, X ~ U diag(s) V' with at most `rank` values, updated by every row.

    m = V'x, p = x - V m, rho = |p|. The SVD of [[diag s, m], [0, rho]] turns s and [V, p / rho] into the new ones. It
    is cheap, because all but its last column is diagonal. The `rank` largest values are kept. If rho is at most
    threshold |x|, the row adds no direction. V is stored as a large basis, the rows since the basis was made, and a
    small matrix that every row multiplies. V stays orthogonal to rounding after any number of rows.

    A row costs its non-zeros times the rank, and the cube of the rank. A row within a tenth of its norm of the space
    costs the number of features times the rank. Every 2 rank + 16 rows a new basis is made, which costs the number of
    features times the square of the rank. With far more features than non-zeros this is most of the work; a larger
    block or hashed features reduce it. So does looking at a model between two blocks: each look makes a new basis.

    The loss of a row is |x - V V'x|^2. The result is exact while the rank of the data is at most `rank`; what is cut
    off between rows is lost. Blocks are several times as fast as single rows and cut off less often. In progressive
    evaluation a row is predicted before the model has learned the open block.

    Parameters
    ----------
    rank : the largest number of directions, at least 1. `transform` has this number of columns; columns of directions
        not found yet are 0.
    threshold : the smallest norm of p relative to |x|, and the smallest singular value relative to the largest.
    forgetting : a factor of s before every row, above 0 and at most 1; below 1, older rows lose weight.
    block : the number of rows in a block, counted from the first row; None: each row is learned when it arrives. Blocks
        and high ranks use NumPy's BLAS: the last bits may change with the number of its threads.
    missing : NaN is a missing value. It is imputed by least squares from the observed values: x_h = V_h diag(s) z with
        V_o diag(s) z = x_o. This costs the number of features times the square of the rank.
    keep_left : store U, for `left_`, `revise`, `remove` and `add_columns`. U grows with the stream.

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
    def left_(self):
        """U, of shape (rows, rank), of a model with keep_left."""
        with self._lock:
            self._fitted()
            if not self.keep_left:
                raise AttributeError("left_ needs OnlineSVD(..., keep_left=True)")
            return self._seen().left()

    def reconstruct(self, X):
        """X V V': the rows as the model approximates them, with missing values imputed."""
        return self.inverse_transform(self.transform(X))

    def revise(self, row: Any, x: Any):
        """Replace row number `row` of the stream by x; the first row is 0. This is a change of rank one."""
        with self._lock:
            self._fitted()
            self._expect_left("revise")
            x = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
            rows = Transformer.as_rows(self, x[None, :] if x.ndim == 1 else x).check()
            if rows.n != 1:
                raise DataError(f"x has {rows.n} rows; revise replaces one row")
            x = self._own(rows, learning=False).arrays[0][0]
            self._extend(0 if self._vocabulary is not None else len(x))
            self._learner.revise(index(row), x)
        return self

    def remove(self, row: Any):
        """Replace row number `row` of the stream by zeros; other rows keep their numbers."""
        with self._lock:
            self._fitted()
            self._expect_left("remove")
            self._learner.revise(index(row), np.zeros(max(self.n_columns, 1)))
        return self

    def add_columns(self, C: Any):
        """Append new features: one column or several, with a value for each learned row. Later rows have them, too.

        The update is that of a row with U and V exchanged: m = U'c, p = c - U m for a column c.
        """
        with self._lock:
            self._fitted()
            self._expect_left("add_columns")
            if self._vocabulary is not None or self._scaler is not None:
                raise DataError("add_columns needs a model whose features have neither names nor a scale")
            C = C.toarray() if hasattr(C, "toarray") else np.asarray(C)
            C = C[:, None] if C.ndim == 1 else C
            if C.ndim != 2 or len(C) != self.t_:
                raise DataError(f"columns of shape {C.shape}; they need a value for each of {self.t_} rows")
            C = as_rows(C).check().arrays[0]
            self._learner.widen(C, self._columns)
            self._columns += C.shape[1]
        return self

    def _expect_left(self, method):
        if not self.keep_left:
            raise ParameterError(f"{method} needs OnlineSVD(..., keep_left=True)")


def index(row):
    """The number of a row, as an int."""
    try:
        return operator.index(row)
    except TypeError:
        raise DataError(f"row {row!r}: must be a whole number") from None
