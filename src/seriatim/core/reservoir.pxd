from seriatim.core.row cimport Row, sum_of_products


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
    if z.first >= 0:
        return sum_of_products(0, z.value, NULL, z.n, w + z.first, 1)
    return sum_of_products(0, z.value, z.index, z.n, w, 1)


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
