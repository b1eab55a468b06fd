"""Principal components of a stream of rows: online PCA with a regret bound, and incremental PCA for everyday use."""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport exp, fmin, log, log1p, sqrt
from libc.stdlib cimport free
from libc.string cimport memcpy

from seriatim.core.memory cimport resize
from seriatim.core.random cimport random_uniform
from seriatim.core.representation cimport Representation
from seriatim.core.row cimport Row
from seriatim.core.table cimport Table
from seriatim.decomposition.arrowhead cimport Arrowhead
from seriatim.decomposition.components cimport ComponentsLearner
from seriatim.decomposition.sparse_rows cimport dense

from seriatim.core.recolumn import ColumnCount, RecordArray
from seriatim.core.rows import LIMIT
from seriatim.decomposition.base import Decomposition, SubspaceModel
from seriatim.decomposition.orthogonal import numbers, orthogonal, orthonormal
from seriatim.errors import DataError, LimitError, ModelError
from seriatim.estimator import Transformer
from seriatim.parameters import REQUIRED, Number

MAX_FEATURES = 20_000


cdef class OnlinePCALearner(Representation):
    """The density matrix W = Q diag(exp w) Q' + exp(w_rest) (I - Q Q').

    The columns of Q span the rows so far. All directions orthogonal to them have one weight. So a row costs the number
    of features times the square of the number of columns. Weights are logarithms, because the weight of a frequent
    direction would underflow.
    """

    NUMBERS = (*Representation.NUMBERS, "draws", "expected", "sampled", "rest")

    cdef Py_ssize_t given            # n_features, or 0
    cdef Py_ssize_t known            # the number of features seen
    cdef Py_ssize_t k                # n_components
    cdef Py_ssize_t n                # the number of features; 0 before the first row
    cdef Py_ssize_t r                # the number of columns of Q
    cdef public Py_ssize_t draws
    cdef public double expected, sampled, rest
    cdef double eta
    cdef unsigned long long seed
    cdef object Q                    # of shape (n, r)
    cdef double* w                   # r logarithms, ascending
    cdef double* all_w               # the logarithms of all n weights, and n numbers of scratch memory
    cdef int* order                  # scratch memory for 2 n positions
    cdef Arrowhead arrowhead
    cdef object components           # what users see, until the next row

    def __init__(self, n_components, eta, seed, n_features):
        self.k, self.eta, self.seed, self.given = n_components, eta, seed, n_features or 0
        self.particular = True
        self.arrowhead = Arrowhead()

    def __dealloc__(self):
        free(self.w)
        free(self.all_w)
        free(self.order)

    cdef int grow(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t most = self.n or self.given or MAX_FEATURES
        if rows - 1 > most:
            if most == MAX_FEATURES:
                raise LimitError(f"{rows - 1} features; the limit of a density matrix is {MAX_FEATURES}")
            raise DataError(
                f"feature {rows - 1} of a density matrix of {most} features; set n_features to the final number"
            )
        self.known = max(self.known, rows - 1)
        return 0

    cdef int expect(self, const Row* x, where) except -1:
        cdef Py_ssize_t i, n = self.n or self.given or self.known
        row = "this example" if where is None else f"row {where}"
        if x.norm2 > 1 + 1e-9:
            raise DataError(
                f"{row} has norm {sqrt(x.norm2):g}; the bound of online PCA holds for norms up to 1. "
                f'Divide all rows by the largest norm, or use features={{"normalize": "unit"}}, on the command line '
                f"--normalize unit"
            )
        if self.n == 0 and self.given == 0:
            for i in range(x.n):
                n = max(n, (i if x.index == NULL else x.index[i]) + 1)
        if self.t == 0 and n <= self.k:
            raise DataError(
                f"{self.k} components of {n} features; n_components must be smaller than the number of features. "
                f"Set n_features if more features will come"
            )
        return 0

    cdef int begin(self) except -1:
        """Fix the number of features; W = I / n."""
        cdef Py_ssize_t n = self.given or self.known
        if (resize(<void**> &self.w, n, sizeof(double)) < 0
                or resize(<void**> &self.all_w, 2 * n, sizeof(double)) < 0
                or resize(<void**> &self.order, 2 * n, sizeof(int)) < 0):
            raise MemoryError(f"no memory for {n} features")
        self.n, self.Q, self.rest = n, np.zeros((n, 0)), -log(n)
        return 0

    cdef double[::1] as_array(self, const Row* x):
        """A row as an array of n features; unknown features are left out."""
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
                return self.loss(self.as_array(x), x.norm2)
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
                y = self.projection() @ np.asarray(self.as_array(x))
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
        """Returns the expected loss of the row; then W is the capped exp(log W - eta x x') / trace."""
        cdef Py_ssize_t i, r, draws = self.draws
        cdef double expected = 0, sampled = 0
        cdef double[::1] y
        if self.n == 0:
            self.begin()
        Q, y = self.extended(np.asarray(self.as_array(x)), sqrt(x.norm2))
        r = y.shape[0]
        if self.arrowhead.reserve(max(r, 1)) < 0:
            raise MemoryError(f"no memory for {r} directions")
        # From here on only the matrix product can fail.
        self.expand()
        for i in range(r):
            expected += exp(self.all_w[i]) * y[i] * y[i]
        expected *= self.n - self.k
        for i in self.give_up():
            if i < r:
                sampled += y[i] * y[i]
        self.downdate(r, y)
        if r:
            try:
                Q = Q @ np.asarray(<double[:r, :r]> self.arrowhead.left)
                self.Q = orthogonal(Q) if self.t & 63 == 0 else Q
            except BaseException:
                self.draws = draws
                raise
        self.cap(r)
        self.expected += expected
        self.sampled += sampled
        self.r, self.components = r, None
        self.updates = self.t
        return expected

    def extended(self, x, double norm):
        """Q with the direction that x adds, if any, and the coordinates of x."""
        Q = self.Q
        y = x @ Q
        p = x - Q @ y
        again = p @ Q    # a second pass, for rounding
        p -= Q @ again
        rho = np.linalg.norm(p)
        if self.r < self.n and rho > 1e-12 * norm and rho > 1e-100:
            return np.column_stack([Q, p / rho]), np.append(y, rho)
        return Q, y

    cdef void expand(self) noexcept:
        """Write the logarithms of all n weights to all_w."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.all_w[i] = self.w[i] if i < self.r else self.rest

    cdef void downdate(self, Py_ssize_t r, const double[::1] y) noexcept:
        """The eigenvalues of diag(all_w) - eta y y', and their vectors in arrowhead.left.

        They are top - sigma^2 of the arrowhead matrix [diag sqrt(top - all_w), sqrt(eta) y].
        """
        cdef Py_ssize_t i
        cdef double top = self.all_w[r - 1] if r else 0
        for i in range(r):
            self.arrowhead.d[i] = sqrt(max(top - self.all_w[i], 0))
            self.arrowhead.z[i] = sqrt(self.eta) * y[i]
        self.arrowhead.solve(r, False)
        for i in range(r):
            self.all_w[i] = top - self.arrowhead.sigma[i] * self.arrowhead.sigma[i]

    cdef void cap(self, Py_ssize_t r) noexcept:
        """Scale and cap the weights in all_w, which ascend: the sum is 1 and the largest at most 1/d.

        Capping is algorithm 4 of Warmuth and Kuzmin: the i largest weights, which stand last, become 1/d.
        """
        cdef Py_ssize_t i, n = self.n, d = self.n - self.k
        cdef double* w = self.all_w
        cdef double* sums = self.all_w + n
        cdef double shift
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
        """Draw the d directions that the next projection omits (algorithm 1).

        w is a mixture sum_c p_c r_c of corners; r_c is 1/d at the d largest weights of what the corners before it have
        left of w. The corner c is drawn with probability p_c.
        """
        cdef Py_ssize_t i, a, b, c, n = self.n, d = self.n - self.k, corners = 0
        cdef double* w = self.all_w + n
        cdef int* order = self.order
        cdef int* merged = self.order + n
        cdef double u = random_uniform(self.seed, &self.draws), total = 0, p
        for i in range(n):
            w[i] = exp(self.all_w[i])
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
        if self.components is None:
            seen = self.Q[:, :self.k].T
            if len(seen) < self.k:
                seen = np.vstack([seen, self.unseen()[:self.k - len(seen)]])
            self.components = np.ascontiguousarray(seen)
        return self.components

    def unseen(self):
        """An orthonormal basis of the directions that are orthogonal to all rows so far, as rows."""
        whole = np.linalg.qr(self.Q, mode="complete")[0] if self.r else np.eye(self.n)
        return whole[:, self.r:].T

    def drawn(self):
        """The k directions of the next draw, as rows. The draw is not used up."""
        cdef Py_ssize_t draws = self.draws
        self.expand()
        given_up = self.give_up()
        self.draws = draws
        selected = sorted(set(range(self.n)) - set(given_up))
        directions = self.Q.T if selected[-1] < self.r else np.vstack([self.Q.T, self.unseen()])
        return directions[selected]

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
            raise ModelError("a density matrix has other numbers of directions and of weights")
        if (n == 0) != (self.t == 0) or (n and not max(self.k + 1, self.given) <= n <= (self.given or n)):
            raise ModelError(f"a density matrix of {n} features after {self.t} rows")
        if not (0 <= self.draws <= self.t and 0 <= min(self.expected, self.sampled)
                and max(self.expected, self.sampled) <= 1.001 * self.t):
            raise ModelError("the draws or losses of a density matrix exceed the number of rows")
        if n:
            heaviest, total = max(w.max(initial=-np.inf), self.rest if r < n else -np.inf), np.exp(w).sum()
            if (np.diff(w) < 0).any() or heaviest > 1e-6 - log(n - self.k):
                raise ModelError("the weights of a density matrix do not ascend, or exceed 1/d")
            slack = 1e-6 + 1e-15 * n * np.abs(w).max(initial=0)    # a logarithm w is exact to 1e-16 |w|
            if abs(total + (n - r) * exp(min(self.rest, 0)) - 1) > slack or not orthonormal(Q):
                raise ModelError("the trace of a density matrix is not 1, or its directions are not orthonormal")
            self.known = max(self.known, len(Q))
            rest, given, self.given = self.rest, self.given, len(Q)
            self.begin()
            self.rest, self.given = rest, given
        self.Q, self.r, self.components = Q, len(w), None
        for i in range(self.r):
            self.w[i] = w[i]


cdef double add_logarithms(double a, double b) noexcept nogil:
    return a + log1p(exp(b - a)) if a > b else b + log1p(exp(a - b))


class OnlinePCA(Decomposition):
    """Online PCA: a density matrix over directions, whose heaviest directions are omitted, with a regret bound.

    W over n features has trace 1 and eigenvalues of at most 1/d, d = n - n_components. In each round W is written as a
    mixture of corners, sets of d eigenvectors; one corner is drawn, and the projection P omits its directions. The loss
    is |x - P x|^2, on average d x'W x. Then W = exp(log W - eta x x') / trace, and eigenvalues above 1/d are capped.

    For rows of norm at most 1 the expected loss is at most (eta L + d ln(n/d)) / (1 - e^-eta), where L is the loss of
    the best projection in hindsight. With eta = ln(1 + sqrt(2 d ln(n/d) / L)) the regret is at most
    sqrt(2 L d ln(n/d)) + d ln(n/d). The loss of a row, as the model reports it, is the expected loss.

    `components_` are the eigenvectors of the smallest eigenvalues and need no draw; `drawn_components_` are those of
    the next draw. A row costs the number of features times the square of the number of directions that the rows span.
    The last bits may change with the number of threads of NumPy's BLAS.

    Parameters
    ----------
    n_components : the number of components, at least 1 and smaller than the number of features.
    eta : the learning rate, above 0.
    seed : of the draws.
    n_features : the final number of features; None: the number in the first call.

    >>> from seriatim import OnlinePCA, data
    >>> X, _ = data.load("digits")
    >>> model = OnlinePCA(10, eta=1.0, features={"normalize": "unit"}).fit(X)
    >>> round(model.expected_loss_ / model.t_, 3), round(-model.score(X), 3)
    (0.094, 0.091)

    Warmuth and Kuzmin, "Randomized online PCA algorithms with regret bounds that are logarithmic in the dimension",
    JMLR 9 (2008).
    """

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
        """The directions of least weight, of shape (n_components, features)."""
        with self._lock:
            return self._fitted().projection()[:, :self.n_columns].copy()

    @property
    def drawn_components_(self):
        """The directions of the next draw; the next round loses what its row has outside of them.

        If that row has a new direction, the draw of the round includes it and may differ.
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
        """The sum of the expected losses of all rows, each before the model learned it."""
        return self._fitted().expected

    @property
    def loss_(self):
        """The sum of the losses of the drawn projections."""
        return self._fitted().sampled

    def bound(self, best):
        """The upper bound of the expected loss if the best projection in hindsight has the loss `best`."""
        n = len(self.density_)
        d = n - self.n_components
        return (self.eta * best + d * np.log(n / d)) / -np.expm1(-self.eta)


cdef class IncrementalPCALearner(ComponentsLearner):
    """The subspace of the rows less their running mean."""

    cdef Table moments               # for each column: the mean, and the sum of squared deviations from it
    cdef double* c                   # the row less the mean
    cdef Py_ssize_t c_room
    cdef Py_ssize_t columns          # columns from here on have mean 0

    def __init__(self, n_components, block):
        ComponentsLearner.__init__(self, n_components, 1e-10, block)
        self.arguments = n_components, block
        self.collapsed = True    # centred rows are dense, and so are the pending rows of the space
        self.moments = Table((("mean", 0.0, False), ("squares", 0.0, False)), 1)

    def __dealloc__(self):
        free(self.c)

    cdef int grow(self, Py_ssize_t rows) except -1:
        ComponentsLearner.grow(self, rows)
        self.moments.grow(rows)
        if self.moments.capacity > self.c_room:
            if resize(<void**> &self.c, self.moments.capacity, sizeof(double)) < 0:
                raise MemoryError(f"no memory for {rows} features")
            self.c_room = self.moments.capacity
        return 0

    cdef double centre(self, const Row* x, Row* c) noexcept nogil:
        """c = x - mean over the known columns. Returns the sum of squares of the unknown columns."""
        cdef Py_ssize_t i, column, known = self.moments.rows - 1, n = max(self.columns, min(self.space.width(x), known))
        cdef double unknown = 0
        for i in range(n):
            self.c[i] = -self.moments.data[2 * (i + 1)]
        for i in range(x.n):
            column = i if x.index == NULL else x.index[i]
            if column < n:
                self.c[column] += x.value[i]
            elif column >= known:
                unknown += x.value[i] * x.value[i]
        c.index, c.value, c.n, c.constant, c.norm2 = NULL, self.c, n, 0, 0
        for i in range(n):
            c.norm2 += self.c[i] * self.c[i]
        return unknown

    cdef double score(self, const Row* x) noexcept nogil:
        cdef Row c
        cdef double unknown = self.centre(x, &c)
        return self.space.loss(&c) + unknown

    cdef void code(self, const Row* x, double* out) noexcept nogil:
        cdef Row c
        self.centre(x, &c)
        self.space.project(&c)
        memcpy(out, self.space.m, self.space.k * sizeof(double))

    cdef int update(self, const Row* x) noexcept nogil:
        """Add the row sqrt(n / (n + 1)) (x - mean) to the space; then move the mean."""
        cdef Row c
        cdef Py_ssize_t i
        cdef double n = self.t - 1, scale = sqrt(n / (n + 1)), change
        cdef double* moments
        self.centre(x, &c)
        for i in range(c.n):
            self.c[i] *= scale
        c.norm2 *= scale * scale
        if c.norm2 < 1e-150:
            c.norm2 = 0
        if self.space.append(&c, 1) < 0:
            return -1
        self.columns = max(self.columns, c.n)
        self.centre(x, &c)
        for i in range(c.n):
            moments = self.moments.data + 2 * (i + 1)
            change = self.c[i]
            moments[0] += change / self.t
            moments[1] += change * (change - change / self.t)
        return 0

    def end_block(self):
        """Ross et al.: add the rows of the block less their mean, and one row for the change between the means."""
        cdef Py_ssize_t i, j
        cdef double m = self.waiting.n, n = self.t - m
        if m == 0:
            return
        for i in range(self.waiting.n):
            for j in range(self.waiting.rows[i].n):
                self.space.used = max(self.space.used, self.waiting.rows[i].index[j] + 1)
        self.space.collapse()
        C = dense(self.waiting, self.space.used)
        moments = np.asarray(<double[:self.moments.rows, :2]> self.moments.data)[1:self.space.used + 1]
        mean = C.mean(axis=0)
        change = mean - moments[:, 0]
        C -= mean
        weight = n * m / (n + m)
        squares = np.einsum("ij,ij->j", C, C) + weight * change * change
        if n:
            C = np.vstack([C, np.sqrt(weight) * change])
        self.space.merge_dense(C, self.space.values(), np.ones(len(C)))
        moments[:, 1] += squares
        moments[:, 0] += change * (m / (n + m))
        self.columns = self.space.used
        self.waiting.n = 0

    # ---- what users see

    def mean(self, Py_ssize_t features):
        return self.moments.get("mean")[1:features + 1, 0]

    def squares(self, Py_ssize_t features):
        return self.moments.get("squares")[1:features + 1, 0]

    def column_arrays(self):
        moments = {"mean": RecordArray(), "squares": RecordArray(), "columns": ColumnCount()}
        return {**ComponentsLearner.column_arrays(self), **moments}

    def state(self):
        return {**ComponentsLearner.state(self), "mean": self.moments.get("mean"),
                "squares": self.moments.get("squares"), "columns": self.columns}

    def restore(self, state):
        ComponentsLearner.restore(self, state)
        learned = self.t - self.waiting.n
        mean, squares, columns = numbers(state["mean"]), numbers(state["squares"]), state["columns"]
        if not mean.shape == squares.shape == (state["records"], 1):
            raise ModelError("the means, the squares and the basis differ in their number of features")
        if not state["used"] <= columns < len(mean) or mean[columns + 1:].any() or squares[columns + 1:].any():
            raise ModelError("there are means or squares of features that no row has had")
        if np.abs(mean).max() > 2 * LIMIT or squares.min() < 0 or squares.max() > 8 * LIMIT * LIMIT * learned:
            raise ModelError("means or squares are out of the range of rows within the limit")
        self.grow(len(mean))
        self.moments.set("mean", mean)
        self.moments.set("squares", squares)
        self.columns = columns


class IncrementalPCA(SubspaceModel):
    """Principal components of rows less their mean, updated by every row or every block of rows.

    With n rows and their mean before it, x adds the row sqrt(n / (n + 1)) (x - mean) to the SVD of all centred rows, as
    in `OnlineSVD`. A block of m rows adds its rows less their own mean, and sqrt(n m / (n + m)) times the difference of
    the means. The `n_components` largest values are kept. Mean and variance of every column are exact; the components
    are exact while nothing is cut off. Variances divide by n - 1, as in scikit-learn. The loss of a row is
    |c - V V'c|^2, c = x - mean. The mean is dense, so a row costs the number of features times n_components.

    Parameters
    ----------
    n_components : the largest number of components, at least 1; components not found yet are 0.
    block : the number of rows in a block, counted from the first row; None: each row is learned when it arrives. Blocks
        are several times as fast; the last bits may change with the number of threads of NumPy's BLAS.

    >>> from seriatim import IncrementalPCA, data
    >>> X, _ = data.load("digits")
    >>> model = IncrementalPCA(10, block=100).fit(X)
    >>> model.explained_variance_ratio_[:3].round(3)
    array([0.149, 0.136, 0.118])

    Ross, Lim, Lin and Yang, "Incremental learning for robust visual tracking", IJCV 77 (2008).
    """

    paper = "Ross et al. (2008)"
    fixed = (*Transformer.fixed, "n_components", "block")
    n_components = Number(REQUIRED, least=1, below=100_000, integer=True)
    block = Number(None, least=1, below=10**6, integer=True, optional=True)

    def build(self):
        return IncrementalPCALearner(self.n_components, self.block)

    @property
    def mean_(self):
        """The mean of each column."""
        with self._lock:
            return self._seen().mean(self.n_columns)

    @property
    def var_(self):
        """The variance of each column, divided by n."""
        with self._lock:
            return self._seen().squares(self.n_columns) / self.t_

    @property
    def n_samples_seen_(self):
        return self.t_

    @property
    def explained_variance_(self):
        """The variance along each component, divided by n - 1; 0 for a single row."""
        return self.singular_values_ ** 2 / max(self.t_ - 1, 1)

    @property
    def explained_variance_ratio_(self):
        """The variance along each component as a fraction of the variance of all columns; 0 if all are constant."""
        with self._lock:
            total = self._seen().squares(self.n_columns).sum()
            return self.singular_values_ ** 2 / (total if total > 0 else 1)

    @property
    def noise_variance_(self):
        """The mean variance along the directions that are cut off (Tipping and Bishop, 1999)."""
        with self._lock:
            left = self._seen().squares(self.n_columns).sum() / max(self.t_ - 1, 1) - self.explained_variance_.sum()
            return max(float(left), 0.0) / max(self.n_columns - np.count_nonzero(self.singular_values_), 1)

    def inverse_transform(self, Z):
        """The rows that have these coordinates: Z V' + mean."""
        return super().inverse_transform(Z) + self.mean_
