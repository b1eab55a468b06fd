"""Normalised online learning: gradient steps that do not depend on the units of the features."""

from libc.math cimport fabs, fmax, fmin, sqrt

from seriatim.core.learner cimport LinearLearner
from seriatim.core.loss cimport Gradient
from seriatim.core.row cimport Row, record, value, within
from seriatim.core.table cimport Table

from seriatim.core.recolumn import RecordArray
from seriatim.errors import ModelError
from seriatim.estimator import Classifier, Regressor
from seriatim.parameters import Choice, Number, powers

cdef double MOST = 1e200    # the largest weight: 1 / s_i may overflow


cdef inline double rescaled(double w, double s, double x) noexcept nogil:
    """The steps of w were divided by the scale s, which was too small if |x| is larger."""
    return w * (s / fabs(x)) if fabs(x) > s else w


cdef class NAGLearner(LinearLearner):
    """w_i -= eta sqrt(t / N) g_i / (s_i sqrt(G_i)), with w_i *= s_i / |x_i| before s_i grows to |x_i|."""

    NUMBERS = (*LinearLearner.NUMBERS, "N")
    cdef Gradient gradient
    cdef bint regression
    cdef Table scales            # s, the same for all classes
    cdef public double N         # the sum over rounds of x_i^2 / s_i^2

    def __init__(self, str loss, double eta, bint regression=False, double epsilon=0):
        self.scales = Table((("s", 0.0, False),))
        LinearLearner.__init__(self, False, (("G", 0.0, False),))
        self.gradient, self.regression, self.weighted = Gradient(loss, eta, "constant", epsilon), regression, True

    cdef int grow(self, Py_ssize_t rows) except -1:
        self.scales.grow(rows)
        return LinearLearner.grow(self, rows)

    cdef double product(self, const Row* x, Py_ssize_t column) noexcept nogil:
        """w.x, with the weights that the scales of x ask for."""
        cdef Py_ssize_t i, r
        cdef double w, total = 0
        for i in range(-1, x.n):
            r = record(x, i)
            w = self.table.data[r * self.table.width + column]
            total += rescaled(w, self.scales.data[r], value(x, i)) * value(x, i)
        return total

    cdef void normalise(self, const Row* x) noexcept nogil:
        """Let the scales grow to x, and count x in N."""
        cdef Py_ssize_t i, k
        cdef double* w
        cdef double* s
        for i in range(-1, x.n):
            s = self.scales.data + record(x, i)
            if fabs(value(x, i)) > s[0]:
                w = self.table.data + record(x, i) * self.table.width
                for k in range(self.classes):
                    w[k] = rescaled(w[k], s[0], value(x, i))
                s[0] = fabs(value(x, i))
            if value(x, i) != 0:
                self.N += (value(x, i) / s[0]) ** 2

    cdef void descend(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        """The step along -g, g_i = -a x_i, in a column."""
        cdef Py_ssize_t i
        cdef double* w
        cdef double g, rate = self.gradient.eta * sqrt(self.t / self.N)
        for i in range(-1, x.n):
            g = a * value(x, i)
            if g * g > 0:
                w = self.table.data + record(x, i) * self.table.width + column
                w[self.classes] = fmin(w[self.classes] + g * g, 1e300)
                w[0] += rate * (g / sqrt(w[self.classes])) / self.scales.data[record(x, i)]
                w[0] = fmin(fmax(w[0], -MOST), MOST)

    cdef double score(self, const Row* x) noexcept nogil:
        cdef Row known = within(x, self.table.rows)
        return self.product(&known, 0)

    cdef void scores(self, const Row* x, double* out) noexcept nogil:
        cdef Row known = within(x, self.table.rows)
        cdef Py_ssize_t k
        for k in range(self.classes):
            out[k] = self.product(&known, k)

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = self.product(x, 0), a
        self.count()
        if x.norm2 > 0 and self.weight > 0:
            self.normalise(x)
            a = self.gradient.slope(y - f if self.regression else 1 - y * f, self.weight)
            if a != 0:
                self.descend(x, a if self.regression else a * y, 0)
                self.updates += 1
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t s
        cdef double a
        self.scores(x, out)
        self.count()
        if x.norm2 > 0 and self.weight > 0:
            self.normalise(x)
            s = self.rival(y, out)
            a = self.gradient.slope(1 - (out[y] - out[s]), self.weight) if s >= 0 else 0
            if a != 0:
                self.descend(x, a, y)
                self.descend(x, -a, s)
                self.updates += 1

    def column_arrays(self):
        return {**LinearLearner.column_arrays(self), "s": RecordArray()}

    def state(self):
        return {**LinearLearner.state(self), "s": self.scales.get("s")}

    def restore(self, state):
        LinearLearner.restore(self, state)
        if state["s"].shape != (self.table.rows, 1):
            raise ModelError(f"s has the shape {state['s'].shape}; expected {(self.table.rows, 1)}")
        if not ((state["s"] >= 0).all() and (state["G"] >= 0).all() and self.N >= 0):
            raise ModelError("a scale or a sum of squares is below 0")
        self.scales.set("s", state["s"].astype(float))


class NAG(Classifier):
    """The normalised adaptive gradient: steps that do not depend on the units of the features.

    s_i is the largest |x_i| so far. Where |x_i| > s_i, first w_i *= s_i / |x_i| and s_i = |x_i|. Then, with the
    gradient g of the loss, N += sum_i x_i^2 / s_i^2, G_i += g_i^2 and w_i -= eta sqrt(t / N) g_i / (s_i sqrt(G_i)).
    Multiplying a feature by a constant changes no prediction, so features need no scaling. This is the default update
    of Vowpal Wabbit.

    The loss is one of the margin m = y w.x: logistic log(1 + e^-m), hinge [1 - m]+, squared (1 - m)^2 / 2. With several
    classes m = w_y.x - w_s.x, where s is the strongest wrong class. The intercept is the weight of a feature that is 1.
    A prediction rescales w as learning would: a value beyond s_i counts as s_i. A sample weight multiplies the loss.

    Parameters
    ----------
    loss : logistic, hinge or squared.
    eta : learning rate, above 0.

    >>> from seriatim import NAG, data, evaluate
    >>> run = evaluate.progressive(NAG(), *data.load("digits"))
    >>> run.mistakes
    172

    Ross, Mineiro and Langford, "Normalized online learning", UAI 2013, algorithm 2.
    """

    family = "linear"
    paper = "Ross et al. (2013)"
    loss = Choice("logistic", ("logistic", "hinge", "squared"))
    eta = Number(0.5, above=0, search=powers(-6, 2))

    def build(self):
        return NAGLearner(self.loss, self.eta)


class NAGRegressor(Regressor):
    """The normalised adaptive gradient for regression: steps that do not depend on the units of the features.

    The update is that of `NAG`. The loss is one of the residual z = y - w.x: squared z^2 / 2, absolute |z|,
    epsilon_insensitive [|z| - epsilon]+. A sample weight multiplies the loss. Steps do not grow with the residual, so
    choose eta by the size of the targets.

    Parameters
    ----------
    loss : squared, absolute or epsilon_insensitive.
    eta : learning rate, above 0.
    epsilon : errors up to this cost nothing in the epsilon-insensitive loss; at least 0.

    >>> from seriatim import NAGRegressor
    >>> model = NAGRegressor(eta=2.0)
    >>> for i in range(200):
    ...     model = model.learn_one({"a": 1000 * (i % 3), "b": i % 2}, 2 * (i % 3) - i % 2 + 1)
    >>> round(model.predict_one({"a": 2000, "b": 1}), 1)
    4.0

    Ross, Mineiro and Langford, "Normalized online learning", UAI 2013, algorithm 2.
    """

    family = "linear"
    paper = "Ross et al. (2013)"
    loss = Choice("squared", ("squared", "absolute", "epsilon_insensitive"))
    eta = Number(0.5, above=0, search=powers(-6, 2))
    epsilon = Number(0.1, least=0)

    def build(self):
        return NAGLearner(self.loss, self.eta, True, self.epsilon)
