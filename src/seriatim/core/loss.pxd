"""Losses and step schedules of the gradient methods, as functions of one number.

In classification z = 1 - margin; in regression z = y - f. Moving w by a x (times y in classification) lowers z by
a |x|^2, so a gradient step has length eta times the slope below.
"""

from libc.math cimport exp, fabs, fmax, fmin, log1p, sqrt

cdef enum Loss:
    HINGE
    SQUARED_HINGE
    LOGISTIC
    SQUARED
    ABSOLUTE
    EPSILON_INSENSITIVE
    PERCEPTRON

cdef enum Schedule:
    CONSTANT
    SQRT
    INVERSE


cdef inline double loss(int kind, double z, double epsilon) noexcept nogil:
    if kind == HINGE:
        return fmax(0, z)
    if kind == SQUARED_HINGE:
        return fmax(0, z) ** 2 / 2
    if kind == LOGISTIC:    # log(1 + exp(-m)) with m = 1 - z, without overflow on either side
        return fmax(0, z - 1) + log1p(exp(-fabs(z - 1)))
    if kind == SQUARED:
        return z * z / 2
    if kind == ABSOLUTE:
        return fabs(z)
    if kind == EPSILON_INSENSITIVE:
        return fmax(0, fabs(z) - epsilon)
    return fmax(0, z - 1)


cdef inline double slope(int kind, double z, double epsilon) noexcept nogil:
    """d loss / dz. Bounded by 1e100, so that a run that diverges stays finite."""
    if kind == HINGE:
        return z > 0
    if kind == SQUARED_HINGE:
        return fmin(fmax(0, z), 1e100)
    if kind == LOGISTIC:
        return 1 / (1 + exp(1 - z))
    if kind == SQUARED:
        return fmin(fmax(z, -1e100), 1e100)
    if kind == ABSOLUTE:
        return (z > 0) - <double> (z < 0)
    if kind == EPSILON_INSENSITIVE:
        return (z > epsilon) - <double> (z < -epsilon)
    return z >= 1    # perceptron: a margin of 0 is a mistake


cdef inline double rate(int schedule, double eta, Py_ssize_t t) noexcept nogil:
    if schedule == SQRT:
        return eta / sqrt(<double> t)
    if schedule == INVERSE:
        return eta / t
    return eta


cdef class Gradient:
    cdef int loss, schedule
    cdef double eta, epsilon

    cdef inline double slope(self, double z, double weight) noexcept nogil:
        """The slope of the weighted loss, within the same bounds."""
        return min(max(weight * slope(self.loss, z, self.epsilon), -1e100), 1e100)

    cdef inline double step(self, double z, Py_ssize_t t, double weight) noexcept nogil:
        return rate(self.schedule, self.eta, t) * self.slope(z, weight)
