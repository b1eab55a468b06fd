from seriatim.core.row cimport Row


cdef struct Kept:
    int* index
    double* value
    Py_ssize_t n, room
    Py_ssize_t first             # of columns without a gap between them; -1: there are gaps
    double norm2                 # without the constant


cdef class Reservoir:
    cdef readonly Py_ssize_t n
    cdef Py_ssize_t capacity     # 0: all rows are kept
    cdef Kept* rows
    cdef Py_ssize_t rows_room, values_room, limit
    cdef readonly bint full      # a row was refused for the limit

    cdef int offer(self, const Row* x, Py_ssize_t seen, unsigned long long seed, Py_ssize_t* draws) noexcept nogil
    cdef int put(self, Py_ssize_t k, const Row* x) noexcept nogil


cdef inline double product(const Kept* z, const double* w) noexcept nogil:
    """The sum of z_j w_j, w_0 being that of column 0."""
    cdef double a = 0, b = 0, c = 0, d = 0
    cdef Py_ssize_t i = 0, n = z.n
    cdef const double* v = z.value
    cdef const int* j = z.index
    if z.first >= 0:
        w += z.first
        while i + 4 <= n:
            a += v[i] * w[i]
            b += v[i + 1] * w[i + 1]
            c += v[i + 2] * w[i + 2]
            d += v[i + 3] * w[i + 3]
            i += 4
        while i < n:
            a += v[i] * w[i]
            i += 1
    else:
        while i + 4 <= n:
            a += v[i] * w[j[i]]
            b += v[i + 1] * w[j[i + 1]]
            c += v[i + 2] * w[j[i + 2]]
            d += v[i + 3] * w[j[i + 3]]
            i += 4
        while i < n:
            a += v[i] * w[j[i]]
            i += 1
    return (a + b) + (c + d)


cdef inline void add_kept(const Kept* z, double a, double* w) noexcept nogil:
    """w_j += a z_j, w_0 being that of column 0."""
    cdef Py_ssize_t i
    if z.first >= 0:
        w += z.first
        for i in range(z.n):
            w[i] += a * z.value[i]
    else:
        for i in range(z.n):
            w[z.index[i]] += a * z.value[i]
