cdef class Mixture:
    cdef readonly Py_ssize_t n           # experts; 0 until the first round
    cdef public Py_ssize_t t             # rounds
    cdef public double loss              # of the mixture: the sum over the rounds
    cdef readonly bint votes             # the loss of the mixture is that of the vote, not the weighted mean
    cdef readonly bint draws_one         # an expert is drawn by weight and predicts alone
    cdef double[::1] total               # the sum of the losses of each expert
    cdef double[::1] w                   # the weights of the next round

    cdef void weigh(self) noexcept nogil
    cdef void note(self, const double* losses, double mean) noexcept nogil
    cdef void suffer(self, const double* losses, double lost) noexcept nogil
    cdef void softmax(self, const double* values, double factor) noexcept nogil
    cdef Py_ssize_t drawn(self) noexcept nogil
