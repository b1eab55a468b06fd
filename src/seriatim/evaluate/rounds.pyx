"""The inner loops of a comparison: rows put in order, and each stretch of a run learned and judged, in one call each.

Threads take turns at the interpreter, so what a run does between two such calls is what keeps the others waiting.
"""

from libc.math cimport INFINITY, fabs
from libc.string cimport memcpy
from posix.time cimport CLOCK_THREAD_CPUTIME_ID, clock_gettime, timespec

import numpy as np

from seriatim.core.learner cimport Learner
from seriatim.core.loss cimport loss
from seriatim.core.row cimport Row
from seriatim.core.rows cimport Rows

from seriatim.core.loss import LOSSES


cdef inline double thread_seconds() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return now.tv_sec + 1e-9 * now.tv_nsec


cdef class Tally:
    """What a run adds up to on its way: mistakes or errors, the loss, who was taken for whom, and when.

    places : the numbers of examples after which the sum of mistakes, or of absolute errors, is noted in `sums`.
    marks : those after which the learner's updates and the thread's seconds are noted.
    labels : how many there will be for `confusion`, with a row for each true label and a column for each predicted one.
    """

    cdef readonly Py_ssize_t examples
    cdef readonly long long mistakes
    cdef readonly double loss
    cdef readonly double error
    cdef readonly object sums, updates, seconds, confusion
    cdef const long long[::1] places, marks
    cdef double[::1] sum_at, second_at
    cdef long long[::1] update_at
    cdef long long[:, ::1] confused
    cdef Py_ssize_t place, mark            # the next of each
    cdef int kind
    cdef double epsilon

    def __init__(self, str loss_name, double epsilon, places, marks, Py_ssize_t labels=0):
        self.kind, self.epsilon = LOSSES.index(loss_name), epsilon
        self.places, self.marks = places, marks
        self.sum_at = self.sums = np.zeros(len(places))
        self.second_at = self.seconds = np.zeros(len(marks))
        self.update_at = self.updates = np.zeros(len(marks), np.int64)
        self.confused = self.confusion = np.zeros((labels, labels), np.int64)

    def learn_labels(self, Learner learner, Rows rows, const double[::1] y, Py_ssize_t start,
                     const long long[::1] seen, const long long[::1] label, bint fresh, bint alone):
        """Rows start, start + 1, ... of labels y, as `Learner.learn_rows` learns and `progressive` judges them.

        The learner's labels are those of the rows and columns `label` of the confusion matrix; `seen` are those that
        compete. If the first example is `fresh`, its label was not known when it was predicted: another one was, if
        there is any. A label that is `alone` is predicted, whatever the score.
        """
        cdef Py_ssize_t i, true, predicted, n = self.begin(learner, rows, y, start)
        cdef double[::1] scores = np.empty(learner.classes)
        cdef double margin = 0
        cdef bint wrong, counting = self.confused.shape[0] > 0
        with nogil:
            for i in range(n):
                if not self.round(learner, rows, start + i, y[i], &scores[0]):
                    break
                if learner.classes == 1:
                    margin = y[i] * scores[0]
                    wrong = (fresh and i == 0) or (not alone and (scores[0] >= 0) != (y[i] > 0))
                    true = (seen.shape[0] - 1) * (y[i] > 0)
                    predicted = true if not wrong else 1 - true if seen.shape[0] == 2 else -1
                    self.mistakes += wrong
                else:
                    true = <Py_ssize_t> y[i]
                    predicted = strongest(scores, seen, true, fresh and i == 0, &margin)
                    self.mistakes += predicted != true
                self.loss += loss(self.kind, 1 - margin, self.epsilon)
                if counting and predicted >= 0:
                    self.confused[label[true], label[predicted]] += 1
                self.note(learner, self.mistakes)
        learner.check_memory()

    def learn_numbers(self, Learner learner, Rows rows, const double[::1] y, Py_ssize_t start):
        """Rows of targets y. Algorithms have losses of their own; beside those the absolute errors are summed."""
        cdef Py_ssize_t i, n = self.begin(learner, rows, y, start)
        cdef double score = 0
        with nogil:
            for i in range(n):
                if not self.round(learner, rows, start + i, y[i], &score):
                    break
                self.loss += loss(self.kind, y[i] - score, self.epsilon)
                self.error += fabs(y[i] - score)
                self.note(learner, self.error)
        learner.check_memory()

    cdef Py_ssize_t begin(self, Learner learner, Rows rows, const double[::1] y, Py_ssize_t start) except -1:
        rows.expect_here()
        if start < 0 or start + y.shape[0] > rows.n:
            raise IndexError(f"rows {start}..{start + y.shape[0]} of {rows.n}")
        if rows.norm2 == NULL:
            raise ValueError("the rows have not been checked")
        learner.grow(rows.features + 1)
        return y.shape[0]

    cdef inline bint round(self, Learner learner, Rows rows, Py_ssize_t i, double y, double* scores) noexcept nogil:
        """Predict and learn row i; false if there was no memory for it."""
        cdef Row x
        rows.get(i, learner.constant, &x)
        if rows.weight != NULL:
            learner.weight = rows.weight[i]
        learner.round(&x, y, scores)
        learner.weight = 1
        self.examples += not learner.failed
        return not learner.failed

    cdef inline void note(self, Learner learner, double so_far) noexcept nogil:
        if self.place < self.places.shape[0] and self.places[self.place] == self.examples:
            self.sum_at[self.place] = so_far
            self.place += 1
        if self.mark < self.marks.shape[0] and self.marks[self.mark] == self.examples:
            self.update_at[self.mark], self.second_at[self.mark] = learner.updates, thread_seconds()
            self.mark += 1


cdef Py_ssize_t strongest(double[::1] scores, const long long[::1] seen, Py_ssize_t true, bint fresh,
                          double* margin) noexcept nogil:
    """The label that is predicted, the lowest on a tie, and the margin of the true one over its strongest rival."""
    cdef Py_ssize_t j, k, best = -1
    cdef double rival = -INFINITY
    for j in range(seen.shape[0]):
        k = seen[j]
        if k != true and scores[k] > rival:
            rival = scores[k]
        if not (fresh and k == true) and (best < 0 or scores[k] > scores[best]):
            best = k
    margin[0] = scores[true] - (rival if seen.shape[0] > 1 else 0)
    return best


def in_order(const long long[::1] start, const int[::1] index, const double[::1] value, const long long[::1] order):
    """These rows of a CSR matrix, in this order; as `data.cache.picked`, in one pass.

    >>> start, index, value = np.array([0, 2, 3]), np.array([0, 1, 2], dtype=np.int32), np.array([0.5, 1.0, 1.5])
    >>> [array.tolist() for array in in_order(start, index, value, np.array([1, 0]))]
    [[0, 1, 3], [2, 0, 1], [1.5, 0.5, 1.0]]
    """
    cdef Py_ssize_t i, n = order.shape[0], row, length, end = 0
    new_start = np.zeros(n + 1, np.int64)
    cdef long long[::1] to_start = new_start
    for i in range(n):
        row = order[i]
        if not 0 <= row < start.shape[0] - 1:
            raise IndexError(f"row {row} of {start.shape[0] - 1}")
        end += start[row + 1] - start[row]
        to_start[i + 1] = end
    new_index, new_value = np.empty(end, np.int32), np.empty(end)
    cdef int[::1] to_index = new_index
    cdef double[::1] to_value = new_value
    with nogil:
        for i in range(n):
            row, length = order[i], to_start[i + 1] - to_start[i]
            if length:
                memcpy(&to_index[to_start[i]], &index[start[row]], length * sizeof(int))
                memcpy(&to_value[to_start[i]], &value[start[row]], length * sizeof(double))
    return new_start, new_index, new_value
