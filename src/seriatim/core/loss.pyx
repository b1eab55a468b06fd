"""The names of the losses and schedules, and the normal distribution function."""

import numpy as np

from libc.math cimport erfc

LOSSES = ("hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive", "perceptron")
SCHEDULES = ("constant", "sqrt", "inverse")


cdef class Gradient:
    """A loss with a step schedule: the length of the gradient step in round t."""

    def __init__(self, str loss, double eta, str schedule, double epsilon):
        self.loss, self.schedule = LOSSES.index(loss), SCHEDULES.index(schedule)
        self.eta, self.epsilon = eta, epsilon


def standard_normal(double[::1] z):
    """Phi of each number, the distribution function of the standard normal distribution.

    >>> standard_normal(np.array([0.0, 1.0])).round(4).tolist()
    [0.5, 0.8413]
    """
    return np.array([erfc(-z[i] * 0.7071067811865476) / 2 for i in range(z.shape[0])])
