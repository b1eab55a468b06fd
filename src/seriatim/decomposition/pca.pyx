"""Principal components of a stream of rows: online PCA with its bound, and incremental PCA for everyday use."""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport exp, fmin, log, log1p, sqrt
from libc.stdlib cimport free
from libc.string cimport memcpy

from seriatim.core.memory cimport resize
from seriatim.core.random cimport random_uniform
from seriatim.core.representation cimport Representation
from seriatim.core.reservoir cimport Reservoir
from seriatim.core.row cimport Row
from seriatim.core.table cimport Table
from seriatim.decomposition.arrowhead cimport Arrowhead
from seriatim.decomposition.subspace cimport Subspace

from seriatim.core.rows import LIMIT
from seriatim.decomposition.subspace import numbers, orthogonal, orthonormal
from seriatim.decomposition.svd import coordinates
from seriatim.errors import DataError, LimitError, ModelError
from seriatim.estimator import Transformer
from seriatim.parameters import REQUIRED, Number

MAX_FEATURES = 20_000


cdef class OnlinePCALearner(Representation):
    """W = Q diag(exp w) Q' + exp(w_rest) (I - Q Q').

    Q has the directions in which there have been rows; all others have lost nothing and have one weight. So a row costs
    the features times the square of those directions. Weights are logarithms: what a stream has often shown falls below
    the smallest number.
    """

    NUMBERS = (*Representation.NUMBERS, "draws", "expected", "sampled", "rest")

    cdef Py_ssize_t given, k, n, known, r
    cdef public Py_ssize_t draws
    cdef public double expected, sampled, rest
    cdef double eta
    cdef unsigned long long seed
    cdef object Q                    # (n, r)
    cdef double* w                   # r of them, ascending
    cdef double* room                # the weights of all directions; as many sums of them
    cdef int* order
    cdef Arrowhead arrow
    cdef object filler               # components that no row has shown, until the next row

    def __init__(self, n_components, eta, seed, n_features):
        self.k, self.eta, self.seed, self.given = n_components, eta, seed, n_features or 0
        self.particular = True
        self.arrow = Arrowhead()

    def __dealloc__(self):
        free(self.w)
        free(self.room)
        free(self.order)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t most = self.n or self.given or MAX_FEATURES
        if rows - 1 > most:
            if most == MAX_FEATURES:
                raise LimitError(f"{rows - 1} features; the limit of a density matrix is {MAX_FEATURES}")
            raise DataError(
                f"feature {rows - 1} of a density matrix of {most} features; n_features says how many there will be"
            )
        self.known = max(self.known, rows - 1)
        return 0

    cdef int expect(self, const Row* x, where) except -1:
        cdef Py_ssize_t i, n = self.n or self.given or self.known
        row = "this example" if where is None else f"row {where}"
        if x.norm2 > 1 + 1e-9:
            raise DataError(
                f"{row} has the length {sqrt(x.norm2):g}, and the bound of online PCA is for lengths up to 1; "
                f'divide all rows by the largest length, or say features={{"normalize": "unit"}}, on the command line '
                f"--normalize unit"
            )
        if self.n == 0 and self.given == 0:
            for i in range(x.n):
                n = max(n, (i if x.index == NULL else x.index[i]) + 1)
        if self.t == 0 and n <= self.k:
            raise DataError(
                f"{self.k} components of {n} features leave nothing to give up; "
                f"n_features says how many there will be"
            )
        return 0

    cdef int begin(self) except -1:
        """The number of features is what it is."""
        cdef Py_ssize_t n = self.given or self.known
        if (resize(<void**> &self.w, n, sizeof(double)) < 0
                or resize(<void**> &self.room, 2 * n, sizeof(double)) < 0
                or resize(<void**> &self.order, 2 * n, sizeof(int)) < 0):
            raise MemoryError(f"no memory for {n} features")
        self.n, self.Q, self.rest = n, np.zeros((n, 0)), -log(n)
        return 0

    cdef double[::1] laid(self, const Row* x):
        """A row as an array of all features; what is not known has no place in it."""
        cdef double[::1] out = np.zeros(self.n)
        cdef Py_ssize_t i, column
        for i in range(x.n):
            column = i if x.index == NULL else x.index[i]
            if column < self.n:
                out[column] = x.value[i]
        return out

    cdef double score(self, const Row* x) noexcept nogil:
        with gil:
            try:
                return self.loss(self.laid(x), x.norm2)
            except BaseException as error:
                self.keep(error)
        return 0

    cdef double loss(self, double[::1] x, double norm2):
        """d x'W x."""
        cdef Py_ssize_t i
        cdef double[::1] y = np.asarray(x) @ self.Q
        cdef double inside = 0, rest = norm2
        for i in range(self.r):
            inside += exp(self.w[i]) * y[i] * y[i]
            rest -= y[i] * y[i]
        return (self.n - self.k) * (inside + exp(self.rest) * max(rest, 0))

    cdef Py_ssize_t outputs(self) noexcept nogil:
        return self.k

    cdef void code(self, const Row* x, double* out) noexcept nogil:
        cdef Py_ssize_t i
        cdef double[::1] y
        with gil:
            try:
                y = self.projection() @ np.asarray(self.laid(x))
                for i in range(self.k):
                    out[i] = y[i]
            except BaseException as error:
                self.keep(error)

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        with gil:
            try:
                if self.t & 63 == 0:
                    PyErr_CheckSignals()
                return self.step(x)
            except BaseException as error:
                self.t -= 1
                self.keep(error)
        return 0

    cdef double step(self, const Row* x) except? -1:
        cdef Py_ssize_t i, n, r
        cdef double expected, norm2 = x.norm2
        if self.n == 0:
            self.begin()
        row = np.asarray(self.laid(x))
        y = row @ self.Q
        p = row - self.Q @ y
        again = p @ self.Q
        p -= self.Q @ again
        rho = np.linalg.norm(p)
        Q, r = self.Q, self.r
        if r < self.n and rho > 1e-12 * sqrt(norm2) and rho > 1e-100:    # a direction that no row has shown
            Q, y = np.column_stack([Q, p / rho]), np.append(y, rho)
            r += 1
        cdef double[::1] y_view = y
        n = self.n
        if self.arrow.reserve(max(r, 1)) < 0:
            raise MemoryError(f"no memory for {r} directions")
        # No failure from here on but that of a product.
        for i in range(r):
            self.room[i] = self.w[i] if i < self.r else self.rest
        for i in range(r, n):
            self.room[i] = self.rest
        expected = 0
        for i in range(r):
            expected += exp(self.room[i]) * y_view[i] * y_view[i]
        expected *= n - self.k
        sampled, draws = 0.0, self.draws
        for i in self.give_up():
            if i < r:
                sampled += y_view[i] * y_view[i]
        # diag(w) - eta y y', whose eigenvalues are top - sigma^2 of [diag sqrt(top - w), sqrt(eta) y]
        cdef double top = self.room[r - 1] if r else 0
        for i in range(r):
            self.arrow.d[i] = sqrt(max(top - self.room[i], 0))
            self.arrow.z[i] = sqrt(self.eta) * y_view[i]
        self.arrow.solve(r, False)
        if r:
            try:
                Q = Q @ np.asarray(<double[:r, :r]> self.arrow.left)
                self.Q = orthogonal(Q) if self.t & 63 == 0 else Q
            except BaseException:
                self.draws = draws
                raise
        for i in range(r):
            self.room[i] = top - self.arrow.sigma[i] * self.arrow.sigma[i]
        self.cap(r)
        self.expected += expected
        self.sampled += sampled
        self.r, self.filler = r, None
        self.updates = self.t
        return expected

    cdef void cap(self, Py_ssize_t r) noexcept:
        """The weights in `room`, ascending, become those of W: their sum 1, and none above 1/d."""
        cdef Py_ssize_t i, n = self.n, d = self.n - self.k
        cdef double* w = self.room
        cdef double* sums = self.room + n
        cdef double shift
        # The capping of Warmuth and Kuzmin, algorithm 4: the i largest, which stand last, become 1/d.
        for i in range(n):
            sums[i] = w[i] if i == 0 else add_logarithms(sums[i - 1], w[i])
        for i in range(d):
            shift = log((d - i) / <double> d) - sums[n - 1 - i]
            if w[n - 1 - i] + shift <= -log(d) + 1e-15:
                break
        for d in range(n):
            w[d] = fmin(w[d] + shift, -log(n - self.k)) if d < n - i else -log(n - self.k)
        memcpy(self.w, w, r * sizeof(double))
        if r < n:
            self.rest = w[n - 1]

    def give_up(self):
        """The d directions of a corner, drawn by its chance (algorithm 1).

        w = sum_c p_c r_c, r_c being 1/d at d places: the d largest of what is left of w, until there is nothing left.
        """
        cdef Py_ssize_t i, a, b, c, n = self.n, d = self.n - self.k, corners = 0
        cdef double* w = self.room + n
        cdef int* order = self.order
        cdef int* merged = self.order + n
        cdef double u = random_uniform(self.seed, &self.draws), total = 0, p
        for i in range(n):
            w[i] = exp(self.room[i])
            order[i] = <int> (n - 1 - i)
        while True:
            total = 0
            for i in range(n):
                total += w[i]
            p = fmin(d * w[order[d - 1]], total - d * w[order[d]])
            u -= p
            corners += 1
            if u < 0 or total - p <= 1e-12 or corners == n:
                return [order[i] for i in range(d)]
            for i in range(d):
                w[order[i]] = max(w[order[i]] - p / d, 0)
            a, b = 0, d
            for c in range(n):
                if b == n or (a < d and w[order[a]] >= w[order[b]]):
                    merged[c] = order[a]
                    a += 1
                else:
                    merged[c] = order[b]
                    b += 1
            memcpy(order, merged, n * sizeof(int))

    # ---- what users see

    def projection(self):
        """The k directions of least weight, the least first, as rows."""
        if self.filler is None:
            shown = self.Q[:, :self.k].T
            if len(shown) < self.k:
                shown = np.vstack([shown, self.unseen()[:self.k - len(shown)]])
            self.filler = np.ascontiguousarray(shown)
        return self.filler

    def unseen(self):
        """Directions that are orthogonal to those that rows have shown, and to one another, as rows."""
        whole = np.linalg.qr(self.Q, mode="complete")[0] if self.r else np.eye(self.n)
        return whole[:, self.r:].T

    def drawn(self):
        """The k directions that the draw of the next round leaves, as rows; the draw itself is still to come."""
        cdef Py_ssize_t i, draws = self.draws
        for i in range(self.n):
            self.room[i] = self.w[i] if i < self.r else self.rest
        given_up = self.give_up()
        self.draws = draws
        kept = sorted(set(range(self.n)) - set(given_up))
        directions = self.Q.T if kept[-1] < self.r else np.vstack([self.Q.T, self.unseen()])
        return directions[kept]

    def density(self):
        cdef Py_ssize_t i
        w = np.array([exp(self.w[i]) for i in range(self.r)])
        rest = exp(self.rest)
        return (self.Q * (w - rest)) @ self.Q.T + rest * np.eye(self.n)

    def state(self):
        cdef Py_ssize_t i
        return {**Representation.state(self), "Q": np.zeros((0, 0)) if self.n == 0 else self.Q.copy(),
                "weights": np.array([self.w[i] for i in range(self.r)])}

    def restore(self, state):
        cdef Py_ssize_t i
        Representation.restore(self, state)
        Q, w = numbers(state["Q"]), numbers(state["weights"])
        n, r = Q.shape
        if r != len(w) or r > n or n > MAX_FEATURES:
            raise ModelError("the directions and weights of a density matrix do not fit together")
        if (n == 0) != (self.t == 0) or (n and not max(self.k + 1, self.given) <= n <= (self.given or n)):
            raise ModelError(f"a density matrix of {n} features after {self.t} rows")
        if not (0 <= self.draws <= self.t and 0 <= min(self.expected, self.sampled)
                and max(self.expected, self.sampled) <= 1.001 * self.t):
            raise ModelError("the draws or losses of a density matrix are more than its rows")
        if n:
            heaviest, total = max(w.max(initial=-np.inf), self.rest if r < n else -np.inf), np.exp(w).sum()
            if (np.diff(w) < 0).any() or heaviest > 1e-6 - log(n - self.k):
                raise ModelError("the weights of a density matrix do not ascend, or are too heavy")
            slack = 1e-6 + 1e-15 * n * np.abs(w).max(initial=0)    # weights of 1 may have been as small as the others
            if abs(total + (n - r) * exp(min(self.rest, 0)) - 1) > slack or not orthonormal(Q):
                raise ModelError("the trace of a density matrix is not 1, or its directions are not orthonormal")
            self.known = max(self.known, len(Q))
            rest, given, self.given = self.rest, self.given, len(Q)
            self.begin()
            self.rest, self.given = rest, given
        self.Q, self.r, self.filler = Q, len(w), None
        for i in range(self.r):
            self.w[i] = w[i]


cdef double add_logarithms(double a, double b) noexcept nogil:
    return a + log1p(exp(b - a)) if a > b else b + log1p(exp(a - b))


class OnlinePCA(Transformer):
    """Online PCA: a density matrix over directions, of which the heaviest are given up, with a bound on its loss.

    W over n features has trace 1 and no eigenvalue above 1/d, d = n - n_components. In each round W is split into
    corners, each d eigenvectors with a chance; one is drawn and its directions are given up: the loss is what x has in
    them, |x - P x|^2, and on average d x'W x. Then W = exp(log W - eta x x') / trace, and its eigenvalues are capped at
    1/d. For any rows of length at most 1 the expected loss is at most (eta L + d ln(n/d)) / (1 - e^-eta), L being that
    of the best projection in hindsight; eta = ln(1 + sqrt(2 d ln(n/d) / L)) makes the regret at most
    sqrt(2 L d ln(n/d)) + d ln(n/d). The loss of given rows is the expected one.

    The components, for use, are the eigenvectors of the least eigenvalues: no draw is needed for them; those of the
    next draw are `drawn_components_`. A row costs the features times the square of the directions that rows have shown.
    The last bits may change with the number of threads of NumPy's library.

    Parameters
    ----------
    n_components : directions that are kept, at least 1 and fewer than the features.
    eta : the step, above 0.
    seed : of the draws.
    n_features : how many there will be; None: as many as the first rows have.

    >>> from seriatim import OnlinePCA, data
    >>> X, _ = data.load("digits")
    >>> model = OnlinePCA(10, eta=1.0, features={"normalize": "unit"}).fit(X)
    >>> round(model.expected_loss_ / model.t_, 3), round(-model.score(X), 3)
    (0.094, 0.091)

    Warmuth and Kuzmin, "Randomized online PCA algorithms with regret bounds that are logarithmic in the dimension",
    JMLR 9 (2008).
    """

    family = "decomposition"
    paper = "Warmuth and Kuzmin (2008)"
    fixed = (*Transformer.fixed, "n_components", "n_features")
    n_components = Number(REQUIRED, least=1, below=MAX_FEATURES, integer=True)
    eta = Number(0.1, above=0, below=1e6)
    seed = Number(0, least=0, below=2**63, integer=True)
    n_features = Number(None, least=2, most=MAX_FEATURES, integer=True, optional=True)

    def build(self):
        return OnlinePCALearner(self.n_components, self.eta, self.seed, self.n_features)

    @property
    def components_(self):
        """The directions that are kept, of shape (n_components, features)."""
        with self._lock:
            return self._fitted().projection()[:, :self.n_columns].copy()

    @property
    def drawn_components_(self):
        """The directions that the next round keeps, as it will draw them; what a row has beyond them it loses.

        Where a row shows a new direction the loss that counts is by one that is drawn with it.
        """
        with self._lock:
            return self._fitted().drawn()[:, :self.n_columns].copy()

    @property
    def density_(self):
        """W."""
        with self._lock:
            return self._fitted().density()

    @property
    def expected_loss_(self):
        """The sum of the expected losses of all rows, each before it was learned."""
        return self._fitted().expected

    @property
    def loss_(self):
        """The sum of the losses by the projections that were drawn."""
        return self._fitted().sampled

    def bound(self, best):
        """What the expected loss cannot exceed where the best projection of all rows in hindsight loses `best`."""
        n = len(self.density_)
        d = n - self.n_components
        return (self.eta * best + d * np.log(n / d)) / -np.expm1(-self.eta)

    def inverse_transform(self, Z):
        """Rows with these coordinates."""
        return coordinates(Z, self.n_components) @ self.components_


cdef class IncrementalPCALearner(Representation):
    """The subspace of rows less their mean, which moves."""

    cdef Subspace space
    cdef Reservoir waiting
    cdef Table sums                  # the mean, and the squares of what differs from it
    cdef double* c
    cdef Py_ssize_t room_of_c, block, merged, columns
    cdef tuple given
    cdef object seen_by_users
    cdef bint cached

    def __init__(self, n_components, block):
        self.given = n_components, block
        self.block = block or 0
        self.space = Subspace(n_components, 1e-10, self.block)
        self.waiting = Reservoir(self.block)
        self.sums = Table((("mean", 0.0, False), ("squares", 0.0, False)), 1)
        self.apart = True

    def __dealloc__(self):
        free(self.c)

    cdef int grow(self, Py_ssize_t rows) except -1:
        self.space.grow(rows)
        self.sums.grow(rows)
        if self.sums.capacity > self.room_of_c:
            if resize(<void**> &self.c, self.sums.capacity, sizeof(double)) < 0:
                raise MemoryError(f"no memory for {rows} features")
            self.room_of_c = self.sums.capacity
        return 0

    cdef double centre(self, const Row* x, Row* c) noexcept nogil:
        """c = x - mean; and the squares of columns that are not known."""
        cdef Py_ssize_t i, column, known = self.sums.rows - 1, n = max(self.columns, min(self.space.width(x), known))
        cdef double beyond = 0
        for i in range(n):
            self.c[i] = -self.sums.data[2 * (i + 1)]
        for i in range(x.n):
            column = i if x.index == NULL else x.index[i]
            if column < n:
                self.c[column] += x.value[i]
            elif column >= known:
                beyond += x.value[i] * x.value[i]
        c.index, c.value, c.n, c.constant, c.norm2 = NULL, self.c, n, 0, 0
        for i in range(n):
            c.norm2 += self.c[i] * self.c[i]
        return beyond

    cdef double score(self, const Row* x) noexcept nogil:
        cdef Row c
        cdef double beyond = self.centre(x, &c)
        return self.space.loss(&c) + beyond

    cdef Py_ssize_t outputs(self) noexcept nogil:
        return self.space.rank

    cdef void code(self, const Row* x, double* out) noexcept nogil:
        cdef Row c
        self.centre(x, &c)
        self.space.project(&c)
        memcpy(out, self.space.m, self.space.k * sizeof(double))

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef Row c
        cdef Py_ssize_t i
        cdef double n = self.t - 1, scale = sqrt(n / (n + 1)), change
        cdef double* sums
        if self.cached or self.t & 255 == 0:
            if self.interrupted():
                return 0
        if self.block:
            if self.waiting.put(self.waiting.n, x) < 0:
                self.undo()
                return 0
            self.waiting.n += 1
            if self.waiting.n == self.block:
                self.close()
            self.updates = self.t
            return 0
        self.centre(x, &c)
        for i in range(c.n):
            self.c[i] *= scale
        c.norm2 *= scale * scale
        if c.norm2 < 1e-150:
            c.norm2 = 0
        if self.space.append(&c, 1) < 0:
            self.undo()
            return 0
        self.columns = max(self.columns, c.n)
        self.centre(x, &c)
        for i in range(c.n):
            sums = self.sums.data + 2 * (i + 1)
            change = self.c[i]
            sums[0] += change / self.t
            sums[1] += change * (change - change / self.t)
        self.updates = self.t
        return 0

    # ---- where the interpreter is needed

    cdef void undo(self) noexcept with gil:
        self.t -= 1
        try:
            self.space.raise_error()
        except BaseException as error:
            self.keep(error)

    cdef bint interrupted(self) noexcept with gil:
        self.seen_by_users, self.cached = None, False
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            self.t -= 1
            self.keep(error)
            return True
        return False

    cdef void close(self) noexcept with gil:
        try:
            PyErr_CheckSignals()
            self.merge()
        except BaseException as error:
            self.waiting.n -= 1
            self.t -= 1
            self.keep(error)

    def merge(self):
        """A block (Ross et al.): its rows less their own mean, and a row for the way from the old mean to that."""
        cdef Py_ssize_t i, n = self.waiting.n
        if n == 0:
            return
        for i in range(n):
            for j in range(self.waiting.rows[i].n):
                self.space.used = max(self.space.used, self.waiting.rows[i].index[j] + 1)
        self.space.collapse()
        C = self.space.dense(self.waiting)
        sums = np.asarray(<double[:self.sums.rows, :2]> self.sums.data)[1:self.space.used + 1]
        before = self.t - n if self.t - n == self.merged else self.merged
        mean = C.mean(axis=0)
        way = mean - sums[:, 0]
        C -= mean
        share = before * n / (before + n)
        squares = np.einsum("ij,ij->j", C, C) + share * way * way
        if before:
            C = np.vstack([C, np.sqrt(share) * way])
        self.space.merge_dense(C, self.space.values(), np.ones(len(C)))
        sums[:, 1] += squares
        sums[:, 0] += way * (n / (before + n))
        self.columns = self.space.used
        self.merged = before + n
        self.waiting.n = 0

    # ---- what users see

    def settled(self, Py_ssize_t rows=0):
        cdef IncrementalPCALearner twin
        if not self.cached:
            twin = type(self)(*self.given)
            twin.constant = self.constant
            twin.restore(self.state())
            twin.merge()
            twin.space.collapse()
            self.seen_by_users, self.cached = twin, True
        return self.seen_by_users

    def values(self):
        values = np.zeros(self.space.rank)
        values[:self.space.k] = self.space.values()
        return values

    def directions(self, Py_ssize_t features):
        result = np.zeros((self.space.rank, features))
        V = self.space.directions()
        result[:V.shape[1], :len(V)] = V.T
        return result

    def mean(self, Py_ssize_t features):
        return self.sums.get("mean")[1:features + 1, 0]

    def squares(self, Py_ssize_t features):
        return self.sums.get("squares")[1:features + 1, 0]

    def state(self):
        state = {**Representation.state(self), **self.space.state(), "mean": self.sums.get("mean"),
                 "squares": self.sums.get("squares"), "columns": self.columns, "records": self.sums.rows}
        if self.block:
            state |= {f"waiting_{name}": array for name, array in self.waiting.state().items()}
        return state

    def restore(self, state):
        Representation.restore(self, state)
        if self.block:
            waiting = Reservoir(self.block)
            waiting.restore({name: state[f"waiting_{name}"] for name in ("start", "index", "value")}, len(state["B"]))
            if waiting.n >= self.block or waiting.n > self.t:
                raise ModelError(f"{waiting.n} rows wait for a block of {self.block}")
            self.waiting = waiting
            self.merged = self.t - waiting.n
        learned = self.t - self.waiting.n
        self.space.restore(state, learned)
        mean, squares, columns = numbers(state["mean"]), numbers(state["squares"]), state["columns"]
        if not mean.shape == squares.shape == (state["records"], 1) or len(mean) != len(state["B"]) + 1:
            raise ModelError("means, squares and the basis are not of as many features")
        if not state["used"] <= columns < len(mean) or mean[columns + 1:].any() or squares[columns + 1:].any():
            raise ModelError("there are means or squares of features that have not been seen")
        if np.abs(mean).max() > 2 * LIMIT or squares.min() < 0 or squares.max() > 8 * LIMIT * LIMIT * learned:
            raise ModelError("means or squares are not those of rows within the limit")
        self.grow(len(mean))
        self.sums.set("mean", mean)
        self.sums.set("squares", squares)
        self.columns = columns
        self.seen_by_users, self.cached = None, False


class IncrementalPCA(Transformer):
    """Principal components of rows less their mean, brought up to date by every row, or every block of rows.

    With n rows before it and their mean, x adds the row sqrt(n / (n + 1)) (x - mean) to the SVD of all centred rows, as
    in `OnlineSVD`; a block of m rows adds these less their own mean, and sqrt(n m / (n + m)) times the way between the
    means. The `n_components` largest values are kept. Mean and variance of every column are exact; so is all else where
    nothing is cut off. Variances are over n - 1, as in scikit-learn. The loss of a row is |c - V V'c|^2, c = x - mean.
    As the mean has no zeros, a row costs the features times n_components.

    Parameters
    ----------
    n_components : the most components, at least 1; those not found yet are shown as 0.
    block : rows that are taken in at once, counted from the first; None: one at a time. Blocks are several times as
        fast; the last bits may change with the number of threads of NumPy's library.

    >>> from seriatim import IncrementalPCA, data
    >>> X, _ = data.load("digits")
    >>> model = IncrementalPCA(10, block=100).fit(X)
    >>> model.explained_variance_ratio_[:3].round(3)
    array([0.149, 0.136, 0.118])

    Ross, Lim, Lin and Yang, "Incremental learning for robust visual tracking", IJCV 77 (2008).
    """

    family = "decomposition"
    paper = "Ross et al. (2008)"
    fixed = (*Transformer.fixed, "n_components", "block")
    n_components = Number(REQUIRED, least=1, below=100_000, integer=True)
    block = Number(None, least=1, below=10**6, integer=True, optional=True)

    def build(self):
        return IncrementalPCALearner(self.n_components, self.block)

    @property
    def components_(self):
        """The directions of most variance, of shape (n_components, features)."""
        with self._lock:
            return self._seen().directions(self.n_columns)

    @property
    def mean_(self):
        """Of each column."""
        with self._lock:
            return self._seen().mean(self.n_columns)

    @property
    def var_(self):
        """Of each column, over n."""
        with self._lock:
            return self._seen().squares(self.n_columns) / self.t_

    @property
    def n_samples_seen_(self):
        return self.t_

    @property
    def singular_values_(self):
        """Of the centred rows."""
        with self._lock:
            return self._seen().values()

    @property
    def explained_variance_(self):
        """Along each component, over n - 1; 0 of a single row."""
        return self.singular_values_ ** 2 / max(self.t_ - 1, 1)

    @property
    def explained_variance_ratio_(self):
        """The same over the variance of all columns; 0 where there is none."""
        with self._lock:
            total = self._seen().squares(self.n_columns).sum()
            return self.singular_values_ ** 2 / (total if total > 0 else 1)

    @property
    def noise_variance_(self):
        """The mean variance along the directions that are not kept (Tipping and Bishop, 1999)."""
        with self._lock:
            left = self._seen().squares(self.n_columns).sum() / max(self.t_ - 1, 1) - self.explained_variance_.sum()
            return max(float(left), 0.0) / max(self.n_columns - np.count_nonzero(self.singular_values_), 1)

    def inverse_transform(self, Z):
        """Rows with these coordinates: Z V' + mean."""
        return coordinates(Z, self.n_components) @ self.components_ + self.mean_
