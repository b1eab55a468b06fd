"""Weights over experts, and the sums of losses that every rule for the weights needs."""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport exp

import numpy as np

from seriatim.core.rows import LIMIT
from seriatim.errors import ModelError

cdef Py_ssize_t BETWEEN_SIGNALS = 1 << 16


@cython.boundscheck(False)
@cython.wraparound(False)
cdef class Mixture:
    """Weights over experts. A rule writes `weigh`, which computes the weights, and `note`, which updates its state.

    w has the weights of the next round. It is computed from the state and is not stored.
    """

    NUMBERS = ("loss",)    # of the state, besides t
    ARRAYS = ()            # of the state, besides the losses: one number for each expert

    def __cinit__(self):
        self.start(0)

    def start(self, Py_ssize_t n):
        """Start with n experts and no losses. The number of rounds stays."""
        w = np.zeros(n)
        w += 1.0 / max(n, 1)
        total = np.zeros(n)
        for name in self.NUMBERS:
            setattr(self, name, 0.0)
        self.n, self.total, self.w = n, total, w
        if n:
            self.weigh()

    # ---- what a rule writes

    cdef void weigh(self) noexcept nogil:
        """Compute w of the next round from the state."""

    cdef void note(self, const double* losses, double mean) noexcept nogil:
        """Update the state of the rule by the losses of this round and w.losses. w and the sums are those before it."""

    cdef Py_ssize_t drawn(self) noexcept nogil:
        """The index of the expert that predicts alone in the next round."""
        return 0

    def bound(self):
        """The bound of the theorem on the loss of the mixture less the loss of the best expert."""
        raise NotImplementedError

    # ---- a round

    cdef void suffer(self, const double* losses, double lost) noexcept nogil:
        """One round: the losses of the experts, and the loss of the vote or, if that is unknown, -1."""
        cdef Py_ssize_t i
        cdef double mean = 0
        for i in range(self.n):
            mean += self.w[i] * losses[i]
        self.note(losses, mean)
        if not self.votes:
            lost = mean
        elif lost < 0:    # a vote errs if at least half of the weight does
            lost = mean >= 0.5
        self.loss += lost
        for i in range(self.n):
            self.total[i] += losses[i]
        self.t += 1
        self.weigh()

    cdef void softmax(self, const double* values, double factor) noexcept nogil:
        """w_i proportional to exp(factor values_i), factor <= 0. Subtracting the least value prevents overflow."""
        cdef Py_ssize_t i
        cdef double least = values[0], total = 0
        for i in range(1, self.n):
            least = min(least, values[i])
        for i in range(self.n):
            self.w[i] = exp(factor * (values[i] - least))
            total += self.w[i]
        for i in range(self.n):
            self.w[i] /= total

    def learn_losses(self, const double[:, ::1] losses, double lost=-1):
        """Learn rounds of losses, all between 0 and 1."""
        cdef Py_ssize_t i = 0, stop, rounds = losses.shape[0]
        if losses.shape[1] != self.n or self.n == 0:
            raise ValueError(f"losses of {losses.shape[1]} experts; expected {self.n}")
        while i < rounds:
            PyErr_CheckSignals()
            stop = min(rounds, i + BETWEEN_SIGNALS)
            with nogil:
                while i < stop:
                    self.suffer(&losses[i, 0], lost)
                    i += 1

    # ---- what users see

    def weights(self):
        """The weights of the next round."""
        return np.array(self.w)

    def losses(self):
        return np.array(self.total)

    def choice(self):
        """The index of the expert that is drawn for the next round."""
        return self.drawn() if self.n else 0

    # ---- state

    def state(self):
        numbers = {name: getattr(self, name) for name in self.NUMBERS}
        return {**numbers, "losses": self.losses(), **{name: np.array(getattr(self, name)) for name in self.ARRAYS}}

    def restore(self, state, Py_ssize_t t):
        arrays = {name: np.array(state[name], dtype=np.float64) for name in ("losses", *self.ARRAYS)}
        n = len(arrays["losses"])
        if self.n and n != self.n:
            raise ModelError(f"losses of {n} experts; the model has {self.n}")
        if any(array.shape != (n,) for array in arrays.values()) or (t and not n):
            raise ModelError("the arrays of the experts differ in length")
        self.start(n)
        self.t = t
        for name in self.NUMBERS:
            setattr(self, name, state[name])
        self.total = arrays["losses"]
        for name in self.ARRAYS:
            setattr(self, name, arrays[name])
        if n and not (np.min(self.total) >= 0 and self.loss >= 0):
            raise ModelError("a sum of losses is below 0")
        # A loss is at most 1 times a sample weight; 1.001 allows for rounding.
        if n and max(np.max(self.total), self.loss) > 1.001 * LIMIT * t:
            raise ModelError(f"a sum of losses is larger than {t} rounds allow")
        if n:
            self.weigh()
