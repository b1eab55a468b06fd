"""The Python classes that the kernel machines share: kernels and support vectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from typing import Any, Self

import numpy as np

from seriatim.core.rows import Rows
from seriatim.estimator import ONE, Absent, Classifier, Estimator
from seriatim.kernel.kernels import WIDE, Kernel, KernelChoice, Width, chosen
from seriatim.parameters import Number, powers

FIRST = 500  # a width from the data uses this many rows


def kept(rows: Rows) -> Rows:
    """A copy of rows. A stream may reuse the memory of the original for the next block."""
    arrays = rows.arrays
    copy = Rows.dense(*arrays) if len(arrays) == 1 else Rows.sparse(*arrays, rows.features).in_any_order()
    copy.names, copy.schema, copy.weights = rows.names, rows.schema, rows.weights
    return copy.check()


class SupportVectors(Estimator):
    """A model with support vectors and without a constant feature."""

    fit_intercept = False
    sparsify = densify = Absent()

    def _asks_python(self) -> bool:
        """Whether a kernel is a function of the user, which may raise at any time."""
        return False

    def _may_fail(self, y: Any) -> bool:
        return super()._may_fail(y) or self._asks_python()

    def _careful(self) -> Any:
        """A context that restores the model if a function of the user raises."""
        return self._undoing(BaseException) if self._asks_python() else nullcontext()

    def _learn_number(self, x: dict[str, Any], y: float, weight: float) -> Self:
        with self._lock, self._careful():
            return super()._learn_number(x, y, weight)

    def progress_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Any:
        with self._lock, self._careful():
            return super().progress_one(x, y, weight)

    # Learning moves support vectors without the interpreter lock, so reading them needs the lock of the model.

    @property
    def n_support_(self) -> int:
        """The number of support vectors."""
        with self._lock:
            return self._fitted().support_vectors

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, as rows of a SciPy CSR matrix."""
        from scipy.sparse import csr_matrix

        with self._lock:
            start, index, value = self._fitted().support_rows()
        return csr_matrix((value, index, start), shape=(len(start) - 1, self.n_columns))

    @property
    def dual_coef_(self) -> np.ndarray:
        """The coefficients, of shape (1, support vectors) if binary, else (classes, support vectors)."""
        with self._lock:
            return self._fitted().coefficients()


class SupportClassifier(SupportVectors, Classifier):
    """A classifier with support vectors."""

    fixed = (*SupportVectors.fixed, "classes")

    def learn_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name, its label, and its sample weight."""
        with self._lock, self._careful():
            return super().learn_one(x, y, weight)


class OneKernel(SupportVectors):
    """A model with one kernel, given as a name, an object or a function."""

    fixed = (*Estimator.fixed, "kernel", "sigma", "degree", "c")
    kernel: Any = KernelChoice("gaussian", positional=True)
    sigma: Any = Width(1.0, above=0, search=powers(-2, 6, 2))
    degree: Any = Number(3, least=1, most=100, integer=True)
    c: Any = Number(1.0, least=0)

    def _kernel(self) -> dict[str, Any]:
        """The kernel as arguments of the compiled machine."""
        return chosen(self.kernel, self.sigma, self.degree, self.c)

    def _own(self, rows: Rows, learning: bool) -> Rows:
        first = learning and self._learner.t == 0
        if first:
            self._learner.expect_width(rows.n)  # before the names are added
        rows = super()._own(rows, learning)
        if first:
            self._learner.take_width(rows)
        return rows

    def prepared(self, blocks: Iterator[tuple[Rows, Any]]) -> Iterator[tuple[Rows, Any]]:
        """Take the width from the first 500 rows, for any division of the stream into blocks."""
        self.check()
        if self._kernel()["waiting"] is None or (self._learner is not None and self._learner.width):
            return blocks
        first: list[tuple[Rows, Any]] = []
        while sum(rows.n for rows, _ in first) < FIRST and (block := next(blocks, None)) is not None:
            first.append((kept(block[0]), block[1]))
        own: list[Rows] = []
        fresh = type(self)(**self.get_params())  # adds names and scales in place of this model
        for rows, _ in first:
            fresh.begin(rows)
            own.append(super(OneKernel, fresh)._own(rows.slice(0, min(rows.n, FIRST)), learning=True))
        if sum(rows.n for rows in own) > 1:
            self._start()
            self._learner.take_width(*own)
        return chain(first, blocks)

    @property
    def sigma_(self) -> float:
        """The width of the kernel: `sigma`, or the width that was found in the data."""
        width = self._fitted().width
        if width:
            return width
        width = getattr(self.kernel, "sigma", self.sigma if self.kernel in WIDE else None)
        if width is None:
            raise AttributeError(f"the kernel {self.kernel!r} has no width")
        return float(width)

    def _asks_python(self) -> bool:
        return callable(self.kernel) and not isinstance(self.kernel, Kernel)


class KernelClassifier(OneKernel, SupportClassifier):
    """A classifier with one kernel."""

    fixed = (*OneKernel.fixed, "classes")


class BudgetClassifier(KernelClassifier):
    """A classifier with one kernel and at most `budget` support vectors."""

    fixed = (*KernelClassifier.fixed, "budget")
    budget: Any = Number(100, least=1, below=10**9, integer=True, positional=True)
