"""Transfer learning on the same features: the source and a new classifier vote."""

from libc.math cimport exp, fmax, fmin
from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.learner cimport LinearLearner
from seriatim.core.pa_step cimport ONE, pa_step
from seriatim.core.memory cimport resize
from seriatim.core.row cimport Row, dot, within

from seriatim.errors import ModelError
from seriatim.parameters import Number, powers
from seriatim.transfer.base import Transfer


cdef inline double Pi(double z) noexcept nogil:
    """Map a score to [0, 1]."""
    return fmax(0, fmin(1, (z + 1) / 2))


cdef class HomogeneousOTLLearner(LinearLearner):
    """The source v, which does not change, and w, which PA-I learns, vote with the weights alpha_1 and alpha_2.

    The learner stores log(alpha_1 / alpha_2), which cannot underflow.
    """

    cdef double C, eta
    cdef double* v                   # a weight for each record; the first one is not used
    cdef Py_ssize_t v_room
    cdef double intercept            # the intercept of v
    cdef public double odds          # log(alpha_1 / alpha_2)
    cdef public double turned        # `odds` if the only label so far is the other class

    NUMBERS = (*LinearLearner.NUMBERS, "odds", "turned")

    def __init__(self, double C, double eta):
        LinearLearner.__init__(self)
        self.C, self.eta = C, eta
        self.weighted = True
        self.grow(1)

    def __dealloc__(self):
        free(self.v)

    def begin_with(self, weights, columns, double intercept):
        """Set the source: the weights of some columns, and the intercept."""
        self.intercept = intercept
        self.make_room(max(columns, default=-1) + 2)
        memset(self.v, 0, self.v_room * sizeof(double))
        for column, weight in zip(columns, weights):
            self.v[<Py_ssize_t> column + 1] = weight

    cdef int make_room(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t room = max(rows, 2 * self.v_room)
        if rows > self.v_room:
            if resize(<void**> &self.v, room, sizeof(double)) < 0:
                raise MemoryError(f"no memory for {room} features")
            memset(self.v + self.v_room, 0, (room - self.v_room) * sizeof(double))
            self.v_room = room
        return 0

    cdef int grow(self, Py_ssize_t rows) except -1:
        self.table.grow(rows)
        return self.make_room(rows)

    cdef double source(self, const Row* x) noexcept nogil:
        """v.x with the intercept of v, even if w has none."""
        return dot(x, self.v, 1) + self.intercept

    cdef double vote(self, double p1, double p2) noexcept nogil:
        """alpha_1 p1 + alpha_2 p2 - 1/2, where alpha_1 + alpha_2 = 1."""
        return p2 - 0.5 + (p1 - p2) / (1 + exp(-self.odds))

    cdef double score(self, const Row* x) noexcept nogil:
        cdef Row known = within(x, self.table.rows)
        return self.vote(Pi(self.source(&known)), Pi(dot(&known, self.table.data, 1)))

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef double f = dot(x, self.table.data, 1), p1 = Pi(self.source(x)), p2 = Pi(f)
        cdef double vote = self.vote(p1, p2), step = self.weight * self.eta
        self.odds += step * ((p2 - Pi(y)) ** 2 - (p1 - Pi(y)) ** 2)    # s(u) = exp(-eta (Pi(u.x) - Pi(y))^2)
        self.turned += step * ((p2 - Pi(y)) ** 2 - (p1 - Pi(-y)) ** 2)
        if y * f < 1 and x.norm2 > 0 and self.weight > 0:
            self.move(x, y * pa_step(ONE, self.weight * self.C, 1 - y * f, x.norm2), 0)
            self.updates += 1
        return vote

    def column_arrays(self):
        raise ModelError("the source has weights of certain columns, which cannot be moved")

    def reclass(self, source, factor):
        """The only label so far is in fact the other class: w changes sign, and v was right where it seemed wrong."""
        LinearLearner.reclass(self, source, factor)
        self.odds, self.turned = self.turned, self.odds


class HomogeneousOTL(Transfer):
    """Online transfer learning on the same features: the source and a new classifier vote.

    v is the source. w starts at 0, alpha_1 = alpha_2 = 1/2, and Pi(z) = min(1, max(0, (z + 1) / 2)). The score is
    alpha_1 Pi(v.x) + alpha_2 Pi(w.x) - 1/2. Then alpha_1 is multiplied by exp(-eta (Pi(v.x) - Pi(y))^2), alpha_2 by
    the same of w, and both are divided by their sum. w takes the step of PA-I, w += min(C, [1 - y w.x]+ / |x|^2) y x. A
    source that does not help loses its vote, and does no lasting harm. v does not change.

    `source_weight_` and `target_weight_` are alpha_1 and alpha_2, to be read after any call. `coef_` and `intercept_`
    are those of w, although the vote is not linear. There are two labels; the positive class is the one for which the
    source has positive scores. An example of sample weight g has g C, and its loss counts g times in the vote.

    Parameters
    ----------
    source : a fitted linear model of Seriatim or scikit-learn; its weights, as a vector by column, or as a dict by name
        or column number; or (weights, intercept). Other features have weight 0. A source with names needs examples with
        names, and a source without names needs columns without names. A source with normalised features needs a model
        with the same normalisation. On the command line it is a model file.
    C : aggressiveness of w, above 0.
    eta : learning rate of the vote, above 0.

    >>> from seriatim import AROW, HomogeneousOTL, PA, data, evaluate
    >>> X, y = data.load("digits")
    >>> odd = y % 2 == 1
    >>> model = HomogeneousOTL(AROW().fit(X[:900], odd[:900]))
    >>> [evaluate.progressive(one, X[900:1100], odd[900:1100]).mistakes for one in (model, PA(C=5))]
    [21, 43]
    >>> round(model.source_weight_, 2)
    1.0

    Zhao and Hoi, "OTL: a framework of online transfer learning", ICML 2010.
    """

    family = "transfer"
    paper = "Zhao and Hoi (2010)"
    loss = "hinge"
    C = Number(5.0, above=0, search=powers(-4, 4))
    eta = Number(0.5, above=0)
    score_is_linear = False

    def build(self):
        return self._begin_with(HomogeneousOTLLearner(self.C, self.eta), self._vocabulary)

    @property
    def source_weight_(self):
        """alpha_1, the weight of the source in the vote."""
        return share(self._fitted().odds)

    @property
    def target_weight_(self):
        """alpha_2, the weight of the new classifier in the vote."""
        return share(-self._fitted().odds)


def share(double odds):
    return 1 / (1 + exp(-odds))
