"""Online dictionary learning."""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport isfinite, sqrt
from libc.stdlib cimport free
from libc.string cimport memmove, memset

from seriatim.core.memory cimport allocate, resize
from seriatim.core.random cimport random_below
from seriatim.core.representation cimport Representation
from seriatim.core.reservoir cimport Kept, Reservoir, add_kept
from seriatim.core.row cimport Row, within
from seriatim.decomposition.lasso cimport Lasso

from seriatim.core.recolumn import ColumnArray, SparseRows
from seriatim.decomposition.base import Decomposition
from seriatim.errors import LimitError, ModelError
from seriatim.estimator import Transformer
from seriatim.parameters import Choice, Number

cdef extern from "simd.h":
    void add_lines(Py_ssize_t n, Py_ssize_t lines, const double* a, const int* which, const double* X, Py_ssize_t width,
                   double* out) noexcept nogil
    double square_of_line(Py_ssize_t n, const double* x) noexcept nogil
    void sums_of_products(Py_ssize_t n, Py_ssize_t rows, Py_ssize_t columns, const double* P, Py_ssize_t p,
                          const double* Q, Py_ssize_t q, double* out, Py_ssize_t o) noexcept nogil

MAX_BYTES = 1 << 32

cdef Py_ssize_t ROWS = 8       # rows multiplied by the dictionary at a time
cdef Py_ssize_t BLOCK = 32     # atoms in one product with A or D


cdef void spread(double* lines, Py_ssize_t n, Py_ssize_t columns, Py_ssize_t before, Py_ssize_t now) noexcept nogil:
    """Change the stride of n lines from `before` to `now`, and fill up with zeros."""
    cdef Py_ssize_t k
    for k in range(n - 1, -1, -1):
        memmove(lines + k * now, lines + k * before, columns * sizeof(double))
        memset(lines + k * now + columns, 0, (now - columns) * sizeof(double))


cdef class DictionaryLearningLearner(Representation):
    """D with an atom per line, and the faded sums A = sum a a' and B = sum a x' over the codes a of the rows x."""

    NUMBERS = (*Representation.NUMBERS, "batches", "draws", "known")

    cdef Py_ssize_t atoms, batch
    cdef double lam              # 0 for 1.2 / sqrt(known)
    cdef unsigned long long seed
    cdef public Py_ssize_t batches, draws
    cdef public Py_ssize_t known         # the columns with values in the first batch that has any
    cdef Py_ssize_t columns, room        # room: the stride of D and B
    cdef double* D
    cdef double* A
    cdef double* B
    cdef double* by_column       # D transposed
    cdef bint ready              # by_column and G are up to date
    cdef Lasso lasso
    cdef double* c               # D x for up to ROWS rows x
    cdef double* rows            # up to ROWS rows, transposed
    cdef double* past            # A D for up to BLOCK atoms
    cdef Py_ssize_t* left        # rows of the batch that have not become atoms
    cdef Reservoir waiting       # the open batch
    cdef object view             # a copy that has learned the open batch
    cdef bint stale              # rows have arrived since `view` was made

    def __init__(self, Py_ssize_t atoms, double lam, Py_ssize_t batch, bint lars, double tolerance,
                 Py_ssize_t iterations, unsigned long long seed):
        self.atoms, self.lam, self.batch, self.seed = atoms, lam, batch, seed
        self.apart = self.stale = True
        self.waiting = Reservoir(batch)
        self.lasso = Lasso(atoms, lars, tolerance, iterations)
        self.lasso.lam = lam or 1.0
        self.A = <double*> allocate(atoms * atoms, sizeof(double))
        self.c = <double*> allocate(ROWS * atoms, sizeof(double))
        self.left = <Py_ssize_t*> allocate(batch, sizeof(Py_ssize_t))
        if self.A == NULL or self.c == NULL or self.left == NULL:
            raise MemoryError(f"no memory for {atoms} atoms and batches of {batch} rows")

    def __dealloc__(self):
        free(self.D)
        free(self.A)
        free(self.B)
        free(self.by_column)
        free(self.c)
        free(self.rows)
        free(self.past)
        free(self.left)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t room, n = self.atoms, columns = rows - 1
        if columns > self.room:
            if columns > MAX_BYTES // (8 * n):
                raise LimitError(
                    f"{n} atoms of {columns} features would need {columns * n * 8 / 2**30:.1f} GiB; "
                    f"the limit is {MAX_BYTES >> 30} GiB"
                )
            room = max(columns, min(2 * self.room, MAX_BYTES // (8 * n)), 8)
            if (resize(<void**> &self.D, n * room, sizeof(double)) < 0
                    or resize(<void**> &self.B, n * room, sizeof(double)) < 0
                    or resize(<void**> &self.by_column, n * room, sizeof(double)) < 0
                    or resize(<void**> &self.rows, ROWS * room, sizeof(double)) < 0
                    or resize(<void**> &self.past, BLOCK * room, sizeof(double)) < 0):
                raise MemoryError(f"no memory for {n} atoms of {columns} features")
            spread(self.D, n, self.columns, self.room, room)
            spread(self.B, n, self.columns, self.room, room)
            self.room = room
        if columns > self.columns:
            memset(self.by_column + n * self.columns, 0, n * (columns - self.columns) * sizeof(double))
            self.columns = columns
        return 0

    # ---- the protocol

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        """The return value is unused: the learner is `apart`, so the loss comes from `score`."""
        cdef bint last = self.waiting.n + 1 == self.batch
        if (last and self.interrupted()) or self.waiting.put(self.waiting.n, x) < 0:
            self.t -= 1
            if not self.failed:
                self.no_room()
            return 0
        self.waiting.n += 1
        self.stale = True
        if last:
            self.close()
        return 0

    cdef bint interrupted(self) noexcept with gil:
        """Ask for signals before a batch, which may take seconds."""
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            self.keep(error)
        return self.failed

    cdef void no_room(self) noexcept with gil:
        if self.waiting.full:
            self.keep(LimitError(f"a batch of {self.batch} such rows exceeds the limit of 4 GiB; use a smaller batch"))
        else:
            self.keep(MemoryError())

    cdef double score(self, const Row* x) noexcept nogil:
        self.solve(x)
        return self.lasso.objective(self.c)

    cdef Py_ssize_t outputs(self) noexcept nogil:
        return self.atoms

    cdef void code(self, const Row* x, double* out) noexcept nogil:
        cdef Py_ssize_t i
        self.solve(x)
        for i in range(self.lasso.n):
            out[self.lasso.atom[i]] = self.lasso.a[i]

    cdef void solve(self, const Row* x) noexcept nogil:
        """The code of a row with the current atoms."""
        cdef Row known = within(x, self.columns + 1)
        self.refresh()
        memset(self.c, 0, self.atoms * sizeof(double))
        add_lines(self.atoms, known.n, known.value, known.index, self.by_column, self.atoms, self.c)
        self.lasso.solve(self.c, x.norm2)

    cdef void refresh(self) noexcept nogil:
        """Compute by_column and G = D D'."""
        cdef Py_ssize_t i = 0, j, k, n = self.atoms
        if self.ready:
            return
        for j in range(self.columns):
            for k in range(n):
                self.by_column[j * n + k] = self.D[k * self.room + j]
        while i < n:    # the upper triangle
            sums_of_products(self.columns, min(BLOCK, n - i), n - i, self.by_column + i, n, self.by_column + i, n,
                             self.lasso.G + i * n + i, n)
            i += BLOCK
        for i in range(n):
            for k in range(i):
                self.lasso.G[i * n + k] = self.lasso.G[k * n + i]
        self.ready = True

    # ---- a batch

    cdef void close(self) noexcept nogil:
        """Learn the batch: its codes, A and B, then the atoms."""
        cdef double eta = self.batch, theta, beta
        cdef Py_ssize_t i, k, n = self.atoms
        self.batches += 1
        theta = self.batches * eta if self.batches < self.batch else eta * eta + self.batches - eta
        beta = (theta + 1 - eta) / (theta + 1)
        self.count_columns()
        self.replace()
        self.refresh()
        for i in range(n):
            for k in range(i, n):
                self.A[i * n + k] *= beta
            for k in range(self.columns):
                self.B[i * self.room + k] *= beta
        i = 0
        while i < self.waiting.n:
            self.take(i, min(ROWS, self.waiting.n - i))
            i += ROWS
        for i in range(n):
            for k in range(i):
                self.A[i * n + k] = self.A[k * n + i]
        self.improve()
        self.waiting.n = 0

    cdef void count_columns(self) noexcept nogil:
        """Set `known`, and lam if it depends on it."""
        cdef Py_ssize_t i, k
        cdef Kept* x
        if self.known == 0:
            memset(self.past, 0, self.columns * sizeof(double))
            for k in range(self.waiting.n):
                x = self.waiting.rows + k
                for i in range(x.n):
                    self.known += self.past[x.index[i]] == 0
                    self.past[x.index[i]] = 1
        self.set_lam()

    cdef void set_lam(self) noexcept nogil:
        self.lasso.lam = self.lam if self.lam > 0 else 1.2 / sqrt(self.known) if self.known else 1

    cdef bint unused(self, Py_ssize_t k) noexcept nogil:
        return self.A[k * self.atoms + k] <= 1e-6 * self.lasso.lam * self.lasso.lam

    cdef void replace(self) noexcept nogil:
        """Replace unused atoms by random rows of the batch, scaled to norm 1."""
        cdef Py_ssize_t i, k, drawn, left = 0, n = self.atoms
        cdef Kept* x
        for k in range(n):
            if not self.unused(k):
                continue
            if left == 0:
                for i in range(self.waiting.n):
                    if self.waiting.rows[i].norm2 > 0:
                        self.left[left] = i
                        left += 1
                if left == 0:
                    return
            drawn = random_below(left, self.seed, &self.draws)
            x = self.waiting.rows + self.left[drawn]
            left -= 1
            memmove(self.left + drawn, self.left + drawn + 1, (left - drawn) * sizeof(Py_ssize_t))
            memset(self.D + k * self.room, 0, self.columns * sizeof(double))
            memset(self.B + k * self.room, 0, self.columns * sizeof(double))
            add_kept(x, 1 / sqrt(x.norm2), self.D + k * self.room)
            for i in range(n):
                self.A[k * n + i] = self.A[i * n + k] = 0
            self.ready = False

    cdef void take(self, Py_ssize_t first, Py_ssize_t count) noexcept nogil:
        """Compute the codes of some rows of the batch, and add them to B and the upper triangle of A."""
        cdef Py_ssize_t i, k, q, values = 0, n = self.atoms
        cdef double share = 1.0 / self.batch, a
        cdef Kept* x = self.waiting.rows + first
        cdef double* c = self.c
        for q in range(count):
            values += x[q].n
        if 4 * values > count * self.columns:
            memset(self.rows, 0, ROWS * self.columns * sizeof(double))
            for q in range(count):
                for i in range(x[q].n):
                    self.rows[x[q].index[i] * ROWS + q] = x[q].value[i]
            sums_of_products(self.columns, count, n, self.rows, ROWS, self.by_column, n, c, n)
        else:
            memset(c, 0, count * n * sizeof(double))
            for q in range(count):
                add_lines(n, x[q].n, x[q].value, x[q].index, self.by_column, n, c + q * n)
        for q in range(count):
            self.lasso.solve(c + q * n, x[q].norm2)
            for i in range(self.lasso.n):
                a = share * self.lasso.a[i]
                add_kept(x + q, a, self.B + self.lasso.atom[i] * self.room)
                for k in range(self.lasso.n):
                    if self.lasso.atom[k] >= self.lasso.atom[i]:
                        self.A[self.lasso.atom[i] * n + self.lasso.atom[k]] += a * self.lasso.a[k]
            self.updates += self.lasso.n > 0

    cdef void improve(self) noexcept nogil:
        """One sweep: each used atom becomes the best one given the others, with norm at most 1."""
        cdef Py_ssize_t first = 0, last, i, k, j, n = self.atoms, room = self.room
        cdef double ajj, norm
        cdef double* u
        cdef double* d
        while first < n:
            last = min(first + BLOCK, n)
            sums_of_products(n, last - first, self.columns, self.A + first, n, self.D, room, self.past, room)
            for j in range(first, last):
                if self.unused(j):
                    continue
                u, d, ajj = self.past + (j - first) * room, self.D + j * room, self.A[j * n + j]
                for i in range(self.columns):
                    u[i] = (self.B[j * room + i] - u[i]) / ajj + d[i]
                norm = sqrt(square_of_line(self.columns, u))
                if not isfinite(norm):
                    continue
                norm = max(norm, 1)
                for i in range(self.columns):
                    u[i] /= norm
                    d[i], u[i] = u[i], u[i] - d[i]
                for k in range(j + 1, last):    # update A D for the next atoms of the block
                    if self.A[j * n + k] != 0:
                        add_lines(self.columns, 1, self.A + j * n + k, NULL, u, room, self.past + (k - first) * room)
            first = last
        self.ready = False

    # ---- what users see

    def settled(self, Py_ssize_t rows=0):
        """A copy that has learned the open batch, cached until the next row; the learner itself if no row waits."""
        cdef DictionaryLearningLearner copy
        if self.waiting.n == 0:
            return self
        if self.stale:
            copy = DictionaryLearningLearner(self.atoms, self.lam, self.batch, self.lasso.lars, self.lasso.tolerance,
                                             self.lasso.iterations, self.seed)
            copy.constant = self.constant
            copy.restore(self.state())
            with nogil:
                copy.close()
            self.view, self.stale = copy, False
        return self.view

    def lines(self, bint of_B=False):
        """D or B as an array of shape (atoms, columns)."""
        cdef Py_ssize_t i, k
        cdef const double* lines = self.B if of_B else self.D
        result = np.empty((self.atoms, self.columns))
        cdef double[:, ::1] out = result
        for k in range(self.atoms):
            for i in range(self.columns):
                out[k, i] = lines[k * self.room + i]
        return result

    def column_arrays(self):
        return {"D": ColumnArray(1), "B": ColumnArray(1), "waiting.": SparseRows()}

    def state(self):
        A = np.empty((self.atoms, self.atoms))
        cdef double[:, ::1] out = A
        cdef Py_ssize_t i, k
        for i in range(self.atoms):
            for k in range(self.atoms):
                out[i, k] = self.A[i * self.atoms + k]
        rows = {f"waiting.{name}": array for name, array in self.waiting.state().items()}
        return {**Representation.state(self), "D": self.lines(), "A": A, "B": self.lines(of_B=True), **rows}

    def restore(self, state):
        cdef const double[:, ::1] D, A, B
        cdef Py_ssize_t i, k, n = self.atoms
        Representation.restore(self, state)
        D, A, B = [np.ascontiguousarray(array, dtype=np.float64) for array in (state["D"], state["A"], state["B"])]
        if D.shape[0] != n or A.shape[0] != n or A.shape[1] != n or B.shape[0] != n or B.shape[1] != D.shape[1]:
            raise ModelError(f"the arrays do not have the shapes of {n} atoms")
        if (np.square(D).sum(axis=1) > 1 + 1e-9).any():
            raise ModelError("an atom has a norm above 1")
        if (np.asarray(A) != np.asarray(A).T).any() or (np.diagonal(A) < 0).any():
            raise ModelError("A is not symmetric, or has a negative diagonal")
        if max(np.abs(A).max(initial=0), np.abs(B).max(initial=0)) > 1e150:
            raise ModelError("A or B has a number out of range")
        self.grow(D.shape[1] + 1)
        self.waiting.restore({name: state[f"waiting.{name}"] for name in ("start", "index", "value")}, self.columns)
        if (min(self.batches, self.draws, self.known) < 0 or self.known > self.columns
                or self.waiting.n >= self.batch or self.t != self.batches * self.batch + self.waiting.n
                or self.updates > self.t - self.waiting.n):
            raise ModelError("the counts of rows, batches and columns contradict each other")
        for k in range(n):
            for i in range(self.columns):
                self.D[k * self.room + i], self.B[k * self.room + i] = D[k, i], B[k, i]
            for i in range(n):
                self.A[k * n + i] = A[k, i]
        self.set_lam()


class DictionaryLearning(Decomposition):
    """Online dictionary learning: each row is approximated by a few atoms times coefficients.

    The code of a row x is the a with the least |x - D a|^2 / 2 + lam |a|_1, which is also the loss of x. After each
    batch of eta rows A <- beta A + (1 / eta) sum a a' and B <- beta B + (1 / eta) sum x a', where beta = (theta + 1 -
    eta) / (theta + 1), theta = t eta for batch t < eta, else eta^2 + t - eta. Then one sweep over the atoms j, with
    the current other atoms: u = (b_j - D a_j) / A_jj + d_j, d_j = u / max(1, |u|).

    An atom with A_jj <= 1e-6 lam^2 is unused, as all are at first. The next batch starts by replacing it by a random
    row of the batch, scaled to norm 1. Rows wait until their batch is complete; users see a model that has learned the
    open batch. A row costs its non-zeros times the atoms, plus its code; a batch costs atoms^2 times the features.

    Parameters
    ----------
    n_atoms : the number of atoms, at least 1.
    lam : the weight of |a|_1 in the loss, above 0; None: 1.2 / sqrt(m), meant for rows of norm 1, where m is the number
        of features with values in the first batch.
    batch : eta, the number of rows in a batch, at least 1.
    coding : the solver of the codes: cd, coordinate descent; lars, the path of all larger lam, exact to rounding.
    tolerance : of coordinate descent, above 0 and below 1. It stops when no coefficient changes by more than this
        fraction of the largest, and the duality gap is at most this fraction of the objective.
    iterations : the largest number of sweeps of coordinate descent for a row, at least 1; then LARS takes over.
    seed : of the random draws.

    >>> from seriatim import DictionaryLearning, data
    >>> digits = data.load("digits")[0]
    >>> model = DictionaryLearning(n_atoms=64, features={"normalize": "unit"}).fit(digits)
    >>> codes = model.transform(digits)
    >>> model.components_.shape, round(float((codes != 0).sum(axis=1).mean()), 1)
    ((64, 64), 5.0)

    Mairal, Bach, Ponce and Sapiro, "Online learning for matrix factorization and sparse coding", JMLR 11 (2010).
    """

    paper = "Mairal et al. (2010)"
    fixed = (*Transformer.fixed, "n_atoms", "batch")
    n_atoms = Number(least=1, most=10_000, integer=True)
    lam = Number(None, above=0, optional=True)  # part of the loss, so `tune` must not choose it
    batch = Number(256, least=1, most=10**6, integer=True)
    coding = Choice("cd", ("cd", "lars"))
    tolerance = Number(1e-4, above=0, below=1)
    iterations = Number(200, least=1, below=10**9, integer=True)
    seed = Number(0, least=0, integer=True)

    def build(self):
        return DictionaryLearningLearner(self.n_atoms, self.lam or 0.0, self.batch, self.coding == "lars",
                                         self.tolerance, self.iterations, self.seed & (1 << 64) - 1)

    @property
    def components_(self):
        """The atoms, one row each, with norm at most 1."""
        return self._seen().lines()
