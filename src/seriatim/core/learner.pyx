"""The base classes of all compiled learners, and frames in which an algorithm writes a single function: its step.

A learner gets an example as a Row and a number y: -1 or +1, a class number, or a target. It never sees labels, names,
files or arrays. Its state is named numbers and arrays.
"""

from libc.math cimport sqrt
from libc.stdlib cimport calloc, free

import numpy as np

from seriatim.core.row cimport add, dot, record, value, within
from seriatim.core.rows cimport Rows

from seriatim.core.recolumn import RecordArray, moved
from seriatim.errors import DataError, ModelError

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define prefetch(place) __builtin_prefetch(place)
    #else
    #define prefetch(place)
    #endif
    """
    void prefetch(const double* place) noexcept nogil


cdef inline void several(const Row* x, const double* w, Py_ssize_t width, double* out, int n) noexcept nogil:
    """Products of x with n neighbouring columns. If n is a constant, the sums stay in registers."""
    cdef double sums[8]
    cdef Py_ssize_t i, k
    for k in range(n):
        sums[k] = x.constant * w[k]
    for i in range(x.n):
        for k in range(n):
            sums[k] += x.value[i] * w[((i if x.index == NULL else x.index[i]) + 1) * width + k]
    for k in range(n):
        out[k] = sums[k]


cdef class DictReader:
    """Reads an example, a dict, and shows it as a row in the columns of one model.

    The row is valid until the next example is read or shown.
    """

    cdef int begin(self) except -1:
        """Become busy. The row must stay valid: a value's `__float__` or a kernel in Python may call the model."""
        if self.busy:
            raise DataError("the model was called again, by a value or a kernel, while it was at work on an example")
        self.busy = True
        return 0

    cdef int read(self, features) except -1:
        """Read an example. Nothing that a model has learned changes."""
        raise NotImplementedError

    cdef int show(self, bint learning, double constant, Row* row) except -1:
        """Show the example last read.

        When learning, names that the model does not know get the next columns, which `keep_names` adds to the model.
        A scaler counts the row, until `settle` makes it final or `undo` takes it back. Otherwise unknown names count
        in the norm and nowhere else.
        """
        raise NotImplementedError

    cdef Py_ssize_t columns(self) noexcept:
        """How many columns the model has, including the new ones of the row last shown."""
        return 0

    cdef int keep_names(self) except -1:
        return 0

    cdef void settle(self) noexcept:
        pass

    cdef int undo(self) except -1:
        return 0


cdef class Learner:
    """The base of all learners. A subclass defines `score` and `learn`; for several classes `scores`, `learn_class`."""

    NUMBERS = ("t", "updates")    # the numbers of the state; each is a public attribute

    def __cinit__(self):
        self.constant = 1
        self.classes = 1
        self.weight = 1
        self.room = <double*> calloc(1, sizeof(double))
        self.seen = <char*> calloc(1, 1)
        if self.room == NULL or self.seen == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.room)
        free(self.seen)

    # ---- what a subclass writes

    cdef double score(self, const Row* x) noexcept nogil:
        """The score of a row. The prediction is its sign, or for regression the score itself."""
        return 0

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        """Learn one example. Returns the score before the update."""
        return 0

    cdef void scores(self, const Row* x, double* out) noexcept nogil:
        """The score of each class."""

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        """Learn one example of class y. Writes the scores before the update to `out`."""

    cdef int grow(self, Py_ssize_t rows) except -1:
        """Make room for `rows` records: the constant's and one for each column."""
        return 0

    cdef int begin_rows(self, Py_ssize_t n) except -1:
        """Prepare for n rows that will be learned or scored in order; `at` will be the number of the current row."""
        return 0

    cdef void end_rows(self) noexcept:
        """The rows are finished, or an error has ended the loop."""

    cdef int expect(self, const Row* x, where) except -1:
        """Raise DataError if the method cannot take this row. `where` names the row in the message."""
        return 0

    def expect_rows(self, Rows rows):
        """Raise DataError if the method cannot take one of these rows, checked or not."""
        cdef Py_ssize_t i
        cdef Row x
        rows = rows.check()
        for i in range(rows.n):
            rows.get(i, self.constant, &x)
            self.expect(&x, rows.first + i)

    def reserve(self, Py_ssize_t columns):
        """Make room for `columns` columns; raises LimitError if they are too many."""
        self.grow(columns + 1)

    # ---- a round

    cdef void predict(self, const Row* x, double* out) noexcept nogil:
        if self.classes == 1:
            out[0] = self.score(x)
        else:
            self.scores(x, out)

    cdef void round(self, const Row* x, double y, double* out) noexcept nogil:
        """Learn one example. `out`, unless NULL, receives the prediction that was made before y was revealed."""
        cdef double f
        if out != NULL and self.apart:
            self.predict(x, out)
            out = NULL
        self.t += 1
        if self.classes == 1:
            f = self.learn(x, y)
            if out != NULL:
                out[0] = f
        else:
            self.learn_class(x, <Py_ssize_t> y, self.room if out == NULL else out)

    cdef Py_ssize_t rival(self, Py_ssize_t y, const double* scores) noexcept nogil:
        """The class other than y with the highest score among the seen ones, the first if equal; -1: none."""
        cdef Py_ssize_t k, best = -1
        for k in range(self.classes):
            if k != y and self.seen[k] and (best < 0 or scores[k] > scores[best]):
                best = k
        return best

    # ---- one example

    def learn_one(self, DictReader reader, features, double y, double weight=1):
        reader.begin()
        try:
            reader.read(features)
            learn_read(self, reader, y, weight)
        finally:
            reader.busy = False

    def score_one(self, DictReader reader, features):
        """The score of a dict; a list of scores with several classes."""
        reader.begin()
        try:
            reader.read(features)
            return self.score_read(reader)
        finally:
            reader.busy = False

    def progress_one(self, DictReader reader, features, double y, double weight=1):
        """Learn a dict that is read once; returns its score before."""
        reader.begin()
        try:
            reader.read(features)
            scores = self.score_read(reader)
            learn_read(self, reader, y, weight)
            return scores
        finally:
            reader.busy = False

    def admit(self, DictReader reader, features):
        """Refuse a dict that cannot be learned, and make room for its names. Then `learn_read` can learn it."""
        cdef Row x
        reader.begin()
        try:
            reader.read(features)
            self.take_in(reader, &x)
            reader.undo()
        finally:
            reader.busy = False

    def learn_read(self, DictReader reader, double y, double weight=1):
        """Learn the example that was read last."""
        reader.begin()
        try:
            learn_read(self, reader, y, weight)
        finally:
            reader.busy = False

    cdef int take_in(self, DictReader reader, Row* x) except -1:
        """The row of the example that was read last, with room for its names; an error leaves the model as it was."""
        try:
            reader.show(True, self.constant, x)
            if self.particular:
                self.expect(x, None)
            self.grow(reader.columns() + 1)
        except BaseException:
            reader.undo()
            raise
        reader.keep_names()
        return 0

    cdef score_read(self, DictReader reader):
        """The score of the example that was read last."""
        cdef Row x
        reader.show(False, self.constant, &x)
        self.grow(reader.columns() + 1)    # names may be known before the first row that has them
        if self.classes == 1:
            return self.score(&x)
        self.scores(&x, self.room)
        return [self.room[k] for k in range(self.classes)]

    def check_memory(self):
        if self.failed:
            self.failed = False
            raise MemoryError("the model has outgrown the memory; the last examples were not learned")

    # ---- new columns and classes
    #
    # Python raises signals only while it runs Python code, and these functions call none between their changes. So
    # Ctrl-C comes before or after a whole change, and a model's `book`, its __dict__, always fits its learner.

    def extend(self, dict book, Py_ssize_t columns):
        """Make room for `columns` columns, and record their number in a model's `book`."""
        self.reserve(columns)
        if columns > book.get("_columns", 0):
            book["_columns"] = columns

    def change_classes(self, dict book, dict entries, source, factor, list seen, told):
        """Change the classes, and record in a model's `book` which labels they stand for.

        source, factor : as for `reclass`; None if the classes stay as they are.
        seen : the classes that begin to compete.
        told : what the learner must know about the labels; see `introduce`.
        """
        if source is not None:
            self.reclass(source, factor)
        if self.classes > 1:
            self.compete(seen)
        if told is not None:
            self.introduce(told)
        book.update(entries)

    def introduce(self, told):
        """Receive what the learner must know about the labels. It cannot fail. Most learners need nothing."""

    def reclass(self, source, factor):
        """Make class k the old class source[k], times factor[k] in signed fields (see Table).

        source : an array of old class numbers, -1 for a new class.
        factor : an array of numbers.

        A subclass first does what may fail or calls Python code, then calls `reclass` of its base, then changes its
        own memory. So the learner either keeps its old classes or has all of its new ones.
        """
        cdef const Py_ssize_t[::1] places = source
        cdef Py_ssize_t k
        room, seen = <double*> calloc(len(source), sizeof(double)), <char*> calloc(len(source), 1)
        if room == NULL or seen == NULL:
            free(room)
            free(seen)
            raise MemoryError
        for k in range(len(source) if self.classes > 1 else 0):
            seen[k] = places[k] >= 0 and self.seen[places[k]]
        free(self.room)
        free(self.seen)
        self.room, self.seen, self.classes = room, seen, len(source)

    def column_arrays(self):
        """Which arrays of the state depend on columns, as {name: kind}; see `seriatim.core.recolumn`."""
        raise ModelError(f"the columns of a {type(self).__name__} cannot be moved")

    def recolumn(self, state, places, Py_ssize_t columns):
        """A state of this learner with column j moved to column places[j] of `columns`."""
        return moved(state, self.column_arrays(), places, columns)

    def compete(self, list classes):
        """Let these classes compete: their labels have been seen."""
        for k in classes:
            if not 0 <= k < self.classes:
                raise ValueError(f"class {k} of {self.classes}")
            self.seen[<Py_ssize_t> k] = 1

    # ---- state

    def state(self):
        """Everything the learner has learned, as named numbers and arrays."""
        return {name: getattr(self, name) for name in self.NUMBERS}

    def restore(self, state):
        """Load what `state` returned into a new learner with the same classes."""
        for name in self.NUMBERS:
            setattr(self, name, state[name])
        if self.updates > self.t:
            raise ModelError(f"{self.updates} updates in {self.t} rounds")


cdef int learn_read(Learner self, DictReader reader, double y, double weight) except -1:
    """Learn the example that was read last. A method in Python would cost more than a short row."""
    cdef Row x
    if self.classes > 1 and not 0 <= y < self.classes:
        raise ValueError(f"a class that is not one of {self.classes}")
    self.take_in(reader, &x)
    self.weight = weight
    self.round(&x, y, NULL)
    self.weight = 1
    if self.failed:
        reader.undo()
    else:
        reader.settle()
    if self.failed or self.halted:
        self.check_memory()
    return 0


cdef class LinearLearner(Learner):
    """Weights w = scale x table and, on request, the average of w_1, ..., w_T.

    The average needs no pass over the weights (Daume, Algorithm 7, extended by the scale). Let S_t = s_1 + ... + s_t
    be the sum of the scales, and let an update of the table by v in round t also add S_t v to u. Then
    w_1 + ... + w_T = S_T table - u.
    """

    NUMBERS = (*Learner.NUMBERS, "scale", "total", "norm2")

    def __init__(self, bint average=False, tuple companions=(), bint bounded=False):
        average_fields = (("u", 0.0, True),) if average else ()
        self.table = Table((("w", 0.0, True), *average_fields, *companions))
        self.average = self.apart = average
        self.bounded = bounded
        self.scale = 1

    cdef int grow(self, Py_ssize_t rows) except -1:
        return self.table.grow(rows)

    cdef double score(self, const Row* x) noexcept nogil:
        cdef Row known = within(x, self.table.rows)
        cdef double f = dot(&known, self.table.data, self.table.width)
        if not self.average:
            return self.scale * f
        if self.t == 0:
            return 0
        return (self.total * f - dot(&known, self.table.data + 1, self.table.width)) / self.t

    cdef void raw_scores(self, const Row* x, double* out) noexcept nogil:
        """The scores by w itself, which the update uses even if the average predicts."""
        cdef Py_ssize_t i, k = 0
        cdef const double* w = self.table.data
        for i in range(x.n if self.classes >= 8 else 0):
            for k in range(0, self.classes, 8):
                prefetch(w + record(x, i) * self.table.width + k)
        k = 0
        while k + 8 <= self.classes:
            several(x, w + k, self.table.width, out + k, 8)
            k += 8
        while k + 4 <= self.classes:
            several(x, w + k, self.table.width, out + k, 4)
            k += 4
        while k < self.classes:
            out[k] = dot(x, w + k, self.table.width)
            k += 1
        for k in range(self.classes):
            out[k] *= self.scale

    cdef void scores(self, const Row* x, double* out) noexcept nogil:
        cdef Py_ssize_t i, k, classes = self.classes
        cdef const double* w
        cdef Row known = within(x, self.table.rows)
        if not self.average:
            self.raw_scores(&known, out)
            return
        for k in range(classes):
            out[k] = 0
        for i in range(-1, known.n):
            w = self.table.data + record(&known, i) * self.table.width
            for k in range(classes):
                out[k] += value(&known, i) * (self.total * w[k] - w[classes + k])
        for k in range(classes):
            out[k] /= max(self.t, 1)

    cdef void count(self) noexcept nogil:
        """Count the current w into the average.

        S_T - S_t loses precision if S is much larger than its last terms. So S restarts at 0 early enough.
        """
        self.total += self.scale
        if self.average and self.total > 1e6 * self.scale:
            self.fold()

    cdef void fold(self) noexcept nogil:
        """Move the sum so far into u, and restart the sum of the scales at 0."""
        cdef Py_ssize_t i, k
        cdef double* w
        for i in range(self.table.rows if self.average else 0):
            w = self.table.data + i * self.table.width
            for k in range(self.classes):
                w[self.classes + k] -= self.total * w[k]
        self.total = 0

    cdef void move(self, const Row* x, double a, Py_ssize_t column) noexcept nogil:
        """w += a x for one class."""
        if self.scale != 1:    # a division takes longer than the test
            a /= self.scale
        add(x, a, self.table.data + column, self.table.width)
        if self.average:
            add(x, self.total * a, self.table.data + self.classes + column, self.table.width)

    cdef void updated(self, double change) noexcept nogil:
        """Count an update of w that changed |w|^2 by `change`."""
        self.updates += 1
        if self.bounded:
            self.moved = True
            if self.norm2 == 0:    # the first update, or the first since the ball was set
                self.measure()
            else:
                self.norm2 += change

    cdef void shrink(self, double factor) noexcept nogil:
        """w *= factor, in constant time. The table is rescaled long before the scale overflows or underflows."""
        cdef Py_ssize_t i, k
        cdef double* w
        if self.average and factor < 0.5:    # the scale drops, so S would be inexact for the steps to come
            self.fold()
        self.scale *= factor
        self.norm2 *= factor * factor
        if not 1e-50 < self.scale < 1e50:
            self.fold()
            for i in range(self.table.rows):
                w = self.table.data + i * self.table.width
                for k in range(self.classes):
                    w[k] = self.scale * w[k] + 0.0    # a zero has no sign
            self.scale = 1

    cdef void project(self, double radius) noexcept nogil:
        """Replace w by the nearest vector of norm `radius` or less.

        Every update adjusts |w|^2. It is computed anew when the number of updates has doubled, so that rounding errors
        do not accumulate.
        """
        if not self.moved:
            return
        self.moved = False
        if self.updates & (self.updates - 1) == 0:
            self.measure()
        if self.norm2 > radius * radius:
            self.shrink(radius / sqrt(self.norm2))

    cdef void measure(self) noexcept nogil:
        """Compute |w|^2 from the weights."""
        cdef Py_ssize_t i, k
        cdef double total = 0
        for i in range(self.table.rows):
            for k in range(self.classes):
                total += self.table.data[i * self.table.width + k] ** 2
        self.norm2 = self.scale * self.scale * total

    cdef void end_round(self) noexcept nogil:
        """Called after every round, with or without an update."""

    def weights(self):
        """The weights that predict, as an array of shape (1 + features, classes); the first row is the intercept's."""
        if not self.average:
            return self.scale * self.table.get("w")
        return (self.total * self.table.get("w") - self.table.get("u")) / max(self.t, 1)

    def column_arrays(self):
        return {name: RecordArray(initial) for name, initial, _ in self.table.fields}

    def reclass(self, source, factor):
        self.table.reclass(source, factor)
        Learner.reclass(self, source, factor)
        if self.bounded:
            self.measure()

    def state(self):
        return {**Learner.state(self), **{name: self.table.get(name) for name, _, _ in self.table.fields}}

    def restore(self, state):
        rows = len(state["w"])
        for name, _, _ in self.table.fields:
            if rows < 1 or state[name].shape != (rows, self.table.classes):
                raise ModelError(
                    f"{name} has the shape {state[name].shape}; a feature table of {self.table.classes} classes has "
                    f"{max(rows, 1)} records of as many numbers"
                )
        self.grow(rows)    # before there are rounds, for some grow only then; and what is beside the table with it
        if self.table.rows != rows:
            raise ModelError(f"the feature table has {rows} records; expected {self.table.rows}")
        Learner.restore(self, state)
        if not (self.scale > 0 and self.total >= 0):    # of norm2, a running sum, rounding may leave less than 0
            raise ModelError(f"a scale of {self.scale}, and {self.total} as the sum of scales, which are above 0")
        for name, _, _ in self.table.fields:
            self.table.set(name, np.ascontiguousarray(state[name], dtype=np.float64))


cdef class MarginLearner(LinearLearner):
    """A classifier whose update is a step along the example: w += tau y x, tau = step(margin, |x|^2).

    With two labels the margin is y w.x. With more labels it is w_y.x - w_s.x, where s is the strongest rival of the
    true class y. In the joint feature map of the papers the update is w_y += tau x, w_s -= tau x, so |x|^2 counts
    twice. A row of zero norm causes no update.
    """

    cdef double step(self, double margin, double norm2) noexcept nogil:
        """The length of the step; 0 for none. norm2 > 0."""
        return 0

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = self.scale * dot(x, self.table.data, self.table.width)
        cdef double tau
        self.count()
        if x.norm2 > 0:
            tau = self.step(y * f, x.norm2)
            if tau != 0:
                self.move(x, tau * y, 0)
                self.updated(tau * (2 * y * f + tau * x.norm2))
        self.end_round()
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t s
        cdef double tau, margin
        self.raw_scores(x, out)
        self.count()
        s = self.rival(y, out)
        if s >= 0 and x.norm2 > 0:
            margin = out[y] - out[s]
            tau = self.step(margin, 2 * x.norm2)
            if tau != 0:
                self.move(x, tau, y)
                self.move(x, -tau, s)
                self.updated(tau * (2 * margin + tau * 2 * x.norm2))
        self.end_round()


cdef class ResidualLearner(LinearLearner):
    """A regressor whose update is a step along the example: w += step(y - w.x, |x|^2) x."""

    cdef double step(self, double residual, double norm2) noexcept nogil:
        return 0

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = self.scale * dot(x, self.table.data, self.table.width)
        cdef double tau
        self.count()
        if x.norm2 > 0:
            tau = self.step(y - f, x.norm2)
            if tau != 0:
                self.move(x, tau, 0)
                self.updated(tau * (2 * f + tau * x.norm2))
        self.end_round()
        return f
