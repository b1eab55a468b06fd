cdef struct Secular:             # 1 + sum_i z_i^2 / (d_i^2 - sigma^2), in parts
    double value
    double size                  # the sum of the absolute values of the terms
    double below, below_slope    # the terms of d_i at most the active one, and their derivative by sigma^2
    double above, above_slope


cdef class Arrowhead:
    cdef Py_ssize_t room
    cdef double* memory
    cdef int* indices
    cdef double* d               # input: descending, at least 0
    cdef double* z               # input
    cdef double* sigma           # output: descending
    cdef double* left            # output: the left singular vectors are the columns
    cdef double* right           # output: the right singular vectors; row n belongs to the column z
    cdef double* P               # P[i, j] = d_i^2 - sigma_j^2 for active i and j
    cdef double* square          # z_i^2 of the active values, then the z_i whose roots are exact
    cdef double* values
    cdef double* rotations       # cosine and sine of each
    cdef int* active             # the values that are not deflated
    cdef int* rotated            # the pair of values of each rotation
    cdef int* order              # the values by descending sigma

    cdef int reserve(self, Py_ssize_t n) noexcept nogil
    cdef void solve(self, Py_ssize_t n, bint both) noexcept nogil
    cdef Py_ssize_t deflate(self, Py_ssize_t n, Py_ssize_t* rotations) noexcept nogil
    cdef void refit(self, Py_ssize_t m) noexcept nogil
    cdef void sort(self, Py_ssize_t n) noexcept nogil
    cdef void vectors(self, Py_ssize_t n, Py_ssize_t m, bint both) noexcept nogil
    cdef void root(self, Py_ssize_t j, Py_ssize_t m, double total) noexcept nogil
    cdef Secular secular(self, Py_ssize_t j, Py_ssize_t m, double origin, double tau) noexcept nogil
    cdef double newton(self, Py_ssize_t j, Py_ssize_t m, const Secular* at) noexcept nogil
