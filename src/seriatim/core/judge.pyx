"""What predictions were worth: of each example what was predicted and what that cost, and the sums over a run.

Labels are known here by their position among those that a model knows.
"""

cimport cython
from libc.math cimport INFINITY

import numpy as np

from seriatim.core.loss import LOSSES

from seriatim.core.loss cimport loss

cdef enum:
    CURVE_POINTS = 512

cdef Py_ssize_t LARGEST_CONFUSION = 1000    # labels, beyond which nobody could read the matrix


cdef Py_ssize_t lengths(const double[::1] y, const double[:, ::1] scores, Py_ssize_t columns) except -1:
    """The number of examples; what is read below is within bounds."""
    if scores.shape[0] != y.shape[0] or scores.shape[1] < columns:
        raise ValueError(f"{scores.shape[0]} x {scores.shape[1]} scores for {y.shape[0]} targets")
    return y.shape[0]


@cython.boundscheck(False)
@cython.wraparound(False)
def judge_signs(str name, const double[::1] y, const double[:, ::1] scores, double epsilon, bint fresh=False):
    """What is true, what a binary model predicted, and its loss; y is -1 and +1, the positions are 0 and 1.

    A `fresh` first example has a label that was not known, so that the other one was predicted.

    >>> [part.tolist() for part in judge_signs("hinge", np.array([1.0, -1.0]), np.array([[0.5], [0.0]]), 0.0)]
    [[1, 0], [1, 1], [0.5, 1.0]]
    """
    cdef int kind = LOSSES.index(name)
    cdef Py_ssize_t i, n = lengths(y, scores, 1)
    truth, predicted, losses = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
    cdef int[::1] true = truth
    cdef int[::1] guess = predicted
    cdef double[::1] cost = losses
    with nogil:
        for i in range(n):
            true[i] = y[i] > 0
            guess[i] = scores[i, 0] >= 0
            cost[i] = loss(kind, 1 - y[i] * scores[i, 0], epsilon)
        if fresh and n:
            guess[0] = 1 - true[0]
    return truth, predicted, losses


@cython.boundscheck(False)
@cython.wraparound(False)
def judge_classes(str name, const double[::1] y, const double[:, ::1] scores, list seen, double epsilon,
                  bint fresh=False):
    """The same of a multiclass model: the highest score predicts, and the margin is that over the strongest rival.

    Only those seen compete. -1: nothing could be predicted.

    >>> scores = np.array([[0.0, 3.0, 1.0], [2.0, 9.0, 2.0]])
    >>> [part.tolist() for part in judge_classes("hinge", np.array([2.0, 0.0]), scores, [0, 2], 0.0)]
    [[2, 0], [2, 0], [0.0, 1.0]]
    """
    cdef int kind = LOSSES.index(name)
    cdef Py_ssize_t i, j, k, best, strongest, right, competing = len(seen)
    cdef Py_ssize_t n = lengths(y, scores, max(seen, default=0) + 1)
    cdef double rival
    cdef Py_ssize_t[::1] among = np.array(seen, dtype=np.intp)
    if not seen or min(seen) < 0 or (n and not 0 <= np.min(y) <= np.max(y) < scores.shape[1]):
        raise ValueError(f"a class that is not one of {scores.shape[1]}")
    truth, predicted, losses = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
    cdef int[::1] true = truth
    cdef int[::1] guess = predicted
    cdef double[::1] cost = losses
    with nogil:
        for i in range(n):
            best, right, strongest, rival = among[0], <Py_ssize_t> y[i], -1, -INFINITY
            for j in range(competing):
                k = among[j]
                if scores[i, k] > scores[i, best]:
                    best = k
                if k != right and scores[i, k] > rival:
                    strongest, rival = k, scores[i, k]
            true[i], guess[i] = <int> right, <int> (strongest if fresh and i == 0 else best)
            cost[i] = loss(kind, 1 - (scores[i, right] - (rival if competing > 1 else 0)), epsilon)
    return truth, predicted, losses


@cython.boundscheck(False)
@cython.wraparound(False)
def judge_numbers(str name, const double[::1] y, const double[:, ::1] scores, double epsilon):
    """The losses of predicted numbers.

    >>> judge_numbers("squared", np.array([1.0, 3.0]), np.array([[0.0], [3.0]]), 0.0).tolist()
    [0.5, 0.0]
    """
    cdef int kind = LOSSES.index(name)
    cdef Py_ssize_t i, n = lengths(y, scores, 1)
    losses = np.empty(n)
    cdef double[::1] cost = losses
    with nogil:
        for i in range(n):
            cost[i] = loss(kind, y[i] - scores[i, 0], epsilon)
    return losses


cdef class Tally:
    """Mistakes, loss and confusions of a run so far, and what the sums were at the places of its curve.

    The places are those of `at`, or every so many examples, or up to 512 evenly spaced ones: when there are more, every
    other one goes. They do not depend on how the run is divided.

    >>> tally = Tally(every=2)
    >>> tally.take(np.array([0, 1, 1], np.int32), np.array([1, 1, 0], np.int32), np.ones(3), ["ham", "spam"])
    >>> tally.examples, tally.mistakes, tally.loss, tally.counts.tolist(), [part.tolist() for part in tally.curve()]
    (3, 2, 3.0, [[0, 1], [1, 1]], [[2], [1], [2.0]])
    """

    cdef readonly long long examples, mistakes
    cdef readonly double loss
    cdef readonly list labels    # of the counts: those of the last examples, and others that came before
    cdef readonly object counts
    cdef object at, held, last
    cdef long long spacing, next
    cdef bint thinning    # a place for which there is no room makes every other one go
    cdef Py_ssize_t count

    def __init__(self, at=None, every=None):
        self.labels, self.counts = [], np.zeros((0, 0), np.int64)
        self.at = None if at is None else np.ascontiguousarray(np.unique(at), np.int64)
        self.thinning = every is None and at is None
        self.spacing = 1 if every is None else every
        self.next = self.spacing
        if self.at is not None:
            self.next = self.at[0] if len(self.at) else -1
        self.held = np.empty(CURVE_POINTS, np.int64), np.empty(CURVE_POINTS, np.int64), np.empty(CURVE_POINTS)

    def curve(self):
        """The places, and the mistakes and loss until then."""
        return tuple(part[:self.count].copy() for part in self.held)

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def take(self, const int[::1] truth, const int[::1] predicted, const double[::1] losses, list labels):
        """The next examples: positions in `labels` of what is true and predicted, or none of either, and losses."""
        cdef Py_ssize_t i, n = losses.shape[0], known = truth.shape[0], size
        cdef long long t = self.examples, mistakes = self.mistakes
        cdef double total = self.loss
        if known not in (0, n) or predicted.shape[0] != known:
            raise ValueError("what is true, predicted and lost differ in length")
        if labels is not self.last:
            self.relabel(labels)
            self.last = labels
        self.make_room(n)
        size = self.counts.shape[0]
        cdef long long[:, ::1] counts = self.counts
        cdef long long[::1] places, wrong
        cdef double[::1] cost
        places, wrong, cost = self.held
        with nogil:
            for i in range(n):
                t += 1
                total += losses[i]
                if known:
                    mistakes += truth[i] != predicted[i]
                    if 0 <= predicted[i] < size and 0 <= truth[i] < size:
                        counts[truth[i], predicted[i]] += 1
                if t == self.next and self.placed(t, places, wrong, cost):
                    places[self.count], wrong[self.count], cost[self.count] = t, mistakes, total
                    self.count += 1
                    self.next = self.following(t)
        self.examples, self.mistakes, self.loss = t, mistakes, total

    cdef bint placed(self, long long t, long long[::1] places, long long[::1] wrong, double[::1] cost) noexcept nogil:
        """Make room for one more place, and say whether it is to be one."""
        cdef Py_ssize_t i
        if not self.thinning or self.count < CURVE_POINTS:
            return True
        for i in range(CURVE_POINTS // 2):
            places[i], wrong[i], cost[i] = places[2 * i + 1], wrong[2 * i + 1], cost[2 * i + 1]
        self.count = CURVE_POINTS // 2
        self.spacing *= 2
        if t % self.spacing:
            self.next = self.following(t)
            return False
        return True

    cdef long long following(self, long long t) noexcept nogil:
        """The place after example t."""
        if self.at is None:
            return (t // self.spacing + 1) * self.spacing
        with gil:
            return self.at[self.count] if self.count < len(self.at) else -1

    def make_room(self, Py_ssize_t n):
        """For the places among n more examples."""
        if self.thinning:
            return
        most = len(self.at) if self.at is not None else self.count + n // self.spacing + 1
        if most > len(self.held[0]):
            self.held = tuple(np.concatenate([part, np.empty(max(most, len(part)), part.dtype)]) for part in self.held)

    def relabel(self, list labels):
        """Labels have come: the counts go where they now belong."""
        every = [*labels, *(label for label in self.labels if label not in labels)]
        if len(every) > LARGEST_CONFUSION:
            self.counts = np.zeros((0, 0), np.int64)
        elif len(self.labels) <= LARGEST_CONFUSION:
            place = [every.index(label) for label in self.labels]
            counts = np.zeros((len(every), len(every)), np.int64)
            counts[np.ix_(place, place)] = self.counts
            self.counts = counts
        self.labels = every
