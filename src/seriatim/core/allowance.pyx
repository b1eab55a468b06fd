"""A limit on the memory that loading a model file may allocate, which depends on the size of the file."""

cdef extern from *:
    """
    #if defined(_MSC_VER)
    static __declspec(thread) long long memory_taken, memory_most;
    static __declspec(thread) int memory_counted;
    #else
    static __thread long long memory_taken, memory_most;
    static __thread int memory_counted;
    #endif
    """
    long long memory_taken, memory_most
    bint memory_counted


cdef bint refused(Py_ssize_t bytes) noexcept nogil:
    """Count an allocation. Returns whether it exceeds the limit; never without an open Allowance."""
    global memory_taken
    if not memory_counted:
        return False
    if bytes < 0 or bytes > memory_most - memory_taken:
        memory_taken = memory_most + 1
        return True
    memory_taken += bytes
    return False


def take(Py_ssize_t bytes):
    """Count an allocation by NumPy; raises MemoryError if it exceeds the limit."""
    if refused(bytes):
        raise MemoryError("more memory than the limit")


cdef class Allowance:
    """A context in which allocations of this thread are counted. Those beyond the limit fail as if memory had run out.

    Freed memory is not subtracted.
    """

    cdef readonly long long most
    cdef readonly long long taken
    cdef long long taken_before, most_before
    cdef bint counted_before

    def __init__(self, most):
        self.most = min(most, 1 << 62)

    def __enter__(self):
        global memory_taken, memory_most, memory_counted
        self.counted_before, self.taken_before, self.most_before = memory_counted, memory_taken, memory_most
        memory_counted, memory_taken, memory_most = True, 0, self.most
        return self

    def __exit__(self, *_):
        global memory_taken, memory_most, memory_counted
        self.taken = memory_taken
        memory_counted, memory_taken, memory_most = self.counted_before, self.taken_before, self.most_before

    @property
    def exceeded(self):
        """Whether an allocation exceeded the limit; valid after the context."""
        return self.taken > self.most
