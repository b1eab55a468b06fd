"""The inner loops of a comparison: many runs at once, so that each stretch of one is a single call without the GIL."""

from posix.time cimport CLOCK_THREAD_CPUTIME_ID, clock_gettime, timespec

import numpy as np

from seriatim.core.learner cimport Learner
from seriatim.core.row cimport Row
from seriatim.core.rows cimport Rows


cdef inline double thread_seconds() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return now.tv_sec + 1e-9 * now.tv_nsec


def learn_marked(Learner learner, Rows rows, const double[::1] y, double[:, ::1] scores, Py_ssize_t start,
                 const long long[::1] marks):
    """Learn rows start, start + 1, ... with targets y, as `Learner.learn_rows` does, in one go.

    `scores` receives what was predicted before each update. The updates, and the time of this thread, are noted after
    so many rows as `marks` say, ascending, from 1 on.
    """
    cdef Py_ssize_t i, k = 0, n = y.shape[0], places = marks.shape[0]
    cdef Row x
    rows.expect_here()
    if start < 0 or start + n > rows.n or scores.shape[0] != n or scores.shape[1] != learner.classes:
        raise ValueError("targets, scores and rows differ in length")
    if rows.norm2 == NULL:
        raise ValueError("the rows have not been checked")
    updates, seconds = np.zeros(places, np.int64), np.zeros(places)
    cdef long long[::1] updates_at = updates
    cdef double[::1] seconds_at = seconds
    learner.grow(rows.features + 1)
    with nogil:
        for i in range(n):
            rows.get(start + i, learner.constant, &x)
            if rows.weight != NULL:
                learner.weight = rows.weight[start + i]
            learner.round(&x, y[i], &scores[i, 0])
            if learner.failed:
                break
            if k < places and marks[k] == i + 1:
                updates_at[k], seconds_at[k] = learner.updates, thread_seconds()
                k += 1
        learner.weight = 1
    learner.check_memory()
    return updates, seconds


def count_confusions(const double[::1] y, const double[:, ::1] scores, const long long[::1] seen,
                     const long long[::1] label, bint fresh, long long[:, ::1] counts):
    """Count each pair of a true and a predicted label in `counts`.

    `label` is the number there of the learner's labels, `seen` are those that compete. If the first example is `fresh`,
    its label was not known when it was predicted: another one was, if there is any.

    >>> counts = np.zeros((2, 2), np.int64)
    >>> labels = np.arange(2)
    >>> count_confusions(np.array([1.0, -1.0, 1.0]), np.array([[0.5], [0.0], [2.0]]), labels, labels, False, counts)
    >>> counts.tolist()
    [[0, 1], [0, 2]]
    """
    cdef Py_ssize_t i, j, k, best, true, n = seen.shape[0]
    with nogil:
        for i in range(y.shape[0]):
            if scores.shape[1] == 1:
                true, best = (n - 1) * (y[i] > 0), (n - 1) * (scores[i, 0] >= 0)
                if fresh and i == 0:
                    best = n - 1 - true if n == 2 else -1
            else:
                true, best = <Py_ssize_t> y[i], -1
                for j in range(n):
                    k = seen[j]
                    if (best < 0 or scores[i, k] > scores[i, best]) and not (fresh and i == 0 and k == true):
                        best = k
            if best >= 0:
                counts[label[true], label[best]] += 1
