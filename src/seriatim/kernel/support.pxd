from seriatim.core.reservoir cimport Reservoir
from seriatim.core.row cimport Row

cdef double weighted_sum(Py_ssize_t n, const double* a, const double* x) noexcept nogil
cdef void multiply(Py_ssize_t n, double factor, double* x) noexcept nogil
cdef void add_multiple(Py_ssize_t n, double a, const double* x, double* out) noexcept nogil


cdef struct Column:              # a feature, of all support vectors
    double* value                # by slot, or as the slots say
    int* slot                    # NULL: one value a slot, up to the last that has one
    int n, room
    int filled                   # values that are not zero


cdef struct Form:                # a kernel, as numbers
    int kind
    double g                     # exp(-g distance); the offset of a polynomial
    int degree


cdef class Support:
    cdef readonly Py_ssize_t n   # support vectors, in slots 0 .. n - 1
    cdef readonly Py_ssize_t columns
    cdef Py_ssize_t room
    cdef Reservoir rows
    cdef Column* column
    cdef Py_ssize_t columns_room
    cdef double* spread          # a place for each value of a row; zero between uses
    cdef double* norm2           # |z|^2 of each
    cdef double* norm1           # |z|_1
    cdef double* pairs           # products of x and each z, or distances, where several kernels are made of them
    cdef Form* forms
    cdef readonly Py_ssize_t kernels
    cdef bint summed             # the forms are terms of one kernel
    cdef Py_ssize_t terms
    cdef double* term            # one of them
    cdef list functions          # kernels in Python; the degree of such a form is its place
    cdef readonly object error   # what one has raised
    cdef bint broken             # and that there is one
    cdef bint learning           # a row, which is to be finished
    cdef object interrupt        # what came while a callable was asked, to be raised after the row
    cdef int interrupts          # how often
    cdef bint asking             # one is at work

    cdef int grow(self, Py_ssize_t columns) except -1
    cdef int reserve(self, Py_ssize_t room) noexcept nogil
    cdef int put(self, Py_ssize_t slot, const Row* x) noexcept nogil
    cdef int append(self, const Row* x) noexcept nogil
    cdef void clear(self, Py_ssize_t slot) noexcept nogil
    cdef void remove(self, Py_ssize_t slot) noexcept nogil
    cdef void evaluate(self, const Row* x, double* out, Py_ssize_t stride) noexcept nogil
    cdef double itself(self, const Row* x, Py_ssize_t kernel) noexcept nogil
    cdef Row row(self, Py_ssize_t slot) noexcept nogil
    cdef void against(self, Py_ssize_t slot, double* out, Py_ssize_t stride) noexcept nogil
    cdef void _pair(self, const Row* x, int pairing, double* sums) noexcept nogil
    cdef double _norm(self, const Row* x, int pairing) noexcept nogil
    cdef const double* _norms(self, int pairing) noexcept nogil
    cdef void _map(self, const Form* form, const Row* x, double* sums) noexcept nogil
    cdef void _sharpen(self, const Form* form, const Row* x, double* distances) noexcept nogil
    cdef void _spread_row(self, const Row* x, double factor) noexcept nogil
    cdef int _set(self, Py_ssize_t j, Py_ssize_t slot, double value) noexcept nogil
    cdef int _set_dense(self, Column* column, Py_ssize_t slot, double value) noexcept nogil
    cdef int _set_listed(self, Column* column, Py_ssize_t slot, double value) noexcept nogil
    cdef int _list(self, Column* column) noexcept nogil
    cdef int _spread(self, Column* column, Py_ssize_t room) noexcept nogil
    cdef void _clear(self, Py_ssize_t j, Py_ssize_t slot) noexcept nogil
    cdef void _ask(self, int function, const Row* x, double* out) noexcept with gil
    cdef void _ask_itself(self, int function, const Row* x, double* out) noexcept with gil
    cdef double _call(self, function, x, z) except? -1
    cdef object _array(self, const Row* x)
