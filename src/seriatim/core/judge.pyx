"""What predictions were worth: of each example what was predicted and what that cost, and the sums over a run.

Labels are known here by their position among those that a model knows.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, fabs, isfinite
from libc.string cimport memcpy
from posix.time cimport CLOCK_THREAD_CPUTIME_ID, clock_gettime, timespec

import numpy as np

from seriatim.core.learner cimport Learner
from seriatim.core.loss cimport HINGE, loss
from seriatim.core.row cimport Row
from seriatim.core.rows cimport Rows

from seriatim.core.loss import LOSSES

cdef enum:
    CURVE_POINTS = 512
    PLACES = 0, SUMS, LOSS, UPDATES, SECONDS, NOTED    # of a curve: mistakes or errors and the others until each place

cdef Py_ssize_t LARGEST_CONFUSION = 1000    # labels, beyond which nobody could read the matrix
cdef Py_ssize_t BETWEEN_SIGNALS = 1 << 16
cdef Py_ssize_t SOME = 256   # scores that are held until they are judged
cdef Py_ssize_t FEW = 32     # examples: for fewer a thread that gives the interpreter away waits longer to have it back


cdef struct Stretch:             # of examples, and what they are judged by
    const double* y
    Py_ssize_t start, last       # the first row; the last of the labels, -1: numbers are predicted
    const Py_ssize_t* among      # labels that compete
    Py_ssize_t rivals
    int kind                     # of loss
    double epsilon
    bint fresh
    Py_ssize_t some              # as many are learned before they are judged
    double* scores               # of each example or, if nothing is kept, of these
    int* truth                   # where to keep what is true and predicted, and losses; NULL: nowhere
    int* guesses
    double* losses


cdef inline double thread_seconds() noexcept nogil:
    """What this thread has worked so far: others may be at work beside it."""
    cdef timespec now
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return now.tv_sec + 1e-9 * now.tv_nsec


cdef Py_ssize_t lengths(const double[::1] y, const double[:, ::1] scores, Py_ssize_t columns) except -1:
    """The number of examples; what is read below is within bounds."""
    if scores.shape[0] != y.shape[0] or scores.shape[1] < columns:
        raise ValueError(f"{scores.shape[0]} x {scores.shape[1]} scores for {y.shape[0]} targets")
    return y.shape[0]


cdef int strongest(const double* scores, const Py_ssize_t* among, Py_ssize_t rivals, int true, bint fresh,
                   double* margin) noexcept nogil:
    """The class that is predicted, the lowest on a tie, and the margin of the true one over its strongest rival.

    Where the true one is fresh the rival is predicted; -1 if there is none.
    """
    cdef Py_ssize_t j, k
    cdef int best = <int> among[0], other = -1
    for j in range(rivals):
        k = among[j]
        if scores[k] > scores[best]:
            best = <int> k
        if k != true and (other < 0 or scores[k] > scores[other]):
            other = <int> k
    margin[0] = scores[true] - (scores[other] if other >= 0 else 0)
    return other if fresh else best


@cython.boundscheck(False)
@cython.wraparound(False)
def judge_signs(str name, const double[::1] y, const double[:, ::1] scores, double epsilon, bint fresh=False):
    """What is true, what a binary model predicted, and its loss; y is -1 and +1, the positions are 0 and 1.

    A `fresh` first example has a label that was not known, so that the other one was predicted.

    >>> [part.tolist() for part in judge_signs("hinge", np.array([1.0, -1.0]), np.array([[0.5], [0.0]]), 0.0)]
    [[1, 0], [1, 1], [0.5, 1.0]]
    """
    cdef int kind = LOSSES.index(name)
    cdef Py_ssize_t i, n = lengths(y, scores, 1)
    truth, predicted, losses = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
    cdef int[::1] true = truth
    cdef int[::1] guess = predicted
    cdef double[::1] cost = losses
    with nogil:
        for i in range(n):
            true[i] = y[i] > 0
            guess[i] = scores[i, 0] >= 0
            cost[i] = loss(kind, 1 - y[i] * scores[i, 0], epsilon)
        if fresh and n:
            guess[0] = 1 - true[0]
    return truth, predicted, losses


@cython.boundscheck(False)
@cython.wraparound(False)
def judge_classes(str name, const double[::1] y, const double[:, ::1] scores, list seen, double epsilon,
                  bint fresh=False):
    """The same of a multiclass model: the highest score predicts, and the margin is that over the strongest rival.

    Only those seen compete. -1: nothing could be predicted.

    >>> scores = np.array([[0.0, 3.0, 1.0], [2.0, 9.0, 2.0]])
    >>> [part.tolist() for part in judge_classes("hinge", np.array([2.0, 0.0]), scores, [0, 2], 0.0)]
    [[2, 0], [2, 0], [0.0, 1.0]]
    """
    cdef int kind = LOSSES.index(name)
    cdef Py_ssize_t i, n = lengths(y, scores, max(seen, default=0) + 1)
    cdef double margin = 0
    cdef const Py_ssize_t[::1] among = np.array(seen, dtype=np.intp)
    if not seen or min(seen) < 0 or (n and not 0 <= np.min(y) <= np.max(y) < scores.shape[1]):
        raise ValueError(f"a class that is not one of {scores.shape[1]}")
    truth, predicted, losses = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
    cdef int[::1] true = truth
    cdef int[::1] guess = predicted
    cdef double[::1] cost = losses
    with nogil:
        for i in range(n):
            true[i] = <int> y[i]
            guess[i] = strongest(&scores[i, 0], &among[0], among.shape[0], true[i], fresh and i == 0, &margin)
            cost[i] = loss(kind, 1 - margin, epsilon)
    return truth, predicted, losses


@cython.boundscheck(False)
@cython.wraparound(False)
def judge_numbers(str name, const double[::1] y, const double[:, ::1] scores, double epsilon):
    """The losses of predicted numbers.

    >>> judge_numbers("squared", np.array([1.0, 3.0]), np.array([[0.0], [3.0]]), 0.0).tolist()
    [0.5, 0.0]
    """
    cdef int kind = LOSSES.index(name)
    cdef Py_ssize_t i, n = lengths(y, scores, 1)
    losses = np.empty(n)
    cdef double[::1] cost = losses
    with nogil:
        for i in range(n):
            cost[i] = loss(kind, y[i] - scores[i, 0], epsilon)
    return losses


def ascending(const long long[:] places):
    """Each place once, in order; most often they are that already, and looking is quicker than sorting."""
    cdef Py_ssize_t i
    for i in range(1, places.shape[0]):
        if places[i] <= places[i - 1]:
            return np.unique(places)
    return np.ascontiguousarray(places)


cdef class Tally:
    """Mistakes, loss and confusions of a run so far, and what the sums were at the places of its curve.

    The places are those of `at`, or every so many examples, or up to 512 evenly spaced ones: when there are more, every
    other one goes. They do not depend on how the run is divided.

    >>> tally = Tally(every=2)
    >>> tally.take(np.array([0, 1, 1], np.int32), np.array([1, 1, 0], np.int32), np.ones(3), ["ham", "spam"])
    >>> tally.examples, tally.mistakes, tally.loss, tally.counts.tolist(), [part.tolist() for part in tally.curve()[:3]]
    (3, 2, 3.0, [[0, 1], [1, 1]], [[2], [1.0], [2.0]])
    """

    cdef readonly long long examples, mistakes
    cdef readonly double loss, error    # the error is that of numbers: the sum of |y - prediction|
    cdef readonly double seconds        # that `learn` has worked
    cdef public long long skip          # so many examples more are not counted
    cdef readonly list labels           # of the counts: those of the last examples, and others that came before
    cdef readonly object counts
    cdef object last
    cdef const long long[::1] at        # the places, if they are given
    cdef bint given, thinning           # thinning: a place for which there is no room makes every other one go
    cdef long long spacing, next
    cdef Py_ssize_t count
    cdef long long[:, ::1] cells
    cdef double[:, ::1] noted           # a row a place
    cdef Py_ssize_t updates
    cdef double begun                   # the thread's time less these seconds

    def __init__(self, at=None, every=None, skip=0):
        self.labels, self.skip = [], skip
        self.cells = self.counts = np.zeros((0, 0), np.int64)
        self.given, self.thinning = at is not None, at is None and every is None
        self.at = ascending(np.asarray([] if at is None else at, np.int64))
        self.spacing = every or 1
        self.next = self.spacing if at is None else self.at[0] if len(self.at) else -1
        self.noted = np.empty((len(self.at) if self.given else CURVE_POINTS, NOTED))

    def curve(self):
        """The places, and until each the mistakes, or the errors of numbers, the loss, the learner's updates and the
        seconds; the last two only of what `learn` has learned, and the seconds of some of the places given."""
        places, *others = np.array(self.noted[:self.count]).T
        return places.astype(np.int64), *others

    def places_after(self, long long place):
        """The places of the curve beyond this one."""
        cdef Py_ssize_t i = self.count
        while i and self.noted[i - 1, PLACES] > place:
            i -= 1
        return [<long long> self.noted[k, PLACES] for k in range(i, self.count)]

    def points(self):
        """The places, the means of mistakes or errors until each, the updates and the seconds, as plain lists: what is
        kept of each of many runs. Where nobody looked at the clock it is taken to have gone evenly."""
        cdef Py_ssize_t i, j, done = 0, n = self.count
        cdef double begin = 0, seen = 0, now, each    # where somebody looked, and what he saw
        places, means, updates, seconds = [None] * n, [None] * n, [None] * n, [0.0] * n
        for i in range(n):
            places[i], updates[i] = <long long> self.noted[i, PLACES], <long long> self.noted[i, UPDATES]
            if isfinite(self.noted[i, SUMS]):
                means[i] = self.noted[i, SUMS] / self.noted[i, PLACES]
            now = self.noted[i, SECONDS]
            if isfinite(now) or i == n - 1:
                each = (now - seen) / (self.noted[i, PLACES] - begin) if isfinite(now) else 0
                for j in range(done, i + 1):
                    seconds[j] = seen + each * (self.noted[j, PLACES] - begin)
                done, begin, seen = i + 1, self.noted[i, PLACES], now
        return places, means, updates, seconds

    def learn(self, Learner learner, Rows rows, const double[::1] y, Py_ssize_t start, str name, double epsilon,
              list labels, list seen, bint fresh, kept=None):
        """Learn rows start, start + 1, ... with targets y, and judge what was predicted of each before.

        labels, seen : the labels that the learner's classes, or its signs, stand for, and which compete; no labels:
            numbers are predicted. A label that is alone is predicted, whatever the score.
        fresh : the first label was not known when its example was predicted, so that another one was.
        kept : arrays for what is true, what was predicted, the losses and the scores, if somebody wants them.
        """
        cdef Py_ssize_t stop, n = y.shape[0]
        cdef bint keeping = kept is not None and n > 0
        cdef const Py_ssize_t[::1] among = np.array(seen, dtype=np.intp) if learner.classes > 1 else None
        cdef int[::1] truth = kept[0] if keeping else None
        cdef int[::1] guesses = kept[1] if keeping else None
        cdef double[::1] losses = kept[2] if keeping else None
        cdef Py_ssize_t some = max(1, SOME // learner.classes)
        cdef double[:, ::1] scores = kept[3] if keeping else np.empty((some, learner.classes))
        cdef Stretch told
        learner.learned = 0
        self.expect(learner, rows, y, start, seen, len(labels) - 1, kept)
        self.begin(labels, n)
        told.y, told.start, told.fresh, told.last = &y[0] if n else NULL, start, fresh, len(labels) - 1
        told.kind, told.epsilon = LOSSES.index(name), epsilon
        told.among, told.rivals = &among[0] if learner.classes > 1 else NULL, len(seen)
        told.truth = &truth[0] if keeping else NULL
        told.guesses = &guesses[0] if keeping else NULL
        told.losses = &losses[0] if keeping else NULL
        told.scores, told.some = &scores[0, 0], some
        learner.grow(rows.features + 1)
        self.begun = thread_seconds() - self.seconds
        while learner.learned < n and not learner.failed and not learner.halted:
            PyErr_CheckSignals()
            stop = min(n, learner.learned + BETWEEN_SIGNALS)
            if stop - learner.learned > FEW:
                with nogil:
                    self.rounds(learner, rows, &told, stop)
            else:
                self.rounds(learner, rows, &told, stop)
        learner.check_memory()

    cdef void rounds(self, Learner learner, Rows rows, const Stretch* told, Py_ssize_t stop) noexcept nogil:
        """The examples from learner.learned on. Some are learned, up to the next place of the curve, and then judged in
        a loop whose sums can stay in registers, which they could not across the learner's rounds."""
        cdef Py_ssize_t i, begin, end
        cdef double* scores = told.scores
        cdef Row x
        while learner.learned < stop and not learner.failed and not learner.halted:
            begin = learner.learned
            end = min(stop, begin + told.some)
            if self.skip > 0:
                end = begin + min(end - begin, self.skip)
            elif self.next > 0:    # which may be as large as a number can be
                end = begin + min(end - begin, self.next - self.examples)
            if told.truth != NULL:
                scores = told.scores + begin * learner.classes
            for i in range(begin, end):
                rows.get(told.start + i, learner.constant, &x)
                if rows.weight != NULL:
                    learner.weight = rows.weight[told.start + i]
                learner.round(&x, told.y[i], scores + (i - begin) * learner.classes)
                if learner.failed:
                    break
                learner.learned += 1
                if learner.halted:
                    break
            self.judge(told, begin, learner.learned, learner.classes, scores)
            if self.examples == self.next:
                self.updates = learner.updates
                self.note()
        learner.weight = 1
        self.seconds = thread_seconds() - self.begun

    cdef void judge(self, const Stretch* told, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t classes,
                    const double* score) noexcept nogil:
        """What was predicted of these examples, by their scores."""
        cdef long long mistakes = 0
        cdef double total = self.loss, error = self.error, epsilon = told.epsilon, cost, y
        cdef Py_ssize_t i, last = told.last, size = self.cells.shape[0]
        cdef long long* cells = &self.cells[0, 0] if size else NULL
        cdef int kind = told.kind, true = 0, guess = 0
        cdef bint skipped = self.skip > 0
        for i in range(begin, end):
            y = told.y[i]
            if last < 0:
                cost = loss(kind, y - score[0], epsilon)
            elif classes == 1:
                true, guess = last * (y > 0), last * (score[0] >= 0)
                if told.fresh and i == 0:
                    guess = -1 if last == 0 else 1 - true
                cost = 1 - y * score[0]
                # The commonest without a call, which would be a third of what judging costs.
                cost = (cost if cost > 0 else 0) if kind == HINGE else loss(kind, cost, epsilon)
            else:
                true = <int> y
                guess = strongest(score, told.among, told.rivals, true, told.fresh and i == 0, &cost)
                cost = loss(kind, 1 - cost, epsilon)
            if told.truth != NULL:
                told.truth[i], told.guesses[i], told.losses[i] = true, guess, cost
            if not skipped:
                total += cost
                if last < 0:
                    error += fabs(y - score[0])
                else:
                    mistakes += true != guess
                    if guess >= 0 and size:
                        cells[true * size + guess] += 1
            score += classes
        if skipped:
            self.skip -= end - begin
        else:
            self.examples += end - begin
            self.loss, self.error, self.mistakes = total, error, self.mistakes + mistakes

    cdef int expect(self, Learner learner, Rows rows, const double[::1] y, Py_ssize_t start, list seen,
                    Py_ssize_t last, kept) except -1:
        """What is read and written above is within bounds."""
        cdef Py_ssize_t n = y.shape[0], classes = learner.classes
        rows.expect_checked()
        if start < 0 or start + n > rows.n:
            raise IndexError(f"rows {start}..{start + n} of {rows.n}")
        if classes > 1 and not (seen and 0 <= min(seen) <= max(seen) < classes == last + 1):
            raise ValueError(f"classes {seen} of {classes}")
        if classes > 1 and n and not 0 <= np.min(y) <= np.max(y) < classes:
            raise ValueError(f"a class that is not one of {classes}")
        if kept is not None and [part.shape for part in kept] != [(n,), (n,), (n,), (n, classes)]:
            raise ValueError("what is kept differs in shape from the targets and scores")
        return 0

    def take(self, const int[::1] truth, const int[::1] predicted, const double[::1] losses, list labels):
        """Examples that have been judged: positions in `labels` of what is true and predicted, and losses."""
        cdef Py_ssize_t i, n = losses.shape[0]
        if truth.shape[0] != n or predicted.shape[0] != n:
            raise ValueError("what is true, predicted and lost differ in length")
        self.begin(labels, n)
        with nogil:
            for i in range(n):
                self.add(truth[i], predicted[i], losses[i])

    def take_numbers(self, const double[::1] errors, const double[::1] losses):
        """The same of predicted numbers: their errors, and losses."""
        cdef Py_ssize_t i, n = losses.shape[0]
        if errors.shape[0] != n:
            raise ValueError("errors and losses differ in length")
        self.begin(self.labels, n)
        with nogil:
            for i in range(n):
                self.add_number(fabs(errors[i]), losses[i])

    @cython.boundscheck(False)
    @cython.wraparound(False)
    cdef inline void add(self, int true, int guess, double cost) noexcept nogil:
        self.examples += 1
        self.loss += cost
        self.mistakes += true != guess
        if 0 <= guess < self.cells.shape[0] and 0 <= true < self.cells.shape[0]:
            self.cells[true, guess] += 1
        if self.examples == self.next:
            self.note()

    cdef inline void add_number(self, double error, double cost) noexcept nogil:
        self.examples += 1
        self.loss += cost
        self.error += error
        if self.examples == self.next:
            self.note()

    def begin(self, list labels, Py_ssize_t n):
        """Get ready for n examples with these labels."""
        if labels is not self.last:
            self.relabel(labels)
            self.last = labels
        if not (self.thinning or self.given):
            most = self.count + n // self.spacing + 1
            if most > len(self.noted):
                self.noted = np.concatenate([self.noted, np.empty((max(most, len(self.noted)), NOTED))])

    @cython.boundscheck(False)
    @cython.wraparound(False)
    cdef void note(self) noexcept nogil:
        """This is a place of the curve, unless there is no room and every other one goes, this one among them."""
        cdef Py_ssize_t i
        cdef double* point
        if self.thinning and self.count == CURVE_POINTS:
            for i in range(CURVE_POINTS // 2):
                memcpy(&self.noted[i, 0], &self.noted[2 * i + 1, 0], NOTED * sizeof(double))
            self.count = CURVE_POINTS // 2
            self.spacing *= 2
        if not self.thinning or self.examples % self.spacing == 0:
            point = &self.noted[self.count, 0]
            point[PLACES], point[SUMS] = self.examples, self.mistakes + self.error
            point[LOSS], point[UPDATES], point[SECONDS] = self.loss, self.updates, NAN
            if self.given and (self.count & 7 == 7 or self.count == self.at.shape[0] - 1):    # a look at it takes 1 us
                point[SECONDS] = thread_seconds() - self.begun
            self.count += 1
        if self.given:
            self.next = self.at[self.count] if self.count < self.at.shape[0] else -1
        else:
            self.next = (self.examples // self.spacing + 1) * self.spacing

    def relabel(self, list labels):
        """Labels have come: the counts go where they now belong."""
        every = [*dict.fromkeys([*labels, *self.labels])]
        if len(every) > LARGEST_CONFUSION:
            self.cells = self.counts = np.zeros((0, 0), np.int64)
        elif len(self.labels) <= LARGEST_CONFUSION:
            counts = np.zeros((len(every), len(every)), np.int64)
            if self.labels:
                place = dict(zip(every, range(len(every))))
                kept = np.array([place[label] for label in self.labels])
                counts[kept[:, None], kept] = self.counts
            self.cells = self.counts = counts
        self.labels = every
