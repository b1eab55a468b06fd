"""The perceptron, and its averaged and voted forms."""

from libc.stdlib cimport free, realloc

import numpy as np

from seriatim.core.learner cimport MarginLearner
from seriatim.core.row cimport Row
from seriatim.linear.stored_rows cimport StoredRows

from seriatim.core.recolumn import SparseRows
from seriatim.errors import ModelError
from seriatim.estimator import Absent, Classifier
from seriatim.parameters import Choice, Flag, Number


UPDATES = ("max", "uniform", "proportional")

cdef enum Update:
    MAX
    UNIFORM
    PROPORTIONAL


cdef class PerceptronLearner(MarginLearner):
    """w += eta y x on a mistake."""

    cdef double eta
    cdef int update

    def __init__(self, double eta, bint average, str update="max"):
        MarginLearner.__init__(self, average)
        self.eta = eta
        self.update = UPDATES.index(update)
        self.weighted = True

    cdef double step(self, double margin, double norm2) noexcept nogil:
        return self.weight * self.eta if margin <= 0 else 0

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        """Uniform and proportional: all classes that score at least as high as the true one share its step."""
        cdef Py_ssize_t k
        cdef double excess = 0, wrong = 0, eta = self.weight * self.eta
        if self.update == MAX:
            MarginLearner.learn_class(self, x, y, out)
            return
        self.raw_scores(x, out)
        self.count()
        for k in range(self.classes):
            if k != y and self.seen[k] and out[k] >= out[y]:
                wrong += 1
                excess += out[k] - out[y]
        if wrong == 0 or x.norm2 == 0 or eta == 0:
            return
        self.move(x, eta, y)
        for k in range(self.classes):
            if k != y and self.seen[k] and out[k] >= out[y]:
                if self.update == PROPORTIONAL and excess > 0:
                    self.move(x, -eta * ((out[k] - out[y]) / excess), k)
                else:
                    self.move(x, -eta / wrong, k)
        self.updates += 1


class Perceptron(Classifier):
    """The perceptron: on a mistake, w += eta y x.

    With several classes, on a mistake w_y += eta x. -eta x goes to the strongest wrong class ("max"), or all classes
    that score at least as high as y share it: equally ("uniform"), or in proportion to how much higher they score
    ("proportional"). If a vector of norm 1 separates the data with margin gamma, there are at most (max |x| / gamma)^2
    mistakes. An example of weight g takes a step of g eta.

    Parameters
    ----------
    eta : step size, above 0. As w starts at 0, eta scales the weights and changes no prediction.
    update : max, uniform or proportional. Binary models are the same with each.
    average : predict with the average of w_1..w_T, as `AveragedPerceptron` does.

    >>> from seriatim import Perceptron, data, evaluate
    >>> run = evaluate.progressive(Perceptron(), *data.load("digits"))
    >>> run.mistakes
    308

    Rosenblatt, "The perceptron: a probabilistic model for information storage and organization in the brain",
    Psychological Review 65 (1958); Crammer and Singer, JMLR 3 (2003), for several classes.
    """

    family = "linear"
    paper = "Rosenblatt (1958)"
    loss = "perceptron"
    eta = Number(1.0, above=0)
    update = Choice("max", UPDATES)
    average = Flag(False)

    def build(self):
        return PerceptronLearner(self.eta, self.average, self.update)


class AveragedPerceptron(Classifier):
    """The perceptron that predicts with the average of its past weight vectors.

    It learns as the perceptron does. It predicts with (w_1 + ... + w_T) / T, where w_t are the weights before example
    t, so w_1 = 0. The sum is computed lazily: only mistakes cost time, in proportion to the non-zeros of the example.
    An example of weight g takes a step of g eta.

    Parameters
    ----------
    eta : step size, above 0; it changes no prediction.

    >>> from seriatim import AveragedPerceptron, data, evaluate
    >>> run = evaluate.progressive(AveragedPerceptron(), *data.load("digits"))
    >>> run.mistakes
    245

    Freund and Schapire, "Large margin classification using the perceptron algorithm", Machine Learning 37 (1999);
    Daume, "A course in machine learning", Algorithm 7, for the lazy sum.
    """

    family = "linear"
    paper = "Freund and Schapire (1999)"
    loss = "perceptron"
    eta = Number(1.0, above=0)

    def build(self):
        return PerceptronLearner(self.eta, True)


cdef struct Vector:
    double eta               # w_k = w_{k-1} + eta (row k, in column up) - eta (row k, in column down)
    Py_ssize_t up, down      # with one column: down = -1, and eta has the sign of the label
    Py_ssize_t votes         # examples that this vector survived, including the one that made it


cdef class VotedPerceptronLearner(MarginLearner):
    """A perceptron that stores all its past weight vectors, as the rows of its mistakes, and the votes of each vector.

    Each w_k is the sum of the first k rows, so one pass of prefix sums gives the scores of all vectors for one x.
    """

    cdef double eta
    cdef StoredRows rows
    cdef Vector* vectors
    cdef Py_ssize_t count, room_for
    cdef double* running     # the score of w_k as k grows

    def __init__(self, double eta):
        MarginLearner.__init__(self)
        self.eta = eta
        self.apart = True
        self.rows = StoredRows()
        self.reclass(np.zeros(1, np.intp), np.ones(1))

    def __dealloc__(self):
        free(self.vectors)
        free(self.running)

    cdef double learn(self, const Row* x, double y) noexcept nogil:
        cdef Py_ssize_t before = self.updates
        cdef double f = MarginLearner.learn(self, x, y)
        self.outcome(x, before, self.eta * y, 0, -1)
        return f

    cdef void learn_class(self, const Row* x, Py_ssize_t y, double* out) noexcept nogil:
        cdef Py_ssize_t before = self.updates
        MarginLearner.learn_class(self, x, y, out)
        self.outcome(x, before, self.eta, y, self.rival(y, out))

    cdef double step(self, double margin, double norm2) noexcept nogil:
        return self.eta if margin <= 0 else 0

    cdef void outcome(self, const Row* x, Py_ssize_t before, double eta, Py_ssize_t up, Py_ssize_t down) noexcept nogil:
        """Add a vector after a mistake, with one vote; else add a vote to the last one. The zero vector has no vote."""
        cdef void* larger
        if self.updates == before:
            if self.count:
                self.vectors[self.count - 1].votes += 1
            return
        if self.count == self.room_for:
            larger = realloc(self.vectors, max(2 * self.count, 64) * sizeof(Vector))
            if larger == NULL:
                self.failed = True
                return
            self.vectors = <Vector*> larger
            self.room_for = max(2 * self.count, 64)
        if self.rows.append(x) < 0:
            self.failed = True
            return
        self.vectors[self.count] = Vector(eta, up, down, 1)
        self.count += 1

    cdef double score(self, const Row* x) noexcept nogil:
        """The sum of c_k sgn(w_k.x)."""
        cdef double f = 0, total = 0
        cdef Py_ssize_t k
        self.rows.spread(x)
        for k in range(self.count):
            f += self.vectors[k].eta * self.rows.dot(k)
            total += self.vectors[k].votes if f >= 0 else -self.vectors[k].votes
        self.rows.clear(x)
        return total

    cdef void scores(self, const Row* x, double* out) noexcept nogil:
        """The score of a class: the votes of the vectors that score it highest."""
        cdef Py_ssize_t k, c, best
        cdef double product
        for c in range(self.classes):
            out[c] = self.running[c] = 0
        self.rows.spread(x)
        for k in range(self.count):
            product = self.vectors[k].eta * self.rows.dot(k)
            self.running[self.vectors[k].up] += product
            self.running[self.vectors[k].down] -= product
            best = -1
            for c in range(self.classes):
                if self.seen[c] and (best < 0 or self.running[c] > self.running[best]):
                    best = c
            out[best] += self.vectors[k].votes
        self.rows.clear(x)

    weights = None           # predictions are not linear in x

    def reclass(self, source, factor):
        cdef Py_ssize_t k
        running = <double*> realloc(self.running, len(source) * sizeof(double))
        if running == NULL:
            raise MemoryError
        self.running = running
        where = {old: new for new, old in enumerate(source.tolist())}
        MarginLearner.reclass(self, source, factor)
        for k in range(self.count):
            if len(source) == 1:
                self.vectors[k].eta *= factor[0]
            elif self.vectors[k].down < 0:    # a binary model shares its weights between two classes
                self.vectors[k].eta *= max(factor)
                self.vectors[k].up, self.vectors[k].down = factor.argmax(), factor.argmin()
            else:
                self.vectors[k].up = where[self.vectors[k].up]
                self.vectors[k].down = where[self.vectors[k].down]

    def column_arrays(self):
        return {**MarginLearner.column_arrays(self), "row_": SparseRows()}

    def state(self):
        columns = [(v.eta, v.up, v.down, v.votes) for v in self.vectors[:self.count]]
        return {
            **MarginLearner.state(self),
            **self.rows.state(),
            "vectors": np.array(columns, dtype=np.float64).reshape(self.count, 4),
        }

    def restore(self, state):
        cdef Py_ssize_t k
        cdef const double[:, :] vectors = np.asarray(state["vectors"], dtype=np.float64)
        MarginLearner.restore(self, state)
        if np.max(state["row_index"], initial=-1) >= self.table.rows - 1:
            raise ModelError("a stored row has a feature that the model does not know")
        self.rows.restore(state)
        self.count = vectors.shape[0]
        downs = range(-1, 0) if self.classes == 1 else range(self.classes)
        if vectors.shape[1] != 4 or self.count != self.rows.n or self.count > self.updates:
            raise ModelError("the numbers of vectors, stored rows and updates do not agree")
        if not ((state["row_norm2"] >= 0).all() and (state["row_constant"] == self.constant).all()):
            raise ModelError("a stored row has a norm or a constant that rows of this model cannot have")
        if np.sum(state["vectors"][:, 3]) > self.t:
            raise ModelError(f"the vectors have more votes than there were rounds, {self.t}")
        larger = <Vector*> realloc(self.vectors, max(self.count, 1) * sizeof(Vector))
        if larger == NULL:
            raise MemoryError(f"no memory for {self.count} vectors")
        self.vectors, self.room_for = larger, max(self.count, 1)
        for k in range(self.count):
            up, down, votes = int(vectors[k, 1]), int(vectors[k, 2]), int(vectors[k, 3])
            whole = (up, down, votes) == (vectors[k, 1], vectors[k, 2], vectors[k, 3])
            if not (whole and 0 <= up < self.classes and down in downs and up != down and votes >= 1):
                raise ModelError(f"vector {k} is not one that this model could have learned")
            self.vectors[k] = Vector(vectors[k, 0], up, down, votes)


class VotedPerceptron(Classifier):
    """The perceptron whose past weight vectors all vote, each as often as it survived.

    It learns as the perceptron does. Its score is the sum over k of c_k sgn(w_k.x). c_k starts at 1 and grows by 1 with
    each example that w_k gets right. The first vector, zero, has no vote. With several classes each vector votes for
    the class that it scores highest. Sample weights are not defined.

    The model stores the examples of its mistakes: memory and the cost of a prediction grow with their number.

    Parameters
    ----------
    eta : step size, above 0; it changes no prediction.

    >>> from seriatim import VotedPerceptron, data, evaluate
    >>> run = evaluate.progressive(VotedPerceptron(), *data.load("digits"))
    >>> run.mistakes
    273

    Freund and Schapire, "Large margin classification using the perceptron algorithm", Machine Learning 37 (1999).
    """

    family = "linear"
    paper = "Freund and Schapire (1999)"
    loss = "perceptron"
    sparsify = densify = Absent()
    eta = Number(1.0, above=0)

    def build(self):
        return VotedPerceptronLearner(self.eta)
