cdef class StrategyLearner:
    cdef readonly Py_ssize_t t, m
    cdef readonly dict arrays
    cdef double* b

    cdef int bind(self) except -1
    cdef int learn(self, const double* x) except -1
    cdef int learn_days(self, Py_ssize_t n, const double* X, double* B) except -1


cdef class History(StrategyLearner):
    cdef double* days


cdef double* pointer(array) except? NULL
cdef void uniform(double* b, Py_ssize_t m) noexcept nogil


cdef inline double dot(Py_ssize_t n, const double* a, const double* x) noexcept nogil:
    """a.x. Eight partial sums: with a single one each addition would wait for the one before."""
    cdef double part[8]
    cdef double sum
    cdef Py_ssize_t i, k, whole = n // 8 * 8
    for k in range(8):
        part[k] = 0
    for i in range(0, whole, 8):
        for k in range(8):
            part[k] += a[i + k] * x[i + k]
    sum = ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]))
    for i in range(whole, n):
        sum += a[i] * x[i]
    return sum


cdef inline double sum_of(Py_ssize_t n, const double* x) noexcept nogil:
    """The sum of x, by four partial sums."""
    cdef double a = 0, b = 0, c = 0, d = 0, sum
    cdef Py_ssize_t i, whole = n // 4 * 4
    for i in range(0, whole, 4):
        a += x[i]
        b += x[i + 1]
        c += x[i + 2]
        d += x[i + 3]
    sum = (a + b) + (c + d)
    for i in range(whole, n):
        sum += x[i]
    return sum
