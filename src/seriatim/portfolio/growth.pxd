cdef class Growth:
    cdef Py_ssize_t m, n, room, s    # assets, days, days that there is room for, assets that the portfolio holds
    cdef object kept
    cdef double* columns             # the relatives of each asset that is held
    cdef double* ratios              # z - 1 of each asset that is held
    cdef double* inverse             # 1/(b.x) of each day
    cdef double* moves
    cdef double* gradient
    cdef double* hessian
    cdef double* at                  # the shares of the assets that are held
    cdef double* step
    cdef double* ones
    cdef int* places                 # the numbers of the assets that are held

    cdef int reserve(self, Py_ssize_t m, Py_ssize_t n) except -1
    cdef double optimum(
        self, const double* data, const Py_ssize_t* rows, Py_ssize_t n, double* b, double tolerance
    ) noexcept nogil
    cdef void start(self, const double* data, const Py_ssize_t* rows, double* b) noexcept nogil
    cdef void take(self, const double* data, const Py_ssize_t* rows, Py_ssize_t j, double share) noexcept nogil
    cdef void sum_rows(self, const double* data, const Py_ssize_t* rows) noexcept nogil
    cdef double newton(self, double near) noexcept nogil
    cdef double slopes(self) noexcept nogil
    cdef double direction(self) noexcept nogil
    cdef bint curvature(self) noexcept nogil
    cdef void go(self, double slope) noexcept nogil
    cdef double search(self, double slope, double most) noexcept nogil
