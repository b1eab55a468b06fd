"""The base class of the kernel machines: f(x) = sum of alpha_s k(x_s, x) over the support vectors x_s."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from seriatim.core.learner cimport DictReader
from seriatim.core.memory cimport allocate, resize_aligned
from seriatim.core.rows cimport Rows
from seriatim.features.encoder cimport RowEncoder
from seriatim.kernel.support cimport multiply, weighted_sum

from seriatim.core.recolumn import ColumnCount, SparseRows
from seriatim.errors import DataError, LimitError, ModelError, ParameterError, SeriatimError

from seriatim.kernel.kernels import decay
from seriatim.kernel.support import median_distance


cdef class Machine(Learner):
    """Support vectors and their coefficients. A subclass writes `update`.

    A binary machine has one f; the margin is y f(x). A multiclass machine has one f per class over the same support
    vectors. Its margin is f_y(x) - f_s(x), where s is the wrong class with the highest score. An update tau gives x
    the coefficient tau in f_y and -tau in f_s. So |k(x, .)|^2 counts twice, and `own` is 2 k(x, x).
    """

    NUMBERS = (*Learner.NUMBERS, "scale", "width", "records")

    def __init__(self, kernels, bint summed=False, Py_ssize_t fields=1, Py_ssize_t room=0, waiting=None):
        self.support = Support(kernels, summed)
        self.fields = fields
        self.scale = 1
        self.records = 1
        self.waiting = waiting
        if self.make_room(max(room, 16)) < 0:
            raise MemoryError(f"no memory for {room} support vectors")

    def __dealloc__(self):
        free(self.k)
        free(self.alpha)

    # ---- memory

    cdef int grow(self, Py_ssize_t rows) except -1:
        self.support.grow(rows - 1)
        self.records = max(self.records, rows)
        return 0

    cdef int make_room(self, Py_ssize_t n) noexcept nogil:
        """Allocate memory for n support vectors. Returns -1 if that fails."""
        cdef Py_ssize_t c, room, columns = self.fields * self.classes
        cdef double* alpha = NULL
        if n <= self.slots:
            return 0
        room = max(n, 2 * self.slots)
        if (resize_aligned(<void**> &alpha, 0, room * columns, sizeof(double)) < 0 or self.support.reserve(room) < 0
                or resize_aligned(<void**> &self.k, self.slots * self.support.kernels, room * self.support.kernels,
                                  sizeof(double)) < 0):
            free(alpha)
            return -1
        memset(alpha, 0, room * columns * sizeof(double))
        for c in range(columns if self.alpha != NULL else 0):
            memcpy(alpha + c * room, self.alpha + c * self.slots, self.support.n * sizeof(double))
        free(self.alpha)
        self.alpha, self.slots = alpha, room
        return 0

    cdef void round(self, const Row* x, double y, double* out) noexcept nogil:
        """Do not count a round that failed. Stop after a round in which Ctrl-C came."""
        cdef Py_ssize_t t = self.t
        self.support.learning = True
        Learner.round(self, x, y, out)
        self.support.learning = False
        self.failed = self.failed or self.support.broken
        self.halted = self.halted or self.support.interrupts > 0
        if self.failed:
            self.t = t

    def check_memory(self):
        self.torn = self.support.broken
        error = self.support.mended()
        self.halted = False
        if error is not None:
            self.failed = False
            if isinstance(error, SeriatimError) or not isinstance(error, Exception):
                raise error
            raise DataError(f"the kernel failed: {type(error).__name__}: {error}") from error
        if self.failed and self.support.rows.full:
            self.failed = False
            raise LimitError(
                f"the support vectors would take more than {self.support.rows.limit * 12 / 2**30:.1f} GiB, which is "
                f"the limit; use an algorithm with a budget, such as BudgetPA or Forgetron"
            )
        Learner.check_memory(self)

    def waits(self):
        """Whether the width of the kernel is still unknown, because it comes from the data."""
        return self.waiting is not None and self.width == 0

    def take_width(self, *blocks):
        """Set the width of the kernel to the median distance between the first rows of these blocks."""
        if self.waits():
            self.use_width(median_distance(blocks, self.waiting))

    def use_width(self, double width):
        self.width = width
        self.support.set_width(decay(self.waiting, width))

    # ---- a round

    cdef void update(self, const Row* x, double margin, double own) noexcept nogil:
        """The update of the algorithm. k contains k(x, z) of each support vector z, and own is k(x, x)."""

    cdef void begin_round(self) noexcept nogil:
        """Called in every round before `update`, and also if there is no update."""

    cdef double weigh(self, Py_ssize_t column, const double* k) noexcept nogil:
        """The sum of alpha k for one column of alpha."""
        return weighted_sum(self.support.n, self.alpha + column * self.slots, k)

    cdef void current(self, double* out) noexcept nogil:
        """f of each class, from the kernels in k."""
        cdef Py_ssize_t c
        for c in range(self.classes):
            out[c] = self.scale * self.weigh(c, self.k)

    cdef void all_scores(self, double* out) noexcept nogil:
        """The scores that predict, from the kernels in k."""
        self.current(out)

    cdef double own(self, const Row* x) noexcept nogil:
        """k(x, x)."""
        return self.support.itself(x, 0)

    cdef double score(self, const Row* x) noexcept nogil:
        cdef double f
        self.scores(x, &f)
        return f

    cdef void scores(self, const Row* x, double* out) noexcept nogil:
        self.support.evaluate(x, self.k, self.slots)
        self.all_scores(out)

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f
        self.support.evaluate(x, self.k, self.slots)
        self.current(&f)
        self.up, self.down, self.sign = 0, -1, y
        self.learn_margin(x, y * f)
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        self.support.evaluate(x, self.k, self.slots)
        self.current(out)
        self.up, self.down, self.sign = y, self.rival(y, out), 1
        self.learn_margin(x, out[y] - out[self.down] if self.down >= 0 else INFINITY)

    cdef void learn_margin(self, const Row* x, double margin) noexcept nogil:
        """Update for this margin. An infinite margin means that there is no other class yet."""
        cdef double own
        self.begin_round()
        own = self.own(x)
        if margin < INFINITY and own > 0 and not self.support.broken:
            self.update(x, margin, own if self.classes == 1 else 2 * own)
        self.failed = self.failed or self.support.broken

    def learn_one(self, DictReader reader, features, double y, double weight=1):
        self.expect_width()
        Learner.learn_one(self, reader, features, y, weight)

    def admit(self, DictReader reader, features):
        self.expect_width()
        Learner.admit(self, reader, features)

    def expect_width(self, Py_ssize_t rows=1):
        """Raise ParameterError if the width must come from less than two rows."""
        if self.waits() and rows < 2:
            raise ParameterError(
                'sigma="median" takes the width from the distances between the first rows, but the first block has '
                "only one row; call partial_fit with hundreds of rows first, or give sigma a number"
            )

    cdef int begin_rows(self, Py_ssize_t n) except -1:
        self.support.expect_idle()
        return 0

    cdef score_read(self, DictReader reader):
        """Score the example that was read last. Its unknown names are columns, unless the model has `features`.

        |x - z|_1 needs the values of unknown names. With `features` they count only in the norm, as in `predict`.
        """
        cdef Row x
        reader.show((<RowEncoder> reader).encoder.words_last, self.constant, &x)
        reader.undo()
        self.grow(reader.columns() + 1)
        self.scores(&x, self.room)
        self.check_memory()
        scores = [self.room[k] for k in range(self.classes)]
        return scores[0] if self.classes == 1 else scores

    # ---- steps

    cdef Py_ssize_t add(self, const Row* x, double tau) noexcept nogil:
        """Add x as a support vector with coefficient tau. Returns its slot, or -1 if there is no memory."""
        cdef Py_ssize_t slot = self.support.n
        if self.make_room(slot + 1) < 0 or self.support.append(x) < 0:
            self.failed = True
            return -1
        self.give(slot, tau)
        self.updates += 1
        return slot

    cdef int replace(self, Py_ssize_t slot, const Row* x, double tau) noexcept nogil:
        """Replace a support vector by x with coefficient tau. Returns -1 if there is no memory."""
        if self.support.put(slot, x) < 0:
            self.failed = True
            return -1
        self.give(slot, tau)
        self.updates += 1
        return 0

    cdef void give(self, Py_ssize_t slot, double tau) noexcept nogil:
        """Set the coefficients of a support vector: tau for class `up`, -tau for class `down`, 0 for the others."""
        cdef Py_ssize_t c
        for c in range(self.fields * self.classes):
            self.alpha[c * self.slots + slot] = 0
        tau /= self.scale
        self.alpha[self.up * self.slots + slot] = self.sign * tau
        if self.down >= 0:
            self.alpha[self.down * self.slots + slot] = -tau

    cdef void remove(self, Py_ssize_t slot) noexcept nogil:
        """Remove a support vector. The last one moves to its slot."""
        cdef Py_ssize_t c
        self.support.remove(slot)
        for c in range(self.fields * self.classes):
            self.alpha[c * self.slots + slot] = self.alpha[c * self.slots + self.support.n]

    cdef void shrink(self, double factor) noexcept nogil:
        """f *= factor in constant time. The coefficients are multiplied only if the scale leaves 1e-50 to 1e50."""
        cdef Py_ssize_t c
        self.scale *= factor
        if not 1e-50 < self.scale < 1e50:
            for c in range(self.classes):
                multiply(self.support.n, self.scale, self.alpha + c * self.slots)
            self.scale = 1

    # ---- what has been learned

    def coefficients(self):
        """The coefficients that predict, as an array of shape (classes, support vectors)."""
        return self.scale * self.alphas()[:, :self.classes].T

    def support_rows(self):
        """The support vectors as the start, index and value arrays of a CSR matrix."""
        state = self.support.state()
        return state["start"], state["index"], state["value"]

    @property
    def support_vectors(self):
        return self.support.n

    def alphas(self):
        """All coefficients, as an array of shape (support vectors, fields * classes)."""
        cdef Py_ssize_t c, s
        array = np.empty((self.support.n, self.fields * self.classes))
        cdef double[:, ::1] out = array
        for s in range(self.support.n):
            for c in range(self.fields * self.classes):
                out[s, c] = self.alpha[c * self.slots + s]
        return array

    def set_alphas(self, const double[:, ::1] alphas):
        cdef Py_ssize_t c, s
        for s in range(self.support.n):
            for c in range(self.fields * self.classes):
                self.alpha[c * self.slots + s] = alphas[s, c]

    def reclass(self, source, factor):
        cdef Py_ssize_t classes = len(source), old = self.classes
        alphas = self.alphas()
        changed = np.zeros((self.support.n, self.fields * classes))
        for f in range(self.fields):
            for k, place in enumerate(source):
                if place >= 0:
                    changed[:, f * classes + k] = factor[k] * alphas[:, f * old + place] + 0.0
        alpha = <double*> allocate(self.slots * self.fields * classes, sizeof(double))
        if alpha == NULL:
            raise MemoryError(f"no memory for {classes} classes of {self.slots} support vectors")
        Learner.reclass(self, source, factor)
        free(self.alpha)
        self.alpha = alpha
        self.set_alphas(changed)

    def column_arrays(self):
        return {"records": ColumnCount(1), "row_": SparseRows()}

    def state(self):
        self.support.expect_idle()
        rows = {f"row_{name}": array for name, array in self.support.state().items()}
        return {**Learner.state(self), **rows, "alpha": self.alphas()}

    def restore(self, state):
        Learner.restore(self, state)
        if not (self.scale > 0 and self.width >= 0 and self.records > 0):
            raise ModelError(f"scale {self.scale}, width {self.width} or records {self.records} is out of range")
        if self.width:
            if self.waiting is None:
                raise ModelError("the model has a width from the data, but its kernel has a fixed width")
            self.support.set_width(decay(self.waiting, self.width))
        self.support.grow(self.records - 1)
        rows = {name: state[f"row_{name}"] for name in ("start", "index", "value")}
        n = len(rows["start"]) - 1
        if state["alpha"].shape != (n, self.fields * self.classes):
            raise ModelError(f"coefficients of shape {state['alpha'].shape} do not fit {n} support vectors")
        if self.make_room(n) < 0:
            raise MemoryError(f"no memory for {n} support vectors")
        self.support.restore(rows)
        self.set_alphas(np.ascontiguousarray(state["alpha"], dtype=np.float64))


def kernel_matrix(kernels, Rows X, Rows Z, bint summed=False):
    """The kernel of each row of X with each row of Z, as a matrix."""
    cdef Machine machine = Machine(kernels, summed)
    cdef Py_ssize_t i, s
    cdef Row x
    X.expect_checked()
    Z.expect_checked()
    machine.grow(max(X.features, Z.features) + 1)
    for s in range(Z.n):
        Z.get(s, 0, &x)
        if machine.add(&x, 0) < 0:
            machine.check_memory()
    matrix = np.empty((X.n, Z.n))
    cdef double[:, ::1] out = matrix
    for i in range(X.n):
        X.get(i, 0, &x)
        machine.support.evaluate(&x, machine.k, machine.slots)
        if Z.n:
            memcpy(&out[i, 0], machine.k, Z.n * sizeof(double))
    machine.check_memory()
    return matrix
