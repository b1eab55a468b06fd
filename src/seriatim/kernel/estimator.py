"""What the kernel machines share as Python objects: the kernel, and the support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from seriatim.core.rows import Rows
from seriatim.estimator import Absent, Classifier, Estimator
from seriatim.kernel.kernels import KernelChoice, Width, chosen
from seriatim.parameters import Number, powers


class SupportVectors(Estimator):
    """A model over the support vectors among the rows that it has seen. It has no constant feature."""

    fit_intercept = False
    sparsify = densify = Absent()

    @property
    def n_support_(self) -> int:
        """Support vectors."""
        return self._fitted().support_vectors

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, as rows of a SciPy CSR matrix."""
        from scipy.sparse import csr_matrix

        start, index, value = self._fitted().support_rows()
        return csr_matrix((value, index, start), shape=(len(start) - 1, self.n_columns))

    @property
    def dual_coef_(self) -> np.ndarray:
        """Their coefficients, of shape (1, support vectors) for two labels, else (classes, support vectors)."""
        return self._fitted().coefficients()


class OneKernel(SupportVectors):
    """With one kernel, given by name, as an object or as a function."""

    fixed = (*Estimator.fixed, "kernel", "sigma", "degree", "c")
    kernel: Any = KernelChoice("gaussian", positional=True)
    sigma: Any = Width(1.0, above=0, search=powers(-3, 6))
    degree: Any = Number(3, least=1, most=100, integer=True)
    c: Any = Number(1.0, least=0)

    def _kernel(self) -> dict[str, Any]:
        """What a machine must be told of the kernel."""
        return chosen(self.kernel, self.sigma, self.degree, self.c)

    def _own(self, rows: Rows, learning: bool) -> Rows:
        rows = super()._own(rows, learning)
        if learning and self._learner.t == 0:
            self._learner.take_width(rows)
        return rows

    def _may_fail(self, y: Any) -> bool:
        return super()._may_fail(y) or callable(self.kernel)


class KernelClassifier(OneKernel, Classifier):
    """A classifier with one kernel."""

    fixed = (*OneKernel.fixed, "classes")


class BudgetClassifier(KernelClassifier):
    """A classifier with one kernel and at most so many support vectors."""

    fixed = (*KernelClassifier.fixed, "budget")
    budget: Any = Number(100, least=1, integer=True, positional=True)
