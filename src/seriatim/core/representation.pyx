"""What learners without labels have in common: a loss of each row, and what each becomes."""

import numpy as np

from seriatim.core.vocabulary cimport Vocabulary

from seriatim.core.learner import as_dict


cdef class Representation(Learner):
    """Rows become shorter ones. `score` is the loss of a row, at least 0, and `learn` gives it before the update."""

    # ---- what a subclass writes, beside `score` and `learn`

    cdef Py_ssize_t outputs(self) noexcept nogil:
        """How many numbers a row becomes."""
        return 0

    cdef void code(self, const Row* x, double* out) noexcept nogil:
        """What a row becomes."""

    def settled(self, Py_ssize_t rows=0):
        """Itself, or a learner with what it would be if its open batch ended here: that is what users see.

        `rows` are about to be looked at: what helps with each of many may be done once for all of them."""
        return self

    def code_one(self, Vocabulary names, features):
        """What a dict becomes."""
        cdef Row x
        names.encode(features if type(features) is dict else as_dict(features), False, self.constant, &x)
        if self.particular:
            self.expect(&x, None)
        self.grow(len(names.names) + 1)    # names may be known before the first row that has them
        result = np.zeros(self.outputs())
        cdef double[::1] out = result
        if out.shape[0]:
            self.code(&x, &out[0])
        self.check_memory()
        return result

    # ---- errors

    cdef void keep(self, error) noexcept:
        """Something went wrong in a round, which was not learned."""
        self.failed = True
        self.error = None if isinstance(error, MemoryError) else error

    def check_memory(self):
        if self.failed and self.error is not None:
            error, self.error, self.failed = self.error, None, False
            raise error
        Learner.check_memory(self)
