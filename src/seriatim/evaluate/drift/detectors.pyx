"""Drift detectors: each takes numbers one by one and reports when their level or distribution has changed."""

from libc.math cimport INFINITY, fabs, fmax, fmin, log, sqrt
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memmove, memset

import numpy as np

from seriatim.core.rows import LIMIT, refuse
from seriatim.errors import DataError, ModelError, ParameterError
from seriatim.evaluate.drift.change import Change
from seriatim.parameters import Choice, Number

cdef double LARGEST = LIMIT


cdef inline void expect(bint condition) except *:
    """Refuse a state that no detector can have."""
    if not condition:
        raise ModelError("the numbers of the detector are not those that a detector has")


cdef class DriftDetector:
    """The base of the detectors. `t` is the number of values taken, those before a change included."""

    cdef readonly Py_ssize_t t
    cdef dict given
    cdef double before, after    # the levels on both sides of the last change
    cdef Py_ssize_t age          # and the number of values after it

    parameters = {}

    def __init__(self, **given):
        for name, value in given.items():
            self.parameters[name].check(f"{type(self).__name__}: {name}", value)
        self.given = given

    cdef bint step(self, double x) noexcept nogil:
        """Take one value. True if there was a change; the detector then continues after it."""
        return False

    cdef bint takes(self, double x) noexcept nogil:
        """Whether the detector accepts this value."""
        return -LARGEST <= x <= LARGEST

    def _refuse(self, where, value):
        refuse(where, value)

    def _series(self, values):
        """The values as an array, all checked before the first is taken."""
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "fiub":
            raise DataError(
                f"values of shape {array.shape} and type {array.dtype}; a detector takes numbers in one dimension"
            )
        array = np.ascontiguousarray(array, dtype=np.float64)
        cdef const double[::1] series = array
        cdef Py_ssize_t i
        for i in range(series.shape[0]):
            if not self.takes(series[i]):
                self._refuse(f"value {i + 1}", series[i])
        return array

    def update(self, value):
        """Take one value; True if it reveals a change."""
        cdef double x
        try:
            x = value
        except TypeError:
            raise DataError(f"{value!r} is not a number") from None
        if not self.takes(x):
            self._refuse(f"value {self.t + 1}", x)
        self.t += 1
        return self.step(x)

    def first(self, values):
        """Take values up to the first change and return it, or None if there was none."""
        return self._first(self._series(values), 0)

    def scan(self, values):
        """Take all values; return the changes found."""
        series, told, changes = self._series(values), self.t, []
        while (change := self._first(series, self.t - told)) is not None:
            changes.append(change)
        return changes

    def _first(self, const double[::1] series, Py_ssize_t begin):
        cdef Py_ssize_t i, n = series.shape[0]
        cdef bint found = False
        with nogil:
            for i in range(begin, n):
                self.t += 1
                found = self.step(series[i])
                if found:
                    break
        if not found:
            return None
        return Change(self.t, self.before, self.after, type(self).__name__, self.t - self.age + 1)

    def fresh(self):
        """A new detector with the same parameters."""
        return type(self)(**self.given)

    def get_params(self, deep=True):
        return dict(self.given)

    def state(self):
        """The state after the values so far, as numbers and arrays."""
        return {"t": self.t}

    def restore(self, state):
        """Resume from a state. Names and types are checked already; impossible numbers are a ModelError."""
        self.t = state["t"]

    def __reduce__(self):
        return type(self), (*self.given.values(),), self.state()

    def __setstate__(self, state):
        self.restore(state)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"


cdef enum:
    LEVELS = 60       # for 2^60 values
    MOST_ROWS = 50    # in a file, which leaves rows for further values


cdef struct Bucket:
    double mean, spread, least, most    # spread: the sum of squared deviations from the mean


cdef class ADWIN(DriftDetector):
    """ADWIN, adaptive windowing: the longest window of the newest values in which no two parts differ in their means.

    After each value the detector tries every cut of the window into n0 older and n1 newer values. As long as a cut has
    |mean0 - mean1| > e, it drops the oldest values, where

        e = sqrt(2/m s^2 ln(2/d)) + 2/(3m) R ln(2/d),  1/m = 1/n0 + 1/n1,  d = delta / ln n,

    s^2 is the variance and R the range of the values in the window of n. The window is an exponential histogram: rows
    of at most M buckets of 1, 2, 4, ... values; cuts are between buckets. Memory and time per value are O(M log n).

    delta : bound of the probability of a false alarm, at each value; above 0 and below 1.
    M : buckets in a row, 1 to 100. More buckets find a change earlier and cost time.

    `width` and `mean` describe the present window.

    False alarms: at each value of a stationary stream the probability is at most delta (Theorem 3.1, for its ADWIN0:
    independent values in [0, 1], Hoeffding's bound, d = delta / n). The e above, which the paper gives for practice,
    assumes a normal distribution. Measured with the default delta, for which the bound admits 2000 in 10^6: 9 in 42
    streams of 10^6 (mistakes at rates from 0.05 to 0.5, Gaussian and exponential values), by two changes in all.

    Delay: a change of the mean by h is found with probability 1 - delta when h > 2e (Theorem 3.1), and 1/M of that
    later, because cuts are between buckets. Measured on 400 streams, examples until detection:

        rise of mistakes    quiet examples before    median    99 of 100 streams
        0.1 to 0.3          10,000                   91        190
        0.1 to 0.3          1,000                    104       230
        0.05 to 0.5         10,000                   24        44
        0.05 to 0.5         1,000                    24        49

    Choices: every value and every cut are checked (MOA and River check every 32 values and keep 5 on each side). R is 1
    in the paper, whose values are in [0, 1]. Here R is the observed range, which is the same for mistakes, so losses
    and features need no scaling. d is that of the authors' program. The window may take several cuts to forget
    everything before a change. `scan` reports each cut; `drift.changes` reports a change once.

    >>> detector = ADWIN()
    >>> print(detector.first([0, 0, 0, 0, 1] * 200 + [0, 1, 1] * 50))
    at 1036: from 0.2 to 0.6667 since 1001 (ADWIN)
    >>> detector.width
    780

    A. Bifet and R. Gavalda (2007), Learning from Time-Changing Data with Adaptive Windowing, SDM.
    """

    parameters = {"delta": Number(0.002, above=0, below=1), "M": Number(5, least=1, most=100, integer=True)}

    cdef Bucket* room             # M + 1 buckets for each row, the oldest first
    cdef int count[LEVELS]
    cdef int rows, M
    cdef long long n
    cdef double delta, origin, centre, spread, least, most

    def __init__(self, delta=0.002, M=5):
        super().__init__(delta=delta, M=M)
        self.delta, self.M, self.rows = delta, M, 1
        free(self.room)
        self.room = <Bucket*> calloc(LEVELS * (self.M + 1), sizeof(Bucket))
        if self.room == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.room)

    def state(self):
        """The buckets, newest row first, the number of buckets in each row, and the totals."""
        cdef Bucket bucket
        cdef int row, i
        buckets = []
        for row in range(self.rows):
            for i in range(self.count[row]):
                bucket = self.row(row)[i]
                buckets.append((bucket.mean, bucket.spread, bucket.least, bucket.most))
        return {
            **super().state(), "origin": self.origin, "centre": self.centre, "spread": self.spread,
            "least": self.least if self.n else 0.0, "most": self.most if self.n else 0.0,
            "buckets": np.array(buckets, dtype=np.float64).reshape(-1, 4),
            "count": np.array(<int[:self.rows]> self.count, dtype=np.int64),
        }

    def restore(self, state):
        cdef const double[:, ::1] buckets = np.ascontiguousarray(state["buckets"])
        cdef const long long[::1] count = np.ascontiguousarray(state["count"])
        cdef Py_ssize_t row, i, k = 0
        cdef long long n = 0
        expect(1 <= count.shape[0] <= MOST_ROWS and buckets.shape[1] == 4)
        for row in range(count.shape[0]):
            expect(0 <= count[row] <= self.M)
            k += count[row]
            n += count[row] << row
        expect(k == buckets.shape[0] and n <= state["t"])
        super().restore(state)
        memset(self.count, 0, sizeof(self.count))
        k = 0
        for row in range(count.shape[0]):
            self.count[row] = <int> count[row]
            for i in range(count[row]):
                self.row(<int> row)[i] = Bucket(buckets[k, 0], buckets[k, 1], buckets[k, 2], buckets[k, 3])
                k += 1
        self.rows, self.n = <int> count.shape[0], n
        self.origin, self.centre, self.spread = state["origin"], state["centre"], state["spread"]
        self.least, self.most = state["least"], state["most"]

    @property
    def width(self):
        """The number of values in the window."""
        return self.n

    @property
    def mean(self):
        """The mean of the window."""
        return self.origin + self.centre if self.n else 0.0

    cdef bint step(self, double x) noexcept nogil:
        if self.n == 0:
            self.origin = x    # subtracting it preserves precision for levels far from 0
        self.add(x - self.origin)
        if not self.differs(False):
            return False
        self.differs(True)
        while self.differs(False):
            self.drop()
        return True

    cdef void add(self, double x) noexcept nogil:
        """Add a value. Of a row with too many buckets, two become one of the next row."""
        cdef int row = 0
        cdef double off = x - self.centre
        cdef Bucket bucket = Bucket(x, 0, x, x)
        self.n += 1
        self.centre += off / self.n
        self.spread += off * (x - self.centre)
        self.least = x if self.n == 1 else fmin(self.least, x)
        self.most = x if self.n == 1 else fmax(self.most, x)
        self.put(0, bucket)
        while self.count[row] > self.M:
            bucket = merged(self.row(row), self.row(row) + 1, <double> (<long long> 1 << row))
            self.take(row, 2)
            row += 1
            self.put(row, bucket)

    cdef inline Bucket* row(self, int row) noexcept nogil:
        return self.room + row * (self.M + 1)

    cdef void put(self, int row, Bucket bucket) noexcept nogil:
        self.row(row)[self.count[row]] = bucket
        self.count[row] += 1
        self.rows = max(self.rows, row + 1)

    cdef void take(self, int row, int n) noexcept nogil:
        """Remove the oldest n of a row."""
        self.count[row] -= n
        memmove(self.row(row), self.row(row) + n, self.count[row] * sizeof(Bucket))

    cdef bint differs(self, bint all) noexcept nogil:
        """Whether the parts of some cut differ too much. With `all`, store the cut where they differ most.

        Let b be the sum of the older values less n0 times the mean of the window. Then mean0 - mean1 = b / m, and
        |mean0 - mean1| > sqrt(v / m) + w / m where |b| > w and (|b| - w)^2 > v m. Below, m and 1 / v are n times that.
        """
        cdef int row, i
        cdef double size, n0 = 0, n = self.n, b = 0, m, v, w, most = 0
        cdef const Bucket* bucket
        if self.n < 2:
            return False
        w = log(2 * log(n) / self.delta)
        v = 2 * self.spread / n / n * w
        w *= 2.0 / 3 * (self.most - self.least)
        for row in range(self.rows - 1, -1, -1):
            size, bucket = <double> (<long long> 1 << row), self.row(row)
            for i in range(self.count[row]):
                n0 += size
                b += size * (bucket[i].mean - self.centre)
                m = n0 * (n - n0)
                if m == 0:
                    return False
                if all and b * b > most * m:
                    most, self.age = b * b / m, <Py_ssize_t> (n - n0)
                    # Rounding must not move a mean outside the range of the values.
                    self.before = self.origin + fmin(fmax(self.centre + b / n0, self.least), self.most)
                    self.after = self.origin + fmin(fmax(self.centre - b / (n - n0), self.least), self.most)
                elif not all and fabs(b) > w and (fabs(b) - w) * (fabs(b) - w) > v * m:
                    return True
        return False

    cdef void drop(self) noexcept nogil:
        """Drop the oldest bucket, and compute the totals from the others, so that rounding does not accumulate."""
        cdef int row, i
        cdef double n, off
        cdef const Bucket* bucket
        while self.count[self.rows - 1] == 0:
            self.rows -= 1
        self.take(self.rows - 1, 1)
        self.n, self.centre, self.spread, self.least, self.most = 0, 0, 0, INFINITY, -INFINITY
        for row in range(self.rows):
            n = <double> (<long long> 1 << row)
            for i in range(self.count[row]):
                bucket = self.row(row) + i
                off = bucket.mean - self.centre
                self.spread += bucket.spread + off * off * n * self.n / (n + self.n)
                self.n += <long long> 1 << row
                self.centre += off * n / self.n
                self.least, self.most = fmin(self.least, bucket.least), fmax(self.most, bucket.most)


cdef inline Bucket merged(const Bucket* a, const Bucket* b, double n) noexcept nogil:
    """The union of two buckets of n values each."""
    cdef double off = a.mean - b.mean
    return Bucket((a.mean + b.mean) / 2, a.spread + b.spread + off * off * n / 2,
                  fmin(a.least, b.least), fmax(a.most, b.most))


cdef class DDM(DriftDetector):
    """DDM, the drift detection method: the rate of mistakes is some standard errors above its minimum.

    Values are mistakes, 0 or 1. After i values p_i is their mean and s_i = sqrt(p_i (1 - p_i) / i). p_min and s_min
    belong to the i with the smallest p_i + s_i. There is a warning when p_i + s_i > p_min + warning s_min, and a change
    when p_i + s_i > p_min + drift s_min. After a change the detector restarts.

    warning : standard errors, above 0. It only sets the attribute `warned`.
    drift : standard errors, at least `warning`.
    least : the number of values before the first test; at least 1.

    False alarms: the paper proves nothing. It names 2 and 3 as the 95 % and 99 % quantiles of the normal distribution,
    which holds for one test; here every value is tested against the minimum. Measured on 2000 stationary streams: in
    the first 1000 examples 56 % had a false alarm at a rate of mistakes of 0.05, 41 % at 0.1, 19 % at 0.3 and 9 % at
    0.5. Later there are 0 to 3 in 10^6 examples.

    Delay: p_i is the mean since the start, so a rise is found later after a longer quiet time, and still later if the
    minimum was early and s_min is large. Measured for mistakes that rise from 0.1 to 0.3, examples until detection:

        quiet examples before    median    9 of 10 streams
        500                      68        150
        5,000                    350       1,140
        50,000                   1,560     12,200

    Choices: p_i = 0 is no minimum, because the first mistake would then be a change. The comparison is strict, because
    with p_i = 1 both sides are equal forever.

    >>> print(*DDM().scan([0, 0, 0, 0, 1] * 200 + [0, 1, 1] * 50))
    at 1056: from 0.1992 to 0.6667 since 1000 (DDM)

    J. Gama, P. Medas, G. Castillo and P. Rodrigues (2004), Learning with Drift Detection, SBIA.
    """

    parameters = {
        "warning": Number(2.0, above=0), "drift": Number(3.0, above=0), "least": Number(30, least=1, integer=True),
    }

    cdef double warning, drift, p_min, s_min
    cdef long long n, mistakes, least, n_min, mistakes_min
    cdef readonly bint warned

    def __init__(self, warning=2.0, drift=3.0, least=30):
        super().__init__(warning=warning, drift=drift, least=least)
        if drift < warning:
            raise ParameterError(f"DDM: drift={drift!r}: must be at least warning={warning!r}")
        self.warning, self.drift, self.least = warning, drift, least
        self.begin()

    cdef void begin(self) noexcept nogil:
        self.n, self.mistakes, self.p_min, self.s_min = 0, 0, INFINITY, INFINITY

    def state(self):
        known = self.p_min < INFINITY
        return {
            **super().state(), "n": self.n, "mistakes": self.mistakes, "warned": int(self.warned),
            "p_min": self.p_min if known else -1.0, "s_min": self.s_min if known else -1.0,
            "n_min": self.n_min if known else 0, "mistakes_min": self.mistakes_min if known else 0,
        }

    def restore(self, state):
        expect(state["mistakes"] <= state["n"] <= state["t"] and state["n_min"] <= state["n"])
        expect(state["mistakes_min"] <= state["mistakes"])
        super().restore(state)
        self.n, self.mistakes, self.warned = state["n"], state["mistakes"], state["warned"] != 0
        self.n_min, self.mistakes_min = state["n_min"], state["mistakes_min"]
        known = state["p_min"] >= 0
        self.p_min, self.s_min = (state["p_min"], state["s_min"]) if known else (INFINITY, INFINITY)

    cdef bint takes(self, double x) noexcept nogil:
        return x == 0 or x == 1

    def _refuse(self, where, value):
        raise DataError(f"{where}: {value:g}; DDM takes mistakes, each 0 or 1")

    cdef bint step(self, double x) noexcept nogil:
        cdef double p, s
        self.n += 1
        self.mistakes += x > 0
        self.warned = False
        if self.n < self.least or self.mistakes == 0:
            return False
        p = <double> self.mistakes / self.n
        s = sqrt(p * (1 - p) / self.n)
        if p + s < self.p_min + self.s_min:
            self.p_min, self.s_min, self.n_min, self.mistakes_min = p, s, self.n, self.mistakes
        self.warned = p + s > self.p_min + self.warning * self.s_min
        if self.n == self.n_min or not p + s > self.p_min + self.drift * self.s_min:
            return False    # the minimum itself is no rise, however small `drift` is
        self.before = self.p_min
        self.age = self.n - self.n_min
        self.after = <double> (self.mistakes - self.mistakes_min) / self.age
        self.begin()
        return True


cdef struct Side:
    double sum, lowest     # m_T and M_T
    double total           # the sum of the values up to the minimum
    long long n            # and their number


cdef class PageHinkley(DriftDetector):
    """The Page-Hinkley test: the cumulative deviation of the values from their mean is too far above its minimum.

    m_T is the sum over t = 1..T of x_t - mean_t - delta, where mean_t is the mean of x_1..x_t. M_T is the minimum of
    0, m_1, ..., m_T. There is a change when m_T - M_T > threshold. Its estimated start is where M_T was reached; the
    reported means are those of the values before and after this start. After a change the test restarts.

    delta : the tolerated excess over the mean, in units of the values; at least 0. Half of the rise to be found is a
        good choice.
    threshold : the papers' lambda, in units of the values; above 0.
    direction : "up", "down" (the test of -x), or "both".

    False alarms: for a known mean and standard deviation s, Siegmund's approximation (1985) is one in
    s^2 / (2 delta^2) (e^b - b - 1) values, b = 2 delta (threshold + 1.17 s) / s^2. With the defaults this gives 2 in
    10^6 for mistakes at a rate of 0.1, 31 at 0.3 and 44 at 0.5. Measured with the estimated mean: 0 to 2, 31 and 45.

    Delay: about threshold / (h - delta) values for a rise by h if the mean is of many values, else up to half as much
    again.

    Choices: the sum is plain; River and MOA multiply m_T by 0.9999 and wait for 30 values. The papers have no defaults;
    these are MOA's, for values in [0, 1].

    >>> print(*PageHinkley(threshold=10).scan([0, 0, 0, 0, 1] * 200 + [0, 1, 1] * 50))
    at 1021: from 0.1992 to 0.6818 since 1000 (PageHinkley)

    E. S. Page (1954), Continuous Inspection Schemes, Biometrika 41. D. V. Hinkley (1971), Inference about the
    Change-Point from Cumulative Sum Tests, Biometrika 58.
    """

    parameters = {
        "delta": Number(0.005, least=0), "threshold": Number(50.0, above=0),
        "direction": Choice("up", ("up", "down", "both")),
    }

    cdef double delta, threshold, mean, total
    cdef long long n
    cdef bint up, down
    cdef Side rise, fall

    def __init__(self, delta=0.005, threshold=50.0, direction="up"):
        super().__init__(delta=delta, threshold=threshold, direction=direction)
        self.delta, self.threshold, self.up, self.down = delta, threshold, direction != "down", direction != "up"

    def state(self):
        rise = self.rise.sum, self.rise.lowest, self.rise.total
        fall = self.fall.sum, self.fall.lowest, self.fall.total
        return {
            **super().state(), "n": self.n, "mean": self.mean, "total": self.total, "sides": np.array([rise, fall]),
            "rise": self.rise.n, "fall": self.fall.n,
        }

    def restore(self, state):
        cdef const double[:, ::1] sides = np.ascontiguousarray(state["sides"])
        n = state["n"]
        expect(sides.shape[0] == 2 and sides.shape[1] == 3 and n <= state["t"])
        for used, least in ((self.up, state["rise"]), (self.down, state["fall"])):
            expect(1 <= least <= n if used and n else least == 0)
        super().restore(state)
        self.n, self.mean, self.total = n, state["mean"], state["total"]
        self.rise = Side(sides[0, 0], sides[0, 1], sides[0, 2], state["rise"])
        self.fall = Side(sides[1, 0], sides[1, 1], sides[1, 2], state["fall"])

    cdef void begin(self) noexcept nogil:
        self.n, self.mean, self.total = 0, 0, 0
        memset(&self.rise, 0, sizeof(Side))
        memset(&self.fall, 0, sizeof(Side))

    cdef bint step(self, double x) noexcept nogil:
        self.n += 1
        self.total += x
        self.mean += (x - self.mean) / self.n
        if self.up and self.beyond(&self.rise, x - self.mean) or self.down and self.beyond(&self.fall, self.mean - x):
            self.begin()
            return True
        return False

    cdef bint beyond(self, Side* side, double off) noexcept nogil:
        side.sum += off - self.delta
        if side.sum <= side.lowest:
            side.lowest, side.total, side.n = side.sum, self.total, self.n
        if not side.sum - side.lowest > self.threshold:
            return False
        self.age = self.n - side.n
        self.before, self.after = side.total / side.n, (self.total - side.total) / self.age
        return True


cdef struct Entry:
    double value
    int slot


cdef class KSWIN(DriftDetector):
    """KSWIN: a Kolmogorov-Smirnov test of the newest values of a window against a sample of the older ones.

    The window has the newest n values. R is the last r of them, W a random sample of r of the others. There is a change
    when

        sup_x |F_R(x) - F_W(x)| > sqrt(-ln(alpha) / r),

    where F is the empirical distribution function. Changes of the spread or the shape are found, too, not only of the
    mean. After a change the detector restarts with R.

    alpha : the level of one test, above 0 and below 1.
    n : values in the window; at least 2 r, at most 1000.
    r : values on each side of the test; at least 2.
    seed : the seed of the sample; a whole number from 0 on.

    False alarms: every value is tested, and alpha is the level of each test, not of the stream. The paper's formula is
    that of the one-sided test, so the two-sided level is up to 2 alpha. Measured on 10^6 stationary values: 2870 alarms
    with the default alpha, 45 to 83 with 0.0001. Ties, as in mistakes, cause fewer: 0 to 1 and 0 at a rate of 0.1, 630
    and 10 at 0.5.

    Delay: if the two distributions do not overlap, a change is found after at most r sqrt(-ln(alpha) / r) values, 13
    with the defaults. A distance below sqrt(-ln(alpha) / r), 0.42 with the defaults, is found by chance only, so KSWIN
    does not detect small changes of a rate of mistakes.

    Choices: W is sampled without replacement, as the test assumes (scikit-multiflow samples with replacement, and also
    requires a distance above 0.1).

    >>> import numpy as np
    >>> values = np.random.default_rng(0).normal(size=400)
    >>> values[200:] += 3
    >>> [change.at for change in KSWIN(alpha=0.0001).scan(values)]
    [217]

    C. Raab, M. Heusinger and F.-M. Schleif (2020), Reactive Soft Prototype Computing for Concept Drift Streams,
    Neurocomputing 416.
    """

    parameters = {
        "alpha": Number(0.005, above=0, below=1), "n": Number(100, least=4, most=1000, integer=True),
        "r": Number(30, least=2, most=500, integer=True), "seed": Number(0, least=0, below=2.0**63, integer=True),
    }

    cdef int n, r, held, oldest    # slot `oldest` is reused next
    cdef double limit
    cdef uint64_t random
    cdef Entry order[1000]         # the window, ascending
    cdef double window[1000]       # by slot, in rotation
    cdef int slots[1000]           # by age
    cdef int part[1000]            # by slot: 1 for R, -1 for W

    def __init__(self, alpha=0.005, n=100, r=30, seed=0):
        super().__init__(alpha=alpha, n=n, r=r, seed=seed)
        if n < 2 * r:
            raise ParameterError(f"KSWIN: n={n!r}: must be at least 2 r = {2 * r}")
        self.n, self.r, self.random = n, r, seed
        self.limit = sqrt(-log(<double> alpha) / r)

    def state(self):
        """The window, oldest value first, and the state of the random generator."""
        slots = (self.oldest - self.held + np.arange(self.held)) % self.n
        return {
            **super().state(), "oldest": self.oldest, "random": np.array([self.random], np.uint64).view(np.int64),
            "window": np.array(<double[:self.n]> self.window)[slots],
        }

    def restore(self, state):
        cdef const double[::1] window = np.ascontiguousarray(state["window"])
        cdef Py_ssize_t i
        expect(window.shape[0] <= self.n and window.shape[0] <= state["t"] and state["random"].shape[0] == 1)
        expect(state["oldest"] < self.n)
        super().restore(state)
        self.random = state["random"].view(np.uint64)[0]
        self.held, self.oldest = 0, (state["oldest"] - window.shape[0] + self.n) % self.n
        for i in range(window.shape[0]):
            self.insert(window[i])

    cdef int below(self, int n) noexcept nogil:
        """A random number in 0..n-1 (SplitMix64: Steele, Lea and Flood, 2014)."""
        cdef uint64_t z
        self.random += <uint64_t> 0x9E3779B97F4A7C15
        z = self.random
        z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
        z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
        z ^= z >> 31
        return <int> (((z >> 32) * <uint64_t> n) >> 32)

    cdef bint step(self, double x) noexcept nogil:
        if self.held == self.n:
            self.forget(self.oldest)
        self.insert(x)
        if self.held < self.n or self.distance() <= self.limit:
            return False
        self.begin()
        return True

    cdef void insert(self, double x) noexcept nogil:
        """Insert a value into the sorted window, and into the slot of the oldest value."""
        cdef int low = 0, high = self.held, middle
        while low < high:
            middle = (low + high) // 2
            if self.order[middle].value <= x:
                low = middle + 1
            else:
                high = middle
        memmove(&self.order[low + 1], &self.order[low], (self.held - low) * sizeof(Entry))
        self.order[low] = Entry(x, self.oldest)
        self.window[self.oldest] = x
        self.oldest = (self.oldest + 1) % self.n
        self.held += 1

    cdef void forget(self, int slot) noexcept nogil:
        cdef int low = 0, high = self.held, middle
        cdef double x = self.window[slot]
        while low < high:                    # the first entry that is not less
            middle = (low + high) // 2
            if self.order[middle].value < x:
                low = middle + 1
            else:
                high = middle
        while self.order[low].slot != slot:
            low += 1
        self.held -= 1
        memmove(&self.order[low], &self.order[low + 1], (self.held - low) * sizeof(Entry))

    cdef double distance(self) noexcept nogil:
        """The largest difference between the empirical distributions of R and W."""
        cdef int i, k, slot, older = self.n - self.r, sum = 0, largest = 0
        for i in range(self.n):              # by age, oldest first
            slot = self.oldest + i
            slot -= self.n if slot >= self.n else 0
            self.slots[i] = slot
            self.part[slot] = 1 if i >= older else 0
        for i in range(self.r):              # the first steps of a shuffle
            k = i + self.below(older - i)
            slot, self.slots[k] = self.slots[k], self.slots[i]
            self.part[slot] = -1
        for i in range(self.n):
            sum += self.part[self.order[i].slot]
            if i + 1 == self.n or self.order[i + 1].value > self.order[i].value:
                largest = max(largest, abs(sum))
        return <double> largest / self.r

    cdef void begin(self) noexcept nogil:
        """Store the means of both parts, and restart with R."""
        cdef int i, older = self.n - self.r
        cdef double kept[500]
        self.before, self.after, self.age = 0, 0, self.r
        for i in range(self.n):
            if i < older:
                self.before += self.window[(self.oldest + i) % self.n] / older
            else:
                kept[i - older] = self.window[(self.oldest + i) % self.n]
                self.after += kept[i - older] / self.r
        self.held, self.oldest = 0, 0
        for i in range(self.r):
            self.insert(kept[i])


# All detectors, by the names that the command line reads.
DETECTORS = {"adwin": ADWIN, "ddm": DDM, "page-hinkley": PageHinkley, "kswin": KSWIN}
WRITTEN = ", ".join(f"{kind.__name__}()" for kind in DETECTORS.values())
