"""The names of the losses and schedules."""

LOSSES = ("hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive", "perceptron")
SCHEDULES = ("constant", "sqrt", "inverse")


cdef class Gradient:
    """A loss with a step schedule: the length of the gradient step in round t."""

    def __init__(self, str loss, double eta, str schedule, double epsilon):
        self.loss, self.schedule = LOSSES.index(loss), SCHEDULES.index(schedule)
        self.eta, self.epsilon = eta, epsilon
