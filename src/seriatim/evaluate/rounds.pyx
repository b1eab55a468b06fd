"""The inner loops of a comparison: rows put in order, and a stretch of several runs learned and judged, in one call.

Threads take turns at the interpreter. The fewer such calls, and the longer, the less do they wait for one another.
"""

from libc.math cimport INFINITY, fabs
from libc.stdlib cimport free, malloc
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
    marks : those after which the learner's updates and the run's seconds so far are noted.
    labels : how many there will be for `confusion`, with a row for each true label and a column for each predicted one.
    """

    cdef readonly Py_ssize_t examples
    cdef readonly long long mistakes
    cdef readonly double loss, error
    cdef public double seconds             # of the thread, for this run
    cdef readonly object sums, updates_at, seconds_at, confusion
    cdef const long long[::1] places, marks
    cdef double[::1] noted_sums, noted_seconds
    cdef long long[::1] noted_updates
    cdef long long[:, ::1] confused
    cdef Py_ssize_t place, mark            # the next of each
    cdef int kind
    cdef double epsilon, since             # the loss; the thread's time less the run's seconds
    # The stretch to be learned.
    cdef Learner learner
    cdef Rows rows
    cdef Py_ssize_t start
    cdef const double[::1] y
    cdef double[::1] scores
    cdef const long long[::1] seen, label
    cdef bint fresh, alone, numbers

    def __init__(self, str loss_name, double epsilon, places, marks, Py_ssize_t labels=0):
        self.kind, self.epsilon = LOSSES.index(loss_name), epsilon
        self.places, self.marks = places, marks
        self.noted_sums = self.sums = np.zeros(len(places))
        self.noted_seconds = self.seconds_at = np.zeros(len(marks))
        self.noted_updates = self.updates_at = np.zeros(len(marks), np.int64)
        self.confused = self.confusion = np.zeros((labels, labels), np.int64)

    def expect_labels(self, Learner learner, Rows rows, const double[::1] y, Py_ssize_t start,
                      const long long[::1] seen, const long long[::1] label, bint fresh, bint alone):
        """Rows start, start + 1, ... with labels y are next, to be learned and judged as `progressive` does.

        The learner's labels are those of the rows and columns `label` of the confusion matrix; `seen` are those that
        compete. If the first example is `fresh`, its label was not known when it was predicted: another one was, if
        there is any. A label that is `alone` is predicted, whatever the score.
        """
        self.expect(learner, rows, y, start)
        self.seen, self.label, self.fresh, self.alone, self.numbers = seen, label, fresh, alone, False

    def expect_numbers(self, Learner learner, Rows rows, const double[::1] y, Py_ssize_t start):
        """Rows with targets y are next. Beside the losses of an algorithm, which are its own, errors are summed."""
        self.expect(learner, rows, y, start)
        self.numbers = True

    cdef int expect(self, Learner learner, Rows rows, const double[::1] y, Py_ssize_t start) except -1:
        rows.expect_here()
        if start < 0 or start + y.shape[0] > rows.n:
            raise IndexError(f"rows {start}..{start + y.shape[0]} of {rows.n}")
        if rows.norm2 == NULL:
            raise ValueError("the rows have not been checked")
        learner.grow(rows.features + 1)
        self.learner, self.rows, self.y, self.start = learner, rows, y, start
        self.scores = np.empty(learner.classes)
        return 0

    cdef void run(self) noexcept nogil:
        """Learn the stretch that is expected."""
        cdef Py_ssize_t i
        cdef Row x
        self.since = thread_seconds() - self.seconds
        for i in range(self.y.shape[0]):
            self.rows.get(self.start + i, self.learner.constant, &x)
            if self.rows.weight != NULL:
                self.learner.weight = self.rows.weight[self.start + i]
            self.learner.round(&x, self.y[i], &self.scores[0])
            if self.learner.failed:
                break
            self.examples += 1
            if self.numbers:
                self.judge_number(self.y[i] - self.scores[0])
            else:
                self.judge_label(self.y[i], self.fresh and i == 0)
        self.learner.weight = 1
        self.seconds = thread_seconds() - self.since

    cdef void judge_number(self, double residual) noexcept nogil:
        self.loss += loss(self.kind, residual, self.epsilon)
        self.error += fabs(residual)
        self.note(self.error)

    cdef void judge_label(self, double y, bint fresh) noexcept nogil:
        cdef Py_ssize_t true, predicted, known = self.seen.shape[0]
        cdef double margin = y * self.scores[0]
        cdef bint wrong
        if self.learner.classes == 1:
            wrong = fresh or (not self.alone and (self.scores[0] >= 0) != (y > 0))
            true = (known - 1) * (y > 0)
            predicted = true if not wrong else 1 - true if known == 2 else -1
        else:
            true = <Py_ssize_t> y
            predicted = strongest(self.scores, self.seen, true, fresh, &margin)
            wrong = predicted != true
        self.mistakes += wrong
        self.loss += loss(self.kind, 1 - margin, self.epsilon)
        if self.confused.shape[0] and predicted >= 0:
            self.confused[self.label[true], self.label[predicted]] += 1
        self.note(self.mistakes)

    cdef void note(self, double so_far) noexcept nogil:
        if self.place < self.places.shape[0] and self.places[self.place] == self.examples:
            self.noted_sums[self.place] = so_far
            self.place += 1
        if self.mark < self.marks.shape[0] and self.marks[self.mark] == self.examples:
            self.noted_updates[self.mark] = self.learner.updates
            self.noted_seconds[self.mark] = thread_seconds() - self.since
            self.mark += 1


def learn_all(list tallies):
    """Learn what each of some runs expects, one run after another, in one go."""
    cdef Py_ssize_t i, n = len(tallies)
    cdef void** each = <void**> malloc(max(n, 1) * sizeof(void*))
    if each == NULL:
        raise MemoryError
    for i in range(n):
        each[i] = <void*> (<Tally?> tallies[i])
    with nogil:
        for i in range(n):
            (<Tally> each[i]).run()
        free(each)
    for tally in tallies:
        (<Tally> tally).learner.check_memory()


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
