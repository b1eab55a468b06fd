"""The learner of ratings that all recommenders extend, and the one loop over ratings.

A learner receives the number of a user, the number of an item, and the rating.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals

import numpy as np

from libc.stdlib cimport free
from libc.string cimport memset

from seriatim.core.memory cimport resize
from seriatim.recommend.lists cimport Lists
from seriatim.recommend.numbering cimport Numbering

from seriatim.errors import DataError, LimitError, ModelError

cdef Py_ssize_t BETWEEN_SIGNALS = 1 << 13
MAX_BYTES = 1 << 32
LARGEST = 1e50    # the largest number of a model


@cython.boundscheck(False)
@cython.wraparound(False)
cdef class RatingLearner:
    """Predict, reveal, learn. A subclass writes `predict`, `learn`, `grow`, `factors`, and its part of the state.

    An unknown user or item has the number -1.
    """

    NUMBERS = ("t",)

    def __init__(self, double low, double high, bint valued=False):
        self.low, self.high = low, high
        self.user_labels, self.item_labels = Numbering("user"), Numbering("item")
        self.rated = Lists(valued)

    # ---- what a subclass writes

    cdef int grow(self, Py_ssize_t users, Py_ssize_t items) except -1:
        """Make room for these numbers of users and items before their ratings arrive."""
        return 0

    cdef double predict(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        return 0

    cdef void learn(self, Py_ssize_t a, Py_ssize_t b, double rating) noexcept nogil:
        """Learn one rating after t others. The list of the user is ready for the item."""

    def factors(self, bint side):
        """The rows of the users, or of the items."""
        raise NotImplementedError

    def arrays(self):
        """The subclass's part of the state."""
        return {}

    def restore_arrays(self, state):
        """The reverse of `arrays`. There is room for all users and items."""

    # ---- the loop

    @property
    def updates(self):
        return self.t

    cdef void round(self, Py_ssize_t a, Py_ssize_t b, double rating, double* out) noexcept nogil:
        """One round. `out`, unless NULL, receives the prediction before the rating was revealed."""
        if self.rated.ready(a) < 0:
            self.failed = True
            return
        if out != NULL:
            out[0] = self.predict(a if a < self.users else -1, b if b < self.items else -1)
        self.users, self.items = max(self.users, a + 1), max(self.items, b + 1)
        self.learn(a, b, rating)
        self.t += 1

    def learn_ratings(self, users, items, const double[::1] ratings, double[::1] out=None):
        """Learn ratings within the range. `out` receives the prediction before each.

        If a label is bad or there is no room, none is learned. After an interrupt the first `learned` ratings are
        learned, and only their labels are known.
        """
        cdef Py_ssize_t i, stop, n = ratings.shape[0]
        cdef const int[::1] user
        cdef const int[::1] item
        self.learned = 0
        try:
            user, item = self.user_labels.learn(users), self.item_labels.learn(items)
            if user.shape[0] != n or item.shape[0] != n or (out is not None and out.shape[0] != n):
                raise DataError(f"{user.shape[0]} users, {item.shape[0]} items and {n} ratings: expected equal numbers")
            self.rated.expect_room(user, item)
            self.rated.grow(len(self.user_labels))
            self.grow(len(self.user_labels), len(self.item_labels))
            while self.learned < n:
                PyErr_CheckSignals()
                stop = min(n, self.learned + BETWEEN_SIGNALS)
                with nogil:
                    for i in range(self.learned, stop):
                        self.round(user[i], item[i], ratings[i], NULL if out is None else &out[i])
                        if self.failed:
                            break
                        self.learned += 1
                self.check_memory()
        finally:
            self.user_labels.forget(self.users)
            self.item_labels.forget(self.items)

    def learn_one(self, user, item, double rating):
        cdef Py_ssize_t a, b
        if not self.low <= rating <= self.high:
            raise DataError(f"the rating {rating:g} is out of the range (low, high), {self.low:g} to {self.high:g}")
        try:
            a, b = self.user_labels.one(user, True), self.item_labels.one(item, True)
            if a >= self.users or b >= self.items or self.rated.total >= self.rated.most:
                self.make_room(a, b)
            self.round(a, b, rating, NULL)
            if self.failed:
                self.check_memory()
        except BaseException:
            self.user_labels.forget(self.users)
            self.item_labels.forget(self.items)
            raise

    def make_room(self, int a, int b):
        self.rated.expect_room(np.array([a], np.int32), np.array([b], np.int32))
        self.rated.grow(len(self.user_labels))
        self.grow(len(self.user_labels), len(self.item_labels))

    def check_memory(self):
        if self.failed:
            self.failed = False
            raise MemoryError("no memory for a larger model; the last ratings were not learned")

    # ---- predictions

    def predict_one(self, user, item):
        return self.predict(self.user_labels.one(user, False), self.item_labels.one(item, False))

    def predict_pairs(self, users, items):
        """The prediction for each pair."""
        cdef const int[::1] user = self.user_labels.find(users)
        cdef const int[::1] item = self.item_labels.find(items)
        cdef Py_ssize_t i, n = user.shape[0]
        if item.shape[0] != n:
            raise DataError(f"{n} users and {item.shape[0]} items: expected equal numbers")
        result = np.empty(n)
        cdef double[::1] out = result
        with nogil:
            for i in range(n):
                out[i] = self.predict(user[i], item[i])
        return result

    def predict_items(self, user):
        """The prediction for each item and a user, and the numbers of the items that this user has rated."""
        cdef Py_ssize_t b, a = self.user_labels.one(user, False)
        result = np.empty(self.items)
        cdef double[::1] out = result
        with nogil:
            for b in range(self.items):
                out[b] = self.predict(a, b)
        return result, self.rated.items(a)

    def item_place(self, item):
        return self.item_labels.one(item, False)

    # ---- state

    def state(self):
        """The state as named numbers and arrays."""
        return {**{name: getattr(self, name) for name in self.NUMBERS}, **self.rated.state(self.users), **self.arrays()}

    def restore(self, state, users, items):
        """The reverse of `state`, on a new learner."""
        for name in self.NUMBERS:
            setattr(self, name, state[name])
        self.user_labels, self.item_labels = Numbering("user", users), Numbering("item", items)
        self.users, self.items = len(users), len(items)
        # Every user and every item has at least one rating.
        if max(self.users, self.items) > self.t or (self.t > 0) != (min(self.users, self.items) > 0):
            raise ModelError(f"{self.users} users and {self.items} items in {self.t} ratings")
        self.rated.restore(state, self.users, self.items, 1, 3)    # exp(r), r from 0 to 1
        if self.rated.total > self.t:
            raise ModelError(f"{self.rated.total} rated items in {self.t} ratings")
        self.grow(self.users, self.items)
        self.restore_arrays(state)


cdef class Grid:
    """A table of numbers with a row for each user, or each item, that grows."""

    def __init__(self, Py_ssize_t width):
        self.width = width

    def __dealloc__(self):
        free(self.data)

    cdef Py_ssize_t grow(self, Py_ssize_t rows) except -1:
        """Make room for at least this many rows; new ones are 0. Returns the index of the first new row."""
        cdef Py_ssize_t before = self.rows, room = max(rows, 2 * before, 64)
        if rows <= before:
            return before
        if 8 * rows * self.width > MAX_BYTES:
            raise LimitError(f"{rows:,} users or items of {self.width} numbers; the limit is {MAX_BYTES >> 30} GiB")
        if resize(<void**> &self.data, room * max(self.width, 1), sizeof(double)) < 0:
            raise MemoryError(f"no memory for {rows:,} users or items of {self.width} numbers")
        memset(self.data + before * self.width, 0, (room - before) * self.width * sizeof(double))
        self.rows = room
        return before

    def array(self, Py_ssize_t rows, Py_ssize_t begin, Py_ssize_t end):
        """Columns begin to end of the first rows."""
        cdef Py_ssize_t a, j
        cdef double[:, ::1] out = np.empty((rows, end - begin))
        for a in range(rows):
            for j in range(end - begin):
                out[a, j] = self.data[a * self.width + begin + j]
        return np.asarray(out)

    def put(self, name, array, Py_ssize_t rows, Py_ssize_t begin, Py_ssize_t end):
        """The reverse of `array`."""
        cdef Py_ssize_t a, j
        if array.shape != (rows, end - begin):
            raise ModelError(f"{name} has the shape {array.shape}; expected {(rows, end - begin)}")
        if np.max(np.abs(array), initial=0) > LARGEST:
            raise ModelError(f"{name} has a number beyond +-{LARGEST:g}")
        cdef const double[:, ::1] given = np.ascontiguousarray(array, np.float64)
        for a in range(rows):
            for j in range(end - begin):
                self.data[a * self.width + begin + j] = given[a, j]
