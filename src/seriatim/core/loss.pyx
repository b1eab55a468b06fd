"""The names of the losses and schedules, and what a block of predictions cost."""

from libc.math cimport INFINITY

import numpy as np

LOSSES = ("hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive", "perceptron")
SCHEDULES = ("constant", "sqrt", "inverse")


cdef class Gradient:
    """A loss with a step schedule: the length of the gradient step in round t."""

    def __init__(self, str loss, double eta, str schedule, double epsilon):
        self.loss, self.schedule = LOSSES.index(loss), SCHEDULES.index(schedule)
        self.eta, self.epsilon = eta, epsilon


def running_loss(str name, const double[::1] z, double epsilon=0.0, double total=0.0):
    """The sums of a loss over z = 1 - margin, or z = y - f, example by example, beginning with `total`.

    >>> running_loss("hinge", np.array([0.5, -2.0, 1.0])).tolist()
    [0.5, 0.5, 1.5]
    """
    cdef int kind = LOSSES.index(name)
    cdef Py_ssize_t i
    sums = np.empty(z.shape[0])
    cdef double[::1] out = sums
    for i in range(z.shape[0]):
        total += loss(kind, z[i], epsilon)
        out[i] = total
    return sums


def running_mistakes(str name, const double[::1] y, const double[:, ::1] scores, double epsilon, long long mistakes,
                     double total, bint alone=False):
    """The numbers of mistakes of a binary model, example by example, and the sum of its loss; labels are -1 and +1.

    As long as a label is alone it is predicted, whatever the score.

    >>> running_mistakes("hinge", np.array([1.0, -1.0, 1.0]), np.array([[0.5], [0.0], [2.0]]), 0.0, 0, 0.0)
    (array([0, 1, 1]), 1.5)
    """
    cdef int kind = LOSSES.index(name)
    cdef Py_ssize_t i
    sums = np.empty(y.shape[0], np.int64)
    cdef long long[::1] out = sums
    with nogil:
        for i in range(y.shape[0]):
            mistakes += not alone and (scores[i, 0] >= 0) != (y[i] > 0)
            total += loss(kind, 1 - y[i] * scores[i, 0], epsilon)
            out[i] = mistakes
    return sums, total


def running_class_mistakes(str name, const double[::1] y, const double[:, ::1] scores, list seen, double epsilon,
                           long long mistakes, double total):
    """The same of a multiclass model: the highest score predicts, and the margin is that over the strongest rival.

    >>> scores = np.array([[0.0, 3.0, 1.0], [2.0, 9.0, 2.0]])
    >>> running_class_mistakes("hinge", np.array([2.0, 0.0]), scores, [0, 2], 0.0, 0, 0.0)
    (array([0, 0]), 1.0)
    """
    cdef int kind = LOSSES.index(name)
    cdef Py_ssize_t i, j, k, best, true, n = len(seen)
    cdef double rival
    cdef Py_ssize_t[::1] among = np.array(seen, dtype=np.intp)
    sums = np.empty(y.shape[0], np.int64)
    cdef long long[::1] out = sums
    with nogil:
        for i in range(y.shape[0]):
            best, true, rival = among[0], <Py_ssize_t> y[i], -INFINITY
            for j in range(n):
                k = among[j]
                if scores[i, k] > scores[i, best]:
                    best = k
                if k != true and scores[i, k] > rival:
                    rival = scores[i, k]
            mistakes += best != true
            total += loss(kind, 1 - (scores[i, true] - (rival if n > 1 else 0)), epsilon)
            out[i] = mistakes
    return sums, total
