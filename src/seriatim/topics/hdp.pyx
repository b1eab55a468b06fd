"""The online hierarchical Dirichlet process."""

import numpy as np

from libc.math cimport fabs, fmax, log
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from seriatim.core.memory cimport allocate, resize
from seriatim.core.random cimport random_bits
from seriatim.core.row cimport Row
from seriatim.topics.batches cimport Memo, TopicLearner, add_multiple_of, digamma, digamma_row, log_gamma

from seriatim.errors import ModelError
from seriatim.parameters import Choice, Number
from seriatim.topics.batches import LARGEST
from seriatim.topics.base import TopicModel

cdef extern from "documents.h" nogil:
    void weighted_rows(Py_ssize_t width, Py_ssize_t K, Py_ssize_t n, const double* share, Py_ssize_t apart,
                       const double* x, double* out) noexcept
    void row_products(Py_ssize_t width, Py_ssize_t K, Py_ssize_t n, const double* y, const double* x,
                      double* out) noexcept
    void normalise(Py_ssize_t n, const double* x, const double* more, double* logs, double* out) noexcept
    double expected_excess(Py_ssize_t n, const double* p, const double* a, const double* b,
                           const double* logs) noexcept
    int settle_document(Py_ssize_t topics, Py_ssize_t width, Py_ssize_t n, const double** row, const double* count,
                        const double* alpha, const double* base, Py_ssize_t iterations, double tolerance,
                        double* gamma, double* theta, double* norm, double* sum) noexcept

cdef double NONE = -1e300        # the logarithm of 0, for padding


cdef struct Sticks:              # the stick-breaking weights of the corpus; topics are sorted by mass
    int* order                   # the topic at each position
    double* used                 # by topic: how often documents use it
    double* logs                 # by topic: E[log weight]
    double* weight               # by topic: E[weight]
    double* a                    # by position
    double* b


cdef void stick_logs(Py_ssize_t n, const double* a, const double* b, double* out) noexcept nogil:
    """E[log weight] of n pieces, broken off with Beta(a, b) one after another; the last piece is the rest."""
    cdef Py_ssize_t k
    cdef double whole, rest = 0
    for k in range(n - 1):
        whole = digamma(a[k] + b[k])
        out[k] = digamma(a[k]) - whole + rest
        rest += digamma(b[k]) - whole
    out[n - 1] = rest


cdef class HDPLearner(TopicLearner):
    """The prepared row of a word is psi(eta + lambda_kw). Topics keep their numbers; `order` sorts them by mass."""

    cdef Py_ssize_t D, Dw, iterations    # D: the topics of a document; Dw: D rounded up to a multiple of four
    cdef double alpha, gamma, c, tolerance
    cdef bint best
    cdef Sticks now, shown_sticks
    cdef double* used_now                # `used` in the open batch
    cdef double* psi                     # psi(sum_w lambda_kw)
    cdef double* padding                 # 0 for topics, NONE for padding
    cdef double* beta                    # E[log beta], one row per word of the document
    cdef double* varphi                  # one row per topic of the document
    cdef double* log_varphi
    cdef double* phi                     # one row per word
    cdef double* log_phi
    cdef double* likely                  # varphi . E[log beta], one row per word
    cdef double* own                     # E[log weight] of the topics of the document
    cdef double* mass_of                 # the number of words of each topic of the document
    cdef double* v                       # the sticks of the document
    cdef Py_ssize_t beta_room
    cdef double* prior                   # in `code`: alpha E[weight]
    cdef double* theta
    cdef double* gammas

    def __init__(self, Py_ssize_t T, Py_ssize_t D, double alpha, double gamma, double eta, double kappa, double tau,
                 double scale, Py_ssize_t batch, total, Py_ssize_t iterations, double tolerance, n_features, double c,
                 bint best, unsigned long long seed):
        cdef Py_ssize_t k
        TopicLearner.__init__(self, T, eta, kappa, tau, scale, batch, total, n_features, seed)
        self.D, self.Dw, self.alpha, self.gamma, self.c, self.best = D, (D + 3) // 4 * 4, alpha, gamma, c, best
        self.iterations, self.tolerance = iterations, tolerance
        self.make_sticks(&self.now)
        self.make_sticks(&self.shown_sticks)
        self.used_now, self.psi, self.padding = self.new_row(), self.new_row(), self.new_row()
        self.prior, self.theta, self.gammas = self.new_row(), self.new_row(), self.new_row()
        self.varphi = <double*> allocate(self.Dw * self.width, sizeof(double))
        self.log_varphi = <double*> allocate(self.Dw * self.width, sizeof(double))
        self.own = <double*> allocate(self.Dw, sizeof(double))
        self.mass_of = <double*> allocate(self.Dw, sizeof(double))
        self.v = <double*> allocate(2 * self.Dw, sizeof(double))
        if (self.varphi == NULL or self.log_varphi == NULL or self.own == NULL or self.mass_of == NULL
                or self.v == NULL):
            raise MemoryError(f"no memory for {D} topics of a document")
        for k in range(self.width):
            self.padding[k] = 0 if k < T else NONE
        for k in range(T - 1):
            self.now.a[k], self.now.b[k] = 1, T - 1 - k
        self.expect_sticks(&self.now)

    def __dealloc__(self):
        free_sticks(&self.now)
        free_sticks(&self.shown_sticks)
        free(self.used_now)
        free(self.psi)
        free(self.padding)
        free(self.prior)
        free(self.theta)
        free(self.gammas)
        free(self.beta)
        free(self.varphi)
        free(self.log_varphi)
        free(self.phi)
        free(self.log_phi)
        free(self.likely)
        free(self.own)
        free(self.mass_of)
        free(self.v)

    cdef int make_sticks(self, Sticks* sticks) except -1:
        cdef Py_ssize_t k
        sticks.used, sticks.logs, sticks.weight = self.new_row(), self.new_row(), self.new_row()
        sticks.a, sticks.b = self.new_row(), self.new_row()
        sticks.order = <int*> allocate(self.width, sizeof(int))
        if sticks.order == NULL:
            raise MemoryError(f"no memory for {self.K} topics")
        for k in range(self.K):
            sticks.order[k] = <int> k
        return 0

    # ---- the topics of the corpus

    cdef double first(self, Py_ssize_t k, Py_ssize_t w) noexcept nogil:
        """c Exp(1), of which eta is a part: -c log u with u in (0, 1] drawn by topic and word."""
        cdef Py_ssize_t draws = w * self.K + k
        return -self.c * log(((random_bits(self.seed, &draws) >> 11) + 1) * (1.0 / 9007199254740992.0))

    cdef double prepare(self, const double* a, double* out) noexcept nogil:
        digamma_row(self.width, a, out)
        return 0

    cdef void weigh(self) noexcept nogil:
        digamma_row(self.width, self.whole, self.psi)

    cdef void expect_sticks(self, Sticks* sticks) noexcept nogil:
        """E[log weight] and E[weight] of each topic."""
        cdef Py_ssize_t p
        cdef double left = 1
        stick_logs(self.K, sticks.a, sticks.b, sticks.weight)
        for p in range(self.width):
            if p >= self.K:
                sticks.logs[p] = NONE
            else:
                sticks.logs[sticks.order[p]] = sticks.weight[p]
        for p in range(self.K):
            if p < self.K - 1:
                sticks.weight[sticks.order[p]] = left * sticks.a[p] / (sticks.a[p] + sticks.b[p])
                left *= sticks.b[p] / (sticks.a[p] + sticks.b[p])
            else:
                sticks.weight[sticks.order[p]] = left

    cdef void arrange(self, Sticks* sticks, const double* mass) noexcept nogil:
        """Sort the topics by mass, stably, and update the sticks."""
        cdef Py_ssize_t p, q
        cdef int topic
        for p in range(1, self.K):
            topic, q = sticks.order[p], p
            while q > 0 and mass[sticks.order[q - 1]] < mass[topic]:
                sticks.order[q] = sticks.order[q - 1]
                q -= 1
            sticks.order[q] = topic
        self.break_sticks(sticks)

    cdef void break_sticks(self, Sticks* sticks) noexcept nogil:
        cdef Py_ssize_t p
        cdef double beyond = 0
        for p in range(self.K - 1, -1, -1):
            sticks.a[p], sticks.b[p] = 1 + sticks.used[sticks.order[p]], self.gamma + beyond
            beyond += sticks.used[sticks.order[p]]
        self.expect_sticks(sticks)

    cdef void ended(self, double rho, double times) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.K):
            self.now.used[k] = (1 - rho) * self.now.used[k] + rho * times * self.used_now[k]
            self.used_now[k] = 0
        self.arrange(&self.now, self.sums)

    cdef void look(self) noexcept nogil:
        cdef Py_ssize_t k
        cdef size_t row = self.width * sizeof(double)
        TopicLearner.look(self)
        memcpy(self.shown_sticks.order, self.now.order, self.width * sizeof(int))
        memcpy(self.shown_sticks.a, self.now.a, row)
        memcpy(self.shown_sticks.b, self.now.b, row)
        for k in range(self.K):
            self.shown_sticks.used[k] = self.decay * self.now.used[k] + self.gain * self.used_now[k]
            self.theta[k] = self.decay * self.scale * self.sums[k] + self.gain * self.mass[k]
        if self.open:
            self.arrange(&self.shown_sticks, self.theta)
        else:
            self.expect_sticks(&self.shown_sticks)

    # ---- documents

    cdef int ready(self, Py_ssize_t n, Memo* memo, bint learning) noexcept nogil:
        cdef Py_ssize_t room = max(n + 4, 2 * self.beta_room)
        if n + 4 > self.beta_room:
            if (resize(<void**> &self.beta, room * self.width, sizeof(double)) < 0
                    or resize(<void**> &self.phi, room * self.Dw, sizeof(double)) < 0
                    or resize(<void**> &self.log_phi, room * self.Dw, sizeof(double)) < 0
                    or resize(<void**> &self.likely, room * self.Dw, sizeof(double)) < 0):
                return -1
            self.beta_room = room
        return TopicLearner.ready(self, n, memo, learning)

    cdef double study(self, bint learning) noexcept nogil:
        cdef Py_ssize_t i, j, k
        cdef double bound
        cdef double* sums
        cdef const Sticks* sticks = &self.now if learning else &self.shown_sticks
        if not self.n:
            return 0
        for i in range(self.words):
            for k in range(self.width):
                self.beta[i * self.width + k] = self.row[i][k] - self.psi[k] if k < self.K and i < self.n else 0
        bound = self.settle(sticks) if self.best else self.settle_alike(sticks)
        if learning:
            for j in range(self.D):
                add_multiple_of(self.width, 1, self.varphi + j * self.width, self.used_now)
                add_multiple_of(self.width, self.mass_of[j], self.varphi + j * self.width, self.mass)
            for i in range(self.n):
                sums = self.sums_of(i)
                for j in range(self.D):
                    add_multiple_of(self.width, self.count[i] * self.phi[i * self.Dw + j],
                                    self.varphi + j * self.width, sums)
        return bound

    cdef void begin(self, const Sticks* sticks) noexcept nogil:
        """Start with the topics of largest mass m = sum_w n_w r_w, r_w ~ beta_w sigma: phi_k ~ m_k exp(log beta_k)."""
        cdef Py_ssize_t i, j, k, p, q
        cdef double* mass = self.theta
        memset(mass, 0, self.width * sizeof(double))
        for i in range(self.n):
            normalise(self.width, self.beta + i * self.width, sticks.logs, self.log_varphi, self.varphi)
            add_multiple_of(self.width, self.count[i], self.varphi, mass)
        for j in range(self.D):
            p = -1
            for q in range(self.K):
                k = sticks.order[q]
                if mass[k] >= 0 and (p < 0 or mass[k] > mass[p]):
                    p = k
            self.own[j] = log(fmax(mass[p], 1e-300))
            mass[p] = -1
            for i in range(self.n):
                self.likely[i * self.Dw + j] = self.beta[i * self.width + p]
        for j in range(self.D, self.Dw):
            self.own[j] = NONE
        for i in range(self.n):
            for j in range(self.D, self.Dw):
                self.likely[i * self.Dw + j] = 0
            normalise(self.Dw, self.likely + i * self.Dw, self.own, self.log_phi + i * self.Dw, self.phi + i * self.Dw)

    cdef double settle(self, const Sticks* sticks) noexcept nogil:
        """Update varphi and phi in turn until the bound converges. Returns the bound."""
        cdef Py_ssize_t i, j, _round
        cdef double bound = -1e200, last
        self.begin(sticks)
        for j in range(self.Dw):
            self.own[j] = 0 if j < self.D else NONE
        for _round in range(self.iterations):
            for i in range(self.words):
                for j in range(self.Dw):
                    self.likely[i * self.Dw + j] = self.count[i] * self.phi[i * self.Dw + j] if i < self.n else 0
            weighted_rows(self.width, self.D, self.words, self.likely, self.Dw, self.beta, self.log_varphi)
            for j in range(self.D):
                normalise(self.width, self.log_varphi + j * self.width, sticks.logs, self.log_varphi + j * self.width,
                          self.varphi + j * self.width)
            row_products(self.width, self.Dw, self.n, self.varphi, self.beta, self.likely)
            memset(self.mass_of, 0, self.Dw * sizeof(double))
            for i in range(self.n):
                normalise(self.Dw, self.likely + i * self.Dw, self.own, self.log_phi + i * self.Dw,
                          self.phi + i * self.Dw)
                for j in range(self.D):
                    self.mass_of[j] += self.count[i] * self.phi[i * self.Dw + j]
            last, bound = bound, self.bound(sticks)
            if bound - last <= self.tolerance * fabs(last):
                break
        return bound

    cdef double settle_alike(self, const Sticks* sticks) noexcept nogil:
        """From phi = 1 / D all topics of a document stay equal, and the bound does not change: one round suffices."""
        cdef Py_ssize_t i, j
        memset(self.log_varphi, 0, self.width * sizeof(double))
        for i in range(self.n):
            add_multiple_of(self.width, self.count[i] / self.D, self.beta + i * self.width, self.log_varphi)
        normalise(self.width, self.log_varphi, self.padding, self.log_varphi, self.varphi)
        for j in range(1, self.D):
            memcpy(self.varphi + j * self.width, self.varphi, self.width * sizeof(double))
            memcpy(self.log_varphi + j * self.width, self.log_varphi, self.width * sizeof(double))
        for j in range(self.Dw):
            self.mass_of[j] = self.N / self.D if j < self.D else 0
        if self.asked:
            row_products(self.width, self.Dw, self.n, self.varphi, self.beta, self.likely)
        for i in range(self.n):
            for j in range(self.Dw):
                self.phi[i * self.Dw + j] = 1.0 / self.D if j < self.D else 0
                self.log_phi[i * self.Dw + j] = -log(<double> self.D) if j < self.D else NONE
        return self.bound(sticks) if self.asked else 0

    cdef double bound(self, const Sticks* sticks) noexcept nogil:
        """The bound of the document with the best sticks of its topics. Sets `own` from these sticks."""
        cdef Py_ssize_t i, j
        cdef double total = 0, beyond = 0, whole
        cdef double* a = self.v
        cdef double* b = self.v + self.Dw
        for j in range(self.D - 1, -1, -1):
            a[j], b[j] = 1 + self.mass_of[j], self.alpha + beyond
            beyond += self.mass_of[j]
        stick_logs(self.D, a, b, self.own)
        for j in range(self.D):
            total += expected_excess(self.width, self.varphi + j * self.width, sticks.logs, NULL,
                                     self.log_varphi + j * self.width)
        for j in range(self.D - 1):
            whole = digamma(a[j] + b[j])
            total += log(self.alpha) + log_gamma(a[j]) + log_gamma(b[j]) - log_gamma(a[j] + b[j])
            total += (1 - a[j]) * (digamma(a[j]) - whole) + (self.alpha - b[j]) * (digamma(b[j]) - whole)
        for i in range(self.n):
            total += self.count[i] * expected_excess(self.Dw, self.phi + i * self.Dw, self.own,
                                                     self.likely + i * self.Dw, self.log_phi + i * self.Dw)
        return total

    # ---- what users see

    cdef Py_ssize_t outputs(self) noexcept nogil:
        return self.K

    cdef void code(self, const Row* x, double* out) noexcept nogil:
        """The topic proportions by LDA with alpha_k = alpha E[weight k] and beta = E[beta]."""
        cdef Py_ssize_t i, k, p
        cdef double whole = 0
        if self.read_document(x, False) < 0:
            self.failed = True
            return
        for k in range(self.width):
            self.prior[k] = fmax(self.alpha * self.shown_sticks.weight[k], 1e-300) if k < self.K else 1
        if not self.n:
            memcpy(self.gammas, self.prior, self.width * sizeof(double))
        for i in range(self.n):
            self.parameters(self.at[i], False, self.beta + i * self.width)
            for k in range(self.width):
                self.beta[i * self.width + k] = self.beta[i * self.width + k] / self.whole[k] if k < self.K else 0
            self.row[i] = self.beta + i * self.width
        if self.n:
            settle_document(self.K, self.width, self.words, self.row, self.count, self.prior, self.ones, 100, 1e-5,
                            self.gammas, self.theta, self.norm, self.psi)
            self.current = 0
        for k in range(self.K):
            whole += self.gammas[k]
        for p in range(self.K):
            out[p] = self.gammas[self.shown_sticks.order[p]] / whole

    def order(self):
        """The topics by descending mass."""
        self.look()
        return np.array(<int[:self.K]> self.shown_sticks.order)

    def sticks(self):
        self.look()
        a, b = <double[:self.K]> self.shown_sticks.a, <double[:self.K]> self.shown_sticks.b
        return np.array([a, b])[:, :self.K - 1]

    def topic_weights(self):
        self.look()
        return np.array(<double[:self.K]> self.shown_sticks.weight)[self.order()]

    # ---- state

    def state(self):
        return {
            **TopicLearner.state(self),
            "used": np.array(<double[:self.K]> self.now.used),
            "used_now": np.array(<double[:self.K]> self.used_now),
            "order": np.array(<int[:self.K]> self.now.order),
        }

    def restore(self, state):
        cdef Py_ssize_t k
        cdef const double[::1] used = np.ascontiguousarray(state["used"], dtype=np.float64)
        cdef const double[::1] used_now = np.ascontiguousarray(state["used_now"], dtype=np.float64)
        cdef const int[::1] order = np.ascontiguousarray(state["order"], dtype=np.int32)
        if len(used) != self.K or len(used_now) != self.K or sorted(order) != list(range(self.K)):
            raise ModelError(f"the sticks are not those of {self.K} topics")
        both = np.concatenate([used, used_now])
        if not 0 <= both.min() <= both.max() <= LARGEST:
            raise ModelError(f"how often topics are used is outside of 0 to {LARGEST:g}")
        TopicLearner.restore(self, state)
        for k in range(self.K):
            self.now.used[k], self.used_now[k], self.now.order[k] = used[k], used_now[k], order[k]
        if self.closed:
            self.break_sticks(&self.now)


cdef void free_sticks(Sticks* sticks) noexcept nogil:
    free(sticks.order)
    free(sticks.used)
    free(sticks.logs)
    free(sticks.weight)
    free(sticks.a)
    free(sticks.b)


class HDP(TopicModel):
    """The online hierarchical Dirichlet process: it uses as many topics as the documents need, up to max_topics.

    The T topics of the corpus have weights sigma from a stick-breaking process. A document has K topics with weights pi
    from its own sticks. varphi assigns each topic of the document to topics of the corpus, and phi assigns each word to
    topics of the document: varphi_jk ~ exp(sum_w n_w phi_wj E[log beta_kw] + E[log sigma_k]), phi_wj ~ exp(sum_k
    varphi_jk E[log beta_kw] + E[log pi_j]). E[log beta] is a function of eta + lambda.

    After a batch of S documents, with rho = min(1, scale (tau + t)^-kappa), lambda_kw <- (1 - rho) lambda_kw + rho D /
    S sum n_w phi_wj varphi_jk. The sticks follow the same rule; then the topics are sorted by mass. The loss of a
    document is its negative variational bound per word. Users see the model as if the open batch ended now. A document
    costs its different words x T; with start="best" this times K and the number of iterations.

    Parameters
    ----------
    max_topics : T, the number of topics of the corpus.
    doc_topics : K, the number of topics of a document; at most T are used.
    alpha, gamma : the concentrations of documents and of the corpus, above 0; larger values give more topics.
    eta : the prior of words in topics, above 0.
    kappa, tau, scale : the schedule of rho; kappa from 0 to 1, tau at least 0, scale above 0.
    batch : S, the number of documents in a batch.
    total : D, the number of documents in the corpus; None for the number learned so far.
    start : "uniform", as in the authors' program: the topics of a document start equal, and one iteration suffices;
        or "best": start with the topics of largest mass, and iterate until the bound grows by at most the tolerance.
    iterations : the largest number of iterations for a document with start="best".
    tolerance : the relative growth of the bound at which start="best" stops, at least 0.
    n_features : the size of a fixed vocabulary; None for a growing one.
    initial : the mean of the first lambda, which is exponential; None for 100 D / (T n_features), or for 100 / T if D
        or n_features is not given.
    seed : of the first lambda.

    >>> from seriatim import HDP, data
    >>> X, _ = data.load("digits")
    >>> model = HDP(30, batch=64, total=1797, n_features=64).fit(X)
    >>> round(model.perplexity(X), 1)
    46.0

    Wang, Paisley and Blei, "Online variational inference for the hierarchical Dirichlet process", AISTATS 2011.
    """

    paper = "Wang et al. (2011)"
    fixed = (*TopicModel.fixed, "max_topics", "eta", "initial")
    max_topics = Number(150, least=2, most=10_000, integer=True, positional=True)
    doc_topics = Number(15, least=1, most=10_000, integer=True)
    alpha = Number(1.0, least=1e-6, most=1e6)
    gamma = Number(1.0, least=1e-6, most=1e6)
    eta = Number(0.01, least=1e-6, most=1e6)
    kappa = Number(1.0, least=0, most=1)
    tau = Number(64.0, least=0, below=1e15)
    scale = Number(1.0, above=0, most=1e6)
    batch = Number(256, least=1, below=1e9, integer=True)
    total = Number(None, least=1, below=1e15, optional=True)
    start = Choice("uniform", ("uniform", "best"))
    iterations = Number(100, least=1, below=1e9, integer=True)
    tolerance = Number(1e-4, least=0)
    initial = Number(None, least=1e-6, below=1e15, optional=True)

    def build(self):
        both = self.total is not None and self.n_features is not None
        usual = 100 / self.max_topics * (self.total / self.n_features if both else 1)
        return HDPLearner(
            self.max_topics, min(self.doc_topics, self.max_topics), self.alpha, self.gamma, self.eta, self.kappa,
            self.tau, self.scale, self.batch, self.total, self.iterations, self.tolerance, self.n_features,
            usual if self.initial is None else self.initial, self.start == "best", self.seed
        )

    @property
    def topic_weights_(self):
        """E[weight] of each topic in the corpus; they sum to 1."""
        with self._lock:
            return self._seen().topic_weights()

    @property
    def sticks_(self):
        """The parameters (a, b) of the sticks of the corpus, of shape (2, max_topics - 1)."""
        with self._lock:
            return self._seen().sticks()
