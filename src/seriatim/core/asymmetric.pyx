"""A frame for binary methods that treat the positive and the negative class differently."""

import numpy as np

from libc.stdlib cimport free

from seriatim.core.learner cimport Learner
from seriatim.core.memory cimport resize
from seriatim.core.row cimport dot, within

from seriatim.core.recolumn import RecordArray
from seriatim.errors import ModelError


cdef class AsymmetricLearner(LinearLearner):
    """A binary classifier for which (-w, -y) is not equivalent to (w, y).

    While the stream has shown only one label, that label may turn out to be positive or negative. Until then the
    learner has two weight vectors, one for either case. So the result does not depend on the names of the labels.
    """

    NUMBERS = (*LinearLearner.NUMBERS, "turned_updates")

    def __init__(self):
        LinearLearner.__init__(self)
        self.begin()

    def __dealloc__(self):
        free(self.turned)

    # ---- a subclass overrides these

    cdef bint step(self, const Row* x, double y, double f, double* w) noexcept nogil:
        """Update the weights w with an example of score f; return whether w has changed."""
        return False

    cdef double initial(self, Py_ssize_t row) noexcept nogil:
        """The initial weight of a record."""
        return 0

    # ---- the frame

    def begin(self):
        """Set all weights to their initial values."""
        cdef Py_ssize_t row
        self.grow(self.table.rows)
        for row in range(self.table.rows):
            self.table.data[row] = self.initial(row)
            if not self.told:
                self.turned[row] = self.table.data[row]

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t row, before = self.table.rows
        if not self.told and rows > self.turned_room:
            if resize(<void**> &self.turned, max(rows, 2 * self.turned_room), sizeof(double)) < 0:
                raise MemoryError(f"no memory for {rows} features")
            self.turned_room = max(rows, 2 * self.turned_room)
        self.table.grow(rows)
        for row in range(before, self.table.rows):
            self.table.data[row] = self.initial(row)
            if not self.told:
                self.turned[row] = self.table.data[row]
        return 0

    cdef double product(self, const Row* x, const double* w) noexcept nogil:
        """The score; the initial intercept counts even if the intercept is not learned."""
        return self.scale * (dot(x, w, 1) + (1 - x.constant) * w[0])

    cdef double score(self, const Row* x) noexcept nogil:
        cdef Row known = within(x, self.table.rows)
        return self.product(&known, self.table.data)

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = self.product(x, self.table.data)
        if x.norm2 > 0:
            self.updates += self.step(x, y, f, self.table.data)
            if not self.told:
                self.turned_updates += self.step(x, -y, self.product(x, self.turned), self.turned)
        return f

    def introduce(self, told):
        """Once both labels are known, discard the second vector."""
        if told:
            free(self.turned)
            self.turned, self.turned_room, self.told, self.turned_updates = NULL, 0, True, 0

    def reclass(self, source, factor):
        """The only label so far becomes the other class: swap the two vectors."""
        cdef Py_ssize_t row
        Learner.reclass(self, source, factor)
        for row in range(0 if self.told else self.table.rows):
            self.table.data[row], self.turned[row] = self.turned[row], self.table.data[row]
        self.updates, self.turned_updates = self.turned_updates, self.updates

    def column_arrays(self):
        return {**LinearLearner.column_arrays(self), "turned": RecordArray()}

    def state(self):
        turned = np.empty((0 if self.told else self.table.rows, 1))
        for row in range(len(turned)):
            turned[row, 0] = self.turned[row]
        return {**LinearLearner.state(self), "turned": turned}

    def restore(self, state):
        cdef const double[:, :] turned = state["turned"]
        cdef Py_ssize_t row
        if state["w"].shape[1] != 1 or turned.shape[1] != 1:
            raise ModelError("weights of more than two labels")
        if turned.shape[0] != (0 if self.told else len(state["w"])):
            raise ModelError(f"{turned.shape[0]} turned weights of {len(state['w'])}")
        self.grow(len(state["w"]))
        LinearLearner.restore(self, state)
        for row in range(turned.shape[0]):
            self.turned[row] = turned[row, 0]
        if self.turned_updates > self.t:
            raise ModelError(f"{self.turned_updates} updates in {self.t} rounds")
