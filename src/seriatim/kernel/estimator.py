"""What the kernel machines share as Python objects: the kernel, and the support vectors."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Self

import numpy as np

from seriatim.core.rows import Rows
from seriatim.estimator import ONE, Absent, Classifier, Estimator
from seriatim.kernel.kernels import Kernel, KernelChoice, Width, chosen
from seriatim.parameters import Number, powers


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
        return self._undoing() if self._asks_python() else nullcontext()

    def _learn_number(self, x: dict[str, Any], y: float, weight: float) -> Self:
        with self._lock, self._careful():
            return super()._learn_number(x, y, weight)

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

    def _asks_python(self) -> bool:
        return callable(self.kernel) and not isinstance(self.kernel, Kernel)


class KernelClassifier(OneKernel, SupportClassifier):
    """A classifier with one kernel."""

    fixed = (*OneKernel.fixed, "classes")


class BudgetClassifier(KernelClassifier):
    """A classifier with one kernel and at most so many support vectors."""

    fixed = (*KernelClassifier.fixed, "budget")
    budget: Any = Number(100, least=1, below=10**9, integer=True, positional=True)
