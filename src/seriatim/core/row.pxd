"""One row, and the inner loops over it. A learner gets a Row and never asks whether it is sparse."""


cdef struct Row:
    const int* index      # distinct columns, sorted unless the row was a dict; NULL: value[i] belongs to column i
    const double* value
    Py_ssize_t n
    double constant       # the intercept's feature: 1, or 0 without an intercept
    double norm2          # |x|^2 with the constant; 0 if below 1e-150, because dividing by it would overflow


# Record 0 of a table belongs to the constant, record j + 1 to column j. A loop over both runs over range(-1, x.n);
# `record` and `value` then give the constant first. `w` points into record 0. Records are `width` numbers apart.

cdef inline Py_ssize_t record(const Row* x, Py_ssize_t i) noexcept nogil:
    return i + 1 if x.index == NULL or i < 0 else x.index[i] + 1


cdef inline double value(const Row* x, Py_ssize_t i) noexcept nogil:
    return x.constant if i < 0 else x.value[i]


cdef inline Row within(const Row* x, Py_ssize_t rows) noexcept nogil:
    """The part of a row that lies in a table of `rows` records. Columns ascend, so the rest is at the end."""
    cdef Row part = x[0]
    if part.index == NULL:
        part.n = min(part.n, rows - 1)
    else:
        while part.n > 0 and part.index[part.n - 1] >= rows - 1:
            part.n -= 1
    return part


# Four partial sums: a single sum would wait four cycles for each addition. Dense and sparse rows with the same values
# give the same bits.

cdef inline double sum_of_products(double a, const double* v, const int* j, Py_ssize_t n, const double* w,
                                   Py_ssize_t width) noexcept nogil:
    """a + the sum of v_i w_(j_i); j is NULL for 0, 1, .... If j or width is a constant, no loop tests it."""
    cdef double b = 0, c = 0, d = 0
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        a += v[i] * w[(i if j == NULL else j[i]) * width]
        b += v[i + 1] * w[(i + 1 if j == NULL else j[i + 1]) * width]
        c += v[i + 2] * w[(i + 2 if j == NULL else j[i + 2]) * width]
        d += v[i + 3] * w[(i + 3 if j == NULL else j[i + 3]) * width]
        i += 4
    while i < n:
        a += v[i] * w[(i if j == NULL else j[i]) * width]
        i += 1
    return (a + b) + (c + d)


cdef inline double dot(const Row* x, const double* w, Py_ssize_t width) noexcept nogil:
    """The sum of x_j w_j."""
    cdef double a = x.constant * w[0]
    if x.index == NULL and width == 1:
        return sum_of_products(a, x.value, NULL, x.n, w + 1, 1)
    if x.index == NULL:
        return sum_of_products(a, x.value, NULL, x.n, w + width, width)
    if width == 1:
        return sum_of_products(a, x.value, x.index, x.n, w + 1, 1)
    return sum_of_products(a, x.value, x.index, x.n, w + width, width)


cdef inline void add(const Row* x, double a, double* w, Py_ssize_t width) noexcept nogil:
    """w_j += a x_j."""
    cdef Py_ssize_t i
    cdef const double* v = x.value
    cdef const int* j = x.index
    w[0] += a * x.constant
    w += width
    if j == NULL and width == 1:
        for i in range(x.n):
            w[i] += a * v[i]
    elif j == NULL:
        for i in range(x.n):
            w[i * width] += a * v[i]
    elif width == 1:
        for i in range(x.n):
            w[j[i]] += a * v[i]
    else:
        for i in range(x.n):
            w[j[i] * width] += a * v[i]


cdef inline double sum_of_squares(const double* v, Py_ssize_t n) noexcept nogil:
    """|v|^2, or 0 where it is below 1e-150."""
    cdef double a = sum_of_products(0, v, NULL, n, v, 1)
    return 0 if a < 1e-150 else a
