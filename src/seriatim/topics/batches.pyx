"""Topic models over a growing vocabulary, learned in batches.

Both models hold lambda, the parameters of a Dirichlet distribution over words for each topic. A batch of S documents
updates it: lambda <- (1 - rho) lambda + rho (eta + D / S sums). With lambda = eta + scale x table, a batch costs only
the words that it contains.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fmax, fmin, pow
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from seriatim.core.memory cimport allocate, resize
from seriatim.core.row cimport Row
from seriatim.core.rows cimport Rows

from seriatim.core.recolumn import ColumnNumbers
from seriatim.errors import DataError, LimitError, ModelError

MAX_BYTES = 1 << 32
cdef Py_ssize_t MOST_BYTES = MAX_BYTES
cdef Py_ssize_t BETWEEN_SIGNALS = 64
LARGEST = 1e100    # the largest valid parameter of a topic
cdef double LEAST_SCALE = 1e-50
cdef double NO_TOPIC = 1e-3    # exp(psi(1e-3)) is 0


cdef int make_room(Memo* memo, Py_ssize_t more, Py_ssize_t width, Py_ssize_t places, bint summing) noexcept nogil:
    """Make room for `more` slots in a table of `places` rows. Returns -1 without memory."""
    cdef Py_ssize_t i, room = memo.n + more
    if places > memo.places:
        places = max(places, 2 * memo.places)
        if resize(<void**> &memo.slot, places, sizeof(int)) < 0:
            return -1
        for i in range(memo.places, places):
            memo.slot[i] = -1
        memo.places = places
    if room > memo.room:
        room = max(room, 2 * memo.room)
        if (resize(<void**> &memo.row, room, sizeof(int)) < 0
                or resize(<void**> &memo.top, room, sizeof(double)) < 0
                or resize(<void**> &memo.data, room * width, sizeof(double)) < 0
                or (summing and resize(<void**> &memo.sums, room * width, sizeof(double)) < 0)):
            return -1
        memo.room = room
    return 0


cdef void forget(Memo* memo) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(memo.n):
        memo.slot[memo.row[i]] = -1
    memo.n = 0


cdef void release(Memo* memo) noexcept nogil:
    free(memo.slot)
    free(memo.row)
    free(memo.data)
    free(memo.top)
    free(memo.sums)


cdef class TopicLearner(Representation):
    """Words, batches and lambda. A subclass defines the initial lambda and the inference of a document."""

    NUMBERS = (*Representation.NUMBERS, "open", "closed", "scale", "left")

    def __init__(self, Py_ssize_t K, double eta, double kappa, double tau, double step, Py_ssize_t batch, total,
                 n_features, unsigned long long seed):
        cdef Py_ssize_t k
        self.K, self.width = K, (K + 3) // 4 * 4
        self.eta, self.kappa, self.tau, self.step, self.batch, self.seed = eta, kappa, tau, step, batch, seed
        self.total, self.n_features = total or 0, n_features or 0
        self.scale = self.left = 1
        self.particular = True
        self.viewed = -1
        self.sums, self.mass = self.new_row(), self.new_row()
        self.a, self.ones, self.whole = self.new_row(), self.new_row(), self.new_row()
        for k in range(self.width):
            self.ones[k] = 1

    def __dealloc__(self):
        release(&self.work)
        release(&self.view)
        free(self.place)
        free(self.word)
        free(self.table)
        free(self.sums)
        free(self.mass)
        free(self.row)
        free(self.count)
        free(self.norm)
        free(self.top)
        free(self.at)
        free(self.strange)
        free(self.a)
        free(self.ones)
        free(self.whole)

    cdef double* new_row(self) except NULL:
        """Allocate one number for each topic."""
        cdef double* row = <double*> allocate(self.width, sizeof(double))
        if row == NULL:
            raise MemoryError(f"no memory for {self.K} topics")
        return row

    # ---- what a subclass writes

    cdef double first(self, Py_ssize_t k, Py_ssize_t w) noexcept nogil:
        """lambda_kw before the first document."""
        return 1

    cdef double prepare(self, const double* a, double* out) noexcept nogil:
        """Write the function of lambda that `study` needs, over a divisor; return the logarithm of the divisor."""
        return 0

    cdef void weigh(self) noexcept nogil:
        """Follow a change of `whole`."""

    cdef double study(self, bint learning) noexcept nogil:
        """The bound of the current document, if `asked`. When learning, add its words to the sums of the batch."""
        return 0

    cdef void ended(self, double rho, double times) noexcept nogil:
        """Follow the end of a batch."""

    # ---- words

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t columns = rows - 1
        if self.n_features and columns > self.n_features:
            raise DataError(
                f"{columns} features; n_features={self.n_features} fixes the size of the vocabulary"
            )
        if columns <= self.columns:
            return 0
        if columns > MOST_BYTES // 8 // sizeof(int):
            raise LimitError(f"{columns} features; the limit of a vocabulary is {MOST_BYTES // 8 // sizeof(int)}")
        columns = max(columns, min(2 * self.columns, MOST_BYTES // 8 // <Py_ssize_t> sizeof(int)))
        if self.make_places(columns) < 0:
            raise MemoryError(f"no memory for a vocabulary of {columns} words")
        return 0

    cdef int make_places(self, Py_ssize_t columns) noexcept nogil:
        """Make room in `place` for this number of columns. Returns -1 without memory."""
        cdef Py_ssize_t w
        if columns > self.columns:
            if resize(<void**> &self.place, columns, sizeof(int)) < 0:
                return -1
            for w in range(self.columns, columns):
                self.place[w] = -1
            self.columns = columns
        return 0

    cdef int expect(self, const Row* x, where) except -1:
        cdef Py_ssize_t i, w
        row = "" if where is None else f"row {where}, "
        for i in range(x.n):
            w = i if x.index == NULL else x.index[i]
            if x.value[i] < 0:
                raise DataError(f"{row}column {w}: {x.value[i]:g}. Negative values in data; counts are at least 0")
            if x.value[i] > 0 and self.n_features and w >= self.n_features:
                raise DataError(f"{row}column {w}: the vocabulary has only n_features={self.n_features} words")
        return 0

    cdef void first_row(self, Py_ssize_t w, double* out) noexcept nogil:
        """The row of the table that the word would have if it had been known from the start."""
        cdef Py_ssize_t k
        memset(out, 0, self.width * sizeof(double))
        for k in range(self.K):
            out[k] = (self.first(k, w) - self.eta) * (self.left / self.scale)

    cdef void add(self, Py_ssize_t w) noexcept nogil:
        """Add a word to the vocabulary, which has room for it."""
        cdef double* row = self.table + self.known * self.width
        self.first_row(w, row)
        add_multiple_of(self.width, 1, row, self.sums)
        self.place[w], self.word[self.known] = <int> self.known, <int> w
        self.known += 1
        self.current = 0

    cdef void parameters(self, Py_ssize_t at, bint learning, double* out) noexcept nogil:
        """lambda of a word: of the last closed batch when learning, else of the view. Padding gets NO_TOPIC."""
        cdef Py_ssize_t k
        cdef double decay = 1 if learning else self.decay
        if at < 0:
            self.first_row(-1 - at, self.a)
            mixture(self.width, self.eta, decay * self.scale, self.a, 0, NULL, out)
        elif learning or at >= self.work.places or self.work.slot[at] < 0:
            mixture(self.width, self.eta, decay * self.scale, self.table + at * self.width, 0, NULL, out)
        else:
            mixture(self.width, self.eta, decay * self.scale, self.table + at * self.width, self.gain,
                    self.work.sums + self.work.slot[at] * self.width, out)
        for k in range(self.K, self.width):
            out[k] = NO_TOPIC

    cdef int ready(self, Py_ssize_t n, Memo* memo, bint learning) noexcept nogil:
        """Make room for a document of n words. Returns -1 after an error; then the state has not changed."""
        cdef Py_ssize_t more = n, room
        if learning:
            if self.n_features:
                more = self.n_features - self.known
            if (self.known + more) * self.width * <Py_ssize_t> sizeof(double) > MOST_BYTES:
                self.refuse()
                return -1
            if self.make_places(self.n_features) < 0:    # all words are known from the first document on
                return -1
            if self.known + more > self.room:
                room = max(self.known + more, 2 * self.room)
                if (resize(<void**> &self.table, room * self.width, sizeof(double)) < 0
                        or resize(<void**> &self.word, room, sizeof(int)) < 0):
                    return -1
                self.room = room
        if n + 4 > self.words_room:
            room = max(n + 4, 2 * self.words_room)
            if (resize(<void**> &self.row, room, sizeof(double*)) < 0
                    or resize(<void**> &self.count, room, sizeof(double)) < 0
                    or resize(<void**> &self.norm, room, sizeof(double)) < 0
                    or resize(<void**> &self.top, room, sizeof(double)) < 0
                    or resize(<void**> &self.at, room, sizeof(int)) < 0
                    or resize(<void**> &self.strange, room * self.width, sizeof(double)) < 0):
                return -1
            self.words_room = room
        return make_room(memo, n, self.width, self.known + (more if learning else 0), learning)

    cdef int read_document(self, const Row* x, bint learning) noexcept nogil:
        """Set the words of the current document and their prepared rows. Returns -1 after an error."""
        cdef Py_ssize_t i, w, p = 0, n = 0
        for i in range(x.n):
            n += x.value[i] > 0
        if not learning and self.viewed != self.t:
            self.look()
        if self.ready(n, &self.work if learning else &self.view, learning) < 0:
            return -1
        if learning and self.known < self.n_features:
            for w in range(self.n_features):
                self.add(w)
        self.n, self.N, self.strangers = 0, 0, 0
        for i in range(x.n):
            if x.value[i] > 0:
                self.read_word(i if x.index == NULL else x.index[i], x.value[i], learning)
        self.words = (self.n + 3) // 4 * 4
        for i in range(self.n, self.words):
            self.row[i], self.count[i], self.top[i] = self.ones, 0, 0
        if self.n and (self.strangers or self.current != (1 if learning else 2)):
            self.sum_lambda(learning)
        for i in range(self.n if self.strangers else 0):
            if self.at[i] < 0:
                memcpy(self.a, self.strange + p * self.width, self.width * sizeof(double))
                self.top[i] = self.prepare(self.a, self.strange + p * self.width)
                p += 1
        return 0

    cdef void read_word(self, Py_ssize_t w, double count, bint learning) noexcept nogil:
        """Append a word to the document; add it to the vocabulary when learning."""
        cdef Py_ssize_t p = self.place[w] if w < self.columns else -1
        cdef Memo* memo = &self.work if learning else &self.view
        if p < 0 and learning:
            p = self.known
            self.add(w)
        self.at[self.n], self.count[self.n] = <int> (p if p >= 0 else -1 - w), count
        self.N += count
        if p < 0:
            self.row[self.n] = self.strange + self.strangers * self.width
            self.parameters(-1 - w, learning, self.strange + self.strangers * self.width)
            self.strangers += 1
        else:
            if memo.slot[p] < 0:
                memo.slot[p], memo.row[memo.n] = <int> memo.n, <int> p
                self.parameters(p, learning, self.a)
                memo.top[memo.n] = self.prepare(self.a, memo.data + memo.n * self.width)
                if learning:
                    memset(memo.sums + memo.n * self.width, 0, self.width * sizeof(double))
                memo.n += 1
            self.row[self.n] = memo.data + memo.slot[p] * self.width
            self.top[self.n] = memo.top[memo.slot[p]]
        self.n += 1

    cdef void sum_lambda(self, bint learning) noexcept nogil:
        """Compute `whole`, with the unknown words of the document."""
        cdef Py_ssize_t i, k
        mixture(self.width, (self.known + self.strangers) * self.eta, self.scale * (1 if learning else self.decay),
                self.sums, 0 if learning else self.gain, self.mass, self.whole)
        for i in range(self.strangers):
            add_multiple_of(self.width, 1, self.strange + i * self.width, self.whole)
            for k in range(self.width):
                self.whole[k] -= self.eta
        for k in range(self.K, self.width):
            self.whole[k] = 1
        self.weigh()
        self.current = 0 if self.strangers else 1 if learning else 2

    cdef double* sums_of(self, Py_ssize_t i) noexcept nogil:
        """The sums of the open batch for word i of the document."""
        return self.work.sums + self.work.slot[self.at[i]] * self.width

    # ---- rounds

    cdef double rate(self, Py_ssize_t t) noexcept nogil:
        """rho_t."""
        return fmin(self.step * pow(self.tau + t, -self.kappa), 1)

    cdef double times(self) noexcept nogil:
        """D / S: the number of documents for each one of the open batch."""
        return (self.total if self.total else <double> self.t) / self.open

    cdef void round(self, const Row* x, double y, double* out) noexcept nogil:
        self.asked = out != NULL
        Representation.round(self, x, y, out)
        self.asked = True

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double bound
        if (self.t % BETWEEN_SIGNALS == 0 and self.interrupted()) or self.read_document(x, True) < 0:
            self.t -= 1
            self.failed = True
            return 0
        bound = self.study(True)
        if self.asked:
            self.scored_bound += bound
            self.scored_words += self.N
        self.open += 1
        self.updates += 1
        if self.open >= self.batch:
            self.close()
        return fmax(-bound / fmax(self.N, 1e-100), 0)

    cdef double score(self, const Row* x) noexcept nogil:
        self.asked = True
        if self.read_document(x, False) < 0:
            self.failed = True
            return 0
        return fmax(-self.study(False) / fmax(self.N, 1e-100), 0)

    cdef bint interrupted(self) noexcept with gil:
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            self.keep(error)
            return True
        return False

    cdef void refuse(self) noexcept with gil:
        self.keep(LimitError(
            f"the topics of {self.known} words take {MOST_BYTES >> 30} GiB, the limit; use fewer topics, or "
            f"features={{'bits': ...}} to hash the words"
        ))

    cdef void close(self) noexcept nogil:
        """lambda <- (1 - rho) lambda + rho (eta + D / S sums)."""
        cdef Py_ssize_t i, k
        cdef double rho, times = self.times(), factor
        self.closed += 1
        rho = self.rate(self.closed)
        self.scale *= 1 - rho
        self.left *= 1 - rho
        if self.scale < LEAST_SCALE:
            for i in range(self.known * self.width):
                self.table[i] = self.scale * self.table[i] + 0.0    # a zero has no sign
            for k in range(self.width):
                self.sums[k] = self.scale * self.sums[k] + 0.0
            self.scale = 1
        factor = rho * times / self.scale
        for i in range(self.work.n):
            add_multiple_of(self.width, factor, self.work.sums + i * self.width,
                            self.table + self.work.row[i] * self.width)
        add_multiple_of(self.width, factor, self.mass, self.sums)
        if self.closed & (self.closed - 1) == 0:    # limits the accumulation of rounding
            self.add_up()
        forget(&self.work)
        memset(self.mass, 0, self.width * sizeof(double))
        self.open = self.current = 0
        self.ended(rho, times)

    cdef void add_up(self) noexcept nogil:
        """Recompute the sums of the rows of the table."""
        cdef Py_ssize_t i
        memset(self.sums, 0, self.width * sizeof(double))
        for i in range(self.known):
            add_multiple_of(self.width, 1, self.table + i * self.width, self.sums)

    cdef void look(self) noexcept nogil:
        """Let the view be lambda as if the open batch ended after this round."""
        cdef double rho = self.rate(self.closed + 1) if self.open else 0
        forget(&self.view)
        self.decay, self.gain = 1 - rho, rho * self.times() if self.open else 0
        self.viewed = self.t
        if self.current == 2:
            self.current = 0

    # ---- what users see

    def order(self):
        """The topic numbers in the order that users see."""
        return np.arange(self.K)

    def total_bound(self, Rows rows):
        """The sum of the bounds of the documents, and the number of their words."""
        cdef Py_ssize_t i
        cdef double bound = 0, words = 0
        cdef Row x
        rows.expect_checked()
        for i in range(rows.n):
            PyErr_CheckSignals()
            rows.get(i, 0, &x)
            self.asked = True
            if self.read_document(&x, False) < 0:
                self.failed = True
                self.check_memory()
            bound += self.study(False)
            words += self.N
        return bound, words

    def vocabulary(self):
        """The columns of the known words."""
        return np.array(<int[:self.known]> self.word) if self.known else np.zeros(0, np.int32)

    def shown_rows(self):
        """lambda with a row for each known word; topics in the order of `order`."""
        result = np.empty((self.known, self.K))
        cdef double[:, ::1] out = result
        cdef Py_ssize_t i, k
        self.look()
        for i in range(self.known):
            self.parameters(i, False, self.a)
            for k in range(self.K):
                out[i, k] = self.a[k]
        return result[:, self.order()]

    def shown(self, Py_ssize_t columns):
        """lambda of the first columns, of shape (topics, columns)."""
        result = np.empty((self.K, columns))
        cdef double[:, ::1] out = result
        cdef Py_ssize_t w, k, p
        cdef double* row = self.whole
        self.look()
        self.current = 0
        for w in range(columns):
            p = self.place[w] if w < self.columns else -1
            self.parameters(p if p >= 0 else -1 - w, False, row)
            for k in range(self.K):
                out[k, w] = row[k]
        return result[self.order()]

    # ---- state

    def column_arrays(self):
        return {"words": ColumnNumbers()}

    def state(self):
        cdef Py_ssize_t m = self.work.n
        columns = slice(0, self.K)
        order = np.array(<int[:m]> self.work.row) if m else np.zeros(0, np.int32)
        return {
            **Representation.state(self),
            "words": self.vocabulary(),
            "table": rows_of(self.table, self.known, self.width)[:, columns].copy(),
            "sums": rows_of(self.sums, 1, self.width)[0, columns].copy(),
            "open_words": order,
            "open_sums": rows_of(self.work.sums, m, self.width)[:, columns].copy(),
            "mass": rows_of(self.mass, 1, self.width)[0, columns].copy(),
        }

    def restore(self, state):
        cdef Py_ssize_t i, k, m
        Representation.restore(self, state)
        cdef const int[::1] words = np.ascontiguousarray(state["words"], dtype=np.int32)
        cdef const int[::1] order = np.ascontiguousarray(state["open_words"], dtype=np.int32)
        cdef const double[:, ::1] table = np.ascontiguousarray(state["table"], dtype=np.float64)
        cdef const double[:, ::1] open_sums = np.ascontiguousarray(state["open_sums"], dtype=np.float64)
        cdef const double[::1] sums = np.ascontiguousarray(state["sums"], dtype=np.float64)
        cdef const double[::1] mass = np.ascontiguousarray(state["mass"], dtype=np.float64)
        n, m = words.shape[0], order.shape[0]
        self.check_shapes(n, m, np.shape(table), np.shape(open_sums), len(sums), len(mass))
        self.check_counts(n, m, np.any(mass))
        self.check_words(np.asarray(words), np.asarray(order))
        self.check_sums(np.asarray(table), np.asarray(open_sums), sums, mass)
        self.grow(int(np.max(words, initial=-1)) + 2)
        self.known = 0
        features, self.n_features = self.n_features, 0
        made = self.ready(n, &self.work, True)
        self.n_features = features
        if made < 0:
            self.check_memory()
            raise MemoryError(f"no memory for the topics of {n} words")
        self.known = n
        memset(self.table, 0, n * self.width * sizeof(double))
        memset(self.sums, 0, self.width * sizeof(double))
        memset(self.mass, 0, self.width * sizeof(double))
        for i in range(n):
            self.word[i], self.place[words[i]] = words[i], <int> i
            for k in range(self.K):
                self.table[i * self.width + k] = table[i, k]
        for k in range(self.K):
            self.sums[k], self.mass[k] = sums[k], mass[k]
        for i in range(m):
            self.work.slot[order[i]], self.work.row[i] = <int> i, order[i]
            memset(self.work.sums + i * self.width, 0, self.width * sizeof(double))
            for k in range(self.K):
                self.work.sums[i * self.width + k] = open_sums[i, k]
        self.work.n = m
        self.current, self.viewed = 0, -1
        for i in range(m):
            self.parameters(order[i], True, self.a)
            self.work.top[i] = self.prepare(self.a, self.work.data + i * self.width)

    def check_shapes(self, n, m, table, open_sums, sums, mass):
        if (*table, *open_sums, sums, mass) != (n, self.K, m, self.K, self.K, self.K):
            raise ModelError("the arrays of the topics have inconsistent shapes")

    def check_counts(self, n, m, mass):
        if not (LEAST_SCALE <= self.scale <= 1 and 0 <= self.left <= self.scale):
            raise ModelError(f"scale is {self.scale:g} and left {self.left:g}; expected 0 <= left <= scale <= 1")
        if not (0 <= self.open <= self.t and 0 <= self.closed <= self.t - self.open
                and self.open + self.closed >= min(self.t, 1)):
            raise ModelError(f"{self.closed} closed batches and {self.open} open documents of {self.t}")
        if self.open == 0 and (m or mass) or n and not self.t:
            raise ModelError("there are words without documents")
        if self.n_features and n not in (0, self.n_features):
            raise ModelError(f"{n} words; the vocabulary has {self.n_features}")

    def check_words(self, words, order):
        if np.min(words, initial=0) < 0 or len(np.unique(words)) < len(words):
            raise ModelError("a word of the topics occurs twice, or has a negative column")
        if self.n_features and np.max(words, initial=-1) >= self.n_features:
            raise ModelError(f"the column of a word is not below n_features={self.n_features}")
        outside = np.min(order, initial=0) < 0 or np.max(order, initial=-1) >= len(words)
        if outside or len(np.unique(order)) < len(order):
            raise ModelError("a word of the open batch occurs twice, or is unknown")

    def check_sums(self, table, open_sums, sums, mass):
        """The digamma of a parameter must be in range, and so must its products."""
        parameters = self.eta + self.scale * table
        if not (-1e-9 * max(self.eta, 1) <= np.min(parameters, initial=0) and np.max(parameters, initial=0) <= LARGEST):
            raise ModelError(f"the topics have parameters outside of 0 to {LARGEST:g}")
        if not (np.min(open_sums, initial=0) >= 0 and np.max(open_sums, initial=0) <= LARGEST):
            raise ModelError(f"the open batch has sums outside of 0 to {LARGEST:g}")
        if not (add_up_to(table, sums) and add_up_to(open_sums, mass)):
            raise ModelError("the sums of the topics are not those of their words")


def add_up_to(rows, sums):
    """Whether `sums` are the sums of the rows, up to accumulated rounding."""
    rows, sums = np.asarray(rows), np.asarray(sums)
    return bool((np.abs(rows.sum(axis=0) - sums) <= 1e-6 * (np.abs(rows).sum(axis=0) + 1e-6)).all())


cdef rows_of(double* data, Py_ssize_t n, Py_ssize_t width):
    """An array over memory of a learner."""
    return np.asarray(<double[:n, :width]> data) if n else np.zeros((0, width))


def gamma_functions(const double[::1] x):
    """psi(x), exp(psi(x)), log Gamma(x) and log x of each number above 0.

    >>> [round(float(row[0]), 4) for row in gamma_functions(np.array([0.5]))]
    [-1.9635, 0.1404, 0.5724, -0.6931]
    """
    cdef Py_ssize_t i, n = x.shape[0]
    result = np.empty((4, n))
    cdef double[:, ::1] out = result
    for i in range(n):
        out[0, i], out[1, i] = digamma(x[i]), exp_digamma(x[i])
        out[2, i], out[3, i] = log_gamma(x[i]), natural_log(x[i])
    return result
