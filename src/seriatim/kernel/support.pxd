from seriatim.core.reservoir cimport Reservoir
from seriatim.core.row cimport Row

cdef double weighted_sum(Py_ssize_t n, const double* a, const double* x) noexcept nogil
cdef void multiply(Py_ssize_t n, double factor, double* x) noexcept nogil
cdef void add_multiple(Py_ssize_t n, double a, const double* x, double* out) noexcept nogil


cdef struct Column:              # the values of one feature in all support vectors
    double* value
    int* slot                    # the slot of each value; NULL: value[s] belongs to slot s
    int n, room
    int filled                   # non-zero values


cdef struct Form:                # a kernel as numbers
    int kind
    double g                     # of exp(-g distance), or the offset c of a polynomial
    int degree


cdef class Support:
    cdef readonly Py_ssize_t n   # support vectors, in slots 0 .. n - 1
    cdef readonly Py_ssize_t columns
    cdef Py_ssize_t room
    cdef Reservoir rows
    cdef Column* column
    cdef Py_ssize_t columns_room
    cdef double* dense           # a row as a dense array; all zero between uses
    cdef double* norm2           # |z|^2 of each support vector z
    cdef double* norm1           # |z|_1
    cdef double* pairs           # products or distances of x and each z, which several kernels share
    cdef Form* forms
    cdef readonly Py_ssize_t kernels
    cdef bint summed             # the kernel is the sum of the forms
    cdef Py_ssize_t terms
    cdef double* term            # the values of one form of a sum
    cdef list functions          # kernels in Python; `degree` of such a form is its index here
    cdef readonly object error   # the exception that a kernel in Python raised
    cdef bint broken             # whether there is such an exception
    cdef bint learning           # whether a row is being learned, which an interrupt must not cut off
    cdef object interrupt        # an interrupt that came during a kernel in Python; raised after the row
    cdef int interrupts          # their number
    cdef bint asking             # whether a kernel in Python is running

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
    cdef void pair(self, const Row* x, int pairing, double* sums) noexcept nogil
    cdef void _add(self, const Column* column, int pairing, double v, double* sums) noexcept nogil
    cdef double _norm(self, const Row* x, int pairing) noexcept nogil
    cdef const double* _norms(self, int pairing) noexcept nogil
    cdef void _map(self, const Form* form, const Row* x, double* sums) noexcept nogil
    cdef void _recompute(self, const Form* form, const Row* x, double* distances) noexcept nogil
    cdef void _fill(self, const Row* x, double factor) noexcept nogil
    cdef int _set(self, Py_ssize_t j, Py_ssize_t slot, double value) noexcept nogil
    cdef int _set_dense(self, Column* column, Py_ssize_t slot, double value) noexcept nogil
    cdef int _set_sparse(self, Column* column, Py_ssize_t slot, double value) noexcept nogil
    cdef int _make_sparse(self, Column* column) noexcept nogil
    cdef int _make_dense(self, Column* column, Py_ssize_t room) noexcept nogil
    cdef void _clear(self, Py_ssize_t j, Py_ssize_t slot) noexcept nogil
    cdef void _ask(self, int function, const Row* x, double* out) noexcept with gil
    cdef void _ask_itself(self, int function, const Row* x, double* out) noexcept with gil
    cdef double _call(self, function, x, z) except? -1
    cdef object _array(self, const Row* x)
