"""What the learners of `OnlineSVD` and `IncrementalPCA` share: a subspace that learns single rows or blocks of rows."""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals

from seriatim.core.representation cimport Representation
from seriatim.core.reservoir cimport Reservoir
from seriatim.core.row cimport Row
from seriatim.decomposition.subspace cimport Subspace

from seriatim.core.recolumn import ColumnArray, ColumnCount, SparseRows
from seriatim.errors import ModelError


cdef class ComponentsLearner(Representation):
    """Learns each row when it arrives, or lets rows wait until their block is complete."""

    def __init__(self, Py_ssize_t rank, double threshold, block, bint keep_left=False):
        self.block = block or 0
        self.space = Subspace(rank, threshold, self.block, keep_left)
        self.waiting = Reservoir(self.block)
        self.apart = True    # the update does not compute the loss

    # ---- what a subclass writes, beside `score` and `code`

    cdef int update(self, const Row* x) noexcept nogil:
        """Learn a row. Returns -1 after an error in `keep` or in the space; then nothing has changed."""
        return 0

    def end_block(self):
        """Learn the waiting rows."""

    # ---- learning

    cdef int grow(self, Py_ssize_t rows) except -1:
        return self.space.grow(rows)

    cdef Py_ssize_t outputs(self) noexcept nogil:
        return self.space.rank

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        if (self.view is not None or self.t & 255 == 0) and self.interrupted():
            return 0
        if not self.block:
            if self.update(x) < 0:
                self.undo()
        elif self.waiting.put(self.waiting.n, x) < 0:
            self.undo()
        else:
            self.waiting.n += 1
            if self.waiting.n == self.block:
                self.close()
        self.updates = self.t
        return 0

    cdef void undo(self) noexcept with gil:
        """This round has not learned its row."""
        self.t -= 1
        if self.failed:
            return
        try:
            self.space.raise_error()
        except BaseException as error:
            self.keep(error)

    cdef bint interrupted(self) noexcept with gil:
        """Drop the view, and ask for signals. Returns True, and undoes the round, after Ctrl-C."""
        self.view = None
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            self.t -= 1
            self.keep(error)
            return True
        return False

    cdef void close(self) noexcept with gil:
        """The block is complete. After an error its last row does not wait, as if it had not arrived."""
        try:
            PyErr_CheckSignals()
            self.end_block()
        except BaseException as error:
            self.waiting.n -= 1
            self.t -= 1
            self.keep(error)

    # ---- what users see

    def settled(self, Py_ssize_t rows=0):
        """A copy that has learned the waiting rows; the learner itself if none wait and `collapsed` is not set.

        Whether it is a copy does not depend on `rows`: a collapsed space gives other last bits.
        """
        cdef ComponentsLearner copy
        if self.waiting.n == 0 and not self.collapsed:
            return self
        if self.view is None:
            copy = type(self)(*self.arguments)
            copy.constant = self.constant
            copy.restore(self.state())
            copy.end_block()
            copy.space.collapse()
            self.view = copy
        return self.view

    def values(self):
        """The singular values, and 0 for each direction not found yet."""
        values = np.zeros(self.space.rank)
        values[:self.space.k] = self.space.values()
        return values

    def directions(self, Py_ssize_t features):
        """The directions, of shape (rank, features)."""
        directions = np.zeros((self.space.rank, features))
        V = self.space.directions()
        directions[:V.shape[1], :len(V)] = V.T
        return directions

    # ---- state

    def column_arrays(self):
        waiting = {"waiting_": SparseRows()} if self.block else {}
        basis = {"records": ColumnCount(1), "used": ColumnCount(), "B": ColumnArray()}
        return {**basis, "pending_": SparseRows(), **waiting}

    def state(self):
        state = {**Representation.state(self), **self.space.state(), "records": self.space.basis.rows}
        if self.block:
            state |= {f"waiting_{name}": array for name, array in self.waiting.state().items()}
            # Model files hold finite numbers only. No stored value is 0, so 0 stands for a missing value.
            np.nan_to_num(state["waiting_value"], copy=False)
        return state

    def restore(self, state):
        Representation.restore(self, state)
        if state["records"] != len(state["B"]) + 1:
            raise ModelError(f"{state['records']} records of a basis of {len(state['B'])} features")
        waiting = Reservoir(self.block)
        if self.block:
            value = state["waiting_value"]
            rows = {"start": state["waiting_start"], "index": state["waiting_index"],
                    "value": np.where(value == 0, np.nan, value) if self.missing else value}
            waiting.restore(rows, len(state["B"]))
            if waiting.n >= self.block or waiting.n > self.t:
                raise ModelError(f"{waiting.n} rows wait for a block of {self.block}")
        self.waiting = waiting
        self.space.restore(state, self.t - waiting.n)
        self.view = None
