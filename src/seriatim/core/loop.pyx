"""The only loop over the rows of a block: predict, reveal, learn.

It checks for signals, releases the interpreter lock, waits for rows that another thread checks, and refuses rows and
targets that are out of bounds.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memcpy

import numpy as np

from seriatim.core.representation cimport Representation
from seriatim.core.rows cimport Rows

cdef Py_ssize_t BETWEEN_SIGNALS = 1 << 16    # rows between two checks for Ctrl-C
cdef Py_ssize_t CODES_BETWEEN_SIGNALS = 1 << 10    # rows to transform between two checks
cdef Py_ssize_t HELD = 256    # scores that are passed to a sink together
cdef Py_ssize_t FEW = 32      # below 32 rows, releasing and re-acquiring the GIL costs more than learning


cdef class Sink:
    """Receives what a learner predicted of each row before its target was revealed.

    The rows come in segments; a new label begins a new segment. Within a segment the learner's classes, or its signs,
    stand for the same labels.
    """

    def segment(self, labels, list seen, bint fresh):
        """Announce a segment.

        labels : the labels of the classes or signs; None for regression.
        seen : the positions of the labels that can be predicted.
        fresh : whether the label of the first row was unknown when the row was predicted.
        """

    cdef int begin(self, Learner learner, Py_ssize_t classes, Py_ssize_t n) except -1:
        """Prepare for n rows with `classes` scores each. `learner` is None if a model in Python pushes the scores."""
        return 0

    cdef Py_ssize_t wants(self, Py_ssize_t left) noexcept nogil:
        """How many of the `left` rows may be learned before the next call of `take`; at least 1."""
        return left

    cdef void take(self, const double* y, const double* scores, Py_ssize_t n) noexcept nogil:
        """Receive the targets of the next n rows, and their scores before they were learned."""

    cdef void end(self) noexcept:
        """The segment is finished."""

    def push(self, const double[::1] y, const double[:, ::1] scores):
        """Take the targets and scores of a segment from a model that loops over other models."""
        cdef Py_ssize_t i = 0, n = y.shape[0], some
        if scores.shape[0] != n or scores.shape[1] < 1:
            raise ValueError(f"{scores.shape[0]} x {scores.shape[1]} scores for {n} targets")
        self.begin(None, scores.shape[1], n)
        while i < n:
            some = self.wants(n - i)
            self.take(&y[i], &scores[i, 0], some)
            i += some
        self.end()


cdef class Scores(Sink):
    """A sink that stores each segment as (labels, seen, fresh, y, scores)."""

    def __init__(self):
        self.segments = []

    def segment(self, labels, list seen, bint fresh):
        self.segments.append((labels, seen, fresh))

    cdef int begin(self, Learner learner, Py_ssize_t classes, Py_ssize_t n) except -1:
        self.y, self.room, self.filled = np.empty(n), np.empty((n, classes)), 0
        return 0

    cdef void take(self, const double* y, const double* scores, Py_ssize_t n) noexcept nogil:
        memcpy(&self.y[self.filled], y, n * sizeof(double))
        memcpy(&self.room[self.filled, 0], scores, n * self.room.shape[1] * sizeof(double))
        self.filled += n

    cdef void end(self) noexcept:
        y, scores = np.asarray(self.y)[:self.filled], np.asarray(self.room)[:self.filled]
        self.segments.append((*(self.segments.pop() if self.segments else (None, [], False)), y, scores))


def learn(Learner learner, Rows rows, const double[::1] y, Py_ssize_t start=0, Sink sink=None, Py_ssize_t delay=0):
    """Learn rows start, start + 1, ... with targets y. `learner.learned` counts them, whatever ends the loop.

    sink : receives the scores of each row before the row is learned.
    delay : with a delay, row i + delay is predicted just before row i is learned.
    """
    cdef Py_ssize_t stop, n = y.shape[0]
    cdef const double* targets = &y[0] if n else NULL
    cdef double[:, ::1] room = None
    rows.expect_checked()
    if start < 0 or delay < 0 or start + n + delay > rows.n:
        raise IndexError(f"rows {start}..{start + n + delay} of {rows.n}")
    if learner.classes > 1 and n and not 0 <= np.min(y) <= np.max(y) < learner.classes:
        raise ValueError(f"a class that is not one of {learner.classes}")
    learner.grow(rows.features + 1)
    learner.begin_rows(n)
    learner.learned = 0
    try:
        if sink is not None:
            room = np.empty((max(1, HELD // learner.classes), learner.classes))
            sink.begin(learner, learner.classes, n)
        while learner.learned < n:
            PyErr_CheckSignals()
            stop = min(n, learner.learned + BETWEEN_SIGNALS)
            if stop - learner.learned > FEW:
                with nogil:
                    rounds(learner, rows, targets, start, stop, sink, room, delay)
            else:
                rounds(learner, rows, targets, start, stop, sink, room, delay)
            learner.check_memory()
            if learner.learned < n and rows.pace != NULL:
                rows.expect_more(start + learner.learned)
    finally:
        learner.end_rows()
        if sink is not None:
            sink.end()


cdef void rounds(Learner learner, Rows rows, const double* y, Py_ssize_t start, Py_ssize_t stop, Sink sink,
                 double[:, ::1] room, Py_ssize_t delay) noexcept nogil:
    """Learn up to row start + stop, or until a round fails or halts, or the next row is unchecked."""
    cdef Py_ssize_t begin, end
    stop = rows.ready(start + learner.learned, start + stop) - start
    while learner.learned < stop and not learner.failed and not learner.halted:
        begin, end = learner.learned, stop
        if sink is None:
            some_rounds(learner, rows, y, start, end, NULL, 0)
        else:
            # A sink judges many rows at once, in a loop whose sums stay in registers.
            end = begin + min(room.shape[0], sink.wants(end - begin))
            some_rounds(learner, rows, y, start, end, &room[0, 0], delay)
            sink.take(y + begin, &room[0, 0], learner.learned - begin)
    learner.weight = 1


cdef inline void some_rounds(Learner learner, Rows rows, const double* y, Py_ssize_t start, Py_ssize_t end,
                             double* scores, Py_ssize_t delay) noexcept nogil:
    cdef Py_ssize_t i
    cdef Row x
    for i in range(learner.learned, end):
        if delay and scores != NULL:
            rows.get(start + i + delay, learner.constant, &x)
            learner.predict(&x, scores)
        rows.get(start + i, learner.constant, &x)
        if rows.weight != NULL:
            learner.weight = rows.weight[start + i]
        learner.at = i
        learner.round(&x, y[i], NULL if delay else scores)
        if learner.failed:
            break
        learner.learned += 1
        if learner.halted:
            break
        if scores != NULL:
            scores += learner.classes


def score(Learner learner, Rows rows):
    """The scores of each row, in an array of shape (rows, classes)."""
    cdef Py_ssize_t i, stop, begin = 0
    cdef Row x
    rows.expect_checked()
    result = np.empty((rows.n, learner.classes))
    cdef double[:, ::1] out = result
    learner.begin_rows(rows.n)
    try:
        while begin < rows.n:
            PyErr_CheckSignals()
            stop = min(rows.n, begin + BETWEEN_SIGNALS)
            with nogil:
                for i in range(begin, stop):
                    rows.get(i, learner.constant, &x)
                    learner.at = i
                    learner.predict(&x, &out[i, 0])
            begin = stop
            learner.check_memory()
    finally:
        learner.end_rows()
    return result


def transform(Representation learner, Rows rows):
    """The transformed rows, in an array of shape (rows, outputs)."""
    cdef Py_ssize_t i, stop, begin = 0
    cdef Row x
    rows.expect_checked()
    result = np.zeros((rows.n, learner.outputs()))
    if not result.size:
        return result
    cdef double[:, ::1] out = result
    while begin < rows.n:
        PyErr_CheckSignals()
        stop = min(rows.n, begin + CODES_BETWEEN_SIGNALS)
        with nogil:
            for i in range(begin, stop):
                rows.get(i, learner.constant, &x)
                learner.code(&x, &out[i, 0])
        begin = stop
        learner.check_memory()
    return result
