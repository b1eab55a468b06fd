from seriatim.core.representation cimport Representation
from seriatim.core.reservoir cimport Reservoir
from seriatim.core.row cimport Row
from seriatim.decomposition.subspace cimport Subspace


cdef class ComponentsLearner(Representation):
    cdef Subspace space
    cdef Reservoir waiting           # the rows of the open block
    cdef Py_ssize_t block            # the number of rows in a block; 0 without blocks
    cdef bint missing                # NaN is a missing value
    cdef bint collapsed              # users see a collapsed copy even if no row waits
    cdef tuple arguments             # of __init__, to make a copy
    cdef ComponentsLearner view      # what users see, until the next row

    cdef int update(self, const Row* x) noexcept nogil

    cdef void undo(self) noexcept with gil
    cdef bint interrupted(self) noexcept with gil
    cdef void close(self) noexcept with gil
