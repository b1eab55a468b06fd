"""The frame of learners without labels: each row has a loss and a transformed row, its code."""

import numpy as np

from seriatim.core.learner cimport DictReader


cdef class Representation(Learner):
    """Transforms rows. `score` is the loss of a row, at least 0; `learn` returns the loss before the update."""

    # ---- a subclass defines these, `score` and `learn`

    cdef Py_ssize_t outputs(self) noexcept nogil:
        """The length of a transformed row."""
        return 0

    cdef void code(self, const Row* x, double* out) noexcept nogil:
        """Write the transformed row to `out`."""

    def settled(self, Py_ssize_t rows=0):
        """The learner as users see it: itself, or a copy in which the open batch is finished.

        rows : how many rows will be scored or transformed; for many rows the learner may prepare."""
        return self

    def code_one(self, DictReader reader, features):
        """The transformed row of a dict."""
        cdef Row x
        cdef double[::1] out
        reader.begin()
        try:
            reader.read(features)
            reader.show(False, self.constant, &x)
            if self.particular:
                self.expect(&x, None)
            self.grow(reader.columns() + 1)    # names may be known before the first row that has them
            out = result = np.zeros(self.outputs())
            if out.shape[0]:
                self.code(&x, &out[0])
            self.check_memory()
            return result
        finally:
            reader.busy = False

    # ---- errors

    cdef void keep(self, error) noexcept:
        """Store an error of a round, which was not learned, for `check_memory` to raise."""
        self.failed = True
        self.error = None if isinstance(error, MemoryError) else error

    def check_memory(self):
        if self.failed and self.error is not None:
            error, self.error, self.failed = self.error, None, False
            raise error
        Learner.check_memory(self)
