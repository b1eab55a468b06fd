"""The judge of a run: the prediction and loss of each example, and their sums.

Labels are represented by their positions among the labels that a model knows.
"""

cimport cython
from libc.math cimport NAN, fabs, isfinite
from libc.string cimport memcpy
from posix.time cimport CLOCK_THREAD_CPUTIME_ID, clock_gettime, timespec

import numpy as np

from seriatim.core.learner cimport Learner
from seriatim.core.loop cimport Sink
from seriatim.core.loss cimport HINGE, loss

from seriatim.core.loss import LOSSES

cdef enum:
    CURVE_POINTS = 512
    PLACES = 0, SUMS, LOSS, UPDATES, SECONDS, NOTED    # the columns of a curve; SUMS: mistakes or errors

cdef Py_ssize_t LARGEST_CONFUSION = 1000    # with more labels there is no confusion matrix
cdef list NOTHING = []


cdef inline double thread_seconds() noexcept nogil:
    """The processor time of this thread; other threads may be at work beside it."""
    cdef timespec now
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return now.tv_sec + 1e-9 * now.tv_nsec


cdef struct Rule:                # how predictions are judged
    int kind                     # of loss
    double epsilon
    Py_ssize_t classes           # scores of an example: 1 for numbers and for two labels
    Py_ssize_t last              # the position of the last label; -1 if numbers are predicted
    const Py_ssize_t* among      # the labels that can be predicted
    Py_ssize_t rivals


cdef inline double judge_row(const Rule* by, double y, const double* score, bint fresh, int* true, int* guess) \
        noexcept nogil:
    """The loss of a prediction, and for labels the true and the predicted one, -1 for none.

    `fresh`: the true label was not known, so the prediction is another label.
    """
    cdef Py_ssize_t j, k
    cdef int best, other = -1
    cdef double cost
    if by.last < 0:
        return loss(by.kind, y - score[0], by.epsilon)
    if by.classes == 1:    # with a single label both signs stand for it
        true[0], guess[0] = by.last * (y > 0), by.last * (score[0] >= 0)
        if fresh:
            guess[0] = -1 if by.last == 0 else 1 - true[0]
        cost = 1 - y * score[0]
        # The most common loss, inline: a call would take a third of the time of judging.
        return (cost if cost > 0 else 0) if by.kind == HINGE else loss(by.kind, cost, by.epsilon)
    true[0], best = <int> y, <int> by.among[0]
    for j in range(by.rivals):    # the highest score, the lowest class on a tie
        k = by.among[j]
        if score[k] > score[best]:
            best = <int> k
        if k != true[0] and (other < 0 or score[k] > score[other]):
            other = <int> k
    guess[0] = other if fresh else best
    return loss(by.kind, 1 - (score[true[0]] - (score[other] if other >= 0 else 0)), by.epsilon)


cdef Rule rule_of(name, double epsilon, Py_ssize_t classes, Py_ssize_t labels, const Py_ssize_t[::1] among):
    cdef Py_ssize_t k, rivals = among.shape[0] if classes > 1 else 0
    cdef Rule by
    if labels and (labels > 2 if classes == 1 else classes != labels or not rivals):
        raise ValueError(f"{classes} scores for {labels} labels, of which {rivals} can be predicted")
    for k in range(rivals):
        if not 0 <= among[k] < classes:
            raise ValueError(f"class {among[k]} of {classes}")
    by.kind, by.epsilon, by.classes, by.last = LOSSES.index(name), epsilon, classes, labels - 1
    by.rivals, by.among = rivals, NULL
    if rivals:
        by.among = &among[0]
    return by


def judge_rows(name, const double[::1] y, const double[:, ::1] scores, double epsilon=0, Py_ssize_t labels=0,
               seen=(), bint fresh=False):
    """The true and the predicted labels, as positions, and the losses.

    y : numbers, if there are no labels; -1 and +1 where each example has one score; else classes.
    seen : the labels that can be predicted, by their position, where each has a score.
    fresh : the first example has a label that was not known when it was predicted.

    >>> scores = np.array([[0.5], [0.0]])
    >>> [part.tolist() for part in judge_rows("hinge", np.array([1.0, -1.0]), scores, labels=2)]
    [[1, 0], [1, 1], [0.5, 1.0]]
    >>> scores = np.array([[0.0, 3.0, 1.0], [2.0, 9.0, 2.0]])
    >>> [part.tolist() for part in judge_rows("hinge", np.array([2.0, 0.0]), scores, labels=3, seen=[0, 2])]
    [[2, 0], [2, 0], [0.0, 1.0]]
    >>> judge_rows("squared", np.array([1.0, 3.0]), np.array([[0.0], [3.0]]))[2].tolist()
    [0.5, 0.0]
    """
    cdef Py_ssize_t i, n = y.shape[0]
    cdef const Py_ssize_t[::1] among = np.array(seen, dtype=np.intp)
    cdef Rule by = rule_of(name, epsilon, scores.shape[1], labels, among)
    if scores.shape[0] != n or scores.shape[1] < 1:
        raise ValueError(f"{scores.shape[0]} x {scores.shape[1]} scores for {n} targets")
    if by.classes > 1 and n and not 0 <= np.min(y) <= np.max(y) < by.classes:
        raise ValueError(f"a class that is not one of {by.classes}")
    truth, predicted, losses = np.zeros(n, np.int32), np.zeros(n, np.int32), np.empty(n)
    cdef int[::1] true = truth
    cdef int[::1] guess = predicted
    cdef double[::1] cost = losses
    with nogil:
        for i in range(n):
            cost[i] = judge_row(&by, y[i], &scores[i, 0], fresh and i == 0, &true[i], &guess[i])
    return truth, predicted, losses


def ascending(const long long[:] places):
    """Sorted, without duplicates. Checkpoints usually are, and testing is faster than sorting."""
    cdef Py_ssize_t i
    for i in range(1, places.shape[0]):
        if places[i] <= places[i - 1]:
            return np.unique(places)
    return np.ascontiguousarray(places)


cdef class Judge(Sink):
    """Mistakes, loss and confusion matrix of a run so far, and the sums at the checkpoints of its curve.

    The checkpoints are those of `at`, or every `every` examples, or up to 512 evenly spaced ones: when they are full,
    every other one is dropped. They do not depend on how the run is divided into blocks.

    >>> judge = Judge("hinge", every=2)
    >>> judge.add(np.array([0, 1, 1], np.int32), np.array([1, 1, 0], np.int32), np.ones(3), ["ham", "spam"])
    >>> judge.examples, judge.mistakes, judge.loss, judge.counts.tolist(), [part.tolist() for part in judge.curve()[:3]]
    (3, 2, 3.0, [[0, 1], [1, 1]], [[2], [1.0], [2.0]])
    """

    cdef readonly long long examples, mistakes
    cdef readonly double loss, error    # error: the sum of |y - prediction| of numbers
    cdef readonly double seconds        # the processor time of learning and judging
    cdef public long long skip          # the number of further examples that are not counted
    cdef readonly list labels           # of counts: those of the last segment first, then earlier ones
    cdef readonly object counts
    cdef object last
    cdef const long long[::1] at        # the checkpoints, if given
    cdef bint given, thinning           # thinning: drop every other checkpoint when they are full
    cdef long long spacing, next
    cdef Py_ssize_t count
    cdef long long[:, ::1] cells
    cdef double[:, ::1] noted           # one row for each checkpoint
    cdef double begun                   # the thread's time at the start, minus `seconds`
    # The present segment:
    cdef object name
    cdef double epsilon
    cdef list known, seen
    cdef bint fresh
    cdef const Py_ssize_t[::1] among
    cdef Rule by
    cdef Learner learner
    # For metrics, with `keeping`, the examples of the segment:
    cdef public bint keeping
    cdef list kept
    cdef Py_ssize_t filled, left_out    # left_out: examples of the segment that were not counted
    cdef int[::1] truth, guesses
    cdef double[::1] y, losses
    cdef double[:, ::1] scores

    def __init__(self, name=None, double epsilon=0, at=None, every=None, skip=0, bint keeping=False):
        """`name` and `epsilon` define the loss; with `keeping`, `outcomes` returns the prediction of each example."""
        self.name, self.epsilon, self.keeping, self.kept = name, epsilon, keeping, []
        self.labels, self.skip = [], skip
        self.cells = self.counts = np.zeros((0, 0), np.int64)
        self.given, self.thinning = at is not None, at is None and every is None
        self.at = ascending(np.asarray([] if at is None else at, np.int64))
        self.spacing = every or 1
        self.next = self.spacing if at is None else self.at[0] if len(self.at) else -1
        self.noted = np.empty((len(self.at) if self.given else CURVE_POINTS, NOTED))

    # ---- a sink of the loop

    def segment(self, labels, list seen, bint fresh):
        self.known, self.seen, self.fresh = labels, seen, fresh

    cdef int begin(self, Learner learner, Py_ssize_t classes, Py_ssize_t n) except -1:
        labels = self.known or NOTHING
        self.among = np.array(self.seen if classes > 1 else [], dtype=np.intp)
        self.by = rule_of(self.name, self.epsilon, classes, len(labels), self.among)
        self.learner = learner
        self.expect(labels, n)
        self.filled = self.left_out = 0
        if self.keeping:
            self.truth, self.guesses = np.zeros(n, np.int32), np.zeros(n, np.int32)
            self.y, self.losses, self.scores = np.empty(n), np.empty(n), np.empty((n, classes))
        if learner is not None:
            self.begun = thread_seconds() - self.seconds
        return 0

    cdef Py_ssize_t wants(self, Py_ssize_t left) noexcept nogil:
        if self.skip > 0:
            return min(left, self.skip)
        return min(left, self.next - self.examples) if self.next > 0 else left    # `left` may be the largest number

    @cython.boundscheck(False)
    @cython.wraparound(False)
    cdef void take(self, const double* y, const double* score, Py_ssize_t n) noexcept nogil:
        cdef long long mistakes = 0
        cdef double total = self.loss, error = self.error, cost
        cdef Py_ssize_t i, size = self.cells.shape[0]
        cdef long long* cells = &self.cells[0, 0] if size else NULL
        cdef int true = 0, guess = 0
        cdef bint skipped = self.skip > 0
        cdef Rule by = self.by
        if self.keeping and n:
            memcpy(&self.y[self.filled], y, n * sizeof(double))
            memcpy(&self.scores[self.filled, 0], score, n * by.classes * sizeof(double))
        for i in range(n):
            cost = judge_row(&by, y[i], score, self.fresh and i == 0, &true, &guess)
            if self.keeping:
                self.truth[self.filled + i], self.guesses[self.filled + i] = true, guess
                self.losses[self.filled + i] = cost
            if not skipped:
                total += cost
                if by.last < 0:
                    error += fabs(y[i] - score[0])
                else:
                    mistakes += true != guess
                    if guess >= 0 and size:
                        cells[true * size + guess] += 1
            score += by.classes
        self.fresh = self.fresh and n == 0
        self.filled += n
        if skipped:
            self.skip -= n
            self.left_out += n
        else:
            self.examples += n
            self.loss, self.error, self.mistakes = total, error, self.mistakes + mistakes
        if self.examples == self.next and n and not skipped:
            self.note(0 if self.learner is None else self.learner.updates)

    cdef void end(self) noexcept:
        if self.learner is not None:
            self.seconds = thread_seconds() - self.begun
        if self.keeping:
            truth = np.asarray(self.truth) if self.known is not None else np.asarray(self.y)
            guesses, losses, scores = np.asarray(self.guesses), np.asarray(self.losses), np.asarray(self.scores)
            guesses = guesses if self.known is not None else scores[:, 0]
            parts = (truth, guesses, losses, scores, np.asarray(self.y))
            self.kept.append((*(part[self.left_out:self.filled] for part in parts), self.known, self.seen))
        self.learner = None

    def outcomes(self):
        """For each segment since the last call: truth, predictions, losses, scores, targets, labels, seen labels."""
        kept, self.kept = self.kept, []
        return kept

    # ---- the curve

    def curve(self):
        """The checkpoints, and at each the sums of mistakes (or errors), losses, updates and seconds. Updates and
        seconds count learners only. If the checkpoints were given, some have no seconds (NaN)."""
        places, *others = np.array(self.noted[:self.count]).T
        return places.astype(np.int64), *others

    def places_after(self, long long place):
        """The checkpoints after this number of examples."""
        cdef Py_ssize_t i = self.count
        while i and self.noted[i - 1, PLACES] > place:
            i -= 1
        return [<long long> self.noted[k, PLACES] for k in range(i, self.count)]

    def points(self):
        """The checkpoints, the means of mistakes or errors, the updates and the seconds, as lists for the record of a
        run. Missing seconds are interpolated."""
        cdef Py_ssize_t i, j, done = 0, n = self.count
        cdef double begin = 0, seen = 0, now, each    # the last checkpoint with a time, and that time
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

    # ---- predictions that are judged elsewhere

    def add(self, const int[::1] truth, const int[::1] predicted, const double[::1] losses, list labels):
        """Add judged examples: positions of true and predicted labels in `labels`, and losses."""
        cdef Py_ssize_t i, n = losses.shape[0]
        if truth.shape[0] != n or predicted.shape[0] != n:
            raise ValueError("what is true, predicted and lost differ in length")
        self.expect(labels, n)
        with nogil:
            for i in range(n):
                self.count_one(truth[i], predicted[i], losses[i])

    def add_numbers(self, const double[::1] errors, const double[::1] losses):
        """Add predicted numbers: their errors and losses."""
        cdef Py_ssize_t i, n = losses.shape[0]
        if errors.shape[0] != n:
            raise ValueError("errors and losses differ in length")
        self.expect(self.labels, n)
        with nogil:
            for i in range(n):
                self.examples += 1
                self.loss += losses[i]
                self.error += fabs(errors[i])
                if self.examples == self.next:
                    self.note(0)

    @cython.boundscheck(False)
    @cython.wraparound(False)
    cdef inline void count_one(self, int true, int guess, double cost) noexcept nogil:
        self.examples += 1
        self.loss += cost
        self.mistakes += true != guess
        if 0 <= guess < self.cells.shape[0] and 0 <= true < self.cells.shape[0]:
            self.cells[true, guess] += 1
        if self.examples == self.next:
            self.note(0)

    # ---- memory

    cdef int expect(self, list labels, Py_ssize_t n) except -1:
        """Make room for n examples with these labels."""
        if labels is not self.last:
            self.relabel(labels)
            self.last = labels
        if not (self.thinning or self.given):
            most = self.count + n // self.spacing + 1
            if most > len(self.noted):
                self.noted = np.concatenate([self.noted, np.empty((max(most, len(self.noted)), NOTED))])
        return 0

    @cython.boundscheck(False)
    @cython.wraparound(False)
    cdef void note(self, Py_ssize_t updates) noexcept nogil:
        """Add a checkpoint. If they are full, drop every other one first, perhaps this one, too."""
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
            point[LOSS], point[UPDATES], point[SECONDS] = self.loss, updates, NAN
            if self.given and (self.count & 7 == 7 or self.count == self.at.shape[0] - 1):  # 1 us each
                point[SECONDS] = thread_seconds() - self.begun
            self.count += 1
        if self.given:
            self.next = self.at[self.count] if self.count < self.at.shape[0] else -1
        else:
            self.next = (self.examples // self.spacing + 1) * self.spacing

    def relabel(self, list labels):
        """Move the counts to the positions of the new labels."""
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
