"""The loop over rows: predict, reveal, learn. No other code hands the rows of a block to a learner.

For every learner it asks for signals, releases the interpreter, waits for rows that another thread checks, and refuses
rows and targets that are out of bounds.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memcpy

import numpy as np

from seriatim.core.representation cimport Representation
from seriatim.core.rows cimport Rows

cdef Py_ssize_t BETWEEN_SIGNALS = 1 << 16    # rows
cdef Py_ssize_t CODES_BETWEEN_SIGNALS = 1 << 10
cdef Py_ssize_t HELD = 256    # scores that wait for their sink
cdef Py_ssize_t FEW = 32      # rows; for fewer, releasing and taking back the interpreter costs more than learning


cdef class Sink:
    """Receives what a learner predicted of each row before its target was revealed.

    The rows come in segments: a new label begins one. In each the classes of the learner, or its signs, stand for the
    same labels.
    """

    def segment(self, labels, list seen, bint fresh):
        """Announce a segment.

        labels : what the classes or signs stand for; None where numbers are predicted.
        seen : the positions of those labels that can be predicted.
        fresh : the first row has a label that was not known when the row was predicted.
        """

    cdef int begin(self, Learner learner, Py_ssize_t classes, Py_ssize_t n) except -1:
        """Make ready for n rows with so many scores each; `learner` is None if a model in Python pushes them."""
        return 0

    cdef Py_ssize_t wants(self, Py_ssize_t left) noexcept nogil:
        """How many of the rows that are left may be learned before the next call of `take`, at least 1."""
        return left

    cdef void take(self, const double* y, const double* scores, Py_ssize_t n) noexcept nogil:
        """The next n rows have been learned: their targets, and the scores before."""

    cdef void end(self) noexcept:
        """No more rows of this segment come."""

    def push(self, const double[::1] y, const double[:, ::1] scores):
        """Take the targets and scores of a segment from a model that has a loop of its own, around other models."""
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
    """Keeps the targets and scores of each segment, as (labels, seen, fresh, y, scores)."""

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
    """Learn rows start, start + 1, ... with targets y; `learner.learned` says how many, whatever ends it.

    sink : receives the scores of each row before it is learned.
    delay : the scores are those of row i + delay, predicted when row i is about to be learned.
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
    """The rounds up to row start + stop, or to the first that fails or halts, or has not been checked yet."""
    cdef Py_ssize_t begin, end
    stop = rows.ready(start + learner.learned, start + stop) - start
    while learner.learned < stop and not learner.failed and not learner.halted:
        begin, end = learner.learned, stop
        if sink is None:
            some_rounds(learner, rows, y, start, end, NULL, 0)
        else:
            # The rows of a sink are judged together, in a loop whose sums stay in registers.
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
    """What the rows become, in an array of shape (rows, outputs)."""
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
