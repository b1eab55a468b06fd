"""What the kernel machines share as Python objects: the kernel, and the support vectors."""

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

FIRST = 500  # rows that a width comes from


def kept(rows: Rows) -> Rows:
    """A copy of rows, whose memory a stream may use for the next ones."""
    arrays = rows.arrays
    copy = Rows.dense(*arrays) if len(arrays) == 1 else Rows.sparse(*arrays, rows.features).in_any_order()
    copy.names, copy.schema, copy.weights = rows.names, rows.schema, rows.weights
    return copy.check()


class SupportVectors(Estimator):
    """A model over the support vectors among the rows that it has seen. It has no constant feature."""

    fit_intercept = False
    sparsify = densify = Absent()

    def _asks_python(self) -> bool:
        """Whether a kernel is a function of the user's, which may fail at any time."""
        return False

    def _may_fail(self, y: Any) -> bool:
        return super()._may_fail(y) or self._asks_python()

    def _careful(self) -> Any:
        """What fails in a user's function leaves the model as it was."""
        return self._undoing(BaseException) if self._asks_python() else nullcontext()

    def _learn_number(self, x: dict[str, Any], y: float, weight: float) -> Self:
        with self._lock, self._careful():
            return super()._learn_number(x, y, weight)

    def progress_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Any:
        with self._lock, self._careful():
            return super().progress_one(x, y, weight)

    # Support vectors move while others are learned, and that is done without the interpreter lock.

    @property
    def n_support_(self) -> int:
        """Support vectors."""
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
        """Their coefficients, of shape (1, support vectors) for two labels, else (classes, support vectors)."""
        with self._lock:
            return self._fitted().coefficients()


class SupportClassifier(SupportVectors, Classifier):
    """A classifier over support vectors."""

    fixed = (*SupportVectors.fixed, "classes")

    def learn_one(self, x: dict[str, Any], y: Any, weight: float = ONE) -> Self:
        """Learn one example: a dict of features by name, its label, and its importance as in `partial_fit`."""
        with self._lock, self._careful():
            return super().learn_one(x, y, weight)


class OneKernel(SupportVectors):
    """With one kernel, given by name, as an object or as a function."""

    fixed = (*Estimator.fixed, "kernel", "sigma", "degree", "c")
    kernel: Any = KernelChoice("gaussian", positional=True)
    sigma: Any = Width(1.0, above=0, search=powers(-2, 6, 2))
    degree: Any = Number(3, least=1, most=100, integer=True)
    c: Any = Number(1.0, least=0)

    def _kernel(self) -> dict[str, Any]:
        """What a machine must be told of the kernel."""
        return chosen(self.kernel, self.sigma, self.degree, self.c)

    def _own(self, rows: Rows, learning: bool) -> Rows:
        first = learning and self._learner.t == 0
        if first:
            self._learner.expect_width(rows.n)  # before there are names
        rows = super()._own(rows, learning)
        if first:
            self._learner.take_width(rows)
        return rows

    def prepared(self, blocks: Iterator[tuple[Rows, Any]]) -> Iterator[tuple[Rows, Any]]:
        """A width is that of the first rows, however they are cut into blocks."""
        self.check()
        if self._kernel()["waiting"] is None or (self._learner is not None and self._learner.width):
            return blocks
        first: list[tuple[Rows, Any]] = []
        while sum(rows.n for rows, _ in first) < FIRST and (block := next(blocks, None)) is not None:
            first.append((kept(block[0]), block[1]))
        own: list[Rows] = []
        fresh = type(self)(**self.get_params())  # which meets names and scales that this model has yet to meet
        for rows, _ in first:
            fresh.begin(rows)
            own.append(super(OneKernel, fresh)._own(rows.slice(0, min(rows.n, FIRST)), learning=True))
        if sum(rows.n for rows in own) > 1:
            self._start()
            self._learner.take_width(*own)
        return chain(first, blocks)

    @property
    def sigma_(self) -> float:
        """The width of the kernel, where it has one: `sigma`, or what was found in its place."""
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
    """A classifier with one kernel and at most so many support vectors."""

    fixed = (*KernelClassifier.fixed, "budget")
    budget: Any = Number(100, least=1, below=10**9, integer=True, positional=True)
