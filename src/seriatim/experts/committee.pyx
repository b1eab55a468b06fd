"""Models as experts: each learner learns every example, and the mixture weighs their predictions."""

cimport cython
from libc.float cimport DBL_MIN
from libc.math cimport fmin

import numpy as np

from seriatim.core.learner cimport DictReader, Learner
from seriatim.core.loss cimport loss
from seriatim.core.row cimport Row
from seriatim.experts.mixture cimport Mixture

from seriatim.core.loss import LOSSES
from seriatim.errors import ModelError

cdef double LARGEST = 1e300    # largest loss: losses are divided by one another


cdef class Member:
    """A learner and the next one. This is a linked list, because a Python list cannot be read without the GIL."""

    cdef Learner learner
    cdef Member next

    cdef Row own(self, const Row* x) noexcept nogil:
        """The row with the constant of this learner."""
        cdef Row row = x[0]
        row.constant = self.learner.constant
        row.norm2 = x.norm2 + self.learner.constant
        return row

    cdef void round(self, const Row* x, double y, double weight, double* out) noexcept nogil:
        cdef Row row = self.own(x)
        self.learner.weight = weight
        self.learner.round(&row, y, out)
        self.learner.weight = 1
        if self.next is not None:
            self.next.round(x, y, weight, out + self.learner.classes)

    cdef void predict(self, const Row* x, double* out) noexcept nogil:
        cdef Row row = self.own(x)
        self.learner.predict(&row, out)
        if self.next is not None:
            self.next.predict(x, out + self.learner.classes)

    cdef Py_ssize_t updates(self) noexcept nogil:
        return self.learner.updates + (0 if self.next is None else self.next.updates())

    cdef bint failed(self) noexcept nogil:
        return self.learner.failed or (self.next is not None and self.next.failed())

    cdef bint halted(self) noexcept nogil:
        return self.learner.halted or (self.next is not None and self.next.halted())


@cython.boundscheck(False)
@cython.wraparound(False)
cdef class Committee(Learner):
    """Independent learners, and a mixture that weighs their predictions.

    With labels, the loss of a learner is 1 for a mistake, else 0. With numbers, it is a fraction of the largest loss of
    the round, because the range of losses is unknown. Without learners, there is only the mixture.
    """

    cdef readonly Mixture mixture
    cdef readonly list learners
    cdef Member first
    cdef bint numbers                # the learners predict numbers, not labels
    cdef int kind                    # the loss for numbers
    cdef double epsilon
    cdef double[::1] f               # scores of a round, learner by learner
    cdef double[::1] lost            # losses of a round
    cdef Py_ssize_t updated          # updates of all learners
    cdef public bint fresh           # the next example has a new label, which no learner could predict
    cdef public bint alone           # there is only one label, and every learner predicts it

    def __init__(self, Mixture mixture, list learners, str kind=None, double epsilon=0):
        cdef Member member
        self.mixture, self.learners = mixture, learners
        self.numbers = kind is not None
        self.kind, self.epsilon = LOSSES.index(kind or "hinge"), epsilon
        for learner in reversed(learners):
            member = Member()
            member.learner, member.next = learner, self.first
            self.first = member
        self.weighted = all(learner.weighted for learner in learners)
        self.particular = any(learner.particular for learner in learners)
        self.f, self.lost = np.zeros(len(learners)), np.zeros(len(learners))
        if learners:
            mixture.start(len(learners))

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Learner learner
        for learner in self.learners:
            learner.grow(rows)
        return 0

    cdef int expect(self, const Row* x, where) except -1:
        cdef Learner learner
        for learner in self.learners:
            if learner.particular:
                learner.expect(x, where)
        return 0

    # ---- the combined prediction

    cdef Py_ssize_t guess(self, const double* f) noexcept nogil:
        """The class that one learner predicts: of the classes seen the highest score, on a tie the lowest class."""
        cdef Py_ssize_t k, best = -1
        for k in range(self.classes):
            if self.seen[k] and (best < 0 or f[k] > f[best]):
                best = k
        return max(best, 0)

    cdef void combine(self, const double* f, double* out) noexcept nogil:
        """The weighted mean of numbers, or the votes for each label; or the prediction of one learner that is drawn."""
        cdef Py_ssize_t i, k, n = self.mixture.n
        cdef Py_ssize_t begin = self.mixture.drawn() if self.mixture.draws_one else 0
        cdef double w
        for k in range(self.classes):
            out[k] = 0
        for i in range(begin, begin + 1 if self.mixture.draws_one else n):
            w = 1 if self.mixture.draws_one else self.mixture.w[i]
            if self.numbers:
                out[0] += w * f[i]
            elif self.classes == 1:
                out[0] += w if f[i] >= 0 else -w
            else:
                out[self.guess(f + i * self.classes)] += w
        if out[0] == 0 and self.classes == 1 and not self.numbers:
            out[0] = -DBL_MIN    # a tie goes to the lower label, as with several labels

    cdef double score(self, const Row* x) noexcept nogil:
        cdef double out = 0
        self.scores(x, &out)
        return out

    cdef void scores(self, const Row* x, double* out) noexcept nogil:
        if self.first is not None:
            self.first.predict(x, &self.f[0])
            self.combine(&self.f[0], out)

    # ---- a round

    cdef void reveal(self, const Row* x, double y, double* out) noexcept nogil:
        """All learners learn, and the weights change. `out` receives the combined prediction from before."""
        cdef Py_ssize_t i, n = self.mixture.n
        cdef double largest = 0, vote = 0
        if self.first is None:
            return
        self.first.round(x, y, self.weight, &self.f[0])
        if self.first.failed():
            self.failed = True
            return
        self.halted = self.first.halted()
        self.combine(&self.f[0], out)
        for i in range(n):
            if self.numbers:
                self.lost[i] = fmin(loss(self.kind, y - self.f[i], self.epsilon), LARGEST)
                largest = max(largest, self.lost[i])
            elif self.fresh or self.alone:
                self.lost[i] = self.fresh
            elif self.classes == 1:
                self.lost[i] = (self.f[i] >= 0) != (y > 0)
            else:
                self.lost[i] = self.guess(&self.f[i * self.classes]) != <Py_ssize_t> y
        if self.numbers:
            vote = fmin(loss(self.kind, y - out[0], self.epsilon), largest)
        elif self.fresh or self.alone:
            vote = self.fresh
        elif self.classes == 1:
            vote = (out[0] >= 0) != (y > 0)
        else:
            vote = self.guess(out) != <Py_ssize_t> y
        for i in range(n):
            self.lost[i] = self.lost[i] / largest if largest > 0 else self.lost[i]
            self.lost[i] = self.weight * self.lost[i]
        self.mixture.suffer(&self.lost[0], self.weight * (vote / largest if largest > 0 else vote))
        self.fresh = False
        i = self.first.updates()
        self.updates += i > self.updated
        self.updated = i

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double out = 0
        self.reveal(x, y, &out)
        return out

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        self.reveal(x, y, out)

    def learn_losses(self, losses, double lost=-1):
        """Learn rounds of losses without learners."""
        if self.mixture.n == 0:
            self.mixture.start(losses.shape[1])
        try:
            self.mixture.learn_losses(losses, lost)
        finally:
            self.t = self.updates = self.mixture.t

    # ---- many rows, and names

    cdef int begin_rows(self, Py_ssize_t n) except -1:
        cdef Learner learner
        for learner in self.learners:
            learner.begin_rows(n)
        return 0

    cdef void end_rows(self) noexcept:
        cdef Member member = self.first
        while member is not None:
            member.learner.end_rows()
            member = member.next

    cdef score_read(self, DictReader reader):
        cdef Learner learner
        cdef list read = []
        for learner in self.learners:
            read.append(learner.score_read(reader))
        cdef double[::1] f = np.ravel(read)
        cdef double[::1] out = np.empty(self.classes)
        self.combine(&f[0], &out[0])
        return out[0] if self.classes == 1 else list(out)

    def check_memory(self):
        try:
            for learner in self.learners:
                learner.check_memory()
        except BaseException:
            self.failed = self.halted = False
            self.torn = any([learner.torn for learner in self.learners])
            raise
        Learner.check_memory(self)

    # ---- classes

    def reclass(self, source, factor):
        f = np.zeros(len(self.learners) * len(source))
        for learner in self.learners:
            learner.reclass(source, factor)
        Learner.reclass(self, source, factor)
        self.f = f

    def introduce(self, told):
        """Pass on new labels to each learner, and to the attributes of its model."""
        self.alone = told.alone
        if told.restart:
            self.mixture.start(len(self.learners))
        for learner, (attributes, entries, own) in zip(self.learners, told.members):
            if own is not None:
                learner.introduce(own)
            attributes.update(entries)

    def compete(self, list classes):
        for learner in self.learners:
            learner.compete(classes)
        Learner.compete(self, classes)

    # ---- state

    def recolumn(self, state, places, Py_ssize_t columns):
        state = dict(state)
        for i, learner in enumerate(self.learners):
            own = {name.removeprefix(f"{i}."): value for name, value in state.items() if name.startswith(f"{i}.")}
            state |= {f"{i}.{name}": value for name, value in learner.recolumn(own, places, columns).items()}
        return state

    def state(self):
        state = {**Learner.state(self), **self.mixture.state()}
        for i, learner in enumerate(self.learners):
            state |= {f"{i}.{name}": value for name, value in learner.state().items()}
        return state

    def restore(self, state):
        Learner.restore(self, state)
        self.mixture.restore(state, self.t)
        for i, learner in enumerate(self.learners):
            own = f"{i}."
            learner.restore({name.removeprefix(own): value for name, value in state.items() if name.startswith(own)})
            if learner.t > self.t:
                raise ModelError(f"expert {i} has learned {learner.t} rounds; the model has {self.t}")
        self.updated = 0 if self.first is None else self.first.updates()
