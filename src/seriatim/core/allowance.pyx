"""How much memory may be taken while a model file is read: what a file makes of itself is bounded by its own size."""

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
    """Whether so many bytes more are too many; they are counted. Outside of an allowance nothing is."""
    global memory_taken
    if not memory_counted:
        return False
    if bytes < 0 or bytes > memory_most - memory_taken:
        memory_taken = memory_most + 1
        return True
    memory_taken += bytes
    return False


def take(Py_ssize_t bytes):
    """The same of memory that NumPy is about to be asked for."""
    if refused(bytes):
        raise MemoryError("more memory than was allowed")


cdef class Allowance:
    """While it is open, what this thread takes is counted, and more than it allows is refused as if there were none.

    Memory that is given back is not counted back.
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
        """Whether more was asked for, once it is closed."""
        return self.taken > self.most
