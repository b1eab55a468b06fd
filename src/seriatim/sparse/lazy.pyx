"""Lazy updates: the base class of sparse learners whose weights are computed when a row needs them."""

import numpy as np

from seriatim.core.learner cimport Learner
from seriatim.core.row cimport within
from seriatim.core.table cimport Table

from seriatim.core.recolumn import ChosenRecords, ColumnCount
from seriatim.core.table import ascend
from seriatim.errors import ModelError


cdef class Lazy(LinearLearner):
    """A gradient method in which each weight is a function of its own record and of the round.

    A round may change all weights, but reads and writes only the records of its row. Computing a weight does not change
    its record, which is as the last step of that feature left it.
    """

    NUMBERS = Learner.NUMBERS
    SUMS = ()    # fields that are never negative

    def __init__(self, Gradient gradient, tuple fields, bint regression=False):
        self.table = Table(fields)
        self.gradient, self.regression = gradient, regression
        self.scale = 1
        self.weighted = True

    # ---- what a subclass writes

    cdef void products(self, const Row* x, Py_ssize_t column, int n, double* out) noexcept nogil:
        """x.w for n columns, with the weights of this round. n is 1 or 8: constants let the compiler keep the sums in
        registers."""

    cdef void push(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        """The update with the gradient -a x in one column."""

    cdef double length(self, double slope) noexcept nogil:
        """The `a` of `push` for a slope of the loss. A learner may multiply it by the learning rate of the round."""
        return slope

    # ---- a round

    cdef double score(self, const Row* x) noexcept nogil:
        cdef Row known = within(x, self.table.rows)
        cdef double f
        self.products(&known, 0, 1, &f)
        return f

    cdef void raw_scores(self, const Row* x, double* out) noexcept nogil:
        cdef Py_ssize_t k = 0
        cdef int n
        while k < self.classes:
            n = 8 if k + 8 <= self.classes else 1
            self.products(x, k, n, out + k)
            k += n

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double a, f
        self.products(x, 0, 1, &f)
        if x.norm2 > 0:
            a = self.length(self.gradient.slope(y - f if self.regression else 1 - y * f, self.weight))
            if a != 0:
                self.push(x, a if self.regression else a * y, 0)
                self.updates += 1
        self.end_round()
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t s
        cdef double a
        self.raw_scores(x, out)
        s = self.rival(y, out)
        if s >= 0 and x.norm2 > 0:
            a = self.length(self.gradient.slope(1 - (out[y] - out[s]), self.weight))
            if a != 0:
                self.push(x, a, y)
                self.push(x, -a, s)
                self.updates += 1
        self.end_round()

    # ---- weights and state

    def weights(self):
        array = np.empty((self.table.rows, self.classes))
        cdef double[:, ::1] view = array
        cdef int index
        cdef double one = 1
        cdef Py_ssize_t i, k
        cdef Row x = Row(&index, &one, 0, 1, 1)    # the constant alone, then each column alone
        for i in range(self.table.rows):
            index = <int> i - 1
            if i > 0:
                x.n, x.constant = 1, 0
            for k in range(self.classes):
                self.products(&x, k, 1, &view[i, k])
                view[i, k] += 0.0    # + 0.0: no negative zero
        return array

    def fields(self):
        """The fields of the table that belong to the state. Numbers that no longer matter are 0, as in a new record."""
        return {name: self.table.get(name) for name, _, _ in self.table.fields}

    def refresh(self):
        """Recompute what follows from the numbers and fields of a restored state."""

    def column_arrays(self):
        return {"records": ColumnCount(1), "index": ChosenRecords(tuple(self.fields()))}

    def state(self):
        """The records that differ from a new record, and their numbers."""
        fields = self.fields()
        used = np.zeros(self.table.rows, dtype=bool)
        for values in fields.values():
            used |= values.any(axis=1)
        index = np.flatnonzero(used)
        return {
            **Learner.state(self),
            "records": self.table.rows,
            "index": index,
            **{name: values[index] for name, values in fields.items()},
        }

    def restore(self, state):
        Learner.restore(self, state)
        cdef Py_ssize_t f, i, k, columns = self.table.classes
        cdef const double[:, ::1] values
        index, records, names = state["index"], state["records"], self.fields()
        if not ascend(index, records):
            raise ModelError(f"the record numbers do not ascend from 0 to below {records}")
        if any(state[name].shape != (len(index), columns) for name in names):
            raise ModelError("the fields of the feature table differ in shape")
        if any((state[name] < 0).any() for name in self.SUMS):
            raise ModelError(f"the sums {', '.join(self.SUMS)} have a negative number")
        self.grow(records)    # `grow` of the learner: it may own more than the table
        for f, (name, _, _) in enumerate(self.table.fields):
            if name in names:
                values = np.ascontiguousarray(state[name])
                for i in range(len(index)):
                    for k in range(columns):
                        self.table.data[<Py_ssize_t> index[i] * self.table.width + f * columns + k] = values[i, k]
        self.refresh()


def reclassed(old, source, factor):
    """The columns of a signed field after Table.reclass, if its initial value is 0."""
    new = np.zeros((len(old), len(source)))
    for k, (place, by) in enumerate(zip(source, factor)):
        if place >= 0:
            new[:, k] = by * old[:, place] + 0.0
    return new


def shared_out(sums, factor, double threshold):
    """Correct the sums of gradients that Table.reclass halved because a binary model became multiclass.

    The weights must halve. So the part of a sum above the threshold halves, and the part below it stays.
    """
    half = np.abs(factor) == 0.5
    size = 2 * np.abs(sums[:, half])
    sums[:, half] = np.copysign(np.where(size > threshold, (size + threshold) / 2, size), sums[:, half])
    return sums
