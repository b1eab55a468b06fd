"""The memory in which the rows of a block are put together."""

import numpy as np

from libc.stdlib cimport free

from seriatim.core.memory cimport resize


cdef class Workspace:
    """Memory for the rows of one block, used again for the next: fresh pages from the system cost more than parsing."""

    def __dealloc__(self):
        free(self.y)
        free(self.name)
        free(self.weight)
        free(self.norm2)
        free(self.start)
        free(self.index)
        free(self.value)

    cdef int reserve_rows(self, Py_ssize_t n) noexcept nogil:
        if n <= self.rows_room:
            return 0
        if (resize(<void**> &self.y, n, sizeof(double)) < 0 or resize(<void**> &self.name, n, sizeof(int)) < 0
                or resize(<void**> &self.weight, n, sizeof(double)) < 0
                or resize(<void**> &self.norm2, n, sizeof(double)) < 0
                or resize(<void**> &self.start, n + 1, sizeof(long long)) < 0):
            return -1
        self.rows_room = n
        return 0

    cdef int reserve_values(self, Py_ssize_t n) noexcept nogil:
        if n <= self.values_room:
            return 0
        if resize(<void**> &self.index, n, sizeof(int)) < 0 or resize(<void**> &self.value, n, sizeof(double)) < 0:
            return -1
        self.values_room = n
        return 0


cdef list spare = []                   # workspaces that wait for a block


cdef class Block:
    """What one block of lines holds: rows, their labels, how many lines it took, and which of them were bad."""

    def release(self):
        """Give the memory of the rows to the next block; they must not be used any more."""
        if self.workspace is not None and not self.rows.shared:
            self.rows.forget()
            if len(spare) < 16:
                spare.append(self.workspace)
        self.workspace = None


cdef Workspace new_workspace(Py_ssize_t length):
    """Room for the rows of a text of so many bytes; more is made when it is needed."""
    cdef Workspace work = spare.pop() if spare else Workspace.__new__(Workspace)
    if work.reserve_rows(64 + length // 256) < 0 or work.reserve_values(64 + length // 12) < 0:
        raise MemoryError
    work.start[0] = 0
    return work


cdef Block finish(Workspace work, Position* at, list labels, Py_ssize_t lines, list bad, Py_ssize_t bad_count,
                  object names=None):
    """The block of what has been read; `names` are those of its columns, if they have any."""
    cdef Block block = Block.__new__(Block)
    cdef Py_ssize_t i
    cdef Rows rows
    cdef double[::1] y = <double[:max(at.rows, 1)]> work.y
    block.workspace, block.lines, block.bad, block.bad_count = work, lines, bad, bad_count
    rows = Rows.borrow(
        work, at.rows, at.features, work.start, work.index, work.value, NULL if at.unsorted else work.norm2
    )
    if at.weighted:
        rows.weight = work.weight
    block.rows = rows.check()
    block.rows.names = names
    block.y = np.array(y[:at.rows])
    if at.named:
        block.y = block.y.astype(object)
        for i in range(at.rows):
            if work.name[i] >= 0:
                block.y[i] = labels[work.name[i]]
    return block
